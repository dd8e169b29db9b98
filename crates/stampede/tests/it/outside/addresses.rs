//! Tests a name with two addresses, of which a server listens on only one, like `localhost` often.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::small::{CountingServer, OK};
use crate::common::{Sandbox, fact, finish, stderr, stdout};
use crate::words::code_or;

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
    assert_eq!(output.status.code(), Some(3), "{printed}");
    let note = format!("nothing accepts connections at [::1]:{port} and 127.0.0.1:{port}");
    assert!(printed.contains(code_or("before_load addresses", &note)), "{printed}");
    let error = code_or("nothing_correct", "no request was answered: 3 × connection refused by ");
    assert!(printed.contains(&format!("error: {error}")), "{printed}");
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

/// Servers with several sites refuse a handshake without a name, or answer 421.
#[test]
fn the_host_header_is_the_name_inside_tls_where_the_url_has_an_address() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let hello = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("a connection");
        let mut bytes = [0; 2048];
        let length = connection.read(&mut bytes).expect("a handshake begins");
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    });
    let sandbox = Sandbox::new();
    let url = format!("https://{address}/");
    let load = ["--concurrency", "1", "--requests", "1", "-H", "Host: shop.test:8443"];
    let output = finish(sandbox.stampede(&[&["fire", &url][..], &load].concat()), LIMIT);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let hello = hello.join().expect("no panic");
    assert!(hello.contains("shop.test"), "{hello}");
}
