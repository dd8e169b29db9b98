//! Tests `cold: true`: the load meets an empty OPcache and empty caches. The app itself records
//! what each request found.

use std::time::Duration;

use serde_json::json;

use crate::common::{Sandbox, assert_measured, fact, finish, stderr, stdout, trials};

const LIMIT: Duration = Duration::from_secs(120);

/// Writes a line for each request: the directory of its start, whether it belongs to the load, whether it
/// found the app's cache, and whether OPcache knew a file that only requests use.
const APP: &str = r#"<?php
$cache = __DIR__ . '/var/cache/prod';
$warm = is_file("$cache/filled") ? 'warm' : 'cold';
is_dir($cache) || mkdir($cache, 0777, true);
touch("$cache/filled");
$known = opcache_is_script_cached(__DIR__ . '/used.php') ? 'compiled' : 'new';
require __DIR__ . '/used.php';
$of = strpos($_SERVER['REQUEST_URI'], 'load') ? 'load' : 'ours';
file_put_contents(getenv('MARKS'), sys_get_temp_dir() . " $of $warm $known\n", FILE_APPEND | LOCK_EX);
"#;

/// An app that records whether its own cache existed.
fn shop(sandbox: &Sandbox) {
    sandbox.write("shop/app.yaml", "title: marks\nkind: callable\ndocroot: public\nwritable: [var]\ncaches: [var/cache]\nprepare: prepare.php\n");
    // As a deployment would leave the directory.
    sandbox.write("shop/prepare.php", "<?php @mkdir(__DIR__ . '/var/cache/prod', 0777, true); touch(__DIR__ . '/var/cache/prod/filled');");
    sandbox.write("shop/marks.php", APP);
    sandbox.write("shop/used.php", "<?php // compiled by a request");
    sandbox.write("shop/handler.php", "<?php return function (array $server) { require __DIR__ . '/marks.php'; return ['status' => 200, 'headers' => ['Content-Type' => 'text/plain'], 'body' => 'ok']; };");
    sandbox.write("shop/public/index.php", "<?php require __DIR__ . '/../marks.php'; echo 'ok';");
}

/// What the load's first request found in `./shop`, for each copy that had one, and whether that
/// request was the first of all. `None`: the runtime is not installed, which is printed.
fn found(sandbox: &Sandbox, runtime: &str, begin: &str) -> Option<Vec<(String, bool)>> {
    let marks = sandbox.write("marks/log", "");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&marks, open).expect("open for all");
    let plan = format!(
        "app: ./shop\nruntimes: [{runtime}]\nworkers: 2\n{begin}\nenv: {{MARKS: {}}}\n\
         load: [{{concurrency: 1, requests: 20, path: '/?load=1'}}]\n",
        marks.display()
    );
    sandbox.write("plan.yaml", &plan);
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    if is_missing(&output) {
        return None;
    }
    assert_measured(sandbox, &output);
    assert_eq!(sandbox.left_behind(), Vec::<String>::new(), "{}", stdout(&output));
    let text = std::fs::read_to_string(&marks).expect("marks");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
    let mut seen: Vec<&str> = Vec::new();
    let mut firsts = Vec::new();
    let mut loaded: Vec<&str> = Vec::new();
    for line in &lines {
        if line[1] == "load" && !loaded.contains(&line[0]) {
            loaded.push(line[0]);
            firsts.push((line[2..].join(" "), !seen.contains(&line[0])));
        }
        seen.push(line[0]);
    }
    Some(firsts)
}

fn is_missing(output: &std::process::Output) -> bool {
    let text = stderr(output);
    let missing = output.status.code() == Some(2) && text.contains("does not have");
    if missing {
        println!("SKIPPED: {text}");
    }
    missing
}

#[test]
#[ignore = "long: 21 s"]
fn the_first_request_of_a_cold_load_is_the_first_of_all() {
    for runtime in ["nginx-fpm", "php-builtin", "roadrunner"] {
        let sandbox = Sandbox::new();
        shop(&sandbox);
        let Some(cold) = found(&sandbox, runtime, "cold: true") else { continue };
        // The copy that was verified before the load has ended, and the load gets a new one.
        assert_eq!(cold.last(), Some(&("cold new".to_owned(), true)), "{runtime}: {cold:?}");
        let trial = &trials(&sandbox)[0];
        let cold = fact(&trial["verdict"]["notes"], "cold");
        assert_eq!(cold["emptied"], json!(["var/cache"]), "{trial:#}");
        assert!(trial["runtime"]["first_answer_ns"].as_u64() > Some(0), "{trial:#}");
        let phases = trial["phases"].as_array().expect("phases").iter();
        let phases: Vec<&str> = phases.filter_map(|phase| phase["phase"].as_str()).collect();
        assert_eq!(phases[..5], ["start", "verify", "stop", "start", "measure"], "{phases:?}");
        // Verification requests the measured path itself, so the app was requested before the load.
        let sandbox = Sandbox::new();
        shop(&sandbox);
        let warm = found(&sandbox, runtime, "warm_up: 0s").expect("it is here");
        // Pages are asked on a start of their own.
        let start = || ("warm new".to_owned(), true);
        assert_eq!(warm, [start(), start()], "{runtime}");
        let marks = std::fs::read_to_string(sandbox.path().join("marks/log")).expect("marks");
        let of_load: Vec<&str> = marks.lines().filter(|line| line.contains(" load ")).collect();
        assert!(of_load.len() > 21, "20 of the load, and those before it: {marks}");
        let later = &of_load[of_load.len() - 20..];
        assert!(later.iter().all(|line| line.ends_with(" warm compiled")), "{runtime}: {marks}");
        let trial = &trials(&sandbox)[0];
        assert!(fact(&trial["verdict"]["notes"], "cold").is_null(), "{trial:#}");
    }
}

/// Symfony writes its cache during the first request of the load, and answers correctly all the
/// same.
#[test]
fn a_framework_starts_without_its_cache() {
    if !std::path::Path::new("/usr/share/php/Symfony/Bundle/FrameworkBundle").is_dir() {
        return println!("SKIPPED: Symfony is not installed here");
    }
    let sandbox = Sandbox::new();
    sandbox.write(
        "plan.yaml",
        "app: symfony\nruntimes: [nginx-fpm]\nworkers: 2\ncold: true\nload: [{concurrency: 1, requests: 30}]\n",
    );
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    if is_missing(&output) {
        return;
    }
    assert_measured(&sandbox, &output);
    let trial = &trials(&sandbox)[0];
    assert_eq!(trial["load"]["counts"]["failed"], json!({}), "{trial:#}");
    let cold = fact(&trial["verdict"]["notes"], "cold");
    let expected = (&json!("empty"), &json!(["var/cache"]));
    assert_eq!((&cold["opcache"], &cold["emptied"]), expected, "{trial:#}");
}

/// The catalogue's app, changed to record whether configuration and routes were cached, and whether
/// Laravel has written the package list that it needs. `false`: Laravel is not installed here.
fn laravel(sandbox: &Sandbox) -> bool {
    if !std::path::Path::new("/usr/share/php/Illuminate/autoload.php").is_file() {
        println!("SKIPPED: Laravel is not installed here");
        return false;
    }
    let ours = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/laravel");
    copy(&ours, &sandbox.path().join("shop"));
    let controller = "shop/app/Http/Controllers/HomeController.php";
    let text = std::fs::read_to_string(sandbox.path().join(controller)).expect("the controller");
    let marks = "    {
        $of = strpos($request->getRequestUri(), 'load') ? 'load' : 'ours';
        $found = [sys_get_temp_dir(), $of, app()->configurationIsCached() ? 'cached' : 'read',
            app()->routesAreCached() ? 'cached' : 'read',
            is_file(app()->getCachedPackagesPath()) ? 'written' : 'not written'];
        file_put_contents(getenv('MARKS'), implode(' ', $found) . PHP_EOL, FILE_APPEND | LOCK_EX);
        return";
    let marked = text.replacen("    {\n        return", marks, 1);
    assert_ne!(marked, text);
    sandbox.write(controller, &marked);
    true
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &to),
            false => std::fs::copy(&path, &to).map(|_| ()).expect("a file"),
        }
    }
}

/// What `artisan optimize` has cached is removed too, but the directory that Laravel writes to
/// exists.
#[test]
#[ignore = "long: 16 s"]
fn laravel_starts_without_caches_of_a_deployment() {
    for runtime in ["nginx-fpm", "roadrunner"] {
        for (begin, state) in [("cold: true", "read read"), ("warm_up: 0s", "cached cached")] {
            let sandbox = Sandbox::new();
            if !laravel(&sandbox) {
                return;
            }
            let Some(found) = found(&sandbox, runtime, begin) else { break };
            let is_cold = begin == "cold: true";
            assert_eq!(found.last(), Some(&(format!("{state} written"), is_cold)), "{runtime}");
            let trial = &trials(&sandbox)[0];
            assert_eq!(trial["load"]["counts"]["failed"], json!({}), "{trial:#}");
            let emptied = &fact(&trial["verdict"]["notes"], "cold")["emptied"];
            assert_eq!(emptied.to_string().contains("bootstrap/cache"), is_cold, "{trial:#}");
        }
    }
}
