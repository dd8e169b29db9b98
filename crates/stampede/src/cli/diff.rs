//! The command `stampede diff`: compares runs with the first of them.

use std::path::Path;

use stampede_model::expectation::Expectation;
use stampede_model::record::RESULTS;
use stampede_results::report::{self, LoadedRuns};
use stampede_results::summary::diff::{
    Diff, FORMAT, LabelledRun, OnlyIn, Unfit, between, keep_own, of_plan, within,
};
use stampede_results::summary::overlay::label;

use super::args::{DiffArgs, DiffFormat};
use super::fail::CommandError;
use super::report::style;
use super::shell::print;
use super::{Failure, Outcome};

/// Runs that `stampede diff` does not compare.
#[derive(Debug, thiserror::Error)]
enum DiffError {
    /// Only one run is named, and it measured only one version of its app.
    #[error("`diff` needs two runs")]
    NeedsTwoRuns,
    /// The two runs have no case in common.
    #[error(
        "runs `{}` and `{}` have no case in common\n{}: {}\n{}: {}",
        diff.base.run,
        diff.other.run,
        diff.base.label,
        cases_of(&diff.only, &diff.base.label),
        diff.other.label,
        cases_of(&diff.only, &diff.other.label)
    )]
    NoCommonCase {
        /// The two runs and their cases.
        diff: Box<Diff>,
    },
    /// The two runs were measured under different conditions.
    #[error(
        "runs `{}` ({}) and `{}` ({}) are not comparable\n{}",
        diff.base.run,
        diff.base.label,
        diff.other.run,
        diff.other.label,
        differences_of(diff)
    )]
    NotComparable {
        /// The two runs and their differences.
        diff: Box<Diff>,
    },
}

impl CommandError for DiffError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            DiffError::NeedsTwoRuns => "name both, the older first: `stampede diff last~1 last`",
            DiffError::NoCommonCase { .. } => {
                "`diff` needs the same runtime, app and load in both runs; `stampede report A B` shows any runs \
                 together"
            }
            DiffError::NotComparable { .. } => {
                "`--anyway` compares them and says so above the table"
            }
        };
        Some(hint.to_owned())
    }
}

impl CommandError for Unfit {
    fn hint(&self) -> Option<String> {
        Some(self.hint())
    }
}

/// Returns the cases that only the run `label` has.
fn cases_of(only: &[OnlyIn], label: &str) -> String {
    let own = only.iter().filter(|one| one.label == label);
    let named = own.map(|one| format!("{} · {} · {}", one.runtime, one.app, one.load));
    named.collect::<Vec<_>>().join(", ")
}

/// Returns the first differences, one on a line, and the number of the others.
fn differences_of(diff: &Diff) -> String {
    let labels = [diff.base.label.as_str(), diff.other.label.as_str()];
    let mut differ = report::difference_lines(&diff.differences, labels);
    let more = differ.len().saturating_sub(MOST_SHOWN);
    differ.truncate(MOST_SHOWN);
    if more > 0 {
        differ.push(format!("and {more} more"));
    }
    differ.join("\n")
}

/// Compares and prints the runs. Refuses runs that are not comparable.
pub fn run(args: &DiffArgs) -> Result<Outcome, Failure> {
    let asked = expectations(&args.expect)?;
    let loaded = LoadedRuns::read(Path::new(RESULTS), &args.runs)?;
    let labels: Vec<String> = (0..args.runs.len()).map(label).collect();
    let runs: Vec<LabelledRun<'_>> = loaded
        .runs()
        .zip(&labels)
        .map(|((_, data, summary), label)| LabelledRun { label, data, summary })
        .collect();
    let diffs = match runs.as_slice() {
        [only] => vec![versions(only, &asked)?],
        [base, others @ ..] => {
            let one = |other: &LabelledRun<'_>| against(base, other, &asked, args.anyway);
            others.iter().map(one).collect::<Result<Vec<Diff>, Failure>>()?
        }
        [] => Vec::new(),
    };
    print(rendered(&diffs, args).as_bytes())?;
    Ok(outcome(&diffs))
}

/// Returns the comparison of the two versions of an app in a run; `None`: it measured only one.
pub fn text_of_versions(loaded: &LoadedRuns) -> Option<String> {
    let (_, data, summary) = loaded.runs().next()?;
    data.record.against.as_ref()?;
    let mut diff = versions(&LabelledRun { label: "", data, summary }, &[]).ok()?;
    // The table above has these notes already.
    diff.cases.iter_mut().for_each(|case| case.notes.clear());
    Some(report::diff_text(&diff, &style()))
}

/// Returns the summary of a run. If the run measured two versions of an app, their comparison is
/// added.
pub fn json_of_run(loaded: &LoadedRuns) -> Result<String, Failure> {
    let Some((_, data, summary)) =
        loaded.runs().next().filter(|(run, ..)| run.record.against.is_some())
    else {
        return Ok(report::json(loaded.summary()));
    };
    let diff = versions(&LabelledRun { label: "", data, summary }, &[])?;
    let value = serde_json::to_value(summary).map_err(|error| Failure::new(&error))?;
    let mut fields = value.as_object().cloned().unwrap_or_default();
    fields.insert("against".to_owned(), serde_json::json!({"format": FORMAT, "diffs": [diff]}));
    Ok(format!("{:#}\n", serde_json::Value::Object(fields)))
}

/// Repeats what `compare --against` found.
fn versions(run: &LabelledRun<'_>, asked: &[Expectation]) -> Result<Diff, Failure> {
    let one = |expect: &[Expectation]| {
        let found = within(run.data, run.summary, expect)?;
        found.ok_or_else(|| Failure::from(DiffError::NeedsTwoRuns))
    };
    if !asked.is_empty() {
        return one(asked);
    }
    let mut diff = one(&of_plan(run.data))?;
    keep_own(&mut diff, run.data);
    Ok(diff)
}

fn against(
    base: &LabelledRun<'_>,
    other: &LabelledRun<'_>,
    asked: &[Expectation],
    anyway: bool,
) -> Result<Diff, Failure> {
    let mut diff = match asked {
        [] => between(*base, *other, &of_plan(other.data))?,
        asked => between(*base, *other, asked)?,
    };
    if asked.is_empty() {
        keep_own(&mut diff, other.data);
    }
    Ok(comparable(diff, anyway)?)
}

fn rendered(diffs: &[Diff], args: &DiffArgs) -> String {
    let format = if args.json { DiffFormat::Json } else { args.format };
    match format {
        DiffFormat::Json => {
            let value = serde_json::json!({"format": FORMAT, "diffs": diffs});
            format!("{value:#}\n")
        }
        DiffFormat::Markdown => {
            diffs.iter().map(report::diff_markdown).collect::<Vec<_>>().join("\n")
        }
        DiffFormat::Text => {
            let text = |diff| report::diff_text(diff, &style());
            diffs.iter().map(text).collect::<Vec<_>>().join("\n")
        }
    }
}

fn outcome(diffs: &[Diff]) -> Outcome {
    if diffs.iter().any(|diff| !diff.is_whole()) {
        Outcome::Incomplete
    } else if diffs.iter().any(Diff::breaks_an_expectation) {
        Outcome::NotMet
    } else {
        Outcome::Fine
    }
}

/// Parses the expectations of the command line. An error marks the place of the mistake.
fn expectations(texts: &[String]) -> Result<Vec<Expectation>, Failure> {
    let read = |text: &String| stampede_plan::expectation_of(text).map_err(Failure::from);
    texts.iter().map(read).collect()
}

/// Refuses runs that have no case in common, and, unless `anyway`, runs that differ in their
/// conditions.
fn comparable(diff: Diff, anyway: bool) -> Result<Diff, DiffError> {
    if diff.cases.is_empty() {
        return Err(DiffError::NoCommonCase { diff: Box::new(diff) });
    }
    match diff.differences.is_empty() || anyway {
        true => Ok(diff),
        false => Err(DiffError::NotComparable { diff: Box::new(diff) }),
    }
}

/// More lines would push the first ones off the screen.
const MOST_SHOWN: usize = 12;
