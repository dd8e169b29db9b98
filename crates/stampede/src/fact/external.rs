//! What is known of a runtime that already runs.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::addresses::Taken;

/// Something about a runtime that already runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum External {
    /// Its host has several addresses.
    Addresses(Taken),
    /// Memory that processes share counts in part for each, and the kernel's part is not counted.
    MemoryShared {},
    /// This user may not read its memory.
    MemoryUnreadable {},
    /// What is watched does not itself listen on the port.
    OtherListener {
        /// What is watched: `unit shop.service`.
        watch: String,
        /// The port.
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
