//! A connection over a NATS broker: bytes in numbered messages.
//!
//! Core NATS may lose messages: for a subscriber that is too slow, or while the broker restarts. So
//! they are numbered, a missing one ends the connection, and no more is on its way than the other side
//! has taken.

use std::io::{self, Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::{Client, Message};
use futures_util::{Stream, StreamExt as _};
use ring::hmac;
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::{SILENCE_MAX, Side, Token};

/// What shows that a message of a connection is from its other side: nobody else on the broker can
/// write to it.
#[derive(Clone)]
pub(super) struct Seal {
    key: hmac::Key,
    /// Who writes, and who reads.
    own: Side,
    other: Side,
}

impl Seal {
    /// The seal of a connection whose sides know the token, and both nonces.
    pub(super) fn new(token: &Token, (own, other): (Side, Side), call: &str, answer: &str) -> Seal {
        let secret = token.key(call, answer);
        Seal { key: hmac::Key::new(hmac::HMAC_SHA256, &secret), own, other }
    }

    fn text(side: Side, part: &[u8]) -> Vec<u8> {
        let mut text = format!("{side:?} ").into_bytes();
        text.extend(part);
        text
    }

    fn close(&self, mut part: Vec<u8>) -> Vec<u8> {
        let tag = hmac::sign(&self.key, &Seal::text(self.own, &part));
        part.extend(tag.as_ref());
        part
    }

    /// The part, if it is from the other side.
    pub(super) fn open<'a>(&self, payload: &'a [u8]) -> Option<&'a [u8]> {
        let (part, tag) = payload.split_at_checked(payload.len().checked_sub(TAG_BYTES)?)?;
        hmac::verify(&self.key, &Seal::text(self.other, part), tag).ok().map(|()| part)
    }
}

/// A message of a connection.
#[derive(Debug, PartialEq, Eq)]
enum Part<'a> {
    /// The next bytes, with the message's number.
    Data(u64, &'a [u8]),
    /// So many messages with bytes were taken.
    Taken(u64),
    /// Nothing more comes.
    Close,
}

impl<'a> Part<'a> {
    fn read(payload: &'a [u8]) -> Option<Part<'a>> {
        let (kind, rest) = payload.split_first()?;
        let (number, bytes) = rest.split_first_chunk()?;
        let number = u64::from_be_bytes(*number);
        match (kind, bytes) {
            (b'd', bytes) => Some(Part::Data(number, bytes)),
            (b't', []) => Some(Part::Taken(number)),
            (b'c', []) => Some(Part::Close),
            _ => None,
        }
    }

    fn write(&self) -> Vec<u8> {
        let (kind, number, bytes) = match self {
            Part::Data(number, bytes) => (b'd', *number, *bytes),
            Part::Taken(number) => (b't', *number, &[][..]),
            Part::Close => (b'c', 0, &[][..]),
        };
        let mut payload = Vec::with_capacity(9 + bytes.len());
        payload.push(kind);
        payload.extend(number.to_be_bytes());
        payload.extend(bytes);
        payload
    }
}

/// What both directions of a connection know.
struct Shared {
    handle: Handle,
    client: Client,
    /// Where the other side reads.
    subject: String,
    seal: Seal,
    state: Mutex<State>,
    changed: Condvar,
    /// Ends the task that takes messages.
    close: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    /// How many of our messages the other side has read.
    taken: u64,
    /// How many of its messages we have read.
    read: u64,
    /// The connection has ended, and why if not in order.
    over: Option<Option<&'static str>>,
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, part: &Part<'_>) -> io::Result<()> {
        let payload = self.seal.close(part.write());
        let publishing = self.client.publish(self.subject.clone(), payload.into());
        self.handle.block_on(publishing).map_err(io::Error::other)
    }

    fn end(&self, why: Option<&'static str>) {
        self.state().over.get_or_insert(why);
        self.changed.notify_all();
    }
}

/// The side of a connection that reads.
pub(super) struct PipeReader {
    shared: Arc<Shared>,
    parts: Receiver<Vec<u8>>,
    part: Vec<u8>,
    used: usize,
    /// Nobody tells this side when the other one is gone.
    silence_max: Duration,
}

/// The side that writes. Dropping it tells the other side that nothing more comes.
pub(super) struct PipeWriter {
    shared: Arc<Shared>,
    next: u64,
}

/// Ends a connection, so that nothing waits for it any more.
pub(super) type Closer = Box<dyn Fn() + Send>;

/// Opens a connection: `inbound` is subscribed to already, `subject` is where the other side reads.
/// `lost` says that the broker is gone. The last part returned ends the connection.
pub(super) fn open(
    handle: &Handle,
    client: &Client,
    inbound: impl Stream<Item = Message> + Unpin + Send + 'static,
    (subject, seal): (String, Seal),
    lost: watch::Receiver<bool>,
) -> (PipeReader, PipeWriter, Closer) {
    let (close, closed) = watch::channel(false);
    let shared = Arc::new(Shared {
        handle: handle.clone(),
        client: client.clone(),
        subject,
        seal,
        state: Mutex::default(),
        changed: Condvar::new(),
        close,
    });
    let (to_reader, parts) = mpsc::channel();
    handle.spawn(take(Arc::clone(&shared), inbound, to_reader, (lost, closed)));
    let silence_max = match shared.seal.own {
        Side::Agent => SILENCE_MAX,
        // Agents say nothing between loads; the coordinator's own rules notice one that is gone.
        Side::Coordinator => Duration::MAX,
    };
    let (part, own) = (Vec::new(), Arc::clone(&shared));
    let reader = PipeReader { shared: own, parts, part, used: 0, silence_max };
    let closer = Arc::clone(&shared);
    let close = Box::new(move || {
        let _ = closer.close.send(true);
    });
    (reader, PipeWriter { shared, next: 0 }, close)
}

/// Why a message with bytes ends the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutOfOrder {
    /// It is not the next one.
    Gap,
    /// Too many have not been read.
    Flood,
}

impl OutOfOrder {
    fn why(self) -> &'static str {
        match self {
            OutOfOrder::Gap => "the broker has lost a message",
            OutOfOrder::Flood => "the other side does not wait until its messages are taken",
        }
    }
}

/// The numbers of the messages with bytes that come.
#[derive(Debug, Default)]
struct Sequence {
    next: u64,
}

impl Sequence {
    /// Takes the message with this number. So many before it were `read`.
    fn take(&mut self, number: u64, read: u64) -> Result<(), OutOfOrder> {
        if number != self.next {
            return Err(OutOfOrder::Gap);
        }
        self.next += 1;
        match self.next - read.min(self.next) > WINDOW + TOLD_EACH {
            true => Err(OutOfOrder::Flood),
            false => Ok(()),
        }
    }
}

/// Takes messages until the connection ends.
async fn take(
    shared: Arc<Shared>,
    mut inbound: impl Stream<Item = Message> + Unpin,
    to_reader: Sender<Vec<u8>>,
    (mut lost, mut closed): (watch::Receiver<bool>, watch::Receiver<bool>),
) {
    let mut sequence = Sequence::default();
    let why = loop {
        let message = tokio::select! {
            biased;
            message = inbound.next() => message,
            _ = lost.wait_for(|lost| *lost) => break Some("the connection to the broker was lost"),
            _ = closed.wait_for(|closed| *closed) => break None,
        };
        let Some(message) = message else { break Some("the connection to the broker was lost") };
        // What somebody else writes here is no part of it.
        let Some(part) = shared.seal.open(&message.payload) else { continue };
        match Part::read(part) {
            Some(Part::Data(number, bytes)) => {
                if let Err(wrong) = sequence.take(number, shared.state().read) {
                    break Some(wrong.why());
                }
                if to_reader.send(bytes.to_vec()).is_err() {
                    break None;
                }
            }
            Some(Part::Taken(count)) => {
                let mut state = shared.state();
                state.taken = state.taken.max(count);
                drop(state);
                shared.changed.notify_all();
            }
            Some(Part::Close) => break None,
            None => break Some("the other side sent what stampede cannot read"),
        }
    };
    shared.end(why);
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.used == self.part.len() {
            match self.parts.recv_timeout(self.silence_max) {
                Ok(part) => (self.part, self.used) = (part, 0),
                Err(RecvTimeoutError::Timeout) => return Err(io::ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Disconnected) => {
                    let over = self.shared.state().over;
                    return match over.flatten() {
                        Some(why) => Err(io::Error::new(io::ErrorKind::ConnectionAborted, why)),
                        None => Ok(0),
                    };
                }
            }
            let read = {
                let mut state = self.shared.state();
                state.read += 1;
                state.read
            };
            if read.is_multiple_of(TOLD_EACH) {
                self.shared.publish(&Part::Taken(read))?;
            }
        }
        let count = buffer.len().min(self.part.len() - self.used);
        buffer[..count].copy_from_slice(&self.part[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}

impl Write for PipeWriter {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let begun = Instant::now();
        let mut state = self.shared.state();
        loop {
            if state.over.is_some() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if self.next - state.taken.min(self.next) < WINDOW {
                break;
            }
            if begun.elapsed() > WRITE_MAX {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let waited = self.shared.changed.wait_timeout(state, Duration::from_millis(100));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        let count = buffer.len().min(PART_BYTES);
        self.shared.publish(&Part::Data(self.next, &buffer[..count]))?;
        self.next += 1;
        Ok(count)
    }

    /// The client flushes by itself as soon as it has nothing else to do.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        if self.shared.publish(&Part::Close).is_ok() {
            let flushed = self.shared.client.flush();
            let flushed = async { tokio::time::timeout(CLOSE_MAX, flushed).await };
            let _ = self.shared.handle.block_on(flushed);
        }
    }
}

/// Bytes of a seal.
const TAG_BYTES: usize = 32;
/// Bytes of a message. Brokers take 1 MB, unless they are configured to take less.
const PART_BYTES: usize = 32 << 10;
/// Messages that may be on their way: 8 MB.
const WINDOW: u64 = 256;
/// How often the other side is told what was taken.
const TOLD_EACH: u64 = 64;
/// A connection that takes nothing for so long is broken.
const WRITE_MAX: Duration = Duration::from_secs(10);
/// How long the last message may take to be written.
const CLOSE_MAX: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_write_to_a_connection() {
        let (ours, other) = (Token::new(), Token::new());
        let seal = |token: &Token, own, other, call| Seal::new(token, (own, other), call, "answer");
        let agent = seal(&ours, Side::Agent, Side::Coordinator, "call");
        let coordinator = seal(&ours, Side::Coordinator, Side::Agent, "call");
        let sent = coordinator.close(Part::Data(1, b"order").write());
        assert_eq!(agent.open(&sent).and_then(Part::read), Some(Part::Data(1, b"order")));
        assert_eq!(coordinator.open(&sent), None, "what was sent does not come back");
        for strange in [
            seal(&other, Side::Coordinator, Side::Agent, "call").close(Part::Close.write()),
            seal(&ours, Side::Coordinator, Side::Agent, "another").close(Part::Close.write()),
            sent[..sent.len() - 1].to_vec(),
            [&b"c"[..], &sent[1..]].concat(),
            Vec::new(),
        ] {
            assert_eq!(agent.open(&strange), None, "{strange:?}");
        }
    }

    #[test]
    fn parts_come_back_as_they_were_written() {
        for part in [Part::Data(7, b"abc"), Part::Data(0, b""), Part::Taken(u64::MAX), Part::Close]
        {
            assert_eq!(Part::read(&part.write()), Some(part));
        }
        for foreign in [&b""[..], b"d", b"d1234567", b"x12345678", b"t12345678more"] {
            assert_eq!(Part::read(foreign), None, "{foreign:?}");
        }
    }

    #[test]
    fn a_lost_message_and_a_flood_end_the_connection() {
        let gap = Err(OutOfOrder::Gap);
        let mut sequence = Sequence::default();
        assert_eq!([0, 1, 2].map(|number| sequence.take(number, 0)), [Ok(()); 3]);
        assert_eq!(sequence.take(4, 0), gap);
        assert_eq!(Sequence { next: 3 }.take(2, 0), gap, "or it came twice");
        let flood = Err(OutOfOrder::Flood);
        let full = WINDOW + TOLD_EACH;
        assert_eq!(Sequence { next: full - 1 }.take(full - 1, 0), Ok(()));
        assert_eq!(Sequence { next: full }.take(full, 0), flood);
        assert_eq!(Sequence { next: full }.take(full, 1), Ok(()));
    }
}
