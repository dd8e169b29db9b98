//! Takes the kept beginning of an answer out of its records again, for the example of a failure.

use super::head::parse;
use super::record::{Kind, RecordReader, RecordStep};
use crate::check::{Failed, Inspector};
use crate::protocol::{EXCERPT_BODY_BYTES, EXCERPT_HEAD_BYTES, Excerpt};

/// The excerpt of what `inspector` kept. Not on the hot path: called once per kind of failure.
pub(super) fn of(inspector: &Inspector, failed: Option<Failed>) -> Excerpt {
    let text = stdout(inspector.start());
    let parsed = parse(&text).ok().flatten();
    let (head, body) = text.split_at(parsed.map_or(text.len(), |(length, _)| length));
    Excerpt {
        status: parsed.map(|(_, head)| head.status),
        head: head[..head.len().min(EXCERPT_HEAD_BYTES)].to_vec(),
        body: body[..body.len().min(EXCERPT_BODY_BYTES)].to_vec(),
        found: failed.map(|failed| inspector.found(failed, head)).unwrap_or_default(),
    }
}

/// The content of all `STDOUT` records. Every iteration takes a byte or the end of a record.
fn stdout(mut bytes: &[u8]) -> Vec<u8> {
    let mut records = RecordReader::new();
    let mut text = Vec::new();
    loop {
        let (taken, step) = records.take(bytes);
        match step {
            RecordStep::NeedMore | RecordStep::Bad => return text,
            RecordStep::Content(Kind::Stdout, content) => text.extend_from_slice(content),
            RecordStep::Content(..) | RecordStep::End { .. } => {}
        }
        bytes = &bytes[taken..];
    }
}
