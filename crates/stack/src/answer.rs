//! Reads an app's answer, masks its changing parts, and compares it with the correct answer.

use std::fmt::Write as _;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use stampede_markup::plain_text;
use stampede_mask::mask_foreign;

use super::app::App;
use super::app_manifest::Mask;
use super::error::RuntimeError;

/// One HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers as lower-case name and value, in their order.
    pub headers: Vec<(String, String)>,
    /// The body as UTF-8; invalid bytes are replaced.
    pub body: String,
    /// Bytes of the body, as it was received.
    #[serde(default)]
    pub body_bytes: u64,
}

/// The parts of an answer that change from answer to answer.
#[derive(Clone, Debug, Default)]
pub struct Masks {
    pointers: Vec<String>,
    regexes: Vec<Regex>,
}

/// The headers that an app sets on purpose. The others come from the web server, or change by
/// nature.
const MEANT: [&str; 5] =
    ["content-type", "content-encoding", "cache-control", "location", "content-language"];
/// The text in `contains` that stands for the version which the runtime reports.
const PHP_VERSION: &str = "{{ php_version }}";
/// The text that replaces a masked value.
const MASKED: &str = "*";
/// The most differing lines that are shown; more would hide the message.
const DIFF_LINES_MAX: usize = 8;

impl Masks {
    /// Reads the patterns of `file`.
    ///
    /// # Errors
    /// A pattern is no regular expression.
    pub fn new(file: &str, masks: &[Mask]) -> Result<Masks, RuntimeError> {
        let wrong = |problem: String| RuntimeError::Manifest {
            file: file.into(),
            line: 0,
            column: 0,
            problem,
            nearest: None,
        };
        let mut made = Masks::default();
        for mask in masks {
            match (&mask.pointer, &mask.regex) {
                (Some(pointer), None) if pointer.starts_with('/') => {
                    made.pointers.push(pointer.clone());
                }
                (Some(pointer), None) => {
                    return Err(wrong(format!("JSON pointer `{pointer}` must begin with `/`")));
                }
                (None, Some(regex)) => made
                    .regexes
                    .push(Regex::new(regex).map_err(|error| wrong(format!("`mask`: {error}")))?),
                _ => return Err(wrong("a mask is either `pointer` or `regex`".into())),
            }
        }
        Ok(made)
    }

    /// Returns `body` with its changing parts replaced by `*`. JSON is formatted anew, indented and
    /// with its keys in the app's order, so that two equal answers are equal texts.
    pub fn apply(&self, body: &str) -> String {
        let text = match serde_json::from_str::<Value>(body) {
            Ok(mut json) => {
                for pointer in &self.pointers {
                    mask(&mut json, pointer);
                }
                serde_json::to_string_pretty(&json).unwrap_or_default()
            }
            Err(_) => body.to_string(),
        };
        self.regexes.iter().fold(text, |text, regex| regex.replace_all(&text, MASKED).into_owned())
    }
}

fn mask(json: &mut Value, pointer: &str) {
    match pointer.strip_suffix("/*") {
        Some(parent) => match json.pointer_mut(parent) {
            Some(Value::Object(map)) => map.values_mut().for_each(|value| *value = MASKED.into()),
            Some(Value::Array(list)) => list.iter_mut().for_each(|value| *value = MASKED.into()),
            _ => {}
        },
        None => {
            if let Some(value) = json.pointer_mut(pointer) {
                *value = MASKED.into();
            }
        }
    }
}

impl Answer {
    /// An answer whose body is text.
    pub fn of_text(status: u16, headers: Vec<(String, String)>, body: impl Into<String>) -> Answer {
        let body = body.into();
        Answer { status, headers, body_bytes: body.len() as u64, body }
    }

    /// The first value of a header; `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Status, the headers of `MEANT`, and the masked body as one text.
    pub fn masked(&self, masks: &Masks) -> String {
        self.head() + "\n" + &masks.apply(&self.body)
    }

    /// Status and the headers of `MEANT`, one per line.
    pub(super) fn head(&self) -> String {
        let mut text = format!("{}\n", self.status);
        for name in MEANT {
            if let Some(value) = self.header(name) {
                let value = value.to_ascii_lowercase().replace("; ", ";");
                let _ = writeln!(text, "{name}: {value}");
            }
        }
        text
    }

    /// The body's message in one line.
    pub fn gist(&self) -> String {
        gist(&self.body)
    }

    /// What differs from the answer that `app` should give. `None`: nothing does.
    pub fn differs_from(&self, app: &App) -> Option<String> {
        let expect = &app.manifest.expect;
        if self.status != expect.status {
            let gist = gist(&self.body);
            return Some(format!("status {} instead of {}, `{gist}`", self.status, expect.status));
        }
        for (name, value) in &expect.headers {
            let seen = self.header(&name.to_lowercase()).unwrap_or("none");
            if !seen.starts_with(value.as_str()) {
                let seen = mask_foreign(seen);
                return Some(format!("header `{name}` is `{seen}` instead of `{value}`"));
            }
        }
        if let Some(part) = app.contains()
            && !self.body.contains(part)
        {
            return Some(format!("the body does not contain `{part}`"));
        }
        // The parts that name the PHP version are checked later, when the version is known.
        let mut parts = expect.contains.iter().filter(|part| !part.contains(PHP_VERSION));
        if let Some(part) = parts.find(|part| !self.body.contains(part.as_str())) {
            return Some(format!("the body does not contain `{part}`"));
        }
        let expected = app.expected_body.as_ref()?;
        let seen = app.masks.apply(&self.body);
        (seen.trim_end() != expected.trim_end()).then(|| {
            format!("the body is not the expected one\n{}", diff(expected, &mask_foreign(&seen)))
        })
    }
}

/// The message of a page in one line: its title, or else its first line. If that line has no letter
/// or digit, such as a single brace, the whole body is used.
pub(super) fn gist(body: &str) -> String {
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let begin = at + lower[at..].find('>')? + 1;
        Some(&body[begin..begin + lower[begin..].find("</title")?])
    });
    let line = match title.map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => &plain_text(title),
        None => {
            // PHP writes it before its messages.
            let body = body.trim().trim_start_matches("<br />").trim();
            let first = body.lines().next().unwrap_or_default();
            if first.contains(char::is_alphanumeric) { first } else { body }
        }
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    // Secrets are masked before the text is cut, since a cut secret would not be recognised.
    mask_foreign(&words.join(" ")).chars().take(120).collect()
}

/// Says which of the expected parts that name the PHP version is not in the answer; `None`: all
/// are.
pub fn missing_version_text(answer: &Answer, app: &App, version: &str) -> Option<String> {
    let parts = app.manifest.expect.contains.iter().filter(|part| part.contains(PHP_VERSION));
    let mut parts = parts.map(|part| part.replace(PHP_VERSION, version));
    let part = parts.find(|part| !answer.body.contains(part.as_str()))?;
    Some(format!("the body does not contain `{part}`"))
}

/// The SHA-256 as hexadecimal digits.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The lines that differ, `-` expected and `+` seen, without the equal lines at both ends.
pub fn diff(expected: &str, seen: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) =
        (expected.trim_end().lines().collect(), seen.trim_end().lines().collect());
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(a, b)| a == b);
    let tail = tail.count();
    let gone = a[head..a.len() - tail].iter().map(|line| format!("  - {line}"));
    let come = b[head..b.len() - tail].iter().map(|line| format!("  + {line}"));
    let lines: Vec<String> = gone.chain(come).collect();
    let more = lines.len().saturating_sub(DIFF_LINES_MAX);
    let mut text = lines[..lines.len() - more].join("\n");
    if more > 0 {
        let _ = write!(text, "\n  … {more} more");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masks(pointer: &str) -> Masks {
        Masks { pointers: vec![pointer.into()], regexes: Vec::new() }
    }

    #[test]
    fn the_gist_of_a_page_is_its_title_or_its_first_line() {
        let html = "<!DOCTYPE html>\n<html><head><TITLE lang=en>\n  No table\n `orders` </TITLE>";
        assert_eq!(gist(html), "No table `orders`");
        for (body, said) in [
            ("\nfirst\nsecond", "first"),
            ("<br />\n<b>Warning</b>:  no a<br />\n", "<b>Warning</b>: no a<br />"),
            ("{\n  \"error\": \"no\"\n}", "{ \"error\": \"no\" }"),
            ("<title></title>", "<title></title>"),
            ("<title>never closed", "<title>never closed"),
            ("İ<title>é</title>", "é"),
            ("", ""),
        ] {
            assert_eq!(gist(body), said);
        }
    }

    #[test]
    fn a_masked_answer_stays_the_same_when_masked_parts_change() {
        let masks = masks("/pid");
        assert_eq!(masks.apply(r#"{"pid":1,"a":[2]}"#), masks.apply(r#"{ "pid": 9, "a": [2] }"#));
        assert_ne!(masks.apply(r#"{"pid":1,"a":[2]}"#), masks.apply(r#"{"pid":1,"a":[3]}"#));
    }

    #[test]
    fn a_star_in_a_pointer_masks_values_and_keeps_keys() {
        let masks = masks("/php/*");
        let one = masks.apply(r#"{"php":{"a":1}}"#);
        assert_eq!(one, masks.apply(r#"{"php":{"a":2}}"#));
        assert_ne!(one, masks.apply(r#"{"php":{"b":1}}"#));
    }

    #[test]
    fn a_regex_masks_text_that_is_no_json() {
        let masks = Masks { pointers: vec![], regexes: vec![Regex::new("[0-9]+ ms").unwrap()] };
        assert_eq!(masks.apply("took 12 ms"), "took * ms".replace(" ms", ""));
    }

    #[test]
    fn a_difference_shows_only_what_differs() {
        insta::assert_snapshot!(diff("a\nb\nc\nd", "a\nx\nc2\nd"), @r"
          - b
          - c
          + x
          + c2
        ");
        let long: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        assert!(diff("", &long.join("\n")).ends_with("… 12 more"));
    }
}
