//! The addresses of a host name.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a name with several addresses stands for, and which address is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChosenAddress {
    /// The host name.
    pub name: String,
    /// All its addresses.
    pub addresses: Vec<String>,
    /// The addresses that accepted no connection, each with its port.
    pub silent: Vec<String>,
    /// The address that requests go to, with its port; null if no address accepts a connection.
    pub taken: Option<String>,
}

impl fmt::Display for ChosenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ChosenAddress { name, addresses, silent, taken } = self;
        write!(f, "`{name}` is {}; ", listed(addresses))?;
        match taken {
            None => write!(f, "nothing accepts connections at {}", listed(silent)),
            Some(taken) if silent.is_empty() => write!(f, "requests go to {taken}"),
            Some(taken) => write!(
                f,
                "nothing accepts connections at {}, so requests go to {taken}",
                listed(silent)
            ),
        }
    }
}

/// Joins a list for a sentence: `a`, `a and b`, `a, b and c`.
fn listed(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
