//! Converts a node of the tree to a value (a number, size, length of time or name) and checks its
//! bounds.

use std::ops::RangeInclusive;

use stampede_model::quantity::{LONGEST, LengthText, QuantityError, parse_length, parse_size};
use stampede_model::schedule::{Problem, Segments};
use stampede_model::time::Nanos;

use super::error::{Help, Mistake, Place, PlanError, nearest, one_of};
use super::keys::Object;
use super::model::Scalar;
use super::tree::{Node, Style, Value, shortened};

/// A map in which all keys are known.
pub(super) struct Fields<'a> {
    node: &'a Node,
    object: &'static Object,
}

impl<'a> Fields<'a> {
    /// Reads `node` as a map with the keys of `object`.
    pub fn of(node: &'a Node, object: &'static Object) -> Result<Fields<'a>, PlanError> {
        for (key, _) in entries(node, "a map")? {
            let name = key.text().unwrap_or("");
            if object.rest.is_none() && object.find(name).is_none() {
                let mistake = Mistake::UnknownKey { key: shortened(name), place: object.place };
                let expected = one_of(object.keys().map(|key| key.name));
                return Err(key.place.wrong_name(mistake, expected, object.nearest(name)));
            }
        }
        Ok(Fields { node, object })
    }

    /// The value of `key`, which must be in the table of keys.
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        let Object { place, .. } = self.object;
        debug_assert!(self.object.find(key).is_some(), "no `{key}` in the table of {place}");
        self.node.get(key)
    }

    /// The place of `key`, or of the whole map if the key is absent.
    pub fn key_place(&self, key: &str) -> Place {
        self.node.entry(key).map_or(&self.node.place, |(key, _)| &key.place).clone()
    }

    /// Returns an error at `other` if both keys are present: they exclude each other.
    pub fn not_both(&self, one: &'static str, other: &'static str) -> Result<(), PlanError> {
        if self.get(one).is_none() || self.get(other).is_none() {
            return Ok(());
        }
        let mistake = Mistake::Together(other, one);
        Err(self.key_place(other).wrong(mistake, format!("either `{one}` or `{other}`")))
    }
}

/// The entries of a map.
pub(super) fn entries<'a>(
    node: &'a Node,
    wanted: &'static str,
) -> Result<&'a [(Node, Node)], PlanError> {
    match &node.value {
        Value::Map(entries) => Ok(entries),
        _ => Err(not_a(node, "a map", wanted)),
    }
}

/// The items of a list.
pub(super) fn items<'a>(node: &'a Node, expected: &str) -> Result<&'a [Node], PlanError> {
    match &node.value {
        Value::List(items) => Ok(items),
        _ => Err(not_a(node, "a list", expected)),
    }
}

/// A list of texts, or one text as a list of one.
pub(super) fn texts<'a>(node: &'a Node, expected: &str) -> Result<Vec<&'a Node>, PlanError> {
    let all: Vec<&Node> = match &node.value {
        Value::List(items) => items.iter().collect(),
        _ => vec![node],
    };
    for item in &all {
        text(item, "a text", expected)?;
    }
    Ok(all)
}

/// A text as written. An empty one is an error.
pub(super) fn text<'a>(
    node: &'a Node,
    wanted: &'static str,
    expected: &str,
) -> Result<&'a str, PlanError> {
    match node.text() {
        Some(text) if !text.trim().is_empty() => Ok(text),
        _ => Err(not_a(node, wanted, expected)),
    }
}

/// The error that a value is of another kind than `wanted`.
pub(super) fn not_a(node: &Node, wanted: &'static str, help: impl Into<Help>) -> PlanError {
    node.place.wrong(Mistake::NotA { found: node.found(), wanted }, help)
}

/// One of the names in `known`.
pub(super) fn name_of<'a>(
    node: &'a Node,
    kind: &'static str,
    known: &[&str],
) -> Result<&'a str, PlanError> {
    one_of_few(node, known, |name| Mistake::UnknownName { kind, name })
}

/// One of a few values of a key.
pub(super) fn value_of<'a>(
    node: &'a Node,
    key: &'static str,
    known: &[&str],
) -> Result<&'a str, PlanError> {
    one_of_few(node, known, |value| Mistake::UnknownValue { key, value })
}

fn one_of_few<'a>(
    node: &'a Node,
    known: &[&str],
    unknown: impl FnOnce(String) -> Mistake,
) -> Result<&'a str, PlanError> {
    let expected = one_of(known.iter().copied());
    let Some(name) = node.text() else { return Err(not_a(node, "a name", &expected)) };
    if known.contains(&name) {
        return Ok(name);
    }
    let near = nearest(name, known.iter().copied());
    Err(node.place.wrong_name(unknown(shortened(name)), expected, near))
}

/// A whole number within `range`.
pub(super) fn whole(
    node: &Node,
    what: &'static str,
    range: RangeInclusive<u64>,
) -> Result<u64, PlanError> {
    let expected =
        || format!("a whole number from {} to {}", grouped(*range.start()), grouped(*range.end()));
    let Some(text) = node.text() else { return Err(not_a(node, "a number", expected())) };
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(not_a(node, "a whole number", expected()));
    }
    match text.parse::<u64>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(out_of_range(node, what, &expected())),
    }
}

/// As `whole`, for numbers of 32 bits.
pub(super) fn whole_u32(
    node: &Node,
    what: &'static str,
    range: RangeInclusive<u32>,
) -> Result<u32, PlanError> {
    let wide = u64::from(*range.start())..=u64::from(*range.end());
    whole(node, what, wide).map(|number| u32::try_from(number).unwrap_or(*range.end()))
}

/// The error that a value is out of its bounds.
pub(super) fn out_of_range(node: &Node, what: &'static str, expected: &str) -> PlanError {
    let found = shortened(node.text().unwrap_or(""));
    node.place.wrong(Mistake::OutOfRange { what, found }, expected)
}

/// Reads `true` or `false` in the spellings of YAML 1.2 and 1.1.
pub(super) fn switch(node: &Node) -> Result<bool, PlanError> {
    match node.text().map(str::to_ascii_lowercase).as_deref() {
        Some("true" | "on" | "yes") => Ok(true),
        Some("false" | "off" | "no") => Ok(false),
        _ => Err(not_a(node, "a switch", "`true` or `false`")),
    }
}

/// A length of time within `range`. Zero is allowed only if the range begins at 0.
pub(super) fn length(
    node: &Node,
    what: &'static str,
    range: RangeInclusive<Nanos>,
) -> Result<Nanos, PlanError> {
    const EXAMPLES: &str = "a length of time, such as `540s`, `2m30s`, `500ms` or `1h`";
    let Some(text) = node.text() else { return Err(not_a(node, "a length of time", EXAMPLES)) };
    let expected = || {
        let longest = match *range.end() == LONGEST {
            true => "7 days".to_owned(),
            false => LengthText(*range.end()).to_string(),
        };
        match range.start().0 {
            0 => format!("at most {longest}"),
            1 => format!("more than 0 and at most {longest}"),
            _ => format!("{} to {longest}", LengthText(*range.start())),
        }
    };
    match parse_length(text) {
        Ok(length) if range.contains(&length) => Ok(length),
        Err(QuantityError::Malformed(_)) => Err(not_a(node, "a length of time", EXAMPLES)),
        Ok(_) | Err(QuantityError::TooLarge(_)) => Err(out_of_range(node, what, &expected())),
    }
}

/// More than 0, at most 7 days.
pub(super) const ANY_LENGTH: RangeInclusive<Nanos> = Nanos(1)..=LONGEST;

/// A schedule. Errors point at the character that is wrong.
pub(super) fn schedule(node: &Node) -> Result<Segments, PlanError> {
    let Some(text) = node.text() else {
        return Err(not_a(
            node,
            "a schedule",
            "a schedule, such as `line(1,100,60s) const(100,540s)`",
        ));
    };
    Segments::parse(text).map_err(|error| {
        let place = node.inside(error.offset, error.length);
        let after = &place.source.text[(place.offset + place.length).min(place.source.text.len())..];
        if matches!(error.problem, Problem::NotClosed { .. }) && after.starts_with(',') {
            // YAML has cut the text: in `[…]` or `{…}` a plain text ends at its first comma.
            let expected = "a schedule in quotes, for inside `[…]` and `{…}` YAML splits at commas: \
                            `[\"const(200,60s)\"]`";
            return node.place.wrong(Mistake::Schedule(error), expected);
        }
        let (expected, near) = (error.expected(), error.nearest().map(str::to_owned));
        place.wrong_name(Mistake::Schedule(error), expected, near)
    })
}

/// A size in bytes: 0, or 16 MiB to 1 PiB. With less than 16 MiB no PHP runtime starts.
pub(super) fn size(node: &Node, what: &'static str) -> Result<u64, PlanError> {
    const EXPECTED: &str =
        "a size from 16MiB to 1024TiB, such as `1GiB`, `512M` or `256MB`; 0 for no limit";
    match node.text().map(parse_size) {
        Some(Ok(bytes)) if bytes == 0 || (1 << 24..=1 << 50).contains(&bytes) => Ok(bytes),
        Some(Ok(_) | Err(QuantityError::TooLarge(_))) => Err(out_of_range(node, what, EXPECTED)),
        Some(Err(QuantityError::Malformed(_))) | None => Err(not_a(node, "a size", EXPECTED)),
    }
}

/// A setting's value, with the type that YAML gives it. Quotes make it a text.
pub(super) fn scalar(node: &Node) -> Result<Scalar, PlanError> {
    let (text, style) = match &node.value {
        Value::Text(text, style) => (text.as_str(), *style),
        _ => return Err(not_a(node, "a single value", "a number, a text, `on` or `off`")),
    };
    if style == Style::Quoted {
        return Ok(Scalar::Text(text.to_owned()));
    }
    Ok(match text {
        "true" | "on" => Scalar::Bool(true),
        "false" | "off" => Scalar::Bool(false),
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(number), _) => Scalar::Int(number),
            (_, Ok(number)) if number.is_finite() => Scalar::Float(number),
            _ => Scalar::Text(text.to_owned()),
        },
    })
}

/// Groups digits in threes: `57030` becomes `57 030`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}
