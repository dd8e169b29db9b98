//! What each agent of a load did, over the trials of a case.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::agents::AgentRecord;
use stampede_model::record::{LoadRecord, Validity};

use super::model::TrialSummary;

/// What an agent did in one trial, or in all trials of a case that count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentFigures {
    /// How the user named it.
    pub name: String,
    /// Requests that were due.
    pub planned: u64,
    /// Correct answers.
    pub ok: u64,
    /// Requests without a correct answer.
    pub failed: u64,
    /// Requests that were due and never started.
    pub dropped: u64,
    /// Median service time of its correct answers; over several trials the mean of their medians.
    pub service_time_p50_ns: Option<f64>,
    /// The same for the 95th percentile.
    #[serde(default)]
    pub service_time_p95_ns: Option<f64>,
    /// The same for the 99th percentile.
    #[serde(default)]
    pub service_time_p99_ns: Option<f64>,
    /// Share of its time that its busiest load thread spent on work, 0 to 1; the largest one.
    pub busy_share: f64,
    /// How far its start may have been from the common one; the largest one.
    pub start_error_ns: Option<u64>,
    /// In how many trials it was lost.
    pub lost: u32,
}

impl AgentFigures {
    /// The agents of a trial's load. Empty: stampede sent the load itself, or none was sent.
    pub fn of(load: Option<&LoadRecord>) -> Vec<AgentFigures> {
        load.iter().flat_map(|load| load.agents.iter().map(AgentFigures::from)).collect()
    }

    /// The agents of a case, over the trials that count. A lost agent makes its trial invalid: of
    /// those, only the loss counts.
    pub fn over(trials: &[TrialSummary]) -> Vec<AgentFigures> {
        let (invalid, counted): (Vec<_>, Vec<_>) =
            trials.iter().partition(|trial| trial.verdict == Validity::Invalid);
        let counted = counted.into_iter().flat_map(|trial| trial.agents.iter().cloned());
        let agents = invalid.into_iter().flat_map(|trial| &trial.agents);
        let lost = agents.filter(|agent| agent.lost > 0).map(AgentFigures::loss_alone);
        let all: Vec<AgentFigures> = counted.chain(lost).collect();
        AgentFigures::add_up(all.iter())
    }

    /// That the agent was lost, without what it did.
    fn loss_alone(&self) -> AgentFigures {
        AgentFigures {
            name: self.name.clone(),
            planned: 0,
            ok: 0,
            failed: 0,
            dropped: 0,
            service_time_p50_ns: None,
            service_time_p95_ns: None,
            service_time_p99_ns: None,
            busy_share: 0.0,
            start_error_ns: None,
            lost: self.lost,
        }
    }

    /// Adds up what each agent did, in the order in which agents first occur.
    pub fn add_up<'a>(all: impl Iterator<Item = &'a AgentFigures>) -> Vec<AgentFigures> {
        let all: Vec<&AgentFigures> = all.collect();
        let mut names: Vec<&str> = Vec::new();
        for one in &all {
            if !names.contains(&one.name.as_str()) {
                names.push(&one.name);
            }
        }
        let own = |name| all.iter().copied().filter(|one| one.name == name).collect();
        names.into_iter().filter_map(|name| AgentFigures::sum(own(name))).collect()
    }

    /// The same agent in several trials.
    fn sum(trials: Vec<&AgentFigures>) -> Option<AgentFigures> {
        let total = |of: fn(&AgentFigures) -> u64| trials.iter().map(|one| of(one)).sum();
        let mean = |of: fn(&AgentFigures) -> Option<f64>| {
            let known: Vec<f64> = trials.iter().filter_map(|one| of(one)).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        Some(AgentFigures {
            name: trials.first()?.name.clone(),
            planned: total(|one| one.planned),
            ok: total(|one| one.ok),
            failed: total(|one| one.failed),
            dropped: total(|one| one.dropped),
            service_time_p50_ns: mean(|one| one.service_time_p50_ns),
            service_time_p95_ns: mean(|one| one.service_time_p95_ns),
            service_time_p99_ns: mean(|one| one.service_time_p99_ns),
            busy_share: trials.iter().map(|one| one.busy_share).fold(0.0, f64::max),
            start_error_ns: trials.iter().filter_map(|one| one.start_error_ns).max(),
            lost: trials.iter().map(|one| one.lost).sum(),
        })
    }
}

impl From<&AgentRecord> for AgentFigures {
    fn from(record: &AgentRecord) -> AgentFigures {
        AgentFigures {
            name: record.name.clone(),
            planned: record.planned,
            ok: record.ok,
            failed: record.failed,
            dropped: record.dropped,
            service_time_p50_ns: record.service_time_p50.map(|median| median.median as f64),
            service_time_p95_ns: record.service_time_p95.map(|ns| ns as f64),
            service_time_p99_ns: record.service_time_p99.map(|ns| ns as f64),
            busy_share: record.busy_share,
            start_error_ns: record.start.map(|start| start.error),
            lost: u32::from(record.loss.is_some()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, ok: u64, p50: Option<f64>, start_error_ns: u64) -> AgentFigures {
        AgentFigures {
            name: name.to_owned(),
            planned: ok + 3,
            ok,
            failed: 2,
            dropped: 1,
            service_time_p50_ns: p50,
            service_time_p95_ns: p50.map(|p50| 2.0 * p50),
            service_time_p99_ns: p50.map(|p50| 3.0 * p50),
            busy_share: ok as f64 / 1e3,
            start_error_ns: Some(start_error_ns),
            lost: u32::from(p50.is_none()),
        }
    }

    #[test]
    fn trials_are_added_up() {
        let all = [
            agent("load1", 100, Some(1e6), 40_000),
            agent("load1", 300, Some(3e6), 20_000),
            agent("load1", 5, None, 10_000),
        ];
        let sum = AgentFigures::sum(all.iter().collect()).unwrap();
        assert_eq!((sum.planned, sum.ok, sum.failed, sum.dropped), (414, 405, 6, 3));
        assert_eq!((sum.service_time_p50_ns, sum.busy_share), (Some(2e6), 0.3));
        assert_eq!((sum.service_time_p95_ns, sum.service_time_p99_ns), (Some(4e6), Some(6e6)));
        assert_eq!((sum.start_error_ns, sum.lost), (Some(40_000), 1));
        assert_eq!(AgentFigures::sum(Vec::new()), None);
        // Of a trial that does not count, only the loss of an agent does.
        let with_loss = [all[0].clone(), all[1].clone(), all[2].loss_alone()];
        let sum = AgentFigures::sum(with_loss.iter().collect()).unwrap();
        assert_eq!((sum.planned, sum.ok, sum.lost, sum.busy_share), (406, 400, 1, 0.3));
    }
}
