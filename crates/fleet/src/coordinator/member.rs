//! What the coordinator knows of one agent.

use stampede_load::report::RequestRecord;
use stampede_load::{Load, LoadResult};
use stampede_model::agents::{AgentMachine, AgentRecord, AgentStart, Loss, Median};
use stampede_model::counts::{Counts, End};
use stampede_model::load::{Arrivals, Model, WhenFull};
use stampede_model::part::Part;
use stampede_model::time::Nanos;
use stampede_stats::histogram::Times;
use stampede_traffic::Source;
use stampede_traffic::tag::{TAGS_MAX, Tag, Tags};

use super::AgentError;
use crate::clock::{Offset, Pings};
use crate::message::EndedRequests;

/// What an agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// Nothing.
    Idle,
    /// It prepares a load.
    Preparing,
    /// It waits for the start.
    Ready,
    /// It sends.
    Sending,
    /// It has sent its result.
    Ended,
    /// It was told to stop before the load began, and has not ended yet.
    Draining,
}

#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    /// Its own name; `None`: it was not heard yet.
    pub(super) host: Option<String>,
    pub(super) pings: Pings,
    pub(super) doing: Doing,
    pub(super) loss: Option<Loss>,
    /// The version of the protocol that it speaks, if it is not ours.
    pub(super) other_version: Option<u32>,
    pub(super) part: Part,
    /// When it was last heard of in this load: a second, or its start.
    pub(super) last_word: Nanos,
    /// What its seconds add up to.
    pub(super) counts: Counts,
    /// How many pings had come back before this load.
    pings_before: u64,
    /// When a ping came back last, or the first was sent.
    pub(super) last_pong: Nanos,
    last_ping: Option<Nanos>,
    /// From how many correct answers on its median can be compared with that of another agent;
    /// `None`: they send other requests.
    comparable_from: Option<u64>,
    start: Option<Start>,
    /// What its machine did during this load.
    machine: Option<AgentMachine>,
    result: Option<Figures>,
    /// The load's numbers of its tags, in the order of its own.
    tags: Vec<Tag>,
}

/// The start of a load.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// By our clock.
    planned: Nanos,
    offset: Offset,
    /// When it really began, by its own clock.
    began: Option<Nanos>,
}

/// What is kept of an agent's result.
#[derive(Clone, Debug)]
struct Figures {
    median: Option<Median>,
    /// Percentiles of the same times, in ns.
    p95: Option<u64>,
    p99: Option<u64>,
    busy_share: f64,
    /// Requests that were not due when it was stopped.
    not_due: u64,
    /// Whether it sent all of its part.
    is_complete: bool,
    planned: u64,
    /// Whether its counts add up, and are those of its seconds.
    is_right: bool,
}

impl Member {
    pub(super) fn new(name: &str) -> Member {
        Member {
            name: name.to_owned(),
            host: None,
            pings: Pings::default(),
            doing: Doing::Idle,
            loss: None,
            other_version: None,
            part: Part::WHOLE,
            last_word: Nanos(0),
            counts: Counts::default(),
            pings_before: 0,
            last_pong: Nanos(0),
            last_ping: None,
            comparable_from: None,
            start: None,
            machine: None,
            result: None,
            tags: Vec::new(),
        }
    }

    /// Its clock is to be known as it is now.
    pub(super) fn meet(&mut self, now: Nanos) {
        self.pings_before = self.pings.count();
        self.last_pong = now;
    }

    /// A load begins. `part` is this agent's.
    pub(super) fn begin(&mut self, load: &Load, part: Part) {
        self.part = part;
        self.counts = Counts::default();
        self.comparable_from = match &load.traffic.source {
            Source::List(list) => comparable_from(list.len() as u64, part),
            Source::File(_) => None,
        };
        (self.start, self.machine, self.result) = (None, None, None);
        self.tags.clear();
    }

    /// Requests with the numbers that the load's table has for their tags. What has no name there
    /// is one of the others.
    pub(super) fn renumbered(&mut self, ended: EndedRequests, tags: &Tags) -> Vec<RequestRecord> {
        let EndedRequests { new_tags, mut requests } = ended;
        let room = TAGS_MAX.saturating_sub(self.tags.len());
        self.tags.extend(new_tags.iter().take(room).map(|name| tags.tag(name)));
        for request in requests.iter_mut().filter(|request| request.tag != Tag::NONE) {
            let place = usize::from(request.tag.0) - 1;
            request.tag = self.tags.get(place).copied().unwrap_or(Tag::OTHER);
        }
        requests
    }

    /// Whether it does something that must be stopped.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.doing, Doing::Preparing | Doing::Ready | Doing::Sending)
    }

    /// Whether its clock is known and it can take a load.
    pub(super) fn is_there(&self) -> bool {
        self.doing != Doing::Draining && self.pings.count() - self.pings_before >= MEETING_PINGS
    }

    /// Whether nothing more comes from it in this load.
    pub(super) fn is_over(&self) -> bool {
        self.doing == Doing::Ended || self.loss.is_some()
    }

    /// The number of a ping, if it is time for one.
    pub(super) fn ping(&mut self, now: Nanos, between: Nanos) -> Option<u32> {
        if self.host.is_none() || self.loss.is_some() {
            return None;
        }
        let is_time = self.last_ping.is_none_or(|last| now.since(last) >= between);
        // In the meeting one follows the other. A ping that was lost is not waited for.
        let waits = self.pings.waiting_since().is_some_and(|sent| now.since(sent) < PING_WAIT);
        if !is_time || waits {
            return None;
        }
        if self.last_ping.is_none() {
            self.last_pong = now;
        }
        self.last_ping = Some(now);
        Some(self.pings.send(now))
    }

    /// When to start, on the agent's clock.
    pub(super) fn start(&mut self, planned: Nanos) -> Nanos {
        let unknown = Offset { offset: 0, error: Nanos(u64::MAX), round_trip: Nanos(0) };
        // Until then its clock may drift.
        let offset = self.pings.offset(planned).unwrap_or(unknown);
        self.start = Some(Start { planned, offset, began: None });
        self.doing = Doing::Sending;
        // It has not begun, so its silence counts from then.
        self.last_word = planned;
        offset.there(planned)
    }

    /// The agent began, at this time of its clock.
    pub(super) fn began(&mut self, at: Nanos) {
        if let Some(start) = &mut self.start {
            start.began = Some(at);
        }
    }

    /// What the agent says of its machine. Only what a kernel says is taken.
    pub(super) fn ran_on(&mut self, machine: AgentMachine) {
        let AgentMachine { steal_share, throttled_ns, mut clock_source } = machine;
        clock_source.retain(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
        clock_source.truncate(CLOCK_SOURCE_MAX);
        let steal_share = steal_share.clamp(0.0, 1.0);
        self.machine = Some(AgentMachine { steal_share, throttled_ns, clock_source });
    }

    /// The agent has sent its result.
    pub(super) fn ended(&mut self, result: &LoadResult) {
        self.doing = Doing::Ended;
        let counts = &result.counts;
        let adds_up = counts.planned == counts.ok + counts.failed_total() + counts.dropped;
        let service_time = &result.times.service_time;
        let at = |share: f64| {
            let rank = (service_time.len() as f64 * share).ceil() as u64;
            (rank > 0).then(|| service_time.at_rank(rank))
        };
        self.result = Some(Figures {
            median: median(service_time),
            p95: at(0.95),
            p99: at(0.99),
            busy_share: result.busy_share_max,
            not_due: result.not_due,
            is_complete: result.end == End::Complete,
            planned: counts.planned,
            is_right: adds_up && result.not_due <= counts.dropped && *counts == self.counts,
        });
    }

    /// What it did of `load`, which is over.
    pub(super) fn record(&self, load: &Load) -> AgentRecord {
        let result = self.result.as_ref();
        let was_stopped = result.is_some_and(|result| !result.is_complete);
        let expected = (!was_stopped).then(|| expected(load, self.part)).flatten();
        let is_right = |result: &Figures| {
            result.is_right && expected.is_none_or(|expected| expected == result.planned)
        };
        let mut record = AgentRecord {
            name: self.name.clone(),
            host: self.host.clone().unwrap_or_default(),
            expected,
            planned: 0,
            ok: 0,
            failed: 0,
            dropped: 0,
            service_time_p50: result.and_then(|result| result.median),
            service_time_p95: result.and_then(|result| result.p95),
            service_time_p99: result.and_then(|result| result.p99),
            comparable: self.comparable_from.is_some_and(|least| self.counts.ok >= least),
            busy_share: result.map_or(0.0, |result| result.busy_share),
            start: self.start.map(|start| self.started(start)),
            machine: self.machine.clone(),
            // An agent that was lost after its result lacks nothing in this load.
            loss: self.loss.clone().filter(|_| result.is_none()),
            miscounted: result.is_some_and(|result| !is_right(result)),
        };
        record.count(&self.counts);
        record.leave_out(result.map_or(0, |result| result.not_due));
        record
    }

    /// How exactly the start is known. The pings after it show the drift.
    fn started(&self, start: Start) -> AgentStart {
        let drift = self.pings.drift(start.planned);
        let late = start.began.map_or(Nanos(0), |began| {
            let planned = start.offset.there(start.planned);
            Nanos(began.0.abs_diff(planned.0))
        });
        AgentStart {
            offset: i64::try_from(start.offset.offset).unwrap_or(i64::MAX),
            error: start.offset.error.plus(late).0,
            round_trip: start.offset.round_trip.0,
            drift_ppm: drift.map(|drift| drift.ppm),
        }
    }

    /// Its loss as an error, where no load has begun.
    pub(super) fn error(&self) -> AgentError {
        let agent = self.name.clone();
        if let Some(version) = self.other_version {
            return AgentError::Version { agent, version };
        }
        match self.loss.clone() {
            Some(Loss::Closed { said }) => AgentError::Closed { agent, said },
            Some(Loss::Failed { message }) => AgentError::Refused { agent, message, hint: None },
            Some(Loss::Disorder {}) => AgentError::Disorder { agent },
            Some(Loss::Silent { .. }) | None => AgentError::Absent { agent },
        }
    }
}

/// How many requests a part of a load has, counted one by one. `None`: the load has no such number.
fn expected(load: &Load, part: Part) -> Option<u64> {
    match &load.model {
        Model::Open { schedule, arrivals, when_full, .. }
            if *when_full != WhenFull::Stretch && !load.traffic.ends() =>
        {
            let due = schedule.due_times_of(*arrivals, part);
            match arrivals {
                Arrivals::Uniform => Some(due.remaining()),
                Arrivals::Poisson { .. } if schedule.planned() > DRAWN => None,
                Arrivals::Poisson { .. } => Some(due.count() as u64),
            }
        }
        _ => None,
    }
}

/// From how many correct answers on agents have sent each of so many requests equally often, as far as
/// a median can tell. `None`: each agent gets only some of them.
fn comparable_from(requests: u64, part: Part) -> Option<u64> {
    let (mut a, mut b) = (requests, u64::from(part.of()));
    while b > 0 {
        (a, b) = (b, a % b);
    }
    (a == 1).then_some(if requests == 1 { 0 } else { requests * SENT_EACH })
}

/// The median and its interval of 99 %, by the binomial distribution of the rank.
fn median(times: &Times) -> Option<Median> {
    let count = times.len();
    if count == 0 {
        return None;
    }
    let reach = (Z_99 * (count as f64).sqrt() / 2.0).ceil() as u64;
    let middle = count.div_ceil(2);
    Some(Median {
        median: times.at_rank(middle),
        low: times.at_rank(middle.saturating_sub(reach).max(1)),
        high: times.at_rank((middle + reach).min(count)),
    })
}

/// Pings of an agent before each load.
const MEETING_PINGS: u64 = 16;
/// The kernel's longest name of a clock source.
const CLOCK_SOURCE_MAX: usize = 32;
/// A ping that is out for so long is not waited for.
const PING_WAIT: Nanos = Nanos::from_millis(500);
/// Most Poisson arrivals of a load that are drawn to be counted: some 15 s, after the load.
const DRAWN: u64 = 500_000_000;
/// How often an agent sends each of several requests before its median is compared.
const SENT_EACH: u64 = 10;
/// Two-sided quantile of the normal distribution for 99 %.
const Z_99: f64 = 2.576;
