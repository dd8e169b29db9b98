//! Finds the programs and libraries of a runtime, and their versions.

mod fitting;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use serde::Serialize;
use stampede_linux::run::{RunError, TimedCommand};
use stampede_model::record::CustomBuild;
use stampede_proof::is_musl;

use super::catalogue::RuntimeDirectory;
use super::error::RuntimeError;
use super::manifest::Need;
use super::php_constraint::PhpRequirements;
use super::place;
use super::problem::ProgramSource;
pub(crate) use fitting::Fitting;

/// The parts of the environment that decide where things are found. Passed in as a value, so that a
/// test can make it empty.
#[derive(Clone, Debug, Default)]
pub struct SearchPaths {
    /// Environment variables that name programs: `STAMPEDE_` and the need in capitals.
    pub named: BTreeMap<String, String>,
    /// stampede's own directory, `~/.local/share/stampede`: programs in `bin`, and in `lib` one
    /// directory for each need that stampede made.
    pub own: Option<PathBuf>,
    /// The directories of PATH, then the `sbin` directories, which PATH often lacks.
    pub path: Vec<PathBuf>,
    /// The configuration directory, `~/.config/stampede`.
    pub config: Option<PathBuf>,
    /// The directories in `STAMPEDE_RUNTIMES`.
    pub runtimes: Vec<PathBuf>,
    /// The directories in `STAMPEDE_APPS`.
    pub apps: Vec<PathBuf>,
    /// The directories in `STAMPEDE_FRONTS`.
    pub fronts: Vec<PathBuf>,
    /// The directories in `STAMPEDE_DATABASES`.
    pub databases: Vec<PathBuf>,
    /// The directories in `STAMPEDE_FRAMEWORKS`.
    pub frameworks: Vec<PathBuf>,
    /// The directory in which working directories are created: TMPDIR. `None`: it is not set, and
    /// the best one is chosen.
    pub temp: Option<PathBuf>,
    /// A file system in memory, for the working directories of apps that ask for it. `None`: the
    /// user has set TMPDIR, where all of them belong.
    pub memory: Option<PathBuf>,
    /// The distribution and what it is like, such as `debian`, `fedora`: decides which install
    /// command is shown.
    pub family: Vec<String>,
}

/// A program or library that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedNeed {
    /// The absolute path.
    pub path: PathBuf,
    /// The version as the program prints it; empty: it prints none.
    pub version: String,
    /// How it was built if it is no upstream release; `None`: it is one.
    pub custom_build: Option<CustomBuild>,
}

/// The most bytes that a copy of an app, its caches and the files of its runtime need.
const ROOM: u64 = 256 << 20;
/// The kernel's number for a file system in memory (`statfs`, linux/magic.h).
const TMPFS: u64 = 0x0102_1994;

/// Whether `directory` is a file system in memory with enough free bytes, from which programs may
/// run.
fn is_roomy_memory(directory: &Path) -> bool {
    let is_memory = rustix::fs::statfs(directory).is_ok_and(|found| found.f_type as u64 == TMPFS);
    let flags = rustix::fs::StatVfsMountFlags::NOEXEC | rustix::fs::StatVfsMountFlags::RDONLY;
    let has_room = |found: rustix::fs::StatVfs| {
        !found.f_flag.intersects(flags) && found.f_bavail.saturating_mul(found.f_frsize) >= ROOM
    };
    is_memory && rustix::fs::statvfs(directory).is_ok_and(has_room)
}

/// Servers are mostly in `sbin` directories, which an ordinary user's PATH lacks.
const SBIN: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];
/// The timeout for printing a version, which takes milliseconds (`nginx -v`). A program that takes
/// longer does not print its version.
const VERSION_WITHIN: Duration = Duration::from_secs(5);

impl SearchPaths {
    /// Reads the environment of this process.
    pub fn from_env() -> SearchPaths {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = var("HOME").map(PathBuf::from);
        let below_home = |name: &str, rest: &str| {
            var(name).map(PathBuf::from).or_else(|| home.as_ref().map(|home| home.join(rest)))
        };
        let list = |name: &str| var(name).map(|value| directories(&value)).unwrap_or_default();
        let mut path = list("PATH");
        path.extend(SBIN.iter().map(PathBuf::from).filter(|sbin| !list("PATH").contains(sbin)));
        SearchPaths {
            named: std::env::vars().filter(|(name, _)| name.starts_with("STAMPEDE_")).collect(),
            own: below_home("XDG_DATA_HOME", ".local/share").map(|data| data.join("stampede")),
            path,
            config: below_home("XDG_CONFIG_HOME", ".config").map(|config| config.join("stampede")),
            runtimes: list("STAMPEDE_RUNTIMES"),
            apps: list("STAMPEDE_APPS"),
            fronts: list("STAMPEDE_FRONTS"),
            databases: list("STAMPEDE_DATABASES"),
            frameworks: list("STAMPEDE_FRAMEWORKS"),
            temp: var("TMPDIR").map(PathBuf::from),
            memory: var("TMPDIR").is_none().then(|| "/dev/shm".into()),
            family: family(&std::fs::read_to_string("/etc/os-release").unwrap_or_default()),
        }
    }

    /// The directory in which a working directory is created: in memory if that is asked for and
    /// has enough free bytes.
    pub fn working_directories(&self, in_memory: bool) -> PathBuf {
        let memory =
            self.memory.clone().filter(|directory| in_memory && is_roomy_memory(directory));
        let place = || self.temp.clone().unwrap_or_else(place::of_working_directories);
        memory.unwrap_or_else(place)
    }

    /// Looks for a need where the plan names it, then where the environment names it, in stampede's
    /// own directory, and in PATH. `php` is the PHP that an extension is for. `Ok(None)`: the need
    /// was not found.
    ///
    /// # Errors
    /// A program that was named does not exist, or an extension is for another PHP.
    pub fn find(
        &self,
        name: &str,
        need: &Need,
        in_plan: Option<&str>,
        php: Option<&Path>,
    ) -> Result<Option<ResolvedNeed>, RuntimeError> {
        self.find_for(&Fitting { php, ..Fitting::default() }, name, need, in_plan)
    }

    /// The same for what has to fit: of several installed ones, the highest that fits is found, else
    /// the highest.
    ///
    /// # Errors
    /// As [`SearchPaths::find`].
    pub(crate) fn find_for(
        &self,
        fitting: &Fitting<'_>,
        name: &str,
        need: &Need,
        in_plan: Option<&str>,
    ) -> Result<Option<ResolvedNeed>, RuntimeError> {
        let path = match self.named(name, in_plan) {
            Some((path, given_by)) => {
                let path = PathBuf::from(path);
                if !usable(&path, need) {
                    return Err(RuntimeError::NamedProgram { program: path, given_by });
                }
                // The program is started in the working directory, where a relative path would not
                // lead to it.
                std::path::absolute(&path).unwrap_or(path)
            }
            None => match self.search(fitting, name, need) {
                Some(path) => path,
                None => return Ok(None),
            },
        };
        match version(&path, need, fitting.php) {
            Ok(version) => {
                let custom_build = CustomBuild::of_version(&version);
                Ok(Some(ResolvedNeed { path, version, custom_build }))
            }
            Err(why) => Err(RuntimeError::Extension { extension: path, why }),
        }
    }

    /// The file that the plan or the environment names for a need, and which of them.
    fn named<'a>(
        &'a self,
        name: &str,
        in_plan: Option<&'a str>,
    ) -> Option<(&'a str, ProgramSource)> {
        let of_plan = in_plan.map(|path| (path, ProgramSource::Setting(name.to_owned())));
        of_plan.or_else(|| {
            let variable = format!("STAMPEDE_{}", name.to_uppercase().replace('-', "_"));
            let path = self.named.get(&variable)?;
            Some((path.as_str(), ProgramSource::Variable(variable)))
        })
    }

    fn search(&self, fitting: &Fitting<'_>, name: &str, need: &Need) -> Option<PathBuf> {
        let php = fitting.php;
        let made = self.own.as_ref().map(|own| own.join(LIB).join(name));
        if let Some(extension) = &need.extension {
            let mut directories = made.into_iter().chain(php.and_then(extension_dir));
            let file = format!("{extension}.so");
            // An extension file that is for another PHP does not count.
            let fits = |path: &PathBuf| path.is_file() && version(path, need, php).is_ok();
            let found = directories.find_map(|dir| Some(dir.join(&file)).filter(fits));
            // If the extension is built into PHP, PHP itself is the file.
            let is_in = |php: &&Path| {
                extension_version(php, extension, php).is_ok_and(|version| !version.is_empty())
            };
            let built_in = || php.filter(is_in);
            return found.or_else(|| built_in().map(Path::to_path_buf));
        }
        if need.library.is_some() {
            return made.map(|dir| dir.join(AUTOLOAD)).filter(|path| path.is_file());
        }
        let own = self.own.as_ref().map(|own| own.join("bin"));
        let directories: Vec<&PathBuf> = own.iter().chain(&made).chain(&self.path).collect();
        for pattern in &need.programs {
            let found = directories.iter().flat_map(|directory| matching(directory, pattern));
            let found: Vec<PathBuf> = found.filter(|path| usable(path, need)).collect();
            let fits = found.iter().filter(|path| fitting.has_version(path, need)).cloned();
            if let Some(path) = highest(fits).or_else(|| highest(found.iter().cloned())) {
                return Some(path);
            }
        }
        let files = (0..).zip(&need.files).flat_map(|(place, pattern)| {
            paths(Path::new(pattern)).into_iter().map(move |path| (Reverse(place), path))
        });
        let found = files.max_by_key(|(place, path)| {
            let (linked, allowed) = (fitting.is_linked(path), fitting.has_version(path, need));
            (linked, allowed, *place, numbers(&path.to_string_lossy()))
        });
        found.map(|(_, path)| path)
    }

    /// The files that can be a need: the one that is named, or all that match.
    fn candidates(&self, name: &str, need: &Need, in_plan: Option<&str>) -> Vec<PathBuf> {
        match self.named(name, in_plan) {
            Some((path, _)) => vec![path.into()],
            None => need.files.iter().flat_map(|pattern| paths(Path::new(pattern))).collect(),
        }
    }

    /// Finds needs that belong together. `php`: which of them is the PHP, whose versions are
    /// `required`. Also returns the names of those that were not found.
    fn find_each(
        &self,
        needs: &BTreeMap<String, Need>,
        php: Option<&str>,
        in_plan: &BTreeMap<String, String>,
        required: &PhpRequirements,
    ) -> Result<(BTreeMap<String, ResolvedNeed>, Vec<String>), RuntimeError> {
        let (mut found, mut missing) = (BTreeMap::<String, ResolvedNeed>::new(), Vec::new());
        // A library comes before what is linked to it, and extensions last: they are for the PHP that
        // was found.
        let mut order: Vec<_> = needs.iter().collect();
        order.sort_by_key(|(_, need)| (need.extension.is_some(), need.links.is_some()));
        let named = |name: &str| in_plan.get(name).map(String::as_str);
        for (name, need) in order {
            let of = |name: Option<&str>| {
                name.and_then(|name| found.get(name)).map(|need| need.path.as_path())
            };
            let linking = needs.iter().filter(|(_, other)| other.links.as_ref() == Some(name));
            let fitting = Fitting {
                required: (php == Some(name)).then_some(required),
                php: of(php),
                linkers: linking
                    .flat_map(|(name, need)| self.candidates(name, need, named(name)))
                    .collect(),
                library: of(need.links.as_deref()),
            };
            match self.find_for(&fitting, name, need, named(name))? {
                Some(located) => {
                    found.insert(name.clone(), located);
                }
                None => missing.push(name.clone()),
            }
        }
        Ok((found, missing))
    }

    /// The command that installs what a runtime needs here; `None`: no command is known. stampede's
    /// own command is preferred where it can do it, since it starts no service.
    pub fn install(&self, runtime: &RuntimeDirectory) -> Option<String> {
        let manifest = &runtime.manifest;
        // `stampede install` does not know what a front or a database needs.
        let is_alone = runtime.front.is_none() && runtime.database.is_none();
        if !manifest.get.is_empty() && is_alone {
            return Some(format!("stampede install {}", runtime.name));
        }
        let family = self.family.iter().find(|family| manifest.install.contains_key(*family))?;
        let packages: Vec<&str> =
            manifest.install[family].packages.iter().map(|word| first_package(word)).collect();
        if packages.is_empty() {
            return None;
        }
        let packages = packages.join(" ");
        match family.as_str() {
            "debian" if is_alone => Some(format!("stampede install {}", runtime.name)),
            // What no package has comes from the first command.
            "debian" if !manifest.get.is_empty() => Some(format!(
                "stampede install {} && apt-get install --no-install-recommends {packages}",
                runtime.name
            )),
            "debian" => Some(format!("apt-get install --no-install-recommends {packages}")),
            "fedora" => Some(format!("dnf install {packages}")),
            "alpine" => Some(format!("apk add {packages}")),
            "arch" => Some(format!("pacman -S {packages}")),
            _ => None,
        }
    }
}

/// Finds all needs of a runtime. `required`: the versions of PHP that the app requires.
///
/// # Errors
/// All needs that were not found, in one error with the command that installs them.
pub fn all(
    places: &SearchPaths,
    name: &str,
    runtime: &RuntimeDirectory,
    in_plan: &BTreeMap<String, String>,
    required: &PhpRequirements,
) -> Result<BTreeMap<String, ResolvedNeed>, RuntimeError> {
    let manifest = &runtime.manifest;
    let php = manifest.php.as_ref().map(|php| php.value.as_str());
    let (found, missing) = places.find_each(&manifest.needs, php, in_plan, required)?;
    if missing.is_empty() {
        return Ok(found);
    }
    let install = places.install(runtime);
    Err(RuntimeError::Missing { runtime: name.into(), missing, install })
}

/// How the runtime with these needs was built if one of them is no upstream release; `None`: all
/// are.
pub fn custom_build(found: &BTreeMap<String, ResolvedNeed>) -> Option<CustomBuild> {
    found.values().find_map(|found| found.custom_build)
}

/// The directory, in stampede's own, of the needs that stampede made.
pub const LIB: &str = "lib";
/// The file that a worker script requires from a Composer library, relative to the directory of the
/// need.
const AUTOLOAD: &str = "vendor/autoload.php";

/// The directory of extensions beside a PHP that stampede made. It is beside the program since that
/// PHP may be moved.
pub fn own_extensions(php: &Path) -> Option<PathBuf> {
    let dir = php.parent()?.join("extensions");
    dir.is_dir().then_some(dir)
}

/// The directory of PHP's shared extensions: the one beside it, or the one compiled into PHP's
/// program or library. The file is read, since starting PHP is not needed and mod_php cannot be
/// started. `None`: all extensions are built in.
pub fn extension_dir(php: &Path) -> Option<PathBuf> {
    own_extensions(php).or_else(|| compiled_extension_dir(php))
}

fn compiled_extension_dir(php: &Path) -> Option<PathBuf> {
    static KNOWN: Cache<Option<PathBuf>> = LazyLock::new(Mutex::default);
    cached(&KNOWN, php, || {
        let bytes = std::fs::read(php).unwrap_or_default();
        texts_with(&bytes, "20").find_map(|text| {
            let path = Path::new(text);
            let name = path.file_name()?.to_str()?;
            // The name ends with the date of the extension API: `20220829`,
            // `no-debug-non-zts-20220829`.
            let date = name.get(name.len().checked_sub(8)?..)?;
            let dated = date.starts_with("20") && date.bytes().all(|byte| byte.is_ascii_digit());
            (dated && path.is_dir()).then(|| path.to_path_buf())
        })
    })
}

type Cache<T> = LazyLock<Mutex<HashMap<PathBuf, T>>>;

fn cached<T: Clone>(cache: &Cache<T>, path: &Path, make: impl FnOnce() -> T) -> T {
    let known = cache.lock().ok().and_then(|known| known.get(path).cloned());
    known.unwrap_or_else(|| {
        let made = make();
        if let Ok(mut known) = cache.lock() {
            known.insert(path.to_path_buf(), made.clone());
        }
        made
    })
}

/// Why PHP does not load an extension.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtensionError {
    /// The extension was built for a PHP with another binary interface.
    #[error("it is for PHP's {build}, and `{}` is {php_build}", php.display())]
    OtherBuild {
        /// The extension's build id, such as `API20220829,NTS`.
        build: String,
        /// The PHP that should load it.
        php: PathBuf,
        /// The build id of that PHP.
        php_build: String,
    },
    /// PHP refuses the extension with a warning.
    #[error("{words}")]
    Refused {
        /// The PHP that should load it.
        php: PathBuf,
        /// PHP's warning.
        words: String,
    },
}

/// The version of a need. Asked only once per process and file, since starting a program takes
/// longer than a whole trial may.
///
/// # Errors
/// PHP does not load the extension.
fn version(path: &Path, need: &Need, php: Option<&Path>) -> Result<String, ExtensionError> {
    static KNOWN: Cache<Result<String, ExtensionError>> = LazyLock::new(Mutex::default);
    let known = || match (&need.extension, php) {
        (Some(extension), Some(php)) => extension_version(path, extension, php),
        _ => Ok(printed_version(path, need).unwrap_or_default()),
    };
    // The same extension file may have a different answer for each PHP.
    let php_path = php.map_or(Path::new(""), |php| php.strip_prefix("/").unwrap_or(php));
    let of = |name: &String| path.join(name).join(php_path);
    let key = need.extension.as_ref().map_or(path.to_path_buf(), of);
    cached(&KNOWN, &key, known)
}

fn printed_version(path: &Path, need: &Need) -> Option<String> {
    if let Some(command) = &need.version {
        let printed = printed(path, shell_words::split(command).ok()?.get(1..)?, "")?;
        return Some(if is_musl(path) { format!("{printed} (musl)") } else { printed });
    }
    if let Some(package) = &need.library {
        return library_version(path, package);
    }
    let before = need.version_in_file.as_deref()?;
    let bytes = std::fs::read(path).unwrap_or_default();
    let found = texts_with(&bytes, before).find_map(|text| text.strip_prefix(before));
    found.map(|text| text.trim().to_owned())
}

/// The version that PHP reports for an extension, in a file or built in. Empty if it cannot be
/// told: the extension is not built in, or needs another extension first.
///
/// # Errors
/// The extension cannot be loaded: it is for another PHP, or is no extension.
fn extension_version(path: &Path, extension: &str, php: &Path) -> Result<String, ExtensionError> {
    if let (Some(build), Some(php_build)) = (build_id(path), build_id(php))
        && build != php_build
    {
        return Err(ExtensionError::OtherBuild { build, php: php.to_owned(), php_build });
    }
    let quiet = ["-q", "-n", "-d", "display_errors=stderr", "-d", "html_errors=0"];
    let mut words = quiet.map(String::from).to_vec();
    if path != php {
        words.extend(["-d".to_owned(), format!("extension={}", path.display())]);
    }
    // The code goes to standard input, since php-cgi has no `-r`.
    let code = format!("<?php echo phpversion('{extension}');");
    let said = printed(php, &words, &code).unwrap_or_default();
    let Some((_, why)) = said.split_once("Warning: ") else { return Ok(said) };
    let wants_another = why.contains("undefined symbol") || why.contains("required module");
    match wants_another {
        true => Ok(String::new()),
        false => Err(ExtensionError::Refused { php: php.to_owned(), words: why.to_owned() }),
    }
}

/// The build id that PHP compares before it loads an extension, such as `API20220829,NTS`.
fn build_id(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let is_one = |text: &&str| {
        let date = text.strip_prefix("API20").and_then(|rest| rest.split_once(','));
        date.is_some_and(|(date, kind)| {
            date.len() == 6 && date.bytes().all(|byte| byte.is_ascii_digit()) && kind.len() >= 2
        })
    };
    texts_with(&bytes, "API20").find(is_one).map(str::to_owned)
}

/// The version of a package in Composer's list, beside the `autoload.php` of its vendor directory.
fn library_version(autoload: &Path, package: &str) -> Option<String> {
    let text = std::fs::read(autoload.with_file_name("composer/installed.json")).ok()?;
    let installed: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let packages = installed["packages"].as_array()?;
    let found = packages.iter().find(|one| one["name"] == package)?;
    Some(format!("{package} {}", found["version"].as_str()?))
}

/// The first line with text that a program prints, given `input` on standard input.
fn printed(path: &Path, args: &[String], input: &str) -> Option<String> {
    let command = TimedCommand::new(path, VERSION_WITHIN).args(args).input(input.as_bytes());
    let output = match command.run() {
        Ok(output) | Err(RunError::Failed { output, .. }) => output,
        Err(_) => return None,
    };
    // nginx prints its version to standard error.
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}

/// The NUL-terminated texts of a binary file that have `part` in them; one comes again for each time that
/// it has it. A PHP has megabytes and hardly any of them.
fn texts_with<'a>(bytes: &'a [u8], part: &'a str) -> impl Iterator<Item = &'a str> {
    let text = move |at: usize| {
        let begin = memchr::memrchr(0, &bytes[..at]).map_or(0, |nul| nul + 1);
        let end = memchr::memchr(0, &bytes[at..]).map_or(bytes.len(), |nul| at + nul);
        let text = &bytes[begin..end];
        let is_text = text.len() > 4 && text.len() < 512;
        is_text.then(|| std::str::from_utf8(text).ok()).flatten()
    };
    memchr::memmem::find_iter(bytes, part).filter_map(text)
}

fn directories(value: &OsStr) -> Vec<PathBuf> {
    std::env::split_paths(value).filter(|path| path.is_absolute() || path.is_dir()).collect()
}

/// The first package that a word of `scripts/install-packages` names, such as `nginx-light` in
/// `nginx-light|nginx`.
fn first_package(word: &str) -> &str {
    let first = word.split('|').next().unwrap_or(word);
    first.trim_start_matches('?')
}

/// `ID` and the words of `ID_LIKE` of os-release, the nearest distribution first.
fn family(os_release: &str) -> Vec<String> {
    let value = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim_matches('"').to_string())
    };
    let own = value("ID=").into_iter();
    let like = value("ID_LIKE=").unwrap_or_default();
    own.chain(like.split_whitespace().map(String::from)).collect()
}

fn usable(path: &Path, need: &Need) -> bool {
    let Ok(meta) = path.metadata() else { return false };
    meta.is_file() && (need.programs.is_empty() || meta.permissions().mode() & 0o111 != 0)
}

/// The files of a directory whose name matches. `*` stands for digits and dots only, so that `php*`
/// matches `php` and `php8.4` but not `php-config`.
fn matching(directory: &Path, pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return vec![directory.join(pattern)].into_iter().filter(|path| path.is_file()).collect();
    };
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let rest = name.to_str().and_then(|name| name.strip_prefix(before));
            rest.and_then(|rest| rest.strip_suffix(after)).is_some_and(|middle| {
                middle.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
            })
        })
        .map(|entry| entry.path())
        .collect()
}

/// The files whose path matches. One part of the path, a directory or the file, may have a `*`.
fn paths(pattern: &Path) -> Vec<PathBuf> {
    let has_star = |part: &Path| part.as_os_str().as_encoded_bytes().contains(&b'*');
    let Some(part) = pattern.ancestors().filter(|part| has_star(part)).last() else {
        return vec![pattern.to_path_buf()].into_iter().filter(|path| path.is_file()).collect();
    };
    let name = part.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let rest = pattern.strip_prefix(part).unwrap_or(Path::new(""));
    let found = matching(part.parent().unwrap_or(Path::new("/")), name).into_iter();
    let found = found.map(|path| if rest == Path::new("") { path } else { path.join(rest) });
    found.filter(|path| path.is_file()).collect()
}

/// The file with the highest version by the numbers in its name; among equals the first one.
fn highest(found: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    found.fold(None, |best: Option<PathBuf>, path| match best {
        Some(best) if numbers(&name_of(&best)) >= numbers(&name_of(&path)) => Some(best),
        _ => Some(path),
    })
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn numbers(text: &str) -> Vec<u32> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests;
