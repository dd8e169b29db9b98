//! Computes one trial's figures from its files.

use std::collections::BTreeMap;

use stampede_model::counts::{End, TimeSet};
use stampede_model::cpus::CpuCount;
use stampede_model::failure::FailureKind;
use stampede_model::lag::LagMark;
use stampede_model::record::{CaseRecord, LoadRecord, RunRecord, TrialRecord};
use stampede_model::sample::{ResourceSample, RoleSample};
use stampede_stats::histogram::Times;
use stampede_stats::percentile::{BoundedValue, CutOff, Percentile, Ranked};

use super::agents::AgentFigures;
use super::breaking::Rising;
use super::exhausted;
use super::in_flight::InFlight;
use super::input::TrialData;
use super::kept_up::{KeptUp, throughput};
use super::model::{
    CaseCounts, Figure, Figures, LoadModel, RoleFigures, Stat, TimeFigures, TrialSummary,
};
use super::over_time::OverTime;
use super::steady::Steady;
use super::why;

/// Computes the summary of one trial, valid or invalid.
pub fn summarize(
    trial: &TrialData,
    (run, case): (&RunRecord, &CaseRecord),
    rising: Option<&Rising>,
) -> TrialSummary {
    let record = &trial.record;
    let model = case.model;
    let kept_up = KeptUp::of(trial, case);
    TrialSummary {
        number: record.number,
        round: record.round,
        verdict: record.verdict.judged,
        reasons: record.verdict.reasons.clone(),
        notes: record.verdict.notes.clone(),
        stopped: record.load.as_ref().is_some_and(|load| load.end == End::Stopped),
        lasted_ns: record.phases.last().map_or(0, |phase| phase.end_ns),
        counts: counts(trial),
        figures: figures(trial, model, kept_up),
        breaking_point: rising.and_then(|rising| rising.find(trial)),
        why: why::of_trial(trial, model),
        exhausted: exhausted::of_trial(trial, model, run),
        kept_up,
        agents: AgentFigures::of(record.load.as_ref()),
        in_flight: InFlight::of(trial),
        steady: Steady::of(case, trial),
        over_time: OverTime::of(&trial.seconds),
    }
}

fn counts(trial: &TrialData) -> CaseCounts {
    let mut counts = CaseCounts::default();
    if let Some(load) = &trial.record.load {
        counts.planned = load.counts.planned;
        counts.ok = load.counts.ok;
        counts.failed = load.counts.failed.clone();
        counts.dropped = load.counts.dropped;
        counts.in_flight_max = load.in_flight_max;
    }
    counts.restarts = trial.record.runtime.thread_restarts;
    for role in trial.resources.iter().flat_map(|sample| sample.roles.values()) {
        counts.restarts += u64::from(role.started);
        counts.context_switches += role.context_switches;
    }
    counts
}

fn figures(trial: &TrialData, model: LoadModel, kept_up: Option<KeptUp>) -> Figures {
    let mut figures = Figures::default();
    let known = |ns: u64| if ns > 0 { Figure::exact(ns as f64) } else { Figure::None };
    figures.first_answer_ns = known(trial.record.runtime.first_answer_ns);
    figures.first_request_ns = known(trial.record.runtime.first_request_ns);
    if let Some(load) = &trial.record.load {
        add_rates(&mut figures, load, model, kept_up);
        if let Some(times) = &trial.times {
            add_times(&mut figures, load, times, model);
        }
        add_resources(&mut figures, &trial.record, load, &trial.resources);
    }
    figures
}

/// The figures of a load alone, without a runtime that stampede started.
pub fn of_load(
    load: &LoadRecord,
    times: &TimeSet,
    model: LoadModel,
    kept_up: Option<KeptUp>,
) -> Figures {
    let mut figures = Figures::default();
    add_rates(&mut figures, load, model, kept_up);
    add_times(&mut figures, load, times, model);
    figures
}

fn add_rates(figures: &mut Figures, load: &LoadRecord, model: LoadModel, kept_up: Option<KeptUp>) {
    let counts = &load.counts;
    if counts.planned > 0 {
        figures.ok_share = Figure::exact(counts.ok as f64 / counts.planned as f64);
    }
    if let Some(throughput) = throughput(load, model, kept_up) {
        let scheduled = load.scheduled_ns as f64 / 1e9;
        figures.throughput_per_second = match model {
            LoadModel::Closed if load.is_generators_limit() => Figure::at_least(throughput),
            _ => Figure::exact(throughput),
        };
        if model == LoadModel::Open {
            figures.offered_per_second = Figure::exact(counts.planned as f64 / scheduled);
        }
    }
    if load.lasted_ns > 0 {
        let lasted = load.lasted_ns as f64 / 1e9;
        figures.received_bytes_per_second = Figure::exact(counts.bytes_received as f64 / lasted);
        figures.sent_bytes_per_second = Figure::exact(counts.bytes_sent as f64 / lasted);
    }
}

fn add_times(figures: &mut Figures, load: &LoadRecord, times: &TimeSet, model: LoadModel) {
    let failed = failed(load);
    let timeouts = FailureKind::TIMEOUT.count(&load.counts.failed);
    // A timeout counts from *started*. So it bounds service time, and also response time, which is
    // never shorter.
    let cut_off = CutOff { requests: timeouts, after_ns: load.timeout_ns };
    let none = CutOff { requests: 0, after_ns: 0 };
    let of = |answered: &Times| {
        (
            time_figures(Ranked { answered, failed }, cut_off),
            time_figures(Ranked::ok_alone(answered), none),
        )
    };
    (figures.service_time_ns, figures.service_time_ns_ok) = of(&times.service_time);
    if model == LoadModel::Open {
        (figures.response_time_ns, figures.response_time_ns_ok) = of(&times.response_time);
        let without = &times.response_time_without_lag;
        // Earlier versions did not record it.
        if without.len() == times.response_time.len() {
            figures.response_time_without_lag_ns = of(without).0;
        }
        figures.connection_wait_ns_p99 = percentile(Ranked::ok_alone(&times.connection_wait), 99.0);
    }
    if !times.lower_bound.is_empty() {
        figures.lower_bound_ns = of(&times.lower_bound).0;
    }
    figures.lag_marks = LagMark::all(times, failed, cut_off);
    figures.schedule_lag_ns_p99 = percentile(Ranked::ok_alone(&times.schedule_lag), 99.0);
}

/// A percentile that is not among the figures: of response time in the open model, of service time
/// in the closed one.
pub fn any_percentile(trial: &TrialData, model: LoadModel, percent: f64) -> Figure {
    let (Some(load), Some(times)) = (&trial.record.load, &trial.times) else { return Figure::None };
    percentile_of_load(load, times, model, percent)
}

/// The same percentile for a load alone.
pub fn percentile_of_load(
    load: &LoadRecord,
    times: &TimeSet,
    model: LoadModel,
    percent: f64,
) -> Figure {
    let answered = match model {
        LoadModel::Open => &times.response_time,
        LoadModel::Closed => &times.service_time,
    };
    percentile(Ranked { answered, failed: failed(load) }, percent)
}

/// Number of requests without a correct answer, including dropped ones.
fn failed(load: &LoadRecord) -> u64 {
    load.counts.planned.saturating_sub(load.counts.ok)
}

pub(super) fn time_figures(ranked: Ranked<'_>, cut_off: CutOff) -> TimeFigures {
    TimeFigures::build(|stat| match stat {
        Stat::Mean => bounded(ranked.mean(cut_off)),
        Stat::Max => bounded(ranked.max(cut_off)),
        Stat::Percentile(tenths) => percentile(ranked, f64::from(tenths) / 10.0),
    })
}

fn percentile(ranked: Ranked<'_>, percent: f64) -> Figure {
    match ranked.percentile(percent) {
        Percentile::At(ns) => Figure::exact(ns as f64),
        Percentile::Failed => Figure::Failed,
        Percentile::TooFew if ranked.planned() == 0 => Figure::None,
        Percentile::TooFew => Figure::TooFew,
    }
}

fn bounded(bounded: BoundedValue) -> Figure {
    match bounded {
        BoundedValue::Exactly(ns) => Figure::exact(ns),
        BoundedValue::AtLeast(ns) => Figure::at_least(ns),
        BoundedValue::Failed => Figure::Failed,
        BoundedValue::Empty => Figure::None,
    }
}

fn add_resources(
    figures: &mut Figures,
    record: &TrialRecord,
    load: &LoadRecord,
    samples: &[ResourceSample],
) {
    let spent =
        ResourceUse { samples, scheduled_ns: load.scheduled_ns, budget_cpus: record.budget_cpus };
    (figures.cpu_percent_median, figures.cpu_percent_max) = spent.cpu_percent(|_| true);
    figures.cpu_cost_us = spent.cpu_cost_us(|_| true, load.counts.ok);
    (figures.memory_bytes_median, figures.memory_bytes_max) = spent.memory_bytes(|_| true);
    figures.engine_cost_us = engine_cost_us(record, load.counts.ok, samples);
    let roles: BTreeMap<&String, ()> =
        samples.iter().flat_map(|sample| sample.roles.keys()).map(|role| (role, ())).collect();
    for role in roles.into_keys() {
        let only = |name: &str| name == role;
        let (cpu_percent_median, cpu_percent_max) = spent.cpu_percent(only);
        let (memory_bytes_median, memory_bytes_max) = spent.memory_bytes(only);
        let cpu_cost_us = spent.cpu_cost_us(only, load.counts.ok);
        figures.roles.insert(
            role.clone(),
            RoleFigures {
                cpu_percent_median,
                cpu_percent_max,
                cpu_cost_us,
                memory_bytes_median,
                memory_bytes_max,
            },
        );
    }
}

/// What the container engine spent beside the budget, per correct answer.
fn engine_cost_us(record: &TrialRecord, ok: u64, samples: &[ResourceSample]) -> Figure {
    let engine = samples.last().and_then(|last| last.engine.as_ref());
    match engine {
        Some(engine) if record.runtime.given.provider.has_containers() && ok > 0 => {
            let spent_ns: u64 = engine.iter().map(|one| one.cpu_ns).sum();
            Figure::exact(spent_ns as f64 / 1e3 / ok as f64)
        }
        _ => Figure::None,
    }
}

/// The resource readings of a trial, summed over a set of roles.
struct ResourceUse<'a> {
    samples: &'a [ResourceSample],
    scheduled_ns: u64,
    budget_cpus: CpuCount,
}

impl ResourceUse<'_> {
    /// The median and the highest share of the CPU budget, in per cent. Only readings mostly within
    /// the schedule count: while the last answers are awaited, the stack is idle. The last reading
    /// may be so short that it says little; it counts only where there is no other.
    fn cpu_percent(&self, of: impl Fn(&str) -> bool) -> (Figure, Figure) {
        if self.budget_cpus.is_zero() {
            return (Figure::None, Figure::None);
        }
        let has_long = self.samples.iter().any(|sample| !sample.is_short());
        let shares = self
            .samples
            .iter()
            .filter(|sample| sample.interval_ns > 0 && !(has_long && sample.is_short()))
            .filter(|sample| roles(sample, &of).next().is_some())
            .filter(|sample| {
                sample.at_ns.saturating_sub(sample.interval_ns / 2) < self.scheduled_ns
            })
            .map(|sample| {
                let spent: u64 = roles(sample, &of).map(|role| role.cpu_ns).sum();
                let budget = sample.interval_ns as f64 * self.budget_cpus.as_f64();
                spent as f64 / budget * 100.0
            })
            .collect();
        median_and_max(shares)
    }

    /// CPU time per correct answer in µs, including that of the drain.
    fn cpu_cost_us(&self, of: impl Fn(&str) -> bool, ok: u64) -> Figure {
        let mut read = self.samples.iter().flat_map(|sample| roles(sample, &of)).peekable();
        if read.peek().is_none() || ok == 0 {
            return Figure::None;
        }
        let spent: u64 = read.map(|role| role.cpu_ns).sum();
        Figure::exact(spent as f64 / 1e3 / ok as f64)
    }

    /// The median and the highest memory, summed over roles, of the readings that include memory.
    fn memory_bytes(&self, of: impl Fn(&str) -> bool) -> (Figure, Figure) {
        let readings = self
            .samples
            .iter()
            .filter(|sample| roles(sample, &of).next().is_some())
            .filter(|sample| roles(sample, &of).all(|role| role.memory_read))
            .map(|sample| roles(sample, &of).map(|role| role.memory_bytes).sum::<u64>() as f64)
            .collect();
        median_and_max(readings)
    }
}

fn roles<'a>(
    sample: &'a ResourceSample,
    of: &'a impl Fn(&str) -> bool,
) -> impl Iterator<Item = &'a RoleSample> {
    sample.roles.iter().filter(move |(name, _)| of(name)).map(|(_, role)| role)
}

/// The median and the highest reading. For an even number the median is the mean of the middle two.
fn median_and_max(mut readings: Vec<f64>) -> (Figure, Figure) {
    readings.sort_by(f64::total_cmp);
    let Some(max) = readings.last() else { return (Figure::None, Figure::None) };
    let (low, high) = (readings[(readings.len() - 1) / 2], readings[readings.len() / 2]);
    (Figure::exact((low + high) / 2.0), Figure::exact(*max))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reading of one CPU: how long it covers, and how long the stack ran meanwhile, in ms.
    fn percent(readings: &[(u64, u64)]) -> (Option<f64>, Option<f64>) {
        let mut at_ns = 0;
        let samples: Vec<ResourceSample> = readings
            .iter()
            .map(|(covers, ran)| {
                at_ns += covers * 1_000_000;
                let role = RoleSample { cpu_ns: ran * 1_000_000, ..RoleSample::default() };
                ResourceSample {
                    at_ns,
                    interval_ns: covers * 1_000_000,
                    roles: BTreeMap::from([("php".to_owned(), role)]),
                    ..ResourceSample::default()
                }
            })
            .collect();
        let used = ResourceUse {
            samples: &samples,
            scheduled_ns: 10_000_000_000,
            budget_cpus: CpuCount::whole(1),
        };
        let (median, max) = used.cpu_percent(|_| true);
        (median.known(), max.known())
    }

    #[test]
    fn a_short_last_reading_has_no_say_unless_it_is_the_only_one() {
        assert_eq!(percent(&[(1000, 500), (1000, 700), (20, 20)]), (Some(60.0), Some(70.0)));
        assert_eq!(percent(&[(1000, 500), (101, 101)]), (Some(75.0), Some(100.0)), "long enough");
        assert_eq!(percent(&[(80, 40)]), (Some(50.0), Some(50.0)), "a load of 80 ms");
        assert_eq!(percent(&[]), (None, None));
    }
}
