//! Decides whether a variable or property is written at a place, and how.

use tree_sitter::Node;

use super::tree::{Descent, children, is, text, walk};

/// A write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write<'t> {
    /// The new value, if the write sets a single value.
    pub value: Option<Node<'t>>,
    pub how: WriteKind,
}

/// The part of the variable that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteKind {
    /// The whole variable.
    Whole,
    /// The whole variable, if it had no value.
    Memo,
    /// A new entry at the end.
    Appended,
    /// A part of it.
    Element,
    /// It is unset.
    Unset,
}

/// Returns how `node` is written at its place; `None` if it is not. `path` is its ancestors.
pub(super) fn written<'t>(node: Node<'t>, path: &[Node<'t>], source: &[u8]) -> Option<Write<'t>> {
    let (mut below, mut how) = (node, WriteKind::Whole);
    for parent in path.iter().rev().copied() {
        match parent.kind() {
            "subscript_expression" if parent.named_child(0) == Some(below) => {
                // In `$a['b'][] = 1` the outer access comes last and is the most significant.
                how = if children(parent).len() == 1 {
                    WriteKind::Appended
                } else {
                    WriteKind::Element
                };
            }
            "list_literal" | "by_ref" | "pair" => {}
            "assignment_expression" => return assigned(parent, below, how),
            "augmented_assignment_expression" => {
                let is_memo = parent
                    .child_by_field_name("operator")
                    .is_some_and(|operator| text(operator, source) == "??=");
                let value = parent.child_by_field_name("right").filter(|_| is_memo);
                let how = if is_memo && how == WriteKind::Whole { WriteKind::Memo } else { how };
                return is(parent, "left", below).then_some(Write { value, how });
            }
            "reference_assignment_expression" | "update_expression" => {
                return Some(Write { value: None, how });
            }
            "unset_statement" => return Some(Write { value: None, how: WriteKind::Unset }),
            "foreach_statement" => return by_loop(parent, below, how),
            "argument" => {
                return by_call(below, path, source).then_some(Write { value: None, how });
            }
            _ => return None,
        }
        below = parent;
    }
    None
}

fn assigned<'t>(assignment: Node<'t>, below: Node<'t>, how: WriteKind) -> Option<Write<'t>> {
    let value = assignment.child_by_field_name("right");
    // `[$a, $b] = …` assigns only a part of the value to each.
    let value = value.filter(|_| below.kind() != "list_literal");
    is(assignment, "left", below).then_some(Write { value, how })
}

/// Reads `foreach ($from as $below)` and `foreach ($below as &$each)`.
fn by_loop<'t>(looped: Node<'t>, below: Node<'t>, how: WriteKind) -> Option<Write<'t>> {
    let parts = children(looped);
    let by_reference = |each: &Node| {
        each.kind() == "by_ref"
            || children(*each).last().is_some_and(|each| each.kind() == "by_ref")
    };
    let is_written = match parts.first() == Some(&below) {
        true => parts.get(1).is_some_and(by_reference),
        false => parts.get(1) == Some(&below),
    };
    is_written.then_some(Write { value: None, how })
}

/// Returns whether a call changes the node, as `sort($below)` does: it is the first argument of one
/// of [`CHANGE_FIRST_ARGUMENT`].
fn by_call(below: Node, path: &[Node], source: &[u8]) -> bool {
    let [.., call, arguments, argument] = path_to_argument(path) else { return false };
    let function = call.child_by_field_name("function");
    let name = function.map(|name| text(name, source).trim_start_matches('\\'));
    let is_first = children(*arguments).first() == Some(argument);
    let has_it = argument.named_child(0) == Some(below);
    is_first
        && has_it
        && name.is_some_and(|name| CHANGE_FIRST_ARGUMENT.contains(&&*name.to_ascii_lowercase()))
}

/// Returns the part of the path that ends with the innermost argument.
fn path_to_argument<'p, 't>(path: &'p [Node<'t>]) -> &'p [Node<'t>] {
    let at = path.iter().rposition(|node| node.kind() == "argument");
    at.map_or(&[], |at| &path[..=at])
}

/// PHP's own functions that take the first argument by reference and change it.
const CHANGE_FIRST_ARGUMENT: &[&str] = &[
    "array_multisort",
    "array_pop",
    "array_push",
    "array_shift",
    "array_splice",
    "array_unshift",
    "array_walk",
    "array_walk_recursive",
    "arsort",
    "asort",
    "krsort",
    "ksort",
    "natcasesort",
    "natsort",
    "rsort",
    "settype",
    "shuffle",
    "sort",
    "uasort",
    "uksort",
    "usort",
];

/// Returns whether a value is the same in every request: `null` or an array of constants.
pub(super) fn is_constant(value: Node) -> bool {
    matches!(value.kind(), "null" | "array_creation_expression")
        && consists(value, |node| CONSTANT.contains(&node.kind()))
}

/// Returns whether a value can be created once for all requests. It consists of constants, the
/// environment and the app's own files, such as a list that is read, or a connection with settings.
pub(super) fn is_same_for_all_requests(value: Node, source: &[u8]) -> bool {
    let named = |node: Node, field: &str, names: &[&str]| {
        let name = node.child_by_field_name(field).or_else(|| children(node).first().copied());
        let name = name.map(|name| text(name, source).trim_start_matches('\\'));
        name.is_some_and(|name| names.contains(&name))
    };
    consists(value, |node| match node.kind() {
        "function_call_expression" => named(node, "function", SAME_FOR_ALL_REQUESTS),
        "object_creation_expression" => named(node, "class", CONNECTIONS),
        kind => CONSTANT.contains(&kind) || AROUND_CALLS.contains(&kind),
    })
}

fn consists(value: Node, of: impl Fn(Node) -> bool) -> bool {
    let mut all = true;
    walk(value, &[], |node, _| {
        all &= !node.is_named() || of(node);
        if all { Descent::Into } else { Descent::Over }
    });
    all
}

/// Functions whose result depends on their arguments and the environment, not on the request.
const SAME_FOR_ALL_REQUESTS: &[&str] = &[
    "array_combine",
    "array_fill_keys",
    "array_flip",
    "array_merge",
    "class_exists",
    "dirname",
    "explode",
    "extension_loaded",
    "file_get_contents",
    "function_exists",
    "getenv",
    "implode",
    "json_decode",
    "method_exists",
    "parse_ini_file",
    "php_uname",
    "phpversion",
    "range",
    "str_repeat",
    "version_compare",
];
/// Classes of connections; other rules check the state of a connection.
const CONNECTIONS: &[&str] = &["Memcached", "PDO", "Redis", "mysqli"];
/// Kinds of nodes that may surround such calls.
const AROUND_CALLS: &[&str] = &[
    "argument",
    "arguments",
    "cast_expression",
    "cast_type",
    "conditional_expression",
    "function_call_expression",
    "include_expression",
    "include_once_expression",
    "require_expression",
    "require_once_expression",
];

/// Kinds of nodes of a value that is known when the file is compiled.
const CONSTANT: &[&str] = &[
    "array_creation_expression",
    "array_element_initializer",
    "binary_expression",
    "boolean",
    "class_constant_access_expression",
    "comment",
    "escape_sequence",
    "float",
    "integer",
    "name",
    "namespace_name",
    "null",
    "parenthesized_expression",
    "qualified_name",
    "relative_scope",
    "string",
    "string_content",
    "unary_op_expression",
    "encapsed_string",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{self, Descent};

    /// Returns how `$x` is written at the first place in a file where it is.
    fn how(code: &str) -> Option<WriteKind> {
        let source = format!("<?php {code}");
        let parsed = tree::parse(&mut tree::parser(), source.as_bytes()).unwrap();
        assert!(!parsed.root_node().has_error(), "{code}");
        let mut found = None;
        tree::walk(parsed.root_node(), &[], |node, path| {
            if node.kind() == "variable_name" && text(node, source.as_bytes()) == "$x" {
                found = found.or(written(node, path, source.as_bytes()).map(|write| write.how));
            }
            Descent::Into
        });
        found
    }

    #[test]
    fn every_kind_of_write_is_found() {
        for (code, expected) in [
            ("$x = 1;", WriteKind::Whole),
            ("$x ??= 1;", WriteKind::Memo),
            ("$x .= 'a';", WriteKind::Whole),
            ("$x[] = 1;", WriteKind::Appended),
            ("$x['a'][] = 1;", WriteKind::Appended),
            ("$x['a'] ??= 1;", WriteKind::Element),
            ("$x['a']['b'] = 1;", WriteKind::Element),
            ("$x++;", WriteKind::Whole),
            ("--$x;", WriteKind::Whole),
            ("unset($x['a']);", WriteKind::Unset),
            ("[$x, $y] = f();", WriteKind::Whole),
            ("[$y, [$x]] = f();", WriteKind::Whole),
            ("list('a' => $x) = f();", WriteKind::Whole),
            ("foreach (f() as $x) {}", WriteKind::Whole),
            ("foreach (f() as $k => $x) {}", WriteKind::Whole),
            ("foreach ($x as &$y) {}", WriteKind::Whole),
            ("foreach ($x as $k => &$y) {}", WriteKind::Whole),
            ("array_push($x, 1);", WriteKind::Whole),
            ("\\sort($x['a']);", WriteKind::Element),
            ("$x = &$y;", WriteKind::Whole),
            ("$y = &$x;", WriteKind::Whole),
        ] {
            assert_eq!(how(code), Some(expected), "{code}");
        }
    }

    #[test]
    fn reading_is_not_writing() {
        for code in [
            "$y = $x;",
            "$y[$x] = 1;",
            "f($x);",
            "array_push($y, $x);",
            "foreach ($x as $y) {}",
            "echo $x['a'];",
            "$x->y = 1;",
            "$y = [$x];",
            "return [$x => 1];",
            "sort($y[$x]);",
        ] {
            assert_eq!(how(code), None, "{code}");
        }
    }
}
