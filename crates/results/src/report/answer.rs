//! Renders the answer: the headline, one table, and what the reader must know to trust it. All
//! other figures are in the details.

use stampede_model::fact::Notice;
use stampede_model::fact::containers::Containers;
use stampede_model::record::{LoadShape, PageRecord};
use stampede_model::words;

use super::columns::{figure, names, rows, shown_time, vs, vs_interval};
use super::compact::{self, Column, LoadColumns};
use super::evidence;
use super::layout::{Field, Sign, Tone};
use super::lines::Lines;
use super::notes::{self, Importance, Note};
use super::page::model::Headline;
use super::{Style, notes::mark, why};
use crate::summary::exhausted::{self, LowerBound};
use crate::summary::kept_up::KeptUp;
use crate::summary::model::{CaseSummary, Group, LoadModel, Stat, Summary};
use crate::summary::{cost, headline, pages};

/// Renders the findings of a run for a terminal, app by app. No line is wider than the style's
/// width unless a single word is.
pub fn answer(summary: &Summary, style: &Style) -> String {
    let mut lines = Lines::new(*style);
    // What a development configuration measures is not what production serves: nothing comes before.
    let (first, notices): (Vec<_>, Vec<_>) = summary.notices.iter().partition(|one| {
        one.known().is_some_and(|one| {
            matches!(one, Notice::Containers { found: Containers::Development { .. }, .. })
        })
    });
    first.iter().for_each(|notice| lines.paragraph(&notice.to_string(), Tone::Warning, 2));
    let mut apps: Vec<&str> = summary.groups.iter().map(|group| group.app.as_str()).collect();
    apps.dedup();
    for (place, app) in apps.into_iter().enumerate() {
        if place > 0 {
            lines.blank();
        }
        AppAnswer::of(summary, app).write(summary, &mut lines);
    }
    let notices = notices.into_iter().filter(|one| one.known().is_none_or(|one| !one.is_detail()));
    let notices: Vec<String> = notices.map(ToString::to_string).collect();
    if !notices.is_empty() {
        lines.blank();
    }
    notices.iter().for_each(|notice| lines.paragraph(notice, Tone::Warning, 2));
    let published = summary.published.as_ref();
    let published = published.map(|published| stampede_published::text(published, style.width));
    lines.finish() + &published.map_or_else(String::new, |text| format!("\n{text}"))
}

/// The headlines of each app.
pub fn headlines(summary: &Summary) -> Vec<Headline> {
    let mut apps: Vec<&str> = summary.groups.iter().map(|group| group.app.as_str()).collect();
    apps.dedup();
    let one = |app: &str| {
        let answer = AppAnswer::of(summary, app);
        Headline { app: app.to_owned(), text: answer.headline(), facts: answer.facts() }
    };
    apps.into_iter().map(one).collect()
}

/// One app with its loads, and the rows of each load.
struct AppAnswer<'a> {
    app: &'a str,
    /// Of the run, as planned; 0: of several runs.
    rounds: u32,
    groups: Vec<(&'a Group, Vec<&'a CaseSummary>)>,
}

impl<'a> AppAnswer<'a> {
    fn of(summary: &'a Summary, app: &'a str) -> AppAnswer<'a> {
        let groups = summary.groups.iter().filter(|group| group.app == app);
        let groups = groups.map(|group| (group, summary.cases_of(group).collect())).collect();
        AppAnswer { app, rounds: summary.rounds, groups }
    }

    /// The load with a fixed rate and the load that shows the peak. `None` unless the app has
    /// exactly these two kinds of load.
    fn steady_and_peak(&self) -> Option<(&LoadRows<'a>, &LoadRows<'a>)> {
        match self.groups.as_slice() {
            [a, b] if (a.0.model, b.0.model) == (LoadModel::Open, LoadModel::Closed) => {
                Some((a, b))
            }
            [a, b] if (a.0.model, b.0.model) == (LoadModel::Closed, LoadModel::Open) => {
                Some((b, a))
            }
            _ => None,
        }
    }

    fn headline(&self) -> String {
        let has_trials =
            |(_, cases): &LoadRows<'_>| cases.iter().any(|case| !case.trials.is_empty());
        if let Some((group, _)) =
            self.groups.first().filter(|_| !self.groups.iter().any(has_trials))
        {
            // Until the first trial has ended, the sentences of all loads are the same.
            return group.sentence.clone();
        }
        let is_compared = self.groups.iter().all(|(group, _)| group.baseline.is_some());
        if let Some((steady, peak)) = self.steady_and_peak().filter(|_| is_compared) {
            return headline::of_two((peak.0, &peak.1), (steady.0, &steady.1), self.rounds);
        }
        let own = |(group, _): &LoadRows<'_>| match self.groups.len() {
            1 => group.sentence.clone(),
            _ => format!("{}: {}", group.load, group.sentence),
        };
        self.groups.iter().map(own).collect::<Vec<_>>().join("\n")
    }

    fn write(&self, summary: &Summary, lines: &mut Lines) {
        lines.paragraph(&self.title(summary), Tone::Strong, 2);
        lines.blank();
        self.headline().lines().for_each(|line| lines.paragraph(line, Tone::Plain, 0));
        let mut sentences: Vec<String> = Vec::new();
        let mut add = |equal: Vec<(String, String)>| match self.groups.len() {
            1 => sentences.extend(equal.into_iter().map(|(_, text)| text)),
            _ => sentences.extend(equal.into_iter().map(|(at, text)| format!("{at}, {text}"))),
        };
        match self.steady_and_peak() {
            Some((steady, peak)) => add(table(&[steady, peak], peak, lines)),
            None => self.groups.iter().for_each(|rows| add(table(&[rows], rows, lines))),
        }
        let facts = self.facts();
        let notes = self.notes();
        if facts.len() + sentences.len() + notes.len() > 0 {
            lines.blank();
        }
        facts.iter().chain(&sentences).for_each(|line| lines.paragraph(line, Tone::Plain, 2));
        for note in notes {
            let tone = if note.importance == Importance::Bad { Tone::Bad } else { Tone::Warning };
            lines.paragraph(&note.text, tone, 2);
        }
    }

    /// `shop: PHP 8.3.6 · each runtime on the same 1 CPU, 1.00 GiB · 3 rounds`.
    fn title(&self, summary: &Summary) -> String {
        let cases: Vec<&CaseSummary> =
            self.groups.iter().flat_map(|(_, cases)| rows(cases)).collect();
        let mut parts = Vec::new();
        if let Some(first) = cases.first() {
            let is_same = |case: &&CaseSummary| case.php_version == first.php_version;
            if !first.php_version.is_empty() && cases.iter().all(is_same) {
                parts.push(format!("PHP {}", first.php_version));
            }
        }
        parts.extend(budget(&cases));
        if summary.rounds > 0 {
            parts.push(words::number_of(summary.rounds, "round"));
        }
        match parts.is_empty() {
            true => self.app.to_owned(),
            false => format!("{}: {}", self.app, parts.join(" · ")),
        }
    }

    /// Sentences that hold for all rows, or that limit what the rows mean.
    fn facts(&self) -> Vec<String> {
        let correct = [self.correct(), self.pages()].into_iter().flatten().collect::<Vec<_>>();
        let mut facts: Vec<String> = Vec::new();
        if !correct.is_empty() {
            facts.push(correct.join(" "));
        }
        for (group, cases) in &self.groups {
            match group.model {
                LoadModel::Closed => facts.extend(limits(&rows(cases))),
                LoadModel::Open => facts.extend(keeping_up(group, &rows(cases))),
            }
        }
        facts.extend(self.cost());
        facts.extend(self.engine());
        facts.extend(self.doubtful_pages());
        facts
    }

    /// What to look at in pages that may be other ones than the reader means.
    fn doubtful_pages(&self) -> Option<String> {
        let cases: Vec<&CaseSummary> =
            self.groups.iter().flat_map(|(_, cases)| rows(cases)).collect();
        let pages = pages::common(&cases).pages;
        let is_empty = |page: &&PageRecord| page.status == 200 && page.bytes == 0;
        if let Some(empty) = pages.iter().find(is_empty) {
            return Some(format!(
                "{} is an empty page: look in a browser whether the app works.",
                empty.path
            ));
        }
        if let Some(page) = pages.iter().find(|page| page.as_unknown) {
            return Some(format!(
                "{} is answered like a path that does not exist. If it is not the page that you mean, load another path, or \
                 name the script that serves it with --index.",
                page.path
            ));
        }
        if let Some(page) = pages.iter().find(|page| page.status == 200 && page.says_error()) {
            return Some(format!(
                "{} says that the app does not work or is not set up yet, with status 200. Look at it in a browser; \
                 `contains: TEXT` in an `app.yaml` makes sure of the right one.",
                page.path
            ));
        }
        let page = pages.iter().find(|page| page.status == 200 && page.asks_for_password)?;
        Some(format!(
            "{0} asks for a password. If it is the login, this measures the pages behind it: \
             --path PAGE --login {0} --login-field NAME=VALUE.",
            page.path
        ))
    }

    /// `Same pages on every runtime: / "Shop" 18.9 KB.`
    fn pages(&self) -> Option<String> {
        let cases: Vec<&CaseSummary> =
            self.groups.iter().flat_map(|(_, cases)| rows(cases)).collect();
        let common = pages::common(&cases);
        let list = evidence::pages(&common);
        (common.agree && !list.is_empty()).then(|| match cases.len() {
            1 => format!("Measured: {list}."),
            _ => format!("Same pages on every runtime: {list}."),
        })
    }

    /// The CPU cost of a million requests with the best row and with the baseline.
    fn cost(&self) -> Option<String> {
        let (group, cases) = match self.steady_and_peak() {
            Some((_, peak)) => peak,
            None => self.groups.first()?,
        };
        let shown = rows(cases);
        let baseline = shown.iter().find(|case| Some(&case.runtime) == group.baseline.as_ref())?;
        let first = shown.first()?;
        let of = |case: &CaseSummary| cost::cpu_ns_per_million(case).map(evidence::cpu_time);
        let own = of(baseline)?;
        let name = &baseline.runtime;
        match first.runtime == *name {
            true => Some(format!("1 million requests cost {own} with {name}.")),
            false => Some(format!(
                "1 million requests cost {} with {}, {own} with {name}.",
                of(first)?,
                first.runtime
            )),
        }
    }

    /// What the container engine spent beside the budget, which CPU per request does not include.
    fn engine(&self) -> Option<String> {
        let (_, cases) = match self.steady_and_peak() {
            Some((_, peak)) => peak,
            None => self.groups.first()?,
        };
        let shown = rows(cases);
        let spent = |case: &&CaseSummary| {
            let us = case.figures.engine_cost_us.value()?;
            let of_stack = case.figures.cpu_cost_us.value().filter(|of_stack| *of_stack > 0.0);
            let share = of_stack.map(|of_stack| words::short_percent(us / of_stack * 100.0));
            let share = share.map_or_else(String::new, |share| format!(" ({share} more)"));
            Some(format!("{}{share} with {}", words::time(us * 1e3), case.runtime))
        };
        let spent: Vec<String> = shown.iter().copied().filter_map(|case| spent(&case)).collect();
        (!spent.is_empty()).then(|| {
            format!(
                "Beside the budget, the container engine spent CPU time for each request: {}.",
                spent.join(", ")
            )
        })
    }

    fn correct(&self) -> Option<String> {
        let mut cases = self.groups.iter().flat_map(|(_, cases)| rows(cases)).peekable();
        cases.peek()?;
        cases
            .all(|case| case.counts.ok == case.counts.planned)
            .then(|| "All answers were correct.".to_owned())
    }

    /// The notes that a reader must know, each once, whichever load it is about.
    fn notes(&self) -> Vec<Note> {
        let mut all: Vec<Note> = Vec::new();
        for (group, cases) in &self.groups {
            for note in notes::of(group, cases) {
                if note.importance != Importance::Plain && !all.contains(&note) {
                    all.push(note);
                }
            }
            all.extend(rows(cases).into_iter().flat_map(failed));
        }
        all
    }
}

/// Sentences about a closed load: what limited the throughput.
fn limits(rows: &[&CaseSummary]) -> Vec<String> {
    let each = || rows.iter().copied();
    if rows.is_empty() {
        return Vec::new();
    }
    if exhausted::all_wait_for_database(each()) {
        return vec![
            "All runtimes wait for the database; the runtime hardly matters for these pages."
                .to_owned(),
        ];
    }
    let mut sentences = Vec::new();
    if let Some(share) = exhausted::least_cpu_share(each()) {
        sentences.push(format!(
            "At peak every runtime used at least {:.0} % of its CPU, so the CPU was the limit, not a database.",
            (share * 100.0).floor()
        ));
    }
    let bounded: Vec<String> = each()
        .filter(|case| exhausted::lower_bound(case) == Some(LowerBound::NothingExhausted))
        .map(|case| case.runtime.clone())
        .collect();
    if !bounded.is_empty() {
        sentences.push(format!(
            "≥ {}: at least this many requests/s; nothing in the stack was exhausted, so a higher `--concurrency` may show more.",
            words::list(&bounded)
        ));
    }
    sentences
}

/// Sentences about a load with a fixed rate: whether the rows kept up with it.
fn keeping_up(group: &Group, rows: &[&CaseSummary]) -> Vec<String> {
    let late = |case: &&CaseSummary| match case.kept_up {
        Some(KeptUp::No { why, answered_per_second, .. }) => Some(format!(
            "{} did not keep up with {}: it answered {} requests/s; {why}.",
            case.runtime,
            group.load_words(),
            words::rate(answered_per_second)
        )),
        Some(KeptUp::Yes | KeptUp::TooShort) | None => None,
    };
    let late: Vec<String> = rows.iter().filter_map(late).collect();
    let all_did = !rows.is_empty() && rows.iter().all(|case| case.kept_up == Some(KeptUp::Yes));
    match all_did {
        true => vec![format!("All runtimes kept up with {}.", group.load_words())],
        false => late,
    }
}

/// Notes on how the requests of a row failed, and what limited it.
fn failed(case: &CaseSummary) -> Vec<Note> {
    let Some(errors) = notes::errors(case) else { return Vec::new() };
    let why = why::line(case).map(|line| format!("limit of {}: {line}", case.runtime));
    let note = |text| Note { importance: Importance::Doubt, text };
    std::iter::once(errors).chain(why).map(note).collect()
}

/// A load and its rows, the best first.
type LoadRows<'a> = (&'a Group, Vec<&'a CaseSummary>);

/// One table: a part for each load, its rows in the order of one of them. Returns what is equal in
/// all rows: under which load (`At 200 requests/s`), and what.
fn table(
    loads: &[&LoadRows<'_>],
    order: &LoadRows<'_>,
    lines: &mut Lines,
) -> Vec<(String, String)> {
    let shown = rows(&order.1);
    if shown.is_empty() {
        return Vec::new();
    }
    let is_alone = loads.len() == 1;
    let mut parts: Vec<LoadColumns> = Vec::new();
    let mut equal = Vec::new();
    for (group, cases) in loads {
        let own: Vec<Option<&CaseSummary>> = shown
            .iter()
            .map(|case| cases.iter().copied().find(|one| one.runtime == case.runtime))
            .collect();
        let columns = match group.model {
            LoadModel::Open => at_rate(group, &own, is_alone),
            LoadModel::Closed => at_peak(group, &own, is_alone),
        };
        let mut part = LoadColumns { titles: load_titles(group), columns };
        let at = headline::capital(&headline::at_load(group));
        equal.extend(part.take_equal().into_iter().map(|text| (at.clone(), text)));
        parts.push(part);
    }
    let names = compact::Column { keep: u8::MAX, ..Column::from(names_of(&shown, loads)) };
    lines.blank();
    lines.extend(compact::table(&lines.style(), &names, parts));
    equal
}

/// A load above its columns, the longest title first: with a rate, also the shortest tells it.
fn load_titles(group: &Group) -> Vec<String> {
    let (name, words) = (&group.load, group.load_words());
    match (is_named_by_itself(group), group.rate_per_second) {
        (true, _) => vec![words, name.clone()],
        (false, None) => vec![format!("{name}: {words}"), name.clone()],
        (false, Some(_)) => {
            let rate = words.replace(" requests/s", "/s");
            vec![format!("{name}: {words}"), format!("{name}: {rate}"), rate]
        }
    }
}

/// Whether the load's name is only a description of the load.
fn is_named_by_itself(group: &Group) -> bool {
    match &group.shape {
        Some(LoadShape::Closed(closed)) => closed.name() == group.load,
        Some(LoadShape::Open(schedule)) => schedule.to_string() == group.load,
        None => group.load == group.load_text,
    }
}

/// The names of the rows, with the marks from all loads.
fn names_of(shown: &[&CaseSummary], loads: &[&LoadRows<'_>]) -> super::layout::Column {
    let mut column = names(shown);
    for (field, case) in column.fields.iter_mut().zip(shown) {
        let of = loads
            .iter()
            .flat_map(|(_, cases)| cases.iter().filter(|one| one.runtime == case.runtime));
        let mut signs: Vec<char> =
            of.flat_map(|case| mark(case).trim().chars().collect::<Vec<_>>()).collect();
        signs.dedup();
        let mut seen = Vec::new();
        signs.retain(|sign| {
            !seen.contains(sign) && {
                seen.push(*sign);
                true
            }
        });
        let signs: String = signs.into_iter().collect();
        field.text = match signs.is_empty() {
            true => case.runtime.clone(),
            false => format!("{} {signs}", case.runtime),
        };
    }
    column
}

/// The columns of a load with a schedule. At one rate runtimes differ most in what they spend for it, so a
/// narrow table keeps that rather than a second percentile.
fn at_rate(group: &Group, rows: &[Option<&CaseSummary>], is_alone: bool) -> Vec<Column> {
    let time = |stat: Stat| move |case: &CaseSummary| shown_time(group.model, case, stat);
    let mut columns = vec![
        column("p50", 1, rows, time(Stat::Percentile(500))),
        column("p95", 9, rows, time(Stat::Percentile(950))),
        column("p99", 2, rows, time(Stat::Percentile(990))),
    ];
    if is_alone {
        columns.extend(compared(group, rows));
    }
    columns.push(cost(rows));
    columns.extend(errors(rows));
    if is_alone {
        columns.push(memory(rows));
    }
    columns
}

/// The columns of a closed load.
fn at_peak(group: &Group, rows: &[Option<&CaseSummary>], is_alone: bool) -> Vec<Column> {
    let time = |stat: Stat| move |case: &CaseSummary| shown_time(group.model, case, stat);
    let mut columns = vec![column("requests/s", 9, rows, throughput)];
    columns.extend(compared(group, rows));
    if is_alone {
        columns.push(column("p50", 1, rows, time(Stat::Percentile(500))));
        columns.push(column("p95", 5, rows, time(Stat::Percentile(950))));
        columns.push(cost(rows));
    }
    columns.extend(errors(rows));
    columns.push(memory(rows));
    columns
}

/// Correct answers per second. If nothing in the stack was exhausted, they are marked as a lower
/// bound.
fn throughput(case: &CaseSummary) -> Field {
    let known = figure(case.figures.throughput_per_second, words::rate);
    match (known.sign, exhausted::lower_bound(case)) {
        (None, Some(LowerBound::NothingExhausted)) => {
            Field { text: format!("≥ {}", known.text), sign: Some(Sign::AtLeast), ..known }
        }
        _ => known,
    }
}

/// The ratio to the baseline and its interval. Empty if nothing is compared.
fn compared(group: &Group, rows: &[Option<&CaseSummary>]) -> Vec<Column> {
    let Some(baseline) = group.baseline.as_ref().filter(|_| !group.comparisons.is_empty()) else {
        return Vec::new();
    };
    let mut columns = vec![column(&format!("vs {baseline}"), 9, rows, |case| vs(group, case))];
    let interval = column("95 % interval", 6, rows, |case| vs_interval(group, case));
    if interval.fields.iter().any(|field| !field.text.is_empty()) {
        columns.push(interval);
    }
    columns
}

fn cost(rows: &[Option<&CaseSummary>]) -> Column {
    column("CPU/request", 4, rows, |case| {
        figure(case.figures.cpu_cost_us, |us| words::time(us * 1e3))
    })
}

fn memory(rows: &[Option<&CaseSummary>]) -> Column {
    column("memory", 3, rows, |case| figure(case.figures.memory_bytes_max, words::bytes))
}

/// The share of failed requests. `None`: no request failed.
fn errors(rows: &[Option<&CaseSummary>]) -> Option<Column> {
    let has_failed = |case: &&CaseSummary| case.counts.ok < case.counts.planned;
    rows.iter().flatten().any(has_failed).then(|| {
        column("errors", 8, rows, |case| {
            let share = 1.0 - case.counts.ok_share().unwrap_or(1.0);
            match has_failed(&case) {
                true => {
                    Field { tone: Tone::Bad, ..Field::plain(words::short_percent(share * 100.0)) }
                }
                false => Field::plain("0"),
            }
        })
    })
}

fn column(
    title: &str,
    keep: u8,
    rows: &[Option<&CaseSummary>],
    field: impl Fn(&CaseSummary) -> Field,
) -> Column {
    let fields = rows.iter().map(|case| case.map_or_else(Field::default, &field)).collect();
    Column { title: title.to_owned(), fields, keep }
}

/// The budget in words: `each runtime on the same 1 CPU, 1.00 GiB`.
fn budget(cases: &[&CaseSummary]) -> Option<String> {
    let first = cases.first().filter(|first| !first.is_load_on_url())?;
    let is_same = |case: &&&CaseSummary| {
        (case.budget_cpus, case.budget_memory_bytes, case.budget_unequal)
            == (first.budget_cpus, first.budget_memory_bytes, false)
    };
    if !cases.iter().all(|case| is_same(&case)) {
        return Some("unequal budgets".to_owned());
    }
    let cpus = first.budget_cpus.in_words();
    let memory = match first.budget_memory_bytes {
        0 => String::new(),
        bytes => format!(", {}", words::bytes(bytes as f64)),
    };
    let is_same = |case: &&CaseSummary| case.workers == first.workers;
    let workers = match first.workers.filter(|_| cases.iter().all(is_same)) {
        Some(workers) => format!(", {}", words::number_of(workers, "worker")),
        None => String::new(),
    };
    Some(format!("each runtime on the same {cpus}{memory}{workers}"))
}
