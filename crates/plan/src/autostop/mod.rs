//! Criteria by which a load ends itself: Yandex Tank's criteria in Tank's own syntax.
//!
//! They have the meaning of Tank's documentation and sources (module Autostop). Where Tank's
//! figures differ from ours, `docs/fire.md` says how. Criteria judge whole seconds. A second in
//! which no request ended is skipped, as in Tank, except by `limit` and `instances`.

mod codes;
mod error;
mod guard;
mod judge;
mod mask;
mod parse;

use std::fmt;
use std::str::FromStr;

pub use codes::{net_code, net_code_of};
pub use error::{AutostopError, Problem};
pub use guard::Guard;
pub use judge::{Judge, UnsupportedMask};
pub use mask::Mask;

use stampede_model::quantity::LengthText;
use stampede_model::time::Nanos;

/// One or more criteria: `time(1s,10s) http(5xx,10%,5s)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Autostop {
    criteria: Vec<Criterion>,
}

/// One criterion. It must hold for a number of seconds, which is the last value of its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// `time(1s,10s)`: the mean time is above this, in each of consecutive seconds.
    Time {
        /// The bound.
        above: Nanos,
        /// Number of seconds.
        seconds: u32,
    },
    /// `quantile(95,100ms,10s)`: the percentile is above this, in each of consecutive seconds.
    Quantile {
        /// The percentile.
        percentile: Percent,
        /// The bound.
        above: Nanos,
        /// Number of seconds.
        seconds: u32,
    },
    /// `http(5xx,10%,5s)`, `net(xx,5,10s)` and similar ones: answers whose code matches the mask.
    Codes {
        /// HTTP statuses or network codes.
        of: Codes,
        /// How seconds are combined.
        over: Over,
        /// The codes that match.
        mask: Mask,
        /// The bound, from which on the criterion holds.
        level: Level,
        /// Number of seconds.
        seconds: u32,
    },
    /// `instances(90%,30s)`: more requests were in flight, in each of consecutive seconds.
    Instances {
        /// The bound, which must be exceeded. A share is one of `max_in_flight`, or of the
        /// concurrency.
        level: Level,
        /// Number of seconds.
        seconds: u32,
    },
    /// `limit(5m)`: this time after the start.
    Limit {
        /// Time since the start.
        length: Nanos,
    },
    /// `steady_cumulative(1m)`, `steady_cumulative(95,1m)`: percentiles of all requests so far are
    /// the same as a second before, to two digits, in each of consecutive seconds.
    SteadyCumulative {
        /// The only percentile to compare; `None`: all that Tank compares.
        percentile: Option<Percent>,
        /// Number of seconds.
        seconds: u32,
    },
    /// `total_time(300ms,70%,3s)`: of the requests of the last seconds, at least this share took
    /// longer.
    TotalTime {
        /// The bound.
        above: Nanos,
        /// The share, from which on the criterion holds.
        share: Percent,
        /// Number of seconds.
        seconds: u32,
    },
    /// `http_trend(2xx,10s)`: the number of such answers falls from second to second. Its mean
    /// change is negative by more than the standard error of that mean.
    HttpTrend {
        /// The statuses that match.
        mask: Mask,
        /// Number of seconds.
        seconds: u32,
    },
}

/// Which codes a mask is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codes {
    /// HTTP statuses; 0 for a request without a whole answer.
    Http,
    /// Tank's network codes, which are the error numbers of Linux; 0 for a whole answer.
    Net,
}

/// How the seconds of a criterion are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The bound is reached in each of consecutive seconds (`http`, `net`).
    Each,
    /// The last seconds are taken together (`total_http`, `total_net`). A share is the mean of the
    /// shares of the seconds, as in Tank.
    Total,
    /// Like `Total`, for the codes that do *not* match (`negative_http`, `negative_net`).
    Negative,
}

/// A bound on a number of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A count, such as `25`.
    Count(u32),
    /// A share, such as `10%`.
    Share(Percent),
}

/// A percentage in ten-thousandths of a percent: 95 % is 950 000. It is an integer, so that it is
/// printed exactly as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(pub u32);

impl Percent {
    /// 100 %.
    pub const WHOLE: Percent = Percent(1_000_000);

    /// The percentage as a number from 0 to 100.
    pub fn percent(self) -> f64 {
        f64::from(self.0) / 1e4
    }
}

impl Autostop {
    /// Parses Tank's syntax; blanks and commas between criteria are optional.
    ///
    /// # Errors
    /// Says where the mistake is, what was expected and the nearest known name; see
    /// [`AutostopError`].
    pub fn parse(text: &str) -> Result<Autostop, AutostopError> {
        parse::criteria(text).map(|criteria| Autostop { criteria })
    }

    /// The criteria as written.
    pub fn criteria(&self) -> &[Criterion] {
        &self.criteria
    }
}

impl FromStr for Autostop {
    type Err = AutostopError;

    fn from_str(text: &str) -> Result<Autostop, AutostopError> {
        Autostop::parse(text)
    }
}

impl fmt::Display for Autostop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, criterion) in self.criteria.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            write!(f, "{space}{criterion}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Criterion::Time { above, seconds } => {
                write!(f, "time({},{seconds}s)", LengthText(*above))
            }
            Criterion::Quantile { percentile, above, seconds } => {
                write!(f, "quantile({percentile},{},{seconds}s)", LengthText(*above))
            }
            Criterion::Codes { of, over, mask, level, seconds } => {
                write!(f, "{}({mask},{level},{seconds}s)", codes_name(*of, *over))
            }
            Criterion::Instances { level, seconds } => write!(f, "instances({level},{seconds}s)"),
            Criterion::Limit { length } => write!(f, "limit({})", LengthText(*length)),
            Criterion::SteadyCumulative { percentile: Some(percentile), seconds } => {
                write!(f, "steady_cumulative({percentile},{seconds}s)")
            }
            Criterion::SteadyCumulative { percentile: None, seconds } => {
                write!(f, "steady_cumulative({seconds}s)")
            }
            Criterion::TotalTime { above, share, seconds } => {
                write!(f, "total_time({},{share}%,{seconds}s)", LengthText(*above))
            }
            Criterion::HttpTrend { mask, seconds } => write!(f, "http_trend({mask},{seconds}s)"),
        }
    }
}

fn codes_name(of: Codes, over: Over) -> &'static str {
    match (of, over) {
        (Codes::Http, Over::Each) => "http",
        (Codes::Http, Over::Total) => "total_http",
        (Codes::Http, Over::Negative) => "negative_http",
        (Codes::Net, Over::Each) => "net",
        (Codes::Net, Over::Total) => "total_net",
        (Codes::Net, Over::Negative) => "negative_net",
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Count(count) => write!(f, "{count}"),
            Level::Share(share) => write!(f, "{share}%"),
        }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 10_000, self.0 % 10_000);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let rest = format!("{rest:04}");
        write!(f, "{whole}.{}", rest.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests;
