//! Changes the tree of a plan.

use super::tree::{Node, Style, Value};

/// A comma-separated value as a list, each item at its place. Blanks around items are ignored.
pub(super) fn split(node: &Node) -> Node {
    let text = node.text().unwrap_or("");
    let mut at = 0;
    let items = text.split(',').map(|item| {
        let begin = at + (item.len() - item.trim_start().len());
        at += item.len() + 1;
        let item = item.trim();
        let place = node.inside(begin, item.len());
        Node { place, value: Value::Text(item.to_owned(), Style::Plain) }
    });
    Node { place: node.place.clone(), value: Value::List(items.collect()) }
}

/// Sets a key of a map.
pub(super) fn set(map: &mut Node, key: &str, value: Node) {
    let Value::Map(entries) = &mut map.value else { return };
    match entries.iter_mut().find(|(known, _)| known.text() == Some(key)) {
        Some((_, old)) => *old = value,
        None => {
            let key = Value::Text(key.to_owned(), Style::Plain);
            entries.push((Node { place: value.place.clone(), value: key }, value));
        }
    }
}

/// Calls `change` with name and map of each of the plan's runtimes. One that is a name alone gets a map if it is to
/// have keys.
pub(super) fn each_runtime(plan: &mut Node, mut change: impl FnMut(&str, &mut Node)) {
    let Value::Map(entries) = &mut plan.value else { return };
    let runtimes = entries.iter_mut().find(|(key, _)| key.text() == Some("runtimes"));
    let Some((_, Node { value: Value::List(runtimes), .. })) = runtimes else { return };
    for runtime in runtimes {
        if let Value::Map(entries) = &mut runtime.value {
            for (name, body) in entries {
                if matches!(body.value, Value::Null) {
                    body.value = Value::Map(Vec::new());
                }
                change(name.text().unwrap_or(""), body);
            }
            continue;
        }
        let (name, place) = (runtime.text().unwrap_or("").to_owned(), runtime.place.clone());
        let mut body = Node { place: place.clone(), value: Value::Map(Vec::new()) };
        change(&name, &mut body);
        if matches!(&body.value, Value::Map(keys) if !keys.is_empty()) {
            let key = runtime.clone();
            *runtime = Node { place, value: Value::Map(vec![(key, body)]) };
        }
    }
}

/// Removes a key of a map.
pub(super) fn remove(map: &mut Node, key: &str) {
    if let Value::Map(entries) = &mut map.value {
        entries.retain(|(known, _)| known.text() != Some(key));
    }
}
