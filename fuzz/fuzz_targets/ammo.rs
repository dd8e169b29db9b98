//! Runs `entries/ammo.rs`, which says what must hold.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../entries/ammo.rs"]
mod ammo;

fuzz_target!(|bytes: &[u8]| ammo::run(bytes));
