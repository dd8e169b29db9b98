//! Facts about stored runs: missing or damaged parts, and what distinguishes one run from another.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cause;
use crate::words;

/// Damage to a stored run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Damage {
    /// The last line of a file was cut off, and is left out.
    Torn {
        /// The file.
        path: PathBuf,
    },
    /// A file is missing that every trial with a load has.
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// A part that cannot be read was left out.
    LeftOut {
        /// Why it cannot be read.
        cause: Cause,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Torn { path } => {
                write!(f, "the last line of `{}` is incomplete and was ignored", path.display())
            }
            Damage::Gone { path } => {
                write!(f, "`{}` is missing, so its figures are missing too", path.display())
            }
            Damage::LeftOut { cause } => write!(f, "{cause}, so it is left out"),
        }
    }
}

/// The data that distinguishes a run from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// The run's id.
    pub id: String,
    /// When the run started, in RFC 3339.
    pub started_at: String,
    /// Number of rounds.
    pub rounds: u32,
    /// The seed of the order of trials.
    pub seed: u64,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { id, started_at, rounds, seed } = self;
        write!(f, "run {id} of {started_at}, {}, seed {seed}", words::number_of(*rounds, "round"))
    }
}

/// A property of a machine that changes figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MachinePart {
    /// Model of the CPU.
    Cpu,
    /// Number of CPUs.
    Cpus,
    /// Size of the memory.
    Memory,
    /// Version of the kernel.
    Kernel,
    /// Kind of virtual machine.
    VirtualMachine,
    /// Kind of container.
    Container,
}

impl MachinePart {
    /// All parts.
    pub const ALL: [MachinePart; 6] = [
        MachinePart::Cpu,
        MachinePart::Cpus,
        MachinePart::Memory,
        MachinePart::Kernel,
        MachinePart::VirtualMachine,
        MachinePart::Container,
    ];

    /// The part's name in tables.
    pub fn label(self) -> &'static str {
        match self {
            MachinePart::Cpu => "CPU",
            MachinePart::Cpus => "CPUs",
            MachinePart::Memory => "memory",
            MachinePart::Kernel => "kernel",
            MachinePart::VirtualMachine => "virtual machine",
            MachinePart::Container => "container",
        }
    }
}
