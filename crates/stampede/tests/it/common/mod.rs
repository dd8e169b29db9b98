//! Support for the end-to-end tests: runs the real binary in a directory of its own.

pub mod why;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use stampede_stack::{Catalogue, SearchPaths};
use tempfile::TempDir;

/// A directory of its own for one test. Results, working directories and the journal are all below
/// it, so that a test can see what is left behind.
pub struct Sandbox {
    /// Deletes the directory when the place is dropped.
    directory: TempDir,
}

impl Sandbox {
    /// Makes an empty place that an unprivileged user can enter.
    pub fn new() -> Sandbox {
        let directory = tempfile::Builder::new()
            .prefix("stampede-test-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .tempdir()
            .expect("a temporary directory");
        std::fs::create_dir(directory.path().join("tmp"))
            .expect("a directory for working directories");
        Sandbox { directory }
    }

    /// The path of the place.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The directory for working directories.
    pub fn tmp(&self) -> PathBuf {
        self.path().join("tmp")
    }

    /// The real binary with `args`, to run in this place. `STAMPEDE_TEST_BINARY` names another one,
    /// such as a static one.
    pub fn stampede(&self, args: &[&str]) -> Command {
        let other = std::env::var_os("STAMPEDE_TEST_BINARY");
        let mut command =
            Command::new(other.unwrap_or_else(|| env!("CARGO_BIN_EXE_stampede").into()));
        command
            .args(args)
            .current_dir(self.path())
            .env("TMPDIR", self.tmp())
            .env("XDG_RUNTIME_DIR", self.tmp())
            .env("HOME", self.path())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Writes a file in this place; returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a directory");
        }
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// Writes a program in this place; returns its path.
    pub fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        stampede_testing::program::write_program(&path, text);
        path
    }

    /// The directory of the only run.
    pub fn run(&self) -> PathBuf {
        let results = self.path().join("stampede-results");
        let runs: Vec<PathBuf> = std::fs::read_dir(&results)
            .unwrap_or_else(|error| panic!("no results in {}: {error}", results.display()))
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_dir() && !path.is_symlink())
            .collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    /// Lists what stacks left behind, after waiting up to 5 s for it to disappear.
    pub fn left_behind(&self) -> Vec<String> {
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            let left = self.look();
            if left.is_empty() || Instant::now() > deadline {
                return left;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn look(&self) -> Vec<String> {
        let mut left = Vec::new();
        for entry in
            std::fs::read_dir(self.tmp()).expect("the directory for working directories").flatten()
        {
            left.push(entry.path().display().to_string());
        }
        let marker = self.tmp().display().to_string();
        for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
            let pid = entry.file_name().to_string_lossy().into_owned();
            let environ = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let cmdline = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let text =
                String::from_utf8_lossy(&environ).into_owned() + &String::from_utf8_lossy(&cmdline);
            if pid.bytes().all(|byte| byte.is_ascii_digit()) && text.contains(&marker) {
                left.push(format!(
                    "process {pid}: {}",
                    String::from_utf8_lossy(&cmdline).replace('\0', " ")
                ));
            }
        }
        left
    }
}

/// Runs a command to its end; stops it after `limit`.
pub fn finish(mut command: Command, limit: Duration) -> Output {
    let child = command.spawn().expect("the binary starts");
    let pid = rustix::process::Pid::from_child(&child);
    let (sender, ended) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if ended.recv_timeout(limit).is_err() {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    });
    let output = child.wait_with_output().expect("its output");
    drop(sender);
    guard.join().expect("the guard");
    output
}

/// The standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Those of the programs that are missing where stampede looks for programs.
pub fn missing(programs: &[&str]) -> Vec<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let directories: Vec<&str> =
        path.split(':').chain(["/usr/sbin", "/sbin", "/usr/local/sbin"]).collect();
    programs
        .iter()
        .filter(|program| {
            !directories.iter().any(|directory| {
                std::fs::read_dir(directory)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .any(|entry| entry.file_name().to_string_lossy().starts_with(**program))
            })
        })
        .map(|program| (*program).to_owned())
        .collect()
}

/// Whether a program is missing; prints the missing ones.
pub fn skipped(programs: &[&str]) -> bool {
    let missing = missing(programs);
    if !missing.is_empty() {
        println!("SKIPPED: not installed here: {}", missing.join(", "));
    }
    !missing.is_empty()
}

/// Reasons that stem from a busy machine, and not from what is tested.
const OF_THE_MACHINE: [&str; 5] =
    ["generator_lag", "generator_busy", "other_processes", "steal", "slow_clock"];

/// The reasons of a verdict that do not stem from a busy machine.
pub fn reasons_of_the_app(verdict: &Value) -> Vec<&Value> {
    let reasons = verdict["reasons"].as_array().expect("reasons").iter();
    reasons.filter(|reason| !OF_THE_MACHINE.iter().any(|code| reason["code"] == *code)).collect()
}

/// The fact with this code in a list of reasons, notes or notices; `Null` if there is none.
pub fn fact<'a>(facts: &'a Value, code: &str) -> &'a Value {
    let all = facts.as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().find(|fact| fact["code"] == code).unwrap_or(&Value::Null)
}

/// Asserts that everything was measured (exit code 0). On a busy machine, trials may also be
/// invalid for that reason alone (exit code 3).
pub fn assert_measured(sandbox: &Sandbox, output: &Output) {
    let all = stdout(output) + &stderr(output);
    if output.status.code() == Some(0) {
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{all}");
    for record in trials(sandbox) {
        assert_eq!(reasons_of_the_app(&record["verdict"]), Vec::<&Value>::new(), "{all}");
    }
}

/// All `trial.json` files of the only run.
pub fn trials(sandbox: &Sandbox) -> Vec<Value> {
    let directory = std::fs::read_dir(sandbox.run().join("trials")).expect("trials");
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(path.join("trial.json")).expect("trial.json");
        serde_json::from_str(&text).expect("JSON")
    };
    directory.flatten().map(|entry| read(entry.path())).collect()
}

/// The `summary.json` of the only run.
pub fn summary(sandbox: &Sandbox) -> Value {
    let text = std::fs::read_to_string(sandbox.run().join("summary.json")).expect("summary.json");
    serde_json::from_str(&text).expect("JSON")
}

/// Sends independent loads to a runtime that `stampede up` starts. At 95 % of the capacity the
/// expectations must be met; at 120 % of the upper bound they must not. Two of three loads decide: another
/// guest of the machine may take its CPU for as long as one of them.
pub fn confirm(sandbox: &Sandbox, up: &[&str], capacity: f64, upper: f64) {
    for (rate, wanted) in [(capacity * 0.95, true), (upper.max(capacity) * 1.2, false)] {
        let (mut as_wanted, mut otherwise) = (0, Vec::new());
        while as_wanted < 2 {
            let printed = load_of_a_runtime(sandbox, up, rate);
            println!("{rate:.0}/s:\n{printed}");
            // With schedule lag, requests arrive in bursts, which is harder for the server.
            // Expectations that are met all the same count as met.
            let met = CONFIRMED.map(|text| printed.contains(&format!("{text}: met"))) == [true; 2];
            match met == wanted {
                true => as_wanted += 1,
                false => otherwise.push(printed),
            }
            assert!(otherwise.len() < 2, "{rate:.0}/s, wanted {wanted}: {}", otherwise.concat());
        }
    }
}

/// What a search promises that nobody has told what to expect.
const CONFIRMED: [&str; 2] = ["p95 < 100ms", "ok >= 99.9%"];

/// What `fire` prints of 20 seconds at this rate.
fn load_of_a_runtime(sandbox: &Sandbox, up: &[&str], rate: f64) -> String {
    use std::io::Read as _;

    let mut child =
        sandbox.stampede(&[&["up"], up, &["--json"]].concat()).spawn().expect("up starts");
    let mut text = String::new();
    let mut out = child.stdout.take().expect("stdout");
    // `up` prints one JSON object, and then nothing until it ends.
    let url = loop {
        let mut piece = [0; 4096];
        let count = out.read(&mut piece).expect("what up says");
        assert!(count > 0, "up ended: {text}");
        text += &String::from_utf8_lossy(&piece[..count]);
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            break value["url"].as_str().expect("a URL").to_owned();
        }
    };
    let path = if up.contains(&"sleep") { "?ms=10" } else { "" };
    let (url, rate) = (format!("{}/{path}", url.trim_end_matches('/')), format!("{rate:.0}"));
    let load = ["fire", &url, "--rate", &rate, "--for", "20s", "--warm-up", "2s"];
    let expect = CONFIRMED.map(|text| ["--expect", text]).concat();
    let result =
        finish(sandbox.stampede(&[&load[..], &expect[..]].concat()), Duration::from_secs(90));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    drop(out);
    let _ = child.wait();
    stdout(&result)
}

/// Raises the format of a file that was just written; reading it must then be refused.
pub fn a_newer_format_is_refused(sandbox: &Sandbox, name: &str) {
    let (run, path) = (sandbox.run().display().to_string(), sandbox.run().join(name));
    let text = std::fs::read_to_string(&path).expect("it was written");
    let ours = serde_json::from_str::<Value>(&text).expect("JSON")["format"].as_u64();
    let (ours, newer) = (ours.expect("a format"), ours.expect("a format") + 1);
    let written = |format| format!("\"format\": {format}");
    assert!(text.contains(&written(ours)), "{text}");
    std::fs::write(&path, text.replacen(&written(ours), &written(newer), 1)).expect("written");
    let output = finish(sandbox.stampede(&["report", &run]), Duration::from_secs(30));
    let printed = stderr(&output);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()), "{printed}");
    let refused = match cfg!(feature = "codes-for-text") {
        true => "error: newer".to_owned(),
        false => format!("{name}` has format {newer}, this stampede knows {ours}"),
    };
    assert!(printed.contains(&refused), "{printed}");
    let hint = match cfg!(feature = "codes-for-text") {
        true => "hint: newer",
        false => "hint: read it with a newer stampede",
    };
    assert!(printed.contains(hint), "{printed}");
}

/// Makes an app of `check_apps`: its own files, copied over `callable` or over the framework that
/// its name ends with and the files that both frameworks share. A name without a directory is a
/// callable's fault in that framework's form.
pub fn check_app(name: &str, sandbox: &Sandbox) -> PathBuf {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check_apps");
    let frameworks = [("symfony", "src"), ("laravel", "app")];
    let framework = frameworks.into_iter().find(|(framework, _)| name.ends_with(framework));
    let layer = framework.map_or("callable", |(framework, _)| framework);
    let shared = name.strip_suffix(&format!("-{layer}")).filter(|_| !all.join(name).is_dir());
    let own = all.join(shared.unwrap_or(name));
    assert!(own.is_dir(), "there is no app `{name}`");
    let made = sandbox.path().join(name);
    let both = framework.map(|(_, classes)| (all.join("framework"), made.join(classes)));
    let layers = [Some((all.join(layer), made.clone())), both, Some((own, made.clone()))];
    for (from, to) in layers.into_iter().flatten() {
        let copied = Command::new("cp").arg("-rT").arg(&from).arg(to).status();
        assert!(copied.expect("cp").success(), "{}", from.display());
    }
    if shared.is_some() {
        let form = all.join(layer).join("app.yaml");
        std::fs::copy(form, made.join("app.yaml")).expect("what the app is");
    }
    made
}

/// Those of the runtimes that are installed here, in the same order. Prints it if there is none.
pub fn runtimes_here(names: &[&'static str]) -> Vec<&'static str> {
    let output = Command::new(env!("CARGO_BIN_EXE_stampede"))
        .args(["runtimes", "--json"])
        .output()
        .expect("the runtimes");
    let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let is_here = |name: &&str| {
        let mut all = listed.as_array().expect("a list").iter();
        all.any(|one| one["name"] == *name && one["state"]["found"].is_object())
    };
    let found: Vec<_> = names.iter().copied().filter(is_here).collect();
    if found.is_empty() {
        println!("SKIPPED: none of {} is here", names.join(", "));
    }
    found
}

/// The worker runtimes on which planted faults are searched. Debian has no packages of them.
pub fn workers() -> Vec<&'static str> {
    runtimes_here(&["roadrunner", "frankenphp-worker"])
}

/// Settings for a snapshot that shows the runtimes of the catalogue as RUNTIMES: the list of all,
/// with the test's `own`, and the lists of those that have one of `settings`. So a new runtime
/// changes no snapshot, and a list that lacks one still does.
pub fn without_runtimes(own: &[&str], settings: &[&str]) -> insta::Settings {
    let catalogue = Catalogue::load(SearchPaths::default());
    let shipped = catalogue.runtime_names();
    let mut all: Vec<&str> = shipped.iter().chain(own).copied().collect();
    all.sort_unstable();
    let mut shown = insta::Settings::clone_current();
    shown.add_filter(&list_pattern(&all, "or"), " RUNTIMES");
    for setting in settings {
        let has = |name: &&str| catalogue.runtime(name).is_ok_and(|runtime| runtime.has(setting));
        let some: Vec<&str> = shipped.iter().copied().filter(has).collect();
        shown.add_filter(&list_pattern(&some, "and"), " RUNTIMES");
    }
    shown
}

/// The pattern of a list in a message whose lines may be broken anywhere.
fn list_pattern(names: &[&str], last: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let (end, others) = names.split_last().expect("a name");
    format!(r"\s+{}\s+{last}\s+{end}", others.join(r",\s+"))
}
