//! Tests that header lines which browsers accept are accepted, with a remark.

use std::time::Duration;

use serde_json::Value;

use super::talk::{ScriptedServer, ServerConnection};
use crate::common::{Sandbox, assert_measured, fact, finish, stderr, stdout, trials};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(60);

/// A server that sends the same bytes as answer to each request of a kept connection.
fn saying(answer: String) -> ScriptedServer {
    ScriptedServer::tcp(move |mut line: ServerConnection| {
        while line.head().is_some() {
            line.say(&answer);
        }
    })
}

fn load_result(url: &str, args: &[&str]) -> Value {
    let sandbox = Sandbox::new();
    let common =
        ["fire", url, "--json", "--concurrency", "2", "--requests", "20", "--timeout", "5s"];
    let output = finish(sandbox.stampede(&[&common, args].concat()), LIMIT);
    serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)))
}

/// A remark about odd lines: their kind, and how they are read.
type HeaderNote = (&'static str, &'static str);

/// Asserts that all answers on two connections are correct, and that the remark is made.
fn assert_read(answer: &str, remark: Option<HeaderNote>) {
    let server = saying(answer.to_owned());
    let report = load_result(&server.url("/"), &[]);
    assert_eq!(report["requests_ok"], 20, "{answer:?}: {report}");
    assert_eq!(report["connections"], 2, "{answer:?}: {report}");
    let odd = fact(&report["notes"], "odd_headers");
    match remark {
        None => assert!(odd.is_null(), "{answer:?}: {odd}"),
        Some(remark) => assert!(is_remarked(&report["notes"], 20, remark), "{answer:?}: {odd}"),
    }
}

/// Whether this many answers, where that is known, are remarked upon.
fn is_remarked(notes: &Value, answers: u64, (kind, words): HeaderNote) -> bool {
    let mut all = notes.as_array().expect("notes").iter();
    let note = all.find(|note| note["code"] == "odd_headers" && note["kind"] == kind);
    let Some(note) = note else { return false };
    let text = note["text"].as_str().expect("a text");
    (note["answers"] == answers || answers == 0) && text.contains(code_or("odd_headers", words))
}

const FOLDED: HeaderNote = ("folded", "folded header lines; a fold is read as one space");
const SPACED: HeaderNote =
    ("blank-before-colon", "a blank before the colon of a header; it is ignored");
const NO_FIELD: HeaderNote =
    ("no-field", "header lines without a valid name; they are ignored, as in browsers");

const BARE_LF: HeaderNote = ("bare-lf", "lines that end with LF alone, without CR");

const EMPTY: &str = "empty lines before the status line; they are ignored, as in browsers";

#[test]
fn odd_lines_are_read_as_browsers_read_them() {
    let ok = "HTTP/1.1 200 OK\r\n";
    let body = "Content-Length: 2\r\n\r\nok";
    let chunks = "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n";
    for (answer, remark) in [
        (format!("{ok}{body}"), None),
        (format!("{ok}X-Policy: default-src 'self';\r\n  img-src *\r\n{body}"), Some(FOLDED)),
        (format!("{ok}X-Policy: default-src 'self';\n\timg-src *\n{body}"), Some(FOLDED)),
        (format!("{ok}Content-Length:\r\n 2\r\n\r\nok"), Some(FOLDED)),
        (format!("{ok}X-Policy : a\r\n{body}"), Some(SPACED)),
        (format!("{ok}Content-Length : 2\r\n\r\nok"), Some(SPACED)),
        (format!("{ok}Transfer-Encoding : chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"), Some(SPACED)),
        (format!("{ok}nothing here\r\n{body}"), Some(NO_FIELD)),
        (format!("{ok}Content-Length 9\r\n{body}"), Some(NO_FIELD)),
        (format!("{ok}X(Y): 1\r\n{body}"), Some(NO_FIELD)),
        (format!("{ok}{chunks}X-Sum: a\r\n b\r\n\r\n"), Some(FOLDED)),
        (format!("{ok}{chunks}X-Sum : a\r\n\r\n"), Some(SPACED)),
        (format!("{ok}{chunks}nothing here\r\n\r\n"), Some(NO_FIELD)),
        (format!("\r\n{ok}{body}"), Some(("empty-first", EMPTY))),
        (format!("HTTP/1.1 200\r\n{body}"), None),
        (format!("HTTP/1.1 200 OK\nX: y\n{body}"), Some(BARE_LF)),
        (
            format!("HTTP/1.1  200 OK\r\n{body}"),
            Some(("status-line", "several blanks before the status")),
        ),
        (format!("{ok}X: gr\u{fc}n\r\n{body}"), None),
        (
            format!("{ok}Transfer-Encoding: identity\r\n{body}"),
            Some(("identity", "`Transfer-Encoding: identity`, which is obsolete")),
        ),
        (
            format!("{ok}Content-Length: 2\r\n{body}"),
            Some(("repeated-length", "`Content-Length` more than once, with equal values")),
        ),
    ] {
        assert_read(&answer, remark);
    }
}

#[test]
fn a_check_sees_the_value_as_one_line() {
    let policy = "X-Policy: default-src 'self';\r\n  img-src *;\r\n\tfont-src x\r\n";
    let server = saying(format!("HTTP/1.1 200 OK\r\n{policy}Y : 1\r\nContent-Length: 2\r\n\r\nok"));
    for (check, ok) in [
        ("header x-policy contains img-src", 20),
        ("header x-policy contains 'self'; img-src *; font", 20),
        ("header x-policy == default-src 'self'; img-src *; font-src x", 20),
        ("header y == 1", 20),
        ("header x-policy contains no-src", 0),
    ] {
        let report = load_result(&server.url("/"), &["--check", check]);
        assert_eq!(report["requests_ok"], ok, "{check}: {report}");
    }
    let report = load_result(&server.url("/"), &["--check", "header x-policy == no"]);
    let found = report["examples"][0]["found"].as_str().expect("an example");
    assert!(found.contains("'self'; img-src *; font-src x"), "{found}");
}

#[test]
fn a_malformed_answer_is_still_a_failure() {
    for answer in [
        "HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2\r\n\r\nok",
        "220 smtp ready\r\n",
    ] {
        let server = saying(answer.to_owned());
        let report = load_result(&server.url("/"), &[]);
        assert_eq!(report["errors"]["net:malformed"], 20, "{answer:?}: {report}");
    }
}

#[test]
fn php_may_write_such_lines_too() {
    let head = "X-Policy: a;\r\n b\r\nStatus : 200 OK\r\nnothing here\r\n\r\nok";
    let mut records = vec![1, 6, 0, 1, 0, head.len() as u8, 0, 0];
    records.extend_from_slice(head.as_bytes());
    records.extend_from_slice(&[1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let server = ScriptedServer::tcp(move |mut line: ServerConnection| {
        let mut some = [0; 4096];
        while std::io::Read::read(&mut line, &mut some).is_ok_and(|bytes| bytes > 0) {
            line.say(&records);
        }
    });
    let url = server.fastcgi("/var/www/index.php");
    let report = load_result(&url, &["--check", "header x-policy == a; b"]);
    assert_eq!(report["requests_ok"], 20, "{report}");
    for remark in [FOLDED, SPACED, NO_FIELD] {
        assert!(is_remarked(&report["notes"], 20, remark), "{report}");
    }
}

/// What a server sends besides answers is noted, and changes none of them.
#[test]
fn surplus_bytes_and_fastcgi_errors_are_noted() {
    let server = saying("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok!".to_owned());
    let report = load_result(&server.url("/"), &[]);
    assert_eq!((&report["requests_ok"], &report["connections"]), (&20.into(), &20.into()));
    let surplus = fact(&report["notes"], "bytes_after_answers");
    assert_eq!((&surplus["answers"], &surplus["requests"]), (&20.into(), &0.into()), "{report}");

    let mut records = vec![1, 7, 0, 1, 0, 7, 1, 0];
    records.extend_from_slice(b"Warning!");
    records.extend_from_slice(&[1, 6, 0, 1, 0, 8, 0, 0]);
    records.extend_from_slice(b"A: b\n\nok");
    records.extend_from_slice(&[1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let server = ScriptedServer::tcp(move |mut line: ServerConnection| {
        let mut some = [0; 4096];
        while std::io::Read::read(&mut line, &mut some).is_ok_and(|bytes| bytes > 0) {
            line.say(&records);
        }
    });
    let report = load_result(&server.fastcgi("/var/www/index.php"), &[]);
    assert_eq!(report["requests_ok"], 20, "{report}");
    assert_eq!(fact(&report["notes"], "fastcgi_error_stream")["bytes"], 20 * 7, "{report}");
}

/// Requests before the measurement read headers in the same way as the measurement.
#[test]
#[ignore = "long: 9 s"]
fn a_comparison_finds_such_an_app_ready_and_says_so() {
    let body: Value = serde_json::from_str(include_str!("../../../../../apps/hello/expected.json"))
        .expect("JSON");
    let body = body.to_string();
    let head = "Content-Type: application/json\r\nX-Policy: a;\r\n b\r\nX-Odd : c\r\nnothing here";
    let length = body.len();
    let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}");
    let server = saying(answer);
    let sandbox = Sandbox::new();
    let plan = format!(
        "app: hello\nworkers: 2\nruntimes:\n  - external: {{url: \"{}\"}}\n\
         load: [{{concurrency: 2, for: 2s}}]\nrounds: 1\n",
        server.url("")
    );
    sandbox.write("plan.yaml", &plan);
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    assert_measured(&sandbox, &output);
    let trial = trials(&sandbox).remove(0);
    for remark in [FOLDED, SPACED, NO_FIELD] {
        assert!(is_remarked(&trial["verdict"]["notes"], 0, remark), "{trial}");
    }
    let shown = stdout(&output) + &stderr(&output);
    assert!(shown.contains(code_or("odd_headers", FOLDED.1)), "{shown}");
}
