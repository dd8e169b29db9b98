//! Tests of an agent's decisions, in simulated time.

use stampede_model::counts::{Counts, Second};
use stampede_model::load::Arrivals;
use stampede_model::part::Part;
use stampede_model::schedule::Segments;
use stampede_traffic::{LoadTraffic, OtherFiles, Request, TrafficFile};

use super::*;

const MS: u64 = 1_000_000;

fn at(ms: u64) -> Nanos {
    Nanos(ms * MS)
}

fn load(target: &str) -> Box<Load> {
    let model = Model::Open {
        schedule: Segments::parse("const(1000,10s)").unwrap(),
        arrivals: Arrivals::Uniform,
        max_in_flight: 100,
        when_full: WhenFull::Queue,
    };
    let address = Address::Tcp(target.parse().unwrap());
    Box::new(Load::new(address, model, [Request::default()]))
}

fn load_of_file() -> Box<Load> {
    let traffic = LoadTraffic::file(TrafficFile::new("abc"));
    Box::new(Load { traffic, ..*load("10.0.0.1:80") })
}

fn greeted(rules: Rules) -> Agent {
    let hello = ToAgent::Hello { version: VERSION, token: rules.token.clone() };
    let mut agent = Agent::new(rules, "load1".to_owned(), "0".to_owned(), at(0));
    let effects = agent.handle(at(0), Input::Message(hello, at(0)));
    assert!(matches!(effects[..], [Effect::Send(FromAgent::Hello { .. })]), "{effects:?}");
    agent
}

fn told(agent: &mut Agent, ms: u64, message: ToAgent) -> Vec<Effect> {
    agent.handle(at(ms), Input::Message(message, at(ms)))
}

fn running() -> Agent {
    let mut agent = greeted(Rules::default());
    let prepare = ToAgent::Prepare { load: load("10.0.0.1:80"), files: Vec::new() };
    let effects = told(&mut agent, 1, prepare);
    assert!(matches!(effects[..], [Effect::Run(_)]), "{effects:?}");
    agent
}

fn refusal(effects: &[Effect]) -> &str {
    match effects {
        [Effect::Send(FromAgent::Refused { message, .. }), ..] => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn orders_need_the_token_and_the_version() {
    let rules = Rules { token: "right".to_owned(), ..Rules::default() };
    for (version, token, message) in [
        (VERSION, "wrong", "the token is not this agent's"),
        (VERSION, "", "the token is not this agent's"),
        (VERSION, "right-", "the token is not this agent's"),
        (9, "right", "this agent speaks version 1 of the agents' protocol, the coordinator 9"),
    ] {
        let mut agent = Agent::new(rules.clone(), String::new(), String::new(), at(0));
        let hello = ToAgent::Hello { version, token: token.to_owned() };
        let effects = told(&mut agent, 0, hello);
        assert_eq!((refusal(&effects), effects.last()), (message, Some(&Effect::End)));
        assert!(agent.has_ended());
    }
    let mut agent = Agent::new(rules.clone(), String::new(), String::new(), at(0));
    let effects = told(&mut agent, 0, ToAgent::Stop);
    assert_eq!((refusal(&effects), agent.has_ended()), ("unexpected order", true));
    greeted(rules);
}

#[test]
fn loads_beyond_the_rules_are_refused_before_anything_is_sent() {
    let rules = Rules {
        rate_max: 400.0,
        connections_max: 60,
        length_max: Nanos::from_secs(9),
        ..Rules::default()
    };
    let half = |index| Load { part: Part::new(index, 2).unwrap(), ..*load("10.0.0.1:80") };
    let loose = Rules { rate_max: 500.0, ..rules.clone() };
    let slow = Rules { length_max: Nanos::from_secs(10), ..loose.clone() };
    let pinned = Load { cpus: (0..2_000).collect(), ..*load("10.0.0.1:80") };
    for (rules, load, expected) in [
        (
            &rules,
            *load("192.0.2.7:80"),
            "refuses to send to 192.0.2.7, which is neither its own nor a private address",
        ),
        (&rules, pinned, "refuses 2000 load threads: its limit is 1024"),
        (&rules, *load("10.0.0.1:80"), "refuses 100 connections: its limit is 60"),
        (&rules, half(1), "refuses 500 requests/s: its limit is 400"),
        (&loose, half(0), "refuses a load of 10 s: its limit is 9 s"),
    ] {
        let mut agent = greeted(rules.clone());
        let prepare = ToAgent::Prepare { load: Box::new(load), files: Vec::new() };
        assert_eq!(refusal(&told(&mut agent, 1, prepare)), expected);
    }
    assert_eq!(slow.check(&half(1)), Ok(()));
    let allowed = Rules { allowed: vec!["192.0.2.7".parse().unwrap()], ..Rules::default() };
    assert_eq!(allowed.check(&load("192.0.2.7:80")), Ok(()));
}

#[test]
fn files_are_asked_for_once_and_the_load_waits_for_them() {
    let mut agent = greeted(Rules::default());
    let prepare = || ToAgent::Prepare { load: load_of_file(), files: vec!["abc".to_owned()] };
    let wants = Effect::Send(FromAgent::Wants { hashes: vec!["abc".to_owned()] });
    assert_eq!(told(&mut agent, 1, prepare()), [wants]);
    let file = |hash: &str| ToAgent::File { hash: hash.to_owned(), bytes: 3 };
    let receive = Effect::Receive { hash: "abc".to_owned(), bytes: 3 };
    assert_eq!(told(&mut agent, 2, file("abc")), [receive]);
    // A long file keeps the agent waiting: its bytes are words, too.
    for second in 1..10 {
        assert_eq!(agent.handle(at(second * 1_000), Input::Bytes), []);
    }
    let path = PathBuf::from("/proc/self/fd/9");
    let effects = agent.handle(at(10_000), Input::Stored("abc".to_owned(), path.clone()));
    let [Effect::Run(load)] = &effects[..] else { panic!("{effects:?}") };
    let others = OtherFiles::Copies(BTreeMap::new());
    let alone = TrafficFile { others, ..TrafficFile::new(path) };
    assert_eq!(load.traffic, LoadTraffic::file(alone));
    let failed = LoadEvent::Failed { message: String::new(), hint: None };
    agent.handle(at(10_004), Input::Load(failed));
    assert!(matches!(told(&mut agent, 10_005, prepare())[..], [Effect::Run(_)]), "it has the file");
    let mut agent = greeted(Rules { file_bytes_max: 2, ..Rules::default() });
    told(&mut agent, 1, prepare());
    let message = "refuses files of 3 bytes: its limit is 2";
    assert_eq!(refusal(&told(&mut agent, 2, file("abc"))), message);
}

#[test]
fn a_silent_coordinator_ends_the_load_and_the_agent() {
    let mut agent = running();
    assert!(matches!(
        told(&mut agent, 2_000, ToAgent::Ping { number: 1 })[..],
        [Effect::Send(FromAgent::Pong { number: 1, .. })]
    ));
    assert_eq!(agent.handle(at(4_999), Input::Tick), []);
    assert_eq!(agent.handle(at(5_000), Input::Tick), [Effect::Stop]);
    assert_eq!(agent.handle(at(5_699), Input::Tick), []);
    assert_eq!(agent.handle(at(5_700), Input::Tick), [Effect::End]);
    assert!(agent.has_ended());
}

#[test]
fn the_end_of_the_connection_stops_the_load_at_once() {
    let mut agent = running();
    assert_eq!(agent.handle(at(50), Input::Closed), [Effect::Stop]);
    let failed = LoadEvent::Failed { message: String::new(), hint: None };
    let effects = agent.handle(at(90), Input::Load(failed));
    assert_eq!(effects.last(), Some(&Effect::End));
    let mut idle = greeted(Rules::default());
    assert_eq!(idle.handle(at(599_999), Input::Tick), [], "between loads nobody has to speak");
    assert_eq!(idle.handle(at(599_999), Input::Closed), [Effect::End]);
    let mut forgotten = greeted(Rules::default());
    assert_eq!(forgotten.handle(at(600_000), Input::Tick), [Effect::End]);
}

/// The schedule has 10 s, and each timeout 11 s; a minute is for the way of the order. Before the
/// start, an agent waits ten minutes for the others.
#[test]
fn no_load_outlives_its_own_deadline() {
    for (start, deadline) in [(Some(5_000), 5_000 + 10_000 + 2 * 11_000 + 60_000), (None, 600_001)]
    {
        let mut agent = running();
        if let Some(start) = start {
            told(&mut agent, 2_000, ToAgent::Ping { number: 0 });
            told(&mut agent, 4_000, ToAgent::Ping { number: 0 });
            told(&mut agent, start, ToAgent::StartAt { at: at(start) });
        }
        for ms in (start.unwrap_or(0) + 1_000..deadline).step_by(1_000) {
            let effects = told(&mut agent, ms, ToAgent::Ping { number: 0 });
            assert!(matches!(effects[..], [Effect::Send(_)]), "{ms}: {effects:?}");
        }
        let effects = told(&mut agent, deadline, ToAgent::Ping { number: 0 });
        assert_eq!(effects.last(), Some(&Effect::Stop));
    }
}

#[test]
fn files_and_sockets_of_the_agents_machine_are_not_for_the_coordinator() {
    let mut agent = greeted(Rules::default());
    let prepare = ToAgent::Prepare { load: load_of_file(), files: Vec::new() };
    assert_eq!(refusal(&told(&mut agent, 1, prepare)), "refuses a file that was not copied to it");
    let target = Address::Unix("/run/docker.sock".into()).into();
    let socket = || Load { target, ..*load("10.0.0.1:80") };
    let mut rules = Rules::default();
    let load = socket();
    assert_eq!(rules.check(&load), Err(Refusal::UnixSocket));
    rules.unix_sockets = true;
    assert_eq!(rules.check(&load), Ok(()));
    assert_eq!(rules.check(&Load { threads: 5_000, ..load }), Err(Refusal::Threads(5_000)));
}

#[test]
fn a_load_is_started_and_stopped_as_told() {
    let mut agent = running();
    let effects = told(&mut agent, 5, ToAgent::StartAt { at: at(200) });
    assert_eq!(effects, [Effect::StartAt(at(200))]);
    assert_eq!(told(&mut agent, 6, ToAgent::Stop), [Effect::Stop]);
    let effects =
        told(&mut agent, 7, ToAgent::Prepare { load: load("10.0.0.1:80"), files: vec![] });
    assert_eq!(refusal(&effects), "unexpected order");
}

/// A timeout of the coordinator's choice is no way around the longest time.
#[test]
fn a_long_timeout_does_not_extend_the_deadline() {
    let rules = Rules { length_max: Nanos::from_secs(20), ..Rules::default() };
    let mut agent = greeted(rules);
    let load = Box::new(Load { timeout: Nanos::from_secs(86_400), ..*load("10.0.0.1:80") });
    told(&mut agent, 1, ToAgent::Prepare { load, files: Vec::new() });
    told(&mut agent, 2, ToAgent::StartAt { at: at(2) });
    // The load has 10 s, the timeouts count for 20 s each, and a minute is for the order's way.
    let most = 10_000 + 2 * 20_000 + 60_000;
    for ms in (1_000..=most).step_by(1_000) {
        told(&mut agent, ms, ToAgent::Alive);
        assert!(agent.handle(at(ms), Input::Tick).is_empty(), "{ms}");
    }
    told(&mut agent, most + 1, ToAgent::Alive);
    assert_eq!(agent.handle(at(most + 2), Input::Tick), [Effect::Stop]);
}

/// No schedule says how fast a closed load is, so its seconds do.
#[test]
fn a_closed_load_beyond_the_rate_is_ended() {
    let rules = Rules { rate_max: 400.0, ..Rules::default() };
    let closed = || Model::Closed { concurrency: 4, until: Until::For(Nanos::from_secs(10)) };
    let of = |started| {
        let counts = Counts { started, ..Counts::default() };
        Box::new(Second { counts, ..Second::empty(0) }.packed())
    };
    let half = Load { part: Part::new(0, 2).unwrap(), ..*load("10.0.0.1:80") };
    let loose = Rules { rate_max: 500.0, ..rules.clone() };
    let warm = Load { warm_up: Some(closed()), ..half };
    let second = LoadEvent::Second as fn(_) -> _;
    for (rules, load, event, most) in [
        (rules, Load { model: closed(), ..*load("10.0.0.1:80") }, second, 400),
        (loose.clone(), warm.clone(), LoadEvent::WarmUpSecond, 500),
    ] {
        let mut agent = greeted(rules);
        let load = Box::new(load);
        let prepared = told(&mut agent, 1, ToAgent::Prepare { load, files: Vec::new() });
        assert!(matches!(prepared[..], [Effect::Run(_)]), "{prepared:?}");
        let mut said = |started| agent.handle(at(3), Input::Load(event(of(started))));
        assert!(matches!(said(most)[..], [Effect::Send(FromAgent::Load(_))]));
        let effects = said(most + 1);
        let message = format!("refuses {} requests/s: its limit is {most}", most + 1);
        assert_eq!((refusal(&effects), effects.last()), (&*message, Some(&Effect::Stop)));
    }
    // A schedule that is behind may catch up within a second.
    let mut agent = greeted(loose);
    told(&mut agent, 1, ToAgent::Prepare { load: Box::new(warm), files: Vec::new() });
    let catching_up = agent.handle(at(3), Input::Load(LoadEvent::Second(of(900))));
    assert!(matches!(catching_up[..], [Effect::Send(FromAgent::Load(_))]), "{catching_up:?}");
}

#[test]
fn a_load_starts_once() {
    let mut agent = running();
    assert_eq!(told(&mut agent, 4, ToAgent::StartAt { at: at(4) }), [Effect::StartAt(at(4))]);
    let again = told(&mut agent, 5, ToAgent::StartAt { at: at(5) });
    assert_eq!((refusal(&again), again.last()), ("unexpected order", Some(&Effect::Stop)));
}
