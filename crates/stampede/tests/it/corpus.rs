//! Runs the start inputs of four fuzzers (autostop, `load.yaml`, scripts of other tools and an app's
//! code) once through the fuzzed functions. The crate `stampede-load` does so for the other fuzzers.

use std::path::Path;

#[path = "../../../../fuzz/entries/autostop.rs"]
mod autostop;
#[path = "../../../../fuzz/entries/code.rs"]
mod code;
#[path = "../../../../fuzz/entries/load_yaml.rs"]
mod load_yaml;
#[path = "../../../../fuzz/entries/script.rs"]
mod script;

#[test]
fn every_script_of_the_corpus_passes() {
    each("script", |bytes| std::str::from_utf8(bytes).map(script::run).unwrap_or_default());
}

#[test]
fn every_load_yaml_of_the_corpus_passes() {
    each("load_yaml", |bytes| std::str::from_utf8(bytes).map(load_yaml::run).unwrap_or_default());
}

#[test]
fn every_autostop_of_the_corpus_passes() {
    each("autostop", |bytes| std::str::from_utf8(bytes).map(autostop::run).unwrap_or_default());
}

#[test]
fn every_php_file_of_the_corpus_passes() {
    each("code", code::run);
}

fn each(target: &str, run: impl Fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut inputs = 0;
    for entry in std::fs::read_dir(directory).expect("inputs") {
        let path = entry.expect("an input").path();
        // So that the last printed file is the one that causes a panic.
        println!("{}", path.display());
        run(&std::fs::read(&path).expect("an input"));
        inputs += 1;
    }
    assert!(inputs > 0);
}
