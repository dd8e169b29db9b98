//! Counts what a load thread does, and passes the counts on once a second. Memory has a fixed size:
//! there is no lock, no log and no allocation per request.

use std::sync::mpsc::{Receiver, Sender};

use stampede_model::counts::TimeSet;
use stampede_model::time::Nanos;
use stampede_stats::histogram::{IntervalTimes, Times};

use crate::engine::Arrival;
use crate::outcome::{Failures, Outcome};
use crate::report::RequestRecord;
use stampede_traffic::answer::{QUIRK_KINDS, Quirk};
use stampede_traffic::tag::{Tag, TagFigures};

/// The times of a started request, in ns since the start of the load on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentRequest {
    /// When the schedule wanted it sent. Closed model: when its user was ready.
    pub(crate) due: Nanos,
    /// When a connection was available for it. The runtime causes `free - due`.
    pub(crate) free: Nanos,
    /// First connect or write call. We cause `started - max(due, free)`, the schedule lag.
    pub(crate) started: Nanos,
}

/// Which times a load has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeasuredTimes {
    /// Open model: all of them.
    ResponseTime,
    /// Closed model: no request has a due time, so there is no response time.
    ServiceTime,
}

/// What happened in one second of one load thread.
#[derive(Clone, Debug)]
pub(crate) struct IntervalStats {
    pub(crate) planned: u64,
    pub(crate) started: u64,
    pub(crate) ok: u64,
    pub(crate) ok_inside: u64,
    pub(crate) dropped: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    /// Bytes of whole answers, heads included.
    pub(crate) answer_bytes: u64,
    pub(crate) body_bytes: u64,
    /// Number of whole answers with odd header lines, by kind.
    pub(crate) odd: [u64; QUIRK_KINDS],
    pub(crate) failures: Failures,
    pub(crate) times: TimeSet<IntervalTimes>,
    pub(crate) service_time_all: IntervalTimes,
    /// Connect times of opened connections, to two digits.
    pub(crate) connect_time: IntervalTimes,
    pub(crate) in_flight_max: u32,
    pub(crate) busy: Nanos,
    /// Figures by tag; empty where tags are not counted separately. Grows to the tags seen.
    pub(crate) tags: Vec<Option<Box<TagFigures<IntervalTimes>>>>,
    pub(crate) records_lost: u64,
}

impl IntervalStats {
    /// Empty counts. Touches all of the memory, so that no request causes its page faults.
    pub(crate) fn new() -> IntervalStats {
        let mut stats = IntervalStats {
            planned: 0,
            started: 0,
            ok: 0,
            ok_inside: 0,
            dropped: 0,
            bytes_sent: 0,
            bytes_received: 0,
            answer_bytes: 0,
            body_bytes: 0,
            odd: [0; QUIRK_KINDS],
            failures: Failures::new(),
            times: TimeSet::interval(),
            service_time_all: Times::interval(),
            connect_time: Times::coarse_interval(),
            in_flight_max: 0,
            busy: Nanos(0),
            tags: Vec::new(),
            records_lost: 0,
        };
        stats.clear();
        stats
    }

    fn count_tag(&mut self, tag: Tag) -> Option<&mut TagFigures<IntervalTimes>> {
        let entry = self.tags.get_mut(tag.index())?;
        Some(entry.get_or_insert_with(|| Box::new(TagFigures::interval())))
    }

    /// Allocates figures for the tags that `before` has seen, so that no request has to.
    fn allocate_tags_of(&mut self, before: &IntervalStats) {
        self.tags.resize_with(before.tags.len(), || None);
        for (entry, before) in self.tags.iter_mut().zip(&before.tags) {
            if before.is_some() {
                entry.get_or_insert_with(|| Box::new(TagFigures::interval()));
            }
        }
    }

    /// Empties the counts and keeps the memory.
    pub(crate) fn clear(&mut self) {
        (self.planned, self.started, self.ok, self.ok_inside) = (0, 0, 0, 0);
        (self.dropped, self.bytes_sent) = (0, 0);
        (self.bytes_received, self.answer_bytes, self.body_bytes) = (0, 0, 0);
        self.odd = [0; QUIRK_KINDS];
        self.failures.clear();
        self.times.clear();
        self.service_time_all.clear();
        if !self.connect_time.is_empty() {
            self.connect_time.clear();
        }
        (self.in_flight_max, self.busy) = (0, Nanos(0));
        self.tags.iter_mut().flatten().for_each(|figures| figures.clear());
        self.records_lost = 0;
    }
}

/// A message from a load thread to the thread that called `run_load`.
#[derive(Debug)]
pub(crate) enum Message {
    /// A second has ended.
    Second {
        /// Number of the load thread.
        thread: usize,
        /// Its counts. The buffer is emptied and returned.
        stats: Box<IntervalStats>,
    },
    /// A second has ended in which nothing happened, except that requests became due. It needs no
    /// buffer, so a thread that was stopped for an hour allocates no histograms afterwards.
    EmptySecond {
        /// Number of the load thread.
        thread: usize,
        /// Requests that became due in it.
        planned: u64,
        /// Requests in flight all the time.
        in_flight: u32,
    },
    /// Records of requests whose end was seen in the current second.
    Requests {
        /// Number of the load thread.
        thread: usize,
        /// In the order in which their ends were seen. The buffer is emptied and returned.
        requests: Vec<RequestRecord>,
    },
    /// This load thread sends no more messages.
    Finished {
        /// Number of the load thread.
        thread: usize,
    },
}

/// An emptied buffer that is returned to a load thread.
#[derive(Debug)]
pub(crate) enum ReturnedBuffer {
    /// A buffer for the counts of a second.
    IntervalStats(Box<IntervalStats>),
    /// A buffer for records of requests.
    Requests(Vec<RequestRecord>),
}

/// The load thread's side of the counting.
#[derive(Debug)]
pub(crate) struct Recorder {
    thread: usize,
    measured_times: MeasuredTimes,
    stats: Box<IntervalStats>,
    /// End of the current second.
    boundary: Nanos,
    /// Unbounded, so that a slow listener never blocks a load thread. With one message a second the
    /// queue costs no more than a few hundred bytes. After a stop of an hour it holds 150 KB.
    full: Sender<Message>,
    empty: Receiver<ReturnedBuffer>,
    /// Emptied counts for the next seconds. If a slow listener returned none, a new one is
    /// allocated, at most once a second.
    // The boxes circulate between threads, so they are not unpacked here.
    #[allow(clippy::vec_box)]
    spare_stats: Vec<Box<IntervalStats>>,
    records: Option<Records>,
    gauge: InFlightGauge,
    /// Busy time up to the start of the current second.
    busy_before: Nanos,
    /// When the last request ended.
    last_end: Nanos,
    /// For how long the bytes that came last may have been there before they were seen. `None`: the
    /// kernel stamps them.
    unseen: Option<Nanos>,
}

/// Buffers for the records that go to the listener.
#[derive(Debug)]
struct Records {
    filling: Vec<RequestRecord>,
    empty: Vec<Vec<RequestRecord>>,
    /// Number of buffers that exist, both here and at the listener.
    buffers: usize,
}

impl Records {
    fn new() -> Records {
        let buffer = || Vec::with_capacity(RECORDS);
        Records { filling: buffer(), empty: vec![buffer(); 3], buffers: 4 }
    }

    /// A buffer for the next records; `None` when all that may exist are at the listener.
    fn next_buffer(&mut self) -> Option<Vec<RequestRecord>> {
        if let Some(buffer) = self.empty.pop() {
            return Some(buffer);
        }
        let may = self.buffers < BUFFERS_MAX;
        self.buffers += usize::from(may);
        may.then(|| Vec::with_capacity(RECORDS))
    }
}

/// The number of requests in flight: current, highest, and its integral over time in request·ns.
#[derive(Clone, Copy, Debug, Default)]
struct InFlightGauge {
    now: u32,
    max: u32,
    integral: u128,
    changed: Nanos,
}

impl InFlightGauge {
    fn started(&mut self, at: Nanos) {
        self.advance_to(at);
        self.now += 1;
        self.max = self.max.max(self.now);
    }

    /// A started request ended at `at`. If that is in the past, it was counted for too long.
    fn ended(&mut self, at: Nanos) {
        self.advance_to(at);
        self.now -= 1;
        self.integral -= u128::from(self.changed.since(at).0);
    }

    fn advance_to(&mut self, at: Nanos) {
        self.integral += u128::from(self.now) * u128::from(at.since(self.changed).0);
        self.changed = self.changed.max(at);
    }
}

impl Recorder {
    pub(crate) fn new(
        thread: usize,
        measured_times: MeasuredTimes,
        full: Sender<Message>,
        empty: Receiver<ReturnedBuffer>,
    ) -> Recorder {
        Recorder {
            thread,
            measured_times,
            stats: Box::new(IntervalStats::new()),
            boundary: Nanos::SECOND,
            full,
            empty,
            spare_stats: Vec::with_capacity(4),
            records: None,
            gauge: InFlightGauge::default(),
            busy_before: Nanos(0),
            last_end: Nanos(0),
            unseen: None,
        }
    }

    /// Also records lower bounds of the times, because nothing stamps what arrives.
    pub(crate) fn with_lower_bound(mut self) -> Recorder {
        self.unseen = Some(Nanos(0));
        self
    }

    /// Notes when the bytes arrived that may end requests.
    pub(crate) fn arrived(&mut self, arrival: Arrival) {
        if let Some(unseen) = &mut self.unseen {
            *unseen = arrival.at.since(arrival.earliest);
        }
    }

    /// Also counts by tag.
    pub(crate) fn with_tags(mut self) -> Recorder {
        self.stats.tags.resize_with(Tag::OTHER.index() + 1, || None);
        self
    }

    /// Also passes on a record of every request.
    pub(crate) fn with_records(mut self) -> Recorder {
        self.records = Some(Records::new());
        self
    }

    /// Whether [`Recorder::record`] must be called for each request.
    pub(crate) fn wants_records(&self) -> bool {
        self.records.is_some()
    }

    /// End of the current second.
    pub(crate) fn boundary(&self) -> Nanos {
        self.boundary
    }

    /// Ends the current second: passes its counts on and begins the next second.
    pub(crate) fn next_second(&mut self, busy: Nanos) {
        self.send_records();
        self.collect_returned();
        let mut next_stats =
            self.spare_stats.pop().unwrap_or_else(|| Box::new(IntervalStats::new()));
        next_stats.allocate_tags_of(&self.stats);
        let mut done = std::mem::replace(&mut self.stats, next_stats);
        done.busy = busy.since(self.busy_before);
        self.busy_before = busy;
        self.stats.in_flight_max = self.gauge.now;
        self.boundary = self.boundary.plus(Nanos::SECOND);
        self.send_message(Message::Second { thread: self.thread, stats: done });
    }

    /// Ends a second that was over before anything was counted in it. To be called only right after
    /// `next_second` or this.
    pub(crate) fn skip_second(&mut self, planned: u64) {
        self.boundary = self.boundary.plus(Nanos::SECOND);
        let (thread, in_flight) = (self.thread, self.gauge.now);
        self.send_message(Message::EmptySecond { thread, planned, in_flight });
    }

    /// Ends the recording of this thread: passes on what is left of the last second.
    pub(crate) fn finish(&mut self, busy: Nanos) -> RecorderTotals {
        self.send_records();
        self.stats.busy = busy.since(self.busy_before);
        let stats = std::mem::replace(&mut self.stats, Box::new(IntervalStats::new()));
        self.send_message(Message::Second { thread: self.thread, stats });
        self.send_message(Message::Finished { thread: self.thread });
        RecorderTotals {
            in_flight_integral: self.gauge.integral,
            in_flight_max: self.gauge.max,
            last_end: self.last_end,
        }
    }

    /// Takes the buffers that were returned.
    fn collect_returned(&mut self) {
        while let Ok(returned) = self.empty.try_recv() {
            match (returned, &mut self.records) {
                (ReturnedBuffer::IntervalStats(stats), _) => self.spare_stats.push(stats),
                (ReturnedBuffer::Requests(requests), Some(records)) => records.empty.push(requests),
                (ReturnedBuffer::Requests(_), None) => {}
            }
        }
    }

    /// Adds the record of a request that has ended.
    pub(crate) fn record(&mut self, request: RequestRecord) {
        let Some(records) = &mut self.records else { return };
        records.filling.push(request);
        if records.filling.len() == RECORDS {
            self.send_records();
        }
    }

    fn send_records(&mut self) {
        self.collect_returned();
        let Some(records) = &mut self.records else { return };
        if records.filling.is_empty() {
            return;
        }
        let Some(next_buffer) = records.next_buffer() else {
            self.stats.records_lost += records.filling.len() as u64;
            records.filling.clear();
            return;
        };
        let requests = std::mem::replace(&mut records.filling, next_buffer);
        self.send_message(Message::Requests { thread: self.thread, requests });
    }

    fn send_message(&self, message: Message) {
        // The receiver is gone only when its thread panics. The load then ends without a listener.
        let _ = self.full.send(message);
    }

    pub(crate) fn planned(&mut self, requests: u64) {
        self.stats.planned += requests;
    }

    pub(crate) fn dropped(&mut self, requests: u64) {
        self.stats.dropped += requests;
    }

    pub(crate) fn sent(&mut self, bytes: u64) {
        self.stats.bytes_sent += bytes;
    }

    pub(crate) fn received(&mut self, bytes: u64) {
        self.stats.bytes_received += bytes;
    }

    /// Counts a whole answer, right or wrong.
    pub(crate) fn answered(&mut self, bytes: u64, body_bytes: u64) {
        self.stats.answer_bytes += bytes;
        self.stats.body_bytes += body_bytes;
    }

    /// Counts what was odd about a whole answer.
    pub(crate) fn odd(&mut self, odd: Quirk) {
        if odd != Quirk::default() {
            let kinds = self.stats.odd.iter_mut().zip(Quirk::ALL);
            kinds.for_each(|(count, (kind, _))| *count += u64::from(odd.has(kind)));
        }
    }

    /// Counts a connection that was established `took` after its first request started.
    pub(crate) fn connected(&mut self, took: Nanos) {
        self.stats.connect_time.record(took.0);
    }

    /// Counts a request whose first connect or write call is about to be made.
    pub(crate) fn started(&mut self, request: &SentRequest) {
        self.stats.started += 1;
        let schedule_lag = request.started.since(request.due.max(request.free));
        self.stats.times.schedule_lag.record(schedule_lag.0);
        self.gauge.started(request.started);
        self.stats.in_flight_max = self.stats.in_flight_max.max(self.gauge.now);
    }

    /// Counts a request that ended at `done`, which is not before its start. It belongs to the
    /// current second, in which its end was seen.
    pub(crate) fn ended(
        &mut self,
        request: &SentRequest,
        tag: Tag,
        outcome: Outcome,
        done: Nanos,
        end_timing: EndTiming,
    ) {
        self.gauge.ended(done);
        self.last_end = self.last_end.max(done);
        let service_time = done.since(request.started).0;
        self.stats.service_time_all.record(service_time);
        self.count_tag(request, tag, outcome, done);
        if outcome != Outcome::Ok {
            self.stats.failures.count(outcome);
            return;
        }
        self.stats.ok += 1;
        self.stats.ok_inside += u64::from(end_timing == EndTiming::Inside);
        let times = &mut self.stats.times;
        times.service_time.record(service_time);
        let mut without_lag = service_time;
        if self.measured_times == MeasuredTimes::ResponseTime {
            let connection_wait = request.free.since(request.due).0;
            without_lag += connection_wait;
            times.response_time.record(done.since(request.due).0);
            times.response_time_without_lag.record(without_lag);
            times.connection_wait.record(connection_wait);
        }
        if let Some(unseen) = self.unseen {
            times.lower_bound.record(without_lag - unseen.0.min(service_time));
        }
    }
}

impl Recorder {
    fn count_tag(&mut self, request: &SentRequest, tag: Tag, outcome: Outcome, done: Nanos) {
        let Some(figures) = self.stats.count_tag(tag) else { return };
        if outcome != Outcome::Ok {
            figures.failed += 1;
            return;
        }
        figures.ok += 1;
        figures.service_time.record(done.since(request.started).0);
        if self.measured_times == MeasuredTimes::ResponseTime {
            figures.response_time.record(done.since(request.due).0);
        }
    }
}

/// Whether a request ended within the schedule; the closed model's throughput counts only those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndTiming {
    /// At or before the end of the schedule.
    Inside,
    /// After the end of the schedule.
    After,
}

/// What a recorder reports at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecorderTotals {
    pub(crate) in_flight_integral: u128,
    pub(crate) in_flight_max: u32,
    pub(crate) last_end: Nanos,
}

/// Records per buffer: some 150 KB, a few ms of a large load.
const RECORDS: usize = 1_024;
/// Most record buffers per load thread: 40 MB. If the listener is further behind, records are lost,
/// because the load waits for nobody.
const BUFFERS_MAX: usize = 256;
