//! Judges the limits: the generator, memory, a CPU quota, workers and CPU, and whether none of them
//! was reached.

use super::facts::Facts;
use super::{Cause, Diagnosis, Novelty};
use crate::monitor::sample::ResourceSample;
use crate::store::record::{LogEvidence, LogSignal};
use crate::summary::model::LoadModel;
use crate::summary::words;

/// The generator was at its limit, so the runtime's own limit is higher.
pub fn generator(facts: &Facts<'_>) -> Option<Diagnosis> {
    let load = facts.load;
    let percent = load.busy_share_max * 100.0;
    let allowed =
        SCHEDULE_LAG_NS.max((load.service_time_ns_p50 as f64 * SCHEDULE_LAG_SHARE) as u64);
    let (text, says) = match facts.model {
        LoadModel::Closed if load.is_generators_limit() => (
            format!(
                "the generator: a load thread was {percent:.0} % busy, so the runtime may serve more"
            ),
            Novelty::TheSame,
        ),
        LoadModel::Open if load.schedule_lag_ns_sure > allowed => (
            format!(
                "the generator: it was late itself, by {} at p99",
                words::time(load.schedule_lag_ns_p99 as f64)
            ),
            Novelty::More,
        ),
        _ => return None,
    };
    let busy = format!("busiest load thread: {percent:.0} % of its CPU");
    Some(Diagnosis::new(Cause::Generator, text).with_all([(says, busy)]))
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
    let of_limit = match limit {
        0 => String::new(),
        _ => format!(": the stack reached its limit of {has}"),
    };
    let php = facts.log_entries(LogSignal::PhpMemory).next();
    let is_full = kills == 0 && limit > 0 && share >= FULL_SHARE;
    let text = if kills > 0 {
        let (processes, their) =
            if kills == 1 { ("process", "its") } else { ("processes", "their") };
        format!(
            "memory: the kernel killed {} {processes}{of_limit}; {their} requests were lost",
            words::count(kills)
        )
    } else if is_full {
        let so = match hits {
            0 => "almost nothing is left",
            _ => "so the kernel takes pages back",
        };
        format!("memory: {} of {has} in use, {so}", words::bytes(most as f64))
    } else if hits > 0 && stalled >= STALLED_SHARE {
        format!(
            "memory: processes waited for the kernel to take pages back{of_limit}, {:.0} % of the time",
            stalled * 100.0
        )
    } else {
        let entry = php?;
        format!("memory: PHP's `memory_limit` was reached {}", times(entry.lines))
    };
    let used =
        (limit > 0).then(|| format!("{} of {has} in use at most", words::bytes(most as f64)));
    let met = (hits > 0).then(|| format!("the memory limit was reached {}", times(hits)));
    let used = used.map(|used| (Novelty::more_if(!is_full), used));
    let found = Diagnosis::new(Cause::Memory, text).with_all(used);
    Some(found.with(met.into_iter().chain(php.map(line))))
}

/// The time in which processes waited for memory: of the stack's own groups, or else of the whole
/// machine.
fn stalled_ns(row: &ResourceSample) -> Option<u64> {
    row.memory_stalled_ns.or_else(|| row.host.pressure_some_ns.get("memory").copied())
}

pub fn throttled(facts: &Facts<'_>) -> Option<Diagnosis> {
    let throttled = facts.throttled_ns();
    (throttled as f64 >= facts.watched_ns().max(1) as f64 * THROTTLED_SHARE).then(|| {
        let text = format!(
            "throttled: a CPU quota held the stack back for {} in {}",
            words::time(throttled as f64),
            words::time(facts.watched_ns() as f64)
        );
        Diagnosis::new(Cause::Throttled, text)
    })
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
    let cpu = match facts.cpu_share() {
        Some(share) => format!(", but the CPU only {:.0} %: try more workers", share * 100.0),
        None => String::new(),
    };
    let who = if workers == 1 {
        "its only worker was".to_owned()
    } else {
        format!("all {} workers were", words::count(workers.into()))
    };
    let text = format!("worker-bound: {who} busy{cpu}");
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
    let reached = pools.iter().map(|pool| pool.max_children_reached).max().unwrap_or(0);
    if reached > 0 {
        evidence.push(format!("`pm.max_children` was reached {}", times(reached)));
    }
    evidence.extend(facts.log_entries(LogSignal::WorkerLimit).map(line));
    for (name, one) in facts.listeners.iter().filter(|(_, one)| one.queued_max > 1) {
        evidence.push(format!("up to {} connections waited at {name}", one.queued_max));
    }
    Some(Diagnosis::new(Cause::Workers, text).with(evidence))
}

pub fn cpu(facts: &Facts<'_>) -> Option<Diagnosis> {
    let share = facts.cpu_share().filter(|_| is_cpu_bound(facts))?;
    let percent = share * 100.0;
    let cpus = match facts.record.budget_cpus {
        1 => "its CPU".to_owned(),
        cpus => format!("its {cpus} CPUs"),
    };
    let text = match share >= CPU_FULL {
        true => format!("CPU-bound: the stack used {percent:.0} % of {cpus}"),
        false => format!(
            "CPU-bound: its workers always waited for a CPU and got only {percent:.0} % of {cpus}; \
             other programs used the rest: stop them and measure again"
        ),
    };
    let by_role = facts.roles().into_iter().filter_map(|role| {
        let of_role = facts.cpu_share_of(|name| name == role)? * 100.0;
        // Compared as printed, without decimals.
        let says = Novelty::more_if(of_role.round() != percent.round());
        Some((says, format!("{role}: {of_role:.0} % of the budget")))
    });
    Some(Diagnosis::new(Cause::Cpu, text).with_all(by_role))
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
    let room = format!("CPU {:.0} %, {busy:.1} of {workers} workers busy on average", cpu * 100.0);
    let under_way = facts.load.in_flight_max;
    let text = match facts.model {
        LoadModel::Open if cpu < CPU_ROOM && busy < f64::from(workers) * WORKERS_ROOM => {
            format!("no limit was reached: {room}")
        }
        LoadModel::Closed if under_way <= workers => {
            let requests = if under_way == 1 {
                "1 request at a time does".to_owned()
            } else {
                format!("{} requests at a time do", words::count(under_way.into()))
            };
            format!(
                "the load was too small: {requests} not keep the workers busy ({room}); use a higher \
                 `--concurrency`"
            )
        }
        _ => return None,
    };
    Some(Diagnosis::new(Cause::BelowLimits, text))
}

/// Whether the stack used its CPUs, or its workers wanted a CPU all the time and other programs had
/// it.
pub fn is_cpu_bound(facts: &Facts<'_>) -> bool {
    let Some(share) = facts.cpu_share() else { return false };
    let cpus = facts.record.budget_cpus;
    let worker_samples = facts.worker_samples();
    let wanted = worker_samples.iter().filter(|(_, running)| *running >= cpus).count();
    let always =
        !worker_samples.is_empty() && wanted as f64 >= worker_samples.len() as f64 * WANTED_SHARE;
    share >= CPU_FULL || always
}

/// A log line with its program and the number of lines that mean the same.
pub fn line(entry: &LogEvidence) -> String {
    format!("{}'s log, {}: {}", entry.program, times(entry.lines), entry.first)
}

pub fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", words::count(count)) }
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
/// The same values as in the verdict.
const SCHEDULE_LAG_NS: u64 = 1_000_000;
const SCHEDULE_LAG_SHARE: f64 = 0.05;
