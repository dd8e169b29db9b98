//! Checks that the table of kinds is complete, and that no other code has to know a kind.

use std::collections::BTreeSet;
use std::fs;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;

/// Returns the codes that a schema lists for the kind of a finding.
fn codes(schema: &Value) -> BTreeSet<&str> {
    let variants = schema["oneOf"].as_array().expect("a list of kinds");
    variants.iter().map(|variant| variant["const"].as_str().expect("a code")).collect()
}

fn ids() -> BTreeSet<&'static str> {
    KINDS.iter().map(|row| row.id).collect()
}

/// Returns a file of the documentation.
fn docs(name: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    fs::read_to_string(page).expect("a page of the documentation")
}

#[test]
fn every_kind_has_exactly_one_row_with_the_code_that_is_serialised() {
    for row in &KINDS {
        assert_eq!(serde_json::to_value(row.kind).unwrap(), row.id);
        assert!(std::ptr::eq(row.kind.row(), row));
    }
    assert_eq!(ids().len(), KINDS.len(), "an id stands twice");
    let variants = schemars::schema_for!(FindingKind).to_value();
    assert_eq!(codes(&variants), ids());
}

#[test]
fn every_kind_has_its_own_words() {
    let mut texts = BTreeSet::new();
    for row in &KINDS {
        assert!(texts.insert(row.title), "{} has the title of another", row.id);
        assert!(texts.insert(row.why), "{} has the reason of another", row.id);
        assert!(!row.fix.is_empty() && !row.fix.contains("  "), "{}", row.fix);
    }
}

#[test]
fn the_most_severe_kinds_come_first() {
    let severities = [Severity::Severe, Severity::Moderate, Severity::Minor];
    let of = |severity: Severity| KINDS.iter().filter(move |row| row.severity == severity);
    let sorted: Vec<_> = severities.into_iter().flat_map(of).map(|row| row.kind).collect();
    assert_eq!(sorted, KINDS.each_ref().map(|row| row.kind));
}

#[test]
fn only_severe_findings_are_reported_unconfirmed() {
    let reported = KINDS.iter().filter(|row| !row.needs_confirmation).map(|row| row.kind);
    assert_eq!(reported.collect::<Vec<_>>(), [FindingKind::Leak, FindingKind::Death]);
}

#[test]
fn the_docs_and_the_schema_list_every_kind() {
    let page = docs("check.md");
    for row in &KINDS {
        let begin = format!("| {} | ", row.title);
        let is_listed = page.lines().any(|line| line.starts_with(&begin));
        assert!(is_listed, "docs/check.md has no row that begins with {begin}");
    }
    let schema: Value = serde_json::from_str(&docs("check.schema.json")).expect("JSON");
    assert_eq!(codes(&schema["$defs"]["FindingKind"]), ids());
}

/// Asks whether a type has an order.
struct Probe<T>(PhantomData<T>);

impl<T: PartialOrd> Probe<T> {
    fn has_order(&self) -> bool {
        true
    }
}

/// Answers for the types without an order: where it exists, the method above is preferred.
trait Unordered {
    fn has_order(&self) -> bool;
}

impl<T> Unordered for Probe<T> {
    fn has_order(&self) -> bool {
        false
    }
}

#[test]
fn the_order_of_the_variants_cannot_be_asked() {
    assert!(Probe::<u32>(PhantomData).has_order(), "a type with an order");
    assert!(!Probe::<FindingKind>(PhantomData).has_order());
}

/// Returns all files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("a directory").flatten();
    let paths = entries.map(|entry| entry.path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn only_the_table_and_the_detectors_name_a_kind() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let naming = files(&source).into_iter().filter(|path| is_code(path)).filter(|path| {
        let text = fs::read_to_string(path).expect("a source file");
        let code = text.split("#[cfg(test)]\nmod tests {").next();
        code.is_some_and(|code| code.contains("FindingKind::"))
    });
    let may_name =
        |path: &PathBuf| path.ends_with("kinds.rs") || path.starts_with(source.join("detectors"));
    let (own, others): (Vec<_>, Vec<_>) = naming.partition(may_name);
    assert!(own.len() > 1, "{own:?}");
    assert_eq!(others, Vec::<PathBuf>::new(), "ask the row of the kind");
}

/// Returns whether a file has code, apart from tests and from what only tests use.
fn is_code(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".rs") && !name.ends_with("tests.rs") && name != "sample.rs"
}
