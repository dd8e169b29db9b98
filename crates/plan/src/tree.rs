//! Parses YAML into a small tree in which every node knows its place in the text. Scalars keep
//! their text as written: `1.10` in an environment stays `1.10`.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use super::error::{Mistake, Place, PlanError, Source, innermost};
use super::keys;

/// Size of the largest plan that is read, in bytes.
pub(super) const BYTES_MAX: usize = 1 << 20;

/// One node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub place: Place,
    pub value: Value,
}

/// The content of a node.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Text(String, Style),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// How a scalar was written. Quotes make it a text, even if it looks like a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Quoted,
}

impl Node {
    /// The scalar's text as written.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text, _) => Some(text),
            _ => None,
        }
    }

    /// The value of `key`, in a map. The key must be in the table of keys.
    pub fn get(&self, key: &str) -> Option<&Node> {
        debug_assert!(keys::is_known(key), "no table of keys has `{key}`");
        self.entry(key).map(|(_, value)| value)
    }

    /// Key and value of `key`, in a map. The key may be any name, such as that of a setting.
    pub fn entry(&self, key: &str) -> Option<(&Node, &Node)> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|(k, _)| k.text() == Some(key)).map(|(k, v)| (k, v))
    }

    /// A description of the node's content, for messages.
    pub fn found(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Text(text, _) => quoted(text),
            Value::List(items) if items.is_empty() => "an empty list".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
        }
    }

    /// The place of a part of the node's text. Returns the whole node's place if the source spells
    /// the text differently (escapes, folded lines, an alias).
    pub fn inside(&self, offset: usize, length: usize) -> Place {
        let text = self.text().unwrap_or("");
        let raw = self.place.text();
        let quoted = |quote: char| raw.strip_prefix(quote)?.strip_suffix(quote);
        let quotes = match (raw == text, quoted('"').or_else(|| quoted('\''))) {
            (true, _) => 0,
            (false, Some(inner)) if inner == text => 1,
            _ => return self.place.clone(),
        };
        Place {
            source: Arc::clone(&self.place.source),
            offset: self.place.offset + quotes + offset.min(text.len()),
            length,
        }
    }
}

/// A text in backticks, or `nothing` for a blank text.
pub(super) fn quoted(text: &str) -> String {
    match text.trim().is_empty() {
        true => "nothing".to_owned(),
        false => format!("`{}`", shortened(text)),
    }
}

/// A text for a message: on one line, of limited length, with known secrets masked.
pub(super) fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let text = stampede_mask::mask_known(text);
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Parses one document. Duplicate keys, several documents, unknown tags and alias bombs are errors.
pub(super) fn parse(source: &Arc<Source>) -> Result<Node, PlanError> {
    // The limits are far above any real plan and far below what costs noticeable time or memory. A
    // plan whose aliases expand to millions of nodes is refused after 20 000.
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            // The parser itself refuses a second document, with a better message.
            max_documents: 2,
            max_depth: 32,
            max_nodes: 20_000,
            max_events: 50_000,
            max_aliases: 200,
            max_anchors: 100,
            max_merge_keys: 100,
            max_total_scalar_bytes: BYTES_MAX,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
            max_replay_stack_depth: 8,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    };
    match serde_saphyr::from_str_with_options::<Spanned<RawNode>>(&source.text, options) {
        Ok(raw) => Ok(node(raw, source)),
        Err(error) => Err(syntax(error, source)),
    }
}

/// The parser's error as one of ours, at its place.
fn syntax(error: serde_saphyr::Error, source: &Arc<Source>) -> PlanError {
    const EXPECTED: &str = "one YAML document: a map of keys such as `app`, `runtimes` and `load`";
    let place = match error.location() {
        Some(location) => place(&location, source),
        None => Place::begin_of(source),
    };
    use serde_saphyr::Error as E;
    let (mistake, expected) = match innermost(&error) {
        E::DuplicateMappingKey { .. } => {
            (Mistake::KeyTwice(shortened(place.text())), "each key once")
        }
        E::Budget { .. }
        | E::AliasReplayCounterOverflow { .. }
        | E::AliasReplayLimitExceeded { .. }
        | E::AliasExpansionLimitExceeded { .. }
        | E::AliasReplayStackDepthExceeded { .. } => {
            (Mistake::TooMuch, "at most 20 000 values, 32 levels and 200 aliases")
        }
        _ => (Mistake::Yaml(Box::new(error)), EXPECTED),
    };
    place.wrong(mistake, expected)
}

/// A place from the parser's location: from its byte offsets, or else from its line and column.
fn place(location: &Location, source: &Arc<Source>) -> Place {
    let text = &source.text;
    let span = location.span();
    let (offset, length) = match (span.byte_offset(), span.byte_len()) {
        (Some(offset), Some(length)) => (offset as usize, length as usize),
        _ => (from_line(text, location.line() as usize, location.column() as usize), 0),
    };
    let valid = text.get(offset..offset.saturating_add(length)).is_some();
    let (offset, length) = if valid { (offset, length) } else { (text.len(), 0) };
    Place { source: Arc::clone(source), offset, length }
}

/// Byte offset of line and column (characters), both from 1.
fn from_line(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = &text[start..];
    start + rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(i, _)| i)
}

/// Converts the parser's tree: resolves the places and takes the texts of scalars from the source.
fn node(raw: Spanned<RawNode>, source: &Arc<Source>) -> Node {
    let at = place(&raw.referenced, source);
    // For an alias, this is the place where its value is written.
    let defined = place(&raw.defined, source);
    let written = defined.text();
    let value = match raw.value {
        RawNode::Null => Value::Null,
        RawNode::Typed => Value::Text(written.to_owned(), Style::Plain),
        RawNode::Text(text) => {
            let style = match written == text && !looks_typed(&text) {
                true => Style::Plain,
                false => Style::Quoted,
            };
            Value::Text(text, style)
        }
        RawNode::List(items) => {
            Value::List(items.into_iter().map(|item| node(item, source)).collect())
        }
        RawNode::Map(entries) => Value::Map(
            entries.into_iter().map(|(k, v)| (key(k, source), node(v, source))).collect(),
        ),
    };
    Node { place: at, value }
}

fn key(key: Spanned<String>, source: &Arc<Source>) -> Node {
    Node { place: place(&key.referenced, source), value: Value::Text(key.value, Style::Plain) }
}

/// Whether a text would be a number or a boolean if it had no tag (`!!str 5`).
fn looks_typed(text: &str) -> bool {
    text.parse::<f64>().is_ok() || matches!(text, "true" | "false")
}

/// A node as the parser returns it.
enum RawNode {
    Null,
    /// A number or a boolean. Its text is read from its place in the source.
    Typed,
    Text(String),
    List(Vec<Spanned<RawNode>>),
    Map(Vec<(Spanned<String>, Spanned<RawNode>)>),
}

impl<'de> Deserialize<'de> for RawNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawNode, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = RawNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<RawNode, E> {
        Ok(RawNode::Typed)
    }

    fn visit_u64<E>(self, _: u64) -> Result<RawNode, E> {
        Ok(RawNode::Typed)
    }

    fn visit_i64<E>(self, _: i64) -> Result<RawNode, E> {
        Ok(RawNode::Typed)
    }

    fn visit_f64<E>(self, _: f64) -> Result<RawNode, E> {
        Ok(RawNode::Typed)
    }

    fn visit_unit<E>(self) -> Result<RawNode, E> {
        Ok(RawNode::Null)
    }

    fn visit_str<E>(self, text: &str) -> Result<RawNode, E> {
        Ok(RawNode::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<RawNode, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(RawNode::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<RawNode, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(RawNode::Map(entries))
    }
}
