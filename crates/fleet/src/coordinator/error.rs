//! Why agents could not send a load.

use stampede_model::agents::AGENT_HERE;

use crate::message::VERSION;

/// Why a load could not be sent by its agents. Nothing of it was sent then, except for warm-ups.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The agent does not answer.
    #[error("agent {agent} does not answer")]
    Absent {
        /// Name of the agent.
        agent: String,
    },
    /// The connection to the agent has ended.
    #[error("the connection to agent {agent} ended{}", after_colon(said))]
    Closed {
        /// Name of the agent.
        agent: String,
        /// What the program that carried the connection said last; empty: nothing.
        said: String,
    },
    /// The agent does not do what it is told.
    #[error("agent {agent}: {message}")]
    Refused {
        /// Name of the agent.
        agent: String,
        /// What it said.
        message: String,
        /// What to do, as it said.
        hint: Option<String>,
    },
    /// The agent is another version of stampede.
    #[error(
        "agent {agent} speaks version {version} of the agents' protocol, this stampede {VERSION}"
    )]
    Version {
        /// Name of the agent.
        agent: String,
        /// Version of its words.
        version: u32,
    },
    /// The agent says something that no agent says at that point.
    #[error("agent {agent} does not follow the agents' protocol")]
    Disorder {
        /// Name of the agent.
        agent: String,
    },
    /// It was asked to stop before the load began.
    #[error("interrupted before the load began")]
    Stopped,
}

fn after_colon(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

impl AgentError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            AgentError::Absent { agent } | AgentError::Closed { agent, .. }
                if agent.starts_with(AGENT_HERE) =>
            {
                None
            }
            AgentError::Absent { agent } => Some(format!(
                "check that {agent} is up. If stampede starts it by ssh, `ssh {agent} true` has to work"
            )),
            AgentError::Closed { agent, .. } => Some(format!(
                "if stampede starts it by ssh, `ssh {agent} true` has to work without a password prompt; a stampede \
                 that is already there is named with --agent-program"
            )),
            AgentError::Refused { hint, .. } => hint.clone(),
            AgentError::Version { .. } => {
                Some("use the same version of stampede on all machines".to_owned())
            }
            AgentError::Disorder { .. } | AgentError::Stopped => None,
        }
    }
}
