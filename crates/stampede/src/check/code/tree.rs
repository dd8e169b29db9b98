//! A file of PHP as a tree, walked without recursion: no nesting of the file can overflow us.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// Whether a walk goes below a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Into,
    Over,
}

/// A parser for PHP with HTML around it.
///
/// # Panics
/// The grammar and the library do not fit: our own bug.
pub(super) fn parser() -> Parser {
    let mut parser = Parser::new();
    let grammar = tree_sitter_php::LANGUAGE_PHP.into();
    parser.set_language(&grammar).expect("the grammar's version is one that the library reads");
    parser
}

/// The tree of `text`; none where reading it takes far more steps than a file of PHP needs.
pub(super) fn parse(parser: &mut Parser, text: &[u8]) -> Option<Tree> {
    // Counted, not timed: the same file is always read or never.
    let mut asked = 0usize;
    let most = text.len() / 4 + 100_000;
    let mut progress = |_: &tree_sitter::ParseState| {
        asked += 1;
        if asked > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut read = |at: usize, _| text.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    if tree.is_none() {
        parser.reset();
    }
    tree
}

/// Visits `root` and all below it in the file's order, with what stands above: `above`, and the
/// nodes from `root` on.
pub(super) fn walk<'t>(
    root: Node<'t>,
    above: &[Node<'t>],
    mut visit: impl FnMut(Node<'t>, &[Node<'t>]) -> Next,
) {
    let mut path = above.to_vec();
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if visit(node, &path) == Next::Into && cursor.goto_first_child() {
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

/// The text of a node; empty where it is not UTF-8.
pub(super) fn text<'s>(node: Node, source: &'s [u8]) -> &'s str {
    node.utf8_text(source).unwrap_or_default()
}

/// From 1.
pub(super) fn line(node: Node) -> u32 {
    u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1)
}

/// Whether `child` is what `parent` calls `field`.
pub(super) fn is(parent: Node, field: &str, child: Node) -> bool {
    parent.child_by_field_name(field) == Some(child)
}

/// The first direct child of a kind.
pub(super) fn child<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    children(node).into_iter().find(|child| child.kind() == kind)
}

/// Named direct children without comments.
pub(super) fn children(node: Node) -> Vec<Node> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect()
}

/// The values of a call's arguments, in order.
pub(super) fn arguments(call: Node) -> Vec<Node> {
    let list = call.child_by_field_name("arguments").or_else(|| child(call, "arguments"));
    let values = list.map(children).unwrap_or_default();
    values.into_iter().filter(|node| node.kind() == "argument").filter_map(last).collect()
}

/// The last named child: an argument's value comes after its name.
fn last(node: Node) -> Option<Node> {
    children(node).into_iter().next_back()
}

/// What a string without variables says.
pub(super) fn literal<'s>(node: Node, source: &'s [u8]) -> Option<&'s str> {
    let quoted = matches!(node.kind(), "string" | "encapsed_string");
    let plain = || children(node).iter().all(|part| part.kind() == "string_content");
    (quoted && plain())
        .then(|| text(node, source).trim_start_matches(['b', 'B']).trim_matches(['\'', '"']))
}
