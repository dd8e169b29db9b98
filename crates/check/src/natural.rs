//! Splits an answer's text into tokens: words, white space, marks, and forms that vary by nature,
//! such as times and ids.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// A token: a piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Index of its first byte.
    pub start: usize,
    /// Index after its last byte.
    pub end: usize,
    /// Key that equal tokens share; all tokens of one natural form have the same key.
    pub key: u64,
    /// The kind of token.
    pub kind: TokenKind,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Letters, digits, `_`.
    Word,
    /// White space.
    Space,
    /// A single other character.
    Mark,
    /// A user's token that stampede planted: it is never masked.
    User,
    /// A form that may differ between answers.
    Natural(VolatileForm),
}

/// Forms that vary by nature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VolatileForm {
    /// Hexadecimal digits in groups of 8-4-4-4-12.
    Uuid,
    /// `2026-11-22`, `2026/11/22`, `22.11.2026`, `22/11/2026`; the number is the separator's byte.
    Date(u8),
    /// `Sun, 22 Nov 2026` and `Sun, 22-Nov-2026`.
    Day,
    /// `16:35` (2 parts), or `16:35:34` with or without a fraction (3). The zone behind it is a
    /// separate word.
    Time(u8),
    /// Seconds since 1970, with or without a fraction; the number is the whole seconds.
    Seconds(u64),
    /// Milliseconds since 1970.
    Millis(u64),
    /// `12 ms`, `0.0123 s`.
    Duration,
    /// This many hexadecimal digits.
    Hex(usize),
    /// A word that looks random: base64, base62.
    Opaque,
}

impl Token {
    /// Returns whether `other` means the same, apart from what varies by nature.
    pub fn is_same(&self, other: &Token) -> bool {
        let near = |one: u64, other: u64, reach: u64| one.abs_diff(other) <= reach;
        self.key == other.key
            && match (self.kind, other.kind) {
                (
                    TokenKind::Natural(VolatileForm::Seconds(one)),
                    TokenKind::Natural(VolatileForm::Seconds(other)),
                ) => near(one, other, TWO_DAYS),
                (
                    TokenKind::Natural(VolatileForm::Millis(one)),
                    TokenKind::Natural(VolatileForm::Millis(other)),
                ) => near(one, other, TWO_DAYS * 1_000),
                _ => true,
            }
    }

    /// Returns its text.
    pub fn of<'t>(&self, text: &'t str) -> &'t str {
        &text[self.start..self.end]
    }

    /// Returns whether it looks random, so that it may look like something else by chance.
    pub fn is_random(&self) -> bool {
        matches!(self.kind, TokenKind::Natural(VolatileForm::Hex(_) | VolatileForm::Opaque))
    }

    /// Returns whether it is a word or a form in place of a word.
    pub fn is_word(&self) -> bool {
        !matches!(self.kind, TokenKind::Space | TokenKind::Mark)
    }
}

/// Times of one check are closer together than this, and times in an app's data are not.
const TWO_DAYS: u64 = 2 * 86_400;

/// Returns the tokens of a text. Binary content, such as an image, is one token between users'
/// tokens.
pub fn tokens(text: &str) -> Vec<Token> {
    let is_binary = is_binary(text);
    let mut found = Vec::new();
    let mut add = |part: Range<usize>| match is_binary {
        true if part.is_empty() => {}
        true => found.push(literal(text, part, TokenKind::Word)),
        false => Tokenizer {
            text,
            at: part.start,
            end: part.end,
            found: &mut found,
            after: PrecedingToken::Else,
        }
        .run(),
    };
    let mut last = 0;
    let mut of_users = Vec::new();
    for user in user_tokens(text) {
        add(last..user.start);
        of_users.push(literal(text, user.clone(), TokenKind::User));
        last = user.end;
    }
    add(last..text.len());
    found.extend(of_users);
    found.sort_by_key(|token| token.start);
    found
}

/// Returns where users' tokens are: `stmpd` and twelve letters or digits, in upper or lower case.
pub fn user_tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + bytes[from..].iter().position(|byte| matches!(byte, b's' | b'S'))?;
            let all = at..at + USER.len() + USER_LENGTH;
            let is_one = bytes.get(all.clone()).is_some_and(|here| {
                here[..USER.len()].eq_ignore_ascii_case(USER)
                    && here.iter().all(u8::is_ascii_alphanumeric)
            });
            from = if is_one { all.end } else { at + 1 };
            if is_one {
                return Some(all);
            }
        }
    })
}

const USER: &[u8] = b"stmpd";
const USER_LENGTH: usize = 12;

/// Returns whether more than one byte in twenty is none of a text: an image, or compressed data.
fn is_binary(text: &str) -> bool {
    let strange = |c: &char| {
        *c == char::REPLACEMENT_CHARACTER || (c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
    };
    text.chars().filter(strange).count() * 20 > text.len()
}

fn literal(text: &str, part: Range<usize>, kind: TokenKind) -> Token {
    let key = hash(&text[part.clone()]);
    Token { start: part.start, end: part.end, key, kind }
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// What precedes the next token.
#[derive(Clone, Copy, PartialEq)]
enum PrecedingToken {
    /// A date: `T` and a time may follow.
    Date,
    /// A time: its zone may follow.
    Time,
    /// A time followed by white space.
    TimeAndSpace,
    Else,
}

/// Splits a part of a text.
struct Tokenizer<'t, 'f> {
    text: &'t str,
    at: usize,
    end: usize,
    found: &'f mut Vec<Token>,
    after: PrecedingToken,
}

impl Tokenizer<'_, '_> {
    fn run(mut self) {
        while self.at < self.end {
            self.next();
        }
    }

    fn next(&mut self) {
        let rest = &self.text[self.at..self.end];
        let bytes = rest.as_bytes();
        let after = std::mem::replace(&mut self.after, PrecedingToken::Else);
        if matches!(after, PrecedingToken::Time | PrecedingToken::TimeAndSpace)
            && let Some(length) = zone(bytes)
        {
            return self.push(length, TokenKind::Word);
        }
        if after == PrecedingToken::Date && bytes[0] == b'T' && time(&bytes[1..]).is_some() {
            return self.push(1, TokenKind::Mark);
        }
        let Some(first) = rest.chars().next() else { return };
        if first.is_whitespace() {
            let length = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
            self.push(length, TokenKind::Space);
            if after == PrecedingToken::Time {
                self.after = PrecedingToken::TimeAndSpace;
            }
        } else if is_of_word(first) {
            let word = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
            match natural(bytes, word) {
                Some((form, length)) => self.push(length, TokenKind::Natural(form)),
                None => self.push(word, TokenKind::Word),
            }
        } else {
            self.push(first.len_utf8(), TokenKind::Mark);
        }
    }

    fn push(&mut self, length: usize, kind: TokenKind) {
        let part = self.at..self.at + length;
        self.at = part.end;
        self.found.push(match kind {
            TokenKind::Natural(form) => {
                let same = match form {
                    VolatileForm::Seconds(_) => VolatileForm::Seconds(0),
                    VolatileForm::Millis(_) => VolatileForm::Millis(0),
                    form => form,
                };
                self.after = match form {
                    VolatileForm::Date(_) => PrecedingToken::Date,
                    VolatileForm::Time(_) => PrecedingToken::Time,
                    _ => PrecedingToken::Else,
                };
                Token { start: part.start, end: part.end, key: hash(("form", same)), kind }
            }
            _ => literal(self.text, part, kind),
        });
    }
}

fn is_of_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Returns the form at the beginning of `bytes`, and its length. The first `word` bytes are a word.
fn natural(bytes: &[u8], word: usize) -> Option<(VolatileForm, usize)> {
    uuid(bytes)
        .map(|length| (VolatileForm::Uuid, length))
        .or_else(|| date(bytes))
        .or_else(|| day(bytes))
        .or_else(|| time(bytes))
        .or_else(|| moment(bytes))
        .or_else(|| duration(bytes))
        .or_else(|| random(&bytes[..word]).map(|form| (form, word)))
}

/// Returns how many bytes of a kind a text begins with.
fn count(bytes: &[u8], is: impl Fn(&u8) -> bool) -> usize {
    bytes.iter().position(|byte| !is(byte)).unwrap_or(bytes.len())
}

/// Returns whether a word ends before `at`.
fn ends(bytes: &[u8], at: usize) -> bool {
    bytes
        .get(at)
        .is_none_or(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | 0x80..)))
}

/// Returns the number of `digits` digits at `at`. Further digits after them do not matter.
fn number(bytes: &[u8], at: usize, digits: usize) -> Option<u64> {
    let part = bytes.get(at..at + digits)?;
    part.iter()
        .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0')))
}

fn uuid(bytes: &[u8]) -> Option<usize> {
    let here = bytes.get(..36)?;
    let fits = here.iter().enumerate().all(|(i, byte)| match i {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    (fits && ends(bytes, 36)).then_some(36)
}

fn date(bytes: &[u8]) -> Option<(VolatileForm, usize)> {
    let year = |at| number(bytes, at, 4).filter(|year| (1900..2200).contains(year));
    let month = |at| number(bytes, at, 2).filter(|month| (1..=12).contains(month));
    let day = |at| number(bytes, at, 2).filter(|day| (1..=31).contains(day));
    let marks = |one: usize, other: usize| {
        (bytes.get(one) == bytes.get(other)).then(|| bytes.get(one).copied()).flatten()
    };
    // `T` and a time may follow directly.
    let is_end = ends(bytes, 10) || (bytes[10] == b'T' && time(&bytes[11..]).is_some());
    if !is_end {
        return None;
    }
    if year(0).is_some() && month(5).is_some() && day(8).is_some() {
        let mark = marks(4, 7).filter(|mark| matches!(mark, b'-' | b'/'))?;
        return Some((VolatileForm::Date(mark), 10));
    }
    let either =
        (day(0).is_some() && month(3).is_some()) || (month(0).is_some() && day(3).is_some());
    let mark = marks(2, 5).filter(|mark| matches!(mark, b'.' | b'/'))?;
    (either && year(6).is_some()).then_some((VolatileForm::Date(mark), 10))
}

/// Reads the date of RFC 9110 and that of cookies, up to the year.
fn day(bytes: &[u8]) -> Option<(VolatileForm, usize)> {
    let is_one_of = |at: usize, of: &[&str]| {
        bytes.get(at..at + 3).is_some_and(|here| of.iter().any(|name| name.as_bytes() == here))
    };
    let mark = |at: usize, marks: &[u8]| bytes.get(at).is_some_and(|byte| marks.contains(byte));
    let fits = is_one_of(0, &["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
        && bytes.get(3..5) == Some(b", ")
        && number(bytes, 5, 2).is_some()
        && mark(7, b" -")
        && is_one_of(
            8,
            &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
        )
        && mark(11, b" -")
        && number(bytes, 12, 4).is_some();
    (fits && ends(bytes, 16)).then_some((VolatileForm::Day, 16))
}

fn time(bytes: &[u8]) -> Option<(VolatileForm, usize)> {
    let below = |at, end| number(bytes, at, 2).filter(|number| *number < end);
    let colon = |at: usize| bytes.get(at) == Some(&b':');
    // A zone may follow directly: `Z`.
    let is_end = |at| ends(bytes, at) || (bytes[at] == b'Z' && ends(bytes, at + 1));
    below(0, 24).filter(|_| colon(2))?;
    below(3, 60)?;
    if !colon(5) {
        return is_end(5).then_some((VolatileForm::Time(2), 5));
    }
    below(6, 61)?;
    let fraction = match bytes.get(8) {
        Some(b'.' | b',') => count(&bytes[9..], u8::is_ascii_digit),
        _ => 0,
    };
    let length = if fraction > 0 { 9 + fraction } else { 8 };
    is_end(length).then_some((VolatileForm::Time(3), length))
}

/// Reads a zone: `Z`, `+01:00`, `-0500`.
fn zone(bytes: &[u8]) -> Option<usize> {
    if bytes[0] == b'Z' && ends(bytes, 1) {
        return Some(1);
    }
    number(bytes, 1, 2).filter(|_| matches!(bytes[0], b'+' | b'-'))?;
    let length = match bytes.get(3) {
        Some(b':') => 6,
        _ => 5,
    };
    number(bytes, length - 2, 2).filter(|_| ends(bytes, length)).map(|_| length)
}

/// Reads seconds and milliseconds since 1970, for the years 2001 to 2039.
fn moment(bytes: &[u8]) -> Option<(VolatileForm, usize)> {
    match count(bytes, u8::is_ascii_digit) {
        10 => {
            let seconds = number(bytes, 0, 10).filter(|seconds| *seconds < 2_200_000_000)?;
            let fraction = match bytes.get(10) {
                Some(b'.') => count(&bytes[11..], u8::is_ascii_digit),
                _ => 0,
            };
            let length = if fraction > 0 { 11 + fraction } else { 10 };
            let is_moment = seconds >= 1_000_000_000 && ends(bytes, length);
            is_moment.then_some((VolatileForm::Seconds(seconds), length))
        }
        13 if ends(bytes, 13) => {
            let millis = number(bytes, 0, 13)?;
            let range = 1_000_000_000_000..2_200_000_000_000;
            range.contains(&millis).then_some((VolatileForm::Millis(millis), 13))
        }
        _ => None,
    }
}

fn duration(bytes: &[u8]) -> Option<(VolatileForm, usize)> {
    let mut length = count(bytes, u8::is_ascii_digit);
    if length == 0 {
        return None;
    }
    if bytes.get(length) == Some(&b'.') {
        length += 1 + count(&bytes[length + 1..], u8::is_ascii_digit);
    }
    length += usize::from(bytes.get(length) == Some(&b' '));
    let unit = count(&bytes[length..], |byte| byte.is_ascii_alphabetic() || *byte >= 0x80);
    let is_unit = UNITS.iter().any(|name| name.as_bytes() == &bytes[length..length + unit]);
    (is_unit && ends(bytes, length + unit)).then_some((VolatileForm::Duration, length + unit))
}

const UNITS: [&str; 12] = [
    "ms",
    "s",
    "us",
    "µs",
    "ns",
    "sec",
    "secs",
    "second",
    "seconds",
    "msec",
    "millisecond",
    "milliseconds",
];

/// Returns the form of a word that looks random; `None` if it does not.
fn random(word: &[u8]) -> Option<VolatileForm> {
    let has = |is: fn(&u8) -> bool| word.iter().any(is);
    let is_hex = word.iter().all(u8::is_ascii_hexdigit)
        && !(has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase));
    if word.len() >= HEX && is_hex {
        return Some(VolatileForm::Hex(word.len()));
    }
    let is_mixed =
        has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    if word.len() < OPAQUE || !word.is_ascii() || !is_mixed {
        return None;
    }
    let class = |byte: &u8| (byte.is_ascii_lowercase(), byte.is_ascii_uppercase());
    let changes = word.windows(2).filter(|two| class(&two[0]) != class(&two[1])).count();
    // In random base64, two neighbours differ in class in 65 of 100 cases; in
    // `HelloWorld2026ArticleTitle` in 32.
    (changes * 20 >= word.len() * 9).then_some(VolatileForm::Opaque)
}

/// Fewest hexadecimal digits (64 bits): shorter ones are colours and commit hashes.
const HEX: usize = 16;
/// Fewest characters of an opaque word: shorter ones may be names.
const OPAQUE: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each token's text, with natural forms in brackets.
    fn read(text: &str) -> String {
        let shown = |token: &Token| match token.kind {
            TokenKind::Natural(form) => format!("[{form:?}]"),
            TokenKind::User => format!("<{}>", token.of(text)),
            _ => token.of(text).to_owned(),
        };
        tokens(text).iter().map(shown).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn volatile_forms_are_recognized() {
        for (text, expected) in [
            ("2026-11-22", "[Date(45)]"),
            ("2026-11-22T16:35:34+00:00", "[Date(45)]|T|[Time(3)]|+00:00"),
            ("2026-11-22T16:35:34.123Z!", "[Date(45)]|T|[Time(3)]|Z|!"),
            ("2026-11-22 16:35 UTC", "[Date(45)]| |[Time(2)]| |UTC"),
            ("Sun, 22 Nov 2026 16:35:34 GMT", "[Day]| |[Time(3)]| |GMT"),
            ("Sun, 22 Nov 2026 16:35:34 +0100", "[Day]| |[Time(3)]| |+0100"),
            ("22.11.2026", "[Date(46)]"),
            ("1795365334", "[Seconds(1795365334)]"),
            ("1795365334.1234", "[Seconds(1795365334)]"),
            ("1795365334123", "[Millis(1795365334123)]"),
            ("0f8fad5b-d9cb-469f-a165-70867728950e", "[Uuid]"),
            ("d41d8cd98f00b204e9800998ecf8427e", "[Hex(32)]"),
            ("aB3dE5fG7hI9jK1lM3nO", "[Opaque]"),
            ("12 ms, 0.0123 s", "[Duration]|,| |[Duration]"),
        ] {
            assert_eq!(read(text), expected);
        }
    }

    #[test]
    fn text_that_only_resembles_a_volatile_form_is_text() {
        for (text, expected) in [
            ("2026-13-22", "2026|-|13|-|22"),
            ("25:61", "25|:|61"),
            ("build/assets/App2Controller", "build|/|assets|/|App2Controller"),
            ("HelloWorld2026ArticleTitleX", "HelloWorld2026ArticleTitleX"),
            ("0234567890", "0234567890"),
            ("12 monkeys", "12| |monkeys"),
            ("d41d8cd9", "d41d8cd9"),
            ("grüße_1", "grüße_1"),
            ("v1.2.3", "v1|.|2|.|3"),
        ] {
            assert_eq!(read(text), expected);
        }
    }

    #[test]
    fn a_users_token_is_found_anywhere() {
        let token = "stmpd0123456789ab";
        assert_eq!(read(&format!("Hello {token}!")), format!("Hello| |<{token}>|!"));
        assert_eq!(read(&format!("x_{token}_y")), format!("x_|<{token}>|_y"));
        assert_eq!(read(&token.to_uppercase()), format!("<{}>", token.to_uppercase()));
        let image = format!("{}{token}{}", "\u{fffd}\u{1}P".repeat(40), "\u{fffd}".repeat(9));
        let kinds: Vec<TokenKind> = tokens(&image).iter().map(|token| token.kind).collect();
        assert_eq!(kinds, [TokenKind::Word, TokenKind::User, TokenKind::Word]);
        assert_eq!(read("ss stmpd stmpd012"), "ss| |stmpd| |stmpd012");
    }

    #[test]
    fn distant_times_are_not_the_same() {
        let same = |one: &str, other: &str| tokens(one)[0].is_same(&tokens(other)[0]);
        assert!(same("1795365334", "1795365399"));
        assert!(same("1795365334.5", "1795365399"));
        assert!(!same("1795365334", "1795865334"));
        assert!(same("1795365334123", "1795365399123"));
        assert!(!same("1795365334123", "1796365334123"));
        assert!(!same("1795365334", "1795365334123"));
    }
}
