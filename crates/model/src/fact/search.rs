//! The results of searches: for a runtime's capacity, and for the best settings.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{Fact, Kind, Reason, joined};
use crate::words;
use crate::words::target_rate;

/// The result of the search for a runtime's capacity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Limited {
    /// The capacity was found: longer trials meet the expectations at this rate, and not at a
    /// higher one.
    #[serde(rename = "found")]
    Found {
        /// Requests per second that very probably meet the expectations.
        capacity_per_second: f64,
        /// Requests per second that very probably do not meet them. Null: none is known.
        upper_per_second: Option<f64>,
    },
    /// Longer trials did not agree, or there was no time for them.
    #[serde(rename = "unconfirmed")]
    Unconfirmed {
        /// Requests per second that very probably meet the expectations. Null: none is known.
        capacity_per_second: Option<f64>,
        /// Requests per second that very probably do not meet them. Null: none is known.
        upper_per_second: Option<f64>,
    },
    /// The time ended before the interval was as narrow as asked for.
    #[serde(rename = "wide")]
    Wide {
        /// Requests per second that very probably meet the expectations. Null: none is known.
        capacity_per_second: Option<f64>,
        /// Requests per second that very probably do not meet them. Null: none is known.
        upper_per_second: Option<f64>,
        /// The width that the interval should have had: 0.1 for 10 %.
        precision: f64,
    },
    /// The capacity is higher than the generator can send.
    #[serde(rename = "at_least")]
    AtLeast {
        /// Requests per second that very probably meet the expectations. Null: none is known.
        capacity_per_second: Option<f64>,
    },
    /// One request at a time meets the expectations, but the lowest rate that was tried does not.
    #[serde(rename = "below")]
    Below {
        /// The lowest rate that was tried, in requests per second.
        lowest_per_second: f64,
    },
    /// One request at a time meets the expectations, and there was no time to try rates.
    #[serde(rename = "met_alone")]
    MetAlone {
        /// The throughput with one request at a time. Null: not known.
        throughput_per_second: Option<f64>,
    },
    /// One request at a time does not meet the expectations.
    #[serde(rename = "not_met_alone")]
    NotMetAlone {
        /// The reasons.
        #[schemars(schema_with = "reasons")]
        reasons: Vec<Fact<Reason>>,
    },
    /// The runtime was not measured.
    #[serde(rename = "not_measured")]
    NotMeasured {
        /// The reasons.
        #[schemars(schema_with = "reasons")]
        reasons: Vec<Fact<Reason>>,
    },
    /// The search ended before anything was known.
    #[serde(rename = "unknown")]
    Unknown {},
}

/// The result of the search for the best settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Tuned {
    /// The settings with the highest capacity.
    #[serde(rename = "best_capacity")]
    Capacity {
        /// The settings to choose.
        settings: BTreeMap<String, String>,
        /// The capacity with them, in requests per second.
        value_per_second: f64,
        /// Lower end of its interval. Null: there is none.
        low_per_second: Option<f64>,
        /// Upper end of its interval. Null: there is none.
        high_per_second: Option<f64>,
        /// Whether longer trials confirm it.
        is_confirmed: bool,
        /// Settings for which the highest value that was tried was best. Higher values may be even
        /// better.
        at_end: Vec<String>,
    },
    /// The settings with the lowest p95 of response time.
    #[serde(rename = "best_p95")]
    P95 {
        /// The settings to choose.
        settings: BTreeMap<String, String>,
        /// The p95 with them, in nanoseconds.
        value_ns: f64,
        /// Settings for which the highest value that was tried was best. Higher values may be even
        /// better.
        at_end: Vec<String>,
    },
    /// No choice of settings meets the expectations, not even with one request at a time.
    #[serde(rename = "no_settings_help")]
    Hopeless {
        /// The result with one request at a time.
        #[schemars(schema_with = "result")]
        result: Box<Fact<Limited>>,
    },
    /// Every choice of settings failed.
    #[serde(rename = "all_failed")]
    AllFailed {},
    /// The search ended before anything was known.
    #[serde(rename = "unknown")]
    Unknown {},
}

/// The reason why a choice of settings failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum ChoiceFailed {
    /// Its trials do not count, or do not meet the expectations.
    #[serde(rename = "trials_failed")]
    Trials {
        /// The reasons.
        #[schemars(schema_with = "reasons")]
        reasons: Vec<Fact<Reason>>,
    },
    /// No capacity was found for it.
    #[serde(rename = "no_capacity")]
    NoCapacity {
        /// What the search found instead.
        #[schemars(schema_with = "result")]
        result: Box<Fact<Limited>>,
    },
}

fn reasons(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "description": "Reasons: see `stampede schema facts`.", "type": "array", "items": {"type": "object"},
    })
}

fn result(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"description": "As `said` of a runtime in `capacity.json`.", "type": "object"})
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<f64>| value.map_or("?".to_owned(), target_rate);
        let between = |lower: &Option<f64>, upper: &Option<f64>| match (lower, upper) {
            (Some(low), Some(high)) => {
                format!("between {} and {}/s", target_rate(*low), target_rate(*high))
            }
            (None, Some(high)) => format!("below {}/s", target_rate(*high)),
            (_, None) => format!("{}/s or more", shown(lower)),
        };
        match self {
            Limited::Found { capacity_per_second, upper_per_second } => {
                let capacity = target_rate(*capacity_per_second);
                write!(f, "{capacity}/s ({}/s is too much)", shown(upper_per_second))
            }
            Limited::Unconfirmed { capacity_per_second, upper_per_second } => {
                let between = between(capacity_per_second, upper_per_second);
                write!(f, "{between}, not confirmed by longer trials")
            }
            Limited::Wide { capacity_per_second, upper_per_second, precision } => {
                let between = between(capacity_per_second, upper_per_second);
                let wanted = words::percent(precision * 100.0);
                write!(
                    f,
                    "{between}: --max-time ended before the interval was narrower than {wanted}"
                )
            }
            Limited::AtLeast { capacity_per_second } => {
                write!(f, "at least {}/s: the generator's limit", shown(capacity_per_second))
            }
            Limited::Below { lowest_per_second } => {
                write!(
                    f,
                    "one request at a time meets the expectations, but {}/s already does not",
                    target_rate(*lowest_per_second)
                )
            }
            Limited::MetAlone { throughput_per_second } => {
                f.write_str("one request at a time meets the expectations")?;
                if let Some(alone) = throughput_per_second {
                    write!(f, " ({}/s)", target_rate(alone.round()))?;
                }
                f.write_str("; --max-time ended before higher rates were tried")
            }
            Limited::NotMetAlone { reasons } => {
                write!(
                    f,
                    "one request at a time does not meet the expectations: {}",
                    joined(reasons)
                )
            }
            Limited::NotMeasured { reasons } => write!(f, "not measured: {}", joined(reasons)),
            Limited::Unknown {} => f.write_str(NOTHING_YET),
        }
    }
}

impl fmt::Display for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tuned::Capacity { settings, at_end, .. } => {
                write!(f, "best: {}, {}{}", listed(settings), self.bears(), beyond(at_end))
            }
            Tuned::P95 { settings, value_ns, at_end } => {
                let (p95, beyond) = (words::time(*value_ns), beyond(at_end));
                write!(f, "best: {}, p95 {p95}{beyond}", listed(settings))
            }
            Tuned::Hopeless { result } => {
                write!(f, "no setting that was tried meets the expectations: {result}")
            }
            Tuned::AllFailed {} => f.write_str("every choice of settings failed"),
            Tuned::Unknown {} => f.write_str(NOTHING_YET),
        }
    }
}

impl Tuned {
    fn bears(&self) -> String {
        let whole = |value: f64| target_rate(value.round());
        match self {
            Tuned::Capacity {
                low_per_second: Some(low),
                high_per_second: Some(high),
                is_confirmed,
                ..
            } => {
                let sure = if *is_confirmed { ", confirmed by longer trials" } else { "" };
                format!("handles {} to {}/s{sure}", whole(*low), whole(*high))
            }
            Tuned::Capacity { value_per_second, .. } => {
                format!("handles {}/s or more", whole(*value_per_second))
            }
            _ => String::new(),
        }
    }
}

impl fmt::Display for ChoiceFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChoiceFailed::Trials { reasons } => f.write_str(&joined(reasons)),
            ChoiceFailed::NoCapacity { result } => result.fmt(f),
        }
    }
}

fn listed(settings: &BTreeMap<String, String>) -> String {
    let each = settings.iter().map(|(name, value)| format!("{name}={value}"));
    each.collect::<Vec<_>>().join(" ")
}

fn beyond(at_end: &[String]) -> String {
    let each = at_end.iter().map(|name| {
        format!("; `{name}` was best at the highest value tried: try higher ones with `--set`")
    });
    each.collect()
}

const NOTHING_YET: &str = "nothing is known yet";

impl Kind for Limited {
    const NAME: &'static str = "Limited";
    const ABOUT: &'static str = "What the search for a runtime's limit found.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![Limited::json_schema(generator)]
    }
}

impl Kind for Tuned {
    const NAME: &'static str = "Tuned";
    const ABOUT: &'static str = "What the search for the best settings found.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![Tuned::json_schema(generator)]
    }
}

impl Kind for ChoiceFailed {
    const NAME: &'static str = "ChoiceFailed";
    const ABOUT: &'static str = "Why a choice of settings failed.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![ChoiceFailed::json_schema(generator)]
    }
}
