//! The command `stampede agent`: sends load for a stampede elsewhere, which speaks to it on standard
//! input and output, or which it waits for.

use std::io::IsTerminal as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use stampede_fleet::agent::{AgentEnd, Rules, Witness, run as run_agent};
use stampede_fleet::clock::{Clock, Monotonic};
use stampede_fleet::launch::kubernetes;
use stampede_fleet::meet::{
    CONNECT_VARIABLE, MeetError, Served, Serving, TOKEN_VARIABLE, Token, Worker, serve,
};
use stampede_linux::interrupt;
use stampede_model::agent_places::{AgentsError, Job, Meeting};
use stampede_model::quantity::{parse_length, parse_size};
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;

use super::agent_files::{Kept, KeptError};
use super::fail::CommandError;
use super::shell::print_message;
use super::{Failure, Outcome};

/// Arguments of `agent`.
#[derive(Args, Debug)]
pub struct AgentArgs {
    /// Wait for a coordinator at a NATS broker (nats://broker:4222), or for one that listens
    /// (tcp://10.0.0.5:7070)
    #[arg(long, value_name = "URL", env = CONNECT_VARIABLE, hide_env_values = true)]
    connect: Option<String>,
    /// Read the token that coordinators have to know from this file [default: the environment
    /// variable STAMPEDE_AGENT_TOKEN]
    #[arg(long, value_name = "FILE", requires = "connect")]
    token_file: Option<PathBuf>,
    /// Exit after the orders of one coordinator
    #[arg(long, requires = "connect")]
    once: bool,
    /// Exit if no coordinator has come for so long
    #[arg(long, value_name = "LENGTH", value_parser = parse_length, requires = "connect")]
    give_up_after: Option<Nanos>,
    /// Print a Job of Kubernetes whose pods are such agents, and start nothing:
    /// 'kubernetes:8?image=IMAGE&meet=nats://broker:4222'
    #[arg(long, value_name = "JOB")]
    manifest: Option<String>,
    /// Also allow load to ADDRESS; this machine and private networks are always allowed (repeatable)
    #[arg(long, value_name = "ADDRESS")]
    allow: Vec<IpAddr>,
    /// Allow load to Unix sockets of this machine
    #[arg(long)]
    allow_unix_sockets: bool,
    /// Refuse loads above N requests per second
    #[arg(long, value_name = "N", default_value_t = 1e6)]
    max_rate: f64,
    /// Refuse loads of more than N connections at once
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_connections: u32,
    /// Refuse loads that take longer: 10m, 24h
    #[arg(long, value_name = "LENGTH", default_value = "24h", value_parser = parse_length)]
    max_time: Nanos,
    /// Refuse request files of more than SIZE together: 500MiB
    #[arg(long, value_name = "SIZE", default_value = "4GiB", value_parser = parse_size)]
    max_files: u64,
    /// Also write histograms per second of each load that this agent sends, for HdrHistogram's tools,
    /// to a new file in DIR
    #[arg(long, value_name = "DIR")]
    hlog_dir: Option<PathBuf>,
}

/// Why an agent cannot work.
#[derive(Debug, thiserror::Error)]
enum AgentError {
    #[error("an agent is started by another stampede, not by hand")]
    ByHand,
    #[error("the coordinator's orders cannot be read")]
    Orders(#[source] stampede_fleet::frame::FrameError),
    #[error(transparent)]
    Place(#[from] AgentsError),
    #[error(transparent)]
    Meet(#[from] MeetError),
    #[error("no coordinator has come")]
    Nobody,
    #[error("cannot start the process that does a coordinator's orders")]
    Worker(#[source] std::io::Error),
    #[error(transparent)]
    Kept(#[from] KeptError),
}

impl CommandError for AgentError {
    fn hint(&self) -> Option<String> {
        match self {
            AgentError::ByHand => Some(
                "`stampede fire URL --agents ssh:HOST,HOST --rate 1000 --for 60s` starts agents on these machines; \
                 with --connect an agent waits for orders"
                    .to_owned(),
            ),
            AgentError::Place(error) => Some(error.hint().to_owned()),
            AgentError::Meet(error) => error.hint().map(str::to_owned),
            AgentError::Kept(error) => error.hint(),
            AgentError::Orders(_) | AgentError::Worker(_) | AgentError::Nobody => None,
        }
    }
}

/// Does what it is told until the orders end.
pub fn run(args: AgentArgs) -> Result<Outcome, Failure> {
    if let Some(job) = &args.manifest {
        let job = Job::parse(job).map_err(AgentError::from)?;
        print!("{}", kubernetes::manifest_text(&job, &rules_of(&args)));
        return Ok(Outcome::Fine);
    }
    let kept = args.hlog_dir.as_deref().map(Kept::new).transpose().map_err(AgentError::from)?;
    if let Some(place) = &args.connect {
        return wait(place, &args);
    }
    let (input, output) = (std::io::stdin(), std::io::stdout());
    if input.is_terminal() {
        return Err(AgentError::ByHand.into());
    }
    let rules = Rules {
        token: std::env::var(PROOF_VARIABLE).unwrap_or_default(),
        allowed: args.allow,
        rate_max: args.max_rate,
        connections_max: args.max_connections,
        length_max: args.max_time,
        file_bytes_max: args.max_files,
        unix_sockets: args.allow_unix_sockets,
    };
    let clock: Arc<dyn Clock> = Arc::new(Monotonic);
    let witness = kept.map(|kept| Box::new(kept) as Box<dyn Witness>);
    match run_agent(input, output, rules, &clock, witness) {
        AgentEnd::Over => Ok(Outcome::Fine),
        AgentEnd::Broken(error) => Err(AgentError::Orders(error).into()),
    }
}

/// Waits for coordinators and does their orders, until Ctrl-C.
fn wait(place: &str, args: &AgentArgs) -> Result<Outcome, Failure> {
    let meeting = Meeting::parse(place).map_err(AgentError::from)?;
    let token = Token::read(args.token_file.as_deref()).map_err(AgentError::from)?;
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    let stop = Stop::from(interrupt::new_flag());
    let worker = Worker {
        program: std::env::current_exe().map_err(AgentError::Worker)?,
        arguments: [vec!["agent".to_owned()], rules_of(args)].concat(),
        without: &[TOKEN_VARIABLE, CONNECT_VARIABLE],
        variable: PROOF_VARIABLE,
    };
    let at = meeting.to_string();
    let mut tell = |what| match what {
        Served::Waiting => print_message(&format!("waiting for a coordinator at {at}")),
        Served::Away(error) => print_message(&format!("{error}; trying again until it works")),
        Served::Stranger => eprintln!(
            "a coordinator has gone again: it has agents enough, or another token; still waiting"
        ),
        Served::Working => eprintln!("a coordinator has come; doing its orders"),
        Served::Done => eprintln!("its orders are done"),
    };
    let patience = args.give_up_after.map(|most| Duration::from_nanos(most.0));
    let serving = Serving { worker: &worker, once: args.once, patience };
    let served = serve(&meeting, &token, serving, &stop, &mut tell).map_err(AgentError::Worker)?;
    match served || stop.is_asked() {
        true => Ok(Outcome::Fine),
        false => Err(AgentError::Nobody.into()),
    }
}

/// The same rules for the program that does the orders.
fn rules_of(args: &AgentArgs) -> Vec<String> {
    let allowed = args.allow.iter().flat_map(|address| ["--allow".to_owned(), address.to_string()]);
    let mut arguments: Vec<String> = allowed.collect();
    arguments.extend(args.allow_unix_sockets.then(|| "--allow-unix-sockets".to_owned()));
    arguments.extend(["--max-rate".to_owned(), args.max_rate.to_string()]);
    arguments.extend(["--max-connections".to_owned(), args.max_connections.to_string()]);
    arguments.extend(["--max-time".to_owned(), format!("{}ms", args.max_time.0 / 1_000_000)]);
    arguments.extend(["--max-files".to_owned(), args.max_files.to_string()]);
    let kept = args.hlog_dir.iter().map(|directory| directory.display().to_string());
    arguments.extend(kept.flat_map(|directory| ["--hlog-dir".to_owned(), directory]));
    arguments
}

/// Says to the program that does the orders what its coordinator will show.
const PROOF_VARIABLE: &str = "STAMPEDE_AGENT_PROOF";
