//! Runs `entries/script.rs`, which states what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/script.rs"]
mod script;

fuzz_target!(|text: &str| script::run(text));
