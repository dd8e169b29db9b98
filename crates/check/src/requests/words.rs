//! Splits a target into the words that it consists of.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Query keys by which apps with a single script choose their action: WordPress, phpBB, OpenCart,
/// Yii, MediaWiki and others. Their values count like a segment of a path.
const ROUTING_KEYS: [&str; 23] = [
    "a",
    "act",
    "action",
    "cmd",
    "command",
    "controller",
    "ctrl",
    "do",
    "event",
    "func",
    "method",
    "_method",
    "mod",
    "mode",
    "module",
    "op",
    "option",
    "p",
    "page",
    "r",
    "route",
    "task",
    "view",
];

/// Returns path and query of a target; the query is empty if there is none.
pub(super) fn parts(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

/// Returns names and values of a query, percent-decoded.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(query.as_bytes())
}

/// Returns whether apps choose their action by the value of this key.
pub(super) fn is_routing(key: &str) -> bool {
    ROUTING_KEYS.contains(&key)
}

/// Returns percent-decoded text; invalid UTF-8 is replaced.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

/// Returns the words of a segment in lower case: `wp-login.php` has three, `deleteUser` and
/// `XMLReset` have two.
pub(super) fn words(segment: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut chars = segment.chars().peekable();
    let mut last = None;
    while let Some(char) = chars.next() {
        let begins = match last {
            Some(last) if char::is_lowercase(last) => char.is_uppercase(),
            Some(last) if char::is_uppercase(last) => {
                char.is_uppercase() && chars.peek().is_some_and(|next| next.is_lowercase())
            }
            _ => false,
        };
        let is_word = char.is_alphabetic();
        if begins || !is_word {
            words.push(String::new());
        }
        if is_word && let Some(word) = words.last_mut() {
            word.extend(char.to_lowercase());
        }
        last = Some(char);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_split_where_its_words_begin() {
        let cases: [(&str, &[&str]); 9] = [
            ("wp-login.php", &["wp", "login", "php"]),
            ("deleteUser", &["delete", "user"]),
            ("XMLReset", &["xml", "reset"]),
            ("DELETE", &["delete"]),
            ("user_7_delete", &["user", "delete"]),
            ("deleted-scenes", &["deleted", "scenes"]),
            ("step2delete", &["step", "delete"]),
            ("Über-uns", &["über", "uns"]),
            ("--", &[]),
        ];
        for (segment, expected) in cases {
            assert_eq!(words(segment), expected, "{segment}");
        }
    }
}
