//! Tests `stampede check` end to end on worker runtimes other than RoadRunner and FrankenPHP, with
//! and without overlapping requests. None of these runtimes is a Debian package.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Sandbox, check_app, finish, runtimes_here, skipped, stderr, stdout};

const LIMIT: Duration = Duration::from_secs(600);
/// Runtimes in whose workers requests overlap, so that a check sends overlapping requests.
const MEET: [&str; 2] = ["amphp", "swoole-coroutines"];
/// Runtimes whose workers handle one request at a time.
const ALONE: [&str; 4] = ["swoole", "openswoole", "php-ppm", "roadrunner"];

/// Those of the runtimes that are installed here, joined for `--runtime`.
fn here(names: &[&'static str]) -> Option<String> {
    if skipped(&["nginx", "php-fpm", "php"]) {
        return None;
    }
    let found = runtimes_here(names);
    (!found.is_empty()).then(|| found.join(","))
}

/// Checks an app; returns the report, its text, and the place of the files.
fn check(app: &str, runtimes: &str, urls: &str, passes: &str) -> (Value, String, Sandbox) {
    let sandbox = Sandbox::new();
    let (report, text) = check_in(&sandbox, &check_app(app, &sandbox), runtimes, urls, passes, "0");
    (report, text, sandbox)
}

fn check_in(
    sandbox: &Sandbox,
    app: &Path,
    runtimes: &str,
    urls: &str,
    passes: &str,
    growth: &str,
) -> (Value, String) {
    sandbox.write("urls.txt", urls);
    let app = app.display().to_string();
    let args = [
        "check",
        "--app",
        &app,
        "--runtime",
        runtimes,
        "--seed",
        "7",
        "--traffic",
        "urls.txt",
        "--passes",
        passes,
        "--growth",
        growth,
        "--out",
        "out",
    ];
    let output = finish(sandbox.stampede(&args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    let report = std::fs::read_to_string(sandbox.path().join("out/check.json"));
    let report = report.unwrap_or_else(|_| panic!("a report: {text}"));
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
    (serde_json::from_str(&report).expect("JSON"), text)
}

const ACCOUNT: &str = "/\n/account?user={user}\n";

#[test]
fn data_mixed_up_by_concurrent_requests_is_found() {
    let Some(runtimes) = here(&MEET) else { return };
    let (report, text, sandbox) =
        check("overlaps-users", &runtimes, ACCOUNT, "in-order,overlapping");
    let all = report["runtimes"].as_array().expect("runtimes");
    for runtime in all {
        let findings = runtime["findings"].as_array().expect("findings");
        let leak = findings.iter().find(|one| one["kind"] == "leak");
        let leak = leak.unwrap_or_else(|| panic!("no leak on {}: {text}", runtime["runtime"]));
        let steps = leak["steps"].as_array().expect("steps");
        let targets: Vec<&str> =
            steps.iter().filter_map(|step| step["request"]["target"].as_str()).collect();
        assert_eq!(targets, ["/account?user={user}"; 2], "{text}");
        assert_eq!(steps[0]["with_next"], true, "{text}");
        assert_eq!(leak["is_repeatable"], true, "{text}");
        assert_eq!(runtime["verdict"]["is"], "not-safe");
    }
    assert!(text.contains("(user A), at once with GET /account"), "{text}");
    assert_eq!(report["tried"]["passes"][1], "overlapping", "all of them went it");
    let again = ["check", "--finding", "1", "--of", "out"];
    let output = finish(sandbox.stampede(&again), LIMIT);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stdout(&output).contains("it shows again"), "{}", stdout(&output));
}

#[test]
fn a_worker_with_one_request_at_a_time_mixes_nothing_up() {
    let Some(runtimes) = here(&ALONE) else { return };
    let passes = "in-order,interleaved,overlapping";
    let (report, text, _) = check("overlaps-users", &runtimes, ACCOUNT, passes);
    for runtime in report["runtimes"].as_array().expect("runtimes") {
        assert_eq!(runtime["verdict"]["is"], "safe", "{text}");
        // Two requests of two users, in two passes.
        assert_eq!(runtime["sent"], 8, "the overlapping pass is not gone: {text}");
    }
    assert!(!report["tried"]["passes"].to_string().contains("overlapping"), "{text}");
}

#[test]
fn a_clean_app_is_clean_with_concurrent_requests() {
    let Some(runtimes) = here(&MEET) else { return };
    let urls = "/\n/about\n/form\n/now\n/basket\n";
    let (report, text, _) = check("clean", &runtimes, urls, "interleaved,overlapping");
    for runtime in report["runtimes"].as_array().expect("runtimes") {
        assert_eq!(runtime["findings"].as_array().map(Vec::len), Some(0), "{text}");
        assert_eq!(runtime["verdict"]["is"], "safe", "{text}");
    }
}

/// FrankenPHP forgets a session's id with each request, so that no user gets another's session. But
/// `$_SESSION` still has its values when the next request comes (up to 1.11.1:
/// GHSA-r3xh-3r3w-47gp).
#[test]
#[ignore = "long: 20 s"]
fn a_leaked_session_is_found() {
    let names = ["roadrunner", "frankenphp-worker", "amphp", "swoole"];
    let Some(runtimes) = here(&names) else { return };
    let (report, text, _) = check("keeps-session", &runtimes, "/\n/basket\n", "in-order");
    for runtime in report["runtimes"].as_array().expect("runtimes") {
        let findings = runtime["findings"].as_array().expect("findings");
        let has = |kind: &str, about: &str| {
            findings.iter().any(|one| one["kind"] == kind && one["about"] == about)
        };
        let forgets_id = runtime["runtime"] == "frankenphp-worker";
        assert!(has("kept", "$_SESSION"), "{text}");
        assert_eq!(has("leak", "GET /basket"), !forgets_id, "{text}");
        assert_eq!(has("state", "session"), !forgets_id, "{text}");
        assert_eq!(runtime["verdict"]["is"], "not-safe", "{text}");
    }
}

/// Tests every fault on every other runtime that is installed here. Takes minutes.
#[test]
#[ignore = "long: 5 min"]
fn faults_are_found_on_every_other_runtime() {
    let others = ["swoole", "openswoole", "reactphp", "amphp", "workerman", "php-ppm"];
    let Some(runtimes) = here(&others) else { return };
    let faults = [
        ("leaks-user", "leak", "/account", "/\n/about\n/account?user={user}\n"),
        ("static-counter", "answer", "/visits", "/\n/visits\n"),
        ("sets-timezone", "state", "", "/\n/berlin\n"),
        ("exits", "death", "/thanks", "/\n/about\n/thanks\n"),
        ("fatal", "death", "/heavy", "/\n/about\n/heavy\n"),
        ("leaves-buffer", "state", "/report", "/\n/report\n"),
        ("output-before-headers", "answer", "/old", "/\n/old\n"),
    ];
    for (app, kind, request, urls) in faults {
        let (report, text, _) = check(app, &runtimes, urls, "in-order,interleaved,overlapping");
        for runtime in report["runtimes"].as_array().expect("runtimes") {
            let findings = runtime["findings"].as_array().expect("findings");
            let last = |one: &Value| {
                let steps = one["steps"].as_array().expect("steps");
                let target = steps.last().map(|step| step["request"]["target"].clone());
                target.unwrap_or_default().as_str().unwrap_or_default().to_owned()
            };
            let is_it = |one: &&Value| one["kind"] == kind && last(one).starts_with(request);
            assert!(
                findings.iter().any(|one| is_it(&one)),
                "{app} on {}: {text}",
                runtime["runtime"]
            );
            let blamed = findings.iter().filter(|one| one["kind"] == "death" && !is_it(one));
            assert_eq!(blamed.count(), 0, "{app}: others are blamed: {text}");
            assert_eq!(runtime["verdict"]["is"], "not-safe", "{text}");
        }
    }
}

/// `STAMPEDE_OCTANE_APP` names an app of Laravel 11 with Octane, as `composer create-project` makes
/// it. The planted fault's own files and its pages are copied over it.
fn octane_app(name: &str, sandbox: &Sandbox) -> Option<PathBuf> {
    let Some(project) = std::env::var_os("STAMPEDE_OCTANE_APP") else {
        println!("SKIPPED: STAMPEDE_OCTANE_APP names no app of Laravel with Octane");
        return None;
    };
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check_apps");
    let made = sandbox.path().join(name);
    let layers = [
        (PathBuf::from(project), made.clone()),
        (all.join("framework"), made.join("app")),
        (all.join("laravel/routes/web.php"), made.join("routes/pages.php")),
        (all.join(name), made.clone()),
    ];
    for (from, to) in layers {
        let copied = Command::new("cp").args(["-rT", "--"]).arg(&from).arg(to).status();
        assert!(copied.expect("cp").success(), "{}", from.display());
    }
    let routes = "->withRouting(api: __DIR__ . '/../routes/pages.php', apiPrefix: '')";
    let boot = format!(
        "<?php\nreturn Illuminate\\Foundation\\Application::configure(dirname(__DIR__)){routes}\n    \
         ->withMiddleware(fn ($one) => $one)->withExceptions(fn ($one) => $one)->create();\n"
    );
    std::fs::write(made.join("bootstrap/app.php"), boot).expect("bootstrap/app.php");
    Some(made)
}

/// A separate container for each request does not help if a static or a shared service keeps the
/// value. Takes minutes.
#[test]
#[ignore = "long: 5 min"]
fn faults_of_laravel_are_found_under_octane() {
    let Some(runtimes) = here(&["octane-swoole", "octane-frankenphp"]) else { return };
    let faults = [
        ("leaks-static-laravel", "leak", "/account?user={user}", "0"),
        ("grows-memory-laravel", "growth", "/search", "4000"),
    ];
    for (app, kind, request, growth) in faults {
        let sandbox = Sandbox::new();
        let Some(directory) = octane_app(app, &sandbox) else { return };
        let urls = format!("/\n/about\n{request}\n");
        let (report, text) = check_in(&sandbox, &directory, &runtimes, &urls, "in-order", growth);
        for runtime in report["runtimes"].as_array().expect("runtimes") {
            let findings = runtime["findings"].as_array().expect("findings");
            let is_it =
                |one: &&Value| one["kind"] == kind && one["steps"].to_string().contains(request);
            let on = &runtime["runtime"];
            assert!(findings.iter().any(|one| is_it(&one)), "{app} on {on}: {text}");
            assert_ne!(runtime["verdict"]["is"], "safe", "{text}");
        }
    }
    // A singleton that holds the request. Octane forgets it together with the request's container.
    let sandbox = Sandbox::new();
    let Some(directory) = octane_app("leaks-user-laravel", &sandbox) else { return };
    let urls = "/\n/about\n/account?user={user}\n";
    let (report, text) =
        check_in(&sandbox, &directory, &runtimes, urls, "in-order,interleaved", "0");
    for runtime in report["runtimes"].as_array().expect("runtimes") {
        assert_eq!(runtime["verdict"]["is"], "safe", "{text}");
    }
}
