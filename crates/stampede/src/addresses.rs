//! The addresses of a host's name, and at which of them something accepts connections. A name such
//! as `localhost` is often `::1` and `127.0.0.1`, and many servers listen on one of the two.
//!
//! A load goes to one address: each is tried once before the first request, in the system's order,
//! and the first that accepts is taken. Trying them again for each request would measure the wrong
//! addresses, too.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::time::{Duration, Instant};

use stampede_load::spec::Address;

/// All addresses of a host, each once, in the system's order.
///
/// # Errors
/// As the system says.
pub fn of(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let found = (host, port).to_socket_addrs();
    // An absolute name. Not every source of names knows the dot: `/etc/hosts` does not.
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

/// As a person writes it: `127.0.0.1:8080`, or a socket's path.
pub fn shown(address: &Address) -> String {
    match address {
        Address::Tcp(address) => address.to_string(),
        Address::Unix(path) => path.display().to_string(),
    }
}

/// Which address of several a load goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The first that accepted a connection; else one that did not refuse it, or the first.
    pub address: SocketAddr,
    /// Those that accepted none, in the order in which they were tried.
    pub silent: Vec<SocketAddr>,
}

impl Choice {
    /// Tries one after the other until one accepts; a second for each and five for all.
    ///
    /// `None`: there are no addresses.
    pub fn of(addresses: &[SocketAddr]) -> Option<Choice> {
        let began = Instant::now();
        let mut silent = Vec::new();
        let mut hung = None;
        for &address in addresses {
            let within = EACH_WITHIN.min(ALL_WITHIN.saturating_sub(began.elapsed()));
            if within.is_zero() {
                break;
            }
            match TcpStream::connect_timeout(&address, within) {
                Ok(_) => return Some(Choice { address, silent }),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(_) => hung = hung.or(Some(address)),
            }
            silent.push(address);
        }
        let address = hung.or_else(|| addresses.first().copied())?;
        Some(Choice { address, silent })
    }

    /// Whether something accepted a connection.
    pub fn is_there(&self) -> bool {
        !self.silent.contains(&self.address)
    }

    /// What a person should know: what the name stands for, and which address is taken.
    pub fn note(&self, name: &str, all: &[SocketAddr]) -> String {
        let address = self.address;
        let ips: Vec<String> = all.iter().map(|one| one.ip().to_string()).collect();
        let stands_for = format!("`{name}` is {}", listed(&ips));
        let silent: Vec<String> = self.silent.iter().map(ToString::to_string).collect();
        if !self.is_there() {
            return format!("{stands_for}; nothing accepts connections at {}", listed(&silent));
        }
        match silent.as_slice() {
            [] => format!("{stands_for}; requests go to {address}"),
            silent => format!(
                "{stands_for}; nothing accepts connections at {}, so requests go to {address}",
                listed(silent)
            ),
        }
    }
}

/// Where something of this machine listens instead, on the same port: a server that binds one
/// loopback address only, and not the one that was asked for.
pub fn elsewhere(asked: SocketAddr) -> Option<SocketAddr> {
    if !asked.ip().is_unspecified() && !is_here(asked.ip()) {
        return None;
    }
    let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    let others = loopback.into_iter().filter(|ip| *ip != asked.ip());
    let mut others = others.map(|ip| SocketAddr::new(ip, asked.port()));
    others.find(|other| TcpStream::connect_timeout(other, EACH_WITHIN).is_ok())
}

/// Whether it is one of this machine's. A datagram socket can be bound to those alone; nothing is
/// sent.
pub fn is_here(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// `a`, `a and b`, `a, b and c`.
fn listed(all: &[String]) -> String {
    match all {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// For one address: Linux asks again after a second (tcp(7)), so a longer wait finds little more.
const EACH_WITHIN: Duration = Duration::from_secs(1);
/// For all of a name: a load must not wait long for addresses that are dead.
const ALL_WITHIN: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A port at which something listens on 127.0.0.1 and nothing on 127.0.0.2.
    fn one_of_two() -> (TcpListener, [SocketAddr; 2]) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let there = listener.local_addr().expect("its address");
        (listener, [SocketAddr::from(([127, 0, 0, 2], there.port())), there])
    }

    #[test]
    fn the_first_that_accepts_is_taken() {
        let (_listener, [absent, there]) = one_of_two();
        let choice = Choice::of(&[absent, there]).expect("a choice");
        assert_eq!(choice, Choice { address: there, silent: vec![absent] });
        let choice = Choice::of(&[there, absent]).expect("a choice");
        assert_eq!(choice, Choice { address: there, silent: Vec::new() });
        let choice = Choice::of(&[absent]).expect("a choice");
        assert_eq!((choice.address, choice.is_there()), (absent, false));
        assert_eq!(Choice::of(&[]), None);
    }

    #[test]
    fn what_was_taken_is_said() {
        let all: [SocketAddr; 2] = ["[::1]:80", "127.0.0.1:80"].map(|text| text.parse().unwrap());
        let note = |address, silent: &[SocketAddr]| {
            Choice { address, silent: silent.to_vec() }.note("localhost", &all)
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
        // An address for documentation (RFC 5737): nobody's, and nothing here is tried for it.
        assert_eq!(elsewhere(SocketAddr::from(([192, 0, 2, 1], there.port()))), None);
    }

    #[test]
    fn this_machine_is_told_from_others_without_a_packet() {
        assert!(is_here("127.0.0.1".parse().unwrap()));
        assert!(is_here("127.9.9.9".parse().unwrap()));
        // Addresses for documentation are nobody's (RFC 5737).
        assert!(!is_here("192.0.2.1".parse().unwrap()));
    }
}
