//! Joins what the client recorded of each request with what the server stamped.

use std::collections::HashMap;

use stampede_known_server::RequestTimestamps;

use crate::bracket::Span;
use crate::error::BenchError;
use crate::stamped::Wire;

/// A request as the client recorded it, in ns since the load's zero.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    pub due_ns: u64,
    pub started_ns: u64,
    pub done_ns: u64,
}

/// One request on both sides, in ns on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// When the schedule wanted it sent.
    pub due_ns: u64,
    /// When the client says that it started.
    pub started_ns: u64,
    /// When it arrived at the server.
    pub arrived_ns: u64,
    /// Just before the last byte of its answer was sent: it cannot have arrived earlier.
    pub before_ns: u64,
    /// When the last byte of its answer had arrived at the latest.
    pub arrived_back_ns: u64,
}

/// Joins the requests by their numbers: `recorded` is in the order of starts, and the request that
/// started first has the number 0. `due` says when each was due, since the load's zero.
///
/// Over TCP the loopback device delivers an answer within the server's send call, so its return is
/// the upper bound. Not where the client has no room for all of it before it reads. And a Unix socket
/// carries no timestamps, so the client counts an answer when it looks. Both are before it sends the
/// next request on the same connection.
pub fn join(
    recorded: &[Recorded],
    stamps: &[RequestTimestamps],
    zero_ns: u64,
    wire: Wire,
    due: impl Fn(u64, Recorded) -> u64,
) -> Result<Vec<Joined>, BenchError> {
    let mut stamps = stamps.to_vec();
    let next = next_arrivals(&mut stamps);
    stamps.sort_by_key(|stamp| stamp.number);
    let is_whole = (0..).zip(&stamps).all(|(number, stamp)| stamp.number == number);
    if !is_whole || stamps.len() != recorded.len() {
        return Err(BenchError::LostRequest);
    }
    let joined = (0..).zip(recorded).zip(stamps).map(|((number, recorded), stamp)| Joined {
        due_ns: zero_ns + due(number, *recorded),
        started_ns: zero_ns + recorded.started_ns,
        arrived_ns: stamp.arrived_ns,
        before_ns: stamp.before_send_ns,
        arrived_back_ns: match (wire, stamp.after_send_ns) {
            (Wire::Unix, _) | (_, u64::MAX) => next.get(&number).copied().unwrap_or(u64::MAX),
            (Wire::Http | Wire::Tls | Wire::FastCgi, after) => after,
        },
    });
    Ok(joined.collect())
}

/// For the number of each request, when the next one on its connection arrived.
fn next_arrivals(stamps: &mut [RequestTimestamps]) -> HashMap<u64, u64> {
    stamps.sort_by_key(|stamp| (stamp.connection, stamp.arrived_ns));
    let pairs = stamps.windows(2).filter(|two| two[0].connection == two[1].connection);
    pairs.map(|two| (two[0].number, two[1].arrived_ns)).collect()
}

impl Joined {
    /// Bounds of the response time, which counts from the schedule.
    pub fn response_time(&self) -> Span {
        self.since(self.due_ns, self.due_ns)
    }

    /// Bounds of the service time, which counts from the client's first call. That call was made
    /// after the time that the client noted, and before the request arrived.
    pub fn service_time(&self) -> Span {
        self.since(self.arrived_ns, self.started_ns)
    }

    fn since(&self, latest_ns: u64, earliest_ns: u64) -> Span {
        Span {
            low_ns: self.before_ns.saturating_sub(latest_ns),
            high_ns: self.arrived_back_ns.saturating_sub(earliest_ns),
        }
    }

    /// From the start to the arrival at the server, in µs. Negative: the client started its clock
    /// too late.
    pub fn way_us(&self) -> f64 {
        (self.arrived_ns as f64 - self.started_ns as f64) / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: [Recorded; 3] = [
        Recorded { due_ns: 0, started_ns: 10, done_ns: 90 },
        Recorded { due_ns: 100, started_ns: 105, done_ns: 195 },
        Recorded { due_ns: 200, started_ns: 230, done_ns: 290 },
    ];

    fn stamp(number: u64, connection: u64, arrived_ns: u64) -> RequestTimestamps {
        let (before_send_ns, after_send_ns) = (arrived_ns + 50, arrived_ns + 60);
        RequestTimestamps { number, connection, arrived_ns, before_send_ns, after_send_ns }
    }

    fn joined(wire: Wire) -> Vec<Joined> {
        // The answers come in another order than the requests.
        let stamps = [stamp(2, 7, 1_240), stamp(0, 7, 1_020), stamp(1, 8, 1_120)];
        join(&RECORDED, &stamps, 1_000, wire, |_, recorded| recorded.due_ns).unwrap()
    }

    #[test]
    fn requests_are_joined_by_their_numbers() {
        let joined = joined(Wire::Http);
        let arrived: Vec<u64> = joined.iter().map(|one| one.arrived_ns).collect();
        assert_eq!(arrived, [1_020, 1_120, 1_240]);
        assert_eq!(joined[2].response_time(), Span { low_ns: 90, high_ns: 100 });
        assert_eq!(joined[2].service_time(), Span { low_ns: 50, high_ns: 70 });
        assert_eq!(joined[2].way_us(), 0.01);
    }

    #[test]
    fn over_a_unix_socket_the_next_request_bounds_the_answer() {
        let joined = joined(Wire::Unix);
        assert_eq!(joined[0].arrived_back_ns, 1_240);
        assert_eq!(joined[1].arrived_back_ns, u64::MAX, "the last on its connection");
    }

    #[test]
    fn the_next_request_bounds_an_answer_that_was_not_sent_at_once() {
        let not_sent = RequestTimestamps { after_send_ns: u64::MAX, ..stamp(0, 7, 1_020) };
        let stamps = [not_sent, stamp(1, 8, 1_120), stamp(2, 7, 1_240)];
        let due = |_, recorded: Recorded| recorded.due_ns;
        let joined = join(&RECORDED, &stamps, 1_000, Wire::Http, due).unwrap();
        let back: Vec<u64> = joined.iter().map(|one| one.arrived_back_ns).collect();
        assert_eq!(back, [1_240, 1_180, 1_300]);
    }

    #[test]
    fn a_lost_or_repeated_request_is_an_error() {
        let join = |stamps: &[RequestTimestamps]| {
            join(&RECORDED, stamps, 0, Wire::Http, |_, recorded| recorded.due_ns)
        };
        assert!(join(&[stamp(0, 1, 20), stamp(1, 1, 120)]).is_err());
        assert!(join(&[stamp(0, 1, 20), stamp(1, 1, 120), stamp(1, 1, 220)]).is_err());
        assert!(join(&[stamp(0, 1, 20), stamp(1, 1, 120), stamp(2, 1, 220)]).is_ok());
    }
}
