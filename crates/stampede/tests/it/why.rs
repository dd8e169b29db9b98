//! Tests the causes that limit a case. Each cause is planted in a real runtime and must be found.
//! The same runtime without it must report nothing. Loads are short; nothing depends on a few
//! milliseconds.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::common;
use crate::common::why::{LIMIT, WhyRun, says};
use crate::common::{Sandbox, finish, skipped, stdout};

/// A place with an app that waits so long that waiting for a CPU on a busy machine does not matter
/// beside it.
fn sleeping() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("app/app.yaml", "title: it waits\nkind: script\ndocroot: public\n");
    sandbox.write("app/public/index.php", "<?php usleep(100000); echo 'fine';");
    sandbox
}

/// Writes a runtime of the catalogue under another name, with a replacement in one of its files or
/// in what that file includes.
fn planted(sandbox: &Sandbox, name: &str, of: &str, file: &str, [from, to]: [&str; 2]) {
    let runtimes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtimes");
    for entry in std::fs::read_dir(runtimes.join(of)).expect("the runtime").flatten() {
        let own = entry.file_name().to_string_lossy().into_owned();
        let mut text = std::fs::read_to_string(entry.path()).expect("text");
        if own == file {
            text = with_included(&runtimes, &text);
            assert!(text.contains(from), "{own} of {of} has no `{from}`");
            text = text.replace(from, to);
        }
        sandbox.write(&format!("runtimes/{name}/{own}"), &text);
    }
}

/// The text with what it includes, and what that includes.
fn with_included(runtimes: &Path, text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("{% include \"") {
        Some(rest) => {
            let path = rest.split('"').next().expect("its name");
            let text = std::fs::read_to_string(runtimes.join(path)).expect("the included text");
            with_included(runtimes, &text)
        }
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
#[ignore = "long: 42 s"]
fn two_workers_that_sleep_are_worker_bound_in_every_kind_of_runtime() {
    if skipped(&["nginx", "php-fpm", "apache2", "php"]) {
        return;
    }
    let run_result = WhyRun::in_sandbox(
        sleeping(),
        // PHP-FPM decides once a second whether to start another process. That may fall into the
        // first second of the load, which must then be a small part of it.
        "app: ./app
warm_up: 3s
load: {rush: {concurrency: 8, for: 6s, keep_alive: false}}
runtimes:
  - two: {use: nginx-fpm, workers: 2}
  - grows: {use: nginx-fpm, workers: 2, pm: dynamic}
  - many: {use: nginx-fpm, workers: 16}
  - prefork: {use: apache-modphp, workers: 2}
  - builtin: {use: php-builtin, workers: 2}
",
    );
    for runtime in ["two", "grows", "prefork", "builtin"] {
        let (why, evidence) = run_result.found(runtime, "workers");
        assert_eq!(
            (&why["code"], &why["workers"]),
            (&"all_workers_busy".into(), &2.into()),
            "{why}"
        );
        assert!(why["cpu_share"].is_f64(), "{why}");
        assert!(evidence.contains("at most 8 requests in flight"), "{evidence}");
    }
    let (_, evidence) = run_result.found("two", "workers");
    assert!(evidence.contains("PHP-FPM's status page: 2 of 2 processes active"), "{evidence}");
    let (_, evidence) = run_result.found("grows", "workers");
    assert!(evidence.contains("pm.max_children"), "{evidence}");
    assert_eq!(run_result.causes("two"), ["workers"]);
    run_result.silent("many", "workers");
    run_result.silent("many", "web-server");
}

#[test]
#[ignore = "long: 11 s"]
fn a_full_cpu_is_reported_with_what_wastes_it() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let run_result = WhyRun::of(
        "app: cpu
warm_up: 0s
budget: {cpus: 1}
workers: 4
load: {rush: {concurrency: 8, for: 2s}}
runtimes:
  - plain: {use: nginx-fpm}
  - off: {use: nginx-fpm, opcache: false}
  - looks: {use: nginx-fpm, php_ini: {opcache.validate_timestamps: 1, opcache.revalidate_freq: 0}}
",
    );
    let (why, evidence) = run_result.found("plain", "cpu");
    assert!(why["code"] == "cpu_full" || why["code"] == "cpu_taken", "{why}");
    assert!(evidence.contains("php:"), "{evidence}");
    run_result.silent("plain", "opcache");
    run_result.silent("plain", "workers");
    run_result.silent("plain", "xdebug");
    assert_eq!(run_result.causes("off"), ["opcache", "cpu"]);
    let (why, evidence) = run_result.found("off", "opcache");
    assert_eq!(why["code"], "opcache_off");
    assert!(evidence.contains("opcache.enable=0"), "{evidence}");
    let (why, _) = run_result.found("looks", "opcache");
    assert_eq!(why["code"], "opcache_checks_files");
}

#[test]
#[ignore = "long: 41 s"]
fn a_queue_of_one_overflows() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let run_result = WhyRun::in_sandbox(
        sleeping(),
        "app: ./app
warm_up: 0s
workers: 2
load: {rush: {concurrency: 30, for: 2s}}
runtimes:
  - unix: {use: nginx-fpm, append: {fpm.conf: 'listen.backlog = 1'}}
  - tcp: {use: nginx-fpm, socket: tcp, append: {fpm.conf: 'listen.backlog = 1'}}
  - roomy: {use: nginx-fpm}
",
    );
    let (why, evidence) = run_result.found("unix", "backlog");
    assert!(why["listener"].as_str().is_some_and(|name| name.ends_with("fpm.sock")), "{why}");
    assert_eq!((&why["code"], &why["backlog"]), (&"queue_full".into(), &1.into()), "{evidence}");
    assert!(evidence.contains("11: Resource temporarily unavailable"), "{evidence}");
    let (why, _) = run_result.found("tcp", "backlog");
    assert_eq!((&why["code"], &why["backlog"]), (&"queue_dropped".into(), &1.into()), "{why}");
    assert!(why["drops"].as_u64() > Some(0), "{why}");
    run_result.silent("roomy", "backlog");
    assert_eq!(run_result.causes("roomy"), ["workers"]);
}

#[test]
#[ignore = "long: 10 s"]
fn a_web_server_without_free_connections_is_reported() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = sleeping();
    let fewer = ["worker_connections 4096;", "worker_connections 50;"];
    planted(&sandbox, "nginx-50", "nginx-fpm", "nginx.conf.j2", fewer);
    let run_result = WhyRun::in_sandbox(
        sandbox,
        "app: ./app
warm_up: 0s
workers: 40
load: {rush: {concurrency: 200, for: 2s}}
runtimes: [nginx-50, nginx-fpm]
",
    );
    let (why, _) = run_result.found("nginx-50", "web-server");
    assert!(says(&why, "worker_connections are not enough"), "{why}");
    // Refused connections keep the load thread fully busy, which is reported as another cause.
    let causes = run_result.causes("nginx-50");
    assert_eq!(causes.into_iter().find(|cause| *cause != "generator"), Some("web-server"));
    run_result.silent("nginx-fpm", "web-server");
}

#[test]
#[ignore = "long: 21 s"]
fn apache_at_max_request_workers_is_reported() {
    if skipped(&["apache2", "php"]) {
        return;
    }
    let run_result = WhyRun::in_sandbox(
        sleeping(),
        // Apache logs it once in its life: here during the warm-up.
        "app: ./app
warm_up: 2s
load: {rush: {concurrency: 12, for: 3s, keep_alive: false}}
runtimes:
  - three: {use: apache-modphp, workers: 3}
  - many: {use: apache-modphp, workers: 24}
",
    );
    let (why, _) = run_result.found("three", "web-server");
    assert!(says(&why, "server reached MaxRequestWorkers"), "{why}");
    run_result.silent("many", "web-server");
    run_result.silent("many", "workers");
}

/// Writes a script that answers correctly to single requests and misbehaves in one of seven
/// requests under load.
fn misbehaving(sandbox: &Sandbox, name: &str, does: &str) {
    let app = "title: it misbehaves\nkind: script\ndocroot: public\nextensions: [posix]\n";
    sandbox.write(&format!("{name}/app.yaml"), app);
    let index = format!(
        "<?php
$file = sys_get_temp_dir() . '/asked';
file_put_contents($file, 'x', FILE_APPEND);
clearstatcache();
$asked = filesize($file);
if ($asked > 60 && $asked % 7 === 0) {{ {does} }}
header('Content-Type: text/plain');
echo 'fine';
"
    );
    sandbox.write(&format!("{name}/public/index.php"), &index);
}

#[test]
#[ignore = "long: 36 s"]
fn failures_quote_the_log_line_that_explains_them() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let run = |does: &str, settings: &str| {
        let sandbox = Sandbox::new();
        misbehaving(&sandbox, "app", does);
        let plan = format!(
            "app: ./app\nwarm_up: 0s\nworkers: 4\nload: {{rush: {{concurrency: 4, for: 2s}}}}\n\
             runtimes: [{{it: {{use: nginx-fpm{settings}}}}}]\n"
        );
        WhyRun::in_sandbox(sandbox, &plan)
    };
    let died = run("posix_kill(getmypid(), 9);", "");
    let (why, evidence) = died.found("it", "upstream");
    assert_eq!((&why["code"], &why["status"]), (&"upstream_failed".into(), &502.into()), "{why}");
    assert!(evidence.contains("exited on signal 9"), "{evidence}");
    assert!(evidence.contains("nginx's log"), "{evidence}");

    let late = run("sleep(1);", ", append: {nginx.conf: 'fastcgi_read_timeout 200ms;'}");
    let (why, _) = late.found("it", "upstream");
    assert!(why["status"] == 504 && says(&why, "upstream timed out (110"), "{why}");

    let gone = |runtime: &str| {
        let sandbox = Sandbox::new();
        misbehaving(&sandbox, "app", "posix_kill(getmypid(), 9);");
        let plan = format!(
            "app: ./app\nwarm_up: 0s\nworkers: 4\nload: {{rush: {{concurrency: 4, for: 2s}}}}\n\
             runtimes: [{runtime}]\n"
        );
        WhyRun::in_sandbox(sandbox, &plan).found(runtime, "upstream").0
    };
    if !skipped(&["apache2"]) {
        let why = gone("apache-fpm");
        assert!(why["status"] == 503 && why["line"] != "", "{why}");
    }
    if !skipped(&["lighttpd"]) {
        let why = gone("lighttpd-fcgi");
        assert!(why["status"] == 500 && why["program"] == "lighttpd", "{why}");
    }

    let eats = run("str_repeat('x', 400 << 20);", "");
    let (why, evidence) = eats.found("it", "memory");
    assert_eq!(why["code"], "php_memory_limit", "{why}");
    assert!(evidence.contains("Allowed memory size of"), "{evidence}");

    let fine = run("", "");
    fine.silent("it", "upstream");
    fine.silent("it", "memory");
}

#[test]
#[ignore = "long: 10 s"]
fn a_web_server_configured_to_refuse_is_reported() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = sleeping();
    let limited = "http {\n    limit_conn_zone $server_name zone=all:1m;\n    limit_conn all 4;";
    planted(&sandbox, "four-at-once", "nginx-fpm", "nginx.conf.j2", ["http {", limited]);
    let plan = "app: ./app\nwarm_up: 0s\nworkers: 8\nload: {rush: {concurrency: 8, for: 2s}}\n\
                runtimes: [four-at-once, nginx-fpm]\n";
    let refused = WhyRun::in_sandbox(sandbox, plan);
    let (why, _) = refused.found("four-at-once", "web-server");
    assert!(says(&why, "limiting connections by zone"), "{why}");
    refused.silent("nginx-fpm", "web-server");
}

#[test]
#[ignore = "long: 10 s"]
fn a_full_opcache_is_reported() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("app/app.yaml", "title: many files\nkind: script\ndocroot: public\n");
    // 300 files of about 40 KB each when compiled: more than the smallest memory of OPcache.
    let function =
        |n: usize| format!("function f{n}($a) {{ return [$a, '{}']; }}\n", "x".repeat(90));
    let body: String = (0..60).map(function).collect();
    for file in 0..300 {
        sandbox
            .write(&format!("app/lib/{file}.php"), &format!("<?php\nnamespace n{file};\n{body}"));
    }
    let index =
        "<?php for ($i = 0; $i < 300; $i++) { require __DIR__ . \"/../lib/$i.php\"; } echo 'fine';";
    sandbox.write("app/public/index.php", index);
    let run_result = WhyRun::in_sandbox(
        sandbox,
        "app: ./app
warm_up: 0s
workers: 2
load: {rush: {concurrency: 2, for: 2s}}
runtimes:
  - small: {use: nginx-fpm, php_ini: {opcache.memory_consumption: 8, opcache.interned_strings_buffer: 2}}
  - large: {use: nginx-fpm}
",
    );
    let (why, evidence) = run_result.found("small", "opcache");
    assert_eq!(why["code"], "opcache_full", "{why}");
    assert!(evidence.contains("opcache.memory_consumption=8"), "{evidence}");
    run_result.silent("large", "opcache");
}

/// A real case: uWSGI's router writes head and body separately, as its README says.
#[test]
#[ignore = "long: 12 s"]
fn answers_in_pieces_without_nodelay_wait_for_a_delayed_ack() {
    if skipped(&["uwsgi"]) || !has_uwsgi() {
        return;
    }
    let run = |keep_alive: bool| {
        WhyRun::of(&format!(
            "app: hello\nwarm_up: 500ms\nworkers: 4\nload: {{rush: {{concurrency: 4, for: 2s}}}}\n\
             runtimes: [{{it: {{use: uwsgi, keep_alive: {keep_alive}}}}}]\n"
        ))
    };
    let torn = run(true);
    let (why, evidence) = torn.found("it", "nagle");
    assert_eq!(why["code"], "tcp_delay", "{why}");
    assert!(evidence.contains("acknowledgements were sent late"), "{evidence}");
    run(false).silent("it", "nagle");
}

/// The same with a server that is external and not watched.
#[test]
fn an_external_server_that_writes_an_answer_in_two_pieces_is_found_by_its_times() {
    let found = |pieces: &'static [&'static str]| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        // Ends with the test's process, because it waits for connections until then.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream, pieces));
            }
        });
        let sandbox = Sandbox::new();
        sandbox.write("app/app.yaml", "title: it\nkind: script\ndocroot: public\n");
        sandbox.write("app/public/index.php", "<?php echo 'fine';");
        let plan = format!(
            "app: ./app\nwarm_up: 0s\nload: {{rush: {{concurrency: 2, for: 2s}}}}\n\
             runtimes: [{{external: {{url: 'http://{address}'}}}}]\n"
        );
        WhyRun::in_sandbox(sandbox, &plan)
    };
    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n";
    let torn = found(&[HEAD, "fine"]);
    torn.found("external", "nagle");
    let whole = found(&["HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"]);
    whole.silent("external", "nagle");
}

/// Answers each request with these pieces, each in a separate write, until the client closes.
fn serve(mut stream: std::net::TcpStream, pieces: &[&str]) {
    use std::io::{Read as _, Write as _};
    let mut request = Vec::new();
    let mut read = [0; 4096];
    while let Ok(length @ 1..) = stream.read(&mut read) {
        request.extend_from_slice(&read[..length]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        request.clear();
        if pieces.iter().any(|piece| stream.write_all(piece.as_bytes()).is_err()) {
            return;
        }
    }
}

/// A cgroup with a CPU quota around stampede itself, as in a container; removed on drop.
struct Quota(PathBuf);

impl Quota {
    /// `None`: such a group cannot be made here.
    fn of_percent(percent: u32) -> Option<Quota> {
        let [v1, v2] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].map(Path::new);
        let own = format!("stampede-test-{}-{percent}", std::process::id());
        let is_v1 = v1.join("cpu.cfs_quota_us").exists() || v1.join("tasks").exists();
        let group = Quota(if is_v1 { v1 } else { v2 }.join(own));
        std::fs::create_dir(&group.0).ok()?;
        let (file, text) = match is_v1 {
            true => ("cpu.cfs_quota_us", format!("{}", percent * 1_000)),
            false => ("cpu.max", format!("{} 100000", percent * 1_000)),
        };
        std::fs::write(group.0.join(file), text).ok()?;
        Some(group)
    }

    /// Runs the plan with stampede in this group.
    fn run(&self, sandbox: Sandbox, plan: &str) -> WhyRun {
        sandbox.write("plan.yaml", plan);
        let stampede = sandbox.stampede(&["compare", "plan.yaml"]);
        let mut inside = std::process::Command::new("sh");
        let script = "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"";
        inside.args(["-c", script]).arg(&self.0);
        inside.arg(stampede.get_program()).args(stampede.get_args());
        inside.current_dir(sandbox.path()).stdin(Stdio::null());
        inside.stdout(Stdio::piped()).stderr(Stdio::piped());
        let set = stampede.get_envs().filter_map(|(name, value)| Some((name, value?)));
        inside.envs(set);
        WhyRun::read(sandbox, &finish(inside, LIMIT))
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Processes that have just ended may stay in the group for a moment.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
#[ignore = "long: 10 s"]
fn a_quota_of_an_outer_cgroup_is_reported() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let Some(quota) = Quota::of_percent(30) else {
        return println!("SKIPPED: no group with a CPU quota can be made here");
    };
    let plan = "app: cpu
warm_up: 0s
workers: 2
load: {rush: {concurrency: 2, for: 3s, path: '/?ms=5'}}
runtimes: [nginx-fpm]
";
    let throttled = quota.run(Sandbox::new(), plan);
    let (why, _) = throttled.found("nginx-fpm", "throttled");
    assert!(why["throttled_ns"].as_u64() > Some(0), "{why}");

    WhyRun::of(plan).silent("nginx-fpm", "throttled");
}

/// Stampede itself may use 10 % of a CPU, so its load threads cannot keep a rate that the server could
/// answer. Other tests, in which a runtime's limit is the only cause, show that this cause is otherwise
/// not reported.
#[test]
#[ignore = "long: 15 s"]
fn a_generator_that_cannot_keep_its_rate_is_the_first_to_be_named() {
    let Some(quota) = Quota::of_percent(10) else {
        return println!("SKIPPED: no group with a CPU quota can be made here");
    };
    let null = stampede_known_server::NullServer::start().expect("a null server");
    let sandbox = Sandbox::new();
    sandbox.write("app/app.yaml", "title: it\nkind: script\ndocroot: public\n");
    sandbox.write("app/public/index.php", "<?php");
    let plan = format!(
        "app: ./app\nwarm_up: 0s\nload: {{rush: {{rate: 20000, for: 1s}}}}\n\
         runtimes: [{{external: {{url: 'http://{}'}}}}]\n",
        null.address()
    );
    let run_result = quota.run(sandbox, &plan);
    let (why, evidence) = run_result.found("external", "generator");
    assert_eq!(why["code"], "generator_late", "{why}");
    assert!(evidence.contains("busiest load thread: "), "{evidence}");
    assert_eq!(run_result.causes("external")[0], "generator");
}

/// Whether a closed load reaches the generator's limit depends on the machine; the trial reports
/// it.
#[test]
fn a_generator_at_its_limit_is_the_first_to_be_named() {
    let null = stampede_known_server::NullServer::start().expect("a null server");
    let sandbox = Sandbox::new();
    sandbox.write("app/app.yaml", "title: it\nkind: script\ndocroot: public\n");
    sandbox.write("app/public/index.php", "<?php");
    let plan = format!(
        "app: ./app\nwarm_up: 0s\nload: {{rush: {{concurrency: 100, for: 2s}}}}\n\
         runtimes: [{{external: {{url: 'http://{}'}}}}]\n",
        null.address()
    );
    let run_result = WhyRun::in_sandbox(sandbox, &plan);
    let busy = common::trials(&run_result.sandbox)[0]["load"]["busy_share_max"].as_f64();
    if busy.is_some_and(|share| share > 0.95) {
        let (why, _) = run_result.found("external", "generator");
        assert_eq!(why["code"], "load_thread_busy", "{why}");
        assert_eq!(run_result.causes("external")[0], "generator");
    } else {
        println!("SKIPPED: on this machine the load threads were only {busy:?} busy");
        run_result.silent("external", "generator");
    }
}

fn has_uwsgi() -> bool {
    let sandbox = Sandbox::new();
    let output = finish(sandbox.stampede(&["runtimes", "--json"]), LIMIT);
    let listed: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let all = listed.as_array().expect("a list");
    let uwsgi = all.iter().find(|one| one["name"] == "uwsgi").expect("uwsgi");
    let found = uwsgi["state"]["found"].is_object();
    if !found {
        println!("SKIPPED: not installed here: uwsgi's PHP");
    }
    found
}

#[test]
fn xdebug_is_reported_unless_its_mode_is_off() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let Some(file) = std::env::var_os("STAMPEDE_TEST_XDEBUG").map(PathBuf::from) else {
        println!("SKIPPED: STAMPEDE_TEST_XDEBUG names no xdebug.so of the PHP that is here");
        return;
    };
    let file = file.display();
    let run_result = WhyRun::of(&format!(
        "app: hello
warm_up: 0s
load: {{rush: {{concurrency: 1, for: 1s}}}}
runtimes:
  - loaded: {{use: nginx-fpm, php_ini: {{zend_extension: '{file}'}}}}
  - loaded-off: {{use: nginx-fpm, php_ini: {{zend_extension: '{file}', xdebug.mode: 'off'}}}}
  - plain: {{use: nginx-fpm}}
"
    ));
    let (why, _) = run_result.found("loaded", "xdebug");
    assert_eq!((&why["code"], &why["mode"]), (&"xdebug_loaded".into(), &"develop".into()), "{why}");
    run_result.silent("loaded-off", "xdebug");
    run_result.silent("plain", "xdebug");
}
