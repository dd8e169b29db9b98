//! Runs a short comparison of the app `./shop`.

use std::time::Duration;

use crate::common::{Place, finish, stderr, stdout};

const LIMIT: Duration = Duration::from_secs(180);

/// The end of a comparison.
pub struct Compared {
    /// The exit code.
    pub code: Option<i32>,
    /// Everything that it printed.
    pub said: String,
}

/// Compares `./shop` on `runtimes` in one round: one request at a time for two seconds.
pub fn compare(place: &Place, runtimes: &str, more: &[&str]) -> Compared {
    let words = ["compare", "--app", "./shop", "--runtimes", runtimes, "--concurrency", "1"];
    let length = ["--for", "2s", "--warm-up", "0s"];
    let rounds: &[&str] = if more.contains(&"--rounds") { &[] } else { &["--rounds", "1"] };
    let output = finish(place.stampede(&[&words[..], &length, rounds, more].concat()), LIMIT);
    Compared { code: output.status.code(), said: stdout(&output) + &stderr(&output) }
}

/// Runs a plan with this text.
pub fn run_plan(place: &Place, plan: &str) -> Compared {
    place.write("plan.yaml", plan);
    let output = finish(place.stampede(&["compare", "plan.yaml"]), LIMIT);
    Compared { code: output.status.code(), said: stdout(&output) + &stderr(&output) }
}
