//! Runs `entries/chunked.rs`, which states what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/chunked.rs"]
mod chunked;
#[path = "../entries/torn.rs"]
mod torn;

fuzz_target!(|bytes: &[u8]| chunked::run(bytes));
