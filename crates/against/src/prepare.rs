//! Runs `--against-prepare`: the user's command in the copy of the other version, under the keeper.
//!
//! Where stampede is root, the command runs as the user that PHP runs as: Composer and npm run the
//! scripts of packages. The copy is this user's for so long. Afterwards it is root's again, and a link
//! that the command made may not lead out of it, because root would follow it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use stampede_keeper::spec::{BindMount, ProcessSetSpec, ProcessSpec, StopSpec};
use stampede_keeper::{Keeper, KeeperError, ProcessSet};
use stampede_linux::handed::{self, Links, Owner};
use stampede_linux::{fresh, interrupt};
use stampede_mask::mask_foreign;
use stampede_model::isolation::Exit;
use stampede_model::time::Nanos;
use stampede_stack::{RuntimeError, User, check_way};

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

/// Where the command runs.
pub struct Place<'a> {
    /// Shows the copy at the path of the original.
    pub bind: Option<BindMount>,
    /// The app's directory in the copy.
    pub directory: &'a Path,
    /// The copy: what git has of the repository.
    pub tree: &'a Path,
    /// The directory of the copy.
    pub own: &'a Path,
    /// The app's own directory, whose files a link may name.
    pub home: &'a Path,
    /// The user who runs the command; `None`: the one who runs stampede.
    pub user: Option<&'a User>,
}

/// Why the copy was not prepared.
#[derive(Debug)]
pub enum Unprepared {
    /// The command failed.
    Command(PrepareError),
    /// The copy could not be given to the user, or taken back.
    Handed(&'static str, io::Error),
    /// The user cannot reach the copy.
    Unreachable(RuntimeError),
    /// The command made a link that leads out of the copy.
    LeadsOut(PathBuf),
}

impl Place<'_> {
    /// Runs the command in the app's directory to its end, with the environment of whoever started
    /// stampede: Composer needs the network, and what it logs in with.
    ///
    /// # Errors
    /// The command fails, takes too long, or makes a link out of the copy; see [`Unprepared`].
    pub fn run(&self, keeper: &Keeper, command: &str) -> Result<(), Unprepared> {
        let Some(user) = self.user else {
            return self.command(keeper, command, environment()).map_err(Unprepared::Command);
        };
        let before = self.give(user)?;
        let of_user = environment().into_iter().chain(home_of(&self.own.join(HOME), user));
        let ended = self.command(keeper, command, of_user.collect());
        let after = self.take_back(user)?;
        ended.map_err(Unprepared::Command)?;
        let is_new = |(place, target): &(&PathBuf, &PathBuf)| before.get(*place) != Some(target);
        match after.iter().filter(is_new).find(|(place, target)| self.leads_out(place, target)) {
            Some((place, _)) => Err(Unprepared::LeadsOut(place.clone())),
            None => Ok(()),
        }
    }

    /// Gives the copy to the user, with a home directory beside it.
    fn give(&self, user: &User) -> Result<Links, Unprepared> {
        let io = |source| Unprepared::Handed("give away", source);
        self.ours().into_iter().try_for_each(|path| mode(path, 0o711)).map_err(io)?;
        check_way(self.tree, user).map_err(Unprepared::Unreachable)?;
        let home = self.own.join(HOME);
        fs::DirBuilder::new().mode(0o700).create(&home).map_err(io)?;
        handed::give(&home, owner(user)).map_err(io)?;
        handed::give(self.tree, owner(user)).map_err(io)
    }

    fn take_back(&self, user: &User) -> Result<Links, Unprepared> {
        let io = |source| Unprepared::Handed("take back", source);
        self.ours().into_iter().try_for_each(|path| mode(path, 0o700)).map_err(io)?;
        handed::take_back(self.tree, owner(user)).map_err(io)
    }

    /// The directories that only we may enter, but for the time of the command.
    fn ours(&self) -> Vec<&Path> {
        std::iter::once(self.own).chain(self.own.parent()).collect()
    }

    /// Whether a link of the copy names a place that is neither in the copy nor in the app's own
    /// directory. A place that does not exist yet counts as well.
    fn leads_out(&self, place: &Path, target: &Path) -> bool {
        let named = self.tree.join(place.parent().unwrap_or(place)).join(target);
        let Some(named) = without_dots(&named) else { return true };
        let is_inside = |path: &Path| path.starts_with(self.tree) || path.starts_with(self.home);
        match named.canonicalize() {
            Ok(real) => !is_inside(&real),
            Err(_) => !is_inside(&named),
        }
    }

    fn command(
        &self,
        keeper: &Keeper,
        command: &str,
        env: BTreeMap<String, String>,
    ) -> Result<(), PrepareError> {
        let log = self.own.join("prepare.log");
        let stack = ProcessSetSpec {
            id: format!("prepare-{}", fresh::token()),
            work: self.own.to_path_buf(),
            in_memory: Vec::new(),
            bind: self.bind.clone(),
            cpus: Vec::new(),
            cpus_by_role: BTreeMap::new(),
            cpu_quota: None,
            memory_bytes: 0,
            processes: vec![ProcessSpec {
                role: "prepare".to_owned(),
                program: "/bin/sh".into(),
                args: vec!["-c".to_owned(), command.to_owned()],
                env,
                cwd: self.directory.to_path_buf(),
                input: None,
                user: self.user.map(|user| (user.uid, user.gid)),
                log: log.clone(),
                stop: StopSpec { signal: libc::SIGTERM, grace: Nanos::from_secs(1) },
            }],
            containers: None,
            first: 0,
        };
        let exit = |stack: &ProcessSet| interrupt::wait_for(WITHIN, RETRY, || stack.exited().pop());
        // All of its processes have ended when the set is dropped.
        let end = match keeper.start_beside(&stack).map(|stack| exit(&stack)) {
            Ok(Some(Exit { code: Some(0), .. })) => return Ok(()),
            Ok(Some(Exit { code: Some(code), .. })) => CommandFailure::ExitCode { code },
            Ok(Some(_)) => CommandFailure::Killed,
            Ok(None) => CommandFailure::NoEnd { within: WITHIN },
            Err(error) => CommandFailure::NotStarted(Box::new(error)),
        };
        Err(PrepareError { end, log: last_lines(&log) })
    }
}

/// The name of the user's home directory, beside the copy. Composer and npm keep packages there.
const HOME: &str = "home";

fn owner(user: &User) -> Owner {
    Owner { user: user.uid, group: user.gid }
}

fn mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// The variables that say who the user is, and where its files are.
fn home_of(home: &Path, user: &User) -> Vec<(String, String)> {
    let home = home.display().to_string();
    let names = [("HOME", &home), ("USER", &user.name), ("LOGNAME", &user.name)];
    let at = [
        ("COMPOSER_HOME", ".composer"),
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_CONFIG_HOME", ".config"),
    ];
    let names = names.map(|(name, value)| (name.to_owned(), value.clone()));
    let at = at.map(|(name, directory)| (name.to_owned(), format!("{home}/{directory}")));
    names.into_iter().chain(at).collect()
}

/// A path without `.` and `..`; `None`: it leads above the root.
fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            other => plain.push(other),
        }
    }
    Some(plain)
}

/// The environment without the variables with which a calling git hook names its repository.
fn environment() -> BTreeMap<String, String> {
    let text = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    text.filter(|(name, _)| !name.starts_with("GIT_")).collect()
}

/// The last lines of a log that are not blank, each after a line break, with secrets masked.
fn last_lines(log: &Path) -> String {
    let text = mask_foreign(&String::from_utf8_lossy(&tail(log).unwrap_or_default()));
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().skip(lines.len().saturating_sub(SHOWN));
    last.map(|line| format!("\n  {line}")).collect()
}

fn tail(log: &Path) -> io::Result<Vec<u8>> {
    let mut log = File::open(log)?;
    let length = log.metadata()?.len();
    log.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    log.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The bytes read from the end of the log, which a command may fill without end.
const TAIL_BYTES: u64 = 64 << 10;
/// The number of lines shown: enough for an error message of Composer.
const SHOWN: usize = 12;
/// The timeout: enough to fetch the packages of a large project over a slow network.
const WITHIN: Duration = Duration::from_secs(600);
/// The pause between two checks whether the command has ended.
const RETRY: Duration = Duration::from_millis(20);
