//! The command `stampede diff`: compares runs with the first of them.

use std::path::Path;

use super::args::{DiffArgs, DiffFormat};
use super::report::style;
use super::shell::print;
use super::{Failure, Outcome};
use crate::plan::model::Expectation;
use crate::report::{self, LoadedRuns};
use crate::store;
use crate::summary::diff::{Diff, FORMAT, LabelledRun, Unfit, between, keep_own, of_plan, within};
use crate::summary::overlay::label;

/// Compares and prints the runs. Refuses runs that are not comparable.
pub fn run(args: &DiffArgs) -> Result<Outcome, Failure> {
    let asked = expectations(&args.expect)?;
    let loaded = LoadedRuns::read(Path::new(store::RESULTS), &args.runs)
        .map_err(|error| Failure::from_store(&error))?;
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
        let found = within(run.data, run.summary, expect).map_err(unfit)?;
        found.ok_or_else(|| {
            Failure::rendered("`diff` needs two runs".to_owned())
                .hint("name both, the older first: `stampede diff last~1 last`")
        })
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
        [] => between(*base, *other, &of_plan(other.data)).map_err(unfit)?,
        asked => between(*base, *other, asked).map_err(unfit)?,
    };
    if asked.is_empty() {
        keep_own(&mut diff, other.data);
    }
    comparable(&diff, anyway)?;
    Ok(diff)
}

fn unfit(unfit: Unfit) -> Failure {
    Failure::new(&unfit).hint(unfit.hint())
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
    let read = |text: &String| text.parse().map_err(|error| Failure::from_plan(&error));
    texts.iter().map(read).collect()
}

/// Refuses runs that have no case in common, and, unless `anyway`, runs that differ in their
/// conditions.
fn comparable(diff: &Diff, anyway: bool) -> Result<(), Failure> {
    let labels = [diff.base.label.as_str(), diff.other.label.as_str()];
    let (base, other) = (&diff.base.run, &diff.other.run);
    if diff.cases.is_empty() {
        let has = |label: &str| -> String {
            let own = diff.only.iter().filter(|one| one.label == label);
            let named = own.map(|one| format!("{} · {} · {}", one.runtime, one.app, one.load));
            named.collect::<Vec<_>>().join(", ")
        };
        let [a, b] = labels.map(has);
        let text = format!(
            "runs `{base}` and `{other}` have no case in common\nA: {a}\n{}: {b}",
            labels[1]
        );
        return Err(Failure::rendered(text).hint(
            "`diff` needs the same runtime, app and load in both runs; `stampede report A B` shows any runs \
             together",
        ));
    }
    if diff.differences.is_empty() || anyway {
        return Ok(());
    }
    let mut differ = report::difference_lines(&diff.differences, labels);
    let more = differ.len().saturating_sub(MOST_SHOWN);
    differ.truncate(MOST_SHOWN);
    if more > 0 {
        differ.push(format!("and {more} more"));
    }
    let text = format!(
        "runs `{base}` ({}) and `{other}` ({}) are not comparable\n{}",
        labels[0],
        labels[1],
        differ.join("\n")
    );
    Err(Failure::rendered(text).hint("`--anyway` compares them and says so above the table"))
}

/// More lines would push the first ones off the screen.
const MOST_SHOWN: usize = 12;
