//! Errors in a schedule, with their position in the text.

/// A schedule that cannot be parsed. `offset` and `length` are in bytes of the given text, on
/// character boundaries. A length of 0 means that something is missing at that position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ScheduleError {
    /// First byte of the offending part.
    pub offset: usize,
    /// Its length in bytes.
    pub length: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a part of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text has nothing but blanks.
    #[error("the schedule is empty")]
    Empty,
    /// No segment begins here.
    #[error("`{found}` does not begin a segment")]
    NoSegment {
        /// The character.
        found: char,
    },
    /// The name is not that of a segment.
    #[error("unknown segment `{found}`")]
    UnknownSegment {
        /// The name as written.
        found: String,
        /// The most similar known name, if one is similar enough.
        nearest: Option<&'static str>,
    },
    /// No `(` after the name of a segment.
    #[error("`{segment}` without its values")]
    NotOpened {
        /// The segment's form: `const(rate,length)`.
        segment: &'static str,
    },
    /// No `)` before the end.
    #[error("`)` is missing")]
    NotClosed {
        /// The segment's form.
        segment: &'static str,
    },
    /// Too few or too many values.
    #[error("{found} values for `{segment}`")]
    WrongCount {
        /// The segment's form.
        segment: &'static str,
        /// Number of values found.
        found: usize,
    },
    /// The value is no rate.
    #[error("`{found}` is not a rate")]
    NotARate {
        /// The value as written.
        found: String,
    },
    /// The rate is above 10 000 000.
    #[error("rate `{found}` is out of range")]
    RateOutOfRange {
        /// The value as written.
        found: String,
    },
    /// The value is no length of time.
    #[error("`{found}` is not a length of time")]
    NotALength {
        /// The value as written.
        found: String,
    },
    /// The length is 0 or above 7 days.
    #[error("length `{found}` is out of range")]
    LengthOutOfRange {
        /// The value as written.
        found: String,
    },
    /// The distance between the levels of a `step` is 0.
    #[error("a step by 0 never arrives")]
    StepByZero,
    /// More levels and segments than a schedule may have.
    #[error("more than 10 000 segments and levels")]
    TooManyPieces,
    /// Longer than 7 days in all.
    #[error("the whole schedule is longer than 7 days")]
    TooLong,
    /// Less than one request in all.
    #[error("the schedule sends no request")]
    NoRequest,
}

/// The forms of all segments.
const FORMS: &str = "`line(from,to,length)`, `const(rate,length)` or `step(from,to,by,length)`";

impl ScheduleError {
    /// What was expected there, in words.
    pub fn expected(&self) -> String {
        match &self.problem {
            Problem::Empty | Problem::NoSegment { .. } | Problem::UnknownSegment { .. } => {
                FORMS.to_owned()
            }
            Problem::NotOpened { segment }
            | Problem::NotClosed { segment }
            | Problem::WrongCount { segment, .. } => format!("`{segment}`"),
            Problem::NotARate { .. } => {
                "requests per second with at most six decimals, such as `100` or `0.5`".to_owned()
            }
            Problem::RateOutOfRange { .. } => "0 to 10 000 000 requests per second".to_owned(),
            Problem::NotALength { .. } => {
                "a length of time, such as `540s`, `2m30s`, `500ms` or `1h`".to_owned()
            }
            Problem::LengthOutOfRange { .. } => "more than 0 and at most 7 days".to_owned(),
            Problem::StepByZero => "a distance between levels above 0".to_owned(),
            Problem::TooManyPieces => "fewer levels, or a `line`".to_owned(),
            Problem::TooLong => "at most 7 days in all".to_owned(),
            Problem::NoRequest => "a rate and a length that make one request or more".to_owned(),
        }
    }

    /// The most similar known name, if a name was wrong and one is similar enough.
    pub fn nearest(&self) -> Option<&'static str> {
        match self.problem {
            Problem::UnknownSegment { nearest, .. } => nearest,
            _ => None,
        }
    }
}
