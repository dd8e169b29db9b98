//! Reads the address of the target, and finds placeholders that some other program would have
//! filled in.

use std::sync::Arc;

use crate::error::{Help, Mistake, Place, PlanError, Source};
use crate::tree::{Node, shortened};
use crate::urls;
use crate::value::{not_a, text};

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// `http://host:port`, or what was given beside the file.
    pub url: String,
    /// The value of `Host`.
    pub host: String,
}

/// How the connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Http,
    Https,
}

impl Target {
    /// The target that was given on the command line.
    pub fn of_url(url: &str) -> Target {
        let (host, _) = urls::parts(url);
        // A unix socket has no host; this is also what is sent there otherwise.
        Target { url: url.to_owned(), host: host.unwrap_or("localhost").to_owned() }
    }

    /// Reads `host`, or `host:port`. `port` is that of a key of its own, which goes first.
    pub fn read(node: &Node, port: Option<&Node>, scheme: Scheme) -> Result<Target, PlanError> {
        is_filled(node)?;
        let address = text(node, "an address", EXPECTED)?.trim();
        let (host, own) = match address.rsplit_once(':') {
            // The colons of an IPv6 address without a port are all inside its brackets.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (address, None),
        };
        // Tank takes names in brackets too.
        let name = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = name.filter(|name| !name.contains(':')).unwrap_or(host);
        let bad = host.is_empty() || host.contains(['/', '@', ' ', '?', '#']);
        if bad || own.is_some_and(|port| !is_port(port)) {
            return Err(not_a(node, "an address", EXPECTED));
        }
        let port = match port {
            Some(node) => {
                is_filled(node)?;
                match text(node, "a port", PORT)?.trim() {
                    port if is_port(port) => Some(port),
                    _ => return Err(not_a(node, "a port", PORT)),
                }
            }
            None => own,
        };
        let host = port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let scheme = match scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        Ok(Target { url: format!("{scheme}://{host}"), host })
    }
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok_and(|port| port > 0)
}

/// Refuses a text with a placeholder in it.
pub(super) fn is_filled(node: &Node) -> Result<(), PlanError> {
    let Some((offset, found)) = node.text().and_then(placeholder) else { return Ok(()) };
    Err(unfilled(&node.inside(offset, found.len()), found))
}

/// The error of the first placeholder in the line of `place`. `None`: it has none.
pub(super) fn placeholder_around(place: &Place, source: &Arc<Source>) -> Option<PlanError> {
    let (line, _) = place.line_column();
    let begin: usize = source.text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let (offset, found) = placeholder(source.text[begin..].lines().next()?)?;
    let place = Place { source: Arc::clone(source), offset: begin + offset, length: found.len() };
    Some(unfilled(&place, found))
}

fn unfilled(place: &Place, found: &str) -> PlanError {
    place.wrong(Mistake::Placeholder(shortened(found)), Help::todo(FILL_IN))
}

/// The first placeholder of a text, with its offset: `${HOST}`, `$HOST`, `{{ host }}`,
/// `{% if %}`, `%(host)s`, `<host>`.
fn placeholder(text: &str) -> Option<(usize, &str)> {
    const PAIRS: [(&str, &str); 5] =
        [("${", "}"), ("{{", "}}"), ("{%", "%}"), ("%(", ")s"), ("<", ">")];
    let paired = PAIRS.iter().filter_map(|(open, close)| {
        let begin = text.find(open)?;
        let end = begin + open.len() + text[begin + open.len()..].find(close)? + close.len();
        Some((begin, &text[begin..end]))
    });
    let of_shell = text.match_indices('$').find_map(|(begin, _)| {
        let name = &text[begin + 1..];
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = name.find(|c| !is_name(c)).unwrap_or(name.len());
        (length > 0).then(|| (begin, &text[begin..=begin + length]))
    });
    paired.chain(of_shell).min_by_key(|(begin, _)| *begin)
}

/// What an address looks like.
pub(super) const EXPECTED: &str = "`host:port`, such as `127.0.0.1:8080` or `[::1]:80`";
const PORT: &str = "a port from 1 to 65 535";
const FILL_IN: &str = "write the value itself, for stampede fills in no variables; the target may \
                       also be given as a URL beside `--tank`, and the request file as `--traffic`";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn placeholders_of_several_tools_are_found() {
        for (text, found) in [
            ("${HOST}:80", Some((0, "${HOST}"))),
            ("a.$ENV.example:80", Some((2, "$ENV"))),
            ("{{ host }}:{{ port }}", Some((0, "{{ host }}"))),
            ("{% if a %}b", Some((0, "{% if a %}"))),
            ("%(host)s:80", Some((0, "%(host)s"))),
            ("<target>:80", Some((0, "<target>"))),
            ("[::1]:80", None),
            ("a$:80", None),
            ("a{b", None),
            ("${open", None),
        ] {
            assert_eq!(placeholder(text), found, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn what_is_found_stands_in_the_text(text in "[${}%()<>a-z_\u{e9} ]{0,20}") {
            if let Some((offset, found)) = placeholder(&text) {
                prop_assert_eq!(text.get(offset..offset + found.len()), Some(found));
            }
        }
    }
}
