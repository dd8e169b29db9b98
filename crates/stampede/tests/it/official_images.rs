//! Tests runtimes of the catalogue whose programs come from container images. The official images
//! cannot be fetched here: images of Debian's packages have their names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::common::{
    Sandbox, assert_measured, fact, finish, skipped, stderr, stdout, summary, trials,
};
use crate::containers_support::{Engine, FULL_IMAGE, IMAGE};
use crate::seams::{ANSWER_US, SLOWER_US};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(300);
/// Debian's package of the framework.
const SYMFONY: &str = "/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php";
const LOAD: &str = "load: {peak: {concurrency: 4, for: 2s}}\nwarm_up: 1s\nbudget: {cpus: 1, memory: 512MiB}\nworkers: 3\n";

/// An engine whose images have the names of the official ones.
fn engine() -> Option<Engine> {
    let engine = Engine::start()?;
    for name in ["nginx:1", "php:8.2-fpm", "php:8.2-cli"] {
        engine.words(&["tag", IMAGE, name]);
    }
    Some(engine)
}

/// One configuration with programs of two images and with those of this machine: the rows are compared,
/// and what belongs to the containers is proven and gone afterwards.
#[test]
fn a_runtime_of_official_images_is_measured_as_one_of_this_machine() {
    let Some(engine) = engine() else { return };
    if skipped(&["nginx", "php-fpm8.2"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let plan = format!(
        "app: hello\nphp: 8.2\nruntimes:\n  - nginx-fpm\n  - in-images: {{use: nginx-fpm, images: official}}\n{LOAD}"
    );
    sandbox.write("plan.yaml", &plan);
    let output = finish(engine.stampede(&sandbox, &["compare", "plan.yaml"]), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
    for case in summary(&sandbox)["cases"].as_array().expect("cases") {
        let is_in_images = case["runtime"] == "in-images";
        assert_eq!(case["not_comparable"], serde_json::json!([]), "{case:#}");
        assert_eq!(case["engine_cost_us"]["value"].is_number(), is_in_images, "{case:#}");
        let title = case["title"].as_str().unwrap_or_default();
        assert_eq!(title.contains("in images nginx:1 and php:8.2-fpm"), is_in_images, "{title}");
    }
    let all = trials(&sandbox);
    let trial = all.iter().find(|trial| trial["runtime"]["given"]["provider"] == "images");
    let trial = trial.expect("a trial of images");
    let runtime = &trial["runtime"];
    assert_eq!(runtime["before"]["workers"], 3, "{trial:#}");
    assert_eq!(runtime["before"]["isolated"], true, "{trial:#}");
    assert_eq!(trial["isolation"]["process_group"], "containers", "{trial:#}");
    for container in runtime["containers"].as_array().expect("containers") {
        assert_eq!(container["memory_limit_bytes"], 512 << 20, "{container:#}");
        assert!(container["base"].as_str().expect("a text").contains("Debian"), "{container:#}");
    }
}

/// The RoadRunner that stampede finds here.
pub(crate) fn road_runner(sandbox: &Sandbox) -> Option<PathBuf> {
    let output = finish(sandbox.stampede(&["up", "roadrunner", "--dry-run"]), LIMIT);
    let found: serde_json::Value = serde_json::from_str(&stdout(&output)).ok()?;
    Some(found.pointer("/runtime/needs/rr/path")?.as_str()?.into())
}

/// A program that another image brings and an extension that the app requires are added to the official
/// image. The next run finds the image that was made.
#[test]
#[ignore = "long: 60 s, containers"]
fn what_an_official_image_lacks_is_added_to_it() {
    let Some(engine) = engine() else { return };
    let sandbox = Sandbox::new();
    let Some(rr) = road_runner(&sandbox) else {
        println!("SKIPPED: RoadRunner is not here");
        return;
    };
    // An image with RoadRunner alone, and one that installs extensions: those that were moved away.
    let program = std::fs::read(rr).expect("RoadRunner");
    engine.make_image_of("ghcr.io/roadrunner-server/roadrunner:2025", &[("usr/bin/rr", &program)]);
    let installer = "#!/bin/sh\nfor name; do cp \"/opt/$name.so\" \"$(php -n -r 'echo ini_get(\"extension_dir\");')/\"; done\n";
    engine.make_image_of(
        "mlocati/php-extension-installer:2",
        &[("usr/bin/install-php-extensions", installer.as_bytes())],
    );
    sandbox.write(
        "base/Dockerfile",
        "FROM stampede-test/php:8.2\nRUN cp /usr/lib/php/20220829/calendar.so /opt/ && rm /usr/lib/php/20220829/calendar.so\n",
    );
    let base = sandbox.path().join("base").display().to_string();
    engine.words(&["build", "--quiet", "--network", "host", "--tag", "php:8.2-cli", &base]);
    sandbox.write(
        "app/handler.php",
        "<?php return static fn (): array => ['status' => 200, 'body' => 'days: ' . cal_days_in_month(CAL_GREGORIAN, 2, 2024)];",
    );
    sandbox.write("app/app.yaml", "kind: callable\nextensions: [calendar]\n");
    let plan = format!("app: ./app\nphp: 8.2\nimages: official\nruntimes: [roadrunner]\n{LOAD}");
    sandbox.write("plan.yaml", &plan);
    let built = || engine.words(&["images", "-q", "stampede-build/*"]);
    let before = built().len();
    for more in [&["--out", "one"][..], &[]] {
        let args = [&["compare", "plan.yaml"][..], more].concat();
        let output = finish(engine.stampede(&sandbox, &args), LIMIT);
        let text = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert_eq!(engine.left_behind(), [""; 0], "{text}");
    }
    assert_eq!(built().len(), before + 1, "the second run finds it");
    let all = trials(&sandbox);
    let trial = all.first().expect("a trial");
    let extensions = trial["runtime"]["before"]["extensions"].as_array().expect("extensions");
    assert!(extensions.iter().any(|name| name == "calendar"), "{extensions:?}");
    let missing = fact(&trial["runtime"]["before"]["notices"], "extension_missing");
    assert!(missing.is_null(), "{missing}");
    engine.words(&["tag", IMAGE, "php:8.2-cli"]);
}

/// Makes a source of packages in a directory, of files that `apt-get download` brings.
const SOURCE: &str = "set -e; cd \"$0\"; apt-get -qq download spawn-fcgi; for file in *.deb; do
dpkg-deb -f \"$file\"
printf 'Filename: ./%s\\nSize: %s\\nSHA256: %s\\n\\n' \"$file\" \"$(stat -c %s \"$file\")\" \"$(sha256sum <\"$file\" | cut -c 1-64)\"
done >Packages";

/// A program that the image of PHP lacks comes from a package of its distribution. The next run finds the
/// image that was made. uWSGI is in an image of the release of Debian that has the PHP.
#[test]
#[ignore = "long: 40 s, containers"]
fn a_package_brings_the_program_that_an_image_lacks() {
    let Some(engine) = engine() else { return };
    let sandbox = Sandbox::new();
    sandbox.write(
        "cli/Dockerfile",
        &format!(
            "FROM {FULL_IMAGE}\nCOPY packages /packages\n\
             RUN dpkg --purge spawn-fcgi && rm -rf /etc/apt/sources.list.d/* && \
             echo 'deb [trusted=yes] file:/packages ./' >/etc/apt/sources.list\n"
        ),
    );
    let packages = sandbox.path().join("cli/packages");
    std::fs::create_dir(&packages).expect("a directory");
    let made = std::process::Command::new("sh").args(["-c", SOURCE]).arg(&packages).output();
    let made = made.expect("sh");
    if !made.status.success() {
        return println!("SKIPPED: no package is to be had: {}", stderr(&made));
    }
    engine.make_full_image();
    let context = sandbox.path().join("cli").display().to_string();
    engine.words(&["build", "-q", "-t", "php:8.2-cli", &context]);
    engine.words(&["tag", FULL_IMAGE, "debian:12"]);
    sandbox.write("app/index.php", "<?php echo 'hello';");
    let plan =
        format!("app: ./app\nphp: 8.2\nimages: official\nruntimes: [nginx-fcgi, uwsgi]\n{LOAD}");
    sandbox.write("plan.yaml", &plan);
    let list = ["image", "ls", "-q", "--filter", "reference=stampede-build/*"];
    let made = || engine.words(&list).into_iter().collect::<BTreeSet<String>>();
    let mut known = BTreeSet::new();
    for out in ["first", "second"] {
        let command = engine.stampede(&sandbox, &["compare", "plan.yaml", "--out", out]);
        let output = finish(command, LIMIT);
        let text = stdout(&output) + &stderr(&output);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{text}");
        let summary =
            std::fs::read(sandbox.path().join(out).join("summary.json")).expect("a summary");
        let summary: serde_json::Value = serde_json::from_slice(&summary).expect("JSON");
        for case in summary["cases"].as_array().expect("cases") {
            assert_eq!(case["not_comparable"], serde_json::json!([]), "{text}");
        }
        let now = made();
        assert!(out == "first" || now == known, "made again: {now:?}, not {known:?}: {text}");
        known = now;
        assert_eq!(engine.left_behind(), [""; 0], "{text}");
    }
}

/// The steps that prepare an app run in the image of PHP, with its extensions, and nothing of them is left.
/// Sessions are kept. A path with a comma is no option of the engine.
#[test]
#[ignore = "long: 20 s, containers"]
fn an_app_is_prepared_in_the_image_of_php() {
    let Some(engine) = engine() else { return };
    let sandbox = Sandbox::new();
    sandbox.write("shop,1/index.php", "<?php echo session_start() ? 'kept, ' : 'lost, ', file_get_contents(__DIR__ . '/made/by');");
    let step = "<?php mkdir(__DIR__ . '/made');\n\
                $by = extension_loaded('ctype') && file_exists('/.dockerenv') ? 'a container' : 'this machine';\n\
                file_put_contents(__DIR__ . '/made/by', \"made by $by as \" . posix_getuid());";
    sandbox.write("shop,1/make.php", step);
    sandbox.write("shop,1/app.yaml", "kind: script\nprepare: make.php\nwritable: [.]\n");
    let rows = "[{one: {use: nginx-fpm, images: official}}]";
    let plan = format!("app: './shop,1'\nphp: 8.2\nruntimes: {rows}\n{LOAD}");
    sandbox.write("plan.yaml", &plan);
    let output = finish(engine.stampede(&sandbox, &["compare", "plan.yaml"]), LIMIT);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert!(text.contains("kept, made by a container as "), "{text}");
    assert!(!text.contains(" as 0"), "not as root: {text}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}

/// Each mistake is one error that says what to do.
#[test]
fn what_is_wrong_with_images_is_said_in_one_error() {
    let Some(engine) = engine() else { return };
    let sandbox = Sandbox::new();
    for (runtime, parts) in [
        (
            "uwsgi: {images: official, php: 8.3}",
            &["no release of Debian with PHP 8.3", "8.4, 8.2", "ask for one of these"][..],
        ),
        ("nginx-fpm: {images: {wbe: nginx}}", &["no role `wbe`", "its roles: php, web"]),
        (
            "nginx-fpm: {images: {php: \"php:8.2-fpm\", web: \"127.0.0.1:1/none:1\"}}",
            &["pull", "127.0.0.1:1/none:1"],
        ),
        (
            "caddy-fpm: {images: {web: \"nginx:1\"}}",
            &["`caddy` is not in the images `nginx:1` and `php:8.2-fpm`"],
        ),
        (
            "nginx-fpm: {images: official, nginx: /usr/sbin/nginx}",
            &["(`nginx`)", "not possible with `images`", "--compose"],
        ),
    ] {
        sandbox.write(
            "plan.yaml",
            &format!("app: hello\nphp: 8.2\nruntimes: [{{{runtime}}}]\n{LOAD}"),
        );
        let args = ["compare", "plan.yaml", "--out", "out"];
        let output = finish(engine.stampede(&sandbox, &args), LIMIT);
        let text = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{runtime}: {text}");
        for part in parts {
            let is_said = crate::words::CODES || text.contains(part);
            assert!(is_said, "{runtime}: `{part}` is not in\n{text}");
        }
        assert_eq!(engine.left_behind(), [""; 0], "{runtime}: {text}");
    }
}

/// One stack under two names is no difference, and a planted 5 % is found.
#[test]
#[ignore = "long: 90 s, containers"]
fn runtimes_of_images_are_accepted() {
    let Some(engine) = engine() else { return };
    let row = |name: &str, us: u32| {
        format!("{{{name}: {{use: nginx-fpm, images: official, env: {{SLEEP_US: '{us}'}}}}}}")
    };
    let rows = [row("one", ANSWER_US), row("same", ANSWER_US), row("slower", SLOWER_US)].join(", ");
    let plan = format!(
        "app: ./app\nphp: 8.2\nruntimes: [{rows}]\nload: {{one: {{concurrency: 1, for: 1s}}}}\n"
    );
    let compare = |sandbox: &Sandbox, args: &[&str]| {
        sandbox.write("app/index.php", "<?php usleep((int) getenv('SLEEP_US')); echo 'fine';");
        sandbox.write("plan.yaml", &plan);
        finish(engine.stampede(sandbox, args), LIMIT)
    };
    crate::seams::accept_command(compare, &["plan.yaml"]);
}

/// However stampede ends, the engine has nothing of the stack afterwards. The moments are drawn anew in each
/// run, so that they meet every step of a start some day.
#[test]
#[ignore = "long: 90 s, containers"]
fn nothing_is_left_of_a_stack_of_images_however_stampede_ends() {
    let Some(engine) = engine() else { return };
    let sandbox = Sandbox::new();
    let rows = "[{one: {use: nginx-fpm, images: official}}]";
    sandbox.write("plan.yaml", &format!("app: hello\nphp: 8.2\nruntimes: {rows}\n{LOAD}"));
    let random = u64::from(std::process::id()).wrapping_mul(2_654_435_761);
    for (number, signal) in
        [Signal::INT, Signal::KILL, Signal::KILL, Signal::KILL, Signal::TERM, Signal::KILL]
            .into_iter()
            .enumerate()
    {
        let after = Duration::from_millis((random >> (4 * number)) % 6_000);
        let out = format!("out-{number}");
        let args = ["compare", "plan.yaml", "--out", &out];
        let mut child = engine.stampede(&sandbox, &args).spawn().expect("it starts");
        std::thread::sleep(after);
        rustix::process::kill_process(Pid::from_child(&child), signal).expect("it runs");
        child.wait().expect("it ends");
        assert_eq!(engine.left_behind(), [""; 0], "{signal:?} after {after:?}");
        assert_eq!(sandbox.left_behind(), [""; 0], "{signal:?} after {after:?}");
    }
}

/// Of a stack whose engine is restarted during the load nothing is left either.
#[test]
#[ignore = "long: 50 s, containers"]
fn nothing_is_left_of_a_stack_of_images_when_the_engine_is_restarted() {
    let Some(mut engine) = engine() else { return };
    let sandbox = Sandbox::new();
    let rows = "[{one: {use: nginx-fpm, images: official}}]";
    sandbox.write("plan.yaml", &format!("app: hello\nphp: 8.2\nruntimes: {rows}\n{LOAD}"));
    engine.leaves_nothing_when_restarted(&sandbox, &["compare", "plan.yaml"]);
}

/// What this machine lacks comes from images, the rest does not. The framework is a package of this
/// machine, which the containers see.
#[test]
#[ignore = "long: 30 s, containers"]
fn what_is_not_installed_comes_from_images() {
    let Some(engine) = engine() else { return };
    if skipped(&["nginx", "php-fpm8.2"]) || !Path::new(SYMFONY).exists() {
        return;
    }
    let renamed = "FROM stampede-test/php:8.2\nRUN mv /usr/sbin/nginx /usr/sbin/nginx-of-images\n";
    let sandbox = Sandbox::new();
    sandbox.write("base/Dockerfile", renamed);
    let base = sandbox.path().join("base").display().to_string();
    engine.words(&["build", "--quiet", "--network", "host", "--tag", "nginx:1", &base]);
    let of = concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtimes/nginx-fpm");
    let text = |name: &str| std::fs::read_to_string(Path::new(of).join(name)).expect("a file");
    let need = "common_needs: [php-fpm]\nneeds: { nginx-of-images: { programs: [nginx-of-images], version: \"nginx-of-images -v\" } }";
    let runtime = text("runtime.yaml")
        .replace("common_needs: [nginx, php-fpm]", need)
        .replace("run: \"nginx -e", "run: \"nginx-of-images -e");
    sandbox.write("runtimes/elsewhere/runtime.yaml", &runtime);
    sandbox.write("runtimes/elsewhere/nginx.conf.j2", &text("nginx.conf.j2"));
    let plan = |missing: &str| {
        format!(
            "app: symfony-twig\nmissing: {missing}\nruntimes: [nginx-fpm, elsewhere, {{no-php: {{use: nginx-fpm, php: 8.9}}}}]\nphp: 8.2\n{LOAD}"
        )
    };
    sandbox.write("skip.yaml", &plan("skip"));
    sandbox.write("images.yaml", &plan("images"));
    let compare = |args: &[&str]| {
        let mut command = engine.stampede(&sandbox, args);
        command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
        finish(command, LIMIT)
    };
    let skip = compare(&["compare", "skip.yaml", "--dry-run"]);
    let said = stdout(&skip);
    assert_eq!(said.matches(code_or("runtime_skipped", "note: skipped: ")).count(), 2, "{said}");
    let output = compare(&["compare", "images.yaml"]);
    let text = stdout(&output) + &stderr(&output);
    assert_measured(&sandbox, &output);
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    let notice = "`elsewhere` runs in its official images, because of this machine: ";
    assert!(text.contains(code_or("runtime_from_images", notice)), "{text}");
    assert_eq!(text.matches(code_or("runtime_skipped", "note: skipped: ")).count(), 1, "{text}");
    let summary = summary(&sandbox);
    let cases = summary["cases"].as_array().expect("cases");
    let in_images = |case: &serde_json::Value| {
        let title = case["title"].as_str().unwrap_or_default();
        (case["runtime"].as_str().unwrap_or_default().to_owned(), title.contains(" in images "))
    };
    // Their order may be that of the trials, which is drawn.
    let mut all: Vec<(String, bool)> = cases.iter().map(in_images).collect();
    all.sort();
    assert_eq!(all, [("elsewhere".to_owned(), true), ("nginx-fpm".to_owned(), false)], "{text}");
    engine.words(&["tag", IMAGE, "nginx:1"]);
}

/// The time that an engine needs to start containers is not the runtime's: here 6 s for each of two, where the
/// runtime has 10 s to answer.
#[test]
#[ignore = "long: 40 s, containers"]
fn a_slow_engine_is_no_slow_runtime() {
    use std::os::unix::fs::PermissionsExt as _;

    let Some(engine) = engine() else { return };
    let path = std::env::var_os("PATH").expect("a path");
    let client = std::env::split_paths(&path).map(|place| place.join("docker"));
    let client = client.into_iter().find(|file| file.is_file()).expect("the client");
    let sandbox = Sandbox::new();
    let slow = format!(
        "#!/bin/sh\n[ \"$1 $2\" != 'run -d' ] || sleep 6\nexec {} \"$@\"\n",
        client.display()
    );
    sandbox.write("bin/docker", &slow);
    let bin = sandbox.path().join("bin");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bin.join("docker"), mode).expect("a program");
    let plan = format!("app: hello\nphp: 8.2\nimages: official\nruntimes: [nginx-fpm]\n{LOAD}");
    sandbox.write("plan.yaml", &plan);
    let mut command = engine.stampede(&sandbox, &["compare", "plan.yaml", "--rounds", "1"]);
    let places = std::iter::once(bin).chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(places).expect("a path"));
    let output = finish(command, LIMIT);
    assert_measured(&sandbox, &output);
    assert_eq!(engine.left_behind(), [""; 0], "{}", stdout(&output));
}
