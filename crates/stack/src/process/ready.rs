//! Decides when a started runtime is ready: at an answer that shows that its app works, or at any
//! answer that no longer changes.
//!
//! A web server in front of PHP answers 502 to 504 until PHP is there, so its error pages are
//! waited out. Any other answer that repeats comes from the app itself: a longer wait would change
//! nothing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use stampede_mask::mask_foreign;
use stampede_model::record::DATABASE_ROLE;
use stampede_model::redirect::is_redirect;
use stampede_model::time::Nanos;

use super::materialise::PreparedStack;
use super::stack::ProcessStack;
use crate::client::ClientError;
use crate::error::RuntimeError;
use crate::page::{PageResult, request_page};
use crate::provider::Stack as _;
use crate::spec::Readiness;

/// The pause between two attempts; a refused connection costs some microseconds.
const RETRY: Duration = Duration::from_millis(5);
/// The pause after a wrong answer.
const RETRY_WRONG: Duration = Duration::from_millis(100);
/// A wrong answer that has not changed for this long is final.
const SETTLED_AFTER: Duration = Duration::from_secs(1);

impl PreparedStack {
    /// Starts the stack and waits until it is ready, as its description asks for. A runtime that
    /// accepts a request but does not answer it in time counts as started where any answer will do;
    /// its `page_result` is then `None`.
    ///
    /// # Errors
    /// A process ended, nothing answered in time, the answer is wrong, or another process has the
    /// port; each with the last lines of the logs. Or the user interrupted.
    pub fn start(self) -> Result<ProcessStack, RuntimeError> {
        let ready = self.stack.ready;
        let (mut running, begun) = ProcessStack::begin(self)?;
        if ready == Readiness::Idle {
            running.wait_until_idle(begun).map_err(|error| running.explain_with_limits(error))?;
            return running.settle();
        }
        let answer =
            running.wait_until_ready(begun).map_err(|error| running.explain_with_limits(error))?;
        if let Some(answer) = answer {
            running.first_answer = Nanos::from(begun.elapsed());
            running.first_request = answer.took;
            running.page_result = Some(answer.page_result);
        }
        let running = running.settle()?;
        if ready == Readiness::RightAnswer {
            running.is_right()?;
        }
        Ok(running)
    }
}

/// The answer that ended the wait.
pub(crate) struct FirstAnswer {
    pub page_result: PageResult,
    /// How long the answer took.
    pub took: Nanos,
}

/// The wait for a stack's first answer.
pub(crate) struct ReadyWait<'a> {
    /// How long the whole wait may take, from the begin of the start.
    pub within: Duration,
    /// How long one answer may take.
    pub answers_within: Duration,
    /// Fails if the user interrupted, or a part of the stack ended.
    pub check: &'a dyn Fn() -> Result<(), RuntimeError>,
    /// Asks for the page once, and follows its redirects.
    pub ask: &'a dyn Fn() -> Result<PageResult, ClientError>,
    /// Whether a wrong answer may change, since a part of the stack still starts.
    pub may_change: &'a dyn Fn(&PageResult) -> bool,
    /// The error of a start that took too long, with what the last attempt saw.
    pub not_ready: &'a dyn Fn(&str) -> RuntimeError,
}

impl ReadyWait<'_> {
    /// Waits for an answer that is right, or that stays the same; `None`: requests are accepted,
    /// and none was answered in time.
    ///
    /// # Errors
    /// That of `check`, or nothing was accepted in time.
    pub fn wait(&self, begun: Instant) -> Result<Option<FirstAnswer>, RuntimeError> {
        let mut wrong: Option<WrongAnswer> = None;
        let mut answered = None;
        let mut is_taken = false;
        let mut last = "no connection".to_string();
        while begun.elapsed() < self.within {
            (self.check)()?;
            let sent = Instant::now();
            // A request that is given up leaves a busy worker behind, so it is not given up before an
            // answer of the load would be.
            match (self.ask)() {
                Ok(page_result) => {
                    let took = Nanos::from(sent.elapsed());
                    let is_right = page_result.wrong.is_none();
                    let seen = WrongAnswer::continued_or_new(wrong, &page_result);
                    let is_its_own = !(self.may_change)(&page_result);
                    let ready = FirstAnswer { page_result, took };
                    if is_right || (is_its_own && seen.has_settled()) {
                        return Ok(Some(ready));
                    }
                    (wrong, answered) = (Some(seen), Some(ready));
                    // The server is up. Without a pause, a thousand more requests would fill its
                    // log.
                    std::thread::sleep(RETRY_WRONG);
                }
                Err(ClientError::Io(_)) => {}
                Err(ClientError::TimedOut) => {
                    let waited = self.answers_within.as_secs_f64();
                    (last, is_taken) = (format!("a request got no answer within {waited} s"), true);
                }
                Err(error) => last = error.to_string(),
            }
            (self.check)()?;
            std::thread::sleep(RETRY);
        }
        match answered {
            None if !is_taken => Err((self.not_ready)(&last)),
            answered => Ok(answered),
        }
    }
}

/// A wrong answer, and since when it has been the same.
struct WrongAnswer {
    status: u16,
    gist: String,
    since: Instant,
}

impl WrongAnswer {
    /// Returns `before` if the answer is still the same, or else a new value that begins now.
    fn continued_or_new(before: Option<WrongAnswer>, page_result: &PageResult) -> WrongAnswer {
        let (status, gist) = (page_result.answer.status, page_result.answer.gist());
        match before.filter(|before| before.status == status && before.gist == gist) {
            Some(before) => before,
            None => WrongAnswer { status, gist, since: Instant::now() },
        }
    }

    fn has_settled(&self) -> bool {
        self.since.elapsed() >= SETTLED_AFTER
    }
}

/// Whether an answer is a web server's error page about a server behind it that is not there yet.
/// Such a page has no text of its own.
pub(crate) fn comes_from_gateway(status: u16, gist: &str) -> bool {
    let names = ["bad gateway", "unavailable", "not available", "gateway time"];
    let gist = gist.to_ascii_lowercase();
    matches!(status, 502..=504)
        && (gist.is_empty()
            || gist.contains(&status.to_string())
            || names.iter().any(|name| gist.contains(name)))
}

impl ProcessStack {
    /// Checks that the page's last answer is right. A redirect that leads elsewhere is no error:
    /// the load decides whether it is measured.
    fn is_right(&self) -> Result<(), RuntimeError> {
        let Some(page_result) = &self.page_result else {
            return Err(self.explain_with_limits(self.not_ready("no answer")));
        };
        let status = page_result.answer.status;
        let Some(wrong) = page_result.wrong.clone().filter(|_| !is_redirect(status)) else {
            return Ok(());
        };
        let wrong = mask_foreign(&wrong);
        let within = Nanos::from(self.stack.ready_within);
        if self.may_come_from_gateway(page_result) || self.first_answer >= within {
            return Err(self.explain_with_limits(self.not_ready(&wrong)));
        }
        Err(self.explain_with_limits(RuntimeError::WrongPage {
            runtime: self.name().to_owned(),
            path: page_result.path.clone(),
            status,
            wrong,
            log: self.log_lines(),
        }))
    }

    /// Whether an answer may come from a web server of the stack that waits for PHP.
    fn may_come_from_gateway(&self, page_result: &PageResult) -> bool {
        let roles = self.stack.processes.processes.iter().map(|process| process.role.as_str());
        let roles: BTreeSet<&str> = roles.filter(|role| *role != DATABASE_ROLE).collect();
        roles.len() > 1 && comes_from_gateway(page_result.answer.status, &page_result.answer.gist())
    }

    /// Waits for the answer that shows that the runtime is ready; `None`: the runtime accepts
    /// requests, and has answered none in time.
    fn wait_until_ready(&self, begun: Instant) -> Result<Option<FirstAnswer>, RuntimeError> {
        let answers_within = self.stack.page.within;
        let wait = ReadyWait {
            within: self.stack.ready_within,
            answers_within,
            check: &|| self.check_interrupt().and_then(|()| self.check_exits()),
            ask: &|| self.page_within(answers_within),
            may_change: &|page_result| self.may_come_from_gateway(page_result),
            not_ready: &|last| self.not_ready(last),
        };
        wait.wait(begun)
    }

    /// Asks for the page and follows its redirects.
    pub(super) fn page_within(&self, within: Duration) -> Result<PageResult, ClientError> {
        let ready = &self.stack.runtime.manifest.ready.path;
        request_page(self, &self.stack.app, &self.stack.page, ready, within)
    }
}
