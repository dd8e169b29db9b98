//! The arguments of `fire`, as clap reads them.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::args_load::LoadFlags;
use super::args_log::LogFlags;
use super::remote::RemoteFlags;

/// Arguments of `fire`.
#[derive(Args, Debug)]
pub struct FireArgs {
    /// URL to send load to: http://127.0.0.1:8080/path, https://…, unix:/run/app.sock:/path, or
    /// php-fpm directly: fcgi://127.0.0.1:9000/var/www/index.php/path,
    /// fcgi+unix:/run/php.sock:/var/www/…
    #[arg(required_unless_present = "tank")]
    pub url: Option<String>,
    /// The load
    #[command(flatten)]
    pub load: LoadFlags,
    /// Use N connections, each with one request at a time: the same as --max-in-flight with --rate
    /// or --schedule, else the same as --concurrency
    #[arg(long, value_name = "N", conflicts_with_all = ["concurrency", "max_in_flight"],
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections: Option<u32>,
    /// Close the connection after each request, the same as --keep-alive off
    #[arg(long, conflicts_with = "keep_alive")]
    pub no_keep_alive: bool,
    /// Send load for this long before measuring, and discard it: 5s (at the mean rate, or as many
    /// requests at a time)
    #[arg(long, value_name = "LENGTH")]
    pub warm_up: Option<String>,
    /// Use this HTTP version: 1.0 or 1.1
    #[arg(long, value_name = "VERSION")]
    pub http: Option<String>,
    /// Set the seed for Poisson arrivals and random order [default: random, printed]
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
    /// Use this HTTP method
    #[arg(long, short = 'X', value_name = "METHOD")]
    pub method: Option<String>,
    /// Add a header: 'Name: value' (repeatable)
    #[arg(long, short = 'H', value_name = "HEADER")]
    pub header: Vec<String>,
    /// Connect to these addresses in turn instead of looking the host up, as curl does; the host may
    /// be * (repeatable)
    #[arg(long, value_name = "HOST:PORT:ADDRESS[,ADDRESS]")]
    pub resolve: Vec<String>,
    /// Connect to HOST2:PORT2 for a URL with HOST1:PORT1, as curl does; parts may be empty
    /// (repeatable)
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2")]
    pub connect_to: Vec<String>,
    /// Add a cookie: 'name=value' (repeatable)
    #[arg(long, value_name = "COOKIE")]
    pub cookie: Vec<String>,
    /// Log in with basic authentication
    #[arg(long, value_name = "USER:PASSWORD")]
    pub basic_auth: Option<String>,
    /// Send this body, or the content of @file; the method is POST unless -X says otherwise
    #[arg(long, short = 'd', value_name = "BODY")]
    pub body: Option<String>,
    /// Count these statuses as correct, comma-separated [default: 200-299]
    #[arg(long, value_delimiter = ',', value_name = "N,M-N,2xx", value_parser = statuses)]
    pub status: Vec<RangeInclusive<u16>>,
    /// Count an answer as correct only if its body contains this text
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub contains: Option<String>,
    /// Count an answer as correct only if this holds: 'header x-cache == HIT', 'json ok == true',
    /// 'body ~ /re/', 'size > 100', 'time < 200ms' (repeatable; docs/checks.md)
    #[arg(long, value_name = "CHECK")]
    pub check: Vec<String>,
    /// Stop early on this criterion, in Yandex Tank's syntax: 'http(5xx,10%,5s)' (repeatable)
    #[arg(long, value_name = "CRITERIA")]
    pub autostop: Vec<String>,
    /// Fail unless this holds: 'p95 < 100ms' (repeatable)
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Start N load threads, on CPUs that the kernel picks [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "load_cpus",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Pin one load thread to each of these CPUs, comma-separated
    #[arg(long, value_delimiter = ',', value_name = "0,1")]
    pub load_cpus: Vec<usize>,
    /// Choose the I/O engine [default: epoll]
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub engine: Option<Engine>,
    /// Measure CPU and memory of the server beside the load: container:NAME, project:NAME (of compose),
    /// unit:NAME (of systemd) or pid:NUMBER on this machine, or ssh:HOST for another machine as a whole
    #[arg(long, value_name = "WHAT")]
    pub watch: Option<String>,
    /// Allow an address that is neither this machine's nor private: load only what you are allowed
    /// to load
    #[arg(long)]
    pub i_may_load_this_host: bool,
    /// Print the summary as JSON (docs/fire.schema.json)
    #[arg(long)]
    pub json: bool,
    /// Requests from a file. Below the other options, because its heading also covers what follows
    #[command(flatten)]
    pub traffic: TrafficFlags,
    /// Machines that send the load
    #[command(flatten)]
    pub agents: AgentFlags,
    /// Files written besides the summary
    #[command(flatten)]
    pub files: FileFlags,
    /// Where live figures go
    #[command(flatten)]
    pub remote: RemoteFlags,
}

/// Parses `200`, `200-299` or `2xx`.
fn statuses(text: &str) -> Result<RangeInclusive<u16>, StatusError> {
    let is_number = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
    let status = |text: &str| {
        let number: Option<u16> = Some(text).filter(is_number).and_then(|text| text.parse().ok());
        number.filter(|status| (100..=599).contains(status))
    };
    let text = &text.trim().to_ascii_lowercase();
    let range = match (text.strip_suffix("xx"), text.split_once('-')) {
        (Some(class), _) => status(&format!("{class}00")).map(|first: u16| first..=first + 99),
        (None, Some((first, last))) => status(first).zip(status(last)).map(|(a, b)| a..=b),
        (None, None) => status(text).map(|status| status..=status),
    };
    let known = range.filter(|range| !range.is_empty());
    known.ok_or(StatusError)
}

/// Not a status; clap quotes the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a status as 200, a range as 200-299, or a class as 2xx")]
struct StatusError;

/// Engines of the load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// Works everywhere
    Epoll,
    /// Needs Linux 6.1 or later, where it is not disabled
    #[value(name = "io_uring", alias = "io-uring")]
    IoUring,
}

/// Which requests `fire` sends from a file.
#[derive(Args, Debug)]
#[command(next_help_heading = "Requests from a file")]
pub struct TrafficFlags {
    /// Send the requests in this file: a list of URLs, HAR, curl, .http, Postman, OpenAPI, Yandex
    /// Tank's formats, access.log, a test of JMeter or k6 and more (docs/traffic.md); `stampede
    /// traffic FILE` shows them
    #[arg(long, alias = "ammo", value_name = "FILE", conflicts_with_all = ["method", "body"])]
    pub traffic: Option<PathBuf>,
    /// Set the file's format [default: detected from its beginning]
    #[arg(long, alias = "ammo-format", value_name = "FORMAT", requires = "traffic")]
    pub traffic_format: Option<String>,
    /// Read the values of variables in these requests from this file: an environment that Postman
    /// exports, or a JSON object of names and values
    #[arg(long, value_name = "FILE", requires = "traffic")]
    pub traffic_environment: Option<PathBuf>,
    /// Choose the order of the requests
    #[arg(long, alias = "ammo-order", value_enum, value_name = "ORDER", default_value_t = TrafficOrder::InOrder,
          requires = "traffic")]
    pub traffic_order: TrafficOrder,
    /// Stop after N requests of the file; --concurrency then needs no --for
    #[arg(long, alias = "ammo-limit", value_name = "N", requires = "traffic",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub traffic_limit: Option<u64>,
    /// Send each request once instead of repeating the file; --concurrency then needs no --for
    #[arg(long, requires = "traffic")]
    pub once: bool,
    /// Send the requests of an access log at the rate at which they were made (open model)
    #[arg(long, requires = "traffic", conflicts_with_all = [
        "rate", "schedule", "concurrency", "length", "requests", "traffic_order", "arrivals", "tank",
    ])]
    pub at_recorded_times: bool,
    /// Send them so many times as fast as they were made: 2x, 0.5x
    #[arg(long = "speed", value_name = "FACTOR", requires = "at_recorded_times")]
    pub times_as_fast: Option<String>,
    /// Take only these methods from an access log, which has no bodies [default: GET,HEAD]
    #[arg(long, value_name = "METHOD,…", requires = "traffic")]
    pub methods: Option<String>,
    /// What else is taken of an access log
    #[command(flatten)]
    pub log: LogFlags,
    /// Read the load from Yandex Tank's load.yaml, load.ini or pandora's file instead of flags; a URL
    /// overrides the file's address, --traffic its requests
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "rate", "schedule", "concurrency", "length", "requests", "connections", "max_in_flight", "method",
        "body", "header", "cookie", "basic_auth", "timeout", "keep_alive", "no_keep_alive", "client",
        "when_full", "traffic_order",
    ])]
    pub tank: Option<PathBuf>,
}

/// The order of a file's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrafficOrder {
    /// As in the file
    InOrder,
    /// Shuffled for each pass of the file
    Random,
}

/// Which machines send the load of `fire`.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "More than one machine (docs/agents.md)")]
pub struct AgentFlags {
    /// Send the load from these machines together: ssh:load1,load2 as ssh knows them,
    /// nats://broker:4222 for agents that wait at a NATS broker, or local:2 to try it here
    /// (repeatable); arrivals are then Poisson unless --arrivals says otherwise
    #[arg(long, value_name = "AGENTS", conflicts_with = "load_cpus")]
    pub agents: Vec<String>,
    /// Run the stampede at PATH on each agent; copy nothing
    #[arg(long, value_name = "PATH", requires = "agents")]
    pub agent_program: Option<PathBuf>,
    /// Read the token of agents that wait for orders from this file [default: the environment
    /// variable STAMPEDE_AGENT_TOKEN]
    #[arg(long, value_name = "FILE", requires = "agents")]
    pub token_file: Option<PathBuf>,
}

/// What `fire` writes besides its summary.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Files")]
pub struct FileFlags {
    /// Write one row per second, as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write one row per request, with Yandex Tank's columns
    #[arg(long, value_name = "FILE")]
    pub phout: Option<PathBuf>,
    /// Write histograms per second, for HdrHistogram's tools
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<PathBuf>,
    /// Write a run with its page, report.html, to this directory, which must not exist
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Write the figures in Prometheus' text format
    #[arg(long, value_name = "FILE")]
    pub prometheus: Option<PathBuf>,
}
