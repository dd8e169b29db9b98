//! Writes the reference of a plan's keys, a part of `docs/plans.md`, from the program's table of
//! keys. And checks that the part in the source is up to date.

use std::fs;
use std::path::Path;

use crate::error::ChoreError;
use crate::stampede;

/// The file below the workspace.
const PATH: &str = "docs/plans.md";
/// The lines around the part.
const BEGIN: &str = "<!-- keys: `cargo xtask keys` writes this part -->\n";
const END: &str = "<!-- end of keys -->\n";

/// Writes the reference into the page.
///
/// # Errors
/// If the program cannot be built, the page has no such part, or it cannot be written.
pub fn write(root: &Path) -> Result<(), ChoreError> {
    let (written, generated) = pages(root)?;
    let path = root.join(PATH);
    match written == generated {
        true => Ok(()),
        false => {
            fs::write(&path, generated).map_err(|source| ChoreError::Unwritable { path, source })
        }
    }
}

/// Compares the reference in the page with that of the program.
///
/// # Errors
/// If they differ, and as [`write`].
pub fn check(root: &Path) -> Result<(), ChoreError> {
    match pages(root)? {
        (written, generated) if written == generated => Ok(()),
        _ => Err(ChoreError::StaleKeys),
    }
}

/// The page as it is, and with the reference that the program prints.
fn pages(root: &Path) -> Result<(String, String), ChoreError> {
    let path = root.join(PATH);
    let page = fs::read_to_string(&path)
        .map_err(|source| ChoreError::Unreadable { path: path.clone(), source })?;
    let reference = stampede::printed(root, &["schema", "plan-keys"])?;
    match filled(&page, &String::from_utf8_lossy(&reference)) {
        Some(generated) => Ok((page, generated)),
        None => Err(ChoreError::NoMarkers { path }),
    }
}

/// The page with another text between the markers. `None`: it has no markers.
fn filled(page: &str, reference: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{reference}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_between_the_markers_is_replaced() {
        let page = |part: &str| format!("a\n{BEGIN}{part}{END}b\n");
        assert_eq!(filled(&page("old\n"), "new\n"), Some(page("\nnew\n\n")));
        assert_eq!(filled("a\n", "new\n"), None);
    }
}
