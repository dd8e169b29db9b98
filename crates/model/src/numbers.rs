//! Text whose numbers do not matter.

use std::sync::LazyLock;

use regex::Regex;

/// Returns `text` with each number replaced by `0`, so that two texts differ only if their words
/// do.
pub fn without_numbers(text: &str) -> String {
    NUMBERS.replace_all(text, "0").into_owned()
}

static NUMBERS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d+(?:[.,]\d+)*").expect("a valid pattern"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_numbers_only_words_differ() {
        assert_eq!(without_numbers("took 1.25 s, 12 rows"), without_numbers("took 3 s, 9 rows"));
        assert_ne!(without_numbers("took 1 s"), without_numbers("error 1 s"));
    }
}
