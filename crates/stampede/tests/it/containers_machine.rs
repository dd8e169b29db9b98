//! Tests an engine in a virtual machine: stampede runs there itself. The machine is this one, and a stand-in for
//! Docker's client says that it is another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Sandbox, assert_measured, finish, stderr, stdout, summary, trials};
use crate::containers::compare;
use crate::containers_support::{Engine, unchanged, write_project};
use crate::words::CODES;

const LIMIT: Duration = Duration::from_secs(300);
/// How long a run that was killed may take to end.
const WITHIN: Duration = Duration::from_secs(60);

/// The client: its engine has another kernel, and a socket at the usual path of its own machine. `--privileged` is
/// what a container needs of it, as this machine may lack a capability itself.
const CLIENT: &str = r#"#!/bin/sh
real='REAL' socket='SOCKET'
case $1 in
info) "$real" "$@" | sed 's/"KernelVersion":"[^"]*"/"KernelVersion":"6.6.41-0-virt"/'; exit ;;
run) ;;
*) exec "$real" "$@" ;;
esac
left=$#
while [ "$left" -gt 0 ]; do
    arg=$1 left=$((left - 1))
    shift
    case $arg in
    --privileged) set -- "$@" --cap-add SYS_ADMIN --cap-add SYS_PTRACE --security-opt seccomp=unconfined \
        --security-opt apparmor=unconfined ;;
    /var/run/docker.sock:*) set -- "$@" "$socket:/var/run/docker.sock" ;;
    *) set -- "$@" "$arg" ;;
    esac
done
exec "$real" "$@"
"#;

/// Writes the client into the sandbox.
fn write_client(sandbox: &Sandbox, engine: &Engine) -> PathBuf {
    let bin = sandbox.path().join("bin");
    fs::create_dir(&bin).expect("a directory");
    let path = std::env::var_os("PATH").expect("PATH");
    let real = std::env::split_paths(&path).map(|place| place.join("docker"));
    let real = real.into_iter().find(|place| place.is_file()).expect("the client");
    let host = engine.host();
    let socket = host.strip_prefix("unix://").expect("a socket");
    let script = CLIENT.replace("REAL", &real.display().to_string()).replace("SOCKET", socket);
    stampede_testing::program::write_program(&bin.join("docker"), &script);
    bin
}

/// stampede outside of the machine.
fn outside(sandbox: &Sandbox, engine: &Engine, bin: &Path, more: &[&str]) -> Command {
    let args = [&compare(&["--compose", "shop/compose.yml"])[..], more].concat();
    let mut command = engine.stampede(sandbox, &args);
    let path = std::env::var("PATH").expect("PATH");
    command.env("PATH", format!("{}:{path}", bin.display())).env("GREETING", "from-the-shell");
    command
}

#[test]
#[ignore = "long: 80 s, containers"]
fn an_engine_in_a_virtual_machine_measures_by_a_stampede_in_its_machine() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    let bin = write_client(&sandbox, &engine);
    write_project(&sandbox, "shop", |name, text| match name {
        "compose.yml" => {
            text.replacen("environment:", "environment:\n      GREETING: \"${GREETING:-unset}\"", 1)
        }
        "pool.conf" => format!("{text}\nclear_env = no\n"),
        "public/index.php" => "<?php echo 'hello ', getenv('GREETING');".to_owned(),
        _ => unchanged(name, text),
    });
    // Without the image, the error says how to go on.
    let _ = engine.docker(&["image", "rm", "--force", "stampede:all"]);
    let refused = finish(outside(&sandbox, &engine, &bin, &[]), LIMIT);
    let text = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{text}");
    assert!(CODES || text.contains("stampede:all"), "{text}");
    if !engine.make_image_of_program() {
        return;
    }
    let output = finish(outside(&sandbox, &engine, &bin, &[]), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert!(CODES || text.contains("run in a virtual machine"), "{text}");
    assert!(CODES || text.contains("hello from-the-shell"), "variables of the shell: {text}");
    for trial in trials(&sandbox) {
        assert_eq!(trial["isolation"]["process_group"], "containers", "{trial:#}");
        let cpu_set = trial["isolation"]["cpu_set"].as_str().expect("a text");
        assert!(cpu_set.starts_with("cgroup"), "one budget: {trial:#}");
        let containers = trial["runtime"]["containers"].as_array().expect("containers");
        assert!(containers.iter().all(|one| one["proxied"].is_null()), "{containers:#?}");
    }
    assert!(summary(&sandbox)["cases"].is_array());
    assert_eq!(engine.left_behind(), [""; 0], "{text}");

    for signal in [Signal::INT, Signal::KILL] {
        ends_with_the_one_outside(&sandbox, &engine, &bin, signal);
    }
    what_a_killed_container_left_is_removed_at_the_next_start(&sandbox, &engine, &bin);
}

/// With the container go the keeper, before it can do anything, and its journal.
fn what_a_killed_container_left_is_removed_at_the_next_start(
    sandbox: &Sandbox,
    engine: &Engine,
    bin: &Path,
) {
    let mut child = measuring(sandbox, engine, bin, "killed");
    let begun = Instant::now();
    // The inner one, and both of the stack.
    while engine.words(&["ps", "-q"]).len() < 3 {
        assert!(begun.elapsed() < WITHIN, "no second trial");
        std::thread::sleep(Duration::from_millis(50));
    }
    let inner = engine.words(&["ps", "-q", "--filter", "ancestor=stampede:all"]);
    let main = engine.words(&["inspect", "--format", "{{.State.Pid}}", &inner[0]]);
    let all = with_descendants(main[0].parse().expect("a number"));
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in &all {
            let _ = kill_process(*pid, signal);
        }
    }
    child.wait().expect("a child");
    let left = engine.left_behind();
    assert!(left.iter().any(|one| one.starts_with("container-stampede")), "{left:?}");
    let again = finish(outside(sandbox, engine, bin, &["--out", "again", "--rounds", "1"]), LIMIT);
    assert_eq!(engine.left_behind(), [""; 0], "{}", stderr(&again));
}

/// A process and all that it started.
fn with_descendants(pid: i32) -> Vec<Pid> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let children = children.unwrap_or_default();
    let below = children.split_whitespace().filter_map(|child| child.parse().ok());
    Pid::from_raw(pid).into_iter().chain(below.flat_map(with_descendants)).collect()
}

/// A stampede that has measured a trial, and measures on.
fn measuring(sandbox: &Sandbox, engine: &Engine, bin: &Path, out: &str) -> Child {
    let mut command = outside(sandbox, engine, bin, &["--out", out, "--rounds", "9"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("it starts");
    let trials = sandbox.path().join(out).join("trials");
    let has_trial = || {
        let mut all = fs::read_dir(&trials).into_iter().flatten().flatten();
        all.any(|trial| trial.path().join("trial.json").exists())
    };
    let begun = Instant::now();
    while !has_trial() {
        assert!(begun.elapsed() < WITHIN, "no trial of {out}");
        std::thread::sleep(Duration::from_millis(50));
    }
    child
}

/// The inner stampede ends when the one outside does, and leaves nothing. What was measured stays.
fn ends_with_the_one_outside(sandbox: &Sandbox, engine: &Engine, bin: &Path, signal: Signal) {
    let out = format!("ended-by-{}", signal.as_raw());
    let mut child = measuring(sandbox, engine, bin, &out);
    kill_process(Pid::from_child(&child), signal).expect("a child");
    child.wait().expect("a child");
    let begun = Instant::now();
    let summary = sandbox.path().join(&out).join("summary.json");
    let has_ended = || summary.exists() && engine.words(&["ps", "-aq"]).is_empty();
    while !has_ended() {
        assert!(begun.elapsed() < WITHIN, "{out}: {:?}", engine.left_behind());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(engine.left_behind(), [""; 0], "{out}");
}
