//! Finds where a process of a stack listens for another one, and whether it listens yet.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use minijinja::Value;

use super::port;
use crate::error::RuntimeError;
use crate::manifest::RuntimeManifest;
use crate::template::render;

/// The address on which a process listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// A unix socket.
    Socket(PathBuf),
    /// A port of 127.0.0.1.
    Port(u16),
}

/// A process that is started once another process listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayedStart {
    /// The process's index in the stack.
    pub process: usize,
    /// The address that it waits for.
    pub listen_address: ListenAddress,
}

/// The processes of the runtime that wait for another one, in their order.
///
/// # Errors
/// A template is wrong.
pub(crate) fn delayed_starts(
    manifest: &RuntimeManifest,
    values: &Value,
) -> Result<Vec<DelayedStart>, RuntimeError> {
    let mut delayed_starts = Vec::new();
    for (process, one) in manifest.processes.iter().enumerate() {
        if let Some(after) = &one.after {
            let place = format!("runtime.yaml: after of `{}`", one.role);
            delayed_starts.push(DelayedStart {
                process,
                listen_address: ListenAddress::parse(&render(&place, after, values)?),
            });
        }
    }
    Ok(delayed_starts)
}

impl ListenAddress {
    fn parse(text: &str) -> ListenAddress {
        let text = text.trim();
        text.parse().map_or_else(|_| ListenAddress::Socket(text.into()), ListenAddress::Port)
    }

    /// Whether any process listens there. Read from the kernel's tables: nothing connects, and it
    /// is not checked which process listens.
    pub fn is_open(&self) -> bool {
        match self {
            ListenAddress::Port(port) => port::is_listening(*port),
            ListenAddress::Socket(path) => fs::read_to_string("/proc/net/unix")
                .is_ok_and(|table| table.lines().any(|line| listens(line, path))),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Socket(path) => write!(f, "{}", path.display()),
            ListenAddress::Port(port) => write!(f, "port {port}"),
        }
    }
}

/// Whether a line of `/proc/net/unix` is a listening socket at `path`. Its columns are `Num
/// RefCount Protocol Flags Type St Inode Path` (proc_pid_net(5)); the path may contain spaces.
fn listens(line: &str, path: &Path) -> bool {
    let flags =
        line.split_whitespace().nth(3).and_then(|flags| u32::from_str_radix(flags, 16).ok());
    let is_there = line.split_once('/').is_some_and(|(_, rest)| Path::new("/").join(rest) == path);
    is_there && flags.is_some_and(|flags| flags & ACCEPTS != 0)
}

/// The flag of a listening socket: `__SO_ACCEPTCON` (`linux/net.h`).
const ACCEPTS: u32 = 1 << 16;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn an_address_is_open_while_a_process_listens() {
        let directory =
            tempfile::Builder::new().prefix("with space").tempdir().expect("a directory");
        let path = directory.path().join("a.sock");
        let socket = ListenAddress::parse(&path.to_string_lossy());
        assert!(!socket.is_open());
        let listener = UnixListener::bind(&path).expect("a socket");
        assert!(socket.is_open());
        drop(listener);
        assert!(path.exists() && !socket.is_open(), "a file without a listener");

        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = ListenAddress::parse(&format!(
            "{}\n",
            listener.local_addr().expect("its address").port()
        ));
        assert!(matches!(port, ListenAddress::Port(_)) && port.is_open());
        drop(listener);
        assert!(!port.is_open());
    }

    #[test]
    fn only_sockets_that_accept_connections_count_as_listening() {
        let path = Path::new("/tmp/a b/x.sock");
        let line = |flags| {
            format!("0000000000000000: 00000002 00000000 {flags} 0001 01 1234 /tmp/a b/x.sock")
        };
        assert!(listens(&line("00010000"), path));
        assert!(!listens(&line("00000000"), path));
        assert!(!listens(&line("00010000"), Path::new("/tmp/a b/x")));
        assert!(!listens("Num RefCount Protocol Flags Type St Inode Path", path));
    }
}
