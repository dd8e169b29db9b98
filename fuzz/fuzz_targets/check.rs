//! Runs `entries/check.rs`, which states what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/check.rs"]
mod check;

fuzz_target!(|text: &str| check::run(text));
