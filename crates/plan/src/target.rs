//! Parses the URL of a target: `http://host:port/path`, `https://…`, `unix:/run/app.sock:/path` (or
//! `http+unix:`), `fcgi://host:port/script.php/path` and
//! `fcgi+unix:/run/php.sock:/script.php/path`.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use http::Uri;
use http::uri::InvalidUri;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use stampede_load::protocol::fastcgi::{self, Script};
use stampede_load::protocol::tls::{Certificates, Sessions, Setup, SetupError};
use stampede_load::spec::Wire;
use stampede_mask::mask_secrets;
use stampede_model::address::ChosenAddress;
use stampede_model::load::{Address, Addresses, Habits};
use stampede_traffic::{Request, TrafficError};

use crate::addresses::{self, AddressChoice, SilentAddress, is_here};
use crate::lookup::{Lookup, LookupError};
use crate::model::{Client, KeepAlive};

/// The server that a load sends requests to.
#[derive(Clone, Debug)]
pub struct Target {
    /// Addresses to connect to: the first of the name's, until [`Target::choose`] has tried all.
    pub addresses: Addresses,
    /// Value of the `Host` header.
    pub host: String,
    /// Path and query as the app sees them.
    pub path: String,
    /// Protocol of the connection.
    pub wire: Wire,
    /// The script that answers, for FastCGI only.
    script: Option<Script>,
    /// The name that was looked up, and all its addresses. A socket has none.
    name: String,
    found: Vec<SocketAddr>,
}

impl Target {
    /// Parses a URL and finds the host's addresses.
    ///
    /// # Errors
    /// The URL is wrong in a way that would send requests to an unintended place, the host has no
    /// address, or a replacement of `lookup` is not for it.
    pub fn parse(url: &str, lookup: &Lookup) -> Result<Target, TargetError> {
        Url::parse(url)?.resolve(lookup)
    }

    /// The script that answers; `None` unless the target is FastCGI.
    pub fn script(&self) -> Option<&Script> {
        self.script.as_ref()
    }

    /// Chooses addresses for a name with several. Tries each address that `may` allows once, and
    /// keeps those that accept a connection. Returns the fact for the report; `None` if the name
    /// has only one address, or if none is allowed.
    ///
    /// # Errors
    /// None of the allowed addresses accepts a connection.
    pub fn choose(
        &mut self,
        may: impl Fn(IpAddr) -> bool,
    ) -> Result<Option<ChosenAddress>, TargetError> {
        let tried: Vec<_> = self.found.iter().copied().filter(|one| may(one.ip())).collect();
        if self.found.len() < 2 || tried.is_empty() {
            return Ok(None);
        }
        let choice = AddressChoice::of(&tried);
        let fact = choice.fact(&self.name, &self.found);
        let taken: Vec<Address> = choice.taken.into_iter().map(Address::Tcp).collect();
        self.addresses = taken.try_into().map_err(|_| TargetError::NobodyAccepts {
            name: self.name.clone(),
            silent: choice.silent,
        })?;
        Ok(Some(fact))
    }

    /// Asks the server for another name in TLS (SNI): the one in a `Host` header, without its port.
    /// A browser sends the same name in both. An address is not sent.
    ///
    /// # Errors
    /// The header has something else than a name or an address.
    pub fn set_server_name(&mut self, host: &str) -> Result<(), TargetError> {
        let name = without_port(host);
        if let (Wire::Tls(_), false) = (&self.wire, name.is_empty()) {
            self.wire = Wire::Tls(Setup::new(name, Certificates::Any, Sessions::New)?);
        }
        Ok(())
    }

    /// Whether the address belongs to this machine.
    pub fn is_here(&self) -> bool {
        match self.addresses.first() {
            Address::Tcp(address) => is_here(address.ip()),
            Address::Unix(_) => true,
        }
    }

    /// Builds a request in the target's protocol. `path` is the target's own or another path.
    ///
    /// # Errors
    /// The result would not be one well-formed request.
    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
        habits: Habits,
    ) -> Result<Request, TrafficError> {
        match &self.script {
            None => Ok(Request::build(method, path, headers, body, habits, None)?),
            Some(script) => Ok(fastcgi::request(script, method, path, headers, body)?),
        }
    }

    /// Selects one connection per request for FastCGI, unless the user chose otherwise. Web servers
    /// do the same. A kept connection would occupy a php-fpm worker while other requests wait for
    /// one.
    pub fn settle(&self, client: &mut Client) {
        if self.script.is_some() && client.keep_alive == KeepAlive::Auto {
            client.keep_alive = KeepAlive::Off;
        }
    }
}

/// A parsed URL whose host is not resolved yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    scheme: Scheme,
    endpoint: Endpoint,
    host: String,
    path: String,
    script: Option<Script>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Http,
    Https,
    FastCgi,
}

impl Scheme {
    fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
            // The port in php-fpm's default configuration.
            Scheme::FastCgi => 9000,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Endpoint {
    Host { name: String, port: u16 },
    Socket(PathBuf),
}

impl Url {
    /// Parses a URL.
    ///
    /// # Errors
    /// The URL is wrong in a way that would send requests to an unintended place.
    pub fn parse(url: &str) -> Result<Url, TargetError> {
        for (prefix, scheme) in SOCKETS {
            if let Some(rest) = url.strip_prefix(prefix) {
                return unix(url, prefix, rest, scheme);
            }
        }
        let shown = mask_secrets(url);
        let uri: Uri = match url.parse() {
            Ok(uri) => uri,
            Err(source) => return Err(TargetError::NotAUrl { shown, source }),
        };
        let scheme = match uri.scheme_str() {
            Some("http") => Scheme::Http,
            Some("https") => Scheme::Https,
            Some("fcgi") => Scheme::FastCgi,
            Some(other) => return Err(TargetError::Protocol(other.to_owned())),
            None => return Err(TargetError::NoScheme(shown)),
        };
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            return Err(TargetError::User(shown));
        }
        let Some(host) = uri.host().filter(|host| !host.is_empty()) else {
            return Err(TargetError::NoHost(shown));
        };
        let port = match authority[host.len()..].strip_prefix(':').unwrap_or_default() {
            "" => scheme.port(),
            text => match text.parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(TargetError::Port { port: text.to_owned(), shown }),
            },
        };
        let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        // `http://host?query` asks for the root (RFC 3986 section 6.2.3).
        let path = &if path.starts_with('?') { format!("/{path}") } else { path.to_owned() };
        let host = if port == scheme.port() { host.to_owned() } else { format!("{host}:{port}") };
        Url::new(url, scheme, Endpoint::Host { name, port }, host, path)
    }

    fn new(
        url: &str,
        scheme: Scheme,
        endpoint: Endpoint,
        host: String,
        path: &str,
    ) -> Result<Url, TargetError> {
        if scheme != Scheme::FastCgi {
            return Ok(Url { scheme, endpoint, host, path: path.to_owned(), script: None });
        }
        let (script, path) =
            script(path).ok_or_else(|| TargetError::NoScript(mask_secrets(url)))?;
        // The address names a FastCGI server, not a site, so it is not used as the `Host`.
        Ok(Url { scheme, endpoint, host: LOCALHOST.to_owned(), path, script: Some(script) })
    }

    /// Finds the host's addresses: those of `lookup`, or else the system's.
    ///
    /// # Errors
    /// The host has no address, its name cannot be in a certificate, or a replacement of `lookup`
    /// is not for it.
    pub fn resolve(&self, lookup: &Lookup) -> Result<Target, TargetError> {
        let (address, server_name, name, found) = match &self.endpoint {
            Endpoint::Socket(path) => {
                lookup.refuse_for_socket()?;
                (Address::Unix(path.clone()), LOCALHOST, LOCALHOST.to_owned(), Vec::new())
            }
            Endpoint::Host { name, port } => {
                let (host, port) = lookup.place(name, *port)?;
                let found = match lookup.addresses(&host, port)? {
                    Some(given) => given,
                    None => resolve(&host, port)?,
                };
                (Address::Tcp(found[0]), name.as_str(), host, found)
            }
        };
        let wire = match self.scheme {
            Scheme::Http => Wire::Http1,
            Scheme::Https => Wire::Tls(Setup::new(server_name, Certificates::Any, Sessions::New)?),
            Scheme::FastCgi => Wire::FastCgi,
        };
        let (host, path, script) = (self.host.clone(), self.path.clone(), self.script.clone());
        Ok(Target { addresses: address.into(), host, path, wire, script, name, found })
    }

    /// Path and query as the app sees them; `/` if the URL has none.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether the protocol is HTTP without TLS.
    pub fn is_plain_http(&self) -> bool {
        self.scheme == Scheme::Http
    }
}

fn unix(url: &str, prefix: &'static str, rest: &str, scheme: Scheme) -> Result<Url, TargetError> {
    let (socket, path) = &encoded_socket(rest).unwrap_or_else(|| {
        let (socket, path) = rest.split_once(':').unwrap_or((rest, "/"));
        (socket.to_owned(), path.to_owned())
    });
    match socket.len() {
        0 => Err(TargetError::NoSocket(prefix)),
        1..=SOCKET_PATH_MAX => {
            let endpoint = Endpoint::Socket(PathBuf::from(socket));
            Url::new(url, scheme, endpoint, LOCALHOST.to_owned(), path)
        }
        length => Err(TargetError::LongSocket(length)),
    }
}

/// Reads a socket in place of the host, percent-encoded, as other programs write it:
/// `//%2Frun%2Fapp.sock/path`.
fn encoded_socket(rest: &str) -> Option<(String, String)> {
    let rest = rest.strip_prefix("//")?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (socket, path) = rest.split_at(end);
    let socket = percent_decode_str(socket.trim_end_matches(':')).decode_utf8().ok()?;
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    socket.starts_with('/').then(|| (socket.into_owned(), path))
}

/// Splits the path of a FastCGI URL into the script, and the path and query that the app sees. The
/// app sees what follows the script, as behind a front controller, or else the script's own name.
/// The script ends with `.php`. A path without `.php` is the script as a whole, such as php-fpm's
/// own `/status`.
fn script(path: &str) -> Option<(Script, String)> {
    let (file, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut ends = file.match_indices(".php").map(|(at, php)| at + php.len());
    let end = ends.find(|end| file[*end..].is_empty() || file[*end..].starts_with('/'));
    let (written, rest) = file.split_at(end.unwrap_or(file.len()));
    let filename = percent_decode_str(written).decode_utf8().ok()?;
    let name = &written[written.rfind('/')?..];
    if name == "/" || !written.starts_with('/') || filename.contains('\0') {
        return None;
    }
    let seen = if rest.is_empty() { name } else { rest };
    Some((Script::new(filename), format!("{seen}{query}")))
}

/// Returns the name or address in a `Host` header: `shop.example:8443`, `[::1]:8443`, `::1`.
fn without_port(host: &str) -> &str {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    match host.split_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// Returns at least one address.
fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, TargetError> {
    let unknown = |source| TargetError::NoAddress { host: host.to_owned(), source };
    let addresses = addresses::of(host, port).map_err(|error| unknown(Some(error)))?;
    if addresses.is_empty() { Err(unknown(None)) } else { Ok(addresses) }
}

/// Why a text is not a usable target.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetError {
    /// The text is not a URL.
    #[error("`{shown}` is not a URL")]
    NotAUrl {
        /// The text as given, with secrets masked.
        shown: String,
        /// The parser's error.
        #[serde(skip)]
        source: InvalidUri,
    },
    /// A protocol that stampede does not speak, such as FTP.
    #[error("`{0}` is not a protocol that stampede speaks")]
    Protocol(String),
    /// The URL has no protocol.
    #[error("`{0}` has no http://")]
    NoScheme(String),
    /// The URL has a user: `user@host`.
    #[error("`{0}` has a user in it, which is not sent")]
    User(String),
    /// The URL has no host.
    #[error("`{0}` has no host")]
    NoHost(String),
    /// The port is not valid.
    #[error("port `{port}` of `{shown}` is not a number from 1 to 65535")]
    Port {
        /// The port as written.
        port: String,
        /// The URL with secrets masked.
        shown: String,
    },
    /// `unix:` or `fcgi+unix:` without a path.
    #[error("`{0}` has no path of a socket")]
    NoSocket(&'static str),
    /// A FastCGI URL without a script. A FastCGI server must get the script's name.
    #[error("`{0}` names no script")]
    NoScript(String),
    /// The socket's path is longer than `sun_path`.
    #[error("the socket's path has {0} bytes and the system takes {SOCKET_PATH_MAX} at most")]
    LongSocket(usize),
    /// The host's name cannot be resolved.
    #[error("no address for `{host}`")]
    NoAddress {
        /// The host.
        host: String,
        /// The system's error; `None` if the system returned an empty list.
        #[serde(skip)]
        source: Option<io::Error>,
    },
    /// The name has several addresses, and none accepts a connection.
    #[error("none of the addresses of `{name}` accepts a connection: {}", all(silent))]
    NobodyAccepts {
        /// The name.
        name: String,
        /// The addresses that were tried, with the system's errors.
        silent: Vec<SilentAddress>,
    },
    /// TLS cannot be used with this host's name.
    #[error(transparent)]
    Tls(
        #[serde(skip)]
        #[from]
        SetupError,
    ),
    /// A replacement of the lookup cannot be used.
    #[error(transparent)]
    #[serde(untagged)]
    Lookup(#[from] LookupError),
}

impl TargetError {
    /// What to write instead; `None` if there is no advice.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            TargetError::User(_) => Some("give it as a header: -H 'Authorization: …'"),
            TargetError::NoScript(_) => Some(
                "write it as fcgi://127.0.0.1:9000/var/www/index.php/path, the script as \
                 php-fpm finds it on its disk, then the path that the app sees",
            ),
            TargetError::NoAddress { .. } => {
                Some("look whether it is written right, or give the address: http://127.0.0.1/path")
            }
            TargetError::NobodyAccepts { .. } => Some(
                "start the server, or correct host and port; `ss -ltn` lists what listens on a \
                 machine",
            ),
            TargetError::Lookup(error) => Some(error.hint()),
            TargetError::Tls(_) => Some(
                "TLS asks for the name in the URL, or in -H 'Host: …': write it in ASCII, \
                 such as shop.example or xn--caf-dma.example",
            ),
            _ => Some(
                "write it as http://127.0.0.1:8080/path, https://…, unix:/run/app.sock:/path, or \
                 fcgi://127.0.0.1:9000/var/www/index.php/path for php-fpm itself",
            ),
        }
    }
}

/// Lists addresses, each with its error.
fn all(silent: &[SilentAddress]) -> String {
    let all = silent.iter().map(|one| format!("{}: {}", one.address, one.error));
    all.collect::<Vec<_>>().join("; ")
}

const SOCKETS: [(&str, Scheme); 3] =
    [("unix:", Scheme::Http), ("http+unix:", Scheme::Http), ("fcgi+unix:", Scheme::FastCgi)];
const LOCALHOST: &str = "localhost";
/// Size of `sun_path` without its final NUL (unix(7)).
const SOCKET_PATH_MAX: usize = 107;

#[cfg(test)]
mod tests;
