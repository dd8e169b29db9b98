//! A server sees a connection's end at once, whatever is under way on others; the slot's next
//! connection has nothing of it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use stampede_load::engine::epoll::{Epoll, Waiting};
use stampede_load::engine::uring::Uring;
use stampede_load::engine::{Completion, Engine, Op, Slot};
use stampede_load::spec::Address;
use stampede_load::time::Nanos;

/// Far more than a socket's buffers hold while nobody reads.
const MANY_BYTES: usize = 16 << 20;
const LONG: Duration = Duration::from_secs(20);

/// Lets the engine work until `this` completed.
fn wait_for(engine: &mut impl Engine, this: &Completion) {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < LONG, "{this:?} does not come");
        let until = engine.refresh().plus(Nanos::from_millis(10));
        engine.wait(until, 0);
        while let Some(completion) = engine.next() {
            assert!(!matches!(completion, Completion::Failed(..)), "{completion:?}");
            if completion == *this {
                return;
            }
        }
    }
}

/// Connects `slot`; the server's side of it.
fn connected(engine: &mut impl Engine, listener: &TcpListener, slot: Slot) -> TcpStream {
    engine.submit(slot, Op::Connect);
    engine.submit(slot, Op::Receive);
    wait_for(engine, &Completion::Connected(slot));
    let (peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(LONG)).unwrap();
    peer
}

/// Sends `byte`, has the server answer it with the next, and takes that.
fn round(engine: &mut impl Engine, peer: &mut TcpStream, slot: Slot, byte: u8) {
    engine.send_buffer(slot).push(byte);
    engine.submit(slot, Op::Send);
    wait_for(engine, &Completion::Sent(slot, 1));
    let mut asked = [0];
    peer.read_exact(&mut asked).unwrap();
    assert_eq!(asked, [byte], "slot {}", slot.0);
    peer.write_all(&[byte + 1]).unwrap();
    wait_for(engine, &Completion::Received(slot, &[byte + 1]));
}

fn a_connection_ends_at_once(mut engine: impl Engine, listener: &TcpListener) {
    let mut full = connected(&mut engine, listener, Slot(0));
    (0..3).for_each(|byte| round(&mut engine, &mut full, Slot(0), byte));
    engine.send_buffer(Slot(0)).resize(MANY_BYTES, 9);
    engine.submit(Slot(0), Op::Send);

    // The third slot is one more than the engine was told of.
    for turn in 0..3 {
        for slot in [Slot(1), Slot(2)] {
            let mut peer = connected(&mut engine, listener, slot);
            (0..3).for_each(|byte| round(&mut engine, &mut peer, slot, 10 * turn + byte));
            // A send that the kernel may not have been told of goes with its connection.
            engine.send_buffer(slot).push(99);
            engine.submit(slot, Op::Send);
            engine.submit(slot, Op::Close);
            engine.refresh();
            engine.wait(Nanos(0), 0);
            let mut rest = Vec::new();
            let ended = peer.read_to_end(&mut rest);
            ended.expect("the end is seen while another connection's send is under way");
            assert!(rest.is_empty() || rest == [99], "{rest:?}");
        }
    }
    engine.submit(Slot(0), Op::Close);
    drop(engine);
    let mut rest = Vec::new();
    // The end, or a reset: it is closed with bytes that were not sent.
    let _ = full.read_to_end(&mut rest);
    assert!(rest.len() < MANY_BYTES, "nobody read, so it was under way");
}

fn target() -> (TcpListener, Address) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = Address::Tcp(listener.local_addr().unwrap());
    (listener, target)
}

#[test]
fn with_epoll_a_connection_ends_at_once() {
    let (listener, target) = target();
    let engine = Epoll::new(&target, Waiting::Sleep, Instant::now()).unwrap();
    a_connection_ends_at_once(engine, &listener);
}

#[test]
fn with_io_uring_a_connection_ends_at_once() {
    let (listener, target) = target();
    let engine = Uring::new(&target, 2, Waiting::Sleep, Instant::now()).unwrap();
    a_connection_ends_at_once(engine, &listener);
}
