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
        self.up_asked(choice, watch, None)
    }

    /// The same; before, a command of the app's is run for what it prints.
    ///
    /// # Errors
    /// It does not start.
    pub fn up_asked(
        &self,
        choice: &RuntimeChoice,
        watch: WatchMode,
        ask: Option<&str>,
    ) -> Result<Stand, RuntimeError> {
        let ask = ask.map(str::to_owned);
        let placement = Placement { watch: Some(watch), ask, ..self.placement.clone() };
        let running = runtime::up_silent(&self.catalogue, choice, &self.app, &placement)?;
        let users = self.users.iter().zip(0..);
        let users = users.map(|(own, number)| User::new(number, self.seed, own)).collect();
        let client = client_config(self.timeout).into();
        Ok(Stand { running, users, client, sent: 0 })
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
        read_answer(self.client.run(request.body(body)?)?)
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
