//! Quotes of a shell: whether a command goes on in the next line, and bash's `$'…'`, which the crate
//! that splits commands does not know.

use std::borrow::Cow;

/// Where a command is, between its lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Quotes {
    #[default]
    None,
    Single,
    Double,
    /// `$'…'`
    Escapes,
}

impl Quotes {
    /// Follows the quotes of the next line. Returns whether one is open at its end.
    pub(super) fn follow(&mut self, line: &str) -> bool {
        let mut chars = line.chars().peekable();
        let mut before = ' ';
        while let Some(c) = chars.next() {
            match (*self, c) {
                (Quotes::None | Quotes::Double | Quotes::Escapes, '\\') => {
                    chars.next();
                }
                (Quotes::None, '$') if chars.peek() == Some(&'\'') => {
                    chars.next();
                    *self = Quotes::Escapes;
                }
                (Quotes::None, '\'') => *self = Quotes::Single,
                (Quotes::None, '"') => *self = Quotes::Double,
                (Quotes::None, '#') if before.is_whitespace() => break,
                (Quotes::Single | Quotes::Escapes, '\'') | (Quotes::Double, '"') => {
                    *self = Quotes::None;
                }
                _ => {}
            }
            before = c;
        }
        self.is_open()
    }

    pub(super) fn is_open(self) -> bool {
        self != Quotes::None
    }
}

/// The command with each `$'…'` as a plain single-quoted word, and without a comment at its end.
pub(super) fn plain(command: &str) -> String {
    let mut out = String::with_capacity(command.len());
    let mut chars = command.chars().peekable();
    let mut state = Quotes::None;
    let mut before = ' ';
    while let Some(c) = chars.next() {
        match (state, c) {
            (Quotes::None | Quotes::Double, '\\') => {
                out.push(c);
                out.extend(chars.next());
            }
            (Quotes::None, '$') if chars.peek() == Some(&'\'') => {
                chars.next();
                push_escaped(&mut chars, &mut out);
            }
            (Quotes::None, '#') if before.is_whitespace() => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            (_, c) => {
                state = match (state, c) {
                    (Quotes::None, '\'') => Quotes::Single,
                    (Quotes::None, '"') => Quotes::Double,
                    (Quotes::Single, '\'') | (Quotes::Double, '"') => Quotes::None,
                    (state, _) => state,
                };
                out.push(c);
            }
        }
        before = c;
    }
    out
}

/// A line of a command of Windows, without the `^` before its signs. One at the end of the line stays:
/// the command goes on.
pub(super) fn of_windows(line: &str) -> Cow<'_, str> {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.trim_end().chars().peekable();
    while let Some(c) = chars.next() {
        out.push(if c == '^' { chars.next().unwrap_or('^') } else { c });
    }
    Cow::Owned(out)
}

/// The first part of a command that a shell would replace by what another command prints: `$(…)`, or
/// in backticks. In single quotes it is text.
pub(super) fn filled_by_shell(command: &str) -> Option<&str> {
    let mut state = Quotes::None;
    let mut chars = command.char_indices().peekable();
    while let Some((place, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let closing = match (state, c, next) {
            (Quotes::Single | Quotes::Escapes, ..) => None,
            (_, '`', _) => Some('`'),
            (_, '$', Some('(')) => Some(')'),
            _ => None,
        };
        if let Some(closing) = closing {
            let rest = &command[place + 1..];
            let end = rest.find(closing).map_or(command.len(), |end| place + end + 2);
            return Some(&command[place..end]);
        }
        state = match (state, c) {
            (Quotes::None | Quotes::Double | Quotes::Escapes, '\\') => {
                chars.next();
                state
            }
            (Quotes::None, '$') if next == Some('\'') => {
                chars.next();
                Quotes::Escapes
            }
            (Quotes::None, '\'') => Quotes::Single,
            (Quotes::None, '"') => Quotes::Double,
            (Quotes::Single | Quotes::Escapes, '\'') | (Quotes::Double, '"') => Quotes::None,
            _ => state,
        };
    }
    None
}

/// Takes the rest of `$'…'` and writes it in single quotes.
fn push_escaped(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    out.push('\'');
    let mut push = |c: char| match c {
        // The quote is closed, one is written, and it is opened again.
        '\'' => out.push_str("'\\''"),
        c => out.push(c),
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' => break,
            '\\' => match chars.next() {
                Some('n') => push('\n'),
                Some('r') => push('\r'),
                Some('t') => push('\t'),
                Some('u') => push(number(chars, 4)),
                Some('U') => push(number(chars, 8)),
                Some('x') => push(number(chars, 2)),
                Some(other) => push(other),
                None => break,
            },
            c => push(c),
        }
    }
    out.push('\'');
}

/// The character of at most this many hexadecimal digits.
fn number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, digits: usize) -> char {
    let mut value = 0;
    for _ in 0..digits {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(16)) else { break };
        value = value * 16 + digit;
        chars.next();
    }
    char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_quote_is_seen() {
        let open = |line: &str| Quotes::default().follow(line);
        assert!(open("curl -d 'a") && open("curl \"a'") && open("curl $'a\\'") && open("a \"\\\""));
        assert!(!open("curl 'a' \"b'\" $'c\\'d' it\\'s # it's"));
        let mut quotes = Quotes::default();
        assert!(quotes.follow("curl -d '{") && !quotes.follow("}' http://a/"));
    }

    #[test]
    fn what_a_shell_would_fill_in_is_found() {
        assert_eq!(filled_by_shell("curl \"http://a/$(date +%s)/x\" -d 1"), Some("$(date +%s)"));
        assert_eq!(filled_by_shell("curl http://a/`id`/x"), Some("`id`"));
        for plain in
            ["curl 'a$(b)`c`'", "curl $'a$(b)'", "curl a\\$(b)", "curl \"a\\`b\"", "curl $a(b)"]
        {
            assert_eq!(filled_by_shell(plain), None, "{plain}");
        }
    }

    #[test]
    fn signs_of_windows_are_plain() {
        let line = r#"curl ^"http://a/?x=1^&y=2^%^20^" -d ^"^{^\^"a^\^":^"^ ^"#;
        assert_eq!(of_windows(line), r#"curl "http://a/?x=1&y=2%20" -d "{\"a\":" ^"#);
    }

    #[test]
    fn escapes_become_plain_words() {
        let words = |command: &str| shell_words::split(&plain(command)).unwrap();
        assert_eq!(words(r"curl $'a\'b\u0021\n\x41' c"), ["curl", "a'b!\nA", "c"]);
        assert_eq!(words("curl '$' \"$'\" # comment"), ["curl", "$", "$'"]);
        assert_eq!(words("curl 'a'#b"), ["curl", "a#b"]);
    }
}
