//! When bytes came, as an engine says: by the kernel's stamps however late it looks, by ours when it
//! looks.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::thread::sleep;
use std::time::{Duration, Instant};

use stampede_load::engine::epoll::{Epoll, Waiting};
use stampede_load::engine::uring::Uring;
use stampede_load::engine::{Awaited, Completion, Engine, Op, Slot, Stamps};
use stampede_load::spec::Address;
use stampede_load::time::Nanos;

const SLOT: Slot = Slot(0);
const LATE: Duration = Duration::from_millis(20);
/// The clocks are read one after the other.
const SLACK: Nanos = Nanos(50_000);
/// More than a buffer of any engine holds.
const LARGE: usize = 200_000;

fn turn(engine: &mut impl Engine) {
    let until = engine.refresh().plus(Nanos::from_millis(100));
    engine.wait(until, Awaited::AtOnce(1));
}

fn connect(engine: &mut impl Engine) {
    engine.refresh();
    for op in [Op::Connect, Op::Receive] {
        engine.submit(SLOT, op);
    }
    turn(engine);
    assert_eq!(engine.next(), Some(Completion::Connected(SLOT)));
    while engine.next().is_some() {}
}

/// All bytes up to `count`, and when the first and the last of them came; each not before the one
/// before it, and none after the engine's `now`.
fn taken(engine: &mut impl Engine, count: usize) -> (Vec<u8>, Nanos, Nanos) {
    let (mut all, mut moments) = (Vec::new(), Vec::new());
    while all.len() < count {
        turn(engine);
        while let Some(completion) = engine.next() {
            let Completion::Received(_, bytes, came) = completion else {
                panic!("{completion:?}");
            };
            all.extend_from_slice(bytes);
            moments.push(came);
            assert!(came <= engine.now());
        }
    }
    assert!(moments.is_sorted(), "{moments:?}");
    (all, moments[0], moments[moments.len() - 1])
}

fn sent(peer: &mut impl Write, bytes: &[u8], began: Instant) -> (Nanos, Nanos) {
    let before = Nanos::from(began.elapsed());
    peer.write_all(bytes).unwrap();
    (before, Nanos::from(began.elapsed()))
}

/// A few bytes and a large part, both looked at late, and the end.
fn tells(mut engine: impl Engine, began: Instant, stamps: Stamps, listener: &TcpListener) {
    connect(&mut engine);
    let (mut peer, _) = listener.accept().unwrap();
    // The first stamp that anybody asks for takes the kernel a moment.
    sleep(LATE);
    for size in [5, LARGE] {
        let bytes: Vec<u8> = (0..size).map(|at| at as u8).collect();
        let (before, after) = sent(&mut peer, &bytes, began);
        sleep(LATE);
        let looked = Nanos::from(began.elapsed());
        let (all, first, last) = taken(&mut engine, size);
        assert!(all == bytes, "{size}");
        match stamps {
            Stamps::Kernel => {
                let in_time = before.since(SLACK) <= first && last <= after.plus(SLACK);
                assert!(in_time || size == LARGE, "{before:?} {first:?} {last:?} {after:?}");
                // What had no room came later.
                assert!(before.since(SLACK) <= first && first <= after.plus(SLACK));
            }
            Stamps::Ours => assert!(looked <= first, "{looked:?} {first:?}"),
        }
    }
    drop(peer);
    turn(&mut engine);
    assert_eq!(engine.next(), Some(Completion::PeerClosed(SLOT)));
}

fn there() -> (TcpListener, Address) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = Address::Tcp(listener.local_addr().unwrap());
    (listener, target)
}

const BOTH: [Stamps; 2] = [Stamps::Kernel, Stamps::Ours];

#[test]
fn epoll_tells_when_bytes_came() {
    for stamps in BOTH {
        let (listener, target) = there();
        let began = Instant::now();
        let engine = Epoll::new(&target, Waiting::Sleep, stamps, began).unwrap();
        tells(engine, began, stamps, &listener);
    }
}

#[test]
fn io_uring_tells_when_bytes_came() {
    for stamps in BOTH {
        let (listener, target) = there();
        let began = Instant::now();
        let engine = Uring::new(&target, 2, Waiting::Sleep, stamps, began).unwrap();
        tells(engine, began, stamps, &listener);
    }
}

/// Unix sockets have no stamps: what comes counts as it is seen.
fn is_seen(mut engine: impl Engine, began: Instant, listener: &UnixListener) {
    connect(&mut engine);
    let (mut peer, _) = listener.accept().unwrap();
    sent(&mut peer, b"bytes", began);
    sleep(LATE);
    let looked = Nanos::from(began.elapsed());
    let (all, came, _) = taken(&mut engine, 5);
    assert!(all == b"bytes" && looked <= came, "{looked:?} {came:?}");
}

#[test]
fn what_has_no_stamps_came_when_it_was_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("server.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let target = Address::Unix(path);
    let began = Instant::now();
    let stamps = Stamps::Kernel;
    is_seen(Epoll::new(&target, Waiting::Sleep, stamps, began).unwrap(), began, &listener);
    is_seen(Uring::new(&target, 2, Waiting::Sleep, stamps, began).unwrap(), began, &listener);
}
