//! Tests `stampede check` end to end: state of database connections, and growth that takes little
//! memory.

use std::time::Duration;

use serde_json::Value;

use crate::common::{Sandbox, check_app, finish, skipped, stderr, stdout, workers};

const LIMIT: Duration = Duration::from_secs(300);

/// Checks an app on the installed workers. `None`: there is no worker, or not what the app needs.
fn checked(app: &str, more: &[&str]) -> Option<(Value, String)> {
    if skipped(&["nginx", "php-fpm", "php"]) {
        return None;
    }
    let runtimes = workers().join(",");
    if runtimes.is_empty() {
        return None;
    }
    let sandbox = Sandbox::new();
    let directory = check_app(app, &sandbox).display().to_string();
    let mut args = vec!["check", "--app", &directory, "--runtime", &runtimes, "--seed", "7"];
    args.extend(["--passes", "in-order,reversed", "--out", "out"]);
    args.extend(more);
    let output = finish(sandbox.stampede(&args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    if output.status.code() == Some(2) && text.contains("does not have") {
        println!("SKIPPED: {text}");
        return None;
    }
    assert!(matches!(output.status.code(), Some(0 | 1)), "{app}: {text}");
    let report = std::fs::read_to_string(sandbox.path().join("out/check.json")).expect("a report");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new(), "{app}");
    Some((serde_json::from_str(&report).expect("JSON"), text))
}

fn runtimes(report: &Value) -> &Vec<Value> {
    report["runtimes"].as_array().expect("runtimes")
}

fn finding<'a>(runtime: &'a Value, about: &str) -> &'a Value {
    let findings = runtime["findings"].as_array().expect("findings");
    let found = findings.iter().find(|one| one["about"] == about);
    found.unwrap_or_else(|| panic!("nothing about {about}: {findings:#?}"))
}

fn targets(finding: &Value) -> Vec<&str> {
    let steps = finding["steps"].as_array().expect("steps").iter();
    steps.map(|step| step["request"]["target"].as_str().expect("a target")).collect()
}

/// Asserts that the request that set the state comes first, and that the finding is repeatable.
fn is_set_by(runtime: &Value, about: &str, request: &str) {
    let found = finding(runtime, about);
    assert_eq!(found["kind"], "state", "{found:#}");
    assert_eq!(found["is_repeatable"], true, "{found:#}");
    let targets = targets(found);
    assert_eq!((targets.len(), targets[0]), (2, request), "{found:#}");
}

#[test]
#[ignore = "long: 37 s"]
fn state_left_on_a_persistent_connection_is_found() {
    let Some((report, text)) = checked("sets-session", &["--growth", "0"]) else { return };
    for runtime in runtimes(&report) {
        is_set_by(runtime, "db:foreign_keys App\\Shop::$db", "/import");
        is_set_by(runtime, "db:ATTR_DEFAULT_FETCH_MODE App\\Shop::$db", "/export");
        let broken = finding(runtime, "GET /teas");
        assert_eq!((&broken["kind"], targets(broken)[0]), (&"answer".into(), "/export"), "{text}");
        assert_eq!(runtime["verdict"]["is"], "not-safe", "{text}");
    }
    let lines = report["code"]["suspects"].to_string();
    assert!(lines.contains("PRAGMA foreign_keys"), "{lines}");
}

#[test]
#[ignore = "long: 164 s"]
fn state_left_in_a_database_session_is_found_and_sent_again() {
    for [app, setting, by, breaks] in [
        ["sets-session-mariadb", "sql_mode", "/import", "GET /check"],
        ["sets-session-pgsql", "search_path", "/archive", "GET /tea"],
    ] {
        let Some((report, text)) = checked(app, &["--growth", "0"]) else { continue };
        for runtime in runtimes(&report) {
            is_set_by(runtime, &format!("db:{setting} App\\Shop::$db"), by);
            let broken = finding(runtime, breaks);
            assert_eq!((&broken["kind"], targets(broken)[0]), (&"answer".into(), by), "{text}");
        }
    }
}

#[test]
#[ignore = "long: 52 s"]
fn leaked_connections_are_counted_until_none_are_left() {
    let Some((report, text)) = checked("keeps-connections", &["--growth", "2000"]) else { return };
    for runtime in runtimes(&report) {
        let found = finding(runtime, "GET /report");
        assert_eq!(found["kind"], "growth", "{text}");
        let what = found["what"].as_str().expect("words");
        assert!(what.starts_with("connections to databases grow: 1 with each"), "{text}");
        assert!(found["evidence"].to_string().contains("App\\\\Reports::$connections"), "{text}");
        let growth = runtime["growth"].as_array().expect("growth").iter();
        let counted = growth.clone().find(|one| one["of"] == "connections").expect("connections");
        // The server allows about twenty connections, and every fourth request takes one.
        let max_requests = counted["max_requests"].as_u64().expect("a number");
        assert!((20..=80).contains(&max_requests), "{counted}");
    }
}

#[test]
#[ignore = "long: 29 s"]
fn growth_too_small_to_see_in_memory_is_found_by_its_name() {
    let Some((report, text)) = checked("counts-static", &["--growth", "4000"]) else { return };
    for runtime in runtimes(&report) {
        let found = finding(runtime, "GET /search");
        assert_eq!((&found["kind"], targets(found)), (&"growth".into(), vec!["/search"]), "{text}");
        let evidence = found["evidence"].as_str().expect("evidence");
        assert!(evidence.contains("App\\Searches::$marks holds"), "{text}");
        assert!(!evidence.contains("$menu"), "a cache that is full: {text}");
        assert_eq!(runtime["verdict"]["is"], "safe-with", "{text}");
    }
}
