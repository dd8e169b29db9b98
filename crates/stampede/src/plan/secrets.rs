//! What of a plan is a secret: known by value before anything is written or said of it.

use super::tree::{Node, Value};
use crate::mask;

/// Learns the secrets of a plan's tree and of its text, comments included.
pub(super) fn learn(root: &Node) {
    mask::text(&root.place.source.text);
    below(root, "");
}

/// `name`: the key that leads here.
fn below(node: &Node, name: &str) {
    match &node.value {
        Value::Null => {}
        Value::Text(text, _) => {
            mask::named(name, text);
            // Folded and escaped, it stands in the plan otherwise than it is meant.
            if text.contains(char::is_whitespace) || text.as_str() != node.place.text() {
                mask::named(name, node.place.text());
            }
        }
        Value::List(items) => items.iter().for_each(|item| below(item, name)),
        Value::Map(entries) => {
            for (key, value) in entries {
                // A list of roles below `auth` is a part of it; what stands below `headers` has
                // names of its own.
                below(value, key.text().unwrap_or(name));
            }
        }
    }
}
