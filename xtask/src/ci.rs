//! Runs the checks that a change must pass, the ones that fail soonest first.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{ChoreError, succeeded};
use crate::programs::{self, Choice, Effort, Lane, Needs, Program, Results};
use crate::{keys, php, report_ui, types, workers, xdebug};

/// How much is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Format, lints, unit tests, the types of the page's data, and the keys in the docs.
    Check,
    /// All tests that are not ignored.
    Test,
    /// Everything.
    All,
}

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const LINTS: &[&str] =
    &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
const PROGRAM: &[&str] = &["build", "--package", "stampede", "--locked"];
const UNIT_TESTS: &[&str] = &["test", "--workspace", "--locked", "--lib", "--bins"];
/// Tools beside cargo, for the dependencies: unused ones, then licences and duplicates, then known
/// faults.
const TOOLS: [&[&str]; 3] = [
    &["machete", "--skip-target-dir"],
    &["deny", "--locked", "check", "licenses", "bans", "sources"],
    &["deny", "--locked", "check", "advisories"],
];
/// What `cargo deny` says where its list of known faults cannot be fetched.
const UNREACHABLE: &str = "failed to fetch advisory database";
/// Documentation tests are left out: there are none.
const TESTS: &[&str] = &["test", "--workspace", "--locked", "--lib", "--bins", "--tests"];
/// The reason of tests that only [`Tier::All`] runs begins with this word.
const LONG: &str = "long";
/// As [`LONG`], for tests that no other test may run beside: they compare two measurements.
const ALONE: &str = "alone";
/// A long test uses half of a CPU, since it waits for a load's end, a server or a deadline meanwhile.
const LONG_PER_CPU: usize = 2;
/// The crates with sentences.
const CODED: [&str; 6] = [
    "stampede",
    "stampede-model",
    "stampede-plan",
    "stampede-results",
    "stampede-stack",
    "stampede-check",
];
/// The tests of a build that prints the code of each fact and error in place of its sentence: none may
/// depend on a wording.
const TESTS_OF_CODES: &[&str] =
    &["test", "--locked", "--features", "stampede/codes-for-text", "--lib", "--tests"];
/// [`Tier::All`] runs the tests without sentences that took up to this long with them.
const SOON: Duration = Duration::from_secs(4);
/// More tests that fail beside each other are no chance.
const DISTURBED_MAX: usize = 5;

/// Runs the checks of a tier, and stops at the first step that fails. The tests are one step.
/// `within`: long tests are started only up to this time after the start.
///
/// # Errors
/// Names the step that failed.
pub fn run(
    root: &Path,
    tier: Tier,
    within: Option<Duration>,
    tidy: impl Fn() -> Result<(), ChoreError>,
) -> Result<(), ChoreError> {
    let began = Instant::now();
    cargo(root, FORMAT)?;
    announce("tidy");
    tidy()?;
    cargo(root, LINTS)?;
    if tier == Tier::Check {
        cargo(root, UNIT_TESTS)?;
        types::check(root)?;
        return keys::check(root);
    }
    let mut results = Results::default();
    for tool in TOOLS {
        if_installed(root, tool, &mut results)?;
    }
    php::check(root, &mut results)?;
    // The page is mostly looked at in a browser, which leaves a compiler enough to do.
    std::thread::scope(|scope| {
        let page = scope.spawn(|| report_ui::check(root));
        let built = cargo(root, PROGRAM);
        page.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).and(built)
    })?;
    types::check(root)?;
    keys::check(root)?;
    let made = made(root)?;
    let programs = build_tests(root, TESTS)?;
    for program in &programs {
        programs::run(program, Choice::AllBut(&[]), &made, &mut results)?;
    }
    let failed = results.failed_of(&programs);
    if failed.len() <= DISTURBED_MAX {
        programs::run_again(&failed, &made, &mut results)?;
    }
    if tier == Tier::All {
        let until = within.map(|within| began + within);
        run_long(&programs, &made, &mut results, until)?;
        match within {
            None => run_without_sentences(root, &made, Some(SOON), &mut results)?,
            Some(_) => results.did_not_run("make test-codes".to_owned()),
        }
    }
    report(root, &results)
}

/// Runs the tests that are not ignored in a build without sentences.
///
/// # Errors
/// Names the step that failed.
pub fn run_codes(root: &Path) -> Result<(), ChoreError> {
    let mut results = Results::default();
    let made = made(root)?;
    run_without_sentences(root, &made, None, &mut results)?;
    report(root, &results)
}

/// What tests use and no package has, by the environment variables that name it.
fn made(root: &Path) -> Result<Vec<(&'static str, PathBuf)>, ChoreError> {
    announce("RoadRunner, FrankenPHP and Xdebug");
    let mut made = workers::build(root)?;
    made.extend(xdebug::find_or_fetch(root));
    Ok(made)
}

/// `soon`: only those that took up to this long with their sentences.
fn run_without_sentences(
    root: &Path,
    env: &[(&str, PathBuf)],
    soon: Option<Duration>,
    results: &mut Results,
) -> Result<(), ChoreError> {
    let packages = CODED.iter().flat_map(|name| ["--package", name]);
    let arguments: Vec<&str> = TESTS_OF_CODES.iter().copied().chain(packages).collect();
    for program in build_tests(root, &arguments)? {
        let slow = soon.map_or_else(Vec::new, |soon| results.slower(&program, soon));
        let mut of_codes = Results::default();
        programs::run(&program, Choice::AllBut(&slow), env, &mut of_codes)?;
        results.add_without_sentences(of_codes, &slow);
    }
    Ok(())
}

/// Prints the results, and stores the time of each test.
fn report(root: &Path, results: &Results) -> Result<(), ChoreError> {
    let times = report_ui::target(root).join("test-times.txt");
    std::fs::write(times, results.times())?;
    println!("{}", results.summary());
    match results.has_failed() {
        true => Err(ChoreError::TestsFailed),
        false => Ok(()),
    }
}

/// Runs the long tests, several at once, by what they need; then one by one those that need the machine to
/// themselves. A few that fail run again, alone.
///
/// `until`: no test is started later. The shortest come first then, so that fewest are left; without it
/// the longest do, so that none goes on alone at the end.
fn run_long(
    programs: &[Program],
    env: &[(&str, PathBuf)],
    results: &mut Results,
    until: Option<Instant>,
) -> Result<(), ChoreError> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let beside =
        [(Needs::Cpu, cpus * LONG_PER_CPU), (Needs::Engine, 1), (Needs::Time, cpus * LONG_PER_CPU)];
    let alone = [(Needs::Cpu, 1)];
    for (tier, lanes) in [(LONG, &beside[..]), (ALONE, &alone)] {
        let one = |program| {
            let tests = results.long(program, tier).into_iter();
            tests.map(move |(test, effort)| (effort, program, test))
        };
        let mut tests: Vec<(Effort, &Program, String)> = programs.iter().flat_map(one).collect();
        tests.sort_by_key(|(effort, ..)| effort.seconds);
        if until.is_none() {
            tests.reverse();
        }
        let of = |needs| tests.iter().filter(move |(effort, ..)| effort.needs == needs);
        let lanes = lanes.iter().map(|(needs, at_once)| Lane {
            tests: of(*needs).map(|(_, program, test)| (*program, test.clone())).collect(),
            at_once: *at_once,
        });
        let lanes = lanes.collect();
        let is_over = || until.is_some_and(|until| Instant::now() > until);
        let failed = programs::run_each(lanes, env, results, is_over)?;
        if failed.len() <= DISTURBED_MAX {
            programs::run_again(&failed, env, results)?;
        }
    }
    Ok(())
}

/// Builds the test programs that `cargo test` would run.
fn build_tests(root: &Path, test: &[&str]) -> Result<Vec<Program>, ChoreError> {
    announce(&test.join(" "));
    let output = Command::new(cargo_program())
        .args(test)
        .args(["--no-run", "--message-format", "json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| ChoreError::NotStarted { command: "cargo test".to_owned(), source })?;
    succeeded("cargo test --no-run", Ok(output.status))?;
    Ok(programs::programs(&String::from_utf8_lossy(&output.stdout)))
}

/// Runs a tool of cargo. Without it, or without the network that it needs, that is said at once and
/// in the results.
fn if_installed(root: &Path, tool: &[&str], results: &mut Results) -> Result<(), ChoreError> {
    let asked = Command::new(cargo_program())
        .args([tool[0], "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let mut missing = format!("cargo {} is not installed", tool[0]);
    if succeeded("cargo", asked).is_ok() {
        announce(&tool.join(" "));
        let output = Command::new(cargo_program()).args(tool).current_dir(root).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        eprint!("{}{said}", String::from_utf8_lossy(&output.stdout));
        if output.status.success() || !said.contains(UNREACHABLE) {
            return succeeded(&format!("cargo {}", tool.join(" ")), Ok(output.status));
        }
        missing = format!("cargo {}: {UNREACHABLE}", tool.join(" "));
    }
    eprintln!("did not run: {missing}");
    results.did_not_run(missing);
    Ok(())
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<(), ChoreError> {
    announce(&arguments.join(" "));
    let program = cargo_program();
    let ran = Command::new(&program).args(arguments).current_dir(root).status();
    match ran {
        Err(source) => {
            Err(ChoreError::NotStarted { command: program.display().to_string(), source })
        }
        ran => succeeded(&format!("cargo {}", arguments.join(" ")), ran),
    }
}

/// The cargo that runs this program, not the first one in PATH.
pub fn cargo_program() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

fn announce(what: &str) {
    eprintln!("== {what}");
}
