//! Reads what is known of frameworks and finished applications: how one is recognised in a directory,
//! and what is set for it. Each is a file of `frameworks/`, embedded or the user's own, so that a new
//! one needs no code. `frameworks/README.md` describes the keys. Only files are read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use include_dir::{Dir, include_dir};
use serde::Deserialize;
use stampede_model::app_kind::AppKind;

static FRAMEWORKS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../frameworks");

/// A framework or a finished application.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownFramework {
    /// The name of its file without `.yaml`, under which its version is recorded.
    #[serde(skip)]
    pub name: String,
    /// Its name for readers.
    pub title: String,
    /// How its apps are entered.
    #[serde(default = "script")]
    pub kind: AppKind,
    /// The Composer packages; any one of them identifies the framework.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Groups of files, relative to the app's directory: all files of one group identify the
    /// framework. `{docroot}/` stands for the public directory.
    #[serde(default)]
    pub files: Vec<Vec<String>>,
    /// A text that must be there too, unless a package is installed; `None`: the files are enough.
    #[serde(default)]
    pub contains: Option<TextInFile>,
    /// The names of others that have these files too, and are then not meant.
    #[serde(default)]
    pub before: Vec<String>,
    /// The text before the version, in the first file of the group that was found; `None`: the
    /// installed package has the version.
    #[serde(default)]
    pub version: Option<String>,
    /// Variables for production.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables by which an app sends no mail: a load would send thousands.
    #[serde(default)]
    pub mail: BTreeMap<String, String>,
    /// Directories that an app writes to, whether or not they exist yet.
    #[serde(default)]
    pub writable: Vec<String>,
    /// Directories with caches, filled by the framework itself or by the commands of a deployment.
    #[serde(default)]
    pub caches: Vec<String>,
    /// The file that OPcache preloads with `preload: app`, if it is there.
    #[serde(default)]
    pub preload: Option<String>,
    /// Commands that fill caches as a deployment does. All whose conditions hold are run.
    #[serde(default)]
    pub prepare: Vec<FrameworkCommand>,
    /// Commands that make the tables of a database. The first whose conditions hold is run.
    #[serde(default)]
    pub migrations: Vec<FrameworkCommand>,
    /// Apache's directives for a public directory that has no `.htaccess` of its own.
    #[serde(default)]
    pub htaccess: Option<String>,
}

/// A text in a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextInFile {
    /// The file, relative to the app's directory.
    pub file: String,
    /// The text that it must contain.
    pub text: String,
}

/// A command of an app, and when it is run: all conditions must hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameworkCommand {
    /// A script of the app's directory with its arguments.
    pub run: String,
    /// Files that must exist.
    #[serde(default)]
    pub files: Vec<String>,
    /// Directories that must have PHP files.
    #[serde(default)]
    pub php_in: Vec<String>,
    /// Composer packages that must be installed.
    #[serde(default)]
    pub packages: Vec<String>,
}

const fn script() -> AppKind {
    AppKind::Script
}

/// All files by name, each with its path for messages and its text: the embedded ones, then those of each
/// of `directories`. Later ones replace earlier ones of the same name; what cannot be read is left out.
pub fn texts(directories: &[PathBuf]) -> BTreeMap<String, (String, String)> {
    let mut found = BTreeMap::new();
    for file in FRAMEWORKS.files() {
        add(&mut found, &Path::new("frameworks").join(file.path()), || {
            Some(String::from_utf8_lossy(file.contents()).into_owned())
        });
    }
    for directory in directories {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            add(&mut found, &path, || std::fs::read_to_string(&path).ok());
        }
    }
    found
}

/// Adds the file `path` under its name, with its path for messages, if it is one of a framework.
fn add(
    found: &mut BTreeMap<String, (String, String)>,
    path: &Path,
    text: impl FnOnce() -> Option<String>,
) {
    let is_yaml = path.extension().is_some_and(|end| end == "yaml");
    let name = path.file_stem().filter(|_| is_yaml).map(|name| name.to_string_lossy().into_owned());
    if let Some((name, text)) = name.and_then(|name| Some((name, text()?))) {
        found.insert(name, (path.display().to_string(), text));
    }
}

/// Reads these texts with `parse`, which gets the path of a file for its messages and its text.
///
/// # Errors
/// The error of `parse`.
pub fn read<E>(
    texts: &BTreeMap<String, (String, String)>,
    parse: impl Fn(&str, &str) -> Result<KnownFramework, E>,
) -> Result<Vec<Arc<KnownFramework>>, E> {
    let of = |(name, (path, text)): (&String, &(String, String))| {
        Ok(Arc::new(KnownFramework { name: name.clone(), ..parse(path, text)? }))
    };
    texts.iter().map(of).collect()
}

/// What is set for an app of this kind whose files show no framework: that of the framework with the
/// kind's name. `None`: there is none.
pub fn of_kind(all: &[Arc<KnownFramework>], kind: AppKind) -> Option<Arc<KnownFramework>> {
    all.iter().find(|known| known.name == kind.name() && known.kind == kind).cloned()
}

impl KnownFramework {
    /// The first group of files that are all there, for a public directory `docroot`. `has` tells
    /// which files there are.
    pub fn files_of(&self, docroot: &str, has: impl Fn(&str) -> bool) -> Option<Vec<String>> {
        let public = if docroot == "." { String::new() } else { format!("{docroot}/") };
        let groups = self.files.iter().map(|group| -> Vec<String> {
            group.iter().map(|file| file.replace("{docroot}/", &public)).collect()
        });
        groups.filter(|group| !group.is_empty()).find(|group| group.iter().all(|file| has(file)))
    }
}

impl FrameworkCommand {
    /// Whether the command's conditions hold in `directory`, the app's. `has_package` tells which packages are
    /// installed.
    pub fn applies(&self, directory: &Path, has_package: impl Fn(&str) -> bool) -> bool {
        self.files.iter().all(|file| directory.join(file).exists())
            && self.php_in.iter().all(|sub| has_php(&directory.join(sub)))
            && self.packages.iter().all(|package| has_package(package))
    }
}

fn has_php(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|end| end == "php"))
}
