//! Regular expressions of others, read into parts and written anew, so that nothing of their text
//! can end what a server's configuration quotes.

/// A part of a regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// This character itself.
    Literal(u8),
    /// A dot.
    Any,
    /// `\d` and the like; the letter.
    Kind(char),
    /// A class, as its items are written.
    Class {
        negated: bool,
        items: Vec<Token>,
        ranges: Vec<(u8, u8)>,
    },
    Start,
    End,
    Open(Group),
    Close,
    Or,
    /// `*`, `+?`, `{2,3}`.
    Repeat(String),
}

/// What a parenthesis opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Capture,
    Plain,
    Ahead,
    NotAhead,
}

/// A regular expression that is understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    tokens: Vec<Token>,
    /// Whether case does not matter.
    pub ignores_case: bool,
    /// The number of its groups.
    pub groups: u8,
}

/// Where a pattern is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// PCRE, against a path.
    Path,
    /// PCRE, against a path with its query, as a client sends it.
    Target,
    /// The same, where `index.html` follows the path that is meant.
    TargetOfIndex,
    /// Go's regexp, against a path.
    Go,
    /// PCRE in a file in which `$(` is special.
    Ini,
}

/// The characters that a text keeps in any configuration.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/')
}

impl Pattern {
    /// Reads a regular expression; `None`: it is wrong, or has parts that not all servers know.
    pub fn read(text: &str, ignores_case: bool) -> Option<Pattern> {
        let mut bytes = text.bytes().peekable();
        let (mut tokens, mut groups, mut depth) = (Vec::new(), 0u8, 0usize);
        while let Some(byte) = bytes.next() {
            let token = match byte {
                b'.' => Token::Any,
                b'^' => Token::Start,
                b'$' => Token::End,
                b'|' => Token::Or,
                b'(' => {
                    depth += 1;
                    let group = group(&mut bytes)?;
                    groups += u8::from(group == Group::Capture);
                    Token::Open(group)
                }
                b')' => {
                    depth = depth.checked_sub(1)?;
                    Token::Close
                }
                b'[' => class(&mut bytes)?,
                b'*' | b'+' | b'?' | b'{' => {
                    if !tokens.last().is_some_and(is_repeatable) {
                        return None;
                    }
                    repeat(byte, &mut bytes)?
                }
                b'\\' => escape(bytes.next()?)?,
                byte => Token::Literal(Some(byte).filter(u8::is_ascii)?),
            };
            tokens.push(token);
        }
        (depth == 0 && groups <= 9).then_some(Pattern { tokens, ignores_case, groups })
    }

    /// The pattern of this text itself.
    pub fn literal(text: &str) -> Option<Pattern> {
        let bytes = text.bytes().map(|byte| byte.is_ascii().then_some(Token::Literal(byte)));
        Some(Pattern { tokens: bytes.collect::<Option<_>>()?, ignores_case: false, groups: 0 })
    }

    /// The pattern of this path alone.
    pub fn whole(path: &str) -> Option<Pattern> {
        let mut pattern = Pattern::literal(path)?;
        pattern.tokens.insert(0, Token::Start);
        pattern.tokens.push(Token::End);
        Some(pattern)
    }

    /// The pattern of all paths that are `path` or below it; what follows is its only group.
    pub fn below(path: &str) -> Option<Pattern> {
        let mut pattern = Pattern::literal(path)?;
        pattern.tokens.insert(0, Token::Start);
        let rest = if path.ends_with('/') { "(.*)$" } else { "(/.*)?$" };
        pattern.tokens.extend(Pattern::read(rest, false)?.tokens);
        pattern.groups = 1;
        Some(pattern)
    }

    /// The pattern of a name with `*` and `?`, as shells have them.
    pub fn glob(text: &str) -> Option<Pattern> {
        let mut tokens = vec![Token::Start];
        for byte in text.bytes() {
            match byte {
                b'*' => tokens.extend([Token::Any, Token::Repeat("*".into())]),
                b'?' => tokens.push(Token::Any),
                b'[' | b'\\' => return None,
                byte => tokens.push(Token::Literal(Some(byte).filter(u8::is_ascii)?)),
            }
        }
        tokens.push(Token::End);
        Some(Pattern { tokens, ignores_case: false, groups: 0 })
    }

    /// Whether each path matches.
    pub fn is_any(&self) -> bool {
        use Token::{Any, Close, End, Open, Repeat, Start};
        let star = |text: &String| text == "*";
        match self.tokens.as_slice() {
            [] | [Start] | [End] => true,
            [Any, Repeat(how)] | [Start, Any, Repeat(how)] | [Start, Any, Repeat(how), End] => {
                star(how)
            }
            [Start, Open(Group::Capture), Any, Repeat(how), Close, End]
            | [Open(Group::Capture), Any, Repeat(how), Close] => star(how),
            _ => false,
        }
    }

    /// The expression for a whole path, of which this pattern is about what follows `prefix`
    /// (`/sub/`; empty: the whole). `None`: this flavour cannot say it.
    pub fn write(&self, prefix: &str, flavour: Flavour) -> Option<String> {
        self.write_groups(prefix, flavour, true)
    }

    /// The expression for paths that begin with this text.
    pub fn write_plain_from_start(&self, flavour: Flavour) -> Option<String> {
        let mut out = String::from("^");
        Writer { flavour, counts: false, prefix: "" }.tokens(&self.tokens, &mut out)?;
        Some(out)
    }

    /// The expression for a last part of a path, without an anchor at its begin.
    pub fn write_name(&self, flavour: Flavour) -> Option<String> {
        let writer = Writer { flavour, counts: false, prefix: "" };
        let any = if writer.has_query() { "[^/?]*" } else { "[^/]*" };
        let one = |branch: &[Token]| {
            let mut text = String::new();
            let rest = match branch {
                [Token::Start, rest @ ..] => rest,
                rest => {
                    text.push_str(any);
                    rest
                }
            };
            // Within a name nothing else begins.
            let has_start = rest.contains(&Token::Start);
            let rest: Vec<Token> = rest.iter().map(within_name).collect::<Option<_>>()?;
            (!has_start).then(|| writer.tokens(&rest, &mut text)).flatten()?;
            let is_ended = matches!(rest.last(), Some(Token::End));
            text.push_str(if is_ended { "" } else { any });
            Some(text)
        };
        let branches: Vec<String> = self.branches().into_iter().map(one).collect::<Option<_>>()?;
        let case = if self.ignores_case { "(?i:" } else { "(?:" };
        let end = match flavour {
            Flavour::Target | Flavour::TargetOfIndex => "(?=[?]|$)",
            Flavour::Ini => "(?:$)",
            Flavour::Path | Flavour::Go => "$",
        };
        Some(format!("{case}{}){end}", branches.join("|")))
    }

    /// The same without groups that count.
    pub fn write_plain(&self, prefix: &str, flavour: Flavour) -> Option<String> {
        self.write_groups(prefix, flavour, false)
    }

    fn write_groups(&self, prefix: &str, flavour: Flavour, counts: bool) -> Option<String> {
        let writer = Writer { flavour, counts, prefix };
        let mut out = String::from(if self.ignores_case { "(?i)" } else { "" });
        let mut before = String::new();
        for byte in prefix.bytes() {
            literal(byte.is_ascii().then_some(byte)?, &mut before);
        }
        let branches = self.branches();
        let any = writer.any();
        let one = |branch: &[Token]| {
            let mut text = String::new();
            match branch {
                [Token::Start, rest @ ..] => writer.tokens(rest, &mut text)?,
                rest => {
                    text.push_str(&format!("{any}*?"));
                    writer.tokens(rest, &mut text)?;
                }
            }
            Some(text)
        };
        let branches: Vec<String> = branches.into_iter().map(one).collect::<Option<_>>()?;
        out.push_str(&format!("^{before}(?:{})", branches.join("|")));
        Some(out)
    }

    /// The alternatives outside of all groups.
    fn branches(&self) -> Vec<&[Token]> {
        let (mut branches, mut begin, mut depth) = (Vec::new(), 0, 0usize);
        for (at, token) in self.tokens.iter().enumerate() {
            match token {
                Token::Open(_) => depth += 1,
                Token::Close => depth = depth.saturating_sub(1),
                Token::Or if depth == 0 => {
                    branches.push(&self.tokens[begin..at]);
                    begin = at + 1;
                }
                _ => {}
            }
        }
        branches.push(&self.tokens[begin..]);
        branches
    }
}

/// The token in an expression for a whole path, where it must not match a slash: a name has none. `None`:
/// it might.
fn within_name(token: &Token) -> Option<Token> {
    let without_slash = |mut items: Vec<Token>, ranges: Vec<(u8, u8)>| {
        if !items.contains(&Token::Literal(b'/')) {
            items.push(Token::Literal(b'/'));
        }
        Token::Class { negated: true, items, ranges }
    };
    match token {
        Token::Any => Some(without_slash(Vec::new(), Vec::new())),
        Token::Class { negated: true, items, ranges } => {
            Some(without_slash(items.clone(), ranges.clone()))
        }
        Token::Kind('D' | 'W' | 'S') => None,
        other => Some(other.clone()),
    }
}

fn is_repeatable(token: &Token) -> bool {
    matches!(
        token,
        Token::Literal(_)
            | Token::Any
            | Token::Kind('d' | 'D' | 'w' | 'W' | 's' | 'S')
            | Token::Class { .. }
            | Token::Close
    )
}

fn group(bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>) -> Option<Group> {
    if bytes.next_if_eq(&b'?').is_none() {
        return Some(Group::Capture);
    }
    match bytes.next()? {
        b':' => Some(Group::Plain),
        b'=' => Some(Group::Ahead),
        b'!' => Some(Group::NotAhead),
        _ => None,
    }
}

fn escape(byte: u8) -> Option<Token> {
    match byte {
        b'd' | b'D' | b'w' | b'W' | b's' | b'S' | b'b' | b'B' => Some(Token::Kind(byte.into())),
        byte if byte.is_ascii_alphanumeric() || !byte.is_ascii() => None,
        byte => Some(Token::Literal(byte)),
    }
}

fn repeat(byte: u8, bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>) -> Option<Token> {
    let mut text = String::from(char::from(byte));
    if byte == b'{' {
        loop {
            let next = bytes.next()?;
            text.push(next.into());
            match next {
                b'0'..=b'9' if text.len() < 8 => {}
                b',' if text.len() > 2 && text.matches(',').count() == 1 => {}
                b'}' if text.len() > 2 => break,
                _ => return None,
            }
        }
        let bounds: Vec<u32> =
            text.trim_matches(['{', '}']).split(',').filter_map(|one| one.parse().ok()).collect();
        if bounds.iter().any(|bound| *bound > 200) || !bounds.is_sorted_by(|a, b| a <= b) {
            return None;
        }
    }
    if bytes.next_if_eq(&b'?').is_some() {
        text.push('?');
    }
    // `++` is not known everywhere.
    bytes
        .peek()
        .is_none_or(|next| !matches!(next, b'*' | b'+' | b'?' | b'{'))
        .then_some(Token::Repeat(text))
}

fn class(bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>) -> Option<Token> {
    let negated = bytes.next_if_eq(&b'^').is_some();
    let (mut items, mut ranges) = (Vec::new(), Vec::new());
    loop {
        let byte = bytes.next()?;
        let is_first = items.is_empty() && ranges.is_empty();
        let item = match byte {
            b']' if !is_first => break,
            b'[' if bytes.peek() == Some(&b':') => return None,
            b'\\' => escape(bytes.next()?)?,
            byte => Token::Literal(Some(byte).filter(u8::is_ascii)?),
        };
        // A hyphen is a range where something follows it.
        let mut ahead = bytes.clone();
        let is_range = ahead.next() == Some(b'-') && ahead.peek().is_some_and(|next| *next != b']');
        match item {
            Token::Literal(from) if is_range => {
                bytes.next();
                let to = match bytes.next()? {
                    b'\\' => escape(bytes.next()?)?,
                    to => Token::Literal(to),
                };
                let Token::Literal(to) = to else { return None };
                if to < from || !to.is_ascii() {
                    return None;
                }
                ranges.push((from, to));
            }
            Token::Kind('b' | 'B') => return None,
            item => items.push(item),
        }
    }
    Some(Token::Class { negated, items, ranges })
}

fn literal(byte: u8, out: &mut String) {
    match byte {
        b'.' => out.push_str("\\."),
        b'-' => out.push('-'),
        byte if is_plain(byte) => out.push(byte.into()),
        byte => out.push_str(&format!("\\x{byte:02X}")),
    }
}

/// Writes the parts of a pattern for one flavour.
struct Writer<'a> {
    flavour: Flavour,
    counts: bool,
    prefix: &'a str,
}

impl Writer<'_> {
    fn has_query(&self) -> bool {
        matches!(self.flavour, Flavour::Target | Flavour::TargetOfIndex)
    }

    fn any(&self) -> &'static str {
        if self.has_query() { "[^?]" } else { "." }
    }

    fn tokens(&self, tokens: &[Token], out: &mut String) -> Option<()> {
        for token in tokens {
            match token {
                Token::Literal(byte) => literal(*byte, out),
                Token::Any => out.push_str(self.any()),
                Token::Kind('D' | 'W' | 'S') if self.has_query() => return None,
                Token::Kind(letter) => out.extend(['\\', *letter]),
                Token::Class { negated, items, ranges } => {
                    self.class(*negated, items, ranges, out)?
                }
                Token::Start if self.flavour == Flavour::Go => return None,
                // The subject begins behind the prefix.
                Token::Start if self.prefix.is_empty() => out.push('^'),
                Token::Start => {
                    out.push_str("(?<=^");
                    self.prefix.bytes().for_each(|byte| literal(byte, out));
                    out.push(')');
                }
                Token::End => out.push_str(match self.flavour {
                    Flavour::Path | Flavour::Go => "$",
                    Flavour::Ini => "(?:$)",
                    Flavour::Target => "(?=[?]|$)",
                    Flavour::TargetOfIndex => "(?=index\\.html(?:[?]|$))",
                }),
                Token::Open(Group::Capture) if self.counts => out.push('('),
                Token::Open(Group::Capture | Group::Plain) => out.push_str("(?:"),
                Token::Open(_) if self.flavour == Flavour::Go => return None,
                Token::Open(Group::Ahead) => out.push_str("(?="),
                Token::Open(Group::NotAhead) => out.push_str("(?!"),
                Token::Close => out.push(')'),
                Token::Or => out.push('|'),
                Token::Repeat(how) => out.push_str(how),
            }
        }
        Some(())
    }

    fn class(
        &self,
        negated: bool,
        items: &[Token],
        ranges: &[(u8, u8)],
        out: &mut String,
    ) -> Option<()> {
        let one = |byte: u8, out: &mut String| match byte {
            b'-' => out.push_str("\\-"),
            byte => literal(byte, out),
        };
        out.push_str(if negated { "[^" } else { "[" });
        if negated && self.has_query() {
            out.push('?');
        }
        for item in items {
            match item {
                Token::Literal(byte) => one(*byte, out),
                Token::Kind('D' | 'W' | 'S') if self.has_query() => return None,
                Token::Kind(letter) => out.extend(['\\', *letter]),
                _ => return None,
            }
        }
        for (from, to) in ranges {
            one(*from, out);
            out.push('-');
            one(*to, out);
        }
        out.push(']');
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str, prefix: &str, flavour: Flavour) -> Option<String> {
        Pattern::read(text, false)?.write(prefix, flavour)
    }

    #[test]
    fn a_name_has_no_slash() {
        let name = |text: &str| Pattern::read(text, false)?.write_name(Flavour::Path);
        assert_eq!(name("^[^.]+$").as_deref(), Some("(?:[^\\./]+$)$"));
        assert_eq!(name("^a.c").as_deref(), Some("(?:a[^/]c[^/]*)$"));
        assert_eq!(name("\\.(ini|log)$").as_deref(), Some("(?:[^/]*\\.(?:ini|log)$)$"));
        assert_eq!(name("^\\S+$"), None);
    }

    #[test]
    fn a_pattern_is_about_what_follows_its_directory() {
        let path = |text| written(text, "/", Flavour::Path).unwrap_or_default();
        assert_eq!(path("^(.+)$"), "^/(?:(.+)$)");
        assert_eq!(path("."), "^/(?:.*?.)");
        assert_eq!(path("^a|b\\.x$"), "^/(?:a|.*?b\\.x$)");
        assert_eq!(path("(^|/)x"), "^/(?:.*?((?<=^/)|/)x)");
        assert_eq!(path("^a\"{2}; [^ ;$-]"), "^/(?:a\\x22{2}\\x3B\\x20[^\\x20\\x3B\\x24\\-])");
        assert_eq!(written("(^|/)x", "/", Flavour::Go), None);
        assert_eq!(
            written("^(.+)$", "/s/", Flavour::Target).as_deref(),
            Some("^/s/(?:([^?]+)(?=[?]|$))")
        );
        assert_eq!(
            written("^[^/]+$", "/", Flavour::Target).as_deref(),
            Some("^/(?:[^?/]+(?=[?]|$))")
        );
        for wrong in
            ["(a", "a)", "*", "a++", "[a", "\\1", "(?<n>a)", "a{3,2}", "é", "[[:alpha:]]", "a{"]
        {
            assert_eq!(Pattern::read(wrong, false), None, "{wrong}");
        }
    }

    proptest! {
        /// No text ends a quote, a line, a variable or a block.
        #[test]
        fn nothing_of_a_pattern_is_configuration(text in ".{0,40}", parts in proptest::collection::vec(prop_oneof![Just("("), Just(")"), Just("[^"), Just("]"), Just("\""), Just("'"), Just("{"), Just("}"), Just(";"), Just("\\"), Just("$1"), Just("${x}"), Just("{$HOME}"), Just("a"), Just("*"), Just("%(x)"), Just("\n"), Just("#"), Just("~"), Just(" ")], 0..12)) {
            for text in [text, parts.concat()] {
                for flavour in [Flavour::Path, Flavour::Target, Flavour::TargetOfIndex, Flavour::Go, Flavour::Ini] {
                    if let Some(out) = written(&text, "/", flavour) {
                        let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"^$.*+?()[]|\\-{},_/:=!<".contains(&byte);
                        prop_assert!(out.bytes().all(is_safe), "{out}");
                        prop_assert!(!out.contains("{$") && !out.contains("${") && !out.contains("\\\\"), "{out}");
                        prop_assert!(flavour != Flavour::Ini || !out.contains("$("), "{out}");
                    }
                }
            }
        }
    }
}
