//! Tests `stampede compare --against REV`: two versions of an app from its git repository are
//! measured in the same rounds, and the repository stays unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;
use stampede_against::{AgainstError, AgainstRequest};
use stampede_keeper::KeeperOptions;
use stampede_plan::model::Plan;
use stampede_plan::{Overrides, from_flags};
use stampede_stack::{Catalogue, SearchPaths};

use crate::common::{Sandbox, assert_measured, finish, skipped, stderr, stdout, trials};
use crate::words::code_or;

const BINARY: &str = env!("CARGO_BIN_EXE_stampede");
/// Far longer than any of these runs takes.
const LIMIT: Duration = Duration::from_secs(180);

/// Runs git in a directory of the place, without this machine's configuration of git.
fn git(sandbox: &Sandbox, directory: &str, args: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(sandbox.path().join(directory)).env("HOME", sandbox.path());
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.args([
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        "-c",
        "init.defaultBranch=main",
    ]);
    let output = git.args(args).output().expect("git starts");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn commit(sandbox: &Sandbox, directory: &str, words: &str) {
    git(sandbox, directory, &["add", "--all"]);
    git(sandbox, directory, &["commit", "--quiet", "--message", words]);
}

/// A shop in a repository, with its first version committed.
fn shop(sandbox: &Sandbox, code: &str) {
    sandbox.write("shop/public/index.php", code);
    git(sandbox, "shop", &["init", "--quiet"]);
    commit(sandbox, "shop", "first");
}

/// Every file below a directory, with its bytes and the time of its last change.
fn seen(directory: &Path) -> BTreeMap<PathBuf, (Vec<u8>, i64, i64)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let meta = fs::symlink_metadata(entry.path()).expect("its facts");
        let bytes = if meta.is_file() { fs::read(entry.path()).expect("bytes") } else { vec![] };
        all.insert(entry.path(), (bytes, meta.mtime(), meta.mtime_nsec()));
        if meta.is_dir() {
            all.extend(seen(&entry.path()));
        }
    }
    all
}

fn compare(sandbox: &Sandbox, args: &[&str]) -> Output {
    let quick = ["--concurrency", "2", "--warm-up", "0s"];
    finish(sandbox.stampede(&[&["compare"], args, &quick[..]].concat()), LIMIT)
}

#[test]
#[ignore = "long: 24 s"]
fn a_version_that_sleeps_longer_is_slower_and_breaks_an_expectation() {
    if skipped(&["git", "nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    shop(&sandbox, "<?php usleep(1000); echo 'fine';");
    sandbox.write("shop/public/index.php", "<?php usleep(6000); echo 'fine, too';");
    let before = seen(&sandbox.path().join("shop"));
    let app = ["--app", "./shop", "--runtimes", "nginx-fpm", "--against", "main"];
    let rest = ["--for", "1s", "--rounds", "3", "--expect", "throughput worse < 30%", "--json"];
    let output = compare(&sandbox, &[&app[..], &rest].concat());
    let printed = stderr(&output);
    assert!(before == seen(&sandbox.path().join("shop")), "{printed}");
    assert!(sandbox.left_behind().is_empty(), "{:?}", sandbox.left_behind());
    assert_eq!(trials(&sandbox).len(), 6);
    assert!(printed.contains(code_or("note: against", "`@main` is ")), "{printed}");
    assert!(printed.contains(code_or("note: against", "with one uncommitted change")), "{printed}");
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let names: Vec<&str> = json["cases"]
        .as_array()
        .expect("cases")
        .iter()
        .filter_map(|case| case["runtime"].as_str())
        .collect();
    assert_eq!(names, ["nginx-fpm @main", "nginx-fpm"]);
    // The versions give different answers, which must not make them incomparable.
    for case in json["cases"].as_array().expect("cases") {
        assert_eq!(case["not_comparable"], serde_json::json!([]), "{case:#}");
    }
    let diff = &json["against"]["diffs"][0];
    assert_eq!(
        (&diff["pairing"], &diff["base"]["label"]),
        (&"within_rounds".into(), &"@main".into())
    );
    let case = &diff["cases"][0];
    for figure in case["figures"].as_array().expect("figures") {
        if ["p50", "throughput"].contains(&figure["figure"].as_str().expect("a name")) {
            assert_eq!(figure["judged"], "worse", "{figure:#}");
        }
    }
    assert_eq!(case["expectations"][0]["outcome"], "broken");
    // A busy machine may make a trial invalid, which then decides the exit code.
    if output.status.code() != Some(1) {
        assert_measured(&sandbox, &output);
    }
    let again =
        finish(sandbox.stampede(&["diff", "last", "--expect", "throughput worse < 30%"]), LIMIT);
    let text = stdout(&again);
    assert!(text.contains("working tree is slower than @main: throughput "), "{text}");
    let found = code_or("worse_by", "throughput ");
    assert!(text.contains(&format!("throughput worse < 30%: not met: {found}")), "{text}");
}

/// The base is measured twice in each round, and the difference between the two is called noise.
#[test]
#[ignore = "long: 35 s"]
fn the_noise_of_the_day_is_measured_with_the_base_alone() {
    if skipped(&["git", "nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    shop(&sandbox, "<?php usleep(2000); echo 'fine';");
    sandbox.write("shop/public/index.php", "<?php usleep(2000); echo 'fine, too';");
    let app = ["--app", "./shop", "--runtimes", "nginx-fpm", "--against", "main", "--aa"];
    let output =
        compare(&sandbox, &[&app[..], &["--for", "1s", "--rounds", "3", "--json"]].concat());
    assert_measured(&sandbox, &output);
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let mut names: Vec<&str> = json["cases"]
        .as_array()
        .expect("cases")
        .iter()
        .filter_map(|case| case["runtime"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["nginx-fpm", "nginx-fpm @main", "nginx-fpm @main again"]);
    let diff = &json["against"]["diffs"][0];
    let cases = |key: &str| diff[key].as_array().expect("a list").clone();
    assert_eq!((cases("cases").len(), cases("noise").len()), (1, 1), "{diff:#}");
    assert_eq!(diff["noise"][0]["runtime"], "nginx-fpm");
    let about = &diff["noise"][0]["figures"];
    let throughput =
        about.as_array().expect("figures").iter().find(|one| one["figure"] == "throughput");
    let throughput = throughput.expect("throughput");
    let value = |side: &str| throughput[side]["value"].as_f64().expect("a number");
    let (ratio, of_means) = (value("ratio"), value("other") / value("base"));
    // Both are of geometric means. A round without a valid trial on one side is in one of the two alone.
    let is_whole = throughput["worse"]["trials"] == 3;
    assert!(!is_whole || (ratio / of_means - 1.0).abs() < 0.001, "{throughput:#}");
    assert!(ratio > 0.0, "{throughput:#}");
    let text = stdout(&finish(sandbox.stampede(&["diff", "last"]), LIMIT));
    assert!(text.contains("Noise of the day: @main against itself"), "{text}");
    let text = stdout(&finish(sandbox.stampede(&["diff", "last", "--format", "markdown"]), LIMIT));
    assert!(text.contains("- Noise of the day: @main against itself"), "{text}");
}

/// One commit under two names, from a directory below the repository's top. Two rounds give only a
/// hint, whatever was measured.
#[test]
#[ignore = "long: 14 s"]
fn the_same_version_is_not_called_different() {
    if skipped(&["git", "nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/apps/web/public/index.php", "<?php require '../lib.php'; echo hello();");
    sandbox.write("shop/apps/web/lib.php", "<?php function hello() { return 'hello'; }");
    git(&sandbox, "shop", &["init", "--quiet"]);
    commit(&sandbox, "shop", "first");
    let before = seen(&sandbox.path().join("shop"));
    let app = ["--app", "./shop/apps/web", "--runtimes", "nginx-fpm", "--against", "HEAD"];
    let output = compare(&sandbox, &[&app[..], &["--for", "0.5s", "--rounds", "2"]].concat());
    assert_measured(&sandbox, &output);
    assert!(before == seen(&sandbox.path().join("shop")));
    let printed = stderr(&output);
    assert!(
        printed.contains(code_or("note: against", "The working tree is the same commit")),
        "{printed}"
    );
    let text = stdout(&output);
    for message in
        ["nginx-fpm · web · ", "working tree compared with @HEAD: throughput ", "first impression"]
    {
        assert!(text.contains(message), "{message}\n{text}");
    }
    let answers: Vec<Value> = trials(&sandbox)
        .iter()
        .map(|trial| trial["runtime"]["before"]["answer_sha256"].clone())
        .collect();
    assert!(answers.len() == 4 && answers.iter().all(|one| *one == answers[0]), "{answers:?}");
}

/// Makes the plan that the flags make, with the other version in it.
fn with_copy(
    sandbox: &Sandbox,
    rev: &str,
    prepare: Option<&str>,
    look: impl FnOnce(&Plan, &Path),
) -> Result<(), AgainstError> {
    let app = sandbox.path().join("shop").display().to_string();
    let flag = |text: &str| Some(text.to_owned());
    let mut plan = from_flags(&Overrides {
        app: Some(app),
        runtimes: flag("php-builtin"),
        concurrency: flag("1"),
        for_: flag("1s"),
        ..Overrides::default()
    })
    .expect("a plan");
    let keeper = KeeperOptions {
        program: BINARY.into(),
        journal: sandbox.path().join("journal"),
        ..KeeperOptions::default()
    };
    let asked = AgainstRequest { rev, prepare, is_twice: false, is_dry: false, keeper: &keeper };
    let catalogue = Catalogue::load(SearchPaths::from_env());
    let copies = stampede_against::add(&mut plan, &catalogue, asked)?;
    let copy = plan.stack.apps.choices[1].path().expect("a directory").to_path_buf();
    look(&plan, &copy);
    drop(copies);
    let until = std::time::Instant::now() + Duration::from_secs(5);
    while copy.exists() && std::time::Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!copy.exists(), "{}", copy.display());
    Ok(())
}

#[test]
fn files_that_git_ignores_are_copied_without_links_out_of_the_copy() {
    if skipped(&["git"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let top = sandbox.path().join("shop").canonicalize().unwrap_or(sandbox.path().join("shop"));
    sandbox.write("shop/.gitignore", "/vendor\n/.env.local\n/public/build\n/var\n/node_modules\n");
    sandbox.write("shop/.env", &format!("DB=sqlite:///{}/var/data.db\n", top.display()));
    sandbox.write("shop/composer.lock", "{\"packages\": []}");
    shop(&sandbox, "<?php echo 1;");
    sandbox.write("shop/public/index.php", "<?php echo 2;");
    sandbox.write("shop/public/new.php", "<?php // no commit has it");
    sandbox.write("shop/.env.local", &format!("OTHER={}/var/other.db\n", top.display()));
    for (file, text) in
        [("vendor/autoload.php", "<?php"), ("public/build/app.js", "js"), ("var/data.db", "db")]
    {
        sandbox.write(&format!("shop/{file}"), text);
    }
    sandbox.write("shop/node_modules/x/index.js", "js");
    let before = seen(&sandbox.path().join("shop"));
    with_copy(&sandbox, "main", None, |plan, copy| {
        let text = |file: &str| fs::read_to_string(copy.join(file)).ok();
        assert_eq!(text("public/index.php").as_deref(), Some("<?php echo 1;"));
        for there in ["vendor/autoload.php", "public/build/app.js", "var/data.db"] {
            assert!(text(there).is_some(), "{there}");
        }
        for gone in ["public/new.php", "node_modules/x/index.js", ".git/HEAD"] {
            assert!(text(gone).is_none(), "{gone}");
        }
        // The copy's settings lead to the copy: by its own path, or because the stack sees it at the
        // path of the directory that it was copied from.
        let at = if stampede_keeper::can_bind(Path::new(BINARY)) { &top } else { copy };
        assert_eq!(plan.stack.apps.choices[1].copy_of.as_deref(), Some(top.as_path()));
        for (file, named) in [(".env", "var/data.db"), (".env.local", "var/other.db")] {
            let text = text(file).expect(file);
            assert!(text.contains(&at.join(named).display().to_string()), "{text}");
        }
        let mode = fs::metadata(copy).expect("its facts").mode() & 0o777;
        let closed = copy.ancestors().any(|directory| {
            fs::metadata(directory).is_ok_and(|meta| meta.mode() & 0o077 == 0)
        });
        assert!(closed, "settings are nobody else's: {mode:o}");
        let against = plan.against.as_ref().expect("the other version");
        assert_eq!(against.record.brought, [".env.local", "public/build/", "var/", "vendor/"]);
        let message = plan.notices.last().expect("a notice");
        assert!(message.to_string().ends_with("copied from the working tree to both versions: `.env.local`, `public/build/`, `var/`, `vendor/`"), "{message}");
    })
    .expect("a copy");
    assert!(before == seen(&sandbox.path().join("shop")));
}

#[test]
fn other_packages_are_installed_in_the_copy_by_the_named_command() {
    if skipped(&["git"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/.gitignore", "/vendor\n");
    sandbox.write("shop/composer.lock", "{\"packages\": []}");
    shop(&sandbox, "<?php echo 1;");
    sandbox.write("shop/composer.lock", "{\"packages\": [ ]}");
    sandbox.write("shop/vendor/autoload.php", "<?php // of the working tree");
    let before = seen(&sandbox.path().join("shop"));
    let refused = with_copy(&sandbox, "main", None, |_, _| ()).expect_err("other packages");
    assert!(
        matches!(refused, AgainstError::OtherPackages { what: "composer.lock", .. }),
        "{refused}"
    );
    let command = "mkdir vendor && echo '<?php // installed' > vendor/autoload.php";
    with_copy(&sandbox, "main", Some(command), |_, copy| {
        let made = fs::read_to_string(copy.join("vendor/autoload.php")).expect("it was made");
        assert_eq!(made, "<?php // installed\n");
    })
    .expect("a copy");
    let fails = "echo 'DB_PASSWORD=s3cr3t'; echo 'no such package' >&2; exit 4";
    let failed = with_copy(&sandbox, "main", Some(fails), |_, _| ()).expect_err("it fails");
    let message = failed.to_string();
    assert!(message.contains("ended with exit code 4 in the copy of `main`\n"), "{message}");
    assert!(message.contains("\n  no such package") && !message.contains("s3cr3t\n"), "{message}");
    assert!(before == seen(&sandbox.path().join("shop")));
}

/// Composer and npm run the scripts of packages, so root must not be who runs them.
#[test]
fn what_prepares_the_copy_runs_as_the_user_of_php() {
    if skipped(&["git"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/.gitignore", "/vendor\n");
    shop(&sandbox, "<?php echo 1;");
    let is_root = rustix::process::geteuid().is_root();
    let command = "id -u > who; cat /etc/shadow > stolen 2>/dev/null; echo x > \"$HOME/x\" && mkdir vendor && \
                   ln -s ../who vendor/inside";
    with_copy(&sandbox, "main", Some(command), |_, copy| {
        let text = |file: &str| fs::read_to_string(copy.join(file)).expect("it was made");
        assert_ne!(text("who").trim(), "0");
        assert_eq!((text("stolen").as_str(), text("vendor/inside")), ("", text("who")));
        let meta = fs::symlink_metadata(copy.join("vendor/inside")).expect("it was made");
        assert_eq!(meta.uid(), rustix::process::geteuid().as_raw(), "it is ours again");
        let above = fs::metadata(copy.parent().expect("the copy's place")).expect("it is there");
        assert_eq!(above.mode() & 0o777, 0o700);
    })
    .expect("a copy");
    for target in ["/etc/shadow", "../../outside", "/no/such/place", "vendor/../../up"] {
        let command = format!("mkdir vendor; ln -s {target} leak");
        let made = with_copy(&sandbox, "main", Some(&command), |_, _| ());
        match made {
            Err(AgainstError::LeadsOut { link, .. }) if is_root => {
                assert_eq!(link, Path::new("leak"), "{target}");
            }
            Ok(()) if !is_root => {}
            other => panic!("{target}: {other:?}"),
        }
    }
}

/// The text that a person reads, without the place's own path.
fn refused(sandbox: &Sandbox, args: &[&str]) -> String {
    let all = [
        &["compare", "--runtimes", "php-builtin", "--concurrency", "1", "--for", "1s", "--dry-run"],
        args,
    ];
    let output = finish(sandbox.stampede(&all.concat()), LIMIT);
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(2), String::new()),
        "{}",
        stderr(&output)
    );
    stderr(&output).replace(&sandbox.path().display().to_string(), "PLACE")
}

#[test]
fn what_cannot_be_held_against_is_said_with_what_to_do() {
    if skipped(&["git"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("plain/public/index.php", "<?php echo 1;");
    sandbox.write("empty/public/index.php", "<?php echo 1;");
    git(&sandbox, "empty", &["init", "--quiet"]);
    sandbox.write("shop/README.md", "no app yet");
    git(&sandbox, "shop", &["init", "--quiet"]);
    commit(&sandbox, "shop", "nothing");
    sandbox.write("shop/public/index.php", "<?php echo 1;");
    sandbox.write("shop/.gitignore", "/vendor\n");
    sandbox.write("shop/composer.lock", "{\"packages\": []}");
    commit(&sandbox, "shop", "an app");
    sandbox.write("shop/composer.lock", "{\"packages\": [ ]}");
    sandbox.write("shop/vendor/autoload.php", "<?php");
    sandbox.write("shop/admin/public/index.php", "<?php echo 'no commit has it';");
    let no_git = {
        let args = ["compare", "--app", "./shop", "--against", "main", "--runtimes", "php-builtin"];
        let mut command =
            sandbox.stampede(&[&args[..], &["--concurrency", "1", "--for", "1s"]].concat());
        command.env("PATH", sandbox.path());
        stderr(&finish(command, LIMIT))
    };
    let messages = [
        refused(&sandbox, &["--app", "hello", "--against", "main"]),
        no_git,
        refused(&sandbox, &["--app", "./plain", "--against", "main"]),
        refused(&sandbox, &["--app", "./empty", "--against", "main"]),
        refused(&sandbox, &["--app", "./shop", "--against", "mian"]),
        refused(&sandbox, &["--app", "./shop", "--against=--all"]),
        refused(&sandbox, &["--app", "./shop/admin", "--against", "main"]),
        refused(&sandbox, &["--app", "./shop", "--against", "HEAD~1", "--against-prepare", "true"]),
        refused(&sandbox, &["--app", "./shop", "--against", "main"]),
    ];
    assert_words!(messages.join("\n---\n"));
    assert!(sandbox.left_behind().is_empty(), "{:?}", sandbox.left_behind());
}

/// A plan may name the other version too. Nothing is started to print what would run.
#[test]
fn each_runtime_of_a_plan_is_measured_with_both_versions() {
    if skipped(&["git", "php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    shop(&sandbox, "<?php echo 1;");
    let plan = "app: ./shop\nruntimes: [php-builtin, {other: {use: php-builtin, workers: 2}}]\n\
                load: [{concurrency: 1, for: 1s}]\nrounds: 1\n";
    sandbox.write("plan.yaml", plan);
    let args = ["compare", "plan.yaml", "--against", "main", "--dry-run", "--seed", "1"];
    let output = finish(sandbox.stampede(&args), LIMIT);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for name in ["php-builtin", "php-builtin @main", "other", "other @main"] {
        assert!(text.contains(&format!("\n  {name} · shop · 1 at a time 1s (")), "{name}\n{text}");
    }
    assert!(sandbox.left_behind().is_empty(), "{:?}", sandbox.left_behind());
}

#[test]
fn what_already_runs_has_one_version() {
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", "<?php echo 1;");
    let args = [
        "compare",
        "--app",
        "./shop",
        "--runtimes",
        "external:http://127.0.0.1:9",
        "--concurrency",
        "1",
    ];
    let output = finish(
        sandbox.stampede(&[&args[..], &["--for", "1s", "--against", "main"]].concat()),
        LIMIT,
    );
    assert_eq!(output.status.code(), Some(2));
    assert_words!(stderr(&output));
}
