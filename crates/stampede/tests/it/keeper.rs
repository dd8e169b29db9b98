//! Tests small real stacks: they are started, inspected, stopped and dropped, with every
//! combination of features that a machine may have.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use stampede_keeper::spec::{ContainersSpec, GroupMaker, ProcessSetSpec, RemovalCommand};

use stampede_keeper::{
    CgroupUse, Keeper, KeeperError, NamespaceUse, PidNamespace, ProcessSet, WorkingDirectory,
    Writable, capabilities, place_self, split_cpus, sweep_in,
};
use stampede_linux::mounts::Mounts;
use stampede_model::cpus::CpuCount;
use stampede_model::process_group::Accounting;
use stampede_model::time::Nanos;

use crate::keeper_support::{
    NOBODY, PROGRAM, Sandbox, is_root, namespaces, processes_of, wait_until,
};

/// Every combination of features that a machine may have.
const WAYS: [(NamespaceUse, CgroupUse); 4] = [
    (NamespaceUse::Allowed, CgroupUse::Allowed),
    (NamespaceUse::Forbidden, CgroupUse::Allowed),
    (NamespaceUse::Forbidden, CgroupUse::OnlyV1),
    (NamespaceUse::Forbidden, CgroupUse::Forbidden),
];

/// A script that writes its name when it gets SIGTERM.
fn says_bye(name: &str) -> String {
    format!("trap 'echo {name}; exit 7' TERM; echo up; while :; do sleep 0.01; done")
}

fn wait_for_log(sandbox: &Sandbox, text: &str, times: usize) {
    wait_until(|| sandbox.log_text().matches(text).count() >= times)
        .unwrap_or_else(|()| panic!("no {text:?} in {:?}", sandbox.log_text()));
}

/// Starts one `sh -c script` and returns its output.
fn output_of(sandbox: &Sandbox, script: &str) -> String {
    let stack = sandbox.stack(vec![sandbox.sh("php", script)]);
    let stack = ProcessSet::start(&stack, &sandbox.options).unwrap();
    wait_until(|| !stack.exited().is_empty()).expect("the script ends");
    stack.stop().unwrap();
    sandbox.log_text()
}

#[test]
fn processes_stop_in_reverse_order_in_every_way() {
    for (namespaces, cgroups) in WAYS {
        let sandbox = Sandbox::with(namespaces, cgroups);
        let mut spec = sandbox
            .stack(vec![sandbox.sh("php", &says_bye("php")), sandbox.sh("web", &says_bye("web"))]);
        spec.processes.iter_mut().for_each(|one| one.stop.grace = Nanos::from_secs(10));
        let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
        wait_for_log(&sandbox, "up", 2);
        let exits = stack.stop().unwrap();
        assert!(sandbox.log_text().ends_with("web\nphp\n"), "{}", sandbox.log_text());
        assert_eq!(exits.iter().map(|exit| exit.process).collect::<Vec<_>>(), [1, 0]);
        assert!(exits.iter().all(|exit| exit.code == Some(7)), "{exits:?}");
        assert_eq!(sandbox.left(), [""; 0], "{namespaces:?} {cgroups:?}");
    }
}

#[test]
fn only_the_first_processes_run_until_the_others_are_started() {
    for (namespaces, cgroups) in WAYS {
        let sandbox = Sandbox::with(namespaces, cgroups);
        let mut spec = sandbox.stack(vec![
            sandbox.sh("database", &says_bye("data")),
            sandbox.sh("php", &says_bye("php")),
        ]);
        spec.processes.iter_mut().for_each(|one| one.stop.grace = Nanos::from_secs(10));
        spec.first = 1;
        let mut stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
        wait_for_log(&sandbox, "up", 1);
        assert_eq!(stack.processes().len(), 1);
        stack.start_until(2).unwrap();
        wait_for_log(&sandbox, "up", 2);
        let roles: Vec<&str> = stack.processes().iter().map(|one| one.role.as_str()).collect();
        assert_eq!(roles, ["database", "php"]);
        let roots: Vec<usize> = stack.group().roles.iter().map(|role| role.roots.len()).collect();
        assert_eq!(roots, [1, 1]);
        stack.start_until(usize::MAX).expect("there are no others");
        let exits = stack.stop().unwrap();
        assert!(sandbox.log_text().ends_with("php\ndata\n"), "{}", sandbox.log_text());
        assert_eq!(exits.len(), 2, "{exits:?}");
        assert_eq!(sandbox.left(), [""; 0], "{namespaces:?} {cgroups:?}");
    }
}

#[test]
fn a_stack_that_waits_ends_without_its_others() {
    let sandbox = Sandbox::with(NamespaceUse::Allowed, CgroupUse::Allowed);
    let mut spec =
        sandbox.stack(vec![sandbox.sh("database", "exit 3"), sandbox.sh("php", "echo never")]);
    spec.first = 1;
    let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
    wait_until(|| !stack.exited().is_empty()).expect("it ends");
    assert_eq!(stack.stop().unwrap()[0].code, Some(3));
    assert_eq!((sandbox.log_text(), sandbox.left()), (String::new(), Vec::new()));
}

#[test]
fn a_stack_beside_another_ends_without_removing_the_directory() {
    let sandbox = Sandbox::with(NamespaceUse::Allowed, CgroupUse::Allowed);
    let keeper = Keeper::guard(&sandbox.id, &sandbox.work(), &sandbox.options).unwrap();
    let input = sandbox.work().join("input");
    fs::write(&input, "given").unwrap();
    let mut step = sandbox.sh("prepare", "cat; sleep 1000 & exit 0");
    step.input = Some(input.clone());
    let mut spec = sandbox.stack(vec![step]);
    spec.id += "-0";
    let beside = keeper.start_beside(&spec).unwrap();
    wait_until(|| !beside.exited().is_empty()).expect("it ends");
    beside.stop().unwrap();
    assert_eq!(sandbox.log_text(), "given");
    assert_eq!(processes_of(&spec.id), [""; 0], "what it started is gone with it");
    assert!(input.is_file());
    drop(keeper);
    assert!(!sandbox.work().exists());
}

#[test]
fn daemons_and_processes_that_ignore_signals_end_with_the_stack_in_every_way() {
    let script = "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 1000' &) ; sleep 1000 &
        echo up; while :; do sleep 1000; done";
    for (namespaces, cgroups) in WAYS {
        let sandbox = Sandbox::with(namespaces, cgroups);
        let spec = sandbox.stack(vec![sandbox.sh("php", script)]);
        let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
        wait_for_log(&sandbox, "up", 1);
        wait_until(|| processes_of(&sandbox.id).len() >= 5).expect("the tree grows");
        let exits = stack.stop().unwrap();
        assert_eq!(exits[0].signal, Some(libc::SIGKILL), "{exits:?}");
        assert_eq!(sandbox.left(), [""; 0], "{namespaces:?} {cgroups:?}");
    }
}

#[test]
fn dropping_ends_everything_in_every_way() {
    for (namespaces, cgroups) in WAYS {
        let sandbox = Sandbox::with(namespaces, cgroups);
        let mut spec =
            sandbox.stack(vec![sandbox.sh("php", "trap '' TERM; sleep 1000 & sleep 1000")]);
        // A forced end does not wait for the grace period.
        spec.processes[0].stop.grace = Nanos::from_secs(3600);
        drop(ProcessSet::start(&spec, &sandbox.options).unwrap());
        assert_eq!(sandbox.left(), [""; 0], "{namespaces:?} {cgroups:?}");
    }
}

#[test]
fn the_record_says_what_guards_the_stack() {
    let expected = ["pid-namespace", "cgroup-kill", "cgroup-freezer", "children"];
    for ((namespaces_use, cgroups), wanted) in WAYS.into_iter().zip(expected) {
        let sandbox = Sandbox::with(namespaces_use, cgroups);
        let spec = sandbox.stack(vec![sandbox.sh("php", "sleep 1000")]);
        let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
        let got = stack.isolation().process_group.clone();
        let possible = is_root() && namespaces() && Path::new("/sys/fs/cgroup/freezer").exists();
        match possible || wanted == "children" {
            true => assert_eq!(got, wanted),
            false => println!("not compared: {got} where a machine with all of it has {wanted}"),
        }
    }
}

#[test]
fn a_missing_program_is_named_and_nothing_is_left() {
    for (namespaces, cgroups) in WAYS {
        let sandbox = Sandbox::with(namespaces, cgroups);
        let spec = sandbox.stack(vec![
            sandbox.sh("php", "trap '' TERM; sleep 1000"),
            sandbox.process("web", "/nowhere/nginx", &[]),
        ]);
        let error = ProcessSet::start(&spec, &sandbox.options).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `/nowhere/nginx` of role `web`");
        let KeeperError::Program { source, .. } = &error else { panic!("{error:?}") };
        assert_eq!(source.raw_os_error(), Some(libc::ENOENT));
        assert_eq!(sandbox.left(), [""; 0]);
    }
}

#[test]
fn a_file_that_is_no_program_and_a_directory_that_is_not_there_are_named() {
    let sandbox = Sandbox::new();
    let file = sandbox.directory.path().join("plain");
    fs::write(&file, "text").unwrap();
    let spec = sandbox.stack(vec![sandbox.process("php", file.to_str().unwrap(), &[])]);
    let error = ProcessSet::start(&spec, &sandbox.options).unwrap_err();
    let KeeperError::Program { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(source.raw_os_error(), Some(libc::EACCES));

    let mut spec = sandbox.stack(vec![sandbox.sh("php", "sleep 1000")]);
    spec.processes[0].cwd = PathBuf::from("/nowhere");
    let error = ProcessSet::start(&spec, &sandbox.options).unwrap_err();
    assert_eq!(error.to_string(), "cannot use `/nowhere` for role `php`");
    assert_eq!(sandbox.left(), [""; 0]);
}

#[test]
fn a_process_that_ends_by_itself_is_reported() {
    let sandbox = Sandbox::new();
    let spec = sandbox.stack(vec![sandbox.sh("php", "exit 3"), sandbox.sh("web", "sleep 1000")]);
    let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
    wait_until(|| !stack.exited().is_empty()).expect("told");
    let exit = stack.exited()[0].clone();
    assert_eq!((exit.process, exit.role.as_str(), exit.code), (0, "php", Some(3)));
    assert!(stack.lost().is_none());
    assert_eq!(stack.stop().unwrap().len(), 2);
}

#[test]
fn a_process_gets_its_environment_and_nothing_else() {
    let sandbox = Sandbox::new();
    let out = output_of(&sandbox, "env | sort");
    let expected = format!(
        "PATH=/usr/bin:/bin\nPWD={}\nSTAMPEDE_STACK={}\n",
        sandbox.directory.path().display(),
        sandbox.id
    );
    assert_eq!(out.replace("_=/usr/bin/env\n", ""), expected);
}

#[test]
fn a_process_inherits_no_descriptor_and_no_signal_setting() {
    // A descriptor that a careless parent left open.
    let file = fs::File::open("/dev/null").unwrap();
    let leaked = rustix::io::dup(&file).unwrap();
    let sandbox = Sandbox::new();
    // Not `/proc/$$`: the shell's pid belongs to its namespace, but `/proc` shows the host's pids.
    let script = "ls /proc/self/fd; readlink /proc/self/fd/0
        grep -E '^Sig(Blk|Ign)' /proc/self/status";
    let out = output_of(&sandbox, script);
    drop(leaked);
    let none = "0000000000000000";
    // Descriptor 3 is the directory that `ls` reads.
    let expected = format!("0\n1\n2\n3\n/dev/null\nSigBlk:\t{none}\nSigIgn:\t{none}\n");
    assert_eq!(out, expected);
}

#[test]
fn pids_are_reported_as_the_host_sees_them() {
    let sandbox = Sandbox::new();
    let spec = sandbox.stack(vec![
        sandbox.process("php", "/bin/sleep", &["1001"]),
        sandbox.process("web", "/bin/sleep", &["1002"]),
    ]);
    let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
    for (process, seconds) in stack.processes().iter().zip(["1001", "1002"]) {
        let line = fs::read_to_string(format!("/proc/{}/cmdline", process.pid)).unwrap();
        assert_eq!(line, format!("/bin/sleep\0{seconds}\0"));
        assert_eq!(process.command, format!("/bin/sleep {seconds}"));
    }
    let group = stack.group();
    assert_eq!(group.roles.len(), 2);
    assert_eq!(group.roles[1].roots, [stack.processes()[1].pid]);
}

#[test]
fn the_stack_runs_on_its_cpus_only() {
    let split = split_cpus(1);
    let wanted = split.stack[0].to_string();
    for cgroups in [CgroupUse::Allowed, CgroupUse::OnlyV1, CgroupUse::Forbidden] {
        let sandbox = Sandbox::with(NamespaceUse::Allowed, cgroups);
        let script = "grep ^Cpus_allowed_list /proc/self/status; sleep 1000";
        let mut spec = sandbox.stack(vec![sandbox.sh("php", script)]);
        spec.cpus.clone_from(&split.stack);
        let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
        wait_for_log(&sandbox, "\n", 1);
        assert_eq!(sandbox.log_text().trim().rsplit('\t').next(), Some(wanted.as_str()));
        let record = stack.isolation();
        assert_eq!(record.cpus, split.stack);
        match cgroups {
            CgroupUse::Forbidden => assert_eq!(record.cpu_set, "affinity"),
            _ => println!("cpu set by {}", record.cpu_set),
        }
    }
}

#[test]
fn placing_ourselves_does_not_place_the_stack() {
    let own = |task: &str| {
        let status = fs::read_to_string(format!("/proc/self/{task}status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap();
        line.to_owned()
    };
    let before = own("");
    let split = split_cpus(0);
    place_self(&split.load).unwrap();
    if split.load.len() == 1 {
        assert_eq!(own("").rsplit('\t').next(), Some(split.load[0].to_string().as_str()));
    }
    // A second call divides the same CPUs, not the remaining ones.
    assert_eq!(split_cpus(0), split);
    let sandbox = Sandbox::new();
    assert_eq!(output_of(&sandbox, "grep ^Cpus_allowed_list /proc/self/status").trim(), before);
}

#[test]
fn a_stack_over_its_memory_limit_is_ended_by_the_kernel() {
    let sandbox = Sandbox::new();
    // `tail` must hold a line that never ends, so its memory grows.
    let mut spec =
        sandbox.stack(vec![sandbox.sh("php", "head -c 300000000 /dev/zero | tail -n 1 | wc -c")]);
    spec.memory_bytes = 64 << 20;
    let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
    if stack.isolation().memory_limit == "none" {
        println!("skipped: no memory limit here");
        return;
    }
    assert_eq!(stack.isolation().memory_bytes, 64 << 20);
    wait_until(|| !stack.exited().is_empty()).expect("it ends");
    assert!(!sandbox.log_text().contains("300000000"), "{}", sandbox.log_text());
    stack.stop().unwrap();
    assert_eq!(sandbox.left(), [""; 0]);
}

#[test]
fn figures_of_a_role_are_counted_in_its_own_group() {
    let sandbox = Sandbox::new();
    let spec =
        sandbox.stack(vec![sandbox.sh("php", "while :; do :; done"), sandbox.sh("web", "sleep 9")]);
    let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
    let group = stack.group();
    let directory = |role: usize| match &group.roles[role].accounting {
        Accounting::CgroupV2(directory) => Some(directory.clone()),
        Accounting::CgroupV1 { cpuacct, memory } => cpuacct.clone().or_else(|| memory.clone()),
        Accounting::Proc | Accounting::Ssh { .. } => None,
    };
    let (Some(php), Some(web)) = (directory(0), directory(1)) else {
        println!("skipped: no cgroups here");
        return;
    };
    for (directory, process) in [php, web].iter().zip(stack.processes()) {
        let members = fs::read_to_string(directory.join("cgroup.procs")).unwrap();
        assert!(members.lines().any(|line| line == process.pid.to_string()), "{members}");
    }
}

#[test]
fn a_process_runs_as_another_user() {
    if !is_root() {
        println!("skipped: only root can");
        return;
    }
    let sandbox = Sandbox::new();
    let mut process = sandbox.sh("php", "id -u; id -G; grep NoNewPrivs /proc/self/status");
    process.user = Some(NOBODY);
    let stack = ProcessSet::start(&sandbox.stack(vec![process]), &sandbox.options).unwrap();
    wait_until(|| !stack.exited().is_empty()).expect("it ends");
    assert_eq!(sandbox.log_text(), "65534\n65534\nNoNewPrivs:\t1\n");
}

#[test]
fn an_environment_larger_than_the_socket_arrives() {
    let sandbox = Sandbox::new();
    let mut process = sandbox.sh("php", "echo $BIG6 | wc -c");
    // Linux accepts at most 128 KiB per string.
    for number in 0..7 {
        process.env.insert(format!("BIG{number}"), "x".repeat(100_000));
    }
    let stack = ProcessSet::start(&sandbox.stack(vec![process]), &sandbox.options).unwrap();
    wait_until(|| !stack.exited().is_empty()).expect("it ends");
    assert_eq!(sandbox.log_text(), "100001\n");
}

#[test]
fn two_stacks_live_side_by_side_and_one_id_only_once() {
    let (one, two) = (Sandbox::new(), Sandbox::new());
    let first =
        ProcessSet::start(&one.stack(vec![one.sh("php", "sleep 1000")]), &one.options).unwrap();
    let again = ProcessSet::start(&one.stack(vec![one.sh("php", "sleep 1000")]), &one.options);
    assert!(matches!(again, Err(KeeperError::InUse(_))));
    let second =
        ProcessSet::start(&two.stack(vec![two.sh("php", "sleep 1000")]), &one.options).unwrap();
    first.stop().unwrap();
    assert!(second.exited().is_empty());
    second.stop().unwrap();
    one.assert_nothing_left("both stopped");
    two.assert_nothing_left("both stopped");
}

#[test]
fn a_kept_working_directory_stays_and_a_reserved_one_goes() {
    let mut sandbox = Sandbox::new();
    sandbox.options.work = WorkingDirectory::Keep;
    let spec = sandbox.stack(vec![sandbox.sh("php", "sleep 1000")]);
    ProcessSet::start(&spec, &sandbox.options).unwrap().stop().unwrap();
    assert!(sandbox.work().exists());
    fs::remove_dir(sandbox.work()).unwrap();

    sandbox.options.work = WorkingDirectory::Remove;
    let guard = || Keeper::guard(&sandbox.id, &sandbox.work(), &sandbox.options).unwrap();
    let keeper = guard();
    fs::write(sandbox.work().join("rendered.conf"), "x").unwrap();
    // The directory belongs to a living process, so no sweep removes it.
    assert!(sweep_in(&sandbox.options.journal).unwrap().stacks.is_empty());
    keeper.start(&spec).unwrap().stop().unwrap();
    assert_eq!(sandbox.left(), [""; 0]);

    let keeper = guard();
    fs::write(sandbox.work().join("rendered.conf"), "x").unwrap();
    drop(keeper);
    assert_eq!(sandbox.left(), [""; 0]);
}

#[test]
fn a_working_directory_that_cannot_be_made_is_named() {
    let sandbox = Sandbox::new();
    let mut spec = sandbox.stack(vec![sandbox.sh("php", "sleep 1000")]);
    fs::write(sandbox.directory.path().join("file"), "").unwrap();
    spec.work = sandbox.directory.path().join("file/work");
    let error = ProcessSet::start(&spec, &sandbox.options).unwrap_err();
    assert!(matches!(error, KeeperError::Directory { .. }), "{error:?}");
    assert_eq!(sandbox.left(), [""; 0]);
}

#[test]
fn ids_that_could_leave_the_directory_are_refused() {
    let sandbox = Sandbox::new();
    for id in ["", "../x", "a/b", ".hidden", "a b", &"x".repeat(65)] {
        let mut spec = sandbox.stack(Vec::new());
        spec.id = id.to_owned();
        assert!(
            matches!(ProcessSet::start(&spec, &sandbox.options), Err(KeeperError::BadId(_))),
            "{id}"
        );
    }
}

#[test]
fn an_idle_keeper_and_init_use_no_cpu() {
    let sandbox = Sandbox::new();
    let spec = sandbox.stack(vec![sandbox.sh("php", "sleep 1000")]);
    let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
    // Counts the context switches of an idle process, not time, so that a busy machine changes
    // nothing.
    let switches = |pid: u32| -> u64 {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let counts = status.lines().filter(|line| line.contains("voluntary_ctxt_switches"));
        counts.map(|line| line.rsplit('\t').next().unwrap().parse::<u64>().unwrap()).sum()
    };
    let pids = [stack.keeper_pid(), stack.init_pid()];
    std::thread::sleep(Duration::from_millis(50));
    let before = pids.map(switches);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(pids.map(switches), before);
}

#[test]
fn capabilities_agree_with_what_a_stack_gets() {
    let found = capabilities(Path::new(PROGRAM));
    println!("{found:#?}");
    let sandbox = Sandbox::new();
    let mut spec = sandbox.stack(vec![sandbox.sh("php", "sleep 1000")]);
    spec.memory_bytes = 64 << 20;
    let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
    let by = |name: &str| match found.controllers.iter().find(|one| one.name == name) {
        Some(one) => match one.writable {
            Writable::By(version) => version,
            Writable::No => "none",
        },
        None => "none",
    };
    assert_eq!(stack.isolation().memory_limit, by("memory"));
    let namespaced = found.pid_namespace != PidNamespace::No;
    assert_eq!(stack.isolation().process_group == "pid-namespace", namespaced);
}

/// The times are printed and not checked, because they depend on other work on the machine.
#[test]
fn the_time_of_a_start_and_a_stop_is_printed() {
    for (namespaces, cgroups) in WAYS {
        let sandbox = Sandbox::with(namespaces, cgroups);
        let spec = sandbox.stack(vec![sandbox.process("php", "/bin/sleep", &["1000"])]);
        let begin = Instant::now();
        let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
        let started = begin.elapsed();
        stack.stop().unwrap();
        println!("{namespaces:?} {cgroups:?}: start {started:?}, both {:?}", begin.elapsed());
    }
}

#[test]
fn shared_memory_is_the_stacks_own_and_goes_with_it() {
    if !namespaces() {
        println!("skipped: no PID namespaces here");
        return;
    }
    let sandbox = Sandbox::new();
    let name = format!("stampede-test-{}", std::process::id());
    let text = output_of(&sandbox, &format!("echo here >/dev/shm/{name} && cat /dev/shm/{name}"));
    assert_eq!(text, "here\n");
    assert!(!Path::new("/dev/shm").join(name).exists(), "it is not the machine's");
}

/// A stack of containers: a process that something else starts in the role's group, below it, as an
/// engine does. The removal ends it.
#[test]
fn groups_of_containers_are_at_the_top_and_are_removed_after_them() {
    if !is_root() {
        println!("SKIPPED: not root");
        return;
    }
    let mut makers = vec![GroupMaker::Keeper];
    match stampede_keeper::reaches_systemd() {
        true => makers.push(GroupMaker::Systemd),
        false => println!("SKIPPED: slices, there is no systemd here"),
    }
    let ends = ["stop", "drop", "kill"].into_iter();
    for (end, groups) in ends.flat_map(|end| makers.iter().map(move |maker| (end, *maker))) {
        let sandbox = Sandbox::new();
        let [pids, removed] = ["pids", "removed"].map(|name| sandbox.directory.path().join(name));
        let containers = Some(containers(groups, [&pids, &removed]));
        let spec = ProcessSetSpec {
            containers,
            cpus: vec![0],
            memory_bytes: 64 << 20,
            cpu_quota: (end != "drop").then(|| CpuCount::of_thousandths(500)),
            ..sandbox.stack(Vec::new())
        };
        let stack = ProcessSet::start(&spec, &sandbox.options).unwrap();
        let Some(group) = stack.container_group("web") else {
            println!("SKIPPED: no cgroups can be made here");
            return;
        };
        let group = group.strip_prefix("/").unwrap();
        let tops: Vec<PathBuf> =
            Mounts::tops().into_iter().filter(|top| top.join(group).is_dir()).collect();
        assert!(!tops.is_empty(), "{}", group.display());
        // On v1 an engine looks for the group in the hierarchy of each of its controllers.
        let of_containers = Mounts::read_for_containers().v1;
        assert!(of_containers.iter().all(|mount| tops.contains(&mount.top)), "{tops:?}");
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        for top in &tops {
            let own = top.join(group).join("container");
            fs::create_dir(&own).unwrap();
            let cpuset = ["cpuset.mems", "cpuset.cpus"].map(|file| own.join(file));
            for file in cpuset.iter().filter(|file| file.exists()) {
                let above = own.parent().unwrap().join(file.file_name().unwrap());
                fs::write(file, fs::read_to_string(above).unwrap()).unwrap();
            }
            fs::write(own.join("cgroup.procs"), child.id().to_string()).unwrap();
        }
        fs::write(&pids, child.id().to_string()).unwrap();
        assert_eq!(pids_in_groups(&stack), [child.id()], "{end}");
        let isolation = stack.isolation().clone();
        assert_eq!(isolation.memory_bytes, 64 << 20, "{isolation:?}");
        let cpus = isolation.cpus_by_role.get("web").map(Vec::as_slice);
        assert!(isolation.cpu_set.starts_with("cgroup-v") && cpus == Some(&[0]), "{isolation:?}");
        let quota = isolation.cpu_quota.as_deref();
        assert!(quota.is_none_or(|by| by == isolation.cpu_set), "{isolation:?}");
        match end {
            "stop" => drop(stack.stop().unwrap()),
            "drop" => drop(stack),
            _ => {
                // The keeper is killed: this process sees its end and removes everything.
                let keeper = rustix::process::Pid::from_raw(stack.keeper_pid() as i32).unwrap();
                rustix::process::kill_process(keeper, rustix::process::Signal::KILL).unwrap();
                wait_until(|| stack.lost().is_some()).unwrap();
                drop(stack);
            }
        }
        // It may have been reaped already, as an orphan of the keeper would be.
        let _ = child.wait();
        sandbox.assert_nothing_left(end);
        let tries = fs::read_to_string(&removed).unwrap().lines().count();
        assert!((1..=2).contains(&tries), "{end}: {tries}");
    }
}

/// The containers of a stack, whose removal kills those in the file `pids` and adds a line to `removed`.
fn containers(groups: GroupMaker, [pids, removed]: [&PathBuf; 2]) -> ContainersSpec {
    let script = "[ ! -f \"$0\" ] || kill -9 $(cat \"$0\"); rm -f \"$0\"; echo x >> \"$1\"";
    let removal = RemovalCommand {
        program: "/bin/sh".into(),
        args: ["-c", script, pids.to_str().unwrap(), removed.to_str().unwrap()]
            .map(str::to_owned)
            .into(),
        env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
        within: Nanos::from_secs(10),
    };
    ContainersSpec { roles: vec!["web".to_owned()], groups, removal }
}

/// The pids in the groups of a stack's roles, and in groups below them.
fn pids_in_groups(stack: &ProcessSet) -> Vec<u32> {
    let group = stack.group();
    let directory = match &group.roles[0].accounting {
        Accounting::CgroupV2(directory) => directory.clone(),
        Accounting::CgroupV1 { cpuacct, memory } => cpuacct.clone().or(memory.clone()).unwrap(),
        Accounting::Proc | Accounting::Ssh { .. } => panic!("no group"),
    };
    stampede_linux::cgroup::pids_with_below(&directory)
}
