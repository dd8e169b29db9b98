//! The first quoted field of a line that is a request line, wherever it stands.

use super::record::{Line, Record, is_method, status, unescape, with_version};
use super::times;

/// The request of a line with quotes.
pub(super) fn read(line: &[u8]) -> Line {
    let time_ns = times::find(line);
    let status = |(begin, end): (usize, usize)| status_near(line, begin, end);
    if let Some((place, record)) = with_version_in(line) {
        return Line::Request(Record { status: status(place), time_ns, ..record });
    }
    if let Some((place, record)) = without_version_in(line) {
        // Without a version it could be any text.
        let record = Record { status: status(place), time_ns, ..record };
        let is_logged = record.status.is_some() || record.time_ns.is_some();
        return if is_logged { Line::Request(record) } else { Line::Other };
    }
    // `"-"`, `"\x16\x03"`, `"<BADREQ>"`: a request that could not be read.
    let is_unread = time_ns.is_some() && first_field(line).and_then(status).is_some();
    if is_unread { Line::NotHttp } else { Line::Other }
}

/// Where a request line is in its line, without the quotes, and what it says.
type Found = ((usize, usize), Record);

/// The request line with a version.
///
/// Each quote is tried as the beginning, and not only every other one: a server that puts the whole
/// line in quotes (LiteSpeed) has the request line between a closing and an opening one.
fn with_version_in(line: &[u8]) -> Option<Found> {
    let versioned = |begin: usize, length: usize| {
        let text = unescape(&line[begin..begin + length]);
        let (method, target) = with_version(&text)?;
        let (method, target) = (method.to_owned(), target.to_vec());
        Some(((begin, begin + length), Record { method, target, ..Record::default() }))
    };
    let mut begins = quotes(line).filter(|begin| may_begin(&line[*begin..]).is_some());
    let straight = begins.find_map(|begin| versioned(begin, lengths(&line[begin..]).next()?));
    // A quote within the target that the server has not escaped.
    let stretched = || {
        let is_method = |word: &[u8]| std::str::from_utf8(word).is_ok_and(is_method);
        let mut begins =
            quotes(line).filter(|begin| may_begin(&line[*begin..]).is_some_and(is_method));
        begins.find_map(|begin| {
            let mut lengths = lengths(&line[begin..]).take(QUOTES_IN_TARGET_MAX);
            lengths.find_map(|length| versioned(begin, length))
        })
    };
    straight.or_else(stretched)
}

fn without_version_in(line: &[u8]) -> Option<Found> {
    let mut begins = quotes(line).filter(|begin| may_begin(&line[*begin..]).is_some());
    begins.find_map(|begin| {
        let end = begin + lengths(&line[begin..]).next()?;
        Some(((begin, end), Record::of_request_line(&unescape(&line[begin..end]))?))
    })
}

/// How long a field is that begins here, by the quotes at which it may end.
fn lengths(text: &[u8]) -> impl Iterator<Item = usize> {
    quotes(text).map(|after| after - 1)
}

/// The first word, if it is as short as a method is and followed by a space. Keeps long lines with
/// many quotes cheap.
fn may_begin(text: &[u8]) -> Option<&[u8]> {
    let head = &text[..text.len().min(METHOD_BYTES_MAX + 1)];
    let blank = head.iter().position(|byte| *byte == b' ')?;
    head[..blank].iter().all(u8::is_ascii_graphic).then_some(&head[..blank])
}

fn first_field(line: &[u8]) -> Option<(usize, usize)> {
    let mut quotes = quotes(line);
    Some((quotes.next()?, quotes.next()? - 1))
}

/// The places after the quotes that are not escaped.
fn quotes(line: &[u8]) -> impl Iterator<Item = usize> {
    let mut is_escaped = false;
    line.iter().enumerate().filter_map(move |(place, byte)| {
        let is_quote = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_quote.then_some(place + 1)
    })
}

/// The status: the next word after the field, as in the common log; else the first number of three
/// digits before it, as in the logs of HAProxy and of load balancers.
fn status_near(line: &[u8], begin: usize, end: usize) -> Option<u16> {
    let after = line.get(end + 1..).unwrap_or_default();
    let is_between = |byte: &u8| b" \t,|;\"[".contains(byte);
    let skipped = after.iter().take_while(|byte| is_between(byte)).count();
    let word = after[skipped..].split(|byte| !byte.is_ascii_alphanumeric()).next();
    let before = &line[..begin.saturating_sub(1)];
    let mut words = before.split(|byte| b" \t,|;\"".contains(byte));
    word.and_then(status).or_else(|| words.find_map(status))
}

const METHOD_BYTES_MAX: usize = 32;
/// Quotes that are looked at for the end of one request line.
const QUOTES_IN_TARGET_MAX: usize = 8;
