//! Measures the generator: against its peers, against the server's stamps, and its memory. See
//! README.md in the directory above.
//!
//! Exit code 1: a goal is missed; 2: something could not be measured.

mod agents;
mod bracket;
mod cases;
mod child;
mod closed;
mod error;
mod facts;
mod frozen;
mod joined;
mod kept;
mod lag;
mod loaded;
mod measured;
mod memory;
mod nginx;
mod peers;
mod relay;
mod report;
mod stamped;
mod table;
mod truth;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use closed::Comparison;
use error::BenchError;
use nginx::Scheme;
use peers::Peer;
use report::Report;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let met = match arguments.as_slice() {
        ["serve", rest @ ..] => {
            stamped::serve(rest);
            Ok(true)
        }
        ["fire", rest @ ..] => child::fire(rest).map(|()| true),
        ["relay", rest @ ..] => relay::relay(rest).map(|()| true),
        ["part", part, rest @ ..] => measured_part(part, rest),
        words => bench(words),
    };
    match met {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(MISSED),
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn measured_part(part: &str, words: &[&str]) -> Result<bool, BenchError> {
    let report = measure(part, Settings::of(words)?)?;
    print!("{report}");
    Ok(report.is_met())
}

/// Runs the named parts, or all, prints each result and writes all to a file. Each part is a
/// separate process: a child begins with the size of its parent, which would count as its largest
/// size. Returns whether all goals are met.
fn bench(words: &[&str]) -> Result<bool, BenchError> {
    let (settings, parts): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.contains('='));
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(part)) {
        return Err(BenchError::NoPart { word: (*unknown).to_owned() });
    }
    Settings::of(&settings)?;
    let mut report = facts::head();
    print!("{report}");
    let mut met = true;
    // Another revision is measured only where it was asked for.
    let is_asked = |part: &&str| parts.contains(part) || (parts.is_empty() && *part != "base");
    for part in PARTS.into_iter().filter(is_asked) {
        let mut command = Command::new(itself());
        let command = command.args(["part", part]).args(&settings).stderr(Stdio::inherit());
        let output =
            command.output().map_err(|source| BenchError::NoProcess { child: part, source })?;
        if !output.status.success() && output.status.code() != Some(MISSED.into()) {
            return Err(BenchError::PartFailed { part, status: output.status });
        }
        met &= output.status.success();
        let text = format!("\n## {}\n{}", heading(part), String::from_utf8_lossy(&output.stdout));
        print!("{text}");
        report += &text;
    }
    println!("\nwritten: {}", facts::write(&report)?);
    Ok(met)
}

/// How a part is measured; what is not set has the part's default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Settings {
    rounds: Option<usize>,
    seconds: Option<u32>,
    minutes: Option<u32>,
    rate: Option<u32>,
    /// Percent that are added to each printed time of `truth` and `agents`.
    falsify: u32,
}

impl Settings {
    /// Reads words such as `rounds=9`.
    fn of(words: &[&str]) -> Result<Settings, BenchError> {
        let mut settings = Settings::default();
        for given in words {
            let (name, value) = given.split_once('=').unwrap_or((given, ""));
            let number: u32 = value.parse().map_err(|_| BenchError::NotANumber {
                name: name.to_owned(),
                given: value.to_owned(),
            })?;
            match name {
                "rounds" => settings.rounds = Some(number.max(1) as usize),
                "seconds" => settings.seconds = Some(number.max(1)),
                "minutes" => settings.minutes = Some(number),
                "rate" => settings.rate = Some(number.max(1)),
                "falsify" => settings.falsify = number,
                _ => return Err(BenchError::NoSetting { word: (*given).to_owned() }),
            }
        }
        Ok(settings)
    }
}

/// The value of `name=value` among words.
fn word<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

fn measure(part: &str, settings: Settings) -> Result<Report, BenchError> {
    match part {
        "closed" => AGAINST_WRK.measure(settings),
        "tls" => Comparison { scheme: Scheme::Https, cpu_goals: &[0.9; 3], ..AGAINST_WRK }
            .measure(settings),
        "peers" => {
            let others = &Peer::OTHERS;
            let peers = Comparison { others, rounds: 3, cpu_goals: &[], ..AGAINST_WRK };
            let plain = peers.measure(settings)?;
            let tls = Comparison { scheme: Scheme::Https, ..peers }.measure(settings)?;
            Ok(Report::new(format!("{plain}\n### Inside TLS\n{tls}")))
        }
        "stamps" => {
            let (baseline, others) = (Peer::Unstamped, &[Peer::Epoll]);
            Comparison { baseline, others, cpu_goals: &[], ..AGAINST_WRK }.measure(settings)
        }
        "base" => {
            let (baseline, others) = (Peer::Base, &[Peer::Fire]);
            Comparison { baseline, others, cpu_goals: &[], ..AGAINST_WRK }.measure(settings)
        }
        "lag" => lag::lag(settings),
        "truth" => truth::truth(settings),
        "frozen" => frozen::frozen(settings),
        "agents" => agents::agents(settings),
        "memory" => memory::memory(settings),
        other => Err(BenchError::NoPart { word: other.to_owned() }),
    }
}

fn heading(part: &str) -> &'static str {
    match part {
        "truth" => "Truth: printed times against the server's stamps",
        "frozen" => "A frozen server",
        "agents" => "Agents: two processes against the server's stamps",
        "lag" => "Open model: lag at the server",
        "closed" => "Closed model: cost and throughput",
        "tls" => "Closed model inside TLS 1.3: cost and throughput",
        "peers" => "Other generators",
        "stamps" => "Cost of the kernel's timestamps in the closed model",
        "base" => "Beside another revision",
        _ => "Memory",
    }
}

/// The path of this program, to start it as a child.
fn itself() -> String {
    text(&std::env::current_exe().expect("the path of this program"))
}

/// The path of `stampede`, if it was built: it is in the directory above this program's.
fn stampede() -> String {
    let path = std::env::current_exe().expect("the path of this program");
    let directory = path.ancestors().nth(2).unwrap_or(Path::new("/"));
    text(&directory.join("stampede"))
}

fn text(path: &Path) -> String {
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// Nine pairs: the interval from the second to the eighth ratio holds the true median with 96 %.
const AGAINST_WRK: Comparison<'static> = Comparison {
    baseline: Peer::Wrk,
    others: &Peer::OURS,
    scheme: Scheme::Http,
    connections: &[10, 100, 1_000],
    rounds: 9,
    cpu_goals: &[0.95, 0.95, 1.0],
};

const PARTS: [&str; 10] =
    ["truth", "frozen", "agents", "lag", "closed", "tls", "stamps", "memory", "peers", "base"];
const SETTINGS: [&str; 5] = ["rounds=", "seconds=", "minutes=", "rate=", "falsify="];
/// The exit code when a goal is missed.
const MISSED: u8 = 1;
/// The server's CPU.
const SERVER_CPU: usize = 0;
/// The CPU of the load thread and of the peers.
const LOAD_CPU: usize = 1;
/// The percentiles that `stampede fire` prints, with their shares.
const PERCENTILES: [(&str, f64); 9] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p80", 0.8),
    ("p85", 0.85),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p98", 0.98),
    ("p99", 0.99),
    ("p999", 0.999),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_numbers_with_a_known_name() {
        let settings = Settings::of(&["rounds=3", "falsify=2"]).unwrap();
        assert_eq!((settings.rounds, settings.seconds, settings.falsify), (Some(3), None, 2));
        let error = |word| Settings::of(&[word]).unwrap_err().to_string();
        assert_eq!(error("rounds=many"), "rounds=many?");
        assert!(error("second=3").starts_with("`second=3`: the settings are rounds="));
    }

    #[test]
    fn a_word_is_found_by_its_whole_name() {
        assert_eq!(word(&["users=3", "user=4"], "user"), Some("4"));
        assert_eq!(word(&["users=3"], "use"), None);
    }
}
