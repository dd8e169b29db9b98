//! Reads what a role transfers: bytes read from disks and written to them, and what its network
//! received and sent.
//!
//! A network can only be told apart where the role has a network namespace of its own, as containers
//! have. In the machine's own namespace all programs share the counters, the load among them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use stampede_linux::transfer;
use stampede_model::process_group::Accounting;
use stampede_model::sample::{DiskSample, NetworkSample};

use super::source::{NotShown, OpenFile, ReadBuffer, Sources};

/// Reads the transfer of one role repeatedly.
#[derive(Debug)]
pub struct Transfer {
    disk: Disk,
    network: Option<Network>,
}

#[derive(Debug)]
enum Disk {
    /// `io.stat` of the role's group.
    Group { file: OpenFile, before: (u64, u64) },
    /// `/proc/PID/io` of each process, with the counters of the previous reading. `None`: there was
    /// none.
    Processes { before: Option<BTreeMap<u32, (u64, u64)>> },
}

#[derive(Debug)]
struct Network {
    namespace: PathBuf,
    before: Option<(u64, u64)>,
}

impl Transfer {
    /// Opens what there is. `pids` are the role's processes now.
    pub fn open(sources: &Sources, accounting: &Accounting, pids: &BTreeSet<u32>) -> Transfer {
        let file = match accounting {
            Accounting::CgroupV2(directory) => OpenFile::open(&directory.join("io.stat")).ok(),
            Accounting::CgroupV1 { .. } | Accounting::Proc | Accounting::Ssh { .. } => None,
        };
        let own = namespace(sources, std::process::id());
        let theirs = pids.first().and_then(|pid| namespace(sources, *pid));
        let network = theirs.filter(|theirs| own.as_ref().is_some_and(|own| own != theirs));
        Transfer {
            disk: match file {
                Some(file) => Disk::Group { file, before: (0, 0) },
                None => Disk::Processes { before: None },
            },
            network: network.map(|namespace| Network { namespace, before: None }),
        }
    }

    /// The network namespace whose counters are read; `None`: it is the machine's own.
    pub fn namespace(&self) -> Option<&PathBuf> {
        self.network.as_ref().map(|network| &network.namespace)
    }

    /// Reads no network any more: another role reads the same counters.
    pub fn without_network(&mut self) {
        self.network = None;
    }

    /// Bytes read and written since the previous reading. `None`: the processes do not show them.
    pub fn disk(
        &mut self,
        sources: &Sources,
        pids: &BTreeSet<u32>,
        text: &mut ReadBuffer,
    ) -> Option<DiskSample> {
        match &mut self.disk {
            Disk::Group { file, before } => {
                let now = transfer::of_group(text.reread(file)?);
                let since = since(now, std::mem::replace(before, now));
                Some(DiskSample { read_bytes: since.0, written_bytes: since.1 })
            }
            Disk::Processes { before } => {
                let mut now = BTreeMap::new();
                for pid in pids {
                    match text.shown(&sources.of_process(*pid, "io")) {
                        Ok(io) => now.extend(transfer::of_process(io).map(|io| (*pid, io))),
                        Err(NotShown::Ended) => {}
                        Err(NotShown::Refused) => return None,
                    }
                }
                let mut total = (0, 0);
                for (pid, counters) in &now {
                    // A process that is new since the previous reading counts from its start.
                    let known = before.as_ref().map(|before| before.get(pid).copied());
                    let since =
                        since(*counters, known.map_or(*counters, Option::unwrap_or_default));
                    total = (total.0 + since.0, total.1 + since.1);
                }
                let is_read = !now.is_empty();
                *before = Some(now);
                is_read.then_some(DiskSample { read_bytes: total.0, written_bytes: total.1 })
            }
        }
    }

    /// Bytes received and sent since the previous reading. `None`: the network is not the role's own.
    pub fn network(
        &mut self,
        sources: &Sources,
        pids: &BTreeSet<u32>,
        text: &mut ReadBuffer,
    ) -> Option<NetworkSample> {
        let network = self.network.as_mut()?;
        let pid = pids.first()?;
        let now = transfer::of_namespace(text.of(&sources.of_process(*pid, "net/dev"))?)?;
        let since = since(now, network.before.replace(now).unwrap_or(now));
        Some(NetworkSample { received_bytes: since.0, sent_bytes: since.1 })
    }
}

fn namespace(sources: &Sources, pid: u32) -> Option<PathBuf> {
    std::fs::read_link(sources.of_process(pid, "ns/net")).ok()
}

fn since(now: (u64, u64), before: (u64, u64)) -> (u64, u64) {
    (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    fn io(fake: &FakeProc, pid: u32, read: u64, written: u64) {
        let text = format!("rchar: 9\nread_bytes: {read}\nwrite_bytes: {written}\n");
        fake.put(&format!("{pid}/io"), &text);
    }

    fn namespace_of(fake: &FakeProc, pid: u32, name: &str) {
        let directory = fake.path().join(format!("{pid}/ns"));
        std::fs::create_dir_all(&directory).expect("a directory");
        std::os::unix::fs::symlink(name, directory.join("net")).expect("a link");
    }

    fn disk(of: &mut Transfer, fake: &FakeProc, pids: &[u32]) -> Option<(u64, u64)> {
        let pids = pids.iter().copied().collect();
        let read = of.disk(&fake.sources(), &pids, &mut ReadBuffer::default())?;
        Some((read.read_bytes, read.written_bytes))
    }

    #[test]
    fn processes_count_from_the_first_reading_and_new_ones_from_their_start() {
        let fake = FakeProc::new();
        io(&fake, 10, 500, 50);
        let mut of = Transfer::open(&fake.sources(), &Accounting::Proc, &BTreeSet::from([10]));
        assert_eq!(disk(&mut of, &fake, &[10]), Some((0, 0)), "it was there before");
        io(&fake, 10, 600, 50);
        io(&fake, 11, 7, 8);
        assert_eq!(disk(&mut of, &fake, &[10, 11]), Some((107, 8)));
        assert_eq!(
            disk(&mut of, &fake, &[11]),
            Some((0, 0)),
            "an ended process takes nothing back"
        );
        assert_eq!(disk(&mut of, &fake, &[12]), None, "nobody shows anything");
    }

    #[test]
    fn a_group_counts_ended_processes_too() {
        let fake = FakeProc::new();
        fake.put("cg/io.stat", "8:0 rbytes=1000 wbytes=10 rios=1\n");
        let group = Accounting::CgroupV2(fake.path().join("cg"));
        let mut of = Transfer::open(&fake.sources(), &group, &BTreeSet::new());
        disk(&mut of, &fake, &[]);
        fake.put("cg/io.stat", "8:0 rbytes=1500 wbytes=10 rios=2\n");
        assert_eq!(disk(&mut of, &fake, &[]), Some((500, 0)));
    }

    #[test]
    fn only_a_network_of_its_own_is_read() {
        let fake = FakeProc::new();
        let own = std::process::id();
        namespace_of(&fake, own, "net:[1]");
        for (pid, name) in [(10, "net:[1]"), (20, "net:[2]")] {
            namespace_of(&fake, pid, name);
            fake.put(&format!("{pid}/net/dev"), "eth0: 100 1 0 0 0 0 0 0 40 1 0 0 0 0 0 0\n");
        }
        let read = |pid: u32, of: &mut Transfer| {
            let pids = BTreeSet::from([pid]);
            let read = of.network(&fake.sources(), &pids, &mut ReadBuffer::default())?;
            Some((read.received_bytes, read.sent_bytes))
        };
        let open = |pid| Transfer::open(&fake.sources(), &Accounting::Proc, &BTreeSet::from([pid]));
        assert_eq!(read(10, &mut open(10)), None, "the machine's own");
        let mut container = open(20);
        assert_eq!(read(20, &mut container), Some((0, 0)));
        fake.put("20/net/dev", "eth0: 160 1 0 0 0 0 0 0 41 1 0 0 0 0 0 0\n");
        assert_eq!(read(20, &mut container), Some((60, 1)));
        container.without_network();
        assert_eq!(read(20, &mut container), None);
    }
}
