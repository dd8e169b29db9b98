//! RoadRunner for real, where it is installed: what its workers do with apps that misbehave, and
//! how they live. And the folders that make variants and assembled programs.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{Place, finish, stderr, stdout};
use stampede::keeper::KeeperOptions;
use stampede::plan::model::{AppChoice, RuntimeChoice, RuntimeSource, Scalar};
use stampede::runtime::{
    Catalogue, Placement, Places, Running, RuntimeError, prepare, start, under, verify,
};

const LIMIT: Duration = Duration::from_secs(120);
/// Says what it is asked, and misbehaves where it is told to.
const HANDLER: &str = r#"<?php return static function (array $server): array {
    static $served = 0;
    $served++;
    switch ($_GET['do'] ?? '') {
        case 'throw': throw new RuntimeException('thrown on purpose');
        case 'echo': echo 'printed, '; break;
        case 'stdout': fwrite(STDOUT, 'not a frame of goridge'); break;
        case 'exit': echo 'exited'; exit;
    }
    $body = ['app' => 'fine', 'pid' => getmypid(), 'served' => $served, 'post' => $_POST,
        'uri' => $server['REQUEST_URI'], 'sapi' => PHP_SAPI];
    return ['status' => 200, 'headers' => ['Content-Type' => 'application/json'],
        'body' => json_encode($body)];
};"#;

struct Bench {
    catalogue: Catalogue,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().expect("folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join("app").join(name);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(path, text).expect("file");
        };
        write("app.yaml", "title: it misbehaves\nkind: callable\ndocroot: public\n");
        write("handler.php", HANDLER);
        write("public/index.php", "<?php");
        Bench { catalogue: Catalogue::load(Places::from_env()), folder }
    }

    fn start(&self, name: &str, settings: &[(&str, Scalar)]) -> Option<Running> {
        let app = self.catalogue.app(&AppChoice::Folder(self.folder.path().join("app")));
        let app = app.expect("app");
        let choice = RuntimeChoice {
            name: name.into(),
            source: RuntimeSource::Catalogue(name.into()),
            settings: settings.iter().map(|(key, value)| ((*key).into(), value.clone())).collect(),
            php_ini: BTreeMap::new(),
            env: BTreeMap::new(),
        };
        let options = KeeperOptions {
            program: env!("CARGO_BIN_EXE_stampede").into(),
            journal: self.folder.path().join("journal"),
            ..KeeperOptions::default()
        };
        let placement = Placement::default();
        match prepare(&self.catalogue, &choice, &app, &placement, under(&options)) {
            Ok(prepared) => {
                let running = start(prepared).unwrap_or_else(|error| panic!("{name}: {error}"));
                verify(&running, &app).unwrap_or_else(|error| panic!("{name}: {error}"));
                Some(running)
            }
            Err(error @ RuntimeError::Missing { .. }) => {
                eprintln!("SKIPPED: {name}: {error}");
                None
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }
}

/// Status and body.
fn ask(running: &Running, target: &str) -> (u16, String) {
    let config = ureq::Agent::config_builder().http_status_as_error(false).build();
    let answer = ureq::Agent::from(config).get(format!("{}{target}", running.url())).call();
    let mut answer = answer.expect("an answer");
    (answer.status().as_u16(), answer.body_mut().read_to_string().expect("text"))
}

fn told(running: &Running, target: &str) -> serde_json::Value {
    let (status, body) = ask(running, target);
    assert_eq!(status, 200, "{target}: {body}");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// Once a worker answers: a request that RoadRunner gives to one that has just ended fails.
fn told_at_last(running: &Running) -> serde_json::Value {
    let deadline = Instant::now() + Duration::from_secs(5);
    while ask(running, "/").0 != 200 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    told(running, "/")
}

fn logged(running: &Running, text: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(5);
    while Instant::now() < deadline {
        let has = |log: &std::path::PathBuf| {
            std::fs::read_to_string(log).is_ok_and(|log| log.contains(text))
        };
        if running.logs().iter().any(has) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn one_worker(extra: &[(&'static str, Scalar)]) -> Vec<(&'static str, Scalar)> {
    [&[("workers", Scalar::Int(1))], extra].concat()
}

#[test]
fn what_an_app_does_wrong_costs_an_answer_and_not_the_worker() {
    let bench = Bench::new();
    for (name, relay) in
        [("roadrunner", "pipes"), ("roadrunner", "unix"), ("nginx-roadrunner", "pipes")]
    {
        let settings = one_worker(&[("relay", Scalar::Text(relay.into()))]);
        let Some(running) = bench.start(name, &settings) else { return };
        let first = told(&running, "/a%20b?x=1");
        assert_eq!(
            (&first["uri"], &first["sapi"]),
            (&"/a%20b?x=1".into(), &"cli".into()),
            "{name}"
        );
        assert_eq!(ask(&running, "/?do=throw").0, 500, "{name}");
        assert!(logged(&running, "thrown on purpose"), "{name}: the log has it");
        let (status, body) = ask(&running, "/?do=echo");
        assert!(status == 200 && body.starts_with("printed, {\"app\""), "{name}: {status} {body}");
        let later = told(&running, "/");
        assert_eq!(first["pid"], later["pid"], "{name} {relay}: the same worker serves on");
        assert_eq!(ask(&running, "/?do=exit"), (200, "exited".to_owned()), "{name}");
        assert_ne!(first["pid"], told_at_last(&running)["pid"], "{name}: another one after `exit`");
        running.stop().expect("stop");
    }
}

#[test]
fn a_worker_that_writes_to_standard_output_is_discarded() {
    let bench = Bench::new();
    let Some(running) = bench.start("roadrunner", &one_worker(&[])) else { return };
    let before = told(&running, "/");
    assert_eq!(ask(&running, "/?do=stdout").0, 500);
    let after = told_at_last(&running);
    assert_ne!(before["pid"], after["pid"], "RoadRunner took another worker");
}

#[test]
fn max_requests_replaces_workers_and_reboot_forgets() {
    let bench = Bench::new();
    let settings = one_worker(&[("max_requests", Scalar::Int(3))]);
    let Some(running) = bench.start("roadrunner", &settings) else { return };
    let pids: std::collections::BTreeSet<String> =
        (0..9).map(|_| told(&running, "/")["pid"].to_string()).collect();
    assert!(pids.len() >= 3, "{pids:?}");
    running.stop().expect("stop");

    for (name, last) in [("roadrunner", 1), ("roadrunner-reboot", 0)] {
        let Some(running) = bench.start(name, &one_worker(&[])) else { return };
        let served = |_: &i32| told(&running, "/")["served"].as_i64().expect("a number");
        let seen: Vec<i64> = (0..3).map(|number| served(&number)).collect();
        assert_eq!((seen[2] - seen[0]) / 2, last, "{name}: {seen:?}");
        running.stop().expect("stop");
    }
}

#[test]
fn a_form_reaches_the_app() {
    let bench = Bench::new();
    let Some(running) = bench.start("roadrunner", &one_worker(&[])) else { return };
    let mut answer =
        ureq::post(running.url()).send_form([("a[]", "1"), ("b", "2 3")]).expect("answer");
    let body: serde_json::Value =
        serde_json::from_str(&answer.body_mut().read_to_string().expect("text")).expect("JSON");
    assert_eq!(body["post"], serde_json::json!({"a": ["1"], "b": "2 3"}));
}

#[test]
fn workers_are_what_a_comparison_finds_comparable() {
    let place = Place::new();
    let names = "nginx-fpm,roadrunner,roadrunner-reboot";
    let args = ["compare", "--app", "hello", "--runtimes", names, "--users", "2", "--for", "500ms"];
    let rest = ["--rounds", "1", "--warm-up", "200ms", "--workers", "2", "--json"];
    let mut command = place.stampede(&[&args[..], &rest[..]].concat());
    // Where the person's own programs are: the place has a home of its own.
    for name in ["XDG_DATA_HOME", "HOME"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let output = finish(command, LIMIT);
    if output.status.code() == Some(2) {
        return eprintln!("SKIPPED: {}", stderr(&output));
    }
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    for cell in summary["cells"].as_array().expect("cells") {
        assert_eq!(cell["not_comparable"], serde_json::json!([]), "{cell:#}");
        let is_worker = cell["mode"] == "worker";
        assert_eq!(cell["kept"].is_array(), is_worker, "{}: {}", cell["runtime"], cell["kept"]);
        let rr = cell["versions"]["rr"].as_str().unwrap_or_default();
        let name = cell["runtime"].as_str().unwrap_or_default();
        assert_eq!(name.ends_with(" (assembled)"), rr.contains("(assembled)"), "{name}: {rr}");
    }
}

/// A folder of runtimes of the test's own.
fn catalogue(files: &[(&str, &str)]) -> (Catalogue, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("folder");
    for (name, text) in files {
        let path = folder.path().join(name).join("runtime.yaml");
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("folder");
        std::fs::write(path, text).expect("file");
    }
    let places = Places { runtimes: vec![folder.path().to_owned()], ..Places::from_env() };
    (Catalogue::load(places), folder)
}

#[test]
fn a_variant_with_a_folder_is_another_runtime_with_settings() {
    let variant =
        |of: &str, settings: &str| format!("title: mine\nuse: {of}\nsettings: {settings}\n");
    let (catalogue, folder) = catalogue(&[
        ("mine", &variant("nginx-fpm", "{ pm: dynamic }")),
        ("unknown", &variant("nginx-fmp", "{}")),
        ("twice", &variant("mine", "{}")),
        ("setting", &variant("nginx-fpm", "{ pn: dynamic }")),
        ("value", &variant("nginx-fpm", "{ pm: dynamic, socket: udp }")),
    ]);
    let mine = catalogue.runtime("mine").expect("runtime");
    assert_eq!((mine.name.as_str(), mine.manifest.title.as_str()), ("mine", "mine"));
    assert_eq!(mine.manifest.settings["pm"].default, Scalar::Text("dynamic".into()));
    assert!(mine.text("nginx.conf.j2").is_ok(), "its files are the other's");
    let errors = ["unknown", "twice", "setting", "value"].map(|name| {
        let error = catalogue.runtime(name).expect_err("wrong");
        let text = format!("{error}\n{}", error.hint().unwrap_or_default());
        text.replace(&folder.path().display().to_string(), "")
    });
    insta::assert_snapshot!(errors.join("\n"));
}
