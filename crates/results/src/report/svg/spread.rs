//! Draws the distribution over trials: one point for each trial, with the interval over them.

use stampede_markup::{Element, element};
use stampede_model::primary::Primary;
use stampede_model::record::Validity;
use stampede_model::words as figures;

use super::RenderedChart;
use super::frame::{Body, INK, MARGIN, SOFT, WIDTH, text, width_of};
use super::look::SeriesStyle;
use super::panel::Panel;
use super::scale::{Scale, ScaleKind, extent};
use super::view::View;
use super::words;
use crate::report::figure_text;
use crate::summary::model::{CaseSummary, Figure, Figures};

/// A figure that can be drawn.
struct Metric {
    title: String,
    of: fn(&Panel<'_>, &Figures) -> Figure,
    words: fn(f64) -> String,
    axis: fn(f64) -> String,
    /// The size of one axis unit in the figure's own unit.
    unit: f64,
}

/// One file for each figure that the page can show, with the figure that cases are sorted by first.
/// Empty: no case has several trials.
pub fn of(panel: &Panel<'_>) -> Vec<RenderedChart> {
    if !panel.cases.iter().any(|(_, case)| case.trials.len() > 1) {
        return Vec::new();
    }
    views(panel).iter().filter_map(|view| chart(panel, view)).collect()
}

/// The chart. `None`: no trial has the figure.
fn chart(panel: &Panel<'_>, view: &View<Metric>) -> Option<RenderedChart> {
    let metric = &view.of;
    let trials = panel.cases.iter().flat_map(|(_, case)| &case.trials);
    let values: Vec<f64> = trials
        .filter_map(|trial| (metric.of)(panel, &trial.figures).value())
        .filter(|value| value.is_finite())
        .collect();
    if values.is_empty() {
        return None;
    }
    let intervals: Vec<(f64, f64)> = panel
        .cases
        .iter()
        .filter_map(|(_, case)| (metric.of)(panel, &case.figures).interval())
        .collect();
    let widest = panel
        .cases
        .iter()
        .map(|(_, case)| width_of(&words::cut(&case.runtime, NAME_LETTERS), NAME))
        .fold(110.0, f64::max);
    let rows = RowArea {
        left: MARGIN + 24.0 + widest + 20.0,
        right: WIDTH - MARGIN - 12.0,
        scale: extent(&values, &intervals),
    };
    let rows_height = ROW * panel.cases.len() as f64;
    let mut elements = rows.axis(metric, rows_height);
    for (place, (_, case)) in panel.cases.iter().enumerate() {
        elements.push(rows.row(panel, metric, case, ROW * (place as f64 + 0.5)));
    }
    let below = if rows.scale.kind == ScaleKind::Log { 60.0 } else { 42.0 };
    let notes = vec![
        "A marker for each trial (hollow or pale: invalid, does not count), a stroke for the estimate, a band \
         for its 95 % interval."
            .to_owned(),
    ];
    let frame = panel.frame(format!("{}, each trial", metric.title), notes);
    Some(RenderedChart {
        file: view.file("trials"),
        svg: frame.around(Body { height: rows_height + below, elements }),
    })
}

fn views(panel: &Panel<'_>) -> Vec<View<Metric>> {
    let what = panel.time_name();
    let time = |name: &str, words: &str, of| {
        let title = format!("{words} of {what}");
        View::new(name, Metric { title, of, words: figures::time, axis: words::nanos, unit: 1.0 })
    };
    let mut views = vec![
        time("p95", "p95", |panel, figures| panel.times(figures).p95),
        time("p50", "Median", |panel, figures| panel.times(figures).p50),
        time("mean", "Mean", |panel, figures| panel.times(figures).mean),
        time("p99", "p99", |panel, figures| panel.times(figures).p99),
    ];
    views.extend(beside_times());
    let primary = match panel.group.primary {
        Primary::ResponseTimeP95 => 0,
        Primary::ResponseTimeP50 => 1,
        Primary::ResponseTimeMean => 2,
        Primary::Throughput => 4,
    };
    views[..=primary].rotate_right(1);
    views
}

fn beside_times() -> [View<Metric>; 3] {
    let throughput = Metric {
        title: "Throughput".to_owned(),
        of: |_, figures| figures.throughput_per_second,
        words: |rate| format!("{} /s", figures::rate(rate)),
        axis: words::per_second,
        unit: 1.0,
    };
    let cost = Metric {
        title: "CPU time per correct answer".to_owned(),
        of: |_, figures| figures.cpu_cost_us,
        words: |us| figures::time(us * 1e3),
        axis: words::micros,
        unit: 1.0,
    };
    let memory = Metric {
        title: "Highest memory of the whole stack".to_owned(),
        of: |_, figures| figures.memory_bytes_max,
        words: figures::bytes,
        axis: words::mebibytes,
        unit: f64::from(1 << 20),
    };
    [View::new("throughput", throughput), View::new("cpu-cost", cost), View::new("memory", memory)]
}

/// The area of the rows.
struct RowArea {
    left: f64,
    right: f64,
    scale: Scale,
}

impl RowArea {
    fn x_of(&self, value: f64) -> f64 {
        self.left + self.scale.place(value) * (self.right - self.left)
    }

    fn axis(&self, metric: &Metric, height: f64) -> Vec<Element> {
        let mut elements = Vec::new();
        let Scale { low, high, kind } = self.scale;
        let in_unit = Scale { low: low / metric.unit, high: high / metric.unit, kind };
        for step in in_unit.steps(8) {
            let x = self.x_of(step * metric.unit);
            let line = element("line").at("x1", x).at("x2", x).at("y1", 0.0).at("y2", height);
            elements.push(line.with("stroke", "#e6e8eb"));
            let words = (metric.axis)(step);
            elements.push(text(&words, x, height + 20.0, 12.0, SOFT).with("text-anchor", "middle"));
        }
        if self.scale.kind == ScaleKind::Log {
            let middle = (self.left + self.right) / 2.0;
            let words = text("log scale", middle, height + 40.0, 12.0, SOFT);
            elements.push(words.with("text-anchor", "middle"));
        }
        elements
    }

    fn row(&self, panel: &Panel<'_>, metric: &Metric, case: &CaseSummary, y: f64) -> Element {
        let look = panel.look(&case.runtime);
        let figure = (metric.of)(panel, &case.figures);
        let name = words::cut(&case.runtime, NAME_LETTERS);
        let count_text = match case.trials_counted {
            0 => "no trial counts".to_owned(),
            _ => words::tied(&figure_text(figure, metric.words)),
        };
        element("g")
            .children(look.point(MARGIN + 6.0, y - 4.0, 5.0))
            .child(text(&name, MARGIN + 24.0, y, NAME, INK))
            .child(text(&count_text, MARGIN + 24.0, y + 15.0, 12.0, SOFT))
            .children(self.estimate(figure, look, y))
            .children(self.trials(panel, metric, case, look, y))
    }

    /// The band of the interval and the line of the estimate.
    fn estimate(&self, figure: Figure, look: SeriesStyle, y: f64) -> Vec<Element> {
        let band = figure.interval().map(|(low, high)| {
            let (from, to) = (self.x_of(low), self.x_of(high));
            element("rect")
                .at("x", from)
                .at("y", y - 9.0)
                .at("width", (to - from).max(1.0))
                .at("height", 18.0)
                .with("fill", look.colour)
                .with("fill-opacity", "0.16")
                .at("rx", 3.0)
        });
        let stroke = figure.value().map(|value| {
            let x = self.x_of(value);
            element("line")
                .at("x1", x)
                .at("x2", x)
                .at("y1", y - 13.0)
                .at("y2", y + 13.0)
                .with("stroke", look.colour)
                .at("stroke-width", 2.0)
        });
        band.into_iter().chain(stroke).collect()
    }

    fn trials(
        &self,
        panel: &Panel<'_>,
        metric: &Metric,
        case: &CaseSummary,
        look: SeriesStyle,
        y: f64,
    ) -> Vec<Element> {
        let mut trials: Vec<_> = case.trials.iter().collect();
        // Hollow points are drawn last: points that count would hide them.
        trials.sort_by_key(|trial| trial.verdict == Validity::Invalid);
        let points =
            trials.into_iter().filter_map(|trial| {
                let value =
                    (metric.of)(panel, &trial.figures).value().filter(|value| value.is_finite())?;
                let x = self.x_of(value);
                let invalid = trial.verdict == Validity::Invalid;
                let point = if invalid { look.hollow(x, y, 4.5) } else { look.point(x, y, 4.5) }?;
                let counts = if invalid { ", invalid" } else { "" };
                let words = (metric.words)(value);
                Some(point.child(
                    element("title").text(&format!("trial {}: {words}{counts}", trial.number)),
                ))
            });
        points.collect()
    }
}

const ROW: f64 = 46.0;
const NAME: f64 = 13.0;
const NAME_LETTERS: usize = 30;
