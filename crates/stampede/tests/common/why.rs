//! Why a cell did no more, as the tests of its causes read it.

use std::time::Duration;

use serde_json::Value;

use super::{Place, finish, stderr, stdout, summary};

/// Longer than any of their runs.
pub const LIMIT: Duration = Duration::from_secs(120);

/// What a run says of each of its cells.
pub struct Said {
    pub place: Place,
    pub summary: Value,
    pub text: String,
}

impl Said {
    /// Runs a plan in a place of its own.
    pub fn of(plan: &str) -> Said {
        Said::in_place(Place::new(), plan)
    }

    pub fn in_place(place: Place, plan: &str) -> Said {
        place.write("plan.yaml", plan);
        let mut command = place.stampede(&["compare", "plan.yaml"]);
        command.env("STAMPEDE_RUNTIMES", place.path().join("runtimes"));
        let output = finish(command, LIMIT);
        let text = stdout(&output);
        assert!(place.path().join("stampede-results").exists(), "{text}{}", stderr(&output));
        let summary = summary(&place);
        Said { place, summary, text }
    }

    pub fn cell(&self, runtime: &str) -> &Value {
        let cells = self.summary["cells"].as_array().expect("cells");
        let cell = cells.iter().find(|cell| cell["runtime"] == runtime);
        cell.unwrap_or_else(|| panic!("no cell {runtime}: {:#}", self.summary))
    }

    pub fn all(&self, runtime: &str) -> Vec<&Value> {
        self.cell(runtime)["why"].as_array().into_iter().flatten().collect()
    }

    /// The causes found in a cell, the most direct first.
    pub fn causes(&self, runtime: &str) -> Vec<&str> {
        self.all(runtime).iter().map(|why| why["cause"].as_str().expect("a cause")).collect()
    }

    /// The line of one cause, with its evidence.
    pub fn found(&self, runtime: &str, cause: &str) -> (String, String) {
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
        (plain(&text), plain(&why["evidence"].to_string()))
    }

    pub fn silent(&self, runtime: &str, cause: &str) {
        let causes = self.causes(runtime);
        assert!(
            !causes.contains(&cause),
            "{runtime} is said to be {cause}: {}",
            self.shown(runtime)
        );
    }

    /// The readings of its trials.
    pub fn readings(&self) -> Vec<Value> {
        let folders = std::fs::read_dir(self.place.run().join("trials")).expect("trials");
        let text = |folder: std::fs::DirEntry| {
            std::fs::read_to_string(folder.path().join("resources.ndjson")).expect("readings")
        };
        let all: String = folders.flatten().map(text).collect();
        all.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// What a failed test needs.
    pub fn shown(&self, runtime: &str) -> String {
        let cell = self.cell(runtime);
        format!(
            "{:#}\n{:#}\n{:#}\n{:#}\n{}",
            cell["why"], cell["reasons"], cell["counts"], cell["cpu_percent_median"], self.text
        )
    }
}

/// Line breaks and narrow spaces apart.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace(['\u{202f}', '\u{a0}'], " ")
}
