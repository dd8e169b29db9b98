//! The programs that talk to an engine, and the variables that they read.

use std::collections::BTreeMap;

use stampede_mask::is_secret_name;

use crate::error::ComposeError;

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

    /// The one that a user asks for by its name; `None`: the first that is installed.
    pub(crate) fn asked(name: &str) -> Result<Option<Client>, ComposeError> {
        match name {
            "" => Ok(None),
            "docker" => Ok(Some(Client::Docker)),
            "podman" => Ok(Some(Client::Podman)),
            other => Err(ComposeError::NoSuchEngine { given: other.to_owned() }),
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
            Client::Podman => READ_BY_PODMAN.contains(&name),
        };
        // A loader reads nothing secret: `LD_SDK_KEY` is an app's.
        let is_of_loader = name.starts_with("LD_") && !is_secret_name(name);
        is_own || is_of_loader || OF_CLIENTS.contains(&name) || name == "TMPDIR"
    }

    /// Whether a variable of an app gets there by the client's environment: everybody may read a command line.
    pub(crate) fn is_hidden(self, name: &str, value: &str) -> bool {
        let has_login = value.contains("://") && value.contains('@');
        // It would ask registries by an app's proxy.
        let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
        (is_secret_name(name) || has_login && !is_proxy) && !self.reads(name)
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

/// What Podman, buildah and their libraries read by itself (their manual pages, and their calls of `Getenv`).
const READ_BY_PODMAN: [&str; 34] = [
    "BUILDAH_FORMAT",
    "BUILDAH_HISTORY",
    "BUILDAH_ISOLATION",
    "BUILDAH_LAYERS",
    "BUILDAH_NOPIVOT",
    "BUILDAH_RUNTIME",
    "CONTAINERS_CONF",
    "CONTAINERS_CONF_OVERRIDE",
    "CONTAINERS_HELPER_BINARY_DIR",
    "CONTAINERS_MACHINE_PROVIDER",
    "CONTAINERS_REGISTRIES_CONF",
    "CONTAINERS_SHORT_NAME_ALIASING",
    "CONTAINERS_STORAGE_CONF",
    "CONTAINER_CONNECTION",
    "CONTAINER_HOST",
    "CONTAINER_SSHKEY",
    "CONTAINER_TLS_CA",
    "CONTAINER_TLS_CERT",
    "CONTAINER_TLS_KEY",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "NETAVARK_FW",
    "PODMAN_CONNECTIONS_CONF",
    "PODMAN_IGNORE_CGROUPSV1_WARNING",
    "PODMAN_USERNS",
    "REGISTRIES_CONFIG_PATH",
    "REGISTRY_AUTH_FILE",
    "STORAGE_DRIVER",
    "STORAGE_OPTS",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS",
    "XDG_DATA_HOME",
];

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
        for of_app in
            ["STORAGE_SECRET_KEY", "CONTAINER_REGISTRY_PASSWORD", "XDG_TOKEN", "LD_SDK_KEY"]
        {
            assert_eq!(reads(of_app), [false, false], "{of_app}");
        }
    }

    #[test]
    fn an_engine_is_asked_for_by_the_name_of_its_client() {
        let asked = |name: &str| Client::asked(name).ok();
        assert_eq!(asked(""), Some(None));
        assert_eq!(asked("podman"), Some(Some(Client::Podman)));
        assert_eq!(asked("docker"), Some(Some(Client::Docker)));
        assert_eq!(asked("Podman 4"), None);
    }

    #[test]
    fn secrets_are_hidden_and_what_leads_podman_is_not() {
        let is_hidden = |name, value| Client::Podman.is_hidden(name, value);
        assert!(is_hidden("STORAGE_SECRET_KEY", "x") && is_hidden("PODMAN_PASSWORD", "x"));
        assert!(is_hidden("QUEUE", "amqp://user:word@mq/"));
        assert!(!is_hidden("https_proxy", "http://user:word@proxy/"));
        assert!(!is_hidden("APP_ENV", "prod") && !is_hidden("REGISTRY_AUTH_FILE", "/x"));
    }
}
