//! Finds where a process of a stack listens for another one, and whether it listens yet.

use std::fmt;
use std::path::PathBuf;

use minijinja::Value;
use stampede_linux::proc::Proc;

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
    /// is not checked which process listens. The table of sockets is as long as the machine has
    /// sockets, so it is read only once there is a file at the path.
    pub fn is_open(&self) -> bool {
        match self {
            ListenAddress::Port(port) => port::is_listening(*port),
            ListenAddress::Socket(path) => path.exists() && Proc::default().listens_at(path),
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;
    use std::time::{Duration, Instant};

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
        assert!(path.exists() && closes(&socket), "a file without a listener");

        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = ListenAddress::parse(&format!(
            "{}\n",
            listener.local_addr().expect("its address").port()
        ));
        assert!(matches!(port, ListenAddress::Port(_)) && port.is_open());
        drop(listener);
        assert!(closes(&port));
    }

    /// Whether nobody listens there any more. A program that another test starts has the listener, too,
    /// until it is itself.
    fn closes(address: &ListenAddress) -> bool {
        let begun = Instant::now();
        while address.is_open() && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(5));
        }
        !address.is_open()
    }
}
