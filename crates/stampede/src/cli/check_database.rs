//! Replaces the database of a checked app by a scratch database.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use stampede_model::words;
use stampede_plan::model::RuntimeChoice;
use stampede_stack::{
    App, Catalogue, DATABASE_VARIABLES, DatabaseSeed, OwnDatabase, RuntimeError, choose_seed,
    with_scratch_database,
};

use super::Failure;
use super::args_check::CheckArgs;
use super::fail::CommandError;
use super::shell::print_message;

/// Why the database of a checked app cannot be replaced.
#[derive(Debug, thiserror::Error)]
pub enum CheckDatabaseError {
    /// `--database` names a file that cannot be read.
    #[error("--database: cannot read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// `--database` fills a database, and the app names none.
    #[error("--database: the app's `.env` does not name a database to replace")]
    NotNamed,
    /// Nothing would fill the scratch database.
    #[error(
        "stampede will not use the app's own database at {at}. A temporary one would be empty, because the app \
         has no migrations that its console could run"
    )]
    Empty {
        /// Place of the app's own database.
        at: String,
    },
    /// The app's database is of a kind that stampede cannot create.
    #[error(
        "the check would write to the app's own database at {at}, and stampede can replace only {}",
        words::list(able)
    )]
    Unsupported {
        /// Place of the app's own database.
        at: String,
        /// The databases that it can replace.
        able: Vec<String>,
    },
    /// Filling the scratch database failed.
    #[error(transparent)]
    Unfilled(Box<RuntimeError>),
}

impl CommandError for CheckDatabaseError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            CheckDatabaseError::Unreadable { .. } => {
                "it is the SQL that `mysqldump` or `pg_dump --inserts --no-owner` writes, or a file of SQLite"
            }
            CheckDatabaseError::NotNamed => {
                "name the kind of database that the app uses with `--env DATABASE_URL=mysql://…` (or postgresql)"
            }
            CheckDatabaseError::Empty { .. } => {
                "fill it with `--database dump.sql`, give the app a copy of yours with `--env DATABASE_URL=…`, \
                 or allow writing to the app's own with `--own-database`"
            }
            CheckDatabaseError::Unsupported { .. } => {
                "give the app a copy with `--env DATABASE_URL=…` (or the variable that it reads), or allow writing to its own with `--own-database`"
            }
            CheckDatabaseError::Unfilled(_) => {
                "the check uses a temporary database in place of the app's own: fill it with `--database dump.sql`"
            }
        };
        Some(hint.to_owned())
    }
}

/// Returns `app` as it is checked. A check must not write to a user's own database. A database made
/// for the check replaces it, unless the user chooses otherwise (`--own-database`, or another one
/// in `--env`).
///
/// # Errors
/// It is unknown which kind of database is needed, or how to fill it.
pub fn with_own_database(
    catalogue: &Catalogue,
    app: App,
    choice: &RuntimeChoice,
    env: &mut BTreeMap<String, String>,
    args: &CheckArgs,
) -> Result<App, CheckDatabaseError> {
    let named = RuntimeChoice {
        env: choice.env.iter().chain(env.iter()).map(|(k, v)| (k.clone(), v.clone())).collect(),
        ..choice.clone()
    };
    let own = catalogue.own_database(&app, &named);
    let file = args.database.as_deref().map(readable).transpose()?;
    let is_given = env.keys().any(|name| DATABASE_VARIABLES.contains(&name.as_str()));
    match own {
        None if file.is_some() => Err(CheckDatabaseError::NotNamed),
        None => Ok(app),
        Some(_) if file.is_none() && (args.own_database || is_given) => Ok(app),
        Some(own) => {
            let fill = choose_seed(&app, &own, file.as_deref())
                .ok_or_else(|| CheckDatabaseError::Empty { at: own.at.clone() })?;
            let kind = own.kind.as_deref().ok_or_else(|| CheckDatabaseError::Unsupported {
                at: own.at.clone(),
                able: catalogue.replaced_databases(),
            })?;
            // The app gets the address of the scratch database instead.
            env.retain(|name, _| !DATABASE_VARIABLES.contains(&name.as_str()));
            print_message(&format!("note: {}", database_note(&own, kind, &fill)));
            Ok(with_scratch_database(&app, kind, &fill))
        }
    }
}

/// Makes a failure from the reference's error. A scratch database that could not be filled has a
/// hint of its own.
pub fn from_reference(error: RuntimeError, app: &App) -> Failure {
    let is_filled =
        app.manifest.database.as_ref().is_some_and(|database| database.schema.is_none());
    match error {
        RuntimeError::Unprepared { .. } if is_filled => {
            CheckDatabaseError::Unfilled(Box::new(error)).into()
        }
        error => error.into(),
    }
}

fn database_note(own: &OwnDatabase, kind: &str, fill: &DatabaseSeed) -> String {
    let filled = match fill {
        DatabaseSeed::File(file) if own.file.as_ref() == Some(file) => {
            "with a copy of it".to_owned()
        }
        DatabaseSeed::File(file) => format!("with `{}`", file.display()),
        DatabaseSeed::Migrations(commands) => format!("by `{}`", commands.replace('\n', "`, `")),
    };
    format!(
        "stampede will not use the app's own database at {}, but a temporary {kind} database, filled {filled}",
        own.at
    )
}

/// Returns the file's absolute path, because other working directories are used later.
fn readable(file: &Path) -> Result<PathBuf, CheckDatabaseError> {
    std::fs::File::open(file)
        .and_then(|_| file.canonicalize())
        .map_err(|source| CheckDatabaseError::Unreadable { path: file.to_path_buf(), source })
}
