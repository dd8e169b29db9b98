//! Plants a secret in every place that can hold one, in an app that shows all it knows, and
//! searches everything that stampede leaves behind, prints and serves for each of them.

use std::path::Path;
use std::process::Output;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::small::CountingServer;
use crate::common::{Sandbox, finish, skipped, stderr, stdout, workers};
use crate::serve::ServeProcess;

/// Far longer than any of these runs takes.
const LIMIT: Duration = Duration::from_secs(120);

/// The secrets by their places. No two begin alike, so that each is found by itself.
const PLANTED: [(&str, &str); 53] = [
    ("comment", "q1Rtz-comment"),
    ("append", "w2Yux-append"),
    ("runtime-env", "e3Icv-runtime"),
    ("env-pass", "r4'Obn \"<&>\"/ü"),
    ("env-key", "t5/Pml+env/key="),
    ("env-userinfo", "z6Akj-userinfo"),
    ("env-dsn", "u7Shg-in-a-dsn"),
    ("env-folded", "i8Dgf-folded o9Ffd-two-lines"),
    ("env-cookie", "p0Gds-session"),
    ("env-pem", "MIIaYxCbVnMqWeRtZuIoPaSdFgHjKl"),
    ("env-aws", "b1Nmq/wErTzUiOpAsDfGhJkLyXcVbNmQwErTzUiO"),
    ("env-oauth", "n2Mqw-oauth"),
    ("env-mailer", "m3Qwe-mailer"),
    ("env-webhook", "x4Wer-webhook"),
    ("env-camel", "c5Ert-camel-case"),
    ("ini-save-path", "v6Rtz-save-path"),
    ("ini-pw", "l7Tzu-default-pw"),
    ("query", "k8Zui-query"),
    ("query-encoded", "j9/Uio+encoded"),
    ("query-session", "h0Iop-session-id"),
    ("basic", "g1Opa-basic"),
    ("cookie", "f2Pas-cookie"),
    ("cookie-second", "d3Asd-second"),
    ("api-key", "s4Sdf-api-key"),
    ("auth-token", "a5'Dfg \"token\""),
    ("bearer", "y6Fgh-bearer"),
    ("body-json", "Q7Ghj-body"),
    ("body-form", "W8Hjk-form"),
    ("dotenv", "E9Jkl dot env"),
    ("dotenv-dsn", "R0Kly-lock"),
    ("dotenv-local", "T1Lyx-local"),
    ("flag-header", "Z2Yxc-flag"),
    ("flag-bearer", "U3Xcv-flag"),
    ("flag-cookie", "I4Cvb-flag"),
    ("flag-basic", "O5Vbn-flag"),
    ("flag-check", "P6Bnm-check"),
    ("flag-body", "A7Nmq-flag-body"),
    ("flag-url", "S8Mqw-sig"),
    ("flag-userinfo", "D9Qwe-user-info"),
    ("traffic-cookie", "F0Wer-traffic"),
    ("traffic-query", "G1Ert-traffic"),
    ("check-env", "H2Rtz-check"),
    ("check-login", "J3Tzu-login"),
    ("env-block", "K4Uio-block-scalar"),
    ("env-json", "L5Iop-composer-auth"),
    ("env-flow", "M6Opa-flow-list"),
    ("env-hash", "$2y$10$N7Pas.dfghjklqwertzuiopyxcvbnmQWERTZUIOPASDFGHJKLx012"),
    ("htaccess", "B9Sdf-set-env"),
    ("user-ini", "C0Dfg-user-ini"),
    ("auth-json", "X1Fgh-auth-json"),
    ("query-in-query", "q2Ghj-in-a-query"),
    ("har-header", "r3Hjk-har-header"),
    ("digest", "t4Jkl-digest-response"),
];

const PLAN: &str = r##"# password: {comment}
# tokens: [first, {env-flow}]
app: ./app
runtimes:
  - nginx-fpm:
      append: {nginx.conf: "# token={append}"}
      env: {clientSecret: "{runtime-env}"}
load:
  - concurrency: 1
    for: 1s
    requests:
      - method: POST
        path: /?access_token={query}&key={query-encoded|url}&session_id={query-session}
        headers:
          Authorization: "Basic {basic|basic}"
          Cookie: "SID={cookie}; other={cookie-second}"
          X-Api-Key: {api-key}
          X-Auth-Token: {auth-token|json}
        body: '{"password": "{body-json}"}'
      - method: POST
        path: /?b=1&next=%2Fin%3Ftoken%3D{query-in-query}%26a%3D1
        headers: {Authorization: "Bearer {bearer}", Content-Type: application/x-www-form-urlencoded}
        body: "client_secret={body-form}&a=1"
warm_up: 0s
rounds: 1
repeat_invalid: 0
env:
  DB_PASS: {env-pass|json}
  STRIPE_KEY: "{env-key}"
  REDIS_URL: "redis://:{env-userinfo}@127.0.0.1:1/0"
  MYSQL: "mysql:host=db;user=shop;password={env-dsn};charset=utf8"
  FOLDED_TOKEN: "{env-folded}"
  APP_SESSION_COOKIE: "{env-cookie}"
  TLS_PEM: "-----BEGIN PRIVATE KEY-----{env-pem}-----END PRIVATE KEY-----"
  AWS_SECRET_ACCESS_KEY: "{env-aws}"
  OAUTH_CREDENTIALS: "{env-oauth}"
  MAILER_DSN: "smtp://joe:{env-mailer}@mail:25"
  SLACK_WEBHOOK: "https://hooks.test/{env-webhook}"
  shopAccessKey: "{env-camel}"
  DEPLOY_TOKEN: >-
    {env-block}
  COMPOSER_AUTH: '{"github-oauth": {"github.test": "{env-json}"}}'
  ADMIN_HASH: '{env-hash}'
php_ini: {session.save_path: "tcp://127.0.0.1:6379?auth={ini-save-path}", mysqli.default_pw: "{ini-pw}"}
"##;

/// Shows everything that it knows in many encodings: in its answer, in PHP's log, in its own log.
const APP: &str = r#"<?php
$known = [getenv(), ini_get_all(null, false), getallheaders(), $_COOKIE, $_GET, $_POST, $_SERVER,
    file_get_contents('php://input'), file_get_contents(__DIR__ . '/.env'), file_get_contents(__DIR__ . '/.env.local'),
    file_get_contents(__DIR__ . '/.htaccess'), file_get_contents(__DIR__ . '/.user.ini'), file_get_contents(__DIR__ . '/auth.json')];
array_walk_recursive($known, function ($value) use (&$all) { $all[] = (string) $value; });
$all = array_unique(array_filter($all, fn ($one) => strlen($one) > 7));
foreach ($all as $one) {
    error_log('cannot connect with ' . $one);
    error_log('encoded: ' . rawurlencode($one) . ' ' . base64_encode("user:$one") . ' ' . base64_encode("a$one"));
}
@mkdir(__DIR__ . '/var/log', 0777, true);
file_put_contents(__DIR__ . '/var/log/prod.log', json_encode($all) . "\n", FILE_APPEND);
if (is_file(__DIR__ . '/broken')) { http_response_code(500); }
foreach ($all as $one) {
    echo $one, "\n", htmlspecialchars($one, ENT_QUOTES), "\n", json_encode($one), "\n", urlencode($one), "\n",
        base64_encode($one), "\n", var_export($one, true), "\n";
}
"#;

const DOTENV: &str =
    "MAIL_PASSWORD=\"{dotenv}\"\nLOCK_DSN=redis://joe:{dotenv-dsn}@lock:1\nAPP_ENV=prod\n";
const LOCAL: &str = "API_TOKEN={dotenv-local}\n";
/// Files of the app that other programs read.
const OTHERS: [(&str, &str); 3] = [
    (".htaccess", "SetEnv API_SECRET {htaccess}\n"),
    (".user.ini", "mysqli.default_pw = \"{user-ini}\"\n"),
    (
        "auth.json",
        "{\"http-basic\": {\"a.test\": {\"username\": \"u\", \"password\": \"{auth-json}\"}}}",
    ),
];
/// A recording, as browsers write it.
const HAR: &str = r#"{"log": {"entries": [{"request": {"method": "GET", "url": "http://HOST/x",
  "headers": [
    {
      "name": "X-Api-Key",
      "value": "{har-header}"
    },
    {
      "name": "Authorization",
      "value": "Digest username=\"u\", response=\"{digest}\""
    }
  ]}}]}}"#;

fn secret(place: &str) -> &'static str {
    let (_, value) = PLANTED.iter().find(|(name, _)| *name == place).expect("a place");
    value
}

fn url(value: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    value.bytes().map(byte).collect()
}

fn json(value: &str) -> String {
    serde_json::Value::from(value).to_string()
}

fn basic(value: &str) -> String {
    STANDARD.encode(format!("user:{value}"))
}

/// Puts the secrets into a text.
fn planted(text: &str) -> String {
    PLANTED.iter().fold(text.to_owned(), |text, (place, value)| {
        let encoded = text.replace(&format!("{{{place}|url}}"), &url(value));
        let encoded = encoded.replace(&format!("{{{place}|json}}"), &json(value));
        let encoded = encoded.replace(&format!("{{{place}|basic}}"), &basic(value));
        encoded.replace(&format!("{{{place}}}"), value)
    })
}

/// The ways in which a secret is searched for.
fn encodings(value: &str) -> Vec<String> {
    let quoted = json(value);
    let quoted = quoted[1..quoted.len() - 1].to_owned();
    let ascii: String = quoted
        .chars()
        .map(|letter| match letter.is_ascii() {
            true => letter.to_string(),
            false => format!("\\u{:04x}", u32::from(letter)),
        })
        .collect();
    let html = value.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let html = html.replace('"', "&quot;");
    let mut all = vec![
        value.to_owned(),
        ascii.replace('/', "\\/"),
        quoted.replace('/', "\\/"),
        html.replace('\'', "&#039;"),
        html.replace('\'', "&#39;"),
        url(value),
        url(value).to_lowercase(),
        url(value).replace("%20", "+"),
        quoted,
    ];
    for before in 0..3 {
        let encoded = STANDARD.encode(format!("{}{value}", "\0".repeat(before)));
        // Without what the bytes before and behind decide too.
        let end = (before + value.len()) * 8 / 6;
        all.push(encoded[(before * 8).div_ceil(6)..end].to_owned());
    }
    all.sort();
    all.dedup();
    all
}

/// What was found of the secrets, with the text before it.
#[derive(Default)]
struct Search {
    found: Vec<String>,
    bytes: usize,
    masks: usize,
}

impl Search {
    fn bytes(&mut self, name: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        self.bytes += bytes.len();
        self.masks += text.matches("***").count();
        for (place, value) in PLANTED {
            for written in encodings(value) {
                for (at, _) in text.match_indices(&written).take(3) {
                    let mut from = (0..=at.saturating_sub(60)).rev();
                    let from = from.find(|from| text.is_char_boundary(*from)).unwrap_or(0);
                    let before = text[from..at].replace('\n', " ");
                    self.found.push(format!("{place} in {name}: {before}{written}"));
                }
            }
        }
    }

    fn directory(&mut self, directory: &Path) -> usize {
        let mut files = 0;
        for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
            let path = entry.path();
            self.bytes("a name", path.display().to_string().as_bytes());
            if path.is_dir() {
                files += self.directory(&path);
            } else {
                files += 1;
                let name = path.display().to_string();
                self.bytes(&name, &std::fs::read(&path).expect("a file"));
            }
        }
        files
    }

    /// Runs a command, and searches what it prints.
    fn run(&mut self, sandbox: &Sandbox, args: &[&str]) -> Output {
        let output = finish(sandbox.stampede(args), LIMIT);
        self.bytes(&format!("stdout of {args:?}"), &output.stdout);
        self.bytes(&format!("stderr of {args:?}"), &output.stderr);
        output
    }

    fn serve(&mut self, results: &Path, names: &[&str]) {
        let served = ServeProcess::of(results);
        let token = served.token().to_owned();
        let runs: Vec<String> = names.iter().map(|name| format!("run={name}")).collect();
        let mut pages = vec![
            format!("/?token={token}"),
            format!("/over?{}&token={token}", runs.join("&")),
            format!("/run?name=none&token={token}"),
        ];
        pages.extend(names.iter().map(|name| format!("/run?name={name}&token={token}")));
        // A run that has ended sends its page and the end.
        pages.extend(names.iter().map(|name| format!("/run/events?name={name}&token={token}")));
        for page in &pages {
            let (status, answer) = served.get(page);
            assert_eq!(status, if page.contains("name=none") { 404 } else { 200 }, "{answer}");
            self.bytes(&format!("serve's {page}"), answer.as_bytes());
        }
        served.end();
    }

    fn assert_nothing_found(&self) {
        let shown: Vec<&String> = self.found.iter().take(60).collect();
        assert!(shown.is_empty(), "{} planted secrets:\n{shown:#?}", self.found.len());
    }
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("app/index.php", APP);
    sandbox.write("app/.env", &planted(DOTENV));
    sandbox.write("app/.env.local", &planted(LOCAL));
    for (name, text) in OTHERS {
        sandbox.write(&format!("app/{name}"), &planted(text));
    }
    sandbox.write("plan.yaml", &planted(PLAN));
    sandbox
}

#[test]
fn the_search_finds_a_secret_in_each_encoding() {
    for (place, value) in PLANTED {
        for written in encodings(value) {
            let mut search = Search::default();
            search.bytes("it", format!("x {written} y").as_bytes());
            assert!(search.found.iter().any(|one| one.starts_with(place)), "{place}: {written}");
        }
    }
    let others = OTHERS.map(|(_, text)| text).concat();
    let templates = [PLAN, DOTENV, LOCAL, &others, FIRE.concat().as_str(), TRAFFIC, HAR].concat();
    let used = |place: &str| templates.contains(&format!("{{{place}"));
    let unused: Vec<&str> =
        PLANTED.map(|(place, _)| place).into_iter().filter(|one| !used(one)).collect();
    assert_eq!(unused, ["check-env", "check-login"], "the check plants these");
}

#[test]
#[ignore = "long: 12 s"]
fn no_planted_secret_is_in_results_or_on_the_terminal_or_served() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let (sandbox, mut search) = (sandbox(), Search::default());
    let results = sandbox.path().join("results");
    for (name, is_broken) in [("one", false), ("two", true)] {
        if is_broken {
            sandbox.write("app/broken", "");
        }
        let out = format!("results/{name}");
        search.run(&sandbox, &["compare", "plan.yaml", "--dry-run", "--json"]);
        let output = search.run(&sandbox, &["compare", "plan.yaml", "--out", &out]);
        assert!(is_broken || results.join(name).join("run.json").is_file(), "{}", stderr(&output));
        for format in ["text", "html", "markdown", "csv", "json", "svg", "junit"] {
            search.run(&sandbox, &["report", &out, "--format", format]);
        }
    }
    let files = search.directory(&results);
    assert!(files > 20, "{files} files");
    search.run(&sandbox, &["diff", "results/one", "results/two"]);
    search.run(&sandbox, &["history", "--in", "results", "--json"]);
    let mut names = vec!["one", "two"];
    names.retain(|name| results.join(name).join("run.json").is_file());
    search.serve(&results, &names);
    assert!(search.bytes > 500_000 && search.masks > 500, "{} masks", search.masks);
    search.assert_nothing_found();
}

const FIRE: [&str; 12] = [
    "-H",
    "X-Api-Key: {flag-header}",
    "--header=Authorization: Bearer {flag-bearer}",
    "--cookie",
    "SID={flag-cookie}",
    "--check",
    "body ~ /password={flag-check}/",
    "-d",
    "{\"password\": \"{flag-body}\"}",
    "--basic-auth",
    "user:{flag-basic}",
    "http://user:{flag-userinfo}@HOST/?sig={flag-url}",
];

const TRAFFIC: &str = "[Cookie: SID={traffic-cookie}]\n/a?token={traffic-query} tag\n/b\n";

#[test]
fn fire_gives_no_planted_secret_away() {
    // Every answer fails, and the first server's shows the beginning of what was sent.
    let page =
        "HTTP/1.1 500 Oh\r\nContent-Length: 42\r\n\r\npassword=P6Bnm-check A7Nmq-flag-body Z2Yxc";
    let server = CountingServer::at("127.0.0.1", page).expect("a server");
    let page = "HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno";
    let silent = CountingServer::at("127.0.0.1", page).expect("a server");
    let (sandbox, mut search) = (sandbox(), Search::default());
    std::fs::create_dir(sandbox.path().join("out")).expect("a directory");
    let load = ["--concurrency", "1", "--requests", "3", "--warm-up", "0s"];
    let files = ["--csv", "out/a.csv", "--phout", "out/a.phout", "--prometheus", "out/a.prom"];
    let host = format!("127.0.0.1:{}", silent.port());
    let flags = FIRE.map(|flag| planted(flag).replace("HOST", &host));
    let (url, flags) = flags.split_last().expect("the URL");
    // One `Authorization` at a time, and a URL's user is one too.
    let with_bearer: Vec<&str> = flags[..9].iter().map(String::as_str).collect();
    let with_basic: Vec<&str> = flags[9..].iter().map(String::as_str).collect();
    let signed = |port| format!("http://127.0.0.1:{port}/?sig={}", secret("flag-url"));
    let (echoes, plain) = (signed(server.port()), signed(silent.port()));
    for (url, flags) in [(&echoes, &with_bearer[..]), (&plain, &with_basic)] {
        for more in [&["--json"][..], &files] {
            let args = [&["fire", url], &load[..], flags, more].concat();
            let output = search.run(&sandbox, &args);
            assert!(stdout(&output).contains("500"), "{}{}", stdout(&output), stderr(&output));
        }
    }
    search.run(&sandbox, &[&["fire", url], &load[..]].concat());
    sandbox.write("traffic.txt", &planted(TRAFFIC));
    let traffic = ["fire", &plain, "--traffic", "traffic.txt", "--json"];
    search.run(&sandbox, &[&traffic, &load[..]].concat());
    sandbox.write(
        "traffic.har",
        &planted(HAR).replace("HOST", &format!("127.0.0.1:{}", silent.port())),
    );
    let har = ["fire", &plain, "--traffic", "traffic.har", "--json"];
    search.run(&sandbox, &[&har, &load[..]].concat());
    search.directory(&sandbox.path().join("out"));
    search.assert_nothing_found();
}

#[test]
#[ignore = "long: 75 s"]
fn a_check_gives_no_planted_secret_away() {
    let Some(worker) =
        workers().into_iter().next().filter(|_| !skipped(&["nginx", "php-fpm", "php"]))
    else {
        return println!("SKIPPED: no worker runtime is installed here");
    };
    let (sandbox, mut search) = (Sandbox::new(), Search::default());
    sandbox
        .write("shop/app.yaml", "title: it\nkind: callable\ndocroot: public\nindex: index.php\n");
    sandbox.write("shop/.env", &planted(DOTENV));
    let handler = r#"<?php
return static function (array $server): array {
    static $seen = [];
    $seen[] = $server['HTTP_AUTHORIZATION'] ?? '';
    $body = '<p>' . htmlspecialchars(implode(' ', $seen) . getenv('APP_PASSWORD')) . '<a href="/a?token=k8Zui-query">a</a>';
    return ['status' => 200, 'headers' => ['Content-Type' => 'text/html'], 'body' => $body];
};"#;
    sandbox.write("shop/handler.php", handler);
    let index = "<?php $answer = (require __DIR__ . '/../handler.php')($_SERVER);
        http_response_code($answer['status']);
        header('Content-Type: text/html');
        echo $answer['body'];";
    sandbox.write("shop/public/index.php", index);
    let login = format!("ann:{}", secret("check-login"));
    let env = format!("APP_PASSWORD={}", secret("check-env"));
    let args = ["check", "--app", "./shop", "--runtime", worker, "--growth", "0", "--seed", "7"];
    let more = ["--users", "2", "--login", &login, "--login", "bob:other-login", "--env", &env];
    let output = search.run(&sandbox, &[&args[..], &more, &["--out", "out"]].concat());
    assert!(sandbox.path().join("out/check.json").is_file(), "{}", stderr(&output));
    search.run(&sandbox, &[&args[..], &more, &["--json", "--out", "again"]].concat());
    for directory in ["out", "again"] {
        assert!(search.directory(&sandbox.path().join(directory)) >= 2);
    }
    search.assert_nothing_found();
}

#[test]
#[ignore = "long: 12 s"]
fn an_ordinary_password_changes_nothing_but_its_own_place() {
    if skipped(&["php"]) {
        return;
    }
    const TEXT: &str =
        "the root of all: user root, /srv/root-www, root@localhost; group=root, uproot";
    let compared = |env: &str| {
        let sandbox = Sandbox::new();
        let code = format!("<?php error_log('warning: {TEXT}'); echo '<title>{TEXT}</title>';");
        sandbox.write("root/index.php", &code);
        sandbox.write("root/.env", env);
        let args =
            ["compare", "--app", "./root", "--runtimes", "php-builtin", "--concurrency", "1"];
        let load = ["--for", "1s", "--warm-up", "0s", "--rounds", "1", "--path", "/?user=root"];
        let output = finish(sandbox.stampede(&[&args[..], &load].concat()), LIMIT);
        let trial = std::fs::read_dir(sandbox.run().join("trials")).expect("trials");
        let trial = trial.flatten().next().expect("a trial").path();
        let read = |path: &Path| std::fs::read_to_string(path).expect("a file");
        let answer = read(&trial.join("answer.txt"));
        let name = trial.file_name().expect("a name").to_string_lossy().into_owned();
        let logs: String = std::fs::read_dir(trial.join("logs"))
            .expect("logs")
            .flatten()
            .map(|log| read(&log.path()))
            .collect();
        let run = read(&sandbox.run().join("run.json"));
        let page = read(&sandbox.run().join("report.html"));
        let roots = |text: &str| text.matches("root").count();
        let masks = |text: &str| text.matches("***").count();
        let printed = stdout(&output) + &stderr(&output);
        assert!(logs.contains(TEXT) && printed.contains("root"), "{env}: {logs}{printed}");
        let masked = [masks(&run), masks(&page), masks(&printed)];
        (answer, name, [roots(&run), roots(&page)], masked)
    };
    let with = compared("DB_PASSWORD=root\nDB_USER=root\n");
    assert_eq!(with, compared("DB_NAME=shop\nDB_USER=root\n"));
    assert!(with.0.ends_with(&format!("\n\n<title>{TEXT}</title>")), "{}", with.0);
    assert!(with.1.contains("root") && with.3[0] == 0, "{with:?}");
}
