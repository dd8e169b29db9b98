//! What sends the loads: threads of this process, or agents.

use std::net::IpAddr;
use std::path::PathBuf;

use stampede_fleet::launch::Launch;
use stampede_fleet::{Fleet, reached_by};
use stampede_linux::interrupt;
use stampede_load::{Generator, InProcess, LoadError};
use stampede_model::load::Address;
use stampede_model::stop::Stop;
use stampede_plan::model::LoadFrom;
use stampede_plan::parts::StackPlan;
use stampede_stack::Placement;

/// Starts agents, if there are any, so that one that does not answer is found before a stack is
/// started.
///
/// # Errors
/// An agent does not answer, or refuses; or agents on other machines would not reach the stacks.
pub fn prepare(
    generator: &dyn Generator,
    from: &LoadFrom,
    stack: &StackPlan,
) -> Result<(), LoadError> {
    let host = Placement { listen: stack.listen, ..Placement::default() }.host();
    let ours = stack.runtimes.iter().any(|runtime| !runtime.is_external());
    let address = Address::Tcp((host, 0).into());
    reached_by(&from.agents, [&address].into_iter().filter(|_| ours))?;
    generator.prepare(&Stop::from(interrupt::new_flag()))
}

/// The generator of a plan. Agents that are started may send to the addresses in `allowed`, besides
/// private ones; those that wait for orders have their own rules. No agent is started yet.
pub fn generator(from: &LoadFrom, allowed: impl IntoIterator<Item = IpAddr>) -> Box<dyn Generator> {
    if from.agents.is_empty() {
        return Box::new(InProcess);
    }
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("stampede"));
    let flags = |address: IpAddr| ["--allow".to_owned(), address.to_string()];
    let arguments = allowed.into_iter().flat_map(flags).collect();
    let launch = Launch { program, remote: from.program.clone(), arguments };
    Box::new(Fleet::new(from.agents.clone(), launch, from.token_file.clone()))
}
