//! Decides when the next request may start: by a schedule (open model) or when a user is ready
//! (closed model). Also counts what is planned, dropped and never due.

use std::collections::VecDeque;

use stampede_model::load::{Until, WhenFull};
use stampede_model::part::Part;
use stampede_model::schedule::Schedule;
use stampede_model::time::Nanos;

use stampede_traffic::feed::TrafficEnd;

/// One load thread's share of a schedule: every `of`-th request, beginning with the `index`-th.
pub(crate) struct ScheduleShare {
    schedule: Box<dyn Schedule>,
    skip: usize,
    of: usize,
    /// The latest due time seen, over the requests of all threads. Once the schedule has ended, its
    /// last due time.
    last: Nanos,
    /// Requests of this share that were handed out.
    handed_out: u64,
}

impl ScheduleShare {
    pub(crate) fn new(schedule: Box<dyn Schedule>, share: Part) -> ScheduleShare {
        let (skip, of) = (share.index() as usize, share.of() as usize);
        ScheduleShare { schedule, skip, of, last: Nanos(0), handed_out: 0 }
    }

    fn next_due(&mut self) -> Option<Nanos> {
        for _ in 0..self.skip {
            self.last = self.schedule.next_due()?;
        }
        self.skip = self.of - 1;
        self.last = self.schedule.next_due()?;
        self.handed_out += 1;
        Some(self.last)
    }

    /// How many requests of this share are still to come up to and including `until`.
    fn due_by(&self, until: Nanos) -> u64 {
        let others = self.schedule.due_by(until);
        others.saturating_sub(self.skip as u64).div_ceil(self.of as u64)
    }
}

/// What the driver may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Start a request that was due at `due` and had a connection at `free`.
    Start { due: Nanos, free: Nanos },
    /// Drop a request.
    Drop,
    /// Nothing before the time that `wake` returns.
    Wait,
}

/// The pace of either model.
pub(crate) enum Pace {
    Open(Open),
    Closed(Closed),
}

impl Pace {
    /// The next thing to do at `now`, with `in_flight` requests in flight. The pace assumes that
    /// the caller does it.
    pub(crate) fn next_action(&mut self, now: Nanos, in_flight: u32) -> Action {
        match self {
            Pace::Open(open) => open.next_action(now, in_flight),
            Pace::Closed(closed) => closed.next_action(now),
        }
    }

    /// Like `next_action`, but there is no request to send: nothing starts.
    pub(crate) fn action_without_traffic(&mut self, now: Nanos) -> Action {
        match self {
            Pace::Open(open) => open.action_without_traffic(now),
            Pace::Closed(_) => Action::Wait,
        }
    }

    /// The traffic has ended: requests that were not started by now were never planned.
    pub(crate) fn end_traffic(&mut self, now: Nanos) {
        match self {
            Pace::Open(open) => open.end_traffic(now),
            Pace::Closed(closed) => (closed.until, closed.left) = (Until::Requests(0), 0),
        }
    }

    /// When to ask `next_action` again if nothing happens before; `None`: only after an event.
    pub(crate) fn wake(&self, in_flight: u32) -> Option<Nanos> {
        match self {
            Pace::Open(open) => open.wake(in_flight),
            Pace::Closed(closed) => closed.wake(),
        }
    }

    /// How many requests became planned since the last call, up to and including `until`.
    pub(crate) fn take_planned(&mut self, until: Nanos) -> u64 {
        match self {
            Pace::Open(open) => open.take_planned(until),
            Pace::Closed(closed) => std::mem::take(&mut closed.planned),
        }
    }

    /// A request ended at `done`, possibly some time ago. `in_flight` still includes it.
    pub(crate) fn request_ended(&mut self, done: Nanos, in_flight: u32, connection: ConnectResult) {
        match self {
            Pace::Open(open) if in_flight >= open.limit => {
                open.full_until = open.full_until.max(done);
            }
            Pace::Open(_) => {}
            Pace::Closed(closed) => closed.request_ended(done, connection),
        }
    }

    /// Whether no further request will start.
    pub(crate) fn is_finished(&self, now: Nanos) -> bool {
        match self {
            Pace::Open(open) => open.starts_next.is_none(),
            Pace::Closed(closed) => closed.is_finished(now),
        }
    }

    /// Stops with `in_flight` requests in flight: nothing further starts. `looked` is when due
    /// requests last had their turn.
    pub(crate) fn stop(&mut self, now: Nanos, looked: Option<Nanos>, in_flight: u32) -> StopCounts {
        match self {
            Pace::Open(open) => open.stop(now, looked, in_flight),
            Pace::Closed(closed) => {
                closed.stopped = Some(now);
                StopCounts::default()
            }
        }
    }

    /// When the schedule ends; `None` while that is not known.
    pub(crate) fn schedule_end(&self) -> Option<Nanos> {
        match self {
            Pace::Open(open) => open.schedule_end(),
            Pace::Closed(closed) => closed.schedule_end(),
        }
    }

    /// Real length ÷ planned length; 1 where nothing was stretched.
    pub(crate) fn stretched(&self) -> f64 {
        match self {
            Pace::Open(open) if open.length.0 > 0 => {
                1.0 + open.stretch.as_secs_f64() / open.length.as_secs_f64()
            }
            _ => 1.0,
        }
    }
}

/// What a stop did with the rest of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StopCounts {
    /// Requests that are dropped.
    pub(crate) dropped: u64,
    /// Dropped requests that were not due before the stop.
    pub(crate) not_due: u64,
}

/// Whether an ended request had got a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectResult {
    Connected,
    NotConnected,
}

/// The open model: requests from a schedule.
pub(crate) struct Open {
    /// A second copy of the schedule that runs ahead of `starts`. It counts planned requests while
    /// others wait for a connection. This is cheaper than a queue of waiting requests, and
    /// unbounded.
    plan: ScheduleShare,
    plan_next: Option<Nanos>,
    starts: ScheduleShare,
    starts_next: Option<Nanos>,
    length: Nanos,
    when_full: WhenFull,
    /// Most requests in flight at once.
    limit: u32,
    /// How long after the last due time a waiting request may still start.
    grace: Nanos,
    /// How much later than in the schedule requests are due by now.
    stretch: Nanos,
    /// When a request last ended while `limit` were in flight. A request due before that had no
    /// connection until then.
    ///
    /// All requests that wait at that moment count as ready at once, although only one connection
    /// became free. If the server answers the backlog faster than it can be started, the pool never
    /// fills again, and the last request of the backlog is late by the time that all starts take.
    /// A connection of its own for each waiting request would make this a wait for connections, but
    /// these became free late because their requests had been started late: our delay would be
    /// reported as the server's. A thousand starts take some ms, which is little beside the wait
    /// that made them a backlog.
    full_until: Nanos,
    /// Planned requests that `take_planned` has not returned yet.
    planned: u64,
    planned_when: PlannedWhen,
    traffic: TrafficEnd,
    stopped: Option<Nanos>,
}

/// When a request counts as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlannedWhen {
    /// When it is due in the schedule.
    Due,
    /// When it starts or is dropped. A stretched schedule needs this, because a request is due no
    /// sooner than it can start. So does traffic of unknown length.
    Taken,
}

/// What an open pace is made of.
pub(crate) struct OpenParts {
    /// The same schedule as `starts`, in a second copy.
    pub(crate) plan: ScheduleShare,
    pub(crate) starts: ScheduleShare,
    /// Length of the schedule. At a constant rate it includes one gap after the last request.
    pub(crate) length: Nanos,
    pub(crate) limit: u32,
    pub(crate) when_full: WhenFull,
    pub(crate) traffic: TrafficEnd,
    pub(crate) timeout: Nanos,
}

impl Open {
    pub(crate) fn new(mut parts: OpenParts) -> Open {
        let (plan_next, starts_next) = (parts.plan.next_due(), parts.starts.next_due());
        Open {
            plan: parts.plan,
            plan_next,
            starts: parts.starts,
            starts_next,
            length: parts.length,
            when_full: parts.when_full,
            limit: parts.limit,
            grace: parts.timeout,
            stretch: Nanos(0),
            full_until: Nanos(0),
            planned: 0,
            planned_when: match (parts.when_full, parts.traffic) {
                (WhenFull::Queue | WhenFull::Drop, TrafficEnd::Never) => PlannedWhen::Due,
                (WhenFull::Stretch, _) | (_, TrafficEnd::Sometime) => PlannedWhen::Taken,
            },
            traffic: parts.traffic,
            stopped: None,
        }
    }

    fn action_without_traffic(&mut self, now: Nanos) -> Action {
        let due = self.starts_next.is_some_and(|due| due <= now);
        let given_up = self.last_start().is_some_and(|last| now > last);
        if due && given_up { self.take(Action::Drop) } else { Action::Wait }
    }

    fn end_traffic(&mut self, now: Nanos) {
        // A schedule includes one gap after its last request. So does one that ends with its
        // traffic.
        if let Some(due) = self.starts_next.take() {
            self.stopped = Some(now.max(due.plus(self.stretch)));
        }
        self.plan_next = None;
    }

    fn next_action(&mut self, now: Nanos, in_flight: u32) -> Action {
        let Some(mut due) = self.starts_next.map(|due| due.plus(self.stretch)) else {
            return Action::Wait;
        };
        if due > now {
            return Action::Wait;
        }
        if self.last_start().is_some_and(|last| now > last) {
            return self.take(Action::Drop);
        }
        if in_flight >= self.limit {
            return match self.when_full {
                WhenFull::Drop => self.take(Action::Drop),
                WhenFull::Queue | WhenFull::Stretch => Action::Wait,
            };
        }
        let free = due.max(self.full_until);
        if self.when_full == WhenFull::Stretch {
            self.stretch = self.stretch.plus(free.since(due));
            due = free;
        }
        self.take(Action::Start { due, free })
    }

    fn take(&mut self, next_action: Action) -> Action {
        self.starts_next = self.starts.next_due();
        self.planned += u64::from(self.planned_when == PlannedWhen::Taken);
        next_action
    }

    /// Until when a waiting request may start. `None` while the schedule has not ended, and for a
    /// stretched schedule, where it waits without a limit.
    fn last_start(&self) -> Option<Nanos> {
        let ended = self.when_full != WhenFull::Stretch && self.plan_next.is_none();
        ended.then(|| self.plan.last.plus(self.grace))
    }

    fn wake(&self, in_flight: u32) -> Option<Nanos> {
        let due = self.starts_next?.plus(self.stretch);
        if in_flight < self.limit || self.when_full == WhenFull::Drop {
            return Some(due);
        }
        self.last_start().map(|last| last.plus(Nanos(1)))
    }

    fn take_planned(&mut self, until: Nanos) -> u64 {
        if self.when_full != WhenFull::Stretch {
            while self.plan_next.is_some_and(|due| due <= until) {
                self.planned += u64::from(self.planned_when == PlannedWhen::Due);
                self.plan_next = self.plan.next_due();
            }
        }
        std::mem::take(&mut self.planned)
    }

    /// Counts what is left in closed form, because a schedule may hold billions of requests.
    fn stop(&mut self, now: Nanos, looked: Option<Nanos>, in_flight: u32) -> StopCounts {
        self.stopped = Some(now);
        // While the limit is reached, nobody looks at the requests that become due.
        let full_until = if in_flight >= self.limit { now } else { self.full_until };
        let looked = looked.map(|looked| looked.max(full_until));
        let last = match self.traffic {
            TrafficEnd::Never => Nanos(u64::MAX),
            // Nobody knows for how many of the later requests there would have been traffic.
            TrafficEnd::Sometime => now,
        };
        let dropped = self.not_started_by(last);
        let were_due = match (self.when_full, looked) {
            // In a stretched schedule a request is due only when it can start.
            (WhenFull::Stretch, _) | (_, None) => 0,
            (_, Some(looked)) => self.not_started_by(looked).min(dropped),
        };
        self.planned += match self.planned_when {
            PlannedWhen::Taken => dropped,
            // All requests of this share, minus those that were counted as planned before.
            PlannedWhen::Due => {
                let taken = self.starts.handed_out - u64::from(self.starts_next.is_some());
                let counted = self.plan.handed_out - u64::from(self.plan_next.is_some());
                (taken + dropped).saturating_sub(counted)
            }
        };
        (self.plan_next, self.starts_next) = (None, None);
        StopCounts { dropped, not_due: dropped - were_due }
    }

    /// How many requests are due up to and including `until` and were neither started nor dropped.
    fn not_started_by(&self, until: Nanos) -> u64 {
        match self.starts_next {
            Some(due) if due <= until => 1 + self.starts.due_by(until),
            _ => 0,
        }
    }

    fn schedule_end(&self) -> Option<Nanos> {
        let known = match self.when_full {
            WhenFull::Stretch => self.starts_next.is_none(),
            WhenFull::Queue | WhenFull::Drop => true,
        };
        let end = self.length.plus(self.stretch);
        self.stopped.map(|at| at.min(end)).or(known.then_some(end))
    }
}

/// The closed model: users, each of which sends its next request after its last answer.
pub(crate) struct Closed {
    /// For each ready user, since when it is ready.
    ready: VecDeque<Nanos>,
    /// For each resting user, until when it rests.
    resting: VecDeque<Nanos>,
    until: Until,
    /// Requests that may still start.
    left: u64,
    /// Planned requests that `take_planned` has not returned yet.
    planned: u64,
    stopped: Option<Nanos>,
}

impl Closed {
    pub(crate) fn new(concurrency: u32, until: Until) -> Closed {
        let mut ready = VecDeque::with_capacity(concurrency as usize);
        ready.resize(concurrency as usize, Nanos(0));
        let left = match until {
            Until::For(_) => u64::MAX,
            Until::Requests(requests) => requests,
        };
        let resting = VecDeque::with_capacity(concurrency as usize);
        Closed { ready, resting, until, left, planned: 0, stopped: None }
    }

    fn next_action(&mut self, now: Nanos) -> Action {
        if self.is_finished(now) {
            return Action::Wait;
        }
        while let Some(rested) = self.resting.front().copied().filter(|rested| *rested <= now) {
            self.resting.pop_front();
            self.ready.push_back(rested);
        }
        let Some(since) = self.ready.pop_front() else { return Action::Wait };
        self.left -= 1;
        self.planned += 1;
        Action::Start { due: since, free: since }
    }

    fn wake(&self) -> Option<Nanos> {
        let next = self.ready.front().or(self.resting.front()).copied();
        match self.until {
            Until::For(length) => Some(next.map_or(length, |next| next.min(length))),
            Until::Requests(_) => next.filter(|_| self.left > 0),
        }
    }

    fn request_ended(&mut self, done: Nanos, connection: ConnectResult) {
        match connection {
            ConnectResult::Connected => self.ready.push_back(done),
            ConnectResult::NotConnected => self.resting.push_back(done.plus(REST)),
        }
    }

    fn is_finished(&self, now: Nanos) -> bool {
        let over = match self.until {
            Until::For(length) => now >= length,
            Until::Requests(_) => self.left == 0,
        };
        over || self.stopped.is_some()
    }

    fn schedule_end(&self) -> Option<Nanos> {
        match self.until {
            Until::For(length) => Some(self.stopped.map_or(length, |at| at.min(length))),
            Until::Requests(_) => self.stopped,
        }
    }
}

/// How long a user rests when its connection could not be opened. Without a rest, a server that is
/// gone would cause hundreds of thousands of refusals a second, and nothing else would be seen.
const REST: Nanos = Nanos::from_millis(10);

#[cfg(test)]
mod tests;
