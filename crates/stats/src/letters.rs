//! Groups rows by significance, all pairs at once: rows without a common letter differ.

use crate::compare::MARGIN;
use crate::estimate::INTERVAL_VALUES_MIN;
use crate::{t, tukey};

/// Returns the letters of `values[case][round]`, the best cell first. Two cells without a common
/// letter differ by more than [`MARGIN`], with p < 0.05 for all pairs together (Tukey's test on the
/// blocked analysis of variance of the logs). Ties are not transitive: a may equal b, and b equal
/// c, while a and c differ. So ranks cannot be shared, but letters can.
///
/// The method is insert and absorb (Piepho, *An Algorithm for a Letter-Based Representation of
/// All-Pairwise Comparisons*, Journal of Computational and Graphical Statistics 13, 2004). A cell
/// with fewer than three rounds has no letters. No cell has any if fewer than two have three
/// rounds.
pub fn significance_groups(values: &[Vec<Option<f64>>]) -> Vec<String> {
    let Some(fit) = BlockFit::fit(values) else { return vec![String::new(); values.len()] };
    let columns = columns(fit.cases.len(), |one, other| fit.differ(one, other));
    let mut of_cases = vec![String::new(); values.len()];
    for (place, &case) in fit.cases.iter().enumerate() {
        let own = columns.iter().enumerate().filter(|(_, column)| column[place]);
        of_cases[case] = own.map(|(index, _)| letter(index)).collect();
    }
    of_cases
}

/// Returns `a` to `z`, `A` to `Z`, then `a1` to `z1` …
fn letter(index: usize) -> String {
    let place = u8::try_from(index % 52).unwrap_or(0);
    let letter = char::from(if place < 26 { b'a' + place } else { b'A' + place - 26 });
    match index / 52 {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}

/// Returns the columns of a compact letter display of `count` rows. No column contains two rows
/// that differ. Every two rows that do not differ are together in some column.
fn columns(count: usize, differ: impl Fn(usize, usize) -> bool) -> Vec<Vec<bool>> {
    let mut columns = vec![vec![true; count]];
    for one in 0..count {
        for other in one + 1..count {
            if differ(one, other) {
                columns =
                    columns.into_iter().flat_map(|column| split(column, one, other)).collect();
                columns = without_contained(columns);
            }
        }
    }
    // The first row gets the first letter.
    columns.sort_by(|a, b| b.cmp(a));
    columns
}

/// Splits a column that contains both rows into two columns, each without one of them.
fn split(column: Vec<bool>, one: usize, other: usize) -> Vec<Vec<bool>> {
    if !(column[one] && column[other]) {
        return vec![column];
    }
    let without = |row: usize| {
        let mut column = column.clone();
        column[row] = false;
        column
    };
    vec![without(one), without(other)]
}

/// Removes the columns that are contained in others.
fn without_contained(columns: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    let holds = |outer: &[bool], inner: &[bool]| {
        inner.iter().zip(outer).all(|(inner, outer)| !inner || *outer)
    };
    let is_kept = |(index, column): &(usize, &Vec<bool>)| {
        !columns.iter().enumerate().any(|(other, outer)| {
            // Of two equal columns, the first stays.
            other != *index && holds(outer, column) && (outer != *column || other < *index)
        })
    };
    columns.iter().enumerate().filter(is_kept).map(|(_, column)| column.clone()).collect()
}

/// A least-squares fit of logs as cell + round + noise; a round may lack cells.
#[derive(Clone, Debug)]
pub struct BlockFit {
    /// Indices of the fitted cells: those with three rounds or more.
    pub cases: Vec<usize>,
    /// Effects of those cells on logs, up to a common constant.
    pub(crate) effects: Vec<f64>,
    /// Covariance of the effects in units of the noise's variance, up to a constant.
    pub(crate) covariance: Vec<Vec<f64>>,
    /// Variance of the noise.
    pub(crate) variance: f64,
    /// Degrees of freedom of that variance.
    pub(crate) freedom: u32,
}

impl BlockFit {
    /// Fits `values[case][round]`. `None` if fewer than two cells have three rounds, if a value is
    /// not positive, or if common rounds do not connect all cells.
    pub fn fit(values: &[Vec<Option<f64>>]) -> Option<BlockFit> {
        let rounds_of = |case: &Vec<Option<f64>>| case.iter().flatten().count();
        let cases: Vec<usize> = (0..values.len())
            .filter(|&case| rounds_of(&values[case]) >= INTERVAL_VALUES_MIN as usize)
            .collect();
        let rounds = cases.iter().map(|&case| values[case].len()).max().unwrap_or(0);
        let log = |place: usize, round: usize| {
            values[cases[place]].get(round).copied().flatten().map(f64::ln)
        };
        let all = || {
            (0..cases.len())
                .flat_map(|place| (0..rounds).filter_map(move |round| log(place, round)))
        };
        if cases.len() < 2 || all().any(|log| !log.is_finite()) {
            return None;
        }
        let (reduced, sums) = reduced(cases.len(), rounds, &log);
        let covariance = inverse(reduced)?;
        let effects: Vec<f64> = covariance
            .iter()
            .map(|row| row.iter().zip(&sums).map(|(share, sum)| share * sum).sum())
            .collect();
        let (mut squares, mut held) = (0.0, 0);
        for round in 0..rounds {
            let left: Vec<f64> = (0..cases.len())
                .filter_map(|place| Some(log(place, round)? - effects[place]))
                .collect();
            let mean = left.iter().sum::<f64>() / left.len().max(1) as f64;
            squares += left.iter().map(|left| (left - mean).powi(2)).sum::<f64>();
            held += usize::from(!left.is_empty());
        }
        let freedom =
            (all().count() + 1).checked_sub(cases.len() + held).filter(|freedom| *freedom > 0)?;
        Some(BlockFit {
            cases,
            effects,
            covariance,
            variance: squares / freedom as f64,
            freedom: u32::try_from(freedom).ok()?,
        })
    }

    /// Returns first ÷ second, as a ratio of geometric means; both are positions in `cases`.
    pub fn ratio(&self, first: usize, second: usize) -> f64 {
        (self.effects[first] - self.effects[second]).exp()
    }

    /// Returns the chance that two equal cells are this far apart, for all pairs together (Tukey;
    /// Kramer's form where rounds lack cells).
    pub fn p_value(&self, first: usize, second: usize) -> f64 {
        let q = self.range(first, second);
        tukey::upper_tail(q, self.cases.len() as u32, self.freedom)
    }

    /// Returns whether two cells differ significantly and by more than [`MARGIN`].
    pub fn differ(&self, first: usize, second: usize) -> bool {
        if (self.effects[first] - self.effects[second]).abs() <= MARGIN.ln() {
            return false;
        }
        // A single pair has Student's chance, and all pairs together at most that times their
        // number. Only between those bounds is the integral needed, which costs a millisecond.
        let alone = 2.0 * t::upper_tail(self.range(first, second) / 2.0_f64.sqrt(), self.freedom);
        let pairs = (self.cases.len() * (self.cases.len() - 1) / 2) as f64;
        match alone {
            alone if alone >= 0.05 => false,
            alone if alone * pairs < 0.05 => true,
            _ => self.p_value(first, second) < 0.05,
        }
    }

    /// Returns how far apart two cells are, in standard errors of one.
    fn range(&self, first: usize, second: usize) -> f64 {
        let of = &self.covariance;
        let spread = of[first][first] + of[second][second] - 2.0 * of[first][second];
        let error = (self.variance * spread / 2.0).sqrt();
        (self.effects[first] - self.effects[second]).abs() / error
    }
}

/// Returns the normal equations of the cells' effects after those of the rounds are eliminated. A
/// constant added to each entry makes the matrix regular; it affects only what all cells have in
/// common.
fn reduced(
    cases: usize,
    rounds: usize,
    log: &impl Fn(usize, usize) -> Option<f64>,
) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut left = vec![vec![1.0 / cases as f64; cases]; cases];
    let mut right = vec![0.0; cases];
    for round in 0..rounds {
        let there: Vec<(usize, f64)> =
            (0..cases).filter_map(|place| Some((place, log(place, round)?))).collect();
        let count = there.len() as f64;
        let mean = there.iter().map(|(_, log)| log).sum::<f64>() / count;
        for &(place, log) in &there {
            left[place][place] += 1.0;
            right[place] += log - mean;
            for &(other, _) in &there {
                left[place][other] -= 1.0 / count;
            }
        }
    }
    (left, right)
}

/// Returns the inverse of a symmetric matrix, by Gauss and Jordan with pivots; `None` if it is
/// singular.
fn inverse(mut left: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let count = left.len();
    let one = |row: usize| (0..count).map(|column| f64::from(row == column)).collect();
    let mut right: Vec<Vec<f64>> = (0..count).map(one).collect();
    for column in 0..count {
        let size = |row: &usize| left[*row][column].abs();
        let pivot = (column..count).max_by(|a, b| size(a).total_cmp(&size(b)))?;
        if left[pivot][column].abs() < SINGULAR {
            return None;
        }
        left.swap(column, pivot);
        right.swap(column, pivot);
        let scale = 1.0 / left[column][column];
        for matrix in [&mut left, &mut right] {
            matrix[column].iter_mut().for_each(|entry| *entry *= scale);
        }
        let factors: Vec<f64> = left.iter().map(|row| row[column]).collect();
        for matrix in [&mut left, &mut right] {
            let pivot = matrix[column].clone();
            let others = matrix.iter_mut().zip(&factors).enumerate();
            for (_, (row, factor)) in others.filter(|(row, _)| *row != column) {
                row.iter_mut().zip(&pivot).for_each(|(entry, pivot)| *entry -= factor * pivot);
            }
        }
    }
    Some(right)
}

/// Entries are about the number of rounds; a pivot below this is a rounding error of zero.
const SINGULAR: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(values: &[&[f64]]) -> Vec<Vec<Option<f64>>> {
        values.iter().map(|row| row.iter().map(|value| Some(*value)).collect()).collect()
    }

    #[test]
    fn ties_are_not_transitive() {
        // a and b do not differ, nor do b and c; a and c do.
        let columns = columns(3, |one, other| (one, other) == (0, 2));
        assert_eq!(columns, [[true, true, false], [false, true, true]]);
        assert_eq!([letter(0), letter(27), letter(52)], ["a", "B", "a1"]);
    }

    #[test]
    fn very_different_cases_have_own_letters_and_round_effects_cancel_out() {
        // Each round is twice as slow as the one before; the blocks remove that.
        let values = whole(&[
            &[1.00, 2.01, 4.00, 8.02],
            &[1.01, 2.00, 4.03, 8.00],
            &[1.20, 2.41, 4.79, 9.61],
        ]);
        assert_eq!(significance_groups(&values), ["a", "a", "b"]);
    }

    /// The balanced case by hand: logs 0, 0.1 and 0.5 with noise ±(0.01, −0.01, 0, 0). The sum of
    /// the residuals' squares is known.
    #[test]
    fn the_p_value_is_tukeys_on_the_block_fit() {
        let noise = [[0.01_f64, -0.01, 0.0, 0.0], [-0.01, 0.01, 0.0, 0.0], [0.0; 4]];
        let values: Vec<Vec<Option<f64>>> = [0.0, 0.1, 0.5]
            .iter()
            .zip(noise)
            .map(|(effect, noise)| noise.map(|noise| Some((effect + noise).exp())).to_vec())
            .collect();
        let fit = BlockFit::fit(&values).unwrap();
        // The noise's rows and columns sum to zero, so all of it is residual: 4 × 0.0001 with (3 −
        // 1) × (4 − 1) degrees of freedom.
        let error = (4.0 * 1e-4 / 6.0 / 4.0_f64).sqrt();
        assert!((fit.ratio(1, 0).ln() - 0.1).abs() < 1e-12);
        assert!((fit.range(0, 1) - 0.1 / error).abs() < 1e-6);
        assert_eq!(fit.freedom, 6);
        assert!((fit.p_value(0, 1) - tukey::upper_tail(0.1 / error, 3, 6)).abs() < 1e-9);
    }

    #[test]
    fn a_round_may_lack_a_case() {
        let mut values =
            whole(&[&[1.0, 2.02, 4.0, 8.0], &[1.5, 3.0, 6.02, 12.0], &[1.5, 3.02, 6.0, 12.0]]);
        values[0][3] = None;
        values[2][0] = None;
        assert_eq!(significance_groups(&values), ["a", "b", "b"]);
        // The effects are those of the rounds that both cells have: a round's pace does not affect
        // them.
        let fit = BlockFit::fit(&values).unwrap();
        assert!((fit.ratio(1, 0) - 1.5).abs() < 0.01, "{}", fit.ratio(1, 0));
    }

    #[test]
    fn two_rounds_a_zero_or_unconnected_rounds_have_no_letters() {
        let none = ["", ""];
        assert_eq!(significance_groups(&whole(&[&[1.0, 1.0], &[2.0, 2.0]])), none);
        assert_eq!(significance_groups(&whole(&[&[1.0, 0.0, 1.0], &[2.0, 2.0, 2.0]])), none);
        let (here, gone) = (Some(1.0), None);
        let apart =
            [vec![here, here, here, gone, gone, gone], vec![gone, gone, gone, here, here, here]];
        assert_eq!(significance_groups(&apart), none);
        // The third cell has too few rounds; it does not affect the others' letters.
        let mixed = vec![vec![Some(1.0); 3], vec![Some(2.0); 3], vec![Some(1.0), None, None]];
        assert_eq!(significance_groups(&mixed), ["a", "b", ""]);
    }

    #[test]
    fn a_significant_difference_within_the_margin_does_not_count() {
        let values = whole(&[&[1.0, 1.0001, 1.0, 1.0001], &[1.02, 1.0201, 1.0201, 1.02]]);
        let fit = BlockFit::fit(&values).unwrap();
        assert!(fit.p_value(0, 1) < 1e-4, "it is sure");
        assert_eq!(significance_groups(&values), ["a", "a"]);
    }

    proptest! {
        /// A letter display guarantees this for any relation.
        #[test]
        fn two_cases_share_a_letter_exactly_if_they_do_not_differ(
            count in 1_usize..9,
            apart in prop::collection::vec(any::<bool>(), 81),
        ) {
            let differ = |one: usize, other: usize| apart[one.min(other) * 9 + one.max(other)];
            let columns = columns(count, differ);
            for one in 0..count {
                prop_assert!(columns.iter().any(|column| column[one]), "each has a letter");
                for other in one + 1..count {
                    let share = columns.iter().any(|column| column[one] && column[other]);
                    prop_assert_eq!(share, !differ(one, other));
                }
            }
        }
    }
}
