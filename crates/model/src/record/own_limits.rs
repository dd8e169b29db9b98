//! Limits of single services below the budget of all.

use super::{ContainerRecord, TrialRecord};
use crate::cpus::CpuCount;

impl TrialRecord {
    /// Marks the budget as unequal if services of the stack have less than all of it: what one of them does
    /// not use is then not there for the others, so the stack has other means than one without such limits.
    pub fn mark_own_limits(&mut self) {
        let (cpus, memory_bytes) = (self.budget_cpus, self.isolation.memory_bytes);
        let mut within = self.runtime.containers.iter().filter(|one| !one.is_beside);
        self.budget_unequal |= within.any(|one| one.has_less_than(cpus, memory_bytes));
    }
}

impl ContainerRecord {
    /// Whether it is limited to less CPU time or memory than a budget has; 0 bytes: the budget has no limit.
    fn has_less_than(&self, cpus: CpuCount, memory_bytes: u64) -> bool {
        let own = self.own.memory_bytes;
        let has_less_memory = own > 0 && (memory_bytes == 0 || own < memory_bytes);
        self.own.cpu_quota_thousandths.is_some_and(|quota| quota < cpus.thousandths())
            || has_less_memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ContainerLimits;

    #[test]
    fn a_service_with_less_than_the_budget_makes_it_unequal() {
        let is_unequal = |quota: Option<u32>, memory: u64, is_beside: bool| {
            let mut record = TrialRecord::empty(1, 1, 0);
            record.budget_cpus = CpuCount::whole(2);
            record.isolation.memory_bytes = 2 << 30;
            let own = ContainerLimits { cpu_quota_thousandths: quota, memory_bytes: memory };
            // What the kernel rounds, and what groups around the budget allow, is no limit of the service.
            let memory_limit_bytes = (2 << 30) - 4_096;
            let service =
                ContainerRecord { own, memory_limit_bytes, is_beside, ..Default::default() };
            record.runtime.containers = vec![ContainerRecord::default(), service];
            record.mark_own_limits();
            record.budget_unequal
        };
        assert!(is_unequal(Some(1_000), 2 << 30, false), "half of the CPUs");
        assert!(is_unequal(None, 1 << 30, false), "half of the memory");
        assert!(!is_unequal(Some(2_000), 2 << 30, false), "all of both");
        assert!(!is_unequal(None, 0, false), "none of its own");
        assert!(!is_unequal(Some(1_000), 1 << 30, true), "a database is outside");
        let mut unlimited = TrialRecord::empty(1, 1, 0);
        let own = ContainerLimits { memory_bytes: 1 << 30, ..Default::default() };
        unlimited.runtime.containers = vec![ContainerRecord { own, ..Default::default() }];
        unlimited.mark_own_limits();
        assert!(unlimited.budget_unequal, "the budget has no limit of memory");
    }
}
