//! Arguments of `stampede traffic`.

use std::path::PathBuf;

use clap::Args;

use super::args_log::LogFlags;

/// Arguments of `traffic`.
#[derive(Args, Debug)]
pub struct TrafficArgs {
    /// Request file: recorded traffic, or the requests of another tool
    pub file: PathBuf,
    /// Set the file's format [default: detected from its beginning]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Take the requests of a recording that go to this host [default: that of most requests]
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Read the values of variables from this file: an environment that Postman exports, or a JSON
    /// object of names and values
    #[arg(long, value_name = "FILE")]
    pub environment: Option<PathBuf>,
    /// Take only these methods from an access log, which has no bodies [default: GET,HEAD]
    #[arg(long, value_name = "METHOD,…")]
    pub methods: Option<String>,
    /// What else is taken of an access log
    #[command(flatten)]
    pub log: LogFlags,
    /// Write the requests as JSON lines to this file, which must not exist
    #[arg(long, value_name = "OUT.jsonl")]
    pub write: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub(super) const TRAFFIC_HELP: &str = "Examples:
  stampede traffic shop.har
  stampede traffic shop.postman_collection.json --environment test.postman_environment.json
  stampede traffic access.log.gz --log-errors drop
  stampede traffic requests.http --write requests.jsonl
  stampede fire http://127.0.0.1:8080/ --traffic requests.jsonl --concurrency 4 --for 30s

Formats: docs/traffic.md";
