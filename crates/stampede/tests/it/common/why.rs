//! Reads why a case did no more, for the tests of the causes.

use std::process::Output;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value;

use super::{Sandbox, finish, stderr, stdout, summary};

/// Longer than any of their runs takes.
pub const LIMIT: Duration = Duration::from_secs(120);

static MACHINE: RwLock<()> = RwLock::new(());

/// What a run says about each of its cases.
pub struct WhyRun {
    pub sandbox: Sandbox,
    pub summary: Value,
    pub text: String,
}

impl WhyRun {
    /// Runs a plan in a place of its own.
    pub fn of(plan: &str) -> WhyRun {
        WhyRun::in_sandbox(Sandbox::new(), plan)
    }

    pub fn in_sandbox(sandbox: Sandbox, plan: &str) -> WhyRun {
        let _shared = MACHINE.read().unwrap_or_else(PoisonError::into_inner);
        WhyRun::measured(sandbox, plan)
    }

    /// Runs a plan while no other run of these tests is in progress. The time that processes wait
    /// for memory is known only for the whole machine, and others would wait too.
    pub fn alone(sandbox: Sandbox, plan: &str) -> WhyRun {
        let _alone = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
        WhyRun::measured(sandbox, plan)
    }

    fn measured(sandbox: Sandbox, plan: &str) -> WhyRun {
        sandbox.write("plan.yaml", plan);
        let mut command = sandbox.stampede(&["compare", "plan.yaml"]);
        command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
        WhyRun::read(sandbox, &finish(command, LIMIT))
    }

    /// What a comparison that has ended shows.
    pub fn read(sandbox: Sandbox, output: &Output) -> WhyRun {
        let answer = stdout(output);
        assert!(sandbox.path().join("stampede-results").exists(), "{answer}{}", stderr(output));
        let details = finish(sandbox.stampede(&["report", "last", "--details"]), LIMIT);
        let text = answer + &stdout(&details);
        let summary = summary(&sandbox);
        WhyRun { sandbox, summary, text }
    }

    pub fn case(&self, runtime: &str) -> &Value {
        let cases = self.summary["cases"].as_array().expect("cases");
        let case = cases.iter().find(|case| case["runtime"] == runtime);
        case.unwrap_or_else(|| panic!("no case {runtime}: {:#}", self.summary))
    }

    pub fn all(&self, runtime: &str) -> Vec<&Value> {
        self.case(runtime)["why"].as_array().into_iter().flatten().collect()
    }

    /// The causes found for a case, the most direct first.
    pub fn causes(&self, runtime: &str) -> Vec<&str> {
        self.all(runtime).iter().map(|why| why["cause"].as_str().expect("a cause")).collect()
    }

    /// The text of one cause, and its evidence.
    pub fn found(&self, runtime: &str, cause: &str) -> (Value, String) {
        let all = self.all(runtime);
        let why = all.iter().find(|why| why["cause"] == cause);
        let why =
            why.unwrap_or_else(|| panic!("{runtime} is not {cause}: {}", self.shown(runtime)));
        let text = why["text"].as_str().expect("words").to_owned();
        assert!(
            plain(&self.text).contains(&plain(&text)),
            "not in the table: {text}\n{}",
            self.text
        );
        (Value::clone(why), plain(&why["evidence"].to_string()))
    }

    pub fn silent(&self, runtime: &str, cause: &str) {
        let causes = self.causes(runtime);
        assert!(
            !causes.contains(&cause),
            "{runtime} is said to be {cause}: {}",
            self.shown(runtime)
        );
    }

    /// The resource readings of the run's trials.
    pub fn readings(&self) -> Vec<Value> {
        let directories = std::fs::read_dir(self.sandbox.run().join("trials")).expect("trials");
        let text = |directory: std::fs::DirEntry| {
            std::fs::read_to_string(directory.path().join("resources.ndjson")).expect("readings")
        };
        let all: String = directories.flatten().map(text).collect();
        all.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The output that explains a failed test.
    pub fn shown(&self, runtime: &str) -> String {
        let case = self.case(runtime);
        let host: Vec<String> = self
            .readings()
            .iter()
            .map(|row| format!("{} for {}: {}", row["at_ns"], row["interval_ns"], row["host"]))
            .collect();
        format!(
            "{:#}\n{:#}\n{:#}\n{:#}\n{}\n{}",
            case["why"],
            case["reasons"],
            case["counts"],
            case["cpu_percent_median"],
            host.join("\n"),
            self.text
        )
    }
}

/// The text without line breaks and with ordinary spaces.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(['\u{202f}', '\u{a0}'], " ")
}

/// Whether the log line of a cause contains `words`.
pub fn says(why: &Value, words: &str) -> bool {
    why["line"].as_str().is_some_and(|line| line.contains(words))
}
