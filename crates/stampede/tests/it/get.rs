//! Tests needs that no package has and that `stampede install` makes with a script of a runtime's
//! directory, and how they are found. Runtime, script and tool are the test's own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use stampede_stack::{Catalogue, SearchPaths};

use crate::common;
use crate::common::{Sandbox, finish, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(60);

const RUNTIME: &str = "title: own
mode: worker
app_kinds: [callable]
worker_held_by: request
needs: { no-such: { programs: [no-such], version: \"no-such --version\" } }
processes: [{ role: php, run: no-such, stop: { signal: TERM, grace: 1s } }]
ready: { within: 1s }
effective_workers: { processes: { role: php } }
get: [{ need: no-such, run: get/make.sh, tools: [own-tool], note: name it yourself }]
";
/// A script that leaves half of its files when it fails, and a running process when it is
/// interrupted.
const SCRIPT: &str = r#"echo asked >>"$ASKED"
cat beside.txt >"$OUT/beside.txt"
[ -z "${FAILS-}" ] || { echo "no registry there" >&2; exit 1; }
[ -z "${SLEEPS-}" ] || { sleep 30 & echo $! >"$ASKED"; wait; }
"$OWN_TOOL" "$OUT/no-such"
"#;
const TOOL: &str =
    "#!/bin/sh\nprintf '#!/bin/sh\\necho own 1 \"(library)\"\\n' >\"$1\"\nchmod 755 \"$1\"\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("runtimes/own/runtime.yaml", RUNTIME);
    sandbox.write("runtimes/own/get/make.sh", SCRIPT);
    sandbox.write("runtimes/own/get/beside.txt", "x");
    sandbox.program("own-tool", TOOL);
    sandbox
}

fn install(sandbox: &Sandbox, words: &[&str]) -> Command {
    let mut command = sandbox.stampede(&[&["install", "own"], words].concat());
    command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
    command.env("STAMPEDE_OWN_TOOL", sandbox.path().join("own-tool"));
    command.env("XDG_DATA_HOME", sandbox.path().join("data"));
    command.env("ASKED", sandbox.path().join("asked"));
    command
}

/// The entries of the directory of built needs.
fn made(sandbox: &Sandbox) -> Vec<String> {
    let found = std::fs::read_dir(sandbox.path().join("data/stampede/lib"));
    let names = found.into_iter().flatten().flatten();
    names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn it_is_made_whole_and_found() {
    let sandbox = sandbox();
    let printed = finish(install(&sandbox, &["--print"]), LIMIT);
    let text = stdout(&printed).replace(&*sandbox.path().to_string_lossy(), "PLACE");
    assert!(!sandbox.path().join("asked").exists() && made(&sandbox).is_empty(), "it runs nothing");
    assert_words!(text);
    // An earlier version, and what a killed installation left.
    sandbox.write("data/stampede/lib/no-such/old", "x");
    sandbox.write("data/stampede/lib/.no-such.part/old", "x");
    let output = finish(install(&sandbox, &["--json"]), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("own 1 (library)"), "{}", stdout(&output));
    assert_eq!(made(&sandbox), ["no-such"]);
    assert!(sandbox.path().join("data/stampede/lib/no-such/beside.txt").is_file());
    assert!(!sandbox.path().join("data/stampede/lib/no-such/old").exists());
    let again = finish(install(&sandbox, &[]), LIMIT);
    assert!(stdout(&again).starts_with("nothing is missing: own\n"), "{}", stdout(&again));
}

#[test]
fn what_people_read_when_it_is_not_made() {
    let without_script = sandbox();
    std::fs::remove_file(without_script.path().join("runtimes/own/get/make.sh")).expect("removed");
    let no_need = sandbox();
    no_need.write(
        "runtimes/own/runtime.yaml",
        &RUNTIME.replace("need: no-such, run", "need: no-suhc, run"),
    );
    let cases = [
        ("the script fails", sandbox(), Some(("FAILS", "1"))),
        ("no tool", sandbox(), Some(("STAMPEDE_OWN_TOOL", "/nowhere"))),
        ("no script", without_script, None),
        ("no such need", no_need, None),
    ];
    let mut page = String::new();
    for (name, sandbox, set) in cases {
        let mut command = install(&sandbox, &[]);
        command.envs(set);
        let output = finish(command, LIMIT);
        assert_eq!(made(&sandbox), [] as [&str; 0], "{name}: nothing half-made");
        let text = stderr(&output).replace(&*sandbox.path().to_string_lossy(), "PLACE");
        page += &format!("# {name}: {:?}\n{text}\n", output.status.code());
    }
    assert_words!(page);
}

/// Makes an archive of a release; only the one called `own.tar.gz` has the program.
fn archive(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.program("own-2/own", "#!/bin/sh\necho own 2\n");
    sandbox.write("own-2/LICENSE", "free\n");
    let member = if name == "own.tar.gz" { "own-2" } else { "own-2/LICENSE" };
    let made = sandbox.path().join(name);
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(&made).arg("-C").arg(sandbox.path()).arg(member);
    assert!(tar.status().expect("tar").success());
    made
}

/// A server on 127.0.0.1 that sends each path to `answer`, whose bytes are sent as they are. Returns
/// its URL. It ends with the test's process.
fn server(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.expect("a connection");
            let mut line = String::new();
            let mut reader = BufReader::new(connection.try_clone().expect("a socket"));
            reader.read_line(&mut line).expect("a request");
            let mut head = String::new();
            while reader.read_line(&mut head).is_ok_and(|length| length > 2) {}
            let path = line.split(' ').nth(1).unwrap_or_default();
            // A client that has heard enough may be gone.
            for part in answer(path).chunks(8) {
                let _ = connection.write_all(part);
                if path.starts_with("/slow") {
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    });
    url
}

/// Releases come from a server: moved ones are followed, and what comes only in part, not at all, or as
/// another file is not taken.
#[test]
fn a_release_comes_from_a_server_or_the_program_is_built() {
    if common::skipped(&["curl", "sha256sum"]) {
        return;
    }
    let program = "#!/bin/sh\necho own 2\n";
    let url = server(move |path| {
        let whole = |status: &str, more: &str, body: &str| {
            let length = body.len();
            format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{more}Connection: close\r\n\r\n{body}")
                .into_bytes()
        };
        match path {
            "/right" | "/slow" => whole("200 OK", "", program),
            "/moved" => whole("302 Found", "Location: /right\r\n", ""),
            "/other" => whole("200 OK", "", "#!/bin/sh\necho own 3\n"),
            "/cut" => b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n#!/bin/sh\n".to_vec(),
            "/error" => whole("503 Service Unavailable", "", program),
            _ => whole("404 Not Found", "", program),
        }
    });
    let cases = [
        ("/right", true),
        ("/slow", true),
        ("/moved", true),
        ("/other", false),
        ("/cut", false),
        ("/error", false),
        ("/gone", false),
    ];
    for (path, taken) in cases {
        let sandbox = sandbox();
        let pinned = sandbox.write("pinned", program);
        let text = Command::new("sha256sum").arg(&pinned).output().expect("sha256sum");
        let sum = String::from_utf8_lossy(&text.stdout)[..64].to_owned();
        let yaml = format!(
            "get: [{{ need: no-such, release: {{ {}: {{ url: \"{url}{path}\", sha256: [{sum}], note: its own }} }}, run",
            std::env::consts::ARCH
        );
        let runtime = RUNTIME.replace("get: [{ need: no-such, run", &yaml);
        sandbox.write("runtimes/own/runtime.yaml", &runtime);
        let output = finish(install(&sandbox, &[]), LIMIT);
        let said = stdout(&output) + &stderr(&output);
        let made = sandbox.path().join("data/stampede/lib/no-such/no-such");
        let made = std::fs::read_to_string(made).unwrap_or_else(|_| panic!("{path}: {said}"));
        assert_eq!(output.status.code(), Some(0), "{path}: {said}");
        assert_eq!(made == program, taken, "{path}: {said}");
        assert_eq!(sandbox.path().join("asked").exists(), !taken, "{path}: built: {said}");
        assert!(said.contains(&url), "{path}: {said}");
    }
}

/// The release is tried first, and used only if it is the pinned one.
#[test]
fn a_release_is_taken_where_it_is_the_pinned_one() {
    if common::skipped(&["curl", "sha256sum"]) {
        return;
    }
    let program = "#!/bin/sh\necho own 2\n";
    let broken = "#!/bin/sh\nexit 1\n";
    let case = |sum: fn(&str) -> String, file: &str, words: &[&str]| {
        let sandbox = sandbox();
        let text = if file == "broken" { broken } else { program };
        let release = sandbox.write(if file == "broken" { file } else { "release" }, text);
        let (release, member) = match file.strip_suffix(".tar.gz") {
            Some(_) => (archive(&sandbox, file), "member: own-2/own, "),
            None => (release, ""),
        };
        let text = Command::new("sha256sum").arg(&release).output().expect("sha256sum");
        let sum = sum(&String::from_utf8_lossy(&text.stdout)[..64]);
        let url = format!("file://{}", sandbox.path().join(file).display());
        let yaml = format!(
            "get: [{{ need: no-such, release: {{ {}: {{ url: \"{url}\", sha256: [{sum}], {member}note: its own }} }}, run",
            std::env::consts::ARCH
        );
        sandbox.write(
            "runtimes/own/runtime.yaml",
            &RUNTIME.replace("get: [{ need: no-such, run", &yaml),
        );
        if words == ["--build"] {
            // A release that is installed already must not be taken for our own build.
            finish(install(&sandbox, &[]), LIMIT);
        }
        let output = finish(install(&sandbox, words), LIMIT);
        // An archive has the time at which it was made.
        let hide = |text: String| {
            text.replace(&*sandbox.path().to_string_lossy(), "PLACE").replace(&sum, "SUM")
        };
        let made =
            std::fs::read_to_string(sandbox.path().join("data/stampede/lib/no-such/no-such"));
        let which = match made {
            Ok(text) if text == program => "the release",
            Ok(_) => "what was built",
            Err(_) => "nothing",
        };
        let (message, printed) = (hide(stderr(&output)), hide(stdout(&output)));
        let lines = if words == ["--print"] { usize::MAX } else { 1 };
        let printed: String = printed.lines().take(lines).map(|line| format!("{line}\n")).collect();
        format!("{:?}, there is {which}\n{printed}{message}\n", output.status.code())
    };
    let right = |sum: &str| sum.to_owned();
    let wrong = |_: &str| "0".repeat(64);
    let page = [
        ("the pinned one", case(right, "release", &[])),
        ("another one", case(wrong, "release", &[])),
        ("none", case(right, "nowhere", &[])),
        ("one that does not start", case(right, "broken", &[])),
        ("not wanted, though it is there", case(right, "release", &["--build"])),
        ("shown only", case(right, "release", &["--print"])),
        ("one in an archive", case(right, "own.tar.gz", &[])),
        ("an archive without it", case(right, "other.tar.gz", &[])),
        ("an archive, shown only", case(right, "own.tar.gz", &["--print"])),
    ];
    let page: String = page.iter().map(|(name, text)| format!("# {name}: {text}")).collect();
    assert_words!(page);
}

#[test]
fn an_interrupted_build_ends_everything_it_started() {
    let sandbox = sandbox();
    let mut sleeps = install(&sandbox, &[]);
    sleeps.env("SLEEPS", "1");
    let asked = sandbox.path().join("asked");
    let child = sleeps.spawn().expect("start");
    let deadline = Instant::now() + LIMIT;
    let sleeper = || std::fs::read_to_string(&asked).ok()?.trim().parse::<u32>().ok();
    while sleeper().is_none() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    let sleeper = PathBuf::from(format!("/proc/{}/stat", sleeper().expect("it runs")));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("signal");
    let output = child.wait_with_output().expect("end");
    let text = stderr(&output);
    let error = code_or("error: interrupted", "error: interrupted: `no-such` is still missing");
    assert!(text.contains(error), "{text}");
    assert_eq!(made(&sandbox), [] as [&str; 0], "nothing half-made");
    let lives = || std::fs::read_to_string(&sleeper).is_ok_and(|stat| !stat.contains(") Z "));
    while lives() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!lives(), "what it started is still there");
}

/// An extension and a library are found where the environment says, with their versions.
#[test]
fn extensions_and_libraries_are_needs() {
    let sandbox = Sandbox::new();
    let text = RUNTIME.replace(
        "needs: { no-such: { programs: [no-such], version: \"no-such --version\" } }",
        "needs: { no-such: { programs: [sh] }, ext_so: { extension: ext }, lib: { library: a/b } }",
    );
    sandbox.write("runtimes/own/runtime.yaml", &text[..text.find("get:").expect("get")]);
    let autoload = sandbox.write("lib/vendor/autoload.php", "<?php");
    let installed = r#"{"packages": [{"name": "a/b", "version": "v1.2.3"}]}"#;
    sandbox.write("lib/vendor/composer/installed.json", installed);
    let ext = sandbox.write("ext.so", "no extension at all");
    let listed = |name: Option<(&str, &PathBuf)>| {
        let mut command = sandbox.stampede(&["runtimes", "--json"]);
        command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
        command.env("XDG_DATA_HOME", sandbox.path().join("data"));
        command.env("STAMPEDE_EXT_SO", &ext).envs(name);
        let all: serde_json::Value =
            serde_json::from_str(&stdout(&finish(command, LIMIT))).expect("JSON");
        let all = all.as_array().expect("a list").clone();
        all.into_iter().find(|one| one["name"] == "own").expect("own").to_string()
    };
    assert!(listed(None).contains(r#""missing":["lib"]"#), "{}", listed(None));
    let found = listed(Some(("STAMPEDE_LIB", &autoload)));
    assert!(found.contains("a/b v1.2.3"), "{found}");
    sandbox.write("data/stampede/lib/lib/vendor/autoload.php", "<?php");
    assert!(!listed(None).contains("missing"), "{}", listed(None));
}

/// A file that PHP cannot load does not count as a found extension.
#[test]
fn an_extension_for_another_php_is_an_error() {
    if common::skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let needs = "php: { programs: [\"php*\"] }, ext_so: { extension: ext }";
    let text =
        RUNTIME.replace("no-such: { programs: [no-such], version: \"no-such --version\" }", needs);
    let text =
        text.replace("run: no-such", "run: php").replace("\nprocesses:", "\nphp: php\nprocesses:");
    sandbox.write("runtimes/own/runtime.yaml", &text[..text.find("get:").expect("get")]);
    let ext = sandbox.write("ext.so", "no extension at all");
    let with = |words: &[&str]| {
        let mut command = sandbox.stampede(words);
        command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
        command.env("STAMPEDE_EXT_SO", &ext);
        finish(command, LIMIT)
    };
    let listed = stdout(&with(&["runtimes"]));
    assert!(listed.contains("✘ PHP does not load"), "{listed}");
    let load = ["--concurrency", "1", "--for", "1s"];
    let output = with(&[&["compare", "--app", "hello", "--runtimes", "own"], &load[..]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let message = stderr(&output).replace(&sandbox.path().display().to_string(), "");
    let why = code_or("extension", "PHP does not load `/ext.so`: PHP Startup: Unable to load");
    assert!(message.contains(why), "{message}");
    assert!(message.contains(code_or("hint: extension", "phpize")), "{message}");
}

/// Checks every runtime of the catalogue, even if nothing of it is installed.
#[test]
fn every_script_of_the_catalogue_is_there() {
    let catalogue = Catalogue::load(SearchPaths::default());
    let mut scripts = 0;
    for name in catalogue.runtime_names() {
        let runtime = catalogue.runtime(name).expect("a runtime");
        for get in &runtime.manifest.get {
            let file = Path::new(&get.run).file_name().and_then(|file| file.to_str());
            let files = catalogue.files_of(get);
            assert!(files.contains_key(file.expect("a file")), "{name}: {}", get.run);
            scripts += 1;
        }
    }
    assert!(scripts > 0);
    let behind_nginx = catalogue.runtime("nginx-roadrunner").expect("a runtime");
    let got: Vec<_> =
        behind_nginx.manifest.get.iter().map(|get| (&*get.need.value, &*get.of)).collect();
    assert_eq!(got, [("rr", "roadrunner")], "a need of this name is made as there");
}

/// An extension that is built into PHP needs no file, in the CLI as well as in CGI.
#[test]
fn a_built_in_extension_is_there() {
    let sandbox = Sandbox::new();
    let runtime = |program: &str| {
        format!(
            "title: own\nmode: worker\napp_kinds: [callable]\nworker_held_by: request\n\
             needs: {{ php: {{ programs: [\"{program}*\"] }}, json: {{ extension: json }}, \
             none: {{ extension: no_such }} }}\nphp: php\n\
             processes: [{{ role: php, run: php, stop: {{ signal: TERM, grace: 1s }} }}]\n\
             ready: {{ within: 1s }}\neffective_workers: {{ processes: {{ role: php }} }}\n"
        )
    };
    for program in ["php", "php-cgi"] {
        if common::skipped(&[program]) {
            continue;
        }
        sandbox.write("runtimes/own/runtime.yaml", &runtime(program));
        let mut command = sandbox.stampede(&["runtimes", "--json"]);
        command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
        let all: serde_json::Value =
            serde_json::from_str(&stdout(&finish(command, LIMIT))).expect("JSON");
        let one = all.as_array().expect("a list").iter().find(|one| one["name"] == "own");
        assert_eq!(
            one.expect("own")["state"]["missing"]["missing"],
            serde_json::json!(["none"]),
            "{one:?}"
        );
    }
}

/// The demo in a place where nothing keeps an app in memory, there is no engine, and Go is this program.
fn demo(sandbox: &Sandbox, go: &str, words: &[&str]) -> Command {
    let mut command = sandbox.stampede(&[&["demo"], words].concat());
    command.env("STAMPEDE_GO", sandbox.program("go", go));
    command.env("XDG_DATA_HOME", sandbox.path().join("data"));
    command.env("DOCKER_HOST", "unix:///nowhere/docker.sock");
    command.env_remove("STAMPEDE_RR");
    for need in ["FRANKENPHP", "SWOOLE_SO", "REACTPHP"] {
        command.env(format!("STAMPEDE_{need}"), "/nowhere");
    }
    command
}

/// With Go, the demo makes a runtime that keeps the app in memory. If that fails, it goes on without.
#[test]
#[ignore = "long: 10 s"]
fn the_demo_makes_a_runtime_that_keeps_the_app_in_memory() {
    if common::skipped(&["php", "nginx", "php-fpm", "apache2"]) {
        return;
    }
    let fails = "#!/bin/sh\necho no modules >&2\nexit 1\n";
    let works = "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nprintf '#!/bin/sh\\necho rr version 2025.1.0\\n' >\"$2\"\nchmod 755 \"$2\"\n";
    for (go, is_made) in [(fails, false), (works, true)] {
        let sandbox = Sandbox::new();
        let planned = |sandbox: &Sandbox| {
            let output = finish(demo(sandbox, go, &["--dry-run", "--json"]), LIMIT);
            let planned: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
            let cases = planned["run"]["cases"].as_array().expect("cases").clone();
            (cases.iter().any(|case| case["runtime"] == "roadrunner"), stderr(&output))
        };
        let (is_planned, said) = planned(&sandbox);
        assert!(!is_planned && said.contains("`roadrunner` would be built first"), "{said}");
        assert_eq!(made(&sandbox), [""; 0], "a dry run makes nothing");

        let mut child = demo(&sandbox, go, &[]).spawn().expect("start");
        let deadline = Instant::now() + LIMIT;
        let has_begun = || {
            let entries = std::fs::read_dir(sandbox.tmp()).into_iter().flatten().flatten();
            let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            names.any(|name| name.starts_with("stampede-peak-"))
        };
        let mut has_ended = || child.try_wait().expect("a child").is_some();
        while !has_begun() && !has_ended() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let pid = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let output = child.wait_with_output().expect("end");
        let text = stderr(&output);
        assert_eq!(text.contains("goes on without `roadrunner`"), !is_made, "{text}");
        assert_eq!(made(&sandbox), if is_made { &["rr"][..] } else { &[] }, "{text}");
        assert_eq!(planned(&sandbox).0, is_made, "{text}");
        assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
    }
}
