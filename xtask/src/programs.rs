//! Runs test programs, and tells afterwards what took longest, what was skipped and what did not
//! run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

mod lines;

use self::lines::{LineReader, ended};
use crate::error::ChoreError;

/// A test program, as cargo built it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Crate and target: `stampede it`.
    pub name: String,
    executable: PathBuf,
    /// Directory of the crate, where cargo would start it.
    directory: PathBuf,
}

impl Program {
    /// How many tests run at once. Integration tests mostly wait for loads and servers.
    fn threads(&self) -> usize {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        if self.name.ends_with(" it") { cpus * 2 } else { cpus }
    }
}

/// What the runs so far have shown.
#[derive(Debug, Default)]
pub struct Results {
    /// Each test that ran, with its time.
    times: Vec<(Duration, String)>,
    failed: Vec<String>,
    /// What failed tests said when they did.
    why: BTreeMap<String, Vec<String>>,
    /// Lines of tests that skipped something, with their programs.
    skipped: BTreeSet<String>,
    /// Tests that no run has started yet, by program, with the reason that their attribute gives.
    ignored: BTreeMap<String, Vec<(String, String)>>,
    /// Steps beside the tests that did not run, each with the reason.
    steps_not_run: Vec<String>,
    /// Tests that failed and passed when they ran again by themselves.
    disturbed: BTreeSet<String>,
    passed: usize,
}

impl Results {
    /// Whether a test failed.
    pub fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// The ignored tests of a program whose reason begins with `tier`, with what else it says.
    pub fn long(&self, program: &Program, tier: &str) -> Vec<(String, Effort)> {
        let of_program = self.ignored.get(&program.name).into_iter().flatten();
        let tests = of_program.filter(|(_, why)| why.starts_with(tier));
        tests.map(|(test, why)| (test.clone(), Effort::read(why))).collect()
    }

    /// The tests that failed, with their programs.
    pub fn failed_of<'a>(&self, programs: &'a [Program]) -> Vec<(&'a Program, String)> {
        let of = |name: &String| {
            programs.iter().find_map(|program| {
                let test = name.strip_prefix(&program.name)?.strip_prefix(' ')?;
                // A program that ended early is no test.
                (!test.contains(' ')).then(|| (program, test.to_owned()))
            })
        };
        self.failed.iter().filter_map(of).collect()
    }

    /// Notes that a step beside the tests did not run. `why`: `cargo deny is not installed`.
    pub fn did_not_run(&mut self, why: String) {
        self.steps_not_run.push(why);
    }

    /// Adds what a second run of one test has shown, by itself.
    fn add_again(&mut self, program: &Program, test: &str, one: Results) {
        if !one.has_failed() {
            let name = format!("{} {test}", program.name);
            self.failed.retain(|failed| *failed != name);
            self.disturbed.insert(name);
            self.passed += one.passed;
        } else {
            self.why.extend(one.why);
        }
    }

    /// Adds what a run of one test has shown, which no run had started yet.
    fn add(&mut self, program: &Program, test: &str, one: Results) {
        if let Some(tests) = self.ignored.get_mut(&program.name) {
            tests.retain(|(known, _)| known != test);
        }
        self.times.extend(one.times);
        self.failed.extend(one.failed);
        self.why.extend(one.why);
        self.skipped.extend(one.skipped);
        self.passed += one.passed;
    }

    /// The tests of a program that took longer than this.
    pub fn slower(&self, program: &Program, than: Duration) -> Vec<String> {
        let slow = self.times.iter().filter(|(time, _)| *time > than);
        let of_program = |(_, name): &(Duration, String)| {
            name.strip_prefix(&program.name)?.strip_prefix(' ').map(str::to_owned)
        };
        slow.filter_map(of_program).collect()
    }

    /// Adds what a program of a build without sentences has shown, which did not run the tests in `slow`.
    pub fn add_without_sentences(&mut self, codes: Results, slow: &[String]) {
        let named = |name: String| format!("without sentences: {name}");
        self.passed += codes.passed;
        self.failed.extend(codes.failed.into_iter().map(named));
        self.times.extend(codes.times.into_iter().map(|(time, name)| (time, named(name))));
        if !slow.is_empty() {
            self.did_not_run(format!(
                "without sentences: {} slower tests (make test-codes)",
                slow.len()
            ));
        }
    }

    /// The time of every test, the longest first.
    pub fn times(&self) -> String {
        let mut times = self.times.clone();
        times.sort_by(|a, b| b.cmp(a));
        let line =
            |(time, test): &(Duration, String)| format!("{:>7.1} s  {test}\n", time.as_secs_f64());
        times.iter().map(line).collect()
    }

    /// The results in words.
    pub fn summary(&self) -> String {
        let mut text = "\n== the ten slowest tests\n".to_owned();
        self.times().lines().take(10).for_each(|line| text += &format!("{line}\n"));
        section(&mut text, "skipped", self.skipped.iter());
        let not_run = self.ignored.iter().flat_map(|(program, tests)| {
            tests.iter().map(move |(test, why)| format!("{program} {test}: {why}"))
        });
        section(&mut text, "did not run", self.steps_not_run.iter().cloned().chain(not_run));
        let with_why = |name: &String| {
            let why = self.why.get(name).into_iter().flatten();
            why.fold(name.clone(), |text, line| text + "\n      " + line)
        };
        let disturbed = self.disturbed.iter().map(with_why);
        section(&mut text, "failed, passed when run again alone", disturbed);
        section(&mut text, "failed", self.failed.iter().map(with_why));
        text + &format!("\n{} tests passed, {} failed\n", self.passed, self.failed.len())
    }
}

/// What a long test takes, as its reason says: `long: 20 s`, `long: 8 min, waits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// 0 where none are said.
    pub seconds: u64,
    /// What it needs of the machine.
    pub needs: Needs,
}

/// What a long test needs of the machine while it runs. Tests with different needs run beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// A CPU for much of the time.
    Cpu,
    /// The engine of containers, which all tests share: one at a time.
    Engine,
    /// Hardly anything: it waits for deadlines.
    Time,
}

impl Effort {
    fn read(why: &str) -> Effort {
        let (time, needs) = match why.rsplit_once(", ") {
            Some((time, "containers")) => (time, Needs::Engine),
            Some((time, "waits")) => (time, Needs::Time),
            _ => (why, Needs::Cpu),
        };
        let mut words = time.split_whitespace().rev();
        let unit = match words.next() {
            Some("s") => 1,
            Some("min") => 60,
            _ => 0,
        };
        let number = words.next().and_then(|number| number.parse::<u64>().ok());
        Effort { seconds: number.map_or(0, |number| number * unit), needs }
    }
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = impl AsRef<str>>) {
    let lines: Vec<_> = lines.collect();
    if !lines.is_empty() {
        *text += &format!("\n== {title}: {}\n", lines.len());
        lines.iter().for_each(|line| *text += &format!("  {}\n", line.as_ref()));
    }
}

/// Reads the messages of `cargo test --no-run --message-format=json`.
pub fn programs(messages: &str) -> Vec<Program> {
    let built = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let executable = message["executable"].as_str()?;
        let is_test = message["profile"]["test"] == true;
        let directory = Path::new(message["manifest_path"].as_str()?).parent()?;
        let (krate, target) =
            (directory.file_name()?.to_str()?, message["target"]["name"].as_str()?);
        is_test.then(|| Program {
            name: format!("{krate} {target}"),
            executable: executable.into(),
            directory: directory.into(),
        })
    });
    built.collect()
}

/// Runs tests of a program and prints their lines as they end.
///
/// # Errors
/// The program does not start.
pub fn run(
    program: &Program,
    choice: Choice,
    env: &[(&str, PathBuf)],
    results: &mut Results,
) -> Result<(), ChoreError> {
    run_with(program, choice, env, results, |line| println!("{line}"))
}

/// Which tests of a program run.
#[derive(Clone, Copy, Debug)]
pub enum Choice<'a> {
    /// Those that are not ignored, without these.
    AllBut(&'a [String]),
    /// These, ignored or not.
    Only(&'a [String]),
}

fn run_with(
    program: &Program,
    choice: Choice,
    env: &[(&str, PathBuf)],
    results: &mut Results,
    mut print: impl FnMut(String),
) -> Result<(), ChoreError> {
    let threads = program.threads();
    let mut command = Command::new(&program.executable);
    command.current_dir(&program.directory).envs(env.iter().map(|(name, path)| (name, path)));
    command.args(["--show-output", "--test-threads", &threads.to_string()]);
    let waiting = match choice {
        Choice::AllBut(but) => {
            command.arg("--exact").args(but.iter().flat_map(|test| ["--skip", test]));
            let mut waiting = listed(program)?;
            waiting.retain(|test| !but.contains(test));
            eprintln!("== {} ({})", program.name, waiting.len());
            waiting
        }
        Choice::Only(only) => {
            command.args(["--include-ignored", "--exact"]).args(only);
            only.iter().cloned().collect()
        }
    };
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|source| ChoreError::NotStarted { command: program.name.clone(), source })?;
    let mut reader = LineReader::new(&program.name, waiting, threads);
    let began = Instant::now();
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).split(b'\n')) {
        let line = String::from_utf8_lossy(&line?).into_owned();
        if reader.read(&line, began.elapsed(), results) {
            print(line);
        }
    }
    let status = child.wait()?;
    if !status.success() && !reader.has_failed {
        results.failed.push(format!("{} as a whole: {status}", program.name));
    }
    Ok(())
}

/// Runs tests that failed again, each by itself, and prints how they end now.
///
/// # Errors
/// A program does not start.
pub fn run_again(
    tests: &[(&Program, String)],
    env: &[(&str, PathBuf)],
    results: &mut Results,
) -> Result<(), ChoreError> {
    for (program, test) in tests {
        let mut of_one = Results::default();
        eprintln!("== again, alone: {} {test}", program.name);
        run(program, Choice::Only(std::slice::from_ref(test)), env, &mut of_one)?;
        results.add_again(program, test, of_one);
    }
    Ok(())
}

/// Tests that wait for each other: so many of them run at a time, each in a process of its own.
#[derive(Debug)]
pub struct Lane<'a> {
    /// The tests, in the order in which they are started.
    pub tests: VecDeque<(&'a Program, String)>,
    /// How many run at a time.
    pub at_once: usize,
}

/// Runs these tests, one lane beside the other. Once `is_over` says so, no further test is started.
/// Returns those that failed.
///
/// # Errors
/// A program does not start.
pub fn run_each<'a>(
    lanes: Vec<Lane<'a>>,
    env: &[(&str, PathBuf)],
    results: &mut Results,
    is_over: impl Fn() -> bool + Sync,
) -> Result<Vec<(&'a Program, String)>, ChoreError> {
    let (results, failed) = (Mutex::new(results), Mutex::new(Vec::new()));
    let work = |queue: &Mutex<VecDeque<(&'a Program, String)>>| -> Result<(), ChoreError> {
        let next = || locked(queue).pop_front().filter(|_| !is_over());
        while let Some((program, test)) = next() {
            let (mut of_one, mut lines) = (Results::default(), Vec::new());
            let only = std::slice::from_ref(&test);
            let done =
                run_with(program, Choice::Only(only), env, &mut of_one, |line| lines.push(line));
            let has_failed = of_one.has_failed();
            let mut results = locked(&results);
            results.add(program, &test, of_one);
            // What frames the line of a test that passed says nothing of it.
            lines
                .iter()
                .filter(|line| has_failed || ended(line).is_some())
                .for_each(|line| println!("{line}"));
            done?;
            if has_failed {
                locked(&failed).push((program, test));
            }
        }
        Ok(())
    };
    let queues = lanes.into_iter().map(|lane| (Mutex::new(lane.tests), lane.at_once));
    let queues: Vec<_> = queues.collect();
    std::thread::scope(|scope| {
        let all = queues.iter().flat_map(|(queue, at_once)| std::iter::repeat_n(queue, *at_once));
        let workers: Vec<_> = all.map(|queue| scope.spawn(|| work(queue))).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(failed.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tests in the order in which the program starts them.
fn listed(program: &Program) -> Result<VecDeque<String>, ChoreError> {
    let output = Command::new(&program.executable)
        .current_dir(&program.directory)
        .args(["--list", "--format", "terse"])
        .output()
        .map_err(|source| ChoreError::NotStarted { command: program.name.clone(), source })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let tests = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(tests.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_of_a_list_runs_once_until_the_time_is_over() {
        // The program that runs this test has it, too.
        let program = Program {
            name: "x it".to_owned(),
            executable: std::env::current_exe().expect("a path"),
            directory: ".".into(),
        };
        let name = |test: &str| format!("programs::tests::{test}");
        let tests = ["programs_are_read_from_cargos_messages", "no_such_test"].map(name);
        let lane = |at_once| Lane {
            tests: tests.iter().map(|test| (&program, test.clone())).collect(),
            at_once,
        };
        let mut results = Results::default();
        let long = |test: &String| (test.clone(), "long".to_owned());
        results.ignored.insert(program.name.clone(), tests.iter().map(long).collect());
        let failed = run_each(vec![lane(2)], &[], &mut results, || true).expect("nothing runs");
        assert!(failed.is_empty());
        assert_eq!((results.passed, results.long(&program, "long").len()), (0, 2));
        run_each(vec![lane(1)], &[], &mut results, || false).expect("it runs");
        assert_eq!((results.passed, results.times.len()), (1, 1));
        assert_eq!(results.long(&program, "long"), []);
    }

    #[test]
    fn tests_without_sentences_count_by_a_name_of_their_own() {
        let mut results = Results::default();
        let codes = Results { passed: 2, failed: vec!["x it a".to_owned()], ..Results::default() };
        results.add_without_sentences(codes, &["slow".to_owned()]);
        let summary = results.summary();
        let not_run = "did not run: 1\n  without sentences: 1 slower tests (make test-codes)\n";
        assert!(summary.contains(not_run), "{summary}");
        let failed = "== failed: 1\n  without sentences: x it a\n\n2 tests passed, 1 failed\n";
        assert!(summary.ends_with(failed), "{summary}");
    }

    #[test]
    fn a_test_that_failed_beside_others_counts_as_it_ends_alone() {
        let program = Program { name: "x it".into(), executable: "".into(), directory: "".into() };
        let ended = |passed: usize, failed: &[&str]| Results {
            passed,
            failed: failed.iter().map(|name| (*name).to_owned()).collect(),
            ..Results::default()
        };
        let mut results = ended(3, &["x it a", "x it b"]);
        results.add_again(&program, "a", ended(1, &[]));
        results.add_again(&program, "b", ended(0, &["x it b"]));
        let summary = results.summary();
        let again =
            "== failed, passed when run again alone: 1\n  x it a\n\n== failed: 1\n  x it b\n";
        assert!(summary.contains(again), "{summary}");
        assert!(summary.ends_with("\n4 tests passed, 1 failed\n"), "{summary}");
    }

    #[test]
    fn programs_are_read_from_cargos_messages() {
        let message = |test: bool, executable: &str| {
            format!(
                "{{\"reason\": \"compiler-artifact\", \"manifest_path\": \"/w/crates/load/Cargo.toml\", \
                 \"target\": {{\"name\": \"it\"}}, \"profile\": {{\"test\": {test}}}, \
                 \"executable\": {executable}}}\n"
            )
        };
        let text = message(true, "\"/t/it-1\"") + &message(true, "null") + "no JSON\n";
        let expected = Program {
            name: "load it".to_owned(),
            executable: "/t/it-1".into(),
            directory: "/w/crates/load".into(),
        };
        assert_eq!(programs(&(text + &message(false, "\"/t/x\""))), [expected]);
    }
}
