//! Finds and compares the value at one place of a JSON text, without building all values. The body
//! is read once, from its first byte to its last.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Names and positions: `$.items[0].id`, `items[0].id`, `$["a name"]`. This is the part of JSONPath
/// (RFC 9535) that selects a single value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    text: String,
    steps: Vec<PathSegment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PathSegment {
    Name(String),
    Position(usize),
}

/// The value that is demanded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expected(Value);

/// What was found at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonMatch {
    /// The expected value, or any value where none is expected.
    Found,
    /// Another value.
    Different,
    /// Nothing.
    Missing,
    /// The text is not JSON.
    NotJson,
}

impl Path {
    /// Length in bytes of the path at the start of `text`: up to a blank or a `=` outside quotes.
    pub(super) fn length(text: &str) -> usize {
        let (mut quoted, mut escaped) = (false, false);
        for (at, c) in text.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' if quoted => escaped = true,
                '"' => quoted = !quoted,
                _ if quoted => {}
                '=' => return at,
                _ if c.is_whitespace() => return at,
                _ => {}
            }
        }
        text.len()
    }

    /// Parses a path; `None` where the text is not one.
    pub(super) fn parse(text: &str) -> Option<Path> {
        let mut steps = Vec::new();
        let mut rest = match text.strip_prefix('$') {
            Some(rest) => rest,
            // A path may begin with a name.
            None if text.starts_with('[') => text,
            None => {
                let (step, rest) = name(text)?;
                steps.push(step);
                rest
            }
        };
        while !rest.is_empty() {
            let (step, after) = match rest.strip_prefix('.') {
                Some(after) => name(after)?,
                None => bracketed(rest.strip_prefix('[')?)?,
            };
            steps.push(step);
            rest = after;
        }
        Some(Path { text: text.to_owned(), steps })
    }

    /// The path as written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What is at this path in `json`. Reads all of `json`.
    pub(super) fn match_in(&self, json: &[u8], expected: Option<&Expected>) -> JsonMatch {
        let expected = expected.map(|expected| &expected.0);
        let mut reader = serde_json::Deserializer::from_slice(json);
        let matched = PathVisitor { steps: &self.steps, expected }.deserialize(&mut reader);
        match (matched, reader.end()) {
            (Ok(matched), Ok(())) => matched,
            _ => JsonMatch::NotJson,
        }
    }

    /// The value at this path, written as JSON; only for the words of an example.
    pub(super) fn value(&self, json: &[u8]) -> Option<String> {
        let whole: Value = serde_json::from_slice(json).ok()?;
        let value = self.steps.iter().try_fold(&whole, |value, step| match step {
            PathSegment::Name(name) => value.as_object()?.get(name),
            PathSegment::Position(position) => value.as_array()?.get(*position),
        })?;
        Some(value.to_string())
    }
}

/// A name without brackets at the start of `text`, and what follows it.
fn name(text: &str) -> Option<(PathSegment, &str)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let plain = |c: char| c.is_alphanumeric() || "_-@$:/".contains(c);
    (!name.is_empty() && name.chars().all(plain))
        .then(|| (PathSegment::Name(name.to_owned()), rest))
}

/// Parses the content of brackets, whose opening bracket was taken. Returns also what follows the
/// closing one.
fn bracketed(text: &str) -> Option<(PathSegment, &str)> {
    if text.starts_with('"') {
        let mut names = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let name = names.next()?.ok()?;
        let rest = text[names.byte_offset()..].strip_prefix(']')?;
        return Some((PathSegment::Name(name), rest));
    }
    let (position, rest) = text.split_once(']')?;
    let digits = !position.is_empty() && position.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| Some((PathSegment::Position(position.parse().ok()?), rest)))?
}

impl Expected {
    /// Parses JSON, or takes a text that does not look like JSON as a string. So `json $.status ==
    /// open` compares with the text `open`.
    pub(super) fn parse(text: &str) -> Result<Expected, serde_json::Error> {
        match serde_json::from_str(text) {
            Ok(value) => Ok(Expected(value)),
            Err(error) if text.starts_with(['"', '{', '[']) => Err(error),
            Err(_) => Ok(Expected(Value::String(text.to_owned()))),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whether two values are equal. Numbers are equal if they are the same number, like `1` and `1.0`.
fn are_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64().is_some_and(|left| Some(left) == right.as_f64())
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| are_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let equal =
                |(name, value)| right.get(name).is_some_and(|other| are_equal(value, other));
            left.len() == right.len() && left.iter().all(equal)
        }
        _ => left == right,
    }
}

/// Follows one path; everything beside it is read and discarded.
#[derive(Clone, Copy)]
struct PathVisitor<'a> {
    steps: &'a [PathSegment],
    expected: Option<&'a Value>,
}

impl PathVisitor<'_> {
    /// What it means that `value` ends the path here.
    fn ends_at(self, value: &Value) -> JsonMatch {
        match (self.steps, self.expected) {
            ([], None) => JsonMatch::Found,
            ([], Some(expected)) if are_equal(expected, value) => JsonMatch::Found,
            ([], Some(_)) => JsonMatch::Different,
            _ => JsonMatch::Missing,
        }
    }
}

impl<'de> DeserializeSeed<'de> for PathVisitor<'_> {
    type Value = JsonMatch;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<JsonMatch, D::Error> {
        match (self.steps, self.expected) {
            ([], None) => reader.deserialize_ignored_any(IgnoredAny).map(|_| JsonMatch::Found),
            ([], Some(Value::Array(_) | Value::Object(_))) => {
                let value = <Value as serde::Deserialize>::deserialize(reader)?;
                Ok(self.ends_at(&value))
            }
            _ => reader.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for PathVisitor<'_> {
    type Value = JsonMatch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<JsonMatch, E> {
        Ok(self.ends_at(&value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<JsonMatch, E> {
        Ok(self.ends_at(&value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<JsonMatch, E> {
        Ok(self.ends_at(&value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<JsonMatch, E> {
        Ok(self.ends_at(&value.into()))
    }

    /// Handled separately, because a `Value` of it would be a copy.
    fn visit_str<E: Error>(self, value: &str) -> Result<JsonMatch, E> {
        Ok(match (self.steps, self.expected) {
            ([], Some(Value::String(expected))) if expected == value => JsonMatch::Found,
            ([], None) => JsonMatch::Found,
            ([], Some(_)) => JsonMatch::Different,
            _ => JsonMatch::Missing,
        })
    }

    fn visit_unit<E: Error>(self) -> Result<JsonMatch, E> {
        Ok(self.ends_at(&Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<JsonMatch, A::Error> {
        let mut matched = self.mismatch();
        if let [PathSegment::Position(position), steps @ ..] = self.steps {
            for _ in 0..*position {
                if list.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(JsonMatch::Missing);
                }
            }
            matched = list
                .next_element_seed(PathVisitor { steps, ..self })?
                .unwrap_or(JsonMatch::Missing);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(matched)
    }

    /// If a name occurs twice, the last one counts, as in PHP and JavaScript.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonMatch, A::Error> {
        let mut matched = self.mismatch();
        let [PathSegment::Name(name), steps @ ..] = self.steps else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(matched);
        };
        while let Some(found) = map.next_key_seed(NameMatcher(name))? {
            if found {
                matched = map.next_value_seed(PathVisitor { steps, ..self })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(matched)
    }
}

impl PathVisitor<'_> {
    /// What a list or an object means for a path that does not continue into it.
    fn mismatch(self) -> JsonMatch {
        if self.steps.is_empty() { JsonMatch::Different } else { JsonMatch::Missing }
    }
}

/// Compares a name with this one, without copying it.
struct NameMatcher<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for NameMatcher<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for NameMatcher<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}
