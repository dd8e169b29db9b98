//! `app.yaml` as it is written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::manifest::{AppKind, Install};

/// `app.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppManifest {
    /// Title for people.
    pub title: String,
    /// What it is written for.
    pub kind: AppKind,
    /// Directory of its public files, from the app's directory; `.` for the directory itself.
    #[serde(default = "dot")]
    pub docroot: String,
    /// Front controller, from the docroot.
    #[serde(default = "index_php")]
    pub index: String,
    /// What is asked to see whether it works.
    #[serde(default)]
    pub request: AppRequest,
    /// The correct answer.
    #[serde(default)]
    pub expect: Expect,
    /// What each answer under load must contain; `None`: only the status counts.
    #[serde(default)]
    pub contains: Option<String>,
    /// What moves from answer to answer.
    #[serde(default)]
    pub mask: Vec<Mask>,
    /// Its environment, on top of `APP_ENV=prod` and `APP_DEBUG=0`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// PHP extensions that it wants, by their file name without `.so`.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// Those that it would find on a usual server: loaded where they are there, not missed where
    /// they are not.
    #[serde(default)]
    pub extensions_if_there: Vec<String>,
    /// Directories of the copy that it writes to.
    #[serde(default)]
    pub writable: Vec<String>,
    /// Whether its copy, with its caches, belongs in memory, where the machine has room for it.
    #[serde(default)]
    pub in_memory: bool,
    /// Frameworks that it is written for, by the names that their versions are recorded under.
    #[serde(default)]
    pub needs: BTreeMap<String, Framework>,
    /// PHP scripts of its directory with their arguments, a line each, that are run once in the
    /// copy before a runtime starts: they fill caches, as a deployment does.
    #[serde(default)]
    pub prepare: Option<String>,
    /// PHP file of its directory that `preload: app` has OPcache preload.
    #[serde(default)]
    pub preload: Option<String>,
    /// Directories of the copy that hold its caches, and that it can do without: emptied where it
    /// is measured cold.
    #[serde(default)]
    pub caches: Vec<String>,
    /// What it keeps in a database.
    #[serde(default)]
    pub database: Option<AppDatabase>,
}

impl AppManifest {
    /// Extensions to load where they are there, each once.
    pub(super) fn all_extensions(&self) -> Vec<String> {
        let mut all = self.extensions.clone();
        let more = self.extensions_if_there.iter().filter(|name| !self.extensions.contains(name));
        all.extend(more.cloned());
        all
    }
}

/// What an app keeps in a database.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppDatabase {
    /// Those that it can use; the first where the plan names none.
    pub any_of: Vec<String>,
    /// SQL file of its directory that makes and fills its tables in each of them. An empty line
    /// follows each command. `None`: `prepare` makes them.
    #[serde(default)]
    pub schema: Option<String>,
    /// Queries that an answer takes.
    pub queries: Queries,
    /// A person's file that fills it in place of `schema`: SQL, or a database of SQLite.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// How many queries an answer takes, by its path.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queries {
    /// Of a path that is not among `paths`.
    pub each: u64,
    /// Whether there may be more, as of another version of what the app is made of.
    #[serde(default)]
    pub or_more: bool,
    /// Query parameter that says how many times as many; `None`: there is none.
    #[serde(default)]
    pub times: Option<String>,
    /// Path → the same.
    #[serde(default)]
    pub paths: BTreeMap<String, Queries>,
}

impl Queries {
    /// Whether an answer to a request for `target` may ask more than `of` says.
    pub fn may_be_more(&self, target: &str) -> bool {
        let (path, _) = target.split_once('?').unwrap_or((target, ""));
        self.paths.get(path).unwrap_or(self).or_more
    }

    /// Queries of an answer to a request for `target`.
    pub fn of(&self, target: &str) -> u64 {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Queries { each, times, .. } = self.paths.get(path).unwrap_or(self);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let asked = pairs.rev().find(|(name, _)| times.as_deref() == Some(*name));
        let times = asked.and_then(|(_, value)| value.parse().ok()).unwrap_or(1);
        each.saturating_mul(times)
    }
}

/// A framework: a Composer package of the app's own vendor directory or, where the app has no such
/// directory, a package of the distribution; or files of the app itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framework {
    /// The Composer package.
    pub package: String,
    /// File of the app's own directory that tells that it brings the framework in another way than
    /// by Composer; its version stands there as in the distribution's.
    #[serde(default)]
    pub own: Option<String>,
    /// Absolute path of what the distribution's package brings; one that is not absolute is of
    /// the app itself. `None`: only a vendor directory has it.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Where that says its version.
    #[serde(default)]
    pub version: Option<VersionIn>,
    /// The distribution's packages, by family.
    #[serde(default)]
    pub install: BTreeMap<String, Install>,
}

/// A version that stands in a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionIn {
    /// Absolute path, or one from the app's directory.
    pub file: PathBuf,
    /// Text that it follows.
    pub after: String,
}

/// What is asked to see whether an app works.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppRequest {
    /// Path and query; the runtime's `ready.path` when not given.
    #[serde(default)]
    pub path: Option<String>,
}

/// The correct answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// HTTP status.
    #[serde(default = "ok")]
    pub status: u16,
    /// Headers, by lower-case name; each must begin with the value.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// File of the app's directory with the masked body; `None`: any body.
    #[serde(default)]
    pub body: Option<String>,
    /// What the body as it came must contain, each of them; `{{ php_version }}` stands for the
    /// version that the runtime shows when it is asked.
    #[serde(default)]
    pub contains: Vec<String>,
}

impl Default for Expect {
    fn default() -> Expect {
        Expect { status: ok(), headers: BTreeMap::new(), body: None, contains: Vec::new() }
    }
}

/// What moves from answer to answer: exactly one of the two.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mask {
    /// JSON pointer (RFC 6901); a last part `*` stands for every value there.
    #[serde(default)]
    pub pointer: Option<String>,
    /// Regular expression, for bodies that are no JSON; each match becomes `*`.
    #[serde(default)]
    pub regex: Option<String>,
}

fn dot() -> String {
    ".".into()
}

fn index_php() -> String {
    "index.php".into()
}

const fn ok() -> u16 {
    200
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_of_an_answer_follow_from_its_request() {
        let one = Queries { each: 1, or_more: false, times: None, paths: BTreeMap::new() };
        let paths = BTreeMap::from([("/rows".to_owned(), one)]);
        let queries = Queries { each: 2, or_more: false, times: Some("n".into()), paths };
        let of = |target: &str| queries.of(target);
        assert_eq!([of("/"), of("/?n=20"), of("/?a=1&n=3"), of("/?m=20")], [2, 40, 6, 2]);
        assert_eq!(of("/?n=many"), 2);
        assert_eq!([of("/rows"), of("/rows?n=3")], [1, 1]);
    }
}
