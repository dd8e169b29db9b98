//! Errors in a rule, with their position in the text.

/// A rule that cannot be parsed. `offset` and `length` are in bytes of the given text, on character
/// boundaries. A length of 0 means that something is missing at that position.
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
    /// The text has nothing but blanks.
    #[error("the check is empty")]
    Empty,
    /// The first word is unknown.
    #[error("unknown check `{found}`")]
    Unknown {
        /// The word as written.
        found: String,
        /// The most similar known word, if one is similar enough.
        nearest: Option<&'static str>,
    },
    /// The status is not checked by a rule.
    #[error("the status is not checked this way")]
    Status,
    /// `header` has no name.
    #[error("`header` without a name")]
    NoHeaderName,
    /// The name is not a token (RFC 9110 section 5.6.2).
    #[error("`{found}` is not a header name")]
    HeaderName {
        /// The name as written.
        found: String,
    },
    /// The comparison is missing, or is not possible here.
    #[error("{}", operator(.of, .found))]
    Operator {
        /// What is compared: `header`, `body`, `json`, `size`, `time`.
        of: &'static str,
        /// The word as written; empty where there is none.
        found: String,
    },
    /// A comparison has no right side.
    #[error("nothing after `{operator}`")]
    NoValue {
        /// The comparison.
        operator: String,
    },
    /// The pattern is not between slashes.
    #[error("`{found}` is not a pattern between slashes")]
    NotAPattern {
        /// The value as written.
        found: String,
    },
    /// The pattern itself is wrong.
    #[error("pattern `{pattern}`: {why}")]
    Pattern {
        /// The pattern without the slashes.
        pattern: String,
        /// Message of the regex library.
        why: String,
    },
    /// The letter after the pattern is no flag.
    #[error("unknown flag `{found}`")]
    Flag {
        /// The letter.
        found: char,
    },
    /// `json` has no path.
    #[error("`json` without a path")]
    NoPath,
    /// The path does not consist of names and positions.
    #[error("`{found}` is not a path into JSON")]
    NotAPath {
        /// The path as written.
        found: String,
    },
    /// The value looks like JSON and is not.
    #[error("`{found}` is not JSON: {why}")]
    NotJson {
        /// The value as written.
        found: String,
        /// Message of the JSON library.
        why: String,
    },
    /// The value is no number of bytes.
    #[error("`{found}` is not a number of bytes")]
    NotBytes {
        /// The value as written.
        found: String,
    },
    /// The value is no length of time above 0.
    #[error("`{found}` is not a length of time above 0")]
    NotALength {
        /// The value as written.
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

    /// The most similar known word, if one was wrong and one is similar enough.
    pub fn nearest(&self) -> Option<&'static str> {
        match self.problem {
            Problem::Unknown { nearest, .. } => nearest,
            _ => None,
        }
    }
}
