//! The connection to one agent: a program whose standard input and output carry messages.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::ssh::{self, Program};
use super::{Launch, Place};
use crate::frame::{CHUNK_BYTES, Frame, FrameError, read_frame, write_bytes, write_message};
use crate::message::{FromAgent, ToAgent};

/// Why no agent could be reached.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The program that carries the connection could not be started, or its connection failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The other machine's shell ended before the agent ran.
    #[error("ended before an agent ran there")]
    Ended,
    /// The other machine is no machine for this binary.
    #[error("is a {0}, and this stampede was built for another machine")]
    OtherMachine(String),
    /// The copied binary is not what was sent.
    #[error("got a damaged copy of this program")]
    Damaged,
    /// Something else than an agent answers.
    #[error("does not answer as an agent")]
    Foreign,
}

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
    child: Child,
}

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
        events: Sender<(usize, Incoming)>,
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
        let said = std::thread::spawn(move || last_line(errors));
        let start =
            Start { place: place.clone(), program: program.cloned(), launch: launch.clone() };
        std::thread::spawn(move || carry(start, number, (to, from), outgoing, said, &events));
        Ok(Link { to: Some(sender), child })
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

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
        let until = Instant::now() + ENDING_MAX;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // A process of ours, which nobody has waited for yet: its id is still its own.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(place: &Place, launch: &Launch, program: Option<&Arc<Program>>) -> Command {
    match place {
        Place::Local(_) => {
            let mut command = Command::new(&launch.program);
            command.arg("agent").args(&launch.arguments);
            command
        }
        Place::Ssh(host) => {
            let script = match (&launch.remote, program) {
                (Some(remote), _) => ssh::script_of(remote, &launch.arguments),
                (None, Some(program)) => program.script(&launch.arguments),
                (None, None) => ssh::script_of("stampede", &launch.arguments),
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
    fn wait(&self, to: &mut ChildStdin, from: &mut ChildStdout) -> Result<(), LinkError> {
        match (&self.place, &self.program) {
            (Place::Local(_), _) => Ok(()),
            (Place::Ssh(_), Some(program)) if self.launch.remote.is_none() => {
                program.deliver(to, from)
            }
            (Place::Ssh(_), _) => ssh::wait_for_start(from),
        }
    }
}

/// Carries messages in both directions until the agent has ended.
fn carry(
    start: Start,
    number: usize,
    (mut to, mut from): (ChildStdin, ChildStdout),
    outgoing: Receiver<Outgoing>,
    said: JoinHandle<String>,
    events: &Sender<(usize, Incoming)>,
) {
    let put = |incoming| {
        // Nobody listens any more when the load is over.
        let _ = events.send((number, incoming));
    };
    if let Err(error) = start.wait(&mut to, &mut from) {
        drop(to);
        let said = said.join().unwrap_or_default();
        let own = !matches!(error, LinkError::Ended | LinkError::Io(_)) || said.is_empty();
        return put(Incoming::Closed(if own { error.to_string() } else { said }));
    }
    std::thread::spawn(move || write(&mut to, outgoing));
    loop {
        match read_frame(&mut from) {
            Ok(Some(Frame::Message(message))) => put(Incoming::Message(message)),
            Ok(Some(Frame::Bytes(_))) => return put(Incoming::Foreign),
            Ok(None) | Err(FrameError::Io(_)) => {
                return put(Incoming::Closed(said.join().unwrap_or_default()));
            }
            Err(_) => return put(Incoming::Foreign),
        }
    }
}

fn write(to: &mut ChildStdin, outgoing: Receiver<Outgoing>) {
    for one in outgoing {
        let written = match one {
            Outgoing::Message(message) => write_message(to, &message),
            Outgoing::File(hash, path) => write_file(to, hash, &path),
        };
        // What went wrong is seen by the side that reads.
        if written.is_err() {
            return;
        }
    }
}

fn write_file(to: &mut impl Write, hash: String, path: &PathBuf) -> Result<(), FrameError> {
    let mut file = File::open(path)?;
    let mut left = file.metadata()?.len();
    write_message(to, &ToAgent::File { hash, bytes: left })?;
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        // An empty file has one empty frame, which completes it.
        let chunk = usize::try_from(left).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        file.read_exact(&mut buffer[..chunk])?;
        write_bytes(to, &buffer[..chunk])?;
        left -= chunk as u64;
        if left == 0 {
            return Ok(());
        }
    }
}

/// The last line that is not empty, cut where it is long. Reads to the end.
fn last_line(mut errors: impl Read) -> String {
    let mut tail = Vec::new();
    let mut buffer = [0; 1 << 10];
    while let Ok(read @ 1..) = errors.read(&mut buffer) {
        tail.extend_from_slice(&buffer[..read]);
        let surplus = tail.len().saturating_sub(SAID_BYTES_MAX);
        tail.drain(..surplus);
    }
    let text = String::from_utf8_lossy(&tail);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.unwrap_or_default().to_owned()
}

/// How long an agent may take to end, before its carrier is killed. The agent itself stops sending
/// at once and needs a second at most.
const ENDING_MAX: Duration = Duration::from_secs(3);
/// What is kept of what the carrier says.
const SAID_BYTES_MAX: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_says_why() {
        let text = "Warning: added\nme@load1: Permission denied (publickey).\r\n\n";
        assert_eq!(last_line(text.as_bytes()), "me@load1: Permission denied (publickey).");
        assert_eq!(last_line(&b""[..]), "");
        let long = "x".repeat(5_000) + "\nend";
        assert_eq!(last_line(long.as_bytes()), "end");
    }
}
