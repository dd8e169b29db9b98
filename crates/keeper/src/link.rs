//! The connection to one keeper, and the news received over it. Closing it makes the keeper end its
//! stack.

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

use stampede_model::isolation::Exit;

use super::error::{Failure, KeeperError};
use super::journal::{Entry, Journal};
use super::stack::KeeperOptions;
use super::sweep::clean;
use super::wire::{Channel, GuardRequest, Notification, Order, Started, encode};

/// Longest time in which the keeper creates a directory or starts a stack. It starts processes and
/// does not wait until they are ready.
const START_LIMIT: Duration = Duration::from_secs(30);
/// Longest time for a forced end, in which the keeper waits for processes, groups and directories.
const END_LIMIT: Duration = Duration::from_secs(30);

/// The connection to a keeper. Dropping it forces the end of the whole stack.
#[derive(Debug)]
pub(super) struct Link {
    entry: OwnEntry,
    orders: UnixStream,
    shared: Arc<SharedState>,
    /// How long the end of the stack may take beside what its processes may.
    end_limit: Duration,
}

/// The journal's entry of one keeper.
#[derive(Clone, Debug)]
struct OwnEntry {
    id: String,
    keeper: u32,
    journal: Journal,
}

impl OwnEntry {
    /// Ends and removes what the keeper did not; returns what remains.
    fn clean(&self) -> Vec<String> {
        // A keeper that was killed while it wrote its first entry leaves a draft and no entry.
        self.journal.remove_draft(&self.id, self.keeper);
        // If the id was in use, the entry belongs to another keeper.
        let is_ours = |entry: &Entry| entry.keeper.is_some_and(|one| one.pid == self.keeper);
        let entry = self.journal.read(&self.id).filter(is_ours);
        entry.map(|entry| clean(&self.journal, &entry)).unwrap_or_default()
    }
}

/// The state that the listening thread shares.
#[derive(Debug, Default)]
struct SharedState {
    state: Mutex<KeeperState>,
    changed: Condvar,
}

/// The news received so far.
#[derive(Debug, Default)]
pub(super) struct KeeperState {
    /// The working directory exists.
    pub guards: bool,
    /// stampede has finished filling the working directory, so the listener may remove it.
    is_filled: bool,
    /// Set once the stack runs.
    pub started: Option<Started>,
    exits: Vec<Exit>,
    failure: Option<Failure>,
    ended: Option<StackEnd>,
}

/// How a stack ended.
#[derive(Clone, Debug)]
pub(super) struct StackEnd {
    /// The step that failed, or the process that ended too early.
    failure: Option<Failure>,
    /// Whether the keeper reported the end itself.
    is_reported: bool,
    /// What could not be removed.
    left: Vec<String>,
}

impl StackEnd {
    /// Whether nothing went wrong and nothing remains.
    pub(super) fn is_orderly(&self) -> bool {
        self.is_reported && self.failure.is_none() && self.left.is_empty()
    }
}

impl SharedState {
    fn lock(&self) -> MutexGuard<'_, KeeperState> {
        // After a panic elsewhere, the state is still a usable list of exits.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `heard` returns a value; `None` after `limit`.
    fn wait<T>(&self, limit: Duration, heard: impl Fn(&KeeperState) -> Option<T>) -> Option<T> {
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
        let request = Order::Guard(GuardRequest {
            id: id.to_owned(),
            directory: directory.to_owned(),
            namespaces: options.namespaces,
            cgroups: options.cgroups,
            work: options.work,
            journal: options.journal.clone(),
        });
        // Sent before the keeper starts, so that the keeper finds its order even if this process
        // dies at once. The socket takes these few hundred bytes without a reader.
        encode(&request).and_then(|order| send(&orders, &order)).map_err(fail)?;
        let child = execute(id, options, far).map_err(fail)?;
        let entry = OwnEntry { id: id.to_owned(), keeper: child.id(), journal };
        let shared = Arc::new(SharedState::default());
        let end_limit = END_LIMIT;
        let link = Link { entry: entry.clone(), orders, shared: Arc::clone(&shared), end_limit };
        let listener = Listener { entry, channel: Channel::new(near), child, shared };
        thread::Builder::new()
            .name("keeper".to_owned())
            .stack_size(256 * 1024)
            .spawn(move || listener.listen())
            .map_err(fail)?;
        Ok(link)
    }

    /// Lets the end of the stack take so much longer.
    pub(super) fn add_to_end_limit(&mut self, more: Duration) {
        self.end_limit += more;
    }

    /// Pid of the keeper.
    pub(super) fn keeper(&self) -> u32 {
        self.entry.keeper
    }

    /// Records that from now on only the stack writes to the working directory.
    pub(super) fn mark_filled(&self) {
        self.shared.lock().is_filled = true;
    }

    /// Sends an order to the keeper. If the send fails, the keeper is gone, which the listener
    /// notices.
    pub(super) fn order(&self, order: &Order) {
        let _ = encode(order).and_then(|order| send(&self.orders, &order));
    }

    /// Waits until `heard` returns a value. Returns an error if the stack ended first.
    pub(super) fn wait<T>(
        &self,
        heard: impl Fn(&KeeperState) -> Option<T>,
    ) -> Result<T, KeeperError> {
        let found = self.shared.wait(START_LIMIT, |state| match (heard(state), &state.ended) {
            (Some(found), _) => Some(Ok(found)),
            (None, Some(ended)) => Some(Err(ended.clone())),
            (None, None) => None,
        });
        match found {
            Some(found) => found.map_err(|ended| self.error(ended)),
            None => Err(self.error(self.end(None))),
        }
    }

    /// How the stack ended; `None` if it has not.
    pub(super) fn ended(&self) -> Option<StackEnd> {
        self.shared.lock().ended.clone()
    }

    /// Converts an end that was not orderly into an error.
    pub(super) fn error(&self, ended: StackEnd) -> KeeperError {
        let id = self.entry.id.clone();
        match ended {
            StackEnd { left, .. } if !left.is_empty() => KeeperError::Left { id, left },
            StackEnd { failure: Some(failure), .. } => failure.into_error(&id),
            StackEnd { .. } => KeeperError::Gone { id },
        }
    }

    /// Returns how the processes of `roles` ended so far. If keeper or init was lost, the processes
    /// without a report were killed, and are listed so.
    pub(super) fn exits(&self, roles: &[&str]) -> Vec<Exit> {
        let state = self.shared.lock();
        let mut exits = state.exits.clone();
        if state.ended.as_ref().is_some_and(|ended| !ended.is_reported || ended.failure.is_some()) {
            for (process, &role) in roles.iter().enumerate() {
                if !exits.iter().any(|exit| exit.process == process) {
                    let (role, signal) = (role.to_owned(), Some(libc::SIGKILL));
                    exits.push(Exit { process, role, code: None, signal });
                }
            }
        }
        exits
    }

    /// Waits for an end that was ordered or is expected, for `grace` and some more time. Then
    /// closes the connection, which the keeper treats as the death of stampede. Without a `grace` it
    /// is closed at once.
    pub(super) fn end(&self, grace: Option<Duration>) -> StackEnd {
        let waited = |limit| self.shared.wait(limit, |state| state.ended.clone());
        if let Some(ended) = grace.and_then(|grace| waited(grace + self.end_limit)) {
            return ended;
        }
        let _ = self.orders.shutdown(Shutdown::Write);
        if let Some(ended) = waited(self.end_limit) {
            return ended;
        }
        // The keeper does not react, so it is given up. The listener kills it and cleans up.
        let _ = self.orders.shutdown(Shutdown::Both);
        waited(END_LIMIT).unwrap_or_else(|| StackEnd {
            failure: None,
            is_reported: false,
            left: vec![format!("keeper {}", self.entry.keeper)],
        })
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end(None);
        // Does something only if the keeper was lost while the directory was being filled.
        self.entry.clean();
    }
}

/// Receives the keeper's news until the keeper is gone, then makes sure that nothing remains.
struct Listener {
    entry: OwnEntry,
    channel: Channel,
    child: Child,
    shared: Arc<SharedState>,
}

impl Listener {
    fn listen(mut self) {
        let mut is_reported = false;
        while let Ok(Some(notification)) = self.channel.receive::<Notification>() {
            let mut state = self.shared.lock();
            match notification {
                Notification::Guards => state.guards = true,
                Notification::Started(started) => state.started = Some(started),
                Notification::Exited(exit) => state.exits.push(exit),
                Notification::Failed(failure) => state.failure = Some(failure),
                Notification::Ended => is_reported = true,
            }
            drop(state);
            self.shared.changed.notify_all();
        }
        // The keeper sent its last message, or is dead, or was given up, or sent something
        // unreadable.
        if !is_reported {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        // While stampede fills the directory it cannot be removed for good. The drop of `Link`
        // cleans up then.
        let is_filled = self.shared.lock().is_filled;
        let left = if is_filled { self.entry.clean() } else { Vec::new() };
        let mut state = self.shared.lock();
        let failure = state.failure.clone();
        state.ended = Some(StackEnd { failure, is_reported, left });
        drop(state);
        self.shared.changed.notify_all();
    }
}

/// Executes the keeper with `far` as its standard input.
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
    // SAFETY: the closure runs between fork and exec, and setsid is one system call. It is called
    // here and not by the keeper, so that Ctrl-C can at no moment reach the keeper.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            Ok(())
        });
    }
    // The command is dropped with this function. Otherwise our copy of the keeper's end of the
    // socket would hide the keeper's death from us.
    command.spawn()
}

fn send(mut stream: &UnixStream, text: &[u8]) -> io::Result<()> {
    io::Write::write_all(&mut stream, text)
}
