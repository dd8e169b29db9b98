//! Finds settings of single runtimes that were written at the top level of a plan. Only the
//! catalogue knows which runtime has such a setting. This module reads what the plan says: the
//! keys, their values, and the names of the plan's runtimes.

use super::error::{Mistake, Wrong};
use super::keys::{self, PLAN, SETTINGS};
use super::locate::list;
use super::model::Scalar;
use super::tree::{self, Node, Value};
use super::value::scalar;

/// A key that may be a setting of a runtime, or a program that a runtime needs.
#[derive(Clone, Debug, PartialEq)]
pub struct UnknownKey {
    /// As written.
    pub name: String,
    /// Its value. `None`: the value is a list, a map or nothing.
    pub value: Option<Scalar>,
}

/// The keys that the unknown key of `wrong` may be, and the catalogue names of the plan's runtimes.
/// For a key `settings` these are the keys in its map, except the settings of all runtimes.
pub fn unknown_keys(wrong: &Wrong) -> (Vec<UnknownKey>, Vec<String>) {
    let none = (Vec::new(), Vec::new());
    let Mistake::UnknownKey { key, place } = &wrong.mistake else { return none };
    if *place != PLAN.place {
        return none;
    }
    let Ok(root) = tree::parse(&wrong.place.source) else { return none };
    let Some((key, value)) = root.entry(key) else { return none };
    let unknown_keys = match (key.text(), &value.value) {
        (Some("settings"), Value::Map(entries)) => {
            entries.iter().map(|(key, value)| unknown_key(key, value)).collect()
        }
        _ => vec![unknown_key(key, value)],
    };
    let own = |unknown_key: &UnknownKey| !SETTINGS.has(&unknown_key.name);
    (unknown_keys.into_iter().filter(own).collect(), runtimes(&root))
}

/// The place where a key belongs that is no key of the whole plan, in words for a message.
pub(super) fn belongs_below(key: &str) -> Option<String> {
    match key {
        "settings" => Some(
            "remove `settings:` and write settings of all runtimes at the top level\n(`workers: 8`), settings of one runtime in its map:\n`runtimes: [{nginx-fpm: {pm: static}}]`"
                .to_owned(),
        ),
        _ if key.contains('.') => Some(
            "in the map of php.ini's values: `php_ini: {opcache.memory_consumption: 128}`"
                .to_owned(),
        ),
        _ => keys::belongs_below(key),
    }
}

fn unknown_key(key: &Node, value: &Node) -> UnknownKey {
    UnknownKey { name: key.text().unwrap_or("").to_owned(), value: scalar(value).ok() }
}

/// Catalogue names of the plan's runtimes. For a variant it is the name after `use`.
fn runtimes(root: &Node) -> Vec<String> {
    let name = |item: &Node| match &item.value {
        Value::Map(entries) => {
            let (key, body) = entries.first()?;
            Some(body.get("use").unwrap_or(key).text()?.to_owned())
        }
        _ => Some(item.text()?.to_owned()),
    };
    root.get("runtimes").into_iter().flat_map(list).filter_map(name).collect()
}
