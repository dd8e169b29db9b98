//! Numbers of skipped entries as data: a list of pairs, because a reason is no text and so no key
//! of a JSON object.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serializer};
use stampede_model::entry::Skip;

pub(super) fn serialize<S: Serializer>(
    skipped: &BTreeMap<Skip, u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(skipped)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<Skip, u64>, D::Error> {
    let pairs = Vec::<(Skip, u64)>::deserialize(deserializer)?;
    Ok(pairs.into_iter().collect())
}
