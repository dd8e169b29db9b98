//! Tests images that come from a registry: one of this test alone, on 127.0.0.1.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Sandbox, finish, skipped, stderr, stdout, trials};
use crate::containers_support::{Engine, IMAGE, end_with_us, unchanged, write_project};

const LIMIT: Duration = Duration::from_secs(300);
/// How long the registry may take to start.
const WITHIN: Duration = Duration::from_secs(20);
/// What the registry lets pass to a client before the fetch breaks off.
const BYTES: usize = 300_000;

/// A registry. It ends with this value.
struct Registry {
    process: Child,
    port: u16,
    sandbox: Sandbox,
}

impl Registry {
    /// One that asks for a name and a password. `None`: this machine has no program for it.
    fn start() -> Option<Registry> {
        if skipped(&["htpasswd"]) {
            return None;
        }
        let sandbox = Sandbox::new();
        let mut users = Command::new("htpasswd");
        let users = users.args(["-Bbn", "ada", "countess"]).output().expect("htpasswd");
        let users = sandbox.write("users", &String::from_utf8_lossy(&users.stdout));
        let auth = format!("auth: {{htpasswd: {{realm: test, path: {}}}}}\n", users.display());
        Registry::with(sandbox, &auth)
    }

    /// One that asks for nothing. `None`: this machine has no program for it.
    fn open() -> Option<Registry> {
        Registry::with(Sandbox::new(), "")
    }

    fn with(sandbox: Sandbox, auth: &str) -> Option<Registry> {
        if skipped(&["docker-registry"]) {
            return None;
        }
        let port = free_port();
        let config = format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: \"127.0.0.1:{port}\"}}\n\
             {auth}log: {{level: error}}\n",
            sandbox.path().join("data").display(),
        );
        let config = sandbox.write("registry.yml", &config);
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(config).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        end_with_us(&mut command);
        let process = command.spawn().expect("the registry");
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < WITHIN, "the registry does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Registry { process, port, sandbox })
    }

    /// The name of an image in it.
    fn image(&self, name: &str) -> String {
        format!("127.0.0.1:{}/{name}", self.port)
    }

    /// The configuration of a client that is logged in.
    fn login(&self, engine: &Engine, port: u16) -> PathBuf {
        let config = self.sandbox.path().join(format!("client-{port}"));
        let place = format!("127.0.0.1:{port}");
        let mut login = Command::new("docker");
        login.args(["login", "-u", "ada", "-p", "countess", &place]).stdin(Stdio::null());
        login.env("DOCKER_HOST", engine.host()).env("DOCKER_CONFIG", &config);
        let output = login.output().expect("the client");
        assert!(output.status.success(), "{}", stderr(&output));
        config
    }

    /// Puts an image of the engine into it, under another name.
    fn fill(&self, engine: &Engine, image: &str, name: &str) {
        let config = self.login(engine, self.port);
        let named = self.image(name);
        engine.words(&["tag", image, &named]);
        let mut push = Command::new("docker");
        push.args(["push", &named]).stdin(Stdio::null());
        push.env("DOCKER_HOST", engine.host()).env("DOCKER_CONFIG", &config);
        let output = push.output().expect("the client");
        assert!(output.status.success(), "{}", stderr(&output));
        engine.words(&["rmi", &named]);
    }

    /// A port through which the registry answers, until a client has got so many bytes: then every
    /// connection ends.
    fn breaking_off(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (own, registry) = (listener.local_addr().expect("an address").port(), self.port);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", registry)).expect("the registry");
                let (mut from, mut to) =
                    (client.try_clone().expect("a stream"), server.try_clone().expect("a stream"));
                std::thread::spawn(move || std::io::copy(&mut from, &mut to));
                std::thread::spawn(move || pass_some(server, client));
            }
        });
        own
    }
}

/// Passes on the first bytes of a connection.
fn pass_some(mut from: TcpStream, mut to: TcpStream) {
    let mut passed = 0;
    let mut buffer = [0; 4_096];
    while passed < BYTES {
        let Ok(read @ 1..) = from.read(&mut buffer) else { break };
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
        passed += read;
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
    let _ = from.shutdown(std::net::Shutdown::Both);
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

#[test]
#[ignore = "long: 90 s, containers"]
fn images_of_a_registry_are_fetched_and_what_goes_wrong_is_said() {
    let Some(engine) = Engine::start() else { return };
    let Some(registry) = Registry::start() else { return };
    registry.fill(&engine, IMAGE, "shop:1");
    // Its layer is in no other image, and cannot be made small.
    let mut random = fastrand::Rng::with_seed(7);
    let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(8 * BYTES).collect();
    engine.make_image_of("stampede-test/large:1", &[("blob", &bytes)]);
    registry.fill(&engine, "stampede-test/large:1", "large:1");
    engine.words(&["rmi", "stampede-test/large:1"]);
    let sandbox = Sandbox::new();
    let project = |name: &str, image: &str| {
        write_project(&sandbox, name, |file, text| match file {
            "Dockerfile" => text.replace(IMAGE, image),
            _ => unchanged(file, text),
        });
        sandbox.write(
            &format!("{name}.yml"),
            &format!("services:\n  web: {{image: \"{image}\", ports: [\"80:80\"]}}\n"),
        );
        format!("{name}.yml")
    };
    let compare = |file: &str, config: Option<&PathBuf>| {
        let load = ["--concurrency", "1", "--for", "1s", "--warm-up", "0s", "--rounds", "1"];
        let args = [&["compare", "--compose", file][..], &load, &["--out", "out"]].concat();
        let mut command = engine.stampede(&sandbox, &args);
        if let Some(config) = config {
            command.env("DOCKER_CONFIG", config);
        }
        let output = finish(command, LIMIT);
        let _ = std::fs::remove_dir_all(sandbox.path().join("out"));
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let assert_refused = |file: &str, config: Option<&PathBuf>, parts: &[&str]| {
        let (code, text) = compare(file, config);
        assert_eq!(code, Some(2), "{file}: {text}");
        for part in parts {
            assert!(text.contains(part), "{file}: `{part}` is not in\n{text}");
        }
        assert!(!text.contains("countess"), "{text}");
        assert_eq!(engine.left_behind(), [""; 0], "{file}: {text}");
    };
    let config = registry.login(&engine, registry.port);
    let there = project("there", &registry.image("shop:1"));
    assert_refused(&there, None, &["credentials", "docker login"]);
    let tag = project("tag", &registry.image("shop:2"));
    assert_refused(&tag, Some(&config), &["shop:2", "no such image or tag"]);
    // The registry works, and the way to it does not last.
    let port = registry.breaking_off();
    let config_of_port = registry.login(&engine, port);
    let short = project("short", &format!("127.0.0.1:{port}/large:1"));
    assert_refused(&short, Some(&config_of_port), &["EOF", "broke off"]);
    // A project that is built on an image of the registry.
    let (code, text) = compare("there/compose.yml", Some(&config));
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    engine.words(&["rmi", &registry.image("shop:1")]);
}

/// The engine's disk is full while an image is fetched, and while a volume is copied: one error that says so, and
/// nothing is left.
#[test]
#[ignore = "long: 40 s, containers"]
fn a_disk_that_a_fetch_or_a_copy_fills_is_said() {
    let Some(registry) = Registry::open() else { return };
    let Some(engine) = Engine::on_small_disk(450) else { return };
    let sandbox = Sandbox::new();
    let named = registry.image("large:1");
    let mut random = fastrand::Rng::with_seed(7);
    let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(60 << 20).collect();
    engine.make_image_of(&named, &[("blob", &bytes)]);
    engine.words(&["push", &named]);
    engine.words(&["rmi", &named]);
    // The volume belongs to the user's project, and its copy has no place.
    let fill = "head -c 160000000 /dev/zero >/data/zeros";
    engine.in_image(&["--rm", "-v", "shop_data:/data"], &["sh", "-c", fill]);
    let service = "ports: [\"80:80\"]";
    sandbox.write(
        "shop/compose.yml",
        &format!("services:\n  web: {{image: \"{IMAGE}\", volumes: [\"data:/data\"], {service}}}\nvolumes: {{data: {{}}}}\n"),
    );
    sandbox.write(
        "large/compose.yml",
        &format!("services:\n  web: {{image: \"{named}\", {service}}}\n"),
    );
    for (file, more) in [("shop/compose.yml", 0), ("large/compose.yml", 60_000_000)] {
        // What is left is too little for the image, too.
        let fill = format!("head -c {more} /dev/zero >/data/more");
        engine.in_image(&["--rm", "-v", "shop_data:/data"], &["sh", "-c", &fill]);
        let args = ["compare", "--compose", file, "-c", "1", "--for", "1s", "--out", "out"];
        let output = finish(engine.stampede(&sandbox, &args), LIMIT);
        let text = stdout(&output) + &stderr(&output);
        let _ = std::fs::remove_dir_all(sandbox.path().join("out"));
        assert_eq!(output.status.code(), Some(2), "{file}: {text}");
        let hint = "the disk of the engine is full: `docker system df`";
        assert!(crate::words::CODES || text.contains(hint), "{file}: {text}");
        assert_eq!(engine.left_behind(), [""; 0], "{file}: {text}");
        assert_eq!(sandbox.left_behind(), [""; 0], "{file}: {text}");
    }
}

/// The names of official images lead to Docker Hub. An engine with a mirror asks that first.
#[test]
#[ignore = "long: 40 s, containers"]
fn official_images_come_from_a_mirror_where_the_engine_has_one() {
    let Some(registry) = Registry::open() else { return };
    let Some(engine) = Engine::with_mirror(registry.port) else { return };
    for name in ["nginx:1", "php:8.2-fpm"] {
        let in_mirror = registry.image(&format!("library/{name}"));
        engine.words(&["tag", IMAGE, &in_mirror]);
        engine.words(&["push", "--quiet", &in_mirror]);
        engine.words(&["rmi", &in_mirror]);
        // What an earlier test left.
        engine.docker(&["rmi", name]);
    }
    let sandbox = Sandbox::new();
    let load = ["--concurrency", "1", "--for", "1s", "--warm-up", "0s", "--rounds", "1"];
    let compare = ["compare", "--app", "hello", "--images", "official", "--php", "8.2"];
    let args = [&compare[..], &["--runtimes", "nginx-fpm"], &load].concat();
    let output = finish(engine.stampede(&sandbox, &args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    for container in trials(&sandbox)[0]["runtime"]["containers"].as_array().expect("containers") {
        let digest = container["digest"].as_str().unwrap_or_default();
        assert!(digest.starts_with("sha256:"), "it is from a registry: {container:#}");
    }
}
