//! Every committed file of tables parses, and each of its rows is about a case of its plan.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stampede_published::{Tables, read};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans/published")
}

/// The files of tables, each with its plan.
fn files() -> Vec<(PathBuf, PathBuf)> {
    let names = std::fs::read_dir(directory())
        .expect("the directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    let names: Vec<String> = names.collect();
    let mut files: Vec<(PathBuf, PathBuf)> = names
        .iter()
        .filter_map(|name| {
            let article = name.strip_suffix(".tables.yaml")?;
            let is_plan = |plan: &&String| plan.strip_suffix(".yaml") == Some(article);
            let plan = names.iter().find(is_plan).unwrap_or_else(|| panic!("no plan of {name}"));
            Some((directory().join(name), directory().join(plan)))
        })
        .collect();
    files.sort();
    files
}

/// The names of a plan: its runtimes, its apps and its loads.
struct Names {
    runtimes: BTreeSet<String>,
    apps: BTreeSet<String>,
    loads: BTreeSet<String>,
}

fn names(plan: &Path) -> Names {
    let text = std::fs::read_to_string(plan).expect("the plan");
    let plan: Value = serde_saphyr::from_str(&text).expect("YAML");
    // An item of a list is a name, or a map from one name to its settings.
    let item = |item: &Value| match item {
        Value::String(name) => name.clone(),
        Value::Object(map) => map.keys().next().expect("a name").clone(),
        other => panic!("{other} is no name"),
    };
    let list = |key: &str| -> Vec<String> {
        plan[key].as_array().map_or(&[][..], Vec::as_slice).iter().map(item).collect()
    };
    let apps = list("apps").into_iter().chain(plan["app"].as_str().map(str::to_owned));
    Names {
        runtimes: list("runtimes").into_iter().collect(),
        apps: apps.collect(),
        loads: plan["load"].as_object().expect("loads").keys().cloned().collect(),
    }
}

/// A name must be known, and may be left out where there is only one.
fn is_one(wanted: &Option<String>, known: &BTreeSet<String>) -> bool {
    wanted.as_ref().map_or(known.len() == 1, |wanted| known.contains(wanted))
}

#[test]
fn every_row_is_about_a_case_of_its_plan() {
    let files = files();
    assert_eq!(files.len(), 4);
    for (file, plan) in &files {
        let tables = read(file).unwrap_or_else(|error| panic!("{error}: {:?}", error.hint()));
        let names = names(plan);
        for table in &tables.tables {
            for row in &table.rows {
                let case = &row.case;
                assert!(names.runtimes.contains(&case.runtime), "{}: {case}", file.display());
                assert!(is_one(&case.app, &names.apps), "{}: {case}", file.display());
                assert!(is_one(&case.load, &names.loads), "{}: {case}", file.display());
            }
        }
        for claim in &tables.claims {
            for runtime in claim.against.iter().chain([&claim.runtime]) {
                assert!(names.runtimes.contains(runtime), "{}: {runtime}", file.display());
            }
            let is_known = |name: &Option<String>, known: &BTreeSet<String>| {
                name.as_ref().is_none_or(|name| known.contains(name))
            };
            assert!(is_known(&claim.load, &names.loads), "{claim:?}");
            assert!(is_known(&claim.app, &names.apps), "{claim:?}");
        }
    }
}

fn tables_of(name: &str) -> Tables {
    read(&directory().join(format!("{name}.tables.yaml"))).expect("tables")
}

#[test]
fn the_rows_of_ab_are_of_the_load_that_their_concurrency_names() {
    for table in &tables_of("apache-or-nginx").tables {
        let place = table.columns.iter().position(|column| column.name == "concurrency");
        for row in &table.rows {
            let concurrency = row.values[place.expect("the column")].expect("a number");
            assert_eq!(row.case.load.as_deref(), Some(concurrency.to_string().as_str()));
        }
    }
}

#[test]
fn tables_have_the_numbers_of_the_articles() {
    let [first, .., last] = &tables_of("symfony-2019").tables[..] else { panic!("eight tables") };
    assert_eq!((first.rows[0].values[0], first.rows.len()), (Some(9.9), 7));
    assert_eq!((last.rows[7].values[3], last.rows.len()), (Some(978.42), 8));
    assert_eq!(last.rows[0].case.load.as_deref(), Some("10000"));
    let stress = &tables_of("laravel-octane").tables[1];
    assert_eq!(stress.rows[5].until_per_second, Some(600.0));
    assert_eq!(stress.rows[0].values[8], None, "a dash");
    let claims = tables_of("symfony-twig").claims;
    assert_eq!(claims.len(), 10);
    assert_eq!((claims[8].times.least, claims[8].times.most), (Some(10.0), None));
    let of_times = &tables_of("laravel-octane").claims[0];
    assert_eq!(of_times.figure_name.as_deref(), Some("p50"));
}
