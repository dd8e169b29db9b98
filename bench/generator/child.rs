//! Runs our own generator in a separate process: `fire-closed` and `fire-open`, and their output.

use std::net::SocketAddr;
use std::time::Instant;

use stampede_load::client::Client;
use stampede_load::protocol::tls::{Certificates, Sessions, Setup};
use stampede_load::spec::{CpuSharing, EngineChoice, Wire};
use stampede_load::traffic::Request;
use stampede_load::{Generator as _, InProcess, Listener, Load, LoadResult};
use stampede_model::counts::Second;
use stampede_model::load::{Address, Arrivals, Model, Until, WhenFull};
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;

use crate::LOAD_CPU;

/// Arguments: `URL CONCURRENCY SECONDS ENGINE`.
pub fn closed(arguments: &[&str]) {
    let [url, concurrency, seconds, engine] = arguments else {
        panic!("URL CONCURRENCY SECONDS ENGINE")
    };
    let concurrency = concurrency.parse().expect("a number of users");
    let until = Until::For(Nanos::from_secs(seconds.parse().expect("a number of seconds")));
    run(url, Model::Closed { concurrency, until }, engine, &["/".to_owned()]);
}

/// Arguments: `URL PER_SECOND SECONDS ENGINE`, then `numbered` if each request carries its number.
pub fn open(arguments: &[&str]) {
    let [url, rate, seconds, engine, numbered @ ..] = arguments else {
        panic!("URL PER_SECOND SECONDS ENGINE [numbered]")
    };
    let schedule = Segments::parse(&format!("const({rate},{seconds}s)")).expect("a schedule");
    let planned = schedule.planned();
    let (max_in_flight, when_full) = (MAX_IN_FLIGHT, WhenFull::Queue);
    let model = Model::Open { schedule, arrivals: Arrivals::Uniform, max_in_flight, when_full };
    let paths = match numbered {
        [] => vec!["/".to_owned()],
        _ => (0..planned).map(|run| format!("/{run}")).collect(),
    };
    run(url, model, engine, &paths);
}

fn run(url: &str, model: Model, engine: &str, paths: &[String]) {
    let (scheme, address) = url.split_once("://").expect("SCHEME://ADDRESS:PORT/");
    let address: SocketAddr = address.trim_end_matches('/').parse().expect("ADDRESS:PORT/");
    let wire = match scheme {
        "https" => Wire::Tls(
            Setup::new(&address.ip().to_string(), Certificates::Any, Sessions::New)
                .expect("TLS as it is set up for any address"),
        ),
        _ => Wire::Http1,
    };
    let client = Client::named("stampede").expect("our own");
    let host = [("Host", address.to_string())];
    let host: Vec<(String, String)> = host.map(|(name, value)| (name.into(), value)).into();
    let get = |path: &String| {
        Request::build("GET", path, &host, b"", client.habits, None).expect("a request")
    };
    let requests: Vec<Request> = paths.iter().map(get).collect();
    let engine = match engine {
        "io_uring" => EngineChoice::IoUring,
        _ => EngineChoice::Epoll,
    };
    let load = Load {
        wire,
        habits: client.habits,
        engine,
        cpus: vec![LOAD_CPU],
        cpu_sharing: CpuSharing::Exclusive,
        ..Load::new(Address::Tcp(address), model, requests)
    };
    let mut zero = Zero(Instant::now());
    let result = InProcess.run(&load, &Stop::default(), &mut zero).expect("a load");
    print(&result, zero.0);
}

/// The zero of the load's clock.
struct Zero(Instant);

impl Listener for Zero {
    fn began(&mut self, at: Instant) {
        self.0 = at;
    }

    fn second(&mut self, _: &Second) {}
}

/// Prints `name value` lines; times are in ns.
fn print(result: &LoadResult, zero: Instant) {
    let counts = &result.counts;
    println!("engine {}", result.engine);
    println!("began_ns {}", began_ns(zero));
    println!("planned {}\nok {}\nfailed {}", counts.planned, counts.ok, counts.failed_total());
    println!("dropped {}\nok_inside {}", counts.dropped, result.ok_inside);
    println!("scheduled_ns {}\nlasted_ns {}", result.scheduled.0, result.lasted.0);
    println!("opened {}\nbusy_share {}", result.connections.opened, result.busy_share_max);
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
    for (kind, count) in &counts.failed {
        println!("failed:{kind} {count}");
    }
}

/// The load's zero on the machine's monotonic clock, which the server's stamps use too.
fn began_ns(zero: Instant) -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let ago = zero.elapsed().as_nanos() as u64;
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64 - ago
}

/// The most connections that the open model may open when the server stands still.
const MAX_IN_FLIGHT: u32 = 4_000;
