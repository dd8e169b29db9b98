//! Tests that all runtimes run under the same conditions. Each line of the table in
//! docs/how-it-measures.md is read back from each installed runtime while it runs.

use std::collections::BTreeMap;

use crate::common::Sandbox;
use crate::fair_support as support;
use crate::fair_support::{StartedRuntime, installed, of_role};

const WORKERS: usize = 2;

/// Panics if the runtime of this name does not meet the line of the table.
type Check = fn(&str, &StartedRuntime);

/// One check for each line of the table.
const LINES: [(&str, Check); 9] = [
    ("PHP", php_has_the_same_settings),
    ("PHP: extensions", no_extension_beyond_the_list),
    ("PHP: sessions", sessions_are_in_memory),
    ("all", no_access_log_no_compression_the_same_protocol_and_backlog),
    ("max_requests", nobody_is_replaced_and_no_connection_closed_after_many_requests),
    ("nginx", nginx_has_a_worker_for_each_cpu),
    ("php-fpm", php_fpm_is_static_and_shows_its_status_beside_the_app),
    ("Apache", apache_keeps_connections_and_reads_no_htaccess),
    ("record", the_record_says_what_it_was_started_with),
];

/// Checks every runtime of the catalogue that is installed here, with an app that shows what a
/// request asks for. Several run at a time, because most of the time is waiting.
#[test]
#[ignore = "long: 64 s"]
fn the_table_holds_for_every_runtime() {
    let names = installed();
    std::thread::scope(|scope| {
        for lane in 0..3 {
            let names = &names;
            scope.spawn(move || {
                for name in names.iter().skip(lane).step_by(3) {
                    let sandbox = Sandbox::new();
                    support::write_app(&sandbox);
                    let up = StartedRuntime::start(&sandbox, name, WORKERS);
                    for (line, check) in LINES {
                        println!("{name}: {line}");
                        check(name, &up);
                    }
                    up.end();
                    assert_eq!(sandbox.left_behind(), Vec::<String>::new(), "{name}");
                }
            });
        }
    });
}

fn php_has_the_same_settings(name: &str, up: &StartedRuntime) {
    const PINNED: [(&str, &str); 19] = [
        ("opcache.enable", "1"),
        ("opcache.enable_cli", "1"),
        ("opcache.validate_timestamps", "0"),
        ("opcache.jit", "disable"),
        ("opcache.preload", ""),
        ("realpath_cache_size", "4096K"),
        ("realpath_cache_ttl", "600"),
        ("memory_limit", "256M"),
        ("html_errors", "0"),
        ("max_execution_time", "0"),
        ("output_buffering", "4096"),
        ("user_ini.filename", ""),
        ("session.gc_probability", "0"),
        ("display_errors", "0"),
        ("log_errors", "1"),
        ("variables_order", "EGPCS"),
        ("expose_php", "0"),
        ("zend.assertions", "-1"),
        ("date.timezone", "UTC"),
    ];
    let shown = up.json("/?ini");
    let ini = &shown["ini"];
    for (key, value) in PINNED {
        assert_eq!(ini[key].as_str().unwrap_or(""), value, "{name}: {key}");
    }
    let directory = up.directory.display().to_string();
    let save_path = ini["session.save_path"].as_str().expect("a path");
    assert_eq!(save_path, format!("{directory}/sessions"), "{name}: the trial's own directory");
    assert_eq!(shown["env"]["APP_ENV"], "prod", "{name}: {shown:#}");
    assert_eq!(shown["env"]["APP_DEBUG"], "0", "{name}");
    // Nothing of the distribution's conf.d was read: no file besides ours.
    assert_eq!(shown["scanned"], false, "{name}: {}", shown["scanned"]);
    assert_eq!(shown["loaded"], format!("{directory}/php.ini"), "{name}");
}

/// Debian's `conf.d` would load Xdebug. The app names no extension, so only PHP's own, the SAPI's,
/// OPcache and those that servers usually have are loaded.
fn no_extension_beyond_the_list(name: &str, up: &StartedRuntime) {
    const OF_SAPIS: [&str; 7] =
        ["zend opcache", "cgi-fcgi", "apache2handler", "cli_server", "uwsgi", "frankenphp", "unit"];
    let shown = up.json("/?ini");
    let mut known = support::builtin_extensions();
    known.extend(support::usual_extensions(&up.directory.join("app")));
    for extension in shown["extensions"].as_array().expect("a list") {
        let extension = extension.as_str().expect("a name").to_lowercase();
        let is_known = known.contains(&extension) || OF_SAPIS.contains(&extension.as_str());
        assert!(is_known, "{name}: {extension} is loaded");
    }
}

fn sessions_are_in_memory(name: &str, up: &StartedRuntime) {
    assert_eq!(up.session(), ["1", "2"], "{name}: sessions work");
    if up.process_group != "\"pid-namespace\"" {
        return println!(
            "SKIPPED {name}: no namespaces here, so sessions are in a plain directory"
        );
    }
    let shown = up.json("/?ini");
    let mounts = shown["mounts"].as_str().expect("mountinfo");
    let directory = format!(" {}/sessions ", up.directory.display());
    let mount = mounts.lines().find(|line| line.contains(&directory)).expect("mounted");
    assert!(mount.contains(" - tmpfs "), "{name}: {mount}");
    let outside = std::fs::read_dir(up.directory.join("sessions")).expect("the directory");
    assert_eq!(outside.count(), 0, "{name}: nobody else sees them");
}

fn no_access_log_no_compression_the_same_protocol_and_backlog(name: &str, up: &StartedRuntime) {
    let answer = up.get("/?text", &[("Accept-Encoding", "gzip, br, zstd")]);
    assert_eq!(answer.version, "HTTP/1.1", "{name}");
    assert_eq!(answer.header("content-encoding"), None, "{name}: nothing is compressed");
    assert!(answer.body.len() > 4_000, "{name}: long enough to be worth it");
    for log in up.logs() {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        assert!(!text.contains("/?text"), "{name}: no access log, and yet {}", log.display());
    }
    // Go programs use all CPUs of the machine unless a variable limits them.
    for process in up.processes.iter().filter(|one| one.command.contains("caddy")) {
        let file = format!("/proc/{}/environ", process.pid);
        let environ = String::from_utf8_lossy(&std::fs::read(file).expect("environ")).into_owned();
        let own = environ.split('\0').find_map(|line| line.strip_prefix("GOMAXPROCS="));
        assert_eq!(own, Some(up.cpus.to_string().as_str()), "{name}: {environ:?}");
    }
    if let Some(backlog) = support::backlog(up.port) {
        assert_eq!(backlog, support::somaxconn().min(4096), "{name}: listen backlog");
    }
    for (path, backlog) in support::socket_backlogs(&up.directory) {
        // mod_fcgid gives each process a socket of its own, and one request at a time.
        if !path.contains("/fcgid/") {
            assert_eq!(backlog, support::somaxconn().min(4096), "{name}: backlog of {path}");
        }
    }
}

/// By default php-cgi would end after 500 requests, and nginx would close a connection after 1 000.
fn nobody_is_replaced_and_no_connection_closed_after_many_requests(
    name: &str,
    up: &StartedRuntime,
) {
    const REQUESTS: usize = 1_300;
    let mut pids = up.pids("/?pid", WORKERS);
    let mut kept = up.connect();
    let mut connections = 1;
    for number in 0..REQUESTS {
        let answer = kept.get("/?short").or_else(|| {
            connections += 1;
            kept = up.connect();
            kept.get("/?short")
        });
        pids.insert(answer.unwrap_or_else(|| panic!("{name}: request {number}")).body);
    }
    // A server that closes every connection announces it, and is not compared with others that keep
    // them.
    let closes = up.settings["keep_alive"] == false;
    let most = if closes { usize::MAX } else { 1 };
    assert!(connections <= most, "{name}: {connections} connections");
    drop(kept);
    pids.extend(up.pids("/?pid", WORKERS));
    // Some servers start a worker only when all others are busy.
    assert!((1..=WORKERS).contains(&pids.len()), "{name}: a worker was replaced: {pids:?}");
}

fn nginx_has_a_worker_for_each_cpu(name: &str, up: &StartedRuntime) {
    if !up.files.contains_key("nginx.conf") {
        return;
    }
    let workers = up.processes.iter().filter(|process| {
        process.role == "web" && process.command.starts_with("nginx: worker process")
    });
    assert_eq!(workers.count(), up.cpus, "{name}: {:?}", up.processes);
    let conf = &up.files["nginx.conf"];
    assert!(conf.contains("fastcgi_buffers 16 16k;"), "{name}: {conf}");
    assert!(conf.contains("fastcgi_keep_conn off;"), "{name}: stated: {conf}");
}

fn php_fpm_is_static_and_shows_its_status_beside_the_app(name: &str, up: &StartedRuntime) {
    if !up.files.contains_key("fpm.conf") {
        return;
    }
    let conf = &up.files["fpm.conf"];
    assert!(conf.contains("pm = static"), "{conf}");
    // The marker is in no file, so the workers inherited it.
    let marker = up.json("/?ini")["env"]["STAMPEDE_STACK"].is_string();
    assert!(marker && !conf.contains("STAMPEDE_STACK"), "{name}: clear_env = no");
    // The master and all workers run from the start.
    assert_eq!(of_role(&up.processes, "php").len(), WORKERS + 1, "{name}");
    let status = up.get("/stampede-status", &[]);
    assert!(!status.body.contains("process manager"), "{name}: it has a listener of its own");
}

fn apache_keeps_connections_and_reads_no_htaccess(name: &str, up: &StartedRuntime) {
    if !up.files.contains_key("httpd.conf") {
        return;
    }
    let answer = up.get("/?pid", &[("Connection", "keep-alive")]);
    // `timeout=75` without `max=`: the number of requests is unlimited.
    assert_eq!(answer.header("keep-alive"), Some("timeout=75"), "{name}");
    assert_eq!(answer.status, 200, "{name}: the app's .htaccess forbids everything");
}

fn the_record_says_what_it_was_started_with(name: &str, up: &StartedRuntime) {
    let settings: &BTreeMap<String, serde_json::Value> = &up.settings;
    assert_eq!(settings["workers"], WORKERS, "{name}");
    assert_eq!(settings["max_requests"], 0, "{name}");
    for off in ["access_log", "compression"] {
        assert_eq!(settings[off], false, "{name}: {off}");
    }
    assert!(!up.files.is_empty(), "{name}: rendered files are in the record");
}
