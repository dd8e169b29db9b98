//! Decides whether something grows from request to request, and after how many a worker must be
//! replaced.

use stampede_stats::slope::{POINTS_MIN, Slope, slope};

use super::model::{Growth, GrowthOf};

/// Returns how an amount grew in one worker, from points `(requests it had served, value)`. `limit`
/// is how much of it a worker may have; `None` for the default. Returns `None` for too few points.
///
/// The first fifth is ignored, because caches fill and code is loaded. The amount grows if it grows
/// over the whole rest, by more than noise, and also over the second half: a full cache does not
/// grow.
pub fn growth(of: GrowthOf, points: &[(u64, f64)], limit: Option<u64>) -> Option<Growth> {
    let mut points = points.to_vec();
    points.sort_by_key(|(served, _)| *served);
    let (first, last) = (points.first()?.0, points.last()?.0);
    let warm = first + (last - first) / WARM_UP;
    points.retain(|(served, _)| *served >= warm);
    let middle = points.get(points.len() / 2)?.0;
    let of_all = slope_of(&points, 0)?;
    let of_half = slope_of(&points, middle)?;
    let begin = points.first()?.0;
    let in_all = of_all.value * (last - begin) as f64;
    let noise = noise(of);
    let grows = of_all.low >= noise.per_request && in_all >= noise.in_all && of_half.low > 0.0;
    let ends = points.len().min(ENDS);
    let mut growth = Growth {
        of,
        requests: last - begin,
        begin: median(&points[..ends]),
        end: median(&points[points.len() - ends..]),
        per_request: of_all.value,
        per_request_low: of_all.low,
        per_request_high: of_all.high,
        grows,
        max_requests: None,
    };
    growth.max_requests = recycle(&growth, limit);
    Some(growth)
}

/// Divisor of the requests for the part that is ignored: a fifth.
const WARM_UP: u64 = 5;
/// Number of points whose median is the value at the beginning or the end.
const ENDS: usize = 5;
const COVERS: f64 = 0.95;

/// Returns the number of requests after which a worker should be replaced, rounded down to two
/// digits. Until then it fills at most four fifths of the room that the limit left at the
/// beginning, at the upper end of its growth. `None` if it does not grow, or if a new worker does
/// not help.
pub fn recycle(growth: &Growth, limit: Option<u64>) -> Option<u64> {
    let usual = match growth.of {
        GrowthOf::Heap | GrowthOf::Memory => MEMORY_LIMIT,
        GrowthOf::Descriptors => DESCRIPTORS,
        GrowthOf::Connections => CONNECTIONS,
        GrowthOf::Entries => ENTRIES,
        // Temporary files outlive the worker.
        GrowthOf::TemporaryFiles => return None,
    };
    let limit = limit.unwrap_or(usual) as f64;
    if !growth.grows || growth.per_request_high <= 0.0 {
        return None;
    }
    let room = SHARE * (limit - growth.begin).max(0.0);
    Some(two_digits((room / growth.per_request_high) as u64).max(1))
}

/// PHP's `memory_limit` if php.ini does not set it.
const MEMORY_LIMIT: u64 = 128 << 20;
/// `RLIMIT_NOFILE` of most shells and services.
const DESCRIPTORS: u64 = 1_024;
/// `max_connections` of PostgreSQL by default; MariaDB's is 151.
const CONNECTIONS: u64 = 100;
/// Number of entries in PHP's default memory limit, with 128 bytes for an array's slot and a short
/// string.
const ENTRIES: u64 = MEMORY_LIMIT / 128;
const SHARE: f64 = 0.8;

fn two_digits(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 100 {
        unit *= 10;
    }
    number / unit * unit
}

/// The growth up to which an amount counts as constant.
struct Noise {
    per_request: f64,
    in_all: f64,
}

fn noise(of: GrowthOf) -> Noise {
    match of {
        // PHP counts its heap to the byte: a byte that stays in every second request is real
        // growth.
        GrowthOf::Heap => Noise { per_request: 0.5, in_all: 0.0 },
        // The kernel counts pages, and the allocator takes several at once.
        GrowthOf::Memory => Noise { per_request: 32.0, in_all: f64::from(1 << 20) },
        GrowthOf::Descriptors | GrowthOf::Connections | GrowthOf::TemporaryFiles => {
            Noise { per_request: 0.001, in_all: 1.0 }
        }
        // A list of a dozen things that are first used late does not count as growing.
        GrowthOf::Entries => Noise { per_request: 0.001, in_all: 16.0 },
    }
}

fn slope_of(points: &[(u64, f64)], from: u64) -> Option<Slope> {
    let points: Vec<(f64, f64)> = points
        .iter()
        .filter(|(served, _)| *served >= from)
        .map(|(served, value)| (*served as f64, *value))
        .collect();
    (points.len() >= POINTS_MIN).then(|| slope(&points, COVERS)).flatten()
}

fn median(points: &[(u64, f64)]) -> f64 {
    let mut values: Vec<f64> = points.iter().map(|point| point.1).collect();
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use stampede_stats::random::Random;

    use super::*;

    const REQUESTS: u64 = 20_000;

    /// Returns the growth of 20 000 requests with a reading every 100.
    fn of(what: GrowthOf, mut value: impl FnMut(u64, &mut Random) -> f64, seed: u64) -> Growth {
        let mut random = Random::with_seed(seed);
        let points: Vec<(u64, f64)> =
            (0..=200).map(|i| (i * 100, value(i * 100, &mut random))).collect();
        growth(what, &points, None).unwrap()
    }

    /// Returns how many of 100 series grow.
    fn growing(what: GrowthOf, value: impl Fn(u64, &mut Random) -> f64) -> usize {
        (0..100).filter(|seed| of(what, &value, *seed).grows).count()
    }

    #[test]
    fn a_constant_amount_does_not_grow() {
        assert_eq!(growing(GrowthOf::Heap, |_, _| 4e6), 0);
        // Noise of 100 KB, then the sawtooth of PHP's cycle collector.
        assert!(growing(GrowthOf::Heap, |_, random| 4e6 + 1e5 * random.normal()) <= 5);
        assert_eq!(growing(GrowthOf::Heap, |served, _| 4e6 + (served % 1_700) as f64 * 800.0), 0);
        assert_eq!(
            growing(GrowthOf::Descriptors, |served, _| 9.0 + (served % 300 / 100) as f64),
            0
        );
        assert!(growing(GrowthOf::Memory, |_, random| 3e7 + 2e6 * random.normal().abs()) <= 5);
    }

    #[test]
    fn a_cache_that_is_full_does_not_grow() {
        let filling = |full: f64| {
            move |served: u64, random: &mut Random| {
                4e6 + 1e6 * (1.0 - (-(served as f64) / full).exp()) + 100.0 * random.normal()
            }
        };
        assert!(growing(GrowthOf::Heap, filling(500.0)) <= 3);
        // A cache that is never full grows.
        assert_eq!(growing(GrowthOf::Heap, filling(20_000.0)), 100);
        let step = |served: u64, _: &mut Random| if served < 9_000 { 4e6 } else { 6e6 };
        assert_eq!(growing(GrowthOf::Heap, step), 0);
    }

    #[test]
    fn ten_bytes_a_request_are_found_under_noise() {
        let slow =
            |served: u64, random: &mut Random| 4e6 + 10.0 * served as f64 + 2e4 * random.normal();
        assert_eq!(growing(GrowthOf::Heap, slow), 100);
        let found = of(GrowthOf::Heap, slow, 1);
        assert!(found.per_request_low < 10.0 && 10.0 < found.per_request_high, "{found:?}");
        assert_eq!((found.requests, found.begin.round() as u64 / 1_000_000), (REQUESTS * 4 / 5, 4));
    }

    #[test]
    fn a_leak_of_one_request_in_fifty_is_found() {
        let rare = |served: u64, _: &mut Random| 4e6 + (served / 50 * 1_000) as f64;
        let found = of(GrowthOf::Heap, rare, 1);
        assert!(found.grows && (found.per_request - 20.0).abs() < 0.5, "{found:?}");
        let teeth = |served: u64, random: &mut Random| {
            rare(served, random) + (served % 1_700) as f64 * 100.0
        };
        assert_eq!(growing(GrowthOf::Heap, teeth), 100);
    }

    #[test]
    fn memory_that_the_kernel_grants_in_steps_grows_like_the_heap() {
        let stairs = |served: u64, _: &mut Random| 3e7 + (served * 500 / 262_144 * 262_144) as f64;
        let found = of(GrowthOf::Memory, stairs, 1);
        assert!(found.grows && (found.per_request - 500.0).abs() < 30.0, "{found:?}");
        // 20 bytes a request are too few to show in pages.
        let small = |served: u64, _: &mut Random| 3e7 + (served * 20 / 4_096 * 4_096) as f64;
        assert_eq!(growing(GrowthOf::Memory, small), 0);
    }

    #[test]
    fn a_descriptor_in_a_hundred_requests_is_found() {
        let found = of(GrowthOf::Descriptors, |served, _| 12.0 + (served / 100) as f64, 1);
        assert!(found.grows && (found.per_request - 0.01).abs() < 1e-9, "{found:?}");
        // 80 % of the descriptors that were free after the first fifth: 1024 − 54.
        assert_eq!(found.max_requests, Some(77_000));
        let files = of(GrowthOf::TemporaryFiles, |served, _| (served / 100) as f64, 1);
        assert!(files.grows && files.max_requests.is_none());
    }

    #[test]
    fn a_worker_is_replaced_in_time() {
        let with = |per_request_high: f64, begin: f64, limit| {
            let leak = of(GrowthOf::Heap, |served, _| served as f64 * 1_000.0, 1);
            recycle(&Growth { per_request_high, begin, ..leak }, limit)
        };
        // 0.8 × (128 MiB − 28 MiB) ÷ 1000.
        assert_eq!(with(1_000.0, f64::from(28 << 20), None), Some(83_000));
        assert_eq!(with(1_000.0, f64::from(28 << 20), Some(64 << 20)), Some(30_000));
        assert_eq!(with(1e12, 0.0, None), Some(1));
        assert_eq!(with(1_000.0, 1e12, None), Some(1));
        let flat = of(GrowthOf::Heap, |_, _| 1e6, 1);
        assert_eq!((flat.grows, flat.max_requests), (false, None));
        assert_eq!([7, 99, 100, 129, 12_345].map(two_digits), [7, 99, 100, 120, 12_000]);
    }

    #[test]
    fn few_points_show_no_growth() {
        assert_eq!(growth(GrowthOf::Heap, &[], None), None);
        let few: Vec<(u64, f64)> = (0..15).map(|i| (i, i as f64)).collect();
        assert_eq!(growth(GrowthOf::Heap, &few, None), None);
    }
}
