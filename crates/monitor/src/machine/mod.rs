//! Describes the measuring machine: facts for the run's record, findings for `stampede doctor`.

pub mod facts;
pub mod findings;
pub mod parse;

pub(crate) use facts::cpus_and_clock;
pub use facts::{facts, facts_below};
pub use findings::{Level, MachineFinding, STEAL_MAX, findings, reads_without_a_system_call};

#[cfg(test)]
mod tests {
    use stampede_model::machine::MachineFacts;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_cpus_that_are_online_are_counted() {
        let clock = "sys/devices/system/clocksource/clocksource0/current_clocksource";
        let root = root(&[("sys/devices/system/cpu/online", "0-2,5\n"), (clock, "tsc\n")]);
        assert_eq!(cpus_and_clock(root.path()), (4, "tsc".to_owned()));
        assert_eq!(cpus_and_clock(Path::new("/nowhere")), (1, String::new()));
    }

    /// Returns a root directory with these files.
    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        files.iter().for_each(|(path, text)| put(root.path(), path, text));
        root
    }

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
        fs::write(path, text).expect("written");
    }

    fn rendered(facts: &MachineFacts) -> String {
        findings(facts).iter().map(|finding| format!("{finding}\n")).collect()
    }

    /// Four CPUs of bare metal, configured for measuring.
    const GOOD: &[(&str, &str)] = &[
        ("proc/sys/kernel/osrelease", "6.1.0-30-amd64\n"),
        ("etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n"),
        ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Good CPU\nflags\t\t: fpu tsc\n"),
        ("proc/meminfo", "MemTotal:  16000000 kB\nMemAvailable:  15000000 kB\n"),
        ("proc/self/status", "Name:\tstampede\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n"),
        ("proc/self/limits", "Max open files            65536      1048576    files\n"),
        ("proc/self/cgroup", "0::/user.slice\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"),
        ("proc/sys/net/ipv4/tcp_tw_reuse", "2\n"),
        ("proc/sys/net/core/somaxconn", "4096\n"),
        ("proc/loadavg", "0.08 0.03 0.01 1/200 4711\n"),
        ("proc/stat", "cpu  10 0 10 1000 0 0 0 0 0 0\n"),
        ("proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"),
        ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n"),
        ("sys/class/dmi/id/sys_vendor", "Some Vendor\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
        ("sys/devices/system/cpu/vulnerabilities/spectre_v1", "Mitigation: barriers\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ];

    /// A small, shared, busy virtual machine in a container, with its default configuration.
    const BAD: &[(&str, &str)] = &[
        ("proc/sys/kernel/osrelease", "4.15.0\n"),
        ("proc/cpuinfo", "model name\t: Bad CPU\nflags\t\t: fpu hypervisor\n"),
        ("proc/self/status", "Cpus_allowed_list:\t1\n"),
        ("proc/self/limits", "Max open files            1024      1024      files\n"),
        ("proc/sys/net/ipv4/ip_local_port_range", "50000\t50999\n"),
        ("proc/sys/net/ipv4/tcp_tw_reuse", "0\n"),
        ("proc/sys/net/core/somaxconn", "128\n"),
        ("proc/loadavg", "3.50 2.00 1.00 5/300 99\n"),
        ("proc/stat", "cpu  10 0 10 1000 0 0 0 100 0 0\n"),
        ("proc/mounts", "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n"),
        (".dockerenv", ""),
        ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
        ("sys/class/dmi/id/product_name", "Standard PC\n"),
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n"),
        ("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "0-1\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
        ("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "schedutil\n"),
        ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
    ];

    fn good() -> MachineFacts {
        facts_below(root(GOOD).path(), || {})
    }

    fn bad() -> MachineFacts {
        let root = root(BAD);
        // The hypervisor took 10 of the 40 ticks between the two readings.
        facts_below(root.path(), || {
            put(root.path(), "proc/stat", "cpu  20 0 20 1010 0 0 0 110 0 0")
        })
    }

    #[test]
    fn all_facts_of_a_good_machine_are_read() {
        let expected = MachineFacts {
            kernel: "6.1.0-30-amd64".to_owned(),
            os: "Debian GNU/Linux 12 (bookworm)".to_owned(),
            cpu_model: "Good CPU".to_owned(),
            cpus_logical: 4,
            cpus_physical: 4,
            cpus_online: vec![0, 1, 2, 3],
            cpus_allowed: vec![0, 1, 2, 3],
            memory_bytes: 16_384_000_000,
            memory_available_bytes: 15_360_000_000,
            governors: ["performance".to_owned()].into(),
            turbo: Some(false),
            clock_source: "tsc".to_owned(),
            mitigations: BTreeMap::from([(
                "spectre_v1".to_owned(),
                "Mitigation: barriers".to_owned(),
            )]),
            open_files_soft: 65_536,
            open_files_hard: 1_048_576,
            ports_first: 32_768,
            ports_last: 60_999,
            somaxconn: 4_096,
            time_wait_reuse: 2,
            transparent_huge_pages: "madvise".to_owned(),
            cgroup_v2: Some("/sys/fs/cgroup".to_owned()),
            cgroup_v2_controllers: ["cpuset", "cpu", "io", "memory", "pids"]
                .map(str::to_owned)
                .to_vec(),
            load_average_1min: 0.08,
            ..MachineFacts::default()
        };
        assert_eq!(good(), expected);
    }

    #[test]
    fn all_facts_of_a_bad_machine_are_read() {
        let facts = bad();
        assert_eq!(facts.smt_siblings, [[0, 1]]);
        assert_eq!((facts.cpus_logical, facts.cpus_physical), (2, 1));
        assert_eq!(facts.virtual_machine.as_deref(), Some("QEMU Standard PC"));
        assert_eq!(facts.container.as_deref(), Some("docker"));
        assert_eq!(facts.cgroup_v1_controllers, ["memory"]);
        assert!((facts.steal_share - 0.25).abs() < 1e-9, "{}", facts.steal_share);
    }

    #[test]
    fn a_good_machine_is_fine() {
        assert!(findings(&good()).iter().all(|finding| finding.level == Level::Fine));
        insta::assert_snapshot!(rendered(&good()));
    }

    #[test]
    fn a_bad_machine_hears_how_to_fix_it() {
        insta::assert_snapshot!(rendered(&bad()));
    }

    #[test]
    fn facts_that_the_kernel_does_not_report_cause_no_warning() {
        let root = tempfile::tempdir().expect("a directory");
        let facts = facts_below(root.path(), || {});
        assert_eq!(facts, MachineFacts::default());
        let found = findings(&facts);
        assert!(found.iter().all(|finding| finding.level == Level::Note), "{found:?}");
    }

    #[test]
    fn facts_survive_being_written_and_read() {
        let json = serde_json::to_value(bad()).expect("JSON");
        assert_eq!(serde_json::from_value::<MachineFacts>(json).expect("facts"), bad());
    }

    #[test]
    fn facts_of_this_machine_are_read() {
        let facts = facts();
        assert!(facts.memory_bytes > 0 && !facts.kernel.is_empty(), "{facts:?}");
        assert!(facts.cpus_allowed.iter().all(|cpu| facts.cpus_online.contains(cpu)));
        println!("{}", rendered(&facts));
    }
}
