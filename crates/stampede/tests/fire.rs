//! `stampede fire` from the outside, against servers that behave as told.

mod common;

use std::time::Duration;

use common::{Place, finish, stderr, stdout};
use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer, Reply};

const LIMIT: Duration = Duration::from_secs(60);

fn url(server: &KnownServer) -> String {
    format!("http://{}/page?q=1", server.address())
}

/// Fires with `args` at `server`; the JSON summary.
fn fired(server: &KnownServer, args: &[&str]) -> Value {
    let place = Place::new();
    let url = url(server);
    let all: Vec<&str> = ["fire", &url, "--json"].iter().chain(args).copied().collect();
    let output = finish(place.stampede(&all), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("JSON on stdout")
}

fn server(behaviour: Behaviour) -> KnownServer {
    KnownServer::start(behaviour).expect("a server")
}

#[test]
fn users_fire_what_they_are_told_to() {
    let server = server(Behaviour::answering(Answer::ok()));
    let summary = fired(&server, &["--users", "4", "--requests", "500"]);
    let counts = &summary["load"]["counts"];
    assert_eq!((&counts["planned"], &counts["ok"]), (&500.into(), &500.into()), "{summary:#}");
    assert_eq!((server.journal().requests, server.journal().connections), (500, 4));
    assert!(summary["service_time"]["p95_ns"].as_u64().is_some_and(|ns| ns > 0), "{summary:#}");
    assert_eq!(summary["response_time"]["p95_ns"], Value::Null, "a closed load has none");
}

#[test]
fn every_shot_of_a_schedule_is_planned() {
    let server = server(Behaviour::answering(Answer::ok()));
    let args = ["--schedule", "line(1,100,1s) const(100,500ms)", "--keep-alive", "off"];
    let summary = fired(&server, &args);
    // 50.5 + 50: one cumulative count, rounded down once.
    assert_eq!(summary["load"]["counts"]["planned"], 100, "{summary:#}");
    assert_eq!(summary["load"]["counts"]["ok"], 100, "{summary:#}");
    assert_eq!(server.journal().connections, 100, "a connection per shot");
}

#[test]
fn failures_are_counted_by_kind() {
    let bad = Reply { answer: Answer::new(503, "busy"), ..Reply::default() };
    let behaviour = Behaviour { exceptions: vec![(5, bad)], ..Behaviour::answering(Answer::ok()) };
    let server = server(behaviour);
    let summary = fired(&server, &["--users", "1", "--requests", "100"]);
    let counts = &summary["load"]["counts"];
    assert_eq!((&counts["ok"], &counts["failed"]["http:503"]), (&80.into(), &20.into()));

    let summary = fired(&server, &["--users", "1", "--requests", "10", "--contains", "no such"]);
    let counts = &summary["load"]["counts"];
    assert_eq!((&counts["failed"]["check"], &counts["failed"]["http:503"]), (&8.into(), &2.into()));

    let accepted = ["--users", "1", "--requests", "10", "--status", "200,503"];
    assert_eq!(fired(&server, &accepted)["load"]["counts"]["ok"], 10);
}

#[test]
fn a_server_that_is_not_there_is_a_result_and_no_error() {
    let place = Place::new();
    // Port 1 of loopback: nobody listens there.
    let args = ["fire", "http://127.0.0.1:1/", "--users", "2", "--requests", "4"];
    let output = finish(place.stampede(&args), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("net:refused"), "{text}");
    assert!(text.contains("4 planned, 0 ok, 4 failed, 0 dropped"), "{text}");
}

#[test]
fn headers_and_body_arrive() {
    let server = server(Behaviour::answering(Answer::ok()));
    let place = Place::new();
    let body = place.write("body.txt", &"x".repeat(10_000)).display().to_string();
    let body = format!("@{body}");
    let args = ["--users", "1", "--requests", "3", "-d", &body, "-H", "X-One: two"];
    let summary = fired(&server, &args);
    let sent = summary["load"]["counts"]["bytes_sent"].as_u64().expect("bytes");
    assert!((30_000..33_000).contains(&sent), "three bodies and heads: {sent}");
    assert_eq!(summary["load"]["counts"]["ok"], 3);
}

#[test]
fn ctrl_c_ends_it_with_a_summary() {
    let server = server(Behaviour::answering(Answer::ok()));
    let place = Place::new();
    let url = url(&server);
    let args = ["fire", &url, "--rate", "100", "--for", "60s"];
    let child = place.stampede(&args).spawn().expect("the binary starts");
    let pid = rustix::process::Pid::from_child(&child);
    // Some shots in; at most 10 s, should it have ended early.
    (0..500).take_while(|_| server.journal().requests < 50).for_each(|_| {
        std::thread::sleep(Duration::from_millis(20));
    });
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the signal");
    let output = child.wait_with_output().expect("its output");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("6 000 planned"), "{text}");
    assert!(text.contains("response time"), "{text}");
}
