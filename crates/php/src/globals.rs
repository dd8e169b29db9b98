//! Finds uses of global variables and superglobals.

use stampede_model::app_kind::AppKind;

use super::SuspectKind;
use super::reader::{NodePath, Reader};
use super::summary::is_harmless;
use super::tree::{children, literal};
use super::write::written;

/// Reads `global $x`. Scripts get new globals for each request, so there it counts only if written.
pub(super) fn declared(reader: &mut Reader, at: NodePath) {
    let summary = reader.function_summary(at);
    for variable in children(at.node) {
        let name = reader.text(variable);
        if reader.app != AppKind::Script || summary.writes(name).is_some() {
            reader.add(SuspectKind::Global, name, at);
        }
    }
}

/// Reads `$_SESSION`, `$_GET` and others that belong to a request. `$GLOBALS` and the environment
/// count only if they are written.
pub(super) fn superglobal(reader: &mut Reader, at: NodePath) {
    let name = reader.text(at.node);
    let key = key(reader, at);
    match name {
        "$_SESSION" => reader.add(SuspectKind::Session, name, at),
        "$_GET" | "$_POST" | "$_COOKIE" | "$_FILES" | "$_REQUEST" => {
            reader.add(SuspectKind::Superglobal, name, at);
        }
        "$_SERVER" if key.is_some_and(is_of_request) => {
            let what = format!("$_SERVER['{}']", key.unwrap_or_default());
            reader.add(SuspectKind::Superglobal, what, at);
        }
        "$GLOBALS" | "$_ENV" | "$_SERVER" => {
            let write = written(at.node, at.path, reader.source);
            if write.is_none_or(|write| is_harmless(&write, write.how, reader.source)) {
                return;
            }
            let what = key.map_or_else(|| name.to_owned(), |key| format!("{name}['{key}']"));
            let is_global = name == "$GLOBALS";
            let kind = if is_global { SuspectKind::Global } else { SuspectKind::Putenv };
            reader.add(kind, what, at);
        }
        _ => {}
    }
}

/// Returns the key of the access if it is literal.
fn key<'a>(reader: &Reader<'a>, at: NodePath) -> Option<&'a str> {
    let parent = at.path.last().filter(|parent| parent.kind() == "subscript_expression")?;
    literal(*children(*parent).get(1)?, reader.source)
}

/// Returns whether a key of `$_SERVER` differs between requests; other keys belong to the
/// environment.
fn is_of_request(key: &str) -> bool {
    const BEGIN: [&str; 6] = ["HTTP_", "REQUEST_", "REMOTE_", "PHP_AUTH_", "CONTENT_", "REDIRECT_"];
    const WHOLE: [&str; 8] = [
        "AUTH_TYPE",
        "HTTPS",
        "ORIG_PATH_INFO",
        "PATH_INFO",
        "PHP_SELF",
        "QUERY_STRING",
        "SERVER_NAME",
        "SERVER_PORT",
    ];
    BEGIN.iter().any(|begin| key.starts_with(begin)) || WHOLE.contains(&key)
}
