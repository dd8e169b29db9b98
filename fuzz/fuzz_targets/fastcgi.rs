//! Runs `entries/fastcgi.rs`, which states what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/fastcgi.rs"]
mod fastcgi;
#[path = "../entries/torn.rs"]
mod torn;

fuzz_target!(|bytes: &[u8]| fastcgi::run(bytes));
