//! Tests the results of `fire`, with real loads on a known server and with results made by hand.

use std::time::{SystemTime, UNIX_EPOCH};

use clap::Parser as _;
use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, ConnectionAction, KnownServer, Reply};
use stampede_load::InProcess;
use stampede_model::counts::AddressConnections;
use stampede_model::fact::{Before, Fact, Reason, Traffic};
use stampede_stats::histogram::Times;
use stampede_testing::schema_fits::fits;

use super::made::{made, times};
use super::report::{EndReason, ExpectationOutcome};
use super::*;
use crate::cli::Cli;
use crate::cli::args::Command;

/// Sends load to `server` as the command does, and returns what `--json` would print.
fn load_result(server: &KnownServer, flags: &[&str]) -> Report {
    ended(server, flags).0
}

/// Does the same, and also returns how the command would end.
fn ended(server: &KnownServer, flags: &[&str]) -> (Report, Outcome) {
    let (report, measured) = measured(server, flags);
    let outcome = measured.outcome(&report);
    (report, outcome)
}

fn measured(server: &KnownServer, flags: &[&str]) -> (Report, FireResult) {
    measured_at(&format!("http://{}/", server.address()), flags)
}

fn measured_at(url: &str, flags: &[&str]) -> (Report, FireResult) {
    let args: Vec<&str> = ["stampede", "fire", url].iter().chain(flags).copied().collect();
    let Command::Fire(args) = Cli::try_parse_from(args).expect("flags").command else {
        panic!("no `fire`");
    };
    let machine = machine::facts_below(Path::new("/"), || {});
    let ready = PreparedLoad::of(&args, &machine).expect("a load");
    let mut files = Files::create(&args.files).expect("files");
    files.begin(&ready.load);
    let server = WatchedServer::find(args.watch.as_deref()).expect("what is watched");
    let sinks = (&mut LoadDisplay::Lines, &mut files);
    let measured = measure(&ready, &InProcess, sinks, server).expect("a load");
    let report = measured.report(&ready, &machine);
    files.end(&report, &measured.result);
    assert!(files.written().is_empty());
    (report, measured)
}

fn server(behaviour: Behaviour) -> KnownServer {
    KnownServer::start(behaviour).expect("a server")
}

#[test]
fn a_watched_process_has_figures_beside_the_load() {
    let server = server(Behaviour::answering(Answer::ok()));
    let own = format!("pid:{}", std::process::id());
    let flags = ["--schedule", "const(50,1200ms)", "--watch", &own];
    let (report, measured) = measured(&server, &flags);
    let used = report.server.as_ref().expect("it was read");
    assert_eq!(
        (used.watched.as_str(), used.accounting.as_str()),
        (own.replace(':', " ").as_str(), "proc")
    );
    assert!(used.cpus_mean > 0.0 && used.cpus_max >= used.cpus_mean, "{used:?}");
    assert!(used.cpu_ns_per_request.is_some_and(|ns| ns > 0), "{used:?}");
    assert!(used.memory_bytes_max.is_some_and(|bytes| bytes > 1 << 20), "{used:?}");
    assert_eq!(used.network_sent_bytes, None, "the network is that of the machine");
    let lasted: u64 =
        measured.server.iter().flat_map(|read| &read.samples).map(|one| one.interval_ns).sum();
    assert!((1_100_000_000..20_000_000_000).contains(&lasted), "the whole load: {lasted} ns");
    assert!(
        super::summary::text(&report).contains(&format!("\n  server         {}", used.watched))
    );
}

#[test]
#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
fn what_cannot_be_watched_is_said_before_anything_is_sent() {
    let said = |text: &str| match WatchedServer::find(Some(text)) {
        Ok(_) => panic!("`{text}` was found"),
        Err(failure) => format!("{failure:?}"),
    };
    for text in ["shop", "pid:4194304", "pid:x", "ssh:-oX"] {
        assert!(said(text).contains("--watch"), "{}", said(text));
    }
    assert!(said("ssh:-oX").contains("~/.ssh/config"), "{}", said("ssh:-oX"));
    assert!(WatchedServer::find(None).is_ok_and(|none| none.is_none()));
}

fn half_bad() -> Behaviour {
    let bad = Reply { answer: Answer::new(503, "busy"), ..Reply::default() };
    Behaviour { exceptions: vec![(2, bad)], ..Behaviour::answering(Answer::ok()) }
}

fn half_silent() -> Behaviour {
    let slow = Reply { answer: Answer::none(ConnectionAction::Hold), ..Reply::default() };
    Behaviour { exceptions: vec![(2, slow)], ..Behaviour::answering(Answer::ok()) }
}

#[test]
fn what_is_printed_fits_its_schema() {
    let schema = schema();
    let good = server(Behaviour::answering(Answer::ok()));
    let silent = ["--rate", "40", "--for", "1s", "--timeout", "300ms", "--no-keep-alive"];
    let reports = [
        load_result(&good, &["--rate", "200", "--for", "500ms", "--arrivals", "poisson"]),
        load_result(&good, &["--connections", "4", "--requests", "400", "--expect", "p95 < 10s"]),
        load_result(
            &server(half_bad()),
            &["--concurrency", "2", "--for", "300ms", "--expect", "ok > 60%"],
        ),
        load_result(&server(half_silent()), &silent),
    ];
    for report in reports {
        let value = serde_json::to_value(&report).expect("JSON");
        assert!(fits(&schema, &schema, &value), "{value:#}");
        let keys = |value: &Value| -> Vec<String> {
            value.as_object().expect("an object").keys().cloned().collect()
        };
        assert_eq!(keys(&value), keys(&schema["properties"]), "every field, and no other");
    }
}

#[test]
fn the_schema_in_the_docs_is_the_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fire.schema.json");
    let written = std::fs::read_to_string(path).expect("docs/fire.schema.json");
    let written: Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(written, schema(), "write it again: stampede schema fire > docs/fire.schema.json");
}

#[test]
fn a_percentile_that_lands_on_failures_says_so() {
    let report = load_result(&server(half_bad()), &["--rate", "200", "--for", "1s"]);
    assert_eq!(
        (report.requests_planned, report.requests_ok, report.requests_failed),
        (200, 100, 100)
    );
    let value = serde_json::to_value(&report).expect("JSON");
    assert_eq!(value["response_time_ns"]["p75"], "failed");
    assert!(value["response_time_ns"]["p50"].is_u64(), "{value:#}");
    assert!(value["response_time_ok_ns"]["p90"].is_u64(), "{value:#}");
    assert_eq!(value["errors"]["http:503"], 100);
    assert!(value["response_time_ok_ns"]["p98"].is_null(), "too few requests beyond it: {value:#}");
    assert_eq!(value["response_time_ns"]["p999"], "failed", "as what is below it");
}

#[test]
fn phout_has_a_row_per_request_with_connect_times() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("phout.log");
    let path = file.display().to_string();
    let flags = ["--concurrency", "2", "--requests", "40", "--no-keep-alive", "--phout", &path];
    let report = load_result(&server(half_bad()), &flags);
    let text = std::fs::read_to_string(&file).expect("rows");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 40, "{text}");
    assert!(rows.iter().all(|row| row.len() == 12), "{text}");
    let number = |row: &[&str], at: usize| row[at].parse::<u64>().expect("a number");
    for row in &rows {
        let parts: u64 = (3..7).map(|at| number(row, at)).sum();
        assert_eq!(parts, number(row, 2), "{row:?}");
    }
    let with = |status: &str| rows.iter().filter(|row| row[11] == status).count();
    assert_eq!((with("200"), with("503")), (20, 20), "{text}");
    let sent: u64 = rows.iter().map(|row| number(row, 8)).sum();
    assert_eq!(sent, report.bytes_out);
}

#[test]
fn phout_begins_after_the_warm_up() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("phout.log");
    let path = file.display().to_string();
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64();
    let flags = ["--concurrency", "1", "--requests", "3", "--warm-up", "700ms", "--phout", &path];
    load_result(&server(Behaviour::answering(Answer::ok())), &flags);
    let text = std::fs::read_to_string(&file).expect("rows");
    let starts = text.lines().filter_map(|row| row.split('\t').next()?.parse::<f64>().ok());
    let after: Vec<f64> = starts.map(|start| start - begun).collect();
    assert_eq!(after.len(), 3, "{text}");
    assert!(after.iter().all(|after| *after >= 0.699), "{after:?} s after the command began");
}

#[test]
fn a_correct_answer_with_another_status_is_written_as_200() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("phout.log");
    let path = file.display().to_string();
    let odd = Reply { answer: Answer::new(201, "made"), ..Reply::default() };
    let server = server(Behaviour { exceptions: vec![(2, odd)], ..half_bad() });
    let flags = ["--concurrency", "1", "--requests", "4", "--phout", &path, "--check", "size > 4"];
    let report = load_result(&server, &flags);
    assert_eq!(report.errors["check:size > 4"], 4, "{:?}", report.errors);
    let text = std::fs::read_to_string(&file).expect("rows");
    let status = |row: &str| row.rsplit('\t').next().unwrap_or_default().to_owned();
    assert_eq!(text.lines().map(status).collect::<Vec<_>>(), ["200", "201", "200", "201"]);
}

/// A connection that took 20 µs must not get the total time of those opened before it.
#[test]
fn connections_that_were_opened_have_a_connect_time() {
    let good = server(Behaviour::answering(Answer::ok()));
    let report = load_result(&good, &["--concurrency", "8", "--requests", "40", "--no-keep-alive"]);
    let value = serde_json::to_value(&report).expect("JSON");
    assert_eq!(value["connections"], 40);
    let connect = &value["connect_time_ns"];
    assert!(connect["max"].as_u64() >= connect["mean"].as_u64(), "{value:#}");
    assert!(connect["p50"].as_u64().is_some_and(|ns| ns > 1_000), "{value:#}");
    assert!(summary::text(&report).contains("\n  connect time "));
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let nobody = format!("http://{}/", nobody.expect("a port"));
    let (none, _) = measured_at(&nobody, &["--concurrency", "1", "--requests", "2"]);
    assert_eq!(none.connect_time_ns, None, "none was opened");
}

#[test]
fn a_closed_load_has_no_response_time() {
    let good = server(Behaviour::answering(Answer::ok()));
    let value =
        serde_json::to_value(load_result(&good, &["--concurrency", "1", "--requests", "50"]));
    let value = value.expect("JSON");
    for field in ["response_time_ns", "response_time_ok_ns", "connection_wait_ns", "offered_per_s"]
    {
        assert!(value[field].is_null(), "{field}: {value:#}");
    }
    assert!(value["cpu_ns_per_request"].as_u64().is_some_and(|ns| ns > 0), "{value:#}");
    assert_eq!(value["connections"], 1);
}

#[test]
fn times_that_a_timeout_cut_off_are_lower_bounds() {
    let flags = ["--rate", "40", "--for", "1s", "--timeout", "300ms", "--no-keep-alive"];
    let report = load_result(&server(half_silent()), &flags);
    let bounds = ["response_time_ns.max", "response_time_ns.mean", "service_time_ns.max"];
    assert!(bounds.iter().all(|bound| report.is_lower_bound(bound)), "{:?}", report.lower_bounds);
    assert!(!report.is_lower_bound("response_time_ok_ns.max"));
}

#[test]
fn autostop_ends_a_load_with_its_reason_and_keeps_the_figures() {
    let flags = ["--rate", "100", "--for", "60s", "--autostop", "http(5xx,40%,1s)"];
    let (report, outcome) = ended(&server(half_bad()), &flags);
    assert_eq!((report.end, outcome), (EndReason::Autostop, Outcome::NotMet));
    let reason = report.autostop.as_deref().unwrap_or_default();
    assert!(reason.starts_with("http(5xx,40%,1s): 5") && reason.contains("were `5xx`"), "{reason}");
    assert!(report.requests_planned < 1_000, "what was not due by then is not counted");
    assert_eq!(
        report.requests_planned,
        report.requests_ok + report.requests_failed + report.requests_dropped,
        "every planned request has its outcome"
    );
    let offered = report.offered_per_s.expect("an open load");
    assert!((offered - 100.0).abs() < 5.0, "{offered}");
    let limited = ["--rate", "100", "--for", "60s", "--autostop", "limit(1s)"];
    let (report, outcome) = ended(&server(half_bad()), &limited);
    assert_eq!((report.end, outcome), (EndReason::Autostop, Outcome::Fine), "an ordinary end");
}

#[test]
fn expectations_decide_the_exit_code() {
    let bad = server(half_bad());
    let ended =
        |expect| ended(&bad, &["--concurrency", "1", "--requests", "100", "--expect", expect]);
    let table = [
        ("ok >= 50%", ExpectationOutcome::Met),
        ("ok > 50%", ExpectationOutcome::NotMet),
        ("p50 < 10s", ExpectationOutcome::Met),
        ("p75 < 10s", ExpectationOutcome::NotMet),
        ("throughput > 100000000", ExpectationOutcome::NotMet),
    ];
    for (expect, wanted) in table {
        let (report, outcome) = ended(expect);
        assert_eq!(report.expectations[0].outcome, wanted, "{expect}");
        assert_eq!(outcome == Outcome::Fine, wanted == ExpectationOutcome::Met);
    }
}

#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
#[test]
fn the_summary_begins_with_the_verdict_and_fits_80_columns() {
    let open = summary::text(&made());
    let closed = Report {
        load: "50 users for 10 s".to_owned(),
        model: LoadModel::Closed,
        verdict: Validity::Valid,
        reasons: Vec::new(),
        notes: Vec::new(),
        end: EndReason::Complete,
        autostop: None,
        addresses: [(2, 1_000, 0), (3, 999, 4)]
            .map(|(host, opened, failed)| AddressConnections {
                address: format!("127.0.0.{host}:8080"),
                opened,
                failed,
            })
            .into(),
        expectations: Vec::new(),
        response_time_without_lag_ns: None,
        lag_marks: Vec::new(),
        requests_ok: 3_000,
        requests_planned: 3_000,
        errors: BTreeMap::new(),
        offered_per_s: None,
        kept_up: None,
        response_time_ns: None,
        response_time_ok_ns: None,
        service_time_ns: times(1_100_000),
        connect_time_ns: None,
        connection_wait_ns: None,
        lower_bounds: vec!["throughput_per_s".to_owned()],
        load_threads: 1,
        stretched: 1.0,
        keep_alive: true,
        poisson_seed: None,
        traffic_seed: None,
        ..made()
    };
    let closed = summary::text(&closed);
    for line in open.lines().chain(closed.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    insta::assert_snapshot!(format!("{open}\n---\n\n{closed}"));
}

#[test]
fn prometheus_reads_what_is_written_for_it() {
    let good = server(Behaviour::answering(Answer::ok()));
    // A real result, whose times are then replaced by known ones.
    let mut result = measured(&good, &["--concurrency", "1", "--requests", "1"]).1.result;
    let times = &mut result.times;
    for times in [&mut times.response_time, &mut times.service_time, &mut times.schedule_lag] {
        times.clear();
    }
    result.times.response_time.record_many(1_000_000, 2_957);
    result.times.service_time.record_many(1_000_000, 2_957);
    result.connect_time.clear();
    result.connect_time.record_many(100_000, 2_999);
    let all_of = |ns| {
        let mut times = Times::coarse();
        times.record_many(ns, 20);
        times
    };
    let (response_time, service_time) = (all_of(2_000_000), all_of(1_000_000));
    let buy = TagFigures { ok: 20, failed: 1, service_time, response_time };
    result.tags = [("buy".to_owned(), buy)].into();
    let url = "http://127.0.0.1:8080/\"q\\".to_owned();
    let report = Report { url, tags: tags(&result, LoadModel::Open), ..made() };
    insta::assert_snapshot!(prometheus::text(&report, &result));
}

/// The requests of a file have tags, and their answers break rules.
#[test]
fn a_file_is_sent_once_and_checked() {
    let directory = tempfile::tempdir().expect("a directory");
    let traffic = directory.path().join("traffic.txt");
    std::fs::write(&traffic, "/a buy\n/b sell\n/c buy\n").expect("written");
    let traffic = traffic.to_str().expect("text");
    let server = server(half_bad());
    let flags = ["--traffic", traffic, "--once", "--concurrency", "1", "--requests", "99"];
    let report = load_result(&server, &flags);
    assert_eq!((report.requests_planned, report.requests_ok, report.requests_failed), (3, 2, 1));
    let tags = report.tags.iter().map(|(tag, of)| (&**tag, of.requests_ok, of.requests_failed));
    assert_eq!(tags.collect::<Vec<_>>(), [("buy", 2, 0), ("sell", 0, 1)]);
    let [example] = report.examples.as_slice() else { panic!("{:?}", report.examples) };
    assert_eq!((&*example.kind, &*example.tag, example.status), ("http:503", "sell", Some(503)));
    assert_eq!((&*example.body, &*example.request), ("busy", "GET /b"));
    let checked =
        load_result(&server, &["--concurrency", "1", "--requests", "4", "--check", "size > 1000"]);
    assert_eq!(checked.errors["check:size > 1000"], 2, "{:?}", checked.errors);
}

/// Reads Tank's own file, and notes the keys in it that are ignored.
#[test]
fn a_load_yaml_is_sent() {
    let server = server(Behaviour::answering(Answer::ok()));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("load.yaml");
    let text = format!(
        "phantom:\n  address: {}\n  uris: [/a, /b]\n  load_profile:\n    load_type: rps\n    \
         schedule: const(100, 500ms)\n  writelog: all\nautostop:\n  autostop: [\"time(5s,5s)\"]\n",
        server.address()
    );
    std::fs::write(&file, text).expect("written");
    let args = ["stampede", "fire", "--tank", file.to_str().expect("text")];
    let Command::Fire(args) = Cli::try_parse_from(args).expect("flags").command else {
        panic!("no `fire`");
    };
    let machine = machine::facts_below(Path::new("/"), || {});
    let ready = PreparedLoad::of(&args, &machine).expect("a load");
    assert!(ready.autostop.is_some());
    let is_writelog = |note: &Before| matches!(note, Before::KeyPassedOver { key, .. } if key == "phantom.writelog");
    assert!(ready.notes.iter().any(is_writelog), "{:?}", ready.notes);
    let mut files = Files::create(&args.files).expect("files");
    files.begin(&ready.load);
    let sinks = (&mut LoadDisplay::Lines, &mut files);
    let measured = measure(&ready, &InProcess, sinks, None).expect("a load");
    let report = measured.report(&ready, &machine);
    assert_eq!((report.requests_planned, report.requests_ok), (50, 50));
    assert_eq!((&*report.client, report.keep_alive), ("tank", false));
}

/// A request file on the command line stands for the one that the file names, or lacks.
#[test]
fn a_load_ini_is_sent_with_a_file_of_the_command_line() {
    let server = server(half_bad());
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
    let (ini, traffic) = (path("load.ini"), path("ammo.txt"));
    let text = "[phantom]\naddress = ${HOST}\nrps_schedule = const(100, 500ms)\n";
    std::fs::write(&ini, text).expect("written");
    std::fs::write(&traffic, "[A: b] [Connection: close]\n/a\n/b\n").expect("written");
    let report = load_result(&server, &["--tank", &ini, "--traffic", &traffic, "--once"]);
    assert_eq!((report.requests_ok, report.requests_failed), (1, 1));
}

const SCRIPT: &str = "import http from 'k6/http';\nexport const options = { vus: 2, duration: '5s' };\n\
    export default function () {\n  http.get('http://shop.test/a');\n  sleep(1);\n  \
    http.post(`${__ENV.HOST}/b`, 'c');\n}\n";

#[test]
fn a_script_of_k6_is_sent_and_the_rest_of_it_named() {
    let server = server(half_bad());
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("script.js");
    std::fs::write(&script, SCRIPT).expect("written");
    let script = script.to_str().expect("text");
    let report = load_result(&server, &["--traffic", script, "--once", "--concurrency", "1"]);
    assert_eq!((report.requests_ok, report.requests_failed), (1, 1));
    let named = Traffic::BeforeLoad {
        found: Before::LeftOutOfScript {
            what: "`sleep`".to_owned(),
            lines: vec![5],
            instead: "a user does not pause; a rate is `--rate`".to_owned(),
        },
    };
    assert!(report.notes.contains(&named.into()), "{:?}", report.notes);
}

#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
#[test]
fn a_script_without_a_load_on_the_command_line_names_its_own() {
    let directory = tempfile::tempdir().expect("a directory");
    let script = directory.path().join("script.js");
    std::fs::write(&script, SCRIPT).expect("written");
    let script = script.to_str().expect("text");
    let args = ["stampede", "fire", "http://127.0.0.1:1/", "--traffic", script];
    let Command::Fire(args) = Cli::try_parse_from(args).expect("flags").command else {
        panic!("no `fire`");
    };
    let machine = machine::facts_below(Path::new("/"), || {});
    let Err(failure) = PreparedLoad::of(&args, &machine) else { panic!("a load") };
    let failure = format!("{failure:?}");
    assert!(failure.contains("`--concurrency 2 --for 5s`"), "{failure}");
}

/// 3 requests of second 0 and 1 of second 2 that are GET and not errors, three seconds in three
/// quarters of one.
#[test]
fn an_access_log_is_sent_at_the_rate_of_its_times() {
    let server = server(Behaviour::answering(Answer::ok()));
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("access.log");
    let lines = ["0 GET 200", "0 GET 200", "0 POST 200", "0 GET 304", "1 GET 404", "2 GET 200"];
    let line = |text: &&str| {
        let [second, method, status] = text.split(' ').collect::<Vec<_>>()[..] else { panic!() };
        format!("::1 - - [10/Jan/2024:10:20:3{second} +0000] \"{method} /a HTTP/1.1\" {status} 5\n")
    };
    std::fs::write(&path, lines.iter().map(line).collect::<String>()).expect("written");
    let path = path.to_str().expect("text");
    let flags = ["--traffic", path, "--at-recorded-times", "--speed", "4x", "--log-errors", "drop"];
    let report = load_result(&server, &flags);
    assert_eq!(report.load, "const(12,250ms) const(0,250ms) const(4,250ms)");
    assert_eq!((report.requests_planned, report.requests_ok), (4, 4));
    assert!((report.duration_s - 0.75).abs() < 0.001, "{}", report.duration_s);
    let all = [&flags[..], &["--methods", "GET,POST"]].concat();
    assert_eq!(load_result(&server, &all).requests_planned, 5);
}

/// The server's queue of new connections is full at first, so the kernel sends the SYN again after
/// 1 s.
#[test]
fn connects_with_retransmissions_are_reported() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    rustix::net::listen(&listener, 0).expect("a shorter queue");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let serving = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        for stream in listener.incoming().take(5) {
            let mut stream = stream.expect("a connection");
            let _ = stream.read(&mut [0; 1024]).expect("a request");
            stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n").expect("an answer");
        }
    });
    let flags = ["--concurrency", "5", "--requests", "5", "--no-keep-alive", "--timeout", "9s"];
    let (report, _) = measured_at(&url, &flags);
    serving.join().expect("the server ends");
    assert_eq!(report.requests_ok, 5, "{:?}", report.errors);
    let is_slow = |note: &Fact<Reason>| note.code() == "slow_connects";
    assert!(report.notes.iter().any(is_slow), "{:?}", report.notes);
}
