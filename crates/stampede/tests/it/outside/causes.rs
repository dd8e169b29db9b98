//! Tests that a limit is named as a cause only if it limited something. An app that answers 404 to
//! two users on eight workers has reached no limit.

use serde_json::Value;

use crate::common::why::{WhyRun, says};
use crate::common::{Sandbox, skipped};

/// An app that waits. Under load it answers `/nope` with this status; to single requests it answers
/// correctly.
fn app(sandbox: &Sandbox, status: u16) {
    sandbox.write(
        "app/index.php",
        &format!(
            "<?php usleep(20000);
$file = sys_get_temp_dir() . '/asked';
file_put_contents($file, 'x', FILE_APPEND);
clearstatcache();
$is_loaded = filesize($file) > 60;
if ($is_loaded && $_SERVER['REQUEST_URI'] === '/nope') {{ http_response_code({status}); }}
echo 'ok';
"
        ),
    );
    sandbox.write("urls.txt", "/\n/nope\n");
}

fn run(status: u16, users: u32, runtimes: &str) -> WhyRun {
    let sandbox = Sandbox::new();
    app(&sandbox, status);
    WhyRun::in_sandbox(
        sandbox,
        &format!(
            "app: ./app\nworkers: 8\nwarm_up: 2s\nrounds: 1\n\
             load: {{it: {{concurrency: {users}, for: 3s, urls: urls.txt}}}}\nruntimes: [{runtimes}]\n"
        ),
    )
}

/// Asserts that the app answered `/nope` with `status`, and that the app and no limit is named as
/// cause.
fn is_the_apps(run_result: &WhyRun, runtime: &str, status: u16) {
    let case = run_result.case(runtime);
    let failed = &case["counts"]["failed"][format!("http:{status}")];
    assert!(failed.as_u64() > Some(0), "{runtime}: {:#}", case["counts"]);
    for limit in ["web-server", "workers", "backlog", "upstream", "memory"] {
        run_result.silent(runtime, limit);
    }
    if ![502, 503, 504].contains(&status) {
        let (why, _) = run_result.found(runtime, "app");
        assert_eq!(why["code"], "app_failed", "{why}");
        assert_eq!(why["statuses"][0]["status"], status, "{why}");
    }
}

#[test]
#[ignore = "long: 27 s"]
fn apache_reaches_no_limit_with_two_requests_at_a_time_on_eight_workers() {
    if skipped(&["apache2", "php"]) {
        return;
    }
    for status in [404, 500, 503] {
        is_the_apps(&run(status, 2, "apache-modphp"), "apache-modphp", status);
    }
}

/// Two of eight children are busy. With `ondemand` and `dynamic`, FPM logs a lot about growing.
#[test]
#[ignore = "long: 34 s"]
fn other_runtimes_reach_no_limit_either() {
    if skipped(&["nginx", "php-fpm", "apache2", "lighttpd"]) {
        return;
    }
    let runtimes = "nginx-fpm, dynamic: {use: nginx-fpm, pm: dynamic}, apache-fpm, lighttpd-fcgi";
    let runtimes = runtimes.replace("dynamic: {", "{dynamic: {").replace("dynamic}", "dynamic}}");
    let run_result = run(404, 2, &runtimes);
    for runtime in ["nginx-fpm", "dynamic", "apache-fpm", "lighttpd-fcgi"] {
        is_the_apps(&run_result, runtime, 404);
    }
}

/// The same runtime and the same 404, but more users than workers.
#[test]
fn a_limit_that_was_reached_is_named() {
    if skipped(&["apache2", "php"]) {
        return;
    }
    let run_result = run(404, 24, "apache-modphp");
    let (why, _) = run_result.found("apache-modphp", "web-server");
    assert!(says(&why, "server reached MaxRequestWorkers"), "{why}");
    let why: &Value = &run_result.case("apache-modphp")["why"];
    assert!(why.to_string().contains("\"app\""), "{why:#}");
}
