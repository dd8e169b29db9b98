//! Parses JavaScript to a tree, and walks it without recursion, so that deep nesting cannot overflow
//! the stack.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

/// The tree of a script. `None`: it is nested too deeply, or takes too long to parse.
pub(super) fn parse(source: &str) -> Option<Tree> {
    if nesting(source.as_bytes()) > NESTING_MAX {
        return None;
    }
    let mut parser = Parser::new();
    let grammar = tree_sitter_javascript::LANGUAGE.into();
    parser.set_language(&grammar).ok()?;
    let began = Instant::now();
    let mut progress = |_: &ParseState| match began.elapsed() > LONGEST {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |at: usize, _| source.as_bytes().get(at..).unwrap_or_default();
    parser.parse_with_options(&mut read, None, Some(options))
}

/// How deeply brackets are nested, including those in texts.
fn nesting(source: &[u8]) -> usize {
    let (mut deep, mut deepest) = (0usize, 0);
    for byte in source {
        match byte {
            b'(' | b'[' | b'{' => deep += 1,
            b')' | b']' | b'}' => deep = deep.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(deep);
    }
    deepest
}

/// Calls `visit` with each node, in the order of the text, and with the nodes around it, from the
/// root on.
pub(super) fn walk<'t>(root: Node<'t>, mut visit: impl FnMut(Node<'t>, &[Node<'t>])) {
    let mut path = Vec::new();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        visit(node, &path);
        if cursor.goto_first_child() {
            path.push(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            path.pop();
        }
    }
}

/// The nodes directly below a node that have a name in the grammar, without comments.
pub(super) fn named(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|node| node.kind() != "comment").collect()
}

/// All nodes directly below a node.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

/// The node below in this role.
pub(super) fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

/// The text of a node.
pub(super) fn text<'s>(node: Node<'_>, source: &'s str) -> &'s str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// The line of a node, counted from 1.
pub(super) fn line(node: Node<'_>) -> usize {
    node.start_position().row + 1
}

/// Deepest nesting of brackets: the parser's C code recurses over them in places.
const NESTING_MAX: usize = 200;
/// Longest time that a script is parsed. A usual one takes some milliseconds.
const LONGEST: Duration = Duration::from_secs(2);
