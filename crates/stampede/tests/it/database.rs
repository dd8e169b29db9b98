//! Tests apps with a real database, if it is installed: it is created in the working directory and
//! removed with it, and a count proves that each answer's queries reached it.

use std::time::Duration;

use serde_json::Value;
use stampede_model::record::DATABASE_ROLE;
use stampede_plan::model::{AppChoice, Scalar};
use stampede_stack::{Placement, Stack as _};

use crate::bench_support::Bench;
use crate::common::{Sandbox, fact, finish, reasons_of_the_app, skipped, stderr, stdout, trials};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(120);
const LOAD: [&str; 8] = ["--concurrency", "2", "--for", "1s", "--warm-up", "0s", "--workers", "2"];

/// A plan for PHP's own server, which exists wherever PHP does.
fn plan(sandbox: &Sandbox, app: &str, database: &str, load: &str) -> std::process::Command {
    let text = format!(
        "app: {app}\ndatabase: {database}\nruntimes: [php-builtin]\nworkers: 2\nwarm_up: 200ms\n\
         rounds: 1\nload: [{load}]\n"
    );
    sandbox.write("plan.yaml", &text);
    sandbox.stampede(&["compare", "plan.yaml"])
}

/// Whether the database or its PHP extension is missing here; prints the message.
fn is_missing(output: &std::process::Output) -> bool {
    let text = stderr(output);
    let missing = output.status.code() == Some(2) && text.contains("does not have");
    if missing {
        println!("SKIPPED: {text}");
    }
    missing
}

#[test]
#[ignore = "long: 96 s"]
fn each_database_is_created_and_gets_a_query_for_each_answer() {
    if skipped(&["php"]) {
        return;
    }
    for database in ["sqlite", "postgresql", "mariadb"] {
        for (app, load) in [
            ("db-read", "{concurrency: 2, for: 1s}"),
            ("db-read", "{concurrency: 2, for: 1s, path: '/?queries=20'}"),
            ("db-read", "{concurrency: 2, for: 1s, path: /rows}"),
            ("db-write", "{concurrency: 2, for: 1s}"),
            ("symfony-db", "{concurrency: 2, for: 1s, path: '/write?queries=3'}"),
        ] {
            let sandbox = Sandbox::new();
            let output = finish(plan(&sandbox, app, database, load), LIMIT);
            if is_missing(&output) {
                break;
            }
            let trial = &trials(&sandbox)[0];
            assert_eq!(trial["load"]["counts"]["failed"], serde_json::json!({}), "{trial:#}");
            assert_eq!(reasons_of_the_app(&trial["verdict"]), Vec::<&Value>::new(), "{trial:#}");
            assert_eq!(trial["runtime"]["settings"]["database"], database);
            let notes = &trial["verdict"]["notes"];
            assert!(is_reported(notes), "{database}: {notes}");
            assert!(fact(notes, "workers_replaced").is_null(), "{notes}");
            assert_eq!(sandbox.left_behind(), Vec::<String>::new());
        }
    }
}

/// Whether a note reports that queries reached the database.
fn is_reported(notes: &serde_json::Value) -> bool {
    fact(notes, "database_queries")["reached"].as_u64() > Some(0)
}

#[test]
#[ignore = "long: 11 s"]
fn databases_are_compared_with_each_other() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let text = "app: db-read\nruntimes:\n  - php-builtin: { sweep: { database: [sqlite, mariadb] } }\n\
                workers: 2\nwarm_up: 200ms\nrounds: 1\nload: [{ concurrency: 2, for: 1s }]\n";
    sandbox.write("plan.yaml", text);
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    if is_missing(&output) {
        return;
    }
    assert_eq!(trials(&sandbox).len(), 2, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(!text.contains("not comparable"), "{text}");
    let text = stdout(&finish(sandbox.stampede(&["report", "last", "--details"]), LIMIT));
    let note = code_or("extension", "pdo_mysql");
    assert!(text.contains(note), "it is said all the same: {text}");
}

/// One runtime opens a connection for each request, the other keeps one for a worker's life.
#[test]
#[ignore = "long: 33 s"]
fn databases_serve_runtimes_of_both_kinds() {
    for runtime in ["nginx-fpm", "roadrunner"] {
        for database in ["postgresql", "mariadb"] {
            let sandbox = Sandbox::new();
            let text = format!(
                "app: db-write\ndatabase: {database}\nruntimes: [{runtime}]\nworkers: 2\n\
                 warm_up: 100ms\nload: [{{concurrency: 2, requests: 100, path: '/?queries=3'}}]\n"
            );
            sandbox.write("plan.yaml", &text);
            let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
            if is_missing(&output) {
                continue;
            }
            let trial = &trials(&sandbox)[0];
            assert_eq!(trial["load"]["counts"]["failed"], serde_json::json!({}), "{trial:#}");
            let notes = &trial["verdict"]["notes"];
            let queries = fact(notes, "database_queries");
            assert_eq!(queries["reached"], 600, "{runtime} {database}: {notes}");
            assert_eq!(sandbox.left_behind(), Vec::<String>::new());
        }
    }
}

/// An app that claims to query its database but does not, like an app with a cache.
#[test]
#[ignore = "long: 24 s"]
fn answers_without_their_queries_are_not_measured() {
    if skipped(&["php"]) {
        return;
    }
    for database in ["sqlite", "postgresql"] {
        let sandbox = Sandbox::new();
        sandbox.write("app/public/index.php", "<?php echo 'from a cache';");
        sandbox.write("app/schema.sql", "CREATE TABLE t (id INTEGER);\n");
        sandbox.write(
            "app/app.yaml",
            &format!(
                "title: cached\nkind: script\ndocroot: public\ndatabase:\n  \
                 any_of: [{database}]\n  schema: schema.sql\n  queries: {{ each: 1 }}\n"
            ),
        );
        let output =
            finish(plan(&sandbox, "./app", database, "{concurrency: 1, requests: 20}"), LIMIT);
        if is_missing(&output) {
            continue;
        }
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        let trial = &trials(&sandbox)[0];
        let queries = fact(&trial["verdict"]["reasons"], "database_queries");
        assert_eq!(
            (&queries["reached"], &queries["expected_min"]),
            (&0.into(), &20.into()),
            "{trial:#}"
        );
        assert_eq!(queries["may_be_uncounted"], database == "sqlite", "{queries}");
    }
}

#[test]
fn messages_when_a_database_is_not_available() {
    if skipped(&["php", "sqlite3"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write(
        "plan.yaml",
        "app: db-read\nruntimes: [php-builtin]\nload: [{concurrency: 1, for: 1s}]\n",
    );
    let asked = |app: &str, database: &str, env: &[(&str, &str)]| {
        let flags = ["compare", "--app", app, "--runtimes", "php-builtin"];
        let mut command = match database {
            "" => sandbox.stampede(&[&flags[..], &LOAD].concat()),
            _ => plan(&sandbox, app, database, "{concurrency: 1, for: 1s}"),
        };
        command.envs(env.iter().copied());
        let output = finish(command, LIMIT);
        assert_eq!(output.status.code(), Some(2), "{app} {database}: {}", stdout(&output));
        stderr(&output).replace(&sandbox.path().display().to_string(), "")
    };
    let unknown = asked("db-read", "oracle", &[]);
    assert!(unknown.contains(code_or("bad_setting", "mariadb, postgresql, sqlite")), "{unknown}");
    let none = asked("db-read", "none", &[]);
    assert!(none.contains(code_or("bad_setting", "app `db-read` cannot do with it")), "{none}");
    let unused = asked("hello", "sqlite", &[]);
    assert!(unused.contains(code_or("bad_setting", "app `hello` has no use for one")), "{unused}");
    let broken = asked("db-read", "", &[("STAMPEDE_SQLITE3", "/bin/false")]);
    let why = "app `db-read` could not be prepared: `sqlite3` ended with exit code 1";
    assert!(broken.contains(code_or("unprepared", why)), "{broken}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// The error repeats the reason from the database's log.
#[test]
#[ignore = "long: 10 s"]
fn a_database_that_does_not_start_is_named() {
    if skipped(&["php", "mariadbd"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let append = "runtimes: [{php-builtin: {append: {mariadb.cnf: 'no-such-option = 1'}}}]";
    sandbox.write(
        "plan.yaml",
        &format!(
            "app: db-read\ndatabase: mariadb\n{append}\nload: [{{concurrency: 1, for: 1s}}]\n"
        ),
    );
    let output = finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(code_or("runtime_failed ended", "`database` with exit code")), "{text}");
    assert!(text.contains(code_or("runtime_failed ended", "no-such-option")), "{text}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// An app's preparation finds its database running. What it writes is there when the runtime
/// starts.
#[test]
#[ignore = "long: 19 s"]
fn an_app_is_prepared_with_its_database() {
    if skipped(&["php"]) {
        return;
    }
    for database in ["sqlite", "postgresql", "mariadb"] {
        let sandbox = Sandbox::new();
        let open = "new PDO(getenv('DATABASE_DSN'), getenv('DATABASE_USER') ?: null)";
        sandbox.write("shop/schema.sql", "CREATE TABLE made (name VARCHAR(20));\n");
        sandbox.write(
            "shop/prepare.php",
            &format!("<?php ({open})->exec(\"INSERT INTO made VALUES ('by prepare')\");"),
        );
        sandbox.write(
            "shop/public/index.php",
            &format!(
                "<?php $counted = getenv('DATABASE_COUNTED'); $open = {open};\n\
                 $counted && (require $counted)($open);\n\
                 $more = $counted ? ' WHERE (SELECT counted())' : '';\n\
                 echo $open->query('SELECT name FROM made' . $more)->fetchColumn();"
            ),
        );
        sandbox.write(
            "shop/app.yaml",
            &format!(
                "title: made\nkind: script\ndocroot: public\nprepare: prepare.php\n\
                 contains: by prepare\nexpect: {{ contains: [by prepare] }}\ndatabase:\n  \
                 any_of: [{database}]\n  schema: schema.sql\n  queries: {{ each: 1 }}\n"
            ),
        );
        let output =
            finish(plan(&sandbox, "./shop", database, "{concurrency: 1, requests: 20}"), LIMIT);
        if is_missing(&output) {
            continue;
        }
        let trial = &trials(&sandbox)[0];
        assert_eq!(trial["load"]["counts"]["failed"], serde_json::json!({}), "{trial:#}");
        assert_eq!(reasons_of_the_app(&trial["verdict"]), Vec::<&Value>::new(), "{trial:#}");
        assert_eq!(sandbox.left_behind(), Vec::<String>::new());
    }
}

/// stampede is killed while an app's preparation runs a script that has started a lasting process.
#[test]
fn a_killed_stampede_leaves_nothing_of_a_preparation() {
    if skipped(&["php", "setsid"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", "<?php");
    sandbox.write(
        "shop/prepare.php",
        "<?php proc_open(['setsid', 'sleep', '1000'], [], $pipes); touch(getenv('TMPDIR') . '/begun'); sleep(1000);",
    );
    sandbox
        .write("shop/app.yaml", "title: t\nkind: script\ndocroot: public\nprepare: prepare.php\n");
    let mut stampede = sandbox
        .stampede(&["compare", "--app", "./shop", "--runtimes", "php-builtin"])
        .args(LOAD)
        .spawn()
        .expect("starts");
    let begun = || {
        let directories = std::fs::read_dir(sandbox.tmp()).expect("directory").flatten();
        directories.map(|entry| entry.path().join("tmp/begun")).any(|mark| mark.is_file())
    };
    let patience = std::time::Instant::now();
    while !begun() && patience.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(begun(), "the script runs");
    stampede.kill().expect("killed");
    stampede.wait().expect("gone");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// WordPress's front page, whose number of queries depends on the version.
#[test]
#[ignore = "long: 12 s"]
fn wordpress_asks_its_database_for_each_page() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let output =
        finish(plan(&sandbox, "wordpress", "mariadb", "{concurrency: 1, requests: 20}"), LIMIT);
    let text = stderr(&output);
    if is_missing(&output) || text.contains("this machine's packages") {
        return println!("SKIPPED: {text}");
    }
    let trial = &trials(&sandbox)[0];
    assert_eq!(trial["load"]["counts"]["failed"], serde_json::json!({}), "{trial:#}");
    let notes = &trial["verdict"]["notes"];
    assert!(is_reported(notes), "{notes}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// The CPUs that a process may use, as the kernel lists them. `None`: it has ended, as a helper of a database
/// does.
fn cpus_of(pid: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    Some(cpus.expect("a list").trim().to_owned())
}

/// Outside the stack's CPUs if there are others, or inside if the plan says so. The result shows
/// which.
#[test]
#[ignore = "long: 28 s"]
fn a_database_runs_on_the_cpus_that_the_plan_gives_it() {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let own = cpus_of(std::process::id()).expect("it runs");
    if cpus < 2 || !own.starts_with("0-") {
        return println!("SKIPPED: CPUs 0 and 1 are not both here");
    }
    let mut bench = Bench::new(&AppChoice::named("db-read".into()));
    let text = |word: &str| Scalar::Text(word.into());
    for database in ["mariadb", "postgresql"] {
        for (asked, others, recorded, on) in [
            ("beside", vec![1], "beside", "1"),
            ("stack", vec![1], "stack", "0"),
            ("beside", vec![], "stack", "0"),
        ] {
            bench.placement = Placement { cpus: vec![0], beside: others, ..Placement::default() };
            let settings = [("database", text(database)), ("database_cpus", text(asked))];
            let Some(running) = bench.start("php-builtin", &settings) else { break };
            let roles = running.processes();
            let (servers, rest): (Vec<_>, Vec<_>) =
                roles.into_iter().partition(|(role, _)| role == DATABASE_ROLE);
            for (processes, expected) in [(servers, on), (rest, "0")] {
                let cpus = processes.iter().filter_map(|(_, pid)| cpus_of(*pid));
                let cpus: Vec<String> = cpus.collect();
                let is_right = !cpus.is_empty() && cpus.iter().all(|one| one == expected);
                assert!(is_right, "{database}, {asked}: {processes:?}: {cpus:?}");
            }
            let record = running.record();
            assert_eq!(record.settings["database_cpus"], recorded, "{database}, {asked}");
            running.stop().expect("stop");
        }
    }
}
