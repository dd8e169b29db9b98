//! Rules about lines: their number, their ends, and no path that only one machine has.

use std::collections::BTreeMap;

use super::Finding;
use crate::tree::{File, Tree};

/// A longer file must become two files; STYLE.md says why.
const LINES_MAX: usize = 600;

/// A file with this mark near its top is a table of data, which may be long.
const DATA_TABLE: &str = "tidy: data table";

/// Source files have at most 600 lines. Tests and data tables are exempt.
pub fn length(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .iter()
        .filter(|file| is_source(file) && !file.is_test() && !is_data_table(file))
        .filter_map(|file| {
            let lines = file.code().lines().count();
            (lines > LINES_MAX).then(|| {
                let what = format!("{lines} lines, {LINES_MAX} at most: make it two files");
                Finding::new(&file.path, 0, what)
            })
        })
        .collect()
}

/// A larger crate must become two crates: each is to be read in an afternoon.
const CRATE_LINES_MAX: usize = 20_000;

/// The sources of a crate have at most 20 000 lines together, with the tests among them.
pub fn crate_size(tree: &Tree) -> Vec<Finding> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for file in tree.files().iter().filter(|file| file.extension() == "rs") {
        if let Some((of, _)) = file.path.split_once("/src/") {
            *sizes.entry(of).or_default() += file.text.lines().count();
        }
    }
    let large = sizes.into_iter().filter(|(_, lines)| *lines > CRATE_LINES_MAX);
    let finding = |(of, lines): (&str, usize)| {
        let what = format!("{lines} lines, {CRATE_LINES_MAX} at most: make it two crates");
        Finding::new(of, 0, what)
    };
    large.map(finding).collect()
}

fn is_source(file: &File) -> bool {
    matches!(file.extension(), "rs" | "ts" | "php" | "py" | "sh" | "go")
        || file.text.starts_with("#!")
}

fn is_data_table(file: &File) -> bool {
    file.text.lines().take(10).any(|line| line.contains(DATA_TABLE))
}

/// No tabs, no white space at the end of a line, and a newline at the end of the file.
pub fn white_space(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| !is_verbatim(file)) {
        // Not `lines`, which would drop a carriage return together with the line's end.
        for (number, line) in (1..).zip(file.text.split('\n')) {
            if line.contains('\t') && !wants_tabs(file) {
                findings.push(Finding::new(&file.path, number, "tab; indent with spaces"));
            }
            if line.ends_with([' ', '\t', '\r']) {
                let what = "white space at the end of the line";
                findings.push(Finding::new(&file.path, number, what));
            }
        }
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            findings.push(Finding::new(&file.path, 0, "no newline at the end"));
        }
    }
    findings
}

/// Make accepts only tabs, and Go's own tools write only tabs.
fn wants_tabs(file: &File) -> bool {
    matches!(file.name(), "Makefile" | "go.mod") || file.extension() == "go"
}

/// Files whose bytes a program wrote or a client sent, and which must not change.
fn is_verbatim(file: &File) -> bool {
    let verbatim = ["snap", "lock", "svg", "tsv", "proptest-regressions"];
    verbatim.contains(&file.extension()) || file.path.starts_with("fuzz/corpus/")
}

/// Directories that exist on one machine only: somebody's home or checkout. They match only where a
/// path begins, so that the same word inside a longer path is allowed.
const MACHINE_PATHS: &[&str] = &["/work/", "/root/", "/tmp/wt/", "../shared"]; // tidy: these are the paths

/// The mark of a line that must name such a path.
const MACHINE_PATHS_WANTED: &str = "tidy: these are the paths";

/// No text may name a path that only one machine has.
pub fn paths_of_a_machine(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        for (number, line) in file.lines() {
            for path in MACHINE_PATHS {
                if has_path_start(line, path) && !line.contains(MACHINE_PATHS_WANTED) {
                    let what = format!("`{path}` is a path of one machine");
                    findings.push(Finding::new(&file.path, number, what));
                }
            }
        }
    }
    findings
}

fn has_path_start(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '}' | ')'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(path: &str, lines: usize, ending: &str) -> Tree {
        Tree::of(&[(path, &("let x = 1;\n".repeat(lines) + ending))])
    }

    #[test]
    fn six_hundred_lines_pass_and_one_more_does_not() {
        assert_eq!(length(&long("a.rs", 600, "")), []);
        assert_eq!(length(&long("a.rs", 601, "")).len(), 1);
        assert_eq!(length(&long("scripts/a", 601, "")).len(), 0);
        let script = "#!/bin/sh\n".to_string() + &":\n".repeat(600);
        assert_eq!(length(&Tree::of(&[("scripts/a", &script)])).len(), 1);
    }

    #[test]
    fn a_crate_may_have_twenty_thousand_lines_in_all_its_sources() {
        let half = "// a\n".repeat(10_000);
        let of = |last: &str| {
            Tree::of(&[
                ("crates/a/src/lib.rs", &half),
                ("crates/a/src/b/c.rs", last),
                ("crates/a/tests/it/main.rs", &half),
                ("crates/b/src/lib.rs", &half),
            ])
        };
        assert_eq!(crate_size(&of(&half)), []);
        let found = crate_size(&of(&(half.clone() + "// b\n")));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "crates/a");
    }

    #[test]
    fn tests_and_data_tables_may_be_long() {
        let tests = "#[cfg(test)]\nmod tests {\n".to_string() + &"// a\n".repeat(900);
        assert_eq!(length(&long("a.rs", 600, &tests)), []);
        let helper = "#[cfg(test)]\nuse x;\n".to_string() + &"// a\n".repeat(900);
        assert_eq!(length(&long("a.rs", 600, &helper)).len(), 1);
        assert_eq!(length(&long("tests/a.rs", 900, "")), []);
        let table = "// tidy: data table\n".to_string() + &"1,\n".repeat(900);
        assert_eq!(length(&Tree::of(&[("a.rs", &table)])), []);
    }

    #[test]
    fn data_is_no_source() {
        assert_eq!(length(&long("plans/a.yaml", 900, "")), []);
    }

    #[test]
    fn white_space_is_found_where_it_is() {
        let found = white_space(&Tree::of(&[("a.rs", "fine\n\tx\ny \nz")]));
        let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [2, 3, 0]);
    }

    #[test]
    fn make_and_go_need_tabs_and_snapshots_are_exempt() {
        let tabs = "a:\n\tb\n";
        let files = [("Makefile", tabs), ("a.go", tabs), ("go.mod", tabs), ("a.snap", "x \n")];
        let corpus = ("fuzz/corpus/check/a", "x \t");
        assert_eq!(white_space(&Tree::of(&[&files[..], &[corpus]].concat())), []);
    }

    #[test]
    fn carriage_returns_are_white_space() {
        assert_eq!(white_space(&Tree::of(&[("a.md", "x\r\n")])).len(), 1);
    }

    #[test]
    fn a_path_of_a_machine_is_found_where_a_path_begins() {
        let fine = ["target/work/x", "${HOME:-/root}/.cargo", "https://x.org/work/", "/workers/"];
        for path in MACHINE_PATHS {
            for line in [format!("cd {path}main"), format!("\"{path}x\""), format!("{path}x")] {
                assert_eq!(paths_of_a_machine(&Tree::of(&[("a.md", &line)])).len(), 1, "{line}");
            }
        }
        for line in fine {
            assert_eq!(paths_of_a_machine(&Tree::of(&[("a.md", line)])), [], "{line}");
        }
    }
}
