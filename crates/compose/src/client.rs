//! The programs that talk to an engine, and the variables that they read.

use std::collections::BTreeMap;

/// A program that talks to an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Docker's, which Podman answers at a socket, too.
    Docker,
    /// Podman's own, which needs no socket.
    Podman,
}

impl Client {
    /// The program.
    pub const fn program(self) -> &'static str {
        match self {
            Client::Docker => "docker",
            Client::Podman => "podman",
        }
    }

    /// What lets its `rm -f` end a container at once. Docker's does so by itself; Podman's waits ten seconds for
    /// a program that ignores the signal.
    pub(crate) const fn removes_at_once(self) -> &'static str {
        match self {
            Client::Docker => "",
            Client::Podman => "-t 0",
        }
    }

    /// Whether the client itself, or what loads it, reads a variable.
    pub fn reads(self, name: &str) -> bool {
        let is_own = match self {
            Client::Docker => false,
            Client::Podman => is_of_podman(name),
        };
        is_own || OF_CLIENTS.contains(&name) || name == "TMPDIR" || name.starts_with("LD_")
    }
}

/// The variables that lead Docker's client to its engine. Podman's reads some of them.
const OF_CLIENTS: [&str; 9] = [
    "PATH",
    "HOME",
    "XDG_RUNTIME_DIR",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_TLS_VERIFY",
    "DOCKER_CERT_PATH",
    "DOCKER_API_VERSION",
];

/// Begins of the names of variables that say where Podman and its helpers keep what they have.
const OF_PODMAN: [&str; 7] =
    ["BUILDAH_", "CONTAINER", "DBUS_", "NETAVARK_", "PODMAN_", "STORAGE_", "XDG_"];

fn is_of_podman(name: &str) -> bool {
    name == "REGISTRY_AUTH_FILE" || OF_PODMAN.iter().any(|begin| name.starts_with(begin))
}

/// The variables that lead a client to its engine, for programs that inherit no environment.
pub fn engine_variables() -> BTreeMap<String, String> {
    let all = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    all.filter(|(name, _)| OF_CLIENTS.contains(&name.as_str()) || is_of_podman(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_reads_is_no_variable_of_an_app() {
        let reads = |name: &str| [Client::Docker, Client::Podman].map(|client| client.reads(name));
        assert_eq!(reads("DOCKER_HOST"), [true, true]);
        assert_eq!(reads("LD_PRELOAD"), [true, true]);
        assert_eq!(reads("STORAGE_DRIVER"), [false, true]);
        assert_eq!(reads("CONTAINERS_CONF"), [false, true]);
        assert_eq!(reads("APP_ENV"), [false, false]);
    }
}
