//! Tests the catalogue's apps on every runtime that is installed here and runs their kind. They
//! must give the same masked answer everywhere, and each framework must get the same from a
//! request.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use stampede_keeper::KeeperOptions;
use stampede_plan::model::{AppChoice, RuntimeChoice, RuntimeSource, Scalar};
use stampede_stack::{
    Catalogue, Logs as _, Placement, ProcessProvider, ProcessStack, RuntimeError, SearchPaths,
    Stack as _,
};

use crate::bench_support::{Bench, prepared};

const WITHIN: Duration = Duration::from_secs(10);
const ONE_WORKER: [(&str, Scalar); 1] = [("workers", Scalar::Int(1))];

/// Starts the app on every runtime. `ask` must return the same on all that are installed; the panic
/// names every runtime that differs.
fn same_everywhere(app: &AppChoice, ask: impl Fn(&str, &Bench, &ProcessStack) -> String) {
    let bench = Bench::new(app);
    let mut answers: Vec<(String, String)> = Vec::new();
    let mut wrong: Vec<String> = Vec::new();
    for name in bench.catalogue.runtime_names() {
        let Some(started) = bench.try_start(name, &ONE_WORKER) else { continue };
        let running = match started {
            Ok(running) => running,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        match catch_unwind(AssertUnwindSafe(|| ask(name, &bench, &running))) {
            Ok(text) => answers.push((name.to_owned(), text)),
            Err(_) => wrong.push(format!("{name}: see above; {}", running.last_lines())),
        }
        running.stop().expect("stop");
    }
    for (name, text) in &answers {
        let (other, first) = &answers[0];
        if text != first {
            wrong.push(format!("{name} beside {other}: {text} beside {first}"));
        }
    }
    assert!(wrong.is_empty(), "{app:?}:\n{}", wrong.join("\n"));
    match answers.len() {
        0 => eprintln!("skipped: no runtime is here for {app:?}"),
        count => eprintln!("{app:?} on {count} runtimes"),
    }
}

/// Checks the whole answer once more: a runtime is ready when its answer is the expected one.
fn answers_the_same(name: &str) {
    same_everywhere(&AppChoice::named(name.into()), |runtime, bench, running| {
        let answer = running.ask(WITHIN).unwrap_or_else(|error| panic!("{runtime}: {error}"));
        assert_eq!(bench.app.wrong(&answer), None, "{runtime}");
        for (need, version) in known_versions(bench, running) {
            let is_number = version.starts_with(|c: char| c.is_ascii_digit());
            assert!(is_number, "{runtime}: {need} is `{version}`");
        }
        answer.masked(&bench.app.masks)
    });
}

/// The versions of the app's frameworks, as in the result.
fn known_versions(bench: &Bench, running: &ProcessStack) -> Vec<(String, String)> {
    let versions = running.record().versions;
    let needs = bench.app.manifest.needs.keys();
    needs.map(|need| (need.clone(), versions[need].clone())).collect()
}

#[test]
fn symfony_is_the_same_on_every_runtime() {
    answers_the_same("symfony");
}

#[test]
#[ignore = "long: 14 s"]
fn symfony_twig_is_the_same_on_every_runtime() {
    answers_the_same("symfony-twig");
}

#[test]
#[ignore = "long: 12 s"]
fn laravel_is_the_same_on_every_runtime() {
    answers_the_same("laravel");
}

#[test]
fn lumen_is_the_same_on_every_runtime() {
    answers_the_same("lumen");
}

#[test]
#[ignore = "long: 26 s"]
fn apps_to_calibrate_with_are_the_same_on_every_runtime() {
    for name in ["cpu", "sleep", "memory", "download"] {
        answers_the_same(name);
    }
}

/// With SQLite. `database.rs` tests the other databases.
#[test]
#[ignore = "long: 36 s"]
fn apps_with_a_database_are_the_same_on_every_runtime() {
    for name in ["db-read", "db-write", "symfony-db"] {
        answers_the_same(name);
    }
}

/// Runs on all runtimes that boot for each request. Each has a database of its own.
#[test]
#[ignore = "long: 86 s"]
fn wordpress_is_the_same_on_every_runtime() {
    answers_the_same("wordpress");
}

/// A person's own copy of the app, with a WordPress of its own.
#[test]
fn a_copy_brings_its_own_wordpress() {
    let debian = Path::new("/usr/share/wordpress");
    if !debian.is_dir() {
        return eprintln!("SKIPPED: WordPress is not installed here");
    }
    let directory = tempfile::tempdir().expect("directory");
    let blog = directory.path().join("blog");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/wordpress"), &blog);
    std::os::unix::fs::symlink(debian, blog.join("wordpress")).expect("link");
    let bench = Bench::new(&AppChoice::directory(blog));
    let Some(running) = bench.start("php-builtin", &ONE_WORKER) else { return };
    let version = &running.record().versions["wordpress"];
    let is_number = version.starts_with(|c: char| c.is_ascii_digit());
    assert!(is_number && version.ends_with(" (own)"), "{version}");
    running.stop().expect("stop");
}

#[test]
fn what_is_uploaded_arrives_whole_on_every_runtime() {
    // Larger than one read, and not text.
    let body: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
    same_everywhere(&AppChoice::named("upload".into()), |runtime, _, running| {
        let client = client();
        let answer = client
            .post(running.url())
            .header("Content-Type", "application/octet-stream")
            .send(&body[..]);
        let reply = read(answer.unwrap_or_else(|error| panic!("{runtime}: {error}"))).1;
        let reply: Value = serde_json::from_str(&reply).expect("JSON");
        assert_eq!(
            (&reply["bytes"], &reply["method"]),
            (&json!(300_000), &json!("POST")),
            "{runtime}"
        );
        reply.to_string()
    });
}

/// The apps `sleep` and `cpu` must spend exactly what a request asks for.
#[test]
#[ignore = "long: 13 s"]
fn sleep_and_cpu_take_what_they_are_asked_for() {
    for (name, field) in [("sleep", "slept_ms"), ("cpu", "spent_ms")] {
        same_everywhere(&AppChoice::named(name.into()), |runtime, _, running| {
            let (status, text) = get(running, "/?ms=30", "");
            assert_eq!(status, 200, "{runtime}: {text}");
            let reply: Value = serde_json::from_str(&text).expect("JSON");
            assert!(reply[field].as_i64().is_some_and(|ms| ms >= 30), "{runtime}: {reply}");
            get(running, "/?ms=-1", "").1
        });
    }
}

/// Starts an app of the kind that has routes for everything a request may contain.
fn of_kind(kind: &str, ask: impl Fn(&str, &ProcessStack)) {
    let directory = tempfile::tempdir().expect("directory");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shipped = root.join("../../apps").join(kind);
    if shipped.is_dir() {
        copy(&shipped, directory.path());
    }
    copy(&root.join("tests/kinds").join(kind), directory.path());
    same_everywhere(&AppChoice::directory(directory.path().to_owned()), |runtime, _, running| {
        ask(runtime, running);
        assert_eq!(get(running, "/no-such-page", "").0, 404, "{runtime}");
        ["/form", "/cookies", "/upload"].map(|path| common(runtime, running, path)).join("\n")
    });
}

fn common(runtime: &str, running: &ProcessStack, path: &str) -> String {
    let client = client();
    let url = format!("{}{path}", running.url());
    let (answer, expected) = match path {
        "/form" => (
            client.post(format!("{url}?q=x%20y")).send_form([("a[]", "1"), ("b", "2 3 é")]),
            json!({"form": {"a": ["1"], "b": "2 3 é"}, "query": {"q": "x y"}}),
        ),
        "/upload" => (
            client.post(url).header("Content-Type", MULTIPART).send(FILE),
            json!({"name": "hello.txt", "bytes": 5, "sha256": SHA256}),
        ),
        _ => (
            client.get(url).header("Cookie", "one=1; two=a%20b").call(),
            json!({"cookies": {"one": "1", "two": "a b"}}),
        ),
    };
    let answer = answer.unwrap_or_else(|error| panic!("{runtime}: {path}: {error}"));
    let set = cookies(&answer);
    let (status, text) = read(answer);
    assert_eq!(status, 200, "{runtime}: {path}: {text}");
    let reply: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(reply, expected, "{runtime}: {path}");
    let names: Vec<String> = set.into_iter().filter(|_| path == "/cookies").collect();
    assert!(path != "/cookies" || names == ["first=1", "second=2"], "{runtime}: {names:?}");
    // RoadRunner gives cookies in no fixed order.
    format!("{status} {expected} {names:?}")
}

/// Counts requests in a session. Another client must get another session.
fn sessions(runtime: &str, running: &ProcessStack) {
    let asked = |cookie: &str| {
        let call = client().get(format!("{}/session", running.url())).header("Cookie", cookie);
        let answer = call.call().unwrap_or_else(|error| panic!("{runtime}: {error}"));
        let set = cookies(&answer);
        let (status, text) = read(answer);
        assert_eq!(status, 200, "{runtime}: {text}");
        (serde_json::from_str::<Value>(&text).expect("JSON")["asked"].clone(), set)
    };
    let (first, set) = asked("none=1");
    assert!(!set.is_empty(), "{runtime}: a session has a cookie");
    assert_eq!(first, 1, "{runtime}");
    let (second, renewed) = asked(&set.join("; "));
    assert_eq!(second, 2, "{runtime}");
    let set = if renewed.is_empty() { set } else { renewed };
    assert_eq!(asked("none=1").0, 1, "{runtime}: nobody else's");
    assert_eq!(asked(&set.join("; ")).0, 3, "{runtime}");
}

#[test]
fn a_request_brings_the_same_to_a_plain_handler() {
    of_kind("callable", |_, _| ());
}

#[test]
fn a_request_brings_the_same_to_a_plain_script() {
    of_kind("script", sessions);
}

#[test]
#[ignore = "long: 10 s"]
fn a_request_brings_the_same_to_symfony() {
    of_kind("symfony", sessions);
}

#[test]
#[ignore = "long: 13 s"]
fn a_request_brings_the_same_to_laravel() {
    of_kind("laravel", sessions);
}

/// Lumen has no sessions.
#[test]
fn a_request_brings_the_same_to_lumen() {
    of_kind("lumen", |_, _| ());
}

/// An app whose framework is missing, or whose preparation fails: one error that says what to do.
#[test]
fn no_framework_and_a_failed_preparation_are_clear_errors() {
    let framework = "needs:\n  nowhere:\n    package: a/framework\n    file: /nowhere/autoload.php\n    \
        version: { file: /nowhere/autoload.php, after: x }\n    \
        install: { debian: { packages: [php-nowhere] } }\n";
    assert_words!(refused(framework, ""), @r"
    error: app `shop` needs `a/framework`, which neither a vendor directory of its own nor this machine's packages have
    hint: get it with `apt-get install --no-install-recommends php-nowhere`, or with `composer require a/framework` in a copy of the app
    ");
    let failed = refused("prepare: prepare.php\n", "throw new Exception('no disk');");
    let how = "error: app `shop` could not be prepared: `prepare.php` ended with exit code 255\n";
    assert!(failed.starts_with(how) && failed.contains("Uncaught Exception: no disk"), "{failed}");
}

fn refused(lines: &str, script: &str) -> String {
    let directory = tempfile::tempdir().expect("directory");
    let app = directory.path().join("shop");
    let write = |name: &str, text: &str| {
        let path = app.join(name);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("directory");
        std::fs::write(path, text).expect("file");
    };
    write("app.yaml", &format!("title: t\nkind: script\n{lines}"));
    write("index.php", "<?php");
    write("prepare.php", &format!("<?php {script}"));
    let places = SearchPaths { family: vec!["debian".into()], ..SearchPaths::from_env() };
    let catalogue = Catalogue::load(places);
    let app = catalogue.app(&AppChoice::directory(app)).expect("app");
    let choice = RuntimeChoice {
        name: "php-builtin".into(),
        source: RuntimeSource::Catalogue("php-builtin".into()),
        settings: BTreeMap::new(),
        php_ini: BTreeMap::new(),
        env: BTreeMap::new(),
        images: None,
        as_today: None,
    };
    let options = KeeperOptions {
        program: env!("CARGO_BIN_EXE_stampede").into(),
        journal: directory.path().join("journal"),
        ..KeeperOptions::default()
    };
    let provider = ProcessProvider::with_keeper(catalogue, options);
    let error = match prepared(&provider, &choice, &app, &Placement::default()) {
        Err(error @ RuntimeError::Missing { .. }) => return format!("skipped: {error}"),
        Err(error) => error,
        Ok(_) => panic!("it is prepared"),
    };
    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    format!("error: {error}{hint}")
}

type Http = ureq::http::Response<ureq::Body>;

/// A client with a new connection for each request: a kept one may hold the only worker.
fn client() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_idle_connections(0)
        .timeout_global(Some(WITHIN))
        .build()
        .into()
}

fn get(running: &ProcessStack, target: &str, cookie: &str) -> (u16, String) {
    let call = client().get(format!("{}{target}", running.url())).header("Cookie", cookie);
    read(call.call().unwrap_or_else(|error| panic!("{target}: {error}")))
}

fn read(mut answer: Http) -> (u16, String) {
    (answer.status().as_u16(), answer.body_mut().read_to_string().expect("text"))
}

/// Name and value of each cookie that the answer sets.
fn cookies(answer: &Http) -> Vec<String> {
    let set = answer.headers().get_all("set-cookie").iter();
    set.filter_map(|value| Some(value.to_str().ok()?.split(';').next()?.to_owned())).collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("directory");
    for entry in std::fs::read_dir(from).expect("directory") {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).expect("entry");
        match path.is_dir() {
            true => copy(&path, &to.join(name)),
            false => drop(std::fs::copy(&path, to.join(name)).expect("copy")),
        }
    }
}

const MULTIPART: &str = "multipart/form-data; boundary=x";
const FILE: &str = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"hello.txt\"\r\n\
    Content-Type: text/plain\r\n\r\nhello\r\n--x--\r\n";
const SHA256: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
