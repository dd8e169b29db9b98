//! Facts about an app, and about which runtimes suit it.

use std::fmt;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::{Cause, Fact, Reason};
use crate::words;

/// What was detected in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Detected {
    /// The framework. Null: none that is known.
    pub framework: Option<String>,
    /// The framework's version. Null: not known.
    pub version: Option<String>,
    /// How the app was recognised.
    pub by: RecognisedBy,
    /// The kind that the app is served as.
    pub kind: String,
    /// Whether the user gave that kind although another one was recognised.
    pub kind_is_said: bool,
    /// The document root, relative to the app's directory. `.`: the directory itself.
    pub docroot: String,
    /// Whether the directory above is a project, so that this directory may be only its public
    /// part.
    pub may_be_part: bool,
    /// What the user should know besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<DetectedNote>,
}

/// Something about a directory that may make its app work otherwise than its user expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum DetectedNote {
    /// Composer has not installed what composer.json requires, and the app may work without it.
    NotInstalled {
        /// The file that Composer would have written.
        autoload: String,
        /// The required packages.
        packages: Vec<String>,
    },
    /// There are several public directories or front controllers.
    OtherEntries {
        /// The others, relative to the app's directory.
        files: Vec<String>,
    },
    /// Paths that cannot be read are left out of the copy.
    Unreadable {
        /// The paths, relative to the app's directory.
        paths: Vec<String>,
    },
}

impl fmt::Display for DetectedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DetectedNote::NotInstalled { autoload, packages } => write!(
                f,
                "composer.json requires {}, and there is no `{autoload}`: if a page needs them, run `composer install \
                 --no-dev` first",
                some_backticked(packages)
            ),
            DetectedNote::OtherEntries { files } => write!(
                f,
                "it has other front controllers, too: to use another one, give {}",
                entry_choices(files)
            ),
            DetectedNote::Unreadable { paths } => {
                write!(f, "not copied, because it cannot be read: {}", some_backticked(paths))
            }
        }
    }
}

/// The flags that choose each of these front controllers, which are relative to the app's directory.
pub fn entry_choices(files: &[String]) -> String {
    let flags = files.iter().map(|file| {
        let (docroot, index) = file.rsplit_once('/').unwrap_or((".", file));
        match index {
            "index.php" => format!("--docroot {docroot}"),
            _ => format!("--docroot {docroot} --index {index}"),
        }
    });
    some_backticked(&flags.collect::<Vec<_>>())
}

/// The first of `names`, and the number of the others.
fn some_backticked(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    words::some_of(&names)
}

/// How an app was recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum RecognisedBy {
    /// `composer.json` requires a package.
    Requires {
        /// The package's name.
        package: String,
    },
    /// The app has certain files.
    Files {
        /// The files, relative to the app's directory.
        files: Vec<String>,
    },
    /// The app has files that other frameworks have too. The framework follows from their text, or
    /// from its installed packages.
    FilesOf {
        /// The files, relative to the app's directory.
        files: Vec<String>,
        /// The name of the recognised framework.
        framework: String,
    },
    /// `composer.json` requires no known framework.
    NoFramework {},
    /// There is no `composer.json`, and nothing else was recognised.
    Nothing {},
}

impl fmt::Display for RecognisedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecognisedBy::Requires { package } => write!(f, "composer.json requires `{package}`"),
            RecognisedBy::Files { files } => write!(f, "it has {}", backticked(files)),
            RecognisedBy::FilesOf { files, framework } => {
                write!(f, "it has {}, those of {framework}", backticked(files))
            }
            RecognisedBy::NoFramework {} => {
                f.write_str("composer.json requires no framework that is known here")
            }
            RecognisedBy::Nothing {} => {
                f.write_str("no composer.json, and the files of no framework that is known here")
            }
        }
    }
}

impl fmt::Display for Detected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Detected { framework, version, by, kind, docroot, .. } = self;
        match (framework, version) {
            (Some(framework), None) => write!(f, "a {framework} app ({by})"),
            (Some(framework), Some(version)) => write!(f, "a {framework} {version} app ({by})"),
            (None, _) => write!(f, "a PHP app ({by})"),
        }?;
        let is_named = framework.as_ref().is_some_and(|name| name.to_lowercase() == *kind);
        match (self.kind_is_said, is_named) {
            (true, _) => write!(f, ", used as kind `{kind}`, as you asked"),
            (false, true) => Ok(()),
            (false, false) => write!(f, ", of kind `{kind}`"),
        }?;
        match docroot.as_str() {
            "." => f.write_str(", served from the directory itself"),
            docroot => write!(f, ", served from `{docroot}/`"),
        }?;
        match self.may_be_part {
            true => f.write_str(
                "; the directory above has a composer.json: if that is your app, name it with `--app`",
            ),
            false => Ok(()),
        }?;
        self.notes.iter().try_for_each(|note| write!(f, "; {note}"))
    }
}

/// The two versions of an app that are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Versions {
    /// The revision as the user gave it.
    pub rev: String,
    /// The commit of that revision.
    pub commit: String,
    /// The commit of the working tree. Empty: it has none.
    pub head: String,
    /// Number of uncommitted changes in the working tree.
    pub changes: u32,
    /// Paths that are not in git, and that both versions get from the working tree.
    pub brought: Vec<String>,
    /// Submodules, which are empty in the copy of the revision.
    pub submodules: Vec<String>,
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Versions { rev, commit, head, changes, brought, submodules } = self;
        let short = commit.get(..SHORT).unwrap_or(commit);
        let tree = if commit.starts_with(head.as_str()) { "the same commit" } else { head };
        write!(f, "`@{rev}` is {short}. The working tree is {tree}")?;
        if *changes > 0 {
            write!(f, " with {}", words::number_of(*changes, "uncommitted change"))?;
        }
        if !brought.is_empty() {
            let names: Vec<String> = brought.iter().map(|name| format!("`{name}`")).collect();
            let names = words::some_of(&names);
            write!(f, ". Not in git, copied from the working tree to both versions: {names}")?;
        }
        match submodules.is_empty() {
            true => Ok(()),
            false => write!(f, ". Submodules are empty in `@{rev}`: {}", words::list(submodules)),
        }
    }
}

/// The length at which git shows commits.
const SHORT: usize = 10;

/// The reason why a runtime was left out of the choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Unsuited {
    /// The runtime is not installed.
    NotInstalled {},
    /// The runtime serves only apps of other kinds.
    OtherKinds {
        /// The kinds that it serves.
        kinds: Vec<String>,
    },
    /// The runtime keeps an app in memory, but stampede can only boot an app of this kind for each
    /// request.
    NotKept {
        /// The app's kind.
        kind: String,
    },
    /// The runtime keeps an app in memory, and the app lacks the file through which it is started.
    NotEntered {
        /// The app's kind.
        kind: String,
        /// The file that is missing.
        file: String,
    },
    /// The app lacks packages that the runtime needs.
    PackagesMissing {
        /// The names of the packages.
        packages: Vec<String>,
    },
    /// Something that the runtime needs cannot be used.
    Unusable {
        /// The reason.
        cause: Cause,
    },
}

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsuited::NotInstalled {} => f.write_str("not installed here"),
            Unsuited::OtherKinds { kinds } => {
                write!(f, "for apps of kind {} only", kinds.join(", "))
            }
            Unsuited::NotKept { kind } => write!(
                f,
                "worker modes keep an app in memory, but stampede can only boot an app of kind `{kind}` anew for each \
                 request"
            ),
            Unsuited::NotEntered { kind, file } => write!(
                f,
                "worker modes need `{file}` to start an app of kind `{kind}`, and this app does not have it"
            ),
            Unsuited::PackagesMissing { packages } => {
                write!(f, "the app's vendor directory lacks `{}`", packages.join("` and `"))
            }
            Unsuited::Unusable { cause } => f.write_str(&cause.text),
        }
    }
}

/// The reason why the best number of workers is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum NotTuned {
    /// The runtime was refused, so it was not measured.
    Refused {
        /// The reason.
        #[schemars(schema_with = "any_reason")]
        reason: Box<Fact<Reason>>,
    },
    /// The runtime has no number of workers that can be chosen.
    NoNumber {},
    /// The search found no best number.
    NotFound {
        /// What the search found instead.
        #[schemars(schema_with = "any_result")]
        result: Box<Fact<super::search::Tuned>>,
    },
}

fn any_reason(_: &mut schemars::SchemaGenerator) -> Schema {
    schemars::json_schema!({"description": "A reason: see `reasons`.", "type": "object"})
}

fn any_result(_: &mut schemars::SchemaGenerator) -> Schema {
    schemars::json_schema!({"description": "As `said` of `stampede tune --json`.", "type": "object"})
}

impl fmt::Display for NotTuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotTuned::Refused { reason } => reason.fmt(f),
            NotTuned::NoNumber {} => f.write_str("it has no setting for the number of workers"),
            NotTuned::NotFound { result } => result.fmt(f),
        }
    }
}

fn backticked(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}
