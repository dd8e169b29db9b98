//! Runs a program to its end within a deadline, and keeps the beginning of what it prints.
//!
//! The program gets a process group of its own, which is killed as a whole at the deadline. A
//! process that the program leaves behind in time is not waited for.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process_group};

use crate::interrupt;

/// A program that will be run.
#[derive(Debug)]
pub struct TimedCommand {
    command: Command,
    within: Duration,
    input: Vec<u8>,
    output_bytes_max: usize,
    is_interruptible: bool,
}

/// What a program printed; of each, the beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramOutput {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

/// Why a program did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It was not started, or cannot be waited for.
    #[error("`{}` was not started", program.display())]
    NotStarted {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It did not end in time, and was killed.
    #[error("`{}` did not end within {} s", program.display(), within.as_secs_f64())]
    TimedOut {
        /// The program.
        program: PathBuf,
        /// The deadline, from the start.
        within: Duration,
        /// What it had printed.
        output: ProgramOutput,
    },
    /// It was killed before its deadline, since a signal has asked this process to end.
    #[error("`{}` was stopped", program.display())]
    Interrupted {
        /// The program.
        program: PathBuf,
        /// What it had printed.
        output: ProgramOutput,
    },
    /// It ended with another exit code than 0, or by a signal.
    #[error("`{}` ended with {status}", program.display())]
    Failed {
        /// The program.
        program: PathBuf,
        /// Its exit code or signal.
        status: ExitStatus,
        /// What it printed.
        output: ProgramOutput,
    },
}

impl RunError {
    /// What the program printed.
    pub fn output(&self) -> Option<&ProgramOutput> {
        match self {
            RunError::NotStarted { .. } => None,
            RunError::TimedOut { output, .. }
            | RunError::Interrupted { output, .. }
            | RunError::Failed { output, .. } => Some(output),
        }
    }

    /// The last line that the program printed on standard error, else on standard output, without
    /// white space around it; empty: it printed nothing.
    pub fn last_line(&self) -> String {
        let Some(output) = self.output() else { return String::new() };
        let last = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
        };
        last(&output.stderr).or_else(|| last(&output.stdout)).unwrap_or_default()
    }
}

impl TimedCommand {
    /// The program without arguments, with the environment, directory and user of this process.
    /// Its standard input is empty. `within` is its deadline, from the start.
    pub fn new(program: impl AsRef<OsStr>, within: Duration) -> TimedCommand {
        TimedCommand {
            command: Command::new(program),
            within,
            input: Vec::new(),
            output_bytes_max: OUTPUT_BYTES_MAX,
            is_interruptible: false,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> TimedCommand {
        self.command.args(args);
        self
    }

    /// Inherits no environment.
    #[must_use]
    pub fn env_clear(mut self) -> TimedCommand {
        self.command.env_clear();
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> TimedCommand {
        self.command.env(name, value);
        self
    }

    /// Sets variables of its environment.
    #[must_use]
    pub fn envs(
        mut self,
        variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
    ) -> TimedCommand {
        self.command.envs(variables);
        self
    }

    /// Kills it when a signal asks this process to end, as at the deadline.
    #[must_use]
    pub fn interruptible(mut self) -> TimedCommand {
        self.is_interruptible = true;
        self
    }

    /// Runs it in this directory.
    #[must_use]
    pub fn dir(mut self, directory: &Path) -> TimedCommand {
        self.command.current_dir(directory);
        self
    }

    /// Runs it as this user and group, without other groups. Only root may do so.
    #[must_use]
    pub fn user(mut self, uid: u32, gid: u32) -> TimedCommand {
        self.command.uid(uid).gid(gid);
        self
    }

    /// Sets its standard input.
    #[must_use]
    pub fn input(mut self, input: &[u8]) -> TimedCommand {
        self.input = input.to_vec();
        self
    }

    /// Keeps this many bytes of each output. The rest is read and forgotten.
    #[must_use]
    pub fn keep(mut self, bytes_max: usize) -> TimedCommand {
        self.output_bytes_max = bytes_max;
        self
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run(mut self) -> Result<ProgramOutput, RunError> {
        let program = PathBuf::from(self.command.get_program());
        let (within, is_interruptible) = (self.within, self.is_interruptible);
        let ended = self.start().and_then(|mut running| {
            let end = running.end_within(within, is_interruptible)?;
            Ok((end, running.output()))
        });
        match ended {
            Err(source) => Err(RunError::NotStarted { program, source }),
            Ok((End::Late, output)) => Err(RunError::TimedOut { program, within, output }),
            Ok((End::Interrupted, output)) => Err(RunError::Interrupted { program, output }),
            Ok((End::By(status), output)) if status.success() => Ok(output),
            Ok((End::By(status), output)) => Err(RunError::Failed { program, status, output }),
        }
    }

    fn start(&mut self) -> io::Result<Running> {
        let input = if self.input.is_empty() { Stdio::null() } else { Stdio::piped() };
        let outputs = self.command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = outputs.process_group(0).spawn()?;
        let input = child.stdin.take().map(OwnedFd::from);
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        let mut running = Running {
            child,
            input: Pipe::without_wait(input),
            unsent: std::mem::take(&mut self.input),
            stdout: Pipe::without_wait(stdout),
            stderr: Pipe::without_wait(stderr),
        };
        for pipe in [&mut running.stdout, &mut running.stderr] {
            pipe.bytes_max = self.output_bytes_max;
        }
        Ok(running)
    }
}

/// How a program came to its end.
enum End {
    By(ExitStatus),
    /// It was killed at its deadline.
    Late,
    /// It was killed when a signal asked this process to end.
    Interrupted,
}

/// A program that runs.
struct Running {
    child: Child,
    input: Pipe,
    unsent: Vec<u8>,
    stdout: Pipe,
    stderr: Pipe,
}

impl Running {
    fn end_within(&mut self, within: Duration, is_interruptible: bool) -> io::Result<End> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.read_rest();
                return Ok(End::By(status));
            }
            let left = within.saturating_sub(begun.elapsed());
            let is_interrupted = is_interruptible && interrupt::is_requested();
            if left.is_zero() || is_interrupted {
                self.kill()?;
                self.read_rest();
                return Ok(if is_interrupted { End::Interrupted } else { End::Late });
            }
            self.wait_for_bytes(left.min(LOOK));
            self.write_once();
            self.stdout.read_once();
            self.stderr.read_once();
        }
    }

    fn output(self) -> ProgramOutput {
        ProgramOutput { stdout: self.stdout.bytes, stderr: self.stderr.bytes }
    }

    /// Kills the process group, and the program itself where it has left the group.
    fn kill(&mut self) -> io::Result<()> {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    fn wait_for_bytes(&self, time: Duration) {
        let input = self.input.file.iter().map(|file| PollFd::new(file, PollFlags::OUT));
        let outputs = [&self.stdout, &self.stderr].into_iter().flat_map(|pipe| &pipe.file);
        let outputs = outputs.map(|file| PollFd::new(file, PollFlags::IN));
        let mut all: Vec<PollFd<'_>> = input.chain(outputs).collect();
        let time = Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
        // Whatever ends the wait, the pipes are looked at.
        let _ = poll(&mut all, Some(&time));
    }

    fn write_once(&mut self) {
        let Some(file) = &mut self.input.file else { return };
        match file.write(&self.unsent) {
            Ok(length) => drop(self.unsent.drain(..length)),
            Err(error) if is_passing(&error) => return,
            // The program reads no more.
            Err(_) => self.unsent.clear(),
        }
        if self.unsent.is_empty() {
            self.input.file = None;
        }
    }

    /// Reads what the program printed at last. A process that it left behind may print for ever.
    fn read_rest(&mut self) {
        for pipe in [&mut self.stdout, &mut self.stderr] {
            while pipe.bytes.len() < pipe.bytes_max && pipe.read_once() {}
        }
    }
}

/// One end of a pipe, and what came through it.
struct Pipe {
    /// `None`: the pipe is closed.
    file: Option<File>,
    bytes: Vec<u8>,
    bytes_max: usize,
}

impl Pipe {
    /// A pipe on which no read or write waits. One that cannot be set so is closed.
    fn without_wait(end: Option<OwnedFd>) -> Pipe {
        let end = end.filter(|end| ioctl_fionbio(end, true).is_ok());
        Pipe { file: end.map(File::from), bytes: Vec::new(), bytes_max: 0 }
    }

    /// Reads once. Returns whether there may be more.
    fn read_once(&mut self) -> bool {
        let Some(file) = &mut self.file else { return false };
        let mut read = [0; READ_BYTES];
        match file.read(&mut read) {
            Ok(length) if length > 0 => {
                let kept = length.min(self.bytes_max - self.bytes.len());
                self.bytes.extend_from_slice(&read[..kept]);
                true
            }
            Err(error) if is_passing(&error) => error.kind() == io::ErrorKind::Interrupted,
            Ok(_) | Err(_) => {
                self.file = None;
                false
            }
        }
    }
}

/// Whether the same call may succeed later.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// The bytes of each output that are kept unless the caller chooses: far more than a person reads.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// The pause between two checks whether the program has ended, if it prints nothing.
const LOOK: Duration = Duration::from_millis(2);
/// Bytes of one read: what a pipe holds by default is four times as much.
const READ_BYTES: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::stat;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str, within: Duration) -> TimedCommand {
        TimedCommand::new("sh", within).args(["-c", script])
    }

    fn output(stdout: &str, stderr: &str) -> ProgramOutput {
        ProgramOutput { stdout: stdout.into(), stderr: stderr.into() }
    }

    /// Whether the process has ended, soon enough.
    fn ends(pid: u32) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if stat(pid).is_none_or(|stat| stat.is_dead()) {
                return true;
            }
            std::thread::sleep(LOOK);
        }
        false
    }

    #[test]
    fn a_program_gets_its_input_and_its_surroundings() {
        let directory = tempfile::tempdir().unwrap();
        let command = TimedCommand::new("/bin/sh", LONG)
            .args(["-c", "cat; echo \"$A $HOME\"; pwd -P; echo error >&2"])
            .env_clear()
            .env("A", "b")
            .dir(directory.path())
            .input(b"input\n");
        let place = directory.path().canonicalize().unwrap();
        let stdout = format!("input\nb \n{}\n", place.display());
        assert_eq!(command.run().unwrap(), output(&stdout, "error\n"));
    }

    #[test]
    fn input_that_a_program_does_not_read_is_no_failure() {
        let input = vec![b'x'; 1 << 20];
        assert_eq!(shell("echo ok", LONG).input(&input).run().unwrap(), output("ok\n", ""));
    }

    #[test]
    fn a_failure_has_its_status_and_what_was_printed() {
        for (script, code) in [("echo a; exit 3", Some(3)), ("echo a; kill -9 $$", None)] {
            match shell(script, LONG).run() {
                Err(RunError::Failed { program, status, output: printed }) => {
                    assert_eq!((program, status.code()), (PathBuf::from("sh"), code));
                    assert_eq!(printed, output("a\n", ""));
                }
                other => panic!("{script}: {other:?}"),
            }
        }
        match TimedCommand::new("/nowhere/program", LONG).run() {
            Err(RunError::NotStarted { source, .. }) => {
                assert_eq!(source.kind(), io::ErrorKind::NotFound);
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_whole_process_group_ends_at_the_deadline() {
        let within = Duration::from_secs(1);
        match shell("sleep 600 & echo $!; wait", within).run() {
            Err(RunError::TimedOut { within: after, output, .. }) => {
                assert_eq!(after, within);
                let pid = String::from_utf8(output.stdout).unwrap();
                assert!(ends(pid.trim().parse().unwrap()), "{pid}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_process_that_is_left_behind_is_not_waited_for() {
        let begun = Instant::now();
        let printed = shell("sleep 600 & echo $!", LONG).run().unwrap();
        assert!(begun.elapsed() < LONG);
        let pid: i32 = String::from_utf8(printed.stdout).unwrap().trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn only_the_beginning_of_long_output_is_kept() {
        let script = "head -c 1000000 /dev/zero | tr '\\0' x; echo error >&2";
        assert_eq!(shell(script, LONG).keep(3).run().unwrap(), output("xxx", "err"));
        assert_eq!(shell(script, LONG).keep(0).run().unwrap(), output("", ""));
    }
}
