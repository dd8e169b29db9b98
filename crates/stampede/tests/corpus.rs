//! What the fuzzers of `load.yaml` and of an app's code begin with, once through the same
//! functions; the others are in the crate `stampede-load`.

use std::path::Path;

#[path = "../../../fuzz/entries/code.rs"]
mod code;
#[path = "../../../fuzz/entries/load_yaml.rs"]
mod load_yaml;

#[test]
fn every_load_yaml_holds() {
    each("load_yaml", |bytes| std::str::from_utf8(bytes).map(load_yaml::run).unwrap_or_default());
}

#[test]
fn every_code_holds() {
    each("code", code::run);
}

fn each(target: &str, run: impl Fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in std::fs::read_dir(directory).expect("inputs") {
        let path = entry.expect("an input").path();
        // Shown where it panics.
        println!("{}", path.display());
        run(&std::fs::read(&path).expect("an input"));
        inputs += 1;
    }
    assert!(inputs > 0);
}
