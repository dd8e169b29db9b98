//! Draws a rising load: response time against the offered rate, and the breaking point of each
//! runtime.

use std::collections::BTreeMap;

use stampede_model::words::{list, rate};

use super::RenderedChart;
use super::chart::{Axis, Chart, Line, Mark, Strength};
use super::panel::{Panel, TrialStatus};
use super::scale::{Scale, median};
use super::words;
use crate::report::page::model::Series;
use crate::summary::model::LoadModel;

/// The chart. `None`: the load does not rise.
pub fn of(panel: &Panel<'_>) -> Option<RenderedChart> {
    if panel.group.model != LoadModel::Open || !rises(panel) {
        return None;
    }
    let lines: Vec<Line> = panel
        .shown
        .iter()
        .map(|shown| Line {
            name: shown.name(),
            look: shown.look,
            points: up_the_rise(shown.series),
            strength: if shown.status == TrialStatus::Counts {
                Strength::Full
            } else {
                Strength::Faint
            },
        })
        .collect();
    let marks = marks(panel);
    let values: Vec<f64> = lines.iter().flat_map(Line::values).collect();
    if values.is_empty() {
        return None;
    }
    let rates = lines.iter().flat_map(|line| &line.points).map(|(rate, _)| *rate);
    let most = rates.chain(marks.iter().map(|mark| mark.at)).fold(0.0, f64::max);
    let x = Axis::of("target rate, requests a second", Scale::linear(0.0, most), 10, words::short);
    let y = Axis::log("p95 of response time, log scale", &values, words::micros);
    let body = Chart { x, y, lines, marks }.body();
    let frame = panel.frame("Response time against target rate".to_owned(), notes(panel));
    Some(RenderedChart { file: "rise".to_owned(), svg: frame.around(body) })
}

fn rises(panel: &Panel<'_>) -> bool {
    panel.cases.iter().any(|(_, case)| case.breaking.is_some())
        || panel.shown.iter().any(|shown| {
            let rates: Vec<f64> =
                shown.series.offered.iter().map(|rate| rate.0).filter(|rate| *rate > 0.0).collect();
            // The last second of a schedule is often incomplete, so a change in it is no rise.
            let inner = &rates[..rates.len().saturating_sub(1)];
            let most = inner.iter().copied().fold(0.0, f64::max);
            let least = inner.iter().copied().fold(f64::INFINITY, f64::min);
            inner.len() > 5 && most > 1.5 * least
        })
}

/// The p95 by offered rate, up to the highest rate. For seconds with the same rate it is the
/// median.
fn up_the_rise(series: &Series) -> Vec<(f64, Option<f64>)> {
    let rates: Vec<f64> = series.offered.iter().map(|rate| rate.0).collect();
    let most = rates.iter().copied().fold(0.0, f64::max);
    let Some(top) = rates.iter().position(|rate| *rate == most) else { return Vec::new() };
    let mut by_rate: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (row, rate) in rates[..=top].iter().enumerate().filter(|(_, rate)| **rate > 0.0) {
        let seen = by_rate.entry(rate.to_bits()).or_default();
        let p95 = series.times.p95.get(row).copied().flatten();
        seen.extend(p95.map(|p95| p95.0).filter(|p95| p95.is_finite()));
    }
    // For numbers above 0, the order of their bits is the order of the numbers.
    by_rate.into_iter().map(|(rate, seen)| (f64::from_bits(rate), median(seen))).collect()
}

fn marks(panel: &Panel<'_>) -> Vec<Mark> {
    let marks = panel.cases.iter().filter_map(|(_, case)| {
        let breaking = case.breaking.as_ref().filter(|breaking| breaking.trials_broken > 0)?;
        let at = breaking.offered_per_second.value()?;
        let words =
            format!("{} broke at {}", case.runtime, words::tied(&format!("{} /s", rate(at))));
        Some(Mark { at, look: panel.look(&case.runtime), words })
    });
    marks.collect()
}

fn notes(panel: &Panel<'_>) -> Vec<String> {
    let mut lost: Vec<String> = Vec::new();
    let breaking =
        || panel.cases.iter().filter_map(|(_, case)| Some((case, case.breaking.as_ref()?)));
    for text in breaking().flat_map(|(_, breaking)| &breaking.lost) {
        let text = format!("“{text}”");
        if !lost.contains(&text) {
            lost.push(text);
        }
    }
    let held: Vec<String> = breaking()
        .filter(|(_, breaking)| breaking.trials_broken == 0)
        .map(|(case, _)| case.runtime.clone())
        .collect();
    let mut notes = Vec::new();
    if !lost.is_empty() {
        notes.push(format!(
            "Vertical marks: the rate from which on {} was lost for good.",
            list(&lost)
        ));
    }
    if !held.is_empty() {
        notes.push(format!("Held to the end of the rise: {}.", list(&held)));
    }
    notes.extend(panel.trial_notes());
    notes
}
