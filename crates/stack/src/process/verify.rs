//! Verifies a running runtime through requests of its own port: what it is, how many workers it
//! has, and whether it isolates requests.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde::Deserialize;
use stampede_mask::mask_foreign;
use stampede_model::fact::{Fact, Observation};
use stampede_model::load::Address;
use stampede_model::record::{ObservedState, OpcacheState};
use stampede_model::redirect::is_redirect;
use stampede_plan::model::RequestSpec;

use super::port;
use super::ready::comes_from_gateway;
use super::stack::ProcessStack;
use crate::answer::{Answer, missing_version_text, sha256};
use crate::client::SingleClient;
use crate::error::RuntimeError;
use crate::fastcgi;
use crate::page::{Accepts, Site};
use crate::pages::{AnswerContext, Pages};
use crate::problem::{Unverified, VerifyRequest};
use crate::provider::Stack as _;

/// More than a second: answers this far apart differ if they show the time.
const A_SECOND: Duration = Duration::from_millis(1050);
/// The timeout of a single request of the probe, which answers at once.
const ASK_WITHIN: Duration = Duration::from_secs(5);
/// How long the number of workers may take to settle. Far more than a worker takes to end after its
/// last answer.
const SETTLED_WITHIN: Duration = Duration::from_secs(2);
/// The pause between two checks.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Rounds of concurrent slow requests. The next round is run while fewer workers were seen than
/// asked for. The first takes far longer than a fork and far less than a trial. The others keep
/// workers busy until mod_fcgid starts another one, which it does after a second without a free
/// one.
const SLOW_ROUNDS: [SlowRequests; 3] = [
    SlowRequests { ms: 100, most: 32 },
    SlowRequests { ms: 1500, most: 512 },
    SlowRequests { ms: 1500, most: 512 },
];
/// The number of probe requests after which some worker was asked twice: one more than there are
/// workers, several times over, since the runtime chooses the worker. It is bounded for pools of
/// thousands. Idle php-cgi processes take turns, so only the 2001st request reaches one of 2000 a
/// second time.
const ROUNDS: u32 = 3;
const ASKED_MAX: u32 = 7000;

/// The probe's answer; see `probe.php`.
#[derive(Debug, Deserialize)]
struct ProbeAnswer {
    seen: Vec<String>,
    pid: u32,
    #[serde(default)]
    php_version: String,
    #[serde(default)]
    sapi: String,
    #[serde(default)]
    thread_safe: bool,
    #[serde(default)]
    extensions: Vec<String>,
    #[serde(default)]
    ini: BTreeMap<String, String>,
    #[serde(default)]
    opcache: bool,
    #[serde(default)]
    jit: bool,
    #[serde(default)]
    preloaded: u32,
    #[serde(default)]
    opcache_state: Option<OpcacheState>,
}

/// The app's page in the form in which it is compared.
///
/// # Errors
/// The answer is wrong, or does not come.
pub(super) fn comparable_answer(running: &ProcessStack) -> Result<String, RuntimeError> {
    let client = ProbeClient::new(running);
    let shown = AnswerContext::of(running).shown(&client.page()?);
    Ok(mask_foreign(&shown))
}

impl<'a> AnswerContext<'a> {
    fn of(running: &'a ProcessStack) -> AnswerContext<'a> {
        AnswerContext {
            app: &running.stack.app,
            port: running.addr().port(),
            dir: Some(running.dir()),
        }
    }
}

/// Asks `running` what it is, and checks that it serves its app correctly. Records the answers to
/// `requests`, each sent as `GET`. Called before and after the load.
///
/// # Errors
/// The page's answer is wrong, or the probe does not answer. A wrong answer to one of `requests` is
/// no error.
pub(super) fn verify(
    running: &ProcessStack,
    requests: &[&RequestSpec],
) -> Result<ObservedState, RuntimeError> {
    let app = &running.stack.app;
    let client = ProbeClient::new(running);
    let context = AnswerContext::of(running);
    let begun = Instant::now();
    let answer = client.page()?;
    let mut seen = vec![context.shown(&answer), context.shown(&client.page()?)];
    let mut pages = Pages::ask(running, &context, requests);
    let probe = client.probe("show=1")?;
    if let Some(wrong) = missing_version_text(&answer, app, &probe.php_version) {
        return Err(client.fail(Unverified::WrongPage { wrong }));
    }
    let missing = app.manifest.extensions.iter().filter(|name| !has(&probe.extensions, name));
    let missing = missing.map(|name| Observation::ExtensionMissing { extension: name.clone() });
    let mut notices: Vec<Fact<Observation>> = missing.map(Fact::from).collect();
    let (isolated, leaks) = client.isolation()?;
    notices.extend(leaks.into_iter().map(Fact::from));
    let workers = client.workers()?;
    let path = running.page_path();
    if app.expected_body.is_some() && requests.iter().all(|request| request.path == path) {
        // The page's text is known, and was compared with it.
        pages.mark_as_constant();
    } else {
        // A page that shows the time differs after a second.
        client.wait_until(begun + A_SECOND)?;
        seen.push(context.shown(&client.page()?));
        pages.request_again(running, &context);
    }
    let first = seen.swap_remove(0);
    let answer_changes = seen.iter().any(|again| *again != first);
    if answer_changes {
        notices.push(Observation::AnswerChanges { can_be_masked: true }.into());
    }
    // If the answer changes, only its status can be compared.
    let shown = match answer_changes {
        true => format!("{}, changing", answer.status),
        false => first.clone(),
    };
    let dir = running.dir().to_string_lossy().into_owned();
    let mut extensions: Vec<String> =
        probe.extensions.iter().map(|name| name.to_ascii_lowercase()).collect();
    extensions.sort();
    extensions.dedup();
    let ini = probe.ini.into_iter().map(|(key, value)| (key, value.replace(&dir, "{dir}")));
    Ok(ObservedState {
        php_version: probe.php_version,
        sapi: probe.sapi,
        thread_safe: probe.thread_safe,
        extensions,
        ini: ini.collect(),
        opcache: probe.opcache,
        jit: probe.jit,
        preloaded: probe.preloaded,
        opcache_state: probe.opcache_state,
        workers,
        answer_sha256: sha256(&shown),
        answer_changes,
        answer: mask_foreign(&first),
        requests: 0,
        pages: pages.records(),
        isolated,
        notices,
    })
}

fn has(extensions: &[String], name: &str) -> bool {
    let zend = format!("zend {name}");
    extensions
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(&zend))
}

/// Requests that are sent at once, each of which occupies a worker.
struct SlowRequests {
    ms: u32,
    /// The most requests sent at once; more would make the check a load of its own.
    most: u32,
}

struct ProbeClient<'a> {
    running: &'a ProcessStack,
    client: SingleClient,
}

impl<'a> ProbeClient<'a> {
    fn new(running: &'a ProcessStack) -> ProbeClient<'a> {
        let client = SingleClient::new(Address::Tcp(running.addr()), ASK_WITHIN);
        ProbeClient { running, client }
    }

    fn fail(&self, problem: Unverified) -> RuntimeError {
        RuntimeError::Unverified { runtime: self.running.name().into(), problem }
    }

    fn silent(&self, asked: VerifyRequest, error: &dyn std::fmt::Display) -> RuntimeError {
        self.fail(Unverified::NoAnswer { asked, client_error: error.to_string() })
    }

    /// The page that shows whether the app works, at the path to which redirects led at the start.
    fn page(&self) -> Result<Answer, RuntimeError> {
        let app = &self.running.stack.app;
        let (page, path) = (self.running.page(), self.running.page_path());
        let answer = self.running.request_path(&path, &page.headers, page.within);
        let answer = answer.map_err(|error| self.silent(VerifyRequest::Page, &error))?;
        // A redirect that was not followed is left for the load to judge.
        let is_judged = page.accepts == Accepts::Correct && !is_redirect(answer.status);
        match app.wrong(&answer).filter(|_| is_judged) {
            None => Ok(answer),
            Some(wrong) => Err(self.fail(Unverified::WrongPage { wrong })),
        }
    }

    fn wait_until(&self, time: Instant) -> Result<(), RuntimeError> {
        while Instant::now() < time {
            self.running.check_interrupt()?;
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    fn probe(&self, query: &str) -> Result<ProbeAnswer, RuntimeError> {
        self.running.check_interrupt()?;
        let path = format!("/{}?{query}", self.running.stack.probe);
        let asked = || {
            let answer = self.client.get(&path, &[]);
            answer.map_err(|error| self.silent(VerifyRequest::Probe, &error))
        };
        let begun = Instant::now();
        let mut answer = asked()?;
        // The web server may have answered the page by itself, before PHP listened.
        while comes_from_gateway(answer.status, &answer.gist())
            && begun.elapsed() < self.running.stack.ready_within
        {
            self.wait_until(Instant::now() + LOOK_AGAIN)?;
            answer = asked()?;
        }
        serde_json::from_str(&answer.body).map_err(|error| {
            let body: String = mask_foreign(&answer.body).chars().take(200).collect();
            self.fail(Unverified::Unreadable {
                status: answer.status,
                json_error: error.to_string(),
                body: body.to_string(),
            })
        })
    }

    /// Plants canaries until a worker was asked twice. Returns whether requests are isolated, and
    /// what of one request was visible in a later one.
    fn isolation(&self) -> Result<(bool, Vec<Observation>), RuntimeError> {
        let workers = self.running.stack.settings.workers();
        let most = workers.saturating_add(1).saturating_mul(ROUNDS).min(ASKED_MAX);
        let (mut pids, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut twice = false;
        for _ in 0..most {
            let probe = self.probe("plant=1")?;
            twice |= !pids.insert(probe.pid);
            seen.extend(probe.seen);
            if twice && pids.len() as u32 >= workers.min(2) {
                break;
            }
        }
        // The last request plants nothing, so that no canary stays in a worker that keeps them.
        seen.extend(self.probe("")?.seen);
        let visible = |what: &String| Observation::Visible { what: what.clone() };
        let mut notices: Vec<Observation> = seen.iter().map(visible).collect();
        if !twice {
            notices.push(Observation::IsolationNotShown {});
        }
        let by_nature = &self.running.stack.runtime.manifest.forced.visible;
        let is_clean = seen.iter().all(|name| by_nature.contains(name));
        Ok((twice && is_clean, notices))
    }

    /// The number of workers: as the runtime reports it or as they are counted, and at least as
    /// many as answered at once. It is counted after the slow requests, since some runtimes start
    /// workers only when they are needed.
    fn workers(&self) -> Result<u32, RuntimeError> {
        let given = &self.running.stack.record.given;
        // If workers are replaced, a worker that has answered its last request and its successor
        // both answer, and count as two.
        let bound = if self.are_replaced() { given.workers } else { u32::MAX };
        let mut most = 0;
        for slow in &SLOW_ROUNDS {
            let at_once = self.workers_answering_at_once(slow).min(bound);
            self.running.check_interrupt()?;
            most = most.max(self.settled_workers()?).max(at_once);
            if given.grows || most >= given.workers {
                break;
            }
        }
        Ok(most)
    }

    fn are_replaced(&self) -> bool {
        self.running.stack.settings.number("max_requests") > 0
    }

    /// The reported number of workers, once it has settled: a worker that ends and its successor
    /// exist together for a moment.
    fn settled_workers(&self) -> Result<u32, RuntimeError> {
        let given = self.running.stack.record.given.workers;
        let begun = Instant::now();
        loop {
            let said = self.reported_workers()?;
            if said <= given || !self.are_replaced() || begun.elapsed() > SETTLED_WITHIN {
                return Ok(said);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn reported_workers(&self) -> Result<u32, RuntimeError> {
        let effective = &self.running.stack.runtime.manifest.effective_workers;
        match (&self.running.stack.status, &effective.processes) {
            (Some(socket), _) => {
                let page = fastcgi::get(socket, &effective.path, "json", ASK_WITHIN)
                    .map_err(|error| self.silent(VerifyRequest::StatusPage, &error))?;
                let page: serde_json::Value = serde_json::from_str(&page).unwrap_or_default();
                let field = effective.field.as_deref().unwrap_or("total processes");
                Ok(page[field].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(0))
            }
            (None, Some(count)) => {
                let group = self.running.group();
                let roles = group.roles.iter().filter(|role| role.role == count.role.value);
                let needs = &self.running.stack.needs;
                let program = count.program.as_ref().and_then(|name| needs.get(&name.value));
                let counts = |pid: &u32| program.is_none_or(|found| port::runs(*pid, &found.path));
                let processes = roles.flat_map(port::pids).filter(counts);
                let found = match &count.threads {
                    Some(name) => processes.map(|pid| port::thread_names(pid, name)).sum(),
                    None => processes.count(),
                };
                Ok(u32::try_from(found).unwrap_or(u32::MAX).saturating_sub(count.minus))
            }
            (None, None) => Ok(0),
        }
    }

    /// The number of different workers that answered slow requests sent at once. This is a lower
    /// bound, since a runtime may queue two requests for one worker while another is idle.
    fn workers_answering_at_once(&self, slow: &SlowRequests) -> u32 {
        let workers = self.running.stack.settings.workers();
        let asked = workers.saturating_add(1).min(slow.most);
        let query = format!("sleep_ms={}", slow.ms);
        let pids: BTreeSet<u32> = std::thread::scope(|scope| {
            let asked: Vec<_> = (0..asked)
                .map(|_| scope.spawn(|| self.probe(&query).ok().map(|probe| probe.pid)))
                .collect();
            asked.into_iter().filter_map(|thread| thread.join().ok().flatten()).collect()
        });
        u32::try_from(pids.len()).unwrap_or(u32::MAX)
    }
}
