//! Draws a chart with two axes: legend, grid, lines and marks.

use stampede_markup::{Element, element, number};

use super::frame::{Body, INK, MARGIN, SOFT, WIDTH, text, width_of};
use super::look::{GROUND, SeriesStyle};
use super::scale::{Scale, step};
use super::words;

/// A chart with two axes.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines. The first is drawn below the others.
    pub lines: Vec<Line>,
    /// The vertical marks.
    pub marks: Vec<Mark>,
}

/// An axis and its ticks.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The label: what the axis shows.
    pub label: String,
    /// The scale that gives a value's position.
    pub scale: Scale,
    /// The ticks: pairs of a value and its text.
    pub ticks: Vec<(f64, String)>,
}

/// A line of the chart.
#[derive(Clone, Debug)]
pub struct Line {
    /// The name in the legend.
    pub name: String,
    /// Its look.
    pub look: SeriesStyle,
    /// The points by x. `None`: a gap.
    pub points: Vec<(f64, Option<f64>)>,
    /// How strongly the line is drawn: whether it counts.
    pub strength: Strength,
}

/// How strongly a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// The line counts.
    Full,
    /// The line does not count.
    Faint,
}

/// A vertical mark.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The position on the x axis.
    pub at: f64,
    /// The look of its runtime.
    pub look: SeriesStyle,
    /// The text: what happened there.
    pub words: String,
}

/// Whether values between whole numbers exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granularity {
    /// A measure, with values between whole numbers.
    Fine,
    /// A count, with whole numbers only.
    Whole,
}

impl Axis {
    /// An axis from 0 to the round step above `most`.
    pub fn from_zero(label: &str, most: f64, grain: Granularity, words: fn(f64) -> String) -> Axis {
        let most = if most > 0.0 && most.is_finite() { most } else { 1.0 };
        let step = match grain {
            Granularity::Fine => step(most, STEPS),
            Granularity::Whole => step(most, STEPS).max(1.0),
        };
        let count = (most / step * 0.999_9).ceil().max(1.0);
        let count = if count.is_finite() { count as usize } else { 1 };
        // A line along the upper edge would look cut off.
        let high = (count as f64 * step).max(most * 1.04);
        let ticks = (0..=count).map(|place| place as f64 * step);
        Axis {
            label: label.to_owned(),
            scale: Scale::linear(0.0, high),
            ticks: ticks.map(|tick| (tick, words(tick))).collect(),
        }
    }

    /// A logarithmic axis around all values.
    pub fn log(label: &str, values: &[f64], words: fn(f64) -> String) -> Axis {
        Axis::of(label, Scale::log_around(values), STEPS, words)
    }

    /// An axis with the given scale and round steps on it.
    pub fn of(label: &str, scale: Scale, most: usize, words: fn(f64) -> String) -> Axis {
        let ticks = scale.steps(most).into_iter().map(|tick| (tick, words(tick))).collect();
        Axis { label: label.to_owned(), scale, ticks }
    }
}

impl Line {
    /// The line's values, without the gaps.
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.points.iter().filter_map(|(_, value)| *value)
    }
}

/// The highest value of all lines. 0: there is none.
pub fn most(lines: &[Line]) -> f64 {
    lines.iter().flat_map(Line::values).fold(0.0, f64::max)
}

impl Chart {
    /// The chart without the words around it.
    pub fn body(&self) -> Body {
        let (mut elements, legend) = self.legend();
        let widest =
            self.y.ticks.iter().map(|(_, words)| width_of(words, TICK)).fold(40.0, f64::max);
        let band = MARK_ROW * self.marks.len() as f64;
        let plot = Plot {
            left: MARGIN + widest + 8.0,
            right: WIDTH - MARGIN - 8.0,
            top: legend + 26.0 + band,
            bottom: legend + 26.0 + band + HEIGHT,
            x: self.x.scale,
            y: self.y.scale,
        };
        elements.push(text(&self.y.label, MARGIN, legend + 8.0, 12.0, SOFT));
        elements.extend(self.grid(&plot));
        elements.extend(self.marks(&plot));
        let count = self.lines.len();
        elements.extend(
            self.lines.iter().enumerate().map(|(place, line)| plot.line(line, place, count)),
        );
        Body { height: plot.bottom + 58.0, elements }
    }

    /// The legend: samples and names in as many rows as needed. Also returns the position below the
    /// last row.
    fn legend(&self) -> (Vec<Element>, f64) {
        let (mut x, mut y) = (MARGIN, 8.0);
        let mut elements = Vec::new();
        for line in &self.lines {
            let name = words::cut(&line.name, NAME_LETTERS);
            let width = 36.0 + 8.0 + width_of(&name, NAME) + 22.0;
            if x > MARGIN && x + width > WIDTH - MARGIN {
                (x, y) = (MARGIN, y + 22.0);
            }
            let mut entry = element("g").children(line.look.sample(x, y));
            if line.strength == Strength::Faint {
                entry = entry.with("opacity", FAINT);
            }
            elements.push(entry);
            elements.push(text(&name, x + 44.0, y + 4.5, NAME, INK));
            x += width;
        }
        (elements, y + 22.0)
    }

    fn grid(&self, plot: &Plot) -> Vec<Element> {
        let mut elements = Vec::new();
        for (value, words) in &self.y.ticks {
            let y = plot.y_of(*value);
            elements.push(rule(plot.left, y, plot.right, y, GRID));
            elements
                .push(text(words, plot.left - 8.0, y + 4.0, TICK, SOFT).with("text-anchor", "end"));
        }
        let mut taken = f64::NEG_INFINITY;
        for (value, words) in &self.x.ticks {
            let x = plot.x_of(*value);
            let half = width_of(words, TICK) / 2.0;
            // A label that would touch the one before it is left out. Its grid line is drawn.
            let end = if x - half > taken + 6.0 { plot.bottom + 5.0 } else { plot.bottom };
            elements.push(rule(x, plot.top, x, end, GRID));
            if end > plot.bottom {
                taken = x + half;
                elements.push(
                    text(words, x, plot.bottom + 20.0, TICK, SOFT).with("text-anchor", "middle"),
                );
            }
        }
        elements.push(rule(plot.left, plot.bottom, plot.right, plot.bottom, AXIS));
        let middle = (plot.left + plot.right) / 2.0;
        elements.push(
            text(&self.x.label, middle, plot.bottom + 40.0, 12.0, SOFT)
                .with("text-anchor", "middle"),
        );
        elements
    }

    /// The marks, each with its words above the plot so that they hide no line. Each is one row
    /// lower than the mark before.
    fn marks(&self, plot: &Plot) -> Vec<Element> {
        let mut marks: Vec<&Mark> = self.marks.iter().collect();
        marks.sort_by(|a, b| a.at.total_cmp(&b.at));
        let above = marks.len() as f64 * MARK_ROW;
        let drawn = marks.into_iter().enumerate().map(|(place, mark)| {
            let x = plot.x_of(mark.at);
            let top = plot.top - above + MARK_ROW * place as f64 - 4.0;
            let colour = mark.look.colour;
            let words = words::cut(&mark.words, NAME_LETTERS);
            let fits = x + 8.0 + width_of(&words, 12.0) < WIDTH - MARGIN;
            let (from, anchor) = if fits { (x + 6.0, "start") } else { (x - 6.0, "end") };
            // A rim in the background colour, because words may cross the lines of other marks.
            let words = text(&words, from, top + 10.0, 12.0, colour)
                .with("text-anchor", anchor)
                .with("font-weight", "600")
                .with("stroke", GROUND)
                .at("stroke-width", 4.0)
                .with("paint-order", "stroke");
            let line = rule(x, top, x, plot.bottom, colour)
                .with("stroke-dasharray", "4 3")
                .at("stroke-width", 1.5);
            (line, words)
        });
        let (lines, words): (Vec<Element>, Vec<Element>) = drawn.unzip();
        lines.into_iter().chain(words).collect()
    }
}

/// The area of the lines.
struct Plot {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
}

impl Plot {
    fn x_of(&self, value: f64) -> f64 {
        self.left + self.x.place(value) * (self.right - self.left)
    }

    fn y_of(&self, value: f64) -> f64 {
        self.bottom - self.y.place(value) * (self.bottom - self.top)
    }

    fn line(&self, line: &Line, place: usize, count: usize) -> Element {
        let stretches = self.stretches(line);
        let mut drawn = element("g").child(element("title").text(&line.name));
        if line.strength == Strength::Faint {
            drawn = drawn.with("opacity", FAINT);
        }
        let path: String = stretches
            .iter()
            .filter(|points| points.len() > 1)
            .map(|points| {
                let to = |(x, y): &(f64, f64)| format!("{} {}", number(*x), number(*y));
                format!("M{}", points.iter().map(to).collect::<Vec<_>>().join("L"))
            })
            .collect();
        if !path.is_empty() {
            drawn = drawn.child(line.look.stroke(element("path").with("d", &path)));
        }
        // A point between two gaps belongs to no line, so it is drawn as a dot.
        let alone = stretches.iter().filter(|points| points.len() == 1).map(|points| {
            element("circle")
                .at("cx", points[0].0)
                .at("cy", points[0].1)
                .at("r", 2.0)
                .with("fill", line.look.colour)
        });
        drawn = drawn.children(alone);
        let all: Vec<(f64, f64)> = stretches.into_iter().flatten().collect();
        let first = self.left + MARKER_EVERY * (place as f64 + 0.5) / count.max(1) as f64;
        drawn.children(
            marked(&all, first).into_iter().filter_map(|(x, y)| line.look.point(x, y, 3.6)),
        )
    }

    /// Runs of points without a gap between them.
    fn stretches(&self, line: &Line) -> Vec<Vec<(f64, f64)>> {
        let mut stretches = vec![Vec::new()];
        for (x, value) in &line.points {
            match value {
                Some(value) => {
                    let last = stretches.last_mut().expect("never empty");
                    last.push((self.x_of(*x), self.y_of(*value)));
                }
                None => stretches.push(Vec::new()),
            }
        }
        stretches.retain(|points| !points.is_empty());
        stretches
    }
}

/// The points of a line that have markers: all if they are few, else some at regular distances. The
/// markers of each line are a little further on than those of the line before.
fn marked(points: &[(f64, f64)], first: f64) -> Vec<(f64, f64)> {
    if points.len() <= FEW {
        return points.to_vec();
    }
    let mut next = first;
    let mut found = Vec::new();
    for point in points {
        if point.0 >= next {
            found.push(*point);
            next = point.0 + MARKER_EVERY;
        }
    }
    found
}

fn rule(x1: f64, y1: f64, x2: f64, y2: f64, colour: &str) -> Element {
    element("line").at("x1", x1).at("y1", y1).at("x2", x2).at("y2", y2).with("stroke", colour)
}

const HEIGHT: f64 = 300.0;
/// Distance in pixels between the markers of a line with many points.
const MARKER_EVERY: f64 = 110.0;
/// The most points for which each has a marker.
const FEW: usize = 12;
/// The number of steps of an axis from 0.
const STEPS: usize = 5;
/// Distance between the words of one mark and those of the next.
const MARK_ROW: f64 = 17.0;
const TICK: f64 = 12.0;
const NAME: f64 = 13.0;
const NAME_LETTERS: usize = 56;
const FAINT: &str = "0.35";
const GRID: &str = "#e6e8eb";
const AXIS: &str = "#8b919a";
