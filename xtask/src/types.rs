//! Writes the page's TypeScript types, `report-ui/src/data.generated.ts`, from the JSON Schema that
//! the program prints of its data. And checks that the file in the source is up to date.

mod typescript;

use std::fs;
use std::path::Path;

use crate::error::ChoreError;
use crate::stampede;

pub use typescript::SchemaError;

/// The file below the workspace.
const PATH: &str = "report-ui/src/data.generated.ts";

/// Writes the types into the source.
///
/// # Errors
/// If the program cannot be built, prints no schema that is understood, or the file cannot be
/// written.
pub fn write(root: &Path) -> Result<(), ChoreError> {
    let path = root.join(PATH);
    fs::write(&path, generated(root)?).map_err(|source| ChoreError::Unwritable { path, source })
}

/// Compares the types in the source with those of the program.
///
/// # Errors
/// If they differ, and as [`write`].
pub fn check(root: &Path) -> Result<(), ChoreError> {
    let path = root.join(PATH);
    match fs::read_to_string(&path) {
        Err(source) => Err(ChoreError::Unreadable { path, source }),
        Ok(written) if written == generated(root)? => Ok(()),
        Ok(_) => Err(ChoreError::StaleTypes),
    }
}

fn generated(root: &Path) -> Result<String, ChoreError> {
    let schema = serde_json::from_slice(&stampede::printed(root, &["schema", "page"])?)
        .map_err(|source| ChoreError::Schema(SchemaError::NotJson { source }))?;
    typescript::types(&schema).map_err(ChoreError::Schema)
}
