//! Reads one file: passes every node to the rules, which report suspects.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use stampede_model::app_kind::AppKind;
use tree_sitter::{Node, Tree};

use super::names::Names;
use super::place::{self, CLASSES, Scope};
use super::summary::Summary;
use super::tree::{self, Descent, text};
use super::{Suspect, SuspectKind, calls, connection, globals, keeps, statics};

/// What all files together show about classes.
#[derive(Default)]
pub(super) struct Facts {
    /// Classes that the app creates with `new`, outside of its container.
    pub made: HashSet<String>,
    /// Classes that Laravel's container creates once.
    pub singletons: HashSet<String>,
}

/// A suspect, and the class whose objects must live long for it to count; `None` if it always
/// counts.
pub(super) struct CandidateSuspect {
    pub suspect: Suspect,
    pub object_of: Option<String>,
}

/// A position in a file: a node and its ancestors.
#[derive(Clone, Copy)]
pub(super) struct NodePath<'p, 't> {
    pub node: Node<'t>,
    pub path: &'p [Node<'t>],
}

/// The state while a file is read.
pub(super) struct Reader<'a> {
    pub app: AppKind,
    pub file: &'a str,
    pub source: &'a [u8],
    pub names: Names,
    pub facts: &'a mut Facts,
    /// Whether the file is a page with HTML after its PHP.
    pub has_html: bool,
    found: Vec<CandidateSuspect>,
    reported: HashSet<(SuspectKind, String, String)>,
    summaries: HashMap<usize, Rc<Summary>>,
    checked_properties: HashSet<(usize, String)>,
}

/// Returns the suspects of one file.
pub(super) fn read(
    app: AppKind,
    file: &str,
    source: &[u8],
    tree: &Tree,
    facts: &mut Facts,
) -> Vec<CandidateSuspect> {
    if place::is_console_file(tree.root_node(), source) {
        return Vec::new();
    }
    let mut reader = Reader {
        app,
        file,
        source,
        names: Names::default(),
        facts,
        has_html: has_html(source),
        found: Vec::new(),
        reported: HashSet::new(),
        summaries: HashMap::new(),
        checked_properties: HashSet::new(),
    };
    tree::walk(tree.root_node(), &[], |node, path| reader.visit(NodePath { node, path }));
    reader.found
}

/// Returns whether a text continues after PHP's end tag.
fn has_html(source: &[u8]) -> bool {
    let end = source.windows(2).position(|two| two == b"?>");
    end.is_some_and(|end| !source[end + 2..].trim_ascii().is_empty())
}

impl<'a> Reader<'a> {
    fn visit(&mut self, at: NodePath) -> Descent {
        let node = at.node;
        match node.kind() {
            // A part that the parser did not understand may be anything.
            "ERROR" => return Descent::Over,
            "namespace_definition" => self.names.enter(node, self.source),
            "namespace_use_declaration" => self.names.import(node, self.source),
            kind if CLASSES.contains(&kind) => {
                if place::is_outside_requests(node, &self.names, self.source) {
                    return Descent::Over;
                }
                calls::declared(self, at);
            }
            "function_definition" => calls::declared(self, at),
            "scoped_property_access_expression" => statics::property(self, at),
            "function_static_declaration" => statics::variables(self, at),
            "global_declaration" => globals::declared(self, at),
            "variable_name" => globals::superglobal(self, at),
            "exit_statement" => calls::exit(self, at),
            "name" => calls::bare_exit(self, at),
            "echo_statement" | "print_intrinsic" => calls::output(self, at, "echo"),
            "binary_expression" => calls::sapi(self, at),
            "function_call_expression" => {
                calls::function(self, at);
                connection::function(self, at);
            }
            "member_call_expression"
            | "nullsafe_member_call_expression"
            | "scoped_call_expression" => {
                calls::method(self, at);
                connection::method(self, at);
                keeps::read_singleton(self, at);
            }
            "assignment_expression" => keeps::read_assignment(self, at),
            "property_promotion_parameter" => keeps::read_promoted_property(self, at),
            "object_creation_expression" => keeps::record_created(self, at),
            "property_element" => keeps::record_singletons(self, at),
            _ => {}
        }
        Descent::Into
    }

    /// Returns the text of a node.
    pub fn text(&self, node: Node) -> &'a str {
        text(node, self.source)
    }

    /// Returns whether the app is written for a framework with request and response objects.
    pub fn has_framework(&self) -> bool {
        use AppKind::{Laravel, Lumen, Psr15, Symfony};
        matches!(self.app, Symfony | Laravel | Lumen | Psr15)
    }

    /// Adds a suspect.
    pub fn add(&mut self, kind: SuspectKind, what: impl Into<String>, at: NodePath) {
        self.push(kind, what.into(), at, None);
    }

    /// Adds a suspect that counts only if objects of `class` live as long as the worker.
    pub fn add_if_kept(&mut self, kind: SuspectKind, what: String, at: NodePath, class: String) {
        self.push(kind, what, at, Some(class));
    }

    fn push(&mut self, kind: SuspectKind, what: String, at: NodePath, object_of: Option<String>) {
        let scope = Scope::of(at.path);
        let counts = self.counts(kind, scope.is_inside());
        if !counts || place::is_for_console(at.node, at.path, self.source) {
            return;
        }
        let within = scope.within(&self.names, self.source);
        // The same thing in the same function is reported once.
        if self.reported.insert((kind, within.clone(), what.clone())) {
            let line = tree::line(at.node);
            let suspect = Suspect { kind, file: self.file.to_owned(), line, what, within };
            self.found.push(CandidateSuspect { suspect, object_of });
        }
    }

    /// Returns whether a kind matters in this app. `is_inside` means inside a function; otherwise
    /// the code runs when the file is loaded.
    fn counts(&self, kind: SuspectKind, is_inside: bool) -> bool {
        let is_worker_app = self.app != AppKind::Script;
        match kind {
            SuspectKind::Exit | SuspectKind::Global => true,
            SuspectKind::Superglobal | SuspectKind::Output => self.has_framework(),
            SuspectKind::Session | SuspectKind::Header => is_worker_app,
            SuspectKind::Sapi => is_worker_app && is_inside,
            SuspectKind::Constant => is_inside,
            SuspectKind::KeepsRequest | SuspectKind::Gathers => is_worker_app,
            // A worker loads a file once, at boot.
            _ => is_inside || !is_worker_app,
        }
    }

    /// Returns whether a property of a class is checked for the first time. The check reads the
    /// whole class, so after [`CHECKS_MAX`] properties of a file it returns `false`.
    pub fn is_first_check(&mut self, class: Node, property: &str) -> bool {
        self.checked_properties.len() < CHECKS_MAX
            && self.checked_properties.insert((class.id(), property.to_owned()))
    }

    /// Returns the summary of the named function around `at`; at the top of a file, that of the
    /// whole top.
    pub fn function_summary(&mut self, at: NodePath) -> Rc<Summary> {
        let body = Scope::of(at.path).function.or(at.path.first().copied());
        self.summary(body.unwrap_or(at.node), at.path)
    }

    /// Returns the summary of the class around `at`; without a class, that of the function.
    pub fn class_summary(&mut self, at: NodePath) -> Rc<Summary> {
        match Scope::of(at.path).class {
            Some(class) => self.summary(class, at.path),
            None => self.function_summary(at),
        }
    }

    fn summary(&mut self, body: Node, path: &[Node]) -> Rc<Summary> {
        if let Some(known) = self.summaries.get(&body.id()) {
            return Rc::clone(known);
        }
        let above = path.iter().position(|node| *node == body).map_or(&[][..], |at| &path[..at]);
        let made = Rc::new(Summary::of(body, above, &self.names, self.source));
        self.summaries.insert(body.id(), Rc::clone(&made));
        made
    }
}

/// Largest number of properties in a file for which the whole class is read.
const CHECKS_MAX: usize = 200;
