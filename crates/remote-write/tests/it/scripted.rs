//! A server for remote write that answers as a test says, and remembers what it got.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::read_back::{self, ReadSeries};

/// What the server does with one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It answers with this status, these further header lines and this body.
    Status(u16, &'static str, &'static str),
    /// It reads the request and never answers.
    Hang,
    /// It reads the request and closes the connection.
    Close,
}

impl Answer {
    /// An answer with this status alone.
    pub fn of(status: u16) -> Answer {
        Answer::Status(status, "", "")
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Request {
    /// The request line and the headers, names in lower case.
    pub head: Vec<String>,
    /// What it carries.
    pub series: Vec<ReadSeries>,
    /// What the server did with it.
    pub answer: Answer,
}

impl Request {
    /// Whether the server took it.
    pub fn is_taken(&self) -> bool {
        matches!(self.answer, Answer::Status(200..300, ..))
    }

    /// The number of samples.
    pub fn samples(&self) -> u64 {
        self.series.iter().map(|series| series.samples.len() as u64).sum()
    }
}

/// The server.
pub struct Server {
    address: String,
    state: Arc<State>,
}

struct State {
    script: Mutex<VecDeque<Answer>>,
    then: Answer,
    requests: Mutex<Vec<Request>>,
    arrived: Condvar,
}

impl Server {
    /// A server that answers the first requests by `script` and all others by `then`.
    pub fn start(script: impl IntoIterator<Item = Answer>, then: Answer) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let state = Arc::new(State {
            script: Mutex::new(script.into_iter().collect()),
            then,
            requests: Mutex::new(Vec::new()),
            arrived: Condvar::new(),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let state = Arc::clone(&shared);
                std::thread::spawn(move || serve(connection.expect("a connection"), &state));
            }
        });
        Server { address: format!("http://127.0.0.1:{port}/api/v1/write"), state }
    }

    /// Where it takes figures.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state.requests.lock().expect("the requests").clone()
    }

    /// Waits until there are so many requests.
    pub fn wait_for(&self, count: usize) -> Vec<Request> {
        let requests = self.state.requests.lock().expect("the requests");
        let limit = Duration::from_secs(30);
        let enough =
            self.state.arrived.wait_timeout_while(requests, limit, |all| all.len() < count);
        let (requests, waited) = enough.expect("the requests");
        assert!(!waited.timed_out(), "only {} of {count} requests came", requests.len());
        requests.clone()
    }
}

fn serve(connection: TcpStream, state: &State) {
    let mut reader = BufReader::new(connection.try_clone().expect("its other half"));
    while let Some(answer) = answer(&mut reader, state) {
        let mut connection = &connection;
        match answer {
            Answer::Status(status, headers, body) => {
                let length = body.len();
                let text = format!(
                    "HTTP/1.1 {status} Scripted\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
                );
                if connection.write_all(text.as_bytes()).is_err() {
                    return;
                }
            }
            Answer::Hang => {
                // Until the client gives up.
                let _ = reader.read_to_end(&mut Vec::new());
                return;
            }
            Answer::Close => return,
        }
    }
}

/// Reads a request. Returns what to do with it; `None`: there is none.
fn answer(reader: &mut impl BufRead, state: &State) -> Option<Answer> {
    let (head, body) = read(reader)?;
    let answer = state.script.lock().expect("the script").pop_front();
    let answer = answer.unwrap_or_else(|| state.then.clone());
    let plain = snap::raw::Decoder::new().decompress_vec(&body).expect("a block of snappy");
    let series = read_back::series(&plain);
    let mut requests = state.requests.lock().expect("the requests");
    requests.push(Request { head, series, answer: answer.clone() });
    state.arrived.notify_all();
    Some(answer)
}

/// Reads head and body of a request; `None`: the connection ended.
pub fn read(reader: &mut impl BufRead) -> Option<(Vec<String>, Vec<u8>)> {
    let mut head: Vec<String> = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line if head.is_empty() => head.push(line.to_owned()),
            line => {
                let (name, value) = line.split_once(':').expect("a header");
                head.push(format!("{}: {}", name.to_ascii_lowercase(), value.trim()));
            }
        }
    }
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.expect("a length").parse().expect("a number");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}
