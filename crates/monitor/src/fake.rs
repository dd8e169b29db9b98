//! Imitates `/proc` with plain files, for tests.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use stampede_linux::proc::Proc;

use super::source::Sources;

/// A directory with processes, the machine's counters, and the cgroup directories that a test adds.
pub struct FakeProc {
    directory: tempfile::TempDir,
    parents: RefCell<BTreeMap<u32, u32>>,
    children_files: bool,
}

impl FakeProc {
    /// An idle machine without processes.
    pub fn new() -> FakeProc {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let fake = FakeProc { directory, parents: RefCell::default(), children_files: true };
        fake.put("stat", "cpu  0 0 0 0 0 0 0 0 0 0\n");
        fake
    }

    /// An idle machine whose kernel lacks `CONFIG_PROC_CHILDREN`.
    pub fn without_children_files() -> FakeProc {
        FakeProc { children_files: false, ..FakeProc::new() }
    }

    /// Sources with 100 ticks per second: one tick is 10 ms.
    pub fn sources(&self) -> Sources {
        Sources { proc: Proc::at(self.path()), ticks_per_second: 100 }
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file in place, so that readers that keep it open see the change.
    pub fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("below the directory")).expect("a directory");
        fs::write(&path, text).expect("a file");
        path
    }

    /// Adds a process with its own ticks and those of its reaped children. It started at tick 1.
    pub fn process(&self, pid: u32, parent: u32, ticks: [u64; 2]) {
        self.process_started_at(pid, parent, ticks, 1);
    }

    /// Adds a process with a given start tick.
    pub fn process_started_at(&self, pid: u32, parent: u32, ticks: [u64; 2], started: u64) {
        let [own, reaped] = ticks;
        let stat = format!(
            "{pid} (php-fpm: pool (w) {pid}) S {parent} 0 0 0 -1 0 0 0 0 0 {own} 0 {reaped} 0 \
             20 0 1 0 {started} 0 0\n"
        );
        self.put(&format!("{pid}/stat"), &stat);
        self.parents.borrow_mut().insert(pid, parent);
        self.link();
    }

    /// Sets the context switches and the proportional memory of a process with one thread.
    pub fn figures(&self, pid: u32, switches: u64, memory_kib: u64) {
        self.put(
            &format!("{pid}/status"),
            &format!(
                "Name:\tx\nThreads:\t1\nvoluntary_ctxt_switches:\t{switches}\n\
                 nonvoluntary_ctxt_switches:\t0\n"
            ),
        );
        self.put(
            &format!("{pid}/smaps_rollup"),
            &format!("Pss: 999999 kB\nPss_Anon: {memory_kib} kB\nPss_Shmem: 0 kB\n"),
        );
    }

    /// Removes a process.
    pub fn end(&self, pid: u32) {
        fs::remove_dir_all(self.path().join(pid.to_string())).expect("it was there");
        self.parents.borrow_mut().remove(&pid);
        self.link();
    }

    fn link(&self) {
        if !self.children_files {
            return;
        }
        let parents = self.parents.borrow();
        for pid in parents.keys() {
            let children: String = parents
                .iter()
                .filter(|(_, parent)| *parent == pid)
                .map(|(child, _)| format!("{child} "))
                .collect();
            self.put(&format!("{pid}/task/{pid}/children"), &children);
        }
    }
}
