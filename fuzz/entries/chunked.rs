//! Checks that a chunked body is read as by a plain reading of RFC 9112 section 7.1. The first four
//! bytes of the input say where it is torn, the rest follows the head.

use stampede_load::protocol::AnswerEnd;
use stampede_load::protocol::http1::Http1;
use stampede_load::spec::Check;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_traffic::AnswerShape;

use super::torn;

const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

/// One input.
pub fn run(input: &[u8]) {
    let Some((cuts, coded)) = input.split_first_chunk::<4>() else { return };
    let bytes = [HEAD, coded].concat();
    let check = Check { body_contains: b"aab".to_vec(), ..Check::default() };
    let make = || Http1::new(&check, HABITS);
    torn::same(make, AnswerShape::ByHeaders, &bytes, cuts);
    let seen = torn::parse(make(), AnswerShape::ByHeaders, &bytes, torn::Cut::Nowhere);
    let answer = seen.ends[0];
    match plain(coded) {
        Some((body, length)) => {
            let found = body.windows(3).any(|window| window == b"aab");
            let AnswerEnd::Whole { status: 200, check } = answer.end else {
                panic!("{:?} instead of {} bytes of body", answer.end, body.len());
            };
            assert_eq!(check == stampede_load::protocol::Checked::Right, found);
            assert_eq!(answer.bytes, (HEAD.len() + length) as u64);
        }
        None => assert!(!matches!(answer.end, AnswerEnd::Whole { .. })),
    }
}

/// Decodes in the plainest way; returns the body and the length of its coding. `None`: incomplete.
fn plain(coded: &[u8]) -> Option<(Vec<u8>, usize)> {
    let mut body = Vec::new();
    let mut rest = coded;
    loop {
        let (line, after) = line(rest)?;
        let (size, extension) = match line.iter().position(|byte| b"; \t".contains(byte)) {
            Some(at) => line.split_at(at),
            None => (line, &b""[..]),
        };
        let extension = extension.trim_ascii_start();
        if size.is_empty() || !(extension.is_empty() || extension.starts_with(b";")) {
            return None;
        }
        if !size.iter().all(u8::is_ascii_hexdigit) || !text(extension) {
            return None;
        }
        let size = u64::from_str_radix(str::from_utf8(size).ok()?, 16).ok()?;
        rest = after;
        if size == 0 {
            break;
        }
        let size = usize::try_from(size).ok()?;
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size..)?.strip_prefix(b"\r\n")?;
    }
    loop {
        let (line, after) = line(rest)?;
        rest = after;
        if line.is_empty() {
            return Some((body, coded.len() - rest.len()));
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        if colon == 0 || !line[..colon].iter().all(name) || !text(&line[colon..]) {
            return None;
        }
    }
}

fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.windows(2).position(|two| two == b"\r\n")?;
    Some((&bytes[..at], &bytes[at + 2..]))
}

fn text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control())
}
