//! Whether processes are in the groups that a stack has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use stampede_linux::proc::Proc;
use stampede_linux::process::{is_alive, trees};

use crate::container::Container;
use crate::error::ComposeError;

/// Whether a process with this `/proc/PID/cgroup` is below a group in every hierarchy that limits or counts.
fn is_within(cgroup: &str, group: &Path) -> bool {
    let group = format!("{}/", group.display());
    let lines = cgroup.lines().filter_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        Some((controllers, format!("{path}/")))
    });
    let (v2, v1): (Vec<_>, Vec<_>) = lines.partition(|(controllers, _)| controllers.is_empty());
    let counts = |controllers: &str| controllers.split(',').any(|one| LIMITING_V1.contains(&one));
    let mut of_v1 = v1.iter().filter(|(controllers, _)| counts(controllers)).peekable();
    match of_v1.peek().is_some() {
        true => of_v1.all(|(_, path)| path.contains(&group)),
        false => v2.iter().any(|(_, path)| path.contains(&group)),
    }
}

/// Checks that every container's process can be seen, and runs in the group of its service.
///
/// # Errors
/// A process is hidden, or outside of its group.
pub fn check_groups(
    containers: &[Container],
    groups: &BTreeMap<String, PathBuf>,
) -> Result<(), ComposeError> {
    for container in containers.iter().filter(|one| one.is_said_to_run()) {
        // A container may have ended meanwhile.
        if !container.is_seen() && container.main.is_none_or(|main| main.alive()) {
            return Err(ComposeError::ProcessHidden { service: container.service.clone() });
        }
        let (Some(group), Some(main)) = (groups.get(&container.service), container.main) else {
            continue;
        };
        let proc = Proc::default();
        let is_outside =
            |pid: &u32| stays_outside(group, || is_alive(*pid).then(|| proc.cgroup(*pid)));
        if let Some(pid) = trees(&[main.pid]).into_iter().find(is_outside) {
            return Err(ComposeError::OutsideBudget { service: container.service.clone(), pid });
        }
    }
    Ok(())
}

/// Whether a process is outside of a group, and stays there. `look`: its `/proc/PID/cgroup`; `None`: it has ended.
/// One that is about to end has left its groups before it counts as ended (`do_exit` of Linux), as the short
/// commands of an entry point do while the containers are looked at.
fn stays_outside(group: &Path, mut look: impl FnMut() -> Option<String>) -> bool {
    (0..LOOKS).all(|number| {
        if number > 0 {
            thread::sleep(LOOK_AGAIN);
        }
        look().is_some_and(|cgroup| !cgroup.is_empty() && !is_within(&cgroup, group))
    })
}

/// How often a process that seems to be outside is looked at.
const LOOKS: u32 = 10;
/// The pause between two looks. All take longer than the 100 ms after which a group with a quota runs again.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The controllers of version 1 in whose hierarchies a stack's groups are.
const LIMITING_V1: [&str; 6] = ["cpu", "cpuacct", "cpuset", "freezer", "memory", "pids"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_about_to_end_is_not_outside_of_its_group() {
        let group = Path::new("/stampede-7/role-php");
        let outside = |all: &[Option<&str>]| {
            let mut looks = all.iter().chain(std::iter::repeat(&all[all.len() - 1]));
            stays_outside(group, || looks.next().copied().flatten().map(str::to_owned))
        };
        let (root, own) = (Some("5:cpu:/"), Some("5:cpu:/stampede-7/role-php/1f"));
        assert!(outside(&[root]));
        assert!(!outside(&[root, None]) && !outside(&[root, own]) && !outside(&[Some("")]));
    }

    #[test]
    fn a_process_is_within_its_group_in_every_hierarchy() {
        let within = |cgroup: &str| is_within(cgroup, Path::new("/stampede-7/role-php"));
        let own = "/stampede-7/role-php/4f1e";
        let v1 = format!(
            "9:pids:{own}\n7:cpu,cpuacct:{own}\n5:memory:{own}\n4:cpuset:{own}\n2:devices:/docker/4f1e\n1:name=systemd:/x\n0::/\n"
        );
        assert!(within(&v1) && within(&format!("0::{own}\n")));
        assert!(within(&format!("0::/user.slice{own}/below\n")), "as a container sees it");
        // One hierarchy is enough to be outside.
        for line in ["9:pids:", "7:cpu,cpuacct:", "5:memory:", "4:cpuset:"] {
            let moved = v1.replace(&format!("{line}{own}"), &format!("{line}/docker/4f1e"));
            assert!(!within(&moved), "{moved}");
        }
        // With systemd's driver on v1, also beside v2. systemd leaves cpuset and freezer to others.
        let slice = Path::new("/stampede_7.slice/stampede_7-role_php.slice");
        let scope = format!("{}/docker-4f1e.scope", slice.display());
        let of_slice = format!(
            "8:cpuset:{scope}\n7:memory:{scope}\n6:misc:/\n5:devices:{}\n4:cpu,cpuacct:{scope}\n3:freezer:{scope}\n1:name=systemd:{scope}\n0::{scope}\n",
            slice.display()
        );
        assert!(is_within(&of_slice, slice));
        for line in ["8:cpuset:", "3:freezer:"] {
            let moved = of_slice.replace(&format!("{line}{scope}"), &format!("{line}/"));
            assert!(!is_within(&moved, slice), "{moved}");
        }
        assert!(!within("0::/docker/4f1e\n") && !within("0::/stampede-7/role-php2/4f1e\n"));
        assert!(!within("0::/../stampede-7/role-web/4f1e\n"));
    }
}
