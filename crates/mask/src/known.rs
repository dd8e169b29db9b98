//! Masks values that are known to be secrets.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::encodings::{View, for_each_view};
use super::names::Secrecy;
use super::ordinary::is_distinctive;
use super::search::{Forms, HEAD};
use super::value::{self, is_public};
use super::{MASK, own, shapes};

/// Highest number of values. A request file may have a token for each of a million users.
const VALUES_MAX: usize = 20_000;
/// Highest number of bytes of all values. Their Base64 takes about twenty times as much memory.
const BYTES_MAX: usize = 4 << 20;
/// A longer value is not a secret, but may be a body.
const LONGEST: usize = 64 << 10;
/// A longer value is searched for in pieces, so that little of a stream must be held back.
const PIECE: usize = 1 << 10;

/// Secrets that are known by value.
#[derive(Clone, Debug, Default)]
pub struct KnownSecrets {
    values: BTreeSet<String>,
    /// Bytes of all values.
    bytes: usize,
    /// The values and their Base64. They are masked wherever they appear.
    forms: Forms,
    /// Values that also occur in other texts. They are masked only at a secret's place.
    ordinary: BTreeSet<String>,
    /// Those of them that are stampede's own words. They are masked in text that others wrote.
    own: BTreeSet<String>,
    /// Names of fields of forms and of cookies with such a value. It is masked behind its name, which
    /// does not sound secret.
    beside: BTreeSet<(String, String)>,
    /// Words that everybody may see here, such as the names of services, in lower case.
    public: BTreeSet<String>,
    /// Whether there were more values than are kept.
    is_full: bool,
}

impl KnownSecrets {
    /// An empty set.
    pub const fn new() -> KnownSecrets {
        KnownSecrets {
            values: BTreeSet::new(),
            bytes: 0,
            forms: Forms::new(),
            ordinary: BTreeSet::new(),
            own: BTreeSet::new(),
            beside: BTreeSet::new(),
            public: BTreeSet::new(),
            is_full: false,
        }
    }

    /// Adds a value, and each line of a value with several lines.
    pub fn add(&mut self, value: &str) {
        let value = value.trim();
        if self.values.contains(value) || value.len() > LONGEST {
            return;
        }
        if !is_distinctive(value) || self.is_in_public_word(value) {
            return self.add_ordinary(value);
        }
        if self.values.len() >= VALUES_MAX || self.bytes + value.len() > BYTES_MAX {
            self.is_full = true;
            return;
        }
        self.values.insert(value.to_owned());
        self.bytes += value.len();
        for piece in pieces(value) {
            for form in forms(piece) {
                self.forms.add(&form);
            }
        }
        if value.contains('\n') {
            let lines = value.lines().filter(|line| line.trim().len() >= HEAD);
            lines.for_each(|line| self.add(line));
        }
        let plain = percent_encoding::percent_decode_str(value).decode_utf8();
        if let Ok(plain) = plain
            && plain != value
        {
            self.add(&plain);
        }
    }

    /// Adds a word that everybody may see. A secret that is the word or a part of it is masked only at a secret's
    /// place, if it is added later.
    pub fn add_public(&mut self, word: &str) {
        if self.public.len() < VALUES_MAX {
            self.public.insert(word.to_lowercase());
        }
    }

    fn is_in_public_word(&self, value: &str) -> bool {
        let value = value.to_lowercase();
        self.public.iter().any(|word| word.contains(&value))
    }

    fn add_ordinary(&mut self, value: &str) {
        let is_none = is_public(value) || value.contains(MASK);
        if is_none || self.ordinary.len() >= VALUES_MAX {
            return;
        }
        self.ordinary.insert(value.to_owned());
        if own::is_own(value) && value.len() >= HEAD {
            self.own.insert(value.to_owned());
        }
    }

    /// Adds a value, and masks it behind `name` if it is masked nowhere else. For secrets under any
    /// name: the fields of a form that logs in, cookies.
    pub fn add_beside(&mut self, name: &str, value: &str) {
        self.add(value);
        let (name, value) = (name.trim(), value.trim());
        let is_free = self.ordinary.contains(value) && self.beside.len() < BESIDE_MAX;
        if is_free && name.len() >= BESIDE_NAME_MIN {
            self.beside.insert((name.to_owned(), value.to_owned()));
        }
    }

    /// Whether there were more values than are kept.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns `text` with `***` in place of the values. Overlapping values are masked together.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        with_masks(text, self.all_places(text))
    }

    /// Does the same for a text that others wrote, such as a log or an app's page. In such a text,
    /// a secret that is also a word of stampede's own is masked too.
    pub fn mask_foreign<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut places = self.all_places(text);
        if !self.own.is_empty() {
            places.extend(words(text).filter(|place| self.own.contains(&text[place.clone()])));
        }
        with_masks(text, places)
    }

    fn all_places(&self, text: &str) -> Vec<Range<usize>> {
        let mut places = self.ordinary_places(text);
        if !self.forms.is_empty() {
            for_each_view(text, |view| {
                self.forms.find(&view.bytes, |place| places.push(view.origin(&place)));
                self.cut_places(view, &mut places);
            });
        }
        places
    }

    /// Finds the whole values in `text`, however they are encoded.
    pub(super) fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut places = self.ordinary_places(text);
        if !self.forms.is_empty() {
            for_each_view(text, |view| {
                self.forms.find(&view.bytes, |place| places.push(view.origin(&place)));
            });
        }
        places
    }

    /// Finds the places of secrets that contain an ordinary value.
    fn ordinary_places(&self, text: &str) -> Vec<Range<usize>> {
        if self.ordinary.is_empty() {
            return Vec::new();
        }
        let beside = self.beside.iter().flat_map(|(name, value)| behind_name(text, name, value));
        let is_known = |place: &Range<usize>| {
            let value = &text[place.clone()];
            let plain = value.trim_matches(|letter: char| "\\\"' ".contains(letter));
            self.ordinary.contains(plain)
                || words(value).any(|word| self.ordinary.contains(&value[word]))
        };
        shapes::places(text).into_iter().filter(is_known).chain(beside).collect()
    }

    /// Finds what is left of a value beside one of [`CUTS`], and at the end of a text that may be
    /// cut without a mark.
    fn cut_places(&self, view: &View<'_>, places: &mut Vec<Range<usize>>) {
        let text = &*view.bytes;
        let mut marks: Vec<(usize, usize, usize)> = Vec::new();
        for (cut, remainder) in CUTS {
            let found = text.windows(cut.len()).enumerate();
            let found = found.filter(|(_, part)| *part == cut.as_bytes());
            marks.extend(found.map(|(at, _)| (at, cut.len(), remainder)));
        }
        marks.sort_unstable();
        // No remainder reaches beyond another mark, so each byte is looked at once.
        let mut from = 0;
        for (number, (mark, length, least)) in marks.iter().enumerate() {
            let behind = mark + length;
            let next = marks.get(number + 1).map_or(text.len(), |next| next.0.max(behind));
            if let Some(begin) = self.forms.begun_before(text, from, *mark, *least) {
                places.push(view.origin(&(begin..*mark)));
            }
            if let Some(end) = self.forms.ended_after(text, behind, next) {
                places.push(view.origin(&(behind..end)));
            }
            from = behind;
        }
        if text.len() >= SHORTEST_CUT
            && let Some(begin) = self.forms.begun_before(text, from, text.len(), END_REMAINDER)
        {
            places.push(view.origin(&(begin..text.len())));
        }
    }

    /// Finds the beginning of a value that the end of `text` cuts off.
    pub(super) fn begun_at_end(&self, text: &str) -> Option<Range<usize>> {
        let mut from = None;
        if !self.forms.is_empty() {
            for_each_view(text, |view| {
                let whole = &view.bytes[..view.whole];
                let begun = self.forms.begun_before(whole, 0, whole.len(), END_REMAINDER);
                let begun = begun.map(|at| view.origin_of(at));
                from = from.into_iter().chain(begun).min();
            });
        }
        from.map(|from| from..text.len())
    }

    /// Returns from where on `text` may be the beginning of a value, if more text follows it.
    pub(super) fn undecided_from(&self, text: &str) -> usize {
        let mut from = text.len();
        if self.forms.is_empty() {
            return from;
        }
        for_each_view(text, |view| {
            let whole = &view.bytes[..view.whole];
            let begun = self.forms.begun_before(whole, 0, whole.len(), 1);
            from = from.min(view.origin_of(begun.unwrap_or(view.whole)));
        });
        from
    }
}

/// Marks of a text that was cut, and the shortest remainder beside each that is taken for a part of a
/// value, in bytes: our own mark, and that of PHP, whose stack traces show 15 bytes of each argument.
const CUTS: [(&str, usize); 2] = [("…", 4), ("...", 8)];
/// The same at the end of a text without a mark, where it is more often a part of a word.
const END_REMAINDER: usize = 6;
/// The shortest text that may be cut without a mark.
const SHORTEST_CUT: usize = 100;

/// The most names whose ordinary values are masked behind them, and the fewest bytes of such a name.
const BESIDE_MAX: usize = 200;
const BESIDE_NAME_MIN: usize = 2;

/// Finds `value` behind `name` and a sign.
fn behind_name(text: &str, name: &str, value: &str) -> Vec<Range<usize>> {
    let found = text.match_indices(name).filter_map(|(at, _)| {
        let (ahead, end) = (&text[..at], at + name.len());
        let begin = end + value::start(&text[end..], Secrecy::Value, name, ahead)?;
        let begin = begin + text[begin..].len() - text[begin..].trim_start_matches(QUOTES).len();
        let rest = text[begin..].strip_prefix(value)?;
        let is_whole = !ahead.ends_with(is_part) && !rest.starts_with(is_part);
        is_whole.then(|| begin..begin + value.len())
    });
    found.collect()
}

const QUOTES: [char; 3] = ['"', '\'', '\\'];

fn with_masks(text: &str, places: Vec<Range<usize>>) -> Cow<'_, str> {
    if places.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(masked(text, places)) }
}

/// Returns `text` with `***` in each of `places`, which may have any order. Overlapping places
/// become one.
pub(super) fn masked(text: &str, mut places: Vec<Range<usize>>) -> String {
    places.retain(|place| !place.is_empty());
    places.sort_by_key(|place| (place.start, std::cmp::Reverse(place.end)));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for place in places {
        if place.start >= done {
            out.push_str(&text[done..place.start]);
            out.push_str(MASK);
        }
        done = done.max(place.end);
    }
    out + &text[done..]
}

fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '-'
}

/// Returns the places of the words in `text`: letters, digits, `_` and `-`.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split(|letter| !is_part(letter)).filter(|word| !word.is_empty()).map(|word| {
        let begin = word.as_ptr() as usize - text.as_ptr() as usize;
        begin..begin + word.len()
    })
}

/// Splits a long value into pieces of similar length.
fn pieces(value: &str) -> impl Iterator<Item = &str> {
    let length = value.len().div_ceil(value.len().div_ceil(PIECE).max(1)).max(1);
    let mut rest = value;
    std::iter::from_fn(move || {
        let end = (length.min(rest.len())..).find(|end| rest.is_char_boundary(*end))?;
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Returns the spellings of a value that [`for_each_view`] does not undo: Base64, hexadecimal digits,
/// and those of shells, SQL, YAML and forms.
fn forms(value: &str) -> BTreeSet<String> {
    let mut all: BTreeSet<String> = [
        value.to_owned(),
        value.replace('\'', "'\\''"),
        value.replace('\'', "''"),
        value.replace('"', "\"\""),
        value.replace(' ', "+"),
        value.split_whitespace().collect::<Vec<_>>().join(" "),
        STANDARD.encode(value),
        URL_SAFE.encode(value),
        hex(value),
        hex(value).to_ascii_uppercase(),
    ]
    .into();
    for before in 0..3 {
        let inner = base64_within(value, before);
        all.insert(inner.replace('+', "-").replace('/', "_"));
        all.insert(inner);
    }
    all
}

/// Returns the bytes of a value as `bin2hex()` writes them.
fn hex(value: &str) -> String {
    value.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the part of a Base64 text that a value decides by itself, when `before` bytes stand before
/// it in its group of three.
fn base64_within(value: &str, before: usize) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value.as_bytes());
    let encoded = STANDARD.encode(&bytes);
    let begin = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    encoded[begin..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::set_words_of_tests;

    fn without(values: &[&str], text: &str) -> String {
        let mut known = KnownSecrets::new();
        values.iter().for_each(|value| known.add(value));
        known.mask(text).into_owned()
    }

    #[test]
    fn a_secret_that_contains_another_is_masked_completely() {
        let values = ["hunter22", "hunter22-and-more", "more-to-come"];
        assert_eq!(without(&values, "a hunter22-and-more b hunter22 c"), "a *** b *** c");
        assert_eq!(without(&values, "hunter22-and-more-to-come"), "***", "they overlap");
    }

    #[test]
    fn a_secret_is_found_in_every_encoding() {
        let value = "pa\"ss/w&rd 'ü\\1";
        let base64 = STANDARD.encode(value);
        for written in [
            "pa\"ss/w&rd 'ü\\1",
            r#"pa\"ss/w&rd 'ü\\1"#,
            r#"pa\"ss\/w&rd 'ü\\1"#,
            r#"pa\"ss\/w&rd '\u00fc\\1"#,
            r#"pa\"ss/w\u0026rd 'ü\\1"#,
            r#"pa\\\"ss\\\/w&rd '\\u00fc\\\\1"#,
            "pa&quot;ss/w&amp;rd &#39;ü\\1",
            "pa&quot;ss/w&amp;rd &#039;&#xFC;\\1",
            "pa%22ss%2Fw%26rd%20%27%C3%BC%5C1",
            "pa%22ss%2fw%26rd+'%c3%BC%5c1",
            r"pa\x22ss/w&rd 'ü\x5C1",
            "pa\"ss/w&rd '\\''ü\\1",
            "pa\"ss/w&rd ''ü\\1",
            &base64,
            &base64.replace('/', "\\/").replace('=', "%3D"),
            &hex(value),
            &hex(value).to_ascii_uppercase(),
        ] {
            assert_eq!(without(&[value], &format!("<{written}>")), "<***>", "{written}");
        }
        assert_eq!(
            without(&["a%2Fb%3Dcdef"], "a/b=cdef"),
            "***",
            "a URL's value as the app sees it"
        );
    }

    #[test]
    fn a_secret_is_found_in_base64_whatever_is_around_it() {
        for value in ["hunter22", "hunter22-", "hunter22-a", "pässwörd?>~"] {
            for (before, behind) in
                [("", ""), ("u", ":x"), ("us", "z"), ("use", ""), ("user:", "yy")]
            {
                let text = format!("{before}{value}{behind}");
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let masked = without(&[value], &encoded);
                    let rest = masked.replace("***", "");
                    assert!(masked.contains("***"), "{text}: {masked}");
                    assert!(rest.len() <= encoded.len() - value.len() * 8 / 6 + 2, "{masked}");
                }
            }
        }
    }

    #[test]
    fn a_long_secret_is_masked_piece_by_piece() {
        let value: String = (0..700).map(|number| format!("{number}x")).collect();
        assert!(value.len() > 2 * PIECE);
        let masked = without(&[&value], &format!("a {value} b"));
        assert_eq!(masked.replace("***", ""), "a  b");
        let joined: Vec<&str> = pieces("aé").chain(pieces("")).collect();
        assert_eq!(joined, ["aé"]);
        assert_eq!(pieces(&value).collect::<String>(), value);
    }

    #[test]
    fn a_secret_that_was_cut_is_masked_too() {
        let value = "hunter22-and-mÖre-to-come";
        assert_eq!(without(&[value], "it said hunter22-and-m… and"), "it said ***… and");
        assert_eq!(
            without(&[value], "it said …Öre-to-come and …re-to-come"),
            "it said …*** and …***"
        );
        let long = format!("{} hunter22-a", "x".repeat(100));
        assert!(without(&[value], &long).ends_with("x ***"));
        assert_eq!(without(&["a/b/c/d/e/f"], "at a%2Fb%2Fc… and"), "at ***… and");
        let trace = "login('hunter22-and-m...', 'x') and ...";
        assert_eq!(without(&[value], trace), "login('***...', 'x') and ...");
        assert_eq!(
            without(&[value], "hunt hun… ome… hunter2..."),
            "hunt hun… ome… hunter2...",
            "too little is left of it"
        );
    }

    /// A project whose database has its name as the password: its services had no names any more.
    #[test]
    fn a_secret_that_is_a_part_of_a_public_word_is_masked_only_at_its_place() {
        let mut known = KnownSecrets::new();
        known.add_public("Bookshop-web");
        known.add("bookshop");
        known.add("bookshop-secret");
        assert_eq!(known.mask("--service bookshop-web"), "--service bookshop-web");
        assert_eq!(known.mask("DB_PASSWORD=bookshop"), "DB_PASSWORD=***");
        assert_eq!(known.mask("mysql://shop:bookshop@db"), "mysql://***@db");
        assert_eq!(known.mask("a bookshop-secret"), "a ***");
    }

    #[test]
    fn an_ordinary_value_is_masked_only_at_a_secrets_place() {
        set_words_of_tests();
        let text =
            "throughput 1 157/s /throughput?token=throughput&a=1 mysql://joe:root@db root hunter2";
        let masked = "throughput 1 157/s /throughput?token=***&a=1 mysql://***@db root hunter2";
        assert_eq!(without(&["throughput", "root", "requests", "hunter2"], text), masked);
        for value in ["abc", "true", "root", "8080", "12345678", "***", "${DB_PASS}", "  "] {
            assert_eq!(without(&[value], &format!("x {value} y")), format!("x {value} y"));
        }
        let text = "{\"a\": 12345678, \"b\": [1, 12345678]} password=12345678, pin 12345678";
        let masked = "{\"a\": 12345678, \"b\": [1, 12345678]} password=***, pin 12345678";
        assert_eq!(without(&["12345678"], text), masked);
    }

    #[test]
    fn an_ordinary_value_is_masked_behind_the_name_that_it_was_learnt_with() {
        let mut known = KnownSecrets::new();
        known.add_beside("pin", "1234");
        known.add_beside("theme", "night");
        let text = "form: {pin: 1234, spin: 1234, pin: 12345} pin=1234&theme=\"night\" 1234 night";
        let masked = "form: {pin: ***, spin: 1234, pin: 12345} pin=***&theme=\"***\" 1234 night";
        assert_eq!(known.mask(text), masked);
    }

    #[test]
    fn an_own_word_is_masked_in_foreign_text() {
        set_words_of_tests();
        let mut known = KnownSecrets::new();
        ["master", "throughput", "root"].iter().for_each(|value| known.add(value));
        let text = "root: the password master, not throughputs, \"throughput\", abc";
        assert_eq!(known.mask(text), text);
        let masked = "root: the password master, not throughputs, \"***\", abc";
        assert_eq!(known.mask_foreign(text), masked);
    }

    #[test]
    fn too_many_values_are_noticed() {
        let mut known = KnownSecrets::new();
        (0..VALUES_MAX).for_each(|number| known.add(&format!("k-{number:05}-x")));
        assert!(!known.is_full());
        known.add("k-00007-x");
        assert!(!known.is_full());
        known.add("one-more-1");
        assert!(known.is_full());
        let mut known = KnownSecrets::new();
        let long = |number: usize| format!("{number}-{}", "x".repeat(LONGEST - 10));
        (0..=BYTES_MAX / LONGEST).for_each(|number| known.add(&long(number)));
        assert!(known.is_full());
    }
}
