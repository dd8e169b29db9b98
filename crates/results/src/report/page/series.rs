//! Builds the series of every trial: its figures over time.

use std::collections::BTreeMap;

use stampede_model::counts::{Counts, TimeSet};
use stampede_model::cpus::CpuCount;
use stampede_model::record::SecondRecord;
use stampede_model::sample::{ResourceSample, RoleSample};

use super::case_of;
use super::model::{Number, Resources, Series, Times};
use super::thin::Thinning;
use crate::store::{StoreError, StoredRun, StoredTrial};
use crate::summary::model::LoadModel;
use crate::summary::{RunData, Summary, TrialData};

/// One series for each trial that has a load, in the order of the trials, followed by the trials
/// that have not ended.
///
/// # Errors
/// A trial's seconds cannot be read.
pub fn of_run(
    stored: &StoredRun,
    data: &RunData,
    summary: &Summary,
) -> Result<Vec<Series>, StoreError> {
    let ended = stored.trials.iter().zip(&data.trials);
    let ended = ended.filter(|(_, read)| read.record.load.is_some());
    let jobs: Vec<SeriesJob<'_>> =
        ended.filter_map(|(trial, read)| SeriesJob::of(trial, read, stored, summary)).collect();
    let mut series = read_all(&jobs)?;
    series.extend(of_begun(stored, summary)?);
    Ok(series)
}

/// The series of the trials that have not ended.
///
/// # Errors
/// A trial's seconds cannot be read.
pub fn of_begun(stored: &StoredRun, summary: &Summary) -> Result<Vec<Series>, StoreError> {
    let begun: Vec<(StoredTrial, TrialData)> =
        stored.begun().into_iter().map(unfinished).collect::<Result<_, _>>()?;
    let jobs = begun.iter().filter_map(|(trial, read)| SeriesJob::of(trial, read, stored, summary));
    jobs.map(|job| SeriesJob { unfinished: true, ..job }.series()).collect()
}

fn read_all(jobs: &[SeriesJob<'_>]) -> Result<Vec<Series>, StoreError> {
    // Most of the work is reading histograms, and the trials are independent of each other.
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    if threads < 2 {
        return jobs.iter().map(SeriesJob::series).collect();
    }
    let next = std::sync::atomic::AtomicUsize::new(0);
    let mut done: Vec<(usize, Result<Series, StoreError>)> = std::thread::scope(|scope| {
        let work = || {
            let mut own = Vec::new();
            loop {
                let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let Some(job) = jobs.get(index) else { return own };
                own.push((index, job.series()));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().flat_map(|worker| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, series)| series).collect()
}

/// A trial that has not ended, with the data that is on disk so far.
fn unfinished(trial: StoredTrial) -> Result<(StoredTrial, TrialData), StoreError> {
    let read = TrialData {
        record: trial.record.clone(),
        times: None,
        seconds: trial.seconds()?.rows,
        answered: Vec::new(),
        service: Vec::new(),
        resources: trial.resources()?.rows,
    };
    Ok((trial, read))
}

/// One trial whose series is to be read.
struct SeriesJob<'a> {
    case: usize,
    model: LoadModel,
    trial: &'a StoredTrial,
    read: &'a TrialData,
    unfinished: bool,
}

impl<'a> SeriesJob<'a> {
    fn of(
        trial: &'a StoredTrial,
        read: &'a TrialData,
        stored: &StoredRun,
        summary: &Summary,
    ) -> Option<SeriesJob<'a>> {
        let case = case_of(summary, &stored.record, &read.record)?;
        Some(SeriesJob { case, model: summary.cases[case].model, trial, read, unfinished: false })
    }

    fn series(&self) -> Result<Series, StoreError> {
        let seconds = self.read.seconds.as_slice();
        let rows = self.rows();
        let seconds = &seconds[..seconds.partition_point(|one| (one.second as usize) < rows)];
        let thinning = Thinning::of(rows);
        let counts = |of: fn(&Counts) -> u64| {
            thinning.whole(column(rows, seconds, |second| of(&second.counts) as f64))
        };
        let mut failed = BTreeMap::new();
        for kind in seconds.iter().flat_map(|second| second.counts.failed.keys()) {
            failed.entry(kind.clone()).or_insert_with(|| {
                let of = |second: &SecondRecord| second.counts.failed.get(kind).copied();
                thinning.whole(column(rows, seconds, |second| of(second).unwrap_or(0) as f64))
            });
        }
        Ok(Series {
            case: self.case,
            trial: self.read.record.number,
            round: self.read.record.round,
            unfinished: self.unfinished,
            step: thinning.step() as f64,
            times: self.times(rows, thinning)?,
            offered: counts(|counts| counts.planned),
            ok: counts(|counts| counts.ok),
            dropped: counts(|counts| counts.dropped),
            failed,
            in_flight: thinning
                .whole(column(rows, seconds, |second| f64::from(second.in_flight_max))),
            resources: resources(&self.read.resources, self.read.record.budget_cpus),
        })
    }

    /// The number of rows of the load. Requests that were in flight when the last request had been
    /// sent end in later rows. In the closed model there may be many such rows, in the open model
    /// usually one. Drawn as seconds they would look like a collapse, so they are left out. They
    /// are drawn if requests failed in them, or if they are the long end of an overload.
    fn rows(&self) -> usize {
        let seconds = &self.read.seconds;
        let all = seconds.last().map_or(0, |last| last.second as usize + 1);
        let scheduled = self.read.record.load.as_ref().map_or(0, |load| load.scheduled_ns);
        let planned = usize::try_from(scheduled.div_ceil(1_000_000_000)).unwrap_or(usize::MAX);
        let is_after = |one: &&SecondRecord| one.second as usize >= planned;
        let failed = seconds.iter().filter(is_after).any(|one| !one.counts.failed.is_empty());
        let is_ordinary = self.model == LoadModel::Closed || all <= planned.saturating_add(1);
        if planned > 0 && is_ordinary && !failed { all.min(planned) } else { all }
    }

    fn times(&self, rows: usize, thinning: Thinning) -> Result<Times, StoreError> {
        let empty = || vec![None; rows];
        let mut times =
            Times { mean: empty(), p50: empty(), p95: empty(), p99: empty(), max: empty() };
        if self.trial.directory.join("seconds.hlog").is_file() {
            let read = self.trial.times_by_second(|second, set| {
                if (second as usize) < rows {
                    put(&mut times, second as usize, self.model, set);
                }
            });
            // The notices report damage. What can be read is drawn.
            match read {
                Ok(_) | Err(StoreError::DamagedHistogram { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let Times { mean, p50, p95, p99, max } = times;
        let [mean, p50, p95, p99, max] = [mean, p50, p95, p99, max].map(|all| thinning.gaps(all));
        Ok(Times { mean, p50, p95, p99, max })
    }
}

/// Sets one second's figures, over the ok requests that ended in it.
fn put(times: &mut Times, row: usize, model: LoadModel, set: &TimeSet) {
    let ended = match model {
        LoadModel::Open => &set.response_time,
        LoadModel::Closed => &set.service_time,
    };
    if ended.is_empty() {
        return;
    }
    let at = |percent| {
        let rank = stampede_stats::percentile::rank(percent, ended.len());
        Some(Number::us(ended.at_rank(rank) as f64))
    };
    times.mean[row] = Some(Number::us(ended.mean()));
    times.p50[row] = at(50.0);
    times.p95[row] = at(95.0);
    times.p99[row] = at(99.0);
    times.max[row] = Some(Number::us(ended.max() as f64));
}

/// A column of counts. A missing second counts 0.
fn column(rows: usize, seconds: &[SecondRecord], of: impl Fn(&SecondRecord) -> f64) -> Vec<Number> {
    let mut column = vec![Number(0.0); rows];
    for second in seconds {
        column[second.second as usize] = Number(of(second));
    }
    column
}

/// The samples without a very short last one. The last reading comes when the load ends, some
/// milliseconds after the one before. A clock tick is longer, so such a reading shows no CPU time
/// at all, or too much.
fn without_a_stump(samples: &[ResourceSample]) -> &[ResourceSample] {
    match samples {
        [.., before, last] if last.interval_ns < before.interval_ns / 10 => {
            &samples[..samples.len() - 1]
        }
        all => all,
    }
}

fn resources(samples: &[ResourceSample], budget_cpus: CpuCount) -> Resources {
    let samples = without_a_stump(samples);
    let thinning = Thinning::of(samples.len());
    let at = samples.iter().map(|sample| Number((sample.at_ns as f64 / 1e8).round() / 10.0));
    let names: std::collections::BTreeSet<&String> =
        samples.iter().flat_map(|sample| sample.roles.keys()).collect();
    let by_role = |of: &dyn Fn(&ResourceSample, &RoleSample) -> Option<Number>| {
        let one = |name: &&String| {
            let column = samples.iter().map(|sample| of(sample, sample.roles.get(*name)?));
            ((*name).clone(), thinning.gaps(column.collect()))
        };
        names.iter().map(one).collect::<BTreeMap<_, _>>()
    };
    let budget = if budget_cpus.is_zero() { 1.0 } else { budget_cpus.as_f64() };
    Resources {
        at: thinning.times(at.collect()),
        cpu_percent: by_role(&|sample, role| {
            let share = role.cpu_ns as f64 / sample.interval_ns.max(1) as f64;
            Some(Number::short(100.0 * share / budget))
        }),
        memory_mib: by_role(&|_, role| {
            let mib = role.memory_bytes as f64 / f64::from(1 << 20);
            role.memory_read.then(|| Number::short(mib))
        }),
        disk_bytes_per_second: with_bytes(by_role(&|sample, role| {
            let disk = role.disk?;
            Some(per_second(disk.read_bytes + disk.written_bytes, sample))
        })),
        network_bytes_per_second: with_bytes(by_role(&|sample, role| {
            let network = role.network?;
            Some(per_second(network.received_bytes + network.sent_bytes, sample))
        })),
    }
}

fn per_second(bytes: u64, sample: &ResourceSample) -> Number {
    Number::short(bytes as f64 * 1e9 / sample.interval_ns.max(1) as f64)
}

type ByRole = BTreeMap<String, Vec<Option<Number>>>;

/// Nothing, if not a byte was transferred: a chart of zeros shows nothing.
fn with_bytes(columns: ByRole) -> ByRole {
    let has_bytes = |number: &Option<Number>| number.is_some_and(|number| number.0 > 0.0);
    match columns.values().flatten().any(has_bytes) {
        true => columns,
        false => ByRole::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_reading_of_some_milliseconds_is_not_drawn() {
        let drawn = |last_ms: u64| {
            let reading = |(at_ms, interval_ms): (u64, u64)| ResourceSample {
                at_ns: at_ms * 1_000_000,
                interval_ns: interval_ms * 1_000_000,
                ..ResourceSample::default()
            };
            let samples = [(1000, 1000), (2000, 1000), (2000 + last_ms, last_ms)].map(reading);
            resources(&samples, CpuCount::whole(1)).at.len()
        };
        assert_eq!([drawn(2), drawn(99), drawn(100), drawn(1000)], [2, 2, 3, 3]);
    }
}
