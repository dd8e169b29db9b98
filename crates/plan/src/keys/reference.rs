//! Writes the reference of `docs/plans.md` from the table of keys.

use super::super::error::one_of;
use super::super::value::grouped;
use super::{Default, Group, Key, Kind, Object, objects};

/// The reference of all keys as Markdown: a heading and a table for each map, the plan first.
pub fn reference() -> String {
    let mut shown: Vec<&str> = Vec::new();
    let mut text = String::new();
    for object in objects() {
        let (own, named) = parts(object);
        text += &format!("### {}\n\n{}\n\n", heading(object), object.about);
        text += &table(own.iter().flat_map(|group| group.keys), object.rest.as_ref());
        for (title, group) in named {
            if shown.contains(&title) {
                let link = anchor(title);
                text +=
                    &format!("The [{}](#{link}) may stand here, too.\n\n", title.to_lowercase());
            } else {
                shown.push(title);
                text += &format!("### {title}\n\n{}", table(group.keys.iter(), None));
            }
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// The groups whose keys stand in the table of the object itself, and those with a table of their
/// own, which have a title.
fn parts(object: &Object) -> (Vec<&'static Group>, Vec<(&'static str, &'static Group)>) {
    let own = object.groups.iter().copied().filter(|group| group.title.is_none());
    let named = object.groups.iter().filter_map(|group| Some((group.title?, *group)));
    (own.collect(), named.collect())
}

fn table<'a>(keys: impl Iterator<Item = &'a Key>, rest: Option<&Key>) -> String {
    let rows = keys.map(|key| row(&format!("`{}`", key.name), key));
    let rest = rest.map(|rest| row(&format!("*{}*", rest.name), rest));
    let head = "| key | type | default | what it does |\n|---|---|---|---|\n".to_owned();
    rows.chain(rest).fold(head, |text, row| text + &row) + "\n"
}

fn row(name: &str, key: &Key) -> String {
    let default = match key.default {
        Default::Required => "required".to_owned(),
        Default::Unset => String::new(),
        Default::Value(value) => format!("`{value}`"),
        Default::Words(words) => words.to_owned(),
    };
    let cells = [name, &shown(key.kind), &default, key.about];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |")
}

/// A kind of value in words.
fn shown(kind: &Kind) -> String {
    match kind {
        Kind::Null => "nothing".to_owned(),
        Kind::Text => "text".to_owned(),
        Kind::Scalar | Kind::Foreign => "single value".to_owned(),
        Kind::Switch => "`true` or `false`".to_owned(),
        Kind::Number { .. } => "number".to_owned(),
        Kind::Whole { least: 0, most: u64::MAX } => "whole number".to_owned(),
        Kind::Whole { least, most: u64::MAX } => format!("whole number from {least}"),
        Kind::Whole { least, most } => {
            format!("whole number from {} to {}", grouped(*least), grouped(*most))
        }
        Kind::Words(words) => one_of(words.iter().copied()),
        Kind::Form(form) => form.shown.to_owned(),
        Kind::List { of, .. } | Kind::Set { of, .. } => format!("list of {}", shown(of)),
        Kind::Map { of, .. } => format!("map to {}", shown(of)),
        Kind::Object(object) | Kind::Unlisted(object) => {
            format!("[{}](#{})", noun(object), anchor(&heading(object)))
        }
        Kind::Any(kinds) => {
            let all: Vec<String> = kinds.iter().map(|kind| shown(kind)).collect();
            all.join(" or ")
        }
    }
}

fn heading(object: &Object) -> String {
    format!("Keys of {}", object.place)
}

/// The place without its article: `load` for `a load`.
fn noun(object: &Object) -> &'static str {
    let articles = ["a ", "an ", "the "];
    let without = articles.iter().find_map(|article| object.place.strip_prefix(article));
    without.unwrap_or(object.place)
}

/// The part of a link that leads to a heading, as code hosts make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
