//! The clock of a load thread, and how its waits end on time.
//!
//! A sleeping thread is woken late: by 5 µs on bare metal, by 50 to 70 µs on a virtual machine.
//! There its CPU was halted, and the timer interrupt comes through the host. So a sleep is set to
//! end early, by as much as earlier sleeps ended late, and the rest of the wait is spun.

use std::time::{Duration, Instant};

use rustix::thread::ClockId;

use super::AwaitedAnswers;
use super::arrival::{WallClockOffset, WallNanos};
use crate::time::Nanos;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Naps {
    /// Number of naps.
    pub count: u64,
    /// Total length of the naps.
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
mod tests {
    use super::*;

    fn learned(lates: impl IntoIterator<Item = u64>) -> u64 {
        let mut wakeup_delay = WakeupDelay::default();
        lates.into_iter().for_each(|late| wakeup_delay.learn(Nanos(late)));
        wakeup_delay.0.0
    }

    #[test]
    fn nineteen_of_twenty_sleeps_end_in_time() {
        // Late by 1 … 100 µs in an order that repeats after 100: 95 of them are at most 95 µs.
        let lates = (0..20_000).map(|sleep| (sleep * 37 % 100 + 1) * 1_000);
        let learned = learned(lates);
        assert!((93_000..=97_000).contains(&learned), "{learned}");
    }

    #[test]
    fn one_late_sleep_moves_the_estimate_by_one_step() {
        assert_eq!(learned([10_000_000]), SPIN_FIRST.0 + STEP_UP.0);
    }

    #[test]
    fn the_estimate_stays_within_its_bounds() {
        assert_eq!(learned([0; 1_000]), SPIN_MIN.0);
        assert_eq!(learned([u64::MAX; 1_000]), SPIN_MAX.0);
    }

    /// The estimate for a load that sends `sends` requests every `every` ns, many times over.
    fn beating(sends: u32, every: u64) -> ArrivalRate {
        let mut arrival_rate = ArrivalRate::default();
        for turn in 1..=1_000 {
            arrival_rate.sends = sends;
            arrival_rate.nap_length(Nanos(turn * every), u32::MAX);
            arrival_rate.learn_nap_delay(Nanos(1_000), Nanos(21_000));
        }
        arrival_rate
    }

    #[test]
    fn naps_are_as_long_as_six_answers_take() {
        // One answer every 8 µs; naps last 20 µs longer than requested.
        let mut arrival_rate = beating(4, 32_000);
        let nap_length =
            arrival_rate.nap_length(arrival_rate.since, 100).expect("many come quickly");
        assert!((27_000..=29_000).contains(&nap_length.0), "{nap_length:?}");
        // A nap is at least long enough to be worth it.
        let mut arrival_rate = beating(4, 4_000);
        let nap_length =
            arrival_rate.nap_length(arrival_rate.since, 100).expect("many come quickly");
        assert!((4_000..=5_000).contains(&nap_length.0), "{nap_length:?}");
    }

    #[test]
    fn a_single_long_nap_is_forgotten() {
        let mut arrival_rate = beating(4, 32_000);
        arrival_rate.learn_nap_delay(Nanos(1_000), Nanos(50_000_000));
        assert!(arrival_rate.nap_length(arrival_rate.since, 100).is_some(), "one says little");
        for _ in 0..100 {
            arrival_rate.learn_nap_delay(Nanos(1_000), Nanos(50_000_000));
        }
        assert_eq!(
            arrival_rate.nap_length(arrival_rate.since, 100),
            None,
            "naps are too long here"
        );
        let again = (0..20_000).any(|_| arrival_rate.nap_length(arrival_rate.since, 100).is_some());
        assert!(again, "they are tried again");
    }

    #[test]
    fn no_nap_is_taken_for_few_or_slow_answers() {
        let mut arrival_rate = beating(4, 32_000);
        assert_eq!(
            arrival_rate.nap_length(arrival_rate.since, 11),
            None,
            "48 µs are more than half of their work"
        );
        assert!(arrival_rate.nap_length(arrival_rate.since, 13).is_some());
        let mut arrival_rate = beating(1, 20_000);
        assert_eq!(
            arrival_rate.nap_length(arrival_rate.since, 1_000),
            None,
            "six would take longer than a nap may"
        );
        assert_eq!(
            ArrivalRate::default().nap_length(Nanos(1), 1_000),
            None,
            "nothing is known yet"
        );
    }

    #[test]
    fn a_batch_of_fast_answers_is_awaited_and_leaves_the_server_work() {
        let count_batch_wait = |every: u64, crowd| {
            let mut arrival_rate = beating(4, 4 * every);
            arrival_rate.batch_to_await(arrival_rate.since, crowd)
        };
        assert_eq!(count_batch_wait(6_000, 10), Some(5), "half");
        assert_eq!(count_batch_wait(6_000, 1_000), Some(GATHER_MAX as u32));
        assert_eq!(count_batch_wait(12_000, 1_000), Some(8), "so many come in 100 µs");
        assert_eq!(count_batch_wait(20_000, 1_000), None, "six take longer");
        assert_eq!(count_batch_wait(6_000, 3), None, "each by itself");
        assert_eq!(
            ArrivalRate::default().batch_to_await(Nanos(1), 1_000),
            None,
            "nothing is known yet"
        );
    }

    #[test]
    fn many_answers_are_busy_waited_for_a_tenth_of_the_time() {
        let mut clock = Clock::new(WaitMode::BusyWait, Instant::now());
        clock.now = Nanos(1_000_000);
        clock.note_send();
        let busy_wait_end = clock.now.plus(SPIN_AFTER_SEND);
        clock.spun = Nanos(100_000);
        let until = |awaited| clock.busy_wait_until(Nanos::SECOND, awaited);
        assert_eq!(until(AwaitedAnswers::Soon(CROWD)), busy_wait_end);
        let longer = clock.now.plus(LONG.most);
        let few = [
            AwaitedAnswers::Soon(CROWD - 1),
            AwaitedAnswers::AtOnce(CROWD),
            AwaitedAnswers::AtOnce(1),
        ];
        assert_eq!(few.map(until), [longer; 3], "few are no crowd, nor is an open load");
        assert_eq!(until(AwaitedAnswers::AtOnce(0)), busy_wait_end, "nothing is to come");
        clock.spun = Nanos(100_001);
        let until = clock.busy_wait_until(Nanos::SECOND, AwaitedAnswers::Soon(CROWD));
        assert_eq!(until, clock.now, "no more of it");
    }

    #[test]
    fn a_turn_in_which_another_program_had_the_cpu_is_not_counted_as_spun() {
        let mut clock = Clock::new(WaitMode::BusyWait, Instant::now());
        let asked = std::cell::Cell::new(0);
        let switches = |count| {
            asked.set(asked.get() + 1);
            count
        };
        clock.count_spin_turn(Nanos(1_000), || switches(1));
        clock.count_spin_turn(TURN_MAX, || switches(1));
        assert_eq!((clock.spun.0, asked.get()), (1_000 + TURN_MAX.0, 0), "not asked each turn");
        clock.count_spin_turn(Nanos(3_000_000), || switches(1));
        assert_eq!(clock.spun.0, 1_000 + TURN_MAX.0, "another had it");
        // The host had the CPU, which the thread's CPU time cannot distinguish from spinning.
        clock.count_spin_turn(Nanos(3_000_000), || switches(1));
        assert_eq!((clock.spun.0, asked.get()), (3_001_000 + TURN_MAX.0, 2));
    }

    /// The estimate after many answers, each `every` ns after its send, with one send per 20 ms.
    fn response_estimator(every: impl Fn(u64) -> u64) -> ResponseEstimator {
        let mut response_estimator = ResponseEstimator::new(LONG);
        for send in 1..=1_000 {
            let now = Nanos::from_millis(20 * send);
            response_estimator.note_send(now);
            response_estimator.note_receive(now.plus(Nanos(every(send))));
        }
        response_estimator
    }

    const NEXT: Nanos = Nanos::from_millis(20 * 1_001);

    #[test]
    fn fast_answers_are_busy_waited_for_and_slow_ones_are_not() {
        let after_a_send = |mut response_estimator: ResponseEstimator| {
            response_estimator.note_send(NEXT);
            response_estimator.busy_wait_until().since(NEXT)
        };
        assert_eq!(after_a_send(response_estimator(|_| 3_900_000)), LONG.most);
        assert_eq!(after_a_send(response_estimator(|_| 4_100_000)), Nanos(0));
        // One answer of a hundred takes 9 ms.
        let odd = response_estimator(|send| if send % 100 == 0 { 9_000_000 } else { 600_000 });
        assert_eq!(after_a_send(odd), LONG.most);
    }

    #[test]
    fn a_thread_on_a_shared_cpu_busy_waits_for_less_time() {
        let until = |wait_mode, after| {
            let mut clock = Clock::new(wait_mode, Instant::now());
            (clock.now, clock.response_estimator.after) = (NEXT, after);
            clock.note_send();
            clock.busy_wait_until(Nanos::from_secs(60), AwaitedAnswers::AtOnce(1)).since(NEXT)
        };
        assert_eq!(until(WaitMode::BusyWait, LONG.average), LONG.most);
        assert_eq!(until(WaitMode::Spin, SHORT.average), SHORT.most);
        assert_eq!(until(WaitMode::Spin, LONG.average), SPIN_AFTER_SEND);
        assert_eq!(until(WaitMode::Sleep, Nanos(0)), Nanos(0));
    }

    #[test]
    fn busy_waiting_counts_from_the_previous_answer() {
        let mut response_estimator = response_estimator(|_| 1_000_000);
        response_estimator.note_send(NEXT);
        response_estimator.note_send(NEXT.plus(Nanos(500_000)));
        let first = NEXT.plus(Nanos(1_000_000));
        response_estimator.note_receive(first);
        assert_eq!(response_estimator.busy_wait_until(), first.plus(LONG.most));
    }

    #[test]
    fn a_stalled_server_is_not_busy_waited_for() {
        let mut response_estimator = response_estimator(|_| 60_000);
        let sends = (0..100).map(|ms| NEXT.plus(Nanos::from_millis(ms)));
        let still = sends.map(|now| {
            response_estimator.note_send(now);
            response_estimator.busy_wait_until()
        });
        let still: Vec<Nanos> = still.collect();
        assert!(still[..5].iter().all(|until| *until == NEXT.plus(LONG.most)), "{still:?}");
        assert_eq!(still[99], NEXT, "no more of it, until it has answered quickly again");
    }

    #[test]
    fn an_answer_read_together_with_a_send_does_not_belong_to_it() {
        let mut response_estimator =
            ResponseEstimator { after: LONG.average, ..ResponseEstimator::new(LONG) };
        response_estimator.note_send(Nanos(1_000));
        response_estimator.note_receive(Nanos(1_000));
        assert_eq!((response_estimator.after, response_estimator.is_awaited), (LONG.average, true));
    }

    #[test]
    fn a_thread_without_a_cpu_of_its_own_does_not_spin() {
        let sleeps = |wait_mode, until| Clock::new(wait_mode, Instant::now()).sleep_end(until);
        assert_eq!(sleeps(WaitMode::Sleep, Nanos(1)), Some(Nanos(1)));
        assert_eq!(sleeps(WaitMode::Spin, Nanos(1)), None);
        let early = Some(Nanos::SECOND.since(SPIN_FIRST));
        assert_eq!(sleeps(WaitMode::Spin, Nanos::SECOND), early);
    }
}
