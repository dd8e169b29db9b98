//! A started runtime. When it is ready: see `ready`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stampede_load::time::Nanos;

use super::answer::{Answer, client, get_with};
use super::database::{CountError, DatabaseEnv, QueryCounter};
use super::error::RuntimeError;
use super::listen_address::{After, ListenAddress};
use super::logs::{self, LogMarks};
use super::page::{Arrived, PageRequest, Site};
use super::port::{self, HOST};
use super::prepare::{Prepared, PreparedStack};
use crate::interrupt;
use crate::keeper::spec::{Exit, IsolationRecord, ProcessGroup, StackSpec};
use crate::keeper::{Keeper, Stack};
use crate::monitor;
use crate::observed::Shown;
use crate::store::record::{Observed, RuntimeRecord};

/// What looks after a working directory, which goes when this is dropped. The keeper is one; tests
/// have a simpler one.
pub trait Keep: Send {
    /// Starts a stack in it.
    ///
    /// # Errors
    /// A process could not be started: nothing runs then, and nothing is left.
    fn start(self: Box<Self>, spec: &StackSpec) -> Result<Box<dyn Guard>, Failure>;
    /// Starts another stack in it, that ends alone.
    ///
    /// # Errors
    /// As `start`; the directory stays.
    fn beside(&self, spec: &StackSpec) -> Result<Box<dyn Guard>, Failure>;
}

/// What holds a stack's processes, and ends them however this is dropped. The keeper's
/// stack is one; tests have a simpler one.
pub trait Guard: Send + Sync {
    /// Starts the processes that waited, in order, until `number` of the stack's run.
    ///
    /// # Errors
    /// As `Keep::start`.
    fn go(&mut self, number: usize) -> Result<(), Failure>;
    /// Processes that ended by themselves so far.
    fn exited(&self) -> Vec<Exit>;
    /// The processes by role.
    fn group(&self) -> ProcessGroup;
    /// What guards them.
    fn isolation(&self) -> IsolationRecord;
    /// Why all was ended before its time, once it was: what held it is gone.
    fn lost(&self) -> Option<Failure>;
    /// Ends all, as each asks to be ended; says how each ended.
    ///
    /// # Errors
    /// The guard itself was lost.
    fn stop(self: Box<Self>) -> Result<Vec<Exit>, Failure>;
}

/// What a guard says when it fails.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A runtime that answered. Its processes end when this is dropped.
pub struct Running {
    guard: Box<dyn Guard>,
    pub(super) stack: PreparedStack,
    pub(super) first_answer: Nanos,
    pub(super) first_request: Nanos,
    /// What its page answered at the start; `None`: nothing was asked of it.
    pub(super) arrived: Option<Arrived>,
}

/// Between two looks at a door.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// For a process to be gone after SIGKILL.
const GONE_WITHIN: Duration = Duration::from_secs(1);

impl Keep for Keeper {
    fn start(self: Box<Self>, spec: &StackSpec) -> Result<Box<dyn Guard>, Failure> {
        Ok(Box::new(Keeper::start(*self, spec)?))
    }

    fn beside(&self, spec: &StackSpec) -> Result<Box<dyn Guard>, Failure> {
        Ok(Box::new(Keeper::beside(self, spec)?))
    }
}

impl Guard for Stack {
    fn go(&mut self, number: usize) -> Result<(), Failure> {
        Ok(Stack::go(self, number)?)
    }

    fn exited(&self) -> Vec<Exit> {
        Stack::exited(self)
    }

    fn group(&self) -> ProcessGroup {
        Stack::group(self)
    }

    fn isolation(&self) -> IsolationRecord {
        Stack::isolation(self).clone()
    }

    fn lost(&self) -> Option<Failure> {
        Stack::lost(self).map(Failure::from)
    }

    fn stop(self: Box<Self>) -> Result<Vec<Exit>, Failure> {
        Ok(Stack::stop(*self)?)
    }
}

impl Running {
    /// Has the keeper start its processes; says when that began. What a database takes to start is
    /// none of the runtime's: it is there before the runtime is started.
    pub(super) fn begin(prepared: Prepared) -> Result<(Running, Instant), RuntimeError> {
        let mut begun = Instant::now();
        let Prepared { stack, keep } = prepared;
        let failed = |source| RuntimeError::Keeper { runtime: stack.name.clone(), source };
        let guard = keep.start(&stack.spec).map_err(failed)?;
        if let Some(asks) = &stack.asks {
            let told =
                DatabaseEnv { runtime: &stack.name, dir: &stack.spec.work, env: &stack.secrets };
            asks.wait_until_up(guard.as_ref(), &told)?;
            begun = Instant::now();
        }
        let [first_answer, first_request] = [Nanos::default(); 2];
        let mut running = Running { stack, guard, first_answer, first_request, arrived: None };
        for After { process, listen_address } in running.stack.waits.clone() {
            running.go(process)?;
            running.wait_for(&listen_address, begun)?;
        }
        running.go(usize::MAX)?;
        Ok((running, begun))
    }

    fn go(&mut self, number: usize) -> Result<(), RuntimeError> {
        let failed = |source| RuntimeError::Keeper { runtime: self.stack.name.clone(), source };
        self.guard.go(number).map_err(failed)
    }

    fn wait_for(&self, listen_address: &ListenAddress, begun: Instant) -> Result<(), RuntimeError> {
        while !listen_address.is_open() {
            self.check_asked()?;
            self.check_exits()?;
            if begun.elapsed() > self.stack.ready_within {
                return Err(self.not_ready(&format!("nothing listens on {listen_address}")));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// Looks who has its port, and ends the processes that it has too many.
    pub(super) fn settle(self) -> Result<Running, RuntimeError> {
        self.check_listener()?;
        self.end_surplus();
        Ok(self)
    }

    /// Runtime's or variant's name.
    pub fn name(&self) -> &str {
        &self.stack.name
    }

    /// Where it answers.
    pub fn addr(&self) -> std::net::SocketAddr {
        (HOST, self.stack.port).into()
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr())
    }

    /// The page that shows whether its app works; once it was asked, the one that its redirects
    /// led to.
    pub fn page(&self) -> PageRequest {
        let path = self.arrived.as_ref().map(|arrived| arrived.path.clone());
        let mut page = self.stack.page.clone();
        page.path = path.or(page.path);
        page
    }

    /// What its page answered at the start; `None`: nothing was asked of it.
    pub fn arrived(&self) -> Option<&Arrived> {
        self.arrived.as_ref()
    }

    /// Path of its page: see [`Running::page`].
    pub fn page_path(&self) -> String {
        self.page().path.unwrap_or_else(|| self.stack.runtime.manifest.ready.path.clone())
    }

    /// Queries that its database has answered so far; `None`: it has none.
    ///
    /// # Errors
    /// The database does not say.
    pub fn queries(&self) -> Option<Result<u64, CountError>> {
        self.stack.asks.as_ref().map(QueryCounter::queries)
    }

    /// Its processes by role.
    pub fn group(&self) -> ProcessGroup {
        self.guard.group()
    }

    /// What guards it.
    pub fn isolation(&self) -> IsolationRecord {
        self.guard.isolation()
    }

    /// Living processes: role and pid, workers included.
    pub fn processes(&self) -> Vec<(String, u32)> {
        let group = self.group();
        let roles = group.roles.iter();
        roles
            .flat_map(|role| port::pids(role).into_iter().map(|pid| (role.role.clone(), pid)))
            .collect()
    }

    /// Processes that ended by themselves so far.
    pub fn exited(&self) -> Vec<Exit> {
        self.guard.exited()
    }

    /// Why its processes were ended before their time, once they were.
    pub fn lost(&self) -> Option<RuntimeError> {
        let source = self.guard.lost()?;
        Some(RuntimeError::Lost { runtime: self.stack.name.clone(), source })
    }

    /// Rendered file → text.
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.stack.record.files
    }

    /// Its working directory, gone after `stop`.
    pub fn dir(&self) -> &Path {
        &self.stack.spec.work
    }

    /// What the command printed that its placement asks, or why it did not.
    pub fn printed(&self) -> Option<&Result<String, Arc<RuntimeError>>> {
        self.stack.printed.as_ref()
    }

    /// Its log files, the app's own included; to be kept before `stop`.
    pub fn logs(&self) -> Vec<PathBuf> {
        logs::files(self.dir()).into_iter().chain(logs::of_app(self.dir())).collect()
    }

    /// `text` with the values of its app's secret variables masked.
    pub fn without_secrets(&self, text: String) -> String {
        logs::mask(&text, &self.stack.secrets)
    }

    /// The last lines of its logs, secrets masked; empty when they say nothing.
    pub fn last_lines(&self) -> String {
        logs::last_lines(self.dir(), &self.stack.secrets)
    }

    /// Directory of its copy's public files.
    pub(super) fn docroot(&self) -> PathBuf {
        self.dir().join("app").join(&self.stack.app.manifest.docroot)
    }

    /// How long its logs are now.
    pub fn log_marks(&self) -> LogMarks {
        LogMarks::of(self.dir(), &self.docroot())
    }

    /// The last lines of what its processes said since then, secrets masked.
    pub fn said_since(&self, marks: &LogMarks) -> Vec<String> {
        marks.last_lines_since(self.dir(), &self.stack.secrets)
    }

    /// How often a worker that is a thread has begun so far.
    pub fn threads_begun(&self) -> u64 {
        logs::threads_begun(self.dir())
    }

    /// What it is, without what verification finds.
    pub fn record(&self) -> RuntimeRecord {
        RuntimeRecord {
            first_answer_ns: self.first_answer.0,
            first_request_ns: self.first_request.0,
            ..self.stack.record.clone()
        }
    }

    /// What verification found, with what explains it.
    pub fn shown(&self, observed: Observed) -> Shown {
        let given = self.stack.record.given.clone();
        Shown { name: self.stack.name.clone(), given, observed, body_bytes_mean: None }
    }

    /// Ends it; says how each process ended.
    ///
    /// # Errors
    /// The guard itself was lost.
    pub fn stop(self) -> Result<Vec<Exit>, RuntimeError> {
        let Running { stack, guard, .. } = self;
        guard.stop().map_err(|source| RuntimeError::Lost { runtime: stack.name, source })
    }

    /// Asks the page once.
    ///
    /// # Errors
    /// As the client says.
    pub fn ask(&self, within: Duration) -> Result<Answer, ureq::Error> {
        self.ask_path(&self.page_path(), &self.stack.page.headers, within)
    }

    /// No process may end while it starts.
    pub(super) fn check_exits(&self) -> Result<(), RuntimeError> {
        let exits = self.guard.exited();
        if exits.is_empty() {
            return Ok(());
        }
        let exits = exits.iter().map(ended).collect::<Vec<_>>().join(", ");
        let runtime = self.stack.name.clone();
        Err(RuntimeError::Ended { runtime, exits, log: self.log_lines() })
    }

    /// With what the last look saw.
    pub(super) fn not_ready(&self, last: &str) -> RuntimeError {
        RuntimeError::NotReady {
            runtime: self.stack.name.clone(),
            port: self.stack.port,
            within: format!("{} s", self.stack.ready_within.as_secs_f64()),
            last: last.to_owned(),
            log: self.log_lines(),
        }
    }

    /// Processes that the kernel ended for want of memory, since the start.
    pub fn oom_kills(&self) -> u64 {
        monitor::oom_kills(&self.group())
    }

    /// A process that is missing shows in a hundred ways, none of which names memory.
    pub(super) fn explained(&self, error: RuntimeError) -> RuntimeError {
        match (self.oom_kills(), error) {
            (0, error) | (_, error @ RuntimeError::Interrupted { .. }) => error,
            (kills, error) => {
                let limit_bytes = self.isolation().memory_bytes;
                RuntimeError::OutOfMemory { kills, limit_bytes, source: Box::new(error) }
            }
        }
    }

    /// Nobody waits for what was given up.
    pub(super) fn check_asked(&self) -> Result<(), RuntimeError> {
        match interrupt::asked() {
            true => Err(RuntimeError::Interrupted { runtime: self.stack.name.clone() }),
            false => Ok(()),
        }
    }

    /// The last lines of its logs, each on a line of its own; empty when they say nothing.
    pub(super) fn log_lines(&self) -> String {
        match self.last_lines() {
            lines if lines.is_empty() => lines,
            lines => format!("\n{lines}"),
        }
    }

    /// Between the probe for a free port and the start another program may have taken it, and
    /// answered as if it were ours.
    fn check_listener(&self) -> Result<(), RuntimeError> {
        let port = self.stack.port;
        if port::ours(port, &self.group()) != Some(false) {
            return Ok(());
        }
        let listener = port::listeners(port);
        let listener = listener
            .first()
            .map_or("another".into(), |found| format!("`{}` (pid {})", found.name, found.pid));
        Err(RuntimeError::PortStolen { port, listener, runtime: self.stack.name.clone() })
    }

    /// Ends the youngest processes of a role that started more than `workers` serve with.
    fn end_surplus(&self) {
        let manifest = &self.stack.runtime.manifest;
        let Some(surplus) = &manifest.surplus else { return };
        let group = self.group();
        let minus = manifest.effective_workers.processes.as_ref().map_or(0, |count| count.minus);
        let keep = self.stack.settings.workers().saturating_add(minus) as usize;
        for role in group.roles.iter().filter(|role| role.role == surplus.role.value) {
            let mut pids = port::pids(role);
            // The roots were started first and go on; pids may wrap, start times do not.
            pids.sort_by_key(|pid| (!role.roots.contains(pid), port::began(*pid), *pid));
            for pid in pids.iter().skip(keep.max(role.roots.len())) {
                end(*pid);
            }
        }
    }
}

impl Site for Running {
    fn ask_path(
        &self,
        path: &str,
        headers: &[(String, String)],
        within: Duration,
    ) -> Result<Answer, ureq::Error> {
        get_with(&client(within), &format!("{}{path}", self.url()), headers)
    }

    fn hosts(&self) -> Vec<String> {
        let port = self.stack.port;
        vec!["localhost".to_owned(), format!("localhost:{port}"), format!("{HOST}:{port}")]
    }
}

/// The pid is of our own group and its parent does not reap it (or we would not be here), so
/// it cannot have been given to another process meanwhile.
fn end(pid: u32) {
    let Some(handle) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return;
    };
    if rustix::process::kill_process(handle, rustix::process::Signal::KILL).is_err() {
        return;
    }
    let begun = Instant::now();
    while port::lives(pid) && begun.elapsed() < GONE_WITHIN {
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(super) fn ended(exit: &Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("`{}` with exit code {code}", exit.role),
        (None, Some(signal)) => format!("`{}` by signal {signal}", exit.role),
        (None, None) => format!("`{}`", exit.role),
    }
}
