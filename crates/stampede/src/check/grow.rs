//! What grows over thousands of requests to one worker, and which request makes it grow.

use std::path::Path;

use stampede_load::ammo::Request;
use stampede_load::spec::{
    Address, Check, ConnectionHabit, Habits, HttpVersion, Load, Model, Until,
};

use super::amount::amount;
use super::growth;
use super::model::{Asked, Finding, FindingKind, Growth, GrowthOf, Step};
use super::signs::of_growth;
use super::stand::{Bench, Stand};
use super::text;
use super::watch::{Sizes, Worker};
use crate::interrupt;
use crate::plan::model::RuntimeChoice;
use crate::runtime::{RuntimeError, WatchMode};

/// How much is asked.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Requests in all.
    pub requests: u64,
    /// Bytes that a worker may have; 0: PHP's usual limit.
    pub memory_bytes: u64,
}

/// What was measured.
#[derive(Debug, Default)]
pub struct Grown {
    /// Of each thing that may grow.
    pub growth: Vec<Growth>,
    /// A finding for each that does.
    pub findings: Vec<Finding>,
    /// Requests sent.
    pub sent: u64,
}

/// Looks between begin and end at what is counted from outside.
const BLOCKS: u64 = 20;
/// Requests with which one part of the list is tried.
const PART: u64 = 2_000;
/// Files that are counted at most: more are many.
const FILES_MAX: usize = 100_000;
/// Requests that a finding names.
const STEPS_MAX: usize = 10;
/// Statuses that are an answer.
const STATUSES: std::ops::Range<u16> = 100..600;

/// One fresh start, and what it looked like as requests were served.
struct Series {
    sizes: Vec<Sizes>,
    files: Vec<(u64, f64)>,
    sent: u64,
}

/// Measures, and names the request.
///
/// # Errors
/// It does not start.
pub fn measure(
    bench: &Bench,
    choice: &RuntimeChoice,
    steps: &[Step],
    wanted: Wanted,
) -> Result<Grown, RuntimeError> {
    let series = fire(bench, choice, steps, wanted.requests)?;
    let mut grown =
        Grown { growth: judged(&series, wanted), sent: series.sent, ..Grown::default() };
    for one in grown.growth.clone().iter().filter(|one| one.grows) {
        if one.of == GrowthOf::Memory && is_told_by_heap(&grown.growth) {
            continue;
        }
        let (culprits, sent) = culprits(bench, choice, steps, one.of, wanted)?;
        grown.sent += sent;
        // How much it is with each of just these.
        let alone = fire(bench, choice, &culprits, PART)?;
        grown.sent += alone.sent;
        let alone = judged(&alone, wanted).into_iter().find(|own| own.of == one.of && own.grows);
        let is_repeatable = alone.is_some();
        grown.findings.push(finding(
            alone.as_ref().unwrap_or(one),
            &culprits,
            &series.sizes,
            is_repeatable,
        ));
    }
    Ok(grown)
}

/// Whether these requests still make it grow, and by how much, in words.
///
/// # Errors
/// It does not start.
pub fn again(
    bench: &Bench,
    choice: &RuntimeChoice,
    finding: &Finding,
) -> Result<Option<String>, RuntimeError> {
    let series = fire(bench, choice, &finding.steps, PART)?;
    let wanted = Wanted { requests: PART, memory_bytes: 0 };
    let growing = judged(&series, wanted).into_iter().filter(|one| one.grows);
    let lines: Vec<String> = growing
        .map(|one| format!("{}\n{}", text::what(one.of), evidence(&one, &names(&series.sizes))))
        .collect();
    Ok((!lines.is_empty()).then(|| lines.join("\n")))
}

/// Where PHP's own memory grows, so does the process's.
fn is_told_by_heap(growth: &[Growth]) -> bool {
    growth.iter().any(|one| one.of == GrowthOf::Heap && one.grows)
}

fn judged(series: &Series, wanted: Wanted) -> Vec<Growth> {
    let of = |value: fn(&Sizes) -> u64| -> Vec<(u64, f64)> {
        let known = series.sizes.iter().filter(|sizes| value(sizes) > 0);
        known.map(|sizes| (sizes.served, value(sizes) as f64)).collect()
    };
    let all = [
        (GrowthOf::Heap, of(|sizes| sizes.memory)),
        (GrowthOf::Memory, of(|sizes| sizes.rss)),
        (GrowthOf::Descriptors, of(|sizes| sizes.files)),
        (GrowthOf::TemporaryFiles, series.files.clone()),
    ];
    all.into_iter()
        .filter_map(|(what, points)| {
            growth::growth(what, &points, Some(wanted.memory_bytes).filter(|bytes| *bytes > 0))
        })
        .collect()
}

/// Fires at one fresh worker, one request after the other.
fn fire(
    bench: &Bench,
    choice: &RuntimeChoice,
    steps: &[Step],
    requests: u64,
) -> Result<Series, RuntimeError> {
    let stand = bench.up(choice, WatchMode::Light)?;
    let ammo: Vec<Request> =
        steps.iter().filter_map(|step| request(&stand.dressed(step))).collect();
    let (mut files, mut sent) = (Vec::new(), 0);
    for _ in 0..BLOCKS {
        if interrupt::asked() || ammo.is_empty() {
            break;
        }
        sent += block(&stand, &ammo, requests / BLOCKS, sent);
        files.push((sent, count(&stand.temporary(), FILES_MAX) as f64));
    }
    let workers = stand.workers();
    stand.stop()?;
    Ok(Series { sizes: longest(workers), files, sent })
}

/// Requests in turn, begun where the block before ended.
fn block(stand: &Stand, ammo: &[Request], requests: u64, begin: u64) -> u64 {
    let at = (begin % ammo.len() as u64) as usize;
    let turned: Vec<Request> = ammo[at..].iter().chain(&ammo[..at]).cloned().collect();
    let until = Until::Requests(requests.max(1));
    let target = Address::Tcp(stand.running().addr());
    let load = Load {
        habits: HABITS,
        check: Check { statuses: STATUSES.collect(), ..Check::default() },
        ..Load::new(target, Model::Closed { users: 1, until }, turned)
    };
    match stampede_load::fire(&load, &interrupt::stop_for_load(), &mut Deaf) {
        Ok(fired) => fired.counts.ok + fired.counts.failed.values().sum::<u64>(),
        Err(_) => 0,
    }
}

const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

/// Nobody looks at its seconds.
struct Deaf;

impl stampede_load::report::Listener for Deaf {
    fn second(&mut self, _second: &stampede_load::report::Second) {}
}

fn request(asked: &Asked) -> Option<Request> {
    let (headers, body) = (&asked.headers, asked.body.as_bytes());
    Request::build(&asked.method, &asked.target, headers, body, HABITS, None).ok()
}

/// Of a worker that was replaced meanwhile the one that lived longest tells most.
fn longest(workers: Vec<Worker>) -> Vec<Sizes> {
    let sizes = workers.into_iter().map(|worker| worker.sizes);
    sizes.max_by_key(Vec::len).unwrap_or_default()
}

fn count(folder: &Path, at_most: usize) -> usize {
    let mut folders = vec![folder.to_path_buf()];
    let mut found = 0;
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => folders.push(entry.path()),
                false => found += 1,
            }
            if found >= at_most {
                return found;
            }
        }
    }
    found
}

/// The requests without which it does not grow: by halves, as long as only one half grows.
fn culprits(
    bench: &Bench,
    choice: &RuntimeChoice,
    steps: &[Step],
    of: GrowthOf,
    wanted: Wanted,
) -> Result<(Vec<Step>, u64), RuntimeError> {
    // Who asks does not matter here: a request once.
    let mut left: Vec<Step> = Vec::new();
    for step in steps {
        if !left.iter().any(|known| known.request == step.request) {
            left.push(step.clone());
        }
    }
    let mut sent = 0;
    while left.len() > 1 && !interrupt::asked() {
        let (one, other) = left.split_at(left.len() / 2);
        let mut grows = |part: &[Step]| -> Result<bool, RuntimeError> {
            let series = fire(bench, choice, part, PART)?;
            sent += series.sent;
            Ok(judged(&series, wanted).iter().any(|growth| growth.of == of && growth.grows))
        };
        let (one_grows, other_grows) = (grows(one)?, grows(other)?);
        left = match (one_grows, other_grows) {
            (true, false) => one.to_vec(),
            (false, true) => other.to_vec(),
            _ => break,
        };
    }
    Ok((left, sent))
}

fn finding(growth: &Growth, culprits: &[Step], sizes: &[Sizes], is_repeatable: bool) -> Finding {
    let name = |step: &Step| super::look::name(&step.request);
    let with = match culprits {
        [one] => format!("each {}", name(one)),
        many => format!("each request, whichever of {} it is", many.len()),
    };
    let what = match growth.of {
        GrowthOf::Heap => "PHP's memory grows",
        GrowthOf::Memory => "the worker's memory grows outside PHP's own",
        GrowthOf::Descriptors => "open files and connections grow",
        GrowthOf::TemporaryFiles => "temporary files are left behind",
    };
    let steps = culprits.iter().take(STEPS_MAX).cloned().collect();
    let names = names(sizes);
    let subject = match culprits {
        [one] => name(one),
        _ => "any request".to_owned(),
    };
    let evidence = evidence(growth, &names);
    let signs = of_growth(&evidence);
    Finding {
        number: 0,
        kind: FindingKind::Growth,
        about: subject.clone(),
        what: format!("{what}: {} with {with}", amount(growth.of, growth.per_request)),
        evidence,
        steps,
        is_repeatable,
        places: Vec::new(),
        fingerprint: format!("growth {:?} {subject}", growth.of).to_lowercase(),
        signs,
        is_accepted: false,
    }
}

fn evidence(growth: &Growth, names: &[String]) -> String {
    let amount = |value| amount(growth.of, value);
    let mut lines = vec![format!(
        "  {} → {} over {} requests: {} each (95 %: {} to {})",
        amount(growth.begin),
        amount(growth.end),
        crate::summary::words::count(growth.requests),
        amount(growth.per_request),
        amount(growth.per_request_low),
        amount(growth.per_request_high),
    )];
    lines.extend(names.iter().map(|name| format!("  {name}")));
    lines.join("\n")
}

/// What of the app's own grew all the time.
fn names(sizes: &[Sizes]) -> Vec<String> {
    let (Some(first), Some(last)) = (sizes.get(sizes.len() / 2), sizes.last()) else {
        return Vec::new();
    };
    let grown = last.sizes.iter().filter_map(|(name, count)| {
        let before = first.sizes.get(name).copied().unwrap_or(0);
        (*count > before + 1).then(|| format!("{name} holds {count}, half way {before}"))
    });
    grown.take(3).collect()
}
