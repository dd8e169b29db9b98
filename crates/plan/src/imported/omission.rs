//! What is not taken over of a script, as data.

use std::fmt;

/// Something that is not taken over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeftOut {
    /// Its line, counted from 1.
    pub line: usize,
    /// What it is.
    pub what: Omission,
}

/// The kinds of things that are not taken over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Omission {
    /// A request with a part that is no literal, or no valid one.
    Request {
        /// The part.
        part: RequestPart,
    },
    /// A request to another host than most.
    OtherHost {
        /// The host.
        host: String,
    },
    /// A header that frames the message.
    Header {
        /// Its name.
        name: String,
    },
    /// A header that is not needed, and whose value only a run would tell.
    UnknownHeader {
        /// Its name.
        name: String,
    },
    /// A parameter of a request, beside its headers.
    Parameter {
        /// Its name.
        name: String,
    },
    /// A call of a function.
    Call {
        /// The function.
        name: String,
    },
    /// A function that runs once, before or after the load.
    Once {
        /// Its name.
        name: String,
    },
    /// A condition or a loop. The requests in it are taken over.
    Control {
        /// How it is written: `if`, `for`, `IfController`.
        name: String,
    },
    /// A module that is imported.
    Import {
        /// Its name.
        module: String,
    },
    /// A setting of the load.
    Setting {
        /// Its name.
        name: String,
    },
    /// A number of users that changes. The highest one is proposed.
    Ramp {
        /// How it is written.
        name: String,
    },
    /// One of several loads. Only the first is proposed.
    OtherLoad {
        /// Its name.
        name: String,
    },
    /// A pause between requests.
    Pause {
        /// How it is written.
        name: String,
    },
    /// A check of answers.
    Check {
        /// How it is written.
        name: String,
    },
    /// Something that takes a value from an answer, for a later request.
    Extractor {
        /// How it is written.
        name: String,
    },
    /// A file whose rows are put into requests.
    Rows {
        /// The names of its columns, or how it is written.
        name: String,
    },
    /// Rows of a file beyond those that are put into requests.
    MoreRows {
        /// The names of its columns, or how it is written.
        name: String,
        /// The rows that are.
        taken: usize,
    },
    /// Something that shows or stores results.
    Listener {
        /// How it is written.
        name: String,
    },
    /// Any other part of a script.
    Element {
        /// How it is written.
        name: String,
    },
}

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestPart {
    /// The method.
    Method,
    /// The URL.
    Url,
    /// The headers.
    Headers,
    /// The body.
    Body,
    /// A file that is uploaded.
    Upload,
}

impl Omission {
    /// Whether it is a request.
    pub fn is_request(&self) -> bool {
        matches!(self, Omission::Request { .. } | Omission::OtherHost { .. })
    }

    /// What happens instead, or what to use instead.
    pub fn why(&self) -> &'static str {
        match self {
            Omission::Request { part: RequestPart::Upload } => {
                "a file that is uploaded is not read"
            }
            Omission::Request { .. } => "it is made while the script runs, or is not valid",
            Omission::OtherHost { .. } => "a load has one host",
            Omission::Header { .. } => "the connection and the body say so",
            Omission::UnknownHeader { .. } => "only a run would tell its value",
            Omission::Parameter { .. } => "only headers are taken over",
            Omission::Call { .. } => "nothing of the script is run",
            Omission::Once { .. } => "it runs once, and is no load",
            Omission::Control { .. } => {
                "the requests in it are sent once each time, in their order"
            }
            Omission::Import { .. } => "only this file is read",
            Omission::Setting { name } if name == "thresholds" => "say `--expect`",
            Omission::Setting { .. } => "the flags say what the load is",
            Omission::Ramp { .. } => {
                "the number of users is constant, and the highest is proposed; a rate may rise"
            }
            Omission::OtherLoad { .. } => "a load has one schedule",
            Omission::Pause { .. } => "a user does not pause; a rate is `--rate`",
            Omission::Check { .. } => "say `--status`, `--contains` or `--check`",
            Omission::Extractor { .. } => "no request depends on an answer",
            Omission::Rows { .. } => "its file is not there, or is no table in UTF-8",
            Omission::MoreRows { .. } => "all rows would be too many requests",
            Omission::Listener { .. } => "results are shown and written by stampede",
            Omission::Element { .. } => "it has no counterpart here",
        }
    }
}

impl fmt::Display for Omission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Omission::Request { part } => write!(f, "a request, for its {part}"),
            Omission::OtherHost { host } => write!(f, "a request to `{host}`"),
            Omission::Header { name } | Omission::UnknownHeader { name } => {
                write!(f, "the header `{name}`")
            }
            Omission::MoreRows { name, taken } => {
                write!(f, "what follows row {taken} of `{name}`")
            }
            Omission::Import { module } => write!(f, "the module `{module}`"),
            Omission::Parameter { name }
            | Omission::Call { name }
            | Omission::Once { name }
            | Omission::Control { name }
            | Omission::Setting { name }
            | Omission::Ramp { name }
            | Omission::OtherLoad { name }
            | Omission::Pause { name }
            | Omission::Check { name }
            | Omission::Extractor { name }
            | Omission::Rows { name }
            | Omission::Listener { name }
            | Omission::Element { name } => write!(f, "`{name}`"),
        }
    }
}

impl fmt::Display for RequestPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RequestPart::Method => "method",
            RequestPart::Url => "URL",
            RequestPart::Headers => "headers",
            RequestPart::Body => "body",
            RequestPart::Upload => "upload",
        })
    }
}
