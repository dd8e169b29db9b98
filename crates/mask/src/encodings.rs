//! Undoes the encodings in which a secret may be written: percent-encoding, the escapes of JSON and
//! of logs, and the entities of HTML.
//!
//! An encoding leaves a choice of what is escaped and how, so a list of all spellings of a value is
//! never complete. Therefore a text is decoded, and searched for the plain value. A view remembers
//! from which place of the text each of its bytes came.

use std::borrow::Cow;
use std::ops::Range;

/// A text as it reads without some encodings.
pub(super) struct View<'a> {
    /// The decoded text.
    pub bytes: Cow<'a, [u8]>,
    /// Where each byte came from, and the length of the original; `None`: nothing was decoded.
    origins: Option<Vec<usize>>,
    /// Where the decoded text is cut off inside an escape; else its length.
    pub whole: usize,
}

impl<'a> View<'a> {
    fn plain(text: &'a str) -> View<'a> {
        View { bytes: Cow::Borrowed(text.as_bytes()), origins: None, whole: text.len() }
    }

    /// Returns the place in the original text from which a place of this view came.
    pub fn origin(&self, place: &Range<usize>) -> Range<usize> {
        self.origin_of(place.start)..self.origin_of(place.end)
    }

    /// Returns where the byte `at` came from.
    pub fn origin_of(&self, at: usize) -> usize {
        self.origins.as_ref().map_or(at, |origins| origins[at])
    }

    /// Decodes this view once more; `None`: it has nothing of this encoding.
    fn decoded(&self, encoding: Encoding) -> Option<View<'static>> {
        let text = &*self.bytes;
        let mut at = memchr(encoding.mark(), text, 0)?;
        let mut bytes = Vec::with_capacity(text.len());
        let mut origins = Vec::with_capacity(text.len() + 1);
        let (mut done, mut is_changed, mut whole) = (0, false, None);
        let mut letter = [0; 4];
        loop {
            bytes.extend_from_slice(&text[done..at]);
            origins.extend((done..at).map(|at| self.origin_of(at)));
            done = at;
            match encoding.escape(&text[at..]) {
                Escape::Of(code, length) => {
                    let made = code.bytes(&mut letter);
                    bytes.extend_from_slice(made);
                    origins.extend(made.iter().map(|_| self.origin_of(at)));
                    done = at + length;
                    is_changed = true;
                }
                Escape::CutOff => whole = whole.or(Some(bytes.len())),
                Escape::None => {}
            }
            match memchr(encoding.mark(), text, done.max(at + 1)) {
                Some(next) => at = next,
                None => break,
            }
        }
        bytes.extend_from_slice(&text[done..]);
        origins.extend((done..=text.len()).map(|at| self.origin_of(at)));
        // The end of an escape that the layer below cuts off is unknown here too.
        let below = origins.iter().position(|origin| *origin >= self.origin_of(self.whole));
        let whole = whole.into_iter().chain(below).min().unwrap_or(bytes.len());
        (is_changed || whole < bytes.len()).then_some(View {
            bytes: bytes.into(),
            origins: Some(origins),
            whole,
        })
    }
}

/// Calls `look` with `text` as it is, and with all that becomes of it if one encoding or two are
/// undone: JSON in JSON, a URL in a page.
pub(super) fn for_each_view(text: &str, mut look: impl FnMut(&View<'_>)) {
    let plain = View::plain(text);
    look(&plain);
    for first in ENCODINGS {
        let Some(once) = plain.decoded(first) else { continue };
        look(&once);
        for second in ENCODINGS {
            if let Some(twice) = once.decoded(second) {
                look(&twice);
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Encoding {
    /// `%2F` (RFC 3986 section 2.1).
    Percent,
    /// `\"`, `\/`, `\n`, `\u00fc` of JSON (RFC 8259 section 7); `\x22` of nginx's logs; `\'` of PHP.
    Backslash,
    /// `&amp;`, `&#39;`, `&#x27;`.
    Entity,
}

const ENCODINGS: [Encoding; 3] = [Encoding::Percent, Encoding::Backslash, Encoding::Entity];

/// What stands at a place where an escape may begin.
enum Escape {
    /// An escape of this many bytes.
    Of(Code, usize),
    /// The beginning of an escape, before the text's end.
    CutOff,
    None,
}

enum Code {
    Byte(u8),
    Letter(char),
}

impl Code {
    fn bytes<'b>(&self, letter: &'b mut [u8; 4]) -> &'b [u8] {
        match self {
            Code::Byte(byte) => {
                letter[0] = *byte;
                &letter[..1]
            }
            Code::Letter(code) => code.encode_utf8(letter).as_bytes(),
        }
    }
}

impl Encoding {
    /// The byte with which each escape begins.
    fn mark(self) -> u8 {
        match self {
            Encoding::Percent => b'%',
            Encoding::Backslash => b'\\',
            Encoding::Entity => b'&',
        }
    }

    /// Reads the escape at the start of `text`, which begins with the mark.
    fn escape(self, text: &[u8]) -> Escape {
        match self {
            Encoding::Percent => hex_byte(text, 1),
            Encoding::Backslash => backslash(text),
            Encoding::Entity => entity(text),
        }
    }
}

/// Reads two hexadecimal digits after `before` bytes.
fn hex_byte(text: &[u8], before: usize) -> Escape {
    match hex(text, before, 2) {
        Hex::Number(number) => {
            Escape::Of(Code::Byte(u8::try_from(number).unwrap_or_default()), before + 2)
        }
        Hex::CutOff => Escape::CutOff,
        Hex::None => Escape::None,
    }
}

enum Hex {
    Number(u32),
    CutOff,
    None,
}

/// Reads `count` hexadecimal digits after `before` bytes.
fn hex(text: &[u8], before: usize, count: usize) -> Hex {
    let digits = &text[before.min(text.len())..(before + count).min(text.len())];
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return Hex::None;
    }
    if digits.len() < count {
        return Hex::CutOff;
    }
    let digit = |byte: &u8| (*byte as char).to_digit(16).unwrap_or_default();
    Hex::Number(digits.iter().fold(0, |number, byte| number * 16 + digit(byte)))
}

fn backslash(text: &[u8]) -> Escape {
    let Some(next) = text.get(1) else { return Escape::CutOff };
    let code = match next {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        b'x' => return hex_byte(text, 2),
        b'u' => return utf16(text),
        other if other.is_ascii_punctuation() => *other,
        _ => return Escape::None,
    };
    Escape::Of(Code::Byte(code), 2)
}

/// Reads `\u00fc`, or the two halves of a letter beyond 16 bits.
fn utf16(text: &[u8]) -> Escape {
    let first = match hex(text, 2, 4) {
        Hex::Number(first) => first,
        Hex::CutOff => return Escape::CutOff,
        Hex::None => return Escape::None,
    };
    if let Some(letter) = char::from_u32(first) {
        return Escape::Of(Code::Letter(letter), 6);
    }
    let rest = &text[6..];
    if !b"\\u".starts_with(&rest[..rest.len().min(2)]) {
        return Escape::None;
    }
    match hex(rest, 2, 4) {
        Hex::Number(second) => {
            let units = [first, second].map(|unit| u16::try_from(unit).unwrap_or_default());
            match char::decode_utf16(units).next() {
                Some(Ok(letter)) => Escape::Of(Code::Letter(letter), 12),
                _ => Escape::None,
            }
        }
        Hex::CutOff => Escape::CutOff,
        Hex::None => Escape::None,
    }
}

/// Bytes of the longest entity that is read, `&#x10ffff;`, with some leading zeros.
const ENTITY_MAX: usize = 14;
const ENTITIES: [(&[u8], char); 5] =
    [(b"&amp;", '&'), (b"&lt;", '<'), (b"&gt;", '>'), (b"&quot;", '"'), (b"&apos;", '\'')];

fn entity(text: &[u8]) -> Escape {
    let near = &text[..text.len().min(ENTITY_MAX)];
    let Some(end) = near.iter().position(|byte| *byte == b';') else {
        let is_code =
            |part: &[u8]| part.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'x');
        let is_begun = near.strip_prefix(b"&#").is_some_and(is_code)
            || ENTITIES.iter().any(|(name, _)| name.starts_with(near));
        let is_end = near.len() == text.len();
        return if is_begun && is_end { Escape::CutOff } else { Escape::None };
    };
    let named = ENTITIES.iter().find(|(name, _)| *name == &near[..=end]);
    let letter = named.map(|(_, letter)| *letter).or_else(|| {
        let number = std::str::from_utf8(near[..end].strip_prefix(b"&#")?).ok()?;
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => number.parse(),
        };
        char::from_u32(code.ok()?)
    });
    letter.map_or(Escape::None, |letter| Escape::Of(Code::Letter(letter), end + 1))
}

/// Returns where `byte` is in `text`, from `from` on.
fn memchr(byte: u8, text: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    rest.iter().position(|other| *other == byte).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn views(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        for_each_view(text, |view| all.push(String::from_utf8_lossy(&view.bytes).into_owned()));
        all
    }

    #[test]
    fn each_encoding_is_undone() {
        for (text, plain) in [
            ("a%2fb%2Fc%zz%", "a/b/c%zz%"),
            (r#"\"a\/b\\c\n\u00fc\ud83d\ude00\x22\'\q"#, "\"a/b\\c\nü😀\"'\\q"),
            ("&lt;a&gt; &amp; &quot;b&quot; &#39;&#039;&#x27;&x;&", "<a> & \"b\" '''&x;&"),
        ] {
            assert!(views(text).contains(&plain.to_owned()), "{text}: {:?}", views(text));
        }
        assert_eq!(views("plain text"), ["plain text"]);
        assert!(views(r#"{\"a\":\"\\\"\\u00e9\"}"#).contains(&"{\"a\":\"\"é\"}".to_owned()));
        assert!(views("?a=1&amp;b=%3C").contains(&"?a=1&b=<".to_owned()));
    }

    #[test]
    fn a_place_leads_back_to_the_text() {
        let text = "x%C3%BC-&amp;%2526 y";
        for_each_view(text, |view| {
            let all = view.origin(&(0..view.bytes.len()));
            assert_eq!(all, 0..text.len());
            let letter = view.bytes.windows(2).position(|two| two == "ü".as_bytes());
            if let Some(at) = letter {
                assert_eq!(&text[view.origin(&(at..at + 2))], "%C3%BC");
            }
        });
    }

    #[test]
    fn an_escape_that_is_cut_off_is_no_whole_text() {
        for text in ["abc%", "abc%2", "abc\\", "abc\\u00", "abc\\ud83d\\u", "abc&am", "abc&#3"] {
            let mut least = usize::MAX;
            for_each_view(text, |view| least = least.min(view.whole));
            assert_eq!(least, 3, "{text}");
        }
        for text in ["abc%zz", "abc\\q", "abc& d", "abc;"] {
            for_each_view(text, |view| assert_eq!(view.whole, view.bytes.len(), "{text}"));
        }
    }
}
