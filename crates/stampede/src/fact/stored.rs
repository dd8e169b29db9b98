//! What is known of stored runs: what they lack, and what tells one from another.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Cause;
use crate::summary::words;

/// What a stored run lacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Damage {
    /// The last line of a file was cut off, and is left out.
    Torn {
        /// The file.
        path: PathBuf,
    },
    /// A file that a trial with a load has is not there.
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// What cannot be read is left out.
    LeftOut {
        /// Why it cannot be read.
        cause: Cause,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Torn { path } => {
                write!(f, "the last line of `{}` is torn and left out", path.display())
            }
            Damage::Gone { path } => {
                write!(f, "`{}` is not there, so its figures are not", path.display())
            }
            Damage::LeftOut { cause } => write!(f, "{cause}: it is left out"),
        }
    }
}

/// What tells one run from others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Its id.
    pub id: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// How many rounds it has.
    pub rounds: u32,
    /// What it was shuffled by.
    pub seed: u64,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { id, started_at, rounds, seed } = self;
        write!(f, "run {id} of {started_at}, {}, seed {seed}", words::number_of(*rounds, "round"))
    }
}

/// What two machines may differ in that changes figures.
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
    /// All.
    pub const ALL: [MachinePart; 6] = [
        MachinePart::Cpu,
        MachinePart::Cpus,
        MachinePart::Memory,
        MachinePart::Kernel,
        MachinePart::VirtualMachine,
        MachinePart::Container,
    ];

    /// Its name in tables.
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
