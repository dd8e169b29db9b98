//! The resolved plan. All defaults are filled in: a `None` here never means "the default".

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stampede_model::agent_places::Agents;
use stampede_model::cpus::CpuCount;
use stampede_model::expectation::Expectation;
use stampede_model::fact::{Notice, RequestFile};
use stampede_model::load::{Arrivals, HttpVersion, Model};
pub use stampede_model::record::Starts;
use stampede_model::record::{AgainstRecord, PeakRecord, WorkingTreeRecord};
use stampede_model::time::Nanos;

use super::app_settings::AppSettings;
use super::lookup::Lookup;
use super::parts::StackPlan;
pub use super::watch::{Watch, WatchError};

/// A whole comparison.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Apps, runtimes and their budget.
    pub stack: StackPlan,
    /// Loads, at least one, names unique.
    pub loads: Vec<LoadChoice>,
    /// The state of a runtime when the measured load begins.
    pub begin: StartState,
    /// How many loads a start of a runtime serves.
    pub starts: Starts,
    /// How often each case is measured.
    pub rounds: Rounds,
    /// How many times a trial that came out invalid is measured again.
    pub repeat_invalid: u32,
    /// Seed of the order of trials and of Poisson arrivals. Drawn at random when not given, and
    /// always stored.
    pub seed: u64,
    /// Expectations of the whole run.
    pub expect: Vec<Expectation>,
    /// Name of the runtime that the others are compared with.
    pub baseline: String,
    /// The row that shows the machine's mood in a history of runs. `None`: there is none.
    pub control: Option<Control>,
    /// The peak that fixed rates were derived from. `None`: no load needs it, or it is not measured
    /// yet.
    pub peak: Option<PeakRecord>,
    /// The machines that send the loads.
    pub load_from: LoadFrom,
    /// What is made equal for all runtimes.
    pub fairness: Fairness,
    /// The factor that the lengths above were multiplied by. 1: they are as written.
    pub time_scale: f64,
    /// The file of published tables to set beside the figures. `None`: there is none.
    pub published: Option<PathBuf>,
    /// The directory for the results. `None`: a new directory below `stampede-results/`.
    pub out: Option<PathBuf>,
    /// What the reader should know about how this plan was made, such as values that stampede
    /// chose.
    pub notices: Vec<Notice>,
    /// The other version of the apps, when one is measured beside them.
    pub against: Option<Against>,
    /// Where the working tree of an app stood when the run began; `None`: it was not asked for, or no
    /// app is in a git repository.
    pub working_tree: Option<WorkingTreeRecord>,
}

/// A row that the user keeps the same in each run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// Name of a runtime of the plan.
    pub runtime: String,
    /// Name of its app. `None`: every app of the plan, each with this runtime.
    pub app: Option<String>,
}

/// The machines that send the loads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadFrom {
    /// Agents; none: this machine sends.
    pub agents: Agents,
    /// A program of stampede that lies on the agents. `None`: the own one is copied there.
    pub program: Option<PathBuf>,
    /// The file with the token of agents that wait for orders. `None`: it is in the environment.
    pub token_file: Option<PathBuf>,
}

/// Another version of a plan's apps.
#[derive(Clone, Debug)]
pub struct Against {
    /// The version, in the form that is recorded.
    pub record: AgainstRecord,
    /// Maps the index of an app of that version in the plan's apps to the index of the original app.
    pub of: BTreeMap<usize, usize>,
    /// Those of them that are the same version a second time. Empty: it is measured once.
    pub again: BTreeSet<usize>,
}

/// The state of a runtime when the measured load begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartState {
    /// The runtime has answered, and has served a load of this length whose results are discarded.
    /// Zero: no such load.
    Warm(Nanos),
    /// The runtime has started, with OPcache and the app's caches empty. It has had no request.
    Cold,
}

impl StartState {
    /// Length of the load whose results are discarded.
    pub fn warm_up(self) -> Nanos {
        match self {
            StartState::Warm(length) => length,
            StartState::Cold => Nanos(0),
        }
    }
}

/// Which of the two definitions of a fair comparison applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// All runtimes have the same number of workers.
    EqualWorkers,
    /// Each runtime is tuned first: it gets the number of workers with the highest throughput under
    /// the budget.
    EachAtItsBest,
}

/// What happens to a runtime whose programs are not installed, or that cannot run the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingRuntimes {
    /// It is a mistake, and the plan is refused.
    Refuse,
    /// It is left out, and the run says so.
    Skip,
    /// Its programs come from its official images; what cannot be had in this way is left out.
    Images,
}

impl Plan {
    /// Keeps only the runtimes of these names, and the loads that are for at least one of them.
    pub fn keep_runtimes(&mut self, names: &[String]) {
        self.stack.keep_runtimes(names);
        let is_for = |load: &LoadChoice, name: &String| {
            (load.only.is_empty() || load.only.contains(name)) && !load.except.contains(name)
        };
        self.loads.retain(|load| names.iter().any(|name| is_for(load, name)));
        for load in &mut self.loads {
            load.only.retain(|name| names.contains(name));
            load.except.retain(|name| names.contains(name));
        }
    }
}

/// An app, and what plan and flags say about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppChoice {
    /// Where the app is.
    pub place: AppPlace,
    /// What plan and flags say about it.
    #[serde(default, skip_serializing_if = "AppSettings::is_empty")]
    pub settings: AppSettings,
    /// The directory that the app is a copy of: its files may name it by its whole path. `None`: it
    /// is no copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_of: Option<PathBuf>,
    /// Repositories whose compose projects are read from a copy of another version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkouts: Vec<Checkout>,
}

/// Another version of a repository's files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkout {
    /// The top directory of the working tree, without links.
    pub top: PathBuf,
    /// The directory that has the other version's files in its place.
    pub tree: PathBuf,
    /// The full id of the version's commit.
    pub commit: String,
}

/// Where an app is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AppPlace {
    /// An app of the catalogue, by name.
    Named(String),
    /// A directory: with an `app.yaml`, or a project that is detected.
    Directory(PathBuf),
    /// Whatever the runtimes serve: each brings its own.
    Provided,
}

impl AppChoice {
    /// The app of the catalogue with this name.
    pub fn named(name: String) -> AppChoice {
        AppChoice::at(AppPlace::Named(name))
    }

    /// The app that each runtime brings itself.
    pub fn provided() -> AppChoice {
        AppChoice::at(AppPlace::Provided)
    }

    /// The app in this directory.
    pub fn directory(directory: PathBuf) -> AppChoice {
        AppChoice::at(AppPlace::Directory(directory))
    }

    fn at(place: AppPlace) -> AppChoice {
        let settings = AppSettings::default();
        AppChoice { place, settings, copy_of: None, checkouts: Vec::new() }
    }

    /// The app's directory. `None`: the app is one of the catalogue.
    pub fn path(&self) -> Option<&Path> {
        match &self.place {
            AppPlace::Named(_) | AppPlace::Provided => None,
            AppPlace::Directory(directory) => Some(directory),
        }
    }
}

/// One runtime to compare: a catalogue entry with settings, under a name of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeChoice {
    /// The name in tables: `nginx-fpm`, or a variant's name such as `nginx-fpm-80`. The value of a
    /// sweep is appended: `nginx-fpm jit=tracing`.
    pub name: String,
    /// Where it comes from.
    pub source: RuntimeSource,
    /// Settings as given: the common ones (`workers`, `front` …) and the runtime's own. The plan's
    /// top-level values are already merged in, and the runtime's own values take precedence. They
    /// are checked later, against the runtime's directory.
    pub settings: BTreeMap<String, Scalar>,
    /// Values for php.ini, merged from plan and runtime. They are added to the pinned ones.
    pub php_ini: BTreeMap<String, String>,
    /// Environment variables of the app, merged from plan and runtime.
    pub env: BTreeMap<String, String>,
    /// The container images that its programs come from, by role. A role that is not in the map has its
    /// official image. `None`: they are programs of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<BTreeMap<String, String>>,
    /// How the runtime is set up as on this machine. `None`: it is set up as every runtime.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_today: Option<AsToday>,
}

/// What a row `today` has besides settings, taken over from this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsToday {
    /// The title for people.
    pub title: String,
    /// The PHP extensions that are loaded, in place of the app's.
    pub extensions: Vec<String>,
}

impl RuntimeChoice {
    /// Whether the runtime was running already: stampede does not start, place or change it.
    pub fn is_external(&self) -> bool {
        matches!(self.source, RuntimeSource::External { .. })
    }

    /// Whether it runs programs of this machine, which somebody may have set up.
    pub fn has_programs_of_machine(&self) -> bool {
        matches!(self.source, RuntimeSource::Catalogue(_)) && self.images.is_none()
    }

    /// Whether its processes run in containers that stampede starts.
    pub fn has_containers(&self) -> bool {
        self.images.is_some() || matches!(self.source, RuntimeSource::Compose(_))
    }
}

/// Where a runtime comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuntimeSource {
    /// A directory of the catalogue, by name.
    Catalogue(String),
    /// A server that is already running.
    External {
        /// Its address.
        url: String,
        /// Where its resource use is read. `None`: the user did not say, so no resources are read.
        watch: Option<Watch>,
        /// Where connections go instead of the addresses that the system finds.
        #[serde(default, skip_serializing_if = "Lookup::is_empty")]
        lookup: Lookup,
    },
    /// Services of a compose project, in containers that stampede starts.
    Compose(ComposeSource),
    /// What serves PHP on this machine. It becomes one of the catalogue when its files are read; the
    /// runtime's own settings win over them.
    Today {
        /// The plan's settings for all runtimes, which the machine's win over.
        settings: BTreeMap<String, Scalar>,
        /// The plan's values of php.ini for all runtimes, likewise.
        php_ini: BTreeMap<String, String>,
    },
}

impl RuntimeSource {
    /// Whether a plan can say which version of PHP it has.
    pub(super) fn takes_a_version(&self) -> bool {
        matches!(self, RuntimeSource::Catalogue(_) | RuntimeSource::Compose(_))
    }
}

/// A compose project, and which of its services is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComposeSource {
    /// The compose files, at least one. Later ones override earlier ones.
    pub files: Vec<PathBuf>,
    /// The service that requests go to. `None`: the only one that publishes a port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The port inside its container. `None`: the only one that it publishes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Services that run beside the budget.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<String>,
    /// Services with a command that runs there before each trial, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before_trial: Vec<(String, String)>,
    /// Arguments of every build.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub build_args: BTreeMap<String, String>,
    /// Stages of Dockerfiles that services are built as. Later ones override earlier ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub build_targets: Vec<BuildTarget>,
    /// Where services have the code from that the project mounts.
    #[serde(default)]
    pub code: CodePlace,
    /// What is in the volumes at the start of each trial.
    #[serde(default)]
    pub volumes: VolumeState,
    /// What becomes of the limits of single services.
    #[serde(default)]
    pub limits: ServiceLimits,
    /// The version of PHP that the project is asked for; `None`: the one that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub php: Option<PhpVersionChoice>,
}

/// A version of PHP, and how a compose project is asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhpVersionChoice {
    /// The version as written, such as `8.4`.
    pub version: String,
    /// The argument of every build, and the variable in the compose files, that has the version.
    pub argument: String,
}

impl ComposeSource {
    /// Arguments of every build: those of the plan, and the version of PHP.
    pub fn arguments(&self) -> BTreeMap<String, String> {
        let php = self.php.iter().map(|php| (php.argument.clone(), php.version.clone()));
        self.build_args.clone().into_iter().chain(php).collect()
    }
}

/// A stage of a Dockerfile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildTarget {
    /// The service that is built as it. `None`: all whose Dockerfile has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The stage's name.
    pub stage: String,
    /// Whether a project may lack it: a flag is for several projects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_optional: bool,
}

/// Where the services of a compose project have code from that the project mounts from the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CodePlace {
    /// From a mounted copy of the machine's directory.
    #[default]
    Mounted,
    /// From their images, as in production. An image without the code gets a copy of it.
    Image,
}

/// What becomes of the limits that a compose project sets for single services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceLimits {
    /// They stay, within the budget.
    #[default]
    Kept,
    /// They are removed: only the budget limits the services.
    Dropped,
}

/// What is in the declared volumes of a compose project at the start of each trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VolumeState {
    /// A copy of what the project's own volumes hold now; the trial's changes are dropped.
    #[default]
    Copied,
    /// Nothing but what the images bring.
    Empty,
    /// The project's own volumes, to which the trials write.
    Shared,
}

/// A setting's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `on`, `off`, `true` or `false`, unquoted.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// Anything else.
    Text(String),
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Bool(value) => write!(f, "{value}"),
            Scalar::Int(value) => write!(f, "{value}"),
            Scalar::Float(value) => write!(f, "{value}"),
            Scalar::Text(value) => write!(f, "{value}"),
        }
    }
}

/// One named load.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadChoice {
    /// The load's name: the key in the plan, or else a description (`4 at a time 20s`,
    /// `const(200,60s)`).
    pub name: String,
    /// An open or a closed model.
    pub model: Model,
    /// The rate as a share of the baseline's peak. `None`: the model has the rate itself. Until the
    /// peak is measured, the rate in the model is a placeholder.
    pub rate_share: Option<f64>,
    /// Connection habits of the client.
    pub client: Client,
    /// The longest time from *started* to done.
    pub timeout: Nanos,
    /// The requests, sent in turn. Empty: the requests that each app declares.
    pub requests: Vec<RequestSpec>,
    /// The file that they are from, where the user should know what was taken of it.
    pub file: Option<RequestFile>,
    /// Paths whose answers may have any length, see [`LoadChoice::is_changing`].
    pub changing: Vec<String>,
    /// Names of the runtimes that the load is for. Empty: all of them.
    pub only: Vec<String>,
    /// Names of the runtimes that the load is not for.
    pub except: Vec<String>,
    /// Expectations of this load, in addition to the plan's.
    pub expect: Vec<Expectation>,
}

impl LoadChoice {
    /// Whether the answers of this path and query may have any length: the plan names the path,
    /// with or without its query, or its beginning, as `/search*`.
    pub fn is_changing(&self, path: &str) -> bool {
        let without_query = path.split('?').next().unwrap_or_default();
        self.changing.iter().any(|named| match named.strip_suffix('*') {
            Some(begin) => path.starts_with(begin),
            None => [path, without_query].contains(&named.as_str()),
        })
    }
}

/// Connection habits of a client: its name, with the plan's changes applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// `stampede`, `tank`, `ab` or `k6`.
    pub name: String,
    /// The HTTP version that the client uses.
    pub http: HttpVersion,
    /// Whether connections are kept open, closed after each request, or which of the two is decided
    /// once the runtimes are known.
    pub keep_alive: KeepAlive,
}

/// Whether connections are kept alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeepAlive {
    /// Kept alive, unless a runtime of the plan holds a worker per connection and has fewer workers
    /// than connections. Then keep-alive is off for all runtimes, and the run says so.
    Auto,
    /// Kept alive. A runtime with too few workers for it (see `Auto`) is refused.
    On,
    /// Each request has a connection of its own.
    Off,
}

/// One request of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSpec {
    /// `GET`, `POST` …
    pub method: String,
    /// Path and query, as in the request line.
    pub path: String,
    /// Headers in the order given. `Host: localhost` and `Accept: */*` are added unless given.
    pub headers: Vec<(String, String)>,
    /// The body's bytes. Empty: no body.
    pub body: Vec<u8>,
    /// Host of the URL that the path was taken from. No request is sent to that host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
}

/// CPUs and memory of a stack and of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// One budget for the whole stack, including the web server in front.
    Shared {
        /// CPUs; a fraction is a quota. 0: half of the machine's, at least one. Several values:
        /// each case is measured with each of them.
        cpus: Vec<CpuCount>,
        /// Bytes. 0: no limit.
        memory_bytes: u64,
    },
    /// CPUs by role (`php`, `web`, `load`). Every output marks such rows as unequal.
    ByRole {
        /// Whole CPUs of each role.
        cpus: BTreeMap<String, u32>,
        /// Bytes for the whole stack. 0: no limit.
        memory_bytes: u64,
    },
}

/// What happens to a budget that is larger than the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetFit {
    /// The budget is refused.
    Exactly,
    /// The stack gets all that the machine has, and the run says so.
    OrLess,
}

impl Budget {
    /// The numbers of CPUs that each case is measured with, at least one. A budget by role has one
    /// number: the CPUs of the whole stack.
    pub fn cpu_counts(&self) -> Vec<CpuCount> {
        match self {
            Budget::Shared { cpus, .. } => cpus.clone(),
            Budget::ByRole { cpus, .. } => {
                let stack = cpus.iter().filter(|(role, _)| *role != "load");
                vec![CpuCount::whole(stack.map(|(_, count)| count).sum())]
            }
        }
    }
}

/// How many times every case is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rounds {
    /// This many times.
    Fixed(u32),
    /// Until the intervals are narrow. They are looked at only after 5, 10 and 20 rounds.
    Auto {
        /// Width of an interval as a share of its value. A narrower interval counts as narrow.
        precision: f64,
        /// A round is not begun if it would end later than this after the run's start.
        max_time: Nanos,
    },
}

/// The arrivals of an open model where the plan gives none: uniform.
pub const DEFAULT_ARRIVALS: Arrivals = Arrivals::Uniform;
/// The default timeout. It is phantom's own, so that published tables can be compared.
pub const DEFAULT_TIMEOUT: Nanos = Nanos::from_secs(11);
