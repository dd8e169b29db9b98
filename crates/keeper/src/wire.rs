//! Messages between stampede, keeper and init: one JSON object per line over a socket pair.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stampede_model::isolation::{Exit, IsolationRecord};

use super::error::Failure;
use super::spec::{ProcessSetSpec, ProcessSpec};
use super::stack::{CgroupUse, NamespaceUse, WorkingDirectory};

/// A message from stampede to the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Order {
    /// Create and guard a working directory. This is the first message.
    Guard(GuardRequest),
    /// Start this stack in the directory.
    Start(Box<ProcessSetSpec>),
    /// Start the remaining processes, until this number of them run.
    Go(usize),
    /// Stop the stack in order, each process with its signal and grace.
    Stop,
}

/// Everything that a keeper needs to know before there is a stack.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GuardRequest {
    /// The stack's id.
    pub id: String,
    /// The stack's working directory, which the keeper creates.
    pub directory: PathBuf,
    pub namespaces: NamespaceUse,
    pub cgroups: CgroupUse,
    pub work: WorkingDirectory,
    pub journal: PathBuf,
}

/// A message from the keeper to stampede.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Notification {
    /// The working directory exists. It is removed when the keeper ends.
    Guards,
    /// Every process runs that is not to start later.
    Started(Started),
    /// A step failed. Everything was ended and removed.
    Failed(Failure),
    /// A process ended.
    Exited(Exit),
    /// All processes ended. The journal lists what could not be removed. This is the last message.
    Ended,
}

/// A running stack.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Started {
    /// Host pids in the order of the stack's processes.
    pub pids: Vec<u32>,
    pub isolation: IsolationRecord,
    /// Directories of the roles, in the order of the stack.
    pub roles: Vec<RoleDirectories>,
    /// Host pid of init.
    pub init: u32,
}

/// The directories with the figures of one role.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RoleDirectories {
    pub role: String,
    /// Path of the role's group below the parent of the stack's group, which is the same in every
    /// hierarchy; `None`: the stack has no groups.
    pub group: Option<PathBuf>,
    pub v2: Option<PathBuf>,
    pub cpuacct: Option<PathBuf>,
    pub memory: Option<PathBuf>,
}

/// A message from the keeper to init.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Task {
    /// How to end the remaining processes when the keeper is gone. Sent first; an init in a
    /// namespace ignores it.
    Guard { id: String, v2: Option<PathBuf>, freezer: Option<PathBuf> },
    /// Start one process.
    Spawn(Box<SpawnRequest>),
    /// Stop all in reverse order.
    Stop,
}

/// A process, with the groups that it enters before `execve`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SpawnRequest {
    /// Index in the stack.
    pub process: usize,
    pub spec: ProcessSpec,
    /// Directories of cgroups.
    pub groups: Vec<PathBuf>,
    /// Affinity; empty: every available CPU.
    pub cpus: Vec<usize>,
}

/// A message from init to the keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// Init runs, and its death is watched.
    Hello,
    /// A process runs. The groups in `refused` could not be entered.
    Spawned {
        process: usize,
        pid: u32,
        refused: Vec<PathBuf>,
    },
    Failed(Failure),
    Exited(Exit),
    /// Every process of the stack has ended, or was killed after its grace period.
    Stopped,
}

/// One end of a socket pair.
pub(super) struct Channel {
    stream: UnixStream,
    pending: Vec<u8>,
}

/// Whether the other side is still there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Peer {
    There,
    Gone,
}

impl Channel {
    pub(super) fn new(stream: UnixStream) -> Channel {
        Channel { stream, pending: Vec::new() }
    }

    /// Sends one message. An error means that the peer is gone.
    pub(super) fn send<T: Serialize>(&mut self, message: &T) -> io::Result<()> {
        self.stream.write_all(&encode(message)?)
    }

    /// Reads once. Blocks unless the descriptor was polled. A connection reset counts as the peer's
    /// end.
    pub(super) fn fill(&mut self) -> io::Result<Peer> {
        let mut chunk = [0_u8; 16 * 1024];
        match self.stream.read(&mut chunk) {
            Ok(0) => Ok(Peer::Gone),
            Ok(length) => {
                self.pending.extend_from_slice(&chunk[..length]);
                Ok(Peer::There)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Peer::There),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(Peer::Gone),
            Err(error) => Err(error),
        }
    }

    /// Returns the next complete message that was read; `None` if there is none yet.
    pub(super) fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(end) = self.pending.iter().position(|&byte| byte == b'\n') else {
            return Ok(None);
        };
        let line: Vec<u8> = self.pending.drain(..=end).collect();
        Ok(Some(serde_json::from_slice(&line)?))
    }

    /// Waits for a message; `None`: the peer is gone.
    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            if self.fill()? == Peer::Gone {
                return Ok(None);
            }
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Encodes a message as a line.
pub(super) fn encode<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_however_their_bytes_are_split() {
        let (near, far) = UnixStream::pair().unwrap();
        let mut far = Channel::new(far);
        let line = encode(&Task::Stop).unwrap();
        let mut near = near;
        near.write_all(&line[..3]).unwrap();
        assert_eq!(far.fill().unwrap(), Peer::There);
        assert!(far.take::<Task>().unwrap().is_none());
        near.write_all(&line[3..]).unwrap();
        near.write_all(&line).unwrap();
        assert!(matches!(far.receive::<Task>().unwrap(), Some(Task::Stop)));
        assert!(matches!(far.receive::<Task>().unwrap(), Some(Task::Stop)));
        drop(near);
        assert!(far.receive::<Task>().unwrap().is_none());
    }
}
