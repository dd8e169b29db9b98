//! Parses a PHP file to a tree and walks it without recursion, so that deep nesting cannot overflow
//! the stack.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// Whether a walk enters the nodes below a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Descent {
    Into,
    Over,
}

/// Returns a parser for PHP with HTML around it.
///
/// # Panics
/// The versions of grammar and library do not match: a bug of stampede.
pub(super) fn parser() -> Parser {
    let mut parser = Parser::new();
    let grammar = tree_sitter_php::LANGUAGE_PHP.into();
    parser.set_language(&grammar).expect("the grammar's version is one that the library reads");
    parser
}

/// Returns the tree of `text`; `None` if it is nested too deeply or takes too long to parse.
pub(super) fn parse(parser: &mut Parser, text: &[u8]) -> Option<Tree> {
    if nesting(text) > MOST_NESTED {
        return None;
    }
    let began = Instant::now();
    let mut progress = |_: &tree_sitter::ParseState| match began.elapsed() > LONGEST {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |at: usize, _| text.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    if tree.is_none() {
        parser.reset();
    }
    tree
}

/// Returns how deeply brackets are nested, including those in strings.
fn nesting(text: &[u8]) -> usize {
    let (mut deep, mut deepest) = (0usize, 0);
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => deep += 1,
            b')' | b']' | b'}' => deep = deep.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(deep);
    }
    deepest
}

/// Deepest nesting of brackets. The parser's C code recurses over them in places, and its stack
/// overflows at some hundred thousand.
const MOST_NESTED: usize = 5_000;
/// Longest time to parse a file. The slowest of thousands of real files took 30 ms; crafted ones
/// take minutes.
const LONGEST: Duration = Duration::from_secs(5);
/// Deepest nodes that are visited. Rules look upwards from what they find, and people nest some
/// dozen levels.
const DEEPEST: usize = 2_000;

/// Visits `root` and all nodes below it in the file's order. `visit` gets a node and its ancestors:
/// `above`, and the nodes from `root` on.
pub(super) fn walk<'t>(
    root: Node<'t>,
    above: &[Node<'t>],
    mut visit: impl FnMut(Node<'t>, &[Node<'t>]) -> Descent,
) {
    let mut path = above.to_vec();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        let goes_on = visit(node, &path) == Descent::Into && path.len() < DEEPEST;
        if goes_on && cursor.goto_first_child() {
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

/// Returns the text of a node; empty if it is not UTF-8.
pub(super) fn text<'s>(node: Node, source: &'s [u8]) -> &'s str {
    node.utf8_text(source).unwrap_or_default()
}

/// Returns the line of a node, counted from 1.
pub(super) fn line(node: Node) -> u32 {
    u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1)
}

/// Returns whether `child` is the child that `parent` has as `field`.
pub(super) fn is(parent: Node, field: &str, child: Node) -> bool {
    parent.child_by_field_name(field) == Some(child)
}

/// Returns the first direct child of a kind.
pub(super) fn child<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    children(node).into_iter().find(|child| child.kind() == kind)
}

/// Returns the named direct children without comments.
pub(super) fn children(node: Node) -> Vec<Node> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect()
}

/// Returns the values of a call's arguments, in order.
pub(super) fn arguments(call: Node) -> Vec<Node> {
    let list = call.child_by_field_name("arguments").or_else(|| child(call, "arguments"));
    let values = list.map(children).unwrap_or_default();
    values.into_iter().filter(|node| node.kind() == "argument").filter_map(last).collect()
}

/// Returns the last named child: an argument's value comes after its name.
fn last(node: Node) -> Option<Node> {
    children(node).into_iter().next_back()
}

/// Returns the content of a string literal; `None` if it has variables.
pub(super) fn literal<'s>(node: Node, source: &'s [u8]) -> Option<&'s str> {
    let quoted = matches!(node.kind(), "string" | "encapsed_string");
    let plain = || children(node).iter().all(|part| part.kind() == "string_content");
    (quoted && plain())
        .then(|| text(node, source).trim_start_matches(['b', 'B']).trim_matches(['\'', '"']))
}
