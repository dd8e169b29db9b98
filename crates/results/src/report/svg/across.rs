//! Draws charts across loads: how a runtime behaves as the load grows.

use std::collections::BTreeSet;

use stampede_model::words::list;

use super::RenderedChart;
use super::chart::{Axis, Chart, Granularity, Line, Strength, most};
use super::frame::Frame;
use super::look::SeriesStyle;
use super::panel::source;
use super::scale::Scale;
use super::words;
use crate::report::page::Page;
use crate::summary::model::{CaseSummary, Figure, Group, LoadModel};

/// The loads of one app and one model, the lightest first.
struct Loads<'a> {
    page: &'a Page,
    groups: Vec<&'a Group>,
    cases: Vec<&'a CaseSummary>,
    /// The position of each load on the x axis.
    x: Vec<f64>,
    has_rates: bool,
    looks: &'a [(String, SeriesStyle)],
}

/// The charts of each app that has several loads of one model, with the app's name.
pub fn of<'a>(page: &'a Page, looks: &'a [(String, SeriesStyle)]) -> Vec<(&'a str, RenderedChart)> {
    let mut kinds: Vec<(&str, LoadModel)> = Vec::new();
    for group in &page.summary.groups {
        if !kinds.contains(&(&group.app, group.model)) {
            kinds.push((&group.app, group.model));
        }
    }
    let of = |(app, model): (&'a str, LoadModel)| {
        let own = |group: &&Group| group.app == app && group.model == model;
        let groups: Vec<&Group> = page.summary.groups.iter().filter(own).collect();
        let loads = Loads::new(page, groups, looks);
        loads
            .has_several()
            .then_some(loads)
            .into_iter()
            .flat_map(move |loads| loads.charts())
            .map(move |drawn| (app, drawn))
    };
    kinds.into_iter().flat_map(of).collect()
}

/// The figure that one chart shows of every case.
struct CaseFigure<'s> {
    file: &'static str,
    title: String,
    label: &'s str,
    words: fn(f64) -> String,
    figure: &'s dyn Fn(&CaseSummary) -> Figure,
    /// The size of one axis unit in the figure's own unit.
    unit: f64,
    without: Option<&'s str>,
}

impl<'a> Loads<'a> {
    fn new(
        page: &'a Page,
        groups: Vec<&'a Group>,
        looks: &'a [(String, SeriesStyle)],
    ) -> Loads<'a> {
        let rate = |group: &Group| {
            let own = page.summary.cases_of(group);
            own.filter_map(|case| case.figures.offered_per_second.value()).reduce(f64::max)
        };
        let mut rates: Vec<(&Group, Option<f64>)> =
            groups.into_iter().map(|group| (group, rate(group))).collect();
        let mut known: Vec<f64> = rates.iter().filter_map(|(_, rate)| *rate).collect();
        known.sort_by(f64::total_cmp);
        known.dedup();
        // Loads with nearly the same rate would overlap.
        let apart = known.last().map_or(0.0, |most| most * 0.03);
        let has_rates =
            known.len() == rates.len() && known.windows(2).all(|two| two[1] - two[0] > apart);
        if has_rates {
            rates.sort_by(|a, b| a.1.partial_cmp(&b.1).unwrap_or(std::cmp::Ordering::Equal));
        }
        let x = match has_rates {
            true => known,
            false => (1..).map(f64::from).take(rates.len()).collect(),
        };
        let groups: Vec<&Group> = rates.into_iter().map(|(group, _)| group).collect();
        let cases = groups.iter().flat_map(|group| page.summary.cases_of(group)).collect();
        Loads { page, groups, cases, x, has_rates, looks }
    }

    /// Whether any runtime was measured under several of these loads. With several runs of one load
    /// each, none was.
    fn has_several(&self) -> bool {
        let loads = |name: &str| self.cases.iter().filter(|case| case.runtime == name).count();
        self.looks.iter().any(|(runtime, _)| loads(runtime) > 1)
    }

    fn charts(&self) -> Vec<RenderedChart> {
        let (what, time): (&str, fn(&CaseSummary) -> Figure) = match self.groups[0].model {
            LoadModel::Open => ("response time", |case| case.figures.response_time_ns.p95),
            LoadModel::Closed => ("service time", |case| case.figures.service_time_ns.p95),
        };
        let slowest = self.slowest(&time);
        let p95 = |file, title: String, without| CaseFigure {
            file,
            title,
            label: "p95 over all planned requests",
            words: words::nanos,
            figure: &time,
            unit: 1.0,
            without,
        };
        let cpu = CaseFigure {
            file: "cpu",
            title: "CPU by load".to_owned(),
            label: "highest reading, share of the whole stack's CPU budget",
            words: words::percent,
            figure: &|case| case.figures.cpu_percent_max,
            unit: 1.0,
            without: None,
        };
        let memory = CaseFigure {
            file: "memory",
            title: "Memory by load".to_owned(),
            label: "highest reading of the whole stack, without page cache",
            words: words::mebibytes,
            figure: &|case| case.figures.memory_bytes_max,
            unit: f64::from(1 << 20),
            without: None,
        };
        let without = slowest.map(|slowest| {
            let title = format!("p95 of {what} by load, without {slowest}");
            p95("p95-without-slowest", title, Some(slowest))
        });
        let all = p95("p95", format!("p95 of {what} by load"), None);
        let all = [Some(all), without, Some(cpu), Some(memory)];
        all.iter().flatten().filter_map(|shown| self.chart(shown)).collect()
    }

    /// The chart. `None`: no runtime has the figure.
    fn chart(&self, shown: &CaseFigure<'_>) -> Option<RenderedChart> {
        let mut lines = self.lines(shown);
        lines.retain(|line| line.values().next().is_some());
        if lines.is_empty() {
            return None;
        }
        let y = Axis::from_zero(shown.label, most(&lines), Granularity::Fine, shown.words);
        let body = Chart { x: self.axis(), y, lines, marks: Vec::new() }.body();
        let names: Vec<&str> = self.groups.iter().map(|group| group.load.as_str()).collect();
        let frame = Frame {
            title: shown.title.clone(),
            subtitle: format!("{} · {}", self.groups[0].app, names.join(", ")),
            notes: self.notes(shown),
            source: source(self.page),
        };
        Some(RenderedChart { file: shown.file.to_owned(), svg: frame.around(body) })
    }

    fn lines(&self, shown: &CaseFigure<'_>) -> Vec<Line> {
        let own = self.looks.iter().filter(|(runtime, _)| {
            shown.without != Some(runtime) && self.cases.iter().any(|case| case.runtime == *runtime)
        });
        let line = |(runtime, look): &(String, SeriesStyle)| Line {
            name: runtime.clone(),
            look: *look,
            points: self
                .x
                .iter()
                .zip(&self.groups)
                // A load that a run does not have is no gap: no value is missing there.
                .filter_map(|(x, group)| Some((*x, self.case(runtime, group)?)))
                .map(|(x, case)| {
                    let value = (shown.figure)(case).value().map(|value| value / shown.unit);
                    (x, value.filter(|value| value.is_finite()))
                })
                .collect(),
            strength: Strength::Full,
        };
        own.map(line).collect()
    }

    /// For several runs: a note on the loads that not all of them have.
    fn not_shared(&self) -> Option<String> {
        let all = &self.page.runs;
        let texts = self.groups.iter().filter_map(|group| {
            let cases = self.page.summary.cases_of(group);
            let own: BTreeSet<usize> =
                cases.filter_map(|case| Some(self.page.names.get(&case.runtime)?.run)).collect();
            let labels: Vec<String> =
                own.iter().filter_map(|run| Some(all.get(*run)?.label.clone())).collect();
            let some = !labels.is_empty() && labels.len() < all.len();
            some.then(|| format!("{} in {}", group.load, list(&labels)))
        });
        let texts: Vec<String> = texts.collect();
        (!texts.is_empty()).then(|| format!("Not in every run: {} only.", texts.join(", ")))
    }

    fn case(&self, runtime: &str, group: &Group) -> Option<&'a CaseSummary> {
        self.cases.iter().copied().find(|case| case.runtime == runtime && case.load == group.load)
    }

    fn axis(&self) -> Axis {
        if self.has_rates {
            let most = self.x.iter().copied().fold(0.0, f64::max);
            let ticks = self.x.iter().map(|x| (*x, words::short(*x))).collect();
            let label = "target rate, requests a second".to_owned();
            return Axis { label, scale: Scale::linear(0.0, most * 1.02), ticks };
        }
        // Half a step at both ends gives the first and the last name room.
        let count = self.x.len() as f64;
        let letters = (820.0 / count / 8.0).max(6.0) as usize;
        let names = self.groups.iter().map(|group| words::cut(&group.load, letters));
        Axis {
            label: "load".to_owned(),
            scale: Scale::linear(0.5, count + 0.5),
            ticks: self.x.iter().copied().zip(names).collect(),
        }
    }

    /// Notes that explain points and gaps.
    fn notes(&self, shown: &CaseFigure<'_>) -> Vec<String> {
        let of = |is: fn(&Figure) -> bool| {
            let own = self
                .cases
                .iter()
                .filter(|case| shown.without != Some(&case.runtime) && is(&(shown.figure)(case)));
            own.map(|case| format!("{} at {}", case.runtime, case.load)).collect::<Vec<_>>()
        };
        let texts = [
            (
                "A lower bound only, cut off by a timeout",
                of(|one| matches!(one, Figure::AtLeast(_))),
            ),
            (
                "No point, since the request at that rank has no correct answer",
                of(|one| *one == Figure::Failed),
            ),
            ("No point, since too few requests lie beyond it", of(|one| *one == Figure::TooFew)),
            ("Not measured or not read", of(|one| *one == Figure::None)),
        ];
        let some = texts.into_iter().filter(|(_, cases)| !cases.is_empty());
        let texts = some.map(|(words, cases)| format!("{words}: {}.", list(&cases)));
        self.not_shared().into_iter().chain(texts).collect()
    }

    /// The runtime with the highest p95 at any load. `None`: fewer than three runtimes have a p95.
    fn slowest(&self, time: &dyn Fn(&CaseSummary) -> Figure) -> Option<&'a str> {
        let known = || {
            self.cases.iter().filter_map(|case| Some((case.runtime.as_str(), time(case).value()?)))
        };
        let names: BTreeSet<&str> = known().map(|(runtime, _)| runtime).collect();
        let slowest = known().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(runtime, _)| runtime);
        slowest.filter(|_| names.len() > 2)
    }
}
