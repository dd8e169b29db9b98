//! The time unit of the generator: nanoseconds on the monotonic clock.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number of nanoseconds on the monotonic clock: either a moment, counted from the start of the
/// load, or a length of time.
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
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// One second.
    pub const SECOND: Nanos = Nanos(1_000_000_000);

    /// `seconds` as nanoseconds; saturates at 584 years.
    #[inline]
    pub const fn from_secs(seconds: u64) -> Nanos {
        Nanos(seconds.saturating_mul(1_000_000_000))
    }

    /// `milliseconds` as nanoseconds; saturates.
    #[inline]
    pub const fn from_millis(milliseconds: u64) -> Nanos {
        Nanos(milliseconds.saturating_mul(1_000_000))
    }

    /// The value in seconds, for printing and division. 53 bits hold 104 days exactly to the
    /// nanosecond.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - other`; zero where `other` is later.
    #[inline]
    pub const fn since(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// `self + other`; saturates.
    #[inline]
    pub const fn plus(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl From<Duration> for Nanos {
    #[inline]
    fn from(duration: Duration) -> Nanos {
        Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    #[inline]
    fn from(nanos: Nanos) -> Duration {
        Duration::from_nanos(nanos.0)
    }
}
