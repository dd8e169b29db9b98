//! Counts in many simulated runs whether the rules of comparing keep their promises: `cargo run
//! --release -p stampede-stats --example sure -- runs=100000`.

mod simulation;

use simulation::{Case, Shape, Until};
use stampede_stats::rounds::needed;

fn main() {
    let argument = std::env::args().nth(1);
    let runs = match argument.as_deref().map(|text| text.strip_prefix("runs=").unwrap_or(text)) {
        None => 20_000,
        Some(text) => text.parse().unwrap_or_else(|_| {
            eprintln!("`{text}` is no number of runs\n\nhint: `runs=100000`");
            std::process::exit(2)
        }),
    };
    println!("{runs} simulated runs of each kind; shares in percent.\n");
    not_different(runs);
    found(runs);
    coverage(runs);
    auto(runs);
}

/// Standard deviations of the log ratio within a round.
const NOISES: [f64; 5] = [0.005, 0.02, 0.05, 0.1, 0.2];

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn noise_of(noise: f64) -> String {
    format!("{} %", (noise * 1e3).round() / 10.0)
}

fn head(title: &str, columns: &[String]) {
    println!("{title}\n");
    println!("| | {} |", columns.join(" | "));
    println!("|--:|{}", "--:|".repeat(columns.len()));
}

fn row(name: &str, fields: impl Iterator<Item = String>) {
    println!("| {name} | {} |", fields.collect::<Vec<_>>().join(" | "));
}

fn not_different(runs: u32) {
    let rounds = [3, 5, 8, 12, 20];
    let columns = rounds.map(|rounds| format!("{rounds} rounds"));
    head("Two that are equal, not called different (wanted: 94 at least), by noise:", &columns);
    for noise in NOISES {
        let of =
            |rounds| percent(simulation::not_different(&Case::two(1.0, noise), rounds, runs, 1));
        row(&noise_of(noise), rounds.into_iter().map(of));
    }
    for (count, what) in [(3, "three"), (6, "six")] {
        println!();
        head(
            &format!(
                "All of {what} that are equal, none called different from the best; in brackets: all of one letter:"
            ),
            &columns,
        );
        for noise in NOISES {
            let case = Case { true_values: vec![1.0; count], ..Case::two(1.0, noise) };
            let of = |rounds| {
                let best = simulation::not_different(&case, rounds, runs, 2);
                let letters = simulation::letters_shared(&case, rounds, runs / 40, 3);
                format!("{} ({})", percent(best), percent(letters))
            };
            row(&noise_of(noise), rounds.into_iter().map(of));
        }
    }
    println!();
}

fn found(runs: u32) {
    let rounds = [3, 5, 8, 12, 20];
    let columns: Vec<String> = rounds.iter().map(|rounds| format!("{rounds} rounds")).collect();
    let columns =
        [columns, vec!["rounds for 90".to_owned(), "found with them".to_owned()]].concat();
    head(
        "A slow-down of 5 % found (wanted: 90 at five rounds and 2 % of noise), by noise:",
        &columns,
    );
    for noise in [0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1] {
        let case = Case::two(1.05, noise);
        let of = |rounds| percent(simulation::found(&case, rounds, runs, 4));
        let wanted = needed(noise);
        let last = wanted.map_or(["more than 200".to_owned(), "—".to_owned()], |rounds| {
            [rounds.to_string(), of(rounds)]
        });
        row(&noise_of(noise), rounds.into_iter().map(of).chain(last));
    }
    println!();
}

fn coverage(runs: u32) {
    let rounds = [3, 5, 8, 10, 12, 20];
    let columns = rounds.map(|rounds| format!("{rounds} rounds"));
    head(
        "95 % intervals that hold the truth (wanted: 93 at least); from ten rounds on a bootstrap:",
        &columns,
    );
    for (shape, mood, name) in [
        (Shape::Normal, 0.1, "normal noise"),
        (Shape::Skewed, 0.1, "skewed noise"),
        (Shape::Skewed, 0.0, "skewed noise, rounds alike"),
    ] {
        let case = Case { shape, mood, ..Case::two(1.05, 0.05) };
        let ratio = |rounds| percent(simulation::ratio_covers(&case, rounds, runs, 5));
        row(&format!("ratio, {name}"), rounds.into_iter().map(ratio));
        let value = |rounds| percent(simulation::value_covers(&case, rounds, runs, 6));
        row(&format!("value, {name}"), rounds.into_iter().map(value));
    }
    println!();
}

fn auto(runs: u32) {
    let columns = [
        "rounds",
        "narrow enough",
        "ratio's interval holds",
        "value's interval holds",
        "equal, called different",
        "5 % found",
    ];
    let ways = [
        (Until::Ratio, Shape::Normal, 0.1, "ending by the ratio alone, normal noise"),
        (Until::Ratio, Shape::Skewed, 0.1, "ending by the ratio alone, skewed noise"),
        (Until::All, Shape::Normal, 0.0, "as it ends, normal noise, rounds alike"),
        (Until::All, Shape::Normal, 0.02, "as it ends, normal noise, rounds 2 % up or down"),
        (Until::All, Shape::Skewed, 0.0, "as it ends, skewed noise, rounds alike"),
        (Until::All, Shape::Skewed, 0.02, "as it ends, skewed noise, rounds 2 % up or down"),
    ];
    for (until, shape, mood, name) in ways {
        head(
            &format!("`rounds: auto` with a precision of 5 %, {name}, by noise:"),
            &columns.map(str::to_owned),
        );
        for noise in [0.005, 0.02, 0.035, 0.05, 0.1, 0.2] {
            let two = |ratio| Case { shape, mood, ..Case::two(ratio, noise) };
            let equal = simulation::auto(&two(1.0), until, 0.05, runs, 7);
            let slower = simulation::auto(&two(1.05), until, 0.05, runs, 8);
            let fields = [
                format!("{:.1}", slower.rounds),
                percent(slower.narrow),
                percent(slower.ratio_covers),
                percent(slower.value_covers),
                percent(equal.different),
                percent(slower.different),
            ];
            row(&noise_of(noise), fields.into_iter());
        }
        println!();
    }
}
