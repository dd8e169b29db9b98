//! Where the value of a name begins and ends, and whether it is a secret at all.

use super::names::Secrecy;
use super::ordinary::is_path;

/// Words before a name and its value that are separated only by blanks: in Apache, nginx, Caddy and
/// shells.
const DIRECTIVES: [&str; 20] = [
    "setenv",
    "fastcgi_param",
    "uwsgi_param",
    "scgi_param",
    "proxy_set_header",
    "more_set_input_headers",
    "more_set_headers",
    "add_header",
    "env",
    "arg",
    "export",
    "header set",
    "header add",
    "header append",
    "set $",
    "set -x",
    "set -gx",
    "header_up",
    "php_value",
    "php_admin_value",
];

/// Longer than each directive with the character before it.
const NEAR: usize = 40;

/// Between a name and its value, the longest first: of PHP, make, shells, SQL and Go.
const SIGNS: [&str; 11] = ["===", "!==", "??=", "=>", "==", "!=", ":=", "?=", "+=", ".=", "="];

/// What may close a name before such a sign, also as a URL or a page writes it.
const CLOSERS: [&str; 12] =
    ["[]", "\\", "\"", "'", "]", ")", "%5B%5D", "%5b%5d", "%5D", "%5d", "%22", "&quot;"];

/// Whether a text begins with a flag: `--user`, `-u`. A password may begin with a hyphen, too.
fn is_flag(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.starts_with("--") || word.starts_with('-') && word.len() <= 2
}

/// Returns where the value begins after a name; `None` if no value follows.
pub(super) fn start(behind: &str, secrecy: Secrecy, name: &str, ahead: &str) -> Option<usize> {
    let blank = |c: char| c == ' ' || c == '\t';
    let closed = without_closers(behind);
    let is_quoted = closed.len() < behind.len() && ahead.ends_with(['"', '\'']);
    let closed = closed.trim_start_matches(blank);
    let separated = match SIGNS.iter().find_map(|sign| closed.strip_prefix(sign)) {
        Some(separated) => separated,
        None => match one_colon(closed).or_else(|| as_pair(closed).filter(|_| is_quoted)) {
            Some(separated) => separated,
            None if secrecy == Secrecy::NextWord
                || name.starts_with('-')
                || is_after_directive(ahead) =>
            {
                // Another flag is no value of this one.
                behind.strip_prefix(blank).filter(|value| !is_flag(value.trim_start()))?
            }
            None => return None,
        },
    };
    Some(behind.len() - separated.trim_start_matches(blank).len())
}

fn without_closers(behind: &str) -> &str {
    let mut rest = behind;
    while let Some(behind) = CLOSERS.iter().find_map(|closer| rest.strip_prefix(closer)) {
        rest = behind;
    }
    rest
}

/// Whether the name comes after one of the [`DIRECTIVES`].
fn is_after_directive(ahead: &str) -> bool {
    let blank = |c: char| c == ' ' || c == '\t';
    let near = (ahead.len().saturating_sub(NEAR)..).find(|at| ahead.is_char_boundary(*at));
    let ahead = ahead[near.unwrap_or(0)..].trim_end_matches(['"', '\'']).trim_end_matches(blank);
    let ahead = ahead.to_ascii_lowercase();
    DIRECTIVES.iter().any(|directive| {
        ahead.strip_suffix(directive).is_some_and(|rest| {
            !rest.ends_with(char::is_alphanumeric)
                || directive.starts_with("header ") && rest.ends_with("request")
        })
    })
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
    let is_text = next.starts_with(['"', '\'', '\\']) && !is_name(next);
    is_text.then_some(next)
}

/// Whether a quoted text is the name of another field.
fn is_name(text: &str) -> bool {
    let length = quoted(text).unwrap_or(0);
    length > 0 && text[length..].trim_start().starts_with(':')
}

/// The length of a tag or an anchor of YAML (`!!str`, `&name`) before the value.
fn tag(value: &str, around: &Surroundings<'_>) -> usize {
    let is_yaml = around.sign.contains(':') && value.starts_with(['!', '&']);
    let tag = value.find(' ').filter(|end| is_yaml && !value[..*end].contains(['"', '\'', '=']));
    tag.map_or(0, |end| value.len() - value[end..].trim_start_matches(' ').len())
}

/// The length of `string(7) ` before a text that `var_dump` shows.
fn dumped(value: &str) -> usize {
    let behind = value.strip_prefix("string(").and_then(|rest| rest.split_once(") "));
    behind
        .filter(|(digits, _)| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .map_or(0, |(digits, _)| "string(".len() + digits.len() + ") ".len())
}

/// What stands around a value.
pub(super) struct Surroundings<'a> {
    /// The line before the name.
    pub ahead: &'a str,
    /// The name.
    pub name: &'a str,
    /// From the name's end to the value's begin.
    pub sign: &'a str,
}

/// Returns the length of a value, including its quotes.
pub(super) fn length(value: &str, secrecy: Secrecy, around: &Surroundings<'_>) -> usize {
    let tag = tag(value, around).max(dumped(value));
    tag + of_untagged(&value[tag..], secrecy, around)
}

fn of_untagged(value: &str, secrecy: Secrecy, around: &Surroundings<'_>) -> usize {
    let prefix = value.len() - value.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
    let is_prefixed = prefix <= 2 && value[prefix..].starts_with(['"', '\'']);
    let before = if is_prefixed { prefix } else { 0 };
    if let Some(length) = quoted(&value[before..]) {
        return continued(value, before + length);
    }
    if value.starts_with(['{', '[']) && secrecy == Secrecy::Value {
        return bracketed(value);
    }
    if secrecy == Secrecy::Line {
        return line(value, around);
    }
    let is_variable = around.ahead.trim_start().trim_start_matches("export ").is_empty()
        && around.sign == "="
        && around.name.bytes().all(|byte| !byte.is_ascii_lowercase());
    let is_in_backticks = around.ahead.matches('`').count() % 2 == 1;
    let ends = |c: char| {
        c.is_whitespace()
            || !is_variable && ",;&\"'<>)]}".contains(c)
            || c == '`' && is_in_backticks
    };
    value.find(ends).unwrap_or(value.len())
}

/// The length of a quoted text with its quotes; `None`: `value` begins with no quote. An escaped quote
/// opens a value inside quoted text (JSON in a log). Only an escaped quote closes it.
fn quoted(value: &str) -> Option<usize> {
    let escapes = value.len() - value.trim_start_matches('\\').len();
    let quote = value[escapes..].chars().next().filter(|c| "\"'".contains(*c))?;
    let closing = format!("{}{quote}", &value[..escapes]);
    let open = closing.len();
    let mut from = open;
    while let Some(found) = value[from..].find(&closing) {
        let end = from + found;
        let doubled = value[end + open..].starts_with(&closing); // as in YAML and SQL
        let escaped = escapes == 0 && value[..end].ends_with('\\');
        if !doubled && !escaped {
            return Some(end + open);
        }
        from = end + open + if doubled { open } else { 0 };
    }
    Some(value.len())
}

/// The length of a word of a shell whose first quoted part is so long: `'it'\''s'`, `"a"b`.
fn continued(value: &str, first: usize) -> usize {
    let mut length = first;
    while let Some(rest) = value.get(length..) {
        let joins = |c: char| c.is_alphanumeric() || "_$\"'".contains(c);
        length += match rest.chars().next() {
            Some('\\') if rest[1..].starts_with(['\'', '"']) => 2,
            Some('"' | '\'') => quoted(rest).unwrap_or(rest.len()),
            Some(letter) if joins(letter) => letter.len_utf8(),
            _ => break,
        };
    }
    length
}

/// The length of a list or an object, up to the bracket that closes it.
fn bracketed(value: &str) -> usize {
    let mut depth = 0_u32;
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in value.char_indices() {
        match letter {
            '\\' => {
                escaped = !escaped;
                continue;
            }
            '"' | '\'' if quote == Some((letter, escaped)) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some((letter, escaped)),
            '{' | '[' if quote.is_none() => depth += 1,
            '}' | ']' if quote.is_none() => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            '\n' => return at,
            _ => {}
        }
        escaped = false;
    }
    value.len()
}

/// The length of a header. It ends with the quoted text that it stands in, and otherwise with the line:
/// it may have quoted parts of its own (`Digest username="…"`).
fn line(value: &str, around: &Surroundings<'_>) -> usize {
    let end = value.find('\n').unwrap_or(value.len());
    let ahead = around.ahead;
    if around.sign.contains('"') && value.starts_with(super::MASK) {
        // A field of JSON that is masked already.
        return super::MASK.len();
    }
    let opened = ahead.chars().next_back().filter(|letter| "'`".contains(*letter));
    let in_quotes = || ahead.matches('"').count() - ahead.matches("\\\"").count();
    let closing = opened.or_else(|| (in_quotes() % 2 == 1).then_some('"'));
    let Some(closing) = closing else { return end };
    let is_closed = |at: &usize| value[*at..].starts_with(closing) && !value[..*at].ends_with('\\');
    (0..end).find(|at| value.is_char_boundary(*at) && is_closed(at)).unwrap_or(end)
}

/// Whether a value at the place of a secret is none: a mere switch, or the absolute path of something
/// that is here, such as the file with the secret. Readers want to see it, and a stored flag is read again.
pub(super) fn is_public(value: &str) -> bool {
    let plain = value.trim_matches(|c: char| "\\\"' ".contains(c));
    SWITCHES.contains(&plain.to_ascii_lowercase().as_str())
        || plain.starts_with('/') && is_path(plain)
}

/// Whether a value behind a flag says what is to be written there: `--cookie NAME=VALUE`. Hints have
/// such values.
pub(super) fn is_placeholder(name: &str, value: &str) -> bool {
    let plain = value.trim_matches(|c: char| "\"'` ".contains(c));
    let words = || plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_of_flag = || words().all(|word| PLACEHOLDERS.contains(&word)) || ends_in_one(plain);
    plain == "…" || value.starts_with("`--") || name.starts_with("--") && is_of_flag()
}

/// Whether only the password is left out: `ann:PASSWORD`.
pub(super) fn ends_in_one(value: &str) -> bool {
    value
        .trim_end_matches(['`', ',', '.', ')'])
        .rsplit_once(':')
        .is_some_and(|(_, last)| last == "PASSWORD")
}

const PLACEHOLDERS: [&str; 11] =
    ["NAME", "VALUE", "USER", "PASSWORD", "FILE", "PATH", "URL", "TOKEN", "KEY", "HOST", "TEXT"];

/// Whether a value looks like a token and not like a word: it has letters and digits, or
/// punctuation, or is long.
pub(super) fn is_token(value: &str) -> bool {
    let plain = value.trim_matches(|c: char| "\\\"'` ".contains(c));
    let has = |is_one: fn(&char) -> bool| plain.chars().any(|letter| is_one(&letter));
    let has_digit = has(char::is_ascii_digit);
    let is_odd = has(|letter| !letter.is_alphanumeric() && !"_-., :/".contains(*letter));
    plain.chars().count() >= 16 || has_digit && has(|letter| letter.is_alphabetic()) || is_odd
}

/// The last are an empty list, and signs before a block of YAML.
const SWITCHES: [&str; 17] = [
    "", "0", "1", "true", "false", "on", "off", "yes", "no", "null", "none", "***", "{}", "[]",
    "|", "|-", "|+",
];
