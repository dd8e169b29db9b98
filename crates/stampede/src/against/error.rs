//! Why another version of an app cannot be had.

use std::io;
use std::path::PathBuf;

use super::prepare::BadEnd;

use crate::runtime::{LOOKED_FOR, nearest};

/// Why `--against` cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum AgainstError {
    /// Of an app of the catalogue there is one version.
    #[error(
        "`--against` compares two versions of an app in a directory, and `{app}` is of the catalogue"
    )]
    NotADirectory {
        /// Its name.
        app: String,
    },
    /// What already runs serves what it serves.
    #[error("`{runtime}` is already running: it serves one version of the app")]
    External {
        /// Its name in the plan.
        runtime: String,
    },
    /// No git.
    #[error("`git` is not here, and `--against` asks it for the other version")]
    NoGit,
    /// No repository.
    #[error("directory `{directory}` is in no git repository")]
    NotARepository {
        /// Which.
        directory: PathBuf,
    },
    /// No such commit.
    #[error("the repository of `{directory}` has no revision `{rev}`")]
    UnknownRevision {
        /// As typed.
        rev: String,
        /// The app's directory.
        directory: PathBuf,
        /// Branches and tags.
        known: Vec<String>,
        /// Whether older commits were left out when it was cloned.
        is_shallow: bool,
    },
    /// The directory came later, or was never committed.
    #[error("`{rev}` has no directory `{directory}`")]
    NotThere {
        /// As typed.
        rev: String,
        /// From the repository's top.
        directory: PathBuf,
    },
    /// The directory was no app then.
    #[error("directory `{directory}` of `{rev}` holds no app")]
    NoApp {
        /// As typed.
        rev: String,
        /// From the repository's top.
        directory: PathBuf,
    },
    /// Its app cannot be read.
    #[error("the app of `{rev}`")]
    App {
        /// As typed.
        rev: String,
        /// What is wrong with it.
        source: Box<crate::runtime::RuntimeError>,
    },
    /// Its packages are others than those that are installed.
    #[error(
        "`{rev}` asks for other packages than the working tree: {what} differs, and git ignores `vendor`"
    )]
    OtherPackages {
        /// As typed.
        rev: String,
        /// `composer.lock` or `composer.json`.
        what: &'static str,
    },
    /// The command that was to prepare it did not work.
    #[error("`--against-prepare`: `{command}` {end} in the copy of `{rev}`{log}")]
    Unprepared {
        /// As typed.
        rev: String,
        /// As typed.
        command: String,
        /// How it ended.
        end: BadEnd,
        /// Its last lines, on lines of their own.
        log: String,
    },
    /// Git said no.
    #[error("`git {command}` failed: {said}")]
    Git {
        /// Its subcommand.
        command: String,
        /// What it said.
        said: String,
    },
    /// Git does not trust a repository of another user.
    #[error("`git {command}` failed: {said}")]
    Untrusted {
        /// Its subcommand.
        command: String,
        /// What it said.
        said: String,
    },
    /// The disk said no.
    #[error("cannot {what} `{path}`")]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody looks after the copy.
    #[error("the copy of the other version cannot be kept")]
    Keeper(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl AgainstError {
    /// What to do next, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        match self {
            AgainstError::NotADirectory { .. } => {
                Some("name the directory of your own: `--app ~/shop --against main`".to_owned())
            }
            AgainstError::External { .. } => Some(
                "leave it out with `--runtimes` or `--only`; `stampede diff` compares two runs of what \
                 already runs"
                    .to_owned(),
            ),
            AgainstError::NoGit => Some(
                "`apt install git`; or run `stampede compare` on each version and compare them with \
                 `stampede diff`"
                    .to_owned(),
            ),
            AgainstError::NotARepository { .. } => Some(
                "`--against` takes the other version out of the app's git repository; without one run \
                 `stampede compare` on each version, then `stampede diff last~1 last`"
                    .to_owned(),
            ),
            AgainstError::UnknownRevision { is_shallow: true, .. } => Some(
                "this clone is shallow: `git fetch --unshallow` gets the older commits (of GitHub's \
                 checkout: `fetch-depth: 0`)"
                    .to_owned(),
            ),
            AgainstError::UnknownRevision { known, .. } if known.is_empty() => {
                Some("it has no commit yet: `git commit` makes the first".to_owned())
            }
            AgainstError::UnknownRevision { rev, known, .. } => {
                let near = nearest(rev, known.iter().map(String::as_str));
                let near = near.or_else(|| known.first().cloned()).unwrap_or_default();
                Some(format!(
                    "a branch, a tag or a commit, such as `{near}` or `HEAD~1`; what others have pushed \
                     `git fetch` gets"
                ))
            }
            AgainstError::NotThere { rev, directory } => Some(format!(
                "it was never committed, or after `{rev}`: `git log -- {}` says when it came; name a \
                 revision that has it",
                directory.display()
            )),
            AgainstError::NoApp { rev, .. } => Some(format!(
                "an app has {LOOKED_FOR}; what is not committed is not in `{rev}`"
            )),
            AgainstError::App { source, .. } => source.hint(),
            AgainstError::OtherPackages { .. } => Some(
                "`--against-prepare 'composer install --no-dev'` installs them in the copy, which is \
                 stampede's own; your directory stays as it is"
                    .to_owned(),
            ),
            AgainstError::Untrusted { .. } => Some(
                "git trusts no repository of another user: run stampede as its owner, or add the directory \
                 to `safe.directory`"
                    .to_owned(),
            ),
            AgainstError::Unprepared { .. }
            | AgainstError::Git { .. }
            | AgainstError::Io { .. }
            | AgainstError::Keeper(_) => None,
        }
    }
}
