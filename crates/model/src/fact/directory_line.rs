//! Lines of `.htaccess` and `.user.ini`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words;

/// A line of a file that configures a web server or PHP for one directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryLine {
    /// The file, relative to the app's directory.
    pub file: String,
    /// The number of the line, from 1.
    pub line: u32,
    /// What it says.
    pub text: String,
}

/// Says that such lines of an app are not applied: `count` in all, the first of them in `lines`.
pub(super) fn not_applied(
    f: &mut fmt::Formatter<'_>,
    app: &str,
    count: u64,
    lines: &[DirectoryLine],
) -> fmt::Result {
    let shown = lines
        .iter()
        .map(|DirectoryLine { file, line, text }| format!("`{text}` ({file}, line {line})"));
    let mut all: Vec<String> = shown.collect();
    if let Some(more) = count.checked_sub(all.len() as u64).filter(|more| *more > 0) {
        all.push(format!("{} more", words::count(more)));
    }
    write!(
        f,
        "app `{app}`: no runtime here applies what its directory says: {}; a path that is no file is served by the \
         front controller, without a parameter. Put settings of PHP into `php_ini` of a plan, and load only paths \
         that need no other rule",
        words::list(&all)
    )
}
