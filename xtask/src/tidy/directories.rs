//! Rules about the files that a directory must contain.

use super::Finding;
use crate::tree::Tree;

/// The parts of the catalogue, and the file that describes a directory of each.
const PARTS: &[(&str, &str)] =
    &[("runtimes", "runtime.yaml"), ("fronts", "front.yaml"), ("databases", "database.yaml")];

/// The directory beside the runtimes that holds what they share. It is not a runtime.
const SHARED: &str = "common";

/// Every runtime, front and database has a description, and a README for people.
pub fn catalogue(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (part, description) in PARTS {
        for name in tree.directories(part).into_iter().filter(|name| *name != SHARED) {
            let directory = format!("{part}/{name}");
            for wanted in [*description, "README.md"] {
                if !tree.has(&format!("{directory}/{wanted}")) {
                    findings.push(Finding::new(&directory, 0, format!("has no `{wanted}`")));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_a_readme_or_a_description_is_found() {
        let tree = Tree::of(&[
            ("runtimes/a/runtime.yaml", ""),
            ("runtimes/a/README.md", ""),
            ("runtimes/b/runtime.yaml", ""),
            ("runtimes/README.md", ""),
            ("runtimes/common/php.ini.j2", ""),
            ("fronts/c/README.md", ""),
        ]);
        let found: Vec<String> = catalogue(&tree).iter().map(Finding::to_string).collect();
        assert_eq!(found, ["runtimes/b: has no `README.md`", "fronts/c: has no `front.yaml`"]);
    }
}
