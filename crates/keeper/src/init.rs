//! The init process of a stack: the parent of its processes, and PID 1 of their namespace where
//! that is allowed. It starts the processes, reports how they ended, and stops them in order.

use std::ffi::{CString, OsString};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::fchown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitOptions};
use rustix::thread::CpuSet;
use stampede_linux::process;
use stampede_model::isolation::Exit;

use super::error::{Failure, Step};
use super::kill::{self, DescendantScope, KillTarget};
use super::spec::ProcessSpec;
use super::wire::{Channel, Peer, Reply, SpawnRequest, Task};
use super::{cpus, sys};

/// First argument of the hidden command.
pub(super) const ROLE: &str = "__init";
/// Second argument if the kernel ends all processes together with init.
pub(super) const NAMESPACED: &str = "namespaced";
/// Second argument if init must end all processes itself.
pub(super) const PLAIN: &str = "plain";

/// How long a process may take to be reaped after SIGKILL.
const AFTER_KILL: Duration = Duration::from_secs(2);

pub(super) fn main(mut args: impl Iterator<Item = OsString>) -> ! {
    let namespaced = args.next().is_some_and(|mode| mode == NAMESPACED);
    sys::block_signals();
    let guard = if namespaced {
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        EndMethod::Namespace
    } else {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        EndMethod::Ourselves { id: String::new(), v2: None, freezer: None }
    };
    let ready = || -> io::Result<Init> {
        let control = sys::take_stdin()?;
        Ok(Init {
            control: Channel::new(UnixStream::from(control)),
            ended: sys::child_signals()?,
            children: Vec::new(),
            guard,
        })
    };
    match ready() {
        // The keeper may have died before the death signal was set. Its end of the channel is
        // closed then, and the first read reports it.
        Ok(mut init) => {
            let gone = init.run();
            init.end(gone)
        }
        Err(_) => std::process::exit(1),
    }
}

/// What ends the stack when the keeper is gone.
enum EndMethod {
    /// The kernel: when init ends, it kills every process in the namespace.
    Namespace,
    /// Init itself, by every means available.
    Ourselves { id: String, v2: Option<PathBuf>, freezer: Option<PathBuf> },
}

/// A process that init started.
struct Child {
    process: usize,
    pid: u32,
    spec: ProcessSpec,
    running: bool,
}

struct Init {
    control: Channel,
    ended: OwnedFd,
    children: Vec<Child>,
    guard: EndMethod,
}

/// Why `run` returns: the keeper is gone.
struct KeeperGone;

impl Init {
    fn run(&mut self) -> KeeperGone {
        if self.report(&Reply::Hello).is_err() {
            return KeeperGone;
        }
        loop {
            let task = match self.control.take::<Task>() {
                Ok(Some(task)) => task,
                Ok(None) => match self.wait(None) {
                    Ok(()) => continue,
                    Err(gone) => return gone,
                },
                Err(_) => return KeeperGone,
            };
            let done = match task {
                Task::Guard { id, v2, freezer } => {
                    if let EndMethod::Ourselves { .. } = self.guard {
                        self.guard = EndMethod::Ourselves { id, v2, freezer };
                    }
                    Ok(())
                }
                Task::Spawn(prepared) => self.spawn(*prepared),
                Task::Stop => self.stop(),
            };
            if let Err(gone) = done {
                return gone;
            }
        }
    }

    fn report(&mut self, reply: &Reply) -> Result<(), KeeperGone> {
        self.control.send(reply).map_err(|_| KeeperGone)
    }

    /// Sleeps until the keeper sends something, a child ends, or the time is `until`.
    fn wait(&mut self, until: Option<Instant>) -> Result<(), KeeperGone> {
        let timeout = until.map(|until| {
            let left = until.saturating_duration_since(Instant::now());
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
        });
        let mut polled = [
            PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.ended.as_fd(), PollFlags::IN),
        ];
        // Signals are blocked, so only a debugger can cause EINTR. The caller's loop polls again
        // then.
        let _ = poll(&mut polled, timeout.as_ref());
        let [control, ended] = polled.map(|one| !one.revents().is_empty());
        if control && self.control.fill().map_or(true, |peer| peer == Peer::Gone) {
            return Err(KeeperGone);
        }
        if ended {
            // One read takes all pending SIGCHLDs. The kernel merges them anyway.
            let _ = rustix::io::read(&self.ended, &mut [0_u8; 512]);
            self.reap()?;
        }
        Ok(())
    }

    /// Collects every exit status: of the stack's processes, and of orphans that init adopted.
    fn reap(&mut self) -> Result<(), KeeperGone> {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let pid = pid.as_raw_nonzero().get().unsigned_abs();
            let Some(child) = self.children.iter_mut().find(|c| c.pid == pid && c.running) else {
                continue;
            };
            child.running = false;
            let exit = Exit {
                process: child.process,
                role: child.spec.role.clone(),
                code: status.exit_status(),
                signal: status.terminating_signal(),
            };
            self.report(&Reply::Exited(exit))?;
        }
        Ok(())
    }

    fn spawn(&mut self, prepared: SpawnRequest) -> Result<(), KeeperGone> {
        match spawn(&prepared) {
            Ok(spawned) => {
                let SpawnRequest { process, spec, .. } = prepared;
                // Done before anything is reaped, so that a process that has already ended is
                // reported too.
                let pid = process::host_pid_of_child(spawned.pid);
                self.children.push(Child { process, pid: spawned.pid, spec, running: true });
                self.report(&Reply::Spawned { process, pid, refused: spawned.refused })
            }
            Err(failure) => self.report(&Reply::Failed(failure)),
        }
    }

    /// Stops the processes in reverse order. Each gets its signal, then its grace period, then
    /// SIGKILL.
    fn stop(&mut self) -> Result<(), KeeperGone> {
        for index in (0..self.children.len()).rev() {
            let child = &self.children[index];
            let signal = Signal::from_named_raw(child.spec.stop.signal).unwrap_or(Signal::TERM);
            let grace = Duration::from(child.spec.stop.grace);
            self.signal(index, signal);
            self.wait_for(index, grace)?;
            self.signal(index, Signal::KILL);
            self.wait_for(index, AFTER_KILL)?;
        }
        self.end_rest();
        self.reap()?;
        self.report(&Reply::Stopped)
    }

    fn signal(&self, index: usize, signal: Signal) {
        let child = &self.children[index];
        let pid = i32::try_from(child.pid).ok().and_then(Pid::from_raw);
        if let (true, Some(pid)) = (child.running, pid) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    fn wait_for(&mut self, index: usize, limit: Duration) -> Result<(), KeeperGone> {
        let until = Instant::now() + limit;
        while self.children[index].running && Instant::now() < until {
            self.wait(Some(until))?;
        }
        Ok(())
    }

    /// Ends daemons and strays that no stopped process took with it. In a namespace the kernel does
    /// this when init ends.
    fn end_rest(&self) {
        if let EndMethod::Ourselves { id, v2, freezer } = &self.guard {
            let (v2, freezer) = (v2.as_deref(), freezer.as_deref());
            let own = DescendantScope::AllDescendants;
            kill::kill_all(&KillTarget { id, v2, freezer, known: &[], own });
        }
    }

    /// Ends the stack and this process, because the keeper is gone.
    fn end(&self, _: KeeperGone) -> ! {
        self.end_rest();
        std::process::exit(0)
    }
}

struct Spawned {
    pid: u32,
    refused: Vec<PathBuf>,
}

fn spawn(prepared: &SpawnRequest) -> Result<Spawned, Failure> {
    let spec = &prepared.spec;
    let failure = |step: Step, path: &PathBuf, error: &io::Error| Failure {
        step,
        role: spec.role.clone(),
        path: path.clone(),
        user: spec.user,
        errno: error.raw_os_error().unwrap_or(0),
    };
    // Checked here because execve's "not found" would not name the directory.
    let is_directory = std::fs::metadata(&spec.cwd).and_then(|found| match found.is_dir() {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::ENOTDIR)),
    });
    is_directory.map_err(|error| failure(Step::Directory, &spec.cwd, &error))?;
    let (out, err) = open_log(spec).map_err(|error| failure(Step::Directory, &spec.log, &error))?;
    let input = match &spec.input {
        Some(file) => Stdio::from(
            std::fs::File::open(file).map_err(|error| failure(Step::Directory, file, &error))?,
        ),
        None => Stdio::null(),
    };
    let (mut reports, report) =
        io::pipe().map_err(|error| failure(Step::Program, &spec.program, &error))?;

    let plan = CgroupEntry::new(prepared, OwnedFd::from(report))
        .map_err(|error| failure(Step::Program, &spec.program, &error))?;
    let mut command = Command::new(&spec.program);
    command
        .args(&spec.args)
        .env_clear()
        .envs(&spec.env)
        .current_dir(&spec.cwd)
        .stdin(input)
        .stdout(out)
        .stderr(err)
        // The process gets a group of its own. Apache for one signals its whole group when it
        // stops.
        .process_group(0);
    // SAFETY: the closure runs between fork and exec. `enter` only makes system calls, on memory
    // that was prepared before the fork. This process also has only one thread.
    unsafe { command.pre_exec(move || plan.enter()) };
    let child = command.spawn();
    // Closes our copy of the pipe's write end, which the closure holds.
    drop(command);
    let mut said = Vec::new();
    let _ = reports.read_to_end(&mut said);
    let refused = prepared
        .groups
        .iter()
        .enumerate()
        .filter(|(index, _)| said.iter().any(|&byte| usize::from(byte) == *index))
        .map(|(_, directory)| directory.clone())
        .collect();
    match child {
        Ok(child) => Ok(Spawned { pid: child.id(), refused }),
        Err(error) if said.contains(&USER) => Err(failure(Step::User, &spec.program, &error)),
        Err(error) => Err(failure(Step::Program, &spec.program, &error)),
    }
}

/// Opens the log for standard output and error. The process's user owns it, so that the process can
/// open it again (`error_log = /proc/self/fd/2` does so).
fn open_log(spec: &ProcessSpec) -> io::Result<(std::fs::File, std::fs::File)> {
    let log = OpenOptions::new().append(true).create(true).open(&spec.log)?;
    if let Some((uid, gid)) = spec.user {
        // Ordinary users may not do this, but all their processes have the same user anyway.
        let _ = fchown(&log, Some(uid), Some(gid));
    }
    Ok((log.try_clone()?, log))
}

/// The byte sent through the pipe when the process cannot switch to its user. Other bytes are
/// indices of groups that could not be entered.
const USER: u8 = u8::MAX;

/// The steps of a process between fork and exec, prepared so that they allocate nothing.
struct CgroupEntry {
    groups: Vec<CString>,
    cpus: CpuSet,
    user: Option<(u32, u32)>,
    report: OwnedFd,
}

impl CgroupEntry {
    fn new(prepared: &SpawnRequest, report: OwnedFd) -> io::Result<CgroupEntry> {
        let procs = |directory: &PathBuf| {
            CString::new(directory.join("cgroup.procs").as_os_str().as_bytes())
        };
        Ok(CgroupEntry {
            groups: prepared.groups.iter().map(procs).collect::<Result<_, _>>()?,
            cpus: cpus::cpu_set(&prepared.cpus),
            user: prepared.spec.user,
            report,
        })
    }

    /// Enters the groups and sets the CPUs while the process still may. Switches the user last.
    fn enter(&self) -> io::Result<()> {
        for (index, procs) in self.groups.iter().enumerate() {
            if enter_group(procs).is_err() {
                let _ = rustix::io::write(&self.report, &[u8::try_from(index).unwrap_or(USER - 1)]);
            }
        }
        // The affinity is needed even inside a CPU set. The process inherits stampede's own
        // affinity, and if no CPU of the set is in it, the kernel would choose the CPUs.
        let _ = rustix::thread::sched_setaffinity(None, &self.cpus);
        sys::default_signals();
        sys::unblock_signals();
        self.take_user().inspect_err(|_| {
            let _ = rustix::io::write(&self.report, &[USER]);
        })
    }

    fn take_user(&self) -> io::Result<()> {
        use rustix::process::{getegid, geteuid};
        use rustix::thread::{set_no_new_privs, set_thread_gid, set_thread_groups, set_thread_uid};
        let (old_uid, old_gid) = (geteuid(), getegid());
        if let Some((uid, gid)) = self.user
            && (uid, gid) != (old_uid.as_raw(), old_gid.as_raw())
        {
            let (uid, gid) =
                (rustix::process::Uid::from_raw(uid), rustix::process::Gid::from_raw(gid));
            // This thread is the whole process between fork and exec.
            set_thread_groups(&[gid])?;
            set_thread_gid(gid)?;
            set_thread_uid(uid)?;
        }
        // No program of a runtime needs to gain privileges. An ordinary user could not kill a
        // process that became root through a set-uid program. A root process cannot gain any
        // privileges.
        if !old_uid.is_root() || self.user.is_some() {
            set_no_new_privs(true)?;
        }
        Ok(())
    }
}

/// Puts the calling process into a group. "0" means the writer, in whatever namespace it is.
fn enter_group(procs: &CString) -> io::Result<()> {
    let file = rustix::fs::open(procs.as_c_str(), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, b"0")?;
    Ok(())
}
