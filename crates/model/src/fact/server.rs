//! Reasons about the measured stack, and about the app in it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cause, Mismatch, pages};
use crate::record::PageRecord;
use crate::redirect::{FollowedRedirects, RedirectLoop};
use crate::words;

/// Something that the stack or its app did, or could not do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Server {
    /// The runtime could not be started, checked or stopped.
    #[serde(rename = "runtime_failed")]
    Failed {
        /// The reason, with the last lines of its logs.
        cause: Cause,
    },
    /// Pages of the load return an error, already before the load.
    #[serde(rename = "page_fails")]
    PageFails {
        /// Number of such pages.
        count: u32,
        /// The first of them.
        pages: Vec<PageRecord>,
        /// The last lines of the logs, one per line.
        log: String,
    },
    /// The pages of the load redirect, already before the load. Some may also fail with a client
    /// error.
    #[serde(rename = "page_redirects")]
    PageRedirects {
        /// Number of pages that were requested.
        count: u32,
        /// The first of them.
        pages: Vec<PageRecord>,
        /// Where the redirects of the app's own page end. Null: it was not requested, or does not
        /// redirect.
        followed: Option<FollowedRedirects>,
        /// A page with more redirects than a client follows. Null: there is none.
        endless: Option<RedirectLoop>,
    },
    /// PHP ended with a fatal error before the load.
    #[serde(rename = "php_error_before_load")]
    PhpErrorBefore {
        /// The error's line in the log.
        first: String,
    },
    /// PHP ended with fatal errors under the load.
    #[serde(rename = "php_errors")]
    PhpErrors {
        /// Number of lines in the log.
        lines: u64,
        /// How many of these ended a request that counts as failed, because its status was 500. The
        /// others were answered as if they were right. 0 also in results of earlier versions.
        #[serde(default)]
        failed: u64,
        /// The first line.
        first: String,
    },
    /// PHP logged warnings, notices or deprecations under the load.
    #[serde(rename = "php_messages")]
    PhpMessages {
        /// Number of messages.
        messages: u64,
        /// Number of messages for each request.
        per_request: f64,
        /// The first message.
        first: String,
    },
    /// The app sent mail, which did not leave the machine.
    #[serde(rename = "mail_caught")]
    MailCaught {
        /// Number of mails during the load.
        mails: u64,
    },
    /// Requests waited for the lock of their PHP session.
    #[serde(rename = "session_lock")]
    SessionLock {
        /// Number of looks at the server during the load.
        looks: u64,
        /// Number of looks at which a request waited.
        waiting: u64,
        /// The most requests that waited at one look.
        requests_max: u64,
    },
    /// Whether requests waited for their session cannot be seen.
    #[serde(rename = "sessions_unseen")]
    SessionsUnseen {},
    /// The app, or the web server, was not allowed to use a file.
    #[serde(rename = "permission_denied")]
    PermissionDenied {
        /// Number of lines in the log.
        lines: u64,
        /// The first paths, those of the app relative to its directory. Empty: no line has one.
        paths: Vec<String>,
    },
    /// The disk of the runtime's working directory had no space left.
    #[serde(rename = "disk_full")]
    DiskFull {
        /// Where its file system is mounted.
        at: String,
    },
    /// The runtime is gone.
    #[serde(rename = "runtime_gone")]
    Gone {
        /// How that was noticed.
        cause: Cause,
    },
    /// The runtime could not be checked after the load.
    #[serde(rename = "failed_after_load")]
    FailedAfter {
        /// The reason.
        cause: Cause,
    },
    /// The runtime's observed properties changed during the load.
    #[serde(rename = "changed_under_load")]
    Changed {
        /// The property that changed.
        difference: Mismatch,
    },
    /// The app's answer changed during the load.
    #[serde(rename = "answer_changed")]
    AnswerChanged {
        /// The first line that differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
    },
    /// Only numbers in the app's answer changed during the load.
    #[serde(rename = "answer_numbers_changed")]
    NumbersChanged {
        /// The first line that differs.
        shown: String,
    },
    /// The runtime has another number of workers than was asked for.
    #[serde(rename = "workers_differ")]
    Workers {
        /// The number that was observed.
        workers: u32,
        /// The number that was asked for.
        asked: u32,
    },
    /// A process of the stack ended by itself.
    #[serde(rename = "process_ended")]
    ProcessEnded {
        /// The role of the process.
        role: String,
        /// The signal that ended it. Null: none did.
        signal: Option<i32>,
        /// The exit code. Null: there is none.
        exit_code: Option<i32>,
        /// Whether it ended before the load.
        is_before_load: bool,
    },
    /// Processes or worker threads were started under load.
    #[serde(rename = "workers_replaced")]
    Replaced {
        /// Number of them.
        started: u64,
        /// Whether they are threads. False: processes.
        threads: bool,
        /// Whether the setting `max_requests` asks for that.
        is_asked: bool,
        /// Log lines from that time.
        log: Vec<String>,
    },
    /// The stack's log lines could not be understood. Only records of earlier versions have it: what
    /// log lines mean is read with the runtime.
    #[serde(rename = "log_unreadable")]
    LogUnreadable {
        /// The reason.
        cause: Cause,
    },
    /// The runtime had no request before the load.
    #[serde(rename = "cold")]
    Cold {
        /// What OPcache held. Null: OPcache is off, or was not observed.
        opcache: Option<ColdOpcache>,
        /// Directories that were emptied before the start.
        emptied: Vec<String>,
    },
    /// A cold start was asked for, but the runtime was already running.
    #[serde(rename = "not_cold")]
    NotCold {},
    /// OPcache preloaded files.
    #[serde(rename = "preloaded")]
    Preloaded {
        /// Number of files.
        files: u32,
    },
    /// Preloading was asked for, but nothing is preloaded.
    #[serde(rename = "nothing_preloaded")]
    NothingPreloaded {
        /// The file that was asked for.
        preload: String,
    },
    /// The row is not measured at all.
    #[serde(rename = "skipped")]
    Skipped {
        /// The reason.
        cause: Cause,
        /// What the user can do, in English. Null: nothing helps.
        todo: Option<String>,
    },
    /// Keep-alive does not suit this runtime.
    #[serde(rename = "keep_alive_unfit")]
    KeepAliveUnfit {
        /// The reason.
        unfit: Unfit,
    },
    /// No trial was finished.
    #[serde(rename = "no_trial")]
    NoTrial {},
}

/// The reason why keep-alive does not suit a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Unfit {
    /// The runtime holds a worker per connection, so some connections would never get an answer.
    Starves {
        /// Number of its workers.
        workers: u32,
        /// The most connections that there may be.
        connections: u32,
    },
    /// The runtime closes every connection, so its times would include connecting and the others'
    /// would not.
    Closes {},
}

impl Unfit {
    /// What the user can do.
    fn todo(self) -> String {
        match self {
            Unfit::Starves { workers, connections } => format!(
                "`keep_alive: false`, `workers: {connections}`, `max_in_flight: {workers}`, or \
                 `front: nginx`"
            ),
            Unfit::Closes {} => "`keep_alive: false` or `front: nginx`".to_owned(),
        }
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Starves { workers, connections } => write!(
                f,
                "keeps a worker busy for each open connection, and has {} for up to {}",
                words::quantity(u64::from(*workers), "worker"),
                words::quantity(u64::from(*connections), "connection")
            ),
            Unfit::Closes {} => f.write_str("closes every connection after its answer"),
        }
    }
}

/// Writes an error, and what the user can do about it.
pub(super) fn with_todo(
    f: &mut fmt::Formatter<'_>,
    cause: &Cause,
    todo: Option<&str>,
) -> fmt::Result {
    fmt::Display::fmt(cause, f)?;
    todo.map_or(Ok(()), |todo| write!(f, "; {todo}"))
}

/// What a cold OPcache held when the load began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColdOpcache {
    /// It was empty.
    Empty,
    /// It held the preloaded files.
    Preloaded,
    /// It held the files that the workers load at boot.
    Booted,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Server::Failed { cause } | Server::LogUnreadable { cause } | Server::Gone { cause } => {
                f.write_str(&cause.with_todo())
            }
            Server::PageFails { count, pages, log } => {
                write!(f, "{}{log}", pages::failing(pages, *count as usize))
            }
            Server::PageRedirects { endless: Some(endless), .. } => endless.fmt(f),
            Server::PageRedirects { count, pages, followed, endless: None } => {
                f.write_str(&pages::redirected(followed.as_ref(), pages, *count as usize))
            }
            Server::Skipped { cause, todo } => with_todo(f, cause, todo.as_deref()),
            Server::KeepAliveUnfit { unfit } => write!(f, "it {unfit}; use {}", unfit.todo()),
            Server::PhpErrorBefore { first } => {
                write!(
                    f,
                    "a page of the load ends in a PHP error, already before the load: `{first}`"
                )
            }
            Server::PhpErrors { lines, failed, first } => {
                let count = words::quantity(*lines, "line");
                let failed = match *failed {
                    0 => String::new(),
                    failed if failed == *lines => {
                        ", all of them in requests that failed with status 500".to_owned()
                    }
                    failed => format!(
                        ", {} of them in requests that failed with status 500",
                        words::count(failed)
                    ),
                };
                write!(
                    f,
                    "PHP ended with fatal errors under the load ({count} in the log{failed}): `{first}`"
                )
            }
            Server::PhpMessages { messages, per_request, first } => match *per_request >= 0.01 {
                true => write!(
                    f,
                    "PHP logged {} messages per request, which takes time: `{first}`",
                    words::significant(*per_request)
                ),
                false => {
                    write!(f, "PHP logged {}: `{first}`", words::quantity(*messages, "message"))
                }
            },
            Server::MailCaught { .. }
            | Server::SessionLock { .. }
            | Server::SessionsUnseen {}
            | Server::DiskFull { .. }
            | Server::PermissionDenied { .. } => self.of_app(f),
            Server::FailedAfter { cause } => write!(f, "after the load: {}", cause.with_todo()),
            Server::Changed { difference } => write!(f, "after the load: {difference}"),
            Server::AnswerChanged { shown } => {
                f.write_str("the app's answer changed during the load")?;
                shown.as_ref().map_or(Ok(()), |shown| write!(f, ": {shown}"))
            }
            Server::NumbersChanged { shown } => {
                write!(f, "numbers in the app's answer changed by themselves: {shown}")
            }
            Server::Workers { workers, asked } => {
                let workers = words::quantity(u64::from(*workers), "worker");
                write!(f, "it has {workers} instead of the {asked} asked for")
            }
            Server::NoTrial {} => f.write_str("no trial of it was finished"),
            _ => self.of_processes(f),
        }
    }
}

impl Server {
    /// What the app did.
    fn of_app(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Server::MailCaught { mails } => write!(
                f,
                "the app sent {} with `mail()`, none of which left this machine",
                words::quantity(*mails, "mail")
            ),
            Server::SessionsUnseen {} => f.write_str(
                "the app does not keep its sessions in files, so whether requests waited for their session cannot be \
                 seen; `--sessions N`, as many as requests at a time, rules it out",
            ),
            Server::SessionLock { looks, waiting, requests_max } => write!(
                f,
                "requests waited for the lock of their PHP session, {} of the time, up to {} at once: PHP serves \
                 the requests of one session one after the other, so fewer sessions than requests at a time \
                 limit the throughput (`--login PATH --sessions N`)",
                words::percent((*waiting as f64 * 100.0 / (*looks).max(1) as f64).round()),
                words::count(*requests_max)
            ),
            Server::DiskFull { at } => write!(
                f,
                "the file system at `{at}` was full after the load, so the app and the logs could not write there: \
                 free some space on it, or set TMPDIR to a directory of another one"
            ),
            Server::PermissionDenied { lines, paths } => {
                let lines = words::number_of(u32::try_from(*lines).unwrap_or(u32::MAX), "line");
                write!(f, "the logs say \"Permission denied\" ({lines})")?;
                let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
                match names.is_empty() {
                    true => Ok(()),
                    false => write!(
                        f,
                        ": {}; if the app should write there, name it with `--writable PATH`",
                        words::some_of(&names)
                    ),
                }
            }
            _ => Ok(()),
        }
    }

    fn of_processes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Server::ProcessEnded { role, signal, exit_code, is_before_load } => {
                let when = if *is_before_load { "before" } else { "during" };
                match signal {
                    Some(signal) => write!(f, "`{role}` ended by signal {signal} {when} the load"),
                    None => {
                        let code = exit_code.unwrap_or(0);
                        write!(f, "`{role}` ended with code {code} {when} the load")
                    }
                }
            }
            Server::Replaced { started, threads, is_asked, log } => {
                let what = match (threads, started) {
                    (false, 1) => "process was",
                    (false, _) => "processes were",
                    (true, 1) => "worker thread was",
                    (true, _) => "worker threads were",
                };
                let asked = if *is_asked { " (expected: `max_requests` is set)" } else { "" };
                write!(f, "{} {what} started under load{asked}", words::count(*started))?;
                match log.is_empty() {
                    true => Ok(()),
                    false => write!(f, "; its log said: {}", log.join(" / ")),
                }
            }
            Server::Cold { opcache, emptied } => cold(f, *opcache, emptied),
            Server::NotCold {} => f.write_str("not cold: it was already running"),
            Server::Preloaded { files: 1 } => f.write_str("1 file was preloaded"),
            Server::Preloaded { files } => {
                write!(f, "{} files were preloaded", words::count(u64::from(*files)))
            }
            Server::NothingPreloaded { preload } => {
                write!(f, "`preload: {preload}` was asked for, and nothing is preloaded")
            }
            _ => Ok(()),
        }
    }
}

fn cold(
    f: &mut fmt::Formatter<'_>,
    opcache: Option<ColdOpcache>,
    emptied: &[String],
) -> fmt::Result {
    f.write_str("cold start: no request before the load")?;
    if let Some(opcache) = opcache {
        f.write_str(match opcache {
            ColdOpcache::Booted => "; OPcache already had the files that the workers load at boot",
            ColdOpcache::Preloaded => "; OPcache had what was preloaded",
            ColdOpcache::Empty => "; OPcache was empty",
        })?;
    }
    if emptied.is_empty() {
        return Ok(());
    }
    let directories: Vec<String> =
        emptied.iter().map(|directory| format!("`{directory}`")).collect();
    let were = if directories.len() == 1 { "was" } else { "were" };
    write!(f, "; {} {were} emptied before the start", words::list(&directories))
}
