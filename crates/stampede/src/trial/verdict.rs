//! Was it the runtime that was measured? A pure judgement of a trial's own records.
//!
//! The rules and their bounds are explained in `docs/how-it-measures.md`.

use std::collections::BTreeMap;

use crate::machine;
use crate::monitor::sample::ResourceSample;
use crate::runtime;
use crate::store::record::{Judged, LoadRecord, Verdict};
use crate::summary::words;
use stampede_load::report::{Counts, End};

/// What a verdict is made of.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// What the load did.
    pub load: &'a LoadRecord,
    /// Open or closed, with the bound of shots under way.
    pub model: ModelKind,
    /// Readings of the monitor during the measured load.
    pub resources: &'a [ResourceSample],
    /// What the runtime shows after the load and did not before it: `observed::changed`.
    pub changed: &'a [(Judged, String)],
    /// The kernel's clock source, empty when unknown.
    pub clock_source: &'a str,
    /// CPUs of the machine.
    pub machine_cpus: u32,
    /// Of the whole stack; 0: no limit.
    pub memory_limit_bytes: u64,
    /// Processes that the kernel ended for want of memory since the start, before the load too.
    pub oom_kills: u64,
    /// Processes that ended by themselves, in words.
    pub died: &'a [String],
}

/// The model, as far as a verdict needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// At most this many shots under way.
    Open {
        /// The bound.
        max_in_flight: u32,
    },
    /// Users.
    Closed,
}

/// Judges a trial: the worst of what the evidence says.
pub fn judge(evidence: &Evidence<'_>) -> Verdict {
    let mut verdict = Verdict { judged: Judged::Valid, reasons: Vec::new(), notes: Vec::new() };
    stopped(evidence, &mut verdict);
    generator_late(evidence, &mut verdict);
    generator_busy(evidence, &mut verdict);
    starved(evidence, &mut verdict);
    bookkeeping(evidence, &mut verdict);
    clipped(evidence, &mut verdict);
    closed_meanwhile(evidence, &mut verdict);
    ports(evidence, &mut verdict);
    about_machine(evidence, &mut verdict);
    memory(evidence, &mut verdict);
    changed(evidence, &mut verdict);
    verdict
}

/// A verdict for a trial without a load: it never came that far.
pub fn not_measured(reason: String) -> Verdict {
    Verdict { judged: Judged::Invalid, reasons: vec![reason], notes: Vec::new() }
}

/// How answers were read that a strict client refuses: [`Fired::odd`](stampede_load::Fired::odd) in
/// words.
pub fn odd_headers(odd: &BTreeMap<String, u64>) -> Vec<String> {
    let said = odd.iter().filter_map(|(kind, answers)| {
        let what = match kind.as_str() {
            "folded" => "folded header lines; a fold is read as one space",
            "blank-before-colon" => "a blank before the colon of a header; it is ignored",
            "no-field" => "header lines without a valid name; they are ignored, as in browsers",
            "empty-first" => "empty lines before the status line; they are ignored, as in browsers",
            _ => return None,
        };
        Some(match answers {
            1 => format!("1 answer has {what}"),
            many => format!("{} answers have {what}", words::count(*many)),
        })
    });
    said.collect()
}

/// Adds a reason, or what weighs nothing (`Judged::Valid`) as a note; each is said once.
pub fn add(verdict: &mut Verdict, judged: Judged, text: String) {
    verdict.judged = verdict.judged.max(judged);
    let said = match judged {
        Judged::Valid => &mut verdict.notes,
        Judged::Suspect | Judged::Invalid => &mut verdict.reasons,
    };
    if !said.contains(&text) {
        said.push(text);
    }
}

fn stopped(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    if evidence.load.end == End::Stopped {
        let seconds = evidence.load.lasted_ns as f64 / 1e9;
        add(verdict, Judged::Invalid, format!("stopped after {seconds:.1} s"));
    }
}

/// Why a load measured nothing of the app: nothing was answered, or all was sent elsewhere. `None`: some
/// of it was answered.
pub fn unanswered(load: &LoadRecord) -> Option<String> {
    let Counts { ok, failed, started, .. } = &load.counts;
    if *ok > 0 || *started == 0 || failed.is_empty() || load.end == End::Stopped {
        return None;
    }
    let all = |begin: &str| failed.keys().all(|kind| kind.starts_with(begin));
    let kinds: Vec<String> =
        failed.iter().map(|(kind, count)| format!("{} × `{kind}`", words::count(*count))).collect();
    let kinds = kinds.join(", ");
    match () {
        () if all("net:") => Some(format!("no request was answered: {kinds}")),
        () if all("http:3") => Some(format!("every request was redirected: {kinds}")),
        () => None,
    }
}

/// Late shots are ours, not the runtime's: open model only, a closed load has no due times.
fn generator_late(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let ModelKind::Open { max_in_flight } = evidence.model else { return };
    let load = evidence.load;
    let allowed = LATENESS_NS.max((load.service_time_ns_p50 as f64 * LATENESS_SHARE) as u64);
    if load.lateness_ns_p99 > allowed {
        let (late, allowed_ms) = (ms(load.lateness_ns_p99), ms(allowed));
        let text = format!("{GENERATOR_LATE} p99 lateness {late} ms, allowed {allowed_ms} ms");
        // A handful of late shots is beyond every percentile that is printed: only mean and
        // maximum can have it from them.
        let is_sure = load.lateness_ns_sure > allowed;
        add(verdict, if is_sure { Judged::Invalid } else { Judged::Suspect }, text);
    }
    // Shots dropped while there was room for them were dropped because we came too late;
    // those dropped with every slot taken were the runtime's doing.
    let had_room = load.in_flight_max < max_in_flight;
    let sent = load.counts.started as f64 / load.counts.planned.max(1) as f64;
    if had_room && load.end == End::Complete && sent < SENT_SHARE {
        let percent = sent * 100.0;
        add(verdict, Judged::Invalid, format!("{GENERATOR_SENT} {percent:.2} % of the shots"));
    }
}

/// What the generator did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// All shots were sent, some late: the runtime had it harder, for late ones come together.
    Late,
    /// Not all were sent.
    Short,
}

/// Whether a trial is invalid for the generator's own fault.
pub fn generators_fault(verdict: &Verdict) -> Option<Fault> {
    let says = |begin: &str| verdict.reasons.iter().any(|reason| reason.starts_with(begin));
    match verdict.judged {
        Judged::Invalid if says(GENERATOR_SENT) => Some(Fault::Short),
        Judged::Invalid if says(GENERATOR_LATE) => Some(Fault::Late),
        _ => None,
    }
}

/// That the kernel ended processes of the stack, if it did.
pub fn out_of_memory(verdict: &Verdict) -> Option<&String> {
    verdict.reasons.iter().find(|reason| reason.contains(WANT_OF_MEMORY))
}

fn generator_busy(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let share = evidence.load.busy_share_max;
    let percent = share * 100.0;
    match evidence.model {
        ModelKind::Open { .. } if share > BUSY_OPEN => {
            let text = format!("a load thread was {percent:.0} % busy");
            add(verdict, Judged::Suspect, text);
        }
        // The throughput is real, only not the runtime's limit.
        ModelKind::Closed if evidence.load.is_generators_limit() => {
            let rate = evidence.load.ok_inside as f64 / (evidence.load.scheduled_ns as f64 / 1e9);
            let rate = words::rate(rate);
            let text = format!("at least {rate}/s: the generator's limit ({percent:.0} % busy)");
            add(verdict, Judged::Valid, text);
        }
        _ => {}
    }
}

/// What was estimated before the start, observed.
fn memory(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let limit = evidence.memory_limit_bytes;
    let roles = || evidence.resources.iter().flat_map(|sample| sample.roles.values());
    let kills = roles().map(|role| role.oom_kills).sum::<u64>().max(evidence.oom_kills);
    let of = |sample: &ResourceSample| sample.roles.values().map(|role| role.memory_bytes).sum();
    let most: u64 = evidence.resources.iter().map(of).max().unwrap_or(0);
    let has = words::bytes(limit as f64);
    if kills > 0 {
        let ended = runtime::ended(kills);
        let text = format!(
            "{ended} {WANT_OF_MEMORY}: the stack has {has}, use fewer workers or more memory"
        );
        add(verdict, Judged::Suspect, text);
    } else if limit > 0 && most as f64 >= limit as f64 * FULL_SHARE {
        let most = words::bytes(most as f64);
        let text = format!("memory was full: {most} of {has}");
        add(verdict, Judged::Suspect, text);
    }
}

/// Who waited in vain while others were answered. Where nobody was, it is not who had the
/// connections that decided: the server's failures are the result.
fn starved(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let connections = &evidence.load.connections;
    let Counts { ok, failed, .. } = &evidence.load.counts;
    let some_answered = *ok > 0 || failed.keys().any(|kind| !kind.starts_with("net:"));
    if connections.never_answered > 0 && some_answered {
        let most = failed.iter().max_by_key(|(_, count)| **count);
        let why = match most {
            // They waited, in vain.
            None => "workers held by other connections".to_owned(),
            Some((kind, _)) if kind == "net:timeout" => {
                "workers held by other connections".to_owned()
            }
            Some((kind, count)) => format!("{} shots failed as `{kind}`", words::count(*count)),
        };
        let text = format!(
            "{} of {} connections got no answer in the whole trial: {why}",
            words::count(connections.never_answered),
            words::count(connections.opened)
        );
        add(verdict, Judged::Invalid, text);
    }
}

/// Little's law on our own figures: what the gauge integrated must be starts × service time.
fn bookkeeping(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let ratio = evidence.load.littles_law_ratio;
    let enough = evidence.load.counts.started >= LITTLE_STARTS;
    if enough && (ratio - 1.0).abs() > LITTLE_SHARE {
        let text = format!(
            "our own bookkeeping is off: Little's law gives {ratio:.3} instead of 1 (a bug of stampede)"
        );
        add(verdict, Judged::Suspect, text);
    }
}

/// Kept connections that end under a shot are the runtime's doing, and puzzle whoever sees them. One
/// that is kept had an answer before: more such ends than answers are something else.
fn closed_meanwhile(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let load = evidence.load;
    let of = |kind: &str| load.counts.failed.get(kind).copied().unwrap_or(0);
    let cut = of("net:cut-short") + of("net:reset");
    if load.keep_alive && cut > 0 && cut <= load.counts.ok {
        let text = format!(
            "{} of its shots met a kept connection that the server closed: servers do that when all \
             their threads are busy, most of all just after their start: warm up longer, or keep no \
             connections",
            words::count(cut)
        );
        add(verdict, Judged::Valid, text);
    }
}

/// A server that looks at the client's address sees more than one.
fn ports(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let sources = evidence.load.connections.sources;
    if sources > 1 {
        let text = format!(
            "127.0.0.1 ran out of ports: connections came from {sources} addresses of this machine, \
             127.0.0.1 to 127.0.0.{sources}"
        );
        add(verdict, Judged::Valid, text);
    }
}

fn clipped(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let clipped = evidence.load.clipped;
    if clipped > 0 {
        let text = format!("{clipped} shots took longer than an hour and are counted as an hour");
        add(verdict, Judged::Suspect, text);
    }
}

fn about_machine(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let clock = evidence.clock_source;
    if !clock.is_empty() && !machine::reads_without_a_system_call(clock) {
        add(verdict, Judged::Suspect, format!("clock source `{clock}` (exact: tsc, kvm-clock)"));
    }
    let steal: u64 = evidence.resources.iter().map(|sample| sample.host.steal_ns).sum();
    let time: u64 = evidence.resources.iter().map(|sample| sample.interval_ns).sum();
    let share = steal as f64 / (time.max(1) as f64 * f64::from(evidence.machine_cpus.max(1)));
    if share > machine::STEAL_MAX {
        let percent = share * 100.0;
        add(
            verdict,
            Judged::Suspect,
            format!("the host took {percent:.1} % of the CPU time away (steal)"),
        );
    }
    let throttled: u64 = evidence.resources.iter().map(|sample| sample.throttled_ns).sum();
    if throttled > 0 {
        add(verdict, Judged::Suspect, format!("the stack was throttled for {} ms", ms(throttled)));
    }
    for died in evidence.died {
        add(verdict, Judged::Suspect, died.clone());
    }
}

fn changed(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    for (judged, reason) in evidence.changed {
        add(verdict, *judged, reason.clone());
    }
}

fn ms(ns: u64) -> String {
    format!("{:.2}", ns as f64 / 1e6)
}

/// How these reasons begin.
const GENERATOR_LATE: &str = "the generator was late:";
const GENERATOR_SENT: &str = "the generator sent only";
/// What this reason holds.
const WANT_OF_MEMORY: &str = "for want of memory";
/// Lateness at p99 that an open load may have however short the service time: 1 ms.
pub const LATENESS_NS: u64 = 1_000_000;
/// … or this share of the median service time, whichever is more.
const LATENESS_SHARE: f64 = 0.05;
/// Share of the planned shots that must start.
pub const SENT_SHARE: f64 = 0.995;
/// Beyond it a load thread's queueing shows in the response times.
const BUSY_OPEN: f64 = 0.80;
/// Fewer starts than this say nothing about a ratio.
const LITTLE_STARTS: u64 = 100;
/// Further apart than this is not rounding.
const LITTLE_SHARE: f64 = 0.05;
/// From here on the kernel takes back what it can, and processes wait for it.
const FULL_SHARE: f64 = 0.95;

#[cfg(test)]
mod tests;
