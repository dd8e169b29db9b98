//! Tests Podman by its own client and podman-compose, where no program of Docker is found.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Signal, getrlimit};
use stampede_testing::program::write_program;

use crate::common::{Sandbox, assert_measured, finish, skipped, stderr, stdout, trials};
use crate::containers_support::{image_tar, write_project};
use crate::words::CODES;

const LIMIT: Duration = Duration::from_secs(300);
/// How long containers may take to start or to be gone.
const WITHIN: Duration = Duration::from_secs(40);

/// Podman with directories of its own, and a directory with every program but those of Docker.
struct Podman {
    directory: tempfile::TempDir,
    bin: PathBuf,
}

impl Podman {
    /// With the image of the tests; `None`: this machine cannot have it, as was printed.
    fn start() -> Option<Podman> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || skipped(&["podman", "podman-compose", "runc", "netavark"]) {
            println!("SKIPPED: this needs root, podman, podman-compose, runc and netavark");
            return None;
        }
        let tar = image_tar()?;
        // Far from the build's directory: Podman's names of layers are long.
        let directory = tempfile::Builder::new().prefix("stampede-podman-").tempdir();
        let directory = directory.expect("a directory");
        let bin = directory.path().join("bin");
        fs::create_dir(&bin).expect("a directory");
        let path = std::env::var_os("PATH").expect("a path");
        for program in std::env::split_paths(&path).filter_map(|place| fs::read_dir(place).ok()) {
            for program in program.flatten() {
                let name = program.file_name().to_string_lossy().into_owned();
                if !name.starts_with("docker") && name != "podman" {
                    // The first directory of the path wins.
                    let _ = std::os::unix::fs::symlink(program.path(), bin.join(name));
                }
            }
        }
        let mut podman = Podman { directory, bin };
        podman.write_client("overlay", &path.to_string_lossy());
        if !podman.run(&["info"]).status.success() {
            podman.write_client("vfs", &path.to_string_lossy());
        }
        let name = "docker.io/stampede-test/php:8.2";
        podman.words(&["import", "--change", "CMD [\"bash\"]", &tar.display().to_string(), name]);
        Some(podman)
    }

    fn write_client(&mut self, driver: &str, path: &str) {
        let at = |name: &str| self.directory.path().join(name).display().to_string();
        // Podman asks for more open files and processes than the machine of a test may allow.
        let most = getrlimit(Resource::Nofile).maximum.unwrap_or(65_536);
        let config = format!(
            "[containers]\ndefault_ulimits = [\"nofile={most}:{most}\", \"nproc=4096:4096\"]\n"
        );
        fs::write(at("containers.conf"), config).expect("a file");
        let script = format!(
            "#!/bin/sh\nPATH='{path}' CONTAINERS_CONF={} exec podman --cgroup-manager=cgroupfs --events-backend=none \
             --runtime=runc --root {} --runroot {} --tmpdir {} --storage-driver={driver} \
             --network-backend=netavark \"$@\"\n",
            at("containers.conf"),
            at("root"),
            at("runroot"),
            at("tmp")
        );
        write_program(&self.bin.join("podman"), &script);
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(self.bin.join("podman"));
        command.args(args).stdin(Stdio::null()).output().expect("the client")
    }

    fn words(&self, args: &[&str]) -> Vec<String> {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output).split_whitespace().map(str::to_owned).collect()
    }

    fn stampede(&self, sandbox: &Sandbox, args: &[&str]) -> Command {
        let mut command = sandbox.stampede(args);
        command.env("PATH", &self.bin).env_remove("DOCKER_HOST");
        command
    }

    /// Containers, networks and volumes, and groups of stacks that have had a container, after waiting for them to
    /// be gone.
    fn left_behind(&self, groups: &BTreeSet<PathBuf>) -> Vec<String> {
        let until = Instant::now() + WITHIN;
        loop {
            let mut left = self.words(&["ps", "-aq"]);
            left.extend(self.words(&["pod", "ls", "-q"]));
            left.extend(self.words(&["volume", "ls", "-q"]));
            let networks = self.words(&["network", "ls", "--format", "{{.Name}}"]);
            left.extend(networks.into_iter().filter(|name| name.starts_with("stampede")));
            let groups = groups.iter().filter(|group| group.exists());
            left.extend(groups.map(|group| group.display().to_string()));
            if left.is_empty() || Instant::now() > until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        self.run(&["rm", "-f", "-t", "0", "-a"]);
        // Podman mounts the directory of its layers on itself.
        let layers = self.directory.path().join("root/overlay");
        let _ = Command::new("umount").arg("-l").arg(layers).stderr(Stdio::null()).status();
    }
}

/// The project, with a service that prepares something and one that another one waits for.
fn with_waiting(name: &str, text: &str) -> String {
    let before = "  ready:\n    image: stampede-test/php:8.2\n    command: sh -c 'sleep 1; touch /tmp/ready; exec sleep 600'\n    \
                  healthcheck: {test: [CMD, test, -e, /tmp/ready], interval: 1s}\n  \
                  prepare:\n    image: stampede-test/php:8.2\n    command: sh -c 'sleep 1; echo $$TEXT >/shared/text'\n    \
                  environment: {TEXT: \"${TEXT:-prepared}\"}\n    volumes: [\"data:/shared\"]\n";
    match name {
        "compose.yml" => {
            let waits = "depends_on: {php: {condition: service_started}, ready: {condition: service_healthy}, \
                         prepare: {condition: service_completed_successfully}}";
            let text = text.replace("depends_on:\n      - php", waits);
            let text = text.replace("  php:\n", "  php:\n    volumes: [\"data:/shared:ro\"]\n");
            format!("{text}\n{before}volumes: {{data: }}\n")
        }
        "public/index.php" => format!("{text}\necho file_get_contents('/shared/text');"),
        _ => text.to_owned(),
    }
}

/// A project and a runtime of images, each within one budget; nothing is left of them.
#[test]
#[ignore = "long: 1 min, containers"]
fn projects_and_images_are_measured_without_a_program_of_docker() {
    let Some(podman) = Podman::start() else { return };
    for name in ["nginx:1", "php:8.2-fpm"] {
        podman.words(&["tag", "stampede-test/php:8.2", name]);
    }
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", with_waiting);
    sandbox.write("app/index.php", "<?php echo 'hello';");
    sandbox.write(
        "plan.yaml",
        "app: ./app\nphp: 8.2\nbudget: {cpus: 1, memory: 512MiB}\nwarm_up: 500ms\nload: {peak: {concurrency: 2, for: 1s}}\n\
         runtimes: [{shop: {compose: shop/compose.yml}}, {images: {use: nginx-fpm, images: official}}]\n",
    );
    let output =
        finish(podman.stampede(&sandbox, &["compare", "plan.yaml", "--rounds", "1"]), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    // What the service that is waited for has written.
    assert!(CODES || text.contains("price 5$ prepared"), "{text}");
    let has_containers = |trial: &serde_json::Value| {
        trial["runtime"]["containers"].as_array().is_some_and(|all| !all.is_empty())
    };
    let started: Vec<_> = trials(&sandbox).into_iter().filter(has_containers).collect();
    assert!(started.len() >= 2, "{text}");
    let tools: Vec<&serde_json::Value> =
        started.iter().map(|trial| &trial["runtime"]["versions"]["compose"]).collect();
    let is_tool = |tool: &&serde_json::Value| {
        tool.as_str().is_some_and(|tool| tool.starts_with("podman-compose version"))
    };
    assert!(tools.iter().any(is_tool), "{tools:?}");
    for trial in started {
        assert_eq!(trial["isolation"]["memory_bytes"], 512 << 20, "{trial:#}");
        for container in trial["runtime"]["containers"].as_array().expect("containers") {
            // A service that has prepared something has ended.
            let is_held = container["memory_limit_bytes"] == 512 << 20;
            assert!(is_held || container["service"] == "prepare", "{container:#}");
        }
    }
    assert_eq!(podman.left_behind(&BTreeSet::new()), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}

/// The group of a stack's budget that a process is in; `None`: it is in none.
fn group_of(pid: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    // Of version 1 the hierarchy with memory, else that of version 2.
    let memory = |line: &&str| line.split(':').nth(1).is_some_and(|all| all.contains("memory"));
    let line = text.lines().find(memory).or(text.lines().find(|line| line.starts_with("0::")))?;
    let path = Path::new(line.splitn(3, ':').nth(2)?);
    let is_of_stack = |part: &Path| {
        part.file_name().is_some_and(|name| name.to_string_lossy().starts_with("stampede-"))
    };
    let group = path.ancestors().find(|part| is_of_stack(part))?;
    let below = group.strip_prefix("/").expect("an absolute path");
    let tops = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"].map(|top| Path::new(top).join(below));
    tops.into_iter().find(|group| group.exists())
}

/// All containers of a project are in one group, and nothing is left of it where stampede is killed.
#[test]
#[ignore = "long: 1 min, containers"]
fn one_group_holds_all_services_of_podman_compose_and_a_kill_leaves_nothing() {
    let Some(podman) = Podman::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", with_waiting);
    let all = ["compare", "--compose", "shop/compose.yml", "--cpus", "1", "--memory", "512MiB"];
    let load = ["-c", "2", "--for", "60s", "--warm-up", "500ms", "--rounds", "1"];
    let run = |out: &str| {
        let args = [&all[..], &load, &["--out", out]].concat();
        podman.stampede(&sandbox, &args).stdout(Stdio::null()).spawn().expect("it starts")
    };
    let mut child = run("out");
    let begun = Instant::now();
    let format = "{{.State.Pid}}";
    let groups: BTreeSet<PathBuf> = loop {
        let ids = podman.words(&["ps", "-q", "--filter", "label=com.docker.compose.service"]);
        if ids.len() == 3 {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let pids = podman.words(&[&["inspect", "--format", format][..], &ids].concat());
            let groups: Vec<PathBuf> = pids.iter().filter_map(|pid| group_of(pid)).collect();
            assert_eq!(groups.len(), 3, "{pids:?}");
            break groups.into_iter().collect();
        }
        assert!(begun.elapsed() < WITHIN * 2, "no three containers run: {ids:?}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(groups.len(), 1, "{groups:?}");
    let group = groups.first().expect("one");
    let limit =
        ["memory.limit_in_bytes", "memory.max"].map(|file| fs::read_to_string(group.join(file)));
    let limit = limit.into_iter().flatten().next().expect("a limit");
    assert_eq!(limit.trim(), (512 << 20).to_string());
    rustix::process::kill_process(Pid::from_child(&child), Signal::KILL).expect("it runs");
    child.wait().expect("it ends");
    assert_eq!(podman.left_behind(&groups), [""; 0]);
    assert_eq!(sandbox.left_behind(), [""; 0]);
    // While podman-compose and Podman are at work.
    for after in [1_500, fastrand::u64(500..5_000)] {
        let mut child = run(&format!("out-{after}"));
        std::thread::sleep(Duration::from_millis(after));
        rustix::process::kill_process(Pid::from_child(&child), Signal::KILL).expect("it runs");
        child.wait().expect("it ends");
        assert_eq!(sandbox.left_behind(), [""; 0], "after {after} ms");
        assert_eq!(podman.left_behind(&BTreeSet::new()), [""; 0], "after {after} ms");
    }
}
