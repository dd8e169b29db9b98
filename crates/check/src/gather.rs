//! Collects the requests of a check. They come from a file, or from the app's links and its
//! router's list.

use std::collections::HashSet;
use std::sync::Arc;

use stampede_linux::interrupt;
use stampede_model::app_kind::AppKind;
use stampede_model::fact::NotSent;
use stampede_plan::model::RuntimeChoice;
use stampede_stack::{RuntimeError, WatchMode};
use stampede_traffic::TrafficFile;

use super::analyze::name;
use super::harness::{Harness, HarnessSession, StepResult};
use super::model::{CheckRequest, SkippedRequest, Step};
use super::requests::{self, Crawl, Policy, RequestError, RequestList, routes, wants_login};

/// The source of the requests.
#[derive(Clone, Debug)]
pub enum RequestSource {
    /// A file, and the largest number of its requests.
    File(Box<TrafficFile>, usize),
    /// The links from a first page on, and the router's list.
    Links {
        /// The first page.
        from: String,
        /// Largest number of requests.
        limit: usize,
    },
}

/// The requests of a check, and those that are left out.
#[derive(Debug, Default)]
pub struct GatheredRequests {
    /// Requests in their order.
    pub requests: Vec<CheckRequest>,
    /// Requests that are not sent, with the reasons.
    pub skipped: Vec<SkippedRequest>,
    /// Requests that fail under the reference. They are sent all the same, because they may end a
    /// worker.
    pub bad: Vec<SkippedRequest>,
    /// Number of requests that lead to a login.
    pub logins: usize,
    /// The last failure and the log, if every request fails under the reference.
    pub broken: Option<String>,
    /// Number of routes in the router's list, or why it was not read. `None` for a request file,
    /// and if the app's kind has no list.
    pub router: Option<Result<usize, RouterError>>,
}

/// Why the list of the app's router is unknown.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RouterError {
    /// The command that prints the list failed.
    #[error(transparent)]
    Command(Arc<RuntimeError>),
    /// The printed list cannot be read.
    #[error(transparent)]
    List(Arc<RequestError>),
}

/// Why there are no requests.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// The list of requests.
    #[error(transparent)]
    List(#[from] RequestError),
    /// The reference.
    #[error(transparent)]
    Reference(#[from] RuntimeError),
}

/// Collects the requests and sends each to the reference once.
///
/// # Errors
/// The list cannot be read, or the reference does not start or is lost.
pub fn gather(
    harness: &Harness,
    reference: &RuntimeChoice,
    source: &RequestSource,
    policy: &Policy,
) -> Result<GatheredRequests, GatherError> {
    let (mut gathered, session) = match source {
        RequestSource::File(file, limit) => {
            gather_from_file(harness, reference, file, *limit, policy)?
        }
        RequestSource::Links { from, limit } => {
            let kind = harness.app.manifest.kind;
            let session =
                harness.start_with_command(reference, WatchMode::Full, routes::command(kind))?;
            let host = harness.app.manifest.settings.host.as_deref().unwrap_or("localhost");
            let crawl = Crawl::new(host, from, *limit, policy.clone());
            gather_from_app(session, &reference.name, kind, crawl)
        }
    };
    if gathered.bad.len() == gathered.requests.len() {
        let last = gathered.bad.last();
        let why = last.map_or(String::new(), |bad| bad.to_string());
        gathered.broken = Some(format!("{why}\n{}", session.log()));
    }
    session.stop()?;
    Ok(gathered)
}

fn gather_from_file(
    harness: &Harness,
    reference: &RuntimeChoice,
    file: &TrafficFile,
    limit: usize,
    policy: &Policy,
) -> Result<(GatheredRequests, HarnessSession), GatherError> {
    let listed = requests::read(file)?.bounded(limit);
    let mut session = harness.start(reference, WatchMode::Full)?;
    let (requests, skipped) = policy.partition(listed.requests);
    let skipped = listed.skipped.into_iter().chain(skipped).collect();
    let mut gathered = GatheredRequests { skipped, ..GatheredRequests::default() };
    for request in requests.into_iter().take_while(|_| !interrupt::is_requested()) {
        let result =
            session.send(&Step { user: 0, request: Arc::new(request.clone()), with_next: false });
        gathered.add(request, &result, &reference.name);
    }
    Ok((gathered, session))
}

/// Requests page after page as long as there are new links, and the routes of the router's list.
fn gather_from_app(
    mut session: HarnessSession,
    reference: &str,
    kind: AppKind,
    mut crawl: Crawl,
) -> (GatheredRequests, HarnessSession) {
    let mut gathered = GatheredRequests::default();
    let listed = router_list(&session, kind).map(|listed| {
        gathered.router = Some(listed.as_ref().map(|all| all.requests.len()).map_err(Clone::clone));
        listed.unwrap_or_default()
    });
    let listed = listed.unwrap_or_default();
    let guessed: HashSet<CheckRequest> = listed.requests.iter().cloned().collect();
    crawl.add_routes(listed);
    while let Some(request) = crawl.next().filter(|_| !interrupt::is_requested()) {
        let result =
            session.send(&Step { user: 0, request: Arc::new(request.clone()), with_next: false });
        if let Ok(answer) = result.answer() {
            let kind = answer.header("content-type").unwrap_or_default();
            crawl.add_page(&request.target, kind, answer.body.as_bytes());
            if let Some(location) = answer.header("location") {
                crawl.add_link(&request.target, location);
            }
        }
        if result.status() == 404 && guessed.contains(&request) {
            let why = NotSent::NoSuchId {}.into();
            gathered.skipped.push(SkippedRequest { request: name(&request), why });
        } else {
            gathered.add(request, &result, reference);
        }
    }
    gathered.skipped.extend(crawl.skipped());
    (gathered, session)
}

/// Returns the routes of the app's router, or why they are unknown; `None` if its kind has no such
/// list.
fn router_list(
    session: &HarnessSession,
    kind: AppKind,
) -> Option<Result<RequestList, RouterError>> {
    let printed = session.running().printed()?.as_ref();
    let read = |text: &String| {
        routes::read(kind, text).map_err(|error| RouterError::List(Arc::new(error)))
    };
    Some(printed.map_err(|error| RouterError::Command(Arc::clone(error))).and_then(read))
}

impl GatheredRequests {
    fn add(&mut self, request: CheckRequest, result: &StepResult, reference: &str) {
        match failure(result, reference) {
            Some(why) => self.bad.push(SkippedRequest { request: name(&request), why: why.into() }),
            None => self.logins += usize::from(is_login(result)),
        }
        self.requests.push(request);
    }
}

/// Returns why the answer cannot be compared; `None` if it can.
fn failure(result: &StepResult, reference: &str) -> Option<NotSent> {
    let runtime = reference.to_owned();
    match result.answer() {
        Err(problem) => Some(NotSent::NoAnswer { runtime, problem: problem.to_string() }),
        Ok(answer) if answer.status >= 500 => {
            Some(NotSent::ServerError { runtime, status: answer.status, gist: answer.gist() })
        }
        Ok(_) => None,
    }
}

fn is_login(result: &StepResult) -> bool {
    result.answer().is_ok_and(|answer| {
        let header = |name| answer.header(name);
        wants_login(
            answer.status,
            header("location"),
            answer.body.as_bytes(),
            header("www-authenticate"),
        )
    })
}
