//! The flags of a load.

use clap::Args;

/// The load, as flags: shared by `compare` and `fire`.
#[derive(Args, Debug, Default)]
pub struct LoadFlags {
    /// Set the target rate in requests per second (open model; needs --for)
    #[arg(long, alias = "rps", short_alias = 'R', value_name = "N",
          conflicts_with_all = ["schedule", "concurrency"])]
    pub rate: Option<String>,
    /// Follow a schedule in Yandex Tank's syntax: 'line(1,100,60s) const(100,5m)' (open model)
    #[arg(long, value_name = "SCHEDULE", conflicts_with_all = ["concurrency"])]
    pub schedule: Option<String>,
    /// Send N requests at a time, the next one after each answer (closed model; needs --for or
    /// --requests)
    #[arg(long, short = 'c', aliases = ["users", "vus", "clients"], value_name = "N")]
    pub concurrency: Option<String>,
    /// Run the load for this long: 60s, 2m30s
    #[arg(long = "for", alias = "duration", short_alias = 'z', value_name = "LENGTH")]
    pub length: Option<String>,
    /// Stop after N requests (closed model)
    #[arg(long, short = 'n', alias = "iterations", value_name = "N", conflicts_with = "length")]
    pub requests: Option<String>,
    /// Use the connection settings of this client: stampede, tank, ab, k6
    #[arg(long, value_name = "NAME")]
    pub client: Option<String>,
    /// Keep connections open, or close them after each request [without a value: on]
    #[arg(long, value_name = "on|off|auto", hide_possible_values = true, num_args = 0..=1,
          default_missing_value = "on", value_parser = ["on", "off", "auto"])]
    pub keep_alive: Option<String>,
    /// Time out a request this long after its start, connecting included [default: 11s]
    #[arg(long, value_name = "LENGTH")]
    pub timeout: Option<String>,
    /// Limit the number of requests in flight (open model)
    #[arg(long, value_name = "N", conflicts_with = "concurrency")]
    pub max_in_flight: Option<String>,
    /// At the in-flight limit: queue the request, drop it, or stretch the schedule (open model)
    #[arg(long, value_name = "queue|drop|stretch", conflicts_with = "concurrency")]
    pub when_full: Option<String>,
    /// Space scheduled requests evenly or at random (open model)
    #[arg(long, value_name = "uniform|poisson", conflicts_with = "concurrency")]
    pub arrivals: Option<String>,
}
