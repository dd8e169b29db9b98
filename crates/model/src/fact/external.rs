//! Facts about an external runtime, which was running before stampede started.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::ChosenAddress;

/// Something that was noticed about an external runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum External {
    /// The runtime's host name has several addresses.
    Addresses(ChosenAddress),
    /// Memory that processes share is divided among them, and kernel memory is not counted.
    MemoryShared {},
    /// This user may not read the runtime's memory.
    MemoryUnreadable {},
    /// The watched processes do not themselves listen on the port.
    OtherListener {
        /// What is watched, such as `unit shop.service`.
        watch: String,
        /// The port of the runtime's URL.
        port: u16,
    },
}

impl fmt::Display for External {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            External::Addresses(taken) => taken.fmt(f),
            External::MemoryShared {} => f.write_str(
                "its memory is the PSS of its processes (shared pages divided), without kernel memory: do not compare it \
                 with the others",
            ),
            External::MemoryUnreadable {} => {
                f.write_str("this user may not read its memory: no memory figures")
            }
            External::OtherListener { watch, port } => write!(
                f,
                "{watch} does not itself listen on port {port}: its CPU and memory may be those of something else"
            ),
        }
    }
}
