//! Gives a trial one interface to what it sends to: a runtime that the trial starts and stops, or
//! an external one.

use stampede_model::isolation::{Exit, IsolationRecord};
use stampede_model::load::Address;
use stampede_model::observed::ObservedRuntime;
use stampede_model::process_group::ProcessGroup;
use stampede_model::record::{LoadRecord, LogEvidence, ObservedState, RuntimeRecord};
use stampede_monitor::WorkerPattern;
use stampede_plan::model::{RequestSpec, RuntimeSource};
use stampede_results::store::TrialDirectory;
use stampede_stack::external::External;
use stampede_stack::{
    self, App, CountError, FpmStatusPage, LogMarks, PageRequest, PageResult, PhpErrors,
    RunningStack, RuntimeError,
};

use super::{NotMeasured, RuntimeLoss, Subject, TrialContext};

/// The measured runtime. All differences between the two kinds are in this file.
pub enum Measured {
    /// Started by stampede; it stops when this value is dropped.
    Started(Box<RunningStack>),
    /// External: already running, not started by stampede.
    External(Box<MeasuredExternal>),
}

/// An external runtime, and the page that shows that its app works.
pub struct MeasuredExternal {
    external: External,
    page: PageRequest,
    page_result: Option<PageResult>,
}

/// Where requests go, and how they are written for this target.
pub struct RequestTarget {
    /// The address to connect to.
    pub address: Address,
    /// The value of the header `Host` where the plan gives none; `None`: `localhost`.
    pub host: Option<String>,
    /// The prefix of every path: empty, or such as `/shop`.
    pub base: String,
}

/// The page that shows whether the app works, for this subject.
fn page(subject: &Subject<'_>) -> PageRequest {
    PageRequest::of(subject.app, &subject.load.requests)
}

impl Measured {
    /// Starts the runtime of the catalogue, or finds the external one.
    pub fn start(ctx: &TrialContext<'_>, subject: &Subject<'_>) -> Result<Measured, NotMeasured> {
        let choice = subject.runtime;
        let page = page(subject);
        match &choice.source {
            RuntimeSource::External { url, watch } => {
                let external = External::find(&choice.name, url, watch.as_ref())?;
                Ok(Measured::External(Box::new(MeasuredExternal {
                    external,
                    page,
                    page_result: None,
                })))
            }
            RuntimeSource::Catalogue(_) => {
                let running = stampede_stack::start_runtime(
                    ctx.catalogue,
                    choice,
                    subject.app,
                    ctx.placement,
                    page,
                )?;
                Ok(Measured::Started(Box::new(running)))
            }
        }
    }

    /// Starts a runtime of the catalogue with empty caches.
    pub fn start_cold(
        ctx: &TrialContext<'_>,
        subject: &Subject<'_>,
    ) -> Result<Measured, NotMeasured> {
        let page = page(subject);
        let running = stampede_stack::start_cold(
            ctx.catalogue,
            subject.runtime,
            subject.app,
            ctx.placement,
            page,
        )?;
        Ok(Measured::Started(Box::new(running)))
    }

    /// Starts a runtime with empty caches and sends it no request. `page` is where the app's
    /// redirects led in an earlier start.
    pub fn start_cold_without_request(
        ctx: &TrialContext<'_>,
        subject: &Subject<'_>,
        page: PageRequest,
    ) -> Result<Measured, NotMeasured> {
        let running = stampede_stack::start_cold_without_request(
            ctx.catalogue,
            subject.runtime,
            subject.app,
            ctx.placement,
            page,
        )?;
        Ok(Measured::Started(Box::new(running)))
    }

    /// Whether stampede started the runtime.
    pub fn is_ours(&self) -> bool {
        matches!(self, Measured::Started(_))
    }

    /// Asks an external runtime for the page that shows that its app works, and follows redirects.
    /// A runtime of ours was asked when it started.
    pub fn request_page(&mut self, app: &App) -> Result<(), NotMeasured> {
        if let Measured::External(one) = self {
            let page_result = one.external.request_page(app, &one.page)?;
            one.page.path = Some(page_result.path.clone());
            one.page_result = Some(page_result);
        }
        Ok(())
    }

    /// The first answer of the page; `None`: it was not asked.
    pub fn page_result(&self) -> Option<&PageResult> {
        match self {
            Measured::Started(running) => running.page_result(),
            Measured::External(one) => one.page_result.as_ref(),
        }
    }

    /// The page that shows that the app works, at the path to which redirects led.
    pub fn page(&self) -> PageRequest {
        match self {
            Measured::Started(running) => running.page(),
            Measured::External(one) => one.page.clone(),
        }
    }

    /// The last lines of the runtime's logs, with secrets masked; empty where there are none.
    pub fn last_lines(&self) -> String {
        match self {
            Measured::Started(running) => running.last_lines(),
            Measured::External(_) => String::new(),
        }
    }

    /// Returns `text` with the values of the app's secret variables masked.
    pub fn without_secrets(&self, text: String) -> String {
        match self {
            Measured::Started(running) => running.without_secrets(text),
            Measured::External(_) => text,
        }
    }

    /// Fatal errors of PHP in the logs since `marks`; `None`: there are none.
    pub fn php_errors(&self, marks: &LogMarks) -> Option<PhpErrors> {
        match self {
            Measured::Started(running) => running.php_errors(marks),
            Measured::External(_) => None,
        }
    }

    /// The directories of the app's copy that were emptied before the start.
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

    /// Verifies the runtime: what it reports about itself, and how it answers `requests`.
    pub fn verify(
        &self,
        app: &App,
        requests: &[&RequestSpec],
    ) -> Result<ObservedState, NotMeasured> {
        match self {
            Measured::Started(running) => Ok(stampede_stack::verify_pages(running, app, requests)?),
            Measured::External(one) => Ok(one.external.verify(app, &one.page, requests)?),
        }
    }

    /// The page in the form in which it is compared; `None`: no answer, or a wrong one.
    pub fn answer(&self, app: &App) -> Option<String> {
        match self {
            Measured::Started(running) => stampede_stack::comparable_answer(running, app).ok(),
            Measured::External(one) => one.external.answer(app, &one.page).ok(),
        }
    }

    pub fn shown(&self, observed: ObservedState) -> ObservedRuntime {
        match self {
            Measured::Started(running) => running.shown(observed),
            Measured::External(one) => one.external.shown(observed),
        }
    }

    /// The processes of ours that ended by themselves so far.
    pub fn exited(&self) -> Vec<Exit> {
        match self {
            Measured::Started(running) => running.exited(),
            Measured::External(_) => Vec::new(),
        }
    }

    /// Why the measured runtime is no longer the one of the trial's begin, so that the figures are
    /// not its own. Asked once a second while the load runs; the load is then stopped. `None`: it
    /// is the same.
    pub fn gone(&self) -> Option<RuntimeLoss> {
        match self {
            Measured::Started(running) => running.lost().map(RuntimeLoss::Lost),
            Measured::External(one) => {
                one.external.gone().map(|watch| RuntimeLoss::Ended { watch })
            }
        }
    }

    /// The number of queries that the runtime's database has answered so far. `None`: there is no
    /// database, or the runtime is external.
    pub fn queries(&self) -> Option<Result<u64, CountError>> {
        match self {
            Measured::Started(running) => running.queries(),
            Measured::External(_) => None,
        }
    }

    /// The current lengths of the logs.
    pub fn log_marks(&self) -> LogMarks {
        match self {
            Measured::Started(running) => running.log_marks(),
            Measured::External(_) => LogMarks::default(),
        }
    }

    /// How many worker threads have begun so far.
    pub fn threads_begun(&self) -> u64 {
        match self {
            Measured::Started(running) => running.threads_begun(),
            Measured::External(_) => 0,
        }
    }

    /// The last lines that the processes logged since `marks`.
    pub fn last_log_lines_since(&self, marks: &LogMarks) -> Vec<String> {
        match self {
            Measured::Started(running) => running.last_log_lines_since(marks),
            Measured::External(_) => Vec::new(),
        }
    }

    /// How the workers can be recognised; `None`: the runtime does not say.
    pub fn workers(&self) -> Option<WorkerPattern> {
        match self {
            Measured::Started(running) => running.workers(),
            Measured::External(_) => None,
        }
    }

    /// The runtime's status page; `None`: there is none.
    pub fn pool(&self) -> Option<FpmStatusPage> {
        match self {
            Measured::Started(running) => running.pool(),
            Measured::External(_) => None,
        }
    }

    /// Log entries since `marks` that report a limit or a failure.
    ///
    /// # Errors
    /// A log cannot be read.
    pub fn log_evidence(&self, marks: &LogMarks) -> Result<Vec<LogEvidence>, RuntimeError> {
        match self {
            Measured::Started(running) => running.log_evidence(marks),
            Measured::External(_) => Ok(Vec::new()),
        }
    }

    /// The number of processes of ours that the kernel ended for lack of memory since the start.
    pub fn oom_kills(&self) -> u64 {
        match self {
            Measured::Started(running) => running.oom_kills(),
            Measured::External(_) => 0,
        }
    }

    /// Whether the runtime closed all connections that should have been kept. Always false for a
    /// runtime of ours: for those it is known beforehand.
    pub fn closes(&self, load: &LoadRecord) -> bool {
        let all = load.counts.started > 0 && load.connections.opened >= load.counts.started;
        let many = load.counts.started > u64::from(load.in_flight_max);
        let is_external = matches!(self, Measured::External(_));
        is_external && load.keep_alive && all && many
    }

    /// Stops a runtime of ours.
    ///
    /// # Errors
    /// The stack was lost before.
    pub fn stop(self) -> Result<Vec<Exit>, RuntimeError> {
        match self {
            Measured::Started(running) => running.stop(),
            Measured::External(_) => Ok(Vec::new()),
        }
    }

    /// Keeps the logs of a runtime of ours, then stops it. Returns how each process ended.
    ///
    /// # Errors
    /// As [`Measured::stop`].
    pub fn end(self, directory: &mut TrialDirectory) -> Result<Vec<Exit>, RuntimeError> {
        if let Measured::Started(running) = &self {
            let masked = |text| running.without_secrets(text);
            running.logs().iter().for_each(|log| directory.save_log(log, masked));
        }
        self.stop()
    }
}
