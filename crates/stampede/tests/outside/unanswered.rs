//! A load of which nothing was answered, or nothing correctly, is no measurement.

use std::net::TcpListener;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer, Then};

use crate::common::{Place, finish, stderr, stdout};

const LIMIT: Duration = Duration::from_secs(60);

fn fire(url: &str, more: &[&str]) -> Output {
    let place = Place::new();
    let load = ["fire", url, "--users", "2", "--requests", "4"];
    finish(place.stampede(&[&load[..], more].concat()), LIMIT)
}

/// Exit code 3, the sentence with its hint on stderr, and the summary on stdout all the same.
fn is_nothing(output: &Output, sentence: &str, hint: &str) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(3), "{}{said}", stdout(output));
    assert!(said.contains(&format!("error: {sentence}")), "{said}");
    let hints: Vec<&str> = said.lines().filter(|line| line.starts_with("hint: ")).collect();
    assert!(matches!(hints[..], [one] if one.contains(hint)), "{said}");
    assert!(!stdout(output).starts_with("valid"), "{}", stdout(output));
}

#[test]
fn a_load_that_nobody_answers_ends_with_exit_code_3() {
    // Port 1 of loopback: nobody listens there.
    let output = fire("http://127.0.0.1:1/", &[]);
    let sentence = "no request was answered: 4 × connection refused by 127.0.0.1:1 (net:refused)";
    is_nothing(&output, sentence, "start the server");
    assert!(stdout(&output).contains("4 planned, 0 ok, 4 failed, 0 dropped"));

    let output = fire("http://127.0.0.1:1/", &["--json"]);
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON on stdout");
    assert_eq!((output.status.code(), &report["shots_failed"]), (Some(3), &4.into()));
    assert!(report["reasons"].to_string().contains(sentence), "{report:#}");
    assert!(stderr(&output).contains(sentence), "{}", stderr(&output));
}

#[test]
fn it_does_not_matter_how_nothing_was_answered() {
    let place = Place::new();
    let gone = format!("unix:{}:/", place.path().join("no.sock").display());
    is_nothing(&fire(&gone, &[]), "no request was answered: 4 × ", "correct the socket's path");
    is_nothing(&fire("fcgi://127.0.0.1:1/a.php", &[]), "no request was answered: 4 × ", "start");
    is_nothing(&fire("https://127.0.0.1:1/", &[]), "no request was answered: 4 × ", "start");
    let table = [
        (Answer::none(Then::Hold), "4 × took longer than the timeout (net:timeout)", "--timeout"),
        (Answer::none(Then::Close), "4 × ", "server's log"),
        (Answer::raw("SSH-2.0-x\r\n\r\n"), "4 × ", "server's log"),
    ];
    for (answer, sentence, hint) in table {
        let server = KnownServer::start(Behaviour::answering(answer)).expect("a server");
        let url = format!("http://{}/", server.address());
        let output = fire(&url, &["--timeout", "300ms"]);
        is_nothing(&output, &format!("no request was answered: {sentence}"), hint);
        // What is expected of answers has no meaning where there are none.
        let output = fire(&url, &["--timeout", "300ms", "--expect", "ok >= 99%"]);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    }
}

#[test]
fn a_load_without_a_correct_answer_says_why_and_what_to_do() {
    let redirect = Answer::new(302, "").field("Location", "/login?next=%2F");
    let table = [
        (
            redirect,
            "4 × status 302 instead of 200 to 299 (http:302, Location: /login?next=%2F)",
            "/login?next=%2F`, or accept it with `--status 302`",
        ),
        (Answer::new(500, "x"), "4 × status 500 instead of 200 to 299 (http:500)", "server's log"),
        (
            Answer::new(404, "x"),
            "4 × status 404 instead of 200 to 299 (http:404)",
            "correct the path",
        ),
        (Answer::new(401, "x"), "4 × status 401 instead of 200 to 299 (http:401)", "--basic-auth"),
    ];
    for (answer, sentence, hint) in table {
        let server = KnownServer::start(Behaviour::answering(answer)).expect("a server");
        let url = format!("http://{}/", server.address());
        let output = fire(&url, &[]);
        is_nothing(&output, &format!("no request was answered correctly: {sentence}"), hint);
        // There were answers to judge.
        let output = fire(&url, &["--expect", "ok >= 99%"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let statuses = ["--status", "200-599"];
        assert_eq!(fire(&url, &statuses).status.code(), Some(0), "{sentence}");
    }
    let server = KnownServer::start(Behaviour::answering(Answer::ok())).expect("a server");
    let url = format!("http://{}/", server.address());
    let output = fire(&url, &["--contains", "no such text"]);
    is_nothing(&output, "no request was answered correctly: 4 × ", "`examples` of `--json`");
    assert_eq!(fire(&url, &[]).status.code(), Some(0), "one that is answered is fine");
}

#[test]
fn what_a_person_stopped_is_no_error_of_this_kind() {
    // It accepts and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("its address"));
    let place = Place::new();
    let child = place.stampede(&["fire", &url, "--users", "1", "--for", "60s"]).spawn();
    let child = child.expect("the binary starts");
    // It waits for its answer.
    let _connection = listener.accept().expect("a connection");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the signal");
    let output = child.wait_with_output().expect("its output");
    let said = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("INVALID: stopped after"), "{said}");
    assert!(!said.contains("no request was answered"), "{said}");
}
