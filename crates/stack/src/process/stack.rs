//! Represents a started stack of processes. For when it is ready, see `ready`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stampede_keeper::spec::ProcessSetSpec;
use stampede_keeper::{Keeper, ProcessSet};
use stampede_linux::interrupt;
use stampede_linux::process::Held;
use stampede_linux::space;
use stampede_model::isolation::{Exit, IsolationRecord};
use stampede_model::load::Address;
use stampede_model::process_group::{ProcessGroup, RoleGroup};
use stampede_model::record::{ContainerRecord, LogEvidence, ObservedState, RuntimeRecord};
use stampede_model::time::Nanos;
use stampede_monitor::WorkerPattern;
use stampede_plan::model::RequestSpec;

use super::denied::{self, DeniedFiles};
use super::listen_address::{DelayedStart, ListenAddress};
use super::materialise::{PreparedStack, StackSetup};
use super::php_log::{self, PhpLog};
use super::port;
use super::verify;
use super::working_directory::COPY;
use crate::answer::Answer;
use crate::client::{ClientError, SingleClient};
use crate::database::{CountError, ErrorContext, QueryCounter};
use crate::error::RuntimeError;
use crate::evidence::FpmStatusPage;
use crate::logs::{self, LogMarks};
use crate::page::{PageRequest, PageResult, Site, SiteRequest};
use crate::provider::{Endpoint, Logs, Stack, StackLoss};

/// Guards a working directory, which is removed when this value is dropped. The keeper implements
/// it; tests have a simpler implementation.
pub trait Supervisor: Send {
    /// Starts a stack in the directory.
    ///
    /// # Errors
    /// A process could not be started. Then no process runs, and nothing is left.
    fn start(self: Box<Self>, spec: &ProcessSetSpec) -> Result<Box<dyn StackHandle>, Failure>;
    /// Starts another stack in the directory, which ends by itself.
    ///
    /// # Errors
    /// As `start`; the directory stays.
    fn start_beside(&self, spec: &ProcessSetSpec) -> Result<Box<dyn StackHandle>, Failure>;
    /// Whether a stack can see a directory at another path.
    fn can_bind(&self) -> bool {
        false
    }
}

/// Holds the processes of a stack, and ends them however this value is dropped. The keeper's stack
/// implements it; tests have a simpler implementation.
pub trait StackHandle: Send + Sync {
    /// Starts the waiting processes in order, until `number` processes of the stack run.
    ///
    /// # Errors
    /// As `Supervisor::start`.
    fn start_until(&mut self, number: usize) -> Result<(), Failure>;
    /// The processes that ended by themselves so far.
    fn exited(&self) -> Vec<Exit>;
    /// The processes by role.
    fn group(&self) -> ProcessGroup;
    /// The group for containers of `role`, as a path from the top of every hierarchy; `None`: there
    /// is none.
    fn container_group(&self, _role: &str) -> Option<PathBuf> {
        None
    }
    /// The containers that the processes run in, and their images; empty: they run in none.
    fn containers(&self) -> Vec<ContainerRecord> {
        Vec::new()
    }
    /// How the processes are isolated.
    fn isolation(&self) -> IsolationRecord;
    /// Why all processes were ended early: what held them is gone. `None`: they were not.
    fn lost(&self) -> Option<Failure>;
    /// Ends all processes, each with its own stop signal. Returns how each ended.
    ///
    /// # Errors
    /// The guard itself was lost.
    fn stop(self: Box<Self>) -> Result<Vec<Exit>, Failure>;
}

/// The error of a guard.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A runtime that was started. Its processes end when this value is dropped.
pub struct ProcessStack {
    handle: Box<dyn StackHandle>,
    pub(crate) stack: StackSetup,
    pub(crate) first_answer: Nanos,
    pub(crate) first_request: Nanos,
    /// The first answer of the page; `None`: no request was sent, or none was answered in time.
    pub(crate) page_result: Option<PageResult>,
}

/// The pause between two checks whether a process listens.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// The time for processes that start after the first answer: they are forks.
const STARTED_WITHIN: Duration = Duration::from_secs(5);
/// How long a process may take to end after SIGKILL.
const GONE_WITHIN: Duration = Duration::from_secs(1);

impl Supervisor for Keeper {
    fn start(self: Box<Self>, spec: &ProcessSetSpec) -> Result<Box<dyn StackHandle>, Failure> {
        Ok(Box::new(Keeper::start(*self, spec)?))
    }

    fn start_beside(&self, spec: &ProcessSetSpec) -> Result<Box<dyn StackHandle>, Failure> {
        Ok(Box::new(Keeper::start_beside(self, spec)?))
    }

    fn can_bind(&self) -> bool {
        Keeper::can_bind(self)
    }
}

impl StackHandle for ProcessSet {
    fn start_until(&mut self, number: usize) -> Result<(), Failure> {
        Ok(ProcessSet::start_until(self, number)?)
    }

    fn exited(&self) -> Vec<Exit> {
        ProcessSet::exited(self)
    }

    fn group(&self) -> ProcessGroup {
        ProcessSet::group(self)
    }

    fn container_group(&self, role: &str) -> Option<PathBuf> {
        ProcessSet::container_group(self, role)
    }

    fn isolation(&self) -> IsolationRecord {
        ProcessSet::isolation(self).clone()
    }

    fn lost(&self) -> Option<Failure> {
        ProcessSet::lost(self).map(Failure::from)
    }

    fn stop(self: Box<Self>) -> Result<Vec<Exit>, Failure> {
        Ok(ProcessSet::stop(*self)?)
    }
}

/// A time without what is less than half a second: of processes that start at once it is zero.
fn whole_seconds(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs_f64().round() as u64)
}

impl ProcessStack {
    /// Lets the keeper start the processes. Returns when the runtime's own start began: a database
    /// is up before it, and its start does not count.
    pub(crate) fn begin(prepared: PreparedStack) -> Result<(ProcessStack, Instant), RuntimeError> {
        let mut begun = Instant::now();
        let PreparedStack { mut stack, keep } = prepared;
        let name = stack.name.clone();
        let failed = |source| RuntimeError::Keeper { runtime: name, source };
        let handle = keep.start(&stack.processes).map_err(failed)?;
        stack.ready_within += whole_seconds(begun.elapsed());
        if let Some(query_counter) = &stack.query_counter {
            let error_context = ErrorContext { runtime: &stack.name, dir: &stack.processes.work };
            query_counter.wait_until_up(handle.as_ref(), &error_context)?;
            begun = Instant::now();
        }
        let [first_answer, first_request] = [Nanos::default(); 2];
        let mut running =
            ProcessStack { stack, handle, first_answer, first_request, page_result: None };
        for DelayedStart { process, listen_address } in running.stack.delayed_starts.clone() {
            running.start_until(process)?;
            running.wait_for(&listen_address, begun)?;
        }
        running.start_until(usize::MAX)?;
        Ok((running, begun))
    }

    /// Starts the processes up to this number. The time that this takes is the engine's, where they run
    /// in containers: they have the time until they are ready from then on.
    fn start_until(&mut self, number: usize) -> Result<(), RuntimeError> {
        let begun = Instant::now();
        let failed = |source| RuntimeError::Keeper { runtime: self.stack.name.clone(), source };
        self.handle.start_until(number).map_err(failed)?;
        self.stack.ready_within += whole_seconds(begun.elapsed());
        Ok(())
    }

    fn wait_for(&self, listen_address: &ListenAddress, begun: Instant) -> Result<(), RuntimeError> {
        while !listen_address.is_open() {
            self.check_interrupt()?;
            self.check_exits()?;
            if begun.elapsed() > self.stack.ready_within {
                return Err(self.not_ready(&format!("nothing listens on {listen_address}")));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// Checks which process has the port, and ends surplus processes.
    pub(crate) fn settle(self) -> Result<ProcessStack, RuntimeError> {
        self.check_listener()?;
        self.end_surplus();
        Ok(self)
    }

    /// The address on which the runtime listens.
    pub fn addr(&self) -> std::net::SocketAddr {
        self.stack.listens_on
    }

    /// `http://ADDRESS:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr())
    }

    /// The path of the page: see [`Stack::page`].
    pub fn page_path(&self) -> String {
        self.page().path.unwrap_or_default()
    }

    /// The working directory; it is gone after `stop`.
    pub fn dir(&self) -> &Path {
        &self.stack.processes.work
    }

    /// The directory of the copy's public files.
    pub(crate) fn docroot(&self) -> PathBuf {
        self.dir().join(COPY).join(&self.stack.app.manifest.docroot)
    }

    /// Stops the runtime. Returns how each process ended.
    ///
    /// # Errors
    /// The guard itself was lost.
    pub fn stop(self) -> Result<Vec<Exit>, RuntimeError> {
        let ProcessStack { stack, handle, .. } = self;
        handle.stop().map_err(|source| RuntimeError::Lost { runtime: stack.name, source })
    }

    /// Asks for the page once.
    ///
    /// # Errors
    /// The client's error.
    pub fn ask(&self, within: Duration) -> Result<Answer, ClientError> {
        self.request_path(&self.page_path(), &self.stack.page.headers, within)
    }

    /// Checks that no process has ended: during the start none may.
    pub(crate) fn check_exits(&self) -> Result<(), RuntimeError> {
        let exits = self.handle.exited();
        if exits.is_empty() {
            return Ok(());
        }
        let exits = exits.iter().map(ended).collect::<Vec<_>>().join(", ");
        let runtime = self.stack.name.clone();
        Err(RuntimeError::Ended { runtime, exits, log: self.log_lines() })
    }

    /// The error of a start that took too long. `last` is what the last attempt saw.
    pub(crate) fn not_ready(&self, last: &str) -> RuntimeError {
        RuntimeError::NotReady {
            runtime: self.stack.name.clone(),
            port: self.stack.listens_on.port(),
            within: format!("{} s", self.stack.ready_within.as_secs_f64()),
            last: last.to_owned(),
            log: self.log_lines(),
        }
    }

    /// Adds to an error that memory ran out, if the kernel ended processes, or that the disk of the
    /// working directory is full. Both cause errors of many kinds, and none of them names the cause.
    pub(crate) fn explain_with_limits(&self, error: RuntimeError) -> RuntimeError {
        match (self.oom_kills(), error) {
            (0, error @ RuntimeError::Interrupted { .. }) => error,
            (0, error) if space::is_full(self.dir()) => {
                let source = io::Error::new(io::ErrorKind::StorageFull, error);
                RuntimeError::Io { what: "write to", path: self.dir().to_path_buf(), source }
            }
            (0, error) | (_, error @ RuntimeError::Interrupted { .. }) => error,
            (kills, error) => {
                let limit_bytes = self.isolation().memory_bytes;
                RuntimeError::OutOfMemory { kills, limit_bytes, source: Box::new(error) }
            }
        }
    }

    /// Checks whether the user has interrupted.
    pub(crate) fn check_interrupt(&self) -> Result<(), RuntimeError> {
        match interrupt::is_requested() {
            true => Err(RuntimeError::Interrupted { runtime: self.stack.name.clone() }),
            false => Ok(()),
        }
    }

    /// The last lines of the logs with a line break before them; empty: the logs are empty.
    pub(crate) fn log_lines(&self) -> String {
        match self.last_lines() {
            lines if lines.is_empty() => lines,
            lines => format!("\n{lines}"),
        }
    }

    /// Checks that the port belongs to the stack. Another program may have taken it between the
    /// search for a free port and the start, and its answers would look like the runtime's.
    fn check_listener(&self) -> Result<(), RuntimeError> {
        let port = self.stack.listens_on.port();
        if port::is_ours(port, &self.group()) != Some(false) {
            return Ok(());
        }
        let listener = port::listeners(port);
        let listener = listener
            .first()
            .map_or("another".into(), |found| format!("`{}` (pid {})", found.name, found.pid));
        Err(RuntimeError::PortStolen { port, listener, runtime: self.stack.name.clone() })
    }

    /// Ends the youngest processes of a role that starts more than it should: `workers` and those that serve
    /// nothing. The first may answer before the last is there.
    fn end_surplus(&self) {
        let manifest = &self.stack.runtime.manifest;
        let workers = self.stack.settings.workers();
        let Some(surplus) = manifest.surplus.as_ref().filter(|one| one.workers == workers) else {
            return;
        };
        let group = self.group();
        let minus = manifest.effective_workers.processes.as_ref().map_or(0, |count| count.minus);
        let keep = workers.saturating_add(minus) as usize;
        for role in group.roles.iter().filter(|role| role.role == surplus.role.value) {
            let begun = Instant::now();
            let mut pids = port::pids(role);
            while pids.len() < surplus.starts && begun.elapsed() < STARTED_WITHIN {
                std::thread::sleep(LOOK_AGAIN);
                pids = port::pids(role);
            }
            // The root processes come first and are kept. The others are sorted by start time,
            // since pids may wrap around.
            pids.sort_by_key(|pid| (!role.roots.contains(pid), port::began(*pid), *pid));
            for pid in pids.iter().skip(keep.max(role.roots.len())) {
                end(*pid, role);
            }
        }
    }
}

impl Stack for ProcessStack {
    fn name(&self) -> &str {
        &self.stack.name
    }

    fn endpoint(&self) -> Endpoint {
        let addresses = Address::Tcp(self.addr()).into();
        Endpoint { addresses, host: None, base: String::new() }
    }

    fn record(&self) -> RuntimeRecord {
        let containers = self.handle.containers();
        let mut versions = self.stack.record.versions.clone();
        versions.extend(containers.iter().map(ContainerRecord::as_version));
        RuntimeRecord {
            versions,
            first_answer_ns: self.first_answer.0,
            first_request_ns: self.first_request.0,
            containers,
            ..self.stack.record.clone()
        }
    }

    fn isolation(&self) -> IsolationRecord {
        self.handle.isolation()
    }

    fn group(&self) -> ProcessGroup {
        self.handle.group()
    }

    fn page(&self) -> PageRequest {
        let led = self.page_result.as_ref().map(|page_result| page_result.path.clone());
        let page = self.stack.page.clone();
        let own = || self.stack.runtime.manifest.ready.path.clone();
        PageRequest { path: Some(led.or(page.path).unwrap_or_else(own)), ..page }
    }

    fn page_result(&self) -> Option<&PageResult> {
        self.page_result.as_ref()
    }

    fn mails(&self) -> u64 {
        let file = self.dir().join("tmp/mails");
        let length = logs::open(self.dir(), &file).and_then(|file| file.metadata());
        length.map_or(0, |found| found.len())
    }

    fn use_page(&mut self, page: PageRequest) -> Result<(), RuntimeError> {
        self.stack.page = page;
        let found = self.page_within(self.stack.page.within);
        self.page_result = Some(found.map_err(|error| self.not_ready(&error.to_string()))?);
        Ok(())
    }

    fn verify(&self, requests: &[&RequestSpec]) -> Result<ObservedState, RuntimeError> {
        verify::verify(self, requests).map_err(|error| self.explain_with_limits(error))
    }

    fn comparable_answer(&self) -> Result<String, RuntimeError> {
        verify::comparable_answer(self)
    }

    fn gone(&self) -> Option<StackLoss> {
        let source = self.handle.lost()?;
        Some(StackLoss::Lost(RuntimeError::Lost { runtime: self.stack.name.clone(), source }))
    }

    fn stop(self: Box<Self>) -> Result<Vec<Exit>, RuntimeError> {
        ProcessStack::stop(*self)
    }

    fn is_started(&self) -> bool {
        true
    }

    fn logs(&self) -> &dyn Logs {
        self
    }

    fn directory(&self) -> Option<&Path> {
        Some(self.dir())
    }

    fn emptied(&self) -> &[String] {
        &self.stack.emptied
    }

    fn printed(&self) -> Option<&Result<String, Arc<RuntimeError>>> {
        self.stack.printed.as_ref()
    }

    fn processes(&self) -> Vec<(String, u32)> {
        port::processes(&self.group())
    }

    fn exited(&self) -> Vec<Exit> {
        self.handle.exited()
    }

    fn oom_kills(&self) -> u64 {
        stampede_monitor::oom_kills(&self.group())
    }

    fn queries(&self) -> Option<Result<u64, CountError>> {
        self.stack.query_counter.as_ref().map(QueryCounter::queries)
    }

    fn workers(&self) -> Option<WorkerPattern> {
        self.worker_pattern()
    }

    fn status_page(&self) -> Option<FpmStatusPage> {
        self.fpm_status_page()
    }
}

impl Logs for ProcessStack {
    fn marks(&self) -> LogMarks {
        LogMarks::of(self.dir(), &self.docroot())
    }

    fn last_lines(&self) -> String {
        logs::last_lines(self.dir())
    }

    fn last_lines_since(&self, marks: &LogMarks) -> Vec<String> {
        marks.last_lines_since(self.dir())
    }

    fn evidence(&self, marks: &LogMarks) -> Vec<LogEvidence> {
        self.log_evidence(marks)
    }

    fn php_log(&self, marks: &LogMarks) -> PhpLog {
        php_log::php_log(marks, self.dir(), &self.docroot(), &self.stack.at)
    }

    fn denied_files(&self, marks: &LogMarks) -> Option<DeniedFiles> {
        denied::denied_files(marks, self.dir(), &self.docroot(), &self.stack.at)
    }

    fn threads_begun(&self) -> u64 {
        logs::threads_begun(self.dir())
    }

    fn files(&self) -> Vec<PathBuf> {
        logs::files(self.dir()).into_iter().chain(logs::of_app(self.dir())).collect()
    }

    fn open(&self, file: &Path) -> io::Result<File> {
        logs::open(self.dir(), file)
    }
}

impl Site for ProcessStack {
    fn send(&self, request: &SiteRequest<'_>, within: Duration) -> Result<Answer, ClientError> {
        SingleClient::new(Address::Tcp(self.addr()), within).exchange(request)
    }

    fn hosts(&self) -> Vec<String> {
        let port = self.stack.listens_on.port();
        vec!["localhost".to_owned(), format!("localhost:{port}"), self.addr().to_string()]
    }
}

/// Kills a process of a role and waits for its end. It is held first and then looked for once more, so
/// that no other process that got its pid is killed.
fn end(pid: u32, role: &RoleGroup) {
    let Some(held) = Held::of(pid).filter(|_| port::pids(role).contains(&pid)) else { return };
    held.kill();
    let begun = Instant::now();
    while port::is_alive(pid) && begun.elapsed() < GONE_WITHIN {
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn ended(exit: &Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("`{}` with exit code {code}", exit.role),
        (None, Some(signal)) => format!("`{}` by signal {signal}", exit.role),
        (None, None) => format!("`{}`", exit.role),
    }
}
