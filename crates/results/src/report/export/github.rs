//! The input of `benchmark-action/github-action-benchmark` for its tool `customSmallerIsBetter`: a
//! JSON array with an entry for each figure.

use serde_json::{Value, json};
use stampede_model::words;
use stampede_stats::estimate::Estimate;

use super::{Export, ExportedCase, rounded};
use crate::summary::Summary;
use crate::summary::diff::Measure;
use crate::summary::model::{CaseVerdict, LoadModel};

/// Renders the figures of a run. The tool takes smaller values for better ones, so the two figures
/// of which more is better are turned round: throughput into the time per correct answer, and the
/// share of correct answers into that of the others.
pub fn github_action_benchmark(summary: &Summary, export: &Export<'_>) -> String {
    let each = |one: &ExportedCase<'_>| {
        let of_figure = |(measure, estimate): &(Measure, _)| {
            entry(summary, one, &Scale::of(*measure, one.case.model), estimate)
        };
        one.figures.iter().map(of_figure).collect::<Vec<Value>>()
    };
    format!("{:#}\n", Value::Array(export.cases.iter().flat_map(each).collect()))
}

fn entry(summary: &Summary, one: &ExportedCase<'_>, scale: &Scale, estimate: &Estimate) -> Value {
    let value = |value: f64| rounded((scale.of_value)(value));
    let mut entry = json!({
        "name": format!("{} · {}", one.name, scale.name),
        "unit": scale.unit,
        "value": value(estimate.value),
        "extra": extra(summary, one, estimate),
    });
    if let Some((low, high)) = estimate.interval {
        let (a, b) = (value(low), value(high));
        entry["range"] = json!(format!("{} to {}", a.min(b), a.max(b)));
    }
    entry
}

/// The lines that the tool shows with a point of its chart.
fn extra(summary: &Summary, one: &ExportedCase<'_>, estimate: &Estimate) -> String {
    let doubt = match one.case.verdict {
        CaseVerdict::Suspect => "\nsuspect: see the report of the run",
        _ => "",
    };
    let trials = words::number_of(estimate.trials, "trial");
    let range = estimate.interval.map_or("", |_| "; the range is the 95 % interval");
    format!("run {}\n{trials}{range}{doubt}", summary.run)
}

/// How a figure is written for this tool.
struct Scale {
    name: String,
    unit: &'static str,
    of_value: fn(f64) -> f64,
}

impl Scale {
    fn of(measure: Measure, model: LoadModel) -> Scale {
        let scale = |name: &str, unit, of_value| Scale { name: name.to_owned(), unit, of_value };
        match measure {
            Measure::Percentile(_) | Measure::Mean | Measure::Max | Measure::FirstAnswer => {
                scale(&measure.noun(model), "ms", |ns| ns / 1e6)
            }
            Measure::Throughput => {
                scale("time per correct answer (1 ÷ throughput)", "ms", |rate| 1e3 / rate)
            }
            Measure::Ok => {
                scale("requests without a correct answer", "%", |share| (1.0 - share) * 100.0)
            }
            Measure::CpuCost => scale("CPU/request", "µs", |us| us),
            Measure::Memory => scale("memory max", "MiB", |bytes| bytes / f64::from(1 << 20)),
        }
    }
}
