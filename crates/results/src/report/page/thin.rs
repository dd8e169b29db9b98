//! Thins long series so that fewer points are drawn and the extremes are kept.

use super::model::Number;

/// The most rows that a chart on a wide screen can show separately.
pub const ROWS_MAX: usize = 1_200;

/// How rows are combined. Each `width` rows become two: the lowest and the highest value of each
/// column, in the order in which they occurred. These are the minimum and maximum of M4 (Jugel et
/// al., VLDB 2014), so no spike is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thinning {
    width: usize,
}

impl Thinning {
    /// The thinning for a number of rows. Rows that fit are left as they are.
    pub fn of(rows: usize) -> Thinning {
        match rows <= ROWS_MAX {
            true => Thinning { width: 1 },
            // An even width, so that each of the two rows covers whole seconds.
            false => Thinning { width: rows.div_ceil(ROWS_MAX / 2).next_multiple_of(2) },
        }
    }

    /// The number of original rows that one row of the result covers.
    pub fn step(self) -> usize {
        if self.width == 1 { 1 } else { self.width / 2 }
    }

    /// Thins a column with gaps.
    pub fn gaps(self, column: Vec<Option<Number>>) -> Vec<Option<Number>> {
        if self.width == 1 {
            return column;
        }
        column.chunks(self.width).flat_map(lowest_and_highest).collect()
    }

    /// Thins a column without gaps.
    pub fn whole(self, column: Vec<Number>) -> Vec<Number> {
        if self.width == 1 {
            return column;
        }
        let some = |bucket: &[Number]| bucket.iter().copied().map(Some).collect::<Vec<_>>();
        let thinned =
            column.chunks(self.width).flat_map(|bucket| lowest_and_highest(&some(bucket)));
        thinned.flatten().collect()
    }

    /// Thins the times of the rows: keeps the first time of each half.
    pub fn times(self, times: Vec<Number>) -> Vec<Number> {
        if self.width == 1 {
            return times;
        }
        let halves = times.chunks(self.width).flat_map(|bucket| {
            let middle = (bucket.len() / 2).min(bucket.len() - 1);
            [bucket[0], bucket[middle]]
        });
        halves.collect()
    }
}

fn lowest_and_highest(bucket: &[Option<Number>]) -> [Option<Number>; 2] {
    let there = || bucket.iter().enumerate().filter_map(|(at, one)| Some((at, (*one)?)));
    let lowest = there().min_by(|a, b| a.1.0.total_cmp(&b.1.0));
    // Among equal values the last, so that the two points are as far apart as possible.
    let highest = there().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
    match (lowest, highest) {
        (Some(low), Some(high)) if low.0 <= high.0 => [Some(low.1), Some(high.1)],
        (Some(low), Some(high)) => [Some(high.1), Some(low.1)],
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_series_is_not_thinned() {
        let column: Vec<Number> = (0..ROWS_MAX).map(|value| Number(value as f64)).collect();
        let thinning = Thinning::of(ROWS_MAX);
        assert_eq!((thinning.step(), thinning.whole(column.clone())), (1, column));
    }

    #[test]
    fn a_spike_of_one_second_in_a_day_is_kept() {
        let mut column = vec![Some(Number(1.0)); 86_400];
        column[40_000] = Some(Number(9.0));
        column[40_001] = Some(Number(0.5));
        let thinning = Thinning::of(column.len());
        let thinned = thinning.gaps(column);
        assert!(thinned.len() <= ROWS_MAX, "{}", thinned.len());
        let at = thinned.iter().position(|one| *one == Some(Number(9.0))).expect("the spike");
        assert_eq!(thinned[at + 1], Some(Number(0.5)), "in their order");
        assert_eq!(at * thinning.step() / 144, 40_000 / 144, "in its place");
    }

    proptest! {
        #[test]
        fn extremes_and_lengths_are_kept(values in prop::collection::vec(0.0..1e6_f64, 1..5_000)) {
            let column: Vec<Number> = values.iter().copied().map(Number).collect();
            let thinning = Thinning::of(column.len());
            let times = thinning.times(column.clone());
            let thinned = thinning.whole(column);
            prop_assert!(thinned.len() <= ROWS_MAX);
            prop_assert_eq!(thinned.len(), times.len());
            let extreme = |of: fn(f64, f64) -> f64, all: &mut dyn Iterator<Item = f64>| all.reduce(of);
            for of in [f64::min, f64::max] {
                let before = extreme(of, &mut values.iter().copied());
                prop_assert_eq!(extreme(of, &mut thinned.iter().map(|one| one.0)), before);
            }
        }
    }
}
