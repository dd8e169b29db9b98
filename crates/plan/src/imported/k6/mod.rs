//! Reads a script of k6 by the grammar of JavaScript: requests whose parts are literals, and the
//! object `options`. A script is never run.
//!
//! A text counts as literal if it is made of literals: constants of the file, templates and sums of
//! them, `JSON.stringify`, and the default in `__ENV.NAME || 'default'`.

mod literal;
mod options;
mod requests;
mod tree;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use tree_sitter::Node;

use super::{Found, ImportError, Omission};
use literal::Constants;
use tree::{children, field, line, named, text};

/// Reads the script.
pub(super) fn read(source: &str, path: &Path) -> Result<Found, ImportError> {
    let tree = tree::parse(source).ok_or_else(|| ImportError::TooDeep { path: path.to_owned() })?;
    let root = tree.root_node();
    let mut script = Script::of(root, source);
    script.imports(root);
    match script.roots(root) {
        // A script without exports is one function.
        roots if roots.is_empty() => script.take(named(root)),
        roots => {
            roots.into_iter().for_each(|function| script.enter(function));
            script.outside(root);
        }
    }
    let requests = script.found.requests.len();
    if let Some(value) = script.constants.global("options") {
        options::read(value, &script.constants, requests, &mut script.found);
    }
    Ok(script.found)
}

/// A script that is being read.
struct Script<'t> {
    source: &'t str,
    constants: Constants<'t>,
    /// Named functions of the file.
    functions: BTreeMap<&'t str, Node<'t>>,
    /// Names of the module `k6/http`.
    http: Vec<&'t str>,
    /// Functions whose requests were taken. Each is entered once.
    entered: HashSet<usize>,
    found: Found,
}

impl<'t> Script<'t> {
    fn of(root: Node<'t>, source: &'t str) -> Script<'t> {
        let mut functions = BTreeMap::new();
        let mut http = Vec::new();
        tree::walk(root, |node, _| match node.kind() {
            "function_declaration" => {
                if let Some(name) = field(node, "name") {
                    functions.insert(text(name, source), node);
                }
            }
            "variable_declarator" => {
                let value = field(node, "value").filter(|value| is_function(*value));
                if let (Some(name), Some(value)) = (field(node, "name"), value) {
                    functions.insert(text(name, source), value);
                }
            }
            "import_statement" if module(node, source) == Some("k6/http") => {
                http.extend(default_names(node, source));
            }
            _ => {}
        });
        if http.is_empty() {
            http.push("http");
        }
        let (constants, entered) = (Constants::of(root, source), HashSet::new());
        Script { source, constants, functions, http, entered, found: Found::default() }
    }

    /// The functions that k6 calls for each iteration: the default export, then those that a
    /// scenario names.
    fn roots(&mut self, root: Node<'t>) -> Vec<Node<'t>> {
        let mut roots = Vec::new();
        for export in children(root).into_iter().filter(|node| node.kind() == "export_statement") {
            let is_default = children(export).iter().any(|part| part.kind() == "default");
            let function = field(export, "declaration").or_else(|| field(export, "value"));
            let Some(function) = function else { continue };
            let name = field(function, "name").unwrap_or(function);
            let name = text(name, self.source);
            match is_default {
                true if is_function(function) => roots.push(function),
                true => roots.extend(self.functions.get(name)),
                false if LIFECYCLE.contains(&name) => {
                    let what = Omission::Once { name: name.to_owned() };
                    self.found.leave_out(line(function), what);
                }
                false => {}
            }
        }
        let options = self.constants.global("options");
        let named = options.map(|options| options::functions(options, &self.constants));
        let named = named.into_iter().flatten();
        roots.extend(named.filter_map(|name| self.functions.get(name.as_str())));
        roots
    }

    /// Takes the requests of a function, unless they were taken.
    fn enter(&mut self, function: Node<'t>) {
        if self.entered.insert(function.id()) {
            self.take(named(function));
        }
    }

    /// Takes the requests of these nodes, and of the functions that they call, at their place.
    fn take(&mut self, nodes: Vec<Node<'t>>) {
        let mut levels = vec![nodes.into_iter().rev().collect::<Vec<_>>()];
        while let Some(pending) = levels.last_mut() {
            let Some(node) = pending.pop() else {
                levels.pop();
                continue;
            };
            match self.visit(node) {
                Visit::Into => pending.extend(named(node).into_iter().rev()),
                Visit::Over => {}
                Visit::Call(function) => {
                    pending.extend(field(node, "arguments"));
                    if levels.len() < CALLS_MAX && self.entered.insert(function.id()) {
                        levels.push(named(function).into_iter().rev().collect());
                    }
                }
            }
        }
    }

    /// Notes the modules that are not read.
    fn imports(&mut self, root: Node<'t>) {
        for import in named(root).into_iter().filter(|node| node.kind() == "import_statement") {
            let module = module(import, self.source).unwrap_or_default();
            if module != "k6" && !module.starts_with("k6/") {
                let what = Omission::Import { module: module.to_owned() };
                self.found.leave_out(line(import), what);
            }
        }
    }

    /// Notes what the file does outside of functions.
    fn outside(&mut self, root: Node<'t>) {
        let says = |node: &Node<'t>| {
            matches!(
                node.kind(),
                "lexical_declaration" | "variable_declaration" | "expression_statement"
            )
        };
        self.take(named(root).into_iter().filter(says).collect());
    }

    /// Takes what a node says.
    fn visit(&mut self, node: Node<'t>) -> Visit<'t> {
        match node.kind() {
            "import_statement" => Visit::Over,
            // It is entered where it is called.
            "function_declaration" => Visit::Over,
            "variable_declarator" => {
                let name = field(node, "name").map(|name| text(name, self.source));
                let is_known =
                    name.is_some_and(|name| name == "options" || self.functions.contains_key(name));
                if is_known { Visit::Over } else { Visit::Into }
            }
            "if_statement" | "for_statement" | "for_in_statement" | "while_statement"
            | "do_statement" | "switch_statement" => {
                let name = node.kind().split('_').next().unwrap_or_default().to_owned();
                self.found.leave_out(line(node), Omission::Control { name });
                Visit::Into
            }
            "new_expression" => {
                let name = field(node, "constructor").map(|name| text(name, self.source));
                let name = format!("new {}", name.unwrap_or_default());
                self.found.leave_out(line(node), Omission::Call { name });
                Visit::Over
            }
            "call_expression" => self.call(node),
            _ => Visit::Into,
        }
    }

    fn call(&mut self, node: Node<'t>) -> Visit<'t> {
        let Some(function) = field(node, "function") else { return Visit::Into };
        let name = text(function, self.source);
        if let Some((object, method)) = name.split_once('.')
            && self.http.contains(&object.trim())
        {
            let method = method.trim();
            return match requests::of_call(method, node, &self.constants, &mut self.found) {
                true => Visit::Over,
                false => {
                    let name = shortened(name);
                    self.found.leave_out(line(node), Omission::Call { name });
                    Visit::Into
                }
            };
        }
        if let Some(function) = self.functions.get(name) {
            return Visit::Call(*function);
        }
        if literal::is_pure(name) || name == "group" || name == "describe" {
            return Visit::Into;
        }
        let name = shortened(name);
        let what = match name.as_str() {
            "sleep" => Omission::Pause { name },
            "check" | "expect" | "fail" => Omission::Check { name },
            _ => Omission::Call { name },
        };
        self.found.leave_out(line(node), what);
        Visit::Into
    }
}

/// Where a walk goes on.
enum Visit<'t> {
    Into,
    Over,
    /// Into this function, and then into the arguments.
    Call(Node<'t>),
}

/// The name of a function, on one line.
fn shortened(name: &str) -> String {
    crate::tree::shortened(&name.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "function_declaration" | "function_expression" | "arrow_function" | "generator_function"
    )
}

/// The module of an import.
fn module<'t>(import: Node<'t>, source: &'t str) -> Option<&'t str> {
    let name = text(field(import, "source")?, source);
    Some(name.trim_matches(['"', '\'']))
}

/// The names that an import gives a module as a whole.
fn default_names<'t>(import: Node<'t>, source: &'t str) -> Vec<&'t str> {
    let clauses = named(import).into_iter().filter(|node| node.kind() == "import_clause");
    let parts = clauses.flat_map(named).flat_map(|part| match part.kind() {
        "identifier" => vec![part],
        "namespace_import" => named(part),
        _ => Vec::new(),
    });
    parts.map(|name| text(name, source)).collect()
}

/// Exported functions that run once.
const LIFECYCLE: [&str; 3] = ["setup", "teardown", "handleSummary"];
/// Deepest nesting of calls that is followed.
const CALLS_MAX: usize = 50;
