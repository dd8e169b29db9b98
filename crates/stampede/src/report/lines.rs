//! Lines for a terminal, wrapped and painted.

use super::Style;
use super::layout::Tone;

/// Lines so far.
pub struct Lines {
    style: Style,
    lines: Vec<String>,
}

impl Lines {
    /// None yet.
    pub fn new(style: Style) -> Lines {
        Lines { style, lines: Vec::new() }
    }

    /// What the terminal can show.
    pub fn style(&self) -> Style {
        self.style
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.lines.push(String::new());
    }

    /// Wrapped; what comes on lines of its own, such as a log's, stays on them, indented.
    pub fn paragraph(&mut self, text: &str, tone: Tone, indent: usize) {
        for (number, own) in text.lines().enumerate() {
            let own = if number == 0 { own.to_owned() } else { format!("    {}", own.trim()) };
            let indent = if number == 0 { indent } else { indent + 4 };
            for line in self.style.wrap(&own, indent) {
                self.lines.push(self.style.paint(&line, tone));
            }
        }
    }

    /// Lines that are made already.
    pub fn extend(&mut self, lines: impl IntoIterator<Item = String>) {
        self.lines.extend(lines);
    }

    /// The text.
    pub fn finish(self) -> String {
        let mut text = self.lines.join("\n");
        text.push('\n');
        // It kept words together while lines were broken.
        text.replace('\u{a0}', " ")
    }
}
