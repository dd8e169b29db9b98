//! What makes a whole answer a correct one: its status, and rules about its headers, its
//! body, its size and its time.
//!
//! A rule is written as one reads it; [`Rule::parse`] says what there is:
//!
//! | rule | holds where |
//! |---|---|
//! | `header x-cache` | the answer has such a header |
//! | `header x-cache == HIT` | one of them has this value, and no other |
//! | `header content-type contains json` | one of them has this in its value |
//! | `body contains hello` | these bytes are in the body |
//! | `body ~ /order [0-9]+/` | the pattern is found in the body; after the second `/` may stand `i`, `m`, `s`, `x` |
//! | `json $.items[0].id` | the body is JSON and has a value there |
//! | `json $.ok == true` | and it is this one; what is no JSON is taken as a text |
//! | `size > 100` | the body has so many bytes; `==`, `<`, `<=`, `>=` too |
//! | `time < 200ms` | the service time is shorter |
//!
//! Names of headers are compared without regard to case, values as they are. Bodies are
//! taken as they come, chunks joined; nothing is decompressed. An answer to HEAD has no body
//! by its nature, so rules about body, JSON and size hold for it; those about headers and
//! time are asked. Where the status is wrong nothing else is asked.
//!
//! A rule about nested JSON allocates once for an answer, in the JSON library; no other does.

mod error;
mod inspect;
mod json;
mod parse;
mod search;
#[cfg(test)]
mod tests;
mod words;

use regex::bytes::Regex;

pub use error::{Problem, RuleError};
pub(crate) use inspect::{Inspection, Inspector, Sink};
use json::{Expected, Path};
pub(crate) use words::took;

use crate::time::Nanos;

/// What makes a whole answer a correct one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Statuses that are right; empty: 200 to 299.
    pub statuses: Vec<u16>,
    /// Bytes that the body must contain; empty: nothing is asked. May be torn across reads.
    pub body_contains: Vec<u8>,
    /// What else must hold, asked in this order; at most [`RULES_MAX`].
    pub rules: Vec<Rule>,
}

/// One thing that must hold of an answer with the right status.
#[derive(Clone, Debug)]
pub struct Rule {
    text: String,
    ask: Ask,
}

/// What a rule asks.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Header {
        name: String,
        value: Wanted,
    },
    BodyContains(Vec<u8>),
    BodyMatches(Regex),
    Json {
        path: Path,
        value: Option<Expected>,
    },
    Size(Compare, u64),
    /// Service time below this.
    Time(Nanos),
}

/// Of a header's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Anything,
    Equal(Vec<u8>),
    Containing(Vec<u8>),
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Equal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Which part of a [`Check`] failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Failed(pub u16);

impl Failed {
    /// [`Check::body_contains`].
    pub const CONTAINS: Failed = Failed(0);
    /// A pattern or JSON is asked of a body above [`BODY_BYTES_MAX`].
    pub const TOO_LARGE: Failed = Failed(u16::MAX);

    /// The rule at this place of [`Check::rules`].
    pub(crate) fn rule(place: usize) -> Failed {
        Failed(u16::try_from(place + 1).unwrap_or(u16::MAX - 1))
    }
}

impl Check {
    /// Whether `status` is right.
    pub fn right_status(&self, status: u16) -> bool {
        match self.statuses.as_slice() {
            [] => (200..300).contains(&status),
            right => right.contains(&status),
        }
    }

    /// Under which key of `Counts::failed` a failed part is counted: `check` for
    /// `body_contains`, `check:<name>` for a rule, `check:body-too-large`.
    pub fn key(&self, failed: Failed) -> String {
        match failed {
            Failed::CONTAINS => "check".to_owned(),
            Failed::TOO_LARGE => TOO_LARGE.to_owned(),
            Failed(number) => match self.rules.get(usize::from(number) - 1) {
                Some(rule) => format!("check:{}", rule.name()),
                None => format!("check:{number}"),
            },
        }
    }

    /// The first rule about time that a service time breaks.
    pub(crate) fn too_slow(&self, service_time: Nanos) -> Option<Failed> {
        let slow = |rule: &Rule| matches!(rule.ask, Ask::Time(limit) if service_time >= limit);
        self.rules.iter().position(slow).map(Failed::rule)
    }
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// What is wrong with the text, where, and what was expected there.
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        let ask = parse::ask(text)?;
        Ok(Rule { text: text.trim().to_owned(), ask })
    }

    /// As it was written, blanks around it off; failures are counted under it.
    pub fn name(&self) -> &str {
        &self.text
    }
}

/// Two rules are the same where they read the same.
impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.text == other.text
    }
}

impl Eq for Rule {}

impl Compare {
    fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Compare::Equal => left == right,
            Compare::Less => left < right,
            Compare::AtMost => left <= right,
            Compare::More => left > right,
            Compare::AtLeast => left >= right,
        }
    }
}

/// Rules of one check; more than a person reads in a table of errors.
pub const RULES_MAX: usize = 32;

/// Bytes of a body that are held for a pattern or JSON; larger ones fail with
/// [`Failed::TOO_LARGE`]. Ten times the largest page of a usual app.
pub const BODY_BYTES_MAX: usize = 1 << 20;

/// The key of [`Failed::TOO_LARGE`].
pub(crate) const TOO_LARGE: &str = "check:body-too-large";
