//! What is wrong with criteria, and where.

/// Criteria that do not parse. `offset` and `length` are bytes of the text given, on character
/// boundaries; a length of 0 means "here something is missing".
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
    /// Nothing but blanks.
    #[error("no criterion")]
    Empty,
    /// No criterion begins here.
    #[error("`{found}` does not begin a criterion")]
    NoCriterion {
        /// The character.
        found: char,
    },
    /// A name that is no criterion's.
    #[error("unknown criterion `{found}`")]
    Unknown {
        /// As written.
        found: String,
        /// The nearest known name, where one is near.
        nearest: Option<&'static str>,
    },
    /// One of Tank's that judges what stampede does not read.
    #[error("`{found}` is about monitoring, which `fire` does not do")]
    Monitoring {
        /// As written.
        found: String,
    },
    /// No `(` after a criterion's name.
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
        /// How many there are.
        found: usize,
    },
    /// One value more: Tank's criteria for one tag.
    #[error("criteria for one tag are not supported")]
    Tag,
    /// No mask of codes.
    #[error("`{found}` is not a mask of codes")]
    NotAMask {
        /// As written.
        found: String,
    },
    /// Neither count nor share.
    #[error("`{found}` is neither a number nor a share")]
    NotALevel {
        /// As written.
        found: String,
    },
    /// No percentile.
    #[error("`{found}` is not a percentile")]
    NotAPercentile {
        /// As written.
        found: String,
    },
    /// A share without its `%`, or out of range.
    #[error("`{found}` is not a share")]
    NotAShare {
        /// As written.
        found: String,
    },
    /// No length of time.
    #[error("`{found}` is not a length of time")]
    NotALength {
        /// As written.
        found: String,
    },
    /// Not whole seconds, none, or more than a day.
    #[error("`{found}` is not a number of whole seconds")]
    NotSeconds {
        /// As written.
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

    /// The nearest known name, where a name was wrong and one is near.
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
