//! Finds where the distribution of a series changes, by distances between its values (E-divisive:
//! Matteson and James, JASA 109, 2014). It assumes no form of the noise: a permutation test says
//! whether the best split could be chance.

use crate::random::Random;

/// Returns where new distributions begin, without the beginning of the series, in order. Each part
/// of the series is split where the two sides differ most, as long as at most [`CHANCE`] of its
/// permutations have a split that differs as much. A side has `side_min` values at least.
pub fn begins(values: &[f64], side_min: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut parts = vec![(0, values.len())];
    while let Some((from, to)) = parts.pop() {
        let part = &values[from..to];
        let Some((at, differs)) = best_split(part, side_min.max(1)) else { continue };
        if differs > 0.0 && !is_chance(part, differs, side_min.max(1)) {
            found.push(from + at);
            parts.extend([(from, from + at), (from + at, to)]);
        }
    }
    found.sort_unstable();
    found
}

/// Share of permutations below which a split is no chance.
pub const CHANCE: f64 = 0.01;

/// Permutations of a test. The tenth that is as good ends it, so a part without a change takes few of
/// them.
const PERMUTATIONS: usize = 999;

/// The split whose sides differ most, and by how much: the energy distance of the sides, weighted
/// with their sizes. The right side may end before the part does: else a visit to another level
/// would hide in what follows it. `None`: the part is too short for two sides.
fn best_split(values: &[f64], side_min: usize) -> Option<(usize, f64)> {
    let within = Within::of(values);
    let mean = |sum: f64, size: f64| if size > 1.0 { 2.0 * sum / size / (size - 1.0) } else { 0.0 };
    let mut best: Option<(usize, f64)> = None;
    for end in 2 * side_min..=values.len() {
        for at in side_min..=end - side_min {
            let (left, right) = (within.sum(0, at), within.sum(at, end));
            let (n, m) = (at as f64, (end - at) as f64);
            let between = 2.0 * (within.sum(0, end) - left - right) / (n * m);
            let differs = n * m / (n + m) * (between - mean(left, n) - mean(right, m));
            if best.is_none_or(|(_, most)| differs > most) {
                best = Some((at, differs));
            }
        }
    }
    best
}

/// The sums of the distances between all values from one place up to another.
struct Within {
    sums: Vec<f64>,
    size: usize,
}

impl Within {
    fn of(values: &[f64]) -> Within {
        let size = values.len() + 1;
        let mut within = Within { sums: vec![0.0; size * size], size };
        for length in 2..size {
            for from in 0..size - length {
                let to = from + length;
                let outer = (values[from] - values[to - 1]).abs();
                let inner = within.sum(from, to - 1) + within.sum(from + 1, to);
                // What lies between the two ends is in both sums.
                let twice = within.sum(from + 1, to - 1);
                within.sums[from * size + to] = outer + inner - twice;
            }
        }
        within
    }

    /// The sum from a place up to another, which is not part of it.
    fn sum(&self, from: usize, to: usize) -> f64 {
        self.sums[from * self.size + to]
    }
}

/// Whether more than [`CHANCE`] of the permutations have a split that differs as much. The series
/// itself counts as one of them. The permutations are the same each time, because a report must not
/// change when it is printed again.
fn is_chance(values: &[f64], differs: f64, side_min: usize) -> bool {
    let most = (CHANCE * (PERMUTATIONS + 1) as f64) as usize;
    let mut random = Random::with_seed(values.len() as u64);
    let mut mixed = values.to_vec();
    let mut as_good = 1;
    for _ in 0..PERMUTATIONS {
        for at in (1..mixed.len()).rev() {
            mixed.swap(at, random.below(at + 1));
        }
        // Sums in another order differ in their last digits.
        let equal = differs * (1.0 - 1e-9);
        as_good +=
            usize::from(best_split(&mixed, side_min).is_some_and(|(_, found)| found >= equal));
        if as_good > most {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sides {0, 0} and {3, 3}: between 2 × 3, within 0, weight 2 × 2 ÷ 4.
    #[test]
    fn the_best_split_by_hand() {
        assert_eq!(best_split(&[0.0, 0.0, 3.0, 3.0], 1), Some((2, 6.0)));
        assert_eq!(best_split(&[0.0, 0.0, 3.0, 3.0], 2), Some((2, 6.0)));
        assert_eq!(best_split(&[0.0, 0.0, 3.0], 2), None);
        assert_eq!(best_split(&[1.0; 6], 2), Some((2, 0.0)));
        // 1, 3 and 4 from the first value, 2 and 3 from the second, 1 from the third.
        assert_eq!(Within::of(&[0.0, 1.0, 3.0, 4.0]).sum(0, 4), 14.0);
    }

    /// Of six values on each side, 2 of 924 orders are as good: 0.2 %. Of four, 2 of 70.
    #[test]
    fn few_values_show_nothing() {
        let series = |side: usize| -> Vec<f64> {
            (0..2 * side).map(|at| at as f64 * 0.01 + if at < side { 0.0 } else { 9.0 }).collect()
        };
        assert_eq!(begins(&series(6), 3), [6]);
        assert_eq!(begins(&series(4), 3), Vec::<usize>::new());
    }

    #[test]
    fn a_visit_to_another_level_has_two_ends() {
        let mut random = Random::with_seed(7);
        let level = |at: usize| if (12..24).contains(&at) { 1.0 } else { 0.0 };
        let values: Vec<f64> = (0..36).map(|at| level(at) + 0.1 * random.normal()).collect();
        assert_eq!(begins(&values, 3), [12, 24]);
    }

    proptest! {
        /// Neither scale nor origin matter, and a single wild value is no change.
        #[test]
        fn it_has_no_unit(seed in 0_u64..500, scale in 0.01_f64..100.0, origin in -5.0_f64..5.0) {
            let mut random = Random::with_seed(seed);
            let mut values: Vec<f64> =
                (0..24).map(|at| f64::from(u8::from(at >= 14)) + 0.1 * random.normal()).collect();
            let moved: Vec<f64> = values.iter().map(|value| origin + scale * value).collect();
            prop_assert_eq!(begins(&values, 3), begins(&moved, 3));
            values.iter_mut().skip(14).for_each(|value| *value -= 1.0);
            values[seed as usize % 24] += 50.0;
            let wild = begins(&values, 3);
            prop_assert!(wild.len() <= 1, "{:?}", wild);
        }
    }
}
