//! Removes from an answer what depends on when and where the app is asked: the time of day, and the
//! address and directory that a trial gave it.

use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Returns `body` without the address `127.0.0.1:port` and without the directory `dir`.
pub(super) fn without_place(body: &str, port: u16, dir: Option<&Path>) -> String {
    without_own_address(body, port, dir).replace("127.0.0.1", "localhost")
}

/// The same for the target of a redirect: an address with another port is one that the app insists on.
pub(super) fn without_place_in_target(target: &str, port: u16, dir: Option<&Path>) -> String {
    let target = without_own_address(target, port, dir);
    match target.contains("127.0.0.1:") {
        true => target,
        false => target.replace("127.0.0.1", "localhost"),
    }
}

fn without_own_address(body: &str, port: u16, dir: Option<&Path>) -> String {
    let mut text = match dir {
        Some(dir) => body.replace(&*dir.to_string_lossy(), "{dir}"),
        None => body.to_owned(),
    };
    for host in ["127.0.0.1", "localhost"] {
        text = text.replace(&format!("{host}:{port}"), "localhost");
        text = text.replace(&format!("{host}%3A{port}"), "localhost");
    }
    text
}

/// Returns `text` with each time and date replaced by one sign: `it is 10:02:33` → `it is ~`.
pub(super) fn without_times(text: &str) -> String {
    TIMES.replace_all(text, "~").into_owned()
}

/// Returns `text` with each unreadable token replaced by one sign: `?v=4ff61e95f0db` → `?v=~`. Such
/// tokens come from a file's time or path, from a session or at random, and differ in each copy of
/// an app.
pub(super) fn without_tokens(text: &str) -> String {
    let token = |found: &Captures<'_>| {
        let token = &found[0];
        let has = |is: fn(&u8) -> bool| token.as_bytes().iter().any(is);
        let is_hex = token.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_token = has(u8::is_ascii_digit)
            && has(u8::is_ascii_alphabetic)
            && (is_hex || token.len() >= LONG_TOKEN);
        if is_token { "~".to_owned() } else { token.to_owned() }
    };
    TOKENS.replace_all(text, token).into_owned()
}

/// Times of day, dates in figures, seconds since 1970 with or without fractions, and ages.
static TIMES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?x)
        \b\d{4}[-/.]\d{2}[-/.]\d{2} (?: [T\ _]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)? (?:Z|[+-]\d{2}:?\d{2})? )?
        | \b\d{1,2}[./-]\d{1,2}[./-]\d{4}\b
        | (?:\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*\.?,?\ )? (?:
            \b\d{1,2}(?:st|nd|rd|th)?[\ -]%M[\ ,-]+\d{4}\b | \b%M\ \d{1,2}(?:st|nd|rd|th)?,?\ \d{4}\b )
        | \b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)? (?:\ ?[AaPp]\.?[Mm]\b)?
        | \b1\d{9}(?:\d{3}){0,3}(?:\.\d+)?\b
        | \b\d+(?:\.\d+)?\ (?:seconds?|minutes?|hours?|ms|milliseconds?)\b";
    let pattern = pattern.replace("%M", MONTHS);
    Regex::new(&pattern).expect("a valid pattern")
});
/// Names of months in English, which PHP's `date` writes.
const MONTHS: &str = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\\.?";
/// What may be a token: at least eight characters, since eight hexadecimal digits are a short hash.
static TOKENS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[A-Za-z0-9_+-]{8,}=*").expect("a valid pattern"));
/// The length from which a text with other letters than hexadecimal ones counts as a token. Shorter
/// ones may be words: `data-toggle-2`.
const LONG_TOKEN: usize = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_left_out_and_other_numbers_stay() {
        for (text, left) in [
            ("10:02:33", "~"),
            ("at 9:05 pm.", "at ~."),
            ("2026-11-25T20:37:12+00:00", "~"),
            ("2026-11-25 20:37", "~"),
            ("25.11.2026, 20:37", "~, ~"),
            ("Wed, 25 Nov 2026 20:37:12 GMT", "~ ~ GMT"),
            ("Saturday, November 28th, 2026", "~"),
            ("(c) 28 November 2026.", "(c) ~."),
            ("28-Nov-2026", "~"),
            ("May 4711 guests", "May 4711 guests"),
            ("?v=1764103032", "?v=~"),
            ("1764103032.4871", "~"),
            ("1764103032487", "~"),
            ("updated 3 minutes ago", "updated ~ ago"),
            ("rendered in 0.034 seconds", "rendered in ~"),
            ("PHP 8.2.31", "PHP 8.2.31"),
            ("order 4711, 12 items", "order 4711, 12 items"),
            ("phone 0123456789", "phone 0123456789"),
            ("ratio 16:9", "ratio 16:9"),
        ] {
            assert_eq!(without_times(text), left, "{text}");
        }
    }

    #[test]
    fn tokens_are_left_out_and_words_stay() {
        for (text, left) in [
            (
                "css.php?t=dokuwiki&tseed=4ff61e95f0dbd13a6717f0ba7357dd6a",
                "css.php?t=dokuwiki&tseed=~",
            ),
            ("app.4ff61e95.js", "app.~.js"),
            ("value=\"eyJpdiI6IkZkTm1vZ0VKQ2x3PT0iLCJ2YWx1ZSI6\"", "value=\"~\""),
            ("20261125", "20261125"),
            ("deadbeef", "deadbeef"),
            ("bootstrap-5-3-2 col-md-12", "bootstrap-5-3-2 col-md-12"),
            ("internationalization", "internationalization"),
        ] {
            assert_eq!(without_tokens(text), left, "{text}");
        }
    }

    #[test]
    fn address_and_directory_are_left_out() {
        let dir = Path::new("/tmp/stampede-1/0");
        let text = "http://127.0.0.1:8081/x http://localhost/x /tmp/stampede-1/0/app http://localhost:8081/";
        let left = "http://localhost/x http://localhost/x {dir}/app http://localhost/";
        assert_eq!(without_place(text, 8081, Some(dir)), left);
    }
}
