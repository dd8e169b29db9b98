//! The command `stampede agent`: sends load for a stampede elsewhere, which speaks to it on standard
//! input and output.

use std::io::IsTerminal as _;
use std::net::IpAddr;
use std::sync::Arc;

use clap::Args;
use stampede_fleet::agent::{AgentEnd, Rules, run as run_agent};
use stampede_fleet::clock::{Clock, Monotonic};
use stampede_model::quantity::parse_length;
use stampede_model::time::Nanos;

use super::fail::CommandError;
use super::{Failure, Outcome};

/// Arguments of `agent`.
#[derive(Args, Debug)]
pub struct AgentArgs {
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
}

/// Why an agent cannot work.
#[derive(Debug, thiserror::Error)]
enum AgentError {
    #[error("an agent is started by another stampede, not by hand")]
    ByHand,
    #[error("the coordinator's orders cannot be read")]
    Orders(#[source] stampede_fleet::frame::FrameError),
}

impl CommandError for AgentError {
    fn hint(&self) -> Option<String> {
        match self {
            AgentError::ByHand => Some(
                "`stampede fire URL --agents ssh:HOST,HOST --rate 1000 --for 60s` starts agents on these machines"
                    .to_owned(),
            ),
            AgentError::Orders(_) => None,
        }
    }
}

/// Does what it is told until the orders end.
pub fn run(args: AgentArgs) -> Result<Outcome, Failure> {
    let (input, output) = (std::io::stdin(), std::io::stdout());
    if input.is_terminal() {
        return Err(AgentError::ByHand.into());
    }
    let rules = Rules {
        allowed: args.allow,
        rate_max: args.max_rate,
        connections_max: args.max_connections,
        length_max: args.max_time,
        unix_sockets: args.allow_unix_sockets,
        ..Rules::default()
    };
    let clock: Arc<dyn Clock> = Arc::new(Monotonic);
    match run_agent(input, output, rules, &clock) {
        AgentEnd::Over => Ok(Outcome::Fine),
        AgentEnd::Broken(error) => Err(AgentError::Orders(error).into()),
    }
}
