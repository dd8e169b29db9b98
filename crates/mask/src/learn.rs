//! Learns secrets from plans, flags, headers, requests and environments.

use std::io::Read as _;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::known::KnownSecrets;
use super::names::{Secrecy, is_weak, secrecy_of};
use super::tokens::is_hash;
use super::value::is_token;
use super::{KNOWN, shapes};

/// Learns every part of `text` that looks like a secret.
pub fn text(text: &str) {
    with(|known| text_into(known, text));
}

/// Learns the value of a variable, a setting or a parameter, if its name or form is secret.
pub fn named(name: &str, value: &str) {
    with(|known| named_into(known, name, value));
}

/// Notes words that everybody may see, such as the names of a project's services: a secret that is learnt later and is
/// a part of one is masked only at a secret's place.
pub fn public<'a>(words: impl IntoIterator<Item = &'a str>) {
    with(|known| words.into_iter().for_each(|word| known.add_public(word)));
}

/// Learns the value of a field of a form that logs in, or of a cookie, whatever its name.
pub fn beside(name: &str, value: &str) {
    with(|known| beside_into(known, name, value));
}

fn beside_into(known: &mut KnownSecrets, name: &str, value: &str) {
    named_into(known, "password", value);
    known.add_beside(name, value);
}

/// Learns the secrets of this process's environment. Commands of the user inherit it, and may show it.
pub fn environment(variables: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>) {
    with(|known| {
        for (name, value) in variables {
            named_into(known, &name.to_string_lossy(), &value.to_string_lossy());
        }
    });
}

/// Learns the header of a request.
pub fn header(name: &str, value: &str) {
    with(|known| header_into(known, name, value));
}

/// Learns the arguments of a command line, without the program's name. Call it before they are
/// used.
pub fn args(words: impl IntoIterator<Item = String>) {
    let mut flag = String::new();
    with(|known| {
        for word in words {
            text_into(known, &word);
            let (name, value) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => {
                    (name.to_owned(), value.to_owned())
                }
                _ if word.starts_with("-H") && word.len() > 2 => {
                    ("-H".to_owned(), word[2..].to_owned())
                }
                _ => (std::mem::take(&mut flag), word.clone()),
            };
            of_flag(known, &name, &value);
            flag = if word.starts_with('-') { word } else { String::new() };
        }
    });
}

fn of_flag(known: &mut KnownSecrets, flag: &str, value: &str) {
    match flag {
        "-H" | "--header" => {
            if let Some((name, value)) = value.split_once(':') {
                header_into(known, name, value);
            }
        }
        "--cookie" => {
            header_into(known, "Cookie", value);
            let cookies = value.split(';').filter_map(|cookie| cookie.split_once('='));
            cookies.for_each(|(name, value)| known.add_beside(name, value));
        }
        // The path of a login page: `/index.php?title=Special:UserLogin`.
        "--login" if value.starts_with('/') => {}
        "--basic-auth" | "--login" => {
            if let Some((_, password)) = value.split_once(':') {
                known.add(password);
                known.add(value);
            }
            known.add(&STANDARD.encode(value));
        }
        "--login-field" => {
            if let Some((name, value)) = value.split_once('=')
                && !names_a_user(name)
            {
                beside_into(known, name, value);
            }
        }
        "--env" | "--php-ini" => {
            if let Some((name, value)) = value.split_once('=') {
                named_into(known, name, value);
            }
        }
        _ => {}
    }
}

/// Whether a field of a login form has a user's name by its own name, or is no secret otherwise. The
/// value of any other field may be a password, however it is called.
pub fn names_a_user(name: &str) -> bool {
    const WORDS: [&str; 10] =
        ["user", "usr", "usuario", "mail", "login", "log", "name", "remember", "keep", "lang"];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word)) && !crate::is_secret_name(&name)
}

/// Learns from the beginning of a request file of any format. The file may be endless.
pub fn requests_file(path: &Path) {
    let is_file = std::fs::metadata(path).is_ok_and(|about| about.is_file());
    let Some(file) = is_file.then(|| std::fs::File::open(path).ok()).flatten() else { return };
    let mut bytes = Vec::new();
    // A header that the limit cuts is one secret less of very many.
    if file.take(READ_MAX).read_to_end(&mut bytes).is_ok() {
        text(&String::from_utf8_lossy(&bytes));
    }
}

fn with(learn: impl FnOnce(&mut KnownSecrets)) {
    let is_full = {
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        learn(&mut known);
        known.is_full()
    };
    if is_full && !SAID.swap(true, Ordering::Relaxed) {
        eprintln!("note: {FULL}");
    }
}

/// Whether the message [`FULL`] was printed.
static SAID: AtomicBool = AtomicBool::new(false);

/// The number is the limit of `known`.
const FULL: &str =
    "more than 20 000 secret values: those beyond are masked only by how they are written";

/// Learns a value into `known`, if its name or its form makes it a secret.
pub fn named_into(known: &mut KnownSecrets, name: &str, value: &str) {
    // The name of a variable in a file: `DB_PASS of .env`.
    let name = name.split(" of ").next().unwrap_or_default();
    // `PWD` is the working directory of a shell.
    let is_secret = secrecy_of(name).is_some()
        && !["PWD", "OLDPWD"].contains(&name)
        && (!is_weak(name) || is_token(value));
    if is_secret {
        header_into(known, name, value);
        known.add(value);
    }
    text_into(known, value);
}

/// Learns a header. Each cookie is a secret by itself, and so is the word after `Bearer`.
fn header_into(known: &mut KnownSecrets, name: &str, value: &str) {
    let value = value.trim();
    match secrecy_of(name) {
        None => return text_into(known, value),
        Some(Secrecy::Line) if name.to_ascii_lowercase().ends_with("cookie") => {
            for pair in value.split(';') {
                known.add(
                    pair.split_once('=').map_or(pair, |(_, value)| value).trim_matches([' ', '"']),
                );
            }
        }
        Some(_) => {}
    }
    known.add(value);
    let Some((scheme, word)) = value.split_once(' ') else { return };
    if ["basic", "bearer", "digest", "token", "negotiate", "apikey"]
        .contains(&scheme.to_ascii_lowercase().as_str())
    {
        known.add(word);
        let pair = STANDARD.decode(word.trim()).ok().and_then(|pair| String::from_utf8(pair).ok());
        if let Some((_, password)) = pair.as_deref().and_then(|pair| pair.split_once(':')) {
            known.add(password);
        }
    }
}

/// Learns what `shapes` would mask, without quotes. From `user:word` in a URL it also learns the
/// word.
fn text_into(known: &mut KnownSecrets, text: &str) {
    let places = if text.len() <= DECODED_MAX { shapes::places } else { shapes::plain_places };
    for place in places(text) {
        let value = &text[place.clone()];
        let is_userinfo = text[..place.start].ends_with("://");
        if is_userinfo {
            let password = value.split_once(':').map_or(value, |(_, password)| password);
            known.add(password);
            known.add(value);
            continue;
        }
        let plain = unquoted(value);
        // This may be a list of cookies, or the end of a line of traffic.
        let plain = plain.trim_end_matches([']', ',', ';', ' ', '\r']);
        if plain.contains("; ") || plain.contains(' ') {
            header_into(known, "Authorization", plain);
        }
        if plain.contains('=') && is_of_cookie(&text[..place.start]) {
            header_into(known, "Cookie", plain);
        }
        // `${NAME}`, a block of YAML, a list: not the value itself. A hash begins with a dollar, too.
        match plain.starts_with(['$', '|', '>', '{', '[']) && !is_hash(plain) {
            false => known.add(plain),
            true => {
                quoted_texts(plain).filter(|text| is_token(text)).for_each(|one| known.add(one))
            }
        }
    }
}

/// The quoted texts of a list or an object under a secret's name.
fn quoted_texts(list: &str) -> impl Iterator<Item = &str> {
    // Every other part stands between quotes.
    list.split('"').skip(1).step_by(2).map(|text| text.trim_end_matches('\\'))
}

fn is_of_cookie(before: &str) -> bool {
    let name = before.trim_end_matches([' ', '"', '\'', '\\', ':', '=', '>']);
    name.get(name.len().saturating_sub(6)..).is_some_and(|end| end.eq_ignore_ascii_case("cookie"))
}

fn unquoted(value: &str) -> &str {
    let value = value.trim().trim_start_matches('\\').trim_end_matches(',');
    for quote in ["\"", "'"] {
        if let Some(inside) = value.strip_prefix(quote) {
            let inside = inside.strip_suffix(quote).unwrap_or(inside);
            return inside.trim_end_matches('\\');
        }
    }
    value
}

/// A longer text is a request file, in which values have their names beside them.
const DECODED_MAX: usize = 1 << 20;
/// As much as a file with many users has.
const READ_MAX: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_flags_and_headers_are_learnt() {
        let mut known = KnownSecrets::new();
        header_into(&mut known, "Cookie", "SID=abcdefgh1; theme=midnight9");
        header_into(&mut known, "Authorization", "Basic dXNlcjpodW50ZXIyMg==");
        text_into(&mut known, "mysql://joe:pa%2Fss999@db/x?a=1&token=tokentok1;auth=\"authauth1\"");
        of_flag(&mut known, "--login", "ann:loginlogin1");
        of_flag(&mut known, "--login", "/index.php?title=Special:UserLogin");
        named_into(&mut known, "DB_PASS", "hunter 2 hunter");
        named_into(&mut known, "COMPOSER_AUTH", r#"{"github-oauth":{"a.test":"composer-auth-1"}}"#);
        text_into(&mut known, "/?next=%2Fin%3Ftoken%3Dnested-token-1%26a%3D1");
        named_into(&mut known, "PWD", "/srv/www/app");
        // Base64 of a text that ends with the hash.
        let hash = "$2y$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234";
        named_into(&mut known, "ADMIN_HASH", hash);
        let coded = STANDARD.encode(format!("user:{hash}"));
        assert!(!known.mask(&coded).contains(&coded[20..40]), "{}", known.mask(&coded));
        let left = "abcdefgh1 midnight9 dXNlcjpodW50ZXIyMg== hunter22 pa/ss999 pa%2Fss999 tokentok1 authauth1 loginlogin1 composer-auth-1 nested-token-1";
        let masked = known.mask(left).into_owned();
        assert!(masked.split(' ').all(|word| word == "***"), "{masked}");
        let plain = "/srv/www/app joe hunter /index.php?title=Special:UserLogin";
        assert_eq!(known.mask(plain), plain);
    }
}
