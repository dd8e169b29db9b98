//! How a request ended, and counters of outcomes that never allocate.

use std::collections::BTreeMap;

use crate::check::{Check, Failed, RULES_MAX, TOO_LARGE, took};
use crate::engine::Failure;
use crate::time::Nanos;

/// How a started request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A correct answer.
    Ok,
    /// No whole answer.
    Net(Net),
    /// An answer with a wrong status. It is whole, unless the connection was lost while the request
    /// was still being sent.
    Http(u16),
    /// A whole answer with the right status that breaks this part of the check.
    Check(Failed),
}

impl Outcome {
    /// The key under which `Counts::failed` counts this outcome, in a load with this check; `ok`
    /// for `Ok`. Allocates.
    pub fn key(self, check: &Check) -> String {
        match self {
            Outcome::Ok => "ok".to_owned(),
            Outcome::Net(Net::Errno(errno)) => format!("net:errno-{errno}"),
            Outcome::Net(net) => NAMED[index_of(net)].1.to_owned(),
            Outcome::Http(status) => format!("http:{status}"),
            Outcome::Check(failed) => check.key(failed),
        }
    }

    /// What was wrong, in words, as far as the outcome alone shows it.
    pub(crate) fn words(self, check: &Check, service_time: Nanos) -> String {
        match self {
            Outcome::Http(status) if check.statuses.is_empty() => {
                format!("status {status} instead of 200 to 299")
            }
            Outcome::Http(status) => {
                let right: Vec<String> = check.statuses.iter().map(u16::to_string).collect();
                format!("status {status} instead of {}", right.join(" or "))
            }
            Outcome::Check(_) => took(service_time),
            Outcome::Ok | Outcome::Net(_) => {
                let key = self.key(check);
                meaning(&key).unwrap_or(key)
            }
        }
    }
}

/// Why there was no whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Net {
    /// Nothing listens at the address.
    Refused,
    /// The peer reset the connection, before or during the answer.
    Reset,
    /// The request took longer than the timeout.
    Timeout,
    /// The connection was closed before the announced end.
    CutShort,
    /// The answer does not follow the protocol.
    Malformed,
    /// The head of the answer is larger than the limit.
    HeadTooLarge,
    /// A FastCGI server refused the request.
    Rejected,
    /// TLS failed: an alert, an invalid record, or a certificate that was not accepted.
    Tls,
    /// The machine has no local port left for this target (EADDRNOTAVAIL).
    NoPort,
    /// The process or the machine has no file descriptor left (EMFILE, ENFILE).
    NoFile,
    /// The accept queue of a Unix socket is full (EAGAIN), because connect does not wait there.
    QueueFull,
    /// Any other error number.
    Errno(i32),
}

impl From<Failure> for Net {
    fn from(failure: Failure) -> Net {
        match failure.errno {
            libc::ECONNREFUSED => Net::Refused,
            // EPIPE: an earlier call saw the reset.
            libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED => Net::Reset,
            libc::ETIMEDOUT => Net::Timeout,
            libc::EADDRNOTAVAIL => Net::NoPort,
            libc::EMFILE | libc::ENFILE => Net::NoFile,
            libc::EAGAIN => Net::QueueFull,
            errno => Net::Errno(errno),
        }
    }
}

/// What a key of `Counts::failed` means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// No whole answer.
    Net(Net),
    /// An answer with this status.
    Http(u16),
    /// An answer that breaks a part of the check.
    Check,
    /// An unknown key, written by a later version.
    Unknown,
}

impl FailureKind {
    /// The request took longer than the timeout.
    pub const TIMEOUT: FailureKind = FailureKind::Net(Net::Timeout);

    /// The kind that this key means.
    pub fn of(key: &str) -> FailureKind {
        let number = |begin: &str| key.strip_prefix(begin)?.parse().ok();
        let named = NAMED.iter().find(|(_, known)| *known == key).map(|(net, _)| *net);
        let net = named.or_else(|| number("net:errno-").map(Net::Errno)).map(FailureKind::Net);
        let status = || number("http:").and_then(|status| u16::try_from(status).ok());
        let is_check = key == "check" || key.starts_with("check:");
        net.or_else(|| status().map(FailureKind::Http)).unwrap_or(if is_check {
            FailureKind::Check
        } else {
            FailureKind::Unknown
        })
    }

    /// Whether an answer was received.
    pub fn is_answered(self) -> bool {
        match self {
            FailureKind::Net(_) => false,
            FailureKind::Http(_) | FailureKind::Check | FailureKind::Unknown => true,
        }
    }

    /// Whether an answer was received that redirects the client.
    pub fn is_redirect(self) -> bool {
        matches!(self, FailureKind::Http(300..=399))
    }

    /// How many requests failed with this kind.
    pub fn count(self, failed: &BTreeMap<String, u64>) -> u64 {
        let own = failed.iter().filter(|(key, _)| FailureKind::of(key) == self);
        own.map(|(_, count)| count).sum()
    }
}

/// Counts of failed requests by kind. The size is fixed, so that counting never allocates.
#[derive(Clone, Debug)]
pub(crate) struct Failures {
    named: [u64; NAMED.len()],
    /// Counts of `body_contains`, of each rule, and of bodies that are too large.
    checks: [u64; RULES_MAX + 2],
    by_status: Box<[u64; STATUSES]>,
    by_errno: Box<[u64; ERRNOS]>,
}

impl Failures {
    pub(crate) fn new() -> Failures {
        Failures {
            named: [0; NAMED.len()],
            checks: [0; RULES_MAX + 2],
            by_status: Box::new([0; STATUSES]),
            by_errno: Box::new([0; ERRNOS]),
        }
    }

    /// Counts one outcome; `Ok` is no failure and is not counted.
    pub(crate) fn count(&mut self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Ok => return,
            Outcome::Check(failed) => &mut self.checks[usize::from(failed.0).min(RULES_MAX + 1)],
            Outcome::Http(status) => &mut self.by_status[usize::from(status).min(STATUSES - 1)],
            Outcome::Net(Net::Errno(errno)) => {
                &mut self.by_errno[usize::try_from(errno).unwrap_or(0).min(ERRNOS - 1)]
            }
            Outcome::Net(net) => &mut self.named[index_of(net)],
        };
        *count += 1;
    }

    /// Adds all counts to `failed`, under the keys of `Counts::failed`; `check` names the rules.
    pub(crate) fn add_to(&self, failed: &mut BTreeMap<String, u64>, check: &Check) {
        let named = NAMED.iter().zip(&self.named).filter(|(_, count)| **count > 0);
        let named = named.map(|((_, key), count)| ((*key).to_owned(), count));
        let checks = (0_u16..).zip(&self.checks).filter(|(_, count)| **count > 0);
        let checks = checks.map(|(number, count)| match usize::from(number) > RULES_MAX {
            true => (check.key(Failed::TOO_LARGE), count),
            false => (check.key(Failed(number)), count),
        });
        let statuses = self.by_status.iter().enumerate();
        let statuses = statuses.filter(|(_, count)| **count > 0);
        let statuses = statuses.map(|(status, count)| (format!("http:{status}"), count));
        let errnos = self.by_errno.iter().enumerate().filter(|(_, count)| **count > 0);
        let errnos = errnos.map(|(errno, count)| (format!("net:errno-{errno}"), count));
        for (key, count) in named.chain(checks).chain(statuses).chain(errnos) {
            *failed.entry(key).or_default() += count;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.named.fill(0);
        self.checks.fill(0);
        self.by_status.fill(0);
        self.by_errno.fill(0);
    }
}

const NAMED: [(Net, &str); 11] = [
    (Net::Refused, "net:refused"),
    (Net::Reset, "net:reset"),
    (Net::Timeout, "net:timeout"),
    (Net::CutShort, "net:cut-short"),
    (Net::Malformed, "net:malformed"),
    (Net::HeadTooLarge, "net:head-too-large"),
    (Net::Rejected, "net:rejected"),
    (Net::Tls, "net:tls"),
    (Net::NoPort, "net:no-port"),
    (Net::NoFile, "net:no-file"),
    (Net::QueueFull, "net:queue-full"),
];

/// Index of a kind in the table.
fn index_of(net: Net) -> usize {
    let index = NAMED.iter().position(|(kind, _)| *kind == net);
    index.expect("every kind but Errno is in the table")
}

/// What a key of `Counts::failed` means, for people; `None` where the key explains itself.
pub fn meaning(key: &str) -> Option<String> {
    let text = match key.strip_prefix("net:") {
        None if key == "check" => "whole, but not the expected body",
        None if key == TOO_LARGE => "whole, but too large for a pattern or JSON",
        None => return None,
        Some("refused") => "nothing listens there",
        Some("reset") => "reset by the server",
        Some("timeout") => "took longer than the timeout",
        Some("cut-short") => "closed before the announced end",
        Some("malformed") => "not a valid answer",
        Some("head-too-large") => "headers above the limit",
        Some("rejected") => "the FastCGI server did not take the request",
        Some("tls") => "TLS failed: no handshake, or no record",
        Some("no-port") => "this machine had no local port left",
        Some("no-file") => "this machine had no file descriptor left",
        Some("queue-full") => "the unix socket's accept queue was full",
        Some(other) => {
            let errno = other.strip_prefix("errno-")?.parse().ok()?;
            let text = std::io::Error::from_raw_os_error(errno).to_string();
            let end = text.find(" (os error").unwrap_or(text.len());
            return Some(text[..end].to_string());
        }
    };
    Some(text.to_string())
}

/// Number of statuses, which have three digits (RFC 9110 section 15).
const STATUSES: usize = 1000;
/// Linux has error numbers up to 133 (EHWPOISON).
const ERRNOS: usize = 134;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Rule;

    #[test]
    fn every_outcome_has_its_key() {
        let mut failures = Failures::new();
        failures.count(Outcome::Ok);
        for (net, _) in NAMED {
            failures.count(Outcome::Net(net));
        }
        let others = [
            Outcome::Net(Failure { errno: libc::EHOSTUNREACH }.into()),
            Outcome::Net(Failure { errno: libc::EADDRNOTAVAIL }.into()),
            Outcome::Http(502),
            Outcome::Http(502),
            Outcome::Check(Failed::CONTAINS),
            Outcome::Check(Failed(2)),
            Outcome::Check(Failed::TOO_LARGE),
        ];
        others.into_iter().for_each(|outcome| failures.count(outcome));
        let rules = ["time < 1s", "size > 5"].map(|text| Rule::parse(text).unwrap()).into();
        let check = Check { rules, ..Check::default() };
        let mut failed = BTreeMap::new();
        failures.add_to(&mut failed, &check);
        let listed: Vec<_> = failed.iter().map(|(key, count)| format!("{key} {count}")).collect();
        assert_eq!(
            listed.join("\n"),
            "check 1\ncheck:body-too-large 1\ncheck:size > 5 1\nhttp:502 2\nnet:cut-short 1\nnet:errno-113 1\nnet:head-too-large 1\n\
             net:malformed 1\nnet:no-file 1\nnet:no-port 2\nnet:queue-full 1\nnet:refused 1\n\
             net:rejected 1\n\
             net:reset 1\nnet:timeout 1\nnet:tls 1"
        );
        let kinds: Vec<FailureKind> = failed.keys().map(|key| FailureKind::of(key)).collect();
        assert_eq!(kinds[..3], [FailureKind::Check; 3]);
        assert_eq!(kinds[3], FailureKind::Http(502));
        let net = |net: &Net| kinds.contains(&FailureKind::Net(*net));
        assert!(NAMED.iter().all(|(one, _)| net(one)) && net(&Net::Errno(libc::EHOSTUNREACH)));
        assert_eq!(FailureKind::of("quic:lost"), FailureKind::Unknown);
        assert_eq!(FailureKind::Http(502).count(&failed), 2);
        let says_it = |key: &String| key.starts_with("http:") || key == "check:size > 5";
        let explained = |key: &String| meaning(key).is_some() != says_it(key);
        assert!(failed.keys().all(explained), "{failed:?}");
        assert_eq!(meaning("net:errno-113").as_deref(), Some("No route to host"));
        failures.clear();
        failed.clear();
        failures.add_to(&mut failed, &check);
        assert!(failed.is_empty());
    }
}
