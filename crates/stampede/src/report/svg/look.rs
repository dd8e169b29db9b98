//! How each runtime looks in all charts: a colour, a dash pattern and a marker, the same as on the
//! page, so that it is told apart without colours too.

use super::element::Element;
use crate::report::page::Page;

/// The look of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Of lines, markers and the marks' words.
    pub colour: &'static str,
    /// Pixels on and off; empty: a line without gaps.
    pub dash: &'static str,
    /// `None`: it is no runtime's.
    pub marker: Option<Marker>,
    /// Pixels.
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

impl Look {
    /// Of the offered rate: it belongs to no runtime.
    pub const OFFERED: Look = Look { colour: "#a9afb8", dash: "", marker: None, width: 4.0 };

    /// Of the runtime at a place in the plan.
    pub fn at(place: usize) -> Look {
        // Past the last colour the dashes move on by one, so that no two lines are the same.
        Look::of(place, place + place / COLOURS.len(), place)
    }

    /// The same where runs are laid over each other: the colour says the runtime, dash and marker
    /// say the run.
    pub fn at_run(place: usize, run: usize) -> Look {
        let again = place / COLOURS.len();
        Look::of(place, run + 2 * again, run + 3 * again)
    }

    fn of(colour: usize, dash: usize, marker: usize) -> Look {
        Look {
            colour: COLOURS[colour % COLOURS.len()],
            dash: DASHES[dash % DASHES.len()],
            marker: Some(MARKERS[marker % MARKERS.len()]),
            width: 2.0,
        }
    }

    /// A point of a runtime; nothing where there is no marker.
    pub fn point(&self, x: f64, y: f64, radius: f64) -> Option<Element> {
        let marker = self.marker?;
        // A rim in the colour of the ground keeps points apart that lie on each other.
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

    /// A point that does not count: hollow, or pale where its marker has no inside.
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

    /// The sample of a line that stands before its name, 36 pixels wide.
    pub fn sample(&self, x: f64, y: f64) -> Vec<Element> {
        let line = self
            .stroke(Element::new("line"))
            .at("x1", x)
            .at("x2", x + 36.0)
            .at("y1", y)
            .at("y2", y);
        [line].into_iter().chain(self.point(x + 18.0, y, 4.0)).collect()
    }

    /// An element drawn as this line.
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
            return Element::new("circle").at("cx", x).at("cy", y).at("r", r);
        }
        Marker::Square => vec![(-r, -r), (r, -r), (r, r), (-r, r)],
        Marker::Triangle => vec![(0.0, -q), (q, r), (-q, r)],
        Marker::Down => vec![(0.0, q), (q, -r), (-q, -r)],
        Marker::Diamond => vec![(-d, 0.0), (0.0, -d), (d, 0.0), (0.0, d)],
        Marker::Cross | Marker::Plus => {
            let (a, b) = if marker == Marker::Cross { (r, r) } else { (q, 0.0) };
            let (c, d) = if marker == Marker::Cross { (r, -r) } else { (0.0, q) };
            let to = |x1: f64, y1: f64| {
                format!("{} {}", super::element::number(x + x1), super::element::number(y + y1))
            };
            let path = format!("M{}L{}M{}L{}", to(-a, -b), to(a, b), to(-c, -d), to(c, d));
            return Element::new("path").with("d", path);
        }
    };
    let to = |(dx, dy): &(f64, f64)| {
        format!("{},{}", super::element::number(x + dx), super::element::number(y + dy))
    };
    Element::new("polygon").with("points", path.iter().map(to).collect::<Vec<_>>().join(" "))
}

/// Each runtime and its look: in the plan's order, then those that never started.
pub fn of_runtimes(page: &Page) -> Vec<(String, Look)> {
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
            Some(named) => Look::at_run(place, named.run),
            None => Look::at(place),
        }
    };
    let looks: Vec<Look> = names.iter().copied().map(look).collect();
    names.into_iter().cloned().zip(looks).collect()
}

/// What charts are drawn on.
pub const GROUND: &str = "#ffffff";

/// As in `report-ui/src/base.css`: a contrast of at least 3 on a light ground, and apart for eyes
/// that see two colours alone.
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
        let looks: Vec<Look> = (0..50).map(Look::at).collect();
        for (place, look) in looks.iter().enumerate() {
            assert!(!looks[..place].contains(look), "{place}");
        }
    }
}
