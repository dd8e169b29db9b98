//! A load thread's clock, and how its waits end on time.
//!
//! A sleeping thread is woken late: 5 µs on bare metal, 50 to 70 µs on a virtual machine, for
//! its CPU was halted and the timer interrupt takes a way through the host. So a sleep is made
//! to end early by as much as sleeps were late so far, and the rest is spun.

use std::time::Instant;

use rustix::thread::ClockId;

use crate::time::Nanos;

/// How punctually a wait ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Sleeps until the kernel wakes it: some 5 to 70 µs late.
    Sleep,
    /// Wakes early and spins the rest: for threads with a CPU of their own.
    Spin,
}

/// The clock of one load thread.
#[derive(Debug)]
pub(super) struct Clock {
    epoch: Instant,
    now: Nanos,
    spun: Nanos,
    /// CPU time of this thread before the load began.
    cpu_before: Nanos,
    overshoot: Option<Overshoot>,
    /// Until when the last send's answer is waited for without sleeping.
    lingers: Nanos,
}

impl Clock {
    pub(super) fn new(waiting: Waiting, epoch: Instant) -> Clock {
        let overshoot = match waiting {
            Waiting::Sleep => None,
            Waiting::Spin => Some(Overshoot::default()),
        };
        Clock {
            epoch,
            now: Nanos(0),
            spun: Nanos(0),
            cpu_before: Nanos(0),
            overshoot,
            lingers: Nanos(0),
        }
    }

    /// Sets its zero, and that of busy time; on the load thread, before the first shot.
    pub(super) fn begin(&mut self, epoch: Instant) {
        self.epoch = epoch;
        self.cpu_before = thread_cpu();
    }

    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    pub(super) fn refresh(&mut self) -> Nanos {
        self.now = Nanos::from(Instant::now().saturating_duration_since(self.epoch));
        self.now
    }

    /// A request goes out about now.
    pub(super) fn sends(&mut self) {
        if self.overshoot.is_some() {
            self.lingers = self.now.plus(LINGER);
        }
    }

    /// Until when to spin before a wait for `until` sleeps: a fast server's answer is stamped
    /// when it comes, not when we were woken for it, and neither side pays for the waking.
    pub(super) fn lingers_until(&self, until: Nanos) -> Nanos {
        self.lingers.min(until)
    }

    /// Until when a wait for `until` should sleep; `None`: not at all, what is left is spun.
    pub(super) fn sleeps_until(&self, until: Nanos) -> Option<Nanos> {
        let early = self.overshoot.map_or(Nanos(0), |overshoot| overshoot.0);
        Some(until.since(early)).filter(|end| *end > self.now)
    }

    /// A sleep until `asked` was ended now, and by nothing but time.
    pub(super) fn slept_until(&mut self, asked: Nanos) {
        if let Some(overshoot) = &mut self.overshoot {
            overshoot.learn(self.now.since(asked));
        }
    }

    /// Time since `from` was spun, not worked.
    pub(super) fn spun_since(&mut self, from: Nanos) {
        self.spun = self.spun.plus(self.now.since(from));
    }

    /// CPU time of this thread since the load began, without what was spun.
    pub(super) fn busy(&self) -> Nanos {
        thread_cpu().since(self.cpu_before).since(self.spun)
    }
}

/// How late sleeps end: the time that 19 of 20 keep. Found by steps of fixed size, up for a
/// sleep that ended later, down for another (Robbins and Monro, *A Stochastic Approximation
/// Method*, 1951): no memory, and one sleep that a busy host made ms late moves it no further
/// than any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Overshoot(Nanos);

impl Overshoot {
    fn learn(&mut self, late: Nanos) {
        let learned = if late > self.0 { self.0.plus(STEP_UP) } else { self.0.since(STEP_DOWN) };
        self.0 = learned.clamp(SPIN_MIN, SPIN_MAX);
    }
}

impl Default for Overshoot {
    fn default() -> Overshoot {
        Overshoot(SPIN_FIRST)
    }
}

fn thread_cpu() -> Nanos {
    let cpu = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    Nanos(cpu.tv_sec as u64 * Nanos::SECOND.0 + cpu.tv_nsec as u64)
}

/// Nineteen steps down for one up: 95 %.
const STEP_DOWN: Nanos = Nanos(100);
const STEP_UP: Nanos = Nanos(19 * STEP_DOWN.0);
/// What is spun before anything is learned: a virtual machine's, as a rule.
const SPIN_FIRST: Nanos = Nanos(60_000);
/// For how long after a send its answer is waited for without sleeping. On a virtual machine a
/// sleep and its end take about as much of both CPUs: waiting awake is the cheaper way up to
/// there, and never costs more than twice what the other would have.
const LINGER: Nanos = Nanos(20_000);
/// Reading the clock and asking the kernel take a µs: less than this cannot be hit.
const SPIN_MIN: Nanos = Nanos(5_000);
/// At 1 000 shots/s 12 % of a CPU, which is as much as punctuality is worth.
const SPIN_MAX: Nanos = Nanos(120_000);

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(lates: impl IntoIterator<Item = u64>) -> u64 {
        let mut overshoot = Overshoot::default();
        lates.into_iter().for_each(|late| overshoot.learn(Nanos(late)));
        overshoot.0.0
    }

    #[test]
    fn nineteen_of_twenty_sleeps_end_in_time() {
        // Late by 1 … 100 µs in an order that repeats after 100: 95 of them are at most 95 µs.
        let lates = (0..20_000).map(|sleep| (sleep * 37 % 100 + 1) * 1_000);
        let learned = learned(lates);
        assert!((93_000..=97_000).contains(&learned), "{learned}");
    }

    #[test]
    fn one_sleep_however_late_moves_it_by_one_step() {
        assert_eq!(learned([10_000_000]), SPIN_FIRST.0 + STEP_UP.0);
    }

    #[test]
    fn it_stays_inside_its_bounds() {
        assert_eq!(learned([0; 1_000]), SPIN_MIN.0);
        assert_eq!(learned([u64::MAX; 1_000]), SPIN_MAX.0);
    }

    #[test]
    fn a_thread_without_a_cpu_of_its_own_does_not_spin() {
        let sleeps = |waiting, until| Clock::new(waiting, Instant::now()).sleeps_until(until);
        assert_eq!(sleeps(Waiting::Sleep, Nanos(1)), Some(Nanos(1)));
        assert_eq!(sleeps(Waiting::Spin, Nanos(1)), None);
        let early = Some(Nanos::SECOND.since(SPIN_FIRST));
        assert_eq!(sleeps(Waiting::Spin, Nanos::SECOND), early);
    }
}
