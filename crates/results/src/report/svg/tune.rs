//! Draws the result for each value of a numeric setting, with its interval.

use super::chart::{Axis, Chart, Granularity, Line, Mark, Strength};
use super::frame::Frame;
use super::look::SeriesStyle;
use super::words;
use crate::tune::{TunePoint, TuneReport};

/// The chart as a file. `None`: no setting is a number, or fewer than two points were measured. Of
/// several settings it shows the first numeric one, with the best values of the others.
pub fn chart(report: &TuneReport) -> Option<String> {
    let best = report.best.as_ref()?;
    let is_number = |name: &&String| best.get(*name).is_some_and(|value| number(value).is_some());
    let names = || report.settings.iter().filter_map(|text| text.split_once('='));
    let name = names().map(|(name, _)| name.to_owned()).find(|name| is_number(&name))?;
    let along = |point: &&TunePoint| {
        point.settings.iter().all(|(key, value)| *key == name || best.get(key) == Some(value))
    };
    let points: Vec<&TunePoint> = report.points.iter().filter(along).collect();
    let of = |figure: fn(&TunePoint) -> Option<f64>| {
        let value = |point: &&TunePoint| Some((number(&point.settings[&name])?, figure(point)));
        let mut all: Vec<_> = points.iter().filter_map(value).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    };
    let line = |name: &str, figure, strength| Line {
        name: name.to_owned(),
        look: SeriesStyle::at(0),
        points: of(figure),
        strength,
    };
    let what = if report.rate_per_second.is_some() { "p95" } else { "capacity" };
    let lines: Vec<Line> = [
        line(what, |point| point.value, Strength::Full),
        line("upper end of its 95 % interval", |point| point.high, Strength::Faint),
        line("lower end", |point| point.low, Strength::Faint),
    ]
    .into_iter()
    .filter(|line| line.points.iter().filter(|(_, value)| value.is_some()).count() > 1)
    .collect();
    let values: Vec<f64> = lines.iter().flat_map(Line::values).collect();
    let most = values.iter().copied().fold(0.0, f64::max);
    let furthest = points.iter().filter_map(|point| number(&point.settings[&name]));
    let furthest = furthest.fold(0.0, f64::max);
    if lines.is_empty() {
        return None;
    }
    let y = match report.rate_per_second {
        None => {
            Axis::from_zero("capacity, requests per second", most, Granularity::Fine, words::short)
        }
        Some(_) => Axis::log("p95 of response time, log scale", &values, words::nanos),
    };
    let chosen = number(&best[&name]).map(|at| Mark {
        at,
        look: SeriesStyle::at(0),
        words: format!("best: {name}={}", best[&name]),
    });
    let body = Chart {
        x: Axis::from_zero(&name, furthest, Granularity::Fine, words::short),
        y,
        marks: chosen.into_iter().collect(),
        lines,
    }
    .body();
    let frame = Frame {
        title: format!("{} of {} with {name}", what, report.runtime),
        subtitle: format!("{}; expected: {}", report.app, report.expect.join(", ")),
        notes: vec![format!("{}.", report.said)],
        source: format!("{} · stampede {}", report.run, report.stampede),
    };
    Some(frame.around(body))
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(workers: &[u32]) -> TuneReport {
        let point = |workers: &u32| {
            serde_json::json!({
                "settings": {"workers": workers.to_string()},
                "value": 100 * workers, "low": 90 * workers, "high": 110 * workers, "trials": [],
            })
        };
        let best = workers.last().map(|workers| workers.to_string());
        let value = serde_json::json!({
            "format": 1, "stampede": "0.1.0", "run": "a-run", "started_at": "", "runtime": "nginx-fpm",
            "app": "sleep", "expect": ["p95 < 100ms"], "budget_cpus": 1, "budget_memory_bytes": 0,
            "max_time_s": 60.0, "out_of_time": false, "interrupted": false,
            "settings": ["pm=static", "workers=2..64"], "best": {"pm": "static", "workers": best},
            "said": "best: workers", "lines": [],
            "points": workers.iter().map(point).collect::<Vec<_>>(),
        });
        let mut report: TuneReport = serde_json::from_value(value).expect("a report");
        for point in &mut report.points {
            point.settings.insert("pm".to_owned(), "static".to_owned());
        }
        report
    }

    #[test]
    fn two_points_are_a_curve_and_one_is_none() {
        let svg = chart(&report(&[2, 8, 16])).expect("a chart");
        for words in ["best: workers=16", "capacity of nginx-fpm with workers", "95 % interval"] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
        assert_eq!(chart(&report(&[2])), None);
    }

    #[test]
    fn settings_without_numbers_have_no_axis() {
        let mut words = report(&[2, 8]);
        words.settings = vec!["pm=static,ondemand".to_owned()];
        assert_eq!(chart(&words), None);
    }
}
