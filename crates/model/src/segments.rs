//! Reads the words of a URL's path and query, as people name pages with them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Percent-decoded text; invalid UTF-8 is replaced.
pub fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

/// The words of a segment in lower case: `wp-login.php` has three, `deleteUser` and
/// `XMLReset` have two.
pub fn words(segment: &str) -> Vec<String> {
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

/// Whether the target of a link or a redirect is the page of a login on the same host.
pub fn leads_to_login(location: &str) -> bool {
    let location = location.split('#').next().unwrap_or_default();
    let (path, query) = location.split_once('?').unwrap_or((location, ""));
    // The name of a host does not count.
    let path = match path.split_once("//") {
        Some((scheme, rest)) if scheme.is_empty() || scheme.ends_with(':') => {
            rest.find('/').map_or("", |begin| &rest[begin..])
        }
        _ => path,
    };
    let is_login = |text: &str| text.split(['/', '=']).any(|part| says_login(&decoded(part)));
    // Matches `/index.php?route=account/login`, but not `?x=1&back=/login`: the first pair is the
    // destination.
    is_login(path) || query.split('&').next().is_some_and(is_login)
}

fn says_login(segment: &str) -> bool {
    let words = words(segment);
    let is = |word: &str| ["login", "logon", "signin", "auth", "sso", "oauth"].contains(&word);
    words.iter().any(|word| is(word)) || words.windows(2).any(|pair| is(&pair.concat()))
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

    #[test]
    fn the_page_of_a_login_is_known_by_its_words() {
        for location in [
            "/login",
            "/en/sign-in?back=/",
            "http://localhost/wp-login.php?redirect_to=x",
            "/index.php?route=account/login",
            "/admin/auth",
        ] {
            assert!(leads_to_login(location), "{location}");
        }
        for location in ["/", "/blogin", "/authors", "https://login.example/", "/?x=1&to=/login"] {
            assert!(!leads_to_login(location), "{location}");
        }
    }
}
