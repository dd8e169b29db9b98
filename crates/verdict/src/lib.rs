//! Decides whether a trial measured the runtime, or something else. Judges only from the trial's
//! own records, without side effects.
//!
//! The rules and their bounds are explained in `docs/how-it-measures.md`.

mod agents;
mod others;

use std::collections::BTreeMap;

use stampede_load::LoadResult;
use stampede_load::protocol::Aside;
use stampede_model::counts::{Counts, End};
use stampede_model::fact::{self, Fact, Failure, Generator, Machine, Reason, Server, Traffic};
use stampede_model::failure::{FailureKind, Net};
use stampede_model::kept::{KeptConnections, StaleConnections};
use stampede_model::lag::LagMark;
use stampede_model::record::{LoadRecord, Validity, Verdict};
use stampede_model::sample::ResourceSample;
use stampede_monitor::machine;

use stampede_results::summary::in_flight::OFF_SHARE;

pub use agents::about_agents;

/// A fact about a trial, and how the trial is judged because of it.
pub type Judgement = (Validity, Fact<Reason>);

/// The evidence that a verdict is based on.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// What the load did.
    pub load: &'a LoadRecord,
    /// The load model, with the limit of requests in flight.
    pub model: ModelKind,
    /// Readings of the monitor during the measured load.
    pub resources: &'a [ResourceSample],
    /// What the runtime shows after the load and did not show before it: `observed::changed`.
    pub changed: &'a [Judgement],
    /// The kernel's clock source, empty when unknown.
    pub clock_source: &'a str,
    /// CPUs of the machine.
    pub machine_cpus: u32,
    /// Whether `resources` has the CPU time of the whole stack and of the whole generator. It does not
    /// where stampede did not start the stack, or where agents send the load.
    pub all_watched: bool,
    /// Whether a container engine of this machine runs the stack: its own work is then a part of what
    /// the stack costs, and no disturbance.
    pub has_containers: bool,
    /// Memory limit of the whole stack in bytes; 0: no limit.
    pub memory_limit_bytes: u64,
    /// Number of processes that the kernel ended for lack of memory since the start, also before
    /// the load.
    pub oom_kills: u64,
    /// Processes that ended by themselves.
    pub died: &'a [Server],
}

/// The load model, as far as a verdict needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// Open model: requests are scheduled.
    Open {
        /// The most requests in flight.
        max_in_flight: u32,
    },
    /// Closed model: a fixed concurrency.
    Closed,
}

/// Judges a trial. The verdict is the worst judgement that any evidence leads to.
pub fn judge(evidence: &Evidence<'_>) -> Verdict {
    let mut verdict = Verdict { judged: Validity::Valid, reasons: Vec::new(), notes: Vec::new() };
    check_end(evidence, &mut verdict);
    generator_late(evidence, &mut verdict);
    generator_busy(evidence, &mut verdict);
    check_starvation(evidence, &mut verdict);
    check_littles_law(evidence, &mut verdict);
    clipped(evidence, &mut verdict);
    note_closed_connections(evidence, &mut verdict);
    note_source_addresses(evidence, &mut verdict);
    check_machine(evidence, &mut verdict);
    memory(evidence, &mut verdict);
    changed(evidence, &mut verdict);
    verdict
}

/// The verdict for a trial that ended before its load.
pub fn not_measured(reasons: Vec<Fact<Reason>>) -> Verdict {
    Verdict { judged: Validity::Invalid, reasons, notes: Vec::new() }
}

/// Notes about answers that stampede could read although a strict client refuses them, and about
/// what the server sent besides answers.
pub fn about_answers(result: &LoadResult) -> impl Iterator<Item = Judgement> {
    let beside = beside_answers(result.aside, &result.counts, &result.connections.kept);
    let notes = odd_headers(&result.odd).chain(beside);
    notes.map(|note| (Validity::Valid, note.into()))
}

fn odd_headers(odd: &BTreeMap<String, u64>) -> impl Iterator<Item = Traffic> {
    odd.iter().map(|(kind, answers)| Traffic::OddHeaders { kind: kind.clone(), answers: *answers })
}

fn beside_answers(
    aside: Aside,
    counts: &Counts,
    kept: &KeptConnections,
) -> impl Iterator<Item = Traffic> {
    let (answers, bytes) = (aside.surplus_answers, aside.stderr_bytes);
    // All other stale requests met a closed connection.
    let closed = kept.stale.map_or(0, |stale| stale.requests);
    let requests = FailureKind::Net(Net::Stale).count(&counts.failed).saturating_sub(closed);
    let surplus = (answers > 0).then_some(Traffic::BytesAfterAnswers { answers, requests });
    let errors = (bytes > 0).then_some(Traffic::ErrorStream { bytes });
    surplus.into_iter().chain(errors)
}

/// Adds a reason to the verdict, or a note if the judgement is `Validity::Valid`. Each fact is listed
/// once.
pub fn add(verdict: &mut Verdict, judged: Validity, reason: impl Into<Fact<Reason>>) {
    verdict.judged = verdict.judged.max(judged);
    let facts = match judged {
        Validity::Valid => &mut verdict.notes,
        Validity::Suspect | Validity::Invalid => &mut verdict.reasons,
    };
    fact::add(facts, reason);
}

fn check_end(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    if evidence.load.end == End::Stopped {
        let lasted_ns = evidence.load.lasted_ns;
        add(verdict, Validity::Invalid, Traffic::Stopped { lasted_ns });
    }
}

/// Why a load measured nothing of the app: nothing was answered, or everything was redirected.
/// `None`: some request was answered otherwise.
pub fn unanswered(load: &LoadRecord) -> Option<Traffic> {
    let Counts { ok, failed, started, .. } = &load.counts;
    if *ok > 0 || *started == 0 || failed.is_empty() || load.end == End::Stopped {
        return None;
    }
    let all = |is_it: fn(FailureKind) -> bool| failed.keys().all(|key| is_it(FailureKind::of(key)));
    let failed = failed.clone();
    match () {
        () if all(|kind| !kind.is_answered()) => Some(Traffic::NoAnswer { failed }),
        () if all(FailureKind::is_redirect) => Some(Traffic::AllRedirected { failed }),
        () => None,
    }
}

/// Late requests are the generator's fault, not the runtime's. They are judged by their effect on
/// the printed figures: a few ms are nothing beside a wait of half a second, and most of an answer
/// within 30 µs. Open model only: a closed load has no due times.
fn generator_late(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let ModelKind::Open { max_in_flight } = evidence.model else { return };
    let load = evidence.load;
    let weighs = |mark: &&LagMark| mark.judged() > Validity::Valid;
    let figures: Vec<LagMark> = load.lag_marks.iter().filter(weighs).copied().collect();
    if let Some(judged) = figures.iter().map(LagMark::judged).max() {
        add(verdict, judged, Generator::Lag { figures });
    }
    // Requests that were dropped while there was room for them were dropped because the generator
    // was late. Those that were dropped with all slots taken were the runtime's fault.
    let had_room = load.in_flight_max < max_in_flight;
    let sent = load.counts.started as f64 / load.counts.planned.max(1) as f64;
    if had_room && load.end == End::Complete && sent < SENT_SHARE {
        add(verdict, Validity::Invalid, Generator::Short { sent_share: sent });
    }
}

/// A fault of the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// All requests were sent, some of them late. This was harder for the runtime, since late
    /// requests come in bursts.
    Late,
    /// Not all requests were sent.
    Short,
}

/// The generator's fault for which a trial is invalid; `None`: there is no such fault.
pub fn generators_fault(verdict: &Verdict) -> Option<Fault> {
    let is_late = |reason: &Generator| match reason {
        Generator::Lag { figures } => figures.iter().any(|one| one.judged() == Validity::Invalid),
        _ => false,
    };
    let has = |is_it: fn(&Generator) -> bool| {
        verdict.reasons.iter().any(|reason| match reason.known() {
            Some(Reason::Generator(reason)) => is_it(reason),
            _ => false,
        })
    };
    match verdict.judged {
        Validity::Invalid if has(|one| matches!(one, Generator::Short { .. })) => {
            Some(Fault::Short)
        }
        Validity::Invalid if has(is_late) => Some(Fault::Late),
        _ => None,
    }
}

/// The reason that the kernel ended processes of the stack for lack of memory; `None`: it did not.
pub fn out_of_memory(verdict: &Verdict) -> Option<&Fact<Reason>> {
    let is_it = |reason: &&Fact<Reason>| {
        matches!(reason.known(), Some(Reason::Machine(Machine::OutOfMemory { .. })))
    };
    verdict.reasons.iter().find(is_it)
}

fn generator_busy(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let busy_share = evidence.load.busy_share_max;
    match evidence.model {
        ModelKind::Open { .. } if busy_share > BUSY_OPEN => {
            add(verdict, Validity::Suspect, Generator::Busy { busy_share });
        }
        // The throughput is correct, but it is the generator's limit and not the runtime's.
        ModelKind::Closed if evidence.load.is_generators_limit() => {
            let seconds = evidence.load.scheduled_ns as f64 / 1e9;
            let rate_per_s = evidence.load.ok_inside as f64 / seconds;
            // JSON has no infinity.
            if rate_per_s.is_finite() {
                add(verdict, Validity::Valid, Generator::Limit { rate_per_s, busy_share });
            }
        }
        _ => {}
    }
}

/// Compares the memory that the stack used with its limit. Before the start this was only
/// estimated.
fn memory(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let limit_bytes = evidence.memory_limit_bytes;
    let roles = || evidence.resources.iter().flat_map(|sample| sample.roles.values());
    let kills = roles().map(|role| role.oom_kills).sum::<u64>().max(evidence.oom_kills);
    let of = |sample: &ResourceSample| sample.roles.values().map(|role| role.memory_bytes).sum();
    let peak_bytes: u64 = evidence.resources.iter().map(of).max().unwrap_or(0);
    let is_full = limit_bytes > 0 && peak_bytes as f64 >= limit_bytes as f64 * FULL_SHARE;
    if kills > 0 {
        add(verdict, Validity::Suspect, Machine::OutOfMemory { kills, limit_bytes });
    } else if is_full {
        add(verdict, Validity::Suspect, Machine::MemoryFull { peak_bytes, limit_bytes });
    }
}

/// Invalid if connections waited in vain while others were answered. If nobody was answered, it did
/// not matter who had the connections: the server's failures are the result.
fn check_starvation(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let connections = &evidence.load.connections;
    let Counts { ok, failed, .. } = &evidence.load.counts;
    let some_answered = *ok > 0 || failed.keys().any(|key| FailureKind::of(key).is_answered());
    if connections.never_answered > 0 && some_answered {
        let most = failed.iter().max_by_key(|(_, count)| **count);
        // A timed-out request waited in vain itself: it does not explain why.
        let most = most.filter(|(key, _)| FailureKind::of(key) != FailureKind::TIMEOUT);
        let failure = most.map(|(kind, count)| Failure { kind: kind.clone(), requests: *count });
        let opened = connections.opened + connections.from_warm_up;
        let connections = connections.never_answered;
        add(verdict, Validity::Invalid, Traffic::Starved { connections, opened, failure });
    }
}

/// Checks our own figures with Little's law: the integral of the in-flight gauge must equal starts
/// × service time.
fn check_littles_law(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let littles_law_ratio = evidence.load.littles_law_ratio;
    let enough = evidence.load.counts.started >= LITTLE_STARTS;
    if enough && (littles_law_ratio - 1.0).abs() > OFF_SHARE {
        let in_flight_mean = evidence.load.in_flight_mean.filter(|_| littles_law_ratio > 0.0);
        let in_flight_expected = in_flight_mean.map(|mean| mean / littles_law_ratio);
        let off = Generator::Bookkeeping { littles_law_ratio, in_flight_mean, in_flight_expected };
        add(verdict, Validity::Suspect, off);
    }
}

/// Notes kept connections that the runtime closed when a request was sent on them, since such
/// failures puzzle their readers.
fn note_closed_connections(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let kept = &evidence.load.connections.kept;
    if let Some(StaleConnections { requests, .. }) = kept.stale {
        let limit = kept.limit();
        add(verdict, Validity::Valid, Traffic::ConnectionsClosed { requests, limit });
    }
}

/// Notes that the load used several source addresses: a server that looks at the client's address
/// sees more than one.
fn note_source_addresses(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let addresses = evidence.load.connections.sources;
    if addresses > 1 {
        add(verdict, Validity::Valid, Machine::PortsExhausted { addresses });
    }
}

fn clipped(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let requests = evidence.load.clipped;
    if requests > 0 {
        add(verdict, Validity::Suspect, Generator::Clipped { requests });
    }
}

fn check_machine(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let source = evidence.clock_source;
    if !source.is_empty() && !machine::reads_without_a_system_call(source) {
        add(verdict, Validity::Suspect, Machine::SlowClock { source: source.to_owned() });
    }
    let steal: u64 = evidence.resources.iter().map(|sample| sample.host.steal_ns).sum();
    let time: u64 = evidence.resources.iter().map(|sample| sample.interval_ns).sum();
    let share = steal as f64 / (time.max(1) as f64 * f64::from(evidence.machine_cpus.max(1)));
    if share > machine::STEAL_MAX {
        add(verdict, Validity::Suspect, Machine::Steal { share });
    }
    let throttled_ns: u64 = evidence.resources.iter().map(|sample| sample.throttled_ns).sum();
    if throttled_ns > 0 {
        add(verdict, Validity::Suspect, Machine::Throttled { throttled_ns });
    }
    for (judged, reason) in others::about(evidence) {
        add(verdict, judged, reason);
    }
    for died in evidence.died {
        add(verdict, Validity::Suspect, died.clone());
    }
}

fn changed(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    for (judged, reason) in evidence.changed {
        add(verdict, *judged, reason.clone());
    }
}

/// The share of the planned requests that must start.
pub const SENT_SHARE: f64 = 0.995;
/// Above this share of busy time, the load thread's own queueing shows in the response times.
const BUSY_OPEN: f64 = 0.80;
/// With fewer starts than this, the ratio of Little's law says nothing.
const LITTLE_STARTS: u64 = 100;
/// The share of the memory limit from which the kernel reclaims what it can, and processes wait for
/// it.
const FULL_SHARE: f64 = 0.95;

#[cfg(test)]
mod tests;
