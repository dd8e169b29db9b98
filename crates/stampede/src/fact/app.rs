//! What is known of an app and of the runtimes that are for it.

use std::fmt;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::{Cause, Fact, Reason};
use crate::summary::words;

/// What a directory was taken as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Detected {
    /// Its framework; null: none that is known.
    pub framework: Option<String>,
    /// The framework's version; null: not known.
    pub version: Option<String>,
    /// What it was recognised by.
    pub by: RecognisedBy,
    /// The kind that it is served as.
    pub kind: String,
    /// Whether that kind was said, and another one was recognised.
    pub kind_is_said: bool,
    /// The document root, from the app's directory; `.`: that itself.
    pub docroot: String,
    /// Whether the directory above is a project, so that this may be its public part alone.
    pub may_be_part: bool,
}

/// What an app was recognised by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum RecognisedBy {
    /// `composer.json` requires this.
    Requires {
        /// The package.
        package: String,
    },
    /// It has these.
    Files {
        /// Files, from the app's directory.
        files: Vec<String>,
    },
    /// It has these, which are another framework's too, with this one's words in them.
    FilesOf {
        /// Files, from the app's directory.
        files: Vec<String>,
        /// The framework.
        framework: String,
    },
    /// `composer.json` requires no framework that is known.
    NoFramework {},
    /// There is no `composer.json`, and nothing else is known.
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
                f.write_str("no composer.json, and neither `artisan`, `bin/console` nor WordPress")
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
            (true, _) => write!(f, ", taken as kind `{kind}` because that was said"),
            (false, true) => Ok(()),
            (false, false) => write!(f, ", of kind `{kind}`"),
        }?;
        match docroot.as_str() {
            "." => f.write_str(", served from the directory itself"),
            docroot => write!(f, ", served from `{docroot}/`"),
        }?;
        match self.may_be_part {
            true => f.write_str("; the directory above has a composer.json: is the app that one?"),
            false => Ok(()),
        }
    }
}

/// The two versions of an app that are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Versions {
    /// The revision as asked for.
    pub rev: String,
    /// Its commit.
    pub commit: String,
    /// The commit of the working tree; empty: it has none.
    pub head: String,
    /// Changes in the working tree that no commit has.
    pub changes: u32,
    /// What git does not have, and both get from the working tree.
    pub brought: Vec<String>,
    /// Submodules, which are empty in the copy.
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

/// As git shows commits.
const SHORT: usize = 10;

/// Why a runtime is left out of a choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Unsuited {
    /// It is not installed.
    NotInstalled {},
    /// It serves apps of other kinds.
    OtherKinds {
        /// These.
        kinds: Vec<String>,
    },
    /// It keeps an app in memory, and one of this kind can only be booted for each request.
    NotKept {
        /// The kind.
        kind: String,
    },
    /// It keeps an app in memory, and this one lacks what it is entered by.
    NotEntered {
        /// The app's kind.
        kind: String,
        /// What is not there.
        file: String,
    },
    /// The app lacks packages.
    PackagesMissing {
        /// These.
        packages: Vec<String>,
    },
    /// Something of it cannot be used.
    Unusable {
        /// Why.
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

/// Why no best number of workers is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum NotTuned {
    /// The runtime is not measured.
    Refused {
        /// Why.
        #[schemars(schema_with = "any_reason")]
        reason: Box<Fact<Reason>>,
    },
    /// Its workers are no number that can be chosen.
    NoNumber {},
    /// The search found none.
    NotFound {
        /// What it found instead.
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
            NotTuned::NoNumber {} => f.write_str("its workers are not a number to choose"),
            NotTuned::NotFound { result } => result.fmt(f),
        }
    }
}

fn backticked(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
}
