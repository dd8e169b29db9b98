//! Checks that the generator prints what the server saw.

use stampede_known_server::IdleMode;

use crate::PERCENTILES;
use crate::error::BenchError;
use crate::open::{ENGINES, LoadRun};
use crate::peers::Peer;
use crate::stamped::{Serves, Stamped, Stamps};
use crate::table::{Table, at_share, median};

/// Checks both models.
pub fn truth(rounds: usize) -> Result<String, BenchError> {
    Ok(with_a_schedule(rounds)? + &with_a_user(rounds)?)
}

fn stamped(serves: Serves) -> Result<Stamped, BenchError> {
    Stamped::start(serves, IdleMode::Sleep)
}

/// Compares printed response times with those that follow from the server's stamps and, where the
/// server freezes, with arithmetic. Requests are numbered, so each is compared with its own stamp.
fn with_a_schedule(rounds: usize) -> Result<String, BenchError> {
    let mut exact = Table::new(&[
        "",
        "server",
        "requests per s",
        "percentile",
        "printed µs",
        "stamped µs",
        "apart",
        "exact in rounds",
        "schedule_lag µs",
    ]);
    let mut follows = Table::new(&[
        "frozen",
        "percentile",
        "printed µs",
        "by arithmetic",
        "apart",
        "server's µs each",
        "first waits µs",
        "by arithmetic with these",
        "apart",
        "follows",
    ]);
    for (serves, name) in SERVERS {
        let rate = if serves == Serves::InOneMs { RATE_OF_WORK } else { RATE };
        for engine in ENGINES {
            let runs: Result<Vec<LoadRun>, BenchError> = (0..rounds)
                .map(|_| LoadRun::measure_numbered(stamped(serves)?, engine, rate, SECONDS))
                .collect();
            let runs = runs?;
            for percentile in PERCENTILES {
                exact.row(beside_stamps(engine, (name, rate), percentile, &runs));
            }
            if serves == Serves::Frozen {
                // For requests that hardly wait, arithmetic gives nearly 0.
                let late = PERCENTILES.into_iter().filter(|(_, share)| BARE.at(*share) > EXACT_US);
                late.for_each(|percentile| follows.row(by_arithmetic(engine, percentile, &runs)));
            }
        }
    }
    let (exact, follows) = (exact.markdown(), follows.markdown());
    Ok(format!("\nMedians of {rounds} rounds of {SECONDS} s\n\n{exact}\n{follows}"))
}

/// A printed percentile, in µs.
fn printed(run: &LoadRun, percentile: &str) -> f64 {
    run.printed(&format!("response_time_{percentile}_ns")) / 1e3
}

fn beside_stamps(
    engine: Peer,
    (server, rate): (&str, u32),
    (percentile, share): (&str, f64),
    runs: &[LoadRun],
) -> [String; 9] {
    let all = |of: &dyn Fn(&LoadRun) -> f64| median(runs.iter().map(of));
    let stamped = |run: &LoadRun| at_share(&run.behind_us(|(_, answered)| *answered), share);
    let apart = |run: &LoadRun| printed(run, percentile) - stamped(run);
    let is_exact = |run: &&LoadRun| apart(run).abs() <= EXACT_US.max(EXACT * stamped(run));
    let schedule_lag = all(&|run| run.printed(&format!("schedule_lag_{percentile}_ns")) / 1e3);
    [
        engine.name().to_owned(),
        server.to_owned(),
        rate.to_string(),
        percentile.to_owned(),
        format!("{:.1}", all(&|run| printed(run, percentile))),
        format!("{:.1}", all(&stamped)),
        format!("{:+.1} µs", all(&apart)),
        format!("{} of {}", runs.iter().filter(is_exact).count(), runs.len()),
        format!("{schedule_lag:.1}"),
    ]
}

fn by_arithmetic(engine: Peer, (percentile, share): (&str, f64), runs: &[LoadRun]) -> [String; 10] {
    let all = |of: &dyn Fn(&LoadRun) -> f64| median(runs.iter().map(of));
    let printed = |run: &LoadRun| printed(run, percentile);
    let at_once = BARE.at(share);
    let with_work = |run: &LoadRun| Frozen::seen(&run.stamps).at(share);
    let apart = all(&|run| printed(run) - with_work(run));
    let is_as_told = runs.iter().all(|run| Frozen::seen(&run.stamps).is_as_told());
    [
        engine.name().to_owned(),
        percentile.to_owned(),
        format!("{:.0}", all(&printed)),
        format!("{at_once:.0}"),
        format!("{:+.2} %", 100.0 * (all(&printed) / at_once - 1.0)),
        format!("{:.1}", all(&|run| Frozen::seen(&run.stamps).each_us)),
        format!("{:.0}", all(&|run| Frozen::seen(&run.stamps).first_us)),
        format!("{:.0}", all(&with_work)),
        format!("{:+.2} %", 100.0 * apart / all(&with_work)),
        yes(apart.abs() <= EXACT * all(&with_work) && is_as_told),
    ]
}

/// Compares printed service times of one user with bounds. Each request starts between the previous
/// answer and its own arrival. So each percentile lies between that of the time inside the server
/// and that of the time from answer to answer.
fn with_a_user(rounds: usize) -> Result<String, BenchError> {
    let mut table = Table::new(&[
        "",
        "server",
        "percentile",
        "inside the server µs",
        "printed µs",
        "answer to answer µs",
        "between",
    ]);
    for (serves, name) in SERVERS {
        for engine in ENGINES {
            let runs: Result<Vec<LoadRun>, BenchError> = (0..rounds)
                .map(|_| LoadRun::measure_closed(stamped(serves)?, engine, 1, SECONDS))
                .collect();
            let runs = runs?;
            for (percentile, share) in PERCENTILES {
                let all = |of: &dyn Fn(&LoadRun) -> f64| median(runs.iter().map(of));
                let inside = all(&|run| at_share(&inside_us(&run.stamps), share));
                let between = all(&|run| at_share(&answer_to_answer_us(&run.stamps), share));
                let name_of = format!("service_time_{percentile}_ns");
                let printed = all(&|run| run.printed(&name_of) / 1e3);
                let holds = inside * (1.0 - EXACT) <= printed && printed <= between * (1.0 + EXACT);
                table.row([
                    engine.name().to_owned(),
                    name.to_owned(),
                    percentile.to_owned(),
                    format!("{inside:.1}"),
                    format!("{printed:.1}"),
                    format!("{between:.1}"),
                    yes(holds),
                ]);
            }
        }
    }
    let markdown = table.markdown();
    Ok(format!("\nClosed, one user, medians of {rounds} rounds of {SECONDS} s\n\n{markdown}"))
}

fn yes(holds: bool) -> String {
    if holds { "yes" } else { "NO" }.to_owned()
}

/// The times inside the server in µs, sorted.
fn inside_us(stamps: &Stamps) -> Vec<f64> {
    sorted(stamps.iter().map(|(arrived, answered)| answered.saturating_sub(*arrived)))
}

/// The times from answer to answer in µs, sorted. The first answer has no earlier one.
fn answer_to_answer_us(stamps: &Stamps) -> Vec<f64> {
    let mut gaps: Vec<f64> = answered_us(stamps).windows(2).map(|two| two[1] - two[0]).collect();
    gaps.sort_by(f64::total_cmp);
    gaps
}

/// The times of the answers in µs since the first arrival, in order.
fn answered_us(stamps: &Stamps) -> Vec<f64> {
    let first = stamps.iter().map(|(arrived, _)| *arrived).min().unwrap_or(0);
    sorted(stamps.iter().map(|(_, answered)| answered.saturating_sub(first)))
}

fn sorted(ns: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut us: Vec<f64> = ns.map(|ns| ns as f64 / 1e3).collect();
    us.sort_by(f64::total_cmp);
    us
}

/// A server that is frozen for 500 ms at 2, 4, 6 and 8 s of 10 s. From then on a request is due
/// each 500 µs. The first waits longest. Each later one waits 500 µs less than the one before,
/// except for the time that the server takes to answer that one.
struct Frozen {
    /// How long the first request waits, in µs.
    first_us: f64,
    /// How long the server takes for one of the waiting requests, in µs.
    each_us: f64,
}

/// The freeze as requested, with a server that takes no time.
const BARE: Frozen = Frozen { first_us: FROZEN_US, each_us: 0.0 };

impl Frozen {
    /// The freeze as it was, from the gaps between answers. The longest gap is the freeze: 500 µs
    /// more than the first request waits, because it was due that long after the one before. A gap
    /// longer than two requests and soon after a freeze is the acceptance of all waiting
    /// connections, after the first freeze. Gaps shorter than half the time between two requests
    /// are the work on one request, on average.
    fn seen(stamps: &Stamps) -> Frozen {
        let (mut still, mut thawed, mut work) = (0.0, None, Vec::new());
        for two in answered_us(stamps).windows(2) {
            let gap = two[1] - two[0];
            let is_after = thawed.is_some_and(|thawed| two[0] - thawed < WORKED_OFF_US);
            if gap > FROZEN_US / 2.0 {
                (still, thawed) = (still + gap, Some(two[1]));
            } else if is_after && gap > 2.0 * EVERY_US {
                still += gap;
            } else if gap < EVERY_US / 2.0 {
                work.push(gap);
            }
        }
        let each_us = work.iter().sum::<f64>() / work.len().max(1) as f64;
        Frozen { first_us: still / FREEZES - EVERY_US, each_us }
    }

    /// Whether the freeze was as long as requested.
    fn is_as_told(&self) -> bool {
        (self.first_us - FROZEN_US).abs() <= EXACT * FROZEN_US
    }

    fn at(&self, share: f64) -> f64 {
        let later = (1.0 - share) * f64::from(RATE * SECONDS) / FREEZES;
        (self.first_us - later * (EVERY_US - self.each_us)).max(0.0)
    }
}

const SERVERS: [(Serves, &str); 3] =
    [(Serves::AtOnce, "at once"), (Serves::InOneMs, "in 1 ms"), (Serves::Frozen, "frozen")];
/// Requests per second of the schedule.
const RATE: u32 = 2_000;
/// Requests per second for the server that works: it is idle between two requests.
const RATE_OF_WORK: u32 = 400;
/// The time from one request to the next, in µs.
const EVERY_US: f64 = 1e6 / RATE as f64;
/// The length of a load in s.
const SECONDS: u32 = 10;
/// The number of freezes in a load.
const FREEZES: f64 = 4.0;
const FROZEN_US: f64 = 500_000.0;
/// The time in µs after a freeze when no request waits any more.
const WORKED_OFF_US: f64 = 100_000.0;
/// The required accuracy of a printed percentile: this share of it, or this many µs.
const EXACT: f64 = 0.01;
const EXACT_US: f64 = 20.0;
