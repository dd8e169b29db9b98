//! Estimates a value from trials, together with its uncertainty.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{bootstrap, t};

/// A value over trials, with its interval where there are enough trials for one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// Geometric mean of the trials' values: the value itself for one trial, and the arithmetic
    /// mean if a trial's value is not positive.
    pub value: f64,
    /// 95 % interval over trials, not requests: the requests of one trial share a warm cache and
    /// are not independent. `None` with fewer than three trials, and if a trial's value is not
    /// positive, because it has no log. The interval is Student's t on logs. From ten trials on, it
    /// is the smallest interval that contains that one and a bootstrap ([`bootstrap::interval`]). A
    /// bootstrap follows the skew, but alone it covers too seldom where tails are long.
    pub interval: Option<(f64, f64)>,
    /// Number of trials.
    pub trials: u32,
}

impl Estimate {
    /// Returns the estimate over the values of trials; `None` for an empty list.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let trials = u32::try_from(values.len()).ok().filter(|trials| *trials > 0)?;
        if let [value] = values {
            return Some(Estimate { value: *value, interval: None, trials });
        }
        if values.iter().any(|value| *value <= 0.0) {
            let value = values.iter().sum::<f64>() / f64::from(trials);
            return Some(Estimate { value, interval: None, trials });
        }
        let logs = Logs::of(values)?;
        let even = logs.interval(0.95);
        let interval = match values.len() < bootstrap::TRIALS_MIN {
            true => even,
            false => {
                let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
                let (low, high) = bootstrap::interval(&logs, 0.95);
                even.map(|(least, most)| (least.min(low.exp()), most.max(high.exp())))
            }
        };
        Some(Estimate { value: logs.mean.exp(), interval, trials })
    }
}

/// The logs of positive values: their mean and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Logs {
    /// Arithmetic mean of the logs.
    pub mean: f64,
    /// Standard error of that mean; zero for one value.
    pub error: f64,
    /// Degrees of freedom: the number of values less one.
    pub freedom: u32,
}

impl Logs {
    /// Returns the logs' summary; `None` for an empty list or a value that is not positive and
    /// finite.
    pub fn of(values: &[f64]) -> Option<Logs> {
        let count = u32::try_from(values.len()).ok().filter(|count| *count > 0)?;
        if values.iter().any(|value| *value <= 0.0 || !value.is_finite()) {
            return None;
        }
        let mean = values.iter().map(|value| value.ln()).sum::<f64>() / f64::from(count);
        let squares = values.iter().map(|value| (value.ln() - mean).powi(2)).sum::<f64>();
        let freedom = count - 1;
        let error = match freedom {
            0 => 0.0,
            _ => (squares / f64::from(freedom) / f64::from(count)).sqrt(),
        };
        Some(Logs { mean, error, freedom })
    }

    /// Returns the two-sided interval with coverage `level`, transformed back from logs; `None`
    /// below [`INTERVAL_VALUES_MIN`] values.
    pub fn interval(&self, level: f64) -> Option<(f64, f64)> {
        (self.freedom + 1 >= INTERVAL_VALUES_MIN).then(|| {
            let reach = t::quantile(0.5 + level / 2.0, self.freedom) * self.error;
            ((self.mean - reach).exp(), (self.mean + reach).exp())
        })
    }
}

/// Fewest values for an interval. Two values have one degree of freedom and an interval of 12.7
/// standard errors, which is useless.
pub(crate) const INTERVAL_VALUES_MIN: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_or_two_trials_have_no_interval() {
        let one = Estimate::of(&[5.0]).unwrap();
        assert_eq!((one.value, one.interval, one.trials), (5.0, None, 1));
        let two = Estimate::of(&[2.0, 8.0]).unwrap();
        assert!((two.value - 4.0).abs() < 1e-12);
        assert_eq!((two.interval, two.trials), (None, 2));
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn three_trials_give_the_t_interval_on_logs() {
        // Logs are ln 1, ln e, ln e²: mean 1, standard deviation 1, standard error 1/√3, t =
        // 4.3026527.
        let e = std::f64::consts::E;
        let estimate = Estimate::of(&[1.0, e, e * e]).unwrap();
        let reach = 4.302_652_729_7 / 3.0_f64.sqrt();
        let (low, high) = estimate.interval.unwrap();
        assert!((estimate.value - e).abs() < 1e-9);
        assert!((low / (1.0 - reach).exp() - 1.0).abs() < 1e-8);
        assert!((high / (1.0 + reach).exp() - 1.0).abs() < 1e-8);
    }

    #[test]
    fn from_ten_trials_on_the_interval_follows_the_skew() {
        let of = |values: &[f64]| Estimate::of(values).unwrap();
        let skewed = [1.0, 1.0, 1.01, 1.01, 1.02, 1.02, 1.03, 1.03, 1.5];
        let (nine, ten) = (of(&skewed), of(&[&skewed[..], &[1.6]].concat()));
        let sides = |of: &Estimate| {
            let (low, high) = of.interval.unwrap();
            (high / of.value).ln() / (of.value / low).ln()
        };
        assert!((sides(&nine) - 1.0).abs() < 1e-9, "t is even on logs: {nine:?}");
        assert!(sides(&ten) > 1.2, "the bootstrap is not: {ten:?}");
    }

    #[test]
    fn a_zero_has_no_log_and_no_interval() {
        let estimate = Estimate::of(&[0.0, 3.0, 6.0]).unwrap();
        assert_eq!((estimate.value, estimate.interval), (3.0, None));
    }
}
