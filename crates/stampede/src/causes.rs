//! An error and its causes as one line.

use std::error::Error;

/// `error`, then each cause after a colon. Causes are never part of an error's own text.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
