//! Computes due times: the cumulative count N(t) of a whole schedule, inverted for each request.
//!
//! N is exact, in integers. A rate is in millionths per second and a time in ns, so twice the area
//! below a segment, `(from + to) · length`, counts units; [`UNITS_PER_REQUEST`] of them make a
//! request. Nothing is rounded where segments meet, and nothing is summed step by step. The due
//! time of request n follows from n alone.

use super::{MicroRate, Schedule, Segment};
use crate::load::Arrivals;
use crate::part::Part;
use crate::time::Nanos;

/// 2 (twice the area) · 1e6 (millionths) · 1e9 (ns).
const UNITS_PER_REQUEST: u128 = 2_000_000_000_000_000;

/// The due times of one load, in order. Cheap to clone, so a clone can be used for counting.
#[derive(Clone, Debug)]
pub struct DueTimes {
    pieces: Vec<Piece>,
    /// Index of the piece of the latest due time; earlier pieces are over.
    current: usize,
    /// N at the end, in units.
    total: u128,
    length: Nanos,
    arrivals: Progress,
    last: Nanos,
}

/// A part of the schedule with a constant or evenly changing rate.
#[derive(Clone, Copy, Debug)]
struct Piece {
    begin: Nanos,
    length: Nanos,
    from: MicroRate,
    to: MicroRate,
    /// N at its beginning, in units.
    before: u128,
}

/// How far the arrivals have come.
#[derive(Clone, Debug)]
enum Progress {
    /// Request n is due where N(t) = n.
    Uniform { next: u64, step: u64, planned: u64 },
    /// Requests are due where N(t) is a sum of exponential gaps of mean 1. This time change turns a
    /// Poisson process of rate 1 into one of rate N'(t) (Çinlar, *Introduction to Stochastic
    /// Processes*, chapter 4). For one of several parts the mean gap is that number of parts.
    Poisson { random: fastrand::Rng, mean_gap: u64, sum: u128 },
}

impl DueTimes {
    pub(super) fn new(segments: &[Segment], arrivals: Arrivals, part: Part) -> DueTimes {
        let pieces = pieces(segments);
        let total = total(&pieces);
        let arrivals = match arrivals {
            Arrivals::Uniform => {
                let (next, step) = (u64::from(part.index()), u64::from(part.of()));
                Progress::Uniform { next, step, planned: whole_requests(total) }
            }
            Arrivals::Poisson { seed } => {
                let random = fastrand::Rng::with_seed(seed_of(seed, part));
                Progress::Poisson { random, mean_gap: u64::from(part.of()), sum: 0 }
            }
        };
        let length = pieces.last().map_or(Nanos(0), Piece::end);
        DueTimes { pieces, current: 0, total, length, arrivals, last: Nanos(0) }
    }

    /// Number of requests still to come, counted like [`Schedule::due_by`].
    pub fn remaining(&self) -> u64 {
        self.due_by(self.length)
    }

    /// The due time of a request at N = `units`, which is below the total.
    fn due_at(&self, units: u128) -> Nanos {
        let place = self.pieces.partition_point(|piece| piece.after() <= units);
        self.pieces.get(place).map_or(self.length, |piece| piece.due(units).min(self.length))
    }

    /// N at `at`, in units, rounded down.
    fn units_at(&self, at: Nanos) -> u128 {
        let place = self.pieces.partition_point(|piece| piece.end() <= at);
        self.pieces.get(place).map_or(self.total, |piece| piece.units_by(at))
    }

    /// N of the next request, in units; `None` after the last one.
    fn next_units(&mut self) -> Option<u128> {
        match &mut self.arrivals {
            Progress::Uniform { next, step, planned } => {
                let request = *next;
                if request >= *planned {
                    return None;
                }
                *next = next.saturating_add(*step);
                Some(u128::from(request) * UNITS_PER_REQUEST)
            }
            Progress::Poisson { random, mean_gap, sum } => {
                // 1 − u is in (0, 1]: the logarithm is finite, at most 37.
                let gap = -(1.0 - random.f64()).ln() * *mean_gap as f64;
                *sum = sum.saturating_add((gap * UNITS_PER_REQUEST as f64) as u128);
                (*sum < self.total).then_some(*sum)
            }
        }
    }
}

impl Schedule for DueTimes {
    fn next_due(&mut self) -> Option<Nanos> {
        let units = self.next_units()?;
        // Find the first piece that ends after N. A pause (rate 0) never does, so the first request
        // after a pause is due when the pause is over.
        while self.pieces.get(self.current).is_some_and(|piece| piece.after() <= units) {
            self.current += 1;
        }
        let due = self.pieces.get(self.current)?.due(units);
        // Poisson gaps can be smaller than the rounding of a nanosecond.
        self.last = due.max(self.last).min(self.length);
        Some(self.last)
    }

    /// Exact for uniform arrivals. Poisson arrivals are drawn up to [`DRAWN_MAX`]; those beyond are
    /// counted by their average.
    fn due_by(&self, until: Nanos) -> u64 {
        match &self.arrivals {
            Progress::Uniform { next, step, planned } => {
                let is_due =
                    |request: u64| self.due_at(u128::from(request) * UNITS_PER_REQUEST) <= until;
                (first_not(*next, *planned, is_due) - next).div_ceil(*step)
            }
            Progress::Poisson { .. } => {
                let (mut drawn, mut count) = (self.clone(), 0);
                while count < DRAWN_MAX {
                    match drawn.next_due() {
                        Some(due) if due <= until => count += 1,
                        _ => return count,
                    }
                }
                let Progress::Poisson { sum, mean_gap, .. } = drawn.arrivals else { return count };
                count + whole_requests(self.units_at(until).saturating_sub(sum)) / mean_gap
            }
        }
    }
}

/// The seed of a part's own arrivals; that of the whole is the seed itself. Seed and part are mixed
/// as SplitMix64 does (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*,
/// 2014), so that neighbouring seeds and parts have nothing in common.
fn seed_of(seed: u64, part: Part) -> u64 {
    if part.is_whole() {
        return seed;
    }
    let mut mixed = seed.wrapping_add(part.nth(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// The first of `from..to` for which `holds` is false; it must be true for all before.
fn first_not(mut from: u64, mut to: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while from < to {
        let middle = from + (to - from) / 2;
        if holds(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}

impl Iterator for DueTimes {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        self.next_due()
    }

    /// In constant time for uniform arrivals.
    fn nth(&mut self, skip: usize) -> Option<Nanos> {
        match &mut self.arrivals {
            Progress::Uniform { next, step, .. } => {
                *next = next.saturating_add(step.saturating_mul(skip as u64));
            }
            Progress::Poisson { .. } => {
                for _ in 0..skip {
                    self.next_due()?;
                }
            }
        }
        self.next_due()
    }
}

impl Piece {
    fn end(&self) -> Nanos {
        self.begin.plus(self.length)
    }

    /// N at its end, in units.
    fn after(&self) -> u128 {
        self.before + u128::from(self.from.0 + self.to.0) * u128::from(self.length.0)
    }

    /// N at `at`, in units; `at` is not after the end.
    fn units_by(&self, at: Nanos) -> u128 {
        let inside = u128::from(at.since(self.begin).0);
        let (from, to, length) =
            (u128::from(self.from.0), u128::from(self.to.0), u128::from(self.length.0));
        // Twice the average rate up to `at`.
        let change = inside * from.abs_diff(to) / length.max(1);
        let twice = if from < to { 2 * from + change } else { (2 * from).saturating_sub(change) };
        self.before + twice * inside
    }

    /// The time at which N is `units`, to the nearest ns; `before <= units < after`.
    fn due(&self, units: u128) -> Nanos {
        let inside = if self.from == self.to {
            let twice_rate = u128::from(self.from.0) * 2;
            ((units - self.before + twice_rate / 2) / twice_rate) as u64
        } else if self.from < self.to {
            self.rising(self.from, (units - self.before) as f64)
        } else {
            // Seen from its end, a falling line rises. From its start, the root of a difference of
            // nearly equal numbers would lose half of the digits at the end.
            self.length.0 - self.rising(self.to, (self.after() - units) as f64).min(self.length.0)
        };
        self.begin.plus(Nanos(inside))
    }

    /// Time on a line that begins at rate `lower` until it has counted `units`: 2n / (r + √(r² +
    /// 2an)), the form of the quadratic's root without cancellation.
    fn rising(&self, lower: MicroRate, units: f64) -> u64 {
        let requests = units / UNITS_PER_REQUEST as f64;
        let rate = lower.per_second();
        let slope =
            MicroRate(self.from.0.abs_diff(self.to.0)).per_second() / self.length.as_secs_f64();
        let root = (rate * rate + 2.0 * slope * requests).sqrt();
        if requests == 0.0 {
            return 0; // Also where the line begins at 0, and both terms below are 0.
        }
        (2.0 * requests / (rate + root) * 1e9).round() as u64
    }
}

/// Number of requests.
pub(super) fn planned(segments: &[Segment]) -> u64 {
    whole_requests(total(&pieces(segments)))
}

/// Target rate at `at`, per second.
pub(super) fn rate_at(segments: &[Segment], at: Nanos) -> f64 {
    let pieces = pieces(segments);
    let Some(piece) = pieces.iter().find(|piece| at < piece.end()) else { return 0.0 };
    let share = at.since(piece.begin).0 as f64 / piece.length.0 as f64;
    let (from, to) = (piece.from.per_second(), piece.to.per_second());
    from + (to - from) * share
}

fn pieces(segments: &[Segment]) -> Vec<Piece> {
    let (mut begin, mut before) = (Nanos(0), 0);
    segments
        .iter()
        .flat_map(|segment| segment.pieces())
        .map(|(from, to, length)| {
            let piece = Piece { begin, length, from, to, before };
            (begin, before) = (piece.end(), piece.after());
            piece
        })
        .collect()
}

fn total(pieces: &[Piece]) -> u128 {
    pieces.last().map_or(0, Piece::after)
}

fn whole_requests(units: u128) -> u64 {
    u64::try_from(units / UNITS_PER_REQUEST).unwrap_or(u64::MAX)
}

/// Most Poisson arrivals that are drawn to be counted: some 30 ms.
const DRAWN_MAX: u64 = 1_000_000;
