//! The arguments of `check`, as clap reads them.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// App: a folder, or a name of the catalogue (hello)
    #[arg(long, value_name = "DIR|NAME", required_unless_present = "finding")]
    pub app: Option<String>,
    /// What the folder's app is, where it is not as detected
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Worker runtimes to check, comma-separated: roadrunner, frankenphp-worker, swoole
    #[arg(long, value_name = "NAME,…", required_unless_present = "finding")]
    pub runtime: Option<String>,
    /// File of requests: a path or URL in each line, an access.log, HAR, JSON lines or ammo
    /// [default: what links of the app lead to]
    #[arg(long, visible_alias = "traffic", value_name = "FILE")]
    pub urls: Option<PathBuf>,
    /// Where the search for links begins
    #[arg(long, value_name = "PATH", default_value = "/", conflicts_with = "urls")]
    pub path: String,
    /// Requests at most [default: 50 that links lead to, 500 of a file]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Methods that are sent
    #[arg(long, value_name = "METHOD,…", default_value = "GET,HEAD")]
    pub methods: String,
    /// Paths that are not asked, beside those that end a session or delete: '/admin/*' (may be given more than once)
    #[arg(long, value_name = "PATTERN")]
    pub skip: Vec<String>,
    /// Users that ask in turn
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=26))]
    pub users: u32,
    /// A user's name and password for basic authentication, as NAME:PASSWORD (once for each user)
    #[arg(long, value_name = "LOGIN")]
    pub login: Vec<String>,
    /// A user's cookies: a cookie jar of curl, or NAME=VALUE in each line (once for each user)
    #[arg(long, value_name = "FILE")]
    pub cookies: Vec<PathBuf>,
    /// Tours, comma-separated: in-order, reversed, shuffled, repeated, interleaved, overlapping [default: all]
    #[arg(long, value_name = "TOUR,…", value_delimiter = ',')]
    pub tours: Vec<String>,
    /// Requests with which growth is measured; 0: it is not
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub growth: u64,
    /// Memory that one worker may have: what max_requests is computed from
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    pub worker_memory: String,
    /// A variable of the app's environment, before its `.env`: DATABASE_URL=… (may be given more than once)
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Fill the scratch database that stands in for the app's own: SQL, or a file of SQLite [default: a copy of
    /// its SQLite file, or the app's migrations]
    #[arg(long, value_name = "FILE", conflicts_with = "own_database")]
    pub database: Option<PathBuf>,
    /// Ask with the database that the app's `.env` names: what the app writes is written there
    #[arg(long)]
    pub own_database: bool,
    /// The runtime that forgets after each request
    #[arg(long, value_name = "NAME", default_value = "nginx-fpm")]
    pub reference: String,
    /// Longest wait for one answer
    #[arg(long, value_name = "LENGTH", default_value = "10s")]
    pub timeout: String,
    /// Seed of orders and tokens; drawn and stored when not given
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// An earlier check.json: what it has is accepted
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Send just the requests of this finding again, of the last check or of --of
    #[arg(long, value_name = "N")]
    pub finding: Option<u32>,
    /// The check that --finding means: its folder or its check.json
    #[arg(long, value_name = "CHECK", requires = "finding")]
    pub of: Option<PathBuf>,
    /// Folder for the result; must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Under the flags.
pub const CHECK_HELP: &str = "Examples:
  stampede check --app ~/shop --runtime frankenphp-worker
  stampede check --app ~/shop --runtime roadrunner,frankenphp-worker --urls urls.txt --users 3
  stampede check --app ~/shop --runtime roadrunner --baseline known.json
  stampede check --finding 2

The app's folder is copied and never written to. `{user}` in a request stands for a token of the user who
sends it: `/hello?name={user}`. What is found is kept in stampede-results/.

Exit codes: 0 nothing was found, or it is in the baseline; 1 something was found; 2 nothing could be compared;
3 a runtime could not be checked, or not to the end.";
