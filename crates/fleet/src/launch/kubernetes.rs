//! Agents as a Job of Kubernetes: one pod for each, all at once, none restarted.
//!
//! `kubectl` does what is to be done, with the user's own configuration. The token and the place where
//! agents wait travel in a Secret, by standard input.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use stampede_model::agent_places::{Job, MeetingKind};

use crate::meet::{CONNECT_VARIABLE, TOKEN_VARIABLE, Token};

/// Why the agents of a Job cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum KubernetesError {
    /// `kubectl` cannot be started.
    #[error("cannot run kubectl")]
    Kubectl(#[source] io::Error),
    /// `kubectl` failed.
    #[error("kubectl failed: {said}")]
    Failed {
        /// What it said last.
        said: String,
    },
}

impl KubernetesError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            KubernetesError::Kubectl(_) => "install kubectl on this machine",
            KubernetesError::Failed { .. } => {
                "`kubectl auth can-i create jobs` says whether you may; agents are started in the namespace of \
                 kubectl's current context"
            }
        }
    }
}

/// A Job that runs. Dropping it deletes it, with its pods and its Secret.
pub(crate) struct RunningJob {
    name: String,
    /// Options of `kubectl` that lead there, wherever its current context leads by then.
    place: Vec<String>,
}

impl RunningJob {
    /// Creates the Job and its Secret. `rules` are options of the agents. Does not wait for pods.
    pub(crate) fn create(
        job: &Job,
        token: &Token,
        rules: &[String],
    ) -> Result<RunningJob, KubernetesError> {
        let name = format!("stampede-agents-{}", &crate::meet::nonce()[..8]);
        let own = [&["--give-up-after".to_owned(), GIVE_UP_AFTER.to_owned()], rules].concat();
        let mut object = manifest(&name, job, &own);
        // It starts when its Secret is there. If we are killed before, it starts nothing.
        object["spec"]["suspend"] = json!(true);
        let context = kubectl(&["config", "current-context"], "")
            .ok()
            .filter(|output| output.status.success());
        let context =
            context.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let context = context.filter(|name| !name.is_empty());
        let place = context.map(|name| format!("--context={name}")).into_iter().collect();
        // Whatever fails from here on, what was created goes.
        let mut running = RunningJob { name, place };
        let created = running.kubectl(&["create", "-f", "-", "-o", "json"], &object)?;
        if let Some(namespace) = created["metadata"]["namespace"].as_str() {
            running.place.push(format!("--namespace={namespace}"));
        }
        let secret = secret(&created, job, token);
        running.kubectl(&["create", "-f", "-", "-o", "json"], &secret)?;
        let own = format!("job/{}", running.name);
        let start =
            ["patch", &own, "--type=merge", "-p", "{\"spec\":{\"suspend\":false}}", "-o", "json"];
        running.kubectl(&start, &Value::Null)?;
        Ok(running)
    }

    /// Its name, for whoever wants to look at it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Runs `kubectl`; returns the object that it prints.
    fn kubectl(&self, args: &[&str], input: &Value) -> Result<Value, KubernetesError> {
        let place = self.place.iter().map(String::as_str);
        let args: Vec<&str> = args.iter().copied().chain(place).collect();
        let input = if input.is_null() { String::new() } else { input.to_string() };
        let output = kubectl(&args, &input).map_err(KubernetesError::Kubectl)?;
        match output.status.success() {
            true => Ok(serde_json::from_slice(&output.stdout).unwrap_or_default()),
            false => Err(KubernetesError::Failed { said: last_line(&output.stderr) }),
        }
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        let job = format!("job/{}", self.name);
        let args = ["delete", &job, "--ignore-not-found", "--wait=false", "--cascade=background"];
        let _ = self.kubectl(&args, &Value::Null);
    }
}

fn kubectl(args: &[&str], input: &str) -> io::Result<Output> {
    let mut command = Command::new("kubectl");
    // The terminal's Ctrl-C is for us: what was created still has to be deleted.
    command.process_group(0);
    command.args(args).arg("--request-timeout=15s");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // It may end without reading, and says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output()
}

fn last_line(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let last = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    last.chars().filter(|letter| !letter.is_control()).take(500).collect()
}

/// What agents need to find their coordinator and to know it. It belongs to the Job, and goes with it,
/// also where we are killed.
fn secret(created: &Value, job: &Job, token: &Token) -> Value {
    let of = &created["metadata"];
    let owner =
        json!({"apiVersion": "batch/v1", "kind": "Job", "name": of["name"], "uid": of["uid"]});
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": of["name"], "labels": labels(), "ownerReferences": [owner]},
        "stringData": {"token": token.text(), "connect": connect(job)},
    })
}

/// Where the agents of a Job connect to.
fn connect(job: &Job) -> String {
    match job.meeting.kind {
        MeetingKind::Nats => job.meeting.address.clone(),
        MeetingKind::Tcp => format!("tcp://{}", job.meeting.address),
    }
}

/// A Job for people who start it themselves, and how to make the Secret that it needs. `rules` are
/// options of the agents.
pub fn manifest_text(job: &Job, rules: &[String]) -> String {
    let name = "stampede-agents";
    let object = manifest(name, job, rules);
    let yaml = serde_saphyr::to_string(&object).expect("an object can be written");
    let (meeting, agents) = (job.meeting.to_string(), job.agents);
    let meeting = meeting.replace("***", "USER:PASSWORD");
    format!(
        "# The agents' Secret, once:\n\
         #   openssl rand -hex 16 > token\n\
         #   kubectl create secret generic {name} --from-file=token --from-literal=connect='{meeting}'\n\
         # The load, when the pods run:\n\
         #   stampede fire URL --rate 1000 --for 60s --token-file token --agents '{meeting}?agents={agents}'\n\
         {yaml}"
    )
}

/// The Job of agents. Its Secret has the same name, and the keys `token` and `connect`.
fn manifest(name: &str, job: &Job, rules: &[String]) -> Value {
    let from_secret = |key: &str| json!({"secretKeyRef": {"name": name, "key": key}});
    let resources = json!({"cpu": CPUS, "memory": MEMORY});
    let args: Vec<&str> =
        ["agent", "--once"].into_iter().chain(rules.iter().map(String::as_str)).collect();
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels()},
        "spec": {
            "completionMode": "Indexed",
            "completions": job.agents,
            "parallelism": job.agents,
            // A pod that fails has made the load invalid: nothing is tried again.
            "backoffLimit": 0,
            "podFailurePolicy": {"rules": [
                {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]},
                {"action": "FailJob", "onExitCodes": {"containerName": "agent", "operator": "NotIn", "values": [0]}},
            ]},
            "activeDeadlineSeconds": LIFE_S,
            "ttlSecondsAfterFinished": KEPT_S,
            "template": {
                "metadata": {"labels": labels()},
                "spec": {
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": false,
                    "enableServiceLinks": false,
                    // Agents that share a machine share its limits.
                    "topologySpreadConstraints": [{
                        "maxSkew": 1,
                        "topologyKey": "kubernetes.io/hostname",
                        "whenUnsatisfiable": "ScheduleAnyway",
                        "labelSelector": {"matchLabels": labels()},
                    }],
                    "containers": [{
                        "name": "agent",
                        "image": job.image,
                        "command": ["stampede"],
                        "args": args,
                        "env": [
                            {"name": TOKEN_VARIABLE, "valueFrom": from_secret("token")},
                            {"name": CONNECT_VARIABLE, "valueFrom": from_secret("connect")},
                        ],
                        // Requests equal to limits: no neighbour takes what was promised.
                        "resources": {"requests": resources, "limits": resources},
                        "securityContext": {
                            "allowPrivilegeEscalation": false,
                            "capabilities": {"drop": ["ALL"]},
                        },
                    }],
                },
            },
        },
    })
}

fn labels() -> Value {
    json!({"app.kubernetes.io/name": "stampede-agent"})
}

/// What each agent gets: a load thread and the agent's own.
const CPUS: &str = "2";
const MEMORY: &str = "1Gi";
/// No Job lives longer, whatever happens to its coordinator: the longest load and some time around it.
const LIFE_S: u64 = 25 * 3_600;
/// An agent whose coordinator has gone before it came does not wait for another one.
const GIVE_UP_AFTER: &str = "3m";
/// How long a finished Job is kept, so that its logs can be read.
const KEPT_S: u64 = 600;
