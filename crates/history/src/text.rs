//! Rows over time on a terminal: a line of bars for each figure, or all runs of one figure with
//! their intervals.

use console::measure_text_width;
use stampede_model::words;
use stampede_results::report::{self, CharacterSet, Style, Tone};
use stampede_results::summary::diff::{Change as Judged, Measure};
use stampede_results::summary::model::Figure;
use stampede_stats::change::RUNS_MIN;
use stampede_stats::estimate::Estimate;

use super::model::{CaseOfRun, Change, FigureOfRun, History, ListedRun, Series};

/// Draws every row that several runs have. Empty: there is none.
pub fn series_text(history: &History, style: &Style) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for series in several(history) {
        let mut block = Block::begin(history, series, style);
        Measure::SHOWN.into_iter().for_each(|measure| block.figure(measure));
        blocks.push(block.text());
    }
    let too_few = several(history).any(|series| series.places.len() < RUNS_MIN);
    if too_few {
        let note = format!(
            "A lasting change is looked for in rows that {RUNS_MIN} runs or more have under the \
             same load on the same machine."
        );
        blocks.push(style.wrap(&note, 0).join("\n") + "\n");
    }
    blocks.join("\n").replace('\u{a0}', " ")
}

/// Draws one figure of every row that several runs have: a line for each run with its interval.
pub fn figure_text(history: &History, measure: Measure, style: &Style) -> String {
    let each = several(history).filter_map(|series| {
        let mut block = Block::begin(history, series, style);
        block.runs(measure).then(|| block.text())
    });
    each.collect::<Vec<_>>().join("\n").replace('\u{a0}', " ")
}

pub(crate) fn several(history: &History) -> impl Iterator<Item = &Series> {
    history.series.iter().filter(|series| series.places.len() > 1)
}

/// The lines about one row.
struct Block<'a> {
    style: &'a Style,
    cases: Vec<(&'a ListedRun, &'a CaseOfRun)>,
    lines: Vec<String>,
}

impl<'a> Block<'a> {
    fn begin(history: &'a History, series: &'a Series, style: &'a Style) -> Block<'a> {
        let cases: Vec<_> = history.cases(series).collect();
        let mut block = Block { style, cases, lines: Vec::new() };
        let (first, (last, case)) = (block.cases[0].0, block.newest());
        let load = load_words(case);
        let control = if case.is_control { " (control)" } else { "" };
        block.add(0, &format!("{} · {} · {load}{control}", case.runtime, case.app), Tone::Strong);
        let runs = words::quantity(block.cases.len() as u64, "run");
        let days = match (day(first), day(last)) {
            (from, to) if from == to => from,
            (from, to) => format!("{from} to {to}"),
        };
        let machine = match last.machine.as_str() {
            "" => String::new(),
            machine => format!(" · {machine}"),
        };
        block.add(2, &format!("{runs}, {days}{machine}"), Tone::Faint);
        block
    }

    fn newest(&self) -> (&'a ListedRun, &'a CaseOfRun) {
        self.cases[self.cases.len() - 1]
    }

    fn add(&mut self, indent: usize, text: &str, tone: Tone) {
        let lines = self.style.wrap(&("\u{a0}".repeat(indent) + text), indent + 2);
        self.lines.extend(lines.iter().map(|line| self.style.paint(line, tone)));
    }

    /// A line of bars, one for each of the last runs, the newest figure with its interval, and the
    /// changes.
    fn figure(&mut self, measure: Measure) {
        let figures = self.figures(measure);
        let known: Vec<f64> = figures.iter().filter_map(|(_, one)| one.value.known()).collect();
        if known.len() < 2 || (measure.is_good() && are_equal(&known)) {
            return;
        }
        let newest = figures[figures.len() - 1].1;
        let value = with_interval(measure, newest.value);
        let title = format!("{:<TITLE$}", measure.title());
        let room = self.style.columns().saturating_sub(2 + TITLE + 2 + 2 + WIDEST_VALUE);
        let from = figures.len().saturating_sub(room.max(BARS_MIN));
        let values: Vec<Figure> = figures[from..].iter().map(|(_, one)| one.value).collect();
        let line = format!("  {title}  {}  {value}", bars(&values, self.style));
        self.lines.push(self.style.letters(&line));
        self.ratio_to_control(&figures[from..]);
        self.changes(measure, &figures);
    }

    /// A line of bars for the figure as a ratio to the control, in which the machine's mood is not.
    fn ratio_to_control(&mut self, figures: &[(&ListedRun, &FigureOfRun)]) {
        let ratio = |figure: &FigureOfRun| figure.to_control.map_or(Figure::None, Figure::Exact);
        let ratios: Vec<Figure> = figures.iter().map(|(_, figure)| ratio(figure)).collect();
        let newest = figures.last().and_then(|(_, figure)| figure.to_control);
        let (Some(newest), true) = (newest, ratios.iter().filter_map(Figure::known).count() > 1)
        else {
            return;
        };
        let bars = bars(&ratios, self.style);
        let line = format!("  {:<TITLE$}  {bars}  {}", "of control", ratio_words(&newest));
        self.lines.push(self.style.letters(&line));
    }

    fn figures(&self, measure: Measure) -> Vec<(&'a ListedRun, &'a FigureOfRun)> {
        let of = |&(run, case): &(&'a ListedRun, &'a CaseOfRun)| Some((run, case.figure(measure)?));
        self.cases.iter().filter_map(of).collect()
    }

    fn changes(&mut self, measure: Measure, figures: &[(&ListedRun, &FigureOfRun)]) {
        for (run, figure) in figures {
            if let Some(change) = &figure.change {
                self.change(measure, run, change);
            }
        }
    }

    fn change(&mut self, measure: Measure, run: &ListedRun, change: &Change) {
        let (is_worse, text) = change_words(measure, run, change);
        let tone = if is_worse { Tone::Bad } else { Tone::Strong };
        self.add(4, &text, tone);
        let sides = [change.before.as_str(), run.entry.name.as_str()];
        for line in report::difference_lines(&change.differences, sides).iter().take(MOST_SHOWN) {
            self.add(6, line, Tone::Plain);
        }
        let all = change.differences.len();
        if all > MOST_SHOWN {
            self.add(6, &format!("and {} more", all - MOST_SHOWN), Tone::Plain);
        }
        if all == 0 && !change.of_control_ratio {
            self.add(6, unexplained(self.newest().1), Tone::Faint);
        }
    }

    /// A line for each run. False: fewer than two runs have the figure.
    fn runs(&mut self, measure: Measure) -> bool {
        let figures = self.figures(measure);
        let known: Vec<Figure> = figures.iter().map(|(_, one)| one.value).collect();
        let Some(scale) = Scale::of(&known) else { return false };
        let title = measure.noun(self.newest().1.model);
        self.add(2, &title, Tone::Plain);
        let texts: Vec<String> =
            known.iter().map(|value| self.style.letters(&with_interval(measure, *value))).collect();
        let widest = texts.iter().map(|text| measure_text_width(text)).max().unwrap_or(0);
        let room = self.style.columns().saturating_sub(2 + MINUTE + 2 + widest + 2);
        for ((run, figure), text) in figures.iter().zip(&texts) {
            if let Some(change) = &figure.change {
                self.change(measure, run, change);
            }
            let pad = " ".repeat(widest - measure_text_width(text));
            let drawn =
                scale.interval(figure.value, room.clamp(INTERVAL_MIN, INTERVAL_MAX), self.style);
            let line = format!("  {}  {text}{pad}  {drawn}", minute(run));
            self.lines.push(line.trim_end().to_owned());
        }
        true
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The load of a row: `busy: const(200,30s)`.
pub(crate) fn load_words(case: &CaseOfRun) -> String {
    match case.load == case.load_text {
        true => case.load.clone(),
        false => format!("{}: {}", case.load, case.load_text),
    }
}

/// Whether a change is one for the worse, and the change in words.
pub(crate) fn change_words(measure: Measure, run: &ListedRun, change: &Change) -> (bool, String) {
    let is_worse = (change.ratio.value > 1.0) != measure.is_good();
    let judged = if is_worse { Judged::Worse } else { Judged::Better };
    let of = if change.of_control_ratio { " as a ratio to the control" } else { "" };
    let (name, day) = (&run.entry.name, day(run));
    let ratio = ratio_words(&change.ratio);
    let verdict = measure.verdict(judged);
    (is_worse, format!("{verdict} from {name} on ({day}): {ratio}{of}"))
}

/// A ratio with its interval: `1.08 × (1.07 – 1.09)`.
pub(crate) fn ratio_words(ratio: &Estimate) -> String {
    let interval = ratio.interval.map_or(String::new(), |(low, high)| {
        format!(" ({} – {})", words::significant(low), words::significant(high))
    });
    words::ratio(ratio.value) + &interval
}

/// The longest title of a figure.
const TITLE: usize = 12;
/// Columns for a value with its interval.
const WIDEST_VALUE: usize = 36;
/// Bars that are drawn even where the terminal is narrow.
const BARS_MIN: usize = 10;
/// Columns of `2026-11-21 10:15`.
const MINUTE: usize = 16;
/// Columns for a drawn interval: fewer show nothing, more are hard to follow across a screen.
const INTERVAL_MIN: usize = 12;
const INTERVAL_MAX: usize = 48;
/// Differences that are listed at a change.
const MOST_SHOWN: usize = 6;

/// What is said of a change of a figure itself where nothing else is known to have changed.
pub(crate) fn unexplained(case: &CaseOfRun) -> &'static str {
    match case.is_control {
        true => "this is the control, so it is the machine; other rows are divided by it",
        false => {
            "stampede recorded no other difference: it is the app, or the machine (a `control` in \
             the plan tells them apart)"
        }
    }
}

/// Whether values are the same: so are throughput and correct answers wherever all runs kept up with
/// the same rate, and a line of equal bars says nothing.
fn are_equal(values: &[f64]) -> bool {
    values.iter().all(|value| (value / values[0] - 1.0).abs() < 0.001)
}

fn day(run: &ListedRun) -> String {
    run.entry.started_at.get(..10).unwrap_or_default().to_owned()
}

fn minute(run: &ListedRun) -> String {
    let text = run.entry.started_at.get(..MINUTE).unwrap_or_default().replace('T', " ");
    format!("{text:<MINUTE$}")
}

pub(crate) fn with_interval(measure: Measure, figure: Figure) -> String {
    let value = report::figure_text(figure, |value| measure.words(value));
    match figure.interval() {
        Some((low, high)) => format!("{value} ({} – {})", measure.words(low), measure.words(high)),
        None => value,
    }
}

/// A bar for each run, between the lowest and the highest; a run without an exact figure has none.
fn bars(values: &[Figure], style: &Style) -> String {
    let levels: &[char] = match style.letters {
        CharacterSet::Unicode => &['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
        CharacterSet::Ascii => &['1', '2', '3', '4', '5', '6', '7', '8'],
    };
    let Some(scale) = Scale::of_values(values) else { return " ".repeat(values.len()) };
    let bar = |value: &Figure| match value.known() {
        Some(value) => levels[scale.place(value, levels.len())],
        None => ' ',
    };
    values.iter().map(bar).collect()
}

/// From the lowest to the highest of what is drawn.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// The scale of values with their intervals. `None`: fewer than two are known.
    fn of(figures: &[Figure]) -> Option<Scale> {
        let ends = figures.iter().flat_map(|figure| {
            let (low, high) = figure.interval().unzip();
            [figure.known(), low, high].into_iter().flatten()
        });
        Scale::around(ends, figures)
    }

    fn of_values(figures: &[Figure]) -> Option<Scale> {
        Scale::around(figures.iter().filter_map(Figure::known), figures)
    }

    /// Spans a tenth of the value at least: the noise of a quiet machine must not fill the line.
    fn around(values: impl Iterator<Item = f64>, figures: &[Figure]) -> Option<Scale> {
        if figures.iter().filter_map(Figure::known).count() < 2 {
            return None;
        }
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let middle = f64::midpoint(low, high);
        let least = (middle.abs() * 0.05).max(f64::MIN_POSITIVE);
        let half = ((high - low) / 2.0).max(least);
        Some(Scale { low: middle - half, high: middle + half })
    }

    /// The place of a value among `count` places.
    fn place(&self, value: f64, count: usize) -> usize {
        let share = (value - self.low) / (self.high - self.low);
        ((share * count as f64) as usize).min(count - 1)
    }

    /// The interval of a figure as a line with a point.
    fn interval(&self, figure: Figure, columns: usize, style: &Style) -> String {
        let Some(value) = figure.known() else { return String::new() };
        let (line, point) = match style.letters {
            CharacterSet::Unicode => ('─', '●'),
            CharacterSet::Ascii => ('-', 'o'),
        };
        let mut drawn = vec![' '; columns];
        if let Some((low, high)) = figure.interval() {
            drawn[self.place(low, columns)..=self.place(high, columns)].fill(line);
        }
        drawn[self.place(value, columns)] = point;
        drawn.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stampede_results::report::Colour;

    fn exact(values: &[f64]) -> Vec<Figure> {
        values.iter().map(|value| Figure::exact(*value)).collect()
    }

    fn drawn(values: &[Figure]) -> String {
        bars(values, &Style::plain(80))
    }

    #[test]
    fn bars_stand_between_the_lowest_and_the_highest() {
        assert_eq!(drawn(&exact(&[100.0, 150.0, 199.0, 200.0])), "▁▅██");
        assert_eq!(drawn(&[Figure::exact(1.0), Figure::Failed, Figure::exact(2.0)]), "▁ █");
        assert_eq!(drawn(&exact(&[5.0, 5.0])), "▅▅");
        assert_eq!(drawn(&exact(&[0.0, 0.0])), "▅▅");
        assert_eq!(drawn(&exact(&[5.0])), " ");
        let ascii = Style { letters: CharacterSet::Ascii, ..Style::plain(80) };
        assert_eq!(bars(&exact(&[1.0, 2.0]), &ascii), "18");
        assert_eq!(ascii.colour, Colour::Never);
    }

    /// 1 % of noise stays within two bars of the middle: the scale has a tenth of the value at least.
    #[test]
    fn noise_does_not_fill_the_line() {
        assert_eq!(drawn(&exact(&[99.0, 100.0, 101.0])), "▄▅▅");
    }

    #[test]
    fn what_never_differs_is_not_drawn() {
        assert!(are_equal(&[300.0, 300.01, 299.99]) && are_equal(&[1.0, 1.0]));
        assert!(!are_equal(&[300.0, 290.0]) && !are_equal(&[1.0, 0.99]));
    }

    #[test]
    fn an_interval_is_a_line_with_its_point() {
        let interval = |value, interval| Figure::Exact(Estimate { value, interval, trials: 3 });
        let figures = [interval(10.0, Some((0.0, 20.0))), interval(30.0, Some((20.0, 40.0)))];
        let scale = Scale::of(&figures).expect("two values");
        let style = Style::plain(80);
        assert_eq!(scale.interval(figures[0], 8, &style), "──●──   ");
        assert_eq!(scale.interval(figures[1], 8, &style), "    ──●─");
        assert_eq!(scale.interval(Figure::Failed, 8, &style), "");
        assert!(Scale::of(&figures[..1]).is_none());
    }

    proptest! {
        #[test]
        fn any_figures_have_a_bar_each(values in prop::collection::vec(-1e300_f64..1e300, 0..40)) {
            let figures = exact(&values);
            prop_assert_eq!(drawn(&figures).chars().count(), figures.len());
        }
    }
}
