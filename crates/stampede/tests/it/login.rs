//! Tests that a load is sent by who has logged in.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use crate::common::{Sandbox, assert_measured, finish, skipped, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(90);

/// Who is not logged in is led to the login. Notes the sessions that it saw.
const HOME: &str = "<?php session_start();
    if (($_SESSION['user'] ?? '') !== 'ada') { header('Location: /login.php?to=/'); exit; }
    file_put_contents(getenv('SEEN'), session_id() . \"\\n\", FILE_APPEND);
    usleep(20000);
    echo str_repeat('<p>hello ada</p>', 20);";

/// A login with a token against forged requests, which begins a new session as frameworks do.
const LOGIN: &str = "<?php session_start();
    if ($_SERVER['REQUEST_METHOD'] === 'POST') {
        $is_own = hash_equals($_SESSION['token'] ?? '', $_POST['_token'] ?? '-')
            && str_starts_with($_SERVER['HTTP_ORIGIN'] ?? '', 'http://');
        if ($is_own && $_POST['user'] === 'ada' && $_POST['password'] === 'lovelace-1815') {
            session_regenerate_id(true);
            $_SESSION = ['user' => 'ada'];
            header('Location: /');
            exit;
        }
        http_response_code($is_own ? 200 : 419);
    }
    $_SESSION['token'] = bin2hex(random_bytes(16));
    echo '<title>Please log in</title><form method=post><input type=hidden name=_token value=', $_SESSION['token'],
        '><input name=user><input type=password name=password></form>';";

/// A place with the app, and with the file for its sessions.
fn members() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", HOME);
    sandbox.write("shop/login.php", LOGIN);
    sandbox.write("seen", "");
    let seen = sandbox.path().join("seen");
    let open = |path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
    };
    open(sandbox.path(), 0o755);
    open(&seen, 0o666);
    sandbox
}

fn compare(sandbox: &Sandbox, runtimes: &str, more: &[&str]) -> Output {
    let seen = format!("SEEN={}", sandbox.path().join("seen").display());
    let own = ["compare", "--app", "./shop", "--runtimes", runtimes, "--env", &seen];
    let load = ["-c", "4", "--for", "1s", "--rounds", "1", "--warm-up", "200ms"];
    let args = [&own[..], &load[..], more].concat();
    finish(sandbox.stampede(&args), LIMIT)
}

/// All files below a directory, as texts.
fn texts_below(directory: &Path) -> Vec<(PathBuf, String)> {
    let entries = std::fs::read_dir(directory).expect("a directory").flatten();
    let each = entries.flat_map(|entry| match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
        true => texts_below(&entry.path()),
        false => {
            let bytes = std::fs::read(entry.path()).unwrap_or_default();
            vec![(entry.path(), String::from_utf8_lossy(&bytes).into_owned())]
        }
    });
    each.collect()
}

const ADA: [&str; 6] = [
    "--login",
    "/login.php",
    "--login-field",
    "user=ada",
    "--login-field",
    "password=lovelace-1815",
];

#[test]
fn each_request_is_sent_by_a_session_that_has_logged_in() {
    if skipped(&["php"]) {
        return;
    }
    for (runtime, needs) in [("php-builtin", "php"), ("nginx-fpm", "nginx")] {
        if skipped(&[needs]) {
            continue;
        }
        let sandbox = members();
        let output = compare(&sandbox, runtime, &[&ADA[..], &["--sessions", "4"]].concat());
        let said = stdout(&output) + &stderr(&output);
        assert_measured(&sandbox, &output);
        assert!(said.contains("100 %"), "{said}");
        let seen = std::fs::read_to_string(sandbox.path().join("seen")).expect("the sessions");
        let each: BTreeSet<&str> = seen.lines().collect();
        assert_eq!(each.len(), 4, "{said}\n{seen}");
        // Each has its turn.
        let all = seen.lines().count();
        for session in each {
            let own = seen.lines().filter(|line| *line == session).count();
            assert!(own * 8 > all, "{session}: {own} of {all}");
        }
        let left = texts_below(&sandbox.run());
        assert!(left.iter().any(|(_, text)| text.contains("logged_in")));
        for (path, text) in left {
            assert!(!text.contains("lovelace-1815"), "{}", path.display());
            let shows = seen.lines().any(|session| text.contains(session));
            assert!(!shows, "{} shows a session", path.display());
        }
    }
}

#[test]
fn requests_of_one_session_wait_for_its_lock_and_that_is_said() {
    if skipped(&["nginx", "php"]) {
        return;
    }
    let sandbox = members();
    let output = compare(&sandbox, "nginx-fpm", &ADA);
    let said = stdout(&output) + &stderr(&output);
    let left = texts_below(&sandbox.run());
    assert!(left.iter().any(|(_, text)| text.contains("session_lock")), "{said}");
    assert!(said.contains(code_or("session_lock", "--sessions N")), "{said}");
}

#[test]
fn a_login_that_is_missing_or_refused_is_said_with_what_to_do() {
    if skipped(&["php"]) {
        return;
    }
    let wrong = [&ADA[..4], &["--login-field", "password=byron"]].concat();
    let no_field = &ADA[..2];
    let cases: [(&[&str], &str, &str); 3] = [
        (&["--path", "/"], "page_redirects", "--login '/login.php' --login-field"),
        (&wrong, "refused", "was refused: status 200, `Please log in`"),
        (no_field, "nothing_given", "`_token`, `user`, `password`"),
    ];
    for (more, code, part) in cases {
        let sandbox = members();
        let output = compare(&sandbox, "php-builtin", more);
        let said = stdout(&output) + &stderr(&output);
        assert_ne!(output.status.code(), Some(0), "{said}");
        assert!(said.contains(code_or(code, part)), "{code}: {said}");
    }
    let sandbox = members();
    sandbox.write(
        "cold.yaml",
        "app: {path: shop, login: {path: /login.php, form: {user: ada, password: lovelace-1815}}}\n\
         runtimes: [php-builtin]\nrounds: 1\ncold: true\nload: {peak: {concurrency: 1, for: 1s}}\n",
    );
    let output = finish(sandbox.stampede(&["compare", "cold.yaml"]), LIMIT);
    let said = stdout(&output) + &stderr(&output);
    assert_ne!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("cold start"), "{said}");
}
