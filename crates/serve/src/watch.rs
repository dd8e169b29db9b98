//! Finds what changed since the last look. A look lists directories and reads the current trial. A
//! whole run is read only after a trial has ended, because a measurement runs on the same machine.

use std::path::PathBuf;
use std::sync::Arc;

use stampede_results::history;
use stampede_results::report::LoadedRuns;
use stampede_results::report::page;
use stampede_results::store::{self, RunState, StoreError};

use super::shows::Site;

/// A server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Name of the event: `page`, `now`, `over` or `history`.
    pub event: &'static str,
    /// Data of the event, as JSON.
    pub data: String,
}

/// Watches a run, or the list of runs.
#[derive(Debug)]
pub struct Watch {
    site: Arc<Site>,
    of: Source,
    is_over: bool,
}

#[derive(Debug)]
enum Source {
    Run {
        name: String,
        /// Number of ended trials when the page was made.
        ended: usize,
        shown: Option<Box<LoadedRuns>>,
    },
    List {
        known: Vec<(PathBuf, RunState, usize)>,
    },
}

impl Watch {
    /// A watch for a run whose page has `ended` ended trials.
    pub fn run(site: Arc<Site>, name: &str, ended: usize) -> Watch {
        Watch {
            site,
            of: Source::Run { name: name.to_owned(), ended, shown: None },
            is_over: false,
        }
    }

    /// A watch for the list.
    pub fn list(site: Arc<Site>) -> Watch {
        let known = history::fingerprint(site.results());
        Watch { site, of: Source::List { known }, is_over: false }
    }

    /// Whether no more messages will come.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Looks once, and returns the messages about changes.
    pub fn poll(&mut self) -> Vec<Message> {
        match &mut self.of {
            Source::List { known } => {
                let now = history::fingerprint(self.site.results());
                if *known == now {
                    return Vec::new();
                }
                *known = now;
                vec![Message { event: "history", data: self.site.list() }]
            }
            Source::Run { name, ended, shown } => {
                let messages = poll_run(&self.site, name, ended, shown);
                // A run that no longer exists sends no more messages.
                let messages = messages.unwrap_or_else(|_| vec![end_message()]);
                self.is_over = messages.last().is_some_and(|last| *last == end_message());
                messages
            }
        }
    }
}

fn poll_run(
    site: &Site,
    name: &str,
    known: &mut usize,
    shown: &mut Option<Box<LoadedRuns>>,
) -> Result<Vec<Message>, StoreError> {
    let directory = site.directory(name)?;
    let ended = store::ended_trials(&directory).len();
    let read = || site.shown(&[name.to_owned()]).map(Box::new);
    let current = match shown.take() {
        Some(current) if ended == *known => current,
        _ => read()?,
    };
    let is_whole = current.stored().record.is_whole(ended);
    let state = RunState::of(&directory, is_whole);
    let mut messages = Vec::new();
    if state != RunState::UnderWay {
        // The run is read once more, because its last rows may have been written between the two
        // looks.
        messages.push(whole(site, name, &*read()?)?);
        messages.push(end_message());
    } else if ended != *known {
        messages.push(whole(site, name, &current)?);
    } else {
        let now = page::now(current.stored(), current.summary())?;
        messages.push(Message { event: "now", data: json(&now) });
    }
    *known = ended;
    *shown = Some(current);
    Ok(messages)
}

fn whole(site: &Site, name: &str, shown: &LoadedRuns) -> Result<Message, StoreError> {
    Ok(Message { event: "page", data: json(&site.run_data(name, shown)?) })
}

fn end_message() -> Message {
    Message { event: "over", data: "{}".to_owned() }
}

fn json(data: &impl serde::Serialize) -> String {
    serde_json::to_string(data).expect("string keys and numbers, nothing that JSON cannot hold")
}
