//! Tests what a deployment does to an app: a file that OPcache preloads, and Composer's class map.
//! Every installed runtime does it, and what is impossible is reported before anything starts.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use stampede_plan::model::{AppChoice, Scalar};
use stampede_stack::Stack as _;

use crate::bench_support::Bench;
use crate::common::{Sandbox, finish, skipped, stderr};

/// Reports whether a class exists that only the preloaded file defines.
const HANDLER: &str = "<?php return fn (array $server) => ['status' => 200, 'headers' => \
    ['Content-Type' => 'text/plain'], 'body' => class_exists('Preloaded', false) ? 'preloaded' : 'not'];";
const INDEX: &str =
    "<?php $answer = (require __DIR__ . '/../handler.php')($_SERVER); echo $answer['body'];";

fn text(value: &str) -> Scalar {
    Scalar::Text(value.into())
}

#[test]
#[ignore = "long: 48 s"]
fn a_file_is_preloaded_by_every_runtime() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "shop/app.yaml",
        "title: preloads\nkind: callable\ndocroot: public\npreload: boot.php\n",
    );
    sandbox.write("shop/boot.php", "<?php require __DIR__ . '/Preloaded.php';");
    sandbox.write("shop/Preloaded.php", "<?php final class Preloaded {}");
    sandbox.write("shop/handler.php", HANDLER);
    sandbox.write("shop/public/index.php", INDEX);
    let bench = Bench::new(&AppChoice::directory(sandbox.path().join("shop")));
    for (value, files, expected) in [("app", 2, "preloaded"), ("off", 0, "not")] {
        let settings = [("workers", Scalar::Int(2)), ("preload", text(value))];
        bench.each(&settings, |name, running| {
            let observed = running.verify(&[]).unwrap_or_else(|error| panic!("{name}: {error}"));
            let answer = running.ask(Duration::from_secs(5)).expect(name);
            assert_eq!((observed.preloaded, answer.body.as_str()), (files, expected), "{name}");
            let mine = &running.record().given.ini["opcache.preload"];
            assert_eq!(mine, value, "{name}: a difference that was asked for");
        });
    }
}

#[test]
fn symfony_preloads_what_it_boots_with() {
    let bench = Bench::new(&AppChoice::named("symfony".into()));
    let settings = [("workers", Scalar::Int(2)), ("preload", text("app"))];
    for name in ["nginx-fpm", "apache-modphp", "roadrunner", "frankenphp-worker"] {
        let Some(running) = bench.start(name, &settings) else { continue };
        let observed = running.verify(&[]).expect(name);
        assert!(observed.preloaded > 50, "{name}: {}", observed.preloaded);
        running.stop().expect("stop");
    }
}

/// Makes a Composer app with one class; returns its files as they were made.
fn composer_app(sandbox: &Sandbox) -> Vec<(String, Vec<u8>)> {
    sandbox.write("shop/composer.json", r#"{"autoload": {"psr-4": {"App\\": "src/"}}}"#);
    sandbox.write("shop/src/Cart.php", "<?php namespace App; final class Cart {}");
    sandbox.write(
        "shop/public/index.php",
        "<?php $loader = require __DIR__ . '/../vendor/autoload.php';\n\
         $all = $loader->isClassMapAuthoritative() ? 'authoritative' : 'open';\n\
         $known = isset($loader->getClassMap()['App\\Cart']) ? 'mapped' : 'searched';\n\
         echo \"$all $known \" . (class_exists('App\\Cart') ? 'there' : 'missing');\n",
    );
    let made = Command::new("composer")
        .args(["dump-autoload", "--no-interaction"])
        .current_dir(sandbox.path().join("shop"))
        .env("COMPOSER_HOME", sandbox.path().join("composer"))
        .env("COMPOSER_ALLOW_SUPERUSER", "1")
        .output()
        .expect("composer");
    assert!(made.status.success(), "{made:?}");
    files(&sandbox.path().join("shop/vendor"))
}

fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).expect("directory").flatten() {
        match entry.path().is_dir() {
            true => all.extend(files(&entry.path())),
            false => {
                let bytes = std::fs::read(entry.path()).expect("file");
                all.push((entry.path().display().to_string(), bytes));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn composers_autoloader_is_written_in_the_copy() {
    if skipped(&["composer", "php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let before = composer_app(&sandbox);
    let bench = Bench::new(&AppChoice::directory(sandbox.path().join("shop")));
    for (value, expected) in [
        ("as-is", "open searched there"),
        ("optimized", "open mapped there"),
        ("authoritative", "authoritative mapped there"),
    ] {
        for name in ["php-builtin", "nginx-fpm"] {
            let settings = [("workers", Scalar::Int(2)), ("autoloader", text(value))];
            let Some(running) = bench.start(name, &settings) else { continue };
            let answer = running.ask(Duration::from_secs(5)).expect(name);
            assert_eq!(answer.body, expected, "{name}: {value}");
            assert_eq!(running.record().settings["autoloader"], value);
            running.stop().expect("stop");
        }
    }
    assert!(files(&sandbox.path().join("shop/vendor")) == before, "the app itself is unchanged");
}

#[test]
fn what_cannot_be_done_is_said_before_anything_starts() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", "<?php echo 'shop';");
    sandbox.write("other/public/index.php", "<?php echo 'other';");
    sandbox.write("other/composer.json", "{}");
    sandbox.write("other/vendor/autoload.php", "<?php");
    sandbox.write("other/vendor/composer/autoload_classmap.php", "<?php return [];");
    let error_of = |app: &str, settings: &str| {
        let plan = format!(
            "app: ./{app}\nruntimes: [php-builtin]\n{settings}\nload: [{{concurrency: 1, for: 1s}}]\n"
        );
        sandbox.write("plan.yaml", &plan);
        let mut command = sandbox.stampede(&["compare", "plan.yaml"]);
        command.env("PATH", sandbox.path());
        command.env("STAMPEDE_PHP", php());
        let output = finish(command, Duration::from_secs(60));
        assert_eq!(output.status.code(), Some(2), "{settings}: {}", stderr(&output));
        stderr(&output).replace(&sandbox.path().display().to_string(), "")
    };
    let all = [
        error_of("shop", "preload: app"),
        error_of("shop", "preload: config/preload.php"),
        error_of("shop", "preload: ../other/public/index.php"),
        error_of("shop", "preload: maybe"),
        error_of("shop", "preload: public/index.php\nopcache: off"),
        error_of("shop", "autoloader: optimized"),
        error_of("shop", "autoloader: fast"),
        error_of("other", "autoloader: authoritative"),
    ];
    assert_words!(all.join("\n"));
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

fn php() -> String {
    let found = Command::new("sh").args(["-c", "command -v php"]).output().expect("sh");
    String::from_utf8_lossy(&found.stdout).trim().to_owned()
}
