//! When a started runtime is ready: at the answer that shows that its app works, or at any answer
//! that does not change any more.
//!
//! A server that stands before PHP answers 502 to 504 until PHP is there, so these are waited out.
//! Any other answer that comes again and again is the app's own: to wait longer changes nothing.

use std::time::{Duration, Instant};

use stampede_load::time::Nanos;

use super::error::RuntimeError;
use super::page::{Arrived, arrive, is_redirect};
use super::prepare::Prepared;
use super::start::Running;

/// Between two tries; a refused connection costs some microseconds.
const RETRY: Duration = Duration::from_millis(5);
/// After a wrong answer.
const RETRY_WRONG: Duration = Duration::from_millis(100);
/// Longest first question; after one that took longer the next may take twice as long.
const ASK_WITHIN: Duration = Duration::from_secs(2);
/// An answer that has been the same for so long stays.
const SETTLED_AFTER: Duration = Duration::from_secs(1);

/// Starts a prepared stack and waits until its app works.
///
/// # Errors
/// A process ended, nothing answered in time, the answer is wrong, or another process has the port,
/// each with the last lines of its logs; or the person asked for an end.
pub fn start(prepared: Prepared) -> Result<Running, RuntimeError> {
    let running = start_answering(prepared)?;
    running.is_right()?;
    Ok(running)
}

/// Starts a prepared stack and waits until its app answers, whatever it answers.
///
/// # Errors
/// As [`start`], but for the wrong answer.
pub fn start_answering(prepared: Prepared) -> Result<Running, RuntimeError> {
    let (mut running, begun) = Running::begin(prepared)?;
    let ready = running.wait_until_ready(begun).map_err(|error| running.explained(error))?;
    running.first_answer = Nanos::from(begun.elapsed());
    running.first_request = ready.took;
    running.arrived = Some(ready.arrived);
    running.settle()
}

/// The answer that ended the waiting.
struct Ready {
    arrived: Arrived,
    /// How long it took.
    took: Nanos,
}

/// A wrong answer, and since when it has been the same.
struct Wrong {
    status: u16,
    gist: String,
    since: Instant,
}

impl Wrong {
    /// The same answer as before, or the first of its kind.
    fn or_new(before: Option<Wrong>, arrived: &Arrived) -> Wrong {
        let (status, gist) = (arrived.answer.status, arrived.answer.gist());
        match before.filter(|before| before.status == status && before.gist == gist) {
            Some(before) => before,
            None => Wrong { status, gist, since: Instant::now() },
        }
    }

    fn is_settled(&self) -> bool {
        !is_waited_out(self.status) && self.since.elapsed() >= SETTLED_AFTER
    }
}

/// Whether whoever stands before PHP answers so until PHP is there.
const fn is_waited_out(status: u16) -> bool {
    matches!(status, 502..=504)
}

impl Running {
    /// The wrong answer of its page, as an error. A redirect that leads elsewhere is none: whether
    /// that is measured, the load decides.
    fn is_right(&self) -> Result<(), RuntimeError> {
        let Some(arrived) = &self.arrived else { return Ok(()) };
        let status = arrived.answer.status;
        let Some(wrong) = arrived.wrong.clone().filter(|_| !is_redirect(status)) else {
            return Ok(());
        };
        let wrong = self.without_secrets(wrong);
        if is_waited_out(status) {
            return Err(self.explained(self.not_ready(&wrong)));
        }
        Err(self.explained(RuntimeError::WrongPage {
            runtime: self.name().to_owned(),
            path: arrived.path.clone(),
            wrong,
            log: self.log_lines(),
        }))
    }

    fn wait_until_ready(&self, begun: Instant) -> Result<Ready, RuntimeError> {
        let within = self.stack.ready_within;
        let mut ask_within = ASK_WITHIN;
        let mut wrong: Option<Wrong> = None;
        let mut answered = None;
        let mut last = "no connection".to_string();
        while begun.elapsed() < within {
            self.check_asked()?;
            let sent = Instant::now();
            match self.arrive(ask_within) {
                Ok(arrived) => {
                    let took = Nanos::from(sent.elapsed());
                    let is_right = arrived.wrong.is_none();
                    let seen = Wrong::or_new(wrong, &arrived);
                    let ready = Ready { arrived, took };
                    if is_right || seen.is_settled() {
                        return Ok(ready);
                    }
                    (wrong, answered) = (Some(seen), Some(ready));
                    // It is up: to ask it a thousand times would fill its log.
                    std::thread::sleep(RETRY_WRONG);
                }
                Err(ureq::Error::ConnectionFailed | ureq::Error::Io(_)) => {}
                Err(ureq::Error::Timeout(_)) => {
                    last = format!("no answer within {} s", ask_within.as_secs_f64());
                    ask_within = ask_within.saturating_mul(2).min(within);
                }
                Err(error) => last = error.to_string(),
            }
            self.check_exits()?;
            std::thread::sleep(RETRY);
        }
        answered.ok_or_else(|| self.not_ready(&last))
    }

    /// Asks its page and follows its redirects.
    fn arrive(&self, within: Duration) -> Result<Arrived, ureq::Error> {
        let ready = &self.stack.runtime.manifest.ready.path;
        arrive(self, &self.stack.app, &self.stack.page, ready, within)
    }
}
