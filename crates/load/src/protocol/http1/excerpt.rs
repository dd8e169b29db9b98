//! Takes the kept beginning of an answer apart again, for the example of a failure.

use super::head::{Head, parse};
use crate::check::{Failed, Inspector, Sink};
use crate::protocol::{EXCERPT_BODY_BYTES, EXCERPT_HEAD_BYTES, Excerpt};
use stampede_traffic::answer::AnswerShape;

/// The excerpt of what `inspector` kept. Not on the hot path: called once per kind of failure.
pub(super) fn of(inspector: &Inspector, failed: Option<Failed>, limit: usize) -> Excerpt {
    let (head, parsed, rest) = split(inspector.start());
    let mut body = BodyPrefix(Vec::new());
    if let Some(head) = parsed
        && let Ok(mut framing) = head.body(AnswerShape::ByHeaders)
    {
        framing.take(rest, &mut body, limit);
    }
    Excerpt {
        status: parsed.map(|head| head.status),
        head: head[..head.len().min(EXCERPT_HEAD_BYTES)].to_vec(),
        body: body.0,
        found: failed.map(|failed| inspector.found(failed, head)).unwrap_or_default(),
    }
}

/// The final head, its parsed form if it is complete, and what follows it. Interim answers are
/// skipped. Each iteration skips one, so the loop terminates.
fn split(mut bytes: &[u8]) -> (&[u8], Option<Head>, &[u8]) {
    loop {
        match parse(bytes) {
            Ok(Some((length, head))) if (100..200).contains(&head.status) => {
                bytes = &bytes[length..];
            }
            Ok(Some((length, head))) => {
                let (raw, rest) = bytes.split_at(length);
                return (raw, Some(head), rest);
            }
            Ok(None) | Err(_) => return (bytes, None, &[]),
        }
    }
}

/// Collects the first bytes of a body.
struct BodyPrefix(Vec<u8>);

impl Sink for BodyPrefix {
    fn piece(&mut self, bytes: &[u8]) {
        let room = EXCERPT_BODY_BYTES - self.0.len();
        self.0.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }
}
