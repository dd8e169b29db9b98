//! Compares two runs, or two versions of an app within one run: case by case, figure by figure,
//! with how certain each difference is.
//!
//! Within a run a figure is compared as the ratio within each round, so that what affects a whole
//! round cancels out. Two runs have no rounds in common. Their trials are compared unpaired, which
//! needs more trials, and the result includes what differed on the machine between the two times.

mod alike;
mod expected;
mod measure;
mod model;

use stampede_stats::baseline::Relation;
use stampede_stats::compare::compare;
use stampede_stats::estimate::Estimate;
use stampede_stats::unpaired::{self, JudgedShift, PairComparison, Shift, UnpairedSamples};

pub use expected::Unfit;
pub use measure::Measure;
pub use model::{
    CaseDiff, Change, ChangeExpectation, Diff, Difference, FORMAT, FigureDiff, OnlyIn, Outcome,
    Pairing, Side, SideNote, Worse,
};

use stampede_model::expectation::Expectation;
use stampede_model::fact::{Fact, NoChange, Notice};
use stampede_model::record::Validity;
use stampede_model::record::expectations::WrittenExpectation;
use stampede_model::words;

use super::RunData;
use super::input::TrialData;
use super::model::{CaseSummary, Figure, Found, LoadModel, Summary, TrialSummary};

/// A run, with its name in this comparison.
#[derive(Clone, Copy, Debug)]
pub struct LabelledRun<'a> {
    /// The name: `A`, `B` …
    pub label: &'a str,
    /// The run as read.
    pub data: &'a RunData,
    /// The run's summary.
    pub summary: &'a Summary,
}

/// Compares a run with an earlier one. Cases are matched by runtime, app and load, or only by
/// runtime and load if each run has just one app. Differences in circumstances are reported, and
/// the cases are compared in spite of them: the caller decides whether that is acceptable.
///
/// # Errors
/// An expectation is not about a change.
pub fn between(
    base: LabelledRun<'_>,
    other: LabelledRun<'_>,
    expect: &[Expectation],
) -> Result<Diff, Unfit> {
    expected::fit(expect)?;
    let mut pairs: Vec<CasePair<'_>> = Vec::new();
    let key = key(base, other);
    for case in &other.summary.cases {
        let is_it = |one: &&CaseSummary| key(one) == key(case);
        if let Some(before) = base.summary.cases.iter().find(is_it) {
            let base = RunCase { label: base.label, data: base.data, case: before };
            let other = RunCase { label: other.label, data: other.data, case };
            pairs.push(CasePair { base, other });
        }
    }
    let places = places(&pairs);
    let mut notices: Vec<Fact<Notice>> = vec![Notice::BetweenRuns { compared: true }.into()];
    let changed = alike::answers_otherwise(base.data, other.data, &places);
    if !changed.is_empty() {
        let (run, runtimes) = (other.label.to_owned(), changed);
        notices.push(Notice::AnswersDiffer { run, runtimes }.into());
    }
    notices.extend(own_notices(base, other));
    Ok(Diff {
        base: side(base),
        other: side(other),
        pairing: Pairing::BetweenRuns,
        differences: alike::differences(base.data, other.data, &places),
        notices,
        cases: cases(&pairs, Pairing::BetweenRuns, expect),
        only: [(base, other), (other, base)]
            .into_iter()
            .flat_map(|(a, b)| only(a, b, key))
            .collect(),
        noise: Vec::new(),
    })
}

/// Compares the working tree's cases of a run with those of the other version, measured in the same
/// rounds, and the other version with itself if it was measured twice. `Ok(None)`: the run has no other version.
pub fn within(
    data: &RunData,
    summary: &Summary,
    expect: &[Expectation],
) -> Result<Option<Diff>, Unfit> {
    let Some(against) = &data.record.against else { return Ok(None) };
    expected::fit(expect)?;
    let base = LabelledRun { label: &against.label, data, summary };
    let other = LabelledRun { label: WORKING_TREE, data, summary };
    let again = against.name_of_again("");
    let pair = |base_name: &str, label, case| {
        let before = summary.cases.iter().find(|one| {
            let case: &CaseSummary = case;
            (one.runtime.as_str(), &one.app, &one.load) == (base_name, &case.app, &case.load)
        })?;
        let base = RunCase { label: base.label, data, case: before };
        Some(CasePair { base, other: RunCase { label, data, case } })
    };
    let of_change = |case: &CaseSummary| against.name_of(&case.runtime);
    let of_noise = |case: &CaseSummary| Some(against.name_of(against.again_of(&case.runtime)?));
    let all = || summary.cases.iter();
    let pairs: Vec<CasePair<'_>> =
        all().filter_map(|case| pair(&of_change(case), other.label, case)).collect();
    let noise: Vec<CasePair<'_>> =
        all().filter_map(|case| pair(&of_noise(case)?, again.trim_start(), case)).collect();
    let mut noise = cases(&noise, Pairing::WithinRounds, &[]);
    for case in &mut noise {
        let runtime = against.again_of(&case.runtime).map(str::to_owned);
        case.runtime = runtime.unwrap_or_default();
    }
    Ok(Some(Diff {
        base: side(base),
        other: side(other),
        pairing: Pairing::WithinRounds,
        differences: alike::differences(data, data, &places(&pairs)),
        notices: Vec::new(),
        cases: cases(&pairs, Pairing::WithinRounds, expect),
        only: Vec::new(),
        noise,
    }))
}

/// The label of the version that is not the other one.
const WORKING_TREE: &str = "working tree";

/// The expectations of a run's plan that are about a change, including those of single loads.
pub fn of_plan(data: &RunData) -> Vec<Expectation> {
    let read = data.record.expect.all().filter_map(|one| one.read());
    let mut found: Vec<Expectation> = read.filter(|one| one.bound.worse).cloned().collect();
    found.sort_by(|a, b| a.text.cmp(&b.text));
    found.dedup_by(|a, b| a.text == b.text);
    found
}

/// Keeps for each case only the expectations that the run's plan has for its load.
pub fn keep_own(diff: &mut Diff, data: &RunData) {
    for case in &mut diff.cases {
        let own: Vec<&str> =
            data.record.expect.of_load(&case.load).map(WrittenExpectation::text).collect();
        case.expectations.retain(|one| own.contains(&one.text.as_str()));
    }
}

/// Judges the plan's expectations about the change against the other version of its apps, in the
/// cases of the working tree. The other version is the base, so it has no expectations itself.
pub(super) fn judge_within(summary: &mut Summary, data: &RunData) {
    let Some(against) = &data.record.against else { return };
    let Ok(Some(diff)) = within(data, summary, &of_plan(data)) else { return };
    for case in &mut summary.cases {
        if against.version_of(&case.runtime).is_some() {
            case.expectations.clear();
        }
        let is_it = |one: &&CaseDiff| {
            (&one.runtime, &one.app, &one.load) == (&case.runtime, &case.app, &case.load)
        };
        let own = diff.cases.iter().find(is_it);
        case.expectations.retain_mut(|judged| {
            if !judged.is_about_another_run() {
                return true;
            }
            let found =
                own.and_then(|own| own.expectations.iter().find(|one| one.text == judged.text));
            let Some(found) = found else { return false };
            judged.outcome = match found.outcome {
                Outcome::Met => super::model::ExpectedOutcome::Met,
                outcome => {
                    let (is_shown, found) = (outcome == Outcome::Broken, found.found.clone());
                    super::model::ExpectedOutcome::NotMet {
                        figure: Found::Change { is_shown, found }.into(),
                    }
                }
            };
            true
        });
    }
}

fn places(pairs: &[CasePair<'_>]) -> Vec<(usize, usize)> {
    pairs.iter().filter_map(|pair| Some((pair.base.place()?, pair.other.place()?))).collect()
}

/// The notices of each run. Notices that both runs have are given once.
fn own_notices(base: LabelledRun<'_>, other: LabelledRun<'_>) -> Vec<Fact<Notice>> {
    let has_notice =
        |by: LabelledRun<'_>, notice: &Fact<Notice>| by.summary.notices.contains(notice);
    let mut notices = Vec::new();
    for (one, beside) in [(base, other), (other, base)] {
        for notice in &one.summary.notices {
            match has_notice(beside, notice) {
                false => notices.push(Notice::of_run(one.label.to_owned(), notice).into()),
                true if one.label == base.label => {
                    let both = format!("{} and {}", base.label, other.label);
                    notices.push(Notice::of_run(both, notice).into());
                }
                true => {}
            }
        }
    }
    notices
}

fn side(named: LabelledRun<'_>) -> Side {
    let Summary { run, started_at, stampede, rounds, .. } = named.summary;
    Side {
        label: named.label.to_owned(),
        run: run.clone(),
        started_at: started_at.clone(),
        stampede: stampede.clone(),
        rounds: *rounds,
    }
}

/// The values that must be equal for two cases to match. A load of the same name but with other
/// parameters counts as a difference. A load of the other model has other figures, so its cases do
/// not match.
type CaseKey<'a> = (&'a str, &'a str, &'a str, LoadModel);

/// How the cases of two runs are matched. If each run has only one app, the app is not part of the
/// key. Then another app is reported as a difference with both names, and the runs still have cases
/// in common.
fn key(base: LabelledRun<'_>, other: LabelledRun<'_>) -> fn(&CaseSummary) -> CaseKey<'_> {
    let has_one = |run: LabelledRun<'_>| run.data.record.names_of(|case| &case.app).len() == 1;
    match has_one(base) && has_one(other) {
        true => |case| (&case.runtime, "", &case.load, case.model),
        false => |case| (&case.runtime, &case.app, &case.load, case.model),
    }
}

/// The cases that only `one` has.
fn only(
    one: LabelledRun<'_>,
    other: LabelledRun<'_>,
    key: fn(&CaseSummary) -> CaseKey<'_>,
) -> Vec<OnlyIn> {
    let has = |case: &CaseSummary| other.summary.cases.iter().any(|one| key(one) == key(case));
    let cases = one.summary.cases.iter().filter(|case| !has(case));
    cases
        .map(|case| OnlyIn {
            label: one.label.to_owned(),
            runtime: case.runtime.clone(),
            app: case.app.clone(),
            load: case.load.clone(),
        })
        .collect()
}

/// A case and its run.
#[derive(Clone, Copy)]
struct RunCase<'a> {
    label: &'a str,
    data: &'a RunData,
    case: &'a CaseSummary,
}

/// Two cases to compare.
#[derive(Clone, Copy)]
struct CasePair<'a> {
    base: RunCase<'a>,
    other: RunCase<'a>,
}

impl<'a> RunCase<'a> {
    /// The index of the case in its run's record.
    fn place(&self) -> Option<usize> {
        self.data.record.cases.iter().position(|one| {
            (&one.runtime, &one.app, &one.load)
                == (&self.case.runtime, &self.case.app, &self.case.load)
        })
    }

    fn counted(&self) -> impl Iterator<Item = &'a TrialSummary> {
        self.case.trials.iter().filter(|trial| trial.verdict != Validity::Invalid)
    }

    fn of(&self, trial: &TrialSummary, measure: Measure) -> Figure {
        let is_it = |one: &&TrialData| one.record.number == trial.number;
        measure.of(trial, self.data.trials.iter().find(is_it), self.case.model)
    }

    fn figure(&self, measure: Measure) -> Figure {
        Figure::over(self.counted().map(|trial| self.of(trial, measure)))
    }

    /// The round and the value of each trial that counts and has the figure.
    fn values(&self, measure: Measure) -> Vec<(u32, f64)> {
        self.counted()
            .filter_map(|trial| Some((trial.round, self.of(trial, measure).known()?)))
            .collect()
    }

    /// Why nothing may be claimed about a figure. `None`: it is exact.
    fn why_not(&self, figure: Figure) -> Option<NoChange> {
        let side = self.label.to_owned();
        match figure {
            _ if self.case.trials_counted == 0 => Some(NoChange::NoCountedTrial { side }),
            Figure::Exact(_) => None,
            Figure::AtLeast(_) => Some(NoChange::LowerBound { side }),
            Figure::Failed => Some(NoChange::Failed { side }),
            Figure::TooFew => Some(NoChange::TooFewRequests { side }),
            Figure::None => Some(NoChange::NoFigure { side }),
        }
    }

    /// Why its trials do not count, or count with doubt.
    fn notes(&self) -> impl Iterator<Item = SideNote> {
        let weighs = |judged: Option<Validity>| judged != Some(Validity::Valid);
        let reasons = self.case.reasons.iter().filter(move |reason| weighs(reason.judged));
        reasons.map(|reason| SideNote { side: self.label.to_owned(), reason: reason.clone() })
    }
}

fn cases(pairs: &[CasePair<'_>], pairing: Pairing, expect: &[Expectation]) -> Vec<CaseDiff> {
    let shown: Vec<Vec<FigureDiff>> =
        Measure::SHOWN.iter().map(|measure| figures(pairs, *measure, pairing)).collect();
    let expected: Vec<Vec<ChangeExpectation>> =
        expect.iter().map(|one| expected::judge(one, pairs, pairing)).collect();
    let one = |(place, pair): (usize, &CasePair<'_>)| {
        let primary = primary(pair);
        let about = figures(pairs, primary, pairing).swap_remove(place);
        let case = pair.other.case;
        CaseDiff {
            runtime: case.runtime.clone(),
            app: case.app.clone(),
            load: case.load.clone(),
            load_text: pair.other.place().map_or_else(String::new, |place| {
                pair.other.data.record.cases[place].load_text.clone()
            }),
            model: case.model,
            trials: [pair.base.case.trials_counted, case.trials_counted],
            primary: primary.name(),
            sentence: sentence(pair, &about),
            figures: shown.iter().map(|of| of[place].clone()).collect(),
            expectations: expected.iter().map(|of| of[place].clone()).collect(),
            notes: pair.base.notes().chain(pair.other.notes()).collect(),
        }
    };
    pairs.iter().enumerate().map(one).collect()
}

/// The first of these figures for which both sides have enough requests. The cases of one run are
/// sorted by the same rule.
fn primary(pair: &CasePair<'_>) -> Measure {
    if pair.other.case.model == LoadModel::Closed {
        return Measure::Throughput;
    }
    let wanted = [Measure::Percentile(95.0), Measure::Percentile(50.0), Measure::Mean];
    let too_few = |measure: &Measure| {
        [pair.base, pair.other].iter().any(|side| side.figure(*measure) == Figure::TooFew)
    };
    wanted.into_iter().find(|measure| !too_few(measure)).unwrap_or(wanted[0])
}

/// One figure of all pairs. The intervals are adjusted for the number of simultaneous comparisons.
fn figures(pairs: &[CasePair<'_>], measure: Measure, pairing: Pairing) -> Vec<FigureDiff> {
    let mut all: Vec<FigureDiff> = pairs.iter().map(|pair| uncompared(pair, measure)).collect();
    let fit: Vec<usize> = (0..pairs.len()).filter(|place| all[*place].why_not.is_none()).collect();
    let of: Vec<&CasePair<'_>> = fit.iter().map(|place| &pairs[*place]).collect();
    for (place, compared) in fit.iter().zip(compared(&of, measure, pairing)) {
        let one = &mut all[*place];
        let Some(estimate) = compared.ratio else {
            one.why_not = Some(NoChange::NoCommonRound {}.into());
            continue;
        };
        one.judged = Some(change(compared.relation, measure));
        // An expectation stands for itself, so its interval is not adjusted for other comparisons.
        one.worse = Some(worse(&Estimate { interval: compared.alone, ..estimate }, measure));
        *(if measure == Measure::Ok { &mut one.points } else { &mut one.ratio }) = Some(estimate);
    }
    all
}

fn uncompared(pair: &CasePair<'_>, measure: Measure) -> FigureDiff {
    let (base, other) = (pair.base.figure(measure), pair.other.figure(measure));
    let why_not = pair.base.why_not(base).or_else(|| pair.other.why_not(other));
    FigureDiff {
        figure: measure.name(),
        measure,
        base,
        other,
        ratio: None,
        points: None,
        worse: None,
        judged: None,
        why_not: why_not.map(Fact::from),
    }
}

/// The ratios of the pairs. Shares of correct answers are compared by their differences.
fn compared(pairs: &[&CasePair<'_>], measure: Measure, pairing: Pairing) -> Vec<PairComparison> {
    match (measure, pairing) {
        (Measure::Ok, _) => shares(pairs, pairing),
        (_, Pairing::WithinRounds) => {
            let ratio = |(base, other): (f64, f64)| other / base;
            let ratios =
                |pair: &&CasePair<'_>| rounds(pair, measure).into_iter().map(ratio).collect();
            compare(&pairs.iter().map(ratios).collect::<Vec<_>>())
        }
        (_, Pairing::BetweenRuns) => {
            unpaired::compare(&pairs.iter().map(|pair| sides(pair, measure)).collect::<Vec<_>>())
        }
    }
}

fn shares(pairs: &[&CasePair<'_>], pairing: Pairing) -> Vec<PairComparison> {
    let shift = |pair: &&CasePair<'_>| match pairing {
        Pairing::WithinRounds => {
            let rounds = rounds(pair, Measure::Ok);
            Shift::within(&rounds.iter().map(|(base, other)| other - base).collect::<Vec<_>>())
        }
        Pairing::BetweenRuns => {
            let sides = sides(pair, Measure::Ok);
            Shift::between(&sides.base, &sides.other)
        }
    };
    let shifts: Vec<Option<Shift>> = pairs.iter().map(shift).collect();
    let one = |(shift, judged): (&Option<Shift>, JudgedShift)| PairComparison {
        ratio: shift.map(|shift| Estimate {
            value: shift.mean,
            interval: judged.interval,
            trials: shift.trials,
        }),
        alone: shift.and_then(|shift| shift.interval(0.95)),
        relation: judged.relation,
    };
    shifts.iter().zip(unpaired::judge(&shifts, OK_MARGIN)).map(one).collect()
}

/// One correct answer in a thousand, which is what `ok >= 99.9%` allows.
const OK_MARGIN: f64 = 0.001;

/// The values of base and other side for each round that has both.
fn rounds(pair: &CasePair<'_>, measure: Measure) -> Vec<(f64, f64)> {
    let other = pair.other.values(measure);
    let of_round = |round| other.iter().find(|(own, _)| *own == round).map(|(_, value)| *value);
    let base = pair.base.values(measure).into_iter();
    base.filter_map(|(round, base)| Some((base, of_round(round)?))).collect()
}

fn sides(pair: &CasePair<'_>, measure: Measure) -> UnpairedSamples {
    let values =
        |side: &RunCase<'_>| side.values(measure).into_iter().map(|(_, value)| value).collect();
    UnpairedSamples { base: values(&pair.base), other: values(&pair.other) }
}

fn change(judged: Relation, measure: Measure) -> Change {
    match judged {
        Relation::Higher if measure.is_good() => Change::Better,
        Relation::Lower if measure.is_good() => Change::Worse,
        Relation::Higher => Change::Worse,
        Relation::Lower => Change::Better,
        Relation::Equivalent => Change::Equivalent,
        Relation::Inconclusive => Change::Inconclusive,
        Relation::TooFewRounds => Change::TooFewRounds,
    }
}

/// Converts a ratio or a difference to the share by which the other side is worse.
fn worse(estimate: &Estimate, measure: Measure) -> Worse {
    let share = |value: f64| match measure {
        Measure::Ok => -value,
        _ if measure.is_good() => 1.0 - value,
        _ => value - 1.0,
    };
    let interval = estimate.interval.map(|(low, high)| match measure.is_good() {
        true => (share(high), share(low)),
        false => (share(low), share(high)),
    });
    Worse { share: share(estimate.value), interval, trials: estimate.trials }
}

/// The sentence that says whether the other side is slower, by how much, and how certain that is.
fn sentence(pair: &CasePair<'_>, figure: &FigureDiff) -> String {
    let (base, other) = (pair.base.label, pair.other.label);
    let (Some(judged), Some(ratio)) = (figure.judged, figure.ratio) else {
        return match &figure.why_not {
            Some(why) => format!("not compared, because {why}"),
            None => "not compared".to_owned(),
        };
    };
    let noun = figure.measure.noun(pair.other.case.model);
    let head = match judged {
        Change::Worse | Change::Better => {
            format!("{other} is {} than {base}", figure.measure.verdict(judged))
        }
        Change::Equivalent => format!("{other} is about the same as {base} (within 3 %)"),
        Change::Inconclusive => format!("{other}: too close to call against {base}"),
        Change::TooFewRounds => format!("{other} compared with {base}"),
    };
    let times = words::ratio(ratio.value);
    let sure = match ratio.interval {
        Some((low, high)) => {
            format!(" ({} to {})", words::significant(low), words::significant(high))
        }
        None => "; fewer than three trials: no interval, a first impression".to_owned(),
    };
    format!("{head}: {noun} {times}{sure}")
}
