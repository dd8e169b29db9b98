//! Tests that a server sees the end of a connection at once, whatever is in flight on others. The
//! slot's next connection must inherit nothing from it.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use stampede_load::engine::epoll::{Epoll, WaitMode};
use stampede_load::engine::uring::Uring;
use stampede_load::engine::{Arrival, Completion, Engine, Op, Timestamps, Token};
use stampede_model::load::{Address, Addresses};
use stampede_model::time::Nanos;

/// Far more than a socket's buffers hold while nobody reads.
const MANY_BYTES: usize = 16 << 20;
const FILLING: u8 = 99;
/// More sends than an engine needs before it treats a connection as kept.
const ROUNDS: u8 = 15;
const LONG: Duration = Duration::from_secs(20);

/// An arrival that no test looks at.
const NEVER: Arrival = Arrival { at: Nanos(0), earliest: Nanos(0) };

/// Lets the engine work until `this` has completed.
fn wait_for(engine: &mut impl Engine, this: &Completion) {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < LONG, "{this:?} does not come");
        let until = engine.refresh().plus(Nanos::from_millis(10));
        engine.wait(until, 0);
        while let Some(completion) = engine.next() {
            assert!(!matches!(completion, Completion::Failed(..)), "{completion:?}");
            // The time of arrival does not matter here.
            let is_it = match (&completion, this) {
                (Completion::Received(of, bytes, _), Completion::Received(token, these, _)) => {
                    (of, bytes) == (token, these)
                }
                (completion, this) => completion == this,
            };
            if is_it {
                return;
            }
        }
    }
}

/// Connects `token`; returns the server's side of the connection.
fn connected(engine: &mut impl Engine, listener: &TcpListener, token: Token) -> TcpStream {
    engine.submit(token, Op::Connect);
    engine.submit(token, Op::Receive);
    wait_for(engine, &Completion::Connected(token));
    let (peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(LONG)).unwrap();
    peer
}

/// Sends a byte, lets the server answer it with the next one, and takes that. Repeats this until
/// the connection is treated as kept.
fn rounds(engine: &mut impl Engine, peer: &mut TcpStream, token: Token) {
    for byte in 0..ROUNDS {
        engine.send_buffer(token).push(byte);
        engine.submit(token, Op::Send);
        wait_for(engine, &Completion::Sent(token, 1));
        let mut asked = [0];
        peer.read_exact(&mut asked).unwrap();
        assert_eq!(asked, [byte], "slot {}", token.0);
        peer.write_all(&[byte + 1]).unwrap();
        wait_for(engine, &Completion::Received(token, &[byte + 1], NEVER));
    }
}

/// Sends more than the server takes.
fn fill(engine: &mut impl Engine, token: Token) {
    engine.send_buffer(token).resize(MANY_BYTES, FILLING);
    engine.submit(token, Op::Send);
}

/// Lets the kernel do what was submitted.
fn turn(engine: &mut impl Engine) {
    engine.refresh();
    engine.wait(Nanos(0), 0);
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
    let mut full = connected(&mut engine, listener, Token(0));
    rounds(&mut engine, &mut full, Token(0));
    fill(&mut engine, Token(0));

    // The third slot is one more than the engine was created for.
    for token in [Token(1), Token(2)] {
        let mut peer = connected(&mut engine, listener, token);
        for _ in 0..3 {
            rounds(&mut engine, &mut peer, token);
            // A send that may not have reached the kernel ends with its connection, and the next
            // connection is opened in the same turn.
            engine.send_buffer(token).push(FILLING);
            engine.submit(token, Op::Send);
            engine.submit(token, Op::Close);
            let next = connected(&mut engine, listener, token);
            let rest = until_the_end(&mut std::mem::replace(&mut peer, next));
            assert!(rest.is_empty() || rest == [FILLING], "{rest:?}");
        }
    }

    // A slot whose send is in flight, and its next connection.
    engine.submit(Token(0), Op::Close);
    let mut next = connected(&mut engine, listener, Token(0));
    let rest = until_the_end(&mut full);
    assert!(rest.len() < MANY_BYTES, "nobody read, so it was under way");
    rounds(&mut engine, &mut next, Token(0));
    fill(&mut engine, Token(0));
    turn(&mut engine);
    engine.submit(Token(0), Op::Close);
    turn(&mut engine);
    let rest = until_the_end(&mut next);
    assert!(rest.len() < MANY_BYTES, "nobody read, so it was under way");
}

fn target() -> (TcpListener, Addresses) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = Address::Tcp(listener.local_addr().unwrap());
    (listener, target.into())
}

#[test]
fn with_epoll_a_connection_ends_at_once() {
    for stamps in [Timestamps::Userspace, Timestamps::Kernel] {
        let (listener, target) = target();
        let engine = Epoll::new(&target, WaitMode::Sleep, stamps, Instant::now()).unwrap();
        a_connection_ends_at_once(engine, &listener);
    }
}

#[test]
pub fn with_io_uring_a_connection_ends_at_once() {
    for stamps in [Timestamps::Userspace, Timestamps::Kernel] {
        let (listener, target) = target();
        let engine = Uring::new(&target, 2, WaitMode::Sleep, stamps, Instant::now()).unwrap();
        a_connection_ends_at_once(engine, &listener);
    }
}
