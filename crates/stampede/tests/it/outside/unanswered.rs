//! Tests that a load without any answer, or without any correct answer, is no measurement.

use std::net::TcpListener;
use std::process::Output;
use std::time::Duration;

use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, ConnectionAction, KnownServer};

use super::talk::{ScriptedServer, ServerConnection};
use crate::common::{Sandbox, finish, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(60);

fn fire(url: &str, more: &[&str]) -> Output {
    let sandbox = Sandbox::new();
    let load = ["fire", url, "--concurrency", "2", "--requests", "4"];
    finish(sandbox.stampede(&[&load[..], more].concat()), LIMIT)
}

/// Asserts exit code 3, the sentence with its hint on stderr, and the summary on stdout, which
/// begins with both.
fn is_nothing(output: &Output, sentence: &str, hint: &str) {
    let printed = stderr(output);
    assert_eq!(output.status.code(), Some(3), "{}{printed}", stdout(output));
    assert!(
        printed.contains(&format!("error: {}", code_or("nothing_correct", sentence))),
        "{printed}"
    );
    let hints: Vec<&str> = printed.lines().filter(|line| line.starts_with("hint: ")).collect();
    let coded = code_or("nothing_correct", hint);
    assert!(matches!(hints[..], [one] if one.contains(coded)), "{printed}");
    let summary = stdout(output);
    let first: Vec<&str> = summary.lines().take(2).collect();
    let [verdict, advice] = first[..] else { panic!("{summary}") };
    let reason = verdict.split_once(": ").map(|(_, reason)| reason).unwrap_or_default();
    assert!(reason.starts_with(code_or("nothing_correct", sentence)), "{summary}");
    assert!(!verdict.starts_with("valid"), "{summary}");
    assert!(advice.starts_with("hint: ") && advice.contains(hint), "{summary}");
}

#[test]
fn a_load_that_nobody_answers_ends_with_exit_code_3() {
    // Nothing listens on port 1 of the loopback address.
    let output = fire("http://127.0.0.1:1/", &[]);
    let sentence = "no request was answered: 4 × connection refused by 127.0.0.1:1 (net:refused)";
    is_nothing(&output, sentence, "start the server");
    assert!(stdout(&output).contains("4 planned, 0 ok, 4 failed, 0 dropped"));

    let output = fire("http://127.0.0.1:1/", &["--json"]);
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON on stdout");
    assert_eq!((output.status.code(), &report["requests_failed"]), (Some(3), &4.into()));
    let sentence = code_or("nothing_correct", sentence);
    assert!(report["reasons"].to_string().contains(sentence), "{report:#}");
    assert!(stderr(&output).contains(sentence), "{}", stderr(&output));
}

#[test]
fn every_kind_of_missing_answer_is_handled_alike() {
    let sandbox = Sandbox::new();
    let gone = format!("unix:{}:/", sandbox.path().join("no.sock").display());
    is_nothing(&fire(&gone, &[]), "no request was answered: 4 × ", "correct the socket's path");
    is_nothing(&fire("fcgi://127.0.0.1:1/a.php", &[]), "no request was answered: 4 × ", "start");
    is_nothing(&fire("https://127.0.0.1:1/", &[]), "no request was answered: 4 × ", "start");
    let table = [
        (
            Answer::none(ConnectionAction::Hold),
            "4 × took longer than the timeout (net:timeout)",
            "--timeout",
        ),
        (Answer::none(ConnectionAction::Close), "4 × ", "server's log"),
        (Answer::raw("SSH-2.0-x\r\n\r\n"), "4 × ", "server's log"),
    ];
    for (answer, sentence, hint) in table {
        let server = KnownServer::start(Behaviour::answering(answer)).expect("a server");
        let url = format!("http://{}/", server.address());
        let output = fire(&url, &["--timeout", "300ms"]);
        is_nothing(&output, &format!("no request was answered: {sentence}"), hint);
        // Expectations about answers have no meaning without answers.
        let output = fire(&url, &["--timeout", "300ms", "--expect", "ok >= 99%"]);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    }
}

#[test]
fn a_load_without_a_correct_answer_says_why_and_what_to_do() {
    let redirect = |to: &str| Answer::new(302, "").field("Location", to);
    let table = [
        (
            redirect("/login?next=%2F"),
            "4 × status 302 instead of 200 to 299 (http:302, Location: /login?next=%2F)",
            "/login?next=%2F`, or accept it with `--status 302`",
        ),
        (
            redirect("https://127.0.0.1/"),
            "4 × status 302 instead of 200 to 299 (http:302, Location: https://127.0.0.1/)",
            "`-H 'X-Forwarded-Proto: https'`",
        ),
        (
            redirect("http://shop.test/"),
            "4 × status 302 instead of 200 to 299 (http:302, Location: http://shop.test/)",
            "`-H 'Host: shop.test'`; or accept it with `--status 302`",
        ),
        (
            Answer::new(403, "x"),
            "4 × status 403 instead of 200 to 299 (http:403)",
            "or accept it with `--status 403`",
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
        // Here there were answers to judge.
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
#[ignore = "long: 15 s"]
fn a_load_stopped_by_the_user_is_no_error_of_this_kind() {
    // It accepts connections and sends nothing.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("its address"));
    for load in [["--for", "60s"], ["--requests", "60"], ["--rate", "1"]] {
        let output = interrupted(&url, &load, || {
            // The client waits for an answer that never comes.
            listener.accept().expect("a connection")
        });
        let printed = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{load:?}: {printed}");
        assert!(
            printed.contains(code_or("INVALID: stopped", "INVALID: stopped after")),
            "{printed}"
        );
        let error = code_or("nothing_correct", "no request was answered");
        assert!(!printed.contains(error), "{printed}");
    }
}

/// Sends Ctrl-C once `until` returns, and keeps its value until the end.
fn interrupted<T>(url: &str, load: &[&str], until: impl FnOnce() -> T) -> Output {
    let sandbox = Sandbox::new();
    let users: &[&str] =
        if load.contains(&"--rate") { &["--for", "60s"] } else { &["--concurrency", "1"] };
    let args = [&["fire", url, "--timeout", "5s"], load, users].concat();
    let child = sandbox.stampede(&args).spawn().expect("the binary starts");
    let _kept = until();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the signal");
    child.wait_with_output().expect("its output")
}

/// Waits for ten connections of the one user: the requests of nine of them have ended.
fn ten_connections(server: &ScriptedServer) {
    let began = std::time::Instant::now();
    while server.connections() < 10 {
        assert!(began.elapsed() < LIMIT, "{} connections", server.connections());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The exit code alone must show that this is no measurement.
#[test]
fn a_stopped_load_that_nobody_answered_is_an_error_all_the_same() {
    for load in [["--for", "60s"], ["--requests", "1000000"], ["--rate", "100"]] {
        let closes = ScriptedServer::tcp(drop);
        let output = interrupted(&closes.url("/"), &load, || ten_connections(&closes));
        is_nothing(&output, "no request was answered: ", "server's log");
        let notice_text = stdout(&output);
        assert!(notice_text.contains(code_or("stopped", "stopped after")), "{notice_text}");
    }
    // The server does not see refused connections, so the load simply gets some seconds.
    let refused = interrupted("http://127.0.0.1:1/", &["--for", "60s"], || {
        std::thread::sleep(Duration::from_secs(5));
    });
    is_nothing(&refused, "no request was answered: ", "start the server");
    let error = code_or("nothing_correct", " × connection refused by 127.0.0.1:1");
    assert!(stderr(&refused).contains(error), "{}", stderr(&refused));
}

/// Answers are figures, even wrong ones, and a person may have seen enough of them.
#[test]
fn a_stopped_load_that_was_answered_is_none() {
    for answer in ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 500 No\r\n"] {
        let server = ScriptedServer::tcp(move |mut line: ServerConnection| {
            if line.head().is_some() {
                line.say(format!("{answer}Content-Length: 0\r\nConnection: close\r\n\r\n"));
            }
        });
        let output = interrupted(&server.url("/"), &["--for", "60s"], || ten_connections(&server));
        assert_eq!(output.status.code(), Some(0), "{answer}: {}", stderr(&output));
        assert!(!stderr(&output).contains("error:"), "{answer}: {}", stderr(&output));
    }
}
