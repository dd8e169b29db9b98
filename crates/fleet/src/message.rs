//! What a coordinator and its agents say to each other. The words do not depend on what carries them.

use serde::{Deserialize, Serialize};
use stampede_load::report::RequestRecord;
use stampede_load::{Load, LoadResult};
use stampede_model::agents::AgentMachine;
use stampede_model::counts::PackedSecond;
use stampede_model::time::Nanos;

/// Version of these words. Both sides need the same.
pub const VERSION: u32 = 1;

/// What the coordinator says to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToAgent {
    /// The first word.
    Hello {
        /// The coordinator's [`VERSION`].
        version: u32,
        /// Shows that the sender may give orders; empty where the connection itself shows it.
        token: String,
    },
    /// Asks for the agent's clock. Also shows that the coordinator is there.
    Ping {
        /// Comes back with the answer.
        number: u32,
    },
    /// Says nothing but that the coordinator is there.
    Alive,
    /// Prepares a load: checks it, opens its connections in the warm-up, and waits for the start.
    Prepare {
        /// The load. Its files are named by their hashes.
        load: Box<Load>,
        /// The hashes of these files.
        files: Vec<String>,
    },
    /// A file of a load follows, in frames of bytes.
    File {
        /// SHA-256 of its content, in hexadecimal.
        hash: String,
        /// Its length.
        bytes: u64,
    },
    /// Starts the prepared load.
    StartAt {
        /// When, on the agent's clock.
        #[serde(rename = "at_ns")]
        at: Nanos,
    },
    /// Ends the load: no further request starts, and the result is sent.
    Stop,
}

/// What an agent says to the coordinator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromAgent {
    /// The answer to `Hello`.
    Hello {
        /// The agent's [`VERSION`].
        version: u32,
        /// Its version of stampede.
        stampede: String,
        /// The machine's name.
        host: String,
    },
    /// The answer to `Ping`.
    Pong {
        /// Number of the ping.
        number: u32,
        /// When the ping came, on the agent's clock.
        #[serde(rename = "received_ns")]
        received: Nanos,
        /// When this answer was sent.
        #[serde(rename = "sent_ns")]
        sent: Nanos,
    },
    /// Asks for files of the load that it does not have.
    Wants {
        /// Their hashes.
        hashes: Vec<String>,
    },
    /// It does not do what it was told.
    Refused {
        /// Why, in words.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
    /// What its load does.
    Load(LoadEvent),
}

/// What the load of an agent does, in this order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadEvent {
    /// A second of the warm-up is over.
    WarmUpSecond(Box<PackedSecond>),
    /// The load waits for its start. Nothing is in flight.
    Ready,
    /// The load began.
    Began {
        /// When, on the agent's clock.
        #[serde(rename = "at_ns")]
        at: Nanos,
    },
    /// A second of the load is over.
    Second(Box<PackedSecond>),
    /// Requests have ended.
    Requests(EndedRequests),
    /// What the machine did during the load. Its end follows.
    Machine(AgentMachine),
    /// The load is over.
    Ended(Box<LoadResult>),
    /// The load could not be sent.
    Failed {
        /// Why, in words.
        message: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

/// Requests that ended, with the names that their tags need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndedRequests {
    /// Names of tags that the agent has not said yet, in the order of their numbers: an agent that
    /// reads a file numbers them as it meets them.
    pub new_tags: Vec<String>,
    /// The requests. Their tags are the agent's numbers, and their times begin at its start.
    pub requests: Vec<RequestRecord>,
}
