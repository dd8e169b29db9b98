//! A fresh start of a runtime with one worker, and requests of users sent to it one after the other.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ureq::Agent;
use ureq::http::Request;

use super::headers;
use super::model::{Asked, Step};
use super::users::User;
use super::watch::{self, Worker};
use crate::plan::model::RuntimeChoice;
use crate::runtime::{
    self, Answer, App, Catalogue, Placement, Running, RuntimeError, WATCHED, WatchMode,
    client_config, read_answer,
};

/// What is needed to start anything.
pub struct Bench {
    /// Runtimes.
    pub catalogue: Catalogue,
    /// The app; its folder is copied for each start.
    pub app: App,
    /// Where stacks run.
    pub placement: Placement,
    /// Of the users' tokens.
    pub seed: u64,
    /// Headers of each user beside those that all have; as many as there are users.
    pub users: Vec<Vec<(String, String)>>,
    /// Longest wait for an answer.
    pub timeout: Duration,
}

/// A runtime that was started for one tour.
pub struct Stand {
    running: Running,
    users: Vec<User>,
    client: Agent,
    sent: u64,
    /// Of its PHP, `8.2.36`.
    php: Option<String>,
}

/// What came of a request.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The request's number on this stand, from 1.
    pub number: u64,
    /// The answer, or why there is none.
    pub outcome: Result<Answer, String>,
    /// The other users whose cookies it shows.
    pub shows: Vec<u32>,
}

impl Seen {
    /// The status, 0 where there is no answer.
    pub fn status(&self) -> u16 {
        self.outcome.as_ref().map_or(0, |answer| answer.status)
    }

    /// What of it is compared, as one text: status, the headers that an app means, the body.
    pub fn text(&self) -> String {
        match &self.outcome {
            Err(problem) => format!("no answer: {problem}\n"),
            Ok(answer) => {
                let mut text = format!("{}\n", answer.status);
                for (name, value) in headers::meant(&answer.headers) {
                    text.push_str(&format!("{name}: {value}\n"));
                }
                text + "\n" + &answer.body
            }
        }
    }
}

impl Bench {
    /// Starts `choice`; its workers are watched where it has such.
    ///
    /// # Errors
    /// It does not start.
    pub fn up(&self, choice: &RuntimeChoice, watch: WatchMode) -> Result<Stand, RuntimeError> {
        let placement = Placement { watch: Some(watch), ..self.placement.clone() };
        let running = runtime::up_silent(&self.catalogue, choice, &self.app, &placement)?;
        let users = self.users.iter().zip(0..);
        let users = users.map(|(own, number)| User::new(number, self.seed, own)).collect();
        let client = client_config(self.timeout).into();
        let php = running.record().versions.values().find_map(|text| php_version(text));
        Ok(Stand { running, users, client, sent: 0, php })
    }
}

impl Stand {
    /// Sends a request and waits for its answer; the user keeps its cookies.
    pub fn send(&mut self, step: &Step) -> Seen {
        self.sent += 1;
        let user = step.user as usize;
        let asked = self.users[user].dressed(&step.request);
        let outcome = self.ask(&asked).map_err(|error| error.to_string());
        let mut shows = Vec::new();
        if let Ok(answer) = &outcome {
            let text = format!("{:?}{}", answer.headers, answer.body);
            let others = self.users.iter().zip(0..).filter(|(_, number)| *number != step.user);
            shows = others.filter(|(other, _)| other.is_shown(&text)).map(|(_, n)| n).collect();
            self.users[user].got(answer);
        }
        Seen { number: self.sent, outcome, shows }
    }

    /// The same for many, in order; ends early where a person wants an end.
    pub fn tour(&mut self, steps: &[Step]) -> Vec<Seen> {
        let wanted = steps.iter().take_while(|_| !crate::interrupt::asked());
        wanted.map(|step| self.send(step)).collect()
    }

    /// A user's request with all that it brings, as it would be sent next.
    pub fn dressed(&self, step: &Step) -> Asked {
        self.users[step.user as usize].dressed(&step.request)
    }

    fn ask(&self, asked: &Asked) -> Result<Answer, ureq::Error> {
        let mut request = Request::builder()
            .method(asked.method.as_str())
            .uri(format!("{}{}", self.running.url(), asked.target))
            .header("Host", "localhost")
            .header("Connection", "close")
            .header(NUMBER, self.sent.to_string());
        for (name, value) in &asked.headers {
            request = request.header(name, value);
        }
        let body = asked.body.as_bytes().to_vec();
        let mut answer = read_answer(self.client.run(request.body(body)?)?)?;
        // An app that shows it shows no memory of its worker's.
        if let Some(version) = &self.php {
            answer.body = without_version(&answer.body, version);
        }
        Ok(answer)
    }

    /// What its workers have written down. A worker answers first and cleans up then: it is waited for,
    /// so that only one that died has not come to its end.
    pub fn workers(&self) -> Vec<Worker> {
        let begun = Instant::now();
        loop {
            let workers = watch::read(&self.running.dir().join(WATCHED));
            let last = workers.iter().flat_map(|worker| worker.turns.last());
            let is_busy =
                last.clone().any(|turn| turn.number == Some(self.sent) && turn.after.is_none());
            if !is_busy || begun.elapsed() > CLEAN_WITHIN {
                return workers;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The last lines of its logs, secrets masked.
    pub fn log(&self) -> String {
        self.running.last_lines()
    }

    /// The stack itself.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Its folder for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.running.dir().join("tmp")
    }

    /// Ends it.
    ///
    /// # Errors
    /// It was lost before.
    pub fn stop(self) -> Result<(), RuntimeError> {
        self.running.stop().map(|_| ())
    }
}

/// By this header the workers' watch knows a request.
const NUMBER: &str = "X-Stampede-Check";
/// For a worker to clean up after its last answer.
const CLEAN_WITHIN: Duration = Duration::from_secs(2);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// PHP's version in what a program says of itself: `FrankenPHP v1.4.4 PHP 8.2.32 Caddy v2.9.1`.
fn php_version(text: &str) -> Option<String> {
    let mut words = text.split_ascii_whitespace();
    words.find(|word| *word == "PHP")?;
    words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned)
}

/// With `{php}` in place of the version, where it is none of a longer one.
fn without_version(text: &str, version: &str) -> String {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let mut led = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(version) {
        let (before, after) = (&rest[..at], &rest[at + version.len()..]);
        // A full stop may end its sentence.
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
    use super::*;

    #[test]
    fn the_version_of_a_runtimes_own_php_is_not_compared() {
        let said = "FrankenPHP v1.4.4 PHP 8.2.32 Caddy v2.9.1 (library)";
        assert_eq!(php_version(said).as_deref(), Some("8.2.32"));
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
