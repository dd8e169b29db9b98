//! Podman for a test alone: it has directories of its own, and so its own containers and networks.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Signal, getrlimit};
use stampede_testing::program::write_program;

use crate::common::{Sandbox, skipped, stderr, stdout};
use crate::containers_support::{end_with_us, image_tar};

/// How long Podman may take to answer, and containers to start or to be gone.
pub const WITHIN: Duration = Duration::from_secs(40);

/// Podman with directories of its own, and a directory with every program but those of Docker.
pub struct Podman {
    directory: tempfile::TempDir,
    bin: PathBuf,
    service: Option<Child>,
    /// Only one test at a time has the names and addresses of this machine that Podman chooses for its networks.
    _lock: File,
}

impl Podman {
    /// With the image of the tests; `None`: this machine cannot have it, as was printed.
    pub fn start() -> Option<Podman> {
        let is_root = rustix::process::geteuid().is_root();
        // Podman knows where its own helpers are.
        let helpers = ["/usr/lib/podman", "/usr/libexec/podman"].map(Path::new);
        let has_netavark = helpers.iter().any(|place| place.join("netavark").exists());
        let is_skipped = || skipped(&["podman", "podman-compose", "runc"]);
        if !is_root || is_skipped() || !has_netavark && skipped(&["netavark"]) {
            println!("SKIPPED: this needs root, podman, podman-compose, runc and netavark");
            return None;
        }
        let lock = std::env::temp_dir().join("stampede-podman.lock");
        let lock = File::create(lock).expect("a lock");
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("our turn");
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
        let mut podman = Podman { directory, bin, service: None, _lock: lock };
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
             --network-backend=netavark --network-config-dir {} \"$@\"\n",
            at("containers.conf"),
            at("root"),
            at("runroot"),
            at("tmp"),
            // Every Podman of root reads those in /etc/containers/networks.
            at("networks")
        );
        write_program(&self.bin.join("podman"), &script);
    }

    fn client(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.bin.join("podman"));
        command.args(args).stdin(Stdio::null());
        command
    }

    /// Lets it answer at a socket as Docker does. Returns the value of DOCKER_HOST.
    pub fn serve(&mut self) -> String {
        let socket = self.directory.path().join("podman.sock");
        let host = format!("unix://{}", socket.display());
        let log = File::create(self.directory.path().join("log")).expect("a log");
        let mut command = self.client(&["system", "service", "--time=0", &host]);
        command.stdout(log.try_clone().expect("a log")).stderr(log);
        end_with_us(&mut command);
        self.service = Some(command.spawn().expect("the service"));
        let answers = || {
            let mut docker = Command::new("docker");
            docker.arg("version").env("DOCKER_HOST", &host).stdin(Stdio::null());
            docker.output().expect("the client").status.success()
        };
        let begun = Instant::now();
        while !answers() {
            assert!(begun.elapsed() < WITHIN, "Podman does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        host
    }

    pub fn run(&self, args: &[&str]) -> Output {
        let mut command = self.client(args);
        command.output().expect("the client")
    }

    pub fn words(&self, args: &[&str]) -> Vec<String> {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output).split_whitespace().map(str::to_owned).collect()
    }

    /// stampede, which finds no program of Docker.
    pub fn stampede(&self, sandbox: &Sandbox, args: &[&str]) -> Command {
        let mut command = sandbox.stampede(args);
        command.env("PATH", &self.bin).env_remove("DOCKER_HOST");
        command
    }

    /// Containers, networks and volumes, and groups of stacks that have had a container, after waiting for them to
    /// be gone.
    pub fn left_behind(&self, groups: &BTreeSet<PathBuf>) -> Vec<String> {
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
        if let Some(mut service) = self.service.take() {
            let _ = rustix::process::kill_process(Pid::from_child(&service), Signal::TERM);
            let _ = service.wait();
        }
        self.run(&["rm", "-f", "-t", "0", "-a"]);
        // Podman mounts the directory of its layers on itself.
        let layers = self.directory.path().join("root/overlay");
        let _ = Command::new("umount").arg("-l").arg(layers).stderr(Stdio::null()).status();
    }
}
