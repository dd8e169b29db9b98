//! Tests that `stampede up` keeps an app running, whatever it answers, so that a person can look at
//! it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Sandbox, skipped};

/// Starts `up` on an app with this code; returns what `up` says about the answer (JSON), its notes,
/// and the app's answer to `GET /`.
fn up(code: &str) -> (Value, String, String) {
    up_within(code, Duration::from_secs(10))
}

/// The same with a longer limit, for a slow app.
fn up_within(code: &str, time: Duration) -> (Value, String, String) {
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", code);
    let words = ["up", "php-builtin", "--app", "./shop", "--json"];
    let mut child = sandbox.stampede(&words).spawn().expect("the binary starts");
    let mut out = BufReader::new(child.stdout.take().expect("stdout"));
    let mut text = String::new();
    let started = loop {
        let read = out.read_line(&mut text).expect("what up says");
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            break value;
        }
        if read == 0 {
            let mut why = String::new();
            child.stderr.take().expect("stderr").read_to_string(&mut why).expect("text");
            panic!("up ended: {text}{why}");
        }
    };
    let address = started["url"].as_str().expect("a URL").trim_start_matches("http://").to_owned();
    let mut connection = TcpStream::connect(&address).expect("it is still up");
    connection.set_read_timeout(Some(time)).expect("a timeout");
    connection.write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n").expect("a request");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("an answer");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let mut notes = String::new();
    child.stderr.take().expect("stderr").read_to_string(&mut notes).expect("text");
    assert_eq!(child.wait().expect("its end").code(), Some(0), "{notes}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
    (started["answer"].clone(), notes, answer)
}

#[test]
fn an_app_that_fails_can_be_looked_at() {
    if skipped(&["php"]) {
        return;
    }
    for (status, body) in [(500, "no table"), (404, "no page"), (503, "closed today")] {
        let code = format!("<?php http_response_code({status}); echo '{body}';");
        let (started, notes, answer) = up(&code);
        assert_eq!(
            (&started["status"], &started["title"]),
            (&status.into(), &body.into()),
            "{started}"
        );
        assert_eq!(started["correct"], false, "{started}");
        assert!(answer.contains(body), "{answer}");
        assert!(notes.contains(&format!("status {status}")), "{notes}");
        assert!(!notes.contains("stampede up"), "{notes}");
    }
}

#[test]
#[ignore = "long: 12 s"]
fn an_app_that_hangs_can_be_looked_at() {
    if skipped(&["php"]) {
        return;
    }
    let code =
        "<?php if (!file_exists($once = sys_get_temp_dir() . '/once')) { touch($once); sleep(30); }
        echo 'at last';";
    // The built-in server may have only one worker here, which hangs. With more, others answer.
    let (started, _, answer) = up_within(code, Duration::from_secs(60));
    assert!(started.is_null() || started["title"] == "at last", "{started}");
    assert!(answer.contains("at last"), "{answer}");
}

#[test]
fn the_target_of_a_redirect_is_shown() {
    if skipped(&["php"]) {
        return;
    }
    let inside = "<?php if ($_SERVER['REQUEST_URI'] === '/') { header('Location: en/'); exit; }
        echo '<title>English</title>';";
    let (started, _, _) = up(inside);
    assert_eq!(
        (&started["path"], &started["title"]),
        (&"/en/".into(), &"English".into()),
        "{started}"
    );
    assert_eq!((&started["status"], &started["correct"]), (&200.into(), &true.into()), "{started}");
    let (started, _, _) = up("<?php header('Location: https://shop.test/', true, 301);");
    assert_eq!((&started["path"], &started["status"]), (&"/".into(), &301.into()), "{started}");
    assert_eq!(started["location"], "https://shop.test/", "{started}");
}
