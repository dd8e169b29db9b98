//! Tests agents behind a link of little bandwidth: `tc tbf`, and `netem` where the kernel has it.

use std::time::Duration;

use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer, Listen};

use crate::agents_support::{HUB, Hosts, Shaped, cannot_make_hosts, sum};
use crate::common::{Sandbox, fact, finish, stderr, stdout};

/// Bytes of an answer's body. At [`Hosts::shape`]'s 8 Mbit/s they take 50 ms, less what may come at
/// once.
const BODY: usize = 50_000;

/// Runs `fire` in the network of the hub with an agent on each host.
fn fire(hosts: &Hosts, sandbox: &Sandbox, line: &str) -> Value {
    hosts.inside(|| {
        let behaviour = Behaviour::answering(Answer::new(200, vec![b'x'; BODY]));
        let server = KnownServer::start_on(&Listen::TcpOn(HUB), behaviour).expect("a server");
        let (url, program) =
            (format!("http://{}/", server.address()), env!("CARGO_BIN_EXE_stampede"));
        // The program is there already: its copy would take a minute on this link.
        let words =
            ["fire", &url, "--json", "--agents", "ssh:load1,load2", "--agent-program", program];
        let args: Vec<&str> = words.into_iter().chain(line.split_whitespace()).collect();
        let mut command = sandbox.stampede(&args);
        command.env("PATH", hosts.path());
        let output = finish(command, Duration::from_secs(60));
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)))
    })
}

fn median_ms(summary: &Value, agent: usize) -> f64 {
    let median = &summary["agents"][agent]["service_time_p50"]["median_ns"];
    median.as_f64().unwrap_or_else(|| panic!("{summary:#}")) / 1e6
}

/// The answers of one agent come through 8 Mbit/s. Its times say so, its row does, and the verdict
/// names it; the other agent's times are as before.
#[test]
fn an_agent_behind_a_narrow_link_is_slower_and_is_named() {
    if cannot_make_hosts() {
        return;
    }
    let (hosts, sandbox) = (Hosts::new(2), Sandbox::new());
    // 6 requests/s of an agent are 0.3 MB/s, less than a third of the link.
    let line = "--schedule const(12,5s) --arrivals uniform";
    let wide = fire(&hosts, &sandbox, line);
    let shaped = match hosts.shape(1) {
        Shaped::No => return println!("SKIPPED: tc cannot limit a link here"),
        shaped => shaped,
    };
    let narrow = fire(&hosts, &sandbox, line);
    for summary in [&wide, &narrow] {
        assert_eq!(summary["requests_ok"], 60, "{summary:#}");
        assert_eq!((sum(summary, "ok"), sum(summary, "expected")), (60, 60), "{summary:#}");
        assert!(fact(&summary["reasons"], "agent_lost").is_null(), "{summary:#}");
    }
    // By arithmetic: what the bucket does not hold comes at the link's rate.
    let mut least_ms = (BODY - hosts.bucket()) as f64 / 1_000.0;
    if shaped == Shaped::BandwidthAndDelay {
        least_ms += 3.0;
    }
    let (before, after) = (median_ms(&wide, 0), median_ms(&narrow, 0));
    assert!(before < least_ms && after >= least_ms, "{before} ms, {after} ms, {least_ms} ms");
    assert!(median_ms(&narrow, 1) < least_ms, "{narrow:#}");
    let differ = fact(&narrow["reasons"], "agents_differ");
    assert_eq!((&differ["slowest"], &differ["fastest"]), (&"load1".into(), &"load2".into()));
}

/// A file of requests goes to an agent through the narrow link for longer than an agent may be
/// silent, and the load begins when it is there.
#[test]
#[ignore = "long: 20 s"]
fn a_file_of_requests_travels_over_a_narrow_link() {
    if cannot_make_hosts() {
        return;
    }
    let (hosts, sandbox) = (Hosts::new(2), Sandbox::new());
    if hosts.shape(1) == Shaped::No {
        return println!("SKIPPED: tc cannot limit a link here");
    }
    let body = "x".repeat(99_000);
    let request = |number| {
        format!("{{\"method\": \"POST\", \"path\": \"/{number}\", \"body\": \"{body}\"}}\n")
    };
    // 5.9 MB, which is 6 s.
    sandbox.write("requests.jsonl", &(0..60).map(request).collect::<String>());
    let begun = std::time::Instant::now();
    let summary = fire(&hosts, &sandbox, "--traffic requests.jsonl --once -c 2");
    assert!(begun.elapsed() >= Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!((&summary["requests_ok"], sum(&summary, "ok")), (&60.into(), 60), "{summary:#}");
    assert!(fact(&summary["reasons"], "agent_lost").is_null(), "{summary:#}");
}
