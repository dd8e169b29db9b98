//! A small disk for one test: what happens when it is full.

use std::path::Path;

use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::UnshareFlags;

/// Runs `work` while a disk of so many bytes is mounted at `at`, which only its thread sees. Returns
/// whether it ran: mounts need root.
pub fn with_small_disk(at: &Path, bytes: u64, work: impl FnOnce() + Send) -> bool {
    let thread = || {
        // SAFETY: the thread leaves only its mount namespace. Memory and files stay shared.
        let unshared = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) };
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        let size = std::ffi::CString::new(format!("size={bytes}")).unwrap_or_default();
        let mounted = unshared
            .and_then(|()| rustix::mount::mount_change("/", private))
            .and_then(|()| rustix::mount::mount("none", at, "tmpfs", MountFlags::empty(), &*size));
        if let Err(error) = mounted {
            println!("SKIPPED: no disk can be mounted here: {error}");
            return false;
        }
        work();
        true
    };
    std::thread::scope(|scope| match scope.spawn(thread).join() {
        Ok(ran) => ran,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
