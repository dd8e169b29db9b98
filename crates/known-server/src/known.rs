//! A server with a known behaviour. Each connection has its own thread, so that the code of a
//! connection reads like the story of one client.

use std::io::ErrorKind;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle, Scope};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use crate::answer::{Answer, ConnectionAction, ExtraBytes, Writing};
use crate::behaviour::{Accept, Behaviour, ClockZero, Workers};
use crate::gate::{Gate, Permit};
use crate::journal::{InFlightGuard, Journal, SharedJournal};
use crate::listen::{Address, BACKLOG, Listen, Listener, ServerError};
use crate::request::ParsedRequest;
use crate::wire::{ConnectionEnded, ShutdownSignal, WaitResult, Wire};

/// A running server; ends with all its threads when dropped.
#[derive(Debug)]
pub struct KnownServer {
    shared: Arc<Shared>,
    address: Address,
    thread: Option<JoinHandle<()>>,
}

/// What all threads of a server share.
#[derive(Debug)]
struct Shared {
    behaviour: Behaviour,
    journal: SharedJournal,
    shutdown: ShutdownSignal,
    zero: OnceLock<Instant>,
    /// Workers held by requests; `None`: unlimited.
    workers: Option<Gate>,
    /// Workers held by connections; otherwise a bound for the number of threads.
    connections: Gate,
}

impl KnownServer {
    /// Starts on 127.0.0.1.
    pub fn start(behaviour: Behaviour) -> Result<KnownServer, ServerError> {
        KnownServer::start_on(&Listen::Tcp, behaviour)
    }

    /// Starts on `listen`. Clients can connect when this returns.
    pub fn start_on(listen: &Listen, behaviour: Behaviour) -> Result<KnownServer, ServerError> {
        behaviour.check()?;
        let backlog = if behaviour.accept == Accept::NeverFull { 0 } else { BACKLOG };
        let listener = Listener::open(listen, backlog)?;
        let address = listener.address().clone();
        let shared = Arc::new(Shared::new(behaviour).map_err(thread_error)?);
        let accepting = Arc::clone(&shared);
        let thread = match shared.behaviour.accept {
            Accept::Always | Accept::ThenReset => thread::Builder::new()
                .name("known-server".to_owned())
                .spawn(move || accepting.accept_all(&listener)),
            Accept::Never | Accept::NeverFull => {
                let filler = fill(&listener, &shared.behaviour).map_err(thread_error)?;
                thread::Builder::new().name("known-server".to_owned()).spawn(move || {
                    // Waits for the end: the eventfd becomes readable then.
                    let _ = accepting.shutdown.wait_ready(&accepting.shutdown, PollFlags::IN);
                    drop((filler, listener));
                })
            }
        };
        Ok(KnownServer { shared, address, thread: Some(thread.map_err(thread_error)?) })
    }

    /// Address that it listens on.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What it has received so far.
    pub fn journal(&self) -> Journal {
        self.shared.journal.read()
    }
}

impl Drop for KnownServer {
    fn drop(&mut self) {
        self.shared.shutdown.announce();
        self.shared.connections.close();
        self.shared.workers.iter().for_each(Gate::close);
        if let Some(thread) = self.thread.take() {
            // A panic in the thread has been printed; the test sees it in the missing answers.
            let _ = thread.join();
        }
    }
}

fn thread_error(source: std::io::Error) -> ServerError {
    ServerError::Thread { source }
}

/// Fills the backlog with connections of our own, so that no other connect completes.
fn fill(listener: &Listener, behaviour: &Behaviour) -> std::io::Result<Vec<std::os::fd::OwnedFd>> {
    if behaviour.accept != Accept::NeverFull {
        return Ok(Vec::new());
    }
    // A backlog of 0 holds one connection. The second one waits in front of it; on a Unix socket it
    // is refused at once.
    let first = listener.connect()?;
    Ok([Ok(first), listener.connect()].into_iter().flatten().collect())
}

impl Shared {
    fn new(behaviour: Behaviour) -> std::io::Result<Shared> {
        let (workers, connections) = match behaviour.workers {
            Workers::Unlimited => (None, CONNECTIONS_MAX),
            Workers::PerRequest(workers) => (Some(Gate::new(workers)), CONNECTIONS_MAX),
            Workers::PerConnection(workers) => (None, workers.min(CONNECTIONS_MAX)),
        };
        let zero = OnceLock::new();
        if behaviour.zero == ClockZero::Start {
            zero.get_or_init(Instant::now);
        }
        Ok(Shared {
            behaviour,
            journal: SharedJournal::default(),
            shutdown: ShutdownSignal::new()?,
            zero,
            workers,
            connections: Gate::new(connections),
        })
    }

    /// Accepts until the server ends; returns when the threads of all connections have ended.
    fn accept_all(&self, listener: &Listener) {
        thread::scope(|scope| {
            // First take a worker, then a connection for it: the others wait in the backlog.
            while let Some(permit) = self.connections.take()
                && let Ok(WaitResult::Ready) = self.shutdown.wait_ready(listener, PollFlags::IN)
            {
                match listener.accept() {
                    Ok(fd) => self.spawn(scope, Wire::new(fd, self.shutdown.clone()), permit),
                    // The client is gone again.
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    // Descriptors are short: a connection must close first.
                    Err(_) => drop(self.shutdown.wait_until(Instant::now() + DESCRIPTORS_WAIT)),
                }
            }
        });
    }

    fn spawn<'a>(&'a self, scope: &'a Scope<'a, '_>, mut wire: Wire, permit: Permit<'a>) {
        let open = self.journal.accepted();
        let story = move || {
            let end = match self.behaviour.accept {
                Accept::ThenReset => Ok(ConnectionAction::Reset),
                _ => self.serve_connection(&mut wire),
            };
            drop(open);
            if let Ok(ConnectionAction::Reset) = end {
                wire.reset();
            } else {
                drop(wire);
            }
            drop(permit);
        };
        // Without a thread the connection is dropped together with `story`: the client sees it
        // closed.
        let _ = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, story);
    }

    /// Serves one connection from its first request to the end of its last answer. Every `Err` is
    /// an end that was demanded or cannot be avoided.
    fn serve_connection(&self, wire: &mut Wire) -> Result<ConnectionAction, ConnectionEnded> {
        wire.write(&self.behaviour.greeting)?;
        let mut bytes = Vec::new();
        loop {
            let request = loop {
                match ParsedRequest::parse(&bytes) {
                    Ok(Some(request)) => break request,
                    Ok(None) => wire.read(&mut bytes)?,
                    Err(_) => return Err(ConnectionEnded),
                }
            };
            bytes.drain(..request.length);
            let in_flight =
                self.journal.received(|| u64::try_from(self.now().as_nanos()).unwrap_or(u64::MAX));
            if let Some(action) = self.reply(wire, &request, in_flight)? {
                return Ok(action);
            }
        }
    }

    /// Works on one request and answers it. Returns what happens to the connection then.
    fn reply(
        &self,
        wire: &mut Wire,
        request: &ParsedRequest,
        in_flight: InFlightGuard<'_>,
    ) -> Result<Option<ConnectionAction>, ConnectionEnded> {
        let reply = self.behaviour.reply_to(in_flight.number);
        let arrived = Duration::from_nanos(in_flight.at_ns);
        let mut permit = match &self.workers {
            Some(workers) => Some(workers.take().ok_or(ConnectionEnded)?),
            None => None,
        };
        let begin = permit.as_ref().map_or(arrived, |permit| permit.free_at.max(arrived));
        let done = self.behaviour.finish(begin, reply.service_time);
        wire.wait(self.instant(done))?;
        let written = self.answer(wire, &reply.answer, request, done, in_flight);
        if let Some(permit) = &mut permit {
            // The client has gone or was held, so the end does not follow from arithmetic.
            permit.free_at = written.as_ref().ok().copied().flatten().unwrap_or(self.now());
        }
        written.map(|_| reply.answer.ending(request))
    }

    /// Writes the answer from `done` on, and holds the connection if demanded. Returns when the
    /// last byte was due; `None` after a hold.
    fn answer(
        &self,
        wire: &mut Wire,
        answer: &Answer,
        request: &ParsedRequest,
        mut done: Duration,
        in_flight: InFlightGuard<'_>,
    ) -> Result<Option<Duration>, ConnectionEnded> {
        let bytes = answer.bytes(request);
        let (mut piece, next, gap) = match answer.writing() {
            Writing::AtOnce => (bytes.len(), bytes.len(), Duration::ZERO),
            Writing::Torn { bytes, gap } => (bytes, bytes, gap),
            Writing::Split { at, gap } => (at, bytes.len(), gap),
        };
        let endless = matches!(answer.after(), ExtraBytes::Forever(_));
        let hold = endless || answer.ending(request) == Some(ConnectionAction::Hold);
        let mut in_flight = Some(in_flight);
        let mut left = bytes.as_slice();
        while !left.is_empty() {
            let (now, later) = left.split_at(piece.clamp(1, left.len()));
            if later.is_empty() && !hold {
                in_flight = None;
            }
            wire.write(now)?;
            (left, piece) = (later, next);
            if !left.is_empty() {
                done += gap;
                wire.wait(self.instant(done))?;
            }
        }
        match answer.after() {
            ExtraBytes::Nothing => {}
            ExtraBytes::Later(gap, bytes) => {
                done += *gap;
                wire.wait(self.instant(done))?;
                wire.write(bytes)?;
            }
            ExtraBytes::Forever(bytes) => wire.repeat(bytes)?,
        }
        if hold {
            wire.hold();
        }
        drop(in_flight);
        Ok((!hold).then_some(done))
    }

    fn now(&self) -> Duration {
        self.zero.get_or_init(Instant::now).elapsed()
    }

    fn instant(&self, at: Duration) -> Instant {
        *self.zero.get_or_init(Instant::now) + at
    }
}

/// Most connections at once, each with a thread. Twice what the tests of a thousand connections
/// need; further ones wait in the backlog.
const CONNECTIONS_MAX: usize = 2048;

/// Stack of a connection's thread. Its buffers are on the heap; the deepest frame is httparse's
/// table of 64 fields.
const STACK_BYTES: usize = 128 * 1024;

/// Time between two tries to accept while descriptors are short.
const DESCRIPTORS_WAIT: Duration = Duration::from_millis(10);
