//! Reads header fields as browsers do, and notes what is odd about them.
//!
//! Servers and proxies pass on what people configure: a policy written over several lines, a blank
//! before the colon, a line that is no field at all. RFC 9112 lets user agents accept such heads
//! (section 5.2), and browsers do. A load generator that called them malformed would blame the
//! server for something that no user sees. Most heads have nothing odd, and a faster parser reads
//! them.
//!
//! Both requests and answers have fields, so what is common to them is here too: lists, and what
//! `Connection` says.

use crate::answer::{AnswerEnd, Quirk};

/// One header field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Name, without blanks around it.
    pub name: &'a [u8],
    /// Value, without blanks around it. It still contains its folds, see [`unfolded`].
    pub value: &'a [u8],
}

/// Name and value of a field that was copied, without folds.
pub type OwnedField = (Vec<u8>, Vec<u8>);

/// Reads the fields of `bytes` up to the empty line that ends them, and passes each to `each`.
/// Returns their length with that line, and what was odd; `None` where they are not complete. After
/// an error or `None`, what `each` was given is meaningless. More than `most` lines are an error.
pub fn read<'a>(
    bytes: &'a [u8],
    most: usize,
    mut each: impl FnMut(Field<'a>),
) -> Result<Option<(usize, Quirk)>, AnswerEnd> {
    let (mut used, mut odd, mut lines) = (0, Quirk::default(), 0);
    while let Some(line) = whole_line(&bytes[used..]) {
        if is_empty(line) {
            return Ok(Some((used + line.len(), odd)));
        }
        let field = with_continuations(&bytes[used..]);
        for line in field.split_inclusive(|byte| *byte == b'\n') {
            lines += 1;
            if lines > most {
                return Err(AnswerEnd::HeadTooLarge);
            }
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            // Other software takes each of them as the end of a line.
            if text.iter().any(|byte| matches!(byte, b'\r' | b'\0')) {
                return Err(AnswerEnd::Malformed);
            }
        }
        match parsed(field) {
            Some((field, odd_line)) => {
                odd = odd.union(odd_line);
                each(field);
            }
            None => odd = odd.union(Quirk::IGNORED),
        }
        used += field.len();
    }
    Ok(None)
}

/// The values of all fields with this name, in a head that was parsed before; see [`unfolded`].
pub fn values<'a>(head: &'a [u8], name: &str) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = head;
    let fields = std::iter::from_fn(move || {
        whole_line(rest)?;
        let field = with_continuations(rest);
        rest = &rest[field.len()..];
        Some(field)
    });
    // A status line is no field: what stands before a colon in it is no valid name.
    let named = fields.filter_map(move |field| {
        let begin = field.get(..name.len())?;
        begin.eq_ignore_ascii_case(name.as_bytes()).then(|| parsed(field))?
    });
    named
        .map(|(field, _)| field)
        .filter(move |field| field.name.len() == name.len())
        .map(|field| field.value)
}

/// The value with each fold replaced by one blank (RFC 9112 section 5.2).
pub fn unfolded(value: &[u8]) -> impl Iterator<Item = u8> + Clone + '_ {
    let lines = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = lines.filter(|line| !line.is_empty()).enumerate();
    lines.flat_map(|(place, line)| {
        (place > 0).then_some(b' ').into_iter().chain(line.iter().copied())
    })
}

/// All fields of a head that was parsed before, in their order.
///
/// # Errors
/// The bytes are no head.
pub fn all(head: &[u8]) -> Result<Vec<OwnedField>, AnswerEnd> {
    let empty = head.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let line = whole_line(&head[empty..]).ok_or(AnswerEnd::Malformed)?;
    let mut fields = Vec::new();
    let read = read(&head[empty + line.len()..], usize::MAX, |field| {
        fields.push((field.name.to_vec(), unfolded(field.value).collect()));
    })?;
    read.map(|_| fields).ok_or(AnswerEnd::Malformed)
}

/// Parses a field from its lines; also returns what is odd about it.
fn parsed(lines: &[u8]) -> Option<(Field<'_>, Quirk)> {
    let colon = lines.iter().position(|byte| matches!(byte, b':' | b'\n'))?;
    let (before, value) = (&lines[..colon], lines[colon..].strip_prefix(b":")?);
    let name = before.trim_ascii_end();
    if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
        return None;
    }
    let spaced = if name.len() < before.len() { Quirk::SPACED } else { Quirk::default() };
    let is_folded = lines[..lines.len() - 1].contains(&b'\n');
    let folded = if is_folded { Quirk::FOLDED } else { Quirk::default() };
    Some((Field { name, value: value.trim_ascii() }, spaced.union(folded)))
}

/// The first line, with the lines after it that begin with a blank.
fn with_continuations(bytes: &[u8]) -> &[u8] {
    let mut length = 0;
    while let Some(line) = whole_line(&bytes[length..]) {
        if length > 0 && !matches!(line.first(), Some(b' ' | b'\t')) {
            break;
        }
        length += line.len();
    }
    &bytes[..length]
}

/// The first line with its line end; `None` where that is missing.
fn whole_line(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some(&bytes[..=end])
}

fn is_empty(line: &[u8]) -> bool {
    matches!(line, b"\n" | b"\r\n")
}

/// Whether the byte may occur in a field name (RFC 9110 section 5.6.2).
pub fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// A number of digits alone: no sign, no blank. `None` also where it needs more than 64 bits.
pub fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = char::from(*byte).to_digit(10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Connection, combined over all its fields, of a request or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionHeader {
    /// There is none.
    Absent,
    /// `keep-alive`, and nowhere `close`.
    KeepAlive,
    /// `close`.
    Close,
}

impl ConnectionHeader {
    /// Adds an element. `close` wins over `keep-alive`, wherever it stands.
    pub fn merge(self, element: &[u8]) -> ConnectionHeader {
        if self == ConnectionHeader::Close || element.eq_ignore_ascii_case(b"close") {
            ConnectionHeader::Close
        } else if element.eq_ignore_ascii_case(b"keep-alive") {
            ConnectionHeader::KeepAlive
        } else {
            self
        }
    }
}

/// The elements of a comma-separated list (RFC 9110 section 5.6.1), without blanks around them.
pub fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and values, the length, and what was odd.
    type Read = (Vec<(String, String)>, usize, Quirk);
    /// Lines, their fields, and what is odd.
    type Row = (&'static str, &'static [(&'static str, &'static str)], Quirk);

    fn read_all(text: &str) -> Result<Option<Read>, AnswerEnd> {
        let mut fields = Vec::new();
        let ended = read(text.as_bytes(), 8, |field| {
            let name = String::from_utf8_lossy(field.name).into_owned();
            fields.push((name, String::from_utf8(unfolded(field.value).collect()).unwrap()));
        })?;
        Ok(ended.map(|(length, odd)| (fields, length, odd)))
    }

    #[test]
    fn lines_are_read_as_browsers_read_them() {
        let spaced_and_folded = Quirk::SPACED.union(Quirk::FOLDED);
        let table: [Row; 12] = [
            ("A: b\r\nC:d\n\r\n", &[("A", "b"), ("C", "d")], Quirk::default()),
            ("A: b\r\n c\r\n\r\n", &[("A", "b c")], Quirk::FOLDED),
            ("A: b  \r\n\t c \n  d\r\n\r\n", &[("A", "b c d")], Quirk::FOLDED),
            ("A:\r\n b\r\nC: d\r\n\r\n", &[("A", "b"), ("C", "d")], Quirk::FOLDED),
            ("A: b\r\n \r\nC: d\r\n\r\n", &[("A", "b"), ("C", "d")], Quirk::FOLDED),
            ("A : b\r\n\r\n", &[("A", "b")], Quirk::SPACED),
            ("A\t : b\n c\n\n", &[("A", "b c")], spaced_and_folded),
            ("nothing\r\nA: b\r\n\r\n", &[("A", "b")], Quirk::IGNORED),
            ("nothing\r\n and: more\r\nA: b\r\n\r\n", &[("A", "b")], Quirk::IGNORED),
            (" before: any\r\nA: b\r\n\r\n", &[("A", "b")], Quirk::IGNORED),
            (": b\r\nA B: c\r\nÄ: d\r\nA: b\r\n\r\n", &[("A", "b")], Quirk::IGNORED),
            ("A: ü\u{1}\r\n\r\n", &[("A", "ü\u{1}")], Quirk::default()),
        ];
        for (text, fields, odd) in table {
            let (read, length, odd_line) = read_all(&format!("{text}rest")).unwrap().unwrap();
            let read: Vec<(&str, &str)> = read.iter().map(|(a, b)| (&**a, &**b)).collect();
            assert_eq!((&*read, length, odd_line), (fields, text.len(), odd), "{text:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_line_are_malformed_and_the_number_of_lines_is_limited() {
        for text in ["A: b\0c\r\n\r\n", "A: b\rc: d\r\n\r\n", "A: b\r\r\n\r\n", "no\0thing\n\n"] {
            assert_eq!(read_all(text), Err(AnswerEnd::Malformed), "{text:?}");
        }
        for text in ["A: b\r\n", "A: b\n c\n", "x\n"] {
            assert_eq!(read_all(text), Ok(None));
            assert_eq!(read_all(&text.repeat(9)), Err(AnswerEnd::HeadTooLarge));
        }
    }

    #[test]
    fn all_fields_of_a_head_are_listed_in_their_order() {
        let odd = b"\r\nHTTP/1.1 200 OK\nA: b\r\n  c\r\nnothing\r\nD : e\r\nA:\r\n\r\n";
        let pair = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
        assert_eq!(all(odd), Ok(vec![pair("A", "b c"), pair("D", "e"), pair("A", "")]));
        for no_head in [&b"HTTP/1."[..], b"HTTP/1.1 200 OK\r\nA: b\r\n"] {
            assert_eq!(all(no_head), Err(AnswerEnd::Malformed));
        }
    }

    #[test]
    fn values_are_found_however_their_lines_are_written() {
        let head = b"HTTP/1.1 200 OK: A: no\r\nA: 1\r\na : 2\r\n 3\r\nAB: 4\r\nA\r\nA:\r\n\r\n";
        let found: Vec<Vec<u8>> =
            values(head, "A").map(|value| unfolded(value).collect()).collect();
        assert_eq!(found, [b"1".to_vec(), b"2 3".to_vec(), b"".to_vec()]);
    }
}
