//! Names the figures that a published column can have, with their units and the better direction.
//!
//! One table, [`NAMED`], has all names but those of percentiles. A figure has one base unit, in
//! which the measured values are given: ns, 1/s, a share of 1, %, bytes, or a plain number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a column of a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Figure {
    /// A percentile of the headline time, in tenths of a percent: 999 is p99.9. In ns. The headline
    /// time is response time in the open model and service time in the closed one.
    Percentile(u16),
    /// The mean of the headline time, in ns. `ab` prints it as the time per request.
    TimeMean,
    /// The longest headline time, in ns.
    TimeMax,
    /// `ab`'s time per request across all concurrent requests, in ns: 1 ÷ throughput.
    TimeAcrossAll,
    /// Correct answers per second.
    Throughput,
    /// Correct answers ÷ planned requests, 0 to 1.
    OkShare,
    /// The median of the CPU use, in %.
    CpuMedian,
    /// The highest CPU use, in %.
    CpuMax,
    /// CPU time per correct answer, in ns.
    CpuPerRequest,
    /// The median of the memory in use, in bytes.
    MemoryMedian,
    /// The most memory in use, in bytes.
    MemoryMax,
    /// Number of correct answers.
    OkCount,
    /// Length of the answer's body, in bytes.
    DocumentLength,
    /// Requests at once.
    Concurrency,
    /// Length of the load, in ns.
    TimeTaken,
    /// Number of requests that were answered.
    CompleteRequests,
    /// Number of requests that failed.
    FailedRequests,
    /// Number of requests that could not be written to their end.
    WriteErrors,
    /// Received bytes, with heads.
    TotalTransferred,
    /// Received bytes of bodies.
    HtmlTransferred,
    /// Received bytes per second.
    TransferRate,
}

/// Which values of a figure are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Lower ones: times, CPU, memory.
    Lower,
    /// Higher ones: throughput, the share of correct answers.
    Higher,
}

impl Figure {
    /// Returns the figure that a column's name means.
    pub(crate) fn named(name: &str) -> Option<Figure> {
        let known = NAMED.iter().find(|(known, ..)| *known == name);
        known.map(|(_, figure, ..)| *figure).or_else(|| percentile(name))
    }

    /// Returns which of its values are better. `None` for a figure that only describes the test:
    /// it depends on the test's length or on the app, and has no order.
    pub fn better(self) -> Option<Better> {
        match self {
            Figure::Percentile(_) => Some(Better::Lower),
            _ => self.row().and_then(|(.., better)| better),
        }
    }

    /// Whether a load of twice the length has twice of it.
    pub(crate) fn grows_with_length(self) -> bool {
        matches!(
            self,
            Figure::OkCount
                | Figure::TimeTaken
                | Figure::CompleteRequests
                | Figure::FailedRequests
                | Figure::WriteErrors
                | Figure::TotalTransferred
                | Figure::HtmlTransferred
        )
    }

    /// Returns the known units, each with its size in base units.
    pub(crate) fn units(self) -> &'static [(&'static str, f64)] {
        match self {
            Figure::Percentile(_) => TIME,
            _ => self.row().map_or(NUMBER, |(_, _, units, _)| units),
        }
    }

    fn row(self) -> Option<Row> {
        NAMED.iter().find(|(_, figure, ..)| *figure == self).copied()
    }
}

/// Returns the known names that are no percentiles, for suggestions.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ["p50", "p95", "p99"].into_iter().chain(NAMED.iter().map(|(name, ..)| *name))
}

/// Returns those of them whose values can be better or worse.
pub(crate) fn names_with_order() -> impl Iterator<Item = &'static str> {
    names().filter(|name| Figure::named(name).is_some_and(|figure| figure.better().is_some()))
}

/// Reads `p95` and `p99.9`.
fn percentile(name: &str) -> Option<Figure> {
    let digits = name.strip_prefix('p')?;
    let plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let percent: f64 = digits.parse().ok().filter(|_| plain)?;
    let tenths = percent * 10.0;
    let fits = tenths.fract() == 0.0 && tenths > 0.0 && tenths < 1000.0;
    fits.then_some(Figure::Percentile(tenths as u16))
}

/// A name, its figure, the units, and the better direction.
type Row = (&'static str, Figure, &'static [(&'static str, f64)], Option<Better>);

/// All names but those of percentiles. A second name of a figure is below its first.
const NAMED: &[Row] = &[
    ("mean", Figure::TimeMean, TIME, Some(Better::Lower)),
    ("time_per_request", Figure::TimeMean, TIME, Some(Better::Lower)),
    ("max", Figure::TimeMax, TIME, Some(Better::Lower)),
    ("time_per_request_across_all", Figure::TimeAcrossAll, TIME, Some(Better::Lower)),
    ("requests_per_second", Figure::Throughput, RATE, Some(Better::Higher)),
    ("throughput", Figure::Throughput, RATE, Some(Better::Higher)),
    ("ok", Figure::OkShare, SHARE, Some(Better::Higher)),
    ("cpu_median", Figure::CpuMedian, PERCENT, Some(Better::Lower)),
    ("cpu_max", Figure::CpuMax, PERCENT, Some(Better::Lower)),
    ("cpu_per_request", Figure::CpuPerRequest, TIME, Some(Better::Lower)),
    ("memory_median", Figure::MemoryMedian, BYTES, Some(Better::Lower)),
    ("memory_max", Figure::MemoryMax, BYTES, Some(Better::Lower)),
    ("ok_count", Figure::OkCount, NUMBER, None),
    ("document_length", Figure::DocumentLength, BYTES, None),
    ("concurrency", Figure::Concurrency, NUMBER, None),
    ("time_taken", Figure::TimeTaken, TIME, None),
    ("complete_requests", Figure::CompleteRequests, NUMBER, None),
    ("failed_requests", Figure::FailedRequests, NUMBER, None),
    ("write_errors", Figure::WriteErrors, NUMBER, None),
    ("total_transferred", Figure::TotalTransferred, BYTES, None),
    ("html_transferred", Figure::HtmlTransferred, BYTES, None),
    ("transfer_rate", Figure::TransferRate, BYTE_RATE, None),
];

const TIME: &[(&str, f64)] = &[("ms", 1e6), ("s", 1e9), ("us", 1e3), ("µs", 1e3), ("ns", 1.0)];
const RATE: &[(&str, f64)] = &[("1/s", 1.0), ("requests/s", 1.0), ("rps", 1.0)];
const SHARE: &[(&str, f64)] = &[("%", 0.01)];
const PERCENT: &[(&str, f64)] = &[("%", 1.0)];
/// `MB` is a million bytes, as SI says; `MiB` is 2²⁰.
const BYTES: &[(&str, f64)] = &[
    ("MiB", 1_048_576.0),
    ("MB", 1e6),
    ("GiB", 1_073_741_824.0),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("KB", 1e3),
    ("bytes", 1.0),
    ("B", 1.0),
];
const BYTE_RATE: &[(&str, f64)] = &[
    ("MiB/s", 1_048_576.0),
    ("MB/s", 1e6),
    ("KiB/s", 1024.0),
    ("KB/s", 1e3),
    ("bytes/s", 1.0),
    ("B/s", 1.0),
];
const NUMBER: &[(&str, f64)] =
    &[("requests", 1.0), ("responses", 1.0), ("connections", 1.0), ("errors", 1.0)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_have_tenths() {
        assert_eq!(Figure::named("p95"), Some(Figure::Percentile(950)));
        assert_eq!(Figure::named("p99.9"), Some(Figure::Percentile(999)));
        for wrong in ["p", "p0", "p100", "p99.99", "p-5", "p1e1", "95", "q95", "pinf", "pNaN"] {
            assert_eq!(Figure::named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_are_unique_and_lead_to_their_figures() {
        for (index, (name, figure, units, _)) in NAMED.iter().enumerate() {
            assert_eq!(Figure::named(name), Some(*figure));
            assert!(!NAMED[..index].iter().any(|(other, ..)| other == name), "{name}");
            assert!(!units.is_empty());
        }
    }

    #[test]
    fn what_describes_the_test_has_no_order() {
        assert_eq!(Figure::Percentile(950).better(), Some(Better::Lower));
        assert_eq!(Figure::Throughput.better(), Some(Better::Higher));
        assert_eq!(Figure::DocumentLength.better(), None);
    }
}
