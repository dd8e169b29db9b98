//! Measures the generator: against its peers, against the server's stamps, and its memory. See
//! README.md in this directory.

mod child;
mod closed;
mod error;
mod facts;
mod measured;
mod nginx;
mod open;
mod peers;
mod stamped;
mod table;
mod truth;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use error::BenchError;
use nginx::Scheme;
use peers::Peer;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["serve", rest @ ..] => stamped::serve(rest),
        ["fire-closed", rest @ ..] => child::closed(rest),
        ["fire-open", rest @ ..] => child::open(rest),
        ["part", words @ ..] => match part(words) {
            Ok(text) => print!("{text}"),
            Err(why) => return failed(&why),
        },
        parts => match bench(parts) {
            Ok(()) => {}
            Err(why) => return failed(&why),
        },
    }
    ExitCode::SUCCESS
}

fn failed(why: &BenchError) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::from(2)
}

/// Runs the named parts, or all, prints each result and writes all to a file. Each part is a
/// separate process: a child begins with the size of its parent, which would count as its largest
/// size.
fn bench(words: &[&str]) -> Result<(), BenchError> {
    let (numbers, parts): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.contains('='));
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(part)) {
        return Err(BenchError::NoPart { word: (*unknown).to_owned() });
    }
    let mut report = facts::head();
    print!("{report}");
    // Another revision is measured only where it was asked for.
    let is_asked = |part: &&str| parts.contains(part) || (parts.is_empty() && *part != "base");
    for part in PARTS.into_iter().filter(is_asked) {
        let mut command = Command::new(itself());
        let command = command.args(["part", part]).args(&numbers).stderr(Stdio::inherit());
        let output =
            command.output().map_err(|source| BenchError::NoProcess { child: part, source })?;
        if !output.status.success() {
            return Err(BenchError::PartFailed { part, status: output.status });
        }
        let text = format!("\n## {}\n{}", heading(part), String::from_utf8_lossy(&output.stdout));
        print!("{text}");
        report += &text;
    }
    println!("\nwritten: {}", facts::write(&report)?);
    Ok(())
}

/// Runs one part, given its name and its `name=number` settings.
fn part(words: &[&str]) -> Result<String, BenchError> {
    let number = |name: &str, otherwise| {
        let given = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let wrong =
            |given: &str| BenchError::NotANumber { name: name.to_owned(), given: given.to_owned() };
        given.map_or(Ok(otherwise), |given| given.parse().map_err(|_| wrong(given)))
    };
    let (rounds, seconds) = (number("rounds", 5)? as usize, number("seconds", 1)?);
    match words.first().copied().unwrap_or_default() {
        "closed" => {
            closed::compare(&Peer::ALL, Scheme::Http, &[10, 100, 1_000, 10_000], seconds, rounds)
        }
        "tls" => closed::compare(&Peer::ALL, Scheme::Https, &[10, 100, 1_000], seconds, rounds),
        "base" => {
            let pairs = number("rounds", 9)? as usize;
            let seconds = number("seconds", 3)?;
            closed::compare(
                &[Peer::Base, Peer::Fire],
                Scheme::Http,
                &[10, 100, 1_000],
                seconds,
                pairs,
            )
        }
        "lag" => open::lag(&[1_000, 20_000, 50_000], number("seconds", 10)?, rounds),
        "truth" => truth::truth(rounds),
        "memory" => closed::memory(number("minutes", 1)?, number("rate", 200)?),
        other => Err(BenchError::NoPart { word: other.to_owned() }),
    }
}

fn heading(part: &str) -> &'static str {
    match part {
        "closed" => "Closed model: cost and throughput",
        "tls" => "Closed model inside TLS 1.3: cost and throughput",
        "lag" => "Open model: lag at the server",
        "base" => "Beside another revision",
        "truth" => "Truth: response times against the server's stamps",
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

const PARTS: [&str; 6] = ["closed", "tls", "lag", "truth", "memory", "base"];
/// The server's CPU.
const SERVER_CPU: usize = 0;
/// The CPU of the load thread and of the peers.
const LOAD_CPU: usize = 1;
/// The percentiles that `stampede fire` prints, with their shares, and the maximum.
const PERCENTILES: [(&str, f64); 10] = [
    ("p50", 0.5),
    ("p75", 0.75),
    ("p80", 0.8),
    ("p85", 0.85),
    ("p90", 0.9),
    ("p95", 0.95),
    ("p98", 0.98),
    ("p99", 0.99),
    ("p999", 0.999),
    ("max", 1.0),
];
