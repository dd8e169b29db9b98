//! The groups of a stack as slices of systemd, for an engine whose containers systemd places.
//!
//! ```text
//! v2   <top>/stampede_<id>.slice/stampede_<id>-role_web.slice          limits on stampede_<id>.slice
//! v1   <hierarchy>/stampede_<id>.slice/stampede_<id>-role_web.slice
//! ```
//! systemd writes the limits: what others write to its groups it may change back. In v1 it knows no CPUs and no
//! freezer, and leaves the groups of these hierarchies alone. So there the keeper makes the same groups in all
//! hierarchies, and writes the same limits as systemd where both do.
//!
//! Sources: systemd.slice(5), systemd.resource-control(5), org.freedesktop.systemd1(5).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use stampede_linux::mounts::{Mounts, Version};
use stampede_linux::run::TimedCommand;

use super::names::Names;
use super::tree::{self, GroupSpec, QuotaSpec, Tree};

const BUSCTL: &str = "busctl";
/// systemd's object on the system's bus.
const MANAGER: [&str; 3] =
    ["org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager"];
/// The socket of the system's bus.
const BUS: &str = "/run/dbus/system_bus_socket";
/// The same as the first process of the machine sees it. A container that shares the machine's processes has no
/// socket of its own.
const BUS_OF_MACHINE: &str = "/proc/1/root/run/dbus/system_bus_socket";
/// How long an answer of systemd may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// How long it may take until a slice has its limits, which systemd sets after its answer.
const IN_FORCE_WITHIN: Duration = Duration::from_secs(5);
/// The time between two looks at that.
const LOOK: Duration = Duration::from_millis(5);

/// The slices of a stack. Nothing is made yet.
pub(super) struct Slices {
    /// The group of the stack, in the hierarchy where systemd keeps its units.
    directory: PathBuf,
    /// The version of the hierarchies that limit.
    version: Version,
    /// The program that asks systemd: `busctl`.
    program: PathBuf,
}

impl Slices {
    /// `None`: systemd keeps its units in no hierarchy that can be seen.
    pub(super) fn new(names: &Names, version: Version) -> Option<Slices> {
        let directory = Mounts::top_of_systemd()?.join(names.stack());
        Some(Slices { directory, version, program: BUSCTL.into() })
    }

    /// Starts the slices of the stack and its roles. Returns whether all are there: there may be no systemd, or it
    /// refuses. Then none is.
    pub(super) fn start(&self, wanted: &GroupSpec) -> bool {
        let are_started = self.try_to_start(wanted).is_some();
        if !are_started {
            stop_by(&self.program, &self.directory);
        }
        are_started
    }

    fn try_to_start(&self, wanted: &GroupSpec) -> Option<()> {
        let memory = (wanted.memory_bytes > 0).then(|| memory(wanted.memory_bytes));
        let cpus = self.own_cpus(&wanted.cpus, &[]);
        self.start_one(&self.directory, cpus.into_iter().chain(memory.into_iter().flatten()))?;
        if let Some(quota) = &wanted.quota {
            let directory = self.directory.join(wanted.names.quota());
            self.start_one(&directory, cpu_quota(quota))?;
        }
        for (role, cpus) in &wanted.roles {
            self.start_one(&self.role(role, wanted), self.own_cpus(cpus, &wanted.cpus))?;
        }
        Some(())
    }

    /// The property of a slice with other CPUs than the group around it.
    fn own_cpus(&self, cpus: &[usize], around: &[usize]) -> Option<Property> {
        let is_known = self.version == Version::V2;
        (is_known && !cpus.is_empty() && cpus != around).then(|| allowed_cpus(cpus))
    }

    fn role(&self, role: &str, wanted: &GroupSpec) -> PathBuf {
        self.directory.join(wanted.names.role(role, wanted.quota.as_ref()))
    }

    /// The slices that were started, with what is in force of them, for v2.
    pub(super) fn tree(&self, wanted: &GroupSpec) -> Tree {
        let roles = wanted.roles.keys().map(|role| (role.clone(), self.role(role, wanted)));
        let roles: std::collections::BTreeMap<String, PathBuf> = roles.collect();
        let mut tree = Tree {
            version: Version::V2,
            controllers: roles.values().next().map(|role| controllers(role)).unwrap_or_default(),
            limited: Default::default(),
            roles,
            entered: true,
            directory: self.directory.clone(),
        };
        let in_force = self.in_force(wanted, &tree);
        tree.limited = in_force.into_iter().map(str::to_owned).collect();
        tree
    }

    /// The controllers whose limits are in force. Waits for those that are not yet.
    fn in_force(&self, wanted: &GroupSpec, tree: &Tree) -> Vec<&'static str> {
        let group = &self.directory;
        let quota = wanted.quota.as_ref().map(|quota| quota.cpus);
        let quota_file = group.join(wanted.names.quota()).join("cpu.max");
        let effective = |group: &Path| group.join("cpuset.cpus.effective");
        let is_pinned = || {
            let mut roles = wanted.roles.iter().filter(|(_, cpus)| !cpus.is_empty());
            tree::are_cpus(&effective(group), &wanted.cpus)
                && roles.all(|(role, cpus)| {
                    let file = effective(&tree.role(role));
                    // Where no role has CPUs of its own, systemd leaves the controller to the stack's slice.
                    let inherits = *cpus == wanted.cpus && !file.exists();
                    inherits || tree::are_cpus(&file, cpus)
                })
        };
        let memory = group.join("memory.max");
        let limits: [(&'static str, bool, &dyn Fn() -> bool); 3] = [
            ("cpuset", !wanted.cpus.is_empty(), &is_pinned),
            ("memory", wanted.memory_bytes > 0, &|| {
                tree::is_memory_limit(&memory, wanted.memory_bytes)
            }),
            ("cpu", quota.is_some(), &|| {
                quota.is_some_and(|quota| tree::is_quota(&quota_file, quota))
            }),
        ];
        let until = Instant::now() + IN_FORCE_WITHIN;
        let asked = limits.into_iter().filter(|(_, is_asked, _)| *is_asked);
        let held = asked.filter(|(_, _, holds)| {
            while !holds() && Instant::now() < until {
                std::thread::sleep(LOOK);
            }
            holds()
        });
        held.map(|(controller, _, _)| controller).collect()
    }

    /// Starts a slice with these properties, and waits for its group.
    fn start_one(
        &self,
        directory: &Path,
        properties: impl IntoIterator<Item = Property>,
    ) -> Option<()> {
        // In v1 systemd removes groups in which it neither counts nor limits.
        let counted: &[&str] = match self.version {
            Version::V2 => &["MemoryAccounting"],
            Version::V1 => &["CPUAccounting", "MemoryAccounting", "TasksAccounting"],
        };
        let counted = counted.iter().map(|name| property(name, "b", ["true"]));
        let properties: Vec<Property> = properties.into_iter().chain(counted).collect();
        let number = properties.len().to_string();
        let call = asking(&self.program, "call")
            .args(["StartTransientUnit", "ssa(sv)a(sa(sv))", unit(directory), "fail", &number])
            .args(properties.iter().flatten())
            // No auxiliary units.
            .args(["0"]);
        call.run().ok()?;
        let until = Instant::now() + IN_FORCE_WITHIN;
        while !directory.is_dir() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        directory.is_dir().then_some(())
    }
}

/// The slice whose group this is.
fn unit(directory: &Path) -> &str {
    directory.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Lets systemd stop a slice with all that is in it, if this is its group where systemd keeps its units. Nothing
/// happens if there is none.
pub(super) fn stop(directory: &Path) {
    if Mounts::top_of_systemd().as_deref() == directory.parent() {
        stop_by(Path::new(BUSCTL), directory);
    }
}

/// `systemctl stop` does nothing in a container, and says that it has succeeded.
fn stop_by(program: &Path, directory: &Path) {
    if !directory.exists() {
        return;
    }
    let call = asking(program, "call").args(["StopUnit", "ss", unit(directory), "replace"]);
    let is_begun = call.run().is_ok();
    // The answer comes before the work is done.
    let until = Instant::now() + IN_FORCE_WITHIN;
    while is_begun && directory.exists() && Instant::now() < until {
        std::thread::sleep(LOOK);
    }
}

/// A question to systemd's manager.
fn asking(program: &Path, verb: &str) -> TimedCommand {
    let command = TimedCommand::new(program, ANSWERS_WITHIN);
    let is_far = !Path::new(BUS).exists() && Path::new(BUS_OF_MACHINE).exists();
    let command = match is_far {
        true => command.env("DBUS_SYSTEM_BUS_ADDRESS", format!("unix:path={BUS_OF_MACHINE}")),
        false => command,
    };
    command.args(["--system", verb]).args(MANAGER)
}

/// Whether systemd answers, and so can make slices.
pub(crate) fn are_possible() -> bool {
    static ARE_POSSIBLE: OnceLock<bool> = OnceLock::new();
    *ARE_POSSIBLE
        .get_or_init(|| asking(Path::new(BUSCTL), "get-property").args(["Version"]).run().is_ok())
}

/// A property of a unit in the words of busctl: its name, its type, and its value.
type Property = Vec<String>;

fn property<'a>(
    name: &'a str,
    kind: &'a str,
    value: impl IntoIterator<Item = &'a str>,
) -> Property {
    [name, kind].into_iter().chain(value).map(str::to_owned).collect()
}

/// The CPUs of a slice, as bits, the first CPU in the lowest one.
fn allowed_cpus(cpus: &[usize]) -> Property {
    let bytes = cpus.iter().max().map_or(0, |last| last / 8 + 1);
    let mut bits = vec![0_u8; bytes];
    for cpu in cpus {
        bits[cpu / 8] |= 1 << (cpu % 8);
    }
    let words: Vec<String> =
        std::iter::once(bytes.to_string()).chain(bits.iter().map(u8::to_string)).collect();
    property("AllowedCPUs", "ay", words.iter().map(String::as_str))
}

/// The memory of a slice. Without swap, as for all stacks. In v1 systemd takes `MemoryMax` for `MemoryLimit`, and
/// does not know the limit of swap.
fn memory(bytes: u64) -> Vec<Property> {
    let bytes = bytes.to_string();
    let max = property("MemoryMax", "t", [bytes.as_str()]);
    vec![max, property("MemorySwapMax", "t", ["0"])]
}

fn cpu_quota(quota: &QuotaSpec) -> Vec<Property> {
    let per_second = (u64::from(quota.cpus.thousandths()) * 1_000).to_string();
    let period = tree::QUOTA_PERIOD_US.to_string();
    vec![
        property("CPUQuotaPerSecUSec", "t", [per_second.as_str()]),
        property("CPUQuotaPeriodUSec", "t", [period.as_str()]),
    ]
}

/// The controllers that a group has.
fn controllers(group: &Path) -> std::collections::BTreeSet<String> {
    tree::words(&group.join("cgroup.controllers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_written_as_systemd_reads_them() {
        let words = |properties: Vec<Property>| properties.concat().join(" ");
        assert_eq!(allowed_cpus(&[0, 1]).join(" "), "AllowedCPUs ay 1 3");
        assert_eq!(allowed_cpus(&[2, 9]).join(" "), "AllowedCPUs ay 2 4 2");
        assert_eq!(words(memory(1 << 20)), "MemoryMax t 1048576 MemorySwapMax t 0");
        let cpus = stampede_model::cpus::CpuCount::of_thousandths(1_500);
        let quota = QuotaSpec { cpus, roles: Default::default() };
        let text = "CPUQuotaPerSecUSec t 1500000 CPUQuotaPeriodUSec t 100000";
        assert_eq!(words(cpu_quota(&quota)), text);
    }

    /// Stands in for systemd: makes the groups of plain files, and writes each call to a list.
    const FAKE: &str = r#"#!/bin/sh
top=$(dirname "$0")
echo "$@" >> "$top/calls"
[ "$6" != StopUnit ] || { rm -r "$top/$8"; exit; }
[ ! -e "$top/refuses-$8" ] || exit 1
group=$top part=
IFS=-; for word in ${8%.slice}; do part=${part:+$part-}$word group=$group/$part.slice; done; unset IFS
above=$(dirname "$group")
mkdir "$group" || exit 1
echo "cpuset memory" > "$group/cgroup.controllers"
shift 10
while [ $# -gt 1 ]; do
    case $1 in
    AllowedCPUs)
        echo "$4" | tr 123 '01-' | sed 's/-/0-1/' > "$group/cpuset.cpus.effective"
        # The controller is on for all groups beside one that has CPUs of its own.
        for beside in "$above"/*.slice; do
            [ -e "$beside/cpuset.cpus.effective" ] || cp "$above/cpuset.cpus.effective" "$beside/"
        done
        shift ;;
    MemoryMax) echo "$3" > "$group/memory.max" ;;
    CPUQuotaPerSecUSec) echo "$(($3 / 10)) 100000" > "$group/cpu.max" ;;
    esac
    shift 3
done
"#;

    /// A place for groups with a stand-in for systemd.
    fn with_fake(place: &Path) -> Slices {
        use std::os::unix::fs::PermissionsExt as _;

        let program = place.join("systemd");
        std::fs::write(&program, FAKE).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Slices { directory: place.join("stampede_one.slice"), version: Version::V2, program }
    }

    fn wanted(quota: Option<QuotaSpec>) -> GroupSpec {
        let roles = [("db", vec![1]), ("web", vec![0])];
        let roles = roles.map(|(role, cpus)| (role.to_owned(), cpus)).into();
        let freezer = super::super::Freezer::NotNeeded;
        GroupSpec {
            names: Names::of_slices("one"),
            cpus: vec![0, 1],
            memory_bytes: 64 << 20,
            roles,
            quota,
            freezer,
            for_containers: true,
        }
    }

    fn half_a_cpu_for_web() -> QuotaSpec {
        let cpus = stampede_model::cpus::CpuCount::of_thousandths(500);
        QuotaSpec { cpus, roles: ["web".to_owned()].into() }
    }

    #[test]
    fn limits_count_as_in_force_when_the_groups_have_them() {
        let place = tempfile::tempdir().unwrap();
        let slices = with_fake(place.path());
        let wanted = wanted(Some(half_a_cpu_for_web()));
        assert!(slices.start(&wanted));
        let tree = slices.tree(&wanted);
        assert!(["cpuset", "memory", "cpu"].iter().all(|one| tree.limits(one)));
        let stack = place.path().join("stampede_one.slice");
        assert_eq!(tree.role("db"), stack.join("stampede_one-role_db.slice"));
        let shared = stack.join("stampede_one-cpu_quota.slice");
        assert_eq!(tree.role("web"), shared.join("stampede_one-cpu_quota-role_web.slice"));
        assert!(tree.role("db").is_dir() && tree.role("web").is_dir());
        assert!(tree.has("memory") && !tree.has("io"));
    }

    /// As long as no role has CPUs of its own, systemd gives no role a file of them.
    #[test]
    fn roles_have_the_cpus_of_their_stack() {
        let place = tempfile::tempdir().unwrap();
        let slices = with_fake(place.path());
        let roles = ["db", "web"].map(|role| (role.to_owned(), vec![0, 1])).into();
        let begun = Instant::now();
        let wanted = GroupSpec { roles, ..wanted(None) };
        assert!(slices.start(&wanted));
        let tree = slices.tree(&wanted);
        assert!(tree.limits("cpuset") && tree.limits("memory"));
        assert!(!tree.role("web").join("cpuset.cpus.effective").exists());
        assert!(begun.elapsed() < IN_FORCE_WITHIN, "it waited for what never comes");
    }

    /// It would not limit them, and some of its versions may refuse.
    #[test]
    fn of_v1_systemd_is_asked_for_no_cpus() {
        let place = tempfile::tempdir().unwrap();
        let slices = Slices { version: Version::V1, ..with_fake(place.path()) };
        assert!(slices.start(&wanted(Some(half_a_cpu_for_web()))));
        let calls = std::fs::read_to_string(place.path().join("calls")).unwrap();
        assert!(!calls.contains("AllowedCPUs"), "{calls}");
        let all: Vec<&str> = calls.lines().collect();
        assert_eq!(all.len(), 4, "the stack, the quota and two roles: {calls}");
        assert!(
            all[0].contains("MemoryMax t 67108864")
                && all[1].contains("CPUQuotaPerSecUSec t 500000")
        );
        let counts = |call: &str| {
            ["CPU", "Memory", "Tasks"]
                .iter()
                .all(|one| call.contains(&format!("{one}Accounting b true")))
        };
        assert!(all.into_iter().all(counts), "{calls}");
    }

    /// What was made before systemd refused is stopped.
    #[test]
    fn without_one_of_its_slices_a_stack_has_none() {
        let place = tempfile::tempdir().unwrap();
        let slices = with_fake(place.path());
        std::fs::write(place.path().join("refuses-stampede_one-role_web.slice"), "").unwrap();
        assert!(!slices.start(&wanted(None)));
        let calls = std::fs::read_to_string(place.path().join("calls")).unwrap();
        let last = calls.lines().last().unwrap();
        assert!(last.ends_with("StopUnit ss stampede_one.slice replace"), "{calls}");
        assert!(!slices.directory.exists());
    }

    /// As where systemd does not run.
    #[test]
    fn without_systemd_there_are_no_slices() {
        let place = tempfile::tempdir().unwrap();
        let slices = Slices { program: place.path().join("none"), ..with_fake(place.path()) };
        assert!(!slices.start(&wanted(None)));
        assert!(!slices.directory.exists());
    }
}
