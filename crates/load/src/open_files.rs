//! The limit of open files: every connection needs one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to `wanted`, at most to the hard limit; never lowers it. Says what
/// it is afterwards; `None`: no limit. It is the process's, and is inherited by what it
/// starts: a program that wants its children equal calls it before it starts the first.
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
