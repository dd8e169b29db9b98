//! Checks that an agent and a coordinator take any messages in any order: an agent runs no load that
//! breaks its rules and does nothing once it has ended; a coordinator ends each load once.

use stampede_fleet::agent::{self, Agent, Rules};
use stampede_fleet::coordinator::{self, Coordinator};
use stampede_fleet::frame::{Frame, read_frame};
use stampede_load::Load;
use stampede_model::load::{Address, Model, Until};
use stampede_model::time::Nanos;
use stampede_traffic::Request;

/// One input: which side reads it, then frames.
pub fn run(bytes: &[u8]) {
    match bytes.split_first() {
        Some((b'a', frames)) => of_agent(frames),
        Some((b'c', frames)) => of_coordinator(frames),
        _ => {}
    }
}

fn of_agent(mut frames: &[u8]) {
    let rules = Rules::default();
    let mut agent = Agent::new(rules.clone(), String::new(), String::new(), Nanos(0));
    let mut now = Nanos(0);
    while let Ok(Some(frame)) = read_frame(&mut frames) {
        now = now.plus(Nanos::from_millis(700));
        let had_ended = agent.has_ended();
        let effects = agent.handle(
            now,
            match frame {
                Frame::Message(message) => agent::Input::Message(message, now),
                Frame::Bytes(_) => agent::Input::Bytes,
            },
        );
        assert!(!had_ended || effects.is_empty(), "{effects:?}");
        for effect in effects {
            if let agent::Effect::Run(load) = effect {
                assert_eq!(rules.check(&load), Ok(()));
            }
        }
    }
    agent.handle(now, agent::Input::Closed);
    agent.handle(now.plus(Nanos::from_secs(1)), agent::Input::Tick);
    assert!(agent.has_ended());
}

fn of_coordinator(mut frames: &[u8]) {
    let names = ["one".to_owned(), "two".to_owned()];
    let mut coordinator = Coordinator::new(&names, Nanos::from_secs(180));
    let model = Model::Closed { concurrency: 2, until: Until::For(Nanos::SECOND) };
    let target = Address::Tcp("10.0.0.1:80".parse().expect("an address"));
    let load = Box::new(Load::new(target, model, [Request::default()]));
    let mut ends = 0;
    let mut count = |effects: Vec<coordinator::Effect>| {
        use coordinator::Effect::{Done, Failed};
        ends += effects.iter().filter(|one| matches!(one, Done(_) | Failed(_))).count();
    };
    count(coordinator.handle(Nanos(0), coordinator::Input::Begin(load, Vec::new(), 0)));
    let (mut now, mut agent) = (Nanos(0), 0);
    while let Ok(Some(frame)) = read_frame(&mut frames) {
        now = now.plus(Nanos::from_millis(50));
        agent = 1 - agent;
        count(coordinator.handle(
            now,
            match frame {
                Frame::Message(message) => coordinator::Input::Message(agent, message),
                Frame::Bytes(_) => coordinator::Input::Foreign(agent),
            },
        ));
        count(coordinator.handle(now, coordinator::Input::Go));
    }
    for agent in 0..2 {
        count(coordinator.handle(now, coordinator::Input::Closed(agent, String::new())));
    }
    count(coordinator.handle(now.plus(Nanos::from_secs(3_600)), coordinator::Input::Tick));
    assert_eq!(ends, 1, "a load ends once");
}
