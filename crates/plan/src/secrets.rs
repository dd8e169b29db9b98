//! Finds the secrets in a plan, so that their values are masked before anything is written or
//! shown.

use super::tree::{Node, Value};

/// Registers the secrets of a plan's tree and of its text, including comments.
pub(super) fn learn(root: &Node) {
    stampede_mask::text(&root.place.source.text);
    below(root, "");
}

/// Registers the secrets of `node`. `name` is the key that leads to it.
fn below(node: &Node, name: &str) {
    match &node.value {
        Value::Null => {}
        Value::Text(text, _) => {
            stampede_mask::named(name, text);
            // A folded or escaped text is spelled differently in the plan than its value.
            if text.contains(char::is_whitespace) || text.as_str() != node.place.text() {
                stampede_mask::named(name, node.place.text());
            }
        }
        Value::List(items) => items.iter().for_each(|item| below(item, name)),
        Value::Map(entries) => {
            for (key, value) in entries {
                // Items of a list keep the name of the list's key: they are part of that value.
                // Values in a map, such as `headers`, have names of their own.
                below(value, key.text().unwrap_or(name));
            }
        }
    }
}
