//! Tests a person's own project: the values of its `.env` reach every runtime, its error messages
//! are shown, and its directory stays unchanged, however a run ends.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use stampede_plan::model::AppChoice;

use crate::bench_support::Bench;
use crate::common::{Sandbox, finish, missing, skipped, stderr, stdout, trials};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(120);
const QUICK: [&str; 6] = ["--concurrency", "1", "--for", "1s", "--warm-up", "0s"];

/// Everything below a directory: kind, mode, owner, time of the last change, and contents.
fn seen(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut todo = vec![root.to_path_buf()];
    while let Some(path) = todo.pop() {
        let meta = std::fs::symlink_metadata(&path).expect("a file");
        let text = match () {
            () if meta.is_symlink() => format!("{:?}", std::fs::read_link(&path)),
            () if meta.is_dir() => String::new(),
            () => format!("{:?}", std::fs::read(&path).expect("readable")),
        };
        if meta.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a directory");
            todo.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
        let (mode, owner) = (meta.mode(), (meta.uid(), meta.gid()));
        let changed = (meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
        all.insert(path, format!("{mode:o} {owner:?} {changed:?} {text}"));
    }
    all
}

/// An app that writes wherever it can: below itself, through links, and to the paths that `.env`
/// and cached settings name.
const WRITES: &str = r#"<?php
$root = dirname(__DIR__);
$cached = @include "$root/var/cache/prod/where.php" ?: "$root/var/cache";
$env = parse_ini_file("$root/.env");
$to = [$root, __DIR__, "$root/var", "$root/var/log", "$root/storage", "$root/storage/logs",
    "$root/uploads", "$root/bootstrap/cache", $cached, dirname($env['DATA'])];
foreach ($to as $directory) {
    @mkdir($directory, 0777, true);
    @file_put_contents("$directory/written.txt", 'by the app');
    @file_put_contents("$directory/kept.txt", 'by the app');
    @chmod("$directory/kept.txt", 0600);
}
@unlink("$root/storage/logs/kept.txt");
echo 'written: ', is_file("$root/storage/logs/written.txt") ? 'yes' : 'no';
"#;

const PREPARED: &str = "title: a project\nkind: script\ndocroot: public\nprepare: prepare.php\n\
                        writable: [var, storage, uploads, bootstrap/cache]\n";
/// A preparation that writes like the app and takes some time.
const PREPARES: &str = "<?php require __DIR__ . '/public/index.php'; usleep(300000);";

/// A project like those that deployments make, with directories shared between releases. Everybody
/// may write everywhere.
fn project(sandbox: &Sandbox) -> PathBuf {
    let project = sandbox.path().join("project");
    let (app, shared) = (project.join("current"), project.join("common"));
    let kept = [
        "current/var/log",
        "current/var/cache/prod",
        "current/public",
        "common/uploads",
        "current/bootstrap/cache",
        "common/storage/logs",
    ];
    for directory in kept {
        sandbox.write(&format!("project/{directory}/kept.txt"), "as it was");
    }
    sandbox.write("project/current/public/index.php", WRITES);
    sandbox.write("project/current/app.yaml", PREPARED);
    sandbox.write("project/current/prepare.php", PREPARES);
    let cached = format!("<?php return '{}';", app.join("var/cache").display());
    sandbox.write("project/current/var/cache/prod/where.php", &cached);
    let env = format!("APP_ENV=dev\nDATA={}\n", project.join("live/var/data.db").display());
    sandbox.write("project/current/.env", &env);
    symlink("../common/storage", app.join("storage")).expect("link");
    symlink(shared.join("uploads"), app.join("uploads")).expect("link");
    symlink("gone", app.join("var/dangling")).expect("link");
    // The path under which the project is used; `.env` has only this name.
    symlink("current", project.join("live")).expect("link");
    for path in seen(&project).keys().filter(|path| !path.is_symlink()) {
        let mode = if path.is_dir() { 0o777 } else { 0o666 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("mode");
    }
    project
}

/// The way in which a run ends.
#[derive(Clone, Copy, Debug)]
enum RunEnd {
    ByItself,
    By(Signal, Duration),
}

#[test]
#[ignore = "long: 21 s"]
fn the_users_directory_is_unchanged_however_a_run_ends() {
    if skipped(&["php"]) {
        return;
    }
    let runtimes = if missing(&["nginx", "php-fpm"]).is_empty() {
        "php-builtin,nginx-fpm"
    } else {
        "php-builtin"
    };
    let ends = [100, 300, 700, 1300].map(Duration::from_millis).into_iter();
    let ends =
        ends.flat_map(|after| [RunEnd::By(Signal::INT, after), RunEnd::By(Signal::KILL, after)]);
    for end in std::iter::once(RunEnd::ByItself).chain(ends) {
        let sandbox = Sandbox::new();
        let project = project(&sandbox);
        let before = seen(&project);
        let app = project.join("live").display().to_string();
        let words = ["compare", "--app", &app, "--runtimes", runtimes];
        let mut command = sandbox.stampede(&[&words[..], &QUICK].concat());
        match end {
            RunEnd::ByItself => {
                let output = finish(command, LIMIT);
                assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
                let printed = stderr(&output) + &stdout(&output);
                let note = "`.env` says APP_ENV=dev; it is measured with";
                assert!(printed.contains(code_or("note: env_overruled", note)), "{printed}");
            }
            RunEnd::By(signal, after) => {
                let mut child = command.spawn().expect("the binary starts");
                std::thread::sleep(after);
                let _ = kill_process(Pid::from_child(&child), signal);
                child.wait().expect("its end");
            }
        }
        assert_eq!(sandbox.left_behind(), Vec::<String>::new(), "{end:?}");
        let after = seen(&project);
        assert!(before == after, "{end:?}: {:#?}", changed(&before, &after));
    }
}

fn changed(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let paths =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
    paths.map(|path| format!("{path:?}: {:?} -> {:?}", before.get(path), after.get(path))).collect()
}

/// The copy belongs to the app: the app can write to everything that it may write to.
#[test]
fn what_is_shared_between_releases_is_writable_in_the_copy() {
    let sandbox = Sandbox::new();
    let app = project(&sandbox).join("current");
    let bench = Bench::new(&AppChoice::directory(app));
    let Some(running) = bench.start("php-builtin", &[]) else { return };
    let answer = running.ask(Duration::from_secs(5)).expect("an answer");
    assert_eq!(answer.body, "written: yes");
    running.stop().expect("stop");
}

/// An app that cannot answer explains it in its page and in its own log.
#[test]
fn an_app_that_answers_500_shows_its_title_and_its_log() {
    if skipped(&["php"]) {
        return;
    }
    let code = r#"<?php
        http_response_code(500);
        @mkdir(dirname(__DIR__) . '/var/log');
        $entry = '[2026-11-22T10:00:00+00:00] app.CRITICAL: no table `orders` for s3cr3t-word';
        file_put_contents(dirname(__DIR__) . '/var/log/prod.log', "$entry\n[stacktrace]\n#0 {main}\n",
            FILE_APPEND);
        echo "<!DOCTYPE html>\n<html><head><title>An Error Occurred: Internal Server Error</title>";"#;
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", code);
    sandbox.write("shop/.env.local", "DB_PASSWORD=s3cr3t-word\n");
    let words = ["compare", "--app", "./shop", "--runtimes", "php-builtin"];
    let output = finish(sandbox.stampede(&[&words[..], &QUICK].concat()), LIMIT);
    let printed = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    for words in [
        "status 500 instead of 200, `An Error Occurred: Internal Server Error`",
        "prod: [2026-11-22T10:00:00+00:00] app.CRITICAL: no table `orders` for ***",
    ] {
        assert!(printed.contains(code_or("wrong_page", words)), "{words}\n{printed}");
    }
    assert!(!printed.contains("{main}"), "{printed}");
    let next = String::from_utf8_lossy(&output.stdout);
    assert!(!next.contains("ls "), "it kept no log: {next}");
    assert!(!printed.contains("s3cr3t-word"), "{printed}");
    assert!(trials(&sandbox)[0]["load"].is_null());
}

/// What an app prints of its `.env` during the measurement is kept without the secrets.
#[test]
fn secrets_of_env_files_do_not_reach_the_results() {
    if skipped(&["php"]) {
        return;
    }
    let code = r#"<?php
        @mkdir(dirname(__DIR__) . '/var/log');
        file_put_contents(dirname(__DIR__) . '/var/log/prod.log', "app.INFO: s3cr3t-word\n", FILE_APPEND);
        error_log('s3cr3t-word, too');
        echo 'fine';"#;
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", code);
    sandbox.write("shop/.env", "PAYMENT_KEY=\"s3cr3t-word\"\n");
    let words = ["compare", "--app", "./shop", "--runtimes", "php-builtin"];
    let output = finish(sandbox.stampede(&[&words[..], &QUICK].concat()), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let files = seen(&sandbox.run());
    let own = files.keys().find(|path| path.ends_with("logs/prod.log")).expect("the app's log");
    let kept = std::fs::read_to_string(own).expect("text");
    assert!(kept.starts_with("app.INFO: ***\n"), "{kept}");
    for path in files.keys().filter(|path| path.is_file()) {
        let bytes = std::fs::read(path).expect("readable");
        assert!(!String::from_utf8_lossy(&bytes).contains("s3cr3t-word"), "{path:?}");
    }
}

/// Makes a project `./shop` from the catalogue's app, which answers with the values of its `.env`.
/// Returns the directory that it was copied from.
fn shop_of(sandbox: &Sandbox, app: &str) -> PathBuf {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps").join(app);
    for file in seen(&ours).keys().filter(|path| path.is_file()) {
        let name = file.strip_prefix(&ours).expect("below").display().to_string();
        let text = std::fs::read_to_string(file).expect("text");
        sandbox.write(&format!("shop/{name}"), &text);
    }
    let manifest = std::fs::read_to_string(ours.join("app.yaml")).expect("text");
    let kept = manifest.lines().take_while(|line| !line.starts_with("expect:"));
    let manifest = kept.collect::<Vec<_>>().join("\n") + "\ncontains: a shop\n";
    sandbox.write("shop/app.yaml", &manifest);
    ours
}

/// The kernel is the catalogue's, with the distribution's Symfony. The rest is what `symfony new`
/// makes: a front controller that reads `.env`, and a controller that shows its values.
fn symfony_with_env(sandbox: &Sandbox) -> Option<PathBuf> {
    const DOTENV: &str = "/usr/share/php/Symfony/Component/Dotenv/autoload.php";
    if !Path::new(DOTENV).is_file() {
        eprintln!("skipped: no php-symfony-dotenv here");
        return None;
    }
    let ours = shop_of(sandbox, "symfony");
    let autoload = std::fs::read_to_string(ours.join("autoload.php")).expect("text");
    sandbox.write(
        "shop/autoload.php",
        &autoload.replacen("\nspl_", &format!("\nrequire_once '{DOTENV}';\nspl_"), 1),
    );
    let front = std::fs::read_to_string(ours.join("public/index.php")).expect("text");
    let booted =
        "(new Symfony\\Component\\Dotenv\\Dotenv())->bootEnv(dirname(__DIR__) . '/.env');\n$kernel";
    sandbox.write("shop/public/index.php", &front.replacen("$kernel", booted, 1));
    let shows = "<?php namespace App\\Controller;\nuse Symfony\\Component\\HttpFoundation\\Response;\n\
        final class HomeController { public function __invoke(): Response {\n\
        return new Response(\"{$_ENV['SHOP_NAME']}, {$_SERVER['SHOP_NAME']}, {$_ENV['APP_ENV']}\"); } }\n";
    sandbox.write("shop/src/Controller/HomeController.php", shows);
    sandbox.write("shop/.env", "APP_ENV=dev\nSHOP_NAME='not this'\n");
    sandbox.write("shop/.env.prod.local", "SHOP_NAME='a shop'\n");
    Some(sandbox.path().join("shop"))
}

/// The distribution's Laravel without cached configuration, so that each boot reads `.env`.
fn laravel_with_env(sandbox: &Sandbox) -> Option<PathBuf> {
    let needed = ["/usr/share/php/Illuminate/autoload.php", "/usr/share/php/Dotenv/autoload.php"];
    if !needed.iter().all(|file| Path::new(file).is_file()) {
        eprintln!("skipped: no php-laravel-framework here");
        return None;
    }
    let ours = shop_of(sandbox, "laravel");
    let change = |file: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(ours.join(file)).expect("text");
        assert!(text.contains(from), "{file}: {text}");
        sandbox.write(&format!("shop/{file}"), &text.replacen(from, to, 1));
    };
    change("prepare.php", "['config:cache', 'route:cache']", "[]");
    change("config/app.php", "'name' => 'stampede'", "'name' => env('APP_NAME')");
    let shows = "<?php namespace App\\Http\\Controllers;\n\
        final class HomeController { public function __invoke() {\n\
        return response(config('app.name') . ', ' . env('APP_NAME') . ', ' . config('app.env')); } }\n";
    sandbox.write("shop/app/Http/Controllers/HomeController.php", shows);
    sandbox.write("shop/.env", "APP_ENV=local\nAPP_NAME='a shop'\n");
    Some(sandbox.path().join("shop"))
}

#[test]
#[ignore = "long: 9 s"]
fn env_files_of_frameworks_are_read_on_every_runtime() {
    for project in [symfony_with_env, laravel_with_env] {
        let sandbox = Sandbox::new();
        let Some(app) = project(&sandbox) else { continue };
        let bench = Bench::new(&AppChoice::directory(app));
        let mut answered = 0;
        for name in bench.catalogue.runtime_names() {
            let Some(running) = bench.start(name, &[]) else { continue };
            for _ in 0..3 {
                let answer = running.ask(Duration::from_secs(10)).expect("an answer");
                assert_eq!(answer.body, "a shop, a shop, prod", "{name}");
            }
            running.stop().expect("stop");
            answered += 1;
        }
        eprintln!("{answered} runtimes answered");
    }
}

/// Like a new Laravel project: the database is a file that every session writes to, and nothing
/// names the driver that it needs.
#[test]
fn a_database_of_one_file_is_written_to_in_the_copy() {
    let sandbox = Sandbox::new();
    let code = "<?php $shop = new PDO('sqlite:' . dirname(__DIR__) . '/database/shop.sqlite');
        $shop->exec('CREATE TABLE IF NOT EXISTS visits (n INTEGER)');
        $shop->exec('INSERT INTO visits VALUES (1)');
        echo 'visited';";
    sandbox.write("shop/public/index.php", code);
    sandbox.write("shop/database/shop.sqlite", "");
    let before = seen(&sandbox.path().join("shop"));
    let bench = Bench::new(&AppChoice::directory(sandbox.path().join("shop")));
    for name in ["php-builtin", "nginx-fpm"] {
        let Some(running) = bench.start(name, &[]) else { continue };
        let probe = running.ask(Duration::from_secs(5)).expect("an answer");
        assert_eq!((probe.status, probe.body.as_str()), (200, "visited"), "{name}");
        running.stop().expect("stop");
    }
    assert!(before == seen(&sandbox.path().join("shop")));
}

/// A path that fails prevents the measurement, even if the first page works.
#[test]
fn a_path_of_the_load_that_answers_500_is_not_measured() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let code = "<?php $path = strtok($_SERVER['REQUEST_URI'], '?');
        $path === '/orders' && error_log('no table `orders`');
        http_response_code(['/' => 200, '/orders' => 500][$path] ?? 404);
        echo '<title>', $path, '</title>';";
    sandbox.write("shop/public/index.php", code);
    let compare = |urls: &str| {
        sandbox.write("urls.txt", urls);
        let words =
            ["compare", "--app", "./shop", "--runtimes", "php-builtin", "--traffic", "urls.txt"];
        let output = finish(sandbox.stampede(&[&words[..], &QUICK].concat()), LIMIT);
        let next = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), stderr(&output) + &next)
    };
    let (code, printed) = compare("https://shop.example/\nhttps://shop.example/orders\n");
    assert_eq!(code, Some(2), "{printed}");
    for (code, words) in [
        ("other_sites", "URLs of `shop.example` are sent to the app on this machine"),
        ("page_fails", "`/orders` is answered with status 500, `/orders`"),
        ("page_fails", "no table `orders`"),
        ("/trials/*/logs", "/trials/*/logs"),
    ] {
        assert!(printed.contains(code_or(code, words)), "{words}\n{printed}");
    }
    assert_eq!(compare("/a\n/b\n").0, Some(2), "none is answered");
    assert_eq!(compare("/\n/a\n").0, Some(0), "404s are a part of a site");
}
