//! The seam between what is measured and how it is started: a provider starts stacks, and a stack
//! is all that a trial needs of what runs, wherever it runs.
//!
//! ```text
//! StackRequest ─resolve─▶ StackSpec ─start─▶ Box<dyn Stack>
//! ```
//! Processes of this machine, containers of a compose project, and servers that already run are
//! three providers.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use stampede_model::fact::Notice;
use stampede_model::isolation::{Exit, IsolationRecord};
use stampede_model::load::{Address, Addresses};
use stampede_model::observed::ObservedRuntime;
use stampede_model::process_group::ProcessGroup;
use stampede_model::record::{LogEvidence, ObservedState, RuntimeRecord};
use stampede_monitor::WorkerPattern;
use stampede_plan::model::{RequestSpec, RuntimeChoice, RuntimeSource, Watch};

use super::app::App;
use super::catalogue::Catalogue;
use super::compose::ComposeProvider;
use super::database::CountError;
use super::error::RuntimeError;
use super::evidence::FpmStatusPage;
use super::external::ExternalProvider;
use super::logs::LogMarks;
use super::page::{PageRequest, PageResult, Site};
use super::placement::Placement;
use super::process::ProcessProvider;
use super::spec::{Caches, Readiness, StackSpec, StartPurpose};
use crate::process::denied::DeniedFiles;
use crate::process::php_log::PhpLog;
use crate::resolve::RuntimeTraits;

/// A runtime that shall serve an app, and how it starts.
#[derive(Clone, Debug)]
pub struct StackRequest<'a> {
    /// The runtime with its settings, or the server that already runs.
    pub runtime: &'a RuntimeChoice,
    /// The app.
    pub app: &'a App,
    /// The CPUs and memory of the stack.
    pub placement: &'a Placement,
    /// The page that shows whether the app works.
    pub page: PageRequest,
    /// The app's caches at the start.
    pub caches: Caches,
    /// When the stack counts as started.
    pub ready: Readiness,
    /// What the start is for.
    pub purpose: StartPurpose,
}

/// Starts stacks of one kind.
pub trait Provider: Send + Sync {
    /// Whether this provider starts the stack of `runtime`, on the CPUs of the budget, and stops
    /// it. A provider that only finds stacks does not.
    fn starts(&self, runtime: &RuntimeChoice) -> bool;

    /// The properties of a runtime that planning needs. Starts nothing but programs that print
    /// their version.
    ///
    /// # Errors
    /// The runtime cannot serve the app here: the first thing that does not fit.
    fn traits(&self, runtime: &RuntimeChoice, app: &App) -> Result<RuntimeTraits, RuntimeError>;

    /// Finds everything that the stack needs. Writes nothing, and starts nothing but programs that
    /// print their version.
    ///
    /// # Errors
    /// As [`Provider::traits`].
    fn resolve(&self, request: &StackRequest<'_>) -> Result<StackSpec, RuntimeError>;

    /// What the user should know about a runtime before anything starts. Writes and starts nothing.
    ///
    /// # Errors
    /// As [`Provider::traits`].
    fn notices(&self, _runtime: &RuntimeChoice, _app: &App) -> Result<Vec<Notice>, RuntimeError> {
        Ok(Vec::new())
    }

    /// Writes what the stack needs, starts it, and waits until it is ready. The stack ends when the
    /// value is dropped.
    ///
    /// # Errors
    /// A port, directory or file cannot be had; a process ended; nothing answered in time; the
    /// answer is wrong; the user interrupted.
    fn start(&self, spec: &StackSpec) -> Result<Box<dyn Stack>, RuntimeError>;
}

/// What a trial needs of a running stack, wherever it runs. The defaults are those of a stack that
/// stampede did not start: nothing of its insides is known.
pub trait Stack: Site + Send + Sync {
    /// The name of the runtime or variant.
    fn name(&self) -> &str;

    /// Where requests go.
    fn endpoint(&self) -> Endpoint;

    /// The runtime's record, without what verification finds.
    fn record(&self) -> RuntimeRecord;

    /// How the stack is isolated from the rest of the machine.
    fn isolation(&self) -> IsolationRecord;

    /// The processes by role, as the monitor takes them. There is no role where nothing is known.
    fn group(&self) -> ProcessGroup;

    /// The page that shows that the app works, at the path to which redirects led.
    fn page(&self) -> PageRequest;

    /// The first answer of the page; `None`: it was not asked, or not answered in time.
    fn page_result(&self) -> Option<&PageResult>;

    /// Asks for the page and follows its redirects, if the start has not done so.
    ///
    /// # Errors
    /// There is no answer.
    fn request_page(&mut self) -> Result<(), RuntimeError> {
        Ok(())
    }

    /// Takes another page as the one that shows that the app works, and asks for it. It is the same
    /// page for somebody who has logged in.
    ///
    /// # Errors
    /// There is no answer.
    fn use_page(&mut self, page: PageRequest) -> Result<(), RuntimeError>;

    /// Verifies the runtime: what it reports about itself, and how it answers `requests`, each sent
    /// as `GET`.
    ///
    /// # Errors
    /// The page's answer is wrong or does not come. A wrong answer to one of `requests` is no
    /// error.
    fn verify(&self, requests: &[&RequestSpec]) -> Result<ObservedState, RuntimeError>;

    /// The page in the form in which it is compared.
    ///
    /// # Errors
    /// The answer is wrong, or does not come.
    fn comparable_answer(&self) -> Result<String, RuntimeError>;

    /// What verification found, with the facts that explain it.
    fn shown(&self, observed: ObservedState) -> ObservedRuntime {
        let (name, given) = (self.name().to_owned(), self.record().given);
        ObservedRuntime { name, given, observed, body_bytes_mean: None }
    }

    /// Why the stack is no longer the one that was started or found, so that figures are not its
    /// own. `None`: it is the same. Asked once a second while the load runs.
    fn gone(&self) -> Option<StackLoss>;

    /// Stops a stack that stampede started. Returns how each process ended.
    ///
    /// # Errors
    /// The stack was lost before.
    fn stop(self: Box<Self>) -> Result<Vec<Exit>, RuntimeError>;

    /// Whether stampede started the stack, and so knows its insides.
    fn is_started(&self) -> bool {
        false
    }

    /// The stack's logs.
    fn logs(&self) -> &dyn Logs {
        &NoLogs
    }

    /// The working directory, while the stack lives; `None`: there is none that can be seen here.
    fn directory(&self) -> Option<&Path> {
        None
    }

    /// The directories of the app's copy that were emptied before the start.
    fn emptied(&self) -> &[String] {
        &[]
    }

    /// What the command of [`Placement::ask`] printed, or its error; `None`: there was no command.
    fn printed(&self) -> Option<&Result<String, Arc<RuntimeError>>> {
        None
    }

    /// The living processes as role and pid, including workers.
    fn processes(&self) -> Vec<(String, u32)> {
        Vec::new()
    }

    /// The processes that ended by themselves so far.
    fn exited(&self) -> Vec<Exit> {
        Vec::new()
    }

    /// The number of processes that the kernel ended for lack of memory since the start.
    fn oom_kills(&self) -> u64 {
        0
    }

    /// The number of queries that the stack's database has answered so far. `None`: there is no
    /// database that can be asked.
    fn queries(&self) -> Option<Result<u64, CountError>> {
        None
    }

    /// The number of mails that the app has sent with PHP's `mail()` since the start. None leaves
    /// the machine.
    fn mails(&self) -> u64 {
        0
    }

    /// How the workers can be recognised; `None`: this is not known.
    fn workers(&self) -> Option<WorkerPattern> {
        None
    }

    /// PHP-FPM's status page; `None`: there is none.
    fn status_page(&self) -> Option<FpmStatusPage> {
        None
    }
}

/// What a stack logs. The defaults are those of a stack whose logs cannot be seen.
pub trait Logs {
    /// The current lengths of the logs.
    fn marks(&self) -> LogMarks {
        LogMarks::default()
    }

    /// The last lines, with secrets masked; empty: the logs are empty.
    fn last_lines(&self) -> String {
        String::new()
    }

    /// The last lines that the processes logged since `marks`, with secrets masked.
    fn last_lines_since(&self, _marks: &LogMarks) -> Vec<String> {
        Vec::new()
    }

    /// Log entries since `marks` that report a limit or a failure.
    fn evidence(&self, _marks: &LogMarks) -> Vec<LogEvidence> {
        Vec::new()
    }

    /// What PHP logged since `marks`.
    fn php_log(&self, _marks: &LogMarks) -> PhpLog {
        PhpLog::default()
    }

    /// Files that could not be used since `marks`, for lack of permission; `None`: there are none.
    fn denied_files(&self, _marks: &LogMarks) -> Option<DeniedFiles> {
        None
    }

    /// How many worker threads have begun so far.
    fn threads_begun(&self) -> u64 {
        0
    }

    /// The log files, including the app's own; they are gone after the stop.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Opens one of [`Logs::files`] for reading. No link on the way is followed, since the user of
    /// the stack may have put it there.
    ///
    /// # Errors
    /// The system's error.
    fn open(&self, file: &Path) -> io::Result<File> {
        File::open(file)
    }
}

/// The logs of a stack whose logs cannot be seen.
#[derive(Clone, Copy, Debug)]
pub struct NoLogs;

impl Logs for NoLogs {}

/// Where requests go, and how they are written for this stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// The addresses to connect to, in turn.
    pub addresses: Addresses,
    /// The value of the header `Host` where the plan gives none; `None`: `localhost`.
    pub host: Option<String>,
    /// The prefix of every path: empty, or such as `/shop`.
    pub base: String,
}

impl Endpoint {
    /// `http://127.0.0.1:PORT`, without a path; for a unix socket its path.
    pub fn url(&self) -> String {
        match self.addresses.first() {
            Address::Tcp(address) => format!("http://{address}"),
            Address::Unix(path) => format!("unix:{}", path.display()),
        }
    }
}

/// Why a stack is no longer the one with which the trial began. The trial's figures are then not
/// the runtime's.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StackLoss {
    /// The watched server has ended, or another one has taken its place.
    #[error("what is watched, {watch}, ended during the trial")]
    #[serde(rename = "watched_ended")]
    Ended {
        /// The watched processes, as the plan names them.
        watch: Watch,
    },
    /// What held the stack is gone, and the stack with it.
    #[error(transparent)]
    #[serde(untagged)]
    Lost(RuntimeError),
}

/// All providers: each runtime of a plan has the one that its source asks for.
pub struct Providers {
    processes: ProcessProvider,
    external: ExternalProvider,
    compose: ComposeProvider,
}

impl Providers {
    /// Providers for the runtimes of `catalogue` and for servers that already run.
    pub fn new(catalogue: Catalogue) -> Providers {
        let compose = ComposeProvider::new(catalogue.places.clone());
        let processes = ProcessProvider::new(catalogue);
        Providers { processes, external: ExternalProvider, compose }
    }

    /// The runtimes and apps that can be started.
    pub fn catalogue(&self) -> &Catalogue {
        self.processes.catalogue()
    }

    fn of(&self, runtime: &RuntimeChoice) -> &dyn Provider {
        match runtime.source {
            RuntimeSource::Catalogue(_) | RuntimeSource::Today { .. } => &self.processes,
            RuntimeSource::External { .. } => &self.external,
            RuntimeSource::Compose(_) => &self.compose,
        }
    }
}

impl Provider for Providers {
    fn starts(&self, runtime: &RuntimeChoice) -> bool {
        self.of(runtime).starts(runtime)
    }

    fn traits(&self, runtime: &RuntimeChoice, app: &App) -> Result<RuntimeTraits, RuntimeError> {
        self.of(runtime).traits(runtime, app)
    }

    fn resolve(&self, request: &StackRequest<'_>) -> Result<StackSpec, RuntimeError> {
        self.of(request.runtime).resolve(request)
    }

    fn notices(&self, runtime: &RuntimeChoice, app: &App) -> Result<Vec<Notice>, RuntimeError> {
        self.of(runtime).notices(runtime, app)
    }

    fn start(&self, spec: &StackSpec) -> Result<Box<dyn Stack>, RuntimeError> {
        self.of(&spec.runtime).start(spec)
    }
}
