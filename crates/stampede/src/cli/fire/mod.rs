//! The command `stampede fire`: sends load to one URL and prints a summary.

mod agents;
mod error;
mod files;
mod found;
mod limits;
mod nothing;
mod phout;
mod prometheus;
mod ready;
mod remote;
mod report;
mod run;
mod screen;
mod server;
mod summary;
mod traffic;
mod watch;

use std::collections::BTreeMap;
use std::path::Path;

use stampede_linux::interrupt;
use stampede_load::report::{LoadResult, TagFigures};
use stampede_load::{Generator, LoadError};
use stampede_mask::{mask_json, mask_secrets};
use stampede_model::agents::AGENT_HERE;
use stampede_model::counts::End;
use stampede_model::event::Phase;
use stampede_model::fact::Traffic;
use stampede_model::fact::nothing::{Kind, Nothing};
use stampede_model::load::Model;
use stampede_model::machine::MachineFacts;
use stampede_model::record::{LoadRecord, Validity, Verdict};
use stampede_model::sample::ResourceSample;
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;
use stampede_monitor::machine::{self};
use stampede_plan::autostop::{Criterion, Guard};
use stampede_results::summary::kept_up::KeptUp;
use stampede_results::summary::model::LoadModel;
use stampede_verdict::{self as verdict, Evidence, ModelKind};

pub use self::ready::left_out;
pub use self::screen::guard_terminal;

use self::files::Files;
use self::nothing::NothingError;
use self::ready::PreparedLoad;
use self::remote::RemoteLoad;
use self::report::{Report, ReportParts, TagReport};
use self::run::FireRun;
use self::screen::LoadDisplay;
use self::server::{ServerReadings, WatchedServer};
use self::watch::{LoadListener, LoadSeconds};
use super::args_fire::FireArgs;
use super::fail::CommandError as _;
use super::shell::print;
use super::{Failure, Outcome};
use stampede_trial::load_record;

/// Sends the load, then prints the summary.
pub fn run(args: FireArgs) -> Result<Outcome, Failure> {
    // Steal is measured over time, and no time is spent on it here.
    let machine = machine::facts_below(Path::new("/"), || {});
    let ready = PreparedLoad::of(&args, &machine)?;
    let generator = agents::generator(&args, ready.agents.as_ref(), &ready.load);
    let remote = args.remote.start()?;
    let server = WatchedServer::find(args.watch.as_deref())?;
    let mut files = Files::create(&args.files)?;
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    generator.prepare(&Stop::from(interrupt::new_flag()))?;
    // The last of what can be refused, so that a mistake leaves no directory.
    let run = args.files.report.as_deref();
    files.run = run.map(|path| FireRun::create(path, &ready, &machine)).transpose()?;
    let mut display = LoadDisplay::begin(&args, &ready);
    if let Some(warm_up) = &ready.load.warm_up {
        display.enter(Phase::WarmUp, warm_up);
    }
    files.begin(&ready.load);
    files.remote = remote.map(|writer| RemoteLoad::begin(writer, &ready));
    let result =
        measure(&ready, &*generator, (&mut display, &mut files), server).inspect_err(|_| {
            files.run.take().into_iter().for_each(FireRun::remove);
        })?;
    drop(generator);
    drop(display);
    let report = result.report(&ready, &machine);
    files.end(&report, &result.result);
    files.remote.take().into_iter().for_each(|remote| remote.end(report.verdict));
    let text = if args.json {
        let json = serde_json::to_string_pretty(&report).map_err(|error| Failure::new(&error))?;
        mask_json(&json) + "\n"
    } else {
        mask_secrets(&summary::text(&report))
    };
    // The load was sent. If a part of its result cannot be written, that is reported, and the rest
    // goes on.
    let printed = print(text.as_bytes()).err();
    let page = files.run.take().map(|run| {
        run.end(&report, &result.result, &ready, (result.server.as_ref(), machine.cpus_logical))
    });
    let unwritten = files.written().into_iter().map(Failure::from);
    let (page, no_page) = match page.transpose() {
        Ok(page) => (page.flatten(), None),
        Err(failure) => (None, Some(failure)),
    };
    let named = page.filter(|_| !args.json);
    let named =
        named.and_then(|page| print(format!("\nReport: {}\n", page.display()).as_bytes()).err());
    let lost: Vec<Failure> =
        printed.into_iter().chain(named).chain(no_page).chain(unwritten).collect();
    let nothing = result.nothing.as_ref();
    let nothing = nothing.map(|one| Failure::from(NothingError::of(one, &report, &ready)));
    lost.iter().chain(&nothing).for_each(|failure| {
        failure.print();
    });
    Ok(if lost.is_empty() { result.outcome(&report) } else { Outcome::Incomplete })
}

/// The results of a measured load.
struct FireResult {
    result: LoadResult,
    seconds: LoadSeconds,
    /// What disturbed the generator from outside.
    aside: ResourceSample,
    /// What the server used; `None`: nobody asked for it.
    server: Option<ServerReadings>,
    /// The criterion that ended the load early; `None`: none did.
    autostop: Option<String>,
    /// Whether that criterion was a limit of time, which says nothing about the server.
    is_limit: bool,
    /// Why there is no correct answer; `None`: there is one.
    nothing: Option<Nothing>,
}

fn measure(
    ready: &PreparedLoad,
    generator: &dyn Generator,
    (display, files): (&mut LoadDisplay, &mut Files),
    server: Option<WatchedServer>,
) -> Result<FireResult, LoadError> {
    let mut watch = LoadListener::new(display, files, &ready.load.model, server);
    let stop = Stop::from(interrupt::new_flag());
    let (result, autostop, is_limit) = match ready.autostop.clone() {
        None => (generator.run(&ready.load, &stop, &mut watch)?, None, false),
        Some(judge) => {
            let mut guard = Guard::new(judge, stop.clone(), &mut watch);
            let result = generator.run(&ready.load, &stop, &mut guard)?;
            // A criterion that is met only in the last second stopped nothing.
            let reason = guard.reason().filter(|_| result.end == End::Stopped);
            let is_limit = matches!(guard.judge().met(), Some(Criterion::Limit { .. }));
            (result, reason.map(str::to_owned), is_limit)
        }
    };
    let result = without_not_due(result);
    let nothing = nothing::of(&result, autostop.is_some(), &ready.load);
    let (seconds, aside, server) = watch.end();
    // Of agents nobody knows yet what disturbed them. What happened here disturbed nobody.
    let aside = if ready.agents.is_some() { ResourceSample::default() } else { aside };
    Ok(FireResult { result, seconds, aside, server, autostop, is_limit, nothing })
}

fn schedule(model: &Model) -> Option<&Segments> {
    match model {
        Model::Open { schedule, .. } => Some(schedule),
        Model::Closed { .. } => None,
    }
}

/// Leaves out planned requests that were not due when the load was ended early. Otherwise a
/// percentile over all planned requests would only show how early the end was.
fn without_not_due(mut result: LoadResult) -> LoadResult {
    // Agents are other programs, whose counts need not be right.
    result.counts.planned = result.counts.planned.saturating_sub(result.not_due);
    result.counts.dropped = result.counts.dropped.saturating_sub(result.not_due);
    result
}

impl FireResult {
    fn report(&self, ready: &PreparedLoad, machine: &MachineFacts) -> Report {
        let record = load_record(&self.result, &ready.load, &ready.choice);
        let mut verdict = self.judge(&record, &ready.load.model, machine);
        let found = found::notes(&self.result, &ready.load.model);
        let answers = verdict::about_answers(&self.result);
        let before = ready.notes().map(|note| (Validity::Valid, note));
        let of_file = found::about_traffic(&self.result);
        let of_agents = verdict::about_agents(&self.result.agents);
        for (judged, reason) in
            of_agents.into_iter().chain(before).chain(found).chain(answers).chain(of_file)
        {
            verdict::add(&mut verdict, judged, reason);
        }
        if let Some(gone) = self.server.as_ref().and_then(|server| server.gone.clone()) {
            verdict::add(&mut verdict, Validity::Suspect, gone);
        }
        if let Some(nothing) = &self.nothing {
            // All figures are those of failures, so this comes before any other reason.
            verdict.judged = verdict.judged.max(Validity::Suspect);
            verdict.reasons.insert(0, Traffic::NothingCorrect(nothing.clone()).into());
        }
        let kept_up = KeptUp::of_load(&record, schedule(&ready.load.model), &self.seconds.rows);
        if let Some(KeptUp::No { why, .. }) = kept_up {
            verdict::add(&mut verdict, Validity::Valid, Traffic::FellBehind { why });
        }
        let mut report = Report::of(ReportParts {
            url: &ready.url,
            choice: &ready.choice,
            load: &ready.load,
            result: &self.result,
            record: &record,
            verdict,
            autostop: self.autostop.clone(),
            seconds: &self.seconds,
            server: self.server.as_ref(),
            kept_up,
        });
        let nothing = self.nothing.as_ref().map(|one| NothingError::of(one, &report, ready));
        report.hint = nothing.and_then(|error| error.hint());
        report
    }

    /// Judges the load as a trial is judged. A load that a criterion ended counts as complete.
    fn judge(&self, record: &LoadRecord, model: &Model, machine: &MachineFacts) -> Verdict {
        let model = match model {
            Model::Open { max_in_flight, .. } => ModelKind::Open { max_in_flight: *max_in_flight },
            Model::Closed { .. } => ModelKind::Closed,
        };
        let end = if self.autostop.is_some() { End::Complete } else { record.end };
        let mut verdict = verdict::judge(&Evidence {
            load: &LoadRecord { end, ..record.clone() },
            model,
            // The quota here is that of this process, not of a stack.
            resources: &[ResourceSample { throttled_ns: 0, ..self.aside.clone() }],
            changed: &[],
            // That of this machine, on which agents elsewhere do not depend.
            clock_source: match self
                .result
                .agents
                .iter()
                .all(|one| one.name.starts_with(AGENT_HERE))
            {
                true => &machine.clock_source,
                false => "",
            },
            machine_cpus: machine.cpus_logical,
            // The server may run on this machine.
            has_containers: false,
            all_watched: false,
            memory_limit_bytes: 0,
            oom_kills: 0,
            died: &[],
        });
        if let Some(reason) = found::about_quota(&self.aside) {
            verdict::add(&mut verdict, Validity::Suspect, reason);
        }
        verdict
    }

    fn outcome(&self, report: &Report) -> Outcome {
        let asked = !report.expectations.is_empty();
        let stopped = report.autostop.is_some() && !self.is_limit;
        let kind = self.nothing.as_ref().map(|nothing| nothing.kind);
        match report.verdict {
            // Expectations need answers, and there are none.
            _ if self.result.agents.iter().any(|agent| !agent.is_complete()) => Outcome::Incomplete,
            _ if matches!(kind, Some(Kind::Unsent | Kind::Unanswered)) => Outcome::Incomplete,
            Validity::Invalid if asked => Outcome::Incomplete,
            _ if stopped || report.breaks_an_expectation() => Outcome::NotMet,
            _ if kind == Some(Kind::Incorrect) => Outcome::Incomplete,
            _ => Outcome::Fine,
        }
    }
}

/// Returns the figures by tag; empty if no request has a tag.
fn tags(result: &LoadResult, model: LoadModel) -> BTreeMap<String, TagReport> {
    if result.tags.keys().all(String::is_empty) {
        return BTreeMap::new();
    }
    let tagged = |(name, figures): (&String, &TagFigures)| {
        let open = model == LoadModel::Open;
        let tagged = TagReport {
            requests_ok: figures.ok,
            requests_failed: figures.failed,
            response_time_ok_ns: open.then(|| report::alone(&figures.response_time)),
            service_time_ok_ns: report::alone(&figures.service_time),
        };
        (name.clone(), tagged)
    };
    result.tags.iter().map(tagged).collect()
}

/// The JSON Schema of [`Report`].
#[cfg(debug_assertions)]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Report);
    schema.insert("title".to_owned(), "What `stampede fire --json` prints".into());
    schema.to_value()
}

#[cfg(test)]
mod made;
#[cfg(test)]
mod tests;
