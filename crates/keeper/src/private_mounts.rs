//! Mounts that only the processes of a stack see. They are prepared before the fork and made in the
//! child, which may not allocate.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::spec::{BindMount, ProcessSetSpec};

/// One step, in the order in which the steps are made.
enum MountStep {
    /// An empty file system in memory.
    Memory {
        directory: CString,
        /// The mount's options.
        options: &'static CStr,
        /// Whether the stack must not start without it.
        is_needed: bool,
    },
    /// A directory in one of these file systems.
    Directory(CString),
    /// The same directory at another path.
    Bind { source: CString, target: CString },
}

/// What a stack sees in another way than the rest of the machine.
pub(super) struct PrivateMounts(Vec<MountStep>);

/// Everybody may write there, as in `/dev/shm`.
const SHARED: &CStr = c"mode=1777";
/// Everybody may pass through.
const PASSED: &CStr = c"mode=0755";

impl PrivateMounts {
    /// The mounts of a stack: its directories in memory, `/dev/shm` among them, then its
    /// directory at another path.
    ///
    /// # Errors
    /// A path contains a NUL byte.
    pub fn of(spec: &ProcessSetSpec) -> io::Result<PrivateMounts> {
        let memory = in_memory(spec).into_iter().map(|directory| {
            let directory = c_path(&directory)?;
            Ok(MountStep::Memory { directory, options: SHARED, is_needed: false })
        });
        let mut steps = memory.collect::<io::Result<Vec<MountStep>>>()?;
        if let Some(bind) = &spec.bind {
            steps.extend(PrivateMounts::of_bind(bind)?.0);
        }
        Ok(PrivateMounts(steps))
    }

    /// The mounts for one directory at another path.
    pub fn of_bind(bind: &BindMount) -> io::Result<PrivateMounts> {
        let mut steps = Vec::new();
        if let Some(cover) = &bind.cover {
            let directory = c_path(cover)?;
            steps.push(MountStep::Memory { directory, options: PASSED, is_needed: true });
            let above = bind.target.ancestors();
            let mut way: Vec<&Path> =
                above.take_while(|directory| *directory != cover.as_path()).collect();
            way.reverse();
            for directory in way {
                steps.push(MountStep::Directory(c_path(directory)?));
            }
        }
        let (source, target) = (c_path(&bind.source)?, c_path(&bind.target)?);
        steps.push(MountStep::Bind { source, target });
        Ok(PrivateMounts(steps))
    }

    /// Makes the mounts in a mount namespace of this process alone. Returns whether all that the
    /// stack needs were made. The caller has just forked: nothing here allocates.
    ///
    /// A killed process leaves its POSIX shared memory in `/dev/shm`, and the IPC namespace covers
    /// only System V shared memory. If that mount is not allowed, the directory stays as it is.
    pub fn make(&self) -> bool {
        let are_needed = self.0.iter().any(MountStep::is_needed);
        // SAFETY: the strings of these system calls end with null. The namespace belongs to this
        // process alone, and its mounts are not visible outside.
        let is_private = unsafe {
            let null = std::ptr::null();
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(
                    null,
                    c"/".as_ptr(),
                    null,
                    libc::MS_REC | libc::MS_SLAVE,
                    null.cast(),
                ) == 0
        };
        match is_private {
            true => self.0.iter().all(|step| step.make() || !step.is_needed()),
            false => !are_needed,
        }
    }
}

impl MountStep {
    fn is_needed(&self) -> bool {
        !matches!(self, MountStep::Memory { is_needed: false, .. })
    }

    fn make(&self) -> bool {
        // SAFETY: the strings of these system calls end with null.
        unsafe {
            match self {
                MountStep::Memory { directory, options, .. } => {
                    let tmpfs = c"tmpfs".as_ptr();
                    let flags = libc::MS_NOSUID | libc::MS_NODEV;
                    libc::mount(tmpfs, directory.as_ptr(), tmpfs, flags, options.as_ptr().cast())
                        == 0
                }
                MountStep::Directory(directory) => libc::mkdir(directory.as_ptr(), 0o755) == 0,
                MountStep::Bind { source, target } => {
                    let null = std::ptr::null();
                    let flags = libc::MS_BIND | libc::MS_REC;
                    libc::mount(source.as_ptr(), target.as_ptr(), null, flags, null.cast()) == 0
                }
            }
        }
    }
}

/// The directories that are private to the stack and in memory. `/dev/shm` is one of them, unless
/// something of the stack is there and so must stay visible.
fn in_memory(spec: &ProcessSetSpec) -> Vec<PathBuf> {
    let shared = Path::new("/dev/shm");
    let processes = spec.processes.iter();
    let paths = processes.flat_map(|one| [&one.program, &one.cwd, &one.log]);
    let bound = spec.bind.iter().flat_map(|bind| [&bind.source, &bind.target]);
    let mut paths = paths.chain(bound).chain([&spec.work]);
    let own = paths.all(|path| !path.starts_with(shared)).then(|| shared.to_owned());
    spec.in_memory.iter().cloned().chain(own).collect()
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(mounts: &PrivateMounts) -> Vec<String> {
        let text = |path: &CString| path.to_string_lossy().into_owned();
        let step = |step: &MountStep| match step {
            MountStep::Memory { directory, .. } => format!("memory {}", text(directory)),
            MountStep::Directory(directory) => format!("directory {}", text(directory)),
            MountStep::Bind { source, target } => {
                format!("bind {} {}", text(source), text(target))
            }
        };
        mounts.0.iter().map(step).collect()
    }

    #[test]
    fn a_directory_that_may_not_be_passed_is_covered_and_has_only_the_way_in_it() {
        let bind = |cover: Option<&str>| BindMount {
            source: "/w/app".into(),
            target: "/closed/a/shop".into(),
            cover: cover.map(PathBuf::from),
        };
        let made = |cover| steps(&PrivateMounts::of_bind(&bind(cover)).expect("paths"));
        assert_eq!(made(None), ["bind /w/app /closed/a/shop"]);
        let covered = [
            "memory /closed",
            "directory /closed/a",
            "directory /closed/a/shop",
            "bind /w/app /closed/a/shop",
        ];
        assert_eq!(made(Some("/closed")), covered);
        assert_eq!(made(Some("/closed/a"))[0], "memory /closed/a");
    }
}
