//! Runs `entries/code.rs`, which states what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/code.rs"]
mod code;

fuzz_target!(|bytes: &[u8]| code::run(bytes));
