//! The arguments of every command, as clap reads them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::args_check::{CHECK_HELP, CheckArgs};
use super::args_fire::FireArgs;
use super::args_limits::{CAPACITY_HELP, CapacityArgs, TUNE_HELP, TuneArgs};

/// Which PHP runtime, with which settings, should serve your app, and how sure are we?
#[derive(Debug, Parser)]
#[command(name = "stampede", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Start with:
  stampede runtimes                     what this machine can run
  stampede compare plans/demo.yaml      a comparison of two minutes
  stampede compare --app ~/shop         your own app, with the runtimes that are here
  stampede compare --app hello --runtimes nginx-fpm,apache-modphp --rate 200 --for 30s

Exit codes: 0 fine, 1 an expectation failed, 2 nothing could be measured, 3 a cell is missing or invalid.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be asked.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start runtimes one after another with the same app, fire load, compare
    #[command(after_help = COMPARE_HELP, allow_negative_numbers = true)]
    Compare(Box<CompareArgs>),
    /// Fire load at a URL and sum up
    #[command(after_help = FIRE_HELP, allow_negative_numbers = true)]
    Fire(Box<FireArgs>),
    /// Find the highest rate at which runtimes still meet what is expected
    #[command(after_help = CAPACITY_HELP, allow_negative_numbers = true)]
    Capacity(Box<CapacityArgs>),
    /// Find the settings that give a runtime the most, and its own configuration lines for them
    #[command(after_help = TUNE_HELP, allow_negative_numbers = true)]
    Tune(Box<TuneArgs>),
    /// Find what an app does wrong in a worker that keeps it in memory
    #[command(after_help = CHECK_HELP)]
    Check(Box<CheckArgs>),
    /// Start one runtime alone, until Ctrl-C
    #[command(allow_negative_numbers = true)]
    Up(UpArgs),
    /// List the runtimes: mode, version found, or what is missing
    Runtimes(ListArgs),
    /// Install what runtimes need: Debian packages, and no service is started for them
    Install(InstallArgs),
    /// Write a commented plan for the app in this folder and the runtimes that are here
    #[command(after_help = INIT_HELP)]
    Init(InitArgs),
    /// Say what this machine allows, and how to mend what it does not
    Doctor(DoctorArgs),
    /// Print the table of an earlier run again, or of several laid over each other; or page and charts
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
    /// Hold runs against the first of them: what is slower, what is faster, and how sure that is
    #[command(after_help = DIFF_HELP)]
    Diff(DiffArgs),
    /// List the runs that are there, the newest first
    History(HistoryArgs),
    /// Show the runs in a browser, the one under way live
    #[command(after_help = SERVE_HELP)]
    Serve(ServeArgs),
    /// Print the JSON Schema of plans, or of what `fire --json` prints
    Schema {
        /// Of what
        #[arg(value_enum, default_value_t = Described::Plan)]
        of: Described,
    },
    /// Print shell completions
    Completions {
        /// For which shell
        shell: Shell,
    },
    /// Print the manual page (roff)
    Man,
}

/// The load, as flags: shared by `compare` and `fire`.
#[derive(Args, Debug, Default)]
pub struct LoadFlags {
    /// Offered rate in shots per second (open model; needs --for)
    #[arg(long, value_name = "N", conflicts_with_all = ["schedule", "users"])]
    pub rate: Option<String>,
    /// Schedule in Yandex Tank's syntax: 'line(1,100,60s) const(100,5m)' (open model)
    #[arg(long, value_name = "SCHEDULE", conflicts_with_all = ["users"])]
    pub schedule: Option<String>,
    /// Users, each firing again after its answer (closed model; needs --for or --requests)
    #[arg(long, short = 'c', visible_alias = "concurrency", value_name = "N")]
    pub users: Option<String>,
    /// How long: 60s, 2m30s
    #[arg(long = "for", value_name = "LENGTH")]
    pub length: Option<String>,
    /// End after this many shots (closed model)
    #[arg(long, value_name = "N", conflicts_with = "length")]
    pub requests: Option<String>,
    /// Habits of the connections: stampede, tank, ab, k6
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
    /// Keep connections, or close after each shot; `on` where nothing follows
    #[arg(long, value_name = "on|off|auto", hide_possible_values = true, num_args = 0..=1,
          default_missing_value = "on", value_parser = ["on", "off", "auto"])]
    pub keep_alive: Option<String>,
    /// From the start of a shot to its end [default: 11s]
    #[arg(long, value_name = "LENGTH")]
    pub timeout: Option<String>,
    /// Shots under way at once (open model)
    #[arg(long, value_name = "N", conflicts_with = "users")]
    pub max_in_flight: Option<String>,
    /// What becomes of a shot that is due while all are under way (open model)
    #[arg(long, value_name = "queue|drop|stretch", conflicts_with = "users")]
    pub when_full: Option<String>,
    /// How due times spread (open model)
    #[arg(long, value_name = "uniform|poisson", conflicts_with = "users")]
    pub arrivals: Option<String>,
}

/// Arguments of `compare`.
#[derive(Args, Debug, Default)]
pub struct CompareArgs {
    /// A plan file; flags change it, and win
    pub plan: Option<PathBuf>,
    /// App: a name of the catalogue (hello) or a folder
    #[arg(long, value_name = "NAME|DIR")]
    pub app: Option<String>,
    /// What the folder's app is, where it is not as detected: script, callable, symfony, laravel,
    /// lumen, psr15
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Runtimes, comma-separated; without a plan: the usual ones that are here and run the app.
    ///  `live:URL` is what already runs there
    #[arg(long, value_name = "A,B")]
    pub runtimes: Option<String>,
    /// The load
    #[command(flatten)]
    pub load: LoadFlags,
    /// Path and query of every request, in place of the app's own: '/search?q=1'
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,
    /// File with a path or URL in each line: they are asked for in turn
    #[arg(long, visible_alias = "traffic", value_name = "FILE", conflicts_with = "path")]
    pub urls: Option<String>,
    /// How often every cell is measured; auto: until the intervals are narrow
    #[arg(long, value_name = "N|auto")]
    pub rounds: Option<String>,
    /// With --rounds auto: how narrow, 5% if not given
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<String>,
    /// With --rounds auto: begins no round that would end later than this, 30m if not given
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<String>,
    /// One number of workers for all, or tune each runtime's first:
    /// equal-workers (if not given), each-at-its-best
    #[arg(long, value_name = "WORD")]
    pub fairness: Option<String>,
    /// How often a trial that came out invalid is measured again, once if not given
    #[arg(long, value_name = "N")]
    pub repeat_invalid: Option<String>,
    /// Seed of the order of trials; drawn and stored when not given
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
    /// PHP workers, the same for every runtime
    #[arg(long, value_name = "N")]
    pub workers: Option<String>,
    /// CPUs of the whole stack; the load gets the others. Several: each in turn
    #[arg(long, value_name = "N,M")]
    pub cpus: Option<String>,
    /// Memory of the whole stack: 1GiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Discarded load before measuring: 5s
    #[arg(long, value_name = "LENGTH")]
    pub warm_up: Option<String>,
    /// What must hold: 'p95 < 100ms' (may be given more than once)
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Shorten or stretch every length of the plan: 0.05
    #[arg(long, value_name = "FACTOR")]
    pub time_scale: Option<String>,
    /// Folder for the results; must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
    /// Only these runtimes of the plan, comma-separated
    #[arg(long, value_name = "A,B")]
    pub only: Option<String>,
    /// Measure this revision of the app's git repository too, in the same rounds as the working tree:
    /// main, HEAD~1
    #[arg(long, value_name = "REV")]
    pub against: Option<String>,
    /// What makes the revision's copy complete: 'composer install --no-dev'
    #[arg(long, value_name = "COMMAND", requires = "against")]
    pub against_prepare: Option<String>,
    /// Say what would run and how long it takes; start nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the summary as JSON instead of the table
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `up`.
#[derive(Args, Debug)]
pub struct UpArgs {
    /// Which runtime
    pub runtime: String,
    /// App: a name of the catalogue or a folder [default: hello]
    #[arg(long, value_name = "NAME|DIR")]
    pub app: Option<String>,
    /// What the folder's app is, where it is not as detected
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Port on 127.0.0.1; a free one when not given
    #[arg(long, value_name = "P")]
    pub port: Option<u16>,
    /// PHP workers
    #[arg(long, value_name = "N")]
    pub workers: Option<String>,
    /// CPUs of the whole stack
    #[arg(long, value_name = "N")]
    pub cpus: Option<String>,
    /// Memory of the whole stack: 1GiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Print what was started as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// App: a folder, or a name of the catalogue [default: this folder]
    #[arg(long, value_name = "DIR|NAME")]
    pub app: Option<String>,
    /// What the folder's app is, where it is not as detected: script, callable, symfony, laravel,
    /// lumen, psr15
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// The file to write; must not exist [default: stampede.yaml]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of commands that list.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Measure the load generator's own ceiling too, for some ten seconds, beside a server of our own
    #[arg(long)]
    pub calibrate: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `install`.
#[derive(Args, Debug)]
pub struct InstallArgs {
    /// Which runtimes, comma-separated
    #[arg(required = true, value_delimiter = ',', value_name = "A,B")]
    pub runtimes: Vec<String>,
    /// Show the commands and run none of them
    #[arg(long)]
    pub print: bool,
    /// Build what no package has, on this machine's PHP, even where its makers publish a program
    #[arg(long)]
    pub build: bool,
    /// Print what was installed as JSON
    #[arg(long, conflicts_with = "print")]
    pub json: bool,
}

/// Arguments of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A run's folder or name; `last`, `last~1`. Several are laid over each other
    #[arg(value_name = "RUN", default_value = "last")]
    pub runs: Vec<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Folder for the files of `--format svg` [default: charts/ in the run's folder]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Arguments of `diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Runs' folders or names; `last`, `last~1`. The first is what the others are held against
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// What must hold of the change: 'p95 worse < 5%' (may be given more than once) [default: those of
    /// the other run's plan]
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Compare also what is of another machine, runtime or limit, and say so
    #[arg(long)]
    pub anyway: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub format: DiffFormat,
    /// The same as --format json
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
    /// Documented and versioned (docs/diff.md)
    Json,
}

/// Arguments of `history`.
#[derive(Args, Debug)]
pub struct HistoryArgs {
    /// Folder of the runs [default: stampede-results]
    #[arg(long = "in", value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Folder of the runs [default: stampede-results]
    #[arg(long = "in", value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Port on 127.0.0.1; a free one when not given
    #[arg(long, value_name = "P", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Print the address and open no browser
    #[arg(long)]
    pub no_open: bool,
}

/// Formats of `report`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for the terminal; also writes report.html into the run's folder
    Text,
    /// The page: charts, tables and evidence in one file
    Html,
    /// A table for a pull request
    Markdown,
    /// One row a cell
    Csv,
    /// The summary, documented and versioned
    Json,
    /// An SVG file for each chart, for articles; prints their paths
    Svg,
    /// Test cases for continuous integration: each cell, and each of its expectations
    Junit,
}

/// What there is a schema of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Described {
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
    /// Reasons, notices and differences, wherever they stand: every code with its fields
    Facts,
}

const COMPARE_HELP: &str = "Examples:
  stampede compare --app ~/shop
  stampede compare --app ~/shop --urls urls.txt --users 20 --for 60s
  stampede compare plans/demo.yaml
  stampede compare plans/demo.yaml --rounds 5 --only nginx-fpm,apache-modphp
  stampede compare --app hello --runtimes nginx-fpm,php-builtin --rate 200 --for 30s
  stampede compare --app ~/shop --runtimes nginx-fpm --users 20 --for 30s --expect 'p95 < 100ms'
  stampede compare --app hello --runtimes nginx-fpm,live:http://127.0.0.1:8080 --users 4 --for 10s
  stampede compare --app ~/shop --against main --runtimes nginx-fpm --users 8 --for 10s \\
      --expect 'p95 worse < 5%'
  stampede compare plans/demo.yaml --dry-run

Without a plan and --runtimes, the usual runtimes that are here and can run the app are compared; what
was chosen and what was left out is said first, and --dry-run says only that.

Results go to stampede-results/, Ctrl-C keeps what was measured so far.";

const INIT_HELP: &str = "Examples:
  stampede init
  stampede init --app ~/shop --out shop.yaml
  stampede init --app ~/shop --kind symfony

Writes that one file and nothing else, and never over one that is there.";

const REPORT_HELP: &str = "Examples:
  stampede report
  stampede report last --format markdown
  stampede report last --format svg --out charts
  stampede report last --format junit > junit.xml";

const DIFF_HELP: &str = "Examples:
  stampede diff last~1 last
  stampede diff 20261121-101500-3f9a last --expect 'p95 worse < 5%' --expect 'ok worse < 0.1%'
  stampede diff last~1 last --format markdown

Runs of different times also differ by what disturbed the machine then. `stampede compare --against REV`
measures two versions of an app in the same rounds: that is what a pull request should trust.

An expectation is met where the whole 95 % interval keeps it. The exit code is 1 where one is broken or
not shown, 2 where the runs are not comparable, 3 where a cell has no trial that counts.";

const SERVE_HELP: &str = "The address holds a token, new each time: who does not have it sees nothing. Nothing can be
written or started through it. On a server: ssh -L 8090:127.0.0.1:8090 HOST stampede serve --port 8090

A browser on the machine that measures takes CPU from what is measured; look from another.";

const FIRE_HELP: &str = "Examples:
  stampede fire http://127.0.0.1:8080/ --rate 500 --for 10s
  stampede fire http://127.0.0.1:8080/ --connections 50 --for 10s
  stampede fire http://127.0.0.1:8080/ --schedule 'line(1,1000,60s)' --client tank \\
      --autostop 'time(1s,10s) http(5xx,10%,5s) net(xx,5,10s)'
  stampede fire http://127.0.0.1:8080/ --rate 500 --for 60s --expect 'p95 < 100ms' --expect 'ok >= 99.9%'
  stampede fire http://127.0.0.1:8080/login -d 'user=a' -H 'Content-Type: application/x-www-form-urlencoded' --users 4 --requests 1000

Exit codes:
  0  at least one answer was correct, or you stopped the load with Ctrl-C; other requests may have failed
  1  an expectation is not met, or a criterion of --autostop (except `limit`) ended the load
  2  the load did not start: nothing was sent
  3  no answer was correct, a file could not be written, or an expectation is asked of an invalid measurement
Ctrl-C gives 3, too, if requests had ended and none was answered.

From ab, wrk, oha or Yandex Tank: docs/coming-from.md";
