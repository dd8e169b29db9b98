//! Checks the whole program against a server that freezes: `stampede fire` must print how long
//! requests wait for it, and must not blame itself.

use std::io::Write as _;

use serde_json::Value;
use stampede_known_server::RequestTimestamps;

use crate::Settings;
use crate::bracket::{Bounds, Bracket, Place, Span};
use crate::error::BenchError;
use crate::loaded::LoadRun;
use crate::peers::Peer;
use crate::report::{Goal, Report};
use crate::stamped::{Freezing, Serves, Stamped};
use crate::table::{Table, median};

/// A round: what was printed, and the bounds.
struct Round {
    /// In the order of [`PERCENTILES`].
    printed_us: Vec<f64>,
    brackets: Vec<Bracket>,
    verdict: String,
    reasons: String,
}

/// Compares percentiles of the response time with the server's stamps.
pub fn frozen(settings: Settings) -> Result<Report, BenchError> {
    if !Peer::Fire.installed() {
        let text = "\nNot measured: `stampede` is not built (cargo build --release).\n";
        return Ok(Report::new(text.to_owned()));
    }
    let rounds = settings.rounds.unwrap_or(3);
    let taken: Result<Vec<Round>, BenchError> = (0..rounds).map(|_| measure()).collect();
    let taken = taken?;
    let mut table =
        Table::new(&["percentile", "from µs", "printed µs", "to µs", "inside in rounds"]);
    let mut goals = Vec::new();
    for (at, (name, _)) in PERCENTILES.iter().enumerate() {
        let all = |of: &dyn Fn(&Round) -> f64| format!("{:.0}", median(taken.iter().map(of)));
        let is_inside =
            |round: &&Round| round.brackets[at].place(round.printed_us[at]) == Place::Inside;
        let held = taken.iter().filter(is_inside).count();
        table.row([
            (*name).to_owned(),
            all(&|round| round.brackets[at].low_us),
            all(&|round| round.printed_us[at]),
            all(&|round| round.brackets[at].high_us),
            format!("{held} of {rounds}"),
        ]);
        goals.push(Goal::all(format!("frozen server: {name} between the stamps"), held, rounds));
    }
    let accepted = taken.iter().filter(|round| round.verdict != "invalid").count();
    goals.push(Goal::all("frozen server: the result counts", accepted, rounds));
    let verdicts = taken.iter().map(|round| format!("- {}{}\n", round.verdict, round.reasons));
    let text = format!(
        "\nFrozen for 500 ms every 2 s; {RATE} requests/s on {CONNECTIONS} connections for \
         {SECONDS} s. Medians of {rounds} rounds.\n\n{}\nVerdicts of the rounds:\n\n{}",
        table.markdown(),
        verdicts.collect::<String>()
    );
    Ok(Report { text, goals })
}

fn measure() -> Result<Round, BenchError> {
    let server = Stamped::start(Serves { freezing: Freezing::Every2s, ..Serves::AT_ONCE })?;
    let mut uris = tempfile::NamedTempFile::new()?;
    let requests = u64::from(RATE * SECONDS);
    for number in 0..requests {
        writeln!(uris, "/{number}")?;
    }
    uris.flush()?;
    let command = Peer::fire_file(&server.target, RATE, SECONDS, CONNECTIONS, uris.path());
    let run = LoadRun::of(command, server)?;
    let summary: Value = serde_json::from_str(&run.measured.printed)
        .map_err(|source| BenchError::NoSummary { source })?;
    let bounds = Bounds::new(&spans(run.stamps, requests)?);
    let times = &summary["response_time_ns"];
    let reasons = summary["reasons"].as_array().into_iter().flatten();
    let reasons = reasons.map(|reason| format!(", {}", reason["code"].as_str().unwrap_or("?")));
    Ok(Round {
        printed_us: PERCENTILES
            .iter()
            .map(|(name, _)| times[name].as_f64().map_or(f64::NAN, |ns| ns / 1e3))
            .collect(),
        brackets: PERCENTILES.iter().map(|(_, share)| bounds.at(*share)).collect(),
        verdict: summary["verdict"].as_str().unwrap_or("?").to_owned(),
        reasons: reasons.collect(),
    })
}

/// The bounds of each request's response time. The program does not print the zero of its schedule.
/// It is the latest moment at which no request arrived before it was due, which is too late by the
/// shortest lag of all: some µs, beside hundreds of ms.
fn spans(mut stamps: Vec<RequestTimestamps>, requests: u64) -> Result<Vec<Span>, BenchError> {
    stamps.sort_by_key(|stamp| stamp.number);
    let is_whole = (0..).zip(&stamps).all(|(number, stamp)| stamp.number == number);
    if !is_whole || stamps.len() as u64 != requests {
        return Err(BenchError::LostRequest);
    }
    let due_ns = |stamp: &RequestTimestamps| stamp.number * 1_000_000_000 / u64::from(RATE);
    let zero_ns = stamps.iter().map(|stamp| stamp.arrived_ns - due_ns(stamp)).min().unwrap_or(0);
    let span = |stamp: &RequestTimestamps| Span {
        low_ns: stamp.before_send_ns - zero_ns - due_ns(stamp),
        high_ns: stamp.after_send_ns - zero_ns - due_ns(stamp),
    };
    Ok(stamps.iter().map(span).collect())
}

/// Those that are a wait for the frozen server.
const PERCENTILES: [(&str, f64); 4] = [("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];
const RATE: u32 = 2_000;
const CONNECTIONS: u32 = 50;
const SECONDS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(number: u64, arrived_ns: u64) -> RequestTimestamps {
        let (before_send_ns, after_send_ns) = (arrived_ns + 10_000, arrived_ns + 12_000);
        RequestTimestamps { number, connection: 1, arrived_ns, before_send_ns, after_send_ns }
    }

    #[test]
    fn times_count_from_the_schedule_that_fits_the_earliest_request() {
        // Due each 500 µs from 1 ms on; the requests are 40, 20 and 3 000 µs late.
        let stamps = vec![stamp(2, 5_000_000), stamp(0, 1_040_000), stamp(1, 1_520_000)];
        let spans = spans(stamps, 3).unwrap();
        assert_eq!(spans[1], Span { low_ns: 10_000, high_ns: 12_000 });
        assert_eq!(spans[0], Span { low_ns: 30_000, high_ns: 32_000 });
        assert_eq!(spans[2], Span { low_ns: 2_990_000, high_ns: 2_992_000 });
    }

    #[test]
    fn a_missing_request_is_an_error() {
        assert!(spans(vec![stamp(0, 0)], 2).is_err());
    }
}
