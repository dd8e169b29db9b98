//! What an agent does with its orders: a state machine without I/O and without a clock.
//!
//! An agent never goes on alone. It stops sending when its connection ends, and when the coordinator
//! has been silent for [`SILENCE_MAX`]; after at most [`ENDING`] more it is gone.

mod requests;
mod run;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::path::PathBuf;

use stampede_linux::reach::Reach;
use stampede_load::Load;
use stampede_model::load::{Address, Model, Until, WhenFull};
use stampede_model::time::Nanos;
use stampede_traffic::{OtherFiles, Source};

use crate::message::{FromAgent, LoadEvent, ToAgent, VERSION};

pub use run::{AgentEnd, Witness, run};

/// Without a word from the coordinator for so long, an agent sends nothing more.
pub const SILENCE_MAX: Nanos = Nanos::from_secs(3);
/// Between loads nobody has to speak for so long. A connection whose other end is gone without a word
/// is noticed by this.
pub const IDLE_MAX: Nanos = Nanos::from_secs(600);
/// Time from there until the agent has ended with everything that it started.
pub const ENDING: Nanos = Nanos::from_millis(700);

/// What an agent may be told to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Shows who may give orders; empty where the connection itself shows it.
    pub token: String,
    /// Addresses beyond loopback and private ones that load may be sent to.
    pub allowed: Vec<IpAddr>,
    /// Highest rate of its own part, in requests per second.
    pub rate_max: f64,
    /// Most connections at once, of its own part.
    pub connections_max: u32,
    /// Longest load, with its warm-up.
    pub length_max: Nanos,
    /// Most bytes of files of requests, in all.
    pub file_bytes_max: u64,
    /// Whether load may be sent to Unix sockets, behind which anything may be.
    pub unix_sockets: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            token: String::new(),
            allowed: Vec::new(),
            rate_max: 1e6,
            connections_max: 100_000,
            length_max: Nanos::from_secs(24 * 3_600),
            file_bytes_max: 4 << 30,
            unix_sockets: false,
        }
    }
}

/// Why an order is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The other side is another version of stampede.
    #[error("this agent speaks version {VERSION} of the agents' protocol, the coordinator {0}")]
    Version(u32),
    /// The token is wrong.
    #[error("the token is not this agent's")]
    Token,
    /// The address may be somebody else's.
    #[error("refuses to send to {0}, which is neither its own nor a private address")]
    Foreign(IpAddr),
    /// The load is for a Unix socket.
    #[error("refuses to send to a Unix socket")]
    UnixSocket,
    /// There are too many load threads.
    #[error("refuses {0} load threads: its limit is {THREADS_MAX}")]
    Threads(u32),
    /// The load names a file that does not travel with it.
    #[error("refuses a file that was not copied to it")]
    OwnFile,
    /// The rate is too high.
    #[error("refuses {asked:.0} requests/s: its limit is {most:.0}")]
    Rate {
        /// Requests per second of its part.
        asked: f64,
        /// What it may send.
        most: f64,
    },
    /// There are too many connections.
    #[error("refuses {asked} connections: its limit is {most}")]
    Connections {
        /// Connections of its part.
        asked: u32,
        /// What it may open.
        most: u32,
    },
    /// The load takes too long.
    #[error("refuses a load of {asked_s:.0} s: its limit is {most_s:.0} s")]
    Length {
        /// Length in seconds.
        asked_s: f64,
        /// What it may take.
        most_s: f64,
    },
    /// A file is too long.
    #[error("refuses files of {asked} bytes: its limit is {most}")]
    File {
        /// Its length.
        asked: u64,
        /// What it may take.
        most: u64,
    },
    /// The order makes no sense now.
    #[error("unexpected order")]
    Disorder,
}

impl Refusal {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Refusal::Version(_) => Some("use the same version of stampede on all machines"),
            Refusal::Foreign(_) => Some(
                "if you may load this host: `fire` has --i-may-load-this-host for agents that it starts; one \
                     that waits for orders needs `stampede agent --allow ADDRESS`",
            ),
            Refusal::Rate { .. } | Refusal::Connections { .. } => Some("use more agents"),
            Refusal::Threads(_) => Some("use fewer --threads"),
            Refusal::Length { .. } => Some("shorten the load"),
            Refusal::File { .. } => {
                Some("send fewer requests, or start it with a larger --max-files")
            }
            Refusal::Token | Refusal::UnixSocket | Refusal::OwnFile | Refusal::Disorder => None,
        }
    }
}

impl Rules {
    /// Checks a load before anything of it is done.
    ///
    /// # Errors
    /// The load breaks a rule.
    pub fn check(&self, load: &Load) -> Result<(), Refusal> {
        for address in load.target.iter() {
            match address {
                Address::Unix(_) if !self.unix_sockets => return Err(Refusal::UnixSocket),
                Address::Tcp(address)
                    if !self.allowed.contains(&address.ip())
                        && Reach::of(address.ip()) != Reach::Near =>
                {
                    return Err(Refusal::Foreign(address.ip()));
                }
                Address::Unix(_) | Address::Tcp(_) => {}
            }
        }
        // CPUs are of this machine, so nobody else names them: there would be a thread for each.
        let threads = load.threads.max(load.cpus.len() as u32);
        if threads > THREADS_MAX {
            return Err(Refusal::Threads(threads));
        }
        for model in load.warm_up.iter().chain([&load.model]) {
            let connections = load.part.share_u32(match model {
                Model::Open { max_in_flight, .. } => *max_in_flight,
                Model::Closed { concurrency, .. } => *concurrency,
            });
            if connections > self.connections_max {
                let most = self.connections_max;
                return Err(Refusal::Connections { asked: connections, most });
            }
            if let Model::Open { schedule, .. } = model {
                let asked = schedule.max_rate() / f64::from(load.part.of());
                if asked > self.rate_max {
                    return Err(Refusal::Rate { asked, most: self.rate_max });
                }
            }
        }
        let length = planned_length(load);
        if length > self.length_max {
            let (asked_s, most_s) = (length.as_secs_f64(), self.length_max.as_secs_f64());
            return Err(Refusal::Length { asked_s, most_s });
        }
        Ok(())
    }

    /// How long a load of this model may take until its last request has ended, from the order that
    /// begins it.
    fn deadline(&self, model: &Model, timeout: Nanos) -> Nanos {
        let is_open_ended = match model {
            Model::Open { when_full, .. } => *when_full == WhenFull::Stretch,
            Model::Closed { until, .. } => matches!(until, Until::Requests(_)),
        };
        let longest = if is_open_ended { self.length_max } else { length(model) };
        // Requests that wait, and requests in flight. And the way of the order.
        let timeout = timeout.min(self.length_max);
        longest.plus(Nanos(timeout.0.saturating_mul(2))).plus(START_WAIT)
    }
}

/// Length of a load with its warm-up, as far as it is known before.
fn planned_length(load: &Load) -> Nanos {
    load.warm_up.iter().chain([&load.model]).map(length).fold(Nanos(0), Nanos::plus)
}

fn length(model: &Model) -> Nanos {
    match model {
        Model::Open { schedule, .. } => schedule.length(),
        Model::Closed { until: Until::For(length), .. } => *length,
        Model::Closed { until: Until::Requests(_), .. } => Nanos(0),
    }
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// A message came at this time.
    Message(ToAgent, Nanos),
    /// Bytes of a file came.
    Bytes,
    /// A file has been received completely and lies there.
    Stored(String, PathBuf),
    /// The connection has ended.
    Closed,
    /// The load did something.
    Load(LoadEvent),
    /// Nothing; time has passed.
    Tick,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send this. The time of sending of a `Pong` is filled in then.
    Send(FromAgent),
    /// Receive the file that follows.
    Receive {
        /// Its hash.
        hash: String,
        /// Its length.
        bytes: u64,
    },
    /// Run this load.
    Run(Box<Load>),
    /// Start the load that waits.
    StartAt(Nanos),
    /// Stop the load.
    Stop,
    /// End.
    End,
}

#[derive(Debug)]
enum State {
    /// Nobody has said who gives the orders.
    New,
    /// There is nothing to do.
    Idle,
    /// Files of this load are on their way.
    Waiting { load: Box<Load>, missing: HashSet<String> },
    /// A load runs. After `until` it is stopped, whatever anybody says.
    Running {
        until: Nanos,
        /// How long it may take from its start on; `None`: it has been started.
        longest: Option<Nanos>,
        unscheduled: Unscheduled,
    },
    /// Everything ends: at once if no load runs, else when it has ended, at the latest `at`.
    Ending { at: Nanos },
    /// It is over.
    Ended,
}

/// Which parts of a load no schedule bounds, so that their seconds have to.
#[derive(Clone, Copy, Debug)]
struct Unscheduled {
    warm_up: bool,
    load: bool,
}

impl Unscheduled {
    fn of(load: &Load) -> Unscheduled {
        let is_closed = |model: &Model| matches!(model, Model::Closed { .. });
        let warm_up = load.warm_up.as_ref().is_some_and(is_closed);
        Unscheduled { warm_up, load: is_closed(&load.model) }
    }

    /// How many requests were started in the second that is over, if this part has no schedule.
    fn started(self, event: &LoadEvent) -> Option<u64> {
        match event {
            LoadEvent::WarmUpSecond(second) if self.warm_up => Some(second.counts.started),
            LoadEvent::Second(second) if self.load => Some(second.counts.started),
            _ => None,
        }
    }
}

/// An agent.
#[derive(Debug)]
pub struct Agent {
    rules: Rules,
    /// Its name for itself.
    host: String,
    /// Its version of stampede.
    stampede: String,
    state: State,
    files: HashMap<String, PathBuf>,
    file_bytes: u64,
    last_word: Nanos,
}

impl Agent {
    /// An agent that waits for its first order.
    pub fn new(rules: Rules, host: String, stampede: String, now: Nanos) -> Agent {
        let (state, files) = (State::New, HashMap::new());
        Agent { rules, host, stampede, state, files, file_bytes: 0, last_word: now }
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Takes what happened; returns what to do, in order.
    pub fn handle(&mut self, now: Nanos, input: Input) -> Vec<Effect> {
        let mut effects = match input {
            Input::Message(message, received) => {
                self.last_word = now;
                self.order(now, message, received)
            }
            Input::Stored(hash, path) => {
                self.last_word = now;
                self.files.insert(hash, path);
                self.run_when_complete(now)
            }
            Input::Bytes => {
                self.last_word = now;
                Vec::new()
            }
            Input::Closed => self.end(now),
            Input::Load(event) => self.load_event(now, event),
            Input::Tick => Vec::new(),
        };
        effects.extend(self.watch(now));
        effects
    }

    fn order(&mut self, now: Nanos, message: ToAgent, received: Nanos) -> Vec<Effect> {
        match (&self.state, message) {
            (State::Ending { .. } | State::Ended, _) => Vec::new(),
            (State::New, ToAgent::Hello { version, token }) => self.hello(now, version, &token),
            (State::New, _) => self.refuse_and_end(now, &Refusal::Disorder),
            (_, ToAgent::Ping { number }) => {
                vec![Effect::Send(FromAgent::Pong { number, received, sent: received })]
            }
            (_, ToAgent::Alive) => Vec::new(),
            (State::Idle, ToAgent::Prepare { load, files }) => self.prepare(now, load, files),
            (State::Waiting { missing, .. }, ToAgent::File { hash, bytes })
                if missing.contains(&hash) =>
            {
                let most = self.rules.file_bytes_max;
                let asked = self.file_bytes.saturating_add(bytes);
                if asked > most {
                    return self.refuse_and_end(now, &Refusal::File { asked, most });
                }
                self.file_bytes = asked;
                vec![Effect::Receive { hash, bytes }]
            }
            (
                &State::Running { longest: Some(longest), unscheduled, .. },
                ToAgent::StartAt { at },
            ) => {
                let until = now.plus(longest);
                self.state = State::Running { until, longest: None, unscheduled };
                vec![Effect::StartAt(at)]
            }
            (State::Running { .. }, ToAgent::Stop) => vec![Effect::Stop],
            (State::Waiting { .. }, ToAgent::Stop) => {
                self.state = State::Idle;
                let message = "stopped before the load".to_owned();
                let stopped = LoadEvent::Failed { message, hint: None };
                vec![Effect::Send(FromAgent::Load(stopped))]
            }
            // The load has ended by itself.
            (State::Idle, ToAgent::Stop) => Vec::new(),
            (_, _) => self.refuse_and_end(now, &Refusal::Disorder),
        }
    }

    fn hello(&mut self, now: Nanos, version: u32, token: &str) -> Vec<Effect> {
        if version != VERSION {
            return self.refuse_and_end(now, &Refusal::Version(version));
        }
        if !is_same(token, &self.rules.token) {
            return self.refuse_and_end(now, &Refusal::Token);
        }
        self.state = State::Idle;
        let (host, stampede) = (self.host.clone(), self.stampede.clone());
        vec![Effect::Send(FromAgent::Hello { version: VERSION, stampede, host })]
    }

    fn prepare(&mut self, now: Nanos, load: Box<Load>, files: Vec<String>) -> Vec<Effect> {
        if let Err(refusal) = self.rules.check(&load) {
            return vec![refused(&refusal)];
        }
        let missing: HashSet<String> =
            files.into_iter().filter(|hash| !self.files.contains_key(hash)).collect();
        let mut hashes: Vec<String> = missing.iter().cloned().collect();
        hashes.sort();
        self.state = State::Waiting { load, missing };
        match hashes.is_empty() {
            true => self.run_when_complete(now),
            false => vec![Effect::Send(FromAgent::Wants { hashes })],
        }
    }

    fn run_when_complete(&mut self, now: Nanos) -> Vec<Effect> {
        let State::Waiting { load, missing } = &mut self.state else { return Vec::new() };
        missing.retain(|hash| !self.files.contains_key(hash));
        if !missing.is_empty() {
            return Vec::new();
        }
        if let Source::File(file) = &mut load.traffic.source {
            if file.others == OtherFiles::Beside {
                file.others = OtherFiles::Copies(BTreeMap::new());
            }
            let files = &self.files;
            let are_known = file.paths_mut().all(|path| {
                let known = files.get(path.to_str().unwrap_or_default());
                known.inspect(|known| path.clone_from(known)).is_some()
            });
            if !are_known {
                self.state = State::Idle;
                return vec![refused(&Refusal::OwnFile)];
            }
        }
        let load = load.clone();
        let of_warm_up = load
            .warm_up
            .as_ref()
            .map_or(Nanos(0), |model| self.rules.deadline(model, load.timeout));
        // The others may still be preparing when this agent waits for the start.
        let until = now.plus(of_warm_up).plus(READY_WAIT);
        let longest = Some(self.rules.deadline(&load.model, load.timeout));
        let unscheduled = Unscheduled::of(&load);
        self.state = State::Running { until, longest, unscheduled };
        vec![Effect::Run(load)]
    }

    fn load_event(&mut self, now: Nanos, event: LoadEvent) -> Vec<Effect> {
        if let State::Running { unscheduled, .. } = self.state
            && let Some(asked) = unscheduled.started(&event).map(|started| started as f64)
            && asked > self.rules.rate_max
        {
            let most = self.rules.rate_max;
            return self.refuse_and_end(now, &Refusal::Rate { asked, most });
        }
        let is_over = matches!(event, LoadEvent::Ended(_) | LoadEvent::Failed { .. });
        let mut effects = vec![Effect::Send(FromAgent::Load(event))];
        match self.state {
            State::Running { .. } if is_over => self.state = State::Idle,
            State::Ending { .. } if is_over => effects.extend(self.ended()),
            _ => {}
        }
        effects
    }

    /// Ends where time has run out.
    fn watch(&mut self, now: Nanos) -> Vec<Effect> {
        let silent = now.since(self.last_word);
        let is_silent = silent >= SILENCE_MAX;
        match self.state {
            State::New | State::Idle if silent >= IDLE_MAX => self.end(now),
            State::Running { .. } | State::Waiting { .. } if is_silent => self.end(now),
            State::Running { until, .. } if now >= until => self.end(now),
            State::Ending { at } if now >= at => self.ended(),
            _ => Vec::new(),
        }
    }

    /// Begins to end. A running load is stopped first.
    fn end(&mut self, now: Nanos) -> Vec<Effect> {
        match self.state {
            State::Running { .. } => {
                self.state = State::Ending { at: now.plus(ENDING) };
                vec![Effect::Stop]
            }
            State::Ending { .. } | State::Ended => Vec::new(),
            State::New | State::Idle | State::Waiting { .. } => self.ended(),
        }
    }

    fn ended(&mut self) -> Vec<Effect> {
        self.state = State::Ended;
        vec![Effect::End]
    }

    fn refuse_and_end(&mut self, now: Nanos, refusal: &Refusal) -> Vec<Effect> {
        let mut effects = vec![refused(refusal)];
        effects.extend(self.end(now));
        effects
    }
}

fn refused(refusal: &Refusal) -> Effect {
    let (message, hint) = (refusal.to_string(), refusal.hint().map(str::to_owned));
    Effect::Send(FromAgent::Refused { message, hint })
}

/// Whether two tokens are the same, in a time that does not depend on where they differ.
fn is_same(given: &str, own: &str) -> bool {
    let differs = given.bytes().zip(own.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == own.len() && differs == 0
}

/// Time from the order to start until the start, at most.
const START_WAIT: Nanos = Nanos::from_secs(60);
/// How long a prepared load may wait for the other agents.
const READY_WAIT: Nanos = IDLE_MAX;
/// Most load threads of an agent.
const THREADS_MAX: u32 = 1_024;

#[cfg(test)]
mod tests;
