//! Tests agents as a Job of Kubernetes, in a real control plane whose node runs pods as processes.
//! `make test-kubernetes` builds it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use stampede_known_server::KnownServer;

use crate::agents_support::{
    eventually, free_port, path_with, server_for_agents, sum, write_program,
};
use crate::agents_waiting::Broker;
use crate::common::{Sandbox, finish, skipped, stderr, stdout};

const LIMIT: Duration = Duration::from_secs(120);

/// A cluster with one node. It ends with this value.
pub struct Cluster {
    directory: tempfile::TempDir,
    process: Child,
}

impl Cluster {
    pub fn start() -> Cluster {
        let program =
            PathBuf::from(std::env::var_os("STAMPEDE_TEST_CLUSTER").expect("make test-kubernetes"));
        let directory = tempfile::tempdir().expect("a directory");
        let bin = directory.path().join("bin");
        write_program(
            &bin.join("kubectl"),
            &format!("#!/bin/sh\nexec {} kubectl \"$@\"\n", program.display()),
        );
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_stampede"), bin.join("stampede"))
            .expect("a link");
        let mut command = Command::new(&program);
        command.arg("run").arg(directory.path()).env("PATH", path_with(&bin));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut cluster = Cluster { process: command.spawn().expect("the cluster"), directory };
        let mut line = String::new();
        let output = cluster.process.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        assert_eq!(line, "ready\n", "{}", cluster.logs());
        eventually("the node is not ready", || {
            let nodes = cluster.get("nodes");
            nodes.first().is_some_and(|node| node["spec"]["taints"].is_null())
        });
        cluster
    }

    fn logs(&self) -> String {
        let logs = std::fs::read_dir(self.directory.path()).expect("logs").flatten();
        let logs = logs.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "log"));
        let last = |path: PathBuf| {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let tail: Vec<&str> = text.lines().rev().take(5).collect();
            format!("{}:\n{}\n", path.display(), tail.join("\n"))
        };
        logs.map(|entry| last(entry.path())).collect()
    }

    fn prepare<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("PATH", path_with(&self.directory.path().join("bin")));
        command.env("KUBECONFIG", self.directory.path().join("kubeconfig"))
    }

    pub fn kubectl(&self, args: &[&str]) -> String {
        let mut command = Command::new(self.directory.path().join("bin/kubectl"));
        let output = self.prepare(&mut command).args(args).output().expect("kubectl");
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output)
    }

    pub fn get(&self, kind: &str) -> Vec<Value> {
        let list: Value =
            serde_json::from_str(&self.kubectl(&["get", kind, "-o", "json"])).expect("JSON");
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Objects of Jobs that are there.
    pub fn objects(&self) -> Vec<String> {
        let kinds = ["jobs", "pods", "secrets"];
        let of = |kind: &str| -> Vec<String> {
            let names = self.get(kind).into_iter().map(|one| one["metadata"]["name"].to_string());
            names.map(|name| format!("{kind}/{name}")).collect()
        };
        kinds.into_iter().flat_map(of).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

pub fn fire(cluster: &Cluster, sandbox: &Sandbox, server: &KnownServer, line: &str) -> Command {
    let url = format!("http://{}/", server.address());
    let args: Vec<&str> =
        ["fire", &url, "--json"].into_iter().chain(line.split_whitespace()).collect();
    let mut command = sandbox.stampede(&args);
    cluster.prepare(&mut command);
    command
}

/// Processes that do the orders of agents in pods.
pub fn agents_in(cluster: &Cluster) -> Vec<Pid> {
    let own = cluster.directory.path().join("bin");
    let of = |entry: std::fs::DirEntry| {
        let environ = std::fs::read(entry.path().join("environ")).ok()?;
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        let is_agent = String::from_utf8_lossy(&command).contains("\0agent\0--once");
        let is_own = contains(&environ, &own);
        let pid = entry.file_name().to_string_lossy().parse().ok()?;
        (is_agent && is_own).then(|| Pid::from_raw(pid)).flatten()
    };
    std::fs::read_dir("/proc").expect("/proc").flatten().filter_map(of).collect()
}

fn contains(bytes: &[u8], path: &Path) -> bool {
    String::from_utf8_lossy(bytes).contains(&path.display().to_string())
}

#[test]
#[ignore = "make test-kubernetes builds its cluster"]
fn agents_are_a_job_that_is_gone_afterwards() {
    let Some(server) = server_for_agents() else { return };
    let (cluster, sandbox) = (Cluster::start(), Sandbox::new());
    let agents = format!("kubernetes:3?image=stampede&meet=tcp://127.0.0.1:{}", free_port());
    let line = format!("--rate 300 --for 6s --agents {agents}");
    let child = fire(&cluster, &sandbox, &server, &line).spawn().expect("it starts");
    eventually("no request", || server.journal().requests > 100);
    let (pods, jobs) = (cluster.get("pods"), cluster.get("jobs"));
    let mut indices: Vec<&str> = pods
        .iter()
        .filter_map(|pod| {
            pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"].as_str()
        })
        .collect();
    indices.sort_unstable();
    assert_eq!(indices, ["0", "1", "2"], "{pods:#?}");
    for pod in &pods {
        let resources = &pod["spec"]["containers"][0]["resources"];
        assert_eq!(resources["limits"], resources["requests"]);
        assert_eq!(pod["status"]["qosClass"], "Guaranteed");
    }
    let job = &jobs[0]["spec"];
    let numbers = ["completions", "parallelism", "backoffLimit", "ttlSecondsAfterFinished"];
    assert_eq!(numbers.map(|field| job[field].as_u64()), [Some(3), Some(3), Some(0), Some(600)]);
    assert!(job["activeDeadlineSeconds"].as_u64().is_some_and(|most| most > 6), "{job:#}");
    assert_eq!(job["completionMode"], "Indexed");
    assert_eq!(job["podFailurePolicy"]["rules"][0]["action"], "FailJob", "{job:#}");
    assert_eq!(job["template"]["spec"]["restartPolicy"], "Never");
    let output = child.wait_with_output().expect("its output");
    let summary: Value =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert_eq!(summary["requests_ok"].as_u64(), Some(sum(&summary, "ok")), "{summary:#}");
    assert_eq!(sum(&summary, "expected"), sum(&summary, "planned"), "{summary:#}");
    eventually("objects are left", || cluster.objects().is_empty());
    eventually("agents are left", || agents_in(&cluster).is_empty());

    // A coordinator that is killed: its pods end, and their Job is complete.
    let mut child = fire(&cluster, &sandbox, &server, &line).spawn().expect("it starts");
    let before = server.journal().requests;
    eventually("no request", || server.journal().requests > before + 100);
    child.kill().expect("the signal");
    child.wait().expect("a child");
    eventually("agents are left", || agents_in(&cluster).is_empty());
    eventually("the Job goes on", || {
        cluster.get("jobs").iter().all(|job| job["status"]["succeeded"] == 3)
    });
}

/// Pods and coordinator meet at a broker. The pods get the user that stands in its URL.
#[test]
#[ignore = "make test-kubernetes builds its cluster"]
fn pods_meet_at_a_broker() {
    if skipped(&["nats-server"]) {
        return;
    }
    let Some(server) = server_for_agents() else { return };
    let (cluster, sandbox) = (Cluster::start(), Sandbox::new());
    let broker = Broker::start(free_port(), &["--user", "me", "--pass", "hidden"]);
    let meet = format!("nats://me:hidden@127.0.0.1:{}", broker.port);
    let line = format!("--rate 300 --for 2s --agents kubernetes:2?image=stampede&meet={meet}");
    let output = finish(fire(&cluster, &sandbox, &server, &line), LIMIT);
    let (text, said) = (stdout(&output), stderr(&output));
    let summary: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{said}"));
    assert_eq!(sum(&summary, "expected"), sum(&summary, "ok"), "{summary:#}");
    assert!(!text.contains("hidden") && !said.contains("hidden"), "{text} {said}");
    eventually("objects are left", || cluster.objects().is_empty());
    eventually("agents are left", || agents_in(&cluster).is_empty());
}

/// The printed Job does the same, and fails with its first pod.
#[test]
#[ignore = "make test-kubernetes builds its cluster"]
fn a_printed_job_fails_with_its_first_pod() {
    let Some(server) = server_for_agents() else { return };
    let (cluster, sandbox) = (Cluster::start(), Sandbox::new());
    let place = format!("tcp://127.0.0.1:{}", free_port());
    let job = format!("kubernetes:2?image=stampede&meet={place}");
    let manifest = finish(sandbox.stampede(&["agent", "--manifest", &job]), LIMIT);
    sandbox.write("job.yaml", &stdout(&manifest));
    sandbox.write("token", "a token for tests only");
    let path = |name: &str| sandbox.path().join(name).display().to_string();
    let from_file = format!("--from-file=token={}", path("token"));
    let connect = format!("--from-literal=connect={place}");
    cluster.kubectl(&["create", "secret", "generic", "stampede-agents", &from_file, &connect]);
    cluster.kubectl(&["apply", "-f", &path("job.yaml")]);
    let line = format!("--rate 200 --for 60s --token-file token --agents {place}?agents=2");
    let child = fire(&cluster, &sandbox, &server, &line).spawn().expect("it starts");
    eventually("no request", || server.journal().requests > 100);
    kill_process(agents_in(&cluster)[0], Signal::KILL).expect("the signal");
    let output = child.wait_with_output().expect("its output");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(summary["verdict"], "invalid", "{summary:#}");
    eventually("the Job has not failed", || {
        let jobs = cluster.get("jobs");
        let conditions = jobs[0]["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["type"] == "Failed" && one["reason"] == "PodFailurePolicy")
    });
    eventually("agents are left", || agents_in(&cluster).is_empty());
}

/// 40 pods of 2 CPUs do not fit on a node of 64.
#[test]
#[ignore = "make test-kubernetes builds its cluster"]
fn pods_that_do_not_come_are_an_error_and_everything_is_deleted() {
    let Some(server) = server_for_agents() else { return };
    let (cluster, sandbox) = (Cluster::start(), Sandbox::new());
    let agents = format!("kubernetes:40?image=stampede&meet=tcp://127.0.0.1:{}", free_port());
    let line = format!("-c 64 --for 1s --agents {agents}");
    let begun = Instant::now();
    let output = finish(fire(&cluster, &sandbox, &server, &line), LIMIT);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("32 of 40 agents") && said.contains("kubectl get pods"), "{said}");
    assert!(begun.elapsed() > Duration::from_secs(50), "{said}");
    eventually("objects are left", || cluster.objects().is_empty());
    eventually("agents are left", || agents_in(&cluster).is_empty());
    // And where there is no cluster at all.
    let mut command = fire(&cluster, &sandbox, &server, &line);
    command.env("KUBECONFIG", "/nowhere");
    let output = finish(command, LIMIT);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("kubectl failed"), "{}", stderr(&output));
}
