//! Tests `stampede check` end to end with real workers: it must find faults planted in apps and
//! name the request that causes each.
//!
//! `cargo test` runs one line of the table. The whole table runs with `cargo test -p stampede
//! --test it check:: -- --include-ignored` (half an hour on two cores); without RoadRunner and
//! FrankenPHP its tests skip themselves.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Sandbox, check_app, finish, skipped, stderr, stdout, workers};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(600);
/// Enough passes to find every fault here.
const PASSES: &str = "in-order,interleaved";

/// A planted fault, and what a check must find of it.
struct Fault {
    kind: &'static str,
    /// Paths of the smallest set of requests: the first causes the fault, the last shows it; `*` is
    /// any.
    steps: &'static [&'static str],
    /// The requests to send; empty: those that the app's links lead to.
    urls: &'static str,
    passes: &'static str,
    /// Additional flags.
    more: &'static [&'static str],
    /// What stays or grows, named as in the report; empty: nothing that the watch sees.
    about: &'static str,
    /// The only runtime on which this is a fault; `None`: a fault on all.
    only_on: Option<&'static str>,
}

const fn fault(kind: &'static str, steps: &'static [&'static str]) -> Fault {
    let (more, only_on) = (&["--growth", "0"], None);
    Fault { kind, steps, urls: "", passes: PASSES, more, about: "", only_on }
}

/// A fault that needs thousands of requests to one worker. `about` is what grows.
const fn grows(about: &'static str, by: &'static [&'static str]) -> Fault {
    Fault { about, more: &["--growth", "4000"], ..fault("growth", by) }
}

impl Fault {
    /// The fault's first request leaves this state behind for later requests.
    const fn leaves(self, about: &'static str) -> Fault {
        Fault { about, ..self }
    }
}

/// A fault that occurs on RoadRunner only.
const fn on_roadrunner(kind: &'static str, steps: &'static [&'static str]) -> Fault {
    Fault { only_on: Some("roadrunner"), ..fault(kind, steps) }
}

const ACCOUNT: &str = "/\n/about\n/account?user={user}\n";
/// Uploads a file that has the user's name, then sends a request that every user may send.
const UPLOAD: &str = r#"{"path": "/upload", "headers": {"Content-Type": "multipart/form-data; boundary=x"}, "body": "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{user}.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--x--\r\n"}
{"path": "/files", "method": "GET"}
"#;
const UPLOAD_KEPT: Fault = Fault {
    urls: UPLOAD,
    more: &["--growth", "0", "--methods", "GET,POST"],
    ..fault("leak", &["/upload", "/files"])
};

/// Settings of a kept connection, and the place that holds the connection.
const FOREIGN_KEYS: &str = "db:foreign_keys App\\Shop->db";
const QUERY_ONLY: &str = "db:query_only Illuminate\\Database\\SQLiteConnection->pdo";

/// Makes a test of each line: the name of the app's directory, with `_` in place of `-`, and its
/// fault.
macro_rules! planted {
    ($($(#[$tier:meta])? $app:ident: $fault:expr;)*) => {$(
        #[test]
        $(#[$tier])?
        fn $app() {
            found(&stringify!($app).replace('_', "-"), &$fault);
        }
    )*};
}

planted! {
    #[ignore = "long: 30 s"] leaks_user_symfony: Fault { urls: ACCOUNT, ..fault("leak", &["/account", "/account"]) };
    #[ignore = "long: 30 s"] leaks_user_laravel: Fault { urls: ACCOUNT, ..fault("leak", &["/account", "/account"]) };
    exits: fault("death", &["/thanks"]);

    #[ignore = "long: 30 s"] leaks_static_laravel: Fault {
        urls: ACCOUNT,
        ..fault("leak", &["/account", "/account"])
    };
    #[ignore = "long: 30 s"] leaks_auth_laravel: Fault {
        urls: ACCOUNT,
        ..fault("leak", &["/account", "/account"])
    };
    #[ignore = "long: 30 s"] leaks_header: fault("leak", &["/headers", "/headers"]);
    #[ignore = "long: 30 s"] leaks_header_symfony: fault("leak", &["/headers", "/headers"]);
    #[ignore = "long: 30 s"] leaks_header_laravel: fault("leak", &["/headers", "/headers"]);
    #[ignore = "long: 30 s"] keeps_header: Fault { urls: ACCOUNT, ..fault("leak", &["/account", "*"]) };
    #[ignore = "long: 30 s"] keeps_header_symfony: Fault {
        urls: ACCOUNT,
        ..fault("leak", &["/account", "*"])
    };
    #[ignore = "long: 30 s"] keeps_header_laravel: Fault {
        urls: ACCOUNT,
        ..fault("leak", &["/account", "*"])
    };
    #[ignore = "long: 30 s"] upload_kept: UPLOAD_KEPT;
    #[ignore = "long: 30 s"] upload_kept_symfony: UPLOAD_KEPT;
    #[ignore = "long: 30 s"] upload_kept_laravel: UPLOAD_KEPT;
    #[ignore = "long: 30 s"] holds_token: Fault { urls: ACCOUNT, ..fault("kept", &["/account"]) };
    #[ignore = "long: 30 s"] holds_token_symfony: Fault { urls: ACCOUNT, ..fault("kept", &["/account"]) };
    #[ignore = "long: 30 s"] holds_token_laravel: Fault { urls: ACCOUNT, ..fault("kept", &["/account"]) };

    #[ignore = "long: 30 s"] exits_symfony: fault("death", &["/thanks"]);
    #[ignore = "long: 30 s"] exits_laravel: fault("death", &["/thanks"]);
    #[ignore = "long: 30 s"] fatal: fault("death", &["/heavy"]);
    #[ignore = "long: 30 s"] fatal_symfony: fault("death", &["/heavy"]);
    #[ignore = "long: 30 s"] fatal_laravel: fault("death", &["/heavy"]);
    #[ignore = "long: 30 s"] slow: fault("death", &["/report"]);
    #[ignore = "long: 30 s"] slow_symfony: fault("death", &["/report"]);
    #[ignore = "long: 30 s"] slow_laravel: fault("death", &["/report"]);
    #[ignore = "long: 30 s"] segfault: fault("death", &["/crash"]);
    #[ignore = "long: 30 s"] segfault_symfony: fault("death", &["/crash"]);
    #[ignore = "long: 30 s"] segfault_laravel: fault("death", &["/crash"]);
    #[ignore = "long: 30 s"] closes_pipe: on_roadrunner("death", &["/quiet"]);
    #[ignore = "long: 30 s"] closes_pipe_symfony: on_roadrunner("death", &["/quiet"]);
    #[ignore = "long: 30 s"] closes_pipe_laravel: on_roadrunner("death", &["/quiet"]);
    #[ignore = "long: 30 s"] output_before_headers: on_roadrunner("answer", &["/old"]);
    #[ignore = "long: 30 s"] output_before_headers_symfony: on_roadrunner("answer", &["/old"]);
    #[ignore = "long: 30 s"] output_before_headers_laravel: on_roadrunner("answer", &["/old"]);

    #[ignore = "long: 30 s"] static_counter: fault("answer", &["/visits", "/visits"]);
    #[ignore = "long: 30 s"] static_counter_symfony: fault("answer", &["/visits", "/visits"]);
    #[ignore = "long: 30 s"] static_counter_laravel: fault("answer", &["/visits", "/visits"]);
    #[ignore = "long: 30 s"] sets_global: fault("answer", &["/dark", "/"]).leaves("globals:theme");
    #[ignore = "long: 30 s"] sets_global_symfony: fault("answer", &["/dark", "/"]).leaves("globals:theme");
    #[ignore = "long: 30 s"] sets_global_laravel: fault("answer", &["/dark", "/"]).leaves("globals:theme");
    #[ignore = "long: 30 s"] sets_superglobal: fault("answer", &["/preview", "/"]).leaves("_ENV:SHOP_DRAFTS");
    #[ignore = "long: 30 s"] sets_superglobal_symfony: fault("answer", &["/preview", "/"]).leaves("_ENV:SHOP_DRAFTS");
    #[ignore = "long: 30 s"] sets_superglobal_laravel: fault("answer", &["/preview", "/"]).leaves("_ENV:SHOP_DRAFTS");
    #[ignore = "long: 30 s"] sets_config_laravel: fault("answer", &["/sale", "/"]);
    #[ignore = "long: 30 s"] sets_locale: fault("answer", &["/german", "/"]).leaves("locale");
    #[ignore = "long: 30 s"] sets_locale_symfony: fault("answer", &["/german", "/"]).leaves("locale");
    #[ignore = "long: 30 s"] sets_locale_laravel: fault("answer", &["/german", "/"]);
    #[ignore = "long: 30 s"] sets_timezone: fault("answer", &["/berlin", "/"]).leaves("timezone");
    #[ignore = "long: 30 s"] sets_timezone_symfony: fault("answer", &["/berlin", "/"]).leaves("timezone");
    #[ignore = "long: 30 s"] sets_timezone_laravel: fault("answer", &["/berlin", "/"]).leaves("timezone");
    #[ignore = "long: 30 s"] sets_ini: fault("answer", &["/rough", "/"]).leaves("ini:precision");
    #[ignore = "long: 30 s"] sets_ini_symfony: fault("answer", &["/rough", "/"]).leaves("ini:precision");
    #[ignore = "long: 30 s"] sets_ini_laravel: fault("answer", &["/rough", "/"]).leaves("ini:precision");
    #[ignore = "long: 30 s"] sets_handler: fault("answer", &["/strict", "/list"]).leaves("error_handler");
    #[ignore = "long: 30 s"] sets_handler_symfony: fault("answer", &["/strict", "/list"]).leaves("error_handler");
    #[ignore = "long: 30 s"] sets_handler_laravel: fault("answer", &["/strict", "/list"]).leaves("error_handler");
    #[ignore = "long: 30 s"] sets_exception_handler: fault("state", &["/import", "*"]).leaves("exception_handler");
    #[ignore = "long: 30 s"] sets_exception_handler_symfony: fault("state", &["/import", "*"]).leaves("exception_handler");
    #[ignore = "long: 30 s"] sets_exception_handler_laravel: fault("state", &["/import", "*"]).leaves("exception_handler");
    #[ignore = "long: 30 s"] changes_env: fault("answer", &["/staging", "/"]).leaves("env:SHOP_STAGE");
    #[ignore = "long: 30 s"] changes_env_symfony: fault("answer", &["/staging", "/"]).leaves("env:SHOP_STAGE");
    #[ignore = "long: 30 s"] changes_env_laravel: fault("answer", &["/staging", "/"]).leaves("env:SHOP_STAGE");
    #[ignore = "long: 30 s"] open_transaction: fault("answer", &["/order", "/order"]).leaves("transactions");
    #[ignore = "long: 30 s"] open_transaction_symfony: fault("answer", &["/order", "/order"]).leaves("transactions");
    #[ignore = "long: 30 s"] open_transaction_laravel: fault("answer", &["/order", "/"]).leaves("transactions");
    #[ignore = "long: 30 s"] sets_session_symfony: fault("answer", &["/import", "/orders"]).leaves(FOREIGN_KEYS);
    // That `/import` has changed a connection shows only if another request has opened it.
    #[ignore = "long: 30 s"] sets_session_laravel: Fault {
        passes: "in-order,reversed",
        ..fault("answer", &["/import", "/look"]).leaves(QUERY_ONLY)
    };
    #[ignore = "long: 30 s"] changes_dir: fault("state", &["/files"]).leaves("cwd GET /files");
    #[ignore = "long: 30 s"] changes_dir_symfony: fault("state", &["/files"]).leaves("cwd GET /files");
    #[ignore = "long: 30 s"] changes_dir_laravel: fault("state", &["/files"]).leaves("cwd GET /files");
    #[ignore = "long: 30 s"] changes_umask: fault("answer", &["/private", "/share"]).leaves("umask");
    #[ignore = "long: 30 s"] changes_umask_symfony: fault("answer", &["/private", "/share"]).leaves("umask");
    #[ignore = "long: 30 s"] changes_umask_laravel: fault("answer", &["/private", "/share"]).leaves("umask");
    #[ignore = "long: 30 s"] leaves_buffer: fault("state", &["/report"]).leaves("ob_level GET /report");
    #[ignore = "long: 30 s"] leaves_buffer_symfony: fault("state", &["/report"]).leaves("ob_level GET /report");
    #[ignore = "long: 30 s"] leaves_buffer_laravel: fault("state", &["/report"]).leaves("ob_level GET /report");
    #[ignore = "long: 30 s"] sets_header: on_roadrunner("answer", &["/embed"]);
    #[ignore = "long: 30 s"] sets_header_symfony: on_roadrunner("answer", &["/embed"]);
    #[ignore = "long: 30 s"] sets_header_laravel: on_roadrunner("answer", &["/embed"]);

    #[ignore = "long: 30 s"] grows_memory_symfony: grows("heap", &["/search"]);
    #[ignore = "long: 30 s"] grows_memory_laravel: grows("heap", &["/search"]);
    #[ignore = "long: 30 s"] grows_twice: grows("heap", &["/search", "/contact"]);
    #[ignore = "long: 30 s"] grows_files: grows("descriptors", &["/feed"]);
    #[ignore = "long: 30 s"] grows_files_symfony: grows("descriptors", &["/feed"]);
    #[ignore = "long: 30 s"] grows_files_laravel: grows("descriptors", &["/feed"]);
    #[ignore = "long: 30 s"] grows_temp: grows("temporaryfiles", &["/export"]);
    #[ignore = "long: 30 s"] grows_temp_symfony: grows("temporaryfiles", &["/export"]);
    #[ignore = "long: 30 s"] grows_temp_laravel: grows("temporaryfiles", &["/export"]);
    #[ignore = "long: 30 s"] keeps_connections_symfony: grows("connections", &["/report"]);
    #[ignore = "long: 30 s"] keeps_connections_laravel: grows("connections", &["/report"]);
}

/// Checks the app on every runtime that is installed here, or on the only one where it is a fault.
fn found(app: &str, fault: &Fault) {
    if lacks(app) {
        return;
    }
    let begun = Instant::now();
    let checked =
        CheckRun::of(app, fault.urls, &[&["--passes", fault.passes], fault.more].concat());
    for runtime in checked.runtimes() {
        match fault.only_on {
            Some(only) if runtime["runtime"] != only => checked.safe(runtime),
            _ => checked.finds(runtime, fault),
        }
    }
    println!("{app}: {} s", begun.elapsed().as_secs());
}

/// Whether something that the test needs is missing.
fn lacks(app: &str) -> bool {
    if skipped(&["nginx", "php-fpm", "php"]) {
        return true;
    }
    if workers().is_empty() {
        return true;
    }
    let framework = FRAMEWORKS.iter().find(|(name, _)| app.ends_with(name));
    let missing = framework.filter(|(_, file)| !Path::new(file).is_file());
    if let Some((name, _)) = missing {
        println!("SKIPPED: {name} of Debian is not installed here");
    }
    missing.is_some()
}

/// The ending of a directory's name, and a file that exists if Debian's package for it is
/// installed.
const FRAMEWORKS: [(&str, &str); 3] = [
    ("clean-db-symfony", "/usr/share/php/Symfony/Component/Security/Csrf/autoload.php"),
    ("symfony", "/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php"),
    ("laravel", "/usr/share/php/Illuminate/Foundation/Application.php"),
];

/// A finished check of one app, with its report.
struct CheckRun {
    app: String,
    report: Value,
    code: Option<i32>,
    text: String,
    sandbox: Sandbox,
}

impl CheckRun {
    fn of(name: &str, urls: &str, more: &[&str]) -> CheckRun {
        let sandbox = Sandbox::new();
        let runtimes = workers().join(",");
        let directory = check_app(name, &sandbox).display().to_string();
        let mut args = vec!["check", "--app", &directory, "--runtime", &runtimes, "--out", "out"];
        if !urls.is_empty() {
            sandbox.write("urls.txt", urls);
            args.extend(["--traffic", "urls.txt"]);
        }
        if !more.contains(&"--seed") {
            args.extend(["--seed", "7"]);
        }
        args.extend(more);
        let output = finish(sandbox.stampede(&args), LIMIT);
        let text = stdout(&output) + &stderr(&output);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{name}: {text}");
        let report =
            std::fs::read_to_string(sandbox.path().join("out/check.json")).expect("a report");
        let report = serde_json::from_str(&report).expect("JSON");
        assert_eq!(sandbox.left_behind(), Vec::<String>::new(), "{name}");
        CheckRun { app: name.to_owned(), report, code: output.status.code(), text, sandbox }
    }

    fn runtimes(&self) -> &Vec<Value> {
        self.report["runtimes"].as_array().expect("runtimes")
    }

    /// The fault is found and shows again with exactly these requests. All other findings have the
    /// same cause.
    fn finds(&self, runtime: &Value, fault: &Fault) {
        let (app, text, on) = (&self.app, &self.text, &runtime["runtime"]);
        let all = findings(runtime);
        let is_it = |one: &&Value| one["kind"] == fault.kind && is_like(&paths(one), fault.steps);
        let found = all.iter().find(is_it);
        let found = found.unwrap_or_else(|| panic!("{app}: no {} on {on}: {text}", fault.kind));
        assert_eq!(found["is_repeatable"], true, "{app} on {on}: {text}");
        let is_found = fault.about.is_empty() || all.iter().any(|one| names_fault(one, fault));
        assert!(is_found, "{app} on {on}: nothing of {}: {text}", fault.about);
        for one in all {
            let is_of_it = paths(one).iter().any(|path| is_like(&[path], &fault.steps[..1]));
            assert!(is_of_it, "{app} on {on}: {} is another's: {text}", one["what"]);
        }
        let is = runtime["verdict"]["is"].as_str().expect("a verdict");
        let right =
            if fault.kind == "growth" { &["not-safe", "safe-with"][..] } else { &["not-safe"] };
        assert!(right.contains(&is), "{app} on {on}: {text}");
        assert_eq!(self.code, Some(1), "{app}: {text}");
    }

    fn safe(&self, runtime: &Value) {
        let on = &runtime["runtime"];
        assert_eq!(findings(runtime).len(), 0, "{} on {on}: {}", self.app, self.text);
        assert_eq!(runtime["verdict"]["is"], "safe", "{} on {on}: {}", self.app, self.text);
    }

    /// The last finding's requests alone show it again. A number without a finding is an error.
    fn seen_again(&self) {
        let count: usize = self.runtimes().iter().map(|one| findings(one).len()).sum();
        let again = |number: usize| {
            let number = number.to_string();
            finish(self.sandbox.stampede(&["check", "--finding", &number, "--of", "out"]), LIMIT)
        };
        let output = again(count);
        let text = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{}: {text}", self.app);
        assert!(text.contains("it shows again"), "{}: {text}", self.app);
        let output = again(count + 1);
        assert_eq!(output.status.code(), Some(2));
        let error = code_or("no_finding", "has no finding");
        assert!(stderr(&output).contains(error), "{}", stderr(&output));
    }
}

fn findings(runtime: &Value) -> &Vec<Value> {
    runtime["findings"].as_array().expect("findings")
}

/// Whether every record of the finding names what stays or grows, and the request that causes it.
fn names_fault(finding: &Value, fault: &Fault) -> bool {
    let fingerprint = finding["fingerprint"].as_str().expect("a fingerprint");
    let grows = format!(" growth {} ", fault.about);
    let is_about = match fault.kind {
        "growth" => fingerprint.contains(&grows) && is_like(&paths(finding), fault.steps),
        _ => finding["kind"] == "state" && finding["about"] == fault.about,
    };
    is_about && paths(finding)[0] == fault.steps[0] && finding["is_repeatable"] == true
}

/// The paths of a finding's steps.
fn paths(finding: &Value) -> Vec<&str> {
    let steps = finding["steps"].as_array().expect("steps").iter();
    let targets = steps.map(|step| step["request"]["target"].as_str().expect("a target"));
    targets.map(|target| target.split('?').next().unwrap_or_default()).collect()
}

fn is_like(paths: &[&str], wanted: &[&str]) -> bool {
    paths.len() == wanted.len()
        && paths.iter().zip(wanted).all(|(path, wanted)| *wanted == "*" || path == wanted)
}

#[test]
#[ignore = "long: 24 s"]
fn one_users_data_comes_first_and_names_the_line() {
    if lacks("leaks-user") {
        return;
    }
    let checked = CheckRun::of("leaks-user", ACCOUNT, &["--growth", "0", "--passes", PASSES]);
    for runtime in checked.runtimes() {
        checked.finds(runtime, &fault("leak", &["/account", "/account"]));
        checked.finds(runtime, &fault("kept", &["/account"]));
        let first = &findings(runtime)[0];
        assert_eq!(first["kind"], "leak", "{}", checked.text);
        let places = first["places"].to_string();
        assert!(places.contains("Visitor"), "the code's line is named: {places}");
    }
}

#[test]
#[ignore = "long: 31 s"]
fn a_leaked_setting_is_found_with_the_request_that_set_it() {
    if lacks("sets-timezone") {
        return;
    }
    let checked = CheckRun::of("sets-timezone", "", &["--growth", "0", "--passes", PASSES]);
    for runtime in checked.runtimes() {
        let found = findings(runtime).iter().find(|one| one["about"] == "timezone");
        let found = found.expect("the time zone");
        assert!(is_like(&paths(found), &["/berlin", "*"]), "{}", checked.text);
        assert_eq!(found["is_repeatable"], true, "{}", checked.text);
    }
    checked.seen_again();
}

#[test]
#[ignore = "long: 34 s"]
fn findings_of_a_baseline_are_accepted() {
    if lacks("exits") {
        return;
    }
    let passes = ["--growth", "0", "--passes", "in-order"];
    let first = CheckRun::of("exits", "", &passes);
    let baseline = first.sandbox.path().join("out/check.json").display().to_string();
    let known = CheckRun::of("exits", "", &[&passes[..], &["--baseline", &baseline]].concat());
    assert_eq!(known.code, Some(0), "{}", known.text);
    for runtime in known.runtimes() {
        assert_eq!(runtime["findings"][0]["is_accepted"], true, "{}", known.text);
        assert_eq!(runtime["verdict"]["is"], "safe", "{}", known.text);
    }
}

#[test]
#[ignore = "long: 34 s"]
fn growth_is_reported_with_its_request_and_the_requests_until_a_worker_is_replaced() {
    if lacks("grows-memory") {
        return;
    }
    let checked = CheckRun::of("grows-memory", "", &["--growth", "4000", "--passes", PASSES]);
    for runtime in checked.runtimes() {
        checked.finds(runtime, &grows("heap", &["/search"]));
        assert_eq!(runtime["verdict"]["is"], "safe-with", "{}", checked.text);
        let max_requests = runtime["verdict"]["max_requests"].as_u64().expect("a number");
        // 128 MiB hold about 52 000 times 2.5 KiB. One request of three adds that much, and
        // FrankenPHP's own memory counts in the same process.
        assert!((20_000..160_000).contains(&max_requests), "{}", checked.text);
        let evidence = findings(runtime)[0]["evidence"].to_string();
        assert!(evidence.contains("App\\\\Log::$lines"), "{evidence}");
    }
    checked.seen_again();
}

#[test]
fn a_clean_app_with_tokens_times_and_random_text_is_safe() {
    clean("clean", 1..=1);
}

/// Checks that nothing is found with any of the seeds, on all passes.
fn clean(app: &str, seeds: std::ops::RangeInclusive<u64>) {
    if lacks(app) {
        return;
    }
    for seed in seeds {
        let begun = Instant::now();
        let checked = CheckRun::of(app, "", &["--growth", "2000", "--seed", &seed.to_string()]);
        checked.runtimes().iter().for_each(|runtime| checked.safe(runtime));
        assert_eq!(checked.code, Some(0), "{app} by seed {seed}: {}", checked.text);
        assert_eq!(checked.report["tried"]["passes"].as_array().map(Vec::len), Some(5));
        println!("{app} by seed {seed}: {} s", begun.elapsed().as_secs());
    }
}

#[test]
#[ignore = "long: 4 min"]
fn a_clean_app_is_safe_with_ten_seeds() {
    clean("clean", 1..=10);
}

#[test]
#[ignore = "long: 6 min"]
fn a_clean_app_with_a_database_is_safe_with_ten_seeds() {
    clean("clean-db", 1..=10);
}

#[test]
#[ignore = "long: 9 min"]
fn a_clean_app_of_symfony_is_safe_with_ten_seeds() {
    clean("clean-symfony", 1..=5);
    clean("clean-db-symfony", 1..=10);
}

#[test]
#[ignore = "long: 9 min"]
fn a_clean_app_of_laravel_is_safe_with_ten_seeds() {
    clean("clean-laravel", 1..=5);
    clean("clean-db-laravel", 1..=10);
}
