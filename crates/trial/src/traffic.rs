//! Turns a load of the plan into a load that can be sent to a running runtime.

use std::collections::HashMap;

use stampede_load::spec::{Check, CpuSharing, Load, Rule};
use stampede_login::deal;
use stampede_model::load::{Arrivals, ConnectionHabit, Habits, Model, Until};
use stampede_model::record::PageRecord;
use stampede_model::schedule::{MicroRate, Segments};
use stampede_model::time::Nanos;
use stampede_plan::model::{Client, KeepAlive, RequestSpec};
use stampede_stack::{App, CookieJar, Endpoint};
use stampede_traffic::answer::BodyLengths;
use stampede_traffic::{AnswerShape, Request, TrafficError};

use super::{Subject, TrialContext, paths, sessions};

/// The load of `subject`: `requests`, with which `sessions` take turns, sent through `endpoint` from the CPUs of `ctx`.
///
/// # Errors
/// A request that cannot be built.
pub(super) fn load(
    subject: &Subject<'_>,
    (requests, sessions): (&[RequestSpec], &[CookieJar]),
    pages: &[PageRecord],
    endpoint: &Endpoint,
    ctx: &TrialContext<'_>,
) -> Result<Load, TrafficError> {
    let choice = subject.load;
    let habits = habits(&choice.client);
    let verified = paths::requests_to_verify(requests).into_iter();
    let verified = verified.map(|request| (&request.path, &request.headers));
    let pages: HashMap<_, &PageRecord> = verified.zip(pages).collect();
    let knows_body = subject.app.contains().is_some_and(|text| !text.is_empty());
    let built = |(number, session): (usize, usize)| {
        let spec = &requests[number];
        let mut request = match sessions.get(session).filter(|_| session > 0) {
            // The requests are those of the first session.
            None => request(spec, endpoint, habits)?,
            Some(session) => request(&sessions::of(session, spec.clone()), endpoint, habits)?,
        };
        let page = pages.get(&(&spec.path, &spec.headers)).filter(|_| paths::reads(spec));
        if request.answer == AnswerShape::ByHeaders {
            request.lengths = page.map_or_else(BodyLengths::default, |page| lengths(subject, page));
            // Only an answer that had a body before the load must have one under load.
            let has_body = page.is_some_and(|page| page.bytes > 0);
            if !has_body && !knows_body {
                request.answer = AnswerShape::BodyUnasked;
            }
        }
        Ok(request)
    };
    let traffic: Result<Vec<Request>, TrafficError> =
        deal(requests.len(), sessions.len()).map(built).collect();
    let warm_up = ctx.begin.warm_up();
    Ok(Load {
        warm_up: (warm_up > Nanos(0)).then(|| self::warm_up(&choice.model, warm_up)),
        habits,
        timeout: choice.timeout,
        check: check(subject.app),
        cpus: ctx.load_cpus.to_vec(),
        cpu_sharing: cpu_sharing(subject, ctx),
        ..Load::new(endpoint.addresses.clone(), choice.model.clone(), traffic?)
    })
}

/// How long the body of a page usually is, by the answers before the load.
fn lengths(subject: &Subject<'_>, page: &PageRecord) -> BodyLengths {
    let is_right = page.status == subject.app.manifest.expect.status;
    if !is_right || subject.load.is_changing(&page.path) {
        return BodyLengths::default();
    }
    let seen: Vec<u64> = std::iter::once(page.bytes).chain(page.bytes_again.clone()).collect();
    BodyLengths::around(&seen)
}

/// Whether the load shares its CPUs with the stack. An external runtime may be on any CPU.
fn cpu_sharing(subject: &Subject<'_>, ctx: &TrialContext<'_>) -> CpuSharing {
    let stack = &ctx.placement.cpus;
    let is_apart = !stack.is_empty() && ctx.load_cpus.iter().all(|cpu| !stack.contains(cpu));
    if is_apart && ctx.provider.starts(subject.runtime) {
        CpuSharing::Exclusive
    } else {
        CpuSharing::WithServer
    }
}

/// The connection habits of a client whose `keep_alive` is settled.
pub fn habits(client: &Client) -> Habits {
    Habits {
        version: client.http,
        connection: match client.keep_alive {
            KeepAlive::Off => ConnectionHabit::PerRequest,
            KeepAlive::On | KeepAlive::Auto => ConnectionHabit::KeepAlive,
        },
    }
}

/// The requests of a load for which the plan names none: one GET of the app's own page.
pub(super) fn own_request(app: &App) -> Vec<RequestSpec> {
    let path = app.manifest.request.path.clone().unwrap_or_else(|| "/".to_owned());
    let (method, headers, body) = ("GET".to_owned(), app.manifest.headers_with(&[]), Vec::new());
    vec![RequestSpec { method, path, headers, body, site: None }]
}

fn request(
    spec: &RequestSpec,
    endpoint: &Endpoint,
    habits: Habits,
) -> Result<Request, TrafficError> {
    let mut headers = spec.headers.clone();
    if let Some(host) = &endpoint.host
        && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        headers.insert(0, ("Host".to_owned(), host.clone()));
    }
    let path = format!("{}{}", endpoint.base, spec.path);
    Ok(Request::build(&spec.method, &path, &headers, &spec.body, habits, None)?)
}

/// What a correct answer must be: its status and its body. Where the app does not say what a body
/// contains, an answer that had a body before the load must still have one.
fn check(app: &App) -> Check {
    let body_contains = app.contains().unwrap_or_default().as_bytes().to_vec();
    let rule = body_contains.is_empty().then(|| Rule::parse(HAS_BODY).ok());
    Check {
        statuses: vec![app.manifest.expect.status],
        body_contains,
        rules: rule.flatten().into_iter().collect(),
    }
}

/// The rule for an answer that had a body before the load.
const HAS_BODY: &str = "size > 0";

/// The discarded warm-up load: the mean rate of the schedule, evenly spaced, or the same
/// concurrency.
pub fn warm_up(model: &Model, length: Nanos) -> Model {
    match model {
        Model::Open { schedule, max_in_flight, .. } => Model::Open {
            schedule: Segments::constant(mean_rate(schedule), length),
            arrivals: Arrivals::Uniform,
            max_in_flight: *max_in_flight,
            // Dropped, so that no request of the warm-up queues up into the measured load.
            when_full: stampede_model::load::WhenFull::Drop,
        },
        Model::Closed { concurrency, .. } => {
            Model::Closed { concurrency: *concurrency, until: Until::For(length) }
        }
    }
}

/// The mean rate, at least one request a second, so that a rising schedule of a few requests is
/// warmed up too.
fn mean_rate(schedule: &Segments) -> MicroRate {
    let per_second = schedule.planned() as f64 / schedule.length().as_secs_f64().max(1e-9);
    MicroRate((per_second * 1e6) as u64).clamp(MicroRate::ONE, MicroRate::HIGHEST)
}
