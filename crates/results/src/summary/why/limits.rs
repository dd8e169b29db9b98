//! Judges the limits: the generator, memory, a CPU quota, workers and CPU, and whether none of them
//! was reached.

use stampede_model::fact::LimitFound;
use stampede_model::fact::limit_found::{InUse, times_text};
use stampede_model::record::{LoadRecord, LogEvidence, LogSignal, Validity};
use stampede_model::sample::ResourceSample;
use stampede_model::words;

use super::facts::Facts;
use super::{Cause, Diagnosis, Novelty};
use crate::summary::model::LoadModel;

/// The generator was at its limit, so the runtime's own limit is higher.
pub fn generator(facts: &Facts<'_>) -> Option<Diagnosis> {
    let load = facts.load;
    let percent = load.busy_share_max * 100.0;
    let (found, says) = match facts.model {
        LoadModel::Closed if load.is_generators_limit() => {
            (LimitFound::LoadThreadBusy { busy_share: load.busy_share_max }, Novelty::TheSame)
        }
        LoadModel::Open if was_late(facts) => {
            let schedule_lag_ns_p99 = load.schedule_lag_ns_p99;
            (LimitFound::GeneratorLate { schedule_lag_ns_p99 }, Novelty::More)
        }
        _ => return None,
    };
    let busy = format!("busiest load thread: {percent:.0} % of its CPU");
    Some(Diagnosis::new(Cause::Generator, found).with_all([(says, busy)]))
}

/// Whether schedule lag makes much of a figure that weighs.
pub fn is_late(load: &LoadRecord) -> bool {
    load.lag_marks.iter().any(|mark| mark.judged() == Validity::Invalid)
}

/// The same, also for a record of an earlier version, which says it in its verdict.
fn was_late(facts: &Facts<'_>) -> bool {
    let mut reasons = facts.record.verdict.reasons.iter();
    is_late(facts.load) || reasons.any(|reason| reason.code() == EARLIER_LATE)
}

pub fn memory(facts: &Facts<'_>) -> Option<Diagnosis> {
    let limit = facts.record.isolation.memory_bytes;
    let kills = facts.sum(|role| role.oom_kills);
    let most = facts.memory_max();
    let hits: u64 = facts.rows.iter().map(|row| row.memory_limit_hits).sum();
    let share = most as f64 / limit.max(1) as f64;
    let stalled = facts.rows.iter().filter_map(stalled_ns).sum::<u64>() as f64
        / facts.watched_ns().max(1) as f64;
    let has = words::bytes(limit as f64);
    let php = facts.log_entries(LogSignal::PhpMemory).next();
    let is_full = kills == 0 && limit > 0 && share >= FULL_SHARE;
    let found = if kills > 0 {
        LimitFound::KilledForMemory { kills, limit_bytes: limit }
    } else if is_full {
        LimitFound::StackMemoryFull { used_bytes: most, limit_bytes: limit, limit_hits: hits }
    } else if hits > 0 && stalled >= STALLED_SHARE {
        LimitFound::WaitedForMemory { share: stalled, limit_bytes: limit }
    } else {
        LimitFound::PhpMemoryLimit { times: php?.lines }
    };
    let used =
        (limit > 0).then(|| format!("{} of {has} in use at most", words::bytes(most as f64)));
    let met = (hits > 0).then(|| format!("the memory limit was reached {}", times_text(hits)));
    let used = used.map(|used| (Novelty::more_if(!is_full), used));
    let found = Diagnosis::new(Cause::Memory, found).with_all(used);
    Some(found.with(met.into_iter().chain(php.map(line))))
}

/// The time in which processes waited for memory: of the stack's own groups, or else of the whole
/// machine.
fn stalled_ns(row: &ResourceSample) -> Option<u64> {
    row.memory_stalled_ns.or_else(|| row.host.pressure_some_ns.get("memory").copied())
}

/// A quota held the stack back: somebody else's, or that of its own budget.
pub fn throttled(facts: &Facts<'_>) -> Option<Diagnosis> {
    let (throttled_ns, watched_ns) = (facts.throttled_ns(), facts.watched_ns());
    let cpus = facts.record.budget_cpus;
    let found = match others_quota_share(facts) {
        Some(_) => LimitFound::Throttled { throttled_ns, watched_ns },
        None => LimitFound::QuotaUsedUp { share: budget_quota_share(facts)?, cpus },
    };
    Some(Diagnosis::new(Cause::Throttled, found))
}

/// The share of the time for which a quota held the stack back. `None`: none did for long.
pub fn quota_share(facts: &Facts<'_>) -> Option<f64> {
    others_quota_share(facts).or_else(|| budget_quota_share(facts))
}

fn others_quota_share(facts: &Facts<'_>) -> Option<f64> {
    let share = facts.throttled_ns() as f64 / facts.watched_ns().max(1) as f64;
    (share >= THROTTLED_SHARE).then_some(share)
}

fn budget_quota_share(facts: &Facts<'_>) -> Option<f64> {
    facts.budget_throttled_share().filter(|share| *share >= THROTTLED_SHARE)
}

/// All workers are busy, more requests wait, and the CPU has time left.
pub fn workers(facts: &Facts<'_>) -> Option<Diagnosis> {
    let workers = facts.workers()?;
    if !facts.is_crowded() || is_cpu_bound(facts) {
        return None;
    }
    let worker_samples = facts.worker_samples();
    let pools: Vec<_> = facts.pressed.iter().filter_map(|row| row.pool.as_ref()).collect();
    let share = facts.all_busy_share()?;
    if share < ALL_BUSY_SHARE {
        return None;
    }
    let found = LimitFound::AllWorkersBusy { workers, cpu_share: facts.cpu_share() };
    let mut evidence = Vec::new();
    if !worker_samples.is_empty() {
        let running = worker_samples.iter().map(|(_, running)| f64::from(*running)).sum::<f64>();
        evidence.push(format!(
            "all busy in {:.0} % of {} samples; {:.1} of {workers} ran, the others waited inside a request",
            share * 100.0,
            worker_samples.len(),
            running / worker_samples.len() as f64
        ));
    }
    evidence.push(format!(
        "at most {} requests in flight",
        words::count(facts.load.in_flight_max.into())
    ));
    if let Some(pool) = pools.iter().max_by_key(|pool| (pool.listen_queue, pool.active)) {
        let queue = match pool.listen_queue {
            0 => String::new(),
            waiting => format!(", {} connections waiting", words::count(waiting.into())),
        };
        evidence.push(format!(
            "PHP-FPM's status page: {} of {} processes active{queue}",
            pool.active, pool.total
        ));
    }
    // The counter runs since the start, which may be that of an earlier load.
    let counts = || pools.iter().map(|pool| pool.max_children_reached);
    let before = if facts.record.continues.is_some() { counts().min() } else { None };
    let reached = counts().max().unwrap_or(0).saturating_sub(before.unwrap_or(0));
    if reached > 0 {
        evidence.push(format!("`pm.max_children` was reached {}", times_text(reached)));
    }
    evidence.extend(facts.log_entries(LogSignal::WorkerLimit).map(line));
    for (name, one) in facts.listeners.iter().filter(|(_, one)| one.queued_max > 1) {
        evidence.push(format!("up to {} connections waited at {name}", one.queued_max));
    }
    Some(Diagnosis::new(Cause::Workers, found).with(evidence))
}

pub fn cpu(facts: &Facts<'_>) -> Option<Diagnosis> {
    let share = facts.cpu_share().filter(|_| is_cpu_bound(facts))?;
    let percent = share * 100.0;
    let cpus = facts.record.budget_cpus;
    let found = match share >= CPU_FULL {
        true => LimitFound::CpuFull { cpu_share: share, cpus },
        false => LimitFound::CpuTaken { cpu_share: share, cpus },
    };
    let by_role = facts.roles().into_iter().filter_map(|role| {
        let of_role = facts.cpu_share_of(|name| name == role)? * 100.0;
        // Compared as printed, without decimals.
        let says = Novelty::more_if(of_role.round() != percent.round());
        Some((says, format!("{role}: {of_role:.0} % of the budget")))
    });
    Some(Diagnosis::new(Cause::Cpu, found).with_all(by_role))
}

/// None of the limits was reached.
pub fn none(facts: &Facts<'_>) -> Option<Diagnosis> {
    let (cpu, workers) = (facts.cpu_share()?, facts.workers()?);
    let worker_samples = facts.worker_samples();
    if worker_samples.is_empty() || facts.has_failed() {
        return None;
    }
    let busy = worker_samples.iter().map(|(busy, _)| f64::from(*busy)).sum::<f64>()
        / worker_samples.len() as f64;
    let in_use = InUse { cpu_share: cpu, workers_busy: busy, workers };
    let in_flight_max = facts.load.in_flight_max;
    let found = match facts.model {
        LoadModel::Open if cpu < CPU_ROOM && busy < f64::from(workers) * WORKERS_ROOM => {
            LimitFound::NoLimitReached { in_use }
        }
        LoadModel::Closed if in_flight_max <= workers => {
            LimitFound::LoadTooSmall { in_flight_max, in_use }
        }
        _ => return None,
    };
    Some(Diagnosis::new(Cause::BelowLimits, found))
}

/// Whether the stack used its CPUs, or its workers wanted a CPU all the time and other programs had
/// it.
pub fn is_cpu_bound(facts: &Facts<'_>) -> bool {
    let Some(share) = facts.cpu_share() else { return false };
    let cpus = facts.record.budget_cpus;
    let worker_samples = facts.worker_samples();
    let wanted = worker_samples.iter().filter(|(_, running)| *running >= cpus.needed()).count();
    let always =
        !worker_samples.is_empty() && wanted as f64 >= worker_samples.len() as f64 * WANTED_SHARE;
    share >= CPU_FULL || always
}

/// A log line with its program and the number of lines that mean the same.
pub fn line(entry: &LogEvidence) -> String {
    format!("{}'s log, {}: {}", entry.program, times_text(entry.lines), entry.first)
}

/// The share of the stack's CPUs that counts as full. The rest is lost to the scheduler.
pub const CPU_FULL: f64 = 0.9;
/// The share of samples in which as many workers ran, or wanted to, as there are CPUs.
const WANTED_SHARE: f64 = 0.9;
/// Below these shares a load is far from the limit.
pub const CPU_ROOM: f64 = 0.8;
pub const WORKERS_ROOM: f64 = 0.8;
/// The share of samples in which all workers are busy. A worker is idle for a moment between two
/// requests.
pub const ALL_BUSY_SHARE: f64 = 0.8;
/// The same value as in the verdict: from this share on the kernel reclaims pages.
const FULL_SHARE: f64 = 0.95;
/// The share of time in which a process waited for memory (PSI `some`). The kernel's own tools
/// treat 10 % as trouble, and half of that is no chance.
const STALLED_SHARE: f64 = 0.05;
/// A smaller share is a single period of a quota.
const THROTTLED_SHARE: f64 = 0.01;
/// The reason of earlier versions, which judged p99 of schedule lag by itself.
const EARLIER_LATE: &str = "generator_late";
