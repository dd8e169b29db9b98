//! Writes the headline: how each row compares with the baseline, and how certain that is.
//!
//! The headline claims only what a comparison shows. It never says which of two rows is better if
//! neither is the baseline.

use std::collections::BTreeMap;

use stampede_model::fact::NotCompared;
use stampede_model::primary::Primary;
use stampede_model::primary::noun;
use stampede_model::primary::short;
use stampede_model::record::LoadShape;
use stampede_model::words;

use super::compared::Standing;
use super::group::why_not;
use super::model::{CaseSummary, Comparison, Figure, Group, LoadModel};

/// Sentences about a group whose rows are sorted, the best first, of a run of `rounds` rounds.
pub fn of(group: &Group, cases: &[CaseSummary], rounds: u32) -> String {
    let cases: Vec<&CaseSummary> = cases.iter().collect();
    Headline { group, cases: &cases, steady: None, rounds }.text()
}

/// The sentences about one app under two loads. A closed load shows the peak of each row, and an
/// open load shows its times at a fixed rate.
pub fn of_two(
    peak: (&Group, &[&CaseSummary]),
    steady: (&Group, &[&CaseSummary]),
    rounds: u32,
) -> String {
    let (group, cases) = peak;
    let headline = Headline { group, cases, steady: Some(steady), rounds };
    let text = headline.text();
    match headline.joins() {
        true => text,
        // The two loads lead to different findings, so each has its own sentences.
        false => {
            let own = Headline { group: steady.0, cases: steady.1, steady: None, rounds };
            let at = capital(&at_load(steady.0));
            // Omits the opening words if the first line has the same.
            match (headline.is_first_impression(), own.is_first_impression()) {
                (true, true) => format!("{text}\n{at}, {}", own.ratios()),
                _ => format!("{text}\n{at}: {}", own.text()),
            }
        }
    }
}

struct Headline<'a> {
    group: &'a Group,
    cases: &'a [&'a CaseSummary],
    /// The group of the same rows at a fixed rate.
    steady: Option<(&'a Group, &'a [&'a CaseSummary])>,
    /// Of the run, as planned.
    rounds: u32,
}

impl<'a> Headline<'a> {
    fn text(&self) -> String {
        let measured: Vec<&CaseSummary> =
            self.cases.iter().copied().filter(|case| case.trials_counted > 0).collect();
        match measured.as_slice() {
            [] if self.cases.iter().any(|case| !case.trials.is_empty()) => {
                self.nothing("No trial is valid")
            }
            [] => self.nothing("Nothing was measured"),
            [only] if self.group.comparisons.is_empty() => self.alone(only),
            _ if measured.iter().all(|case| case.counts.ok == 0) => {
                format!("No runtime gave a correct answer: {}.", failures(&measured))
            }
            _ => self.compared(),
        }
    }

    /// The sentence if no row counts: with the reason, if all rows have the same.
    fn nothing(&self, what: &str) -> String {
        let first = |case: &&CaseSummary| Some(case.reasons.first()?.reasons.first()?.to_string());
        let mut each = self.cases.iter().map(first);
        let one = each.next().flatten();
        match one.filter(|one| each.all(|other| other.as_ref() == Some(one))) {
            // Log lines may follow the sentence.
            Some(why) => format!("{what}: {}.", why.lines().next().unwrap_or_default()),
            None => format!("{what}: see the reasons below."),
        }
    }

    /// The sentence about a single row that has nothing to be compared with.
    fn alone(&self, case: &CaseSummary) -> String {
        let primary = self.group.primary;
        if let Some(why) = why_not(primary, case) {
            return format!("{} {why}.", case.runtime);
        }
        let (noun, figure) = (noun(primary), value(primary, case).unwrap_or_default());
        let sure = match own_interval(primary, case) {
            Some((low, high)) => format!(" (95 % interval {low} – {high})"),
            None => format!(" ({}: no interval)", words::number_of(case.trials_counted, "trial")),
        };
        let doubt = doubt(case);
        let alone = match case.is_load_on_url() {
            true => "",
            false => " Nothing was measured to compare it with.",
        };
        format!("{}: {noun} {figure}{sure}{doubt}.{alone}", case.runtime)
    }

    fn compared(&self) -> String {
        if let Some(why) = self.baseline_is_unfit() {
            return why;
        }
        let mut sentences: Vec<String> = Vec::new();
        if self.is_first_impression() {
            sentences.push(self.first_impression());
        } else if self.is_tie() {
            sentences.push(self.tie());
        } else {
            sentences.extend(self.leads());
            sentences.extend(self.slower());
            sentences.extend(self.level());
            sentences.extend(self.hints());
        }
        sentences.extend(self.failures());
        sentences.join(" ")
    }

    /// The sentence for a baseline without a usable figure. `None`: the baseline has one.
    fn baseline_is_unfit(&self) -> Option<String> {
        let name = self.group.baseline.as_ref()?;
        let case = self.cases.iter().find(|case| case.runtime == *name)?;
        let why = match case.trials_counted {
            0 => "has no valid trial".to_owned(),
            _ => why_not(self.group.primary, case)?.to_string(),
        };
        let is_usable = |case: &&CaseSummary| {
            case.trials_counted > 0 && why_not(self.group.primary, case).is_none()
        };
        Some(match self.cases.iter().any(is_usable) {
            true => format!(
                "The baseline {name} {why}, so nothing is compared. `--baseline NAME` chooses another one."
            ),
            false => format!(
                "The baseline {name} {why}, and no other row has a usable figure: nothing is compared."
            ),
        })
    }

    fn base(&self) -> &str {
        self.group.baseline.as_deref().unwrap_or_default()
    }

    fn with(&self, wanted: Standing) -> Vec<&'a Comparison> {
        let is_it = |one: &&Comparison| one.standing(self.group.primary) == wanted;
        self.group.comparisons.iter().filter(is_it).collect()
    }

    fn names(&self, wanted: Standing) -> Vec<String> {
        self.with(wanted).into_iter().map(|one| one.runtime.clone()).collect()
    }

    /// Whether every comparison has fewer than three rounds.
    fn is_first_impression(&self) -> bool {
        let mut ratios = self.group.comparisons.iter().filter(|one| one.ratio.is_some()).peekable();
        ratios.peek().is_some()
            && ratios.all(|one| one.standing(self.group.primary) == Standing::FirstImpression)
    }

    fn is_tie(&self) -> bool {
        let is_level = |one: &Comparison| {
            matches!(
                one.standing(self.group.primary),
                Standing::Equivalent | Standing::Inconclusive
            )
        };
        let mut compared =
            self.group.comparisons.iter().filter(|one| one.ratio.is_some()).peekable();
        compared.peek().is_some() && compared.all(is_level)
    }

    fn first_impression(&self) -> String {
        let rounds = self.with(Standing::FirstImpression);
        let most = rounds.iter().filter_map(|one| Some(one.ratio?.trials)).max().unwrap_or(1);
        let (head, todo) = (impression(most, self.rounds), impression_todo(self.rounds));
        format!("{head} {} {todo}", self.ratios())
    }

    /// `a serves 1.20 × the requests of b, c 1.10 ×.`; of a time `p95 compared with b (less is
    /// better): a 0.36 ×, c 0.47 ×.`
    fn ratios(&self) -> String {
        let ratio = |one: &Comparison| words::ratio(one.ratio.map_or(1.0, |ratio| ratio.value));
        let (base, primary) = (self.base(), self.group.primary);
        let rounds = self.with(Standing::FirstImpression);
        let all = rounds.iter().take(MOST).enumerate().map(|(place, one)| match place {
            0 if primary.is_more_better() => {
                format!("{} serves {} the requests of {base}", one.runtime, ratio(one))
            }
            _ => format!("{} {}", one.runtime, ratio(one)),
        });
        let all = all.collect::<Vec<_>>().join(", ");
        match primary.is_more_better() {
            true => format!("{all}."),
            false => format!("{} compared with {base} (less is better): {all}.", short(primary)),
        }
    }

    fn tie(&self) -> String {
        let inconclusive = self.with(Standing::Inconclusive);
        if inconclusive.is_empty() {
            let names = self.names(Standing::Equivalent);
            return format!(
                "{} {} about the same as {} (within 3 %).",
                words::list(&names),
                if names.len() == 1 { "is" } else { "are" },
                self.base()
            );
        }
        let largest = self.group.comparisons.iter().filter_map(Comparison::largest_difference);
        let largest = largest.fold(0.0, f64::max);
        // A statement such as "up to 3 449 %" would help nobody.
        let largest = match largest {
            largest if largest > 1.0 => "the trials vary too much to say more".to_owned(),
            largest => {
                let percent = words::short_percent(largest * 100.0);
                format!("the largest possible difference is {percent}")
            }
        };
        let rounds = self.rounds_needed();
        format!("No runtime is clearly ahead of {}; {largest}. {rounds}", self.base())
    }

    /// How many rounds would settle all that is too close to call; `None`: more than 200.
    fn most_rounds_needed(&self) -> Option<u32> {
        let inconclusive = self.with(Standing::Inconclusive);
        let rounds: Option<Vec<u32>> = inconclusive.iter().map(|one| one.rounds_needed).collect();
        rounds.and_then(|all| all.into_iter().max())
    }

    /// The same as a sentence.
    fn rounds_needed(&self) -> String {
        match self.most_rounds_needed() {
            Some(rounds) => format!("About {rounds} rounds would settle it (`--rounds {rounds}`)."),
            None => "More than 200 rounds would be needed to settle it.".to_owned(),
        }
    }

    /// Sentences about the rows that are better than the baseline, or that none is.
    fn leads(&self) -> Vec<String> {
        let better = self.with(Standing::Better);
        let Some((first, others)) = better.split_first() else {
            return vec![format!("No runtime is clearly ahead of {}.", self.base())];
        };
        let mut sentences = vec![self.lead(first)];
        for one in others.iter().take(MOST - 1) {
            let ratio = one.ratio.map_or(1.0, |ratio| ratio.value);
            let interval = self.interval(one, "");
            sentences.push(match self.group.primary {
                Primary::Throughput => {
                    format!("{} serves {} as many{interval}.", one.runtime, words::ratio(ratio))
                }
                primary => {
                    let short = short(primary);
                    let times = words::ratio(ratio);
                    format!("{}: its {short} is {times} as long{interval}.", one.runtime)
                }
            });
        }
        if let more @ 1.. = others.len().saturating_sub(MOST - 1) {
            sentences.push(format!("{more} more are faster."));
        }
        sentences
    }

    fn lead(&self, one: &Comparison) -> String {
        let (name, base) = (&one.runtime, self.base());
        let ratio = one.ratio.map_or(1.0, |ratio| ratio.value);
        let sure = self.interval(one, "95 % interval ");
        let doubt = self.case(name).map_or("", doubt);
        if self.group.primary.is_more_better() {
            let times = words::ratio(ratio);
            let cpu = if self.is_same_cpu() { " on the same CPU" } else { "" };
            let steady = self.steady_clause(name).unwrap_or_default();
            return format!(
                "{name} serves {times} the requests of {base}{cpu}{sure}{steady}{doubt}."
            );
        }
        let (is, was) = (self.value_of(name), self.value_of(base));
        let short = short(self.group.primary);
        format!(
            "{name} is faster than {base}: its {short} is {is} instead of {was}, {} as long{sure}{doubt}.",
            words::ratio(ratio)
        )
    }

    /// `, and at 200 requests/s its p95 is 1.31 ms instead of 4.02 ms`, if the row is also better
    /// at the fixed rate.
    fn steady_clause(&self, name: &str) -> Option<String> {
        let (group, cases) = self.steady?;
        if group.primary.is_more_better() || group.baseline != self.group.baseline {
            return None;
        }
        let of = group.comparisons.iter().find(|one| one.runtime == name)?;
        if of.standing(group.primary) != Standing::Better {
            return None;
        }
        let case = |name: &str| cases.iter().find(|case| case.runtime == name);
        let is = value(group.primary, case(name)?)?;
        let was = value(group.primary, case(self.base())?)?;
        let short = short(group.primary);
        Some(format!(", and {} its {short} is {is} instead of {was}", at_load(group)))
    }

    /// Whether the sentence about the peak includes the fixed rate.
    fn joins(&self) -> bool {
        let better = self.with(Standing::Better);
        better.first().is_some_and(|one| self.steady_clause(&one.runtime).is_some())
    }

    fn slower(&self) -> Vec<String> {
        let slower = self.with(Standing::Worse);
        let mut sentences: Vec<String> =
            slower.iter().take(MOST).map(|one| self.slower_by(one)).collect();
        if let more @ 1.. = slower.len().saturating_sub(MOST) {
            sentences.push(format!("{more} more are slower."));
        }
        sentences
    }

    fn slower_by(&self, one: &Comparison) -> String {
        let ratio = one.ratio.map_or(1.0, |ratio| ratio.value);
        let (name, base) = (&one.runtime, self.base());
        let sure = self.interval(one, "");
        let times = words::ratio(ratio);
        match self.group.primary {
            Primary::Throughput => {
                let fewer = (1.0 - ratio) * 100.0;
                format!("{name} serves {fewer:.0} % fewer requests than {base}: {times}{sure}.")
            }
            primary => {
                let short = short(primary);
                format!("{name} is slower than {base}: its {short} is {times} as long{sure}.")
            }
        }
    }

    /// Sentences about the rows that are about the same as the baseline, and those too close to
    /// call.
    fn level(&self) -> Vec<String> {
        let base = self.base();
        let mut sentences = Vec::new();
        let names = self.names(Standing::Equivalent);
        if !names.is_empty() {
            sentences
                .push(format!("{}: about the same as {base} (within 3 %).", words::list(&names)));
        }
        let names = self.names(Standing::Inconclusive);
        if !names.is_empty() {
            let todo = match self.most_rounds_needed() {
                Some(rounds) => format!("run again with `--rounds {rounds}`"),
                None => "more than 200 rounds would be needed to settle it".to_owned(),
            };
            let names = words::list(&names);
            sentences.push(format!("{names}: too close to call against {base}; {todo}."));
        }
        sentences
    }

    /// The sentence about rows that share fewer than three rounds with the baseline, while others
    /// share more.
    fn hints(&self) -> Option<String> {
        let names = self.names(Standing::FirstImpression);
        (!names.is_empty()).then(|| {
            format!("{}: fewer than three rounds, a first impression only.", words::list(&names))
        })
    }

    /// Sentences about the rows that are not compared.
    fn failures(&self) -> Vec<String> {
        let not_ranked = self.group.comparisons.iter().filter_map(|one| {
            let why = one.why_not.as_ref()?;
            Some(match why.known() {
                Some(NotCompared::Failed { .. } | NotCompared::NoCorrectAnswer {}) => {
                    format!("{} {why}; it is not ranked.", one.runtime)
                }
                _ => format!("{} {why}; it is not compared.", one.runtime),
            })
        });
        not_ranked.collect()
    }

    /// ` (95 % interval 2.71 – 3.15)`.
    fn interval(&self, one: &Comparison, before: &str) -> String {
        let interval = one.ratio.and_then(|ratio| ratio.interval);
        interval.map_or(String::new(), |(low, high)| {
            format!(" ({before}{} – {})", words::significant(low), words::significant(high))
        })
    }

    fn case(&self, name: &str) -> Option<&'a CaseSummary> {
        self.cases.iter().copied().find(|case| case.runtime == name)
    }

    fn value_of(&self, name: &str) -> String {
        let case = self.case(name);
        case.and_then(|case| value(self.group.primary, case)).unwrap_or_default()
    }

    /// Whether all rows had the same CPUs.
    fn is_same_cpu(&self) -> bool {
        let mut measured = self.cases.iter().filter(|case| case.trials_counted > 0);
        let cpus = measured.clone().next().map(|case| case.budget_cpus);
        measured.all(|case| Some(case.budget_cpus) == cpus && !case.budget_unequal)
    }
}

/// `at 200 requests/s` for an open load, `with 16 at a time, no pause` for a closed one.
pub fn at_load(group: &Group) -> String {
    match group.model {
        LoadModel::Open => format!("at {}", group.load_words()),
        LoadModel::Closed => format!("with {}", group.load_words()),
    }
}

impl Group {
    /// The load in words: `200 requests/s`, `16 at a time, no pause`, or its schedule.
    pub fn load_words(&self) -> String {
        if let Some(rate) = self.rate_per_second {
            let rate = words::significant(rate);
            return format!("{} requests/s", rate.trim_end_matches(".00").trim_end_matches(".0"));
        }
        match &self.shape {
            Some(LoadShape::Closed(closed)) => {
                format!("{} at a time, no pause", closed.concurrency)
            }
            _ if self.load_text.is_empty() => self.load.clone(),
            _ => self.load_text.clone(),
        }
    }
}

/// How the requests of all rows failed, the most frequent kinds first: ``1 200 × `http:403` ``.
fn failures(cases: &[&CaseSummary]) -> String {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (kind, count) in cases.iter().flat_map(|case| &case.counts.failed) {
        *kinds.entry(kind).or_default() += count;
    }
    let mut kinds: Vec<(&str, u64)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let each = kinds.iter().take(MOST);
    let each = each.map(|(kind, count)| format!("{} × `{kind}`", words::count(*count)));
    match each.collect::<Vec<_>>() {
        each if each.is_empty() => "all requests were dropped".to_owned(),
        each => each.join(", "),
    }
}

/// How little is known: from how many of the planned rounds.
fn impression(counted: u32, planned: u32) -> String {
    if counted >= planned {
        return format!("{}: a first impression.", capital(&words::number_of(counted, "round")));
    }
    let count = if counted == 1 { "counts" } else { "count" };
    format!("Only {counted} of {planned} rounds {count}, so this is a first impression.")
}

/// More rounds help where few were planned; else what became of the others does.
fn impression_todo(planned: u32) -> &'static str {
    if planned < ROUNDS_MIN { "Run again with `--rounds 3`." } else { "See the reasons below." }
}

/// With a capital letter at its begin.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The value of a row's primary figure.
fn value(primary: Primary, case: &CaseSummary) -> Option<String> {
    let value = match case.figures.of(primary) {
        Figure::Exact(estimate) => estimate.value,
        _ => return None,
    };
    Some(match primary {
        Primary::Throughput => format!("{} requests/s", words::rate(value)),
        _ => words::time(value),
    })
}

/// A short remark if the figure is to be read with care.
fn doubt(case: &CaseSummary) -> &'static str {
    match case.verdict {
        _ if !case.not_comparable.is_empty() => " (not comparable)",
        super::model::CaseVerdict::Suspect => " (suspect)",
        _ if case.trials_invalid == 1 => " (a trial of it was invalid)",
        _ if case.trials_invalid > 1 => " (trials of it were invalid)",
        _ => "",
    }
}

/// The interval of the figure that cases are sorted by. A unit that both ends share is given once:
/// `3.41` and `3.78 ms`, but `981 µs` and `1.02 ms`.
pub fn own_interval(primary: Primary, case: &CaseSummary) -> Option<(String, String)> {
    let (low, high) = case.figures.of(primary).interval()?;
    if primary == Primary::Throughput {
        return Some((words::rate(low), words::rate(high)));
    }
    let (low, high) = (words::time(low), words::time(high));
    // The suffix includes the space: `981 ms` does not end in ` s`.
    let unit = high.rfind(' ').map_or("", |space| &high[space..]);
    let low = low.strip_suffix(unit).unwrap_or(&low).to_owned();
    Some((low, high))
}

/// Most rows of one kind that the headline names. The table has all of them.
const MOST: usize = 3;
/// From so many rounds on a ratio has an interval.
const ROUNDS_MIN: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_impression_says_how_many_of_the_planned_rounds_count() {
        assert_eq!(impression(1, 1), "One round: a first impression.");
        assert_eq!(impression(2, 2), "Two rounds: a first impression.");
        assert_eq!(impression(1, 3), "Only 1 of 3 rounds counts, so this is a first impression.");
        assert_eq!(impression(2, 5), "Only 2 of 5 rounds count, so this is a first impression.");
        // Several runs laid over each other have no number of rounds.
        assert_eq!(impression(1, 0), "One round: a first impression.");
        assert_eq!(impression_todo(1), "Run again with `--rounds 3`.");
        assert_eq!(impression_todo(3), "See the reasons below.");
    }
}
