//! Lets a strict HTTP client read headers that browsers and the load generator accept: folded
//! lines, blanks before a colon, lines that are no header. Requests before the measurement must not
//! fail on answers that are fine in the measurement.

use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, DefaultConnector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Agent, Error};

use stampede_load::protocol::plain_head;

/// A client that connects to the host that the URL names.
pub fn agent(config: Config) -> Agent {
    let connect = DefaultConnector::default().chain(PlainConnector);
    Agent::with_parts(config, connect, DefaultResolver::default())
}

/// A connector that wraps each connection in a [`PlainConnection`].
#[derive(Debug)]
pub struct PlainConnector;

impl<In: Transport> Connector<In> for PlainConnector {
    type Out = PlainConnection<In>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<PlainConnection<In>>, Error> {
        let config = details.config;
        let around = |inner| PlainConnection {
            inner,
            buffers: LazyBuffers::new(config.input_buffer_size(), config.output_buffer_size()),
            received: Vec::new(),
            ready: Vec::new(),
            part: Part::Head,
        };
        Ok(chained.map(around))
    }
}

/// A connection that rewrites the head of each answer into plain headers.
#[derive(Debug)]
pub struct PlainConnection<In> {
    inner: In,
    buffers: LazyBuffers,
    /// The bytes that were read and may be part of a head.
    received: Vec<u8>,
    /// The bytes that are ready for the client.
    ready: Vec<u8>,
    part: Part,
}

/// The part of an answer that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Head,
    Body,
}

impl<In: Transport> PlainConnection<In> {
    /// Moves what can be decided by now from `received` to `ready`.
    fn take(&mut self) {
        while self.part == Part::Head {
            match plain_head(&self.received) {
                Ok(Some((length, plain))) => {
                    // An interim answer (status 1xx) is followed by another head.
                    let is_interim = plain.get(9) == Some(&b'1');
                    self.part = if is_interim { Part::Head } else { Part::Body };
                    self.ready.extend_from_slice(&plain);
                    self.received.drain(..length);
                }
                Ok(None) if self.received.len() < HEAD_BYTES_MAX => return,
                // The client gets the bytes as they are, and reports what is wrong.
                Ok(None) | Err(_) => self.part = Part::Body,
            }
        }
        self.ready.append(&mut self.received);
    }

    /// Passes to the client as many bytes as it has room for. Returns whether there were any.
    fn hand_on(&mut self) -> bool {
        let room = self.buffers.input_append_buf();
        let count = room.len().min(self.ready.len());
        room[..count].copy_from_slice(&self.ready[..count]);
        self.buffers.input_appended(count);
        self.ready.drain(..count);
        count > 0
    }
}

impl<In: Transport> Transport for PlainConnection<In> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        if self.received.is_empty() && self.ready.is_empty() {
            self.part = Part::Head;
        }
        let mut sent = 0;
        while sent < amount {
            let output = self.inner.buffers().output();
            let count = output.len().min(amount - sent);
            output[..count].copy_from_slice(&self.buffers.output()[sent..sent + count]);
            self.inner.transmit_output(count, timeout)?;
            sent += count;
        }
        Ok(())
    }

    /// Each pass of the loop hands bytes on, or reads, or is the last one.
    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        loop {
            self.take();
            if self.hand_on() {
                return Ok(true);
            }
            if !self.inner.await_input(timeout)? {
                // The connection has ended, so the rest is passed on as it is.
                self.part = Part::Body;
                self.take();
                return Ok(self.hand_on());
            }
            let buffers = self.inner.buffers();
            self.received.extend_from_slice(buffers.input());
            let count = buffers.input().len();
            buffers.input_consume(count);
        }
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

/// A larger head is passed on unchanged.
const HEAD_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;

    use crate::answer::{client, get};

    /// Status, headers and body.
    type HttpAnswer = (u16, Vec<(String, String)>, String);

    /// What the client reads of `answer`, sent in pieces of `piece` bytes.
    fn read_answer(answer: &'static str, piece: usize) -> Option<HttpAnswer> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut line, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                line.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            for piece in answer.as_bytes().chunks(piece) {
                line.write_all(piece).unwrap();
                line.flush().unwrap();
            }
        });
        let answer = get(&client(Duration::from_secs(10)), &url).ok();
        server.join().unwrap();
        answer.map(|answer| (answer.status, answer.headers, answer.body))
    }

    #[test]
    fn odd_heads_are_read_however_their_bytes_are_split() {
        for piece in [1, 7, 1_000] {
            for answer in [
                "HTTP/1.1 200 OK\r\nX: a\r\n\tb\r\nnothing\r\nContent-Length : 2\r\n\r\nok",
                "\r\nHTTP/1.1 200 OK\nX: a b\nContent-Length:\n 2\n\nok",
                "HTTP/1.1 103 Early\r\nA : b\r\n\r\nHTTP/1.1 200 OK\r\nX: a\r\n b\r\n\
                 Content-Length: 2\r\n\r\nok",
            ] {
                let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
                let headers = vec![pair("x", "a b"), pair("content-length", "2")];
                let seen = read_answer(answer, piece);
                assert_eq!(seen, Some((200, headers, "ok".to_owned())), "{answer:?}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_answer_are_an_error() {
        for answer in ["SSH-2.0-x\r\n\r\n", "", "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n"] {
            assert_eq!(read_answer(answer, 100), None, "{answer:?}");
        }
    }
}
