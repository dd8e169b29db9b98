//! Runs the inputs that the fuzzer begins with once through the same function: `fuzz/corpus/agents`.

use std::path::Path;

use stampede_fleet::frame::{write_bytes, write_message};
use stampede_fleet::message::{FromAgent, LoadEvent, ToAgent, VERSION};
use stampede_load::{Load, LoadResult};
use stampede_model::agents::AgentMachine;
use stampede_model::load::{Address, Model, Until};
use stampede_model::time::Nanos;
use stampede_traffic::Request;

#[path = "../../../../fuzz/entries/agents.rs"]
mod agents;

#[test]
fn every_fuzz_input_passes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/agents");
    let entries = std::fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path());
    let paths: Vec<_> = entries.collect();
    assert!(paths.len() >= 4, "{paths:?}");
    for path in paths {
        // Shown if the test panics.
        println!("{}", path.display());
        agents::run(&std::fs::read(path).unwrap());
    }
}

/// What an agent hears in a whole load, and what it says; also with one message left out or twice.
#[test]
fn messages_that_are_missing_or_come_twice_are_taken() {
    let hello = || ToAgent::Hello { version: VERSION, token: String::new() };
    let model = Model::Closed { concurrency: 2, until: Until::For(Nanos::SECOND) };
    let target = Address::Tcp("10.0.0.1:80".parse().unwrap());
    let load = Box::new(Load::new(target, model, [Request::default()]));
    let orders = [
        hello(),
        ToAgent::Ping { number: 1 },
        ToAgent::Prepare { load, files: Vec::new() },
        ToAgent::Alive,
        ToAgent::File { hash: "ab".to_owned(), bytes: 3 },
        ToAgent::StartAt { at: Nanos(5) },
        ToAgent::Stop,
    ];
    let answers = [
        FromAgent::Hello { version: VERSION, stampede: String::new(), host: String::new() },
        FromAgent::Pong { number: 0, received: Nanos(1), sent: Nanos(2) },
        FromAgent::Wants { hashes: Vec::new() },
        FromAgent::Load(LoadEvent::Ready),
        FromAgent::Load(LoadEvent::Began { at: Nanos(1) }),
        FromAgent::Load(LoadEvent::Machine(AgentMachine::default())),
        FromAgent::Load(LoadEvent::Ended(Box::new(LoadResult::nothing()))),
        FromAgent::Refused { message: "no".to_owned(), hint: None },
    ];
    let written = |messages: &[Vec<u8>], side: u8| [&[side][..], &messages.concat()].concat();
    let framed = |message: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        message(&mut bytes);
        bytes
    };
    let orders: Vec<_> =
        orders.iter().map(|one| framed(&|to| write_message(to, one).unwrap())).collect();
    let answers: Vec<_> =
        answers.iter().map(|one| framed(&|to| write_message(to, one).unwrap())).collect();
    let file = framed(&|to| write_bytes(to, b"abc").unwrap());
    for (messages, side) in [(orders, b'a'), (answers, b'c')] {
        for place in 0..messages.len() {
            let (mut fewer, mut more) = (messages.clone(), messages.clone());
            fewer.remove(place);
            more.insert(place, messages[place].clone());
            more.insert(place, file.clone());
            // Two agents answer in turn.
            let both: Vec<_> = more.iter().flat_map(|one| [one.clone(), one.clone()]).collect();
            for one in [&messages, &fewer, &more, &both] {
                agents::run(&written(one, side));
            }
        }
    }
}
