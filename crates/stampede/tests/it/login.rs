//! Tests that a load is sent by who has logged in.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use crate::common::{Sandbox, assert_measured, finish, runtimes_here, skipped, stderr, stdout};
use crate::words::{CODES, code_or};

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

/// More requests than any session sends before the load.
const ASKED_BEFORE: usize = 8;

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
        let requests = |session: &str| seen.lines().filter(|line| *line == session).count();
        // Before the load, pages are asked on a start of its own, with a login of its own.
        let mut each: BTreeSet<&str> = seen.lines().collect();
        each.retain(|session| requests(session) > ASKED_BEFORE);
        assert_eq!(each.len(), 4, "{said}\n{seen}");
        // Each has its turn.
        let all = seen.lines().count();
        for session in each {
            let own = requests(session);
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
    assert!(CODES || said.contains("cold start"), "{said}");
}

/// The same login with sessions in a database of the app, as a handler of its own keeps them.
const HANDLER: &str = "<?php class Kept implements SessionHandlerInterface {
    private $db;
    function open($path, $name): bool { $this->db = new PDO('sqlite:' . __DIR__ . '/data/kept.sqlite'); $this->db->exec('CREATE TABLE IF NOT EXISTS kept (id TEXT PRIMARY KEY, value TEXT)'); return true; }
    function close(): bool { return true; }
    function read($id): string { $q = $this->db->prepare('SELECT value FROM kept WHERE id = ?'); $q->execute([$id]); return (string) $q->fetchColumn(); }
    function write($id, $value): bool { return $this->db->prepare('REPLACE INTO kept VALUES (?, ?)')->execute([$id, $value]); }
    function destroy($id): bool { return true; }
    function gc($age): int|false { return 0; }
}
session_set_save_handler(new Kept(), true);
?>";

#[test]
#[ignore = "long: 19 s"]
fn sessions_that_nobody_sees_are_said_and_those_of_another_place_are_seen() {
    if skipped(&["nginx", "php"]) {
        return;
    }
    let own_place = "<?php session_save_path(__DIR__ . '/data'); ?>";
    let by_depth = "<?php foreach (str_split('0123456789abcdef') as $a) @mkdir(__DIR__ . \"/data/$a\");
        ini_set('session.sid_bits_per_character', '4'); session_save_path('1;' . __DIR__ . '/data'); ?>";
    let cases = [
        (own_place, "session_lock", "--sessions N"),
        (by_depth, "session_lock", "--sessions N"),
        (HANDLER, "sessions_unseen", "does not keep its sessions in files"),
    ];
    for (before, code, part) in cases {
        if before == HANDLER && skipped(&["sqlite3"]) {
            continue;
        }
        let sandbox = members();
        sandbox.write("shop/index.php", &(before.to_owned() + HOME));
        sandbox.write("shop/login.php", &(before.to_owned() + LOGIN));
        let output = compare(&sandbox, "nginx-fpm", &[&ADA[..], &["--writable", "data"]].concat());
        let said = stdout(&output) + &stderr(&output);
        assert!(said.contains(code_or(code, part)), "{code}: {said}");
    }
}

/// A form that refuses who sends it back within a second.
const TRAP: &str = "<?php session_start();
    if ($_SERVER['REQUEST_METHOD'] === 'POST') {
        if (microtime(true) - ($_SESSION['shown'] ?? 0) < 1) { http_response_code(403); exit('You were too fast.'); }
        $_SESSION = ['user' => 'ada'];
        header('Location: /');
        exit;
    }
    $_SESSION['shown'] = microtime(true);
    echo '<form method=post><input name=user><input type=password name=password></form>';";

#[test]
fn up_logs_in_as_app_yaml_says_and_pauses_at_the_form() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = members();
    sandbox.write("shop/login.php", TRAP);
    let login = "login: {path: /login.php, form: {user: ada, password: lovelace-1815}}\n";
    sandbox.write("shop/app.yaml", login);
    let seen = format!("SEEN={}", sandbox.path().join("seen").display());
    let up = |more: &[&str]| {
        let own = ["up", "php-builtin", "--app", "./shop", "--env", &seen];
        let mut child = sandbox.stampede(&[&own[..], more].concat()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
        let lines = lines.by_ref().map(|line| line.expect("text"));
        let mut said: Vec<String> = lines.take_while(|line| !line.contains("Ctrl-C")).collect();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the signal");
        let output = child.wait_with_output().expect("its end");
        said.push(stderr(&output));
        said.join("\n")
    };
    let refused = up(&[]);
    assert!(refused.contains(code_or("note: login", "--login-pause")), "{refused}");
    let said = up(&["--login-pause", "1200ms"]);
    let is_said = said.contains("logged in at /login.php: one session");
    assert!(CODES || is_said, "{said}");
    assert!(!said.contains("lovelace-1815"), "{said}");
}

/// An app in memory that shows the one who asked before.
const KEEPS: &str = r#"<?php return static function (array $server, string $body = ''): array {
    static $before = '';
    $answer = static fn (int $status, string $body, array $headers = []): array =>
        ['status' => $status, 'headers' => $headers + ['Content-Type' => 'text/html'], 'body' => $body];
    if (($server['HTTP_HOST'] ?? '') !== 'shop.test') return $answer(400, 'no such host');
    if (strtok($server['REQUEST_URI'], '?') === '/login') {
        if ($server['REQUEST_METHOD'] !== 'POST')
            return $answer(200, '<form method=post><input name=user><input type=password name=pass></form>');
        parse_str($body, $form);
        if (($form['pass'] ?? '') !== 'lovelace-1815') return $answer(403, 'wrong');
        return $answer(302, '', ['Location' => '/', 'Set-Cookie' => 'SID=' . bin2hex($form['user'])]);
    }
    if (!preg_match('/SID=([0-9a-f]+)/', $server['HTTP_COOKIE'] ?? '', $found))
        return $answer(302, '', ['Location' => '/login']);
    [$shown, $before] = [$before, hex2bin($found[1])];
    return $answer(200, "<p>Hello $before, not $shown</p><a href='http://shop.test/account'>account</a>");
};"#;

#[test]
#[ignore = "long: 15 s"]
fn check_logs_in_each_user_and_finds_what_only_they_see() {
    let here = runtimes_here(&["swoole", "frankenphp-worker", "roadrunner"]);
    let Some(runtime) = here.first().copied() else { return };
    let sandbox = Sandbox::new();
    sandbox.write("shop/handler.php", KEEPS);
    let front = include_str!("../check_apps/callable/public/index.php");
    sandbox.write("shop/public/index.php", front);
    let yaml = "kind: callable\ndocroot: public\nhost: shop.test\nlogin: {path: /login, form: {pass: lovelace-1815}}\n";
    sandbox.write("shop/app.yaml", yaml);
    let own = ["check", "--app", "./shop", "--runtime", runtime, "--growth", "0", "--out", "out"];
    let users = ["--login-field", "user=ann of the shop", "--login-field", "user=bob of the shop"];
    let passes = ["--passes", "interleaved"];
    let output = finish(sandbox.stampede(&[&own[..], &users, &passes].concat()), LIMIT);
    let said = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let kept = std::fs::read_to_string(sandbox.path().join("out/check.json")).expect("a report");
    for part in ["/account", "ann of the shop", "bob of the shop"] {
        assert!(kept.contains(part), "{part}: {said}\n{kept}");
    }
    for secret in ["lovelace-1815", "616e6e206f66"] {
        assert!(!kept.contains(secret) && !said.contains(secret), "{secret}: {said}");
    }
}
