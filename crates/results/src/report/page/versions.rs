//! The working tree beside the other version of its apps: what changed, and the noise of the day.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_stats::estimate::Estimate;

use crate::report::{diff, figure_text};
use crate::summary::diff::{self as versions, CaseDiff, Change, Diff, FigureDiff};
use crate::summary::{RunData, Summary};

/// Two versions of the apps, measured in the same rounds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ComparedVersions {
    /// Label of the version that the working tree is compared with: `@main`.
    pub base: String,
    /// One for each case of the working tree.
    pub cases: Vec<VersionedCase>,
    /// What the base shows when it is compared with itself, in sentences. Empty: it was measured
    /// once.
    pub noise: Vec<String>,
}

/// A case in both versions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VersionedCase {
    /// Runtime, app and load: `nginx-fpm · shop · steady: const(200,10s)`.
    pub title: String,
    /// Whether the working tree is slower, and how certain that is.
    pub sentence: String,
    /// The figures that at least one version has.
    pub figures: Vec<VersionedFigure>,
    /// Outcomes of expectations, why figures are not compared, why trials do not count.
    pub notes: Vec<String>,
}

/// A figure in both versions, in words; the ratios also as numbers, to draw them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VersionedFigure {
    /// The figure's title: `p95`.
    pub title: String,
    /// Whether the sentence is about this figure.
    pub is_primary: bool,
    /// The base's figure.
    pub base: String,
    /// The working tree's figure.
    pub other: String,
    /// The ratio, or for a share the difference in points. Empty: the two are not compared.
    pub change: String,
    /// Its 95 % interval. Empty: there is none.
    pub interval: String,
    /// What follows.
    pub result: String,
    /// The verdict as data. `None`: the two are not compared.
    pub judged: Option<Change>,
    /// Working tree ÷ base.
    pub ratio: Option<Estimate>,
    /// The base measured again ÷ the base. `None`: it was measured once, or has no such figure.
    pub noise: Option<Estimate>,
    /// The same in words, with its interval; of a share the difference in points. Empty: there is
    /// none.
    pub noise_text: String,
}

/// The versions of a run; `None`: it has only one, or it is too early to compare them.
pub fn of_run(data: &RunData, summary: &Summary) -> Option<ComparedVersions> {
    let mut diff = versions::within(data, summary, &versions::of_plan(data)).ok()??;
    versions::keep_own(&mut diff, data);
    let noise = diff::noise_lines(&diff);
    let cases: Vec<VersionedCase> = diff.cases.iter().map(|case| of_case(&diff, case)).collect();
    let base = diff.base.label;
    (!cases.is_empty()).then_some(ComparedVersions { base, cases, noise })
}

fn of_case(diff: &Diff, case: &CaseDiff) -> VersionedCase {
    let is_it = |one: &&CaseDiff| {
        (&one.runtime, &one.app, &one.load) == (&case.runtime, &case.app, &case.load)
    };
    let again = diff.noise.iter().find(is_it);
    let noise = |one: &FigureDiff| again?.figures.iter().find(|other| other.figure == one.figure);
    let figure = |one: &FigureDiff| {
        let words = |value| one.measure().words(value);
        let noise = noise(one);
        VersionedFigure {
            title: one.measure().title(),
            is_primary: one.figure == case.primary,
            base: figure_text(one.base, words),
            other: figure_text(one.other, words),
            change: diff::ratio(one).unwrap_or_default(),
            interval: diff::interval_text(one).unwrap_or_default(),
            result: diff::judged(one).to_owned(),
            judged: one.judged,
            ratio: one.ratio,
            noise: noise.and_then(|noise| noise.ratio),
            noise_text: noise.map_or(String::new(), with_interval),
        }
    };
    VersionedCase {
        title: diff::title(case),
        sentence: case.sentence.clone(),
        figures: diff::shown(case).into_iter().map(figure).collect(),
        notes: diff::case_notes(case),
    }
}

fn with_interval(one: &FigureDiff) -> String {
    match (diff::ratio(one), diff::interval_text(one)) {
        (Some(ratio), Some(interval)) => format!("{ratio} ({interval})"),
        (ratio, _) => ratio.unwrap_or_default(),
    }
}
