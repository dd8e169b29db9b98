//! Tests projects in whose path there is a colon, a comma, a quote or a dollar sign.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::common::{Sandbox, assert_measured, finish, stderr, stdout, trials};
use crate::containers_support::{Engine, compose_2};
use crate::podman_support::Podman;
use crate::words::CODES;

const LIMIT: Duration = Duration::from_secs(300);

const COMPARE: [&str; 4] = ["compare", "plan.yaml", "--rounds", "1"];
/// A directory whose name no short form of a mount can say.
const ODD: &str = "a:b,c \"d\" $e";

/// Writes a project, which mounts what it writes to and what it only reads from below [`ODD`]. `mounts`: how it says so.
fn write_mounting_project(sandbox: &Sandbox, directory: &str, mounts: &str) {
    sandbox.write(
        &format!("{directory}/compose.yml"),
        &format!(
            "services:\n  web:\n    image: stampede-test/php:8.2\n    ports: [\"80:80\"]\n    \
             command: [sh, -c, \"exec php -S 0.0.0.0:80 -t /app\"]\n    volumes:\n{mounts}"
        ),
    );
    sandbox.write(&format!("{ODD}/note/text"), "twenty-one");
    let page = "<?php file_put_contents('/app/written', 'x'); echo 'note ', file_get_contents('/note/text');";
    sandbox.write(&format!("{ODD}/app/index.php"), page);
    // A flag has several files with colons between them.
    let plan = format!(
        "budget: {{cpus: 1, memory: 256MiB}}\nwarm_up: 500ms\nload: {{peak: {{concurrency: 2, for: 1s}}}}\n\
         runtimes: [{{shop: {{compose: '{directory}/compose.yml'}}}}]\n"
    );
    sandbox.write("plan.yaml", &plan);
}

/// The mounts of a project that is in the directory itself.
const RELATIVE: &str = "      - ./app:/app\n      - ./note:/note:ro\n";

/// The project is measured, its PHP has said what it is, and its own files are as before.
fn assert_mounted(sandbox: &Sandbox, command: Command) -> String {
    let output = finish(command, LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(sandbox, &output);
    assert!(CODES || text.contains("note twenty-one"), "{text}");
    for trial in trials(sandbox) {
        let before = &trial["runtime"]["before"];
        assert!(before["ini"]["memory_limit"].is_string(), "its PHP did not say: {before:#}");
    }
    let written = sandbox.path().join(ODD).join("app/written");
    assert!(!written.exists(), "the project itself was written to: {text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
    fs::remove_dir_all(sandbox.path().join("stampede-results")).expect("results");
    text
}

/// The engine took what is before the colon of a path for the whole.
#[test]
#[ignore = "long: 1 min, containers"]
fn a_project_below_a_directory_with_a_colon_is_mounted_by_each_compose_tool() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    // Version 1 refuses relative mounts of a project in such a directory.
    let mount = |name: &str, more: &str| {
        let source = format!("../{ODD}/{name}").replace('$', "$$");
        format!("      - {{type: bind, source: '{source}', target: /{name}{more}}}\n")
    };
    let long = mount("app", "") + &mount("note", ", read_only: true");
    write_mounting_project(&sandbox, "shop", &long);
    let text = assert_mounted(&sandbox, engine.stampede(&sandbox, &COMPARE));
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    let Some(bin) = compose_2(&sandbox) else { return };
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap_or_default());
    write_mounting_project(&sandbox, ODD, RELATIVE);
    let mut two = engine.stampede(&sandbox, &COMPARE);
    two.env("PATH", &path);
    let text = assert_mounted(&sandbox, two);
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
}

/// Podman-compose neither quotes paths nor tells their colons from its own.
#[test]
#[ignore = "long: 1 min, containers"]
fn paths_with_a_colon_are_mounted_by_podman() {
    let Some(podman) = Podman::start() else { return };
    let sandbox = Sandbox::new();
    write_mounting_project(&sandbox, ODD, RELATIVE);
    let text = assert_mounted(&sandbox, podman.stampede(&sandbox, &COMPARE));
    assert_eq!(podman.left_behind(&BTreeSet::new()), [""; 0], "{text}");
}
