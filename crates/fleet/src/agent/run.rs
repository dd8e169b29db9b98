//! Runs an agent over a connection: one thread reads, one writes, one runs the load, and the caller's
//! thread decides. So a connection that takes nothing any more keeps no decision waiting.

use std::collections::HashMap;
use std::io::{Read, Seek as _, Write};
use std::os::fd::AsRawFd as _;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use stampede_load::report::{Listener, RequestRecord};
use stampede_load::{Generator as _, InProcess, Load};
use stampede_model::counts::Second;
use stampede_model::part::Part;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_monitor::InterferenceMeter;

use super::requests::{Backlog, PassedRequests};
use super::{Agent, Effect, Input, Rules};
use crate::causes::with_causes;
use crate::clock::{Clock, instant_of, shown_at};
use crate::frame::{Frame, FrameError, read_frame, write_message};
use crate::hash::hexadecimal;
use crate::message::{FromAgent, LoadEvent, ToAgent};

/// How an agent ended.
#[derive(Debug)]
pub enum AgentEnd {
    /// The coordinator has ended or was silent, or an order was refused. Nothing is sent any more,
    /// once this process has ended: a load thread may still wait for an answer.
    Over,
    /// What the coordinator said could not be read, or nothing could be written to it.
    Broken(FrameError),
}

/// Sees the loads of an agent beside it, as they are before anything travels to the coordinator.
pub trait Witness: Send {
    /// A load began.
    fn began(&mut self, part: Part, at: Nanos);

    /// A second of it is over.
    fn second(&mut self, second: &Second);

    /// It is over, however it ended.
    fn ended(&mut self);
}

/// Does what it is told on `input`, and answers on `output`, until the orders end. Loads are sent
/// from threads of this process, and `witness` sees them.
pub fn run(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    rules: Rules,
    clock: &Arc<dyn Clock>,
    witness: Option<Box<dyn Witness>>,
) -> AgentEnd {
    let (to_us, events) = mpsc::channel();
    let running: Arc<Mutex<Stop>> = Arc::default();
    let orders = Orders {
        to_us: to_us.clone(),
        running: Arc::clone(&running),
        clock: Arc::clone(clock),
        receiving: Arc::default(),
    };
    let receiving = Arc::clone(&orders.receiving);
    // Ends with its connection, or with the process.
    std::thread::spawn(move || orders.read(input));
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut agent = Agent::new(rules, host, version, clock.now());
    let backlog = Backlog::default();
    let writer = Writer::start(output, Arc::clone(clock), backlog.clone(), to_us.clone());
    let witness = Arc::new(Mutex::new(witness));
    let mut load = RunningLoad { to_us, running, start: None, witness, backlog };
    let mut broken = None;
    while !agent.has_ended() {
        let input = match events.recv_timeout(TICK) {
            Ok(Event::Input(input)) => input,
            Ok(Event::Broken(error)) => {
                broken = Some(error);
                Input::Closed
            }
            Err(RecvTimeoutError::Timeout) => Input::Tick,
            Err(RecvTimeoutError::Disconnected) => Input::Closed,
        };
        for effect in agent.handle(clock.now(), input) {
            match effect {
                Effect::Send(message) => writer.send(message),
                Effect::Receive { hash, bytes } => {
                    *lock(&receiving) = Some(Incoming::new(hash, bytes));
                }
                Effect::Run(one) => load.run(*one, clock),
                Effect::StartAt(at) => load.start_at(at, &**clock),
                Effect::Stop => load.stop(),
                Effect::End => {}
            }
        }
    }
    load.stop();
    writer.finish();
    broken.map_or(AgentEnd::Over, AgentEnd::Broken)
}

/// Writes what the agent says, in order.
struct Writer {
    to: Sender<FromAgent>,
    finished: Receiver<()>,
}

impl Writer {
    fn start(
        mut output: impl Write + Send + 'static,
        clock: Arc<dyn Clock>,
        backlog: Backlog,
        to_us: Sender<Event>,
    ) -> Writer {
        let (to, messages) = mpsc::channel::<FromAgent>();
        let (done, finished) = mpsc::channel();
        std::thread::spawn(move || {
            for message in messages {
                let message = stamped(message, &*clock);
                if let Err(error) = write_message(&mut output, &message) {
                    let _ = to_us.send(Event::Broken(error));
                    break;
                }
                backlog.written(&message);
            }
            let _ = done.send(());
        });
        Writer { to, finished }
    }

    fn send(&self, message: FromAgent) {
        // After an error nobody writes any more; that was reported.
        let _ = self.to.send(message);
    }

    /// Waits until everything is written, but not for a connection that takes nothing.
    fn finish(self) {
        drop(self.to);
        let _ = self.finished.recv_timeout(WRITE_WAIT);
    }
}

/// A `Pong` gets the time at which it is written.
fn stamped(message: FromAgent, clock: &dyn Clock) -> FromAgent {
    match message {
        FromAgent::Pong { number, received, .. } => {
            FromAgent::Pong { number, received, sent: clock.now() }
        }
        other => other,
    }
}

enum Event {
    Input(Input),
    Broken(FrameError),
}

/// The side that reads.
struct Orders {
    to_us: Sender<Event>,
    /// The load that runs, which ends with the connection, before anything else is done.
    running: Arc<Mutex<Stop>>,
    clock: Arc<dyn Clock>,
    /// The file that is being received.
    receiving: Arc<Mutex<Option<Incoming>>>,
}

impl Orders {
    fn read(self, mut input: impl Read) {
        // Files that were received, open for as long as this process lives.
        let mut files = HashMap::new();
        let error = loop {
            match read_frame::<ToAgent>(&mut input) {
                Ok(Some(Frame::Message(message))) => {
                    let received = self.clock.now();
                    self.send(Event::Input(Input::Message(message, received)));
                }
                Ok(Some(Frame::Bytes(bytes))) => match self.receive(&bytes) {
                    Ok(None) => self.send(Event::Input(Input::Bytes)),
                    Ok(Some(stored)) => {
                        let path = PathBuf::from(format!("/proc/self/fd/{}", stored.0.as_raw_fd()));
                        let hash = stored.1;
                        self.send(Event::Input(Input::Stored(hash.clone(), path)));
                        files.insert(hash, stored.0);
                    }
                    Err(error) => break Some(error),
                },
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        lock(&self.running).ask();
        self.send(error.map_or(Event::Input(Input::Closed), Event::Broken));
        // A file may still be read by a load that is ending.
        std::mem::forget(files);
    }

    fn send(&self, event: Event) {
        // Nobody listens any more when the agent has ended.
        let _ = self.to_us.send(event);
    }

    /// Takes bytes of a file. The order to receive it may still be on its way to the other thread.
    fn receive(&self, bytes: &[u8]) -> Result<Option<(std::fs::File, String)>, FrameError> {
        let until = Instant::now() + RECEIVE_WAIT;
        loop {
            let mut receiving = lock(&self.receiving);
            if let Some(file) = &mut *receiving {
                file.add(bytes)?;
                let is_complete = file.is_complete();
                return match is_complete.then(|| receiving.take()).flatten() {
                    Some(complete) => complete.finish().map(Some),
                    None => Ok(None),
                };
            }
            drop(receiving);
            if Instant::now() > until {
                return Err(FrameError::Foreign);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A file that is being received. It has no name, so that nothing of it is left.
struct Incoming {
    hash: String,
    left: u64,
    file: std::io::Result<std::fs::File>,
    digest: Sha256,
}

impl Incoming {
    fn new(hash: String, bytes: u64) -> Incoming {
        Incoming { hash, left: bytes, file: tempfile::tempfile(), digest: Sha256::new() }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        let more = bytes.len() as u64;
        if more > self.left {
            return Err(FrameError::Foreign);
        }
        self.left -= more;
        self.digest.update(bytes);
        match &mut self.file {
            Ok(file) => Ok(file.write_all(bytes)?),
            Err(error) => Err(std::io::Error::from(error.kind()).into()),
        }
    }

    fn is_complete(&self) -> bool {
        self.left == 0
    }

    fn finish(self) -> Result<(std::fs::File, String), FrameError> {
        if hexadecimal(&self.digest.finalize()) != self.hash {
            return Err(FrameError::Foreign);
        }
        let mut file = self.file?;
        file.rewind()?;
        Ok((file, self.hash))
    }
}

/// The load of an agent.
struct RunningLoad {
    to_us: Sender<Event>,
    running: Arc<Mutex<Stop>>,
    start: Option<Sender<Instant>>,
    witness: SharedWitness,
    backlog: Backlog,
}

/// Loads come one after the other, each on a thread of its own.
type SharedWitness = Arc<Mutex<Option<Box<dyn Witness>>>>;

impl RunningLoad {
    fn run(&mut self, load: Load, clock: &Arc<dyn Clock>) {
        let stop = Stop::default();
        *lock(&self.running) = stop.clone();
        let (start, starts) = mpsc::channel();
        self.start = Some(start);
        let (events, clock) = (Events(self.to_us.clone()), Arc::clone(clock));
        let witness = Arc::clone(&self.witness);
        let passed = PassedRequests::new(load.traffic.tags.clone(), self.backlog.clone());
        std::thread::spawn(move || {
            let mut listener = LoadListener {
                events: events.clone(),
                starts,
                stop: stop.clone(),
                clock,
                part: load.part,
                witness: Arc::clone(&witness),
                meter: None,
                passed,
            };
            let end = InProcess.run(&load, &stop, &mut listener);
            // Before the coordinator hears of it: then it may end this process.
            tell(&witness, |witness| witness.ended());
            if let Some(meter) = listener.meter.take() {
                events.send(LoadEvent::Machine(meter.machine()));
            }
            events.send(match end {
                Ok(mut result) => {
                    result.records_lost += listener.passed.lost;
                    LoadEvent::Ended(Box::new(result))
                }
                Err(error) => {
                    let message = with_causes(&error);
                    LoadEvent::Failed {
                        message,
                        hint: error.hint().map(std::borrow::Cow::into_owned),
                    }
                }
            });
        });
    }

    fn start_at(&mut self, at: Nanos, clock: &dyn Clock) {
        if let Some(start) = self.start.take() {
            let _ = start.send(instant_of(clock, at));
        }
    }

    fn stop(&self) {
        lock(&self.running).ask();
    }
}

#[derive(Clone)]
struct Events(Sender<Event>);

impl Events {
    fn send(&self, event: LoadEvent) {
        let _ = self.0.send(Event::Input(Input::Load(event)));
    }
}

/// Passes on what a load does.
struct LoadListener {
    events: Events,
    starts: Receiver<Instant>,
    stop: Stop,
    clock: Arc<dyn Clock>,
    part: Part,
    witness: SharedWitness,
    /// Runs from the start of the load, without its warm-up.
    meter: Option<InterferenceMeter>,
    passed: PassedRequests,
}

fn tell(witness: &SharedWitness, what: impl FnOnce(&mut dyn Witness)) {
    if let Some(witness) = &mut *lock(witness) {
        what(&mut **witness);
    }
}

impl Listener for LoadListener {
    fn warm_up_second(&mut self, second: &Second) {
        self.events.send(LoadEvent::WarmUpSecond(Box::new(second.packed())));
    }

    fn before_load(&mut self) -> Option<Instant> {
        self.events.send(LoadEvent::Ready);
        loop {
            match self.starts.recv_timeout(TICK) {
                Ok(start) => return Some(start),
                Err(RecvTimeoutError::Timeout) if !self.stop.is_asked() => {}
                Err(_) => return None,
            }
        }
    }

    fn began(&mut self, at: Instant) {
        self.meter = Some(InterferenceMeter::begin());
        let at = shown_at(&*self.clock, at);
        self.events.send(LoadEvent::Began { at });
        tell(&self.witness, |witness| witness.began(self.part, at));
    }

    fn second(&mut self, second: &Second) {
        self.events.send(LoadEvent::Second(Box::new(second.packed())));
        tell(&self.witness, |witness| witness.second(second));
    }

    fn requests(&mut self, requests: &[RequestRecord]) {
        let passed = self.passed.passed(requests);
        passed.into_iter().for_each(|ended| self.events.send(LoadEvent::Requests(ended)));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often an agent looks at the time.
const TICK: Duration = Duration::from_millis(20);
/// How long the last messages may take to be written.
const WRITE_WAIT: Duration = Duration::from_millis(250);
/// How long bytes of a file wait for the order to receive it.
const RECEIVE_WAIT: Duration = Duration::from_secs(1);
