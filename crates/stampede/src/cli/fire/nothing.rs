//! Explains a load without a correct answer, and what to do next. All its figures are those of
//! failures. So a script that checks only the exit code must notice it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use stampede_load::report::LoadResult;
use stampede_load::spec::{Load, Wire};
use stampede_mask::{mask_foreign, mask_secrets};
use stampede_model::counts::End;
use stampede_model::fact::nothing::{FailedRequests, Kind, NoRequest, Nothing};
use stampede_model::failure::{FailureKind, Net};
use stampede_model::load::Address;
use stampede_model::words;
use stampede_plan::addresses;

use super::ready::PreparedLoad;
use super::report::Report;
use crate::cli::fail::CommandError;

/// Returns why a load has no correct answer. `None`: there is one, or no request was due, or the
/// user stopped the load. The last counts only if some request was answered or none had ended.
pub fn of(result: &LoadResult, is_stopped_by_rule: bool, load: &Load) -> Option<Nothing> {
    let counts = &result.counts;
    let was_answered = counts.failed.keys().any(|kind| FailureKind::of(kind).is_answered());
    let has_ended = result.examples.iter().any(|example| example.at <= result.scheduled);
    let is_interrupted = result.end == End::Stopped && !is_stopped_by_rule;
    if counts.ok > 0 || is_interrupted && (was_answered || !has_ended) {
        return None;
    }
    let target = load.target.to_string();
    if counts.planned == 0 {
        let failed = result.traffic.failed.clone().map(NoRequest::Failed);
        let broken = || {
            let (line, error) = result.traffic.broken_first.clone()?;
            Some(NoRequest::Broken { line, error })
        };
        let (kind, failures, file) = (Kind::Unsent, Vec::new(), failed.or_else(broken)?);
        return Some(Nothing { kind, target, failures, others: 0, dropped: 0, file: Some(file) });
    }
    let kinds = by_frequency(&counts.failed);
    Some(Nothing {
        kind: if was_answered { Kind::Incorrect } else { Kind::Unanswered },
        target,
        failures: kinds
            .iter()
            .take(KINDS_MAX)
            .map(|(kind, n)| failed_requests(kind, *n, result, load))
            .collect(),
        others: kinds.iter().skip(KINDS_MAX).map(|(_, count)| count).sum(),
        dropped: counts.dropped,
        file: None,
    })
}

/// A load without a correct answer, as an error.
#[derive(Debug, thiserror::Error)]
pub enum NothingError {
    /// No request was answered correctly.
    #[error("{nothing}")]
    NothingCorrect {
        /// How far the load got, and why.
        nothing: Nothing,
        /// What happened most often; `None`: no request was to be sent.
        symptom: Option<Symptom>,
    },
}

/// What happened most often in a load without a correct answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Symptom {
    /// Requests were dropped before they were sent.
    Dropped,
    /// Nothing listens on the address, and something listens on another one of this machine.
    ListensElsewhere {
        /// The address in the URL.
        address: SocketAddr,
        /// The address on which something listens.
        other: SocketAddr,
    },
    /// There was no whole answer.
    Network {
        /// The reason.
        why: Net,
        /// Whether the target is a Unix socket.
        is_unix: bool,
        /// The name that TLS asked for (SNI); `None`: there is no TLS.
        server_name: Option<String>,
    },
    /// The answers redirected to the URL that was requested.
    RedirectedBack {
        /// Status of the answers.
        status: u16,
    },
    /// The answers redirected to another page of the same host.
    Redirected {
        /// Status of the answers.
        status: u16,
        /// The URL of that page.
        url: String,
    },
    /// The answers redirected to HTTPS, to another host, or to both.
    RedirectedAway {
        /// Status of the answers.
        status: u16,
        /// The URL to which they redirected.
        url: String,
        /// What the server wants of a request.
        wants: Wants,
    },
    /// The answers had another status than the correct ones.
    Status {
        /// Status of the answers.
        status: u16,
    },
    /// The answers broke the check, or failed in a way that is not known.
    Check,
}

/// What a server wants that redirects to HTTPS or to another host.
#[derive(Debug, PartialEq, Eq)]
pub enum Wants {
    /// HTTPS.
    Https,
    /// Another host.
    Host(String),
    /// HTTPS, and another host.
    HttpsAndHost(String),
}

impl NothingError {
    /// Looks for what happened most often.
    pub fn of(nothing: &Nothing, report: &Report, ready: &PreparedLoad) -> NothingError {
        let first = by_frequency(&report.errors).into_iter().next();
        let symptom = match (nothing.kind, first) {
            (Kind::Unsent, _) => None,
            (_, None) => Some(Symptom::Dropped),
            (_, Some((kind, _))) => Some(match FailureKind::of(kind) {
                FailureKind::Net(why) => of_network(why, ready),
                FailureKind::Http(status) => of_status(status, report, ready),
                FailureKind::Check | FailureKind::Unknown => Symptom::Check,
            }),
        };
        NothingError::NothingCorrect { nothing: nothing.clone(), symptom }
    }
}

impl CommandError for NothingError {
    fn hint(&self) -> Option<String> {
        let NothingError::NothingCorrect { symptom, .. } = self;
        symptom.as_ref().map(Symptom::remedy)
    }
}

impl Symptom {
    /// Returns what may help.
    fn remedy(&self) -> String {
        match self {
            Symptom::Dropped => "look at what the summary says of dropped requests".to_owned(),
            Symptom::ListensElsewhere { address, other } => format!(
                "nothing listens on {address}; something listens on {other}: write that address in the URL"
            ),
            Symptom::Network { why: Net::Tls, server_name: Some(name), .. } => format!(
                "check that the server speaks HTTPS and has a site for `{name}`, the name that TLS \
                 asked for (SNI); `-H 'Host: …'` asks for another"
            ),
            Symptom::Network { why, is_unix, .. } => against_network(*why, *is_unix).to_owned(),
            Symptom::RedirectedBack { status } => format!(
                "it leads back to the same URL: the server may want a cookie (`--cookie`) or another name \
                 (`-H 'Host: …'`); or {}",
                accept(*status)
            ),
            Symptom::Redirected { status, url } => {
                format!("send the requests to `{url}`, or {}", accept(*status))
            }
            Symptom::RedirectedAway { status, url, wants } => {
                format!("{}; or {}", wants.follow(url), accept(*status))
            }
            Symptom::Status { status } => {
                format!("{}, or {}", against_status(*status), accept(*status))
            }
            Symptom::Check => {
                "look at such an answer (`examples` of `--json`), then correct the check or the app"
                    .to_owned()
            }
        }
    }
}

fn by_frequency(failed: &BTreeMap<String, u64>) -> Vec<(&String, u64)> {
    let mut kinds: Vec<(&String, u64)> =
        failed.iter().map(|(kind, count)| (kind, *count)).collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds
}

fn failed_requests(kind: &str, requests: u64, result: &LoadResult, load: &Load) -> FailedRequests {
    let example = result.examples.iter().find(|example| example.kind == kind);
    let head = example.map(|example| String::from_utf8_lossy(&example.head));
    FailedRequests {
        kind: kind.to_owned(),
        requests,
        is_fastcgi: matches!(load.wire, Wire::FastCgi),
        found: example.map(|example| mask_secrets(&example.found)),
        location: head.as_deref().and_then(location),
    }
}

/// Returns the `Location` of an answer's head, without control characters and secrets.
fn location(head: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let (_, to) = lines.find(|(name, _)| name.trim().eq_ignore_ascii_case("location"))?;
    let to: String = to.trim().chars().filter(|letter| !letter.is_control()).collect();
    (!to.is_empty()).then(|| words::cut(&mask_foreign(&to), LOCATION_MAX))
}

fn of_network(why: Net, ready: &PreparedLoad) -> Symptom {
    let elsewhere = match *ready.load.target.first() {
        Address::Tcp(address) if why == Net::Refused => {
            addresses::elsewhere(address).map(|other| (address, other))
        }
        _ => None,
    };
    match elsewhere {
        Some((address, other)) => Symptom::ListensElsewhere { address, other },
        None => {
            let is_unix = matches!(ready.load.target.first(), Address::Unix(_));
            let server_name = match &ready.load.wire {
                Wire::Tls(setup) => Some(setup.host().to_owned()),
                Wire::Http1 | Wire::FastCgi => None,
            };
            Symptom::Network { why, is_unix, server_name }
        }
    }
}

fn of_status(status: u16, report: &Report, ready: &PreparedLoad) -> Symptom {
    let is_it = |kind: &str| FailureKind::of(kind) == FailureKind::Http(status);
    let example = report.examples.iter().find(|example| is_it(&example.kind));
    match example.and_then(|example| location(&example.head)) {
        Some(to) if (300..400).contains(&status) => {
            of_redirect(status, &to, &mask_secrets(&ready.url))
        }
        _ => Symptom::Status { status },
    }
}

/// Compares where the answers redirected to with the URL that was requested.
fn of_redirect(status: u16, to: &str, asked: &str) -> Symptom {
    let url = absolute(to, asked);
    if url.trim_end_matches('/') == asked.trim_end_matches('/') {
        return Symptom::RedirectedBack { status };
    }
    match wants(&url, asked) {
        Some(wants) => Symptom::RedirectedAway { status, url, wants },
        None => Symptom::Redirected { status, url },
    }
}

/// Returns what a server wants that redirects from `asked` to `url`; `None`: another page.
fn wants(url: &str, asked: &str) -> Option<Wants> {
    let ((scheme, host), own) = (scheme_and_host(url)?, scheme_and_host(asked)?);
    let to_https = scheme == "https" && own.0 != scheme;
    // The port of HTTPS is another one, and URLs leave it out.
    let is_same = host == own.1 || to_https && without_port(host) == without_port(own.1);
    match (to_https, is_same) {
        (true, true) => Some(Wants::Https),
        (true, false) => Some(Wants::HttpsAndHost(host.to_owned())),
        (false, false) => Some(Wants::Host(host.to_owned())),
        (false, true) => None,
    }
}

fn without_port(host: &str) -> &str {
    let parts = host.rsplit_once(':');
    let is_port = |(_, port): &(&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
    parts.filter(is_port).map_or(host, |(name, _)| name)
}

/// Returns scheme and host, with its port, of an `http` or `https` URL.
fn scheme_and_host(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://").filter(|(scheme, _)| scheme.starts_with("http"))?;
    Some((scheme, &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())]))
}

impl Wants {
    /// Returns how to send what the server wants.
    fn follow(&self, url: &str) -> String {
        match self {
            Wants::Https => format!(
                "the server wants HTTPS: send the requests to `{url}`, or say \
                 `-H 'X-Forwarded-Proto: https'` if it trusts that header"
            ),
            Wants::Host(host) => {
                format!("the server wants the host {host}: say `-H 'Host: {host}'`")
            }
            Wants::HttpsAndHost(host) => format!(
                "the server wants HTTPS and the host {host}: say \
                 `-H 'Host: {host}' -H 'X-Forwarded-Proto: https'` if it trusts the latter"
            ),
        }
    }
}

fn against_network(why: Net, is_unix: bool) -> &'static str {
    match why {
        Net::Refused if is_unix => {
            "start the server: the socket file exists, but nothing listens on it"
        }
        Net::Errno(libc::ENOENT) if is_unix => "start the server, or correct the socket's path",
        Net::Errno(libc::EACCES) => "run it as a user who may write to the socket",
        Net::Refused => {
            "start the server, or correct host and port; `ss -ltn` lists what listens on a machine"
        }
        Net::Timeout => {
            "try one request with `curl -v`; give slow answers more time with `--timeout`"
        }
        Net::Tls | Net::Malformed | Net::CutShort | Net::Reset => {
            "look at the server's log, and at the URL's protocol: https:// for TLS, fcgi:// for PHP-FPM itself"
        }
        Net::Stale => {
            "look at the server's log, or connect for each request with `--keep-alive off`"
        }
        Net::NoPort | Net::NoFile => {
            "ask for fewer connections at once, or raise this machine's limit"
        }
        Net::HeadTooLarge | Net::Rejected | Net::QueueFull | Net::Errno(_) => {
            "try one request with `curl -v`, and look at the server's log"
        }
    }
}

fn against_status(status: u16) -> &'static str {
    match status {
        304 => {
            "leave out the headers that ask for what is new only (If-None-Match, If-Modified-Since)"
        }
        401 | 403 => {
            "log in with `--basic-auth USER:PASSWORD`, `--cookie 'NAME=VALUE'` or \
             `-H 'Authorization: …'`"
        }
        404 | 410 => "correct the path",
        405 => "choose the method with `-X`",
        421 => "write the site's name in the URL or in `-H 'Host: …'`: TLS asks for the same name",
        429 => "lower `--rate` or `--concurrency`, or switch off the server's limit",
        413 => "send a smaller body, or raise the server's limit",
        400..=499 => "correct the request: path, headers, body",
        502 | 504 => {
            "look at the server's log: what is behind it, such as PHP-FPM, does not answer"
        }
        503 => "lower `--rate` or `--concurrency`, or end the app's maintenance mode",
        _ => "look at the server's log",
    }
}

fn accept(status: u16) -> String {
    format!("accept it with `--status {status}` if that is what you want")
}

/// Resolves a `Location` against the requested URL (RFC 9110, 10.2.2), for its usual forms.
fn absolute(to: &str, url: &str) -> String {
    let Some((scheme, host)) = scheme_and_host(url) else { return to.to_owned() };
    match to {
        _ if to.starts_with("//") => format!("{scheme}:{to}"),
        _ if to.starts_with('/') => format!("{scheme}://{host}{to}"),
        _ => to.to_owned(),
    }
}

/// Number of kinds of failures in the message. The summary has all.
const KINDS_MAX: usize = 3;
/// Characters of a `Location` in the message. A login page's often contains the whole URL again.
const LOCATION_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_a_redirect_is_read_from_the_answer() {
        let head = "HTTP/1.1 302 Found\nX-A: b\nlocation:  /login?next=%2F\n\n";
        assert_eq!(location(head).as_deref(), Some("/login?next=%2F"));
        assert_eq!(location("HTTP/1.1 302 Found\nLocation:\n"), None);
        let table = [
            ("/login", "http://a.test:80/x", "http://a.test:80/login"),
            ("//b.test/", "https://a.test", "https://b.test/"),
            ("https://a.test/", "http://a.test/", "https://a.test/"),
            ("/login", "unix:/run/a.sock:/", "/login"),
            ("login", "http://a.test/x", "login"),
        ];
        for (to, url, expected) in table {
            assert_eq!(absolute(to, url), expected, "{to} from {url}");
        }
    }

    #[test]
    fn a_redirect_is_to_a_page_to_https_or_to_another_host() {
        let asked = "http://127.0.0.1:8080/";
        let away =
            |url: &str, wants| Symptom::RedirectedAway { status: 302, url: url.to_owned(), wants };
        let host = || "shop.test".to_owned();
        let login = "http://127.0.0.1:8080/login".to_owned();
        let table = [
            ("/", Symptom::RedirectedBack { status: 302 }),
            ("/login", Symptom::Redirected { status: 302, url: login }),
            ("https://127.0.0.1/", away("https://127.0.0.1/", Wants::Https)),
            ("http://shop.test/", away("http://shop.test/", Wants::Host(host()))),
            ("//shop.test/a", away("http://shop.test/a", Wants::Host(host()))),
            ("https://shop.test/", away("https://shop.test/", Wants::HttpsAndHost(host()))),
        ];
        for (to, expected) in table {
            assert_eq!(of_redirect(302, to, asked), expected, "{to}");
        }
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn every_symptom_has_a_remedy() {
        let asked = "http://127.0.0.1:8080/";
        let redirects = [(301, "/login"), (302, "/"), (307, "https://127.0.0.1/")]
            .into_iter()
            .chain([(308, "http://shop.test/"), (301, "https://shop.test/")])
            .map(|(status, to)| (format!("{status} {to}"), of_redirect(status, to, asked)));
        let statuses = [304, 401, 403, 404, 405, 413, 418, 421, 429, 500, 502, 503, 504]
            .map(|status| (status.to_string(), Symptom::Status { status }));
        let network = [
            Net::Refused,
            Net::Timeout,
            Net::Tls,
            Net::Reset,
            Net::CutShort,
            Net::Malformed,
            Net::NoPort,
            Net::HeadTooLarge,
        ];
        let network = network
            .map(|why| {
                let server_name = (why == Net::Tls).then(|| "shop.example".to_owned());
                (format!("{why:?}"), Symptom::Network { why, is_unix: false, server_name })
            })
            .into_iter();
        let others = [Symptom::Dropped, Symptom::Check].map(|one| (format!("{one:?}"), one));
        let all = redirects.chain(statuses).chain(network).chain(others);
        let lines: Vec<String> =
            all.map(|(name, symptom)| format!("{name}: {}", symptom.remedy())).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
