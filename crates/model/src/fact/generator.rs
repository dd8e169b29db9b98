//! Reasons about the load generator itself.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cause;
use crate::lag::LagMark;
use crate::words;

/// Something that the load generator did, or could not do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Generator {
    /// The generator started requests later than scheduled, and that shows in response times. Open
    /// model only.
    #[serde(rename = "generator_lag")]
    Lag {
        /// The figures of response time of which the generator's delay makes more than 5 % and
        /// 20 µs. Those that are printed only, such as the maximum, are left out.
        figures: Vec<LagMark>,
    },
    /// The generator did not send all requests although connections were free.
    #[serde(rename = "generator_short")]
    Short {
        /// Sent ÷ planned requests, 0 … 1.
        sent_share: f64,
    },
    /// A load thread of an open load was so busy that its own queueing affects the times.
    #[serde(rename = "generator_busy")]
    Busy {
        /// The share of its time that the busiest thread was busy, 0 … 1.
        busy_share: f64,
    },
    /// The generator limited a closed load: the runtime might have served more.
    #[serde(rename = "generator_limit")]
    Limit {
        /// Correct answers per second.
        rate_per_s: f64,
        /// The share of its time that the busiest thread was busy, 0 … 1.
        busy_share: f64,
    },
    /// A CPU quota stopped the generator at times.
    #[serde(rename = "generator_throttled")]
    Throttled {
        /// For how long, in nanoseconds.
        throttled_ns: u64,
    },
    /// Little's law does not hold for stampede's own counts: a bug of stampede.
    #[serde(rename = "bookkeeping_off")]
    Bookkeeping {
        /// Integrated gauge of requests in flight ÷ (requests started × mean service time).
        littles_law_ratio: f64,
        /// Mean number of requests in flight by the gauge. Null: not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        in_flight_mean: Option<f64>,
        /// The same number by Little's law: throughput × mean service time. Null: not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        in_flight_expected: Option<f64>,
    },
    /// Requests took longer than an hour and count as one hour.
    #[serde(rename = "times_clipped")]
    Clipped {
        /// Number of such requests.
        requests: u64,
    },
    /// Rows of single requests are missing, because the disk was too slow.
    #[serde(rename = "records_lost")]
    RecordsLost {
        /// Number of missing rows.
        requests: u64,
    },
    /// The load generator could not run.
    #[serde(rename = "load_failed")]
    Failed {
        /// The reason.
        cause: Cause,
    },
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Generator::Lag { figures } => match LagMark::sentence(figures) {
                Some(sentence) => write!(f, "the generator was late: {sentence}"),
                None => f.write_str("the generator was late"),
            },
            Generator::Short { sent_share } => {
                write!(f, "the generator sent only {:.2} % of the requests", sent_share * 100.0)
            }
            Generator::Busy { busy_share } => {
                let percent = busy_share * 100.0;
                write!(
                    f,
                    "a load thread was {percent:.0} % busy, near the generator's limit: lower the rate"
                )
            }
            Generator::Limit { rate_per_s, busy_share } => {
                let (rate, percent) = (words::rate(*rate_per_s), busy_share * 100.0);
                write!(
                    f,
                    "at least {rate}/s: the generator was at its limit ({percent:.0} % busy), so the runtime may \
                     serve more"
                )
            }
            Generator::Throttled { throttled_ns } => {
                let length = words::time(*throttled_ns as f64);
                write!(f, "a CPU quota held the generator back for {length}")
            }
            Generator::Bookkeeping {
                in_flight_mean: Some(mean),
                in_flight_expected: Some(expected),
                ..
            } => {
                let [mean, expected] = [*mean, *expected].map(words::significant);
                write!(
                    f,
                    "stampede's own counts do not agree: {mean} requests in flight on average, {expected} expected by \
                     Little's law; this is a bug of stampede: please report it"
                )
            }
            Generator::Bookkeeping { littles_law_ratio, .. } => write!(
                f,
                "stampede's own counts do not agree: Little's law gives {littles_law_ratio:.3} instead of 1; this is a \
                 bug of stampede: please report it"
            ),
            Generator::Clipped { requests } => {
                let requests = words::quantity(*requests, "request");
                write!(f, "{requests} took longer than an hour, counted as an hour")
            }
            Generator::RecordsLost { requests } => {
                let lost = words::quantity(*requests, "request");
                write!(f, "{lost} missing in the rows of requests: the disk was too slow")
            }
            Generator::Failed { cause } => cause.fmt(f),
        }
    }
}
