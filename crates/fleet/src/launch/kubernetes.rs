//! Agents as a Job of Kubernetes: one pod for each, all at once, none restarted.
//!
//! `kubectl` does what is to be done, with the user's own configuration. The token and the place where
//! agents wait travel in a Secret, by standard input.

use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use stampede_model::agent_places::{Job, MeetingKind};

use crate::meet::{TOKEN_VARIABLE, Token};

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
}

impl RunningJob {
    /// Creates the Job and its Secret. Does not wait for pods.
    pub(crate) fn create(job: &Job, token: &Token) -> Result<RunningJob, KubernetesError> {
        let name = format!("stampede-agents-{}", &crate::meet::nonce()[..8]);
        let created = create(&manifest(&name, job))?;
        // Goes again if its Secret is refused. Until that is there, its pods wait.
        let running = RunningJob { name };
        create(&secret(&created, job, token))?;
        Ok(running)
    }

    /// Its name, for whoever wants to look at it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        let job = format!("job/{}", self.name);
        let options = ["--ignore-not-found", "--wait=false", "--cascade=background"];
        let _ = kubectl(&[&["delete", &job], &options[..]].concat(), "");
    }
}

/// Creates an object; returns it as it is there.
fn create(object: &Value) -> Result<Value, KubernetesError> {
    let output = kubectl(&["create", "-f", "-", "-o", "json"], &object.to_string())
        .map_err(KubernetesError::Kubectl)?;
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).unwrap_or_default()),
        false => Err(KubernetesError::Failed { said: last_line(&output.stderr) }),
    }
}

fn kubectl(args: &[&str], input: &str) -> io::Result<Output> {
    let mut command = Command::new("kubectl");
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

/// A Job for people who start it themselves, and how to make the Secret that it needs.
pub fn manifest_text(job: &Job) -> String {
    let name = "stampede-agents";
    let yaml = serde_saphyr::to_string(&manifest(name, job)).expect("an object can be written");
    let (meeting, agents) = (&job.meeting, job.agents);
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
fn manifest(name: &str, job: &Job) -> Value {
    let from_secret = |key: &str| json!({"secretKeyRef": {"name": name, "key": key}});
    let resources = json!({"cpu": CPUS, "memory": MEMORY});
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
                        "args": ["agent", "--once", "--connect", "$(STAMPEDE_CONNECT)"],
                        "env": [
                            {"name": TOKEN_VARIABLE, "valueFrom": from_secret("token")},
                            {"name": "STAMPEDE_CONNECT", "valueFrom": from_secret("connect")},
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
/// How long a finished Job is kept, so that its logs can be read.
const KEPT_S: u64 = 600;
