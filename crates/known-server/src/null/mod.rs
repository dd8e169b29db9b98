//! The null server: every request gets the same answer, at once unless told otherwise. So a load
//! generator meets only its own limit. The server can stamp each request, so that a bench can check
//! what a generator prints.

mod clock;
mod connection;
mod server;

use std::io;
use std::os::fd::{AsFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::CpuSet;
use rustls::ServerConfig;

use self::server::Server;
use crate::behaviour::Freeze;
use crate::listen::{Address, BACKLOG, Listen, Listener, ServerError};
use crate::wire::ShutdownSignal;

/// A running null server with one thread and epoll. Ends when dropped.
#[derive(Debug)]
pub struct NullServer {
    address: Address,
    shutdown: ShutdownSignal,
    answered: Arc<AtomicU64>,
    thread: Option<JoinHandle<Vec<RequestTimestamps>>>,
}

/// How a null server works. By default the scheduler places it, and it speaks HTTP/1, answers `ok`
/// at once, never freezes and takes no timestamps.
#[derive(Clone, Debug)]
pub struct NullServerOptions {
    /// CPU that the server is pinned to; `None`: the scheduler places it.
    pub cpu: Option<usize>,
    /// What it speaks.
    pub protocol: Protocol,
    /// Length of the body of each answer.
    pub body_bytes: usize,
    /// Time from reading a request to its answer. It takes no CPU time, and requests that arrive
    /// meanwhile are read.
    pub delay: Duration,
    /// How many of the first requests get timestamps.
    pub stamps: usize,
    /// When the server reads nothing; times count from the first request. `None`: never.
    pub freeze: Option<Freeze>,
}

impl Default for NullServerOptions {
    fn default() -> NullServerOptions {
        NullServerOptions {
            cpu: None,
            protocol: Protocol::Http1,
            body_bytes: BODY.len(),
            delay: Duration::ZERO,
            stamps: 0,
            freeze: None,
        }
    }
}

/// What a null server speaks.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// HTTP/1.0 and 1.1.
    Http1,
    /// FastCGI, with one request at a time on a connection.
    FastCgi,
    /// HTTP/1.0 and 1.1 inside TLS, so configured.
    Tls(Arc<ServerConfig>),
}

/// Timestamps of one request, in ns on the machine's monotonic clock (`CLOCK_MONOTONIC`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestTimestamps {
    /// The number that is its path, for example 17 in `GET /17`; 0 where the path is no number.
    pub number: u64,
    /// Number of its connection; the first one that was accepted is 1.
    pub connection: u64,
    /// When its last byte arrived, by the kernel's timestamp. Where there is none, as on a Unix
    /// socket, the time just before the read that received it.
    pub arrived_ns: u64,
    /// Just before the call that sent the last byte of its answer.
    pub before_send_ns: u64,
    /// When that call had returned; `u64::MAX`: then a part was not sent yet, because the client has to
    /// read before there is room for it.
    pub after_send_ns: u64,
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

    /// Ends the server. Returns the timestamps in the order of the answers. Panics if the server's
    /// thread has panicked.
    pub fn finish(mut self) -> Vec<RequestTimestamps> {
        self.shutdown.announce();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(stamps)) => stamps,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Vec::new(),
        }
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

/// Body of an answer; a longer one repeats it.
const BODY: &[u8] = b"ok";
/// Descriptors for which the limit is raised and the table enlarged. The largest measured load has
/// 10 000 connections, and the rest is for the process. The table takes 8 bytes for each.
const DESCRIPTORS: u64 = 16_384;
