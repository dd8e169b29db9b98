//! A client for single requests, over TCP or a unix socket alike. It is never used for load, but it
//! sends requests as the load does, and accepts the same answers. Requests before the measurement
//! must not fail on answers that are fine in the measurement.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use stampede_load::protocol::http1::{self, AnswerReader, WholeAnswer, WholeError};
use stampede_model::entry::RequestError;
use stampede_model::load::{Address, ConnectionHabit, Habits, HttpVersion};
use stampede_traffic::Request;

use super::answer::Answer;
use super::page::SiteRequest;

/// Sends single requests to one address.
#[derive(Clone, Debug)]
pub struct SingleClient {
    address: Address,
    timeout: Duration,
}

/// Why a single request got no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The parts of the request would not make a request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// There is no connection, or it ended before the answer did.
    #[error("{0}")]
    Io(io::Error),
    /// The answer did not end within the timeout.
    #[error("no answer in time")]
    TimedOut,
    /// What came is no HTTP answer, or too large.
    #[error(transparent)]
    Answer(WholeError),
}

impl SingleClient {
    /// A client that connects to `address`. An answer may take `timeout`, the connection included.
    pub fn new(address: Address, timeout: Duration) -> SingleClient {
        SingleClient { address, timeout }
    }

    /// Sends one GET request with these headers. The header `Host` is `localhost` unless they have
    /// one.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn get(&self, path: &str, headers: &[(String, String)]) -> Result<Answer, ClientError> {
        self.exchange(&SiteRequest { method: "GET", path, headers, body: b"" })
    }

    /// Sends one request likewise. The connection closes after the answer, for runtimes whose
    /// workers are held by connections.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn exchange(&self, request: &SiteRequest<'_>) -> Result<Answer, ClientError> {
        let SiteRequest { method, path, headers, body } = *request;
        let others = headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("connection"));
        let headers: Vec<(String, String)> = others.cloned().collect();
        let request = Request::build(method, path, &headers, body, HABITS, None)?;
        self.answer_to(&request).map(Answer::from)
    }

    fn answer_to(&self, request: &Request) -> Result<WholeAnswer, ClientError> {
        let begun = Instant::now();
        let mut stream = Stream::connect(&self.address, self.timeout)?;
        let bytes = http1::text(request, HABITS);
        let mut unsent = &bytes[..];
        while !unsent.is_empty() {
            unsent = &unsent[stream.write_within(self.left(begun)?, unsent)?..];
        }
        let mut reader = AnswerReader::new(request.answer, BODY_BYTES_MAX);
        let mut read = [0; READ_BYTES];
        loop {
            let length = stream.read_within(self.left(begun)?, &mut read)?;
            if length == 0 {
                return Ok(reader.peer_closed()?);
            }
            if let Some(answer) = reader.received(&read[..length])? {
                return Ok(answer);
            }
        }
    }

    /// The time that is left; more than zero.
    fn left(&self, begun: Instant) -> Result<Duration, ClientError> {
        let left = self.timeout.saturating_sub(begun.elapsed());
        if left.is_zero() { Err(ClientError::TimedOut) } else { Ok(left) }
    }
}

/// Connects and closes, to see whether somebody listens.
///
/// # Errors
/// The system's error.
pub fn connect(address: &Address, timeout: Duration) -> io::Result<()> {
    Stream::connect(address, timeout).map(drop)
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn connect(address: &Address, timeout: Duration) -> io::Result<Stream> {
        match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, timeout)?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Address::Unix(path) => connect_unix(path, timeout).map(Stream::Unix),
        }
    }

    fn read_within(&mut self, time: Duration, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => {
                stream.set_read_timeout(Some(time)).and_then(|()| stream.read(into))
            }
            Stream::Unix(stream) => {
                stream.set_read_timeout(Some(time)).and_then(|()| stream.read(into))
            }
        }
    }

    fn write_within(&mut self, time: Duration, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => {
                stream.set_write_timeout(Some(time)).and_then(|()| stream.write(bytes))
            }
            Stream::Unix(stream) => {
                stream.set_write_timeout(Some(time)).and_then(|()| stream.write(bytes))
            }
        }
    }
}

/// Connects with a timeout. std's `connect` would wait for ever where nobody accepts; the socket's
/// send timeout limits the wait (unix(7)).
fn connect_unix(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(timeout))?;
    rustix::net::connect(&socket, &address)?;
    Ok(UnixStream::from(socket))
}

impl From<io::Error> for ClientError {
    /// The kernel reports a socket's timeout as EAGAIN.
    fn from(error: io::Error) -> ClientError {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ClientError::TimedOut,
            _ => ClientError::Io(error),
        }
    }
}

impl From<WholeError> for ClientError {
    fn from(error: WholeError) -> ClientError {
        match error {
            WholeError::CutShort => {
                let ended = io::Error::new(io::ErrorKind::UnexpectedEof, "Peer disconnected");
                ClientError::Io(ended)
            }
            error => ClientError::Answer(error),
        }
    }
}

impl From<WholeAnswer> for Answer {
    fn from(answer: WholeAnswer) -> Answer {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = answer.headers.iter();
        let headers = headers.map(|(name, value)| (text(name).to_ascii_lowercase(), text(value)));
        Answer {
            status: answer.status,
            headers: headers.collect(),
            body: text(&answer.body),
            body_bytes: answer.body.len() as u64,
        }
    }
}

/// The habits of the client: those of the load, but a connection for each request.
const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::PerRequest };
/// The largest body: a larger answer is not an app's page.
const BODY_BYTES_MAX: usize = 64 << 20;
/// Bytes of one read; most pages take one or two.
const READ_BYTES: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    const WITHIN: Duration = Duration::from_secs(10);

    /// Status, headers and body.
    type HttpAnswer = (u16, Vec<(String, String)>, String);

    /// Answers one request in pieces of `piece` bytes; returns the request.
    fn serve(mut line: impl Read + Write, answer: &str, piece: usize) -> String {
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
        String::from_utf8(head).unwrap()
    }

    /// What the client reads of `answer`, sent in pieces of `piece` bytes.
    fn read_answer(answer: &'static str, piece: usize) -> Result<HttpAnswer, ClientError> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let server = std::thread::spawn(move || serve(listener.accept().unwrap().0, answer, piece));
        let answer = SingleClient::new(address, WITHIN).get("/", &[]);
        server.join().unwrap();
        answer.map(|answer| (answer.status, answer.headers, answer.body))
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
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
                let headers = vec![pair("x", "a b"), pair("content-length", "2")];
                let seen = read_answer(answer, piece).unwrap();
                assert_eq!(seen, (200, headers, "ok".to_owned()), "{answer:?}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_answer_are_an_error() {
        for answer in ["SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n"] {
            let error = read_answer(answer, 100).unwrap_err();
            assert!(matches!(error, ClientError::Answer(WholeError::Malformed)), "{answer:?}");
        }
        for cut in ["", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok"] {
            let error = read_answer(cut, 100).unwrap_err();
            let is_cut = |error: &io::Error| error.kind() == io::ErrorKind::UnexpectedEof;
            assert!(matches!(&error, ClientError::Io(io) if is_cut(io)), "{cut:?}: {error:?}");
        }
    }

    #[test]
    fn a_unix_socket_is_asked_like_a_port() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s.sock");
        let listener = UnixListener::bind(&path).unwrap();
        let answer = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n";
        let server = std::thread::spawn(move || serve(listener.accept().unwrap().0, answer, 100));
        let client = SingleClient::new(Address::Unix(path), WITHIN);
        let seen = client.get("/a?b", &[pair("host", "shop"), pair("Connection", "keep-alive")]);
        assert_eq!(seen.unwrap().status, 404);
        let request = server.join().unwrap();
        assert!(request.starts_with("GET /a?b HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("\r\nhost: shop\r\n"), "{request}");
        assert!(request.contains("\r\nConnection: close\r\n"), "{request}");
        assert!(!request.contains("keep-alive"), "{request}");
    }

    #[test]
    fn a_server_that_does_not_answer_ends_in_a_timeout() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let client = SingleClient::new(address, Duration::from_millis(20));
        assert!(matches!(client.get("/", &[]), Err(ClientError::TimedOut)));
    }
}
