//! Draws the percentile curve, which shows how slow the slowest requests are. Each step to the
//! right is ten times rarer.

use stampede_model::words::list;

use super::RenderedChart;
use super::chart::{Axis, Chart, Line, Strength};
use super::panel::Panel;
use super::scale::{Scale, tail};
use super::words;
use crate::report::page::model::Curve;

/// The chart. `None`: no trial counts.
pub fn of(panel: &Panel<'_>) -> Option<RenderedChart> {
    let what = panel.time_name();
    let lines: Vec<Line> = panel
        .cases
        .iter()
        .filter_map(|(index, case)| {
            let curve = curve(panel, *index)?;
            let points = points(curve, case.counts.planned);
            (!points.is_empty()).then(|| Line {
                name: case.runtime.clone(),
                look: panel.look(&case.runtime),
                points,
                strength: Strength::Full,
            })
        })
        .collect();
    let furthest = lines.iter().flat_map(|line| line.points.last()).map(|(x, _)| *x);
    let x = Scale::log(1.0, furthest.fold(1.0, f64::max));
    let values: Vec<f64> = lines.iter().flat_map(Line::values).collect();
    if values.is_empty() {
        return None;
    }
    let ticks = TICKS.iter().filter(|percent| tail(**percent, 1) <= x.high * 1.000_1);
    let x = Axis {
        label: "percentile of all planned requests; each nine has the same room".to_owned(),
        scale: x,
        ticks: ticks.map(|percent| (tail(*percent, 1), words::percentile(*percent))).collect(),
    };
    let y = Axis::log(&format!("{what}, log scale"), &values, words::micros);
    let body = Chart { x, y, lines, marks: Vec::new() }.body();
    let frame = panel.frame(format!("Percentiles of {what}"), notes(panel));
    Some(RenderedChart { file: "percentiles".to_owned(), svg: frame.around(body) })
}

fn curve<'a>(panel: &Panel<'a>, index: usize) -> Option<&'a Curve> {
    panel.page.curves.iter().find(|curve| curve.case == index)
}

/// The points of a curve. Of points at the same position the slowest is kept.
fn points(curve: &Curve, planned: u64) -> Vec<(f64, Option<f64>)> {
    let mut points: Vec<(f64, Option<f64>)> = Vec::new();
    for (percent, us) in &curve.points {
        let x = tail(*percent, planned);
        if points.last().is_some_and(|(last, _)| *last >= x) {
            points.pop();
        }
        points.push((x, Some(us.0).filter(|us| us.is_finite())));
    }
    points
}

fn notes(panel: &Panel<'_>) -> Vec<String> {
    let failed: Vec<String> = panel
        .cases
        .iter()
        .filter_map(|(index, case)| {
            let from = curve(panel, *index)?.failed_from?;
            Some(format!("{} from {}", case.runtime, words::percentile((from * 1e4).round() / 1e4)))
        })
        .collect();
    let mut notes = vec![
        "Trials that count, merged; a request without a correct answer ranks slower than all answers."
            .to_owned(),
    ];
    if !failed.is_empty() {
        notes.push(format!(
            "A line ends where there is no correct answer any more: {}.",
            list(&failed)
        ));
    }
    let without: Vec<String> = panel
        .cases
        .iter()
        .filter(|(index, _)| curve(panel, *index).is_none_or(|curve| curve.points.is_empty()))
        .map(|(_, case)| case.runtime.clone())
        .collect();
    if !without.is_empty() {
        notes.push(format!("No curve: {}.", list(&without)));
    }
    notes
}

/// The percentiles at the axis, as far as there are requests.
const TICKS: [f64; 12] =
    [0.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 99.999_9, 99.999_99, 99.999_999];
