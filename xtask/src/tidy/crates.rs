//! Rules about crates: which crate may use which, and that all have the same lints.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use crate::tree::{File, Tree};

/// The prefix of our crates' names.
const OURS: &str = "stampede";
/// The page with the table of crates: `| \`stampede-x\` | what it holds | may use |`.
const PAGE: &str = "ARCHITECTURE.md";

/// Source that may use only a part of the standard library: the model is data, and code that works
/// on stored results reaches nothing that runs.
const LIMITED: [(&str, &[&str]); 3] = [
    ("crates/model/src/", &["std::fs", "std::process", "rustix", "libc"]),
    ("crates/history/src/", &["std::process", "std::net", "std::os::unix::net", "rustix::net"]),
    ("crates/results/src/", &["std::process", "std::net", "std::os::unix::net", "rustix::net"]),
];

/// Every crate takes over the workspace's lints.
pub fn lints(tree: &Tree) -> Vec<Finding> {
    manifests(tree)
        .filter(|file| !entries(file).any(|e| e.section == "lints" && e.is("workspace", "true")))
        .map(|file| Finding::new(&file.path, 0, "lacks `[lints] workspace = true`"))
        .collect()
}

/// The table of crates says what each crate uses, no more and no less.
pub fn dependencies(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(PAGE) else { return Vec::new() };
    let table: BTreeMap<&str, (usize, BTreeSet<String>)> =
        page.lines().filter_map(|(line, text)| row(line, text)).collect();
    let mut findings = Vec::new();
    for file in manifests(tree).filter(|file| file.path.starts_with("crates/")) {
        let own = entries(file).find(|entry| entry.section == "package" && entry.key == "name");
        let name = own.map_or("", |entry| entry.value.trim_matches('"'));
        let Some((line, listed)) = table.get(name) else {
            let what = format!("is not in the table of {PAGE}: `{name}`");
            findings.push(Finding::new(&file.path, 0, what));
            continue;
        };
        let ours = entries(file).filter_map(|entry| Some((entry.line, entry.dependency()?)));
        let used: Vec<(usize, &str)> = ours.filter(|(_, used)| used.starts_with(OURS)).collect();
        for (line, used) in used.iter().filter(|(_, used)| !listed.contains(*used)) {
            let what = format!("may not depend on `{used}` ({PAGE}, layout)");
            findings.push(Finding::new(&file.path, *line, what));
        }
        for one in listed.iter().filter(|one| !used.iter().any(|(_, used)| used == one)) {
            let what = format!("says that `{name}` uses `{one}`, which it does not");
            findings.push(Finding::new(PAGE, *line, what));
        }
    }
    findings
}

/// A row of the table: the crate, its line, and the crates that it may use.
fn row(line: usize, text: &str) -> Option<(&str, (usize, BTreeSet<String>))> {
    let cells: Vec<&str> = text.strip_prefix("| `")?.strip_suffix('|')?.split(" | ").collect();
    let [name, _, may_use] = cells.as_slice() else { return None };
    let name = name.trim_end_matches('`');
    let may_use = may_use.split(',').map(str::trim).filter(|one| !one.is_empty());
    let may_use = may_use.map(|one| format!("{OURS}-{one}")).collect();
    name.starts_with(OURS).then_some((name, (line, may_use)))
}

/// No limited source uses what it may not: see [`LIMITED`].
pub fn limited_sources(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| file.extension() == "rs" && !file.is_test()) {
        let limits = LIMITED.iter().filter(|(directory, _)| file.path.starts_with(directory));
        for forbidden in limits.flat_map(|(_, forbidden)| *forbidden) {
            for (number, _) in
                used_paths(file.code()).iter().filter(|(_, path)| begins_with(path, forbidden))
            {
                let what = format!("uses `{forbidden}` (ARCHITECTURE.md, invariant 2)");
                findings.push(Finding::new(&file.path, *number, what));
            }
        }
    }
    findings
}

fn begins_with(path: &str, prefix: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Every path that contains `::`, with its line. Groups (`std::{net::X, process}`) are expanded,
/// and comments are skipped.
pub(super) fn used_paths(text: &str) -> Vec<(usize, String)> {
    let mut paths = Vec::new();
    let mut groups: Vec<String> = Vec::new();
    let mut word = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split("//").next().unwrap_or_default();
        for c in code.chars().chain(['\n']) {
            match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | ':' => word.push(c),
                '{' => groups.push(if word.ends_with("::") {
                    join(&groups, &word)
                } else {
                    String::new()
                }),
                _ => {
                    let path = join(&groups, &word);
                    if path.contains("::") {
                        paths.push((number, path.trim_end_matches(':').to_string()));
                    }
                    if c == '}' {
                        groups.pop();
                    }
                }
            }
            if !matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | ':') {
                word.clear();
            }
        }
    }
    paths
}

fn join(groups: &[String], word: &str) -> String {
    format!("{}{word}", groups.last().map_or("", String::as_str))
}

/// One `key = value` line of a manifest.
struct Entry<'a> {
    section: &'a str,
    line: usize,
    key: &'a str,
    value: &'a str,
}

impl<'a> Entry<'a> {
    fn is(&self, key: &str, value: &str) -> bool {
        self.key == key && self.value == value
    }

    /// The crate that the entry makes a dependency, without those of tests. `[dependencies.x]`
    /// means the same as `[dependencies] x = …`, and so does `x.workspace = true`.
    fn dependency(&self) -> Option<&'a str> {
        let section = self.section;
        for kind in ["dependencies", "build-dependencies"] {
            let is_kind = |table: &str| table == kind || table.ends_with(&format!(".{kind}"));
            if is_kind(section) {
                return self.key.split('.').next();
            }
            if let Some((table, name)) = section.rsplit_once('.')
                && is_kind(table)
            {
                return Some(name);
            }
        }
        None
    }
}

fn entries(file: &File) -> impl Iterator<Item = Entry<'_>> {
    let mut section = "";
    file.lines().filter_map(move |(line, text)| {
        let text = text.split(" #").next().unwrap_or_default().trim();
        if let Some(name) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
            return None;
        }
        let (key, value) = text.split_once('=')?;
        Some(Entry { section, line, key: key.trim(), value: value.trim() })
    })
}

fn manifests(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files().iter().filter(|file| file.name() == "Cargo.toml" && file.path != "Cargo.toml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let tree = Tree::of(&[
            ("Cargo.toml", "[workspace]\n"),
            ("crates/a/Cargo.toml", "[lints]\nworkspace = true\n"),
            ("crates/b/Cargo.toml", "[package]\nworkspace = true\n"),
        ]);
        let paths: Vec<String> = lints(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, ["crates/b/Cargo.toml"]);
    }

    const TABLE: &str = "| crate | what it holds | may use |\n|---|---|---|\n\
        | `stampede-stats` | maths | |\n| `stampede-load` | the generator | stats |\n";

    fn wrong_dependencies(name: &str, dependencies: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"{name}\"\n\n{dependencies}");
        let tree = Tree::of(&[(PAGE, TABLE), ("crates/x/Cargo.toml", &manifest)]);
        super::dependencies(&tree).into_iter().map(|finding| finding.path).collect()
    }

    #[test]
    fn a_crate_uses_what_the_table_says() {
        let wrong = |dependencies: &str| wrong_dependencies("stampede-load", dependencies);
        let stats = "[dependencies]\nstampede-stats = {}\n";
        let none: [&str; 0] = [];
        assert_eq!(wrong(stats), none);
        assert_eq!(wrong(&format!("{stats}stampede = {{}}\n")), ["crates/x/Cargo.toml"]);
        let for_tests = format!("{stats}[dev-dependencies]\nstampede-known-server = {{}}\n");
        assert_eq!(wrong(&for_tests), none);
        assert_eq!(wrong("[dependencies]\nserde = {}\n"), [PAGE], "the table says more");
        assert_eq!(wrong_dependencies("stampede-new", ""), ["crates/x/Cargo.toml"]);
    }

    #[test]
    fn a_dependency_is_found_in_any_notation() {
        for written in [
            "[dependencies.stampede-load]\npath = \"x\"\n",
            "[dependencies]\nstampede-load.workspace = true\n",
            "[build-dependencies]\nstampede-load = {}\n",
            "[target.'cfg(unix)'.dependencies]\nstampede-load = {}\n",
        ] {
            assert_eq!(wrong_dependencies("stampede-stats", written).len(), 1, "{written}");
        }
    }

    fn wrong_uses(path: &str, text: &str) -> Vec<usize> {
        limited_sources(&Tree::of(&[(path, text)])).iter().map(|f| f.line).collect()
    }

    #[test]
    fn a_report_starts_nothing() {
        let report = "crates/results/src/report/table.rs";
        assert_eq!(wrong_uses(report, "use std::fmt;\nuse std::process::Command;\n"), [2]);
        assert_eq!(wrong_uses(report, "let s = std::net::TcpStream::connect(a);\n"), [1]);
        assert_eq!(wrong_uses(report, "use std::{\n    fmt,\n    net::{TcpStream},\n};\n"), [3]);
        assert_eq!(wrong_uses(report, "use std::{fmt, process};\n"), [1]);
        assert_eq!(wrong_uses("crates/model/src/record.rs", "use std::fs::File;\n"), [1]);
        assert_eq!(wrong_uses("crates/model/src/load.rs", "use std::net::IpAddr;\n"), [0; 0]);
    }

    #[test]
    fn other_crates_tests_and_comments_are_exempt() {
        let code = "use std::process::Command;\n";
        assert_eq!(wrong_uses("crates/stack/src/start.rs", code), [0; 0]);
        let report = "crates/results/src/report/mod.rs";
        assert_eq!(wrong_uses(report, "// std::process is not for us\n"), [0; 0]);
        let tested = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    use std::process::Command;\n}\n";
        assert_eq!(wrong_uses(report, tested), [0; 0]);
        assert_eq!(wrong_uses(report, "fn f() { a::process(); std::network::x(); }\n"), [0; 0]);
    }
}
