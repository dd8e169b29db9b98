//! Parses the text of a rule.

use regex::bytes::RegexBuilder;
use stampede_model::quantity::{parse_length, parse_size};
use stampede_model::time::Nanos;

use super::error::{Problem, RuleError};
use super::json::{Expected, Path};
use super::{Compare, Condition, HeaderDemand};

/// A text, and the position up to which it was parsed.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    /// What is left, without blanks around it, and where it begins.
    fn remaining(self) -> (&'a str, usize) {
        let remaining = &self.text[self.at..];
        let begins = self.at + (remaining.len() - remaining.trim_start().len());
        (remaining.trim(), begins)
    }

    /// The next word; empty at the end.
    fn word(&mut self) -> (&'a str, usize) {
        let (remaining, begins) = self.remaining();
        let word = &remaining[..remaining.find(char::is_whitespace).unwrap_or(remaining.len())];
        self.at = begins + word.len();
        (word, begins)
    }

    /// A comparison: a word, or signs that a value may follow without a blank.
    fn operator(&mut self) -> (&'a str, usize) {
        let (remaining, begins) = self.remaining();
        let signs = remaining.find(|c| !"=<>~!".contains(c)).unwrap_or(remaining.len());
        if signs == 0 {
            return self.word();
        }
        self.at = begins + signs;
        (&remaining[..signs], begins)
    }

    /// Everything that is left, which must not be empty.
    fn value(self, operator: &str) -> Result<(&'a str, usize), RuleError> {
        match self.remaining() {
            ("", _) => {
                Err(wrong(self.text.len(), 0, Problem::NoValue { operator: operator.to_owned() }))
            }
            found => Ok(found),
        }
    }
}

fn wrong(offset: usize, length: usize, problem: Problem) -> RuleError {
    RuleError { offset, length, problem }
}

fn bad_operator(of: &'static str, (found, at): (&str, usize)) -> RuleError {
    wrong(at, found.len(), Problem::Operator { of, found: found.to_owned() })
}

/// The condition of the rule.
pub(super) fn condition(text: &str) -> Result<Condition, RuleError> {
    let mut rest = Cursor { text, at: 0 };
    // `size>100` is accepted without blanks.
    let (remaining, begins) = rest.remaining();
    let end = remaining.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(remaining.len());
    rest.at = begins + end;
    match &remaining[..end] {
        "header" => header(rest),
        "body" => body(rest),
        "json" => json(rest),
        "size" => size(rest),
        "time" => time(rest),
        "" if remaining.is_empty() => Err(wrong(begins, 0, Problem::Empty)),
        "status" => Err(wrong(begins, end, Problem::Status)),
        _ => {
            let (found, at) = Cursor { text, at: 0 }.word();
            let near = WORDS.iter().map(|word| (strsim::damerau_levenshtein(word, found), *word));
            let nearest = near.filter(|(distance, _)| *distance <= 2).min().map(|(_, word)| word);
            Err(wrong(at, found.len(), Problem::Unknown { found: found.to_owned(), nearest }))
        }
    }
}

fn header(mut rest: Cursor<'_>) -> Result<Condition, RuleError> {
    let (remaining, at) = rest.remaining();
    let end = remaining.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(remaining.len());
    // Many will first try `header x-cache: HIT`, but the colon is not part of a name.
    let name = &remaining[..end];
    rest.at = at + end;
    if name.is_empty() {
        return Err(wrong(at, 0, Problem::NoHeaderName));
    }
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    {
        return Err(wrong(at, name.len(), Problem::HeaderName { found: name.to_owned() }));
    }
    let (operator, operator_at) = rest.operator();
    let value = match operator {
        "" => HeaderDemand::Anything,
        "==" | "=" => HeaderDemand::Equal(rest.value(operator)?.0.into()),
        "contains" => HeaderDemand::Containing(rest.value(operator)?.0.into()),
        _ => return Err(bad_operator("header", (operator, operator_at))),
    };
    Ok(Condition::Header { name: name.to_owned(), value })
}

fn body(mut rest: Cursor<'_>) -> Result<Condition, RuleError> {
    let (operator, at) = rest.operator();
    match operator {
        "contains" => Ok(Condition::BodyContains(rest.value(operator)?.0.into())),
        "~" | "=~" => pattern(rest.value(operator)?),
        _ => Err(bad_operator("body", (operator, at))),
    }
}

fn pattern((text, at): (&str, usize)) -> Result<Condition, RuleError> {
    let inner = text.strip_prefix('/').and_then(|after| after.rsplit_once('/'));
    let Some((pattern, flags)) = inner.filter(|(pattern, _)| !pattern.is_empty()) else {
        return Err(wrong(at, text.len(), Problem::NotAPattern { found: text.to_owned() }));
    };
    let mut builder = RegexBuilder::new(pattern);
    let flags_at = at + text.len() - flags.len();
    for (offset, flag) in flags.char_indices() {
        match flag {
            'i' => builder.case_insensitive(true),
            'm' => builder.multi_line(true),
            's' => builder.dot_matches_new_line(true),
            'x' => builder.ignore_whitespace(true),
            found => {
                let (at, length) = (flags_at + offset, found.len_utf8());
                return Err(wrong(at, length, Problem::Flag { found }));
            }
        };
    }
    builder.build().map(Condition::BodyMatches).map_err(|error| {
        // The message has several lines with a caret; the last one says what is wrong.
        let text = error.to_string();
        let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let pattern = pattern.to_owned();
        wrong(at + 1, pattern.len(), Problem::Pattern { pattern, why })
    })
}

fn json(mut rest: Cursor<'_>) -> Result<Condition, RuleError> {
    let (remaining, at) = rest.remaining();
    let length = Path::length(remaining);
    let found = &remaining[..length];
    rest.at = at + length;
    if found.is_empty() {
        return Err(wrong(at, 0, Problem::NoPath));
    }
    let Some(path) = Path::parse(found) else {
        return Err(wrong(at, length, Problem::NotAPath { found: found.to_owned() }));
    };
    let (operator, operator_at) = rest.operator();
    let value = match operator {
        "" => None,
        "==" | "=" => {
            let (text, at) = rest.value(operator)?;
            let value = Expected::parse(text).map_err(|error| {
                let (found, why) = (text.to_owned(), error.to_string());
                wrong(at, text.len(), Problem::NotJson { found, why })
            })?;
            Some(value)
        }
        _ => return Err(bad_operator("json", (operator, operator_at))),
    };
    Ok(Condition::Json { path, value })
}

fn size(mut rest: Cursor<'_>) -> Result<Condition, RuleError> {
    let (operator, at) = rest.operator();
    let compare = match operator {
        "==" | "=" => Compare::Equal,
        "<" => Compare::Less,
        "<=" => Compare::AtMost,
        ">" => Compare::More,
        ">=" => Compare::AtLeast,
        _ => return Err(bad_operator("size", (operator, at))),
    };
    let (text, at) = rest.value(operator)?;
    match parse_size(text) {
        Ok(bytes) => Ok(Condition::Size(compare, bytes)),
        Err(_) => Err(wrong(at, text.len(), Problem::NotBytes { found: text.to_owned() })),
    }
}

fn time(mut rest: Cursor<'_>) -> Result<Condition, RuleError> {
    let (operator, at) = rest.operator();
    if operator != "<" {
        return Err(bad_operator("time", (operator, at)));
    }
    let (text, at) = rest.value(operator)?;
    match parse_length(text) {
        Ok(limit) if limit > Nanos(0) => Ok(Condition::Time(limit)),
        _ => Err(wrong(at, text.len(), Problem::NotALength { found: text.to_owned() })),
    }
}

/// Words that a rule may begin with.
const WORDS: [&str; 5] = ["header", "body", "json", "size", "time"];
