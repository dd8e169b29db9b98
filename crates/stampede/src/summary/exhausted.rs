//! What of a stack had nothing left under a closed load: only then its throughput is its own.
//!
//! Where nothing was exhausted the load asked for no more, and throughput is a lower bound. That is
//! said only where every figure is there that could show the contrary: what was not read may have
//! been the limit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::input::TrialData;
use super::model::{CaseSummary, TrialSummary};
use super::why::facts::Facts;
use super::why::limits::{self, ALL_BUSY_SHARE, CPU_FULL, CPU_ROOM, WORKERS_ROOM};
use super::why::server;
use crate::fact::{Fact, Notice};
use crate::monitor::sample::ResourceSample;
use crate::runtime::DATABASE_ROLE;
use crate::store::record::{Judged, LoadModel, LogSignal, Provider, RunRecord};

/// Something of the stack, or of the load generator, that had nothing left. Shares are 0 … 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Exhausted {
    /// The load generator: the stack's own limit lies further up.
    Generator {
        /// Of the busiest load thread.
        busy_share: f64,
    },
    /// The memory limit, or PHP's own.
    Memory {
        /// At most.
        used_bytes: u64,
        /// Of the whole stack; 0: it has none.
        limit_bytes: u64,
        /// Processes that the kernel ended.
        kills: u64,
    },
    /// The web server took no more connections, and said so in its log.
    WebServer {
        /// Who said so.
        program: String,
        /// How often.
        lines: u64,
    },
    /// A queue of connections was full.
    ListenQueue {
        /// Whose; empty: not known.
        listener: String,
        /// Connections that it holds; 0: not known.
        backlog: u32,
        /// Connections that were dropped for want of room.
        drops: u64,
    },
    /// A CPU quota held the stack back.
    Quota {
        /// Of the time.
        share: f64,
    },
    /// The database: all CPUs that are its own, or most of those that it shares with the stack and
    /// that were all used.
    Database {
        /// Of these CPUs, by the database alone.
        share: f64,
        /// How many CPUs these are.
        cpus: u32,
    },
    /// All workers, while the CPU was not.
    Workers {
        /// How many there are.
        workers: u32,
        /// Looks at which all were busy.
        share: f64,
    },
    /// A thread that nobody can help: of a runtime with one worker, or of the web server in front.
    Thread {
        /// Its role: `php`, `web`.
        role: String,
        /// Of its time on a CPU.
        share: f64,
    },
    /// All CPUs of the budget.
    Cpu {
        /// Used.
        share: f64,
        /// How many there are.
        cpus: u32,
    },
    /// The CPUs that one role has for itself.
    RoleCpu {
        /// `php`, `web`.
        role: String,
        /// Used.
        share: f64,
        /// How many there are.
        cpus: u32,
    },
    /// The CPUs of the budget, of which other programs had a part: the workers wanted one at every
    /// look.
    CpuTaken {
        /// Used by the stack.
        share: f64,
        /// How many there are.
        cpus: u32,
    },
}

/// What of a trial's stack was exhausted; empty: nothing; `None`: not known, or its model is open.
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

/// Over the trials that count: what was exhausted in most of them, each with the figures of the
/// trial where it was the least. Empty where nothing was in any.
pub fn over(trials: &[TrialSummary]) -> Option<Vec<Exhausted>> {
    let counted: Vec<&TrialSummary> =
        trials.iter().filter(|trial| trial.verdict != Judged::Invalid).collect();
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

/// Why a throughput is a lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LowerBound {
    /// Nothing in the stack was exhausted: more users might have had more.
    NothingExhausted,
    /// The load generator was at its limit.
    Generator,
}

/// Why a case's throughput is a lower bound; `None`: it is none, or that is not known.
pub fn lower_bound(case: &CaseSummary) -> Option<LowerBound> {
    let exhausted = case.exhausted.as_ref()?;
    let is_generator = |one: &Exhausted| matches!(one, Exhausted::Generator { .. });
    match exhausted.is_empty() {
        true => Some(LowerBound::NothingExhausted),
        false => exhausted.iter().any(is_generator).then_some(LowerBound::Generator),
    }
}

/// Whether a case's throughput is surely a lower bound of what the stack can do.
pub fn is_lower_bound(case: &CaseSummary) -> bool {
    lower_bound(case).is_some()
}

/// The smallest share of its CPUs that a row used, where every row used at least 90 % of them and
/// none of them waited for its database: then the rows compare CPU cost. `None`: not all did, or
/// there are no rows.
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

/// Whether the database is the limit of every row: the runtime hardly matters. False where there
/// are no rows.
pub fn all_wait_for_database<'a>(cases: impl IntoIterator<Item = &'a CaseSummary>) -> bool {
    let mut cases = cases.into_iter().peekable();
    cases.peek().is_some()
        && cases.all(|case| case.exhausted.as_deref().is_some_and(waits_for_database))
}

fn waits_for_database(exhausted: &[Exhausted]) -> bool {
    exhausted.iter().any(|one| matches!(one, Exhausted::Database { .. }))
}

impl Exhausted {
    /// Whether both are about the same part of the stack.
    fn is_same_thing(&self, other: &Exhausted) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.role() == other.role()
    }

    fn role(&self) -> Option<&str> {
        match self {
            Exhausted::Thread { role, .. } | Exhausted::RoleCpu { role, .. } => Some(role),
            _ => None,
        }
    }

    /// How far, to compare trials by.
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

type Look = fn(&Facts<'_>) -> Vec<Exhausted>;

/// In the order of `why`: what explains most directly first.
const ALL: [Look; 8] = [generator, memory, web_server, listen_queue, quota, cpus, workers, threads];

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
    let mut said =
        facts.said(LogSignal::WebServerLimit).chain(facts.said(LogSignal::WebServerFull));
    let first = server::limit(facts).and_then(|_| said.next());
    let exhausted =
        first.map(|said| Exhausted::WebServer { program: said.program.clone(), lines: said.lines });
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
    let share = facts.throttled_ns() as f64 / facts.watched_ns().max(1) as f64;
    limits::throttled(facts).map(|_| Exhausted::Quota { share }).into_iter().collect()
}

/// Of every set of CPUs that some roles have together.
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

/// CPUs, and the roles that run on them.
struct Pool<'a> {
    roles: Vec<&'a str>,
    cpus: u32,
}

/// By the CPUs that each role had. Results of before have these only where all roles share the
/// budget's.
fn pools<'a>(facts: &Facts<'a>) -> Vec<Pool<'a>> {
    let record = facts.record;
    let by_role = &record.isolation.cpus_by_role;
    let roles = facts.roles();
    if by_role.is_empty() {
        let is_shared = !record.budget_unequal && !has_own_cpus(facts);
        let pool = Pool { roles, cpus: record.budget_cpus };
        return if is_shared && record.budget_cpus > 0 { vec![pool] } else { Vec::new() };
    }
    let mut pools: BTreeMap<&Vec<usize>, Vec<&str>> = BTreeMap::new();
    for role in roles {
        let Some(cpus) = by_role.get(role).filter(|cpus| !cpus.is_empty()) else {
            return Vec::new();
        };
        pools.entry(cpus).or_default().push(role);
    }
    pools.into_iter().map(|(cpus, roles)| Pool { roles, cpus: cpus.len() as u32 }).collect()
}

/// Whether a database runs beside the stack's CPUs.
fn has_own_cpus(facts: &Facts<'_>) -> bool {
    let setting = facts.runtime().settings.get("database_cpus");
    setting.and_then(serde_json::Value::as_str) == Some("beside")
        && facts.roles().contains(&DATABASE_ROLE)
}

impl Pool<'_> {
    fn is_database(&self) -> bool {
        self.roles == [DATABASE_ROLE]
    }

    /// Share of its CPUs that some of its roles used.
    fn share(&self, facts: &Facts<'_>, of: impl Fn(&str) -> bool) -> Option<f64> {
        let used = facts.cpus_used(|role| self.roles.contains(&role) && of(role))?;
        Some(used / f64::from(self.cpus))
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

/// They are all busy also where the CPU is the limit: then they wait for it.
fn workers(facts: &Facts<'_>) -> Vec<Exhausted> {
    let found = facts.workers().zip(facts.all_busy_share());
    let found = found.filter(|(_, share)| {
        *share >= ALL_BUSY_SHARE && facts.is_at_its_workers() && !limits::is_cpu_bound(facts)
    });
    found.map(|(workers, share)| Exhausted::Workers { workers, share }).into_iter().collect()
}

/// One of several workers that is busy is no limit, for the others are there.
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

/// Whether everything that can be exhausted was looked at and was far from it.
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

/// What was already running has CPUs of its own, and nobody knows how many of them it may use.
fn is_ours(facts: &Facts<'_>) -> bool {
    facts.runtime().given.provider == Provider::Native
}

fn cpus_have_room(facts: &Facts<'_>) -> bool {
    let pools = pools(facts);
    let has_room =
        |pool: &Pool<'_>| pool.share(facts, |_| true).is_some_and(|share| share < CPU_ROOM);
    !pools.is_empty() && pools.iter().all(has_room) && !limits::is_cpu_bound(facts)
}

/// What other programs of the machine used may have been the stack's CPUs: what is left of these is
/// at least what neither took.
fn others_left_room(facts: &Facts<'_>) -> bool {
    let cpus: u32 = pools(facts).iter().map(|pool| pool.cpus).sum();
    let used = |row: &&ResourceSample| {
        let stack: u64 = row.roles.values().map(|role| role.cpu_ns).sum();
        // Of stampede itself the load has its own CPUs.
        stack.max(row.host.cpu_busy_ns.saturating_sub(row.own.cpu_ns)) as f64
    };
    let used: f64 = facts.pressed.iter().map(used).sum();
    let watched: f64 = facts.pressed.iter().map(|row| row.interval_ns as f64).sum();
    used < watched * f64::from(cpus) * CPU_ROOM
}

/// Told by looks alone: between two readings of PHP-FPM's status there is a second.
fn workers_have_room(facts: &Facts<'_>) -> bool {
    let Some(workers) = facts.workers() else { return false };
    let looks = facts.looks();
    let busy = looks.iter().map(|(busy, _)| f64::from(*busy)).sum::<f64>();
    !looks.is_empty() && busy / (looks.len() as f64) < f64::from(workers) * WORKERS_ROOM
}

/// A role that used less than that of one CPU has no thread that used more.
fn threads_have_room(facts: &Facts<'_>, role: &str) -> bool {
    let share = facts.thread_share(role).or_else(|| facts.cpus_used(|name| name == role));
    share.is_some_and(|share| share < CPU_ROOM)
}

fn memory_has_room(facts: &Facts<'_>) -> bool {
    facts.record.isolation.memory_bytes == 0 || facts.memory_max() > 0
}

/// Of the whole machine (PSI `some`); a database that syncs to a disk may wait for nothing else, so
/// where there is one it must be known.
fn disk_has_room(facts: &Facts<'_>) -> bool {
    let waited = |row: &ResourceSample| row.host.pressure_some_ns.get("io").copied();
    let waited: Option<u64> = facts.rows.iter().map(waited).sum();
    match waited {
        Some(waited) => (waited as f64) < facts.watched_ns() as f64 * DISK_SHARE,
        None => !facts.roles().contains(&DATABASE_ROLE),
    }
}

/// A database that stampede did not start is not watched, and of CPUs that the load has too nobody
/// knows what was left.
fn is_seen_whole(run: &RunRecord) -> bool {
    let is_hidden = |notice: &Fact<Notice>| {
        matches!(notice, Fact::Known(Notice::OwnDatabase { .. } | Notice::CpusShared {}))
    };
    !run.notices.iter().any(is_hidden)
}

/// The role of a web server in front.
const WEB_ROLE: &str = "web";
/// Of the CPU time of a stack that used all of it: what the runtimes do differently is in the rest.
const DATABASE_SHARE: f64 = 2.0 / 3.0;
/// One reading may be of a moment.
const FEWEST_READINGS: usize = 2;
/// The kernel's own tools call 10 % trouble.
const DISK_SHARE: f64 = 0.1;

#[cfg(test)]
mod tests;
