//! The limit of open files: every connection needs a file descriptor.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to `wanted`, at most to the hard limit, and never lowers it. Returns the
/// limit afterwards; `None` means unlimited. The limit belongs to the process, and processes
/// started later inherit it. A program whose children must have equal limits calls this before it
/// starts the first.
pub fn raise_to(wanted: u64) -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let now = limit.current?;
    let best = limit.maximum.map_or(wanted, |hard| hard.min(wanted));
    if best <= now {
        return Some(now);
    }
    let raised = Rlimit { current: Some(best), maximum: limit.maximum };
    Some(setrlimit(Resource::Nofile, raised).map_or(now, |()| best))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_raised_but_never_lowered() {
        let before = raise_to(0);
        let wanted = before.unwrap_or(0) + 1;
        let after = raise_to(wanted);
        let hard = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
        assert!(after >= before);
        assert!(after.is_none_or(|after| after == wanted.min(hard)));
    }
}
