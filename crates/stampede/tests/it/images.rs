//! Tests the image with runtimes: `docker run … compare --app /app`, where only Docker is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Sandbox, fact, finish, skipped, stderr, stdout, summary, trials};
use crate::containers_support::{Engine, FULL_IMAGE, IMAGE};

/// Builds `stampede:all` with some runtimes from the program under test.
fn build(engine: &Engine) {
    build_on(engine, IMAGE, "nginx-fpm,php-builtin");
}

/// The same on a base that has the packages already, so that no network is needed.
fn build_on(engine: &Engine, base: &str, runtimes: &str) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let output = Command::new(format!("{root}/scripts/build-images"))
        .args(["--network", "none", "--build-arg", &format!("DEBIAN={base}")])
        .args(["--build-arg", &format!("RUNTIMES={runtimes}"), "--build-arg", "PACKAGES="])
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

/// Makes the base of an image with all runtimes: the packages, and below the directory where stampede installs
/// to, RoadRunner, FrankenPHP and Swoole as far as they were built here. Returns the runtimes that it has.
fn make_base(engine: &Engine, sandbox: &Sandbox, name: &str) -> Vec<&'static str> {
    engine.make_full_image();
    let mut runtimes = vec!["nginx-fpm", "apache-modphp", "nginx-fcgi", "php-builtin", "uwsgi"];
    let place = sandbox.path().join("base");
    std::fs::create_dir_all(place.join("lib")).expect("a directory");
    for (runtime, need) in
        [("roadrunner", "rr"), ("frankenphp", "frankenphp"), ("swoole", "swoole_so")]
    {
        let Some(program) = built(sandbox, runtime, need) else {
            println!("NOT TRIED: {runtime} is not here");
            continue;
        };
        let from = program.parent().expect("a directory");
        let copied = Command::new("cp")
            .args([Path::new("-a"), from, &place.join("lib").join(need)])
            .status();
        assert!(copied.expect("cp").success());
        runtimes.push(runtime);
    }
    let text = format!("FROM {FULL_IMAGE}\nCOPY lib /usr/local/share/stampede/lib\n");
    std::fs::write(place.join("Dockerfile"), text).expect("a file");
    engine.words(&["build", "-q", "-t", name, &place.display().to_string()]);
    runtimes
}

/// The program of a runtime that stampede has built on this machine.
fn built(sandbox: &Sandbox, runtime: &str, need: &str) -> Option<PathBuf> {
    let output = finish(
        sandbox.stampede(&["up", runtime, "--php", "8.2", "--dry-run"]),
        Duration::from_secs(60),
    );
    let found: Value = serde_json::from_str(&stdout(&output)).ok()?;
    let path = found.pointer(&format!("/runtime/needs/{need}/path"))?.as_str()?;
    // The whole directory is copied.
    Some(path.into()).filter(|path: &PathBuf| !path.starts_with("/usr"))
}

/// What of `--privileged` a measurement needs.
const NEARLY_PRIVILEGED: [&str; 11] = [
    "--rm",
    "--cap-add",
    "SYS_ADMIN",
    "--cap-add",
    "SYS_PTRACE",
    "--security-opt",
    "seccomp=unconfined",
    "--security-opt",
    "apparmor=unconfined",
    "-v",
    "/sys/fs/cgroup:/sys/fs/cgroup",
];

/// With Docker alone and all that a container may do: each runtime of the image has the budget.
#[test]
#[ignore = "long: 40 s, containers"]
fn every_runtime_of_the_image_is_measured_within_one_budget() {
    let Some(engine) = Engine::start() else { return };
    let (sandbox, base) = (Sandbox::new(), "stampede-test/all-base:1");
    let runtimes = make_base(&engine, &sandbox, base);
    build_on(&engine, base, &runtimes.join(","));
    let compare = format!(
        "compare --app /app --runtimes {} --rate 50 --for 1s --warm-up 200ms --cpus 1 --memory 256MiB",
        runtimes.join(",")
    );
    let mounts = mounts(&sandbox);
    let hello = concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps/hello/.");
    let copied = Command::new("cp").args(["-r", hello]).arg(sandbox.path().join("app")).status();
    assert!(copied.expect("cp").success());
    let mut output = engine.docker(&run(&mounts, &["--rm", "--privileged"], &compare));
    if String::from_utf8_lossy(&output.stderr).contains("unable to apply caps") {
        // This machine itself lacks a capability. These are the ones that count.
        output = engine.docker(&run(&mounts, &NEARLY_PRIVILEGED, &compare));
    }
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{text}");
    let summary = summary(&sandbox);
    let cases = summary["cases"].as_array().expect("cases");
    let trials = trials(&sandbox);
    for runtime in &runtimes {
        // What was built here says so: `roadrunner (custom build)`.
        let is_its = |case: &Value| {
            case["runtime"].as_str().is_some_and(|name| name.split(' ').next() == Some(runtime))
        };
        let index = cases.iter().position(is_its).unwrap_or_else(|| panic!("{runtime}: {text}"));
        let trial = trials.iter().find(|trial| trial["case"] == index).expect("a trial");
        let (counts, isolation) = (&trial["load"]["counts"], &trial["isolation"]);
        assert!(counts["ok"].is_u64() && counts["ok"] == counts["planned"], "{runtime}: {text}");
        assert_eq!(isolation["memory_bytes"], 256 << 20, "{runtime}: {text}");
        assert_ne!(isolation["memory_limit"], "none", "{runtime}: {text}");
    }
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
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
