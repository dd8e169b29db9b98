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

/// Whether an address is in a network that this machine is connected to by itself: nobody else passes on what is
/// sent there. Read from the kernel's tables of routes; nothing is sent.
pub fn is_on_link(address: IpAddr) -> bool {
    let proc = Proc::default();
    match address {
        _ if address.is_loopback() => true,
        IpAddr::V4(v4) => is_on_link_v4(&proc.text("net/route"), v4),
        IpAddr::V6(v6) => is_on_link_v6(&proc.text("net/ipv6_route"), v6),
    }
}

/// Of the routes to an address, the narrowest decides. Each is the mask's length and whether it has no gateway.
fn is_direct(routes: impl Iterator<Item = (u32, bool)>) -> bool {
    routes.max_by_key(|(length, _)| *length).is_some_and(|(length, direct)| direct && length > 0)
}

/// `table`: `/proc/net/route`, whose numbers are in the order of this machine's bytes.
fn is_on_link_v4(table: &str, address: Ipv4Addr) -> bool {
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok();
        let (destination, gateway, mask) = (number(1)?, number(2)?, number(7)?);
        let address = u32::from_ne_bytes(address.octets());
        (address & mask == destination).then(|| (mask.count_ones(), gateway == 0))
    };
    is_direct(table.lines().skip(1).filter_map(route))
}

/// `table`: `/proc/net/ipv6_route`.
fn is_on_link_v6(table: &str, address: Ipv6Addr) -> bool {
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| u128::from_str_radix(fields.get(index)?, 16).ok();
        let (destination, length, gateway) = (number(0)?, number(1)?, number(4)?);
        let length = u32::try_from(length).ok().filter(|length| *length <= 128)?;
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        (u128::from(address) & mask == destination).then_some((length, gateway == 0))
    };
    is_direct(table.lines().filter_map(route))
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
    fn only_networks_of_this_machine_are_on_link() {
        // As x86 writes it: 172.18.0.0/16 at a bridge, 10.89.0.5 by a gateway, the rest by another one.
        let table = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
            eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
            br-1\t000012AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n\
            eth0\t0500590A\t0100000A\t0007\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n\
            wide\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n";
        let at = |address: &str| is_on_link_v4(table, address.parse().unwrap());
        if cfg!(target_endian = "little") {
            assert!(at("172.18.0.3") && at("10.0.0.9"));
            assert!(!at("172.19.0.3") && !at("10.89.0.5") && !at("192.0.2.1"));
        }
        let tunnel = "Iface\ntun0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0\n";
        assert!(!is_on_link_v4(tunnel, "192.0.2.1".parse().unwrap()), "everything goes there");
        let table = "fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 0 0 0 br-1\n\
            00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 0 0 3 eth0\n";
        assert!(is_on_link_v6(table, "fd00::3".parse().unwrap()));
        assert!(!is_on_link_v6(table, "fd01::3".parse().unwrap()));
        assert!(is_on_link("127.0.0.1".parse().unwrap()) && is_on_link("::1".parse().unwrap()));
    }

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
