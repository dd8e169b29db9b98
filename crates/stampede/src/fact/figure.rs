//! What was found of a figure that is expected otherwise.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

use super::{ChangeFound, Fact, Kind};
use crate::summary::words;

/// What was found of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Found {
    /// A request without a correct answer stands there.
    #[serde(rename = "failed")]
    Failed {},
    /// Its value.
    #[serde(rename = "value")]
    Value {
        /// In this unit.
        value: f64,
        /// The unit.
        unit: FigureUnit,
    },
    /// A lower bound of it.
    #[serde(rename = "at_least")]
    AtLeast {
        /// In this unit.
        value: f64,
        /// The unit.
        unit: FigureUnit,
    },
    /// Its change from another version or run.
    #[serde(rename = "change")]
    Change {
        /// Whether it is shown that the expectation is broken; false: it is not shown that it
        /// holds.
        is_shown: bool,
        /// By how much it changed.
        found: Fact<ChangeFound>,
    },
}

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureUnit {
    /// Nanoseconds.
    Ns,
    /// A share, 0 to 1.
    Share,
    /// Per second.
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
            Found::Change { is_shown: false, found } => write!(f, "not shown: {found}"),
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

/// Reads one; of format 1, which had text alone, what is shown in its own way.
///
/// # Errors
/// It is neither a text nor an object.
pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Fact<Found>, D::Error> {
    Ok(match Fact::deserialize(deserializer)? {
        Fact::Other(other) if other.is_bare() && other.text == FAILED => Found::Failed {}.into(),
        fact => fact,
    })
}

/// The same where it may be missing.
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
