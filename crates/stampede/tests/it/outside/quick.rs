//! Runs a short comparison of the app `./shop`.

use std::time::Duration;

use crate::common::{Sandbox, finish, stderr, stdout};

const LIMIT: Duration = Duration::from_secs(300);

/// The end of a comparison.
pub struct CompareOutput {
    /// The exit code.
    pub code: Option<i32>,
    /// Everything that it printed.
    pub printed: String,
}

/// Compares `./shop` on `runtimes` in one round: one request at a time for two seconds.
pub fn compare(sandbox: &Sandbox, runtimes: &str, more: &[&str]) -> CompareOutput {
    let words = ["compare", "--app", "./shop", "--runtimes", runtimes, "--concurrency", "1"];
    let length = ["--for", "2s", "--warm-up", "0s"];
    let rounds: &[&str] = if more.contains(&"--rounds") { &[] } else { &["--rounds", "1"] };
    let output = finish(sandbox.stampede(&[&words[..], &length, rounds, more].concat()), LIMIT);
    CompareOutput { code: output.status.code(), printed: stdout(&output) + &stderr(&output) }
}

/// Runs a plan with this text.
pub fn run_plan(sandbox: &Sandbox, plan: &str) -> CompareOutput {
    sandbox.write("plan.yaml", plan);
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    CompareOutput { code: output.status.code(), printed: stdout(&output) + &stderr(&output) }
}
