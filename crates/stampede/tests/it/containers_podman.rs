//! Tests Podman, which answers Docker's client and compose tools at a socket of its own.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Signal, getrlimit};

use crate::common::{Sandbox, assert_measured, finish, skipped, stderr, stdout, trials};
use crate::containers_support::{end_with_us, image_tar, unchanged, write_project};

const LIMIT: Duration = Duration::from_secs(300);
/// How long Podman may take to answer.
const WITHIN: Duration = Duration::from_secs(30);

/// Podman's service with directories of its own. It ends with this value.
struct Podman {
    directory: tempfile::TempDir,
    service: Child,
}

impl Podman {
    /// `None`: this machine cannot have it, as was printed.
    fn start() -> Option<Podman> {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root || skipped(&["podman", "runc", "docker-compose"]) {
            println!("SKIPPED: Podman's service needs root, podman, runc and a compose tool");
            return None;
        }
        // Far from the build's directory: Podman's names of layers are long.
        let directory = tempfile::Builder::new().prefix("stampede-podman-").tempdir();
        let directory = directory.expect("a directory");
        // Podman asks for more open files and processes than the machine of a test may allow.
        let most = getrlimit(Resource::Nofile).maximum.unwrap_or(65_536);
        let config = format!(
            "[containers]\ndefault_ulimits = [\"nofile={most}:{most}\", \"nproc=4096:4096\"]\n"
        );
        let config_file = directory.path().join("containers.conf");
        fs::write(&config_file, config).expect("a file");
        let log = File::create(directory.path().join("log")).expect("a log");
        let at = |name: &str| directory.path().join(name).display().to_string();
        let mut command = Command::new("podman");
        command
            .args(["--cgroup-manager=cgroupfs", "--events-backend=none", "--runtime=runc"])
            .args(["--root", &at("root"), "--runroot", &at("runroot"), "--tmpdir", &at("tmp")])
            .args(["--storage-driver=vfs", "--network-backend=netavark"])
            .args(["system", "service", "--time=0", &format!("unix://{}", at("podman.sock"))])
            .env("CONTAINERS_CONF", config_file)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log);
        end_with_us(&mut command);
        let podman = Podman { service: command.spawn().expect("the service"), directory };
        let begun = Instant::now();
        while !podman.client(&["version"]).status.success() {
            assert!(begun.elapsed() < WITHIN, "Podman does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(podman)
    }

    fn host(&self) -> String {
        format!("unix://{}", self.directory.path().join("podman.sock").display())
    }

    fn client(&self, args: &[&str]) -> std::process::Output {
        let mut command = Command::new("docker");
        command.args(args).env("DOCKER_HOST", self.host()).stdin(Stdio::null());
        command.output().expect("the client")
    }

    fn words(&self, args: &[&str]) -> Vec<String> {
        let output = self.client(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output).split_whitespace().map(str::to_owned).collect()
    }

    fn import(&self, tar: &Path, name: &str) {
        self.words(&["import", "--change", "CMD [\"bash\"]", &tar.display().to_string(), name]);
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(Pid::from_child(&self.service), Signal::TERM);
        let _ = self.service.wait();
    }
}

/// A project and a runtime of images, each within one budget; nothing is left of them.
#[test]
#[ignore = "long: 2 min, containers"]
fn projects_and_images_are_measured_by_podman() {
    let Some(tar) = image_tar() else { return };
    let Some(podman) = Podman::start() else { return };
    podman.import(&tar, "docker.io/stampede-test/php:8.2");
    for name in ["nginx:1", "php:8.2-fpm"] {
        podman.words(&["tag", "stampede-test/php:8.2", name]);
    }
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", unchanged);
    sandbox.write("app/index.php", "<?php echo 'hello';");
    sandbox.write(
        "plan.yaml",
        "app: ./app\nphp: 8.2\nbudget: {cpus: 1, memory: 512MiB}\nwarm_up: 500ms\nload: {peak: {concurrency: 2, for: 1s}}\n\
         runtimes: [{shop: {compose: shop/compose.yml}}, {images: {use: nginx-fpm, images: official}}]\n",
    );
    let mut command = sandbox.stampede(&["compare", "plan.yaml"]);
    command.env("DOCKER_HOST", podman.host());
    let output = finish(command, LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert!(text.contains("by Podman 4") || text.contains("by Podman 5"), "{text}");
    // One that did not start is measured again, and has no containers.
    let has_containers = |trial: &serde_json::Value| {
        trial["runtime"]["containers"].as_array().is_some_and(|all| !all.is_empty())
    };
    let started: Vec<_> = trials(&sandbox).into_iter().filter(has_containers).collect();
    assert!(started.len() >= 2, "{text}");
    for trial in started {
        let memory = &trial["isolation"]["memory_bytes"];
        assert_eq!(memory, 512 << 20, "{trial:#}");
        for container in trial["runtime"]["containers"].as_array().expect("containers") {
            assert_eq!(container["memory_limit_bytes"], 512 << 20, "{container:#}");
        }
    }
    assert_eq!(podman.words(&["ps", "-aq"]), [""; 0], "{text}");
    let networks = podman.words(&["network", "ls", "--format", "{{.Name}}"]);
    assert!(!networks.iter().any(|name| name.starts_with("stampede")), "{networks:?}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}
