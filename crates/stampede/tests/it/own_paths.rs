//! Tests that an app which names its own directory by whole paths reads and writes its copy.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use stampede_plan::model::AppChoice;

use crate::bench_support::Bench;
use crate::common::{Sandbox, finish, skipped, stderr, stdout, summary};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(120);
const QUICK: [&str; 6] = ["--concurrency", "2", "--for", "1s", "--warm-up", "0s"];

/// Every file below a directory with its bytes.
fn seen(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for path in fs::read_dir(directory).expect("a directory").flatten().map(|entry| entry.path()) {
        match path.is_dir() {
            true => all.extend(seen(&path)),
            false => drop(all.insert(path.clone(), fs::read(&path).expect("bytes"))),
        }
    }
    all
}

/// A shop below `parent`, whose configuration has the shop's whole path, as installers write it. It
/// counts its visits in a file of that path.
fn shop(sandbox: &Sandbox, parent: &str) -> PathBuf {
    let directory = sandbox.path().join(parent).join("shop");
    let config =
        format!("<?php const DIR = '{}/'; const DATA = DIR . 'data/';\n", directory.display());
    let write = |name: &str, text: &str| sandbox.write(&format!("{parent}/shop/{name}"), text);
    write("config.php", &config);
    write("lib.php", "<?php function name() { return 'original ' . __DIR__; }\n");
    write("data/hits.log", "");
    write(
        "index.php",
        "<?php require 'config.php'; require DIR . 'lib.php';\n\
         file_put_contents(DATA . 'hits.log', \"hit\\n\", FILE_APPEND);\n\
         echo name(), ' ', __DIR__, ' hits: ', count(file(DATA . 'hits.log')) > 0 ? 'some' : 'none';\n",
    );
    for path in ["data", "data/hits.log"] {
        let mode = if path == "data" { 0o777 } else { 0o666 };
        fs::set_permissions(directory.join(path), fs::Permissions::from_mode(mode)).expect("mode");
    }
    directory
}

#[test]
fn whole_paths_in_a_configuration_lead_to_the_copy_on_every_runtime() {
    let sandbox = Sandbox::new();
    // One directory that everybody may pass, and one that only its owner may.
    fs::create_dir(sandbox.path().join("closed")).expect("directory");
    for (parent, mode) in [("open", 0o755), ("closed", 0o700)] {
        let directory = shop(&sandbox, parent);
        let parent = sandbox.path().join(parent);
        fs::set_permissions(&parent, fs::Permissions::from_mode(mode)).expect("mode");
        let before = seen(&directory);
        let bench = Bench::new(&AppChoice::directory(directory.clone()));
        let mut answered = 0;
        for name in bench.catalogue.runtime_names() {
            let Some(running) = bench.start(name, &[]) else { continue };
            let answer = running.ask(Duration::from_secs(10)).expect("an answer");
            let at = directory.display();
            assert_eq!(answer.body, format!("original {at} {at} hits: some"), "{name}");
            running.stop().expect("stop");
            answered += 1;
        }
        assert!(before == seen(&directory), "the original changed");
        eprintln!("{answered} runtimes answered");
    }
}

#[test]
fn a_path_that_would_need_quotes_is_served_from_the_copy_and_still_leads_to_it() {
    let sandbox = Sandbox::new();
    let directory = shop(&sandbox, "my shops");
    let before = seen(&directory);
    let bench = Bench::new(&AppChoice::directory(directory.clone()));
    let Some(running) = bench.start("php-builtin", &[]) else { return };
    let answer = running.ask(Duration::from_secs(10)).expect("an answer");
    assert!(
        answer.body.starts_with(&format!("original {} /", directory.display())),
        "{}",
        answer.body
    );
    assert!(!answer.body.ends_with("none"), "{}", answer.body);
    running.stop().expect("stop");
    assert!(before == seen(&directory), "the original changed");
}

/// Both versions name the working tree by its whole path; each serves its own files.
#[test]
#[ignore = "long: 11 s"]
fn another_version_with_whole_paths_serves_its_own_files() {
    if skipped(&["git", "php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let directory = shop(&sandbox, "repository");
    // The configuration is the server's own and in no version.
    sandbox.write("repository/shop/.gitignore", "config.php\ndata/\n");
    sandbox.write(
        "repository/shop/lib.php",
        "<?php function name() { usleep(20000); return 'slow'; }\n",
    );
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(&directory).env("HOME", sandbox.path());
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(args);
        assert!(git.status().expect("git starts").success(), "{args:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "slow"]);
    sandbox.write("repository/shop/lib.php", "<?php function name() { return 'fast'; }\n");
    let before = seen(&directory);
    let words =
        ["compare", "--app", directory.to_str().expect("text"), "--runtimes", "php-builtin"];
    let more = ["--against", "HEAD", "--rounds", "1"];
    let output = finish(sandbox.stampede(&[&words[..], &more, &QUICK].concat()), LIMIT);
    let printed = stdout(&output) + &stderr(&output);
    assert!(before == seen(&directory), "the working tree changed: {printed}");
    let summary = summary(&sandbox);
    let rate = |name: &str| {
        let cases = summary["cases"].as_array().expect("cases");
        let case = cases.iter().find(|case| case["runtime"] == name).expect("a case");
        let throughput = &case["throughput_per_second"]["value"];
        throughput.as_f64().unwrap_or_else(|| panic!("{name}: {case:#}"))
    };
    let (now, then) = (rate("php-builtin"), rate("php-builtin @HEAD"));
    // 20 ms for each request of two users are 100 requests/s at most.
    assert!(then <= 120.0 && now > 2.0 * then, "{now} and {then}: {printed}");
}

/// Where no mount is allowed, it is said which file leads to the original.
#[test]
fn without_mounts_the_file_that_names_the_directory_is_said() {
    if skipped(&["php", "unshare"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let directory = shop(&sandbox, "open");
    let words =
        ["compare", "--app", directory.to_str().expect("text"), "--runtimes", "php-builtin"];
    let own = sandbox.stampede(&[&words[..], &["--dry-run"]].concat());
    let mut command = Command::new("unshare");
    let forbid = "echo 0 > /proc/sys/user/max_mnt_namespaces && exec \"$@\"";
    command.args(["--user", "--map-root-user", "sh", "-c", forbid, "sh"]);
    command.arg(own.get_program()).args(own.get_args());
    for (name, value) in own.get_envs() {
        value.map(|value| command.env(name, value));
    }
    command.current_dir(own.get_current_dir().expect("a directory"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = finish(command, LIMIT);
    let printed = stdout(&output) + &stderr(&output);
    let said = code_or("note: own_paths", "config.php, line 1");
    assert!(printed.contains(said), "{printed}");
    let output = finish(sandbox.stampede(&[&words[..], &["--dry-run"]].concat()), LIMIT);
    let printed = stdout(&output) + &stderr(&output);
    assert!(!printed.contains(said), "{printed}");
}
