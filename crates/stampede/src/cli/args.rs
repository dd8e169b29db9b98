//! The arguments of every command, as clap reads them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::agent::AgentArgs;
use super::args_app::AppArgs;
use super::args_check::{CHECK_HELP, CheckArgs};
use super::args_fire::FireArgs;
use super::args_limits::{CAPACITY_HELP, CapacityArgs, ComposeArgs, TUNE_HELP, TuneArgs};
use super::args_load::LoadFlags;
use super::args_traffic::{RequestFileArgs, TRAFFIC_HELP, TrafficArgs};
use super::demo::DemoArgs;
use super::remote::RemoteFlags;

/// Which PHP runtime, with which settings, should serve your app, and how sure are we?
#[derive(Debug, Parser)]
#[command(name = "stampede", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Start with:
  stampede runtimes                     list what this machine can run
  stampede demo                         compare what is installed, in three minutes
  stampede compare --app ~/shop --quick a first impression of your app in one minute
  stampede compare --app ~/shop         compare the installed runtimes with your app
  stampede compare --app hello --runtimes nginx-fpm,apache-modphp --rate 200 --for 30s

Exit codes:
  0  success
  1  an expectation is not met
  2  nothing could be measured
  3  a row is missing or invalid")]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare runtimes: start each one with the same app, send load, measure
    #[command(after_help = COMPARE_HELP, allow_negative_numbers = true)]
    Compare(Box<CompareArgs>),
    /// Compare what is installed here with the app of a framework, in about three minutes
    Demo(DemoArgs),
    /// Send load to a URL and print a summary
    #[command(after_help = FIRE_HELP, allow_negative_numbers = true)]
    Fire(Box<FireArgs>),
    /// Send load for a stampede on another machine, which starts this (fire --agents)
    Agent(AgentArgs),
    /// Show what a request file would send, or write it as JSON lines
    #[command(after_help = TRAFFIC_HELP)]
    Traffic(TrafficArgs),
    /// Find the highest rate at which runtimes still meet your expectations
    #[command(after_help = CAPACITY_HELP, allow_negative_numbers = true)]
    Capacity(Box<CapacityArgs>),
    /// Find a runtime's best settings and print the configuration lines for them
    #[command(after_help = TUNE_HELP, allow_negative_numbers = true)]
    Tune(Box<TuneArgs>),
    /// Check whether an app is safe in a worker that keeps it in memory
    #[command(after_help = CHECK_HELP)]
    Check(Box<CheckArgs>),
    /// Start one runtime and keep it running until Ctrl-C
    #[command(allow_negative_numbers = true)]
    Up(UpArgs),
    /// List the runtimes: mode, version found, or what is missing
    Runtimes(RuntimesArgs),
    /// Install what runtimes need: Debian packages and programs; starts no service
    Install(InstallArgs),
    /// Write a commented plan for the app in this directory and the installed runtimes
    #[command(after_help = INIT_HELP)]
    Init(InitArgs),
    /// Check this machine and suggest fixes
    Doctor(DoctorArgs),
    /// Print the answer of a run, or of several combined; or write its page or charts
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
    /// Compare runs with the first one: what is slower or faster, and how sure that is
    #[command(after_help = DIFF_HELP)]
    Diff(DiffArgs),
    /// List the runs, newest first, and show what changed over them
    #[command(after_help = HISTORY_HELP)]
    History(HistoryArgs),
    /// Show the runs in a browser, with live results of the one in progress
    #[command(after_help = SERVE_HELP)]
    Serve(ServeArgs),
    /// Print the JSON Schema of plans, or of a command's JSON output
    Schema {
        /// Print the schema of this
        #[arg(value_enum, default_value_t = SchemaName::Plan)]
        of: SchemaName,
    },
    /// Print shell completions
    Completions {
        /// Print completions for this shell
        shell: Shell,
    },
    /// Print the manual page (roff)
    Man,
}

/// Which machines send the loads.
#[derive(Args, Clone, Debug, Default)]
pub struct SenderFlags {
    /// Send the load from these machines together: ssh:load1,load2 as ssh knows them,
    /// nats://broker:4222 for agents that wait at a NATS broker, or local:2 to try it here
    /// (repeatable; docs/agents.md); arrivals are then Poisson unless --arrivals says otherwise
    #[arg(long, value_name = "AGENTS")]
    pub agents: Vec<String>,
    /// Run the stampede at PATH on each agent; copy nothing
    #[arg(long, value_name = "PATH", requires = "agents")]
    pub agent_program: Option<String>,
    /// Read the token of agents that wait for orders from this file [default: the environment
    /// variable STAMPEDE_AGENT_TOKEN]
    #[arg(long, value_name = "FILE", requires = "agents")]
    pub token_file: Option<String>,
    /// Let the stacks listen on this IPv4 address of this machine, so that agents can connect
    /// [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
}

/// Arguments of `compare`.
#[derive(Args, Debug, Default)]
pub struct CompareArgs {
    /// Plan file; flags override what it says
    pub plan: Option<PathBuf>,
    /// Measure this app: a directory, or a name from the catalogue (hello)
    #[arg(long, value_name = "NAME|DIR")]
    pub app: Option<String>,
    /// Set the app's kind where detection is wrong: script, callable, symfony, laravel, lumen,
    /// psr15
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Compare these runtimes, comma-separated; `external:URL` is a server that already runs
    /// [default: the plan's, or the default runtimes that are installed and can run the app]
    #[arg(long, value_name = "A,B")]
    pub runtimes: Option<String>,
    /// What is measured in containers
    #[command(flatten)]
    pub compose: ComposeArgs,
    /// The load
    #[command(flatten)]
    pub load: LoadFlags,
    /// Which machines send it
    #[command(flatten)]
    pub from: SenderFlags,
    /// Where live figures go
    #[command(flatten)]
    pub remote: RemoteFlags,
    /// Request this path and query instead of the app's own: '/search?q=1'
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// What is sent from a file
    #[command(flatten)]
    pub traffic: RequestFileArgs,
    /// Measure every row N times; auto: until the intervals are narrow
    #[arg(long, value_name = "N|auto")]
    pub rounds: Option<String>,
    /// Get a first impression in about a minute (more runtimes take longer): one round, short loads,
    /// one start for all loads
    #[arg(long, conflicts_with_all = ["rounds", "precision", "max_time", "within", "time_scale", "starts"])]
    pub quick: bool,
    /// Shorten all loads, to one second at least, so that the comparison ends within this time: 10m
    #[arg(long, value_name = "TIME", conflicts_with = "time_scale")]
    pub within: Option<String>,
    /// Start a runtime for each load, or once a round for all loads: per-load, per-round [default:
    /// per-load]
    #[arg(long, value_name = "WORD")]
    pub starts: Option<String>,
    /// With --rounds auto: stop when the intervals are this narrow [default: 5%]
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<String>,
    /// With --rounds auto: start no round that would end later than this [default: 30m]
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<String>,
    /// Give all runtimes the same number of workers, or tune the number for each first:
    /// equal-workers, each-at-its-best [default: equal-workers]
    #[arg(long, value_name = "WORD")]
    pub fairness: Option<String>,
    /// Compare the others with this runtime [default: the first one named, or nginx-fpm]
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Repeat an invalid trial at most N times [default: 1]
    #[arg(long, value_name = "N")]
    pub repeat_invalid: Option<String>,
    /// Set the seed for the order of trials [default: random, stored with the results]
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
    /// Set the number of PHP workers, the same for every runtime
    #[arg(long, value_name = "N")]
    pub workers: Option<String>,
    /// Use this version of PHP, which has to be installed unless --images is given.
    /// VERSION,VERSION: measure with each
    #[arg(long, value_name = "VERSION")]
    pub php: Option<String>,
    /// Take the runtimes' programs from container images: official
    #[arg(long, value_name = "official|off")]
    pub images: Option<String>,
    /// Limit the whole stack to N CPUs; the load generator gets the rest. N,M: measure with each.
    /// 0.5 or 500m is a quota of CPU time
    #[arg(long, value_name = "N,M")]
    pub cpus: Option<String>,
    /// Limit the memory of the whole stack: 1GiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Send load for this long before measuring, and discard it: 5s
    #[arg(long, value_name = "LENGTH")]
    pub warm_up: Option<String>,
    /// Fail unless this holds: 'p95 < 100ms' (repeatable)
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Multiply the loads' lengths, schedules and numbers of requests, and the warm-up, by this: 0.05
    #[arg(long, value_name = "FACTOR")]
    pub time_scale: Option<String>,
    /// Print what a million requests cost below the answer: prices of a CPU and of a GiB of memory
    /// for an hour, as `stampede report --price` takes them
    #[arg(long, value_name = "PRICES", conflicts_with = "json")]
    pub price: Option<String>,
    /// Write the results to this directory, which must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
    /// Measure only these runtimes of the plan, comma-separated
    #[arg(long, value_name = "A,B")]
    pub only: Option<String>,
    /// Measure this revision of the app's git repository too, in the same rounds: main, HEAD~1
    #[arg(long, value_name = "REV")]
    pub against: Option<String>,
    /// Measure that revision twice in each round (A/A test): what differs between the two is noise
    #[arg(long, requires = "against")]
    pub aa: bool,
    /// Run this command to complete the revision's copy: 'composer install --no-dev'
    #[arg(long, value_name = "COMMAND", requires = "against")]
    pub against_prepare: Option<String>,
    /// Print what would run and how long it would take; start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the summary as JSON instead of the table
    #[arg(long)]
    pub json: bool,
    /// What is said about the app
    #[command(flatten)]
    pub about_app: AppArgs,
}

/// Arguments of `up`.
#[derive(Args, Debug)]
pub struct UpArgs {
    /// Runtime to start
    pub runtime: String,
    /// Start it with this app: a directory, or a name from the catalogue [default: hello]
    #[arg(long, value_name = "NAME|DIR")]
    pub app: Option<String>,
    /// Set the app's kind where detection is wrong
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Listen on this port of 127.0.0.1 [default: a free port]
    #[arg(long, value_name = "P")]
    pub port: Option<u16>,
    /// Set the number of PHP workers
    #[arg(long, value_name = "N")]
    pub workers: Option<String>,
    /// Use this version of PHP, which has to be installed unless --images is given
    #[arg(long, value_name = "VERSION")]
    pub php: Option<String>,
    /// Take the runtime's programs from container images: official
    #[arg(long, value_name = "official|off")]
    pub images: Option<String>,
    /// Limit the whole stack to N CPUs; 0.5 or 500m is a quota of CPU time
    #[arg(long, value_name = "N")]
    pub cpus: Option<String>,
    /// Limit the memory of the whole stack: 1GiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Print what would be started as JSON, and start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print what was started as JSON
    #[arg(long)]
    pub json: bool,
    /// What is said about the app
    #[command(flatten)]
    pub about_app: AppArgs,
}

/// Arguments of `init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// Write a plan for this app: a directory, or a name from the catalogue [default: this
    /// directory]
    #[arg(long, value_name = "DIR|NAME")]
    pub app: Option<String>,
    /// Set the app's kind where detection is wrong: script, callable, symfony, laravel, lumen,
    /// psr15
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Write the plan to this file, which must not exist [default: stampede.yaml]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// What is said about the app
    #[command(flatten)]
    pub about_app: AppArgs,
}

/// Arguments of `runtimes`.
#[derive(Args, Debug)]
pub struct RuntimesArgs {
    /// Only these, or those with this in their name: nginx-fpm, nginx [default: all]
    #[arg(value_name = "NAME", value_delimiter = ',')]
    pub names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Measure the load generator's own limit too, in about ten seconds, against a built-in server
    #[arg(long)]
    pub calibrate: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `install`.
#[derive(Args, Debug)]
pub struct InstallArgs {
    /// Runtimes to install, comma-separated
    #[arg(required = true, value_delimiter = ',', value_name = "A,B")]
    pub runtimes: Vec<String>,
    /// Print the commands without running them
    #[arg(long)]
    pub print: bool,
    /// Build from source with this machine's PHP, even where upstream publishes a binary
    #[arg(long)]
    pub build: bool,
    /// Print what was installed as JSON
    #[arg(long, conflicts_with = "print")]
    pub json: bool,
}

/// Arguments of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Runs to print: a directory or name, `last`, `last~1`. Several are combined
    #[arg(value_name = "RUN", default_value = "last")]
    pub runs: Vec<String>,
    /// Print all figures below the answer: every percentile, CPU and memory by role, what limited
    /// each row
    #[arg(long)]
    pub details: bool,
    /// Print what a million requests cost below the answer: prices of a CPU and of a GiB of memory
    /// for an hour; with a rate, also how many servers it needs
    #[arg(long, value_name = "cpu=0.03,memory=0.004[,rate=2000][,EUR]")]
    pub price: Option<String>,
    /// Choose the output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Write the files of `--format svg` to this directory [default: charts/ in the run's
    /// directory]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Arguments of `diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Runs to compare: a directory or name, `last`, `last~1`. The others are compared with the
    /// first
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Fail unless the change meets this: 'p95 worse < 5%' (repeatable) [default: the `worse`
    /// expectations of the other run's plan]
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Compare even if machine, runtimes or limits differ, and print what differs
    #[arg(long)]
    pub anyway: bool,
    /// Choose the output format
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub format: DiffFormat,
    /// Print JSON, the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

/// Formats of `diff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// Tables for the terminal
    Text,
    /// Tables for a pull request
    Markdown,
    /// JSON, documented and versioned (docs/diff.md)
    Json,
}

/// Arguments of `history`.
#[derive(Args, Debug)]
pub struct HistoryArgs {
    /// List the runs in this directory [default: stampede-results]
    #[arg(long = "in", value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Read only the newest N runs
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Draw this figure of each row, a line for each run with its interval, instead of the list
    #[arg(long, value_name = "FIGURE", value_parser = FIGURES)]
    pub figure: Option<String>,
    /// Choose the output format
    #[arg(long, value_enum, default_value_t = HistoryFormat::Text, conflicts_with = "figure")]
    pub format: HistoryFormat,
    /// Print JSON, the same as --format json
    #[arg(long, conflicts_with_all = ["format", "figure"])]
    pub json: bool,
}

/// The figures that are followed over runs, as expectations name them.
const FIGURES: [&str; 8] =
    ["p50", "p95", "p99", "throughput", "ok", "cpu_cost", "memory", "first_answer"];

/// Formats of `history`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HistoryFormat {
    /// The list of runs, then each row over the runs with its lasting changes
    Text,
    /// One line for each row of each run
    Csv,
    /// The runs with their rows, documented (docs/runs.md)
    Json,
}

/// Arguments of `serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Show the runs in this directory [default: stampede-results]
    #[arg(long = "in", value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Listen on this port of 127.0.0.1 [default: a free port]
    #[arg(long, value_name = "P", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Print the address without opening a browser
    #[arg(long)]
    pub no_open: bool,
}

/// Formats of `report`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for the terminal; also writes report.html to the run's directory
    Text,
    /// A page with charts, tables and evidence in one file
    Html,
    /// A table for a pull request
    Markdown,
    /// One line for each row of the table
    Csv,
    /// The summary, documented and versioned
    Json,
    /// One SVG file for each chart, for articles; prints their paths
    Svg,
    /// Test cases for continuous integration: each row, and each of its expectations
    Junit,
    /// Bencher Metric Format: each row with its figures and intervals, for bencher.dev
    Bmf,
    /// The JSON of benchmark-action/github-action-benchmark, for its tool customSmallerIsBetter
    GithubActionBenchmark,
}

/// What `schema` describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaName {
    /// A plan's YAML
    Plan,
    /// The output of `fire --json`
    Fire,
    /// The output of `capacity --json`
    Capacity,
    /// The output of `check --json`
    Check,
    /// The output of `tune --json`
    Tune,
    /// Reasons, notices and differences: every code with its fields
    Facts,
    /// The reference of a plan's keys as Markdown, for `cargo xtask keys`
    #[value(hide = true)]
    PlanKeys,
    /// The data of the page, for `cargo xtask types`; it may change with any version
    #[value(hide = true)]
    Page,
}

const COMPARE_HELP: &str = "Examples:
  stampede compare --app ~/shop
  stampede compare --app ~/shop --quick
  stampede compare --app ~/shop --traffic urls.txt --concurrency 20 --for 60s
  stampede compare plans/demo.yaml
  stampede compare plans/demo.yaml --rounds 5 --only nginx-fpm,apache-modphp
  stampede compare --app hello --runtimes nginx-fpm,php-builtin \\
      --rate 200 --for 30s
  stampede compare --app ~/shop --runtimes nginx-fpm --concurrency 20 --for 30s \\
      --expect 'p95 < 100ms'
  stampede compare --app hello --concurrency 4 --for 10s \\
      --runtimes nginx-fpm,external:http://127.0.0.1:8080
  stampede compare --app ~/shop --against main --runtimes nginx-fpm \\
      --concurrency 8 --for 10s --expect 'cpu_cost worse < 5%'
  stampede compare plans/demo.yaml --dry-run

Without a plan and --runtimes, stampede compares the default runtimes that are
installed and can run the app. It first prints what it chose and what it left
out; --dry-run prints only that.

Results go to stampede-results/. Ctrl-C keeps what was measured so far.";

const INIT_HELP: &str = "Examples:
  stampede init
  stampede init --app ~/shop --out shop.yaml
  stampede init --app ~/shop --kind symfony

Writes only that file, and never overwrites an existing one.";

const REPORT_HELP: &str = "Examples:
  stampede report
  stampede report last --format markdown
  stampede report last --format svg --out charts
  stampede report last --format junit > junit.xml
  stampede report last --format bmf > bmf.json
  stampede report last --price cpu=0.03,memory=0.004,rate=2000,EUR";

const DIFF_HELP: &str = "Examples:
  stampede diff last~1 last
  stampede diff 20261121-101500-3f9a last --expect 'p95 worse < 5%' \\
      --expect 'ok worse < 0.1%'
  stampede diff last~1 last --format markdown

Runs from different times also differ in whatever disturbed the machine. For a
pull request, use `stampede compare --against REV`: it measures two versions of
an app in the same rounds.

An expectation is met if the whole 95 % interval meets it. Exit codes:
  0  success
  1  an expectation is not met or not proven
  2  the runs are not comparable
  3  a row has no trial that counts";

const HISTORY_HELP: &str = "Examples:
  stampede history
  stampede history -n 20 --figure cpu_cost
  stampede history --format csv > history.csv

A lasting change is told where two methods find it at the same run and it is
beyond 3 %. That takes ten runs or more with the same load on one machine.";

const SERVE_HELP: &str =
    "The address contains a token, new each time; without it, access is refused.
Nothing can be written or started through the pages. To see the runs of a server:
  ssh -L 8090:127.0.0.1:8090 HOST stampede serve --port 8090 --no-open

A browser on the machine that measures takes CPU from the measurement; use one
on another machine.";

const FIRE_HELP: &str = "Examples:
  stampede fire http://127.0.0.1:8080/ --rate 500 --for 10s
  stampede fire http://127.0.0.1:8080/ --connections 50 --for 10s
  stampede fire http://127.0.0.1:8080/ --schedule 'line(1,1000,60s)' --client tank \\
      --autostop 'time(1s,10s) http(5xx,10%,5s) net(xx,5,10s)'
  stampede fire http://127.0.0.1:8080/ --rate 500 --for 60s \\
      --expect 'p95 < 100ms' --expect 'ok >= 99.9%'
  stampede fire http://127.0.0.1:8080/login --concurrency 4 --requests 1000 \\
      -d 'user=a' -H 'Content-Type: application/x-www-form-urlencoded'

Exit codes:
  0  at least one correct answer, also after Ctrl-C (to fail on errors, use
     --expect 'ok >= 99.9%')
  1  an expectation is not met, or a criterion of --autostop (except `limit`)
     ended the load
  2  the load did not start: nothing was sent
  3  no correct answer, a file could not be written, or an expectation
     applies to an invalid measurement
Ctrl-C also gives 3 if requests had ended and none was answered.

If you come from ab, wrk, oha or Yandex Tank, see docs/coming-from.md.";
