//! The keeper process. It watches stampede and init, and removes the whole stack once either is
//! gone.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};
use stampede_linux::process::Identity;
use stampede_model::isolation::Exit;

use super::cgroup::{Freezer, Groups, Plan};
use super::error::{Failure, KeeperError, Step};
use super::journal::{Entry, Journal};
use super::kill::{self, DescendantScope, KillTarget, PATIENCE};
use super::private_mounts::PrivateMounts;
use super::spec::{BindMount, ProcessSetSpec};
use super::stack::NamespaceUse;
use super::sys::{self, SpawnMode};
use super::wire::{
    Channel, GuardRequest, Notification, Order, Peer, Reply, SpawnRequest, Started, Task,
};
use super::work::{self, WorkRecord};
use super::{init, sweep};
use crate::MARKER;

/// First argument of the hidden command. The second is stampede's pid. The third is the stack's id,
/// for people who read the list of processes.
pub(super) const ROLE: &str = "__keeper";

pub(super) fn main(mut args: impl Iterator<Item = OsString>) -> ! {
    sys::block_signals();
    sys::close_on_exec_all();
    let _ = rustix::process::setsid();
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let parent = args.next().and_then(|pid| pid.to_str()?.parse::<i32>().ok());
    let (Some(parent), Ok(control)) = (parent.and_then(Pid::from_raw), sys::take_stdin()) else {
        std::process::exit(2);
    };
    let stampede = watch(parent);
    let mut control = Channel::new(UnixStream::from(control));
    // stampede wrote the order to the socket before it started this process. So the order is there
    // even if stampede has died since.
    if let Ok(Some(Order::Guard(request))) = control.receive() {
        keep(&request, control, raw_pid(parent), stampede);
    }
    std::process::exit(0)
}

/// Opens stampede's pidfd. The check after the opening closes the race with stampede's death.
/// `None` where pidfds are forbidden: then only the socket shows that stampede is gone.
fn watch(parent: Pid) -> Option<OwnedFd> {
    let pidfd = rustix::process::pidfd_open(parent, PidfdFlags::empty()).ok()?;
    (rustix::process::getppid() == Some(parent)).then_some(pidfd)
}

fn keep(request: &GuardRequest, mut control: Channel, parent: u32, stampede: Option<OwnedFd>) {
    // stampede is gone already, and nothing was created yet.
    let Some(parent) = Identity::of(parent) else { return };
    let (journal, entry) = match enter(request, parent) {
        Ok(entered) => entered,
        Err(error) => {
            let _ = control.send(&Notification::Failed(Failure::of(error)));
            return;
        }
    };
    let running = Vec::new();
    let mut keeper =
        Keeper { control, stampede, init: None, groups: None, entry, journal, running };
    let end = keeper.work(request);
    keeper.finish(end);
}

/// Takes the id and creates the working directory.
fn enter(request: &GuardRequest, stampede: Identity) -> Result<(Journal, Entry), KeeperError> {
    let journal = Journal::open(&request.journal)?;
    if journal.read(&request.id).is_some_and(|entry| entry.is_guarded()) {
        return Err(KeeperError::InUse(request.id.clone()));
    }
    let mut entry = Entry::new(&request.id, stampede);
    entry.keeper = Identity::of(std::process::id());
    work::create(&journal, &mut entry, &request.directory, request.work)?;
    Ok((journal, entry))
}

/// Returns the longest duration of an orderly stop: every grace period, plus time for the kills.
fn stop_limit(spec: &ProcessSetSpec) -> Duration {
    let graces = spec.processes.iter().map(|process| Duration::from(process.stop.grace));
    graces.sum::<Duration>() + PATIENCE * 2
}

/// The init process as the keeper sees it.
struct Init {
    pid: Pid,
    pidfd: Option<OwnedFd>,
    channel: Channel,
    spawn_mode: SpawnMode,
}

/// Why the keeper's work ends.
enum End {
    StampedeGone,
    InitGone,
    Failed(Failure),
    Stopped,
}

/// An event that wakes the keeper.
enum Event {
    Order(Order),
    Reply(Reply),
    Late,
}

struct Keeper {
    control: Channel,
    stampede: Option<OwnedFd>,
    init: Option<Init>,
    groups: Option<Groups>,
    entry: Entry,
    journal: Journal,
    /// Indices of processes that have not ended, as far as the keeper knows.
    running: Vec<usize>,
}

impl Keeper {
    /// Serves stampede from the created working directory to the end, and returns why it ended.
    fn work(&mut self, request: &GuardRequest) -> End {
        if self.control.send(&Notification::Guards).is_err() {
            return End::StampedeGone;
        }
        // Until the next order, stampede fills the directory.
        let spec = match self.next(None) {
            Ok(Event::Order(Order::Start(spec))) => spec,
            Ok(_) => return End::Stopped,
            Err(end) => return end,
        };
        let plan = Plan::new(&spec, request.cgroups);
        match self.start(&spec, request.namespaces, plan) {
            Ok(started) => self.serve(&spec, started),
            Err(end) => end,
        }
    }

    fn start(
        &mut self,
        spec: &ProcessSetSpec,
        namespaces: NamespaceUse,
        plan: Plan,
    ) -> Result<Started, End> {
        self.running = (0..spec.processes.len()).collect();
        self.entry.cgroups = plan.directories();
        self.entry.removal = spec.containers.as_ref().map(|containers| containers.removal.clone());
        self.write_entry()?;
        self.start_init(namespaces, spec)?;
        self.write_entry()?;
        let namespaced = self.entry.namespaced;
        let freezer = if namespaced { Freezer::NotNeeded } else { Freezer::IfNoKill };
        let groups = plan.create(spec, freezer);
        let guard = Task::Guard {
            id: spec.id.clone(),
            v2: groups.kill_directory(),
            freezer: groups.freezer_directory(),
        };
        self.groups = Some(groups);
        self.task(&guard)?;
        let all = spec.processes.len();
        let first = if spec.first == 0 { all } else { spec.first.min(all) };
        self.spawn_all(spec, Vec::new(), first)
    }

    /// Starts the processes up to number `until`; those of `pids` run already.
    fn spawn_all(
        &mut self,
        spec: &ProcessSetSpec,
        mut pids: Vec<u32>,
        until: usize,
    ) -> Result<Started, End> {
        for process in pids.len()..until {
            pids.push(self.spawn(spec, process)?);
        }
        self.entry.roots = pids.iter().filter_map(|&pid| Identity::of(pid)).collect();
        self.write_entry()?;
        Ok(self.started(spec, pids))
    }

    fn started(&self, spec: &ProcessSetSpec, pids: Vec<u32>) -> Started {
        let mut isolation = self.groups.as_ref().map(Groups::isolation).unwrap_or_default();
        isolation.process_group = self.guarantee().to_owned();
        let mut names: Vec<&str> = Vec::new();
        for role in spec.roles() {
            if !names.contains(&role) {
                names.push(role);
            }
        }
        let roles = names
            .into_iter()
            .filter_map(|role| self.groups.as_ref().map(|groups| groups.role_directories(role)))
            .collect();
        let init = self.init.as_ref().map_or(0, |init| raw_pid(init.pid));
        Started { pids, isolation, roles, init }
    }

    /// Returns what ends all processes, as the record spells it.
    fn guarantee(&self) -> &'static str {
        let groups = self.groups.as_ref();
        match self.entry.namespaced {
            true => "pid-namespace",
            false if groups.is_some_and(|groups| groups.kill_directory().is_some()) => {
                "cgroup-kill"
            }
            false if groups.is_some_and(|g| g.freezer_directory().is_some()) => "cgroup-freezer",
            false => "children",
        }
    }

    /// Starts init in the best way that the machine allows.
    fn start_init(&mut self, namespaces: NamespaceUse, spec: &ProcessSetSpec) -> Result<(), End> {
        let births: &[SpawnMode] = match namespaces {
            NamespaceUse::Forbidden => &[SpawnMode::Plain],
            NamespaceUse::Allowed if rustix::process::geteuid().is_root() => {
                &[SpawnMode::Namespaces, SpawnMode::Plain]
            }
            NamespaceUse::Allowed => &[SpawnMode::UserNamespaces, SpawnMode::Plain],
        };
        let Ok(mounts) = PrivateMounts::of(spec) else { return Err(End::InitGone) };
        // Without a mount namespace, the stack would write to what is to be replaced.
        let fits = |mode: &&SpawnMode| spec.bind.is_none() || **mode != SpawnMode::Plain;
        for &spawn_mode in births.iter().filter(fits) {
            let Ok(init) = spawn_init(spawn_mode, &mounts, &self.entry.id) else { continue };
            self.entry.init = Identity::of(raw_pid(init.pid));
            self.entry.namespaced = spawn_mode != SpawnMode::Plain;
            self.init = Some(init);
            match self.next(None) {
                Ok(Event::Reply(Reply::Hello)) => return Ok(()),
                Err(End::StampedeGone) => return Err(End::StampedeGone),
                // Namespaces are forbidden: the child ended without a message.
                _ => self.end_init(),
            }
        }
        let unbound = |bind: &BindMount| Failure::new(Step::Bind, bind.target.clone(), 0);
        Err(spec.bind.as_ref().map_or(End::InitGone, |bind| End::Failed(unbound(bind))))
    }

    fn spawn(&mut self, spec: &ProcessSetSpec, process: usize) -> Result<u32, End> {
        let mut process_spec = spec.processes[process].clone();
        process_spec.env.insert(MARKER.to_owned(), spec.id.clone());
        let role = process_spec.role.clone();
        let prepared = SpawnRequest {
            process,
            groups: self.groups.as_ref().map(|g| g.of_role(&role)).unwrap_or_default(),
            cpus: spec.cpus_by_role.get(&role).unwrap_or(&spec.cpus).clone(),
            spec: process_spec,
        };
        self.task(&Task::Spawn(Box::new(prepared)))?;
        loop {
            match self.next(None)? {
                Event::Reply(Reply::Spawned { process: one, pid, refused }) if one == process => {
                    for directory in &refused {
                        self.groups.iter_mut().for_each(|groups| groups.refused(directory));
                    }
                    return Ok(pid);
                }
                Event::Reply(Reply::Failed(failure)) => return Err(End::Failed(failure)),
                Event::Reply(Reply::Exited(exit)) => self.exited(exit),
                // stampede sends no order before it knows that the stack has started.
                _ => {}
            }
        }
    }

    /// Serves a running stack until its end. The keeper sleeps between events.
    fn serve(&mut self, spec: &ProcessSetSpec, started: Started) -> End {
        let (mut pids, stop_limit) = (started.pids.clone(), stop_limit(spec));
        if self.control.send(&Notification::Started(started)).is_err() {
            return End::StampedeGone;
        }
        let mut until = None;
        loop {
            match self.next(until) {
                Ok(Event::Order(Order::Stop)) if until.is_none() => {
                    until = Some(Instant::now() + stop_limit);
                    if let Err(end) = self.task(&Task::Stop) {
                        return end;
                    }
                }
                Ok(Event::Order(Order::Go(number))) if until.is_none() => {
                    let started = match self.spawn_all(spec, pids, number.min(spec.processes.len()))
                    {
                        Ok(started) => started,
                        Err(end) => return end,
                    };
                    pids = started.pids.clone();
                    if self.control.send(&Notification::Started(started)).is_err() {
                        return End::StampedeGone;
                    }
                }
                Ok(Event::Reply(Reply::Exited(exit))) => self.exited(exit),
                Ok(Event::Reply(Reply::Stopped) | Event::Late) => return End::Stopped,
                Ok(_) => {}
                Err(end) => return end,
            }
        }
    }

    fn exited(&mut self, exit: Exit) {
        self.running.retain(|&process| process != exit.process);
        // If stampede is gone, the next poll reports it.
        let _ = self.control.send(&Notification::Exited(exit));
    }

    fn task(&mut self, task: &Task) -> Result<(), End> {
        let init = self.init.as_mut().ok_or(End::InitGone)?;
        init.channel.send(task).map_err(|_| End::InitGone)
    }

    /// Sleeps until a peer sends a message or dies, or until the time limit.
    fn next(&mut self, until: Option<Instant>) -> Result<Event, End> {
        loop {
            if let Some(order) = self.control.take().map_err(|_| End::StampedeGone)? {
                return Ok(Event::Order(order));
            }
            let replied = self.init.as_mut().map_or(Ok(None), |init| init.channel.take());
            if let Some(reply) = replied.map_err(|_| End::InitGone)? {
                return Ok(Event::Reply(reply));
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(Event::Late);
            }
            self.sleep(until)?;
        }
    }

    /// Polls once, until a peer sends a message or dies, or the time is `until`.
    fn sleep(&mut self, until: Option<Instant>) -> Result<(), End> {
        let control = self.control.as_fd();
        // For a missing descriptor the control descriptor is polled in its place.
        let stampede = self.stampede.as_ref().map_or(control, AsFd::as_fd);
        let init = self.init.as_ref().map_or(control, |init| init.channel.as_fd());
        let mut polled =
            [control, stampede, init].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let _ = poll(&mut polled, until.map(until_left).as_ref());
        let [control, stampede, init] = polled.map(|one| !one.revents().is_empty());
        let gone = |channel: &mut Channel| channel.fill().map_or(true, |peer| peer == Peer::Gone);
        if (stampede && self.stampede.is_some()) || (control && gone(&mut self.control)) {
            return Err(End::StampedeGone);
        }
        let one = self.init.as_mut().filter(|_| init);
        if one.is_some_and(|one| gone(&mut one.channel)) { Err(End::InitGone) } else { Ok(()) }
    }

    fn write_entry(&self) -> Result<(), End> {
        self.journal.write(&self.entry).map_err(|error| End::Failed(Failure::of(error)))
    }

    /// Ends init, and through it all other processes.
    fn end_init(&mut self) {
        let Some(Init { pid, pidfd, channel, spawn_mode }) = self.init.take() else { return };
        // A plain init ends its processes when the channel closes. A namespaced init takes them
        // along.
        drop(channel);
        let patience = match spawn_mode {
            SpawnMode::Plain => PATIENCE + Duration::from_secs(1),
            SpawnMode::Namespaces | SpawnMode::UserNamespaces => Duration::ZERO,
        };
        if !wait_dead(pidfd.as_ref(), pid, patience) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
            wait_dead(pidfd.as_ref(), pid, PATIENCE);
        }
    }

    fn finish(mut self, end: End) {
        let known = std::mem::take(&mut self.entry.roots);
        let was_plain = self.init.as_ref().is_some_and(|init| init.spawn_mode == SpawnMode::Plain);
        let (v2, freezer) = match &self.groups {
            Some(groups) => (groups.kill_directory(), groups.freezer_directory()),
            None => (None, None),
        };
        self.end_init();
        // Before the kills: services that keep their data are stopped in order.
        let mut left: Vec<String> = sweep::remove_containers(&self.entry).into_iter().collect();
        if was_plain {
            let target = KillTarget {
                id: &self.entry.id,
                v2: v2.as_deref(),
                freezer: freezer.as_deref(),
                known: &known,
                own: DescendantScope::AllDescendants,
            };
            left.extend(kill::kill_all(&target).iter().map(|pid| format!("process {pid}")));
        }
        left.extend(sweep::remove_groups(&self.entry.cgroups));
        left.extend(self.entry.work.as_ref().and_then(WorkRecord::remove));
        if left.is_empty() {
            self.journal.remove(&self.entry.id);
        }
        self.report_end(end);
    }

    fn report_end(&mut self, end: End) {
        let failure = match end {
            End::Failed(failure) => Some(failure),
            End::InitGone => Some(Failure::new(Step::Init, PathBuf::new(), 0)),
            End::StampedeGone | End::Stopped => None,
        };
        if let Some(failure) = failure {
            let _ = self.control.send(&Notification::Failed(failure));
        }
        let _ = self.control.send(&Notification::Ended);
    }
}

/// Starts init. The stack's id in its arguments is only for people who read the list of processes.
fn spawn_init(spawn_mode: SpawnMode, mounts: &PrivateMounts, id: &str) -> io::Result<Init> {
    let (near, far) = UnixStream::pair()?;
    let mode = if spawn_mode == SpawnMode::Plain { init::PLAIN } else { init::NAMESPACED };
    let args = ["stampede", init::ROLE, mode, id];
    let pid = sys::spawn_init(spawn_mode, mounts, &args, &OwnedFd::from(far))?;
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok();
    Ok(Init { pid, pidfd, channel: Channel::new(near), spawn_mode })
}

/// Whether our child `pid` ended within `patience`. Collects its exit status.
fn wait_dead(pidfd: Option<&OwnedFd>, pid: Pid, patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        match rustix::process::waitpid(Some(pid), WaitOptions::NOHANG) {
            // An error means that the process is not our child any more, so it was reaped.
            Ok(Some(_)) | Err(_) => return true,
            Ok(None) if Instant::now() >= until => return false,
            Ok(None) => {}
        }
        match pidfd {
            Some(pidfd) => {
                let mut polled = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
                let _ = poll(&mut polled, Some(&until_left(until)));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn until_left(until: Instant) -> Timespec {
    let left = until.saturating_duration_since(Instant::now());
    Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() }
}

fn raw_pid(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// Tries whether an init with these mounts can really be started this way.
pub(super) fn can_spawn_init(spawn_mode: SpawnMode, mounts: &PrivateMounts) -> bool {
    let Ok(Init { pid, pidfd, mut channel, .. }) = spawn_init(spawn_mode, mounts, "probe") else {
        return false;
    };
    let hello = matches!(channel.receive(), Ok(Some(Reply::Hello)));
    drop(channel);
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    wait_dead(pidfd.as_ref(), pid, PATIENCE);
    hello
}
