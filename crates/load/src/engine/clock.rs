//! The clock of a load thread, and how its waits end on time.
//!
//! A sleeping thread is woken late: by 5 µs on bare metal, by 50 to 70 µs on a virtual machine.
//! There its CPU was halted, and the timer interrupt comes through the host. So a sleep is set to
//! end early, by as much as earlier sleeps ended late, and the rest of the wait is spun.

use std::time::{Duration, Instant};

use rustix::thread::ClockId;
use serde::{Deserialize, Serialize};
use stampede_model::time::Nanos;

use super::AwaitedAnswers;
use super::arrival::{WallClockOffset, WallNanos};

/// How exactly a wait ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitMode {
    /// Sleeps until the kernel wakes the thread: some 5 to 70 µs late.
    Sleep,
    /// Wakes early and spins the rest. For threads whose CPU the server may need too, although the
    /// server has another one.
    Spin,
    /// Like `Spin`, and also busy-waits for answers that take some ms. For threads with a CPU of
    /// their own.
    BusyWait,
}

/// The clock of one load thread.
#[derive(Debug)]
pub(super) struct Clock {
    epoch: Instant,
    now: Nanos,
    wall: Option<WallClockOffset>,
    spun: Nanos,
    /// How often another program took this thread's CPU, as of the last query.
    switches: i64,
    /// CPU time of this thread before the load began.
    cpu_before: Nanos,
    wakeup_delay: Option<WakeupDelay>,
    response_estimator: ResponseEstimator,
    arrival_rate: ArrivalRate,
    naps: Naps,
}

/// Short sleeps during which answers to a crowd of requests were left to accumulate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Naps {
    /// Number of naps.
    pub count: u64,
    /// Total length of the naps.
    #[serde(rename = "lasted_ns")]
    pub lasted: Nanos,
}

impl Clock {
    pub(super) fn new(wait_mode: WaitMode, epoch: Instant) -> Clock {
        let wakeup_delay = match wait_mode {
            WaitMode::Sleep => None,
            WaitMode::Spin | WaitMode::BusyWait => Some(WakeupDelay::default()),
        };
        let limits = if wait_mode == WaitMode::BusyWait { LONG } else { SHORT };
        Clock {
            epoch,
            now: Nanos(0),
            wall: None,
            spun: Nanos(0),
            switches: 0,
            cpu_before: Nanos(0),
            wakeup_delay,
            response_estimator: ResponseEstimator::new(limits),
            arrival_rate: ArrivalRate::default(),
            naps: Naps::default(),
        }
    }

    /// Sets the zero of the clock and of busy time. To be called on the load thread before the
    /// first request.
    pub(super) fn begin(&mut self, epoch: Instant) {
        (self.epoch, self.wall) = (epoch, None);
        (self.cpu_before, self.switches) = (thread_cpu(), switched_away());
    }

    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    pub(super) fn refresh(&mut self) -> Nanos {
        self.now = Nanos::from(Instant::now().saturating_duration_since(self.epoch));
        self.now
    }

    /// Notes that a request is sent about now.
    pub(super) fn note_send(&mut self) {
        self.arrival_rate.sends += 1;
        self.response_estimator.note_send(self.now);
    }

    /// Notes that bytes arrived about now, usually an answer.
    pub(super) fn note_receive(&mut self) {
        self.response_estimator.note_receive(self.now);
    }

    /// When bytes with this kernel timestamp arrived; never after `now`. The clock is read again if
    /// they arrived after its last reading. Without a timestamp they arrived now.
    pub(super) fn arrival_time(&mut self, timestamp: Option<WallNanos>) -> Nanos {
        let Some(timestamp) = timestamp else { return self.now };
        let wall = *self.wall.insert(WallClockOffset::current(self.wall, self.now, self.epoch));
        let Some(arrival_time) = wall.at(timestamp) else { return self.now };
        if arrival_time > self.now {
            self.refresh();
        }
        arrival_time.min(self.now)
    }

    /// Until when a wait for `until` spins before it sleeps. So the answer of a fast server is seen
    /// when it arrives, not when we are woken, and neither side pays for a wake-up. The answers of
    /// a crowd follow each other anyway, so for them only a share of the time is spun.
    pub(super) fn busy_wait_until(&self, until: Nanos, awaited: AwaitedAnswers) -> Nanos {
        let is_crowd = awaited.crowd() >= CROWD;
        let is_over = is_crowd && self.spun.0 > self.now.0 / SPUN_PART;
        if self.wakeup_delay.is_none() || is_over {
            return self.now;
        }
        let any = awaited.requests() > 0 && !is_crowd;
        let busy_wait_end = self.response_estimator.sent.plus(SPIN_AFTER_SEND);
        let busy_wait_end = if any {
            busy_wait_end.max(self.response_estimator.busy_wait_until())
        } else {
            busy_wait_end
        };
        busy_wait_end.min(until)
    }

    /// Sleeps briefly when answers arrive so fast that several will be there afterwards, with more
    /// still to come. This costs less CPU time than one wake-up per answer or spinning, and the
    /// server need not wake us. Returns whether it slept.
    pub(super) fn try_nap(&mut self, until: Nanos, crowd: u32) -> bool {
        let there = self.now.plus(NAP_MAX) <= until;
        let Some(length) = self.arrival_rate.nap_length(self.now, crowd).filter(|_| there) else {
            return false;
        };
        std::thread::sleep(Duration::from_nanos(length.0));
        let before = self.now;
        self.refresh();
        let lasted = self.now.since(before);
        self.arrival_rate.learn_nap_delay(length, lasted);
        self.count_nap(lasted);
        true
    }

    /// For how many answers of a `crowd` to wait in one call: as many as arrive in the longest nap.
    /// `None`: wait for each one separately.
    pub(super) fn batch_to_await(&mut self, crowd: u32) -> Option<u32> {
        self.arrival_rate.batch_to_await(self.now, crowd)
    }

    /// Counts a wait for several answers, from the last reading of the clock until now.
    pub(super) fn count_batch_wait(&mut self) {
        let before = self.now;
        self.refresh();
        self.count_nap(self.now.since(before));
    }

    pub(super) fn naps(&self) -> Naps {
        self.naps
    }

    fn count_nap(&mut self, lasted: Nanos) {
        self.naps = Naps { count: self.naps.count + 1, lasted: self.naps.lasted.plus(lasted) };
    }

    /// Until when a wait for `until` should sleep; `None`: it should not sleep, but spin the rest.
    pub(super) fn sleep_end(&self, until: Nanos) -> Option<Nanos> {
        let early = self.wakeup_delay.map_or(Nanos(0), |wakeup_delay| wakeup_delay.0);
        Some(until.since(early)).filter(|end| *end > self.now)
    }

    /// Notes that a sleep until `asked` has ended now, and only because its time was over.
    pub(super) fn learn_sleep(&mut self, asked: Nanos) {
        if let Some(wakeup_delay) = &mut self.wakeup_delay {
            wakeup_delay.learn(self.now.since(asked));
        }
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

/// Estimates how soon answers arrive. After a wake-up we would see an answer some 35 µs late on a
/// virtual machine. That is a third of an answer of 100 µs, and still a hundredth of one of 3.5 ms.
#[derive(Clone, Copy, Debug)]
struct ResponseEstimator {
    limits: BusyWaitLimits,
    /// When the last request was sent.
    sent: Nanos,
    /// Since when we wait for something: since the last receive, or since a send when nothing was
    /// awaited.
    since: Nanos,
    /// Whether nothing was received since the last send.
    is_awaited: bool,
    /// Time from `since` to the next receive, smoothed.
    after: Nanos,
}

/// Which answers a thread busy-waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BusyWaitLimits {
    /// Longest average time of answers that are waited for by spinning, whatever it costs.
    average: Nanos,
    /// Longest spin for one slow answer among them: the server may be waiting for our CPU.
    most: Nanos,
}

impl ResponseEstimator {
    fn new(limits: BusyWaitLimits) -> ResponseEstimator {
        let (sent, since, after) = (Nanos(0), Nanos(0), Nanos(0));
        ResponseEstimator { limits, sent, since, is_awaited: false, after }
    }

    fn note_send(&mut self, now: Nanos) {
        if self.is_awaited {
            // The answer takes at least this long.
            self.learn(now);
        } else {
            (self.since, self.is_awaited) = (now, true);
        }
        self.sent = now;
    }

    /// A receive at the same reading of the clock as a send was there before the send.
    fn note_receive(&mut self, now: Nanos) {
        if self.is_awaited && now > self.sent {
            self.is_awaited = false;
            self.learn(now);
        }
        self.since = now;
    }

    fn learn(&mut self, now: Nanos) {
        self.after = smoothed(self.after, now.since(self.since).min(self.limits.most));
    }

    /// Until when to busy-wait for the answers in flight. It counts from the first one awaited, so
    /// that a server that stands still is not waited for again with each send.
    fn busy_wait_until(&self) -> Nanos {
        let BusyWaitLimits { average, most } = self.limits;
        if self.after <= average { self.since.plus(most) } else { self.since }
    }
}

/// Estimates the time between two answers from the sends: the closed model has one answer per send.
#[derive(Clone, Copy, Debug)]
struct ArrivalRate {
    sends: u32,
    /// When the sends were last counted.
    since: Nanos,
    /// Time from one answer to the next, smoothed.
    gap: Nanos,
    /// How much longer than requested a nap lasts, smoothed.
    late: Nanos,
}

impl ArrivalRate {
    fn update_gap(&mut self, now: Nanos) {
        if self.sends > 0 {
            let gap = now.since(self.since).0 / u64::from(self.sends);
            self.gap = smoothed(self.gap, Nanos(gap));
            (self.sends, self.since) = (0, now);
        }
    }

    /// For how many answers to wait now; `None`: not for more than one. As many as arrive in the
    /// longest nap, but at most half of those in flight, so that the server always has work.
    fn batch_to_await(&mut self, now: Nanos, crowd: u32) -> Option<u32> {
        self.update_gap(now);
        let come = NAP_MAX.0 / self.gap.0.max(1);
        let answers = come.min(GATHER_MAX).min(u64::from(crowd / 2)) as u32;
        Some(answers).filter(|answers| come >= NAP_GAPS && *answers > 1)
    }

    /// How long to nap now; `None`: not at all.
    fn nap_length(&mut self, now: Nanos, crowd: u32) -> Option<Nanos> {
        self.update_gap(now);
        let lasts = Nanos(self.gap.0 * NAP_GAPS).max(self.late.plus(NAP_MIN));
        // The server works on what is in flight meanwhile. It must have work for twice the nap.
        let work = Nanos(self.gap.0 * u64::from(crowd) / 2);
        if lasts <= NAP_MAX && lasts <= work {
            return Some(lasts.since(self.late));
        }
        // A few bad moments must not forbid naps forever, so what was learned from them fades.
        self.late = Nanos(self.late.0 - self.late.0 / 1024);
        None
    }

    /// One moment in which the host was busy says little: it counts as at most twice the usual.
    fn learn_nap_delay(&mut self, asked: Nanos, lasted: Nanos) {
        let late = lasted.since(asked).min(Nanos(self.late.0 * 2 + 1));
        self.late = smoothed(self.late, late);
    }
}

impl Default for ArrivalRate {
    fn default() -> ArrivalRate {
        ArrivalRate { sends: 0, since: Nanos(0), gap: NAP_MAX, late: SPIN_FIRST }
    }
}

/// Exponentially weighted moving average: a sixteenth of the way to the new value.
fn smoothed(so_far: Nanos, new: Nanos) -> Nanos {
    Nanos((so_far.0 * 15 + new.0) / 16)
}

/// How late sleeps end: the bound that 19 of 20 sleeps keep. It moves in steps of fixed size, up
/// after a later sleep and down after any other (Robbins and Monro, *A Stochastic Approximation
/// Method*, 1951). So it needs no memory, and one sleep that a busy host delays by ms moves it no
/// further than any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WakeupDelay(Nanos);

impl WakeupDelay {
    fn learn(&mut self, late: Nanos) {
        let learned = if late > self.0 { self.0.plus(STEP_UP) } else { self.0.since(STEP_DOWN) };
        self.0 = learned.clamp(SPIN_MIN, SPIN_MAX);
    }
}

impl Default for WakeupDelay {
    fn default() -> WakeupDelay {
        WakeupDelay(SPIN_FIRST)
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

/// Nineteen steps down for one step up: 95 %.
const STEP_DOWN: Nanos = Nanos(100);
const STEP_UP: Nanos = Nanos(19 * STEP_DOWN.0);
/// Longest turn that is certainly a spin: a look at the clock or into the kernel takes at most 2
/// µs.
const TURN_MAX: Nanos = Nanos(20_000);
/// Initial estimate of the delay of a wake-up, typical for a virtual machine.
const SPIN_FIRST: Nanos = Nanos(60_000);
/// How long to spin after a send. On a virtual machine, a sleep and a wake-up cost both CPUs about
/// as much. Up to there spinning is cheaper, and it never costs more than twice the alternative.
const SPIN_AFTER_SEND: Nanos = Nanos(20_000);
/// A wake-up of 35 µs is less than 1 % of any answer that takes longer than `average`.
const LONG: BusyWaitLimits = BusyWaitLimits { average: Nanos(4_000_000), most: Nanos(10_000_000) };
/// Here it is less than a tenth: more is not worth it where others need the CPU.
const SHORT: BusyWaitLimits = BusyWaitLimits { average: Nanos(400_000), most: Nanos(1_000_000) };
/// From this many requests in flight on, neither we nor the server wait for a single one.
pub(super) const CROWD: u32 = 8;
/// Share of the time that may be spun for a crowd: one tenth.
const SPUN_PART: u64 = 10;
/// A nap lasts as long as six answers take: a sleep/wake pair costs about as much CPU time as two
/// or three answers.
const NAP_GAPS: u64 = 6;
/// Shortest time by which a nap must exceed its delay.
const NAP_MIN: Nanos = Nanos(5_000);
/// Answers that arrive during a nap are seen at its end. At this length they are seen 50 µs late on
/// average.
const NAP_MAX: Nanos = Nanos(100_000);
/// Most answers to wait for in one call. More save nothing.
const GATHER_MAX: u64 = 16;
/// Shortest spin. Reading the clock and calling the kernel take 1 µs, so less cannot be hit.
const SPIN_MIN: Nanos = Nanos(5_000);
/// Longest spin. At 1 000 requests/s it takes 12 % of a CPU, and punctuality is worth no more.
const SPIN_MAX: Nanos = Nanos(120_000);

#[cfg(test)]
mod tests;
