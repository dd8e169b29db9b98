//! The arguments of `capacity` and `tune`, as clap reads them.

use clap::Args;

/// What a search measures on: shared by `capacity` and `tune`.
#[derive(Args, Clone, Debug, Default)]
pub struct GroundFlags {
    /// App: a name of the catalogue (hello) or a folder
    #[arg(long, value_name = "NAME|DIR")]
    pub app: Option<String>,
    /// What the folder's app is, where it is not as detected
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Path and query of every request, in place of the app's own: '/search?q=1'
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// File with a path or URL in each line: they are asked for in turn
    #[arg(long, visible_alias = "traffic", value_name = "FILE", conflicts_with = "path")]
    pub urls: Option<String>,
    /// CPUs of the whole stack; the load gets the others
    #[arg(long, value_name = "N")]
    pub cpus: Option<String>,
    /// Memory of the whole stack: 1GiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// What must hold (may be given more than once)
    /// [default: 'p95 < 100ms' and 'ok >= 99.9%', or the plan's]
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Discarded load before each trial [default: 1s]
    #[arg(long, value_name = "LENGTH")]
    pub warm_up: Option<String>,
    /// Habits of the connections: stampede, tank, ab, k6
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
    /// Keep connections, or close after each shot
    #[arg(long, value_name = "on|off|auto")]
    pub keep_alive: Option<String>,
    /// From the start of a shot to its end [default: 11s]
    #[arg(long, value_name = "LENGTH")]
    pub timeout: Option<String>,
    /// Shots under way at once
    #[arg(long, value_name = "N")]
    pub max_in_flight: Option<String>,
    /// How due times spread
    #[arg(long, value_name = "uniform|poisson")]
    pub arrivals: Option<String>,
    /// Seed of the order of trials; drawn and stored when not given
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
    /// Folder for the results; must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `capacity`.
#[derive(Args, Debug)]
pub struct CapacityArgs {
    /// Runtimes, comma-separated, or a plan file, of which app, runtimes and settings are taken
    #[arg(value_name = "RUNTIME,…|PLAN")]
    pub what: String,
    /// PHP workers, the same for every runtime
    #[arg(long, value_name = "N")]
    pub workers: Option<String>,
    /// How long each runtime may be searched
    #[arg(long, value_name = "LENGTH", default_value = "3m")]
    pub max_time: String,
    /// How narrow the interval shall be
    #[arg(long, value_name = "SHARE", default_value = "10%")]
    pub precision: String,
    /// Length of one short trial; those that narrow and confirm what was found are four
    /// times as long, and a slow app's as long as its percentile needs
    #[arg(long = "for", value_name = "LENGTH", default_value = "4s")]
    pub length: String,
    /// What it is measured on
    #[command(flatten)]
    pub ground: GroundFlags,
}

/// Arguments of `tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// Which runtime
    pub runtime: String,
    /// What is tried: a range of numbers or a list of words (may be given more than once)
    /// [default: workers=2..64]
    #[arg(long, value_name = "NAME=VALUES")]
    pub set: Vec<String>,
    /// The least p95 at this offered rate, and not the highest capacity
    #[arg(long, value_name = "N")]
    pub rate: Option<String>,
    /// How long all of it may take
    #[arg(long, value_name = "LENGTH", default_value = "10m")]
    pub max_time: String,
    /// How narrow the interval of each capacity shall be
    #[arg(long, value_name = "SHARE", default_value = "10%")]
    pub precision: String,
    /// Length of one trial; a slow app's are as long as its percentile needs
    #[arg(long = "for", value_name = "LENGTH", default_value = "2s")]
    pub length: String,
    /// What it is measured on
    #[command(flatten)]
    pub ground: GroundFlags,
}

/// Under the flags of `capacity`.
pub const CAPACITY_HELP: &str = "Examples:
  stampede capacity nginx-fpm --app hello
  stampede capacity nginx-fpm,apache-modphp --app ~/shop --expect 'p99 < 250ms' --expect 'ok >= 99.9%'
  stampede capacity shop.yaml --max-time 10m --precision 5%

Each trial has a freshly started runtime and is kept in stampede-results/; Ctrl-C keeps what was measured
and says the interval so far. `stampede report RUN` prints it again.

Exit codes: 0 found, or more than the generator can offer; 1 not even one user, or the lowest rate, meets what
is expected; 2 nothing could be measured; 3 not found in its time, or a runtime is missing.";

/// Under the flags of `tune`.
pub const TUNE_HELP: &str = "Examples:
  stampede tune nginx-fpm --app sleep
  stampede tune nginx-fpm --app ~/shop --set workers=4..128 --memory 1GiB
  stampede tune nginx-fpm --app ~/shop --set workers=4..64 --set pm=static,ondemand --rate 200

Of settings that cannot be told apart the smaller is chosen. What does not fit into --memory has failed.
Ctrl-C keeps what was measured; `stampede report RUN` prints it again.

Exit codes: 0 found; 1 one user alone does not get what is expected; 2 nothing could be measured; 3 ended by
its time or by Ctrl-C: the best so far.";
