//! `stampede fire` from the outside, against servers that behave as told.

mod common;

use std::time::Duration;

use common::{Place, finish, stderr, stdout};
use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer, Reply, Then};

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
    let figures = &summary["figures"];
    let p95 = &figures["service_time_ns"]["p95"];
    assert!(p95["value"].as_f64().is_some_and(|ns| ns > 0.0), "{summary:#}");
    for stat in ["mean", "p95", "max"] {
        let state = &figures["response_time_ns"][stat]["state"];
        assert_eq!(state, "none", "a closed load has no response time");
    }
    assert_eq!(figures["offered_per_second"]["state"], "none");
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

/// Its figures are the machine's; that there are some, and that they agree, is ours.
#[test]
fn the_ceiling_is_measured_beside_our_own_server() {
    let place = Place::new();
    let output = finish(place.stampede(&["doctor", "--calibrate", "--json"]), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said: Value = serde_json::from_str(&stdout(&output)).expect("JSON on stdout");
    let figure = |name: &str| said["ceiling"][name].as_f64().expect("a number");
    assert!(figure("closed_per_second") > 100.0, "{said:#}");
    let busy = figure("closed_per_second") * figure("cpu_ns_per_shot") / 1e9;
    assert!(busy > 0.05 && busy < 1.5, "a load thread has one CPU: {said:#}");
    assert!(figure("lateness_ns_p99") <= 1e6, "{said:#}");
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

/// Every odd answer is counted as what it is; nothing hangs.
#[test]
fn odd_answers_are_counted_as_what_they_are() {
    let big = "x".repeat(200_000);
    let table = [
        (Answer::new(200, "abc").chunked(2, &[("Trailer-Field", "x")]), "ok"),
        (Answer::ok().after_interim(103).after_interim(100), "ok"),
        (Answer::ok().unframed(), "ok"),
        (Answer::new(302, "").field("Location", "/elsewhere"), "http:302"),
        (Answer::new(500, "error"), "http:500"),
        (Answer::ok().announcing(9).then(Then::Close), "net:cut-short"),
        (Answer::ok().cut_at(8).then(Then::Close), "net:cut-short"),
        (Answer::none(Then::Reset), "net:reset"),
        (Answer::raw("noise\r\n\r\n"), "net:malformed"),
        (Answer::ok().field("X-Big", &big), "net:head-too-large"),
    ];
    for (answer, kind) in table {
        let server = server(Behaviour::answering(answer));
        let summary = fired(&server, &["--users", "1", "--requests", "3", "--timeout", "5s"]);
        let counts = &summary["load"]["counts"];
        let count = if kind == "ok" { &counts["ok"] } else { &counts["failed"][kind] };
        assert_eq!(*count, 3, "{kind}: {summary:#}");
        assert_eq!(counts["planned"], 3, "{kind}");
    }
}

#[test]
fn what_a_timeout_cuts_off_is_in_mean_and_max() {
    let slow = Reply { answer: Answer::none(Then::Hold), ..Reply::default() };
    let behaviour = Behaviour { exceptions: vec![(2, slow)], ..Behaviour::answering(Answer::ok()) };
    let server = server(behaviour);
    let args = ["--rate", "40", "--for", "1s", "--timeout", "300ms", "--keep-alive", "off"];
    let summary = fired(&server, &args);
    let counts = &summary["load"]["counts"];
    assert_eq!((&counts["planned"], &counts["failed"]["net:timeout"]), (&40.into(), &20.into()));
    for time in ["response_time_ns", "service_time_ns"] {
        let figures = &summary["figures"][time];
        assert_eq!(figures["max"]["state"], "at_least", "{summary:#}");
        assert!(figures["max"]["value"].as_f64() >= Some(300e6), "{summary:#}");
        // Half of the shots took 300 ms at least.
        assert!(figures["mean"]["value"].as_f64() >= Some(150e6), "{summary:#}");
        assert!(summary["figures"][format!("{time}_ok")]["max"]["value"].as_f64() < Some(300e6));
    }
}

#[test]
fn clients_have_their_habits() {
    let table = [("stampede", 1), ("tank", 20), ("ab", 20), ("k6", 1)];
    for (client, connections) in table {
        let server = server(Behaviour::answering(Answer::ok()));
        let summary = fired(&server, &["--users", "1", "--requests", "20", "--client", client]);
        assert_eq!(summary["load"]["counts"]["ok"], 20, "{client}: {summary:#}");
        assert_eq!(server.journal().connections, connections, "{client}");
        assert_eq!(summary["load"]["connections"]["opened"], connections, "{client}");
    }
}

#[test]
fn a_drawn_seed_is_told_and_can_be_given_again() {
    let server = server(Behaviour::answering(Answer::ok()));
    let args = ["--rate", "200", "--for", "500ms", "--arrivals", "poisson"];
    let drawn = fired(&server, &args);
    let seed = drawn["poisson_seed"].as_u64().expect("a seed").to_string();
    let again = fired(&server, &[&args[..], &["--seed", &seed]].concat());
    assert_eq!(again["poisson_seed"], drawn["poisson_seed"]);
    assert_eq!(again["load"]["counts"]["planned"], drawn["load"]["counts"]["planned"]);
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let place = Place::new();
    let users = ["fire", "http://127.0.0.1:1/", "--users", "1", "--requests", "1"];
    let table: [&[&str]; 6] = [
        &["--max-in-flight", "5"],
        &["--when-full", "drop"],
        &["--arrivals", "poisson"],
        &["--seed", "5"],
        &["--status", "20"],
        &["-H", "Bad Name: x"],
    ];
    for more in table {
        let output = finish(place.stampede(&[&users[..], more].concat()), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", stdout(&output));
        assert!(
            stderr(&output).contains(more[1].trim_end_matches(": x"))
                || stderr(&output).contains(more[0])
        );
    }
}

#[test]
fn the_summary_says_why_shots_failed() {
    let place = Place::new();
    let gone = format!("unix:{}:/", place.path().join("no.sock").display());
    let output = finish(place.stampede(&["fire", &gone, "--users", "1", "--requests", "1"]), LIMIT);
    let text = stdout(&output);
    assert!(text.starts_with("1 user, 1 request at unix:"), "{text}");
    assert!(text.contains("net:errno-2      1        No such file or directory"), "{text}");
    assert!(text.contains("max    failed"), "{text}");
}
