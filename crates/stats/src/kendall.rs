//! Computes Kendall's tau-b: how well two orders of the same things agree.
//!
//! It is computed from pairs and not from ranks: of measured things, a and b may not differ, nor b
//! and c, while a and c do. No ranks can say that. Where ties do form groups, the result is the
//! usual tau-b.
//!
//! Source: Kendall, *A New Measure of Rank Correlation*, Biometrika 30, 1938; for ties *The
//! Treatment of Ties in Ranking Problems*, Biometrika 33, 1945.

use std::cmp::Ordering;

/// The number of pairs of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KendallPairs {
    /// Both orders have the pair in the same sequence.
    pub concordant: u64,
    /// The orders have the pair in opposite sequences.
    pub discordant: u64,
    /// The pair is a tie in the first order only.
    pub tied_first: u64,
    /// The pair is a tie in the second order only.
    pub tied_second: u64,
    /// The pair is a tie in both. It does not affect tau-b.
    pub tied_both: u64,
}

impl KendallPairs {
    /// Counts pairs. Each is given by how its one thing compares with its other in the first order,
    /// and in the second.
    pub fn of(pairs: impl IntoIterator<Item = (Ordering, Ordering)>) -> KendallPairs {
        let mut counts = KendallPairs::default();
        for (first, second) in pairs {
            *match (first, second) {
                (Ordering::Equal, Ordering::Equal) => &mut counts.tied_both,
                (Ordering::Equal, _) => &mut counts.tied_first,
                (_, Ordering::Equal) => &mut counts.tied_second,
                (first, second) if first == second => &mut counts.concordant,
                _ => &mut counts.discordant,
            } += 1;
        }
        counts
    }

    /// Counts all pairs of things with two values each, where only equal values are ties.
    pub fn of_values(values: &[(f64, f64)]) -> KendallPairs {
        let pairs = values.iter().enumerate().flat_map(|(index, (x, y))| {
            let others = values[index + 1..].iter();
            others.map(move |(a, b)| (x.total_cmp(a), y.total_cmp(b)))
        });
        KendallPairs::of(pairs)
    }

    /// Returns tau-b, from −1 (reversed) to 1 (the same order). `None` where an order has no pair
    /// that is not a tie.
    ///
    /// (C − D) ÷ √((C + D + T₁)(C + D + T₂)): a pair that is a tie in one order only lowers the
    /// size of tau-b, since that order says less than the other.
    pub fn tau(&self) -> Option<f64> {
        let sure = (self.concordant + self.discordant) as f64;
        let first = sure + self.tied_second as f64;
        let second = sure + self.tied_first as f64;
        let size = (first * second).sqrt();
        (size > 0.0).then(|| (self.concordant as f64 - self.discordant as f64) / size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tau(values: &[(f64, f64)]) -> Option<f64> {
        KendallPairs::of_values(values).tau()
    }

    /// 1 2 3 4 beside 1 3 2 4: of six pairs one is reversed, (5 − 1) ÷ 6.
    #[test]
    fn one_exchanged_pair_of_six() {
        let values = [(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 4.0)];
        let pairs = KendallPairs::of_values(&values);
        assert_eq!((pairs.concordant, pairs.discordant), (5, 1));
        assert!((pairs.tau().expect("pairs") - 4.0 / 6.0).abs() < 1e-12);
    }

    /// First order 1 1 2 3, second 1 2 2 3. Pairs: (1,2) a tie in the first, (2,3) a tie in the
    /// second, the other four agree. 4 ÷ √(5 × 5).
    #[test]
    fn ties_by_hand() {
        let values = [(1.0, 1.0), (1.0, 2.0), (2.0, 2.0), (3.0, 3.0)];
        let pairs = KendallPairs::of_values(&values);
        let expected =
            KendallPairs { concordant: 4, tied_first: 1, tied_second: 1, ..Default::default() };
        assert_eq!(pairs, expected);
        assert!((pairs.tau().expect("pairs") - 0.8).abs() < 1e-12);
    }

    #[test]
    fn without_an_order_there_is_no_tau() {
        assert_eq!(tau(&[]), None);
        assert_eq!(tau(&[(1.0, 2.0)]), None);
        assert_eq!(tau(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(tau(&[(1.0, 2.0), (1.0, 2.0)]), None);
    }

    /// a, b and c, where only a and c could be told apart: 1 ÷ √(3 × 1).
    #[test]
    fn ties_need_not_be_groups() {
        use Ordering::{Equal, Less};
        let pairs = KendallPairs::of([(Less, Equal), (Less, Equal), (Less, Less)]);
        assert!((pairs.tau().expect("pairs") - 1.0 / 3.0_f64.sqrt()).abs() < 1e-12);
    }

    /// Tau-b by its other definition: the correlation of the signs of all ordered pairs.
    fn correlation_of_signs(values: &[(f64, f64)]) -> Option<f64> {
        let sign = |a: f64, b: f64| (a > b) as i32 as f64 - (a < b) as i32 as f64;
        let (mut both, mut first, mut second) = (0.0, 0.0, 0.0);
        for one in values {
            for other in values {
                let (x, y) = (sign(one.0, other.0), sign(one.1, other.1));
                both += x * y;
                first += x * x;
                second += y * y;
            }
        }
        let size: f64 = (first * second).sqrt();
        (size > 0.0).then(|| both / size)
    }

    fn values() -> impl Strategy<Value = Vec<(f64, f64)>> {
        // Few different values, so that ties are frequent.
        let value = || (0_u8..6).prop_map(f64::from);
        prop::collection::vec((value(), value()), 0..12)
    }

    proptest! {
        #[test]
        fn it_is_the_correlation_of_signs(values in values()) {
            match (tau(&values), correlation_of_signs(&values)) {
                (Some(tau), Some(expected)) => prop_assert!((tau - expected).abs() < 1e-9),
                (tau, expected) => prop_assert_eq!(tau, expected),
            }
        }

        #[test]
        fn it_is_even_symmetric_and_between_minus_one_and_one(values in values()) {
            let swapped: Vec<_> = values.iter().map(|(x, y)| (*y, *x)).collect();
            prop_assert_eq!(tau(&values), tau(&swapped));
            let reversed: Vec<_> = values.iter().map(|(x, y)| (*x, -y)).collect();
            prop_assert_eq!(tau(&reversed), tau(&values).map(|tau| -tau));
            prop_assert!(tau(&values).is_none_or(|tau| tau.abs() <= 1.0 + 1e-12));
            let grown: Vec<_> = values.iter().map(|(x, y)| (x.exp(), y * 3.0 + 1.0)).collect();
            prop_assert_eq!(tau(&grown), tau(&values), "only the order matters");
        }

        #[test]
        fn every_pair_is_of_one_kind(values in values()) {
            let KendallPairs { concordant, discordant, tied_first, tied_second, tied_both } =
                KendallPairs::of_values(&values);
            let all = concordant + discordant + tied_first + tied_second + tied_both;
            prop_assert_eq!(all as usize, values.len() * values.len().saturating_sub(1) / 2);
        }

        #[test]
        fn an_order_agrees_with_itself(values in prop::collection::hash_set(0_u8..200, 2..20)) {
            let same: Vec<_> =
                values.iter().map(|value| (f64::from(*value), f64::from(*value))).collect();
            prop_assert_eq!(tau(&same), Some(1.0));
        }
    }
}
