//! The kernel's timestamps on the load's clock.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::net::{AddressFamily, SocketType};
pub(super) use stampede_linux::arrival::{
    TIMESTAMP_BYTES, TimestampMessage, WallNanos, enable_timestamps, receive,
};
use stampede_model::time::Nanos;

/// Difference between the wall clock and the load's clock. Both run at the same rate, but the wall
/// clock may be stepped, so the difference is measured again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct WallClockOffset {
    /// What the wall clock shows at the zero of the load's clock.
    at_zero: WallNanos,
    measured: Nanos,
    /// Timestamps before this moment are invalid, because the clock was stepped later.
    stepped_at: WallNanos,
}

impl WallClockOffset {
    /// Measures the difference. Reads the wall clock between two readings of the other clock, three
    /// times, and takes the closest pair: the thread was least interrupted there.
    fn measure(epoch: Instant) -> WallClockOffset {
        let since_zero = || Nanos::from(Instant::now().saturating_duration_since(epoch));
        let reading = |_| {
            let before = since_zero();
            let wall = WallNanos::now();
            let after = since_zero();
            let middle = before.plus(Nanos(after.since(before).0 / 2));
            let at_zero = WallNanos(wall.0 - middle.0 as i64);
            (
                after.since(before),
                WallClockOffset { at_zero, measured: after, stepped_at: WallNanos(i64::MIN) },
            )
        };
        let readings = [0, 1, 2].map(reading);
        let closest = readings.into_iter().min_by_key(|(apart, _)| *apart);
        closest.expect("there are three").1
    }

    /// The difference as known at `now`, when the wall clock `shows` this. Measures it again when the
    /// last measurement is too old, or when the wall clock was stepped.
    pub(super) fn current(
        before: Option<WallClockOffset>,
        (now, shows): (Nanos, WallNanos),
        epoch: Instant,
    ) -> WallClockOffset {
        match before {
            Some(wall) if now.since(wall.measured) < OFFSET_AGE_MAX && wall.fits(now, shows) => {
                wall
            }
            Some(wall) => wall.updated_by(WallClockOffset::measure(epoch)),
            None => WallClockOffset::measure(epoch),
        }
    }

    /// Whether the wall clock shows about what it should, soon after `now`.
    fn fits(self, now: Nanos, shows: WallNanos) -> bool {
        (shows.0 - self.at_zero.0).abs_diff(now.0 as i64) <= OFFSET_CHANGE_MAX
    }

    fn updated_by(self, next: WallClockOffset) -> WallClockOffset {
        let was_stepped = self.at_zero.0.abs_diff(next.at_zero.0) > OFFSET_CHANGE_MAX;
        let shows = WallNanos(next.at_zero.0 + next.measured.0 as i64);
        WallClockOffset { stepped_at: if was_stepped { shows } else { self.stepped_at }, ..next }
    }

    /// The same moment on the load's clock; zero where it was earlier. `None` for a timestamp that
    /// was taken before the clock was stepped.
    pub(super) fn at(self, moment: WallNanos) -> Option<Nanos> {
        let at = Nanos(u64::try_from(moment.0 - self.at_zero.0).unwrap_or_default());
        (moment.0 >= self.stepped_at.0).then_some(at)
    }
}

/// Makes the kernel timestamp everything that this machine receives while this value exists.
/// Switching it on and off interrupts all CPUs briefly, so it is not done per connection.
#[derive(Debug)]
pub(super) struct TimestampingGuard {
    _socket: Option<OwnedFd>,
}

impl TimestampingGuard {
    pub(super) fn begin() -> TimestampingGuard {
        // If the socket fails, each connection switches timestamping on and off.
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).ok();
        socket.iter().for_each(enable_timestamps);
        TimestampingGuard { _socket: socket }
    }
}

/// How long a measurement is used. The clocks drift apart by less than 1 ns meanwhile; a step is
/// noticed at the next wait.
const OFFSET_AGE_MAX: Nanos = Nanos::from_millis(10);
/// Largest difference of two measurements without a step. Three readings in a row may all be
/// interrupted, but not by 100 µs. A larger difference means that the clock was stepped.
const OFFSET_CHANGE_MAX: u64 = 100_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_moment_is_the_same_on_both_clocks() {
        let epoch = Instant::now();
        std::thread::sleep(Duration::from_millis(5));
        let wall = WallClockOffset::measure(epoch);
        let before = Nanos::from(epoch.elapsed());
        let at = wall.at(WallNanos::now()).expect("nobody set it");
        let after = Nanos::from(epoch.elapsed());
        // The difference is as exact as two readings are close.
        let slack = Nanos(20_000);
        assert!(
            before.since(slack) <= at && at <= after.plus(slack),
            "{before:?} {at:?} {after:?}"
        );
        assert_eq!(wall.at(WallNanos(0)), Some(Nanos(0)), "long before");
    }

    #[test]
    fn a_timestamp_from_before_a_clock_step_is_ignored() {
        let epoch = Instant::now();
        let wall = WallClockOffset::measure(epoch);
        let again = |at_zero: i64| {
            let next =
                WallClockOffset { at_zero: WallNanos(at_zero), measured: Nanos(5_000), ..wall };
            wall.updated_by(next)
        };
        let same = again(wall.at_zero.0 + 50_000);
        assert_eq!(same.at(WallNanos(same.at_zero.0 + 4_000)), Some(Nanos(4_000)));
        // Stepped forward by a second: earlier timestamps would be a second too early.
        let stepped_at = again(wall.at_zero.0 + SECOND);
        assert_eq!(stepped_at.at(WallNanos(wall.at_zero.0 + 4_000)), None);
        assert_eq!(stepped_at.at(WallNanos(stepped_at.at_zero.0 + 4_000)), None, "not known which");
        assert_eq!(stepped_at.at(WallNanos(stepped_at.at_zero.0 + 6_000)), Some(Nanos(6_000)));
        let later = stepped_at.updated_by(WallClockOffset { measured: Nanos(9_000), ..stepped_at });
        assert_eq!(later.stepped_at, stepped_at.stepped_at, "it stays known");
    }

    #[test]
    fn the_wall_clock_is_measured_again_after_a_while() {
        let epoch = Instant::now();
        let first = WallClockOffset::current(None, (Nanos(0), WallNanos(0)), epoch);
        let shown = |at: Nanos| WallNanos(first.at_zero.0 + at.0 as i64);
        let is_kept = |at: Nanos, shows: WallNanos| {
            WallClockOffset::current(Some(first), (at, shows), epoch).measured == first.measured
        };
        let late = first.measured.plus(OFFSET_AGE_MAX);
        let soon = late.since(Nanos(1));
        assert!(is_kept(soon, shown(soon)));
        assert!(!is_kept(late, shown(late)), "too old");
        assert!(!is_kept(soon, shown(soon.plus(Nanos::SECOND))), "the clock was stepped");
        assert!(!is_kept(soon, shown(Nanos(0))), "stepped back");
    }
}
