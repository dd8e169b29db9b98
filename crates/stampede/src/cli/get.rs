//! Makes needs that no package contains. A script in a runtime's directory makes them, and the
//! result goes into a directory of stampede's own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use stampede_linux::interrupt;
use stampede_stack::{BuildRecipe, Catalogue, LIB, Release, RuntimeDirectory, SearchPaths, sha256};

use super::fail::CommandError;
use super::shell::print_message;

/// How one need is made, and where it goes.
#[derive(Debug)]
pub struct Recipe {
    get: BuildRecipe,
    /// The script and the files beside it.
    files: BTreeMap<String, Vec<u8>>,
    /// The directory `lib` in stampede's own directory.
    lib: PathBuf,
    /// The PHP that the need is made for.
    php: Option<PathBuf>,
    /// Command that prints the version of the result. Its first word is the need's name.
    version: Option<String>,
    /// Whether an upstream release is preferred.
    release_first: bool,
}

/// Returns the recipes for these runtimes, one per need. `lacks` returns the needs that a runtime
/// lacks. With `build`, upstream's releases are not used.
///
/// # Errors
/// There is no directory of stampede's own, or the script does not exist.
pub fn wanted(
    catalogue: &Catalogue,
    runtimes: &[&RuntimeDirectory],
    lacks: impl Fn(&RuntimeDirectory) -> Vec<String>,
    build: bool,
) -> Result<Vec<Recipe>, GetError> {
    let mut wanted: Vec<Recipe> = Vec::new();
    for runtime in runtimes {
        let lacks = lacks(runtime);
        for get in &runtime.manifest.get {
            let is_new = wanted.iter().all(|one| one.need() != get.need.value);
            if is_new && lacks.contains(&get.need.value) {
                let recipe = Recipe::new(catalogue, runtime, get)?;
                wanted.push(Recipe { release_first: !build, ..recipe });
            }
        }
    }
    Ok(wanted)
}

impl Recipe {
    fn new(
        catalogue: &Catalogue,
        runtime: &RuntimeDirectory,
        get: &BuildRecipe,
    ) -> Result<Recipe, GetError> {
        let own = catalogue.places.own.clone().ok_or(GetError::NoOwnDirectory)?;
        let files = catalogue.files_of(get);
        if !files.contains_key(file_name(&get.run)) {
            let (runtime, script) = (get.of.clone(), get.run.clone());
            return Err(GetError::NoScript { runtime, script });
        }
        Ok(Recipe {
            get: get.clone(),
            files,
            lib: own.join(LIB),
            php: php_of(&catalogue.places, runtime),
            version: runtime
                .manifest
                .needs
                .get(&get.need.value)
                .and_then(|need| need.version.clone()),
            release_first: true,
        })
    }

    /// The name of the need.
    pub fn need(&self) -> &str {
        &self.get.need.value
    }

    /// Debian packages that the script needs.
    pub fn packages(&self) -> &[String] {
        &self.get.packages
    }

    /// Returns shell commands that do the same, for people.
    pub fn commands(&self, places: &SearchPaths) -> String {
        let names: Vec<&str> = self.files.keys().map(String::as_str).collect();
        let directory = Path::new(&self.get.run).parent().unwrap_or(Path::new(""));
        let quoted = |path: &Path| shell_words::quote(&path.display().to_string()).into_owned();
        let out = quoted(&self.lib.join(self.need()));
        let known = |name: &String| Some((name.clone(), tool(places, name)?));
        let tools: BTreeMap<String, PathBuf> = self.get.tools.iter().filter_map(known).collect();
        let set = self.variables(&tools);
        let set: String =
            set.iter().map(|(name, path)| format!("{name}={} ", quoted(path))).collect();
        let mut text = self.release_commands(&out);
        let _ = writeln!(
            text,
            "# Into a new directory, from runtimes/{}/{} and runtimes/common/get of stampede's source: {}. There:",
            self.get.of,
            directory.display(),
            names.join(", ")
        );
        let script = shell_words::quote(file_name(&self.get.run)).into_owned();
        let _ = writeln!(text, "mkdir -p {out} && {set}OUT={out} {BASH} {script}");
        text
    }

    fn release_commands(&self, out: &str) -> String {
        let Some(Release { url, sha256, member, note }) = self.release() else {
            return String::new();
        };
        let (need, url) = (self.need(), shell_words::quote(url));
        let file = if member.is_some() { ARCHIVE } else { need };
        let check: Vec<String> =
            sha256.iter().map(|sum| format!("echo '{sum}  {file}' | sha256sum --check")).collect();
        let check = match check.as_slice() {
            [one] => one.clone(),
            several => format!("{{ {}; }}", several.join(" || ")),
        };
        let unpack = member.as_ref().map_or(String::new(), |member| {
            let member = shell_words::quote(member).into_owned();
            format!("tar -xzOf {ARCHIVE} {member} > {need} && rm {ARCHIVE} && ")
        });
        format!(
            "# {note}:\nmkdir -p {out} && cd {out} && curl -fL -o {file} {url} && \
             {check} && {unpack}chmod 755 {need}\n# Or built:\n"
        )
    }

    /// The upstream program for this machine; `None` if there is none, or if it must be built.
    fn release(&self) -> Option<&Release> {
        self.get.release.get(std::env::consts::ARCH).filter(|_| self.release_first)
    }

    /// Downloads the upstream program for this machine, if there is one. Returns whether the
    /// program is now in place. Prints why not if it cannot be downloaded, is not the pinned one,
    /// or does not start.
    ///
    /// # Errors
    /// Interrupted (the caller handles the signals), or a file cannot be written.
    pub fn take_release(&self, places: &SearchPaths) -> Result<bool, GetError> {
        let Some(release) = self.release() else { return Ok(false) };
        let Some(curl) = tool(places, "curl") else {
            let need = self.need();
            print_message(&format!(
                "note: there is no `curl` to get a release with; so `{need}` is built"
            ));
            return Ok(false);
        };
        print_message(&format!("getting `{}` from {}", self.need(), release.url));
        let unwanted = self.install_whole(|part| {
            let file = part.join(self.need());
            let had = if release.member.is_some() { part.join(ARCHIVE) } else { file.clone() };
            let mut command = Command::new(curl);
            command.args(CURL).arg("-o").arg(&had).arg(&release.url);
            if !self.succeeded(&mut command)? {
                return Ok(Some(format!("{} could not be had", release.url)));
            }
            let bytes = fs::read(&had).map_err(|source| GetError::ReadRelease { source })?;
            if !release.sha256.contains(&sha256(bytes)) {
                let text = "has changed: its checksum differs";
                return Ok(Some(format!("{} {text}", release.url)));
            }
            if let Some(member) = &release.member
                && !self.unpacked(&had, member, &file, places)?
            {
                return Ok(Some(format!("{} has no `{member}`", release.url)));
            }
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&file, mode).map_err(|source| GetError::WriteRelease { source })?;
            match self.starts(&file)? {
                true => Ok(None),
                false => Ok(Some(format!("{} does not start here", release.url))),
            }
        })?;
        match &unwanted {
            None => print_message(&format!("note: {}", release.note)),
            Some(why) => print_message(&format!("note: {why}; so `{}` is built", self.need())),
        }
        Ok(unwanted.is_none())
    }

    /// Unpacks one file of an archive, and removes the archive. Returns whether it has the file.
    fn unpacked(
        &self,
        archive: &Path,
        member: &str,
        file: &Path,
        places: &SearchPaths,
    ) -> Result<bool, GetError> {
        let Some(tar) = tool(places, "tar") else { return Ok(false) };
        let directory = archive.with_file_name("unpacked");
        let unpacked = || {
            fs::create_dir(&directory)?;
            Ok(Command::new(tar))
        };
        let write = |source| GetError::WriteRelease { source };
        let mut command: Command = unpacked().map_err(write)?;
        command.arg("-xzf").arg(archive).arg("-C").arg(&directory).arg("--").arg(member);
        let has = self.succeeded(&mut command)? && directory.join(member).is_file();
        if has {
            fs::rename(directory.join(member), file).map_err(write)?;
        }
        fs::remove_dir_all(&directory).and_then(|()| fs::remove_file(archive)).map_err(write)?;
        Ok(has)
    }

    /// Whether the program prints its version. True if no command for that is known.
    fn starts(&self, file: &Path) -> Result<bool, GetError> {
        let Some(version) = &self.version else { return Ok(true) };
        self.succeeded(Command::new(file).args(version.split_whitespace().skip(1)))
    }

    /// Runs the script elsewhere, and moves the complete result to its place. If interrupted (the
    /// caller handles the signals), it leaves nothing there.
    ///
    /// # Errors
    /// A tool is missing, the script fails and prints why, or a file cannot be written.
    pub fn run(&self, places: &SearchPaths) -> Result<(), GetError> {
        let tools = self.tools(places)?;
        let place = tempfile::Builder::new()
            .prefix("stampede-get-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir()
            .map_err(|source| GetError::MakeTemporary { source })?;
        for (name, bytes) in &self.files {
            fs::write(place.path().join(name), bytes)
                .map_err(|source| GetError::WriteTemporary { source })?;
        }
        print_message(&format!("making `{}`; this may take some minutes", self.need()));
        self.install_whole(|part| self.make(place.path(), part, &tools).map(|()| None)).map(drop)
    }

    /// Lets `put` fill a new directory, and moves it to its place as a whole. On an error, or if
    /// `put` returns why the result is not wanted, nothing is moved.
    fn install_whole(
        &self,
        put: impl FnOnce(&Path) -> Result<Option<String>, GetError>,
    ) -> Result<Option<String>, GetError> {
        // The name is always the same, so the remains of a killed process are removed, and nothing
        // finds them.
        let part = self.lib.join(format!(".{}.part", self.need()));
        let out = self.lib.join(self.need());
        let empty = || {
            fs::create_dir_all(&self.lib)?;
            remove(&part)?;
            fs::create_dir(&part)
        };
        empty().map_err(|source| GetError::MakeDirectory { path: part.clone(), source })?;
        let unwanted = put(&part).and_then(|why| {
            if why.is_none() {
                remove(&out)
                    .and_then(|()| fs::rename(&part, &out))
                    .map_err(|source| GetError::MoveResult { path: out.clone(), source })?;
            }
            Ok(why)
        });
        let _ = remove(&part);
        unwanted
    }

    /// Whether the programs that the script needs are here.
    pub fn has_tools(&self, places: &SearchPaths) -> bool {
        self.tools(places).is_ok()
    }

    fn tools(&self, places: &SearchPaths) -> Result<BTreeMap<String, PathBuf>, GetError> {
        let find = |name: &String| match tool(places, name) {
            Some(path) => Ok((name.clone(), path)),
            None => Err(GetError::NoTool {
                need: self.need().to_owned(),
                tool: name.clone(),
                note: self.get.note.clone(),
            }),
        };
        self.get.tools.iter().map(find).collect()
    }

    /// Returns the script's environment variables with paths, such as `GO`.
    fn variables(&self, tools: &BTreeMap<String, PathBuf>) -> BTreeMap<String, PathBuf> {
        let tools = tools.iter().map(|(name, path)| (variable(name), path.clone()));
        tools.chain(self.php.clone().map(|php| ("PHP".to_owned(), php))).collect()
    }

    fn make(
        &self,
        place: &Path,
        out: &Path,
        tools: &BTreeMap<String, PathBuf>,
    ) -> Result<(), GetError> {
        let words = shell_words::split(BASH).unwrap_or_default();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(file_name(&self.get.run)).current_dir(place);
        command.envs(self.variables(tools)).env("OUT", out);
        match self.succeeded(&mut command)? {
            true => Ok(()),
            false => {
                Err(GetError::NotMade { need: self.need().to_owned(), note: self.get.note.clone() })
            }
        }
    }

    /// Runs a command to its end, together with everything that it starts. Returns whether it
    /// succeeded.
    fn succeeded(&self, command: &mut Command) -> Result<bool, GetError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let succeeded = command
            .stdin(Stdio::null())
            // Standard output is for stampede's results only. The command's output is progress.
            .stdout(std::io::stderr())
            // A process group of its own, so that all its processes can be ended together.
            .process_group(0)
            .spawn()
            .and_then(wait_or_interrupt)
            .map_err(|source| GetError::Run { program, source })?;
        if interrupt::is_requested() {
            return Err(GetError::Interrupted { need: self.need().to_owned() });
        }
        Ok(succeeded)
    }
}

/// The name of a downloaded archive.
const ARCHIVE: &str = "release.tar.gz";

/// Why a need was not made.
#[derive(Debug, thiserror::Error)]
pub enum GetError {
    /// There is no directory of stampede's own.
    #[error("there is no directory of stampede's own to put it into")]
    NoOwnDirectory,
    /// The recipe's script does not exist.
    #[error("`runtimes/{runtime}/{script}` is not there")]
    NoScript {
        /// The runtime whose directory has the recipe.
        runtime: String,
        /// The script, relative to the runtime's directory.
        script: String,
    },
    /// A program that the script needs is not installed.
    #[error("`{need}` is missing, and there is no `{tool}` to make it")]
    NoTool {
        /// Name of the need.
        need: String,
        /// Name of the program.
        tool: String,
        /// What the recipe says that the user can do.
        note: String,
    },
    /// The script failed and printed why.
    #[error("`{need}` was not made")]
    NotMade {
        /// Name of the need.
        need: String,
        /// What the recipe says that the user can do.
        note: String,
    },
    /// The user interrupted.
    #[error("interrupted: `{need}` is still missing")]
    Interrupted {
        /// Name of the need.
        need: String,
    },
    /// The downloaded file cannot be read.
    #[error("cannot read the release")]
    ReadRelease {
        /// The system's error.
        source: std::io::Error,
    },
    /// The downloaded file cannot be made executable.
    #[error("cannot write a file")]
    WriteRelease {
        /// The system's error.
        source: std::io::Error,
    },
    /// The directory in which the script runs cannot be made.
    #[error("cannot make a temporary directory")]
    MakeTemporary {
        /// The system's error.
        source: std::io::Error,
    },
    /// The script, or a file beside it, cannot be written.
    #[error("cannot write a temporary file")]
    WriteTemporary {
        /// The system's error.
        source: std::io::Error,
    },
    /// The directory for the unfinished result cannot be made.
    #[error("cannot make `{}`", path.display())]
    MakeDirectory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The finished result cannot be moved to its place.
    #[error("cannot write `{}`", path.display())]
    MoveResult {
        /// The place.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A program cannot be started.
    #[error("cannot run {program}")]
    Run {
        /// Name or path of the program.
        program: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl CommandError for GetError {
    fn hint(&self) -> Option<String> {
        match self {
            GetError::NoOwnDirectory => Some("set HOME or XDG_DATA_HOME".to_owned()),
            GetError::NoTool { note, .. } => Some(note.clone()),
            GetError::NotMade { note, .. } => Some(format!("the reason stands above; {note}")),
            _ => None,
        }
    }
}

/// Waits for the end. If an interrupt asks for it, the whole process group is ended.
fn wait_or_interrupt(mut child: Child) -> std::io::Result<bool> {
    let group = Pid::from_child(&child);
    let mut asked = None;
    loop {
        if let Some(status) = child.try_wait()? {
            // Ends processes that the command started and left behind.
            let _ = kill_process_group(group, Signal::KILL);
            return Ok(status.success());
        }
        if interrupt::is_requested() {
            let begun = *asked.get_or_insert_with(|| {
                let _ = kill_process_group(group, Signal::INT);
                std::time::Instant::now()
            });
            if begun.elapsed() > GRACE {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
        std::thread::sleep(LOOK);
    }
}

fn remove(directory: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn php_of(places: &SearchPaths, runtime: &RuntimeDirectory) -> Option<PathBuf> {
    let name = &runtime.manifest.php.as_ref()?.value;
    let need = runtime.manifest.needs.get(name)?;
    places.find(name, need, None, None).ok().flatten().map(|found| found.path)
}

/// Finds a tool: by `STAMPEDE_GO`, in PATH, or where Go's own installation puts it.
fn tool(places: &SearchPaths, name: &str) -> Option<PathBuf> {
    let named = places.named.get(&format!("STAMPEDE_{}", variable(name))).map(PathBuf::from);
    let in_path = places.path.iter().map(|directory| directory.join(name));
    let by_itself = (name == "go").then(|| PathBuf::from(GO));
    named.into_iter().chain(in_path).chain(by_itself).find(|path| path.is_file())
}

fn variable(name: &str) -> String {
    name.to_uppercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Options of curl. It fails soon without a connection, and ends a download that hangs.
const CURL: [&str; 5] = ["-fsSL", "--connect-timeout", "15", "--max-time", "900"];
const BASH: &str = "bash -euo pipefail";
const GO: &str = "/usr/local/go/bin/go";
/// Time for cleaning up after the request to end.
const GRACE: Duration = Duration::from_secs(10);
/// Pause between two checks whether the script has ended, too short to notice.
const LOOK: Duration = Duration::from_millis(50);
