//! Starts every installed runtime of the catalogue for real with `hello`.
//!
//! The processes are held by a small guard of this test, so that a failure here is the runtime's
//! and not the keeper's.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use stampede_keeper::KeeperOptions;
use stampede_keeper::spec::{ProcessSetSpec, ProcessSpec};
use stampede_linux::run::{RunError, TimedCommand};
use stampede_model::fact::{Mismatch, Php};
use stampede_model::isolation::{Exit, IsolationRecord};
use stampede_model::observed::{ObservedRuntime, compare_observed};
use stampede_model::process_group::{Accounting, ProcessGroup, RoleGroup};
use stampede_plan::model::{AppChoice, RuntimeChoice, RuntimeSource, Scalar};
use stampede_stack::{
    App, Catalogue, Failure, Logs as _, Placement, ProcessProvider, ProcessStack, RuntimeError,
    SearchPaths, Stack as _, StackHandle, Supervisor,
};

use crate::bench_support::prepared;

/// A working directory that is removed on drop.
struct Directory(PathBuf);

impl Directory {
    fn keep(_id: &str, path: &Path) -> Result<Box<dyn Supervisor>, Failure> {
        std::fs::create_dir(path)?;
        Ok(Box::new(Directory(path.to_owned())))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Holds the processes. Each leads a process group, and the whole group is killed at the end.
struct ProcessGuard {
    children: Mutex<Vec<(ProcessSpec, Child)>>,
    all: Vec<ProcessSpec>,
    _directory: Option<Directory>,
}

impl ProcessGuard {
    fn start(
        spec: &ProcessSetSpec,
        directory: Option<Directory>,
    ) -> Result<Box<dyn StackHandle>, Failure> {
        let all = spec.processes.clone();
        let mut held = ProcessGuard { children: Mutex::default(), all, _directory: directory };
        held.start_until(if spec.first == 0 { usize::MAX } else { spec.first })?;
        Ok(Box::new(held))
    }
}

impl Supervisor for Directory {
    fn start_beside(&self, spec: &ProcessSetSpec) -> Result<Box<dyn StackHandle>, Failure> {
        ProcessGuard::start(spec, None)
    }

    fn start(self: Box<Self>, spec: &ProcessSetSpec) -> Result<Box<dyn StackHandle>, Failure> {
        ProcessGuard::start(spec, Some(*self))
    }
}

fn spawned(process: &ProcessSpec) -> Result<(ProcessSpec, Child), Failure> {
    let log = OpenOptions::new().create(true).append(true).open(&process.log)?;
    let mut command = Command::new(&process.program);
    command
        .args(&process.args)
        .env_clear()
        .envs(&process.env)
        .current_dir(&process.cwd)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0);
    if let Some((uid, gid)) = process.user {
        command.uid(uid).gid(gid);
    }
    end_by_signals(&mut command);
    Ok((process.clone(), command.spawn()?))
}

/// Lets a program end by SIGINT and SIGQUIT, as the keeper does. A shell that starts something with `&` makes
/// it ignore both, and whatever that starts.
fn end_by_signals(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec, and makes two system calls.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGQUIT] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
}

impl ProcessGuard {
    fn end(&self) -> Vec<Exit> {
        use std::os::unix::process::ExitStatusExt;
        let mut exits = Vec::new();
        let mut children = self.children.lock().expect("lock");
        for (process, (spec, mut child)) in children.drain(..).enumerate().rev() {
            let group = Pid::from_child(&child);
            let asked = Signal::from_named_raw(spec.stop.signal).expect("signal");
            let _ = rustix::process::kill_process(group, asked);
            let begun = Instant::now();
            while begun.elapsed() < Duration::from(spec.stop.grace)
                && child.try_wait().is_ok_and(|status| status.is_none())
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = kill_process_group(group, Signal::KILL);
            let status = child.wait().expect("wait");
            let (code, signal) = (status.code(), status.signal());
            exits.push(Exit { process, role: spec.role, code, signal });
        }
        exits
    }
}

impl StackHandle for ProcessGuard {
    fn start_until(&mut self, number: usize) -> Result<(), Failure> {
        let children = self.children.get_mut().expect("lock");
        for process in self.all.iter().take(number).skip(children.len()) {
            children.push(spawned(process)?);
        }
        Ok(())
    }

    fn exited(&self) -> Vec<Exit> {
        let mut children = self.children.lock().expect("lock");
        let ended = children.iter_mut().enumerate().filter_map(|(process, (spec, child))| {
            let status = child.try_wait().ok()??;
            let role = spec.role.clone();
            Some(Exit { process, role, code: status.code(), signal: None })
        });
        ended.collect()
    }

    fn group(&self) -> ProcessGroup {
        let children = self.children.lock().expect("lock");
        let roles = children.iter().map(|(spec, child)| RoleGroup {
            role: spec.role.clone(),
            accounting: Accounting::Proc,
            roots: vec![child.id()],
        });
        ProcessGroup { roles: roles.collect() }
    }

    fn isolation(&self) -> IsolationRecord {
        IsolationRecord::default()
    }

    fn lost(&self) -> Option<Failure> {
        None
    }

    fn stop(self: Box<Self>) -> Result<Vec<Exit>, Failure> {
        Ok(self.end())
    }
}

impl Drop for ProcessGuard {
    fn drop(&mut self) {
        self.end();
    }
}

fn choice(name: &str, settings: &[(&str, Scalar)]) -> RuntimeChoice {
    RuntimeChoice {
        name: name.into(),
        source: RuntimeSource::Catalogue(name.into()),
        settings: settings.iter().map(|(key, value)| ((*key).into(), value.clone())).collect(),
        php_ini: BTreeMap::new(),
        env: BTreeMap::new(),
        images: None,
        as_today: None,
    }
}

fn hello(catalogue: &Catalogue) -> App {
    catalogue.app(&AppChoice::named("hello".into())).expect("app")
}

/// The provider whose stacks are held by the guard of this test.
fn guarded(catalogue: &Catalogue) -> ProcessProvider {
    ProcessProvider::supervised(catalogue.clone(), Directory::keep)
}

/// Starts a runtime. `None`: something is missing, which is printed.
fn started(catalogue: &Catalogue, choice: &RuntimeChoice) -> Option<ProcessStack> {
    let app = hello(catalogue);
    match prepared(&guarded(catalogue), choice, &app, &Placement::default()) {
        Ok(prepared) => match prepared.start() {
            Ok(running) => Some(running),
            Err(error) => panic!("{}: {error}", choice.name),
        },
        Err(
            error @ (RuntimeError::Missing { .. }
            | RuntimeError::WrongKind { .. }
            | RuntimeError::BadSetting { .. }),
        ) => {
            eprintln!("SKIPPED {}: {error}{}", choice.name, how_to_get(catalogue, &choice.name));
            None
        }
        Err(error) => panic!("{}: {error}", choice.name),
    }
}

/// What a runtime's directory says about getting it on Debian, for the reader of a skipped test.
fn how_to_get(catalogue: &Catalogue, name: &str) -> String {
    let note = catalogue.runtime(name).ok().and_then(|runtime| {
        runtime.manifest.install.get("debian").and_then(|install| install.note.clone())
    });
    note.map_or_else(String::new, |note| format!(" ({note})"))
}

fn catalogue() -> Catalogue {
    Catalogue::load(SearchPaths::from_env())
}

fn workers(count: i64) -> [(&'static str, Scalar); 1] {
    [("workers", Scalar::Int(count))]
}

#[test]
fn all_runtimes_serve_the_same_and_have_the_requested_settings() {
    let catalogue = catalogue();
    let mut shown: Vec<ObservedRuntime> = Vec::new();
    for name in catalogue.runtime_names() {
        let begun = Instant::now();
        let Some(running) = started(&catalogue, &choice(name, &workers(4))) else { continue };
        let first = begun.elapsed();
        let observed = running.verify(&[]).expect("verify");
        assert_eq!(observed.workers, 4, "{name}");
        let keeps = running.record().given.keeps_memory;
        assert!(observed.isolated != keeps, "{name}: {:?}", observed.notices);
        assert!(observed.opcache, "{name}: OPcache is on in this SAPI");
        assert!(!observed.jit, "{name}: the JIT is off");
        assert_eq!(observed.ini.get("memory_limit").map(String::as_str), Some("256M"), "{name}");
        let dir = running.dir().to_path_buf();
        shown.push(running.shown(observed));
        let verified = begun.elapsed();
        let exits = running.stop().expect("stop");
        // For the reader of a failed run. It is not checked, because machines differ.
        eprintln!(
            "{name}: started {first:?}, verified {verified:?}, stopped {:?}",
            begun.elapsed()
        );
        assert!(exits.iter().all(|exit| exit.signal != Some(9)), "{name}: {exits:?}");
        assert!(!dir.exists(), "{name}: the working directory is gone");
    }
    for (one, differences) in shown.iter().zip(compare_observed(&shown)) {
        let reasons = differences.not_comparable;
        // A library that was built from another version's source reports another PHP version.
        let is_other = reasons.iter().any(|reason| matches!(reason, Mismatch::PhpVersion { .. }))
            || differences.forced.iter().any(|one| matches!(one, Php::Version { .. }));
        assert!(reasons.is_empty() || is_other, "{}: {reasons:#?}", one.name);
        eprintln!("{}: forced: {:#?}", one.name, differences.forced);
    }
}

#[test]
#[ignore = "long: 29 s"]
fn one_two_and_three_workers_are_started_as_requested() {
    let catalogue = catalogue();
    for name in catalogue.runtime_names() {
        for count in 1..=3 {
            let Some(running) = started(&catalogue, &choice(name, &workers(count))) else { break };
            let observed = running.verify(&[]).expect("verify");
            assert_eq!(i64::from(observed.workers), count, "{name}");
            running.stop().expect("stop");
        }
    }
}

/// lighttpd has a process for each CPU. A process that found no PHP answers 503 for up to a second,
/// even if another has found it. So none is started before PHP listens, however long that takes.
#[test]
fn a_web_server_that_remembers_waits_for_php() {
    let directory = tempfile::tempdir().expect("a directory");
    let slow = directory.path().join("spawn-fcgi");
    let script = "#!/bin/sh\n[ \"$1\" = -v ] || sleep 0.5\nexec spawn-fcgi \"$@\"\n";
    stampede_testing::program::write_program(&slow, script);
    let slow = Scalar::Text(slow.to_string_lossy().into_owned());
    let catalogue = catalogue();
    for socket in ["unix", "tcp"] {
        let settings = [("spawn-fcgi", slow.clone()), ("socket", Scalar::Text(socket.into()))];
        let choice = choice("lighttpd-fcgi", &settings);
        let Some(running) = started(&catalogue, &choice) else { return };
        assert!(running.record().first_answer_ns > 500_000_000, "{socket}: it took its time");
        let log_tail = running.last_lines();
        assert!(!log_tail.contains("gw_backend"), "{socket}: PHP was asked in vain: {log_tail}");
        running.stop().expect("stop");
    }
}

#[test]
#[ignore = "long: 18 s"]
fn settings_reach_the_sapi() {
    let catalogue = catalogue();
    for name in catalogue.runtime_names() {
        let mut choice = choice(
            name,
            &[
                ("workers", Scalar::Int(3)),
                ("jit", Scalar::Text("tracing".into())),
                ("memory_limit", Scalar::Text("64M".into())),
                ("access_log", Scalar::Bool(true)),
            ],
        );
        choice.php_ini.insert("date.timezone".into(), "Europe/Paris".into());
        choice.env.insert("APP_SECRET".into(), "a;b \"c\"".into());
        let Some(running) = started(&catalogue, &choice) else { continue };
        let observed = running.verify(&[]).expect("verify");
        assert!(observed.jit, "{name}: {:?}", observed.ini.get("opcache.jit"));
        assert_eq!(observed.ini["memory_limit"], "64M", "{name}");
        assert_eq!(observed.ini["date.timezone"], "Europe/Paris", "{name}");
        let logged = || {
            running.logs().files().iter().any(|log| {
                std::fs::read_to_string(log).is_ok_and(|text| text.contains("/stampede-probe-"))
            })
        };
        // lighttpd writes its log lines only every few seconds.
        let deadline = Instant::now() + Duration::from_secs(15);
        while !logged() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(logged(), "{name}: the access log is on");
        running.stop().expect("stop");
    }
}

#[test]
fn a_variant_over_tcp_with_kept_connections_works() {
    let catalogue = catalogue();
    let settings = [
        ("workers", Scalar::Int(3)),
        ("socket", Scalar::Text("tcp".into())),
        ("fastcgi_keep", Scalar::Int(1)),
        ("append.nginx.conf", Scalar::Text("add_header X-Appended yes;".into())),
    ];
    let Some(running) = started(&catalogue, &choice("nginx-fpm", &settings)) else { return };
    let answer = running.ask(Duration::from_secs(5)).expect("answer");
    assert_eq!(answer.header("x-appended"), Some("yes"));
    running.verify(&[]).expect("verify");
}

#[test]
fn a_page_that_is_wrong_never_counts_as_ready() {
    let catalogue = catalogue();
    let directory = tempfile::tempdir().expect("directory");
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text);
    write("index.php", "<?php http_response_code(503); echo 'closed today';").expect("write");
    let app = catalogue.app(&AppChoice::directory(directory.path().into())).expect("app");
    let choice = choice("php-builtin", &workers(1));
    let mut prepared = match prepared(&guarded(&catalogue), &choice, &app, &Placement::default()) {
        Ok(prepared) => prepared,
        Err(error) => return eprintln!("SKIPPED: {error}"),
    };
    prepared.stack.ready_within = Duration::from_millis(500);
    let port = prepared.stack.listens_on.port().to_string();
    let error = prepared.start().err().expect("never ready");
    let text = error.to_string().replace(&port, "PORT");
    let text = text.lines().next().unwrap_or_default().to_string();
    assert_words!(text, @"runtime `php-builtin` did not answer correctly on port PORT within 0.5 s: status 503 instead of 200, `closed today`");
}

#[test]
fn a_runtime_that_ends_shows_its_last_log_lines() {
    let catalogue = catalogue();
    let settings = [("append.nginx.conf", Scalar::Text("no_such_directive on;".into()))];
    let app = hello(&catalogue);
    let choice = choice("nginx-fpm", &settings);
    let prepared = match prepared(&guarded(&catalogue), &choice, &app, &Placement::default()) {
        Ok(prepared) => prepared,
        Err(error) => return eprintln!("SKIPPED: {error}"),
    };
    let dir = prepared.stack.processes.work.display().to_string();
    let error = prepared.start().err().expect("ends");
    let text = error.to_string();
    assert!(text.starts_with("runtime `nginx-fpm` ended while it started: `web` with exit code 1"));
    assert!(text.contains("unknown directive \"no_such_directive\""), "{text}");
    assert!(!std::path::Path::new(&dir).exists(), "the working directory is gone");
    assert_eq!(error.hint().as_deref(), Some("look at it alone with `stampede up nginx-fpm`"));
}

/// The binary that becomes keeper and init. A variable names another one if the build directory is
/// closed.
fn keeper_options(journal: &std::path::Path) -> KeeperOptions {
    let program = std::env::var_os("TEST_KEEPER_PROGRAM")
        .map_or_else(|| env!("CARGO_BIN_EXE_stampede").into(), std::path::PathBuf::from);
    KeeperOptions { program, journal: journal.join("journal"), ..KeeperOptions::default() }
}

#[test]
#[ignore = "long: 11 s"]
fn observations_under_the_keeper_are_the_same() {
    let catalogue = catalogue();
    let journal = tempfile::tempdir().expect("directory");
    let options = keeper_options(journal.path());
    let provider = ProcessProvider::with_keeper(catalogue.clone(), options);
    let app = hello(&catalogue);
    for name in catalogue.runtime_names() {
        let begun = Instant::now();
        let choice = choice(name, &workers(2));
        let prepared = match prepared(&provider, &choice, &app, &Placement::default()) {
            Ok(prepared) => prepared,
            Err(error @ (RuntimeError::Missing { .. } | RuntimeError::WrongKind { .. })) => {
                eprintln!("SKIPPED {name}: {error}{}", how_to_get(&catalogue, name));
                continue;
            }
            Err(error) => panic!("{name}: {error:?}"),
        };
        let dir = prepared.stack.processes.work.clone();
        let running = prepared.start().unwrap_or_else(|error| panic!("{error}: {error:?}"));
        let started = begun.elapsed();
        let observed = running.verify(&[]).expect("verify");
        assert_eq!(observed.workers, 2, "{name}: {:?}", running.isolation());
        assert!(observed.isolated != running.record().given.keeps_memory, "{name}");
        let pids: Vec<u32> = running.processes().into_iter().map(|(_, pid)| pid).collect();
        let verified = begun.elapsed();
        let exits = running.stop().expect("stop");
        eprintln!("{name}: {started:?}, {verified:?}, {:?}, {exits:?}", begun.elapsed());
        assert!(!dir.exists(), "{name}: the working directory is gone");
        for pid in pids {
            assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{name}: {pid}");
        }
    }
}

/// When started as root, the other tests run PHP as an unprivileged user. Here everything runs as
/// one.
#[test]
#[ignore = "long: 23 s"]
fn an_ordinary_user_can_do_the_same() {
    use std::os::unix::fs::PermissionsExt;
    if !rustix::process::geteuid().is_root() {
        return eprintln!("SKIPPED: the other tests run as an ordinary user already");
    }
    // Copied, because the build directory may be closed to other users.
    let directory = tempfile::tempdir().expect("directory");
    let program = directory.path().join("test");
    std::fs::copy(std::env::current_exe().expect("program"), &program).expect("copy");
    let keeper = directory.path().join("stampede");
    std::fs::copy(env!("CARGO_BIN_EXE_stampede"), &keeper).expect("copy");
    for path in [directory.path(), &program, &keeper] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("mode");
    }
    let run = TimedCommand::new(&program, NOBODY_WITHIN)
        .args(["all_runtimes_serve", "under_the_keeper", "--nocapture", "--test-threads", "1"])
        .env("TEST_KEEPER_PROGRAM", &keeper)
        .env("HOME", "/nonexistent")
        .dir(Path::new("/"))
        .user(NOBODY, NOBODY)
        .run();
    let output = match run {
        Ok(output) => output,
        Err(RunError::Failed { output, status, .. }) => {
            panic!("{status}: {}", String::from_utf8_lossy(&output.stderr))
        }
        Err(error) => panic!("{error:?}"),
    };
    eprintln!("as an ordinary user:\n{}", String::from_utf8_lossy(&output.stderr));
}

/// The user that owns nothing, and its group.
const NOBODY: u32 = 65_534;
/// The deadline of all runtimes as that user; each takes some seconds.
const NOBODY_WITHIN: Duration = Duration::from_secs(1_800);

/// Tests the probe on a runtime that keeps state: two requests in one process.
#[test]
fn the_probe_sees_what_an_earlier_request_left() {
    let probe = concat!(env!("CARGO_MANIFEST_DIR"), "/../stack/src/process/probe.php");
    let code = format!(
        "$_GET = ['plant' => 1]; include '{probe}'; include '{probe}'; \
         echo \"\\n\"; $_GET = []; include '{probe}';"
    );
    let output = match Command::new("php").args(["-n", "-r", &code]).output() {
        Ok(output) => output,
        Err(error) => return eprintln!("SKIPPED: php cannot be started: {error}"),
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).expect(&text);
    for seen in ["global", "server", "environment", "constant", "php.ini", "function", "class"] {
        assert!(last["seen"].as_array().unwrap().contains(&seen.into()), "{seen}: {text}");
    }
    let first = text.split("}{").next().unwrap_or_default();
    assert!(first.starts_with("{\"seen\":[],"), "{text}");
}

#[test]
fn a_project_is_served_alike_and_left_alone() {
    let catalogue = catalogue();
    let directory = tempfile::tempdir().expect("directory");
    let public = directory.path().join("public");
    std::fs::create_dir(&public).expect("directory");
    let front = "<?php echo $_SERVER['REQUEST_METHOD'], ' ', $_SERVER['REQUEST_URI'], ' ', \
                 $_GET['x'] ?? '-', ' ', getenv('APP_ENV'), ' ', $_SERVER['DOCUMENT_ROOT'] === \
                 __DIR__ ? 'here' : 'elsewhere';";
    std::fs::write(public.join("index.php"), front).expect("file");
    std::fs::write(public.join("style.css"), "a{}").expect("file");
    let app = catalogue.app(&AppChoice::directory(directory.path().into())).expect("app");
    for name in catalogue.runtime_names() {
        let choice = choice(name, &workers(1));
        let prepared = match prepared(&guarded(&catalogue), &choice, &app, &Placement::default()) {
            Ok(prepared) => prepared,
            Err(error) => {
                eprintln!("SKIPPED {name}: {error}");
                continue;
            }
        };
        let running = prepared.start().expect("starts");
        let get = |path: &str| {
            let mut answer = ureq::get(format!("{}{path}", running.url())).call().expect(path);
            let kind = answer.headers()["content-type"].to_str().unwrap_or_default().to_lowercase();
            (kind, answer.body_mut().read_to_string().expect("body"))
        };
        let html = "text/html; charset=utf-8";
        let page = |text: &str| (html.to_string(), text.to_string());
        let seen = [get("/"), get("/api/items?x=1")];
        let seen = seen.map(|(kind, body)| (kind.replace(";charset", "; charset"), body));
        assert_eq!(seen[0], page("GET / - prod here"), "{name}");
        assert_eq!(seen[1], page("GET /api/items?x=1 1 prod here"), "{name}");
        let (kind, body) = get("/style.css");
        assert!(kind.starts_with("text/css"), "{name}: {kind}");
        assert_eq!(body, "a{}", "{name}");
        running.stop().expect("stop");
    }
    let mut left: Vec<_> = std::fs::read_dir(&public)
        .expect("directory")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["index.php", "style.css"], "nothing was written to the user's directory");
}

/// The `nginx-fpm-80` of DESIGN: it starts with few workers, which must not exclude it.
#[test]
fn a_pool_that_grows_is_comparable() {
    let catalogue = catalogue();
    let settings = [("workers", Scalar::Int(40)), ("pm", Scalar::Text("dynamic".into()))];
    let Some(running) = started(&catalogue, &choice("nginx-fpm", &settings)) else { return };
    let observed = running.verify(&[]).expect("verify");
    assert!((10..=40).contains(&observed.workers), "{}", observed.workers);
    let differences = compare_observed(&[running.shown(observed)]);
    assert!(differences[0].not_comparable.is_empty(), "{differences:?}");
    running.stop().expect("stop");
}
