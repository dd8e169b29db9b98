//! The database of an app: processes, files and needs that any runtime can be given, from
//! `runtimes/common/database-<name>.yaml`, and what tells how many queries reached it.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use minijinja::context;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::app::App;
use super::catalogue::{Catalogue, RuntimeDirectory, parse};
use super::copy::{io_error, make_dir};
use super::error::RuntimeError;
use super::locate::{self, Located, Places};
use super::logs;
use super::manifest::{Install, Need, ProcessManifest, RuntimeManifest};
use super::preparation::{BuildContext, Input, Step};
use super::prepare::Placement;
use super::setting::Settings;
use super::start::{Guard, ended};
use super::template::render;
use super::user::User;
use crate::interrupt;
use crate::keeper::spec::ProcessSpec;
use crate::mask::mask_foreign;
use crate::plan::model::RuntimeChoice;

/// Databases that a plan may name.
pub const DATABASES: [&str; 4] = [NONE, SQLITE, POSTGRESQL, MARIADB];
/// In a file.
pub(super) const SQLITE: &str = "sqlite";
/// A server.
pub(super) const POSTGRESQL: &str = "postgresql";
/// Another.
pub(super) const MARIADB: &str = "mariadb";
/// The common setting that names it.
pub const SETTING: &str = "database";
/// The common setting that says where it runs, and what it may be.
pub const CPUS: &str = "database_cpus";
/// On CPUs that neither the stack nor the load has where there are some; else on the stack's.
pub const CPUS_OF: [&str; 2] = ["beside", "stack"];
/// Role of its processes.
pub const ROLE: &str = "database";
const NONE: &str = "none";
/// Directory of its files in the working directory.
const DIRECTORY: &str = "database";
/// A count is a millisecond's work.
const ASKED_WITHIN: Duration = Duration::from_secs(10);
/// A start that has to recover nothing takes a second.
const UP_WITHIN: Duration = Duration::from_secs(60);
/// Between two questions whether it is up; each is a process.
const ASK_AGAIN: Duration = Duration::from_millis(20);
/// Between two looks whether it has been told.
const LOOK: Duration = Duration::from_millis(2);

/// `database-<name>.yaml`: what is added to a runtime.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DatabaseManifest {
    /// For people.
    title: String,
    /// As a runtime's.
    needs: BTreeMap<String, Need>,
    /// Commands that make it, in order; each begins with a need.
    make: Vec<Make>,
    /// Templates of the shared directory.
    #[serde(default)]
    files: Vec<Spanned<String>>,
    /// Started before the runtime's own, stopped after them.
    #[serde(default)]
    processes: Vec<ProcessManifest>,
    /// The app's environment → template.
    env: BTreeMap<String, String>,
    /// PHP extensions that the app reaches it with.
    extensions: Vec<String>,
    /// Command that prints how many queries it has answered so far: lines whose last words are
    /// numbers to add.
    queries: String,
    /// Command that fills it, as it runs, with the SQL that it reads: a person's own.
    fill: String,
    /// How a person's file is told that is such a database itself; `None`: it is none in a file.
    #[serde(default)]
    file: Option<OneFile>,
    /// As a runtime's.
    #[serde(default)]
    install: BTreeMap<String, Install>,
}

/// A database that is a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneFile {
    /// Its first bytes.
    begins: String,
    /// Its name in the database's directory.
    name: String,
    /// What is added to its name where there is more of it.
    more: Vec<String>,
}

/// A command that makes a part of a database.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Make {
    /// A template.
    run: String,
    /// What it is given, a template in which `schema` is the app's.
    #[serde(default)]
    input: String,
}

/// The database beside a runtime: how it is made, and how it is reached.
#[derive(Clone, Debug)]
pub struct Database {
    name: String,
    make: Vec<Make>,
    env: BTreeMap<String, String>,
    extensions: Vec<String>,
    queries: String,
    fill: String,
    file: Option<OneFile>,
}

impl Catalogue {
    /// The runtime of `choice` with what its settings add to it, as `app` needs it.
    ///
    /// # Errors
    /// As `chosen`; and the app cannot use the database, or has no use for one.
    pub fn serving(
        &self,
        choice: &RuntimeChoice,
        app: &App,
    ) -> Result<RuntimeDirectory, RuntimeError> {
        let runtime = self.chosen(choice)?;
        let asked = choice.settings.get(SETTING).map(ToString::to_string);
        let Some(name) = which(app, choice, asked)? else { return Ok(runtime) };
        let file = format!("database-{name}.yaml");
        let text = runtime.common_text(&file)?;
        let manifest: DatabaseManifest = parse(&format!("common/{file}"), &text)?;
        let both = Arc::new(beside(&runtime.manifest, &manifest));
        let DatabaseManifest { make, env, extensions, queries, fill, file, .. } = manifest;
        let database = Database { name, make, env, extensions, queries, fill, file };
        let database = Some(Arc::new(database));
        Ok(RuntimeDirectory { manifest: both, database, ..runtime })
    }
}

/// The database that is asked for, or the app's first; `None`: it has none.
fn which(
    app: &App,
    choice: &RuntimeChoice,
    asked: Option<String>,
) -> Result<Option<String>, RuntimeError> {
    let able = app.manifest.database.as_ref().map(|database| database.any_of.as_slice());
    let able = able.unwrap_or_default();
    let fits = match &asked {
        None => return Ok(able.first().cloned()),
        Some(name) if name == NONE => able.is_empty(),
        // Whether there is such a one at all is said where all settings are resolved.
        Some(name) => able.contains(name) || !DATABASES.contains(&name.as_str()),
    };
    if fits {
        return Ok(asked.filter(|name| able.contains(name)));
    }
    let why = match able.is_empty() {
        true => format!("app `{}` has no use for one", app.name),
        false => format!("app `{}` cannot do with it", app.name),
    };
    Err(RuntimeError::BadSetting {
        runtime: choice.name.clone(),
        setting: SETTING.into(),
        value: asked.unwrap_or_default(),
        because: format!(": {why}"),
        allowed: if able.is_empty() { NONE.into() } else { able.join(", ") },
    })
}

/// `runtime` with the database's processes before its own.
fn beside(runtime: &RuntimeManifest, database: &DatabaseManifest) -> RuntimeManifest {
    let mut both = runtime.clone();
    both.title = format!("{}, with {}", both.title, database.title);
    let DatabaseManifest { needs, files, install, .. } = database.clone();
    both.take_in(needs, files, install);
    both.processes.splice(0..0, database.processes.iter().cloned());
    // It is what is compared: what it is reached with makes no row incomparable.
    both.forced.extensions.extend(database.extensions.iter().cloned());
    both.forced.ini.extend(database.extensions.iter().map(|name| format!("{name}.*")));
    both
}

/// Where a database is made, and of what.
pub(super) struct DatabaseContext<'a> {
    /// The working directory, and who makes something in it.
    pub workshop: &'a BuildContext<'a>,
    /// Programs by name.
    pub needs: &'a BTreeMap<String, Located>,
}

/// What an error is about, and where its log is.
pub(super) struct DatabaseEnv<'a> {
    /// Runtime's name.
    pub runtime: &'a str,
    /// Working directory.
    pub dir: &'a Path,
    /// Environment of the app: its secret values are masked.
    pub env: &'a BTreeMap<String, String>,
}

impl RuntimeDirectory {
    /// Whether PHP has what it reaches its database with, as far as that shows: it has PDO as a
    /// file and not that of this database.
    ///
    /// # Errors
    /// What is missing, with the command that gets it.
    pub(super) fn can_reach_database(
        &self,
        name: &str,
        places: &Places,
        needs: &BTreeMap<String, Located>,
    ) -> Result<(), RuntimeError> {
        let php = self.manifest.php.as_ref().and_then(|php| needs.get(&php.value));
        let dir = php.and_then(|php| locate::extension_dir(&php.path));
        let (Some(database), Some(dir)) = (&self.database, dir) else { return Ok(()) };
        let is_file = |name: &str| dir.join(format!("{name}.so")).is_file();
        if !is_file("pdo") {
            return Ok(());
        }
        let extensions = database.extensions.iter();
        let missing: Vec<String> = extensions.filter(|name| !is_file(name)).cloned().collect();
        if missing.is_empty() {
            return Ok(());
        }
        let install = places.install(self);
        Err(RuntimeError::Missing { runtime: name.into(), missing, install })
    }

    /// `app` with what it needs to reach its database in the working directory `dir`, and in
    /// `settings` which it is and where it runs.
    ///
    /// # Errors
    /// A template is wrong.
    pub(super) fn with_database(
        &self,
        app: &App,
        settings: &mut Settings,
        placement: &Placement,
        dir: &Path,
    ) -> Result<App, RuntimeError> {
        let mut app = app.clone();
        let Some(database) = &self.database else { return Ok(app) };
        settings.values.insert(SETTING.into(), database.name.clone().into());
        if placement.beside.is_empty() {
            settings.values.insert(CPUS.into(), CPUS_OF[1].into());
        }
        app.manifest.extensions.extend(database.extensions.iter().cloned());
        for (name, text) in &database.env {
            let values = context! { dir => dir.to_string_lossy() };
            let value = render("env of the database", text, &values)?;
            app.manifest.env.insert(name.clone(), value);
        }
        Ok(app)
    }

    /// Makes the app's database, where it has one, and says how it is asked.
    ///
    /// # Errors
    /// As a command of it fails.
    pub(super) fn make_database(
        &self,
        app: &App,
        place: &DatabaseContext<'_>,
    ) -> Result<Option<QueryCounter>, RuntimeError> {
        let Some(database) = &self.database else { return Ok(None) };
        database.make(app, place)?;
        let (program, args) = place.command(&database.queries)?;
        Ok(Some(QueryCounter { program, args }))
    }

    /// Fills the app's database, which runs, with a person's SQL, where there is such.
    ///
    /// # Errors
    /// As the command fails.
    pub(super) fn fill_database(
        &self,
        app: &App,
        place: &DatabaseContext<'_>,
    ) -> Result<(), RuntimeError> {
        let file = app.manifest.database.as_ref().and_then(|database| database.file.as_deref());
        let (Some(database), Some(file)) = (&self.database, file) else { return Ok(()) };
        if database.is_one(file)? {
            return Ok(());
        }
        let (program, args) = place.command(&database.fill)?;
        let (program, args, env) = (program.as_path(), args.as_slice(), &BTreeMap::new());
        let first = database.fill.split_whitespace().next().unwrap_or_default();
        let (what, cwd) = (&format!("{first} < {}", file.display()), place.workshop.dir);
        let step = Step { what, program, args, cwd, env, input: Input::File(file) };
        place.workshop.step(app, &step).map(drop)
    }
}

impl Database {
    /// Makes it in the working directory, with the app's tables in it. Nothing of it runs
    /// afterwards.
    ///
    /// # Errors
    /// A command fails; its last words are part of it.
    fn make(&self, app: &App, place: &DatabaseContext<'_>) -> Result<(), RuntimeError> {
        let BuildContext { dir, user, .. } = *place.workshop;
        let directory = dir.join(DIRECTORY);
        make_dir(&directory)?;
        // Whoever may enter it may ask the database, which trusts all.
        let closed = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&directory, closed).map_err(io_error("close", &directory))?;
        if let Some(user) = user {
            std::os::unix::fs::chown(&directory, Some(user.uid), Some(user.gid))
                .map_err(io_error("give away", &directory))?;
        }
        let own = app.manifest.database.as_ref().and_then(|database| database.file.as_deref());
        own.map_or(Ok(()), |own| self.take(own, &directory, user))?;
        let values = context! { dir => dir.to_string_lossy(), schema => app.schema()? };
        for make in &self.make {
            let (program, args) = place.command(&make.run)?;
            let input = render("input of the database", &make.input, &values)?;
            let (program, args, env) = (program.as_path(), args.as_slice(), &BTreeMap::new());
            let what = make.run.split_whitespace().next().unwrap_or_default();
            let step =
                Step { what, program, args, cwd: &directory, env, input: Input::Text(&input) };
            place.workshop.step(app, &step)?;
        }
        Ok(())
    }

    /// Copies a person's file, with what there is more of it, where that is such a database itself.
    fn take(&self, own: &Path, directory: &Path, user: Option<&User>) -> Result<(), RuntimeError> {
        let Some(of) = self.file.as_ref().filter(|_| self.is_one(own).is_ok_and(|is| is)) else {
            return Ok(());
        };
        for more in [""].into_iter().chain(of.more.iter().map(String::as_str)) {
            let from = PathBuf::from(format!("{}{more}", own.display()));
            if !from.is_file() {
                continue;
            }
            let to = directory.join(format!("{}{more}", of.name));
            std::fs::copy(&from, &to).map_err(io_error("copy", &from))?;
            let Some(user) = user else { continue };
            std::os::unix::fs::chown(&to, Some(user.uid), Some(user.gid))
                .map_err(io_error("give away", &to))?;
        }
        Ok(())
    }

    /// Whether a person's file is such a database, and no SQL.
    fn is_one(&self, file: &Path) -> Result<bool, RuntimeError> {
        let Some(of) = &self.file else { return Ok(false) };
        let mut head = Vec::new();
        let opened = std::fs::File::open(file).map_err(io_error("read", file))?;
        let length = of.begins.len() as u64;
        opened.take(length).read_to_end(&mut head).map_err(io_error("read", file))?;
        Ok(head == of.begins.as_bytes())
    }
}

impl DatabaseContext<'_> {
    /// Program and arguments of a line whose first word is a need.
    fn command(&self, line: &str) -> Result<(PathBuf, Vec<String>), RuntimeError> {
        let dir = self.workshop.dir;
        let line =
            render("a command of the database", line, &context! { dir => dir.to_string_lossy() })?;
        let words = shell_words::split(&line).unwrap_or_default();
        let located = words.first().and_then(|first| self.needs.get(first));
        let located = located.ok_or_else(|| RuntimeError::Manifest {
            file: "common".into(),
            line: 0,
            column: 0,
            problem: format!("a command of the database begins with no need: `{line}`"),
            nearest: None,
        })?;
        Ok((located.path.clone(), words[1..].to_vec()))
    }
}

/// Why a database does not tell how many queries it has answered.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// The program that asks it cannot be run.
    #[error(transparent)]
    NotRun(#[from] io::Error),
    /// That program does not end.
    #[error("it does not answer within {} s", within.as_secs())]
    Silent {
        /// For so long it was waited for.
        within: Duration,
    },
    /// That program says no number.
    #[error("{words}")]
    NoNumber {
        /// How it ended.
        status: ExitStatus,
        /// What it printed.
        words: String,
    },
}

/// How a database is asked for the number of its queries.
#[derive(Clone, Debug)]
pub struct QueryCounter {
    program: PathBuf,
    args: Vec<String>,
}

impl QueryCounter {
    /// Queries that it has answered since it runs.
    ///
    /// # Errors
    /// It does not answer.
    pub fn queries(&self) -> Result<u64, CountError> {
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let begun = Instant::now();
        while child.try_wait()?.is_none() {
            if begun.elapsed() > ASKED_WITHIN {
                let _ = child.kill();
                let _ = child.wait();
                return Err(CountError::Silent { within: ASKED_WITHIN });
            }
            std::thread::sleep(LOOK);
        }
        let output = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        match (output.status.success(), sum(&text)) {
            (true, Some(queries)) => Ok(queries),
            _ => {
                let all = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
                let (status, words) = (output.status, mask_foreign(all.trim()));
                Err(CountError::NoNumber { status, words })
            }
        }
    }
}

impl QueryCounter {
    /// Waits until it answers. What is asked is none of the app's queries.
    ///
    /// # Errors
    /// A process of `guard` ends, it does not answer in time, or the person asks for an end.
    pub(super) fn wait_until_up(
        &self,
        guard: &dyn Guard,
        told: &DatabaseEnv<'_>,
    ) -> Result<(), RuntimeError> {
        let begun = Instant::now();
        let runtime = told.runtime.to_owned();
        let log = || match logs::last_lines(told.dir, told.env) {
            lines if lines.is_empty() => lines,
            lines => format!("\n{lines}"),
        };
        loop {
            let said = self.queries();
            let exits = guard.exited();
            if !exits.is_empty() {
                let exits = exits.iter().map(ended).collect::<Vec<_>>().join(", ");
                return Err(RuntimeError::Ended { runtime, exits, log: log() });
            }
            match said {
                Ok(_) => return Ok(()),
                Err(_) if interrupt::asked() => return Err(RuntimeError::Interrupted { runtime }),
                Err(last) if begun.elapsed() > UP_WITHIN => {
                    let within = format!("{} s", UP_WITHIN.as_secs());
                    return Err(RuntimeError::NoDatabase { runtime, within, last, log: log() });
                }
                Err(_) => std::thread::sleep(ASK_AGAIN),
            }
        }
    }
}

/// Those of `processes` that are a database's.
pub(super) fn servers(processes: &[ProcessSpec]) -> impl Iterator<Item = &ProcessSpec> {
    processes.iter().filter(|process| process.role == ROLE)
}

/// A database that runs while something is prepared with it. Dropped, it is ended hard.
pub(super) struct Alone(Box<dyn Guard>);

/// Starts the servers among `processes` alone. `None`: there are none.
///
/// # Errors
/// As they start.
pub(super) fn up_alone(
    workshop: &BuildContext<'_>,
    asks: Option<&QueryCounter>,
    processes: &[ProcessSpec],
    told: &DatabaseEnv<'_>,
) -> Result<Option<Alone>, RuntimeError> {
    let servers: Vec<ProcessSpec> = servers(processes).cloned().collect();
    let Some(asks) = asks.filter(|_| !servers.is_empty()) else { return Ok(None) };
    let guard = workshop
        .beside(servers)
        .map_err(|source| RuntimeError::Keeper { runtime: told.runtime.into(), source })?;
    asks.wait_until_up(guard.as_ref(), told)?;
    Ok(Some(Alone(guard)))
}

impl Alone {
    /// Ends it in order: what was written is there when it starts again.
    ///
    /// # Errors
    /// It was ended before.
    pub fn stop(self, told: &DatabaseEnv<'_>) -> Result<(), RuntimeError> {
        let lost = |source| RuntimeError::Lost { runtime: told.runtime.into(), source };
        self.0.stop().map(drop).map_err(lost)
    }
}

/// Of the last words of all lines; `None`: one is no number, or there is no line.
fn sum(text: &str) -> Option<u64> {
    let mut all = None;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let number: u64 = line.split_whitespace().last()?.parse().ok()?;
        all = Some(all.unwrap_or(0) + number);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_added() {
        assert_eq!(sum("4711\n"), Some(4711));
        assert_eq!(sum("Com_select\t3\nCom_update\t4\n"), Some(7));
        assert_eq!(sum("ERROR 2002\n"), Some(2002));
        assert_eq!(sum("cannot connect\n"), None);
        assert_eq!(sum(""), None);
    }
}
