//! Keeps the CPUs of load threads awake while they wait.
//!
//! An idle CPU halts. On a virtual machine the timer that ends a sleep then comes through the host,
//! which has to schedule the virtual CPU first: measured with a request every 3 ms, sleeps ended
//! 130 to 310 µs late at p99, and 57 to 64 µs late where the CPU did not halt. So a thread that does
//! nothing runs there whenever no other thread does. Its scheduling class, `SCHED_IDLE` (sched(7)),
//! gives the CPU to any other thread at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use stampede_linux::mounts::Mounts;

use super::thread::wait_mode;
use crate::engine::epoll::WaitMode;
use crate::sched;
use crate::spec::Load;

/// Keeps CPUs awake until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Awake {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Keeps the CPUs of this load awake if its threads have them to themselves. Does nothing under
    /// a CPU quota, which a busy CPU would use up.
    pub(super) fn for_load(load: &Load) -> Awake {
        let mut awake = Awake::default();
        let may = wait_mode(load) == WaitMode::Spin;
        if may && Mounts::read_with_cpu().groups_with_cpu_quota().is_empty() {
            load.cpus.iter().for_each(|cpu| awake.keep(*cpu));
        }
        awake
    }

    /// A CPU that cannot be kept awake is left alone: sleeps end later there, which the lag of the
    /// requests tells.
    fn keep(&mut self, cpu: usize) {
        let over = Arc::clone(&self.over);
        let idle = move || {
            if sched::become_idle_on(cpu).is_ok() {
                while !over.load(Ordering::Relaxed) {
                    (0..PAUSES).for_each(|_| std::hint::spin_loop());
                }
            }
        };
        self.threads.extend(thread::Builder::new().name("awake".to_owned()).spawn(idle));
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Pauses between two looks at the flag: some microseconds.
const PAUSES: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    /// What `/proc` says of the threads of this process that are called `awake`: class and CPU.
    fn found() -> Vec<(String, String)> {
        let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let stats = threads.filter_map(|one| std::fs::read_to_string(one.path().join("stat")).ok());
        let awake = stats.filter(|stat| stat.contains("(awake)"));
        awake
            .map(|stat| {
                let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split(' ').collect();
                (fields[39].to_owned(), fields[37].to_owned())
            })
            .collect()
    }

    #[test]
    fn a_cpu_is_kept_awake_in_the_idle_class_and_only_until_the_end() {
        let cpu = rustix::thread::sched_getcpu();
        let mut awake = Awake::default();
        awake.keep(cpu);
        let is_there = || found() == [(libc::SCHED_IDLE.to_string(), cpu.to_string())];
        let seen = (0..1_000).any(|_| {
            thread::sleep(std::time::Duration::from_millis(5));
            is_there()
        });
        assert!(seen, "{:?}", found());
        drop(awake);
        assert_eq!(found(), []);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_left_alone() {
        let mut awake = Awake::default();
        awake.keep(rustix::thread::CpuSet::MAX_CPU);
        assert_eq!(awake.threads.len(), 1);
    }
}
