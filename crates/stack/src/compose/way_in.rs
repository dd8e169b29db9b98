//! How requests reach the measured service: at its container's address, or at a port that the engine publishes.

use std::collections::BTreeSet;
use std::net::SocketAddrV4;
use std::sync::{Arc, Mutex, PoisonError};

use stampede_compose::engine::WayIn;
use stampede_compose::error::ComposeError;

use crate::error::RuntimeError;
use crate::placement::Placement;
use crate::process::port;

/// The rows of a run whose containers were not reached at their own addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct UnreachedRows(Arc<Mutex<BTreeSet<String>>>);

impl UnreachedRows {
    /// The way to a row, where the engine has this one.
    pub fn way_to(&self, row: &str, way_in: WayIn) -> WayIn {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(row) {
            true => WayIn::PublishedPort,
            false => way_in,
        }
    }

    /// From here on requests to this row go to a published port.
    pub fn add(&self, row: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(row.to_owned());
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
    fn a_row_that_was_not_reached_keeps_its_other_way() {
        let rows = UnreachedRows::default();
        rows.clone().add("shop");
        assert_eq!(rows.way_to("shop", WayIn::ContainerAddress), WayIn::PublishedPort);
        assert_eq!(rows.way_to("other", WayIn::ContainerAddress), WayIn::ContainerAddress);
    }
}
