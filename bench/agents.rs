//! How long a coordinator takes to add up what 1 000 agents report in a minute, and how much memory.
//!
//! `cargo run --release -p stampede-fleet --example agents -- agents=1000 seconds=60`

use std::process::ExitCode;
use std::time::{Duration, Instant};

use stampede_fleet::coordinator::{Coordinator, Effect, Input};
use stampede_fleet::frame::{Frame, read_frame, write_message};
use stampede_fleet::message::{FromAgent, LoadEvent, ToAgent, VERSION};
use stampede_load::{Load, LoadResult};
use stampede_model::counts::{Counts, Second, TimeSet};
use stampede_model::load::{Address, Arrivals, Model, WhenFull};
use stampede_model::part::Part;
use stampede_model::schedule::Segments;
use stampede_model::time::Nanos;
use stampede_traffic::Request;

const GOAL: Duration = Duration::from_secs(5);
const GOAL_BYTES: u64 = 500_000_000;
/// Requests per second of all agents together.
const RATE: u32 = 1_000_000;

fn setting(name: &str, default: u32) -> u32 {
    let given = std::env::args()
        .find_map(|argument| argument.strip_prefix(name)?.strip_prefix('=')?.parse().ok());
    given.unwrap_or(default)
}

/// A second of an agent whose answers take 0.2 to 50 ms, most of them less than 2 ms.
fn second(index: u32, requests: u64, random: &mut fastrand::Rng) -> Second {
    let mut times = TimeSet::empty();
    for _ in 0..requests {
        let time = (200_000.0 * (1.0 / (1.0 - random.f64()).max(0.004)).powf(1.0)) as u64;
        times.service_time.record(time);
        times.response_time.record(time + 20_000);
        times.response_time_without_lag.record(time + 1_000);
        times.connection_wait.record(1_000);
        times.schedule_lag.record(random.u64(1_000..60_000));
    }
    let counts = Counts { planned: requests, started: requests, ok: requests, ..Counts::default() };
    Second { index, counts, times, in_flight_max: 10, busy: Nanos(10_000_000) }
}

fn framed(event: LoadEvent) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_message(&mut bytes, &FromAgent::Load(event)).expect("a message");
    bytes
}

fn read(bytes: &[u8]) -> FromAgent {
    match read_frame(&mut &bytes[..]) {
        Ok(Some(Frame::Message(message))) => message,
        other => panic!("{other:?}"),
    }
}

/// Greets all agents and starts the load. Pings come back at once.
fn started(agents: u32, seconds: u32) -> (Coordinator, Nanos) {
    let names: Vec<String> = (0..agents).map(|agent| format!("load{agent}")).collect();
    let mut coordinator = Coordinator::new(&names, Nanos::from_secs(180));
    let model = Model::Open {
        schedule: Segments::parse(&format!("const({RATE},{seconds}s)")).expect("a schedule"),
        arrivals: Arrivals::Uniform,
        max_in_flight: 100 * agents,
        when_full: WhenFull::Queue,
    };
    let target = Address::Tcp("10.0.0.1:80".parse().expect("an address"));
    let load = Box::new(Load::new(target, model, [Request::default()]));
    let mut now = Nanos(0);
    for agent in 0..agents as usize {
        let (stampede, host) = (String::new(), String::new());
        let hello = FromAgent::Hello { version: VERSION, stampede, host };
        coordinator.handle(now, Input::Message(agent, hello));
    }
    let mut effects = coordinator.handle(now, Input::Begin(load, Vec::new(), 0));
    loop {
        let mut next = Vec::new();
        for effect in effects {
            match effect {
                Effect::Send(agent, ToAgent::Ping { number }) => {
                    let pong = FromAgent::Pong { number, received: now, sent: now };
                    next.extend(coordinator.handle(now, Input::Message(agent, pong)));
                }
                Effect::Send(agent, ToAgent::Prepare { .. }) => {
                    let ready = FromAgent::Load(LoadEvent::Ready);
                    next.extend(coordinator.handle(now, Input::Message(agent, ready)));
                }
                Effect::BeforeLoad => next.extend(coordinator.handle(now, Input::Go)),
                Effect::Began(at) => return (coordinator, at),
                _ => {}
            }
        }
        now = now.plus(Nanos::from_millis(5));
        next.extend(coordinator.handle(now, Input::Tick));
        effects = next;
    }
}

fn memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|text| text.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

fn main() -> ExitCode {
    let (agents, seconds) = (setting("agents", 1_000), setting("seconds", 60));
    let (mut coordinator, start) = started(agents, seconds);
    let mut random = fastrand::Rng::with_seed(1);
    let shares: Vec<u64> = Part::all(agents).map(|part| part.share(u64::from(RATE))).collect();
    let (mut took, mut expected, mut reported) = (Duration::ZERO, 0, 0);
    let mut totals = TimeSet::empty();
    for index in 0..seconds {
        // One second for all agents, written outside of the measured time.
        let whole = second(index, shares[0], &mut random);
        let bytes = framed(LoadEvent::Second(Box::new(whole.packed())));
        let now = start.plus(Nanos::from_secs(u64::from(index) + 1));
        let begun = Instant::now();
        for agent in 0..agents as usize {
            for effect in coordinator.handle(now, Input::Message(agent, read(&bytes))) {
                if let Effect::Second(second) = effect {
                    reported += second.counts.ok;
                }
            }
        }
        took += begun.elapsed();
        expected += whole.counts.ok * u64::from(agents);
        totals.merge(&whole.times);
    }
    let ended =
        framed(LoadEvent::Ended(Box::new(LoadResult { times: totals, ..LoadResult::nothing() })));
    let now = start.plus(Nanos::from_secs(u64::from(seconds) + 1));
    let begun = Instant::now();
    let mut times = 0;
    for agent in 0..agents as usize {
        for effect in coordinator.handle(now, Input::Message(agent, read(&ended))) {
            match effect {
                Effect::Second(second) => reported += second.counts.ok,
                Effect::Done(result) => times = result.times.service_time.len(),
                _ => {}
            }
        }
    }
    took += begun.elapsed();
    let bytes = memory_bytes();
    println!(
        "{agents} agents, {seconds} s, {RATE} requests/s in all: {:.2} s, {} MB; {reported} of {expected} requests in \
         the seconds, {times} times in the result",
        took.as_secs_f64(),
        bytes / 1_000_000
    );
    let is_right = reported == expected && times == expected;
    match is_right && took < GOAL && bytes < GOAL_BYTES {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
