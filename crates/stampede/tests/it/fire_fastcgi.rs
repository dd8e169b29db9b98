//! Tests sending FastCGI directly to a real php-fpm, over its Unix socket and over TCP.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use stampede_load::report::LoadResult;
use stampede_load::spec::{Check, Load};
use stampede_load::{Generator as _, InProcess, Listener};
use stampede_model::counts::Second;
use stampede_model::load::{ConnectionHabit, Model, Until};
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_plan::lookup::Lookup;
use stampede_plan::target::Target;

use crate::common::{Sandbox, finish, skipped, stderr, stdout};

const LIMIT: Duration = Duration::from_secs(60);
const WORKERS: u32 = 2;
const REQUESTS: u64 = 60;

/// A script that echoes the request and appends a byte per request to a file beside it.
const SCRIPT: &str = r#"<?php
file_put_contents(__DIR__ . '/hits', 'x', FILE_APPEND | LOCK_EX);
$uri = $_SERVER['REQUEST_URI'];
if ($uri === '/missing') { http_response_code(404); }
if ($uri === '/broken') { throw new Exception('as told'); }
if ($uri === '/large') { exit(str_repeat('0123456789', 20000) . 'the end'); }
echo implode('|', [$_SERVER['REQUEST_METHOD'], $uri, $_SERVER['SCRIPT_NAME'],
    $_SERVER['QUERY_STRING'], $_SERVER['HTTP_HOST'], strlen(file_get_contents('php://input'))]);
"#;

/// A separate php-fpm, which ends on drop.
struct Fpm {
    sandbox: Sandbox,
    child: Child,
}

impl Drop for Fpm {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // SIGTERM makes php-fpm end at once, with its workers (php-fpm(8)).
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

impl Fpm {
    fn start() -> Fpm {
        let sandbox = Sandbox::new();
        let path = sandbox.path().display().to_string();
        sandbox.write("www/index.php", SCRIPT);
        let directory = sandbox.path().join("www");
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(directory, all).expect("a directory for anybody");
        let user = match rustix::process::getuid().is_root() {
            true => "user = nobody\ngroup = nogroup\n",
            false => "",
        };
        let conf = format!(
            "[global]\nerror_log = {path}/fpm.log\ndaemonize = no\n[app]\n{user}\
             listen = {path}/fpm.sock\nlisten.mode = 0666\npm = static\n\
             pm.max_children = {WORKERS}\n\
             ; PHP answers an error with 500 only where it does not show it.\n\
             php_admin_flag[display_errors] = off\n"
        );
        let conf = sandbox.write("fpm.conf", &conf).display().to_string();
        let child = Command::new(program())
            .args(["--no-php-ini", "--nodaemonize", "--fpm-config", &conf])
            .stderr(Stdio::null())
            .spawn()
            .expect("php-fpm starts");
        let fpm = Fpm { sandbox, child };
        let there = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            std::os::unix::net::UnixStream::connect(fpm.socket()).is_ok()
        });
        let log = std::fs::read_to_string(fpm.sandbox.path().join("fpm.log")).unwrap_or_default();
        assert!(there, "php-fpm listens: {log}");
        fpm
    }

    fn socket(&self) -> PathBuf {
        self.sandbox.path().join("fpm.sock")
    }

    /// The URL of a path as the app should see it.
    fn url(&self, path: &str) -> String {
        let script = self.sandbox.path().join("www/index.php");
        format!("fcgi+unix:{}:{}{path}", self.socket().display(), script.display())
    }

    fn hits(&self) -> u64 {
        let hits = std::fs::metadata(self.sandbox.path().join("www/hits"));
        hits.map_or(0, |file| file.len())
    }
}

/// `php-fpm`, or the first program of that name with a version.
fn program() -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default();
    let directories = path.split(':').chain(["/usr/sbin", "/sbin", "/usr/local/sbin"]);
    let mut all =
        directories.flat_map(|directory| std::fs::read_dir(directory).into_iter().flatten());
    let is_fpm = |path: &Path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("php-fpm"))
    };
    let found = all.find_map(|entry| Some(entry.ok()?.path()).filter(|path| is_fpm(path)));
    found.expect("it was found before")
}

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

/// The parts of a request besides its URL.
#[derive(Clone, Copy)]
struct FastCgiRequest<'a> {
    method: &'a str,
    body: &'a [u8],
    contains: &'a str,
    habit: ConnectionHabit,
}

const GET: FastCgiRequest<'_> =
    FastCgiRequest { method: "GET", body: b"", contains: "", habit: ConnectionHabit::PerRequest };

/// Sends with as many connections as there are workers, because a kept connection holds a worker.
fn load_result(url: &str, ask: FastCgiRequest<'_>) -> LoadResult {
    let target = Target::parse(url, &Lookup::default()).expect(url);
    let model = Model::Closed { concurrency: WORKERS, until: Until::Requests(REQUESTS) };
    let mut load = Load::new(target.addresses.clone(), model, []);
    load.wire = target.wire.clone();
    load.timeout = Nanos::from_secs(20);
    load.habits.connection = ask.habit;
    load.check = Check { body_contains: ask.contains.as_bytes().to_vec(), ..Check::default() };
    let headers = [("Host".to_owned(), target.host.clone())];
    let request = target.request(ask.method, &target.path, &headers, ask.body, load.habits);
    load.traffic = [request.expect("a request")].into();
    let result = InProcess.run(&load, &Stop::default(), &mut NoListener).expect("a load");
    assert_eq!(result.counts.ok + result.counts.failed_total(), REQUESTS, "{:?}", result.counts);
    result
}

fn all(kind: &str) -> BTreeMap<String, u64> {
    BTreeMap::from([(kind.to_owned(), REQUESTS)])
}

#[test]
fn php_fpm_answers_without_a_web_server() {
    if skipped(&["php-fpm"]) {
        return;
    }
    let fpm = Fpm::start();
    let url = fpm.url("/shop/5?a=b");
    let body_text = "GET|/shop/5?a=b|/index.php|a=b|localhost|0";
    let per_request = load_result(&url, FastCgiRequest { contains: body_text, ..GET });
    assert_eq!((per_request.counts.ok, per_request.connections.opened), (REQUESTS, REQUESTS));
    let habit = ConnectionHabit::KeepAlive;
    let kept = load_result(&url, FastCgiRequest { contains: body_text, habit, ..GET });
    assert_eq!((kept.counts.ok, kept.connections.opened), (REQUESTS, u64::from(WORKERS)));
    assert_eq!(fpm.hits(), 2 * REQUESTS, "what was counted was served");

    // More than one FastCGI record holds, in both directions.
    let body = vec![b'x'; 200_000];
    let body_text = "POST|/index.php|/index.php||localhost|200000";
    let posted = FastCgiRequest { method: "POST", body: &body, contains: body_text, habit };
    assert_eq!(load_result(&fpm.url(""), posted).counts.ok, REQUESTS);
    let large =
        load_result(&fpm.url("/large"), FastCgiRequest { contains: "the end", habit, ..GET });
    assert_eq!(large.counts.ok, REQUESTS);
    assert_eq!(
        load_result(&fpm.url("/"), FastCgiRequest { method: "HEAD", ..GET }).counts.ok,
        REQUESTS
    );
}

#[test]
fn what_php_fpm_does_not_serve_is_counted_as_what_it_is() {
    if skipped(&["php-fpm"]) {
        return;
    }
    let fpm = Fpm::start();
    assert_eq!(load_result(&fpm.url("/missing"), GET).counts.failed, all("http:404"));
    assert_eq!(load_result(&fpm.url("/broken"), GET).counts.failed, all("http:500"));
    assert_eq!(
        load_result(&fpm.url("/"), FastCgiRequest { contains: "no such", ..GET }).counts.failed,
        all("check")
    );
    // php-fpm's own answer, with a message on STDERR.
    let elsewhere = format!("fcgi+unix:{}:/nowhere/index.php", fpm.socket().display());
    assert_eq!(load_result(&elsewhere, GET).counts.failed, all("http:404"));
    // HTTP sent to a FastCGI server; then an address where nothing listens.
    let http = format!("http+unix:{}:/", fpm.socket().display());
    let failed = load_result(&http, GET).counts.failed;
    assert!(failed.keys().all(|kind| kind.starts_with("net:")), "{failed:?}");
    let url = fpm.url("/");
    drop(fpm);
    assert_eq!(load_result(&url, GET).counts.failed, all("net:errno-2"));
}

#[test]
fn the_command_sends_to_php_fpm() {
    if skipped(&["php-fpm"]) {
        return;
    }
    let fpm = Fpm::start();
    let sandbox = Sandbox::new();
    let url = fpm.url("/");
    let args = ["fire", &url, "--concurrency", "2", "--requests", "50", "--contains", "GET|/|"];
    let output = finish(sandbox.stampede(&args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_eq!((output.status.code(), fpm.hits()), (Some(0), 50), "{text}");
}
