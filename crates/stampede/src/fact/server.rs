//! Reasons about the stack that was measured, and the app in it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cause, Mismatch, pages};
use crate::runtime::{Endless, Followed};
use crate::store::record::PageRecord;
use crate::summary::words;

/// What the stack or its app did, or could not do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Server {
    /// The runtime could not be started, asked or ended.
    #[serde(rename = "runtime_failed")]
    Failed {
        /// Why, with the last lines of its logs.
        cause: Cause,
    },
    /// A page of the load is answered with an error, before the load.
    #[serde(rename = "page_fails")]
    PageFails {
        /// How many pages are answered so.
        count: u32,
        /// The first of them.
        pages: Vec<PageRecord>,
        /// The last lines of the logs, each on a line of its own.
        log: String,
    },
    /// The pages of the load are redirected, before the load.
    #[serde(rename = "page_redirects")]
    PageRedirects {
        /// How many pages were asked.
        count: u32,
        /// The first of them.
        pages: Vec<PageRecord>,
        /// Where the redirects of the app's own page led; null: it was not asked, or has none.
        followed: Option<Followed>,
        /// What redirects more often than anybody follows; null: nothing does.
        endless: Option<Endless>,
    },
    /// PHP ended with a fatal error before the load.
    #[serde(rename = "php_error_before_load")]
    PhpErrorBefore {
        /// Its line in the log.
        first: String,
    },
    /// PHP ended with fatal errors under the load.
    #[serde(rename = "php_errors")]
    PhpErrors {
        /// Lines in the log.
        lines: u64,
        /// The first.
        first: String,
    },
    /// The runtime is gone.
    #[serde(rename = "runtime_gone")]
    Gone {
        /// How that shows.
        cause: Cause,
    },
    /// The runtime could not be asked after the load.
    #[serde(rename = "failed_after_load")]
    FailedAfter {
        /// Why.
        cause: Cause,
    },
    /// The runtime shows itself otherwise after the load than before it.
    #[serde(rename = "changed_under_load")]
    Changed {
        /// In what.
        difference: Mismatch,
    },
    /// The app's answer was another one after the load than before it.
    #[serde(rename = "answer_changed")]
    AnswerChanged {
        /// The first line that differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
    },
    /// Only numbers in the app's answer were others after the load.
    #[serde(rename = "answer_numbers_changed")]
    NumbersChanged {
        /// The first line that differs.
        shown: String,
    },
    /// The runtime has another number of workers than was asked for.
    #[serde(rename = "workers_differ")]
    Workers {
        /// Seen.
        workers: u32,
        /// Asked for.
        asked: u32,
    },
    /// A process ended by itself.
    #[serde(rename = "process_ended")]
    ProcessEnded {
        /// Its role.
        role: String,
        /// The signal that ended it.
        signal: Option<i32>,
        /// Its exit code.
        exit_code: Option<i32>,
        /// Whether that was before the load.
        is_before_load: bool,
    },
    /// Processes or worker threads were started under load.
    #[serde(rename = "workers_replaced")]
    Replaced {
        /// How many.
        started: u64,
        /// Whether they are threads.
        threads: bool,
        /// Whether `max_requests` asks for such.
        is_asked: bool,
        /// What the logs said meanwhile.
        log: Vec<String>,
    },
    /// The stack's log lines could not be understood.
    #[serde(rename = "log_unreadable")]
    LogUnreadable {
        /// Why.
        cause: Cause,
    },
    /// Nothing had been asked of it when the load began.
    #[serde(rename = "cold")]
    Cold {
        /// What OPcache had.
        opcache: Option<ColdOpcache>,
        /// Directories that were emptied before.
        emptied: Vec<String>,
    },
    /// It was to be cold, and was already running.
    #[serde(rename = "not_cold")]
    NotCold {},
    /// Files were preloaded.
    #[serde(rename = "preloaded")]
    Preloaded {
        /// How many.
        files: u32,
    },
    /// Preloading was asked for, and nothing is preloaded.
    #[serde(rename = "nothing_preloaded")]
    NothingPreloaded {
        /// The file that was asked for.
        preload: String,
    },
    /// The row is not measured at all.
    #[serde(rename = "skipped")]
    Skipped {
        /// Why.
        cause: Cause,
        /// What to do, in English; null: nothing helps.
        todo: Option<String>,
    },
    /// Kept connections do not suit this runtime.
    #[serde(rename = "keep_alive_unfit")]
    KeepAliveUnfit {
        /// Why.
        unfit: Unfit,
    },
    /// No trial was finished.
    #[serde(rename = "no_trial")]
    NoTrial {},
}

/// Why kept connections do not suit a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Unfit {
    /// Some would wait for ever.
    Starves {
        /// Workers that it has.
        workers: u32,
        /// Connections that there may be.
        connections: u32,
    },
    /// It would be measured with connecting, and the others without.
    Closes {},
}

impl Unfit {
    /// What helps.
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
                "holds a worker per connection and has {workers} workers for up to {connections} \
                 connections"
            ),
            Unfit::Closes {} => f.write_str("closes every connection after its answer"),
        }
    }
}

/// An error and what to do about it.
pub(super) fn with_todo(
    f: &mut fmt::Formatter<'_>,
    cause: &Cause,
    todo: Option<&str>,
) -> fmt::Result {
    fmt::Display::fmt(cause, f)?;
    todo.map_or(Ok(()), |todo| write!(f, "; {todo}"))
}

/// What a cold OPcache had when the load began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ColdOpcache {
    /// Nothing.
    Empty,
    /// What was preloaded.
    Preloaded,
    /// What the workers boot with.
    Booted,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Server::Failed { cause } | Server::LogUnreadable { cause } | Server::Gone { cause } => {
                cause.fmt(f)
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
            Server::PhpErrors { lines, first } => {
                let lines = words::number_of(u32::try_from(*lines).unwrap_or(u32::MAX), "line");
                write!(
                    f,
                    "PHP ended with fatal errors under the load ({lines} in the log): `{first}`"
                )
            }
            Server::FailedAfter { cause } => write!(f, "after the load: {cause}"),
            Server::Changed { difference } => write!(f, "after the load: {difference}"),
            Server::AnswerChanged { shown } => {
                f.write_str("the app's answer changed during the load")?;
                shown.as_ref().map_or(Ok(()), |shown| write!(f, ": {shown}"))
            }
            Server::NumbersChanged { shown } => {
                write!(f, "numbers in the app's answer changed by themselves: {shown}")
            }
            Server::Workers { workers, asked } => {
                write!(f, "{workers} workers instead of the {asked} asked for")
            }
            Server::NoTrial {} => f.write_str("no trial of it was finished"),
            _ => self.of_processes(f),
        }
    }
}

impl Server {
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
            ColdOpcache::Booted => "; OPcache had what its workers boot with",
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
