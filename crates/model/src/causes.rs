//! Writes an error with its causes as one line.

use std::error::Error;

/// Returns the text of `error`, then each cause after a colon. An error's own text never contains
/// its causes.
pub fn chain(error: &dyn Error) -> String {
    let mut text = message(error);
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {}", message(cause)));
        source = cause.source();
    }
    text
}

/// Returns an error's own sentence. A build with the feature `codes-for-text` returns the variant
/// instead, in lower case with underscores. It shows that nothing depends on the wording.
pub fn message(error: &dyn Error) -> String {
    if cfg!(feature = "codes-for-text") { variant(error) } else { error.to_string() }
}

/// Returns the variant in snake case: `NotReady { … }` → `not_ready`.
fn variant(error: &dyn Error) -> String {
    let shown = format!("{error:?}");
    let is_name = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    let mut code = String::new();
    for letter in shown.chars().take_while(is_name) {
        if letter.is_ascii_uppercase() && !code.is_empty() {
            code.push('_');
        }
        code.push(letter.to_ascii_lowercase());
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_becomes_a_code() {
        #[derive(Debug, thiserror::Error)]
        #[error("a sentence")]
        enum Failed {
            NoThread { errno: i32 },
            Panicked,
        }
        let error = Failed::NoThread { errno: 1 };
        assert_eq!(variant(&error), "no_thread");
        assert_eq!(variant(&Failed::Panicked), "panicked");
        assert!(matches!(error, Failed::NoThread { errno: 1 }));
    }
}
