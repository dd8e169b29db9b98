//! Tests that a `/run` of 64 MB from which no program may run is enough, as Debian has it.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Sandbox, finish, skipped, stderr, stdout};

/// Gives the rest of the arguments a `/run` and a `/var/lib` of their own, and lists what is left there.
const SMALL_RUN: &str = "mount -t tmpfs -o size=64m,noexec,nosuid,nodev,mode=755 none /run && \
     mount -t tmpfs -o size=512m,mode=755 none /var/lib || exit 99; \"$@\"; code=$?; \
     find /run /var/lib -mindepth 1 > \"$LIST\"; exit $code";

#[test]
fn a_small_run_without_programs_is_enough() {
    let is_root = rustix::process::geteuid().is_root();
    if skipped(&["nginx", "php-fpm", "unshare", "mount"]) || !is_root {
        return;
    }
    let sandbox = Sandbox::new();
    let open = sandbox.path().join("open");
    std::fs::create_dir(&open).expect("a directory");
    std::fs::set_permissions(&open, std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .expect("everybody's");
    let told = open.join("told");
    let app = format!(
        "<?php @file_put_contents('{}', ini_get('session.save_path')); echo 'shop';",
        told.display()
    );
    sandbox.write("shop/index.php", &app);
    // Most of it does not fit into 64 MB.
    let large = std::fs::File::create(sandbox.path().join("shop/large")).expect("a file");
    large.set_len(80 << 20).expect("80 MiB");
    let args = ["compare", "--app", "./shop", "--runtimes", "nginx-fpm", "--concurrency", "1"];
    let load = ["--for", "1s", "--warm-up", "0s", "--rounds", "1", "--out", "run"];
    let stampede = sandbox.stampede(&[&args[..], &load].concat());
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", SMALL_RUN, "sh"]);
    command.arg(stampede.get_program()).args(stampede.get_args());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.current_dir(sandbox.path()).env("HOME", sandbox.path()).env("NO_COLOR", "1");
    for name in ["TMPDIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME"] {
        command.env_remove(name);
    }
    let listed = sandbox.path().join("listed");
    let output = finish(
        {
            command.env("LIST", &listed);
            command
        },
        Duration::from_secs(120),
    );
    let printed = stdout(&output) + &stderr(&output);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{printed}");
    let told = std::fs::read_to_string(&told).expect("the app told where it is");
    assert!(told.starts_with("/var/lib/stampede/stampede-"), "{told}");
    let left = std::fs::read_to_string(&listed).expect("what is left");
    // `mount` itself notes in /run what it has mounted.
    let others = ["/var/lib/stampede", "/run/mount", "/run/mount/utab", "/run/mount/utab.lock"];
    let left: Vec<&str> = left.lines().filter(|path| !others.contains(path)).collect();
    assert_eq!(left, [] as [&str; 0], "{printed}");
}
