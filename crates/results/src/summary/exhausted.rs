//! Determines which resources of a stack were exhausted under a closed load. The throughput is the
//! stack's own limit only if at least one of them was.
//!
//! If nothing was exhausted, the load did not demand more, and the throughput is a lower bound.
//! This is claimed only if every figure that could show the contrary was read: a resource that was
//! not read may have been the limit.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::cpus::CpuCount;
use stampede_model::fact::{Fact, Notice};
use stampede_model::record::DATABASE_ROLE;
use stampede_model::record::{LoadModel, LogSignal, RunRecord, Validity};
use stampede_model::sample::ResourceSample;

use super::input::TrialData;
use super::model::{CaseSummary, TrialSummary};
use super::why::facts::Facts;
use super::why::limits::{self, ALL_BUSY_SHARE, CPU_FULL, CPU_ROOM, WORKERS_ROOM};
use super::why::server;

/// A resource of the stack, or of the load generator, that was exhausted. Shares are 0 … 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Exhausted {
    /// The load generator. The stack's own limit is higher.
    Generator {
        /// The share of its time that the busiest load thread was busy.
        busy_share: f64,
    },
    /// The memory limit, or PHP's own.
    Memory {
        /// The most memory in use, in bytes.
        used_bytes: u64,
        /// The limit of the whole stack, in bytes. 0: it has none.
        limit_bytes: u64,
        /// Number of processes that the kernel killed.
        kills: u64,
    },
    /// The web server accepted no more connections and logged it.
    WebServer {
        /// The program that logged it.
        program: String,
        /// The number of log lines.
        lines: u64,
    },
    /// A listen queue was full.
    ListenQueue {
        /// The name of its listener. Empty: not known.
        listener: String,
        /// The number of connections that it holds. 0: not known.
        backlog: u32,
        /// The number of connections that were dropped for lack of room.
        drops: u64,
    },
    /// A CPU quota stopped the stack's processes.
    Quota {
        /// The share of the time.
        share: f64,
    },
    /// The database. It used all CPUs of its own. Or it used most of the CPU time on CPUs shared
    /// with the stack, all of which were used.
    Database {
        /// The share of these CPUs that the database alone used.
        share: f64,
        /// The number of these CPUs.
        cpus: CpuCount,
    },
    /// All workers were busy, while the CPU was not.
    Workers {
        /// The number of workers.
        workers: u32,
        /// The share of samples in which all of them were busy.
        share: f64,
    },
    /// A single thread that no other can relieve: of a runtime with one worker, or of the web
    /// server in front.
    Thread {
        /// The thread's role: `php`, `web`.
        role: String,
        /// The share of its time that it spent on a CPU.
        share: f64,
    },
    /// All CPUs of the budget.
    Cpu {
        /// The share of them that was used.
        share: f64,
        /// The number of these CPUs.
        cpus: CpuCount,
    },
    /// The CPUs that only one role uses.
    RoleCpu {
        /// The role: `php`, `web`.
        role: String,
        /// The share of them that was used.
        share: f64,
        /// The number of these CPUs.
        cpus: CpuCount,
    },
    /// The CPUs of the budget, some of which other programs used: the workers wanted one in almost
    /// every sample.
    CpuTaken {
        /// The share of them that the stack used.
        share: f64,
        /// The number of these CPUs.
        cpus: CpuCount,
    },
}

/// The exhausted resources of a trial's stack. Empty: none was exhausted. `None`: not known, or the
/// model is open.
pub fn of_trial(trial: &TrialData, model: LoadModel, run: &RunRecord) -> Option<Vec<Exhausted>> {
    if model == LoadModel::Open {
        return None;
    }
    let facts = Facts::of(trial, model)?;
    let found: Vec<Exhausted> = ALL.iter().flat_map(|look| look(&facts)).collect();
    match found.is_empty() {
        false => Some(found),
        true => (has_room(&facts) && is_seen_whole(run)).then(Vec::new),
    }
}

/// The resources that were exhausted in most of the trials that count, each with the figures of the
/// trial in which its use was lowest. Empty: none was exhausted in any trial. `None`: not known.
pub fn over(trials: &[TrialSummary]) -> Option<Vec<Exhausted>> {
    let counted: Vec<&TrialSummary> =
        trials.iter().filter(|trial| trial.verdict != Validity::Invalid).collect();
    let all: Vec<&Exhausted> =
        counted.iter().flat_map(|trial| trial.exhausted.iter().flatten()).collect();
    if all.is_empty() {
        let is_known = |trial: &&TrialSummary| trial.exhausted.is_some();
        return (!counted.is_empty() && counted.iter().all(is_known)).then(Vec::new);
    }
    let mut kinds: Vec<Vec<&Exhausted>> = Vec::new();
    for one in all {
        match kinds.iter_mut().find(|kind| kind[0].is_same_thing(one)) {
            Some(kind) => kind.push(one),
            None => kinds.push(vec![one]),
        }
    }
    let most: Vec<Exhausted> = kinds
        .into_iter()
        .filter(|kind| 2 * kind.len() > counted.len())
        .filter_map(|kind| {
            kind.into_iter().min_by(|a, b| a.extent().total_cmp(&b.extent())).cloned()
        })
        .collect();
    (!most.is_empty()).then_some(most)
}

/// The reason why a throughput is a lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowerBound {
    /// No resource of the stack was exhausted: a higher concurrency might have given more.
    NothingExhausted,
    /// The load generator was at its limit.
    Generator,
}

/// Why a case's throughput is a lower bound. `None`: it is not one, or that is not known.
pub fn lower_bound(case: &CaseSummary) -> Option<LowerBound> {
    let exhausted = case.exhausted.as_ref()?;
    let is_generator = |one: &Exhausted| matches!(one, Exhausted::Generator { .. });
    match exhausted.is_empty() {
        true => Some(LowerBound::NothingExhausted),
        false => exhausted.iter().any(is_generator).then_some(LowerBound::Generator),
    }
}

/// Whether a case's throughput is known to be a lower bound of what the stack can do.
pub fn is_lower_bound(case: &CaseSummary) -> bool {
    lower_bound(case).is_some()
}

/// The smallest share of its CPUs that a row used, if every row used at least 90 % of them and none
/// waited for its database. Then the rows compare CPU cost. `None`: not every row did, or there are
/// no rows.
pub fn least_cpu_share<'a>(cases: impl IntoIterator<Item = &'a CaseSummary>) -> Option<f64> {
    let shares: Option<Vec<f64>> = cases.into_iter().map(cpu_share).collect();
    shares?.into_iter().reduce(f64::min)
}

fn cpu_share(case: &CaseSummary) -> Option<f64> {
    let exhausted = case.exhausted.as_deref()?;
    if waits_for_database(exhausted) {
        return None;
    }
    exhausted.iter().find_map(|one| match one {
        Exhausted::Cpu { share, .. } => Some(*share),
        _ => None,
    })
}

/// Whether the database limits every row, so that the runtime hardly matters. False if there are no
/// rows.
pub fn all_wait_for_database<'a>(cases: impl IntoIterator<Item = &'a CaseSummary>) -> bool {
    let mut cases = cases.into_iter().peekable();
    cases.peek().is_some()
        && cases.all(|case| case.exhausted.as_deref().is_some_and(waits_for_database))
}

fn waits_for_database(exhausted: &[Exhausted]) -> bool {
    exhausted.iter().any(|one| matches!(one, Exhausted::Database { .. }))
}

impl Exhausted {
    /// Whether both are about the same resource.
    fn is_same_thing(&self, other: &Exhausted) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.role() == other.role()
    }

    fn role(&self) -> Option<&str> {
        match self {
            Exhausted::Thread { role, .. } | Exhausted::RoleCpu { role, .. } => Some(role),
            _ => None,
        }
    }

    /// The extent of the use, by which trials are compared.
    fn extent(&self) -> f64 {
        match self {
            Exhausted::Generator { busy_share: share }
            | Exhausted::Quota { share }
            | Exhausted::Database { share, .. }
            | Exhausted::Workers { share, .. }
            | Exhausted::Thread { share, .. }
            | Exhausted::Cpu { share, .. }
            | Exhausted::RoleCpu { share, .. }
            | Exhausted::CpuTaken { share, .. } => *share,
            Exhausted::Memory { used_bytes, .. } => *used_bytes as f64,
            Exhausted::WebServer { lines, .. } => *lines as f64,
            Exhausted::ListenQueue { drops, .. } => *drops as f64,
        }
    }
}

type ResourceCheck = fn(&Facts<'_>) -> Vec<Exhausted>;

/// All checks, in the order of `why`: the most direct explanation first.
const ALL: [ResourceCheck; 8] =
    [generator, memory, web_server, listen_queue, quota, cpus, workers, threads];

fn generator(facts: &Facts<'_>) -> Vec<Exhausted> {
    let busy_share = facts.load.busy_share_max;
    limits::generator(facts).map(|_| Exhausted::Generator { busy_share }).into_iter().collect()
}

fn memory(facts: &Facts<'_>) -> Vec<Exhausted> {
    let exhausted = Exhausted::Memory {
        used_bytes: facts.memory_max(),
        limit_bytes: facts.record.isolation.memory_bytes,
        kills: facts.sum(|role| role.oom_kills),
    };
    limits::memory(facts).map(|_| exhausted).into_iter().collect()
}

fn web_server(facts: &Facts<'_>) -> Vec<Exhausted> {
    let mut entries = facts
        .log_entries(LogSignal::WebServerLimit)
        .chain(facts.log_entries(LogSignal::WebServerFull));
    let first = server::limit(facts).and_then(|_| entries.next());
    let exhausted = first
        .map(|entry| Exhausted::WebServer { program: entry.program.clone(), lines: entry.lines });
    exhausted.into_iter().collect()
}

fn listen_queue(facts: &Facts<'_>) -> Vec<Exhausted> {
    let exhausted = server::backlog(facts).map(|_| match server::full_queue(facts) {
        Some((name, one)) => Exhausted::ListenQueue {
            listener: name.to_owned(),
            backlog: one.backlog,
            drops: one.drops,
        },
        None => Exhausted::ListenQueue { listener: String::new(), backlog: 0, drops: 0 },
    });
    exhausted.into_iter().collect()
}

fn quota(facts: &Facts<'_>) -> Vec<Exhausted> {
    let share = limits::quota_share(facts);
    share.map(|share| Exhausted::Quota { share }).into_iter().collect()
}

/// The exhausted CPUs, judged for each set of CPUs that some roles share.
fn cpus(facts: &Facts<'_>) -> Vec<Exhausted> {
    if !is_ours(facts) {
        return Vec::new();
    }
    let pools = pools(facts);
    let is_split = pools.iter().filter(|pool| !pool.is_database()).count() > 1;
    let mut found: Vec<Exhausted> =
        pools.iter().flat_map(|pool| pool.exhausted(facts, is_split)).collect();
    let is_taken = found.is_empty() && pools.len() == 1 && limits::is_cpu_bound(facts);
    if let (true, Some(share)) = (is_taken, facts.cpu_share()) {
        found.push(Exhausted::CpuTaken { share, cpus: facts.record.budget_cpus });
    }
    found
}

/// A set of CPUs, and the roles that run on them.
struct Pool<'a> {
    roles: Vec<&'a str>,
    cpus: CpuCount,
}

/// The sets of CPUs, from the CPUs that each role had. Earlier results have no CPUs by role: then
/// there is one set if all roles share the budget's CPUs, else none.
fn pools<'a>(facts: &Facts<'a>) -> Vec<Pool<'a>> {
    let record = facts.record;
    let by_role = &record.isolation.cpus_by_role;
    let roles = facts.roles();
    if by_role.is_empty() {
        let is_shared = !record.budget_unequal && !has_own_cpus(facts);
        let pool = Pool { roles, cpus: record.budget_cpus };
        return if is_shared && !record.budget_cpus.is_zero() { vec![pool] } else { Vec::new() };
    }
    let mut pools: BTreeMap<&Vec<usize>, Vec<&str>> = BTreeMap::new();
    for role in roles {
        let Some(cpus) = by_role.get(role).filter(|cpus| !cpus.is_empty()) else {
            return Vec::new();
        };
        pools.entry(cpus).or_default().push(role);
    }
    pools
        .into_iter()
        .map(|(cpus, roles)| {
            let all = CpuCount::whole(cpus.len() as u32);
            // The quota of a budget is not for a database on CPUs of its own.
            let quota = record.budget_cpus.quota().filter(|_| roles != [DATABASE_ROLE]);
            Pool { roles, cpus: quota.unwrap_or(all) }
        })
        .collect()
}

/// Whether a database runs on CPUs beside those of the stack.
fn has_own_cpus(facts: &Facts<'_>) -> bool {
    let setting = facts.runtime().settings.get("database_cpus");
    setting.and_then(serde_json::Value::as_str) == Some("beside")
        && facts.roles().contains(&DATABASE_ROLE)
}

impl Pool<'_> {
    fn is_database(&self) -> bool {
        self.roles == [DATABASE_ROLE]
    }

    /// The share of its CPUs that some of its roles used.
    fn share(&self, facts: &Facts<'_>, of: impl Fn(&str) -> bool) -> Option<f64> {
        let used = facts.cpus_used(|role| self.roles.contains(&role) && of(role))?;
        Some(used / self.cpus.as_f64())
    }

    fn exhausted(&self, facts: &Facts<'_>, is_split: bool) -> Vec<Exhausted> {
        let cpus = self.cpus;
        let Some(share) = self.share(facts, |_| true).filter(|share| *share >= CPU_FULL) else {
            return Vec::new();
        };
        match self.roles.as_slice() {
            [DATABASE_ROLE] => vec![Exhausted::Database { share, cpus }],
            [role] if is_split => {
                vec![Exhausted::RoleCpu { role: (*role).to_owned(), share, cpus }]
            }
            _ => {
                let database = self.share(facts, |role| role == DATABASE_ROLE);
                let most = database.filter(|own| *own >= share * DATABASE_SHARE);
                let database = most.map(|share| Exhausted::Database { share, cpus });
                database.into_iter().chain([Exhausted::Cpu { share, cpus }]).collect()
            }
        }
    }
}

/// Workers as the limit. They are all busy also if the CPU is the limit, but then they wait for the
/// CPU.
fn workers(facts: &Facts<'_>) -> Vec<Exhausted> {
    let found = facts.workers().zip(facts.all_busy_share());
    let found = found.filter(|(_, share)| {
        *share >= ALL_BUSY_SHARE && facts.is_at_its_workers() && !limits::is_cpu_bound(facts)
    });
    found.map(|(workers, share)| Exhausted::Workers { workers, share }).into_iter().collect()
}

/// Threads as the limit. A busy worker among several is no limit, because the others can work.
fn threads(facts: &Facts<'_>) -> Vec<Exhausted> {
    if limits::is_cpu_bound(facts) {
        return Vec::new();
    }
    let alone = |role: &&str| match *role {
        WEB_ROLE => true,
        DATABASE_ROLE => false,
        _ => facts.workers() == Some(1),
    };
    let busy = |role: &str| facts.thread_share(role).filter(|share| *share >= CPU_FULL);
    let found = facts.roles().into_iter().filter(alone);
    let found = found.filter_map(|role| busy(role).map(|share| (role, share)));
    found.map(|(role, share)| Exhausted::Thread { role: role.to_owned(), share }).collect()
}

/// Whether everything that can be exhausted was read and was far from its limit.
fn has_room(facts: &Facts<'_>) -> bool {
    is_ours(facts)
        && facts.pressed.len() >= FEWEST_READINGS
        && cpus_have_room(facts)
        && others_left_room(facts)
        && workers_have_room(facts)
        && facts.roles().into_iter().all(|role| threads_have_room(facts, role))
        && memory_has_room(facts)
        && !facts.listeners.is_empty()
        && disk_has_room(facts)
        && facts.load.busy_share_max.is_finite()
        && facts.turned_away() == 0
}

/// Whether stampede started the runtime. An external runtime runs on CPUs that stampede does not
/// assign, and it is not known how many it may use.
fn is_ours(facts: &Facts<'_>) -> bool {
    facts.runtime().given.provider.is_configured()
}

fn cpus_have_room(facts: &Facts<'_>) -> bool {
    let pools = pools(facts);
    let has_room =
        |pool: &Pool<'_>| pool.share(facts, |_| true).is_some_and(|share| share < CPU_ROOM);
    !pools.is_empty() && pools.iter().all(has_room) && !limits::is_cpu_bound(facts)
}

/// Whether other programs left CPU time to the stack. What they used may have been on the stack's
/// CPUs, so at least the CPU time that nobody used is left.
fn others_left_room(facts: &Facts<'_>) -> bool {
    let cpus: u32 = pools(facts).iter().map(|pool| pool.cpus.needed()).sum();
    let used = |row: &&ResourceSample| {
        let stack: u64 = row.roles.values().map(|role| role.cpu_ns).sum();
        // The CPU time of stampede itself is subtracted: the load has CPUs of its own.
        stack.max(row.host.cpu_busy_ns.saturating_sub(row.own.cpu_ns)) as f64
    };
    let used: f64 = facts.pressed.iter().map(used).sum();
    let watched: f64 = facts.pressed.iter().map(|row| row.interval_ns as f64).sum();
    used < watched * f64::from(cpus) * CPU_ROOM
}

/// Whether the workers have room, judged by samples alone: a second passes between two readings of
/// PHP-FPM's status.
fn workers_have_room(facts: &Facts<'_>) -> bool {
    let Some(workers) = facts.workers() else { return false };
    let looks = facts.worker_samples();
    let busy = looks.iter().map(|(busy, _)| f64::from(*busy)).sum::<f64>();
    !looks.is_empty() && busy / (looks.len() as f64) < f64::from(workers) * WORKERS_ROOM
}

/// Whether no thread of a role is near its limit. If the threads were not read, the role's whole
/// use bounds that of any one thread.
fn threads_have_room(facts: &Facts<'_>, role: &str) -> bool {
    let share = facts.thread_share(role).or_else(|| facts.cpus_used(|name| name == role));
    share.is_some_and(|share| share < CPU_ROOM)
}

fn memory_has_room(facts: &Facts<'_>) -> bool {
    facts.record.isolation.memory_bytes == 0 || facts.memory_max() > 0
}

/// Whether the whole machine waited little for its disks (PSI `some`). A database that syncs to a
/// disk may wait for nothing else, so with a database this figure must be known.
fn disk_has_room(facts: &Facts<'_>) -> bool {
    let waited = |row: &ResourceSample| row.host.pressure_some_ns.get("io").copied();
    let waited: Option<u64> = facts.rows.iter().map(waited).sum();
    match waited {
        Some(waited) => (waited as f64) < facts.watched_ns() as f64 * DISK_SHARE,
        None => !facts.roles().contains(&DATABASE_ROLE),
    }
}

/// Whether everything that could limit the stack was visible. A database that stampede did not
/// start is not read. On CPUs that the load uses too, the room that was left is not known.
fn is_seen_whole(run: &RunRecord) -> bool {
    let is_hidden = |notice: &Fact<Notice>| {
        matches!(notice, Fact::Known(Notice::OwnDatabase { .. } | Notice::CpusShared {}))
    };
    !run.notices.iter().any(is_hidden)
}

/// The role of a web server in front.
const WEB_ROLE: &str = "web";
/// The share of the CPU time of a fully used stack. What the runtimes do differently is in the
/// rest.
const DATABASE_SHARE: f64 = 2.0 / 3.0;
/// The fewest readings. A single reading may show only a moment.
const FEWEST_READINGS: usize = 2;
/// The share of time. The kernel's own tools treat 10 % as trouble.
const DISK_SHARE: f64 = 0.1;

#[cfg(test)]
mod tests;
