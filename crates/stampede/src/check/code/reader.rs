//! One file read: every node is shown to the rules, which name suspects.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tree_sitter::{Node, Tree};

use super::names::Names;
use super::place::{self, CLASSES, Place};
use super::summary::Summary;
use super::tree::{self, Next, text};
use super::{Suspect, SuspectKind, calls, connection, globals, keeps, statics};
use crate::plan::model::AppKind;

/// What the files know of each other's classes.
#[derive(Default)]
pub(super) struct Facts {
    /// Classes that the app makes with `new` outside of its container.
    pub made: HashSet<String>,
    /// Classes that Laravel's container makes once.
    pub singletons: HashSet<String>,
}

/// A suspect, and the class whose objects must live long for it to be one.
pub(super) struct Found {
    pub suspect: Suspect,
    pub object_of: Option<String>,
}

/// Where in a file one is: a node, and what stands above it.
#[derive(Clone, Copy)]
pub(super) struct At<'p, 't> {
    pub node: Node<'t>,
    pub path: &'p [Node<'t>],
}

/// A file under way.
pub(super) struct Reader<'a> {
    pub app: AppKind,
    pub file: &'a str,
    pub source: &'a [u8],
    pub names: Names,
    pub facts: &'a mut Facts,
    /// Whether the file is a page with PHP in it.
    pub has_html: bool,
    found: Vec<Found>,
    said: HashSet<(SuspectKind, String, String)>,
    summaries: HashMap<usize, Rc<Summary>>,
    asked: HashSet<(usize, String)>,
}

/// The suspects of one file.
pub(super) fn read(
    app: AppKind,
    file: &str,
    source: &[u8],
    tree: &Tree,
    facts: &mut Facts,
) -> Vec<Found> {
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
        said: HashSet::new(),
        summaries: HashMap::new(),
        asked: HashSet::new(),
    };
    tree::walk(tree.root_node(), &[], |node, path| reader.visit(At { node, path }));
    reader.found
}

/// Whether a text has something after PHP's end.
fn has_html(source: &[u8]) -> bool {
    let end = source.windows(2).position(|two| two == b"?>");
    end.is_some_and(|end| !source[end + 2..].trim_ascii().is_empty())
}

impl<'a> Reader<'a> {
    fn visit(&mut self, at: At) -> Next {
        let node = at.node;
        match node.kind() {
            // What the parser could not make out may be anything.
            "ERROR" => return Next::Over,
            "namespace_definition" => self.names.enter(node, self.source),
            "namespace_use_declaration" => self.names.import(node, self.source),
            kind if CLASSES.contains(&kind) => {
                if place::is_elsewhere(node, &self.names, self.source) {
                    return Next::Over;
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
                keeps::singleton(self, at);
            }
            "assignment_expression" => keeps::assigned(self, at),
            "property_promotion_parameter" => keeps::promoted(self, at),
            "object_creation_expression" => keeps::made(self, at),
            "property_element" => keeps::listed(self, at),
            _ => {}
        }
        Next::Into
    }

    /// The text of a node.
    pub fn text(&self, node: Node) -> &'a str {
        text(node, self.source)
    }

    /// Whether the app is written for a framework, which has a request and a response.
    pub fn has_framework(&self) -> bool {
        use AppKind::{Laravel, Lumen, Psr15, Symfony};
        matches!(self.app, Symfony | Laravel | Lumen | Psr15)
    }

    /// Names a suspect.
    pub fn add(&mut self, kind: SuspectKind, what: impl Into<String>, at: At) {
        self.push(kind, what.into(), at, None);
    }

    /// Names a suspect that is one if objects of `class` live as long as the worker.
    pub fn add_if_kept(&mut self, kind: SuspectKind, what: String, at: At, class: String) {
        self.push(kind, what, at, Some(class));
    }

    fn push(&mut self, kind: SuspectKind, what: String, at: At, object_of: Option<String>) {
        let place = Place::of(at.path);
        let counts = self.counts(kind, place.is_inside());
        if !counts || place::is_for_console(at.node, at.path, self.source) {
            return;
        }
        let within = place.within(&self.names, self.source);
        // The same thing in the same function is said once.
        if self.said.insert((kind, within.clone(), what.clone())) {
            let line = tree::line(at.node);
            let suspect = Suspect { kind, file: self.file.to_owned(), line, what, within };
            self.found.push(Found { suspect, object_of });
        }
    }

    /// Whether a kind means anything in this app; `is_inside` a function, or where a file is
    /// loaded.
    fn counts(&self, kind: SuspectKind, is_inside: bool) -> bool {
        let is_worker_app = self.app != AppKind::Script;
        match kind {
            SuspectKind::Exit | SuspectKind::Global => true,
            SuspectKind::Superglobal | SuspectKind::Output => self.has_framework(),
            SuspectKind::Session | SuspectKind::Header => is_worker_app,
            SuspectKind::Sapi => is_worker_app && is_inside,
            SuspectKind::Constant => is_inside,
            SuspectKind::KeepsRequest | SuspectKind::Gathers => is_worker_app,
            // What a file does when it is loaded a worker does once, at boot.
            _ => is_inside || !is_worker_app,
        }
    }

    /// Whether a property of a class is asked about for the first time, which reads all of the
    /// class; never beyond what people write in a file.
    pub fn is_first_asked(&mut self, class: Node, property: &str) -> bool {
        self.asked.len() < MOST_ASKED && self.asked.insert((class.id(), property.to_owned()))
    }

    /// Of the function that has a name around `at`; at the top of a file that of the whole top.
    pub fn function_summary(&mut self, at: At) -> Rc<Summary> {
        let body = Place::of(at.path).function.or(at.path.first().copied());
        self.summary(body.unwrap_or(at.node), at.path)
    }

    /// Of the class around `at`; of the function where there is none.
    pub fn class_summary(&mut self, at: At) -> Rc<Summary> {
        match Place::of(at.path).class {
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

/// Properties of a file whose classes are read whole for them.
const MOST_ASKED: usize = 200;
