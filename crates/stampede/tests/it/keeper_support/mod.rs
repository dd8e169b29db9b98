//! A place for one stack, and checks that nothing of the stack is left.

pub mod roles;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use stampede_keeper::spec::{ProcessSetSpec, ProcessSpec, StopSpec};
use stampede_keeper::{CgroupUse, KeeperOptions, NamespaceUse, PidNamespace, WorkingDirectory};
use stampede_model::time::Nanos;

/// The binary that becomes keeper and init.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_stampede");
/// `nobody` and `nogroup` on Debian; the kernel needs no entry in any file.
pub const NOBODY: (u32, u32) = (65534, 65534);
/// The longest time of every wait.
const LIMIT: Duration = Duration::from_secs(20);

/// The directories and names of one stack.
pub struct Sandbox {
    pub directory: tempfile::TempDir,
    pub id: String,
    pub options: KeeperOptions,
}

impl Sandbox {
    /// A place with all features that the machine allows.
    pub fn new() -> Sandbox {
        Sandbox::with(NamespaceUse::Allowed, CgroupUse::Allowed)
    }

    pub fn with(namespaces: NamespaceUse, cgroups: CgroupUse) -> Sandbox {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let directory = tempfile::Builder::new().prefix("stampede-keeper-").tempdir().unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let options = KeeperOptions {
            program: PathBuf::from(PROGRAM),
            namespaces,
            cgroups,
            work: WorkingDirectory::Remove,
            journal: directory.path().join("own/journal"),
        };
        Sandbox { id: format!("test-{}-{number}", std::process::id()), directory, options }
    }

    /// Gives the place to an ordinary user.
    pub fn give_to(&self, (uid, gid): (u32, u32)) {
        chown(self.directory.path(), Some(uid), Some(gid)).unwrap();
    }

    pub fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    pub fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    pub fn log_text(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// A process `/bin/sh -c script`, which gets 300 ms to end after SIGTERM.
    pub fn sh(&self, role: &str, script: &str) -> ProcessSpec {
        self.process(role, "/bin/sh", &["-c", script])
    }

    pub fn process(&self, role: &str, program: &str, args: &[&str]) -> ProcessSpec {
        ProcessSpec {
            role: role.to_owned(),
            program: PathBuf::from(program),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            cwd: self.directory.path().to_owned(),
            input: None,
            user: None,
            log: self.log(),
            stop: StopSpec { signal: libc::SIGTERM, grace: Nanos::from_millis(300) },
        }
    }

    pub fn stack(&self, processes: Vec<ProcessSpec>) -> ProcessSetSpec {
        ProcessSetSpec {
            id: self.id.clone(),
            work: self.work(),
            in_memory: Vec::new(),
            bind: None,
            cpus: Vec::new(),
            cpus_by_role: BTreeMap::new(),
            cpu_quota: None,
            memory_bytes: 0,
            processes,
            containers: None,
            first: 0,
        }
    }

    /// Describes what is left of the stack; empty: nothing.
    pub fn left(&self) -> Vec<String> {
        let mut left = processes_of(&self.id);
        left.extend(groups_of(&self.id).iter().map(|path| path.display().to_string()));
        if self.work().exists() {
            left.push("working directory".to_owned());
        }
        left.extend(self.journal_entries());
        left
    }

    pub fn journal_entries(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.options.journal).into_iter().flatten().flatten();
        entries.map(|entry| format!("journal {}", entry.file_name().display())).collect()
    }

    /// Waits until nothing is left.
    pub fn assert_nothing_left(&self, when: &str) {
        wait_until(|| self.left().is_empty())
            .unwrap_or_else(|()| panic!("{when}: left {:?}", self.left()));
    }
}

/// Polls until the condition holds; `Err` after `LIMIT`.
pub fn wait_until(mut holds: impl FnMut() -> bool) -> Result<(), ()> {
    let until = Instant::now() + LIMIT;
    while !holds() {
        if Instant::now() > until {
            return Err(());
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    Ok(())
}

/// Living processes with the stack's marker, and its keeper and init, found by their arguments.
pub fn processes_of(id: &str) -> Vec<String> {
    let marker = format!("STAMPEDE_STACK={id}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let path = entry.path();
        let has = |file: &str, wanted: &str| {
            fs::read(path.join(file))
                .is_ok_and(|all| all.split(|&byte| byte == 0).any(|one| one == wanted.as_bytes()))
        };
        let ours = has("environ", &marker)
            || has("cmdline", id) && (has("cmdline", "__keeper") || has("cmdline", "__init"));
        if ours {
            let command = fs::read_to_string(path.join("cmdline")).unwrap_or_default();
            found.push(format!("{} {}", entry.file_name().display(), command.replace('\0', " ")));
        }
    }
    found
}

/// The stack's cgroup directories in every hierarchy, slices of systemd too.
pub fn groups_of(id: &str) -> Vec<PathBuf> {
    fn walk(directory: &Path, names: &[String; 2], depth: u32, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if names.iter().any(|name| entry.file_name() == name.as_str()) {
                found.push(entry.path());
            } else if depth > 0 {
                walk(&entry.path(), names, depth - 1, found);
            }
        }
    }
    let mut found = Vec::new();
    let word = id.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let names = [format!("stampede-{id}"), format!("stampede_{word}.slice")];
    walk(Path::new("/sys/fs/cgroup"), &names, 8, &mut found);
    found
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether PID namespaces are available here.
pub fn namespaces() -> bool {
    let found = stampede_keeper::capabilities(Path::new(PROGRAM)).pid_namespace;
    found != PidNamespace::No
}
