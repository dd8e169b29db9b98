//! Rules about what a folder must hold.

use super::Finding;
use crate::tree::Tree;

/// What a runtime's folder is made of at least: what it does, and what a person should know.
const RUNTIME_FILES: &[&str] = &["runtime.yaml", "README.md"];

/// What the runtimes share lies beside them and is none.
const SHARED: &str = "common";

/// Every `runtimes/<name>` has its description and its README.
pub fn runtimes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in tree.folders("runtimes").into_iter().filter(|name| *name != SHARED) {
        let folder = format!("runtimes/{name}");
        for wanted in RUNTIME_FILES {
            if !tree.has(&format!("{folder}/{wanted}")) {
                findings.push(Finding::new(&folder, 0, format!("has no `{wanted}`")));
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
