//! Creates the database beside a runtime, fills it, and counts the queries that reached it.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use minijinja::context;
use serde::Deserialize;
use serde::{Serialize, Serializer};
use stampede_keeper::spec::ProcessSpec;
use stampede_linux::interrupt;
use stampede_linux::run::{RunError, TimedCommand};
use stampede_mask::mask_foreign;
use stampede_model::record::DATABASE_ROLE;

use super::app::App;
use super::catalogue::RuntimeDirectory;
use super::copy::{copy_error, io_error, make_dir};
use super::error::RuntimeError;
use super::locate::{self, ResolvedNeed, SearchPaths};
use super::logs;
use super::placement::Placement;
use super::setting::Settings;
use super::template::render;
use crate::process::preparation::{BuildContext, Input, Step};
use crate::process::stack::{StackHandle, ended};
use crate::process::user::User;

/// The common setting that names the database.
pub const SETTING: &str = "database";
/// The common setting that says on which CPUs the database runs.
pub const CPUS: &str = "database_cpus";
/// The values of that setting. `beside`: CPUs that neither the stack nor the load has, if there are
/// any. `stack`: the stack's CPUs.
pub const CPUS_OF: [&str; 2] = ["beside", "stack"];
/// The directory of the database's files in the working directory.
const DIRECTORY: &str = "database";
/// The timeout for the query count, which takes about a millisecond.
const ASKED_WITHIN: Duration = Duration::from_secs(10);
/// The timeout of the database's start, which takes a second if there is nothing to recover.
const UP_WITHIN: Duration = Duration::from_secs(60);
/// The pause between two checks whether the database is up. Each check starts a process.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// A database that consists of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileDatabase {
    /// The first bytes of the file.
    begins: String,
    /// The file's name in the database's directory.
    name: String,
    /// The suffixes of further files that may belong to it.
    more: Vec<String>,
}

/// A command that creates a part of a database.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateCommand {
    /// The command, as a template.
    run: String,
    /// The command's standard input, as a template in which `schema` is the app's SQL.
    #[serde(default)]
    input: String,
}

/// The database beside a runtime: how it is created, and how the app reaches it.
#[derive(Clone, Debug)]
pub struct Database {
    /// The name in plans.
    pub(super) name: String,
    /// The commands that create it, in order.
    pub(super) make: Vec<CreateCommand>,
    /// The app's environment: variable → template.
    pub(super) env: BTreeMap<String, String>,
    /// The PHP extensions that reach it.
    pub(super) extensions: Vec<String>,
    /// The command that counts its queries.
    pub(super) queries: String,
    /// The command that fills it with the user's SQL.
    pub(super) fill: String,
    /// How a user's file that is such a database is recognised.
    pub(super) file: Option<FileDatabase>,
}

/// Where a database is created, and with which programs.
pub(super) struct DatabaseContext<'a> {
    /// The working directory, and how a program is run in it.
    pub build: &'a BuildContext<'a>,
    /// Programs by their name.
    pub needs: &'a BTreeMap<String, ResolvedNeed>,
}

/// What an error names, and where its log is.
pub(super) struct ErrorContext<'a> {
    /// The runtime's name.
    pub runtime: &'a str,
    /// The working directory.
    pub dir: &'a Path,
}

impl RuntimeDirectory {
    /// Checks that PHP has the extensions that reach the database. The check sees only extensions
    /// in files: it reports one as missing only if PDO is a file and the database's extension is
    /// not there.
    ///
    /// # Errors
    /// The missing extensions, with the command that installs them.
    pub(super) fn can_reach_database(
        &self,
        name: &str,
        places: &SearchPaths,
        needs: &BTreeMap<String, ResolvedNeed>,
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

    /// Adds to `settings` which database there is and where it runs.
    pub(super) fn settle_database(&self, settings: &mut Settings, placement: &Placement) {
        let Some(database) = &self.database else { return };
        settings.values.insert(SETTING.into(), database.name.clone().into());
        if placement.beside.is_empty() {
            settings.values.insert(CPUS.into(), CPUS_OF[1].into());
        }
    }

    /// Returns `app` with what it needs to reach its database in the working directory `dir`.
    ///
    /// # Errors
    /// A template is wrong.
    pub(super) fn with_database(&self, app: &App, dir: &Path) -> Result<App, RuntimeError> {
        let mut app = app.clone();
        let Some(database) = &self.database else { return Ok(app) };
        app.manifest.extensions.extend(database.extensions.iter().cloned());
        for (name, text) in &database.env {
            let values = context! { dir => dir.to_string_lossy() };
            let value = render("env of the database", text, &values)?;
            app.manifest.env.insert(name.clone(), value);
        }
        Ok(app)
    }

    /// Creates the app's database. Returns how its queries are counted; `None`: the app has no
    /// database.
    ///
    /// # Errors
    /// A command fails.
    pub(super) fn make_database(
        &self,
        app: &App,
        context: &DatabaseContext<'_>,
    ) -> Result<Option<QueryCounter>, RuntimeError> {
        let Some(database) = &self.database else { return Ok(None) };
        database.make(app, context)?;
        let (program, args) = context.command(&database.queries)?;
        let user = context.build.user.cloned();
        Ok(Some(QueryCounter { program, args, user }))
    }

    /// Fills the app's running database with the user's SQL, if there is any.
    ///
    /// # Errors
    /// The command fails.
    pub(super) fn fill_database(
        &self,
        app: &App,
        context: &DatabaseContext<'_>,
    ) -> Result<(), RuntimeError> {
        let file = app.manifest.database.as_ref().and_then(|database| database.file.as_deref());
        let (Some(database), Some(file)) = (&self.database, file) else { return Ok(()) };
        if database.is_one(file)? {
            return Ok(());
        }
        let (program, args) = context.command(&database.fill)?;
        let (program, args, env) = (program.as_path(), args.as_slice(), &BTreeMap::new());
        let first = database.fill.split_whitespace().next().unwrap_or_default();
        let (what, cwd) = (&format!("{first} < {}", file.display()), context.build.dir);
        let step = Step { what, program, args, cwd, env, input: Input::File(file) };
        context.build.step(app, &step).map(drop)
    }
}

impl Database {
    /// Creates the database in the working directory, with the app's tables. None of its processes
    /// runs afterwards.
    ///
    /// # Errors
    /// A command fails; its last lines are part of the error.
    fn make(&self, app: &App, context: &DatabaseContext<'_>) -> Result<(), RuntimeError> {
        let BuildContext { dir, user, .. } = *context.build;
        let directory = dir.join(DIRECTORY);
        make_dir(&directory)?;
        // The database trusts every client, so other users must not be able to enter its directory.
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
            let (program, args) = context.command(&make.run)?;
            let input = render("input of the database", &make.input, &values)?;
            let (program, args, env) = (program.as_path(), args.as_slice(), &BTreeMap::new());
            let what = make.run.split_whitespace().next().unwrap_or_default();
            let step =
                Step { what, program, args, cwd: &directory, env, input: Input::Text(&input) };
            context.build.step(app, &step)?;
        }
        Ok(())
    }

    /// Copies the user's file and the further files that belong to it, if it is such a database
    /// itself.
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
            std::fs::copy(&from, &to).map_err(|source| copy_error(&from, &to, source))?;
            let Some(user) = user else { continue };
            std::os::unix::fs::chown(&to, Some(user.uid), Some(user.gid))
                .map_err(io_error("give away", &to))?;
        }
        Ok(())
    }

    /// Whether the user's file is such a database, and not SQL.
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
    /// Program and arguments of a command line whose first word is the name of a need.
    fn command(&self, line: &str) -> Result<(PathBuf, Vec<String>), RuntimeError> {
        let dir = self.build.dir;
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

/// Why the number of answered queries is not known.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CountError {
    /// The counting program cannot be run.
    #[error(transparent)]
    NotRun(#[serde(skip)] io::Error),
    /// The counting program does not end in time.
    #[error("it does not answer within {} s", within.as_secs())]
    Silent {
        /// The timeout.
        #[serde(rename = "within_ns", serialize_with = "nanoseconds")]
        within: Duration,
    },
    /// The counting program fails, or prints no number.
    #[error("{words}")]
    NoNumber {
        /// How the program ended.
        #[serde(serialize_with = "exit_code")]
        status: ExitStatus,
        /// What the program printed.
        words: String,
    },
}

fn nanoseconds<S: Serializer>(length: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
}

/// The exit code; null: the program was ended by a signal.
fn exit_code<S: Serializer>(status: &ExitStatus, serializer: S) -> Result<S::Ok, S::Error> {
    status.code().serialize(serializer)
}

/// Counts the queries of a database, by running a program as the user of the database: a server in
/// its place could make a client of root read files.
#[derive(Clone, Debug)]
pub struct QueryCounter {
    program: PathBuf,
    args: Vec<String>,
    /// `None`: stampede's own user.
    user: Option<User>,
}

impl QueryCounter {
    /// The number of queries that the database has answered since its start.
    ///
    /// # Errors
    /// The program cannot be run, does not end in time, or prints no number.
    pub fn queries(&self) -> Result<u64, CountError> {
        let command = TimedCommand::new(&self.program, ASKED_WITHIN).args(&self.args).env_clear();
        let command = match &self.user {
            // It may not enter the directory that stampede was started in.
            Some(user) => command.dir(Path::new("/")).user(user.uid, user.gid),
            None => command,
        };
        let (status, output) = match command.run() {
            Ok(output) => (ExitStatus::default(), output),
            Err(RunError::Failed { status, output, .. }) => (status, output),
            Err(RunError::TimedOut { within, .. }) => return Err(CountError::Silent { within }),
            Err(RunError::NotStarted { source, .. }) => return Err(CountError::NotRun(source)),
            Err(RunError::Interrupted { .. }) => {
                return Err(CountError::NotRun(io::ErrorKind::Interrupted.into()));
            }
        };
        let text = String::from_utf8_lossy(&output.stdout);
        match (status.success(), sum_of_last_words(&text)) {
            (true, Some(queries)) => Ok(queries),
            _ => {
                let all = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
                Err(CountError::NoNumber { status, words: mask_foreign(all.trim()) })
            }
        }
    }
}

impl QueryCounter {
    /// Waits until the database answers. The counting query is not one of the app's queries.
    ///
    /// # Errors
    /// A process of `handle` ends, the database does not answer in time, or the user interrupts.
    pub(super) fn wait_until_up(
        &self,
        handle: &dyn StackHandle,
        error_context: &ErrorContext<'_>,
    ) -> Result<(), RuntimeError> {
        let begun = Instant::now();
        let runtime = error_context.runtime.to_owned();
        let log = || match logs::last_lines(error_context.dir) {
            lines if lines.is_empty() => lines,
            lines => format!("\n{lines}"),
        };
        loop {
            let said = self.queries();
            let exits = handle.exited();
            if !exits.is_empty() {
                let exits = exits.iter().map(ended).collect::<Vec<_>>().join(", ");
                return Err(RuntimeError::Ended { runtime, exits, log: log() });
            }
            match said {
                Ok(_) => return Ok(()),
                Err(_) if interrupt::is_requested() => {
                    return Err(RuntimeError::Interrupted { runtime });
                }
                Err(last) if begun.elapsed() > UP_WITHIN => {
                    let within = format!("{} s", UP_WITHIN.as_secs());
                    return Err(RuntimeError::NoDatabase { runtime, within, last, log: log() });
                }
                Err(_) => std::thread::sleep(ASK_AGAIN),
            }
        }
    }
}

/// The processes of a database among `processes`.
pub(super) fn servers(processes: &[ProcessSpec]) -> impl Iterator<Item = &ProcessSpec> {
    processes.iter().filter(|process| process.role == DATABASE_ROLE)
}

/// A database that runs while something is prepared with it. When this value is dropped, the
/// database is killed.
pub(super) struct PreparationDatabase(Box<dyn StackHandle>);

/// Starts only the servers among `processes`. `None`: there are none.
///
/// # Errors
/// A server does not start.
pub(super) fn start_servers(
    build: &BuildContext<'_>,
    query_counter: Option<&QueryCounter>,
    processes: &[ProcessSpec],
    error_context: &ErrorContext<'_>,
) -> Result<Option<PreparationDatabase>, RuntimeError> {
    let servers: Vec<ProcessSpec> = servers(processes).cloned().collect();
    let Some(query_counter) = query_counter.filter(|_| !servers.is_empty()) else {
        return Ok(None);
    };
    let handle = build
        .start_beside(servers)
        .map_err(|source| RuntimeError::Keeper { runtime: error_context.runtime.into(), source })?;
    query_counter.wait_until_up(handle.as_ref(), error_context)?;
    Ok(Some(PreparationDatabase(handle)))
}

impl PreparationDatabase {
    /// Stops the database in order, so that all it has written is there at the next start.
    ///
    /// # Errors
    /// It had ended before.
    pub fn stop(self, error_context: &ErrorContext<'_>) -> Result<(), RuntimeError> {
        let lost = |source| RuntimeError::Lost { runtime: error_context.runtime.into(), source };
        self.0.stop().map(drop).map_err(lost)
    }
}

/// The sum of the last words of all lines; `None`: a last word is no number, or there is no line.
fn sum_of_last_words(text: &str) -> Option<u64> {
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
    fn the_last_words_of_all_lines_are_added() {
        assert_eq!(sum_of_last_words("4711\n"), Some(4711));
        assert_eq!(sum_of_last_words("Com_select\t3\nCom_update\t4\n"), Some(7));
        assert_eq!(sum_of_last_words("ERROR 2002\n"), Some(2002));
        assert_eq!(sum_of_last_words("cannot connect\n"), None);
        assert_eq!(sum_of_last_words(""), None);
    }
}
