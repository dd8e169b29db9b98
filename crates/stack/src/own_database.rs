//! Finds the database that an app itself names, and replaces it by a scratch database.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stampede_app_config::is_neighbours;
use stampede_plan::model::RuntimeChoice;

use super::app::App;
use super::app_manifest::{AppDatabase, Queries};
use super::catalogue::Catalogue;
use super::database_choice::DatabaseKind;
use super::dotenv;
use crate::process::preparation;
use crate::spec::app_env;

/// The variables by which Symfony's and Laravel's apps name their database.
pub const DATABASE_VARIABLES: [&str; 10] = [
    "DATABASE_URL",
    "DB_URL",
    "DB_CONNECTION",
    "DB_HOST",
    "DB_PORT",
    "DB_SOCKET",
    "DB_DATABASE",
    "DB_USERNAME",
    "DB_PASSWORD",
    "DATABASE_DSN",
];

/// A database that the app's `.env` or a configuration file names, and that is not part of the app's copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnDatabase {
    /// The database's place and the variable that names it, without user and password.
    pub at: String,
    /// The kind of database, if stampede can create one; `None`: it cannot.
    pub kind: Option<String>,
    /// The database's file; `None`: it is not in a file.
    pub file: Option<PathBuf>,
}

/// What fills a scratch database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseSeed {
    /// A file: SQL, or a database file of SQLite.
    File(PathBuf),
    /// Commands of the app's console, one per line.
    Migrations(String),
}

impl Catalogue {
    /// The database that the app itself names; `None`: it names none, or stampede creates one for
    /// it.
    pub fn own_database(&self, app: &App, choice: &RuntimeChoice) -> Option<OwnDatabase> {
        if app.manifest.database.is_some() {
            return None;
        }
        let said: BTreeMap<String, String> =
            dotenv::values(app).into_iter().chain(app_env(app, choice)).collect();
        named(&said, &self.database_kinds()).or_else(|| configured(app))
    }

    /// The titles of the databases in whose place stampede can create one.
    pub fn replaced_databases(&self) -> Vec<String> {
        self.database_kinds().into_iter().flat_map(|kind| kind.titles).collect()
    }
}

/// What fills a scratch database in place of `own`: the file that the user names, a copy of
/// SQLite's file, or the app's own migrations. `None`: the contents are not known.
pub fn choose_seed(app: &App, own: &OwnDatabase, named: Option<&Path>) -> Option<DatabaseSeed> {
    let own_file = own.file.clone().filter(|file| file.is_file());
    let file = named.map(Path::to_path_buf).or(own_file);
    file.map(DatabaseSeed::File)
        .or_else(|| preparation::migrations(app).map(DatabaseSeed::Migrations))
}

/// Returns `app` with a scratch database of this kind in place of its own.
#[must_use]
pub fn with_scratch_database(app: &App, kind: &str, fill: &DatabaseSeed) -> App {
    let mut app = app.clone();
    let file = match fill {
        DatabaseSeed::File(file) => Some(file.clone()),
        DatabaseSeed::Migrations(commands) => {
            let prepare = app.manifest.prepare.get_or_insert_default();
            *prepare = format!("{prepare}\n{commands}").trim().to_owned();
            None
        }
    };
    let queries = Queries { each: 0, or_more: true, times: None, paths: BTreeMap::new() };
    let any_of = vec![kind.to_owned()];
    app.manifest.database = Some(AppDatabase { any_of, schema: None, queries, file });
    app
}

/// The database that a configuration file of the app names. Files of SQLite in the app's directory are
/// part of its copy.
fn configured(app: &App) -> Option<OwnDatabase> {
    let root = app.path().filter(|_| app.home.is_some())?;
    let settings = stampede_app_config::settings(root);
    let is_copied =
        |at: &str| app.home.as_ref().is_some_and(|home| Path::new(at).starts_with(home));
    let mut named = stampede_app_config::databases(&settings).into_iter();
    let docroot = Path::new(&app.manifest.docroot);
    let is_neighbours = |file: &str| is_neighbours(root, docroot, Path::new(file));
    let found = named.find(|named| !is_copied(&named.at) && !is_neighbours(&named.file))?;
    let at = format!("{} ({}, line {})", found.at, found.file, found.line);
    Some(OwnDatabase { at, kind: None, file: None })
}

fn named(said: &BTreeMap<String, String>, kinds: &[DatabaseKind]) -> Option<OwnDatabase> {
    let kind = |written: &str| kind(written, kinds);
    let get = |key: &str| said.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let of_url = |variable: &&str| {
        let (scheme, rest) = get(variable)?.split_once("://")?;
        let kind = kind(scheme);
        let rest = rest.split('?').next()?;
        match kind.filter(|kind| kind.is_file) {
            // The URL of an absolute path has one slash more than the URL of a host.
            Some(kind) => of_file(rest.strip_prefix('/')?, variable, kind),
            None => at_host(rest.split('/').next()?.rsplit('@').next()?, variable, kind),
        }
    };
    let connection = get("DB_CONNECTION").map(kind);
    let in_file = connection.unwrap_or_else(|| kind("sqlite")).filter(|kind| kind.is_file);
    let file = || of_file(get("DB_DATABASE")?, "DB_DATABASE", in_file?);
    // For many years Laravel used MySQL if `DB_CONNECTION` was not set.
    let server = connection.unwrap_or_else(|| kind("mysql"));
    let is_server = server.is_none_or(|kind| !kind.is_file);
    let host = || at_host(get("DB_HOST").filter(|_| is_server)?, "DB_HOST", server);
    let url = ["DATABASE_URL", "DB_URL"].iter().find_map(of_url);
    url.or_else(file).or_else(host)
}

/// The kind of database, by the scheme of a URL (also `pdo-mysql`) or the name of a connection.
fn kind<'a>(written: &str, kinds: &'a [DatabaseKind]) -> Option<&'a DatabaseKind> {
    let written = written.to_ascii_lowercase();
    let plain = written.trim_start_matches("pdo-").trim_start_matches("pdo_");
    kinds.iter().find(|kind| kind.fits(plain))
}

fn at_host(host: &str, variable: &str, kind: Option<&DatabaseKind>) -> Option<OwnDatabase> {
    let at = format!("{host} ({variable})");
    let kind = kind.map(|kind| kind.name.clone());
    (!host.is_empty()).then_some(OwnDatabase { at, kind, file: None })
}

/// A database file with an absolute path. That path leads out of the app's copy, even if it lies in
/// the app's directory.
fn of_file(path: &str, variable: &str, kind: &DatabaseKind) -> Option<OwnDatabase> {
    let path = path.starts_with('/').then(|| format!("/{}", path.trim_start_matches('/')))?;
    let at = format!("{path} ({variable})");
    // A path with `%kernel.project_dir%` leads into the copy.
    let kind = Some(kind.name.clone());
    (!path.contains('%')).then(|| OwnDatabase { at, kind, file: Some(path.into()) })
}

#[cfg(test)]
mod tests {
    use super::super::locate::SearchPaths;
    use super::*;

    fn of(text: &str) -> Option<OwnDatabase> {
        let kinds = Catalogue::load(SearchPaths::default()).database_kinds();
        named(&dotenvy::from_read_iter(text.as_bytes()).flatten().collect(), &kinds)
    }

    const SQLITE: &str = "sqlite";
    const POSTGRESQL: &str = "postgresql";
    const MARIADB: &str = "mariadb";

    #[test]
    fn the_apps_own_database_is_named_without_its_password() {
        let said = |text: &str| of(text).map(|own| own.at).unwrap_or_default();
        for (text, found) in [
            (
                "DATABASE_URL=\"mysql://joe:s3cr3t@db.example:3306/shop\"",
                "db.example:3306 (DATABASE_URL)",
            ),
            ("DB_CONNECTION=mysql\nDB_HOST=127.0.0.1\n", "127.0.0.1 (DB_HOST)"),
            ("DB_CONNECTION=sqlite\nDB_HOST=127.0.0.1\n", ""),
            ("DATABASE_URL=sqlite:///%kernel.project_dir%/var/data.db", ""),
            ("DATABASE_URL=sqlite:///var/data.db", ""),
            ("DATABASE_URL=sqlite://:memory:", ""),
            ("DATABASE_URL=sqlite:////srv/other/data.db", "/srv/other/data.db (DATABASE_URL)"),
            ("DB_URL=pgsql://joe:s3cr3t@db.example/shop", "db.example (DB_URL)"),
            ("DB_CONNECTION=sqlite\nDB_DATABASE=/srv/x.sqlite", "/srv/x.sqlite (DB_DATABASE)"),
            ("DB_CONNECTION=sqlite\nDB_DATABASE=shop", ""),
            ("", ""),
        ] {
            assert_eq!(said(text), found, "{text}");
        }
    }

    #[test]
    fn the_scheme_decides_which_kind_of_database_can_replace_it() {
        let kind = |text: &str| of(text).expect("a database").kind;
        let cases = [
            ("DATABASE_URL=mysql://u:p@h/d?serverVersion=8.0", Some(MARIADB)),
            ("DATABASE_URL=pdo-mysql://u:p@h/d", Some(MARIADB)),
            ("DATABASE_URL=postgresql://u:p@h:5432/d", Some(POSTGRESQL)),
            ("DATABASE_URL=sqlsrv://u:p@h/d", None),
            ("DB_CONNECTION=pgsql\nDB_HOST=h", Some(POSTGRESQL)),
            ("DB_HOST=h", Some(MARIADB)),
            ("DB_CONNECTION=oracle\nDB_HOST=h", None),
            ("DATABASE_URL=sqlite:////srv/a.db", Some(SQLITE)),
        ];
        for (text, found) in cases {
            assert_eq!(kind(text).as_deref(), found, "{text}");
        }
    }
}
