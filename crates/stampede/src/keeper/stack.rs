//! A stack as stampede holds it: started, watched, stopped; ended hard when dropped.

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::error::KeeperError;
use super::journal::{Entry, Journal};
use super::spec::{Accounting, Exit, IsolationRecord, ProcessGroup, RoleGroup, StackSpec};
use super::sweep::{self, clean, own_identity};
use super::wire::{Channel, News, Order, Request, RoleFolders, Started, encode};

/// Longest time until the keeper has started a stack: it starts processes, it does not wait
/// for them to be ready.
const START_LIMIT: Duration = Duration::from_secs(30);
/// What hard ends may take: the keeper's own patience with processes, groups and folders.
const END_LIMIT: Duration = Duration::from_secs(30);

/// Whether namespaces may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NamespaceUse {
    /// Where the machine allows them.
    #[default]
    Allowed,
    /// Never: what follows is tried as if the machine forbade them.
    Forbidden,
}

/// Which cgroups may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CgroupUse {
    /// All that the machine allows.
    #[default]
    Allowed,
    /// Only v1 hierarchies.
    OnlyV1,
    /// None.
    Forbidden,
}

/// What happens to the work folder at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkFolder {
    /// It goes with the stack.
    #[default]
    Remove,
    /// It stays, to be looked at.
    Keep,
}

/// How a stack is kept.
#[derive(Clone, Debug)]
pub struct KeeperOptions {
    /// The stampede binary, executed anew as keeper and init.
    pub program: PathBuf,
    /// Whether namespaces may be used.
    pub namespaces: NamespaceUse,
    /// Which cgroups may be used.
    pub cgroups: CgroupUse,
    /// What happens to the work folder at the end.
    pub work: WorkFolder,
    /// Folder of the journal.
    pub journal: PathBuf,
}

impl Default for KeeperOptions {
    fn default() -> KeeperOptions {
        KeeperOptions {
            // Not its path: the file may have been replaced by a newer build meanwhile.
            program: PathBuf::from("/proc/self/exe"),
            namespaces: NamespaceUse::default(),
            cgroups: CgroupUse::default(),
            work: WorkFolder::default(),
            journal: Journal::default_path(),
        }
    }
}

/// One process that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Its role.
    pub role: String,
    /// Host pid.
    pub pid: u32,
    /// Program and arguments, quoted for a shell.
    pub command: String,
}

/// A stack that runs. Dropping it ends everything hard.
#[derive(Debug)]
pub struct Stack {
    id: String,
    started: Started,
    processes: Vec<ProcessInfo>,
    orders: UnixStream,
    keeper: u32,
    stop_limit: Duration,
    shared: Arc<Shared>,
}

/// What the listening thread learns.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    exits: Vec<Exit>,
    end: Option<Ended>,
}

/// How it ended, and what was left behind.
#[derive(Clone, Debug)]
struct Ended {
    how: How,
    left: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// The keeper said so.
    Told,
    /// Init was gone before its time.
    InitGone,
    /// The keeper was gone before its time.
    KeeperGone,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A poisoned state is still a list of exits.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_end(&self, limit: Duration) -> Option<Ended> {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        while state.end.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.end.clone()
    }
}

impl Stack {
    /// Starts every process of `spec`, in order, under a keeper of its own. Stacks that
    /// nobody looks after any more are swept first. The work folder is created if it is not
    /// there (see `reserve`).
    ///
    /// # Errors
    /// A program cannot be executed, a folder cannot be used, a user cannot be taken, the id
    /// is taken, the keeper does not start; nothing runs then, and nothing is left. Isolation
    /// that the machine does not allow is no error: see `isolation`.
    pub fn start(spec: &StackSpec, options: &KeeperOptions) -> Result<Stack, KeeperError> {
        check_id(&spec.id)?;
        let _ = sweep::sweep_in(&options.journal);
        let journal = Journal::open(&options.journal)?;
        enter_journal(&journal, spec, options)?;
        // Orphans of a keeper that is killed come to us, so that we can reap them.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let Launched { child, channel, orders, started, exits } = launch(spec, options)
            .inspect_err(|_| {
                // The keeper did it already, if it lived.
                if let Some(entry) = journal.read(&spec.id) {
                    clean(&journal, &entry);
                }
            })?;
        let keeper = child.id();
        let shared = Arc::new(Shared::default());
        shared.lock().exits = exits;
        let listener = Listener {
            id: spec.id.clone(),
            journal,
            channel,
            child,
            roles: spec.processes.iter().map(|process| process.role.clone()).collect(),
            shared: Arc::clone(&shared),
        };
        thread::Builder::new()
            .name("keeper".to_owned())
            .stack_size(256 * 1024)
            .spawn(move || listener.listen())
            .map_err(|source| KeeperError::Keeper { program: options.program.clone(), source })?;
        let processes = describe(spec, &started);
        let stop_limit = spec.processes.iter().map(|p| Duration::from(p.stop.grace)).sum();
        Ok(Stack { id: spec.id.clone(), started, processes, orders, keeper, stop_limit, shared })
    }

    /// The processes that were started, in the order of the stack; their children are not
    /// listed.
    pub fn processes(&self) -> &[ProcessInfo] {
        &self.processes
    }

    /// How processes ended so far, in the order of their ends. Does not wait.
    pub fn exited(&self) -> Vec<Exit> {
        self.shared.lock().exits.clone()
    }

    /// For the monitor.
    pub fn group(&self) -> ProcessGroup {
        let roots = |role: &str| {
            self.processes.iter().filter(|one| one.role == role).map(|one| one.pid).collect()
        };
        let role = |folders: &RoleFolders| RoleGroup {
            role: folders.role.clone(),
            accounting: accounting(folders),
            roots: roots(&folders.role),
        };
        ProcessGroup { roles: self.started.roles.iter().map(role).collect() }
    }

    /// What guards this stack.
    pub fn isolation(&self) -> &IsolationRecord {
        &self.started.isolation
    }

    /// Whether the stack was ended by the loss of its keeper or init.
    pub fn lost(&self) -> bool {
        self.shared.lock().end.is_some()
    }

    /// Pid of the keeper.
    pub fn keeper_pid(&self) -> u32 {
        self.keeper
    }

    /// Host pid of init.
    pub fn init_pid(&self) -> u32 {
        self.started.init
    }

    /// Stops the processes in reverse order, each with its signal and grace, then ends and
    /// removes everything. Returns how each ended.
    ///
    /// # Errors
    /// Keeper or init had been lost (all was ended then, too), or something is left behind.
    pub fn stop(mut self) -> Result<Vec<Exit>, KeeperError> {
        if let Ok(order) = encode(&Order::Stop) {
            let _ = io::Write::write_all(&mut self.orders, &order);
        }
        let ended = match self.shared.wait_end(self.stop_limit + END_LIMIT) {
            Some(ended) => ended,
            None => self.end_hard(),
        };
        let id = self.id.clone();
        match (ended.left.is_empty(), ended.how) {
            (false, _) => Err(KeeperError::Left { id, left: ended.left }),
            (true, How::Told) => Ok(self.exited()),
            (true, How::InitGone) => Err(KeeperError::Init { id }),
            (true, How::KeeperGone) => Err(KeeperError::Gone { id }),
        }
    }

    /// Hangs up, which the keeper takes for our death.
    fn end_hard(&mut self) -> Ended {
        let _ = self.orders.shutdown(Shutdown::Write);
        if let Some(ended) = self.shared.wait_end(END_LIMIT) {
            return ended;
        }
        // A keeper that does not do its work is no keeper: the listener then cleans up.
        let _ = self.orders.shutdown(Shutdown::Both);
        self.shared.wait_end(END_LIMIT).unwrap_or_else(|| Ended {
            how: How::KeeperGone,
            left: vec![format!("keeper {}", self.keeper)],
        })
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.end_hard();
    }
}

/// Reads the keeper's news until it is gone, then makes sure that all is gone.
struct Listener {
    id: String,
    journal: Journal,
    channel: Channel,
    child: Child,
    roles: Vec<String>,
    shared: Arc<Shared>,
}

impl Listener {
    fn listen(mut self) {
        let mut how = How::KeeperGone;
        let mut left = Vec::new();
        while let Ok(Some(news)) = self.channel.receive::<News>() {
            match news {
                News::Exited(exit) => self.shared.lock().exits.push(exit),
                News::Failed(_) => how = How::InitGone,
                News::Ended { left: stayed } => {
                    left = stayed;
                    if how == How::KeeperGone {
                        how = How::Told;
                    }
                }
                News::Started(_) => {}
            }
        }
        // It said its last word, or is dead, or we do not trust it any more.
        if how == How::KeeperGone {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        if let Some(entry) = self.journal.read(&self.id) {
            left = clean(&self.journal, &entry);
        }
        let mut state = self.shared.lock();
        if how != How::Told {
            self.add_missing(&mut state.exits);
        }
        state.end = Some(Ended { how, left });
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Whoever could have told how they ended is gone: they were killed.
    fn add_missing(&self, exits: &mut Vec<Exit>) {
        for (process, role) in self.roles.iter().enumerate() {
            if !exits.iter().any(|exit| exit.process == process) {
                let (role, signal) = (role.clone(), Some(libc::SIGKILL));
                exits.push(Exit { process, role, code: None, signal });
            }
        }
    }
}

/// An id is part of file and cgroup names.
pub(super) fn check_id(id: &str) -> Result<(), KeeperError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match (1..=64).contains(&id.len()) && id.chars().all(fits) && !id.starts_with('.') {
        true => Ok(()),
        false => Err(KeeperError::BadId(id.to_owned())),
    }
}

fn enter_journal(
    journal: &Journal,
    spec: &StackSpec,
    options: &KeeperOptions,
) -> Result<(), KeeperError> {
    let own = own_identity()?;
    let reserved = |entry: &Entry| entry.stampede == own && entry.keeper.is_none();
    if journal.read(&spec.id).is_some_and(|entry| entry.guarded() && !reserved(&entry)) {
        return Err(KeeperError::InUse(spec.id.clone()));
    }
    sweep::enter_work(journal, Entry::new(&spec.id, own), &spec.work, options.work)
}

/// A keeper whose stack runs.
struct Launched {
    child: Child,
    channel: Channel,
    orders: UnixStream,
    started: Started,
    /// Of processes that ended before the last was started.
    exits: Vec<Exit>,
}

fn launch(spec: &StackSpec, options: &KeeperOptions) -> Result<Launched, KeeperError> {
    let fail = |source| KeeperError::Keeper { program: options.program.clone(), source };
    let (near, far) = UnixStream::pair().map_err(fail)?;
    let orders = near.try_clone().map_err(fail)?;
    near.set_read_timeout(Some(START_LIMIT)).map_err(fail)?;
    let mut child = execute(spec, options, &near, far).map_err(fail)?;
    let mut channel = Channel::new(near);
    match first_news(&spec.id, &mut channel) {
        Ok((started, exits)) => {
            // Both descriptors are one socket: from now on news may take as long as they do.
            orders.set_read_timeout(None).map_err(fail)?;
            Ok(Launched { child, channel, orders, started, exits })
        }
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(error)
        }
    }
}

/// Executes the keeper with its order already in the socket: it finds it there even if we
/// die at once, and then removes what the journal says.
fn execute(
    spec: &StackSpec,
    options: &KeeperOptions,
    near: &UnixStream,
    far: UnixStream,
) -> io::Result<Child> {
    let order = encode(&Order::Start(Box::new(Request {
        spec: spec.clone(),
        namespaces: options.namespaces,
        cgroups: options.cgroups,
        work: options.work,
        journal: options.journal.clone(),
    })))?;
    let sent = send_what_fits(near, &order)?;
    let mut command = Command::new(&options.program);
    command
        .arg0("stampede")
        .args([super::keep::ROLE, &std::process::id().to_string(), &spec.id])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(far)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // SAFETY: runs between fork and exec; setsid is one system call. Done here and not by the
    // keeper, so that there is no moment at which Ctrl-C reaches it.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
    let mut child = command.spawn()?;
    // Else our copy of the keeper's end would hide its death from us.
    drop(command);
    io::Write::write_all(&mut (&*near), &order[sent..]).inspect_err(|_| {
        let _ = child.kill();
        let _ = child.wait();
    })?;
    Ok(child)
}

/// As much as the socket's buffer takes without a reader: all, but for a huge environment.
fn send_what_fits(mut near: &UnixStream, order: &[u8]) -> io::Result<usize> {
    near.set_nonblocking(true)?;
    let mut sent = 0;
    while sent < order.len() {
        match io::Write::write(&mut near, &order[sent..]) {
            Ok(length) => sent += length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    near.set_nonblocking(false)?;
    Ok(sent)
}

fn first_news(id: &str, channel: &mut Channel) -> Result<(Started, Vec<Exit>), KeeperError> {
    let mut exits = Vec::new();
    loop {
        match channel.receive() {
            Ok(Some(News::Started(started))) => return Ok((started, exits)),
            Ok(Some(News::Exited(exit))) => exits.push(exit),
            // Sent once all is removed.
            Ok(Some(News::Failed(failure))) => return Err(failure.into_error(id)),
            Ok(Some(News::Ended { .. }) | None) | Err(_) => {
                return Err(KeeperError::Gone { id: id.to_owned() });
            }
        }
    }
}

fn describe(spec: &StackSpec, started: &Started) -> Vec<ProcessInfo> {
    let one = |(process, &pid): (&super::spec::ProcessSpec, &u32)| {
        let program = process.program.display().to_string();
        let words =
            std::iter::once(program.as_str()).chain(process.args.iter().map(String::as_str));
        ProcessInfo { role: process.role.clone(), pid, command: shell_words::join(words) }
    };
    spec.processes.iter().zip(&started.pids).map(one).collect()
}

fn accounting(folders: &RoleFolders) -> Accounting {
    let RoleFolders { v2, cpuacct, memory, .. } = folders.clone();
    match v2 {
        Some(folder) => Accounting::CgroupV2(folder),
        None if cpuacct.is_some() || memory.is_some() => Accounting::CgroupV1 { cpuacct, memory },
        None => Accounting::Proc,
    }
}
