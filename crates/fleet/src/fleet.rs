//! Sends loads from agents.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use stampede_load::report::Listener;
use stampede_load::{ElsewhereError, Generator, Load, LoadError, LoadResult};
use stampede_model::agent_places::{Agents, Meeting, Place};
use stampede_model::agents::AGENT_HERE;
use stampede_model::load::Address;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_traffic::{OtherFiles, Source, named_files};

use crate::clock::{Clock as _, Monotonic, instant_of};
use crate::coordinator::{AgentError, Coordinator, Effect, Input};
use crate::launch::kubernetes::{KubernetesError, RunningJob};
use crate::launch::{Arrival, ENDING_MAX, Incoming, Launch, Link, Program};
use crate::meet::{Broker, Come, MeetError, Token, gather};
use crate::message::ToAgent;

/// Agents that send loads. They are started for the first load, or before by
/// [`Generator::prepare`]. Dropping it ends them.
pub struct Fleet {
    agents: Agents,
    launch: Launch,
    token_file: Option<PathBuf>,
    /// How many agents came to a place first.
    first: Mutex<BTreeMap<Place, u32>>,
    state: Mutex<Option<State>>,
}

struct State {
    coordinator: Coordinator,
    links: Vec<Link>,
    events: Receiver<Arrival>,
    /// What carries links has to live as long as they do.
    _brokers: Vec<Broker>,
    /// Jobs whose pods are agents.
    _jobs: Vec<RunningJob>,
}

/// Why agents cannot send a load.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// An agent cannot, or will not.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Agents that wait for orders did not come.
    #[error(transparent)]
    Meet(#[from] MeetError),
    /// Agents cannot be started in Kubernetes.
    #[error(transparent)]
    Kubernetes(#[from] KubernetesError),
    /// Pods were created, and too few of them came.
    #[error("the agents of job/{job} have not come")]
    Pods {
        /// Name of the Job, which is deleted again.
        job: String,
        /// What happened instead.
        source: MeetError,
    },
    /// The program that carries the connection to an agent cannot be started.
    #[error("agent {agent} cannot be started")]
    Start {
        /// Name of the agent.
        agent: String,
        /// Error of the system.
        source: io::Error,
    },
    /// This program cannot be read, so it cannot be copied to other machines.
    #[error("cannot read stampede's own program, to copy it to the agents")]
    Program(#[source] io::Error),
    /// Agents on other machines would send to themselves.
    #[error("agents on other machines cannot reach {address} of this one")]
    Loopback {
        /// The address.
        address: String,
    },
    /// A file of requests cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// What is to be sent is no regular file.
    #[error("{} is no regular file, and agents need a copy of it", path.display())]
    Pipe {
        /// Its path.
        path: PathBuf,
    },
}

impl FleetError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            FleetError::Agent(error) => error.hint(),
            FleetError::Meet(error) => error.hint().map(str::to_owned),
            FleetError::Kubernetes(error) => Some(error.hint().to_owned()),
            FleetError::Pods { .. } => Some(
                "`kubectl get pods -l app.kubernetes.io/name=stampede-agent`, while stampede waits, shows whether the \
                 image can be pulled and the pods are scheduled; the pods must reach the place where agents meet"
                    .to_owned(),
            ),
            FleetError::Start { agent, .. } if agent.starts_with(AGENT_HERE) => None,
            FleetError::Start { .. } => {
                Some("install the OpenSSH client on this machine".to_owned())
            }
            FleetError::Loopback { .. } => Some(
                "use the server's address in the network of the agents: in the URL, or in a comparison by \
                 `--listen 10.0.0.5`"
                    .to_owned(),
            ),
            FleetError::Pipe { .. } => Some("write it to a file first".to_owned()),
            FleetError::Program(_) => {
                Some("name a stampede on the agents with --agent-program".to_owned())
            }
            FleetError::File { .. } => None,
        }
    }
}

impl Fleet {
    /// Agents that are started as `launch` says, or that wait for orders and have the token in this
    /// file ([`Token::read`]). Starts and reads nothing yet.
    pub fn new(agents: Agents, launch: Launch, token_file: Option<PathBuf>) -> Fleet {
        let (first, state) = (Mutex::default(), Mutex::new(None));
        Fleet { agents, launch, token_file, first, state }
    }

    /// Does `work` with the agents, which are started if they are not there.
    fn with<T>(
        &self,
        stop: &Stop,
        work: impl FnOnce(&mut State) -> Result<T, FleetError>,
    ) -> Result<T, LoadError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // After a loss all agents are started anew. In a comparison, one trial is lost then, not all.
        if state.as_ref().is_some_and(|state| state.coordinator.has_lost_one()) {
            *state = None;
        }
        let done = match &mut *state {
            Some(state) => work(state),
            none => self.start(stop).and_then(|started| work(none.insert(started))),
        };
        done.map_err(LoadError::from)
    }

    /// Starts the agents, and waits for those that come by themselves.
    fn start(&self, stop: &Stop) -> Result<State, FleetError> {
        let launch = &self.launch;
        let program = match self.agents.need_ssh() && launch.remote.is_none() {
            true => Some(Program::read(&launch.program).map_err(FleetError::Program)?),
            false => None,
        };
        let program = program.map(Arc::new);
        let (to_us, events) = mpsc::sync_channel(EVENTS_MAX);
        // Dropped in the opposite order: links need what carries them until they have ended.
        let (mut jobs, mut brokers) = (Vec::new(), Vec::new());
        let (mut names, mut links) = (Vec::new(), Vec::new());
        for place in self.agents.places() {
            let number = links.len();
            if let Some((come, job)) = self.come(place, stop)? {
                brokers.extend(come.broker);
                jobs.extend(job);
                for (number, agent) in (number..).zip(come.agents) {
                    names.push(agent.name.clone());
                    let hello = Coordinator::hello(&agent.token);
                    links.push(Link::joined(agent, number, to_us.clone()));
                    links[number].send(hello);
                }
                continue;
            }
            let link = Link::start(place, launch, program.as_ref(), number, to_us.clone());
            let agent = || place.to_string();
            links.push(link.map_err(|source| FleetError::Start { agent: agent(), source })?);
            links[number].send(Coordinator::hello(""));
            names.push(place.to_string());
        }
        let absent = if self.agents.need_ssh() { COPYING_MAX } else { ABSENT_MAX };
        let coordinator = Coordinator::new(&names, absent);
        Ok(State { coordinator, links, events, _brokers: brokers, _jobs: jobs })
    }

    /// Waits for agents that come by themselves, or that a Job starts. `None`: there are none.
    fn come(
        &self,
        place: &Place,
        stop: &Stop,
    ) -> Result<Option<(Come, Option<RunningJob>)>, FleetError> {
        match place {
            Place::Local(_) | Place::Ssh(_) => Ok(None),
            Place::Meeting(meeting) => {
                let token = Token::read(self.token_file.as_deref())?;
                // After a loss all have to come back: the next load is no smaller.
                let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
                let agents = meeting.agents.or(first.get(place).copied());
                let come = gather(&Meeting { agents, ..meeting.clone() }, &token, stop)?;
                first.entry(place.clone()).or_insert(come.agents.len() as u32);
                Ok(Some((come, None)))
            }
            Place::Kubernetes(job) => {
                // Its pods serve this coordinator only, so nobody has to know their token.
                let token = Token::new();
                let running = RunningJob::create(job, &token, &self.launch.arguments)?;
                let come = gather(&job.meeting, &token, stop).map_err(|error| match error {
                    MeetError::Few { .. } | MeetError::OtherToken { .. } => {
                        FleetError::Pods { job: running.name().to_owned(), source: error }
                    }
                    other => FleetError::Meet(other),
                })?;
                Ok(Some((come, Some(running))))
            }
        }
    }
}

impl From<FleetError> for LoadError {
    fn from(error: FleetError) -> LoadError {
        let hint = error.hint();
        LoadError::Elsewhere(ElsewhereError::new(error, hint))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // All at once, so that they end together and not one after the other.
        self.links.iter_mut().for_each(Link::close);
        let until = Instant::now() + ENDING_MAX;
        self.links.iter_mut().for_each(|link| link.end(until));
    }
}

impl Generator for Fleet {
    fn prepare(&self, stop: &Stop) -> Result<(), LoadError> {
        self.with(stop, |state| state.meet(stop))
    }

    fn run(
        &self,
        load: &Load,
        stop: &Stop,
        listener: &mut dyn Listener,
    ) -> Result<LoadResult, LoadError> {
        self.with(stop, |state| {
            reached_by(&self.agents, load.target.iter())?;
            let mut result = *state.send(load, stop, listener)?;
            if !self.agents.are_elsewhere() {
                // One machine is no better or worse than itself: what differs is how the server treats
                // its connections.
                result.agents.iter_mut().for_each(|agent| agent.comparable = false);
            }
            Ok(result)
        })
    }
}

impl State {
    /// Waits until all agents are there and their clocks are known.
    fn meet(&mut self, stop: &Stop) -> Result<(), FleetError> {
        let (mut input, mut at) = (Input::Meet, Monotonic.now());
        loop {
            for effect in self.coordinator.handle(at, input) {
                match effect {
                    Effect::Send(agent, message) => self.links[agent].send(message),
                    Effect::Met => return Ok(()),
                    Effect::Failed(error) => return Err(error.into()),
                    _ => {}
                }
            }
            (input, at) = self.next();
            if stop.is_asked() {
                input = Input::Stop;
            }
        }
    }

    fn send(
        &mut self,
        load: &Load,
        stop: &Stop,
        listener: &mut dyn Listener,
    ) -> Result<Box<LoadResult>, FleetError> {
        let (load, files, bytes) = with_hashes(load.clone())?;
        let hashes = files.keys().cloned().collect();
        let mut at = Monotonic.now();
        let mut input = Input::Begin(Box::new(load), hashes, bytes);
        let mut has_stopped = false;
        loop {
            let mut inputs = vec![input];
            while let Some(input) = inputs.pop() {
                for effect in self.coordinator.handle(at, input) {
                    match effect {
                        Effect::Send(agent, message) => {
                            // Whoever watches the load must see that it does not end by itself.
                            if message == ToAgent::Stop {
                                stop.ask();
                            }
                            self.links[agent].send(message);
                        }
                        Effect::SendFiles(agent, hashes) => {
                            self.links[agent].send_files(hashes, &files);
                        }
                        Effect::WarmUpSecond(second) => listener.warm_up_second(&second),
                        Effect::BeforeLoad => {
                            listener.before_load();
                            at = Monotonic.now();
                            inputs.push(Input::Go);
                        }
                        Effect::Began(at) => listener.began(instant_of(&Monotonic, at)),
                        Effect::Second(second) => listener.second(&second),
                        Effect::Requests(requests) => listener.requests(&requests),
                        Effect::Met => {}
                        Effect::Failed(error) => return Err(error.into()),
                        Effect::Done(result) => return Ok(result),
                    }
                }
            }
            if stop.is_asked() && !has_stopped {
                has_stopped = true;
                (input, at) = (Input::Stop, Monotonic.now());
            } else {
                (input, at) = self.next();
            }
        }
    }

    /// What happens next, and when it happened: what waits here because we were slow came in time.
    fn next(&self) -> (Input, Nanos) {
        match self.events.recv_timeout(self.coordinator.patience()) {
            Ok((agent, Incoming::Message(message), at)) => (Input::Message(agent, message), at),
            Ok((agent, Incoming::Closed(said), at)) => (Input::Closed(agent, said), at),
            Ok((agent, Incoming::Foreign, at)) => (Input::Foreign(agent), at),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                (Input::Tick, Monotonic.now())
            }
        }
    }
}

/// Checks that agents on other machines would not reach themselves by these addresses.
///
/// # Errors
/// [`FleetError::Loopback`].
pub fn reached_by<'a>(
    agents: &Agents,
    mut addresses: impl Iterator<Item = &'a Address>,
) -> Result<(), FleetError> {
    match addresses.find(|address| agents.are_elsewhere() && is_own(address)) {
        Some(address) => Err(FleetError::Loopback { address: address.to_string() }),
        None => Ok(()),
    }
}

/// Whether an agent would reach itself by this address.
fn is_own(address: &Address) -> bool {
    let Address::Tcp(address) = address else { return true };
    let ip = match address.ip() {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4),
        v4 @ IpAddr::V4(_) => v4,
    };
    ip.is_loopback() || ip.is_unspecified()
}

/// Names the files of a load by their hashes. Returns the load, where the files are, and how many
/// bytes they have together.
fn with_hashes(mut load: Load) -> Result<(Load, HashMap<String, PathBuf>, u64), FleetError> {
    let mut files = HashMap::new();
    let mut bytes = 0;
    if let Source::File(file) = &mut load.traffic.source {
        file.others = OtherFiles::Copies(named_files(file));
        for path in file.paths_mut() {
            let (hash, length) = hash_of(path)?;
            bytes += length;
            let own = std::mem::replace(path, PathBuf::from(&hash));
            files.insert(hash, own);
        }
    }
    Ok((load, files, bytes))
}

fn hash_of(path: &Path) -> Result<(String, u64), FleetError> {
    let failed = |source| FleetError::File { path: path.to_owned(), source };
    // A pipe that nobody writes to could not even be opened.
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(FleetError::Pipe { path: path.to_owned() });
    }
    crate::hash::of(File::open(path).map_err(failed)?).map_err(failed)
}

/// How long an agent may take to be there. A binary may have to be copied before.
const COPYING_MAX: Nanos = Nanos::from_secs(180);
/// The same without a copy.
const ABSENT_MAX: Nanos = Nanos::from_secs(20);
/// Messages that wait here, before agents wait with theirs.
const EVENTS_MAX: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_own_addresses_are_recognised() {
        let is = |text: &str| is_own(&Address::Tcp(text.parse().unwrap()));
        for own in ["127.0.0.1:80", "127.9.9.9:80", "0.0.0.0:80", "[::1]:80", "[::]:80"] {
            assert!(is(own), "{own}");
        }
        assert!(is("[::ffff:127.0.0.1]:80") && is_own(&Address::Unix("/run/a.sock".into())));
        assert!(!is("10.0.0.1:80") && !is("[fd00::1]:80") && !is("[::ffff:10.0.0.1]:80"));
    }
}
