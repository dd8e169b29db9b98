//! Writes stampede's PHP library for worker scripts into the working directory.

use std::path::Path;

use include_dir::{Dir, include_dir};

use super::copy::{extract, io_error};
use super::error::RuntimeError;
use super::ownership::give_to_read;
use crate::process::user::User;

static SOURCE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../php/src");
const AUTOLOAD: &str = include_str!("../../../php/autoload.php");

/// Writes the library to `directory`, readable by the user that PHP runs as.
pub(super) fn copy_to(directory: &Path, user: Option<&User>) -> Result<(), RuntimeError> {
    extract(&SOURCE, SOURCE.path(), &directory.join("src"))?;
    let autoload = directory.join("autoload.php");
    std::fs::write(&autoload, AUTOLOAD).map_err(io_error("write", &autoload))?;
    user.map_or(Ok(()), |user| give_to_read(directory, user.gid))
}
