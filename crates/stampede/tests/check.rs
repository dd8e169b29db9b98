//! `stampede check` end to end: faults planted in apps, real workers, the right request named.

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{Place, finish, skipped, stderr, stdout};
use serde_json::Value;

const LIMIT: Duration = Duration::from_secs(300);
/// Enough for every fault here.
const TOURS: &str = "in-order,interleaved";

fn app(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/check_apps").join(name)
}

/// A worker runtime that is here; its programs are no Debian packages.
fn workers() -> Vec<&'static str> {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_stampede"))
        .args(["runtimes", "--json"])
        .output()
        .expect("the runtimes");
    let listed: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let is_here = |name: &str| {
        let all = listed.as_array().expect("a list").iter();
        all.filter(|one| one["name"] == name).any(|one| one["state"]["found"].is_object())
    };
    ["roadrunner", "frankenphp-worker"].into_iter().filter(|name| is_here(name)).collect()
}

/// Whether what every test needs is not here.
fn lacks() -> bool {
    if skipped(&["nginx", "php-fpm", "php"]) {
        return true;
    }
    if workers().is_empty() {
        println!("SKIPPED: neither RoadRunner nor FrankenPHP is here");
    }
    workers().is_empty()
}

/// A check of one app, and its report.
struct Checked {
    report: Value,
    code: Option<i32>,
    text: String,
    place: Place,
}

impl Checked {
    fn of(name: &str, urls: &str, more: &[&str]) -> Checked {
        let place = Place::new();
        let runtimes = workers().join(",");
        let folder = app(name).display().to_string();
        let mut args = vec!["check", "--app", &folder, "--runtime", &runtimes, "--seed", "7"];
        if !urls.is_empty() {
            place.write("urls.txt", urls);
            args.extend(["--urls", "urls.txt"]);
        }
        args.extend(["--tours", TOURS, "--out", "out"]);
        args.extend(more);
        let output = finish(place.stampede(&args), LIMIT);
        let text = stdout(&output) + &stderr(&output);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{name}: {text}");
        let report =
            std::fs::read_to_string(place.path().join("out/check.json")).expect("a report");
        let report = serde_json::from_str(&report).expect("JSON");
        assert_eq!(place.left_behind(), Vec::<String>::new(), "{name}");
        Checked { report, code: output.status.code(), text, place }
    }

    fn runtimes(&self) -> &Vec<Value> {
        self.report["runtimes"].as_array().expect("runtimes")
    }

    /// Of each runtime: a finding of this kind whose last step is this request.
    fn finds(&self, kind: &str, request: &str) {
        for runtime in self.runtimes() {
            let findings = runtime["findings"].as_array().expect("findings");
            let is_found = findings.iter().any(|one| {
                one["kind"] == kind
                    && one["is_repeatable"] == true
                    && last(one).starts_with(request)
            });
            assert!(is_found, "no {kind} by {request} on {}: {}", runtime["runtime"], self.text);
            assert_eq!(runtime["verdict"]["is"], "not-safe", "{}", self.text);
        }
        assert_eq!(self.code, Some(1), "{}", self.text);
    }

    fn finds_nothing(&self) {
        for runtime in self.runtimes() {
            assert_eq!(runtime["findings"].as_array().map(Vec::len), Some(0), "{}", self.text);
            assert_eq!(runtime["verdict"]["is"], "safe", "{}", self.text);
        }
        assert_eq!(self.code, Some(0), "{}", self.text);
    }

    /// The fewest steps, as method and target, of the first finding of a kind on the first runtime.
    fn steps(&self, kind: &str) -> Vec<String> {
        let findings = self.runtimes()[0]["findings"].as_array().expect("findings");
        let found = findings.iter().find(|one| one["kind"] == kind).expect("a finding");
        let steps = found["steps"].as_array().expect("steps").iter();
        steps.map(|step| step["request"]["target"].as_str().expect("a target").to_owned()).collect()
    }
}

fn last(finding: &Value) -> String {
    let steps = finding["steps"].as_array().expect("steps");
    let step = steps.last().map(|step| step["request"]["target"].clone()).unwrap_or_default();
    step.as_str().unwrap_or_default().to_owned()
}

#[test]
fn one_users_data_in_anothers_answer_is_found_and_comes_first() {
    if lacks() {
        return;
    }
    let checked =
        Checked::of("leaks-user", "/\n/about\n/account?user={user}\n", &["--growth", "0"]);
    checked.finds("leak", "/account");
    checked.finds("kept", "/account");
    assert_eq!(checked.runtimes()[0]["findings"][0]["kind"], "leak", "{}", checked.text);
    assert_eq!(checked.steps("leak").len(), 2, "one user first, then the other: {}", checked.text);
    let places = checked.runtimes()[0]["findings"][0]["places"].to_string();
    assert!(places.contains("Visitor"), "the code's line is named: {places}");
}

#[test]
fn a_setting_that_stays_is_found_with_the_request_that_set_it() {
    if lacks() {
        return;
    }
    let checked = Checked::of("sets-timezone", "", &["--growth", "0"]);
    for runtime in checked.runtimes() {
        let findings = runtime["findings"].as_array().expect("findings");
        let found = findings.iter().find(|one| one["about"] == "timezone").expect("the time zone");
        let steps = found["steps"].to_string();
        assert!(steps.contains("/berlin"), "{steps}");
        assert_eq!(found["steps"].as_array().map(Vec::len), Some(2), "{steps}");
        assert_eq!(found["is_repeatable"], true, "{}", checked.text);
    }
    assert_eq!(checked.code, Some(1));
    seen_again(&checked, "setting");
}

/// Its last finding's requests alone show it again, and one that is not there is said.
fn seen_again(checked: &Checked, what: &str) {
    let count: usize =
        checked.runtimes().iter().map(|one| one["findings"].as_array().map_or(0, Vec::len)).sum();
    let again = |number: usize| {
        let number = number.to_string();
        finish(checked.place.stampede(&["check", "--finding", &number, "--of", "out"]), LIMIT)
    };
    let output = again(count);
    let text = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{what}: {text}");
    assert!(text.contains("it shows again"), "{what}: {text}");
    let output = again(count + 1);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("has no finding"), "{}", stderr(&output));
}

#[test]
fn what_a_baseline_has_is_accepted() {
    if lacks() {
        return;
    }
    let first = Checked::of("exits", "", &["--growth", "0"]);
    let baseline = first.place.path().join("out/check.json").display().to_string();
    let known = Checked::of("exits", "", &["--growth", "0", "--baseline", &baseline]);
    assert_eq!(known.code, Some(0), "{}", known.text);
    for runtime in known.runtimes() {
        assert_eq!(runtime["findings"][0]["is_accepted"], true, "{}", known.text);
        assert_eq!(runtime["verdict"]["is"], "safe", "{}", known.text);
    }
}

#[test]
fn a_request_that_ends_php_is_found_though_its_answer_is_right() {
    if lacks() {
        return;
    }
    let checked = Checked::of("exits", "", &["--growth", "0"]);
    checked.finds("death", "/thanks");
    assert_eq!(checked.steps("death"), ["/thanks"]);
}

#[test]
fn what_grows_is_told_with_its_request_and_after_how_many_a_worker_is_replaced() {
    if lacks() {
        return;
    }
    let checked = Checked::of("grows-memory", "", &["--growth", "4000"]);
    for runtime in checked.runtimes() {
        assert_eq!(runtime["verdict"]["is"], "safe-with", "{}", checked.text);
        let max_requests = runtime["verdict"]["max_requests"].as_u64().expect("a number");
        // 128 MiB hold some 52 000 times 2.5 KiB; one request of three grows, and FrankenPHP's own
        // memory is of the same process.
        assert!((20_000..160_000).contains(&max_requests), "{}", checked.text);
        let finding = &runtime["findings"][0];
        assert_eq!(last(finding), "/search", "{}", checked.text);
        assert!(finding["evidence"].to_string().contains("App\\\\Log::$lines"), "{finding}");
    }
    seen_again(&checked, "growth");
}

#[test]
fn a_clean_app_with_tokens_times_and_random_text_is_safe() {
    if lacks() {
        return;
    }
    Checked::of("clean", "", &["--growth", "2000"]).finds_nothing();
}

/// Every planted fault; minutes: `cargo test -p stampede --test check -- --ignored`.
#[test]
#[ignore = "minutes"]
fn every_planted_fault_is_found_with_its_request() {
    if lacks() {
        return;
    }
    let faults = [
        ("leaks-header", "leak", "/headers"),
        ("static-counter", "answer", "/visits"),
        ("sets-locale", "answer", "/"),
        ("sets-ini", "answer", "/"),
        ("sets-handler", "answer", "/list"),
        ("changes-env", "answer", "/"),
        ("changes-dir", "state", "/files"),
        ("changes-umask", "state", ""),
        ("leaves-buffer", "state", "/report"),
        ("open-transaction", "answer", "/order"),
        ("fatal", "death", "/heavy"),
        ("slow", "death", "/report"),
    ];
    for (name, kind, request) in faults {
        Checked::of(name, "", &["--growth", "0"]).finds(kind, request);
    }
    let held = Checked::of("holds-token", "/\n/account?user={user}\n", &["--growth", "0"]);
    held.finds("kept", "/account");
}
