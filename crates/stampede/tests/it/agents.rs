//! Tests loads that agents send together: as processes here, in other clocks, and behind ssh.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer, Listen};
use stampede_results::store::hlog;
use stampede_stats::histogram::Times;

use crate::agents_support::{
    HUB, Hosts, address, cannot_make_hosts, local_address, path_with, relay, sum, write_program,
};
use crate::common::{Sandbox, fact, finish, skipped, stderr, stdout, trials};
use crate::words::{CODES, code_or};

const LIMIT: Duration = Duration::from_secs(60);

fn server() -> KnownServer {
    KnownServer::start(Behaviour::answering(Answer::ok())).expect("a server")
}

fn fire<'a>(url: &'a str, line: &'a str) -> Vec<&'a str> {
    ["fire", url, "--json"].into_iter().chain(line.split_whitespace()).collect()
}

/// Runs `fire` with these flags; returns its summary.
fn summary(sandbox: &Sandbox, server: &KnownServer, line: &str) -> Value {
    let url = format!("http://{}/", server.address());
    let output = finish(sandbox.stampede(&fire(&url, line)), LIMIT);
    serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)))
}

/// The children of a process.
pub fn children(pid: u32) -> Vec<Pid> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let raw = text.split_whitespace().filter_map(|pid| pid.parse().ok());
    raw.filter_map(Pid::from_raw).collect()
}

/// Starts `fire`, and waits until the server has seen requests.
fn running(sandbox: &Sandbox, server: &KnownServer, line: &str) -> Child {
    let url = format!("http://{}/", server.address());
    let child = sandbox.stampede(&fire(&url, line)).spawn().expect("the binary starts");
    let begun = Instant::now();
    while server.journal().requests < 100 {
        assert!(begun.elapsed() < Duration::from_secs(20), "no request");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

#[test]
fn local_agents_send_one_load_together() {
    let (sandbox, server) = (Sandbox::new(), server());
    let line = "--schedule const(500,2s) --arrivals uniform --agents local:3 --warm-up 500ms";
    let summary = summary(&sandbox, &server, line);
    assert_eq!(
        (&summary["requests_planned"], &summary["requests_ok"]),
        (&1000.into(), &1000.into())
    );
    let planned: Vec<u64> = summary["agents"]
        .as_array()
        .expect("agents")
        .iter()
        .map(|agent| agent["planned"].as_u64().expect("a number"))
        .collect();
    assert_eq!(planned, [334, 333, 333], "{summary:#}");
    assert_eq!((sum(&summary, "expected"), sum(&summary, "ok")), (1000, 1000));
    // The warm-up has as many requests in a quarter of the time.
    assert_eq!(server.journal().requests, 1000 + 250);
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

#[test]
fn a_file_of_requests_travels_and_each_request_is_sent_once() {
    let (sandbox, server) = (Sandbox::new(), server());
    let urls: String = (0..50).map(|number| format!("/{number}\n")).collect();
    sandbox.write("urls.txt", &urls);
    let line = "--traffic urls.txt --once --concurrency 4 --agents local:2";
    let summary = summary(&sandbox, &server, line);
    assert_eq!((&summary["requests_ok"], server.journal().requests), (&50.into(), 50));
    assert_eq!(sum(&summary, "ok"), 50, "{summary:#}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

#[test]
fn files_that_requests_name_travel_with_them() {
    let (sandbox, server) = (Sandbox::new(), server());
    let mut text = String::new();
    for number in 0..6 {
        std::fs::create_dir_all(sandbox.path().join("bodies")).expect("a directory");
        sandbox.write(&format!("bodies/{}.json", number % 3), &"x".repeat(1_000 + number % 3));
        text += &format!("POST http://shop/{number}\n@bodies/{}.json\n\n", number % 3);
    }
    sandbox.write("targets.txt", &text);
    let line = "--traffic targets.txt --once --concurrency 2 --agents local:2";
    let sent = summary(&sandbox, &server, line);
    assert_eq!((&sent["requests_ok"], server.journal().requests), (&6.into(), 6), "{sent:#}");
    assert!(sent["bytes_out"].as_u64() > Some(6_000), "{sent:#}");
    std::fs::remove_file(sandbox.path().join("bodies/1.json")).expect("it is there");
    let sent = summary(&sandbox, &server, line);
    assert_eq!(sent["requests_ok"], 4, "the others are sent: {sent:#}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// Tank's own arrivals are uniform. Of several machines they would depend on the clocks.
#[test]
fn a_file_of_tank_is_sent_by_agents_at_poisson_arrivals() {
    let (sandbox, server) = (Sandbox::new(), server());
    let address = server.address();
    let tank = |profile: &str| {
        format!("phantom:\n  address: {address}\n  uris: ['/']\n  load_profile:\n{profile}\n")
    };
    sandbox.write("open.yaml", &tank("    load_type: rps\n    schedule: const(200, 1s)"));
    sandbox.write("closed.yaml", &tank("    load_type: instances\n    schedule: const(2, 1s)"));
    let run = |line: &str| {
        let args: Vec<&str> = ["fire", "--json"].into_iter().chain(line.split(' ')).collect();
        finish(sandbox.stampede(&args), LIMIT)
    };
    let seed = |line: &str| {
        let output = run(line);
        let summary: Value = serde_json::from_str(&stdout(&output))
            .unwrap_or_else(|_| panic!("{}", stderr(&output)));
        assert_eq!(summary["requests_ok"], summary["requests_planned"], "{summary:#}");
        summary["poisson_seed"].clone()
    };
    assert!(seed("--tank open.yaml --agents local:2").is_u64());
    assert_eq!(seed("--tank open.yaml --agents local:2 --seed 7"), 7);
    assert_eq!(seed("--tank open.yaml --agents local:2 --arrivals uniform"), Value::Null);
    assert_eq!(seed("--tank open.yaml"), Value::Null);
    let output = run("--tank closed.yaml --arrivals poisson");
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(CODES || stderr(&output).contains("--arrivals"), "{}", stderr(&output));
}

/// Each agent numbers the tags of a file as it meets them, so the same number means another name.
#[test]
fn the_rows_of_all_agents_have_the_tags_of_the_file() {
    let (sandbox, server) = (Sandbox::new(), server());
    let entry = |number: u32| format!("/{number} tag{}\n", number % 5);
    sandbox.write("urls.txt", &(0..40).map(entry).collect::<String>());
    let line = "--traffic urls.txt --requests 400 --concurrency 4 --warm-up 500ms --agents local:2 \
                --phout rows.log";
    let summary = summary(&sandbox, &server, line);
    let text = std::fs::read_to_string(sandbox.path().join("rows.log")).expect("rows");
    let mut rows = BTreeMap::<&str, u64>::new();
    for row in text.lines() {
        let columns: Vec<&str> = row.split('\t').collect();
        assert_eq!((columns.len(), columns[11]), (12, "200"), "{row}");
        *rows.entry(columns[1]).or_default() += 1;
    }
    let names = ["tag0", "tag1", "tag2", "tag3", "tag4"];
    assert_eq!(rows, names.map(|name| (name, 80)).into(), "{summary:#}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// All histograms of a log, by second and kind of time.
fn histograms(path: &std::path::Path) -> BTreeMap<(u64, String), Times> {
    let mut all = BTreeMap::new();
    let take = |line: hlog::Line| {
        all.entry((line.start.0, line.tag)).or_insert_with(Times::new).merge(&line.times);
    };
    assert_eq!(hlog::read(path, take).expect("a log"), None);
    all
}

/// Each agent writes what it measured itself, and the coordinator writes the sum: the same counts in
/// each second.
#[test]
fn merged_histograms_are_the_sum_of_the_agents_files() {
    let (sandbox, server) = (Sandbox::new(), server());
    let kept = sandbox.path().join("kept");
    std::fs::create_dir(&kept).expect("a directory");
    let program = sandbox.path().join("agent");
    let (stampede, directory) = (env!("CARGO_BIN_EXE_stampede"), kept.display());
    let text = format!("#!/bin/sh\nexec '{stampede}' \"$@\" --hlog-dir '{directory}'\n");
    write_program(&program, &text);
    let (merged, program) = (sandbox.path().join("merged.hlog"), program.display());
    let line = format!(
        "--rate 400 --for 3s --agents local:2 --agent-program {program} --hlog {}",
        merged.display()
    );
    let summary = summary(&sandbox, &server, &line);
    let mut sum = BTreeMap::new();
    let files: Vec<_> = std::fs::read_dir(&kept).expect("files").flatten().collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in &files {
        for (key, times) in histograms(&file.path()) {
            sum.entry(key).or_insert_with(Times::new).merge(&times);
        }
    }
    let merged = histograms(&merged);
    assert_eq!(merged.keys().collect::<Vec<_>>(), sum.keys().collect::<Vec<_>>());
    for (key, times) in &merged {
        assert!(times.histogram() == sum[key].histogram(), "{key:?}");
    }
    let responses = merged.iter().filter(|((_, tag), _)| tag == "response_time");
    let responses: u64 = responses.map(|(_, times)| times.len()).sum();
    assert_eq!(summary["requests_ok"].as_u64(), Some(responses), "{summary:#}");
    let output = finish(sandbox.stampede(&["agent", "--hlog-dir", "nowhere"]), LIMIT);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(CODES || said.contains("cannot write to the directory `nowhere`"), "{said}");
}

#[test]
fn poisson_is_the_default_of_agents() {
    let (sandbox, server) = (Sandbox::new(), server());
    let line = "--rate 400 --for 1s --seed 7 --agents local:2";
    let [first, again] = [(), ()].map(|()| summary(&sandbox, &server, line));
    assert_eq!(first["poisson_seed"], 7, "{first:#}");
    assert_eq!(first["requests_planned"], again["requests_planned"], "the seed decides");
    assert_eq!(sum(&first, "expected"), first["requests_planned"].as_u64().expect("a number"));
}

#[test]
fn ctrl_c_ends_all_agents_and_keeps_what_came() {
    let (sandbox, server) = (Sandbox::new(), server());
    let child = running(&sandbox, &server, "--rate 300 --for 60s --agents local:2");
    std::thread::sleep(Duration::from_secs(1));
    kill_process(Pid::from_child(&child), Signal::INT).expect("the signal");
    let output = child.wait_with_output().expect("its output");
    let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(summary["end"], "stopped", "{summary:#}");
    let ok = summary["requests_ok"].as_u64().expect("a number");
    assert_eq!((ok, sum(&summary, "ok")), (server.journal().requests, ok), "{summary:#}");
    assert!(summary["agents"][0]["loss"].is_null(), "{summary:#}");
    // What was not due is left out everywhere.
    for (row, total) in [("planned", "requests_planned"), ("dropped", "requests_dropped")] {
        assert_eq!(Some(sum(&summary, row)), summary[total].as_u64(), "{summary:#}");
    }
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

#[test]
fn a_killed_agent_makes_the_trial_invalid() {
    let (sandbox, server) = (Sandbox::new(), server());
    let child = running(&sandbox, &server, "--rate 300 --for 60s --agents local:2");
    std::thread::sleep(Duration::from_millis(1_500));
    let agents = children(child.id());
    assert_eq!(agents.len(), 2);
    kill_process(agents[1], Signal::KILL).expect("the signal");
    let begun = Instant::now();
    let output = child.wait_with_output().expect("its output");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(summary["verdict"], "invalid", "{summary:#}");
    let lost = fact(&summary["reasons"], "agent_lost");
    assert!(!lost.is_null(), "{summary:#}");
    assert_eq!(summary["agents"][0]["loss"], Value::Null, "{summary:#}");
    assert_eq!(summary["agents"][1]["loss"]["how"], "closed", "{summary:#}");
    assert!(summary["agents"][1]["ok"].as_u64() >= Some(100), "{summary:#}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// SIGSTOP: the connection stays open, and nothing comes.
#[test]
fn a_stopped_agent_is_lost_after_three_seconds() {
    let (sandbox, server) = (Sandbox::new(), server());
    let child = running(&sandbox, &server, "--rate 300 --for 60s --timeout 1s --agents local:2");
    let agents = children(child.id());
    kill_process(agents[0], Signal::STOP).expect("the signal");
    let begun = Instant::now();
    let output = child.wait_with_output().expect("its output");
    // 3 s of silence, then the other one's end; and 3 s for the stopped one, which does not end.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(summary["agents"][0]["loss"]["how"], "silent", "{summary:#}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

#[test]
fn agents_end_with_their_coordinator() {
    let (sandbox, server) = (Sandbox::new(), server());
    let mut child = running(&sandbox, &server, "--rate 300 --for 60s --agents local:3");
    let agents = children(child.id());
    assert_eq!(agents.len(), 3);
    child.kill().expect("the signal");
    child.wait().expect("its end");
    std::thread::sleep(Duration::from_secs(1));
    let requests = server.journal().requests;
    std::thread::sleep(Duration::from_millis(1_200));
    assert_eq!(server.journal().requests, requests, "something still sends");
    let is_left =
        |pid: &&Pid| std::path::Path::new(&format!("/proc/{}/exe", pid.as_raw_nonzero())).exists();
    assert_eq!(agents.iter().filter(is_left).count(), 0);
}

#[test]
fn mistakes_are_found_before_anything_starts() {
    let sandbox = Sandbox::new();
    for (url, line, expected) in [
        (
            "http://127.0.0.1:9/",
            "--agents ssh:load1",
            "agents on other machines cannot reach 127.0.0.1:9",
        ),
        ("http://127.0.0.1:9/", "--agents load1", "`load1` does not say how to reach an agent"),
        ("http://127.0.0.1:9/", "--agents local:5", "5 agents cannot share 4 connections"),
        ("http://127.0.0.1:9/", "--agents local:2 --load-cpus 0", "cannot be used with"),
    ] {
        let line = format!("{line} --concurrency 4 --for 1s");
        let output = finish(sandbox.stampede(&fire(url, &line)), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{line}");
        let is_said = CODES || stderr(&output).contains(expected);
        assert!(is_said, "{line}: {}", stderr(&output));
    }
}

/// Two processes with clocks that differ by hours. `ssh` is a program that starts the agent in
/// another time namespace.
#[test]
fn clocks_that_differ_by_hours_change_nothing() {
    let unshare = ["--time", "--monotonic", "7200", "true"];
    let can = std::process::Command::new("unshare").args(unshare).status();
    if !can.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no time namespace can be made here");
    }
    let Some(own) = local_address() else {
        return eprintln!("skipped: this machine has no address but loopback");
    };
    let behaviour = Behaviour::answering(Answer::ok());
    let server = KnownServer::start_on(&Listen::TcpOn(own), behaviour).expect("a server");
    let sandbox = Sandbox::new();
    // Called as `ssh … -- h7200 COMMAND`.
    let text = "#!/bin/sh\nfor word; do before=$host; host=$command; command=$word; done\n\
                exec unshare --time --monotonic \"${host#h}\" sh -c \"$command\"\n";
    write_program(&sandbox.path().join("bin/ssh"), text);
    let (program, url) = (env!("CARGO_BIN_EXE_stampede"), format!("http://{}/", server.address()));
    for engine in ["epoll", "io_uring"] {
        let line = format!(
            "--rate 300 --for 1500ms --engine {engine} --agents ssh:h7200,h50 --agent-program {program}"
        );
        let mut command = sandbox.stampede(&fire(&url, &line));
        command.env("PATH", path_with(&sandbox.path().join("bin")));
        let output = finish(command, LIMIT);
        let summary: Value = serde_json::from_str(&stdout(&output))
            .unwrap_or_else(|_| panic!("{engine}: {}", stderr(&output)));
        for (agent, seconds) in [(0, 7_200_i64), (1, 50)] {
            let start = &summary["agents"][agent]["start"];
            let offset = start["clock_offset_ns"].as_i64().expect("a number");
            let error = start["start_error_ns"].as_i64().expect("a number");
            assert!((offset - seconds * 1_000_000_000).abs() <= error, "{engine}: {summary:#}");
            assert!(error < 100_000_000, "{engine}: {summary:#}");
        }
        assert_eq!(summary["requests_ok"], summary["requests_planned"], "{engine}: {summary:#}");
    }
}

#[test]
fn a_comparison_is_loaded_by_agents() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let line = "compare --app hello --runtimes php-builtin --rate 80 --for 1s --warm-up 200ms \
                --rounds 1 --agents local:2";
    let args: Vec<&str> = line.split_whitespace().collect();
    let output = finish(sandbox.stampede(&args), LIMIT);
    let trial = trials(&sandbox).remove(0);
    let agents = trial["load"]["agents"].as_array().cloned().unwrap_or_default();
    assert_eq!(agents.len(), 2, "{trial:#} {}", stderr(&output));
    let of = |field: &str| agents.iter().filter_map(|agent| agent[field].as_u64()).sum::<u64>();
    let counts = &trial["load"]["counts"];
    assert_eq!(
        (Some(of("planned")), Some(of("ok"))),
        (counts["planned"].as_u64(), counts["ok"].as_u64())
    );
    assert_eq!(of("expected"), of("planned"));
    assert!(of("ok") > 30, "{trial:#}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// The stack listens where agents on other machines reach it, and nowhere else.
#[test]
fn a_stack_listens_for_agents_behind_ssh() {
    if cannot_make_hosts() || skipped(&["php"]) {
        return;
    }
    let (hosts, sandbox) = (Hosts::new(1), Sandbox::new());
    let run = |more: &str| {
        let line = format!(
            "compare --app hello --runtimes php-builtin --rate 80 --for 1s --warm-up 200ms \
             --rounds 1 --repeat-invalid 0 --agents ssh:load1 {more}"
        );
        let args: Vec<&str> = line.split_whitespace().collect();
        let mut command = sandbox.stampede(&args);
        command.env("PATH", hosts.path());
        hosts.inside(|| finish(command, LIMIT))
    };
    let output = run(&format!("--listen {HUB} --out here"));
    let trial = std::fs::read_dir(sandbox.path().join("here/trials")).expect("trials");
    let trial = trial.flatten().next().expect("a trial").path().join("trial.json");
    let trial: Value =
        serde_json::from_slice(&std::fs::read(trial).expect("a file")).expect("JSON");
    let agents = trial["load"]["agents"].as_array().cloned().unwrap_or_default();
    assert_eq!(agents.len(), 1, "{trial:#} {}", stderr(&output));
    assert_eq!(agents[0]["ok"], trial["load"]["counts"]["ok"]);
    assert!(agents[0]["ok"].as_u64() > Some(30), "{trial:#}");
    // Without an address, agents would load themselves.
    let output = run("--out nowhere");
    let said = stdout(&output) + &stderr(&output);
    let is_said = said.contains("agents on other machines cannot reach 127.0.0.1");
    assert!(CODES || is_said, "{said}");
    let output = run("--listen 10.77.0.99 --out other");
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(CODES || said.contains("an address of this machine"), "{said}");
}

/// Runs `fire` in the network of the hub, against a server there.
fn in_hub(hosts: &Hosts, sandbox: &Sandbox, line: &str) -> (Value, Vec<u64>) {
    hosts.inside(|| {
        let behaviour = Behaviour::answering(Answer::ok());
        let server = KnownServer::start_on(&Listen::TcpOn(HUB), behaviour).expect("a server");
        let url = format!("http://{}/", server.address());
        let mut command = sandbox.stampede(&fire(&url, line));
        command.env("PATH", hosts.path());
        let output = finish(command, LIMIT);
        let summary = serde_json::from_str(&stdout(&output));
        let summary = summary.unwrap_or_else(|_| panic!("{}", stderr(&output)));
        (summary, server.journal().arrivals_ns)
    })
}

/// What runs on the hosts: processes whose command line has this path.
fn running_from(path: &std::path::Path) -> Vec<String> {
    let commands = std::fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| {
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&command).replace('\0', " "))
    });
    let path = path.display().to_string();
    commands.filter(|command| command.starts_with(&path)).collect()
}

#[test]
fn agents_behind_ssh_get_the_program_once() {
    if cannot_make_hosts() {
        return;
    }
    let (hosts, sandbox) = (Hosts::new(2), Sandbox::new());
    let line = "--rate 400 --for 1s --agents ssh:load1,load2";
    for _ in 0..2 {
        let (summary, arrivals) = in_hub(&hosts, &sandbox, line);
        assert_eq!(summary["requests_ok"].as_u64(), Some(arrivals.len() as u64), "{summary:#}");
        assert_eq!(sum(&summary, "ok"), arrivals.len() as u64, "{summary:#}");
        assert!(summary["agents"][1]["ok"].as_u64() > Some(100), "{summary:#}");
        for number in [1, 2] {
            let copies = hosts.cache(number).join("stampede/agents");
            let copies = std::fs::read_dir(copies).expect("copies").count();
            assert_eq!(copies, 1, "on host {number}");
            assert_eq!(running_from(&hosts.cache(number)), [""; 0]);
        }
    }
    // A name that ssh does not know, and one that lets nobody in.
    let errors = hosts.inside(|| {
        let url = format!("http://{HUB}:9/");
        let line = "-c 2 --for 1s --agents ssh:load1,no.invalid";
        let mut command = sandbox.stampede(&fire(&url, line));
        command.env("PATH", hosts.path());
        stderr(&finish(command, LIMIT))
    });
    let is_said = errors.contains("the connection to agent no.invalid ended: ssh:");
    assert!(CODES || is_said, "{errors}");
}

#[test]
fn another_machine_is_watched_over_ssh() {
    if cannot_make_hosts() {
        return;
    }
    let (hosts, sandbox) = (Hosts::new(1), Sandbox::new());
    let (summary, arrivals) =
        in_hub(&hosts, &sandbox, "--rate 100 --for 3s --watch ssh:load1 --report run");
    assert!(arrivals.len() > 200, "{summary:#}");
    let server = &summary["server"];
    assert_eq!(
        (&server["watched"], &server["accounting"]),
        (&"machine load1".into(), &"ssh".into())
    );
    let number = |key: &str| server[key].as_f64().unwrap_or_else(|| panic!("{key}: {server:#}"));
    assert!(number("cpus_mean") > 0.0 && number("memory_bytes_max") > 1e6, "{server:#}");
    // The host's network is its own, and `ssh` itself goes through it.
    assert!(number("network_sent_bytes") > 1_000.0, "{server:#}");
    assert!(server["cpu_ns_per_request"].is_null(), "others use the machine too: {server:#}");
    let errors = hosts.inside(|| {
        let line = "-c 2 --for 1s --watch ssh:no.invalid";
        let mut command = sandbox.stampede(&fire(&format!("http://{HUB}:9/"), line));
        command.env("PATH", hosts.path());
        stderr(&finish(command, LIMIT))
    });
    let why = "machine `no.invalid` cannot be read: `ssh` says `ssh: ";
    assert!(errors.contains(code_or("unreachable", why)), "{errors}");
}

/// Requests of two agents take turns, every 100 ms. How far their starts lie apart shows in the
/// arrivals, and is within what was said, although one agent is 5 ± 2 ms away in each direction.
#[test]
fn the_said_start_error_is_true_behind_a_slow_way() {
    if cannot_make_hosts() {
        return;
    }
    let (hosts, sandbox) = (Hosts::new(2), Sandbox::new());
    let to = SocketAddr::from((address(1), 22));
    let (base, jitter) = (Duration::from_millis(3), Duration::from_millis(4));
    let port = hosts.inside(|| relay(to, base, jitter, 1));
    hosts.write_config(&[(1, port)]);
    let line = "--schedule const(10,6s) --arrivals uniform --agents ssh:load1,load2";
    let (summary, arrivals) = in_hub(&hosts, &sandbox, line);
    assert_eq!(arrivals.len(), 60, "{summary:#}");
    let mean_of = |agent: usize| {
        let own = arrivals.iter().enumerate().skip(agent).step_by(2);
        let late: Vec<f64> = own.map(|(number, at)| *at as f64 - number as f64 * 100e6).collect();
        let mut sorted = late;
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let apart = (mean_of(0) - mean_of(1)).abs();
    let said: f64 = [0, 1]
        .map(|agent: usize| {
            summary["agents"][agent]["start"]["start_error_ns"].as_f64().expect("a number")
        })
        .iter()
        .sum();
    // Wake-ups on this machine are no part of the clocks.
    assert!(apart <= said + 1e6, "{apart} ns apart, {said} ns said: {summary:#}");
    let round_trip = summary["agents"][0]["start"]["round_trip_ns"].as_u64();
    assert!(round_trip >= Some(6_000_000), "{summary:#}");
    assert!(!fact(&summary["reasons"], "agent_start").is_null(), "{summary:#}");
}

/// A cable is pulled. The coordinator loses the agent, and the agent ends by itself.
#[test]
fn an_agent_that_is_cut_off_is_lost_and_ends() {
    if cannot_make_hosts() {
        return;
    }
    let (hosts, sandbox) = (Hosts::new(2), Sandbox::new());
    let line = "--rate 200 --for 60s --timeout 1s --agents ssh:load1,load2";
    let begun = Instant::now();
    let (summary, cut) = std::thread::scope(|scope| {
        let run = scope.spawn(|| in_hub(&hosts, &sandbox, line).0);
        while running_from(&hosts.cache(2)).is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(20), "no agent");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_secs(3));
        hosts.cut(2);
        let cut = Instant::now();
        (run.join().expect("no panic"), cut)
    });
    assert_eq!(summary["verdict"], "invalid", "{summary:#}");
    assert_eq!(summary["agents"][1]["loss"]["how"], "silent", "{summary:#}");
    assert!(summary["agents"][0]["loss"].is_null(), "{summary:#}");
    while !running_from(&hosts.cache(2)).is_empty() {
        assert!(cut.elapsed() < Duration::from_secs(8), "the agent is left");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(running_from(&hosts.cache(1)), [""; 0]);
}
