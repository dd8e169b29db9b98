//! The errors of starting and stopping a stack, in stampede and in its keeper.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stampede_linux::space;

/// Why a stack could not be started or stopped.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeeperError {
    /// The id is not a safe name for cgroups and files.
    #[error("stack id `{0}` is not 1 to 64 letters, digits, `-`, `_` or `.`")]
    BadId(String),
    /// A stack with this id is running. Two stacks with one id would remove each other's
    /// directories.
    #[error("a stack with id `{0}` is running")]
    InUse(String),
    /// The directory of journal entries belongs to someone else, or is a link.
    #[error("journal directory `{path}` is not safe: {why}")]
    JournalUnsafe {
        /// The directory.
        path: PathBuf,
        /// What is wrong with the directory.
        why: UnsafeDirectory,
    },
    /// The journal cannot be read or written. Without a journal nothing is started.
    #[error("cannot use journal `{path}`")]
    Journal {
        /// The directory or entry.
        path: PathBuf,
        /// Why.
        #[serde(skip)]
        source: io::Error,
    },
    /// The keeper itself did not start.
    #[error("cannot start the keeper `{program}`")]
    Keeper {
        /// The binary that was executed.
        program: PathBuf,
        /// Why.
        #[serde(skip)]
        source: io::Error,
    },
    /// The keeper ended too early. The stack was ended too.
    #[error("the keeper of stack `{id}` is gone, its processes were ended")]
    Gone {
        /// The stack.
        id: String,
    },
    /// The stack's init ended too early.
    #[error("the init process of stack `{id}` ended before its time")]
    Init {
        /// The stack.
        id: String,
    },
    /// A program of the stack could not be executed.
    #[error("cannot start `{program}` of role `{role}`")]
    Program {
        /// Role of the process.
        role: String,
        /// Program.
        program: PathBuf,
        /// Why.
        #[serde(skip)]
        source: io::Error,
    },
    /// A working directory, an input file or a log cannot be used.
    #[error("cannot use `{path}`{}", for_role(role))]
    Directory {
        /// Role of the process; empty for the stack's own directory.
        role: String,
        /// Directory or file.
        path: PathBuf,
        /// Why.
        #[serde(skip)]
        source: io::Error,
    },
    /// The process cannot switch to its user.
    #[error("cannot run `{program}` as user {uid}, group {gid}")]
    User {
        /// Program.
        program: PathBuf,
        /// User id.
        uid: u32,
        /// Group id.
        gid: u32,
        /// Why.
        #[serde(skip)]
        source: io::Error,
    },
    /// The copy of an app cannot be shown at the app's own path.
    #[error("cannot show the copy of the app at `{path}` to the processes of a runtime")]
    Bind {
        /// The app's own path.
        path: PathBuf,
    },
    /// Something of the stack remains after every attempt to end it.
    #[error("stack `{id}` left behind: {}", left.join(", "))]
    Left {
        /// The stack.
        id: String,
        /// Processes, cgroups and directories that remain.
        left: Vec<String>,
    },
    /// The CPUs of stampede's own threads could not be set or read.
    #[error("cannot set the CPUs of our own threads")]
    Affinity(
        #[serde(skip)]
        #[source]
        io::Error,
    ),
}

/// Why a directory does not belong to this user alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum UnsafeDirectory {
    /// The path is a link, or not a directory.
    #[error("it is a link or no directory")]
    NoDirectory,
    /// The directory belongs to another user.
    #[error("it belongs to another user")]
    OtherOwner,
    /// The directory's mode lets others write.
    #[error("others may write there")]
    WritableByOthers,
}

impl KeeperError {
    /// Whether the working directory's name is taken already.
    pub fn is_taken(&self) -> bool {
        match self {
            KeeperError::Directory { role, source, .. } => {
                role.is_empty() && source.kind() == io::ErrorKind::AlreadyExists
            }
            _ => false,
        }
    }

    /// Returns advice for the hint line; `None` if there is none.
    pub fn hint(&self) -> Option<String> {
        match self {
            KeeperError::InUse(_) => Some("wait for the other stampede, or end it".to_owned()),
            KeeperError::JournalUnsafe { path, .. } => Some(format!(
                "remove `{}`, or set XDG_RUNTIME_DIR to a directory of your own",
                path.display()
            )),
            KeeperError::Program { program, source, .. } => program_hint(program, source),
            KeeperError::User { .. } => {
                Some("only root can start processes as another user".to_owned())
            }
            KeeperError::Gone { .. } => {
                Some("something killed it: look for the out-of-memory killer in `dmesg`".to_owned())
            }
            KeeperError::Directory { .. } if self.is_taken() => Some(
                "stampede only uses directories that it created; set TMPDIR to a directory that only you can write to".to_owned(),
            ),
            KeeperError::Bind { .. } => Some(
                "mounts worked when stampede tried them: try again, or copy the app to another directory".to_owned(),
            ),
            KeeperError::Journal { path, source } => {
                space::hint(path, source.kind(), "set XDG_RUNTIME_DIR to a directory of your own")
            }
            KeeperError::Directory { path, source, .. } => {
                space::hint(path, source.kind(), "set TMPDIR to a directory of another one")
            }
            KeeperError::Left { .. } => Some("the next start tries again".to_owned()),
            _ => None,
        }
    }
}

fn for_role(role: &str) -> String {
    if role.is_empty() { String::new() } else { format!(" for role `{role}`") }
}

fn program_hint(program: &std::path::Path, source: &io::Error) -> Option<String> {
    match source.kind() {
        // execve reports "not found" for a script whose `#!` line names a missing program, and for
        // a binary whose loader is missing. The path alone would be misleading.
        io::ErrorKind::NotFound if program.exists() => {
            Some("the file is there: its interpreter or loader is missing".to_owned())
        }
        io::ErrorKind::NotFound => Some("`stampede doctor` lists what is installed".to_owned()),
        io::ErrorKind::PermissionDenied => Some(format!(
            "make `{}` executable for the user that it runs as, and the directories above it",
            program.display()
        )),
        _ => None,
    }
}

/// A failed start, in the form in which init sends it to the keeper and the keeper to stampede.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failure {
    /// The step that failed.
    pub step: Step,
    /// Role of the process; empty if the failure concerns no process.
    pub role: String,
    /// Program or directory.
    pub path: PathBuf,
    /// User and group id, for `Step::User`.
    pub user: Option<(u32, u32)>,
    /// `errno`; 0 if there is none.
    pub errno: i32,
}

/// The step of a start that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Step {
    /// Checking that the id is free.
    Id,
    /// Writing the journal entry.
    Journal,
    /// Starting the init process.
    Init,
    /// Showing a directory at another path.
    Bind,
    /// Opening a working directory, input file or log.
    Directory,
    /// Switching to the process's user.
    User,
    /// Executing the program.
    Program,
}

impl Failure {
    /// Makes a failure that concerns no process.
    pub(super) fn new(step: Step, path: PathBuf, errno: i32) -> Failure {
        Failure { step, role: String::new(), path, user: None, errno }
    }

    /// Converts an error of the keeper itself, before any process exists.
    pub(super) fn of(error: KeeperError) -> Failure {
        let errno = |source: io::Error| source.raw_os_error().unwrap_or(0);
        match error {
            KeeperError::InUse(_) => Failure::new(Step::Id, PathBuf::new(), 0),
            KeeperError::Directory { path, source, .. } => {
                Failure::new(Step::Directory, path, errno(source))
            }
            KeeperError::Journal { path, source } => {
                Failure::new(Step::Journal, path, errno(source))
            }
            KeeperError::JournalUnsafe { path, .. } => {
                Failure::new(Step::Journal, path, libc::EPERM)
            }
            _ => Failure::new(Step::Init, PathBuf::new(), 0),
        }
    }

    /// Converts the failure into the error that stampede shows for stack `id`.
    pub(super) fn into_error(self, id: &str) -> KeeperError {
        let Failure { step, role, path, user, errno } = self;
        let source = io::Error::from_raw_os_error(errno);
        match step {
            Step::Id => KeeperError::InUse(id.to_owned()),
            Step::Journal => KeeperError::Journal { path, source },
            Step::Init => KeeperError::Init { id: id.to_owned() },
            Step::Bind => KeeperError::Bind { path },
            Step::Directory => KeeperError::Directory { role, path, source },
            Step::User => {
                let (uid, gid) = user.unwrap_or_default();
                KeeperError::User { program: path, uid, gid, source }
            }
            Step::Program => KeeperError::Program { role, program: path, source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(error: &KeeperError) -> String {
        let source = std::error::Error::source(error).map(|source| format!("\nbecause: {source}"));
        let hint = error.hint().map(|hint| format!("\nhint: {hint}"));
        format!("{error}{}{}", source.unwrap_or_default(), hint.unwrap_or_default())
    }

    #[test]
    fn what_people_read() {
        let errno = io::Error::from_raw_os_error;
        let path = || PathBuf::from("/x/nginx");
        let (id, role) = ("abc".to_owned(), "web".to_owned());
        let errors = [
            KeeperError::BadId("a/b".to_owned()),
            KeeperError::InUse(id.clone()),
            KeeperError::JournalUnsafe { path: path(), why: UnsafeDirectory::WritableByOthers },
            KeeperError::Journal { path: path(), source: errno(libc::ENOSPC) },
            KeeperError::Keeper { program: path(), source: errno(libc::EAGAIN) },
            KeeperError::Gone { id: id.clone() },
            KeeperError::Init { id: id.clone() },
            KeeperError::Program {
                role: role.clone(),
                program: path(),
                source: errno(libc::ENOENT),
            },
            KeeperError::Program {
                role: role.clone(),
                program: path(),
                source: errno(libc::EACCES),
            },
            KeeperError::Program {
                role: role.clone(),
                program: PathBuf::from("/proc/self/status"),
                source: errno(libc::ENOENT),
            },
            KeeperError::Directory { role, path: path(), source: errno(libc::ENOTDIR) },
            KeeperError::Directory {
                role: String::new(),
                path: path(),
                source: errno(libc::ENOSPC),
            },
            KeeperError::Directory {
                role: String::new(),
                path: path(),
                source: errno(libc::EEXIST),
            },
            KeeperError::User { program: path(), uid: 33, gid: 33, source: errno(libc::EPERM) },
            KeeperError::Bind { path: PathBuf::from("/srv/shop") },
            KeeperError::Left {
                id,
                left: vec!["process 7".to_owned(), "directory `/w`".to_owned()],
            },
            KeeperError::Affinity(errno(libc::EINVAL)),
        ];
        let all: Vec<String> = errors.iter().map(message).collect();
        insta::assert_snapshot!(all.join("\n\n"));
    }
}
