//! Detects what a project is, from its files: its kind, framework and public directory. What its
//! `app.yaml`, the plan or flags say lies over it, and decides where to look.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stampede_frameworks::{KnownFramework, of_kind};
use stampede_model::app_kind::AppKind;
use stampede_model::fact::app::{Detected, DetectedNote, RecognisedBy};
use stampede_plan::app_settings::{AppSettings, SettingSource};

use super::app::App;
use super::app_manifest::{Framework, VersionIn};
use super::composer::{COMPOSER, Composer};
use super::entries::{Entries, INDEX, docroots};
use super::entry;
use super::error::RuntimeError;
use super::framework;
use super::php_constraint::PhpRequirements;

/// What the files of a project say.
pub(super) struct Detection {
    /// The keys that `app.yaml`, a plan and flags may have too.
    pub settings: AppSettings,
    /// What only `app.yaml` may say besides.
    pub parts: DetectedParts,
    project: Project,
    found: Recognition,
}

/// What is detected besides the settings. Empty for an app of the catalogue, whose `app.yaml` is
/// complete.
#[derive(Clone, Debug, Default)]
pub(super) struct DetectedParts {
    pub extensions_if_there: Vec<String>,
    pub needs: BTreeMap<String, Framework>,
    pub prepare: Option<String>,
    pub preload: Option<String>,
    pub caches: Vec<String>,
    pub php: PhpRequirements,
    /// What is known of its framework, or of its kind; `None`: nothing is.
    pub framework: Option<Arc<KnownFramework>>,
}

impl DetectedParts {
    /// What holds for every project.
    pub fn of_any_project() -> DetectedParts {
        let usual = USUAL_EXTENSIONS.iter().map(|name| (*name).to_owned());
        DetectedParts { extensions_if_there: usual.collect(), ..DetectedParts::default() }
    }
}

/// Whether the project's directory has an `app.yaml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AppYaml {
    /// It has one, whose author knows what is there.
    There,
    /// It has none.
    Missing,
}

/// Reads the project in `path`, called `name`. `given` is what was said about it, `known` are the
/// frameworks that can be recognised.
///
/// # Errors
/// The project has no front controller, or lacks the file through which the given kind is entered.
/// A file of Composer cannot be parsed, or packages are not installed.
pub(super) fn detect(
    name: &str,
    path: &Path,
    given: &AppSettings,
    yaml: AppYaml,
    known: &[Arc<KnownFramework>],
) -> Result<Detection, RuntimeError> {
    let index = given.index.as_deref().unwrap_or(INDEX);
    let has_index = |docroot: &&str| path.join(docroot).join(index).is_file();
    let docroot = given.docroot.as_deref().or_else(|| docroots().find(has_index));
    let entries = Entries::of(path);
    let docroot = match (docroot, yaml, &given.index) {
        (Some(docroot), _, _) => docroot.to_owned(),
        // A front controller that was given and is nowhere is refused below, by its name.
        (None, AppYaml::There, _) | (None, _, Some(_)) => ".".to_owned(),
        (None, AppYaml::Missing, None) => {
            return Err(RuntimeError::NoApp {
                directory: path.to_path_buf(),
                entries: entries.candidates(path),
            });
        }
    };
    let composer = Composer::read(path)?;
    let project = Project { path: path.to_path_buf(), docroot, composer, entries };
    let found = project.recognised(known);
    let kind = given.kind.unwrap_or(found.kind);
    project.is_there(name, given, kind)?;
    if yaml == AppYaml::Missing {
        if !matches!(kind, AppKind::Script | AppKind::Callable | AppKind::Psr15) {
            project.is_installed(name)?;
        }
        given.kind.map_or(Ok(()), |kind| project.is_entered(name, kind))?;
    }
    // What is set for a framework is not for an app that is used as another kind.
    let framework = match kind == found.kind && found.framework.is_some() {
        true => found.framework.clone(),
        false => of_kind(known, kind),
    };
    let of = framework.as_deref();
    let settings = AppSettings {
        kind: Some(found.kind),
        docroot: Some(project.docroot.clone()),
        env: of.map(|known| known.env.clone()).unwrap_or_default(),
        extensions: project.composer.extensions(),
        writable: project.writable(of),
        exclude: project.unreadable_unserved(given),
        ..AppSettings::default()
    };
    let parts = DetectedParts {
        needs: found.need.iter().cloned().collect(),
        prepare: of.and_then(|known| project.prepare(known)),
        preload: of.and_then(|known| known.preload.clone()).filter(|file| project.has(file)),
        php: project.required_php(),
        caches: of.map(|known| known.caches.clone()).unwrap_or_default(),
        framework,
        ..DetectedParts::of_any_project()
    };
    Ok(Detection { settings: settings.said_by(SettingSource::Detected), parts, project, found })
}

impl Detection {
    /// What `app`, which was detected, is and why.
    /// `given` is what was said about it.
    pub fn describe(&self, app: &App, given: &AppSettings) -> Detected {
        self.project.describe(app, &self.found, given)
    }
}

/// A project's directory, with its composer.json.
struct Project {
    path: PathBuf,
    docroot: String,
    composer: Composer,
    entries: Entries,
}

/// What Composer has not installed.
struct NotInstalled {
    /// The file that it would have written.
    autoload: String,
    packages: Vec<String>,
}

/// What a project was recognised as.
struct Recognition {
    kind: AppKind,
    /// The framework; `None`: none that is known.
    framework: Option<Arc<KnownFramework>>,
    /// How the project was recognised.
    by: RecognisedBy,
    /// The framework, if its version can be found.
    need: Option<(String, Framework)>,
}

impl Project {
    /// The directories that the project writes to: those of frameworks, and those directly in the
    /// project that hold a database file. Such a database writes its journal beside its file.
    fn writable(&self, framework: Option<&KnownFramework>) -> Vec<String> {
        let is_database = |path: &Path| {
            let end = path.extension().unwrap_or_default();
            path.is_file() && SQLITE.iter().any(|known| end == *known)
        };
        let holds_one = |directory: &Path| {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).any(|path| is_database(&path))
        };
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let directories = entries.filter(|entry| entry.path().is_dir() && holds_one(&entry.path()));
        let names = directories.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let own = framework.map(|known| known.writable.clone()).unwrap_or_default();
        let is_there = |name: &&str| self.path.join(name).is_dir();
        let usual = WRITABLE.into_iter().chain(WRITABLE_IF_THERE.into_iter().filter(is_there));
        let mut all: Vec<String> = usual.map(String::from).collect();
        for name in own.into_iter().chain(names) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }

    fn has(&self, file: &str) -> bool {
        self.path.join(file).is_file()
    }

    /// Checks that the required packages are installed. Otherwise the first request would end in a
    /// PHP error.
    fn is_installed(&self, name: &str) -> Result<(), RuntimeError> {
        let Some(NotInstalled { autoload, packages }) = self.not_installed() else {
            return Ok(());
        };
        let (app, directory) = (name.to_owned(), self.path.clone());
        Err(RuntimeError::NoVendor { app, directory, autoload, packages })
    }

    /// What Composer has not installed; `None`: it has, or nothing is required.
    fn not_installed(&self) -> Option<NotInstalled> {
        let packages = self.composer.packages();
        let autoload = format!("{}/autoload.php", self.composer.vendor());
        let is_there = packages.is_empty() || self.has(&autoload) || self.brings_packages();
        (!is_there).then_some(NotInstalled { autoload, packages })
    }

    /// Whether the project has its packages in another directory than Composer says: each is a
    /// directory with an `autoload.php` or a `bootstrap.php` of its own, as Kirby's `kirby`.
    fn brings_packages(&self) -> bool {
        let directories = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut directories = directories.map(|entry| entry.path()).filter(|path| path.is_dir());
        directories.any(|path| {
            path.join("vendor/autoload.php").is_file()
                || (path.join("bootstrap.php").is_file() && path.join(COMPOSER).is_file())
        })
    }

    /// The versions of PHP that are required, package by package.
    fn required_php(&self) -> PhpRequirements {
        let check = format!("{}/composer/platform_check.php", self.composer.vendor());
        PhpRequirements { of_packages: self.composer.php(), are_checked: self.has(&check) }
    }

    /// What the user should know besides. `given`: what was said about the app.
    fn notes(&self, kind: AppKind, given: &AppSettings) -> Vec<DetectedNote> {
        let is_warned = matches!(kind, AppKind::Script | AppKind::Callable | AppKind::Psr15);
        let not_installed = self.not_installed().filter(|_| is_warned);
        let not_installed = not_installed.map(|NotInstalled { autoload, packages }| {
            DetectedNote::NotInstalled { autoload, packages }
        });
        let is_other = |file: &&String| {
            let docroot = file.strip_suffix(INDEX).unwrap_or(file).trim_end_matches('/');
            let docroot = if docroot.is_empty() { "." } else { docroot };
            docroot != self.docroot && docroots().any(|known| known == docroot)
        };
        let files: Vec<String> = self.entries.files.iter().filter(is_other).cloned().collect();
        let is_chosen = given.docroot.is_some() || kind != AppKind::Script || files.is_empty();
        let others = (!is_chosen).then_some(DetectedNote::OtherEntries { files });
        let paths = self.unreadable_unserved(given);
        let unreadable = (!paths.is_empty()).then_some(DetectedNote::Unreadable { paths });
        not_installed.into_iter().chain(others).chain(unreadable).collect()
    }

    /// The paths that cannot be read, and that the web server does not serve.
    fn unreadable_unserved(&self, given: &AppSettings) -> Vec<String> {
        let is_unserved = |path: &&String| {
            self.docroot != "."
                && !Path::new(path).starts_with(&self.docroot)
                && !given.exclude.contains(path)
        };
        self.entries.unreadable.iter().filter(is_unserved).cloned().collect()
    }

    /// Checks that the public directory is there and, if it or the front controller was given, that
    /// the front controller is there.
    fn is_there(&self, name: &str, given: &AppSettings, kind: AppKind) -> Result<(), RuntimeError> {
        let (app, docroot) = (name.to_owned(), self.docroot.clone());
        let names = [("docroot", Some(&docroot)), ("index", given.index.as_ref())];
        for (key, name) in names.into_iter().filter_map(|(key, name)| Some((key, name?))) {
            if let Some(character) = name.chars().find(|letter| is_not_servable(*letter)) {
                let (name, said) = (name.clone(), given.source(key));
                return Err(RuntimeError::NotServable { app, name, character, key, said });
            }
        }
        if !self.path.join(&docroot).is_dir() {
            let said = given.source("docroot");
            return Err(RuntimeError::NoDocroot { app, docroot, said });
        }
        let is_said = given.index.is_some() || (given.docroot.is_some() && kind == AppKind::Script);
        let index = given.index.clone().unwrap_or_else(|| INDEX.to_owned());
        if !is_said || self.path.join(&docroot).join(&index).is_file() {
            return Ok(());
        }
        let key = if given.index.is_some() { "index" } else { "docroot" };
        Err(RuntimeError::NoIndex { app, docroot, index, key, said: given.source(key) })
    }

    /// Checks that the project has the file through which `kind` is entered. Not for Symfony: the
    /// place of its kernel cannot be told from the file's name alone.
    fn is_entered(&self, name: &str, kind: AppKind) -> Result<(), RuntimeError> {
        match entry::file(kind).filter(|file| kind != AppKind::Symfony && !self.has(file)) {
            None => Ok(()),
            Some(file) => {
                Err(RuntimeError::NoEntry { app: name.to_owned(), kind: kind.name(), file })
            }
        }
    }

    /// The commands that fill the caches of a project of this framework; `None`: there are none.
    fn prepare(&self, framework: &KnownFramework) -> Option<String> {
        let has = |package: &str| self.has_package(package);
        let wanted = framework.prepare.iter().filter(|command| command.applies(&self.path, has));
        let lines: Vec<&str> = wanted.map(|command| command.run.as_str()).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Recognises the project by the packages that it requires, or else by its files. If nothing is
    /// known, it is a front controller and nothing more.
    fn recognised(&self, known: &[Arc<KnownFramework>]) -> Recognition {
        let required = known.iter().filter_map(|one| {
            let package = one.packages.iter().find(|package| self.composer.requires(package))?;
            let by = RecognisedBy::Requires { package: package.clone() };
            Some(self.recognition(one, Some(package), by, &[]))
        });
        let by_files = || {
            let found = known.iter().filter_map(|one| {
                let installed = one.packages.iter().find(|package| self.has_package(package));
                let (by, files) = self.looks_like(one, installed.is_some())?;
                Some(self.recognition(one, installed.map(String::as_str), by, &files))
            });
            first_meant(found.collect())
        };
        first_meant(required.collect()).or_else(by_files).unwrap_or_else(|| Recognition {
            kind: AppKind::Script,
            framework: None,
            by: match self.composer.is_missing() {
                true => RecognisedBy::Nothing {},
                false => RecognisedBy::NoFramework {},
            },
            need: None,
        })
    }

    fn has_package(&self, package: &str) -> bool {
        self.path.join(self.composer.vendor()).join(package).join(COMPOSER).is_file()
    }

    /// The files that identify the project as `known`, for readers and by themselves; `None`: it is
    /// something else.
    fn looks_like(
        &self,
        known: &KnownFramework,
        installed: bool,
    ) -> Option<(RecognisedBy, Vec<String>)> {
        let files = known.files_of(&self.docroot, |file| self.has(file))?;
        let Some(wanted) = &known.contains else {
            return Some((RecognisedBy::Files { files: files.clone() }, files));
        };
        let text = || fs::read_to_string(self.path.join(&wanted.file));
        let says = || text().is_ok_and(|all| all.contains(&wanted.text));
        let by = RecognisedBy::FilesOf { files: files.clone(), framework: known.title.clone() };
        (installed || says()).then_some((by, files))
    }

    /// Builds the result. `package` is the installed package that has the version; `None`: the
    /// framework is not among the project's own packages. `files` are those that identify it.
    fn recognition(
        &self,
        known: &Arc<KnownFramework>,
        package: Option<&str>,
        by: RecognisedBy,
        files: &[String],
    ) -> Recognition {
        // In a vendor directory with another name, the version is not looked for.
        let package = package.filter(|_| self.has(framework::AUTOLOAD));
        let need = need(known, package, files).map(|need| (known.name.clone(), need));
        Recognition { kind: known.kind, framework: Some(Arc::clone(known)), by, need }
    }

    /// What the project was detected as, and why.
    fn describe(&self, app: &App, found: &Recognition, given: &AppSettings) -> Detected {
        let version = found.need.as_ref().and_then(|(_, need)| framework::version(app, need));
        let version = version.and_then(|version| Some(version.split(' ').next()?.to_owned()));
        Detected {
            framework: found.framework.as_ref().map(|known| known.title.clone()),
            version: version.filter(|version| !version.is_empty()),
            by: found.by.clone(),
            kind: app.manifest.kind.name().to_owned(),
            kind_is_said: app.manifest.kind != found.kind,
            docroot: self.docroot.clone(),
            may_be_part: self.is_inside(),
            notes: self.notes(app.manifest.kind, given),
        }
    }

    /// Whether the path is only the public directory of a project, without the rest of it.
    fn is_inside(&self) -> bool {
        let named = |name: &str| self.path.file_name().is_some_and(|own| own == name);
        let above = self.path.parent().filter(|above| above.join(COMPOSER).is_file());
        above.is_some() && self.docroot == "." && docroots().any(named)
    }
}

/// Where the version is found: in the installed `package`, else in the first of `files`, which identified
/// the app. `None`: it is not known.
fn need(known: &KnownFramework, package: Option<&str>, files: &[String]) -> Option<Framework> {
    let version = known.version.as_ref().zip(files.first());
    let version =
        version.map(|(after, file)| VersionIn { file: file.into(), after: after.clone() });
    let package = package.or(version.as_ref().map(|_| known.name.as_str()))?.to_owned();
    let file = version.as_ref().map(|version| version.file.clone());
    Some(Framework { own: None, package, file, version, install: BTreeMap::new() })
}

/// The framework that is meant, where a project has the files or packages of several.
fn first_meant(found: Vec<Recognition>) -> Option<Recognition> {
    let is_before = |one: &Recognition, other: &Recognition| {
        one.framework
            .as_ref()
            .zip(other.framework.as_ref())
            .is_some_and(|(one, other)| one.before.contains(&other.name))
    };
    let first = found.iter().position(|one| !found.iter().any(|other| is_before(other, one)))?;
    found.into_iter().nth(first)
}

/// Directories that frameworks write to, whether or not they exist yet.
const WRITABLE: [&str; 3] = ["var", "storage", "bootstrap/cache"];
/// Directories that are writable if they exist: of Slim, CakePHP and Laminas.
const WRITABLE_IF_THERE: [&str; 3] = ["logs", "tmp", "data"];
/// The extensions of database files.
const SQLITE: [&str; 3] = ["sqlite", "sqlite3", "db"];

/// The PHP extensions of usual servers, loaded if they are installed. Few projects name their
/// database's driver, and a project without Composer names nothing. Extensions that observe PHP,
/// such as debuggers, are not listed.
const USUAL_EXTENSIONS: &[&str] = &[
    "apcu",
    "bcmath",
    "calendar",
    "ctype",
    "curl",
    "dom",
    "exif",
    "fileinfo",
    "ftp",
    "gd",
    "gettext",
    "gmp",
    "iconv",
    "igbinary",
    "intl",
    "mbstring",
    "memcached",
    "msgpack",
    "mysqli",
    "mysqlnd",
    "pdo",
    "pdo_mysql",
    "pdo_pgsql",
    "pdo_sqlite",
    "pgsql",
    "phar",
    "posix",
    "redis",
    "simplexml",
    "sodium",
    "sqlite3",
    "tokenizer",
    "xml",
    "xmlreader",
    "xmlwriter",
    "zip",
];

/// Whether a character of a served path means something in one of the web servers' configurations,
/// which have paths in double quotes. Blanks and letters of any language do not.
fn is_not_servable(letter: char) -> bool {
    letter.is_control() || NOT_SERVABLE.contains(letter)
}

/// Characters that end a value, begin a variable or a comment, or are a pattern somewhere.
pub(super) const NOT_SERVABLE: &str = "\"'\\;{}$%#`*?[]<>|";

#[cfg(test)]
mod tests;
