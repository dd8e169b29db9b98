//! Tests how the PHP of compose projects is proven, end to end.

use std::time::Duration;

use serde_json::Value;

use crate::common::{
    Sandbox, assert_measured, fact, finish, skipped, stderr, stdout, summary, trials,
};
use crate::containers_support::{Engine, IMAGE, LATER_IMAGE, unchanged, write_project};

const LIMIT: Duration = Duration::from_secs(300);

/// A server written in PHP: one process of the command line answers all requests.
const SERVER: &str = r#"<?php
$server = stream_socket_server('tcp://0.0.0.0:80');
while (true) {
    $client = @stream_socket_accept($server, 3600);
    while ($client && ($line = fgets($client)) !== false) {
        if (trim($line) === '') {
            fwrite($client, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello");
        }
    }
}
"#;

fn compare<'a>(projects: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    let projects = projects.iter().flat_map(|file| ["--compose", file]);
    let load = ["-c", "1", "--for", "1s", "--warm-up", "1s", "--cpus", "1"];
    ["compare"].into_iter().chain(projects).chain(load).chain(more.iter().copied()).collect()
}

/// What was observed of a runtime before the load of its first trial.
fn before(sandbox: &Sandbox, runtime: &str) -> Value {
    let index = run_cases(sandbox).iter().position(|case| case["runtime"] == runtime);
    let index = index.expect("a case");
    let trials = trials(sandbox);
    let trial = trials.iter().find(|trial| trial["case"] == index).expect("a trial");
    trial["runtime"]["before"].clone()
}

fn run_cases(sandbox: &Sandbox) -> Vec<Value> {
    let text = std::fs::read_to_string(sandbox.run().join("run.json")).expect("a record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    record["cases"].as_array().expect("cases").clone()
}

/// The codes of what marks a row.
fn marks(sandbox: &Sandbox, runtime: &str) -> Vec<Value> {
    let summary = summary(sandbox);
    let cases = summary["cases"].as_array().expect("cases");
    let case = cases.iter().find(|case| case["runtime"] == runtime).expect("a case");
    case["not_comparable"].as_array().expect("marks").clone()
}

/// A worker answers no request by itself, and another php.ini is a difference between rows. Another
/// service may run another program at each start.
#[test]
#[ignore = "long: 60 s, containers"]
fn a_worker_says_at_its_start_what_it_is_and_other_values_of_php_ini_are_marked() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    sandbox.write("worker/server.php", SERVER);
    sandbox.write(
        "worker/compose.yml",
        "services:\n  app:\n    image: stampede-test/php:8.2\n    ports: [\"80:80\"]\n    \
         volumes: [\"./server.php:/server.php:ro\"]\n    command: [php, /server.php]\n\
         \x20 queue:\n    image: stampede-test/php:8.2\n    command: [sh, -c, \"own=/tmp/$$(cat \
         /proc/sys/kernel/random/uuid); cp /bin/sleep $$own; exec $$own 900\"]\n",
    );
    sandbox.write(
        "other/compose.yml",
        "services:\n  app:\n    image: stampede-test/php:8.2\n    ports: [\"80:80\"]\n    \
         volumes: [\"../worker/server.php:/server.php:ro\"]\n    \
         command: [php, -d, \"memory_limit=64M\", -d, \"zend.assertions=1\", /server.php]\n",
    );
    let args = compare(&["worker/compose.yml", "other/compose.yml"], &[]);
    let output = finish(engine.stampede(&sandbox, &args), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    for runtime in ["worker", "other"] {
        let before = before(&sandbox, runtime);
        let proven = fact(&before["notices"], "php_proven");
        assert_eq!((&proven["by"], &proven["service"]), (&"start".into(), &"app".into()), "{text}");
        assert_eq!((&before["sapi"], &before["opcache"]), (&"cli".into(), &false.into()));
    }
    let marks: Vec<Value> =
        ["worker", "other"].iter().flat_map(|one| marks(&sandbox, one)).collect();
    let [mark] = marks.as_slice() else { panic!("one row differs: {marks:#?}\n{text}") };
    assert_eq!(mark["code"], "ini_differs", "{mark:#}");
    let values = mark["values"].as_array().expect("values");
    let names: Vec<&str> =
        values.iter().map(|value| value["directive"].as_str().expect("a name")).collect();
    assert_eq!(names, ["memory_limit", "zend.assertions"], "{mark:#}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
}

/// What cannot be proven is said, and marks the row; it is measured all the same.
#[test]
#[ignore = "long: 65 s, containers"]
fn a_php_that_is_not_proven_is_marked() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    // The pool's own value wins over every php.ini.
    write_project(&sandbox, "silent", |name, text| match name {
        "pool.conf" => format!("{text}php_admin_value[auto_prepend_file] = none\n"),
        _ => text.to_owned(),
    });
    // With this value PHP may not read the file that asks it, so the app fails with it.
    write_project(&sandbox, "closed", |name, text| match name {
        "pool.conf" => format!("{text}php_admin_value[open_basedir] = /app\n"),
        _ => text.to_owned(),
    });
    // Every start has another php.ini.
    write_project(&sandbox, "fickle", |name, text| match name {
        "compose.yml" => text.replace(
            "[\"php-fpm8.2\", \"--nodaemonize\", \"--force-stderr\"]",
            "[\"sh\", \"-c\", \"echo \\\"; $$(cat /proc/sys/kernel/random/uuid)\\\" > \
             /etc/php/8.2/fpm/conf.d/99-own.ini; exec php-fpm8.2 --nodaemonize --force-stderr\"]",
        ),
        _ => unchanged(name, text),
    });
    let files = ["silent/compose.yml", "closed/compose.yml", "fickle/compose.yml"];
    let output = finish(engine.stampede(&sandbox, &compare(&files, &[])), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    for (runtime, why) in
        [("silent", "silent"), ("closed", "not_served"), ("fickle", "other_start")]
    {
        let marks = marks(&sandbox, runtime);
        let unproven = marks.iter().find(|mark| mark["code"] == "php_unproven");
        let unproven = unproven.unwrap_or_else(|| panic!("{runtime}: {marks:#?}\n{text}"));
        assert_eq!(unproven["why"]["code"], why, "{runtime}: {unproven:#}");
        assert_eq!(before(&sandbox, runtime)["sapi"], "", "{runtime}");
        if runtime == "fickle" {
            let file = "/etc/php/8.2/fpm/conf.d/99-own.ini";
            assert_eq!(unproven["why"]["differences"][0]["file"], file, "{unproven:#}");
        }
    }
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}

/// A project with FrankenPHP, as it was built for the other tests, and the libraries that it needs.
/// Returns whether there is one.
fn write_franken(sandbox: &Sandbox) -> bool {
    let found = finish(sandbox.stampede(&["up", "frankenphp", "--dry-run"]), LIMIT);
    let found: Value = serde_json::from_str(&stdout(&found)).unwrap_or_default();
    let path = "/runtime/needs/frankenphp/path";
    let Some(program) = found.pointer(path).and_then(Value::as_str) else {
        println!("SKIPPED: FrankenPHP is not here");
        return false;
    };
    let place = sandbox.path().join("franken");
    std::fs::create_dir_all(place.join("lib")).expect("directories");
    std::fs::copy(program, place.join("frankenphp")).expect("a copy");
    let linked = std::process::Command::new("ldd").arg(program).output().expect("ldd");
    let linked = String::from_utf8_lossy(&linked.stdout).into_owned();
    let paths = linked.lines().filter_map(|line| line.split_once(" => ")?.1.split(' ').next());
    // The C library is the image's own.
    for path in paths.filter(|path| !["libc.", "libm."].iter().any(|own| path.contains(own))) {
        let name = path.rsplit('/').next().expect("a name");
        std::fs::copy(path, place.join("lib").join(name)).expect("a library");
    }
    sandbox.write(
        "franken/Dockerfile",
        "FROM stampede-test/php:8.2\nCOPY lib /opt/lib\nCOPY frankenphp Caddyfile /opt/\n\
         COPY public /app/public\nENV LD_LIBRARY_PATH=/opt/lib\n\
         CMD [\"/opt/frankenphp\", \"run\", \"--config\", \"/opt/Caddyfile\"]\n",
    );
    sandbox.write(
        "franken/Caddyfile",
        "{\n\tadmin off\n\tfrankenphp {\n\t\tnum_threads 4\n\t}\n}\nhttp://:80 {\n\troot * /app/public\n\troute {\n\t\trewrite / /index.php\n\t\tphp {\n\t\t\troot /app/public\n\t\t}\n\t}\n}\n",
    );
    sandbox
        .write("franken/compose.yml", "services:\n  web:\n    build: .\n    ports: [\"80:80\"]\n");
    true
}

/// The same app by nginx and PHP-FPM of this machine, by the same in a compose project, and by FrankenPHP in
/// another one: one run, one budget for each, every PHP proven.
#[test]
#[ignore = "long: 60 s, containers"]
fn an_app_is_compared_on_this_machine_and_in_two_compose_projects() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    if skipped(&["nginx", "php-fpm8.2"]) || !write_franken(&sandbox) {
        return;
    }
    let page = "<?php echo str_repeat('hello ', 20);";
    write_project(&sandbox, "fpm", |name, text| match name {
        "public/index.php" => page.to_owned(),
        _ => unchanged(name, text),
    });
    sandbox.write("franken/public/index.php", page);
    sandbox.write(
        "plan.yaml",
        "app: fpm/public\nphp: 8.2\nworkers: 4\nbudget: {cpus: 1, memory: 512MiB}\nrounds: 3\n\
         warm_up: 1s\nload: {peak: {concurrency: 4, for: 2s}}\n\
         runtimes: [nginx-fpm, {fpm: {compose: fpm/compose.yml}}, {franken: {compose: franken/compose.yml}}]\n",
    );
    let output = finish(engine.stampede(&sandbox, &["compare", "plan.yaml"]), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    for (runtime, sapi, provider) in [
        ("nginx-fpm", "fpm-fcgi", "processes"),
        ("fpm", "fpm-fcgi", "compose"),
        ("franken", "frankenphp", "compose"),
    ] {
        let before = before(&sandbox, runtime);
        assert_eq!(before["sapi"], sapi, "{before:#}\n{text}");
        let proven = fact(&before["notices"], "php_proven");
        assert_eq!(proven.is_null(), provider == "processes", "{runtime}: {before:#}");
    }
    let summary = summary(&sandbox);
    for case in summary["cases"].as_array().expect("cases") {
        let is_in_containers = case["runtime"] != "nginx-fpm";
        assert_eq!(case["engine_cost_us"]["value"].is_number(), is_in_containers, "{case:#}");
        assert!(case["cpu_cost_us"]["value"].is_number(), "{case:#}");
    }
}

/// Each version is a row of its own. One that does not run what was asked for is marked.
#[test]
fn versions_of_php_are_rows_and_one_that_is_not_what_was_asked_for_is_marked() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", |name, text| match name {
        "compose.yml" => text.replace("build: .", "image: \"stampede-test/shop:${PHP}\""),
        _ => unchanged(name, text),
    });
    let context = sandbox.path().join("shop").display().to_string();
    engine.words(&["build", "-q", "-t", "stampede-test/shop:8.2", &context]);
    // An image with a wrong name.
    engine.words(&["tag", "stampede-test/shop:8.2", "stampede-test/shop:8.4"]);
    sandbox.write(
        "plan.yaml",
        "runtimes: [{shop: {compose: shop/compose.yml, php: [8.2, 8.4], php_arg: PHP}}]\n\
         budget: {cpus: 1}\nwarm_up: 1s\nload: {peak: {concurrency: 2, for: 1s}}\n",
    );
    let output = finish(engine.stampede(&sandbox, &["compare", "plan.yaml"]), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert_eq!(marks(&sandbox, "shop php=8.2"), [Value::Null; 0], "{text}");
    let marks = marks(&sandbox, "shop php=8.4");
    let [mark] = marks.as_slice() else { panic!("{marks:#?}\n{text}") };
    assert_eq!((&mark["code"], &mark["reference"]), (&"php_version_differs".into(), &"8.4".into()));
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
}

/// Two releases of PHP, by a build argument of a project and by the names of official images: each row runs its
/// own, and no row is marked for it.
#[test]
#[ignore = "long: 60 s, containers"]
fn two_releases_of_php_are_compared() {
    let Some(engine) = Engine::start() else { return };
    engine.make_later_image();
    for (name, image) in [("nginx:1", IMAGE), ("php:8.2-fpm", IMAGE), ("php:8.4-fpm", LATER_IMAGE)]
    {
        engine.words(&["tag", image, name]);
    }
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", |name, text| match name {
        "Dockerfile" => text
            .replace(
                "FROM stampede-test/php:8.2",
                "ARG PHP_VERSION=8.2\nFROM stampede-test/php:${PHP_VERSION}\nARG PHP_VERSION",
            )
            .replace("/etc/php/8.2/", "/etc/php/${PHP_VERSION}/"),
        "compose.yml" => text.replace("php-fpm8.2", "php-fpm${PHP_VERSION:-8.2}"),
        _ => unchanged(name, text),
    });
    let load = "php: [8.2, 8.4]\nbudget: {cpus: 1}\nwarm_up: 1s\nload: {peak: {concurrency: 2, for: 1s}}\n";
    let of_project = format!("runtimes: [{{shop: {{compose: shop/compose.yml}}}}]\n{load}");
    let of_images =
        format!("app: hello\nruntimes: [{{shop: {{use: nginx-fpm, images: official}}}}]\n{load}");
    for (name, plan) in [("project.yaml", of_project), ("images.yaml", of_images)] {
        sandbox.write(name, &plan);
        let output = finish(engine.stampede(&sandbox, &["compare", name]), LIMIT);
        let text = stdout(&output) + &stderr(&output);
        assert_measured(&sandbox, &output);
        for version in ["8.2", "8.4"] {
            let row = format!("shop php={version}");
            assert_eq!(marks(&sandbox, &row), [Value::Null; 0], "{name}: {text}");
            let found =
                before(&sandbox, &row)["php_version"].as_str().unwrap_or_default().to_owned();
            assert!(found.starts_with(version), "{name}: {row} ran {found}: {text}");
        }
        assert_eq!(engine.left_behind(), [""; 0], "{name}: {text}");
        std::fs::remove_dir_all(sandbox.path().join("stampede-results")).expect("results");
    }
}

/// A server that needs no library: it is all that its image has beside a C library.
const STATIC_SERVER: &str = r#"
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>
static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
int main(void) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(80)};
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&here, sizeof here) || listen(server, 128)) return 1;
    for (int client; (client = accept(server, 0, 0)) >= 0; close(client)) {
        char bytes[8192] = "";
        for (size_t had = 0, more; (more = read(client, bytes + had, sizeof bytes - 1 - had)) + 1 > 1; ) {
            bytes[had += more] = 0;
            if (!strstr(bytes, "\r\n\r\n")) continue;
            if (write(client, answer, sizeof answer - 1) < 0) break;
            had = 0;
        }
    }
}
"#;

/// The C library of an image is recorded: PHP is slower with musl's memory management.
#[test]
#[ignore = "long: 15 s, containers"]
fn an_image_with_musl_is_recorded_as_such() {
    let library = std::path::Path::new("/lib/x86_64-linux-musl/libc.so");
    if skipped(&["cc"]) || !library.exists() {
        println!("SKIPPED: Debian's musl is not here");
        return;
    }
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    let source = sandbox.write("server.c", STATIC_SERVER);
    let program = sandbox.path().join("server");
    let mut compiler = std::process::Command::new("cc");
    let built = compiler.args(["-static", "-O1", "-o"]).arg(&program).arg(source).output();
    let built = built.expect("a compiler");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let read = |path: &std::path::Path| std::fs::read(path).expect("a file");
    engine.make_image_of(
        "stampede-test/musl:1",
        &[
            ("lib/ld-musl-x86_64.so.1", &read(library)),
            ("bin/server", &read(&program)),
            ("etc/os-release", b"PRETTY_NAME=\"Alpine Linux v3.20\"\n"),
        ],
    );
    sandbox.write(
        "musl.yml",
        "services:\n  web: {image: 'stampede-test/musl:1', command: [/bin/server], ports: ['80:80']}\n",
    );
    let output =
        finish(engine.stampede(&sandbox, &compare(&["musl.yml"], &["--rounds", "1"])), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    let container = &trials(&sandbox)[0]["runtime"]["containers"][0];
    assert_eq!(container["libc"], "musl", "{container:#}");
    assert_eq!(container["base"], "Alpine Linux v3.20", "{container:#}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
}

/// Each worker of nginx finds out for itself that PHP-FPM is there: one that asked it too early answers once more that it
/// is away. This server has two such workers, and the page was then judged by the answer of the other.
#[test]
#[ignore = "long: 15 s, containers"]
fn each_worker_of_a_web_server_is_awaited() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    let bad = r#"
            if (++$requests < 4 || $requests === 5) {
                fwrite($client, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 11\r\n\r\nBad Gateway");
                continue;
            }
            fwrite("#;
    let server = SERVER.replace("while (true) {", "$requests = 0;\nwhile (true) {");
    let server = server.replace("fwrite(", bad.trim_start());
    sandbox.write("shop/server.php", &server);
    sandbox.write(
        "shop/compose.yml",
        &format!(
            "services:\n  web:\n    image: {IMAGE}\n    command: [php, /srv/server.php]\n    \
             volumes: [\"./server.php:/srv/server.php:ro\"]\n    ports: [\"80:80\"]\n  \
             other:\n    image: {IMAGE}\n    command: [sleep, \"600\"]\n"
        ),
    );
    let output = finish(
        engine.stampede(&sandbox, &compare(&["shop/compose.yml"], &["--rounds", "1"])),
        LIMIT,
    );
    let text = stderr(&output) + &stdout(&output);
    assert_measured(&sandbox, &output);
    for trial in trials(&sandbox) {
        assert_eq!(trial["load"]["counts"]["failed"], serde_json::json!({}), "{text}");
    }
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
}
