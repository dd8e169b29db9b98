//! Tests the monitor against real processes. All bounds come from readings taken around the
//! monitor's own, never from assumptions about this machine.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use stampede_linux::cgroup::keyed;
use stampede_linux::process;
use stampede_model::process_group::{Accounting, ProcessGroup, RoleGroup};
use stampede_model::sample::{ResourceSample, RoleSample};
use stampede_model::time::Nanos;
use stampede_monitor::Monitor;

/// A child process that is killed and waited for on drop.
struct ChildGuard(Child);

impl ChildGuard {
    fn shell(script: &str) -> ChildGuard {
        let child = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn();
        ChildGuard(child.expect("sh starts"))
    }

    /// User and system time as the kernel counts them, in ns.
    fn cpu_ns(&self) -> u64 {
        let ticks = process::stat(self.0.id()).expect("it lives").own_ticks;
        ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second()
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn group(accounting: Accounting, roots: Vec<u32>) -> ProcessGroup {
    ProcessGroup { roles: vec![RoleGroup { role: "php".to_owned(), accounting, roots }] }
}

fn php(rows: &[ResourceSample]) -> impl Iterator<Item = &RoleSample> {
    rows.iter().map(|row| &row.roles["php"])
}

/// Waits until a condition holds; fails the test after ten seconds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(10), "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_busy_process_is_charged_what_the_kernel_charges_it() {
    let busy = ChildGuard::shell("while :; do :; done");
    let (send, rows_seen) = channel();
    let before_watching = busy.cpu_ns();
    let sink = move |row| drop(send.send(row));
    let roots = vec![busy.0.id()];
    let monitor = Monitor::watch(group(Accounting::Proc, roots), Nanos::from_millis(50), sink)
        .expect("watch");
    let inside_from = busy.cpu_ns();
    until("it was busy for 100 ms", || busy.cpu_ns() >= inside_from + 100_000_000);
    let inside_to = busy.cpu_ns();
    let rows = monitor.finish().expect("finish");
    let after_watching = busy.cpu_ns();

    let charged: u64 = php(&rows).map(|role| role.cpu_ns).sum();
    // The kernel counts in clock ticks, and rounds user and system time down separately.
    let rounding = 20_000_000;
    let bounds = inside_to - inside_from - rounding..=after_watching - before_watching + rounding;
    assert!(bounds.contains(&charged), "{charged} is not in {bounds:?}");
    assert!(php(&rows).all(|role| (role.processes, role.started) == (1, 0)));
    let last = php(&rows).last().expect("the last, partial one is always there");
    assert!(last.memory_read && last.memory_bytes > 0, "{last:?}");
    assert_eq!(rows_seen.iter().collect::<Vec<_>>(), rows);

    // The intervals cover the time from the start to the last row without gaps.
    let tiled: u64 = rows.iter().map(|row| row.interval_ns).sum();
    assert_eq!(tiled, rows.last().expect("a row").at_ns);
}

#[test]
fn restarts_are_seen() {
    let parent = ChildGuard::shell("while :; do sleep 0.05; done");
    let (send, rows_seen) = channel();
    let sink = move |row: ResourceSample| {
        let _ = send.send(row.roles["php"].started);
    };
    let roots = vec![parent.0.id()];
    let monitor = Monitor::watch(group(Accounting::Proc, roots), Nanos::from_millis(10), sink)
        .expect("watch");
    let mut started = 0;
    until("three restarts", || {
        started += rows_seen.try_iter().sum::<u32>();
        started >= 3
    });
    let rows = monitor.finish().expect("finish");
    assert!(php(&rows).all(|role| (1..=2).contains(&role.processes)), "{rows:?}");
}

/// A cgroup of the test, removed on drop.
struct TestCgroup(PathBuf);

impl TestCgroup {
    fn create(hierarchy: &str) -> Option<TestCgroup> {
        let directory =
            PathBuf::from(hierarchy).join(format!("stampede-test-{}", std::process::id()));
        fs::create_dir(&directory).ok().map(|()| TestCgroup(directory))
    }
}

impl Drop for TestCgroup {
    fn drop(&mut self) {
        // The process was just waited for, but the kernel may need a moment to release the group.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_real_cgroup_v1_role() {
    let cpuacct = TestCgroup::create("/sys/fs/cgroup/cpuacct");
    let memory = TestCgroup::create("/sys/fs/cgroup/memory");
    let (Some(cpuacct), Some(memory)) = (cpuacct, memory) else {
        println!("skipped: no cgroup v1 directory can be made here");
        return;
    };
    let usage = || -> u64 {
        let text = fs::read_to_string(cpuacct.0.join("cpuacct.usage")).expect("a counter");
        text.trim().parse().expect("a number")
    };
    let accounting =
        Accounting::CgroupV1 { cpuacct: Some(cpuacct.0.clone()), memory: Some(memory.0.clone()) };
    let rows = busy_in_a_cgroup(&[&cpuacct, &memory], accounting, &usage);
    // v1 charges memory where it was allocated, so a process that was moved may have none here.
    assert!(php(&rows).all(|role| role.memory_read));
}

#[test]
fn a_real_cgroup_v2_role() {
    let trees = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
    let tree =
        trees.into_iter().find(|tree| PathBuf::from(tree).join("cgroup.controllers").exists());
    let Some(directory) = tree.and_then(TestCgroup::create) else {
        println!("skipped: no cgroup v2 directory can be made here");
        return;
    };
    // Without the memory controller, the processes' own memory is read, at least at both ends.
    let by_cgroup = directory.0.join("memory.stat").exists();
    let usage = || -> u64 {
        let text = fs::read_to_string(directory.0.join("cpu.stat")).expect("a counter");
        keyed(&text, "usage_usec").expect("the kernel's cgroup-v2.rst") * 1_000
    };
    let accounting = Accounting::CgroupV2(directory.0.clone());
    let rows = busy_in_a_cgroup(&[&directory], accounting, &usage);
    assert!(php(&rows).all(|role| role.memory_read || !by_cgroup));
    assert!(php(&rows).last().is_some_and(|role| role.memory_read && role.memory_bytes > 0));
}

/// Rows of a busy process that is moved into these directories. Its CPU time must lie between the
/// values of `usage` taken inside and around the rows.
fn busy_in_a_cgroup(
    directories: &[&TestCgroup],
    accounting: Accounting,
    usage: &dyn Fn() -> u64,
) -> Vec<ResourceSample> {
    let busy = ChildGuard::shell("while :; do :; done");
    for directory in directories {
        fs::write(directory.0.join("cgroup.procs"), busy.0.id().to_string()).expect("it moves");
    }
    let before = usage();
    let roots = vec![busy.0.id()];
    let monitor =
        Monitor::watch(group(accounting, roots), Nanos::from_millis(50), |_| {}).expect("watch");
    let inside_from = usage();
    until("it was busy for 50 ms", || usage() >= inside_from + 50_000_000);
    let inside_to = usage();
    let rows = monitor.finish().expect("finish");
    let charged: u64 = php(&rows).map(|role| role.cpu_ns).sum();
    let bounds = inside_to - inside_from..=usage() - before;
    assert!(bounds.contains(&charged), "{charged} is not in {bounds:?}");
    assert!(php(&rows).all(|role| role.processes == 1));
    rows
}

/// The rule is 1 % of a CPU with one reading a second. The limit here is 5 %, because a shared
/// machine also charges the monitor for cold caches.
#[test]
fn watching_sixteen_processes_costs_little() {
    let sleepers: Vec<ChildGuard> = (0..16).map(|_| ChildGuard::shell("exec sleep 60")).collect();
    let roots = sleepers.iter().map(|sleeper| sleeper.0.id()).collect();
    let (send, rows_seen) = channel();
    let sink = move |_| {
        let _ = send.send(());
    };
    let monitor = Monitor::watch(group(Accounting::Proc, roots), Nanos::from_millis(50), sink)
        .expect("watch");
    for _ in 0..20 {
        rows_seen.recv_timeout(Duration::from_secs(10)).expect("a row");
    }
    let rows = monitor.finish().expect("finish");
    let spent: u64 = rows.iter().map(|row| row.own.monitor_cpu_ns).sum();
    let share = spent as f64 / rows.len() as f64 / 1e9;
    println!("one reading a second of 16 processes in /proc costs {:.3} % of a CPU", share * 100.0);
    assert!(share < 0.05, "{share}");
}
