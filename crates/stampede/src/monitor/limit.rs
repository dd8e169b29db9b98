//! How often a stack met its memory limit.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::parse;
use super::source::{Kept, Text};
use crate::keeper::spec::{Accounting, ProcessGroup};

/// Reads the counters of the groups that have a limit: those of the roles, and the one that
/// holds them all.
#[derive(Debug, Default)]
pub struct Limit {
    /// `memory.events` (v2) or `memory.failcnt` (v1).
    counters: Vec<Kept>,
    before: u64,
}

impl Limit {
    /// Opens what is there; differences start now.
    pub fn open(group: &ProcessGroup, text: &mut Text) -> Limit {
        let mut files = BTreeSet::new();
        for role in &group.roles {
            let (folder, limit, counter) = match &role.accounting {
                Accounting::CgroupV2(folder) => (folder, "memory.max", "memory.events"),
                Accounting::CgroupV1 { memory: Some(folder), .. } => {
                    (folder, "memory.limit_in_bytes", "memory.failcnt")
                }
                Accounting::CgroupV1 { memory: None, .. } | Accounting::Proc => continue,
            };
            let holds = [Some(folder.as_path()), folder.parent()].into_iter().flatten();
            let limited = holds.filter(|folder| is_limited(&folder.join(limit), text));
            files.extend(limited.map(|folder| folder.join(counter)));
        }
        let open = |path: PathBuf| Kept::open(&path).ok();
        let mut limit = Limit { counters: files.into_iter().filter_map(open).collect(), before: 0 };
        limit.hits(text);
        limit
    }

    /// Since the last time.
    pub fn hits(&mut self, text: &mut Text) -> u64 {
        let mut of_one = |file: &Kept| {
            let text = text.again(file)?;
            parse::keyed(text, "max").or_else(|| parse::single(text))
        };
        let now: u64 = self.counters.iter().filter_map(&mut of_one).sum();
        let since = now.saturating_sub(self.before);
        self.before = self.before.max(now);
        since
    }
}

/// v2 says `max` where there is no limit, v1 a number that no machine has.
fn is_limited(path: &Path, text: &mut Text) -> bool {
    text.of(path).and_then(parse::single).is_some_and(|bytes| bytes < NO_LIMIT)
}

/// An exbibyte.
const NO_LIMIT: u64 = 1 << 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keeper::spec::RoleGroup;
    use crate::monitor::fake::FakeProc;

    fn group(accounting: &[Accounting]) -> ProcessGroup {
        let role = |accounting: &Accounting| RoleGroup {
            role: "php".to_owned(),
            accounting: accounting.clone(),
            roots: Vec::new(),
        };
        ProcessGroup { roles: accounting.iter().map(role).collect() }
    }

    #[test]
    fn the_group_that_holds_all_roles_is_counted_once() {
        let fake = FakeProc::new();
        fake.put("stack/memory.limit_in_bytes", "67108864\n");
        fake.put("stack/memory.failcnt", "5\n");
        for role in ["php", "web"] {
            fake.put(&format!("stack/{role}/memory.limit_in_bytes"), "9223372036854771712\n");
            fake.put(&format!("stack/{role}/memory.failcnt"), "100\n");
        }
        let folder = |name| fake.path().join("stack").join(name);
        let v1 = |name| Accounting::CgroupV1 { cpuacct: None, memory: Some(folder(name)) };
        let mut text = Text::default();
        let mut limit = Limit::open(&group(&[v1("php"), v1("web")]), &mut text);
        fake.put("stack/memory.failcnt", "12\n");
        assert_eq!([limit.hits(&mut text), limit.hits(&mut text)], [7, 0]);
    }

    #[test]
    fn v2_tells_it_among_its_events() {
        let fake = FakeProc::new();
        fake.put("cg/memory.max", "1000\n");
        fake.put("cg/memory.events", "low 0\nhigh 0\nmax 3\noom 0\n");
        let mut text = Text::default();
        let mut limit =
            Limit::open(&group(&[Accounting::CgroupV2(fake.path().join("cg"))]), &mut text);
        fake.put("cg/memory.events", "low 0\nhigh 0\nmax 4\noom 0\n");
        assert_eq!(limit.hits(&mut text), 1);
        fake.put("free/memory.max", "max\n");
        fake.put("free/memory.events", "max 3\n");
        let free = group(&[Accounting::CgroupV2(fake.path().join("free"))]);
        assert!(Limit::open(&free, &mut text).counters.is_empty());
    }
}
