//! Registers sockets with the kernel under the number of their slot (registered files), so that it
//! need not look them up for each send.
//!
//! Before Linux 6.13, an operation in flight on one registered socket keeps all sockets open that
//! were released after it (<https://github.com/axboe/liburing/issues/1192>). A server would then
//! see no connection end, so sockets are not registered there.

use std::os::fd::RawFd;

use io_uring::types::Fixed;
use io_uring::{Submitter, opcode, squeue};

use crate::engine::Token;

/// The table of a ring's registered sockets.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisteredFiles {
    /// Number of slots in the table; 0 where there is no table.
    count: u32,
}

impl RegisteredFiles {
    /// A table with `slots` empty slots, for the ring of `submitter`. It has none where the kernel
    /// is too old, or refuses because of the limit on open files.
    pub(super) fn register(submitter: &Submitter<'_>, slots: u32) -> RegisteredFiles {
        let release = rustix::system::uname();
        let frees_each = release.release().to_str().is_ok_and(frees_each);
        let available = frees_each && submitter.register_files_sparse(slots).is_ok();
        RegisteredFiles { count: if available { slots } else { 0 } }
    }

    /// Registers a slot's socket. `None`: the table has no place for it, or the kernel has no
    /// memory.
    pub(super) fn insert(
        self,
        submitter: &Submitter<'_>,
        token: Token,
        fd: RawFd,
    ) -> Option<Fixed> {
        let has_room = token.0 < self.count;
        let inserted = has_room && submitter.register_files_update(token.0, &[fd]).is_ok();
        inserted.then_some(Fixed(token.0))
    }
}

/// Empties a place of the table, behind everything queued before. The socket stays open.
pub(super) fn remove(file: Fixed) -> squeue::Entry {
    opcode::Close::new(file).build()
}

/// Whether a kernel of this release (`6.12.9-amd64`) frees registered files one by one.
fn frees_each(release: &str) -> bool {
    let mut numbers = release.split(|char: char| !char.is_ascii_digit()).map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    (major, minor) >= FREES_EACH
}

const FREES_EACH: (u32, u32) = (6, 13);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_release_decides_whether_registered_files_are_freed_one_by_one() {
        for release in ["6.13.0", "6.13-rc1", "6.18.5-amd64", "7.0.1", "10.2"] {
            assert!(frees_each(release), "{release}");
        }
        for release in ["6.12.48+deb13-amd64", "6.1.0-40-amd64", "5.15", "6", "", "linux-6.18"] {
            assert!(!frees_each(release), "{release}");
        }
    }
}
