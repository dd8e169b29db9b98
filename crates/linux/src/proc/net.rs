//! Parses the kernel's tables of sockets (proc_pid_net(5)). All functions are pure.

use std::net::Ipv6Addr;
use std::path::Path;

/// Returns the inodes of the sockets that listen on `port`, from `/proc/net/tcp` or `tcp6`.
pub fn listening_inodes(table: &str, port: u16) -> impl Iterator<Item = u64> + '_ {
    table.lines().skip(1).filter_map(move |line| listening_inode(line, port))
}

/// The columns are `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode`.
fn listening_inode(line: &str, port: u16) -> Option<u64> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let local = u16::from_str_radix(fields.next()?.rsplit(':').next()?, 16).ok()?;
    let state = fields.nth(1)?;
    (local == port && state == LISTEN).then(|| fields.nth(5)?.parse().ok())?
}

/// Returns whether a socket listens on `port` at an address that others reach, from `/proc/PID/net/tcp` or
/// `tcp6`.
pub fn listens_for_others(table: &str, port: u16) -> bool {
    table.lines().skip(1).any(|line| {
        let local = line.split_ascii_whitespace().nth(1).and_then(|local| local.split_once(':'));
        let is_local = local.is_none_or(|(address, _)| is_loopback(address));
        !is_local && listening_inode(line, port).is_some()
    })
}

/// Whether an address is this machine's alone. The kernel prints it by words of four bytes, in the order of the
/// machine's bytes.
fn is_loopback(address: &str) -> bool {
    let words = (0..address.len()).step_by(8).map(|at| {
        let word = address.get(at..at + 8).and_then(|word| u32::from_str_radix(word, 16).ok());
        word.unwrap_or_default().to_ne_bytes()
    });
    match words.collect::<Vec<_>>().concat().as_slice() {
        [127, _, _, _] => true,
        bytes => <[u8; 16]>::try_from(bytes).is_ok_and(|bytes| {
            let address = Ipv6Addr::from(bytes);
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|v4| v4.is_loopback())
        }),
    }
}

/// Returns whether a socket listens at `path`, from `/proc/net/unix`.
pub fn listens_at(table: &str, path: &Path) -> bool {
    table.lines().any(|line| is_listener(line, path))
}

/// The columns are `Num RefCount Protocol Flags Type St Inode Path`; the path may contain spaces.
fn is_listener(line: &str, path: &Path) -> bool {
    let flags = line.split_ascii_whitespace().nth(3);
    let flags = flags.and_then(|flags| u32::from_str_radix(flags, 16).ok());
    let is_there = line.split_once('/').is_some_and(|(_, rest)| Path::new("/").join(rest) == path);
    is_there && flags.is_some_and(|flags| flags & ACCEPTS != 0)
}

/// Returns the inode of a socket, from the link `socket:[4711]` of a descriptor; `None`: it is no
/// socket.
pub fn socket_inode(link: &Path) -> Option<u64> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The state `TCP_LISTEN` (`net/tcp_states.h`).
const LISTEN: &str = "0A";

/// The flag of a listening socket: `__SO_ACCEPTCON` (`linux/net.h`).
const ACCEPTS: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inode_of_a_listening_socket_is_read_from_its_line() {
        let line =
            "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 1";
        let found = |line: &str, port| {
            let table = format!("  sl  local_address rem_address   st\n{line}\n");
            listening_inodes(&table, port).collect::<Vec<u64>>()
        };
        assert_eq!(found(line, 8080), [4711]);
        assert_eq!(found(line, 8081), []);
        assert_eq!(found(&line.replace(" 0A ", " 01 "), 8080), []);
    }

    #[test]
    fn a_socket_on_loopback_listens_for_nobody_else() {
        let listens = |local: &str| {
            let table = format!(
                "  sl  local_address rem_address   st\n\
                 0: {local}:0050 00000000:0000 0A 0:0 00:0 0 0 0 4711 1\n"
            );
            listens_for_others(&table, 80)
        };
        assert!(listens("00000000") && listens(&"0".repeat(32)));
        if cfg!(target_endian = "little") {
            assert!(listens("030012AC") && !listens("0100007F"));
            assert!(!listens("00000000000000000000000001000000"));
            assert!(!listens("0000000000000000FFFF00000100007F"));
            assert!(listens("0000000000000000FFFF0000030012AC"));
        }
    }

    #[test]
    fn only_sockets_that_accept_connections_count_as_listening() {
        let path = Path::new("/tmp/a b/x.sock");
        let table = |flags| {
            format!(
                "Num RefCount Protocol Flags Type St Inode Path\n\
                 0000000000000000: 00000002 00000000 {flags} 0001 01 1234 /tmp/a b/x.sock\n"
            )
        };
        assert!(listens_at(&table("00010000"), path));
        assert!(!listens_at(&table("00000000"), path));
        assert!(!listens_at(&table("00010000"), Path::new("/tmp/a b/x")));
    }

    #[test]
    fn only_links_of_sockets_have_an_inode() {
        assert_eq!(socket_inode(Path::new("socket:[4711]")), Some(4711));
        for other in ["pipe:[4711]", "/tmp/socket:[1]", "socket:[x]", "anon_inode:[eventpoll]"] {
            assert_eq!(socket_inode(Path::new(other)), None, "{other}");
        }
    }
}
