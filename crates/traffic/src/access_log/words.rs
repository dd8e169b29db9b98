//! Lines that name a method without a quoted request line: `GET https shop.example "/a"` of
//! nginx-proxy-manager, Squid, and the servers of frameworks.

use super::record::{Line, Record, is_method, is_target, is_url, status, unescape};
use super::times;

/// The request of a line. A method and a path alone are any text: the line must also say when it
/// was, or what was answered.
pub(super) fn read(line: &[u8]) -> Line {
    let mut before: Option<u16> = None;
    let mut rest = line;
    while let Some((word, after)) = next_word(rest) {
        rest = after;
        let bare = trimmed(word);
        let is_method = std::str::from_utf8(bare).is_ok_and(is_method);
        if is_method && let Some((mut record, after)) = target(bare, rest) {
            let status = record.status.or(before);
            record.status = status.or_else(|| words(after).find_map(status_of));
            record.time_ns = times::find(line);
            return match record.status.is_some() || record.time_ns.is_some() {
                true => Line::Request(record),
                false => Line::Other,
            };
        }
        before = before.or_else(|| status_of(word));
    }
    Line::Other
}

/// The target within the next words, and what follows it. Before it there may be a scheme and a
/// host.
fn target<'a>(method: &[u8], mut rest: &'a [u8]) -> Option<(Record, &'a [u8])> {
    let mut record = Record { method: String::from_utf8_lossy(method).into(), ..Record::default() };
    for _ in 0..WORDS_BEFORE_TARGET {
        let (word, after) = next_word(rest)?;
        if let Some(quoted) = word.strip_prefix(b"\"") {
            if !is_target(quoted) {
                return None;
            }
            let text = &rest[rest.iter().position(|byte| *byte == b'"')? + 1..];
            let mut is_escaped = false;
            let end = text.iter().position(|byte| {
                let ends = *byte == b'"' && !is_escaped;
                is_escaped = *byte == b'\\' && !is_escaped;
                ends
            })?;
            record.target = unescape(&text[..end]);
            return Some((record, &text[end + 1..]));
        }
        if is_target(word) {
            record.target = unescape(word);
            return Some((record, after));
        }
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-:_|".contains(byte);
        if !word.iter().all(is_plain) || is_url(word) {
            return None;
        }
        record.status = record.status.or_else(|| status_of(word));
        if word.contains(&b'.') {
            record.host = String::from_utf8_lossy(word).into();
        }
        rest = after;
    }
    None
}

/// A status that stands alone, in brackets (`[200]:`), or after a word of Squid (`TCP_MISS/200`).
fn status_of(word: &[u8]) -> Option<u16> {
    let word = trimmed(word);
    let is_of_squid = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'_';
    let number = match word.iter().position(|byte| *byte == b'/') {
        Some(slash) if slash > 0 && word[..slash].iter().all(is_of_squid) => &word[slash + 1..],
        _ => word,
    };
    status(number)
}

fn trimmed(mut word: &[u8]) -> &[u8] {
    while let [b'[' | b'(' | b'"' | b'|', rest @ ..] = word {
        word = rest;
    }
    while let [rest @ .., b']' | b')' | b'"' | b'|' | b':' | b','] = word {
        word = rest;
    }
    word
}

fn next_word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

const WORDS_BEFORE_TARGET: usize = 3;
