//! The command `stampede tune`: finds the best settings of a runtime.

use std::error::Error;
use std::fmt;
use std::path::Path;

use stampede_linux::interrupt;
use stampede_mask::mask_json;
use stampede_model::fact::search as fact;
use stampede_model::record::RunRecord;
use stampede_model::schedule::{RateError, parse_rate};
use stampede_plan::model::RuntimeSource;
use stampede_results::report::svg;
use stampede_results::store;
use stampede_results::store::{RunDirectory, StoreError};
use stampede_results::tune::{FORMAT, Line, Scaling, TuneReport};
use stampede_stack::RuntimeError;
use stampede_stats::best::Value as SettingValue;
use stampede_stats::usl::Usl;

use super::args::{Format, ReportArgs};
use super::args_limits::TuneArgs;
use super::capacity::{SearchLimits, begin, context, overrides, page};
use super::fail::CommandError;
use super::shell::print;
use super::{Failure, Outcome, remote};
use crate::capacity::bench;
use crate::progress;
use crate::tune::lines::Configuration;
use crate::tune::settings::{Setting, SettingError, variant};
use crate::tune::text::text;
use crate::tune::tuning_search::{Objective, TuningSearch};
use stampede_trial::refusal::Refusal;
use stampede_trial::search_context::{SearchContext, SearchRun};

/// Flags or a runtime that `stampede tune` cannot use.
#[derive(Debug, thiserror::Error)]
enum TuneError {
    /// Several runtimes are named.
    #[error("`tune` is about one runtime, not {runtimes}")]
    SeveralRuntimes {
        /// Number of runtimes.
        runtimes: usize,
    },
    /// The runtime is not one that stampede starts.
    #[error("`{runtime}` already runs: nothing of it can be set")]
    AlreadyRunning {
        /// The runtime's name.
        runtime: String,
    },
    /// Of a compose project nothing is known that could be set.
    #[error("`{project}` is a compose project, whose settings are the variables of its images")]
    NothingToSet {
        /// The project's name.
        project: String,
    },
    /// The value of `--rate` is not a rate.
    #[error(transparent)]
    UnusableRate(RateError),
    /// `--set` names a setting twice.
    #[error("`--set {name}` is given twice")]
    SettingTwice {
        /// The setting's name.
        name: String,
    },
}

impl CommandError for TuneError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            TuneError::SeveralRuntimes { .. } => "`stampede capacity` searches several",
            TuneError::AlreadyRunning { .. } => "`stampede capacity` searches its limit as it is",
            TuneError::NothingToSet { .. } => {
                "name a variable that an image reads, such as `--set PHP_FPM_MAX_CHILDREN=4..32`"
            }
            TuneError::UnusableRate(_) => "requests per second, such as `--rate 200`",
            TuneError::SettingTwice { .. } => "name all of its values at once",
        };
        Some(hint.to_owned())
    }
}

impl CommandError for SettingError {
    fn hint(&self) -> Option<String> {
        Some("`--set workers=2..64` or `--set pm=static,ondemand`".to_owned())
    }
}

/// A runtime that cannot be used with a value of `--set`. The text is that of the runtime's error,
/// but the hint names the flag.
#[derive(Debug)]
struct RefusedSetting {
    /// The text of `--set`.
    text: String,
    /// The runtime's error.
    error: RuntimeError,
}

impl fmt::Display for RefusedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl Error for RefusedSetting {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl CommandError for RefusedSetting {
    fn hint(&self) -> Option<String> {
        Some(format!("`--set {}` asks for it", self.text))
    }
}

/// Tunes a runtime, and prints which settings to choose.
pub fn run(args: &TuneArgs) -> Result<Outcome, Failure> {
    let numbers = SearchLimits::read(&args.max_time, &args.precision, &args.length)?;
    let rate = args.rate.as_deref().map(read_rate).transpose()?;
    let mut writer = args.context.remote.start()?;
    let context = context(args.runtime.as_deref(), overrides(&args.context))?;
    let [choice] = context.plan.stack.runtimes.as_slice() else {
        return Err(
            TuneError::SeveralRuntimes { runtimes: context.plan.stack.runtimes.len() }.into()
        );
    };
    if choice.is_external() {
        return Err(TuneError::AlreadyRunning { runtime: choice.name.clone() }.into());
    }
    if matches!(choice.source, RuntimeSource::Compose(_)) && args.set.is_empty() {
        return Err(TuneError::NothingToSet { project: choice.name.clone() }.into());
    }
    let settings = read_settings(&args.set)?;
    check(&context, &settings)?;
    let max_time_s = numbers.max_time_s;
    let objective = Objective { goal: numbers.of(&context), rate, max_time_s };
    let record = context.run_record();
    let directory = begin(&context, &record)?;
    let path = directory.path().to_owned();
    let mut progress = progress::for_stderr();
    context.begin(progress.as_mut());
    let mut listener = remote::of_search(progress.as_mut(), &mut writer, &record);
    let run = SearchRun::new(record.clone(), directory, &mut listener);
    let tuned = tune(&context, run, TuningSearch::new(objective, settings), |tuned| {
        write(&path, &report(&context, &record, tuned))
    });
    let (tuned, _) = tuned?;
    let report = report(&context, &record, &tuned);
    write(&path, &report)?;
    remote::finish(writer);
    match args.context.json {
        true => print(json(&report)?.as_bytes())?,
        false => print(format!("{}\n{}", text(&report), next(&path)).as_bytes())?,
    };
    Ok(outcome(&report, &tuned))
}

/// The state of a tuning, with the configuration of its trials.
pub struct TuningRun {
    /// The search and its results.
    pub work: TuningSearch,
    configured: Vec<(Vec<SettingValue>, Configuration)>,
}

/// Measures one point after the other on the first runtime of `context`. Also returns the run's
/// directory.
pub fn tune(
    context: &SearchContext,
    mut run: SearchRun<'_>,
    mut work: TuningSearch,
    mut after: impl FnMut(&TuningRun) -> Result<(), StoreError>,
) -> Result<(TuningRun, RunDirectory), StoreError> {
    let choice = &context.plan.stack.runtimes[0];
    let settings = work.settings().to_vec();
    let configured = std::cell::RefCell::new(Vec::new());
    let measure = |at: &[SettingValue], request: &_| {
        let variant = variant(choice, &settings, at);
        let Some((point, look)) = bench::measure(context, &mut run, &variant, request)? else {
            return Ok(None);
        };
        configured.borrow_mut().push((at.to_vec(), Configuration::of(&look.record.runtime)));
        Ok(Some(point))
    };
    let tuned = |work: &TuningSearch| TuningRun {
        work: work.clone(),
        configured: configured.borrow().clone(),
    };
    work.run(measure, |work| after(&tuned(work)))?;
    let tuned = tuned(&work);
    Ok((tuned, run.directory))
}

fn read_rate(typed: &str) -> Result<f64, TuneError> {
    parse_rate(typed).map(|rate| rate.0 as f64 / 1e6).map_err(TuneError::UnusableRate)
}

/// Parses the settings; `workers` if none is given.
fn read_settings(typed: &[String]) -> Result<Vec<Setting>, Failure> {
    let texts = if typed.is_empty() { vec![WORKERS.to_owned()] } else { typed.to_vec() };
    let mut settings: Vec<Setting> = Vec::new();
    for text in texts {
        let setting = Setting::read(&text)?;
        if settings.iter().any(|known| known.name == setting.name) {
            return Err(TuneError::SettingTwice { name: setting.name }.into());
        }
        settings.push(setting);
    }
    Ok(settings)
}

/// Checks before anything starts that the runtime accepts the values that are tried first.
fn check(context: &SearchContext, settings: &[Setting]) -> Result<(), Failure> {
    let choice = &context.plan.stack.runtimes[0];
    let first: Vec<SettingValue> = settings.iter().map(Setting::least).collect();
    for (index, setting) in settings.iter().enumerate() {
        for value in setting.ends() {
            let mut at = first.clone();
            at[index] = value;
            context.check(&variant(choice, settings, &at)).map_err(|refusal| match refusal {
                // The plan does not contain the value, so the error names the flag.
                Refusal::Runtime(error) => {
                    Failure::from(RefusedSetting { text: setting.text.clone(), error })
                }
                other => Failure::from(other),
            })?;
        }
    }
    Ok(())
}

/// Returns the report on what is known so far.
pub fn report(context: &SearchContext, record: &RunRecord, tuned: &TuningRun) -> TuneReport {
    let work = &tuned.work;
    let chosen = work.chosen();
    TuneReport {
        format: FORMAT,
        stampede: record.stampede.clone(),
        run: record.id.clone(),
        started_at: record.started_at.clone(),
        runtime: context.name(0),
        app: context.app_name(),
        expect: work.objective().goal.expect.iter().map(|expected| expected.text.clone()).collect(),
        rate_per_second: work.objective().rate,
        budget_cpus: context.budget_cpus(),
        budget_memory_bytes: context.budget_memory_bytes(),
        max_time_s: work.objective().max_time_s,
        out_of_time: work.out_of_time,
        interrupted: interrupt::is_requested(),
        settings: work.settings().iter().map(|setting| setting.text.clone()).collect(),
        best: chosen.map(|(_, point)| point.settings.clone()),
        said: search_result(work).into(),
        lines: lines(tuned),
        memory_bytes_per_worker: per_worker(work),
        waiting_share: work.waiting_share(),
        scaling: scaling(work),
        points: work.points.iter().map(|(_, point)| point.clone()).collect(),
    }
}

/// Describes the choice, and whether better values may lie outside the range.
fn search_result(work: &TuningSearch) -> fact::Tuned {
    if let Some(hopeless) = &work.hopeless {
        return fact::Tuned::Hopeless { result: Box::new(hopeless.clone()) };
    }
    let Some((at, point)) = work.chosen() else {
        return match work.points.is_empty() {
            true => fact::Tuned::Unknown {},
            false => fact::Tuned::AllFailed {},
        };
    };
    let settings = point.settings.clone();
    let value = point.value.unwrap_or(0.0);
    let at_end = work.at_end(at).iter().map(|setting| setting.name.clone()).collect();
    match work.objective().rate {
        None => fact::Tuned::Capacity {
            settings,
            value_per_second: value,
            low_per_second: point.low,
            high_per_second: point.high,
            is_confirmed: work.confirmed,
            at_end,
        },
        Some(_) => fact::Tuned::P95 { settings, value_ns: value, at_end },
    }
}

/// Returns the configuration lines, from the first and last trial of the best point and from the
/// trials of all others.
fn lines(tuned: &TuningRun) -> Vec<Line> {
    let Some((best, _)) = tuned.work.chosen() else { return Vec::new() };
    let of_best: Vec<&Configuration> =
        tuned.configured.iter().filter(|(at, _)| at == best).map(|(_, one)| one).collect();
    let others: Vec<&Configuration> =
        tuned.configured.iter().filter(|(at, _)| at != best).map(|(_, one)| one).collect();
    let (Some(first), Some(last)) = (of_best.first(), of_best.last()) else { return Vec::new() };
    first.lines(last, &others)
}

/// Returns (workers, figure) of the points that did not fail.
fn by_workers(
    work: &TuningSearch,
    of: impl Fn(&stampede_results::tune::TunePoint) -> Option<f64>,
) -> Vec<(f64, f64)> {
    let points = work.points.iter().map(|(_, point)| point).filter(|point| point.failed.is_none());
    points
        .filter_map(|point| Some((point.settings.get("workers")?.parse().ok()?, of(point)?)))
        .collect()
}

/// Returns the slope of memory over workers, by least squares.
fn per_worker(work: &TuningSearch) -> Option<f64> {
    let points = by_workers(work, |point| point.memory_bytes_max);
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (x, y) = (x / count, y / count);
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>() / spread;
    (slope.is_finite() && slope > 0.0).then_some(slope)
}

fn scaling(work: &TuningSearch) -> Option<Scaling> {
    if work.objective().rate.is_some() {
        return None;
    }
    let Usl { lambda, sigma, kappa } = Usl::fit(&by_workers(work, |point| point.value))?;
    Some(Scaling { one_worker_per_second: lambda, contention: sigma, coherency: kappa })
}

/// Writes `tune.json` and its chart, after each point.
pub fn write(run: &Path, report: &TuneReport) -> Result<(), StoreError> {
    let text = mask_json(&serde_json::to_string_pretty(report).unwrap_or_default()) + "\n";
    store::write_page(&run.join(FILE), &text)?;
    if let Some(svg) = svg::tune::chart(report) {
        store::write_page(&run.join(CHART), &page("Tuning", &svg))?;
    }
    Ok(())
}

fn json(report: &TuneReport) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(report).map_err(|error| Failure::new(&error))?;
    Ok(mask_json(&text) + "\n")
}

fn next(run: &Path) -> String {
    let chart = run.join(CHART);
    let chart = match chart.is_file() {
        true => format!("Chart:   {}\n", chart.display()),
        false => String::new(),
    };
    format!("Results: {}\n{chart}", run.display())
}

fn outcome(report: &TuneReport, tuned: &TuningRun) -> Outcome {
    let measured = report.points.iter().any(|point| point.value.is_some());
    match () {
        () if tuned.work.hopeless.is_some() => Outcome::NotMet,
        () if report.interrupted => Outcome::Incomplete,
        () if !measured => Outcome::Nothing,
        () if report.out_of_time => Outcome::Incomplete,
        () => Outcome::Fine,
    }
}

/// Returns what `stampede report` prints for a tuning; `None`: the run is no tuning, or the format
/// is one for its trials.
pub fn of_run(args: &ReportArgs) -> Result<Option<String>, Failure> {
    let found: Option<(_, TuneReport)> = super::capacity::stored(args, FILE, FORMAT)?;
    let Some((directory, mut found)) = found else { return Ok(None) };
    // An older result is printed as this version would have written it.
    found.format = FORMAT;
    match args.format {
        Format::Text => Ok(Some(format!("{}\n{}", text(&found), next(&directory)))),
        Format::Json => json(&found).map(Some),
        _ => Ok(None),
    }
}

/// Returns the JSON Schema of `--json`.
#[cfg(debug_assertions)]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(TuneReport);
    schema.insert("title".to_owned(), "What `stampede tune --json` prints".into());
    schema.to_value()
}

/// Files in the run's directory.
const FILE: &str = "tune.json";
const CHART: &str = "tune.html";
/// The setting that is tuned by default.
pub const WORKERS: &str = "workers=2..64";
