//! The look of each runtime in all charts: a colour, a dash pattern and a marker. It is the same as
//! on the page, and runtimes can be distinguished without colours too.

use stampede_markup::{Element, element, number};

use crate::report::page::Page;

/// The look of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesStyle {
    /// The colour of lines, markers and the words of marks.
    pub colour: &'static str,
    /// Lengths on and off in pixels. Empty: a solid line.
    pub dash: &'static str,
    /// The marker of points. `None`: the line belongs to no runtime.
    pub marker: Option<Marker>,
    /// Width of the line in pixels.
    pub width: f64,
}

/// The shape of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
    /// ▼
    Down,
    /// ×
    Cross,
    /// +
    Plus,
}

impl SeriesStyle {
    /// The look of the offered rate, which belongs to no runtime.
    pub const OFFERED: SeriesStyle =
        SeriesStyle { colour: "#a9afb8", dash: "", marker: None, width: 4.0 };

    /// The look of the runtime at an index in the plan.
    pub fn at(place: usize) -> SeriesStyle {
        // After the last colour the dash pattern moves on by one, so that no two lines look the
        // same.
        SeriesStyle::of(place, place + place / COLOURS.len(), place)
    }

    /// The look of a runtime in an overlay of runs. The colour stands for the runtime; dash pattern
    /// and marker stand for the run.
    pub fn at_run(place: usize, run: usize) -> SeriesStyle {
        let again = place / COLOURS.len();
        SeriesStyle::of(place, run + 2 * again, run + 3 * again)
    }

    fn of(colour: usize, dash: usize, marker: usize) -> SeriesStyle {
        SeriesStyle {
            colour: COLOURS[colour % COLOURS.len()],
            dash: DASHES[dash % DASHES.len()],
            marker: Some(MARKERS[marker % MARKERS.len()]),
            width: 2.0,
        }
    }

    /// A point of a runtime. `None`: there is no marker.
    pub fn point(&self, x: f64, y: f64, radius: f64) -> Option<Element> {
        let marker = self.marker?;
        // A rim in the background colour separates points that overlap.
        let stroke = match marker {
            Marker::Cross | Marker::Plus => self.colour,
            _ => GROUND,
        };
        let width = if stroke == GROUND { 1.0 } else { 2.0 };
        Some(
            outline(marker, x, y, radius)
                .with("fill", self.colour)
                .with("stroke", stroke)
                .at("stroke-width", width),
        )
    }

    /// A point that does not count. It is hollow, or pale if its marker has no inside.
    pub fn hollow(&self, x: f64, y: f64, radius: f64) -> Option<Element> {
        let marker = self.marker?;
        let point = outline(marker, x, y, radius)
            .with("fill", GROUND)
            .with("stroke", self.colour)
            .at("stroke-width", 1.5);
        match marker {
            Marker::Cross | Marker::Plus => Some(point.with("opacity", "0.45")),
            _ => Some(point),
        }
    }

    /// The sample of a line beside its name, 36 pixels wide.
    pub fn sample(&self, x: f64, y: f64) -> Vec<Element> {
        let line =
            self.stroke(element("line")).at("x1", x).at("x2", x + 36.0).at("y1", y).at("y2", y);
        [line].into_iter().chain(self.point(x + 18.0, y, 4.0)).collect()
    }

    /// Draws an element in the style of this line.
    pub fn stroke(&self, element: Element) -> Element {
        let element = element
            .with("fill", "none")
            .with("stroke", self.colour)
            .at("stroke-width", self.width)
            .with("stroke-linejoin", "round");
        if self.dash.is_empty() { element } else { element.with("stroke-dasharray", self.dash) }
    }
}

fn outline(marker: Marker, x: f64, y: f64, r: f64) -> Element {
    let q = r * 1.15;
    let d = r * 1.3;
    let path = match marker {
        Marker::Circle => {
            return element("circle").at("cx", x).at("cy", y).at("r", r);
        }
        Marker::Square => vec![(-r, -r), (r, -r), (r, r), (-r, r)],
        Marker::Triangle => vec![(0.0, -q), (q, r), (-q, r)],
        Marker::Down => vec![(0.0, q), (q, -r), (-q, -r)],
        Marker::Diamond => vec![(-d, 0.0), (0.0, -d), (d, 0.0), (0.0, d)],
        Marker::Cross | Marker::Plus => {
            let (a, b) = if marker == Marker::Cross { (r, r) } else { (q, 0.0) };
            let (c, d) = if marker == Marker::Cross { (r, -r) } else { (0.0, q) };
            let to = |x1: f64, y1: f64| format!("{} {}", number(x + x1), number(y + y1));
            let path = format!("M{}L{}M{}L{}", to(-a, -b), to(a, b), to(-c, -d), to(c, d));
            return element("path").with("d", &path);
        }
    };
    let to = |(dx, dy): &(f64, f64)| format!("{},{}", number(x + dx), number(y + dy));
    element("polygon").with("points", &path.iter().map(to).collect::<Vec<_>>().join(" "))
}

/// Each runtime and its look, in the plan's order, followed by those that never started.
pub fn of_runtimes(page: &Page) -> Vec<(String, SeriesStyle)> {
    let started = page.evidence.runtimes.iter().map(|runtime| &runtime.name);
    let mut names: Vec<&String> = Vec::new();
    for name in started.chain(page.summary.cases.iter().map(|case| &case.runtime)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let own = |name: &String| page.names.get(name).map_or(name.clone(), |one| one.runtime.clone());
    let mut runtimes: Vec<String> = Vec::new();
    let look = |name: &String| {
        let own = own(name);
        let place = runtimes.iter().position(|one| *one == own).unwrap_or_else(|| {
            runtimes.push(own);
            runtimes.len() - 1
        });
        match page.names.get(name) {
            Some(named) => SeriesStyle::at_run(place, named.run),
            None => SeriesStyle::at(place),
        }
    };
    let looks: Vec<SeriesStyle> = names.iter().copied().map(look).collect();
    names.into_iter().cloned().zip(looks).collect()
}

/// The background colour of charts.
pub const GROUND: &str = "#ffffff";

/// The same colours as in `report-ui/src/base.css`. They have a contrast of at least 3 on a light
/// background, and can be distinguished by people who are colour-blind.
const COLOURS: [&str; 10] = [
    "#0b63b0", "#c8500a", "#0a7f5e", "#a8337f", "#8f6a00", "#2483bd", "#4a4d52", "#c4202f",
    "#6a4bc0", "#5e7f1b",
];

const DASHES: [&str; 5] = ["", "9 4", "2 3", "11 3 2 3", "5 3"];

const MARKERS: [Marker; 7] = [
    Marker::Circle,
    Marker::Square,
    Marker::Triangle,
    Marker::Diamond,
    Marker::Down,
    Marker::Cross,
    Marker::Plus,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_of_many_runtimes_look_the_same() {
        let looks: Vec<SeriesStyle> = (0..50).map(SeriesStyle::at).collect();
        for (place, look) in looks.iter().enumerate() {
            assert!(!looks[..place].contains(look), "{place}");
        }
    }
}
