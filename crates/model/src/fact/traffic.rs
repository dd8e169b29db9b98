//! Reasons about the requests of a load, and how they were answered.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Before, Behind, Cause, Fact, Found, Nothing};
use crate::entry::{EntryError, ReadFailure, Skip};
use crate::kept::KeptLimit;
use crate::redirect::FollowedRedirects;
use crate::words;

/// Something about the requests of a load, or about their answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Traffic {
    /// Requests failed in one way.
    #[serde(rename = "requests_failed")]
    Failed {
        /// The kind of failure, as in `counts`.
        kind: String,
        /// Number of requests.
        requests: u64,
        /// Method and path of the first of them, cut where they are long.
        first: String,
        /// What the first of them got instead of a correct answer.
        found: String,
    },
    /// Correct answers had a body of another length than before the load.
    #[serde(rename = "unusual_lengths")]
    UnusualLengths {
        /// Number of such answers.
        answers: u64,
        /// Number of all correct answers.
        correct: u64,
        /// Method and path of the first of them, cut where they are long.
        first: String,
        /// Bytes of its body.
        body_bytes: u64,
    },
    /// The load was stopped before its end.
    #[serde(rename = "stopped")]
    Stopped {
        /// How long the load ran, in nanoseconds.
        lasted_ns: u64,
    },
    /// The user ended the trial before its load.
    #[serde(rename = "interrupted")]
    Interrupted {},
    /// No request was answered.
    #[serde(rename = "no_answer")]
    NoAnswer {
        /// Failures by kind, as in `counts`.
        failed: BTreeMap<String, u64>,
    },
    /// Every request was redirected.
    #[serde(rename = "all_redirected")]
    AllRedirected {
        /// Failures by kind, as in `counts`.
        failed: BTreeMap<String, u64>,
    },
    /// Some connections got no answer during the whole trial, while others did.
    #[serde(rename = "connections_starved")]
    Starved {
        /// Number of such connections.
        connections: u64,
        /// Number of connections that were opened.
        opened: u64,
        /// The most frequent failure on them. Left out if it was a timeout, or if nothing failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
    /// The server closed kept-alive connections just when a request was sent on them.
    #[serde(rename = "connections_closed")]
    ConnectionsClosed {
        /// Number of requests that failed for this reason.
        requests: u64,
        /// When the server closes kept connections. Left out if that is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<KeptLimit>,
    },
    /// The server closed every connection after its answer, although keep-alive was asked for.
    #[serde(rename = "connections_not_kept")]
    ConnectionsNotKept {},
    /// Connecting took a second or more: a listen queue was full, or a packet was lost.
    #[serde(rename = "slow_connects")]
    SlowConnects {
        /// Number of such connections.
        connections: u64,
        /// Number of connections that were opened.
        opened: u64,
    },
    /// Answers have headers that a strict client refuses.
    #[serde(rename = "odd_headers")]
    OddHeaders {
        /// `folded`, `blank-before-colon`, `no-field`, `empty-first`, `bare-lf`, `identity`,
        /// `repeated-length` or `status-line`.
        kind: String,
        /// Number of answers.
        answers: u64,
    },
    /// Answers were followed by bytes beyond their end.
    #[serde(rename = "bytes_after_answers")]
    BytesAfterAnswers {
        /// Number of answers.
        answers: u64,
        /// Number of requests that failed because such bytes came in place of their own answer.
        requests: u64,
    },
    /// PHP wrote to FastCGI's error stream.
    #[serde(rename = "fastcgi_error_stream")]
    ErrorStream {
        /// Number of bytes.
        bytes: u64,
    },
    /// The page redirects to another one.
    #[serde(rename = "redirected")]
    Redirected {
        /// The path that was requested.
        from: String,
        /// HTTP status of the first redirect.
        status: u16,
        /// The path at which the redirects end.
        to: String,
        /// Whether the load requests the page at which the redirects end.
        is_followed: bool,
    },
    /// Somebody logged in before the load.
    #[serde(rename = "logged_in")]
    LoggedIn {
        /// The path of the page with the form.
        path: String,
        /// How often: the sessions took turns with the requests.
        times: u64,
    },
    /// Not all requests were sent before the load and compared between runtimes.
    #[serde(rename = "pages_not_compared")]
    NotCompared {
        /// Number of requests of the load.
        requests: u64,
        /// Number of them that were compared.
        compared: u64,
    },
    /// The number of queries that reached the database.
    #[serde(rename = "database_queries")]
    Queries(Queries),
    /// The database does not report how many queries reached it.
    #[serde(rename = "database_queries_unknown")]
    QueriesUnknown {
        /// The reason.
        cause: Cause,
    },
    /// An expectation was not met, or cannot be judged.
    #[serde(rename = "not_met")]
    NotMet {
        /// The expectation as written: `p95 < 100ms`.
        expectation: String,
        /// The figure that was found. Null: not known.
        found: Option<Fact<Found>>,
    },
    /// The server did not keep up with the target rate.
    #[serde(rename = "fell_behind")]
    FellBehind {
        /// The reason.
        why: Behind,
    },
    /// There was no correct answer, or nothing was sent.
    #[serde(rename = "nothing_correct")]
    NothingCorrect(Nothing),
    /// The requests ended before the schedule.
    #[serde(rename = "requests_over")]
    RequestsOver {
        /// Number of requests.
        requests: u64,
        /// How long they lasted, in nanoseconds.
        after_ns: u64,
    },
    /// The request file could not be read to its end.
    #[serde(rename = "request_file_failed")]
    FileFailed {
        /// The reason.
        failure: ReadFailure,
    },
    /// Some entries of the request file are not valid requests.
    #[serde(rename = "request_file_broken")]
    FileBroken {
        /// Number of such entries.
        entries: u64,
        /// Line of the first such entry, counted from 1.
        line: u64,
        /// The error in the first such entry.
        error: EntryError,
    },
    /// Entries of the request file were left out.
    #[serde(rename = "request_file_skipped")]
    FileSkipped {
        /// Number of such entries.
        entries: u64,
        /// The reason.
        why: Skip,
    },
    /// A header that no client can send was left out of requests of the request file.
    #[serde(rename = "request_file_header")]
    FileHeader {
        /// Name of the header.
        name: String,
        /// Number of requests.
        requests: u64,
    },
    /// URLs of the request file name other hosts.
    #[serde(rename = "request_file_other_host")]
    FileOtherHost {
        /// One of these hosts.
        host: String,
    },
    /// The request file was shuffled in blocks, not as a whole.
    #[serde(rename = "request_file_shuffled")]
    FileShuffled {
        /// Number of requests in a block.
        within: u64,
    },
    /// Something was noticed before the first request.
    #[serde(rename = "before_load")]
    BeforeLoad {
        /// What was noticed.
        found: Before,
    },
}

/// Requests that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The kind of failure, as in `counts`.
    pub kind: String,
    /// Number of requests.
    pub requests: u64,
}

/// The number of queries that reached the database, and the number that the answers should have
/// needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queries {
    /// The number of queries that the database counted.
    pub reached: u64,
    /// The smallest expected number.
    pub expected_min: u64,
    /// The largest expected number. Null: there is no upper limit.
    pub expected_max: Option<u64>,
    /// SQLite runs inside the app, and nothing was counted: the app must declare that it counts its
    /// queries.
    #[serde(default)]
    pub may_be_uncounted: bool,
}

impl Queries {
    /// Whether the number of queries is as expected.
    pub fn fits(&self) -> bool {
        self.reached >= self.expected_min
            && self.expected_max.is_none_or(|most| self.reached <= most)
    }
}

impl fmt::Display for Queries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the database got {}", words::quantity(self.reached, "query"))?;
        let least = words::count(self.expected_min);
        let range = match self.expected_max {
            None => format!("{least} or more"),
            Some(most) if most == self.expected_min => least,
            Some(most) => format!("{least} to {}", words::count(most)),
        };
        match (self.fits(), self.expected_max) {
            (true, Some(_)) => f.write_str(", as expected"),
            _ => write!(f, "; expected {range}"),
        }?;
        match self.may_be_uncounted {
            true => f.write_str(
                "; SQLite queries are counted only if the app uses `DATABASE_COUNTED` (docs/apps.md)",
            ),
            false => Ok(()),
        }
    }
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Traffic::Stopped { lasted_ns } => {
                write!(f, "stopped after {:.1} s", *lasted_ns as f64 / 1e9)
            }
            Traffic::Interrupted {} => f.write_str("interrupted before the measured load"),
            Traffic::NoAnswer { failed } => write!(f, "no request was answered: {}", kinds(failed)),
            Traffic::AllRedirected { failed } => {
                write!(f, "every request was redirected: {}", kinds(failed))
            }
            Traffic::Starved { .. }
            | Traffic::ConnectionsClosed { .. }
            | Traffic::ConnectionsNotKept {}
            | Traffic::SlowConnects { .. } => self.of_connections(f),
            Traffic::Failed { kind, requests, first, found } => write!(
                f,
                "{} failed as `{kind}`, the first was `{first}`: {found}",
                words::quantity(*requests, "request")
            ),
            Traffic::UnusualLengths { answers, correct, first, body_bytes } => write!(
                f,
                "{} of the correct answers are less than half or more than twice as long as before \
                 the load, the first is that of `{first}` with {}; where pages differ that much by \
                 themselves, list their paths under `changing` in the plan's load",
                words::percent(*answers as f64 / (*correct).max(1) as f64 * 100.0),
                words::quantity(*body_bytes, "byte")
            ),
            Traffic::OddHeaders { kind, answers } => odd_headers(f, kind, *answers),
            Traffic::BytesAfterAnswers { answers, requests } => {
                bytes_after_answers(f, *answers, *requests)
            }
            Traffic::ErrorStream { bytes } => write!(
                f,
                "PHP wrote {} to FastCGI's error stream, mostly warnings; set `error_log` to read them",
                words::quantity(*bytes, "byte")
            ),
            Traffic::Redirected { from, status, to, is_followed } => {
                let (from, to) = (from.clone(), to.clone());
                FollowedRedirects { from, status: *status, to }.fmt(f)?;
                if *is_followed { f.write_str(": the load asks for that page") } else { Ok(()) }
            }
            Traffic::LoggedIn { path, times } => {
                write!(f, "logged in at `{path}`: {}", words::quantity(*times, "session"))
            }
            Traffic::NotCompared { requests, compared } => write!(
                f,
                "only the first {} of {} requests were compared between runtimes before the load",
                words::count(*compared),
                words::count(*requests)
            ),
            Traffic::Queries(queries) => queries.fmt(f),
            Traffic::QueriesUnknown { cause } => {
                write!(f, "the database does not tell how many queries reached it: {cause}")
            }
            Traffic::RequestsOver { requests, after_ns } => {
                let requests = words::quantity(*requests, "request");
                let after = words::time(*after_ns as f64);
                write!(
                    f,
                    "the request file ended after {requests} ({after}), before the schedule did"
                )
            }
            Traffic::NotMet { expectation, found } => match found {
                Some(found) => write!(f, "{expectation}: {found}"),
                None => write!(f, "{expectation}: not known"),
            },
            Traffic::FellBehind { why } => write!(f, "did not keep up: {why}"),
            Traffic::NothingCorrect(nothing) => nothing.fmt(f),
            Traffic::BeforeLoad { found } => found.fmt(f),
            _ => self.of_file(f),
        }
    }
}

impl Traffic {
    fn of_connections(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Traffic::Starved { connections, opened, failure } => {
                let (starved, opened) = (words::count(*connections), words::count(*opened));
                write!(f, "{starved} of {opened} connections got no answer in the whole trial: ")?;
                match failure {
                    None => f.write_str(
                        "the other connections kept all workers busy; use more workers, or `--keep-alive off`",
                    ),
                    Some(Failure { kind, requests }) => {
                        write!(f, "{} failed as `{kind}`", words::quantity(*requests, "request"))
                    }
                }
            }
            Traffic::ConnectionsClosed { requests, limit } => {
                let failed = words::count(*requests);
                write!(
                    f,
                    "{failed} of its requests failed because the server had closed the kept connection; a browser would \
                     send them again. "
                )?;
                kept_limit(f, *limit)
            }
            Traffic::ConnectionsNotKept {} => f.write_str(
                "it closed every connection after its answer: each request had to connect",
            ),
            Traffic::SlowConnects { connections, opened } => write!(
                f,
                "{} of {} connections took 1 s or more: a packet was lost, or the server's listen queue was full \
                 (`net.core.somaxconn`, the server's backlog)",
                words::count(*connections),
                words::count(*opened)
            ),
            _ => Ok(()),
        }
    }

    fn of_file(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Traffic::FileFailed { failure } => {
                write!(f, "the request file could not be read to its end: {failure}")
            }
            Traffic::FileBroken { entries: 1, line, error } => {
                write!(f, "line {line} of the request file is not a valid request: {error}")
            }
            Traffic::FileBroken { entries, line, error } => {
                let entries = words::count(*entries);
                write!(
                    f,
                    "{entries} entries of the request file are not valid requests; the first is in line {line}: {error}"
                )
            }
            Traffic::FileSkipped { entries, why } => {
                write!(f, "request file: {} skipped: {why}", words::quantity(*entries, "entry"))
            }
            Traffic::FileHeader { name, requests } => {
                let requests = words::quantity(*requests, "request");
                write!(f, "header `{name}` was left out of {requests}: no client can send it")
            }
            Traffic::FileOtherHost { host } => write!(
                f,
                "request file: URLs name other hosts, such as `{host}`; all requests went to the load's own address, \
                 with that name as `Host`"
            ),
            Traffic::FileShuffled { within } => {
                write!(
                    f,
                    "request file: shuffled in blocks of about {} requests, not as a whole",
                    words::count(*within)
                )
            }
            _ => Ok(()),
        }
    }
}

/// Kinds of failure with their counts: `1 200 × `net:refused`, 3 × `net:reset``.
fn kinds(failed: &BTreeMap<String, u64>) -> String {
    let each = failed.iter().map(|(kind, count)| format!("{} × `{kind}`", words::count(*count)));
    each.collect::<Vec<_>>().join(", ")
}

/// When the server closes kept connections, and what to do about it.
fn kept_limit(f: &mut fmt::Formatter<'_>, limit: Option<KeptLimit>) -> fmt::Result {
    match limit {
        None => f.write_str(
            "Servers do that when all their threads are busy: use a longer `--warm-up`, or `--keep-alive off`",
        ),
        Some(KeptLimit::Answers { answers }) => {
            let answers = words::quantity(answers, "answer");
            write!(
                f,
                "It closes kept connections after {answers}: raise that limit, or use `--keep-alive off`"
            )
        }
        Some(KeptLimit::Idle { answered_ns, closed_ns }) => {
            // Half as long still worked: then the shortest time is close to the limit.
            let is_close = answered_ns >= closed_ns / 2;
            let (about, or_less) = if is_close { ("about ", "") } else { ("", " or less") };
            let idle = words::time(closed_ns as f64);
            write!(
                f,
                "It closes connections that are idle for {about}{idle}{or_less}: raise that limit, or use \
                 `--keep-alive off`"
            )
        }
    }
}

fn bytes_after_answers(f: &mut fmt::Formatter<'_>, answers: u64, requests: u64) -> fmt::Result {
    let were = if answers == 1 { "was" } else { "were" };
    let answers = words::quantity(answers, "answer");
    write!(
        f,
        "{answers} {were} followed by bytes beyond the end (often a wrong `Content-Length`), and the connection was \
         replaced"
    )?;
    match requests {
        0 => Ok(()),
        some => {
            let requests = words::quantity(some, "request");
            write!(f, "; {requests} failed because such bytes came in place of an answer")
        }
    }
}

fn odd_headers(f: &mut fmt::Formatter<'_>, kind: &str, answers: u64) -> fmt::Result {
    let what = match kind {
        "folded" => "folded header lines; a fold is read as one space",
        "blank-before-colon" => "a blank before the colon of a header; it is ignored",
        "no-field" => "header lines without a valid name; they are ignored, as in browsers",
        "empty-first" => "empty lines before the status line; they are ignored, as in browsers",
        "bare-lf" => "lines that end with LF alone, without CR",
        "identity" => "`Transfer-Encoding: identity`, which is obsolete; it is ignored",
        "repeated-length" => "`Content-Length` more than once, with equal values",
        "status-line" => "several blanks before the status; they are read as one",
        other => other,
    };
    match answers {
        1 => write!(f, "1 answer has {what}"),
        many => write!(f, "{} answers have {what}", words::count(many)),
    }
}
