//! Where the measured service of a started project is reached.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};

use stampede_linux::proc::Proc;
use stampede_linux::reach::is_on_link;

use crate::container::Container;
use crate::error::ComposeError;
use crate::project::Target;

/// How often a connection fails until the address counts as one that is not reached.
const ATTEMPTS: u32 = 3;
/// The same for a published port, which an engine may open a moment later.
const ATTEMPTS_AT_PORT: u32 = 100;

/// Where requests go.
#[derive(Clone, Debug)]
pub struct Entrance {
    /// One address for each container of the service; empty: the service has ended.
    pub addresses: Vec<SocketAddr>,
    /// Whether it is a port that the engine publishes.
    pub is_published: bool,
}

impl Entrance {
    /// The way to the service `target` of a stack. `published`: the port that the engine publishes.
    ///
    /// # Errors
    /// The service has no container, or one whose address is not in a network of this machine.
    pub fn find(
        target: &Target,
        containers: &[Container],
        published: Option<SocketAddrV4>,
    ) -> Result<Entrance, ComposeError> {
        let own: Vec<&Container> =
            containers.iter().filter(|one| one.service == target.service).collect();
        let Some(first) = own.first() else {
            let state = "has no container".to_owned();
            return Err(ComposeError::Ended {
                service: target.service.clone(),
                state,
                log: String::new(),
            });
        };
        if let Some(place) = published {
            return Ok(Entrance { addresses: vec![place.into()], is_published: true });
        }
        // `network_mode: service:x` is the network of another container.
        let shared = first.network_mode.strip_prefix("container:");
        let owners = match shared {
            Some(id) => containers.iter().filter(|one| one.id == id).collect(),
            None => own,
        };
        let addresses = owners.iter().filter_map(|one| one.addresses.first());
        if let Some(far) = addresses.clone().find(|address| !is_on_link(**address)) {
            let (service, address) = (target.service.clone(), far.to_string());
            return Err(ComposeError::FarAddress { service, address });
        }
        let addresses: Vec<_> = addresses.map(|address| (*address, target.port).into()).collect();
        match addresses.is_empty() && containers.iter().all(Container::runs) {
            true => Err(ComposeError::NoAddress { service: target.service.clone() }),
            // A container that has ended has no address; its log says why.
            false => Ok(Entrance { addresses, is_published: false }),
        }
    }
}

/// Connections that failed.
#[derive(Debug)]
pub struct FailedConnects {
    failed: u32,
    attempts: u32,
}

impl FailedConnects {
    /// Those to an entrance.
    pub fn to(entrance: &Entrance) -> FailedConnects {
        let attempts = if entrance.is_published { ATTEMPTS_AT_PORT } else { ATTEMPTS };
        FailedConnects { failed: 0, attempts }
    }

    /// Adds one. Whether it is clear now that the entrance is not reached: a service that does not listen yet
    /// refuses, and one that listens does not. `listens`: whether it listens inside its container.
    pub fn show_unreached(&mut self, error: &io::Error, listens: impl FnOnce() -> bool) -> bool {
        let waits = error.kind() == io::ErrorKind::ConnectionRefused && !listens();
        self.failed = if waits { 0 } else { self.failed + 1 };
        self.failed >= self.attempts
    }
}

/// Whether a service listens for others inside its container.
pub fn listens_inside(target: &Target, containers: &[Container]) -> bool {
    let own = containers.iter().filter(|one| one.service == target.service);
    own.filter_map(|one| one.main)
        .any(|main| Proc::default().listens_for_others(main.pid, target.port))
}

/// Whether `ask` says yes of several requests at a time, twice: so that each worker of a server is asked.
pub fn all_at_once(ask: impl Fn() -> bool + Sync) -> bool {
    let ask = &ask;
    let burst = || {
        std::thread::scope(|scope| {
            let asked: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(ask)).collect();
            // All of them are waited for.
            let answers: Vec<bool> =
                asked.into_iter().map(|one| one.join().unwrap_or(true)).collect();
            answers.into_iter().all(|is_right| is_right)
        })
    };
    burst() && burst()
}

/// More than a server on this machine usually has workers.
const AT_ONCE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_not_reached_if_something_listens_there_that_is_not_seen() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let mut failed = FailedConnects { failed: 0, attempts: ATTEMPTS };
        assert!((0..9).all(|_| !failed.show_unreached(&refused, || false)), "it may still start");
        let listening: Vec<bool> =
            (0..3).map(|_| failed.show_unreached(&refused, || true)).collect();
        assert_eq!(listening, [false, false, true]);
        for kind in [
            io::ErrorKind::TimedOut,
            io::ErrorKind::HostUnreachable,
            io::ErrorKind::PermissionDenied,
        ] {
            let mut failed = FailedConnects { failed: 0, attempts: ATTEMPTS };
            let shown: Vec<bool> =
                (0..3).map(|_| failed.show_unreached(&kind.into(), || false)).collect();
            assert_eq!(shown, [false, false, true], "{kind}");
        }
        // It had begun to listen between the attempt and the look.
        let mut failed = FailedConnects { failed: 0, attempts: ATTEMPTS };
        assert!(!failed.show_unreached(&refused, || true));
        assert!(!failed.show_unreached(&refused, || false));
        assert!(
            !failed.show_unreached(&refused, || true) && !failed.show_unreached(&refused, || true)
        );
    }

    #[test]
    fn several_requests_at_a_time_must_all_be_right_twice() {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let all_but = |wrong: usize| {
            asked.store(0, std::sync::atomic::Ordering::SeqCst);
            all_at_once(|| asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) != wrong)
        };
        assert!(
            all_but(2 * AT_ONCE) && !all_but(0) && !all_but(AT_ONCE) && !all_but(2 * AT_ONCE - 1)
        );
    }
}
