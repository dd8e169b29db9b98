//! Checks the promises of comparing, in 2 000 simulated runs of each kind with a seed (more where
//! the result is near 93 %). The large version, which prints its tables:
//! `cargo run --release -p stampede-stats --example sure`.

#[path = "../../../../bench/sure/simulation.rs"]
mod simulation;

use simulation::{Case, Shape, Until};
use stampede_stats::rounds::needed;

const RUNS: u32 = 2_000;

/// A/A comparison: at most one in twenty may be called different. A limit of 94 % allows two
/// standard errors of a count of 2 000.
#[test]
fn two_that_are_equal_are_not_called_different() {
    for noise in [0.005, 0.02, 0.05, 0.2] {
        for rounds in [3, 5, 8, 20] {
            let share = simulation::not_different(&Case::two(1.0, noise), rounds, RUNS, 1);
            assert!(share >= 0.94, "noise {noise}, {rounds} rounds: {share}");
        }
    }
}

#[test]
fn a_slow_down_of_5_percent_is_found_in_five_rounds() {
    for noise in [0.005, 0.01, 0.02] {
        let share = simulation::found(&Case::two(1.05, noise), 5, RUNS, 2);
        assert!(share >= 0.9, "noise {noise}: {share}");
    }
}

/// `cargo test -p stampede-stats --test simulated -- --nocapture` prints the rounds.
#[test]
fn a_noisier_machine_finds_it_in_the_printed_number_of_rounds() {
    for noise in [0.02, 0.03, 0.05, 0.08, 0.1] {
        let rounds = needed(noise).expect("not more than 200");
        let case = Case::two(1.05, noise);
        let share = simulation::found(&case, rounds, RUNS, 3);
        println!(
            "noise {:.0} %: {rounds} rounds find 5 % in {:.1} %",
            noise * 100.0,
            share * 100.0
        );
        // Two standard errors of 90 % of 2 000 are 1.3 %.
        assert!(share >= 0.885, "noise {noise}, {rounds} rounds: {share}");
        // Much fewer rounds must not be enough.
        let fewer = simulation::found(&case, rounds * 2 / 3, RUNS, 3);
        assert!(fewer < 0.9, "noise {noise}, {} rounds: {fewer}", rounds * 2 / 3);
    }
}

#[test]
fn intervals_hold_the_truth() {
    // From ten rounds on, the intervals of values come from a bootstrap too.
    for rounds in [3, 5, 8, 10, 12, 20] {
        let case = Case::two(1.05, 0.05);
        let ratio = simulation::ratio_covers(&case, rounds, RUNS, 4);
        let value = simulation::value_covers(&case, rounds, RUNS, 5);
        assert!(ratio >= 0.93 && value >= 0.93, "{rounds} rounds: {ratio}, {value}");
    }
    // Ratios of two skewed figures have long tails on both sides, and ten trials show few of those
    // values. A bootstrap alone, which uses nothing but the trials, would cover 92 % of them.
    let skewed = Case { shape: Shape::Skewed, ..Case::two(1.05, 0.05) };
    for rounds in [5, 12] {
        let ratio = simulation::ratio_covers(&skewed, rounds, RUNS, 6);
        assert!(ratio >= 0.93, "{rounds} rounds, skewed: {ratio}");
    }
}

/// The rule depends on widths, not on differences, and so does not call more of them different. A
/// run that stops where its values happen to lie close has a slightly narrower interval than
/// others. Of 20 000 runs, 93.1 % cover in the worst case: rounds vary by 3.5 % and the ratio alone
/// decides when the run ends.
#[test]
#[ignore = "long: 10 s"]
fn automatic_rounds_are_as_reliable_as_fixed_rounds() {
    // Where coverage is lowest, only many runs distinguish it from 93 %.
    for (noise, runs) in [(0.02, RUNS), (0.035, 10 * RUNS), (0.05, RUNS)] {
        let equal = simulation::auto(&Case::two(1.0, noise), Until::Ratio, 0.05, runs, 7);
        assert!(equal.different <= 0.06, "noise {noise}: {equal:?}");
        assert!(equal.ratio_covers >= 0.93, "noise {noise}: {equal:?}");
    }
    let quiet = simulation::auto(&Case::two(1.05, 0.01), Until::Ratio, 0.05, RUNS, 8);
    assert!(quiet.rounds < 5.5 && quiet.different > 0.98, "{quiet:?}");
}

/// The run ends when the interval of each case is narrow, and that of the ratio. If only long tails
/// make a figure vary, Student's t covers 88 % with five trials, as `docs/how-it-measures.md` says.
/// That case is left out here.
#[test]
#[ignore = "long: 29 s"]
fn intervals_at_the_end_of_automatic_rounds_hold() {
    let kinds = [(Shape::Normal, 0.0), (Shape::Normal, 0.02), (Shape::Skewed, 0.02)];
    for (shape, mood) in kinds {
        for noise in [0.02, 0.035, 0.05] {
            let case = Case { shape, mood, ..Case::two(1.05, noise) };
            let held = simulation::auto(&case, Until::All, 0.05, RUNS, 10);
            let what = format!("{shape:?}, rounds {mood}, noise {noise}: {held:?}");
            assert!(held.ratio_covers >= 0.93 && held.value_covers >= 0.93, "{what}");
        }
    }
}

#[test]
fn six_that_are_equal_share_a_letter() {
    let case = Case { true_values: vec![1.0; 6], ..Case::two(1.0, 0.1) };
    // Fewer runs, because each computes integrals; 300 have a standard error of 1.3 %.
    let share = simulation::letters_shared(&case, 5, 300, 9);
    assert!(share >= 0.92, "{share}");
}
