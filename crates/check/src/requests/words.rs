//! Splits a target into the words that it consists of.

use std::borrow::Cow;

/// Query keys by which apps with a single script choose their action: WordPress, phpBB, OpenCart,
/// Yii, MediaWiki and others. Their values count like a segment of a path.
const ROUTING_KEYS: [&str; 23] = [
    "a",
    "act",
    "action",
    "cmd",
    "command",
    "controller",
    "ctrl",
    "do",
    "event",
    "func",
    "method",
    "_method",
    "mod",
    "mode",
    "module",
    "op",
    "option",
    "p",
    "page",
    "r",
    "route",
    "task",
    "view",
];

/// Returns path and query of a target; the query is empty if there is none.
pub(super) fn parts(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

/// Returns names and values of a query, percent-decoded.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(query.as_bytes())
}

/// Returns whether apps choose their action by the value of this key.
pub(super) fn is_routing(key: &str) -> bool {
    ROUTING_KEYS.contains(&key)
}
