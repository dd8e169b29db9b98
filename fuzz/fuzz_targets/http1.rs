//! Runs `entries/http1.rs`, which states what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/http1.rs"]
mod http1;
#[path = "../entries/torn.rs"]
mod torn;

fuzz_target!(|bytes: &[u8]| http1::run(bytes));
