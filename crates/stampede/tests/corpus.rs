//! What the fuzzer of `load.yaml` begins with, once through the same function; the others are in
//! the crate `stampede-load`.

use std::path::Path;

#[path = "../../../fuzz/entries/load_yaml.rs"]
mod load_yaml;

#[test]
fn every_load_yaml_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/load_yaml");
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).expect("inputs") {
        let path = entry.expect("an input").path();
        // Shown where it panics.
        println!("{}", path.display());
        if let Ok(text) = std::fs::read_to_string(&path) {
            load_yaml::run(&text);
            inputs += 1;
        }
    }
    assert!(inputs > 0);
}
