//! A load without one correct answer: why, in a sentence, and what to do next. Its figures are
//! those of failures, so a script that only looks at the exit code must see it.

use std::collections::BTreeMap;

use stampede_load::outcome::{self, FailureKind, Net};
use stampede_load::report::{End, LoadResult};
use stampede_load::spec::{Address, Load, Wire};

use super::ready::Ready;
use super::report::Report;
use crate::addresses::{self, shown};
use crate::cli::Failure;
use crate::mask::{mask_foreign, mask_secrets};
use crate::summary::words;

/// Why a load has no correct answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nothing {
    /// How far it came.
    pub kind: Kind,
    /// Why, in a sentence.
    pub text: String,
}

/// How far a load came that has no correct answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The traffic held no request.
    Unsent,
    /// There was no whole answer.
    Unanswered,
    /// There were answers, each of them wrong.
    Incorrect,
}

impl Nothing {
    /// `None`: something was correct, nothing was due, or a person stopped it who had seen answers,
    /// or before any request ended.
    pub fn of(result: &LoadResult, is_stopped_by_rule: bool, load: &Load) -> Option<Nothing> {
        let counts = &result.counts;
        let was_answered = counts.failed.keys().any(|kind| FailureKind::of(kind).is_answered());
        let has_ended = result.examples.iter().any(|example| example.at <= result.scheduled);
        let is_interrupted = result.end == End::Stopped && !is_stopped_by_rule;
        if counts.ok > 0 || is_interrupted && (was_answered || !has_ended) {
            return None;
        }
        if counts.planned == 0 {
            let why = result.traffic.failed.as_ref().or(result.traffic.broken_first.as_ref())?;
            let text = format!("no request was sent: the request file has none: {why}");
            return Some(Nothing { kind: Kind::Unsent, text });
        }
        let (kind, what) = match was_answered {
            true => (Kind::Incorrect, "no request was answered correctly"),
            false => (Kind::Unanswered, "no request was answered"),
        };
        Some(Nothing { kind, text: format!("{what}: {}", causes(result, load)) })
    }

    /// As an error, with what to do next.
    pub fn failure(&self, report: &Report, ready: &Ready) -> Failure {
        let failure = Failure::rendered(self.text.clone());
        let first = commonest(&report.errors).into_iter().next();
        let hint = match (self.kind, first) {
            (Kind::Unsent, _) => return failure,
            (_, None) => "look at what the summary says of dropped requests".to_owned(),
            (_, Some((kind, _))) => match FailureKind::of(kind) {
                FailureKind::Net(net) => of_network(net, ready),
                FailureKind::Http(status) => of_status(status, report, ready),
                FailureKind::Check | FailureKind::Unknown => "look at such an answer (`examples` of `--json`), then correct the check or the app"
                    .to_owned(),
            },
        };
        failure.hint(hint)
    }
}

/// The commonest kinds of failure, and what was never sent.
fn causes(result: &LoadResult, load: &Load) -> String {
    let kinds = commonest(&result.counts.failed);
    let mut all: Vec<String> = kinds
        .iter()
        .take(KINDS_MAX)
        .map(|(kind, count)| format!("{} × {}", words::count(*count), in_words(kind, result, load)))
        .collect();
    let more: u64 = kinds.iter().skip(KINDS_MAX).map(|(_, count)| count).sum();
    if more > 0 {
        all.push(format!("{} failed in other ways", words::count(more)));
    }
    if result.counts.dropped > 0 {
        all.push(format!("{} dropped before they were sent", words::count(result.counts.dropped)));
    }
    all.join(", ")
}

fn commonest(failed: &BTreeMap<String, u64>) -> Vec<(&String, u64)> {
    let mut kinds: Vec<(&String, u64)> =
        failed.iter().map(|(kind, count)| (kind, *count)).collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    kinds
}

fn in_words(kind: &str, result: &LoadResult, load: &Load) -> String {
    let example = result.examples.iter().find(|example| example.kind == kind);
    let found = example.map(|example| mask_secrets(&example.found));
    let head = example.map(|example| String::from_utf8_lossy(&example.head));
    let location = head.as_deref().and_then(location);
    let read = FailureKind::of(kind);
    let meant = match read {
        FailureKind::Net(Net::Refused) => {
            format!("connection refused by {}", shown(&load.target))
        }
        FailureKind::Net(Net::Reset) => format!("connection reset by {}", shown(&load.target)),
        FailureKind::Net(Net::Malformed) => match load.wire {
            Wire::FastCgi => "not valid FastCGI".to_owned(),
            Wire::Http1 | Wire::Tls(_) => "not valid HTTP".to_owned(),
        },
        _ => found.or_else(|| outcome::meaning(kind)).unwrap_or_default(),
    };
    let to = match location {
        Some(to) if matches!(read, FailureKind::Http(300..=399)) => format!(", Location: {to}"),
        _ => String::new(),
    };
    match meant.as_str() {
        "" => kind.to_owned(),
        meant => format!("{meant} ({kind}{to})"),
    }
}

/// Where an answer's head says that the page is; harmless to a terminal, secrets masked.
fn location(head: &str) -> Option<String> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let (_, to) = lines.find(|(name, _)| name.trim().eq_ignore_ascii_case("location"))?;
    let to: String = to.trim().chars().filter(|letter| !letter.is_control()).collect();
    (!to.is_empty()).then(|| words::cut(&mask_foreign(&to), LOCATION_MAX))
}

fn of_network(why: Net, ready: &Ready) -> String {
    let elsewhere = match &ready.load.target {
        Address::Tcp(address) if why == Net::Refused => {
            let other = addresses::elsewhere(*address);
            other.map(|other| (address, other))
        }
        _ => None,
    };
    if let Some((address, other)) = elsewhere {
        return format!(
            "nothing listens on {address}; something listens on {other}: write that address in the URL"
        );
    }
    let is_unix = matches!(ready.load.target, Address::Unix(_));
    match why {
        Net::Refused if is_unix => "start the server: the socket file exists, but nothing listens on it",
        Net::Errno(libc::ENOENT) if is_unix => "start the server, or correct the socket's path",
        Net::Errno(libc::EACCES) => "run it as a user who may write to the socket",
        Net::Refused => "start the server, or correct host and port; `ss -ltn` lists what listens on a machine",
        Net::Timeout => "try one request with `curl -v`; give slow answers more time with `--timeout`",
        Net::Tls => "check that the server speaks HTTPS and knows the host name in the URL (SNI)",
        Net::Malformed | Net::CutShort | Net::Reset => {
            "look at the server's log, and at the URL's protocol: https:// for TLS, fcgi:// for PHP-FPM itself"
        }
        Net::NoPort | Net::NoFile => "ask for fewer connections at once, or raise this machine's limit",
        Net::HeadTooLarge | Net::Rejected | Net::QueueFull | Net::Errno(_) => {
            "try one request with `curl -v`, and look at the server's log"
        }
    }
    .to_owned()
}

fn of_status(status: u16, report: &Report, ready: &Ready) -> String {
    let accept = format!("accept it with `--status {status}` if that is what you want");
    let is_it = |kind: &str| FailureKind::of(kind) == FailureKind::Http(status);
    let example = report.examples.iter().find(|example| is_it(&example.kind));
    let to = example.and_then(|example| location(&example.head));
    let next = match (status, to) {
        (_, Some(to)) if (300..400).contains(&status) => return redirected(&to, &accept, ready),
        (304, _) => {
            "leave out the headers that ask for what is new only (If-None-Match, If-Modified-Since)"
        }
        (401 | 403, _) => "log in with `--basic-auth`, `--cookie` or `-H 'Authorization: …'`",
        (404 | 410, _) => "correct the path",
        (405, _) => "choose the method with `-X`",
        (421, _) => "write the site's name in the URL, so that TLS and `Host` name it",
        (429, _) => "lower the rate, or switch off the server's limit for it",
        (413, _) => "send a smaller body, or raise the server's limit",
        (400..=499, _) => "correct the request: path, headers, body",
        _ => "look at the server's log",
    };
    format!("{next}, or {accept}")
}

fn redirected(to: &str, accept: &str, ready: &Ready) -> String {
    let url = absolute(to, &ready.url);
    if url.trim_end_matches('/') == mask_secrets(&ready.url).trim_end_matches('/') {
        return format!(
            "it leads back to the same URL: the server may want a cookie (`--cookie`) or another name \
             (`-H 'Host: …'`); or {accept}"
        );
    }
    format!("send the requests to `{url}`, or {accept}")
}

/// What a `Location` means that a URL was answered with (RFC 9110, 10.2.2), as far as it is
/// written in the usual ways.
fn absolute(to: &str, url: &str) -> String {
    let Some((scheme, rest)) =
        url.split_once("://").filter(|(scheme, _)| scheme.starts_with("http"))
    else {
        return to.to_owned();
    };
    let host = &rest[..rest.find(['/', '?']).unwrap_or(rest.len())];
    match to {
        _ if to.starts_with("//") => format!("{scheme}:{to}"),
        _ if to.starts_with('/') => format!("{scheme}://{host}{to}"),
        _ => to.to_owned(),
    }
}

/// More kinds are in the summary.
const KINDS_MAX: usize = 3;
/// Characters of a `Location`; a login page's often has the whole URL once more.
const LOCATION_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_redirect_leads_is_read_from_the_answer() {
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
}
