//! What stays with the database connection: open transactions, its own settings, locks.

use tree_sitter::Node;

use super::SuspectKind;
use super::place::Place;
use super::reader::{At, Reader};
use super::summary::called;
use super::tree::{arguments, literal};

/// `mysqli_query($link, 'SET …')`, `pg_query`.
pub(super) fn function(reader: &mut Reader, at: At) {
    let name = called(at.node, &reader.names, reader.source);
    if name.is_some_and(|name| matches!(&*name, "mysqli_query" | "pg_query")) {
        settings(reader, at);
    }
}

/// `$db->beginTransaction()`, `$db->exec('SET …')`, and Laravel's `DB::` of the same names.
pub(super) fn method(reader: &mut Reader, at: At) {
    let name = at.node.child_by_field_name("name").map(|name| reader.text(name));
    match name {
        Some("beginTransaction") if arguments(at.node).is_empty() => transaction(reader, at),
        Some(
            "exec" | "query" | "executeStatement" | "executeQuery" | "statement" | "unprepared",
        ) => {
            settings(reader, at);
        }
        Some("setAttribute") => attribute(reader, at),
        _ => {}
    }
}

/// Nothing in the class rolls it back. Methods that only pass it on are no place to do that.
fn transaction(reader: &mut Reader, at: At) {
    let own = Place::of(at.path).function_name(reader.source).to_ascii_lowercase();
    let passes_on = own.contains("begin") || own.contains("transaction");
    if !passes_on && !reader.class_summary(at).calls_method("rollback") {
        reader.add(SuspectKind::Transaction, "beginTransaction()", at);
    }
}

/// `$db->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, …)`.
fn attribute(reader: &mut Reader, at: At) {
    let given = arguments(at.node);
    let name = given.first().map_or("", |name| reader.text(*name).trim_start_matches('\\'));
    let is_pdo = name.to_ascii_uppercase().starts_with("PDO::");
    if is_pdo && !is_taken_back(reader, at, name) {
        reader.add(SuspectKind::DatabaseSession, name, at);
    }
}

fn settings(reader: &mut Reader, at: At) {
    let given = arguments(at.node);
    let said = given.iter().find_map(|value| statement(*value, reader));
    let Some(said) = said else { return };
    let words: Vec<String> =
        said.split(|c: char| c.is_whitespace() || c == '=').map(str::to_ascii_uppercase).collect();
    let words: Vec<&str> =
        words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    let what = match words[..] {
        ["SET", "LOCAL" | "TRANSACTION" | "CONSTRAINTS", ..] => return,
        ["SET", "SESSION" | "GLOBAL", name, ..] => format!("SET SESSION {}", name.to_lowercase()),
        ["SET", name, ..] => format!("SET {}", name.to_lowercase()),
        ["PRAGMA", name, _, ..] => format!("PRAGMA {}", name.to_lowercase()),
        ["LOCK", "TABLES" | "TABLE", ..] => "LOCK TABLES".to_owned(),
        ["CREATE", "TEMPORARY" | "TEMP", ..] => "CREATE TEMPORARY TABLE".to_owned(),
        ["SELECT", first, ..] if first.starts_with("GET_LOCK(") => "GET_LOCK()".to_owned(),
        ["SELECT", first, ..] if first.starts_with("PG_ADVISORY_LOCK(") => {
            "pg_advisory_lock()".to_owned()
        }
        _ => return,
    };
    if !is_taken_back(reader, at, &what) {
        reader.add(SuspectKind::DatabaseSession, what, at);
    }
}

/// What a statement begins with, where that stands there in letters.
fn statement<'a>(value: Node, reader: &Reader<'a>) -> Option<&'a str> {
    match value.kind() {
        "string" => literal(value, reader.source),
        // Only its begin matters: variables may follow.
        "encapsed_string" => Some(reader.text(value).trim_matches('"')),
        "binary_expression" => statement(value.child_by_field_name("left")?, reader),
        _ => None,
    }
}

/// Whether the function says another statement of the same kind, or unlocks; or makes the
/// connection, which then always has it.
fn is_taken_back(reader: &Reader, at: At, what: &str) -> bool {
    let Some(function) = Place::of(at.path).function else { return false };
    let body = reader.text(function).to_ascii_uppercase();
    if MAKES.iter().any(|makes| body.contains(makes)) {
        return true;
    }
    match what {
        "LOCK TABLES" => body.contains("UNLOCK TABLES"),
        "GET_LOCK()" => body.contains("RELEASE_LOCK("),
        "pg_advisory_lock()" => body.contains("PG_ADVISORY_UNLOCK"),
        "CREATE TEMPORARY TABLE" => body.contains("DROP T"),
        setting => body.matches(&setting.to_ascii_uppercase()).count() > 1,
    }
}

/// What a connection is made by, in capitals.
const MAKES: &[&str] = &[
    "NEW PDO(",
    "NEW \\PDO(",
    "NEW MYSQLI(",
    "NEW \\MYSQLI(",
    "MYSQLI_CONNECT(",
    "PG_CONNECT(",
    "NEW SQLITE3(",
    "NEW \\SQLITE3(",
];
