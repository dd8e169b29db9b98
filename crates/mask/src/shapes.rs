//! Finds secrets by their form: after a name, in a URL, in a header, in a key.

use std::ops::Range;

use super::encodings::for_each_view;
use super::following::Following;
use super::names::{Secrecy, is_weak, secrecy_of};
use super::value::{self, Surroundings, is_placeholder, is_public, is_token};
use super::{phrases, tokens};

/// Returns the places in `text` that look like secrets:
///
/// - values of names such as `DB_PASS`, `api-key` or `access_token` (`name=value`, `name: value`,
///   `'name' => 'value'`, `env[NAME] = "value"`, `--name value`, `SetEnv NAME value`), on the same
///   line or below (`following`), also where a URL, JSON or a page encodes the name or the sign
/// - everything after `Authorization:` and `Cookie:`, and the word after `Bearer` and `Basic`
/// - the part before the `@` of a URL, private keys in PEM, tokens with a form that `tokens` knows,
///   and what stands at a secret's place in a command, a call or a tag (`phrases`).
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    places_with(text, encoded)
}

/// Returns the places without those that an encoding hides: a large file is read faster so.
pub(super) fn plain_places(text: &str) -> Vec<Range<usize>> {
    places_with(text, of_line)
}

fn places_with(text: &str, of_line: fn(&str, &mut Vec<Range<usize>>)) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut inside_key = ends_a_key_that_it_does_not_begin(text);
    let mut following = Following::default();
    let mut begin = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.strip_suffix('\n').unwrap_or(whole);
        inside_key |= begins_key(line);
        let from = places.len();
        if inside_key {
            places.push(0..line.len());
            inside_key = !is_key_end(line);
        } else {
            places.extend(following.place(line));
            of_line(line, &mut places);
        }
        for place in &mut places[from..] {
            *place = place.start + begin..place.end + begin;
        }
        begin += whole.len();
    }
    places
}

/// Adds the secrets of a line as it is, and as it reads without its encodings.
fn encoded(line: &str, places: &mut Vec<Range<usize>>) {
    if line.len() > DECODED_MAX {
        return of_line(line, places);
    }
    for_each_view(line, |view| {
        let Ok(text) = std::str::from_utf8(&view.bytes) else { return };
        let mut found = Vec::new();
        match begins_key(text) {
            true => found.push(0..text.len()),
            false => of_line(text, &mut found),
        }
        places.extend(found.iter().map(|place| view.origin(place)));
    });
}

/// A longer line is a body or a minified file. It is looked at as it is.
const DECODED_MAX: usize = 64 << 10;

fn of_line(line: &str, places: &mut Vec<Range<usize>>) {
    userinfo(line, places);
    values(line, places);
    tokens::places(line, places);
    phrases::places(line, places);
}

/// Whether `text` begins inside a key, as a log does that was cut at the front.
fn ends_a_key_that_it_does_not_begin(text: &str) -> bool {
    let begin = text.find("-----BEGIN");
    text.lines()
        .find(|line| is_key_end(line))
        .and_then(|line| text.find(line))
        .is_some_and(|end| begin.is_none_or(|begin| begin > end))
}

fn begins_key(line: &str) -> bool {
    line.contains("-----BEGIN") && line.contains("PRIVATE KEY")
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
        let (behind, ahead) = (&line[end..], &line[..start]);
        let Some(value_at) = value::start(behind, secrecy, name, ahead) else { continue };
        let begin = end + value_at;
        let secrecy = of_several(name, secrecy, &line[begin..]);
        let around = Surroundings { ahead, name, sign: &behind[..value_at] };
        let length = value::length(&line[begin..], secrecy, &around);
        if is_value(name, &around, secrecy, &line[begin..begin + length]) {
            places.push(begin..begin + length);
        }
        from = begin + length;
    }
}

/// `cookies: a=1; b=2` is a header, and `cookies: 3` is none.
fn of_several(name: &str, secrecy: Secrecy, value: &str) -> Secrecy {
    let is_header = name.to_ascii_lowercase().ends_with("cookies")
        && value.split(char::is_whitespace).next().is_some_and(|first| {
            first.contains('=') && !first.starts_with(['"', '\'', '{', '[', '\\'])
        });
    if is_header { Secrecy::Line } else { secrecy }
}

fn is_value(name: &str, around: &Surroundings<'_>, secrecy: Secrecy, value: &str) -> bool {
    !value.is_empty()
        && !is_public(value)
        && !is_placeholder(name, value)
        && !is_of_unit(name, value)
        && (!is_weak(name) || is_token(value) && !is_variable(value))
        && (secrecy != Secrecy::NextWord || is_after_scheme(name, around, value))
}

/// Whether a value of the name `pass` is where NGINX Unit leads a request.
fn is_of_unit(name: &str, value: &str) -> bool {
    let value = value.trim_matches(['"', '\'', '\\']);
    name == "pass"
        && (value == "routes"
            || ["applications/", "upstreams/", "routes/"].iter().any(|to| value.starts_with(to)))
}

/// Whether a value is a variable or a cast of PHP: `$value`, `(string) …`.
fn is_variable(value: &str) -> bool {
    value.strip_prefix(['$', '(']).is_some_and(|rest| {
        rest.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
    })
}

/// Whether a word after `Basic` or `Bearer` is a secret, and not the next one of a sentence.
fn is_after_scheme(name: &str, around: &Surroundings<'_>, word: &str) -> bool {
    // `basic: "ann:hunter2"` of a plan.
    let is_pair = || word.split_once(':').is_some_and(|(_, password)| !password.is_empty());
    if around.sign.contains([':', '=']) && is_pair() {
        return true;
    }
    let word = word.trim_matches(['"', '\'', '`']);
    if word.starts_with("realm") {
        return false;
    }
    match name.eq_ignore_ascii_case("basic") {
        true => tokens::is_basic(word),
        false => is_token(word),
    }
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.'
}

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
    fn a_hint_says_what_is_to_be_written() {
        for text in [
            "log in with `--basic-auth USER:PASSWORD`, `--cookie 'NAME=VALUE'` or `-H 'Authorization: …'`",
            "give them again: `--login ann:PASSWORD`, or give its cookie: `--cookie NAME=VALUE`",
            "./configure --enable-session --with-sodium --enable-auth --x",
            "{ \"pass\": \"applications/app/front\" }",
            "foreach ($all as $key => $value) { $sessions[$key] = $value; }",
        ] {
            assert_eq!(mask_secrets(text), text);
        }
    }

    /// Each line has the secret once or more, in a place of its own.
    #[test]
    fn no_way_to_write_a_secret_is_left_out() {
        let lines = include_str!("ways.txt").lines();
        let left: Vec<String> =
            lines.map(mask_secrets).filter(|masked| masked.contains("hunt3rx")).collect();
        assert_eq!(left, [] as [&str; 0]);
    }

    #[test]
    fn a_log_cut_inside_a_key_is_masked_from_its_first_line() {
        let text = "hunter2\nhunter2\n-----END PRIVATE KEY-----\nready\n";
        assert_eq!(mask_secrets(text), "***\n***\n***\nready\n");
    }

    proptest! {
        #[test]
        fn no_secret_survives_its_name(
            secret in "-?[A-Za-z0-9+/_.!][A-Za-z0-9+/_.!-]{7,40}",
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
