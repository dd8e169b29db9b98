//! Tests what `fire` leaves and sends besides its summary: a run with its page, and live figures.
//! Tests of `make test`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer};

use crate::common::{Sandbox, finish, stderr, stdout};
use crate::words::CODES;

const LIMIT: Duration = Duration::from_secs(60);

fn server() -> KnownServer {
    KnownServer::start(Behaviour::answering(Answer::ok())).expect("a server")
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    serde_json::from_str(&text).expect("JSON")
}

/// All files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        match entry.path() {
            path if path.is_dir() => all.extend(files(&path)),
            path => all.push(path),
        }
    }
    all
}

#[test]
fn a_load_leaves_the_page_and_the_files_of_a_run() {
    let (sandbox, server) = (Sandbox::new(), server());
    let url = format!("http://{}/page?mail=a@b.c&token=5f1c77aa", server.address());
    let secret = ["--basic-auth", "ada:lovelace1"];
    let rest = ["-c", "2", "--for", "2s", "--report", "out", "--expect", "p50 < 10s"];
    let output = finish(sandbox.stampede(&[&["fire", &url][..], &secret, &rest].concat()), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("Report: out/report.html"), "{}", stdout(&output));

    let out = sandbox.path().join("out");
    let summary = json(&out.join("summary.json"));
    let case = &summary["cases"][0];
    assert_eq!(case["runtime"], server.address().to_string(), "the server is the row");
    let count = |of: &str| case["counts"][of].as_u64().expect("a count");
    assert!(count("ok") > 0 && count("ok") == count("planned"), "{:#}", case["counts"]);
    assert_eq!(case["expectations"][0]["outcome"], "met", "{:#}", case["expectations"]);
    assert!(case["trials"][0]["over_time"]["ok"].as_array().map(Vec::len) >= Some(2));
    for path in files(&out) {
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("bytes")).into_owned();
        for secret in ["lovelace1", "5f1c77aa"] {
            assert!(!text.contains(secret), "{secret} is in {}", path.display());
        }
    }

    // The page, the table and the comparison of runs take it as any other.
    let text = stdout(&finish(sandbox.stampede(&["report", "out"]), LIMIT));
    assert!(text.contains(&server.address().to_string()), "{text}");
    for foreign in ["CPUs", "budget", "to compare it with", "watch"] {
        assert!(!text.contains(foreign), "`{foreign}` is about comparisons:\n{text}");
    }
    let again = ["-c", "2", "--for", "2s", "--report", "again"];
    let output = finish(sandbox.stampede(&[&["fire", &url][..], &again].concat()), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let diff = finish(sandbox.stampede(&["diff", "out", "again", "--json"]), LIMIT);
    assert_eq!(diff.status.code(), Some(0), "{}", stderr(&diff));
    let diff: Value = serde_json::from_str(&stdout(&diff)).expect("JSON");
    assert_eq!(diff["diffs"][0]["cases"].as_array().map(Vec::len), Some(1), "{diff:#}");
}

#[test]
fn a_mistake_leaves_no_run_behind() {
    let (sandbox, server) = (Sandbox::new(), server());
    let url = format!("http://{}/", server.address());
    let load = ["fire", &url, "--rate", "10", "--for", "1s", "--report", "out"];
    for mistake in [
        ["--remote-write", "nowhere"],
        ["--remote-write", "http://127.0.0.1:9"],
        ["--csv", "no/such/directory/x.csv"],
        ["--remote-write-label", "1=x"],
    ] {
        let output = finish(sandbox.stampede(&[&load[..], &mistake].concat()), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{mistake:?}: {}", stderr(&output));
        assert!(!sandbox.path().join("out").exists(), "{mistake:?}");
    }
    sandbox.write("out/notes.txt", "mine");
    let output = finish(sandbox.stampede(&load), LIMIT);
    assert_eq!(output.status.code(), Some(2));
    assert!(CODES || stderr(&output).contains("out"), "{}", stderr(&output));
    assert_eq!(files(&sandbox.path().join("out")).len(), 1, "what is there is not touched");
}

/// A server that takes what is sent and never was a Prometheus.
#[test]
fn live_figures_are_sent_and_nobody_who_takes_them_disturbs_the_load() {
    let (sandbox, server, taker) = (Sandbox::new(), server(), server());
    let url = format!("http://{}/", server.address());
    let load = ["fire", &url, "--rate", "50", "--for", "3s", "--json"];
    let to = format!("http://ada:lovelace1@{}/api/v1/write", taker.address());
    let output = finish(sandbox.stampede(&[&load[..], &["--remote-write", &to]].concat()), LIMIT);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("remote write: sent "), "{said}");
    assert!(!said.contains("lovelace1"), "{said}");
    assert!(taker.journal().requests >= 3, "one each second: {:?}", taker.journal().requests);

    drop(taker);
    let output = finish(sandbox.stampede(&[&load[..], &["--remote-write", &to]].concat()), LIMIT);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("were not taken") && !said.contains("lovelace1"), "{said}");
    let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(summary["requests_ok"], 150, "{summary:#}");
}

#[test]
fn live_figures_have_what_the_watched_server_used() {
    let (sandbox, server, taker) = (Sandbox::new(), server(), server());
    let url = format!("http://{}/", server.address());
    let to = format!("http://{}/api/v1/write", taker.address());
    let watch = format!("pid:{}", std::process::id());
    let load = ["fire", &url, "--rate", "50", "--for", "3s", "--remote-write", &to];
    let series = |more: &[&str]| -> u32 {
        let output = finish(sandbox.stampede(&[&load[..], more].concat()), LIMIT);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let count = said.split_once(" samples of ").and_then(|(_, rest)| rest.split_once(' '));
        count.expect("how much was sent").0.parse().expect("a number")
    };
    let alone = series(&[]);
    let watched = series(&["--watch", &watch]);
    // CPU time, memory and processes of the server; two of the machine. Disks cannot always be read.
    assert!(
        (alone + 5..=alone + 7).contains(&watched),
        "{alone} series without, {watched} with it"
    );
}
