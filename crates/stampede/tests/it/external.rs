//! Tests external runtimes from the outside: they already run, are measured, and are left alone.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Sandbox, finish, missing, stderr, stdout};
use crate::external_support as support;
use crate::external_support::{KillOnDrop, RecordingServer};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(60);

/// A plan with one external runtime in the closed model, so that nothing depends on this machine's
/// CPU.
fn plan(sandbox: &Sandbox, external: &str) {
    sandbox.write(
        "plan.yaml",
        &format!(
            "app: hello\nworkers: 2\nruntimes:\n  - external: {external}\nload: [{{concurrency: 2, for: 2s}}]\n\
             warm_up: 100ms\n"
        ),
    );
}

fn compare(sandbox: &Sandbox) -> std::process::Output {
    finish(sandbox.stampede(&["compare", "plan.yaml", "--json"]), LIMIT)
}

fn json(output: &std::process::Output) -> Value {
    let text = stdout(output);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}\n{}", stderr(output)))
}

fn trial(sandbox: &Sandbox) -> Value {
    let trials = std::fs::read_dir(sandbox.run().join("trials")).expect("trials");
    let directory = trials.flatten().next().expect("a trial").path();
    let text = std::fs::read_to_string(directory.join("trial.json")).expect("trial.json");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_watched_process_has_figures_and_lives_on() {
    let shop = RecordingServer::tcp();
    let sandbox = Sandbox::new();
    plan(&sandbox, &format!("{{url: \"{}\", watch: {{pid: {}}}}}", shop.url(), std::process::id()));
    let output = compare(&sandbox);
    let summary = json(&output);
    let case = &summary["cases"][0];
    assert_eq!(case["provider"], "external", "{case:#}");
    assert!(case["counts"]["ok"].as_u64() > Some(10), "{case:#}");
    for figure in ["cpu_percent_median", "cpu_cost_us", "memory_bytes_max"] {
        assert_eq!(case[figure]["state"], "exact", "{figure}: {case:#}");
    }
    assert_eq!(case["first_answer_ns"]["state"], "none", "{case:#}");
    assert_eq!(case["not_comparable"][0]["code"], "already_running", "{case:#}");

    let record = trial(&sandbox);
    assert_eq!(record["isolation"]["accounting"], "proc", "{record:#}");
    assert_eq!(record["isolation"]["cpu_set"], "none", "{record:#}");
    assert_eq!(record["budget_unequal"], true, "{record:#}");
    let phases: Vec<&str> = record["phases"]
        .as_array()
        .expect("phases")
        .iter()
        .filter_map(|phase| phase["phase"].as_str())
        .collect();
    assert_eq!(phases, ["verify", "warm-up", "measure", "drain", "verify"]);
    assert!(!record["verdict"].to_string().contains("closed"), "{record:#}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
    shop.answers_still();
}

#[test]
fn without_watch_nothing_is_said_of_cpu_and_memory() {
    let shop = RecordingServer::unix();
    let sandbox = Sandbox::new();
    plan(&sandbox, &format!("{{url: \"{}:/shop/\"}}", shop.url()));
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    let text = stdout(&output);
    let why = code_or("already_running", "it was already running");
    assert!(text.contains(&format!("≠ external: not comparable: {why}")), "{text}");
    assert!(text.contains("external: it was not watched, so what it spent is not known"), "{text}");
    assert!(text.contains("unequal budget (external)"), "{text}");
    for path in shop.paths() {
        assert_eq!(path, "/shop/", "every request goes below the URL's path");
    }
    let run = sandbox.run().display().to_string();
    let why = code_or("already_running", "already running");
    for (format, part) in [("json", "\"provider\": \"external\""), ("csv", why)] {
        let again = finish(sandbox.stampede(&["report", &run, "--format", format]), LIMIT);
        assert!(stdout(&again).contains(part), "{format}: {}", stdout(&again));
    }
    let dash = text.lines().find(|line| line.starts_with("external") && line.contains('—'));
    assert!(dash.is_some(), "{text}");
}

#[test]
fn the_host_of_the_url_is_asked_for_unless_the_plan_names_another() {
    let shop = RecordingServer::tcp();
    let sandbox = Sandbox::new();
    plan(&sandbox, &format!("{{url: \"{}\"}}", shop.url()));
    compare(&sandbox);
    let own = shop.url().replace("http://", "");
    assert!(shop.hosts().iter().all(|host| *host == own), "{:?}", shop.hosts());

    let other = RecordingServer::tcp();
    let text = std::fs::read_to_string(sandbox.path().join("plan.yaml")).expect("the plan");
    let text = text.replace(&shop.url(), &other.url());
    let text = text.replace("for: 2s", "for: 1s, headers: {host: shop.example}");
    let sandbox = Sandbox::new();
    sandbox.write("plan.yaml", &text);
    compare(&sandbox);
    assert!(other.hosts().iter().any(|host| host == "shop.example"), "{:?}", other.hosts());
}

#[test]
fn a_server_that_closes_every_connection_is_told_of() {
    if !missing(&["php"]).is_empty() {
        println!("SKIPPED: not installed here: php");
        return;
    }
    let php = support::php();
    let sandbox = Sandbox::new();
    plan(&sandbox, &format!("{{url: \"{}\"}}", php.url));
    compare(&sandbox);
    let notes = trial(&sandbox)["verdict"]["notes"].to_string();
    assert!(notes.contains("\"connections_not_kept\""), "{notes}");
}

#[test]
fn what_is_watched_may_end_and_the_trial_says_so() {
    let shop = RecordingServer::tcp();
    let sandbox = Sandbox::new();
    let mut child = Command::new("sleep").arg("2").spawn().expect("sleep");
    plan(&sandbox, &format!("{{url: \"{}\", watch: {{pid: {}}}}}", shop.url(), child.id()));
    let output = compare(&sandbox);
    child.wait().expect("it ends by itself");
    if output.status.code() == Some(2) {
        // On a very busy machine the process may have ended before stampede looked.
        let why = code_or("no_process", "there is no process with pid");
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let reasons = trial(&sandbox)["verdict"]["reasons"].to_string();
    let ended = format!("what is watched, pid {}, ended during the trial", child.id());
    let ended = reasons.contains(code_or("watched_ended", &ended));
    let gone = code_or("no_process", "there is no process with pid");
    assert!(ended || reasons.contains(gone), "{reasons}");
}

#[test]
fn a_server_that_goes_away_makes_the_trial_invalid_and_nothing_hangs() {
    if !missing(&["php"]).is_empty() {
        println!("SKIPPED: not installed here: php");
        return;
    }
    let mut php = support::php();
    let sandbox = Sandbox::new();
    plan(&sandbox, &format!("{{url: \"{}\", watch: {{pid: {}}}}}", php.url, php.child.0.id()));
    let mut command = sandbox.stampede(&["compare", "plan.yaml", "--json"]);
    let started = Instant::now();
    let child = command.stdout(Stdio::piped()).spawn().expect("the binary starts");
    // Waits until the load runs: the server has then answered more requests than verification
    // sends.
    while php.answered() < 20 && started.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(20));
    }
    php.child.0.kill().expect("killed");
    php.child.0.wait().expect("reaped");
    let output = child.wait_with_output().expect("its output");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let record = trial(&sandbox);
    assert_eq!(record["verdict"]["judged"], "invalid", "{record:#}");
}

/// A directory with made-up programs, to come before PATH or to replace it.
fn programs(sandbox: &Sandbox, of: &[(&str, &str)]) -> PathBuf {
    let directory = sandbox.path().join("bin");
    std::fs::create_dir_all(&directory).expect("a directory");
    for (name, script) in of {
        sandbox.program(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}\n"));
    }
    directory
}

/// Output like that of `systemctl show -p …` (systemctl(1)).
fn unit(load: &str, active: &str, pid: u32, group: &str) -> String {
    format!(
        "printf 'MainPID={pid}\\nControlGroup={group}\\nLoadState={load}\\nActiveState={active}\\n'"
    )
}

#[test]
fn a_unit_is_watched_by_its_main_process_where_no_cgroup_is_its_own() {
    let shop = RecordingServer::tcp();
    let sandbox = Sandbox::new();
    let script = unit("loaded", "active", std::process::id(), "/system.slice/shop.service");
    // The unit's name must come as a separate argument after the options.
    let script = format!("case \"$*\" in show*\"-- shop.service\") ;; *) exit 1;; esac\n{script}");
    let directory = programs(&sandbox, &[("systemctl", &script)]);
    plan(&sandbox, &format!("{{url: \"{}\", watch: {{unit: shop.service}}}}", shop.url()));
    let mut command = sandbox.stampede(&["compare", "plan.yaml", "--json"]);
    command.env("PATH", directory);
    let output = finish(command, LIMIT);
    let summary = json(&output);
    assert_eq!(summary["cases"][0]["cpu_cost_us"]["state"], "exact", "{summary:#}");
    assert_eq!(trial(&sandbox)["runtime"]["settings"]["watch"], "unit shop.service");
}

#[test]
fn a_container_is_watched_by_its_first_process() {
    // A PID namespace of its own makes it count as a container here.
    let Ok(child) = Command::new("unshare").args(["-Urpf", "sleep", "60"]).spawn() else {
        println!("SKIPPED: no unshare here");
        return;
    };
    let child = KillOnDrop(child);
    let Some(init) = support::only_child(child.0.id()) else {
        println!("SKIPPED: no user namespaces here");
        return;
    };
    let shop = RecordingServer::tcp();
    let sandbox = Sandbox::new();
    let id = "4f1e9ac2b0d8".repeat(5);
    let podman = format!("echo true {init} {id}");
    let docker = "echo 'Error: No such container: shop' >&2; exit 1";
    let directory = programs(&sandbox, &[("docker", docker), ("podman", &podman)]);
    plan(&sandbox, &format!("{{url: \"{}\", watch: {{container: shop}}}}", shop.url()));
    let mut command = sandbox.stampede(&["compare", "plan.yaml", "--json"]);
    command.env("PATH", directory);
    let output = finish(command, LIMIT);
    let summary = json(&output);
    let case = &summary["cases"][0];
    assert_eq!(case["cpu_percent_median"]["state"], "exact", "{case:#}");
    let _ = rustix::process::kill_process(
        rustix::process::Pid::from_raw(i32::try_from(init).expect("a pid")).expect("a pid"),
        rustix::process::Signal::KILL,
    );
}

/// Each service of a compose project is a role, and both flags and plans name it alike.
#[test]
fn a_project_is_watched_by_the_first_process_of_each_container() {
    let start = || Command::new("unshare").args(["-Urpf", "sleep", "60"]).spawn();
    let (Ok(web), Ok(php)) = (start(), start()) else {
        println!("SKIPPED: no unshare here");
        return;
    };
    let (web, php) = (KillOnDrop(web), KillOnDrop(php));
    let (Some(web), Some(php)) = (support::only_child(web.0.id()), support::only_child(php.0.id()))
    else {
        println!("SKIPPED: no user namespaces here");
        return;
    };
    let shop = RecordingServer::tcp();
    let sandbox = Sandbox::new();
    let [first, second] = ["4f1e9ac2b0d8", "b2a190c3d4e5"].map(|id| id.repeat(5));
    let docker = format!(
        "case \"$*\" in\n\
         'ps --quiet --no-trunc --filter label=com.docker.compose.project=shop') printf '{second}\\n{first}\\n';;\n\
         inspect*' {second} {first}') printf 'true {php} {second} php\\ntrue {web} {first} web\\n';;\n\
         *) echo \"what: $*\" >&2; exit 1;; esac"
    );
    let directory = programs(&sandbox, &[("docker", &docker)]);
    plan(&sandbox, &format!("{{url: \"{}\", watch: project:shop}}", shop.url()));
    let mut command = sandbox.stampede(&["compare", "plan.yaml", "--json"]);
    command.env("PATH", &directory);
    let summary = json(&finish(command, LIMIT));
    let roles = summary["cases"][0]["roles"].as_object().expect("roles");
    assert_eq!(roles.keys().collect::<Vec<_>>(), ["php", "web"], "{summary:#}");
    assert_eq!(trial(&sandbox)["runtime"]["settings"]["watch"], "project shop");

    let flags =
        ["--rate", "20", "--for", "1s", "--watch", "project:shop", "--json", "--report", "run"];
    let mut command = sandbox.stampede(&[&["fire", &shop.url()][..], &flags].concat());
    command.env("PATH", &directory);
    let output = finish(command, LIMIT);
    let fired = json(&output);
    assert_eq!(fired["server"]["watched"], "project shop", "{}", stderr(&output));
    let mut trials = std::fs::read_dir(sandbox.path().join("run/trials")).expect("trials");
    let only = trials.next().expect("a trial").expect("its directory").path();
    let rows = std::fs::read_to_string(only.join("resources.ndjson")).expect("readings");
    assert!(rows.contains("\"web\"") && rows.contains("\"php\""), "{rows}");
    for init in [web, php] {
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_raw(i32::try_from(init).expect("a pid")).expect("a pid"),
            rustix::process::Signal::KILL,
        );
    }
}

/// Another machine is read as a whole. This `ssh` runs the command here.
#[test]
fn a_machine_is_watched_over_ssh() {
    let shop = RecordingServer::tcp();
    let sandbox = Sandbox::new();
    let ssh = "for last; do :; done; PATH=/usr/bin:/bin exec /bin/sh -c \"$last\"";
    let directory = programs(&sandbox, &[("ssh", ssh)]);
    plan(&sandbox, &format!("{{url: \"{}\", watch: {{ssh: deploy@shop1}}}}", shop.url()));
    let mut command = sandbox.stampede(&["compare", "plan.yaml", "--json"]);
    command.env("PATH", &directory);
    let summary = json(&finish(command, LIMIT));
    let case = &summary["cases"][0];
    assert_eq!(case["cpu_percent_median"]["state"], "exact", "{case:#}");
    let trial = trial(&sandbox);
    assert_eq!(trial["runtime"]["settings"]["watch"], "machine deploy@shop1");
    assert_eq!(trial["isolation"]["accounting"], "ssh");

    let refuses =
        programs(&sandbox, &[("ssh", "echo 'Permission denied (publickey).' >&2; exit 255")]);
    let mut command = sandbox.stampede(&["compare", "plan.yaml", "--out", "other"]);
    command.env("PATH", &refuses);
    let output = finish(command, LIMIT);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    let why = "machine `deploy@shop1` cannot be read: `ssh` says `Permission denied (publickey).`";
    assert!(said.contains(code_or("unreachable", why)), "{said}");
}

#[test]
fn what_is_not_there_is_said_in_the_plan_and_nothing_is_sent() {
    let shop = RecordingServer::tcp();
    let url = shop.url();
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let nobody = free.local_addr().expect("its address").to_string();
    drop(free);
    let us = std::process::id();
    let gone = "echo 'Error: No such container: shop' >&2; exit 1";
    let daemon = "echo 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?' >&2; exit 1";
    let unbooted = "echo 'System has not been booted with systemd as init system (PID 1). Can'\\''t operate.' >&2; exit 1";
    let of = |watch: &str| format!("{{url: \"{url}\", watch: {watch}}}");
    let stopped = format!("echo false 0 {}", "a".repeat(64));
    let elsewhere = format!("echo true {us} {}", "a".repeat(64));
    let no_unit = unit("not-found", "inactive", 0, "");
    let inactive = unit("loaded", "inactive", 0, "");
    let cases: &[(String, &[(&str, &str)])] = &[
        (format!("{{url: \"http://{nobody}/\"}}"), &[]),
        ("{url: \"unix:/nowhere/shop.sock\"}".to_owned(), &[]),
        (of("{pid: 4194304}"), &[]),
        (of("{container: shop}"), &[]),
        (of("{container: shop}"), &[("docker", gone), ("podman", gone)]),
        (of("{container: shop}"), &[("docker", daemon)]),
        (of("{container: shop}"), &[("docker", &stopped)]),
        (of("{container: shop}"), &[("docker", &elsewhere)]),
        (of("project:shop"), &[]),
        (of("project:shop"), &[("docker", "exit 0"), ("podman", daemon)]),
        (of("{unit: shop.service}"), &[]),
        (of("{unit: shop.service}"), &[("systemctl", &no_unit)]),
        (of("{unit: shop.service}"), &[("systemctl", &inactive)]),
        (of("{unit: shop.service}"), &[("systemctl", unbooted)]),
    ];
    let mut all = String::new();
    for (external, programs_of) in cases {
        let sandbox = Sandbox::new();
        let directory = programs(&sandbox, programs_of);
        plan(&sandbox, external);
        let mut command = sandbox.stampede(&["compare", "plan.yaml"]);
        command.env("PATH", directory);
        let output = finish(command, LIMIT);
        assert_eq!(output.status.code(), Some(2), "{external}: {}", stdout(&output));
        assert!(!sandbox.path().join("stampede-results").exists(), "{external}");
        all.push_str(&stderr(&output));
    }
    let shown = without_rules(&all)
        .replace(&nobody, "127.0.0.1:PORT")
        .replace(&url, "http://127.0.0.1:PORT")
        .replace(&format!("as pid {us},"), "as pid PID,");
    assert_words!(shown);
    assert_eq!(shop.paths(), Vec::<String>::new(), "connected to, and asked nothing");
}

/// Replaces underlining rules: they are as long as the marked text, which contains ports.
fn without_rules(text: &str) -> String {
    let line = |line: &str| match line.trim_start().starts_with('·') {
        true => "   · …\n".to_owned(),
        false => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn a_dry_run_says_what_would_be_sent_elsewhere() {
    let shop = RecordingServer::tcp();
    let sandbox = Sandbox::new();
    plan(&sandbox, &format!("{{url: \"{}\", watch: {{pid: 1}}}}", shop.url()));
    let output = finish(sandbox.stampede(&["compare", "plan.yaml", "--dry-run"]), LIMIT);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text.contains("external · hello · "), "{text}");
    assert!(!text.contains("which is not this machine"), "{text}");
    assert_eq!(shop.paths(), Vec::<String>::new());
}

#[test]
fn a_flag_names_it_by_its_url() {
    let shop = RecordingServer::tcp();
    let sandbox = Sandbox::new();
    let runtimes = format!("external:{}", shop.url());
    let load = ["--concurrency", "1", "--for", "1s", "--warm-up", "0s", "--json"];
    let compare = ["compare", "--app", "hello", "--runtimes", &runtimes];
    let output = finish(sandbox.stampede(&[&compare[..], &load[..]].concat()), LIMIT);
    let summary = json(&output);
    assert_eq!(summary["cases"][0]["runtime"], "external", "{summary:#}");
    assert_eq!(summary["cases"][0]["provider"], "external", "{summary:#}");

    let compare = ["compare", "--app", "hello", "--runtimes", "php-builtin,external:ftp://a"];
    let output = finish(sandbox.stampede(&[&compare[..], &load[..]].concat()), LIMIT);
    assert_eq!(output.status.code(), Some(2));
    assert_words!(stderr(&output));
}

#[test]
fn only_leaves_it_out_without_looking_for_it() {
    if !missing(&["php"]).is_empty() {
        println!("SKIPPED: not installed here: php");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write(
        "plan.yaml",
        "app: hello\nruntimes: [php-builtin, {external: {url: \"unix:/nowhere/a.sock\"}}]\n\
         load: [{concurrency: 1, for: 1s}]\n",
    );
    let args = ["compare", "plan.yaml", "--only", "php-builtin", "--dry-run"];
    let output = finish(sandbox.stampede(&args), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!stdout(&output).contains("external ·"), "{}", stdout(&output));
}
