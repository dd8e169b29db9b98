//! Tests that a common setting means the same in every runtime: each installed runtime is started
//! with it and queried byte by byte. Also tests the traps of PHP's packages.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use stampede_plan::model::Scalar;
use stampede_stack::{HeldBy, ProcessStack, RuntimeManifest, Stack as _};

use crate::bench_support::Bench;

/// Long enough for anything that an idle machine does at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection for one request after another.
struct Connection(TcpStream);

/// An answer of the server.
struct Answer {
    head: String,
    body: Vec<u8>,
}

impl Connection {
    fn open(running: &ProcessStack) -> Connection {
        let stream = TcpStream::connect(running.addr()).expect("connects");
        stream.set_nodelay(true).expect("set");
        Connection(stream)
    }

    fn send(&mut self, headers: &str) {
        let request = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        self.0.write_all(request.as_bytes()).expect("sends");
    }

    /// `None`: no answer came within `time`, or the connection was closed before.
    fn receive(&mut self, time: Duration) -> Option<Answer> {
        self.0.set_read_timeout(Some(time)).expect("set");
        let (mut bytes, mut buffer) = (Vec::new(), [0; 16384]);
        loop {
            let read = match self.0.read(&mut buffer) {
                Ok(read) => read,
                Err(error) if timed_out(&error) => return None,
                Err(error) => panic!("{error}"),
            };
            bytes.extend_from_slice(&buffer[..read]);
            let ended = read == 0;
            if ended && bytes.is_empty() {
                return None;
            }
            if let Some(answer) = whole(&bytes, ended) {
                return Some(answer);
            }
            assert!(!ended, "half an answer: {}", String::from_utf8_lossy(&bytes));
        }
    }

    fn ask(&mut self, headers: &str) -> Option<Answer> {
        self.send(headers);
        self.receive(PATIENCE)
    }

    /// Whether the other side closes the connection within `time`.
    fn closes_within(&mut self, time: Duration) -> bool {
        self.0.set_read_timeout(Some(time)).expect("set");
        match self.0.read(&mut [0; 1]) {
            Ok(0) => true,
            // NGINX Unit sends a reason before it closes.
            Ok(_) => {
                let why = self.receive(PATIENCE).map(|answer| answer.head).unwrap_or_default();
                assert!(why.contains(" 408 "), "after the answer: {why}");
                true
            }
            Err(error) => !timed_out(&error),
        }
    }
}

fn timed_out(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The answer in `bytes`, once it is complete (RFC 9112, section 6.3).
fn whole(bytes: &[u8], ended: bool) -> Option<Answer> {
    let split = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..split]).to_lowercase();
    let body = &bytes[split + 4..];
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let complete = match length {
        Some(length) => body.len() >= length.trim().parse().expect("a length"),
        None if head.contains("transfer-encoding: chunked") => body.ends_with(b"0\r\n\r\n"),
        None => ended,
    };
    complete.then(|| Answer { head, body: body.to_vec() })
}

impl Answer {
    /// The pid of the process that answered: `hello` prints it.
    fn pid(&self) -> u32 {
        let body = String::from_utf8_lossy(&self.body);
        let (_, rest) = body.split_once("\"pid\":").unwrap_or_else(|| panic!("{}", self.head));
        rest.split(|c: char| !c.is_ascii_digit()).next().expect("digits").parse().expect("pid")
    }
}

fn closes_unless_asked(manifest: &RuntimeManifest) -> bool {
    let spec = manifest.settings.get("keep_alive");
    spec.is_some_and(|spec| spec.default == Scalar::Bool(false))
}

#[test]
#[ignore = "long: 16 s"]
fn connections_are_kept_or_closed_as_requested() {
    let bench = Bench::hello();
    bench.each(&[("workers", Scalar::Int(2))], |name, running| {
        let mut connection = Connection::open(running);
        assert!(connection.ask("").expect(name).head.starts_with("http/1.1 200"), "{name}");
        match closes_unless_asked(&bench.manifest(name)) {
            true => assert!(connection.closes_within(PATIENCE), "{name} closes"),
            false => assert!(connection.ask("").is_some(), "{name} keeps connections"),
        }
    });
    bench.each(
        &[("workers", Scalar::Int(2)), ("keep_alive", Scalar::Bool(true))],
        |name, running| {
            let mut connection = Connection::open(running);
            connection.ask("").expect(name);
            assert!(connection.ask("").is_some(), "{name} keeps connections");
        },
    );
    let off = [("workers", Scalar::Int(2)), ("keep_alive", Scalar::Bool(false))];
    bench.each(&off, |name, running| {
        let mut connection = Connection::open(running);
        connection.ask("").expect(name);
        assert!(connection.closes_within(PATIENCE), "{name}: closed after the answer");
    });
}

#[test]
#[ignore = "long: 27 s"]
fn an_idle_connection_is_closed_in_time() {
    let settings = [
        ("workers", Scalar::Int(2)),
        ("keep_alive", Scalar::Bool(true)),
        ("keepalive_timeout", Scalar::Int(2)),
    ];
    Bench::hello().each(&settings, |name, running| {
        let mut connection = Connection::open(running);
        connection.ask("").expect(name);
        // The usual limit would be 75 seconds.
        assert!(connection.closes_within(PATIENCE), "{name}: closed after two seconds");
    });
}

/// Without TCP_NODELAY, an answer in two writes waits 40 ms for the client's delayed
/// acknowledgement. This concerns every answer but the first few.
#[test]
fn an_answer_on_a_kept_connection_does_not_wait_for_the_one_before() {
    Bench::hello().each(&[("workers", Scalar::Int(1))], |name, running| {
        let mut connection = Connection::open(running);
        let mut fastest = Duration::MAX;
        for number in 0..40 {
            let begun = Instant::now();
            let Some(answer) = connection.ask("") else { return };
            if answer.head.contains("connection: close") {
                return eprintln!("{name}: it keeps none");
            }
            if number >= 30 {
                fastest = fastest.min(begun.elapsed());
            }
        }
        assert!(fastest < Duration::from_millis(20), "{name}: {fastest:?}");
    });
}

#[test]
fn answers_are_compressed_as_requested() {
    let bench = Bench::hello();
    for on in [false, true] {
        let settings = [("workers", Scalar::Int(2)), ("compression", Scalar::Bool(on))];
        bench.each(&settings, |name, running| {
            let answer = Connection::open(running).ask("Accept-Encoding: gzip\r\n").expect(name);
            let gzip = answer.head.contains("\ncontent-encoding: gzip");
            assert_eq!(gzip, on, "{name}: {}", answer.head);
        });
    }
}

#[test]
#[ignore = "long: 37 s"]
fn a_worker_ends_after_its_requests_and_no_request_is_lost() {
    let settings = [("workers", Scalar::Int(1)), ("max_requests", Scalar::Int(5))];
    let bench = Bench::hello();
    bench.each(&settings, |name, running| {
        let counted = bench.manifest(name).effective_workers.processes.clone();
        if counted.is_some_and(|count| count.threads.is_some() && count.program.is_none()) {
            return eprintln!("{name}: its workers are threads of one process");
        }
        let begun = Instant::now();
        let ask = || Connection::open(running).ask("Connection: close\r\n").expect(name);
        let pids: BTreeSet<u32> = (0..30).map(|_| ask().pid()).collect();
        // 30 requests are 6 workers; the start sent some requests, too.
        assert!((5..=8).contains(&pids.len()), "{name}: {pids:?}");
        eprintln!("{name}: 30 in {:?}", begun.elapsed());
    });
}

/// One worker and two connections: tells whether the second is answered while the first is open.
#[test]
fn a_worker_is_held_by_what_the_manifest_declares() {
    let bench = Bench::hello();
    bench.each(&[("workers", Scalar::Int(1))], |name, running| {
        let (mut first, mut second) = (Connection::open(running), Connection::open(running));
        first.ask("").expect(name);
        second.send("");
        match bench.manifest(name).worker_held_by {
            HeldBy::Request => assert!(second.receive(PATIENCE).is_some(), "{name}"),
            HeldBy::Connection => {
                assert!(second.receive(Duration::from_secs(1)).is_none(), "{name}");
                drop(first);
                assert!(second.receive(PATIENCE).is_some(), "{name}");
            }
        }
    });
}

#[test]
fn raw_lines_reach_every_file_that_is_rendered() {
    let bench = Bench::hello();
    for name in bench.catalogue.runtime_names() {
        let manifest = bench.manifest(name);
        let rendered = manifest.files.iter().filter_map(|file| file.value.strip_suffix(".j2"));
        let rendered = rendered.map(|file| file.rsplit('/').next().unwrap_or(file));
        for file in rendered.filter(|file| !file.ends_with(".php")) {
            let mark = match file.rsplit('.').next() {
                _ if file == "fpm.conf" => ";",
                Some("json") => "//",
                _ => "#",
            };
            let line = format!("{mark} raw line of a test");
            let settings = [
                ("workers", Scalar::Int(1)),
                (&*format!("append.{file}"), Scalar::Text(line.clone())),
            ];
            let Some(running) = bench.start(name, &settings) else { break };
            assert!(running.record().files[file].contains(&line), "{name}: {file}");
        }
    }
}

/// mod_fcgid lets a request sleep for a second if all workers are busy. The test only checks that
/// no request is lost.
#[test]
fn more_requests_at_once_than_workers_are_all_answered() {
    let settings = [("workers", Scalar::Int(2)), ("keep_alive", Scalar::Bool(false))];
    Bench::hello().each(&settings, |name, running| {
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let asked: Vec<_> = (0..20)
                .map(|_| scope.spawn(|| Connection::open(running).ask("Connection: close\r\n")))
                .collect();
            for thread in asked {
                let answer = thread.join().expect("joins").expect(name);
                assert!(answer.head.starts_with("http/1.1 200"), "{name}: {}", answer.head);
            }
        });
        eprintln!("{name}: 20 at once in {:?}", begun.elapsed());
    });
}

/// Article 002's pool, the largest of all: 2 000 processes, all of which must be gone afterwards.
#[test]
fn two_thousand_workers_start_serve_and_end() {
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = kib.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    if kib.is_none_or(|kib| kib < 6 << 20) {
        return println!("SKIPPED: less than 6 GiB of memory are free");
    }
    let bench = Bench::hello();
    let Some(running) = bench.start("nginx-fcgi", &[("workers", Scalar::Int(2_000))]) else {
        return;
    };
    // The pool answers as soon as its first process runs.
    let of_php = || -> Vec<u32> {
        let all = running.processes().into_iter();
        all.filter(|(role, _)| role == "php").map(|(_, pid)| pid).collect()
    };
    let begun = Instant::now();
    while of_php().len() < 2_000 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let of_php = of_php();
    assert!(of_php.len() >= 2_000, "{}", of_php.len());
    assert!(Connection::open(&running).ask("").is_some(), "it serves");
    running.stop().expect("stop");
    let left = of_php.iter().filter(|pid| std::path::Path::new(&format!("/proc/{pid}")).exists());
    assert_eq!(left.count(), 0);
}
