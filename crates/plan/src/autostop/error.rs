//! Errors in autostop criteria, with their position in the text.

/// Criteria that cannot be parsed. `offset` and `length` are in bytes of the given text, on
/// character boundaries. A length of 0 means that something is missing at that position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct AutostopError {
    /// First byte of the offending part.
    pub offset: usize,
    /// Its length in bytes.
    pub length: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a part of the criteria.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text has nothing but blanks.
    #[error("no criterion")]
    Empty,
    /// No criterion begins here.
    #[error("`{found}` does not begin a criterion")]
    NoCriterion {
        /// The character.
        found: char,
    },
    /// The name is not that of a criterion.
    #[error("unknown criterion `{found}`")]
    Unknown {
        /// The name as written.
        found: String,
        /// The most similar known name, if one is similar enough.
        nearest: Option<&'static str>,
    },
    /// A criterion of Tank on data that stampede does not read.
    #[error("`{found}` is about monitoring, which `fire` does not do")]
    Monitoring {
        /// The name as written.
        found: String,
    },
    /// No `(` after the name of a criterion.
    #[error("`{form}` without its values")]
    NotOpened {
        /// The criterion's form.
        form: &'static str,
    },
    /// No `)` before the end.
    #[error("`)` is missing")]
    NotClosed {
        /// The criterion's form.
        form: &'static str,
    },
    /// Too few or too many values.
    #[error("{found} values for `{form}`")]
    WrongCount {
        /// The criterion's form.
        form: &'static str,
        /// Number of values found.
        found: usize,
    },
    /// One value too many: in Tank, it limits the criterion to one tag.
    #[error("criteria for one tag are not supported")]
    Tag,
    /// The value is no mask of codes.
    #[error("`{found}` is not a mask of codes")]
    NotAMask {
        /// The value as written.
        found: String,
    },
    /// The value is neither a count nor a share.
    #[error("`{found}` is neither a number nor a share")]
    NotALevel {
        /// The value as written.
        found: String,
    },
    /// The value is no percentile.
    #[error("`{found}` is not a percentile")]
    NotAPercentile {
        /// The value as written.
        found: String,
    },
    /// A share without `%`, or out of range.
    #[error("`{found}` is not a share")]
    NotAShare {
        /// The value as written.
        found: String,
    },
    /// The value is no length of time.
    #[error("`{found}` is not a length of time")]
    NotALength {
        /// The value as written.
        found: String,
    },
    /// Not a whole number of seconds, zero, or more than a day.
    #[error("`{found}` is not a number of whole seconds")]
    NotSeconds {
        /// The value as written.
        found: String,
    },
}

impl AutostopError {
    /// What was expected there, in words.
    pub fn expected(&self) -> String {
        match &self.problem {
            Problem::Empty | Problem::NoCriterion { .. } | Problem::Unknown { .. } => {
                let forms = super::parse::KNOWN.iter().map(|(_, form, _)| *form);
                format!(
                    "criteria such as `time(1s,10s) http(5xx,10%,5s)`; there are {}",
                    list(forms)
                )
            }
            Problem::Monitoring { .. } => {
                "`stampede compare` to watch what a load costs".to_owned()
            }
            Problem::NotOpened { form }
            | Problem::NotClosed { form }
            | Problem::WrongCount { form, .. } => format!("`{form}`"),
            Problem::Tag => "the criterion without its tag: it then judges all requests".to_owned(),
            Problem::NotAMask { .. } => {
                "one to three digits, `x` for any: `404`, `5xx`, `11x`; `xx` for every code of the \
                 network but 0"
                    .to_owned()
            }
            Problem::NotALevel { .. } => {
                "a number such as `25`, or a share such as `10%`".to_owned()
            }
            Problem::NotAPercentile { .. } => {
                "a number above 0 and at most 100, such as `95` or `99.9`".to_owned()
            }
            Problem::NotAShare { .. } => "a share above 0 and at most `100%`".to_owned(),
            Problem::NotALength { .. } => {
                "a length of time above 0, such as `300ms`, `1s500ms` or `1m`".to_owned()
            }
            Problem::NotSeconds { .. } => {
                "a length of whole seconds, from `1s` to a day: seconds are what is judged"
                    .to_owned()
            }
        }
    }

    /// The most similar known name, if a name was wrong and one is similar enough.
    pub fn nearest(&self) -> Option<&'static str> {
        match self.problem {
            Problem::Unknown { nearest, .. } => nearest,
            _ => None,
        }
    }
}

fn list(forms: impl Iterator<Item = &'static str>) -> String {
    forms.map(|form| format!("`{form}`")).collect::<Vec<_>>().join(", ")
}
