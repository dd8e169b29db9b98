//! What makes a whole answer correct: its status, and rules about its headers, body, size and time.
//!
//! A rule is written as it reads; [`Rule::parse`] accepts:
//!
//! | rule | holds if |
//! |---|---|
//! | `header x-cache` | the answer has such a header |
//! | `header x-cache == HIT` | one of these headers has this value |
//! | `header content-type contains json` | one of these headers has this text in its value |
//! | `body contains hello` | the body contains these bytes |
//! | `body ~ /order [0-9]+/` | the pattern matches in the body; flags `imsx` may follow it |
//! | `json $.items[0].id` | the body is JSON and has a value there |
//! | `json $.ok == true` | and the value is this one; what is not JSON counts as text |
//! | `size > 100` | the body has this many bytes; also `==`, `<`, `<=`, `>=` |
//! | `time < 200ms` | the service time is shorter |
//!
//! Names of headers are compared without regard to case, their values exactly. Bodies are taken as
//! received, with chunks joined; nothing is decompressed. An answer to HEAD never has a body, so
//! rules about body, JSON and size hold for it; those about headers and time apply. If the status
//! is wrong, no rule is checked.
//!
//! A rule about nested JSON allocates once per answer, in the JSON library; no other rule does.

mod error;
mod inspect;
mod json;
mod parse;
mod search;
#[cfg(test)]
mod tests;
mod words;

use regex::bytes::Regex;
use serde::{Deserialize, Serialize};

pub use error::{Problem, RuleError};
pub(crate) use inspect::{Inspection, Inspector, Sink};
use json::{Expected, Path};
pub use stampede_traffic::answer::Failed;
pub(crate) use words::took;

use stampede_model::failure;
use stampede_model::time::Nanos;

/// What makes a whole answer correct.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Correct statuses; empty: 200 to 299.
    pub statuses: Vec<u16>,
    /// Bytes that the body must contain, possibly split across reads; empty: no such demand.
    #[serde(with = "stampede_traffic::base64_bytes")]
    pub body_contains: Vec<u8>,
    /// Rules that must hold, checked in this order; at most [`RULES_MAX`].
    pub rules: Vec<Rule>,
}

/// A condition on an answer with the right status. As data it is its text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rule {
    text: String,
    condition: Condition,
}

/// The condition of a rule.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Header {
        name: String,
        value: HeaderDemand,
    },
    BodyContains(Vec<u8>),
    BodyMatches(Regex),
    Json {
        path: Path,
        value: Option<Expected>,
    },
    Size(Compare, u64),
    /// The service time is below this.
    Time(Nanos),
}

/// What is demanded of a header's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HeaderDemand {
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

impl Check {
    /// Whether `status` is correct.
    pub fn right_status(&self, status: u16) -> bool {
        match self.statuses.as_slice() {
            [] => (200..300).contains(&status),
            right => right.contains(&status),
        }
    }

    /// The key under which `Counts::failed` counts this part: `check` for `body_contains`,
    /// `check:<name>` for a rule, `check:body-too-large`.
    pub fn key(&self, failed: Failed) -> String {
        match failed {
            Failed::CONTAINS => "check".to_owned(),
            Failed::TOO_LARGE => failure::TOO_LARGE.to_owned(),
            Failed(number) => match self.rules.get(usize::from(number) - 1) {
                Some(rule) => format!("check:{}", rule.name()),
                None => format!("check:{number}"),
            },
        }
    }

    /// The first rule about time that this service time breaks.
    pub(crate) fn too_slow(&self, service_time: Nanos) -> Option<Failed> {
        let slow =
            |rule: &Rule| matches!(rule.condition, Condition::Time(limit) if service_time >= limit);
        self.rules.iter().position(slow).map(Failed::rule)
    }
}

impl Rule {
    /// Parses a rule.
    ///
    /// # Errors
    /// What is wrong with the text, where, and what was expected there.
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        let condition = parse::condition(text)?;
        Ok(Rule { text: text.trim().to_owned(), condition })
    }

    /// The rule as written, without blanks around it. Failures are counted under this name.
    pub fn name(&self) -> &str {
        &self.text
    }
}

impl From<Rule> for String {
    fn from(rule: Rule) -> String {
        rule.text
    }
}

impl TryFrom<String> for Rule {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Rule, RuleError> {
        Rule::parse(&text)
    }
}

/// Two rules are equal if their texts are.
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

/// Most rules of one check; nobody reads a longer table of errors.
pub const RULES_MAX: usize = 32;

/// Most bytes of a body that are kept for a pattern or JSON; larger ones fail with
/// [`Failed::TOO_LARGE`]. This is ten times the largest page of a usual app.
pub const BODY_BYTES_MAX: usize = 1 << 20;
