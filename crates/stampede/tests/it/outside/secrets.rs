//! Tests that a secret that a person gives anywhere is in no result file and in no output.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::common::{Sandbox, finish, skipped, stderr, stdout};
use crate::words::code_or;

/// Far longer than any of these runs takes.
const LIMIT: Duration = Duration::from_secs(120);
/// Part of every planted secret, so that a found text shows which secret it is.
const MARK: &str = "pl4nt3d";

/// An app that shows everything it knows: in its answer and, if it fails, in its error log too.
const APP: &str = r#"<?php
$told = [getenv('DB_PASS'), getenv('STRIPE_KEY'), ini_get('session.save_path'), getallheaders(), $_COOKIE, $_GET,
    file_get_contents('php://input'), file_get_contents(__DIR__ . '/.env')];
if (is_file(__DIR__ . '/broken')) {
    foreach (['DB_PASS', 'STRIPE_KEY', 'MAIL_PASSWORD'] as $name) { error_log("cannot connect with " . getenv($name)); }
    error_log('mail ' . explode('"', file_get_contents(__DIR__ . '/.env'))[1]);
    http_response_code(500);
}
echo json_encode($told), "\n", htmlspecialchars(print_r($told, true), ENT_QUOTES), urlencode(getenv('DB_PASS')), "\n";
"#;

const PLAN: &str = r##"# password: comment-pl4nt3d
app: ./app
runtimes:
  - nginx-fpm:
      append: {nginx.conf: "# token=append-pl4nt3d"}
      env: {clientSecret: own-env-pl4nt3d}
load:
  - concurrency: 1
    for: 1s
    requests:
      - method: POST
        path: /?access_token=query-pl4nt3d&key=key%2Fpl4nt3d
        headers:
          Authorization: "Basic dXNlcjpiYXNpYy1wbDRudDNk"
          Cookie: "SID=cookie-pl4nt3d; other=second-pl4nt3d;
            third=third-pl4nt3d"
          X-Api-Key: xapi-pl4nt3d
          X-Auth-Token: 'it''s "xauth" <pl4nt3d>'
        body: '{"password": "body-pl4nt3d"}'
warm_up: 0s
rounds: 1
repeat_invalid: 0
env:
  DB_PASS: "pa'ss \"<w&rd>/pl4nt3d"
  DB_PASS_OLD: "pl4nt3d-short"
  DB_PASS_OLDER: "pl4nt3d-short-and-more-pl4nt3d"
  STRIPE_KEY: sk/live-pl4nt3d
  REDIS_URL: "redis://:redis-pl4nt3d@127.0.0.1:1/0"
  MYSQL: "mysql:host=db;user=shop;password=dsn-pl4nt3d;charset=utf8"
  FOLDED_TOKEN: >-
    folded-pl4nt3d
    in-two-lines-pl4nt3d
php_ini: {session.save_path: "tcp://127.0.0.1:6379?auth=ini-pl4nt3d", mysqli.default_pw: "pw-pl4nt3d"}
"##;

const DOTENV: &str = "MAIL_PASSWORD=\"dot env/pl4nt3d\"\nMAILER_DSN=smtp://joe:dsn%2Fenv-pl4nt3d@mail:25\nAPP_ENV=prod\n";

/// A place with the app's sources; results go beside them.
fn sandbox(broken: bool) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("app/index.php", APP);
    sandbox.write("app/.env", DOTENV);
    sandbox.write("plan.yaml", PLAN);
    if broken {
        sandbox.write("app/broken", "");
    }
    sandbox
}

/// Finds planted values, as text or encoded, with the text before them.
fn found(name: &str, bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let basic = STANDARD.encode("user:basic-pl4nt3d");
    let hidden = [MARK, &basic, "YmFzaWMtcGw0bnQzZ", "cGw0bnQzZ", "BsNG50M2", "wbDRudDNk"];
    let places = hidden.iter().flat_map(|hidden| text.match_indices(*hidden));
    let shown = |at: usize| {
        let begin = (0..=at.saturating_sub(60)).rev().find(|begin| text.is_char_boundary(*begin));
        text[begin.unwrap_or(0)..at].replace('\n', " ")
    };
    places.map(|(at, what)| format!("{name}: {}{what}", shown(at))).collect()
}

fn of_directory(directory: &Path, all: &mut Vec<String>) -> usize {
    let mut files = 0;
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        all.extend(found("a name", path.display().to_string().as_bytes()));
        if path.is_dir() {
            files += of_directory(&path, all);
        } else {
            files += 1;
            all.extend(found(&path.display().to_string(), &std::fs::read(&path).expect("a file")));
        }
    }
    files
}

fn of_output(args: &[&str], output: &Output) -> Vec<String> {
    let of = |what: &str, bytes: &[u8]| found(&format!("{what} of {args:?}"), bytes);
    [of("stdout", &output.stdout), of("stderr", &output.stderr)].concat()
}

fn run(sandbox: &Sandbox, args: &[&str], all: &mut Vec<String>) -> Output {
    let output = finish(sandbox.stampede(args), LIMIT);
    all.extend(of_output(args, &output));
    output
}

/// Starts the app with `up`, and ends it once it has printed what it started.
fn up(sandbox: &Sandbox, flags: &[&str], all: &mut Vec<String>) {
    let args = [&["up", "nginx-fpm", "--app", "./app"], flags].concat();
    let mut child = sandbox.stampede(&args).spawn().expect("up starts");
    let mut out = child.stdout.take().expect("stdout");
    let mut bytes = vec![0; 64 << 10];
    let count = out.read(&mut bytes).expect("what up says");
    all.extend(found("stdout of up", &bytes[..count]));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let output = child.wait_with_output().expect("it ends");
    all.extend(of_output(&args, &output));
    assert!(count > 0, "{}", stderr(&output));
}

fn none(all: &[String]) {
    assert!(all.is_empty(), "{} planted secrets are there:\n{}", all.len(), all.join("\n"));
}

#[test]
fn results_and_reports_of_a_plan_have_none_of_its_secrets() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let (sandbox, mut all) = (sandbox(false), Vec::new());
    run(&sandbox, &["compare", "plan.yaml", "--dry-run"], &mut all);
    run(&sandbox, &["compare", "plan.yaml", "--dry-run", "--json"], &mut all);
    let output =
        run(&sandbox, &["compare", "plan.yaml", "--json", "--out", "results/one"], &mut all);
    assert!(stdout(&output).starts_with('{'), "{}", stderr(&output));
    serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON");
    let trial =
        sandbox.path().join("results/one/trials/001-nginx-fpm-app-1-at-a-time-1s/trial.json");
    let trial = std::fs::read_to_string(trial).expect("a trial");
    assert!(trial.contains("\"judged\": \"") && trial.contains("auth=***"), "{trial}");
    for format in ["text", "html", "markdown", "csv", "json", "svg", "junit"] {
        let args = ["report", "results/one", "--format", format];
        let output = run(&sandbox, &args, &mut all);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", stderr(&output));
    }
    run(&sandbox, &["diff", "results/one", "results/one"], &mut all);
    let files = of_directory(&sandbox.path().join("results"), &mut all);
    assert!(files > 8, "{files} files");
    none(&all);
}

#[test]
fn an_app_that_fails_and_shows_its_secrets_gives_none_away() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let (sandbox, mut all) = (sandbox(true), Vec::new());
    let output = run(&sandbox, &["compare", "plan.yaml", "--out", "results/one"], &mut all);
    let printed = stdout(&output) + &stderr(&output);
    assert_ne!(output.status.code(), Some(0), "{printed}");
    assert!(printed.contains("***") || printed.contains(code_or("wrong_page", "500")), "{printed}");
    run(&sandbox, &["report", "results/one"], &mut all);
    // `up` keeps running, whatever the app answers.
    up(&sandbox, &[], &mut all);
    let capacity = ["capacity", "plan.yaml", "--max-time", "30s", "--out", "results/two"];
    run(&sandbox, &capacity, &mut all);
    of_directory(&sandbox.path().join("results"), &mut all);
    none(&all);
}

#[test]
fn a_mistake_in_a_plan_is_shown_without_the_secret_beside_it() {
    let (sandbox, mut all) = (sandbox(false), Vec::new());
    for (good, bad) in [
        ("warm_up: 0s", "warm_up: {password: mistake-pl4nt3d}"),
        ("  DB_PASS: ", "  DB PASS: "),
        ("          X-Api-Key: xapi-pl4nt3d", "          X-Api-Key: [xapi-pl4nt3d]"),
        ("Cookie: \"SID=", "Cookie: \"SID=\\n"),
        ("mysqli.default_pw: \"", "mysqli.default_pw: \"\\n"),
        ("path: /?", "path: ?"),
        ("\n  REDIS_URL:", "\n REDIS_URL:"),
    ] {
        assert!(PLAN.contains(good), "{good}");
        sandbox.write("plan.yaml", &PLAN.replace(good, bad));
        let output = run(&sandbox, &["compare", "plan.yaml", "--dry-run"], &mut all);
        assert_eq!(output.status.code(), Some(2), "{bad}: {}", stdout(&output));
    }
    none(&all);
}

/// A server that answers each request with status 500 and the request itself.
fn echo() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut bytes = [0; 16 << 10];
                while let Ok(count @ 1..) = stream.read(&mut bytes) {
                    let body = String::from_utf8_lossy(&bytes[..count]).into_owned();
                    let head = "HTTP/1.1 500 Oh\r\nContent-Type: text/plain\r\nContent-Length";
                    let answer = format!("{head}: {}\r\n\r\n{body}", body.len());
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn fire_prints_and_writes_no_secret_of_its_flags() {
    let (sandbox, mut all) = (sandbox(false), Vec::new());
    let url = format!("http://{}/?access_token=query-{MARK}&sig=a%2Fb-{MARK}", echo());
    let load = ["--concurrency", "1", "--requests", "3", "--warm-up", "0s"];
    let flags = [
        "-H",
        "X-Api-Key: xapi pl4nt3d",
        "--header=Authorization: Bearer bearer-pl4nt3d",
        "-HX-Auth: short-pl4nt3d",
        "--cookie",
        "SID=cookie-pl4nt3d",
        "--cookie=other=second/pl4nt3d",
        "--check",
        "body ~ /password=check-pl4nt3d/",
        "--csv",
        "out/a.csv",
        "--phout",
        "out/a.phout",
        "--prometheus",
        "out/a.prom",
        "--hlog",
        "out/a.hlog",
    ];
    std::fs::create_dir(sandbox.path().join("out")).expect("a directory");
    for more in [
        &["-d", "{\"password\": \"body-pl4nt3d\"}"][..],
        &["--json"],
        &["--basic-auth", "user:basic-pl4nt3d"],
    ] {
        let output = run(&sandbox, &[&["fire", &url], &load[..], &flags, more].concat(), &mut all);
        assert!(stdout(&output).contains("500"), "{}{}", stdout(&output), stderr(&output));
    }
    let traffic = format!(
        "[Cookie: SID=traffic-{MARK}]\n[X-Api-Key: ammokey-{MARK}]\n/a?token=traffic-query-{MARK} tag\n/b\n"
    );
    sandbox.write("traffic.txt", &traffic);
    let args = [&["fire", &url, "--traffic", "traffic.txt", "--json"], &load[..]].concat();
    run(&sandbox, &args, &mut all);
    of_directory(&sandbox.path().join("out"), &mut all);
    none(&all);
}

#[test]
fn a_refused_command_is_reported_without_its_secrets() {
    let (sandbox, mut all) = (sandbox(false), Vec::new());
    let near = format!("http://user:basic-{MARK}@127.0.0.1:1/?api_key=q-{MARK}");
    for args in [
        &["fire", &near, "--concurrency", "1", "--requests", "1"][..],
        &["fire", "http://127.0.0.1:1/", "--basic-auht", "user:basic-pl4nt3d"],
        &["fire", "http://127.0.0.1:1/", "--cookie", "SID=x-pl4nt3d", "SID=x-pl4nt3d"],
        &[
            "fire",
            "http://127.0.0.1:1/",
            "--concurrency",
            "1",
            "--requests",
            "1",
            "-H",
            "X-Key: a\nb-pl4nt3d",
        ],
        &[
            "fire",
            "http://127.0.0.1:1/",
            "--concurrency",
            "1",
            "--requests",
            "1",
            "--cookie",
            "S=a-pl4nt3d\nS=b-pl4nt3d",
        ],
        &["check", "--login", "ann:login-pl4nt3d", "--app", "./app", "--runtime", "nginx-fpm"],
        &["check", "--env", "DB_PASS=env-pl4nt3d", "--env", "env-pl4nt3d", "--app", "./app"],
        &["compare", "--app", "./app", "--runtimes", "nginx-fpm", "--path", "?token=path-pl4nt3d"],
        &[
            "compare",
            "--app",
            "./app",
            "--concurrency",
            "1",
            "--for",
            "1s",
            "--expect",
            "token=x-pl4nt3d",
        ],
    ] {
        let output = run(&sandbox, args, &mut all);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).starts_with("error"), "{args:?}: {}", stderr(&output));
    }
    none(&all);
}

#[test]
fn up_shows_what_it_started_without_secrets() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let (sandbox, mut all) = (sandbox(false), Vec::new());
    for json in [false, true] {
        up(&sandbox, if json { &["--json"] } else { &[] }, &mut all);
    }
    none(&all);
}

#[test]
fn nothing_is_left_of_a_secret_where_a_text_is_cut() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let (sandbox, mut all) = (Sandbox::new(), Vec::new());
    let app = "<?php http_response_code(500); echo str_repeat('x', 100), ' ', getenv('DB_PASS');";
    sandbox.write("app/index.php", app);
    let secret: String = (0..20).map(|number| format!("{MARK}-{number};")).collect();
    sandbox.write("app/.env", &format!("DB_PASS='{secret}'\n"));
    let plan = "app: ./app\nruntimes: [nginx-fpm]\nload: [{concurrency: 1, for: 1s}]\nwarm_up: 0s\nrounds: 1\n\
                repeat_invalid: 0\n";
    sandbox.write("plan.yaml", &format!("{plan}env: {{DB_PASS: \"{secret}\"}}\n"));
    let output = run(&sandbox, &["compare", "plan.yaml", "--out", "results/one"], &mut all);
    assert!(stderr(&output).contains(code_or("wrong_page", "xxx ***")), "{}", stderr(&output));
    let url = format!("http://{}/{}", echo(), "x".repeat(1920));
    let token = format!("X-Auth-Token: {secret}");
    let args = ["fire", &url, "--concurrency", "1", "--requests", "1", "--json", "-H", &token];
    let output = run(&sandbox, &args, &mut all);
    assert!(stdout(&output).contains("***"), "{}", stdout(&output));
    of_directory(&sandbox.path().join("results"), &mut all);
    none(&all);
}
