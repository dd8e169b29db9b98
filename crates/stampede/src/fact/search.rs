//! What a search found: of a runtime's limit, and of the best settings.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{Fact, Kind, Reason, joined};
use crate::capacity::text::rate;
use crate::summary::words;

/// What the search for a runtime's limit found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Limited {
    /// The limit, met by longer trials, and not by one above it.
    #[serde(rename = "found")]
    Found {
        /// Met in all likelihood.
        capacity_per_second: f64,
        /// Not met in all likelihood; null: none is known.
        upper_per_second: Option<f64>,
    },
    /// Longer trials did not agree, or there was no time for them.
    #[serde(rename = "unconfirmed")]
    Unconfirmed {
        /// Met in all likelihood; null: none is known.
        capacity_per_second: Option<f64>,
        /// Not met in all likelihood; null: none is known.
        upper_per_second: Option<f64>,
    },
    /// The time was over before it was as narrow as wanted.
    #[serde(rename = "wide")]
    Wide {
        /// Met in all likelihood; null: none is known.
        capacity_per_second: Option<f64>,
        /// Not met in all likelihood; null: none is known.
        upper_per_second: Option<f64>,
        /// How wide the interval was to be: 0.1 for 10 %.
        precision: f64,
    },
    /// More than the generator can offer.
    #[serde(rename = "at_least")]
    AtLeast {
        /// Met in all likelihood.
        capacity_per_second: Option<f64>,
    },
    /// One user alone is served as expected, and not the lowest rate that was tried.
    #[serde(rename = "below")]
    Below {
        /// That rate.
        lowest_per_second: f64,
    },
    /// One user alone is served as expected, and there was no time for more.
    #[serde(rename = "met_alone")]
    MetAlone {
        /// What one user alone got; null: not known.
        throughput_per_second: Option<f64>,
    },
    /// One user alone is not served as expected.
    #[serde(rename = "not_met_alone")]
    NotMetAlone {
        /// Why.
        #[schemars(schema_with = "reasons")]
        reasons: Vec<Fact<Reason>>,
    },
    /// It was not measured.
    #[serde(rename = "not_measured")]
    NotMeasured {
        /// Why.
        #[schemars(schema_with = "reasons")]
        reasons: Vec<Fact<Reason>>,
    },
    /// Ended before anything was known.
    #[serde(rename = "unknown")]
    Unknown {},
}

/// What the search for the best settings found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Tuned {
    /// Settings that bear the most.
    #[serde(rename = "best_capacity")]
    Capacity {
        /// The settings to choose.
        settings: BTreeMap<String, String>,
        /// Capacity with them.
        value_per_second: f64,
        /// Lower end of its interval; null: none.
        low_per_second: Option<f64>,
        /// Upper end of its interval; null: none.
        high_per_second: Option<f64>,
        /// Whether longer trials agree.
        is_confirmed: bool,
        /// Settings of which the highest value that was tried was chosen: more may bring more.
        at_end: Vec<String>,
    },
    /// Settings with the lowest p95 of response time.
    #[serde(rename = "best_p95")]
    P95 {
        /// The settings to choose.
        settings: BTreeMap<String, String>,
        /// p95 with them.
        value_ns: f64,
        /// Settings of which the highest value that was tried was chosen: more may bring more.
        at_end: Vec<String>,
    },
    /// One user alone is not served as expected, whatever the settings.
    #[serde(rename = "no_settings_help")]
    Hopeless {
        /// What one user alone showed.
        #[schemars(schema_with = "result")]
        result: Box<Fact<Limited>>,
    },
    /// Every choice of settings failed.
    #[serde(rename = "all_failed")]
    AllFailed {},
    /// Ended before anything was known.
    #[serde(rename = "unknown")]
    Unknown {},
}

/// Why a choice of settings failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum ChoiceFailed {
    /// Its trials do not count, or do not meet what is expected.
    #[serde(rename = "trials_failed")]
    Trials {
        /// Why.
        #[schemars(schema_with = "reasons")]
        reasons: Vec<Fact<Reason>>,
    },
    /// No capacity was found.
    #[serde(rename = "no_capacity")]
    NoCapacity {
        /// What was found instead.
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
        let shown = |value: &Option<f64>| value.map_or("?".to_owned(), rate);
        let between = |lower: &Option<f64>, upper: &Option<f64>| match (lower, upper) {
            (Some(low), Some(high)) => format!("between {} and {}/s", rate(*low), rate(*high)),
            (None, Some(high)) => format!("below {}/s", rate(*high)),
            (_, None) => format!("{}/s or more", shown(lower)),
        };
        match self {
            Limited::Found { capacity_per_second, upper_per_second } => {
                let capacity = rate(*capacity_per_second);
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
                    rate(*lowest_per_second)
                )
            }
            Limited::MetAlone { throughput_per_second } => {
                f.write_str("one request at a time meets the expectations")?;
                if let Some(alone) = throughput_per_second {
                    write!(f, " ({}/s)", rate(alone.round()))?;
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
        let whole = |value: f64| rate(value.round());
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
