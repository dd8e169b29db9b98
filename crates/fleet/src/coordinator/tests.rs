//! Tests of the coordinator's decisions about agents that do not behave.

use stampede_load::outcome::Outcome;
use stampede_model::load::{Address, Model, Until};
use stampede_traffic::Request;
use stampede_traffic::tag::Tag;

use super::*;
use crate::message::EndedRequests;

const MS: u64 = 1_000_000;

fn load() -> Box<Load> {
    let model = Model::Closed { concurrency: 4, until: Until::For(Nanos::from_secs(2)) };
    let target = Address::Tcp("10.0.0.1:80".parse().unwrap());
    Box::new(Load::new(target, model, [Request::default()]))
}

/// A coordinator with two agents whose clocks are known, after 1 s.
fn met() -> (Coordinator, Nanos) {
    let names = ["load1".to_owned(), "load2".to_owned()];
    let mut coordinator = Coordinator::new(&names, Nanos::from_secs(180));
    coordinator.handle(Nanos(0), Input::Begin(load(), Vec::new(), 0));
    let now = Nanos(MS);
    for agent in 0..2 {
        let hello =
            FromAgent::Hello { version: VERSION, stampede: String::new(), host: String::new() };
        coordinator.handle(now, Input::Message(agent, hello));
    }
    let (prepared, now) = after_a_second(&mut coordinator, now);
    assert_eq!(prepared, ["0 Prepare", "1 Prepare"]);
    (coordinator, now)
}

/// All pings come back for a second. What else is sent, and the time then.
fn after_a_second(coordinator: &mut Coordinator, mut now: Nanos) -> (Vec<String>, Nanos) {
    let mut others = Vec::new();
    for _ in 0..2_000 {
        now = now.plus(Nanos(MS / 2));
        for effect in coordinator.handle(now, Input::Tick) {
            match effect {
                Effect::Send(agent, ToAgent::Ping { number }) => {
                    let pong = FromAgent::Pong { number, received: now, sent: now };
                    let later = now.plus(Nanos(MS / 4));
                    others.extend(sent(&coordinator.handle(later, Input::Message(agent, pong))));
                }
                other => others.extend(sent(&[other])),
            }
        }
    }
    (others, now)
}

fn sent(effects: &[Effect]) -> Vec<String> {
    let name = |effect: &Effect| match effect {
        Effect::Send(agent, message) => {
            let text = format!("{message:?}");
            format!("{agent} {}", text.split([' ', '{', '(']).next().unwrap_or_default())
        }
        Effect::Failed(error) => error.to_string(),
        other => format!("{other:?}").split([' ', '{', '(']).next().unwrap_or_default().to_owned(),
    };
    effects.iter().map(name).filter(|name| !name.ends_with("Ping")).collect()
}

fn said(event: LoadEvent) -> FromAgent {
    FromAgent::Load(event)
}

fn sending() -> (Coordinator, Nanos) {
    let (mut coordinator, now) = met();
    coordinator.handle(now, Input::Message(0, said(LoadEvent::Ready)));
    let effects = coordinator.handle(now, Input::Message(1, said(LoadEvent::Ready)));
    assert_eq!(sent(&effects), ["BeforeLoad"]);
    assert_eq!(sent(&coordinator.handle(now, Input::Go)), ["0 StartAt", "1 StartAt", "Began"]);
    (coordinator, now)
}

#[test]
fn a_refusal_stops_the_others_and_the_next_load_waits_for_them() {
    let (mut coordinator, now) = met();
    let refused = FromAgent::Refused { message: "no".to_owned(), hint: Some("do".to_owned()) };
    let effects = coordinator.handle(now, Input::Message(0, refused));
    assert_eq!(sent(&effects), ["1 Stop", "agent load1: no"]);
    let [.., Effect::Failed(error)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(error.hint().as_deref(), Some("do"));
    // What the other agent still says is of the load that failed.
    assert_eq!(sent(&coordinator.handle(now, Input::Message(1, said(LoadEvent::Ready)))), [""; 0]);
    assert_eq!(sent(&coordinator.handle(now, Input::Begin(load(), Vec::new(), 0))), [""; 0]);
    let ended = LoadEvent::Ended(Box::new(LoadResult::nothing()));
    assert_eq!(after_a_second(&mut coordinator, now).0, [""; 0], "agent 1 has not ended");
    let later = now.plus(Nanos::SECOND);
    let mut effects = sent(&coordinator.handle(later, Input::Message(1, said(ended))));
    effects.extend(after_a_second(&mut coordinator, later).0);
    assert_eq!(effects, ["0 Prepare", "1 Prepare"]);
}

#[test]
fn seconds_that_are_missing_or_come_twice_lose_the_agent() {
    for index in [1, 5] {
        let (mut coordinator, now) = sending();
        let second = |index| said(LoadEvent::Second(Box::new(Second::empty(index).packed())));
        assert_eq!(sent(&coordinator.handle(now, Input::Message(1, second(0)))), [""; 0]);
        let effects = coordinator.handle(now, Input::Message(0, second(index)));
        // Agent 0 is not told: nobody listens there who can be trusted.
        assert_eq!(sent(&effects), ["1 Stop", "Second"], "{index}");
    }
}

#[test]
fn what_no_agent_says_is_not_believed() {
    let (mut coordinator, now) = met();
    let wants = FromAgent::Wants { hashes: vec!["/etc/passwd".to_owned()] };
    let effects = coordinator.handle(now, Input::Message(1, wants));
    assert_eq!(sent(&effects), ["0 Stop", "agent load2 does not follow the agents' protocol"]);
    let (mut coordinator, now) = sending();
    let effects = coordinator.handle(now, Input::Message(0, said(LoadEvent::Ready)));
    assert_eq!(sent(&effects), ["1 Stop"]);
}

#[test]
fn a_wrong_number_of_requests_is_marked() {
    let (mut coordinator, now) = sending();
    let mut result = LoadResult::nothing();
    result.counts.planned = 7;
    for agent in 0..2 {
        let ended = said(LoadEvent::Ended(Box::new(result.clone())));
        let effects = coordinator.handle(now, Input::Message(agent, ended));
        if let Some(Effect::Done(result)) = effects.last() {
            // Its seconds had no request, and 7 are not accounted for.
            assert!(result.agents.iter().all(|agent| agent.miscounted && !agent.is_complete()));
            assert_eq!(agent, 1);
        }
    }
}

/// What an agent says of its machine is shown to people.
#[test]
fn only_what_a_kernel_says_of_a_machine_is_taken() {
    use stampede_model::agents::AgentMachine;

    let (mut coordinator, now) = sending();
    let of = |steal_share, clock: &str| {
        let clock_source = clock.to_owned();
        said(LoadEvent::Machine(AgentMachine { steal_share, throttled_ns: 7, clock_source }))
    };
    for (agent, machine) in
        [of(0.25, "kvm-clock"), of(1e9, "\u{1b}[31m<b>tsc_early")].into_iter().enumerate()
    {
        coordinator.handle(now, Input::Message(agent, machine));
        let ended = said(LoadEvent::Ended(Box::new(LoadResult::nothing())));
        let effects = coordinator.handle(now, Input::Message(agent, ended));
        let Some(Effect::Done(result)) = effects.last() else { continue };
        let machines = result.agents.iter().filter_map(|agent| agent.machine.clone());
        let kept = |steal_share, clock: &str| AgentMachine {
            steal_share,
            throttled_ns: 7,
            clock_source: clock.to_owned(),
        };
        assert_eq!(
            machines.collect::<Vec<_>>(),
            [kept(0.25, "kvm-clock"), kept(1.0, "31mbtsc_early")]
        );
        return;
    }
    panic!("the load is not over");
}

/// A host that is gone without a word is noticed before the load, too.
#[test]
fn an_agent_that_answers_no_ping_is_absent() {
    let (mut coordinator, now) = met();
    let until = (1..400).map(|tick| now.plus(Nanos(tick * 50 * MS)));
    let failed = until.map(|at| (at, coordinator.handle(at, Input::Tick))).find_map(|(at, all)| {
        let error = all.iter().find(|effect| matches!(effect, Effect::Failed(_)))?;
        Some((at.since(now).0 / MS / 1_000, sent(std::slice::from_ref(error))))
    });
    let (seconds, said) = failed.expect("an error");
    // The last ping came back up to a second before.
    assert!((9..=10).contains(&seconds), "{seconds}");
    assert_eq!(said, ["agent load1 does not answer"]);
}

#[test]
fn errors_say_what_to_do() {
    let agent = || "load1".to_owned();
    let errors = [
        AgentError::Absent { agent: agent() },
        AgentError::Closed { agent: agent(), said: "Permission denied (publickey).".to_owned() },
        AgentError::Closed { agent: agent(), said: String::new() },
        AgentError::Refused { agent: agent(), message: "no".to_owned(), hint: None },
        AgentError::Version { agent: agent(), version: 9 },
        AgentError::Disorder { agent: agent() },
        AgentError::Stopped,
    ];
    let texts = errors.map(|error| match error.hint() {
        Some(hint) => format!("{error}\n  hint: {hint}\n"),
        None => format!("{error}\n"),
    });
    insta::assert_snapshot!(texts.concat());
}

#[test]
fn tags_get_the_numbers_of_the_load() {
    let (mut coordinator, now) = sending();
    let record = |tag| RequestRecord {
        due: Nanos(0),
        started: Nanos(0),
        connected: None,
        sent: Nanos(0),
        first_byte: None,
        done: Nanos(1),
        bytes_sent: 1,
        bytes_received: 0,
        tag: Tag(tag),
        outcome: Outcome::Ok,
        status: Some(200),
    };
    let mut tags_of = |agent, names: &[&str], tags: &[u16]| {
        let new_tags = names.iter().map(|name| (*name).to_owned()).collect();
        let requests = tags.iter().map(|tag| record(*tag)).collect();
        let ended = LoadEvent::Requests(EndedRequests { new_tags, requests });
        match &coordinator.handle(now, Input::Message(agent, said(ended)))[..] {
            [Effect::Requests(requests)] => requests.iter().map(|one| one.tag.0).collect(),
            other => panic!("{other:?}"),
        }
    };
    let tags: Vec<u16> = tags_of(0, &["a", "b"], &[0, 1, 2]);
    assert_eq!(tags, [0, 1, 2]);
    assert_eq!(tags_of(1, &["b"], &[1]), [2]);
    assert_eq!(tags_of(1, &["c", "a"], &[3, 2, 1, 0]), [1, 3, 2, 0]);
    // Numbers that nobody named.
    assert_eq!(tags_of(0, &[], &[3, u16::MAX]), [Tag::OTHER.0, Tag::OTHER.0]);
}

#[test]
fn several_agents_of_another_version_are_one_failure() {
    let names = ["load1".to_owned(), "load2".to_owned()];
    let mut coordinator = Coordinator::new(&names, Nanos::from_secs(180));
    let hello =
        |version| FromAgent::Hello { version, stampede: String::new(), host: String::new() };
    coordinator.handle(Nanos(0), Input::Begin(load(), Vec::new(), 0));
    let first = sent(&coordinator.handle(Nanos(MS), Input::Message(1, hello(VERSION + 1))));
    let words = format!("load2 speaks version {} of the agents' protocol", VERSION + 1);
    assert!(matches!(&first[..], [failed] if failed.contains(&words)), "{first:?}");
    let more = [
        Input::Message(0, hello(VERSION + 1)),
        Input::Message(0, FromAgent::Refused { message: "no".to_owned(), hint: None }),
        Input::Closed(0, String::new()),
        Input::Tick,
    ];
    for input in more {
        assert_eq!(sent(&coordinator.handle(Nanos(2 * MS), input)), [""; 0]);
    }
    // The next load says it at once, and does not wait for an agent that will not come.
    let next = sent(&coordinator.handle(Nanos(3 * MS), Input::Meet));
    assert!(matches!(&next[..], [failed] if failed.contains("speaks version")), "{next:?}");
}
