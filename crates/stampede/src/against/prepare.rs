//! `--against-prepare`: a person's command in the copy of the other version, under the keeper.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use stampede_load::time::Nanos;

use crate::keeper::spec::{Exit, ProcessSpec, StackSpec, StopSpec};
use crate::keeper::{Keeper, KeeperError};
use crate::mask::mask_foreign;
use crate::{fresh, interrupt};

/// A command that did not prepare the copy.
#[derive(Debug, thiserror::Error)]
#[error("{end}{log}")]
pub struct PrepareError {
    /// How it ended.
    pub end: BadEnd,
    /// Its last lines, on lines of their own, secrets masked.
    pub log: String,
}

/// How a command ended that did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum BadEnd {
    /// By itself.
    #[error("ended with exit code {code}")]
    ExitCode {
        /// Not 0.
        code: i32,
    },
    /// By a signal.
    #[error("was killed")]
    Killed,
    /// It was ended, for it took too long or the person wants an end.
    #[error("did not end within {} minutes", within.as_secs() / 60)]
    NoEnd {
        /// For so long it was waited for.
        within: Duration,
    },
    /// It never began.
    #[error("was not started: {0}")]
    NotStarted(Box<KeeperError>),
}

/// Runs it to its end, with the person's own environment: Composer wants a home and a way out.
///
/// # Errors
/// It fails, or takes too long.
pub fn run(
    keeper: &Keeper,
    command: &str,
    directory: &Path,
    own: &Path,
) -> Result<(), PrepareError> {
    let log = own.join("prepare.log");
    let stack = StackSpec {
        id: format!("prepare-{}", fresh::token()),
        work: own.to_path_buf(),
        in_memory: Vec::new(),
        cpus: Vec::new(),
        cpus_by_role: BTreeMap::new(),
        memory_bytes: 0,
        processes: vec![ProcessSpec {
            role: "prepare".to_owned(),
            program: "/bin/sh".into(),
            args: vec!["-c".to_owned(), command.to_owned()],
            env: environment(),
            cwd: directory.to_path_buf(),
            input: None,
            user: None,
            log: log.clone(),
            stop: StopSpec { signal: libc::SIGTERM, grace: Nanos::from_secs(1) },
        }],
        first: 0,
    };
    let end = match keeper.beside(&stack).map(|stack| ended(&stack)) {
        Ok(Some(Exit { code: Some(0), .. })) => return Ok(()),
        Ok(Some(Exit { code: Some(code), .. })) => BadEnd::ExitCode { code },
        Ok(Some(_)) => BadEnd::Killed,
        Ok(None) => BadEnd::NoEnd { within: WITHIN },
        Err(error) => BadEnd::NotStarted(Box::new(error)),
    };
    Err(PrepareError { end, log: last_lines(&log) })
}

/// Without what a hook that called us says of its repository.
fn environment() -> BTreeMap<String, String> {
    let text = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(name, _)| !name.starts_with("GIT_")).collect()
}

fn ended(stack: &crate::keeper::Stack) -> Option<Exit> {
    let begun = Instant::now();
    while begun.elapsed() < WITHIN && !interrupt::asked() {
        if let Some(exit) = stack.exited().pop() {
            return Some(exit);
        }
        std::thread::sleep(RETRY);
    }
    None
}

/// Each on a line of its own, secrets masked.
fn last_lines(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = mask_foreign(&String::from_utf8_lossy(&text));
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(SHOWN));
    last.map(|line| format!("\n  {line}")).collect()
}

/// Enough for Composer's complaint.
const SHOWN: usize = 12;
/// A large project's packages, from far away.
const WITHIN: Duration = Duration::from_secs(600);
/// Between two looks.
const RETRY: Duration = Duration::from_millis(20);
