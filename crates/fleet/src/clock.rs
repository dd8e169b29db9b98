//! How another machine's clock differs from ours, from pings with four timestamps.
//!
//! A ping leaves us at `t1` and comes back at `t4` by our clock; the agent had it from `t2` to `t3`
//! by its own. The agent's clock minus ours is ((t2 − t1) + (t3 − t4)) / 2, wrong by at most half of
//! the round trip (t4 − t1) − (t3 − t2), however unequal the two ways are (Mills, *Internet time
//! synchronization: the network time protocol*, 1991). So the ping with the shortest round trip
//! knows best.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use stampede_model::time::Nanos;

/// A clock that only goes forward.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Nanos;
}

/// The machine's monotonic clock, which agents and coordinators use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    fn now(&self) -> Nanos {
        let now = clock_gettime(ClockId::Monotonic);
        let (seconds, nanos) = (now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs());
        Nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }
}

/// The moment at which `clock` will show `at`; now, if it is over.
pub fn instant_of(clock: &dyn Clock, at: Nanos) -> Instant {
    let (now, shown) = together(clock);
    now + Duration::from_nanos(at.since(shown).0)
}

/// What `clock` showed, or will show, at this moment.
pub fn shown_at(clock: &dyn Clock, at: Instant) -> Nanos {
    let (now, shown) = together(clock);
    let ahead = Nanos::from(at.saturating_duration_since(now));
    shown.plus(ahead).since(Nanos::from(now.saturating_duration_since(at)))
}

/// The moment now, and what `clock` shows at it: of three readings the one that was interrupted
/// least. Between two readings a thread may lose its CPU for ms.
fn together(clock: &dyn Clock) -> (Instant, Nanos) {
    let reading = || {
        let before = clock.now();
        let now = Instant::now();
        let apart = clock.now().since(before);
        (apart, now, before.plus(Nanos(apart.0 / 2)))
    };
    let (mut least, mut now, mut shown) = reading();
    for _ in 0..2 {
        let (apart, later, shows) = reading();
        if apart < least {
            (least, now, shown) = (apart, later, shows);
        }
    }
    (now, shown)
}

/// One ping that came back.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    /// The middle between sending and receiving, by our clock.
    at: Nanos,
    /// The agent's clock minus ours, in ns.
    offset: i128,
    /// The round trip, without the agent's own time.
    round_trip: Nanos,
}

/// The pings of one agent.
#[derive(Clone, Debug, Default)]
pub struct Pings {
    next: u32,
    /// Pings that have not come back: number and when they were sent.
    waiting: Vec<(u32, Nanos)>,
    samples: Vec<Sample>,
    returned: u64,
}

/// The agent's clock minus ours, and by how much that may be wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offset {
    /// The agent's clock minus ours, in ns.
    pub offset: i128,
    /// At most so far from the true one: half of the round trip, and what two clocks may drift apart
    /// since that ping.
    pub error: Nanos,
    /// The round trip of that ping.
    pub round_trip: Nanos,
}

impl Offset {
    /// What the agent's clock shows when ours shows `at`.
    pub fn there(&self, at: Nanos) -> Nanos {
        Nanos(u64::try_from(i128::from(at.0) + self.offset).unwrap_or(0))
    }

    /// What our clock shows when the agent's shows `there`.
    pub fn here(&self, there: Nanos) -> Nanos {
        Nanos(u64::try_from(i128::from(there.0) - self.offset).unwrap_or(0))
    }
}

/// A clock's offset as a line over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// How much faster the agent's clock runs, in millionths.
    pub ppm: f64,
    /// The offset at the time that was asked for, in ns.
    pub offset: f64,
}

impl Pings {
    /// The number of a ping that is sent now.
    pub fn send(&mut self, now: Nanos) -> u32 {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.waiting.push((number, now));
        // What did not come back in so many pings does not come back.
        if self.waiting.len() > WAITING_MAX {
            self.waiting.remove(0);
        }
        number
    }

    /// When the last ping was sent that has not come back.
    pub fn waiting_since(&self) -> Option<Nanos> {
        self.waiting.last().map(|(_, sent)| *sent)
    }

    /// Notes that a ping came back. `false`: it was never sent, or its times cannot be true.
    pub fn returned(&mut self, number: u32, received: Nanos, sent: Nanos, now: Nanos) -> bool {
        let Some(place) = self.waiting.iter().position(|(waiting, _)| *waiting == number) else {
            return false;
        };
        let (_, left) = self.waiting.remove(place);
        let (round, held) = (now.since(left), sent.since(received));
        if sent < received || held > round {
            return false;
        }
        let [t1, t2, t3, t4] = [left, received, sent, now].map(|time| i128::from(time.0));
        let offset = ((t2 - t1) + (t3 - t4)) / 2;
        let at = Nanos(left.0 + round.0 / 2);
        if self.samples.len() == SAMPLES_MAX {
            self.thin();
        }
        self.returned += 1;
        self.samples.push(Sample { at, offset, round_trip: round.since(held) });
        true
    }

    /// How many came back.
    pub fn count(&self) -> u64 {
        self.returned
    }

    /// The offset at `now`, by the ping that knows it best: short round trips are better, and old
    /// pings are worse, because clocks drift. `None`: none came back.
    pub fn offset(&self, now: Nanos) -> Option<Offset> {
        let error = |sample: &Sample| {
            let drifted = now.since(sample.at).0.div_ceil(1_000_000) * DRIFT_MAX_PPM;
            Nanos(sample.round_trip.0.div_ceil(2) + drifted)
        };
        let best = self.samples.iter().min_by_key(|sample| error(sample))?;
        Some(Offset { offset: best.offset, error: error(best), round_trip: best.round_trip })
    }

    /// The offset as a line, by least squares over the pings with short round trips, and its value
    /// at `at`. `None`: they are too few or lie too close together.
    pub fn drift(&self, at: Nanos) -> Option<Drift> {
        let shortest = self.samples.iter().map(|sample| sample.round_trip).min()?;
        let bound = Nanos(shortest.0 + shortest.0 / 2 + SHORT.0);
        let good: Vec<&Sample> =
            self.samples.iter().filter(|sample| sample.round_trip <= bound).collect();
        let (first, last) = (good.first()?, good.last()?);
        if good.len() < LINE_PINGS || last.at.since(first.at) < LINE_LENGTH {
            return None;
        }
        // Relative to the first sample, so that no digit is lost.
        let point = |sample: &&Sample| {
            let x = sample.at.since(first.at).as_secs_f64();
            (x, (sample.offset - first.offset) as f64)
        };
        let points: Vec<(f64, f64)> = good.iter().map(point).collect();
        let count = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (x_mean, y_mean) = (mean(|point| point.0), mean(|point| point.1));
        let above: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
        let below: f64 = points.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
        let slope = above / below;
        let x = at.0 as f64 / 1e9 - first.at.0 as f64 / 1e9;
        // ns per second are thousandths of a millionth.
        let offset = first.offset as f64 + y_mean + slope * (x - x_mean);
        Some(Drift { ppm: slope / 1e3, offset })
    }

    /// Keeps every other sample of the older half.
    fn thin(&mut self) {
        let half = SAMPLES_MAX / 2;
        let mut number = 0;
        self.samples.retain(|_| {
            number += 1;
            number > half || number % 2 == 0
        });
    }
}

/// How fast two clocks drift apart at most, in millionths: each is trimmed by up to 500 only while it
/// is being corrected, and is usually off by less than 50.
const DRIFT_MAX_PPM: u64 = 200;
/// Pings that are remembered while they do not come back.
const WAITING_MAX: usize = 64;
/// Samples that are kept: one a second for more than an hour.
const SAMPLES_MAX: usize = 4_096;
/// Round trips up to one and a half times the shortest, and this much more, are good enough for the
/// line.
const SHORT: Nanos = Nanos(50_000);
/// Pings and length that a line needs. Within less, a round trip of 100 µs looks like a drift of
/// more than 20 millionths.
const LINE_PINGS: usize = 8;
const LINE_LENGTH: Nanos = Nanos::from_secs(5);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    /// A ping that leaves at `at` and takes these times there, at the agent, and back.
    fn ping(pings: &mut Pings, clock: impl Fn(u64) -> u64, at: u64, [to, held, back]: [u64; 3]) {
        let number = pings.send(Nanos(at));
        let (received, sent) = (Nanos(clock(at + to)), Nanos(clock(at + to + held)));
        assert!(pings.returned(number, received, sent, Nanos(at + to + held + back)));
    }

    #[test]
    fn the_ping_with_the_shortest_round_trip_knows_the_offset() {
        let mut pings = Pings::default();
        assert_eq!(pings.offset(Nanos(0)), None);
        let hours = |at| at + 7_200_000_000_000;
        ping(&mut pings, hours, 10 * MS, [9 * MS, 50, MS]);
        ping(&mut pings, hours, 30 * MS, [200_000, 5 * MS, 100_000]);
        ping(&mut pings, hours, 50 * MS, [4 * MS, 0, 4 * MS]);
        let offset = pings.offset(Nanos(60 * MS)).unwrap();
        assert_eq!(offset.round_trip, Nanos(300_000));
        // Half of the round trip, and 200 millionths of the 28 ms that have begun since then.
        assert_eq!(offset.error, Nanos(150_000 + 28 * 200));
        assert!((offset.offset - 7_200_000_000_000).unsigned_abs() <= 150_000);
        let there = offset.there(Nanos(MS));
        assert_eq!(offset.here(there), Nanos(MS));
        // After a minute the clocks may have drifted so far that a later ping knows more.
        ping(&mut pings, hours, 60_000 * MS, [2 * MS, 0, 2 * MS]);
        assert_eq!(pings.offset(Nanos(60_010 * MS)).unwrap().round_trip, Nanos(4 * MS));
    }

    #[test]
    fn an_answer_that_cannot_be_true_is_refused() {
        let mut pings = Pings::default();
        let number = pings.send(Nanos(1_000));
        assert!(!pings.returned(number + 1, Nanos(5), Nanos(6), Nanos(2_000)), "never sent");
        assert!(!pings.returned(number, Nanos(5), Nanos(5_000), Nanos(2_000)), "held too long");
        assert!(!pings.returned(number, Nanos(5), Nanos(6), Nanos(2_000)), "came back before");
        let number = pings.send(Nanos(1_000));
        assert!(!pings.returned(number, Nanos(6), Nanos(5), Nanos(2_000)), "sent before received");
        assert_eq!(pings.count(), 0);
    }

    #[test]
    fn a_drift_is_a_line() {
        for ppm in [-200_i64, 0, 200] {
            let clock =
                |at: u64| (at as i64 + 3_000 * MS as i64 + at as i64 / 1_000_000 * ppm) as u64;
            let mut pings = Pings::default();
            assert_eq!(pings.drift(Nanos(0)), None);
            let mut random = fastrand::Rng::with_seed(1);
            for second in 1..60 {
                let ways = [random.u64(90_000..110_000), 1_000, random.u64(90_000..110_000)];
                ping(&mut pings, clock, second * 1_000 * MS, ways);
            }
            let at = Nanos(30_000 * MS);
            let drift = pings.drift(at).unwrap();
            assert!((drift.ppm - ppm as f64).abs() < 0.5, "{ppm}: {drift:?}");
            let expected = 3_000e6 + 30_000.0 * ppm as f64;
            assert!((drift.offset - expected).abs() < 10_000.0, "{ppm}: {drift:?}");
        }
    }

    #[test]
    fn the_machines_clock_goes_forward_and_becomes_instants() {
        let before = Monotonic.now();
        assert!(Monotonic.now() >= before && before > Nanos(0));
        let now = Instant::now();
        let soon = instant_of(&Monotonic, Monotonic.now().plus(Nanos::SECOND));
        assert!((soon - now).abs_diff(Duration::from_secs(1)) < Duration::from_millis(900));
        assert!(instant_of(&Monotonic, Nanos(0)) >= now);
    }

    #[test]
    fn a_moment_and_what_the_clock_shows_belong_together() {
        for (ahead_ms, is_past) in [(0, false), (700, false), (700, true)] {
            let ahead = Duration::from_millis(ahead_ms);
            let before = Monotonic.now();
            let now = Instant::now();
            let after = Monotonic.now();
            let (moment, length) =
                (if is_past { now - ahead } else { now + ahead }, Nanos::from(ahead));
            let shown = shown_at(&Monotonic, moment);
            let moved = |at: Nanos| if is_past { at.since(length) } else { at.plus(length) };
            // The reading that was interrupted least is at most as wrong as it was interrupted.
            let slack = Nanos::from_millis(5);
            assert!(shown.plus(slack) >= moved(before) && shown <= moved(after).plus(slack));
            assert!(instant_of(&Monotonic, shown) + Duration::from_millis(5) >= moment);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        /// The offset is never more wrong than is said, whatever the ways and the clock.
        #[test]
        fn the_true_offset_lies_within_the_error(
            skew in -(1_i64 << 50)..(1_i64 << 50),
            ways in proptest::collection::vec((0_u64..20 * MS, 0_u64..MS, 0_u64..20 * MS), 1..30),
        ) {
            let clock = |at: u64| (i128::from(at) + i128::from(skew)) as u64;
            let mut pings = Pings::default();
            let mut at = 1 << 51;
            for (to, held, back) in ways {
                ping(&mut pings, clock, at, [to, held, back]);
                at += 100 * MS;
            }
            let offset = pings.offset(Nanos(at)).unwrap();
            let wrong = (offset.offset - i128::from(skew)).unsigned_abs();
            prop_assert!(wrong <= u128::from(offset.error.0), "{} > {}", wrong, offset.error.0);
        }
    }
}
