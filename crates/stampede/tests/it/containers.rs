//! Tests compose projects end to end, with an engine of their own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::json;

use crate::agents_support::local_address;
use crate::common::{Sandbox, assert_measured, fact, finish, stderr, stdout, summary, trials};
use crate::containers_support::{
    Engine, compose_2, unchanged, write_layered_project, write_project,
};
use crate::seams::{ANSWER_US, SLOWER_US};
use crate::words::CODES;

const LIMIT: Duration = Duration::from_secs(300);

/// One project under two names is no difference, and a planted 5 % is found.
#[test]
#[ignore = "long: 80 s, containers"]
fn compose_projects_are_accepted() {
    let Some(engine) = Engine::start() else { return };
    let projects = [("one", ANSWER_US), ("same", ANSWER_US), ("slower", SLOWER_US)];
    let compare = |sandbox: &Sandbox, args: &[&str]| {
        for (name, us) in projects {
            write_project(sandbox, name, |file, text| match file {
                "public/index.php" => format!("<?php usleep({us}); echo 'fine';"),
                _ => text.to_owned(),
            });
        }
        finish(engine.stampede(sandbox, args), LIMIT)
    };
    let files = projects.map(|(name, _)| format!("{name}/compose.yml"));
    let files = files.iter().flat_map(|file| ["--compose", file]);
    let args: Vec<&str> = files.chain(["--concurrency", "1"]).collect();
    crate::seams::accept_command(compare, &args);
}

/// A short load.
const LOAD: [&str; 8] = ["--concurrency", "4", "--for", "2s", "--warm-up", "1s", "--cpus", "1"];

pub fn compare<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ["compare"].into_iter().chain(more.iter().copied()).chain(LOAD).collect()
}

/// Agents reach a container where its port is published: at the address that the user names.
#[test]
#[ignore = "long: 52 s, containers"]
fn agents_load_a_compose_project_at_an_address_of_this_machine() {
    let Some(engine) = Engine::start() else { return };
    let Some(address) = local_address() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "one", unchanged);
    let address = address.to_string();
    let more = ["--compose", "one/compose.yml", "--listen", &address, "--agents", "local:2"];
    let output = finish(engine.stampede(&sandbox, &compare(&more)), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for trial in trials(&sandbox) {
        let agents = trial["load"]["agents"].as_array().cloned().unwrap_or_default();
        let ok: u64 = agents.iter().filter_map(|agent| agent["ok"].as_u64()).sum();
        assert_eq!(Some(ok), trial["load"]["counts"]["ok"].as_u64(), "{trial:#}");
        assert!(agents.len() == 2 && ok > 100, "{trial:#}");
        assert!(agents[1]["machine"]["steal_share"].is_number(), "{trial:#}");
    }
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
    trials(&sandbox).iter().for_each(assert_proven);
    assert!(text.contains("the container engine spent CPU time for each request"), "{text}");
    for case in summary["cases"].as_array().expect("cases") {
        assert_eq!(case["not_comparable"], serde_json::json!([]), "the same PHP: {case:#}");
        assert!(case["engine_cost_us"]["value"].is_number(), "{case:#}");
        let roles = &case["roles"];
        for role in ["web", "php"] {
            assert!(roles[role].is_object(), "{roles:#}");
        }
    }
}

/// What is read back from a trial's containers: limits, images, and the PHP that serves.
fn assert_proven(trial: &serde_json::Value) {
    let isolation = &trial["isolation"];
    assert_eq!(isolation["memory_bytes"], 256 << 20, "{isolation}");
    assert!(isolation["cpu_set"].as_str().expect("a text").starts_with("cgroup"), "{isolation}");
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
        // The budget is around the container's own group.
        assert_eq!(container["inside"]["memory_bytes"], 0, "{container}");
        let cpus: Vec<String> =
            isolation["cpus"].as_array().expect("CPUs").iter().map(ToString::to_string).collect();
        assert_eq!(container["cpus_allowed"], cpus.join(","), "{container}");
    }
    let before = &trial["runtime"]["before"];
    assert_eq!(fact(&before["notices"], "php_proven")["by"], "request", "{before:#}");
    assert_eq!((&before["sapi"], &before["opcache"]), (&"fpm-fcgi".into(), &true.into()));
    assert!(before["php_version"].as_str().expect("a text").starts_with("8.2."), "{before:#}");
    assert!(before["ini"]["memory_limit"].is_string(), "{before:#}");
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
#[ignore = "long: 26 s, containers"]
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
#[ignore = "long: 36 s, containers"]
fn what_is_wrong_with_a_project_is_said_in_one_error() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    sandbox.write("two.yml", "services:\n  a: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"]}\n  b: {image: \"stampede-test/php:8.2\", ports: [\"81:80\"]}\n");
    sandbox.write("broken.yml", "services:\n  web:\n    image: nginx\n   ports: [\"80:80\"]\n");
    sandbox.write("ends.yml", "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], command: [\"sh\", \"-c\", \"echo no configuration >&2; exit 7\"]}\n");
    sandbox.write("both.yml", "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], command: [\"sh\", \"-c\", \"sleep 1; exit 7\"]}\n  php: {image: \"stampede-test/php:8.2\", command: [\"sh\", \"-c\", \"echo the reason >&2\"]}\n");
    sandbox.write(
        "unknown.yml",
        "services:\n  web: {image: \"127.0.0.1:1/none:1\", ports: [\"80:80\"]}\n",
    );
    sandbox.write(
        "https.yml",
        "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"8443:443\"]}\n",
    );
    sandbox.write("closed.yml", "services:\n  a: {image: \"stampede-test/php:8.2\"}\n  b: {image: \"stampede-test/php:8.2\"}\n");
    sandbox.write("ill.yml", "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], depends_on: {db: {condition: service_healthy}}}\n  db: {image: \"stampede-test/php:8.2\", command: [sleep, \"60\"], healthcheck: {test: [CMD, \"false\"], interval: 1s, timeout: 1s, retries: 1}}\n");
    sandbox.write("old/compose.yml", "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], env_file: .env}\n");
    sandbox.write("old/sample.env", "A=1\n");
    sandbox.write(
        "step/Dockerfile",
        "FROM stampede-test/php:8.2\nRUN echo the step said so && exit 5\n",
    );
    sandbox.write("step/compose.yml", "services:\n  web: {build: ., ports: [\"80:80\"]}\n");
    engine.make_empty_image("stampede-test/arm:1", "arm64");
    sandbox.write(
        "arm.yml",
        "services:\n  web: {image: \"stampede-test/arm:1\", ports: [\"80:80\"]}\n",
    );
    for (file, more, parts) in [
        ("two.yml", &[][..], &["several services", "a, b", "--service a"][..]),
        ("two.yml", &["--service", "c"], &["no service `c`", "a, b"]),
        ("broken.yml", &[], &["config", "failed", "broken.yml", "line"]),
        ("none.yml", &[], &["there is no compose file"]),
        ("ends.yml", &[], &["service `web` ended with exit code 7", "no configuration"]),
        ("both.yml", &[], &["`php` with exit code 0", "php: the reason"]),
        ("unknown.yml", &[], &["pull", "127.0.0.1:1"]),
        ("https.yml", &[], &["`web`", "443", "HTTPS", "--port 80"]),
        ("closed.yml", &[], &["no service", "publishes a port", "--service a"]),
        ("ill.yml", &[], &["up", "failed", "unhealthy"]),
        ("old/compose.yml", &[], &["sample.env", "copy"]),
        (
            "step/compose.yml",
            &[],
            &["build", "failed", "the step said so", "state/stampede/builds"],
        ),
        ("arm.yml", &[], &["arm64", "amd64", "emulator"]),
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

/// A check that fails is an error, and one whose program the image lacks is not.
#[test]
#[ignore = "long: 1 min, containers"]
fn a_service_that_never_gets_healthy_is_an_error_unless_its_check_cannot_run() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    for (name, check, within) in
        [("ill", "test -e /never", "4s"), ("lacks", "no-such-program || exit 1", "2m")]
    {
        let database = format!(
            "  db:\n    image: stampede-test/php:8.2\n    command: [sleep, \"900\"]\n    healthcheck: {{test: \"{check}\"}}\n"
        );
        write_project(&sandbox, name, |file, text| match file {
            "compose.yml" => text.to_owned() + &database,
            _ => text.to_owned(),
        });
        sandbox.write(
            &format!("{name}.yaml"),
            &format!(
                "app: {{ready: {{path: /, within: {within}}}}}\nruntimes: [{{shop: {{compose: {name}/compose.yml}}}}]\nrounds: 1\n\
                 budget: {{cpus: 1}}\nwarm_up: 0s\nrepeat_invalid: 0\nload: {{peak: {{concurrency: 2, for: 1s}}}}\n"
            ),
        );
    }
    let run = |plan: &str| {
        let output = finish(
            engine.stampede(&sandbox, &["compare", plan, "--out", &format!("{plan}.out")]),
            LIMIT,
        );
        assert_eq!(engine.left_behind(), [""; 0], "{plan}");
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    let (code, text) = run("ill.yaml");
    assert_ne!(code, Some(0), "{text}");
    assert!(CODES || text.contains("service `db` was not healthy within 4 s"), "{text}");
    let (_, text) = run("lacks.yaml");
    assert!(CODES || text.contains("price 5$"), "{text}");
}

/// An app that fails until its database is there, which takes longer than a second, and whose database is
/// healthy from then on. What is in a volume in memory stays there.
#[test]
#[ignore = "long: 30 s, containers"]
fn a_project_that_fails_until_its_database_is_there_is_waited_for() {
    let Some(engine) = Engine::start() else { return };
    let page = "<?php if (!file_exists('/shared/ready')) { http_response_code(500); exit('no database'); } echo 'fine ', \
                trim(shell_exec('stat -f -c %T /shared'));";
    let database = "  db:\n    image: stampede-test/php:8.2\n    volumes: [\"shared:/shared\"]\n    command: [sh, -c, \"sleep 6; touch \
                    /shared/ready; exec sleep 900\"]\n";
    let volume = "volumes:\n  shared: {driver_opts: {type: tmpfs, device: tmpfs}}\n";
    let sandbox = Sandbox::new();
    for (name, check) in [
        ("plain", ""),
        ("checked", "    healthcheck: {test: \"test -e /shared/ready\", interval: 1s}\n"),
    ] {
        write_project(&sandbox, name, |file, text| match file {
            "public/index.php" => page.to_owned(),
            "compose.yml" => {
                let own = "    restart: always\n    command: [\"php-fpm8.2\"";
                let mounted =
                    own.replace("    restart", "    volumes: [\"shared:/shared\"]\n    restart");
                assert!(text.contains(own), "{text}");
                text.replace(own, &mounted) + database + check + volume
            }
            _ => text.to_owned(),
        });
    }
    let args = compare(&[
        "--compose",
        "plain/compose.yml",
        "--compose",
        "checked/compose.yml",
        "--rounds",
        "1",
    ]);
    let output = finish(engine.stampede(&sandbox, &args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert!(text.contains("fine tmpfs"), "{text}");
    for trial in trials(&sandbox) {
        let proven = fact(&trial["runtime"]["before"]["notices"], "php_proven");
        assert!(!proven.is_null(), "{trial:#}");
    }
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
}

/// The other compose tool renders, builds, starts and removes as the first one does.
#[test]
#[ignore = "long: 90 s, containers"]
fn docker_compose_2_measures_a_project_too() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    let Some(bin) = compose_2(&sandbox) else { return };
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    let stampede = |args: &[&str]| {
        let mut command = engine.stampede(&sandbox, args);
        command.env("PATH", &path);
        finish(command, LIMIT)
    };
    write_layered_project(&sandbox, "shop");
    let output = stampede(&compare(&["--compose", "shop/compose.yml", "--memory", "256MiB"]));
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
    assert!(text.contains("price 5$"), "a dollar sign stays one: {text}");
    for trial in trials(&sandbox) {
        assert_proven(&trial);
        let tool = trial["runtime"]["versions"]["compose"].as_str().expect("a version");
        assert!(tool.contains("Docker Compose") && tool.contains("2."), "{tool}");
    }
    sandbox.write("broken.yml", "services:\n  web:\n    image: nginx\n   ports: [\"80:80\"]\n");
    sandbox.write(
        "two/Dockerfile",
        "FROM stampede-test/php:8.2\nRUN echo the step said so && exit 5\n",
    );
    sandbox.write("two/compose.yml", "services:\n  web: {build: ., ports: [\"80:80\"]}\n");
    for (file, parts) in [
        ("broken.yml", &["config", "failed", "line"][..]),
        ("two/compose.yml", &["build", "failed", "the step said so", "state/stampede/builds"]),
    ] {
        let args = [&compare(&["--compose", file])[..], &["--out", "out"]].concat();
        let output = stampede(&args);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{file}: {text}");
        for part in parts.iter().filter(|_| !crate::words::CODES) {
            assert!(text.contains(part), "{file}: `{part}` is not in\n{text}");
        }
        assert_eq!(engine.left_behind(), [""; 0], "{file}: {text}");
    }
}

/// The engine's disk is full while an image is built: one error that says so, and nothing is left.
#[test]
#[ignore = "long: 20 s, containers"]
fn a_full_disk_of_the_engine_is_said() {
    let Some(engine) = Engine::on_small_disk(400) else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", |name, text| match name {
        "Dockerfile" => text.to_owned() + "\nRUN head -c 400000000 /dev/zero > /large\n",
        _ => text.to_owned(),
    });
    let args = compare(&["--compose", "shop/compose.yml"]);
    let output = finish(engine.stampede(&sandbox, &args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    let hint = "the disk of the engine is full: `docker system df`";
    assert!(crate::words::CODES || text.contains(hint), "{text}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}

/// What `--env` gives is known where the project's files name it, too: in build arguments, in names of images, and
/// as the profiles whose services are started.
#[test]
#[ignore = "long: 30 s, containers"]
fn variables_of_a_flag_are_those_of_the_projects_files() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", |name, text| {
        match name {
        "compose.yml" => text
            .replace("build: .", "profiles: [\"${NAME:-shop}\"]\n    build: {context: ., args: {SHOP: \"${SHOP:-none}\"}}"),
        "Dockerfile" => text.to_owned() + &format!("RUN sleep 3; : {}\n", std::process::id()) + "ARG SHOP\nRUN echo \"<?php echo 'built for $SHOP';\" >/app/public/index.php\n",
        _ => text.to_owned(),
    }
    });
    let args = compare(&["--compose", "shop/compose.yml", "--out", "out"]);
    let output = finish(engine.stampede(&sandbox, &args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    for part in ["no service of the project is active", "COMPOSE_PROFILES="] {
        assert!(CODES || text.contains(part), "`{part}` is not in\n{text}");
    }
    let variables = ["--env", "COMPOSE_PROFILES=shop", "--env", "SHOP=Ada"];
    let args = [&compare(&["--compose", "shop/compose.yml"])[..], &variables].concat();
    let output = finish(engine.stampede(&sandbox, &args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert!(CODES || text.contains("built for Ada"), "{text}");
    assert!(text.contains("building the images for "), "what takes long is said: {text}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
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
    let text = stderr(&output);
    let is_said = text.contains("no container engine") && text.contains("install Docker");
    assert!(CODES || is_said, "{text}");

    let machine = json!({"host": {
        "serviceIsRemote": true, "distribution": {"distribution": "fedora", "version": "41"},
    }});
    let podman = format!("#!/bin/sh\n{}\n", says(&machine));
    stampede_testing::program::write_program(&bin.join("podman"), &podman);
    for (script, parts) in [
        (
            "echo 'permission denied while trying to connect' >&2; exit 1".to_owned(),
            &["permission denied", "group `docker`"][..],
        ),
        (
            says(
                &json!({"ServerVersion": "18.09.1", "OperatingSystem": "Debian GNU/Linux 10 (buster)"}),
            ),
            &["Docker 18.09.1", "20.10 or newer", "install a newer version"],
        ),
        (
            says(
                &json!({"ServerVersion": "28.2.2", "OperatingSystem": "Alpine Linux v3.20", "KernelVersion": "6.6.41-0-virt"}),
            ),
            &["(Alpine Linux v3.20)", "cannot be seen from here", "From a container"],
        ),
        // `docker` is another name of Podman, which is asked itself.
        (says(&json!({"host": {}})), &["(Podman on fedora 41)", "cannot be seen from here"]),
        (
            says(
                &json!({"ServerErrors": ["Cannot connect to the Docker daemon at tcp://10.0.0.5:2375"]}),
            ),
            &["Cannot connect to the Docker daemon", "systemctl start docker"],
        ),
    ] {
        stampede_testing::program::write_program(
            &bin.join("docker"),
            &format!("#!/bin/sh\n{script}\n"),
        );
        let mut refused = sandbox.stampede(&compare(&["--compose", "compose.yml"]));
        refused
            .env("PATH", format!("{}:/bin:/usr/bin", bin.display()))
            .env("CONTAINERS_CONF", "/nowhere");
        let output = finish(refused, LIMIT);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        for part in parts {
            assert!(CODES || text.contains(part), "`{part}` is not in\n{text}");
        }
    }
}

/// A client whose engine says this of itself.
fn says(info: &serde_json::Value) -> String {
    format!("[ \"$1\" = info ] || exit 1\ncat <<'E'\n{info}\nE\n")
}

/// However stampede ends, the engine has nothing of the stack afterwards.
#[test]
#[ignore = "long: 2 min, containers"]
fn nothing_is_left_however_stampede_ends() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", unchanged);
    for (number, (signal, after)) in [
        (Signal::INT, 300),
        (Signal::TERM, 1_500),
        (Signal::KILL, 200),
        (Signal::KILL, 1_200),
        (Signal::KILL, 4_000),
        (Signal::KILL, fastrand::u64(0..6_000)),
        (Signal::KILL, fastrand::u64(0..6_000)),
        (Signal::KILL, fastrand::u64(0..6_000)),
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

/// What matters most comes before everything else, with what overrides it.
#[test]
#[ignore = "long: 45 s, containers"]
fn a_development_configuration_is_the_first_thing_said_of_a_project() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "one", unchanged);
    write_project(&sandbox, "shop", |name, text| match name {
        "compose.yml" => text.replace("    environment:", "    environment:\n      APP_ENV: dev"),
        _ => text.to_owned(),
    });
    let both = ["--compose", "one/compose.yml", "--compose", "shop/compose.yml", "--dry-run"];
    let first = |more: &[&str]| {
        let args = compare(&[&both[..], more].concat());
        let output = finish(engine.stampede(&sandbox, &args), LIMIT);
        let text = stderr(&output) + &stdout(&output);
        let first = text.lines().next().unwrap_or_default().to_owned();
        (first, text)
    };
    let (line, text) = first(&[]);
    assert!(line.contains("`shop`: this is a development configuration (APP_ENV=dev)"), "{text}");
    assert!(line.contains("--env APP_ENV=prod"), "{text}");
    let (_, text) = first(&["--env", "APP_ENV=prod"]);
    assert!(!text.contains("development configuration"), "{text}");
    // The time of a run counts that containers start and end: once to be looked at, once for each trial.
    let args = compare(&[&both[..], &["--env", "APP_ENV=prod", "--json"]].concat());
    let planned = stdout(&finish(engine.stampede(&sandbox, &args), LIMIT));
    let planned: serde_json::Value = serde_json::from_str(&planned).expect("JSON");
    let trials = planned["run"]["order"].as_array().expect("rounds").len() as f64 * 2.0;
    let expected_s = planned["expected_ns"].as_f64().expect("a length") / 1e9;
    assert!(expected_s > (trials + 2.0) * 8.0 + trials * 3.0, "{trials} trials in {expected_s} s");
}

/// Searches start the project anew for each trial; its settings are variables.
#[test]
#[ignore = "long: 2 min, containers"]
fn limits_and_settings_of_a_project_are_searched() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", |name, text| match name {
        "pool.conf" => text.replace("= 4", "= ${CHILDREN}"),
        "compose.yml" => text.replace("    environment:", "    environment:\n      CHILDREN: 4"),
        _ => text.to_owned(),
    });
    let run = |args: &[&str]| {
        let all = [args, &["--compose", "shop/compose.yml", "--cpus", "1", "--json"]].concat();
        let output = finish(engine.stampede(&sandbox, &all), LIMIT);
        let text = stderr(&output);
        assert_eq!(engine.left_behind(), [""; 0], "{text}");
        let found: serde_json::Value = serde_json::from_str(&stdout(&output))
            .unwrap_or_else(|error| panic!("{error}: {}\n{text}", stdout(&output)));
        (found, text)
    };
    let (found, text) = run(&["capacity", "--max-time", "20s", "--for", "1s", "--out", "a"]);
    let limit = &found["runtimes"][0];
    assert_eq!(limit["runtime"], "shop", "{found:#}\n{text}");
    assert!(text.contains("requests go to web:80"), "{text}");
    let tune = ["tune", "--set", "CHILDREN=1,2", "--max-time", "40s", "--for", "1s", "--out", "b"];
    let (found, text) = run(&tune);
    let points = found["points"].as_array().expect("points");
    assert!(!points.is_empty(), "{found:#}\n{text}");
    for point in points {
        assert!(["1", "2"].map(Into::into).contains(&point["settings"]["CHILDREN"]), "{point}");
    }
    let args = ["tune", "--compose", "shop/compose.yml"];
    let refused = stderr(&finish(engine.stampede(&sandbox, &args), LIMIT));
    assert!(refused.contains("variables of its images") && refused.contains("--set"), "{refused}");
}

/// Of a project whose engine is restarted during the load nothing is left either.
#[test]
#[ignore = "long: 1 min, containers"]
fn nothing_is_left_when_the_engine_is_restarted() {
    let Some(mut engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", unchanged);
    let args = ["compare", "--compose", "shop/compose.yml", "--concurrency", "2"];
    let args = [&args[..], &["--for", "5s", "--warm-up", "1s", "--cpus", "1"]].concat();
    engine.leaves_nothing_when_restarted(&sandbox, &args);
}
