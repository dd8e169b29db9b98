//! The arguments of `capacity` and `tune`, as clap reads them.

use clap::Args;
use stampede_plan::ComposeFlags;

use super::args::SenderFlags;
use super::args_app::AppArgs;
use super::args_traffic::RequestFileArgs;
use super::remote::RemoteFlags;

/// Compose projects, as runtimes.
#[derive(Args, Clone, Debug, Default)]
pub struct ComposeArgs {
    /// Measure the containers of this compose file (repeatable); FILE:OVERRIDE merges files
    #[arg(long, value_name = "FILE")]
    pub compose: Vec<String>,
    /// With --compose: send requests to this service [default: the one that publishes a port]
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
    /// With --compose: the port inside the service's container [default: the one that it publishes]
    #[arg(long, value_name = "PORT")]
    pub port: Option<String>,
    /// With --compose: build this stage of the Dockerfile: prod, or php=prod for one service (repeatable)
    #[arg(long, value_name = "STAGE")]
    pub build_target: Vec<String>,
    /// With --compose: `image` takes the code from the images in place of mounts [default: mounted]
    #[arg(long, value_name = "image|mounted")]
    pub code: Option<String>,
}

impl ComposeArgs {
    /// The same flags, for the plan.
    pub fn flags(&self) -> ComposeFlags {
        let ComposeArgs { compose: files, service, port, build_target, code } = self.clone();
        ComposeFlags { files, service, port, build_target, code }
    }
}

/// The app, budget and load of a search: shared by `capacity` and `tune`.
#[derive(Args, Clone, Debug, Default)]
pub struct SearchFlags {
    /// Measure this app: a directory, or a name from the catalogue (hello)
    #[arg(long, value_name = "NAME|DIR")]
    pub app: Option<String>,
    /// Set the app's kind where detection is wrong
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Containers
    #[command(flatten)]
    pub compose: ComposeArgs,
    /// Request this path and query instead of the app's own: '/search?q=1'
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// What is sent from a file
    #[command(flatten)]
    pub traffic: RequestFileArgs,
    /// Use this version of PHP, which has to be installed unless --images is given
    #[arg(long, value_name = "VERSION")]
    pub php: Option<String>,
    /// Take the runtimes' programs from container images: official
    #[arg(long, value_name = "official|off")]
    pub images: Option<String>,
    /// Limit the whole stack to N CPUs; the load generator gets the rest. 0.5 or 500m is a quota of
    /// CPU time
    #[arg(long, value_name = "N")]
    pub cpus: Option<String>,
    /// Limit the memory of the whole stack: 1GiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Require that this holds (repeatable)
    /// [default: 'p95 < 100ms' and 'ok >= 99.9%', or the plan's]
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Send load for this long before each trial, and discard it [default: 1s]
    #[arg(long, value_name = "LENGTH")]
    pub warm_up: Option<String>,
    /// Use the connection settings of this client: stampede, tank, ab, k6
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
    /// Keep connections open, or close them after each request
    #[arg(long, value_name = "on|off|auto")]
    pub keep_alive: Option<String>,
    /// Time out a request this long after its start, connecting included [default: 11s]
    #[arg(long, value_name = "LENGTH")]
    pub timeout: Option<String>,
    /// Limit the number of requests in flight
    #[arg(long, value_name = "N")]
    pub max_in_flight: Option<String>,
    /// Space scheduled requests evenly or at random
    #[arg(long, value_name = "uniform|poisson")]
    pub arrivals: Option<String>,
    /// Which machines send the load
    #[command(flatten)]
    pub from: SenderFlags,
    /// Where live figures go
    #[command(flatten)]
    pub remote: RemoteFlags,
    /// Set the seed for the order of trials [default: random, stored with the results]
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
    /// Write the results to this directory, which must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// What is said about the app
    #[command(flatten)]
    pub about_app: AppArgs,
}

/// Arguments of `capacity`.
#[derive(Args, Debug)]
pub struct CapacityArgs {
    /// Runtimes, comma-separated; or a plan file with app, runtimes and settings
    #[arg(value_name = "RUNTIME,…|PLAN", required_unless_present = "compose")]
    pub what: Option<String>,
    /// Set the number of PHP workers, the same for every runtime
    #[arg(long, value_name = "N")]
    pub workers: Option<String>,
    /// Search for at most this long per runtime
    #[arg(long, value_name = "LENGTH", default_value = "3m")]
    pub max_time: String,
    /// Stop when the interval is this narrow
    #[arg(long, value_name = "SHARE", default_value = "10%")]
    pub precision: String,
    /// Length of a short trial; longer for a slow app, so that there are enough requests for the
    /// percentile
    #[arg(long = "for", alias = "duration", value_name = "LENGTH", default_value = "4s")]
    pub length: String,
    /// The app, budget and load
    #[command(flatten)]
    pub context: SearchFlags,
}

/// Arguments of `tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// Runtime to tune
    #[arg(required_unless_present = "compose")]
    pub runtime: Option<String>,
    /// Try these values of a setting: a range of numbers or a list of words (repeatable); of a compose
    /// project, values of a variable [default: workers=2..64]
    #[arg(long, value_name = "NAME=VALUES")]
    pub set: Vec<String>,
    /// Find the lowest p95 at this target rate instead of the highest capacity
    #[arg(long, value_name = "N")]
    pub rate: Option<String>,
    /// Search for at most this long in total
    #[arg(long, value_name = "LENGTH", default_value = "10m")]
    pub max_time: String,
    /// Measure each capacity until its interval is this narrow
    #[arg(long, value_name = "SHARE", default_value = "10%")]
    pub precision: String,
    /// Length of a short trial; longer for a slow app, so that there are enough requests for the
    /// percentile
    #[arg(long = "for", alias = "duration", value_name = "LENGTH", default_value = "2s")]
    pub length: String,
    /// The app, budget and load
    #[command(flatten)]
    pub context: SearchFlags,
}

/// Printed below the options of `capacity`.
pub const CAPACITY_HELP: &str = "Examples:
  stampede capacity nginx-fpm --app hello
  stampede capacity nginx-fpm,apache-modphp --app ~/shop --expect 'p99 < 250ms' \\
      --expect 'ok >= 99.9%'
  stampede capacity shop.yaml --max-time 10m --precision 5%
  stampede capacity --compose docker/fpm.yml

Each trial starts the runtime anew and is kept in stampede-results/. Ctrl-C
keeps what was measured and prints the interval so far. `stampede report RUN`
prints the result again.

Exit codes:
  0  found, or beyond the load generator's limit
  1  not even one request at a time, or the lowest rate, meets the expectations
  2  nothing could be measured
  3  not found in time, or a runtime is missing";

/// Printed below the options of `tune`.
pub const TUNE_HELP: &str = "Examples:
  stampede tune nginx-fpm --app sleep
  stampede tune nginx-fpm --app ~/shop --set workers=4..128 --memory 1GiB
  stampede tune nginx-fpm --app ~/shop --set workers=4..64 \\
      --set pm=static,ondemand --rate 200
  stampede tune --compose compose.yaml --set PHP_FPM_MAX_CHILDREN=4..32

If values are too close to call, tune picks the smallest number, or the word
named first. A value with which the runtime exceeds --memory has failed. Ctrl-C
keeps what was measured; `stampede report RUN` prints the result again.

Exit codes:
  0  found
  1  not even one request at a time meets the expectations
  2  nothing could be measured
  3  stopped by --max-time or Ctrl-C: prints the best so far";
