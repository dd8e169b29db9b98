//! One place in a JSON text, found and compared without building the text's values: a body
//! is read once, from its first byte to its last.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Names and positions: `$.items[0].id`, `items[0].id`, `$["a name"]`. The small part of
/// JSONPath (RFC 9535) that names one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Position(usize),
}

/// The value that must be there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expected(Value);

/// What there is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum There {
    /// The expected value; any, where none is expected.
    Right,
    /// Another value.
    Other,
    /// Nothing.
    Nothing,
    /// The text is not JSON.
    NotJson,
}

impl Path {
    /// Bytes of the path at the start of `text`: up to a blank or a `=` outside brackets.
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

    /// `None` where it is not one.
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

    /// As it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What there is in `json`, all of which is read.
    pub(super) fn look(&self, json: &[u8], expected: Option<&Expected>) -> There {
        let expected = expected.map(|expected| &expected.0);
        let mut reader = serde_json::Deserializer::from_slice(json);
        let there = Walk { steps: &self.steps, expected }.deserialize(&mut reader);
        match (there, reader.end()) {
            (Ok(there), Ok(())) => there,
            _ => There::NotJson,
        }
    }

    /// The value there, written as JSON; for an example's words only.
    pub(super) fn value(&self, json: &[u8]) -> Option<String> {
        let whole: Value = serde_json::from_slice(json).ok()?;
        let value = self.steps.iter().try_fold(&whole, |value, step| match step {
            Step::Name(name) => value.as_object()?.get(name),
            Step::Position(position) => value.as_array()?.get(*position),
        })?;
        Some(value.to_string())
    }
}

/// A name without brackets at the start of `text`, and what follows it.
fn name(text: &str) -> Option<(Step, &str)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let plain = |c: char| c.is_alphanumeric() || "_-@$:/".contains(c);
    (!name.is_empty() && name.chars().all(plain)).then(|| (Step::Name(name.to_owned()), rest))
}

/// What is in brackets, the first of which is gone, and what follows the second.
fn bracketed(text: &str) -> Option<(Step, &str)> {
    if text.starts_with('"') {
        let mut names = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let name = names.next()?.ok()?;
        let rest = text[names.byte_offset()..].strip_prefix(']')?;
        return Some((Step::Name(name), rest));
    }
    let (position, rest) = text.split_once(']')?;
    let digits = !position.is_empty() && position.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| Some((Step::Position(position.parse().ok()?), rest)))?
}

impl Expected {
    /// JSON, or a text that does not look like it: `json $.status == open` compares with the
    /// text `open`.
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

/// Numbers are equal where they are the same number: `1` and `1.0`.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64().is_some_and(|left| Some(left) == right.as_f64())
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let equal = |(name, value)| right.get(name).is_some_and(|other| same(value, other));
            left.len() == right.len() && left.iter().all(equal)
        }
        _ => left == right,
    }
}

/// Goes down one path; what lies beside it is read and forgotten.
#[derive(Clone, Copy)]
struct Walk<'a> {
    steps: &'a [Step],
    expected: Option<&'a Value>,
}

impl Walk<'_> {
    /// The path ends here, at `value`.
    fn ends_at(self, value: &Value) -> There {
        match (self.steps, self.expected) {
            ([], None) => There::Right,
            ([], Some(expected)) if same(expected, value) => There::Right,
            ([], Some(_)) => There::Other,
            _ => There::Nothing,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = There;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<There, D::Error> {
        match (self.steps, self.expected) {
            ([], None) => reader.deserialize_ignored_any(IgnoredAny).map(|_| There::Right),
            ([], Some(Value::Array(_) | Value::Object(_))) => {
                let value = <Value as serde::Deserialize>::deserialize(reader)?;
                Ok(self.ends_at(&value))
            }
            _ => reader.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = There;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<There, E> {
        Ok(self.ends_at(&value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<There, E> {
        Ok(self.ends_at(&value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<There, E> {
        Ok(self.ends_at(&value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<There, E> {
        Ok(self.ends_at(&value.into()))
    }

    /// Apart from the others: a `Value` of it would be a copy.
    fn visit_str<E: Error>(self, value: &str) -> Result<There, E> {
        Ok(match (self.steps, self.expected) {
            ([], Some(Value::String(expected))) if expected == value => There::Right,
            ([], None) => There::Right,
            ([], Some(_)) => There::Other,
            _ => There::Nothing,
        })
    }

    fn visit_unit<E: Error>(self) -> Result<There, E> {
        Ok(self.ends_at(&Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<There, A::Error> {
        let mut there = self.beside();
        if let [Step::Position(position), steps @ ..] = self.steps {
            for _ in 0..*position {
                if list.next_element::<IgnoredAny>()?.is_none() {
                    return Ok(There::Nothing);
                }
            }
            there = list.next_element_seed(Walk { steps, ..self })?.unwrap_or(There::Nothing);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(there)
    }

    /// Of a name that stands twice the last counts, as in PHP and JavaScript.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<There, A::Error> {
        let mut there = self.beside();
        let [Step::Name(name), steps @ ..] = self.steps else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(there);
        };
        while let Some(found) = map.next_key_seed(Is(name))? {
            if found {
                there = map.next_value_seed(Walk { steps, ..self })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(there)
    }
}

impl Walk<'_> {
    /// What a list or an object is to a path that does not go on into it.
    fn beside(self) -> There {
        if self.steps.is_empty() { There::Other } else { There::Nothing }
    }
}

/// Whether a name is this one, without a copy of it.
struct Is<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}
