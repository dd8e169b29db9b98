//! Where a URL points: `http://host:port/path` or `unix:/run/app.sock:/path`.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

use stampede_load::spec::Address;
use ureq::http::Uri;

use super::Failure;
use crate::store::mask_secrets;

/// What a load fires at.
#[derive(Debug)]
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
    pub fn parse(url: &str) -> Result<Target, Failure> {
        if let Some(rest) = url.strip_prefix("unix:") {
            return unix(rest);
        }
        let shown = mask_secrets(url);
        let wrong = |text: String| Failure::rendered(text).hint(URL_HINT);
        let uri: Uri =
            url.parse().map_err(|error| wrong(format!("`{shown}` is not a URL: {error}")))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some(other) => {
                return Err(wrong(format!("`{other}` is not a protocol that `fire` speaks yet")));
            }
            None => return Err(wrong(format!("`{shown}` has no http://"))),
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') {
            let text = format!("`{shown}` has a user in it, which is not sent");
            return Err(Failure::rendered(text).hint("give it as a header: -H 'Authorization: …'"));
        }
        let host = uri.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| wrong(format!("`{shown}` has no host")))?;
        let port = match authority[host.len()..].strip_prefix(':').unwrap_or_default() {
            "" => 80,
            text => text.parse().ok().filter(|port| *port > 0).ok_or_else(|| {
                wrong(format!("port `{text}` of `{shown}` is not a number from 1 to 65535"))
            })?,
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let address = Address::Tcp(resolve(bare, port)?);
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let host = if port == 80 { host.to_owned() } else { format!("{host}:{port}") };
        Ok(Target { address, host, path })
    }
}

fn unix(rest: &str) -> Result<Target, Failure> {
    let (socket, path) = rest.split_once(':').unwrap_or((rest, "/"));
    let text = match socket.len() {
        0 => "`unix:` has no path of a socket".to_owned(),
        1..=SOCKET_PATH_MAX => {
            let address = Address::Unix(PathBuf::from(socket));
            return Ok(Target { address, host: "localhost".to_owned(), path: path.to_owned() });
        }
        length => format!(
            "the socket's path has {length} bytes and the system takes {SOCKET_PATH_MAX} at most"
        ),
    };
    Err(Failure::rendered(text).hint(URL_HINT))
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr, Failure> {
    let found = (host, port).to_socket_addrs();
    let mut addresses =
        found.map_err(|error| Failure::rendered(format!("no address for `{host}`: {error}")))?;
    addresses.next().ok_or_else(|| Failure::rendered(format!("no address for `{host}`")))
}

/// `sun_path` without its closing NUL (unix(7)).
const SOCKET_PATH_MAX: usize = 107;
const URL_HINT: &str = "write it as http://127.0.0.1:8080/path, or unix:/run/app.sock:/path";

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> (String, String, String) {
        let target = Target::parse(url).unwrap_or_else(|error| panic!("{url}: {}", error.text()));
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
        let errors = urls.map(|url| Target::parse(url).expect_err(url).text());
        insta::assert_snapshot!(errors.join("\n"));
    }
}
