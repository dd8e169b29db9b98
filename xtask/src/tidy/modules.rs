//! The rule about the generator's modules: its top-level modules do not use each other in a circle.
//! So its layers can be read, tested and replaced from the bottom up.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Finding;
use super::crates::used_paths;
use crate::tree::{File, Tree};

/// The source with that rule.
const LAYERED: &str = "crates/load/src/";

/// Which module uses which, and where first: the file and the line.
type Uses<'a> = BTreeMap<&'a str, BTreeMap<String, (&'a str, usize)>>;

/// No top-level modules use each other in a circle, and each use names its module, not a name that
/// the crate's root re-exports. Tests may use everything.
pub fn circles(tree: &Tree) -> Vec<Finding> {
    let files = || tree.files().iter().filter(|file| file.extension() == "rs" && !file.is_test());
    let modules: BTreeSet<&str> = files().filter_map(module).collect();
    let mut findings = Vec::new();
    let mut uses = Uses::new();
    for (file, module) in files().filter_map(|file| Some((file, module(file)?))) {
        for (line, path) in used_paths(file.code()) {
            let Some(used) = path.strip_prefix("crate::") else { continue };
            let used = used.split("::").next().unwrap_or_default();
            if !modules.contains(used) {
                let what = format!("names `crate::{used}`, which is no module: name its module");
                findings.push(Finding::new(&file.path, line, what));
            } else if used != module {
                let of_module = uses.entry(module).or_default();
                of_module.entry(used.to_string()).or_insert((file.path.as_str(), line));
            }
        }
    }
    findings.extend(modules.iter().filter_map(|module| finding(&uses, module)));
    findings
}

/// The top-level module that the file belongs to; `None` for other source, and for the root.
fn module(file: &File) -> Option<&str> {
    let name = file.path.strip_prefix(LAYERED)?.split('/').next()?;
    let name = name.strip_suffix(".rs").unwrap_or(name);
    (name != "lib").then_some(name)
}

/// The shortest circle through `module`, if `module` is the first of its names. So each circle is
/// found once.
fn finding(uses: &Uses<'_>, module: &str) -> Option<Finding> {
    let circle = circle(uses, module)?;
    if circle.iter().any(|other| *other < module) {
        return None;
    }
    let (path, line) = uses.get(module)?.get(circle[1])?;
    let what = format!("modules use each other in a circle: {}", circle.join(" → "));
    Some(Finding::new(path, *line, what))
}

/// The shortest way from `module` back to itself.
fn circle<'a>(uses: &'a Uses<'a>, module: &'a str) -> Option<Vec<&'a str>> {
    let mut seen = BTreeSet::new();
    let mut ways = VecDeque::from([vec![module]]);
    while let Some(way) = ways.pop_front() {
        let last = way.last()?;
        for used in uses.get(*last).into_iter().flat_map(BTreeMap::keys) {
            let longer = [way.as_slice(), &[used.as_str()]].concat();
            if used == module {
                return Some(longer);
            }
            if seen.insert(used.as_str()) {
                ways.push_back(longer);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> =
            files.iter().map(|(path, _)| format!("crates/load/src/{path}")).collect();
        let files: Vec<(&str, &str)> =
            paths.iter().zip(files).map(|(path, (_, text))| (path.as_str(), *text)).collect();
        circles(&Tree::of(&files)).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_circle_is_found_once_and_named() {
        let circle = [
            ("check/mod.rs", "mod parse;\n"),
            ("check/parse.rs", "use std::fmt;\nuse crate::{fields, protocol::Answer};\n"),
            ("fields.rs", ""),
            ("protocol/mod.rs", "fn f() -> crate::traffic::Request {}\n"),
            ("traffic.rs", "use crate::check::Check;\n"),
        ];
        let what = "modules use each other in a circle: check → protocol → traffic → check";
        assert_eq!(found(&circle), [format!("crates/load/src/check/parse.rs:2: {what}")]);
    }

    #[test]
    fn layers_tests_and_other_crates_are_no_circle() {
        let tested = "use crate::b::B;\n\n#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\n";
        let none: [&str; 0] = [];
        let layers = [
            ("lib.rs", "pub use crate::a::A;\n"),
            ("a.rs", tested),
            ("b/mod.rs", "// use crate::a::A;\nuse crate::b::inner::X;\n"),
            ("b/tests.rs", "use crate::a::A;\n"),
            ("c.rs", "use crate::a::A;\nuse crate::b::B;\n"),
        ];
        assert_eq!(found(&layers), none);
        let other = Tree::of(&[
            ("crates/x/src/a.rs", "use crate::b::B;\n"),
            ("crates/x/src/b.rs", "use crate::a::A;\n"),
        ]);
        assert!(circles(&other).is_empty());
    }

    #[test]
    fn a_name_of_the_root_hides_no_use() {
        let hidden = [("a.rs", "use crate::Load;\n"), ("spec.rs", "use crate::a::A;\n")];
        let what = "names `crate::Load`, which is no module: name its module";
        assert_eq!(found(&hidden), [format!("crates/load/src/a.rs:1: {what}")]);
    }
}
