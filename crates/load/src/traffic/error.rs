//! What is no traffic, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// What cannot be made into requests.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// Not a token (RFC 9110 section 5.6.2).
    #[error("`{0}` is not a request method")]
    Method(String),
    /// Neither `/…` nor `*`, or with a space or a control character in it.
    #[error("`{0}` is not a path to request")]
    Path(String),
    /// Not a token.
    #[error("`{0}` is not a header name")]
    HeaderName(String),
    /// With a CR, LF or NUL, which would end the header and begin another.
    #[error("value of header `{name}` has a line break or NUL in it: `{value}`")]
    HeaderValue {
        /// Of which header.
        name: String,
        /// With the offending characters escaped.
        value: String,
    },
    /// Contradicts the body.
    #[error("header `Content-Length: {given}` with a body of `{body_bytes}` bytes")]
    ContentLength {
        /// As given.
        given: String,
        /// As it is.
        body_bytes: usize,
    },
    /// A file that is not there, or cannot be read.
    #[error("cannot read request file `{}`", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// Compressed.
    #[error("request file `{}` is compressed with gzip", .0.display())]
    Compressed(PathBuf),
    /// Its beginning is none of the formats'.
    #[error("request file `{}` begins with `{begins}`, as no known format does", path.display())]
    UnknownFormat {
        /// Which.
        path: PathBuf,
        /// Its first line, shortened.
        begins: String,
    },
    /// A line near the beginning that is no request.
    #[error("line {line} of request file `{}`: {what}", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// Where, 1 for the first.
        line: u64,
        /// What is wrong.
        what: String,
        /// What was expected.
        hint: &'static str,
    },
    /// Not one request in it.
    #[error("request file `{}` has no request in it{why}", path.display())]
    Empty {
        /// Which file.
        path: PathBuf,
        /// What was skipped, in words.
        why: String,
    },
    /// A pipe that is to be read again, and does not fit into memory.
    #[error("request file `{}` is no regular file and can be read only once", .0.display())]
    OnlyOnce(PathBuf),
    /// Told to stop while a pipe was waited for.
    #[error("request file `{}` had no request yet when the load was told to stop", .0.display())]
    Stopped(PathBuf),
    /// No thread to read it.
    #[error("the thread that reads traffic cannot be started")]
    Thread(#[source] Arc<io::Error>),
}

impl TrafficError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            TrafficError::Method(_) => "methods are words such as GET, HEAD or POST",
            TrafficError::Path(_) => {
                "a path begins with / and has spaces and control characters percent-encoded"
            }
            TrafficError::HeaderName(_) => {
                "header names are letters, digits and - such as X-Request-Id"
            }
            TrafficError::HeaderValue { .. } => "write a header a line, each with its own name",
            TrafficError::ContentLength { .. } => "leave it out: it is added where there is a body",
            TrafficError::Unreadable { .. } => "check that the file is there and may be read",
            TrafficError::Compressed(_) => "unpack it first: gunzip --keep FILE.gz",
            TrafficError::UnknownFormat { .. } => {
                "name its format: uri, uripost, request, access.log, har or jsonl"
            }
            TrafficError::Broken { hint, .. } => hint,
            TrafficError::Empty { .. } => "traffic is one request at least",
            TrafficError::OnlyOnce(_) => "send it once, or write it to a file first",
            TrafficError::Stopped(_) => "start the program that writes to the pipe",
            TrafficError::Thread(_) => "the system has no thread left: see ulimit -u",
        }
    }
}
