//! The rule about the three words that GLOSSARY.md bans because they hide which time is meant.

use super::Finding;
use crate::tree::{File, Tree};

const BANNED: &[&str] = &["latency", "performance", "speed"]; // tidy: foreign word

/// Names that contain such a word: of others, and of a flag that others have too. The CPU governor is
/// excused only as a whole string.
const FOREIGN_NAMES: &[&str] = &[
    "litespeed",
    // tidy: foreign word
    "--speed",
    // tidy: foreign word
    "long = \"speed\"",
    // tidy: foreign word
    "\"performance\"",
    // tidy: foreign word
    "\"performance\\n\"",
];

/// The mark of a line that uses somebody else's name for something.
const FOREIGN_MARK: &str = "tidy: foreign word";

/// No identifier, output or sentence of ours contains a banned word. Prose may quote, emphasise or
/// set one in backticks, to explain the ban or to cite a paper.
pub fn banned(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| !is_third_party(file)) {
        let mut above = "";
        for (number, line) in file.lines() {
            let excused = line.contains(FOREIGN_MARK) || is_excuse(above);
            if !excused
                && let Some(word) = BANNED.iter().find(|word| contains_word(file, line, word))
            {
                let what = format!("`{word}` is banned: say which time is meant (GLOSSARY.md)");
                findings.push(Finding::new(&file.path, number, what));
            }
            above = line;
        }
    }
    findings
}

/// Licences, and lock files that cargo writes.
fn is_third_party(file: &File) -> bool {
    file.name().starts_with("LICENSE") || file.extension() == "lock"
}

/// Whether the line is a comment that excuses the next line.
fn is_excuse(line: &str) -> bool {
    let line = line.trim_start();
    line.contains(FOREIGN_MARK) && (line.starts_with("//") || line.starts_with('#'))
}

fn contains_word(file: &File, line: &str, word: &str) -> bool {
    let line = line.to_lowercase();
    if file.extension() == "md" {
        return without_quotes(&without_names(&line)).contains(word);
    }
    let line = without_names(&line);
    let (code, comment) = split_comment(&line);
    // In our messages backticks quote a value; in TypeScript they contain code.
    let code = if file.extension() == "ts" { code.into() } else { without(code, '`', '`') };
    code.contains(word) || without_quotes(comment).contains(word)
}

fn without_names(line: &str) -> String {
    FOREIGN_NAMES.iter().fold(line.to_owned(), |line, name| line.replace(name, ""))
}

/// Splits a line where its comment begins: at `//` or `#` at the start or after a space. So
/// addresses (`http://`) and anchors do not count.
fn split_comment(line: &str) -> (&str, &str) {
    let begin = line.char_indices().find(|&(at, c)| {
        let opens = line[at..].starts_with("//") || c == '#' || line[at..].starts_with("* ");
        opens && (at == 0 || line[..at].ends_with(' '))
    });
    begin.map_or((line, ""), |(at, _)| line.split_at(at))
}

/// Removes the text between backticks, quotation marks or asterisks.
fn without_quotes(line: &str) -> String {
    [('`', '`'), ('"', '"'), ('“', '”'), ('*', '*')]
        .iter()
        .fold(line.to_string(), |line, &(open, close)| without(&line, open, close))
}

/// Removes the text between two marks. A mark that is never closed removes nothing.
fn without(line: &str, open: char, close: char) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(open) {
        let Some((_, beyond)) = after.split_once(close) else { break };
        kept.push_str(before);
        rest = beyond;
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    // tidy: foreign word
    const WORD: &str = "latency";

    fn found(path: &str, line: &str) -> usize {
        banned(&Tree::of(&[(path, &line.replace("WORD", WORD))])).len()
    }

    #[test]
    fn identifiers_and_output_are_searched() {
        assert_eq!(found("a.rs", "let max_WORD_ns = 1;"), 1);
        assert_eq!(found("a.rs", "struct WordWORD;"), 1);
        assert_eq!(found("a.rs", "println!(\"WORD: {x}\");"), 1);
        assert_eq!(found("a.yaml", "WORD: 3"), 1);
        assert_eq!(found("a.rs", "let response_time_ns = 1;"), 0);
    }

    #[test]
    fn prose_may_quote_and_cite() {
        assert_eq!(found("a.md", "the WORD is low"), 1);
        assert_eq!(found("a.md", "\"WORD\" is banned"), 0);
        assert_eq!(found("a.md", "Tene, *How NOT to Measure WORD*"), 0);
        assert_eq!(found("a.rs", "    // the WORD is low"), 1);
        assert_eq!(found("a.rs", "    // \"WORD\" is banned"), 0);
        assert_eq!(found("a.rs", "let x = \"http://a/WORD\";"), 1);
    }

    #[test]
    fn a_quoted_word_does_not_excuse_another() {
        assert_eq!(found("a.md", "`WORD` is banned, but WORD is here"), 1);
    }

    #[test]
    fn foreign_values_and_names_are_allowed() {
        assert_eq!(found("a.rs", "format!(\"set `WORD` first\")"), 0);
        assert_eq!(found("a.ts", "`${WORD} ms`"), 1);
        assert_eq!(found("a.rs", "[\"litespeed\"]"), 0);
        assert_eq!(found("a.rs", &format!("governors: [\"{}\"]", BANNED[1])), 0);
        assert_eq!(found("a.rs", &format!("\"the {}\"", BANNED[1])), 1);
    }

    #[test]
    fn an_unclosed_mark_hides_nothing() {
        assert_eq!(found("a.md", "2 * WORD"), 1);
        assert_eq!(found("a.rs", "let x = '`'; let WORD = 1;"), 1);
    }

    #[test]
    fn a_foreign_name_is_marked() {
        assert_eq!(found("a.rs", "let x = \"WORD\"; // tidy: foreign word"), 0);
        assert_eq!(found("a.rs", "// tidy: foreign word\nlet x = \"WORD\";"), 0);
        assert_eq!(found("a.rs", "// tidy: foreign word\nlet y = 1;\nlet x = \"WORD\";"), 1);
        assert_eq!(found("a.rs", "let y = 1; // tidy: foreign word\nlet x = \"WORD\";"), 1);
    }
}
