//! Measures the open model: how long after their due times requests arrive at the server.

use crate::Settings;
use crate::error::BenchError;
use crate::loaded::LoadRun;
use crate::peers::{ENGINES, Peer};
use crate::report::{Figure, Goal, Report};
use crate::stamped::{Serves, Stamped};
use crate::table::{Table, at_share, median};

/// The arrivals of a load beside its schedule.
struct Arrivals {
    /// How far the i-th arrival is behind i ÷ rate, in µs, sorted.
    behind_us: Vec<f64>,
    /// How far the arrivals within 10 ms are from the rate's number, as shares of it, sorted.
    uneven: Vec<f64>,
    /// Share of the requests that arrived.
    sent: f64,
    /// Share of its time that the load thread worked; not a number for other generators.
    busy: f64,
    /// Share of a CPU that the process took.
    cpu: f64,
}

impl Arrivals {
    fn measure(peer: Peer, rate: u32, seconds: u32) -> Result<Arrivals, BenchError> {
        let server = Stamped::start(Serves::AT_ONCE)?;
        let command = peer.by_a_schedule(&server.target, rate, seconds);
        let run = LoadRun::of(command.ok_or(BenchError::NoSchedule)?, server)?;
        let mut arrived_ns: Vec<u64> = run.stamps.iter().map(|stamp| stamp.arrived_ns).collect();
        arrived_ns.sort_unstable();
        // Other generators do not print their zero: their first request then counts as on time.
        let zero_ns = run.began_ns().or(arrived_ns.first().copied()).unwrap_or(0);
        let since_zero = arrived_ns.iter().map(|at| *at as f64 - zero_ns as f64);
        let since_zero_us: Vec<f64> = since_zero.map(|ns| ns / 1e3).collect();
        Ok(Arrivals {
            behind_us: behind_us(&since_zero_us, rate),
            uneven: uneven(&since_zero_us, rate, seconds),
            sent: arrived_ns.len() as f64 / f64::from(rate * seconds),
            busy: run.printed("busy_share"),
            cpu: run.measured.cpu_s / f64::from(seconds),
        })
    }
}

fn behind_us(since_zero_us: &[f64], rate: u32) -> Vec<f64> {
    let due_us = |number: usize| number as f64 * 1e6 / f64::from(rate);
    let arrived = since_zero_us.iter().enumerate();
    let mut behind: Vec<f64> = arrived.map(|(number, at)| at - due_us(number)).collect();
    behind.sort_by(f64::total_cmp);
    behind
}

fn uneven(since_zero_us: &[f64], rate: u32, seconds: u32) -> Vec<f64> {
    let mut bins = vec![0.0; seconds as usize * 100];
    for at in since_zero_us {
        if let Some(bin) = bins.get_mut((at.max(0.0) / 10_000.0) as usize) {
            *bin += 1.0;
        }
    }
    let wanted = f64::from(rate) / 100.0;
    let mut apart: Vec<f64> = bins.iter().map(|requests| (requests / wanted - 1.0).abs()).collect();
    apart.sort_by(f64::total_cmp);
    apart
}

/// Medians over the rounds of one generator at one rate.
struct Medians<'a>(&'a [Arrivals]);

impl Medians<'_> {
    fn of(&self, of: impl Fn(&Arrivals) -> f64) -> f64 {
        median(self.0.iter().map(of))
    }

    fn lag_us(&self, share: f64) -> f64 {
        self.of(|round| at_share(&round.behind_us, share))
    }

    fn uneven_percent(&self, share: f64) -> f64 {
        100.0 * self.of(|round| at_share(&round.uneven, share))
    }

    fn cells(&self, peer: Peer, rate: u32) -> [String; 10] {
        let percent = |of: fn(&Arrivals) -> f64| 100.0 * self.of(of);
        let busy = percent(|round| round.busy);
        [
            peer.name().to_owned(),
            rate.to_string(),
            format!("{:.3} %", percent(|round| round.sent)),
            format!("{:.1}", self.lag_us(0.5)),
            format!("{:.1}", self.lag_us(0.99)),
            format!("{:.1}", self.lag_us(0.999)),
            format!("{:.1} %", self.uneven_percent(0.99)),
            format!("{:.1} %", self.uneven_percent(1.0)),
            if busy.is_nan() { String::new() } else { format!("{busy:.0} %") },
            format!("{:.0} %", percent(|round| round.cpu)),
        ]
    }

    /// The goals of our own generator at this rate.
    fn goals(&self, rate: u32) -> Vec<Goal> {
        let at = |what: &str| format!("{rate} requests/s: {what}");
        let micros = |value| Figure { value, decimals: 1, unit: " µs" };
        let percent = |value| Figure { value, decimals: 1, unit: " %" };
        let p99 =
            |limit| Goal::at_most(at("p99 lag at the server"), limit, micros(self.lag_us(0.99)));
        let mut goals = vec![Goal::all(
            at("rounds in which every request was sent"),
            self.0.iter().filter(|round| round.sent >= 1.0).count(),
            self.0.len(),
        )];
        match rate {
            1_000 => {
                let cpu = percent(100.0 * self.of(|round| round.cpu));
                goals.extend([p99(100.0), Goal::at_most(at("share of a CPU"), 20.0, cpu)]);
            }
            20_000 => {
                let p50 = micros(self.lag_us(0.5));
                let uneven = percent(self.uneven_percent(0.99));
                goals.push(Goal::at_most(at("p50 lag at the server"), 30.0, p50));
                goals.push(p99(200.0));
                let what = at("p99 of the deviation within 10 ms");
                goals.push(Goal::at_most(what, 2.0, uneven));
            }
            _ => goals.push(p99(400.0)),
        }
        goals
    }
}

/// Measures lag at the server, evenness, share sent, and cost of both engines and of others, in
/// turn. The goals are those of epoll, which schedules use.
pub fn lag(settings: Settings) -> Result<Report, BenchError> {
    let (rounds, seconds) = (settings.rounds.unwrap_or(5), settings.seconds.unwrap_or(10));
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
    let peers = ENGINES.into_iter().chain([Peer::Oha, Peer::Zrk]);
    let peers: Vec<Peer> = peers.filter(|peer| peer.installed()).collect();
    let mut goals = Vec::new();
    for rate in RATES {
        let mut taken: Vec<Vec<Arrivals>> = peers.iter().map(|_| Vec::new()).collect();
        for _ in 0..rounds {
            for (peer, taken) in peers.iter().zip(&mut taken) {
                taken.push(Arrivals::measure(*peer, rate, seconds)?);
            }
        }
        for (peer, rounds) in peers.iter().zip(&taken) {
            let medians = Medians(rounds);
            table.row(medians.cells(*peer, rate));
            if *peer == Peer::Epoll {
                goals.extend(medians.goals(rate));
            }
        }
    }
    let text = format!("\nMedians of {rounds} rounds of {seconds} s\n\n{}", table.markdown());
    Ok(Report { text, goals })
}

const RATES: [u32; 3] = [1_000, 20_000, 50_000];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;

    #[test]
    fn lag_is_the_arrival_minus_the_due_time() {
        assert_eq!(behind_us(&[5.0, 1_007.0, 2_001.0], 1_000), [1.0, 5.0, 7.0]);
    }

    #[test]
    fn a_missing_request_makes_its_ten_milliseconds_uneven() {
        let even: Vec<f64> = (0..200).map(|number| f64::from(number) * 5_000.0).collect();
        assert_eq!(at_share(&uneven(&even, 200, 1), 1.0), 0.0);
        let less = [&even[..7], &even[8..]].concat();
        assert_eq!(at_share(&uneven(&less, 200, 1), 1.0), 0.5);
    }

    #[test]
    fn a_goal_is_missed_by_lag_and_by_one_unsent_request() {
        let round = |lag_us: f64, sent| Arrivals {
            behind_us: vec![lag_us; 100],
            uneven: vec![0.0],
            sent,
            busy: 0.5,
            cpu: 0.5,
        };
        let verdicts = |lag_us, sent| {
            let goals = Medians(&[round(lag_us, sent)]).goals(20_000);
            goals.iter().map(|goal| goal.verdict).collect::<Vec<Verdict>>()
        };
        let (met, missed) = (Verdict::Met, Verdict::Missed);
        assert_eq!(verdicts(30.0, 1.0), [met; 4]);
        assert_eq!(verdicts(31.0, 1.0), [met, missed, met, met]);
        assert_eq!(verdicts(201.0, 0.999_99), [missed, missed, missed, met]);
    }
}
