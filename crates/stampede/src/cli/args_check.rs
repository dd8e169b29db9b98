//! The arguments of `check`, as clap reads them.

use std::path::PathBuf;

use clap::Args;
use stampede_plan::AppFlags;
use stampede_traffic::TrafficFile;

use super::args_app::AboutAppArgs;
use super::args_log::{LogFlagError, LogFlags};

/// Arguments of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Check this app: a directory, or a name from the catalogue (hello)
    #[arg(long, value_name = "DIR|NAME", required_unless_present = "finding")]
    pub app: Option<String>,
    /// Set the app's kind where detection is wrong
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Check these worker runtimes, comma-separated: roadrunner, frankenphp-worker, swoole
    #[arg(long, value_name = "NAME,…", required_unless_present = "finding")]
    pub runtime: Option<String>,
    /// Send the requests in this file: a list of URLs, an access log, HAR, a test of JMeter or k6 and
    /// more (docs/traffic.md) [default: the pages that the app links to]
    #[arg(long = "traffic", alias = "urls", value_name = "FILE")]
    pub urls: Option<PathBuf>,
    /// Start to follow links at this path
    #[arg(long, value_name = "PATH", default_value = "/", conflicts_with = "urls")]
    pub path: String,
    /// Check at most N requests [default: 50 from links, 500 from a file]
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// Send only these methods
    #[arg(long, value_name = "METHOD,…", default_value = "GET,HEAD")]
    pub methods: String,
    /// What else is taken of an access log
    #[command(flatten)]
    pub log: LogFlags,
    /// Skip paths like this, besides those that log out or delete: '/admin/*' (repeatable)
    #[arg(long, value_name = "PATTERN")]
    pub skip: Vec<String>,
    /// Send the requests as N users in turn
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=26))]
    pub users: u32,
    /// Log in all users at this page, with --login-field: /login
    // Earlier, this was the name of `--basic-auth`, which is still read.
    #[arg(long, value_name = "PATH")]
    pub login: Vec<String>,
    /// Fill in a field of the login form: NAME=VALUE (repeatable; the same field again is that of
    /// the next user)
    #[arg(long, value_name = "NAME=VALUE")]
    pub login_field: Vec<String>,
    /// Wait this long at the login form before it is sent, if the app refuses quick ones: 5s
    #[arg(long, value_name = "LENGTH")]
    pub login_pause: Option<String>,
    /// Log in a user with basic authentication: NAME:PASSWORD (once for each user)
    #[arg(long, value_name = "LOGIN")]
    pub basic_auth: Vec<String>,
    /// Read a user's cookies from this file: a curl cookie jar, or NAME=VALUE per line (once for
    /// each user)
    #[arg(long, value_name = "FILE")]
    pub cookies: Vec<PathBuf>,
    /// Send the requests in these orders, comma-separated: in-order, reversed, shuffled, repeated,
    /// interleaved, overlapping [default: all]
    #[arg(long, alias = "tours", value_name = "PASS,…", value_delimiter = ',')]
    pub passes: Vec<String>,
    /// Measure growth over N requests; 0 turns it off
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub growth: u64,
    /// Set the memory limit of one worker, from which max_requests is computed
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    pub worker_memory: String,
    /// Fill the temporary database, which replaces the app's own, from this SQL or SQLite file
    /// [default: a copy of the app's SQLite file, or the app's migrations]
    #[arg(long, value_name = "FILE", conflicts_with = "own_database")]
    pub database: Option<PathBuf>,
    /// Use the database that the app's `.env` names; what the app writes ends up there
    #[arg(long)]
    pub own_database: bool,
    /// Compare with this runtime, which forgets everything after each request
    #[arg(long, value_name = "NAME", default_value = "nginx-fpm")]
    pub reference: String,
    /// Wait at most this long for an answer
    #[arg(long, value_name = "LENGTH", default_value = "10s")]
    pub timeout: String,
    /// Set the seed for orders and tokens [default: random, stored with the result]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Accept the findings in this earlier check.json
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Send only the requests of finding N again, from the last check or from --of
    #[arg(long, value_name = "N")]
    pub finding: Option<u32>,
    /// Take --finding from this check: its directory or its check.json
    #[arg(long, value_name = "CHECK", requires = "finding")]
    pub of: Option<PathBuf>,
    /// Write the result to this directory, which must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// What is said about the app
    #[command(flatten)]
    pub about_app: AboutAppArgs,
}

impl CheckArgs {
    /// What the flags say about the app. Basic authentication is of each user, so it is not
    /// contained.
    pub fn app_flags(&self) -> AppFlags {
        AppFlags {
            login: self.login.iter().rfind(|text| is_page(text)).cloned(),
            login_field: self.login_field.clone(),
            login_pause: self.login_pause.clone(),
            ..self.about_app.flags()
        }
    }

    /// The users of basic authentication, each `NAME:PASSWORD`.
    pub fn basic_auth(&self) -> Vec<String> {
        let earlier = self.login.iter().filter(|text| !is_page(text));
        earlier.chain(&self.basic_auth).cloned().collect()
    }

    /// The file that lists the requests; `None`: the app's links are followed.
    ///
    /// # Errors
    /// A flag about an access log is wrong.
    pub fn file(&self) -> Result<Option<TrafficFile>, LogFlagError> {
        self.log.file(self.urls.as_deref(), Some(&self.methods))
    }
}

/// Whether the value of `--login` is a page, and not a user with a password.
pub fn is_page(text: &str) -> bool {
    text.starts_with('/')
}

/// Printed below the options.
pub const CHECK_HELP: &str = "Examples:
  stampede check --app ~/shop --runtime frankenphp-worker
  stampede check --app ~/shop --runtime roadrunner,frankenphp-worker \\
      --traffic urls.txt --users 3
  stampede check --app ~/shop --runtime roadrunner --baseline known.json
  stampede check --finding 2

stampede checks a copy of the app's directory and never writes to the original.
In a request, `{user}` stands for a token of the user who sends it:
`/hello?name={user}`. Results go to stampede-results/.

Exit codes:
  0  no findings, or only those of the baseline
  1  findings
  2  nothing could be compared
  3  a runtime could not be checked, or not completely";
