//! Tests the ways between agents and coordinator: a broker's users and certificates, ways that stall or
//! break, and the commands that agents can send for.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use stampede_known_server::KnownServer;

use crate::agents_support::{Way, eventually, free_port, local_address, server_for_agents, sum};
use crate::agents_waiting::{Agent, Broker, TOKEN, fire, summary};
use crate::common::{Sandbox, fact, finish, skipped, stderr, stdout, trials};

const LIMIT: Duration = Duration::from_secs(90);

/// Makes an authority, and a certificate for 127.0.0.1, in `directory`.
fn certificate(directory: &Path) {
    let run = |line: &str| {
        let mut command = Command::new("openssl");
        command.args(line.split_whitespace()).current_dir(directory);
        let output = command.stderr(Stdio::piped()).output().expect("openssl");
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    };
    std::fs::write(directory.join("names"), "subjectAltName=IP:127.0.0.1\n").expect("written");
    let new = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    run(&format!("req -x509 {new} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"));
    run(&format!("req {new} -keyout broker.key -out broker.csr -subj /CN=broker"));
    run("x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
         -extfile names -out broker.pem");
}

#[test]
fn a_broker_has_users_and_certificates() {
    if skipped(&["nats-server", "openssl"]) {
        return;
    }
    let Some(server) = server_for_agents() else { return };
    let sandbox = Sandbox::new();
    certificate(sandbox.path());
    let path = |name: &str| sandbox.path().join(name).display().to_string();
    let (cert, key, ca) = (path("broker.pem"), path("broker.key"), path("ca.pem"));
    let user = nkeys::KeyPair::new_user();
    sandbox.write("user.nk", &user.seed().expect("a seed"));
    let users = format!("authorization {{ users: [{{ nkey: {} }}] }}\n", user.public_key());
    sandbox.write("users.conf", &users);
    let (conf, seed) = (path("users.conf"), path("user.nk"));
    let secret = "a word that nobody sees";
    for (scheme, flags, env) in [
        (
            "nats",
            vec!["--user", "me", "--pass", secret],
            vec![("NATS_USER", "me"), ("NATS_PASSWORD", secret)],
        ),
        ("nats", vec!["--auth", secret], vec![("NATS_TOKEN", secret)]),
        ("nats", vec!["-c", &conf], vec![("NATS_NKEY", seed.as_str())]),
        ("tls", vec!["--tls", "--tlscert", &cert, "--tlskey", &key], vec![("NATS_CA", &*ca)]),
    ] {
        let broker = Broker::start(free_port(), &flags);
        let place = format!("{scheme}://127.0.0.1:{}", broker.port);
        let send = |env: &[(&str, &str)]| {
            let place = format!("{place}?agents=1");
            let mut command = fire(&sandbox, &server, &place, "--rate 300 --for 500ms");
            command.envs(env.iter().copied());
            finish(command, LIMIT)
        };
        let agent = Agent::start_with(&sandbox, &place, &[], &env);
        let output = send(&env);
        let (text, said) = (stdout(&output), stderr(&output));
        let summary: Value =
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("{flags:?}: {said}"));
        assert!(sum(&summary, "ok") > 50, "{flags:?}: {summary:#}");
        assert!(!text.contains(secret) && !said.contains(secret), "{text} {said}");
        // Who lacks them is told so at once.
        let output = send(&[]);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {}", stderr(&output));
        let said = stderr(&output);
        assert!(crate::words::CODES || said.contains("the NATS broker"), "{flags:?}: {said}");
        drop(agent);
    }
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// A `fire` whose agents send.
fn sending(sandbox: &Sandbox, server: &KnownServer, agents: &str) -> Child {
    let before = server.journal().requests;
    let mut command = fire(sandbox, server, agents, "--rate 200 --for 60s");
    let mut child = command.spawn().expect("it starts");
    let begun = Instant::now();
    while server.journal().requests < before + 200 {
        if let Ok(Some(_)) = child.try_wait() {
            panic!("{}", stderr(&child.wait_with_output().expect("its output")));
        }
        assert!(begun.elapsed() < Duration::from_secs(40), "no request");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

/// A way that passes nothing for a while, and one that closes: the agent behind it is lost, ends by
/// itself, and comes back for the next load.
#[test]
#[ignore = "long: 40 s"]
fn an_agent_is_lost_where_its_way_stalls_or_breaks() {
    if skipped(&["nats-server"]) {
        return;
    }
    let Some(server) = server_for_agents() else { return };
    let (sandbox, broker) = (Sandbox::new(), Broker::start(free_port(), &[]));
    let at_broker = format!("nats://127.0.0.1:{}", broker.port);
    let port = free_port();
    for (scheme, to, agents) in [
        ("nats", broker.port, format!("{at_broker}?agents=2")),
        ("tcp", port, format!("tcp://127.0.0.1:{port}?agents=2")),
    ] {
        let way = Way::to(to);
        let far = Agent::start(&sandbox, &format!("{scheme}://127.0.0.1:{}", way.port), &[]);
        let near = Agent::start(&sandbox, &format!("{scheme}://127.0.0.1:{to}"), &[]);
        for (what, hinder) in [("stalls", Way::stall as fn(&Way)), ("breaks", Way::cut)] {
            println!("a way by {scheme} that {what}");
            let child = sending(&sandbox, &server, &agents);
            hinder(&way);
            let begun = Instant::now();
            let output = child.wait_with_output().expect("its output");
            assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
            let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
            assert_eq!((output.status.code(), &summary["verdict"]), (Some(3), &"invalid".into()));
            assert!(!fact(&summary["reasons"], "agent_lost").is_null(), "{summary:#}");
            let lost: Vec<bool> = summary["agents"]
                .as_array()
                .expect("agents")
                .iter()
                .map(|agent| !agent["loss"].is_null())
                .collect();
            assert_eq!(lost.iter().filter(|lost| **lost).count(), 1, "{summary:#}");
            eventually("a worker is left", || far.worker().is_none() && near.worker().is_none());
            let before = server.journal().requests;
            std::thread::sleep(Duration::from_millis(100));
            assert_eq!(server.journal().requests, before, "somebody goes on sending");
            way.open();
        }
        let whole = summary(&sandbox, &server, &agents, "--rate 200 --for 1s");
        assert_eq!(whole["requests_ok"], whole["requests_planned"], "{whole:#}");
        drop((far, near));
    }
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// Agents that wait serve every command that takes them, here by a plan.
#[test]
#[ignore = "long: 60 s"]
fn agents_that_wait_send_for_comparisons_searches_and_tuning() {
    if skipped(&["nats-server", "php"]) {
        return;
    }
    let Some(own) = local_address() else { return };
    let (sandbox, broker) = (Sandbox::new(), Broker::start(free_port(), &[]));
    let at_broker = format!("nats://127.0.0.1:{}", broker.port);
    let port = free_port();
    let at_port = format!("tcp://127.0.0.1:{port}");
    let waiting = [&at_broker, &at_broker, &at_port, &at_port]
        .map(|place| Agent::start(&sandbox, place, &[]));
    for (name, agents) in
        [("broker", format!("{at_broker}?agents=2")), ("port", format!("{at_port}?agents=2"))]
    {
        let plan = format!(
            "app: hello\nruntimes: [php-builtin]\nlisten: {own}\nload_from: {{agents: '{agents}'}}\n\
             load: [{{rate: 80, for: 1s}}]\nwarm_up: 200ms\nrounds: 1\n"
        );
        sandbox.write("plan.yaml", &plan);
        let run = |line: &str| {
            let args: Vec<&str> = line.split_whitespace().collect();
            let mut command = sandbox.stampede(&args);
            command.env("STAMPEDE_AGENT_TOKEN", TOKEN);
            finish(command, LIMIT)
        };
        let output = run("compare plan.yaml");
        let trial = trials(&sandbox).remove(0);
        let agents = trial["load"]["agents"].as_array().cloned().unwrap_or_default();
        assert_eq!(agents.len(), 2, "{name}: {trial:#} {}", stderr(&output));
        assert!(agents.iter().all(|agent| agent["ok"].as_u64() > Some(10)), "{name}: {trial:#}");
        let search = "--expect ok>=90% --max-time 10s --precision 50% --for 1s --json";
        let output = run(&format!("capacity plan.yaml {search} --out capacity-{name}"));
        let found: Value = serde_json::from_str(&stdout(&output))
            .unwrap_or_else(|_| panic!("{name}: {}", stderr(&output)));
        assert!(found.to_string().contains("php-builtin"), "{found:#}");
        std::fs::remove_dir_all(sandbox.run()).expect("the run");
    }
    let line = format!(
        "tune php-builtin --app hello --listen {own} --agents {at_broker}?agents=2 --rate 50 \
         --set workers=1..2 --for 1s --max-time 10s --json --out tuned"
    );
    let args: Vec<&str> = line.split_whitespace().collect();
    let mut command = sandbox.stampede(&args);
    command.env("STAMPEDE_AGENT_TOKEN", TOKEN);
    let output = finish(command, LIMIT);
    assert!(serde_json::from_str::<Value>(&stdout(&output)).is_ok(), "{}", stderr(&output));
    drop(waiting);
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}
