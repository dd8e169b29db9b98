//! Names the figures that are made of a set of times: mean, percentiles, maximum.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stampede_stats::percentile::{BoundedValue, CutOff, Percentile, Ranked};

/// The name of a figure of a set of times. In files it is its name: `mean`, `p99.9`, `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stat {
    /// Arithmetic mean.
    Mean,
    /// A percentile, in tenths of a percent: 999 is p99.9.
    Percentile(u32),
    /// The longest time.
    Max,
}

impl Stat {
    /// All of them, in the order of tables.
    pub const ALL: [Stat; 11] = [
        Stat::Mean,
        Stat::Percentile(500),
        Stat::Percentile(750),
        Stat::Percentile(800),
        Stat::Percentile(850),
        Stat::Percentile(900),
        Stat::Percentile(950),
        Stat::Percentile(980),
        Stat::Percentile(990),
        Stat::Percentile(999),
        Stat::Max,
    ];

    /// The percentile of this rank. `None`: it is not one of `ALL`.
    pub fn percentile(percent: f64) -> Option<Stat> {
        let is_it = |stat: &Stat| match stat {
            Stat::Percentile(tenths) => f64::from(*tenths) / 10.0 == percent,
            Stat::Mean | Stat::Max => false,
        };
        Stat::ALL.into_iter().find(is_it)
    }

    /// The figure's value in ns, or its lower bound. `None`: it is that of a failed request, or
    /// there are too few requests.
    pub fn of(self, ranked: Ranked<'_>, cut_off: CutOff) -> Option<f64> {
        let bounded = |bounded| match bounded {
            BoundedValue::Exactly(ns) | BoundedValue::AtLeast(ns) => Some(ns),
            BoundedValue::Failed | BoundedValue::Empty => None,
        };
        match self {
            Stat::Mean => bounded(ranked.mean(cut_off)),
            Stat::Max => bounded(ranked.max(cut_off)),
            Stat::Percentile(tenths) => match ranked.percentile(f64::from(tenths) / 10.0) {
                Percentile::At(ns) => Some(ns as f64),
                Percentile::Failed | Percentile::TooFew => None,
            },
        }
    }
}

impl fmt::Display for Stat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stat::Mean => f.write_str("mean"),
            Stat::Max => f.write_str("max"),
            Stat::Percentile(tenths) if tenths % 10 == 0 => write!(f, "p{}", tenths / 10),
            Stat::Percentile(tenths) => write!(f, "p{}.{}", tenths / 10, tenths % 10),
        }
    }
}

impl Serialize for Stat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Stat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Stat, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Stat::ALL.into_iter().find(|stat| stat.to_string() == name);
        known.ok_or_else(|| D::Error::custom(format!("`{name}` is not a figure of times")))
    }
}

impl JsonSchema for Stat {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Stat".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Stat::ALL.map(|stat| stat.to_string()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_written_by_its_name_and_read_again() {
        let text = serde_json::to_string(&Stat::ALL).expect("JSON");
        let names = r#"["mean","p50","p75","p80","p85","p90","p95","p98","p99","p99.9","max"]"#;
        assert_eq!(text, names);
        assert_eq!(serde_json::from_str::<Vec<Stat>>(&text).expect("figures"), Stat::ALL);
        assert!(serde_json::from_str::<Stat>("\"p42\"").is_err());
    }
}
