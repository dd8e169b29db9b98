//! Tests that bytes appended to the send buffer during a send are sent after it.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use stampede_load::engine::epoll::{Epoll, WaitMode};
use stampede_load::engine::{Completion, Engine, Op, Timestamps, Token};
use stampede_model::load::Address;
use stampede_model::time::Nanos;

/// Far more than a socket's buffers hold while nobody reads.
const BYTES: usize = 16 << 20;
const APPENDED: usize = 100_000;

/// Sends `BYTES`, then `APPENDED` more in ten parts while those are in flight. Returns what the
/// server received, and how many bytes were reported as sent.
fn appended(mut engine: impl Engine, listener: TcpListener) -> (Vec<u8>, u64) {
    let token = Token(0);
    engine.submit(token, Op::Connect);
    engine.send_buffer(token).resize(BYTES, 1);
    engine.submit(token, Op::Send);
    engine.submit(token, Op::Receive);
    let (mut client, _) = listener.accept().unwrap();
    let (mut sent, mut parts, mut reader) = (0, 0, None);
    let start = Instant::now();
    while sent < (BYTES + APPENDED) as u64 {
        assert!(start.elapsed() < Duration::from_secs(60), "sent {sent} bytes");
        let until = engine.refresh().plus(Nanos::from_millis(10));
        engine.wait(until, 0);
        while let Some(completion) = engine.next() {
            match completion {
                Completion::Sent(_, bytes) => sent += bytes,
                Completion::Connected(_) => {}
                other => panic!("{other:?}"),
            }
        }
        if parts < 10 {
            assert!(sent < BYTES as u64, "nobody reads, so a send is under way");
            parts += 1;
            let out = engine.send_buffer(token);
            out.resize(out.len() + APPENDED / 10, 1 + parts);
            engine.submit(token, Op::Send);
            continue;
        }
        reader.get_or_insert_with(|| {
            let mut client = client.try_clone().unwrap();
            std::thread::spawn(move || {
                let mut all = Vec::new();
                client.read_to_end(&mut all).unwrap();
                all
            })
        });
    }
    engine.submit(token, Op::Close);
    drop(engine);
    let mut all = reader.expect("it was begun").join().unwrap();
    client.read_to_end(&mut all).unwrap();
    (all, sent)
}

#[test]
fn epoll_sends_appended_bytes_after_those_in_flight() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = Address::Tcp(listener.local_addr().unwrap()).into();
    let engine = Epoll::new(&target, WaitMode::Sleep, Timestamps::Kernel, Instant::now()).unwrap();
    let (all, sent) = appended(engine, listener);
    assert_eq!((all.len(), sent), (BYTES + APPENDED, (BYTES + APPENDED) as u64));
    assert!(all[..BYTES].iter().all(|byte| *byte == 1), "the first send goes out first");
    let parts = all[BYTES..].chunks(APPENDED / 10);
    assert!((2..).zip(parts).all(|(mark, part)| part.iter().all(|byte| *byte == mark)));
}
