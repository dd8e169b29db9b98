//! Resolves a host name and finds out which of its addresses accept connections. A name such as
//! `localhost` often means both `::1` and `127.0.0.1`, and many servers listen on only one of them;
//! the name of a cluster has one address per server.
//!
//! Each address is tried once before the first request, in the system's order. The first that
//! accepts a connection decides between IPv4 and IPv6, as in a browser (RFC 8305): `::1` and
//! `127.0.0.1` are usually one server, which must not get two shares. All addresses of this family
//! that accept a connection are used in turn. Trying the others again during the load would also
//! measure addresses that do not answer.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::time::{Duration, Instant};

use serde::Serialize;
use stampede_model::address::ChosenAddress;

/// Returns all addresses of a host, each once, in the system's order.
///
/// # Errors
/// The error of the system's name lookup.
pub fn of(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    found_by(host, port, |name| Ok((name, port).to_socket_addrs()?.collect()))
}

fn found_by(
    host: &str,
    port: u16,
    look_up: impl Fn(&str) -> io::Result<Vec<SocketAddr>>,
) -> io::Result<Vec<SocketAddr>> {
    // A trailing dot marks an absolute name. `/etc/hosts` for one does not know names with the dot.
    let bare = host.strip_suffix('.').filter(|bare| !bare.is_empty());
    let found = match (look_up(host), bare) {
        (Err(_), Some(bare)) => look_up(bare),
        (found, _) => found,
    };
    let found = match found {
        Err(_) if is_localhost(bare.unwrap_or(host)) => LOOPBACK.map(|ip| (ip, port).into()).into(),
        found => found?,
    };
    let mut all = Vec::new();
    for address in found {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    Ok(all)
}

/// A name that always means this machine (RFC 6761, section 6.3), also where no file and no server
/// knows it, as in a container without `/etc/hosts`.
fn is_localhost(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

const LOOPBACK: [IpAddr; 2] = [IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)];

/// The addresses of a name that a load uses.
#[derive(Debug)]
pub struct AddressChoice {
    /// The addresses that accepted a connection, all IPv4 or all IPv6, in the system's order.
    pub taken: Vec<SocketAddr>,
    /// The addresses that accepted no connection, in the order in which they were tried.
    pub silent: Vec<SilentAddress>,
}

/// An address that accepted no connection.
#[derive(Debug, Serialize)]
pub struct SilentAddress {
    /// The address.
    pub address: SocketAddr,
    /// The system's error.
    #[serde(skip)]
    pub error: io::Error,
}

impl AddressChoice {
    /// Tries one address after the other. After the first that accepts a connection, only addresses
    /// of its family are tried. Waits at most one second for each address and five seconds for all.
    pub fn of(addresses: &[SocketAddr]) -> AddressChoice {
        let began = Instant::now();
        let mut choice = AddressChoice { taken: Vec::new(), silent: Vec::new() };
        for &address in addresses {
            let first = choice.taken.first();
            if first.is_some_and(|first| first.is_ipv4() != address.is_ipv4()) {
                continue;
            }
            let within = EACH_WITHIN.min(ALL_WITHIN.saturating_sub(began.elapsed()));
            match connect(address, within) {
                Ok(()) => choice.taken.push(address),
                Err(error) => choice.silent.push(SilentAddress { address, error }),
            }
        }
        choice
    }

    /// Returns the fact for the report: what the name stands for, and which addresses are used.
    pub fn fact(&self, name: &str, all: &[SocketAddr]) -> ChosenAddress {
        let mut taken = self.taken.iter().map(ToString::to_string);
        ChosenAddress {
            name: name.to_owned(),
            addresses: all.iter().map(|one| one.ip().to_string()).collect(),
            silent: self.silent.iter().map(|one| one.address.to_string()).collect(),
            taken: taken.next(),
            also: taken.collect(),
        }
    }
}

/// Connects once. A wait of zero is over at once; the system's call refuses it.
fn connect(address: SocketAddr, within: Duration) -> io::Result<()> {
    match within.is_zero() {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => TcpStream::connect_timeout(&address, within).map(drop),
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

    fn silent(choice: &AddressChoice) -> Vec<SocketAddr> {
        choice.silent.iter().map(|one| one.address).collect()
    }

    #[test]
    fn localhost_needs_no_file_and_no_server() {
        let unknown = |_: &str| Err(io::Error::other("nobody knows it"));
        let loopback = LOOPBACK.map(|ip| SocketAddr::from((ip, 80)));
        for name in ["localhost", "LocalHost.", "app.localhost"] {
            assert_eq!(found_by(name, 80, unknown).expect(name), loopback);
        }
        for name in ["localhost.example", "notlocalhost", "example", "."] {
            assert!(found_by(name, 80, unknown).is_err(), "{name}");
        }
        // What the system says goes first, each address once.
        let own = SocketAddr::from(([127, 0, 0, 9], 80));
        let known = |name: &str| match name {
            "localhost" => Ok(vec![own, own]),
            _ => Err(io::Error::other("only without the dot")),
        };
        assert_eq!(found_by("localhost.", 80, known).expect("an address"), [own]);
    }

    #[test]
    fn every_address_that_accepts_is_taken() {
        let (_listener, [absent, there]) = one_of_two();
        for tried in [[absent, there], [there, absent]] {
            let choice = AddressChoice::of(&tried);
            assert_eq!((&choice.taken[..], silent(&choice)), (&[there][..], vec![absent]));
        }
        let second = TcpListener::bind(absent).expect("the same port of the other address");
        let choice = AddressChoice::of(&[absent, there]);
        assert_eq!((&choice.taken[..], silent(&choice)), (&[absent, there][..], vec![]));
        drop(second);
        let choice = AddressChoice::of(&[absent]);
        assert!(choice.taken.is_empty());
        assert_eq!(choice.silent[0].error.kind(), io::ErrorKind::ConnectionRefused);
    }

    /// `::1` and `127.0.0.1` are one server with two addresses.
    #[test]
    fn the_first_that_accepts_decides_between_ipv4_and_ipv6() {
        let (_listener, [absent, there]) = one_of_two();
        let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, there.port()));
        let Ok(_v6) = TcpListener::bind(v6) else {
            return println!("SKIPPED: ::1 is no address here");
        };
        assert_eq!(AddressChoice::of(&[v6, there]).taken, [v6]);
        assert_eq!(AddressChoice::of(&[there, v6]).taken, [there]);
        let choice = AddressChoice::of(&[absent, v6, there]);
        assert_eq!((&choice.taken[..], silent(&choice)), (&[v6][..], vec![absent]));
    }

    #[test]
    fn a_choice_is_described() {
        let all: [SocketAddr; 3] =
            ["[::1]:80", "127.0.0.1:80", "127.0.0.2:80"].map(|text| text.parse().unwrap());
        let note = |taken: &[SocketAddr], silent: &[SocketAddr]| {
            let error = || io::ErrorKind::ConnectionRefused.into();
            let silent = silent.iter().map(|&address| SilentAddress { address, error: error() });
            let choice = AddressChoice { taken: taken.to_vec(), silent: silent.collect() };
            choice.fact("localhost", &all).to_string()
        };
        let is = "`localhost` is ::1, 127.0.0.1 and 127.0.0.2; ";
        assert_eq!(note(&all[..1], &[]), format!("{is}requests go to [::1]:80"));
        assert_eq!(
            note(&all[1..2], &all[..1]),
            format!("{is}nothing accepts connections at [::1]:80, so requests go to 127.0.0.1:80")
        );
        assert_eq!(
            note(&all[1..], &[]),
            format!("{is}connections go to 127.0.0.1:80 and 127.0.0.2:80 in turn")
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
