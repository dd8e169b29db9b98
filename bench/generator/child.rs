//! Runs our own generator in a separate process: `fire TARGET SETTING…`, and its output.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use stampede_load::client::Client;
use stampede_load::protocol::fastcgi::{self, Script};
use stampede_load::protocol::tls::{Certificates, Sessions, Setup};
use stampede_load::report::RequestRecord;
use stampede_load::spec::{CpuSharing, EngineChoice, Timestamps, Wire};
use stampede_load::{Generator as _, InProcess, Listener, Load, LoadResult};
use stampede_model::counts::Second;
use stampede_model::load::{Address, Arrivals, Model, Until, WhenFull};
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_traffic::Request;

use crate::error::BenchError;
use crate::stamped::{self, write_numbers};
use crate::{LOAD_CPU, word};

/// Settings are `users=N` with `seconds=N` or `requests=N`, or `rate=N` with `seconds=N`; then
/// `engine=epoll|io_uring`, `timestamps=userspace`, and `records=FILE` for records of all requests,
/// each with its number as its path.
pub fn fire(words: &[&str]) -> Result<(), BenchError> {
    let target = words.first().copied().unwrap_or_default();
    let (wire, address) = stamped::Wire::of_target(target).expect("SCHEME:ADDRESS");
    let records = word(words, "records").map(PathBuf::from);
    let model = model(words);
    let requests = if records.is_some() { numbered(&model) } else { 1 };
    let client = Client::named("stampede").expect("our own");
    let load = Load {
        wire: protocol(wire, address),
        habits: client.habits,
        engine: match word(words, "engine") {
            Some("io_uring") => EngineChoice::IoUring,
            _ => EngineChoice::Epoll,
        },
        cpus: vec![LOAD_CPU],
        cpu_sharing: CpuSharing::Exclusive,
        records: records.is_some(),
        timestamps: match word(words, "timestamps") {
            Some("userspace") => Timestamps::Userspace,
            _ => Timestamps::Kernel,
        },
        ..Load::new(to(wire, address), model, traffic(wire, address, requests, client))
    };
    let mut seen = Seen { began: Instant::now(), records: Vec::new() };
    let result = InProcess.run(&load, &Stop::default(), &mut seen).expect("a load");
    print(&result, seen.began);
    records.map_or(Ok(()), |path| seen.write(&path))
}

fn model(words: &[&str]) -> Model {
    let number = |name| word(words, name).map(|text| text.parse::<u32>().expect("a number"));
    let seconds = number("seconds");
    match (number("users"), number("rate")) {
        (Some(concurrency), _) => {
            let until = match (number("requests"), seconds) {
                (Some(requests), _) => Until::Requests(requests.into()),
                (None, seconds) => Until::For(Nanos::from_secs(seconds.unwrap_or(1).into())),
            };
            Model::Closed { concurrency, until }
        }
        (None, rate) => {
            let (rate, seconds) = (rate.unwrap_or(1), seconds.unwrap_or(1));
            let schedule = Segments::parse(&format!("const({rate},{seconds}s)"));
            Model::Open {
                schedule: schedule.expect("a schedule"),
                arrivals: Arrivals::Uniform,
                max_in_flight: MAX_IN_FLIGHT,
                when_full: WhenFull::Queue,
            }
        }
    }
}

/// How many requests there are to number.
fn numbered(model: &Model) -> u64 {
    match model {
        Model::Open { schedule, .. } => schedule.planned(),
        Model::Closed { until: Until::Requests(requests), .. } => *requests,
        Model::Closed { until: Until::For(_), .. } => panic!("nobody knows how many"),
    }
}

fn to(wire: stamped::Wire, address: &str) -> Address {
    match wire {
        stamped::Wire::Unix => Address::Unix(address.into()),
        _ => Address::Tcp(address.parse().expect("ADDRESS:PORT")),
    }
}

fn protocol(wire: stamped::Wire, address: &str) -> Wire {
    match wire {
        stamped::Wire::Http | stamped::Wire::Unix => Wire::Http1,
        stamped::Wire::FastCgi => Wire::FastCgi,
        stamped::Wire::Tls => {
            let address: SocketAddr = address.parse().expect("ADDRESS:PORT");
            let setup = Setup::new(&address.ip().to_string(), Certificates::Any, Sessions::New);
            Wire::Tls(setup.expect("TLS as it is set up for any address"))
        }
    }
}

/// Requests for `/0`, `/1` and so on.
fn traffic(wire: stamped::Wire, address: &str, requests: u64, client: Client) -> Vec<Request> {
    let host = if wire == stamped::Wire::Unix { "localhost" } else { address };
    let host = [("Host".to_owned(), host.to_owned())];
    let script = Script::new("/srv/index.php");
    let get = |number: u64| {
        let path = format!("/{number}");
        match wire {
            stamped::Wire::FastCgi => fastcgi::request(&script, "GET", &path, &host, b""),
            _ => Request::build("GET", &path, &host, b"", client.habits, None),
        }
    };
    (0..requests).map(|number| get(number).expect("a request")).collect()
}

/// What is seen of a load while it runs.
struct Seen {
    /// The zero of the load's clock.
    began: Instant,
    records: Vec<RequestRecord>,
}

impl Listener for Seen {
    fn began(&mut self, at: Instant) {
        self.began = at;
    }

    fn second(&mut self, _: &Second) {}

    fn requests(&mut self, requests: &[RequestRecord]) {
        self.records.extend_from_slice(requests);
    }
}

impl Seen {
    /// Writes when each request was due, started and done, in the order of their starts: that is
    /// the order of their numbers.
    fn write(mut self, path: &Path) -> Result<(), BenchError> {
        self.records.sort_by_key(|record| (record.started, record.due));
        let mut bytes = Vec::new();
        for record in &self.records {
            write_numbers(&mut bytes, &[record.due.0, record.started.0, record.done.0]);
        }
        let failed = |source| BenchError::File { path: path.to_owned(), source };
        std::fs::write(path, bytes).map_err(failed)
    }
}

/// Prints `name value` lines; times are in ns.
fn print(result: &LoadResult, zero: Instant) {
    let counts = &result.counts;
    println!("began_ns {}", began_ns(zero));
    println!("planned {}\nok {}", counts.planned, counts.ok);
    println!("lasted_ns {}", result.lasted.0);
    println!("busy_share {}", result.busy_share_max);
    // A request that waits for a connection is late, but not through the generator.
    println!("full {}", u8::from(result.in_flight_max >= MAX_IN_FLIGHT));
    let all = [
        ("response_time", &result.times.response_time),
        ("service_time", &result.times.service_time),
        ("schedule_lag", &result.times.schedule_lag),
    ];
    for (name, times) in all {
        for (percentile, share) in crate::PERCENTILES {
            let rank = (share * times.len() as f64).ceil().max(1.0) as u64;
            println!("{name}_{percentile}_ns {}", times.at_rank(rank));
        }
    }
}

/// The load's zero on the machine's monotonic clock, which the server's stamps use too: of some
/// readings the one that was interrupted least.
fn began_ns(zero: Instant) -> u64 {
    let reading = |_| {
        let before = zero.elapsed();
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let apart = zero.elapsed() - before;
        let now_ns = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        (apart, now_ns - (before + apart / 2).as_nanos() as u64)
    };
    (0..READINGS).map(reading).min().expect("there are some").1
}

/// The most connections that the open model may open: more than are ever in flight here.
const MAX_IN_FLIGHT: u32 = 4_000;
const READINGS: u32 = 16;
