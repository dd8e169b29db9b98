//! Tests compose projects end to end, with an engine of their own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::common::{Sandbox, assert_measured, fact, finish, stderr, stdout, summary, trials};
use crate::containers_support::{Engine, unchanged, write_project};

const LIMIT: Duration = Duration::from_secs(300);

/// A short load.
const LOAD: [&str; 8] = ["--concurrency", "4", "--for", "2s", "--warm-up", "1s", "--cpus", "1"];

fn compare<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["compare"].into_iter().chain(more.iter().copied()).chain(LOAD).collect()
}

#[test]
fn two_compose_projects_are_compared_within_one_budget() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "one", unchanged);
    write_project(&sandbox, "two", |_, text| {
        text.replace("pm.max_children = 4", "pm.max_children = 2")
    });
    let args = compare(&[
        "--compose",
        "one/compose.yml",
        "--compose",
        "two/compose.yml",
        "--memory",
        "256MiB",
    ]);
    let output = finish(engine.stampede(&sandbox, &args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");

    let summary = summary(&sandbox);
    let mut names: Vec<&str> = summary["cases"]
        .as_array()
        .expect("cases")
        .iter()
        .map(|case| case["runtime"].as_str().expect("a name"))
        .collect();
    // The better one comes first.
    names.sort_unstable();
    assert_eq!(names, ["one", "two"]);
    assert!(text.contains("price 5$"), "a dollar sign stays one: {text}");
    for secret in ["of-the-shop-$42", "of-the-shop-$$42"] {
        let found = files_with(&sandbox.run(), secret);
        assert!(found.is_empty() && !text.contains(secret), "{secret} is in {found:?}\n{text}");
    }
    let notice = fact(&summary["notices"], "containers");
    assert_eq!(notice["found"]["code"], "project", "{notice}");
    assert_eq!(
        (&notice["found"]["service"], &notice["found"]["port"]),
        (&"web".into(), &80.into())
    );
    for trial in trials(&sandbox) {
        let isolation = &trial["isolation"];
        assert_eq!(isolation["memory_bytes"], 256 << 20, "{isolation}");
        assert!(
            isolation["cpu_set"].as_str().expect("a text").starts_with("cgroup"),
            "{isolation}"
        );
        assert_eq!(isolation["process_group"], "containers");
        let containers = trial["runtime"]["containers"].as_array().expect("containers");
        assert_eq!(containers.len(), 2, "{containers:?}");
        for container in containers {
            assert_eq!(
                (&container["libc"], &container["architecture"]),
                (&"glibc".into(), &"amd64".into())
            );
            assert!(container["base"].as_str().expect("a text").contains("Debian"), "{container}");
            assert!(
                container["image_id"].as_str().expect("a text").starts_with("sha256:"),
                "{container}"
            );
            // Read back: what the budget asks for is in force.
            assert_eq!(container["memory_limit_bytes"], 256 << 20, "{container}");
            let cpus: Vec<String> = isolation["cpus"]
                .as_array()
                .expect("CPUs")
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(container["cpus_allowed"], cpus.join(","), "{container}");
        }
        let before = &trial["runtime"]["before"];
        assert_eq!(fact(&before["notices"], "php_proven")["by"], "request", "{before:#}");
        assert_eq!((&before["sapi"], &before["opcache"]), (&"fpm-fcgi".into(), &true.into()));
        assert!(before["php_version"].as_str().expect("a text").starts_with("8.2."), "{before:#}");
        assert!(before["ini"]["memory_limit"].is_string(), "{before:#}");
    }
    for case in summary["cases"].as_array().expect("cases") {
        assert_eq!(case["not_comparable"], serde_json::json!([]), "the same PHP: {case:#}");
        let roles = &case["roles"];
        for role in ["web", "php"] {
            assert!(roles[role].is_object(), "{roles:#}");
        }
    }
}

/// The files below a directory that have this text.
fn files_with(directory: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(directory).expect("a directory").flatten().map(|one| one.path()) {
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).contains(text) {
            found.push(path);
        }
    }
    found
}

/// What the user has stays as it is, and each trial begins with it.
#[test]
fn trials_write_to_copies_of_volumes_and_directories() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", |name, text| match name {
        "compose.yml" => {
            text.replace(
                "    environment:",
                "    volumes: [\"data:/data\", \"./mounted:/mounted\"]\n    environment:",
            ) + "volumes:\n  data: {}\n"
        }
        _ => text.to_owned(),
    });
    sandbox.write("shop/mounted/original", "the user's");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(sandbox.path().join("shop/mounted"), open).expect("open");
    engine.words(&["volume", "create", "shop_data"]);
    let data = ["--rm", "-v", "shop_data:/data"];
    engine.in_image(&data, &["sh", "-c", "echo original > /data/original; chmod 777 /data"]);
    let args = compare(&["--compose", "shop/compose.yml", "--rounds", "2"]);
    let output = finish(engine.stampede(&sandbox, &args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    for trial in std::fs::read_dir(sandbox.run().join("trials")).expect("trials").flatten() {
        let answer = std::fs::read_to_string(trial.path().join("answer.txt")).expect("an answer");
        assert!(answer.contains("data as it was\nmounted as it was"), "{answer}");
    }
    // Neither original was written to.
    assert!(!sandbox.path().join("shop/mounted/seen").exists(), "{text}");
    assert_eq!(engine.in_image(&data, &["ls", "/data"]), ["original"], "{text}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");

    // A copy of files that change meanwhile would be broken.
    let user = ["-d", "--name", "user", "-v", "shop_data:/data"];
    let user = engine.in_image(&user, &["sleep", "300"]).remove(0);
    let args = [&args[..], &["--out", "again"]].concat();
    let refused = stderr(&finish(engine.stampede(&sandbox, &args), LIMIT));
    assert!(refused.contains("shop_data") && refused.contains("user"), "{refused}");
    engine.words(&["rm", "-f", &user]);
    engine.words(&["volume", "rm", "shop_data"]);
}

#[test]
fn what_is_wrong_with_a_project_is_said_in_one_error() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    sandbox.write("two.yml", "services:\n  a: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"]}\n  b: {image: \"stampede-test/php:8.2\", ports: [\"81:80\"]}\n");
    sandbox.write("broken.yml", "services:\n  web:\n    image: nginx\n   ports: [\"80:80\"]\n");
    sandbox.write("ends.yml", "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], command: [\"sh\", \"-c\", \"echo no configuration >&2; exit 7\"]}\n");
    sandbox.write(
        "unknown.yml",
        "services:\n  web: {image: \"127.0.0.1:1/none:1\", ports: [\"80:80\"]}\n",
    );
    for (file, more, parts) in [
        ("two.yml", &[][..], &["several services", "a, b", "--service a"][..]),
        ("two.yml", &["--service", "c"], &["no service `c`", "a, b"]),
        ("broken.yml", &[], &["config", "failed"]),
        ("none.yml", &[], &["there is no compose file"]),
        ("ends.yml", &[], &["service `web` ended with exit code 7", "no configuration"]),
        ("unknown.yml", &[], &["pull", "127.0.0.1:1"]),
    ] {
        let args = compare(&["--compose", file]);
        let args = [&args[..], more, &["--out", "out"]].concat();
        let output = finish(engine.stampede(&sandbox, &args), LIMIT);
        let text = stdout(&output) + &stderr(&output);
        let _ = std::fs::remove_dir_all(sandbox.path().join("out"));
        assert_ne!(output.status.code(), Some(0), "{file}: {text}");
        for part in parts {
            assert!(text.contains(part), "{file}: `{part}` is not in\n{text}");
        }
        assert_eq!(engine.left_behind(), [""; 0], "{file}: {text}");
        assert_eq!(sandbox.left_behind(), [""; 0], "{file}: {text}");
    }
}

/// Without an engine, and with one that does not answer, the error says so at once.
#[test]
fn a_machine_without_an_engine_gets_one_clear_error() {
    let sandbox = Sandbox::new();
    sandbox.write("compose.yml", "services: {web: {image: nginx, ports: [\"80:80\"]}}\n");
    let bin = sandbox.path().join("bin");
    std::fs::create_dir(&bin).expect("a directory");
    let mut none = sandbox.stampede(&compare(&["--compose", "compose.yml"]));
    none.env("PATH", &bin);
    let output = finish(none, LIMIT);
    assert!(stderr(&output).contains("no container engine"), "{}", stderr(&output));
    assert!(stderr(&output).contains("install Docker"), "{}", stderr(&output));

    let program = bin.join("docker");
    std::fs::write(
        &program,
        "#!/bin/sh\necho 'permission denied while trying to connect' >&2\nexit 1\n",
    )
    .expect("a program");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a program");
    let mut refused = sandbox.stampede(&compare(&["--compose", "compose.yml"]));
    refused
        .env("PATH", format!("{}:/bin:/usr/bin", bin.display()))
        .env("CONTAINERS_CONF", "/nowhere");
    let output = finish(refused, LIMIT);
    let text = stderr(&output);
    assert!(text.contains("permission denied") && text.contains("group `docker`"), "{text}");
}

/// However stampede ends, the engine has nothing of the stack afterwards.
#[test]
#[ignore = "long: 2 min"]
fn nothing_is_left_however_stampede_ends() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", unchanged);
    for (number, (signal, after)) in [
        (Signal::INT, 300),
        (Signal::TERM, 1_500),
        (Signal::KILL, 200),
        (Signal::KILL, 700),
        (Signal::KILL, 1_200),
        (Signal::KILL, 1_700),
        (Signal::KILL, 2_300),
        (Signal::KILL, 4_000),
        (Signal::INT, 4_000),
    ]
    .into_iter()
    .enumerate()
    {
        let args = compare(&["--compose", "shop/compose.yml"]);
        let out = format!("out-{number}");
        let args = [&args[..], &["--out", &out]].concat();
        let mut child = engine.stampede(&sandbox, &args).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(after));
        rustix::process::kill_process(Pid::from_child(&child), signal).expect("it runs");
        child.wait().expect("it ends");
        assert_eq!(engine.left_behind(), [""; 0], "{signal:?} after {after} ms");
        assert_eq!(sandbox.left_behind(), [""; 0], "{signal:?} after {after} ms");
    }
}
