//! Tests the program where the kernel lacks `epoll_pwait2`, `clone3`, pidfds, `openat2`, `close_range`
//! and io_uring. `STAMPEDE_TEST_BINARY=FILE` tests a static binary in the same way.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer};
use stampede_testing::seccomp::{of_old_kernel, refuse_in};

use crate::common::{Sandbox, finish, skipped, stderr, stdout, trials};
use crate::words::CODES;

const LIMIT: Duration = Duration::from_secs(60);

fn on_old_kernel(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.stampede(args);
    refuse_in(&mut command, &of_old_kernel());
    command
}

fn run(sandbox: &Sandbox, args: &[&str]) -> Output {
    finish(on_old_kernel(sandbox, args), LIMIT)
}

fn server() -> KnownServer {
    KnownServer::start(Behaviour::answering(Answer::ok())).expect("a server")
}

#[test]
fn load_is_sent_on_an_old_kernel_and_io_uring_by_name_says_why_not() {
    let (sandbox, server) = (Sandbox::new(), server());
    let address = format!("http://{}/", server.address());
    let load = ["fire", address.as_str(), "--rate", "200", "--for", "1s", "--json"];
    for agents in [&[][..], &["--agents", "local:2"]] {
        let output = run(&sandbox, &[&load[..], agents].concat());
        let found: Value = serde_json::from_str(&stdout(&output)).unwrap_or_default();
        let (planned, ok) = (&found["requests_planned"], &found["requests_ok"]);
        assert!(planned.as_u64() > Some(100) && ok == planned, "{found:#}{}", stderr(&output));
    }
    let output = run(&sandbox, &[&load[..], &["--engine", "io_uring"]].concat());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let is_said = said.contains("os error 38") && said.contains("--engine epoll");
    assert!(CODES || is_said, "{said}");
}

#[test]
fn runtimes_start_are_measured_and_end_on_an_old_kernel() {
    if skipped(&["nginx", "php-fpm", "php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let doctor = run(&sandbox, &["doctor"]);
    assert_eq!(doctor.status.code(), Some(0), "{}", stderr(&doctor));
    let compare =
        "compare --app hello --runtimes nginx-fpm,php-builtin --rate 50 --for 1s --warm-up 200ms";
    let words: Vec<&str> = compare.split(' ').collect();
    let output = run(&sandbox, &words);
    let text = stdout(&output) + &stderr(&output);
    // A disturbed machine makes trials invalid; the kernel is no reason for that.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{text}");
    let trials = trials(&sandbox);
    // An invalid trial is measured again.
    assert!(trials.len() >= 2, "{text}");
    for trial in &trials {
        let counts = &trial["load"]["counts"];
        assert!(counts["ok"].as_u64() > Some(20) && counts["ok"] == counts["planned"], "{trial:#}");
    }
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}

/// Nothing is left after Ctrl-C, and after the end of stampede alone.
#[test]
fn what_runs_ends_with_stampede_on_an_old_kernel() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    for signal in [Signal::INT, Signal::KILL] {
        let sandbox = Sandbox::new();
        let mut command = on_old_kernel(&sandbox, &["up", "nginx-fpm", "--app", "hello"]);
        let mut child = command.spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
        let first = lines.next().expect("a line").expect("text");
        assert!(first.contains("http://"), "{first}");
        kill_process(Pid::from_child(&child), signal).expect("the signal");
        child.wait().expect("its end");
        assert_eq!(sandbox.left_behind(), [""; 0], "{signal:?}");
    }
}
