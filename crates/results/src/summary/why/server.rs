//! Judges causes around the web server: its limits, what it logged about PHP behind it, full
//! queues, and a delay that TCP causes.

use std::cmp::Reverse;

use stampede_model::fact::LimitFound;
use stampede_model::fact::limit_found::{StatusCount, times_text};
use stampede_model::failure::{FailureKind, Net};
use stampede_model::record::{LogEvidence, LogSignal};
use stampede_model::sample::ListenerSample;
use stampede_model::words;

use super::facts::Facts;
use super::limits::line;
use super::{Cause, Diagnosis, Novelty};

/// The web server logged that it accepts no more connections, and requests had to wait or were
/// turned away. The log line alone is no cause: a server may log it long before a request waits.
/// Nor is an app's own 404, which the server did not cause.
pub fn limit(facts: &Facts<'_>) -> Option<Diagnosis> {
    // nginx answers 500 when it has no connection left for PHP.
    let turned_away = facts.turned_away() + facts.status(500);
    let met = (turned_away > 0 || facts.is_crowded())
        .then(|| facts.log_entries(LogSignal::WebServerLimit));
    let is_full = facts.is_at_its_workers() && (facts.turned_away() > 0 || facts.is_crowded());
    let full = is_full.then(|| facts.log_entries(LogSignal::WebServerFull));
    let mut all = met.into_iter().flatten().chain(full.into_iter().flatten());
    let entry = all.next()?;
    let found = LimitFound::WebServerLimit {
        program: entry.program.clone(),
        times: entry.lines,
        line: entry.first.clone(),
    };
    Some(Diagnosis::new(Cause::WebServer, found).with_all(all.map(beside(entry))))
}

/// A log line, marked by whether it says more than the one that the text quotes.
fn beside(quoted: &LogEvidence) -> impl Fn(&LogEvidence) -> (Novelty, String) {
    |entry| (Novelty::more_if(entry.first != quoted.first), line(entry))
}

/// Failing statuses that no server of the stack explains: the app itself gave them.
pub fn app(facts: &Facts<'_>) -> Option<Diagnosis> {
    let has = |means| facts.log_entries(means).next().is_some();
    let is_explained = |status: u16| match status {
        500 => {
            let of_front =
                [LogSignal::UpstreamGone500, LogSignal::WebServerLimit, LogSignal::PhpMemory];
            of_front.into_iter().any(has)
        }
        // A server may get these statuses from another server, or give them itself.
        other => STATUSES.contains(&other),
    };
    let statuses = facts.load.counts.failed.iter().filter_map(|(kind, count)| {
        let FailureKind::Http(status) = FailureKind::of(kind) else { return None };
        (!is_explained(status)).then_some(StatusCount { status, times: *count })
    });
    let mut statuses: Vec<_> = statuses.collect();
    if statuses.is_empty() {
        return None;
    }
    statuses.sort_unstable_by_key(|one| Reverse((one.times, one.status)));
    let others = statuses.split_off(statuses.len().min(APP_STATUSES));
    let found = LimitFound::AppFailed { statuses };
    Some(Diagnosis::new(Cause::App, found).with(others.iter().map(StatusCount::to_string)))
}

/// Status 502, 503 or 504 with the log line that explains it. Status 500, which an app may give
/// itself, counts only if a web server uses it for a failed PHP.
pub fn upstream(facts: &Facts<'_>) -> Option<Diagnosis> {
    let timeouts = facts.log_entries(LogSignal::UpstreamTimeout);
    let own = || facts.log_entries(LogSignal::UpstreamGone500);
    let gone = own().chain(facts.log_entries(LogSignal::UpstreamGone));
    // The lines that fit the status come first: a PHP that is gone is not slow.
    let (of_504, of_502): (Vec<_>, Vec<_>) = (timeouts.collect(), gone.collect());
    let lines = |status| match status {
        504 => of_504.iter().chain(&of_502).collect::<Vec<_>>(),
        _ => of_502.iter().chain(&of_504).collect(),
    };
    let statuses = STATUSES.into_iter().chain(own().next().map(|_| 500));
    let failed: Vec<_> = statuses.map(|status| (facts.status(status), status)).collect();
    let (count, status) = failed.iter().copied().max().filter(|(count, _)| *count > 0)?;
    let lines = lines(status);
    let first = lines.first()?;
    // There is about one line per failure. An app may give such a status itself, for example during
    // maintenance.
    let logged: u64 = lines.iter().map(|entry| entry.lines).sum();
    if logged * LOGGED_SHARE < count {
        return None;
    }
    let (program, line) = (first.program.clone(), first.first.clone());
    let found = LimitFound::UpstreamFailed { status, times: count, program, line };
    let others = failed.into_iter().filter(|(count, other)| *count > 0 && *other != status);
    let others = others.map(|(count, status)| format!("{status} {}", times_text(count)));
    let evidence = lines.iter().map(|entry| beside(first)(entry));
    Some(Diagnosis::new(Cause::Upstream, found).with(others).with_all(evidence))
}

/// Connections were refused or dropped because a queue was full.
pub fn backlog(facts: &Facts<'_>) -> Option<Diagnosis> {
    let full = full_queue(facts);
    // A queue that was full once but delayed no request is no cause.
    let is_felt = facts.turned_away() > 0 || facts.is_crowded();
    let entry = facts.log_entries(LogSignal::Backlog).next().filter(|_| is_felt);
    let refused = FailureKind::Net(Net::QueueFull).count(&facts.load.counts.failed);
    // If the stack's own sockets were not read, the machine's counters are the only evidence.
    let unseen = facts.listeners.is_empty();
    let dropped: u64 = facts.rows.iter().map(|row| row.host.listen_overflows).sum();
    let found = match (full, entry) {
        (Some((name, one)), _) if one.drops > 0 => LimitFound::QueueDropped {
            listener: name.to_owned(),
            backlog: one.backlog,
            drops: one.drops,
        },
        (Some((name, one)), entry) => LimitFound::QueueFull {
            listener: name.to_owned(),
            backlog: one.backlog,
            program: entry.map(|entry| entry.program.clone()),
            times: entry.map_or(0, |entry| entry.lines),
        },
        (None, Some(entry)) => LimitFound::QueueRefused {
            program: entry.program.clone(),
            times: entry.lines,
            line: entry.first.clone(),
        },
        (None, None) if refused > 0 => LimitFound::QueueMet { requests: refused },
        (None, None) if unseen && dropped > 0 && is_felt => {
            LimitFound::MachineQueueFull { times: dropped }
        }
        (None, None) => return None,
    };
    let waited = full
        .filter(|(_, one)| one.queued_max > 0)
        .map(|(name, one)| format!("up to {} connections waited at {name}", one.queued_max));
    // If no queue is known to be full, the text already quotes this line.
    let evidence = entry.map(|entry| (Novelty::more_if(full.is_some()), line(entry)));
    Some(Diagnosis::new(Cause::Backlog, found).with(waited).with_all(evidence))
}

/// The stack's own queue that was full. If several were, the worst one.
///
/// The kernel also counts packets as drops that had nothing to do with the queue. So drops count only
/// if there were enough requests in flight to fill it.
pub fn full_queue<'a>(facts: &'a Facts<'_>) -> Option<(&'a str, &'a ListenerSample)> {
    let is_fillable = |one: &ListenerSample| facts.load.in_flight_max > one.backlog;
    let full = facts
        .listeners
        .iter()
        .filter(|(_, one)| one.drops > 0 && is_fillable(one) || one.queued_max > one.backlog);
    let worst = full.max_by_key(|(_, one)| (one.drops, one.queued_max));
    worst.map(|(name, one)| (*name, one))
}

/// One side holds back the rest of its answer until an acknowledgement arrives (RFC 896). The other
/// side delays the acknowledgement for 40 ms (RFC 1122, 4.2.3.2; `TCP_DELACK_MIN`). Meanwhile
/// nothing else happens.
pub fn nagle(facts: &Facts<'_>) -> Option<Diagnosis> {
    let times = &facts.times?.service_time;
    let answered = times.len();
    let workers = facts.worker_samples();
    let range = if workers.is_empty() { PILE_NS } else { WATCHED_PILE_NS };
    let piled: u64 = times
        .histogram()
        .iter_recorded()
        .filter(|step| (range.0..range.1).contains(&step.value_iterated_to()))
        .map(|step| step.count_at_value())
        .sum();
    let delayed: u64 = facts.rows.iter().map(|row| row.host.delayed_acks).sum();
    let share = piled as f64 / answered.max(1) as f64;
    let under_way = times.mean() * answered as f64 / facts.load.lasted_ns.max(1) as f64;
    let is_served = serving(facts, &workers).is_some_and(|busy| busy > under_way * SERVED_SHARE);
    let is_busy = facts.cpu_share().is_some_and(|share| share > IDLE);
    if answered < ANSWERED_MIN || share < PILED_SHARE || 2 * delayed < piled || is_busy || is_served
    {
        return None;
    }
    let found = LimitFound::TcpDelay { share, cpu_share: facts.cpu_share() };
    let acks = format!(
        "{} acknowledgements were sent late, for {} answers",
        words::count(delayed),
        words::count(answered)
    );
    Some(Diagnosis::new(Cause::Nagle, found).with([acks]))
}

/// How many workers had a request on average, of these samples (busy, running). An app may itself
/// take 40 ms: then this is as many as there are requests in flight. `None`: no worker was seen.
///
/// On a full machine a worker that only returns to its wait is runnable for milliseconds. More
/// workers than the CPUs that the stack used did not compute.
fn serving(facts: &Facts<'_>, workers: &[(u32, u32)]) -> Option<f64> {
    let mean = |of: fn(&(u32, u32)) -> u32| {
        workers.iter().map(|one| f64::from(of(one))).sum::<f64>() / workers.len() as f64
    };
    let (busy, running) = (mean(|one| one.0), mean(|one| one.1));
    let computing = facts.cpus_used(|_| true).map_or(running, |used| running.min(used));
    (!workers.is_empty()).then_some(busy - running + computing)
}

/// The statuses that a web server gives when PHP does not answer.
const STATUSES: [u16; 3] = [502, 503, 504];
/// At most this many failures per log line. With fewer lines, they explain only a few of the
/// failures.
const LOGGED_SHARE: u64 = 10;
/// Most statuses named in the sentence. Further ones are listed as evidence.
const APP_STATUSES: usize = 3;
/// The range of a delayed answer, in ns. It begins at the kernel's shortest delay of an
/// acknowledgement. It includes the tick that ends the delay, the time of the answer itself, and
/// what a busy machine adds.
const PILE_NS: (u64, u64) = (39_000_000, 60_000_000);
/// The same where the workers are watched, so that an app that takes that long is recognised. On a
/// machine with a slow clock tick the kernel's delay grows by half (`tcp_event_data_recv`).
const WATCHED_PILE_NS: (u64, u64) = (39_000_000, 80_000_000);
/// The share of the answers that must be in this range.
const PILED_SHARE: f64 = 0.5;
/// The fewest answers from which such a share means something.
const ANSWERED_MIN: u64 = 20;
/// If at least this share of the requests in flight has a busy worker, the app itself takes the
/// time.
const SERVED_SHARE: f64 = 0.5;
/// The CPU share up to which a stack waits rather than works.
const IDLE: f64 = 0.5;
