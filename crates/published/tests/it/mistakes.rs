//! What an error says about each mistake in a file of tables.

use std::error::Error;
use std::path::Path;

use stampede_published::{parse, read};

const WHOLE: &str = "title: A blog\ntables:\n  - title: Times\n    load: peak\n    columns:\n      \
    - {name: p95, unit: ms}\n      - {name: throughput, unit: 1/s}\n    rows:\n      \
    - {runtime: nginx-fpm, values: [12, 900]}\n      - {runtime: swoole, values: [4, null]}\n\
    claims:\n  - {runtime: swoole, against: [nginx-fpm], times: ~3, text: three times faster}\n";

#[test]
fn a_simple_table_is_whole() {
    let tables = parse(WHOLE, "blog.yaml").expect("tables");
    assert_eq!(tables.name, "A blog");
    assert_eq!(tables.tables[0].rows[1].values, [Some(4.0), None]);
    assert_eq!(tables.tables[0].rows[1].case.to_string(), "swoole · peak");
    let only =
        "tables: [{title: T, columns: [{name: p50, unit: s}], rows: [{runtime: a, values: [1]}]}]";
    assert_eq!(parse(only, "a/blog.yaml").expect("tables").name, "blog.yaml");
}

#[test]
fn a_load_may_be_written_as_a_number() {
    let tables = parse(&WHOLE.replace("load: peak", "load: 100"), "blog.yaml").expect("tables");
    assert_eq!(tables.tables[0].rows[0].case.load.as_deref(), Some("100"));
}

/// A change of the whole file: what is replaced by what.
const MISTAKES: &[(&str, &str)] = &[
    ("load: peak", "laod: peak"),
    ("    load: peak", "    load: peak\n    load: peak"),
    ("{name: p95, unit: ms}", "{name: p95}"),
    ("name: p95", "name: thruput"),
    ("name: p95", "name: median_time"),
    ("name: throughput, unit: 1/s", "name: p95, unit: ms"),
    ("unit: ms", "unit: MB"),
    ("[12, 900]", "[12]"),
    ("[12, 900]", "[12, 900, 3]"),
    ("[12, 900]", "[-12, 900]"),
    ("[12, 900]", "[12, .inf]"),
    ("[12, 900]", "[12, many]"),
    ("runtime: swoole, values", "runtime: nginx-fpm, values"),
    ("{runtime: swoole, v", "{runtime: swoole, starred: true, v"),
    ("{runtime: swoole, v", "{runtime: swoole, until_rps: 100, v"),
    ("times: ~3", "times: about 3"),
    ("against: [nginx-fpm]", "against: []"),
    ("against: [nginx-fpm]", "against: [swoole]"),
    ("    rows:", "    rows: []\n    row:"),
    ("title: A blog", "title: A blog\n  x: ["),
];

#[test]
fn every_mistake_is_one_error_with_its_place() {
    let mut shown = String::new();
    let mut add = |mistake: &str, text: &str| {
        let error = parse(text, "blog.yaml").expect_err(mistake);
        assert!(error.source().is_none(), "the message says all: {error}");
        shown += &format!("{mistake}\n  error: {error}\n");
        if let Some(hint) = error.hint() {
            shown += &format!("  hint: {hint}\n");
        }
    };
    for (old, new) in MISTAKES {
        assert!(WHOLE.contains(old), "{old}");
        add(new, &WHOLE.replacen(old, new, 1));
    }
    add("title: alone", "title: alone\n");
    add("an empty file", "");
    add("a list", "- a\n- b\n");
    add("no rows", "tables: [{title: T, columns: [{name: p50, unit: s}], rows: []}]\n");
    add("two documents", &format!("{WHOLE}---\n{WHOLE}"));
    add("too large", &"#\n".repeat(600_000));
    insta::assert_snapshot!("mistakes", shown);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = read(Path::new("no/such.yaml")).expect_err("no file");
    assert_eq!(error.to_string(), "published tables `no/such.yaml` cannot be read");
    assert!(error.source().is_some() && error.hint().is_some());
    let json = serde_json::to_value(&error).expect("JSON");
    assert_eq!(json["unreadable"]["path"], "no/such.yaml");
}
