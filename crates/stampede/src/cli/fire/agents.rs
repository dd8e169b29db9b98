//! The agents that send the load of `fire`, if it is not sent from here.

use stampede_fleet::launch::{Agents, AgentsError, Launch};
use stampede_fleet::{Fleet, FleetError};
use stampede_load::spec::Load;
use stampede_load::{Generator, InProcess};
use stampede_model::agents::AgentRecord;
use stampede_model::load::Address;
use stampede_model::words;

use super::error::FireError;
use crate::cli::Failure;
use crate::cli::args_fire::{AgentFlags, FireArgs};
use crate::cli::fail::CommandError;

/// Reads the flags. `None`: there are no agents.
pub fn read(flags: &AgentFlags) -> Result<Option<Agents>, AgentsError> {
    let agents = Agents::parse(&flags.agents)?;
    Ok((!agents.places().is_empty()).then_some(agents))
}

/// Refuses a load that agents cannot send as it is meant.
pub fn fit(agents: &Agents, load: &Load) -> Result<(), FireError> {
    let is_own = |address: &Address| match address {
        Address::Tcp(address) => address.ip().is_loopback(),
        Address::Unix(_) => true,
    };
    match load.target.iter().find(|address| is_own(address)) {
        Some(address) if agents.are_elsewhere() => {
            Err(FireError::AgentsToLoopback { address: address.to_string() })
        }
        Some(_) | None => Ok(()),
    }
}

/// Starts the agents, or returns the generator of this process.
pub fn generator(
    args: &FireArgs,
    agents: Option<&Agents>,
    load: &Load,
) -> Result<Box<dyn Generator>, Failure> {
    let Some(agents) = agents else { return Ok(Box::new(InProcess)) };
    let program = std::env::current_exe().map_err(FleetError::Program)?;
    let mut arguments = Vec::new();
    if args.i_may_load_this_host {
        for address in load.target.iter() {
            if let Address::Tcp(address) = address {
                arguments.extend(["--allow".to_owned(), address.ip().to_string()]);
            }
        }
    }
    let launch = Launch { program, remote: args.agents.agent_program.clone(), arguments };
    Ok(Box::new(Fleet::start(agents, &launch, "")?))
}

impl CommandError for FleetError {
    fn hint(&self) -> Option<String> {
        FleetError::hint(self)
    }
}

impl CommandError for AgentsError {
    fn hint(&self) -> Option<String> {
        Some(AgentsError::hint(self).to_owned())
    }
}

/// One line for an agent.
pub fn line(agent: &AgentRecord) -> String {
    let mut parts = vec![format!(
        "{}: {} planned, {} ok",
        agent.name,
        words::count(agent.planned),
        words::count(agent.ok)
    )];
    if agent.failed > 0 {
        parts.push(format!("{} failed", words::count(agent.failed)));
    }
    if agent.dropped > 0 {
        parts.push(format!("{} dropped", words::count(agent.dropped)));
    }
    if let Some(median) = agent.service_time_p50 {
        parts.push(format!("service time p50 {}", words::time(median.median as f64)));
    }
    if agent.loss.is_none() {
        parts.push(format!("{} busy", words::percent(agent.busy_share * 100.0)));
    }
    if let Some(start) = agent.start {
        parts.push(format!("started within {}", words::time(start.error as f64)));
    }
    if agent.loss.is_some() {
        parts.push("LOST".to_owned());
    }
    parts.join(", ")
}
