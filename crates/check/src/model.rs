//! The data of `check.json`, which `stampede check --json` prints too. The format is described in
//! `docs/check.schema.json`.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use stampede_model::fact::{Fact, NotSent};
use stampede_php::CodeScan;

use super::kinds::FindingKind;
use super::signs::Signs;
use super::subject::Subject;

/// Version of the format; it increases when a field changes its meaning.
pub const FORMAT: u32 = 2;

/// A whole check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// Version of this format.
    pub format: u32,
    /// Version of stampede.
    pub stampede: String,
    /// The check's id: its directory's name.
    pub name: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// The flags that ask for the same again, a word each; of what only a person has (a password, a
    /// variable's value) the name alone. Since format 2.
    #[serde(default)]
    pub asked: Vec<String>,
    /// The app's directory, or its name in the catalogue, as it was asked for.
    pub app: String,
    /// What the app is: callable, symfony …
    pub kind: String,
    /// The runtime that forgets, with which the others were compared.
    pub reference: String,
    /// Seed of the shuffled pass, of the users' tokens and of the interleaving.
    pub seed: u64,
    /// What was tried: without a finding it is no proof.
    pub tried: Coverage,
    /// What was not asked, and why.
    pub skipped: Vec<SkippedRequest>,
    /// Each runtime, in the order in which they were named.
    pub runtimes: Vec<RuntimeResult>,
    /// What the app's code says, whether or not a run has shown it.
    pub code: CodeScan,
    /// Whether it was ended early, by Ctrl-C.
    pub interrupted: bool,
}

impl CheckReport {
    /// Reads a check from its JSON. If findings have their subject as text only, it is parsed.
    ///
    /// # Errors
    /// The JSON is no check.
    pub fn read(report: Value) -> serde_json::Result<CheckReport> {
        serde_json::from_value(with_subjects(report))
    }
}

/// Adds subjects to findings that have them as text only.
fn with_subjects(mut report: Value) -> Value {
    let runtimes = report.get_mut("runtimes").and_then(Value::as_array_mut).into_iter().flatten();
    let findings = runtimes.filter_map(|one| one.get_mut("findings")?.as_array_mut()).flatten();
    for finding in findings.filter(|one| one.get("subject").is_none()) {
        let kind = finding.get("kind").cloned().map(serde_json::from_value);
        let about = finding.get("about").and_then(Value::as_str);
        if let (Some(Ok(kind)), Some(about)) = (kind, about)
            && let Ok(subject) = serde_json::to_value(Subject::of_text(kind, about))
        {
            finding["subject"] = subject;
        }
    }
    report
}

/// What was tried, of all runtimes together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Different requests, as in their list.
    pub requests: u64,
    /// How often one of them was sent, to the reference too, that of growth apart.
    pub sent: u64,
    /// The passes: each a fresh start and an order of its own.
    #[serde(alias = "tours")]
    pub passes: Vec<String>,
    /// Users that asked in turn, each with cookies, a session and a language of their own.
    pub users: u32,
    /// Requests with which growth was measured.
    pub growth_requests: u64,
    /// How long it took, in s.
    pub seconds: f64,
}

/// A request that is not sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedRequest {
    /// Method and target.
    pub request: String,
    /// Why.
    pub why: Fact<NotSent>,
}

impl fmt::Display for SkippedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.request, self.why)
    }
}

/// A runtime, and what was found there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeResult {
    /// Its name.
    pub runtime: String,
    /// The answer.
    pub verdict: Verdict,
    /// What was found, the worst first.
    pub findings: Vec<Finding>,
    /// What grew, or did not.
    pub growth: Vec<Growth>,
    /// Workers that ended unasked.
    pub workers_lost: u64,
    /// Passes that its workers were asked in.
    #[serde(default, alias = "tours")]
    pub passes: u32,
    /// Requests that its workers were sent by the passes.
    pub sent: u64,
    /// Requests with which growth was measured, and looked for in parts of the list.
    pub growth_sent: u64,
    /// Differences that were seen once and by no fresh start again: taken for chance.
    pub not_again: u32,
    /// Answers that were too long to be compared to their end. Only another user's tokens were looked
    /// for in what was left.
    #[serde(default)]
    pub not_compared: u32,
    /// Why it was not checked, or not to its end.
    pub problem: Option<String>,
}

/// Whether an app can move into a runtime's workers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing was found.
    Safe,
    /// It only grows: its workers have to be replaced in time.
    SafeWith {
        /// After so many requests.
        max_requests: u64,
    },
    /// Something was found that no recycling fixes.
    NotSafe,
    /// It could not be checked.
    NotChecked,
}

/// Something that a worker does and the reference does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Its number in the check, from 1: `stampede check --finding N`.
    pub number: u32,
    /// Its kind.
    pub kind: FindingKind,
    /// What it is about: a request, `locale`, `App\\Cart::$user`.
    pub about: String,
    /// The same as data. Since format 2; of a check without it it is read out of `about`.
    pub subject: Subject,
    /// What was seen, in one sentence.
    pub what: String,
    /// The evidence: a difference line by line, a log's last words.
    pub evidence: String,
    /// The fewest requests that show it, sent to a fresh worker; the last one shows it.
    pub steps: Vec<Step>,
    /// Whether these steps have shown it again on a fresh worker.
    pub is_repeatable: bool,
    /// Lines of the app's code that fit.
    pub places: Vec<CodeLocation>,
    /// Runtime, kind, and what it is about: the same for the same thing in another check.
    pub fingerprint: String,
    /// What tells it from another finding about the same thing, whoever asks and whatever moves. A
    /// baseline accepts it where it has all of them. Since format 2.
    #[serde(default)]
    pub signs: Signs,
    /// Whether the baseline has it: it counts neither for the verdict nor for the exit code.
    pub is_accepted: bool,
}

/// A request of a user, sent to a worker.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The user, from 0.
    pub user: u32,
    /// The request.
    pub request: Arc<CheckRequest>,
    /// Whether the step after it is sent at the same moment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_next: bool,
}

/// A request as it is asked for, before a user's own headers come to it.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct CheckRequest {
    /// GET, HEAD …
    pub method: String,
    /// Path and query. `{user}` in it, in a header or in the body stands for the user's token.
    pub target: String,
    /// Name and value; none of `Host`, `Connection` and `Content-Length`.
    pub headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
}

/// A line of the app's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeLocation {
    /// From the app's directory.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// What is there.
    pub what: String,
    /// Whether what was seen names it; else it is only of a kind that could do it.
    #[serde(default)]
    pub is_named: bool,
}

/// How something grew over thousands of requests to one worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Growth {
    /// What.
    pub of: GrowthOf,
    /// Requests over which it was measured.
    pub requests: u64,
    /// At the begin, after the first requests: bytes, or a number.
    pub begin: f64,
    /// At the end.
    pub end: f64,
    /// Per request: bytes, or a number.
    pub per_request: f64,
    /// Lower end of its 95 % interval.
    pub per_request_low: f64,
    /// Upper end.
    pub per_request_high: f64,
    /// Whether it grows: the interval lies above what is noise.
    pub grows: bool,
    /// After how many requests a worker has to be replaced, where it grows.
    pub max_requests: Option<u64>,
}

/// What may grow.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthOf {
    /// PHP's own memory, in bytes.
    Heap,
    /// The worker's memory as the kernel counts it, in bytes.
    Memory,
    /// Open file descriptors, those of connections among them.
    Descriptors,
    /// Connections to databases that the app's objects hold.
    Connections,
    /// Files in the directory for temporary ones.
    TemporaryFiles,
    /// What the app's own code keeps: elements of all arrays, and letters.
    Entries,
}
