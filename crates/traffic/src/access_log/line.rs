//! Recognises what a line of a log is, whatever server wrote it.

use std::borrow::Cow;

use super::record::{Line, Record, is_method, is_target};
use super::{json, pairs, quoted, times, words};

/// What this line is.
pub(super) fn read(line: &[u8]) -> Line {
    nested(line, 0)
}

fn nested(line: &[u8], depth: u8) -> Line {
    let line = without_colours(line);
    let line = line.trim_ascii();
    if is_of_error_log(line) {
        return Line::Error;
    }
    if let Some(fields) = json::fields(line) {
        // An object that is no log but names a method and a path is a request to send.
        return match fields.line() {
            Line::Other if depth < DEPTH_MAX => fields
                .inner_lines()
                .map(|inner| nested(inner, depth + 1))
                .find(|inner| *inner != Line::Other)
                .or_else(|| fields.time().and_then(|_| fields.inner_lines().find_map(bare)))
                .map_or(Line::Other, |inner| at(inner, || fields.time())),
            Line::Request(_) if depth == 0 && !fields.is_of_log() => Line::Other,
            // The collector's time, where the server has written none.
            found => at(found, || times::find(line.split(|byte| *byte == b'{').next()?)),
        };
    }
    let found = quoted::read(line);
    if let Line::Request(_) = found {
        return found;
    }
    [of_pairs as Read, words::read]
        .iter()
        .map(|read| read(line))
        .find(|line| *line != Line::Other)
        .unwrap_or(found)
}

/// A method and a path, and nothing else: what applications write about a request in a field of its
/// own, beside the time.
fn bare(text: &[u8]) -> Option<Line> {
    let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (method, target) = (words.next()?, words.next()?);
    let method = std::str::from_utf8(method).ok().filter(|word| is_method(word))?.to_owned();
    let is_whole = words.next().is_none() && is_target(target);
    is_whole.then(|| Line::Request(Record { method, target: target.to_vec(), ..Record::default() }))
}

/// A way to read a line.
type Read = fn(&[u8]) -> Line;

/// The same line, with this time if it has none of its own.
fn at(line: Line, time_ns: impl FnOnce() -> Option<u64>) -> Line {
    match line {
        Line::Request(mut record) => {
            record.time_ns = record.time_ns.or_else(time_ns);
            Line::Request(record)
        }
        other => other,
    }
}

fn of_pairs(line: &[u8]) -> Line {
    let fields = pairs::fields(line);
    match fields.line() {
        found if fields.is_of_log() => at(found, || times::find(line)),
        _ => Line::Other,
    }
}

/// Whether the line is one of a server's error log: before anything in quotes there is a level in
/// brackets, such as `[error]` or `[core:error]`, or after the time the one of PHP. Such a line may
/// quote the request that an access log has, too.
fn is_of_error_log(line: &[u8]) -> bool {
    let begin = line.split(|byte| *byte == b'"').next().unwrap_or_default();
    let mut brackets = begin.split(|byte| *byte == b'[').skip(1);
    brackets.any(|rest| {
        let Some(end) = rest.iter().position(|byte| *byte == b']') else { return false };
        let level = rest[..end].rsplit(|byte| *byte == b':').next().unwrap_or_default();
        let has_process =
            || rest[end + 1..].trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
        match level {
            // nginx: `[info] 12#34: …`
            b"info" | b"debug" => level.len() < end || has_process(),
            _ => LEVELS.contains(&level),
        }
    })
}

/// The line without the colours that a terminal would show.
fn without_colours(line: &[u8]) -> Cow<'_, [u8]> {
    if !line.contains(&ESCAPE) {
        return Cow::Borrowed(line);
    }
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(place) = rest.iter().position(|byte| *byte == ESCAPE) {
        plain.extend_from_slice(&rest[..place]);
        let after = &rest[place + 1..];
        let end = after.iter().position(u8::is_ascii_alphabetic).map_or(after.len(), |end| end + 1);
        rest = &after[end..];
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
}

const ESCAPE: u8 = 0x1b;
const LEVELS: [&[u8]; 7] = [b"emerg", b"alert", b"crit", b"error", b"warn", b"warning", b"notice"];
/// How often a line may be in a field of another one.
const DEPTH_MAX: u8 = 3;
