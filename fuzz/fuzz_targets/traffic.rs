//! Runs `entries/traffic.rs`, which states what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/traffic.rs"]
mod traffic;

fuzz_target!(|bytes: &[u8]| traffic::run(bytes));
