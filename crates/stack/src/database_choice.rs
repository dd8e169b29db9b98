//! Adds a database to any runtime: processes, files and needs from
//! `databases/<name>/database.yaml`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_saphyr::Spanned;
use stampede_plan::model::RuntimeChoice;

use super::app::App;
use super::catalogue::{Catalogue, RuntimeDirectory, parse};
use super::common_need;
use super::database::{CreateCommand, Database, FileDatabase, SETTING};
use super::directory::{Directory, below};
use super::error::RuntimeError;
use super::manifest::{Install, Need, ProcessManifest, RuntimeManifest};

/// The manifest of a database's directory.
const MANIFEST: &str = "database.yaml";
/// The value of `database` for no database.
const NONE: &str = "none";

/// The content of `database.yaml`: what is added to a runtime.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DatabaseManifest {
    /// Title for readers.
    title: String,
    /// The databases of apps in whose place it can stand.
    #[serde(default)]
    replaces: ReplacedDatabases,
    /// The needs, as in a runtime's manifest.
    #[serde(default)]
    common_needs: Vec<Spanned<String>>,
    #[serde(default)]
    needs: BTreeMap<String, Need>,
    /// The commands that create the database, in order. Each begins with the name of a need.
    make: Vec<CreateCommand>,
    /// Files of the directory, as in a runtime's manifest.
    #[serde(default)]
    files: Vec<Spanned<String>>,
    /// The database's processes. They start before the runtime's own, and stop after them.
    #[serde(default)]
    processes: Vec<ProcessManifest>,
    /// The app's environment: variable → template.
    env: BTreeMap<String, String>,
    /// The PHP extensions with which the app reaches the database.
    extensions: Vec<String>,
    /// The command that prints how many queries the database has answered so far. Its output is
    /// lines whose last words are numbers to add.
    queries: String,
    /// The command that fills the running database with the user's SQL from its standard input.
    fill: String,
    /// How to recognise a user's file that is such a database itself; `None`: the database is not a
    /// file.
    #[serde(default)]
    file: Option<FileDatabase>,
    /// The packages to install, as in a runtime's manifest.
    #[serde(default)]
    install: BTreeMap<String, Install>,
}

/// The databases of apps in whose place a database can stand.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReplacedDatabases {
    /// Their titles for readers.
    titles: Vec<String>,
    /// How apps name them: schemes of URLs, and names of Laravel's connections. A `*` at the end
    /// stands for any text.
    schemes: Vec<String>,
}

impl Catalogue {
    /// The runtime of `choice` with what its settings add to it and the database that `app` needs.
    ///
    /// # Errors
    /// Those of `chosen`; or the app cannot use the database, or has no use for one.
    pub fn with_database_for(
        &self,
        choice: &RuntimeChoice,
        app: &App,
    ) -> Result<RuntimeDirectory, RuntimeError> {
        let runtime = self.chosen(choice)?;
        let asked = choice.settings.get(SETTING).map(ToString::to_string);
        let Some(name) = self.choose_database(app, choice, asked)? else { return Ok(runtime) };
        let place = database_place(&name);
        let directory = self.databases.get(&name).ok_or_else(|| RuntimeError::Io {
            what: "read",
            path: Path::new(&place).join(MANIFEST),
            source: io::ErrorKind::NotFound.into(),
        })?;
        let (file, text) = directory.manifest(&place, MANIFEST)?;
        let mut manifest: DatabaseManifest = parse(&file, &text)?;
        let mut sources = runtime.sources.clone();
        sources.add(&place, directory.clone());
        common_need::add(&sources, &file, &manifest.common_needs, &mut manifest.needs)?;
        manifest.files = below(&place, manifest.files);
        let both = Arc::new(with_database_processes(&runtime.manifest, &manifest));
        let DatabaseManifest { make, env, extensions, queries, fill, file, .. } = manifest;
        let database = Database { name, make, env, extensions, queries, fill, file };
        let database = Some(Arc::new(database));
        Ok(RuntimeDirectory { manifest: both, database, sources, ..runtime })
    }

    /// The kinds of databases that stampede can create, sorted by name. A directory with a mistake
    /// is skipped: it is reported when that database is asked for.
    pub(super) fn database_kinds(&self) -> Vec<DatabaseKind> {
        let kind = |(name, directory): (&String, &Directory)| {
            let (file, text) = directory.manifest(&database_place(name), MANIFEST).ok()?;
            let manifest: DatabaseManifest = parse(&file, &text).ok()?;
            let ReplacedDatabases { titles, schemes } = manifest.replaces;
            let is_file = manifest.file.is_some();
            Some(DatabaseKind { name: name.clone(), titles, schemes, is_file })
        };
        self.databases.iter().filter_map(kind).collect()
    }

    /// The database that the plan asks for, or else the app's first; `None`: the app has none.
    fn choose_database(
        &self,
        app: &App,
        choice: &RuntimeChoice,
        asked: Option<String>,
    ) -> Result<Option<String>, RuntimeError> {
        let able = app.manifest.database.as_ref().map(|database| database.any_of.as_slice());
        let able = able.unwrap_or_default();
        let fits = match &asked {
            None => return Ok(able.first().cloned()),
            Some(name) if name == NONE => able.is_empty(),
            // An unknown database name is reported later, where all settings are resolved.
            Some(name) => able.contains(name) || !self.databases.contains_key(name),
        };
        match fits {
            true => Ok(asked.filter(|name| able.contains(name))),
            false => Err(unfit_database(app, choice, able, asked)),
        }
    }
}

/// A kind of database that stampede can create in place of an app's own.
#[derive(Clone, Debug)]
pub(super) struct DatabaseKind {
    /// The name in plans.
    pub name: String,
    /// The titles of the databases that it can stand in for.
    pub titles: Vec<String>,
    schemes: Vec<String>,
    /// Whether it is a file.
    pub is_file: bool,
}

impl DatabaseKind {
    /// Whether it can stand in for the database that an app names by this scheme or connection.
    pub(super) fn fits(&self, scheme: &str) -> bool {
        self.schemes.iter().any(|own| match own.strip_suffix('*') {
            Some(start) => scheme.starts_with(start),
            None => scheme == own,
        })
    }
}

/// The place of a database's directory in the catalogue.
fn database_place(name: &str) -> String {
    format!("databases/{name}")
}

/// Why an app cannot use the database that the plan asks for. `able`: those that it can use.
fn unfit_database(
    app: &App,
    choice: &RuntimeChoice,
    able: &[String],
    asked: Option<String>,
) -> RuntimeError {
    let why = match able.is_empty() {
        true => format!("app `{}` has no use for one", app.name),
        false => format!("app `{}` cannot do with it", app.name),
    };
    RuntimeError::BadSetting {
        runtime: choice.name.clone(),
        setting: SETTING.into(),
        value: asked.unwrap_or_default(),
        because: format!(": {why}"),
        allowed: if able.is_empty() { NONE.into() } else { able.join(", ") },
    }
}

/// Returns `runtime` with the database's processes before its own.
fn with_database_processes(
    runtime: &RuntimeManifest,
    database: &DatabaseManifest,
) -> RuntimeManifest {
    let mut both = runtime.clone();
    both.title = format!("{}, with {}", both.title, database.title);
    let DatabaseManifest { needs, files, install, .. } = database.clone();
    both.merge_needs(needs, files, install);
    both.processes.splice(0..0, database.processes.iter().cloned());
    // The extensions that reach the database must not make rows incomparable, since the database
    // belongs to what is compared.
    both.forced.extensions.extend(database.extensions.iter().cloned());
    both.forced.ini.extend(database.extensions.iter().map(|name| format!("{name}.*")));
    both
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::locate::SearchPaths;
    use super::*;

    const DATABASE: &str = "title: Percona Server\n\
        replaces: { titles: [Percona], schemes: [\"percona*\"] }\n\
        needs: { mysqld: { programs: [mysqld] } }\nmake: []\nenv: {}\nextensions: [pdo_mysql]\n\
        queries: mysqld\nfill: mysqld\n";

    #[test]
    fn a_database_is_a_directory() {
        let place = tempfile::tempdir().expect("directory");
        fs::create_dir(place.path().join("percona")).expect("directory");
        fs::write(place.path().join("percona").join(MANIFEST), DATABASE).expect("file");
        let databases = vec![place.path().into()];
        let catalogue = Catalogue::load(SearchPaths { databases, ..SearchPaths::default() });
        let kinds = catalogue.database_kinds();
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        assert_eq!(names, ["mariadb", "percona", "postgresql", "sqlite"]);
        let fits = |scheme: &str| {
            let kind = kinds.iter().find(|kind| kind.fits(scheme));
            kind.map(|kind| (kind.name.as_str(), kind.is_file))
        };
        assert_eq!(fits("percona8"), Some(("percona", false)));
        assert_eq!(fits("sqlite3"), Some(("sqlite", true)));
        assert_eq!(fits("mysql2"), Some(("mariadb", false)));
        assert_eq!(fits("oracle"), None);
    }
}
