//! The init process: parent of a stack's processes, PID 1 of their namespace where that is
//! allowed. Starts them, tells how they ended, stops them in order.

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

use super::error::{Failure, Step};
use super::kill::{self, KillTarget, Own};
use super::spec::{Exit, ProcessSpec};
use super::wire::{Channel, Peer, Prepared, Reply, Task};
use super::{cpus, proc, sys};

/// First argument of the hidden command.
pub(super) const ROLE: &str = "__init";
/// Second argument where the kernel ends everything with us.
pub(super) const NAMESPACED: &str = "namespaced";
/// Second argument where we must do it ourselves.
pub(super) const PLAIN: &str = "plain";

/// How long a process that got SIGKILL may take to be reaped.
const AFTER_KILL: Duration = Duration::from_secs(2);

pub(super) fn main(mut args: impl Iterator<Item = OsString>) -> ! {
    let namespaced = args.next().is_some_and(|mode| mode == NAMESPACED);
    sys::block_signals();
    let guard = if namespaced {
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        Guard::Namespace
    } else {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Guard::Ourselves { id: String::new(), v2: None, freezer: None }
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
        // A keeper that died before the death signal was set has closed its end: the first
        // read says so.
        Ok(mut init) => {
            let gone = init.run();
            init.end(gone)
        }
        Err(_) => std::process::exit(1),
    }
}

/// What ends the stack when the keeper is gone.
enum Guard {
    /// Our own end: the kernel kills all inside.
    Namespace,
    /// We do, by all means there are.
    Ourselves { id: String, v2: Option<PathBuf>, freezer: Option<PathBuf> },
}

/// One process that we started.
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
    guard: Guard,
}

/// Why `run` returned: the keeper is gone.
struct KeeperGone;

impl Init {
    fn run(&mut self) -> KeeperGone {
        if self.tell(&Reply::Hello).is_err() {
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
                    if let Guard::Ourselves { .. } = self.guard {
                        self.guard = Guard::Ourselves { id, v2, freezer };
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

    fn tell(&mut self, reply: &Reply) -> Result<(), KeeperGone> {
        self.control.send(reply).map_err(|_| KeeperGone)
    }

    /// Sleeps until the keeper says something, a child ends, or `until`.
    fn wait(&mut self, until: Option<Instant>) -> Result<(), KeeperGone> {
        let timeout = until.map(|until| {
            let left = until.saturating_duration_since(Instant::now());
            Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
        });
        let mut polled = [
            PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.ended.as_fd(), PollFlags::IN),
        ];
        // Signals are blocked: EINTR can only come from a debugger, and the loop asks again.
        let _ = poll(&mut polled, timeout.as_ref());
        let [control, ended] = polled.map(|one| !one.revents().is_empty());
        if control && self.control.fill().map_or(true, |peer| peer == Peer::Gone) {
            return Err(KeeperGone);
        }
        if ended {
            // One read takes all pending SIGCHLDs, which are merged anyway.
            let _ = rustix::io::read(&self.ended, &mut [0_u8; 512]);
            self.reap()?;
        }
        Ok(())
    }

    /// Takes every exit status: of our processes, and of orphans that became ours.
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
            self.tell(&Reply::Exited(exit))?;
        }
        Ok(())
    }

    fn spawn(&mut self, prepared: Prepared) -> Result<(), KeeperGone> {
        match spawn(&prepared) {
            Ok(spawned) => {
                let Prepared { process, spec, .. } = prepared;
                // Before anything is reaped: even a process that ended already has its line.
                let pid = proc::host_pid_of_child(spawned.pid);
                self.children.push(Child { process, pid: spawned.pid, spec, running: true });
                self.tell(&Reply::Spawned { process, pid, refused: spawned.refused })
            }
            Err(failure) => self.tell(&Reply::Failed(failure)),
        }
    }

    /// In reverse order: its signal, its grace, then SIGKILL.
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
        self.tell(&Reply::Stopped)
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

    /// Daemons and strays that no root process took with it. In a namespace the kernel does
    /// it when we end.
    fn end_rest(&self) {
        if let Guard::Ourselves { id, v2, freezer } = &self.guard {
            let (v2, freezer) = (v2.as_deref(), freezer.as_deref());
            let own = Own::AllDescendants;
            kill::everything(&KillTarget { id, v2, freezer, known: &[], own });
        }
    }

    /// The keeper is gone, and so is the stack.
    fn end(&self, _: KeeperGone) -> ! {
        self.end_rest();
        std::process::exit(0)
    }
}

struct Spawned {
    pid: u32,
    refused: Vec<PathBuf>,
}

fn spawn(prepared: &Prepared) -> Result<Spawned, Failure> {
    let spec = &prepared.spec;
    let failure = |step: Step, path: &PathBuf, error: &io::Error| Failure {
        step,
        role: spec.role.clone(),
        path: path.clone(),
        user: spec.user,
        errno: error.raw_os_error().unwrap_or(0),
    };
    // Checked here because execve's "not found" would not say what was not found.
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
    let (mut told, tell) =
        io::pipe().map_err(|error| failure(Step::Program, &spec.program, &error))?;

    let plan = CgroupEntry::new(prepared, OwnedFd::from(tell))
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
        // Its own group: Apache, for one, signals its whole group when it stops.
        .process_group(0);
    // SAFETY: runs between fork and exec; `enter` only makes system calls on memory that was
    // prepared before the fork. (This process has one thread besides.)
    unsafe { command.pre_exec(move || plan.enter()) };
    let child = command.spawn();
    // Closes our copy of the pipe's writing end, held by the closure.
    drop(command);
    let mut said = Vec::new();
    let _ = told.read_to_end(&mut said);
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

/// Standard output and error; readable and reopenable by the user that the process runs as
/// (`error_log = /proc/self/fd/2` opens it anew).
fn open_log(spec: &ProcessSpec) -> io::Result<(std::fs::File, std::fs::File)> {
    let log = OpenOptions::new().append(true).create(true).open(&spec.log)?;
    if let Some((uid, gid)) = spec.user {
        // Refused to ordinary users, whose processes are all of one user anyway.
        let _ = fchown(&log, Some(uid), Some(gid));
    }
    Ok((log.try_clone()?, log))
}

/// Said through the pipe when the user's identity cannot be taken. Other bytes are indices
/// of groups that could not be entered.
const USER: u8 = u8::MAX;

/// What a process does between fork and exec, prepared so that it allocates nothing.
struct CgroupEntry {
    groups: Vec<CString>,
    cpus: CpuSet,
    user: Option<(u32, u32)>,
    tell: OwnedFd,
}

impl CgroupEntry {
    fn new(prepared: &Prepared, tell: OwnedFd) -> io::Result<CgroupEntry> {
        let procs = |directory: &PathBuf| {
            CString::new(directory.join("cgroup.procs").as_os_str().as_bytes())
        };
        Ok(CgroupEntry {
            groups: prepared.groups.iter().map(procs).collect::<Result<_, _>>()?,
            cpus: cpus::cpu_set(&prepared.cpus),
            user: prepared.spec.user,
            tell,
        })
    }

    /// Groups and CPUs first, while we still may; the user's identity last.
    fn enter(&self) -> io::Result<()> {
        for (index, procs) in self.groups.iter().enumerate() {
            if enter_group(procs).is_err() {
                let _ = rustix::io::write(&self.tell, &[u8::try_from(index).unwrap_or(USER - 1)]);
            }
        }
        // Even inside a CPU set: the affinity that stampede gave itself is inherited, and a
        // set that does not contain it would leave us on CPUs of the kernel's choice.
        let _ = rustix::thread::sched_setaffinity(None, &self.cpus);
        sys::default_signals();
        sys::unblock_signals();
        self.take_user().inspect_err(|_| {
            let _ = rustix::io::write(&self.tell, &[USER]);
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
            // This thread is the whole process: we are between fork and exec.
            set_thread_groups(&[gid])?;
            set_thread_gid(gid)?;
            set_thread_uid(uid)?;
        }
        // Nothing of a runtime needs to gain privileges, and what became root by a set-uid
        // program could not be killed by an ordinary user. A root process cannot gain any.
        if !old_uid.is_root() || self.user.is_some() {
            set_no_new_privs(true)?;
        }
        Ok(())
    }
}

/// "0" is the writer, in whatever namespace it is.
fn enter_group(procs: &CString) -> io::Result<()> {
    let file = rustix::fs::open(procs.as_c_str(), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, b"0")?;
    Ok(())
}
