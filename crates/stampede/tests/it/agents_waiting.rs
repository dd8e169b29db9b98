//! Tests agents that wait for orders: at a NATS broker, and for a coordinator's TCP port.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stampede_known_server::KnownServer;

use crate::agents::children;
use crate::agents_support::{eventually, free_port, server_for_agents, sum, wait_for};
use crate::common::{Sandbox, fact, finish, skipped, stderr, stdout};
use crate::words::CODES;

const LIMIT: Duration = Duration::from_secs(60);
pub const TOKEN: &str = "a token for tests only";

/// A broker of a test. It ends with this value.
pub struct Broker {
    pub port: u16,
    process: Child,
}

impl Broker {
    pub fn start(port: u16, more: &[&str]) -> Broker {
        let mut command = Command::new("nats-server");
        command.args(["-a", "127.0.0.1", "-p", &port.to_string()]).args(more);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let broker = Broker { port, process: command.spawn().expect("nats-server") };
        wait_for(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        broker
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An agent that waits. It ends with this value.
pub struct Agent(Child);

impl Agent {
    pub fn start(sandbox: &Sandbox, place: &str, more: &[&str]) -> Agent {
        Agent::start_with(sandbox, place, more, &[])
    }

    /// The same with these variables.
    pub fn start_with(
        sandbox: &Sandbox,
        place: &str,
        more: &[&str],
        env: &[(&str, &str)],
    ) -> Agent {
        let mut command = sandbox.stampede(&[&["agent", "--connect", place], more].concat());
        command.env("STAMPEDE_AGENT_TOKEN", TOKEN).envs(env.iter().copied());
        Agent(command.spawn().expect("the binary starts"))
    }

    /// The process that does orders, if there is one.
    pub fn worker(&self) -> Option<Pid> {
        children(self.0.id()).pop()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let begun = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn fire(sandbox: &Sandbox, server: &KnownServer, agents: &str, line: &str) -> Command {
    let url = format!("http://{}/", server.address());
    let words = ["fire", &url, "--json", "--agents", agents];
    let args: Vec<&str> = words.into_iter().chain(line.split_whitespace()).collect();
    let mut command = sandbox.stampede(&args);
    command.env("STAMPEDE_AGENT_TOKEN", TOKEN);
    command
}

pub fn summary(sandbox: &Sandbox, server: &KnownServer, agents: &str, line: &str) -> Value {
    let output = finish(fire(sandbox, server, agents, line), LIMIT);
    serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)))
}

/// Whatever is sent over a broker arrives whole: here a file that is longer than what may be on its
/// way at once.
#[test]
fn agents_at_a_broker_send_one_load_together() {
    if skipped(&["nats-server"]) {
        return;
    }
    let Some(server) = server_for_agents() else { return };
    let (sandbox, broker) = (Sandbox::new(), Broker::start(free_port(), &[]));
    let place = format!("nats://127.0.0.1:{}", broker.port);
    let mut agents = [(); 3].map(|()| Agent::start(&sandbox, &place, &["--once"]));
    let body = "x".repeat(40_000);
    let lines: String = (0..300)
        .map(|number| {
            format!("{{\"method\": \"POST\", \"path\": \"/{number}\", \"body\": \"{body}\"}}\n")
        })
        .collect();
    sandbox.write("requests.jsonl", &lines);
    let line = "--traffic requests.jsonl --once -c 6";
    let summary = summary(&sandbox, &server, &format!("{place}?agents=3"), line);
    assert_eq!((&summary["requests_ok"], server.journal().requests), (&300.into(), 300));
    assert_eq!(sum(&summary, "ok"), 300, "{summary:#}");
    let names: Vec<&str> = summary["agents"]
        .as_array()
        .expect("agents")
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert!(names[1].ends_with(" #2") && names[2].ends_with(" #3"), "{names:?}");
    for agent in &mut agents {
        assert!(agent.0.wait().expect("a child").success());
    }
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// Without a number, those that are there send; and an agent goes on waiting afterwards.
#[test]
fn agents_at_a_broker_wait_for_the_next_coordinator() {
    if skipped(&["nats-server"]) {
        return;
    }
    let Some(server) = server_for_agents() else { return };
    let (sandbox, broker) =
        (Sandbox::new(), Broker::start(free_port(), &["--user", "me", "--pass", "hidden"]));
    let place = format!("nats://me:hidden@127.0.0.1:{}", broker.port);
    let agents = [(); 2].map(|()| Agent::start(&sandbox, &place, &[]));
    for _ in 0..2 {
        let output = finish(fire(&sandbox, &server, &place, "--rate 300 --for 1s"), LIMIT);
        let (text, said) = (stdout(&output), stderr(&output));
        assert!(!text.contains("hidden") && !said.contains("hidden"), "{text} {said}");
        let summary: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{said}"));
        assert!(sum(&summary, "ok") > 200, "{summary:#}");
        assert_eq!(summary["requests_ok"].as_u64(), Some(sum(&summary, "ok")), "{summary:#}");
    }
    drop(agents);
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// Those that are started first wait until the others have come.
#[test]
fn agents_of_several_kinds_send_together() {
    if skipped(&["nats-server"]) {
        return;
    }
    let Some(server) = server_for_agents() else { return };
    let (sandbox, broker) = (Sandbox::new(), Broker::start(free_port(), &[]));
    let at_broker = format!("nats://127.0.0.1:{}", broker.port);
    let at_port = format!("tcp://127.0.0.1:{}", free_port());
    let _agents = [&at_broker, &at_port].map(|place| Agent::start(&sandbox, place, &[]));
    let others = format!("--agents {at_broker} --agents {at_port}?agents=1 --rate 300 --for 1s");
    let summary = summary(&sandbox, &server, "local:1", &others);
    let agents = summary["agents"].as_array().expect("agents");
    assert_eq!(agents.len(), 3, "{summary:#}");
    assert!(agents.iter().all(|agent| agent["ok"].as_u64() > Some(30)), "{summary:#}");
    assert_eq!(summary["requests_ok"].as_u64(), Some(sum(&summary, "ok")), "{summary:#}");
}

#[test]
fn a_lost_broker_makes_the_load_invalid_and_agents_come_back() {
    if skipped(&["nats-server"]) {
        return;
    }
    let Some(server) = server_for_agents() else { return };
    let sandbox = Sandbox::new();
    let broker = Broker::start(free_port(), &[]);
    let (port, place) = (broker.port, format!("nats://127.0.0.1:{}", broker.port));
    let agents = [(); 2].map(|()| Agent::start(&sandbox, &place, &[]));
    let both = format!("{place}?agents=2");
    let child = fire(&sandbox, &server, &both, "--rate 200 --for 60s").spawn().expect("it starts");
    eventually("no request", || server.journal().requests > 100);
    drop(broker);
    let gone = Instant::now();
    let output = child.wait_with_output().expect("its output");
    assert!(gone.elapsed() < Duration::from_secs(10), "{:?}", gone.elapsed());
    assert_eq!(output.status.code(), Some(3));
    let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(summary["verdict"], "invalid", "{summary:#}");
    assert!(!fact(&summary["reasons"], "agent_lost").is_null(), "{summary:#}");
    assert!(summary["agents"][0]["loss"].to_string().contains("broker"), "{summary:#}");
    eventually("a worker is left", || agents.iter().all(|agent| agent.worker().is_none()));
    // The same agents, at the next broker.
    let _broker = Broker::start(port, &[]);
    let again = self::summary(&sandbox, &server, &both, "--rate 200 --for 1s");
    assert_eq!(again["requests_ok"].as_u64(), Some(sum(&again, "ok")), "{again:#}");
    assert!(
        again["agents"].as_array().expect("agents").iter().all(|one| one["loss"].is_null()),
        "{again:#}"
    );
    drop(agents);
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// Whoever dies: the other side notices, and the worker is gone.
#[test]
#[ignore = "long: 11 s"]
fn agents_outlive_a_killed_coordinator_and_a_killed_worker() {
    if skipped(&["nats-server"]) {
        return;
    }
    let Some(server) = server_for_agents() else { return };
    let (sandbox, broker) = (Sandbox::new(), Broker::start(free_port(), &[]));
    let at_broker = format!("nats://127.0.0.1:{}", broker.port);
    let port = free_port();
    let at_port = format!("tcp://127.0.0.1:{port}");
    for (connect, agents) in
        [(&at_broker, format!("{at_broker}?agents=2")), (&at_port, format!("{at_port}?agents=2"))]
    {
        let waiting = [(); 2].map(|()| Agent::start(&sandbox, connect, &[]));
        let before = server.journal().requests;
        let mut child =
            fire(&sandbox, &server, &agents, "--rate 200 --for 60s").spawn().expect("it starts");
        eventually("no request", || server.journal().requests > before + 100);
        child.kill().expect("the signal");
        child.wait().expect("a child");
        eventually("a worker is left", || waiting.iter().all(|agent| agent.worker().is_none()));

        let before = server.journal().requests;
        let child =
            fire(&sandbox, &server, &agents, "--rate 200 --for 60s").spawn().expect("it starts");
        eventually("no request", || server.journal().requests > before + 300);
        kill_process(waiting[0].worker().expect("a worker"), Signal::KILL).expect("the signal");
        let output = child.wait_with_output().expect("its output");
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        assert_eq!(summary["verdict"], "invalid", "{summary:#}");
        let lost = summary["agents"]
            .as_array()
            .expect("agents")
            .iter()
            .filter(|one| !one["loss"].is_null());
        assert_eq!(lost.count(), 1, "{summary:#}");
        assert!(sum(&summary, "ok") > 200, "{summary:#}");
        eventually("a worker is left", || waiting.iter().all(|agent| agent.worker().is_none()));
    }
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

#[test]
fn agents_come_to_a_port() {
    let Some(server) = server_for_agents() else { return };
    let (sandbox, port) = (Sandbox::new(), free_port());
    let place = format!("tcp://127.0.0.1:{port}");
    let mut agents =
        [(); 2].map(|()| Agent::start(&sandbox, &place, &["--once", "--max-rate", "1000"]));
    let summary = summary(&sandbox, &server, &format!("{place}?agents=2"), "--rate 400 --for 1s");
    assert_eq!(summary["requests_ok"].as_u64(), Some(sum(&summary, "ok")), "{summary:#}");
    assert_eq!(sum(&summary, "expected"), sum(&summary, "planned"));
    for agent in &mut agents {
        assert!(agent.0.wait().expect("a child").success());
    }
    // What an agent's own flags forbid is refused.
    let _agents = [(); 2].map(|()| Agent::start(&sandbox, &place, &["--max-rate", "100"]));
    let output =
        finish(fire(&sandbox, &server, &format!("{place}?agents=2"), "--rate 400 --for 1s"), LIMIT);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(CODES || said.contains("its limit is 100"), "{said}");
}

#[test]
fn who_does_not_know_the_token_gets_nothing_done() {
    let Some(server) = server_for_agents() else { return };
    let (sandbox, port) = (Sandbox::new(), free_port());
    let place = format!("tcp://127.0.0.1:{port}");
    let no_broker = format!("nats://me:hidden@127.0.0.1:{}", free_port());
    let line = "--rate 100 --for 1s";
    let run = |agents: &str, token: Option<&str>| {
        let mut command = fire(&sandbox, &server, agents, line);
        match token {
            Some(token) => command.env("STAMPEDE_AGENT_TOKEN", token),
            None => command.env_remove("STAMPEDE_AGENT_TOKEN"),
        };
        let output = finish(command, LIMIT);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        stderr(&output)
    };
    let said = run(&no_broker, None);
    let is_said = said.contains("need a token") && said.contains("openssl rand -hex 16");
    assert!(CODES || is_said, "{said}");
    let said = run(&no_broker, Some("short"));
    assert!(CODES || said.contains("fewer than 16 letters"), "{said}");
    let said = run(&no_broker, Some(TOKEN));
    assert!(
        (CODES || said.contains("the NATS broker nats://***@127.0.0.1"))
            && !said.contains("hidden"),
        "{said}"
    );
    // Whoever waits for others can be ended.
    let agent = Agent::start(&sandbox, &place, &[]);
    let mut child = fire(&sandbox, &server, &format!("{place}?agents=2"), line);
    let mut child = child.spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(1));
    let begun = Instant::now();
    drop(agent);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    kill_process(Pid::from_child(&child), Signal::INT).expect("the signal");
    assert_eq!(child.wait().expect("a child").code(), Some(2));
    // A coordinator with another token: the agent does nothing for it.
    let agent = Agent::start(&sandbox, &place, &[]);
    let begun = Instant::now();
    let mut child = fire(&sandbox, &server, &format!("{place}?agents=1"), line);
    let child =
        child.env("STAMPEDE_AGENT_TOKEN", "another token altogether").spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(2));
    kill_process(Pid::from_child(&child), Signal::INT).expect("the signal");
    let output = child.wait_with_output().expect("its output");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(server.journal().requests, 0);
    drop(agent);
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}
