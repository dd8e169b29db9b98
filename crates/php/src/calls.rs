//! Finds calls that change the process, end it, or bypass the framework.

use super::SuspectKind;
use super::functions::{FUNCTIONS, Function, Undo};
use super::place::{self, Scope, is_guarded_by};
use super::reader::{NodePath, Reader};
use super::summary::called;
use super::tree::{arguments, child, children, literal};
use super::write;

/// Reads a call of one of PHP's own functions.
pub(super) fn function(reader: &mut Reader, at: NodePath) {
    let Some(name) = called(at.node, &reader.names, reader.source) else { return };
    match &*name {
        "exit" | "die" => return exit(reader, at),
        "dd" if reader.has_framework() => return reader.add(SuspectKind::Exit, "dd()", at),
        "define" => return constant(reader, at),
        "print_r" | "var_export" if arguments(at.node).len() == 1 => {
            return output(reader, at, &name);
        }
        "fopen" | "file_get_contents" if first(reader, at) == Some("php://input") => {
            return reader.add(SuspectKind::Superglobal, "php://input", at);
        }
        _ => {}
    }
    let Some(function) = FUNCTIONS.iter().find(|function| function.name == name) else { return };
    if function.kind == SuspectKind::Output {
        return output(reader, at, &name);
    }
    if arguments(at.node).len() < function.least || only_queries(reader, at, &name) {
        return;
    }
    if !is_undone(reader, at, function) {
        let what = match first(reader, at) {
            Some(first) if function.shows_first => format!("{name}('{}')", brief(first)),
            _ => format!("{name}()"),
        };
        reader.add(function.kind, what, at);
    }
}

/// Reads a call of `Locale::setDefault()`.
pub(super) fn method(reader: &mut Reader, at: NodePath) {
    let scope = at.node.child_by_field_name("scope");
    let name = at.node.child_by_field_name("name").map(|name| reader.text(name));
    if name == Some("setDefault")
        && scope.is_some_and(|scope| reader.names.class(reader.text(scope)) == "Locale")
    {
        reader.add(SuspectKind::Setlocale, "Locale::setDefault()", at);
    }
}

/// Reads `exit` in any form. It is accepted where it only guards a file against direct access.
pub(super) fn exit(reader: &mut Reader, at: NodePath) {
    let checks = ["defined(", "defined (", "function_exists(", "class_exists("];
    let inside = Scope::of(at.path).is_inside();
    if !inside && is_guarded_by(&checks, at.node, at.path, reader.source) {
        return;
    }
    let word = reader.text(at.node).trim_start_matches('\\').get(..3).unwrap_or_default();
    let word = if word.eq_ignore_ascii_case("die") { "die" } else { "exit" };
    reader.add(SuspectKind::Exit, word, at);
}

/// Reads `die` without arguments, which the grammar parses as a constant.
pub(super) fn bare_exit(reader: &mut Reader, at: NodePath) {
    let word = reader.text(at.node);
    let parent = at.path.last().map(|parent| parent.kind());
    let is_value = parent.is_some_and(|parent| {
        ["expression_statement", "binary_expression", "conditional_expression"].contains(&parent)
    });
    if is_value && ["exit", "die"].iter().any(|end| word.eq_ignore_ascii_case(end)) {
        exit(reader, at);
    }
}

/// Reads `echo` and similar output in a method or function that does not buffer its output.
/// Closures are accepted, because streamed answers consist of them.
pub(super) fn output(reader: &mut Reader, at: NodePath, name: &str) {
    let scope = Scope::of(at.path);
    if reader.has_html || scope.in_closure || scope.function.is_none() {
        return;
    }
    if !reader.function_summary(at).calls_any(&["ob_start"]) {
        reader.add(SuspectKind::Output, name, at);
    }
}

/// Reads comparisons like `PHP_SAPI === 'cli'`, which requests may reach.
pub(super) fn sapi(reader: &mut Reader, at: NodePath) {
    let parts = children(at.node);
    let asks = |part: &tree_sitter::Node| {
        let operand = reader.text(*part).trim_start_matches('\\');
        operand == "PHP_SAPI" || operand.starts_with("php_sapi_name(")
    };
    let compared = parts.iter().any(|part| literal(*part, reader.source).is_some());
    if compared && parts.iter().any(asks) {
        reader.add(SuspectKind::Sapi, reader.text(at.node), at);
    }
}

/// Reads a function or class that is declared inside a function.
pub(super) fn declared(reader: &mut Reader, at: NodePath) {
    let is_inside = at.path.iter().any(|node| place::FUNCTIONS.contains(&node.kind()));
    let name = at.node.child_by_field_name("name");
    let Some(name) = name.filter(|_| is_inside) else { return };
    let guards = ["function_exists", "class_exists"];
    if !is_guarded_by(&guards, at.node, at.path, reader.source) {
        reader.add(SuspectKind::Redeclared, reader.text(name), at);
    }
}

/// Reads `define()`. It is harmless if the code checks for the constant first and the value is
/// fixed.
fn constant(reader: &mut Reader, at: NodePath) {
    let args = arguments(at.node);
    let [name, value, ..] = args[..] else { return };
    let same = matches!(value.kind(), "string" | "integer" | "float" | "boolean")
        || write::is_constant(value);
    if same && is_guarded_by(&["defined"], at.node, at.path, reader.source) {
        return;
    }
    let name = literal(name, reader.source).unwrap_or("…");
    reader.add(SuspectKind::Constant, format!("define('{}')", brief(name)), at);
}

/// Returns whether a call with arguments changes nothing.
fn only_queries(reader: &Reader, at: NodePath, name: &str) -> bool {
    let args = arguments(at.node);
    let argument = |index: usize| args.get(index).map(|value| reader.text(*value));
    match name {
        "setlocale" => matches!(argument(1), Some("0" | "\"0\"" | "'0'" | "null" | "NULL")),
        "set_error_handler" | "set_exception_handler" => argument(0) == Some("null"),
        "libxml_use_internal_errors" => argument(0) == Some("false"),
        _ => false,
    }
}

fn is_undone(reader: &mut Reader, at: NodePath, function: &Function) -> bool {
    match function.undo {
        Undo::Never => false,
        Undo::By(others) => {
            reader.function_summary(at).calls_any(others)
                || reader.class_summary(at).calls_any(others)
        }
        Undo::Itself(asks) => reader.function_summary(at).restores(function.name, asks),
    }
}

/// Returns the first argument if it is a literal string.
fn first<'a>(reader: &Reader<'a>, at: NodePath) -> Option<&'a str> {
    literal(*arguments(at.node).first()?, reader.source)
}

/// Returns at most 40 characters of a string.
fn brief(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Returns the function if an assigned value is a handle of a file, socket or process that it
/// opens.
pub(super) fn opens(reader: &Reader, value: tree_sitter::Node) -> Option<String> {
    let value = match value.kind() {
        "error_suppression_expression" => child(value, "function_call_expression")?,
        _ => value,
    };
    if value.kind() != "function_call_expression" {
        return None;
    }
    let name = called(value, &reader.names, reader.source)?;
    const OPEN: [&str; 6] =
        ["fopen", "fsockopen", "popen", "proc_open", "stream_socket_client", "tmpfile"];
    OPEN.contains(&&*name).then_some(name)
}
