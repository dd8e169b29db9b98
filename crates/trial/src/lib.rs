//! Measures one case once, on a freshly started runtime or on an external one; and all trials of a
//! run.

mod answers;
mod begin;
pub mod budget;
pub mod cases;
pub mod causes;
pub mod comparison;
mod ending;
mod executor;
pub mod expected;
mod look;
mod not_measured;
mod paths;
mod phases;
mod queries;
pub mod refusal;
pub mod search_context;
pub mod senders;
mod sent;
pub mod sessions;
mod shared_start;
mod time_left;
pub mod today;
pub mod traffic;
mod watch;

use std::time::Duration;

use serde_json::Value;
use stampede_linux::{interrupt, space};
use stampede_load::{Generator, Load, LoadResult};
use stampede_model::event::{EventListener, Phase};
use stampede_model::fact::{Machine, Server, Traffic};
use stampede_model::failure::FailureKind;
use stampede_model::isolation::Exit;
use stampede_model::lag::LagMark;
use stampede_model::observed;
use stampede_model::record::DATABASE_ROLE;
use stampede_model::record::{
    LoadRecord, ObservedState, PageRecord, TrialRecord, Validity, Verdict,
};
use stampede_model::redirect::FollowedRedirects;
use stampede_model::sample::ResourceSample;
use stampede_model::time::Nanos;
use stampede_plan::model::{LoadChoice, RequestSpec, RuntimeChoice, StartState};
use stampede_results::store::TrialDirectory;
use stampede_stack::{
    App, Caches, CookieJar, DeniedFiles, LogMarks, PageRequest, PageResult, Placement, Provider,
    Readiness, Stack, StackRequest, StartPurpose,
};
use stampede_stats::percentile::{CutOff, rank};
use stampede_verdict::{self as verdict, Evidence, Judgement, ModelKind};

use crate::causes::{cause, cause_with_hint};
use look::Looks;
use phases::Phases;
use watch::WatchedLoad;

pub use not_measured::{NotMeasured, Retry};
pub use paths::PagesError;
pub use shared_start::SharedStart;

/// What a trial needs besides its case.
pub struct TrialContext<'a> {
    /// What starts the stacks.
    pub provider: &'a dyn Provider,
    /// CPUs and memory of the stack.
    pub placement: &'a Placement,
    /// What sends the load.
    pub generator: &'a dyn Generator,
    /// CPUs of the load threads.
    pub load_cpus: &'a [usize],
    /// How the trial begins: after a warm-up, or cold.
    pub begin: StartState,
    /// The name of the kernel's clock source.
    pub clock_source: &'a str,
    /// The number of CPUs of the machine.
    pub machine_cpus: u32,
}

/// What one trial measures.
pub struct Subject<'a> {
    /// The runtime with its settings.
    pub runtime: &'a RuntimeChoice,
    /// The app.
    pub app: &'a App,
    /// The load, with `keep_alive` settled.
    pub load: &'a LoadChoice,
    /// The loads with other requests that the same stack gets in this run: their pages are asked on
    /// the same start.
    pub others: Vec<&'a LoadChoice>,
}

/// Runs one case once and fills `record`. The runtime stops however this function returns, unless
/// `start` keeps it for the next load. A trial that could not be measured gets an invalid verdict
/// with the reason, and the comparison continues.
///
/// # Errors
/// Nothing was measured.
pub fn trial(
    ctx: &TrialContext<'_>,
    subject: &Subject<'_>,
    start: &mut SharedStart,
    record: &mut TrialRecord,
    directory: &mut TrialDirectory,
    listener: &mut dyn EventListener,
) -> Result<LoadResult, NotMeasured> {
    let mut phases = Phases::begin(listener);
    let measured = measure(ctx, subject, start, record, directory, &mut phases);
    record.phases = phases.end();
    measured.inspect_err(|error| {
        record.verdict = verdict::not_measured(error.reasons());
    })
}

/// Runs the phases of a trial in their order.
fn measure(
    ctx: &TrialContext<'_>,
    subject: &Subject<'_>,
    shared: &mut SharedStart,
    record: &mut TrialRecord,
    directory: &mut TrialDirectory,
    phases: &mut Phases<'_>,
) -> Result<LoadResult, NotMeasured> {
    let is_ours = ctx.provider.starts(subject.runtime);
    let is_cold = is_cold_start(ctx, subject);
    if is_cold && subject.app.manifest.settings.login.is_some() {
        return Err(NotMeasured::LoginWhenCold);
    }
    let look_result = match is_cold || (is_ours && shared.looks.pages(subject).is_none()) {
        true => {
            // The stack of an earlier load does not run beside the one that is asked.
            shared.stop()?;
            Some(look::look(ctx, subject, &mut shared.looks, record, directory, phases)?)
        }
        false => None,
    };
    if is_ours && !shared.has_stack() {
        phases.enter(Phase::Start, None);
    }
    let look_result = look_result.filter(|_| is_cold);
    let mut measured = match (&look_result, shared.take(record)) {
        (_, Some(kept)) => kept,
        (Some(cold), None) => {
            let how = (Caches::Emptied, Readiness::Idle, StartPurpose::Measured);
            start(ctx, subject, cold.page.clone(), how)?
        }
        (None, None) => {
            let page = sessions::page_before_login(subject.app, page(subject));
            let how = (Caches::Kept, Readiness::RightAnswer, StartPurpose::Measured);
            start(ctx, subject, page, how)?
        }
    };
    record.isolation = measured.isolation();
    record.runtime = shared_start::of_this_load(measured.record(), record);
    record.mark_own_limits();
    let result = match look_result {
        Some(cold) => {
            record.runtime.first_answer_ns = cold.first_answer_ns;
            record.runtime.first_request_ns = cold.first_request_ns;
            record.runtime.before = Some(cold.shown.observed.clone());
            Ok(cold.shown)
        }
        None => {
            phases.enter(Phase::Verify, None);
            shared_start::turn_to(measured.as_mut(), subject, record).and_then(|()| {
                let before = &mut record.runtime.before;
                let sinks = (&mut shared.looks, &mut *directory);
                verify_before_load(subject, measured.as_mut(), before, sinks)
            })
        }
    };
    let result = result.and_then(|shown| {
        load_and_record(ctx, subject, record, directory, measured.as_ref(), (shown, phases))
    });
    let gone = || measured.gone().map(NotMeasured::Gone);
    let result = result.map_err(|error| gone().unwrap_or(error));
    ending::save_logs(measured.as_ref(), directory);
    let Some(measured) = shared.keep(measured, record, &result) else { return result };
    if is_ours {
        phases.enter(Phase::Stop, None);
    }
    match measured.stop() {
        Ok(exits) => record.exits = exits,
        // What was measured is kept although the stop failed.
        Err(error) => {
            let cause = cause_with_hint(&error);
            verdict::add(&mut record.verdict, Validity::Invalid, Server::Failed { cause });
        }
    }
    result
}

/// Whether the runtime must get no request before the load: it is measured cold, and stampede
/// starts it.
fn is_cold_start(ctx: &TrialContext<'_>, subject: &Subject<'_>) -> bool {
    ctx.begin == StartState::Cold && ctx.provider.starts(subject.runtime)
}

/// The page that shows whether the app works, for this subject.
fn page(subject: &Subject<'_>) -> PageRequest {
    let timeout = Duration::from_nanos(subject.load.timeout.0);
    PageRequest::of(subject.app, &subject.load.requests).with_timeout(subject.app, timeout)
}

/// Starts the stack of a trial, or finds it where it already runs.
fn start(
    ctx: &TrialContext<'_>,
    subject: &Subject<'_>,
    page: PageRequest,
    (caches, ready, purpose): (Caches, Readiness, StartPurpose),
) -> Result<Box<dyn Stack>, NotMeasured> {
    let (runtime, app, placement) = (subject.runtime, subject.app, ctx.placement);
    let request = StackRequest { runtime, app, placement, page, caches, ready, purpose };
    let spec = ctx.provider.resolve(&request)?;
    Ok(ctx.provider.start(&spec)?)
}

/// What was observed before the load.
struct StateBeforeLoad {
    observed: ObservedState,
    /// The requests that the load sends, as the first session does.
    requests: Vec<RequestSpec>,
    /// The sessions that take turns with the requests; none: nobody has logged in.
    sessions: Vec<CookieJar>,
    /// Notes for the reader of the trial.
    notes: Vec<Traffic>,
}

/// What was noted of the runtime after the warm-up and before the load.
struct NotedBeforeLoad {
    /// Number of its processes that had ended.
    ended: usize,
    logs: LogMarks,
    /// Number of worker threads that had begun.
    threads: u64,
    /// Queries to the database per request; `None`: there is none, or it was not asked.
    shown: Option<Vec<u64>>,
    /// Queries to the database so far.
    asked: queries::Count,
    /// Mails so far.
    mails: u64,
}

/// Verifies the runtime. If the pages of the load are not known, asks each of its requests once,
/// remembers the answers and writes their texts. `record` is filled if the runtime is fit to be
/// measured, even if only the load is not.
fn verify_before_load(
    subject: &Subject<'_>,
    measured: &mut dyn Stack,
    record: &mut Option<ObservedState>,
    (looks, directory): (&mut Looks, &mut TrialDirectory),
) -> Result<StateBeforeLoad, NotMeasured> {
    let logs = measured.logs().marks();
    let sessions = sessions::begin(subject.app, measured, page(subject))?;
    if sessions.is_empty() {
        measured.request_page()?;
    }
    let requests = sessions::of_first(&sessions, paths::requests(subject, measured));
    let asked = paths::requests_to_verify(&requests);
    let known = looks.pages(subject).map(<[PageRecord]>::to_vec);
    let is_known = known.is_some();
    let mut observed = measured.verify(if is_known { &[] } else { paths::first(&asked) })?;
    observed.requests = requests.len() as u64;
    match known {
        Some(pages) => observed.pages = pages,
        None => directory.save_pages(&observed.pages),
    }
    let unverified_note = paths::unverified_note(asked.len(), observed.pages.len());
    let judged = match is_known {
        true => Ok(()),
        false => paths::judge(subject, &requests, &observed.pages, measured),
    };
    if let Err(error) = judged {
        if !matches!(error, PagesError::Failing { .. }) {
            *record = Some(observed);
        }
        return Err(error.into());
    }
    if let Some(errors) = measured.logs().php_log(&logs).fatal {
        return Err(NotMeasured::PhpError { first: errors.first });
    }
    if !is_known {
        looks.add(subject, &observed.pages);
    }
    for page in &mut observed.pages {
        page.text.clear();
    }
    *record = Some(observed.clone());
    let is_followed = subject.load.requests.is_empty();
    let redirected = measured.page_result().and_then(PageResult::redirected);
    let redirected = redirected.map(|FollowedRedirects { from, status, to }| Traffic::Redirected {
        from,
        status,
        to,
        is_followed,
    });
    let logged_in =
        subject.app.manifest.settings.login.as_ref().map(|login| Traffic::LoggedIn {
            path: login.path.clone(),
            times: sessions.len() as u64,
        });
    let notes = logged_in.into_iter().chain(redirected).chain(unverified_note).collect();
    Ok(StateBeforeLoad { observed, requests, sessions, notes })
}

fn load_and_record(
    ctx: &TrialContext<'_>,
    subject: &Subject<'_>,
    record: &mut TrialRecord,
    directory: &mut TrialDirectory,
    measured: &dyn Stack,
    (before, phases): (StateBeforeLoad, &mut Phases<'_>),
) -> Result<LoadResult, NotMeasured> {
    let StateBeforeLoad { observed: before, requests, sessions, notes } = before;
    directory.save_answer(&before.answer);
    let other_workers = observed::other_workers(&measured.shown(before.clone()));

    let load =
        traffic::load(subject, (&requests, &sessions), &before.pages, &measured.endpoint(), ctx)?;
    if interrupt::is_requested() {
        return Err(NotMeasured::Interrupted);
    }
    if load.warm_up.is_some() {
        phases.enter(Phase::WarmUp, Some(ctx.begin.warm_up()));
    }
    let note = || NotedBeforeLoad {
        ended: measured.exited().len(),
        logs: measured.logs().marks(),
        threads: measured.logs().threads_begun(),
        shown: (!is_cold_start(ctx, subject))
            .then(|| queries::per_request(subject, &requests, measured))
            .flatten(),
        asked: measured.queries(),
        mails: measured.mails(),
    };
    let (generator, sinks) = (ctx.generator, (directory, &mut *phases));
    let watched = watch::run(generator, &load, measured, sinks, note)?;
    let WatchedLoad { result, resources, before: noted } = watched;
    let logs = noted.logs;
    phases.split_drain(result.scheduled, result.lasted);
    let asked_after = measured.queries();
    let mails = measured.mails().saturating_sub(noted.mails);
    record.runtime.thread_restarts = measured.logs().threads_begun().saturating_sub(noted.threads);
    let died = ended_processes(&measured.exited(), noted.ended);
    record.runtime.said = measured.logs().evidence(&logs);
    let php_log = measured.logs().php_log(&logs);

    phases.enter(Phase::Verify, None);
    let mut changed = after_load(record, measured, before);
    changed
        .extend(other_workers.map(|(workers, asked)| {
            (Validity::Suspect, Server::Workers { workers, asked }.into())
        }));
    changed.extend(notes.into_iter().map(|note| (Validity::Valid, note.into())));
    let did = load_record(&result, &load, subject.load);
    changed.extend(answers::php_log(php_log, &result.counts));
    changed.extend(answers::failures(&result));
    changed.extend(answers::lengths(&result));
    changed.extend(app_notes(measured, &logs, &resources, mails));
    let unseen = sessions::unseen(&sessions, &subject.load.model, measured);
    changed.extend(unseen.map(|note| (Validity::Valid, note.into())));
    changed.extend(verdict::unanswered(&did).map(|reason| (Validity::Invalid, reason.into())));
    changed.extend(queries::judge_count(
        subject,
        &did.counts,
        (noted.asked, asked_after),
        noted.shown,
    ));
    if ending::closes(measured, &did) {
        changed.push((Validity::Valid, Traffic::ConnectionsNotKept {}.into()));
    }
    let replaced_workers = replaced_workers(record, measured, &resources, &logs);
    changed.extend(replaced_workers.map(|note| (Validity::Valid, note.into())));
    changed.extend(begin::begin_facts(ctx.begin, record, measured));
    changed.extend(verdict::about_answers(&result));
    changed.extend(verdict::about_agents(&result.agents));
    changed.extend(limits_missing(ctx, subject, record));
    changed.extend(hidden(ctx, subject, &resources));
    let limit = record.isolation.memory_bytes;
    let kills = measured.oom_kills();
    record.verdict =
        judge((ctx, subject), (limit, kills), &did, &load, &resources, &changed, &died);
    record.load = Some(did);
    Ok(result)
}

/// What the app did under load and the reader should know.
fn app_notes(
    measured: &dyn Stack,
    logs: &LogMarks,
    resources: &[ResourceSample],
    mails: u64,
) -> impl Iterator<Item = Judgement> + use<> {
    let denied = measured.logs().denied_files(logs);
    let denied =
        denied.map(|DeniedFiles { lines, paths }| Server::PermissionDenied { lines, paths });
    let mail = (mails > 0).then_some(Server::MailCaught { mails });
    let all = denied.into_iter().chain(sessions::lock_waits(resources)).chain(mail);
    let full = full_disk(measured).map(|full| (Validity::Suspect, full.into()));
    all.map(|note| (Validity::Valid, note.into())).chain(full)
}

/// That the disk of the working directory is full: the app may have failed to write.
fn full_disk(measured: &dyn Stack) -> Option<Server> {
    let directory = measured.directory().filter(|directory| space::is_full(directory))?;
    Some(Server::DiskFull { at: space::file_system(directory).display().to_string() })
}

/// Verifies the runtime again, and returns what differs from before the load. What was measured is
/// kept whatever the runtime answers. After an interrupt nothing is asked.
fn after_load(
    record: &mut TrialRecord,
    measured: &dyn Stack,
    before: ObservedState,
) -> Vec<Judgement> {
    if let Some(gone) = measured.gone() {
        let cause = cause(&gone);
        return vec![(Validity::Invalid, Server::Gone { cause }.into())];
    }
    if interrupt::is_requested() {
        return Vec::new();
    }
    match measured.verify(&[]).map_err(NotMeasured::from) {
        Ok(mut after) => {
            if observed::is_another_answer(&before, &after) {
                after.answer_changes |= changes(measured, &after);
            }
            record.runtime.after = Some(after.clone());
            let changed = observed::changed(&measured.shown(before), &measured.shown(after));
            changed.into_iter().map(|(judged, reason)| (judged, reason.into())).collect()
        }
        Err(_) if interrupt::is_requested() => Vec::new(),
        Err(error) => {
            let cause = error.cause();
            vec![(Validity::Invalid, Server::FailedAfter { cause }.into())]
        }
    }
}

/// Whether the answer changes by itself: it is asked for again over some seconds.
fn changes(measured: &dyn Stack, after: &ObservedState) -> bool {
    (0..LOOKS).any(|_| {
        std::thread::sleep(LOOK_AGAIN);
        !interrupt::is_requested()
            && measured.comparable_answer().is_ok_and(|again| again != after.answer)
    })
}

/// How often, and at which distance, an answer that changed during the load is asked for again.
/// Together this is about five seconds, to notice an answer that changes every few seconds.
const LOOKS: u32 = 4;
const LOOK_AGAIN: Duration = Duration::from_millis(1200);

/// The processes that ended by themselves. The first `before` of them ended before the load.
fn ended_processes(exits: &[Exit], before: usize) -> Vec<Server> {
    let died = exits.iter().enumerate().map(|(index, exit)| Server::ProcessEnded {
        role: exit.role.clone(),
        signal: exit.signal,
        exit_code: exit.code,
        is_before_load: index < before,
    });
    died.collect()
}

/// Processes and threads that were started under load although nobody asked for new ones. With them
/// go the last log lines since then: those of the workers that they replace.
fn replaced_workers(
    record: &TrialRecord,
    measured: &dyn Stack,
    resources: &[ResourceSample],
    logs: &LogMarks,
) -> Option<Server> {
    // The database is left out: it may start a process for each connection.
    let roles = resources.iter().flat_map(|sample| &sample.roles);
    let ours = roles.filter(|(role, _)| *role != DATABASE_ROLE);
    let processes: u64 = ours.map(|(_, role)| u64::from(role.started)).sum();
    let is_asked = record.runtime.settings.get("max_requests").and_then(Value::as_u64) > Some(0);
    let (started, threads) = match record.runtime.thread_restarts {
        0 => (processes, false),
        threads => (threads, true),
    };
    let log = measured.logs().last_lines_since(logs);
    // A worker that ends because it served `max_requests` logs nothing; one that dies logs why.
    let is_worth = started > 0 && !(is_asked && log.is_empty());
    is_worth.then_some(Server::Replaced { started, threads, is_asked, log })
}

/// The limits that were asked for and are not in force. A stack with more CPU time than its budget
/// is not what was asked about.
fn limits_missing(
    ctx: &TrialContext<'_>,
    subject: &Subject<'_>,
    record: &TrialRecord,
) -> Vec<Judgement> {
    if !ctx.provider.starts(subject.runtime) {
        return Vec::new();
    }
    let (placement, isolation) = (ctx.placement, &record.isolation);
    let limit_bytes = placement.memory_bytes;
    let no_limit = (limit_bytes > 0 && isolation.memory_bytes == 0)
        .then(|| (Validity::Valid, Machine::MemoryLimitMissing { limit_bytes }.into()));
    let is_unlimited = isolation.cpu_quota.as_deref().is_none_or(|by| by == "none");
    let no_quota = placement
        .cpu_quota
        .filter(|_| is_unlimited)
        .map(|cpus| (Validity::Invalid, Machine::CpuQuotaMissing { cpus }.into()));
    no_limit.into_iter().chain(no_quota).collect()
}

/// That the kernel shows nothing of a role's processes, which the stack's figures then lack.
fn hidden(
    ctx: &TrialContext<'_>,
    subject: &Subject<'_>,
    resources: &[ResourceSample],
) -> Option<Judgement> {
    let roles = || resources.iter().flat_map(|sample| &sample.roles);
    let is_hidden = |name: &String| roles().all(|(role, one)| role != name || !one.memory_read);
    let any = roles().any(|(role, one)| one.processes > 0 && is_hidden(role));
    let is_ours = ctx.provider.starts(subject.runtime);
    (is_ours && any).then(|| (Validity::Valid, Machine::ProcessesHidden {}.into()))
}

fn judge(
    (ctx, subject): (&TrialContext<'_>, &Subject<'_>),
    (memory_limit_bytes, oom_kills): (u64, u64),
    load: &LoadRecord,
    measured: &Load,
    resources: &[ResourceSample],
    changed: &[Judgement],
    died: &[Server],
) -> Verdict {
    let model = match measured.model {
        stampede_model::load::Model::Open { max_in_flight, .. } => {
            ModelKind::Open { max_in_flight }
        }
        stampede_model::load::Model::Closed { .. } => ModelKind::Closed,
    };
    verdict::judge(&Evidence {
        load,
        model,
        resources,
        changed,
        clock_source: ctx.clock_source,
        machine_cpus: ctx.machine_cpus,
        all_watched: ctx.provider.starts(subject.runtime) && load.agents.is_empty(),
        has_containers: subject.runtime.has_containers(),
        memory_limit_bytes,
        oom_kills,
        died,
    })
}

/// The load's totals as they are stored.
pub fn load_record(result: &LoadResult, load: &Load, choice: &LoadChoice) -> LoadRecord {
    let (times, counts) = (&result.times, &result.counts);
    let timeouts = FailureKind::TIMEOUT.count(&counts.failed);
    let cut_off = CutOff { requests: timeouts, after_ns: load.timeout.0 };
    let p99 = rank(99.0, times.schedule_lag.len());
    let all = &result.service_time_all;
    let expected = all.mean() * all.len() as f64;
    LoadRecord {
        counts: counts.clone(),
        scheduled_ns: result.scheduled.0,
        lasted_ns: result.lasted.0,
        ok_inside: result.ok_inside,
        in_flight_max: result.in_flight_max,
        in_flight_mean: (result.lasted > Nanos(0))
            .then(|| result.in_flight_integral as f64 / result.lasted.0 as f64),
        littles_law_ratio: if expected > 0.0 {
            result.in_flight_integral as f64 / expected
        } else {
            1.0
        },
        connections: result.connections.clone(),
        busy_share_max: result.busy_share_max,
        stretched: result.stretched,
        schedule_lag_ns_p99: times.schedule_lag.at_rank(p99),
        lag_marks: LagMark::all(times, counts.planned.saturating_sub(counts.ok), cut_off),
        clipped: times.response_time.clipped().max(all.clipped()).max(times.schedule_lag.clipped()),
        timeout_ns: load.timeout.0,
        keep_alive: load.habits.connection == stampede_model::load::ConnectionHabit::KeepAlive,
        client: choice.client.name.clone(),
        end: result.end,
        agents: result.agents.clone(),
    }
}
