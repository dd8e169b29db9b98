//! Tests that a full disk loses nothing that was measured, leaves no half file, and that the message
//! names the disk: of results, of the app's copy, of the journal, of a report and of a file.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{Sandbox, finish, skipped, stderr, stdout};
use crate::words::{CODES, code_or};

/// Mounts a disk at `./small` in a mount namespace of its own, runs the rest of the arguments, and
/// lists what is on the disk then.
const SMALL_DISK: &str = "mount -t tmpfs -o size=$0 none small || exit 99; [ -z \"$FILL\" ] || \
     head -c $FILL /dev/zero > small/filled; mkdir -p small/out; \"$@\"; code=$?; \
     [ -z \"$LIST\" ] || find small -type f > \"$LIST\"; exit $code";

/// A place with an app and a directory `small`; `None`: no disk can be mounted here.
fn sandbox(programs: &[&str]) -> Option<Sandbox> {
    let is_root = rustix::process::geteuid().is_root();
    if skipped(&[programs, &["unshare", "mount"]].concat()) || !is_root {
        return None;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php echo 'shop';");
    sandbox.write("small/none", "");
    Some(sandbox)
}

/// Runs `stampede` while `./small` is a disk of so many bytes.
fn on_small_disk(
    sandbox: &Sandbox,
    size: &str,
    args: &[&str],
    env: &[(&str, &str)],
) -> (Output, Vec<String>) {
    let stampede = sandbox.stampede(args);
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", SMALL_DISK, size]);
    command.arg(stampede.get_program()).args(stampede.get_args());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.current_dir(stampede.get_current_dir().expect("the sandbox"));
    command.envs(stampede.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let listed = sandbox.path().join("listed");
    command.env("LIST", &listed).envs(env.iter().copied());
    let output = finish(command, Duration::from_secs(120));
    let left = std::fs::read_to_string(&listed).unwrap_or_default();
    (output, left.lines().map(str::to_owned).collect())
}

const LOAD: [&str; 6] = ["--concurrency", "1", "--for", "1s", "--warm-up", "0s"];
const COMPARE: [&str; 5] = ["compare", "--app", "./shop", "--runtimes", "php-builtin"];

/// Asserts that the message names the disk and what to do.
fn assert_names_disk(err: &str) {
    let disk = "free some space on the file system at `/";
    assert!(CODES || (err.contains(disk) && err.contains("small`")), "{err}");
}

#[test]
fn trials_before_the_disk_was_full_are_kept_and_shown() {
    let Some(sandbox) = sandbox(&["php"]) else { return };
    let quick = ["--concurrency", "1", "--for", "2s", "--warm-up", "0s", "--rounds", "6"];
    let args = [&COMPARE[..], &quick, &["--out", "small/run"]].concat();
    // It is enough for one trial and not for three.
    let (output, left) = on_small_disk(&sandbox, "120k", &args, &[]);
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert!(out.contains("requests/s"), "what was measured is shown: {out}{err}");
    let is_said = err.contains("small/run/trials/");
    assert!(CODES || is_said, "{err}");
    let disk = code_or("hint: write", "free some space on the file system at `/");
    assert!(err.contains(disk) && (CODES || err.contains("small")), "{err}");
    assert!(err.contains("kept"), "{err}");
    assert!(!left.iter().any(|file| file.ends_with(".tmp")), "{left:?}");
}

#[test]
fn a_disk_that_is_too_small_for_the_copy_is_named() {
    let Some(sandbox) = sandbox(&["php"]) else { return };
    sandbox.write("shop/large", &"x".repeat(2 << 20));
    let journal = sandbox.path().join("run").display().to_string();
    std::fs::create_dir(&journal).expect("a directory");
    let work = sandbox.path().join("small").display().to_string();
    let env = [("TMPDIR", &*work), ("XDG_RUNTIME_DIR", &*journal)];
    let args = [&COMPARE[..], &LOAD, &["--rounds", "1"]].concat();
    let (output, left) = on_small_disk(&sandbox, "512k", &args, &env);
    let err = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{}{err}", stdout(&output));
    assert_names_disk(&err);
    assert_eq!(left, [] as [&str; 0], "the half copy is removed");
}

#[test]
fn a_full_directory_for_the_journal_is_named() {
    let Some(sandbox) = sandbox(&["php"]) else { return };
    let run = sandbox.path().join("small").display().to_string();
    let env = [("XDG_RUNTIME_DIR", &*run), ("FILL", "64k")];
    let args = [&COMPARE[..], &LOAD, &["--rounds", "1"]].concat();
    let (output, left) = on_small_disk(&sandbox, "16k", &args, &env);
    let err = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{}{err}", stdout(&output));
    assert_names_disk(&err);
    assert_eq!(left, ["small/filled"], "no half entry");
}

#[test]
fn an_app_that_fills_the_disk_is_measured_and_told() {
    let Some(sandbox) = sandbox(&["php"]) else { return };
    let fills = "<?php $filled = dirname(ini_get('session.save_path')) . '/tmp/filled';
        @file_put_contents($filled, str_repeat('x', 65536), FILE_APPEND); echo 'shop';";
    sandbox.write("shop/index.php", fills);
    let journal = sandbox.path().join("run").display().to_string();
    std::fs::create_dir(&journal).expect("a directory");
    let work = sandbox.path().join("small").display().to_string();
    let env = [("TMPDIR", &*work), ("XDG_RUNTIME_DIR", &*journal)];
    let args = [&COMPARE[..], &LOAD, &["--rounds", "1", "--out", "run-of-it"]].concat();
    let (output, left) = on_small_disk(&sandbox, "6m", &args, &env);
    let (out, err) = (stdout(&output), stderr(&output));
    let trials = sandbox.path().join("run-of-it/trials");
    let trial = std::fs::read_dir(&trials).unwrap_or_else(|_| panic!("{out}{err}"));
    let trial = trial.flatten().next().expect("a trial").path().join("trial.json");
    let trial = std::fs::read_to_string(trial).expect("it is kept");
    assert!(trial.contains("\"disk_full\"") && trial.contains("small"), "{trial}");
    assert_eq!(left, [] as [&str; 0], "the working directory is removed");
}

#[test]
fn a_report_that_does_not_fit_is_not_left_by_half() {
    let Some(sandbox) = sandbox(&["php"]) else { return };
    let args = [&COMPARE[..], &LOAD, &["--rounds", "1", "--out", "small/run"]].concat();
    // One trial fits, and the page does not.
    let (output, left) = on_small_disk(&sandbox, "200k", &args, &[]);
    let (out, err) = (stdout(&output), stderr(&output));
    assert!(out.contains("requests/s"), "{out}{err}");
    assert!(err.contains("report.html"), "{err}");
    assert_names_disk(&err);
    let ends = |end: &str| left.iter().filter(|file| file.ends_with(end)).count();
    assert_eq!((ends("trial.json"), ends(".tmp"), ends("report.html")), (1, 0, 0), "{left:?}");
}

#[test]
fn files_of_a_load_keep_whole_lines() {
    let Some(sandbox) = sandbox(&["php"]) else { return };
    let server = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let url = format!("http://{}/", server.local_addr().expect("its address"));
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        for mut stream in server.incoming().flatten() {
            let mut bytes = [0; 4096];
            while let Ok(1..) = stream.read(&mut bytes) {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                if stream.write_all(answer).is_err() {
                    break;
                }
            }
        }
    });
    let load = ["--concurrency", "1", "--requests", "3000", "--warm-up", "0s"];
    let files = ["--phout", "small/a.phout", "--prometheus", "small/a.prom"];
    let args = [&["fire", &url], &load[..], &files].concat();
    let (output, left) = on_small_disk(&sandbox, "64k", &args, &[]);
    let (out, err) = (stdout(&output), stderr(&output));
    assert!(out.contains("3 000") || out.contains("3000"), "the summary is whole: {out}{err}");
    assert_names_disk(&err);
    assert_eq!(left, ["small/a.phout"], "{err}");
}

#[test]
fn an_output_that_takes_nothing_is_an_error() {
    let full =
        || std::fs::File::options().write(true).open("/dev/full").expect("the kernel has it");
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path().join("results")).expect("a directory");
    for args in [&["schema", "plan"][..], &["history", "--in", "results", "--json"]] {
        let mut command = sandbox.stampede(args);
        command.stdout(full());
        let output = finish(command, Duration::from_secs(60));
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = code_or("standard_output", "standard output");
        assert!(stderr(&output).contains(said), "{args:?}: {}", stderr(&output));
    }
}
