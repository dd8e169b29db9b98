//! The reasons why a trial counts or does not, and the notes about it.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::{Fact, Generator, Kind, Machine, Server, Traffic};

/// A reason of a verdict, or a note beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reason {
    /// About the load generator: its own lag, its limits and its counts.
    Generator(Generator),
    /// About the machine: clock, CPUs, memory, ports.
    Machine(Machine),
    /// About the measured stack, and the app in it.
    Server(Server),
    /// About the requests, and how they were answered.
    Traffic(Traffic),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Generator(reason) => reason.fmt(f),
            Reason::Machine(reason) => reason.fmt(f),
            Reason::Server(reason) => reason.fmt(f),
            Reason::Traffic(reason) => reason.fmt(f),
        }
    }
}

impl Kind for Reason {
    const NAME: &'static str = "Reason";
    const ABOUT: &'static str = "Why a result counts or does not, or what is worth knowing of it.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![
            Generator::json_schema(generator),
            Machine::json_schema(generator),
            Server::json_schema(generator),
            Traffic::json_schema(generator),
        ]
    }
}

impl From<Generator> for Fact<Reason> {
    fn from(reason: Generator) -> Fact<Reason> {
        Fact::Known(Reason::Generator(reason))
    }
}

impl From<Machine> for Fact<Reason> {
    fn from(reason: Machine) -> Fact<Reason> {
        Fact::Known(Reason::Machine(reason))
    }
}

impl From<Server> for Fact<Reason> {
    fn from(reason: Server) -> Fact<Reason> {
        Fact::Known(Reason::Server(reason))
    }
}

impl From<Traffic> for Fact<Reason> {
    fn from(reason: Traffic) -> Fact<Reason> {
        Fact::Known(Reason::Traffic(reason))
    }
}
