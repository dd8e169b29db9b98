//! Runs `entries/load_yaml.rs`, which states what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/load_yaml.rs"]
mod load_yaml;

fuzz_target!(|text: &str| load_yaml::run(text));
