//! Draws the parts around all charts: title, subtitle, notes, and the name of the run.

use stampede_markup::{Element, element, number};

use super::look::GROUND;
use super::words;

/// The words around a chart.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// What the chart shows.
    pub title: String,
    /// The load under which it was measured.
    pub subtitle: String,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// The run that the chart is of.
    pub source: String,
}

/// The content of a frame, drawn from 0 downwards.
#[derive(Clone, Debug)]
pub struct Body {
    /// Height in pixels.
    pub height: f64,
    /// All elements of the content.
    pub elements: Vec<Element>,
}

/// Width of every chart, in pixels.
pub const WIDTH: f64 = 960.0;
/// Distance from the chart's edge to its content.
pub const MARGIN: f64 = 28.0;
/// Colour of the main text: dark enough to be read easily.
pub const INK: &str = "#15181c";
/// Colour of axes, notes and subtitles: a contrast of 6 on the background.
pub const SOFT: &str = "#5a6069";

impl Frame {
    /// Draws the frame around a body. Returns the content of the file.
    pub fn around(&self, body: Body) -> String {
        let title = words::cut(&self.title, TITLE_LETTERS);
        let subtitle = words::wrapped(&self.subtitle, SUBTITLE_LETTERS);
        let notes: Vec<String> =
            self.notes.iter().flat_map(|note| words::wrapped(note, NOTE_LETTERS)).collect();
        let top = 40.0 + 20.0 * subtitle.len() as f64 + 16.0;
        let below = top + body.height;
        let foot = below + 18.0 * notes.len() as f64;
        let height = foot + 30.0;
        let mut lines = vec![text(&title, MARGIN, 38.0, 21.0, INK).with("font-weight", "600")];
        for (line, place) in subtitle.iter().zip(1..) {
            lines.push(text(line, MARGIN, 40.0 + 20.0 * f64::from(place), 14.0, SOFT));
        }
        for (line, place) in notes.iter().zip(0..) {
            lines.push(text(line, MARGIN, below + 18.0 * f64::from(place) + 8.0, 12.0, SOFT));
        }
        let source = text(&self.source, WIDTH - MARGIN, foot + 14.0, 11.0, FAINT);
        let box_of = format!("0 0 {WIDTH} {}", number(height));
        element("svg")
            .with("xmlns", "http://www.w3.org/2000/svg")
            .with("viewBox", &box_of)
            .at("width", WIDTH)
            .at("height", height)
            .with("font-family", FONTS)
            .with("role", "img")
            .child(element("title").text(&format!("{title}: {}", self.subtitle)))
            .child(element("desc").text(&self.notes.join(" ")))
            .child(
                element("rect").with("width", "100%").with("height", "100%").with("fill", GROUND),
            )
            .children(lines)
            .child(source.with("text-anchor", "end"))
            .child(
                element("g")
                    .with("transform", &format!("translate(0 {})", number(top)))
                    .children(body.elements),
            )
            .xml()
    }
}

/// A line of text with its baseline at `y`.
pub fn text(text: &str, x: f64, y: f64, size: f64, colour: &str) -> Element {
    element("text").at("x", x).at("y", y).at("font-size", size).with("fill", colour).text(text)
}

/// The approximate width of a text. It is rather too large than too small, because each reader has
/// another font.
pub fn width_of(text: &str, size: f64) -> f64 {
    let of = |letter: char| match letter {
        '\u{202f}' => 0.25,
        ' ' | 'i' | 'j' | 'l' | 't' | 'f' | '.' | ',' | ':' | '|' | '!' | '(' | ')' | '\'' => 0.36,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.92,
        letter if letter.is_ascii_uppercase() => 0.72,
        letter if u32::from(letter) < 0x1100 => 0.6,
        _ => 1.05,
    };
    text.chars().map(of).sum::<f64>() * size
}

const FAINT: &str = "#7b828c";
/// The reader's own screen font. Text stays text and is not converted to paths.
const FONTS: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
/// The most letters that fit on a line at their size.
const TITLE_LETTERS: usize = 74;
const SUBTITLE_LETTERS: usize = 118;
const NOTE_LETTERS: usize = 140;
