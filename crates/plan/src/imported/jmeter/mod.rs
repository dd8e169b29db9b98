//! Reads a test plan of JMeter: HTTP samplers with their headers, defaults and arguments, thread
//! groups, and the rows of files that are put into requests.
//!
//! A plan is a tree of elements, each followed by a `hashTree` with the elements below it. What an
//! element such as a header manager says holds for its own `hashTree` and for all below it.

mod groups;
mod rows;
mod samplers;
mod values;

use std::path::Path;

use roxmltree::{Document, Node, ParsingOptions};

use super::{Found, ImportError, Omission};
use rows::Tables;
use samplers::Scope;
use values::{Values, is_enabled};

use crate::requests::REQUESTS_MAX;

/// Reads the plan.
pub(super) fn read(text: &str, path: &Path) -> Result<Found, ImportError> {
    let options = ParsingOptions { nodes_limit: NODES_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| ImportError::Xml { path: path.to_owned(), source: Box::new(error) })?;
    let mut reading = Reading {
        found: Found::default(),
        values: Values::of(text),
        groups: Vec::new(),
        tables: Tables::beside(path),
        pass: 0,
    };
    let root = document.root_element();
    reading.plan(root);
    reading.more_rows(root, text.len());
    let Reading { mut found, groups, .. } = reading;
    found.load = groups::proposed(&groups);
    Ok(found)
}

/// A plan that is being read.
struct Reading {
    found: Found,
    values: Values,
    groups: Vec<groups::Group>,
    tables: Tables,
    /// The iteration of the load, from 0 on: each has the next row of each file.
    pass: usize,
}

impl Reading {
    fn plan(&mut self, root: Node<'_, '_>) {
        for tree in root.children().filter(|node| node.has_tag_name("hashTree")) {
            self.tree(tree, &Scope::default(), 0);
        }
    }

    /// Takes the requests of the other rows, after those of the first.
    fn more_rows(&mut self, root: Node<'_, '_>, bytes: usize) {
        let rows = self.tables.most_rows();
        let by_size = BYTES_VISITED_MAX / bytes.max(1);
        let most = (REQUESTS_MAX / self.found.requests.len().max(1)).min(by_size).max(1);
        let groups = self.groups.clone();
        for pass in 1..rows.min(most) {
            self.pass = pass;
            self.plan(root);
        }
        self.groups = groups;
        for (line, name) in self.tables.longer_than(most) {
            self.found.leave_out(line, Omission::MoreRows { name, taken: most });
        }
    }

    /// Reads a `hashTree`. First what holds for all of it, then the rest in its order.
    fn tree(&mut self, tree: Node<'_, '_>, outer: &Scope, depth: usize) {
        if depth > DEPTH_MAX {
            let what = Omission::Element { name: "hashTree".to_owned() };
            return self.found.leave_out(self.values.line(tree), what);
        }
        let mut scope = outer.clone();
        let outer_row = self.values.row.clone();
        let elements = elements(tree);
        self.configs(&elements, &mut scope);
        for (element, below) in elements {
            self.element(element, below, &scope, depth);
        }
        self.values.row = outer_row;
    }

    /// Takes what elements say for all of their `hashTree`: variables first, for a file of rows may
    /// be named by one, and rows before what they are put into.
    fn configs(&mut self, elements: &[(Node<'_, '_>, Option<Node<'_, '_>>)], scope: &mut Scope) {
        let rank = |element: &Node<'_, '_>| match element.tag_name().name() {
            "TestPlan" | "Arguments" => 0,
            "CSVDataSet" => 1,
            _ => 2,
        };
        let mut ordered: Vec<_> = elements.iter().map(|(element, _)| *element).collect();
        ordered.sort_by_key(rank);
        ordered.into_iter().for_each(|element| self.config(element, scope));
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
            "CSVDataSet" => match self.tables.of(element, &self.values) {
                Some(table) => self.values.take_row(&table, self.pass),
                None => {
                    let what = Omission::Rows { name: rows::name(element, &self.values) };
                    self.found.leave_out(self.values.line(element), what);
                }
            },
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
                if let Some(what) = omission(element) {
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
        let outer_row = self.values.row.clone();
        let parts = below.map(elements).unwrap_or_default();
        self.configs(&parts, &mut scope);
        for (part, _) in parts {
            if let Some(what) = omission(part) {
                self.found.leave_out(self.values.line(part), what);
            }
        }
        match samplers::request(element, scope, &self.values) {
            Ok(request) => self.found.requests.push(request),
            Err(part) => {
                self.found.leave_out(self.values.line(element), Omission::Request { part })
            }
        }
        self.values.row = outer_row;
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

/// What an element is that is not taken over. `None`: it is taken over, or only groups others.
fn omission(element: Node<'_, '_>) -> Option<Omission> {
    const TAKEN: [&str; 9] = [
        "TestPlan",
        "Arguments",
        "HeaderManager",
        "CSVDataSet",
        "TransactionController",
        "GenericController",
        "RecordingController",
        "TestFragmentController",
        "ProxyControl",
    ];
    /// Controllers that are not called so.
    const CONTROLS: [&str; 2] = ["InterleaveControl", "RunTime"];
    let name = element.tag_name().name();
    let own = || name.to_owned();
    Some(match () {
        () if TAKEN.contains(&name) => return None,
        () if name == "ConfigTestElement" && samplers::is_http(element) => return None,
        () if name.ends_with("Controller") || CONTROLS.contains(&name) => {
            Omission::Control { name: own() }
        }
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

/// Most nodes of a plan.
const NODES_MAX: u32 = 1 << 20;
/// Deepest nesting of `hashTree`.
const DEPTH_MAX: usize = 100;
/// Most bytes of a plan that are visited for all rows together: about a second.
const BYTES_VISITED_MAX: usize = 256 << 20;
