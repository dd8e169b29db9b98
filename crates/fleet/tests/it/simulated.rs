//! What coordinator and agents do together, in simulated time.

use proptest::prelude::*;
use stampede_fleet::coordinator::AgentError;
use stampede_load::{Load, LoadResult};
use stampede_model::agents::{AgentRecord, Loss};
use stampede_model::counts::End;
use stampede_model::load::{Address, Arrivals, Model, WhenFull};
use stampede_model::part::Part;
use stampede_model::schedule::Segments;
use stampede_traffic::Request;

use crate::simulation::{Course, MS, Place, SECOND, Simulation};

fn load(schedule: &str, arrivals: Arrivals) -> Load {
    let model = Model::Open {
        schedule: Segments::parse(schedule).unwrap(),
        arrivals,
        max_in_flight: 1_000,
        when_full: WhenFull::Queue,
    };
    let target = Address::Tcp("10.0.0.1:80".parse().unwrap());
    Load::new(target, model, [Request::default()])
}

fn five_seconds() -> Load {
    load("const(1000,5s)", Arrivals::Uniform)
}

fn result(course: &Course) -> &LoadResult {
    match &course.end {
        Some(Ok(result)) => result,
        other => panic!("{other:?}"),
    }
}

const MINUTE: u64 = 60 * SECOND;

#[test]
fn agents_send_one_schedule_together() {
    let course = Simulation::new(vec![Place::default(); 3], 1).run(five_seconds(), MINUTE);
    let result = result(&course);
    assert_eq!(
        (result.counts.planned, result.counts.ok, result.end),
        (5_000, 5_000, End::Complete)
    );
    assert_eq!(result.times.service_time.len(), 5_000);
    let planned: Vec<u64> = course.seconds.iter().map(|second| second.counts.planned).collect();
    assert_eq!(planned, [1_000; 5]);
    let agents: Vec<_> = result.agents.iter().map(|one| (one.planned, one.expected)).collect();
    assert_eq!(agents, [(1_667, Some(1_667)), (1_667, Some(1_667)), (1_666, Some(1_666))]);
    assert!(result.agents.iter().all(|agent| agent.is_complete()), "{:?}", result.agents);
    // Nothing is left.
    assert!(course.gone.iter().all(|gone| gone.is_some_and(|at| at < course.ended_at + SECOND)));
}

#[test]
fn poisson_arrivals_are_counted_again_for_each_agent() {
    let arrivals = Arrivals::Poisson { seed: 5 };
    let load = load("line(10,2000,4s)", arrivals);
    let Model::Open { schedule, .. } = load.model.clone() else { unreachable!() };
    let course = Simulation::new(vec![Place::default(); 4], 2).run(load, MINUTE);
    for (agent, part) in result(&course).agents.iter().zip(Part::all(4)) {
        let drawn = schedule.due_times_of(arrivals, part).count() as u64;
        assert_eq!((agent.planned, agent.expected, agent.miscounted), (drawn, Some(drawn), false));
    }
}

#[test]
fn a_stop_ends_all_agents_and_keeps_what_came() {
    let simulation = Simulation::new(vec![Place::default(); 2], 3).stop_at(3 * SECOND);
    let course = simulation.run(load("const(1000,60s)", Arrivals::Uniform), 2 * MINUTE);
    let result = result(&course);
    assert_eq!(result.end, End::Stopped);
    assert!((1_000..3_000).contains(&result.counts.ok), "{}", result.counts.ok);
    assert!(course.ended_at < 4 * SECOND, "{}", course.ended_at);
    assert!(result.agents.iter().all(|agent| agent.is_complete() && agent.expected.is_none()));
}

#[test]
fn an_agent_that_never_answers_is_an_error() {
    let absent = Place { cut: Some(0), ..Place::default() };
    let course = Simulation::new(vec![Place::default(), absent], 4).run(five_seconds(), 5 * MINUTE);
    assert_eq!(course.end.unwrap(), Err(AgentError::Absent { agent: "load2".to_owned() }));
    assert_eq!((course.began, course.ended_at / SECOND), (None, 180));
}

#[test]
fn an_agent_that_dies_before_the_load_is_an_error() {
    let dead = Place { killed: Some(60 * MS), ..Place::default() };
    let course = Simulation::new(vec![dead, Place::default()], 5).run(five_seconds(), MINUTE);
    let closed = AgentError::Closed { agent: "load1".to_owned(), said: String::new() };
    assert_eq!((course.end.unwrap(), course.began), (Err(closed), None));
}

#[test]
fn a_lost_agent_ends_the_others_and_its_seconds_are_kept() {
    let dead = Place { killed: Some(4 * SECOND), ..Place::default() };
    let places = vec![Place::default(), dead, Place::default()];
    let course =
        Simulation::new(places, 6).run(load("const(900,60s)", Arrivals::Uniform), 2 * MINUTE);
    let result = result(&course);
    let losses: Vec<_> = result.agents.iter().map(|agent| agent.loss.clone()).collect();
    assert_eq!(losses, [None, Some(Loss::Closed { said: String::new() }), None]);
    assert!(course.ended_at < 5 * SECOND, "{}", course.ended_at);
    let lost = &result.agents[1];
    assert!(lost.ok >= 600 && lost.service_time_p50.is_none(), "{lost:?}");
    let counts = &result.counts;
    assert_eq!(counts.ok, result.agents.iter().map(|agent| agent.ok).sum::<u64>());
    assert_eq!(counts.planned, counts.ok + counts.failed_total() + counts.dropped);
    assert_eq!(result.times.service_time.len(), counts.ok);
}

/// Nothing arrives any more, and no connection is closed: as when a cable is pulled.
#[test]
fn a_silent_agent_is_lost_after_three_seconds_and_stops_by_itself() {
    let cut = Place { cut: Some(4 * SECOND), ..Place::default() };
    let places = vec![Place::default(), cut];
    let load = load("const(900,60s)", Arrivals::Uniform);
    let course = Simulation::new(places, 7).run(load, 2 * MINUTE);
    let result = result(&course);
    let Some(Loss::Silent { for_ms }) = result.agents[1].loss else { panic!("{result:?}") };
    assert!((3_000..3_100).contains(&for_ms), "{for_ms}");
    // A word comes each second, so its last one came up to a second before the cut.
    let quiet = course.quiet[1].unwrap();
    assert!((6 * SECOND..7 * SECOND + 50 * MS).contains(&quiet), "{quiet}");
    let gone = course.gone[1].unwrap();
    assert!(gone <= quiet + SECOND + 50 * MS, "{gone}");
}

/// A search begins with one user, however many agents there are.
#[test]
fn no_more_agents_take_part_than_there_are_connections() {
    let mut load = five_seconds();
    if let Model::Open { max_in_flight, .. } = &mut load.model {
        *max_in_flight = 2;
    }
    let course = Simulation::new(vec![Place::default(); 3], 8).run(load, MINUTE);
    let result = result(&course);
    let names: Vec<&str> = result.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!((names, result.counts.ok), (vec!["load1", "load2"], 5_000));
    assert!(result.agents.iter().all(|agent| agent.planned == 2_500 && agent.is_complete()));
}

/// Clocks that drift by ± 200 millionths for a minute, and one that is stepped twice. Times of requests
/// and counts are those of right clocks, and what is said of each clock is right.
#[test]
fn a_minute_of_drift_and_steps_changes_no_time() {
    let minute = || load("const(300,60s)", Arrivals::Uniform);
    let drifting = |ppm| Place { ppm, ..Place::default() };
    let steps = vec![(20 * SECOND, SECOND as i64), (40 * SECOND, -700 * MS as i64)];
    let stepped = Place { steps, ..Place::default() };
    let places = vec![drifting(200), drifting(-200), stepped, Place::default()];
    let wrong = Simulation::new(places, 11).run(minute(), 2 * MINUTE);
    let right = Simulation::new(vec![Place::default(); 4], 11).run(minute(), 2 * MINUTE);
    let (wrong, right) = (result(&wrong), result(&right));
    assert_eq!((&wrong.counts, &wrong.times), (&right.counts, &right.times));
    assert_eq!((wrong.counts.ok, wrong.end), (18_000, End::Complete));
    for (agent, as_right) in wrong.agents.iter().zip(&right.agents) {
        assert!(agent.is_complete(), "{agent:?}");
        let of = |agent: &AgentRecord| (agent.planned, agent.ok, agent.service_time_p50);
        assert_eq!(of(agent), of(as_right));
    }
    let ppm = |agent: usize| wrong.agents[agent].start.unwrap().drift_ppm.unwrap();
    // Ways that differ by 2 ms look like some millionths within a minute.
    for (agent, true_ppm) in [(0, 200.0), (1, -200.0), (3, 0.0)] {
        assert!((ppm(agent) - true_ppm).abs() < 20.0, "{agent}: {}", ppm(agent));
    }
    assert!(ppm(2).abs() > 1_000.0, "a stepped clock is no line: {}", ppm(2));
}

/// An agent has no other clock than the one that it is given, and that is the monotonic one: setting
/// the date of its machine cannot change what it does.
#[test]
fn no_source_of_an_agent_reads_the_date() {
    let mut directories =
        vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    let mut looked = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            looked += 1;
            for word in ["SystemTime", "Realtime", "jiff", "gettimeofday"] {
                assert!(!text.contains(word), "{} reads the date: {word}", path.display());
            }
        }
    }
    assert!(looked > 20, "{looked}");
}

fn place() -> impl Strategy<Value = Place> {
    let delay = (0_u64..20 * MS, 0_u64..20 * MS);
    let clock = (-3_600 * SECOND as i64..1_000_000 * SECOND as i64, -200_i64..=200);
    (clock, delay, prop_oneof![Just(0_u64), Just(40)]).prop_map(|((skew, ppm), delay, stalls)| {
        // Clocks begin when their machines do, and no machine has been up for less than this.
        let skew = skew + 3_601 * SECOND as i64;
        let delay = (delay.0, delay.0 + delay.1);
        Place { skew, ppm, delay, stall_one_in: stalls, ..Place::default() }
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 48, ..ProptestConfig::default()
    })]

    /// Whatever delays, losses and clocks there are: all requests are sent, and no agent starts
    /// farther from the common start than is said.
    #[test]
    fn clocks_and_ways_change_nothing_but_the_start(
        places in proptest::collection::vec(place(), 1..5), seed in any::<u64>(),
    ) {
        let course = Simulation::new(places.clone(), seed).run(five_seconds(), 3 * MINUTE);
        let result = result(&course);
        prop_assert_eq!((result.counts.planned, result.counts.ok), (5_000, 5_000));
        prop_assert!(result.agents.iter().all(|agent| agent.is_complete()), "{:?}", result.agents);
        let began = course.began.unwrap();
        for (agent, start) in result.agents.iter().zip(&course.starts) {
            let off = start.unwrap().abs_diff(began);
            let said = agent.start.unwrap();
            prop_assert!(off <= said.error, "{} > {:?}", off, said);
        }
    }

    /// One agent is killed, or its network is cut, at any moment. The verdict is right, and nobody
    /// sends on.
    #[test]
    fn a_fault_at_any_moment_is_noticed_and_everybody_ends(
        (count, victim) in (1_usize..5).prop_flat_map(|count| (Just(count), 0..count)),
        is_cut in any::<bool>(),
        at in 0_u64..9 * SECOND,
        seed in any::<u64>(),
    ) {
        let mut places = vec![Place::default(); count];
        let fault = &mut places[victim];
        *(if is_cut { &mut fault.cut } else { &mut fault.killed }) = Some(at);
        let course = Simulation::new(places, seed).run(five_seconds(), 20 * MINUTE);
        match course.end.as_ref().expect("it ends") {
            Err(_) => prop_assert!(course.began.is_none_or(|began| at < began)),
            Ok(result) if result.agents[victim].is_complete() => {
                // The fault came too late to matter: all of its result had arrived.
                prop_assert_eq!(result.counts.ok, 5_000);
            }
            Ok(result) => {
                prop_assert!(result.agents[victim].loss.is_some());
                prop_assert!(result.counts.ok < 5_000);
                prop_assert!(course.ended_at < at.max(course.began.unwrap()) + 4 * SECOND);
            }
        }
        for (agent, gone) in course.gone.iter().enumerate() {
            let killed = agent == victim && !is_cut;
            prop_assert!(killed || gone.is_some(), "agent {} is left", agent);
        }
    }
}
