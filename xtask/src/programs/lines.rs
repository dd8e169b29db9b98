//! Reads what a test program prints.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::Results;

/// So many lines of what a failed test said are repeated at the end, from its panic on.
const WHY_LINES: usize = 12;
/// And so many characters of each.
const WHY_WIDTH: usize = 400;

/// Reads the lines of one program.
///
/// A line comes when its test ends. Tests start in the order of the list, as many at once as there
/// are threads, so the end of one is the start of the next.
pub(super) struct LineReader<'a> {
    program: &'a str,
    waiting: VecDeque<String>,
    running: BTreeMap<String, Duration>,
    threads: usize,
    /// Whether the output of tests that passed is being read, which nobody wants to see again.
    in_successes: bool,
    /// The test whose output is being read.
    output_of: Option<String>,
    pub(super) has_failed: bool,
}

impl LineReader<'_> {
    pub(super) fn new(program: &str, waiting: VecDeque<String>, threads: usize) -> LineReader<'_> {
        let running = BTreeMap::new();
        LineReader {
            program,
            waiting,
            running,
            threads,
            in_successes: false,
            output_of: None,
            has_failed: false,
        }
    }

    /// Takes a line that came after `at`. Returns whether it is to be printed.
    pub(super) fn read(&mut self, line: &str, at: Duration, results: &mut Results) -> bool {
        if let Some((test, outcome)) = ended(line) {
            self.end(test, outcome, at, results);
            return true;
        }
        match line {
            "successes:" => self.in_successes = true,
            "failures:" => self.in_successes = false,
            _ if line.starts_with("test result:") => self.in_successes = false,
            _ => {}
        }
        self.keep_why(line, results);
        if let Some(what) = line.strip_prefix("SKIPPED: ") {
            results.skipped.insert(format!("{}: {what}", self.program));
        }
        !self.in_successes && !line.is_empty()
    }

    /// Keeps the first lines from a test's panic on: below `---- suite::test stdout ----`.
    fn keep_why(&mut self, line: &str, results: &mut Results) {
        let header = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"));
        // The frames of a test runner say nothing.
        if header.is_some() || ["failures:", "stack backtrace:"].contains(&line) {
            self.output_of = header.map(|test| format!("{} {test}", self.program));
            return;
        }
        let Some(name) = self.output_of.as_ref().filter(|_| !self.in_successes) else { return };
        let panics = line.starts_with("thread '") && line.contains(" panicked at ");
        if panics || results.why.contains_key(name) {
            let why = results.why.entry(name.clone()).or_default();
            if why.len() < WHY_LINES {
                why.push(line.chars().take(WHY_WIDTH).collect());
            }
        }
    }

    fn end(&mut self, test: &str, outcome: &str, at: Duration, results: &mut Results) {
        self.start(Duration::ZERO);
        if let Some(why) = outcome.strip_prefix("ignored") {
            self.waiting.retain(|one| one != test);
            self.running.remove(test);
            let why = why.trim_start_matches(", ").to_owned();
            let of_program = results.ignored.entry(self.program.to_owned()).or_default();
            of_program.push((test.to_owned(), why));
        } else {
            let name = format!("{} {test}", self.program);
            if let Some(began) = self.running.remove(test) {
                results.times.push((at.saturating_sub(began), name.clone()));
            }
            match outcome {
                "ok" => results.passed += 1,
                _ => {
                    self.has_failed = true;
                    results.failed.push(name);
                }
            }
        }
        self.start(at);
    }

    fn start(&mut self, at: Duration) {
        while self.running.len() < self.threads
            && let Some(next) = self.waiting.pop_front()
        {
            self.running.insert(next, at);
        }
    }
}

/// A line that says how a test ended: its name and the outcome.
pub(super) fn ended(line: &str) -> Option<(&str, &str)> {
    let (test, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let is_known = outcome == "ok" || outcome == "FAILED" || outcome.starts_with("ignored");
    is_known.then_some((test.trim_end_matches(" - should panic"), outcome))
}

#[cfg(test)]
mod tests {
    use super::super::{Effort, Needs, Program};
    use super::*;

    #[test]
    fn the_time_of_a_test_begins_when_another_ends() {
        let waiting = ["a", "b", "c", "d"].map(str::to_owned).into();
        let mut reader = LineReader::new("x it", waiting, 2);
        let mut results = Results::default();
        let seconds = Duration::from_secs;
        let mut read = |line: &str, at| reader.read(line, seconds(at), &mut results);
        assert!(read("test d ... ignored, long: a minute", 0));
        assert!(read("test b ... ok", 2));
        assert!(read("test a ... ok", 5));
        assert!(read("test c ... FAILED", 9));
        assert!(!read("successes:", 9));
        assert!(!read("SKIPPED: no nginx here", 9));
        assert!(read("failures:", 9));
        let it = Program { name: "x it".into(), executable: "".into(), directory: "".into() };
        assert_eq!(results.slower(&it, seconds(5)), ["c"]);
        let mut times = results.times.clone();
        times.sort();
        let named = |(time, test): &(Duration, String)| (time.as_secs(), test.clone());
        let times: Vec<_> = times.iter().map(named).collect();
        let expected = [(2, "x it b"), (5, "x it a"), (7, "x it c")];
        assert_eq!(times, expected.map(|(time, test)| (time, test.to_owned())));
        assert_eq!(results.failed, ["x it c"]);
        results.failed.push("x it as a whole: signal: 9 (SIGKILL)".to_owned());
        let programs = ["x", "x it"].map(|name| Program {
            name: name.to_owned(),
            executable: "".into(),
            directory: "".into(),
        });
        assert_eq!(results.failed_of(&programs), [(&programs[1], "c".to_owned())]);
        results.failed.pop();
        assert_eq!(results.skipped.iter().collect::<Vec<_>>(), ["x it: no nginx here"]);
        let program = Program { name: "x it".into(), executable: "".into(), directory: "".into() };
        let named = |test: &str, seconds, needs| (test.to_owned(), Effort { seconds, needs });
        assert_eq!(results.long(&program, "long"), [named("d", 0, Needs::Cpu)]);
        for (test, why) in
            [("e", "long: 2 min, waits"), ("f", "long"), ("g", "long: 61 s, containers")]
        {
            results.ignored.get_mut("x it").expect("it").push((test.to_owned(), why.to_owned()));
        }
        let long = [
            named("d", 0, Needs::Cpu),
            named("e", 120, Needs::Time),
            named("f", 0, Needs::Cpu),
            named("g", 61, Needs::Engine),
        ];
        assert_eq!(results.long(&program, "long"), long);
        results.ignored.get_mut("x it").expect("it").truncate(1);
        assert_eq!(results.long(&program, "by hand"), []);
        results.did_not_run("cargo deny is not installed".to_owned());
        let summary = results.summary();
        assert!(summary.contains("    7.0 s  x it c\n"), "{summary}");
        let not_run = "did not run: 2\n  cargo deny is not installed\n  x it d: long: a minute\n";
        assert!(summary.contains(not_run), "{summary}");
        assert!(summary.ends_with("\n2 tests passed, 1 failed\n"), "{summary}");
    }

    #[test]
    fn the_first_lines_of_a_panic_are_kept() {
        let mut reader = LineReader::new("x it", VecDeque::new(), 1);
        let mut results = Results::default();
        let long = "y".repeat(WHY_WIDTH + 1);
        let many = "more\n".repeat(WHY_LINES);
        let output = format!(
            "test b ... ok\ntest a ... FAILED\nsuccesses:\n---- b stdout ----\n\
             thread 'b' (2) panicked at b.rs:1:2:\nmeant\nfailures:\n---- a stdout ----\nbefore\n\
             thread '<unnamed>' (3) panicked at a.rs:4:5:\n{long}\n{many}---- c stdout ----\n\
             thread 'c' (4) panicked at c.rs:1:1:\nsaid\nstack backtrace:\n  0: it\nfailures:\n    a\ntest result: FAILED."
        );
        for line in output.lines() {
            reader.read(line, Duration::ZERO, &mut results);
        }
        assert!(!results.why.contains_key("x it b"));
        assert_eq!(results.why["x it c"].len(), 2);
        let why = &results.why["x it a"];
        assert_eq!(why[0], "thread '<unnamed>' (3) panicked at a.rs:4:5:");
        assert_eq!((why[1].len(), why.len()), (WHY_WIDTH, WHY_LINES));
        let summary = results.summary();
        assert!(summary.contains("  x it a\n      thread '<unnamed>' (3) panicked"), "{summary}");
    }
}
