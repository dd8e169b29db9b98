//! The value that was found for a figure when an expectation about it does not hold.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

use super::{ChangeFound, Fact, Kind};
use crate::words;

/// The value that was found for a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Found {
    /// A request without a correct answer is at this rank.
    #[serde(rename = "failed")]
    Failed {},
    /// The value is known.
    #[serde(rename = "value")]
    Value {
        /// The value, in this unit.
        value: f64,
        /// The unit.
        unit: FigureUnit,
    },
    /// Only a lower bound of the value is known.
    #[serde(rename = "at_least")]
    AtLeast {
        /// The bound, in this unit.
        value: f64,
        /// The unit.
        unit: FigureUnit,
    },
    /// The figure changed from another version or run.
    #[serde(rename = "change")]
    Change {
        /// Whether the change is shown to break the expectation. False: the expectation is not
        /// shown to hold.
        is_shown: bool,
        /// By how much the figure changed.
        found: Fact<ChangeFound>,
    },
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureUnit {
    /// Nanoseconds.
    Ns,
    /// A share, 0 to 1.
    Share,
    /// A rate per second.
    PerSecond,
    /// Bytes.
    Bytes,
}

impl FigureUnit {
    fn words(self, value: f64) -> String {
        match self {
            FigureUnit::Ns => words::time(value),
            FigureUnit::Share => words::share(value),
            FigureUnit::PerSecond => format!("{} /s", words::rate(value)),
            FigureUnit::Bytes => words::bytes(value),
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Failed {} => f.write_str(FAILED),
            Found::Value { value, unit } => f.write_str(&unit.words(*value)),
            Found::AtLeast { value, unit } => write!(f, "at least {}", unit.words(*value)),
            Found::Change { is_shown: true, found } => write!(f, "{found}"),
            Found::Change { is_shown: false, found } => write!(f, "not proven: {found}"),
        }
    }
}

impl Kind for Found {
    const NAME: &'static str = "FoundFigure";
    const ABOUT: &'static str = "What was found of a figure that is expected otherwise.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![Found::json_schema(generator)]
    }
}

/// Reads a found figure. In format 1, which had only text, `failed` becomes [`Found::Failed`].
///
/// # Errors
/// The value is neither a text nor an object.
pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Fact<Found>, D::Error> {
    Ok(match Fact::deserialize(deserializer)? {
        Fact::Other(other) if other.is_bare() && other.text == FAILED => Found::Failed {}.into(),
        fact => fact,
    })
}

/// Reads a found figure that may be missing.
///
/// # Errors
/// As [`read`].
pub fn read_some<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Fact<Found>>, D::Error> {
    #[derive(Deserialize)]
    struct Read(#[serde(deserialize_with = "read")] Fact<Found>);
    Ok(Option::<Read>::deserialize(deserializer)?.map(|Read(found)| found))
}

const FAILED: &str = "failed";
