//! Reads the notation of `load.ini`: sections in brackets, `name = value` or `name: value`, values
//! that go on in indented lines, comments behind `;` and `#`. It is what Python's `configparser`
//! reads, in which Tank before version 1.9 was configured.

use std::sync::Arc;

use crate::error::{Mistake, Place, PlanError, Source};
use crate::tree::{Node, Style, Value, shortened};

/// Whether a text is in this notation: it begins with the line of a section.
pub(super) fn is_ini(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().map(str::trim).filter(|line| !is_no_line(line));
    lines.next().and_then(section).is_some_and(|(_, rest)| rest.is_empty())
}

/// Parses a text to the tree that the same file as YAML would be: a map of sections. A value of
/// several lines is a list of texts.
pub(super) fn parse(source: &Arc<Source>) -> Result<Node, PlanError> {
    let mut sections: Vec<(Node, Node)> = Vec::new();
    let mut count = 0;
    for mut line in lines(source) {
        count += usize::from(!line.is_indented);
        if count > ENTRIES_MAX {
            return Err(line
                .place()
                .wrong(Mistake::TooMuch, "at most 20 000 sections and entries"));
        }
        if let Some((name, rest)) = section(line.text()).filter(|_| !line.is_indented) {
            let key = scalar(line.part(1, name.len()), name);
            let same = sections.iter().position(|(known, _)| known.text() == Some(name));
            // A section that comes again goes on.
            let section = match same {
                Some(at) => sections.remove(at),
                None => (key, Node { place: line.place(), value: Value::Map(Vec::new()) }),
            };
            sections.push(section);
            if rest.is_empty() {
                continue;
            }
            line = line.end(rest.len());
        }
        let entries = sections.last_mut().and_then(|(_, body)| match &mut body.value {
            Value::Map(entries) => Some(entries),
            _ => None,
        });
        let Some(entries) = entries else {
            return Err(line.place().wrong(no_entry(line.text()), SECTION_FIRST));
        };
        match (line.is_indented, entries.last_mut()) {
            (true, Some((_, value))) => go_on(value, scalar(line.place(), line.text())),
            _ => {
                let wrong = || line.place().wrong(no_entry(line.text()), ENTRY);
                let entry = entry(&line).ok_or_else(wrong)?;
                // As in Tank, a later value goes before an earlier one.
                entries.retain(|(known, _)| known.text() != entry.0.text());
                entries.push(entry);
            }
        }
    }
    Ok(Node { place: Place::begin_of(source), value: Value::Map(sections) })
}

/// A line without the blanks and the comment around its text.
struct Line<'a> {
    source: &'a Arc<Source>,
    offset: usize,
    length: usize,
    is_indented: bool,
}

impl<'a> Line<'a> {
    fn text(&self) -> &'a str {
        &self.source.text[self.offset..self.offset + self.length]
    }

    fn part(&self, offset: usize, length: usize) -> Place {
        Place { source: Arc::clone(self.source), offset: self.offset + offset, length }
    }

    fn place(&self) -> Place {
        self.part(0, self.length)
    }

    /// So many bytes at its end, as a line of its own.
    fn end(&self, length: usize) -> Line<'a> {
        let offset = self.offset + self.length - length;
        Line { offset, length, is_indented: false, ..*self }
    }
}

/// The lines that say something.
fn lines(source: &Arc<Source>) -> impl Iterator<Item = Line<'_>> {
    let mut offset = 0;
    source.text.split_inclusive('\n').filter_map(move |whole| {
        let (begin, whole_length) = (offset, whole.len());
        offset += whole_length;
        let line = whole.trim_start_matches('\u{feff}');
        let (begin, line) = (begin + whole_length - line.len(), line.trim_end());
        let text = line.trim_start();
        if is_no_line(text) {
            return None;
        }
        let indent = line.len() - text.len();
        let text = without_comment(text);
        let (offset, length) = (begin + indent, text.len());
        Some(Line { source, offset, length, is_indented: indent > 0 })
    })
}

/// Whether a line is empty or a comment.
fn is_no_line(text: &str) -> bool {
    text.is_empty() || text.starts_with([';', '#'])
}

/// A text without the comment at its end. A semicolon begins one only behind a blank.
fn without_comment(text: &str) -> &str {
    let comment = text.match_indices(';').find(|(at, _)| text[..*at].ends_with([' ', '\t']));
    comment.map_or(text, |(at, _)| &text[..at]).trim_end()
}

/// The name of a section, of its line, and what stands behind it.
fn section(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = without_comment(line).strip_prefix('[')?.split_once(']')?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, rest.trim()))
}

/// The name and the value of `name = value`.
fn entry(line: &Line<'_>) -> Option<(Node, Node)> {
    let text = line.text();
    let at = text.find(['=', ':'])?;
    let name = text[..at].trim_end();
    let value = text[at + 1..].trim_start();
    let key = scalar(line.part(0, name.len()), &name.to_lowercase());
    let place = line.part(text.len() - value.len(), value.len());
    let value = match value {
        "" => Node { place, value: Value::Null },
        value => scalar(place, value),
    };
    (!name.is_empty()).then_some((key, value))
}

/// Adds a line to a value.
fn go_on(value: &mut Node, line: Node) {
    let place = value.place.clone();
    match &mut value.value {
        Value::List(lines) => lines.push(line),
        Value::Text(text, _) => {
            let first = scalar(place, text);
            value.value = Value::List(vec![first, line]);
        }
        Value::Null | Value::Map(_) => value.value = Value::List(vec![line]),
    }
}

fn scalar(place: Place, text: &str) -> Node {
    Node { place, value: Value::Text(text.to_owned(), Style::Plain) }
}

fn no_entry(text: &str) -> Mistake {
    Mistake::NotA { found: format!("`{}`", shortened(text)), wanted: "an entry of a section" }
}

/// Most sections and entries, as in a plan.
const ENTRIES_MAX: usize = 20_000;
const ENTRY: &str = "`name = value`; a value goes on in lines that are indented";
const SECTION_FIRST: &str = "a section first, such as `[phantom]`";
