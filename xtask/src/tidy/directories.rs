//! Rules about the files that a directory must contain.

use super::Finding;
use crate::tree::Tree;

/// The files that every runtime's directory must have: its description and a README for people.
const RUNTIME_FILES: &[&str] = &["runtime.yaml", "README.md"];

/// The directory beside the runtimes that holds what they share. It is not a runtime.
const SHARED: &str = "common";

/// Every `runtimes/<name>` has a description and a README.
pub fn runtimes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in tree.directories("runtimes").into_iter().filter(|name| *name != SHARED) {
        let directory = format!("runtimes/{name}");
        for wanted in RUNTIME_FILES {
            if !tree.has(&format!("{directory}/{wanted}")) {
                findings.push(Finding::new(&directory, 0, format!("has no `{wanted}`")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runtime_without_a_readme_is_found() {
        let tree = Tree::of(&[
            ("runtimes/a/runtime.yaml", ""),
            ("runtimes/a/README.md", ""),
            ("runtimes/b/runtime.yaml", ""),
            ("runtimes/README.md", ""),
            ("runtimes/common/php.ini.j2", ""),
        ]);
        let found: Vec<String> = runtimes(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(found, ["runtimes/b: has no `README.md`"]);
    }
}
