//! Tests a rising load against a server with a known limit: results and table show where it broke,
//! with the percentiles up to that point.

use std::time::Duration;

use stampede_known_server::{Answer, Behaviour, KnownServer, Reply, Workers};

use crate::common::{Sandbox, finish, stderr, stdout, summary};

const LIMIT: Duration = Duration::from_secs(90);

/// Two workers with 20 ms per request answer 100 requests a second, on any machine.
fn server() -> KnownServer {
    let reply =
        Reply { service_time: Duration::from_millis(20), answer: Answer::new(200, "hello") };
    let behaviour = Behaviour { reply, workers: Workers::PerRequest(2), ..Behaviour::default() };
    KnownServer::start(behaviour).expect("a server")
}

fn compare(sandbox: &Sandbox, server: &KnownServer, load: &str) -> String {
    sandbox.write("app/app.yaml", "title: known\nkind: callable\ndocroot: .\n");
    sandbox.write("app/index.php", "<?php echo 'hello';\n");
    let plan = format!(
        "app: ./app\nruntimes: [{{known: {{use: external, url: \"http://{}\"}}}}]\nload: {{it: {load}}}\n\
         timeout: 300ms\ncold: true\n",
        server.address()
    );
    sandbox.write("plan.yaml", &plan);
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    stdout(&output) + &stderr(&output)
}

#[test]
#[ignore = "long: 35 s"]
fn a_rising_load_breaks_where_the_server_is_full() {
    let (sandbox, server) = (Sandbox::new(), server());
    let text = compare(&sandbox, &server, "\"line(10, 310, 10s)\"");
    let case = &summary(&sandbox)["cases"][0];
    if case["verdict"] == "invalid" {
        println!("SKIPPED: this machine is too busy: {text}");
        return;
    }
    let breaking = &case["breaking"];
    assert_eq!(breaking["trials_broken"], 1, "{breaking:#}\n{text}");
    let rate = breaking["offered_per_second"]["value"].as_f64().expect("a rate");
    // The server is full at 100/s. Once its queue takes 300 ms, no request is answered in time.
    assert!((80.0..200.0).contains(&rate), "{rate}: {breaking:#}\n{text}");
    let before = breaking["response_time_ns"]["p50"]["value"].as_f64().expect("a median");
    assert!((15e6..150e6).contains(&before), "{before}");
    assert!(breaking["failed"]["net:timeout"].as_u64() > Some(100), "{breaking:#}");
    let details = finish(sandbox.stampede(&["report", "last", "--details"]), LIMIT);
    let text = text + &stdout(&details);
    assert!(text.contains("before the breaking point"), "{text}");
    assert!(
        text.contains("known *") || text.contains("known ≠*") || text.contains("known*"),
        "{text}"
    );
    assert!(text.contains("breaks at "), "{text}");

    let over_time = &case["trials"][0]["over_time"];
    assert!(over_time.is_object(), "second by second: {over_time:#}");
    for format in ["markdown", "csv", "json"] {
        let output = finish(sandbox.stampede(&["report", "last", "--format", format]), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", stderr(&output));
        assert!(stdout(&output).contains("break"), "{format}: {}", stdout(&output));
    }
}

#[test]
fn a_load_within_the_capacity_does_not_break() {
    let (sandbox, server) = (Sandbox::new(), server());
    let text = compare(&sandbox, &server, "\"line(1, 40, 6s)\"");
    let case = &summary(&sandbox)["cases"][0];
    if case["verdict"] == "invalid" {
        println!("SKIPPED: this machine is too busy: {text}");
        return;
    }
    assert_eq!(case["breaking"]["trials_broken"], 0, "{text}");
    assert!(!text.contains("before the breaking point"), "{text}");
    assert!(!text.contains("breaks at "), "{text}");
}
