//! Leads the agents through a load: a state machine without I/O and without a clock.
//!
//! Agents are greeted and their clocks compared, then the load is prepared, which includes the
//! warm-up, and started at one moment. From then on the seconds are the heartbeat: an agent without
//! one for [`SILENCE_MAX`] is lost. Then the other agents stop, and what came is kept. Nothing is
//! sent in a lost agent's place.

mod error;
mod member;
mod seconds;

use std::time::Duration;

use stampede_load::report::RequestRecord;
use stampede_load::{Load, LoadResult};
use stampede_model::agents::Loss;
use stampede_model::counts::{End, Second};
use stampede_model::load::{Model, Until};
use stampede_model::part::Part;
use stampede_model::time::Nanos;

use crate::agent::SILENCE_MAX;
use crate::message::{FromAgent, LoadEvent, ToAgent, VERSION};
pub use error::AgentError;
use member::{Doing, Member};
use seconds::MergedSeconds;

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// Agents are to be there, and their clocks known; no load yet.
    Meet,
    /// A load is to be sent. Its files are named by these hashes, and have so many bytes together.
    Begin(Box<Load>, Vec<String>, u64),
    /// An agent said this.
    Message(usize, FromAgent),
    /// The connection to an agent has ended, and this is what its carrier said last.
    Closed(usize, String),
    /// An agent sent what is no message.
    Foreign(usize),
    /// What was to be done before the load ([`Effect::BeforeLoad`]) is done.
    Go,
    /// The load is to end early.
    Stop,
    /// Nothing; time has passed.
    Tick,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send this to the agent.
    Send(usize, ToAgent),
    /// Send these files to the agent.
    SendFiles(usize, Vec<String>),
    /// All agents are there ([`Input::Meet`]).
    Met,
    /// A second of one agent's warm-up is over.
    WarmUpSecond(Box<Second>),
    /// All agents are ready. Do what must be done before the load, then give [`Input::Go`].
    BeforeLoad,
    /// The load begins at this time, by our clock.
    Began(Nanos),
    /// A second is over for all agents.
    Second(Box<Second>),
    /// Requests have ended. Their tags are numbers in the table of the load.
    Requests(Vec<RequestRecord>),
    /// The load could not be sent.
    Failed(AgentError),
    /// The load is over.
    Done(Box<LoadResult>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// There is no load.
    Idle,
    /// Agents are greeted, and their clocks compared.
    Meeting { until: Nanos },
    /// Agents prepare and warm up.
    Preparing { until: Nanos },
    /// All agents wait for the start.
    Ready,
    /// The load is being sent.
    Sending,
    /// Agents end early.
    Stopping { until: Nanos },
}

/// Leads agents. It keeps what it knows of their clocks from load to load.
#[derive(Debug)]
pub struct Coordinator {
    members: Vec<Member>,
    /// How long an agent may take to be there.
    absent: Nanos,
    phase: Phase,
    /// How many members take part in the load: no more than it has connections.
    used: usize,
    load: Option<(Box<Load>, Vec<String>)>,
    /// Length of its files.
    file_bytes: u64,
    seconds: MergedSeconds,
    result: LoadResult,
}

impl Coordinator {
    /// A coordinator of the agents with these names, which were told [`Coordinator::hello`]. `absent` is
    /// how long one may take to be there.
    pub fn new(names: &[String], absent: Nanos) -> Coordinator {
        let members: Vec<Member> = names.iter().map(|name| Member::new(name)).collect();
        let seconds = MergedSeconds::new(members.len());
        let (phase, load, result) = (Phase::Idle, None, LoadResult::nothing());
        Coordinator { members, absent, phase, used: 0, load, file_bytes: 0, seconds, result }
    }

    /// What to say to an agent first, and at once: it takes no other word before.
    pub fn hello(token: &str) -> ToAgent {
        ToAgent::Hello { version: VERSION, token: token.to_owned() }
    }

    /// Whether an agent was lost. It takes part in no further load.
    pub fn has_lost_one(&self) -> bool {
        self.members.iter().any(|member| member.loss.is_some())
    }

    /// After how long a [`Input::Tick`] is needed if nothing happens.
    pub fn patience(&self) -> Duration {
        match self.phase {
            Phase::Meeting { .. } => Duration::from_millis(2),
            _ => Duration::from_millis(20),
        }
    }

    /// Takes what happened; returns what to do, in order.
    pub fn handle(&mut self, now: Nanos, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        // A load fails once: without one, nobody waits for what an agent still says.
        let somebody_waits =
            self.phase != Phase::Idle || matches!(input, Input::Meet | Input::Begin(..));
        let failed = match input {
            Input::Meet => self.meet(now),
            Input::Begin(load, files, bytes) => {
                self.file_bytes = bytes;
                self.begin(now, load, files)
            }
            Input::Message(agent, message) => self.message(now, agent, message, &mut effects),
            Input::Closed(agent, said) => {
                self.lose(now, agent, Loss::Closed { said }, &mut effects)
            }
            Input::Foreign(agent) => self.lose(now, agent, Loss::Disorder {}, &mut effects),
            Input::Go => {
                self.start(now, &mut effects);
                Ok(())
            }
            Input::Stop => self.stop(now, &mut effects),
            Input::Tick => Ok(()),
        };
        match failed.and_then(|()| self.watch(now, &mut effects)) {
            Ok(()) => self.finish(&mut effects),
            Err(error) => {
                self.tell_all_to_stop(&mut effects);
                self.phase = Phase::Idle;
                effects.extend(somebody_waits.then_some(Effect::Failed(error)));
            }
        }
        effects
    }

    fn taking_part(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().take(self.used)
    }

    fn meet(&mut self, now: Nanos) -> Result<(), AgentError> {
        if let Some(lost) = self.members.iter().find(|member| member.loss.is_some()) {
            return Err(lost.error());
        }
        self.members.iter_mut().for_each(|member| member.meet(now));
        self.load = None;
        self.phase = Phase::Meeting { until: now.plus(self.absent) };
        Ok(())
    }

    fn begin(&mut self, now: Nanos, load: Box<Load>, files: Vec<String>) -> Result<(), AgentError> {
        self.meet(now)?;
        let fewest = load.warm_up.iter().chain([&load.model]).map(connections).min().unwrap_or(0);
        let used = (self.members.len() as u32).min(fewest).max(1);
        for (member, part) in self.members.iter_mut().zip(Part::all(used)) {
            member.begin(&load, part);
        }
        self.used = used as usize;
        self.seconds = MergedSeconds::new(self.used);
        self.result = LoadResult::nothing();
        self.load = Some((load, files));
        Ok(())
    }

    fn message(
        &mut self,
        now: Nanos,
        agent: usize,
        message: FromAgent,
        effects: &mut Vec<Effect>,
    ) -> Result<(), AgentError> {
        let member = &mut self.members[agent];
        if member.loss.is_some() {
            return Ok(());
        }
        match message {
            FromAgent::Hello { version, host, .. } if version == VERSION => {
                member.host = Some(host);
                Ok(())
            }
            FromAgent::Hello { version, .. } => {
                member.other_version = Some(version);
                self.lose(now, agent, Loss::Disorder {}, effects)
            }
            FromAgent::Pong { number, received, sent } => {
                // An answer that cannot be true is as good as none.
                if member.pings.returned(number, received, sent, now) {
                    member.last_pong = now;
                }
                Ok(())
            }
            FromAgent::Wants { hashes } => {
                let known = self
                    .load
                    .as_ref()
                    .is_some_and(|(_, files)| hashes.iter().all(|hash| files.contains(hash)));
                if !known {
                    return self.lose(now, agent, Loss::Disorder {}, effects);
                }
                effects.push(Effect::SendFiles(agent, hashes));
                Ok(())
            }
            FromAgent::Refused { message, hint } => {
                let name = member.name.clone();
                match self.phase {
                    Phase::Sending | Phase::Stopping { .. } => {
                        self.lose(now, agent, Loss::Failed { message }, effects)
                    }
                    _ => {
                        member.doing = Doing::Idle;
                        Err(AgentError::Refused { agent: name, message, hint })
                    }
                }
            }
            FromAgent::Load(event) => self.load_event(now, agent, event, effects),
        }
    }

    fn load_event(
        &mut self,
        now: Nanos,
        agent: usize,
        event: LoadEvent,
        effects: &mut Vec<Effect>,
    ) -> Result<(), AgentError> {
        let member = &mut self.members[agent];
        match (member.doing, event) {
            (Doing::Preparing, LoadEvent::WarmUpSecond(second)) => match second.unpacked() {
                Ok(second) => effects.push(Effect::WarmUpSecond(Box::new(second))),
                Err(_) => return self.lose(now, agent, Loss::Disorder {}, effects),
            },
            (Doing::Preparing, LoadEvent::Ready) => {
                member.doing = Doing::Ready;
                if self.taking_part().all(|member| member.doing == Doing::Ready) {
                    self.phase = Phase::Ready;
                    effects.push(Effect::BeforeLoad);
                }
            }
            (Doing::Sending, LoadEvent::Began { at }) => member.began(at),
            (Doing::Sending, LoadEvent::Second(second)) => {
                member.last_word = now;
                if !self.seconds.add(agent, &second) {
                    return self.lose(now, agent, Loss::Disorder {}, effects);
                }
                member.counts.add(&second.counts);
            }
            (Doing::Sending, LoadEvent::Requests(ended)) => {
                let tags = self.load.as_ref().map(|(load, _)| &load.traffic.tags);
                let requests = tags.map(|tags| member.renumbered(ended, tags));
                effects.extend(requests.map(Effect::Requests));
            }
            (Doing::Sending, LoadEvent::Machine(machine)) => member.ran_on(machine),
            (Doing::Sending, LoadEvent::Ended(result)) => {
                member.ended(&result);
                self.seconds.ended(agent);
                self.result.add(&result);
            }
            (Doing::Draining, LoadEvent::Ended(_) | LoadEvent::Failed { .. }) => {
                member.doing = Doing::Idle;
            }
            // What was on its way when it was told to stop.
            (Doing::Draining, _) => {}
            (Doing::Preparing | Doing::Ready, LoadEvent::Failed { message, hint }) => {
                member.doing = Doing::Idle;
                let agent = member.name.clone();
                return Err(AgentError::Refused { agent, message, hint });
            }
            (_, LoadEvent::Failed { message, .. }) => {
                return self.lose(now, agent, Loss::Failed { message }, effects);
            }
            (_, _) => return self.lose(now, agent, Loss::Disorder {}, effects),
        }
        Ok(())
    }

    /// Starts all agents at one moment, far enough ahead for the order to reach them.
    fn start(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        if self.phase != Phase::Ready {
            return;
        }
        let farthest = self.taking_part().filter_map(|member| member.pings.offset(now));
        let farthest = farthest.map(|offset| offset.round_trip).max().unwrap_or_default();
        let start = now.plus(LEAD.max(Nanos(farthest.0.saturating_mul(4))));
        for (agent, member) in self.members.iter_mut().enumerate().take(self.used) {
            let at = member.start(start);
            effects.push(Effect::Send(agent, ToAgent::StartAt { at }));
        }
        self.phase = Phase::Sending;
        effects.push(Effect::Began(start));
    }

    fn stop(&mut self, now: Nanos, effects: &mut Vec<Effect>) -> Result<(), AgentError> {
        match self.phase {
            Phase::Idle | Phase::Stopping { .. } => Ok(()),
            Phase::Sending => {
                self.stop_sending(now, effects);
                Ok(())
            }
            Phase::Meeting { .. } | Phase::Preparing { .. } | Phase::Ready => {
                Err(AgentError::Stopped)
            }
        }
    }

    fn stop_sending(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        self.tell_all_to_stop(effects);
        let timeout = self.load.as_ref().map_or(Nanos(0), |(load, _)| load.timeout);
        self.phase = Phase::Stopping { until: now.plus(timeout).plus(SILENCE_MAX) };
    }

    fn tell_all_to_stop(&mut self, effects: &mut Vec<Effect>) {
        for (agent, member) in self.members.iter_mut().enumerate() {
            if member.loss.is_none() && member.is_busy() {
                effects.push(Effect::Send(agent, ToAgent::Stop));
                if self.phase != Phase::Sending {
                    member.doing = Doing::Draining;
                }
            }
        }
    }

    /// An agent is lost. Before the load that is an error; during it the others stop.
    fn lose(
        &mut self,
        now: Nanos,
        agent: usize,
        loss: Loss,
        effects: &mut Vec<Effect>,
    ) -> Result<(), AgentError> {
        let member = &mut self.members[agent];
        if member.loss.is_some() {
            return Ok(());
        }
        let was_sending = member.doing == Doing::Sending;
        member.loss = Some(loss);
        match self.phase {
            Phase::Idle => Ok(()),
            Phase::Meeting { .. } | Phase::Preparing { .. } | Phase::Ready => Err(member.error()),
            // It had sent everything, so this load misses nothing.
            Phase::Sending | Phase::Stopping { .. } if !was_sending => Ok(()),
            Phase::Stopping { .. } => {
                self.seconds.ended(agent);
                Ok(())
            }
            Phase::Sending => {
                self.seconds.ended(agent);
                self.stop_sending(now, effects);
                Ok(())
            }
        }
    }

    /// Sends pings, goes on where all agents are there, and loses those that are silent.
    fn watch(&mut self, now: Nanos, effects: &mut Vec<Effect>) -> Result<(), AgentError> {
        let between = match self.phase {
            Phase::Idle => return Ok(()),
            Phase::Meeting { .. } => MEETING_PINGS_APART,
            _ => Nanos::SECOND,
        };
        for (agent, member) in self.members.iter_mut().enumerate() {
            if let Some(number) = member.ping(now, between) {
                effects.push(Effect::Send(agent, ToAgent::Ping { number }));
            }
        }
        if matches!(self.phase, Phase::Preparing { .. } | Phase::Ready) {
            let mute = |member: &&Member| now.since(member.last_pong) >= PONG_MAX;
            if let Some(gone) = self.members.iter().find(mute) {
                return Err(AgentError::Absent { agent: gone.name.clone() });
            }
        }
        match self.phase {
            Phase::Meeting { until } => {
                let absent = self.members.iter().find(|member| !member.is_there());
                match absent.map(|member| member.name.clone()) {
                    None => self.prepare(now, effects),
                    Some(agent) if now >= until => return Err(AgentError::Absent { agent }),
                    Some(_) => {}
                }
                Ok(())
            }
            Phase::Preparing { until } if now >= until => {
                let late = self.taking_part().find(|member| member.doing != Doing::Ready);
                let agent = late.map_or_else(String::new, |member| member.name.clone());
                Err(AgentError::Absent { agent })
            }
            Phase::Sending => self.lose_the_silent(now, SILENCE_MAX, effects),
            Phase::Stopping { until } if now >= until => {
                self.lose_the_silent(now, Nanos(0), effects)
            }
            Phase::Idle | Phase::Preparing { .. } | Phase::Ready | Phase::Stopping { .. } => Ok(()),
        }
    }

    fn prepare(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        let Some((load, files)) = &self.load else {
            self.phase = Phase::Idle;
            return effects.push(Effect::Met);
        };
        for (agent, member) in self.members.iter_mut().enumerate().take(self.used) {
            member.doing = Doing::Preparing;
            let load = Box::new(Load { part: member.part, cpus: Vec::new(), ..(**load).clone() });
            effects.push(Effect::Send(agent, ToAgent::Prepare { load, files: files.clone() }));
        }
        let travel = Nanos::from_secs(self.file_bytes / SLOWEST_BYTES_PER_SECOND);
        let until = now.plus(warm_up_at_most(load)).plus(PREPARING_MAX).plus(travel);
        self.phase = Phase::Preparing { until };
    }

    fn lose_the_silent(
        &mut self,
        now: Nanos,
        most: Nanos,
        effects: &mut Vec<Effect>,
    ) -> Result<(), AgentError> {
        for agent in 0..self.members.len() {
            let member = &self.members[agent];
            let silent = now.since(member.last_word);
            if member.doing == Doing::Sending && member.loss.is_none() && silent >= most {
                let for_ms = silent.0 / 1_000_000;
                self.lose(now, agent, Loss::Silent { for_ms }, effects)?;
            }
        }
        Ok(())
    }

    /// Reports complete seconds, and the end.
    fn finish(&mut self, effects: &mut Vec<Effect>) {
        if !matches!(self.phase, Phase::Sending | Phase::Stopping { .. }) {
            return;
        }
        while let Some(second) = self.seconds.next_complete() {
            effects.push(Effect::Second(Box::new(second)));
        }
        if !self.taking_part().all(Member::is_over) {
            return;
        }
        let mut result = std::mem::replace(&mut self.result, LoadResult::nothing());
        if self.taking_part().any(|member| member.doing == Doing::Sending) {
            // The result of a lost agent is unknown. Its seconds are known.
            let (counts, times) = self.seconds.totals();
            result.counts = counts.clone();
            result.times = times.clone();
            let ends = result.counts.ok + result.counts.failed_total();
            result.counts.dropped = result.counts.planned.saturating_sub(ends);
            let reported = Nanos::from_secs(self.seconds.reported());
            result.lasted = result.lasted.max(reported);
            result.scheduled = result.scheduled.max(reported);
            result.end = End::Stopped;
        }
        let load = self.load.as_ref().map(|(load, _)| load);
        let records = load.map(|load| self.taking_part().map(|member| member.record(load)));
        result.agents = records.into_iter().flatten().collect();
        for member in &mut self.members {
            member.doing = Doing::Idle;
        }
        self.phase = Phase::Idle;
        effects.push(Effect::Done(Box::new(result)));
    }
}

fn connections(model: &Model) -> u32 {
    match model {
        Model::Open { max_in_flight, .. } => *max_in_flight,
        Model::Closed { concurrency, .. } => *concurrency,
    }
}

/// Longest time that a warm-up takes; one that has no length is bounded by its silence alone.
fn warm_up_at_most(load: &Load) -> Nanos {
    let length = load.warm_up.as_ref().map_or(Nanos(0), |model| match model {
        Model::Open { schedule, .. } => schedule.length(),
        Model::Closed { until: Until::For(length), .. } => *length,
        Model::Closed { until: Until::Requests(_), .. } => Nanos::from_secs(3_600),
    });
    length.plus(Nanos(load.timeout.0.saturating_mul(2)))
}

/// Time between the pings of an agent before the first load.
const MEETING_PINGS_APART: Nanos = Nanos::from_millis(5);
/// How long an agent may take to prepare, besides its warm-up and the way of its files.
const PREPARING_MAX: Nanos = Nanos::from_secs(120);
/// Files come faster than this.
const SLOWEST_BYTES_PER_SECOND: u64 = 500_000;
/// An agent without an answer to a ping for so long, before the load, is not there any more.
const PONG_MAX: Nanos = Nanos::from_secs(10);
/// From the order to start until the start.
const LEAD: Nanos = Nanos::from_millis(100);

#[cfg(test)]
mod tests;
