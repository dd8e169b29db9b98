//! The clock of a load thread, and how its waits end on time.
//!
//! A sleeping thread is woken late: by 5 µs on bare metal, by 50 to 70 µs on a virtual machine whose
//! CPU was halted. So a sleep is set to end early, by as much as earlier sleeps ended late. A thread
//! with a CPU of its own spins the rest of the wait. One that shares its CPUs spins for a moment at
//! most.
//!
//! The CPU is not kept from halting by an idle thread: measured beside nginx with TLS, then each
//! answer wakes the load thread by itself. Both sides spent twice the CPU time on a request, so the
//! server looked half as fast.
//!
//! Nothing here depends on how soon answers arrive: the kernel says when they did. So where many are
//! awaited, a wait begins with a nap, from which none of them wakes the thread.

use std::time::Instant;

use rustix::thread::ClockId;
use stampede_model::time::Nanos;

use super::arrival::{WallClockOffset, WallNanos};
use super::{Arrival, Timestamps};

/// How a wait ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMode {
    /// Sleeps. For threads whose CPUs the server may need.
    Sleep,
    /// Wakes early and spins the rest of the wait. Where the kernel does not stamp answers, also
    /// spins while any is awaited. For threads with a CPU of their own.
    Spin,
}

/// The clock of one load thread.
#[derive(Debug)]
pub(super) struct Clock {
    wait_mode: WaitMode,
    epoch: Instant,
    now: Nanos,
    /// When the sockets were last looked at, and when before that.
    looked: Nanos,
    looked_before: Nanos,
    wall: Option<WallClockOffset>,
    /// The reading of the clock at which `wall` was last compared with the kernel's clock.
    wall_compared: Nanos,
    spun: Nanos,
    /// How often another program took this thread's CPU, as of the last query.
    switches: i64,
    /// CPU time of this thread before the load began.
    cpu_before: Nanos,
    wakeup_delay: WakeupDelay,
}

impl Clock {
    pub(super) fn new(wait_mode: WaitMode, epoch: Instant) -> Clock {
        Clock {
            wait_mode,
            epoch,
            now: Nanos(0),
            looked: Nanos(0),
            looked_before: Nanos(0),
            wall: None,
            wall_compared: Nanos(0),
            spun: Nanos(0),
            switches: 0,
            cpu_before: Nanos(0),
            wakeup_delay: WakeupDelay::new(wait_mode),
        }
    }

    /// Sets the zero of the clock and of busy time. To be called on the load thread before the
    /// first request, and again where another load begins on the same connections. What was learned
    /// about sleeps is kept.
    pub(super) fn begin(&mut self, epoch: Instant) {
        (self.epoch, self.wall) = (epoch, None);
        (self.looked, self.looked_before) = (Nanos(0), Nanos(0));
        (self.cpu_before, self.switches, self.spun) = (thread_cpu(), switched_away(), Nanos(0));
        self.refresh();
    }

    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    pub(super) fn refresh(&mut self) -> Nanos {
        self.now = Nanos::from(Instant::now().saturating_duration_since(self.epoch));
        self.now
    }

    /// Notes that the sockets are looked at now.
    pub(super) fn note_look(&mut self) {
        (self.looked_before, self.looked) = (self.looked, self.now);
    }

    /// When bytes arrived that are read now, with the kernel's timestamp if there is one. Without
    /// it they count as arrived now. They cannot have been there when the sockets were looked at
    /// before: that is how wrong this may be. Where the last look became a sleep, they ended it, and
    /// it is wrong by a wake-up.
    pub(super) fn arrival(&mut self, timestamp: Option<WallNanos>) -> Arrival {
        match timestamp.and_then(|timestamp| self.arrival_time(timestamp)) {
            Some(at) => Arrival { at, earliest: at },
            None => {
                let woken_after = self.now.since(self.wakeup_delay.bound);
                let slept = self.looked < woken_after;
                let earliest = if slept { woken_after } else { self.looked_before };
                Arrival { at: self.now, earliest: earliest.min(self.now) }
            }
        }
    }

    /// When bytes with this kernel timestamp arrived; never after `now`. The clock is read again if
    /// they arrived after its last reading. `None` where the kernel's clock was stepped meanwhile.
    fn arrival_time(&mut self, timestamp: WallNanos) -> Option<Nanos> {
        if self.wall.is_none() || self.wall_compared != self.now {
            self.wall =
                Some(WallClockOffset::current(self.wall, (self.now, WallNanos::now()), self.epoch));
            self.wall_compared = self.now;
        }
        let arrival_time = self.wall?.at(timestamp)?;
        if arrival_time > self.now {
            self.refresh();
        }
        Some(arrival_time.min(self.now))
    }

    /// Whether a wait for answers to `in_flight` requests spins: a thread with a CPU of its own does
    /// where nothing but its look says when an answer arrived.
    pub(super) fn spins_for_answers(&self, timestamps: Timestamps, in_flight: u32) -> bool {
        self.wait_mode == WaitMode::Spin && timestamps == Timestamps::Userspace && in_flight > 0
    }

    /// Whether a wait for answers to `in_flight` requests begins with a nap, from which no answer wakes
    /// the thread: where so many are awaited that a server with work to do does not notice when one
    /// is taken later, where the kernel says when each arrived, and where nothing is due meanwhile.
    pub(super) fn naps(&self, timestamps: Timestamps, in_flight: u32, until: Nanos) -> bool {
        let is_due_later = until.since(self.now) > NAP.plus(self.wakeup_delay.bound);
        timestamps == Timestamps::Kernel && in_flight >= NAP_IN_FLIGHT && is_due_later
    }

    /// Until when a wait for `until` should sleep; `None`: it should not sleep, but spin the rest.
    pub(super) fn sleep_end(&self, until: Nanos) -> Option<Nanos> {
        let left = until.since(self.now);
        let end = until.since(self.wakeup_delay.bound);
        match self.wait_mode {
            _ if end > self.now => Some(end),
            WaitMode::Spin => None,
            // Too short to be woken in time. The server may need the CPU more.
            WaitMode::Sleep => (left > SHARED_SPIN_MAX).then_some(until),
        }
    }

    /// Notes that a sleep until `asked` has ended now, and only because its time was over.
    pub(super) fn learn_sleep(&mut self, asked: Nanos) {
        self.wakeup_delay.learn(self.now.since(asked));
    }

    /// Counts one turn of a spin, from `from` until now.
    pub(super) fn count_spin(&mut self, from: Nanos) {
        self.count_spin_turn(self.now.since(from), switched_away);
    }

    /// Counts a turn, unless it was long and another program had the CPU. This thread's CPU time
    /// does not contain that program's time. (It does contain time that the host takes: that counts
    /// as spun.)
    fn count_spin_turn(&mut self, turn: Nanos, switches: impl FnOnce() -> i64) {
        if turn > TURN_MAX {
            let before = std::mem::replace(&mut self.switches, switches());
            if before < self.switches {
                return;
            }
        }
        self.spun = self.spun.plus(turn);
    }

    /// CPU time of this thread since the load began, without what was spun.
    pub(super) fn busy(&self) -> Nanos {
        thread_cpu().since(self.cpu_before).since(self.spun)
    }
}

/// How late sleeps end: a bound that a fixed share of sleeps keep. It moves in steps of fixed size,
/// up after a later sleep and down after any other (Robbins and Monro, *A Stochastic Approximation
/// Method*, 1951). So it needs no memory, and one sleep that a busy host delays by ms moves it no
/// further than any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WakeupDelay {
    bound: Nanos,
    step_up: Nanos,
    step_down: Nanos,
}

impl WakeupDelay {
    /// With a CPU of its own a thread is awake in time after 199 of 200 sleeps, and spins the rest:
    /// then p99 is not that of its sleeps. Otherwise it is woken too early as often as too late, and
    /// hardly spins.
    fn new(wait_mode: WaitMode) -> WakeupDelay {
        let (step_up, step_down) = match wait_mode {
            WaitMode::Spin => (Nanos(199 * STEP.0), STEP),
            WaitMode::Sleep => (Nanos(25 * STEP.0), Nanos(25 * STEP.0)),
        };
        WakeupDelay { bound: DELAY_FIRST, step_up, step_down }
    }

    fn learn(&mut self, late: Nanos) {
        let learned = match late > self.bound {
            true => self.bound.plus(self.step_up),
            false => self.bound.since(self.step_down),
        };
        self.bound = learned.clamp(DELAY_MIN, DELAY_MAX);
    }
}

fn thread_cpu() -> Nanos {
    let cpu = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    Nanos(cpu.tv_sec as u64 * Nanos::SECOND.0 + cpu.tv_nsec as u64)
}

/// How often this thread lost its CPU to another one involuntarily.
fn switched_away() -> i64 {
    // SAFETY: the struct consists of plain numbers, for which all zeroes are a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes to `usage`, which outlives it.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_nivcsw
}

/// Length of a nap. Waking a thread for each answer costs the server 2 to 4 µs of CPU time. Where an answer
/// takes 14, the server looked slower than beside a generator that is too busy to sleep. A nap of 15 µs
/// lowered the throughput of a server that waits for 1 ms.
pub(super) const NAP: Nanos = Nanos(10_000);
/// Fewest awaited answers for a nap. One that is taken later then leaves a busy server 7 others. A server
/// that waits for something else answers some µs later, by less than 1 % where it takes 1 ms.
const NAP_IN_FLIGHT: u32 = 8;
/// The smallest step of what is learned about sleeps.
const STEP: Nanos = Nanos(20);
/// Longest turn that is certainly a spin: a look at the clock or into the kernel takes at most 2
/// µs.
const TURN_MAX: Nanos = Nanos(20_000);
/// Initial estimate of the delay of a wake-up, typical for a virtual machine.
const DELAY_FIRST: Nanos = Nanos(60_000);
/// Shortest estimate. Reading the clock and calling the kernel take 1 µs, so less cannot be hit.
const DELAY_MIN: Nanos = Nanos(5_000);
/// Longest estimate, and so the longest spin before a due time. At 1 000 requests/s it takes 12 %
/// of a CPU, and punctuality is worth no more.
const DELAY_MAX: Nanos = Nanos(120_000);
/// Longest spin on CPUs that the server may use: at 1 000 requests/s at most 1 % of one.
const SHARED_SPIN_MAX: Nanos = Nanos(10_000);

#[cfg(test)]
mod tests;
