//! Which request may start next: from a schedule (open model) or as users are ready (closed).

use std::collections::VecDeque;

use crate::schedule::Schedule;
use crate::spec::{Until, WhenFull};
use crate::time::Nanos;

/// One load thread's part of a schedule: every `of`-th request, from the `index`-th on.
pub(crate) struct Dealt {
    schedule: Box<dyn Schedule>,
    skip: usize,
    of: usize,
    /// The latest due time seen, of all threads' requests; the last of the schedule once it
    /// has ended.
    last: Nanos,
    /// Requests of this part that were given.
    given: u64,
}

impl Dealt {
    pub(crate) fn new(schedule: Box<dyn Schedule>, index: usize, of: usize) -> Dealt {
        Dealt { schedule, skip: index, of, last: Nanos(0), given: 0 }
    }

    fn next_due(&mut self) -> Option<Nanos> {
        for _ in 0..self.skip {
            self.last = self.schedule.next_due()?;
        }
        self.skip = self.of - 1;
        self.last = self.schedule.next_due()?;
        self.given += 1;
        Some(self.last)
    }

    /// How many requests of this part are still to come up to and including `until`.
    fn due_by(&self, until: Nanos) -> u64 {
        let others = self.schedule.due_by(until);
        others.saturating_sub(self.skip as u64).div_ceil(self.of as u64)
    }
}

/// What may be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Start a request that was due, and had a connection, then.
    Start { due: Nanos, free: Nanos },
    /// Drop one.
    Drop,
    /// Nothing, before the time that `wake` says.
    Wait,
}

/// Either model.
pub(crate) enum Pace {
    Open(Open),
    Closed(Closed),
}

impl Pace {
    /// The next thing to do at `now` with `under_way` requests under way. What it says is
    /// taken as done.
    pub(crate) fn turn(&mut self, now: Nanos, under_way: u32) -> Turn {
        match self {
            Pace::Open(open) => open.turn(now, under_way),
            Pace::Closed(closed) => closed.turn(now),
        }
    }

    /// The same while there is no request to send: nothing starts.
    pub(crate) fn turn_without_traffic(&mut self, now: Nanos) -> Turn {
        match self {
            Pace::Open(open) => open.turn_without_traffic(now),
            Pace::Closed(_) => Turn::Wait,
        }
    }

    /// The traffic is over: what was not taken by now was never planned.
    pub(crate) fn over(&mut self, now: Nanos) {
        match self {
            Pace::Open(open) => open.over(now),
            Pace::Closed(closed) => (closed.until, closed.left) = (Until::Requests(0), 0),
        }
    }

    /// When `turn` is to be asked again, if nothing happens before.
    pub(crate) fn wake(&self, under_way: u32) -> Option<Nanos> {
        match self {
            Pace::Open(open) => open.wake(under_way),
            Pace::Closed(closed) => closed.wake(),
        }
    }

    /// How many requests became planned since the last time asked, up to and including `until`.
    pub(crate) fn take_planned(&mut self, until: Nanos) -> u64 {
        match self {
            Pace::Open(open) => open.take_planned(until),
            Pace::Closed(closed) => std::mem::take(&mut closed.planned),
        }
    }

    /// A request ended at `done`, which may be some time ago; `under_way` counts it still.
    pub(crate) fn ended(&mut self, done: Nanos, under_way: u32, connection: Reached) {
        match self {
            Pace::Open(open) if under_way >= open.limit => {
                open.full_until = open.full_until.max(done);
            }
            Pace::Open(_) => {}
            Pace::Closed(closed) => closed.ended(done, connection),
        }
    }

    /// Whether no further request will start.
    pub(crate) fn finished(&self, now: Nanos) -> bool {
        match self {
            Pace::Open(open) => open.starts_next.is_none(),
            Pace::Closed(closed) => closed.finished(now),
        }
    }

    /// Told to stop with `under_way` requests under way: nothing further starts. `looked` is when
    /// those that were due had their turn last.
    pub(crate) fn stop(&mut self, now: Nanos, looked: Option<Nanos>, under_way: u32) -> Stopped {
        match self {
            Pace::Open(open) => open.stop(now, looked, under_way),
            Pace::Closed(closed) => {
                closed.stopped = Some(now);
                Stopped::default()
            }
        }
    }

    /// When the schedule ends, once that is known.
    pub(crate) fn end(&self) -> Option<Nanos> {
        match self {
            Pace::Open(open) => open.end(),
            Pace::Closed(closed) => closed.end(),
        }
    }

    /// Real length ÷ planned length; 1 where nothing stretched.
    pub(crate) fn stretched(&self) -> f64 {
        match self {
            Pace::Open(open) if open.length.0 > 0 => {
                1.0 + open.stretch.as_secs_f64() / open.length.as_secs_f64()
            }
            _ => 1.0,
        }
    }
}

/// What a stop has made of the rest of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stopped {
    /// Requests that are dropped.
    pub(crate) dropped: u64,
    /// Those of them that were not due before.
    pub(crate) not_due: u64,
}

/// Whether a request that ended had got a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    Connected,
    Not,
}

/// Requests from a schedule.
pub(crate) struct Open {
    /// Runs ahead of `starts`, to say what is planned while requests wait for a connection:
    /// cheaper than a queue of waiting requests, and it has no bound to run into.
    plan: Dealt,
    plan_next: Option<Nanos>,
    starts: Dealt,
    starts_next: Option<Nanos>,
    length: Nanos,
    when_full: WhenFull,
    /// Requests under way at once.
    limit: u32,
    /// For how long after the last due time requests may start.
    grace: Nanos,
    /// How much later than in the schedule requests are due by now.
    stretch: Nanos,
    /// When the limit was last left. A request due before that had no connection until then.
    full_until: Nanos,
    /// Planned and not yet told.
    planned: u64,
    planned_when: PlannedWhen,
    traffic: TrafficEnd,
    stopped: Option<Nanos>,
}

/// Whether the traffic may be over before the schedule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrafficEnd {
    Never,
    /// After a number of requests that nobody knows before.
    Sometime,
}

/// From when on a request counts as planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlannedWhen {
    /// When the schedule has it due.
    Due,
    /// When it starts or is dropped: where the schedule stretches, for it is due no sooner
    /// than it can start, and where the traffic ends at nobody knows which request.
    Taken,
}

/// What an open load is made of.
pub(crate) struct OpenParts {
    /// The same schedule twice.
    pub(crate) plan: Dealt,
    pub(crate) starts: Dealt,
    /// The schedule's own: at a constant rate it goes on for one gap after the last request.
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

    fn turn_without_traffic(&mut self, now: Nanos) -> Turn {
        let due = self.starts_next.is_some_and(|due| due <= now);
        let given_up = self.give_up().is_some_and(|last| now > last);
        if due && given_up { self.take(Turn::Drop) } else { Turn::Wait }
    }

    fn over(&mut self, now: Nanos) {
        // As a schedule goes on for one gap after its last request, so does what ends it here.
        if let Some(due) = self.starts_next.take() {
            self.stopped = Some(now.max(due.plus(self.stretch)));
        }
        self.plan_next = None;
    }

    fn turn(&mut self, now: Nanos, under_way: u32) -> Turn {
        let Some(mut due) = self.starts_next.map(|due| due.plus(self.stretch)) else {
            return Turn::Wait;
        };
        if due > now {
            return Turn::Wait;
        }
        if self.give_up().is_some_and(|last| now > last) {
            return self.take(Turn::Drop);
        }
        if under_way >= self.limit {
            return match self.when_full {
                WhenFull::Drop => self.take(Turn::Drop),
                WhenFull::Queue | WhenFull::Stretch => Turn::Wait,
            };
        }
        if self.when_full == WhenFull::Stretch && self.full_until > due {
            self.stretch = self.stretch.plus(self.full_until.since(due));
            due = self.full_until;
        }
        self.take(Turn::Start { due, free: due.max(self.full_until) })
    }

    fn take(&mut self, turn: Turn) -> Turn {
        self.starts_next = self.starts.next_due();
        self.planned += u64::from(self.planned_when == PlannedWhen::Taken);
        turn
    }

    /// Until when a waiting request may start; `None` while the schedule has not ended, and
    /// where it stretches instead.
    fn give_up(&self) -> Option<Nanos> {
        let ended = self.when_full != WhenFull::Stretch && self.plan_next.is_none();
        ended.then(|| self.plan.last.plus(self.grace))
    }

    fn wake(&self, under_way: u32) -> Option<Nanos> {
        let due = self.starts_next?.plus(self.stretch);
        if under_way < self.limit || self.when_full == WhenFull::Drop {
            return Some(due);
        }
        self.give_up().map(|last| last.plus(Nanos(1)))
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

    /// Counts what is left, and walks nothing: a schedule may hold thousands of millions of
    /// requests.
    fn stop(&mut self, now: Nanos, looked: Option<Nanos>, under_way: u32) -> Stopped {
        self.stopped = Some(now);
        // Without a connection for them nobody looks at those that become due.
        let full_until = if under_way >= self.limit { now } else { self.full_until };
        let looked = looked.map(|looked| looked.max(full_until));
        let last = match self.traffic {
            TrafficEnd::Never => Nanos(u64::MAX),
            // Nobody knows for how many of the later ones there was traffic.
            TrafficEnd::Sometime => now,
        };
        let dropped = self.not_started_by(last);
        let were_due = match (self.when_full, looked) {
            // Stretched, a request is due when it can start.
            (WhenFull::Stretch, _) | (_, None) => 0,
            (_, Some(looked)) => self.not_started_by(looked).min(dropped),
        };
        self.planned += match self.planned_when {
            PlannedWhen::Taken => dropped,
            // All of this part, but what was told before.
            PlannedWhen::Due => {
                let taken = self.starts.given - u64::from(self.starts_next.is_some());
                let told = self.plan.given - u64::from(self.plan_next.is_some());
                (taken + dropped).saturating_sub(told)
            }
        };
        (self.plan_next, self.starts_next) = (None, None);
        Stopped { dropped, not_due: dropped - were_due }
    }

    /// How many requests are due up to and including `until` and were not taken.
    fn not_started_by(&self, until: Nanos) -> u64 {
        match self.starts_next {
            Some(due) if due <= until => 1 + self.starts.due_by(until),
            _ => 0,
        }
    }

    fn end(&self) -> Option<Nanos> {
        let known = match self.when_full {
            WhenFull::Stretch => self.starts_next.is_none(),
            WhenFull::Queue | WhenFull::Drop => true,
        };
        let end = self.length.plus(self.stretch);
        self.stopped.map(|at| at.min(end)).or(known.then_some(end))
    }
}

/// Users, each of which sends the next request after its answer.
pub(crate) struct Closed {
    /// Since when each ready user has been ready.
    ready: VecDeque<Nanos>,
    /// Until when each resting user rests.
    resting: VecDeque<Nanos>,
    until: Until,
    /// Requests that may still start.
    left: u64,
    /// Planned and not yet told.
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

    fn turn(&mut self, now: Nanos) -> Turn {
        if self.finished(now) {
            return Turn::Wait;
        }
        while let Some(rested) = self.resting.front().copied().filter(|rested| *rested <= now) {
            self.resting.pop_front();
            self.ready.push_back(rested);
        }
        let Some(since) = self.ready.pop_front() else { return Turn::Wait };
        self.left -= 1;
        self.planned += 1;
        Turn::Start { due: since, free: since }
    }

    fn wake(&self) -> Option<Nanos> {
        let next = self.ready.front().or(self.resting.front()).copied();
        match self.until {
            Until::For(length) => Some(next.map_or(length, |next| next.min(length))),
            Until::Requests(_) => next.filter(|_| self.left > 0),
        }
    }

    fn ended(&mut self, done: Nanos, connection: Reached) {
        match connection {
            Reached::Connected => self.ready.push_back(done),
            Reached::Not => self.resting.push_back(done.plus(REST)),
        }
    }

    fn finished(&self, now: Nanos) -> bool {
        let over = match self.until {
            Until::For(length) => now >= length,
            Until::Requests(_) => self.left == 0,
        };
        over || self.stopped.is_some()
    }

    fn end(&self) -> Option<Nanos> {
        match self.until {
            Until::For(length) => Some(self.stopped.map_or(length, |at| at.min(length))),
            Until::Requests(_) => self.stopped,
        }
    }
}

/// How long a user rests whose connection could not be opened: without it, a server that
/// is gone would be told of by hundreds of thousands of refusals a second and nothing else.
const REST: Nanos = Nanos::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    struct Listed(std::ops::Range<u64>);

    impl Schedule for Listed {
        fn next_due(&mut self) -> Option<Nanos> {
            self.0.next().map(Nanos)
        }

        fn due_by(&self, until: Nanos) -> u64 {
            self.0.clone().take_while(|due| *due <= until.0).count() as u64
        }
    }

    #[test]
    fn what_is_left_of_a_part_is_counted_as_it_would_be_walked() {
        for (index, of, taken, until) in cases(4, 9) {
            let mut dealt = Dealt::new(Box::new(Listed(0..8)), index, of);
            for _ in 0..taken {
                dealt.next_due();
            }
            let counted = dealt.due_by(Nanos(until));
            let walked = std::iter::from_fn(|| dealt.next_due()).take_while(|due| due.0 <= until);
            assert_eq!(counted, walked.count() as u64, "{index} of {of}, {taken}, {until}");
        }
    }

    /// Each part of up to `threads`, after so many were taken, up to each moment.
    fn cases(threads: usize, until: u64) -> impl Iterator<Item = (usize, usize, usize, u64)> {
        let parts = (1..=threads).flat_map(|of| (0..of).map(move |index| (index, of)));
        let taken = parts.flat_map(|(index, of)| (0..10).map(move |taken| (index, of, taken)));
        taken.flat_map(move |(index, of, taken)| {
            (0..=until).map(move |until| (index, of, taken, until))
        })
    }

    #[test]
    fn requests_are_dealt_in_turn() {
        let shares = [0, 1, 2].map(|index| {
            let mut dealt = Dealt::new(Box::new(Listed(0..8)), index, 3);
            let taken: Vec<u64> =
                std::iter::from_fn(|| dealt.next_due().map(|due| due.0)).collect();
            (taken, dealt.last)
        });
        // All know when the last request of all is due.
        let last = Nanos(7);
        assert_eq!(shares, [(vec![0, 3, 6], last), (vec![1, 4, 7], last), (vec![2, 5], last)]);
    }
}
