//! The reason why a server did not keep up with a constant target rate.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words;

/// The reason why a server did not keep up with a constant target rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "because", rename_all = "snake_case")]
pub enum Behind {
    /// More and more requests were in flight in the second half of the load. A request is in flight
    /// from its scheduled time until its end.
    Growing {
        /// Requests in flight in the middle of the load.
        in_flight_at_half: u64,
        /// Requests in flight at the end of its last whole second.
        in_flight_at_end: u64,
    },
    /// The server turned requests away, or they were given up.
    Lost {
        /// Number of such requests.
        requests: u64,
        /// Number of scheduled requests.
        planned: u64,
    },
    /// The client waited for the server and so stretched its schedule.
    Stretched {
        /// Real ÷ planned length of the schedule.
        factor: f64,
    },
}

impl fmt::Display for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Behind::Growing { in_flight_at_half, in_flight_at_end } => write!(
                f,
                "{} in flight at the half, {} at the end",
                words::quantity(*in_flight_at_half, "request"),
                words::count(*in_flight_at_end)
            ),
            Behind::Lost { requests, planned } => write!(
                f,
                "{} of {} requests were turned away or given up",
                words::count(*requests),
                words::count(*planned)
            ),
            Behind::Stretched { factor } => {
                write!(f, "its schedule took {factor:.2} × the planned length")
            }
        }
    }
}
