//! When a load ends itself: Yandex Tank's criteria in Tank's own syntax.
//!
//! Meanings are those of Tank's documentation and sources (module Autostop); where Tank's
//! figures are other than ours, `docs/fire.md` says how. Criteria look at whole seconds. A
//! second in which no request ended is passed over, as in Tank, but for `limit` and `instances`.

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
pub use judge::{Judge, Unfit};
pub use mask::Mask;

use crate::schedule::Written;
use crate::time::Nanos;

/// Criteria, at least one: `time(1s,10s) http(5xx,10%,5s)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Autostop {
    criteria: Vec<Criterion>,
}

/// One criterion. Each holds for so many seconds; the last value of its form says how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// `time(1s,10s)`: the mean time is above this, in each second of a row.
    Time {
        /// The bound.
        above: Nanos,
        /// How many seconds.
        seconds: u32,
    },
    /// `quantile(95,100ms,10s)`: the percentile is above this, in each second of a row.
    Quantile {
        /// Which.
        percentile: Percent,
        /// The bound.
        above: Nanos,
        /// How many seconds.
        seconds: u32,
    },
    /// `http(5xx,10%,5s)`, `net(xx,5,10s)` and their kin: answers whose code fits the mask.
    Codes {
        /// Statuses, or codes of the network.
        of: Codes,
        /// How seconds are put together.
        over: Over,
        /// Which codes.
        mask: Mask,
        /// From how many on.
        level: Level,
        /// How many seconds.
        seconds: u32,
    },
    /// `instances(90%,30s)`: more requests were under way, in each second of a row.
    Instances {
        /// More than this; a share is one of `max_in_flight`, or of the users.
        level: Level,
        /// How many seconds.
        seconds: u32,
    },
    /// `limit(5m)`: so long after the start.
    Limit {
        /// How long.
        length: Nanos,
    },
    /// `steady_cumulative(1m)`, `steady_cumulative(95,1m)`: percentiles of all requests so far,
    /// to two digits, are the same as a second before, in each second of a row.
    SteadyCumulative {
        /// This one alone; `None`: all that Tank looks at.
        percentile: Option<Percent>,
        /// How many seconds.
        seconds: u32,
    },
    /// `total_time(300ms,70%,3s)`: of the requests of the last seconds, this share took longer.
    TotalTime {
        /// The bound.
        above: Nanos,
        /// From this share on.
        share: Percent,
        /// How many seconds.
        seconds: u32,
    },
    /// `http_trend(2xx,10s)`: fewer such answers from second to second, by more than the
    /// error of that mean.
    HttpTrend {
        /// Which statuses.
        mask: Mask,
        /// How many seconds.
        seconds: u32,
    },
}

/// What a mask is laid over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codes {
    /// Statuses of HTTP; 0 for a request without a whole answer.
    Http,
    /// Tank's codes of the network, which are Linux' error numbers; 0 for a whole answer.
    Net,
}

/// How the seconds of a criterion are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Each second of a row has so many (`http`, `net`).
    Each,
    /// The last seconds together (`total_http`, `total_net`). A share is the mean of the
    /// seconds' shares, as in Tank.
    Total,
    /// The last seconds together, and codes that do *not* fit (`negative_http`, `negative_net`).
    Negative,
}

/// A bound on how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `25`.
    Count(u32),
    /// `10%`.
    Share(Percent),
}

/// A percentage in ten-thousandths of a percent: 95 % is 950 000. An integer, so that what is
/// printed is what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(pub u32);

impl Percent {
    /// All.
    pub const WHOLE: Percent = Percent(1_000_000);

    /// As a number from 0 to 100.
    pub fn percent(self) -> f64 {
        f64::from(self.0) / 1e4
    }
}

impl Autostop {
    /// Reads Tank's syntax; blanks and commas between criteria are free.
    ///
    /// # Errors
    /// Says where, what was expected and the nearest known name; see [`AutostopError`].
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
            Criterion::Time { above, seconds } => write!(f, "time({},{seconds}s)", Written(*above)),
            Criterion::Quantile { percentile, above, seconds } => {
                write!(f, "quantile({percentile},{},{seconds}s)", Written(*above))
            }
            Criterion::Codes { of, over, mask, level, seconds } => {
                write!(f, "{}({mask},{level},{seconds}s)", codes_name(*of, *over))
            }
            Criterion::Instances { level, seconds } => write!(f, "instances({level},{seconds}s)"),
            Criterion::Limit { length } => write!(f, "limit({})", Written(*length)),
            Criterion::SteadyCumulative { percentile: Some(percentile), seconds } => {
                write!(f, "steady_cumulative({percentile},{seconds}s)")
            }
            Criterion::SteadyCumulative { percentile: None, seconds } => {
                write!(f, "steady_cumulative({seconds}s)")
            }
            Criterion::TotalTime { above, share, seconds } => {
                write!(f, "total_time({},{share}%,{seconds}s)", Written(*above))
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
