//! Checks the promises of comparing with a baseline, in 4 000 simulated runs of each kind with a
//! seed. The large version, with tables:
//! `cargo run --release -p stampede-stats --example baseline`.

#[path = "../../../../bench/baseline/simulation.rs"]
mod simulation;

use simulation::{Case, Shape, Spread, asked, shares};

const RUNS: u32 = 4_000;

/// 95 % less two standard errors of 4 000 runs (0.7 %), rounded.
const LEAST: f64 = 0.94;

#[test]
fn all_intervals_of_a_run_hold_together_whatever_varies_more() {
    for spread in [Spread::Equal, Spread::OneVaries, Spread::BaselineVaries] {
        for (runtimes, rounds) in [(2, 3), (3, 3), (3, 8), (10, 3), (10, 5), (10, 12)] {
            let shares = shares(&Case::normal(runtimes, rounds, spread), RUNS, 1);
            let what = format!("{spread:?}, {runtimes} runtimes, {rounds} rounds: {shares:?}");
            assert!(shares.all_hold >= LEAST && shares.each_holds >= LEAST, "{what}");
            // Two runtimes are one comparison: there is nothing to pool.
            let words = shares.words;
            assert!(words.iter().all(|words| words.false_alarm <= 1.0 - LEAST), "{what}");
        }
    }
}

/// Shows why the pooled bound is not enough. The baseline's noise is three times that of the
/// others. Then the pooled bound would hold in three of four runs, with the pairs' own bounds in
/// nine of ten.
#[test]
fn each_bound_is_needed() {
    let shares = shares(&Case::normal(10, 5, Spread::BaselineVaries), RUNS, 2);
    assert!(shares.pooled_alone < 0.80 && shares.pooled_and_pair < 0.91, "{shares:?}");
    assert!(shares.all_hold >= LEAST, "{shares:?}");
}

/// Correlations differ where trials are missing; the smallest is used for all.
#[test]
fn missing_trials_leave_intervals_that_hold() {
    for spread in [Spread::Equal, Spread::OneVaries, Spread::BaselineVaries] {
        for (runtimes, rounds) in [(3, 5), (8, 5), (8, 10)] {
            let case = Case { missing: 0.15, ..Case::normal(runtimes, rounds, spread) };
            let shares = shares(&case, RUNS, 3);
            assert!(shares.all_hold >= LEAST, "{case:?}: {shares:?}");
        }
    }
}

/// Five runtimes whose trials vary by 1 %: shows what three and five rounds find.
#[test]
fn a_quiet_machine_finds_5_percent_in_five_rounds() {
    let of = |rounds| shares(&Case::normal(5, rounds, Spread::Equal), RUNS, 4).words[0];
    let (three, five) = (of(3), of(5));
    assert!(three.found > 0.65 && five.found > 0.98, "{three:?} {five:?}");
    assert!(five.equivalent > 0.8, "{five:?}");
}

/// Some trials are much slower. The difference of two is symmetric, so that costs little.
#[test]
fn skewed_noise_costs_little() {
    for rounds in [3, 5, 10] {
        let case = Case { shape: Shape::Skewed, ..Case::normal(5, rounds, Spread::Equal) };
        let shares = shares(&case, RUNS, 5);
        assert!(shares.all_hold >= LEAST, "{rounds} rounds: {shares:?}");
    }
}

/// Three rounds of five runtimes cannot detect 8 % at a noise of 2 % in each run. The number of
/// rounds that they ask for can.
#[test]
fn the_estimated_number_of_rounds_usually_settles_it() {
    let asked = asked(&Case::normal(5, 3, Spread::Equal), 0.02, 1.08, 400, 6);
    assert!((0.2..0.6).contains(&asked.inconclusive), "{asked:?}");
    assert!(asked.too_many < 0.1 && (4..8).contains(&asked.rounds), "{asked:?}");
    assert!(asked.settled > 0.8, "{asked:?}");
}
