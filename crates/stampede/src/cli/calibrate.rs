//! Measures the load generator's own limit on this machine, with a server that costs almost
//! nothing.

use serde::Serialize;
use stampede_known_server::{Address as Known, Listen, NullServer};
use stampede_linux::interrupt;
use stampede_load::spec::{CpuSharing, Load};
use stampede_load::{Generator as _, InProcess, Listener, LoadResult};
use stampede_model::counts::Second;
use stampede_model::load::{Address, Arrivals, Model, Until, WhenFull};
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_model::words;
use stampede_traffic::Request;
use stampede_verdict::SENT_SHARE;

use super::Failure;
use super::fail::CommandError;

/// The limit of the generator with one load thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// CPU of the load thread.
    load_cpu: usize,
    /// CPU of the null server.
    server_cpu: usize,
    /// Closed model: correct answers per second on [`CONCURRENCY`] kept connections.
    closed_per_second: f64,
    /// Closed model: CPU time of the load thread per correct answer.
    cpu_ns_per_request: f64,
    /// Open model: the highest tried rate at which requests start in time; 0: none.
    open_per_second: u32,
    /// p99 of schedule lag at that rate.
    schedule_lag_ns_p99: u64,
}

/// Measures for about ten seconds, on 127.0.0.1.
///
/// # Errors
/// The server or the load does not start, or Ctrl-C.
pub fn measure() -> Result<Ceiling, Failure> {
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    let split = stampede_keeper::split_cpus(1);
    let (load_cpu, server_cpu) = (last(&split.load), last(&split.stack));
    let server = NullServer::start_on(&Listen::Tcp, Some(server_cpu))
        .map_err(|error| Failure::new(&error))?;
    let cpu_sharing =
        if load_cpu == server_cpu { CpuSharing::WithServer } else { CpuSharing::Exclusive };
    let at = Calibration { target: address(server.address()), load_cpu, cpu_sharing };
    let closed = at.run(Model::Closed { concurrency: CONCURRENCY, until: Until::For(CLOSED) })?;
    let busy = closed.busy_share_max * closed.lasted.0 as f64;
    let (open_per_second, schedule_lag_ns_p99) = at.highest_rate()?;
    Ok(Ceiling {
        load_cpu,
        server_cpu,
        closed_per_second: closed.ok_inside as f64 / closed.scheduled.as_secs_f64().max(1e-9),
        cpu_ns_per_request: busy / (closed.counts.ok.max(1) as f64),
        open_per_second,
        schedule_lag_ns_p99,
    })
}

/// Why the ceiling was not measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The user interrupted.
    #[error("interrupted: the ceiling is not known")]
    Interrupted,
}

impl CommandError for CalibrateError {}

impl Ceiling {
    /// Formats the result for people.
    pub fn text(&self) -> String {
        let shared = match self.load_cpu == self.server_cpu {
            true => {
                "\n                  load and server share one CPU; with two CPUs the limit is higher"
            }
            false => "",
        };
        let open = match self.open_per_second {
            0 => format!(
                "even {} requests/s could not be sent on time",
                words::count(RATES[0].into())
            ),
            rate => format!(
                "{} requests/s on time, p99 schedule lag {}",
                words::count(rate.into()),
                words::time(self.schedule_lag_ns_p99 as f64)
            ),
        };
        format!(
            "\nThe load generator's ceiling here (one load thread, the null server)\n\n  \
             open model      {open}\n  \
             closed model    {} answers/s, {CONCURRENCY} at a time, {} of CPU time each\n  \
             CPUs            load on {}, server on {}{shared}\n",
            words::rate(self.closed_per_second),
            words::time(self.cpu_ns_per_request),
            self.load_cpu,
            self.server_cpu
        )
    }
}

fn last(cpus: &[usize]) -> usize {
    cpus.last().copied().unwrap_or(0)
}

fn address(known: &Known) -> Address {
    match known {
        Known::Tcp(address) => Address::Tcp(*address),
        Known::Unix(path) => Address::Unix(path.clone()),
    }
}

struct Calibration {
    target: Address,
    load_cpu: usize,
    cpu_sharing: CpuSharing,
}

impl Calibration {
    fn run(&self, model: Model) -> Result<LoadResult, Failure> {
        let load = Load::new(self.target.clone(), model, []);
        let get = Request::build("GET", "/", &[], b"", load.habits, None);
        let get = get.map_err(|error| Failure::new(&error))?;
        let (cpus, cpu_sharing) = (vec![self.load_cpu], self.cpu_sharing);
        let load = Load { traffic: [get].into(), cpus, cpu_sharing, ..load };
        let result = InProcess.run(&load, &Stop::from(interrupt::new_flag()), &mut NoListener);
        if interrupt::is_requested() {
            return Err(CalibrateError::Interrupted.into());
        }
        result.map_err(|error| Failure::new(&error))
    }

    /// Tries rising rates, up to the first that fails in every try. Several tries are needed,
    /// because others who use the machine may disturb some of them.
    fn highest_rate(&self) -> Result<(u32, u64), Failure> {
        let mut highest = (0, 0);
        for rate in RATES {
            let mut tries = 0..TRIES;
            let held = loop {
                if tries.next().is_none() {
                    break None;
                }
                let result = self.run(open(rate)?)?;
                if let Some(schedule_lag_ns) = in_time(&result) {
                    break Some(schedule_lag_ns);
                }
            };
            match held {
                Some(schedule_lag_ns) => highest = (rate, schedule_lag_ns),
                None => return Ok(highest),
            }
        }
        Ok(highest)
    }
}

fn open(rate: u32) -> Result<Model, Failure> {
    let schedule =
        Segments::parse(&format!("const({rate},1s)")).map_err(|error| Failure::new(&error))?;
    let (arrivals, when_full) = (Arrivals::Uniform, WhenFull::Queue);
    Ok(Model::Open { schedule, arrivals, max_in_flight: 1_000, when_full })
}

/// Returns the p99 of schedule lag; `None` if it is more than [`ON_TIME_NS`], or if too few requests
/// started.
fn in_time(result: &LoadResult) -> Option<u64> {
    let schedule_lag = &result.times.schedule_lag;
    let p99 = schedule_lag.at_rank((schedule_lag.len() as f64 * 0.99).ceil() as u64);
    let sent = result.counts.started as f64 / result.counts.planned.max(1) as f64;
    (p99 <= ON_TIME_NS && sent >= SENT_SHARE).then_some(p99)
}

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

/// A request that starts within this time is on time. A thread that cannot keep up is soon later
/// than that; one that can is far below.
const ON_TIME_NS: u64 = 1_000_000;
/// Enough to keep the load thread busy.
const CONCURRENCY: u32 = 64;
const CLOSED: Nanos = Nanos::from_secs(2);
/// Rates in requests per second. Each try takes one second.
const RATES: [u32; 8] = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000];
const TRIES: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_read() {
        let ceiling = Ceiling {
            load_cpu: 1,
            server_cpu: 0,
            closed_per_second: 98_765.4,
            cpu_ns_per_request: 9_876.0,
            open_per_second: 50_000,
            schedule_lag_ns_p99: 412_000,
        };
        let late = Ceiling { open_per_second: 0, server_cpu: 1, ..ceiling.clone() };
        insta::assert_snapshot!(ceiling.text() + &late.text());
    }
}
