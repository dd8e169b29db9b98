//! The picture of a load, made from its seconds. It reads no clock.

use std::collections::{BTreeMap, VecDeque};

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Style, Stylize as _};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline};
use stampede_model::counts::Second;
use stampede_model::event::Phase;
use stampede_model::failure;
use stampede_model::load::{Model, Until};
use stampede_model::time::Nanos;
use stampede_results::summary::model::LoadModel;
use stampede_stats::histogram::Times;
use stampede_stats::percentile::{Ranked, rank};

use crate::progress::words;

/// Everything that is drawn.
pub struct Dashboard {
    url: String,
    load: String,
    notes: Vec<String>,
    phase: Phase,
    length: LoadEnd,
    model: LoadModel,
    last: Totals,
    all: Totals,
    /// The seconds so far, the newest last: correct answers, and p95 in µs.
    answered: VecDeque<u64>,
    p95_us: VecDeque<u64>,
}

/// When the load ends.
#[derive(Clone, Copy)]
enum LoadEnd {
    Time(Nanos),
    Requests(u64),
    /// When the traffic ends.
    LoadTraffic,
}

/// The sums of one or several seconds.
#[derive(Default)]
struct Totals {
    seconds: u32,
    planned: u64,
    started: u64,
    ok: u64,
    dropped: u64,
    bytes: u64,
    failed: BTreeMap<String, u64>,
    in_flight_max: u32,
    times: Times,
    schedule_lag: Times,
}

impl Totals {
    fn add(&mut self, second: &Second, model: LoadModel) {
        let counts = &second.counts;
        self.seconds += 1;
        self.planned += counts.planned;
        self.started += counts.started;
        self.ok += counts.ok;
        self.dropped += counts.dropped;
        self.bytes += counts.bytes_received;
        for (kind, count) in &counts.failed {
            *self.failed.entry(kind.clone()).or_default() += count;
        }
        self.in_flight_max = self.in_flight_max.max(second.in_flight_max);
        let times = &second.times;
        self.times.merge(match model {
            LoadModel::Open => &times.response_time,
            LoadModel::Closed => &times.service_time,
        });
        self.schedule_lag.merge(&times.schedule_lag);
    }

    fn not_ok(&self) -> u64 {
        self.failed.values().sum::<u64>() + self.dropped
    }

    fn rate(&self, count: u64) -> String {
        format!("{}/s", words::rate(count as f64 / f64::from(self.seconds.max(1))))
    }

    /// Returns a percentile in ns over all requests that ended, even if few lie beyond it. `None`:
    /// it falls on a failed request.
    fn at(&self, percent: f64) -> Option<u64> {
        let ranked = Ranked { answered: &self.times, failed: self.not_ok() };
        let rank = rank(percent, ranked.planned());
        (rank <= self.times.len()).then(|| self.times.at_rank(rank))
    }

    fn time(&self, percent: f64) -> String {
        match self.at(percent) {
            _ if self.times.is_empty() && self.not_ok() == 0 => "—".to_owned(),
            Some(ns) => words::time_ns(ns),
            None => "failed".to_owned(),
        }
    }
}

impl Dashboard {
    /// The picture before the first second.
    pub fn new(url: String, load: String, notes: Vec<String>) -> Dashboard {
        Dashboard {
            url,
            load,
            notes,
            phase: Phase::Start,
            length: LoadEnd::Time(Nanos(0)),
            model: LoadModel::Open,
            last: Totals::default(),
            all: Totals::default(),
            answered: VecDeque::new(),
            p95_us: VecDeque::new(),
        }
    }

    /// Begins a phase, which has its own figures.
    pub fn enter(&mut self, phase: Phase, model: &Model) {
        self.phase = phase;
        self.model = LoadModel::from(model);
        self.length = match model {
            Model::Open { schedule, .. } => LoadEnd::Time(schedule.length()),
            Model::Closed { until: Until::For(length), .. } => LoadEnd::Time(*length),
            Model::Closed { until: Until::Requests(u64::MAX), .. } => LoadEnd::LoadTraffic,
            Model::Closed { until: Until::Requests(requests), .. } => LoadEnd::Requests(*requests),
        };
        (self.last, self.all) = (Totals::default(), Totals::default());
        self.answered.clear();
        self.p95_us.clear();
    }

    /// Adds a second of the load.
    pub fn second(&mut self, second: &Second) {
        self.last = Totals::default();
        self.last.add(second, self.model);
        self.all.add(second, self.model);
        let p95 = self.last.at(95.0).unwrap_or(self.last.times.max());
        push(&mut self.answered, self.last.ok);
        push(&mut self.p95_us, p95 / 1_000);
    }

    /// Draws as much as fits the screen. The most important parts come first.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let width = usize::from(area.width);
        let mut room = FreeArea { area, at: 0 };
        room.lines(frame, self.head(width));
        room.lines(frame, self.figures(width));
        room.lines(frame, self.times(width));
        let errors = self.errors();
        let below = errors.len() as u16 + 2;
        let title = format!("correct answers each second, {} now", words::count(self.last.ok));
        room.sparkline(frame, &title, &self.answered, below + 5);
        let title = format!("p95 of each second, {} now", self.last.time(95.0));
        room.sparkline(frame, &title, &self.p95_us, below);
        room.lines(frame, errors);
        room.foot(frame, "Ctrl-C: stop and print the summary");
    }

    fn head(&self, width: usize) -> Vec<Line<'static>> {
        let (share, far) = match self.length {
            LoadEnd::Time(length) => {
                let share = f64::from(self.all.seconds) / length.as_secs_f64().max(1e-9);
                let now = Nanos::from_secs(u64::from(self.all.seconds)).min(length);
                (share, format!("{} of {}", words::length(now), words::length(length)))
            }
            LoadEnd::Requests(requests) => {
                let share = self.all.started as f64 / requests.max(1) as f64;
                let (now, all) = (words::count(self.all.started), words::count(requests));
                (share, format!("{now} of {all} requests"))
            }
            LoadEnd::LoadTraffic => {
                (0.0, format!("{} requests so far", words::count(self.all.started)))
            }
        };
        let phase = self.phase.word();
        let room = width.saturating_sub(phase.len() + far.chars().count() + 4).min(BAR);
        let full = (share.min(1.0) * room as f64).round() as usize;
        let bar = match self.length {
            // The end is unknown, so there is no bar.
            LoadEnd::LoadTraffic => String::new(),
            _ => format!("{}{}  ", "█".repeat(full), "░".repeat(room - full)),
        };
        let mut lines = vec![
            Line::from(self.url.clone()).bold(),
            Line::from(self.load.clone()),
            Line::from(format!("{phase}  {bar}{far}")),
        ];
        lines.extend(self.notes.iter().map(|note| Line::from(format!("note: {note}")).dim()));
        lines.push(Line::default());
        lines
    }

    /// Formats the figures in cells of equal width, as many per line as fit.
    fn figures(&self, width: usize) -> Vec<Line<'static>> {
        let last = &self.last;
        let not_ok = last.not_ok();
        let red = if not_ok > 0 { Style::new().red().bold() } else { Style::new() };
        let late = last.schedule_lag.at_rank(rank(99.0, last.schedule_lag.len()));
        let mut cells = Vec::new();
        if self.model == LoadModel::Open {
            cells.push(("target rate", last.rate(last.planned), Style::new()));
            cells.push(("started", last.rate(last.started), Style::new()));
        }
        cells.push(("answered", last.rate(last.ok), Style::new().bold()));
        cells.push(("errors", last.rate(not_ok), red));
        cells.push(("in flight", words::count(u64::from(last.in_flight_max)), Style::new()));
        if self.model == LoadModel::Open {
            cells.push(("schedule lag", format!("{} p99", words::time_ns(late)), Style::new()));
        }
        cells.push(("received", format!("{}/s", words::bytes(last.bytes as f64)), Style::new()));
        let line = |cells: &[(&'static str, String, Style)]| {
            let spans = cells.iter().flat_map(|(name, value, style)| {
                let value = format!("{value:<0$}", CELL - CELL_NAME - 1);
                [Span::from(format!("{name:<CELL_NAME$} ")), Span::styled(value, *style)]
            });
            Line::from(spans.collect::<Vec<_>>())
        };
        let mut lines: Vec<Line<'static>> = cells.chunks((width / CELL).max(1)).map(line).collect();
        lines.push(Line::default());
        lines
    }

    fn times(&self, width: usize) -> Vec<Line<'static>> {
        let of = match self.model {
            LoadModel::Open => "response time",
            LoadModel::Closed => "service time",
        };
        let columns = (width.saturating_sub(NAME) / COLUMN).clamp(1, PERCENTS.len());
        let percents = &PERCENTS[PERCENTS.len() - columns..];
        let row = |name: &str, value: &dyn Fn(f64) -> String| {
            let mut text = format!("{name:<NAME$}");
            for (_, percent) in percents {
                text.push_str(&format!("{:>COLUMN$}", value(*percent)));
            }
            text
        };
        let name = |percent| {
            let named = PERCENTS.iter().find(|(_, known)| *known == percent);
            named.map_or(String::new(), |(name, _)| (*name).to_owned())
        };
        vec![
            Line::from(row(of, &name)).dim(),
            Line::from(row("last second", &|percent| self.last.time(percent))),
            Line::from(row("so far", &|percent| self.all.time(percent))),
            Line::default(),
        ]
    }

    /// Lists the errors, most frequent first.
    fn errors(&self) -> Vec<Line<'static>> {
        let dropped = ("dropped".to_owned(), self.all.dropped);
        let mut all: Vec<(String, u64)> =
            self.all.failed.iter().map(|(kind, count)| (kind.clone(), *count)).collect();
        all.push(dropped);
        all.retain(|(_, count)| *count > 0);
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let line = |(kind, count): &(String, u64)| {
            let meaning = failure::meaning(kind).unwrap_or_default();
            Line::from(format!("{kind:<16} {:>9}  {meaning}", words::count(*count))).red()
        };
        all.iter().take(ERRORS).map(line).collect()
    }
}

/// The part of the screen that is still free, below `at`.
struct FreeArea {
    area: Rect,
    at: u16,
}

impl FreeArea {
    fn take(&mut self, height: u16) -> Rect {
        let height = height.min(self.area.height - self.at);
        let taken = Rect { y: self.area.y + self.at, height, ..self.area };
        self.at += height;
        taken
    }

    fn lines(&mut self, frame: &mut Frame<'_>, lines: Vec<Line<'static>>) {
        let area = self.take(lines.len() as u16);
        frame.render_widget(Paragraph::new(lines), area);
    }

    /// Draws a title and up to four rows below it, and leaves at least `below` rows free.
    fn sparkline(&mut self, frame: &mut Frame<'_>, title: &str, data: &VecDeque<u64>, below: u16) {
        let free = (self.area.height - self.at).saturating_sub(below);
        if free < 2 || data.is_empty() {
            return;
        }
        self.lines(frame, vec![Line::from(title.to_owned()).dim()]);
        let area = self.take((free - 1).min(4));
        let newest = data.len().saturating_sub(usize::from(area.width));
        let data: Vec<u64> = data.iter().skip(newest).copied().collect();
        frame.render_widget(Sparkline::default().data(&data), area);
    }

    /// Draws the last line of the screen.
    fn foot(&mut self, frame: &mut Frame<'_>, text: &str) {
        if self.at < self.area.height {
            let y = self.area.y + self.area.height - 1;
            let area = Rect { y, height: 1, ..self.area };
            frame.render_widget(Paragraph::new(Line::from(text.to_owned()).dim()), area);
        }
    }
}

fn push(kept: &mut VecDeque<u64>, value: u64) {
    kept.push_back(value);
    if kept.len() > KEPT {
        kept.pop_front();
    }
}

/// Names and percentiles. If not all fit, the last ones are kept.
const PERCENTS: [(&str, f64); 6] =
    [("p50", 50.0), ("p75", 75.0), ("p90", 90.0), ("p95", 95.0), ("p99", 99.0), ("max", 100.0)];
/// Columns of a row's name, and of each figure.
const NAME: usize = 14;
const COLUMN: usize = 10;
/// Columns of a name with its value.
const CELL: usize = 26;
/// Columns of the name: of `schedule lag`.
const CELL_NAME: usize = 12;
/// Longest progress bar in characters.
const BAR: usize = 40;
/// Number of error kinds that are listed.
const ERRORS: usize = 4;
/// Seconds that a sparkline can show on the widest terminal.
const KEPT: usize = 500;

#[cfg(test)]
mod tests;
