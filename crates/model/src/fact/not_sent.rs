//! Why a request is not sent by `check`, or why its answer cannot be compared.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::Kind;
use crate::entry::Skip;

/// Why a request is not sent, or why its answer cannot be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum NotSent {
    /// Its method is not among those that are sent.
    Method {
        /// The methods that are sent.
        methods: Vec<String>,
    },
    /// A pattern of `--skip` matches it.
    SkipPattern {
        /// The pattern as written.
        pattern: String,
    },
    /// A word in its path says that it destroys something, or ends a session.
    DangerousPath {
        /// The word.
        word: String,
    },
    /// A part of its query says so.
    DangerousQuery {
        /// The word, or the key with its value.
        part: String,
    },
    /// It belongs to another host than the first request.
    OtherHost {
        /// That host.
        host: String,
    },
    /// Links that lead to other hosts.
    ForeignLinks {},
    /// The route belongs to one host name only.
    HostRoute {
        /// The host.
        host: String,
    },
    /// A placeholder of the route has no known value.
    Placeholder {
        /// The placeholder's name.
        placeholder: String,
        /// The route's pattern for the placeholder; absent: it has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        requirement: Option<String>,
    },
    /// There are more requests than the limit.
    OverLimit {
        /// The limit.
        limit: usize,
    },
    /// Enough other requests have the same shape.
    SameShape {},
    /// The router's list has the route, but nothing has the id that was tried.
    NoSuchId {},
    /// The headers do not end.
    HeadersUnended {},
    /// The bytes are not an HTTP request.
    NotHttp {
        /// The parser's words.
        problem: String,
    },
    /// The body is not text.
    BinaryBody {},
    /// The body is sent in chunks.
    ChunkedBody {},
    /// It has no path.
    NoPath {},
    /// Entries of the request file are not requests that can be sent.
    Entries {
        /// Why not.
        skip: Skip,
    },
    /// A script of another tool makes it while it runs, or it is not valid.
    OfScript {
        /// The part of the request that is not known, in English.
        part: String,
    },
    /// It gets no answer on the runtime that the others are compared with.
    NoAnswer {
        /// That runtime.
        runtime: String,
        /// The reason, in the words of the client.
        problem: String,
    },
    /// It is answered with a server error on the runtime that the others are compared with.
    ServerError {
        /// That runtime.
        runtime: String,
        /// The status, 500 or above.
        status: u16,
        /// The beginning of the answer's text.
        gist: String,
    },
}

impl fmt::Display for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotSent::Method { methods } => write!(f, "only {} are sent", methods.join(", ")),
            NotSent::SkipPattern { pattern } => write!(f, "matches `--skip {pattern}`"),
            NotSent::DangerousPath { word } => write!(f, "`{word}` in its path"),
            NotSent::DangerousQuery { part } => write!(f, "`{part}` in its query"),
            NotSent::OtherHost { host } => write!(f, "for another host: `{host}`"),
            NotSent::ForeignLinks {} => f.write_str("to another host"),
            NotSent::HostRoute { host } => write!(f, "only for the host `{host}`"),
            NotSent::Placeholder { placeholder, requirement: None } => {
                write!(f, "no known value for `{{{placeholder}}}`")
            }
            NotSent::Placeholder { placeholder, requirement: Some(requirement) } => {
                write!(f, "no known value for `{{{placeholder}}}` matches `{requirement}`")
            }
            NotSent::OverLimit { limit } => write!(f, "beyond the limit of {limit}"),
            NotSent::SameShape {} => f.write_str("enough others have the same shape"),
            NotSent::NoSuchId {} => f.write_str("the router lists it, but no such id exists"),
            NotSent::HeadersUnended {} => f.write_str("its headers do not end"),
            NotSent::NotHttp { problem } => write!(f, "not an HTTP request: {problem}"),
            NotSent::BinaryBody {} => f.write_str("its body is not text"),
            NotSent::ChunkedBody {} => f.write_str("its body is sent in chunks"),
            NotSent::NoPath {} => f.write_str("no path"),
            NotSent::Entries { skip } => skip.fmt(f),
            NotSent::OfScript { part } => {
                write!(f, "only a run of the script would tell its {part}, or that is not valid")
            }
            NotSent::NoAnswer { runtime, problem } => {
                write!(f, "no answer from {runtime}: {problem}")
            }
            NotSent::ServerError { runtime, status, gist } => {
                write!(f, "answered with {status} by {runtime}: {gist}")
            }
        }
    }
}

impl Kind for NotSent {
    const NAME: &'static str = "NotSent";
    const ABOUT: &'static str =
        "Why a request is not sent by `check`, or why its answer cannot be compared.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![NotSent::json_schema(generator)]
    }
}
