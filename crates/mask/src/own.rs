//! The words and names of stampede itself, in its records, tables, messages and pages. The program
//! sets them, because only it knows all of its texts.

use std::collections::HashSet;
use std::sync::OnceLock;

static WORDS: OnceLock<HashSet<&'static str>> = OnceLock::new();

/// Sets the words of stampede's own, in lower case, one on each line. They count for the whole
/// process. Only the first call has an effect.
pub fn set_own_words(lines: &'static str) {
    WORDS.get_or_init(|| lines.lines().collect());
}

/// Most words of a phrase. A longer one is not a piece of a table.
const PHRASE: usize = 3;

/// Whether `text` is a word, a name or a short phrase of stampede's own. A secret that is such a
/// word is masked only after its name.
pub fn is_own(text: &str) -> bool {
    let mut words = text.split(' ');
    let own = WORDS.get();
    let is_word =
        |word: &str| own.is_some_and(|all| all.contains(word.to_ascii_lowercase().as_str()));
    let is_small =
        |word: &str| word.len() < 4 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    is_word(text)
        || text.contains(' ')
            && words.clone().count() <= PHRASE
            && words.all(|word| is_word(word) || is_small(word))
}

/// Whether a whole text in a record is stampede's own: one of its words, a time stamp or a run's
/// id.
pub fn is_of_record(text: &str) -> bool {
    is_own(text) || is_moment(text) || is_run_id(text)
}

/// Whether a text is a time stamp: `2026-11-21T03:51:51…`.
fn is_moment(text: &str) -> bool {
    has_form(text.as_bytes().get(..19), b"0000-00-00T00:00:00")
        && text.len() <= 80
        && text.parse::<jiff::Zoned>().is_ok() | text.parse::<jiff::Timestamp>().is_ok()
}

/// Whether a text is a run's id: `20261121-035151-3f9a`.
fn is_run_id(text: &str) -> bool {
    has_form(text.as_bytes().get(..16), b"00000000-000000-")
        && text.len() == 20
        && text.bytes().skip(16).all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a text has a form, in which `0` stands for any digit.
fn has_form(text: Option<&[u8]>, form: &[u8]) -> bool {
    text.is_some_and(|text| {
        text.iter().zip(form).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        })
    })
}

/// Sets the words that tests count on.
#[cfg(test)]
pub fn set_words_of_tests() {
    set_own_words("valid\nmax-time\nrequest\nrequests\nthroughput\nmaster\nname");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_phrases_of_own_words_are_own() {
        set_words_of_tests();
        for text in ["valid", "Max-Time", "per request", "a valid request"] {
            assert!(is_own(text) && is_of_record(text), "{text}");
        }
        for text in ["hunter2", "valid hunter2", "valid request of a request", ""] {
            assert!(!is_own(text), "{text}");
        }
    }

    #[test]
    fn times_and_run_ids_of_records_are_recognised() {
        for text in ["2026-11-21T03:51:51+00:00", "2026-11-21T03:51:51.5Z", "20261121-035151-3f9a"]
        {
            assert!(is_of_record(text), "{text}");
        }
        for text in
            ["2026-11-21", "20261121", "20261121-035151-3f9z", "2026-11-21T03:51:51 hunter2"]
        {
            assert!(!is_of_record(text), "{text}");
        }
    }
}
