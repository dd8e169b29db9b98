//! Classifies how far away an address is. It decides whether stampede may send load there without
//! asking.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use crate::proc::Proc;

/// How far away an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine, or a private network.
    Near,
    /// An address whose owner may be somebody else. It is either public, or used inside a
    /// provider's network, such as the address of a cloud's metadata service.
    Others,
}

impl Reach {
    /// Classifies an address. Nothing is sent.
    pub fn of(address: IpAddr) -> Reach {
        let near = match address {
            IpAddr::V4(v4) => is_near_v4(v4),
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => is_near_v4(v4),
                None => is_near_v6(v6),
            },
        };
        // A public address may still be this machine's own. A socket can be bound to such addresses
        // only.
        let is_here = || !may_bind_to_others(address) && UdpSocket::bind((address, 0)).is_ok();
        if near || is_here() { Reach::Near } else { Reach::Others }
    }
}

/// Whether the kernel lets a process bind to addresses that are not this machine's. Servers that
/// take over one another's address need this setting.
fn may_bind_to_others(address: IpAddr) -> bool {
    let version = if address.is_ipv4() { "ipv4" } else { "ipv6" };
    let setting = Proc::default().setting(&format!("net/{version}/ip_nonlocal_bind"));
    setting.is_some_and(|value| value != "0")
}

/// Loopback and RFC 1918. Link-local addresses do not count, because clouds have their metadata
/// service there. Addresses inside a provider's network (RFC 6598) do not count either.
fn is_near_v4(v4: Ipv4Addr) -> bool {
    v4.is_loopback() || v4.is_private()
}

/// Loopback and unique local (RFC 4193).
fn is_near_v6(v6: Ipv6Addr) -> bool {
    v6.is_loopback() || v6.is_unique_local()
}

#[cfg(test)]
mod tests {
    use rustix::thread::UnshareFlags;

    use super::*;

    #[test]
    fn addresses_that_may_belong_to_others_are_not_near() {
        let table = [
            ("127.0.0.1", Reach::Near),
            ("127.9.9.9", Reach::Near),
            ("10.1.2.3", Reach::Near),
            ("172.16.0.1", Reach::Near),
            ("172.31.255.255", Reach::Near),
            ("192.168.0.1", Reach::Near),
            ("169.254.1.1", Reach::Others),
            ("169.254.169.254", Reach::Others),
            ("100.64.0.1", Reach::Others),
            ("::1", Reach::Near),
            ("fd00::1", Reach::Near),
            ("fe80::1", Reach::Others),
            ("::ffff:10.0.0.1", Reach::Near),
            ("172.32.0.1", Reach::Others),
            ("100.128.0.1", Reach::Others),
            // Addresses for documentation (RFC 5737, RFC 3849) belong to nobody and to no network.
            ("192.0.2.1", Reach::Others),
            ("2001:db8::1", Reach::Others),
            ("::ffff:192.0.2.1", Reach::Others),
        ];
        for (address, reach) in table {
            assert_eq!(Reach::of(address.parse().expect(address)), reach, "{address}");
        }
    }

    #[test]
    fn bindable_addresses_of_other_machines_are_not_near() {
        let work = || {
            // SAFETY: the thread leaves only its network namespace. Memory and files stay shared.
            let unshared = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) };
            let setting = "/proc/sys/net/ipv4/ip_nonlocal_bind";
            if unshared.is_err() || std::fs::write(setting, "1").is_err() {
                return eprintln!("skipped: no network namespace can be made here");
            }
            let address = "192.0.2.1".parse().expect("an address");
            assert!(UdpSocket::bind((address, 0)).is_ok(), "the setting is in force");
            assert_eq!(Reach::of(address), Reach::Others);
        };
        std::thread::spawn(work).join().expect("no panic");
    }
}
