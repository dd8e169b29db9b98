//! Reads what another machine uses, through the system's own `ssh`: its CPU time, memory, disks and
//! network as a whole. A shell there prints the kernel's files once a second. It ends with the
//! connection.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stampede_linux::proc::{HostTicks, memory_bytes};
use stampede_linux::transfer;
use stampede_model::sample::{DiskSample, NetworkSample, RoleSample};

use super::MonitorError;

/// Reads one machine repeatedly.
#[derive(Debug)]
pub struct MachineElsewhere {
    ssh: Child,
    latest: Arc<Mutex<Latest>>,
    before: MachineCounters,
}

/// What the shell there has printed last.
#[derive(Debug, Default)]
struct Latest {
    /// `None`: nothing since it was taken.
    counters: Option<MachineCounters>,
    has_ended: bool,
}

/// The counters of a machine at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineCounters {
    /// CPU time of all CPUs so far in ns, without steal.
    pub cpu_ns: u64,
    /// Memory that programs and the kernel use, without what can be freed, in bytes.
    pub memory_bytes: u64,
    /// Bytes read from whole disks and written to them so far.
    pub disk: (u64, u64),
    /// Bytes that network cards received and sent so far; of a machine without cards all its
    /// interfaces but loopback. `None`: there are none.
    pub network: Option<(u64, u64)>,
}

impl MachineElsewhere {
    /// Connects and waits for the first counters.
    ///
    /// # Errors
    /// [`MonitorError::Elsewhere`] with the last line that `ssh` said.
    pub fn open(host: &str) -> Result<MachineElsewhere, MonitorError> {
        let failed = |said: String| MonitorError::Elsewhere { host: host.to_owned(), said };
        let script = format!("exec sh -c '{SCRIPT}'");
        let mut command = Command::new("ssh");
        command.args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", host]);
        command.arg(script).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut ssh = command.spawn().map_err(|error| failed(format!("`ssh`: {error}")))?;
        let (stdout, stderr) = (ssh.stdout.take(), ssh.stderr.take());
        let latest = Arc::new(Mutex::new(Latest::default()));
        let (first, received) = channel();
        if let Some(stdout) = stdout {
            let latest = Arc::clone(&latest);
            std::thread::spawn(move || follow(stdout, &latest, || first.send(()).unwrap_or(())));
        }
        let mut machine = MachineElsewhere { ssh, latest, before: MachineCounters::default() };
        if !is_there(&received) {
            machine.end();
            let mut said = String::new();
            // It has ended, so this does not wait.
            stderr.and_then(|mut stderr| stderr.read_to_string(&mut said).ok());
            let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
            return Err(failed(last.unwrap_or("it gave no answer").to_owned()));
        }
        machine.read();
        Ok(machine)
    }

    /// What the machine used since the previous reading. Without a connection it is nothing, and
    /// memory is not read.
    pub fn read(&mut self) -> RoleSample {
        let (taken, has_ended) = {
            let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
            (latest.counters.take(), latest.has_ended)
        };
        let now = taken.unwrap_or(self.before);
        let before = std::mem::replace(&mut self.before, now);
        let (read, written) = since(now.disk, before.disk);
        let network = now.network.zip(before.network).map(|(now, before)| since(now, before));
        RoleSample {
            cpu_ns: now.cpu_ns.saturating_sub(before.cpu_ns),
            memory_bytes: now.memory_bytes,
            memory_read: taken.is_some() || !has_ended,
            disk: Some(DiskSample { read_bytes: read, written_bytes: written }),
            network: network
                .map(|(received_bytes, sent_bytes)| NetworkSample { received_bytes, sent_bytes }),
            ..RoleSample::default()
        }
    }

    fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.ssh.kill();
        let _ = self.ssh.wait();
    }
}

impl Drop for MachineElsewhere {
    fn drop(&mut self) {
        self.end();
    }
}

fn since(now: (u64, u64), before: (u64, u64)) -> (u64, u64) {
    (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1))
}

fn is_there(first: &Receiver<()>) -> bool {
    match first.recv_timeout(WITHIN) {
        Ok(()) => true,
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => false,
    }
}

/// Reads what the shell prints until it ends.
fn follow(stdout: ChildStdout, latest: &Mutex<Latest>, received: impl FnMut()) {
    each_round(stdout, latest, received);
    latest.lock().unwrap_or_else(PoisonError::into_inner).has_ended = true;
}

fn each_round(stdout: ChildStdout, latest: &Mutex<Latest>, mut received: impl FnMut()) {
    let mut text = String::new();
    for line in BufReader::new(stdout).lines() {
        let Ok(line) = line else { return };
        if line != END {
            text.push_str(&line);
            text.push('\n');
            // Nobody's files are this long: it is not our script that prints.
            if text.len() > TEXT_MAX {
                return;
            }
            continue;
        }
        if let Some(counters) = MachineCounters::parse(&text) {
            latest.lock().unwrap_or_else(PoisonError::into_inner).counters = Some(counters);
            received();
        }
        text.clear();
    }
}

impl MachineCounters {
    /// Parses one round of what [`SCRIPT`] prints. `None`: it is no Linux, or a file is missing.
    fn parse(text: &str) -> Option<MachineCounters> {
        let (names, text) = text.split_once("== stat\n")?;
        let (stat, text) = text.split_once("== memory\n")?;
        let (memory, text) = text.split_once("== disks\n")?;
        let (disks, network) = text.split_once("== network\n")?;
        let names = |key: &str| -> Vec<&str> {
            let line = names.lines().find_map(|line| line.strip_prefix(key));
            line.unwrap_or_default().split_ascii_whitespace().collect()
        };
        let ticks_per_second: u64 = names("ticks:").first()?.parse().ok()?;
        let busy = u128::from(HostTicks::parse(stat)?.busy) * 1_000_000_000;
        let total = memory_bytes(memory, "MemTotal")?;
        Some(MachineCounters {
            cpu_ns: u64::try_from(busy / u128::from(ticks_per_second.max(1))).ok()?,
            memory_bytes: total.saturating_sub(memory_bytes(memory, "MemAvailable")?),
            disk: transfer::of_disks(disks, &names("disks:")),
            network: transfer::of_cards(network, &names("cards:")),
        })
    }
}

/// How long the first answer may take.
const WITHIN: Duration = Duration::from_secs(20);
/// Longest text of one round. A machine with hundreds of CPUs and disks prints less.
const TEXT_MAX: usize = 4 << 20;
/// The line after a round.
const END: &str = "== end";

/// What the shell of the other machine does, without a single quote. It ends when nobody reads any
/// more, and after a day. Disks are those of a kind that is not made of others; cards those with a device.
const SCRIPT: &str = r#"t=$(getconf CLK_TCK 2>/dev/null || echo 100); i=0
while [ $i -lt 86400 ]; do
echo "ticks: $t"
d=; for b in /sys/block/*; do [ -e "$b/device" ] && d="$d ${b##*/}"; done; echo "disks:$d"
c=; for b in /sys/class/net/*; do [ -e "$b/device" ] && c="$c ${b##*/}"; done; echo "cards:$c"
echo "== stat"; cat /proc/stat || exit; echo "== memory"; cat /proc/meminfo
echo "== disks"; cat /proc/diskstats 2>/dev/null; echo "== network"; cat /proc/net/dev
echo "== end" || exit; i=$((i+1)); sleep 1; done"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn round(ticks: u64, sectors: u64, bytes: u64) -> String {
        format!(
            "ticks: 100\ndisks: sda nvme0n1\ncards: eth0\n== stat\n\
             cpu  {ticks} 0 100 900 0 0 0 5\ncpu0 1 0 1 1\ncpu1 1 0 1 1\ncpus 9\nctxt 5\n== memory\n\
             MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\n== disks\n\
             8 0 sda 1 0 {sectors} 0 2 0 10 0 0 0 0\n8 1 sda1 1 0 {sectors} 0 2 0 10 0 0 0 0\n\
             259 0 nvme0n1 1 0 2 0 2 0 4 0 0 0 0\n253 0 dm-0 9 0 99 0 9 0 99 0 0 0 0\n== network\n\
             Inter-| Receive\n face |bytes\n lo: 77 1 0 0 0 0 0 0 77 1 0 0 0 0 0 0\n\
             eth0: {bytes} 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0\nveth1: 9 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n"
        )
    }

    #[test]
    fn whole_disks_and_cards_are_counted_once() {
        let counters = MachineCounters::parse(&round(300, 8, 20)).expect("whole");
        let expected = MachineCounters {
            cpu_ns: 4_000_000_000,
            memory_bytes: 600 << 10,
            disk: (10 * 512, 14 * 512),
            network: Some((20, 30)),
        };
        assert_eq!(counters, expected);
        assert_eq!(MachineCounters::parse("ticks: 100\n== stat\ncpu 1\n"), None);
        assert!(!SCRIPT.contains('\''), "it stands within single quotes");
    }

    #[test]
    fn a_shell_is_followed_until_it_ends() {
        let rounds =
            format!("motd of the machine\n{}{END}\n{}{END}\n", round(1, 0, 0), round(3, 0, 0));
        let child = Command::new("printf").args(["%s", &rounds]).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("printf");
        let (latest, mut count) = (Mutex::new(Latest::default()), 0);
        follow(child.stdout.take().expect("a pipe"), &latest, || count += 1);
        child.wait().expect("it ends");
        let latest = latest.into_inner().expect("unpoisoned");
        let last = latest.counters.expect("the last round");
        assert_eq!((count, last.cpu_ns, latest.has_ended), (2, 1_030_000_000, true));
    }
}
