//! Draws response time against offered rate, with the knee and the capacity of each runtime.

use stampede_model::words::target_rate;

use super::chart::{Axis, Chart, Granularity, Line, Mark, Strength};
use super::frame::Frame;
use super::look::SeriesStyle;
use super::words;
use crate::capacity::{CapacityReport, Limit};

/// The chart as a file. `None`: no trial had both a rate and answers.
pub fn chart(report: &CapacityReport) -> Option<String> {
    let lines: Vec<Line> = report
        .runtimes
        .iter()
        .enumerate()
        .map(|(place, limit)| Line {
            name: limit.runtime.clone(),
            look: SeriesStyle::at(place),
            points: points(limit),
            strength: Strength::Full,
        })
        .filter(|line| line.points.iter().any(|(_, us)| us.is_some()))
        .collect();
    let values: Vec<f64> = lines.iter().flat_map(Line::values).collect();
    if values.is_empty() {
        return None;
    }
    let furthest =
        lines.iter().flat_map(|line| &line.points).map(|(rate, _)| *rate).fold(0.0, f64::max);
    let marks = report.runtimes.iter().enumerate().flat_map(|(place, limit)| {
        let look = SeriesStyle::at(place);
        let at = |at: Option<f64>, what: &str| {
            at.map(|at| Mark {
                at,
                look,
                words: format!("{} {what} {}/s", limit.runtime, target_rate(at.round())),
            })
        };
        [at(limit.knee_per_second, "knee"), at(limit.capacity_per_second, "capacity")]
    });
    let body = Chart {
        x: Axis::from_zero(
            "target rate, requests per second",
            furthest,
            Granularity::Fine,
            words::short,
        ),
        y: Axis::log("p95 of response time, log scale", &values, words::micros),
        marks: marks.flatten().collect(),
        lines,
    }
    .body();
    let notes = report.runtimes.iter().map(|limit| format!("{}: {}.", limit.runtime, limit.said));
    let end = "A line ends where the slowest of a trial had no correct answer.".to_owned();
    let frame = Frame {
        title: format!("Capacity of {}", report.app),
        subtitle: format!("expected: {}", report.expect.join(", ")),
        notes: notes.chain([end]).collect(),
        source: format!("{} · stampede {}", report.run, report.stampede),
    };
    Some(frame.around(body))
}

/// The p95 by rate in µs. For several trials at the same rate it is the median.
fn points(limit: &Limit) -> Vec<(f64, Option<f64>)> {
    let open = limit.points.iter().filter_map(|point| Some((point.offered_per_second?, point)));
    let mut all: Vec<(f64, f64)> =
        open.map(|(rate, point)| (rate, point.time_ns_p95.unwrap_or(f64::INFINITY))).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let rates = all.chunk_by(|a, b| a.0 == b.0);
    rates
        .map(|same| {
            let (rate, ns) = same[same.len() / 2];
            (rate, Some(ns / 1e3).filter(|us| us.is_finite()))
        })
        .collect()
}
