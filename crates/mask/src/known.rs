//! Masks values that are known to be secrets.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};

use super::{MASK, own, shapes};

/// Shorter values would occur everywhere.
const SHORTEST: usize = 4;
/// A shorter number could just as well be a figure.
const SHORTEST_NUMBER: usize = 6;
/// A value below this length is masked only as a separate word.
const SHORTEST_PART: usize = 8;
/// A value of letters only, as words are, is masked only as a separate word below this length.
const SHORTEST_PLAIN: usize = 16;
/// Highest number of values. A request file may have a token for each of a million users.
const VALUES_MAX: usize = 20_000;
/// A longer value is not a secret, but may be a body.
const LONGEST: usize = 64 << 10;

/// Words that occur in every report. If one of them is a password, it is masked only after its
/// name.
const COMMON: &str = " true false null none auto default root admin user users test testing tests prod production \
dev development local localhost password passwd secret token changeme guest public private basic bearer digest \
cookie file files redis mysql mysqli pgsql sqlite postgres postgresql mariadb memcached array database session sync \
smtp mail http https utf8 utf8mb4 apps shop demo example symfony laravel lumen hello nginx apache stampede index \
html json text base64 plain string value name email required nullable write read strict unset some ";

/// Secrets that are known by value.
#[derive(Clone, Debug, Default)]
pub struct KnownSecrets {
    values: BTreeSet<String>,
    /// The values in every spelling, by their first bytes. So the time of a search does not grow
    /// with the number of values.
    heads: BTreeMap<FormKey, BTreeSet<String>>,
    /// The values in every spelling, by their last bytes.
    tails: BTreeMap<FormKey, BTreeSet<String>>,
    /// Bytes of the longest value.
    longest: usize,
    /// Secret words that also occur in other texts. They are masked only after a secret name.
    words: BTreeSet<String>,
    /// Secret words that are also stampede's own words. They are masked in text that others wrote.
    own: BTreeSet<String>,
    /// Whether there were more values than are kept.
    is_full: bool,
}

/// The first or last bytes of a value. No value is shorter.
type FormKey = [u8; SHORTEST];

impl KnownSecrets {
    /// An empty set.
    pub const fn new() -> KnownSecrets {
        KnownSecrets {
            values: BTreeSet::new(),
            heads: BTreeMap::new(),
            tails: BTreeMap::new(),
            longest: 0,
            words: BTreeSet::new(),
            own: BTreeSet::new(),
            is_full: false,
        }
    }

    /// Adds a value, and each line of a value with several lines.
    pub fn add(&mut self, value: &str) {
        let value = value.trim();
        if self.values.contains(value) {
            return;
        }
        if !is_maskable(value) {
            if is_word(value) && self.words.len() < VALUES_MAX {
                self.words.insert(value.to_owned());
                if is_distinctive(value) {
                    self.own.insert(value.to_owned());
                }
            }
            return;
        }
        if self.values.len() >= VALUES_MAX {
            self.is_full = true;
            return;
        }
        self.values.insert(value.to_owned());
        forms(value).into_iter().for_each(|form| self.add_form(form));
        if value.contains('\n') {
            let lines = value.lines().filter(|line| line.trim().len() >= SHORTEST_PART);
            lines.for_each(|line| self.add(line));
        }
        let plain = percent_encoding::percent_decode_str(value).decode_utf8();
        if let Ok(plain) = plain
            && plain != value
        {
            self.add(&plain);
        }
    }

    /// Whether there were more values than are kept.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    fn add_form(&mut self, form: String) {
        let (Some(head), Some(tail)) =
            (form.as_bytes().first_chunk(), form.as_bytes().last_chunk())
        else {
            return;
        };
        self.longest = self.longest.max(form.len());
        self.tails.entry(*tail).or_default().insert(form.clone());
        self.heads.entry(*head).or_default().insert(form);
    }

    /// Returns `text` with `***` in place of the values. Overlapping values are masked together.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let places = self.places(text);
        if places.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(masked(text, places)) }
    }

    /// Does the same for a text that others wrote, such as a log or an app's page. In such a text,
    /// a secret that is also a word of stampede's own is masked too.
    pub fn mask_foreign<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut places = self.places(text);
        places.extend(words(text).filter(|place| self.own.contains(&text[place.clone()])));
        if places.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(masked(text, places)) }
    }

    fn places(&self, text: &str) -> Vec<Range<usize>> {
        let mut places = self.after_names(text);
        if self.heads.is_empty() {
            return places;
        }
        for (at, form) in form_matches(&self.heads, text.as_bytes(), 0..text.len()) {
            let place = at..at + form.len();
            if text.as_bytes()[at..].starts_with(form.as_bytes()) && stands_alone(text, &place) {
                places.push(place);
            }
        }
        for (at, _) in text.match_indices(CUT) {
            self.before(text, at, SHORTEST, &mut places);
            self.behind(text, at + CUT.len(), &mut places);
        }
        if text.len() >= SHORTEST_CUT {
            self.before(text, text.len(), SHORTEST_NUMBER, &mut places);
        }
        places
    }

    /// Finds values after secret names that contain a known secret word.
    fn after_names(&self, text: &str) -> Vec<Range<usize>> {
        if self.words.is_empty() {
            return Vec::new();
        }
        let is_known = |place: &Range<usize>| {
            let value = &text[place.clone()];
            words(value).any(|word| self.words.contains(&value[word]))
        };
        shapes::places(text).into_iter().filter(is_known).collect()
    }

    /// Finds the beginning of a value, of `least` bytes or more, where `text` was cut off at `end`.
    fn before(&self, text: &str, end: usize, least: usize, places: &mut Vec<Range<usize>>) {
        let range = end.saturating_sub(self.longest)..end;
        for (at, form) in form_matches(&self.heads, text.as_bytes(), range) {
            if end - at >= least && form.as_bytes().starts_with(&text.as_bytes()[at..end]) {
                places.push(at..end);
            }
        }
    }

    /// Finds the end of a value where `text` was cut off before `begin`.
    fn behind(&self, text: &str, begin: usize, places: &mut Vec<Range<usize>>) {
        let range = begin..text.len().min(begin + self.longest);
        for (at, form) in form_matches(&self.tails, text.as_bytes(), range) {
            let end = at + SHORTEST;
            if form.as_bytes().ends_with(&text.as_bytes()[begin..end]) {
                places.push(begin..end);
            }
        }
    }
}

/// Finds the places in `range` of `text` whose bytes are a key of `forms`, with each form of that
/// key.
fn form_matches<'a>(
    forms: &'a BTreeMap<FormKey, BTreeSet<String>>,
    text: &'a [u8],
    range: Range<usize>,
) -> impl Iterator<Item = (usize, &'a String)> {
    let begin = range.start;
    let at = text[range].windows(SHORTEST).enumerate();
    at.filter_map(|(at, four)| Some((at, forms.get(four)?)))
        .flat_map(move |(at, forms)| forms.iter().map(move |form| (begin + at, form)))
}

/// Mark of a text that was cut.
const CUT: &str = "…";
/// The shortest text that may be cut without a mark.
const SHORTEST_CUT: usize = 100;

/// Returns `text` with `***` in each of `places`, which may have any order. Overlapping places
/// become one.
pub(super) fn masked(text: &str, mut places: Vec<Range<usize>>) -> String {
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

/// Whether a value may be masked everywhere, because it is not a word or number of ordinary texts.
pub(super) fn is_maskable(value: &str) -> bool {
    is_distinctive(value) && !own::is_own(value)
}

/// Whether a value may be masked everywhere in a text that stampede did not write.
fn is_distinctive(value: &str) -> bool {
    let length = value.chars().count();
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let is_common = || COMMON.contains(&format!(" {} ", value.to_ascii_lowercase()));
    let is_variable = || {
        value.starts_with("${") && value.ends_with('}')
            || value.starts_with("%env(") && value.ends_with(")%")
    };
    length >= if is_number { SHORTEST_NUMBER } else { SHORTEST }
        && value.len() <= LONGEST
        && value.chars().any(char::is_alphanumeric)
        && !value.contains(MASK)
        && !is_common()
        && !is_variable()
}

/// Whether a value is one word that can be masked at least after a name.
fn is_word(value: &str) -> bool {
    value.len() >= 3
        && value.len() <= 64
        && value.chars().any(char::is_alphabetic)
        && value.chars().all(is_part)
        && !shapes::is_switch(value)
}

fn is_part(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '-'
}

/// Returns the places of the words in `text`, in the sense of [`is_word`].
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.split(|letter| !is_part(letter)).filter(|word| !word.is_empty()).map(|word| {
        let begin = word.as_ptr() as usize - text.as_ptr() as usize;
        begin..begin + word.len()
    })
}

/// Returns the spellings of a value in JSON, HTML, URLs, shell words, YAML, PHP and Base64.
fn forms(value: &str) -> BTreeSet<String> {
    let inner = |json: String| json[1..json.len() - 1].to_owned();
    let quoted = inner(serde_json::Value::from(value).to_string());
    let twice = inner(serde_json::Value::from(quoted.clone()).to_string());
    let codes = |text: &str, is_meant: fn(char) -> bool| -> String {
        let mut units = [0; 2];
        let one = |letter: char| match is_meant(letter) {
            true => letter
                .encode_utf16(&mut units)
                .iter()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect(),
            false => letter.to_string(),
        };
        text.chars().map(one).collect()
    };
    let markup = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let url = percent_encoding::utf8_percent_encode(value, UNRESERVED).to_string();
    let plus = url.replace("%20", "+");
    let mut all: BTreeSet<String> = [
        value.to_owned(),
        quoted.replace('/', "\\/"),
        codes(&quoted, |letter| "<>&\u{2028}\u{2029}".contains(letter)),
        codes(&quoted.replace('/', "\\/"), |letter| !letter.is_ascii()),
        codes(&quoted, |letter| !letter.is_ascii()),
        markup.replace('"', "&quot;"),
        markup.replace('"', "&quot;").replace('\'', "&#39;"),
        markup.replace('"', "&quot;").replace('\'', "&#039;"),
        markup.replace('"', "&quot;").replace('\'', "&#x27;"),
        lower_hex(&url),
        lower_hex(&plus),
        form_urlencoded::byte_serialize(value.as_bytes()).collect(),
        url,
        plus,
        value.replace('\'', "'\\''"),
        value.replace('\'', "\\'"),
        value.replace('\'', "''"),
        value.replace('"', "\\\""),
        value.replace('\\', "\\\\"),
        value.replace('\n', "\\n"),
        value.replace('"', "\"\""),
        value.split_whitespace().collect::<Vec<_>>().join(" "),
        markup,
        quoted,
        twice,
    ]
    .into();
    if value.len() >= SHORTEST_PART {
        all.extend([
            STANDARD.encode(value),
            STANDARD_NO_PAD.encode(value),
            URL_SAFE.encode(value),
            URL_SAFE_NO_PAD.encode(value),
        ]);
    }
    all
}

/// The unreserved characters of RFC 3986 section 2.3.
const UNRESERVED: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

fn lower_hex(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    let mut hex = 0;
    for letter in url.chars() {
        out.push(if hex > 0 { letter.to_ascii_lowercase() } else { letter });
        hex = if letter == '%' { 2 } else { hex - i32::from(hex > 0) };
    }
    out
}

/// Whether a match is the value itself, and not a part of another word or a figure in JSON.
fn stands_alone(text: &str, place: &Range<usize>) -> bool {
    let value = &text[place.clone()];
    let (before, behind) = (&text[..place.start], &text[place.end..]);
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = value.bytes().all(|byte| byte.is_ascii_alphabetic());
    if value.len() >= if is_plain { SHORTEST_PLAIN } else { SHORTEST_PART } && !is_number {
        return true;
    }
    if is_number && is_figure(before, behind) {
        return false;
    }
    !ends_in_word(before) && !behind.starts_with(|letter: char| letter.is_alphanumeric())
}

/// Whether a letter or digit precedes that is not part of `%3D` or `\n`.
fn ends_in_word(before: &str) -> bool {
    let mut letters = before.chars().rev();
    let Some(last) = letters.next().filter(|last| last.is_alphanumeric()) else { return false };
    let (second, third) = (letters.next(), letters.next());
    let is_escape = second == Some('\\') && "nrt".contains(last);
    let is_code = third == Some('%')
        && last.is_ascii_hexdigit()
        && second.is_some_and(|second| second.is_ascii_hexdigit());
    !is_escape && !is_code
}

/// Whether the place is a number in JSON, such as `"planned": 1000000,`. Masked, the text would not
/// be JSON any more.
fn is_figure(before: &str, behind: &str) -> bool {
    let (before, behind) = (before.trim_end(), behind.trim_start());
    let is_value = before.strip_suffix(':').is_some_and(|key| key.trim_end().ends_with('"'));
    let is_item = before.ends_with(['[', ',']) && behind.starts_with([',', ']']);
    let is_fraction = before.ends_with('.') || behind.starts_with('.');
    is_value || is_item || is_fraction
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
        let values = ["hunter2", "hunter2-and-more", "more-to-come"];
        assert_eq!(without(&values, "a hunter2-and-more b hunter2 c"), "a *** b *** c");
        assert_eq!(without(&values, "hunter2-and-more-to-come"), "***", "they overlap");
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
            "pa&quot;ss/w&amp;rd &#39;ü\\1",
            "pa&quot;ss/w&amp;rd &#039;ü\\1",
            "pa%22ss%2Fw%26rd%20%27%C3%BC%5C1",
            "pa%22ss%2fw%26rd+%27%c3%bc%5c1",
            "pa\"ss/w&rd '\\''ü\\1",
            "pa\"ss/w&rd ''ü\\1",
            &base64,
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
    fn a_secret_that_was_cut_is_masked_too() {
        let value = "hunter2-and-mÖre-to-come";
        assert_eq!(without(&[value], "it said hunter2-and-m… and"), "it said ***… and");
        assert_eq!(
            without(&[value], "it said …Öre-to-come and …re-to-come"),
            "it said …*** and …***"
        );
        let long = format!("{} hunter2-a", "x".repeat(100));
        assert!(without(&[value], &long).ends_with("x ***"));
        assert_eq!(
            without(&[value], "hunt hun… unter2…"),
            "hunt hun… unter2…",
            "too little is left of it"
        );
    }

    #[test]
    fn a_plain_word_is_masked_as_a_word_and_an_own_word_after_its_name() {
        let text = "correcthorse correcthorses \"correcthorse\" hunter2";
        assert_eq!(without(&["correcthorse", "hunter2"], text), "*** correcthorses \"***\" ***");
        set_words_of_tests();
        let text = "throughput 1 157/s /throughput?token=throughput&a=1 mysql://joe:valid@db valid";
        let masked = "throughput 1 157/s /throughput?token=***&a=1 mysql://***@db valid";
        assert_eq!(without(&["throughput", "valid", "requests"], text), masked);
    }

    #[test]
    fn an_own_word_is_masked_in_foreign_text() {
        set_words_of_tests();
        let mut known = KnownSecrets::new();
        ["master", "throughput", "root", "abc"].iter().for_each(|value| known.add(value));
        let text = "root: the password master, not masters or web-master, \"throughput\", abc";
        assert_eq!(known.mask(text), text);
        let masked = "root: the password ***, not masters or web-master, \"***\", abc";
        assert_eq!(known.mask_foreign(text), masked);
    }

    #[test]
    fn too_many_values_are_noticed() {
        let mut known = KnownSecrets::new();
        (0..VALUES_MAX).for_each(|number| known.add(&format!("k{number:05}x")));
        assert!(!known.is_full());
        known.add("k00007x");
        assert!(!known.is_full());
        known.add("one-more-1");
        assert!(known.is_full());
    }

    #[test]
    fn trivial_values_are_not_masked() {
        for value in ["abc", "true", "root", "8080", "12345", "***", "${DB_PASS}", "  "] {
            assert_eq!(without(&[value], &format!("x {value} y")), format!("x {value} y"));
        }
        assert_eq!(
            without(&["s3cr3t"], "s3cr3ts as3cr3t s3cr3t a%3Ds3cr3t"),
            "s3cr3ts as3cr3t *** a%3D***"
        );
        assert_eq!(
            without(&["123456"], "{\"a\": 123456, \"b\": [1, 123456]} pin 123456"),
            "{\"a\": 123456, \"b\": [1, 123456]} pin ***"
        );
    }
}
