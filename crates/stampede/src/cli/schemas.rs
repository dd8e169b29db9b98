//! The JSON Schemas that are made of the program's types. What makes them is a tenth of a binary, so only
//! builds for development have it; the others have what it made, the files of docs/. A test compares
//! the two.

use super::Failure;
use super::args::SchemaName;

/// The text of a schema.
///
/// # Errors
/// This build has none of this name.
#[cfg(debug_assertions)]
pub fn of_types(of: SchemaName) -> Result<Vec<u8>, Failure> {
    let schema = match of {
        SchemaName::Fire => super::fire::schema(),
        SchemaName::Capacity => super::capacity::schema(),
        SchemaName::Check => super::check::schema(),
        SchemaName::Tune => super::tune::schema(),
        SchemaName::Facts => stampede_model::fact::schema(),
        SchemaName::Page | SchemaName::Plan | SchemaName::PlanKeys => stampede_serve::schema(),
    };
    let mut text = serde_json::to_vec_pretty(&schema).map_err(|error| Failure::new(&error))?;
    text.push(b'\n');
    Ok(text)
}

/// The text of a schema.
///
/// # Errors
/// This build has none of this name.
#[cfg(not(debug_assertions))]
pub fn of_types(of: SchemaName) -> Result<Vec<u8>, Failure> {
    use std::io::Read as _;

    let packed: &[u8] = match of {
        SchemaName::Fire => packed::FIRE,
        SchemaName::Capacity => packed::CAPACITY,
        SchemaName::Check => packed::CHECK,
        SchemaName::Tune => packed::TUNE,
        SchemaName::Facts => packed::FACTS,
        SchemaName::Page | SchemaName::Plan | SchemaName::PlanKeys => {
            return Err(Failure::new(&NotInThisBuild));
        }
    };
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut text)
        .map_err(|error| Failure::new(&error))?;
    Ok(text)
}

/// The data of the page is for stampede's own source.
#[cfg(not(debug_assertions))]
#[derive(Debug, thiserror::Error)]
#[error("only a build for development has this schema: `cargo run -- schema page`")]
struct NotInThisBuild;

/// What `build.rs` has compressed.
#[cfg(any(test, not(debug_assertions)))]
mod packed {
    macro_rules! packed {
        ($name:literal) => {
            include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".schema.json.gz"))
        };
    }
    pub const FIRE: &[u8] = packed!("fire");
    pub const CAPACITY: &[u8] = packed!("capacity");
    pub const CHECK: &[u8] = packed!("check");
    pub const TUNE: &[u8] = packed!("tune");
    pub const FACTS: &[u8] = packed!("facts");
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn what_other_builds_print_is_what_the_types_make() {
        for (of, packed) in [
            (SchemaName::Fire, packed::FIRE),
            (SchemaName::Capacity, packed::CAPACITY),
            (SchemaName::Check, packed::CHECK),
            (SchemaName::Tune, packed::TUNE),
            (SchemaName::Facts, packed::FACTS),
        ] {
            let mut text = String::new();
            let read = flate2::read::GzDecoder::new(packed).read_to_string(&mut text);
            read.expect("a schema");
            let made = String::from_utf8(of_types(of).expect("a schema")).expect("text");
            let again = format!("write it again: cargo run -- schema {of:?} > docs/…");
            assert_eq!(text, made, "{}", again.to_lowercase());
        }
    }
}
