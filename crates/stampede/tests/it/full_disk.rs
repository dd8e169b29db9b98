//! Tests that a full disk loses nothing that was measured, and that the message names the disk.

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Sandbox, finish, skipped, stderr, stdout};
use crate::words::code_or;

/// A shell in a mount namespace of its own, in which `./small` is a disk of 120 KiB: enough for one
/// trial and not for three.
const SMALL_DISK: &str = "mount -t tmpfs -o size=120k none small && exec \"$@\"";

#[test]
fn trials_before_the_disk_was_full_are_kept_and_shown() {
    let is_root = rustix::process::geteuid().is_root();
    if skipped(&["php", "unshare", "mount"]) || !is_root {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php echo 'shop';");
    sandbox.write("small/none", "");
    let words = ["compare", "--app", "./shop", "--runtimes", "php-builtin", "--concurrency", "1"];
    let quick = ["--for", "2s", "--warm-up", "0s", "--rounds", "6", "--out", "small/run"];
    let stampede = sandbox.stampede(&[&words[..], &quick].concat());
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", SMALL_DISK, "sh"]);
    command.arg(stampede.get_program()).args(stampede.get_args());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.current_dir(stampede.get_current_dir().expect("the sandbox"));
    command.envs(stampede.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = finish(command, Duration::from_secs(120));
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert!(out.contains("requests/s"), "what was measured is shown: {out}{err}");
    assert!(err.contains("small/run/trials/"), "{err}");
    let disk = code_or("hint: write", "free some space on the file system at `/");
    assert!(err.contains(disk) && err.contains("small"), "{err}");
    assert!(err.contains("kept"), "{err}");
}
