//! Runs one load thread: starts due requests, moves bytes, ends requests and records them.
//!
//! A [`Pace`] decides when a request starts, a [`Feed`] which request. The protocol encodes and
//! decodes, the engine does the I/O, and the recorder counts. Times are on the engine's clock.

mod pace;
mod pool;
mod requests;
#[cfg(test)]
mod tests;

use std::time::Instant;

use stampede_model::counts::{Connections, End};
use stampede_model::failure::Net;
use stampede_model::load::ConnectionHabit;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;

use crate::check::Check;
use crate::engine::{Completion, Engine, Op, Token};
use crate::example::{Example, Examples, UnusualLengths};
use crate::outcome::Outcome;
use crate::protocol::{Answer, AnswerEnd, Aside, Next, Protocol, RequestId};
use crate::recorder::{EndTiming, Recorder, SentRequest};
use pace::{Action, ConnectResult};
use pool::{ConnectionState, Observed, Pool};
use requests::{
    ConnectionUse, InFlightRequest, Progress, RequestEnding, RequestsInFlight, request_record,
};
use stampede_traffic::feed::{Feed, FeedStatus};
use stampede_traffic::line::RequestLine;

pub(crate) use pace::{Closed, Open, OpenParts, Pace, ScheduleShare};

/// What a load thread is made of.
pub(crate) struct DriverParts<E, F> {
    pub(crate) engine: E,
    /// Makes the protocol state of a new connection.
    pub(crate) protocol: F,
    pub(crate) pace: Pace,
    pub(crate) recorder: Recorder,
    pub(crate) feed: Feed,
    pub(crate) timeout: Nanos,
    pub(crate) check: Check,
    pub(crate) habit: ConnectionHabit,
}

/// What a load thread gets for one load.
pub(crate) struct LoadParts {
    pub(crate) pace: Pace,
    pub(crate) recorder: Recorder,
    pub(crate) feed: Feed,
}

/// What a load thread reports at its end, besides what its recorder passed on.
#[derive(Clone, Debug)]
pub(crate) struct ThreadReport {
    pub(crate) scheduled: Nanos,
    pub(crate) lasted: Nanos,
    pub(crate) in_flight_integral: u128,
    pub(crate) in_flight_max: u32,
    pub(crate) connections: Connections,
    pub(crate) aside: Aside,
    pub(crate) busy_share: f64,
    pub(crate) engine: &'static str,
    pub(crate) stretched: f64,
    pub(crate) not_due: u64,
    pub(crate) end: End,
    pub(crate) examples: Vec<Example>,
    pub(crate) unusual: UnusualLengths,
}

/// The state of a running load thread.
pub(crate) struct Driver<P, E, F> {
    parts: DriverParts<E, F>,
    pool: Pool<P>,
    requests: RequestsInFlight,
    answers: Vec<Answer>,
    examples: Examples,
    observed: Observed,
}

impl<P: Protocol, E: Engine, F: Fn() -> P> Driver<P, E, F> {
    pub(crate) fn new(parts: DriverParts<E, F>) -> Driver<P, E, F> {
        Driver {
            parts,
            pool: Pool::new(),
            requests: RequestsInFlight::default(),
            answers: Vec::with_capacity(1),
            examples: Examples::default(),
            observed: Observed::new(0),
        }
    }

    /// Begins another load on the connections of the last one, which has ended. Its times count
    /// from `epoch`.
    pub(crate) fn begin(&mut self, epoch: Instant, load: LoadParts) {
        self.parts.engine.begin(epoch);
        (self.parts.pace, self.parts.recorder, self.parts.feed) =
            (load.pace, load.recorder, load.feed);
        self.observed = Observed::new(self.pool.begin_load());
    }

    /// Runs the load until nothing further starts and nothing is in flight. Takes no longer than
    /// the schedule, one timeout for waiting requests, and one timeout for requests in flight.
    pub(crate) fn run(&mut self, stop: &Stop) -> ThreadReport {
        let mut looked = None;
        loop {
            let now = self.parts.engine.now();
            self.advance_to(now);
            self.time_out(now);
            if stop.is_asked() && !self.parts.pace.is_finished(now) {
                self.stop(now, looked);
            }
            self.start_due();
            looked = Some(self.parts.engine.now());
            // Some operations complete inside the call. Take their completions before the clock is
            // read again, or they would look later than they were.
            self.take_completions();
            let now = self.parts.engine.now();
            if self.requests.count() == 0 && self.parts.pace.is_finished(now) {
                return self.report();
            }
            self.parts.engine.wait(self.wake(now), self.requests.count());
            self.advance_to(self.parts.engine.now());
            self.take_completions();
        }
    }

    /// The next moment at which the thread has something to do even if no completion arrives.
    fn wake(&self, now: Nanos) -> Nanos {
        // A finished pace still names its end, which is in the past. Waking for it would spin until
        // the last answer.
        let pace = Some(&self.parts.pace).filter(|pace| !pace.is_finished(now));
        let due = pace.and_then(|pace| pace.wake(self.requests.count()));
        // Without traffic, a due request waits for the reader. Its due time is past and would spin.
        let due = match self.parts.feed.was_late() {
            true => due.map(|due| due.max(now.plus(LATE_TRAFFIC_RETRY))),
            false => due,
        };
        let started = self.requests.first().map(|first| self.requests.at(first).times.started);
        let timeout = started.map(|started| started.plus(self.parts.timeout));
        let look = now.plus(WAKE_INTERVAL_MAX).min(self.parts.recorder.boundary());
        look.min(due.unwrap_or(look)).min(timeout.unwrap_or(look))
    }

    /// Advances to `now`: counts the requests planned until then, and passes on finished seconds.
    fn advance_to(&mut self, now: Nanos) {
        if self.parts.recorder.boundary() <= now {
            let planned = self.take_planned_of_second();
            self.parts.recorder.planned(planned);
            self.parts.recorder.next_second(self.parts.engine.busy());
        }
        // Whole seconds in which this thread did not run.
        while self.parts.recorder.boundary() <= now {
            let planned = self.take_planned_of_second();
            self.parts.recorder.skip_second(planned);
        }
        let planned = self.parts.pace.take_planned(now);
        self.parts.recorder.planned(planned);
    }

    /// Takes the requests planned until the end of the current second.
    fn take_planned_of_second(&mut self) -> u64 {
        let last = self.parts.recorder.boundary().since(Nanos(1));
        self.parts.pace.take_planned(last)
    }

    fn stop(&mut self, now: Nanos, looked: Option<Nanos>) {
        let stopped = self.parts.pace.stop(now, looked, self.requests.count());
        self.parts.recorder.dropped(stopped.dropped);
        self.observed.not_due = stopped.not_due;
        let planned = self.parts.pace.take_planned(Nanos(u64::MAX));
        self.parts.recorder.planned(planned);
        self.observed.end = End::Stopped;
    }

    /// Starts due requests. Closed model: at most a burst, so that answers do not wait for a
    /// thousand starts. Open model: one request per turn. Several are due only when we are late,
    /// and starting them all before reading would add our delay to answers without a kernel
    /// timestamp.
    fn start_due(&mut self) {
        let burst = match self.parts.pace {
            Pace::Closed(_) => BURST,
            Pace::Open(_) => 1,
        };
        for _ in 0..burst {
            let now = self.parts.engine.refresh();
            self.advance_to(now);
            // `poll` reserves a request for this thread, so ask only while one can still start.
            if self.parts.pace.is_finished(now) {
                return;
            }
            let action = match self.parts.feed.poll() {
                FeedStatus::Ready => self.parts.pace.next_action(now, self.requests.count()),
                FeedStatus::Late => self.parts.pace.action_without_traffic(now),
                FeedStatus::Ended => return self.parts.pace.end_traffic(now),
            };
            match action {
                Action::Start { due, free } => self.start(SentRequest { due, free, started: now }),
                Action::Drop => self.parts.recorder.dropped(1),
                Action::Wait => return,
            }
        }
    }

    fn start(&mut self, sent_request: SentRequest) {
        let request = self.parts.feed.take();
        let token = self.pool.acquire(&self.parts.protocol);
        let id = self.requests.add(InFlightRequest {
            times: sent_request,
            token,
            tag: request.tag,
            lengths: request.lengths,
            line: RequestLine::of(request),
        });
        let connection = self.pool.at(token);
        let engine = &mut self.parts.engine;
        let fresh = connection.state == ConnectionState::Closed;
        if fresh {
            connection.open();
            engine.send_buffer(token).clear();
            engine.submit(token, Op::Connect);
        }
        connection.add(id, sent_request.started);
        let refused = connection.protocol.start(id, request, engine.send_buffer(token));
        engine.submit(token, Op::Send);
        if fresh {
            engine.submit(token, Op::Receive);
        }
        if connection.protocol.room() {
            self.pool.mark_available(token);
        }
        self.parts.recorder.started(&sent_request);
        if self.parts.recorder.wants_records() {
            self.requests.track_progress(
                id,
                if fresh { ConnectionUse::New(None) } else { ConnectionUse::Reused },
            );
        }
        if let Some(end) = refused {
            let outcome = Outcome::of(&self.parts.check, end, Nanos(0));
            return self.fail_connection(token, outcome, sent_request.started);
        }
        if fresh {
            // On loopback the connection is established when the call returns. Take its completion
            // now, so that the time of the next starts is not counted as its connect time.
            self.parts.engine.refresh();
            self.take_completions();
        }
    }

    fn take_completions(&mut self) {
        for _ in 0..COMPLETIONS {
            let Some(completion) = self.parts.engine.next() else { return };
            match completion {
                Completion::Connected(token) => self.connected(token),
                Completion::Sent(token, bytes) => {
                    let now = self.parts.engine.now();
                    self.parts.recorder.sent(bytes);
                    self.update_progress(token, |progress| {
                        progress.sent = Some(now);
                        progress.bytes_sent += bytes;
                    });
                }
                Completion::Received(token, bytes, arrival) => {
                    let came = arrival.at;
                    self.parts.recorder.arrived(arrival);
                    let count = bytes.len() as u64;
                    self.parts.recorder.received(count);
                    let answers = &mut self.answers;
                    let protocol = &mut self.pool.at(token).protocol;
                    protocol.received(bytes, came, &mut |answer| answers.push(answer));
                    self.update_progress(token, |progress| progress.bytes_received += count);
                    self.transmit(token);
                    if came >= self.parts.recorder.boundary() {
                        self.advance_to(came);
                    }
                    self.finish_read(token, came);
                }
                Completion::PeerClosed(token) => self.peer_hung_up(token),
                Completion::Failed(token, failure) => self.failed(token, failure.into()),
            }
        }
    }

    /// A server that closes while we are still sending causes a reset, and either may be seen
    /// first: report both as a reset.
    fn peer_hung_up(&mut self, token: Token) {
        match self.parts.engine.unsent(token) {
            true => self.failed(token, Net::Reset),
            false => self.peer_closed(token, Net::CutShort),
        }
    }

    /// A server that answers without reading the whole request has closed in order. Because we were
    /// still sending, TCP makes a reset of it, which may destroy the end of the answer. So an
    /// answer that the close completes counts, and so does a wrong status.
    fn failed(&mut self, token: Token, reason: Net) {
        let is_early = self.parts.engine.unsent(token);
        let &mut pool::Connection { ref protocol, ref requests, state, .. } = self.pool.at(token);
        if is_early && requests.iter().any(|id| protocol.is_whole_at_close(*id)) {
            return self.peer_closed(token, reason);
        }
        if is_early && state == ConnectionState::Open {
            self.observed.write_errors += requests.len() as u64;
        }
        let at = self.parts.engine.now();
        while let Some(id) = self.pool.at(token).requests.first().copied() {
            let status = self.pool.at(token).protocol.status(id).filter(|_| is_early);
            let wrong = status.filter(|status| !self.parts.check.right_status(*status));
            self.fail_request(id, wrong.map_or(Outcome::Net(reason), Outcome::Http), at);
        }
        self.close(token);
    }

    /// The peer sends no more: ends the request whose answer the close completes, and all others
    /// with `reason`.
    fn peer_closed(&mut self, token: Token, reason: Net) {
        let now = self.parts.engine.now();
        let answers = &mut self.answers;
        let protocol = &mut self.pool.at(token).protocol;
        protocol.peer_closed(now, &mut |answer| answers.push(answer));
        self.take_answers(token, now);
        self.abort_connection(token, reason, now);
    }

    fn connected(&mut self, token: Token) {
        let now = self.parts.engine.now();
        self.observed.opened += 1;
        let connection = self.pool.at(token);
        connection.state = ConnectionState::Open;
        connection.opened += 1;
        if let Some(began) = connection.waiting_since(&self.requests) {
            self.parts.recorder.connected(now.since(began));
        }
        self.update_progress(token, |progress| {
            progress.connection_use = ConnectionUse::New(Some(now))
        });
    }

    /// After a read: sends what the protocol itself has to say, for example a handshake step.
    fn transmit(&mut self, token: Token) {
        let out = self.parts.engine.send_buffer(token);
        let before = out.len();
        self.pool.at(token).protocol.transmit(out);
        if out.len() > before {
            self.parts.engine.submit(token, Op::Send);
        }
    }

    /// Updates the progress of the request on this connection, where requests are recorded. Of
    /// several requests on one connection it is the one that started last.
    fn update_progress(&mut self, token: Token, how: impl FnOnce(&mut Progress)) {
        if self.parts.recorder.wants_records()
            && let Some(id) = self.pool.at(token).requests.last()
        {
            how(self.requests.progress(*id));
        }
    }

    /// After a read: ends the requests that were answered, then reuses or closes the connection.
    fn finish_read(&mut self, token: Token, came: Nanos) {
        self.take_answers(token, came);
        let connection = self.pool.at(token);
        self.observed.aside.add(connection.protocol.take_aside());
        if connection.requests.is_empty() && self.parts.engine.unsent(token) {
            // Answered before the whole request was sent: the server would read the next request as
            // the rest of this one.
            return self.close(token);
        }
        match connection.protocol.after_answer() {
            Next::KeepOpen if connection.protocol.room() => self.pool.mark_available(token),
            Next::KeepOpen | Next::Close if connection.requests.is_empty() => self.close(token),
            Next::KeepOpen | Next::Close => {}
        }
    }

    /// Ends the requests that were answered.
    fn take_answers(&mut self, token: Token, came: Nanos) {
        let mut answers = std::mem::take(&mut self.answers);
        for answer in answers.drain(..) {
            let status = match answer.end {
                AnswerEnd::Whole { status, .. } => Some(status),
                _ => None,
            };
            if status.is_some() {
                self.parts.recorder.answered(answer.bytes, answer.body_bytes);
                self.parts.recorder.odd(answer.odd);
            }
            if answer.bytes > 0 {
                self.pool.at(token).answered = true;
                self.observed.answered_last = self.observed.answered_last.max(Some(came));
            }
            if answer.end == AnswerEnd::Displaced {
                // The connection was open, so it says nothing about idle times.
                self.pool.at(token).idle = None;
            }
            let done = self.effective_time(answer.id, came);
            let service_time = done.since(self.requests.at(answer.id).times.started);
            let outcome = match service_time > self.parts.timeout {
                true => Outcome::Net(Net::Timeout),
                false => Outcome::of(&self.parts.check, answer.end, service_time),
            };
            let InFlightRequest { lengths, line, .. } = self.requests.at(answer.id);
            if outcome == Outcome::Ok && !lengths.has(answer.body_bytes) {
                self.observed.unusual.count(line, done, answer.body_bytes);
            }
            let first_byte = (answer.bytes > 0).then_some(answer.first_byte);
            self.end_request(answer.id, RequestEnding { outcome, first_byte, status }, done);
            self.pool.at(token).answers += u64::from(status.is_some());
        }
        self.answers = answers;
    }

    /// When an event that came at `came` counts for this request. A timestamp before the request's
    /// start is bogus: the clock was stepped, or nobody asked for these bytes. Then the current
    /// time is used.
    fn effective_time(&self, id: RequestId, came: Nanos) -> Nanos {
        let started = self.requests.at(id).times.started;
        if came >= started { came } else { self.parts.engine.now() }
    }

    /// Closes the connection, and ends every request on it for the same reason.
    fn abort_connection(&mut self, token: Token, reason: Net, at: Nanos) {
        self.fail_connection(token, Outcome::Net(reason), at);
    }

    fn fail_connection(&mut self, token: Token, outcome: Outcome, at: Nanos) {
        while let Some(id) = self.pool.at(token).requests.first().copied() {
            self.fail_request(id, outcome, at);
        }
        self.close(token);
    }

    /// Ends a request without an answer.
    fn fail_request(&mut self, id: RequestId, outcome: Outcome, at: Nanos) {
        let status = match outcome {
            Outcome::Http(status) => Some(status),
            _ => None,
        };
        let connection = self.pool.at(self.requests.at(id).token);
        let first_byte = connection.protocol.first_byte(id);
        connection.answered |= first_byte.is_some();
        let done = self.effective_time(id, at);
        self.end_request(id, RequestEnding { outcome, first_byte, status }, done);
    }

    /// Ends a request before its answer. Others on its connection go on, where the protocol can
    /// give up a single one.
    fn cancel(&mut self, id: RequestId, reason: Net) {
        let at = self.parts.engine.now();
        let token = self.requests.at(id).token;
        let out = self.parts.engine.send_buffer(token);
        let before = out.len();
        let next = self.pool.at(token).protocol.cancel(id, out);
        let has_more = out.len() > before;
        match next {
            Next::Close => self.abort_connection(token, reason, at),
            Next::KeepOpen => {
                self.fail_request(id, Outcome::Net(reason), at);
                if has_more {
                    self.parts.engine.submit(token, Op::Send);
                }
                if self.pool.at(token).protocol.room() {
                    self.pool.mark_available(token);
                }
            }
        }
    }

    fn close(&mut self, token: Token) {
        self.parts.engine.submit(token, Op::Close);
        self.pool.mark_closed(token);
    }

    fn time_out(&mut self, now: Nanos) {
        if self.overdue(now).is_some() {
            // An answer that arrived in time is no timeout only because we look late.
            self.drain();
        }
        while let Some(id) = self.overdue(now) {
            self.cancel(id, Net::Timeout);
        }
    }

    /// The oldest request in flight, if it has timed out.
    fn overdue(&self, now: Nanos) -> Option<RequestId> {
        let first = self.requests.first()?;
        let started = self.requests.at(first).times.started;
        (started.plus(self.parts.timeout) <= now).then_some(first)
    }

    /// Takes all completions that have arrived, for as long as they end requests.
    fn drain(&mut self) {
        let mut before = u32::MAX;
        while self.requests.count() < before {
            before = self.requests.count();
            let now = self.parts.engine.refresh();
            self.parts.engine.wait(now, before);
            self.take_completions();
        }
    }

    fn end_request(&mut self, id: RequestId, mut ending: RequestEnding, done: Nanos) {
        let in_flight = self.requests.count();
        let known_end = self.parts.pace.schedule_end();
        let token = self.requests.at(id).token;
        let since = self.pool.at(token).waiting_since(&self.requests);
        let InFlightRequest { times: sent_request, tag, line, .. } = self.requests.remove(id);
        let connection = self.pool.at(token);
        let outcome = connection.outcome(ending.outcome, ending.first_byte);
        ending.outcome = outcome;
        connection.count_kept(outcome, ending.first_byte, &mut self.observed.kept);
        if self.examples.is_missing(outcome) {
            let failed = match outcome {
                Outcome::Check(failed) => Some(failed),
                _ => None,
            };
            let (excerpt, check) = (connection.protocol.excerpt(id, failed), &self.parts.check);
            let service_time = done.since(sent_request.started);
            self.examples.add(outcome, check, (&line, tag), done, service_time, excerpt);
        }
        connection.remove(id, done);
        let connect_result = match connection.state {
            ConnectionState::Open => ConnectResult::Connected,
            ConnectionState::Opening | ConnectionState::Closed => ConnectResult::NotConnected,
        };
        if !connection.answered && connect_result == ConnectResult::Connected {
            // Until `answered_last` the server answered other connections while this one waited.
            // After that it answered none, so this connection did not wait because of others.
            let until =
                [known_end, self.observed.answered_last].into_iter().flatten().fold(done, Ord::min);
            connection.waited = connection.waited.plus(until.since(since.unwrap_or(until)));
        }
        // While the end of the schedule is unknown, everything that ends is inside it.
        let inside = known_end.is_none_or(|end| done <= end);
        let end_timing = if inside { EndTiming::Inside } else { EndTiming::After };
        self.parts.recorder.ended(&sent_request, tag, outcome, done, end_timing);
        self.parts.pace.request_ended(done, in_flight, connect_result);
        if self.parts.recorder.wants_records() {
            let progress = *self.requests.progress(id);
            self.parts.recorder.record(request_record(&sent_request, tag, progress, ending, done));
        }
    }

    fn report(&mut self) -> ThreadReport {
        let planned = self.parts.pace.take_planned(Nanos(u64::MAX));
        self.parts.recorder.planned(planned);
        let (now, busy) = (self.parts.engine.refresh(), self.parts.engine.busy());
        let ended = self.parts.recorder.finish(busy);
        let scheduled = self.parts.pace.schedule_end().unwrap_or(ended.last_end);
        let never_answered = match self.parts.habit {
            ConnectionHabit::KeepAlive => {
                let answering =
                    self.observed.answered_last.map_or(scheduled, |last| last.min(scheduled));
                self.pool.never_answered(answering)
            }
            // A connection that carries one request cannot occupy a worker for the whole trial.
            ConnectionHabit::PerRequest => 0,
        };
        ThreadReport {
            scheduled,
            lasted: ended.last_end,
            in_flight_integral: ended.in_flight_integral,
            in_flight_max: ended.in_flight_max,
            connections: Connections {
                opened: self.observed.opened,
                from_warm_up: self.observed.from_warm_up,
                never_answered,
                write_errors: Some(self.observed.write_errors),
                kept: self.observed.kept,
                ..self.parts.engine.connections()
            },
            aside: self.observed.aside,
            busy_share: busy.0 as f64 / now.0.max(1) as f64,
            stretched: self.parts.pace.stretched(),
            engine: self.parts.engine.name(),
            not_due: self.observed.not_due,
            end: self.observed.end,
            examples: std::mem::take(&mut self.examples).into_list(),
            unusual: std::mem::take(&mut self.observed.unusual),
        }
    }
}

/// Longest time for which a stop may go unnoticed. It also bounds how late we notice an end that no
/// event announces.
const WAKE_INTERVAL_MAX: Nanos = Nanos::from_millis(50);
/// How soon to look again for late traffic. The reader is the bottleneck then, and a look costs
/// less than a microsecond.
const LATE_TRAFFIC_RETRY: Nanos = Nanos(100_000);
/// Starts of the closed model between two looks at answers. A start with a connect call takes some
/// 20 µs, so a burst delays answers by less than 1 ms.
const BURST: u32 = 32;
/// Completions handled between two looks at the clock. This is more than one batch of an engine, so
/// only a server that sends without end reaches it: 256 full reads are 16 MiB, some 5 ms.
const COMPLETIONS: u32 = 256;
