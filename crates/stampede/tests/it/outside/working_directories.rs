//! Tests that whatever stampede creates in a directory that others can write to is new, its own,
//! and has a name that nobody can guess.

use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use crate::common::{Sandbox, finish, skipped, stderr, stdout};
use crate::words::code_or;

/// Far longer than any of these runs takes.
const LIMIT: Duration = Duration::from_secs(120);

/// The entries of the directory for working directories.
fn made(sandbox: &Sandbox) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(sandbox.tmp()).expect("the directory for working directories");
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// Leaves out the journal's directory, which is checked at each use.
fn working_directories(sandbox: &Sandbox) -> Vec<PathBuf> {
    made(sandbox)
        .into_iter()
        .filter(|path| path.file_name().is_some_and(|name| name != "stampede"))
        .collect()
}

/// Asserts that it is our own, closed to all but the stack's user, and has 128 random bits in its
/// name.
fn is_private(directory: &Path) {
    let meta = std::fs::symlink_metadata(directory).expect("its facts");
    let shown = directory.display();
    assert!(meta.is_dir(), "{shown}");
    assert_eq!(meta.uid(), rustix::process::geteuid().as_raw(), "{shown}");
    // As root, the directory lets the stack's user pass. Nobody else may list it or write to it.
    let most = if rustix::process::geteuid().is_root() { 0o711 } else { 0o700 };
    assert_eq!(meta.mode() & 0o7777 & !most, 0, "{shown} has mode {:o}", meta.mode());
    let name = directory.file_name().expect("a name").to_string_lossy().into_owned();
    let digits = name.rsplit('-').next().unwrap_or_default();
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(name.starts_with("stampede-") && digits.len() == 32 && is_hex, "{name}");
}

/// Starts a runtime; it is ready once it prints its URL.
fn up(sandbox: &Sandbox) -> Child {
    let mut child = sandbox
        .stampede(&["up", "nginx-fpm", "--app", "hello", "--json"])
        .spawn()
        .expect("up starts");
    let mut bytes = [0; 4096];
    let out = child.stdout.as_mut().expect("stdout");
    let count = out.read(&mut bytes).expect("what up says");
    assert!(count > 0, "up ended");
    child
}

fn end(child: Child) {
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("a signal");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn working_directories_are_private_and_no_two_share_one() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let children = [up(&sandbox), up(&sandbox)];
    let directories = working_directories(&sandbox);
    assert_eq!(directories.len(), 2, "{directories:?}");
    directories.iter().for_each(|directory| is_private(directory));
    children.into_iter().for_each(end);
    assert!(sandbox.left_behind().is_empty(), "{:?}", sandbox.left_behind());
}

#[test]
fn a_temporary_directory_that_is_a_link_is_fine() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    symlink(sandbox.tmp(), sandbox.path().join("link")).expect("a link");
    let args = [
        "compare",
        "--app",
        "hello",
        "--runtimes",
        "nginx-fpm",
        "--concurrency",
        "1",
        "--for",
        "1s",
    ];
    let mut command =
        sandbox.stampede(&[&args[..], &["--warm-up", "0s", "--rounds", "1"]].concat());
    command.env("TMPDIR", sandbox.path().join("link"));
    let output = finish(command, LIMIT);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}{}", stdout(&output), stderr(&output));
}

fn git(sandbox: &Sandbox, args: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(sandbox.path().join("shop")).env("HOME", sandbox.path());
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let who =
        ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"];
    let output = git.args(who).args(args).output().expect("git starts");
    assert!(output.status.success(), "git {args:?}: {}", stderr(&output));
}

/// A repository with a commit in which `var` is a link to a directory outside. In its working tree,
/// `var` is a directory with a file that git ignores.
fn shop_with_a_link_to(sandbox: &Sandbox, target: &Path) {
    sandbox.write("shop/public/index.php", "<?php echo 'fine';");
    sandbox.write("shop/.gitignore", "/var/x\n/.env.local\n");
    git(sandbox, &["init", "--quiet"]);
    symlink(target, sandbox.path().join("shop/var")).expect("a link");
    git(sandbox, &["add", "--all"]);
    git(sandbox, &["commit", "--quiet", "--message", "a link"]);
    git(sandbox, &["tag", "linked"]);
    std::fs::remove_file(sandbox.path().join("shop/var")).expect("the link");
    sandbox.write("shop/var/kept", "kept");
    git(sandbox, &["add", "--all"]);
    git(sandbox, &["commit", "--quiet", "--message", "a directory"]);
    sandbox.write("shop/var/x", "of the working tree");
}

#[test]
fn against_copies_nothing_through_a_link_of_the_other_version() {
    if skipped(&["git", "nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let out = sandbox.path().join("out");
    std::fs::create_dir(&out).expect("a directory");
    shop_with_a_link_to(&sandbox, &out);
    let args = [
        "compare",
        "--app",
        "./shop",
        "--runtimes",
        "nginx-fpm",
        "--concurrency",
        "1",
        "--for",
        "1s",
    ];
    let more = ["--warm-up", "0s", "--against", "linked", "--dry-run"];
    let output = finish(sandbox.stampede(&[&args[..], &more].concat()), LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    let printed = stderr(&output);
    assert!(printed.contains(code_or("through_link", "`var/x`")), "{printed}");
    assert!(printed.contains(code_or("through_link", "link `var`")), "{printed}");
    assert!(printed.contains(code_or("hint: app", "is a symbolic link")), "{printed}");
    assert_eq!(std::fs::read_dir(&out).expect("it is there").count(), 0);
    assert!(sandbox.left_behind().is_empty(), "{:?}", sandbox.left_behind());
}

#[test]
#[ignore = "long: 11 s"]
fn the_copies_of_another_version_are_private_too() {
    if skipped(&["git", "nginx", "php-fpm"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", "<?php echo 'fine';");
    git(&sandbox, &["init", "--quiet"]);
    git(&sandbox, &["add", "--all"]);
    git(&sandbox, &["commit", "--quiet", "--message", "first"]);
    // The command that prepares the copy reports where the copy is. Where stampede is root, another
    // user runs it.
    let open = sandbox.path().join("open");
    std::fs::create_dir(&open).expect("a directory");
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .expect("everybody's");
    let looked = open.join("looked");
    let script = format!("cd ../.. && pwd > {0} && stat -c %a . 0 > {0}.modes", looked.display());
    let args = [
        "compare",
        "--app",
        "./shop",
        "--runtimes",
        "nginx-fpm",
        "--concurrency",
        "1",
        "--for",
        "1s",
    ];
    let more =
        ["--rounds", "1", "--warm-up", "0s", "--against", "HEAD", "--against-prepare", &script];
    let output = finish(sandbox.stampede(&[&args[..], &more].concat()), LIMIT);
    assert!(looked.is_file(), "{}{}", stdout(&output), stderr(&output));
    let directory = std::fs::read_to_string(&looked).expect("where");
    let name =
        Path::new(directory.trim()).file_name().expect("a name").to_string_lossy().into_owned();
    let digits = name.strip_prefix("stampede-against-").expect("whose it is");
    assert!(digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    let modes = std::fs::read_to_string(open.join("looked.modes")).expect("modes");
    let passed = if rustix::process::geteuid().is_root() { "711" } else { "700" };
    assert!(modes.lines().count() == 2 && modes.lines().all(|mode| mode == passed), "{modes}");
}
