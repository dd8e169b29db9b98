//! Reads a test plan of JMeter: HTTP samplers with their headers, defaults and arguments, and thread
//! groups.
//!
//! A plan is a tree of elements, each followed by a `hashTree` with the elements below it. What an
//! element such as a header manager says holds for its own `hashTree` and for all below it.

mod groups;
mod samplers;
mod values;

use std::path::Path;

use roxmltree::{Document, Node, ParsingOptions};

use super::{Found, ImportError, Omission};
use samplers::Scope;
use values::{Values, is_enabled};

/// Reads the plan.
pub(super) fn read(text: &str, path: &Path) -> Result<Found, ImportError> {
    let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| ImportError::Xml { path: path.to_owned(), source: Box::new(error) })?;
    let mut reading =
        Reading { found: Found::default(), values: Values::of(text), groups: Vec::new() };
    let root = document.root_element();
    let below = root.children().filter(|node| node.has_tag_name("hashTree"));
    for tree in below {
        reading.tree(tree, &Scope::default(), 0);
    }
    let Reading { mut found, groups, .. } = reading;
    found.load = groups::proposed(&groups);
    Ok(found)
}

/// A plan that is being read.
struct Reading {
    found: Found,
    values: Values,
    groups: Vec<groups::Group>,
}

impl Reading {
    /// Reads a `hashTree`. First what holds for all of it, then the rest in its order.
    fn tree(&mut self, tree: Node<'_, '_>, outer: &Scope, depth: usize) {
        if depth > DEPTH_MAX {
            let what = Omission::Element { name: "hashTree".to_owned() };
            return self.found.leave_out(self.values.line(tree), what);
        }
        let mut scope = outer.clone();
        let elements = elements(tree);
        for (element, _) in &elements {
            self.config(*element, &mut scope);
        }
        for (element, below) in elements {
            self.element(element, below, &scope, depth);
        }
    }

    /// Takes what an element says for all of its `hashTree`.
    fn config(&mut self, element: Node<'_, '_>, scope: &mut Scope) {
        match element.tag_name().name() {
            "TestPlan" | "Arguments" => self.values.define(element),
            "HeaderManager" => {
                let headers = samplers::headers(element, &self.values);
                scope.add_headers(headers, self.values.line(element), &mut self.found);
            }
            "ConfigTestElement" if samplers::is_http(element) => {
                scope.defaults.take(element, &self.values);
            }
            _ => {}
        }
    }

    fn element(
        &mut self,
        element: Node<'_, '_>,
        below: Option<Node<'_, '_>>,
        scope: &Scope,
        depth: usize,
    ) {
        let name = element.tag_name().name();
        match name {
            "TestPlan" | "Arguments" | "HeaderManager" => {}
            "ConfigTestElement" if samplers::is_http(element) => {}
            "HTTPSamplerProxy" | "HTTPSampler" | "HTTPSampler2" => {
                return self.sampler(element, below, scope);
            }
            "SetupThreadGroup" | "PostThreadGroup" => {
                let what = Omission::Once { name: name.to_owned() };
                return self.found.leave_out(self.values.line(element), what);
            }
            _ if name.ends_with("ThreadGroup") => {
                let before = self.found.requests.len();
                if let Some(below) = below {
                    self.tree(below, scope, depth + 1);
                }
                let requests = self.found.requests.len() - before;
                let group = groups::Group::read(element, requests, &self.values, &mut self.found);
                self.groups.extend(group);
                return;
            }
            _ => {
                if let Some(what) = omission(name, element, &self.values) {
                    self.found.leave_out(self.values.line(element), what);
                }
            }
        }
        if let Some(below) = below {
            self.tree(below, scope, depth + 1);
        }
    }

    /// Takes a request, with the headers that only it has.
    fn sampler(&mut self, element: Node<'_, '_>, below: Option<Node<'_, '_>>, outer: &Scope) {
        let mut scope = outer.clone();
        for (part, _) in below.map(elements).unwrap_or_default() {
            let name = part.tag_name().name();
            match name {
                "HeaderManager" => {
                    let headers = samplers::headers(part, &self.values);
                    scope.add_headers(headers, self.values.line(part), &mut self.found);
                }
                _ => {
                    let what = omission(name, part, &self.values);
                    what.into_iter()
                        .for_each(|what| self.found.leave_out(self.values.line(part), what));
                }
            }
        }
        match samplers::request(element, scope, &self.values) {
            Ok(request) => self.found.requests.push(request),
            Err(part) => {
                self.found.leave_out(self.values.line(element), Omission::Request { part })
            }
        }
    }
}

/// The elements of a `hashTree` that are not switched off, each with the `hashTree` behind it.
fn elements<'a, 'i>(tree: Node<'a, 'i>) -> Vec<(Node<'a, 'i>, Option<Node<'a, 'i>>)> {
    let mut all: Vec<(Node<'_, '_>, Option<Node<'_, '_>>)> = Vec::new();
    for node in tree.children().filter(Node::is_element) {
        match (node.has_tag_name("hashTree"), all.last_mut()) {
            (true, Some((_, below))) => *below = Some(node),
            (true, None) => {}
            (false, _) => all.push((node, None)),
        }
    }
    all.retain(|(element, _)| is_enabled(*element));
    all
}

/// What an element is that is not taken over. `None`: it only groups others.
fn omission(name: &str, element: Node<'_, '_>, values: &Values) -> Option<Omission> {
    const GROUPING: [&str; 5] = [
        "TransactionController",
        "GenericController",
        "RecordingController",
        "TestFragmentController",
        "ProxyControl",
    ];
    let own = || name.to_owned();
    Some(match () {
        () if GROUPING.contains(&name) => return None,
        () if name.ends_with("Controller") => Omission::Control { name: own() },
        () if name == "CSVDataSet" => Omission::Rows { name: rows(element, values) },
        () if name.ends_with("Timer") || name == "TestAction" => Omission::Pause { name: own() },
        () if name.ends_with("Assertion") => Omission::Check { name: own() },
        () if name.contains("Extractor") || name.contains("PostProcessor") => {
            Omission::Extractor { name: own() }
        }
        () if name.ends_with("Collector") || name.ends_with("Listener") || name == "Summariser" => {
            Omission::Listener { name: own() }
        }
        () => Omission::Element { name: own() },
    })
}

/// A file of rows with the names of its columns.
fn rows(element: Node<'_, '_>, values: &Values) -> String {
    let file = values.text(element, "filename").unwrap_or_default();
    let columns = values.text(element, "variableNames").unwrap_or_default();
    match columns.is_empty() {
        true => format!("CSVDataSet {file}"),
        false => format!("CSVDataSet {file}: {columns}"),
    }
}

/// Most nodes of a plan.
const NODES_MAX: u32 = 1 << 20;
/// Deepest nesting of `hashTree`.
const DEPTH_MAX: usize = 100;
