//! Tests that requests are sent in the mix of their file, with any number of load threads.

use std::io::Write;
use std::time::Duration;

use serde_json::Value;

use super::talk::{ScriptedServer, ServerConnection};
use crate::common::{Sandbox, finish, stderr, stdout};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const LIMIT: Duration = Duration::from_secs(120);

/// A server that answers at once, except for paths that begin with `/slow`: after 10 ms.
fn fast_and_slow() -> ScriptedServer {
    ScriptedServer::tcp(|mut line: ServerConnection| {
        while let Some(head) = line.head() {
            if head.starts_with("GET /slow") {
                std::thread::sleep(Duration::from_millis(10));
            }
            line.say(OK);
        }
    })
}

fn load_result(sandbox: &Sandbox, server: &ScriptedServer, args: &[&str]) -> Value {
    let url = server.url("/");
    let args = [&["fire", &url, "--json"], args].concat();
    let output = finish(sandbox.stampede(&args), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

fn sent(report: &Value, tag: &str) -> u64 {
    let of = &report["tags"][tag];
    let count = |field: &str| of[field].as_u64().unwrap_or(0);
    count("requests_ok") + count("requests_failed")
}

/// Asserts that the counts differ by no more than the requests in flight at the end.
fn assert_even(report: &Value, tags: &[&str], about: &str) {
    let counts: Vec<u64> = tags.iter().map(|tag| sent(report, tag)).collect();
    let (least, most) = (*counts.iter().min().unwrap(), *counts.iter().max().unwrap());
    assert!(least > 20, "{about}: {counts:?}");
    assert!(most - least <= 8, "{about}: {counts:?}");
}

#[test]
#[ignore = "long: 25 s"]
fn a_closed_load_keeps_the_mix_with_any_number_of_threads() {
    let (sandbox, server) = (Sandbox::new(), fast_and_slow());
    sandbox.write("two", "/fast fast\n/slow slow\n");
    sandbox.write("four", "/fast a\n/slow b\n/fast c\n/slow d\n");
    for (threads, users) in [("1", "4"), ("2", "4"), ("3", "5"), ("4", "4")] {
        for (file, tags) in [("two", &["fast", "slow"][..]), ("four", &["a", "b", "c", "d"])] {
            for order in ["in-order", "random"] {
                let args = [
                    "--traffic",
                    file,
                    "--threads",
                    threads,
                    "--concurrency",
                    users,
                    "--for",
                    "1500ms",
                ];
                let args = [&args[..], &["--traffic-order", order]].concat();
                let report = load_result(&sandbox, &server, &args);
                assert_even(&report, tags, &format!("{file}, {threads} threads, {order}"));
            }
        }
    }
}

#[test]
fn a_number_of_requests_are_the_first_of_the_file() {
    let (sandbox, server) = (Sandbox::new(), fast_and_slow());
    sandbox.write("two", "/fast fast\n/slow slow\n");
    sandbox.write("one", "/fast fast\n");
    sandbox.write("five", "/fast a\n/slow b\n/fast c\n/slow d\n/fast e\n");
    for threads in ["1", "2", "3"] {
        let common = ["--threads", threads, "--concurrency", "3"];
        let load_result = |args: &[&str]| load_result(&sandbox, &server, &[&common, args].concat());
        let report = load_result(&["--traffic", "two", "--requests", "100"]);
        assert_eq!((sent(&report, "fast"), sent(&report, "slow")), (50, 50), "{threads}");
        let report = load_result(&["--traffic", "two", "--requests", "101"]);
        assert_eq!((sent(&report, "fast"), sent(&report, "slow")), (51, 50), "{threads}");
        let report = load_result(&["--traffic", "one", "--requests", "20"]);
        assert_eq!(sent(&report, "fast"), 20, "{threads}");
        let report = load_result(&["--traffic", "five", "--once"]);
        assert_eq!(["a", "b", "c", "d", "e"].map(|tag| sent(&report, tag)), [1; 5], "{threads}");
        let report = load_result(&["--traffic", "five", "--traffic-limit", "12"]);
        let counts = ["a", "b", "c", "d", "e"].map(|tag| sent(&report, tag));
        assert_eq!(counts, [3, 3, 2, 2, 2], "{threads}");
    }
}

/// A thread whose connections are all busy drops requests, but equally often of every kind.
#[test]
fn dropped_requests_are_spread_evenly_over_the_mix() {
    let (sandbox, server) = (Sandbox::new(), fast_and_slow());
    sandbox.write("two", "/fast fast\n/slow slow\n");
    let args = ["--traffic", "two", "--threads", "2", "--rate", "600", "--for", "2s"];
    let full = ["--max-in-flight", "2", "--when-full", "drop"];
    let report = load_result(&sandbox, &server, &[&args[..], &full].concat());
    assert_even(&report, &["fast", "slow"], "dropped");
}

/// Beyond the first MiB, a pipe is read while the load runs.
#[test]
fn a_pipe_keeps_its_mix_too() {
    let (sandbox, server) = (Sandbox::new(), fast_and_slow());
    let pipe = sandbox.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut pipe = std::fs::File::create(pipe).expect("a reader");
            let filler = "x".repeat(200);
            let lines = format!("/fast?{filler} fast\n/slow?{filler} slow\n").repeat(100);
            // At most 40 MB; the end of the load ends it.
            for _ in 0..1_000 {
                if pipe.write_all(lines.as_bytes()).is_err() {
                    return;
                }
            }
        }
    });
    let args =
        ["--traffic", "pipe", "--once", "--threads", "2", "--concurrency", "4", "--for", "2s"];
    let report = load_result(&sandbox, &server, &args);
    writer.join().expect("the writer");
    assert_even(&report, &["fast", "slow"], "pipe");
}
