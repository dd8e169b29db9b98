//! Estimates the slope of a series so that single outliers do not matter.

use crate::normal;

/// The slope of a series with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// Median of the slopes between all pairs of points.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Fewest points for a slope. With fewer, the interval would span all slopes of any two points, and
/// would still be too narrow.
pub const POINTS_MIN: usize = 8;

/// Returns the slope of points `(x, y)` with an interval of coverage `level`. `None` with fewer
/// than [`POINTS_MIN`] different x, or if a coordinate is not finite.
///
/// The slope is Theil's median of slopes (*A rank-invariant method of linear and polynomial
/// regression analysis*, 1950). The interval is Sen's, from Kendall's statistic (*Estimates of the
/// regression coefficient based on Kendall's tau*, JASA 63, 1968). 29 of 100 points may be
/// arbitrary. Kendall's variance assumes independent points. For autocorrelated ones it is
/// multiplied as by Hamed and Rao (*A modified Mann-Kendall trend test for autocorrelated data*,
/// Journal of Hydrology 204, 1998). Only lags before the first insignificant one count, and the
/// factor is 1 or more.
pub fn slope(points: &[(f64, f64)], level: f64) -> Option<Slope> {
    if points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return None;
    }
    let mut points = thinned(points);
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let places = 1 + points.windows(2).filter(|two| two[0].0 < two[1].0).count();
    if points.is_empty() || places < POINTS_MIN {
        return None;
    }
    let mut slopes: Vec<f64> = points
        .iter()
        .enumerate()
        .flat_map(|(i, one)| {
            let later = points[i + 1..].iter().filter(|other| other.0 > one.0);
            later.map(|other| (other.1 - one.1) / (other.0 - one.0))
        })
        .collect();
    slopes.sort_unstable_by(f64::total_cmp);
    let value = median(&slopes);
    let reach = normal::quantile(0.5 + level / 2.0)
        * (variance(&points) * autocorrelation_factor(&points, value)).sqrt();
    // Ranks of the interval's ends, counted from 1 and rounded outwards.
    let count = slopes.len() as f64;
    let (low, high) = (((count - reach) / 2.0).floor(), ((count + reach) / 2.0).ceil() + 1.0);
    let at = |rank: f64| slopes[rank.clamp(1.0, count) as usize - 1];
    Some(Slope { value, low: at(low), high: at(high) })
}

/// Largest number of points: 500 000 slopes take a tenth of a second.
const POINTS_MAX: usize = 1_000;

/// Returns every n-th point if there are more than [`POINTS_MAX`].
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points.iter().step_by(points.len().div_ceil(POINTS_MAX).max(1)).copied().collect()
}

/// Returns the median of sorted values.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[middle],
        _ => 0.5 * (sorted[middle - 1] + sorted[middle]),
    }
}

/// Returns the variance of Kendall's statistic where y does not depend on x. Equal values make it
/// smaller (Sen's formula, for ties in x and y).
fn variance(points: &[(f64, f64)]) -> f64 {
    let term = |count: f64| count * (count - 1.0) * (2.0 * count + 5.0);
    let ties = |mut values: Vec<f64>| -> f64 {
        values.sort_unstable_by(f64::total_cmp);
        values.chunk_by(|one, other| one == other).map(|same| term(same.len() as f64)).sum()
    };
    let xs = points.iter().map(|point| point.0).collect();
    let ys = points.iter().map(|point| point.1).collect();
    ((term(points.len() as f64) - ties(xs) - ties(ys)) / 18.0).max(0.0)
}

/// Returns the factor by which autocorrelation of the points increases the variance.
fn autocorrelation_factor(points: &[(f64, f64)], slope: f64) -> f64 {
    let count = points.len() as f64;
    let ranks = ranks(&points.iter().map(|(x, y)| y - slope * x).collect::<Vec<_>>());
    let mean = (count + 1.0) / 2.0;
    let spread: f64 = ranks.iter().map(|rank| (rank - mean).powi(2)).sum();
    if spread == 0.0 {
        return 1.0;
    }
    let alike = |lag: usize| {
        let pairs = ranks.iter().zip(&ranks[lag..]);
        pairs.map(|(one, other)| (one - mean) * (other - mean)).sum::<f64>() / spread
    };
    let told = 1.96 / count.sqrt();
    let sum: f64 = (1..ranks.len() - 2)
        .map(|lag| (lag, alike(lag)))
        .take_while(|(_, alike)| *alike > told)
        .map(|(lag, alike)| {
            let left = count - lag as f64;
            left * (left - 1.0) * (left - 2.0) * alike
        })
        .sum();
    1.0 + 2.0 / (count * (count - 1.0) * (count - 2.0)) * sum
}

/// Returns the ranks of values, counted from 1; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for same in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = below as f64 + (same.len() as f64 + 1.0) / 2.0;
        same.iter().for_each(|index| ranks[*index] = rank);
        below += same.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn numbered(values: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
        (0..).map(f64::from).zip(values).collect()
    }

    #[test]
    fn a_quarter_of_the_points_may_be_outliers() {
        let mut points = numbered((0..12).map(|x| 2.0 * f64::from(x) + 1.0));
        points[2].1 = 1e9;
        points[5].1 = -1e9;
        points[11].1 = 1e12;
        assert_eq!(slope(&points, 0.95).unwrap().value, 2.0);
    }

    /// Ten points: N = 45, variance 10·9·25 ÷ 18 = 125, reach 1.96·√125 = 21.9, so ranks 11 and 35.
    #[test]
    fn the_interval_is_that_of_sen() {
        let ys = [1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0, 6.0, 5.0, 10.0];
        let points = numbered(ys);
        let mut slopes: Vec<f64> = (0..10)
            .flat_map(|i| (i + 1..10).map(move |j| (ys[j] - ys[i]) / (j - i) as f64))
            .collect();
        slopes.sort_by(f64::total_cmp);
        let found = slope(&points, 0.95).unwrap();
        assert_eq!((found.low, found.value, found.high), (slopes[10], slopes[22], slopes[34]));
    }

    #[test]
    fn a_straight_line_has_an_exact_slope_and_a_flat_one_zero() {
        let rising = slope(&numbered((0..100).map(f64::from)), 0.95).unwrap();
        assert_eq!(rising, Slope { value: 1.0, low: 1.0, high: 1.0 });
        let flat = slope(&numbered([3.0; 50]), 0.95).unwrap();
        assert_eq!(flat, Slope { value: 0.0, low: 0.0, high: 0.0 });
    }

    #[test]
    fn too_few_points_or_none_in_order_have_no_slope() {
        assert_eq!(slope(&numbered([1.0; 7]), 0.95), None);
        assert_eq!(slope(&[(1.0, 2.0); 50], 0.95), None);
        assert_eq!(slope(&numbered([f64::NAN; 50]), 0.95), None);
        assert_eq!(slope(&[], 0.95), None);
        let mut backwards = numbered((0..20).map(f64::from));
        backwards.reverse();
        assert_eq!(slope(&backwards, 0.95).unwrap().value, 1.0);
    }

    #[test]
    fn very_many_points_are_thinned() {
        let many = numbered((0..100_000).map(|x| 0.5 * f64::from(x)));
        assert_eq!(slope(&many, 0.95).unwrap().value, 0.5);
    }

    /// Returns how many intervals of 1000 series contain the true slope.
    fn covered(mut noise: impl FnMut(&mut Random) -> Vec<f64>) -> usize {
        let mut random = Random::with_seed(1);
        (0..1_000)
            .filter(|_| {
                let noise = noise(&mut random);
                let points =
                    numbered(noise.iter().enumerate().map(|(x, off)| 0.3 * x as f64 + off));
                let found = slope(&points, 0.95).unwrap();
                (found.low..=found.high).contains(&0.3)
            })
            .count()
    }

    /// The nominal coverage is 95 %; five standard errors of 1000 series are 3.4 %.
    #[test]
    fn the_interval_covers_as_often_as_it_says() {
        let even = covered(|random| (0..40).map(|_| random.normal()).collect());
        assert!((916..=990).contains(&even), "{even}");
        // Cauchy's distribution has neither mean nor variance.
        let wild = covered(|random| (0..40).map(|_| random.normal() / random.normal()).collect());
        assert!((916..=990).contains(&wild), "{wild}");
    }

    /// The points' variance is (1 + 0.6) ÷ (1 − 0.6) = 4 times Kendall's, which alone would cover
    /// 67 %.
    #[test]
    fn autocorrelation_widens_the_interval() {
        let alike = covered(|random| {
            let mut last = random.normal();
            let next = |random: &mut Random| {
                last = 0.6 * last + 0.8 * random.normal();
                last
            };
            std::iter::repeat_with({
                let mut next = next;
                move || next(random)
            })
            .take(80)
            .collect()
        });
        assert!(alike >= 850, "{alike}");
    }
}
