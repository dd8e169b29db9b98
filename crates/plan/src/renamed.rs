//! Renames the earlier keys of loads to their present names.

use super::tree::{Node, Value};

/// Earlier name and present name.
const KEYS: [(&str, &str); 2] = [("users", "concurrency"), ("urls", "traffic")]; // old words

/// Renames the earlier keys of the plan's loads. A key stays where its present name is used too.
pub(super) fn keys(plan: &mut Node) {
    let Value::Map(entries) = &mut plan.value else { return };
    let loads = entries.iter_mut().filter(|(key, _)| key.text() == Some("load"));
    for (_, loads) in loads {
        match &mut loads.value {
            Value::List(items) => items.iter_mut().for_each(of_load),
            Value::Map(named) => named.iter_mut().for_each(|(_, load)| of_load(load)),
            Value::Null | Value::Text(..) => {}
        }
    }
}

fn of_load(load: &mut Node) {
    for (old, new) in KEYS {
        if load.get(new).is_some() {
            continue;
        }
        let Value::Map(entries) = &mut load.value else { return };
        let key = entries.iter_mut().find(|(key, _)| key.text() == Some(old));
        if let Some((Node { value: Value::Text(text, _), .. }, _)) = key {
            new.clone_into(text);
        }
    }
}
