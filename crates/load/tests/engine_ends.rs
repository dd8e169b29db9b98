//! Tests that a server sees the end of a connection at once, whatever is in flight on others. The
//! slot's next connection must inherit nothing from it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use stampede_load::engine::epoll::{Epoll, Waiting};
use stampede_load::engine::uring::Uring;
use stampede_load::engine::{Awaited, Completion, Engine, Op, Slot, Stamps};
use stampede_load::spec::Address;
use stampede_load::time::Nanos;

/// Far more than a socket's buffers hold while nobody reads.
const MANY_BYTES: usize = 16 << 20;
const FILLING: u8 = 99;
/// More sends than an engine needs before it treats a connection as kept.
const ROUNDS: u8 = 15;
const LONG: Duration = Duration::from_secs(20);

/// Lets the engine work until `this` has completed.
fn wait_for(engine: &mut impl Engine, this: &Completion) {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < LONG, "{this:?} does not come");
        let until = engine.refresh().plus(Nanos::from_millis(10));
        engine.wait(until, Awaited::AtOnce(0));
        while let Some(completion) = engine.next() {
            assert!(!matches!(completion, Completion::Failed(..)), "{completion:?}");
            // The time of arrival does not matter here.
            let is_it = match (&completion, this) {
                (Completion::Received(of, bytes, _), Completion::Received(slot, these, _)) => {
                    (of, bytes) == (slot, these)
                }
                (completion, this) => completion == this,
            };
            if is_it {
                return;
            }
        }
    }
}

/// Connects `slot`; returns the server's side of the connection.
fn connected(engine: &mut impl Engine, listener: &TcpListener, slot: Slot) -> TcpStream {
    engine.submit(slot, Op::Connect);
    engine.submit(slot, Op::Receive);
    wait_for(engine, &Completion::Connected(slot));
    let (peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(LONG)).unwrap();
    peer
}

/// Sends a byte, lets the server answer it with the next one, and takes that. Repeats this until
/// the connection is treated as kept.
fn rounds(engine: &mut impl Engine, peer: &mut TcpStream, slot: Slot) {
    for byte in 0..ROUNDS {
        engine.send_buffer(slot).push(byte);
        engine.submit(slot, Op::Send);
        wait_for(engine, &Completion::Sent(slot, 1));
        let mut asked = [0];
        peer.read_exact(&mut asked).unwrap();
        assert_eq!(asked, [byte], "slot {}", slot.0);
        peer.write_all(&[byte + 1]).unwrap();
        wait_for(engine, &Completion::Received(slot, &[byte + 1], Nanos(0)));
    }
}

/// Sends more than the server takes.
fn fill(engine: &mut impl Engine, slot: Slot) {
    engine.send_buffer(slot).resize(MANY_BYTES, FILLING);
    engine.submit(slot, Op::Send);
}

/// Lets the kernel do what was submitted.
fn turn(engine: &mut impl Engine) {
    engine.refresh();
    engine.wait(Nanos(0), Awaited::AtOnce(0));
}

/// What the server reads until the connection ends, which must happen in time, in order or by a
/// reset.
fn until_the_end(peer: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    match peer.read_to_end(&mut rest) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => {
            panic!("the end is not seen: {error}")
        }
        Ok(_) | Err(_) => rest,
    }
}

fn a_connection_ends_at_once(mut engine: impl Engine, listener: &TcpListener) {
    let mut full = connected(&mut engine, listener, Slot(0));
    rounds(&mut engine, &mut full, Slot(0));
    fill(&mut engine, Slot(0));

    // The third slot is one more than the engine was created for.
    for slot in [Slot(1), Slot(2)] {
        let mut peer = connected(&mut engine, listener, slot);
        for _ in 0..3 {
            rounds(&mut engine, &mut peer, slot);
            // A send that may not have reached the kernel ends with its connection, and the next
            // connection is opened in the same turn.
            engine.send_buffer(slot).push(FILLING);
            engine.submit(slot, Op::Send);
            engine.submit(slot, Op::Close);
            let next = connected(&mut engine, listener, slot);
            let rest = until_the_end(&mut std::mem::replace(&mut peer, next));
            assert!(rest.is_empty() || rest == [FILLING], "{rest:?}");
        }
    }

    // A slot whose send is in flight, and its next connection.
    engine.submit(Slot(0), Op::Close);
    let mut next = connected(&mut engine, listener, Slot(0));
    let rest = until_the_end(&mut full);
    assert!(rest.len() < MANY_BYTES, "nobody read, so it was under way");
    rounds(&mut engine, &mut next, Slot(0));
    fill(&mut engine, Slot(0));
    turn(&mut engine);
    engine.submit(Slot(0), Op::Close);
    turn(&mut engine);
    let rest = until_the_end(&mut next);
    assert!(rest.len() < MANY_BYTES, "nobody read, so it was under way");
}

fn target() -> (TcpListener, Address) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = Address::Tcp(listener.local_addr().unwrap());
    (listener, target)
}

#[test]
fn with_epoll_a_connection_ends_at_once() {
    for stamps in [Stamps::Ours, Stamps::Kernel] {
        let (listener, target) = target();
        let engine = Epoll::new(&target, Waiting::Sleep, stamps, Instant::now()).unwrap();
        a_connection_ends_at_once(engine, &listener);
    }
}

#[test]
fn with_io_uring_a_connection_ends_at_once() {
    for stamps in [Stamps::Ours, Stamps::Kernel] {
        let (listener, target) = target();
        let engine = Uring::new(&target, 2, Waiting::Sleep, stamps, Instant::now()).unwrap();
        a_connection_ends_at_once(engine, &listener);
    }
}
