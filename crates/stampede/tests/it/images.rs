//! Tests the image with runtimes: `docker run … compare --app /app`, where only Docker is.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Sandbox, fact, finish, skipped, stderr, stdout, trials};
use crate::containers_support::{Engine, IMAGE};

/// Builds `stampede:all` from the program under test. Its base has the packages already, so that no
/// network is needed.
fn build(engine: &Engine) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let output = Command::new(format!("{root}/scripts/build-images"))
        .args(["--network", "none", "--build-arg", &format!("DEBIAN={IMAGE}")])
        .args(["--build-arg", "RUNTIMES=nginx-fpm,php-builtin", "--build-arg", "PACKAGES="])
        .env("STAMPEDE_BINARY", env!("CARGO_BIN_EXE_stampede"))
        .env("DOCKER_HOST", engine.host())
        .output()
        .expect("the script");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The arguments of `docker run`: an app that nobody may write to, and results in the sandbox.
fn run<'a>(mounts: &'a [String; 2], options: &[&'a str], stampede: &'a str) -> Vec<&'a str> {
    let place = ["run", "--network", "none", "-v", &mounts[0], "-v", &mounts[1]];
    let words = stampede.split(' ');
    place.into_iter().chain(options.iter().copied()).chain(["stampede:all"]).chain(words).collect()
}

fn mounts(sandbox: &Sandbox) -> [String; 2] {
    sandbox.write("app/index.php", "<?php echo 'hello';");
    let path = sandbox.path().display();
    [format!("{path}/app:/app:ro"), format!("{path}:/results")]
}

/// As in a container without CAP_SYS_PTRACE: servers of another user start and are measured.
#[test]
fn root_without_the_right_to_look_into_processes_measures_all_but_their_memory() {
    if skipped(&["setpriv", "php", "nginx", "php-fpm"]) || !rustix::process::geteuid().is_root() {
        println!("SKIPPED: needs root and setpriv");
        return;
    }
    let sandbox = Sandbox::new();
    let line =
        "compare --app hello --runtimes php-builtin,nginx-fpm --rate 50 --for 1s --warm-up 200ms";
    let stampede = sandbox.stampede(&line.split(' ').collect::<Vec<_>>());
    // Without groups, memory and processes are read from /proc. Newer kernels show memory to whoever
    // may profile.
    let hide = "mount -t tmpfs none /sys/fs/cgroup && exec setpriv \
                --bounding-set -sys_ptrace,-perfmon,-sys_admin \
                --inh-caps -sys_ptrace,-perfmon,-sys_admin \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", hide, "sh"]);
    command.arg(stampede.get_program()).args(stampede.get_args());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.current_dir(sandbox.path());
    command.envs(stampede.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = finish(command, Duration::from_secs(60));
    let text = stdout(&output) + &stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{text}");
    assert_measured_without_memory(&sandbox, true);
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}

/// # Panics
/// If a trial failed, or memory of two runtimes is shown although it is hidden.
fn assert_measured_without_memory(sandbox: &Sandbox, are_hidden: bool) {
    let trials = trials(sandbox);
    assert!(trials.len() >= 2);
    for trial in trials {
        let (counts, verdict) = (&trial["load"]["counts"], &trial["verdict"]);
        assert!(counts["ok"].is_u64() && counts["ok"] == counts["planned"], "{verdict:#}");
        let note = fact(&verdict["notes"], "processes_hidden");
        assert_eq!(!note.is_null(), are_hidden, "{verdict:#}");
    }
    for entry in std::fs::read_dir(sandbox.run().join("trials")).expect("trials").flatten() {
        let text = std::fs::read_to_string(entry.path().join("resources.ndjson")).expect("samples");
        let sample: Value =
            serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
        let of_php = &sample["roles"]["php"];
        let shown = of_php["memory_bytes"].as_u64().filter(|_| of_php["memory_read"] == true);
        assert_eq!(shown > Some(1_000_000), !are_hidden, "{sample:#}");
    }
}

/// Without further rights the figures that the kernel hides are absent, and not too small; with the
/// right to look into other users' processes they are there.
#[test]
#[ignore = "long: 30 s, containers"]
fn an_app_is_compared_where_only_docker_is() {
    let Some(engine) = Engine::start() else { return };
    build(&engine);
    let compare = "compare --app /app --runtimes nginx-fpm,php-builtin --rate 50 --for 1s \
                   --warm-up 200ms --memory 128MiB";
    for (options, are_hidden) in
        [(&["--rm"][..], true), (&["--rm", "--cap-add", "SYS_PTRACE"], false)]
    {
        let sandbox = Sandbox::new();
        let output = engine.docker(&run(&mounts(&sandbox), options, compare));
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{text}");
        assert_measured_without_memory(&sandbox, are_hidden);
        for trial in trials(&sandbox) {
            let notes = &trial["verdict"]["notes"];
            assert!(!fact(notes, "memory_limit_missing").is_null(), "{notes:#}");
        }
    }
}

/// Ctrl-C and `docker stop` reach stampede, which is the first process of the container.
#[test]
#[ignore = "long: 20 s, containers"]
fn what_was_measured_stays_when_the_container_is_stopped() {
    let Some(engine) = Engine::start() else { return };
    build(&engine);
    let compare =
        "compare --app /app --runtimes php-builtin --rate 50 --for 1s --warm-up 200ms --rounds 9";
    for stop in [&["kill", "-s", "INT"][..], &["stop"]] {
        let sandbox = Sandbox::new();
        let [container] = &engine.words(&run(&mounts(&sandbox), &["-d"], compare))[..] else {
            panic!("one container")
        };
        let begun = Instant::now();
        while !has_trial(&sandbox) {
            assert!(begun.elapsed() < Duration::from_secs(60), "no trial");
            std::thread::sleep(Duration::from_millis(50));
        }
        engine.words(&[stop, &[container]].concat());
        let code = engine.words(&["wait", container]);
        let logs = engine.docker(&["logs", container]);
        let text = String::from_utf8_lossy(&logs.stdout);
        assert_eq!(code, ["3"], "{text}");
        let summary = sandbox.run().join("summary.json");
        let summary: Value =
            serde_json::from_slice(&std::fs::read(summary).expect("a summary")).expect("JSON");
        assert!(!fact(&summary["notices"], "ended_early").is_null(), "{summary:#}");
        engine.words(&["rm", container]);
    }
}

fn has_trial(sandbox: &Sandbox) -> bool {
    sandbox.path().join("stampede-results").is_dir()
        && std::fs::read_dir(sandbox.run().join("trials"))
            .is_ok_and(|all| all.flatten().any(|trial| trial.path().join("trial.json").is_file()))
}
