//! The agents that send the load of `fire`, if it is not sent from here.

use stampede_fleet::reached_by;
use stampede_load::spec::Load;
use stampede_load::{Generator, LoadError};
use stampede_model::agent_places::{Agents, AgentsError};
use stampede_model::agents::AgentRecord;
use stampede_model::load::{Address, Model};
use stampede_plan::model::LoadFrom;
use stampede_results::report::evidence;
use stampede_results::summary::agents::AgentFigures;

use super::error::FireError;
use crate::cli::Failure;
use crate::cli::args_fire::{AgentFlags, FireArgs};
use crate::cli::fail::CommandError;
use stampede_trial::senders;

/// Reads the flags. `None`: there are no agents.
pub fn read(flags: &AgentFlags) -> Result<Option<Agents>, AgentsError> {
    let agents = Agents::parse(&flags.agents)?;
    Ok((!agents.is_empty()).then_some(agents))
}

/// Refuses agents that would send to themselves, or have nothing to do.
pub fn fit(agents: &Agents, load: &Load) -> Result<(), Failure> {
    reached_by(agents, load.target.iter()).map_err(LoadError::from)?;
    let connections = match load.model {
        Model::Open { max_in_flight, .. } => max_in_flight,
        Model::Closed { concurrency, .. } => concurrency,
    };
    let agents = agents.at_least();
    match agents > connections as usize {
        true => Err(FireError::TooManyAgents { agents, connections }.into()),
        false => Ok(()),
    }
}

/// The generator of the flags. Agents may send where the user may.
pub fn generator(args: &FireArgs, agents: Option<&Agents>, load: &Load) -> Box<dyn Generator> {
    let program = args.agents.agent_program.clone();
    let token_file = args.agents.token_file.clone();
    let from = LoadFrom { agents: agents.cloned().unwrap_or_default(), program, token_file };
    let addresses = load.target.iter().filter_map(|address| match address {
        Address::Tcp(address) => Some(address.ip()),
        Address::Unix(_) => None,
    });
    senders::generator(&from, addresses.filter(|_| args.i_may_load_this_host))
}

impl CommandError for AgentsError {
    fn hint(&self) -> Option<String> {
        Some(AgentsError::hint(self).to_owned())
    }
}

/// Two lines for an agent. A clock that runs wrong is no fault of the load, but says something about
/// its machine.
pub fn lines(agent: &AgentRecord) -> [String; 2] {
    let [counts, figures] = evidence::agent(&AgentFigures::from(agent));
    let drift = agent.start.and_then(|start| start.drift_ppm);
    match drift.filter(|ppm| ppm.abs() >= DRIFT_SHOWN_PPM) {
        Some(ppm) => [counts, format!("  {figures}, clock {ppm:+.0} ppm")],
        None => [counts, format!("  {figures}")],
    }
}

/// Clocks of two machines are usually less than 50 millionths apart.
const DRIFT_SHOWN_PPM: f64 = 50.0;

/// Two agents for tests, one of which was lost.
#[cfg(test)]
pub fn made() -> Vec<AgentRecord> {
    use stampede_model::agents::{AgentStart, Loss, Median};

    let start = AgentStart {
        offset: 7_200_000_000_000,
        error: 41_000,
        round_trip: 80_000,
        drift_ppm: Some(3.2),
    };
    let whole = AgentRecord {
        name: "load1".to_owned(),
        host: "load1.example.net".to_owned(),
        expected: Some(1_500),
        planned: 1_500,
        ok: 1_490,
        failed: 10,
        dropped: 0,
        service_time_p50: Some(Median { median: 1_050_000, low: 1_040_000, high: 1_060_000 }),
        service_time_p95: Some(2_050_000),
        service_time_p99: Some(3_050_000),
        comparable: true,
        busy_share: 0.123,
        start: Some(start),
        machine: None,
        loss: None,
        miscounted: false,
    };
    let lost = AgentRecord {
        name: "me@10.0.0.5".to_owned(),
        service_time_p50: None,
        service_time_p95: None,
        service_time_p99: None,
        dropped: 3,
        failed: 0,
        loss: Some(Loss::Silent { for_ms: 3_012 }),
        ..whole.clone()
    };
    vec![whole, lost]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_runs_wrong_is_said() {
        let mut agent = made().remove(0);
        let mut second_line = |drift_ppm| {
            let start = agent.start.as_mut().expect("it started");
            start.drift_ppm = drift_ppm;
            lines(&agent)[1].clone()
        };
        let fine = second_line(Some(-49.9));
        assert_eq!((&second_line(None), &second_line(Some(3.2))), (&fine, &fine));
        assert_eq!(second_line(Some(-200.4)), format!("{fine}, clock -200 ppm"));
        assert_eq!(second_line(Some(50.0)), format!("{fine}, clock +50 ppm"));
    }
}
