//! Keeps what varies in the answers to each request. Entries are in the spill file, so that only
//! the one in use takes memory.

use std::collections::HashMap;
use std::sync::Arc;

use super::Nondeterminism;
use crate::model::CheckRequest;
use crate::spill_file::{SpillFile, Stored};

/// What varies in the answers to each request.
#[derive(Debug, Default)]
pub struct NondeterminismStore {
    spill_file: SpillFile,
    by_request: HashMap<Arc<CheckRequest>, Stored<Nondeterminism>>,
}

impl NondeterminismStore {
    /// Returns an instance that has learnt nothing.
    pub fn new(spill_file: SpillFile) -> NondeterminismStore {
        NondeterminismStore { spill_file, by_request: HashMap::new() }
    }

    /// Returns what is known about a request's answers; `None` if they were never seen to vary.
    pub fn get(&self, request: &CheckRequest) -> Option<Nondeterminism> {
        self.by_request.get(request).map(|kept| kept.get().into_owned())
    }

    /// Learns as [`Nondeterminism::learn`] does. `before` gives the initial value for a new
    /// request.
    pub fn learn(
        &mut self,
        request: &Arc<CheckRequest>,
        one: &str,
        other: &str,
        before: impl FnOnce() -> Nondeterminism,
    ) {
        if one == other {
            return;
        }
        let known = self.get(request);
        let is_first = known.is_none();
        let mut nondeterminism = known.unwrap_or_else(before);
        if nondeterminism.learn(one, other) || is_first {
            self.by_request.insert(Arc::clone(request), self.spill_file.put(nondeterminism));
        }
    }
}
