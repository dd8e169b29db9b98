//! What a load fires is asked once before it: errors are answered fast, and would be measured.

use std::time::Duration;

use super::Subject;
use super::measured::Measured;
use crate::interrupt;
use crate::plan::model::RequestSpec;

/// Different paths that are asked; of a longer list the first.
const PATHS_MAX: usize = 100;
/// For one answer: some are slow on purpose.
const WITHIN: Duration = Duration::from_secs(30);
/// Shown of many.
const SHOWN: usize = 5;

/// Why the load is not worth firing, with the last lines of the logs: a path is answered with an
/// error of the server, or all are with one of the client.
pub(super) fn check(subject: &Subject<'_>, measured: &Measured) -> Result<(), String> {
    let Measured::Started(running) = measured else { return Ok(()) };
    let mut asked: Vec<&RequestSpec> = Vec::new();
    // What writes is not sent once more than the plan says.
    for request in subject.load.requests.iter().filter(|request| request.method == "GET") {
        if asked.len() < PATHS_MAX && asked.iter().all(|known| known.path != request.path) {
            asked.push(request);
        }
    }
    let mut wrong = Vec::new();
    let mut has_failed = false;
    for request in asked.iter().take_while(|_| !interrupt::asked()) {
        // Without an answer the load itself will tell.
        let answer = running.ask_path(&request.path, &request.headers, WITHIN);
        let Some(answer) = answer.ok().filter(|answer| answer.status >= 400) else { continue };
        has_failed |= answer.status >= 500;
        let (path, status, gist) = (&request.path, answer.status, answer.gist());
        wrong.push(format!("`{path}` is answered with status {status}, `{gist}`"));
    }
    if !has_failed && (wrong.is_empty() || wrong.len() < asked.len()) {
        return Ok(());
    }
    let more = wrong.len().saturating_sub(SHOWN);
    wrong.truncate(SHOWN);
    if more > 0 {
        wrong.push(format!("and {more} more"));
    }
    let log = match running.last_lines() {
        lines if lines.is_empty() => lines,
        lines => format!("\n{lines}"),
    };
    Err(running.without_secrets(wrong.join(", ")) + &log)
}
