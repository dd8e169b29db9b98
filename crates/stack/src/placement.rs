//! Says where a stack may run, and with how much.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use stampede_model::cpus::CpuCount;

use crate::process::watched::WatchMode;

/// Where a stack may run, and what is done besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// The CPUs of the whole stack; empty: all CPUs.
    pub cpus: Vec<usize>,
    /// The CPUs of single roles.
    pub cpus_by_role: BTreeMap<String, Vec<usize>>,
    /// The fraction of `cpus` that the stack may use; `None`: all of them.
    pub cpu_quota: Option<CpuCount>,
    /// The CPUs that neither the stack nor the load has, for processes beside the stack.
    pub beside: Vec<usize>,
    /// The memory limit in bytes; 0: no limit.
    pub memory_bytes: u64,
    /// The address to listen on, for load from other machines; `None`: 127.0.0.1, which nobody else
    /// reaches.
    pub listen: Option<Ipv4Addr>,
    /// The port; `None`: a free one is chosen.
    pub port: Option<u16>,
    /// What the workers record of the state that outlives a request; `None`: they record nothing.
    pub watch: Option<WatchMode>,
    /// A command of the app that is run for its output in the prepared copy: a script of the app's
    /// directory with its arguments. `None`: there is none.
    pub ask: Option<String>,
}

impl Placement {
    /// The address to listen on.
    pub fn host(&self) -> Ipv4Addr {
        self.listen.unwrap_or(Ipv4Addr::LOCALHOST)
    }

    /// The CPUs of the stack's budget. All of them busy is 100 % of CPU.
    pub fn budget_cpus(&self) -> CpuCount {
        self.cpu_quota.unwrap_or(CpuCount::whole(self.cpus.len() as u32))
    }
}
