//! Tests how the images of compose projects are built: by version, and one from another.

use std::time::Duration;

use crate::common::{Sandbox, assert_measured, finish, skipped, stderr, stdout};
use crate::containers::compare;
use crate::containers_support::{Engine, unchanged, write_layered_project, write_project};

const LIMIT: Duration = Duration::from_secs(300);

/// An image of the project that another one is built from is built first, and the user's image of that name
/// stays as it is. The project gets what a log has.
#[test]
#[ignore = "long: 20 s, containers"]
fn an_image_that_another_one_is_built_from_is_built_first() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_layered_project(&sandbox, "shop");
    engine.make_empty_image("shop-php:latest", "amd64");
    let own = || engine.words(&["images", "-q", "shop-php"]);
    let before = own();
    let line = |path: &str| {
        format!(
            "192.0.2.7 - - [28/Nov/2026:10:00:00 +0000] \"GET {path} HTTP/1.1\" 200 612 \"-\" \"curl\"\n"
        )
    };
    sandbox.write("access.log", &(line("/") + &line("/index.php?page=2")));
    let traffic = ["--traffic", "access.log", "--rounds", "1"];
    let args = compare(&[&["--compose", "shop/compose.yml"], &traffic[..]].concat());
    let output = finish(engine.stampede(&sandbox, &args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert!(text.contains("access.log"), "the requests of the log are sent: {text}");
    assert!(text.contains("price 5$"), "{text}");
    assert_eq!(own(), before, "{text}");
    engine.words(&["rmi", "shop-php"]);
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}

/// Each version is built from its own files. The images of a version have the same names in each run.
#[test]
#[ignore = "long: 1 min, containers"]
fn two_versions_of_a_project_are_built_and_compared() {
    if skipped(&["git"]) {
        return;
    }
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", unchanged);
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args(["-C", "shop", "-c", "user.name=a", "-c", "user.email=a@localhost"]);
        let output = command.args(args).current_dir(sandbox.path()).output().expect("git");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    sandbox.write("shop/.gitignore", ".env\n");
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "first"]);
    sandbox.write("shop/.env", "A=1\n");
    sandbox.write("shop/public/index.php", "<?php echo 'of the working tree';");
    let images = |out: &str| -> Vec<(String, String)> {
        let args = compare(&[
            "--compose",
            "shop/compose.yml",
            "--against",
            "main",
            "--rounds",
            "1",
            "--out",
            out,
        ]);
        let output = finish(engine.stampede(&sandbox, &args), LIMIT);
        let text = stdout(&output) + &stderr(&output);
        assert_eq!(engine.left_behind(), [""; 0], "{text}");
        assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
        let trials = sandbox.path().join(out).join("trials");
        let mut found = Vec::new();
        for trial in std::fs::read_dir(trials).expect("trials").flatten() {
            let read = |file: &str| std::fs::read_to_string(trial.path().join(file));
            let record: serde_json::Value =
                serde_json::from_str(&read("trial.json").expect("a record")).expect("JSON");
            let image = record["runtime"]["containers"][0]["image"].as_str().unwrap_or_default();
            let answer = read("answer.txt").unwrap_or_else(|_| panic!("an answer: {text}"));
            let is_old = !answer.contains("of the working tree");
            assert_eq!(is_old, answer.contains("price 5$"), "{answer}\n{text}");
            found.push((format!("is_old {is_old}"), image.to_owned()));
        }
        found.sort();
        found
    };
    let first = images("first");
    assert_eq!(first.len(), 2, "{first:?}");
    assert_ne!(first[0].1, first[1].1, "each version has images of its own");
    assert_eq!(first, images("second"), "the same images in the next run");

    let args = compare(&["--compose", "shop/compose.yml", "--against", "nowhere"]);
    let refused = stderr(&finish(engine.stampede(&sandbox, &args), LIMIT));
    assert!(refused.contains("no revision `nowhere`"), "{refused}");
    git(&["rm", "-q", "--cached", "compose.yml"]);
    git(&["commit", "-q", "-m", "without the file"]);
    let args = compare(&["--compose", "shop/compose.yml", "--against", "main"]);
    let refused = stderr(&finish(engine.stampede(&sandbox, &args), LIMIT));
    assert!(refused.contains("`main` has no compose file `compose.yml`"), "{refused}");
}
