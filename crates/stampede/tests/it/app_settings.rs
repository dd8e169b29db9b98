//! Tests that what is said about an app reaches it on runtimes of every kind of server, and that an
//! app which writes into its own directory works as it does for its owner.

use std::path::Path;
use std::time::Duration;

use stampede_plan::app_settings::AppSettings;
use stampede_plan::model::AppChoice;
use stampede_stack::ProcessStack;

use crate::bench_support::Bench;
use crate::common::{Sandbox, assert_measured, fact, finish, skipped, stderr, stdout, trials};
use crate::words::code_or;

/// One that needs no web server, and one for each kind of web server.
const RUNTIMES: [&str; 3] = ["php-builtin", "nginx-fpm", "apache-modphp"];
const WITHIN: Duration = Duration::from_secs(10);
const LIMIT: Duration = Duration::from_secs(60);

fn app(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("directory");
    for (file, text) in files {
        let path = place.path().join(file);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("directory");
        std::fs::write(path, text).expect("file");
    }
    place
}

/// Starts `directory` with `settings` on each of the runtimes that are installed.
fn on_each(directory: &Path, settings: AppSettings, check: impl Fn(&str, &ProcessStack)) {
    let choice = AppChoice { settings, ..AppChoice::directory(directory.to_path_buf()) };
    let bench = Bench::new(&choice);
    for name in RUNTIMES {
        let Some(running) = bench.start(name, &[]) else { continue };
        check(name, &running);
        running.stop().expect("stopped");
    }
}

#[test]
fn what_is_said_about_requests_reaches_the_app() {
    let index = "<?php header('Content-Type: text/plain');\
                 if ($_SERVER['HTTP_HOST'] !== 'shop.test') { http_response_code(400); exit; }\
                 if (($_SERVER['HTTPS'] ?? '') !== 'on') { header('Location: https://shop.test/', true, 301); exit; }\
                 if (($_COOKIE['SID'] ?? '') !== '5f1c77aa') { http_response_code(403); exit; }\
                 echo $_SERVER['HTTP_X_SHOP'], ' ', getenv('SHOP'), ' ', $_SERVER['HTTP_X_FORWARDED_PROTO'];";
    let place = app(&[("htdocs/index.php", index)]);
    let pair = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
    let settings = AppSettings {
        host: Some("shop.test".to_owned()),
        https: Some(true),
        headers: pair("X-Shop", "one"),
        cookies: pair("SID", "5f1c77aa"),
        env: pair("SHOP", "two"),
        ..AppSettings::default()
    };
    on_each(place.path(), settings, |name, running| {
        let answer = running.ask(WITHIN).expect("an answer");
        assert_eq!((answer.status, answer.body.as_str()), (200, "one two https"), "{name}");
    });
}

#[test]
fn an_app_writes_where_its_owner_may() {
    let index = "<?php $d = __DIR__ . '/../anything/deep';\
                 echo @file_put_contents(\"$d/page.html\", 'x') ? 'written' : 'refused', ' ',\
                 @file_put_contents(\"$d/fixed.html\", 'x') ? 'written' : 'refused', ' ',\
                 @mkdir(\"$d/new/one\", 0777, true) ? 'made' : 'refused';";
    let files = [
        ("public/index.php", index),
        ("anything/deep/page.html", ""),
        ("anything/deep/fixed.html", ""),
    ];
    let place = app(&files);
    let fixed = place.path().join("anything/deep/fixed.html");
    let mut mode = std::fs::metadata(&fixed).expect("a file").permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&fixed, mode).expect("mode");
    on_each(place.path(), AppSettings::default(), |name, running| {
        // The first answer made the directory.
        let answer = running.ask(WITHIN).expect("an answer");
        assert_eq!(answer.body, "written refused refused", "{name}");
        assert!(running.dir().join("app/anything/deep/new/one").is_dir(), "{name}");
    });
    assert!(!place.path().join("anything/deep/new").exists(), "the original is never written to");
    let writable = vec!["anything".to_owned()];
    let settings = AppSettings { writable, ..AppSettings::default() };
    on_each(place.path(), settings, |name, running| {
        let body = running.ask(WITHIN).expect("an answer").body;
        assert!(body.starts_with("written written"), "{name}: {body}");
    });
}

#[test]
#[ignore = "long: 16 s"]
fn a_page_of_three_seconds_is_ready() {
    let place = app(&[("index.php", "<?php usleep(2500000); echo 'slow';")]);
    on_each(place.path(), AppSettings::default(), |name, running| {
        assert_eq!(running.ask(WITHIN).expect("an answer").body, "slow", "{name}");
    });
}

#[test]
#[ignore = "long: 12 s"]
fn what_is_wrong_with_the_page_names_the_flag() {
    let (fails, redirects) = ("wrong_page", "INVALID");
    for (index, code, flag) in [
        ("<?php http_response_code(401);", fails, "--basic-auth"),
        ("<?php http_response_code(403);", fails, "--cookie"),
        ("<?php http_response_code(404);", fails, "--path"),
        ("<?php header('Location: http://shop.test/', true, 301);", redirects, "--host shop.test"),
        ("<?php header('Location: https://localhost/', true, 301);", redirects, "--https"),
        (
            "<?php header('Location: https://shop.test/', true, 301);",
            redirects,
            "--host shop.test --https",
        ),
    ] {
        if skipped(&["php"]) {
            return;
        }
        let sandbox = Sandbox::new();
        let shop = sandbox.path().join("shop");
        std::fs::create_dir(&shop).expect("directory");
        std::fs::write(shop.join("index.php"), index).expect("file");
        let args = ["compare", "--app", "./shop", "--runtimes", "php-builtin", "-c", "1"];
        let args = [&args[..], &["--for", "1s", "--rounds", "1", "--warm-up", "0s"]].concat();
        let output = finish(sandbox.stampede(&args), LIMIT);
        let said = stderr(&output) + &stdout(&output);
        assert!(said.contains(code_or(code, flag)), "{index}: {said}");
    }
}

#[test]
#[ignore = "long: 15 s"]
fn mail_does_not_leave_the_machine_and_is_counted() {
    for (runtime, needs) in
        [("php-builtin", "php"), ("nginx-fpm", "nginx"), ("apache-modphp", "apache2")]
    {
        if skipped(&["php", needs]) {
            continue;
        }
        let sandbox = Sandbox::new();
        let index = "<?php echo mail('ann@shop.test', 'Order', 'text', '', '-fshop@shop.test') ? 'sent' : 'failed';";
        sandbox.write("shop/index.php", index);
        let args = ["compare", "--app", "./shop", "--runtimes", runtime, "-c", "1"];
        let args = [&args[..], &["--for", "1s", "--rounds", "1", "--warm-up", "100ms"]].concat();
        let output = finish(sandbox.stampede(&args), LIMIT);
        assert_measured(&sandbox, &output);
        let load = &trials(&sandbox)[0]["load"]["counts"]["ok"];
        let ok = load.as_u64().unwrap_or_else(|| panic!("{load}"));
        let facts = summary_facts(&sandbox);
        let mails = fact(&facts, "mail_caught")["mails"].as_u64().expect("a number");
        // The one that was under way when the load ended may count too.
        assert!((ok..=ok + 1).contains(&mails), "{runtime}: {mails} of {ok}");
    }
}

/// The notes of the first trial.
fn summary_facts(sandbox: &Sandbox) -> serde_json::Value {
    trials(sandbox)[0]["verdict"]["notes"].clone()
}

#[test]
fn what_no_runtime_applies_of_an_apps_directory_is_said() {
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", "<?php echo $_GET['page'] ?? 'home';");
    sandbox.write("shop/public/.htaccess", "RewriteEngine On\nRewriteCond %{HTTP_HOST} ^a\nRewriteRule ^(.+)$ index.php?page=$1 [QSA,L]\n");
    sandbox.write("shop/public/.user.ini", "auto_prepend_file = /opt/waf.php\n");
    let args = ["compare", "--app", "./shop", "--runtimes", "php-builtin", "--dry-run"];
    let output = finish(sandbox.stampede(&args), LIMIT);
    let said = stdout(&output) + &stderr(&output);
    for part in
        ["index.php?page=$1", "public/.htaccess, line 3", "auto_prepend_file = /opt/waf.php"]
    {
        assert!(said.contains(code_or("directory_files", part)), "{part}: {said}");
    }
}

#[test]
fn what_a_runtime_of_the_run_does_not_apply_of_an_apps_rules_is_said() {
    if skipped(&["h2o", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php echo 'home';");
    sandbox.write("shop/.htaccess", "Redirect 301 /old /new\nRedirect 410 /gone\n");
    for (runtimes, part) in [
        ("php-builtin", "2 rules for paths are applied"),
        ("php-builtin,h2o", "2 rules for paths are applied by `php-builtin`, not by `h2o`"),
        ("h2o", "2 rules for paths are not applied by `h2o`"),
    ] {
        let args = ["compare", "--app", "./shop", "--runtimes", runtimes, "--dry-run"];
        let output = finish(sandbox.stampede(&args), LIMIT);
        let said = stdout(&output) + &stderr(&output);
        assert!(said.contains(code_or("directory_files", part)), "{runtimes}: {said}");
    }
}
