//! Counts in many simulated runs how often intervals and words are right, where every runtime is
//! compared with a baseline: `cargo run --release -p stampede-stats --example baseline --
//! runs=20000`.

mod simulation;

use simulation::{Case, NOISES, Shape, Shares, Spread, Words};

/// Runs of each kind. They take about a minute, and give shares to half a percentage point.
const RUNS: u32 = 4_000;
const ROUNDS: [usize; 7] = [3, 4, 5, 6, 8, 10, 12];
const RUNTIMES: [usize; 5] = [2, 3, 5, 8, 10];
const SPREADS: [(Spread, &str); 3] = [
    (Spread::Equal, "all vary equally"),
    (Spread::OneVaries, "one runtime varies 3 times as much"),
    (Spread::BaselineVaries, "the baseline varies 3 times as much"),
];

fn main() {
    let argument = std::env::args().nth(1);
    let runs = match argument.as_deref().map(|text| text.strip_prefix("runs=").unwrap_or(text)) {
        None => RUNS,
        Some(text) => text.parse().unwrap_or_else(|_| {
            eprintln!("error: `{text}` is not a number of runs\n\nhint: `runs=20000`");
            std::process::exit(2)
        }),
    };
    println!("{runs} simulated runs of each kind; shares in percent. Seeds are fixed.\n");
    let normal = SPREADS.map(|(spread, _)| {
        counted(|runtimes, rounds| Case::normal(runtimes, rounds, spread), runs)
    });
    summary(&normal);
    for ((_, name), shares) in SPREADS.iter().zip(&normal) {
        coverage(name, shares);
        bounds(name, shares);
        widths(name, shares);
        words("Equal runtimes, at least one called faster or slower", name, shares, |words| {
            words.false_alarm
        });
        words("A runtime that is 5 % slower, found", name, shares, |words| words.found);
        words("Equal runtimes, each called equivalent", name, shares, |words| words.equivalent);
    }
    asked(runs / 10);
    for (spread, name) in SPREADS {
        let missing =
            |runtimes, rounds| Case { missing: 0.1, ..Case::normal(runtimes, rounds, spread) };
        coverage(&format!("one in ten trials is missing, {name}"), &counted(missing, runs));
        let skewed = |runtimes, rounds| Case {
            shape: Shape::Skewed,
            ..Case::normal(runtimes, rounds, spread)
        };
        coverage(&format!("skewed noise, {name}"), &counted(skewed, runs));
    }
}

/// Shares by number of rounds, then by number of runtimes.
type Grid = [[Shares; RUNTIMES.len()]; ROUNDS.len()];

fn counted(case: impl Fn(usize, usize) -> Case, runs: u32) -> Grid {
    ROUNDS.map(|rounds| {
        RUNTIMES.map(|runtimes| {
            // Each kind has its own seed, so that leaving out one kind changes no other.
            let seed = (100 * rounds + runtimes) as u64;
            simulation::shares(&case(runtimes, rounds), runs, seed)
        })
    })
}

/// Prints the table in `docs/how-it-measures.md`.
fn summary(normal: &[Grid; 3]) {
    let lowest = |row: &[Shares]| row.iter().map(|one| one.all_hold).fold(1.0, f64::min);
    println!("All intervals hold the truth: the lowest share for 2, 3, 5, 8 and 10 runtimes.\n");
    println!("| rounds | {} |", SPREADS.map(|(_, name)| name).join(" | "));
    println!("|--:|--:|--:|--:|");
    for (place, rounds) in ROUNDS.iter().enumerate() {
        let fields = [0, 1, 2].map(|spread| percent(lowest(&normal[spread][place])));
        println!("| {rounds} | {} |", fields.join(" | "));
    }
    println!("\nFive runtimes that vary equally, noise of a trial 1 % / 2 % / 5 %.\n");
    println!(
        "| rounds | equal, one called faster or slower | 5 % slower, found | equal, called equivalent |"
    );
    println!("|--:|--:|--:|--:|");
    for (row, rounds) in normal[0].iter().zip(ROUNDS) {
        let of = |what: fn(&Words) -> f64| by_noise(&row[2], what);
        let fields = [of(|w| w.false_alarm), of(|w| w.found), of(|w| w.equivalent)];
        println!("| {rounds} | {} |", fields.join(" | "));
    }
    println!();
}

fn coverage(name: &str, grid: &Grid) {
    println!("All 95 % intervals of a run hold the truth (each does), {name}:\n");
    table(grid, |shares| format!("{} ({})", percent(shares.all_hold), percent(shares.each_holds)));
}

fn bounds(name: &str, grid: &Grid) {
    println!(
        "All would hold with the pooled bound alone / with the pair's as well / with all three, {name}:\n"
    );
    table(grid, |shares| {
        [shares.pooled_alone, shares.pooled_and_pair, shares.all_hold].map(percent).join(" / ")
    });
}

fn widths(name: &str, grid: &Grid) {
    println!(
        "Half the width of an interval ÷ the noise of a trial: as it is / pooled bound alone / Student's t of \
         the pair, adjusted (Bonferroni), {name}:\n"
    );
    table(grid, |shares| shares.half_widths.map(|width| format!("{width:.2}")).join(" / "));
}

fn words(what: &str, name: &str, grid: &Grid, of: impl Fn(&Words) -> f64) {
    println!("{what}, {name}; noise of a trial 1 % / 2 % / 5 %:\n");
    table(grid, |shares| by_noise(shares, &of));
}

fn by_noise(shares: &Shares, of: impl Fn(&Words) -> f64) -> String {
    shares.words.map(|words| percent(of(&words))).join(" / ")
}

fn asked(runs: u32) {
    println!(
        "Five runtimes, three rounds: share that is inconclusive; of those, share that asks for more than \
         200 rounds; else the rounds asked for (median), and the share that so many settle:\n"
    );
    println!(
        "| the second is slower by | {} |",
        NOISES.map(|noise| format!("noise {} %", noise * 100.0)).join(" | ")
    );
    println!("|--:|--:|--:|--:|");
    for slower in [1.0, 1.02, 1.05, 1.08, 1.15] {
        let fields = NOISES.map(|noise| {
            let case = Case::normal(5, 3, Spread::Equal);
            let asked = simulation::asked(&case, noise, slower, runs, 7);
            let [inconclusive, too_many, settled] =
                [asked.inconclusive, asked.too_many, asked.settled].map(percent);
            format!("{inconclusive}; {too_many}; {} rounds settle {settled}", asked.rounds)
        });
        println!("| {:.0} % | {} |", (slower - 1.0) * 100.0, fields.join(" | "));
    }
    println!();
}

fn table(grid: &Grid, field: impl Fn(&Shares) -> String) {
    println!("| rounds | {} |", RUNTIMES.map(|count| format!("{count} runtimes")).join(" | "));
    println!("|--:|{}", "--:|".repeat(RUNTIMES.len()));
    for (row, rounds) in grid.iter().zip(ROUNDS) {
        println!("| {rounds} | {} |", row.iter().map(&field).collect::<Vec<_>>().join(" | "));
    }
    println!();
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}
