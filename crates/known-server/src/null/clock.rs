//! The server's clock: `CLOCK_MONOTONIC`, in ns, also for the kernel's timestamps.

use rustix::time::ClockId;
use stampede_linux::arrival::WallNanos;

pub(super) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// What the wall clock shows at the zero of the monotonic clock, in ns. Both run at the same rate.
/// A step of the wall clock while a server runs is not noticed: the bench then fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct WallOffset(i64);

impl WallOffset {
    /// Reads the wall clock between two readings of the other clock, [`READINGS`] times, and takes
    /// the closest pair: the thread was least interrupted there.
    pub(super) fn measure() -> WallOffset {
        let reading = |_| {
            let before = monotonic_ns();
            let wall = WallNanos::now();
            let apart = monotonic_ns() - before;
            (apart, WallOffset(wall.0 - (before + apart / 2) as i64))
        };
        (0..READINGS).map(reading).min_by_key(|(apart, _)| *apart).expect("there are some").1
    }

    /// The same moment on the monotonic clock.
    pub(super) fn monotonic_ns(self, moment: WallNanos) -> u64 {
        (moment.0 - self.0) as u64
    }
}

/// Enough for one that nothing interrupts; all take less than a microsecond.
const READINGS: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_the_same_on_both_clocks() {
        let offset = WallOffset::measure();
        let before = monotonic_ns();
        let at = offset.monotonic_ns(WallNanos::now());
        let after = monotonic_ns();
        // The difference is as exact as two readings are close.
        let slack = 20_000;
        assert!(before - slack <= at && at <= after + slack, "{before} {at} {after}");
    }
}
