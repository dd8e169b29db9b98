//! Collects the facts about a trial from which its limits are determined.

use std::collections::BTreeMap;

use stampede_model::counts::{Counts, TimeSet};
use stampede_model::failure::{FailureKind, Net};
use stampede_model::record::{LoadRecord, LogEvidence, LogSignal, RuntimeRecord, TrialRecord};
use stampede_model::sample::{ListenerSample, ResourceSample, RoleSample};

use crate::summary::input::TrialData;
use crate::summary::model::LoadModel;

/// The facts of a trial that had a load.
pub struct Facts<'a> {
    pub record: &'a TrialRecord,
    pub load: &'a LoadRecord,
    pub model: LoadModel,
    pub times: Option<&'a TimeSet>,
    /// All resource readings.
    pub rows: &'a [ResourceSample],
    /// The readings taken while the stack was under pressure.
    pub pressed: Vec<&'a ResourceSample>,
    /// The listeners by name, over all readings.
    pub listeners: BTreeMap<&'a str, ListenerSample>,
}

impl<'a> Facts<'a> {
    /// The facts of a trial. `None`: nothing was sent.
    pub fn of(trial: &'a TrialData, model: LoadModel) -> Option<Facts<'a>> {
        let load = trial.record.load.as_ref()?;
        let rows = &trial.resources[..];
        Some(Facts {
            record: &trial.record,
            load,
            model,
            times: trial.times.as_ref(),
            pressed: pressed(trial, load),
            listeners: listeners(rows),
            rows,
        })
    }

    pub fn runtime(&self) -> &'a RuntimeRecord {
        &self.record.runtime
    }

    /// The number of workers that was asked for. `None`: not known.
    pub fn workers(&self) -> Option<u32> {
        let asked = self.runtime().given.workers;
        (asked > 0).then_some(asked)
    }

    /// The share of the CPU budget that the stack used. `None`: not read.
    pub fn cpu_share(&self) -> Option<f64> {
        self.cpu_share_of(|_| true)
    }

    /// The share of the CPU budget that some roles used.
    pub fn cpu_share_of(&self, of: impl Fn(&str) -> bool) -> Option<f64> {
        let budget = self.record.budget_cpus.as_f64();
        if budget == 0.0 { None } else { Some(self.cpus_used(of)? / budget) }
    }

    /// The CPUs that some roles used together under pressure. `None`: not read.
    pub fn cpus_used(&self, of: impl Fn(&str) -> bool) -> Option<f64> {
        let used = |row: &&ResourceSample| {
            let spent: u64 =
                roles(row).filter(|(name, _)| of(name)).map(|(_, one)| one.cpu_ns).sum();
            spent as f64 / row.interval_ns.max(1) as f64
        };
        let read = self.pressed.iter().filter(|row| !row.roles.is_empty());
        median(read.map(used).collect())
    }

    /// The share of its time that the busiest thread of a role spent on a CPU, under pressure.
    /// `None`: not all threads were read.
    pub fn thread_share(&self, role: &str) -> Option<f64> {
        let share = |row: &&ResourceSample| {
            let spent = row.roles.get(role)?.thread_cpu_ns_max?;
            Some(spent as f64 / row.interval_ns.max(1) as f64)
        };
        let read = self.pressed.iter().filter(|row| row.roles.contains_key(role));
        median(read.map(share).collect::<Option<Vec<f64>>>()?)
    }

    /// The share of samples of the workers in which all of them were busy. Without such samples:
    /// the share of readings of PHP-FPM's status. `None`: there are neither, or the number of
    /// workers is not known.
    pub fn all_busy_share(&self) -> Option<f64> {
        let workers = self.workers()?;
        let worker_samples = self.worker_samples();
        let pools = self.pressed.iter().filter_map(|row| row.pool.as_ref());
        let busy: Vec<u32> = match worker_samples.is_empty() {
            false => worker_samples.into_iter().map(|(busy, _)| busy).collect(),
            true => pools.map(|pool| pool.active).collect(),
        };
        let all = busy.iter().filter(|busy| **busy >= workers).count();
        (!busy.is_empty()).then(|| all as f64 / busy.len() as f64)
    }

    pub fn roles(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = self.rows.iter().flat_map(roles).map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Samples of the workers under pressure: the number busy, and how many of those were running.
    pub fn worker_samples(&self) -> Vec<(u32, u32)> {
        let worker_samples = self.pressed.iter().filter_map(|row| row.workers.as_ref());
        worker_samples
            .flat_map(|one| one.busy.iter().copied().zip(one.running.iter().copied()))
            .collect()
    }

    /// Log lines with this meaning.
    pub fn log_entries(&self, means: LogSignal) -> impl Iterator<Item = &'a LogEvidence> {
        self.runtime().said.iter().filter(move |entry| entry.means == means)
    }

    /// The number of requests that ended with this status.
    pub fn status(&self, status: u16) -> u64 {
        FailureKind::Http(status).count(&self.load.counts.failed)
    }

    /// The number of failures that a limit of connections or workers causes: a connection or a
    /// request was not accepted, or was given up. What the app answers itself, such as 404, is not
    /// counted.
    pub fn turned_away(&self) -> u64 {
        turned_away(&self.load.counts)
    }

    /// Whether more requests were in flight at once than the workers can serve at once.
    pub fn is_crowded(&self) -> bool {
        self.workers().is_none_or(|workers| self.load.in_flight_max > workers)
    }

    /// Whether at least as many requests were in flight at once as the workers can serve at once.
    pub fn is_at_its_workers(&self) -> bool {
        self.workers().is_none_or(|workers| self.load.in_flight_max >= workers)
    }

    pub fn has_failed(&self) -> bool {
        self.load.counts.failed_total() + self.load.counts.dropped > 0
    }

    /// The sum of a figure over all roles and readings.
    pub fn sum(&self, figure: impl Fn(&RoleSample) -> u64) -> u64 {
        self.rows.iter().flat_map(|row| row.roles.values()).map(figure).sum()
    }

    pub fn memory_max(&self) -> u64 {
        let of = |row: &ResourceSample| row.roles.values().map(|role| role.memory_bytes).sum();
        self.rows.iter().map(of).max().unwrap_or(0)
    }

    /// The share of the time for which the quota of the stack's own budget stopped it, on average
    /// over its CPUs. `None`: the budget is no quota.
    pub fn budget_throttled_share(&self) -> Option<f64> {
        let cpus = self.record.budget_cpus.quota()?.needed();
        let stopped: u64 = self.rows.iter().map(|row| row.budget_throttled_ns).sum();
        Some(stopped as f64 / (self.watched_ns().max(1) as f64 * f64::from(cpus)))
    }

    /// How long CPU quotas of others stopped the processes, in ns.
    pub fn throttled_ns(&self) -> u64 {
        self.rows.iter().map(|row| row.throttled_ns).sum()
    }

    /// The total time that the readings cover, in ns.
    pub fn watched_ns(&self) -> u64 {
        self.rows.iter().map(|row| row.interval_ns).sum()
    }
}

/// The same as [`Facts::turned_away`], for some counts.
pub fn turned_away(counts: &Counts) -> u64 {
    let makes = |kind: &str| TURNED_AWAY.contains(&FailureKind::of(kind));
    let failed = counts.failed.iter().filter(|(kind, _)| makes(kind));
    failed.map(|(_, count)| count).sum::<u64>() + counts.dropped
}

/// The readings of the seconds with at least half of the highest number of requests in flight. In a
/// rising load these are the seconds that matter. While the last answers are awaited, the stack is
/// idle.
fn pressed<'a>(trial: &'a TrialData, load: &LoadRecord) -> Vec<&'a ResourceSample> {
    let most = trial.seconds.iter().map(|second| second.in_flight_max).max().unwrap_or(0);
    let is_pressed = |row: &&ResourceSample| {
        let middle = row.at_ns.saturating_sub(row.interval_ns / 2);
        let second = trial.seconds.iter().find(|one| u64::from(one.second) == middle / SECOND);
        !row.is_short()
            && middle < load.scheduled_ns
            && second.is_none_or(|one| 2 * one.in_flight_max >= most)
    };
    trial.resources.iter().filter(is_pressed).collect()
}

fn roles(row: &ResourceSample) -> impl Iterator<Item = (&str, &RoleSample)> {
    row.roles.iter().map(|(name, role)| (name.as_str(), role))
}

fn listeners(rows: &[ResourceSample]) -> BTreeMap<&str, ListenerSample> {
    let mut all: BTreeMap<&str, ListenerSample> = BTreeMap::new();
    for (name, seen) in rows.iter().flat_map(|row| &row.listeners) {
        let one = all.entry(name).or_default();
        one.backlog = one.backlog.max(seen.backlog);
        one.queued_max = one.queued_max.max(seen.queued_max);
        one.drops += seen.drops;
    }
    // A listener's count of drops includes connections that it only defers, as Apache asks for with
    // TCP_DEFER_ACCEPT. Connections that found no room are in the machine's counter too, so that
    // counter is an upper limit.
    let no_room: u64 = rows.iter().map(|row| row.host.listen_drops).sum();
    all.values_mut().for_each(|one| one.drops = one.drops.min(no_room));
    all
}

/// The median. For an even number of values it is the mean of the middle two.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let (low, high) =
        (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some((low + high) / 2.0)
}

/// The statuses of a server that has no worker or no PHP to answer with, and the failures that
/// clients see in its place.
const TURNED_AWAY: [FailureKind; 9] = [
    FailureKind::Http(502),
    FailureKind::Http(503),
    FailureKind::Http(504),
    FailureKind::Net(Net::Refused),
    FailureKind::Net(Net::Reset),
    FailureKind::Net(Net::Timeout),
    FailureKind::Net(Net::CutShort),
    FailureKind::Net(Net::Stale),
    FailureKind::Net(Net::QueueFull),
];
pub const SECOND: u64 = 1_000_000_000;
