//! Kinds of failed requests, and the keys under which they are counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Why there was no whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Net {
    /// Nothing listens at the address.
    Refused,
    /// The peer reset the connection, before or during the answer.
    Reset,
    /// The request took longer than the timeout.
    Timeout,
    /// The connection was closed before the announced end.
    CutShort,
    /// A kept connection, which had answered before, was closed or reset before any byte of this
    /// answer. Or bytes of the answer before were received in place of this one.
    Stale,
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

/// The key of an answer that is too large for a pattern or JSON.
pub const TOO_LARGE: &str = "check:body-too-large";

/// The keys of all kinds but `Errno`.
pub const NAMED: [(Net, &str); 12] = [
    (Net::Refused, "net:refused"),
    (Net::Reset, "net:reset"),
    (Net::Timeout, "net:timeout"),
    (Net::CutShort, "net:cut-short"),
    (Net::Stale, "net:stale"),
    (Net::Malformed, "net:malformed"),
    (Net::HeadTooLarge, "net:head-too-large"),
    (Net::Rejected, "net:rejected"),
    (Net::Tls, "net:tls"),
    (Net::NoPort, "net:no-port"),
    (Net::NoFile, "net:no-file"),
    (Net::QueueFull, "net:queue-full"),
];

/// Index of a kind in [`NAMED`]. Panics for `Errno`, which has a key for each number.
pub fn index_of(net: Net) -> usize {
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
        Some("stale") => "the kept connection ended before this answer",
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
