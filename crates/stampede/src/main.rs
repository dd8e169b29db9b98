//! The `stampede` program.

fn main() {}
