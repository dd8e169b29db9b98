//! Keeps what varies in the answers to each request. Entries are in the spill file, so that only
//! the one in use takes memory.

use std::collections::HashMap;
use std::sync::Arc;

use super::Nondeterminism;
use crate::check::model::Asked;
use crate::check::spill_file::{SpillFile, Stored};

/// What varies in the answers to each request.
#[derive(Debug, Default)]
pub struct Learnt {
    spill_file: SpillFile,
    by_request: HashMap<Arc<Asked>, Stored<Nondeterminism>>,
}

impl Learnt {
    /// Returns an instance that has learnt nothing.
    pub fn on(spill_file: SpillFile) -> Learnt {
        Learnt { spill_file, by_request: HashMap::new() }
    }

    /// Returns what is known about a request's answers; `None` if they were never seen to vary.
    pub fn get(&self, asked: &Asked) -> Option<Nondeterminism> {
        self.by_request.get(asked).map(|kept| kept.get().into_owned())
    }

    /// Learns as [`Nondeterminism::learn`] does. `before` gives the initial value for a new
    /// request.
    pub fn learn(
        &mut self,
        asked: &Arc<Asked>,
        one: &str,
        other: &str,
        before: impl FnOnce() -> Nondeterminism,
    ) {
        if one == other {
            return;
        }
        let known = self.get(asked);
        let is_first = known.is_none();
        let mut nondeterminism = known.unwrap_or_else(before);
        if nondeterminism.learn(one, other) || is_first {
            self.by_request.insert(Arc::clone(asked), self.spill_file.put(nondeterminism));
        }
    }
}
