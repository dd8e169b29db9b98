//! The null server: every request gets the same small answer at once. So a load generator meets
//! only its own limit.

use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::CpuSet;
use rustix::time::ClockId;

use crate::behaviour::Freeze;
use crate::listen::{Address, BACKLOG, Listen, Listener, ServerError};
use crate::request::{ParsedRequest, Persistence, REQUEST_BYTES_MAX, Shape};
use crate::wire::ShutdownSignal;

/// A running null server with one thread and epoll. Ends when dropped.
#[derive(Debug)]
pub struct NullServer {
    address: Address,
    shutdown: ShutdownSignal,
    answered: Arc<AtomicU64>,
    thread: Option<JoinHandle<Vec<RequestTimestamps>>>,
}

/// How a null server works. By default the scheduler places it, it sleeps while there is nothing to
/// do, never freezes, and takes no timestamps.
#[derive(Clone, Debug, Default)]
pub struct NullServerOptions {
    /// CPU that the server is pinned to; `None`: the scheduler places it.
    pub cpu: Option<usize>,
    /// What it does while there is nothing to do.
    pub waiting: IdleMode,
    /// How many of the first requests get timestamps.
    pub stamps: usize,
    /// When the server reads nothing; times count from the first request. `None`: never.
    pub freeze: Option<Freeze>,
    /// CPU time that each request takes, in addition to reading and answering it.
    pub work_time: Duration,
}

/// What a null server does while there is nothing to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdleMode {
    /// Sleeps.
    #[default]
    Sleep,
    /// Polls again at once. Its own wake-up, which takes longer than a request, is then in no
    /// timestamp. Takes a whole CPU.
    Spin,
}

/// Timestamps of one request, in ns on the machine's monotonic clock (`CLOCK_MONOTONIC`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimestamps {
    /// The number that is its path, for example 17 in `GET /17`; 0 where the path is no number.
    /// With several requests in one read, that of the first.
    pub number: u64,
    /// Just before the read that received it.
    pub arrived_ns: u64,
    /// When the call that sent its answer had returned.
    pub answered_ns: u64,
}

impl NullServer {
    /// Starts on 127.0.0.1, on any CPU.
    pub fn start() -> Result<NullServer, ServerError> {
        NullServer::start_on(&Listen::Tcp, None)
    }

    /// Starts on `listen`, pinned to `cpu` if one is given.
    pub fn start_on(listen: &Listen, cpu: Option<usize>) -> Result<NullServer, ServerError> {
        NullServer::start_with(listen, NullServerOptions { cpu, ..NullServerOptions::default() })
    }

    /// Starts on `listen` in this manner.
    ///
    /// Raises the process's soft limit of open files, where it is too low for a large load.
    pub fn start_with(
        listen: &Listen,
        options: NullServerOptions,
    ) -> Result<NullServer, ServerError> {
        let listener = Listener::open(listen, BACKLOG)?;
        let address = listener.address().clone();
        grow_descriptor_table(&listener);
        let shutdown = ShutdownSignal::new().map_err(|source| ServerError::Thread { source })?;
        let answered = Arc::new(AtomicU64::new(0));
        let cpu = options.cpu;
        let server = Server::new(listener, &shutdown, Arc::clone(&answered), options)
            .map_err(|source| ServerError::Thread { source })?;
        let (pinned, on_cpu) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("null-server".to_owned())
            .spawn(move || {
                let result = pin(cpu);
                let failed = result.is_err();
                match pinned.send(result) {
                    Ok(()) if !failed => server.serve(),
                    _ => Vec::new(),
                }
            })
            .map_err(|source| ServerError::Thread { source })?;
        let server = NullServer { address, shutdown, answered, thread: Some(thread) };
        match on_cpu.recv() {
            Ok(Ok(())) => Ok(server),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(ServerError::Thread { source: io::ErrorKind::BrokenPipe.into() }),
        }
    }

    /// Address that it listens on.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Requests answered so far.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Ends the server. Returns the timestamps in order of arrival.
    pub fn finish(mut self) -> Vec<RequestTimestamps> {
        self.shutdown.announce();
        self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.shutdown.announce();
        if let Some(thread) = self.thread.take() {
            // A panic in the thread has been printed already.
            let _ = thread.join();
        }
    }
}

/// Makes the kernel enlarge the table of descriptors at once, by duplicating `any` to a high
/// number. Where threads share the table, a thread that reaches its end is stopped for 10 to 20 ms
/// while it doubles. (`expand_fdtable` waits until every CPU has passed by.) This would delay a
/// server while it accepts connections.
fn grow_descriptor_table(any: impl AsFd) {
    let limit = getrlimit(Resource::Nofile);
    // `None` means no limit.
    let [soft, hard] = [limit.current, limit.maximum].map(|limit| limit.unwrap_or(u64::MAX));
    let wanted = hard.min(DESCRIPTORS);
    if soft < wanted {
        let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
        // If it cannot be raised, the server takes fewer connections.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    let soft = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let last = soft.min(DESCRIPTORS).saturating_sub(1);
    // If this is refused, the table grows when it must.
    drop(rustix::io::fcntl_dupfd_cloexec(any, last as RawFd));
}

/// Pins the calling thread.
fn pin(cpu: Option<usize>) -> Result<(), ServerError> {
    let Some(cpu) = cpu else { return Ok(()) };
    if cpu >= CpuSet::MAX_CPU {
        return Err(ServerError::Cpu { cpu, source: io::ErrorKind::InvalidInput.into() });
    }
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    rustix::thread::sched_setaffinity(None, &cpus)
        .map_err(|errno| ServerError::Cpu { cpu, source: errno.into() })
}

struct Server {
    epoll: OwnedFd,
    listener: Listener,
    /// Slots; the slot of a closed connection is reused.
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    accepting: Accepting,
    answered: Arc<AtomicU64>,
    /// Buffer for one read of the connection that is being served.
    read: Vec<u8>,
    options: NullServerOptions,
    stamps: Vec<RequestTimestamps>,
    /// When the first request arrived.
    zero_ns: Option<u64>,
}

/// The number of a request that begins with `GET /17 `.
fn number_of(request: &[u8]) -> u64 {
    let path = request.strip_prefix(b"GET /").unwrap_or_default();
    let digits = path.iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, byte| {
        number.saturating_mul(10).saturating_add(u64::from(byte - b'0'))
    })
}

struct Connection {
    fd: OwnedFd,
    /// The part of a request that was received so far.
    pending: Vec<u8>,
    /// Answers for which the client has no room yet.
    unsent: Vec<u8>,
    /// No request is answered after one that demands a close.
    persistence: Persistence,
}

/// Whether the listener is polled. It is not while descriptors are short, because it would then
/// wake us for nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accepting {
    Yes,
    UntilOneCloses,
}

/// The connection must be dropped.
struct Close;

impl Server {
    fn new(
        listener: Listener,
        shutdown: &ShutdownSignal,
        answered: Arc<AtomicU64>,
        options: NullServerOptions,
    ) -> io::Result<Server> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, shutdown, EventData::new_u64(ENDING), EventFlags::IN)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Server {
            epoll,
            listener,
            connections: Vec::new(),
            free: Vec::new(),
            accepting: Accepting::Yes,
            answered,
            read: Vec::with_capacity(READ_BYTES),
            stamps: Vec::with_capacity(options.stamps),
            options,
            zero_ns: None,
        })
    }

    /// Serves until the end is announced.
    fn serve(mut self) -> Vec<RequestTimestamps> {
        let mut events = Vec::with_capacity(EVENTS);
        let timeout = match self.options.waiting {
            IdleMode::Sleep => None,
            IdleMode::Spin => Some(Timespec { tv_sec: 0, tv_nsec: 0 }),
        };
        loop {
            events.clear();
            let space = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, space, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return self.stamps,
            }
            for event in &events {
                match event.data.u64() {
                    ENDING => return self.stamps,
                    LISTENER => self.accept(),
                    slot => self.serve_stamped(slot as usize),
                }
            }
        }
    }

    fn serve_stamped(&mut self, slot: usize) {
        let options = &self.options;
        if options.stamps == 0 && options.freeze.is_none() && options.work_time.is_zero() {
            return self.serve_slot(slot);
        }
        self.wait_out_freeze();
        let before = self.answered.load(Ordering::Relaxed);
        let arrived_ns = monotonic_ns();
        let worked_ns = arrived_ns + self.options.work_time.as_nanos() as u64;
        while monotonic_ns() < worked_ns {
            std::hint::spin_loop();
        }
        self.serve_slot(slot);
        let requests = self.answered.load(Ordering::Relaxed) - before;
        if requests > 0 {
            self.zero_ns.get_or_insert(arrived_ns);
        }
        let answered_ns = monotonic_ns();
        let stamp = RequestTimestamps { number: number_of(&self.read), arrived_ns, answered_ns };
        let room = self.options.stamps - self.stamps.len();
        self.stamps.extend((0..requests).map(|_| stamp).take(room));
    }

    /// Waits for the end of the freeze, if one is in progress.
    fn wait_out_freeze(&self) {
        let (Some(freeze), Some(zero_ns)) = (self.options.freeze, self.zero_ns) else { return };
        let now = Duration::from_nanos(monotonic_ns() - zero_ns);
        thread::sleep(freeze.after_freeze(now).saturating_sub(now));
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok(fd) => self.add(fd),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => {
                    self.accepting = Accepting::UntilOneCloses;
                    let _ = epoll::delete(&self.epoll, &self.listener);
                    return;
                }
            }
        }
    }

    fn add(&mut self, fd: OwnedFd) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let data = EventData::new_u64(slot as u64);
        if epoll::add(&self.epoll, &fd, data, EventFlags::IN).is_err() {
            self.free.push(slot);
            return;
        }
        self.connections[slot] = Some(Connection {
            fd,
            pending: Vec::new(),
            unsent: Vec::new(),
            persistence: Persistence::Implicit,
        });
    }

    fn serve_slot(&mut self, slot: usize) {
        let Some(connection) = &mut self.connections[slot] else { return };
        let waited = !connection.unsent.is_empty();
        let served = connection.serve_once(&mut self.read, &self.answered);
        let waits = !connection.unsent.is_empty();
        if served.is_err() {
            return self.drop_slot(slot);
        }
        if waits != waited {
            // Do not read while answers wait: a client that does not read gets no more.
            let flags = if waits { EventFlags::OUT } else { EventFlags::IN };
            let data = EventData::new_u64(slot as u64);
            if epoll::modify(&self.epoll, &connection.fd, data, flags).is_err() {
                self.drop_slot(slot);
            }
        }
    }

    fn drop_slot(&mut self, slot: usize) {
        // Closing the descriptor removes it from the epoll set.
        self.connections[slot] = None;
        self.free.push(slot);
        if self.accepting == Accepting::UntilOneCloses {
            let data = EventData::new_u64(LISTENER);
            if epoll::add(&self.epoll, &self.listener, data, EventFlags::IN).is_ok() {
                self.accepting = Accepting::Yes;
            }
        }
    }
}

impl Connection {
    /// Does what is possible now: writes what waits, otherwise reads and answers once.
    fn serve_once(&mut self, read: &mut Vec<u8>, answered: &AtomicU64) -> Result<(), Close> {
        if !self.unsent.is_empty() {
            let unsent = std::mem::take(&mut self.unsent);
            return self.send(&unsent);
        }
        read.clear();
        match rustix::io::read(&self.fd, rustix::buffer::spare_capacity(read)) {
            Ok(0) => return Err(Close),
            Ok(_) => {}
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(_) => return Err(Close),
        }
        if self.pending.is_empty() {
            let used = self.answer_all(read, answered)?;
            self.pending.extend_from_slice(&read[used..]);
        } else {
            let mut pending = std::mem::take(&mut self.pending);
            pending.extend_from_slice(read);
            let used = self.answer_all(&pending, answered)?;
            pending.drain(..used);
            self.pending = pending;
        }
        if self.pending.len() > REQUEST_BYTES_MAX { Err(Close) } else { Ok(()) }
    }

    /// Answers the complete requests in `bytes`, and returns how many bytes they had.
    fn answer_all(&mut self, bytes: &[u8], answered: &AtomicU64) -> Result<usize, Close> {
        let mut used = 0;
        while used < bytes.len() {
            let Some(request) = ParsedRequest::parse(&bytes[used..]).map_err(|_| Close)? else {
                break;
            };
            used += request.length;
            self.persistence = request.persistence;
            // Counted before the client can see the answer. There is only one writer, so no atomic
            // read-modify-write is needed.
            answered.store(answered.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            self.send(answer(&request))?;
        }
        Ok(used)
    }

    /// Sends bytes, and keeps those for which the client has no room. Returns `Close` once the last
    /// answer was sent.
    fn send(&mut self, mut bytes: &[u8]) -> Result<(), Close> {
        while self.unsent.is_empty() && !bytes.is_empty() {
            match rustix::net::send(&self.fd, bytes, rustix::net::SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(_) => return Err(Close),
            }
        }
        self.unsent.extend_from_slice(bytes);
        if self.unsent.is_empty() && self.persistence == Persistence::Close {
            Err(Close)
        } else {
            Ok(())
        }
    }
}

fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The fixed answer.
fn answer(request: &ParsedRequest) -> &'static [u8] {
    let whole: &[u8] = match request.persistence {
        Persistence::Implicit => b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        Persistence::Explicit => {
            b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"
        }
        Persistence::Close => {
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
        }
    };
    match request.shape {
        Shape::HeadAndBody => whole,
        Shape::HeadOnly => &whole[..whole.len() - BODY_BYTES],
    }
}

/// Length of `ok`.
const BODY_BYTES: usize = 2;

/// Tokens of the two descriptors that are no connection; no slot has such a number.
const ENDING: u64 = u64::MAX;
const LISTENER: u64 = u64::MAX - 1;

/// Descriptors for which the limit is raised and the table enlarged. The largest measured load has
/// 10 000 connections, and the rest is for the process. The table takes 8 bytes for each.
const DESCRIPTORS: u64 = 16_384;
/// Events of one wait and bytes of one read; larger values would make no measurable difference.
const EVENTS: usize = 256;
const READ_BYTES: usize = 64 * 1024;
