//! Where a URL points: `http://host:port/path` or `unix:/run/app.sock:/path`.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::PathBuf;

use stampede_load::spec::Address;
use ureq::http::Uri;
use ureq::http::uri::InvalidUri;

use crate::store::mask_secrets;

/// What a load fires at.
#[derive(Clone, Debug)]
pub struct Target {
    /// To connect to.
    pub address: Address,
    /// For the header `Host`.
    pub host: String,
    /// For the request line.
    pub path: String,
}

impl Target {
    /// Reads it, and asks for the host's address.
    ///
    /// # Errors
    /// Anything that would send the shots elsewhere than was meant.
    pub fn parse(url: &str) -> Result<Target, TargetError> {
        Url::parse(url)?.resolve()
    }

    /// Whether the address is one of this machine's.
    pub fn is_here(&self) -> bool {
        match &self.address {
            Address::Tcp(address) => is_here(address.ip()),
            Address::Unix(_) => true,
        }
    }
}

/// A URL that was read; nobody was asked for the host's address yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    place: Place,
    host: String,
    path: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Host { name: String, port: u16 },
    Socket(PathBuf),
}

impl Url {
    /// Reads it.
    ///
    /// # Errors
    /// Anything that would send the shots elsewhere than was meant.
    pub fn parse(url: &str) -> Result<Url, TargetError> {
        if let Some(rest) = url.strip_prefix("unix:") {
            return unix(rest);
        }
        let shown = mask_secrets(url);
        let uri: Uri = match url.parse() {
            Ok(uri) => uri,
            Err(source) => return Err(TargetError::NotAUrl { shown, source }),
        };
        match uri.scheme_str() {
            Some("http") => {}
            Some(other) => return Err(TargetError::Protocol(other.to_owned())),
            None => return Err(TargetError::NoScheme(shown)),
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return Err(TargetError::User(shown));
        }
        let Some(host) = uri.host().filter(|host| !host.is_empty()) else {
            return Err(TargetError::NoHost(shown));
        };
        let port = match authority[host.len()..].strip_prefix(':').unwrap_or_default() {
            "" => 80,
            text => match text.parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(TargetError::Port { port: text.to_owned(), shown }),
            },
        };
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let host = if port == 80 { host.to_owned() } else { format!("{host}:{port}") };
        Ok(Url { place: Place::Host { name, port }, host, path })
    }

    /// Asks for the host's address.
    ///
    /// # Errors
    /// The host has none.
    pub fn resolve(&self) -> Result<Target, TargetError> {
        let address = match &self.place {
            Place::Socket(path) => Address::Unix(path.clone()),
            Place::Host { name, port } => Address::Tcp(resolve(name, *port)?),
        };
        Ok(Target { address, host: self.host.clone(), path: self.path.clone() })
    }

    /// Path and query as written, `/` where there is none.
    pub fn path(&self) -> &str {
        &self.path
    }
}

fn unix(rest: &str) -> Result<Url, TargetError> {
    let (socket, path) = rest.split_once(':').unwrap_or((rest, "/"));
    match socket.len() {
        0 => Err(TargetError::NoSocket),
        1..=SOCKET_PATH_MAX => {
            let place = Place::Socket(PathBuf::from(socket));
            Ok(Url { place, host: "localhost".to_owned(), path: path.to_owned() })
        }
        length => Err(TargetError::LongSocket(length)),
    }
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr, TargetError> {
    let unknown = |source| TargetError::NoAddress { host: host.to_owned(), source };
    let mut addresses = (host, port).to_socket_addrs().map_err(|error| unknown(Some(error)))?;
    addresses.next().ok_or_else(|| unknown(None))
}

/// A datagram socket can be bound to addresses of this machine alone; nothing is sent.
fn is_here(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// What is no target.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Not written as URLs are.
    #[error("`{shown}` is not a URL")]
    NotAUrl {
        /// As given, secrets masked.
        shown: String,
        /// Why.
        source: InvalidUri,
    },
    /// HTTPS, above all.
    #[error("`{0}` is not a protocol that stampede speaks yet")]
    Protocol(String),
    /// No protocol in it.
    #[error("`{0}` has no http://")]
    NoScheme(String),
    /// `user@host`.
    #[error("`{0}` has a user in it, which is not sent")]
    User(String),
    /// No host in it.
    #[error("`{0}` has no host")]
    NoHost(String),
    /// No port.
    #[error("port `{port}` of `{shown}` is not a number from 1 to 65535")]
    Port {
        /// As written.
        port: String,
        /// The URL, secrets masked.
        shown: String,
    },
    /// `unix:` alone.
    #[error("`unix:` has no path of a socket")]
    NoSocket,
    /// Longer than `sun_path`.
    #[error("the socket's path has {0} bytes and the system takes {SOCKET_PATH_MAX} at most")]
    LongSocket(usize),
    /// Nobody knows the host.
    #[error("no address for `{host}`")]
    NoAddress {
        /// The host.
        host: String,
        /// What the system said; `None`: it gave an empty list.
        source: Option<io::Error>,
    },
}

impl TargetError {
    /// What to write instead.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            TargetError::User(_) => Some("give it as a header: -H 'Authorization: …'"),
            TargetError::NoAddress { .. } => None,
            _ => Some("write it as http://127.0.0.1:8080/path, or unix:/run/app.sock:/path"),
        }
    }
}

/// `sun_path` without its closing NUL (unix(7)).
const SOCKET_PATH_MAX: usize = 107;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::chain;

    fn read(url: &str) -> (String, String, String) {
        let target = Target::parse(url).unwrap_or_else(|error| panic!("{url}: {}", chain(&error)));
        let address = match target.address {
            Address::Tcp(address) => address.to_string(),
            Address::Unix(path) => path.display().to_string(),
        };
        (address, target.host, target.path)
    }

    #[test]
    fn every_part_has_its_place() {
        let table = [
            ("http://127.0.0.1", "127.0.0.1:80", "127.0.0.1", "/"),
            ("http://127.0.0.1:/a", "127.0.0.1:80", "127.0.0.1", "/a"),
            ("http://127.0.0.1:8080/a?b=c", "127.0.0.1:8080", "127.0.0.1:8080", "/a?b=c"),
            ("http://[::1]:65535/", "[::1]:65535", "[::1]:65535", "/"),
            ("unix:/run/a.sock", "/run/a.sock", "localhost", "/"),
            ("unix:/run/a.sock:/a:b", "/run/a.sock", "localhost", "/a:b"),
        ];
        for (url, address, host, path) in table {
            assert_eq!(read(url), (address.to_owned(), host.to_owned(), path.to_owned()), "{url}");
        }
    }

    #[test]
    fn what_would_fire_elsewhere_is_refused_with_a_hint() {
        let long = format!("unix:/{}", "a".repeat(120));
        let urls = [
            "127.0.0.1:8080",
            "https://127.0.0.1/",
            "http://127.0.0.1:70000/",
            "http://127.0.0.1:0/",
            "http://me:secret@127.0.0.1/",
            "http:///a",
            "http://a b/",
            "unix:",
            "unix::/path",
            &long,
        ];
        let errors = urls.map(|url| {
            let error = Target::parse(url).expect_err(url);
            format!("{}\nhint: {}\n", chain(&error), error.hint().unwrap_or_default())
        });
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn this_machine_is_told_from_others_without_a_packet() {
        assert!(is_here("127.0.0.1".parse().unwrap()));
        assert!(is_here("127.9.9.9".parse().unwrap()));
        // Addresses for documentation are nobody's (RFC 5737).
        assert!(!is_here("192.0.2.1".parse().unwrap()));
    }
}
