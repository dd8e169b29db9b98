//! An engine of containers for a test alone: it has directories, a socket and networks of its own.
//! Its images are made of Debian's packages, since no registry can be reached.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::common::Sandbox;

/// The image with nginx and PHP-FPM.
pub const IMAGE: &str = "stampede-test/php:8.2";
const SUITE: &str = "bookworm";
const PACKAGES: [&str; 6] =
    ["nginx-light", "php8.2-fpm", "php8.2-opcache", "php8.2-cli", "php8.2-mbstring", "php8.2-xml"];
/// The image with nginx and a later PHP-FPM.
pub const LATER_IMAGE: &str = "stampede-test/php:8.4";
const LATER_SUITE: &str = "trixie";
const LATER_PACKAGES: [&str; 4] = ["nginx-light", "php8.4-fpm", "php8.4-opcache", "php8.4-cli"];
/// The image with every runtime that needs only packages.
pub const FULL_IMAGE: &str = "stampede-test/all:8.2";
const FULL_PACKAGES: [&str; 13] = [
    "nginx-light",
    "apache2",
    "libapache2-mod-php8.2",
    "php8.2-fpm",
    "php8.2-cgi",
    "php8.2-cli",
    "php8.2-mbstring",
    "php8.2-opcache",
    "php8.2-xml",
    "spawn-fcgi",
    // What Swoole is linked to.
    "libstdc++6",
    "uwsgi-core",
    "uwsgi-plugin-php",
];
/// The project of the tests: nginx and PHP-FPM in two services of one built image.
const PROJECT: [(&str, &str); 5] = [
    ("compose.yml", include_str!("project/compose.yml")),
    ("Dockerfile", include_str!("project/Dockerfile")),
    ("nginx.conf", include_str!("project/nginx.conf")),
    ("pool.conf", include_str!("project/pool.conf")),
    ("public/index.php", include_str!("project/public/index.php")),
];
/// How long the engine may take to start or to end.
const WITHIN: Duration = Duration::from_secs(60);

/// An engine that runs. It ends with this value, and with the thread that started it.
pub struct Engine {
    directory: tempfile::TempDir,
    daemon: Child,
    options: Vec<String>,
    /// Only one test at a time has the engine's data.
    _lock: File,
}

/// How an engine differs from the usual one.
#[derive(Default)]
struct Data {
    /// The size of its disk, which is then in memory.
    mebibytes: Option<u32>,
    options: Vec<String>,
}

impl Engine {
    /// Starts the engine, with the image; `None`: this machine cannot have one, as was printed.
    pub fn start() -> Option<Engine> {
        Engine::with_image(Data::default())
    }

    /// An engine that asks the registry at this port for images of Docker Hub.
    pub fn with_mirror(port: u16) -> Option<Engine> {
        let options = vec!["--registry-mirror".to_owned(), format!("http://127.0.0.1:{port}")];
        Engine::with_image(Data { options, ..Data::default() })
    }

    /// An engine whose disk has so many MiB, in memory, and is gone with the engine.
    pub fn on_small_disk(mebibytes: u32) -> Option<Engine> {
        Engine::with_image(Data { mebibytes: Some(mebibytes), ..Data::default() })
    }

    fn with_image(data: Data) -> Option<Engine> {
        let engine = Engine::without_image(data)?;
        engine.make_image();
        Some(engine)
    }

    fn without_image(Data { mebibytes, options }: Data) -> Option<Engine> {
        if !rustix::process::geteuid().is_root()
            || crate::common::skipped(&["dockerd", "docker-compose"])
        {
            println!("SKIPPED: an engine of our own needs root, dockerd and docker-compose");
            return None;
        }
        let data = data();
        fs::create_dir_all(&data).expect("a directory for images");
        let lock = File::create(data.join("lock")).expect("a lock");
        rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("our turn");
        let directory =
            tempfile::Builder::new().prefix("stampede-docker-").tempdir().expect("a directory");
        let daemon = match mebibytes {
            Some(mebibytes) => {
                let small = directory.path().join("data");
                fs::create_dir(&small).expect("a directory");
                start_daemon(on_small_disk(mebibytes, &small), directory.path(), &small, &options)
            }
            None => start_daemon(Command::new("dockerd"), directory.path(), &data, &options),
        };
        let mut engine = Engine { daemon, directory, options, _lock: lock };
        engine.wait();
        engine.remove_all();
        Some(engine)
    }

    /// Waits until the daemon answers.
    fn wait(&mut self) {
        let begun = Instant::now();
        while !self.docker(&["version"]).status.success() {
            let ended = self.daemon.try_wait().expect("a child");
            if ended.is_some() || begun.elapsed() > WITHIN {
                let log = fs::read_to_string(self.directory.path().join("log")).unwrap_or_default();
                let last: Vec<&str> = log.lines().rev().take(8).collect();
                panic!("the engine did not start: {ended:?}\n{}", last.join("\n"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends the daemon, and with it the containers, and starts it again.
    pub fn restart(&mut self) {
        self.end();
        let place = self.directory.path();
        self.daemon = start_daemon(Command::new("dockerd"), place, &data(), &self.options);
        self.wait();
    }

    /// Restarts the engine at several moments of a comparison.
    ///
    /// # Panics
    /// If something of it is left afterwards.
    pub fn leaves_nothing_when_restarted(&mut self, sandbox: &Sandbox, compare: &[&str]) {
        for (number, after) in [1_000, 3_000, 6_000].into_iter().enumerate() {
            let out = format!("out-{number}");
            let mut command = self.stampede(sandbox, &[compare, &["--out", &out]].concat());
            command.stdout(Stdio::null()).stderr(Stdio::piped());
            let child = command.spawn().expect("it starts");
            std::thread::sleep(Duration::from_millis(after));
            self.restart();
            let output = child.wait_with_output().expect("it ends");
            let text = String::from_utf8_lossy(&output.stderr);
            assert_ne!(output.status.code(), None, "it ended by itself: {text}");
            assert_eq!(self.left_behind(), [""; 0], "after {after} ms: {text}");
            assert_eq!(sandbox.left_behind(), [""; 0], "after {after} ms: {text}");
        }
    }

    /// Makes an image without programs that says that it is for another architecture.
    pub fn make_empty_image(&self, name: &str, architecture: &str) {
        let place = self.directory.path().join("image");
        fs::create_dir(&place).expect("a directory");
        let put = |file: &str, text: &[u8]| fs::write(place.join(file), text).expect("a file");
        // A tape archive ends with two empty blocks.
        let layer = [0; 1_024];
        put("layer.tar", &layer);
        let sum = Command::new("sha256sum").arg(place.join("layer.tar")).output().expect("a sum");
        let sum = String::from_utf8_lossy(&sum.stdout).chars().take(64).collect::<String>();
        let config = serde_json::json!({
            "architecture": architecture, "os": "linux", "config": {"Cmd": ["/none"]},
            "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{sum}")]},
        });
        put("config.json", config.to_string().as_bytes());
        let manifest = serde_json::json!([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]);
        put("manifest.json", manifest.to_string().as_bytes());
        let archive = self.directory.path().join("image.tar").display().to_string();
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(&place).args(["-cf", &archive]);
        let made = tar.args(["config.json", "layer.tar", "manifest.json"]).status();
        assert!(made.expect("tar").success());
        self.words(&["load", "-q", "-i", &archive]);
    }

    /// Makes an image of programs alone, each with its path.
    pub fn make_image_of(&self, name: &str, programs: &[(&str, &[u8])]) {
        use std::os::unix::fs::PermissionsExt as _;

        let place = tempfile::tempdir_in(self.directory.path()).expect("a directory");
        for (path, bytes) in programs {
            let file = place.path().join("root").join(path);
            fs::create_dir_all(file.parent().expect("a parent")).expect("directories");
            fs::write(&file, bytes).expect("a program");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        let archive = place.path().join("root.tar").display().to_string();
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(place.path().join("root")).args(["-cf", &archive, "."]);
        assert!(tar.status().expect("tar").success());
        self.words(&["import", &archive, name]);
    }

    /// What an earlier test left when it was killed.
    fn remove_all(&self) {
        let left = self.containers();
        for id in left {
            self.docker(&["rm", "-f", "-v", &id]);
        }
        self.docker(&["network", "prune", "-f"]);
        // Later versions leave volumes with names to `prune`.
        for volume in self.words(&["volume", "ls", "-q"]) {
            self.docker(&["volume", "rm", &volume]);
        }
    }

    fn make_image(&self) {
        self.make_image_with(IMAGE, SUITE, &PACKAGES);
    }

    /// Makes the image with a later PHP beside the usual one.
    pub fn make_later_image(&self) {
        self.make_image_with(LATER_IMAGE, LATER_SUITE, &LATER_PACKAGES);
    }

    /// Makes the image with every runtime that needs only packages.
    pub fn make_full_image(&self) {
        self.make_image_with(FULL_IMAGE, SUITE, &FULL_PACKAGES);
    }

    /// Makes an image of packages of a suite of Debian. The files are kept from run to run.
    fn make_image_with(&self, name: &str, suite: &str, packages: &[&str]) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let output = Command::new(root.join("scripts/make-image"))
            .args([name, suite])
            .args(packages)
            .env("DOCKER_HOST", self.host())
            .env("STAMPEDE_IMAGES", images())
            .env("STAMPEDE_ROOTS", data().with_file_name("root-tars"))
            .output()
            .expect("the script");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// The value of DOCKER_HOST.
    pub fn host(&self) -> String {
        format!("unix://{}", self.directory.path().join("docker.sock").display())
    }

    /// Lets every user of this machine use the engine, as the group `docker` may.
    pub fn let_everybody_in(&self) {
        use std::os::unix::fs::PermissionsExt as _;

        let place = self.directory.path();
        for (path, mode) in [(place.to_owned(), 0o755), (place.join("docker.sock"), 0o666)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
    }

    /// Runs the engine's client.
    pub fn docker(&self, args: &[&str]) -> Output {
        let mut command = Command::new("docker");
        command.args(args).env("DOCKER_HOST", self.host()).stdin(Stdio::null());
        command.output().expect("the client")
    }

    /// What the client printed, as words.
    pub fn words(&self, args: &[&str]) -> Vec<String> {
        let output = self.docker(args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_owned).collect()
    }

    /// Runs a command in a container of the image, without a network; returns what was printed.
    pub fn in_image(&self, options: &[&str], command: &[&str]) -> Vec<String> {
        let words = [&["run", "--network", "none"], options, &[IMAGE], command].concat();
        self.words(&words)
    }

    pub fn containers(&self) -> Vec<String> {
        self.words(&["ps", "-aq"])
    }

    /// stampede with this engine.
    pub fn stampede(&self, sandbox: &Sandbox, args: &[&str]) -> Command {
        let mut command = sandbox.stampede(args);
        command.env("DOCKER_HOST", self.host());
        command
    }

    /// Containers, networks, volumes and groups of stacks that are left, after waiting up to 10 s
    /// for them to disappear.
    pub fn left_behind(&self) -> Vec<String> {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let left = self.look();
            if left.is_empty() || Instant::now() > until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn look(&self) -> Vec<String> {
        let mut left = self.words(&["ps", "-a", "--format", "container-{{.Names}}"]);
        let networks = self.words(&["network", "ls", "--format", "{{.Name}}"]);
        left.extend(networks.into_iter().filter(|name| name.starts_with("stampede")));
        let volumes = self.words(&["volume", "ls", "--format", "{{.Name}}"]);
        left.extend(
            volumes.into_iter().filter(|name| name.starts_with("stampede") || name.len() == 64),
        );
        for top in stampede_linux::mounts::Mounts::tops() {
            let groups = fs::read_dir(&top).into_iter().flatten().flatten();
            let of_stacks =
                groups.filter(|group| group.file_name().to_string_lossy().starts_with("stampede-"));
            let left_over = of_stacks.map(|group| group.path()).filter(|group| is_empty(group));
            left.extend(left_over.map(|group| group.display().to_string()));
        }
        left
    }
}

/// A directory with a `docker` that runs `docker compose` 2: the one of Debian 13, in a root that sees the
/// same engine and the same directories. `None`: no such root can be made here, as was printed.
pub fn compose_2(sandbox: &Sandbox) -> Option<PathBuf> {
    let root = root_of_compose_2();
    if !has_compose_2(&root) {
        return None;
    }
    let bin = sandbox.path().join("bin-of-debian-13");
    fs::create_dir(&bin).expect("a directory");
    let script = format!(
        "#!/bin/sh\nexec unshare --mount --propagation private sh -c '\n\
         for shared in /tmp /proc /dev /var/lib/stampede; do\n\
         mkdir -p \"$shared\" \"$0$shared\" && mount --rbind \"$shared\" \"$0$shared\" || exit\ndone\n\
         exec chroot \"$0\" /usr/bin/docker \"$@\"' '{}' \"$@\"\n",
        root.display()
    );
    stampede_testing::program::write_program(&bin.join("docker"), &script);
    Some(bin)
}

impl Engine {
    /// Makes `stampede:all` of the program under test, with Docker's client and `docker compose` 2 alone. Returns
    /// whether that is possible here; if not, that was printed.
    pub fn make_image_of_program(&self) -> bool {
        const BASE: &str = "stampede-test/compose:13";
        let root = root_of_compose_2();
        if !has_compose_2(&root) {
            return false;
        }
        if !self.docker(&["image", "inspect", BASE]).status.success() {
            let script = "tar -C \"$0\" -cf - . | docker import - \"$1\"";
            let mut command = Command::new("sh");
            command.args(["-c", script]).arg(&root).arg(BASE).env("DOCKER_HOST", self.host());
            let output = command.output().expect("a shell");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let place = tempfile::tempdir_in(self.directory.path()).expect("a directory");
        let at = |name: &str| place.path().join(name);
        let entry = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/image/entry");
        fs::copy(entry, at("entry")).expect("a copy");
        fs::copy(env!("CARGO_BIN_EXE_stampede"), at("stampede")).expect("a copy");
        let text = format!(
            "FROM {BASE}\nCOPY stampede entry /usr/local/bin/\n\
             ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nENTRYPOINT [\"entry\"]\n"
        );
        fs::write(at("Dockerfile"), text).expect("a file");
        self.words(&["build", "-q", "-t", "stampede:all", &place.path().display().to_string()]);
        true
    }
}

/// The root of Debian 13 with Docker's client and `docker compose` 2.
fn root_of_compose_2() -> PathBuf {
    data().with_file_name("roots").join("trixie")
}

/// Whether that root is there, or could be made; if not, that is printed.
fn has_compose_2(root: &Path) -> bool {
    let made = root.join("usr/bin/docker").exists() || make_compose_2(root);
    if !made {
        println!("SKIPPED: no root of Debian 13 with its docker-compose");
    }
    made
}

/// Makes the root. Returns whether that worked.
fn make_compose_2(root: &Path) -> bool {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let part = root.with_extension("part");
    let _ = fs::remove_dir_all(&part);
    let script = "set -e; \"$0\" trixie \"$1\" >&2; cp /etc/resolv.conf \"$1/etc/\"; \
                  chroot \"$1\" apt-get -qq update >&2; \
                  chroot \"$1\" apt-get -qq install -y --no-install-recommends docker-cli docker-compose >&2; \
                  mv \"$1\" \"$2\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(top.join("scripts/make-root")).arg(&part).arg(root);
    command.env("STAMPEDE_ROOTS", data().with_file_name("root-tars"));
    fs::create_dir_all(root.parent().expect("a parent")).expect("a directory");
    command.status().is_ok_and(|status| status.success())
}

/// Whether no process is in the group or below it. The groups of other tests' stacks, which run at
/// the same time, have some; what runs of this test's is among the containers or the processes.
fn is_empty(group: &Path) -> bool {
    let below = fs::read_dir(group).into_iter().flatten().flatten();
    let mut groups = below.map(|entry| entry.path()).filter(|path| path.is_dir());
    fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default().is_empty()
        && groups.all(|path| is_empty(&path))
}

impl Engine {
    fn end(&mut self) {
        let _ = rustix::process::kill_process(Pid::from_child(&self.daemon), Signal::TERM);
        let begun = Instant::now();
        while matches!(self.daemon.try_wait(), Ok(None)) && begun.elapsed() < WITHIN {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
        // It leaves a mount there, with which the directory could not be removed.
        let mounts = fs::read_dir(self.directory.path().join("exec/netns"));
        for mount in mounts.into_iter().flatten().flatten() {
            let _ = Command::new("umount").arg(mount.path()).stderr(Stdio::null()).status();
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.end();
    }
}

/// The files of the test image as an archive, which another engine of this machine can read; `None`: no
/// engine could make it.
pub fn image_tar() -> Option<PathBuf> {
    let engine = Engine::start()?;
    let path = data().with_file_name("image.tar");
    let id = engine.words(&["create", IMAGE, "true"]).remove(0);
    engine.words(&["export", "--output", &path.display().to_string(), &id]);
    engine.words(&["rm", &id]);
    Some(path)
}

/// Where the roots of images are kept, as archives.
fn images() -> PathBuf {
    data().with_file_name("images")
}

/// Where the engine keeps images from test to test.
fn data() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("../data/docker")
}

/// The daemon in a mount namespace of its own, in which `place` is a disk of so many MiB.
fn on_small_disk(mebibytes: u32, place: &Path) -> Command {
    let script = "mount -t tmpfs -o \"size=$0m\" none \"$1\" && shift && exec dockerd \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "slave", "sh", "-c", script]);
    command.arg(mebibytes.to_string()).arg(place);
    command
}

/// Starts the daemon. Its networks are none that another engine of the machine chooses, and it
/// changes no rule of the firewall.
fn start_daemon(mut command: Command, directory: &Path, data: &Path, options: &[String]) -> Child {
    let at = |name: &str| directory.join(name).display().to_string();
    let log = File::create(directory.join("log")).expect("a log");
    command
        .args(["--data-root", &data.display().to_string(), "--exec-root", &at("exec")])
        .args(["--pidfile", &at("pid"), "--host", &format!("unix://{}", at("docker.sock"))])
        .args(["--bridge", "none", "--iptables=false", "--ip6tables=false"])
        .args(["--default-address-pool", "base=10.213.0.0/16,size=24"])
        // A fetch that breaks off would be tried for minutes.
        .args(["--max-download-attempts", "1"])
        .args(options)
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log"))
        .stderr(log);
    end_with_us(&mut command);
    command.spawn().expect("the daemon")
}

/// Lets a program end with the thread that starts it.
pub fn end_with_us(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec, and makes one system call.
    unsafe {
        command.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
            Ok(())
        });
    }
}

/// Writes the project into `directory` of the place. `change` gets each file's name and text.
pub fn write_project(sandbox: &Sandbox, directory: &str, change: impl Fn(&str, &str) -> String) {
    for (name, text) in PROJECT {
        sandbox.write(&format!("{directory}/{name}"), &change(name, text));
    }
}

/// Writes the project of which one image takes files from that of another service.
pub fn write_layered_project(sandbox: &Sandbox, directory: &str) {
    write_project(sandbox, directory, |file, text| match file {
        "compose.yml" => text
            .replacen("build: .", "build: {context: ., dockerfile: web.Dockerfile}", 1)
            .replacen("build: .\n    restart", "image: shop-php\n    build: .\n    restart", 1),
        _ => text.to_owned(),
    });
    let web = "FROM stampede-test/php:8.2\nCOPY nginx.conf /etc/nginx/nginx.conf\nCOPY --from=shop-php /app/public /app/public\n";
    sandbox.write(&format!("{directory}/web.Dockerfile"), web);
}

/// The project as it is.
pub fn unchanged(_name: &str, text: &str) -> String {
    text.to_owned()
}
