//! Says why another version of an app is not available.

use std::io;
use std::path::PathBuf;

use stampede_linux::space;
use stampede_stack::{LOOKED_FOR, RuntimeError, nearest};

use super::prepare::CommandFailure;

/// Why `--against` cannot provide the other version.
#[derive(Debug, thiserror::Error)]
pub enum AgainstError {
    /// An app of the catalogue has only one version.
    #[error(
        "`--against` compares two versions of an app in a directory, and `{app}` is of the catalogue"
    )]
    NotADirectory {
        /// The app's name.
        app: String,
    },
    /// The runtimes bring their own apps, so no directory is known.
    #[error("`--against` compares two versions of an app in a directory, and no app is given")]
    AppUnknown {},
    /// An external runtime serves only the version that it was started with.
    #[error("`{runtime}` is already running: it serves one version of the app")]
    External {
        /// Its name in the plan.
        runtime: String,
    },
    /// The revision does not have the compose file: it was added later, or never committed.
    #[error("`{rev}` has no compose file `{}`", file.display())]
    NoComposeFile {
        /// The revision as typed.
        rev: String,
        /// The file, relative to the top of the repository.
        file: PathBuf,
    },
    /// git is not installed.
    #[error("`git` is not installed, and `--against` needs it to get the other version")]
    NoGit,
    /// The directory is in no git repository.
    #[error("directory `{directory}` is in no git repository")]
    NotARepository {
        /// The app's directory.
        directory: PathBuf,
    },
    /// The revision does not exist.
    #[error("the repository of `{directory}` has no revision `{rev}`")]
    UnknownRevision {
        /// The revision as typed.
        rev: String,
        /// The app's directory.
        directory: PathBuf,
        /// The repository's branches and tags.
        known: Vec<String>,
        /// Whether the clone is shallow: it lacks older commits.
        is_shallow: bool,
    },
    /// The revision does not have the directory: it was added later, or never committed.
    #[error("`{rev}` has no directory `{directory}`")]
    NotThere {
        /// The revision as typed.
        rev: String,
        /// The directory, relative to the top of the repository.
        directory: PathBuf,
    },
    /// The directory was no app in that revision.
    #[error("directory `{directory}` of `{rev}` holds no app")]
    NoApp {
        /// The revision as typed.
        rev: String,
        /// The directory, relative to the top of the repository.
        directory: PathBuf,
    },
    /// The revision's app cannot be read.
    #[error("the app of `{rev}`")]
    App {
        /// The revision as typed.
        rev: String,
        /// The error of reading the app.
        source: Box<RuntimeError>,
    },
    /// The revision needs other packages than the installed ones.
    #[error(
        "`{rev}` asks for other packages than the working tree: {what} differs, and git ignores `vendor`"
    )]
    OtherPackages {
        /// The revision as typed.
        rev: String,
        /// The file that differs: `composer.lock` or `composer.json`.
        what: &'static str,
    },
    /// The user's command that should prepare the copy failed.
    #[error("`--against-prepare`: `{command}` {end} in the copy of `{rev}`{log}")]
    Unprepared {
        /// The revision as typed.
        rev: String,
        /// The command as typed.
        command: String,
        /// How the command ended.
        end: CommandFailure,
        /// The command's last lines, with a line break before them; or empty.
        log: String,
    },
    /// The user's command made a link that leads out of the copy.
    #[error(
        "`--against-prepare`: `{command}` made the link `{link}` in the copy of `{rev}`, which leads out of it"
    )]
    LeadsOut {
        /// The revision as typed.
        rev: String,
        /// The command as typed.
        command: String,
        /// The link, relative to the copy.
        link: PathBuf,
    },
    /// git failed.
    #[error("`git {command}` failed: {said}")]
    Git {
        /// git's subcommand.
        command: String,
        /// git's message.
        said: String,
    },
    /// git does not trust a repository of another user.
    #[error("`git {command}` failed: {said}")]
    Untrusted {
        /// git's subcommand.
        command: String,
        /// git's message.
        said: String,
    },
    /// A file could not be created, or a program could not be started.
    #[error("cannot {what} `{path}`")]
    Io {
        /// What was tried, as a verb.
        what: &'static str,
        /// The file or program.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The keeper, which removes the copy at the end, could not be started.
    #[error("the copy of the other version cannot be kept")]
    Keeper(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl AgainstError {
    /// What the user can do next; shown on a line of its own.
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
            AgainstError::UnknownRevision { rev, known, is_shallow, .. } => {
                Some(revision_hint(rev, known, *is_shallow))
            }
            AgainstError::NotThere { rev, directory } => Some(format!(
                "`{0}` did not exist in `{rev}`: name a later revision (`git log -- {0}` lists those that \
                 changed it)",
                directory.display()
            )),
            AgainstError::NoApp { rev, .. } => Some(format!(
                "an app has {LOOKED_FOR}; what is not committed is not in `{rev}`"
            )),
            AgainstError::NoComposeFile { file, .. } => Some(format!(
                "name a later revision (`git log -- {}` lists those that changed it), or compare two checkouts: \
                 `--compose old/compose.yml --compose new/compose.yml`",
                file.display()
            )),
            AgainstError::AppUnknown {} => Some("name it with `--app DIR`".to_owned()),
            AgainstError::App { source, .. } => source.hint(),
            AgainstError::OtherPackages { .. } => Some(
                "`--against-prepare 'composer install --no-dev'` installs them in the copy, which is \
                 stampede's own; your directory stays as it is"
                    .to_owned(),
            ),
            AgainstError::Untrusted { .. } => Some(
                "git does not trust a repository of another user: run stampede as its owner, or add the directory \
                 to `safe.directory`"
                    .to_owned(),
            ),
            AgainstError::LeadsOut { .. } => Some(
                "root would copy what it names: let the command copy it, or make the link relative and inside"
                    .to_owned(),
            ),
            AgainstError::Io { path, source, .. } => {
                space::hint(path, source.kind(), "set TMPDIR to a directory of another one")
            }
            AgainstError::Unprepared { .. }
            | AgainstError::Git { .. }
            | AgainstError::Keeper(_) => None,
        }
    }
}

/// What to name instead of a revision that is not `known`.
fn revision_hint(rev: &str, known: &[String], is_shallow: bool) -> String {
    if is_shallow {
        return "this clone is shallow: `git fetch --unshallow` gets the older commits (of GitHub's \
                checkout: `fetch-depth: 0`)"
            .to_owned();
    }
    let Some(first) = known.first() else {
        return "it has no commit yet: `git commit` makes the first".to_owned();
    };
    let near = nearest(rev, known.iter().map(String::as_str)).unwrap_or_else(|| first.clone());
    format!(
        "name a branch, a tag or a commit, such as `{near}` or `HEAD~1`; if others pushed it, run \
         `git fetch` first"
    )
}
