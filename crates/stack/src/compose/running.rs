//! What runs in the containers of a stack: where it is accounted for, and what limits it.

use stampede_compose::container::Container;
use stampede_linux::affinity::place_trees;
use stampede_linux::proc::Proc;
use stampede_model::isolation::IsolationRecord;
use stampede_model::process_group::{ProcessGroup, RoleGroup};

use super::engine::Grouping;
use crate::external::{CgroupOwner, accounting};
use crate::placement::Placement;
use crate::process::stack::StackHandle;

/// Containers within the budget, by role, as the monitor takes them.
pub(crate) fn process_group(
    grouping: Grouping,
    handle: &dyn StackHandle,
    containers: &[&Container],
) -> ProcessGroup {
    let pids = |service: &str| -> Vec<u32> {
        let own = containers.iter().filter(|one| one.service == service);
        own.filter_map(|one| Some(one.main?.pid)).collect()
    };
    if let Grouping::OneBudget(_) = grouping {
        let roles = handle.group().roles.into_iter();
        let roles = roles.map(|role| RoleGroup { roots: pids(&role.role), ..role });
        return ProcessGroup { roles: roles.collect() };
    }
    let proc = Proc::default();
    let mountinfo = proc.text("self/mountinfo");
    let role = |container: &&Container| {
        let main = container.main?;
        let owner = CgroupOwner::Container(container.id.clone());
        Some(RoleGroup {
            role: container.service.clone(),
            accounting: accounting(&mountinfo, &proc.cgroup(main.pid), &owner),
            roots: vec![main.pid],
        })
    };
    ProcessGroup { roles: containers.iter().filter_map(role).collect() }
}

/// How containers are isolated. `held`: what the stack's group has. `memory_bytes`: what each container has
/// where it has limits of its own.
pub(crate) fn isolation(
    grouping: Grouping,
    held: IsolationRecord,
    memory_bytes: u64,
) -> IsolationRecord {
    let has_quota = held.cpu_quota.is_some();
    let process_group = "containers".to_owned();
    match grouping {
        Grouping::OneBudget(_) => IsolationRecord { process_group, ..held },
        Grouping::CpusAlone => {
            let none = || "none".to_owned();
            IsolationRecord {
                cpu_set: "affinity".to_owned(),
                cpu_quota: has_quota.then(none),
                memory_limit: none(),
                memory_bytes: 0,
                process_group,
                accounting: "proc".to_owned(),
                ..held
            }
        }
        Grouping::PerService => {
            let each = || "per-service".to_owned();
            IsolationRecord {
                cpu_set: each(),
                cpu_quota: has_quota.then(each),
                memory_limit: each(),
                memory_bytes,
                process_group,
                accounting: each(),
                ..held
            }
        }
    }
}

/// Keeps the processes of containers on the stack's CPUs, and those of the services `beside` on theirs, where the
/// engine makes no groups, and may not do so itself.
pub(crate) fn place(
    grouping: Grouping,
    containers: &[Container],
    beside: &[String],
    placement: &Placement,
) {
    if let Grouping::OneBudget(_) = grouping {
        return;
    }
    let roots = |is_beside: bool| -> Vec<u32> {
        let own = containers.iter().filter(|one| beside.contains(&one.service) == is_beside);
        own.filter_map(|one| Some(one.main?.pid)).collect()
    };
    place_trees(&roots(false), &placement.cpus);
    place_trees(&roots(true), &placement.beside);
}
