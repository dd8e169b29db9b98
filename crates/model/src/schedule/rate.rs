//! An exact target rate, in millionths of a request per second.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests per second in millionths. An integer, so that counts over a whole schedule are
/// exact: `const(0.1,10s)` is one request, not 0.9999 of one.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(try_from = "f64", into = "f64")]
pub struct MicroRate(pub u64);

/// A rate as data: requests per second. An `f64` holds the millionths of all allowed rates exactly.
impl From<MicroRate> for f64 {
    fn from(rate: MicroRate) -> f64 {
        rate.per_second()
    }
}

impl TryFrom<f64> for MicroRate {
    type Error = RateError;

    fn try_from(per_second: f64) -> Result<MicroRate, RateError> {
        match per_second * MicroRate::ONE.0 as f64 {
            micro if micro > MicroRate::HIGHEST.0 as f64 => Err(RateError::TooHigh),
            micro if micro >= 0.0 => Ok(MicroRate(micro.round() as u64)),
            _ => Err(RateError::Malformed),
        }
    }
}

/// Why a text is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// Not a decimal number with at most six decimals.
    #[error("not a rate")]
    Malformed,
    /// Above [`MicroRate::HIGHEST`].
    #[error("above 10 000 000 per second")]
    TooHigh,
}

impl MicroRate {
    /// 10 million requests per second, more than the loopback of one machine carries.
    pub const HIGHEST: MicroRate = MicroRate(10_000_000 * MicroRate::ONE.0);

    /// One request per second.
    pub const ONE: MicroRate = MicroRate(1_000_000);

    /// The rate as a number, for printing and division.
    pub fn per_second(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// Parses a rate: digits, with at most six decimals.
///
/// # Errors
/// Not such a number, or above [`MicroRate::HIGHEST`].
pub fn parse_rate(text: &str) -> Result<MicroRate, RateError> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(RateError::Malformed);
    }
    if fraction.len() > 6 {
        return Err(RateError::Malformed);
    }
    // A number with too many digits for an integer is too high a rate.
    let whole: u64 =
        if whole.is_empty() { 0 } else { whole.parse().map_err(|_| RateError::TooHigh)? };
    let fraction: u64 = format!("{fraction:0<6}").parse().map_err(|_| RateError::Malformed)?;
    match whole.checked_mul(MicroRate::ONE.0).and_then(|micro| micro.checked_add(fraction)) {
        Some(micro) if micro <= MicroRate::HIGHEST.0 => Ok(MicroRate(micro)),
        _ => Err(RateError::TooHigh),
    }
}

impl fmt::Display for MicroRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.0 / MicroRate::ONE.0, self.0 % MicroRate::ONE.0);
        if fraction == 0 {
            return write!(f, "{whole}");
        }
        let fraction = format!("{fraction:06}");
        write!(f, "{whole}.{}", fraction.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_as_people_write_them() {
        for (text, micro, written) in [
            ("100", 100_000_000, "100"),
            ("0.5", 500_000, "0.5"),
            ("1.10", 1_100_000, "1.1"),
            (".25", 250_000, "0.25"),
            ("5.", 5_000_000, "5"),
            ("10000000", MicroRate::HIGHEST.0, "10000000"),
        ] {
            assert_eq!(parse_rate(text), Ok(MicroRate(micro)), "{text}");
            assert_eq!(MicroRate(micro).to_string(), written);
        }
        for text in ["", ".", "-1", "1e3", "1 000", "0.1234567", "1.2.3", "+1", "NaN"] {
            assert_eq!(parse_rate(text), Err(RateError::Malformed), "{text}");
        }
        for text in ["10000000.000001", "99999999999999999999999999"] {
            assert_eq!(parse_rate(text), Err(RateError::TooHigh), "{text}");
        }
    }
}
