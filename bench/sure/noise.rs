//! Shows how much this machine's rounds disagree about two equal runtimes: for each figure the
//! standard deviation of the log ratio within a round, and the number of rounds that find 5 % with
//! it.
//!
//! `cargo run --release -p stampede --example noise -- last`, after a run of `bench/sure/aa.yaml`

use std::path::Path;
use std::process::ExitCode;

use stampede_model::record::RESULTS;
use stampede_model::record::Validity;
use stampede_results::store::{StoreError, read_below};
use stampede_results::summary::model::{CaseSummary, Figure, Figures, Group, LoadModel};
use stampede_results::summary::{RunData, Summary, summarize};
use stampede_stats::estimate::Estimate;
use stampede_stats::rounds::{needed, noise};

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_else(|| "last".to_owned());
    match read(&name) {
        Ok(summary) => {
            println!("run {}, {} rounds", summary.run, summary.rounds);
            for group in &summary.groups {
                let cases: Vec<&CaseSummary> = summary.cases_of(group).collect();
                table(group, &cases);
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn read(name: &str) -> Result<Summary, StoreError> {
    Ok(summarize(&RunData::read(&read_below(Path::new(RESULTS), name)?)?))
}

type Of = fn(&Figures) -> Figure;

/// The figures by which people choose a runtime.
fn figures(model: LoadModel) -> Vec<(&'static str, Of)> {
    let mut all: Vec<(&'static str, Of)> = match model {
        LoadModel::Open => vec![
            ("p50 of response time", |figures| figures.response_time_ns.p50),
            ("p95 of response time", |figures| figures.response_time_ns.p95),
        ],
        LoadModel::Closed => vec![
            ("p50 of service time", |figures| figures.service_time_ns.p50),
            ("p95 of service time", |figures| figures.service_time_ns.p95),
        ],
    };
    all.push(("throughput", |figures| figures.throughput_per_second));
    all.push(("CPU cost", |figures| figures.cpu_cost_us));
    all.push(("memory", |figures| figures.memory_bytes_max));
    all
}

fn table(group: &Group, cases: &[&CaseSummary]) {
    let Some((first, others)) = cases.split_first() else { return };
    for other in others {
        println!("\n{} · {}: {} ÷ {}\n", group.app, group.load, other.runtime, first.runtime);
        println!(
            "| figure | within a round | from round to round | ratio | 95 % | rounds for 5 % |"
        );
        println!("|:--|--:|--:|--:|--:|--:|");
        for (name, of) in figures(group.model) {
            let (ratios, own) = (ratios(of, first, other), values(of, first));
            let ratio = Estimate::of(&ratios);
            let percent = |noise: Option<f64>| {
                noise.map_or("—".to_owned(), |noise| format!("{:.2} %", noise * 100.0))
            };
            let interval = ratio.and_then(|ratio| ratio.interval);
            println!(
                "| {name} | {} | {} | {} | {} | {} |",
                percent(noise(&ratios)),
                percent(noise(&own)),
                ratio.map_or("—".to_owned(), |ratio| format!("{:.3}", ratio.value)),
                interval.map_or("—".to_owned(), |(low, high)| format!("{low:.3} – {high:.3}")),
                noise(&ratios).map_or("—".to_owned(), |noise| {
                    needed(noise).map_or("more than 200".to_owned(), |rounds| rounds.to_string())
                }),
            );
        }
    }
}

/// The figure in a round, from a trial that counts.
fn value(of: Of, case: &CaseSummary, round: u32) -> Option<f64> {
    let counts = |trial: &&stampede_results::summary::model::TrialSummary| {
        trial.round == round && trial.verdict != Validity::Invalid
    };
    let figure = case.trials.iter().find(counts).map(|trial| of(&trial.figures));
    figure?.known().filter(|value| *value > 0.0)
}

fn rounds(case: &CaseSummary) -> std::ops::RangeInclusive<u32> {
    1..=case.trials.iter().map(|trial| trial.round).max().unwrap_or(0)
}

fn values(of: Of, case: &CaseSummary) -> Vec<f64> {
    rounds(case).filter_map(|round| value(of, case, round)).collect()
}

fn ratios(of: Of, first: &CaseSummary, other: &CaseSummary) -> Vec<f64> {
    let ratio = |round| Some(value(of, other, round)? / value(of, first, round)?);
    rounds(first).filter_map(ratio).collect()
}
