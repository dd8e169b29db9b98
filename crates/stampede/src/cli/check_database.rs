//! Replaces the database of a checked app by a scratch database.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Failure;
use super::args_check::CheckArgs;
use super::shell::tell;
use crate::plan::model::RuntimeChoice;
use crate::runtime::{
    App, DATABASE_VARIABLES, Fill, OwnDatabase, RuntimeError, filling, own_database, with_scratch,
};

/// Returns `app` as it is checked. A check must not write to a user's own database. A database made
/// for the check replaces it, unless the user chooses otherwise (`--own-database`, or another one
/// in `--env`).
///
/// # Errors
/// It is unknown which kind of database is needed, or how to fill it.
pub fn scratched(
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
        None if file.is_some() => Err(unnamed()),
        None => Ok(app),
        Some(_) if file.is_none() && (args.own_database || is_given) => Ok(app),
        Some(own) => {
            let fill = filling(&app, &own, file.as_deref()).ok_or_else(|| empty(&own))?;
            let kind = own.kind.ok_or_else(|| strange(&own))?;
            // The app gets the address of the scratch database instead.
            env.retain(|name, _| !DATABASE_VARIABLES.contains(&name.as_str()));
            tell(&format!("note: {}", said(&own, kind, &fill)));
            Ok(with_scratch(&app, kind, &fill))
        }
    }
}

/// Advice for a scratch database that could not be filled; `None` for other errors.
pub fn hint(error: &RuntimeError, app: &App) -> Option<&'static str> {
    let is_filled =
        app.manifest.database.as_ref().is_some_and(|database| database.schema.is_none());
    let is_it = matches!(error, RuntimeError::Unprepared { .. }) && is_filled;
    is_it.then_some("a scratch database stands in for the app's own: `--database dump.sql` fills it with what you know to fit")
}

fn said(own: &OwnDatabase, kind: &str, fill: &Fill) -> String {
    let filled = match fill {
        Fill::File(file) if own.file.as_ref() == Some(file) => "with a copy of it".to_owned(),
        Fill::File(file) => format!("with `{}`", file.display()),
        Fill::Migrations(commands) => format!("by `{}`", commands.replace('\n', "`, `")),
    };
    format!(
        "the app's own database, at {}, is left alone: a scratch one ({kind}) stands in for it, filled {filled}",
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

fn unnamed() -> Failure {
    Failure::rendered(
        "--database: the app's `.env` names no database that it would stand in for".to_owned(),
    )
    .hint("`--env DATABASE_URL=mysql://…` (or postgresql) says which kind the app takes")
}

fn empty(own: &OwnDatabase) -> Failure {
    Failure::rendered(format!(
        "the check leaves the app's own database, at {}, alone, and does not know what to fill a scratch one \
         with: the app has no migrations that its console could run",
        own.at
    ))
    .hint(MEANS)
}

fn strange(own: &OwnDatabase) -> Failure {
    Failure::rendered(format!(
        "the check would reach the app's own database, at {}, and write there what the app writes: it is none \
         that a scratch one can stand in for (MariaDB, MySQL, PostgreSQL, SQLite)",
        own.at
    ))
    .hint("`--env DATABASE_URL=…` (or whatever the app reads) gives it a copy; `--own-database` says that this one may be written to")
}

const MEANS: &str = "`--database dump.sql` fills it; `--env DATABASE_URL=…` gives the app a copy of yours; \
                     `--own-database` says that this one may be written to";
