//! The connection to one agent: a program whose standard input and output carry messages.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Launch;
use super::ssh::{self, Program};
use stampede_model::agent_places::Place;
use stampede_model::time::Nanos;

use crate::clock::{Clock as _, Monotonic};
use crate::frame::{CHUNK_BYTES, Frame, FrameError, read_frame, write_bytes, write_message};
use crate::meet::Joined;
use crate::message::{FromAgent, ToAgent};

/// Why no agent could be reached.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The program that carries the connection could not be started, or its connection failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The other machine's shell ended before the agent ran.
    #[error("no agent was started there")]
    Ended,
    /// The other machine is no machine for this binary.
    #[error("the machine is a {0}, and this stampede was built for another kind")]
    OtherMachine(String),
    /// The copied binary is not what was sent.
    #[error("the copy of stampede there is damaged")]
    Damaged,
    /// Something else than an agent answers.
    #[error("something else than an agent answers")]
    Foreign,
}

/// What comes from an agent, and when it came.
pub type Arrival = (usize, Incoming, Nanos);

/// What comes from an agent.
#[derive(Debug)]
pub enum Incoming {
    /// A message.
    Message(FromAgent),
    /// The connection has ended; what its carrier said last.
    Closed(String),
    /// What came is no message.
    Foreign,
}

/// What goes to an agent.
enum Outgoing {
    Message(ToAgent),
    File(String, PathBuf),
}

/// The connection to an agent. Dropping it ends the agent.
pub struct Link {
    to: Option<Sender<Outgoing>>,
    carrier: Carrier,
}

/// What carries a connection.
enum Carrier {
    /// A program of ours, which is the agent or leads to it.
    Program(Child),
    /// A connection to an agent that runs without us.
    Joined { carried: JoinHandle<()>, close: Box<dyn Fn() + Send> },
}

/// Where an agent listens, and where it speaks.
type Ends = (Box<dyn Write + Send>, Box<dyn Read + Send>);

impl Link {
    /// Starts an agent. What comes from it is sent to `events` with this number. Messages may be
    /// sent at once: they wait until the agent runs.
    ///
    /// # Errors
    /// The program that carries the connection cannot be started.
    pub fn start(
        place: &Place,
        launch: &Launch,
        program: Option<&Arc<Program>>,
        number: usize,
        events: SyncSender<Arrival>,
    ) -> io::Result<Link> {
        let mut command = command(place, launch, program);
        // The terminal's Ctrl-C is for us: agents are told to stop, and then send what they have.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(to), Some(from), Some(errors)) = pipes else {
            return Err(io::Error::other("the standard streams are not there"));
        };
        let (sender, outgoing) = mpsc::channel();
        let said = Said::of(errors);
        let start =
            Start { place: place.clone(), program: program.cloned(), launch: launch.clone() };
        let ends: Ends = (Box::new(to), Box::new(from));
        std::thread::spawn(move || carry(Some(start), number, ends, outgoing, said, &events));
        Ok(Link { to: Some(sender), carrier: Carrier::Program(child) })
    }

    /// Speaks with an agent that came by itself.
    pub(crate) fn joined(agent: Joined, number: usize, events: SyncSender<Arrival>) -> Link {
        let (sender, outgoing) = mpsc::channel();
        let (ends, close) = ((agent.to, agent.from), agent.close);
        let said = Said::of(io::empty());
        let carry = move || carry(None, number, ends, outgoing, said, &events);
        let carrier = Carrier::Joined { carried: std::thread::spawn(carry), close };
        Link { to: Some(sender), carrier }
    }

    /// Sends a message. Never waits.
    pub fn send(&self, message: ToAgent) {
        self.put(Outgoing::Message(message));
    }

    /// Sends these of the files. Never waits.
    pub fn send_files(&self, hashes: Vec<String>, files: &HashMap<String, PathBuf>) {
        for hash in hashes {
            if let Some(path) = files.get(&hash) {
                self.put(Outgoing::File(hash, path.clone()));
            }
        }
    }

    fn put(&self, outgoing: Outgoing) {
        if let Some(to) = &self.to {
            // The other end is gone when the agent is, which comes as a message of its own.
            let _ = to.send(outgoing);
        }
    }

    /// Closes the connection, so that the agent ends.
    pub fn close(&mut self) {
        self.to = None;
    }
}

impl Link {
    /// Waits for the end of an agent whose connection was closed, until then at most.
    pub fn end(&mut self, until: Instant) {
        self.close();
        while Instant::now() < until {
            if self.carrier.has_ended() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        match &mut self.carrier {
            // A process of ours, which nobody has waited for yet: its id is still its own.
            Carrier::Program(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Carrier::Joined { close, .. } => close(),
        }
    }
}

impl Carrier {
    fn has_ended(&mut self) -> bool {
        match self {
            Carrier::Program(child) => !matches!(child.try_wait(), Ok(None)),
            Carrier::Joined { carried, .. } => carried.is_finished(),
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.end(Instant::now() + ENDING_MAX);
    }
}

fn command(place: &Place, launch: &Launch, program: Option<&Arc<Program>>) -> Command {
    match place {
        // Agents that came by themselves are not started here.
        Place::Local(_) | Place::Meeting(_) | Place::Kubernetes(_) => {
            let program = launch.remote.as_ref().map_or(&launch.program, |remote| remote);
            let mut command = Command::new(program);
            command.args(["agent", "--allow-unix-sockets"]).args(&launch.arguments);
            command
        }
        Place::Ssh(host) => {
            let script = match (&launch.remote, program) {
                (Some(remote), _) => ssh::script_of(remote, &launch.arguments),
                (None, Some(program)) => program.script(&launch.arguments),
                (None, None) => ssh::script_of(Path::new("stampede"), &launch.arguments),
            };
            let mut command = Command::new("ssh");
            // Nobody can answer a question, and a machine that is down must not take minutes.
            command.args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"]);
            command.arg("--").arg(host).arg(ssh::in_sh(&script));
            command
        }
    }
}

struct Start {
    place: Place,
    program: Option<Arc<Program>>,
    launch: Launch,
}

impl Start {
    /// Waits until the agent runs.
    fn wait(&self, to: &mut impl Write, from: &mut impl Read) -> Result<(), LinkError> {
        match (&self.place, &self.program) {
            (Place::Ssh(_), Some(program)) if self.launch.remote.is_none() => {
                program.deliver(to, from)
            }
            (Place::Ssh(_), _) => ssh::wait_for_start(from),
            (Place::Local(_) | Place::Meeting(_) | Place::Kubernetes(_), _) => Ok(()),
        }
    }
}

/// Carries messages in both directions until the agent has ended.
fn carry(
    start: Option<Start>,
    number: usize,
    (mut to, mut from): Ends,
    outgoing: Receiver<Outgoing>,
    said: Said,
    events: &SyncSender<Arrival>,
) {
    let put = |incoming| {
        // Nobody listens any more when the load is over.
        let _ = events.send((number, incoming, Monotonic.now()));
    };
    if let Some(Err(error)) = start.map(|start| start.wait(&mut to, &mut from)) {
        drop(to);
        let said = said.last_line();
        let own = !matches!(error, LinkError::Ended | LinkError::Io(_)) || said.is_empty();
        return put(Incoming::Closed(if own { error.to_string() } else { said }));
    }
    let failed = events.clone();
    std::thread::spawn(move || {
        if let Err(error) = write(&mut to, &outgoing)
            && !matches!(error, WriteError::Gone)
        {
            let closed = Incoming::Closed(error.to_string());
            let _ = failed.send((number, closed, Monotonic.now()));
        }
    });
    loop {
        match read_frame(&mut from) {
            Ok(Some(Frame::Message(message))) => put(Incoming::Message(message)),
            Ok(Some(Frame::Bytes(_))) => return put(Incoming::Foreign),
            Ok(None) => return put(Incoming::Closed(said.last_line())),
            Err(FrameError::Io(error)) => {
                let said = said.last_line();
                // What a program says of its connection is more than the end of its output.
                let ended = error.kind() == io::ErrorKind::UnexpectedEof;
                let own = said.is_empty() && !ended;
                return put(Incoming::Closed(if own { error.to_string() } else { said }));
            }
            Err(_) => return put(Incoming::Foreign),
        }
    }
}

/// Why nothing more is written to an agent.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    /// The agent is gone, which the side that reads sees, too.
    #[error("it is gone")]
    Gone,
    /// The message cannot be sent.
    #[error("{0}")]
    Message(FrameError),
    /// A file cannot be read any more, or became shorter.
    #[error("{} cannot be sent: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

impl From<FrameError> for WriteError {
    fn from(error: FrameError) -> WriteError {
        match error {
            FrameError::Io(_) => WriteError::Gone,
            other => WriteError::Message(other),
        }
    }
}

/// Writes until nobody sends any more. While there is nothing to write, the agent hears that we are
/// still there, even if the thread that leads the load waits for a terminal or a disk.
fn write(to: &mut impl Write, outgoing: &Receiver<Outgoing>) -> Result<(), WriteError> {
    let mut postponed = VecDeque::new();
    loop {
        let next = match postponed.pop_front() {
            Some(file) => Ok(file),
            None => outgoing.recv_timeout(ALIVE),
        };
        match next {
            Ok(Outgoing::Message(message)) => write_message(to, &message)?,
            Ok(Outgoing::File(hash, path)) => {
                write_file(to, (hash, &path), outgoing, &mut postponed)?;
            }
            Err(RecvTimeoutError::Timeout) => write_message(to, &ToAgent::Alive)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Writes a file, and what is to be said meanwhile between its parts. Other files are postponed.
fn write_file(
    to: &mut impl Write,
    (hash, path): (String, &PathBuf),
    outgoing: &Receiver<Outgoing>,
    postponed: &mut VecDeque<Outgoing>,
) -> Result<(), WriteError> {
    let failed = |source| WriteError::File { path: path.clone(), source };
    let mut file = File::open(path).map_err(failed)?;
    let mut left = file.metadata().map_err(failed)?.len();
    write_message(to, &ToAgent::File { hash, bytes: left })?;
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        // An empty file has one empty frame, which completes it.
        let chunk = usize::try_from(left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        file.read_exact(&mut buffer[..chunk]).map_err(failed)?;
        write_bytes(to, &buffer[..chunk])?;
        left -= chunk as u64;
        if left == 0 {
            return Ok(());
        }
        match outgoing.try_recv() {
            Ok(Outgoing::Message(message)) => write_message(to, &message)?,
            Ok(file @ Outgoing::File(..)) => postponed.push_back(file),
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Err(WriteError::Gone),
        }
    }
}

/// What a program says on its standard error: the end of it.
struct Said {
    tail: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Said {
    fn of(mut errors: impl Read + Send + 'static) -> Said {
        let tail: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (end, ended) = mpsc::channel::<()>();
        let own = Arc::clone(&tail);
        std::thread::spawn(move || {
            let _end = end;
            let mut buffer = [0; 1 << 10];
            while let Ok(read @ 1..) = errors.read(&mut buffer) {
                let mut tail = own.lock().unwrap_or_else(PoisonError::into_inner);
                tail.extend_from_slice(&buffer[..read]);
                let surplus = tail.len().saturating_sub(SAID_BYTES_MAX);
                tail.drain(..surplus);
            }
        });
        Said { tail, ended }
    }

    /// The last line that is not empty. Waits a moment for the end: a helper of ssh may keep the
    /// stream open.
    fn last_line(&self) -> String {
        let _ = self.ended.recv_timeout(SAID_WAIT);
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&tail);
        let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
        last.unwrap_or_default().chars().filter(|letter| !letter.is_control()).collect()
    }
}

/// How long an agent may take to end, before its carrier is killed. The agent itself stops sending
/// at once and needs a second at most.
pub(crate) const ENDING_MAX: Duration = Duration::from_secs(3);
/// An agent hears something at least this often.
const ALIVE: Duration = Duration::from_secs(1);
/// How long the last words of a program may take to come.
const SAID_WAIT: Duration = Duration::from_millis(200);
/// What is kept of what the carrier says.
const SAID_BYTES_MAX: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_why() {
        let last_line = |text: &str| Said::of(io::Cursor::new(text.to_owned())).last_line();
        let text = "Warning: added\nme@load1: Permission denied (publickey).\r\n\n";
        assert_eq!(last_line(text), "me@load1: Permission denied (publickey).");
        assert_eq!(last_line(""), "");
        assert_eq!(last_line(&("x".repeat(5_000) + "\n\x1b[31mend")), "[31mend");
    }
}
