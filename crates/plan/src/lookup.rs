//! Replaces the lookup of a URL's host, as curl's `--connect-to` and `--resolve` do: first another
//! host and port, then addresses for them. The URL, the `Host` header and the name in TLS stay.
//! They are flags of `fire`, and keys of an external runtime in a plan.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// Where connections go instead of the addresses that the system finds for the URL's host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Lookup {
    connect_to: Vec<ConnectTo>,
    resolve: Vec<Resolve>,
}

/// The replacements as texts.
#[derive(Serialize, Deserialize)]
struct Written {
    connect_to: Vec<String>,
    resolve: Vec<String>,
}

impl TryFrom<Written> for Lookup {
    type Error = LookupError;

    fn try_from(written: Written) -> Result<Lookup, LookupError> {
        Lookup::parse(&written.connect_to, &written.resolve)
    }
}

impl From<Lookup> for Written {
    fn from(lookup: Lookup) -> Written {
        Written {
            connect_to: lookup.connect_to.into_iter().map(|one| one.written).collect(),
            resolve: lookup.resolve.into_iter().map(|one| one.written).collect(),
        }
    }
}

/// `HOST1:PORT1:HOST2:PORT2`. An empty part on the left matches any, and one on the right keeps
/// what the URL has.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ConnectTo {
    written: String,
    from: (Option<String>, Option<u16>),
    to: (Option<String>, Option<u16>),
}

/// `HOST:PORT:ADDRESS[,ADDRESS…]`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Resolve {
    written: String,
    /// `None`: any host, written as `*`.
    host: Option<String>,
    port: u16,
    /// At least one, each once.
    addresses: Vec<IpAddr>,
}

/// The two kinds of replacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// Another host and port.
    ConnectTo,
    /// The addresses of a host.
    Resolve,
}

/// The name of the flag, without its dashes.
impl fmt::Display for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Replacement::ConnectTo => "connect-to",
            Replacement::Resolve => "resolve",
        })
    }
}

impl Replacement {
    fn form(self) -> &'static str {
        match self {
            Replacement::ConnectTo => "HOST1:PORT1:HOST2:PORT2",
            Replacement::Resolve => "HOST:PORT:ADDRESS[,ADDRESS…]",
        }
    }
}

/// Why a replacement cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LookupError {
    /// The text has too few or too many parts, or an empty one that is needed.
    #[error("`{written}` in `{kind}` is not {}", kind.form())]
    WrongForm {
        /// Which replacement it is.
        kind: Replacement,
        /// The text as given.
        written: String,
    },
    /// A port is not valid.
    #[error("port `{port}` of `{written}` in `{kind}` is not a number from 1 to 65535")]
    WrongPort {
        /// Which replacement it is.
        kind: Replacement,
        /// The text as given.
        written: String,
        /// The port as written.
        port: String,
    },
    /// An address is not an IP address.
    #[error("`{address}` of `{written}` in `resolve` is not an IP address")]
    NotAnAddress {
        /// The text as given.
        written: String,
        /// The address as written.
        address: String,
    },
    /// No replacement of this kind is for the host and port that are connected to.
    #[error("`{written}` in `{kind}` is not for `{host}:{port}`, where the requests go")]
    UnusedReplacement {
        /// Which replacement it is.
        kind: Replacement,
        /// The first one as given.
        written: String,
        /// The host that is connected to.
        host: String,
        /// Its port.
        port: u16,
    },
    /// The target is a Unix socket, for which nothing is looked up.
    #[error("`{written}` in `{kind}` has no effect on a Unix socket")]
    ReplacementForSocket {
        /// Which replacement it is.
        kind: Replacement,
        /// The first one as given.
        written: String,
    },
}

impl LookupError {
    /// What to write instead.
    pub fn hint(&self) -> &'static str {
        match self {
            LookupError::UnusedReplacement { kind: Replacement::ConnectTo, .. } => {
                "host and port must be those of the URL; leave them empty to match any: \
                 ::127.0.0.1:8080"
            }
            LookupError::UnusedReplacement { .. } => {
                "host and port must be those of the URL (443 for https:// without one) or those of \
                 `connect-to`; `*` matches any host"
            }
            LookupError::ReplacementForSocket { .. } => "leave it out, or write an http:// URL",
            LookupError::WrongForm { kind: Replacement::ConnectTo, .. }
            | LookupError::WrongPort { kind: Replacement::ConnectTo, .. } => {
                "write it as shop.example:443:127.0.0.1:8443, an IPv6 address in brackets: [::1]"
            }
            _ => {
                "write it as shop.example:443:127.0.0.1, several addresses with commas: \
                 127.0.0.2,127.0.0.3"
            }
        }
    }
}

impl Lookup {
    /// Parses the values of the two flags.
    ///
    /// # Errors
    /// A value has not the form that curl takes.
    pub fn parse(connect_to: &[String], resolve: &[String]) -> Result<Lookup, LookupError> {
        Ok(Lookup {
            connect_to: connect_to
                .iter()
                .map(|text| ConnectTo::parse(text))
                .collect::<Result<_, _>>()?,
            resolve: resolve.iter().map(|text| Resolve::parse(text)).collect::<Result<_, _>>()?,
        })
    }

    /// Whether nothing is replaced.
    pub fn is_empty(&self) -> bool {
        *self == Lookup::default()
    }

    /// The host and port to connect to for those of a URL. The first `--connect-to` that matches is
    /// used.
    ///
    /// # Errors
    /// None of them matches.
    pub(crate) fn place(&self, host: &str, port: u16) -> Result<(String, u16), LookupError> {
        let matching = self.connect_to.iter().find(|one| {
            let (from_host, from_port) = &one.from;
            from_host.as_deref().is_none_or(|from| is_same(from, host))
                && from_port.is_none_or(|from| from == port)
        });
        match (matching, self.connect_to.first()) {
            (Some(one), _) => {
                let (to_host, to_port) = &one.to;
                let to_host = to_host.clone().unwrap_or_else(|| host.to_owned());
                Ok((to_host, to_port.unwrap_or(port)))
            }
            (None, None) => Ok((host.to_owned(), port)),
            (None, Some(first)) => Err(unused(Replacement::ConnectTo, &first.written, host, port)),
        }
    }

    /// The addresses that are given for a host and port; `None`: the system is to look the host up.
    /// The last `--resolve` for the host is used, or else the last for any host.
    ///
    /// # Errors
    /// None of them is for this host and port.
    pub(crate) fn addresses(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Option<Vec<SocketAddr>>, LookupError> {
        let of_port = || self.resolve.iter().rev().filter(|one| one.port == port);
        let own = of_port().find(|one| one.host.as_deref().is_some_and(|own| is_same(own, host)));
        match (own.or_else(|| of_port().find(|one| one.host.is_none())), self.resolve.first()) {
            (Some(one), _) => {
                Ok(Some(one.addresses.iter().map(|ip| SocketAddr::new(*ip, port)).collect()))
            }
            (None, None) => Ok(None),
            (None, Some(first)) => Err(unused(Replacement::Resolve, &first.written, host, port)),
        }
    }

    /// Refuses replacements for a Unix socket.
    ///
    /// # Errors
    /// There is one.
    pub(crate) fn refuse_for_socket(&self) -> Result<(), LookupError> {
        let connect_to = self.connect_to.iter().map(|one| (Replacement::ConnectTo, &one.written));
        let resolve = self.resolve.iter().map(|one| (Replacement::Resolve, &one.written));
        match connect_to.chain(resolve).next() {
            None => Ok(()),
            Some((kind, written)) => {
                Err(LookupError::ReplacementForSocket { kind, written: written.clone() })
            }
        }
    }
}

impl ConnectTo {
    fn parse(written: &str) -> Result<ConnectTo, LookupError> {
        let form = || wrong_form(Replacement::ConnectTo, written);
        let (from_host, rest) = host_before(written).ok_or_else(form)?;
        let (from_port, rest) = rest.and_then(|rest| rest.split_once(':')).ok_or_else(form)?;
        let (to_host, rest) = host_before(rest).ok_or_else(form)?;
        // Like curl: the last colon may be missing.
        let to_port = rest.unwrap_or_default();
        let port = |text: &str| match text {
            "" => Ok(None),
            text => port(Replacement::ConnectTo, written, text).map(Some),
        };
        Ok(ConnectTo {
            written: written.to_owned(),
            from: (some(from_host), port(from_port)?),
            to: (some(to_host), port(to_port)?),
        })
    }
}

impl Resolve {
    fn parse(written: &str) -> Result<Resolve, LookupError> {
        let form = || wrong_form(Replacement::Resolve, written);
        // In curl a plus lets the entry expire, which makes no difference for one load.
        let (host, rest) =
            host_before(written.strip_prefix('+').unwrap_or(written)).ok_or_else(form)?;
        let (port_text, list) = rest.and_then(|rest| rest.split_once(':')).ok_or_else(form)?;
        if host.is_empty() || port_text.is_empty() || list.is_empty() {
            return Err(form());
        }
        let mut addresses = Vec::new();
        for one in list.split(',') {
            let bare = one.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            let ip: IpAddr = bare.unwrap_or(one).parse().map_err(|_| {
                LookupError::NotAnAddress { written: written.to_owned(), address: one.to_owned() }
            })?;
            if !addresses.contains(&ip) {
                addresses.push(ip);
            }
        }
        Ok(Resolve {
            written: written.to_owned(),
            host: (host != "*").then(|| host.to_owned()),
            port: port(Replacement::Resolve, written, port_text)?,
            addresses,
        })
    }
}

/// Splits off the host that a text begins with, without the brackets of an IPv6 address. Returns
/// what follows the next colon; `None`: nothing follows.
fn host_before(text: &str) -> Option<(&str, Option<&str>)> {
    match text.strip_prefix('[') {
        None => Some(match text.split_once(':') {
            Some((host, rest)) => (host, Some(rest)),
            None => (text, None),
        }),
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            match rest {
                "" => Some((host, None)),
                rest => Some((host, Some(rest.strip_prefix(':')?))),
            }
        }
    }
}

fn port(kind: Replacement, written: &str, text: &str) -> Result<u16, LookupError> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let port = Some(text).filter(|_| is_number).and_then(|text| text.parse().ok());
    port.filter(|port| *port > 0).ok_or_else(|| LookupError::WrongPort {
        kind,
        written: written.to_owned(),
        port: text.to_owned(),
    })
}

fn some(host: &str) -> Option<String> {
    (!host.is_empty()).then(|| host.to_owned())
}

fn wrong_form(kind: Replacement, written: &str) -> LookupError {
    LookupError::WrongForm { kind, written: written.to_owned() }
}

fn unused(kind: Replacement, written: &str, host: &str, port: u16) -> LookupError {
    LookupError::UnusedReplacement {
        kind,
        written: written.to_owned(),
        host: host.to_owned(),
        port,
    }
}

/// Whether two hosts are the same: one address, or one name in any case, with or without the dot of
/// an absolute name.
fn is_same(one: &str, other: &str) -> bool {
    match (one.parse::<IpAddr>(), other.parse::<IpAddr>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => {
            let bare = |name: &str| name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
            bare(one) == bare(other)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(connect_to: &[&str], resolve: &[&str]) -> Result<Lookup, LookupError> {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        Lookup::parse(&owned(connect_to), &owned(resolve))
    }

    #[test]
    fn the_first_matching_place_is_connected_to() {
        let table: [(&[&str], (&str, u16)); 12] = [
            (&[], ("shop.test", 443)),
            (&["shop.test:443:other.test:8443"], ("other.test", 8443)),
            (&["SHOP.test.:443:other.test:8443"], ("other.test", 8443)),
            (&["::127.0.0.1:8080"], ("127.0.0.1", 8080)),
            (&["::127.0.0.1:"], ("127.0.0.1", 443)),
            (&["::127.0.0.1"], ("127.0.0.1", 443)),
            (&[":443::8443"], ("shop.test", 8443)),
            (&["shop.test::[::1]:1"], ("::1", 1)),
            (&["::[::1]"], ("::1", 443)),
            (&["a.test:443:b.test:1", "::c.test:2", "::d.test:3"], ("c.test", 2)),
            (&[":::"], ("shop.test", 443)),
            (&["::"], ("shop.test", 443)),
        ];
        for (connect_to, (host, port)) in table {
            let lookup = lookup(connect_to, &[]).expect("replacements");
            let place = lookup.place("shop.test", 443);
            assert_eq!(place, Ok((host.to_owned(), port)), "{connect_to:?}");
        }
        let of_address = lookup(&["[0:0::1]:80:a.test:1"], &[]).expect("a replacement");
        assert_eq!(of_address.place("::1", 80), Ok(("a.test".to_owned(), 1)));
    }

    #[test]
    fn the_last_entry_of_a_host_goes_before_any_for_all_hosts() {
        let table: [(&[&str], &str); 9] = [
            (&["shop.test:80:127.0.0.1"], "127.0.0.1:80"),
            (&["+Shop.Test:80:127.0.0.1"], "127.0.0.1:80"),
            (&["shop.test.:80:127.0.0.2,127.0.0.3"], "127.0.0.2:80 127.0.0.3:80"),
            (&["shop.test:80:127.0.0.2,127.0.0.2"], "127.0.0.2:80"),
            (&["shop.test:80:[::1],127.0.0.1"], "[::1]:80 127.0.0.1:80"),
            (&["shop.test:80:::1"], "[::1]:80"),
            (&["*:80:127.0.0.1"], "127.0.0.1:80"),
            (&["shop.test:80:127.0.0.1", "*:80:127.0.0.2", "*:81:127.0.0.9"], "127.0.0.1:80"),
            (&["shop.test:80:127.0.0.1", "shop.test:80:127.0.0.2"], "127.0.0.2:80"),
        ];
        for (resolve, expected) in table {
            let lookup = lookup(&[], resolve).expect("replacements");
            let found = lookup.addresses("shop.test", 80).expect("a match").expect("addresses");
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), expected, "{resolve:?}");
        }
        assert_eq!(Lookup::default().addresses("shop.test", 80), Ok(None));
        let of_address = lookup(&[], &["[::1]:80:127.0.0.1"]).expect("a replacement");
        assert!(of_address.addresses("::1", 80).is_ok_and(|found| found.is_some()));
    }

    #[test]
    fn odd_values_are_refused_by_kind() {
        for odd in
            ["", ":", "a", "a:1", "[::1", "[::1]x:1:b:2", "[::1]:1", "a:1:[::1:2", "a:1:[::1]2"]
        {
            let error = lookup(&[odd], &[]).expect_err(odd);
            assert!(matches!(error, LookupError::WrongForm { .. }), "{odd}: {error}");
        }
        for odd in
            ["a:0:b:1", "a:x:b:1", "a:1:b:65536", "a:1:b:2:3", "a:+1:b:2", "a:1:b: 2", "a:1:::1"]
        {
            let error = lookup(&[odd], &[]).expect_err(odd);
            assert!(matches!(error, LookupError::WrongPort { .. }), "{odd}: {error}");
        }
        for odd in [
            "",
            "a",
            "a:80",
            "a:80:",
            ":80:127.0.0.1",
            "a::127.0.0.1",
            "-a:80",
            "[::1:80:127.0.0.1",
        ] {
            let error = lookup(&[], &[odd]).expect_err(odd);
            assert!(matches!(error, LookupError::WrongForm { .. }), "{odd}: {error}");
        }
        for odd in ["a:0:127.0.0.1", "a:http:127.0.0.1", "a:70000:127.0.0.1", "a:-1:127.0.0.1"] {
            let error = lookup(&[], &[odd]).expect_err(odd);
            assert!(matches!(error, LookupError::WrongPort { .. }), "{odd}: {error}");
        }
        for odd in
            ["a:80:b", "a:80:127.0.0.1,", "a:80:127.0.0.1:81", "a:80:[127.0.0.1", "a:80:127.1"]
        {
            let error = lookup(&[], &[odd]).expect_err(odd);
            assert!(matches!(error, LookupError::NotAnAddress { .. }), "{odd}: {error}");
        }
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn every_mistake_says_what_to_write() {
        let unused = lookup(&["a.test:80:b.test:81"], &["shop.test:80:127.0.0.1"]).expect("both");
        let errors = [
            lookup(&["a.test:80"], &[]).expect_err("two parts"),
            lookup(&["a.test:80:b.test:0"], &[]).expect_err("a port"),
            lookup(&[], &["shop.test:127.0.0.1"]).expect_err("two parts"),
            lookup(&[], &["shop.test:http:127.0.0.1"]).expect_err("a port"),
            lookup(&[], &["shop.test:80:localhost"]).expect_err("an address"),
            unused.place("shop.test", 443).expect_err("another host"),
            unused.addresses("shop.test", 443).expect_err("another port"),
            unused.refuse_for_socket().expect_err("a socket"),
        ];
        let errors = errors.map(|error| format!("{error}\nhint: {}\n", error.hint()));
        insta::assert_snapshot!(errors.join("\n"));
    }
}
