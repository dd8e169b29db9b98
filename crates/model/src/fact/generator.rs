//! Reasons about the load generator itself.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cause;
use crate::agents::Loss;
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
    /// An agent was lost during the load, so only a part of the load was sent.
    #[serde(rename = "agent_lost")]
    AgentLost {
        /// Name of the agent.
        agent: String,
        /// What happened to it.
        loss: Loss,
    },
    /// The requests of an agent do not add up. A bug of stampede, or something else that answers
    /// for an agent.
    #[serde(rename = "agent_miscounted")]
    AgentMiscounted {
        /// Name of the agent.
        agent: String,
        /// Requests that it says were due.
        planned: u64,
        /// Requests of its part of the schedule. Null: the load has no such number.
        expected: Option<u64>,
    },
    /// Agents that send the same requests to the same server see different service times: a bad
    /// machine, or a bad way to the server.
    #[serde(rename = "agents_differ")]
    AgentsDiffer {
        /// The agent with the longest median.
        slowest: String,
        /// Its median service time in nanoseconds.
        slowest_median_ns: u64,
        /// The agent with the shortest median.
        fastest: String,
        /// Its median service time in nanoseconds.
        fastest_median_ns: u64,
    },
    /// It is not known well enough when an agent started.
    #[serde(rename = "agent_start")]
    AgentStart {
        /// Name of the agent.
        agent: String,
        /// How far its start may have been from the common one, in nanoseconds.
        error_ns: u64,
    },
    /// The machine of an agent disturbed it.
    #[serde(rename = "agent_machine")]
    AgentMachine {
        /// Name of the agent.
        agent: String,
        /// The share of its CPU time that its host took away, 0 … 1. Null: too little to tell.
        steal_share: Option<f64>,
        /// For how long a CPU quota held it back, in nanoseconds. Null: not at all.
        throttled_ns: Option<u64>,
        /// The name of its clock source, if that is slow to read. Null: it is fast.
        slow_clock: Option<String>,
    },
    /// The load generator could not run.
    #[serde(rename = "load_failed")]
    Failed {
        /// The reason.
        cause: Cause,
    },
}

const NEAR_LIMIT: &str = "near the generator's limit: lower the rate";
const AGENTS_DIFFER: &str = "agents disagree: the median service time";

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
                write!(f, "a load thread was {percent:.0} % busy, {NEAR_LIMIT}")
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
            Generator::AgentLost { .. }
            | Generator::AgentMiscounted { .. }
            | Generator::AgentsDiffer { .. }
            | Generator::AgentStart { .. }
            | Generator::AgentMachine { .. } => self.write_about_agents(f),
            Generator::Failed { cause } => f.write_str(&cause.with_todo()),
        }
    }
}

impl Generator {
    /// Writes the sentence of a reason about agents.
    fn write_about_agents(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Generator::AgentLost { agent, loss } => {
                write!(f, "agent {agent} was lost: {loss}; the other agents were stopped")
            }
            Generator::AgentMiscounted { agent, planned, expected } => {
                let part =
                    |expected| format!(": {planned}, and its part of the schedule has {expected}");
                let part = expected.filter(|expected| expected != planned).map(part);
                write!(f, "the requests of agent {agent} do not add up{}", part.unwrap_or_default())
            }
            Generator::AgentsDiffer { slowest, slowest_median_ns, fastest, fastest_median_ns } => {
                let slow = words::time(*slowest_median_ns as f64);
                let fast = words::time(*fastest_median_ns as f64);
                write!(f, "{AGENTS_DIFFER} is {slow} from {slowest} and {fast} from {fastest}")
            }
            Generator::AgentStart { agent, error_ns: ns } => {
                write!(
                    f,
                    "the start of agent {agent} is known only to ±{}",
                    words::time(*ns as f64)
                )
            }
            Generator::AgentMachine { agent, .. } => {
                write!(f, "agent {agent} was disturbed: {}", self.disturbances().join("; "))
            }
            _ => Ok(()),
        }
    }

    /// What disturbed an agent, in words. Empty: this is about something else.
    fn disturbances(&self) -> Vec<String> {
        let Generator::AgentMachine { steal_share, throttled_ns, slow_clock, .. } = self else {
            return Vec::new();
        };
        let steal = steal_share.map(|share| {
            format!("its host took {:.1} % of the CPU time away (steal)", share * 100.0)
        });
        let throttled = throttled_ns
            .map(|ns| format!("a CPU quota held it back for {}", words::time(ns as f64)));
        let clock =
            slow_clock.as_ref().map(|name| format!("its clock source `{name}` is slow to read"));
        [steal, throttled, clock].into_iter().flatten().collect()
    }
}
