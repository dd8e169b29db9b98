//! The addresses of a host name.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words;

/// What a name with several addresses stands for, and which of them are used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChosenAddress {
    /// The host name.
    pub name: String,
    /// All its addresses.
    pub addresses: Vec<String>,
    /// The addresses that accepted no connection, each with its port.
    pub silent: Vec<String>,
    /// The address that requests go to, with its port, or the first of several; null if no address
    /// accepts a connection.
    pub taken: Option<String>,
    /// The further addresses that connections go to, in turn with `taken`.
    #[serde(default)]
    pub also: Vec<String>,
}

impl fmt::Display for ChosenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChosenAddress { name, addresses, silent, taken, also } = self;
        write!(f, "`{name}` is {}; ", words::list(addresses))?;
        let Some(taken) = taken else {
            return write!(f, "nothing accepts connections at {}", words::list(silent));
        };
        if !silent.is_empty() {
            write!(f, "nothing accepts connections at {}, so ", words::list(silent))?;
        }
        if also.is_empty() {
            return write!(f, "requests go to {taken}");
        }
        let all: Vec<String> = std::iter::once(taken).chain(also).cloned().collect();
        write!(f, "connections go to {} in turn", words::list(&all))
    }
}
