//! Measures the open model: how long after their due times requests arrive at the server, and how
//! much memory the generator takes over time.

use std::process::Command;

use stampede_known_server::IdleMode;

use crate::error::BenchError;
use crate::measured::{Measured, run, value};
use crate::peers::{Closed, Peer};
use crate::stamped::{Serves, Stamped, Stamps};
use crate::table::{Table, at_share, median};

/// The result of one load.
#[derive(Clone, Debug)]
pub struct LoadRun {
    measured: Measured,
    pub stamps: Stamps,
    /// The load's zero on the clock of the stamps, in ns.
    began_ns: u64,
    rate: f64,
    seconds: f64,
}

impl LoadRun {
    /// Measures a load that follows a schedule.
    pub fn measure(
        server: Stamped,
        peer: Peer,
        rate: u32,
        seconds: u32,
    ) -> Result<LoadRun, BenchError> {
        let command = peer.by_a_schedule(&server.url, rate, seconds);
        LoadRun::by(command.ok_or(BenchError::NoSchedule)?, server, rate, seconds)
    }

    /// Measures a load that follows a schedule, with a number in each request by which its stamp is
    /// found. So the server may answer waiting requests in any order. Only our own generator can do
    /// this.
    pub fn measure_numbered(
        server: Stamped,
        engine: Peer,
        rate: u32,
        seconds: u32,
    ) -> Result<LoadRun, BenchError> {
        let mut command =
            engine.by_a_schedule(&server.url, rate, seconds).ok_or(BenchError::NoSchedule)?;
        command.arg("numbered");
        LoadRun::by(command, server, rate, seconds)
    }

    /// Measures a load with this number of users, each on a connection of its own.
    pub fn measure_closed(
        server: Stamped,
        engine: Peer,
        users: u32,
        seconds: u32,
    ) -> Result<LoadRun, BenchError> {
        let load = Closed { url: &server.url, connections: users, seconds };
        LoadRun::by(engine.command(load), server, users, seconds)
    }

    /// `much` is the number of requests per second, or of users.
    fn by(
        mut command: Command,
        server: Stamped,
        much: u32,
        seconds: u32,
    ) -> Result<LoadRun, BenchError> {
        let measured = run(&mut command)?;
        let stamps = server.finish()?;
        // Other generators do not print it: their first request then counts as on time.
        let first = stamps.first().map_or(0, |(arrived, _)| *arrived);
        let began_ns = value_u64(&measured.printed, "began_ns").unwrap_or(first);
        let (rate, seconds) = (f64::from(much), f64::from(seconds));
        Ok(LoadRun { measured, stamps, began_ns, rate, seconds })
    }

    /// The share of the requests that reached the server.
    fn sent(&self) -> f64 {
        self.stamps.len() as f64 / (self.rate * self.seconds)
    }

    pub fn printed(&self, name: &str) -> f64 {
        value(&self.measured.printed, name).unwrap_or(f64::NAN)
    }

    /// How far the i-th moment is behind i ÷ rate on the load's own clock; in µs, sorted.
    pub fn behind_us(&self, moment: fn(&(u64, u64)) -> u64) -> Vec<f64> {
        let moments = self.stamps.iter().map(moment);
        let behind = moments.enumerate().map(|(run, moment)| {
            let due_ns = run as f64 * 1e9 / self.rate;
            (moment.saturating_sub(self.began_ns) as f64 - due_ns) / 1e3
        });
        let mut behind: Vec<f64> = behind.collect();
        behind.sort_by(f64::total_cmp);
        behind
    }

    /// The deviation of the arrivals within 10 ms from the rate's number: its 99th percentile and
    /// its maximum, as shares of that number.
    fn unevenness(&self) -> (f64, f64) {
        let mut bins = vec![0.0; (self.seconds * 100.0) as usize];
        for (arrived, _) in &self.stamps {
            let bin = arrived.saturating_sub(self.began_ns) / 10_000_000;
            if let Some(bin) = bins.get_mut(bin as usize) {
                *bin += 1.0;
            }
        }
        let wanted = self.rate / 100.0;
        let mut apart: Vec<f64> = bins.iter().map(|runs| (runs / wanted - 1.0).abs()).collect();
        apart.sort_by(f64::total_cmp);
        (at_share(&apart, 0.99), at_share(&apart, 1.0))
    }
}

fn value_u64(printed: &str, name: &str) -> Option<u64> {
    let line = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line?.parse().ok()
}

/// Measures schedule lag at the server, evenness, share sent, and cost of both engines and of oha,
/// in turn.
pub fn lag(rates: &[u32], seconds: u32, rounds: usize) -> Result<String, BenchError> {
    let mut table = Table::new(&[
        "",
        "requests per s",
        "sent",
        "lag p50 µs",
        "p99 µs",
        "p99.9 µs",
        "10 ms apart, p99",
        "most",
        "busy",
        "CPU",
    ]);
    let peers = [Peer::Epoll, Peer::IoUring, Peer::Oha].into_iter();
    let peers: Vec<Peer> = peers.filter(|peer| peer.installed()).collect();
    for &rate in rates {
        let mut taken = vec![Vec::new(); peers.len()];
        let waiting = if rate < AWAKE_BELOW { IdleMode::Spin } else { IdleMode::Sleep };
        for _ in 0..rounds {
            for (peer, taken) in peers.iter().zip(&mut taken) {
                let server = Stamped::start(Serves::AtOnce, waiting)?;
                taken.push(LoadRun::measure(server, *peer, rate, seconds)?);
            }
        }
        for (peer, runs) in peers.iter().zip(&taken) {
            let all = |of: &dyn Fn(&LoadRun) -> f64| median(runs.iter().map(of));
            let behind =
                |share| all(&|run| at_share(&run.behind_us(|(arrived, _)| *arrived), share));
            let busy = 100.0 * all(&|run| run.printed("busy_share"));
            table.row([
                peer.name().to_owned(),
                rate.to_string(),
                format!("{:.3} %", 100.0 * all(&LoadRun::sent)),
                format!("{:.1}", behind(0.5)),
                format!("{:.1}", behind(0.99)),
                format!("{:.1}", behind(0.999)),
                format!("{:.1} %", 100.0 * all(&|run| run.unevenness().0)),
                format!("{:.1} %", 100.0 * all(&|run| run.unevenness().1)),
                if busy.is_nan() { String::new() } else { format!("{busy:.0} %") },
                format!("{:.0} %", 100.0 * all(&|run| run.measured.cpu_s / run.seconds)),
            ]);
        }
    }
    Ok(format!("\nMedians of {rounds} rounds of {seconds} s\n\n{}", table.markdown()))
}

/// Compares the memory of a load of one minute with one of `minutes`; all loads run at the same
/// time.
pub fn memory(minutes: u32, rate: u32) -> Result<String, BenchError> {
    let loads = ENGINES.into_iter().flat_map(|engine| [(engine, 1), (engine, minutes)]);
    let result: Vec<_> = loads
        .map(|(engine, minutes)| {
            let fire = move || {
                let server = Stamped::start(Serves::AtOnce, IdleMode::Sleep)?;
                LoadRun::measure(server, engine, rate, minutes * 60)
            };
            (engine, minutes, std::thread::spawn(fire))
        })
        .collect();
    let mut table =
        Table::new(&["", "minutes", "runs", "ok", "MB resident", "CPU", "schedule_lag p99 µs"]);
    for (engine, minutes, fire) in result {
        let run = fire.join().map_err(|_| BenchError::Panicked)??;
        table.row([
            engine.name().to_owned(),
            minutes.to_string(),
            format!("{:.0}", run.printed("planned")),
            format!("{:.3} %", 100.0 * run.printed("ok") / run.printed("planned")),
            format!("{:.2}", run.measured.resident_bytes_max as f64 / 1e6),
            format!("{:.1} %", 100.0 * run.measured.cpu_s / run.seconds),
            format!("{:.1}", run.printed("schedule_lag_p99_ns") / 1e3),
        ]);
    }
    Ok(format!("\n{rate} requests/s by a schedule\n\n{}", table.markdown()))
}

/// Requests per second below which the generator sleeps most of the time. Then its CPU has room for
/// other programs, and the server can stay awake. Above this rate it is the opposite.
const AWAKE_BELOW: u32 = 10_000;
/// Both engines.
pub const ENGINES: [Peer; 2] = [Peer::Epoll, Peer::IoUring];
