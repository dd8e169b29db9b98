//! What a trial fires at: a runtime that it starts and ends, or one that already runs.

use stampede_load::spec::Address;

use super::{Ctx, Subject};
use crate::causes::chain;
use crate::keeper::spec::{Exit, IsolationRecord, ProcessGroup};
use crate::live::Live;
use crate::monitor::Workers;
use crate::observed::Shown;
use crate::plan::model::RuntimeSource;
use crate::runtime::{self, App, LogMarks, Pool, Running};
use crate::store::TrialFolder;
use crate::store::record::{LoadRecord, Observed, RuntimeRecord, Said};

/// Either; what differs between them stands here and nowhere else.
pub enum Measured {
    /// Ours: it ends when this is dropped.
    Started(Box<Running>),
    /// Not ours.
    Live(Box<Live>),
}

/// Where requests go, and how they are written for it.
pub struct Door {
    /// To connect to.
    pub address: Address,
    /// For the header `Host`, where the plan does not give one; `None`: `localhost`.
    pub host: Option<String>,
    /// What stands before every path: empty, or `/shop`.
    pub base: String,
}

impl Measured {
    /// Starts the runtime, or finds it running. An error is in words.
    pub fn up(ctx: &Ctx<'_>, subject: &Subject<'_>) -> Result<Measured, String> {
        let choice = subject.runtime;
        match &choice.source {
            RuntimeSource::Live { url, watch } => Live::find(&choice.name, url, watch.as_ref())
                .map(|live| Measured::Live(Box::new(live)))
                .map_err(|error| chain(&error)),
            RuntimeSource::Catalogue(_) => {
                runtime::up(ctx.catalogue, choice, subject.app, ctx.placement)
                    .map(|running| Measured::Started(Box::new(running)))
                    .map_err(|error| chain(&error))
            }
        }
    }

    /// Starts a runtime of ours with its caches empty.
    pub fn up_cold(ctx: &Ctx<'_>, subject: &Subject<'_>) -> Result<Measured, String> {
        runtime::up_cold(ctx.catalogue, subject.runtime, subject.app, ctx.placement)
            .map(|running| Measured::Started(Box::new(running)))
            .map_err(|error| chain(&error))
    }

    /// The same, and nothing is asked of it.
    pub fn up_unasked(ctx: &Ctx<'_>, subject: &Subject<'_>) -> Result<Measured, String> {
        runtime::up_unasked(ctx.catalogue, subject.runtime, subject.app, ctx.placement)
            .map(|running| Measured::Started(Box::new(running)))
            .map_err(|error| chain(&error))
    }

    /// Folders of its copy of the app that were emptied before it started.
    pub fn emptied(&self) -> &[String] {
        match self {
            Measured::Started(running) => running.emptied(),
            Measured::Live(_) => &[],
        }
    }

    pub fn record(&self) -> RuntimeRecord {
        match self {
            Measured::Started(running) => running.record(),
            Measured::Live(live) => live.record(),
        }
    }

    pub fn isolation(&self) -> IsolationRecord {
        match self {
            Measured::Started(running) => running.isolation(),
            Measured::Live(live) => live.isolation(),
        }
    }

    pub fn door(&self) -> Door {
        match self {
            Measured::Started(running) => {
                Door { address: Address::Tcp(running.addr()), host: None, base: String::new() }
            }
            Measured::Live(live) => Door {
                address: live.address().clone(),
                host: Some(live.host().to_owned()),
                base: live.base().to_owned(),
            },
        }
    }

    pub fn group(&self) -> ProcessGroup {
        match self {
            Measured::Started(running) => running.group(),
            Measured::Live(live) => live.group(),
        }
    }

    pub fn verify(&self, app: &App) -> Result<Observed, String> {
        match self {
            Measured::Started(running) => {
                runtime::verify(running, app).map_err(|error| chain(&error))
            }
            Measured::Live(live) => live.verify(app).map_err(|error| chain(&error)),
        }
    }

    pub fn shown(&self, observed: Observed) -> Shown {
        match self {
            Measured::Started(running) => running.shown(observed),
            Measured::Live(live) => live.shown(observed),
        }
    }

    /// Processes of ours that ended by themselves so far.
    pub fn exited(&self) -> Vec<Exit> {
        match self {
            Measured::Started(running) => running.exited(),
            Measured::Live(_) => Vec::new(),
        }
    }

    /// Why what is watched is no longer what it was: its figures are not the runtime's. Asked
    /// once a second while the load runs, which is then stopped.
    pub fn gone(&self) -> Option<String> {
        match self {
            Measured::Started(running) => running.lost().map(|error| chain(&error)),
            Measured::Live(live) => live.gone(),
        }
    }

    /// What its database has answered so far; `None`: it has none, or nobody said where.
    pub fn queries(&self) -> Option<Result<u64, String>> {
        match self {
            Measured::Started(running) => running.queries(),
            Measured::Live(_) => None,
        }
    }

    /// How long its logs are now.
    pub fn log_marks(&self) -> LogMarks {
        match self {
            Measured::Started(running) => running.log_marks(),
            Measured::Live(_) => LogMarks::default(),
        }
    }

    /// How often a worker that is a thread has begun so far.
    pub fn threads_begun(&self) -> u64 {
        match self {
            Measured::Started(running) => running.threads_begun(),
            Measured::Live(_) => 0,
        }
    }

    /// The last lines that its processes said since.
    pub fn said_since(&self, marks: &LogMarks) -> Vec<String> {
        match self {
            Measured::Started(running) => running.said_since(marks),
            Measured::Live(_) => Vec::new(),
        }
    }

    /// How its workers are known; `None`: it does not say.
    pub fn workers(&self) -> Option<Workers> {
        match self {
            Measured::Started(running) => running.workers(),
            Measured::Live(_) => None,
        }
    }

    /// Its status page.
    pub fn pool(&self) -> Option<Pool> {
        match self {
            Measured::Started(running) => running.pool(),
            Measured::Live(_) => None,
        }
    }

    /// What its logs said since that tells of a limit or of a failure. An error is in words.
    pub fn said(&self, marks: &LogMarks) -> Result<Vec<Said>, String> {
        match self {
            Measured::Started(running) => running.said(marks).map_err(|error| chain(&error)),
            Measured::Live(_) => Ok(Vec::new()),
        }
    }

    /// Processes of ours that the kernel ended for want of memory, since their start.
    pub fn oom_kills(&self) -> u64 {
        match self {
            Measured::Started(running) => running.oom_kills(),
            Measured::Live(_) => 0,
        }
    }

    /// Whether it closed all connections that were to be kept, which of a runtime of ours is
    /// known beforehand.
    pub fn closes(&self, load: &LoadRecord) -> Option<String> {
        let all = load.counts.started > 0 && load.connections.opened >= load.counts.started;
        let many = load.counts.started > u64::from(load.in_flight_max);
        let is_live = matches!(self, Measured::Live(_));
        (is_live && load.keep_alive && all && many)
            .then(|| "it closed every connection after its answer: each shot had to connect".into())
    }

    /// Ends what is ours.
    pub fn stop(self) -> Result<Vec<Exit>, String> {
        match self {
            Measured::Started(running) => running.stop().map_err(|error| chain(&error)),
            Measured::Live(_) => Ok(Vec::new()),
        }
    }

    /// Ends what is ours, its logs kept first; says how each process ended.
    pub fn end(self, folder: &mut TrialFolder) -> Result<Vec<Exit>, String> {
        if let Measured::Started(running) = &self {
            let masked = |text| running.without_secrets(text);
            running.logs().iter().for_each(|log| folder.keep_log(log, masked));
        }
        self.stop()
    }
}
