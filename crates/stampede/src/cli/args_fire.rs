//! The arguments of `fire`, as clap reads them.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::args::LoadFlags;

/// Arguments of `fire`.
#[derive(Args, Debug)]
pub struct FireArgs {
    /// Where to: http://127.0.0.1:8080/path, https://…, unix:/run/app.sock:/path, or straight to
    /// php-fpm: fcgi://127.0.0.1:9000/var/www/index.php/path, fcgi+unix:/run/php.sock:/var/www/…
    #[arg(required_unless_present = "tank")]
    pub url: Option<String>,
    /// The load
    #[command(flatten)]
    pub load: LoadFlags,
    /// What is fired, where it is more than one request
    #[command(flatten)]
    pub ammo: AmmoFlags,
    /// Connections at once, each with one shot under way: users where neither --rate nor
    /// --schedule is given, else the same as --max-in-flight
    #[arg(long, value_name = "N", conflicts_with_all = ["users", "max_in_flight"],
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections: Option<u32>,
    /// Close after each shot: the same as --keep-alive off
    #[arg(long, conflicts_with = "keep_alive")]
    pub no_keep_alive: bool,
    /// Discarded load before: 5s of the mean rate, or of the same users
    #[arg(long, value_name = "LENGTH")]
    pub warm_up: Option<String>,
    /// HTTP version: 1.0 or 1.1
    #[arg(long, value_name = "VERSION")]
    pub http: Option<String>,
    /// Seed of Poisson arrivals and of random ammo; drawn and printed when not given
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
    /// Method
    #[arg(long, short = 'X', value_name = "METHOD")]
    pub method: Option<String>,
    /// Header 'Name: value' (may be given more than once)
    #[arg(long, short = 'H', value_name = "HEADER")]
    pub header: Vec<String>,
    /// Cookie 'name=value' (may be given more than once)
    #[arg(long, value_name = "COOKIE")]
    pub cookie: Vec<String>,
    /// Name and password for Basic authentication
    #[arg(long, value_name = "USER:PASSWORD")]
    pub basic_auth: Option<String>,
    /// Body; @file reads one. The method becomes POST
    #[arg(long, short = 'd', value_name = "BODY")]
    pub body: Option<String>,
    /// Statuses that count as correct, comma-separated [default: 200-299]
    #[arg(long, value_delimiter = ',', value_name = "N,M-N,2xx", value_parser = statuses)]
    pub status: Vec<RangeInclusive<u16>>,
    /// Text that a correct body contains
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub contains: Option<String>,
    /// What else a correct answer has: 'header x-cache == HIT', 'json ok == true', 'body ~ /re/',
    /// 'size > 100', 'time < 200ms' (may be given more than once; docs/checks.md)
    #[arg(long, value_name = "CHECK")]
    pub check: Vec<String>,
    /// When to stop before the end, in Yandex Tank's syntax: 'http(5xx,10%,5s)' (may be given
    /// more than once)
    #[arg(long, value_name = "CRITERIA")]
    pub autostop: Vec<String>,
    /// What must hold: 'p95 < 100ms' (may be given more than once)
    #[arg(long, value_name = "EXPECTATION")]
    pub expect: Vec<String>,
    /// Load threads, where the kernel likes [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "load_cpus",
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// CPUs for load threads, one thread each, comma-separated
    #[arg(long, value_delimiter = ',', value_name = "0,1")]
    pub load_cpus: Vec<usize>,
    /// What moves the bytes [default: io_uring for 8 users a thread and more who keep their
    /// connections, without TLS and where it is allowed; else epoll]
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub engine: Option<Engine>,
    /// Fire at an address that is neither this machine's nor private: load only what you are
    /// allowed to load
    #[arg(long)]
    pub i_may_load_this_host: bool,
    /// The files that are written beside the summary
    #[command(flatten)]
    pub files: FileFlags,
    /// Print the summary as JSON (docs/fire.schema.json)
    #[arg(long)]
    pub json: bool,
}

/// `200`, `200-299` or `2xx`.
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

/// What is no status; clap says beside it what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a status as 200, a range as 200-299, or a class as 2xx")]
struct StatusError;

/// Engines of the load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// Everywhere
    Epoll,
    /// Linux 6.1 and later, where it is not forbidden
    #[value(name = "io_uring")]
    IoUring,
}

/// What `fire` fires from a file.
#[derive(Args, Debug)]
#[command(next_help_heading = "Requests from a file")]
pub struct AmmoFlags {
    /// Requests: URIs, Yandex Tank's uri, uripost and phantom, access.log, HAR, JSON lines
    /// (docs/ammo.md)
    #[arg(long, visible_alias = "traffic", value_name = "FILE",
          conflicts_with_all = ["method", "body", "tank"])]
    pub ammo: Option<PathBuf>,
    /// How it is written [default: as its beginning looks]
    #[arg(long, value_name = "FORMAT", requires = "ammo")]
    pub ammo_format: Option<String>,
    /// Which request is next
    #[arg(long, value_enum, value_name = "ORDER", default_value_t = AmmoOrder::InOrder,
          requires = "ammo")]
    pub ammo_order: AmmoOrder,
    /// End when this many requests were fired. Users need no --for beside it
    #[arg(long, value_name = "N", requires = "ammo",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub ammo_limit: Option<u64>,
    /// End when each was fired; else the file is fired again. Users need no --for beside it
    #[arg(long, requires = "ammo")]
    pub once: bool,
    /// Yandex Tank's load.yaml, in place of the load's flags; a URL beside it goes before its own
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "rate", "schedule", "users", "length", "requests", "connections", "max_in_flight", "method",
        "body", "header", "cookie", "basic_auth", "timeout", "keep_alive", "no_keep_alive", "client",
        "when_full", "arrivals", "seed", "ammo_order",
    ])]
    pub tank: Option<PathBuf>,
}

/// Which request is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AmmoOrder {
    /// As they are written
    InOrder,
    /// Shuffled, each once a pass
    Random,
}

/// What `fire` writes beside its summary.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Files")]
pub struct FileFlags {
    /// A row a second
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// A row a shot, with Yandex Tank's columns
    #[arg(long, value_name = "FILE")]
    pub phout: Option<PathBuf>,
    /// Histograms a second, for HdrHistogram's tools
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<PathBuf>,
    /// Figures in Prometheus' text format
    #[arg(long, value_name = "FILE")]
    pub prometheus: Option<PathBuf>,
}
