//! The keys of a plan, in one table. The parser, the JSON Schema, "did you mean" and the reference
//! in `docs/plans.md` all come from it.
//!
//! No key outside of the table is read: `Fields::get` and `Node::get` panic on one in builds with
//! debug assertions. Tests put a wrong value behind each key of the table, so a key that nothing
//! reads is found too.

mod forms;
mod reference;
mod runtimes;
mod table;
#[cfg(test)]
mod tests;

use std::ptr;
use std::sync::LazyLock;

use super::error::nearest;
use super::tank_keys;
use super::tree::{Node, Value};

pub use reference::reference;
pub(super) use runtimes::{COMPOSE, EXTERNAL, OF_RUNTIME, PHP_INI, RUNTIME, SWEEP, WATCH};
pub(super) use table::{
    APP, BUDGET, CLIENT, CONTROL, LOAD, LOAD_FROM, LOGIN, OF_REQUEST, PLAN, READY, REQUEST,
    SETTINGS, TRAFFIC_FILE, WHOLE,
};

/// One key of a map.
pub(super) struct Key {
    /// The name. In [`Object::rest`] it is a description of the names instead.
    pub name: &'static str,
    /// Earlier names, which are still read.
    pub old: &'static [&'static str],
    pub kind: &'static Kind,
    pub default: Default,
    /// What it does: one sentence or two, in Markdown.
    pub about: &'static str,
    /// A value for messages.
    pub example: &'static str,
}

/// What holds if a key is not given.
pub(super) enum Default {
    /// That is an error.
    Required,
    /// Nothing needs to be said.
    Unset,
    /// This value, as it would be written.
    Value(&'static str),
    /// A description of the value.
    Words(&'static str),
}

/// Keys that stand together, in one map or in several.
pub(super) struct Group {
    /// The heading of a table of their own. `None`: they stand in the table of their map.
    pub title: Option<&'static str>,
    pub keys: &'static [Key],
}

/// A map with known keys.
pub(super) struct Object {
    /// Its name among the definitions of the schema.
    pub name: &'static str,
    /// The map in words, for messages and headings: `a load`.
    pub place: &'static str,
    /// What it describes: a sentence.
    pub about: &'static str,
    /// What may be written in place of the map.
    pub short: Option<&'static Kind>,
    pub groups: &'static [&'static Group],
    /// All other keys. `None`: any other key is a mistake.
    pub rest: Option<Key>,
    pub entries: Entries,
    /// Where the keys belong, for a key that was written at the top level of a plan. `KEY` stands
    /// for the key.
    pub below: Option<&'static str>,
}

/// How many entries a map has.
pub(super) enum Entries {
    Any,
    /// Exactly one.
    One,
    /// Exactly one of these keys, and any of the others.
    OneOf(&'static [&'static str]),
}

/// A kind of value.
pub(super) enum Kind {
    /// Nothing.
    Null,
    /// A text that is not empty.
    Text,
    /// A number, a text or a switch.
    Scalar,
    Switch,
    Whole {
        least: u64,
        most: u64,
    },
    /// A number that may have a fraction.
    Number {
        least: f64,
        most: f64,
    },
    /// One of these words.
    Words(&'static [&'static str]),
    Form(Form),
    List {
        of: &'static Kind,
        least: usize,
        most: usize,
    },
    /// A list of one item or more, each once.
    Set {
        of: &'static Kind,
        most: usize,
    },
    /// A map with keys that a person chooses.
    Map {
        of: &'static Kind,
        least: usize,
    },
    Object(&'static Object),
    /// An object where a list of it may stand. It is made a list before the tree is walked.
    Unlisted(&'static Object),
    Any(&'static [&'static Kind]),
    /// A value of a file that is not a plan.
    Foreign,
}

/// A text of a certain form.
pub(super) struct Form {
    /// Its name among the definitions of the schema.
    pub name: &'static str,
    /// The form in words.
    pub shown: &'static str,
    /// A regular expression that matches it whole.
    pub pattern: &'static str,
    /// The numbers that may stand in its place.
    pub number: Option<&'static Kind>,
}

impl Key {
    const fn new(name: &'static str, kind: &'static Kind, about: &'static str) -> Key {
        Key { name, old: &[], kind, default: Default::Unset, about, example: "…" }
    }

    const fn required(self) -> Key {
        Key { default: Default::Required, ..self }
    }

    /// With this default, as it would be written.
    const fn or(self, value: &'static str) -> Key {
        Key { default: Default::Value(value), ..self }
    }

    /// With a default that is described.
    const fn otherwise(self, words: &'static str) -> Key {
        Key { default: Default::Words(words), ..self }
    }

    const fn once(self, old: &'static [&'static str]) -> Key {
        Key { old, ..self }
    }

    const fn like(self, example: &'static str) -> Key {
        Key { example, ..self }
    }
}

impl Group {
    /// Whether it has a key of this name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The key of this name.
    pub fn find(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

impl Object {
    /// Its keys, in the order of the table.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.groups.iter().flat_map(|group| group.keys)
    }

    /// The key of this name.
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }

    /// The present name of the known key nearest to `found`, if one is near enough. Earlier names
    /// are known too.
    pub fn nearest(&self, found: &str) -> Option<String> {
        let names = |key: &'static Key| [key.name].into_iter().chain(key.old.iter().copied());
        let near = nearest(found, self.keys().flat_map(names))?;
        let key = self.keys().find(|key| names(key).any(|name| name == near))?;
        Some(key.name.to_owned())
    }

    /// Adds this object and those below it, each once.
    fn collect(&'static self, found: &mut Vec<&'static Object>) {
        if found.iter().any(|object| ptr::eq(*object, self)) {
            return;
        }
        found.push(self);
        self.keys().chain(&self.rest).for_each(|key| key.kind.collect(found));
    }
}

impl Kind {
    fn collect(&'static self, found: &mut Vec<&'static Object>) {
        match self {
            Kind::Object(object) => object.collect(found),
            Kind::Any(kinds) => kinds.iter().for_each(|kind| kind.collect(found)),
            Kind::List { of, .. } | Kind::Set { of, .. } | Kind::Map { of, .. } => {
                of.collect(found)
            }
            _ => {}
        }
    }
}

/// All objects of a plan, the whole plan first.
pub(super) fn objects() -> &'static [&'static Object] {
    static OBJECTS: LazyLock<Vec<&Object>> = LazyLock::new(|| {
        let mut found = Vec::new();
        PLAN.collect(&mut found);
        found
    });
    &OBJECTS
}

/// Whether any map of a plan, or of Yandex Tank's file, has this key.
pub(super) fn is_known(name: &str) -> bool {
    objects().iter().any(|object| object.find(name).is_some())
        || tank_keys::GROUPS.iter().any(|group| group.has(name))
}

/// The place where a key belongs that is known one level below the top, in words for a message.
pub(super) fn belongs_below(name: &str) -> Option<String> {
    // `use` is a key of several maps: that of a runtime is the most likely one.
    let likely = [&BUDGET, &RUNTIME, &CLIENT, &LOAD];
    let all = likely.into_iter().chain(objects().iter().copied());
    let mut found = all.filter_map(|object| Some((object.below?, object.find(name)?)));
    let (below, key) = found.next()?;
    Some(below.replace("KEY", &format!("{name}: {}", key.example)))
}

/// Names of the settings that mean the same for all runtimes, with their defaults. They may stand
/// at the top level of a plan.
pub fn settings() -> impl Iterator<Item = (&'static str, &'static str)> {
    SETTINGS.keys.iter().map(|key| match key.default {
        Default::Value(default) => (key.name, default),
        Default::Required | Default::Unset | Default::Words(_) => (key.name, ""),
    })
}

/// Calls `change` with each map of the tree that is an object of the table.
pub(super) fn walk<F>(node: &mut Node, kind: &'static Kind, change: &mut F)
where
    F: FnMut(&'static Object, &mut Node),
{
    match (kind, &mut node.value) {
        (Kind::Object(object), Value::Map(_)) => {
            change(object, node);
            let Value::Map(entries) = &mut node.value else { return };
            for (key, value) in entries {
                let known = object.find(key.text().unwrap_or("")).or(object.rest.as_ref());
                if let Some(key) = known {
                    walk(value, key.kind, change);
                }
            }
        }
        (Kind::Any(kinds), _) => kinds.iter().for_each(|kind| walk(node, kind, change)),
        (Kind::List { of, .. } | Kind::Set { of, .. }, Value::List(items)) => {
            items.iter_mut().for_each(|item| walk(item, of, change));
        }
        (Kind::Map { of, .. }, Value::Map(entries)) => {
            entries.iter_mut().for_each(|(_, value)| walk(value, of, change));
        }
        _ => {}
    }
}
