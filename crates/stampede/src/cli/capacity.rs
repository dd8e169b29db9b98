//! The command `stampede capacity`: finds the highest rate that meets the expectations.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;
use stampede_linux::interrupt;
use stampede_mask::mask_json;
use stampede_model::expectation::{Expectation, Figure};
use stampede_model::quantity::parse_length;
use stampede_model::record::RESULTS;
use stampede_model::record::RunRecord;
use stampede_monitor::machine;
use stampede_plan::parts::SearchPlan;
use stampede_plan::{self, Overrides};
use stampede_results::capacity::{CapacityReport, Ending, FORMAT, Limit};
use stampede_results::report::svg;
use stampede_results::store;
use stampede_results::store::{RunDirectory, StoreError};
use stampede_stack::{Catalogue, SearchPaths};

use super::args::{Format, ReportArgs};
use super::args_limits::{CapacityArgs, SearchFlags};
use super::fail::CommandError;
use super::shell::print;
use super::{Failure, Outcome, remote};
use crate::capacity::capacity_search::{CapacityGoal, CapacitySearch};
use crate::capacity::{bench, search, text};
use crate::progress;
use stampede_trial::refusal;
use stampede_trial::search_context::{SearchContext, SearchRun};

/// Flags or a plan that `stampede capacity` cannot use.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    /// The value of a flag is not a length, or is too short or too long.
    #[error("`{flag} {typed}` is not a length that can be used")]
    UnusableLength {
        /// The flag.
        flag: &'static str,
        /// The value as typed.
        typed: String,
        /// The shortest length, in seconds.
        least_s: f64,
        /// The longest length, in seconds.
        most_s: f64,
    },
    /// The precision is not a share, or is too small or too large.
    #[error("`--precision {typed}` is not a share that can be used")]
    UnusablePrecision {
        /// The value as typed.
        typed: String,
    },
    /// The plan has more than one app.
    #[error("the plan has {apps} apps: a capacity is that of one")]
    SeveralApps {
        /// Number of apps.
        apps: usize,
    },
    /// The plan has more than one number of CPUs.
    #[error("the plan has several numbers of CPUs: a capacity is that of one")]
    SeveralCpuCounts,
    /// An expectation compares two runs.
    #[error("the expectation `{expectation}` compares with another run")]
    ComparesRuns {
        /// The expectation as written.
        expectation: String,
    },
    /// An expectation demands throughput.
    #[error("the expectation `{expectation}` says how much, and that is what is searched for")]
    DemandsThroughput {
        /// The expectation as written.
        expectation: String,
    },
}

impl CommandError for CapacityError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            CapacityError::UnusableLength { flag, least_s, most_s, .. } => {
                format!("from {least_s} s to {most_s} s, such as `{flag} 3m`")
            }
            CapacityError::UnusablePrecision { .. } => {
                "from 1% to 50%, such as `--precision 5%`".to_owned()
            }
            CapacityError::SeveralApps { .. } => "name it: `--app NAME`".to_owned(),
            CapacityError::SeveralCpuCounts => "name it: `--cpus N`".to_owned(),
            CapacityError::ComparesRuns { .. } | CapacityError::DemandsThroughput { .. } => {
                "`--expect 'p95 < 100ms'` says how well it has to answer".to_owned()
            }
        })
    }
}

/// Searches, and prints the result.
pub fn run(args: &CapacityArgs) -> Result<Outcome, Failure> {
    let goal = SearchLimits::read(&args.max_time, &args.precision, &args.length)?;
    let workers = args.workers.clone();
    let mut writer = args.context.remote.start()?;
    let context = context(args.what.as_deref(), Overrides { workers, ..overrides(&args.context) })?;
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    context.prepare()?;
    let record = context.run_record();
    let goal = goal.of(&context);
    let mut searches: Vec<CapacitySearch> = (0..context.plan.stack.runtimes.len())
        .map(|index| match &context.refused[index] {
            Some(why) => CapacitySearch::skipped(context.name(index), goal.clone(), why),
            None => CapacitySearch::new(context.name(index), goal.clone()),
        })
        .collect();
    let started = begin(&context, &record)?;
    let mut progress = progress::for_stderr();
    context.begin(progress.as_mut());
    let path = started.path().to_owned();
    let mut listener = remote::of_search(progress.as_mut(), &mut writer, &record);
    let mut run = SearchRun::new(record.clone(), started, &mut listener);
    let report = |searches: &[CapacitySearch]| report(&context, &record, &goal, searches);
    let measure = |index: usize, request: &_| {
        let choice = &context.plan.stack.runtimes[index];
        Ok(bench::measure(&context, &mut run, choice, request)?.map(|(point, _)| point))
    };
    search(&mut searches, context.plan.seed, measure, |searches| write(&path, &report(searches)))?;
    let report = report(&searches);
    write(&path, &report)?;
    remote::finish(writer);
    match args.context.json {
        true => print(json(&report)?.as_bytes())?,
        false => print(format!("{}{}", text(&report), next(&path, &report)).as_bytes())?,
    };
    Ok(outcome(&report))
}

/// The numeric flags of a search.
pub struct SearchLimits {
    /// Time limit for all trials of a runtime, in seconds.
    pub max_time_s: f64,
    /// Precision as a share; 0.1 means 10 %.
    pub precision: f64,
    /// Length of a short trial, in seconds.
    pub trial_s: f64,
}

impl SearchLimits {
    /// Parses the flags.
    pub fn read(
        max_time: &str,
        precision: &str,
        length: &str,
    ) -> Result<SearchLimits, CapacityError> {
        Ok(SearchLimits {
            max_time_s: seconds("--max-time", max_time, 10.0..=86_400.0)?,
            precision: share(precision)?,
            trial_s: seconds("--for", length, 1.0..=600.0)?,
        })
    }

    /// Combines the numbers with the plan's expectations and its client.
    pub fn of(self, context: &SearchContext) -> CapacityGoal {
        let plan = &context.plan;
        CapacityGoal {
            expect: plan.expect.clone(),
            precision: self.precision,
            max_time_s: self.max_time_s,
            trial_s: self.trial_s,
            warm_up_s: plan.begin.warm_up().as_secs_f64(),
            saturation_concurrency: plan.load.max_in_flight.min(CROWD),
            confirm: true,
        }
    }
}

fn seconds(
    flag: &'static str,
    typed: &str,
    range: RangeInclusive<f64>,
) -> Result<f64, CapacityError> {
    let read = parse_length(typed).ok().map(|length| length.as_secs_f64());
    let (least_s, most_s) = (*range.start(), *range.end());
    let typed = typed.to_owned();
    read.filter(|seconds| range.contains(seconds)).ok_or(CapacityError::UnusableLength {
        flag,
        typed,
        least_s,
        most_s,
    })
}

fn share(typed: &str) -> Result<f64, CapacityError> {
    let read = typed.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    read.filter(|percent| (1.0..=50.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| CapacityError::UnusablePrecision { typed: typed.to_owned() })
}

/// Converts the flags to overrides of the plan.
pub fn overrides(flags: &SearchFlags) -> Overrides {
    Overrides {
        app: flags.app.clone(),
        kind: flags.kind.clone(),
        app_flags: flags.about_app.flags(),
        compose: flags.compose.flags(),
        path: flags.path.clone(),
        traffic: flags.traffic.flags(),
        php: flags.php.clone(),
        images: flags.images.clone(),
        cpus: flags.cpus.clone(),
        memory: flags.memory.clone(),
        expect: flags.expect.clone(),
        warm_up: flags.warm_up.clone(),
        client: flags.client.clone(),
        keep_alive: flags.keep_alive.clone(),
        timeout: flags.timeout.clone(),
        max_in_flight: flags.max_in_flight.clone(),
        arrivals: flags.arrivals.clone(),
        seed: flags.seed.clone(),
        out: flags.out.clone(),
        agents: flags.from.agents.clone(),
        agent_program: flags.from.agent_program.clone(),
        token_file: flags.from.token_file.clone(),
        listen: flags.from.listen.clone(),
        ..Overrides::default()
    }
}

/// Prepares a search from a plan file, or from names of runtimes. Nothing is started.
/// `what` may be missing if the flags name a compose project.
pub fn context(what: Option<&str>, flags: Overrides) -> Result<SearchContext, Failure> {
    let is_plan = |what: &&str| {
        Path::new(what).is_file() || what.ends_with(".yaml") || what.ends_with(".yml")
    };
    let warm_up = flags.warm_up.clone().or_else(|| Some(WARM_UP.to_owned()));
    let flags = Overrides { warm_up, ..flags };
    let catalogue = Catalogue::load(SearchPaths::from_env());
    let read = match what.filter(is_plan) {
        Some(plan) => stampede_plan::search(Some(Path::new(plan)), &flags),
        None => {
            let runtimes = what.map(str::to_owned);
            stampede_plan::search(None, &Overrides { runtimes, ..flags })
        }
    };
    let plan = read.map_err(|error| refusal::relocate_error(error, &catalogue))?;
    Ok(SearchContext::new(searchable_plan(plan)?, catalogue, machine::facts())?)
}

/// Adds the default expectations to a plan. Refuses a plan with several apps or CPU counts, or with
/// an expectation that a search cannot use.
pub fn searchable_plan(mut plan: SearchPlan) -> Result<SearchPlan, CapacityError> {
    let apps = plan.stack.apps.choices.len();
    if apps > 1 {
        return Err(CapacityError::SeveralApps { apps });
    }
    if plan.stack.budget.cpu_counts().len() > 1 {
        return Err(CapacityError::SeveralCpuCounts);
    }
    let unfit = |expected: &&Expectation| !is_of_a_search(expected);
    if let Some(unfit) = plan.expect.iter().find(unfit) {
        let expectation = unfit.text.clone();
        return Err(match unfit.bound.worse {
            true => CapacityError::ComparesRuns { expectation },
            false => CapacityError::DemandsThroughput { expectation },
        });
    }
    if plan.expect.is_empty() {
        plan.expect = EXPECTED.iter().filter_map(|text| text.parse().ok()).collect();
    }
    Ok(plan)
}

/// Whether lower rates can meet the expectation. That is impossible if it compares two runs, or
/// demands throughput.
pub fn is_of_a_search(expected: &Expectation) -> bool {
    !expected.bound.worse && expected.bound.figure != Figure::Throughput
}

/// Removes what earlier runs left, and creates the directory of the run.
pub fn begin(context: &SearchContext, record: &RunRecord) -> Result<RunDirectory, Failure> {
    let out = context.plan.out.clone();
    if let Some(directory) = out.clone().filter(|directory| directory.exists()) {
        return Err(StoreError::Exists { directory }.into());
    }
    stampede_keeper::sweep().map_err(|error| Failure::new(&error))?;
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    Ok(RunDirectory::create(out.as_deref(), record)?)
}

fn report(
    context: &SearchContext,
    record: &RunRecord,
    goal: &CapacityGoal,
    searches: &[CapacitySearch],
) -> CapacityReport {
    CapacityReport {
        format: FORMAT,
        stampede: record.stampede.clone(),
        run: record.id.clone(),
        started_at: record.started_at.clone(),
        app: context.app_name(),
        expect: goal.expect.iter().map(|expected| expected.text.clone()).collect(),
        budget_cpus: context.budget_cpus(),
        budget_memory_bytes: context.budget_memory_bytes(),
        precision: goal.precision,
        max_time_s: goal.max_time_s,
        interrupted: interrupt::is_requested(),
        runtimes: searches.iter().map(CapacitySearch::limit).collect(),
    }
}

/// Writes the result. It is called after each trial, so that a crash loses nothing that was known.
fn write(run: &Path, report: &CapacityReport) -> Result<(), StoreError> {
    let text = mask_json(&serde_json::to_string_pretty(report).unwrap_or_default()) + "\n";
    store::write_page(&run.join(FILE), &text)?;
    if let Some(svg) = svg::capacity::chart(report) {
        store::write_page(&run.join("capacity.html"), &page("Capacity", &svg))?;
    }
    Ok(())
}

/// Returns an HTML page that needs no other file, and in which a browser runs nothing. `title` is the
/// program's own word, written as it is.
pub fn page(title: &'static str, svg: &str) -> String {
    let svg = svg.split_once("?>\n").map_or(svg, |(_, svg)| svg);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n<title>{title}</title>\n\
         <body style=\"margin:0 auto;max-width:960px\">\n{svg}</body>\n</html>\n"
    )
}

/// What the page may do: draw itself.
const POLICY: &str =
    "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'";

/// Returns the JSON that is printed and stored.
fn json(report: &CapacityReport) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(report).map_err(|error| Failure::new(&error))?;
    Ok(mask_json(&text) + "\n")
}

fn next(run: &Path, report: &CapacityReport) -> String {
    let page = run.join("capacity.html");
    let page = match page.is_file() {
        true => format!("Chart:   {}\n", page.display()),
        false => String::new(),
    };
    let retry = |limit: &Limit| matches!(limit.ending, Ending::Wide | Ending::Unknown);
    let retry = report.runtimes.iter().any(retry);
    let retry = if retry { "\nMore time narrows it: --max-time 10m\n" } else { "" };
    format!("\nResults: {}\n{page}{retry}", run.display())
}

fn outcome(report: &CapacityReport) -> Outcome {
    let any =
        |endings: &[Ending]| report.runtimes.iter().any(|limit| endings.contains(&limit.ending));
    let measured = report.runtimes.iter().any(|limit| limit.ending != Ending::NotMeasured);
    if !measured {
        Outcome::Nothing
    } else if report.interrupted
        || any(&[Ending::NotMeasured, Ending::Unknown, Ending::Wide, Ending::Unconfirmed])
    {
        Outcome::Incomplete
    } else if any(&[Ending::NotMetAlone, Ending::Below]) {
        Outcome::NotMet
    } else {
        Outcome::Fine
    }
}

/// Returns what `stampede report` prints for a search; `None`: the run is no search, or the format
/// is one for its trials.
pub fn of_run(args: &ReportArgs) -> Result<Option<String>, Failure> {
    let found: Option<(PathBuf, CapacityReport)> = stored(args, FILE, FORMAT)?;
    let Some((directory, mut found)) = found else { return Ok(None) };
    // An older result is printed as this version would have written it.
    found.format = FORMAT;
    match args.format {
        Format::Text => Ok(Some(text(&found) + &next(&directory, &found))),
        Format::Json => json(&found).map(Some),
        _ => Ok(None),
    }
}

/// Reads the file `name` of a run; `None`: it has no such file, or several runs are named.
pub fn stored<T: DeserializeOwned>(
    args: &ReportArgs,
    name: &str,
    known: u32,
) -> Result<Option<(PathBuf, T)>, Failure> {
    let [run] = args.runs.as_slice() else { return Ok(None) };
    let Ok(stored) = store::read_below(Path::new(RESULTS), run) else { return Ok(None) };
    let path = stored.directory.join(name);
    let Ok(text) = std::fs::read_to_string(&path) else { return Ok(None) };
    let damaged = |source| StoreError::Damaged { path: path.clone(), line: 0, source };
    let value: Value = serde_json::from_str(&text).map_err(damaged)?;
    let format = value.get("format").and_then(Value::as_u64).unwrap_or(0);
    if format > u64::from(known) {
        return Err(StoreError::Newer { path, format }.into());
    }
    let read = serde_json::from_value(value).map_err(damaged)?;
    Ok(Some((stored.directory, read)))
}

/// Returns the JSON Schema of `--json`.
#[cfg(debug_assertions)]
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(CapacityReport);
    schema.insert("title".to_owned(), "What `stampede capacity --json` prints".into());
    schema.to_value()
}

/// File in the run's directory.
const FILE: &str = "capacity.json";
/// Expectations if neither flags nor plan give any.
const EXPECTED: [&str; 2] = ["p95 < 100ms", "ok >= 99.9%"];
/// The warm-up is short, because its time is not measured.
const WARM_UP: &str = "1s";
/// Concurrency that fully loads a stack of this size without overloading it.
const CROWD: u32 = 32;
