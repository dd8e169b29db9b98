//! Tank's network codes, which phantom takes from `errno`.

use stampede_model::failure::Net;

/// The code for a key of `Counts::failed`; 0 for a key that does not begin with `net:`.
pub fn net_code(key: &str) -> u32 {
    let Some(kind) = key.strip_prefix("net:") else { return 0 };
    if let Some(errno) = kind.strip_prefix("errno-") {
        return errno.parse().unwrap_or(OTHER);
    }
    let known = KNOWN.iter().find(|(_, name, _)| *name == kind);
    known.map_or(OTHER, |(_, _, errno)| *errno as u32)
}

/// The code for an outcome.
pub fn net_code_of(net: Net) -> u32 {
    if let Net::Errno(errno) = net {
        return u32::try_from(errno).unwrap_or(OTHER);
    }
    let known = KNOWN.iter().find(|(known, ..)| *known == net);
    known.map_or(OTHER, |(_, _, errno)| *errno as u32)
}

/// Outcome, its name in a key, and its error number. phantom calls every answer that it cannot read
/// to its end a protocol error: cut short, not HTTP, too large, or failed in TLS.
const KNOWN: [(Net, &str, i32); 12] = [
    (Net::Refused, "refused", libc::ECONNREFUSED),
    (Net::Reset, "reset", libc::ECONNRESET),
    (Net::Timeout, "timeout", libc::ETIMEDOUT),
    (Net::CutShort, "cut-short", libc::EPROTO),
    (Net::Stale, "stale", libc::ECONNRESET),
    (Net::Malformed, "malformed", libc::EPROTO),
    (Net::HeadTooLarge, "head-too-large", libc::EPROTO),
    (Net::Rejected, "rejected", libc::EPROTO),
    (Net::Tls, "tls", libc::EPROTO),
    (Net::NoPort, "no-port", libc::EADDRNOTAVAIL),
    (Net::NoFile, "no-file", libc::EMFILE),
    (Net::QueueFull, "queue-full", libc::EAGAIN),
];

/// The code for any other failure, which must have happened on the wire.
const OTHER: u32 = libc::EPROTO as u32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_error_numbers_of_linux_in_both_directions() {
        let codes: Vec<_> = KNOWN
            .iter()
            .map(|(net, name, _)| {
                let by_key = net_code(&format!("net:{name}"));
                assert_eq!(by_key, net_code_of(*net), "{name}");
                by_key
            })
            .collect();
        assert_eq!(codes, [111, 104, 110, 71, 104, 71, 71, 71, 71, 99, 24, 11]);
        assert_eq!((net_code("net:errno-113"), net_code_of(Net::Errno(113))), (113, 113));
        assert_eq!(
            (net_code("http:502"), net_code("check"), net_code("net:unheard-of")),
            (0, 0, 71)
        );
    }
}
