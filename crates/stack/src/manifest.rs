//! Defines the format of `runtime.yaml`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_saphyr::Spanned;

use stampede_model::app_kind::AppKind;
use stampede_model::quantity::parse_length_with_unit;
use stampede_model::record::LogSignal;
use stampede_monitor::IdleIn;
use stampede_plan::model::Scalar;

use super::directory_files::RuleForm;
use super::images::OfficialImage;

/// The content of `runtime.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeManifest {
    /// Title for readers.
    pub title: String,
    /// How the runtime treats the app's state.
    pub mode: Mode,
    /// Whether the runtime is compared where no runtimes are named. True for the common ways to
    /// serve PHP.
    #[serde(default, alias = "usual")]
    pub default: bool,
    /// The kinds of apps that the runtime runs.
    pub app_kinds: Vec<AppKind>,
    /// Composer packages that an app must have in its vendor directory.
    #[serde(default)]
    pub app_needs: Vec<String>,
    /// What holds a worker: a request, or a connection for as long as it is open.
    pub worker_held_by: HeldBy,
    /// The web server that is part of the runtime, if it is one of the fronts. `front` with this
    /// name is then the default and adds nothing.
    #[serde(default)]
    pub web_server: Option<String>,
    /// The form in which its web server is told the rules of an app's `.htaccess`. `None`: it is told
    /// nothing of them.
    #[serde(default)]
    pub app_rules: Option<RuleForm>,
    /// Needs that several directories share, each with a file in `common/needs`. The catalogue adds
    /// them to `needs`.
    #[serde(default)]
    pub common_needs: Vec<Spanned<String>>,
    /// Programs and files of the machine, by the name that `run:` lines and templates use.
    #[serde(default)]
    pub needs: BTreeMap<String, Need>,
    /// Whether the workers are threads of one PHP, which must then be thread-safe.
    #[serde(default)]
    pub php_threads: bool,
    /// The need that contains PHP. The common php.ini is rendered for it, and the extension
    /// directory is read from its file. `None`: no php.ini is written.
    #[serde(default)]
    pub php: Option<Spanned<String>>,
    /// The common settings that the runtime supports. Any other common setting may only have its
    /// own default.
    #[serde(default)]
    pub common: Vec<Spanned<String>>,
    /// The runtime's own settings, and common settings that it restricts.
    #[serde(default)]
    pub settings: BTreeMap<String, SettingSpec>,
    /// The files of the directory, or of the shared one (`common/mime.types`), that are copied to
    /// the working directory. Files with the ending `.j2` are rendered, and lose the ending.
    #[serde(default)]
    pub files: Vec<Spanned<String>>,
    /// Names of further free ports; templates use them as `ports.NAME`.
    #[serde(default)]
    pub ports: Vec<String>,
    /// The official image of each role.
    #[serde(default)]
    pub images: BTreeMap<String, OfficialImage>,
    /// The processes, started in this order and stopped in the reverse order.
    pub processes: Vec<ProcessManifest>,
    /// When the runtime counts as started.
    pub ready: ReadyCheck,
    /// How the number of workers is determined.
    pub effective_workers: EffectiveWorkers,
    /// The role that may start more processes than `workers`. The youngest ones are ended once the
    /// runtime is ready.
    #[serde(default)]
    pub surplus: Option<SurplusRole>,
    /// What differs from other runtimes whatever php.ini says.
    #[serde(default)]
    pub forced: SapiOverrides,
    /// Whether the runtime needs stampede's PHP library, in `php` of the working directory.
    #[serde(default)]
    pub php_library: bool,
    /// The part of that library that is the runtime's worker; `worker.php` of the working directory
    /// starts it.
    #[serde(default)]
    pub worker: Option<String>,
    /// Recipes for needs that no package has. `stampede install` runs them for needs that were not
    /// found.
    #[serde(default)]
    pub get: Vec<BuildRecipe>,
    /// How to install what the runtime needs, by distribution family.
    #[serde(default)]
    pub install: BTreeMap<String, Install>,
}

/// The name in the working directory of a file that `files` lists.
pub(super) fn rendered_name(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".j2").unwrap_or(name)
}

impl RuntimeManifest {
    /// Adds what another part of the stack needs. Needs of the same name are the same.
    pub(super) fn merge_needs(
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

/// A recipe for a need: a script of a runtime's directory. What the script leaves in `$OUT` goes to
/// stampede's own directory. If the result is no upstream release, the version that it prints
/// contains ` (assembled)` or ` (library)`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BuildRecipe {
    /// The need that the recipe makes.
    pub need: Spanned<String>,
    /// The upstream program by the machine's architecture (`x86_64`). It is tried before the
    /// script.
    #[serde(default)]
    pub release: BTreeMap<String, Release>,
    /// The script, relative to the runtime's directory. When it runs, the files beside it and those
    /// of `common/get` are there.
    pub run: String,
    /// The runtime whose directory has the recipe.
    #[serde(skip)]
    pub of: String,
    /// Programs that the script needs; it finds the path of `go` in `$GO`.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Debian packages that the script needs, including its tools.
    #[serde(default)]
    pub packages: Vec<String>,
    /// What the user can do if the need cannot be made.
    pub note: String,
}

/// A program that upstream publishes: alone, or in an archive.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The address of the file.
    pub url: String,
    /// SHA-256 of the file as hexadecimal digits: several where upstream has replaced the file. A file
    /// with another hash is refused.
    pub sha256: Vec<String>,
    /// The program's path in the archive (`tar.gz`) at the address; `None`: the file is the program.
    #[serde(default)]
    pub member: Option<String>,
    /// What the reader should know about the file.
    pub note: String,
}

/// The `runtime.yaml` of a variant with a directory of its own: another runtime with other
/// settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantManifest {
    /// Title for readers.
    pub title: String,
    /// The runtime that the variant uses.
    #[serde(rename = "use")]
    pub of: Spanned<String>,
    /// As in [`RuntimeManifest`]; it is not taken over from the used runtime.
    #[serde(default, alias = "usual")]
    pub default: bool,
    /// Own settings of the used runtime → their default in this variant.
    pub settings: BTreeMap<String, Scalar>,
}

/// How a runtime treats app state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The app boots for each request.
    PerRequest,
    /// The app boots once and handles many requests.
    Worker,
    /// One process handles many requests at once.
    EventLoop,
}

impl Mode {
    /// Whether PHP's memory is kept from request to request, so that a later request sees what an
    /// earlier one left.
    pub const fn keeps_memory(self) -> bool {
        matches!(self, Mode::Worker | Mode::EventLoop)
    }

    /// The name as in GLOSSARY.md.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::PerRequest => "per-request",
            Mode::Worker => "worker",
            Mode::EventLoop => "event-loop",
        }
    }
}

/// What holds a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HeldBy {
    /// The worker is free again after each answer.
    Request,
    /// The worker is held until the connection closes.
    Connection,
}

/// A program, file or package that a runtime needs on the machine.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// Names to look for in PATH and the `sbin` directories, in this order. Of a name with `*`, the
    /// highest version wins.
    #[serde(default)]
    pub programs: Vec<String>,
    /// Absolute paths, which may contain `*`; for libraries.
    #[serde(default)]
    pub files: Vec<String>,
    /// The PHP extension that the file contains; php.ini loads it.
    #[serde(default)]
    pub extension: Option<String>,
    /// The Composer package. The located file is the `autoload.php` of the vendor directory that
    /// has it.
    #[serde(default)]
    pub library: Option<String>,
    /// The command that prints the version; its first word is the need's own name.
    #[serde(default)]
    pub version: Option<String>,
    /// The need that is the library to which the file is linked: of several, the pair is found whose
    /// PHP is asked for.
    #[serde(default)]
    pub links: Option<String>,
    /// The text in the file itself that precedes the version; for libraries.
    #[serde(default)]
    pub version_in_file: Option<String>,
    /// The texts in logs by which the program reports a limit or a failure.
    #[serde(default)]
    pub logs: Vec<LogPattern>,
}

/// A text in a log, and its meaning.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogPattern {
    /// The part of the line that identifies it, literally.
    pub contains: String,
    /// What the line reports.
    pub signal: LogSignal,
    /// Whether the program logs this only once in its life, even if the state lasts.
    #[serde(default)]
    pub once: bool,
}

/// A setting as a runtime declares it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingSpec {
    /// The value if the plan gives none.
    pub default: Scalar,
    /// The allowed values; empty: any of the default's type.
    #[serde(default)]
    pub one_of: Vec<Scalar>,
    /// The smallest allowed whole number; `None`: there is no limit.
    #[serde(default)]
    pub min: Option<i64>,
    /// Why other values are refused, for the error.
    #[serde(default)]
    pub because: Option<String>,
}

/// A process of a runtime.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessManifest {
    /// The process's role: `web`, `php` …
    pub role: String,
    /// The command line, as a template; its first word names a need.
    pub run: Spanned<String>,
    /// Where another process must listen before this one may start, as a template: a unix socket's
    /// path, or a port. `None`: it starts at once.
    #[serde(default)]
    pub after: Option<String>,
    /// The user that the process runs as if stampede is root.
    #[serde(default)]
    pub user: RunAs,
    /// The process's working directory, as a template; `None`: that of the stack.
    #[serde(default)]
    pub cwd: Option<String>,
    /// The environment in addition to the app's, as templates; an empty value removes the variable.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How the process is asked to stop.
    pub stop: Stop,
}

/// The user that a process runs as if stampede is root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunAs {
    /// Root, like stampede: the program changes its user by itself.
    #[default]
    Itself,
    /// The unprivileged user that PHP runs as.
    App,
}

/// How a process is asked to stop.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The signal's name, without `SIG`.
    pub signal: Signal,
    /// The time until the process is killed.
    pub grace: ConfigDuration,
}

/// The signals that may stop a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Signal {
    /// SIGINT, 2.
    Int,
    /// SIGQUIT, 3.
    Quit,
    /// SIGTERM, 15.
    Term,
    /// SIGWINCH, 28.
    Winch,
}

impl Signal {
    /// The signal's number on Linux.
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
pub struct ReadyCheck {
    /// The path that is asked if the app names none.
    #[serde(default = "root")]
    pub path: String,
    /// The longest time until the first correct answer.
    pub within: ConfigDuration,
}

/// How the number of workers is determined: from a FastCGI status page, or by counting.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectiveWorkers {
    /// The unix socket of a FastCGI status page, as a template.
    #[serde(default)]
    pub status: Option<String>,
    /// The path of that page.
    #[serde(default = "root")]
    pub path: String,
    /// The field of that page with the number.
    #[serde(default)]
    pub field: Option<String>,
    /// The processes to count.
    #[serde(default)]
    pub processes: Option<ProcessCount>,
    /// A template that renders `true` where fewer workers than asked for are right before the load.
    #[serde(default)]
    pub grows: Option<String>,
    /// The system calls in which workers and their masters wait when they have no work. In any
    /// other place they are serving. Empty: it is not known whether they serve.
    #[serde(default)]
    pub idle_in: Vec<IdleIn>,
}

/// The processes of a role, or the threads of these processes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessCount {
    /// The role.
    pub role: Spanned<String>,
    /// Counts only the processes that run this need. For a role whose web server itself starts PHP.
    #[serde(default)]
    pub program: Option<Spanned<String>>,
    /// Counts the different names of the processes' threads that match this, for workers that are
    /// threads; `*` stands for digits.
    #[serde(default)]
    pub threads: Option<String>,
    /// How many of the counted ones serve nothing.
    #[serde(default)]
    pub minus: u32,
}

/// A role that may start too many processes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurplusRole {
    /// The role.
    pub role: Spanned<String>,
    /// The number of workers for which it does.
    pub workers: u32,
    /// How many processes it then starts, some of them after its first answer.
    pub starts: usize,
}

/// What a SAPI has or sets by itself. A `*` at the end stands for any text.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SapiOverrides {
    /// Names of extensions.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// Keys of php.ini.
    #[serde(default)]
    pub ini: Vec<String>,
    /// What a later request sees of an earlier one although nothing is kept in memory, by the
    /// probe's names.
    #[serde(default)]
    pub visible: Vec<String>,
}

/// How to install what a runtime needs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Install {
    /// Packages of the distribution.
    #[serde(default)]
    pub packages: Vec<String>,
    /// What else the user should know.
    #[serde(default)]
    pub note: Option<String>,
}

/// A length of time: `5s`, `500ms`, `2m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigDuration(pub Duration);

impl<'de> Deserialize<'de> for ConfigDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ConfigDuration, D::Error> {
        let text = String::deserialize(deserializer)?;
        let length = parse_length_with_unit(&text).map_err(|_| {
            de::Error::custom(format!("`{text}` is not a length of time like `5s` or `500ms`"))
        })?;
        Ok(ConfigDuration(length.into()))
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
        let read = |text: &str| serde_json::from_value::<ConfigDuration>(text.into()).ok();
        assert_eq!(read("5s"), Some(ConfigDuration(Duration::from_secs(5))));
        assert_eq!(read("500ms"), Some(ConfigDuration(Duration::from_millis(500))));
        for bad in ["", "5", "s", "-1s", "5 s", "99999999999999999999s"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
