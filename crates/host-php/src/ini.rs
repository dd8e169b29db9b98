//! Reads the syntax of php.ini and of PHP-FPM's files, as PHP's own reader does
//! (`Zend/zend_ini_scanner.l`, `Zend/zend_ini_parser.y`): quotes, comments, sections, constants with
//! `|`, `&`, `^`, `~`, `!`, and `${NAME}`.
//!
//! Two things are not known here: PHP's constants but those of errors, and the environment of the
//! server. A value with `${NAME}` that no earlier line explains is marked.

use std::collections::BTreeMap;

/// A line `key = value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The section before it, such as `www` of a pool; `None`: there is none.
    pub section: Option<String>,
    /// The key, such as `memory_limit`.
    pub key: String,
    /// What is in brackets after the key: `env[HOME]` has `HOME`.
    pub index: Option<String>,
    /// The value as PHP has it.
    pub value: String,
    /// Whether the value is the whole one. Not where it names a variable of the environment.
    pub is_known: bool,
    /// The number of the line, from 1.
    pub line: u32,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// The lines that set something, in their order.
    pub entries: Vec<Entry>,
    /// The line at which PHP stops reading; `None`: it reads all.
    pub broken_at: Option<u32>,
}

/// The constants that configuration files use (`main/php.h`, `Zend/zend_errors.h`).
const CONSTANTS: [(&str, &str); 17] = [
    ("E_ALL", "32767"),
    ("E_ERROR", "1"),
    ("E_WARNING", "2"),
    ("E_PARSE", "4"),
    ("E_NOTICE", "8"),
    ("E_CORE_ERROR", "16"),
    ("E_CORE_WARNING", "32"),
    ("E_COMPILE_ERROR", "64"),
    ("E_COMPILE_WARNING", "128"),
    ("E_USER_ERROR", "256"),
    ("E_USER_WARNING", "512"),
    ("E_USER_NOTICE", "1024"),
    ("E_STRICT", "2048"),
    ("E_RECOVERABLE_ERROR", "4096"),
    ("E_DEPRECATED", "8192"),
    ("E_USER_DEPRECATED", "16384"),
    ("DIRECTORY_SEPARATOR", "/"),
];

/// Reads a file. After a line that PHP cannot read, nothing of the file counts.
pub(crate) fn parse(text: &str) -> Parsed {
    let bytes = text.as_bytes();
    let mut reader = Reader { bytes, at: 0, line: 1, known: BTreeMap::new(), depth: 0 };
    let mut parsed = Parsed::default();
    let mut section = None;
    loop {
        reader.skip_blank();
        let Some(first) = reader.peek() else { return parsed };
        let line = reader.line;
        let read = match first {
            b';' => {
                reader.skip_line();
                Some(())
            }
            b'[' => reader.section().map(|name| section = Some(name)),
            _ => reader.entry().map(|found| {
                let Some((key, index, Value { text, is_known })) = found else { return };
                if index.is_none() {
                    reader.known.insert(key.clone(), text.clone());
                }
                let section = section.clone();
                parsed.entries.push(Entry { section, key, index, value: text, is_known, line });
            }),
        };
        if read.is_none() {
            parsed.broken_at = Some(line);
            return parsed;
        }
    }
}

/// A value or a part of one.
#[derive(Clone, Debug, Default)]
struct Value {
    text: String,
    is_known: bool,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
    /// What earlier lines set, which `${NAME}` may name.
    known: BTreeMap<String, String>,
    /// Open brackets.
    depth: u32,
}

/// More brackets than any value has. Each is a call.
const DEPTH_MAX: u32 = 50;

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        // A carriage return before a line feed belongs to the same line break.
        if byte == b'\n' || byte == b'\r' && self.peek() != Some(b'\n') {
            self.line += 1;
        }
        Some(byte)
    }

    fn skip_blank(&mut self) {
        while self.peek().is_some_and(|byte| b" \t\r\n".contains(&byte)) {
            self.next();
        }
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(|byte| byte == b' ' || byte == b'\t') {
            self.next();
        }
    }

    fn skip_line(&mut self) {
        while self.next().is_some_and(|byte| byte != b'\n' && byte != b'\r') {}
    }

    fn taken(&self, from: usize) -> String {
        String::from_utf8_lossy(&self.bytes[from..self.at]).into_owned()
    }

    fn while_in(&mut self, is_in: impl Fn(u8) -> bool) -> String {
        let from = self.at;
        while self.peek().is_some_and(&is_in) {
            self.next();
        }
        self.taken(from)
    }

    fn section(&mut self) -> Option<String> {
        self.next();
        let name = self.while_in(|byte| !b"]\r\n\"$".contains(&byte));
        (self.next() == Some(b']')).then(|| {
            self.skip_line();
            name.trim().trim_matches('\'').to_owned()
        })
    }

    /// One line. `Some(None)`: a word without a value, which sets nothing.
    fn entry(&mut self) -> Option<Option<(String, Option<String>, Value)>> {
        let key = self.while_in(|byte| !b"=\r\n;&|^$~(){}!\"[]".contains(&byte));
        let key = key.trim_end().to_owned();
        let index = match self.peek() {
            Some(b'[') => {
                self.next();
                let index = self.while_in(|byte| !b"]\r\n".contains(&byte));
                if self.next() != Some(b']') {
                    return None;
                }
                self.skip_spaces();
                Some(index.trim().trim_matches(['"', '\'']).to_owned())
            }
            _ => None,
        };
        match self.peek() {
            Some(b'=') if !key.is_empty() && !is_word(&key) => {
                self.next();
                Some(Some((key, index, self.value()?)))
            }
            Some(b'\r' | b'\n' | b';') | None => {
                self.skip_line();
                Some(None)
            }
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Value> {
        self.skip_spaces();
        // A second `=` right after the first is skipped.
        if self.peek() == Some(b'=') {
            self.next();
            self.skip_spaces();
        }
        let value = match self.word_value() {
            Some(value) => value,
            None if self.is_end() => Value { text: String::new(), is_known: true },
            None => self.expression()?,
        };
        self.skip_spaces();
        self.is_end().then(|| {
            self.skip_line();
            value
        })
    }

    fn is_end(&self) -> bool {
        self.peek().is_none_or(|byte| b"\r\n;".contains(&byte))
    }

    /// `on`, `off` and their like, alone.
    fn word_value(&mut self) -> Option<Value> {
        let (at, line) = (self.at, self.line);
        let word = self.while_in(|byte| byte.is_ascii_alphabetic()).to_ascii_lowercase();
        let after = self.peek();
        self.skip_spaces();
        let text = match word.as_str() {
            "true" | "on" | "yes" => "1",
            "false" | "off" | "no" | "none" | "null" => "",
            _ => "-",
        };
        // With anything after it, the line is one that PHP cannot read.
        if text != "-" && after.is_none_or(|byte| b"= \t\r\n;|&^~()!\"".contains(&byte)) {
            return Some(Value { text: text.to_owned(), is_known: true });
        }
        (self.at, self.line) = (at, line);
        None
    }

    /// Operators have one rank, from left to right.
    fn expression(&mut self) -> Option<Value> {
        let mut left = self.operand()?;
        loop {
            self.skip_spaces();
            let operator = match self.peek() {
                Some(byte @ (b'|' | b'&' | b'^')) => byte,
                _ => return Some(left),
            };
            self.next();
            let right = self.operand()?;
            let (a, b) = (number(&left.text), number(&right.text));
            let result = match operator {
                b'|' => a | b,
                b'&' => a & b,
                _ => a ^ b,
            };
            let is_known = left.is_known && right.is_known;
            left = Value { text: result.to_string(), is_known };
        }
    }

    fn operand(&mut self) -> Option<Value> {
        self.skip_spaces();
        let first = self.peek()?;
        if !matches!(first, b'~' | b'!' | b'(') {
            return self.pieces();
        }
        self.next();
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let value = match first {
            b'(' => {
                let value = self.expression()?;
                self.skip_spaces();
                (self.next() == Some(b')')).then_some(value)?
            }
            _ => self.operand()?,
        };
        self.depth -= 1;
        let text = match first {
            b'~' => (!number(&value.text)).to_string(),
            b'!' => i32::from(number(&value.text) == 0).to_string(),
            _ => value.text,
        };
        Some(Value { text, ..value })
    }

    /// Words, texts in quotes and variables, one after the other.
    fn pieces(&mut self) -> Option<Value> {
        let from = self.at;
        let mut all = Value { text: String::new(), is_known: true };
        loop {
            let spaces = self.while_in(|byte| byte == b' ' || byte == b'\t');
            // White space beside double quotes, and at the end, does not count.
            let counts = |next: Option<u8>| next.is_some_and(|b| !b"\r\n;|&^)\"".contains(&b));
            if counts(self.peek()) {
                all.text += &spaces;
            }
            match self.peek() {
                Some(b'"') => {
                    self.next();
                    self.quoted(&mut all)?;
                    self.skip_spaces();
                }
                Some(b'\'') => {
                    self.next();
                    let text = self.while_in(|byte| byte != b'\'');
                    self.next()?;
                    all.text += &text;
                    // PHP reads nothing after an empty text.
                    if text.is_empty() {
                        self.while_in(|byte| !b"\r\n".contains(&byte));
                    }
                }
                Some(b'$') if self.bytes.get(self.at + 1) == Some(&b'{') => {
                    self.variable(&mut all)?;
                }
                Some(byte) if !b"= \t\r\n;&|^~()!\"\0".contains(&byte) => {
                    let word = self.word();
                    if is_word(&word) {
                        return None;
                    }
                    let constant = CONSTANTS.iter().find(|(name, _)| *name == word);
                    all.text += constant.map_or(word.as_str(), |(_, value)| value);
                }
                _ => return (self.at > from).then_some(all),
            }
        }
    }

    /// A word without quotes. A dollar belongs to it with the character after it.
    fn word(&mut self) -> String {
        let from = self.at;
        loop {
            self.while_in(|byte| !b"$= \t\r\n;&|^~()!\"'\0".contains(&byte));
            let after = self.bytes.get(self.at + 1).copied();
            if self.peek() != Some(b'$') || after == Some(b'{') {
                return self.taken(from);
            }
            self.next();
            if after.is_some_and(|byte| !b"\r\n\0".contains(&byte)) {
                self.next();
            }
        }
    }

    /// A text up to the closing double quote. It may have several lines.
    fn quoted(&mut self, all: &mut Value) -> Option<()> {
        loop {
            match self.peek()? {
                b'"' => {
                    self.next();
                    return Some(());
                }
                b'\\' => {
                    self.next();
                    let escaped = self.peek()?;
                    if !b"\"\\$".contains(&escaped) {
                        all.text.push('\\');
                        continue;
                    }
                    self.next();
                    all.text.push(char::from(escaped));
                }
                b'$' if self.bytes.get(self.at + 1) == Some(&b'{') => self.variable(all)?,
                b'$' => {
                    self.next();
                    all.text.push('$');
                }
                _ => all.text += &self.while_in(|byte| !b"\"\\$".contains(&byte)),
            }
        }
    }

    /// `${NAME}`: an earlier line of the file, or a variable of the environment.
    fn variable(&mut self, all: &mut Value) -> Option<()> {
        self.next();
        self.next();
        let name = self.while_in(|byte| !b"}\r\n".contains(&byte));
        (self.next()? == b'}').then_some(())?;
        match self.known.get(&name) {
            Some(value) => all.text += value,
            None => {
                all.text += &format!("${{{name}}}");
                all.is_known = false;
            }
        }
        Some(())
    }
}

/// Words that are values alone: no key, and no part of another value.
fn is_word(key: &str) -> bool {
    let words = ["null", "yes", "no", "true", "false", "on", "off", "none"];
    words.contains(&key.to_ascii_lowercase().as_str())
}

/// The number at the beginning of a text, as C's `atoi`.
fn number(text: &str) -> i32 {
    let text = text.trim_start();
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let digits = digits.bytes().take_while(u8::is_ascii_digit);
    let value = digits
        .fold(0_i64, |sum, digit| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    // The kernel of C's `atoi` on the machines that PHP runs on: the lower 32 bits.
    (sign * value) as i32
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).entries.into_iter().map(|entry| (entry.key, entry.value)).collect()
    }

    /// The expected values are what PHP 8.2 made of the same lines.
    #[test]
    fn values_are_those_that_php_reads() {
        for (text, value) in [
            ("a = x ; comment", "x"),
            ("a='x;y'", "x;y"),
            ("a=\"x\\\"y\" z", "x\"yz"),
            ("a=foo \"bar\"", "foobar"),
            ("a='a' b", "a b"),
            ("a=on ", "1"),
            ("a=None", ""),
            ("a=yes;c", "1"),
            ("a='on'", "on"),
            ("a=nono", "nono"),
            ("a=E_ALL & ~E_DEPRECATED & ~E_STRICT", "22527"),
            ("a=~1 & 3", "2"),
            ("a=1 | 2 & 4 ^ 1", "1"),
            ("a=(1|4)&6", "4"),
            ("a=!0", "1"),
            ("a=foo E_ALL", "foo 32767"),
            ("a=\"a\\nb\\\\c\"", "a\\nb\\c"),
            ("a=x&y", "0"),
            ("a=x$y", "x$y"),
            ("a=-1&7", "7"),
            ("a=/a/b:/c", "/a/b:/c"),
            ("a=", ""),
            ("a==1", "1"),
            ("a=\"x\ny\"", "x\ny"),
        ] {
            assert_eq!(pairs(text), [("a".to_owned(), value.to_owned())], "{text}");
        }
    }

    #[test]
    fn nothing_counts_after_a_line_that_php_cannot_read() {
        for line in ["b=x(y)", "b=on x", "b=x=y", "on=1", "=1", "b=\"x", "b=x^"] {
            let parsed = parse(&format!("a=1\n{line}\nc=2\n"));
            assert_eq!(parsed.entries.len(), 1, "{line}");
            assert_eq!(parsed.broken_at, Some(2), "{line}");
        }
    }

    #[test]
    fn lines_sections_and_places_in_brackets_are_kept() {
        let text = "[global]\npid=/run/x\n\n[www]\nenv[APP_ENV] = prod\r\nphp_value[memory_limit] = 64M\nword\n";
        let entries = parse(text).entries;
        let shown: Vec<String> = entries
            .iter()
            .map(|entry| {
                let Entry { section, key, index, value, line, .. } = entry;
                format!("{line} {section:?} {key} {index:?} {value}")
            })
            .collect();
        assert_eq!(
            shown,
            [
                "2 Some(\"global\") pid None /run/x",
                "5 Some(\"www\") env Some(\"APP_ENV\") prod",
                "6 Some(\"www\") php_value Some(\"memory_limit\") 64M",
            ]
        );
    }

    #[test]
    fn a_variable_is_an_earlier_line_or_is_not_known() {
        let entries = parse("base=/srv\na=${base}/x\nb=\"${HOME}/x\"").entries;
        assert_eq!((entries[1].value.as_str(), entries[1].is_known), ("/srv/x", true));
        assert_eq!((entries[2].value.as_str(), entries[2].is_known), ("${HOME}/x", false));
    }

    /// Pieces of which values are made.
    fn value() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[a-z0-9./:,@%-]{1,6}",
            "\"[a-z '\\\\.$-]{0,6}[a-z]\"",
            "'[a-z \";.=|-]{1,6}'",
            Just("E_ALL".to_owned()),
            Just("E_NOTICE".to_owned()),
            Just("on".to_owned()),
            Just("~1".to_owned()),
            Just("(2|4)".to_owned()),
        ];
        let space = prop_oneof![Just(""), Just(" "), Just("  "), Just(" | "), Just("&"), Just("^")];
        (piece.clone(), prop::collection::vec((space, piece), 0..3), "( ?; [a-z=\"]{0,4})?")
            .prop_map(|(first, rest, comment)| {
                let rest = rest.into_iter().map(|(space, piece)| format!("{space}{piece}"));
                first + &rest.collect::<String>() + &comment
            })
    }

    /// What PHP reads from a file; `None`: it refuses it.
    fn by_php(text: &str) -> Option<BTreeMap<String, String>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let code = "echo json_encode(@parse_ini_file($argv[1]));";
        let command = Command::new("php").args(["-n", "-r", code]).arg(file.path()).output();
        serde_json::from_slice(&command.unwrap().stdout).ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn php_reads_the_same(values in prop::collection::vec(value(), 1..4)) {
            if Command::new("php").arg("-v").output().is_err() {
                eprintln!("skipped: no php");
                return Ok(());
            }
            let lines = (0..).zip(&values).map(|(n, value)| format!("k{n} = {value}\n"));
            let text: String = lines.collect();
            let parsed = parse(&text);
            match by_php(&text) {
                Some(expected) => {
                    prop_assert_eq!(parsed.broken_at, None, "{}", &text);
                    let found: BTreeMap<String, String> =
                        parsed.entries.into_iter().map(|e| (e.key, e.value)).collect();
                    prop_assert_eq!(found, expected, "{}", &text);
                }
                None => prop_assert!(parsed.broken_at.is_some(), "PHP refuses {}", &text),
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "(?s).{0,60}", odd in "[\\[\\]=\"'${}()|&^~!;\\\\\n a1]{0,40}") {
            parse(&text);
            parse(&odd);
            parse(&format!("a={odd}"));
        }
    }
}
