//! What was sent and what came back: per second while it runs, in total at the end.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use stampede_stats::histogram::Times;

use crate::engine::Naps;
use crate::example::Example;
use crate::outcome::Outcome;
use crate::time::Nanos;
use crate::traffic::{Tag, TrafficNotes};

/// Listens to a load from outside the load threads: it may be slow, it disturbs no request.
pub trait Listener {
    /// One second of the load is over; called in order, with no second left out, from the
    /// thread that called `run_load`. Seconds are cut by the load's clock from its start;
    /// a request belongs to the second in which its *end* was seen (planned and started: in which
    /// it was due and started).
    fn second(&mut self, second: &Second);

    /// Some requests that ended, of one load thread, in the order in which that was seen: called
    /// only where [`Load::records`](crate::Load::records) asks for it, before the `second`
    /// in which it was.
    fn requests(&mut self, _requests: &[RequestRecord]) {}
}

/// One request that was started and has ended. Moments since the load began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRecord {
    /// When the schedule wanted it sent (closed model: when its user was ready).
    pub due: Nanos,
    /// First connect or write call.
    pub started: Nanos,
    /// When a new connection was there, or when the request ended without one; `None`: it
    /// went out on a kept one.
    pub connected: Option<Nanos>,
    /// When the last byte of the request was handed to the kernel, or was seen to be; `done` where
    /// that was not before.
    pub sent: Nanos,
    /// When the first bytes of the answer that were read at once had come; `None`: there were none.
    pub first_byte: Option<Nanos>,
    /// When it ended: of an answer when its last byte came, by the kernel's stamp where a schedule
    /// is sent over TCP, else when it was seen.
    pub done: Nanos,
    /// Bytes written while it was under way on its connection.
    pub bytes_sent: u64,
    /// Bytes read while it was under way on its connection.
    pub bytes_received: u64,
    /// Its name in the load's table.
    pub tag: Tag,
    /// How it ended.
    pub outcome: Outcome,
    /// Of a whole answer, or of one that counts by its status; `None`: there was none.
    pub status: Option<u16>,
}

/// One second, over all load threads.
#[derive(Clone, Debug)]
pub struct Second {
    /// 0 for the first.
    pub index: u32,
    /// Counts of this second.
    pub counts: Counts,
    /// Times of the ok requests of this second.
    pub times: TimeSet,
    /// Highest number of requests under way in this second.
    pub in_flight_max: u32,
    /// CPU time that the load threads spent on work (spinning not counted).
    pub busy: Nanos,
}

/// Everything, merged.
#[derive(Clone, Debug)]
pub struct LoadResult {
    /// All requests; `planned = ok + failed + dropped` always holds.
    pub counts: Counts,
    /// Times of the ok requests.
    pub times: TimeSet,
    /// Times of every started request that ended, whatever its outcome (Little's law).
    pub service_time_all: Times,
    /// Of each connection that was opened: from its first connect call until it was there, before
    /// any TLS, to two digits (1 %).
    pub connect_time: Times,
    /// Length of the schedule, stretched or cut short by a stop (closed: until no further
    /// request may start, or the last answer of `requests`).
    pub scheduled: Nanos,
    /// From the start to the last answer.
    pub lasted: Nanos,
    /// Ok requests that were done inside `scheduled`: what throughput counts.
    pub ok_inside: u64,
    /// The in-flight gauge integrated over time, request·ns.
    pub in_flight_integral: u128,
    /// Highest number of requests under way.
    pub in_flight_max: u32,
    /// Connections over the whole load.
    pub connections: Connections,
    /// Share of one load thread's time spent on work, the busiest thread, 0 to 1.
    pub busy_share_max: f64,
    /// `WhenFull::Stretch`: real length ÷ planned length; 1 where nothing stretched.
    pub stretched: f64,
    /// Of each kind of failed request the first whose answer was at hand, in the order of time.
    pub examples: Vec<Example>,
    /// The load's zero: moments of requests count from here.
    pub began: Instant,
    /// The engine that moved the bytes: `epoll`, `io_uring`.
    pub engine: &'static str,
    /// Short sleeps of the load threads in which answers of a crowd of users were left to come.
    pub naps: Naps,
    /// Whether it ran to its end or was told to stop: requests not started by then are `dropped`.
    pub end: End,
    /// How many of the dropped ones were not due when it was told to stop.
    pub not_due: u64,
    /// Figures by tag, where the traffic has one; the empty name stands for requests without a
    /// tag, `other` for all beyond [`TAGS_MAX`](crate::traffic::TAGS_MAX). Of requests that were
    /// started.
    pub tags: BTreeMap<String, TagFigures>,
    /// Records of requests that were lost because the listener was slower than the load for
    /// too long.
    pub records_lost: u64,
    /// What was read as traffic.
    pub traffic: TrafficNotes,
    /// Whole answers with odd header lines, by kind: `folded`, `blank-before-colon`, `no-field`,
    /// `empty-first`. They were read as browsers read them.
    pub odd: BTreeMap<String, u64>,
}

/// What is known of the requests of one tag.
#[derive(Clone, Debug)]
pub struct TagFigures {
    /// Correct answers.
    pub ok: u64,
    /// Failed requests.
    pub failed: u64,
    /// done − started of the ok requests, to two digits (1 %).
    pub service_time: Times,
    /// done − due of the ok requests, to two digits; empty in the closed model.
    pub response_time: Times,
}

impl TagFigures {
    pub(crate) fn new() -> TagFigures {
        let times = Times::coarse;
        TagFigures { ok: 0, failed: 0, service_time: times(), response_time: times() }
    }

    pub(crate) fn merge(&mut self, more: &TagFigures) {
        self.ok += more.ok;
        self.failed += more.failed;
        self.service_time.merge(&more.service_time);
        self.response_time.merge(&more.response_time);
    }

    /// Empties it; keeps the memory.
    pub(crate) fn clear(&mut self) {
        // A tag that was not seen in this second costs nothing.
        if self.ok + self.failed > 0 {
            (self.ok, self.failed) = (0, 0);
            self.service_time.clear();
            self.response_time.clear();
        }
    }
}

/// How a load came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Ran to its end.
    Complete,
    /// `Stop` was asked for.
    Stopped,
}

/// Requests by outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Requests that the schedule holds (closed model: requests started).
    pub planned: u64,
    /// First connect or write call made.
    pub started: u64,
    /// Correct answers.
    pub ok: u64,
    /// Failed by kind: keys are `net:<kind>` (`net:refused`, `net:reset`, `net:timeout`,
    /// `net:cut-short`, `net:malformed`, `net:head-too-large`, `net:no-port` (no local
    /// port left), `net:no-file` (no file descriptor left), `net:queue-full` (a unix socket's
    /// accept queue), `net:errno-<n>` for any other), `http:<status>`, `check`
    /// (`Check::body_contains`), `check:<rule>`, `check:body-too-large`.
    pub failed: BTreeMap<String, u64>,
    /// Due, never started.
    pub dropped: u64,
    /// Bytes written and read, heads included.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
    /// Bytes of whole answers, right or wrong, heads included.
    #[serde(default)]
    pub answer_bytes: u64,
    /// Those of their bodies.
    #[serde(default)]
    pub body_bytes: u64,
}

impl Counts {
    /// All failed requests.
    pub fn failed_total(&self) -> u64 {
        self.failed.values().sum()
    }
}

/// The times of a set of requests. In the closed model `response_time` and
/// `connection_wait` are empty: only service time exists there.
#[derive(Clone, Debug)]
pub struct TimeSet {
    /// done − due.
    pub response_time: Times,
    /// done − started.
    pub service_time: Times,
    /// max(0, free − due).
    pub connection_wait: Times,
    /// started − max(due, free), of every started request whatever its outcome.
    pub schedule_lag: Times,
}

impl TimeSet {
    pub(crate) fn empty() -> TimeSet {
        TimeSet {
            response_time: Times::new(),
            service_time: Times::new(),
            connection_wait: Times::new(),
            schedule_lag: Times::new(),
        }
    }

    /// Empties it; keeps the memory, all of which it has then touched.
    pub(crate) fn clear(&mut self) {
        self.response_time.clear();
        self.service_time.clear();
        self.connection_wait.clear();
        self.schedule_lag.clear();
    }

    pub(crate) fn merge(&mut self, more: &TimeSet) {
        self.response_time.merge(&more.response_time);
        self.service_time.merge(&more.service_time);
        self.connection_wait.merge(&more.connection_wait);
        self.schedule_lag.merge(&more.schedule_lag);
    }
}

/// What connections did over a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Connect calls that succeeded.
    pub opened: u64,
    /// Of these, the ones of clients that had no byte of an answer by the end of the load,
    /// although they waited for at least half of the time in which others were answered, on one
    /// connection or on several in turn: a runtime that pins a worker to a connection starves the
    /// others (such a trial is invalid).
    pub never_answered: u64,
    /// Local addresses that they came from: more than one where its ports ran out (at a target in
    /// 127.0.0.0/8).
    #[serde(default = "one")]
    pub sources: u32,
}

fn one() -> u32 {
    1
}
