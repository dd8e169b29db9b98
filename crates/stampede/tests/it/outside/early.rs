//! Tests that an early answer counts: a server may answer a request without reading all of it.

use std::time::Duration;

use serde_json::{Value, json};

use super::talk::{ScriptedServer, ServerConnection};
use crate::common::{Sandbox, finish, stderr, stdout};

const LIMIT: Duration = Duration::from_secs(120);
/// More than the buffers of a connection can hold.
const BODY_BYTES: usize = 16 << 20;
const REQUESTS: u64 = 30;

fn load_result(sandbox: &Sandbox, url: &str, args: &[&str]) -> Value {
    let requests = REQUESTS.to_string();
    let common =
        ["fire", url, "--json", "-d", "@body", "--requests", &requests, "--concurrency", "2"];
    let output = finish(sandbox.stampede(&[&common, args].concat()), LIMIT);
    serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)))
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("body", &"x".repeat(BODY_BYTES));
    sandbox
}

/// Sends an answer and closes with the rest of the request unread, so that the close is a reset.
fn closing(answer: &'static [&'static str]) -> impl Fn(ServerConnection) + Send + Sync + 'static {
    move |mut line: ServerConnection| {
        if line.head().is_some() {
            for (sandbox, part) in answer.iter().enumerate() {
                if sandbox > 0 {
                    std::thread::sleep(Duration::from_millis(30));
                }
                line.say(part);
            }
        }
    }
}

const WAYS: [&[&str]; 4] = [
    &["--engine", "epoll"],
    &["--engine", "epoll", "--no-keep-alive"],
    &["--engine", "io_uring"],
    &["--engine", "io_uring", "--no-keep-alive"],
];

#[test]
#[ignore = "long: 22 s"]
fn an_early_answer_counts_despite_the_reset_after_it() {
    let sandbox = sandbox();
    let answers: [(u16, &'static [&'static str]); 5] = [
        (413, &["HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig"]),
        (401, &["HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"]),
        (429, &["HTTP/1.1 429 Slow\r\nContent-Le", "ngth: 4\r\n\r\nsl", "ow"]),
        (413, &["HTTP/1.1 413 Too Large\r\n\r\nup to ", "the close"]),
        (200, &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"]),
    ];
    for (status, answer) in answers {
        let tcp = ScriptedServer::tcp(closing(answer));
        let socket = sandbox.path().join(format!("{status}-{}", answer.len()));
        let unix = ScriptedServer::unix(&socket, closing(answer));
        for url in [tcp.url("/"), unix.url("/")] {
            for way in WAYS {
                let report = load_result(&sandbox, &url, way);
                let about = format!("{answer:?} {url} {way:?}: {report}");
                match status {
                    200 => assert_eq!(report["requests_ok"], REQUESTS, "{about}"),
                    _ => {
                        let errors = json!({ format!("http:{status}"): REQUESTS });
                        assert_eq!(report["errors"], errors, "{about}");
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "long: 40 s"]
fn a_reset_without_an_answer_is_a_lost_connection() {
    let sandbox = sandbox();
    let answers: [&'static [&'static str]; 2] = [&[], &["HTTP/1.1 413 Too Large\r\nContent-Le"]];
    for answer in answers {
        let server = ScriptedServer::tcp(closing(answer));
        for way in WAYS {
            let report = load_result(&sandbox, &server.url("/"), way);
            let errors = json!({ "net:reset": REQUESTS });
            assert_eq!(report["errors"], errors, "{answer:?} {way:?}: {report}");
        }
    }
}

/// The reset may destroy the rest of the answer on its way. A wrong status is a failure anyway. A
/// right status with half a body is no correct answer.
#[test]
#[ignore = "long: 12 s"]
fn a_wrong_status_counts_though_its_body_is_cut() {
    let sandbox = sandbox();
    let head = |status: u16| format!("HTTP/1.1 {status} X\r\nContent-Length: 200000\r\n\r\n");
    let chunks = "HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n30000\r\nxxx";
    for (answer, kind) in [
        (head(413) + &"x".repeat(200_000), "http:413"),
        (head(413) + &"x".repeat(100_000), "http:413"),
        (head(401), "http:401"),
        (chunks.to_owned(), "http:403"),
        (head(200) + "xxx", "net:reset"),
    ] {
        let shown = answer[..answer.len().min(80)].to_owned();
        let server = ScriptedServer::tcp(move |mut line: ServerConnection| {
            if line.head().is_some() {
                line.say(&answer);
            }
        });
        for way in WAYS {
            let report = load_result(&sandbox, &server.url("/"), way);
            assert_eq!(report["errors"], json!({ kind: REQUESTS }), "{shown} {way:?}: {report}");
            let status: u16 = shown[9..12].parse().expect("a status");
            assert_eq!(report["examples"][0]["status"], status, "{shown} {way:?}: {report}");
        }
    }
}

/// The rest of the body would be taken for the beginning of the next request.
#[test]
fn no_request_follows_one_that_was_not_read() {
    let sandbox = sandbox();
    let talk = |mut line: ServerConnection| {
        if line.head().is_some() {
            line.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            line.wait_for_the_end();
        }
    };
    let socket = sandbox.path().join("sock");
    for server in [ScriptedServer::tcp(talk), ScriptedServer::unix(&socket, talk)] {
        for engine in ["epoll", "io_uring"] {
            let before = server.connections();
            let report = load_result(&sandbox, &server.url("/"), &["--engine", engine]);
            assert_eq!(report["requests_ok"], REQUESTS, "{engine}: {report}");
            assert_eq!((server.connections() - before) as u64, REQUESTS, "{engine}: {report}");
        }
    }
}

/// If the body was read before the answer, the connection stays usable.
#[test]
fn a_request_that_was_read_keeps_its_connection() {
    let sandbox = sandbox();
    let server = ScriptedServer::tcp(|mut line: ServerConnection| {
        let mut body = vec![0; BODY_BYTES];
        while line.head().is_some() {
            if std::io::Read::read_exact(&mut line, &mut body).is_err() {
                return;
            }
            line.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    for engine in ["epoll", "io_uring"] {
        let report = load_result(&sandbox, &server.url("/"), &["--engine", engine]);
        assert_eq!((&report["requests_ok"], &report["connections"]), (&json!(REQUESTS), &json!(2)));
    }
}

/// An answer in FastCGI records, sent before the request's body was read.
#[test]
#[ignore = "long: 34 s"]
fn php_may_answer_early_too() {
    let sandbox = sandbox();
    let text = "Status: 413 Too Large\r\n\r\nbig";
    let output = [&[1, 6, 0, 1, 0, text.len() as u8, 0, 0], text.as_bytes()].concat();
    let end = [1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    for records in [[&output[..], &end].concat(), output] {
        let server = ScriptedServer::tcp(move |mut line: ServerConnection| {
            let mut some = [0; 512];
            if std::io::Read::read(&mut line, &mut some).is_ok_and(|bytes| bytes > 0) {
                line.say(&records);
            }
        });
        for way in WAYS {
            let report = load_result(&sandbox, &server.fastcgi("/var/www/index.php"), way);
            assert_eq!(report["errors"], json!({ "http:413": REQUESTS }), "{way:?}: {report}");
        }
    }
}
