//! What is wrong with a rule, and where.

/// A rule that does not parse. `offset` and `length` are bytes of the text given, on
/// character boundaries; a length of 0 means "here something is missing".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct RuleError {
    /// First byte of the offending part.
    pub offset: usize,
    /// Its length in bytes.
    pub length: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a part of a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Nothing but blanks.
    #[error("the check is empty")]
    Empty,
    /// Begins with no known word.
    #[error("unknown check `{found}`")]
    Unknown {
        /// As written.
        found: String,
        /// The nearest known word, where one is near.
        nearest: Option<&'static str>,
    },
    /// The status has its own place.
    #[error("the status is not checked this way")]
    Status,
    /// `header` without a name.
    #[error("`header` without a name")]
    NoHeaderName,
    /// Not a token (RFC 9110 section 5.6.2).
    #[error("`{found}` is not a header name")]
    HeaderName {
        /// As written.
        found: String,
    },
    /// Another word where a comparison is wanted, or none.
    #[error("{}", operator(.of, .found))]
    Operator {
        /// What is compared: `header`, `body`, `json`, `size`, `time`.
        of: &'static str,
        /// As written; empty where there is nothing.
        found: String,
    },
    /// A comparison without its right side.
    #[error("nothing after `{operator}`")]
    NoValue {
        /// Which.
        operator: String,
    },
    /// Not between slashes.
    #[error("`{found}` is not a pattern between slashes")]
    NotAPattern {
        /// As written.
        found: String,
    },
    /// The pattern's own mistake.
    #[error("pattern `{pattern}`: {why}")]
    Pattern {
        /// Without the slashes.
        pattern: String,
        /// In the words of the regex library.
        why: String,
    },
    /// A letter after the pattern that is no flag.
    #[error("unknown flag `{found}`")]
    Flag {
        /// The letter.
        found: char,
    },
    /// `json` without a path.
    #[error("`json` without a path")]
    NoPath,
    /// Not names and positions.
    #[error("`{found}` is not a path into JSON")]
    NotAPath {
        /// As written.
        found: String,
    },
    /// Begins as JSON and is none.
    #[error("`{found}` is not JSON: {why}")]
    NotJson {
        /// As written.
        found: String,
        /// In the words of the JSON library.
        why: String,
    },
    /// Not a number of bytes.
    #[error("`{found}` is not a number of bytes")]
    NotBytes {
        /// As written.
        found: String,
    },
    /// Not a length of time above 0.
    #[error("`{found}` is not a length of time above 0")]
    NotALength {
        /// As written.
        found: String,
    },
}

fn operator(of: &str, found: &str) -> String {
    if found.is_empty() {
        format!("`{of}` without a comparison")
    } else {
        format!("`{found}` does not compare a `{of}`")
    }
}

/// The forms of all rules.
const FORMS: &str = "`header x-cache == HIT`, `header content-type contains json`, \
                     `header x-cache`, `body contains hello`, `body ~ /[0-9]+ items/`, \
                     `json $.ok == true`, `json $.items[0].id`, `size > 100` or `time < 200ms`";

impl RuleError {
    /// What was expected there, in words.
    pub fn expected(&self) -> String {
        let text = match &self.problem {
            Problem::Empty | Problem::Unknown { .. } => FORMS,
            Problem::Status => "a list of the right statuses, given apart: `--status 200,204`",
            Problem::NoHeaderName | Problem::HeaderName { .. } => {
                "letters, digits and `-`, such as `header x-cache == HIT`"
            }
            Problem::Operator { of: "header", .. } => {
                "`== value`, `contains value`, or nothing more where it only has to be there"
            }
            Problem::Operator { of: "body", .. } => "`contains text` or `~ /pattern/`",
            Problem::Operator { of: "json", .. } => {
                "`== value`, or nothing more where it only has to be there"
            }
            Problem::Operator { of: "time", .. } => "`< 200ms`",
            Problem::Operator { .. } => "`==`, `<`, `<=`, `>` or `>=`, then a number of bytes",
            Problem::NoValue { .. } => "a value to compare with",
            Problem::NotAPattern { .. } | Problem::Pattern { .. } => {
                "a regular expression, such as `body ~ /order [0-9]+/`; a `/` in it needs no \
                 backslash"
            }
            Problem::Flag { .. } => {
                "`i` (any case), `m` (`^` and `$` at each line), `s` (`.` matches a line's end) \
                 or `x` (blanks do not count)"
            }
            Problem::NoPath | Problem::NotAPath { .. } => {
                "names and positions, such as `$.items[0].id` or `$[\"a name\"]`"
            }
            Problem::NotJson { .. } => "JSON, or a text that does not begin like it",
            Problem::NotBytes { .. } => "such as `100`, `64KiB` or `1.5MB`",
            Problem::NotALength { .. } => "such as `200ms` or `1.5s`",
        };
        text.to_owned()
    }

    /// The nearest known word, where one was wrong and one is near.
    pub fn nearest(&self) -> Option<&'static str> {
        match self.problem {
            Problem::Unknown { nearest, .. } => nearest,
            _ => None,
        }
    }
}
