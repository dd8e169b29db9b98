//! Tests that docs/add-a-runtime.md is true: its example is taken from the page and started.

use std::collections::BTreeMap;
use std::path::Path;

use stampede_keeper::KeeperOptions;
use stampede_plan::model::{AppChoice, RuntimeChoice, RuntimeSource, Scalar};
use stampede_stack::{
    COMMON, Catalogue, Placement, ProcessProvider, RuntimeError, SearchPaths, Stack as _,
};

use crate::bench_support::prepared;

const PAGE: &str = include_str!("../../../../docs/add-a-runtime.md");
const RUNTIMES: &str = include_str!("../../../../docs/runtimes.md");

/// The code block that follows "`DIRECTORY/FILE`:".
fn block(file: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("`{file}`:")).expect("named on the page");
    let (_, rest) = rest.split_once("```").expect("block begins");
    let (_, rest) = rest.split_once('\n').expect("language");
    rest.split_once("\n```").expect("block ends").0
}

#[test]
fn the_example_of_the_page_works() {
    let directory = tempfile::tempdir().expect("directory");
    let own = directory.path().join("my-apache-fpm");
    std::fs::create_dir(&own).expect("directory");
    for file in ["runtime.yaml", "fpm.conf.j2", "httpd.conf.j2"] {
        std::fs::write(own.join(file), block(&format!("my-apache-fpm/{file}"))).expect("file");
    }
    let mut places = SearchPaths::from_env();
    places.runtimes.push(directory.path().into());
    let catalogue = Catalogue::load(places);
    let app = catalogue.app(&AppChoice::named("hello".into())).expect("app");
    let choice = RuntimeChoice {
        name: "my-apache-fpm".into(),
        source: RuntimeSource::Catalogue("my-apache-fpm".into()),
        settings: BTreeMap::from([("workers".into(), Scalar::Int(3))]),
        php_ini: BTreeMap::new(),
        env: BTreeMap::new(),
        images: None,
        as_today: None,
    };
    let options = KeeperOptions {
        program: env!("CARGO_BIN_EXE_stampede").into(),
        journal: directory.path().join("journal"),
        ..KeeperOptions::default()
    };
    let provider = ProcessProvider::with_keeper(catalogue, options);
    let prepared = match prepared(&provider, &choice, &app, &Placement::default()) {
        Ok(prepared) => prepared,
        Err(error @ RuntimeError::Missing { .. }) => return eprintln!("SKIPPED: {error}"),
        Err(error) => panic!("{error}: {error:?}"),
    };
    let running = prepared.start().unwrap_or_else(|error| panic!("{error}: {error:?}"));
    let observed = running.verify(&[]).expect("verify");
    assert_eq!((observed.workers, observed.isolated), (3, true));
    running.stop().expect("stop");
}

#[test]
fn the_page_names_every_common_setting_and_field() {
    for common in COMMON {
        assert!(PAGE.contains(&format!("`{}`", common.name)), "{}", common.name);
    }
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtimes");
    for entry in std::fs::read_dir(directory).expect("runtimes").flatten() {
        let file = entry.path().join("runtime.yaml");
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let fields = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
        for field in fields.filter_map(|line| line.split(':').next()) {
            assert!(PAGE.contains(&format!("`{field}`")), "{}: {field}", file.display());
        }
    }
}

/// The page has the runtimes that were measured. A runtime that is not among them needs no line.
#[test]
fn the_table_of_runtimes_is_true() {
    let catalogue = Catalogue::load(SearchPaths::default());
    let rows = RUNTIMES.lines().skip_while(|line| !line.starts_with("| `"));
    let mut seen = 0;
    for row in rows.take_while(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, names, mode, _, packages, _] = cells[..] else { panic!("{row}") };
        for name in names.split(", ") {
            let name = name.trim_matches('`');
            let manifest = catalogue.runtime(name).expect("a runtime").manifest;
            assert_eq!(manifest.mode.name(), mode, "{name}");
            let only = packages.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
            if let Some(only) = only {
                assert_eq!(manifest.install["debian"].packages.join(" "), only, "{name}");
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}
