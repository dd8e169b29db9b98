//! Describes the behaviour of a known server.

use std::time::Duration;

use crate::answer::Answer;
use crate::listen::ServerError;

/// The behaviour of a [`crate::KnownServer`]. By default it answers every request at once with
/// [`Answer::ok`].
#[derive(Clone, Debug, Default)]
pub struct Behaviour {
    /// Reply to every request without an exception.
    pub reply: Reply,
    /// `(n, reply)`: every n-th request (n, 2n, 3n …, counted over all connections) gets this reply
    /// instead; the first match wins. 0 matches none.
    pub exceptions: Vec<(u64, Reply)>,
    /// How many requests are worked on at once.
    pub workers: Workers,
    /// When no work is done; `None`: never.
    pub freeze: Option<Freeze>,
    /// Zero of the server's clock.
    pub zero: ClockZero,
    /// Whether connections are accepted.
    pub accept: Accept,
    /// Bytes sent on each connection before any request.
    pub greeting: Vec<u8>,
}

/// One way to answer.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Work from the moment that a worker is available until the answer's first byte.
    pub service_time: Duration,
    /// The answer that is sent then.
    pub answer: Answer,
}

/// How workers are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workers {
    /// Every request has a worker.
    #[default]
    Unlimited,
    /// This many, each held from a request to the end of its answer; requests wait in their order.
    PerRequest(usize),
    /// This many, each held from the accept of a connection to its close, like Apache's prefork.
    /// Other connections are not even accepted meanwhile.
    PerConnection(usize),
}

/// A window in which no work is done, as if the server's processes were stopped. Work in progress
/// takes longer by the length of the window. Requests are still read, with their time of arrival,
/// and an answer that has begun continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// Beginning of the window, on the server's clock.
    pub at: Duration,
    /// Length of the window.
    pub lasts: Duration,
    /// Time from one beginning to the next, longer than `lasts`; `None`: there is only one window.
    pub every: Option<Duration>,
}

/// Zero of the server's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockZero {
    /// When the server starts.
    #[default]
    Start,
    /// When it has received its first request, for a test that sends request 0 at time 0.
    FirstRequest,
}

/// What happens to connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accept {
    /// They are accepted.
    #[default]
    Always,
    /// They are not accepted: to the client they are established, but nothing reads them.
    Never,
    /// They are not accepted, and the backlog is full: connect itself does not complete.
    NeverFull,
    /// They are accepted, and reset before anything is read (closed, on a Unix socket).
    ThenReset,
}

impl Behaviour {
    /// Answers each request with `answer`, at once.
    pub fn answering(answer: Answer) -> Behaviour {
        Behaviour::answering_after(Duration::ZERO, answer)
    }

    /// Answers each request with `answer`, after `service_time`.
    pub fn answering_after(service_time: Duration, answer: Answer) -> Behaviour {
        Behaviour { reply: Reply { service_time, answer }, ..Behaviour::default() }
    }

    /// The reply to request `number`; the first one is 1.
    pub(crate) fn reply_to(&self, number: u64) -> &Reply {
        self.exceptions
            .iter()
            .find(|(every, _)| *every != 0 && number.is_multiple_of(*every))
            .map_or(&self.reply, |(_, reply)| reply)
    }

    /// When work that begins at `begin` ends, both on the server's clock.
    pub(crate) fn finish(&self, begin: Duration, service_time: Duration) -> Duration {
        match self.freeze {
            Some(freeze) => freeze.finish(begin, service_time),
            None => begin + service_time,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ServerError> {
        if let Some(Freeze { lasts, every: Some(every), .. }) = self.freeze
            && every <= lasts
        {
            let (lasts_ns, every_ns) = (lasts.as_nanos(), every.as_nanos());
            return Err(ServerError::Freeze { lasts_ns, every_ns });
        }
        match self.workers {
            Workers::PerRequest(0) | Workers::PerConnection(0) => Err(ServerError::NoWorkers),
            _ => Ok(()),
        }
    }
}

impl Freeze {
    /// The beginning of the last window that began at or before `moment`.
    fn last_begin(&self, moment: Duration) -> Option<Duration> {
        let since = moment.checked_sub(self.at)?;
        let Some(every) = self.every else {
            return Some(self.at);
        };
        let whole = since.as_nanos() / every.as_nanos();
        Some(self.at + times(every, whole))
    }

    /// `moment`, or the end of the window that contains it.
    pub(crate) fn after_freeze(&self, moment: Duration) -> Duration {
        self.last_begin(moment).map_or(moment, |last_begin| moment.max(last_begin + self.lasts))
    }

    /// When work of `service_time` that begins at `begin` ends. Every iteration works through the
    /// whole gap between two windows, so there are at most service time ÷ gap of them.
    fn finish(&self, begin: Duration, service_time: Duration) -> Duration {
        let mut now = self.after_freeze(begin);
        let mut left = service_time;
        while let Some(next) = self.next(now) {
            let gap = next - now;
            if left <= gap {
                break;
            }
            left -= gap;
            now = next + self.lasts;
        }
        now + left
    }

    /// The beginning of the first window after `moment`.
    fn next(&self, moment: Duration) -> Option<Duration> {
        match (self.last_begin(moment), self.every) {
            (None, _) => Some(self.at),
            (Some(last_begin), Some(every)) => Some(last_begin + every),
            (Some(_), None) => None,
        }
    }
}

fn times(length: Duration, factor: u128) -> Duration {
    let nanos = length.as_nanos().saturating_mul(factor);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn no_work_is_done_during_a_freeze() {
        let freeze = Freeze { at: ms(100), lasts: ms(50), every: None };
        for (begin, service_time, finish) in [
            (0, 10, 10),
            (0, 100, 100),
            (95, 5, 100),
            (95, 6, 151),
            (100, 0, 150),
            (120, 10, 160),
            (149, 10, 160),
            (150, 10, 160),
            (200, 10, 210),
        ] {
            assert_eq!(freeze.finish(ms(begin), ms(service_time)), ms(finish), "{begin}");
        }
    }

    #[test]
    fn a_repeated_freeze_delays_work_again() {
        let freeze = Freeze { at: ms(100), lasts: ms(50), every: Some(ms(100)) };
        // 100 ms before the first window, then 50 ms of work in every 100.
        for (begin, service_time, finish) in [
            (0, 100, 100),
            (0, 101, 151),
            (0, 150, 200),
            (0, 151, 251),
            (0, 200, 300),
            (330, 5, 355),
        ] {
            assert_eq!(freeze.finish(ms(begin), ms(service_time)), ms(finish), "{service_time}");
        }
    }

    #[test]
    fn exceptions_are_counted_from_the_first_request() {
        let slow = |milliseconds| Reply { service_time: ms(milliseconds), ..Reply::default() };
        let behaviour = Behaviour {
            exceptions: vec![(4, slow(4)), (2, slow(2)), (0, slow(9))],
            ..Behaviour::default()
        };
        let got: Vec<u64> = (1..=8)
            .map(|number| behaviour.reply_to(number).service_time.as_millis() as u64)
            .collect();
        assert_eq!(got, [0, 2, 0, 4, 0, 2, 0, 4]);
    }

    #[test]
    fn impossible_behaviour_is_refused() {
        let freeze = Some(Freeze { at: ms(0), lasts: ms(5), every: Some(ms(5)) });
        let endless = Behaviour { freeze, ..Behaviour::default() };
        assert!(matches!(endless.check(), Err(ServerError::Freeze { .. })));
        let nobody = Behaviour { workers: Workers::PerRequest(0), ..Behaviour::default() };
        assert!(matches!(nobody.check(), Err(ServerError::NoWorkers)));
        Behaviour::default().check().unwrap();
    }
}
