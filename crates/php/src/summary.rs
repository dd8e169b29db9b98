//! Summarizes a function or class as a whole: its calls and its writes.

use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use super::names::Names;
use super::place::{CLASSES, is_guarded_by};
use super::tree::{self, Descent, arguments, child, text};
use super::write::{Write, WriteKind, is_constant, is_same_for_all_requests, written};

/// The summary of one body.
#[derive(Default)]
pub(super) struct Summary {
    /// The PHP functions that it calls, with the variables that they get as arguments.
    calls: HashMap<String, HashSet<String>>,
    /// The methods that it calls, in lower case.
    methods: HashSet<String>,
    /// Variable → functions whose results were assigned to it.
    from: HashMap<String, HashSet<String>>,
    /// Variable → its first write that may differ between requests.
    writes: HashMap<String, WriteKind>,
}

impl Summary {
    /// Summarizes a function with its closures, a class with its methods, or the top of a file.
    pub fn of(body: Node, above: &[Node], names: &Names, source: &[u8]) -> Summary {
        let mut summary = Summary::default();
        let is_class = CLASSES.contains(&body.kind());
        tree::walk(body, above, |node, path| {
            let is_other = node.kind() == "function_definition" || CLASSES.contains(&node.kind());
            if node != body && !is_class && is_other {
                return Descent::Over;
            }
            summary.take(node, path, names, source);
            Descent::Into
        });
        summary
    }

    fn take(&mut self, node: Node, path: &[Node], names: &Names, source: &[u8]) {
        match node.kind() {
            "function_call_expression" => {
                let Some(name) = called(node, names, source) else { return };
                let args = arguments(node).into_iter();
                let args = args.filter(|value| value.kind() == "variable_name");
                let args = args.map(|value| text(value, source).to_owned());
                self.calls.entry(name).or_default().extend(args);
            }
            "member_call_expression"
            | "nullsafe_member_call_expression"
            | "scoped_call_expression" => {
                let name = node.child_by_field_name("name");
                self.methods.extend(name.map(|name| text(name, source).to_ascii_lowercase()));
            }
            "variable_name" => self.variable(node, path, names, source),
            _ => {}
        }
    }

    fn variable(&mut self, node: Node, path: &[Node], names: &Names, source: &[u8]) {
        let Some(write) = written(node, path, source) else { return };
        let name = text(node, source).to_owned();
        let value =
            write.value.map(|value| child(value, "function_call_expression").unwrap_or(value));
        let from = value.filter(|value| value.kind() == "function_call_expression");
        if let Some(from) = from.and_then(|call| called(call, names, source)) {
            self.from.entry(name.clone()).or_default().insert(from);
        }
        let how = how(&write, node, path, source);
        if !is_harmless(&write, how, source) {
            self.writes.entry(name).or_insert(how);
        }
    }

    /// Returns whether it calls one of these PHP functions.
    pub fn calls_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.calls.contains_key(*name))
    }

    /// Returns whether it calls a method of this name, in lower case.
    pub fn calls_method(&self, name: &str) -> bool {
        self.methods.contains(name)
    }

    /// Returns whether it calls `function` with a value that `function` or one of `asks` returned
    /// before.
    pub fn restores(&self, function: &str, asks: &[&str]) -> bool {
        let args = self.calls.get(function);
        args.is_some_and(|args| {
            args.iter()
                .filter_map(|variable| self.from.get(variable))
                .any(|from| from.contains(function) || asks.iter().any(|asks| from.contains(*asks)))
        })
    }

    /// Returns how a variable is written; `None` if it is not, or only harmlessly.
    pub fn writes(&self, variable: &str) -> Option<WriteKind> {
        self.writes.get(variable).copied()
    }
}

/// Returns whether a write leaves nothing of a request behind.
pub(super) fn is_harmless(write: &Write, how: WriteKind, source: &[u8]) -> bool {
    match how {
        WriteKind::Unset => true,
        WriteKind::Whole => write.value.is_some_and(is_constant),
        WriteKind::Memo => write.value.is_some_and(|value| is_same_for_all_requests(value, source)),
        WriteKind::Appended | WriteKind::Element => false,
    }
}

/// Returns how it is written. If a condition checks first whether the value exists, it is a memo.
pub(super) fn how(write: &Write, node: Node, path: &[Node], source: &[u8]) -> WriteKind {
    match write.how {
        WriteKind::Whole if is_guarded_by(&[text(node, source)], node, path, source) => {
            WriteKind::Memo
        }
        how => how,
    }
}

/// Returns the PHP function that is called; `None` for `strlen(...)`, which is no call.
pub(super) fn called(call: Node, names: &Names, source: &[u8]) -> Option<String> {
    let function = call.child_by_field_name("function")?;
    let is_named = matches!(function.kind(), "name" | "qualified_name");
    let list = call.child_by_field_name("arguments")?;
    if !is_named || child(list, "variadic_placeholder").is_some() {
        return None;
    }
    names.function(text(function, source))
}
