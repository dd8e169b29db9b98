//! Finds static properties and static variables that are written.

use super::SuspectKind;
use super::keeps;
use super::place::{Scope, class_name};
use super::reader::{NodePath, Reader};
use super::summary::{how, is_harmless};
use super::tree::{child, children};
use super::write::{WriteKind, written};

/// Reads `self::$x = …`, `Cart::$x[] = …` and similar writes inside a function.
pub(super) fn property(reader: &mut Reader, at: NodePath) {
    let place = Scope::of(at.path);
    let Some(write) = written(at.node, at.path, reader.source) else { return };
    let how = how(&write, at.node, at.path, reader.source);
    if is_harmless(&write, how, reader.source) || is_boot(reader, place) {
        return;
    }
    let property = whole_name(reader, at, place);
    if write.value.is_some_and(|value| keeps::is_request(reader, value, at)) {
        return reader.add(SuspectKind::KeepsRequest, property, at);
    }
    reader.add(SuspectKind::StaticWritten, describe(&property, how), at);
}

/// Reads `static $x` if the same function writes it.
pub(super) fn variables(reader: &mut Reader, at: NodePath) {
    let summary = reader.function_summary(at);
    for declared in children(at.node) {
        let Some(name) = declared.child_by_field_name("name") else { continue };
        let name = reader.text(name);
        if let Some(how) = summary.writes(name) {
            reader.add(SuspectKind::StaticVariable, describe(name, how), at);
        }
    }
}

/// Returns what is written, and how where that matters.
fn describe(name: &str, how: WriteKind) -> String {
    match how {
        WriteKind::Whole | WriteKind::Unset => name.to_owned(),
        WriteKind::Memo => format!("{name} (kept once made)"),
        WriteKind::Appended => format!("{name}[] (grows)"),
        WriteKind::Element => format!("{name}[…]"),
    }
}

/// Returns the full name of a static property, such as `App\Cart::$items`.
fn whole_name(reader: &Reader, at: NodePath, place: Scope) -> String {
    let scope = at.node.child_by_field_name("scope");
    let property = at.node.child_by_field_name("name").map(|name| reader.text(name));
    let written = scope.map(|scope| reader.text(scope)).unwrap_or_default();
    let own = || place.class.map(|class| class_name(class, &reader.names, reader.source));
    let parent = || {
        let base = child(place.class?, "base_clause")?;
        children(base).first().map(|base| reader.names.class(reader.text(*base)))
    };
    let class = match (scope.map(|scope| scope.kind()), &*written.to_ascii_lowercase()) {
        (Some("relative_scope"), "parent") => parent(),
        (Some("relative_scope"), _) => own(),
        (Some("name" | "qualified_name"), _) => Some(reader.names.class(written)),
        _ => None,
    };
    let class = class.unwrap_or_else(|| written.to_owned());
    format!("{class}::{}", property.unwrap_or_default())
}

/// Returns whether the code runs once at boot, or resets values.
fn is_boot(reader: &Reader, place: Scope) -> bool {
    let base = place.class.and_then(|class| child(class, "base_clause"));
    let is_provider = base.is_some_and(|base| reader.text(base).ends_with("ServiceProvider"));
    is_provider || place.function_name(reader.source) == "reset"
}
