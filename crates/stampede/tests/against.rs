//! Tests `stampede compare --against REV`: two versions of an app from its git repository are
//! measured in the same rounds, and the repository stays unchanged.

#[macro_use]
mod words;

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use common::{Place, assert_measured, finish, skipped, stderr, stdout, trials};
use serde_json::Value;
use stampede::against::{self, AgainstError, AgainstRequest};
use stampede::keeper::KeeperOptions;
use stampede::plan::model::Plan;
use stampede::plan::{Overrides, from_flags};
use stampede::runtime::{Catalogue, SearchPaths};
use words::says;

/// Far longer than any of these runs takes.
const LIMIT: Duration = Duration::from_secs(180);

/// Runs git in a directory of the place, without this machine's configuration of git.
fn git(place: &Place, directory: &str, args: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(place.path().join(directory)).env("HOME", place.path());
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

fn commit(place: &Place, directory: &str, words: &str) {
    git(place, directory, &["add", "--all"]);
    git(place, directory, &["commit", "--quiet", "--message", words]);
}

/// A shop in a repository, with its first version committed.
fn shop(place: &Place, code: &str) {
    place.write("shop/public/index.php", code);
    git(place, "shop", &["init", "--quiet"]);
    commit(place, "shop", "first");
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

fn compare(place: &Place, args: &[&str]) -> Output {
    let quick = ["--concurrency", "2", "--warm-up", "0s"];
    finish(place.stampede(&[&["compare"], args, &quick[..]].concat()), LIMIT)
}

#[test]
fn a_version_that_sleeps_longer_is_slower_and_breaks_an_expectation() {
    if skipped(&["git", "nginx", "php-fpm"]) {
        return;
    }
    let place = Place::new();
    shop(&place, "<?php usleep(1000); echo 'fine';");
    place.write("shop/public/index.php", "<?php usleep(6000); echo 'fine, too';");
    let before = seen(&place.path().join("shop"));
    let app = ["--app", "./shop", "--runtimes", "nginx-fpm", "--against", "main"];
    let rest = ["--for", "1s", "--rounds", "3", "--expect", "throughput worse < 30%", "--json"];
    let output = compare(&place, &[&app[..], &rest].concat());
    let told = stderr(&output);
    assert!(before == seen(&place.path().join("shop")), "{told}");
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
    assert_eq!(trials(&place).len(), 6);
    assert!(told.contains(says("note: against", "`@main` is ")), "{told}");
    assert!(told.contains(says("note: against", "with one uncommitted change")), "{told}");
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
        assert_measured(&place, &output);
    }
    let again =
        finish(place.stampede(&["diff", "last", "--expect", "throughput worse < 30%"]), LIMIT);
    let text = stdout(&again);
    assert!(text.contains("working tree is slower than @main: throughput "), "{text}");
    let found = says("worse_by", "throughput ");
    assert!(text.contains(&format!("throughput worse < 30%: not met: {found}")), "{text}");
}

/// One commit under two names, from a directory below the repository's top. Two rounds give only a
/// hint, whatever was measured.
#[test]
fn the_same_version_is_not_called_different() {
    if skipped(&["git", "nginx", "php-fpm"]) {
        return;
    }
    let place = Place::new();
    place.write("shop/apps/web/public/index.php", "<?php require '../lib.php'; echo hello();");
    place.write("shop/apps/web/lib.php", "<?php function hello() { return 'hello'; }");
    git(&place, "shop", &["init", "--quiet"]);
    commit(&place, "shop", "first");
    let before = seen(&place.path().join("shop"));
    let app = ["--app", "./shop/apps/web", "--runtimes", "nginx-fpm", "--against", "HEAD"];
    let output = compare(&place, &[&app[..], &["--for", "0.5s", "--rounds", "2"]].concat());
    assert_measured(&place, &output);
    assert!(before == seen(&place.path().join("shop")));
    let told = stderr(&output);
    assert!(told.contains(says("note: against", "The working tree is the same commit")), "{told}");
    let text = stdout(&output);
    for said in
        ["nginx-fpm · web · ", "working tree compared with @HEAD: throughput ", "first impression"]
    {
        assert!(text.contains(said), "{said}\n{text}");
    }
    let answers: Vec<Value> = trials(&place)
        .iter()
        .map(|trial| trial["runtime"]["before"]["answer_sha256"].clone())
        .collect();
    assert!(answers.len() == 4 && answers.iter().all(|one| *one == answers[0]), "{answers:?}");
}

/// Makes the plan that the flags make, with the other version in it.
fn with_copy(
    place: &Place,
    rev: &str,
    prepare: Option<&str>,
    look: impl FnOnce(&Plan, &Path),
) -> Result<(), AgainstError> {
    let app = place.path().join("shop").display().to_string();
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
        program: env!("CARGO_BIN_EXE_stampede").into(),
        journal: place.path().join("journal"),
        ..KeeperOptions::default()
    };
    let asked = AgainstRequest { rev, prepare, is_dry: false, keeper: &keeper };
    let catalogue = Catalogue::load(SearchPaths::from_env());
    let copies = against::add(&mut plan, &catalogue, asked)?;
    let copy = plan.apps[1].directory().expect("a directory").to_path_buf();
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
fn what_git_ignores_is_brought_and_leads_nowhere_else() {
    if skipped(&["git"]) {
        return;
    }
    let place = Place::new();
    let top = place.path().join("shop").canonicalize().unwrap_or(place.path().join("shop"));
    place.write("shop/.gitignore", "/vendor\n/.env.local\n/public/build\n/var\n/node_modules\n");
    place.write("shop/.env", &format!("DB=sqlite:///{}/var/data.db\n", top.display()));
    place.write("shop/composer.lock", "{\"packages\": []}");
    shop(&place, "<?php echo 1;");
    place.write("shop/public/index.php", "<?php echo 2;");
    place.write("shop/public/new.php", "<?php // no commit has it");
    place.write("shop/.env.local", &format!("OTHER={}/var/other.db\n", top.display()));
    for (file, text) in
        [("vendor/autoload.php", "<?php"), ("public/build/app.js", "js"), ("var/data.db", "db")]
    {
        place.write(&format!("shop/{file}"), text);
    }
    place.write("shop/node_modules/x/index.js", "js");
    let before = seen(&place.path().join("shop"));
    with_copy(&place, "main", None, |plan, copy| {
        let text = |file: &str| fs::read_to_string(copy.join(file)).ok();
        assert_eq!(text("public/index.php").as_deref(), Some("<?php echo 1;"));
        for there in ["vendor/autoload.php", "public/build/app.js", "var/data.db"] {
            assert!(text(there).is_some(), "{there}");
        }
        for gone in ["public/new.php", "node_modules/x/index.js", ".git/HEAD"] {
            assert!(text(gone).is_none(), "{gone}");
        }
        // The copy's settings name the copy, not the directory that it was copied from.
        for (file, named) in [(".env", "var/data.db"), (".env.local", "var/other.db")] {
            let text = text(file).expect(file);
            let led = copy.join(named).display().to_string();
            assert!(text.contains(&led) && !text.contains(&top.display().to_string()), "{text}");
        }
        let mode = fs::metadata(copy).expect("its facts").mode() & 0o777;
        let closed = copy.ancestors().any(|directory| {
            fs::metadata(directory).is_ok_and(|meta| meta.mode() & 0o077 == 0)
        });
        assert!(closed, "settings are nobody else's: {mode:o}");
        let against = plan.against.as_ref().expect("the other version");
        assert_eq!(against.record.brought, [".env.local", "public/build/", "var/", "vendor/"]);
        let said = plan.notices.last().expect("a notice");
        assert!(said.to_string().ends_with("copied from the working tree to both versions: `.env.local`, `public/build/`, `var/`, `vendor/`"), "{said}");
    })
    .expect("a copy");
    assert!(before == seen(&place.path().join("shop")));
}

#[test]
fn other_packages_are_installed_by_the_command_that_is_named_in_the_copy() {
    if skipped(&["git"]) {
        return;
    }
    let place = Place::new();
    place.write("shop/.gitignore", "/vendor\n");
    place.write("shop/composer.lock", "{\"packages\": []}");
    shop(&place, "<?php echo 1;");
    place.write("shop/composer.lock", "{\"packages\": [ ]}");
    place.write("shop/vendor/autoload.php", "<?php // of the working tree");
    let before = seen(&place.path().join("shop"));
    let refused = with_copy(&place, "main", None, |_, _| ()).expect_err("other packages");
    assert!(
        matches!(refused, AgainstError::OtherPackages { what: "composer.lock", .. }),
        "{refused}"
    );
    let command = "mkdir vendor && echo '<?php // installed' > vendor/autoload.php";
    with_copy(&place, "main", Some(command), |_, copy| {
        let made = fs::read_to_string(copy.join("vendor/autoload.php")).expect("it was made");
        assert_eq!(made, "<?php // installed\n");
    })
    .expect("a copy");
    let fails = "echo 'DB_PASSWORD=s3cr3t'; echo 'no such package' >&2; exit 4";
    let failed = with_copy(&place, "main", Some(fails), |_, _| ()).expect_err("it fails");
    let said = failed.to_string();
    assert!(said.contains("ended with exit code 4 in the copy of `main`\n"), "{said}");
    assert!(said.contains("\n  no such package") && !said.contains("s3cr3t\n"), "{said}");
    assert!(before == seen(&place.path().join("shop")));
}

/// The text that a person reads, without the place's own path.
fn refused(place: &Place, args: &[&str]) -> String {
    let all = [
        &["compare", "--runtimes", "php-builtin", "--concurrency", "1", "--for", "1s", "--dry-run"],
        args,
    ];
    let output = finish(place.stampede(&all.concat()), LIMIT);
    assert_eq!(
        (output.status.code(), stdout(&output)),
        (Some(2), String::new()),
        "{}",
        stderr(&output)
    );
    stderr(&output).replace(&place.path().display().to_string(), "PLACE")
}

#[test]
fn what_cannot_be_held_against_is_said_with_what_to_do() {
    if skipped(&["git"]) {
        return;
    }
    let place = Place::new();
    place.write("plain/public/index.php", "<?php echo 1;");
    place.write("empty/public/index.php", "<?php echo 1;");
    git(&place, "empty", &["init", "--quiet"]);
    place.write("shop/README.md", "no app yet");
    git(&place, "shop", &["init", "--quiet"]);
    commit(&place, "shop", "nothing");
    place.write("shop/public/index.php", "<?php echo 1;");
    place.write("shop/.gitignore", "/vendor\n");
    place.write("shop/composer.lock", "{\"packages\": []}");
    commit(&place, "shop", "an app");
    place.write("shop/composer.lock", "{\"packages\": [ ]}");
    place.write("shop/vendor/autoload.php", "<?php");
    place.write("shop/admin/public/index.php", "<?php echo 'no commit has it';");
    let no_git = {
        let args = ["compare", "--app", "./shop", "--against", "main", "--runtimes", "php-builtin"];
        let mut command =
            place.stampede(&[&args[..], &["--concurrency", "1", "--for", "1s"]].concat());
        command.env("PATH", place.path());
        stderr(&finish(command, LIMIT))
    };
    let told = [
        refused(&place, &["--app", "hello", "--against", "main"]),
        no_git,
        refused(&place, &["--app", "./plain", "--against", "main"]),
        refused(&place, &["--app", "./empty", "--against", "main"]),
        refused(&place, &["--app", "./shop", "--against", "mian"]),
        refused(&place, &["--app", "./shop", "--against=--all"]),
        refused(&place, &["--app", "./shop/admin", "--against", "main"]),
        refused(&place, &["--app", "./shop", "--against", "HEAD~1", "--against-prepare", "true"]),
        refused(&place, &["--app", "./shop", "--against", "main"]),
    ];
    assert_words!(told.join("\n---\n"));
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

/// A plan may name the other version too. Nothing is started to print what would run.
#[test]
fn a_plan_s_runtimes_are_each_there_twice() {
    if skipped(&["git", "php"]) {
        return;
    }
    let place = Place::new();
    shop(&place, "<?php echo 1;");
    let plan = "app: ./shop\nruntimes: [php-builtin, {other: {use: php-builtin, workers: 2}}]\n\
                load: [{concurrency: 1, for: 1s}]\nrounds: 1\n";
    place.write("plan.yaml", plan);
    let args = ["compare", "plan.yaml", "--against", "main", "--dry-run", "--seed", "1"];
    let output = finish(place.stampede(&args), LIMIT);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for name in ["php-builtin", "php-builtin @main", "other", "other @main"] {
        assert!(text.contains(&format!("\n  {name} · shop · 1 at a time 1s (")), "{name}\n{text}");
    }
    assert!(place.left_behind().is_empty(), "{:?}", place.left_behind());
}

#[test]
fn what_already_runs_has_one_version() {
    let place = Place::new();
    place.write("shop/public/index.php", "<?php echo 1;");
    let args = [
        "compare",
        "--app",
        "./shop",
        "--runtimes",
        "external:http://127.0.0.1:9",
        "--concurrency",
        "1",
    ];
    let output =
        finish(place.stampede(&[&args[..], &["--for", "1s", "--against", "main"]].concat()), LIMIT);
    assert_eq!(output.status.code(), Some(2));
    assert_words!(stderr(&output));
}
