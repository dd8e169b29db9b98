//! Fits the Universal Scalability Law (Gunther, *Guerrilla Capacity Planning*, 2007): how
//! throughput grows with the number of workers.
//!
//! ```text
//! X(n) = λ n / (1 + σ (n − 1) + κ n (n − 1))
//! ```
//! σ is the cost of waiting for each other (contention), κ the cost of agreeing with each other
//! (coherency). The law describes what was measured and is never extrapolated.

use serde::{Deserialize, Serialize};

/// The law's three parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Usl {
    /// Throughput of one worker alone.
    pub lambda: f64,
    /// Contention, 0 or more.
    pub sigma: f64,
    /// Coherency, 0 or more.
    pub kappa: f64,
}

impl Usl {
    /// Fits (workers, capacity) points; `None` with fewer than four different numbers of workers. n
    /// ÷ X is a polynomial in n: n ÷ X = 1/λ · (1 + σ (n − 1) + κ n (n − 1)). So this is linear
    /// least squares in (1, n − 1, n (n − 1)), weighted by X ÷ n because errors of capacity are
    /// relative. A negative σ or κ has no meaning: it is left out, and the others are fitted again.
    pub fn fit(points: &[(f64, f64)]) -> Option<Usl> {
        let points: Vec<(f64, f64)> =
            points.iter().copied().filter(|(n, x)| *n > 0.0 && *x > 0.0).collect();
        let mut sizes: Vec<f64> = points.iter().map(|(n, _)| *n).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        if sizes.len() < 4 {
            return None;
        }
        let fitted =
            [[true, true, true], [true, true, false], [true, false, true], [true, false, false]]
                .into_iter()
                .filter_map(|used| {
                    let [a, b, c] = least_squares(&points, used)?;
                    (a > 0.0 && b >= 0.0 && c >= 0.0).then(|| Usl {
                        lambda: 1.0 / a,
                        sigma: b / a,
                        kappa: c / a,
                    })
                });
        fitted.min_by(|one, other| one.error(&points).total_cmp(&other.error(&points)))
    }

    /// Returns the throughput of this many workers.
    pub fn at(&self, workers: f64) -> f64 {
        let Usl { lambda, sigma, kappa } = self;
        lambda * workers / (1.0 + sigma * (workers - 1.0) + kappa * workers * (workers - 1.0))
    }

    fn error(&self, points: &[(f64, f64)]) -> f64 {
        points.iter().map(|(n, x)| (self.at(*n) / x).ln().powi(2)).sum()
    }
}

/// Returns the three coefficients, 0 for those not `used`; `None` where the points do not determine
/// them.
fn least_squares(points: &[(f64, f64)], used: [bool; 3]) -> Option<[f64; 3]> {
    let mut normal = [[0.0; 4]; 3];
    for (n, x) in points {
        let weight = x / n;
        let terms = [1.0, n - 1.0, n * (n - 1.0)];
        for row in 0..3 {
            for column in 0..3 {
                normal[row][column] += terms[row] * terms[column] * weight * weight;
            }
            normal[row][3] += terms[row] * weight;
        }
    }
    for (index, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
        normal.iter_mut().for_each(|row| row[index] = 0.0);
        normal[index] = [0.0; 4];
        normal[index][index] = 1.0;
    }
    solve(normal)
}

/// Solves the equations by Gauss' elimination with the largest pivot; `None` if they are singular.
fn solve(mut rows: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for column in 0..3 {
        let pivot =
            (column..3).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, pivot);
        if rows[column][column].abs() < f64::MIN_POSITIVE {
            return None;
        }
        for row in (0..3).filter(|row| *row != column) {
            let factor = rows[row][column] / rows[column][column];
            let from = rows[column];
            rows[row].iter_mut().zip(from).for_each(|(value, above)| *value -= factor * above);
        }
    }
    let value = |index: usize| rows[index][3] / rows[index][index];
    let solved = [value(0), value(1), value(2)];
    solved.iter().all(|value| value.is_finite()).then_some(solved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_generated_points_are_recovered() {
        let law = Usl { lambda: 20.0, sigma: 0.05, kappa: 0.001 };
        let points: Vec<(f64, f64)> =
            [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|n| (n, law.at(n))).to_vec();
        let found = Usl::fit(&points).unwrap();
        assert!((found.lambda - 20.0).abs() < 1e-6, "{found:?}");
        assert!((found.sigma - 0.05).abs() < 1e-8, "{found:?}");
        assert!((found.kappa - 0.001).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_straight_line_has_no_contention() {
        let found = Usl::fit(&[(1.0, 20.0), (2.0, 40.2), (4.0, 79.9), (8.0, 160.0)]).unwrap();
        assert!(found.sigma < 0.002 && found.kappa < 0.001 && found.sigma >= 0.0, "{found:?}");
        assert!((found.lambda - 20.0).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn three_points_are_too_few() {
        assert_eq!(Usl::fit(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (3.0, 3.1)]), None);
        assert_eq!(Usl::fit(&[]), None);
    }
}
