//! Tests Podman, which answers Docker's client and compose tools at a socket of its own.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::{Sandbox, assert_measured, finish, skipped, stderr, stdout, trials};
use crate::containers_support::{unchanged, write_project};
use crate::podman_support::Podman;

const LIMIT: Duration = Duration::from_secs(300);

/// A project and a runtime of images, each within one budget; nothing is left of them.
#[test]
#[ignore = "long: 2 min, containers"]
fn projects_and_images_are_measured_by_podman() {
    if skipped(&["docker", "docker-compose"]) {
        return;
    }
    let Some(mut podman) = Podman::start() else { return };
    let host = podman.serve();
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
    command.env("DOCKER_HOST", host);
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
    assert_eq!(podman.left_behind(&BTreeSet::new()), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}
