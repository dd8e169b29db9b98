//! Kept connections: for how long they may be idle, and how many answers they carry.
//!
//! A server may close a kept connection just when a request is sent on it. The request then fails
//! as `net:stale`. From what such connections have in common follows the server's limit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Nanos;

/// What happened to kept connections on which another request was sent. A connection is idle from
/// the end of its last answer until the start of that request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptConnections {
    /// Longest idle time after which a connection still answered. `None`: none answered again.
    #[serde(rename = "answered_idle_ns_max")]
    pub answered_idle_max: Option<Nanos>,
    /// Connections that the server closed in place of an answer. `None`: there were none.
    pub stale: Option<StaleConnections>,
}

/// Kept connections that the server closed before any byte of an answer to the last request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleConnections {
    /// Number of requests that failed for this reason.
    pub requests: u64,
    /// Shortest idle time of such a connection.
    #[serde(rename = "idle_ns_min")]
    pub idle_min: Nanos,
    /// Fewest answers on such a connection.
    pub answers_min: u64,
    /// Most answers on such a connection.
    pub answers_max: u64,
}

/// When a server closes kept connections, as far as failed requests show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum KeptLimit {
    /// After this many answers.
    Answers {
        /// Number of answers on each connection that was closed.
        answers: u64,
    },
    /// After some idle time, between both of these.
    Idle {
        /// Longest idle time after which a connection still answered, in nanoseconds; 0: none did.
        answered_ns: u64,
        /// Shortest idle time after which a connection was closed, in nanoseconds.
        closed_ns: u64,
    },
}

impl KeptConnections {
    /// Counts a connection that answered another request after this idle time.
    pub fn answered(&mut self, idle: Nanos) {
        self.answered_idle_max = self.answered_idle_max.max(Some(idle));
    }

    /// Counts a connection that was closed after this idle time and this many answers.
    pub fn closed(&mut self, idle: Nanos, answers: u64) {
        self.add_stale(StaleConnections {
            requests: 1,
            idle_min: idle,
            answers_min: answers,
            answers_max: answers,
        });
    }

    /// Adds the connections of another load thread.
    pub fn merge(&mut self, more: KeptConnections) {
        self.answered_idle_max = self.answered_idle_max.max(more.answered_idle_max);
        more.stale.into_iter().for_each(|stale| self.add_stale(stale));
    }

    fn add_stale(&mut self, more: StaleConnections) {
        self.stale = Some(self.stale.map_or(more, |stale| StaleConnections {
            requests: stale.requests + more.requests,
            idle_min: stale.idle_min.min(more.idle_min),
            answers_min: stale.answers_min.min(more.answers_min),
            answers_max: stale.answers_max.max(more.answers_max),
        }));
    }

    /// The server's limit. `None`: closed connections have nothing in common, or there is only one,
    /// which has everything in common with itself.
    pub fn limit(&self) -> Option<KeptLimit> {
        let stale = self.stale.filter(|stale| stale.requests > 1)?;
        let believed = self.answered_idle_max.map_or(IDLE_MIN_ALONE, |_| IDLE_MIN);
        if stale.idle_min >= believed && self.answered_idle_max < Some(stale.idle_min) {
            let answered_ns = self.answered_idle_max.unwrap_or_default().0;
            return Some(KeptLimit::Idle { answered_ns, closed_ns: stale.idle_min.0 });
        }
        let answers = stale.answers_max;
        (stale.answers_min == answers).then_some(KeptLimit::Answers { answers })
    }
}

/// No server is known to close a connection that was idle for less. Shorter idle times differ by
/// chance.
const IDLE_MIN: Nanos = Nanos::from_millis(10);
/// The same where no connection answered again. Then a server that closes after each answer looks
/// alike, but it does not wait for whole seconds, as timeouts of servers do.
const IDLE_MIN_ALONE: Nanos = Nanos::SECOND;

#[cfg(test)]
mod tests {
    use super::*;

    /// Idle times in ms: of connections that answered, and of closed ones with their answers.
    fn limit(answered: &[u64], closed: &[(u64, u64)]) -> Option<KeptLimit> {
        // Two load threads see them in turn.
        let mut threads = [KeptConnections::default(); 2];
        for (at, idle) in answered.iter().enumerate() {
            threads[at % 2].answered(Nanos::from_millis(*idle));
        }
        for (at, (idle, answers)) in closed.iter().enumerate() {
            threads[at % 2].closed(Nanos::from_millis(*idle), *answers);
        }
        let [mut all, more] = threads;
        all.merge(more);
        assert_eq!(all.stale.map_or(0, |stale| stale.requests), closed.len() as u64);
        all.limit()
    }

    #[test]
    fn the_limit_is_what_closed_connections_have_in_common() {
        let answers = |answers| Some(KeptLimit::Answers { answers });
        let idle = |answered_ms: u64, closed_ms: u64| {
            let (answered_ns, closed_ns) = (answered_ms * 1_000_000, closed_ms * 1_000_000);
            Some(KeptLimit::Idle { answered_ns, closed_ns })
        };
        assert_eq!(limit(&[], &[]), None);
        assert_eq!(limit(&[1, 7, 3], &[(5, 10), (2, 10), (5, 10)]), answers(10));
        assert_eq!(limit(&[4_900, 20], &[(5_200, 3), (9_000, 70)]), idle(4_900, 5_200));
        // One connection shows nothing, and different ones without a pattern show as little.
        assert_eq!(limit(&[4_900], &[(5_200, 3)]), None);
        assert_eq!(limit(&[4_900], &[(5_200, 3), (20, 70)]), None);
        // Each is closed after its first answer, or after a second of idle time.
        assert_eq!(limit(&[], &[(20, 1), (30, 1)]), answers(1));
        assert_eq!(limit(&[], &[(6_000, 1), (6_000, 1)]), idle(0, 6_000));
        // Idle times of a few ms differ by chance.
        assert_eq!(limit(&[1, 2], &[(5, 10), (6, 10)]), answers(10));
        assert_eq!(limit(&[1, 2], &[(5, 10), (6, 12)]), None);
    }
}
