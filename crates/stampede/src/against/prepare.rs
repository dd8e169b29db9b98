//! `--against-prepare`: a person's command in the copy of the other version, under the keeper.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use stampede_load::time::Nanos;

use crate::keeper::Keeper;
use crate::keeper::spec::{Exit, ProcessSpec, StackSpec, StopSpec};
use crate::store::mask_secrets;
use crate::{fresh, interrupt};

/// Runs it to its end, with the person's own environment: Composer wants a home and a way out.
///
/// # Errors
/// How it ended, and its last lines.
pub fn run(
    keeper: &Keeper,
    command: &str,
    folder: &Path,
    own: &Path,
) -> Result<(), (String, String)> {
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
            cwd: folder.to_path_buf(),
            input: None,
            user: None,
            log: log.clone(),
            stop: StopSpec { signal: libc::SIGTERM, grace: Nanos::from_secs(1) },
        }],
        first: 0,
    };
    let how = match keeper.beside(&stack).map(|stack| ended(&stack)) {
        Ok(Some(Exit { code: Some(0), .. })) => return Ok(()),
        Ok(Some(Exit { code: Some(code), .. })) => format!("ended with exit code {code}"),
        Ok(Some(_)) => "was killed".to_owned(),
        Ok(None) => format!("did not end within {} minutes", WITHIN.as_secs() / 60),
        Err(error) => format!("was not started: {error}"),
    };
    Err((how, last_lines(&log)))
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
    let text = mask_secrets(&String::from_utf8_lossy(&text));
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
