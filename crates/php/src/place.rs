//! Finds the class and function around a node, and whether requests can reach it.

use tree_sitter::Node;

use super::names::{Names, short};
use super::tree::{child, children, is, text};

/// The class and the function around a node.
#[derive(Clone, Copy)]
pub(super) struct Scope<'t> {
    /// The class, trait or enum with the method that contains the node.
    pub class: Option<Node<'t>>,
    /// The named method or function. A node in a closure belongs to the function around the
    /// closure.
    pub function: Option<Node<'t>>,
    /// Whether the node is in a closure of it.
    pub in_closure: bool,
}

impl<'t> Scope<'t> {
    /// Returns the place of a node below `path`.
    pub fn of(path: &[Node<'t>]) -> Scope<'t> {
        let mut scope = Scope { class: None, function: None, in_closure: false };
        for node in path.iter().rev().copied() {
            match node.kind() {
                "anonymous_function" | "arrow_function" if scope.function.is_none() => {
                    scope.in_closure = true;
                }
                "function_definition" if scope.function.is_none() => {
                    scope.function = Some(node);
                    return scope;
                }
                "method_declaration" | "property_hook" if scope.function.is_none() => {
                    scope.function = Some(node);
                }
                kind if CLASSES.contains(&kind) => {
                    scope.class = Some(node);
                    return scope;
                }
                _ => {}
            }
        }
        scope
    }

    /// Returns whether the code runs in a call, and not when the file is loaded.
    pub fn is_inside(&self) -> bool {
        self.function.is_some() || self.in_closure
    }

    /// Returns the name of the method or function; for a property hook `get` or `set`.
    pub fn function_name<'s>(&self, source: &'s [u8]) -> &'s str {
        let name = self.function.and_then(|function| {
            function.child_by_field_name("name").or_else(|| child(function, "name"))
        });
        name.map(|name| text(name, source)).unwrap_or_default()
    }

    /// Returns `App\Cart::add`, `App\add` or `{closure}`; empty at the top of a file.
    pub fn within(&self, names: &Names, source: &[u8]) -> String {
        let function = self.function_name(source);
        match (self.class, function) {
            (Some(class), "") => class_name(class, names, source),
            (Some(class), function) => {
                format!("{}::{function}", class_name(class, names, source))
            }
            (None, "") if self.in_closure => "{closure}".to_owned(),
            (None, "") => String::new(),
            (None, function) => names.inside(function),
        }
    }
}

/// Returns the full name of a class; `class@anonymous` for a class without a name.
pub(super) fn class_name(class: Node, names: &Names, source: &[u8]) -> String {
    match class.child_by_field_name("name") {
        Some(name) => names.inside(text(name, source)),
        None => "class@anonymous".to_owned(),
    }
}

/// Returns the full names of what a class extends and implements, the parent first.
pub(super) fn ancestors(class: Node, names: &Names, source: &[u8]) -> Vec<String> {
    ["base_clause", "class_interface_clause"]
        .iter()
        .filter_map(|clause| child(class, clause))
        .flat_map(children)
        .map(|name| names.class(text(name, source)))
        .collect()
}

/// Returns whether a class is for the command line, for tests or for filling a database. Requests
/// do not reach such a class.
pub(super) fn is_outside_requests(class: Node, names: &Names, source: &[u8]) -> bool {
    let attributes = class.child_by_field_name("attributes");
    if attributes.is_some_and(|list| text(list, source).contains("AsCommand")) {
        return true;
    }
    let base = child(class, "base_clause").and_then(|clause| children(clause).first().copied());
    base.is_some_and(|base| {
        let base = names.class(text(base, source));
        OUTSIDE_REQUESTS.iter().any(|ending| short(&base).ends_with(ending))
    })
}

/// Returns whether only the command line reaches a node: `if (PHP_SAPI === 'cli') { here }`.
pub(super) fn is_for_console(node: Node, path: &[Node], source: &[u8]) -> bool {
    let mut below = node;
    for parent in path.iter().rev().copied() {
        let asks = |of: Node| {
            let condition = of.child_by_field_name("condition")?;
            tests_for_console(text(condition, source))
        };
        let answer = match parent.kind() {
            "if_statement" | "else_if_clause" | "conditional_expression" => asks(parent),
            _ => None,
        };
        let is_then = is(parent, "body", below);
        let is_else = below.kind() == "else_clause" || is(parent, "alternative", below);
        if (answer == Some(true) && is_then) || (answer == Some(false) && is_else) {
            return true;
        }
        below = parent;
    }
    false
}

/// Returns whether a whole file is for the command line: its first line names a program, or it
/// exits unless the SAPI is `cli`.
pub(super) fn is_console_file(root: Node, source: &[u8]) -> bool {
    source.starts_with(b"#!")
        || children(root).into_iter().filter(|node| node.kind() == "if_statement").any(|node| {
            let condition = node.child_by_field_name("condition");
            let then = node.child_by_field_name("body").map(|body| text(body, source));
            let ends = |then: &str| {
                ["exit", "die", "return", "throw"].iter().any(|end| then.contains(end))
            };
            condition.and_then(|condition| tests_for_console(text(condition, source)))
                == Some(false)
                && then.is_some_and(ends)
        })
}

/// Returns whether a condition is true on the command line; `None` if it does not check for it.
fn tests_for_console(condition: &str) -> Option<bool> {
    let asks = CONSOLE.iter().any(|word| condition.contains(word));
    asks.then(|| !condition.contains('!') && !condition.contains("false"))
}

/// Returns whether a condition around the node has one of these words:
/// `if (!defined('X')) { here }`, `defined('X') || here`.
pub(super) fn is_guarded_by(words: &[&str], node: Node, path: &[Node], source: &[u8]) -> bool {
    let mut below = node;
    for parent in path.iter().rev().copied() {
        let condition = match parent.kind() {
            "if_statement" | "else_if_clause" | "conditional_expression" => {
                parent.child_by_field_name("condition")
            }
            "binary_expression" => parent.child_by_field_name("left"),
            _ => None,
        };
        let condition = condition.filter(|condition| *condition != below);
        if condition.is_some_and(|condition| {
            words.iter().any(|word| text(condition, source).contains(word))
        }) {
            return true;
        }
        if FUNCTIONS.contains(&parent.kind()) {
            return false;
        }
        below = parent;
    }
    false
}

/// Kinds of nodes with a body that is called.
pub(super) const FUNCTIONS: &[&str] = &[
    "anonymous_function",
    "arrow_function",
    "function_definition",
    "method_declaration",
    "property_hook",
];

/// Kinds of nodes with methods.
pub(super) const CLASSES: &[&str] = &[
    "anonymous_class",
    "class_declaration",
    "enum_declaration",
    "interface_declaration",
    "trait_declaration",
];

/// Endings of the names of parent classes whose children requests do not reach.
const OUTSIDE_REQUESTS: &[&str] =
    &["Command", "Fixture", "Migration", "Seeder", "TestCase", "ConsoleKernel", "Factory"];

/// Words of a condition that checks for the command line.
const CONSOLE: &[&str] = &["PHP_SAPI", "php_sapi_name", "runningInConsole", "WP_CLI", "STDIN"];
