//! Everything that is known of an app before it is served: what was detected, with what its
//! `app.yaml`, the plan and flags say laid over it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use stampede_frameworks::KnownFramework;
use stampede_model::app_kind::AppKind;
use stampede_plan::app_settings::AppSettings;

use super::app_file::AppFile;
use super::detect::DetectedParts;
use super::manifest::Install;
use super::php_constraint::PhpRequirements;

/// An app as it is served. All defaults are filled in.
#[derive(Clone, Debug)]
pub struct AppManifest {
    /// Title for readers.
    pub title: String,
    /// How the app is entered.
    pub kind: AppKind,
    /// Directory of the public files, relative to the app's directory; `.` is the app's directory
    /// itself.
    pub docroot: String,
    /// The front controller, relative to the docroot.
    pub index: String,
    /// The request that shows whether the app works.
    pub request: AppRequest,
    /// The correct answer.
    pub expect: Expect,
    /// The text that each answer under load must contain; `None`: only the status counts.
    pub contains: Option<String>,
    /// The parts of an answer that change from answer to answer.
    pub mask: Vec<Mask>,
    /// The app's environment, in addition to `APP_ENV=prod` and `APP_DEBUG=0`.
    pub env: BTreeMap<String, String>,
    /// The PHP extensions that the app needs, by their file name without `.so`.
    pub extensions: Vec<String>,
    /// The PHP extensions that a usual server would have. They are loaded if they are installed; it
    /// is no error if they are not.
    pub extensions_if_there: Vec<String>,
    /// The paths of the copy that the app writes to. Missing ones are created as directories.
    pub writable: Vec<String>,
    /// Whether the app's copy, with its caches, is to lie in memory, if the machine has enough.
    pub in_memory: bool,
    /// The frameworks that the app is written for, by the names under which their versions are
    /// recorded.
    pub needs: BTreeMap<String, Framework>,
    /// PHP scripts of the app's directory with their arguments, one per line. They run once in the
    /// copy before a runtime starts, and fill caches as a deployment does.
    pub prepare: Option<String>,
    /// The PHP file of the app's directory that OPcache preloads with `preload: app`.
    pub preload: Option<String>,
    /// The directories of the copy that hold the app's caches. The app must work without their
    /// contents; a cold measurement empties them.
    pub caches: Vec<String>,
    /// The app's database; `None`: it has none.
    pub database: Option<AppDatabase>,
    /// The versions of PHP that the app requires.
    pub php: PhpRequirements,
    /// What is known of the app's framework, or of its kind; `None`: nothing is.
    pub framework: Option<Arc<KnownFramework>>,
    /// All that was detected or said, with its sources.
    pub settings: AppSettings,
}

impl AppManifest {
    /// The app `name`: `settings` is what was detected and said, `file` and `parts` have the rest.
    /// What `file` says wins over `parts`.
    pub(super) fn new(
        name: &str,
        file: AppFile,
        settings: AppSettings,
        parts: DetectedParts,
    ) -> AppManifest {
        let or = |said: &Option<String>, default: &str| {
            said.clone().unwrap_or_else(|| default.to_owned())
        };
        let mut extensions_if_there = parts.extensions_if_there;
        extensions_if_there.extend(file.extensions_if_there);
        AppManifest {
            title: or(&settings.title, name),
            kind: settings.kind.unwrap_or(AppKind::Script),
            docroot: or(&settings.docroot, "."),
            index: or(&settings.index, "index.php"),
            request: AppRequest { path: settings.ready.clone() },
            expect: file.expect,
            contains: file.contains,
            mask: file.mask,
            env: settings.env.clone(),
            extensions: settings.extensions.clone(),
            extensions_if_there,
            writable: settings.writable.clone(),
            in_memory: file.in_memory,
            needs: file.needs.unwrap_or(parts.needs),
            prepare: file.prepare.or(parts.prepare),
            preload: file.preload.or(parts.preload),
            caches: file.caches.unwrap_or(parts.caches),
            database: file.database,
            php: parts.php,
            framework: parts.framework,
            settings,
        }
    }

    /// How long an answer may take before the load; `None`: nobody said it.
    pub fn ready_within(&self) -> Option<Duration> {
        self.settings.ready_within.map(|within| Duration::from_nanos(within.0))
    }

    /// The headers that every request has: `given`, and what is said about the app and `given` does
    /// not have.
    pub fn headers_with(&self, given: &[(String, String)]) -> Vec<(String, String)> {
        let AppSettings { host, https, headers, cookies, basic_auth, .. } = &self.settings;
        let own = |name: &str, value: String| (name.to_owned(), value);
        let cookies: Vec<String> =
            cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let host = host.iter().map(|host| own("Host", host.clone()));
        let https = (*https == Some(true)).then(|| own(FORWARDED_PROTO, "https".to_owned()));
        let cookie = (!cookies.is_empty()).then(|| own("Cookie", cookies.join("; ")));
        let login =
            |login: &String| own("Authorization", format!("Basic {}", STANDARD.encode(login)));
        let said = host
            .chain(headers.iter().map(|(name, value)| own(name, value.clone())))
            .chain(https)
            .chain(cookie)
            .chain(basic_auth.as_ref().map(login));
        let mut all: Vec<(String, String)> = Vec::new();
        let is_there = |known: &[(String, String)], name: &str| {
            known.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        for (name, value) in said {
            if !is_there(given, &name) && !is_there(&all, &name) {
                all.push((name, value));
            }
        }
        all.extend(given.iter().cloned());
        all
    }
}

/// The header by which a proxy tells an app how its client reached it.
pub const FORWARDED_PROTO: &str = "X-Forwarded-Proto";

impl AppManifest {
    /// All extensions to load if they are installed, each once.
    pub(super) fn all_extensions(&self) -> Vec<String> {
        let mut all = self.extensions.clone();
        let more = self.extensions_if_there.iter().filter(|name| !self.extensions.contains(name));
        all.extend(more.cloned());
        all
    }
}

/// The database of an app.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppDatabase {
    /// The databases that the app can use. The first is taken if the plan names none.
    pub any_of: Vec<String>,
    /// The SQL file of the app's directory that creates and fills the tables in each of these
    /// databases. An empty line follows each command. `None`: `prepare` creates the tables.
    #[serde(default)]
    pub schema: Option<String>,
    /// The number of queries that an answer takes.
    pub queries: Queries,
    /// The user's file that fills the database instead of `schema`: SQL, or a database file of
    /// SQLite.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// The number of queries that an answer takes, by path.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queries {
    /// The number for a path that is not in `paths`.
    pub each: u64,
    /// Whether there may be more queries, such as with another version of the app's packages.
    #[serde(default)]
    pub or_more: bool,
    /// The query parameter whose value multiplies the number; `None`: there is none.
    #[serde(default)]
    pub times: Option<String>,
    /// Path → its own numbers.
    #[serde(default)]
    pub paths: BTreeMap<String, Queries>,
}

impl Queries {
    /// Whether an answer to a request for `target` may take more queries than `of` returns.
    pub fn may_be_more(&self, target: &str) -> bool {
        let (path, _) = target.split_once('?').unwrap_or((target, ""));
        self.paths.get(path).unwrap_or(self).or_more
    }

    /// The number of queries of an answer to a request for `target`.
    pub fn of(&self, target: &str) -> u64 {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Queries { each, times, .. } = self.paths.get(path).unwrap_or(self);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let asked = pairs.rev().find(|(name, _)| times.as_deref() == Some(*name));
        let times = asked.and_then(|(_, value)| value.parse().ok()).unwrap_or(1);
        each.saturating_mul(times)
    }
}

/// A framework. It is a Composer package of the app's vendor directory, or files of the app itself.
/// An app without a vendor directory may use a package of the distribution.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framework {
    /// The name of the Composer package.
    pub package: String,
    /// A file of the app's directory which shows that the app brings the framework without
    /// Composer. The version is then read as from the distribution's package.
    #[serde(default)]
    pub own: Option<String>,
    /// The absolute path of a file of the distribution's package. A relative path is one of the app
    /// itself. `None`: only a vendor directory has the framework.
    #[serde(default)]
    pub file: Option<PathBuf>,
    /// Where that package states its version.
    #[serde(default)]
    pub version: Option<VersionIn>,
    /// The distribution's packages, by distribution family.
    #[serde(default)]
    pub install: BTreeMap<String, Install>,
}

/// Where a file states a version.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionIn {
    /// The file: an absolute path, or one relative to the app's directory.
    pub file: PathBuf,
    /// The text that precedes the version.
    pub after: String,
}

/// The request that shows whether an app works.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AppRequest {
    /// Path and query; `None`: the runtime's `ready.path`.
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
    /// Headers by lower-case name; the header's value must begin with the given value.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The file of the app's directory with the masked body; `None`: any body is correct.
    #[serde(default)]
    pub body: Option<String>,
    /// Texts that the unmasked body must contain, all of them. `{{ php_version }}` stands for the
    /// version that the runtime reports.
    #[serde(default)]
    pub contains: Vec<String>,
}

impl Default for Expect {
    fn default() -> Expect {
        Expect { status: ok(), headers: BTreeMap::new(), body: None, contains: Vec::new() }
    }
}

/// A part of an answer that changes from answer to answer. Exactly one of the two fields is set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mask {
    /// JSON pointer (RFC 6901); a last part `*` stands for every value at that place.
    #[serde(default)]
    pub pointer: Option<String>,
    /// Regular expression, for bodies that are not JSON; each match becomes `*`.
    #[serde(default)]
    pub regex: Option<String>,
}

const fn ok() -> u16 {
    200
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_queries_follows_from_the_request() {
        let one = Queries { each: 1, or_more: false, times: None, paths: BTreeMap::new() };
        let paths = BTreeMap::from([("/rows".to_owned(), one)]);
        let queries = Queries { each: 2, or_more: false, times: Some("n".into()), paths };
        let of = |target: &str| queries.of(target);
        assert_eq!([of("/"), of("/?n=20"), of("/?a=1&n=3"), of("/?m=20")], [2, 40, 6, 2]);
        assert_eq!(of("/?n=many"), 2);
        assert_eq!([of("/rows"), of("/rows?n=3")], [1, 1]);
    }
}
