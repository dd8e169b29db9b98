//! How a request ended, and counters of outcomes that never allocate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stampede_model::failure::{NAMED, Net, index_of, meaning};
use stampede_model::time::Nanos;

use crate::check::{Check, RULES_MAX, took};
use crate::engine::Failure;
use stampede_traffic::answer::{AnswerEnd, Checked, Failed};

/// How a started request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// What the end of an answer means for its request, after this service time.
    pub(crate) fn of(check: &Check, end: AnswerEnd, service_time: Nanos) -> Outcome {
        let status_and_check = match end {
            AnswerEnd::Whole { status, check } => (status, check),
            AnswerEnd::CutShort => return Outcome::Net(Net::CutShort),
            AnswerEnd::Malformed => return Outcome::Net(Net::Malformed),
            AnswerEnd::HeadTooLarge => return Outcome::Net(Net::HeadTooLarge),
            AnswerEnd::Rejected => return Outcome::Net(Net::Rejected),
            AnswerEnd::Tls => return Outcome::Net(Net::Tls),
            AnswerEnd::Displaced => return Outcome::Net(Net::Stale),
        };
        let failed = match status_and_check {
            (status, _) if !check.right_status(status) => return Outcome::Http(status),
            (_, Checked::Wrong(failed)) => Some(failed),
            (_, Checked::Right) => None,
        };
        // A rule's number is its position in the check, so the smallest is the first broken rule.
        let first = failed.into_iter().chain(check.too_slow(service_time)).min();
        first.map_or(Outcome::Ok, Outcome::Check)
    }

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

/// Number of statuses, which have three digits (RFC 9110 section 15).
const STATUSES: usize = 1000;
/// Linux has error numbers up to 133 (EHWPOISON).
const ERRNOS: usize = 134;

#[cfg(test)]
mod tests {
    use stampede_model::failure::FailureKind;

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
             net:reset 1\nnet:stale 1\nnet:timeout 1\nnet:tls 1"
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
