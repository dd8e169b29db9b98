//! The groups of a stack as slices of systemd, for an engine whose containers systemd places.
//!
//! ```text
//! v2   <top>/stampede_<id>.slice/stampede_<id>-web.slice     limits on stampede_<id>.slice
//! ```
//! A dash in the name of a slice means that it is inside of another one, so no other part of a name
//! has one. systemd writes the limits: what others write to its groups it may change back.
//!
//! Sources: systemd.slice(5), systemd.resource-control(5), org.freedesktop.systemd1(5).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use stampede_linux::mounts::Version;
use stampede_linux::run::TimedCommand;
use stampede_model::isolation::CPU_QUOTA_SLICE;

use super::tree::{self, GroupSpec, QuotaSpec, Tree};

/// Prefix of the slices that stampede lets systemd make. It stops no slice without it.
const PREFIX: &str = "stampede_";
const SUFFIX: &str = ".slice";
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

/// The places of a stack's slices. Nothing is made yet.
pub(super) struct Slices {
    /// The mount point of cgroup v2.
    top: PathBuf,
    /// The name of the stack's slice, without `.slice`.
    name: String,
    /// The program that asks systemd: `busctl`.
    program: PathBuf,
}

impl Slices {
    pub(super) fn new(top: &Path, id: &str) -> Slices {
        let name = format!("{PREFIX}{}", word(id));
        Slices { top: top.to_owned(), name, program: BUSCTL.into() }
    }

    /// The group of the stack.
    pub(super) fn directory(&self) -> PathBuf {
        self.path(&self.name)
    }

    /// Makes the slices of the stack and its roles; `None`: there is no systemd, or it refuses.
    pub(super) fn create(&self, wanted: &GroupSpec) -> Option<Tree> {
        let tree = self.try_to_create(wanted);
        if tree.is_none() {
            stop_by(&self.program, &self.directory(), &format!("{}{SUFFIX}", self.name));
        }
        tree
    }

    fn try_to_create(&self, wanted: &GroupSpec) -> Option<Tree> {
        let memory = (wanted.memory_bytes > 0).then(|| memory(wanted.memory_bytes));
        let cpus = (!wanted.cpus.is_empty()).then(|| allowed_cpus(&wanted.cpus));
        self.start(&self.name, cpus.into_iter().chain(memory).flatten().collect())?;
        if let Some(quota) = &wanted.quota {
            self.start(&self.quota_name(), cpu_quota(quota))?;
        }
        let mut roles = BTreeMap::new();
        for (role, cpus) in &wanted.roles {
            let name = self.role_name(role, wanted.quota.as_ref());
            let own = !cpus.is_empty() && *cpus != wanted.cpus;
            self.start(&name, if own { allowed_cpus(cpus) } else { Vec::new() })?;
            roles.insert(role.clone(), self.path(&name));
        }
        let mut tree = Tree {
            version: Version::V2,
            controllers: roles.values().next().map(|role| controllers(role)).unwrap_or_default(),
            limited: Default::default(),
            roles,
            entered: true,
            directory: self.directory(),
        };
        let in_force = self.in_force(wanted, &tree);
        tree.limited = in_force.into_iter().map(str::to_owned).collect();
        Some(tree)
    }

    /// The controllers whose limits are in force. Waits for those that are not yet.
    fn in_force(&self, wanted: &GroupSpec, tree: &Tree) -> Vec<&'static str> {
        let group = self.directory();
        let quota = wanted.quota.as_ref().map(|quota| quota.cpus);
        let file = |name: &str| self.path(name).join("cpu.max");
        let effective = |group: &Path| group.join("cpuset.cpus.effective");
        let is_pinned = || {
            let mut roles = wanted.roles.iter().filter(|(_, cpus)| !cpus.is_empty());
            tree::are_cpus(&effective(&group), &wanted.cpus)
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
                quota.is_some_and(|quota| tree::is_quota(&file(&self.quota_name()), quota))
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
    fn start(&self, name: &str, properties: Vec<Property>) -> Option<()> {
        let unit = format!("{name}{SUFFIX}");
        let accounted = property("MemoryAccounting", "b", ["true"]);
        let properties: Vec<Property> = properties.into_iter().chain([accounted]).collect();
        let number = properties.len().to_string();
        let call = asking(&self.program, "call")
            .args(["StartTransientUnit", "ssa(sv)a(sa(sv))", &unit, "fail", &number])
            .args(properties.iter().flatten())
            // No auxiliary units.
            .args(["0"]);
        call.run().ok()?;
        let (directory, until) = (self.path(name), Instant::now() + IN_FORCE_WITHIN);
        while !directory.is_dir() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        directory.is_dir().then_some(())
    }

    fn quota_name(&self) -> String {
        format!("{}{}", self.name, CPU_QUOTA_SLICE.trim_end_matches(SUFFIX))
    }

    /// The name of a role's slice, in that of the quota if it shares one.
    fn role_name(&self, role: &str, quota: Option<&QuotaSpec>) -> String {
        match quota.is_some_and(|quota| quota.roles.contains(role)) {
            true => format!("{}-role_{}", self.quota_name(), word(role)),
            false => format!("{}-role_{}", self.name, word(role)),
        }
    }

    /// The group of a slice: `a-b.slice` is inside of `a.slice`.
    fn path(&self, name: &str) -> PathBuf {
        let ends = name.match_indices('-').map(|(at, _)| at).chain([name.len()]);
        ends.fold(self.top.clone(), |path, end| path.join(format!("{}{SUFFIX}", &name[..end])))
    }
}

/// Whether a group is the slice of a stack.
pub(super) fn is_ours(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// Lets systemd stop a slice with all that is in it. Nothing happens if there is none.
pub(super) fn stop(directory: &Path, unit: &str) {
    stop_by(Path::new(BUSCTL), directory, unit);
}

/// `systemctl stop` does nothing in a container, and says that it has succeeded.
fn stop_by(program: &Path, directory: &Path, unit: &str) {
    if !directory.exists() {
        return;
    }
    let call = asking(program, "call").args(["StopUnit", "ss", unit, "replace"]);
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
fn allowed_cpus(cpus: &[usize]) -> Vec<Property> {
    let bytes = cpus.iter().max().map_or(0, |last| last / 8 + 1);
    let mut bits = vec![0_u8; bytes];
    for cpu in cpus {
        bits[cpu / 8] |= 1 << (cpu % 8);
    }
    let words: Vec<String> =
        std::iter::once(bytes.to_string()).chain(bits.iter().map(u8::to_string)).collect();
    vec![property("AllowedCPUs", "ay", words.iter().map(String::as_str))]
}

/// The memory of a slice. Without swap, as for all stacks.
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

/// A part of a slice's name.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use stampede_model::isolation::is_cpu_quota_group;

    use super::*;

    #[test]
    fn slices_are_inside_of_each_other_by_their_names() {
        let slices = Slices::new(Path::new("/sys/fs/cgroup"), "17-a.b");
        let stack = Path::new("/sys/fs/cgroup/stampede_17_a_b.slice");
        assert_eq!(slices.directory(), stack);
        let own = slices.role_name("php-fpm", None);
        assert_eq!(slices.path(&own), stack.join("stampede_17_a_b-role_php_fpm.slice"));
        let cpus = stampede_model::cpus::CpuCount::of_thousandths(500);
        let quota = QuotaSpec { cpus, roles: ["web".to_owned()].into() };
        let shared = stack.join("stampede_17_a_b-cpu_quota.slice");
        let web = shared.join("stampede_17_a_b-cpu_quota-role_web.slice");
        assert_eq!(slices.path(&slices.role_name("web", Some(&quota))), web);
        assert!(is_cpu_quota_group(&shared) && !is_cpu_quota_group(&web));
        assert_eq!(slices.path(&slices.role_name("php-fpm", Some(&quota))), slices.path(&own));
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(is_ours(&name(stack)));
        assert!(!is_ours("stampede-1") && !is_ours("system.slice") && !is_ours("stampede_.scope"));
    }

    #[test]
    fn limits_are_written_as_systemd_reads_them() {
        let words = |properties: Vec<Property>| properties.concat().join(" ");
        assert_eq!(words(allowed_cpus(&[0, 1])), "AllowedCPUs ay 1 3");
        assert_eq!(words(allowed_cpus(&[2, 9])), "AllowedCPUs ay 2 4 2");
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
        Slices { program, ..Slices::new(place, "one") }
    }

    fn wanted(quota: Option<QuotaSpec>) -> GroupSpec {
        let roles = [("db", vec![1]), ("web", vec![0])];
        let roles = roles.map(|(role, cpus)| (role.to_owned(), cpus)).into();
        let freezer = super::super::Freezer::NotNeeded;
        GroupSpec {
            cpus: vec![0, 1],
            memory_bytes: 64 << 20,
            roles,
            quota,
            freezer,
            for_containers: true,
        }
    }

    #[test]
    fn limits_count_as_in_force_when_the_groups_have_them() {
        let place = tempfile::tempdir().unwrap();
        let slices = with_fake(place.path());
        let cpus = stampede_model::cpus::CpuCount::of_thousandths(500);
        let quota = QuotaSpec { cpus, roles: ["web".to_owned()].into() };
        let tree = slices.create(&wanted(Some(quota))).expect("groups");
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
        let tree = slices.create(&GroupSpec { roles, ..wanted(None) }).expect("groups");
        assert!(tree.limits("cpuset") && tree.limits("memory"));
        assert!(!tree.role("web").join("cpuset.cpus.effective").exists());
        assert!(begun.elapsed() < IN_FORCE_WITHIN, "it waited for what never comes");
    }

    /// What was made before systemd refused is stopped.
    #[test]
    fn without_one_of_its_slices_a_stack_has_none() {
        let place = tempfile::tempdir().unwrap();
        let slices = with_fake(place.path());
        std::fs::write(place.path().join("refuses-stampede_one-role_web.slice"), "").unwrap();
        assert!(slices.create(&wanted(None)).is_none());
        let calls = std::fs::read_to_string(place.path().join("calls")).unwrap();
        let last = calls.lines().last().unwrap();
        assert!(last.ends_with("StopUnit ss stampede_one.slice replace"), "{calls}");
        assert!(!slices.directory().exists());
    }

    /// As where systemd does not run.
    #[test]
    fn without_systemd_there_are_no_slices() {
        let place = tempfile::tempdir().unwrap();
        let none = place.path().join("none");
        let slices = Slices { program: none, ..Slices::new(place.path(), "one") };
        assert!(slices.create(&wanted(None)).is_none());
        assert!(!slices.directory().exists());
    }
}
