//! Runs `entries/schedule.rs`, which states what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/schedule.rs"]
mod schedule;

fuzz_target!(|text: &str| schedule::run(text));
