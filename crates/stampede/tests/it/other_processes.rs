//! Tests that a trial is suspect where other processes of the machine take the CPU, and that they are
//! named.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::{Sandbox, fact, finish, skipped, stderr, stdout, trials};
use crate::words::code_or;

/// A process that uses one CPU, for at most a minute.
struct Busy(Child);

impl Busy {
    fn begin() -> Busy {
        let mut command = Command::new("timeout");
        command.args(["60", "php", "-n", "-r", "while (true) {}"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        Busy(child.expect("`timeout` starts"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // `timeout` passes the signal on.
        let pid = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.0.wait();
    }
}

#[test]
fn other_processes_that_take_the_cpu_make_a_trial_suspect_and_are_named() {
    if skipped(&["php", "timeout"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php echo 'shop';");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let busy: Vec<Busy> = (0..cpus * 2).map(|_| Busy::begin()).collect();
    let words = ["compare", "--app", "./shop", "--runtimes", "php-builtin", "--concurrency", "1"];
    let quick = ["--duration", "2s", "--warm-up", "0s", "--rounds", "1"];
    let output = finish(sandbox.stampede(&[&words[..], &quick].concat()), Duration::from_secs(120));
    drop(busy);
    let printed = stdout(&output) + &stderr(&output);
    let said = code_or("other_processes", "while none was idle");
    assert!(printed.contains(said), "{printed}");
    let verdict = &trials(&sandbox)[0]["verdict"];
    assert_ne!(verdict["judged"], "valid", "{verdict:#}");
    // Other tests may use more.
    let largest = fact(&verdict["reasons"], "other_processes")["largest"].as_array();
    let is_named = largest.expect("names").iter().any(|one| one["name"] == "php");
    assert!(is_named, "{verdict:#}");
}
