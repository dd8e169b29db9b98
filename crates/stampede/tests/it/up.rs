//! Tests `stampede up` from the outside: what it prints, that it serves, and that it ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::common::{Sandbox, finish, missing, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn up_prints_its_url_serves_and_ends_with_ctrl_c() {
    let programs = missing(&["nginx", "php-fpm"]);
    if !programs.is_empty() {
        println!("SKIPPED: not installed here: {}", programs.join(", "));
        return;
    }
    let sandbox = Sandbox::new();
    let args = ["up", "nginx-fpm", "--app", "hello", "--workers", "2"];
    let mut child = sandbox.stampede(&args).spawn().expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let first = lines.next().expect("a line").expect("text");
    let address = first.split("http://").nth(1).expect("a URL").trim_end_matches('/').to_owned();
    let printed: Vec<String> = lines
        .by_ref()
        .map(|line| line.expect("text"))
        .take_while(|line| !line.contains("Ctrl-C"))
        .collect();
    let printed = printed.join("\n");
    for part in ["processes", "web", "php", "nginx.conf", "fpm.conf", "php.ini"] {
        assert!(printed.contains(part), "no {part} in:\n{printed}");
    }

    let mut connection = TcpStream::connect(&address).expect("it listens where it says");
    connection.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    connection.write_all(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n").expect("a request");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("an answer");
    assert!(answer.contains("random_num"), "{answer}");

    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the signal");
    assert_eq!(child.wait().expect("its end").code(), Some(0));
    assert!(TcpStream::connect(&address).is_err(), "the port is free again");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

#[test]
fn a_taken_port_is_named_and_nothing_starts() {
    let programs = missing(&["php"]);
    if !programs.is_empty() {
        println!("SKIPPED: not installed here: {}", programs.join(", "));
        return;
    }
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("its address").port().to_string();
    let sandbox = Sandbox::new();
    let output = finish(sandbox.stampede(&["up", "php-builtin", "--port", &port]), LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    let named = code_or("error: port_taken", &port);
    assert!(stderr(&output).contains(named), "{}", stderr(&output));
    assert!(stderr(&output).contains("hint:"), "{}", stderr(&output));
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}
