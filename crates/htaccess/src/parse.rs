//! Reads the text of an `.htaccess` into directives, each with its line and the sections around it.

/// A directive, with the sections that it stands in. Sections whose condition is known are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directive {
    /// The number of its first line, from 1.
    pub line: u32,
    /// Its name in lower case.
    pub name: String,
    /// Its arguments, without quotes.
    pub args: Vec<String>,
    /// The text for readers: its words with single blanks.
    pub text: String,
    /// The whole line as it is.
    pub raw: String,
    /// The sections around it, the outermost first.
    pub within: Vec<Section>,
}

/// A section that depends on the request, or whose meaning is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// Its name in lower case, as in `<files`.
    pub name: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The number of its line: two sections with the same arguments are two.
    pub line: u32,
    /// The whole line as it is.
    pub raw: String,
}

/// The directives of a text, in their order.
pub(crate) fn directives(text: &str) -> Vec<Directive> {
    let mut found = Vec::new();
    // Each open section: its name, whether what it holds counts, and what stays of it.
    let mut open: Vec<(String, bool, Option<Section>)> = Vec::new();
    for (line, text) in whole_lines(text) {
        let words = words(&text);
        let Some(first) = words.first() else { continue };
        let name = first.to_ascii_lowercase();
        if let Some(closed) = name.strip_prefix("</") {
            let closed = format!("<{}", closed.trim_end_matches('>'));
            if let Some(place) = open.iter().rposition(|(name, ..)| *name == closed) {
                open.truncate(place);
            }
        } else if name.starts_with('<') {
            let inner = text.trim_start_matches('<').trim_end();
            let inner = inner.strip_suffix('>').unwrap_or(inner);
            let mut args = self::words(inner);
            let name = match args.is_empty() {
                true => "<".to_owned(),
                false => format!("<{}", args.remove(0).to_ascii_lowercase()),
            };
            let (counts, kept) = match condition(&name, &args) {
                Some(counts) => (counts, None),
                None => (true, Some(Section { name: name.clone(), args, line, raw: text.clone() })),
            };
            open.push((name, counts, kept));
        } else if open.iter().all(|(_, counts, _)| *counts) {
            let within = open.iter().filter_map(|(.., kept)| kept.clone()).collect();
            let args = words[1..].to_vec();
            let raw = text;
            let text = raw.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            found.push(Directive { line, name, args, text, raw, within });
        }
    }
    found
}

/// The lines with their numbers. A backslash at the end continues a line. Comments are gone.
fn whole_lines(text: &str) -> Vec<(u32, String)> {
    let (mut found, mut whole, mut begin) = (Vec::new(), String::new(), 0);
    for (number, line) in (1..).zip(text.lines()) {
        if whole.is_empty() {
            begin = number;
        }
        let line = line.trim();
        if let Some(part) = line.strip_suffix('\\') {
            whole = whole + part + " ";
            continue;
        }
        let line = std::mem::take(&mut whole) + line;
        if !line.is_empty() && !line.starts_with('#') {
            found.push((begin, line));
        }
    }
    found
}

/// The words of a line. Quotes keep blanks together; in them a backslash before a quote or a
/// backslash is gone, as Apache reads it.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        let quote = Some(first).filter(|first| matches!(first, '"' | '\''));
        let mut chars = rest.char_indices().skip(usize::from(quote.is_some())).peekable();
        let (mut word, mut end) = (String::new(), rest.len());
        while let Some((at, one)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            match one {
                '\\' if next == Some('\\') || (quote.is_some() && next == quote) => {
                    word.extend(next);
                    chars.next();
                }
                one if quote.map_or(one.is_ascii_whitespace(), |quote| quote == one) => {
                    end = at + one.len_utf8();
                    break;
                }
                one => word.push(one),
            }
        }
        words.push(word);
        rest = rest[end..].trim_start();
    }
    words
}

/// Whether what a section holds counts; `None`: it depends on the request, or nobody knows.
fn condition(name: &str, args: &[String]) -> Option<bool> {
    let first = args.first().map(|one| one.to_ascii_lowercase()).unwrap_or_default();
    let (is_not, what) = match first.strip_prefix('!') {
        Some(what) => (true, what.to_owned()),
        None => (false, first),
    };
    match name {
        "<ifmodule" => Some(has_module(&what) != is_not),
        // Nothing is defined.
        "<ifdefine" => Some(is_not),
        "<ifversion" => Some(is_version(args)),
        _ => None,
    }
}

/// The modules that an Apache here has where they are needed. Compression is the plan's.
fn has_module(name: &str) -> bool {
    let short = name.strip_prefix("mod_").and_then(|name| name.strip_suffix(".c"));
    let short = short.or_else(|| name.strip_suffix("_module")).unwrap_or(name);
    const MODULES: [&str; 16] = [
        "access_compat",
        "alias",
        "auth_basic",
        "authn_core",
        "authz_core",
        "authz_host",
        "autoindex",
        "core",
        "dir",
        "env",
        "expires",
        "headers",
        "mime",
        "php",
        "rewrite",
        "setenvif",
    ];
    MODULES.contains(&short)
}

/// Whether an Apache 2.4 is meant.
fn is_version(args: &[String]) -> bool {
    let (operator, version) = match args {
        [version] => ("=", version.as_str()),
        [operator, version, ..] => (operator.as_str(), version.as_str()),
        [] => return false,
    };
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let asked = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    // A bare `2.4` is 2.4.0, which is older than any that is meant.
    match operator {
        ">=" | ">" => asked <= (2, 4),
        "<=" | "<" => asked > (2, 4),
        "!=" | "!" => asked != (2, 4),
        _ => asked == (2, 4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_apache_reads_them() {
        assert_eq!(
            words(r#"RewriteRule "^a b$" 'c"d' [L]"#),
            ["RewriteRule", "^a b$", "c\"d", "[L]"]
        );
        assert_eq!(words(r#"A "say \"x\"" \.php \\."#), ["A", "say \"x\"", r"\.php", r"\."]);
        assert_eq!(words("A \"open"), ["A", "open"]);
    }

    #[test]
    fn sections_are_known_or_kept() {
        let text = "<IfModule mod_rewrite.c>\n A 1\n</IfModule>\n<IfModule !mod_rewrite.c>\nB\n\
            <Files \"x y\">\nC\n</Files>\n</IfModule>\n<FilesMatch \"\\.(ini|env)$\">\nD a \\\n  b\n</FilesMatch>\n\
            # E\n<IfDefine X>\nF\n</IfDefine>\n<IfVersion >= 2.4>\nG\n</IfVersion>\nH";
        let found = directives(text);
        let names: Vec<_> = found.iter().map(|one| (one.line, one.name.as_str())).collect();
        assert_eq!(names, [(2, "a"), (11, "d"), (19, "g"), (21, "h")]);
        assert_eq!(found[1].within[0].args, ["\\.(ini|env)$"]);
        assert_eq!(found[1].args, ["a", "b"]);
        assert_eq!(found[3].within, []);
    }
}
