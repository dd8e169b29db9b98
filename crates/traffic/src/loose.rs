//! JSON values that a recorder may leave out, set to null, or write as another type. Such a value
//! is empty, and its neighbours are read all the same.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A text; numbers and words are their text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LooseText(pub(super) String);

/// An object; empty where there is something else.
#[derive(Clone, Debug, Default)]
pub(super) struct Loose<T>(pub(super) T);

/// A list; empty where there is something else.
#[derive(Clone, Debug)]
pub(super) struct LooseList<T>(pub(super) Vec<T>);

impl<T> Default for LooseList<T> {
    fn default() -> LooseList<T> {
        LooseList(Vec::new())
    }
}

impl<'de> Deserialize<'de> for LooseText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LooseText, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Loose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Loose<T>, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData)).map(Loose)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LooseList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LooseList<T>, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData)).map(LooseList)
    }
}

struct TextVisitor;
struct ObjectVisitor<T>(PhantomData<T>);
struct ListVisitor<T>(PhantomData<T>);

/// The methods of a visitor that takes any scalar for an empty value.
macro_rules! scalars_are_empty {
    () => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }
    };
}

fn drain_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<(), A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(())
}

fn drain_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<(), A::Error> {
    while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(())
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = LooseText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_bool<E>(self, value: bool) -> Result<LooseText, E> {
        Ok(LooseText(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<LooseText, E> {
        Ok(LooseText(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<LooseText, E> {
        Ok(LooseText(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<LooseText, E> {
        Ok(LooseText(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<LooseText, E> {
        Ok(LooseText(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<LooseText, E> {
        Ok(LooseText::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<LooseText, A::Error> {
        drain_list(list).map(|()| LooseText::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LooseText, A::Error> {
        drain_map(map).map(|()| LooseText::default())
    }
}

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    scalars_are_empty!();

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        drain_list(list).map(|()| T::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    scalars_are_empty!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            all.push(one);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
        drain_map(map).map(|()| Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, Deserialize)]
    #[serde(default)]
    struct Pair {
        name: LooseText,
        list: LooseList<LooseText>,
        inner: Loose<Inner>,
    }

    #[derive(Clone, Debug, Default, Deserialize)]
    #[serde(default)]
    struct Inner {
        a: LooseText,
    }

    #[test]
    fn whatever_stands_for_a_value_leaves_its_neighbours() {
        for odd in
            ["null", "5", "-1", "1.5", "true", "\"x\"", "[]", "[1, {}]", "{}", "{\"z\": [1]}"]
        {
            let text = format!(r#"{{"name": {odd}, "list": {odd}, "inner": {odd}, "x": {odd}}}"#);
            let pair: Loose<Pair> =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert!(pair.0.inner.0.a.0.is_empty(), "{text}");
            let _: Loose<Pair> = serde_json::from_str(odd).unwrap();
        }
        let text = r#"{"name": 7, "list": ["a", null, 2], "inner": {"a": true}}"#;
        let Loose(pair) = serde_json::from_str::<Loose<Pair>>(text).unwrap();
        let list: Vec<&str> = pair.list.0.iter().map(|text| text.0.as_str()).collect();
        assert_eq!(
            (pair.name.0.as_str(), &list[..], pair.inner.0.a.0.as_str()),
            ("7", &["a", "", "2"][..], "true")
        );
    }
}
