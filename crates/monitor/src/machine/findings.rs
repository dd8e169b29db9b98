//! Explains what the machine's facts mean for a measurement, and how to fix problems:
//! `stampede doctor`.

use std::fmt;

use serde::{Deserialize, Serialize};

use stampede_model::machine::MachineFacts;

/// One line of `stampede doctor`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFinding {
    /// Severity.
    pub level: Level,
    /// The fact, with its value.
    pub what: String,
    /// Its effect on a measurement.
    pub why: String,
    /// How to fix it; `None` if nothing can be done.
    pub fix: Option<String>,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// No problem.
    Fine,
    /// Relevant when results are compared with those of other machines.
    Note,
    /// Can make results wrong or trials suspect.
    Warn,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Fine => "fine",
            Level::Note => "note",
            Level::Warn => "warn",
        })
    }
}

/// Formats `warn  what: why`, with the fix on a line of its own.
impl fmt::Display for MachineFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<6}{}: {}", self.level, self.what, self.why)?;
        match &self.fix {
            Some(fix) => write!(f, "\n      fix: {fix}"),
            None => Ok(()),
        }
    }
}

/// Returns all findings in the order in which `doctor` prints them. Facts that the kernel does not
/// show have no finding.
pub fn findings(facts: &MachineFacts) -> Vec<MachineFinding> {
    let looks: [fn(&MachineFacts) -> Option<MachineFinding>; 13] = [
        cpus,
        smt,
        clock_source,
        governor,
        turbo,
        steal,
        busy,
        open_files,
        ports,
        backlog,
        huge_pages,
        virtual_machine,
        container,
    ];
    looks.iter().filter_map(|look| look(facts)).collect()
}

fn fine(what: String, why: &str) -> Option<MachineFinding> {
    Some(MachineFinding { level: Level::Fine, what, why: why.to_owned(), fix: None })
}

fn note(what: String, why: &str, fix: Option<&str>) -> Option<MachineFinding> {
    let fix = fix.map(str::to_owned);
    Some(MachineFinding { level: Level::Note, what, why: why.to_owned(), fix })
}

fn warn(what: String, why: &str, fix: &str) -> Option<MachineFinding> {
    let fix = Some(fix.to_owned());
    Some(MachineFinding { level: Level::Warn, what, why: why.to_owned(), fix })
}

fn cpus(facts: &MachineFacts) -> Option<MachineFinding> {
    let (allowed, online) = (facts.cpus_allowed.len(), facts.cpus_online.len());
    match allowed {
        0 => None,
        1 => warn(
            format!("1 CPU of {online} for stampede"),
            "the load threads take CPU time from the runtime, so every time is too long",
            "use a machine with two CPUs or more, or widen the CPU set that stampede is started in",
        ),
        _ if allowed < online => note(
            format!("{allowed} CPUs of {online} for stampede"),
            "the budget is taken from these; what runs on the others still shares memory and cache",
            None,
        ),
        _ => fine(
            format!("{allowed} CPUs"),
            "the load threads get CPUs of their own, away from the runtime",
        ),
    }
}

fn smt(facts: &MachineFacts) -> Option<MachineFinding> {
    let siblings = facts.smt_siblings.first()?;
    let siblings: Vec<String> = siblings.iter().map(usize::to_string).collect();
    note(
        format!("SMT is on: for example CPU {} share a core", siblings.join(" and CPU ")),
        "a runtime and a load thread on one core slow each other down",
        Some("give budgets in whole cores, or `echo off > /sys/devices/system/cpu/smt/control`"),
    )
}

fn clock_source(facts: &MachineFacts) -> Option<MachineFinding> {
    let source = facts.clock_source.as_str();
    match source {
        "" => None,
        cheap if reads_without_a_system_call(cheap) => {
            fine(format!("clock source {source}"), "the time is read without a system call")
        }
        _ => warn(
            format!("clock source {source}"),
            "each reading of the time costs a system call or more, so every trial is suspect",
            "`echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource`, if \
             `available_clocksource` there lists it",
        ),
    }
}

/// Returns whether the clock can be read often without disturbance; otherwise trials are suspect.
/// arm64 has only `arch_sys_counter`, which is as good as `tsc` of x86.
pub fn reads_without_a_system_call(clock_source: &str) -> bool {
    ["tsc", "kvm-clock", "arch_sys_counter"].contains(&clock_source)
}

fn governor(facts: &MachineFacts) -> Option<MachineFinding> {
    let all: Vec<&str> = facts.governors.iter().map(String::as_str).collect();
    match all.as_slice() {
        [] => note(
            "governor not shown".to_owned(),
            "as in most virtual machines: the host decides the frequency of the CPUs",
            None,
        ),
        ["performance"] => {
            fine("governor `performance`".to_owned(), "CPUs keep their frequency between requests")
        }
        others => warn(
            format!("governor `{}`", others.join("`, `")),
            "CPUs clock down between requests, so a light load looks slower than a heavy one",
            "`cpupower frequency-set -g performance`, for the time of the measurement",
        ),
    }
}

fn turbo(facts: &MachineFacts) -> Option<MachineFinding> {
    match facts.turbo? {
        true => note(
            "turbo on".to_owned(),
            "frequency depends on how many CPUs are busy and how warm they are",
            Some(
                "`echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo`, or `echo 0 > \
                 /sys/devices/system/cpu/cpufreq/boost`",
            ),
        ),
        false => fine("turbo off".to_owned(), "CPUs keep one frequency"),
    }
}

fn steal(facts: &MachineFacts) -> Option<MachineFinding> {
    facts.virtual_machine.as_ref()?;
    let percent = facts.steal_share * 100.0;
    if facts.steal_share > STEAL_MAX {
        return warn(
            format!("{percent:.1} % of CPU time stolen"),
            "the hypervisor runs others on these CPUs, so trials become suspect",
            "use a machine with dedicated CPUs, or measure when the host is quiet",
        );
    }
    fine(
        format!("{percent:.1} % of CPU time stolen"),
        "the hypervisor gives these CPUs to this machine",
    )
}

fn busy(facts: &MachineFacts) -> Option<MachineFinding> {
    let (load, cpus) = (facts.load_average_1min, facts.cpus_logical);
    if cpus == 0 {
        return None;
    }
    let what = format!("load average {load:.2} on {cpus} CPUs");
    if load > f64::from(cpus) * LOAD_PER_CPU_MAX {
        return warn(
            what,
            "something else is running, and takes CPU time and cache from what is measured",
            "find it with `top`, stop it, and wait a minute",
        );
    }
    fine(what, "the machine is quiet")
}

/// Judges the hard limit, because the soft limit is raised to it before anything starts.
fn open_files(facts: &MachineFacts) -> Option<MachineFinding> {
    let what = match facts.open_files_hard {
        0 => return None,
        u64::MAX => "unlimited open files".to_owned(),
        hard => format!("{hard} open files"),
    };
    if facts.open_files_hard >= OPEN_FILES_MIN {
        return fine(what, "enough for 1000 connections");
    }
    warn(
        what,
        "1000 connections need more, so requests fail that the runtime would have answered",
        "as root: `ulimit -n 65536`, or a `nofile` line in /etc/security/limits.conf",
    )
}

fn ports(facts: &MachineFacts) -> Option<MachineFinding> {
    if facts.ports_last == 0 {
        return None;
    }
    let ports = u32::from(facts.ports_last.saturating_sub(facts.ports_first)) + 1;
    if facts.time_wait_reuse > 0 && ports >= PORTS_MIN {
        return fine(
            format!("{ports} ports, reused on loopback"),
            "enough for a connection per request",
        );
    }
    // Linux keeps a closed connection in TIME_WAIT for 60 s (TCP_TIMEWAIT_LEN).
    let rate = ports / 60;
    let what = format!("{ports} ports, TIME_WAIT reuse {}", facts.time_wait_reuse);
    warn(
        what,
        &format!("without keep-alive and reuse, ports suffice for {rate} requests/s"),
        "`sysctl net.ipv4.ip_local_port_range=\"1024 65535\" net.ipv4.tcp_tw_reuse=1`",
    )
}

fn backlog(facts: &MachineFacts) -> Option<MachineFinding> {
    match facts.somaxconn {
        0 => None,
        longest if longest < BACKLOG_MIN => warn(
            format!("somaxconn {longest}"),
            "listen queues are cut to it, so bursts of connections are dropped and retried after 1 s",
            "`sysctl net.core.somaxconn=4096`",
        ),
        longest => fine(format!("somaxconn {longest}"), "listen queues may hold 4096 connections"),
    }
}

fn huge_pages(facts: &MachineFacts) -> Option<MachineFinding> {
    (facts.transparent_huge_pages == "always").then_some(())?;
    note(
        "transparent huge pages `always`".to_owned(),
        "memory comes in pieces of 2 MiB, so a runtime may hold more than it uses",
        Some("`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`"),
    )
}

fn virtual_machine(facts: &MachineFacts) -> Option<MachineFinding> {
    let name = facts.virtual_machine.as_ref()?;
    note(
        format!("virtual machine ({name})"),
        "other virtual machines can disturb the measurement without a trace: use more rounds",
        None,
    )
}

fn container(facts: &MachineFacts) -> Option<MachineFinding> {
    let name = facts.container.as_ref()?;
    note(
        format!("container ({name})"),
        "its limits come on top of the budget, and cgroups and namespaces are often forbidden",
        None,
    )
}

/// Largest share of CPU time that the host may take away; every virtual machine has about that
/// much.
pub const STEAL_MAX: f64 = 0.01;

/// Largest load average for each CPU: a quarter of a CPU busy with something else would affect a
/// p99.
const LOAD_PER_CPU_MAX: f64 = 0.25;

/// 1000 connections of a load, and as many again for the connections that a runtime with this
/// process's limits opens to its workers.
const OPEN_FILES_MIN: u64 = 2_100;

/// Linux has 28 232 ports by default; with less than half, somebody has reduced the range.
const PORTS_MIN: u32 = 14_000;

/// The fixed listen backlog of every runtime.
const BACKLOG_MIN: u32 = 4_096;
