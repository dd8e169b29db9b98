//! How requests reach the measured service: at its container's address, or at a port that the engine publishes.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::sync::{Arc, Mutex, PoisonError};

use stampede_compose::engine::WayIn;
use stampede_compose::error::ComposeError;

use crate::error::RuntimeError;
use crate::placement::Placement;
use crate::process::port;

/// How the rows of a run were reached by their earlier starts: at their containers' own addresses, or not.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownWays(Arc<Mutex<BTreeMap<String, WayIn>>>);

impl KnownWays {
    /// The way to a row; `None`: it has not been reached yet.
    pub fn to(&self, row: &str) -> Option<WayIn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(row).copied()
    }

    /// From here on requests to this row go this way, so that its trials are alike.
    pub fn set(&self, row: &str, way_in: WayIn) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(row.to_owned(), way_in);
    }
}

/// The service and the address that were not reached; `None`: it is another error.
pub(super) fn unreached(error: &RuntimeError) -> Option<(&str, &str)> {
    let RuntimeError::Containers { problem, .. } = error else { return None };
    match problem.as_ref() {
        ComposeError::FarAddress { service, address }
        | ComposeError::Unreached { service, address } => Some((service, address)),
        _ => None,
    }
}

/// Where the port is published. `None`: nowhere, since this machine reaches the container itself; others
/// do not.
pub(super) fn published(
    way_in: WayIn,
    placement: &Placement,
) -> Result<Option<SocketAddrV4>, RuntimeError> {
    if way_in == WayIn::ContainerAddress && placement.listen.is_none() {
        return Ok(None);
    }
    let host = placement.host();
    Ok(Some(SocketAddrV4::new(host, port::free_port(host, placement.port)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_keeps_the_way_by_which_it_was_reached() {
        let ways = KnownWays::default();
        assert_eq!(ways.to("shop"), None);
        ways.clone().set("shop", WayIn::PublishedPort);
        assert_eq!((ways.to("shop"), ways.to("other")), (Some(WayIn::PublishedPort), None));
    }
}
