//! Tests projects that an ordinary user measures: with an engine of root's, and with a rootless one.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::common::{Sandbox, assert_measured, finish, skipped, stderr, stdout, trials};
use crate::containers::compare;
use crate::containers_support::{Engine, IMAGE, end_with_us, image_tar, write_project};
use crate::words::CODES;

const LIMIT: Duration = Duration::from_secs(300);
/// How long an engine may take to answer, and a killed run to be tidied up.
const WITHIN: Duration = Duration::from_secs(60);
/// The user who measures.
const USER: u32 = 54_321;
/// The first of the users that a rootless engine has for its containers, and `www-data` among them: the
/// container's root is the user itself.
const FIRST_BELOW: u32 = 200_000;
const WWW_DATA: u32 = 33;
/// What the project's page says: PHP runs as `www-data`, reads what only that user may, and writes what its
/// group may.
const PAGE: &str = "<?php echo 'owner ', fileowner('/data/deep'), ', ', file_get_contents('/data/deep/f'), ', ', \
                    is_writable('/data/group') ? 'writable' : 'closed';";

/// A rootless engine. It ends with this value.
struct Rootless {
    directory: tempfile::TempDir,
    daemon: Child,
}

/// Gives the user other users for containers and a network device, and becomes the user. `$1`: the engine's
/// directory, `$2`: the engine's program.
const AS_USER: &str = "set -e; d=$1 dockerd=$2
printf 'root:x:0:0::/root:/bin/sh\\nmeasurer:x:USER:USER::/tmp:/bin/sh\\n' >\"$d/passwd\"
printf 'root:x:0:\\nmeasurer:x:USER:\\n' >\"$d/group\"
echo measurer:FIRST:65536 | tee \"$d/subuid\" >\"$d/subgid\"
for file in passwd group subuid subgid; do
    touch \"/etc/$file\"
    mount --bind \"$d/$file\" \"/etc/$file\"
done
mknod \"$d/tun\" c 10 200; chmod 666 \"$d/tun\"; mount --bind \"$d/tun\" /dev/net/tun
export HOME=\"$d\" XDG_RUNTIME_DIR=\"$d\"
exec setpriv --reuid USER --regid USER --clear-groups \"$dockerd\" --data-root \"$d/data\" --pidfile \"$d/pid\"";

impl Rootless {
    /// `None`: this machine cannot have it, as was printed.
    fn start() -> Option<Rootless> {
        let needs = ["rootlesskit", "slirp4netns", "newuidmap", "setpriv", "docker-compose"];
        let places = ["/usr/share/docker.io/contrib", "/usr/bin", "/usr/local/bin"];
        let programs = places.map(|place| Path::new(place).join("dockerd-rootless.sh"));
        let program = programs.iter().find(|path| path.is_file());
        let Some(program) = program.filter(|_| rustix::process::geteuid().is_root()) else {
            println!("SKIPPED: a rootless engine of our own needs root and dockerd-rootless.sh");
            return None;
        };
        if skipped(&needs) {
            return None;
        }
        let directory = tempfile::Builder::new().prefix("stampede-rootless-").tempdir();
        let directory = directory.expect("a directory");
        chown(directory.path(), Some(USER), Some(USER)).expect("given");
        let log = File::create(directory.path().join("log")).expect("a log");
        let script =
            AS_USER.replace("FIRST", &FIRST_BELOW.to_string()).replace("USER", &USER.to_string());
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"]);
        command.arg(directory.path()).arg(program).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        end_with_us(&mut command);
        let daemon = command.spawn().expect("the engine");
        let mut engine = Rootless { directory, daemon };
        let begun = Instant::now();
        while !engine.client(&["version"]).status.success() {
            let ended = engine.daemon.try_wait().expect("a child");
            let log = fs::read_to_string(engine.directory.path().join("log")).unwrap_or_default();
            if ended.is_some() && ["mknod", "mount", "tun"].iter().any(|one| log.contains(one)) {
                println!("SKIPPED: this machine allows no rootless engine: {log}");
                return None;
            }
            assert!(ended.is_none() && begun.elapsed() < WITHIN, "{log}");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(engine)
    }

    fn host(&self) -> String {
        format!("unix://{}", self.directory.path().join("docker.sock").display())
    }

    fn client(&self, args: &[&str]) -> Output {
        let mut command = Command::new("docker");
        command.args(args).env("DOCKER_HOST", self.host()).stdin(Stdio::null());
        command.output().expect("the client")
    }
}

impl Drop for Rootless {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(Pid::from_child(&self.daemon), Signal::TERM);
        let _ = self.daemon.wait();
    }
}

/// A project that reads what belongs to another user, and writes as two other users. `below`: how many
/// a user of its containers is on this machine.
fn sandbox(below: u32) -> Sandbox {
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", |name, text| {
        match name {
        "compose.yml" => text.replacen(
            "command: [\"php-fpm8.2\", \"--nodaemonize\", \"--force-stderr\"]",
            "command: [sh, -c, \"echo x >/data/own && mkdir -p /data/later && chown www-data /data/later && chmod 700 \
             /data/later && mkdir /data/closed && touch /data/closed/f && chmod 555 /data/closed && touch /cache/x && exec php-fpm8.2 --nodaemonize --force-stderr\"]\n    \
             volumes: [\"../linked:/data\", \"cache:/cache\"]",
            1,
        ) + "volumes: {cache: {}}\n",
        "public/index.php" => PAGE.to_owned(),
        _ => text.to_owned(),
    }
    });
    sandbox.write("data/deep/f", "read");
    fs::create_dir(sandbox.path().join("data/group")).expect("a directory");
    symlink("data", sandbox.path().join("linked")).expect("a link");
    give(sandbox.path(), USER);
    let group = sandbox.path().join("data/group");
    chown(&group, Some(USER), Some(below + WWW_DATA)).expect("given");
    fs::set_permissions(&group, fs::Permissions::from_mode(0o2775)).expect("a mode");
    let deep = sandbox.path().join("data/deep");
    give(&deep, below + WWW_DATA);
    fs::set_permissions(&deep, fs::Permissions::from_mode(0o700)).expect("a mode");
    sandbox
}

/// Gives a directory with all that is in it to a user.
fn give(path: &Path, user: u32) {
    chown(path, Some(user), Some(user)).expect("given");
    let below = path.is_dir().then(|| fs::read_dir(path).expect("a directory").flatten());
    below.into_iter().flatten().for_each(|entry| give(&entry.path(), user));
}

/// stampede as the user.
fn as_user(sandbox: &Sandbox, host: &str, more: &[&str]) -> Command {
    let args = compare(&["--compose", "shop/compose.yml"]);
    let stampede = sandbox.stampede(&[&args[..], more].concat());
    let mut command = Command::new("setpriv");
    let user = USER.to_string();
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.arg(stampede.get_program()).args(stampede.get_args());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.current_dir(sandbox.path());
    command.envs(stampede.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("DOCKER_HOST", host).env("HOME", sandbox.path());
    command
}

/// The project is measured, in its own copy of the data, and nothing of it is left, also if stampede is
/// killed.
fn assert_measured_as_user(sandbox: &Sandbox, host: &str) -> String {
    let output = finish(as_user(sandbox, host, &[]), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(sandbox, &output);
    assert!(CODES || text.contains("owner 33, read, writable"), "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
    assert!(!sandbox.path().join("data/own").exists(), "it wrote to its copy");

    let mut killed = as_user(sandbox, host, &["--out", "killed", "--rounds", "9"]);
    let mut child = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let begun = Instant::now();
    while !written_copy(&sandbox.tmp()).is_some_and(|copy| copy.join("own").exists()) {
        assert!(begun.elapsed() < WITHIN, "no container wrote to the copy");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("killed");
    child.wait().expect("a child");
    let begun = Instant::now();
    while !sandbox.left_behind().is_empty() && begun.elapsed() < WITHIN {}
    assert_eq!(sandbox.left_behind(), [""; 0], "after SIGKILL");
    text
}

/// The copy of the project's data in a stack's directory.
fn written_copy(tmp: &Path) -> Option<PathBuf> {
    let stacks = fs::read_dir(tmp).ok()?.flatten().map(|entry| entry.path().join("mount-0"));
    stacks.into_iter().find(|copy| copy.is_dir())
}

#[test]
#[ignore = "long: 15 s, containers"]
fn a_user_who_may_use_the_engine_measures_and_leaves_nothing() {
    if skipped(&["setpriv"]) {
        return;
    }
    let Some(engine) = Engine::start() else { return };
    engine.let_everybody_in();
    let sandbox = sandbox(0);
    assert_measured_as_user(&sandbox, &engine.host());
    assert_eq!(engine.left_behind(), [""; 0]);
}

#[test]
#[ignore = "long: 20 s, containers"]
fn an_engine_without_root_measures_and_says_what_it_does_not_limit() {
    let Some(tar) = image_tar() else { return };
    let Some(engine) = Rootless::start() else { return };
    let imported = engine.client(&["import", &tar.display().to_string(), IMAGE]);
    assert!(imported.status.success(), "{}", stderr(&imported));
    let sandbox = sandbox(FIRST_BELOW - 1);
    let text = assert_measured_as_user(&sandbox, &engine.host());
    assert!(CODES || text.contains("proxy on 127.0.0.1"), "{text}");
    for trial in trials(&sandbox) {
        let containers = trial["runtime"]["containers"].as_array().expect("containers");
        assert!(containers.iter().any(|one| one["proxied"] == true), "{containers:#?}");
        // Either the engine has limits for each service, or CPUs are all that can be held.
        let (by, memory) = (&trial["isolation"]["cpu_set"], &trial["isolation"]["memory_bytes"]);
        assert!(by == "per-service" || by == "affinity" && memory == 0, "{}", trial["isolation"]);
        let asked = trial["isolation"]["cpus"][0].to_string();
        assert!(containers.iter().all(|one| one["cpus_allowed"] == asked), "{containers:#?}");
    }
    let left = engine.client(&["ps", "-aq"]);
    assert_eq!(stdout(&left), "");
    let volumes = stdout(&engine.client(&["volume", "ls", "-q"]));
    assert!(!volumes.contains("stampede"), "{volumes}");
}

/// Files of `www-data` belong to a user of this machine that no image can have, and only containers may read them.
#[test]
#[ignore = "long: 20 s, containers"]
fn an_engine_without_root_gets_mounted_code_into_an_image_with_its_owners() {
    let Some(tar) = image_tar() else { return };
    let Some(engine) = Rootless::start() else { return };
    let imported = engine.client(&["import", &tar.display().to_string(), IMAGE]);
    assert!(imported.status.success(), "{}", stderr(&imported));
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", |name, text| match name {
        "compose.yml" => text
            .replace(
                "    container_name",
                "    volumes: [\"../code:/app/public\"]\n    container_name",
            )
            .replace("    environment", "    volumes: [\"../code:/app/public\"]\n    environment"),
        _ => text.to_owned(),
    });
    sandbox.write(
        "code/index.php",
        "<?php echo 'owners ', fileowner(__FILE__), ' ', fileowner(__DIR__ . '/own'), ' ', file_get_contents(__DIR__ . \
         '/own/f');",
    );
    sandbox.write("code/own/f", "read");
    give(sandbox.path(), USER);
    let own = sandbox.path().join("code/own");
    give(&own, FIRST_BELOW - 1 + WWW_DATA);
    fs::set_permissions(&own, fs::Permissions::from_mode(0o700)).expect("a mode");
    let output = finish(as_user(&sandbox, &engine.host(), &["--code", "image"]), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert!(CODES || text.contains("owners 0 33 read"), "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
    assert_eq!(stdout(&engine.client(&["ps", "-aq"])), "", "{text}");
}

/// A route of this machine that one user may not take. It is removed with this value; only a test that has the
/// engine may have one.
struct Forbidden;

impl Forbidden {
    const TO: &str = "10.214.7.0/24";

    /// Whether `ip rule` did it. It adds a second rule beside an equal one, and removes one of them.
    fn rule(verb: &str) -> bool {
        let user = format!("{USER}-{USER}");
        let mut command = Command::new("ip");
        command.args(["rule", verb, "to", Forbidden::TO, "uidrange", &user, "prohibit"]);
        command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    /// Removes what a test that was killed has left: it would forbid the route from the start.
    fn remove_all() {
        // Some other failure than "no such rule" ends this, too.
        (0..100).take_while(|_| Forbidden::rule("del")).for_each(drop);
    }

    /// `None`: this machine has no such rules.
    fn new() -> Option<Forbidden> {
        Forbidden::remove_all();
        Forbidden::rule("add").then(|| Forbidden)
    }
}

impl Drop for Forbidden {
    fn drop(&mut self) {
        Forbidden::remove_all();
    }
}

/// The project, whose server has an address of its own choice.
fn with_address(name: &str, text: &str) -> String {
    let own = "networks: {default: {ipv4_address: 10.214.7.9}}\n    ports:";
    let networks =
        format!("networks: {{default: {{ipam: {{config: [{{subnet: {}}}]}}}}}}\n", Forbidden::TO);
    match name {
        "compose.yml" => text.replacen("ports:", own, 1) + &networks,
        _ => text.to_owned(),
    }
}

#[test]
#[ignore = "long: 15 s, containers"]
fn a_container_that_is_not_reached_is_measured_at_a_published_port() {
    if skipped(&["setpriv", "ip"]) {
        return;
    }
    let Some(engine) = Engine::start() else { return };
    engine.let_everybody_in();
    let Some(forbidden) = Forbidden::new() else {
        println!("SKIPPED: this machine has no rules for routes");
        return;
    };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", with_address);
    give(sandbox.path(), USER);
    let output = finish(as_user(&sandbox, &engine.host(), &[]), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    let said = text.matches("is not reached at 10.214.7.9").count();
    assert!(CODES || said == 1, "{said}: {text}");
    for trial in trials(&sandbox) {
        let proxied = |one: &&serde_json::Value| one["proxied"] == true;
        let containers = trial["runtime"]["containers"].as_array().expect("containers");
        let proxied: Vec<_> = containers.iter().filter(proxied).collect();
        assert!(proxied.len() == 1 && proxied[0]["service"] == "web", "{containers:#?}");
        assert_eq!(trial["runtime"]["settings"]["way_in"], "published_port");
    }
    drop(forbidden);
    assert_eq!(engine.left_behind(), [""; 0]);
}

/// The later trials of a row were sent to a port of 127.0.0.1, and the earlier ones to the container.
#[test]
#[ignore = "long: 40 s, containers"]
fn a_container_that_is_reached_no_more_is_an_error_of_its_trial() {
    if skipped(&["setpriv", "ip"]) {
        return;
    }
    let Some(engine) = Engine::start() else { return };
    engine.let_everybody_in();
    if Forbidden::new().is_none() {
        println!("SKIPPED: this machine has no rules for routes");
        return;
    }
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", with_address);
    give(sandbox.path(), USER);
    let child = as_user(&sandbox, &engine.host(), &["--rounds", "3"]).spawn().expect("it starts");
    let results = sandbox.path().join("stampede-results");
    let has_trial = || {
        let runs = fs::read_dir(&results).into_iter().flatten().flatten();
        let trials = runs.filter_map(|run| fs::read_dir(run.path().join("trials")).ok()).flatten();
        trials.flatten().any(|trial| trial.path().join("trial.json").exists())
    };
    let begun = Instant::now();
    while !has_trial() {
        assert!(begun.elapsed() < LIMIT, "no trial ends");
        std::thread::sleep(Duration::from_millis(20));
    }
    let forbidden = Forbidden::new();
    let output = child.wait_with_output().expect("it ends");
    drop(forbidden);
    let text = stdout(&output) + &stderr(&output);
    let trials = trials(&sandbox);
    let has_started = |trial: &&serde_json::Value| {
        trial["runtime"]["containers"].as_array().is_some_and(|all| !all.is_empty())
    };
    let started: Vec<_> = trials.iter().filter(has_started).collect();
    assert!(!started.is_empty() && started.len() < trials.len(), "{text}");
    for trial in started {
        assert!(trial["runtime"]["settings"]["way_in"].is_null(), "{trial:#}");
    }
    assert!(CODES || text.contains("is not reached at 10.214.7.9"), "{text}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
}

#[test]
#[ignore = "long: 10 s, containers"]
fn a_container_that_is_not_reached_in_any_way_is_an_error() {
    if skipped(&["unshare"]) {
        return;
    }
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", with_address);
    let stampede = sandbox.stampede(&compare(&["--compose", "shop/compose.yml"]));
    let mut command = Command::new("unshare");
    // The loopback device of another network is another one.
    command.args(["--net", "sh", "-c", "ip link set lo up && exec \"$0\" \"$@\""]);
    command.arg(stampede.get_program()).args(stampede.get_args());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.current_dir(sandbox.path());
    command.envs(stampede.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("DOCKER_HOST", engine.host());
    let output = finish(command, LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert!(!output.status.success(), "{text}");
    assert!(CODES || text.contains("10.214.7.9, which is in no network of this machine"), "{text}");
    assert_eq!(engine.left_behind(), [""; 0]);
}
