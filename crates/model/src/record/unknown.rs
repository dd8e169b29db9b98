//! Reads records of later versions: unknown values are left out, so that the rest can be read.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads `None` in place of an unknown value.
pub fn or_none<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(known(Value::deserialize(deserializer)?))
}

/// Reads a map without its unknown values.
pub fn known_values<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let all = BTreeMap::<String, Value>::deserialize(deserializer)?;
    Ok(all.into_iter().filter_map(|(name, value)| Some((name, known(value)?))).collect())
}

fn known<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::record::{CustomBuild, RuntimeRecord, SentRecord, Spread};

    #[test]
    fn an_unknown_spread_of_a_later_version_is_none_and_the_rest_is_read() {
        let sent = |arrivals: &str| -> SentRecord {
            let written = json!({"app_kind": "script", "requests": "GET /", "arrivals": arrivals});
            serde_json::from_value(written).expect("a record")
        };
        assert_eq!(sent("poisson").arrivals, Some(Spread::Poisson));
        let newer = sent("bursts");
        assert_eq!((newer.arrivals, newer.requests.as_str()), (None, "GET /"));
    }

    #[test]
    fn builds_of_a_later_version_are_left_out() {
        let mut written = serde_json::to_value(RuntimeRecord::default()).expect("JSON");
        written["custom_builds"] = json!({"rr": "library", "php": "patched"});
        let read: RuntimeRecord = serde_json::from_value(written).expect("a record");
        assert_eq!(read.custom_builds, [("rr".to_owned(), CustomBuild::Library)].into());
    }
}
