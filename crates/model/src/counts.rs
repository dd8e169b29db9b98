//! What was sent and what was answered: counts, times and connections.

use std::collections::BTreeMap;
use std::iter::Sum;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_stats::histogram::{
    Counter, IntervalTimes, PackedTimes, Times, UnpackError, Unpacker,
};

use crate::kept::KeptConnections;
use crate::time::Nanos;

/// One second, over all load threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Second<T = Times> {
    /// Number of the second; 0 for the first.
    pub index: u32,
    /// Counts of this second.
    pub counts: Counts,
    /// Times of the ok requests of this second.
    pub times: TimeSet<T>,
    /// Most requests in flight in this second; with several load threads an upper bound.
    pub in_flight_max: u32,
    /// CPU time that the load threads spent on work, without spinning.
    #[serde(rename = "busy_ns")]
    pub busy: Nanos,
}

/// A second as it is sent: what it costs to add it to others depends on how many different times it
/// has, not on the size of a histogram.
pub type PackedSecond = Second<PackedTimes>;

impl Second {
    /// A second in which nothing happened.
    pub fn empty(index: u32) -> Second {
        let (counts, times) = (Counts::default(), TimeSet::empty());
        Second { index, counts, times, in_flight_max: 0, busy: Nanos(0) }
    }

    /// Adds the same second of another part of the load.
    ///
    /// # Errors
    /// Its times cannot be read. A part of them may have been added then.
    pub fn add(&mut self, more: &PackedSecond, unpacker: &mut Unpacker) -> Result<(), UnpackError> {
        let (to, from) = (self.times.each_mut(), more.times.each_ref());
        to.into_iter().zip(from).try_for_each(|(to, from)| unpacker.add(from, to))?;
        self.counts.add(&more.counts);
        // The maxima need not be simultaneous, so the sum is an upper bound.
        self.in_flight_max = self.in_flight_max.saturating_add(more.in_flight_max);
        self.busy = self.busy.plus(more.busy);
        Ok(())
    }

    /// The second as it is sent.
    pub fn packed(&self) -> PackedSecond {
        Second {
            index: self.index,
            counts: self.counts.clone(),
            times: self.times.packed(),
            in_flight_max: self.in_flight_max,
            busy: self.busy,
        }
    }
}

impl PackedSecond {
    /// The second as a load would report it.
    ///
    /// # Errors
    /// Its times cannot be read.
    pub fn unpacked(&self) -> Result<Second, UnpackError> {
        let mut second = Second::empty(self.index);
        second.add(self, &mut Unpacker::new())?;
        Ok(second)
    }
}

/// How a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// It ran to its end.
    Complete,
    /// It was stopped through `Stop`.
    Stopped,
}

/// Numbers of requests by outcome, and of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests of the schedule. Closed model: requests started.
    pub planned: u64,
    /// Requests whose first connect or write call was made.
    pub started: u64,
    /// Correct answers.
    pub ok: u64,
    /// Failed requests by kind. Keys are `http:<status>`, `check` (`Check::body_contains`),
    /// `check:<rule>`, `check:body-too-large` and `net:<kind>`. Kinds are `net:refused`,
    /// `net:reset`, `net:timeout`, `net:cut-short`, `net:stale` (a kept connection was closed),
    /// `net:malformed`, `net:head-too-large`, `net:rejected`, `net:tls`, `net:no-port` (no local
    /// port left), `net:no-file` (no file descriptor left), `net:queue-full` (accept queue of a
    /// Unix socket), and `net:errno-<n>` for any other.
    pub failed: BTreeMap<String, u64>,
    /// Requests that were scheduled and never started.
    pub dropped: u64,
    /// Bytes written, heads included.
    pub bytes_sent: u64,
    /// Bytes read, heads included.
    pub bytes_received: u64,
    /// Bytes of whole answers, right or wrong, heads included.
    #[serde(default)]
    pub answer_bytes: u64,
    /// Bytes of the bodies of these answers.
    #[serde(default)]
    pub body_bytes: u64,
}

impl Counts {
    /// Adds the counts of another part of the load.
    pub fn add(&mut self, more: &Counts) {
        self.planned += more.planned;
        self.started += more.started;
        self.ok += more.ok;
        self.dropped += more.dropped;
        self.bytes_sent += more.bytes_sent;
        self.bytes_received += more.bytes_received;
        self.answer_bytes += more.answer_bytes;
        self.body_bytes += more.body_bytes;
        for (kind, count) in &more.failed {
            *self.failed.entry(kind.clone()).or_default() += count;
        }
    }

    /// Number of all failed requests.
    pub fn failed_total(&self) -> u64 {
        self.failed.values().sum()
    }
}

/// The times of a set of requests. In the closed model `response_time`,
/// `response_time_without_lag` and `connection_wait` are empty, because only the service time
/// exists. `T` is [`IntervalTimes`] in the counts of a load thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeSet<T = Times> {
    /// done − due.
    pub response_time: T,
    /// done − due − schedule lag: connection wait + service time. No strict lower bound: a late
    /// start may make a later request wait for its connection.
    pub response_time_without_lag: T,
    /// Of response time in the open model, of service time in the closed one: without schedule lag,
    /// and without the time for which the answer may have been there before it was seen. Empty
    /// where the kernel stamps what arrives (TCP), because nothing is unseen there.
    pub lower_bound: T,
    /// done − started.
    pub service_time: T,
    /// max(0, free − due).
    pub connection_wait: T,
    /// started − max(due, free), of every started request whatever its outcome.
    pub schedule_lag: T,
}

impl TimeSet {
    /// No times.
    pub fn empty() -> TimeSet {
        TimeSet::of(Times::new)
    }

    /// Adds the times of `more`.
    pub fn merge(&mut self, more: &TimeSet) {
        self.each(more, Times::merge);
    }

    /// Adds the times of one second of a load thread.
    pub fn merge_interval(&mut self, more: &TimeSet<IntervalTimes>) {
        self.each(more, Times::merge_interval);
    }

    fn packed(&self) -> TimeSet<PackedTimes> {
        TimeSet {
            response_time: PackedTimes::of(&self.response_time),
            response_time_without_lag: PackedTimes::of(&self.response_time_without_lag),
            lower_bound: PackedTimes::of(&self.lower_bound),
            service_time: PackedTimes::of(&self.service_time),
            connection_wait: PackedTimes::of(&self.connection_wait),
            schedule_lag: PackedTimes::of(&self.schedule_lag),
        }
    }
}

impl TimeSet<IntervalTimes> {
    /// No times of a second.
    pub fn interval() -> TimeSet<IntervalTimes> {
        TimeSet::of(Times::interval)
    }
}

impl<C: Counter> TimeSet<Times<C>> {
    /// Empties the times and keeps their memory, all of which is touched afterwards.
    pub fn clear(&mut self) {
        self.each_mut().into_iter().for_each(Times::clear);
    }
}

impl<T> TimeSet<T> {
    fn of(empty: fn() -> T) -> TimeSet<T> {
        TimeSet {
            response_time: empty(),
            response_time_without_lag: empty(),
            lower_bound: empty(),
            service_time: empty(),
            connection_wait: empty(),
            schedule_lag: empty(),
        }
    }

    /// Calls `what` with each kind of time of both sets.
    fn each<U>(&mut self, other: &TimeSet<U>, what: impl Fn(&mut T, &U)) {
        let both = self.each_mut().into_iter().zip(other.each_ref());
        both.for_each(|(own, others)| what(own, others));
    }

    /// Each kind of time, always in the same order.
    fn each_ref(&self) -> [&T; 6] {
        [
            &self.response_time,
            &self.response_time_without_lag,
            &self.lower_bound,
            &self.service_time,
            &self.connection_wait,
            &self.schedule_lag,
        ]
    }

    fn each_mut(&mut self) -> [&mut T; 6] {
        [
            &mut self.response_time,
            &mut self.response_time_without_lag,
            &mut self.lower_bound,
            &mut self.service_time,
            &mut self.connection_wait,
            &mut self.schedule_lag,
        ]
    }
}

/// The connections of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Connect calls that succeeded.
    pub opened: u64,
    /// Connections that were open when the load began, from its warm-up.
    #[serde(default)]
    pub from_warm_up: u64,
    /// Connections of clients that received no byte of an answer, although they waited for at least
    /// half of the time in which others were answered. They may have waited on one connection or on
    /// several in turn. A runtime that binds a worker to a connection starves the others; such a
    /// trial is invalid.
    pub never_answered: u64,
    /// Requests whose bytes could not all be written, since their connection was lost before. `ab` prints
    /// them as write errors. Of several requests on one connection all count. `None`: in records of
    /// earlier versions.
    #[serde(default)]
    pub write_errors: Option<u64>,
    /// Number of local addresses of the connections. More than one where the ports of one ran out,
    /// which needs a target in 127.0.0.0/8.
    #[serde(default = "one")]
    pub sources: u32,
    /// Kept connections on which another request was sent.
    #[serde(default)]
    pub kept: KeptConnections,
    /// The same connections by the address that they went to, in the order of the load. Empty in
    /// records of earlier versions.
    #[serde(default)]
    pub addresses: Vec<AddressConnections>,
}

/// The connections to one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddressConnections {
    /// The address: `127.0.0.1:8080`, or the path of a Unix socket.
    pub address: String,
    /// Connect calls that succeeded.
    pub opened: u64,
    /// Connect calls that failed or were given up.
    pub failed: u64,
}

/// Adds up the connections of load threads. Their addresses are the same, in any order.
impl<'a> Sum<&'a Connections> for Connections {
    fn sum<I: Iterator<Item = &'a Connections>>(threads: I) -> Connections {
        let mut sum = Connections { sources: 1, write_errors: Some(0), ..Connections::default() };
        for thread in threads {
            sum.opened += thread.opened;
            sum.from_warm_up += thread.from_warm_up;
            sum.never_answered += thread.never_answered;
            sum.write_errors = sum.write_errors.zip(thread.write_errors).map(|(a, b)| a + b);
            sum.sources = sum.sources.max(thread.sources);
            sum.kept.merge(thread.kept);
            for one in &thread.addresses {
                match sum.addresses.iter_mut().find(|known| known.address == one.address) {
                    Some(known) => {
                        known.opened += one.opened;
                        known.failed += one.failed;
                    }
                    None => sum.addresses.push(one.clone()),
                }
            }
        }
        sum
    }
}

fn one() -> u32 {
    1
}
