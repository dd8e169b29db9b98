//! What a trial sends to: a runtime that it starts and ends, or one that already runs.

use stampede_load::spec::Address;

use super::{Ctx, Gone, NotMeasured, Subject};
use crate::external::External;
use crate::keeper::spec::{Exit, IsolationRecord, ProcessGroup};
use crate::monitor::Workers;
use crate::observed::Shown;
use crate::plan::model::{RequestSpec, RuntimeSource};
use crate::runtime::{
    self, App, Arrived, CountError, LogMarks, PageRequest, PhpErrors, Pool, Running, RuntimeError,
};
use crate::store::TrialDirectory;
use crate::store::record::{LoadRecord, Observed, RuntimeRecord, Said};

/// Either; what differs between them stands here and nowhere else.
pub enum Measured {
    /// Ours: it ends when this is dropped.
    Started(Box<Running>),
    /// Not ours.
    External(Box<Existing>),
}

/// What already runs, and what shows that its app works.
pub struct Existing {
    external: External,
    page: PageRequest,
    arrived: Option<Arrived>,
}

/// Where requests go, and how they are written for it.
pub struct RequestTarget {
    /// To connect to.
    pub address: Address,
    /// For the header `Host`, where the plan does not give one; `None`: `localhost`.
    pub host: Option<String>,
    /// What stands before every path: empty, or `/shop`.
    pub base: String,
}

/// The page that shows whether the app works, where this is measured.
fn page(subject: &Subject<'_>) -> PageRequest {
    PageRequest::of(subject.app, &subject.load.requests)
}

impl Measured {
    /// Starts the runtime, or finds it running.
    pub fn up(ctx: &Ctx<'_>, subject: &Subject<'_>) -> Result<Measured, NotMeasured> {
        let choice = subject.runtime;
        let page = page(subject);
        match &choice.source {
            RuntimeSource::External { url, watch } => {
                let external = External::find(&choice.name, url, watch.as_ref())?;
                Ok(Measured::External(Box::new(Existing { external, page, arrived: None })))
            }
            RuntimeSource::Catalogue(_) => {
                let running = runtime::up(ctx.catalogue, choice, subject.app, ctx.placement, page)?;
                Ok(Measured::Started(Box::new(running)))
            }
        }
    }

    /// Starts a runtime of ours with its caches empty.
    pub fn up_cold(ctx: &Ctx<'_>, subject: &Subject<'_>) -> Result<Measured, NotMeasured> {
        let page = page(subject);
        let running =
            runtime::up_cold(ctx.catalogue, subject.runtime, subject.app, ctx.placement, page)?;
        Ok(Measured::Started(Box::new(running)))
    }

    /// The same, and nothing is asked of it. `page` is the one that the app's redirects led to in
    /// an earlier start.
    pub fn up_unasked(
        ctx: &Ctx<'_>,
        subject: &Subject<'_>,
        page: PageRequest,
    ) -> Result<Measured, NotMeasured> {
        let running =
            runtime::up_unasked(ctx.catalogue, subject.runtime, subject.app, ctx.placement, page)?;
        Ok(Measured::Started(Box::new(running)))
    }

    /// Whether stampede started it.
    pub fn is_ours(&self) -> bool {
        matches!(self, Measured::Started(_))
    }

    /// Asks what already runs for the page that shows that its app works; one of ours was asked
    /// when it started.
    pub fn arrive(&mut self, app: &App) -> Result<(), NotMeasured> {
        if let Measured::External(one) = self {
            let arrived = one.external.arrive(app, &one.page)?;
            one.page.path = Some(arrived.path.clone());
            one.arrived = Some(arrived);
        }
        Ok(())
    }

    /// What its page answered at first; `None`: it was not asked.
    pub fn arrived(&self) -> Option<&Arrived> {
        match self {
            Measured::Started(running) => running.arrived(),
            Measured::External(one) => one.arrived.as_ref(),
        }
    }

    /// The page that shows that its app works, as redirects led to it.
    pub fn page(&self) -> PageRequest {
        match self {
            Measured::Started(running) => running.page(),
            Measured::External(one) => one.page.clone(),
        }
    }

    /// The last lines of its logs, secrets masked; empty where there are none.
    pub fn last_lines(&self) -> String {
        match self {
            Measured::Started(running) => running.last_lines(),
            Measured::External(_) => String::new(),
        }
    }

    /// `text` with the values of its app's secret variables masked.
    pub fn without_secrets(&self, text: String) -> String {
        match self {
            Measured::Started(running) => running.without_secrets(text),
            Measured::External(_) => text,
        }
    }

    /// Fatal errors of PHP that its logs have had since.
    pub fn php_errors(&self, marks: &LogMarks) -> Option<PhpErrors> {
        match self {
            Measured::Started(running) => running.php_errors(marks),
            Measured::External(_) => None,
        }
    }

    /// Directories of its copy of the app that were emptied before it started.
    pub fn emptied(&self) -> &[String] {
        match self {
            Measured::Started(running) => running.emptied(),
            Measured::External(_) => &[],
        }
    }

    pub fn record(&self) -> RuntimeRecord {
        match self {
            Measured::Started(running) => running.record(),
            Measured::External(one) => one.external.record(),
        }
    }

    pub fn isolation(&self) -> IsolationRecord {
        match self {
            Measured::Started(running) => running.isolation(),
            Measured::External(one) => one.external.isolation(),
        }
    }

    pub fn request_target(&self) -> RequestTarget {
        match self {
            Measured::Started(running) => RequestTarget {
                address: Address::Tcp(running.addr()),
                host: None,
                base: String::new(),
            },
            Measured::External(one) => RequestTarget {
                address: one.external.address().clone(),
                host: Some(one.external.host().to_owned()),
                base: one.external.base().to_owned(),
            },
        }
    }

    pub fn group(&self) -> ProcessGroup {
        match self {
            Measured::Started(running) => running.group(),
            Measured::External(one) => one.external.group(),
        }
    }

    /// What it shows of itself, and what it answers to these requests.
    pub fn verify(&self, app: &App, requests: &[&RequestSpec]) -> Result<Observed, NotMeasured> {
        match self {
            Measured::Started(running) => Ok(runtime::verify_pages(running, app, requests)?),
            Measured::External(one) => Ok(one.external.verify(app, &one.page, requests)?),
        }
    }

    /// The page as it is compared; `None`: it does not answer, or not correctly.
    pub fn answer(&self, app: &App) -> Option<String> {
        match self {
            Measured::Started(running) => runtime::answer_of(running, app).ok(),
            Measured::External(one) => one.external.answer(app, &one.page).ok(),
        }
    }

    pub fn shown(&self, observed: Observed) -> Shown {
        match self {
            Measured::Started(running) => running.shown(observed),
            Measured::External(one) => one.external.shown(observed),
        }
    }

    /// Processes of ours that ended by themselves so far.
    pub fn exited(&self) -> Vec<Exit> {
        match self {
            Measured::Started(running) => running.exited(),
            Measured::External(_) => Vec::new(),
        }
    }

    /// Why what is watched is no longer what it was: its figures are not the runtime's. Asked
    /// once a second while the load runs, which is then stopped.
    pub fn gone(&self) -> Option<Gone> {
        match self {
            Measured::Started(running) => running.lost().map(Gone::Lost),
            Measured::External(one) => one.external.gone().map(|watch| Gone::Ended { watch }),
        }
    }

    /// What its database has answered so far; `None`: it has none, or nobody said where.
    pub fn queries(&self) -> Option<Result<u64, CountError>> {
        match self {
            Measured::Started(running) => running.queries(),
            Measured::External(_) => None,
        }
    }

    /// How long its logs are now.
    pub fn log_marks(&self) -> LogMarks {
        match self {
            Measured::Started(running) => running.log_marks(),
            Measured::External(_) => LogMarks::default(),
        }
    }

    /// How often a worker that is a thread has begun so far.
    pub fn threads_begun(&self) -> u64 {
        match self {
            Measured::Started(running) => running.threads_begun(),
            Measured::External(_) => 0,
        }
    }

    /// The last lines that its processes said since.
    pub fn said_since(&self, marks: &LogMarks) -> Vec<String> {
        match self {
            Measured::Started(running) => running.said_since(marks),
            Measured::External(_) => Vec::new(),
        }
    }

    /// How its workers are known; `None`: it does not say.
    pub fn workers(&self) -> Option<Workers> {
        match self {
            Measured::Started(running) => running.workers(),
            Measured::External(_) => None,
        }
    }

    /// Its status page.
    pub fn pool(&self) -> Option<Pool> {
        match self {
            Measured::Started(running) => running.pool(),
            Measured::External(_) => None,
        }
    }

    /// What its logs said since that tells of a limit or of a failure.
    ///
    /// # Errors
    /// A log cannot be read.
    pub fn said(&self, marks: &LogMarks) -> Result<Vec<Said>, RuntimeError> {
        match self {
            Measured::Started(running) => running.said(marks),
            Measured::External(_) => Ok(Vec::new()),
        }
    }

    /// Processes of ours that the kernel ended for want of memory, since their start.
    pub fn oom_kills(&self) -> u64 {
        match self {
            Measured::Started(running) => running.oom_kills(),
            Measured::External(_) => 0,
        }
    }

    /// Whether it closed all connections that were to be kept, which of a runtime of ours is
    /// known beforehand.
    pub fn closes(&self, load: &LoadRecord) -> bool {
        let all = load.counts.started > 0 && load.connections.opened >= load.counts.started;
        let many = load.counts.started > u64::from(load.in_flight_max);
        let is_external = matches!(self, Measured::External(_));
        is_external && load.keep_alive && all && many
    }

    /// Ends what is ours.
    ///
    /// # Errors
    /// It was lost before.
    pub fn stop(self) -> Result<Vec<Exit>, RuntimeError> {
        match self {
            Measured::Started(running) => running.stop(),
            Measured::External(_) => Ok(Vec::new()),
        }
    }

    /// Ends what is ours, its logs kept first; says how each process ended.
    ///
    /// # Errors
    /// As [`Measured::stop`].
    pub fn end(self, directory: &mut TrialDirectory) -> Result<Vec<Exit>, RuntimeError> {
        if let Measured::Started(running) = &self {
            let masked = |text| running.without_secrets(text);
            running.logs().iter().for_each(|log| directory.keep_log(log, masked));
        }
        self.stop()
    }
}
