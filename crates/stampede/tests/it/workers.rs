//! Tests installed runtimes that keep an app in memory: what their workers do with apps that
//! misbehave, and how workers start and end. Also tests the directories that make variants.

use std::path::Path;
use std::time::{Duration, Instant};

use stampede_plan::model::{AppChoice, Scalar};
use stampede_stack::{Catalogue, ProcessStack, SearchPaths, Stack as _};

use crate::bench_support::Bench;
use crate::common::{Sandbox, fact, finish, skipped, stderr, stdout, summary, trials};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(180);
/// A handler that shows its request, and misbehaves if the request says so.
const HANDLER: &str = r#"<?php return static function (array $server): array {
    static $served = 0;
    $served++;
    switch ($_GET['do'] ?? '') {
        case 'throw': throw new RuntimeException('thrown on purpose');
        case 'echo': echo 'printed, '; break;
        case 'stdout': fwrite(STDOUT, 'not a frame of goridge'); break;
        case 'exit': echo 'exited'; exit;
    }
    $body = ['app' => 'fine', 'pid' => getmypid(), 'served' => $served, 'post' => $_POST,
        'uri' => $server['REQUEST_URI'], 'sapi' => PHP_SAPI];
    return ['status' => 200, 'headers' => ['Content-Type' => 'application/json'],
        'body' => json_encode($body)];
};"#;

/// A bench with an app of this handler. The app's directory is removed together with the bench.
fn bench_of(handler: &str) -> (Bench, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("directory");
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("directory");
        std::fs::write(path, text).expect("file");
    };
    write("app.yaml", "title: it misbehaves\nkind: callable\ndocroot: public\n");
    write("handler.php", handler);
    write("public/index.php", "<?php");
    (Bench::new(&AppChoice::directory(directory.path().to_owned())), directory)
}

fn bench() -> (Bench, tempfile::TempDir) {
    bench_of(HANDLER)
}

/// Runs a check on every installed runtime that keeps an app in memory, with one worker.
fn each(settings: &[(&str, Scalar)], mut check: impl FnMut(&str, &ProcessStack)) {
    let (bench, _directory) = bench();
    let settings = [&[("workers", Scalar::Int(1))], settings].concat();
    for name in bench.catalogue.runtime_names() {
        if bench.manifest(name).mode.keeps_memory() {
            let Some(running) = bench.start(name, &settings) else { continue };
            check(name, &running);
            running.stop().expect("stop");
        }
    }
}

/// Returns status and body.
fn ask(running: &ProcessStack, target: &str) -> (u16, String) {
    let config = ureq::Agent::config_builder().http_status_as_error(false).build();
    let answer = ureq::Agent::from(config).get(format!("{}{target}", running.url())).call();
    let mut answer = answer.expect("an answer");
    (answer.status().as_u16(), answer.body_mut().read_to_string().expect("text"))
}

fn answer_json(running: &ProcessStack, target: &str) -> serde_json::Value {
    let (status, body) = ask(running, target);
    assert_eq!(status, 200, "{target}: {body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// Retries until a worker answers: a request that a runtime gives to a worker that has just ended
/// fails.
fn last_reply(running: &ProcessStack) -> serde_json::Value {
    let deadline = Instant::now() + Duration::from_secs(5);
    while ask(running, "/").0 != 200 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    answer_json(running, "/")
}

fn logged(running: &ProcessStack, text: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        let has = |log: &std::path::PathBuf| {
            std::fs::read_to_string(log).is_ok_and(|log| log.contains(text))
        };
        if running.logs().files().iter().any(has) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn a_mistake_of_an_app_costs_an_answer_and_not_the_worker() {
    each(&[], |name, running| {
        let first = answer_json(running, "/a%20b?x=1");
        assert_eq!(first["uri"], "/a%20b?x=1", "{name}");
        assert_eq!(ask(running, "/?do=throw").0, 500, "{name}");
        assert!(logged(running, "thrown on purpose"), "{name}: the log has it");
        let (status, body) = ask(running, "/?do=echo");
        assert!(status == 200 && body.starts_with("printed, {\"app\""), "{name}: {status} {body}");
        if !reboots(name) {
            let served =
                |answer_json: &serde_json::Value| answer_json["served"].as_i64().expect("a number");
            let later = answer_json(running, "/");
            assert_eq!(served(&later), served(&first) + 3, "{name}: the same worker serves on");
        }
        // PHP-PM answers in place of its worker, which is gone. RoadRunner does so if it sees a
        // worker's end before the answer that came just before it.
        let exited = |(status, body): (u16, String)| match name {
            "php-ppm" => status == 502,
            _ => status == 200 && body == "exited",
        };
        let tries = if name.contains("roadrunner") { 5 } else { 1 };
        let answered = (0..tries).any(|_| {
            last_reply(running);
            exited(ask(running, "/?do=exit"))
        });
        assert!(answered, "{name}: `exit` is answered");
        // If `exit` ends the process, another follows, and `last_reply` may already have queried
        // it.
        let fresh = last_reply(running)["served"].as_i64().expect("a number");
        assert!(fresh <= 2 || !name.contains("roadrunner"), "{name}: {fresh}");
    });
}

/// The worker throws, ends, or never returns, before it serves anything.
#[test]
#[ignore = "long: 38 s"]
fn a_worker_that_cannot_begin_is_one_error_with_its_last_words() {
    let cases = [
        ("throw new RuntimeException('there is no database');", "there is no database"),
        ("error_log('it ends itself'); exit(7);", "it ends itself"),
        ("error_log('it waits for ever'); while (true) { sleep(1); }", "it waits for ever"),
    ];
    for (code, words) in cases {
        let (bench, _directory) = bench_of(&format!("<?php {code} return fn () => [];"));
        let bench = &bench;
        // Some runtimes give up only when the time limit for a start is over.
        std::thread::scope(|scope| {
            for name in bench.catalogue.runtime_names() {
                let mode = bench.manifest(name).mode;
                mode.keeps_memory().then(|| {
                    scope.spawn(move || {
                        let started = bench.try_start(name, &[("workers", Scalar::Int(1))]);
                        let Some(started) = started else { return };
                        let Err(error) = started else { panic!("{name} starts: {code}") };
                        let message = error.to_string();
                        assert!(message.contains(words), "{name}: {message}");
                    })
                });
            }
        });
    }
}

/// Output that bypasses PHP goes to the stream on which RoadRunner waits for its first frame.
#[test]
fn a_worker_of_roadrunner_that_writes_garbage_at_boot_is_one_error() {
    let code = "fwrite(STDOUT, 'garbage instead of a frame'); error_log('it wrote garbage');";
    let (bench, _directory) = bench_of(&format!("<?php {code} return fn () => [];"));
    let Some(started) = bench.try_start("roadrunner", &[("workers", Scalar::Int(1))]) else {
        return;
    };
    let Err(error) = started else { panic!("it starts") };
    let message = error.to_string();
    assert!(message.contains("it wrote garbage"), "{message}");
}

/// A comparison continues without the runtime, and nothing of the runtime is left behind.
#[test]
fn a_worker_runtime_that_cannot_begin_is_a_case_without_figures() {
    let (bench, directory) = bench_of("<?php throw new RuntimeException('there is no database');");
    let (bench, directory) = (&bench, directory.path().display().to_string());
    if bench.try_start("roadrunner", &[]).is_none() || skipped(&["php"]) {
        return;
    }
    std::fs::write(format!("{directory}/public/index.php"), "<?php echo 'fine';").expect("file");
    let compare = |runtimes: &str| {
        let sandbox = Sandbox::new();
        let load = ["--concurrency", "1", "--for", "1s", "--warm-up", "0s"];
        let words = ["compare", "--app", &directory, "--runtimes", runtimes];
        let mut command = sandbox.stampede(&[&words[..], &load].concat());
        for name in ["XDG_DATA_HOME", "HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let output = finish(command, LIMIT);
        let why = code_or("runtime_failed ended", "there is no database");
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
        assert_eq!(sandbox.left_behind(), Vec::<String>::new());
        (output.status.code(), sandbox)
    };
    assert_eq!(compare("roadrunner").0, Some(2), "nothing was left to measure");
    let (code, sandbox) = compare("roadrunner,php-builtin");
    assert_eq!(code, Some(3));
    for case in summary(&sandbox)["cases"].as_array().expect("cases") {
        let is_invalid = case["verdict"] == "invalid";
        let name = case["runtime"].as_str().expect("a name");
        assert_eq!(is_invalid, name.starts_with("roadrunner"), "{case:#}");
    }
}

/// If a worker is a thread, no new process starts: only the log has its last words.
#[test]
#[ignore = "long: 17 s"]
fn a_worker_thread_that_dies_under_load_is_counted_with_its_last_words() {
    let code = "static $served = 0; if (++$served === 60) { str_repeat('x', 1 << 40); } \
                return ['status' => 200, 'headers' => [], 'body' => 'fine'];";
    let (bench, directory) = bench_of(&format!("<?php return function () {{ {code} }};"));
    if bench.try_start("frankenphp-worker", &[]).is_none() {
        return;
    }
    for (max, asked) in [(0, ""), (500, " (expected: `max_requests` is set)")] {
        let sandbox = Sandbox::new();
        let plan = format!(
            "app: {}\nruntimes: [{{frankenphp-worker: {{workers: 1, max_requests: {max}}}}}]\n\
             warm_up: 0s\nrounds: 1\nload: [{{concurrency: 1, for: 1s}}]\n",
            directory.path().display()
        );
        sandbox.write("plan.yaml", &plan);
        let mut command = sandbox.stampede(&["compare", "plan.yaml"]);
        for name in ["XDG_DATA_HOME", "HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        let output = finish(command, LIMIT);
        let trial = &trials(&sandbox)[0];
        assert_eq!(trial["verdict"]["judged"], "invalid", "PHP ended with fatal errors: {trial:#}");
        let replaced = fact(&trial["verdict"]["notes"], "workers_replaced");
        assert_eq!(replaced["threads"], true, "{trial:#}\n{}", stderr(&output));
        assert_eq!(replaced["is_asked"], !asked.is_empty(), "{replaced}");
        assert!(replaced["log"].to_string().contains("Allowed memory size"), "{replaced}");
        let counts = &trial["load"]["counts"];
        let number = |value: &serde_json::Value| value.as_u64().expect("a number");
        let deaths: u64 = counts["failed"].as_object().expect("kinds").values().map(number).sum();
        // The last worker may have died with the load. A worker that dies never reaches its 500th
        // request.
        let restarts = number(&trial["runtime"]["thread_restarts"]);
        let expected = deaths.saturating_sub(1)..=deaths;
        assert!(deaths > 0 && expected.contains(&restarts), "{counts:#}");
    }
}

/// A runtime that starts three workers, whatever it is told.
#[test]
fn another_number_of_workers_than_requested_makes_the_trial_suspect() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("runtimes/three/runtime.yaml", THREE_WORKERS);
    let load = ["--concurrency", "1", "--for", "1s", "--warm-up", "0s", "--workers", "2"];
    let runtimes = ["compare", "--app", "hello", "--runtimes", "three,php-builtin"];
    let mut command = sandbox.stampede(&[&runtimes[..], &load].concat());
    command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
    let output = finish(command, LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    for trial in trials(&sandbox) {
        let is_odd =
            trial["runtime"]["title"].as_str().is_some_and(|title| title.contains("three"));
        let verdict = &trial["verdict"];
        let differ = fact(&verdict["reasons"], "workers_differ");
        let expected = if is_odd {
            [3.into(), 2.into()]
        } else {
            [serde_json::Value::Null, serde_json::Value::Null]
        };
        assert_eq!([&differ["workers"], &differ["asked"]], expected.each_ref(), "{trial:#}");
        assert!(!is_odd || verdict["judged"] == "suspect", "{trial:#}");
    }
}

const THREE_WORKERS: &str = "title: PHP's own server with three workers
mode: per-request
app_kinds: [script, callable]
worker_held_by: request
needs: { php: { programs: [\"php*\"], version: \"php -n -v\" } }
php: php
common: [workers]
processes:
  - role: php
    run: \"php -c {{ dir }}/php.ini -S {{ host }}:{{ port }} -t {{ docroot | sh }}\"
    user: app
    cwd: \"{{ docroot }}\"
    env: { PHP_CLI_SERVER_WORKERS: \"2\" }
    stop: { signal: TERM, grace: 1s }
ready: { path: /, within: 10s }
effective_workers: { processes: { role: php } }
forced:
  extensions: [cli_server, pcntl, readline]
  ini: [cli_server.*, cli.*, readline.*]
";

fn reboots(name: &str) -> bool {
    name.ends_with("-reboot")
}

/// Settings that change how a runtime works: the worker keeps the app with each of them.
#[test]
fn other_modes_of_a_runtime_serve_the_same() {
    let (bench, _directory) = bench();
    for (name, setting, value) in [
        ("roadrunner", "relay", "unix"),
        ("nginx-roadrunner", "relay", "unix"),
        ("nginx-roadrunner", "socket", "tcp"),
        ("swoole", "server_mode", "base"),
        ("openswoole", "server_mode", "base"),
    ] {
        let settings = [("workers", Scalar::Int(1)), (setting, Scalar::Text(value.into()))];
        let Some(running) = bench.start(name, &settings) else { continue };
        let served = || answer_json(&running, "/")["served"].as_i64().expect("a number");
        let (first, second) = (served(), served());
        assert_eq!(second, first + 1, "{name} with {setting}: {value}");
        let observed = running.verify(&[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(observed.workers, 1, "{name} with {setting}: {value}");
        running.stop().expect("stop");
    }
}

#[test]
fn a_worker_of_roadrunner_that_writes_to_standard_output_is_discarded() {
    let (bench, _directory) = bench();
    let Some(running) = bench.start("roadrunner", &[("workers", Scalar::Int(1))]) else { return };
    let before = answer_json(&running, "/");
    assert_eq!(ask(&running, "/?do=stdout").0, 500);
    let after = last_reply(&running);
    assert_ne!(before["pid"], after["pid"], "RoadRunner took another worker");
}

/// No request is lost when workers are replaced.
#[test]
fn max_requests_replaces_workers() {
    each(&[("max_requests", Scalar::Int(3))], |name, running| {
        let served: Vec<i64> = (0..12)
            .map(|_| answer_json(running, "/")["served"].as_i64().expect("a number"))
            .collect();
        assert!(served.iter().all(|count| (1..=3).contains(count)), "{name}: {served:?}");
        let fresh = served.windows(2).filter(|pair| pair[1] <= pair[0]).count();
        assert!(fresh >= 3, "{name}: {served:?}");
        let observed = running.verify(&[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(observed.workers, 1, "{name}: one that is replaced is not two");
    });
}

#[test]
fn state_is_kept_between_requests_and_forgotten_after_a_reboot() {
    each(&[], |name, running| {
        let served = || answer_json(running, "/")["served"].as_i64().expect("a number");
        let (first, second) = (served(), served());
        assert_eq!(second - first, i64::from(!reboots(name)), "{name}");
    });
}

#[test]
fn a_form_reaches_the_app() {
    each(&[], |name, running| {
        let form = [("a[]", "1"), ("b", "2 3")];
        let mut answer = ureq::post(running.url()).send_form(form).expect("answer");
        let body: serde_json::Value =
            serde_json::from_str(&answer.body_mut().read_to_string().expect("text")).expect("JSON");
        assert_eq!(body["post"], serde_json::json!({"a": ["1"], "b": "2 3"}), "{name}");
    });
}

/// One plan for all installed worker runtimes: their answers, PHP and settings must be comparable.
/// Rows of programs that stampede built must say so.
#[test]
#[ignore = "long: 12 s"]
fn workers_are_what_a_comparison_finds_comparable() {
    let sandbox = Sandbox::new();
    let plan = sandbox.write("plan.yaml", PLAN);
    let mut command = sandbox.stampede(&["compare", &plan.display().to_string(), "--json"]);
    // The person's own programs: the place itself has another home directory.
    for name in ["XDG_DATA_HOME", "HOME"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let output = finish(command, LIMIT);
    if output.status.code() == Some(2) && std::env::var_os("CI").is_none() {
        return eprintln!("SKIPPED: {}", stderr(&output));
    }
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let cases = summary["cases"].as_array().expect("cases");
    let has = |name: &&str| {
        let is = |case: &serde_json::Value| case["runtime"].as_str().map(first_word) == Some(name);
        cases.iter().any(is)
    };
    let proven =
        ["roadrunner", "roadrunner-reboot", "nginx-roadrunner", "frankenphp", "frankenphp-worker"];
    // With `CI` set nothing may be skipped.
    assert!(std::env::var_os("CI").is_none() || proven.iter().all(has), "{summary:#}");
    for case in cases {
        // A library that was built from another version's source reports another PHP version.
        let reasons = case["not_comparable"].as_array().expect("reasons");
        let is_other = |reason: &serde_json::Value| reason["code"] == "php_version_differs";
        assert!(reasons.is_empty() || reasons.iter().any(is_other), "{case:#}");
        assert_ne!(case["trials"], serde_json::json!([]), "{case:#}");
        let name = case["runtime"].as_str().unwrap_or_default();
        // `putenv()` changes the whole process, and FrankenPHP's workers are threads of one
        // process.
        let keeps = case["mode"] != "per-request" || name.starts_with("frankenphp");
        assert_eq!(case["kept"].is_array(), keeps, "{}: {}", case["runtime"], case["kept"]);
        let versions = case["versions"].to_string();
        let is_custom = [" (assembled)", " (library)"].iter().any(|kind| versions.contains(kind));
        assert_eq!(name.ends_with(" (custom build)"), is_custom, "{name}: {versions}");
    }
    for trial in trials(&sandbox) {
        let runtime = &trial["runtime"];
        let has_it = runtime["mode"] != "per-request";
        assert_eq!(runtime["settings"]["adapter"] == "own", has_it, "{runtime:#}");
    }
}

/// A runtime's name without ` (assembled)`.
fn first_word(name: &str) -> &str {
    name.split(' ').next().unwrap_or_default()
}

const PLAN: &str = "app: hello
runtimes: [nginx-fpm, roadrunner, roadrunner-reboot, nginx-roadrunner, frankenphp,
  frankenphp-worker, swoole, openswoole, reactphp, reactphp-reboot, amphp, workerman, php-ppm,
  nginx-unit]
missing: skip
workers: 2
warm_up: 200ms
rounds: 1
load: [{concurrency: 2, for: 500ms}]
";

/// A catalogue with runtimes of the test.
fn catalogue(files: &[(&str, &str)]) -> (Catalogue, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("directory");
    for (name, text) in files {
        let path = directory.path().join(name).join("runtime.yaml");
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("directory");
        std::fs::write(path, text).expect("file");
    }
    let places =
        SearchPaths { runtimes: vec![directory.path().to_owned()], ..SearchPaths::from_env() };
    (Catalogue::load(places), directory)
}

#[test]
fn a_variant_with_a_directory_is_another_runtime_with_settings() {
    let variant =
        |of: &str, settings: &str| format!("title: mine\nuse: {of}\nsettings: {settings}\n");
    let (catalogue, directory) = catalogue(&[
        ("mine", &variant("nginx-fpm", "{ pm: dynamic }")),
        ("unknown", &variant("nginx-fmp", "{}")),
        ("twice", &variant("mine", "{}")),
        ("setting", &variant("nginx-fpm", "{ pn: dynamic }")),
        ("value", &variant("nginx-fpm", "{ pm: dynamic, socket: udp }")),
    ]);
    let mine = catalogue.runtime("mine").expect("runtime");
    assert_eq!((mine.name.as_str(), mine.manifest.title.as_str()), ("mine", "mine"));
    assert_eq!(mine.manifest.settings["pm"].default, Scalar::Text("dynamic".into()));
    assert!(mine.text("nginx.conf.j2").is_ok(), "its files are the other's");
    let errors = ["unknown", "twice", "setting", "value"].map(|name| {
        let error = catalogue.runtime(name).expect_err("wrong");
        let text = format!("{error}\n{}", error.hint().unwrap_or_default());
        text.replace(&directory.path().display().to_string(), "")
    });
    assert_words!(errors.join("\n"));
}

/// Packages that an app must have are checked before anything starts.
#[test]
fn octane_serves_apps_that_have_it() {
    let sandbox = Sandbox::new();
    sandbox.write("app/app.yaml", "title: mine\nkind: laravel\n");
    sandbox.write("app/public/index.php", "<?php");
    let rest = "app: ./app\nload: [{concurrency: 1, for: 1s}]\nruntimes: [octane-roadrunner]\n";
    let mut shown = String::new();
    for (package, lines) in [("", ""), ("laravel/octane", ""), ("", "missing: skip\n")] {
        if !package.is_empty() {
            sandbox.write(&format!("app/vendor/{package}/composer.json"), "{}");
        }
        sandbox.write("plan.yaml", &format!("{rest}{lines}"));
        let output = finish(sandbox.stampede(&["compare", "plan.yaml", "--dry-run"]), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        shown += &(stderr(&output) + "\n");
    }
    assert_words!(shown);
}
