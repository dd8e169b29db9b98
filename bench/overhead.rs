//! Measures from a stored run what a trial takes besides its load: start, verification and stop.
//!
//! `cargo run --release -p stampede --example overhead -- last`

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "last".to_owned());
    let run = match stampede_results::store::read_below(
        Path::new(stampede_model::record::RESULTS),
        &name,
    ) {
        Ok(run) => run,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let mut longest = 0;
    for trial in &run.trials {
        let record = &trial.record;
        let beside: u64 = record
            .phases
            .iter()
            .filter(|phase| !["warm-up", "measure", "drain"].contains(&phase.phase.as_str()))
            .map(|phase| phase.end_ns - phase.begin_ns)
            .sum();
        let parts: Vec<String> = record
            .phases
            .iter()
            .map(|phase| {
                format!("{} {:.2}", phase.phase, (phase.end_ns - phase.begin_ns) as f64 / 1e9)
            })
            .collect();
        let case = &run.record.cases[record.case];
        println!(
            "{:>3} {:<16} {:.2} s beside the load ({} s)",
            record.number,
            case.runtime,
            beside as f64 / 1e9,
            parts.join(", ")
        );
        longest = longest.max(beside);
    }
    println!("longest: {:.2} s of {LIMIT_S} s", longest as f64 / 1e9);
    if longest < LIMIT_S * 1_000_000_000 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Seconds that a trial may take besides warm-up, measuring and drain.
const LIMIT_S: u64 = 3;
