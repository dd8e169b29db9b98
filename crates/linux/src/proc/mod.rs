//! Reads what the kernel says about processes and the machine: the files of `/proc` (proc(5)).
//!
//! The parsers are pure and take a file's text, for readers that keep files open. [`Proc`] opens and
//! reads files once. A process may end at any moment, so every result is an `Option` or a list that
//! may be out of date. Bytes that are no UTF-8, which only names can contain, are replaced.

mod locks;
mod machine;
mod net;
mod process;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::sock_diag;

pub use locks::{LockWaiter, flock_waiters};
pub use machine::{
    HostTicks, load_average_1min, memory_bytes, net_value, port_range, pressure_some, value_of_key,
};
pub use net::{listening_inodes, listens_at, socket_inode};
pub use process::{
    Stat, SystemCall, namespace_pids, open_files, process_name, proportional_memory, schedstat,
    switches,
};

/// The place of the files: `/proc`, or another directory in tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proc {
    root: PathBuf,
}

impl Default for Proc {
    fn default() -> Proc {
        Proc::at("/proc")
    }
}

impl Proc {
    /// The files below another directory.
    pub fn at(root: impl Into<PathBuf>) -> Proc {
        Proc { root: root.into() }
    }

    /// The path of a file of the machine, such as `net/tcp`; empty: the directory itself.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The path of a file of one process, such as `stat`.
    pub fn of_process(&self, pid: u32, name: &str) -> PathBuf {
        self.root.join(pid.to_string()).join(name)
    }

    /// The text of a file of the machine; empty: there is none.
    pub fn text(&self, name: &str) -> String {
        text(&self.path(name)).unwrap_or_default()
    }

    /// A setting of the kernel without blanks around it, such as `net/core/somaxconn`; `None`: the
    /// kernel does not have it.
    pub fn setting(&self, name: &str) -> Option<String> {
        text(&self.path("sys").join(name)).map(|text| text.trim().to_owned())
    }

    /// All pids, ascending.
    pub fn pids(&self) -> Vec<u32> {
        sorted(numbers_in(&self.root))
    }

    /// The threads of a process, ascending.
    pub fn threads(&self, pid: u32) -> Vec<u32> {
        sorted(numbers_in(&self.of_process(pid, "task")))
    }

    /// The threads of this process, in no order.
    ///
    /// # Errors
    /// The system's error.
    pub fn own_threads(&self) -> io::Result<Vec<u32>> {
        Ok(numbers(fs::read_dir(self.path("self/task"))?).collect())
    }

    /// The state of a process.
    pub fn stat(&self, pid: u32) -> Option<Stat> {
        Stat::parse(&self.process_text(pid, "stat")?)
    }

    /// The name of a process (`comm`), at most 15 bytes; empty: it has ended.
    pub fn name(&self, pid: u32) -> String {
        self.process_text(pid, "comm").unwrap_or_default().trim().to_owned()
    }

    /// The different names of a process's threads.
    pub fn thread_names(&self, pid: u32) -> BTreeSet<String> {
        let tasks = self.of_process(pid, "task");
        let names = numbers_in(&tasks).filter_map(|thread| {
            let name = text(&tasks.join(thread.to_string()).join("comm"))?;
            Some(name.trim_end().to_owned())
        });
        names.collect()
    }

    /// The command line of a process, its words separated by blanks; empty: it has ended. Some
    /// servers write their state there.
    pub fn command_line(&self, pid: u32) -> String {
        let text = self.process_text(pid, "cmdline").unwrap_or_default();
        text.replace('\0', " ").trim_end().to_owned()
    }

    /// Whether `variable`, as `NAME=value`, is in the environment with which a process was started.
    /// False if the environment may not be read.
    pub fn has_variable(&self, pid: u32, variable: &str) -> bool {
        fs::read(self.of_process(pid, "environ"))
            .is_ok_and(|all| all.split(|&byte| byte == 0).any(|one| one == variable.as_bytes()))
    }

    /// The groups of a process, as [`crate::mounts::Mounts::parse`] takes them; empty: it has ended.
    pub fn cgroup(&self, pid: u32) -> String {
        self.process_text(pid, "cgroup").unwrap_or_default()
    }

    /// Whether the memory of a process may be read.
    pub fn shows_memory(&self, pid: u32) -> bool {
        fs::read(self.of_process(pid, "smaps_rollup")).is_ok()
    }

    /// The pids of a process, first in our namespace and last in its own.
    pub fn namespace_pids(&self, pid: u32) -> Vec<u32> {
        self.process_text(pid, "status").map_or_else(Vec::new, |text| namespace_pids(&text))
    }

    /// The PID namespace of a process, such as `pid:[4026531836]`.
    pub fn namespace(&self, pid: u32) -> Option<PathBuf> {
        fs::read_link(self.of_process(pid, "ns/pid")).ok()
    }

    /// Our PID namespace.
    pub fn own_namespace(&self) -> Option<PathBuf> {
        fs::read_link(self.path("self/ns/pid")).ok()
    }

    /// The children of the calling thread; `None`: the kernel lacks `CONFIG_PROC_CHILDREN`.
    pub fn own_children(&self) -> Option<Vec<u32>> {
        let text = text(&self.path("thread-self/children"))?;
        Some(text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
    }

    /// The open descriptors of a process, each as its link; `None`: they may not be read.
    pub fn descriptors(&self, pid: u32) -> Option<impl Iterator<Item = PathBuf> + use<>> {
        let entries = fs::read_dir(self.of_process(pid, "fd")).ok()?;
        let mut links = entries.flatten().map(|entry| fs::read_link(entry.path())).peekable();
        // Root without CAP_SYS_PTRACE may list the descriptors of another user, and no more.
        let is_refused = links.peek().is_some_and(|link| {
            link.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
        });
        (!is_refused).then(|| links.flatten())
    }

    /// The path by which a process has opened the file with this inode; `None`: it has not, or its
    /// descriptors may not be read.
    pub fn opened_path(&self, pid: u32, inode: u64) -> Option<PathBuf> {
        use std::os::unix::fs::MetadataExt as _;
        let entries = fs::read_dir(self.of_process(pid, "fd")).ok()?;
        let own = entries
            .flatten()
            .map(|entry| entry.path())
            .find(|descriptor| fs::metadata(descriptor).is_ok_and(|found| found.ino() == inode));
        fs::read_link(own?).ok()
    }

    /// The inodes of the sockets that listen on `port`, for IPv4 and IPv6.
    pub fn listening_inodes(&self, port: u16) -> BTreeSet<u64> {
        let told = sock_diag::listening_inodes(port).filter(|_| self.root == Path::new("/proc"));
        if let Some(inodes) = told {
            return inodes;
        }
        let tables = ["net/tcp", "net/tcp6"].map(|name| self.text(name));
        tables.iter().flat_map(|table| listening_inodes(table, port)).collect()
    }

    /// Whether something listens on `port` in the network of a process, at an address that others reach.
    pub fn listens_for_others(&self, pid: u32, port: u16) -> bool {
        ["net/tcp", "net/tcp6"].iter().any(|table| {
            let table = self.process_text(pid, table).unwrap_or_default();
            net::listens_for_others(&table, port)
        })
    }

    /// Whether a process listens on the unix socket at `path`.
    pub fn listens_at(&self, path: &Path) -> bool {
        listens_at(&self.text("net/unix"), path)
    }

    /// The first and last port that the kernel gives to outgoing connections.
    pub fn ports(&self) -> Option<(u16, u16)> {
        port_range(&self.setting("net/ipv4/ip_local_port_range")?)
    }

    fn process_text(&self, pid: u32, name: &str) -> Option<String> {
        text(&self.of_process(pid, name))
    }
}

/// The names of a directory's entries that are numbers, in no order.
pub fn numbers_in(directory: &Path) -> impl Iterator<Item = u32> + use<> {
    fs::read_dir(directory).into_iter().flat_map(numbers)
}

fn numbers(entries: fs::ReadDir) -> impl Iterator<Item = u32> {
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn sorted(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

fn text(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory with these files, and `/proc` in its place.
    fn fake(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Proc) {
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let proc = Proc::at(directory.path());
        (directory, proc)
    }

    #[test]
    fn a_process_is_read_from_its_files() {
        let stat = b"77 (php-fpm: \xff) S 12 77 77 0 -1 1 1 0 0 0 3 4 5 6 20 0 2 0 98765 1 2\n";
        let (directory, proc) = fake(&[
            ("77/stat", stat),
            ("77/comm", b"php-fpm8.2\n"),
            ("77/cmdline", b"php-fpm: pool www\0\0\0"),
            ("77/environ", b"A=b\0STACK=one\0"),
            ("77/cgroup", b"0::/shop\n"),
            ("77/status", b"Name:\tphp\nNSpid:\t77\t1\n"),
            ("77/task/78/comm", b"php-1\n"),
            ("77/task/77/comm", b"php-1\n"),
            ("8/comm", b"other\n"),
            ("meminfo", b""),
        ]);
        assert_eq!(proc.pids(), [8, 77]);
        assert_eq!(proc.threads(77), [77, 78]);
        assert_eq!(proc.stat(77).map(|stat| (stat.parent, stat.start_ticks)), Some((12, 98765)));
        assert_eq!(proc.name(77), "php-fpm8.2");
        assert_eq!(proc.thread_names(77), BTreeSet::from(["php-1".to_owned()]));
        assert_eq!(proc.command_line(77), "php-fpm: pool www");
        assert!(proc.has_variable(77, "STACK=one") && !proc.has_variable(77, "STACK=o"));
        assert_eq!(proc.cgroup(77), "0::/shop\n");
        assert_eq!(proc.namespace_pids(77), [77, 1]);
        assert!(proc.descriptors(77).is_none() && !proc.shows_memory(77));
        fs::create_dir(directory.path().join("77/fd")).unwrap();
        symlink("socket:[4711]", directory.path().join("77/fd/3")).unwrap();
        let open: Vec<PathBuf> = proc.descriptors(77).unwrap().collect();
        assert_eq!(open, [Path::new("socket:[4711]")]);
    }

    #[test]
    fn descriptors_that_may_not_be_read_are_not_none() {
        use std::os::unix::process::CommandExt as _;
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: only root can start a process of another user");
            return;
        }
        let mut other =
            std::process::Command::new("sleep").arg("60").uid(65_534).spawn().expect("sleep");
        let pid = other.id();
        let count = move || Proc::default().descriptors(pid).map(|links| links.count() > 0);
        // Rights belong to a thread.
        let without = std::thread::spawn(move || {
            let mut sets = rustix::thread::capabilities(None).expect("the rights");
            sets.effective.remove(rustix::thread::CapabilitySet::SYS_PTRACE);
            rustix::thread::set_capabilities(None, sets).expect("fewer rights");
            count()
        });
        let seen = (count(), without.join().expect("no panic"));
        other.kill().and_then(|()| other.wait()).expect("its end");
        assert_eq!(seen, (Some(true), None));
    }

    #[test]
    fn an_ended_process_reads_as_nothing() {
        let (_directory, proc) = fake(&[]);
        assert_eq!((proc.stat(1), proc.name(1)), (None, String::new()));
        assert_eq!(proc.command_line(1), "");
        assert!(proc.pids().is_empty() && proc.threads(1).is_empty());
        assert!(proc.thread_names(1).is_empty() && proc.namespace_pids(1).is_empty());
        assert!(proc.own_threads().is_err() && proc.own_children().is_none());
    }

    #[test]
    fn settings_and_tables_of_the_machine_are_read() {
        let tcp = b"  sl  local_address rem_address st\n\
            0: 0100007F:1F90 00000000:0000 0A 0:0 0:0 0 0 0 4711 1\n";
        let (_directory, proc) = fake(&[
            ("sys/net/core/somaxconn", b"4096\n"),
            ("sys/net/ipv4/ip_local_port_range", b"32768\t60999\n"),
            ("net/tcp", tcp),
            ("net/unix", b"0: 00000002 00000000 00010000 0001 01 1234 /tmp/a b.sock\n"),
        ]);
        assert_eq!(proc.setting("net/core/somaxconn").as_deref(), Some("4096"));
        assert_eq!(proc.setting("net/core/absent"), None);
        assert_eq!(proc.ports(), Some((32768, 60999)));
        assert_eq!(proc.listening_inodes(8080), BTreeSet::from([4711]));
        assert!(proc.listens_at(Path::new("/tmp/a b.sock")));
    }

    #[test]
    fn this_process_is_found() {
        let (proc, own) = (Proc::default(), std::process::id());
        assert!(proc.pids().contains(&own));
        assert!(proc.own_threads().unwrap().contains(&own));
        assert!(proc.stat(own).is_some_and(|stat| !stat.is_dead() && stat.threads > 0));
        assert_eq!(proc.namespace(own), proc.own_namespace());
    }
}
