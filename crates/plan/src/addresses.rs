//! Resolves a host name and finds out which of its addresses accepts connections. A name such as
//! `localhost` often means both `::1` and `127.0.0.1`, and many servers listen on only one of them.
//!
//! A load uses one address. Each address is tried once before the first request, in the system's
//! order, and the first that accepts a connection is used. Trying all addresses again for each
//! request would also measure the addresses that do not answer.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::time::{Duration, Instant};

use stampede_model::address::ChosenAddress;
use stampede_model::load::Address;

/// Returns all addresses of a host, each once, in the system's order.
///
/// # Errors
/// The error of the system's name lookup.
pub fn of(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found = (host, port).to_socket_addrs();
    // A trailing dot marks an absolute name. `/etc/hosts` for one does not know names with the dot.
    let found = match (found, host.strip_suffix('.')) {
        (Err(_), Some(bare)) if !bare.is_empty() => (bare, port).to_socket_addrs()?,
        (found, _) => found?,
    };
    let mut all = Vec::new();
    for address in found {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    Ok(all)
}

/// Formats an address for people: `127.0.0.1:8080`, or the path of a Unix socket.
pub fn shown(address: &Address) -> String {
    match address {
        Address::Tcp(address) => address.to_string(),
        Address::Unix(path) => path.display().to_string(),
    }
}

/// The address that a load uses, out of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressChoice {
    /// The first address that accepted a connection. If none did: the first that did not refuse
    /// one, or else the first of all.
    pub address: SocketAddr,
    /// The addresses that accepted no connection, in the order in which they were tried.
    pub silent: Vec<SocketAddr>,
}

impl AddressChoice {
    /// Tries one address after the other until one accepts a connection. Waits at most one second
    /// for each address and five seconds for all.
    ///
    /// Returns `None` if there are no addresses.
    pub fn of(addresses: &[SocketAddr]) -> Option<AddressChoice> {
        let began = Instant::now();
        let mut silent = Vec::new();
        let mut hung = None;
        for &address in addresses {
            let within = EACH_WITHIN.min(ALL_WITHIN.saturating_sub(began.elapsed()));
            if within.is_zero() {
                break;
            }
            match TcpStream::connect_timeout(&address, within) {
                Ok(_) => return Some(AddressChoice { address, silent }),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(_) => hung = hung.or(Some(address)),
            }
            silent.push(address);
        }
        let address = hung.or_else(|| addresses.first().copied())?;
        Some(AddressChoice { address, silent })
    }

    /// Whether the chosen address accepted a connection.
    pub fn is_there(&self) -> bool {
        !self.silent.contains(&self.address)
    }

    /// Returns the fact for the report: what the name stands for, and which address is used.
    pub fn taken(&self, name: &str, all: &[SocketAddr]) -> ChosenAddress {
        ChosenAddress {
            name: name.to_owned(),
            addresses: all.iter().map(|one| one.ip().to_string()).collect(),
            silent: self.silent.iter().map(ToString::to_string).collect(),
            taken: self.is_there().then(|| self.address.to_string()),
        }
    }
}

/// Looks for a server on the same port of this machine's other loopback address. A server often
/// binds only one of `127.0.0.1` and `::1`, and `asked` may be the other one.
///
/// Returns `None` if nothing listens there, or if `asked` is an address of another machine.
pub fn elsewhere(asked: SocketAddr) -> Option<SocketAddr> {
    if !asked.ip().is_unspecified() && !is_here(asked.ip()) {
        return None;
    }
    let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let others = loopback.into_iter().filter(|ip| *ip != asked.ip());
    let mut others = others.map(|ip| SocketAddr::new(ip, asked.port()));
    others.find(|other| TcpStream::connect_timeout(other, EACH_WITHIN).is_ok())
}

/// Whether the address belongs to this machine. A datagram socket can be bound to such addresses
/// only. Nothing is sent.
pub fn is_here(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// The longest wait for one address. Linux sends the SYN again after a second (tcp(7)), so a longer
/// wait finds little more.
const EACH_WITHIN: Duration = Duration::from_secs(1);
/// The longest wait for all addresses of a name. Dead addresses must not delay a load for long.
const ALL_WITHIN: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// Returns a port on which a listener exists at 127.0.0.1 and none at 127.0.0.2.
    fn one_of_two() -> (TcpListener, [SocketAddr; 2]) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = listener.local_addr().expect("its address");
        (listener, [SocketAddr::from(([127, 0, 0, 2], there.port())), there])
    }

    #[test]
    fn the_first_address_that_accepts_is_chosen() {
        let (_listener, [absent, there]) = one_of_two();
        let choice = AddressChoice::of(&[absent, there]).expect("a choice");
        assert_eq!(choice, AddressChoice { address: there, silent: vec![absent] });
        let choice = AddressChoice::of(&[there, absent]).expect("a choice");
        assert_eq!(choice, AddressChoice { address: there, silent: Vec::new() });
        let choice = AddressChoice::of(&[absent]).expect("a choice");
        assert_eq!((choice.address, choice.is_there()), (absent, false));
        assert_eq!(AddressChoice::of(&[]), None);
    }

    #[test]
    fn a_chosen_address_is_described() {
        let all: [SocketAddr; 2] = ["[::1]:80", "127.0.0.1:80"].map(|text| text.parse().unwrap());
        let note = |address, silent: &[SocketAddr]| {
            AddressChoice { address, silent: silent.to_vec() }.taken("localhost", &all).to_string()
        };
        let is = "`localhost` is ::1 and 127.0.0.1; ";
        assert_eq!(note(all[0], &[]), format!("{is}requests go to [::1]:80"));
        assert_eq!(
            note(all[1], &all[..1]),
            format!("{is}nothing accepts connections at [::1]:80, so requests go to 127.0.0.1:80")
        );
        assert_eq!(
            note(all[0], &all),
            format!("{is}nothing accepts connections at [::1]:80 and 127.0.0.1:80")
        );
    }

    #[test]
    fn an_address_is_listed_once() {
        let found = of("127.0.0.1", 80).expect("an address");
        assert_eq!(found, ["127.0.0.1:80".parse().unwrap()]);
        assert!(of("no-such-host.invalid", 80).is_err());
    }

    #[test]
    fn what_listens_at_the_other_loopback_address_is_found() {
        let (_listener, [absent, there]) = one_of_two();
        assert_eq!(elsewhere(absent), Some(there));
        // An address for documentation (RFC 5737). It is not this machine's, so nothing is tried
        // for it.
        assert_eq!(elsewhere(SocketAddr::from(([192, 0, 2, 1], there.port()))), None);
    }

    #[test]
    fn addresses_of_this_machine_are_recognised_without_a_packet() {
        assert!(is_here("127.0.0.1".parse().unwrap()));
        assert!(is_here("127.9.9.9".parse().unwrap()));
        // Addresses for documentation belong to nobody (RFC 5737).
        assert!(!is_here("192.0.2.1".parse().unwrap()));
    }
}
