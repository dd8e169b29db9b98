//! A network of a coordinator and agents in simulated time: delay, stalls, cuts, clocks that are
//! wrong and drift. The same seed gives the same course.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fastrand::Rng;
use stampede_fleet::agent::{self, Agent, Rules};
use stampede_fleet::coordinator::{self, AgentError, Coordinator};
use stampede_fleet::message::{FromAgent, LoadEvent, ToAgent};
use stampede_load::{Load, LoadResult};
use stampede_model::counts::{Counts, End, Second, TimeSet};
use stampede_model::load::Model;
use stampede_model::time::Nanos;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

/// An agent's clock and its way to the coordinator.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its clock minus the coordinator's at time 0, in ns.
    pub skew: i64,
    /// How much faster its clock runs, in millionths.
    pub ppm: i64,
    /// When its clock is stepped, in true time, and by how much, in ns.
    pub steps: Vec<(u64, i64)>,
    /// Shortest and longest time of a message on its way, in ns.
    pub delay: (u64, u64),
    /// One of so many messages is held up for 200 ms, as TCP does after a loss; 0: none.
    pub stall_one_in: u64,
    /// When it is killed, in true time.
    pub killed: Option<u64>,
    /// From when on nothing arrives any more in either direction, and no connection is closed.
    pub cut: Option<u64>,
    /// It says that its requests took so long.
    pub service_time: u64,
}

impl Default for Place {
    fn default() -> Place {
        Place {
            skew: 3_600 * SECOND as i64,
            ppm: 0,
            steps: Vec::new(),
            delay: (4 * MS, 6 * MS),
            stall_one_in: 0,
            killed: None,
            cut: None,
            service_time: MS,
        }
    }
}

impl Place {
    fn clock(&self, at: u64) -> Nanos {
        let drift = i128::from(at) * i128::from(self.ppm) / 1_000_000;
        let stepped: i64 =
            self.steps.iter().filter(|(when, _)| *when <= at).map(|(_, by)| by).sum();
        Nanos((i128::from(at) + i128::from(self.skew) + drift + i128::from(stepped)) as u64)
    }

    /// The true time at which its clock shows `there`, before it is stepped.
    fn true_time(&self, there: Nanos) -> u64 {
        let at = (i128::from(there.0) - i128::from(self.skew)) * 1_000_000;
        (at / i128::from(1_000_000 + self.ppm)) as u64
    }

    fn is_dead(&self, at: u64) -> bool {
        self.killed.is_some_and(|killed| at >= killed)
    }

    fn is_cut(&self, at: u64) -> bool {
        self.cut.is_some_and(|cut| at >= cut)
    }
}

#[derive(Debug)]
enum Event {
    ToAgent(usize, Option<ToAgent>),
    FromAgent(usize, Option<FromAgent>),
    Load(usize, u32, LoadEvent),
    AgentTick(usize),
    CoordinatorTick,
    Stop,
    Go,
}

/// What a simulated load ended with.
#[derive(Debug)]
pub struct Course {
    /// The result, or why there is none.
    pub end: Option<Result<Box<LoadResult>, AgentError>>,
    /// When that was.
    pub ended_at: u64,
    /// The seconds that were reported.
    pub seconds: Vec<Second>,
    /// When the load was said to begin.
    pub began: Option<u64>,
    /// When each agent really began.
    pub starts: Vec<Option<u64>>,
    /// When each agent stopped sending for good: its load ended or was stopped.
    pub quiet: Vec<Option<u64>>,
    /// When each agent was gone.
    pub gone: Vec<Option<u64>>,
}

struct SimulatedAgent {
    place: Place,
    core: Agent,
    /// Number of its load, so that events of an older one do not count.
    number: u32,
    load: Option<Box<Load>>,
    /// What it has reported in this load.
    counts: Counts,
    times: TimeSet,
    last_to: u64,
    last_from: u64,
}

pub struct Simulation {
    now: u64,
    order: u64,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: std::collections::HashMap<u64, Event>,
    random: Rng,
    coordinator: Coordinator,
    agents: Vec<SimulatedAgent>,
    course: Course,
    go_after: u64,
}

impl Simulation {
    pub fn new(places: Vec<Place>, seed: u64) -> Simulation {
        let names: Vec<String> = (1..=places.len()).map(|number| format!("load{number}")).collect();
        let coordinator = Coordinator::new(&names, Nanos::from_secs(180));
        let hello = |agent| coordinator::Effect::Send(agent, Coordinator::hello("token"));
        let hellos = (0..places.len()).map(hello).collect();
        let count = places.len();
        let agents = places.into_iter().map(|place| {
            let rules = Rules { token: "token".to_owned(), ..Rules::default() };
            let core = Agent::new(rules, "host".to_owned(), "0".to_owned(), place.clock(0));
            let (counts, times) = (Counts::default(), TimeSet::empty());
            SimulatedAgent {
                place,
                core,
                number: 0,
                load: None,
                counts,
                times,
                last_to: 0,
                last_from: 0,
            }
        });
        let mut simulation = Simulation {
            now: 0,
            order: 0,
            queue: BinaryHeap::new(),
            events: Default::default(),
            random: Rng::with_seed(seed),
            coordinator,
            agents: agents.collect(),
            course: Course {
                end: None,
                ended_at: 0,
                seconds: Vec::new(),
                began: None,
                starts: vec![None; count],
                quiet: vec![None; count],
                gone: vec![None; count],
            },
            go_after: 0,
        };
        simulation.coordinate(hellos);
        simulation.at(0, Event::CoordinatorTick);
        for agent in 0..count {
            simulation.at(0, Event::AgentTick(agent));
            if let Some(killed) = simulation.agents[agent].place.killed {
                // The kernel closes the connection of a dead process.
                let arrives = killed + simulation.agents[agent].place.delay.1;
                simulation.at(arrives, Event::FromAgent(agent, None));
            }
        }
        simulation
    }

    /// The load is to end early, at this time.
    pub fn stop_at(mut self, at: u64) -> Simulation {
        self.at(at, Event::Stop);
        self
    }

    /// Sends a load; ends when all is over, or after `most`.
    pub fn run(mut self, load: Load, most: u64) -> Course {
        let begin = coordinator::Input::Begin(Box::new(load), Vec::new(), 0);
        let effects = self.coordinator.handle(Nanos(0), begin);
        self.coordinate(effects);
        while let Some(Reverse((at, order))) = self.queue.pop() {
            if at > most || self.is_over() {
                break;
            }
            self.now = at;
            let event = self.events.remove(&order).expect("each once");
            self.happen(event);
        }
        self.course
    }

    fn is_over(&self) -> bool {
        let gone = |agent: usize| {
            self.course.gone[agent].is_some() || self.agents[agent].place.is_dead(self.now)
        };
        self.course.end.is_some() && (0..self.agents.len()).all(gone)
    }

    fn at(&mut self, at: u64, event: Event) {
        self.order += 1;
        self.queue.push(Reverse((at.max(self.now), self.order)));
        self.events.insert(self.order, event);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::CoordinatorTick => {
                if self.course.end.is_none() {
                    self.tell_coordinator(coordinator::Input::Tick);
                    let next = self.now + self.coordinator.patience().as_nanos() as u64;
                    self.at(next, Event::CoordinatorTick);
                }
            }
            Event::Stop => self.tell_coordinator(coordinator::Input::Stop),
            Event::Go => self.tell_coordinator(coordinator::Input::Go),
            Event::FromAgent(agent, message) => self.tell_coordinator(match message {
                Some(message) => coordinator::Input::Message(agent, message),
                None => coordinator::Input::Closed(agent, String::new()),
            }),
            Event::AgentTick(agent) => {
                self.tell_agent(agent, agent::Input::Tick);
                if !self.agents[agent].core.has_ended() && !self.is_dead(agent) {
                    self.at(self.now + 20 * MS, Event::AgentTick(agent));
                }
            }
            Event::ToAgent(agent, message) => {
                let received = self.agents[agent].place.clock(self.now);
                self.tell_agent(
                    agent,
                    match message {
                        Some(message) => agent::Input::Message(message, received),
                        None => agent::Input::Closed,
                    },
                );
            }
            Event::Load(agent, number, event) => self.load_event(agent, number, event),
        }
    }

    fn is_dead(&self, agent: usize) -> bool {
        self.agents[agent].place.is_dead(self.now)
    }

    fn tell_coordinator(&mut self, input: coordinator::Input) {
        if self.course.end.is_none() {
            let effects = self.coordinator.handle(Nanos(self.now), input);
            self.coordinate(effects);
        }
    }

    fn coordinate(&mut self, effects: Vec<coordinator::Effect>) {
        use coordinator::Effect;
        for effect in effects {
            match effect {
                Effect::Send(agent, message) => self.send(agent, Some(message)),
                Effect::BeforeLoad => self.at(self.now + self.go_after, Event::Go),
                Effect::Began(at) => self.course.began = Some(at.0),
                Effect::Second(second) => self.course.seconds.push(*second),
                Effect::Done(result) => self.finish(Ok(result)),
                Effect::Failed(error) => self.finish(Err(error)),
                Effect::Met
                | Effect::SendFiles(..)
                | Effect::WarmUpSecond(_)
                | Effect::Requests(_) => {}
            }
        }
    }

    fn finish(&mut self, end: Result<Box<LoadResult>, AgentError>) {
        self.course.end = Some(end);
        self.course.ended_at = self.now;
        // The coordinator is done, and closes all connections.
        for agent in 0..self.agents.len() {
            self.send(agent, None);
        }
    }

    /// When a message arrives that is sent now, in order after the last one.
    fn arrival(&mut self, agent: usize, last: u64) -> u64 {
        let place = &self.agents[agent].place;
        let mut took = self.random.u64(place.delay.0..=place.delay.1);
        if place.stall_one_in > 0 && self.random.u64(0..place.stall_one_in) == 0 {
            took += 200 * MS;
        }
        (self.now + took).max(last)
    }

    fn send(&mut self, agent: usize, message: Option<ToAgent>) {
        let at = self.arrival(agent, self.agents[agent].last_to);
        self.agents[agent].last_to = at;
        if !self.agents[agent].place.is_cut(at) {
            self.at(at, Event::ToAgent(agent, message));
        }
    }

    fn answer(&mut self, agent: usize, message: Option<FromAgent>) {
        let at = self.arrival(agent, self.agents[agent].last_from);
        self.agents[agent].last_from = at;
        if !self.agents[agent].place.is_cut(at) {
            self.at(at, Event::FromAgent(agent, message));
        }
    }

    fn tell_agent(&mut self, agent: usize, input: agent::Input) {
        if self.is_dead(agent) || self.agents[agent].core.has_ended() {
            return;
        }
        let clock = self.agents[agent].place.clock(self.now);
        for effect in self.agents[agent].core.handle(clock, input) {
            self.act(agent, effect);
        }
    }

    fn act(&mut self, agent: usize, effect: agent::Effect) {
        use agent::Effect;
        match effect {
            Effect::Send(message) => self.answer(agent, Some(message)),
            Effect::Run(load) => {
                let it = &mut self.agents[agent];
                it.number += 1;
                (it.load, it.counts, it.times) = (Some(load), Counts::default(), TimeSet::empty());
                let number = it.number;
                self.at(self.now + 10 * MS, Event::Load(agent, number, LoadEvent::Ready));
            }
            Effect::StartAt(at) => self.start(agent, at),
            Effect::Stop => self.stop(agent),
            Effect::End => {
                self.course.gone[agent] = Some(self.now);
                self.course.quiet[agent].get_or_insert(self.now);
                self.answer(agent, None);
            }
            Effect::Receive { .. } => unreachable!("no load here has files"),
        }
    }

    /// Schedules all that the agent's part of the load does, as if every request were answered.
    fn start(&mut self, agent: usize, at: Nanos) {
        let it = &self.agents[agent];
        let start = it.place.true_time(at).max(self.now);
        let (number, place) = (it.number, it.place.clone());
        let Some(load) = it.load.clone() else { return };
        self.course.starts[agent] = Some(start);
        let began = LoadEvent::Began { at: place.clock(start) };
        self.at(start, Event::Load(agent, number, began));
        let seconds = seconds_of(&load, place.service_time);
        let count = seconds.len() as u64;
        for (index, second) in (1..).zip(seconds) {
            let event = LoadEvent::Second(Box::new(second.packed()));
            self.at(start + index * SECOND, Event::Load(agent, number, event));
        }
        let result = LoadResult { end: End::Complete, ..LoadResult::nothing() };
        let ended = LoadEvent::Ended(Box::new(result));
        self.at(start + count * SECOND + MS, Event::Load(agent, number, ended));
    }

    fn stop(&mut self, agent: usize) {
        let it = &mut self.agents[agent];
        if it.load.is_none() {
            return;
        }
        self.course.quiet[agent].get_or_insert(self.now);
        let number = it.number;
        let result = LoadResult { end: End::Stopped, ..LoadResult::nothing() };
        self.at(self.now + MS, Event::Load(agent, number, LoadEvent::Ended(Box::new(result))));
    }

    fn load_event(&mut self, agent: usize, number: u32, event: LoadEvent) {
        let it = &mut self.agents[agent];
        if it.number != number || it.load.is_none() || it.place.is_dead(self.now) {
            return;
        }
        let event = match event {
            LoadEvent::Second(second) => {
                it.counts.add(&second.counts);
                it.times.merge(&second.unpacked().unwrap().times);
                LoadEvent::Second(second)
            }
            LoadEvent::Ended(result) => {
                it.load = None;
                let (counts, times) = (it.counts.clone(), it.times.clone());
                self.course.quiet[agent].get_or_insert(self.now);
                LoadEvent::Ended(Box::new(LoadResult { counts, times, ..*result }))
            }
            other => other,
        };
        self.tell_agent(agent, agent::Input::Load(event));
    }
}

/// The seconds of a part of a load whose requests are all answered at once.
fn seconds_of(load: &Load, service_time: u64) -> Vec<Second> {
    let Model::Open { schedule, arrivals, .. } = &load.model else { panic!("open loads only") };
    let count = schedule.length().0.div_ceil(SECOND);
    let mut seconds: Vec<Second> = (0..count as u32)
        .map(|index| Second {
            index,
            counts: Counts::default(),
            times: TimeSet::empty(),
            in_flight_max: 1,
            busy: Nanos(0),
        })
        .collect();
    for due in schedule.due_times_of(*arrivals, load.part) {
        let second = &mut seconds[(due.0 / SECOND).min(count - 1) as usize];
        second.counts.planned += 1;
        second.counts.started += 1;
        second.counts.ok += 1;
        second.times.service_time.record(service_time);
        second.times.response_time.record(service_time);
    }
    seconds
}
