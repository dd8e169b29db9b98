//! Tests that nothing is left behind and that measured data is kept, however a run ends: by Ctrl-C,
//! SIGTERM, or SIGKILL of stampede or its keeper. With real runtimes.

use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::{Sandbox, fact, finish, missing, skipped, stderr, stdout, trials};
use crate::words::code_or;

/// Longer than a comparison needs to end.
const LIMIT: Duration = Duration::from_secs(60);

/// Keepers and init processes of the stampede with this pid, and processes of its stacks.
fn processes_of(pid: u32) -> Vec<(u32, String)> {
    let (argument, marker) = (format!("\0{pid}-"), format!("STAMPEDE_STACK={pid}-"));
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let Ok(number) = entry.file_name().to_string_lossy().parse() else { continue };
        let read = |file| std::fs::read(entry.path().join(file)).unwrap_or_default();
        let cmdline = String::from_utf8_lossy(&read("cmdline")).into_owned();
        let is_guard = cmdline.starts_with("stampede\0__") && cmdline.contains(&argument);
        if is_guard || String::from_utf8_lossy(&read("environ")).contains(&marker) {
            found.push((number, cmdline.replace('\0', " ")));
        }
    }
    found
}

fn keeper_of(pid: u32) -> Option<Pid> {
    let keeper = processes_of(pid).into_iter().find(|(_, command)| command.contains("__keeper"))?;
    Pid::from_raw(i32::try_from(keeper.0).ok()?)
}

/// Waits for a result, for up to 10 s.
fn until<T>(mut found: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(10) {
        if let Some(found) = found() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    None
}

/// Nothing sweeps here, so whatever is gone was removed by the surviving processes.
fn assert_nothing_left(sandbox: &Sandbox, pid: u32, when: &str) {
    until(|| processes_of(pid).is_empty().then_some(()));
    assert_eq!(processes_of(pid), [], "{when}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new(), "{when}");
    let groups = std::process::Command::new("find")
        .args(["/sys/fs/cgroup", "-name", &format!("stampede-{pid}-*")])
        .output()
        .expect("find");
    assert_eq!(stdout(&groups), "", "{when}");
}

fn interrupt(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("the signal");
}

#[test]
#[ignore = "long: 12 s"]
fn ctrl_c_keeps_the_results_so_far() {
    if skipped(&["php"]) {
        return;
    }
    for signal in [Signal::INT, Signal::TERM] {
        let sandbox = Sandbox::new();
        let line = "compare --app hello --runtimes php-builtin --rate 50 --for 2s --warm-up 0s \
                    --rounds 20";
        let args: Vec<&str> = line.split_whitespace().collect();
        let child = sandbox.stampede(&args).spawn().expect("the binary starts");
        let pid = child.id();
        // Long enough for the first trial, but not for the twentieth.
        std::thread::sleep(Duration::from_secs(6));
        interrupt(&child, signal);
        let output = child.wait_with_output().expect("its output");
        let (out, err) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(3), "measured, but not all:\n{out}\n{err}");
        assert!(out.contains("php-builtin"), "no table of what was measured:\n{out}\n{err}");
        assert!(err.contains("interrupted"), "{err}");
        assert_nothing_left(&sandbox, pid, "interrupted");
    }
}

const NEVER_RIGHT: &str =
    "{title: never right, kind: script, docroot: ., index: index.php, expect: {contains: [right]}}";

/// An app whose answer is never the expected one: the runtime is up but not ready.
#[test]
fn a_runtime_that_does_not_get_ready_is_given_up_at_once() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    // Slow, so that the runtime is seen before it is given up.
    sandbox.write("app/index.php", "<?php usleep(500000); echo 'not so';");
    sandbox.write("app/app.yaml", NEVER_RIGHT);
    for (command, code) in [
        ("up php-builtin --app ./app", 0),
        ("compare --app ./app --runtimes php-builtin --rate 10 --for 1s", 3),
    ] {
        let args: Vec<&str> = command.split(' ').collect();
        let child = sandbox.stampede(&args).spawn().expect("the binary starts");
        let pid = child.id();
        let is_up =
            || processes_of(pid).iter().any(|(_, command)| command.contains("php")).then_some(());
        until(is_up).expect("it starts");
        let begun = Instant::now();
        interrupt(&child, Signal::INT);
        let output = child.wait_with_output().expect("its output");
        let (out, err) = (stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(code), "{command}:\n{out}\n{err}");
        assert!(begun.elapsed() < Duration::from_secs(4), "{command}: {:?}", begun.elapsed());
        assert!(!err.contains("error"), "{command}: {err}");
        assert_nothing_left(&sandbox, pid, command);
    }
}

#[test]
fn a_keeper_lost_during_the_load_ends_it_and_keeps_what_was_measured() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let line = "compare --app hello --runtimes php-builtin --rate 100 --for 30s --warm-up 0s \
                --repeat-invalid 0";
    let args: Vec<&str> = line.split(' ').collect();
    let child = sandbox.stampede(&args).spawn().expect("the binary starts");
    let pid = child.id();
    // Seconds of the load are written to disk as they pass.
    let kept = |run: std::fs::DirEntry| {
        let trials = std::fs::read_dir(run.path().join("trials")).ok()?;
        let mut files = trials.flatten().map(|trial| trial.path().join("seconds.ndjson"));
        files.find(|file| std::fs::metadata(file).is_ok_and(|file| file.len() > 0))
    };
    let results = sandbox.path().join("stampede-results");
    until(|| std::fs::read_dir(&results).ok()?.flatten().find_map(kept)).expect("the load begins");
    kill_process(keeper_of(pid).expect("a keeper"), Signal::KILL).expect("SIGKILL");
    let begun = Instant::now();
    let output = child.wait_with_output().expect("its output");
    let (out, err) = (stdout(&output), stderr(&output));
    assert!(begun.elapsed() < Duration::from_secs(15), "the load goes on: {:?}", begun.elapsed());
    assert_eq!(output.status.code(), Some(3), "{out}\n{err}");
    let record = &trials(&sandbox)[0];
    assert!(record["load"]["counts"]["ok"].as_u64().expect("a count") > 50, "{record:#}");
    assert_eq!(record["verdict"]["judged"], "invalid", "{record:#}");
    let reasons = &record["verdict"]["reasons"];
    let gone = fact(reasons, "runtime_gone");
    assert_eq!(gone["cause"]["source"]["code"], "gone", "the keeper: {reasons}");
    let starts = |reason: &Value| reason["cause"]["code"] == "keeper";
    assert!(!reasons.as_array().expect("reasons").iter().any(starts), "{reasons}");
    assert_nothing_left(&sandbox, pid, "keeper killed");
}

/// A lack of memory shows in many ways: a 502, a missing worker, a refused connection.
#[test]
fn want_of_memory_is_named() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let line = "compare --app hello --runtimes nginx-fpm --workers 60 --memory 24MiB --rate 50 \
                --for 1s --warm-up 0s";
    let args: Vec<&str> = line.split_whitespace().collect();
    let output = finish(sandbox.stampede(&args), LIMIT);
    let record = &trials(&sandbox)[0];
    if record["isolation"]["memory_limit"] == "none" {
        return println!("SKIPPED: no memory limit can be set here");
    }
    let (out, err) = (stdout(&output), stderr(&output));
    assert!(err.contains(code_or("workers_crowded", "60 workers need")), "{err}");
    assert!(err.contains(code_or("workers_crowded", "the stack has 24.0 MiB")), "{err}");
    let reasons = &record["verdict"]["reasons"];
    assert!(!fact(reasons, "out_of_memory").is_null(), "{reasons}\n{out}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// The process that is killed.
#[derive(Clone, Copy, Debug)]
enum Victim {
    Stampede,
    Keeper,
}

/// Starts a comparison of real runtimes and kills the victim after `delay`.
fn kill_once(runtimes: &str, victim: Victim, delay: Duration) {
    let sandbox = Sandbox::new();
    let line = format!(
        "compare --app hello --runtimes {runtimes} --concurrency 2 --for 500ms --warm-up 100ms --workers 3"
    );
    let args: Vec<&str> = line.split(' ').collect();
    let command = sandbox.stampede(&args);
    let when = format!("{victim:?} of `{line}` after {delay:?}");
    let pid = match victim {
        Victim::Stampede => {
            let mut command = command;
            let mut child = command.spawn().expect("the binary starts");
            std::thread::sleep(delay);
            child.kill().expect("SIGKILL");
            child.wait().expect("its end");
            child.id()
        }
        Victim::Keeper => {
            let (sender, started) = std::sync::mpsc::channel();
            let running = std::thread::spawn(move || {
                let mut command = command;
                let child = command.spawn().expect("the binary starts");
                sender.send(child.id()).expect("somebody waits");
                child.wait_with_output().expect("its output")
            });
            let pid = started.recv().expect("its pid");
            std::thread::sleep(delay);
            // There is no keeper between two runtimes, nor at the end.
            if let Some(keeper) = keeper_of(pid) {
                let _ = kill_process(keeper, Signal::KILL);
            }
            let output = running.join().expect("a thread");
            let code = output.status.code();
            assert!(matches!(code, Some(0 | 3)), "{when}: {code:?}\n{}", stderr(&output));
            pid
        }
    };
    assert_nothing_left(&sandbox, pid, &when);
}

#[test]
#[ignore = "long: 76 s"]
fn killed_at_random_moments_of_a_comparison_nothing_is_left() {
    let all = [("nginx-fpm", "nginx"), ("apache-modphp", "apache2"), ("php-builtin", "php")];
    let here = all.iter().filter(|(_, program)| missing(&[program]).is_empty());
    let runtimes: Vec<&str> = here.map(|(name, _)| *name).collect();
    let runtimes = runtimes.join(",");
    if runtimes.is_empty() {
        return println!("SKIPPED: no runtime is installed here");
    }
    let started = finish(Sandbox::new().stampede(&["--version"]), LIMIT);
    assert!(started.status.success());
    std::thread::scope(|scope| {
        for lane in 0..3_u64 {
            let runtimes = runtimes.as_str();
            scope.spawn(move || {
                for number in (lane..30).step_by(3) {
                    let mut random = fastrand::Rng::with_seed(number);
                    let delay = Duration::from_micros(random.u64(0..2_500_000));
                    let victim = if number % 2 == 0 { Victim::Stampede } else { Victim::Keeper };
                    kill_once(runtimes, victim, delay);
                }
            });
        }
    });
}

/// A PHP app that kills its process at the 60th, 80th and 100th request. The master starts another
/// process, and the note repeats the master's log line about each death.
const DIES: &str = r#"<?php
$file = dirname(__DIR__) . '/var/served';
$served = 1 + (int) @file_get_contents($file);
file_put_contents($file, (string) $served);
if (in_array($served, [60, 80, 100], true)) {
    exec('kill -9 ' . getmypid());
}
echo 'fine';
"#;

#[test]
fn a_worker_that_dies_under_load_is_counted_with_its_last_words() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("app/app.yaml", "title: dies\nkind: script\ndocroot: public\nwritable: [var]\n");
    sandbox.write("app/public/index.php", DIES);
    // With one user, a busy host cannot delay a scheduled request.
    let load =
        ["--concurrency", "1", "--for", "3s", "--rounds", "1", "--warm-up", "0s", "--workers", "1"];
    let app = ["compare", "--app", "./app", "--runtimes", "nginx-fpm", "--json"];
    let output = finish(sandbox.stampede(&[&app[..], &load[..]].concat()), LIMIT);
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let case = &summary["cases"][0];
    assert!(case["counts"]["restarts"].as_u64() >= Some(1), "{case:#}");
    let trial = &trials(&sandbox)[0];
    let replaced = fact(&trial["verdict"]["notes"], "workers_replaced");
    assert!(replaced["log"].to_string().contains("SIGKILL"), "{trial:#}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}
