//! `stampede diff`: runs held against the first of them.

use std::path::Path;

use super::args::{DiffArgs, DiffFormat};
use super::report::style;
use super::shell::print;
use super::{Failure, Outcome};
use crate::plan::model::Expectation;
use crate::report::{self, Shown};
use crate::store;
use crate::summary::diff::{Diff, FORMAT, Named, between};
use crate::summary::overlay::label;

/// Compares and prints; what is not comparable is refused.
pub fn run(args: &DiffArgs) -> Result<Outcome, Failure> {
    let asked = expectations(&args.expect)?;
    if args.runs.len() < 2 {
        return Err(Failure::rendered("a run is held against another one".to_owned())
            .hint("name both, the older first: `stampede diff last~1 last`"));
    }
    let shown = Shown::read(Path::new(store::RESULTS), &args.runs)
        .map_err(|error| Failure::from_store(&error))?;
    let labels: Vec<String> = (0..args.runs.len()).map(label).collect();
    let runs: Vec<Named<'_>> = shown
        .runs()
        .zip(&labels)
        .map(|((_, data, summary), label)| Named { label, data, summary })
        .collect();
    let mut diffs = Vec::new();
    for other in &runs[1..] {
        let expect = if asked.is_empty() { of_plan(other) } else { asked.clone() };
        let diff = between(runs[0], *other, &expect)
            .map_err(|unfit| Failure::new(&unfit).hint(unfit.hint()))?;
        comparable(&diff, args.anyway)?;
        diffs.push(diff);
    }
    print(rendered(&diffs, args).as_bytes())?;
    Ok(outcome(&diffs))
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

/// As typed; a mistake is shown where it is.
fn expectations(texts: &[String]) -> Result<Vec<Expectation>, Failure> {
    let read = |text: &String| text.parse().map_err(|error| Failure::from_plan(&error));
    texts.iter().map(read).collect()
}

/// Those of a run's plan that are about a change.
fn of_plan(run: &Named<'_>) -> Vec<Expectation> {
    let texts = run.data.record.expect.iter();
    texts.filter_map(|text| text.parse().ok()).filter(|one: &Expectation| one.worse).collect()
}

/// Refuses what has no cell in common, and, unless told to, what is not alike.
fn comparable(diff: &Diff, anyway: bool) -> Result<(), Failure> {
    let labels = [diff.base.label.as_str(), diff.other.label.as_str()];
    let (base, other) = (&diff.base.run, &diff.other.run);
    if diff.cells.is_empty() {
        let has = |label: &str| -> String {
            let own = diff.only.iter().filter(|one| one.label == label);
            let named = own.map(|one| format!("{} · {} · {}", one.runtime, one.app, one.load));
            named.collect::<Vec<_>>().join(", ")
        };
        let [a, b] = labels.map(has);
        let text = format!(
            "runs `{base}` and `{other}` have no cell in common\nA: {a}\n{}: {b}",
            labels[1]
        );
        return Err(Failure::rendered(text).hint(
            "a cell is a runtime with an app under a load of the same name and model; \
             `stampede report A B` lays runs over each other whatever they are",
        ));
    }
    if diff.differences.is_empty() || anyway {
        return Ok(());
    }
    let mut differ = report::differ(&diff.differences, labels);
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

/// More would push the first off the screen.
const MOST_SHOWN: usize = 12;
