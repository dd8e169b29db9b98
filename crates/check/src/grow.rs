//! Measures what grows over thousands of requests to one worker, and which request makes it grow.

use std::fmt;
use std::path::Path;

use stampede_linux::interrupt;
use stampede_load::spec::{Check, Load};
use stampede_load::{Generator as _, InProcess};
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion, Model, Until};
use stampede_model::stop::Stop;
use stampede_plan::model::RuntimeChoice;
use stampede_stack::{RuntimeError, WatchMode};
use stampede_traffic::Request;

use super::amount::amount;
use super::growth;
use super::harness::{Harness, HarnessSession};
use super::model::{CheckRequest, Growth, GrowthOf, Step};
use super::orders::{self, Culprits};
use super::watch::{Sizes, Worker};

/// The extent of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct GrowthOptions {
    /// Total number of requests.
    pub requests: u64,
    /// Memory that a worker may use; 0 for PHP's default limit.
    pub memory_bytes: u64,
}

/// The result of the measurement.
#[derive(Debug, Default)]
pub struct GrowthResult {
    /// The growth of each measured amount.
    pub growth: Vec<Growth>,
    /// The amounts that grow, with what makes them grow.
    pub causes: Vec<GrowthCause>,
    /// Number of requests sent.
    pub sent: u64,
}

/// An amount that grows, and the requests that make it grow.
#[derive(Debug)]
pub struct GrowthCause {
    /// How much it grows, if these requests show it again with them alone.
    pub growth: Growth,
    /// The requests.
    pub culprits: Culprits<Step>,
    /// The readings that show it.
    pub series: Series,
    /// Whether these requests alone have shown it again.
    pub is_repeatable: bool,
}

/// Number of requests that are first sent one by one, each of the list at least once. So users get
/// their cookies, and exhaustion within a few requests is seen exactly. Each of these requests has
/// a reading (`Watch::LIGHT_FIRST`).
const FIRST: usize = 64;
/// Readings of what is counted from outside, between the beginning and the end.
const BLOCKS: u64 = 20;
/// Requests with which a part of the list is tried.
const PART: u64 = 2_000;
/// Largest number of parts that are tried, each with a fresh start.
const TRIALS: usize = 40;
/// Requests after which the memory of a process without growth has settled. A server in Go still
/// takes memory for some thousand requests.
const SETTLED: u64 = 20_000;
/// Largest number of files that are counted.
const FILES_MAX: usize = 100_000;
/// Statuses of an app that still works.
const STATUSES: std::ops::Range<u16> = 100..500;

/// The readings of one fresh start while it served requests.
#[derive(Clone, Debug)]
pub struct Series {
    /// Readings of the worker that lived longest.
    pub sizes: Vec<Sizes>,
    /// Number of temporary files after a number of requests.
    pub files: Vec<(u64, f64)>,
    /// Number of requests sent.
    pub sent: u64,
    /// Number of requests sent when answers began to fail that had not failed before; `None` if
    /// none did.
    pub failing_from: Option<u64>,
}

/// Measures growth and finds the requests that cause it.
///
/// # Errors
/// The runtime does not start or is lost.
pub fn measure(
    harness: &Harness,
    choice: &RuntimeChoice,
    steps: &[Step],
    options: GrowthOptions,
) -> Result<GrowthResult, RuntimeError> {
    let series = send(harness, choice, steps, options.requests)?;
    let mut grown = GrowthResult {
        growth: assess(&series, options),
        sent: series.sent,
        ..GrowthResult::default()
    };
    let is_memory = |one: &Growth| one.of == GrowthOf::Memory;
    let grows = grown.growth.iter().any(|one| is_memory(one) && one.grows);
    if grows && options.requests < SETTLED && !is_implied(GrowthOf::Memory, &grown.growth) {
        let longer = send(harness, choice, steps, SETTLED)?;
        grown.sent += longer.sent;
        grown.growth.retain(|one| !is_memory(one));
        grown.growth.extend(assess(&longer, options).into_iter().filter(is_memory));
        grown.growth.sort_by_key(|one| one.of);
    }
    let mut parts = Parts { harness, choice, tried: Vec::new() };
    for one in grown.growth.clone().iter().filter(|one| one.grows) {
        if is_implied(one.of, &grown.growth) {
            continue;
        }
        let culprits = parts.find_culprits(steps, one.of, options)?;
        // Measures how much it grows with each of these requests alone.
        let alone = parts.send(&culprits.all)?.clone();
        let own = assess(&alone, options).into_iter().find(|own| own.of == one.of && own.grows);
        grown.causes.push(match own {
            Some(growth) => GrowthCause { growth, culprits, series: alone, is_repeatable: true },
            None => GrowthCause {
                growth: one.clone(),
                culprits,
                series: series.clone(),
                is_repeatable: false,
            },
        });
    }
    grown.sent += parts.sent();
    Ok(grown)
}

/// Returns what still grows with these requests, and the readings that show it.
///
/// # Errors
/// The runtime does not start or is lost.
pub fn measure_again(
    harness: &Harness,
    choice: &RuntimeChoice,
    steps: &[Step],
) -> Result<(Vec<Growth>, Series), RuntimeError> {
    let series = send(harness, choice, steps, PART)?;
    let options = GrowthOptions { requests: PART, memory_bytes: 0 };
    let growing = assess(&series, options).into_iter().filter(|one| one.grows).collect();
    Ok((growing, series))
}

/// Returns whether another finding already implies this growth. When PHP's own memory grows, so do
/// the process's memory and the entries in it. A connection is also a descriptor.
fn is_implied(of: GrowthOf, growth: &[Growth]) -> bool {
    let implied_by = match of {
        GrowthOf::Memory | GrowthOf::Entries => GrowthOf::Heap,
        GrowthOf::Descriptors => GrowthOf::Connections,
        _ => return false,
    };
    growth.iter().any(|one| one.of == implied_by && one.grows)
}

fn assess(series: &Series, options: GrowthOptions) -> Vec<Growth> {
    let of = |value: fn(&Sizes) -> u64| -> Vec<(u64, f64)> {
        let known = series.sizes.iter().filter(|sizes| value(sizes) > 0);
        known.map(|sizes| (sizes.served, value(sizes) as f64)).collect()
    };
    let memory = Some(options.memory_bytes).filter(|bytes| *bytes > 0);
    let all = [
        (GrowthOf::Heap, of(|sizes| sizes.memory)),
        (GrowthOf::Memory, of(|sizes| sizes.rss)),
        (GrowthOf::Descriptors, of(|sizes| sizes.files)),
        (GrowthOf::Connections, of(|sizes| sizes.connections)),
        (GrowthOf::TemporaryFiles, series.files.clone()),
        (GrowthOf::Entries, of(|sizes| sizes.sizes.values().sum())),
    ];
    let growths = all.into_iter().filter_map(|(what, points)| match what {
        GrowthOf::Heap | GrowthOf::Memory => growth::growth(what, &points, memory),
        GrowthOf::Descriptors | GrowthOf::Connections => {
            growth_until_exhausted(what, &points, series.failing_from)
                .or_else(|| growth::growth(what, &points, None))
        }
        GrowthOf::TemporaryFiles | GrowthOf::Entries => growth::growth(what, &points, None),
    });
    let mut all: Vec<Growth> = growths.collect();
    limit_entries_by_heap(&mut all);
    all
}

/// Corrects the limit of entries. They lie in PHP's memory, so where that grows too, it determines
/// when a worker is full. The number of entries does not: each byte of a string counts as an entry.
fn limit_entries_by_heap(all: &mut [Growth]) {
    let heap = all.iter().find(|one| one.of == GrowthOf::Heap && one.grows);
    if let Some(max_requests) = heap.map(|one| one.max_requests) {
        let kept = all.iter_mut().filter(|one| one.of == GrowthOf::Entries && one.grows);
        kept.for_each(|one| one.max_requests = max_requests);
    }
}

/// Returns the growth of an amount until it was exhausted. From then on it is constant and would
/// look like a full cache.
fn growth_until_exhausted(
    of: GrowthOf,
    points: &[(u64, f64)],
    failing_from: Option<u64>,
) -> Option<Growth> {
    let failing_from = failing_from?;
    let before: Vec<(u64, f64)> =
        points.iter().filter(|(served, _)| *served <= failing_from).copied().collect();
    let most = before.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    growth::growth(of, &before, Some(most as u64)).filter(|growth| growth.grows)
}

/// Sends requests to one fresh worker, one after another.
fn send(
    harness: &Harness,
    choice: &RuntimeChoice,
    steps: &[Step],
    requests: u64,
) -> Result<Series, RuntimeError> {
    let mut session = harness.start(choice, WatchMode::Light)?;
    let SequentialResult { mut sent, bad, mut failing_from } = send_one_by_one(&mut session, steps);
    let traffic: Vec<Request> =
        steps.iter().filter_map(|step| build_request(&session.personalized(step))).collect();
    let (mut files, mut size) = (Vec::new(), FIRST as u64);
    while sent < requests && !traffic.is_empty() && !interrupt::is_requested() {
        size = (size * 2).min(requests / BLOCKS).max(1);
        let result = send_block(&session, &traffic, size.min(requests - sent), sent);
        if result.sent == 0 {
            break;
        }
        let usual = bad * result.sent.div_ceil(traffic.len() as u64);
        failing_from = failing_from.or((result.failed > usual).then_some(sent));
        sent += result.sent;
        files.push((sent, session.temporary().map_or(0, |at| count_files(&at, FILES_MAX)) as f64));
    }
    let workers = session.workers();
    session.stop()?;
    Ok(Series { sizes: longest_lived(workers), files, sent, failing_from })
}

/// The result of the requests that are sent one by one.
struct SequentialResult {
    sent: u64,
    /// Number of requests in the list that fail from the start.
    bad: u64,
    /// Number of requests sent before one failed that had not failed before.
    failing_from: Option<u64>,
}

/// Sends each request at least once, one after another.
fn send_one_by_one(session: &mut HarnessSession, steps: &[Step]) -> SequentialResult {
    let mut bad = vec![false; steps.len()];
    let (mut sent, mut failing_from) = (0, None);
    for at in (0..steps.len()).cycle().take(steps.len().max(FIRST)) {
        if interrupt::is_requested() {
            break;
        }
        let fails = !STATUSES.contains(&session.send(&steps[at]).status());
        if sent < steps.len() as u64 {
            bad[at] = fails;
        } else if fails && !bad[at] {
            failing_from = failing_from.or(Some(sent));
        }
        sent += 1;
    }
    SequentialResult {
        sent,
        bad: bad.iter().filter(|is_bad| **is_bad).count() as u64,
        failing_from,
    }
}

/// The result of a block.
struct BlockResult {
    sent: u64,
    failed: u64,
}

/// Sends the requests in turn, and begins after the last one of the block before.
fn send_block(
    session: &HarnessSession,
    traffic: &[Request],
    requests: u64,
    begin: u64,
) -> BlockResult {
    let at = (begin % traffic.len() as u64) as usize;
    let rotated: Vec<Request> = traffic[at..].iter().chain(&traffic[..at]).cloned().collect();
    let until = Until::Requests(requests.max(1));
    let target = session.running().endpoint().addresses;
    let load = Load {
        habits: HABITS,
        check: Check { statuses: STATUSES.collect(), ..Check::default() },
        ..Load::new(target, Model::Closed { concurrency: 1, until }, rotated)
    };
    match InProcess.run(&load, &Stop::from(interrupt::new_flag()), &mut IgnoreSeconds) {
        Ok(result) => {
            let failed = result.counts.failed_total();
            BlockResult { sent: result.counts.ok + failed, failed }
        }
        Err(_) => BlockResult { sent: 0, failed: 0 },
    }
}

const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

/// Ignores the seconds of the load.
struct IgnoreSeconds;

impl stampede_load::report::Listener for IgnoreSeconds {
    fn second(&mut self, _second: &stampede_model::counts::Second) {}
}

fn build_request(request: &CheckRequest) -> Option<Request> {
    let (headers, body) = (&request.headers, request.body.as_bytes());
    Request::build(&request.method, &request.target, headers, body, HABITS, None).ok()
}

/// Returns the readings of the worker that has the most: if workers were replaced, it lived
/// longest.
fn longest_lived(workers: Vec<Worker>) -> Vec<Sizes> {
    let sizes = workers.into_iter().map(|worker| worker.sizes);
    sizes.max_by_key(Vec::len).unwrap_or_default()
}

fn count_files(directory: &Path, at_most: usize) -> usize {
    let mut directories = vec![directory.to_path_buf()];
    let mut found = 0;
    while let Some(directory) = directories.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => directories.push(entry.path()),
                false => found += 1,
            }
            if found >= at_most {
                return found;
            }
        }
    }
    found
}

/// Tries parts of the requests. What several amounts need is sent once, for its readings show all of
/// them.
struct Parts<'a> {
    harness: &'a Harness,
    choice: &'a RuntimeChoice,
    tried: Vec<(Vec<Step>, Series)>,
}

impl Parts<'_> {
    /// Returns the readings of a fresh start that served this part.
    fn send(&mut self, part: &[Step]) -> Result<&Series, RuntimeError> {
        let known = self.tried.iter().position(|(tried, _)| tried == part);
        let at = match known {
            Some(at) => at,
            None => {
                let series = send(self.harness, self.choice, part, PART)?;
                self.tried.push((part.to_vec(), series));
                self.tried.len() - 1
            }
        };
        Ok(&self.tried[at].1)
    }

    /// Returns the requests that cause the growth.
    fn find_culprits(
        &mut self,
        steps: &[Step],
        of: GrowthOf,
        options: GrowthOptions,
    ) -> Result<Culprits<Step>, RuntimeError> {
        // Users do not matter here, so each request is tried once.
        let mut once: Vec<Step> = Vec::new();
        for step in steps {
            if !once.iter().any(|known| known.request == step.request) {
                once.push(step.clone());
            }
        }
        orders::find_culprits(&once, TRIALS, |part| -> Result<bool, RuntimeError> {
            if interrupt::is_requested() {
                return Ok(false);
            }
            let growth = assess(self.send(part)?, options);
            Ok(growth.iter().any(|growth| growth.of == of && growth.grows))
        })
    }

    /// Number of requests sent.
    fn sent(&self) -> u64 {
        self.tried.iter().map(|(_, series)| series.sent).sum()
    }
}

/// An amount of the app's own data that grew.
pub struct GrownAmount<'a> {
    /// Its place in the code.
    pub name: &'a str,
    /// The amount at the end.
    pub count: u64,
    /// The amount at half of the requests.
    pub before: u64,
    /// Growth with each request.
    pub each: f64,
}

impl fmt::Display for GrownAmount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GrownAmount { name, count, before, each } = self;
        let each = amount(GrowthOf::Entries, *each);
        write!(f, "{name} holds {count}, half way {before}: {each} more each")
    }
}

/// Returns up to three amounts of the app's own data that grew between half of the requests and the
/// last.
pub fn grown_amounts(series: &Series) -> Vec<GrownAmount<'_>> {
    let sizes = &series.sizes;
    let is_before =
        |one: &&Sizes| series.failing_from.is_none_or(|failing_from| one.served <= failing_from);
    let Some(last) = sizes.iter().rfind(is_before) else { return Vec::new() };
    let Some(half) = sizes.iter().rfind(|one| one.served <= last.served / 2) else {
        return Vec::new();
    };
    let grown = last.sizes.iter().filter_map(|(name, count)| {
        let before = half.sizes.get(name).copied().unwrap_or(0);
        let each = count.saturating_sub(before) as f64 / (last.served - half.served) as f64;
        (*count > before + 1).then_some(GrownAmount { name, count: *count, before, each })
    });
    grown.take(3).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Returns a reading after each request, with that many connections.
    fn series(
        requests: u64,
        connections: impl Fn(u64) -> u64,
        failing_from: Option<u64>,
    ) -> Series {
        let reading = |served| Sizes {
            served,
            memory: 1 << 20,
            rss: 1 << 24,
            files: 9 + connections(served),
            connections: connections(served),
            sizes: BTreeMap::from([
                ("Pool::$all".to_owned(), connections(served)),
                ("Pool::$names".to_owned(), 30),
            ]),
        };
        Series {
            sizes: (1..=requests).map(reading).collect(),
            files: Vec::new(),
            sent: requests,
            failing_from,
        }
    }

    fn growing(series: &Series) -> Vec<(GrowthOf, Option<u64>)> {
        let all = assess(series, GrowthOptions { requests: 0, memory_bytes: 0 });
        let reported = all.iter().filter(|one| one.grows && !is_implied(one.of, &all));
        reported.map(|one| (one.of, one.max_requests)).collect()
    }

    #[test]
    fn an_exhausted_amount_has_grown_until_then() {
        // Each request takes one of 20. After the first fifth, some 6 are in use, and 80 % of the
        // others are left.
        let full = |failing_from| series(400, |served| served.min(20), failing_from);
        assert_eq!(growing(&full(None)), [], "as a pool that is full");
        assert_eq!(growing(&full(Some(20))), [(GrowthOf::Connections, Some(11))]);
        let full = full(Some(20));
        let evidence: Vec<String> = grown_amounts(&full).iter().map(ToString::to_string).collect();
        assert_eq!(evidence, ["Pool::$all holds 20, half way 10: 1 more each"]);
        // Answers begin to fail for another reason.
        assert_eq!(growing(&series(400, |_| 3, Some(20))), []);
        assert_eq!(growing(&series(400, |_| 0, Some(2))), []);
    }

    #[test]
    fn the_same_growth_is_reported_once() {
        let found = growing(&series(400, |served| served / 4, None));
        // 80 % of PostgreSQL's 100, less those in use after the first fifth.
        let max_requests = found.iter().find(|(of, _)| *of == GrowthOf::Connections);
        assert!(matches!(max_requests, Some((_, Some(200..=330)))), "{found:?}");
        assert!(found.iter().all(|(of, _)| *of != GrowthOf::Descriptors), "{found:?}");
        assert!(grown_amounts(&series(1, |_| 9, None)).is_empty());
    }

    #[test]
    fn a_growing_string_is_limited_by_memory_and_not_by_entries() {
        let mut long = series(400, |_| 0, None);
        for sizes in &mut long.sizes {
            sizes.memory += 2_048 * sizes.served;
            sizes.sizes.insert("Log::$text".to_owned(), 2_048 * sizes.served);
        }
        let all = assess(&long, GrowthOptions { requests: 0, memory_bytes: 128 << 20 });
        let of = |of| all.iter().find(|one| one.of == of).and_then(|one| one.max_requests);
        // 80 % of 127 MiB, less what the first fifth has filled, ÷ 2 KiB.
        assert_eq!(of(GrowthOf::Heap), Some(51_000));
        assert_eq!(of(GrowthOf::Entries), Some(51_000));
    }
}
