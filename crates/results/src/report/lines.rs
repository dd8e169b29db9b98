//! Collects lines for a terminal, wrapped and coloured.

use super::Style;
use super::layout::Tone;

/// The lines collected so far.
pub struct Lines {
    style: Style,
    lines: Vec<String>,
}

impl Lines {
    /// No lines yet.
    pub fn new(style: Style) -> Lines {
        Lines { style, lines: Vec::new() }
    }

    /// The abilities of the terminal.
    pub fn style(&self) -> Style {
        self.style
    }

    /// An empty line.
    pub fn blank(&mut self) {
        self.lines.push(String::new());
    }

    /// Adds a wrapped paragraph. Line breaks in the text, such as those of a log, are kept and the
    /// further lines indented.
    pub fn paragraph(&mut self, text: &str, tone: Tone, indent: usize) {
        for (number, own) in text.lines().enumerate() {
            let own = if number == 0 { own.to_owned() } else { format!("    {}", own.trim()) };
            let indent = if number == 0 { indent } else { indent + 4 };
            for line in self.style.wrap(&own, indent) {
                self.lines.push(self.style.paint(&line, tone));
            }
        }
    }

    /// Adds lines that are ready to print.
    pub fn extend(&mut self, lines: impl IntoIterator<Item = String>) {
        self.lines.extend(lines);
    }

    /// The collected text.
    pub fn finish(self) -> String {
        let mut text = self.lines.join("\n");
        text.push('\n');
        // The no-break spaces have served their purpose: they kept words together during wrapping.
        text.replace('\u{a0}', " ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{CharacterSet, Colour};

    #[test]
    fn further_lines_of_a_paragraph_are_indented() {
        let mut lines =
            Lines::new(Style { width: 32, colour: Colour::Never, letters: CharacterSet::Unicode });
        lines.paragraph("a: differs\n- one two three four five six seven\n+ 2", Tone::Plain, 2);
        insta::assert_snapshot!(lines.finish(), @r"
        a: differs
            - one two three four five
              six seven
            + 2
        ");
    }
}
