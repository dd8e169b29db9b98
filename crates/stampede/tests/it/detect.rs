//! Tests a user's own app from the outside: stampede recognises it, says so, and compares without a
//! plan.

use std::path::Path;
use std::time::Duration;

use crate::common::{
    Sandbox, assert_measured, fact, finish, skipped, stderr, stdout, summary, trials,
};
use crate::words::{CODES, code_or};

const LIMIT: Duration = Duration::from_secs(240);

fn bad(sandbox: &Sandbox, line: &str) -> String {
    let args = shell_words::split(line).expect("words");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = finish(sandbox.stampede(&args), LIMIT);
    assert_eq!(output.status.code(), Some(2), "{line}: {}{}", stdout(&output), stderr(&output));
    assert_eq!(stdout(&output), "", "{line}");
    let message = stderr(&output).replace(&sandbox.path().display().to_string(), "PLACE");
    format!("$ stampede {line}\n{message}\n")
}

#[test]
fn an_app_that_cannot_be_served_is_a_clear_error_and_nothing_starts() {
    let sandbox = Sandbox::new();
    sandbox.write("empty/readme.txt", "no app here");
    for shop in ["broken", "bare", "plain", "headless", "bootless"] {
        sandbox.write(&format!("{shop}/public/index.php"), "<?php echo 'shop';");
    }
    sandbox.write("broken/composer.json", "{\n  \"require\": {\n    \"php\": \"*\",\n  }\n}\n");
    sandbox.write("bare/composer.json", r#"{"require": {"symfony/framework-bundle": "7.1.*"}}"#);
    sandbox.write("headless/bin/console", "");
    sandbox.write("headless/config/bundles.php", "<?php");
    sandbox.write("bootless/composer.json", r#"{"require": {"laravel/framework": "*"}}"#);
    sandbox.write("bootless/vendor/autoload.php", "<?php");
    sandbox.write("bootless/vendor/laravel/framework/composer.json", "{}");
    sandbox.write("urls.txt", "# pages\nhttps://shop.example/\nhttps://cdn.example/a.js\n");
    let load = "--concurrency 1 --for 1s";
    let shown: String = [
        bad(&sandbox, "compare --app ./empty"),
        bad(&sandbox, "compare --app ./nowhere"),
        bad(&sandbox, "compare --app ./broken"),
        bad(&sandbox, "compare --app ./bare"),
        bad(&sandbox, "init --app ./bare"),
        bad(&sandbox, "up php-builtin --app ./broken"),
        bad(&sandbox, "compare --app ./plain --kind drupal"),
        bad(&sandbox, "compare --app ./plain --kind symphony"),
        bad(&sandbox, "compare --app ./plain --kind psr15"),
        bad(&sandbox, "compare --app hello --kind script"),
        bad(&sandbox, &format!("compare --app ./plain --runtimes roadrunner {load}")),
        bad(&sandbox, "up roadrunner --app ./plain"),
        bad(&sandbox, &format!("compare --app ./headless --runtimes roadrunner {load}")),
        bad(&sandbox, "up roadrunner --app ./headless"),
        bad(&sandbox, "up roadrunner --app ./bootless"),
        bad(
            &sandbox,
            &format!("compare --app ./plain --runtimes nginx-fpm --traffic urls.txt {load}"),
        ),
    ]
    .concat();
    assert_words!("mistakes", shown);
    assert!(!sandbox.path().join("stampede-results").exists(), "something was written");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// The kind may be given in a plan as well as on the command line.
#[test]
fn a_plan_can_set_the_kind_of_an_app() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", "<?php echo 'shop';");
    sandbox.write("shop/bin/console", "");
    sandbox.write("shop/src/Kernel.php", "<?php");
    let rest = "runtimes: [php-builtin]\nload: [{concurrency: 1, for: 1s}]\n";
    sandbox.write("said.yaml", &format!("app: {{path: ./shop, kind: script}}\n{rest}"));
    sandbox.write("detected.yaml", &format!("apps: [{{path: shop}}]\n{rest}"));
    let noted = |args: &[&str]| {
        let output = finish(sandbox.stampede(&[args, &["--dry-run"]].concat()), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let note = |line: &&str| line.starts_with(code_or("note: app_detected", "note: app"));
        stdout(&output).lines().find(note).expect("it is said").to_owned()
    };
    let detected = noted(&["compare", "detected.yaml"]);
    assert_words!(detected, @"note: app `shop`: a Symfony app (it has `bin/console` and `src/Kernel.php`), served from `public/`");
    let kind_note = noted(&["compare", "said.yaml"]);
    assert_words!(kind_note, @"note: app `shop`: a Symfony app (it has `bin/console` and `src/Kernel.php`), used as kind `script`, as you asked, served from `public/`");
    assert_eq!(noted(&["compare", "detected.yaml", "--kind", "script"]), kind_note);
    assert_eq!(noted(&["compare", "said.yaml", "--kind", "symfony"]), detected);

    sandbox.write("wrong.yaml", &format!("app: {{path: ./shop, kind: simfony}}\n{rest}"));
    sandbox.write("key.yaml", &format!("app: {{directory: ./shop}}\n{rest}"));
    sandbox.write("pathless.yaml", &format!("app: {{kind: script}}\n{rest}"));
    let shown: String = ["wrong", "key", "pathless"]
        .iter()
        .map(|name| bad(&sandbox, &format!("compare {name}.yaml --dry-run")))
        .collect();
    assert_words!("mistakes-in-plans", shown);
}

/// The runtimes that are announced are the ones compared, and each of them serves the app.
#[test]
#[ignore = "long: 24 s"]
fn a_directory_alone_is_compared() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php echo 'shop ', $_SERVER['REQUEST_URI'];");
    sandbox.write("urls.txt", "/\n/about\n");
    let args = ["compare", "--app", "./shop", "--traffic", "urls.txt"];
    let short = ["--concurrency", "2", "--for", "1s", "--rounds", "1", "--warm-up", "0s"];
    let output = finish(sandbox.stampede(&[&args[..], &short].concat()), LIMIT);
    assert_measured(&sandbox, &output);
    let run = std::fs::read_to_string(sandbox.run().join("run.json")).expect("run.json");
    let run: serde_json::Value = serde_json::from_str(&run).expect("JSON");
    let notices = run["notices"].as_array().expect("notices");
    assert_words!(notices[0]["text"].as_str().expect("a text"), @"app `shop`: a PHP app (no composer.json, and the files of no framework that is known here), of kind `script`, served from the directory itself");
    assert_eq!((&notices[0]["code"], &notices[0]["app"]), (&"app_detected".into(), &"shop".into()));
    let flag = fact(&run["notices"], "chosen")["flags"][0].as_str().expect("a flag");
    let chosen = flag.strip_prefix("--runtimes ").expect("the runtimes");
    let chosen: Vec<&str> = chosen.split(',').collect();
    let summary = summary(&sandbox);
    let cases = summary["cases"].as_array().expect("cases");
    let mut measured: Vec<&str> = cases
        .iter()
        .map(|case| case["runtime"].as_str().expect("a name").split(' ').next().unwrap_or(""))
        .collect();
    measured.sort_unstable();
    assert_eq!(measured, chosen);
    assert!(!chosen.contains(&"roadrunner"), "it runs no script: {chosen:?}");
    let left = notices.iter().find(|notice| {
        notice["code"] == "left_out" && notice["runtimes"].to_string().contains("\"roadrunner\"")
    });
    let why = serde_json::json!({"code": "not_kept", "kind": "script"});
    assert_eq!(left.expect("it is left out")["why"], why);
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

/// A Symfony project as Composer leaves it, except that its classes come from Debian's packages.
#[test]
#[ignore = "long: 28 s"]
fn a_symfony_project_runs_in_every_mode_and_its_version_is_recorded() {
    if skipped(&["php"]) || !Path::new(SYMFONY).is_file() {
        println!("SKIPPED: php-symfony-framework-bundle is not installed here");
        return;
    }
    let sandbox = Sandbox::new();
    let shop = sandbox.path().join("shop");
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/symfony"), &shop);
    std::fs::remove_file(shop.join("app.yaml")).expect("app.yaml");
    let requires = r#"{"require": {"symfony/framework-bundle": "*", "ext-ctype": "*",
        "ext-mbstring": "*", "ext-tokenizer": "*"}}"#;
    sandbox.write("shop/composer.json", requires);
    sandbox.write("shop/vendor/autoload.php", AUTOLOAD);
    sandbox.write("shop/vendor/symfony/framework-bundle/composer.json", "{}");
    let installed = r#"{"packages": [{"name": "symfony/framework-bundle", "version": "v5.4.53"}]}"#;
    sandbox.write("shop/vendor/composer/installed.json", installed);
    let args = ["compare", "--app", "./shop", "--concurrency", "1", "--for", "500ms"];
    let output = finish(
        sandbox.stampede(&[&args[..], &["--rounds", "1", "--warm-up", "0s"]].concat()),
        LIMIT,
    );
    assert_measured(&sandbox, &output);
    let trials = trials(&sandbox);
    assert!(!trials.is_empty());
    for trial in trials {
        assert_eq!(trial["runtime"]["versions"]["symfony"], "5.4.53 (vendor)", "{trial:#}");
    }
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

const SYMFONY: &str = "/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php";
const AUTOLOAD: &str = r"<?php
require_once 'Symfony/Bundle/FrameworkBundle/autoload.php';
require_once dirname(__DIR__) . '/InstalledVersions.php';
spl_autoload_register(static function (string $class): void {
    $file = dirname(__DIR__) . '/src/' . strtr(substr($class, 4), '\\', '/') . '.php';
    if (str_starts_with($class, 'App\\') && is_file($file)) {
        require $file;
    }
});
";

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("directory");
    for entry in std::fs::read_dir(from).expect("directory").flatten() {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => std::fs::copy(entry.path(), to).map(|_| ()).expect("file"),
        }
    }
}

/// On any machine: the runtimes that cannot serve an app are all listed, one line for each reason.
#[test]
fn every_runtime_that_cannot_serve_an_app_is_reported() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("script/index.php", "<?php echo 'shop';");
    for file in ["headless/public/index.php", "headless/bin/console", "headless/config/bundles.php"]
    {
        sandbox.write(file, "<?php");
    }
    let workers = ["amphp", "openswoole", "reactphp", "roadrunner", "swoole", "workerman"];
    for (app, code, why) in [
        (
            "script",
            "not_kept",
            "an app of kind `script` anew for each request; if it is symfony, laravel",
        ),
        (
            "headless",
            "not_entered",
            "worker modes need `src/Kernel.php` to start an app of kind `symfony`, and this app does not \
             have it; use `adapter: symfony-runtime`",
        ),
    ] {
        let args = ["compare", "--app", &format!("./{app}"), "--dry-run"];
        let output = finish(sandbox.stampede(&args), LIMIT);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let note = code_or("note: left_out", "note: left out: ");
        let left = text.lines().filter(|line| line.starts_with(note));
        let notes: Vec<&str> = left.filter(|line| line.contains(code_or(code, why))).collect();
        assert_eq!(notes.len(), 1, "{app}: {text}");
        if CODES {
            continue;
        }
        for name in workers {
            assert!(notes[0].contains(&format!("`{name}`")), "{name}: {notes:?}");
        }
        assert!(!notes[0].contains("`php-builtin`"), "{notes:?}");
    }
    // Its front controller makes the kernel, so the headless app itself is not the obstacle.
    let plan = "app: ./headless\nruntimes: [{roadrunner: {adapter: symfony-runtime}}]\n\
                load: [{concurrency: 1, for: 1s}]\n";
    sandbox.write("adapter.yaml", plan);
    let output = finish(sandbox.stampede(&["compare", "adapter.yaml", "--dry-run"]), LIMIT);
    assert!(!stderr(&output).contains("src/Kernel.php"), "{}", stderr(&output));
    let needs = code_or("missing", "`rr`");
    assert!(output.status.success() || stderr(&output).contains(needs), "{}", stderr(&output));
}
