//! The shape of a JSON document: its members down to the second level, as far as the beginning of
//! the document goes.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Members by path, such as `info.schema`, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    members: Vec<(String, Member)>,
}

/// What a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Text(String),
    Object,
    List,
    Other,
}

impl Shape {
    /// The shape of the first object in these bytes, which may be cut off. Empty for another value.
    pub(super) fn of(begin: &[u8]) -> Shape {
        let mut shape = Shape::default();
        let mut document = serde_json::Deserializer::from_slice(begin);
        // An error is the cut, or broken JSON: what was seen before it counts.
        let _ =
            Level { shape: &mut shape, path: String::new(), depth: 0 }.deserialize(&mut document);
        shape
    }

    /// The member at this path.
    pub(super) fn member(&self, path: &str) -> Option<&Member> {
        self.members.iter().find(|(known, _)| known == path).map(|(_, member)| member)
    }

    /// Whether there is a member at this path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.member(path).is_some()
    }

    /// The text at this path.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        match self.member(path) {
            Some(Member::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Names of the members of the first level.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(path, _)| path.as_str()).filter(|path| !path.contains('.'))
    }
}

/// A value at one level.
struct Level<'a> {
    shape: &'a mut Shape,
    path: String,
    depth: usize,
}

impl Level<'_> {
    fn add(self, member: Member) {
        if !self.path.is_empty() && self.shape.members.len() < MEMBERS_MAX {
            self.shape.members.push((self.path, member));
        }
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.add(Member::Other);
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.add(Member::Other);
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.add(Member::Other);
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.add(Member::Other);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.add(Member::Text(text.to_owned()));
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.add(Member::Other);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.add(Member::List);
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Level { shape, path, depth } = self;
        Level { shape: &mut *shape, path: path.clone(), depth }.add(Member::Object);
        if depth == LEVELS {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        while let Some(name) = map.next_key::<String>()? {
            let path = if path.is_empty() { name } else { format!("{path}.{name}") };
            map.next_value_seed(Level { shape: &mut *shape, path, depth: depth + 1 })?;
        }
        Ok(())
    }
}

/// Levels whose members are listed.
const LEVELS: usize = 2;
/// Most members that are kept; formats show in their first ones.
const MEMBERS_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_goes_as_far_as_the_bytes() {
        let whole = br#"{"a": {"b": "c", "d": {"e": 1}}, "f": [1, {"x": 2}], "g": null} {"z": 1}"#;
        let shape = Shape::of(whole);
        assert_eq!(shape.names().collect::<Vec<_>>(), ["a", "f", "g"]);
        assert_eq!((shape.text("a.b"), shape.member("a.d")), (Some("c"), Some(&Member::Object)));
        assert!(!shape.has("a.d.e") && !shape.has("z"));
        let mut seen = 0;
        for end in 0..=whole.len() {
            let now = Shape::of(&whole[..end]).members.len();
            assert!(now >= seen, "more bytes show no less");
            seen = now;
        }
        assert_eq!(Shape::of(b"[{\"a\": 1}]"), Shape::default());
    }
}
