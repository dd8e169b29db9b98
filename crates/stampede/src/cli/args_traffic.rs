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

/// The request file of `compare`, `capacity` and `tune`, and what is taken of it.
#[derive(Args, Clone, Debug, Default)]
pub struct RequestFileArgs {
    /// Send the requests in this file in turn: a list of URLs, access.log, HAR and more
    /// (docs/traffic.md); `stampede traffic FILE` shows them
    #[arg(long = "traffic", alias = "urls", value_name = "FILE", conflicts_with = "path")]
    pub file: Option<String>,
    /// Set the file's format [default: detected from its beginning]
    #[arg(
        id = "traffic_format",
        long = "traffic-format",
        value_name = "FORMAT",
        requires = "file"
    )]
    pub format: Option<String>,
    /// Take only these methods from an access log, which has no bodies [default: GET,HEAD]
    #[arg(long, value_name = "METHOD,…", requires = "file")]
    pub methods: Option<String>,
    /// Read the lines of an access log as nginx's log_format or Apache's LogFormat says [default:
    /// as each line shows it]
    #[arg(long, value_name = "FORMAT", requires = "file")]
    pub log_format: Option<String>,
    /// Send or leave out what an access log says was answered with 4xx or 5xx [default: keep]
    #[arg(long, value_name = "keep|drop", requires = "file")]
    pub log_errors: Option<String>,
    /// Read the values of variables in these requests from this file
    #[arg(
        id = "traffic_environment",
        long = "traffic-environment",
        value_name = "FILE",
        requires = "file"
    )]
    pub environment: Option<String>,
}

impl RequestFileArgs {
    /// The flags as the plan's tree takes them.
    pub fn flags(&self) -> stampede_plan::TrafficFlags {
        let RequestFileArgs { file, format, methods, log_format, log_errors, environment } =
            self.clone();
        stampede_plan::TrafficFlags { file, format, methods, log_format, log_errors, environment }
    }
}
