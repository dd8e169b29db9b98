//! Tests Podman by its own client and podman-compose, where no program of Docker is found.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use crate::common::{Sandbox, assert_measured, finish, stderr, stdout, trials};
use crate::containers_support::write_project;
use crate::podman_support::{Podman, WITHIN};
use crate::words::CODES;

const LIMIT: Duration = Duration::from_secs(300);

/// The project, with a service that prepares something and one that another one waits for.
fn with_waiting(name: &str, text: &str) -> String {
    let before = "  ready:\n    image: stampede-test/php:8.2\n    command: sh -c 'sleep 1; touch /tmp/ready; exec sleep 600'\n    \
                  healthcheck: {test: [CMD, test, -e, /tmp/ready], interval: 1s}\n  \
                  prepare:\n    image: stampede-test/php:8.2\n    command: sh -c 'sleep 1; echo $$TEXT $$(hostname -I | grep -o 10.215.9.7) >/shared/text'\n    \
                  networks: {default: null, back: {ipv4_address: 10.215.9.7}}\n    \
                  environment: {TEXT: \"${TEXT:-prepared}\"}\n    volumes: [\"data:/shared\"]\n";
    match name {
        "compose.yml" => {
            let waits = "depends_on: {php: {condition: service_started}, ready: {condition: service_healthy}, \
                         prepare: {condition: service_completed_successfully}}";
            let text = text.replace("depends_on:\n      - php", waits);
            let more = "    volumes: [\"data:/shared:ro\"]\n    configs: [{source: note, target: /etc/note, uid: \"33\"}]\n    \
                        secrets: [{source: word, uid: \"33\", gid: \"44\", mode: 0400}]\n";
            let hidden = "      STORAGE_SECRET_KEY: \"hidden-9$$\"\n      SHOP_PASSWORD";
            let text = text.replace("      SHOP_PASSWORD", hidden);
            let text = text.replace("  php:\n", &format!("  php:\n{more}"));
            let files = "networks: {back: {ipam: {config: [{subnet: 10.215.9.0/24}]}}}\nconfigs: {note: {content: \" 7$$ \"}}\nsecrets: {word: {environment: WORD}}\n";
            format!("{text}\n{before}volumes: {{data: }}\n{files}")
        }
        "public/index.php" => format!(
            "{text}\necho trim(file_get_contents('/shared/text')), file_get_contents('/etc/note'), \
             strlen(file_get_contents('/run/secrets/word')), strlen(getenv('STORAGE_SECRET_KEY')), ' ', \
             vsprintf('%3$o %5$d %6$d', array_values(stat('/run/secrets/word')));"
        ),
        _ => text.to_owned(),
    }
}

fn write_waiting_project(sandbox: &Sandbox) {
    write_project(sandbox, "shop", with_waiting);
    sandbox.write("shop/.env", "WORD=eleven-long\n");
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
    write_waiting_project(&sandbox);
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
    // What the service that is waited for has written, with its address, and what a configuration and secrets hold, and whose one is.
    assert!(CODES || text.contains("prepared 10.215.9.7 7$ 119 100400 33 44"), "{text}");
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
    write_waiting_project(&sandbox);
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

/// Projects that cannot start, each with what the error and its hint have to say.
const WRONG: [(&str, &str, &[&str]); 12] = [
    (
        "ends.yml",
        "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], command: [sh, -c, \"echo no configuration >&2; exit 7\"]}\n",
        &["service `web` ended with exit code 7", "no configuration"],
    ),
    (
        "unknown.yml",
        "services:\n  web: {image: \"127.0.0.1:1/none:1\", ports: [\"80:80\"]}\n",
        &["podman pull", "127.0.0.1:1", "does not answer"],
    ),
    (
        "variable.yml",
        "services:\n  web: {image: \"php:${NO_SUCH_TAG:?choose a tag}\", ports: [\"80:80\"]}\n",
        &["`NO_SUCH_TAG`: choose a tag", "--env NAME=VALUE"],
    ),
    (
        "env.yml",
        "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], env_file: none.env}\n",
        &["service `web`", "none.env", "does not exist"],
    ),
    (
        "broken.yml",
        "services:\n  web:\n    image: nginx\n   ports: [\"80:80\"]\n",
        &["broken.yml`: line 4"],
    ),
    (
        "tag.yml",
        "services:\n  web:\n    image: \"stampede-test/php:8.2\"\n    ports: !override [\"80:80\"]\n",
        &["tag.yml`: line 4", "use Docker's compose"],
    ),
    (
        "unchecked.yml",
        "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], depends_on: {db: {condition: service_healthy}}}\n  \
         db: {image: \"stampede-test/php:8.2\", command: [sleep, \"60\"]}\n",
        &["`web` waits until service `db` is healthy", "no health check"],
    ),
    (
        "network.yml",
        "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], networks: [front]}\n",
        &["the network `front`", "declare it"],
    ),
    (
        "config.yml",
        "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], configs: [ini]}\nconfigs: {ini: {external: true}}\n",
        &["configs: ini", "podman-compose"],
    ),
    (
        "owner.yml",
        "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], configs: [{source: ini, uid: www-data}]}\nconfigs: {ini: {content: a}}\n",
        &["configs: ini", "uid: ", "www-data"],
    ),
    (
        "mount.yml",
        "services:\n  web: {image: \"stampede-test/php:8.2\", ports: [\"80:80\"], volumes: [\"/a:b:/c:ro\"]}\n",
        &["`/a:b:/c:ro`", "long form"],
    ),
    (
        "build.yml",
        "services:\n  a: {build: {context: ., dockerfile_inline: \"FROM stampede-test/php:8.2\\nRUN echo the first step\"}}\n  \
         web: {ports: [\"80:80\"], depends_on: [a], build: {context: ., dockerfile_inline: \"FROM stampede-test/php:8.2\\nRUN echo the step said so && exit 5\"}}\n",
        &["build", "the step said so", "-web.log"],
    ),
];

/// A project that does not start is one error, and nothing is left of it.
#[test]
#[ignore = "long: 30 s, containers"]
fn a_project_that_podman_compose_cannot_start_is_one_error_and_leaves_nothing() {
    let Some(podman) = Podman::start() else { return };
    let sandbox = Sandbox::new();
    for (file, text, parts) in WRONG {
        sandbox.write(file, text);
        let args = ["compare", "--compose", file, "--cpus", "1", "--memory", "256MiB", "-c", "1"];
        let args = [&args[..], &["--for", "1s", "--rounds", "1", "--out", "out"]].concat();
        let output = finish(podman.stampede(&sandbox, &args), LIMIT);
        let text = stdout(&output) + &stderr(&output);
        let _ = fs::remove_dir_all(sandbox.path().join("out"));
        assert!(output.status.code().is_some_and(|code| code != 0), "{file}: {text}");
        for part in parts {
            assert!(CODES || text.contains(part), "{file}: `{part}` is not in\n{text}");
        }
        assert_eq!(podman.left_behind(&BTreeSet::new()), [""; 0], "{file}: {text}");
        assert_eq!(sandbox.left_behind(), [""; 0], "{file}: {text}");
    }
    // Also the log of the build that did not fail.
    let logs = fs::read_dir(sandbox.path().join(".local/state/stampede/builds"));
    let mut logs = logs.expect("logs").flatten().map(|one| one.file_name());
    assert!(logs.any(|name| name.to_string_lossy().ends_with("-a.log")));
}
