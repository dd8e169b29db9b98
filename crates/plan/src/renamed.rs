//! Renames the earlier keys of a plan to their present names.

use super::keys::{Key, Object, WHOLE, walk};
use super::tree::{Node, Value};

/// Renames the earlier keys of the plan. A key stays where its present name is used too.
pub(super) fn keys(plan: &mut Node) {
    walk(plan, &WHOLE, &mut of_map);
}

fn of_map(object: &'static Object, map: &mut Node) {
    for Key { name, old, .. } in object.keys() {
        for old in *old {
            if map.get(name).is_some() {
                continue;
            }
            let Value::Map(entries) = &mut map.value else { return };
            let key = entries.iter_mut().find(|(key, _)| key.text() == Some(old));
            if let Some((Node { value: Value::Text(text, _), .. }, _)) = key {
                (*name).clone_into(text);
            }
        }
    }
}
