//! Runs `--against-prepare`: the user's command in the copy of the other version, under the keeper.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use stampede_keeper::spec::{BindMount, ProcessSetSpec, ProcessSpec, StopSpec};
use stampede_keeper::{Keeper, KeeperError, ProcessSet};
use stampede_linux::{fresh, interrupt};
use stampede_mask::mask_foreign;
use stampede_model::isolation::Exit;
use stampede_model::time::Nanos;

/// The failure of the command that should prepare the copy.
#[derive(Debug, thiserror::Error)]
#[error("{end}{log}")]
pub struct PrepareError {
    /// How the command ended.
    pub end: CommandFailure,
    /// The command's last lines with secrets masked, with a line break before them; or empty.
    pub log: String,
}

/// How a command ended that failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandFailure {
    /// It ended by itself.
    #[error("ended with exit code {code}")]
    ExitCode {
        /// The exit code, not 0.
        code: i32,
    },
    /// It was ended by a signal.
    #[error("was killed")]
    Killed,
    /// stampede ended it: it took too long, or the user interrupted.
    #[error("did not end within {} minutes", within.as_secs() / 60)]
    NoEnd {
        /// The timeout.
        within: Duration,
    },
    /// It was not started.
    #[error("was not started: {0}")]
    NotStarted(Box<KeeperError>),
}

/// Runs the command in `directory` to its end, with the user's own environment: Composer needs a home
/// directory and the network. `bind` shows the copy at the path of the original.
///
/// # Errors
/// The command fails, or takes too long.
pub fn run(
    keeper: &Keeper,
    command: &str,
    bind: Option<BindMount>,
    directory: &Path,
    own: &Path,
) -> Result<(), PrepareError> {
    let log = own.join("prepare.log");
    let stack = ProcessSetSpec {
        id: format!("prepare-{}", fresh::token()),
        work: own.to_path_buf(),
        in_memory: Vec::new(),
        bind,
        cpus: Vec::new(),
        cpus_by_role: BTreeMap::new(),
        cpu_quota: None,
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
        containers: None,
        first: 0,
    };
    let exit = |stack: &ProcessSet| interrupt::wait_for(WITHIN, RETRY, || stack.exited().pop());
    let end = match keeper.start_beside(&stack).map(|stack| exit(&stack)) {
        Ok(Some(Exit { code: Some(0), .. })) => return Ok(()),
        Ok(Some(Exit { code: Some(code), .. })) => CommandFailure::ExitCode { code },
        Ok(Some(_)) => CommandFailure::Killed,
        Ok(None) => CommandFailure::NoEnd { within: WITHIN },
        Err(error) => CommandFailure::NotStarted(Box::new(error)),
    };
    Err(PrepareError { end, log: last_lines(&log) })
}

/// The environment without the variables with which a calling git hook names its repository.
fn environment() -> BTreeMap<String, String> {
    let text = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(name, _)| !name.starts_with("GIT_")).collect()
}

/// The last lines of a log that are not blank, each after a line break, with secrets masked.
fn last_lines(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = mask_foreign(&String::from_utf8_lossy(&text));
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(SHOWN));
    last.map(|line| format!("\n  {line}")).collect()
}

/// The number of lines shown: enough for an error message of Composer.
const SHOWN: usize = 12;
/// The timeout: enough to fetch the packages of a large project over a slow network.
const WITHIN: Duration = Duration::from_secs(600);
/// The pause between two checks whether the command has ended.
const RETRY: Duration = Duration::from_millis(20);
