//! Counts what a load thread does: into memory of fixed size, handed on once a second.
//! No lock, no log and no allocation per request.

use std::sync::mpsc::{Receiver, Sender};

use stampede_stats::histogram::Times;

use crate::outcome::{Failures, Outcome};
use crate::protocol::Odd;
use crate::protocol::fields::ODD_KINDS;
use crate::report::{RequestRecord, TagFigures, TimeSet};
use crate::time::Nanos;
use crate::traffic::Tag;

/// One request under way. Times are ns since the load began, monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentRequest {
    /// When the schedule wanted it sent (closed model: when its user was ready).
    pub(crate) due: Nanos,
    /// When a connection was there for it; `free - due` is the runtime's doing.
    pub(crate) free: Nanos,
    /// First connect or write call; `started - max(due, free)` is our own schedule lag.
    pub(crate) started: Nanos,
}

/// Which times exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Headline {
    /// Open model: all.
    ResponseTime,
    /// Closed model: nobody said when a request was due, so there is no response time.
    ServiceTime,
}

/// One second of one load thread.
#[derive(Clone, Debug)]
pub(crate) struct IntervalStats {
    pub(crate) index: u32,
    pub(crate) planned: u64,
    pub(crate) started: u64,
    pub(crate) ok: u64,
    pub(crate) ok_inside: u64,
    pub(crate) dropped: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    /// Of whole answers, heads included.
    pub(crate) answer_bytes: u64,
    pub(crate) body_bytes: u64,
    /// Whole answers with odd header lines, by kind.
    pub(crate) odd: [u64; ODD_KINDS],
    pub(crate) failures: Failures,
    pub(crate) times: TimeSet,
    pub(crate) service_time_all: Times,
    /// Of connections that were opened, to two digits.
    pub(crate) connect_time: Times,
    pub(crate) in_flight_max: u32,
    pub(crate) busy: Nanos,
    /// By tag; empty where they are not counted apart. Grows to the tags seen.
    pub(crate) tags: Vec<Option<Box<TagFigures>>>,
    pub(crate) records_lost: u64,
}

impl IntervalStats {
    /// All of its memory is touched: no request is the first to reach a page of it.
    pub(crate) fn new() -> IntervalStats {
        let mut tally = IntervalStats {
            index: 0,
            planned: 0,
            started: 0,
            ok: 0,
            ok_inside: 0,
            dropped: 0,
            bytes_sent: 0,
            bytes_received: 0,
            answer_bytes: 0,
            body_bytes: 0,
            odd: [0; ODD_KINDS],
            failures: Failures::new(),
            times: TimeSet::empty(),
            service_time_all: Times::new(),
            connect_time: Times::coarse(),
            in_flight_max: 0,
            busy: Nanos(0),
            tags: Vec::new(),
            records_lost: 0,
        };
        tally.clear();
        tally
    }

    fn count_tag(&mut self, tag: Tag) -> Option<&mut TagFigures> {
        let place = self.tags.get_mut(tag.index())?;
        Some(place.get_or_insert_with(|| Box::new(TagFigures::new())))
    }

    /// Makes room for what `before` counted apart, so that no request has to.
    fn expect_tags_of(&mut self, before: &IntervalStats) {
        self.tags.resize_with(before.tags.len(), || None);
        for (place, before) in self.tags.iter_mut().zip(&before.tags) {
            if before.is_some() {
                place.get_or_insert_with(|| Box::new(TagFigures::new()));
            }
        }
    }

    /// Empties it; keeps the memory.
    pub(crate) fn clear(&mut self) {
        (self.planned, self.started, self.ok, self.ok_inside) = (0, 0, 0, 0);
        (self.dropped, self.bytes_sent) = (0, 0);
        (self.bytes_received, self.answer_bytes, self.body_bytes) = (0, 0, 0);
        self.odd = [0; ODD_KINDS];
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

/// From a load thread to the thread that called `run_load`.
#[derive(Debug)]
pub(crate) enum Message {
    /// A second is over.
    Second {
        /// Which load thread.
        thread: usize,
        /// Its counts; comes back emptied.
        tally: Box<IntervalStats>,
    },
    /// Requests whose end was seen in the current second.
    Requests {
        /// Which load thread.
        thread: usize,
        /// In the order in which that was; comes back emptied.
        requests: Vec<RequestRecord>,
    },
    /// Nothing more comes from this load thread.
    Finished {
        /// Which.
        thread: usize,
    },
}

/// What comes back to a load thread, emptied.
#[derive(Debug)]
pub(crate) enum Emptied {
    /// Of a second.
    IntervalStats(Box<IntervalStats>),
    /// Of requests.
    Requests(Vec<RequestRecord>),
}

/// The load thread's side.
#[derive(Debug)]
pub(crate) struct Recorder {
    thread: usize,
    headline: Headline,
    tally: Box<IntervalStats>,
    /// End of the current second.
    boundary: Nanos,
    /// Unbounded, so that a slow listener never holds a load thread up; a second at a time
    /// it costs no more than a few hundred bytes of queue.
    full: Sender<Message>,
    empty: Receiver<Emptied>,
    /// Emptied tallies. None there (a slow listener): a new one, once a second at most.
    // The boxes go round, and are not to be unpacked on the way.
    #[allow(clippy::vec_box)]
    tallies: Vec<Box<IntervalStats>>,
    records: Option<Records>,
    gauge: Gauge,
    /// Busy time up to the current second.
    busy_before: Nanos,
    /// When the last request ended.
    last_end: Nanos,
}

/// Records of requests on their way to the listener.
#[derive(Debug)]
struct Records {
    filling: Vec<RequestRecord>,
    empty: Vec<Vec<RequestRecord>>,
    /// Buffers that exist, here and on their way.
    buffers: usize,
}

impl Records {
    fn new() -> Records {
        let buffer = || Vec::with_capacity(RECORDS);
        Records { filling: buffer(), empty: vec![buffer(); 3], buffers: 4 }
    }

    /// A buffer for the next records; `None` where as many as may exist are under way.
    fn fresh(&mut self) -> Option<Vec<RequestRecord>> {
        if let Some(buffer) = self.empty.pop() {
            return Some(buffer);
        }
        let may = self.buffers < BUFFERS_MAX;
        self.buffers += usize::from(may);
        may.then(|| Vec::with_capacity(RECORDS))
    }
}

/// Requests under way over time.
#[derive(Clone, Copy, Debug, Default)]
struct Gauge {
    now: u32,
    max: u32,
    integral: u128,
    changed: Nanos,
}

impl Gauge {
    fn started(&mut self, at: Nanos) {
        self.go_on(at);
        self.now += 1;
        self.max = self.max.max(self.now);
    }

    /// One ended that was started before. Seen late, it was counted for too long.
    fn ended(&mut self, at: Nanos) {
        self.go_on(at);
        self.now -= 1;
        self.integral -= u128::from(self.changed.since(at).0);
    }

    fn go_on(&mut self, at: Nanos) {
        self.integral += u128::from(self.now) * u128::from(at.since(self.changed).0);
        self.changed = self.changed.max(at);
    }
}

impl Recorder {
    pub(crate) fn new(
        thread: usize,
        headline: Headline,
        full: Sender<Message>,
        empty: Receiver<Emptied>,
    ) -> Recorder {
        Recorder {
            thread,
            headline,
            tally: Box::new(IntervalStats::new()),
            boundary: Nanos::SECOND,
            full,
            empty,
            tallies: Vec::with_capacity(4),
            records: None,
            gauge: Gauge::default(),
            busy_before: Nanos(0),
            last_end: Nanos(0),
        }
    }

    /// Counts by tag as well.
    pub(crate) fn with_tags(mut self) -> Recorder {
        self.tally.tags.resize_with(Tag::OTHER.index() + 1, || None);
        self
    }

    /// Hands on a record of every request as well.
    pub(crate) fn with_records(mut self) -> Recorder {
        self.records = Some(Records::new());
        self
    }

    /// Whether [`Recorder::record`] is to be called.
    pub(crate) fn wants_records(&self) -> bool {
        self.records.is_some()
    }

    /// When the current second ends.
    pub(crate) fn boundary(&self) -> Nanos {
        self.boundary
    }

    /// The current second is over: hands it on and begins the next.
    pub(crate) fn next_second(&mut self, busy: Nanos) {
        self.hand_on_records();
        self.take_back();
        let mut fresh = self.tallies.pop().unwrap_or_else(|| Box::new(IntervalStats::new()));
        fresh.expect_tags_of(&self.tally);
        let mut done = std::mem::replace(&mut self.tally, fresh);
        done.busy = busy.since(self.busy_before);
        self.busy_before = busy;
        self.tally.index = done.index + 1;
        self.tally.in_flight_max = self.gauge.now;
        self.boundary = self.boundary.plus(Nanos::SECOND);
        self.hand_on(Message::Second { thread: self.thread, tally: done });
    }

    /// The load is over for this thread: hands on what is left of the last second.
    pub(crate) fn finish(mut self, busy: Nanos) -> Ended {
        self.hand_on_records();
        self.tally.busy = busy.since(self.busy_before);
        let tally = std::mem::replace(&mut self.tally, Box::new(IntervalStats::new()));
        self.hand_on(Message::Second { thread: self.thread, tally });
        self.hand_on(Message::Finished { thread: self.thread });
        Ended {
            in_flight_integral: self.gauge.integral,
            in_flight_max: self.gauge.max,
            last_end: self.last_end,
        }
    }

    /// Takes what came back.
    fn take_back(&mut self) {
        while let Ok(emptied) = self.empty.try_recv() {
            match (emptied, &mut self.records) {
                (Emptied::IntervalStats(tally), _) => self.tallies.push(tally),
                (Emptied::Requests(requests), Some(records)) => records.empty.push(requests),
                (Emptied::Requests(_), None) => {}
            }
        }
    }

    /// A request ended, as this says.
    pub(crate) fn record(&mut self, request: RequestRecord) {
        let Some(records) = &mut self.records else { return };
        records.filling.push(request);
        if records.filling.len() == RECORDS {
            self.hand_on_records();
        }
    }

    fn hand_on_records(&mut self) {
        self.take_back();
        let Some(records) = &mut self.records else { return };
        if records.filling.is_empty() {
            return;
        }
        let Some(fresh) = records.fresh() else {
            self.tally.records_lost += records.filling.len() as u64;
            records.filling.clear();
            return;
        };
        let requests = std::mem::replace(&mut records.filling, fresh);
        self.hand_on(Message::Requests { thread: self.thread, requests });
    }

    fn hand_on(&self, message: Message) {
        // The other side is gone only when its thread panics; the load then ends unheard.
        let _ = self.full.send(message);
    }

    pub(crate) fn planned(&mut self, requests: u64) {
        self.tally.planned += requests;
    }

    pub(crate) fn dropped(&mut self, requests: u64) {
        self.tally.dropped += requests;
    }

    pub(crate) fn sent(&mut self, bytes: u64) {
        self.tally.bytes_sent += bytes;
    }

    pub(crate) fn received(&mut self, bytes: u64) {
        self.tally.bytes_received += bytes;
    }

    /// A whole answer, right or wrong.
    pub(crate) fn answered(&mut self, bytes: u64, body_bytes: u64) {
        self.tally.answer_bytes += bytes;
        self.tally.body_bytes += body_bytes;
    }

    /// What was odd about it.
    pub(crate) fn odd(&mut self, odd: Odd) {
        if odd != Odd::default() {
            let kinds = self.tally.odd.iter_mut().zip(Odd::ALL);
            kinds.for_each(|(count, (kind, _))| *count += u64::from(odd.has(kind)));
        }
    }

    /// A connection is there, so long after its first request was started.
    pub(crate) fn connected(&mut self, took: Nanos) {
        self.tally.connect_time.record(took.0);
    }

    /// A request's first connect or write call is about to be made.
    pub(crate) fn started(&mut self, request: &SentRequest) {
        self.tally.started += 1;
        let schedule_lag = request.started.since(request.due.max(request.free));
        self.tally.times.schedule_lag.record(schedule_lag.0);
        self.gauge.started(request.started);
        self.tally.in_flight_max = self.tally.in_flight_max.max(self.gauge.now);
    }

    /// A started request ended at `done`, not before its start: it is counted in the current
    /// second, in which its end was seen.
    pub(crate) fn ended(
        &mut self,
        request: &SentRequest,
        tag: Tag,
        outcome: Outcome,
        done: Nanos,
        place: Place,
    ) {
        self.gauge.ended(done);
        self.last_end = self.last_end.max(done);
        let service_time = done.since(request.started).0;
        self.tally.service_time_all.record(service_time);
        self.count_tag(request, tag, outcome, done);
        if outcome != Outcome::Ok {
            self.tally.failures.count(outcome);
            return;
        }
        self.tally.ok += 1;
        self.tally.ok_inside += u64::from(place == Place::Inside);
        self.tally.times.service_time.record(service_time);
        if self.headline == Headline::ResponseTime {
            self.tally.times.response_time.record(done.since(request.due).0);
            self.tally.times.connection_wait.record(request.free.since(request.due).0);
        }
    }
}

impl Recorder {
    fn count_tag(&mut self, request: &SentRequest, tag: Tag, outcome: Outcome, done: Nanos) {
        let Some(figures) = self.tally.count_tag(tag) else { return };
        if outcome != Outcome::Ok {
            figures.failed += 1;
            return;
        }
        figures.ok += 1;
        figures.service_time.record(done.since(request.started).0);
        if self.headline == Headline::ResponseTime {
            figures.response_time.record(done.since(request.due).0);
        }
    }
}

/// Whether a request was done inside the schedule: only then throughput counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Not after its end.
    Inside,
    /// After its end.
    After,
}

/// What remains of a recorder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) in_flight_integral: u128,
    pub(crate) in_flight_max: u32,
    pub(crate) last_end: Nanos,
}

/// Records of one buffer: some 150 KB, a few ms of a large load.
const RECORDS: usize = 1_024;
/// Buffers of a load thread that may exist, 40 MB: what a listener may fall behind before
/// records are lost. The load waits for nobody.
const BUFFERS_MAX: usize = 256;
