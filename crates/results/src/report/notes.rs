//! Writes the notes below a table: refusals, errors by kind, and the meaning of the marks and
//! signs.

use stampede_model::cpus::CpuCount;
use stampede_model::fact::{Fact, Found, Php};
use stampede_model::lag::LagMark;
use stampede_model::primary::noun;
use stampede_model::record::{ProviderKind, Validity};
use stampede_model::words;

use super::columns::{broken, figure, rows};
use super::layout::{Section, Sign};
use super::why;
use crate::summary::breaking::Breaking;
use crate::summary::model::{
    CaseReason, CaseSummary, CaseVerdict, ExpectedOutcome, Figure, Figures, Group, Standing, Stat,
    TrialSummary,
};
use crate::summary::over_time::ErrorSpan;
use crate::summary::steady::not_steady;

/// The marks behind a name in the table. Each is explained below the table.
pub fn mark(case: &CaseSummary) -> String {
    let signs = [
        (case.trials_invalid > 0, '!'),
        (case.verdict == CaseVerdict::Suspect, '?'),
        (!case.not_comparable.is_empty(), '≠'),
        (broken(case).is_some(), '*'),
    ];
    let signs: String = signs.iter().filter(|(there, _)| *there).map(|(_, sign)| *sign).collect();
    if signs.is_empty() { signs } else { format!(" {signs}") }
}

/// All reasons of a case, on one line.
pub fn reasons(case: &CaseSummary) -> String {
    case.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// How important a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// Figures are missing, or may not be used as they are.
    Bad,
    /// Figures are to be read with care.
    Doubt,
    /// The note is for information only.
    Plain,
}

/// One note: a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// How important it is.
    pub importance: Importance,
    /// The note in words.
    pub text: String,
}

/// All notes of a group, case by case within each topic.
pub fn of(group: &Group, cases: &[&CaseSummary]) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut add = |importance, text: String| notes.push(Note { importance, text });
    for case in cases {
        about_verdict(case, &mut add);
    }
    why::about(cases, &mut add);
    for case in cases {
        for why in &case.not_comparable {
            add(Importance::Doubt, format!("≠ {}: not comparable: {why}", case.runtime));
        }
    }
    for case in cases {
        let name = &case.runtime;
        let mut add_list = |what: &str, items: String| {
            if !items.is_empty() {
                add(Importance::Plain, format!("{name}: {what}: {items}"));
            }
        };
        add_list("set by the plan", words::some_of(&case.asked));
        let is_patch = |one: &&Fact<Php>| matches!(one, Fact::Known(Php::Version { .. }));
        let forced: Vec<&Fact<Php>> = case.forced.iter().filter(|one| !is_patch(one)).collect();
        add_list("set by its SAPI", words::some_of(&forced));
        add_list("kept between requests (normal in this mode)", words::some_of(&case.kept));
        add_list("what a request means here", differences(&case.differs));
        if let Some(patch) = case.forced.iter().find(is_patch) {
            add(Importance::Doubt, format!("{name}: {patch}, another patch release"));
        }
    }
    about_extensions(cases, &mut add);
    let shown = rows(cases);
    about_rounds(group, &shown, &mut add);
    about_expectations(cases, &mut add);
    about_budgets(&shown, &mut add);
    for case in &shown {
        about_lag(case, &mut add);
        if let Some(breaking) = &case.breaking {
            add(Importance::Plain, breaking_text(&case.runtime, breaking));
        }
        if let Some(text) = errors(case) {
            add(Importance::Plain, text);
        }
        if case.stretched_max > 1.000_5 {
            let factor = words::ratio(case.stretched_max);
            add(
                Importance::Doubt,
                format!(
                    "{}: the client stretched the schedule to {factor} its length",
                    case.runtime
                ),
            );
        }
    }
    notes
}

/// Adds which PHP extensions that the app needs are not loaded, and where: once for all runtimes that lack the
/// same ones.
fn about_extensions(cases: &[&CaseSummary], add: &mut impl FnMut(Importance, String)) {
    let mut lacking: Vec<(&[String], Vec<String>)> = Vec::new();
    for case in cases.iter().filter(|case| !case.extensions_missing.is_empty()) {
        let missing = case.extensions_missing.as_slice();
        match lacking.iter_mut().find(|(same, _)| *same == missing) {
            Some((_, on)) => on.push(case.runtime.clone()),
            None => lacking.push((missing, vec![case.runtime.clone()])),
        }
    }
    for (missing, on) in lacking {
        let (noun, them) = match missing.len() {
            1 => ("extension", "it"),
            _ => ("extensions", "them"),
        };
        let (missing, on) = (words::list(missing), words::list(&on));
        add(
            Importance::Doubt,
            format!(
                "PHP {noun} {missing}, which the app needs: not loaded on {on}. Pages that need {them} fail or do less work"
            ),
        );
    }
}

/// The differences from nginx with PHP-FPM that a runtime is known to have: a few as sentences, of more
/// their number. `--json` has them all.
fn differences(sentences: &[String]) -> String {
    match sentences {
        [] => String::new(),
        few if few.len() <= DIFFERENCES_MAX => few.join("; "),
        many => {
            let known = words::quantity(many.len() as u64, "known difference");
            format!("{known} from nginx with PHP-FPM (docs/paths.md, docs/requests.md)")
        }
    }
}

/// The most known differences that are printed as sentences: more would hide the answer.
const DIFFERENCES_MAX: usize = 2;

/// Adds how much of the marked figures is the generator's own delay.
fn about_lag(case: &CaseSummary, add: &mut impl FnMut(Importance, String)) {
    let marks = &case.figures.lag_marks;
    let Some(text) = LagMark::sentence(marks) else { return };
    let weighs = marks.iter().any(|mark| mark.judged() > Validity::Valid);
    let importance = if weighs { Importance::Doubt } else { Importance::Plain };
    add(importance, format!("{}: † {text}", case.runtime));
}

fn about_verdict(case: &CaseSummary, add: &mut impl FnMut(Importance, String)) {
    let name = &case.runtime;
    match case.verdict {
        CaseVerdict::Refused => {
            add(Importance::Bad, format!("{name}: refused: {}", reasons(case)));
        }
        CaseVerdict::Missing => {
            add(Importance::Bad, format!("{name}: missing: {}", reasons(case)));
        }
        CaseVerdict::Valid | CaseVerdict::Suspect | CaseVerdict::Invalid => {
            for (judged, reason) in grouped(&case.reasons) {
                let (importance, sign) = match judged {
                    Some(Validity::Invalid) => (Importance::Bad, "! "),
                    Some(Validity::Suspect) => (Importance::Doubt, "? "),
                    Some(Validity::Valid) | None => (Importance::Plain, ""),
                };
                add(importance, format!("{sign}{name}: {reason}"));
            }
            about_invalid(case, add);
        }
    }
    if case.trials_missing > 0 && case.verdict != CaseVerdict::Missing {
        let of = case.trials_missing + case.trials.len() as u32;
        let there = case.trials.len();
        add(Importance::Bad, format!("{name}: {there} of {of} planned trials are there"));
    }
}

/// Reasons with their weight, a line each. Reasons of the same kind in three trials and more, which
/// differ only in their figures, share a line with the figures of the first: a busy machine would
/// fill the screen otherwise.
fn grouped(reasons: &[CaseReason]) -> Vec<(Option<Validity>, String)> {
    let key = |reason: &CaseReason| {
        (reason.judged, reason.reasons.iter().map(Fact::code).collect::<Vec<_>>())
    };
    let mut groups: Vec<Vec<&CaseReason>> = Vec::new();
    for reason in reasons {
        match groups.iter_mut().find(|group| key(group[0]) == key(reason)) {
            Some(group) => group.push(reason),
            None => groups.push(vec![reason]),
        }
    }
    let of_group = |group: Vec<&CaseReason>| match group.as_slice() {
        [first, _, _, ..] => {
            let mut trials: Vec<u32> = group.iter().flat_map(|one| one.trials.clone()).collect();
            trials.sort_unstable();
            let of = words::number_list("trial", &first.trials);
            let text = format!("{} ({of}; similar in the others)", first.text);
            vec![(first.judged, CaseReason { trials, text, ..(*first).clone() }.to_string())]
        }
        few => few.iter().map(|one| (one.judged, one.to_string())).collect(),
    };
    groups.into_iter().flat_map(of_group).collect()
}

/// The first invalid trials with their figures, and how many more there are.
fn about_invalid(case: &CaseSummary, add: &mut impl FnMut(Importance, String)) {
    let name = &case.runtime;
    let invalid = case.trials.iter().filter(|trial| trial.verdict == Validity::Invalid);
    let shown = invalid.filter_map(|trial| Some((trial.number, invalid_figures(trial)?)));
    let shown: Vec<(u32, String)> = shown.collect();
    for (number, figures) in shown.iter().take(INVALID_MAX) {
        add(Importance::Plain, format!("{name}: trial {number} had {figures}"));
    }
    let more: Vec<u32> = shown.iter().skip(INVALID_MAX).map(|(number, _)| *number).collect();
    if !more.is_empty() {
        let trials = words::number_list("trial", &more);
        add(Importance::Plain, format!("{name}: the figures of {trials} are in `summary.json`"));
    }
}

/// Invalid trials whose figures are printed: more would hide the answer.
const INVALID_MAX: usize = 3;

/// The figures of an invalid trial. They are never part of a mean, and never hidden.
fn invalid_figures(trial: &TrialSummary) -> Option<String> {
    let (figures, counts) = (&trial.figures, &trial.counts);
    let share = figures.ok_share.value()?;
    if trial.stopped {
        let [started, planned, ok] =
            [counts.planned - counts.dropped, counts.planned, counts.ok].map(words::count);
        return Some(format!("{started} of its {planned} requests sent, {ok} of them ok"));
    }
    let mut failed: Vec<(&String, &u64)> = counts.failed.iter().collect();
    failed.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let failed: String = failed
        .iter()
        .take(3)
        .map(|(kind, count)| format!(", {} {kind}", words::count(**count)))
        .collect();
    let (name, times) = match figures.response_time_ns.max {
        Figure::None => ("service time", &figures.service_time_ns),
        _ => ("response time", &figures.response_time_ns),
    };
    let throughput = figures.throughput_per_second.value().map_or("0".to_owned(), words::rate);
    let p95 = times.get(Stat::Percentile(950)).known();
    let p95 = p95.map_or(String::new(), |ns| format!("p95 of {name} {}, ", words::time(ns)));
    Some(format!("{p95}throughput {throughput} /s, {}\u{a0}ok{failed}", words::share(share)))
}

/// Adds notes about what more rounds would show, and about figures that changed during the run.
fn about_rounds(group: &Group, cases: &[&CaseSummary], add: &mut impl FnMut(Importance, String)) {
    for other in &group.comparisons {
        if other.standing(group.primary) != Standing::Inconclusive {
            continue;
        }
        let needed = match other.rounds_needed {
            Some(needed) => format!("about {needed} rounds"),
            None => "more than 200 rounds".to_owned(),
        };
        add(Importance::Plain, format!("{}: {needed} would settle it", other.runtime));
    }
    let drifts: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let drift = case.drift?;
            Some(format!("{} {}", case.runtime, words::ratio(drift.ratio)))
        })
        .collect();
    if !drifts.is_empty() {
        let (noun, drifts) = (noun(group.primary), words::list(&drifts));
        let text = format!(
            "{noun} drifted between the first and the last round: {drifts}. Ratios within a round are still valid. For \
             absolute figures, measure again on a quiet machine"
        );
        add(Importance::Doubt, text);
    }
    for case in cases {
        if let Some(text) = not_steady(case) {
            add(Importance::Doubt, format!("{}: {text}", case.runtime));
        }
    }
}

fn about_expectations(cases: &[&CaseSummary], add: &mut impl FnMut(Importance, String)) {
    for case in cases {
        for judged in &case.expectations {
            let (name, text) = (&case.runtime, &judged.text);
            match &judged.outcome {
                ExpectedOutcome::Met => {}
                ExpectedOutcome::NotMet { figure } => {
                    let found = match figure.known() {
                        Some(Found::Change { is_shown: false, .. }) => format!(": {figure}"),
                        _ => format!(", found {figure}"),
                    };
                    add(Importance::Bad, format!("{name}: expected {text}{found}"));
                }
                ExpectedOutcome::Unknown { .. } if judged.is_about_another_run() => {
                    let how = "`stampede diff` or `--against` compares it with another run";
                    add(Importance::Doubt, format!("{name}: {text} is not judged here: {how}"));
                }
                ExpectedOutcome::Unknown { figure } => {
                    let known = figure.as_ref().map_or(String::new(), |one| format!(": {one}"));
                    let what = format!("{name}: expected {text}: not enough data to judge{known}");
                    add(Importance::Doubt, what);
                }
            }
        }
    }
    let all = || cases.iter().flat_map(|case| &case.expectations);
    if all().next().is_some() && all().all(|judged| judged.outcome == ExpectedOutcome::Met) {
        add(Importance::Plain, "all expectations are met".to_owned());
    }
}

fn about_budgets(cases: &[&CaseSummary], add: &mut impl FnMut(Importance, String)) {
    let is_external =
        |case: &&&CaseSummary| case.provider == ProviderKind::External && !case.is_load_on_url();
    let external: Vec<String> =
        cases.iter().filter(is_external).map(|case| case.runtime.clone()).collect();
    if !external.is_empty() {
        let text = format!(
            "unequal budget ({}): stampede does not limit a server that already runs; its CPU % \
             is relative to the budget of the other rows",
            words::list(&external)
        );
        add(Importance::Doubt, text);
    }
    for case in cases.iter().filter(is_external) {
        if case.figures.cpu_percent_median == Figure::None {
            let text = "it was not watched, so what it spent is not known (`watch` in the plan)";
            add(Importance::Doubt, format!("{}: {text}", case.runtime));
        }
    }
    about_unequal_stacks(cases, add);
    let budgets: Vec<CpuCount> = cases.iter().map(|case| case.budget_cpus).collect();
    if budgets.windows(2).any(|pair| pair[0] != pair[1]) {
        let each = cases.iter().map(|case| format!("{} {}", case.runtime, case.budget_cpus));
        let each = each.collect::<Vec<_>>().join(", ");
        add(Importance::Doubt, format!("unequal budget in CPUs: {each}"));
    }
}

/// Says which stacks that stampede started had other means than one budget, and why.
fn about_unequal_stacks(cases: &[&CaseSummary], add: &mut impl FnMut(Importance, String)) {
    let split = "the budget is split by role, so the stacks did not have the same resources";
    let limited = "single services have limits of their own, so the stacks did not have the same \
                   resources (`limits: none` in the plan removes them)";
    for (what, of_services) in [(split, false), (limited, true)] {
        let is_one = |case: &&&CaseSummary| {
            case.provider != ProviderKind::External
                && case.budget_unequal
                && (case.provider == ProviderKind::Compose) == of_services
        };
        let unequal: Vec<String> =
            cases.iter().filter(is_one).map(|case| case.runtime.clone()).collect();
        if !unequal.is_empty() {
            let who =
                if unequal.len() == cases.len() { "all".to_owned() } else { words::list(&unequal) };
            add(Importance::Doubt, format!("unequal budget ({who}): {what}"));
        }
    }
}

/// A sentence about a breaking point: `* a: broke at 640 requests/s: ok < 99% from second 38 on
/// (http:502); …`, or that the case did not break.
fn breaking_text(name: &str, breaking: &Breaking) -> String {
    let (Some(first), Some(last)) = (breaking.seconds.iter().min(), breaking.seconds.iter().max())
    else {
        let judged = breaking.judged.join(", ");
        return format!("{name}: did not break: {judged} held up to the highest rate");
    };
    let at = figure(breaking.offered_per_second, words::rate).text;
    let lost: Vec<String> = breaking.lost.iter().map(|text| negated(text)).collect();
    let from = match first == last {
        true => format!("from second {first} on"),
        false => format!("from second {first} to {last}, depending on the trial"),
    };
    let mut kinds: Vec<(&String, &u64)> = breaking.failed.iter().collect();
    kinds.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let kinds: Vec<&str> = kinds.iter().take(3).map(|(kind, _)| kind.as_str()).collect();
    let kinds =
        if kinds.is_empty() { String::new() } else { format!(", mostly {}", kinds.join(", ")) };
    let trials = match breaking.trials_broken == breaking.trials {
        true => String::new(),
        false => format!(" in {} of {} trials", breaking.trials_broken, breaking.trials),
    };
    let before = words::count(breaking.in_flight_max_before.into());
    let after = words::count(breaking.in_flight_max_after.into());
    format!(
        "* {name}: broke{trials} at {at} requests/s ({from}): {}{kinds}. Requests in flight: at most \
         {before} before, {after} after",
        words::list(&lost)
    )
}

/// Turns an expectation into its opposite: `ok >= 99%` becomes `ok < 99%`.
fn negated(text: &str) -> String {
    let turns = [(">=", "<"), ("<=", ">"), ("<", "≥"), (">", "≤")];
    let found = turns.iter().find(|(relation, _)| text.contains(relation));
    found.map_or_else(|| text.to_owned(), |(relation, negated)| text.replacen(relation, negated, 1))
}

/// The seconds of a kind of failure: ` (second 38 to 60, in 4 of them)`.
fn span_text(span: &ErrorSpan) -> String {
    let ErrorSpan { first_second: first, last_second: last, seconds_max } = *span;
    match last - first + 1 {
        1 => format!(" (second {first})"),
        all if seconds_max < all => {
            format!(" (second {first} to {last}, in {seconds_max} of them)")
        }
        _ => format!(" (second {first} to {last})"),
    }
}

/// Counts by kind of failure, the most frequent first: `apache: without a correct answer: 12
/// net:timeout, 3 http:502, 4 dropped`. `None`: no request failed.
pub fn errors(case: &CaseSummary) -> Option<String> {
    let mut kinds: Vec<(&str, u64)> =
        case.counts.failed.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    kinds.push(("dropped", case.counts.dropped));
    kinds.retain(|(_, count)| *count > 0);
    kinds.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    if kinds.is_empty() {
        return None;
    }
    let kinds = kinds.iter().map(|(kind, count)| {
        let when = case.errors_over_time.get(*kind).map_or(String::new(), span_text);
        format!("{}\u{a0}{kind}{when}", words::count(*count))
    });
    let kinds = kinds.collect::<Vec<_>>().join(", ");
    Some(format!("{}: failed requests: {kinds}", case.runtime))
}

/// Explanations of the signs that the sections use.
pub fn legend(group: &Group, cases: &[&CaseSummary], sections: &[Section]) -> Vec<String> {
    let shown = rows(cases);
    let fields =
        || sections.iter().flat_map(|section| &section.columns).flat_map(|one| &one.fields);
    let has = |sign: Sign| fields().any(|field| field.sign == Some(sign));
    let mut legend = Vec::new();
    let mut add = |there: bool, text: &str| {
        if there {
            legend.push(text.to_owned());
        }
    };
    let few = shown.iter().any(|case| has_too_few(&case.figures));
    let dash = has(Sign::Nothing);
    add(dash && few, "—: too few requests for this percentile; a longer `--for` gives more");
    let unread = shown.iter().any(|case| case.figures.cpu_percent_median == Figure::None);
    add(dash && unread, "—: CPU and memory could not be read");
    add(dash && !few && !unread, "—: does not exist here, or could not be read");
    add(
        has(Sign::Failed),
        "failed: this percentile falls on a failed request, which ranks slower than all answers",
    );
    let starred = shown.iter().any(|case| broken(case).is_some());
    add(
        starred,
        "*: broke under the rising load; figures marked * count only the time before that",
    );
    let cut_off = has(Sign::AtLeast);
    let limit = matches!(group.model, crate::summary::model::LoadModel::Closed);
    let bounded = |of: fn(&Figures) -> Figure| {
        shown.iter().any(|case| matches!(of(&case.figures), Figure::AtLeast(_)))
    };
    let generator = limit && bounded(|figures| figures.throughput_per_second);
    let times = bounded(|figures| figures.response_time_ns.mean)
        || bounded(|figures| figures.service_time_ns.mean);
    add(
        cut_off && times,
        "≥: the true value may be higher, because failed requests have no complete time",
    );
    add(cut_off && generator, "≥ N /s: at least N, because the generator was at its limit");
    let few_rounds = |rounds: u32| shown.iter().any(|case| case.trials_counted == rounds);
    add(few_rounds(1), "one trial: no interval");
    add(few_rounds(2), "two trials: no interval");
    legend
}

fn has_too_few(figures: &Figures) -> bool {
    Stat::ALL.iter().any(|stat| {
        figures.response_time_ns.get(*stat) == Figure::TooFew
            || figures.service_time_ns.get(*stat) == Figure::TooFew
    })
}
