//! Turns what happens in a load into samples. It reads no clock and sends nothing, so every test of
//! it is arithmetic.
//!
//! A counter begins at 0 with each trial: one second before its first value it gets the value 0, or
//! `rate()` would lose the first second. The times of a series always rise. The number of series of
//! a trial is bounded: only the kinds of failures come from outside, and [`KINDS`] of them get a
//! series.

use std::collections::{BTreeMap, BTreeSet};

use stampede_mask::mask_known;
use stampede_model::counts::Second;
use stampede_model::cpus::CpuCount;
use stampede_model::event::{Event, Phase};
use stampede_model::record::{LoadModel, Validity};
use stampede_model::sample::ResourceSample;
use stampede_stats::histogram::Times;
use stampede_stats::percentile::{Ranked, rank};

use crate::metrics::{self, Metric};
use crate::wire::{STALE, Sample, Series};

/// What a trial is called. An empty text, or a number 0, is no label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrialLabels {
    /// Name of the runtime.
    pub runtime: String,
    /// Name of the app.
    pub app: String,
    /// Name of the load, or the load in words.
    pub load: String,
    /// Number of the round, from 1.
    pub round: u32,
    /// Number of the trial, from 1.
    pub trial: u32,
}

/// The figures of a run, as they become samples.
#[derive(Debug)]
pub struct Recorder {
    /// Labels of the user, by name.
    user: Vec<(String, String)>,
    run: String,
    trial: Option<Trial>,
    /// Number of all series so far.
    series: u32,
    made: Vec<Sample>,
}

/// The trial that is in progress.
#[derive(Debug)]
struct Trial {
    labels: [(&'static str, String); 6],
    model: LoadModel,
    budget_cpus: CpuCount,
    phase: Option<Phase>,
    /// What the seconds belong to: warm-up or measure.
    load: Phase,
    seconds: Anchor,
    readings: Anchor,
    kinds: BTreeSet<String>,
    known: BTreeMap<Key, Tracked>,
}

/// A metric's name and the values of its own labels.
type Key = (&'static str, Vec<String>);

/// A series that was sent.
#[derive(Debug)]
struct Tracked {
    series: Series,
    /// The sum of a counter, in its own unit.
    total: u64,
    last_ms: i64,
    /// Whether its last sample is a value, and not the mark of its end.
    is_live: bool,
}

/// The wall clock of events that are counted from a beginning and arrive late: the least delay is
/// the nearest to the truth.
#[derive(Debug, Default)]
struct Anchor {
    begun_ms: Option<i64>,
}

impl Anchor {
    /// The time of something that was over `since_ms` after the beginning, and is known now.
    fn at(&mut self, now_ms: i64, since_ms: i64) -> i64 {
        let begun = now_ms.saturating_sub(since_ms);
        let begun = self.begun_ms.map_or(begun, |known| known.min(begun));
        self.begun_ms = Some(begun);
        begun.saturating_add(since_ms)
    }
}

impl Recorder {
    /// A recorder whose samples all have these labels of the user.
    pub fn new(user: Vec<(String, String)>) -> Recorder {
        Recorder { user, run: String::new(), trial: None, series: 0, made: Vec::new() }
    }

    /// The samples since the last call.
    pub fn take(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.made)
    }

    /// The number of all series so far.
    pub fn series(&self) -> u32 {
        self.series
    }

    /// The trials from now on belong to this run.
    pub fn set_run(&mut self, run: &str) {
        self.run = label_value(run);
    }

    /// Takes in an event that happened at `now_ms`.
    pub fn event(&mut self, event: &Event<'_>, now_ms: i64) {
        match event {
            Event::RunStarted { run, .. } => self.set_run(&run.id),
            Event::TrialStarted { number, round, case, budget_cpus, .. } => {
                let labels = TrialLabels {
                    runtime: case.runtime.clone(),
                    app: case.app.clone(),
                    load: case.load.clone(),
                    round: *round,
                    trial: *number,
                };
                self.begin(&labels, case.model, *budget_cpus, now_ms);
            }
            Event::Phase { phase, .. } => self.phase(*phase, now_ms),
            Event::Second(second) => self.second(second, now_ms),
            Event::Resources(sample) => self.resources(sample, now_ms),
            Event::TrialEnded { record, .. } => self.end(Some(record.verdict.judged), now_ms),
            Event::RunEnded => self.end(None, now_ms),
            Event::Notice(_) => {}
        }
    }

    /// A trial begins. One that has not ended does so.
    pub fn begin(
        &mut self,
        labels: &TrialLabels,
        model: LoadModel,
        budget_cpus: CpuCount,
        now_ms: i64,
    ) {
        self.end(None, now_ms);
        let number = |number: u32| if number == 0 { String::new() } else { number.to_string() };
        let labels = [
            ("run", self.run.clone()),
            ("runtime", label_value(&labels.runtime)),
            ("app", label_value(&labels.app)),
            ("load", label_value(&labels.load)),
            ("round", number(labels.round)),
            ("trial", number(labels.trial)),
        ];
        self.trial = Some(Trial {
            labels,
            model,
            budget_cpus,
            phase: None,
            load: Phase::Measure,
            seconds: Anchor::default(),
            readings: Anchor::default(),
            kinds: BTreeSet::new(),
            known: BTreeMap::new(),
        });
    }

    /// A phase of the trial begins.
    pub fn phase(&mut self, phase: Phase, now_ms: i64) {
        let Some(trial) = &mut self.trial else { return };
        let before = trial.phase.replace(phase);
        if matches!(phase, Phase::WarmUp | Phase::Measure) {
            let load = std::mem::replace(&mut trial.load, phase);
            trial.seconds = Anchor::default();
            if load != phase {
                self.end_those(now_ms, |(_, own)| own.last().is_some_and(|own| own == load.word()));
            }
        }
        if let Some(before) = before.filter(|before| *before != phase) {
            self.end_those(now_ms, |(metric, own)| {
                *metric == metrics::PHASE.name && own[0] == before.word()
            });
        }
        self.set(&metrics::PHASE, &[phase.word()], 1.0, now_ms);
    }

    /// A second of the load is over.
    pub fn second(&mut self, second: &Second, now_ms: i64) {
        let Some(trial) = &mut self.trial else { return };
        let since = (i64::from(second.index) + 1) * 1_000;
        let at = trial.seconds.at(now_ms, since);
        let (load, model, phase) = (trial.load.word(), trial.model, trial.phase);
        // A phase may last longer than Prometheus looks back.
        if let Some(phase) = phase {
            self.set(&metrics::PHASE, &[phase.word()], 1.0, at);
        }
        let counts = &second.counts;
        self.add(&metrics::REQUESTS, &["ok", "", load], counts.ok, at);
        for (kind, count) in self.by_kind(second) {
            self.add(&metrics::REQUESTS, &["failed", &kind, load], count, at);
        }
        self.add(&metrics::PLANNED, &[load], counts.planned, at);
        self.add(&metrics::DROPPED, &[load], counts.dropped, at);
        self.add(&metrics::SENT_BYTES, &[load], counts.bytes_sent, at);
        self.add(&metrics::RECEIVED_BYTES, &[load], counts.bytes_received, at);
        self.add(&metrics::GENERATOR_CPU, &[load], second.busy.0, at);
        self.set(&metrics::IN_FLIGHT, &[load], f64::from(second.in_flight_max), at);
        let failed = counts.failed_total().saturating_add(counts.dropped);
        let times = &second.times;
        if model == LoadModel::Open {
            let (sum, count) = (&metrics::RESPONSE_TIME_SUM, &metrics::RESPONSE_TIME_COUNT);
            self.times(
                [&metrics::RESPONSE_TIME, sum, count],
                load,
                &times.response_time,
                failed,
                at,
            );
        }
        let (sum, count) = (&metrics::SERVICE_TIME_SUM, &metrics::SERVICE_TIME_COUNT);
        self.times([&metrics::SERVICE_TIME, sum, count], load, &times.service_time, failed, at);
        self.quantiles(&metrics::SCHEDULE_LAG, &LAG_QUANTILES, load, &times.schedule_lag, 0, at);
    }

    /// A reading of the monitor.
    pub fn resources(&mut self, sample: &ResourceSample, now_ms: i64) {
        let Some(trial) = &mut self.trial else { return };
        let since = i64::try_from(sample.at_ns / 1_000_000).unwrap_or(i64::MAX);
        let at = trial.readings.at(now_ms, since);
        let budget_ns = trial.budget_cpus.as_f64() * sample.interval_ns as f64;
        for (role, used) in &sample.roles {
            let role = &label_value(role);
            self.add(&metrics::CPU, &[role], used.cpu_ns, at);
            self.set(&metrics::PROCESSES, &[role], f64::from(used.processes), at);
            if used.memory_read {
                self.set(&metrics::MEMORY, &[role], used.memory_bytes as f64, at);
            }
            if let Some(disk) = used.disk {
                self.add(&metrics::DISK_READ, &[role], disk.read_bytes, at);
                self.add(&metrics::DISK_WRITTEN, &[role], disk.written_bytes, at);
            }
            if let Some(network) = used.network {
                self.add(&metrics::NETWORK_RECEIVED, &[role], network.received_bytes, at);
                self.add(&metrics::NETWORK_SENT, &[role], network.sent_bytes, at);
            }
        }
        if !sample.roles.is_empty() && budget_ns > 0.0 && !sample.is_short() {
            let cpu: u64 = sample.roles.values().map(|role| role.cpu_ns).sum();
            self.set(&metrics::CPU_RATIO, &[], cpu as f64 / budget_ns, at);
        }
        self.add(&metrics::HOST_CPU, &[], sample.host.cpu_busy_ns, at);
        self.add(&metrics::HOST_STEAL, &[], sample.host.steal_ns, at);
    }

    /// The trial ends, and with it all its series. Its verdict gets no mark of an end: nobody could
    /// see it otherwise.
    pub fn end(&mut self, verdict: Option<Validity>, now_ms: i64) {
        if let Some(verdict) = verdict {
            let name = match verdict {
                Validity::Valid => "valid",
                Validity::Suspect => "suspect",
                Validity::Invalid => "invalid",
            };
            self.set(&metrics::VERDICT, &[name], 1.0, now_ms);
        }
        self.end_those(now_ms, |(metric, _)| *metric != metrics::VERDICT.name);
        self.trial = None;
    }

    /// The failures of a second by kind, with at most [`KINDS`] kinds in a trial.
    fn by_kind(&mut self, second: &Second) -> BTreeMap<String, u64> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        let Some(trial) = &mut self.trial else { return counts };
        for (kind, count) in &second.counts.failed {
            let mut kind = label_value(kind);
            if !trial.kinds.contains(&kind) {
                if trial.kinds.len() < KINDS {
                    trial.kinds.insert(kind.clone());
                } else {
                    OTHER.clone_into(&mut kind);
                }
            }
            *counts.entry(kind).or_default() += count;
        }
        counts
    }

    fn times(
        &mut self,
        [gauge, sum, number]: [&'static Metric; 3],
        load: &str,
        answered: &Times,
        failed: u64,
        at: i64,
    ) {
        self.quantiles(gauge, &QUANTILES, load, answered, failed, at);
        let count = answered.len();
        self.add(sum, &[load], (answered.mean() * count as f64).round() as u64, at);
        self.add(number, &[load], count, at);
    }

    /// Quantiles over all planned requests: one that falls on a failed request is infinite. A
    /// second in which no request ended has none, so the series end until the next one.
    fn quantiles(
        &mut self,
        gauge: &'static Metric,
        quantiles: &[(&'static str, f64)],
        load: &str,
        answered: &Times,
        failed: u64,
        at: i64,
    ) {
        let planned = Ranked { answered, failed }.planned();
        for (quantile, percent) in quantiles {
            if planned == 0 {
                self.end_those(at, |(metric, own)| {
                    *metric == gauge.name && own[0] == *quantile && own[1] == load
                });
                continue;
            }
            let rank = rank(*percent, planned);
            let value = if rank > answered.len() {
                f64::INFINITY
            } else {
                answered.at_rank(rank) as f64 / NS
            };
            self.set(gauge, &[quantile, load], value, at);
        }
    }

    /// Adds to a counter. What is given in ns is sent in seconds.
    fn add(&mut self, metric: &'static Metric, own: &[&str], more: u64, at_ms: i64) {
        let unit = if metric.is_in_seconds() { NS } else { 1.0 };
        let key = key(metric, own);
        let is_new = self.trial.as_ref().is_some_and(|trial| !trial.known.contains_key(&key));
        if is_new {
            self.set(metric, own, 0.0, at_ms.saturating_sub(1_000));
        }
        let Some(trial) = &mut self.trial else { return };
        let Some(tracked) = trial.known.get_mut(&key) else { return };
        tracked.total = tracked.total.saturating_add(more);
        let value = tracked.total as f64 / unit;
        self.set(metric, own, value, at_ms);
    }

    /// Sends a value. `own` are the values of the metric's own labels, in their order.
    fn set(&mut self, metric: &'static Metric, own: &[&str], value: f64, at_ms: i64) {
        let Some(trial) = &mut self.trial else { return };
        let tracked = trial.known.entry(key(metric, own)).or_insert_with(|| {
            let user = self.user.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let common = trial.labels.iter().map(|(name, value)| (*name, value.as_str()));
            let own = metric.labels.iter().copied().zip(own.iter().copied());
            let labels = user.chain(common).chain(own).chain([("__name__", metric.name)]);
            self.series += 1;
            let series = Series::new(self.series, &labels.collect());
            Tracked { series, total: 0, last_ms: i64::MIN, is_live: true }
        });
        tracked.is_live = true;
        self.made.push(tracked.next(value, at_ms));
    }

    /// Marks the end of the series that are meant.
    fn end_those(&mut self, at_ms: i64, is_meant: impl Fn(&Key) -> bool) {
        let Some(trial) = &mut self.trial else { return };
        let meant = trial.known.iter_mut().filter(|(key, one)| one.is_live && is_meant(key));
        self.made.extend(meant.map(|(_, tracked)| {
            tracked.is_live = false;
            tracked.next(STALE, at_ms)
        }));
    }
}

impl Tracked {
    /// The next sample of the series. Prometheus refuses one that is not later than the last.
    fn next(&mut self, value: f64, at_ms: i64) -> Sample {
        let at_ms = at_ms.max(self.last_ms.saturating_add(1));
        self.last_ms = at_ms;
        Sample { series: self.series.clone(), value, at_ms }
    }
}

fn key(metric: &'static Metric, own: &[&str]) -> Key {
    (metric.name, own.iter().map(|own| (*own).to_owned()).collect())
}

/// A text as the value of a label: without known secrets, and not too long.
fn label_value(text: &str) -> String {
    mask_known(text).chars().take(VALUE_CHARS).collect()
}

/// Most kinds of failures of a trial that get a series of their own. A status or an errno could have
/// hundreds of values, and each would cost the receiver memory.
pub const KINDS: usize = 20;
/// The kind of all failures beyond.
pub const OTHER: &str = "other";
/// Longest value of a label. A kind contains the text of a check, which may be long.
const VALUE_CHARS: usize = 120;
/// Nanoseconds of a second.
const NS: f64 = 1e9;
/// Those that k6 shows, and the median.
const QUANTILES: [(&str, f64); 5] =
    [("0.5", 50.0), ("0.9", 90.0), ("0.95", 95.0), ("0.99", 99.0), ("1", 100.0)];
/// One figure shows whether the generator kept its schedule.
const LAG_QUANTILES: [(&str, f64); 1] = [("0.99", 99.0)];

#[cfg(test)]
mod tests;
