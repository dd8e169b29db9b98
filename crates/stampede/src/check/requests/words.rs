//! The words that a target is made of.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Keys of a query by which apps of one script choose what they do: WordPress, phpBB, OpenCart,
/// Yii, MediaWiki and their like. What they are set to counts as a path's segment does.
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

/// Path and query of a target; no query where it has none.
pub(super) fn parts(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}

/// Names and values of a query, percent-decoded.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(query.as_bytes())
}

/// Whether apps choose by the value of this key what they do.
pub(super) fn is_routing(key: &str) -> bool {
    ROUTING_KEYS.contains(&key)
}

/// Percent-decoded, what is no UTF-8 replaced.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

/// The words of a segment in small letters: `wp-login.php` has three, `deleteUser` and `XMLReset`
/// two.
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
