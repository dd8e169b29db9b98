//! Reads the facts about the machine, once for each run; they are written into `run.json`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use stampede_linux::cpu_list;
use stampede_linux::mounts::MountPoints;
use stampede_linux::proc::{self, HostTicks, Proc, value_of_key};
use stampede_model::machine::MachineFacts;

use super::parse;

/// Reads all facts. Takes 200 ms, because steal time must be measured over time.
pub fn facts() -> MachineFacts {
    facts_below(Path::new("/"), || std::thread::sleep(LOOK))
}

/// Reads all facts below another root directory; runs `between_looks` between the two readings of
/// steal time.
pub fn facts_below(root: &Path, between_looks: impl FnOnce()) -> MachineFacts {
    let (files, root) = (Proc::at(root.join("proc")), Root(root));
    let cpu_info = files.text("cpuinfo");
    let status = files.text("self/status");
    let memory = files.text("meminfo");
    let (open_files_soft, open_files_hard) =
        proc::open_files(&files.text("self/limits")).unwrap_or_default();
    let (ports_first, ports_last) = files.ports().unwrap_or_default();
    let number = |name: &str| files.setting(name).and_then(|text| text.parse().ok());
    let cpus_online = cpu_list::parse(&root.text(&format!("{CPUS}/online")));
    let cpus_allowed =
        cpu_list::parse(value_of_key(&status, "Cpus_allowed_list").unwrap_or_default());
    let cores = cores(&root, &cpus_online);
    let mounts = MountPoints::parse(&files.text("mounts"));
    let controllers = |place: &String| root.text(&format!("{place}/cgroup.controllers"));
    MachineFacts {
        kernel: files.setting("kernel/osrelease").unwrap_or_default(),
        os: parse::os_value(&root.text("etc/os-release"), "PRETTY_NAME").unwrap_or_default(),
        cpu_model: cpu_model(&cpu_info),
        cpus_logical: count(cpus_online.len()),
        cpus_physical: count(cores.len()),
        smt_siblings: cores.into_iter().filter(|core| core.len() > 1).collect(),
        cpus_online,
        cpus_allowed,
        memory_bytes: proc::memory_bytes(&memory, "MemTotal").unwrap_or_default(),
        memory_available_bytes: proc::memory_bytes(&memory, "MemAvailable").unwrap_or_default(),
        virtual_machine: virtual_machine(&root, &cpu_info),
        container: container(&root, &files),
        governors: governors(&root),
        turbo: turbo(&root),
        clock_source: root.line(CLOCK_SOURCE),
        mitigations: mitigations(&root),
        open_files_soft,
        open_files_hard,
        ports_first,
        ports_last,
        somaxconn: number("net/core/somaxconn").unwrap_or_default(),
        time_wait_reuse: number("net/ipv4/tcp_tw_reuse").unwrap_or_default(),
        transparent_huge_pages: {
            let text = root.text("sys/kernel/mm/transparent_hugepage/enabled");
            parse::bracketed_choice(&text).unwrap_or_default().to_owned()
        },
        cgroup_v2_controllers: words(&mounts.v2.as_ref().map(controllers).unwrap_or_default()),
        cgroup_v2: mounts.v2,
        cgroup_v1_controllers: mounts.v1.into_keys().collect(),
        load_average_1min: proc::load_average_1min(&files.text("loadavg")).unwrap_or_default(),
        steal_share: steal_share(&files, between_looks),
    }
}

/// A directory in place of `/`.
struct Root<'a>(&'a Path);

/// The number of CPUs that are online, and the clock source.
pub fn cpus_and_clock(root: &Path) -> (u64, String) {
    let root = Root(root);
    let online = cpu_list::parse(&root.text(&format!("{CPUS}/online")));
    (online.len().max(1) as u64, root.line(CLOCK_SOURCE))
}

impl Root<'_> {
    /// Returns the text of a file; empty if the file cannot be read.
    fn text(&self, path: &str) -> String {
        let bytes = fs::read(self.0.join(path.trim_start_matches('/'))).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn line(&self, path: &str) -> String {
        self.text(path).trim().to_owned()
    }

    fn exists(&self, path: &str) -> bool {
        self.0.join(path).exists()
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(directory)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// Returns the CPU model. arm64 has no model name, so its `CPU part` is used instead.
fn cpu_model(cpu_info: &str) -> String {
    let part = || value_of_key(cpu_info, "CPU part").map(|part| format!("CPU part {part}"));
    let model = value_of_key(cpu_info, "model name").map(str::to_owned);
    model.or_else(part).unwrap_or_default()
}

/// Returns groups of CPUs by core, in the order of their first CPU.
fn cores(root: &Root<'_>, online: &[usize]) -> Vec<Vec<usize>> {
    let groups: BTreeSet<Vec<usize>> = online
        .iter()
        .map(|cpu| {
            let path = format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list");
            let siblings = cpu_list::parse(&root.text(&path));
            if siblings.is_empty() { vec![*cpu] } else { siblings }
        })
        .collect();
    groups.into_iter().collect()
}

/// Detects a virtual machine by the CPU's flag; the firmware's tables give its name where they are
/// readable.
fn virtual_machine(root: &Root<'_>, cpu_info: &str) -> Option<String> {
    let flagged = value_of_key(cpu_info, "flags")
        .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    let named =
        [root.line("sys/class/dmi/id/sys_vendor"), root.line("sys/class/dmi/id/product_name")]
            .join(" ")
            .trim()
            .to_owned();
    let hypervisor = root.line("sys/hypervisor/type");
    // Only x86 has the flag, so known names of virtual machines count too. Names of real vendors do
    // not.
    let known = VIRTUAL_NAMES.iter().any(|name| named.contains(name));
    match (flagged || known || !hypervisor.is_empty(), named.is_empty(), hypervisor.is_empty()) {
        (false, ..) => None,
        (true, false, _) => Some(named),
        (true, true, false) => Some(hypervisor),
        (true, true, true) => Some("unnamed".to_owned()),
    }
}

fn container(root: &Root<'_>, files: &Proc) -> Option<String> {
    if root.exists(".dockerenv") {
        return Some("docker".to_owned());
    }
    if root.exists("run/.containerenv") {
        return Some("podman".to_owned());
    }
    let told = root.line("run/systemd/container");
    if !told.is_empty() {
        return Some(told);
    }
    let cgroup = files.text("self/cgroup");
    let known = ["docker", "kubepods", "containerd", "libpod", "lxc"];
    known.into_iter().find(|name| cgroup.contains(name)).map(str::to_owned)
}

fn governors(root: &Root<'_>) -> BTreeSet<String> {
    let cpus = root.names(CPUS).into_iter().filter(|name| name.starts_with("cpu"));
    cpus.map(|cpu| root.line(&format!("{CPUS}/{cpu}/cpufreq/scaling_governor")))
        .filter(|governor| !governor.is_empty())
        .collect()
}

fn turbo(root: &Root<'_>) -> Option<bool> {
    match root.line(&format!("{CPUS}/intel_pstate/no_turbo")).as_str() {
        "0" => return Some(true),
        "1" => return Some(false),
        _ => {}
    }
    match root.line(&format!("{CPUS}/cpufreq/boost")).as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}

fn mitigations(root: &Root<'_>) -> BTreeMap<String, String> {
    let directory = format!("{CPUS}/vulnerabilities");
    let all = root.names(&directory).into_iter();
    all.map(|name| (root.line(&format!("{directory}/{name}")), name))
        .filter(|(state, _)| !state.is_empty() && state != "Not affected")
        .map(|(state, name)| (name, state))
        .collect()
}

fn steal_share(files: &Proc, between_looks: impl FnOnce()) -> f64 {
    let look = || HostTicks::parse(&files.text("stat")).unwrap_or_default();
    let before = look();
    between_looks();
    let after = look();
    let all = |ticks: HostTicks| ticks.busy + ticks.idle + ticks.steal;
    let (steal, all) =
        (after.steal.saturating_sub(before.steal), all(after).saturating_sub(all(before)));
    if all == 0 { 0.0 } else { steal as f64 / all as f64 }
}

fn words(text: &str) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

const CPUS: &str = "sys/devices/system/cpu";
const CLOCK_SOURCE: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Length of the measurement: twenty ticks of 10 ms. It shows steal from 5 % on one CPU, and
/// `doctor` stays fast.
const LOOK: Duration = Duration::from_millis(200);

/// Names in the firmware's tables of virtual machines whose CPUs have no hypervisor flag (arm64).
const VIRTUAL_NAMES: [&str; 6] =
    ["QEMU", "KVM", "Amazon EC2", "Google Compute Engine", "Virtual Machine", "VMware"];
