//! Finds secrets by their form: after a name, in a URL, in a header, in a key.

use std::ops::Range;

use super::names::{Secrecy, is_weak, secrecy_of};
use super::tokens;

/// Returns the places in `text` that look like secrets:
///
/// - values of names such as `DB_PASS`, `api-key` or `access_token` (`name=value`, `name: value`,
///   `'name' => 'value'`, `env[NAME] = "value"`, `--name value`, `SetEnv NAME value`)
/// - everything after `Authorization:` and `Cookie:`, and the word after `Bearer` and `Basic`
/// - the part before the `@` of a URL, private keys in PEM, and tokens with a form that `tokens`
///   knows.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut inside_key = ends_a_key_that_it_does_not_begin(text);
    let mut begin = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        inside_key |= line.contains("-----BEGIN") && line.contains("PRIVATE KEY");
        let from = places.len();
        if inside_key {
            places.push(0..line.len());
            inside_key = !is_key_end(line);
        } else {
            userinfo(line, &mut places);
            values(line, &mut places);
            tokens::places(line, &mut places);
        }
        for place in &mut places[from..] {
            *place = place.start + begin..place.end + begin;
        }
        begin += whole.len();
    }
    places
}

/// Whether `text` begins inside a key, as a log does that was cut at the front.
fn ends_a_key_that_it_does_not_begin(text: &str) -> bool {
    let begin = text.find("-----BEGIN");
    text.lines()
        .find(|line| is_key_end(line))
        .and_then(|line| text.find(line))
        .is_some_and(|end| begin.is_none_or(|begin| begin > end))
}

fn is_key_end(line: &str) -> bool {
    line.contains("-----END") && line.contains("PRIVATE KEY")
}

/// Finds `user:word` in `scheme://user:word@host` (RFC 3986 section 3.2.1).
fn userinfo(line: &str, places: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(at) = line[from..].find("://") {
        let begin = from + at + 3;
        let authority = &line[begin..];
        let word_ends = |c: char| c.is_whitespace() || "\"'<>`".contains(c);
        let word = &authority[..authority.find(word_ends).unwrap_or(authority.len())];
        let length = word.find(['/', '?', '#']).unwrap_or(word.len());
        // A password that was not encoded may contain a slash. A port cannot.
        let has_password = || {
            let (_, behind) = word[..length].split_once(':')?;
            let is_port = word.starts_with('[') || behind.bytes().all(|byte| byte.is_ascii_digit());
            (!is_port).then(|| word.rfind('@')).flatten()
        };
        if let Some(length) = word[..length].rfind('@').or_else(has_password) {
            places.push(begin..begin + length);
        }
        from = begin;
    }
}

/// Finds the values of names that mean a secret.
fn values(line: &str, places: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(start) = line[from..].find(is_name_part).map(|at| from + at) {
        let end =
            line[start..].find(|c| !is_name_part(c)).map_or(line.len(), |length| start + length);
        let name = &line[start..end];
        from = end;
        let Some(secrecy) = secrecy_of(name) else { continue };
        let Some(value_at) = value_start(&line[end..], secrecy, name, &line[..start]) else {
            continue;
        };
        let begin = end + value_at;
        let length = value_length(&line[begin..], secrecy);
        let value = &line[begin..begin + length];
        if length > 0 && !is_switch(value) && (!is_weak(name) || is_token(value)) {
            places.push(begin..begin + length);
        }
        from = begin + length;
    }
}

/// Words before a name and its value that are separated only by blanks: in Apache, nginx, Caddy and
/// shells.
const DIRECTIVES: [&str; 13] = [
    "setenv",
    "fastcgi_param",
    "uwsgi_param",
    "scgi_param",
    "proxy_set_header",
    "more_set_input_headers",
    "env",
    "export",
    "header set",
    "set $",
    "header_up",
    "php_value",
    "php_admin_value",
];

/// Longer than each directive with the character before it.
const NEAR: usize = 40;

/// Returns where the value begins after a name; `None` if no value follows.
fn value_start(behind: &str, secrecy: Secrecy, name: &str, ahead: &str) -> Option<usize> {
    let blank = |c: char| c == ' ' || c == '\t';
    // As in `auth[]=`, also encoded in a URL.
    let closed = ["[]", "%5B%5D", "%5b%5d"].iter().find_map(|list| behind.strip_prefix(list));
    let closed = closed.unwrap_or(behind).trim_start_matches(['\\', '"', '\'', ']', ')']);
    let is_quoted = closed.len() < behind.len() && ahead.ends_with(['"', '\'']);
    let closed = closed.trim_start_matches(blank);
    let near = (ahead.len().saturating_sub(NEAR)..).find(|at| ahead.is_char_boundary(*at));
    let ahead = ahead[near.unwrap_or(0)..].trim_end_matches(['"', '\'']).trim_end_matches(blank);
    let ahead = ahead.to_ascii_lowercase();
    let is_directive = DIRECTIVES.iter().any(|directive| {
        ahead.strip_suffix(directive).is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
            || *directive == "header set" && ahead.ends_with("requestheader set")
    });
    let separated =
        match ["===", "=>", "==", "!=", "="].iter().find_map(|sign| closed.strip_prefix(sign)) {
            Some(separated) => separated,
            None => match one_colon(closed).or_else(|| as_pair(closed).filter(|_| is_quoted)) {
                Some(separated) => separated,
                None if secrecy == Secrecy::NextWord || name.starts_with("--") || is_directive => {
                    behind.strip_prefix(blank)?
                }
                None => return None,
            },
        };
    Some(behind.len() - separated.trim_start_matches(blank).len())
}

/// Strips one colon, but not PHP's `::`.
fn one_colon(closed: &str) -> Option<&str> {
    closed.strip_prefix(':').filter(|rest| !rest.starts_with(':'))
}

/// Strips `, "value"` after a quoted name, and HAR's `, "value": "…"`.
fn as_pair(closed: &str) -> Option<&str> {
    let blank = |c: char| c == ' ' || c == '\t';
    let next = closed.strip_prefix(',')?.trim_start_matches(blank);
    let of_har = ["\"value\"", "\\\"value\\\""].iter().find_map(|key| next.strip_prefix(key));
    if let Some(value) = of_har.and_then(|rest| rest.trim_start_matches(blank).strip_prefix(':')) {
        return Some(value);
    }
    next.starts_with(['"', '\'', '\\']).then_some(next)
}

/// Returns the length of a value, including its quotes.
fn value_length(value: &str, secrecy: Secrecy) -> usize {
    let escapes = value.len() - value.trim_start_matches('\\').len();
    let quote = value[escapes..].chars().next().filter(|c| "\"'".contains(*c));
    if let Some(quote) = quote {
        // An escaped quote opens a value inside quoted text (JSON in a log). Only an escaped quote
        // closes it.
        let closing = format!("{}{quote}", &value[..escapes]);
        let open = closing.len();
        let mut from = open;
        while let Some(found) = value[from..].find(&closing) {
            let end = from + found;
            let doubled = value[end + open..].starts_with(&closing); // as in YAML and SQL
            let escaped = escapes == 0 && value[..end].ends_with('\\');
            if !doubled && !escaped {
                return end + open;
            }
            from = end + open + if doubled { open } else { 0 };
        }
        return value.len();
    }
    let ends = |c: char| match secrecy {
        Secrecy::Line => "\"'".contains(c),
        Secrecy::Value | Secrecy::NextWord => c.is_whitespace() || ",;&\"'<>)]}".contains(c),
    };
    value.find(ends).unwrap_or(value.len())
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.'
}

/// Whether a value is a mere switch. Such a value is not secret, and readers want to see it.
pub(super) fn is_switch(value: &str) -> bool {
    let plain = value.trim_matches(|c: char| "\\\"' ".contains(c)).to_ascii_lowercase();
    SWITCHES.contains(&plain.as_str())
}

/// Whether a value looks like a token and not like a word: it has letters and digits, or
/// punctuation, or is long.
pub(super) fn is_token(value: &str) -> bool {
    let plain = value.trim_matches(|c: char| "\\\"'` ".contains(c));
    let has = |is_one: fn(&char) -> bool| plain.chars().any(|letter| is_one(&letter));
    let has_digit = has(char::is_ascii_digit);
    let is_odd = has(|letter| !letter.is_alphanumeric() && !"_-., :/".contains(*letter));
    plain.chars().count() >= 16 || has_digit && has(|letter| letter.is_alphabetic()) || is_odd
}

const SWITCHES: [&str; 12] =
    ["", "0", "1", "true", "false", "on", "off", "yes", "no", "null", "none", "***"];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::known::masked;

    /// Masks by form alone. Values that other tests have learnt do not count here.
    fn mask_secrets(text: &str) -> String {
        masked(text, places(text))
    }

    #[test]
    fn a_sentence_about_a_session_is_none() {
        let text = "it ends a session: `--skip` has no say, and of this session: nothing";
        assert_eq!(mask_secrets(text), text);
        assert_eq!(mask_secrets("session: `a81f33c9`"), "session: ***");
    }

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        let text = r#"env[DB_PASSWORD] = "hunter2 with blanks" ; and more
DATABASE_URL=mysql://root:hunter2@127.0.0.1:3306/shop?ssl=1
'api_key' => 'hunter2', 'name' => 'shop'
{"token":"hunter2","next":"a \"quoted\" name"}
{"message":"{\"access_token\":\"hunter2\",\"id\":7}"}
Authorization: Basic aHVudGVyMg==
"HTTP_COOKIE": "PHPSESSID=hunter2; other=hunter2", "method": "GET"
curl -H 'authorization: Bearer hunter2' http://127.0.0.1/?access_token=hunter2&page=2
mysql --password hunter2 --host db
the header was Bearer hunter2, it said
APP_KEY=base64:hunter2=
secret: 'it''s hunter2'
-----BEGIN RSA PRIVATE KEY-----
hunter2hunter2
-----END RSA PRIVATE KEY-----
PASSWORD="hunter2 \" hunter2" left
DB_PASS=hunter2 STRIPE_KEY: hunter2, pgsql:host=db;password=hunter2;user=u
session.save_path = "tcp://10.0.0.1:6379?auth=hunter2&db=1" "tcp://r?auth[]=u&auth%5B%5D=hunter2"
http://a:hunter2@one/ and redis://:hunter2@two:6379/0 and mysql://b:hunter2/x@three/db
SetEnv DB_PASS hunter2
fastcgi_param API_KEY hunter2; set $db_pass hunter2; RequestHeader set X-Auth-Token "hunter2"
define('DB_PASSWORD', 'hunter2'); ["Cookie", "SID=hunter2"]
{"name": "Authorization", "value": "Bearer hunter2"}
MAILER_DSN=smtp://hunter2 json token == hunter2 clientSecret=hunter2 X-Api-Key: hunter2
"#;
        let masked = mask_secrets(text);
        insta::assert_snapshot!(masked);
        assert!(!masked.contains("hunter2"), "{masked}");
    }

    #[test]
    fn harmless_text_is_unchanged() {
        for text in [
            "PHP Parse error: syntax error, unexpected token \"}\" in /srv/index.php on line 3",
            "127.0.0.1 - - [21/Nov/2026:03:51:51 +0000] \"GET /a@b HTTP/1.1\" 200 12",
            "NOTICE: fpm is running, pid 4711",
            "listen = /tmp/stampede/php.sock ; mail: root@localhost",
            "http://127.0.0.1:8080/a@b http://[::1]:80/a@b KEYBOARD=de MONKEY: see AUTHOR=me COMPASS_DIR=/c",
            "hint: it is 'name:password', 'name:' without one; set APP_KEY in `.env`",
            "Auth::user() in /srv/Auth.php:12, Cookie::forever(1), Token::create()",
            "session.use_cookies = 1, session.cookie_samesite = Lax, opcache.preload_user = www, BYPASS=yes",
            "",
            "\n\n",
        ] {
            assert_eq!(mask_secrets(text), text);
        }
    }

    #[test]
    fn a_log_cut_inside_a_key_is_masked_from_its_first_line() {
        let text = "hunter2\nhunter2\n-----END PRIVATE KEY-----\nready\n";
        assert_eq!(mask_secrets(text), "***\n***\n***\nready\n");
    }

    proptest! {
        #[test]
        fn no_secret_survives_its_name(
            secret in "[A-Za-z0-9+/_.!-]{8,40}",
            name in "(DB_|my-)?(PASSWORD|password|Secret|api[_-]?key|token)(_MAIN|2)?",
            shape in 0..6,
            around in "[a-z ,;]{0,10}",
        ) {
            let line = match shape {
                0 => format!("{around} {name}={secret} {around}"),
                1 => format!("{around} {name}: \"{secret}\", {around}"),
                2 => format!("{around} '{name}' => '{secret}' {around}"),
                3 => format!("{{\"{name}\":\"{secret}\"}}{around}"),
                4 => format!("env[{name}] = {secret}"),
                _ => format!("{around} --{name} {secret}"),
            };
            prop_assert!(!mask_secrets(&line).contains(&secret), "{}", mask_secrets(&line));
        }

        #[test]
        fn lines_stay_lines_and_nothing_is_masked_twice(text in "(\\PC{0,30}\n?){0,8}") {
            let masked = mask_secrets(&text);
            prop_assert_eq!(masked.matches('\n').count(), text.matches('\n').count());
            prop_assert_eq!(mask_secrets(&masked), masked);
        }
    }
}
