//! Checks a load of two agents against the server's stamps: each agent's percentiles and the merged
//! ones, that nothing is lost in merging, and that the agents start as close together as is said.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use stampede_known_server::RequestTimestamps;

use crate::bracket::{Bounds, Bracket, Place, Span};
use crate::error::BenchError;
use crate::kept::{Compared, Histograms, Kept};
use crate::loaded::LoadRun;
use crate::peers::Peer;
use crate::report::{Goal, Report};
use crate::stamped::{Serves, Stamped};
use crate::table::{Table, median};
use crate::{PERCENTILES, Settings, itself, stampede};

/// How the agents reach the coordinator, and what the server does.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    serves: Serves,
    way: Way,
}

/// The way between the coordinator and the first agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Direct,
    /// 5 ms ± 2 ms in each direction.
    Slow,
}

const CASES: [Case; 2] = [
    Case { name: "at once", serves: Serves::AT_ONCE, way: Way::Direct },
    Case {
        name: "5 ms, one agent behind a relay",
        serves: Serves { delay_ms: 5, ..Serves::AT_ONCE },
        way: Way::Slow,
    },
];

/// Which time of a request is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Response,
    Service,
}

impl Time {
    const ALL: [(Time, &str); 2] =
        [(Time::Response, "response_time"), (Time::Service, "service_time")];

    /// Bounds of one request. No request starts before it is due, and no agent says when each of its
    /// requests started. So the service time has an upper bound that contains the lag.
    fn span(self, request: &Numbered) -> Span {
        let latest_start_ns = match self {
            Time::Response => request.due_ns,
            Time::Service => request.stamp.arrived_ns,
        };
        Span {
            low_ns: request.stamp.before_send_ns.saturating_sub(latest_start_ns),
            high_ns: request.stamp.after_send_ns.saturating_sub(request.due_ns),
        }
    }
}

/// A request of one agent.
#[derive(Clone, Copy, Debug)]
struct Numbered {
    agent: usize,
    /// On the monotonic clock, by the schedule's arithmetic and the zero of its agent's load.
    due_ns: u64,
    stamp: RequestTimestamps,
}

/// What one load showed.
struct Round {
    /// For each time, sender and percentile, in this order.
    percentiles: Vec<(Bracket, f64)>,
    merged: Compared,
    starts: Starts,
    verdict: String,
}

/// How far the starts of the two agents lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Starts {
    /// What is printed for each agent, in µs.
    said_us: [f64; AGENTS],
    /// By the server's stamps: between the least late arrivals of the two.
    apart_us: f64,
}

impl Starts {
    fn of(said_ns: [f64; AGENTS], stamps: &[RequestTimestamps]) -> Starts {
        let least_late = |agent: usize| {
            let own = stamps.iter().filter(|stamp| agent_of(stamp.number) == agent);
            own.map(|stamp| stamp.arrived_ns - due_ns(stamp.number)).min().unwrap_or(0)
        };
        let apart_ns = least_late(0).abs_diff(least_late(1));
        Starts { said_us: said_ns.map(|ns| ns / 1e3), apart_us: apart_ns as f64 / 1e3 }
    }

    /// Whether they lie no farther apart than is said. Not a number: nothing was said.
    fn are_true(self) -> bool {
        self.apart_us <= self.said_us.iter().sum::<f64>() + WAY_SLACK_US
    }
}

/// Compares loads of two agents with the stamps. `falsify` percent are added to each printed time and
/// to each time in the merged histograms, to show that the check can fail.
pub fn agents(settings: Settings) -> Result<Report, BenchError> {
    if !Peer::Fire.installed() {
        let text = "\nNot measured: `stampede` is not built (cargo build --release).\n";
        return Ok(Report::new(text.to_owned()));
    }
    let (rounds, seconds) = (settings.rounds.unwrap_or(3), settings.seconds.unwrap_or(12));
    let factor = 1.0 + f64::from(settings.falsify) / 100.0;
    let mut table = Table::new(&[
        "load",
        "sent by",
        "time",
        "percentile",
        "from µs",
        "printed µs",
        "to µs",
        "width µs",
        "inside",
    ]);
    let mut others = Table::new(&[
        "load",
        "histograms",
        "times",
        "differ",
        "start of 1 said µs",
        "of 2 said µs",
        "apart µs",
        "true",
        "verdict",
    ]);
    let (mut inside, mut all, mut merged, mut true_starts) = (0, 0, 0, 0);
    for case in &CASES {
        let taken: Result<Vec<Round>, BenchError> =
            (0..rounds).map(|_| Round::measure(case, seconds, factor)).collect();
        let taken = taken?;
        for (at, (time, sender, percentile)) in rows().into_iter().enumerate() {
            let (held, cells) = percentile_cells(&taken, at);
            let name = [case.name.to_owned(), sender, time.to_owned(), percentile.to_owned()];
            table.row(name.into_iter().chain(cells));
            (inside, all) = (inside + usize::from(held == rounds), all + 1);
        }
        merged += taken.iter().filter(|round| round.merged.different == 0).count();
        true_starts += taken.iter().filter(|round| round.starts.are_true()).count();
        taken.iter().for_each(|round| others.row(round.cells(case)));
    }
    let loads = CASES.len() * rounds;
    let goals = vec![
        Goal::all("agents: percentiles between the stamps", inside, all),
        Goal::all(
            "agents: loads whose merged histograms are the sum of the agents' files",
            merged,
            loads,
        ),
        Goal::all("agents: loads whose starts are as close as is said", true_starts, loads),
    ];
    let falsified = match settings.falsify {
        0 => String::new(),
        percent => {
            format!("\n**Falsified: {percent} % are added to each printed and merged time.**\n")
        }
    };
    let text = format!(
        "{falsified}\nTwo agents, {} requests/s each, uniform arrivals. Medians of {rounds} rounds of \
         {seconds} s\n\n{}\nEach round: histograms by second and kind of time, and the agents' starts\n\n{}",
        RATE / AGENTS as u32,
        table.markdown(),
        others.markdown()
    );
    Ok(Report { text, goals })
}

/// Names of the rows of a load: time, sender, percentile.
fn rows() -> Vec<(&'static str, String, &'static str)> {
    let senders = || (1..=AGENTS).map(|agent| format!("agent {agent}")).chain(["both".to_owned()]);
    let of_sender = |(_, time): (Time, &'static str)| {
        senders().flat_map(move |sender| {
            PERCENTILES.iter().map(move |(percentile, _)| (time, sender.clone(), *percentile))
        })
    };
    Time::ALL.into_iter().flat_map(of_sender).collect()
}

/// In how many rounds a percentile lay inside, and its cells.
fn percentile_cells(rounds: &[Round], at: usize) -> (usize, [String; 5]) {
    let all = |of: fn(&(Bracket, f64)) -> f64| {
        format!("{:.1}", median(rounds.iter().map(|round| of(&round.percentiles[at]))))
    };
    let is_inside = |round: &&Round| {
        let (bracket, printed_us) = round.percentiles[at];
        bracket.place(printed_us) == Place::Inside
    };
    let held = rounds.iter().filter(is_inside).count();
    let said = match held == rounds.len() {
        true => "yes".to_owned(),
        false => format!("NO, {held} of {}", rounds.len()),
    };
    let cells = [
        all(|(bracket, _)| bracket.low_us),
        all(|(_, printed_us)| *printed_us),
        all(|(bracket, _)| bracket.high_us),
        all(|(bracket, _)| bracket.width_us()),
        said,
    ];
    (held, cells)
}

impl Round {
    fn measure(case: &Case, seconds: u32, factor: f64) -> Result<Round, BenchError> {
        let place = tempfile::tempdir()?;
        let server = Stamped::start(case.serves)?;
        let requests = RATE * seconds;
        let (uris, merged) = (place.path().join("uris"), place.path().join("merged"));
        let mut lines = Vec::new();
        (0..requests).try_for_each(|number| writeln!(lines, "/{number}"))?;
        std::fs::write(&uris, lines)?;
        let program = write_program(place.path(), case.way)?;
        let command =
            Peer::fire_agents(&server.target, (RATE, seconds), AGENTS, [&program, &uris, &merged]);
        let run = LoadRun::of(command, server)?;
        let summary: Value = serde_json::from_str(&run.measured.printed)
            .map_err(|source| BenchError::NoSummary { source })?;
        let kept = Kept::all(&place.path().join("kept"))?;
        let numbered = numbered(&run.stamps, &kept, requests)?;
        let merged = Histograms::read(&merged)?;
        let sum = Histograms::sum(kept.iter().map(|kept| &kept.histograms));
        let said = |agent: usize| {
            summary["agents"][agent]["start"]["start_error_ns"].as_f64().unwrap_or(f64::NAN)
        };
        Ok(Round {
            percentiles: percentiles(&numbered, &kept, (&summary, &merged), factor),
            merged: if factor > 1.0 { merged.scaled(factor) } else { merged }.compared(&sum),
            starts: Starts::of([said(0), said(1)], &run.stamps),
            verdict: verdict(&summary),
        })
    }

    fn cells(&self, case: &Case) -> [String; 9] {
        let Compared { histograms, different, times } = self.merged;
        let [first, second] = self.starts.said_us.map(|us| format!("{us:.1}"));
        [
            case.name.to_owned(),
            histograms.to_string(),
            times.to_string(),
            different.to_string(),
            first,
            second,
            format!("{:.1}", self.starts.apart_us),
            if self.starts.are_true() { "yes" } else { "NO" }.to_owned(),
            self.verdict.clone(),
        ]
    }
}

/// Brackets and printed values of all rows, in the order of [`rows`]. The merged percentiles are those
/// that `stampede fire` prints, and an agent's those of the file that it kept. Where fewer than ten
/// requests lie beyond a percentile, none is printed: then it is that of the merged file.
fn percentiles(
    numbered: &[Numbered],
    kept: &[Kept],
    (summary, merged): (&Value, &Histograms),
    factor: f64,
) -> Vec<(Bracket, f64)> {
    let mut all = Vec::new();
    for (time, name) in Time::ALL {
        for sender in 0..=AGENTS {
            let is_own = |one: &&Numbered| sender == AGENTS || one.agent == sender;
            let spans: Vec<Span> =
                numbered.iter().filter(is_own).map(|one| time.span(one)).collect();
            let bounds = Bounds::new(&spans);
            let own = kept.get(sender);
            let of_file = own.map_or(merged, |kept| &kept.histograms).total(name);
            for (percentile, share) in PERCENTILES {
                let printed = &summary[format!("{name}_ns")][percentile];
                let printed_ns = match (own, printed.as_f64()) {
                    (None, Some(ns)) => ns,
                    _ => of_file.at_rank(rank(share, of_file.len())) as f64,
                };
                all.push((bounds.at(share), printed_ns / 1e3 * factor));
            }
        }
    }
    all
}

fn rank(share: f64, count: u64) -> u64 {
    (share * count as f64).ceil().max(1.0) as u64
}

/// All requests, each with its stamps and its agent's schedule.
fn numbered(
    stamps: &[RequestTimestamps],
    kept: &[Kept],
    requests: u32,
) -> Result<Vec<Numbered>, BenchError> {
    let mut stamps = stamps.to_vec();
    stamps.sort_by_key(|stamp| stamp.number);
    let is_whole = (0..).zip(&stamps).all(|(number, stamp)| stamp.number == number);
    let agents: Vec<usize> = kept.iter().map(|kept| kept.agent).collect();
    let has = |kind| kept.iter().map(|kept| kept.histograms.total(kind).len()).sum::<u64>();
    let all = u64::from(requests);
    if !is_whole || stamps.len() as u64 != all || agents != [0, 1] || has("response_time") != all {
        return Err(BenchError::LostRequest);
    }
    let numbered = stamps.into_iter().map(|stamp| {
        let agent = agent_of(stamp.number);
        Numbered { agent, due_ns: kept[agent].zero_ns + due_ns(stamp.number), stamp }
    });
    Ok(numbered.collect())
}

/// Agent k of m sends the requests k, k + m, k + 2m …
fn agent_of(number: u64) -> usize {
    (number % AGENTS as u64) as usize
}

/// Since the zero of the load.
fn due_ns(number: u64) -> u64 {
    number * 1_000_000_000 / u64::from(RATE)
}

fn verdict(summary: &Value) -> String {
    let reasons = summary["reasons"].as_array().into_iter().flatten();
    let codes = reasons.filter_map(|reason| reason["code"].as_str());
    let verdict = summary["verdict"].as_str().unwrap_or("?");
    std::iter::once(verdict).chain(codes).collect::<Vec<&str>>().join(", ")
}

/// Writes the program that an agent runs as: `stampede`, which also keeps its own histograms; for one
/// of the two behind a relay, if the way is slow.
fn write_program(place: &Path, way: Way) -> Result<std::path::PathBuf, BenchError> {
    use std::os::unix::fs::PermissionsExt as _;

    let (kept, program) = (place.join("kept"), place.join("agent"));
    std::fs::create_dir(&kept)?;
    let micros = |time: Duration| time.as_micros();
    let relay = match way {
        Way::Direct => String::new(),
        // The one that makes the directory first.
        Way::Slow => format!(
            "mkdir '{}/slow' 2>/dev/null && exec '{}' relay {} {} '{}' \"$@\" --hlog-dir '{}'\n",
            place.display(),
            itself(),
            micros(SHORTEST),
            micros(MORE),
            stampede(),
            kept.display()
        ),
    };
    let text =
        format!("#!/bin/sh\n{relay}exec '{}' \"$@\" --hlog-dir '{}'\n", stampede(), kept.display());
    std::fs::write(&program, text)?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    Ok(program)
}

const AGENTS: usize = 2;
/// Requests per second of both together.
const RATE: u32 = 1_000;
/// How much the shortest ways of two agents from a start to the arrival at the server may differ: a
/// wake-up, and one system call.
const WAY_SLACK_US: f64 = 100.0;
/// Shortest time of a message on the slow way, and how much more it may take.
const SHORTEST: Duration = Duration::from_millis(3);
const MORE: Duration = Duration::from_millis(4);

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 000 requests of agents whose loads began at 10 s, and 40 µs after it.
    fn stamps() -> Vec<RequestTimestamps> {
        let stamp = |number: u64| {
            let late_ns = if agent_of(number) == 1 { 40_000 } else { 0 };
            let arrived_ns =
                10_000_000_000 + late_ns + due_ns(number) + 30_000 + number % 7 * 1_000;
            RequestTimestamps {
                number,
                connection: 0,
                arrived_ns,
                before_send_ns: arrived_ns + 50_000,
                after_send_ns: arrived_ns + 60_000,
            }
        };
        (0..1_000).map(stamp).collect()
    }

    #[test]
    fn starts_are_as_far_apart_as_the_least_late_arrivals() {
        let starts = |said_us: f64| Starts::of([said_us * 1e3, 10_000.0], &stamps());
        assert_eq!(starts(20.0).apart_us, 40.0);
        assert!(starts(20.0).are_true());
        let far = Starts { apart_us: 131.0, ..starts(20.0) };
        assert!(!far.are_true() && starts(21.0).said_us == [21.0, 10.0]);
        assert!(!Starts { said_us: [f64::NAN, 10.0], ..far }.are_true(), "nothing was said");
    }

    #[test]
    fn a_request_is_due_by_the_zero_of_its_agent() {
        let kept =
            |agent: usize, zero_ns| Kept { agent, zero_ns, histograms: Histograms::default() };
        let kept = [kept(0, 10_000_000_000), kept(1, 10_000_040_000)];
        let error = numbered(&stamps(), &kept, 1_000).unwrap_err();
        assert!(matches!(error, BenchError::LostRequest), "its files have no times");
        let one = |number: usize| {
            let stamp = stamps()[number];
            let agent = agent_of(stamp.number);
            Numbered { agent, due_ns: kept[agent].zero_ns + due_ns(stamp.number), stamp }
        };
        assert_eq!(Time::Response.span(&one(7)), Span { low_ns: 80_000, high_ns: 90_000 });
        assert_eq!(Time::Service.span(&one(7)), Span { low_ns: 50_000, high_ns: 90_000 });
        assert_eq!((one(7).agent, one(8).agent), (1, 0));
    }

    #[test]
    fn a_percentile_outside_in_one_round_is_counted() {
        let bracket = Bracket { low_us: 1_000.0, high_us: 1_004.0 };
        let round = |printed_us| Round {
            percentiles: vec![(bracket, printed_us)],
            merged: Compared { histograms: 1, different: 0, times: 1 },
            starts: Starts { said_us: [1.0; AGENTS], apart_us: 1.0 },
            verdict: String::new(),
        };
        let (held, cells) = percentile_cells(&[round(1_001.0), round(1_001.0 * 1.02)], 0);
        assert_eq!((held, &*cells[4], &*cells[3]), (1, "NO, 1 of 2", "4.0"));
        let (held, cells) = percentile_cells(&[round(1_001.0)], 0);
        assert_eq!((held, &*cells[4]), (1, "yes"));
    }

    #[test]
    fn each_row_has_a_name() {
        let rows = rows();
        assert_eq!(rows.len(), 2 * 3 * PERCENTILES.len());
        assert_eq!(rows[0], ("response_time", "agent 1".to_owned(), "p50"));
        let last = rows.last().expect("there are some");
        assert_eq!(*last, ("service_time", "both".to_owned(), "p999"));
    }
}
