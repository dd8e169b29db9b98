//! The record of a run: `run.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CaseRecord, Expectations, FORMAT, Fact, Look, Notice};

/// The record `run.json`. It is written before the first trial, and again whenever `order` grows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    /// Format of the record: `FORMAT`.
    pub format: u32,
    /// Id of the run, which is the name of its directory.
    pub id: String,
    /// Version of stampede.
    pub stampede: String,
    /// Start of the run in RFC 3339, local time with offset.
    pub started_at: String,
    /// The plan's text as it was written.
    pub plan_text: String,
    /// Flags that changed the plan.
    pub flags: Vec<String>,
    /// The whole command, where it is another one than `stampede compare`; empty: it is that one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    /// Seed of the order of trials.
    pub seed: u64,
    /// Planned rounds. With `rounds: auto`, those up to the next check.
    pub rounds: u32,
    /// Limits and results of `rounds: auto`; `None`: the plan gives the number of rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto: Option<AutoRecord>,
    /// Name of the row that the others are compared with. It was chosen before the first trial.
    /// `None`: the first row of each load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// The row that shows the machine's mood in a history of runs. `None`: the plan names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<ControlRecord>,
    /// The peak from which a fixed rate was chosen before the first trial; `None`: the plan gives
    /// its rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<PeakRecord>,
    /// How many loads a start of a runtime serves.
    #[serde(default, skip_serializing_if = "Starts::is_per_load")]
    pub starts: Starts,
    /// Every case, in the plan's order.
    #[serde(alias = "cells")]
    pub cases: Vec<CaseRecord>,
    /// Case indices in the order of trials, one list per round. A case with an invalid trial may
    /// appear again at the end of its round.
    pub order: Vec<Vec<usize>>,
    /// Expectations of the run and of single loads.
    #[serde(flatten)]
    pub expect: Expectations,
    /// The machine, as `doctor` describes it.
    pub machine: Value,
    /// Decisions for all cases that the reader should know, such as keep-alive off.
    pub notices: Vec<Fact<Notice>>,
    /// The published tables that the run is set beside; `None`: the plan names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<PublishedRecord>,
    /// The other version of the apps, which is measured in the same rounds; `None`: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<AgainstRecord>,
    /// Where the app's working tree stood in its git repository. With several apps, that of the first
    /// one that is in a repository. `None`: none is, or an earlier stampede wrote this record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_tree: Option<WorkingTreeRecord>,
}

/// A working tree of git.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkingTreeRecord {
    /// Full id of the commit that it is based on. What differs from it is known only beside another
    /// version, [`AgainstRecord::changed`]: git needs a second to find it in a large tree.
    pub commit: String,
}

/// How many loads a start of a runtime serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Starts {
    /// One: each load finds a freshly started runtime.
    #[default]
    PerLoad,
    /// All loads of the round, one after the other in the plan's order.
    PerRound,
}

impl Starts {
    /// Whether each load has a start of its own.
    pub fn is_per_load(&self) -> bool {
        *self == Starts::PerLoad
    }
}

/// A file of published tables, as it was when the run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedRecord {
    /// The file's name.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// A row that is the same in each run: what changes it is the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlRecord {
    /// Name of the row: the runtime's or the variant's.
    pub runtime: String,
    /// Name of its app. `None`: every app of the run, each with this runtime.
    pub app: Option<String>,
}

/// Another version of the plan's apps. Its cases have the names of the working tree's, followed by
/// ` @main`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgainstRecord {
    /// Label after the runtimes' names: `@main`.
    pub label: String,
    /// The revision as given.
    pub rev: String,
    /// Full id of its commit. With several apps, that of the first app.
    pub commit: String,
    /// Short id of the commit that the working tree is based on; empty: there is none.
    pub head: String,
    /// Number of files in the working tree that differ from that commit.
    pub changed: u32,
    /// Files that git does not have. Both versions use the working tree's.
    pub brought: Vec<String>,
    /// Command that was run in the other version's copy; empty: none.
    pub prepare: String,
    /// Whether the other version was measured twice in each round: an A/A comparison, whose
    /// differences are noise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub twice: bool,
}

/// What follows the label in names of the second measurement.
const AGAIN: &str = " again";

impl AgainstRecord {
    /// Returns the name that a runtime has with the other version.
    pub fn name_of(&self, runtime: &str) -> String {
        format!("{runtime} {}", self.label)
    }

    /// Returns the name that a runtime has with the other version when it is measured a second time.
    pub fn name_of_again(&self, runtime: &str) -> String {
        self.name_of(runtime) + AGAIN
    }

    /// Returns the runtime if `name` belongs to the other version; `None`: it belongs to the
    /// working tree.
    pub fn version_of<'a>(&self, name: &'a str) -> Option<&'a str> {
        let name = if self.twice { name.strip_suffix(AGAIN).unwrap_or(name) } else { name };
        name.strip_suffix(self.label.as_str())?.strip_suffix(' ')
    }

    /// Returns the runtime if `name` belongs to the second measurement of the other version.
    pub fn again_of<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_suffix(AGAIN).filter(|_| self.twice).and_then(|name| self.version_of(name))
    }
}

impl RunRecord {
    /// The record of a run of one round that asks for nothing and has no case yet. `id` is the name
    /// of its directory, `started_at` a time in RFC 3339.
    pub fn empty(id: String, stampede: String, started_at: String) -> RunRecord {
        RunRecord {
            format: FORMAT,
            id,
            stampede,
            started_at,
            plan_text: String::new(),
            flags: Vec::new(),
            command: String::new(),
            seed: 0,
            rounds: 1,
            auto: None,
            baseline: None,
            control: None,
            peak: None,
            starts: Starts::PerLoad,
            cases: Vec::new(),
            order: Vec::new(),
            expect: Expectations::default(),
            machine: Value::Null,
            notices: Vec::new(),
            published: None,
            against: None,
            working_tree: None,
        }
    }

    /// Whether the flag `--name` was given.
    pub fn has_flag(&self, name: &str) -> bool {
        let is_it = |flag: &String| {
            flag.split(' ').next().and_then(|first| first.strip_prefix("--")) == Some(name)
        };
        self.flags.iter().any(is_it)
    }

    /// Returns one kind of name of its cases, each once, in the plan's order.
    pub fn names_of(&self, name: fn(&CaseRecord) -> &String) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for case in &self.cases {
            if !names.contains(name(case)) {
                names.push(name(case).clone());
            }
        }
        names
    }

    /// Number of trials in the plan.
    pub fn trials(&self) -> usize {
        self.order.iter().map(Vec::len).sum()
    }

    /// Whether a run with `ended` ended trials is complete.
    pub fn is_whole(&self, ended: usize) -> bool {
        let is_over = self.auto.as_ref().is_none_or(|auto| auto.ended.is_some());
        is_over && ended >= self.trials()
    }
}

/// The peak of the baseline, and the rates that are a share of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeakRecord {
    /// Runtime that has this peak.
    pub runtime: String,
    /// Correct answers per second under the closed load.
    pub throughput_per_second: f64,
    /// Duration of the closed load.
    pub length_ns: u64,
    /// The rates that were chosen from the peak.
    pub rates: Vec<PeakRate>,
}

/// A rate that was chosen from the peak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeakRate {
    /// Name of its load.
    pub load: String,
    /// The rate ÷ the peak, as given.
    pub share: f64,
    /// Requests per second, rounded to two digits.
    pub rate_per_second: f64,
}

/// The record of `rounds: auto`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AutoRecord {
    /// An interval is narrow if it is narrower than this share of its value.
    pub precision_share: f64,
    /// No round begins that would end later than this after the start of the run.
    pub max_time_ns: u64,
    /// What each check found.
    pub looks: Vec<AutoCheckRecord>,
    /// The limit that ended the rounds; `None`: they have not ended.
    pub ended: Option<AutoEnd>,
}

/// One check of `rounds: auto`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AutoCheckRecord {
    /// Number of rounds before the check.
    pub rounds: u32,
    /// Why the rounds went on or stopped.
    #[serde(alias = "said")]
    pub found: Fact<Look>,
}

/// Why `rounds: auto` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AutoEnd {
    /// Every interval is narrow.
    Precision,
    /// The next round would have ended too late.
    MaxTime,
    /// Twenty rounds were done.
    Rounds,
}
