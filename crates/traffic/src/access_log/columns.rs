//! Columns whose names a line `#Fields:` says: W3C's extended log file format, as IIS and CloudFront
//! write it, and its relatives.

use super::fields::Fields;
use super::record::Line;

/// The names of the columns.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns(pub(super) Vec<String>);

impl Columns {
    /// The columns that a comment names.
    pub(super) fn of(comment: &[u8]) -> Option<Columns> {
        let text = String::from_utf8_lossy(comment);
        let rest = text.strip_prefix('#')?.trim_start();
        let is_named = rest.get(..6).is_some_and(|word| word.eq_ignore_ascii_case("fields"));
        let names = rest.get(6..).filter(|_| is_named)?;
        let names = names.strip_prefix(':').unwrap_or(names);
        Some(Columns(names.split_ascii_whitespace().map(str::to_owned).collect()))
    }

    /// The request of a line. A line with fewer columns is cut off, or is of another log; one with
    /// more has blanks in its last ones.
    pub(super) fn read(&self, line: &[u8]) -> Line {
        let values = split(line);
        if values.len() < self.0.len() {
            return Line::Other;
        }
        let mut fields = Fields::default();
        self.0.iter().zip(values).for_each(|(name, value)| fields.add(name, value));
        match fields.line() {
            // No method, or none of HTTP: `-` in its columns.
            Line::Other => Line::NotHttp,
            line => line,
        }
    }
}

/// The values of a line: between tabs, or between blanks that are not in quotes.
fn split(line: &[u8]) -> Vec<&[u8]> {
    if line.contains(&b'\t') {
        return line.split(|byte| *byte == b'\t').collect();
    }
    let mut is_quoted = false;
    let values = line.split(|byte| {
        is_quoted ^= *byte == b'"';
        *byte == b' ' && !is_quoted
    });
    let values = values.filter(|value| !value.is_empty());
    values.map(|value| unquoted(value).unwrap_or(value)).collect()
}

fn unquoted(value: &[u8]) -> Option<&[u8]> {
    value.strip_prefix(b"\"")?.strip_suffix(b"\"")
}
