//! Reads the table of file locks (proc_locks(5)).

/// A process that waits for a lock of a whole file (flock(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockWaiter {
    /// The process.
    pub pid: u32,
    /// The inode of the file.
    pub inode: u64,
}

/// The processes of a table that wait for a lock by flock(2).
pub fn flock_waiters(table: &str) -> impl Iterator<Item = LockWaiter> + '_ {
    table.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        if fields.next()? != "->" || fields.next()? != "FLOCK" {
            return None;
        }
        // The kind (`ADVISORY`) and the access (`WRITE`) do not matter.
        let pid = fields.nth(2)?.parse().ok()?;
        let inode = fields.next()?.rsplit(':').next()?.parse().ok()?;
        Some(LockWaiter { pid, inode })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_wait_are_told_from_those_that_hold() {
        let table = "1: FLOCK  ADVISORY  WRITE 4711 fd:01:131077 0 EOF\n\
                     1: -> FLOCK  ADVISORY  WRITE 4712 fd:01:131077 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 812 00:16:902 0 EOF\n\
                     2: -> POSIX  ADVISORY  WRITE 813 00:16:902 0 EOF\n\
                     3: -> FLOCK  ADVISORY  READ  99 00:2f:7 0 EOF\n\
                     4: -> FLOCK\n\nbroken\n";
        let waiters: Vec<_> = flock_waiters(table).collect();
        let expected = [LockWaiter { pid: 4712, inode: 131_077 }, LockWaiter { pid: 99, inode: 7 }];
        assert_eq!(waiters, expected);
    }
}
