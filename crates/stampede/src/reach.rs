//! How far away an address is: what may be sent to without being asked.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// How far away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// This machine, or a private network.
    Near,
    /// An address whose owner may be somebody else: a public one, or one that a provider uses
    /// inside, such as that of a cloud's metadata service.
    Others,
}

impl Reach {
    /// Of an address; nothing is sent to find out.
    pub fn of(address: IpAddr) -> Reach {
        let near = match address {
            IpAddr::V4(v4) => is_near_v4(v4),
            IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                Some(v4) => is_near_v4(v4),
                None => is_near_v6(v6),
            },
        };
        // A public address may be one of this machine's own: only those can be bound to.
        let is_here = || !may_bind_to_others(address) && UdpSocket::bind((address, 0)).is_ok();
        if near || is_here() { Reach::Near } else { Reach::Others }
    }
}

/// Whether the kernel lets anybody bind to addresses that are not this machine's, as servers that
/// take over one another's address want it.
fn may_bind_to_others(address: IpAddr) -> bool {
    let version = if address.is_ipv4() { "ipv4" } else { "ipv6" };
    let setting = format!("/proc/sys/net/{version}/ip_nonlocal_bind");
    std::fs::read_to_string(setting).is_ok_and(|value| value.trim() != "0")
}

/// Loopback and RFC 1918. Not link-local, where clouds have their metadata service, nor what
/// providers use inside (RFC 6598).
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
    fn what_may_belong_to_others_is_not_near() {
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
            // Addresses for documentation are nobody's (RFC 5737, RFC 3849), and no network's.
            ("192.0.2.1", Reach::Others),
            ("2001:db8::1", Reach::Others),
            ("::ffff:192.0.2.1", Reach::Others),
        ];
        for (address, reach) in table {
            assert_eq!(Reach::of(address.parse().expect(address)), reach, "{address}");
        }
    }

    #[test]
    fn what_can_be_bound_to_and_is_not_here_is_not_near() {
        let work = || {
            // SAFETY: the network namespace alone; no memory, no files.
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
