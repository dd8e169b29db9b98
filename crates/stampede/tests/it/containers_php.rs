//! Tests how the PHP of compose projects is proven, end to end.

use std::time::Duration;

use serde_json::Value;

use crate::common::{Sandbox, assert_measured, fact, finish, stderr, stdout, summary, trials};
use crate::containers_support::{Engine, unchanged, write_project};

const LIMIT: Duration = Duration::from_secs(300);

/// A server written in PHP: one process of the command line answers all requests.
const SERVER: &str = r#"<?php
$server = stream_socket_server('tcp://0.0.0.0:80');
while (true) {
    $client = @stream_socket_accept($server, 3600);
    while ($client && ($line = fgets($client)) !== false) {
        if (trim($line) === '') {
            fwrite($client, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello");
        }
    }
}
"#;

fn compare<'a>(projects: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let projects = projects.iter().flat_map(|file| ["--compose", file]);
    let load = ["-c", "1", "--for", "1s", "--warm-up", "1s", "--cpus", "1"];
    ["compare"].into_iter().chain(projects).chain(load).chain(more.iter().copied()).collect()
}

/// What was observed of a runtime before the load of its first trial.
fn before(sandbox: &Sandbox, runtime: &str) -> Value {
    let index = run_cases(sandbox).iter().position(|case| case["runtime"] == runtime);
    let index = index.expect("a case");
    let trials = trials(sandbox);
    let trial = trials.iter().find(|trial| trial["case"] == index).expect("a trial");
    trial["runtime"]["before"].clone()
}

fn run_cases(sandbox: &Sandbox) -> Vec<Value> {
    let text = std::fs::read_to_string(sandbox.run().join("run.json")).expect("a record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    record["cases"].as_array().expect("cases").clone()
}

/// The codes of what marks a row.
fn marks(sandbox: &Sandbox, runtime: &str) -> Vec<Value> {
    let summary = summary(sandbox);
    let cases = summary["cases"].as_array().expect("cases");
    let case = cases.iter().find(|case| case["runtime"] == runtime).expect("a case");
    case["not_comparable"].as_array().expect("marks").clone()
}

/// A worker answers no request by itself, and another php.ini is a difference between rows. Another
/// service may run another program at each start.
#[test]
#[ignore = "long: 60 s, containers"]
fn a_worker_says_at_its_start_what_it_is_and_other_values_of_php_ini_are_marked() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    sandbox.write("worker/server.php", SERVER);
    sandbox.write(
        "worker/compose.yml",
        "services:\n  app:\n    image: stampede-test/php:8.2\n    ports: [\"80:80\"]\n    \
         volumes: [\"./server.php:/server.php:ro\"]\n    command: [php, /server.php]\n\
         \x20 queue:\n    image: stampede-test/php:8.2\n    command: [sh, -c, \"own=/tmp/$$(cat \
         /proc/sys/kernel/random/uuid); cp /bin/sleep $$own; exec $$own 900\"]\n",
    );
    sandbox.write(
        "other/compose.yml",
        "services:\n  app:\n    image: stampede-test/php:8.2\n    ports: [\"80:80\"]\n    \
         volumes: [\"../worker/server.php:/server.php:ro\"]\n    \
         command: [php, -d, \"memory_limit=64M\", -d, \"zend.assertions=1\", /server.php]\n",
    );
    let args = compare(&["worker/compose.yml", "other/compose.yml"], &[]);
    let output = finish(engine.stampede(&sandbox, &args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    for runtime in ["worker", "other"] {
        let before = before(&sandbox, runtime);
        let proven = fact(&before["notices"], "php_proven");
        assert_eq!((&proven["by"], &proven["service"]), (&"start".into(), &"app".into()), "{text}");
        assert_eq!((&before["sapi"], &before["opcache"]), (&"cli".into(), &false.into()));
    }
    let marks: Vec<Value> =
        ["worker", "other"].iter().flat_map(|one| marks(&sandbox, one)).collect();
    let [mark] = marks.as_slice() else { panic!("one row differs: {marks:#?}\n{text}") };
    assert_eq!(mark["code"], "ini_differs", "{mark:#}");
    let values = mark["values"].as_array().expect("values");
    let names: Vec<&str> =
        values.iter().map(|value| value["directive"].as_str().expect("a name")).collect();
    assert_eq!(names, ["memory_limit", "zend.assertions"], "{mark:#}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
}

/// What cannot be proven is said, and marks the row; it is measured all the same.
#[test]
#[ignore = "long: 65 s, containers"]
fn a_php_that_is_not_proven_is_marked() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    // The pool's own value wins over every php.ini.
    write_project(&sandbox, "silent", |name, text| match name {
        "pool.conf" => format!("{text}php_admin_value[auto_prepend_file] = none\n"),
        _ => text.to_owned(),
    });
    // With this value PHP may not read the file that asks it, so the app fails with it.
    write_project(&sandbox, "closed", |name, text| match name {
        "pool.conf" => format!("{text}php_admin_value[open_basedir] = /app\n"),
        _ => text.to_owned(),
    });
    // Every start has another php.ini.
    write_project(&sandbox, "fickle", |name, text| match name {
        "compose.yml" => text.replace(
            "[\"php-fpm8.2\", \"--nodaemonize\", \"--force-stderr\"]",
            "[\"sh\", \"-c\", \"echo \\\"; $$(cat /proc/sys/kernel/random/uuid)\\\" > \
             /etc/php/8.2/fpm/conf.d/99-own.ini; exec php-fpm8.2 --nodaemonize --force-stderr\"]",
        ),
        _ => unchanged(name, text),
    });
    let files = ["silent/compose.yml", "closed/compose.yml", "fickle/compose.yml"];
    let output = finish(engine.stampede(&sandbox, &compare(&files, &[])), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    for (runtime, why) in
        [("silent", "silent"), ("closed", "not_served"), ("fickle", "other_start")]
    {
        let marks = marks(&sandbox, runtime);
        let unproven = marks.iter().find(|mark| mark["code"] == "php_unproven");
        let unproven = unproven.unwrap_or_else(|| panic!("{runtime}: {marks:#?}\n{text}"));
        assert_eq!(unproven["why"]["code"], why, "{runtime}: {unproven:#}");
        assert_eq!(before(&sandbox, runtime)["sapi"], "", "{runtime}");
        if runtime == "fickle" {
            let file = "/etc/php/8.2/fpm/conf.d/99-own.ini";
            assert_eq!(unproven["why"]["differences"][0]["file"], file, "{unproven:#}");
        }
    }
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}

/// Each version is a row of its own. One that does not run what was asked for is marked.
#[test]
fn versions_of_php_are_rows_and_one_that_is_not_what_was_asked_for_is_marked() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", |name, text| match name {
        "compose.yml" => text.replace("build: .", "image: \"stampede-test/shop:${PHP}\""),
        _ => unchanged(name, text),
    });
    let context = sandbox.path().join("shop").display().to_string();
    engine.words(&["build", "-q", "-t", "stampede-test/shop:8.2", &context]);
    // No image with another PHP can be had here: this one has a wrong name.
    engine.words(&["tag", "stampede-test/shop:8.2", "stampede-test/shop:8.4"]);
    sandbox.write(
        "plan.yaml",
        "runtimes: [{shop: {compose: shop/compose.yml, php: [8.2, 8.4], php_arg: PHP}}]\n\
         budget: {cpus: 1}\nwarm_up: 1s\nload: {peak: {concurrency: 2, for: 1s}}\n",
    );
    let output = finish(engine.stampede(&sandbox, &["compare", "plan.yaml"]), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert_eq!(marks(&sandbox, "shop php=8.2"), [Value::Null; 0], "{text}");
    let marks = marks(&sandbox, "shop php=8.4");
    let [mark] = marks.as_slice() else { panic!("{marks:#?}\n{text}") };
    assert_eq!((&mark["code"], &mark["reference"]), (&"php_version_differs".into(), &"8.4".into()));
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
}
