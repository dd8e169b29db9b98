//! What is known of an answer: how it may look, how it ended, what the check found, and what is
//! kept of it to show. These types have no logic of a protocol, so everything may use them.

use serde::{Deserialize, Serialize};
use stampede_model::time::Nanos;

/// The driver's number of a request. It means nothing to the protocol, which returns it with the
/// answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId(pub u32);

/// One ended request, as the protocol saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The request that is answered.
    pub id: RequestId,
    /// When its first bytes arrived, on the load's clock. The time of a read counts for all bytes
    /// of it.
    pub first_byte: Nanos,
    /// How it ended.
    pub end: AnswerEnd,
    /// Bytes of the answer on the wire, interim (1xx) answers included.
    pub bytes: u64,
    /// Bytes of its body, without framing.
    pub body_bytes: u64,
    /// What was odd about its header lines.
    pub odd: Quirk,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerEnd {
    /// The answer is whole.
    Whole {
        /// 200 to 999; interim 1xx answers are skipped (RFC 9110 section 15.2).
        status: u16,
        /// Result of the check, except for its rules about time. `Right` where the status is wrong,
        /// because then nothing is checked.
        check: Checked,
    },
    /// The peer closed before the end that the headers announced.
    CutShort,
    /// The bytes do not follow the protocol, or a length contradicts itself.
    Malformed,
    /// The head is larger than the limit.
    HeadTooLarge,
    /// A FastCGI server refused the request: it is overloaded, or has no responder.
    Rejected,
    /// TLS failed: an alert, an invalid record, or a certificate that was not accepted.
    Tls,
    /// Bytes that can begin no answer came in its place, on a connection that had answered before:
    /// they belong to the answer before. None of them counts for this one.
    Displaced,
}

/// What a server sent besides answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aside {
    /// Whole answers that were followed by bytes beyond their end. Only what arrived before the
    /// connection was closed is known.
    pub surplus_answers: u64,
    /// Bytes of FastCGI's `STDERR` streams: messages of PHP.
    pub stderr_bytes: u64,
}

impl Aside {
    /// Adds the counts of another connection.
    pub fn add(&mut self, more: Aside) {
        self.surplus_answers += more.surplus_answers;
        self.stderr_bytes += more.stderr_bytes;
    }
}

/// Result of the check of an answer with the right status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The answer is as expected, or there is no rule.
    Right,
    /// The first part of the check that the answer broke.
    Wrong(Failed),
}

/// The beginning of an answer, as far as it was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// Status of its final head; `None` where that did not arrive.
    pub status: Option<u16>,
    /// Its final head, or whatever arrived instead; at most [`EXCERPT_HEAD_BYTES`].
    pub head: Vec<u8>,
    /// Its body, without framing; at most [`EXCERPT_BODY_BYTES`].
    pub body: Vec<u8>,
    /// What was found instead of what the check demands, in words; empty where no check failed.
    pub found: String,
}

/// What the request says about the answer's body (RFC 9112 section 6.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerShape {
    /// The headers of the answer decide.
    #[default]
    ByHeaders,
    /// The headers decide, but no rules about the body are applied, so it may be empty.
    BodyUnasked,
    /// The answer never has a body, because the method is HEAD.
    NoBody,
}

impl AnswerShape {
    /// The shape of answers to this method.
    pub fn of(method: &[u8]) -> AnswerShape {
        if method == b"HEAD" { AnswerShape::NoBody } else { AnswerShape::ByHeaders }
    }
}

/// How long the body of an answer usually is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyLengths {
    /// Bytes of the shortest one.
    pub least: u64,
    /// Bytes of the longest one.
    pub most: u64,
}

impl BodyLengths {
    /// Half to twice the range of bodies that were seen, and at least 256 bytes around it; any
    /// length where none was seen.
    pub fn around(seen: &[u64]) -> BodyLengths {
        match (seen.iter().min(), seen.iter().max()) {
            (Some(least), Some(most)) => BodyLengths {
                least: (least / 2).min(least.saturating_sub(SLACK_BYTES)),
                most: most.saturating_mul(2).max(most.saturating_add(SLACK_BYTES)),
            },
            _ => BodyLengths::default(),
        }
    }

    /// Whether a body of this length is usual.
    #[inline]
    pub fn has(self, bytes: u64) -> bool {
        (self.least..=self.most).contains(&bytes)
    }
}

/// Bytes by which a short body may vary: a counter, a name, a message.
const SLACK_BYTES: u64 = 256;

/// Any length.
impl Default for BodyLengths {
    fn default() -> BodyLengths {
        BodyLengths { least: 0, most: u64::MAX }
    }
}

/// Which part of a [`Check`](crate::check::Check) an answer broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Failed(pub u16);

impl Failed {
    /// [`Check::body_contains`](crate::check::Check::body_contains).
    pub const CONTAINS: Failed = Failed(0);
    /// A pattern or JSON is demanded of a body that is larger than
    /// [`BODY_BYTES_MAX`](crate::check::BODY_BYTES_MAX).
    pub const TOO_LARGE: Failed = Failed(u16::MAX);

    /// The rule at this index of [`Check::rules`](crate::check::Check::rules).
    pub fn rule(index: usize) -> Failed {
        Failed(u16::try_from(index + 1).unwrap_or(u16::MAX - 1))
    }
}

/// What was odd about an answer's header lines. Each kind is noted once, however often it occurred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Quirk(u8);

impl Quirk {
    /// A value continues in lines that begin with a blank (obs-fold); each fold counts as one
    /// blank.
    pub const FOLDED: Quirk = Quirk(1);
    /// Blanks between a name and its colon; they do not belong to the name.
    pub const SPACED: Quirk = Quirk(1 << 1);
    /// Lines without a colon, or without a valid name before it; they are skipped.
    pub const IGNORED: Quirk = Quirk(1 << 2);
    /// Empty lines before the status line; they are skipped.
    pub const EMPTY: Quirk = Quirk(1 << 3);
    /// Lines that end with LF alone (RFC 9112 section 2.2). Not noted for CGI, which allows it.
    pub const BARE_LF: Quirk = Quirk(1 << 4);
    /// `Transfer-Encoding: identity`, which RFC 7230 removed; it means nothing.
    pub const IDENTITY: Quirk = Quirk(1 << 5);
    /// Content-Length more than once with the same value; it counts once.
    pub const REPEATED: Quirk = Quirk(1 << 6);
    /// Several blanks between version and status; they count as one.
    pub const WIDE: Quirk = Quirk(1 << 7);
    /// All kinds, with their names in results.
    pub const ALL: [(Quirk, &'static str); QUIRK_KINDS] = [
        (Quirk::FOLDED, "folded"),
        (Quirk::SPACED, "blank-before-colon"),
        (Quirk::IGNORED, "no-field"),
        (Quirk::EMPTY, "empty-first"),
        (Quirk::BARE_LF, "bare-lf"),
        (Quirk::IDENTITY, "identity"),
        (Quirk::REPEATED, "repeated-length"),
        (Quirk::WIDE, "status-line"),
    ];

    /// The union of both.
    #[must_use]
    pub const fn union(self, other: Quirk) -> Quirk {
        Quirk(self.0 | other.0)
    }

    /// Whether `kind` is among them.
    pub const fn has(self, kind: Quirk) -> bool {
        self.0 & kind.0 != 0
    }
}

/// Number of kinds.
pub const QUIRK_KINDS: usize = 8;

/// Most bytes of a head that an example shows.
pub const EXCERPT_HEAD_BYTES: usize = 4 << 10;
/// Most bytes of a body that an example shows: the beginning of an error page.
pub const EXCERPT_BODY_BYTES: usize = 2 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_usual_from_half_to_twice_what_was_seen() {
        let page = BodyLengths::around(&[10_000, 12_000, 11_000]);
        assert_eq!(page, BodyLengths { least: 5_000, most: 24_000 });
        assert!(page.has(5_000) && page.has(24_000) && !page.has(4_999) && !page.has(24_001));
        let counter = BodyLengths::around(&[1]);
        assert!(counter.has(0) && counter.has(257) && !counter.has(258));
        assert!(BodyLengths::around(&[]).has(u64::MAX));
        assert!(BodyLengths::around(&[u64::MAX]).has(u64::MAX));
    }
}
