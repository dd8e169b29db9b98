//! Tests memory as the cause that limits a case: the kernel ends a process, memory is full, or
//! processes wait for it. Each is planted in a real runtime. The counterpart has more room, or only
//! page cache at the limit.

use crate::common;
use crate::common::why::WhyRun;
use crate::common::{Sandbox, skipped};

const MIB: u64 = 1 << 20;

/// Runs an app that holds `mb` MiB for `ms` and meanwhile reads a file of `file_mib`, pausing
/// `pause` microseconds after each MiB. `asks` is the query; each of the `users` has a worker. The
/// file is one large hole: it needs no disk, but its page cache is real. Each run has its own file,
/// because a file's page cache belongs to the run that read it first.
fn run(limit_mib: u64, file_mib: u64, users: u32, asks: &str) -> WhyRun {
    let sandbox = Sandbox::new();
    let file = sandbox.write("hole", "");
    let hole = std::fs::File::options().write(true).open(&file).expect("the file");
    hole.set_len(file_mib * MIB).expect("a hole");
    sandbox.write("app/app.yaml", "title: it holds and reads\nkind: script\ndocroot: public\n");
    let index = format!(
        "<?php
$held = str_repeat('x', ($_GET['mb'] ?? 0) << 20);
$until = hrtime(true) + 1e6 * ($_GET['ms'] ?? 0);
$file = fopen('{}', 'rb');
fseek($file, mt_rand(0, {file_mib} - 1) << 20);
while (hrtime(true) < $until) {{
    if (fread($file, 1 << 20) === '') rewind($file);
    if (isset($_GET['pause'])) usleep((int) $_GET['pause']);
}}
echo 'fine';
",
        file.display()
    );
    sandbox.write("app/public/index.php", &index);
    let plan = format!(
        "app: ./app
warm_up: 0s
workers: {users}
budget: {{cpus: 1, memory: {limit_mib}MiB}}
load: {{rush: {{concurrency: {users}, for: 2s, path: '/?{asks}'}}}}
runtimes: [{{it: {{use: nginx-fpm, php_ini: {{memory_limit: 1G}}}}}}]
"
    );
    WhyRun::alone(sandbox, &plan)
}

/// Whether the trials had a memory limit; prints it if not.
fn is_limited(run_result: &WhyRun) -> bool {
    let trials = common::trials(&run_result.sandbox);
    let limited = trials.iter().all(|trial| trial["isolation"]["memory_bytes"] != 0);
    if !limited {
        println!("SKIPPED: no memory limit can be set here");
    }
    limited
}

/// The highest reading, without page cache.
fn used_at_most(run_result: &WhyRun) -> u64 {
    let used = |roles: &serde_json::Value| {
        let roles = roles.as_object().expect("roles");
        roles.values().filter_map(|role| role["memory_bytes"].as_u64()).sum()
    };
    run_result.readings().iter().map(|row| used(&row["roles"])).max().expect("readings")
}

fn limit_hits(run_result: &WhyRun) -> u64 {
    run_result.readings().iter().filter_map(|row| row["memory_limit_hits"].as_u64()).sum()
}

/// The share as the cause computes it. `None`: this kernel has no PSI, or it is switched off.
fn stalled_share(run_result: &WhyRun) -> Option<f64> {
    let readings = run_result.readings();
    let watched: u64 = readings.iter().filter_map(|row| row["interval_ns"].as_u64()).sum();
    let of_machine = |row: &serde_json::Value| row["host"]["pressure_some_ns"]["memory"].as_u64();
    let stalled =
        readings.iter().map(|row| row["memory_stalled_ns"].as_u64().or_else(|| of_machine(row)));
    Some(stalled.sum::<Option<u64>>()? as f64 / watched as f64)
}

#[test]
#[ignore = "long: 30 s"]
fn insufficient_memory_is_reported() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let run_result = WhyRun::alone(
        Sandbox::new(),
        "app: memory
warm_up: 0s
budget: {cpus: 1, memory: 64MiB}
load:
  much: {concurrency: 6, for: 2s, path: '/?mb=24'}
runtimes:
  - crowded: {use: nginx-fpm, workers: 6}
  - fits: {use: nginx-fpm, workers: 1}
",
    );
    if !is_limited(&run_result) {
        return;
    }
    let (why, evidence) = run_result.found("crowded", "memory");
    assert_eq!(why["code"], "killed_for_memory", "{why}");
    assert_eq!(why["limit_bytes"], 64 * MIB, "{why}");
    assert!(evidence.contains("in use at most"), "{evidence}");
    run_result.silent("fits", "memory");
}

/// How much a stack holds beside its string depends on the machine; the run with room shows it.
#[test]
#[ignore = "long: 37 s"]
fn full_memory_is_reported_before_the_kernel_kills_anything() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    const LIMIT: u64 = 256;
    // Each request holds the memory for longer than the second between two readings.
    let holding = |limit, mb: u64| run(limit, 300, 1, &format!("ms=1500&mb={mb}"));
    let roomy = holding(4 * LIMIT, 200);
    if !is_limited(&roomy) {
        return;
    }
    roomy.silent("it", "memory");
    let used = used_at_most(&roomy) / MIB;
    let besides = used.checked_sub(200).expect("a reading while it was held");
    let full = holding(LIMIT, LIMIT * 975 / 1000 - besides);
    let (why, evidence) = full.found("it", "memory");
    let shown = full.shown("it");
    assert_eq!(why["code"], "stack_memory_full", "{shown}");
    assert!(why["limit_hits"].as_u64() > Some(0), "{shown}");
    assert!(evidence.contains("of 256 MiB in use at most"), "{evidence}");
    assert!(evidence.contains("the memory limit was reached "), "{evidence}");
    assert_eq!(full.case("it")["counts"]["failed"], serde_json::json!({}), "{shown}");
}

#[test]
#[ignore = "long: 21 s"]
fn waiting_for_pages_at_the_limit_is_reported() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    // With 128 MiB, the file does not fit beside the workers' memory, so they read it again and
    // again. There are six workers on one CPU, so that one of them is usually inside the kernel's
    // reclaim.
    let reading = |limit| run(limit, 120, 6, "ms=500&mb=12");
    let waits = reading(128);
    if !is_limited(&waits) {
        return;
    }
    let Some(share) = stalled_share(&waits) else {
        return println!("SKIPPED: this kernel has no pressure stall information");
    };
    let (why, evidence) = waits.found("it", "memory");
    let found = (&why["code"], &why["limit_bytes"]);
    assert_eq!(found, (&"waited_for_memory".into(), &(128 * MIB).into()), "{}", waits.shown("it"));
    let measured = why["share"].as_f64().expect("a share");
    assert!((measured - share).abs() < 1e-9, "{measured} instead of {share}");
    assert!(evidence.contains("the memory limit was reached "), "{evidence}");
    // What is held would not count as full.
    assert!(used_at_most(&waits) < 128 * MIB * 9 / 10, "{evidence}");
    reading(256).silent("it", "memory");
}

/// Reading files fills the rest of a limit with page cache, which costs nothing.
#[test]
#[ignore = "long: 13 s"]
fn page_cache_at_the_limit_is_no_lack_of_memory() {
    if skipped(&["nginx", "php-fpm"]) {
        return;
    }
    let slow = run(64, 300, 1, "ms=200&pause=15000");
    if !is_limited(&slow) {
        return;
    }
    assert!(limit_hits(&slow) > 0, "it never came to its limit: {:#?}", slow.readings());
    slow.silent("it", "memory");
}
