//! Runs `entries/autostop.rs`, which states what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/autostop.rs"]
mod autostop;

fuzz_target!(|text: &str| autostop::run(text));
