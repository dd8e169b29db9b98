//! Finds what stays with the database connection: open transactions, session settings, locks.

use tree_sitter::Node;

use super::SuspectKind;
use super::place::Scope;
use super::reader::{NodePath, Reader};
use super::summary::called;
use super::tree::{arguments, literal};

/// Reads `mysqli_query($link, 'SET …')` and `pg_query`.
pub(super) fn function(reader: &mut Reader, at: NodePath) {
    let name = called(at.node, &reader.names, reader.source);
    if name.is_some_and(|name| matches!(&*name, "mysqli_query" | "pg_query")) {
        settings(reader, at);
    }
}

/// Reads `$db->beginTransaction()`, `$db->exec('SET …')`, and the same methods of Laravel's `DB::`.
pub(super) fn method(reader: &mut Reader, at: NodePath) {
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

/// Reports a transaction that nothing in the class rolls back. Methods that only pass the call on
/// are accepted: they are no place for a rollback.
fn transaction(reader: &mut Reader, at: NodePath) {
    let own = Scope::of(at.path).function_name(reader.source).to_ascii_lowercase();
    let passes_on = own.contains("begin") || own.contains("transaction");
    if !passes_on && !reader.class_summary(at).calls_method("rollback") {
        reader.add(SuspectKind::Transaction, "beginTransaction()", at);
    }
}

/// Reads `$db->setAttribute(PDO::ATTR_DEFAULT_FETCH_MODE, …)`.
fn attribute(reader: &mut Reader, at: NodePath) {
    let args = arguments(at.node);
    let name = args.first().map_or("", |name| reader.text(*name).trim_start_matches('\\'));
    let is_pdo = name.to_ascii_uppercase().starts_with("PDO::");
    if is_pdo && !is_reverted(reader, at, name) {
        reader.add(SuspectKind::DatabaseSession, name, at);
    }
}

fn settings(reader: &mut Reader, at: NodePath) {
    let args = arguments(at.node);
    let sql = args.iter().find_map(|value| statement(*value, reader));
    let Some(sql) = sql else { return };
    let words: Vec<String> =
        sql.split(|c: char| c.is_whitespace() || c == '=').map(str::to_ascii_uppercase).collect();
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
    if !is_reverted(reader, at, &what) {
        reader.add(SuspectKind::DatabaseSession, what, at);
    }
}

/// Returns the beginning of a statement if it is literal.
fn statement<'a>(value: Node, reader: &Reader<'a>) -> Option<&'a str> {
    match value.kind() {
        "string" => literal(value, reader.source),
        // Only the beginning matters: variables may follow.
        "encapsed_string" => Some(reader.text(value).trim_matches('"')),
        "binary_expression" => statement(value.child_by_field_name("left")?, reader),
        _ => None,
    }
}

/// Returns whether the same function contains another such statement, or unlocks. A function that
/// creates the connection is accepted too: its connection always has the setting.
fn is_reverted(reader: &Reader, at: NodePath, what: &str) -> bool {
    let Some(function) = Scope::of(at.path).function else { return false };
    let body = reader.text(function).to_ascii_uppercase();
    if CREATE_CONNECTION.iter().any(|makes| body.contains(makes)) {
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

/// Code that creates a connection, in upper case.
const CREATE_CONNECTION: &[&str] = &[
    "NEW PDO(",
    "NEW \\PDO(",
    "NEW MYSQLI(",
    "NEW \\MYSQLI(",
    "MYSQLI_CONNECT(",
    "PG_CONNECT(",
    "NEW SQLITE3(",
    "NEW \\SQLITE3(",
];
