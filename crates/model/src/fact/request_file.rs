//! What a request file gave to the loads of a run.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry::{EntryError, Skip};
use crate::words;

/// A request file whose requests are sent, and what was not taken of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestFile {
    /// Path of the file.
    pub file: String,
    /// Name of its format.
    pub format: String,
    /// Number of requests in it that can be sent.
    pub requests: u64,
    /// Number of requests that are sent in turn.
    pub sent: u64,
    /// Every how many requests one is sent. 1: all of them are.
    pub every: u64,
    /// Entries that are not sent, by reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<SkippedEntries>,
    /// Entries that are no valid requests. Null: there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<BrokenEntries>,
    /// Parts of a script of another tool that are not taken over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutPart>,
}

/// A part of another tool's script that is not taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutPart {
    /// What it is, in English.
    pub what: String,
    /// Its lines, counted from 1.
    pub lines: Vec<u64>,
    /// What happens instead, in English.
    pub instead: String,
}

/// Entries of a request file that are not sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedEntries {
    /// The reason.
    pub why: Skip,
    /// Their number.
    pub entries: u64,
}

/// Entries of a request file that are no valid requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrokenEntries {
    /// Their number.
    pub entries: u64,
    /// The line of the first one.
    pub line: u64,
    /// What is wrong with the first one.
    pub error: EntryError,
}

impl fmt::Display for RequestFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RequestFile { file, format, requests, sent, every, skipped, broken, left_out: parts } =
            self;
        write!(f, "`{file}` ({format}): {}", words::quantity(*requests, "request"))?;
        if *every > 1 {
            let (every, sent) = (words::count(*every), words::count(*sent));
            write!(f, "; one in {every} is sent, {sent} in all")?;
        }
        let mut left_out: Vec<String> = skipped
            .iter()
            .map(|one| format!("{} ({})", words::count(one.entries), one.why))
            .collect();
        if let Some(BrokenEntries { entries, line, error }) = broken {
            let entries = words::count(*entries);
            left_out.push(format!("{entries} (not valid; the first is in line {line}: {error})"));
        }
        if !left_out.is_empty() {
            write!(f, "; entries left out: {}", words::list(&left_out))?;
        }
        match parts.is_empty() {
            true => Ok(()),
            false => write!(f, "; not taken over: {}", parts_shown(parts)),
        }
    }
}

/// The first parts with their lines. All are in the data.
fn parts_shown(parts: &[LeftOutPart]) -> String {
    let shown = |one: &LeftOutPart| {
        let noun = if one.lines.len() == 1 { "line" } else { "lines" };
        let lines: Vec<String> = one.lines.iter().take(SHOWN).map(u64::to_string).collect();
        let more = if one.lines.len() > SHOWN { ", …" } else { "" };
        format!("{} in {noun} {}{more} ({})", one.what, lines.join(", "), one.instead)
    };
    let mut all: Vec<String> = parts.iter().take(SHOWN).map(shown).collect();
    if let Some(more) = parts.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        all.push(format!("{more} more"));
    }
    words::list(&all)
}

/// Parts, and lines of a part, in the sentence.
const SHOWN: usize = 10;
