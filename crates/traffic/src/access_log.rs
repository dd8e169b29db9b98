//! Reads the access log of a server: which request each line is about. Many kinds of lines are
//! read, by what they have in common (see the modules), and not by the server's name.

mod columns;
mod fields;
mod json;
mod line;
mod log_format;
mod pairs;
mod quoted;
mod record;
#[cfg(test)]
mod tests;
mod times;
mod words;

use serde::{Deserialize, Serialize};
use stampede_model::entry::Skip;

use self::columns::Columns;
use self::record::{Line, Record, encode, is_url};
use super::TrafficFile;
use super::input::{Draft, Input, ParseError, ParsedEntry};
use crate::request::is_token;

pub use self::log_format::{LogFormat, LogFormatError, LogFormatMistake};

/// Which requests of an access log are sent, by what the server answered then. A line without a
/// status is always sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoggedAnswers {
    /// All of them.
    #[default]
    All,
    /// Not those that were answered with 4xx or 5xx.
    WithoutErrors,
}

/// The host that the requests of an access log are sent to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoggedHost {
    /// The target's.
    #[default]
    Target,
    /// The one that the line has, in the header `Host`; the connection goes to the target.
    Logged,
}

/// What is taken of an access log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSelection {
    /// Methods of the requests. A log contains no bodies, so requests with methods other than GET
    /// and HEAD would differ from the original.
    pub methods: Vec<String>,
    /// Which requests are sent, by what was answered then.
    pub answers: LoggedAnswers,
    /// The host that they are sent to.
    pub host: LoggedHost,
    /// How the lines are written; `None`: each line shows it.
    pub format: Option<LogFormat>,
}

impl Default for LogSelection {
    fn default() -> LogSelection {
        LogSelection {
            methods: ["GET", "HEAD"].map(String::from).to_vec(),
            answers: LoggedAnswers::All,
            host: LoggedHost::Target,
            format: None,
        }
    }
}

#[derive(Debug)]
pub(super) struct AccessLog {
    selection: LogSelection,
    /// The columns that the file says that lines have.
    columns: Option<Columns>,
    line: Vec<u8>,
}

impl AccessLog {
    pub(super) fn new(file: &TrafficFile) -> AccessLog {
        AccessLog { selection: file.log.clone(), columns: None, line: Vec::new() }
    }

    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        loop {
            if !input.line(&mut self.line)? {
                return Ok(ParsedEntry::End);
            }
            let line = self.line.trim_ascii_start();
            if line.is_empty() || is_comment(line, &mut self.columns) {
                continue;
            }
            let format = self.selection.format.as_ref();
            return Ok(match read(line, format, self.columns.as_ref()) {
                Line::Request(record) => self.entry(record, input.line_number(), draft),
                Line::NotHttp => ParsedEntry::Skipped(Skip::NotHttp {}),
                Line::Error => ParsedEntry::Skipped(Skip::ErrorLog {}),
                Line::Other => ParsedEntry::Skipped(Skip::NotLogged {}),
            });
        }
    }

    fn entry(&self, record: Record, line: u64, draft: &mut Draft) -> ParsedEntry {
        let Record { method, target, host, status, time_ns } = record;
        if !is_token(&method) {
            return ParsedEntry::Skipped(Skip::NotHttp {});
        }
        if !self.selection.methods.contains(&method) {
            let method: String = method.chars().take(METHOD_CHARS).collect();
            return ParsedEntry::Skipped(Skip::Method { method });
        }
        let class = status.map(|status| status / 100).filter(|class| *class >= 4);
        if let (Some(class), LoggedAnswers::WithoutErrors) = (class, self.selection.answers) {
            return ParsedEntry::Skipped(Skip::LoggedStatus { class });
        }
        draft.begin(line, &method);
        draft.time_ns = time_ns;
        // The log of a proxy contains the whole URL.
        match is_url(&target) {
            true => {
                let mut url = String::new();
                encode(&target, &mut url);
                draft.set_url(&url);
            }
            false => encode(&target, &mut draft.path),
        }
        match self.selection.host {
            LoggedHost::Target => draft.host.clear(),
            LoggedHost::Logged if draft.host.is_empty() => draft.host = host,
            LoggedHost::Logged => {}
        }
        match draft.path.starts_with('/') {
            true => ParsedEntry::Request,
            false => ParsedEntry::Skipped(Skip::NoPath {}),
        }
    }
}

fn read(line: &[u8], format: Option<&LogFormat>, columns: Option<&Columns>) -> Line {
    match (format, columns) {
        (Some(format), _) => format.read(line),
        (None, Some(columns)) => columns.read(line),
        (None, None) => line::read(line),
    }
}

/// Whether the line is a comment. One that names columns is kept.
fn is_comment(line: &[u8], columns: &mut Option<Columns>) -> bool {
    if let Some(named) = Columns::of(line) {
        *columns = Some(named);
    }
    line.starts_with(b"#")
}

/// How many lines at the beginning of a file say of a request that it was answered, and the lines
/// that neither do nor are otherwise a log's. `None`: this is no log. One of errors alone is one, so
/// that it is called that.
pub(super) fn logged_lines(begin: &[u8]) -> (Option<usize>, Vec<&[u8]>) {
    let (mut columns, mut logged, mut unsent, mut others) = (None, 0, 0, Vec::new());
    for line in begin.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.is_empty() || is_comment(line, &mut columns) {
            continue;
        }
        match read(line, None, columns.as_ref()) {
            Line::Request(_) | Line::NotHttp => logged += 1,
            Line::Error => unsent += 1,
            // What an application says beside its requests.
            Line::Other if json::fields(line).is_some_and(|fields| fields.is_of_log()) => {
                unsent += 1;
            }
            Line::Other => others.push(line),
        }
    }
    let is_log = logged > 0 || columns.is_some() || unsent > others.len();
    (is_log.then_some(logged), others)
}

/// Most characters of a method in a reason.
const METHOD_CHARS: usize = 20;
