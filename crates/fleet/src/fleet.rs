//! Sends loads from agents.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};

use stampede_load::report::Listener;
use stampede_load::{ElsewhereError, Generator, Load, LoadError, LoadResult};
use stampede_model::stop::Stop;
use stampede_traffic::Source;

use crate::clock::{Clock as _, Monotonic, instant_of};
use crate::coordinator::{AgentError, Coordinator, Effect, Input};
use crate::launch::{Agents, Incoming, Launch, Link, Place, Program};

/// Agents that run and wait for loads. Dropping it ends them.
pub struct Fleet {
    state: Mutex<State>,
}

struct State {
    coordinator: Coordinator,
    links: Vec<Link>,
    events: Receiver<(usize, Incoming)>,
}

/// Why agents cannot send a load.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// An agent cannot, or will not.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The program that carries the connection to an agent cannot be started.
    #[error("agent {agent} cannot be started")]
    Start {
        /// Name of the agent.
        agent: String,
        /// Error of the system.
        source: io::Error,
    },
    /// This program cannot be read, so it cannot be copied to other machines.
    #[error("this program cannot be read, to copy it to the agents")]
    Program(#[source] io::Error),
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
            FleetError::Start { .. } => Some("agents on other machines need `ssh` here".to_owned()),
            FleetError::Pipe { .. } => Some("write it to a file first".to_owned()),
            FleetError::Program(_) | FleetError::File { .. } => None,
        }
    }
}

impl Fleet {
    /// Starts agents. `token` shows them who gives orders; empty for agents that this starts itself.
    ///
    /// # Errors
    /// A program cannot be started. Whether the agents answer is seen by the first load.
    pub fn start(agents: &Agents, launch: &Launch, token: &str) -> Result<Fleet, FleetError> {
        let names: Vec<String> = agents.places().iter().map(Place::to_string).collect();
        let program = match agents.are_elsewhere() && launch.remote.is_none() {
            true => Some(Program::read(&launch.program).map_err(FleetError::Program)?),
            false => None,
        };
        let program = program.map(Arc::new);
        let (to_us, events) = mpsc::channel();
        let mut links = Vec::with_capacity(names.len());
        for (number, place) in agents.places().iter().enumerate() {
            let link = Link::start(place, launch, program.as_ref(), number, to_us.clone());
            let agent = || place.to_string();
            links.push(link.map_err(|source| FleetError::Start { agent: agent(), source })?);
        }
        let (coordinator, hellos) = Coordinator::new(&names, token);
        for effect in hellos {
            if let Effect::Send(agent, message) = effect {
                links[agent].send(message);
            }
        }
        Ok(Fleet { state: Mutex::new(State { coordinator, links, events }) })
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // All at once, so that they end together and not one after the other.
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.links.iter_mut().for_each(Link::close);
    }
}

impl Generator for Fleet {
    fn run(
        &self,
        load: &Load,
        stop: &Stop,
        listener: &mut dyn Listener,
    ) -> Result<LoadResult, LoadError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = state.send(load, stop, listener);
        sent.map(|result| *result).map_err(|error| {
            let hint = error.hint();
            LoadError::Elsewhere(ElsewhereError::new(error, hint))
        })
    }
}

impl State {
    fn send(
        &mut self,
        load: &Load,
        stop: &Stop,
        listener: &mut dyn Listener,
    ) -> Result<Box<LoadResult>, FleetError> {
        let (load, files) = with_hashes(load.clone())?;
        let hashes = files.keys().cloned().collect();
        let mut input = Input::Begin(Box::new(load), hashes);
        let mut has_stopped = false;
        loop {
            let mut inputs = vec![input];
            while let Some(input) = inputs.pop() {
                for effect in self.coordinator.handle(Monotonic.now(), input) {
                    match effect {
                        Effect::Send(agent, message) => self.links[agent].send(message),
                        Effect::SendFiles(agent, hashes) => {
                            self.links[agent].send_files(hashes, &files);
                        }
                        Effect::WarmUpSecond(second) => listener.warm_up_second(&second),
                        Effect::BeforeLoad => {
                            listener.before_load();
                            inputs.push(Input::Go);
                        }
                        Effect::Began(at) => listener.began(instant_of(&Monotonic, at)),
                        Effect::Second(second) => listener.second(&second),
                        Effect::Requests(requests) => listener.requests(&requests),
                        Effect::Failed(error) => return Err(error.into()),
                        Effect::Done(result) => return Ok(result),
                    }
                }
            }
            input = if stop.is_asked() && !has_stopped {
                has_stopped = true;
                Input::Stop
            } else {
                self.next()
            };
        }
    }

    fn next(&self) -> Input {
        match self.events.recv_timeout(self.coordinator.patience()) {
            Ok((agent, Incoming::Message(message))) => Input::Message(agent, message),
            Ok((agent, Incoming::Closed(said))) => Input::Closed(agent, said),
            Ok((agent, Incoming::Foreign)) => Input::Foreign(agent),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Input::Tick,
        }
    }
}

/// Names the files of a load by their hashes. Returns the load, and where the files are.
fn with_hashes(mut load: Load) -> Result<(Load, HashMap<String, PathBuf>), FleetError> {
    let mut files = HashMap::new();
    if let Source::File(file) = &mut load.traffic.source {
        for path in std::iter::once(&mut file.path).chain(&mut file.environment) {
            let hash = hash_of(path)?;
            let own = std::mem::replace(path, PathBuf::from(&hash));
            files.insert(hash, own);
        }
    }
    Ok((load, files))
}

fn hash_of(path: &Path) -> Result<String, FleetError> {
    let failed = |source| FleetError::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(FleetError::Pipe { path: path.to_owned() });
    }
    crate::hash::of(file).map(|(hash, _)| hash).map_err(failed)
}
