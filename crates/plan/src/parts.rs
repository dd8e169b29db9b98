//! The parts of a plan. Each is valid by itself, so a command reads only the parts that it needs:
//! apps to suggest runtimes for, a stack to start, a load to send to a server that already runs.

use std::net::Ipv4Addr;
use std::path::PathBuf;

use stampede_model::expectation::Expectation;
use stampede_model::fact::{Notice, RequestFile};
use stampede_model::load::{Arrivals, Model, WhenFull};
use stampede_model::schedule::Segments;
use stampede_model::time::Nanos;

use super::model::{
    AppChoice, Budget, BudgetFit, Client, LoadChoice, LoadFrom, MissingRuntimes, RequestSpec,
    RuntimeChoice, StartState,
};

/// Where a part was written. A mistake that is found later gets its place from here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The file it was read from. `None`: it was made of flags alone.
    pub source: Option<PathBuf>,
    /// The file's text as written, for the record. The flags that changed it are in `flags`.
    pub text: String,
    /// The flags that changed it, as typed, for "how to run it again".
    pub flags: Vec<String>,
}

/// The apps of a plan.
#[derive(Clone, Debug)]
pub struct AppSelection {
    /// Where they were written.
    pub written: Written,
    /// Apps, at least one.
    pub choices: Vec<AppChoice>,
}

/// What stampede starts: apps, runtimes and their budget. Nothing is sent to it yet.
#[derive(Clone, Debug)]
pub struct StackPlan {
    /// The apps.
    pub apps: AppSelection,
    /// Runtimes and variants, at least one, names unique.
    pub runtimes: Vec<RuntimeChoice>,
    /// CPUs and memory.
    pub budget: Budget,
    /// The address that stacks listen on. `None`: 127.0.0.1.
    pub listen: Option<Ipv4Addr>,
    /// What happens to a budget that is larger than the machine.
    pub fit: BudgetFit,
    /// What happens to runtimes that are not installed or cannot run the app.
    pub missing: MissingRuntimes,
}

impl StackPlan {
    /// Where the stack was written.
    pub fn written(&self) -> &Written {
        &self.apps.written
    }

    /// Keeps only the runtimes of these names.
    pub fn keep_runtimes(&mut self, names: &[String]) {
        self.runtimes.retain(|runtime| names.contains(&runtime.name));
    }
}

/// A load without a stack.
#[derive(Clone, Debug)]
pub struct LoadPlan {
    /// The load. Its expectations are those of the flags.
    pub load: LoadChoice,
    /// Length of the discarded load before it. 0: no flag asks for one.
    pub warm_up: Nanos,
}

/// A search on a stack: what is sent and how, without how much, which the search finds out.
#[derive(Clone, Debug)]
pub struct SearchPlan {
    /// The stack.
    pub stack: StackPlan,
    /// What each trial sends.
    pub load: SearchLoad,
    /// The state of a runtime when the measured load begins.
    pub begin: StartState,
    /// Expectations of each trial.
    pub expect: Vec<Expectation>,
    /// The machines that send the load.
    pub load_from: LoadFrom,
    /// Seed of Poisson arrivals. Drawn at random when not given, and always stored.
    pub seed: u64,
    /// The directory for the results. `None`: a new directory below `stampede-results/`.
    pub out: Option<PathBuf>,
    /// What the reader should know about how this plan was made.
    pub notices: Vec<Notice>,
}

/// What a search sends and how. The search gives each trial its model.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchLoad {
    /// The name in notices. A trial has a name of its own.
    pub name: String,
    /// Connection habits of the client.
    pub client: Client,
    /// The longest time from *started* to done.
    pub timeout: Nanos,
    /// The requests, sent in turn. Empty: the requests that the app declares.
    pub requests: Vec<RequestSpec>,
    /// The file that they are from, where the user should know what was taken of it.
    pub file: Option<RequestFile>,
    /// Paths whose answers may have any length.
    pub changing: Vec<String>,
    /// Arrivals of open trials.
    pub arrivals: Arrivals,
    /// Most requests in flight in open trials.
    pub max_in_flight: u32,
    /// What happens in open trials to a request that is due while so many are in flight.
    pub when_full: WhenFull,
}

impl SearchLoad {
    /// What `load` sends and how. `max_in_flight` is for open trials.
    pub fn of(load: &LoadChoice, max_in_flight: u32) -> SearchLoad {
        let (arrivals, when_full) = match &load.model {
            Model::Open { arrivals, when_full, .. } => (*arrivals, *when_full),
            Model::Closed { .. } => (Arrivals::Uniform, WhenFull::Queue),
        };
        SearchLoad {
            name: load.name.clone(),
            client: load.client.clone(),
            timeout: load.timeout,
            requests: load.requests.clone(),
            file: load.file.clone(),
            changing: load.changing.clone(),
            arrivals,
            max_in_flight,
            when_full,
        }
    }

    /// The open model of a trial with this schedule.
    pub fn open(&self, schedule: Segments) -> Model {
        let SearchLoad { arrivals, max_in_flight, when_full, .. } = *self;
        Model::Open { schedule, arrivals, max_in_flight, when_full }
    }

    /// The load of a trial.
    pub fn with(&self, name: String, model: Model) -> LoadChoice {
        LoadChoice {
            name,
            model,
            rate_share: None,
            client: self.client.clone(),
            timeout: self.timeout,
            requests: self.requests.clone(),
            file: self.file.clone(),
            changing: self.changing.clone(),
            only: Vec::new(),
            except: Vec::new(),
            expect: Vec::new(),
        }
    }
}
