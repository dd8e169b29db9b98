//! Tests `stampede fire` from the outside, against servers with a given behaviour.

use std::time::Duration;

use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, ConnectionAction, KnownServer, Reply};

use crate::common::{Sandbox, fact, finish, stderr, stdout};
use crate::words::{CODES, code_or};

const LIMIT: Duration = Duration::from_secs(60);

fn url(server: &KnownServer) -> String {
    format!("http://{}/page?q=1", server.address())
}

/// Runs `fire` with `args` against `server`; returns the JSON summary. At least one answer must be
/// correct.
fn load_result(server: &KnownServer, args: &[&str]) -> Value {
    let sandbox = Sandbox::new();
    let url = url(server);
    let all: Vec<&str> = ["fire", &url, "--json"].iter().chain(args).copied().collect();
    let output = finish(sandbox.stampede(&all), LIMIT);
    let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON on stdout");
    let code = if summary["requests_ok"] == 0 { 3 } else { 0 };
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    summary
}

fn server(behaviour: Behaviour) -> KnownServer {
    KnownServer::start(behaviour).expect("a server")
}

#[test]
fn users_send_what_they_are_told_to() {
    let server = server(Behaviour::answering(Answer::ok()));
    let summary = load_result(&server, &["--concurrency", "4", "--requests", "500"]);
    let (planned, ok) = (&summary["requests_planned"], &summary["requests_ok"]);
    assert_eq!((planned, ok), (&500.into(), &500.into()), "{summary:#}");
    assert_eq!((server.journal().requests, server.journal().connections), (500, 4));
    let p95 = &summary["service_time_ns"]["p95"];
    assert!(p95.as_u64().is_some_and(|ns| ns > 0), "{summary:#}");
    assert!(summary["response_time_ns"].is_null(), "a closed load has no response time");
    assert!(summary["offered_per_s"].is_null());
}

#[test]
fn every_request_of_a_schedule_is_planned() {
    let server = server(Behaviour::answering(Answer::ok()));
    let args = ["--schedule", "line(1,100,1s) const(100,500ms)", "--keep-alive", "off"];
    let summary = load_result(&server, &args);
    // 50.5 + 50: one cumulative count, rounded down once.
    assert_eq!(summary["requests_planned"], 100, "{summary:#}");
    assert_eq!(summary["requests_ok"], 100, "{summary:#}");
    assert_eq!(server.journal().connections, 100, "a connection per request");
}

/// The figures depend on the machine. The test checks that they exist and agree with each other.
#[test]
#[ignore = "long: 12 s"]
fn the_ceiling_is_measured_beside_our_own_server() {
    let sandbox = Sandbox::new();
    let output = finish(sandbox.stampede(&["doctor", "--calibrate", "--json"]), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let printed: Value = serde_json::from_str(&stdout(&output)).expect("JSON on stdout");
    let figure = |name: &str| printed["ceiling"][name].as_f64().expect("a number");
    assert!(figure("closed_per_second") > 100.0, "{printed:#}");
    let busy = figure("closed_per_second") * figure("cpu_ns_per_request") / 1e9;
    assert!(busy > 0.05 && busy < 1.5, "a load thread has one CPU: {printed:#}");
    assert!(figure("schedule_lag_ns_p99") <= 1e6, "{printed:#}");
}

#[test]
fn failures_are_counted_by_kind() {
    let bad = Reply { answer: Answer::new(503, "busy"), ..Reply::default() };
    let behaviour = Behaviour { exceptions: vec![(5, bad)], ..Behaviour::answering(Answer::ok()) };
    let server = server(behaviour);
    let summary = load_result(&server, &["--concurrency", "1", "--requests", "100"]);
    let errors = &summary["errors"];
    assert_eq!((&summary["requests_ok"], &errors["http:503"]), (&80.into(), &20.into()));

    let summary =
        load_result(&server, &["--concurrency", "1", "--requests", "10", "--contains", "no such"]);
    let errors = &summary["errors"];
    assert_eq!((&errors["check"], &errors["http:503"]), (&8.into(), &2.into()));

    let accepted = ["--concurrency", "1", "--requests", "10", "--status", "200,503"];
    assert_eq!(load_result(&server, &accepted)["requests_ok"], 10);
}

#[test]
fn a_server_that_is_not_there_has_a_summary_and_an_error() {
    let sandbox = Sandbox::new();
    // Nothing listens on port 1 of the loopback address.
    let args = ["fire", "http://127.0.0.1:1/", "--concurrency", "2", "--requests", "4"];
    let output = finish(sandbox.stampede(&args), LIMIT);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("net:refused"), "{text}");
    assert!(text.contains("4 planned, 0 ok, 4 failed, 0 dropped"), "{text}");
}

/// The last answers come after the schedule, and are answers to its requests all the same.
#[test]
fn a_slow_server_that_answers_everything_has_the_target_rate() {
    let slow = Behaviour::answering_after(Duration::from_millis(300), Answer::ok());
    let summary = load_result(&server(slow), &["--rate", "50", "--for", "1s"]);
    assert_eq!((&summary["requests_ok"], &summary["duration_s"]), (&50.into(), &1.0.into()));
    assert_eq!(summary["throughput_per_s"], 50.0, "{summary:#}");
    assert_eq!(summary["kept_up"]["kept_up"], "too_short", "{summary:#}");
}

#[test]
fn headers_and_body_arrive() {
    let server = server(Behaviour::answering(Answer::ok()));
    let sandbox = Sandbox::new();
    let body = sandbox.write("body.txt", &"x".repeat(10_000)).display().to_string();
    let body = format!("@{body}");
    let args = ["--concurrency", "1", "--requests", "3", "-d", &body, "-H", "X-One: two"];
    let summary = load_result(&server, &args);
    let sent = summary["bytes_out"].as_u64().expect("bytes");
    assert!((30_000..33_000).contains(&sent), "three bodies and heads: {sent}");
    assert_eq!(summary["requests_ok"], 3);
}

#[test]
fn ctrl_c_ends_it_with_a_summary() {
    let server = server(Behaviour::answering(Answer::ok()));
    let sandbox = Sandbox::new();
    let url = url(&server);
    let args = ["fire", &url, "--rate", "100", "--for", "60s"];
    let child = sandbox.stampede(&args).spawn().expect("the binary starts");
    let pid = rustix::process::Pid::from_child(&child);
    // Waits for some requests, for at most 10 s in case the program ended early.
    (0..500).take_while(|_| server.journal().requests < 50).for_each(|_| {
        std::thread::sleep(Duration::from_millis(20));
    });
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the signal");
    let output = child.wait_with_output().expect("its output");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let why = code_or("INVALID: stopped", "INVALID: stopped after");
    assert!(text.starts_with(why), "{text}");
    let planned =
        text.split("requests").nth(1).and_then(|rest| rest.trim_start().split(' ').next());
    let planned: u64 = planned.and_then(|count| count.parse().ok()).expect("a count");
    assert!((50..6_000).contains(&planned), "what was not due yet is not counted: {text}");
    assert!(text.contains("response time"), "{text}");
}

/// The generator is stopped, as if a host took its CPU away. Answers that arrive meanwhile must not
/// count as slower, and requests that were due meanwhile have schedule lag, which the generator
/// causes. The seconds of the stop are reported like all others.
#[test]
#[ignore = "long: 14 s"]
fn a_generator_that_stands_still_does_not_call_the_server_slow() {
    let work = Duration::from_millis(100);
    let reply = Reply { service_time: work, ..Reply::default() };
    let server = server(Behaviour { reply, ..Behaviour::default() });
    for engine in ["epoll", "io_uring"] {
        let sandbox = Sandbox::new();
        let url = url(&server);
        let load = ["fire", &url, "--rate", "50", "--for", "6s", "--engine", engine];
        let args = [&load[..], &["--json", "--csv", "seconds.csv"]].concat();
        let before = server.journal().requests;
        let child = sandbox.stampede(&args).spawn().expect("the binary starts");
        let pid = rustix::process::Pid::from_child(&child);
        (0..500).take_while(|_| server.journal().requests < before + 50).for_each(|_| {
            std::thread::sleep(Duration::from_millis(20));
        });
        for signal in [rustix::process::Signal::STOP, rustix::process::Signal::CONT] {
            rustix::process::kill_process(pid, signal).expect("the signal");
            std::thread::sleep(30 * work);
        }
        let output = child.wait_with_output().expect("its output");
        let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON on stdout");
        let max = |name: &str| summary[name]["max"].as_u64().expect("ns") / 1_000_000;
        assert!(max("service_time_ns") < 500, "{engine}: {summary:#}");
        assert!(max("schedule_lag_ns") > 2_800, "{engine}: {summary:#}");
        assert_eq!(
            (&summary["verdict"], &summary["requests_ok"]),
            (&"invalid".into(), &300.into())
        );
        let csv = std::fs::read_to_string(sandbox.path().join("seconds.csv")).expect("its rows");
        // Number of the second, planned and started.
        let row =
            |line: &str| [0, 1, 2].map(|field| line.split(',').nth(field)?.parse::<u64>().ok());
        let rows: Vec<[Option<u64>; 3]> = csv.lines().skip(1).map(row).collect();
        let planned: Vec<_> = rows.iter().map(|row| (row[0], row[1])).collect();
        let expected: Vec<_> = (0..6).map(|second| (Some(second), Some(50))).collect();
        assert_eq!(planned[..6], expected, "{csv}");
        let empty = rows.iter().filter(|row| row[1] == Some(50) && row[2] == Some(0)).count();
        assert!(empty >= 1, "at least one whole second: {csv}");
    }
}

/// A request that becomes due at the moment of the end was not due before it, on any thread.
#[test]
fn an_end_before_the_schedules_drops_no_request() {
    let server = server(Behaviour::answering(Answer::new(503, "busy")));
    for threads in ["1", "4"] {
        for stop in ["limit(1s)", "total_http(5xx,10%,2s)"] {
            let sandbox = Sandbox::new();
            let url = url(&server);
            let load = ["fire", &url, "--rate", "50", "--for", "20s", "--threads", threads];
            let args = [&load[..], &["--autostop", stop, "--json"]].concat();
            let output = finish(sandbox.stampede(&args), LIMIT);
            let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON on stdout");
            assert!(summary["autostop"].is_string(), "{summary:#}");
            assert_eq!(summary["requests_dropped"], 0, "{threads} threads, {stop}: {summary:#}");
            assert_eq!(summary["requests_planned"], summary["requests_started"], "{summary:#}");
            assert!(fact(&summary["reasons"], "generator_short").is_null(), "{summary:#}");
        }
    }
}

/// Every odd answer is counted under its own kind, and nothing hangs.
#[test]
fn odd_answers_are_counted_as_what_they_are() {
    let big = "x".repeat(200_000);
    let table = [
        (Answer::new(200, "abc").chunked(2, &[("Trailer-Field", "x")]), "ok"),
        (Answer::ok().after_interim(103).after_interim(100), "ok"),
        (Answer::ok().unframed(), "ok"),
        (Answer::new(302, "").field("Location", "/elsewhere"), "http:302"),
        (Answer::new(500, "error"), "http:500"),
        (Answer::ok().announcing(9).then(ConnectionAction::Close), "net:cut-short"),
        (Answer::ok().cut_at(8).then(ConnectionAction::Close), "net:cut-short"),
        (Answer::none(ConnectionAction::Reset), "net:reset"),
        (Answer::raw("noise\r\n\r\n"), "net:malformed"),
        (Answer::ok().field("X-Big", &big), "net:head-too-large"),
    ];
    for (answer, kind) in table {
        let server = server(Behaviour::answering(answer));
        let summary =
            load_result(&server, &["--concurrency", "1", "--requests", "3", "--timeout", "5s"]);
        let count = if kind == "ok" { &summary["requests_ok"] } else { &summary["errors"][kind] };
        assert_eq!(*count, 3, "{kind}: {summary:#}");
        assert_eq!(summary["requests_planned"], 3, "{kind}");
    }
}

#[test]
fn what_a_timeout_cuts_off_is_in_mean_and_max() {
    let slow = Reply { answer: Answer::none(ConnectionAction::Hold), ..Reply::default() };
    let behaviour = Behaviour { exceptions: vec![(2, slow)], ..Behaviour::answering(Answer::ok()) };
    let server = server(behaviour);
    let args = ["--rate", "40", "--for", "1s", "--timeout", "300ms", "--keep-alive", "off"];
    let summary = load_result(&server, &args);
    let (planned, timeouts) = (&summary["requests_planned"], &summary["errors"]["net:timeout"]);
    assert_eq!((planned, timeouts), (&40.into(), &20.into()));
    let bounds = summary["lower_bounds"].as_array().expect("a list");
    for time in ["response_time", "service_time"] {
        let figures = &summary[format!("{time}_ns")];
        assert!(bounds.contains(&format!("{time}_ns.max").into()), "{summary:#}");
        assert!(figures["max"].as_u64() >= Some(300_000_000), "{summary:#}");
        // Half of the requests took at least 300 ms.
        assert!(figures["mean"].as_u64() >= Some(150_000_000), "{summary:#}");
        assert!(summary[format!("{time}_ok_ns")]["max"].as_u64() < Some(300_000_000));
    }
}

#[test]
fn clients_have_their_habits() {
    let table = [("stampede", 1), ("tank", 20), ("ab", 20), ("k6", 1)];
    for (client, connections) in table {
        let server = server(Behaviour::answering(Answer::ok()));
        let summary =
            load_result(&server, &["--concurrency", "1", "--requests", "20", "--client", client]);
        assert_eq!(summary["requests_ok"], 20, "{client}: {summary:#}");
        assert_eq!(server.journal().connections, connections, "{client}");
        assert_eq!(summary["connections"], connections, "{client}");
    }
}

/// By a flag or in the traffic; the server closes the connection and does not announce it.
#[test]
fn a_connection_that_is_to_be_closed_carries_no_other_request() {
    let sandbox = Sandbox::new();
    let uris = sandbox.write("uris.txt", "[Connection: close]\n/a\n/b\n").display().to_string();
    let raw = ["GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"];
    let raw = raw.map(|request| format!("{}\n{request}\n", request.len()));
    let raw = sandbox.write("raw.txt", &raw.concat()).display().to_string();
    for flags in [["-H", "Connection: close"], ["--traffic", &uris], ["--traffic", &raw]] {
        let server = server(Behaviour::answering(Answer::ok().then(ConnectionAction::Close)));
        let args = [&["--concurrency", "1", "--requests", "20"], &flags[..]].concat();
        let summary = load_result(&server, &args);
        assert_eq!(summary["requests_ok"], 20, "{flags:?}: {summary:#}");
        assert_eq!(summary["connections"], 20, "{flags:?}");
        assert_eq!(summary["keep_alive"], false, "{flags:?}: what is checked and said beforehand");
    }
    let some = sandbox.write("some.txt", "/a\n[Connection: close]\n/b\n").display().to_string();
    let server = server(Behaviour::answering(Answer::ok()));
    let summary =
        load_result(&server, &["--concurrency", "1", "--requests", "20", "--traffic", &some]);
    assert_eq!((&summary["connections"], &summary["keep_alive"]), (&10.into(), &true.into()));
}

/// No correct answer came, but the failures are the server's, so they are a valid result.
#[test]
fn a_server_that_answers_nobody_is_measured() {
    let sandbox = Sandbox::new();
    let endless = Answer::raw("HTTP/1.1 200 OK\r\n\r\n").forever("x".repeat(1_000));
    for answer in [Answer::none(ConnectionAction::Hold), endless] {
        let server = server(Behaviour::answering(answer));
        let args = ["--connections", "2", "--for", "600ms", "--timeout", "300ms"];
        let summary = load_result(&server, &args);
        // If a host takes CPU time away, the result is suspect.
        assert_ne!(summary["verdict"], "invalid", "{summary:#}");
        assert_eq!(summary["requests_ok"], 0, "{summary:#}");
        let url = url(&server);
        let args = [&["fire", &url][..], &args, &["--expect", "ok >= 99%"]].concat();
        let output = finish(sandbox.stampede(&args), LIMIT);
        // Without any answer, the expectation cannot be judged.
        assert_eq!(output.status.code(), Some(3), "{}", stdout(&output));
    }
}

#[test]
fn a_drawn_seed_is_told_and_can_be_given_again() {
    let server = server(Behaviour::answering(Answer::ok()));
    let args = ["--rate", "200", "--for", "500ms", "--arrivals", "poisson"];
    let drawn = load_result(&server, &args);
    let seed = drawn["poisson_seed"].as_u64().expect("a seed").to_string();
    let again = load_result(&server, &[&args[..], &["--seed", &seed]].concat());
    assert_eq!(again["poisson_seed"], drawn["poisson_seed"]);
    assert_eq!(again["requests_planned"], drawn["requests_planned"]);
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let sandbox = Sandbox::new();
    let users = ["fire", "http://127.0.0.1:1/", "--concurrency", "1", "--requests", "1"];
    refused(&sandbox, &users, &TABLE);
    let connections = ["fire", "http://127.0.0.1:1/", "--connections", "1", "--for", "1s"];
    refused(&sandbox, &connections, &TABLE[5..8]);
}

const TABLE: [&[&str]; 11] = [
    &["--connections", "5"],
    &["--threads", "0"],
    &["--expect", "cpu_cost < 5ms"],
    &["--expect", "p95 worse < 5%"],
    &["--max-in-flight", "5"],
    &["--when-full", "drop"],
    &["--arrivals", "poisson"],
    &["--seed", "5"],
    &["--status", "20"],
    &["--load-cpus", "9999"],
    &["-H", "Bad Name: x"],
];

fn refused(sandbox: &Sandbox, load: &[&str], table: &[&[&str]]) {
    for more in table {
        let output = finish(sandbox.stampede(&[load, more].concat()), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", stdout(&output));
        let printed = stderr(&output);
        let names = printed.contains(more[1].trim_end_matches(": x")) || printed.contains(more[0]);
        assert!(CODES || names, "{printed}");
    }
}

#[test]
fn what_would_send_or_write_nothing_is_refused_in_words() {
    let sandbox = Sandbox::new();
    sandbox.write("traffic", "/a\n/b\n");
    sandbox.write("broken.yaml", "phantom: {address: [\n");
    let phantom = "phantom:\n  address: a:1\n  uris: [/]\n  rps_schedule: const(1,1s)\n";
    sandbox.write("off.yaml", &format!("{phantom}  enabled: false\n"));
    let criteria = "autostop:\n  autostop:\n  - limit(9s), http( 200, 10%,2s)\n";
    sandbox.write("misfit.yaml", &format!("{phantom}{criteria}"));
    let load = ["fire", "http://127.0.0.1:1/", "--concurrency", "1", "--requests", "1"];
    let tank = |file| vec!["fire", "http://127.0.0.1:1/", "--tank", file];
    let text = [
        [&load[..], &["--traffic", "traffic", "--traffic-limit", "0"]].concat(),
        [&load[..], &["--traffic-order", "random"]].concat(),
        [&load[..], &["--contains", ""]].concat(),
        [&load[..], &["--keep-alive", "sometimes"]].concat(),
        [&load[..], &["--csv", "same", "--phout", "same"]].concat(),
        [&load[..], &["--cookie", "session"]].concat(),
        [&load[..], &["--load-cpus", "0,0"]].concat(),
        [&load[..], &["--status", "2xx,299-200"]].concat(),
        [&load[..], &["--http", "2"]].concat(),
        [&load[..], &["--basic-auth", "me"]].concat(),
        [&load[..], &["-d", "@nowhere"]].concat(),
        [&load[..], &["--csv", "-"]].concat(),
        vec!["fire", "http://127.0.0.1:1/", "--rate", "1", "--for", "1s", "--connections", "0"],
        vec!["fire", "broken.yaml"],
        vec!["fire", "traffic", "--concurrency", "1"],
        vec!["fire", "http://127.0.0.1:1/", "--rate", "1", "--for", "1s", "--seed", "5"],
        tank("nowhere.yaml"),
        tank("broken.yaml"),
        tank("off.yaml"),
        tank("misfit.yaml"),
    ]
    .map(|args| {
        let output = finish(sandbox.stampede(&args), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stdout(&output));
        stderr(&output)
    });
    assert!(!sandbox.path().join("same").exists(), "nothing is written over");
    assert_words!(text.join("\n"));
}

#[test]
fn what_ends_with_the_traffic_is_said() {
    let server = server(Behaviour::answering(Answer::ok()));
    let sandbox = Sandbox::new();
    sandbox.write("traffic", "/a\n/b\n/c\n");
    let traffic = sandbox.path().join("traffic").display().to_string();
    let by_limit = load_result(
        &server,
        &["--concurrency", "2", "--traffic", &traffic, "--traffic-limit", "8"],
    );
    assert_eq!(by_limit["requests_ok"], 8, "{by_limit:#}");
    let notes = &by_limit["notes"];
    assert!(fact(notes, "requests_over").is_null(), "that was asked for: {notes}");
    let once =
        ["--rate", "100", "--for", "5s", "--traffic", &traffic, "--once", "--status", "2xx,301"];
    let once = load_result(&server, &once);
    assert_eq!(once["requests_ok"], 3, "{once:#}");
    let notes = &once["notes"];
    assert_eq!(fact(notes, "requests_over")["requests"], 3, "{notes}");
    assert_eq!(fact(notes, "before_load")["found"]["code"], "path_unused", "{notes}");
    assert_eq!(fact(notes, "before_load")["found"]["path"], "/page?q=1", "{notes}");
}

#[test]
fn connections_are_kept_where_only_that_is_said() {
    let server = server(Behaviour::answering(Answer::ok()));
    let kept = load_result(
        &server,
        &["--client", "ab", "--concurrency", "1", "--requests", "5", "--keep-alive"],
    );
    assert_eq!((&kept["keep_alive"], &kept["connections"]), (&true.into(), &1.into()), "{kept:#}");
    assert_eq!(kept["document_bytes_mean"], 2.0, "{kept:#}");
}

#[test]
fn a_pipe_is_not_read_twice() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("a pipe");
    let load = ["--concurrency", "1", "--for", "1s", "--traffic", "pipe", "--warm-up", "1s"];
    let fire = [&["fire", "http://127.0.0.1:1/"][..], &load].concat();
    let output = finish(sandbox.stampede(&fire), LIMIT);
    assert_eq!(output.status.code(), Some(2));
    let error = code_or("pipe_read_twice", "can be read once, and the warm-up would read it");
    assert!(stderr(&output).contains(error), "{}", stderr(&output));
}

#[test]
fn users_send_a_file_once_without_a_length_and_in_a_random_order_again() {
    let server = server(Behaviour::answering(Answer::ok()));
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("traffic"), "/ a\n/ b\n/ c\n/ d\n/ e\n/ f\n").expect("written");
    let traffic = path("traffic");
    let once = ["--concurrency", "1", "--once", "--traffic", &traffic, "--traffic-order", "random"];
    let order = |file: &str, more: &[&str]| {
        let phout = path(file);
        let summary = load_result(&server, &[&once[..], &["--phout", &phout], more].concat());
        assert_eq!(summary["requests_ok"], 6, "{summary:#}");
        let rows = std::fs::read_to_string(phout).expect("rows");
        let tag = |row: &str| row.split('\t').nth(1).map(str::to_owned);
        (summary["traffic_seed"].clone(), rows.lines().map(tag).collect::<Vec<_>>())
    };
    let drawn = order("drawn", &[]);
    let seed = drawn.0.as_u64().expect("a seed").to_string();
    assert_eq!(order("again", &["--seed", &seed]), drawn);
}

/// Flags that repeat or contradict what a load.yaml already says are refused.
#[test]
fn flags_beside_a_load_yaml_that_would_do_nothing_are_refused() {
    let sandbox = Sandbox::new();
    let yaml = "phantom:\n  address: 127.0.0.1:1\n  uris: [/]\n  load_profile: {load_type: rps, schedule: 'const(1, 1s)'}\n";
    sandbox.write("load.yaml", yaml);
    let table: [&[&str]; 9] = [
        &["-H", "A: b"],
        &["--cookie", "a=b"],
        &["--basic-auth", "a:b"],
        &["--timeout", "1s"],
        &["--keep-alive", "off"],
        &["--no-keep-alive"],
        &["--when-full", "drop"],
        &["--client", "k6"],
        &["--traffic-order", "random"],
    ];
    for more in table {
        let output =
            finish(sandbox.stampede(&[&["fire", "--tank", "load.yaml"], more].concat()), LIMIT);
        let printed = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {printed}");
        let names =
            printed.contains("--tank") && printed.contains(more[0].trim_start_matches("-H"));
        assert!(CODES || names, "{printed}");
    }
    let straight = ["fire", "fcgi://127.0.0.1:1/app/index.php", "--tank", "load.yaml"];
    let output = finish(sandbox.stampede(&straight), LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    let error = code_or("tank_to_fast_cgi", "FastCGI");
    assert!(stderr(&output).contains(error), "{}", stderr(&output));
}

#[test]
fn the_summary_says_why_requests_failed() {
    let sandbox = Sandbox::new();
    let gone = format!("unix:{}:/", sandbox.path().join("no.sock").display());
    let output =
        finish(sandbox.stampede(&["fire", &gone, "--concurrency", "1", "--requests", "1"]), LIMIT);
    let text = stdout(&output);
    assert!(text.contains("\n1 at a time, no pause, 1 request at unix:"), "{text}");
    assert!(text.contains("net:errno-2          1  No such file or directory"), "{text}");
    assert!(text.contains("failed\n"), "{text}");
}

#[test]
fn a_public_address_is_not_loaded_by_accident() {
    let sandbox = Sandbox::new();
    // An address reserved for documentation (RFC 5737). No packet is sent to it.
    let args = ["fire", "http://192.0.2.1:1/", "--concurrency", "1", "--requests", "1"];
    let output = finish(sandbox.stampede(&args), LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert_words!(stderr(&output));
}

#[test]
fn mistakes_of_autostop_are_shown_where_they_are() {
    let sandbox = Sandbox::new();
    let text = ["time(1s,10s) htpp(5xx,10%,5s)", "http(5xx,ten,5s)", "negative_http(200,10%,5s)"]
        .map(|criteria| {
            let args = [
                "fire",
                "http://127.0.0.1:1/",
                "--rate",
                "1",
                "--for",
                "1s",
                "--autostop",
                criteria,
            ];
            let output = finish(sandbox.stampede(&args), LIMIT);
            assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
            stderr(&output)
        });
    assert_words!(text.join("\n"));
}

#[test]
#[ignore = "long: 10 s"]
fn exit_codes_say_what_held() {
    let server = server(Behaviour::answering(Answer::new(503, "busy")));
    let sandbox = Sandbox::new();
    let url = url(&server);
    let code = |more: &[&str]| {
        let args = ["fire", &url, "--connections", "2", "--for", "2s"];
        finish(sandbox.stampede(&[&args[..], more].concat()), LIMIT).status.code()
    };
    assert_eq!(code(&[]), Some(3), "no answer was correct");
    assert_eq!(code(&["--status", "503"]), Some(0));
    assert_eq!(code(&["--expect", "ok >= 99%"]), Some(1));
    assert_eq!(code(&["--autostop", "http(5xx,50%,1s)"]), Some(1));
    assert_eq!(code(&["--status", "503", "--autostop", "limit(1s)"]), Some(0));
    assert_eq!(code(&["--csv", "no/such/directory.csv"]), Some(2), "nothing was sent");
    assert_eq!(code(&["--csv", "/dev/full"]), Some(3), "measured, and not all of it written");
}

#[test]
fn a_warm_up_is_thrown_away() {
    let server = server(Behaviour::answering(Answer::ok()));
    let args = ["--rate", "100", "--for", "1s", "--warm-up", "500ms"];
    let summary = load_result(&server, &args);
    assert_eq!(summary["requests_planned"], 100, "{summary:#}");
    assert_eq!(server.journal().requests, 150, "100, and half a second of the same rate");
}

#[test]
fn files_hold_each_second() {
    let server = server(Behaviour::answering(Answer::ok()));
    let sandbox = Sandbox::new();
    let url = url(&server);
    let args = "--rate 100 --for 2s --csv a.csv --hlog a.hlog --prometheus a.prom";
    let args: Vec<&str> = ["fire", &url].into_iter().chain(args.split(' ')).collect();
    let output = finish(sandbox.stampede(&args), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let read = |name: &str| std::fs::read_to_string(sandbox.path().join(name)).expect(name);
    let csv = read("a.csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    let planned = rows[0].iter().position(|name| *name == "planned").expect("a column");
    let sum: u64 = rows[1..].iter().map(|row| row[planned].parse::<u64>().expect("a count")).sum();
    assert_eq!(sum, 200, "{csv}");
    assert!(read("a.hlog").lines().filter(|line| line.contains("response_time")).count() >= 2);
    let metrics = read("a.prom");
    assert!(metrics.contains("stampede_requests_total{outcome=\"ok\"} 200\n"), "{metrics}");
    assert!(metrics.contains("stampede_response_time_seconds_count 200\n"), "{metrics}");
}
