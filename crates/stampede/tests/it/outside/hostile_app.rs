//! Tests that an app which works against stampede gets nothing of its user's: it exchanges its log
//! directories for links, leaves processes, forks without end, and puts pipes where files are read.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{Sandbox, finish, skipped, stderr, stdout};

/// Far longer than such a run takes.
const LIMIT: Duration = Duration::from_secs(120);
/// What only the user of stampede may read.
const SECRET: &str = "only-its-owner-may-read-this";

/// `SECRET` and `MARK` are replaced by paths.
const APP: &str = r#"<?php
$work = dirname(ini_get('session.save_path'));
foreach (['var/log', 'storage/logs'] as $own) {
    $own = __DIR__ . "/$own";
    @mkdir(dirname($own), 0777, true);
    if (is_dir($own) && !is_link($own)) { array_map('unlink', glob("$own/*")); rmdir($own); }
    @symlink('SECRET', $own);
}
foreach (["$work/logs", "$work/app", "$work/tmp"] as $other) {
    @rename($other, "$other.away");
    @symlink('SECRET', $other);
    @unlink($other);
    @rename("$other.away", $other);
}
@symlink('SECRET/auth.log', __DIR__ . '/error_log');
@symlink('SECRET/auth.log', "$work/tmp/php.log");
if (function_exists('posix_mkfifo')) { @posix_mkfifo(__DIR__ . '/pipe.log', 0666); }
else { exec('mkfifo ' . escapeshellarg(__DIR__ . '/pipe.log') . ' 2>/dev/null'); }
if (!is_file("$work/tmp/left")) {
    touch("$work/tmp/left");
    exec("setsid sh -c 'trap \"\" TERM HUP INT; : MARK; sleep 9876' > /dev/null 2>&1 &");
    exec("setsid sh -c ': MARK; while :; do sh -c \": MARK; sleep 5\" & sleep 0.2; done' > /dev/null 2>&1 &");
}
error_log('a line of its own');
echo 'ok';
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("secret/auth.log", &format!("{SECRET}\n"));
    let secret = sandbox.path().join("secret");
    let closed = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(secret.join("auth.log"), closed(0o600)).expect("closed");
    let app = APP.replace("SECRET", &secret.display().to_string());
    let app = app.replace("MARK", &sandbox.tmp().display().to_string());
    sandbox.write("shop/index.php", &app);
    sandbox
}

fn compare(sandbox: &Sandbox, as_user: Option<u32>) -> Output {
    let args = ["compare", "--app", "./shop", "--runtimes", "nginx-fpm", "--concurrency", "1"];
    let load = ["--for", "1s", "--warm-up", "0s", "--rounds", "1", "--out", "results/run"];
    let stampede = sandbox.stampede(&[&args[..], &load].concat());
    let Some(user) = as_user else { return finish(stampede, LIMIT) };
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &user.to_string(), "--regid", &user.to_string(), "--clear-groups"]);
    command.arg(stampede.get_program()).args(stampede.get_args());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.current_dir(stampede.get_current_dir().expect("the sandbox"));
    command.envs(stampede.get_envs().filter_map(|(name, value)| Some((name, value?))));
    finish(command, LIMIT)
}

/// Every text below a directory.
fn all_texts(directory: &std::path::Path) -> String {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    let texts = entries.map(|entry| match entry.path().is_dir() {
        true => all_texts(&entry.path()),
        false => {
            String::from_utf8_lossy(&std::fs::read(entry.path()).expect("a file")).into_owned()
        }
    });
    texts.collect()
}

fn assert_harmless(sandbox: &Sandbox, output: &Output) {
    let printed = stdout(output) + &stderr(output);
    assert!(sandbox.path().join("results/run/run.json").is_file(), "{printed}");
    let texts = all_texts(&sandbox.path().join("results"));
    assert!(texts.contains("a line of its own"), "its log is kept: {printed}");
    assert!(!texts.contains(SECRET) && !printed.contains(SECRET), "{printed}");
    assert_eq!(sandbox.left_behind(), [] as [&str; 0], "{printed}");
    let log = std::fs::read_to_string(sandbox.path().join("secret/auth.log")).expect("it is there");
    assert_eq!(log, format!("{SECRET}\n"), "nobody wrote to it");
}

#[test]
fn a_hostile_app_gets_nothing_of_the_user_who_measures_it() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = sandbox();
    let output = compare(&sandbox, None);
    assert_harmless(&sandbox, &output);
}

/// The same where stampede is started by an ordinary user: nothing of root's is needed.
#[test]
fn a_hostile_app_is_ended_by_an_ordinary_user_too() {
    if skipped(&["nginx", "php-fpm", "setpriv"]) || !rustix::process::geteuid().is_root() {
        return;
    }
    const USER: u32 = 65_534;
    let sandbox = sandbox();
    for path in ["", "tmp", "shop", "shop/index.php"] {
        chown(sandbox.path().join(path), Some(USER), Some(USER)).expect("given");
    }
    let output = compare(&sandbox, Some(USER));
    if stderr(&output).contains("setpriv: failed to execute") {
        return println!("SKIPPED: the user may not reach the program");
    }
    assert_harmless(&sandbox, &output);
}
