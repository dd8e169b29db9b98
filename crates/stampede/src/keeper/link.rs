//! The line to one keeper, and what was heard over it; hanging up ends what it keeps.

use std::io;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::error::{Failure, KeeperError};
use super::journal::{Entry, Journal};
use super::spec::Exit;
use super::stack::KeeperOptions;
use super::sweep::clean;
use super::wire::{Channel, News, Order, Request, Started, encode};

/// Longest time until the keeper has made a directory or started a stack: it starts processes, it
/// does not wait for them to be ready.
const START_LIMIT: Duration = Duration::from_secs(30);
/// What hard ends may take: the keeper's own patience with processes, groups and directories.
const END_LIMIT: Duration = Duration::from_secs(30);

/// The line to a keeper. Dropping it ends everything hard.
#[derive(Debug)]
pub(super) struct Link {
    entry: OwnEntry,
    orders: UnixStream,
    shared: Arc<Shared>,
}

/// The journal's entry of one keeper.
#[derive(Clone, Debug)]
struct OwnEntry {
    id: String,
    keeper: u32,
    journal: Journal,
}

impl OwnEntry {
    /// Ends and removes what the keeper did not; returns what stayed.
    fn clean(&self) -> Vec<String> {
        // A keeper that was killed at its first word leaves no entry, only what it wrote of it.
        self.journal.remove_draft(&self.id, self.keeper);
        // An id that was taken is another keeper's.
        let is_ours = |entry: &Entry| entry.keeper.is_some_and(|one| one.pid == self.keeper);
        let entry = self.journal.read(&self.id).filter(is_ours);
        entry.map(|entry| clean(&self.journal, &entry)).unwrap_or_default()
    }
}

/// What the listening thread learns.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// What was heard so far.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The working directory is there.
    pub guards: bool,
    /// It is filled no more: who looks after it may remove it.
    is_filled: bool,
    /// The stack runs.
    pub started: Option<Started>,
    exits: Vec<Exit>,
    failure: Option<Failure>,
    ended: Option<Ended>,
}

/// How it ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    /// What did not work, or was gone before its time.
    failure: Option<Failure>,
    /// Whether the keeper itself said that it ended.
    told: bool,
    /// What was left behind.
    left: Vec<String>,
}

impl Ended {
    /// Whether nothing went wrong and nothing is left.
    pub(super) fn is_orderly(&self) -> bool {
        self.told && self.failure.is_none() && self.left.is_empty()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A poisoned state is still a list of exits.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `heard` gives something.
    fn wait<T>(&self, limit: Duration, heard: impl Fn(&State) -> Option<T>) -> Option<T> {
        let until = Instant::now() + limit;
        let mut state = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match heard(&state) {
                None if !left.is_zero() => {}
                found => return found,
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Link {
    /// Starts a keeper for `directory`.
    pub(super) fn open(
        id: &str,
        directory: &Path,
        options: &KeeperOptions,
    ) -> Result<Link, KeeperError> {
        let journal = Journal::open(&options.journal)?;
        let fail = |source| KeeperError::Keeper { program: options.program.clone(), source };
        let (near, far) = UnixStream::pair().map_err(fail)?;
        let orders = near.try_clone().map_err(fail)?;
        let request = Order::Guard(Request {
            id: id.to_owned(),
            directory: directory.to_owned(),
            namespaces: options.namespaces,
            cgroups: options.cgroups,
            work: options.work,
            journal: options.journal.clone(),
        });
        // Before the keeper is there: it finds its order even if we die at once. A few hundred
        // bytes, which the socket takes without a reader.
        encode(&request).and_then(|order| send(&orders, &order)).map_err(fail)?;
        let child = execute(id, options, far).map_err(fail)?;
        let entry = OwnEntry { id: id.to_owned(), keeper: child.id(), journal };
        let shared = Arc::new(Shared::default());
        let link = Link { entry: entry.clone(), orders, shared: Arc::clone(&shared) };
        let listener = Listener { entry, channel: Channel::new(near), child, shared };
        thread::Builder::new()
            .name("keeper".to_owned())
            .stack_size(256 * 1024)
            .spawn(move || listener.listen())
            .map_err(fail)?;
        Ok(link)
    }

    /// Pid of the keeper.
    pub(super) fn keeper(&self) -> u32 {
        self.entry.keeper
    }

    /// From now on nobody writes to the working directory but the stack.
    pub(super) fn filled(&self) {
        self.shared.lock().is_filled = true;
    }

    /// Tells the keeper. One that cannot hear it is gone, which the listener learns.
    pub(super) fn order(&self, order: &Order) {
        let _ = encode(order).and_then(|order| send(&self.orders, &order));
    }

    /// Waits until `heard` gives something; an error when everything ended first.
    pub(super) fn wait<T>(&self, heard: impl Fn(&State) -> Option<T>) -> Result<T, KeeperError> {
        let found = self.shared.wait(START_LIMIT, |state| match (heard(state), &state.ended) {
            (Some(found), _) => Some(Ok(found)),
            (None, Some(ended)) => Some(Err(ended.clone())),
            (None, None) => None,
        });
        match found {
            Some(found) => found.map_err(|ended| self.error(ended)),
            None => Err(self.error(self.end(Duration::ZERO))),
        }
    }

    /// How it ended, if it did.
    pub(super) fn ended(&self) -> Option<Ended> {
        self.shared.lock().ended.clone()
    }

    /// An end that was not orderly, as an error.
    pub(super) fn error(&self, ended: Ended) -> KeeperError {
        let id = self.entry.id.clone();
        match ended {
            Ended { left, .. } if !left.is_empty() => KeeperError::Left { id, left },
            Ended { failure: Some(failure), .. } => failure.into_error(&id),
            Ended { .. } => KeeperError::Gone { id },
        }
    }

    /// How processes of `roles` ended so far. When whoever could have told is gone, the others
    /// were killed.
    pub(super) fn exits(&self, roles: &[&str]) -> Vec<Exit> {
        let state = self.shared.lock();
        let mut exits = state.exits.clone();
        if state.ended.as_ref().is_some_and(|ended| !ended.told || ended.failure.is_some()) {
            for (process, &role) in roles.iter().enumerate() {
                if !exits.iter().any(|exit| exit.process == process) {
                    let (role, signal) = (role.to_owned(), Some(libc::SIGKILL));
                    exits.push(Exit { process, role, code: None, signal });
                }
            }
        }
        exits
    }

    /// Waits for an end that was ordered or is near, for `grace` and some patience; then hangs
    /// up, which the keeper takes for our death.
    pub(super) fn end(&self, grace: Duration) -> Ended {
        let waited = |limit| self.shared.wait(limit, |state| state.ended.clone());
        if let Some(ended) = (!grace.is_zero()).then(|| waited(grace + END_LIMIT)).flatten() {
            return ended;
        }
        let _ = self.orders.shutdown(Shutdown::Write);
        if let Some(ended) = waited(END_LIMIT) {
            return ended;
        }
        // A keeper that does not do its work is no keeper: the listener then cleans up.
        let _ = self.orders.shutdown(Shutdown::Both);
        waited(END_LIMIT).unwrap_or_else(|| Ended {
            failure: None,
            told: false,
            left: vec![format!("keeper {}", self.entry.keeper)],
        })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
        // Nothing, but where the keeper was lost while the directory was being filled.
        self.entry.clean();
    }
}

/// Reads the keeper's news until it is gone, then makes sure that all is gone.
struct Listener {
    entry: OwnEntry,
    channel: Channel,
    child: Child,
    shared: Arc<Shared>,
}

impl Listener {
    fn listen(mut self) {
        let mut told = false;
        while let Ok(Some(news)) = self.channel.receive::<News>() {
            let mut state = self.shared.lock();
            match news {
                News::Guards => state.guards = true,
                News::Started(started) => state.started = Some(started),
                News::Exited(exit) => state.exits.push(exit),
                News::Failed(failure) => state.failure = Some(failure),
                News::Ended => told = true,
            }
            drop(state);
            self.shared.changed.notify_all();
        }
        // It said its last word, or is dead, or we do not trust it any more.
        if !told {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        // Whoever still fills the directory would fill it behind our back.
        let is_filled = self.shared.lock().is_filled;
        let left = if is_filled { self.entry.clean() } else { Vec::new() };
        let mut state = self.shared.lock();
        let failure = state.failure.clone();
        state.ended = Some(Ended { failure, told, left });
        drop(state);
        self.shared.changed.notify_all();
    }
}

/// Executes the keeper, `far` as its standard input.
fn execute(id: &str, options: &KeeperOptions, far: UnixStream) -> io::Result<Child> {
    let mut command = Command::new(&options.program);
    command
        .arg0("stampede")
        .args([super::keep::ROLE, &std::process::id().to_string(), id])
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
    // The command goes with this function: else our copy of the keeper's end would hide its
    // death from us.
    command.spawn()
}

fn send(mut stream: &UnixStream, text: &[u8]) -> io::Result<()> {
    io::Write::write_all(&mut stream, text)
}
