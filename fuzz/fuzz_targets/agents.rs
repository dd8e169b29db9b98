//! Runs `entries/agents.rs`, which states what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/agents.rs"]
mod agents;

fuzz_target!(|bytes: &[u8]| agents::run(bytes));
