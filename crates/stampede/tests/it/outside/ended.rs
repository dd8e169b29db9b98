//! Tests that a load that ends early reports at once, however much of its schedule is left.

use std::io::Write;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::talk::{ScriptedServer, ServerConnection};
use crate::common::{Sandbox, finish, stderr, stdout};
use crate::words::code_or;

/// One second, and what a busy machine needs in addition.
const SOON: Duration = Duration::from_secs(8);
/// The time until `limit(2s)` is reached: it is checked after each whole second.
const AUTOSTOP: Duration = Duration::from_secs(3);
const LIMIT: Duration = Duration::from_secs(100);

fn server() -> ScriptedServer {
    ScriptedServer::tcp(|mut line: ServerConnection| {
        while line.head().is_some() {
            line.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    })
}

/// Asserts that only requests that were due by then count as planned, and that each has an outcome.
fn assert_told(output: &Output, took: Duration, end: &str, about: &str) {
    assert!(took < SOON, "{about}: {took:?}");
    let report: Value =
        serde_json::from_str(&stdout(output)).unwrap_or_else(|_| panic!("{}", stderr(output)));
    let count = |name: &str| report[name].as_u64().expect(name);
    assert_eq!(report["end"], end, "{about}: {report}");
    let became = count("requests_ok") + count("requests_failed") + count("requests_dropped");
    assert_eq!(count("requests_planned"), became, "{about}: {report}");
    assert!(count("requests_planned") < 1_000_000, "{about}: {report}");
}

const LOADS: [&[&str]; 5] = [
    &["--schedule", "line(1,100000,12h)"],
    &["--schedule", "line(1,100000,12h)", "--arrivals", "poisson", "--seed", "1"],
    &["--schedule", "line(1,100000,12h)", "--threads", "2"],
    &["--schedule", "step(10,100000,10,30s)", "--max-in-flight", "50"],
    &["--rate", "2000", "--for", "100h"],
];

#[test]
#[ignore = "long: 10 s"]
fn autostop_ends_a_long_schedule_at_once() {
    let (sandbox, server) = (Sandbox::new(), server());
    for load in LOADS {
        let url = server.url("/");
        let args = [&["fire", &url, "--json", "--autostop", "limit(2s)"], load].concat();
        let began = Instant::now();
        let output = finish(sandbox.stampede(&args), LIMIT);
        let took = began.elapsed().saturating_sub(AUTOSTOP);
        assert_told(&output, took, "autostop", &load.join(" "));
    }
}

fn interrupted(mut child: Child, after: Duration) -> (Output, Duration) {
    std::thread::sleep(after);
    let pid = rustix::process::Pid::from_child(&child);
    let began = Instant::now();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    while child.try_wait().expect("its state").is_none() {
        if began.elapsed() > LIMIT {
            child.kill().expect("it runs");
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let took = began.elapsed();
    (child.wait_with_output().expect("its output"), took)
}

#[test]
fn ctrl_c_ends_a_long_schedule_at_once() {
    let (sandbox, server) = (Sandbox::new(), server());
    for load in [LOADS[0], LOADS[1], &["--rate", "20000", "--for", "20h", "--when-full", "stretch"]]
    {
        let url = server.url("/");
        let args = [&["fire", &url, "--json"], load].concat();
        let child = sandbox.stampede(&args).spawn().expect("the binary starts");
        let (output, took) = interrupted(child, Duration::from_secs(2));
        assert_told(&output, took, "stopped", &load.join(" "));
    }
}

#[test]
fn ctrl_c_ends_the_waiting_for_a_pipe_that_nobody_writes_to() {
    let (sandbox, server) = (Sandbox::new(), server());
    let pipe = sandbox.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
    let url = server.url("/");
    // First without any writer, then with a writer that writes nothing.
    for has_writer in [false, true] {
        let args = ["fire", &url, "--traffic", "pipe", "--once", "--concurrency", "2"];
        let child = sandbox.stampede(&args).spawn().expect("the binary starts");
        let writer = has_writer.then(|| {
            let mut both = std::fs::File::options();
            both.read(true).write(true).open(&pipe).expect("a pipe")
        });
        let (output, took) = interrupted(child, Duration::from_secs(1));
        drop(writer);
        assert!(took < SOON, "{took:?}");
        let printed = stderr(&output);
        assert!(printed.contains(code_or("load_traffic", "had no request yet")), "{printed}");
        assert_eq!(output.status.code(), Some(2), "{printed}");
    }
}

/// More than the MiB that is read before the first request, and then nothing more.
#[test]
fn ctrl_c_ends_a_load_whose_pipe_has_gone_silent() {
    let (sandbox, server) = (Sandbox::new(), server());
    let pipe = sandbox.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
    let url = server.url("/");
    let args = ["fire", &url, "--json", "--traffic", "pipe", "--once", "--concurrency", "2"];
    let child = sandbox.stampede(&args).spawn().expect("the binary starts");
    let mut writer = std::fs::File::create(&pipe).expect("a reader");
    let line = format!("/?{}\n", "x".repeat(1_000));
    writer.write_all(line.repeat(2_000).as_bytes()).expect("a reader");
    let (output, took) = interrupted(child, Duration::from_secs(1));
    drop(writer);
    assert_told(&output, took, "stopped", "a silent pipe");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert!(report["requests_ok"].as_u64().is_some_and(|ok| ok > 500), "{report}");
}
