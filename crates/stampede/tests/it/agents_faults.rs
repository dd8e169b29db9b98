//! Tests faults at random moments of loads that agents send: 100 at a broker, 40 behind ssh, 12 in
//! Kubernetes, 16 of comparisons. Whatever happens, the verdict is right, nothing goes on sending,
//! nothing is left, and a finished trial stays.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer, Listen};

use crate::agents::children;
use crate::agents_kubernetes::{self as kubernetes, Cluster};
use crate::agents_support::{
    HUB, Hosts, cannot_make_hosts, eventually, free_port, server_for_agents, sum, within,
};
use crate::agents_waiting::{Agent, Broker, fire, summary};
use crate::common::{Sandbox, fact, skipped, stderr, stdout};

/// How loads ended.
#[derive(Debug, Default)]
struct Endings {
    /// Before the fault, with every request.
    fine: usize,
    /// With an agent that was lost.
    invalid: usize,
    /// Before the first request.
    refused: usize,
    /// With the coordinator, whose fault it was.
    killed: usize,
}

impl Endings {
    /// # Panics
    /// If the load did not end as it should.
    fn add(&mut self, round: usize, output: &Output, is_coordinator_killed: bool) {
        let summary: Option<Value> = serde_json::from_str(&stdout(output)).ok();
        match (output.status.code(), summary) {
            (Some(0), Some(summary)) => {
                assert_eq!(
                    summary["requests_ok"], summary["requests_planned"],
                    "{round}: {summary:#}"
                );
                assert_eq!(summary["requests_ok"].as_u64(), Some(sum(&summary, "ok")), "{round}");
                self.fine += 1;
            }
            (Some(3), Some(summary)) => {
                assert_eq!(summary["verdict"], "invalid", "{round}: {summary:#}");
                let lost = fact(&summary["reasons"], "agent_lost");
                assert!(!lost.is_null(), "{round}: {summary:#}");
                self.invalid += 1;
            }
            (Some(2), None) => self.refused += 1,
            (None, _) if is_coordinator_killed => self.killed += 1,
            (code, summary) => panic!("{round}: {code:?} {summary:?} {}", stderr(output)),
        }
    }
}

/// # Panics
/// If requests come.
fn nobody_sends(server: &KnownServer, round: usize) {
    let before = server.journal().requests;
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(server.journal().requests, before, "{round}: somebody goes on sending");
}

fn signal(process: Option<Pid>, signal: Signal) {
    // It may have ended meanwhile.
    let _ = process.map(|process| kill_process(process, signal));
}

/// A worker that is killed or stands still, a broker that is killed, a coordinator that is killed. The
/// same agents serve the next coordinator.
#[test]
#[ignore = "long: 8 min, waits"]
fn a_hundred_faults_at_a_broker() {
    if skipped(&["nats-server"]) {
        return;
    }
    let Some(server) = server_for_agents() else { return };
    let (sandbox, mut broker) = (Sandbox::new(), Some(Broker::start(free_port(), &[])));
    let port = broker.as_ref().expect("a broker").port;
    let place = format!("nats://127.0.0.1:{port}");
    let agents = [(); 2].map(|()| Agent::start(&sandbox, &place, &[]));
    let both = format!("{place}?agents=2");
    let mut random = fastrand::Rng::with_seed(46);
    let mut endings = Endings::default();
    for round in 0..100 {
        let mut command = fire(&sandbox, &server, &both, "--rate 200 --for 1500ms --timeout 1s");
        let mut child = command.spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(random.u64(0..3_000)));
        let worker = agents[random.usize(0..2)].worker();
        match round % 4 {
            0 => signal(worker, Signal::KILL),
            1 => drop(broker.take()),
            2 => child.kill().expect("the signal"),
            _ => signal(worker, Signal::STOP),
        }
        let output = child.wait_with_output().expect("its output");
        if round % 4 == 3 {
            signal(worker, Signal::CONT);
        }
        endings.add(round, &output, round % 4 == 2);
        if broker.is_none() {
            broker = Some(Broker::start(port, &[]));
        }
        eventually("a worker is left", || agents.iter().all(|agent| agent.worker().is_none()));
        nobody_sends(&server, round);
    }
    println!("{endings:?}");
    let whole = summary(&sandbox, &server, &both, "--rate 200 --for 1s");
    assert_eq!(whole["requests_ok"], whole["requests_planned"], "{whole:#}");
    drop(agents);
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// Processes of the copied program on a host.
fn agents_on(hosts: &Hosts, number: usize) -> Vec<Pid> {
    let cache = hosts.cache(number);
    let is_copy = |pid: Pid| {
        let program = std::fs::read_link(format!("/proc/{}/exe", pid.as_raw_nonzero()));
        program.is_ok_and(|program| program.starts_with(&cache))
    };
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Pid::from_raw).filter(|pid| is_copy(*pid)).collect()
}

/// An agent that is killed or stands still, a cable that is pulled, a killed `ssh`, a killed
/// coordinator. Agents end by themselves, also those that nobody reaches.
#[test]
#[ignore = "long: 13 min, waits"]
fn forty_faults_behind_ssh() {
    if cannot_make_hosts() {
        return;
    }
    let (hosts, sandbox) = (Hosts::new(2), Sandbox::new());
    let endings = hosts.inside(|| faults_behind_ssh(&hosts, &sandbox));
    println!("{endings:?}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

fn faults_behind_ssh(hosts: &Hosts, sandbox: &Sandbox) -> Endings {
    let behaviour = Behaviour::answering(Answer::ok());
    let server = KnownServer::start_on(&Listen::TcpOn(HUB), behaviour).expect("a server");
    let mut random = fastrand::Rng::with_seed(4_646);
    let mut endings = Endings::default();
    let line = "--rate 200 --for 1500ms --timeout 1s";
    let start = || {
        let mut command = fire(sandbox, &server, "ssh:load1,load2", line);
        command.env("PATH", hosts.path()).spawn().expect("it starts")
    };
    for round in 0..40 {
        let mut child = start();
        std::thread::sleep(Duration::from_millis(random.u64(0..3_000)));
        let host = random.usize(1..=2);
        let agent = agents_on(hosts, host).pop();
        match round % 5 {
            0 => signal(agent, Signal::KILL),
            1 => hosts.cut(host),
            2 => child.kill().expect("the signal"),
            3 => signal(children(child.id()).pop(), Signal::KILL),
            _ => signal(agent, Signal::STOP),
        }
        let output = child.wait_with_output().expect("its output");
        if round % 5 == 4 {
            signal(agent, Signal::CONT);
        }
        endings.add(round, &output, round % 5 == 2);
        // Those that are cut off still are. One that did not send yet waits for `sshd`, which notices after
        // 15 s that nobody answers.
        within(Duration::from_secs(45), &format!("{round}: an agent is left"), || {
            [1, 2].iter().all(|host| agents_on(hosts, *host).is_empty())
        });
        nobody_sends(&server, round);
        if round % 5 == 1 {
            hosts.join(host);
        }
    }
    let output = start().wait_with_output().expect("its output");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    endings
}

/// A pod's process that is killed, a deleted pod, a deleted Job, a killed coordinator.
#[test]
#[ignore = "make test-kubernetes builds its cluster"]
fn twelve_faults_in_kubernetes() {
    let Some(server) = server_for_agents() else { return };
    let (cluster, sandbox) = (Cluster::start(), Sandbox::new());
    let mut random = fastrand::Rng::with_seed(464);
    let mut endings = Endings::default();
    for round in 0..12 {
        let agents = format!("kubernetes:2?image=stampede&meet=tcp://127.0.0.1:{}", free_port());
        let line = format!("--rate 200 --for 3s --timeout 1s --agents {agents}");
        let mut child =
            kubernetes::fire(&cluster, &sandbox, &server, &line).spawn().expect("it starts");
        let before = server.journal().requests;
        eventually("no request", || server.journal().requests > before);
        std::thread::sleep(Duration::from_millis(random.u64(0..3_000)));
        match round % 4 {
            0 => signal(kubernetes::agents_in(&cluster).pop(), Signal::KILL),
            1 => delete(&cluster, "pods"),
            2 => child.kill().expect("the signal"),
            _ => delete(&cluster, "jobs"),
        }
        let output = child.wait_with_output().expect("its output");
        endings.add(round, &output, round % 4 == 2);
        eventually("an agent is left", || kubernetes::agents_in(&cluster).is_empty());
        nobody_sends(&server, round);
        if round % 4 == 2 {
            // Nobody is left who deletes them at once; Kubernetes does after ten minutes.
            cluster.kubectl(&["delete", "jobs,secrets", "--all"]);
        }
        eventually("objects are left", || cluster.objects().is_empty());
    }
    println!("{endings:?}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// Deletes the first of this kind, if there still is one.
fn delete(cluster: &Cluster, kind: &str) {
    if let Some(one) = cluster.get(kind).first() {
        let name = one["metadata"]["name"].as_str().expect("a name");
        cluster.kubectl(&["delete", kind, name, "--ignore-not-found", "--wait=false"]);
    }
}

/// Counts and verdict of each trial that is written in a run.
fn finished_trials(run: &Path) -> BTreeMap<String, (Value, Value)> {
    let trials = std::fs::read_dir(run.join("trials")).into_iter().flatten().flatten();
    let read = |path: &Path| {
        let text = std::fs::read(path.join("trial.json")).ok()?;
        let trial: Value = serde_json::from_slice(&text).ok()?;
        Some((trial["load"]["counts"].clone(), trial["verdict"].clone()))
    };
    let named = trials.filter_map(|entry| {
        Some((entry.file_name().to_string_lossy().into_owned(), read(&entry.path())?))
    });
    named.collect()
}

/// The agents that a stampede started here.
fn own_agents(stampede: u32) -> Vec<Pid> {
    let is_agent = |pid: &Pid| {
        let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero()));
        line.is_ok_and(|line| line.split(|byte| *byte == 0).any(|word| word == b"agent"))
    };
    children(stampede).into_iter().filter(is_agent).collect()
}

/// An agent that is killed or stands still, Ctrl-C, a killed coordinator: what was measured before
/// stays as it was, what is measured after a lost agent is measured with new ones, and the run can
/// be read.
#[test]
#[ignore = "long: 4 min, waits"]
fn sixteen_faults_of_comparisons_lose_no_finished_trial() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let mut random = fastrand::Rng::with_seed(46_464);
    let (mut kept, mut lost, mut measured_after) = (0, 0, 0);
    for round in 0..16 {
        let out = format!("run{round}");
        let line = format!(
            "compare --app hello --runtimes php-builtin --rate 80 --for 1s --warm-up 200ms \
             --rounds 5 --repeat-invalid 0 --agents local:2 --out {out}"
        );
        let args: Vec<&str> = line.split_whitespace().collect();
        let mut child = sandbox.stampede(&args).spawn().expect("it starts");
        let run = sandbox.path().join(&out);
        eventually("no trial", || !finished_trials(&run).is_empty());
        std::thread::sleep(Duration::from_millis(random.u64(0..5_000)));
        let agent = own_agents(child.id()).pop();
        let before = finished_trials(&run);
        match round % 4 {
            0 => signal(agent, Signal::KILL),
            1 => signal(agent, Signal::STOP),
            2 => signal(Some(Pid::from_child(&child)), Signal::INT),
            _ => child.kill().expect("the signal"),
        }
        let output = child.wait_with_output().expect("its output");
        if round % 4 == 1 {
            signal(agent, Signal::CONT);
        }
        let after = finished_trials(&run);
        for (name, trial) in &before {
            assert_eq!(after.get(name), Some(trial), "{round}: {name}: {}", stderr(&output));
        }
        let has_lost_one =
            |(_, verdict): &&(Value, Value)| !fact(&verdict["reasons"], "agent_lost").is_null();
        let of_fault = after.values().filter(has_lost_one).count();
        if round % 4 < 2 {
            assert_eq!(after.len(), 5, "{round}: {}", stderr(&output));
            assert!(of_fault <= 1, "{round}: {after:#?}");
            measured_after += usize::from(after.len() > before.len() + 1);
        }
        kept += before.len();
        lost += of_fault;
        let report = sandbox.stampede(&["report", &out]).output().expect("it starts");
        let text = stdout(&report);
        assert!(text.contains("php-builtin"), "{round}: {text}{}", stderr(&report));
        eventually("something is left", || sandbox.left_behind().is_empty());
    }
    println!("{kept} kept, {lost} lost with an agent, {measured_after} went on");
    assert!(kept > 16 && lost > 0 && measured_after > 0);
}
