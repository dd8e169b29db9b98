//! Replaces the database of a checked app by a scratch database.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Failure;
use super::args_check::CheckArgs;
use super::shell::print_message;
use crate::plan::model::RuntimeChoice;
use crate::runtime::{
    App, DATABASE_VARIABLES, DatabaseSeed, OwnDatabase, RuntimeError, choose_seed, own_database,
    with_scratch_database,
};

/// Returns `app` as it is checked. A check must not write to a user's own database. A database made
/// for the check replaces it, unless the user chooses otherwise (`--own-database`, or another one
/// in `--env`).
///
/// # Errors
/// It is unknown which kind of database is needed, or how to fill it.
pub fn with_own_database(
    app: App,
    choice: &RuntimeChoice,
    env: &mut BTreeMap<String, String>,
    args: &CheckArgs,
) -> Result<App, Failure> {
    let named = RuntimeChoice {
        env: choice.env.iter().chain(env.iter()).map(|(k, v)| (k.clone(), v.clone())).collect(),
        ..choice.clone()
    };
    let own = own_database(&app, &named);
    let file = args.database.as_deref().map(readable).transpose()?;
    let is_given = env.keys().any(|name| DATABASE_VARIABLES.contains(&name.as_str()));
    match own {
        None if file.is_some() => Err(no_database_named()),
        None => Ok(app),
        Some(_) if file.is_none() && (args.own_database || is_given) => Ok(app),
        Some(own) => {
            let fill = choose_seed(&app, &own, file.as_deref()).ok_or_else(|| empty(&own))?;
            let kind = own.kind.ok_or_else(|| unsupported_database(&own))?;
            // The app gets the address of the scratch database instead.
            env.retain(|name, _| !DATABASE_VARIABLES.contains(&name.as_str()));
            print_message(&format!("note: {}", database_note(&own, kind, &fill)));
            Ok(with_scratch_database(&app, kind, &fill))
        }
    }
}

/// Advice for a scratch database that could not be filled; `None` for other errors.
pub fn hint(error: &RuntimeError, app: &App) -> Option<&'static str> {
    let is_filled =
        app.manifest.database.as_ref().is_some_and(|database| database.schema.is_none());
    let is_it = matches!(error, RuntimeError::Unprepared { .. }) && is_filled;
    is_it.then_some("the check uses a temporary database in place of the app's own: fill it with `--database dump.sql`")
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
fn readable(file: &Path) -> Result<PathBuf, Failure> {
    std::fs::File::open(file).and_then(|_| file.canonicalize()).map_err(|error| {
        Failure::rendered(format!("--database: cannot read `{}`: {error}", file.display())).hint(
            "it is the SQL that `mysqldump` or `pg_dump --inserts --no-owner` writes, or a file of SQLite",
        )
    })
}

fn no_database_named() -> Failure {
    Failure::rendered(
        "--database: the app's `.env` does not name a database to replace".to_owned(),
    )
    .hint("name the kind of database that the app uses with `--env DATABASE_URL=mysql://…` (or postgresql)")
}

fn empty(own: &OwnDatabase) -> Failure {
    Failure::rendered(format!(
        "stampede will not use the app's own database at {}. A temporary one would be empty, because the app \
         has no migrations that its console could run",
        own.at
    ))
    .hint(MEANS)
}

fn unsupported_database(own: &OwnDatabase) -> Failure {
    Failure::rendered(format!(
        "the check would write to the app's own database at {}, and stampede can replace only MariaDB, MySQL, \
         PostgreSQL and SQLite",
        own.at
    ))
    .hint("give the app a copy with `--env DATABASE_URL=…` (or the variable that it reads), or allow writing to its own with `--own-database`")
}

const MEANS: &str = "fill it with `--database dump.sql`, give the app a copy of yours with `--env DATABASE_URL=…`, \
                     or allow writing to the app's own with `--own-database`";
