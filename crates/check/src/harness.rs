//! Starts a runtime with one worker and sends requests of users to it, one after another or at
//! once.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use stampede_login::log_in;
use stampede_plan::app_settings::LoginSettings;
use stampede_plan::model::{RuntimeChoice, RuntimeSource, Scalar};
use stampede_stack::{
    Accepts, Answer, App, Caches, ClientError, Mode, PageRequest, Placement, Provider as _,
    Providers, Readiness, RuntimeError, SingleClient, SiteRequest, Stack, StackRequest,
    StartPurpose, WATCHED, WatchMode,
};

use super::headers;
use super::model::{CheckRequest, Step};
use super::orders;
use super::spill_file::{SpillFile, Stored};
use super::users::User;
use super::watch::{self, Worker};

/// Everything needed to start a runtime.
pub struct Harness {
    /// What starts the runtimes.
    pub provider: Providers,
    /// The app; each start gets a copy of its directory.
    pub app: App,
    /// Where stacks run.
    pub placement: Placement,
    /// Seed of the users' tokens.
    pub seed: u64,
    /// Additional headers of each user; one entry for each user.
    pub users: Vec<Vec<(String, String)>>,
    /// How each user logs in after each start; empty: nobody does.
    pub logins: Vec<LoginSettings>,
    /// Longest wait for an answer.
    pub timeout: Duration,
    /// File with the answers of passes.
    pub spill_file: SpillFile,
}

/// How the steps of one moment are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SendOrder {
    /// All at once.
    AtOnce,
    /// One after another.
    InTurn,
    /// One after another, in reverse order.
    Reversed,
}

/// The result of a pass.
#[derive(Clone, Debug, Default)]
pub struct PassRecord {
    /// The result of each step; fewer than steps if the pass was ended early.
    pub results: Vec<StepResult>,
    /// What the watch recorded in the workers.
    pub workers: Vec<Worker>,
}

/// Something that can run passes.
pub trait PassRunner {
    /// Returns the seed of the users' tokens.
    fn seed(&self) -> u64;

    /// Returns the number of users.
    fn users(&self) -> u32;

    /// Returns the file for answers.
    fn spill_file(&self) -> SpillFile;

    /// Sends the steps to a fresh start of `choice`, and stops it.
    ///
    /// # Errors
    /// The runtime does not start, or was lost.
    fn run_steps(
        &self,
        choice: &RuntimeChoice,
        steps: &[Step],
        order: SendOrder,
    ) -> Result<PassRecord, RuntimeError>;
}

/// A runtime that was started for one pass.
pub struct HarnessSession {
    running: Box<dyn Stack>,
    users: Vec<User>,
    client: SingleClient,
    sent: u64,
    /// Version of its PHP, such as `8.2.36`; `None` if unknown.
    php: Option<String>,
}

/// The client's error when a request gets no answer. It is shared, because results are cloned.
pub type NoAnswer = Arc<ClientError>;

/// The result of a request.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// The request's number in this session, from 1.
    pub number: u64,
    status: u16,
    /// The answer, or why there is none.
    pub outcome: Result<Stored<Answer>, NoAnswer>,
    /// Other users whose cookies the answer shows.
    pub shows: Vec<u32>,
}

impl StepResult {
    /// Returns the result of the request with this number.
    pub fn of(number: u64, outcome: Result<Answer, NoAnswer>, shows: Vec<u32>) -> StepResult {
        let status = outcome.as_ref().map_or(0, |answer| answer.status);
        StepResult { number, status, outcome: outcome.map(Stored::InMemory), shows }
    }

    /// Returns the same result with its answer moved to the file.
    fn spill(self, spill_file: &SpillFile) -> StepResult {
        let outcome = self.outcome.map(|answer| spill_file.put(answer.get().into_owned()));
        StepResult { outcome, ..self }
    }

    /// Returns the status; 0 without an answer.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the answer, or why there is none.
    pub fn answer(&self) -> Result<Cow<'_, Answer>, &NoAnswer> {
        self.outcome.as_ref().map(Stored::get)
    }

    /// Returns the compared part as one text: status, the app's headers, the body.
    pub fn text(&self) -> String {
        match self.answer() {
            Err(problem) => format!("no answer: {problem}\n"),
            Ok(answer) => {
                let mut text = format!("{}\n", answer.status);
                for (name, value) in headers::compared_headers(&answer.headers) {
                    text.push_str(&format!("{name}: {value}\n"));
                }
                text + "\n" + &answer.body
            }
        }
    }
}

impl Harness {
    /// Starts `choice`, and watches its workers if it has any.
    ///
    /// # Errors
    /// The runtime does not start.
    pub fn start(
        &self,
        choice: &RuntimeChoice,
        watch: WatchMode,
    ) -> Result<HarnessSession, RuntimeError> {
        self.start_with_command(choice, watch, None)
    }

    /// Starts `choice` likewise; before, runs a command of the app for its output.
    ///
    /// # Errors
    /// The runtime does not start.
    pub fn start_with_command(
        &self,
        choice: &RuntimeChoice,
        watch: WatchMode,
        ask: Option<&str>,
    ) -> Result<HarnessSession, RuntimeError> {
        let ask = ask.map(str::to_owned);
        let placement = Placement { watch: Some(watch), ask, ..self.placement.clone() };
        let request = StackRequest {
            runtime: choice,
            app: &self.app,
            placement: &placement,
            page: PageRequest::of(&self.app, &[]),
            caches: Caches::Kept,
            ready: Readiness::Idle,
            purpose: StartPurpose::Measured,
        };
        let running = self.provider.start(&self.provider.resolve(&request)?)?;
        let users = self.users.iter().zip(0..);
        let mut users: Vec<User> =
            users.map(|(own, number)| User::new(number, self.seed, own)).collect();
        for (user, login) in users.iter_mut().zip(&self.logins) {
            self.log_in(running.as_ref(), user, login)?;
        }
        let address = running.endpoint().addresses.first().clone();
        let client = SingleClient::new(address, self.timeout);
        let php = running.record().versions.values().find_map(|text| php_version(text));
        Ok(HarnessSession { running, users, client, sent: 0, php })
    }

    /// Logs a user in, who looks the same as in all later requests.
    fn log_in(
        &self,
        running: &dyn Stack,
        user: &mut User,
        login: &LoginSettings,
    ) -> Result<(), RuntimeError> {
        let asked = CheckRequest {
            method: "GET".to_owned(),
            target: login.path.clone(),
            headers: Vec::new(),
            body: String::new(),
        };
        let page = PageRequest {
            path: Some(login.path.clone()),
            headers: user.personalized(&asked).headers,
            accepts: Accepts::Any,
            within: self.timeout,
        };
        let sessions = log_in(running, &self.app, login, 1, &page)
            .map_err(|error| RuntimeError::NotLoggedIn { source: Box::new(error) })?;
        for session in sessions {
            for (_, cookies) in session.with_cookies(&[]) {
                user.keep_session(&cookies);
            }
        }
        Ok(())
    }

    /// Returns whether a worker of `choice` begins a request before it has ended another. Event
    /// loops and workers with coroutines do. Other workers have a queue, and requests never overlap
    /// in them.
    pub fn overlaps(&self, choice: &RuntimeChoice) -> bool {
        let RuntimeSource::Catalogue(name) = &choice.source else { return false };
        let Ok(directory) = self.provider.catalogue().runtime(name) else { return false };
        let default = directory.manifest.settings.get(COROUTINES).map(|spec| &spec.default);
        let coroutines = choice.settings.get(COROUTINES).or(default);
        directory.manifest.mode == Mode::EventLoop || coroutines == Some(&Scalar::Bool(true))
    }
}

impl PassRunner for Harness {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn users(&self) -> u32 {
        self.users.len() as u32
    }

    fn spill_file(&self) -> SpillFile {
        self.spill_file.clone()
    }

    fn run_steps(
        &self,
        choice: &RuntimeChoice,
        steps: &[Step],
        order: SendOrder,
    ) -> Result<PassRecord, RuntimeError> {
        let mut session = self.start(choice, WatchMode::Full)?;
        let results = session.pass(steps, order, &self.spill_file);
        let workers = session.workers();
        session.stop()?;
        Ok(PassRecord { results, workers })
    }
}

impl HarnessSession {
    /// Sends a request and waits for its answer; the user keeps the answer's cookies.
    pub fn send(&mut self, step: &Step) -> StepResult {
        self.moment(std::slice::from_ref(step), SendOrder::InTurn).remove(0)
    }

    /// Sends many steps, moment by moment, and moves their answers to the file. Ends early if the
    /// user wants to end.
    fn pass(
        &mut self,
        steps: &[Step],
        order: SendOrder,
        spill_file: &SpillFile,
    ) -> Vec<StepResult> {
        let moments = orders::moments(steps).into_iter();
        let wanted = moments.take_while(|_| !stampede_linux::interrupt::is_requested());
        let results = wanted.flat_map(|moment| self.moment(&steps[moment], order));
        results.map(|result| result.spill(spill_file)).collect()
    }

    /// Sends each step with the cookies that its user has now. Cookies of the answers are kept
    /// after all have come.
    fn moment(&mut self, steps: &[Step], order: SendOrder) -> Vec<StepResult> {
        let requests: Vec<(u64, CheckRequest)> = steps
            .iter()
            .zip(self.sent + 1..)
            .map(|(step, n)| (n, self.personalized(step)))
            .collect();
        self.sent += steps.len() as u64;
        let ask = |(number, check_request): &(u64, CheckRequest)| {
            self.send_request(*number, check_request).map_err(NoAnswer::from)
        };
        let outcomes: Vec<Result<Answer, NoAnswer>> = match order {
            SendOrder::AtOnce if steps.len() > 1 => at_once(&requests, ask),
            SendOrder::AtOnce | SendOrder::InTurn => requests.iter().map(ask).collect(),
            SendOrder::Reversed => {
                let mut outcomes: Vec<_> = requests.iter().rev().map(ask).collect();
                outcomes.reverse();
                outcomes
            }
        };
        for (step, outcome) in steps.iter().zip(&outcomes) {
            if let Ok(answer) = outcome {
                self.users[step.user as usize].keep_cookies(answer);
            }
        }
        let results = steps.iter().zip(requests).zip(outcomes);
        let results = results.map(|((step, (number, _)), outcome)| {
            let shows = outcome.as_ref().map_or(Vec::new(), |answer| self.shows(step, answer));
            StepResult::of(number, outcome, shows)
        });
        results.collect()
    }

    /// Returns the other users whose cookies an answer shows.
    fn shows(&self, step: &Step, answer: &Answer) -> Vec<u32> {
        let text = format!("{:?}{}", answer.headers, answer.body);
        let asker = &self.users[step.user as usize];
        let others = self.users.iter().zip(0..).filter(|(_, number)| *number != step.user);
        others.filter(|(other, _)| other.is_shown(&text, asker)).map(|(_, number)| number).collect()
    }

    /// Returns a user's request with all its headers and cookies, as it would be sent next.
    pub fn personalized(&self, step: &Step) -> CheckRequest {
        self.users[step.user as usize].personalized(&step.request)
    }

    fn send_request(
        &self,
        number: u64,
        check_request: &CheckRequest,
    ) -> Result<Answer, ClientError> {
        let CheckRequest { method, target, headers, body } = check_request;
        let own = (NUMBER_HEADER.to_owned(), number.to_string());
        let headers: Vec<_> = std::iter::once(own).chain(headers.iter().cloned()).collect();
        let mut answer = self.client.exchange(&SiteRequest {
            method,
            path: target,
            headers: &headers,
            body: body.as_bytes(),
        })?;
        // An app may show PHP's version, which is no memory of the worker.
        if let Some(version) = &self.php {
            answer.body = without_version(&answer.body, version);
        }
        Ok(answer)
    }

    /// Returns what the watch has recorded in the workers. A worker sends its answer before it
    /// cleans up, so this waits for the end of the last request. Only a worker that died has no end
    /// then.
    pub fn workers(&self) -> Vec<Worker> {
        let begun = Instant::now();
        loop {
            let directory = self.running.directory();
            let workers = directory.map_or(Vec::new(), |at| watch::read(&at.join(WATCHED)));
            let last = workers.iter().flat_map(|worker| worker.turns.last());
            let is_busy =
                last.clone().any(|turn| turn.number == Some(self.sent) && turn.after.is_none());
            if !is_busy || begun.elapsed() > CLEANUP_TIMEOUT {
                return workers;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns the last lines of its logs, with secrets masked.
    pub fn log(&self) -> String {
        self.running.logs().last_lines()
    }

    /// Returns the running stack.
    pub fn running(&self) -> &dyn Stack {
        self.running.as_ref()
    }

    /// Returns its directory for temporary files; `None`: it cannot be seen here.
    pub fn temporary(&self) -> Option<PathBuf> {
        Some(self.running.directory()?.join("tmp"))
    }

    /// Stops the runtime.
    ///
    /// # Errors
    /// It was lost before.
    pub fn stop(self) -> Result<(), RuntimeError> {
        self.running.stop().map(|_| ())
    }
}

/// Sends all at the same moment, each from its own thread; there are at most as many as users.
fn at_once<T: Sync, R: Send>(all: &[T], ask: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let ready = Barrier::new(all.len());
    thread::scope(|scope| {
        let one = |one| {
            let (ready, ask) = (&ready, &ask);
            scope.spawn(move || {
                ready.wait();
                ask(one)
            })
        };
        let threads: Vec<_> = all.iter().map(one).collect();
        let panicked = |thread: thread::ScopedJoinHandle<'_, R>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(panicked).collect()
    })
}

/// The setting that switches coroutines on, in runtimes that have them.
const COROUTINES: &str = "coroutines";
/// The header by which the watch in the workers recognizes a request.
const NUMBER_HEADER: &str = "X-Stampede-Check";
/// Longest wait for a worker to clean up after its last answer.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(2);
/// Time between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Returns PHP's version from a version text like `FrankenPHP v1.4.4 PHP 8.2.32 Caddy v2.9.1`.
fn php_version(text: &str) -> Option<String> {
    let mut words = text.split_ascii_whitespace();
    words.find(|word| *word == "PHP")?;
    words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned)
}

/// Replaces the version with `{php}`, unless it is a part of a longer version.
fn without_version(text: &str, version: &str) -> String {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let mut led = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(version) {
        let (before, after) = (&rest[..at], &rest[at + version.len()..]);
        // A full stop may end a sentence.
        let goes_on =
            after.strip_prefix('.').unwrap_or(after).starts_with(|c: char| c.is_ascii_digit());
        let is_whole = !before.ends_with(is_part) && !goes_on;
        led.push_str(before);
        led.push_str(if is_whole { "{php}" } else { version });
        rest = after;
    }
    led + rest
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// No call could end if the others had not begun.
    #[test]
    fn simultaneous_requests_are_in_flight_together() {
        let (all, begun) = ([1, 2, 3, 4], AtomicUsize::new(0));
        let ask = |one: &usize| {
            begun.fetch_add(1, Ordering::SeqCst);
            while begun.load(Ordering::SeqCst) < all.len() {
                thread::yield_now();
            }
            one * 10
        };
        assert_eq!(at_once(&all, ask), [10, 20, 30, 40], "in the order in which they were given");
    }

    #[test]
    fn the_version_of_a_runtimes_own_php_is_not_compared() {
        let version = "FrankenPHP v1.4.4 PHP 8.2.32 Caddy v2.9.1 (library)";
        assert_eq!(php_version(version).as_deref(), Some("8.2.32"));
        assert_eq!(php_version("PHP 8.2.36 (fpm-fcgi) (built: Nov 18)").as_deref(), Some("8.2.36"));
        assert_eq!(php_version("nginx version: nginx/1.22.1"), None);
        let page = |version: &str| format!("Laravel v11 (PHP v{version}), {version}.");
        assert_eq!(
            without_version("Laravel (PHP 8.2.3), PHP/8.2.3, 8.2.3.", "8.2.3"),
            "Laravel (PHP {php}), PHP/{php}, {php}."
        );
        assert_eq!(
            without_version(&page("8.2.36"), "8.2.36"),
            without_version(&page("8.2.32"), "8.2.32")
        );
        for other in ["8.2.36", "18.2.3", "7.8.2.3", "8.2.3.1"] {
            assert_eq!(without_version(other, "8.2.3"), other);
        }
    }
}
