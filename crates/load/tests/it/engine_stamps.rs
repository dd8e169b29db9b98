//! Tests when bytes arrived according to an engine: by kernel timestamps, however late it looks, or
//! by our own, when it looks.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::thread::sleep;
use std::time::{Duration, Instant};

use stampede_load::engine::epoll::{Epoll, WaitMode};
use stampede_load::engine::uring::Uring;
use stampede_load::engine::{Arrival, Completion, Engine, Op, Timestamps, Token};
use stampede_model::load::{Address, Addresses};
use stampede_model::time::Nanos;

const TOKEN: Token = Token(0);
const LATE: Duration = Duration::from_millis(20);
/// The two clocks are read one after the other.
const SLACK: Nanos = Nanos(50_000);
const LONG: Duration = Duration::from_secs(20);
/// More than a buffer of any engine holds.
const LARGE: usize = 200_000;

fn turn(engine: &mut impl Engine) {
    let until = engine.refresh().plus(Nanos::from_millis(100));
    engine.wait(until, 1);
}

fn connect(engine: &mut impl Engine) {
    engine.refresh();
    for op in [Op::Connect, Op::Receive] {
        engine.submit(TOKEN, op);
    }
    turn(engine);
    assert_eq!(engine.next(), Some(Completion::Connected(TOKEN)));
    while engine.next().is_some() {}
}

/// What was received once there are `count` bytes, or the end: the bytes, and when each part of
/// them arrived.
fn taken(engine: &mut impl Engine, count: usize) -> (Vec<u8>, Vec<Arrival>) {
    let (mut all, mut moments) = (Vec::new(), Vec::new());
    let start = Instant::now();
    loop {
        turn(engine);
        while let Some(completion) = engine.next() {
            match completion {
                Completion::Received(_, bytes, arrival) => {
                    all.extend_from_slice(bytes);
                    moments.push(arrival);
                }
                Completion::PeerClosed(TOKEN) => return (all, moments),
                other => panic!("{other:?}"),
            }
        }
        if all.len() >= count {
            return (all, moments);
        }
        assert!(start.elapsed() < LONG, "{} of {count} bytes", all.len());
    }
}

fn sent(peer: &mut impl Write, bytes: &[u8], began: Instant) -> (Nanos, Nanos) {
    let before = Nanos::from(began.elapsed());
    peer.write_all(bytes).unwrap();
    (before, Nanos::from(began.elapsed()))
}

/// Whether bytes that were there for a while are reported as earlier. The kernel takes a moment to
/// switch timestamping on.
fn begins_to_stamp(engine: &mut impl Engine, peer: &mut impl Write, began: Instant) -> bool {
    (0..100).any(|_| {
        let (_, after) = sent(peer, b"?", began);
        sleep(LATE);
        taken(engine, 1).1[0].at < after.plus(SLACK)
    })
}

fn tells(mut engine: impl Engine, began: Instant, stamps: Timestamps, listener: &TcpListener) {
    connect(&mut engine);
    let (mut peer, _) = listener.accept().unwrap();
    match stamps {
        Timestamps::Kernel => assert!(begins_to_stamp(&mut engine, &mut peer, began)),
        Timestamps::Userspace => {}
    }
    let (before, after) = sent(&mut peer, b"bytes", began);
    sleep(LATE);
    let looked = Nanos::from(began.elapsed());
    let (all, moments) = taken(&mut engine, 5);
    assert_eq!((&all[..], moments.len()), (&b"bytes"[..], 1));
    let came = moments[0];
    match stamps {
        Timestamps::Kernel => {
            assert!(before.since(SLACK) <= came.at && came.at <= after.plus(SLACK));
            assert_eq!(came.earliest, came.at, "the kernel is sure");
        }
        Timestamps::Userspace => {
            assert!(looked <= came.at && came.earliest <= after, "{looked:?} {came:?} {after:?}");
        }
    }
    // Many full buffers, and the end.
    let bytes: Vec<u8> = (0..LARGE).map(|at| at as u8).collect();
    let large = bytes.clone();
    let writer = std::thread::spawn(move || peer.write_all(&large).unwrap());
    let (all, moments) = taken(&mut engine, usize::MAX);
    writer.join().unwrap();
    assert!(all == bytes, "{} bytes", all.len());
    assert!(moments.windows(2).all(|two| two[0].at <= two[1].at.plus(SLACK)), "{moments:?}");
}

fn there() -> (TcpListener, Addresses) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = Address::Tcp(listener.local_addr().unwrap());
    (listener, target.into())
}

const BOTH: [Timestamps; 2] = [Timestamps::Kernel, Timestamps::Userspace];

#[test]
fn epoll_reports_when_bytes_arrived() {
    for stamps in BOTH {
        let (listener, target) = there();
        let began = Instant::now();
        let engine = Epoll::new(&target, WaitMode::Sleep, stamps, began).unwrap();
        tells(engine, began, stamps, &listener);
    }
}

#[test]
fn io_uring_reports_when_bytes_arrived() {
    for stamps in BOTH {
        let (listener, target) = there();
        let began = Instant::now();
        let engine = Uring::new(&target, 2, WaitMode::Sleep, stamps, began).unwrap();
        tells(engine, began, stamps, &listener);
    }
}

/// Unix sockets have no timestamps: bytes count as received when they are read.
fn is_seen(mut engine: impl Engine, began: Instant, listener: &UnixListener) {
    connect(&mut engine);
    let (mut peer, _) = listener.accept().unwrap();
    sent(&mut peer, b"bytes", began);
    sleep(LATE);
    let looked = Nanos::from(began.elapsed());
    let (all, moments) = taken(&mut engine, 5);
    assert!(all == b"bytes" && looked <= moments[0].at, "{looked:?} {moments:?}");
}

#[test]
fn bytes_without_timestamps_arrive_when_they_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("server.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let target = Address::Unix(path).into();
    let began = Instant::now();
    let stamps = Timestamps::Kernel;
    is_seen(Epoll::new(&target, WaitMode::Sleep, stamps, began).unwrap(), began, &listener);
    is_seen(Uring::new(&target, 2, WaitMode::Sleep, stamps, began).unwrap(), began, &listener);
}
