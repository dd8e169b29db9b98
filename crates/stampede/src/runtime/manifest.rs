//! `runtime.yaml` as it is written.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_saphyr::Spanned;

use crate::monitor::IdleIn;
pub use crate::plan::model::AppKind;
use crate::plan::model::Scalar;

/// `runtime.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeManifest {
    /// Title for people.
    pub title: String,
    /// How it treats app state.
    pub mode: Mode,
    /// Whether it is compared where nobody names runtimes: what people mostly serve PHP with.
    #[serde(default)]
    pub default: bool,
    /// Kinds of apps that it runs.
    pub app_kinds: Vec<AppKind>,
    /// Composer packages that an app must have in its vendor directory.
    #[serde(default)]
    pub app_needs: Vec<String>,
    /// What occupies a worker: a request, or a connection for as long as it is open.
    pub worker_held_by: HeldBy,
    /// The web server that is part of it, if that is one of the fronts: `front` of this name
    /// is already the default and adds none.
    #[serde(default)]
    pub web_server: Option<String>,
    /// Programs and files of the machine, by the name that `run:` lines and templates use.
    pub needs: BTreeMap<String, Need>,
    /// Whether its workers are threads of one PHP, which has to be thread-safe for that.
    #[serde(default)]
    pub php_threads: bool,
    /// The need that carries PHP: the common php.ini is rendered, and the extension directory
    /// is read from this file. Without it no php.ini is written.
    #[serde(default)]
    pub php: Option<Spanned<String>>,
    /// Common settings that it honours; one that it does not list may only be given its
    /// own default.
    #[serde(default)]
    pub common: Vec<Spanned<String>>,
    /// Settings of its own, and common ones that it narrows.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingSpec>,
    /// Files of the directory that go to the working directory; `.j2` ones are rendered and lose
    /// it.
    #[serde(default)]
    pub files: Vec<Spanned<String>>,
    /// Names of further free ports, for templates: `ports.NAME`.
    #[serde(default)]
    pub ports: Vec<String>,
    /// Started in this order, stopped in the reverse.
    pub processes: Vec<ProcessManifest>,
    /// When it counts as started.
    pub ready: Ready,
    /// How the number of its workers is found out.
    pub effective_workers: EffectiveWorkers,
    /// Role that may start more processes than `workers`; the youngest are ended once it is
    /// ready.
    #[serde(default)]
    pub surplus: Option<Surplus>,
    /// What differs whatever php.ini says.
    #[serde(default)]
    pub forced: Forced,
    /// Whether it needs stampede's PHP library, in `php` of the working directory.
    #[serde(default)]
    pub php_library: bool,
    /// Part of the library that is its worker; `worker.php` of the working directory starts it.
    #[serde(default)]
    pub worker: Option<String>,
    /// Needs that no package has and that `stampede install` makes where they are nowhere.
    #[serde(default)]
    pub get: Vec<Get>,
    /// How to get what it needs, by family of distributions.
    #[serde(default)]
    pub install: BTreeMap<String, Install>,
}

impl RuntimeManifest {
    /// Takes in what another part of the stack needs; a need of one name is one thing.
    pub(super) fn take_in(
        &mut self,
        needs: BTreeMap<String, Need>,
        files: Vec<Spanned<String>>,
        install: BTreeMap<String, Install>,
    ) {
        for (name, need) in needs {
            self.needs.entry(name).or_insert(need);
        }
        self.files.extend(files);
        for (family, more) in install {
            let none = || Install { packages: Vec::new(), note: None };
            self.install.entry(family).or_insert_with(none).packages.extend(more.packages);
        }
    }
}

/// How a need is made, by a script of a runtime's directory. What the script leaves in `$OUT` goes
/// to stampede's own directory. Where the result is no upstream release, its version says so with a
/// last word ` (assembled)` or ` (library)`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Get {
    /// The need that it makes.
    pub need: Spanned<String>,
    /// the upstream program by the machine's architecture (`x86_64`), which is tried first.
    #[serde(default)]
    pub release: BTreeMap<String, Release>,
    /// The script, from the runtime's directory; all that lies beside it, and what `common/get`
    /// has, is there when it runs.
    pub run: String,
    /// The runtime whose directory it is from.
    #[serde(skip)]
    pub of: String,
    /// Programs that it needs; it finds the path of `go` in `$GO`.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Debian packages that it needs, its tools among them.
    #[serde(default)]
    pub packages: Vec<String>,
    /// What a person can do where it cannot be made.
    pub note: String,
}

/// A program that upstream publishes: one file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Where it is.
    pub url: String,
    /// SHA-256 of the file, in hex. Another file is not taken.
    pub sha256: String,
    /// What is to be known about it.
    pub note: String,
}

/// `runtime.yaml` of a variant that has a directory of its own: another runtime with settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantManifest {
    /// Title for people.
    pub title: String,
    /// The runtime whose settings it has otherwise.
    #[serde(rename = "use")]
    pub of: Spanned<String>,
    /// As of any runtime; not taken over from the other.
    #[serde(default)]
    pub default: bool,
    /// Settings of that runtime's own → what they are when the plan is silent.
    pub settings: BTreeMap<String, Scalar>,
}

/// How a runtime treats app state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Everything boots for each request.
    PerRequest,
    /// Boots once, handles many.
    Worker,
    /// One process, many requests at once.
    EventLoop,
}

impl Mode {
    /// Whether PHP goes on from request to request, so that a later one sees what an earlier
    /// one left.
    pub const fn keeps_memory(self) -> bool {
        matches!(self, Mode::Worker | Mode::EventLoop)
    }

    /// As in GLOSSARY.md.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::PerRequest => "per-request",
            Mode::Worker => "worker",
            Mode::EventLoop => "event-loop",
        }
    }
}

/// What occupies a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HeldBy {
    /// Free again after each answer.
    Request,
    /// Held until the connection closes.
    Connection,
}

/// Something of the machine that a runtime needs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Names to look for in PATH and the `sbin` directories, in this order; globs allowed, of
    /// which the highest version wins.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Absolute paths, globs allowed; for libraries.
    #[serde(default)]
    pub files: Vec<String>,
    /// PHP extension whose file it is; php.ini loads it.
    #[serde(default)]
    pub extension: Option<String>,
    /// Composer package; what is found is the `autoload.php` of the vendor directory that has it.
    #[serde(default)]
    pub library: Option<String>,
    /// Command that prints the version; its first word is the need's own name.
    #[serde(default)]
    pub version: Option<String>,
    /// Text in the file itself that the version follows; for libraries.
    #[serde(default)]
    pub version_in_file: Option<String>,
}

/// A setting as a runtime declares it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingSpec {
    /// Value when the plan gives none.
    pub default: Scalar,
    /// Allowed values; empty: any of the default's type.
    #[serde(default)]
    pub one_of: Vec<Scalar>,
    /// Smallest whole number.
    #[serde(default)]
    pub min: Option<i64>,
    /// Why other values are refused, for the error.
    #[serde(default)]
    pub because: Option<String>,
}

/// One process.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessManifest {
    /// `web`, `php` …
    pub role: String,
    /// Command line, a template; its first word names a need.
    pub run: Spanned<String>,
    /// Where another of them listens once this one may be started, a template: a unix socket's
    /// path, or a port; at once when not given.
    #[serde(default)]
    pub after: Option<String>,
    /// Whom it runs as when stampede is root.
    #[serde(default)]
    pub user: RunAs,
    /// Working directory, a template; the working directory when not given.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Environment beside the app's, templates; an empty value leaves the variable out.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How it is asked to end.
    pub stop: Stop,
}

/// Whom a process runs as when stampede is root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunAs {
    /// As stampede: the program changes its user by itself.
    #[default]
    Itself,
    /// The unprivileged user that PHP runs as.
    App,
}

/// How a process is asked to end.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Signal by name, without `SIG`.
    pub signal: Signal,
    /// Time it gets.
    pub grace: Wait,
}

/// Signals that a runtime may be stopped with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    /// 2.
    Int,
    /// 3.
    Quit,
    /// 15.
    Term,
    /// 28.
    Winch,
}

impl Signal {
    /// Its number on Linux.
    pub const fn number(self) -> i32 {
        match self {
            Signal::Int => 2,
            Signal::Quit => 3,
            Signal::Term => 15,
            Signal::Winch => 28,
        }
    }
}

/// When a runtime counts as started.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// Path that is asked when the app names none.
    #[serde(default = "root")]
    pub path: String,
    /// Longest time to the first correct answer.
    pub within: Wait,
}

/// How the number of workers is found out: a FastCGI status page, or a count.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectiveWorkers {
    /// Unix socket of a FastCGI status page, a template.
    #[serde(default)]
    pub status: Option<String>,
    /// The page's path.
    #[serde(default = "root")]
    pub path: String,
    /// Field of the page.
    #[serde(default)]
    pub field: Option<String>,
    /// Processes of a role.
    #[serde(default)]
    pub processes: Option<Count>,
    /// Template that says `true` where fewer than asked is right before load.
    #[serde(default)]
    pub grows: Option<String>,
    /// Where the workers, and their masters, stand without work: whatever else they are in, they
    /// serve. Not given: it is not known whether they do.
    #[serde(default)]
    pub idle_in: Vec<IdleIn>,
}

/// Processes of a role, or threads of these.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The role.
    pub role: Spanned<String>,
    /// Only those that run this need: for a role whose web server starts PHP itself.
    #[serde(default)]
    pub program: Option<Spanned<String>>,
    /// The different names of their threads that fit are counted instead, where a worker is a
    /// thread; `*` stands for digits.
    #[serde(default)]
    pub threads: Option<String>,
    /// Those of them that serve nothing.
    #[serde(default)]
    pub minus: u32,
}

/// A role that may start too many processes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surplus {
    /// The role.
    pub role: Spanned<String>,
}

/// What a SAPI has or sets by itself. A trailing `*` stands for any rest.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forced {
    /// Extensions.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// php.ini keys.
    #[serde(default)]
    pub ini: Vec<String>,
    /// What of one request a later one sees, by the probe's names, although nothing is kept in
    /// memory.
    #[serde(default)]
    pub visible: Vec<String>,
}

/// How to get what a runtime needs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Install {
    /// Packages of the distribution.
    #[serde(default)]
    pub packages: Vec<String>,
    /// What else to know.
    #[serde(default)]
    pub note: Option<String>,
}

/// A length of time: `5s`, `500ms`, `2m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait(pub Duration);

impl<'de> Deserialize<'de> for Wait {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Wait, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_wait(&text).map(Wait).ok_or_else(|| {
            de::Error::custom(format!("`{text}` is no length of time like `5s` or `500ms`"))
        })
    }
}

fn parse_wait(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..digits].parse().ok()?;
    match &text[digits..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

fn root() -> String {
    "/".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_a_unit() {
        assert_eq!(parse_wait("5s"), Some(Duration::from_secs(5)));
        assert_eq!(parse_wait("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse_wait("2m"), Some(Duration::from_secs(120)));
        for bad in ["", "5", "s", "-1s", "1.5s", "5 s", "99999999999999999999s"] {
            assert_eq!(parse_wait(bad), None, "{bad}");
        }
    }
}
