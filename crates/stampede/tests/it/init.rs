//! Tests `stampede init` from the outside: it writes a plan that can run, and nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{Sandbox, finish, skipped, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(60);

/// The files of several projects, each under a name.
const PROJECTS: [(&str, &[&str]); 5] = [
    ("plain", &["index.php"]),
    ("symfony", &["public/index.php", "bin/console", "config/bundles.php"]),
    ("laravel", &["public/index.php", "artisan", "bootstrap/app.php"]),
    ("wordpress", &["index.php", "wp-load.php", "wp-includes/version.php"]),
    ("it's an odd name: #1", &["public/index.php"]),
];

/// All files below a directory.
fn files(directory: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for entry in std::fs::read_dir(directory).expect("directory").flatten() {
        match entry.path().is_dir() {
            true => all.extend(files(&entry.path())),
            false => drop(all.insert(entry.path())),
        }
    }
    all
}

fn dry_run(sandbox: &Sandbox, directory: &Path, plan: &str) -> String {
    let mut command = sandbox.stampede(&["compare", plan, "--dry-run"]);
    command.current_dir(directory);
    let output = finish(command, LIMIT);
    assert_eq!(output.status.code(), Some(0), "{plan}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn the_written_plan_runs_and_nothing_else_is_written() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    for (name, all) in PROJECTS {
        all.iter().for_each(|file| drop(sandbox.write(&format!("{name}/{file}"), "<?php")));
        let directory = sandbox.path().join(name);
        let before = files(sandbox.path());
        let mut command = sandbox.stampede(&["init"]);
        command.current_dir(&directory);
        let output = finish(command, LIMIT);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        assert!(stdout(&output).contains("stampede compare stampede.yaml --dry-run"));
        let mut after = files(sandbox.path());
        assert!(after.remove(&directory.join("stampede.yaml")), "{name}");
        assert_eq!(after, before, "{name}");
        let plan_text = dry_run(&sandbox, &directory, "stampede.yaml");
        assert!(
            plan_text.contains(&format!(" · {name} · rush (8 at a time, no pause, for 10 s)")),
            "{plan_text}"
        );
        let note = format!("app `{name}`: ");
        assert!(
            plan_text.contains(&format!("note: {}", code_or("app_detected", &note))),
            "{plan_text}"
        );

        // From elsewhere, into another directory, and for another kind.
        let app = format!("./{name}");
        let args = ["init", "--app", &app, "--kind", "script", "--out", "plans/shop.yaml"];
        let out = sandbox.write("plans/shop.yaml", "");
        std::fs::remove_file(&out).expect("the file");
        let output = finish(sandbox.stampede(&args), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        let plan_text = dry_run(&sandbox, sandbox.path(), "plans/shop.yaml");
        assert!(plan_text.contains(&format!(" · {name} · rush")), "{plan_text}");
        assert!(plan_text.contains(code_or("app_detected", "kind `script`")), "{plan_text}");
    }
}

/// Every commented-out line of the plan can be activated.
#[test]
fn commented_lines_of_the_plan_are_valid_too() {
    if skipped(&["php", "nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("index.php", "<?php");
    let output = finish(sandbox.stampede(&["init"]), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = std::fs::read_to_string(sandbox.path().join("stampede.yaml")).expect("the plan");
    let lines = text.lines().filter(|line| !line.contains("external:") && !line.contains("cold:"));
    let taken_in: String = lines.map(|line| taken_in(line) + "\n").collect();
    assert_ne!(text, taken_in);
    let found = taken_in.replace("traffic: [/, /about]", "traffic: urls.txt");
    sandbox.write("all.yaml", &found);
    sandbox.write("urls.txt", "/\n/about\n");
    let plan_text = dry_run(&sandbox, sandbox.path(), "all.yaml");
    for part in ["few-workers", "-workers workers=16", " · climb ", " · pages ", " · day "] {
        assert!(plan_text.contains(part), "no {part} in:\n{plan_text}\n{found}");
    }
}

/// The line without its `#`, if the rest is a line of a plan and not a sentence.
fn taken_in(line: &str) -> String {
    let Some((indent, rest)) = line.split_once("# ") else { return line.to_owned() };
    let key = rest.trim_start_matches("- ").split(':').next().unwrap_or("");
    let is_line = indent.trim().is_empty()
        && rest.contains(": ")
        && !key.is_empty()
        && key.chars().all(|c| c.is_ascii_lowercase() || "_-".contains(c));
    if is_line { format!("{indent}{rest}") } else { line.to_owned() }
}

#[test]
fn an_existing_file_is_never_overwritten() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php");
    sandbox.write("stampede.yaml", "mine");
    let refused = |args: &[&str]| {
        let output = finish(sandbox.stampede(args), LIMIT);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        stderr(&output)
    };
    assert_words!(refused(&["init", "--app", "./shop"]), @r"
    error: `stampede.yaml` is there already, and is left as it is

    hint: `--out` names another file
    ");
    let text = std::fs::read_to_string(sandbox.path().join("stampede.yaml")).expect("the file");
    assert_eq!(text, "mine");
    assert_words!(refused(&["init", "--app", "./shop", "--out", "no/where.yaml"]), @r"
    error: cannot write `no/where.yaml`: No such file or directory (os error 2)

    hint: `--out` names another file
    ");
    assert_words!(refused(&["init", "--app", "hello,./shop", "--out", "two.yaml"]), @r"
    error: `init` writes a plan for one app, not 2

    hint: `apps: [a, b]` in the plan measures several
    ");
    assert!(!sandbox.path().join("two.yaml").exists());
}

/// What it writes about a catalogue app depends on the machine only in the list of runtimes.
#[test]
fn it_reads_well() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php");
    sandbox.write("shop/wp-includes/version.php", "<?php\n$wp_version = '6.4.3';\n");
    let output =
        finish(sandbox.stampede(&["init", "--app", "./shop", "--out", "my shop.yaml"]), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = std::fs::read_to_string(sandbox.path().join("my shop.yaml")).expect("the plan");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    // The runtimes and the number of CPUs depend on the machine.
    let (head, rest) = text.split_once("runtimes:\n").expect("runtimes");
    let (runtimes, rest) = rest.split_once("  # One with settings").expect("variants");
    assert!(runtimes.lines().all(|line| line.starts_with("  - ") || line.starts_with("  # ")));
    let first = runtimes.split_whitespace().nth(1).expect("a runtime");
    let rest = rest.replace(first, "FIRST");
    let cpus = rest.find("cpus: ").expect("a budget") + "cpus: ".len();
    let rest = rest[..cpus].to_owned() + "N" + rest[cpus..].trim_start_matches(char::is_numeric);
    assert_words!("plan", format!("{head}runtimes:\n  …\n  # One with settings{rest}"));
}

/// A project whose compose file cannot be proposed was only told that its packages are missing.
#[test]
fn compose_files_without_a_web_server_are_named() {
    let sandbox = Sandbox::new();
    sandbox.write("shop/compose.yaml", "services: {database: {image: postgres}}");
    sandbox.write("shop/public/notes.txt", "");
    let mut command = sandbox.stampede(&["init"]);
    command.current_dir(sandbox.path().join("shop"));
    let said = stderr(&finish(command, LIMIT));
    assert!(said.contains("stampede compare --compose compose.yaml --dry-run"), "{said}");
}
