//! House rules that a machine can check and no other tool checks. A rule gets the tree and returns
//! what breaks it. Each rule has a test in which it finds something and one in which it does not.

mod crates;
mod directories;
mod errors;
mod lines;
mod links;
mod modules;
mod words;
mod writes;

use std::fmt;

use crate::tree::Tree;

/// One place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The path below the workspace.
    pub path: String,
    /// The line, from 1; 0 means the whole file.
    pub line: usize,
    /// What is wrong, and how it should be.
    pub what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: path.to_string(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    lines::length,
    lines::crate_size,
    lines::white_space,
    lines::paths_of_a_machine,
    words::banned,
    crates::lints,
    crates::dependencies,
    crates::limited_sources,
    modules::circles,
    directories::catalogue,
    links::relative,
    errors::typed,
    writes::behind_the_masker,
];

/// Returns everything that breaks a rule, sorted by place.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_printed_as_places() {
        assert_eq!(Finding::new("a.rs", 3, "tab").to_string(), "a.rs:3: tab");
        assert_eq!(Finding::new("a.rs", 0, "too long").to_string(), "a.rs: too long");
    }

    #[test]
    fn every_rule_takes_part() {
        let tree = Tree::of(&[("b.rs", "\tfn f() {} \n"), ("a.md", "[gone](gone.md)\n")]);
        let places: Vec<String> = check(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(
            places,
            [
                "a.md:1: link to `gone.md`, which does not exist",
                "b.rs:1: tab; indent with spaces",
                "b.rs:1: white space at the end of the line",
            ]
        );
    }
}
