//! The resolved plan: no `Option` here means "default".

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stampede_load::spec::{Arrivals, HttpVersion, Model};
use stampede_load::time::Nanos;

pub use super::expectation::{Bound, Expectation, Figure, Percent, Relation, Side};
use crate::fact::Notice;
use crate::store::record::{AgainstRecord, PeakRecord};

/// A whole comparison.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where it was read; `None` for a plan made of flags alone.
    pub source: Option<PathBuf>,
    /// Its text as written (with the flags that changed it in `flags`), for the record.
    pub text: String,
    /// Flags that changed it, as typed, for "how to run it again".
    pub flags: Vec<String>,
    /// Apps, at least one.
    pub apps: Vec<AppChoice>,
    /// Runtimes and variants, at least one, names unique.
    pub runtimes: Vec<RuntimeChoice>,
    /// Loads, at least one, names unique.
    pub loads: Vec<LoadChoice>,
    /// CPUs and memory.
    pub budget: Budget,
    /// What becomes of a budget that is larger than the machine.
    pub fit: Fit,
    /// What a runtime has done when the measured load begins.
    pub begin: Begin,
    /// How often each case is measured.
    pub rounds: Rounds,
    /// How often a trial that came out invalid is measured again.
    pub repeat_invalid: u32,
    /// Seed of the order of trials and of Poisson arrivals; drawn when not given, always
    /// stored.
    pub seed: u64,
    /// Expectations of the whole run.
    pub expect: Vec<Expectation>,
    /// Name of the runtime that the others are compared with.
    pub baseline: String,
    /// The peak that fixed rates were chosen from; `None`: no load asks for it, or it is not
    /// measured yet.
    pub peak: Option<PeakRecord>,
    /// What becomes of runtimes that are not there.
    pub missing: Missing,
    /// What is equal for all runtimes.
    pub fairness: Fairness,
    /// By how much the lengths above were stretched: 1 for as written.
    pub time_scale: f64,
    /// Where results go; `None`: a new directory below `stampede-results/`.
    pub out: Option<PathBuf>,
    /// What the reader should know of how it came to be: what was chosen where nobody said it.
    pub notices: Vec<Notice>,
    /// The other version of its apps, where one is measured beside them.
    pub against: Option<Against>,
}

/// Another version of the apps of a plan.
#[derive(Clone, Debug)]
pub struct Against {
    /// As it is recorded.
    pub record: AgainstRecord,
    /// Index in `Plan::apps` of that version → of the app that it is a version of.
    pub of: BTreeMap<usize, usize>,
}

/// What a runtime has done when the measured load begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Answered, and then a load of this length that is thrown away; zero: none.
    Warm(Nanos),
    /// Started, with OPcache and the app's caches empty; nothing has been asked.
    Cold,
}

impl Begin {
    /// Length of the load that is thrown away.
    pub fn warm_up(self) -> Nanos {
        match self {
            Begin::Warm(length) => length,
            Begin::Cold => Nanos(0),
        }
    }
}

/// Which of two fair questions is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// All have one number of workers.
    EqualWorkers,
    /// Each has as many as give it the most under the budget: it is tuned first.
    EachAtItsBest,
}

/// A runtime whose programs are not installed, or that cannot run the app …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// … is a mistake.
    Refuse,
    /// … is left out, and the run says so.
    Skip,
}

impl Plan {
    /// Leaves the runtimes of these names, and the loads that are for one of them.
    pub fn keep_runtimes(&mut self, names: &[String]) {
        self.runtimes.retain(|runtime| names.contains(&runtime.name));
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

/// An app by name (catalogue) or by directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AppChoice {
    /// From the catalogue.
    Named(String),
    /// A directory with an `app.yaml`, or a project whose kind is detected.
    Directory(PathBuf),
    /// The same, and its kind is said.
    DirectoryAs {
        /// The directory.
        directory: PathBuf,
        /// What it is served as, whatever it looks like.
        kind: AppKind,
    },
}

impl AppChoice {
    /// Its directory; `None`: it is one of the catalogue.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            AppChoice::Named(_) => None,
            AppChoice::Directory(directory) | AppChoice::DirectoryAs { directory, .. } => {
                Some(directory)
            }
        }
    }
}

/// What an app is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AppKind {
    /// A front controller only.
    Script,
    /// A plain PHP handler, with a front controller.
    Callable,
    /// Symfony.
    Symfony,
    /// Laravel.
    Laravel,
    /// Lumen.
    Lumen,
    /// A PSR-15 handler.
    Psr15,
}

impl AppKind {
    /// All there are.
    pub const ALL: [AppKind; 6] = [
        AppKind::Script,
        AppKind::Callable,
        AppKind::Symfony,
        AppKind::Laravel,
        AppKind::Lumen,
        AppKind::Psr15,
    ];

    /// As in plans and directories.
    pub const fn name(self) -> &'static str {
        match self {
            AppKind::Script => "script",
            AppKind::Callable => "callable",
            AppKind::Symfony => "symfony",
            AppKind::Laravel => "laravel",
            AppKind::Lumen => "lumen",
            AppKind::Psr15 => "psr15",
        }
    }
}

/// One runtime to compare: a catalogue entry with settings, under its own name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuntimeChoice {
    /// The name in tables: `nginx-fpm`, or a variant's `nginx-fpm-80`; a sweep's value is
    /// appended: `nginx-fpm jit=tracing`.
    pub name: String,
    /// Where it comes from.
    pub source: RuntimeSource,
    /// Settings as given: common ones (`workers`, `front` …) with the plan's top-level values
    /// already merged in (the runtime's own win), and the runtime's own. Checked against
    /// the runtime's directory later.
    pub settings: BTreeMap<String, Scalar>,
    /// php.ini values, plan and runtime merged, on top of the pinned ones.
    pub php_ini: BTreeMap<String, String>,
    /// Environment of the app, plan and runtime merged.
    pub env: BTreeMap<String, String>,
}

impl RuntimeChoice {
    /// Whether it already runs: nothing of it is ours to start, place or change.
    pub fn is_external(&self) -> bool {
        matches!(self.source, RuntimeSource::External { .. })
    }
}

/// Where a runtime comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuntimeSource {
    /// A directory of the catalogue.
    Catalogue(String),
    /// Already running.
    External {
        /// Its address.
        url: String,
        /// What shows what it spends; `None`: nobody said, and nothing is read.
        watch: Option<Watch>,
    },
}

/// What shows what a runtime spends that we did not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Watch {
    /// A container of Docker or Podman, by name or id.
    Container(String),
    /// A unit of systemd.
    Unit(String),
    /// A process and all below it.
    Pid(u32),
}

impl std::fmt::Display for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Watch::Container(name) => write!(f, "container {name}"),
            Watch::Unit(name) => write!(f, "unit {name}"),
            Watch::Pid(pid) => write!(f, "pid {pid}"),
        }
    }
}

/// A setting's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `on`, `off`, `true`, `false` unquoted.
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
    /// Its name: the key in the plan, else what it is (`4 at a time 20s`, `const(200,60s)`).
    pub name: String,
    /// Open or closed.
    pub model: Model,
    /// The rate as a share of the baseline's peak; `None`: the model has the rate. Until the peak
    /// was measured, the model's rate is one that stands for it.
    pub rate_share: Option<f64>,
    /// Habits of the connections.
    pub client: Client,
    /// From *started* to done.
    pub timeout: Nanos,
    /// Requests, in turn. None: what each app asks.
    pub requests: Vec<RequestSpec>,
    /// Runtimes (by name) that it is for; empty: all.
    pub only: Vec<String>,
    /// Runtimes (by name) that it leaves out.
    pub except: Vec<String>,
    /// Expectations of this load, beside the plan's.
    pub expect: Vec<Expectation>,
}

/// Connection habits of a client, by name and with what the plan changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// `stampede`, `tank`, `ab` or `k6`.
    pub name: String,
    /// Version of HTTP that it speaks.
    pub http: HttpVersion,
    /// Kept, closed after each request, or decided once the runtimes are known.
    pub keep_alive: KeepAlive,
}

/// Whether connections are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeepAlive {
    /// Kept, unless a runtime of the plan holds a worker per connection and has fewer
    /// workers than connections: then off for all runtimes alike, and said.
    Auto,
    /// Kept; such a runtime is refused.
    On,
    /// One connection a request.
    Off,
}

/// One request of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSpec {
    /// `GET`, `POST` …
    pub method: String,
    /// Path and query.
    pub path: String,
    /// In order; `Host: localhost` and `Accept: */*` are added where not given.
    pub headers: Vec<(String, String)>,
    /// Empty for none.
    pub body: Vec<u8>,
    /// Host of the URL that its path was taken from; nothing is sent there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
}

/// CPUs and memory of a stack and of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// One budget for the whole stack, front included.
    Shared {
        /// Whole CPUs; 0: half of the machine's, at least one. Several: each case is measured
        /// with each of them.
        cpus: Vec<u32>,
        /// Bytes; 0: no limit.
        memory_bytes: u64,
    },
    /// CPUs by role (`php`, `web`, `load`): marked unequal in every output.
    ByRole {
        /// Whole CPUs by role.
        cpus: BTreeMap<String, u32>,
        /// Bytes for the whole stack; 0: no limit.
        memory_bytes: u64,
    },
}

/// A budget that is larger than the machine …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// … is refused.
    Exactly,
    /// … gets all that the machine has, and the run says so.
    OrLess,
}

impl Budget {
    /// Numbers of CPUs that each case is measured with, at least one; by role they are one
    /// number, that of the whole stack.
    pub fn cpu_counts(&self) -> Vec<u32> {
        match self {
            Budget::Shared { cpus, .. } => cpus.clone(),
            Budget::ByRole { cpus, .. } => {
                let stack = cpus.iter().filter(|(role, _)| *role != "load");
                vec![stack.map(|(_, count)| count).sum()]
            }
        }
    }
}

/// How often every case is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rounds {
    /// This often.
    Fixed(u32),
    /// Until the intervals are narrow; looks after 5, 10 and 20 rounds only.
    Auto {
        /// Width of an interval as a share of its value: below it, it is narrow.
        precision: f64,
        /// No round is begun that would end later than this after the run's start.
        max_time: Nanos,
    },
}

/// Used by the parser's tests and the default load: uniform arrivals.
pub const DEFAULT_ARRIVALS: Arrivals = Arrivals::Uniform;
/// phantom's own timeout, so that published tables can be compared.
pub const DEFAULT_TIMEOUT: Nanos = Nanos::from_secs(11);
