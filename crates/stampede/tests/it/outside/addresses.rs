//! Tests a name with two addresses, of which a server listens on only one, like `localhost` often.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::small::{CountingServer, OK};
use crate::common::{Sandbox, fact, finish, stderr, stdout};
use crate::words::{CODES, code_or};

const LIMIT: Duration = Duration::from_secs(60);

/// Runs the binary in a mount namespace in which `/etc/hosts` has this text. `None`: no namespace
/// is available here, which is printed.
fn with_hosts(sandbox: &Sandbox, hosts: &str, args: &[&str]) -> Option<Output> {
    let hosts = sandbox.write("hosts", hosts).display().to_string();
    let plain = sandbox.stampede(args);
    let mut command = Command::new("unshare");
    command.arg("--mount");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    let script = "mount --bind \"$1\" /etc/hosts || exit 99; shift; exec \"$@\"";
    command.args(["sh", "-c", script, "sh", &hosts]).arg(plain.get_program()).args(args);
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(sandbox.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = finish(command, LIMIT);
    let refused = output.status.code() == Some(99) || stderr(&output).contains("unshare");
    if refused {
        let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!in_ci, "no mount namespace in CI: {}", stderr(&output));
        println!("SKIPPED: no mount namespace here: {}", stderr(&output));
    }
    (!refused).then_some(output)
}

/// A server on `there`, under a name that also has the address `absent`.
fn one_of_two(absent: &str, there: &str) {
    let Some(server) = CountingServer::at(there, OK) else {
        println!("SKIPPED: {there} is no address here");
        return;
    };
    let sandbox = Sandbox::new();
    let hosts = format!("127.0.0.1 localhost\n{absent} twofold\n{there} twofold\n");
    let url = format!("http://twofold:{}/", server.port());
    let args = ["fire", &url, "--concurrency", "1", "--requests", "20", "--json"];
    let Some(output) = with_hosts(&sandbox, &hosts, &args) else { return };
    let printed = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!((&report["requests_ok"], server.answered()), (&20.into(), 20), "{printed}");
    let address = format!("{}:{}", bracketed(there), server.port());
    assert_eq!(report["address"], address, "{printed}");
    let note = fact(&report["notes"], "before_load");
    assert_eq!(
        (&note["found"]["code"], &note["found"]["taken"]),
        (&"addresses".into(), &address.clone().into()),
        "{printed}"
    );
    let note = format!("requests go to {address}");
    assert!(stderr(&output).contains(code_or("before_load addresses", &note)), "{printed}");
}

fn bracketed(ip: &str) -> String {
    if ip.contains(':') { format!("[{ip}]") } else { ip.to_owned() }
}

#[test]
fn the_address_that_accepts_is_used() {
    one_of_two("::1", "127.0.0.1");
    one_of_two("127.0.0.1", "::1");
    // The system may list either of these first.
    one_of_two("127.0.0.2", "127.0.0.1");
    one_of_two("127.0.0.1", "127.0.0.2");
}

/// The name in capitals and with the dot of an absolute name, which `/etc/hosts` does not know.
#[test]
fn a_name_may_be_written_in_other_ways() {
    let server = CountingServer::at("127.0.0.1", OK).expect("127.0.0.1");
    let hosts = "::1 twofold\n127.0.0.1 twofold\n";
    for name in ["TwoFold", "twofold.", "TWOFOLD."] {
        let sandbox = Sandbox::new();
        let url = format!("http://{name}:{}/", server.port());
        let args = ["fire", &url, "--concurrency", "1", "--requests", "2"];
        let Some(output) = with_hosts(&sandbox, hosts, &args) else { return };
        let printed = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{name}: {printed}");
    }
}

#[test]
fn where_nothing_listens_all_addresses_are_named() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("its address").port();
    drop(free);
    let sandbox = Sandbox::new();
    let url = format!("http://twofold:{port}/");
    let args = ["fire", &url, "--concurrency", "1", "--requests", "3"];
    let hosts = "::1 twofold\n127.0.0.1 twofold\n";
    let Some(output) = with_hosts(&sandbox, hosts, &args) else { return };
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    let error =
        code_or("nobody_accepts", "none of the addresses of `twofold` accepts a connection");
    assert!(printed.contains(&format!("error: {error}")), "{printed}");
    if !CODES {
        for address in [format!("[::1]:{port}: "), format!("127.0.0.1:{port}: Connection refused")]
        {
            assert!(printed.contains(&address), "{printed}");
        }
    }
}

/// A name with three addresses, of which one is dead. The system lists them in any order, and
/// `--resolve` in the order given.
#[test]
fn all_addresses_that_accept_get_connections_in_turn() {
    let one = CountingServer::at("127.0.0.2", OK).expect("127.0.0.2");
    let port = one.port();
    let other = CountingServer::at_port("127.0.0.3", port, OK).expect("the same port");
    let sandbox = Sandbox::new();
    let url = format!("http://many.test:{port}/");
    let args = ["fire", &url, "--concurrency", "4", "--requests", "40", "--json"];
    let given = format!("many.test:{port}:127.0.0.2,127.0.0.4,127.0.0.3");
    let resolved = [&args[..], &["--resolve", &given]].concat();
    let hosts = "127.0.0.2 many.test\n127.0.0.3 many.test\n127.0.0.4 many.test\n";
    let outputs =
        [Some(finish(sandbox.stampede(&resolved), LIMIT)), with_hosts(&sandbox, hosts, &args)];
    let mut times = 0;
    for output in outputs.into_iter().flatten() {
        times += 1;
        let printed = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{printed}");
        let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let mut dealt = report["addresses"].as_array().expect("a list").clone();
        assert_eq!(report["address"], dealt[0]["address"]);
        dealt.sort_by_key(|one| one["address"].to_string());
        let two = |ip| json!({"address": format!("{ip}:{port}"), "opened": 2, "failed": 0});
        assert_eq!(dealt, [two("127.0.0.2"), two("127.0.0.3")], "{printed}");
        let note = fact(&report["notes"], "before_load");
        assert_eq!(note["found"]["silent"], json!([format!("127.0.0.4:{port}")]), "{printed}");
    }
    // Each was tried once before the load.
    assert_eq!((one.connections(), other.connections()), (3 * times, 3 * times));
    assert_eq!(one.answered() + other.answered(), 40 * times);
    let text = [&args[..args.len() - 1], &["--resolve", &given]].concat();
    let output = finish(sandbox.stampede(&text), LIMIT);
    let printed = stdout(&output);
    let named = format!("127.0.0.2:{port}, 127.0.0.3:{port} (in turn)");
    assert!(printed.contains(&named), "{printed}");
}

/// `::1` and `127.0.0.1` are one server, which gets one share.
#[test]
fn one_family_of_addresses_is_used() {
    let one = CountingServer::at("127.0.0.1", OK).expect("127.0.0.1");
    let port = one.port();
    let Some(other) = CountingServer::at_port("::1", port, OK) else {
        println!("SKIPPED: ::1 is no address here");
        return;
    };
    let sandbox = Sandbox::new();
    let url = format!("http://twofold:{port}/");
    let given = format!("twofold:{port}:[::1],127.0.0.1");
    let args = ["fire", &url, "--resolve", &given, "--concurrency", "2", "--requests", "4"];
    let output = finish(sandbox.stampede(&args), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!((other.answered(), one.answered(), one.connections()), (4, 0, 0));
}

/// As with curl: the URL and the `Host` header stay.
#[test]
fn connections_go_elsewhere_by_a_flag() {
    let server = CountingServer::at("127.0.0.1", OK).expect("127.0.0.1");
    let port = server.port();
    let sandbox = Sandbox::new();
    let place = format!("shop.invalid:80:127.0.0.1:{port}");
    let args = ["fire", "http://shop.invalid/a", "--connect-to", &place];
    let load = ["--concurrency", "1", "--requests", "3", "--json"];
    let output = finish(sandbox.stampede(&[&args[..], &load].concat()), LIMIT);
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!((&report["requests_ok"], server.answered()), (&3.into(), 3), "{report:#}");
    assert_eq!(report["address"], format!("127.0.0.1:{port}"));
    let head = server.last_head();
    let is_whole =
        head.starts_with("GET /a HTTP/1.1\r\n") && head.contains("\r\nHost: shop.invalid\r\n");
    assert!(is_whole, "{head}");
    // A public address is not loaded by accident, however it was named (RFC 5737).
    let flags: [([&str; 2], &str, &str); 4] = [
        (["--resolve", "shop.invalid:80:192.0.2.1"], "foreign_address", "192.0.2.1 of `http"),
        (["--connect-to", "::192.0.2.1:80"], "foreign_address", "192.0.2.1 of `http"),
        (
            ["--resolve", "a.test:80:127.0.0.1"],
            "lookup",
            "`a.test:80:127.0.0.1` in `resolve` is not ",
        ),
        (["--connect-to", "a.test"], "lookup", "`a.test` in `connect-to` is not HOST1:"),
    ];
    for (given, code, error) in flags {
        let args = [&args[..2], &given, &load].concat();
        let output = finish(sandbox.stampede(&args), LIMIT);
        let printed = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(printed.contains(&format!("error: {}", code_or(code, error))), "{printed}");
    }
    assert_eq!(server.answered(), 3);
}

/// An address that may belong to somebody else is not even connected to.
#[test]
fn addresses_that_must_not_be_loaded_are_not_tried() {
    let server = CountingServer::at("127.0.0.1", OK).expect("127.0.0.1");
    let sandbox = Sandbox::new();
    // Addresses for documentation (RFC 5737), which nobody has.
    let url = format!("http://mixed:{}/", server.port());
    let args = ["fire", &url, "--concurrency", "1", "--requests", "2", "--json"];
    let hosts = "198.51.100.1 mixed\n127.0.0.1 mixed\n";
    let began = Instant::now();
    let Some(output) = with_hosts(&sandbox, hosts, &args) else { return };
    let printed = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(began.elapsed() < LIMIT / 2, "{printed}");
    let report: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(report["address"], format!("127.0.0.1:{}", server.port()));
    let hosts = "198.51.100.1 mixed\n203.0.113.1 mixed\n";
    let output = with_hosts(&sandbox, hosts, &args).expect("it was there before");
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    let error = code_or("foreign_address", "neither this machine's nor private");
    assert!(printed.contains(error), "{printed}");
}

/// `php -S localhost:8081` binds only one of the two. An address in a URL is used as written.
#[test]
fn an_address_stays_and_the_other_is_named() {
    let Some(server) = CountingServer::at("::1", OK) else {
        println!("SKIPPED: ::1 is no address here");
        return;
    };
    let (sandbox, port) = (Sandbox::new(), server.port());
    let url = format!("http://127.0.0.1:{port}/");
    let output =
        finish(sandbox.stampede(&["fire", &url, "--concurrency", "1", "--requests", "3"]), LIMIT);
    let printed = stderr(&output);
    assert_eq!((output.status.code(), server.answered()), (Some(3), 0), "{printed}");
    let other = format!("nothing listens on 127.0.0.1:{port}; something listens on [::1]:{port}");
    assert!(printed.contains(code_or("nothing_correct", &other)), "{printed}");
    let url = format!("http://[::1]:{port}/");
    let output =
        finish(sandbox.stampede(&["fire", &url, "--concurrency", "1", "--requests", "3"]), LIMIT);
    assert_eq!((output.status.code(), server.answered()), (Some(0), 3), "{}", stderr(&output));
}

#[test]
fn a_runtime_that_already_runs_is_found_at_either_address() {
    let server = CountingServer::at("127.0.0.1", OK).expect("127.0.0.1");
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", "<?php echo 'ok';");
    let plan = |host: &str| {
        let port = server.port();
        let text = format!(
            "app: ./shop\nworkers: 2\nruntimes:\n  - external: {{url: \"http://{host}:{port}\"}}\n\
             load: [{{concurrency: 1, for: 1s}}]\nwarm_up: 100ms\n"
        );
        sandbox.write("plan.yaml", &text);
    };
    plan("twofold");
    let hosts = "::1 twofold\n127.0.0.1 twofold\n";
    let args = ["compare", "plan.yaml", "--json"];
    let Some(output) = with_hosts(&sandbox, hosts, &args) else { return };
    let printed = stdout(&output) + &stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{printed}");
    assert!(server.answered() > 0, "{printed}");
    let note = format!("requests go to 127.0.0.1:{}", server.port());
    assert!(printed.contains(code_or("addresses", &note)), "{printed}");
    plan("[::1]");
    let output = finish(sandbox.stampede(&args), LIMIT);
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    let other = format!("something listens at 127.0.0.1:{}", server.port());
    assert!(printed.contains(code_or("nobody_there", &other)), "{printed}");
}

#[test]
fn an_unknown_host_name_is_named() {
    let sandbox = Sandbox::new();
    let hosts = "127.0.0.1 localhost\n";
    let args = ["fire", "http://no-such-host.invalid/", "--concurrency", "1", "--requests", "1"];
    let Some(output) = with_hosts(&sandbox, hosts, &args) else { return };
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    let error = code_or("no_address", "no address for `no-such-host.invalid`");
    assert!(printed.contains(&format!("error: {error}")), "{printed}");
}

/// The first bytes of a handshake that these arguments begin with the server at `PORT`.
fn hello(args: &[&str]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port().to_string();
    let hello = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("a connection");
        let mut bytes = [0; 2048];
        let length = connection.read(&mut bytes).expect("a handshake begins");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    });
    let sandbox = Sandbox::new();
    let args: Vec<String> = args.iter().map(|one| one.replace("PORT", &port)).collect();
    let args = args.iter().map(String::as_str);
    let load = ["--concurrency", "1", "--requests", "1"];
    let args: Vec<&str> = ["fire"].into_iter().chain(args).chain(load).collect();
    let output = finish(sandbox.stampede(&args), LIMIT);
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{printed}");
    hello.join().expect("no panic")
}

/// Servers with several sites refuse a handshake without a name, or answer 421. The name is that of
/// the `Host` header, and without one that of the URL, wherever the connection goes.
#[test]
fn the_name_inside_tls_is_that_of_the_host_header_or_the_url() {
    let table: [(&[&str], &str, &str); 5] = [
        (&["https://127.0.0.1:PORT/", "-H", "Host: shop.test:8443"], "shop.test", "127.0.0.1"),
        (&["https://127.0.0.1:PORT/"], "", "127.0.0.1"),
        (
            &["https://url.test:PORT/", "--resolve", "*:PORT:127.0.0.1", "-H", "Host: shop.test"],
            "shop.test",
            "url.test",
        ),
        (&["https://url.test/", "--connect-to", "::127.0.0.1:PORT"], "url.test", "127.0.0.1"),
        (
            &["https://localhost:PORT/", "-H", "Host: 127.0.0.1", "--resolve", "*:PORT:127.0.0.1"],
            "",
            "localhost",
        ),
    ];
    for (args, asked, not_asked) in table {
        let hello = hello(args);
        assert!(hello.contains(asked) && !hello.contains(not_asked), "{args:?}: {hello}");
    }
}
