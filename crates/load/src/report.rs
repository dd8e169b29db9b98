//! What was sent and what was answered: per second during a load, and in total at its end.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use stampede_model::agents::AgentRecord;
use stampede_model::counts::{Connections, Counts, End, Second, TimeSet};
use stampede_model::time::Nanos;
use stampede_stats::histogram::Times;

use crate::example::{Example, UnusualLengths};
use crate::outcome::Outcome;
use stampede_traffic::TrafficNotes;
use stampede_traffic::answer::Aside;
use stampede_traffic::tag::Tag;
pub use stampede_traffic::tag::TagFigures;

/// Listens to a load outside the load threads. It may be slow without disturbing requests.
pub trait Listener {
    /// Called when a second of the warm-up is over, where there is one.
    fn warm_up_second(&mut self, _second: &Second) {}

    /// Called once, before the load begins and after the warm-up. Nothing is in flight, and nothing
    /// is sent until this returns. Returns when the load is to begin; `None`: at once. A moment that
    /// is over or nearly over means at once, too.
    fn before_load(&mut self) -> Option<Instant> {
        None
    }

    /// Called once, before `second` and `requests`, when the load begins. All its times count from
    /// `at`.
    fn began(&mut self, _at: Instant) {}

    /// Called when a second of the load is over: in order, without a gap, from the thread that
    /// called `run_load`. Seconds count from the start of the load, on its clock. A request belongs
    /// to the second in which its *end* was seen; `planned` and `started` count in the second in
    /// which it was due or started.
    fn second(&mut self, second: &Second);

    /// Called with ended requests of one load thread, in the order in which their ends were seen.
    /// Only called where [`Load::records`](crate::Load::records) is set, and before the `second` to
    /// which the ends belong.
    fn requests(&mut self, _requests: &[RequestRecord]) {}
}

/// One request that was started and has ended. Times count from the start of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// When the schedule wanted it sent. Closed model: when its user was ready.
    #[serde(rename = "due_ns")]
    pub due: Nanos,
    /// First connect or write call.
    #[serde(rename = "started_ns")]
    pub started: Nanos,
    /// When its new connection was established, or when it ended without one. `None`: it used a
    /// kept connection.
    #[serde(rename = "connected_ns")]
    pub connected: Option<Nanos>,
    /// When the last byte of the request was handed to the kernel, as far as we saw it; at most
    /// `done`.
    #[serde(rename = "sent_ns")]
    pub sent: Nanos,
    /// When the bytes of the first read of the answer had arrived; `None`: there were none.
    #[serde(rename = "first_byte_ns")]
    pub first_byte: Option<Nanos>,
    /// When it ended. For an answer, when its last byte arrived: over TCP by the kernel's timestamp,
    /// otherwise when it was seen.
    #[serde(rename = "done_ns")]
    pub done: Nanos,
    /// Bytes written on its connection while it was in flight.
    pub bytes_sent: u64,
    /// Bytes read on its connection while it was in flight.
    pub bytes_received: u64,
    /// Its tag in the load's table of tags.
    pub tag: Tag,
    /// How it ended.
    pub outcome: Outcome,
    /// Status of a whole answer, or of an answer that counts by its status; `None`: there was none.
    pub status: Option<u16>,
}

/// The results of a whole load, over all load threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadResult {
    /// All requests; `planned = ok + failed + dropped` always holds.
    pub counts: Counts,
    /// Times of the ok requests.
    pub times: TimeSet,
    /// Service times of all started requests that ended, whatever their outcome (Little's law).
    pub service_time_all: Times,
    /// Connect times of all opened connections: from the first connect call until the connection
    /// was established, before any TLS. To two digits (1 %).
    pub connect_time: Times,
    /// Length of the schedule, stretched or cut short by a stop. Closed model: until no further
    /// request may start, or until the last answer of `requests`.
    #[serde(rename = "scheduled_ns")]
    pub scheduled: Nanos,
    /// From the start to the last end of a request.
    #[serde(rename = "lasted_ns")]
    pub lasted: Nanos,
    /// Ok requests that ended within `scheduled`. The closed model's throughput counts these.
    pub ok_inside: u64,
    /// Requests in flight, integrated over time, in request·ns.
    pub in_flight_integral: u128,
    /// Most requests in flight; with several load threads an upper bound.
    pub in_flight_max: u32,
    /// Connections of the whole load.
    pub connections: Connections,
    /// Share of its time that the busiest load thread spent on work, 0 to 1.
    pub busy_share_max: f64,
    /// With `WhenFull::Stretch`: real length ÷ planned length; 1 where nothing was stretched.
    pub stretched: f64,
    /// For each kind of failed request, the first one whose answer was kept, in order of time.
    pub examples: Vec<Example>,
    /// The engine that moved the bytes: `epoll` or `io_uring`.
    pub engine: String,
    /// Whether the load ran to its end or was stopped. Requests that were not started by a stop are
    /// `dropped`.
    pub end: End,
    /// How many of the dropped requests were not due at the stop.
    pub not_due: u64,
    /// Figures of the started requests by tag, where the traffic has tags. The empty name stands
    /// for requests without a tag, `other` for all beyond [`TAGS_MAX`](stampede_traffic::TAGS_MAX).
    pub tags: BTreeMap<String, TagFigures>,
    /// Records of requests that were lost, because the listener was slower than the load for too
    /// long.
    pub records_lost: u64,
    /// What was read as traffic.
    pub traffic: TrafficNotes,
    /// Whole answers with odd header lines, by kind: `folded`, `blank-before-colon`, `no-field`,
    /// `empty-first`, `bare-lf`, `identity`, `repeated-length`, `status-line`. They were read as
    /// browsers read them.
    pub odd: BTreeMap<String, u64>,
    /// Correct answers with bodies of another length than their requests say.
    #[serde(default)]
    pub unusual: UnusualLengths,
    /// What the server sent besides answers.
    pub aside: Aside,
    /// What each agent did; empty where this process sent the load alone.
    #[serde(default)]
    pub agents: Vec<AgentRecord>,
}
