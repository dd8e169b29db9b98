//! Bencher Metric Format: a JSON object that maps each benchmark to its measures, and each measure
//! to its value with a lower and an upper bound.

use serde_json::{Map, Value, json};

use super::{Export, rounded};
use crate::summary::diff::Measure;
use crate::summary::model::LoadModel;

/// Renders the figures of a run. The bounds are those of the 95 % interval over trials; a figure
/// from fewer than three trials has none.
pub fn bmf(export: &Export<'_>) -> String {
    let mut benchmarks = Map::new();
    for one in export.cases.iter().filter(|one| !one.figures.is_empty()) {
        let measures = one.figures.iter().map(|(measure, estimate)| {
            let mut metric = json!({"value": rounded(estimate.value)});
            if let Some((low, high)) = estimate.interval {
                metric["lower_value"] = json!(rounded(low));
                metric["upper_value"] = json!(rounded(high));
            }
            (name(*measure, one.case.model), metric)
        });
        benchmarks.insert(one.name.clone(), Value::Object(measures.collect()));
    }
    format!("{:#}\n", Value::Object(benchmarks))
}

/// The name of a measure: lower case with hyphens, as the format's own names are, and with its unit,
/// for which the format has no place.
fn name(measure: Measure, model: LoadModel) -> String {
    let time = match model {
        LoadModel::Open => "response-time",
        LoadModel::Closed => "service-time",
    };
    match measure {
        Measure::Percentile(_) | Measure::Mean | Measure::Max => {
            format!("{time}-{}-ns", measure.name())
        }
        Measure::Throughput => "correct-answers-per-second".to_owned(),
        Measure::Ok => "correct-answers-share".to_owned(),
        Measure::CpuCost => "cpu-per-request-us".to_owned(),
        Measure::Memory => "memory-max-bytes".to_owned(),
        Measure::FirstAnswer => "first-answer-ns".to_owned(),
    }
}
