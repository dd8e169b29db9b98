//! Reads one role of a stack: processes of this machine, or another machine as a whole.

use std::collections::BTreeSet;

use stampede_model::process_group::{Accounting, RoleGroup};
use stampede_model::sample::RoleSample;

use super::MonitorError;
use super::elsewhere::MachineElsewhere;
use super::local_role::{LocalRole, MemoryDetail};
use super::source::{ReadBuffer, Sources};
use super::transfer::Transfer;

/// Reads one role repeatedly.
#[derive(Debug)]
pub struct Role {
    /// Name of the role: `web`, `php` …
    pub name: String,
    reads: Reads,
}

#[derive(Debug)]
enum Reads {
    Here(Box<LocalRole>),
    Elsewhere(MachineElsewhere),
}

impl Role {
    /// Opens what there is, and takes the first reading, from which differences are counted.
    ///
    /// # Errors
    /// As [`LocalRole::open`] and [`MachineElsewhere::open`].
    pub fn open(
        sources: &Sources,
        group: &RoleGroup,
        text: &mut ReadBuffer,
    ) -> Result<Role, MonitorError> {
        let reads = match &group.accounting {
            Accounting::Ssh { host } => Reads::Elsewhere(MachineElsewhere::open(host)?),
            Accounting::CgroupV2(_) | Accounting::CgroupV1 { .. } | Accounting::Proc => {
                Reads::Here(Box::new(LocalRole::open(sources, group, text)?))
            }
        };
        Ok(Role { name: group.role.clone(), reads })
    }

    /// Returns what the role used since the previous reading, and the memory that it holds now.
    pub fn read(
        &mut self,
        sources: &Sources,
        memory: MemoryDetail,
        text: &mut ReadBuffer,
    ) -> RoleSample {
        match &mut self.reads {
            Reads::Here(role) => role.read(sources, memory, text),
            Reads::Elsewhere(machine) => machine.read(),
        }
    }

    /// What it transfers, as read here. Roles that share a network namespace must not all count its
    /// bytes.
    pub fn transfer(&mut self) -> Option<&mut Transfer> {
        match &mut self.reads {
            Reads::Here(role) => role.transfer(),
            Reads::Elsewhere(_) => None,
        }
    }

    /// The role's processes at the last reading; none of another machine.
    pub fn pids_before(&self) -> impl Iterator<Item = &u32> {
        let pids: Option<&BTreeSet<u32>> = match &self.reads {
            Reads::Here(role) => role.pids_before(),
            Reads::Elsewhere(_) => None,
        };
        pids.into_iter().flatten()
    }
}
