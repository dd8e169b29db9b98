//! Observes what the workers of a stack do, several times a second.
//!
//! A worker without work waits in a known system call: PHP-FPM's in `accept`, RoadRunner's in
//! `read`. A worker in any other place serves a request. `runtime.yaml` lists the calls, and the
//! kernel shows the call of each process (`/proc/<pid>/syscall`, proc(5)).

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Deserialize;
use stampede_linux::proc::{SystemCall, numbers_in};
use stampede_model::sample::WorkersSample;

use super::source::{NotShown, OpenFile, ReadBuffer, Sources};

/// How to recognise the workers among the processes of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerPattern {
    /// Role of the workers.
    pub role: String,
    /// Name of the workers' program, as the kernel shows it; `None`: all processes of the role.
    pub program: Option<String>,
    /// Name pattern of the threads that are workers (`php-*`); `None`: processes are workers.
    pub threads: Option<String>,
    /// Calls in which a worker without work waits, and in which its master always waits.
    pub idle_in: Vec<IdleIn>,
}

/// A family of system calls that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdleIn {
    /// Waits for a connection.
    Accept,
    /// Waits for events.
    Epoll,
    /// Waits for events, in older programs.
    Poll,
    /// Waits for events, in older programs.
    Select,
    /// Waits for another thread.
    Futex,
    /// Waits for a pipe.
    Read,
    /// Waits for a child, as a master does.
    Wait,
}

impl IdleIn {
    fn holds(self, call: libc::c_long) -> bool {
        let calls: &[libc::c_long] = match self {
            IdleIn::Accept => &[libc::SYS_accept, libc::SYS_accept4],
            IdleIn::Epoll => &[EPOLL_WAIT, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2],
            IdleIn::Poll => &[POLL, libc::SYS_ppoll],
            IdleIn::Select => &[SELECT, libc::SYS_pselect6],
            IdleIn::Futex => &[libc::SYS_futex],
            IdleIn::Read => &[libc::SYS_read],
            IdleIn::Wait => &[libc::SYS_wait4, libc::SYS_waitid, libc::SYS_rt_sigsuspend],
        };
        calls.contains(&call)
    }
}

// Newer architectures have only the newer calls. No call has this number.
#[cfg(not(target_arch = "x86_64"))]
const NO_CALL: libc::c_long = -2;
#[cfg(target_arch = "x86_64")]
const EPOLL_WAIT: libc::c_long = libc::SYS_epoll_wait;
#[cfg(not(target_arch = "x86_64"))]
const EPOLL_WAIT: libc::c_long = NO_CALL;
#[cfg(target_arch = "x86_64")]
const POLL: libc::c_long = libc::SYS_poll;
#[cfg(not(target_arch = "x86_64"))]
const POLL: libc::c_long = NO_CALL;
#[cfg(target_arch = "x86_64")]
const SELECT: libc::c_long = libc::SYS_select;
#[cfg(not(target_arch = "x86_64"))]
const SELECT: libc::c_long = NO_CALL;

/// Looks at the workers repeatedly.
#[derive(Debug)]
pub struct WorkerSampler {
    /// How to recognise the workers.
    pub workers: WorkerPattern,
    /// The `syscall` file of each observed worker, kept open.
    syscall_files: Vec<OpenFile>,
    /// Number of all workers. At most [`LOOKED_AT`] of them are observed.
    all: usize,
    sample: WorkersSample,
}

impl WorkerSampler {
    /// A looker that has not found any workers yet.
    pub fn new(workers: WorkerPattern) -> WorkerSampler {
        WorkerSampler {
            workers,
            syscall_files: Vec::new(),
            all: 0,
            sample: WorkersSample::default(),
        }
    }

    /// Finds the workers among the current processes `pids` of their role.
    pub fn find_workers(&mut self, sources: &Sources, pids: &BTreeSet<u32>, text: &mut ReadBuffer) {
        let named = |path: PathBuf, text: &mut ReadBuffer| {
            text.of(&path).map(|name| name.trim_end().to_owned()).unwrap_or_default()
        };
        let mut syscall_files = Vec::new();
        for pid in pids {
            let is_theirs = self.workers.program.as_ref().is_none_or(|program| {
                named(sources.of_process(*pid, "comm"), text).as_bytes()
                    == &program.as_bytes()[..program.len().min(NAME_BYTES)]
            });
            let task = sources.of_process(*pid, "task");
            match (&self.workers.threads, is_theirs) {
                (_, false) => {}
                (None, true) => syscall_files.push(sources.of_process(*pid, "syscall")),
                (Some(pattern), true) => {
                    let threads = numbers_in(&task).map(|thread| task.join(thread.to_string()));
                    let fit = threads
                        .filter(|own| matches_pattern(&named(own.join("comm"), text), pattern));
                    syscall_files.extend(fit.map(|own| own.join("syscall")));
                }
            }
        }
        self.all = syscall_files.len();
        self.syscall_files.clear();
        for path in syscall_files.iter().take(LOOKED_AT) {
            match OpenFile::open(path).map_err(NotShown::because) {
                Ok(file) => self.syscall_files.push(file),
                Err(NotShown::Ended) => {}
                Err(NotShown::Refused) => return self.syscall_files.clear(),
            }
        }
    }

    /// Looks once. Records nothing if the kernel shows no worker, or not all of them.
    pub fn observe(&mut self, text: &mut ReadBuffer) {
        let (mut seen, mut busy, mut running) = (0, 0, 0);
        for file in &self.syscall_files {
            let shown = match text.shown_again(file) {
                Ok(shown) => shown,
                Err(NotShown::Ended) => continue,
                Err(NotShown::Refused) => return,
            };
            let Some(at) = SystemCall::parse(shown) else { continue };
            let is_idle = |call| self.workers.idle_in.iter().any(|idle| idle.holds(call));
            seen += 1;
            match at {
                SystemCall::Running => (busy, running) = (busy + 1, running + 1),
                SystemCall::In(call) if is_idle(call) => {}
                SystemCall::In(_) => busy += 1,
            }
        }
        if seen > 0 {
            let of_all = |count: usize| u32::try_from(count * self.all / seen).unwrap_or(u32::MAX);
            self.sample.busy.push(of_all(busy));
            self.sample.running.push(of_all(running));
        }
    }

    /// Returns what was seen since the last call; `None`: nothing.
    pub fn take(&mut self) -> Option<WorkersSample> {
        let sample = std::mem::take(&mut self.sample);
        (!sample.busy.is_empty()).then_some(sample)
    }
}

/// Whether a thread's name fits a pattern. `*` stands for digits.
pub fn matches_pattern(name: &str, pattern: &str) -> bool {
    let (before, after) = pattern.split_once('*').unwrap_or((pattern, ""));
    let middle = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    middle.is_some_and(|middle| {
        middle.is_empty() != pattern.contains('*')
            && middle.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Length to which the kernel cuts a process's name.
const NAME_BYTES: usize = 15;
/// Workers that are observed. Each costs some 2 µs per look, five times a second.
const LOOKED_AT: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    fn sampler(
        program: Option<&str>,
        threads: Option<&str>,
        idle_in: Vec<IdleIn>,
    ) -> WorkerSampler {
        let role = "php".to_owned();
        let (program, threads) = (program.map(str::to_owned), threads.map(str::to_owned));
        WorkerSampler::new(WorkerPattern { role, program, threads, idle_in })
    }

    fn observe(
        fake: &FakeProc,
        sampler: &mut WorkerSampler,
        pids: &[u32],
    ) -> Option<WorkersSample> {
        let mut text = ReadBuffer::default();
        sampler.find_workers(&fake.sources(), &pids.iter().copied().collect(), &mut text);
        sampler.observe(&mut text);
        sampler.take()
    }

    fn sample(busy: u32, running: u32) -> Option<WorkersSample> {
        Some(WorkersSample { busy: vec![busy], running: vec![running] })
    }

    #[test]
    fn a_worker_is_busy_wherever_it_does_not_wait_for_work() {
        let fake = FakeProc::new();
        let call = |pid: u32, call: libc::c_long| {
            fake.put(&format!("{pid}/syscall"), &format!("{call} 0xb 0x0 0x7f01\n"));
        };
        call(10, libc::SYS_epoll_pwait); // the master
        call(11, libc::SYS_accept);
        call(12, libc::SYS_clock_nanosleep);
        fake.put("13/syscall", "running\n");
        fake.put("14/syscall", "-1 0x7ffd 0x7f01\n");
        let mut sampler = sampler(None, None, vec![IdleIn::Accept, IdleIn::Epoll]);
        assert_eq!(observe(&fake, &mut sampler, &[10, 11, 12, 13, 14]), sample(3, 1));
        call(12, libc::SYS_accept4);
        assert_eq!(observe(&fake, &mut sampler, &[11, 12]), sample(0, 0));
        assert_eq!(sampler.take(), None, "each look is given once");
    }

    #[test]
    fn workers_are_recognised_by_their_program_or_by_thread_names() {
        let fake = FakeProc::new();
        for (pid, name) in [(10, "rr"), (11, "a-name-of-more-"), (12, "a-name-of-more-")] {
            fake.put(&format!("{pid}/comm"), &format!("{name}\n"));
            fake.put(&format!("{pid}/syscall"), "running\n");
        }
        let mut by_program = sampler(Some("a-name-of-more-than-15"), None, vec![]);
        assert_eq!(observe(&fake, &mut by_program, &[10, 11, 12]), sample(2, 2));
        for (thread, name) in [(20, "frankenphp"), (21, "php-0"), (22, "php-1"), (23, "php-main")] {
            fake.put(&format!("20/task/{thread}/comm"), &format!("{name}\n"));
            fake.put(&format!("20/task/{thread}/syscall"), "running\n");
        }
        let mut by_thread = sampler(None, Some("php-*"), vec![]);
        assert_eq!(observe(&fake, &mut by_thread, &[20]), sample(2, 2));
    }

    #[test]
    fn a_sample_of_many_workers_is_scaled_to_all_of_them() {
        let fake = FakeProc::new();
        let pids: Vec<u32> = (1..=128).collect();
        pids.iter().for_each(|pid| drop(fake.put(&format!("{pid}/syscall"), "running\n")));
        assert_eq!(observe(&fake, &mut sampler(None, None, vec![]), &pids), sample(128, 128));
    }

    #[test]
    fn a_worker_whose_state_cannot_be_read_gives_no_sample() {
        let fake = FakeProc::new();
        assert_eq!(observe(&fake, &mut sampler(None, None, vec![]), &[10]), None);
        // The master of another user's workers is no sample of them.
        fake.put("10/syscall", "7 0x1 0x0\n");
        fake.put("11/syscall/x", "");
        assert_eq!(observe(&fake, &mut sampler(None, None, vec![]), &[10, 11]), None);
    }
}
