//! What moves in the answers to many requests: that of one is in memory, all others are on a shelf.

use std::collections::HashMap;
use std::sync::Arc;

use super::Nondeterminism;
use crate::check::model::Asked;
use crate::check::spill_file::{SpillFile, Stored};

/// What moves in the answers to each request.
#[derive(Debug, Default)]
pub struct Learnt {
    spill_file: SpillFile,
    by_request: HashMap<Arc<Asked>, Stored<Nondeterminism>>,
}

impl Learnt {
    /// Nothing yet.
    pub fn on(spill_file: SpillFile) -> Learnt {
        Learnt { spill_file, by_request: HashMap::new() }
    }

    /// What is known of a request's; `None`: it was never seen to move.
    pub fn get(&self, asked: &Asked) -> Option<Nondeterminism> {
        self.by_request.get(asked).map(|kept| kept.get().into_owned())
    }

    /// As [`Nondeterminism::learn`]. `before`: what a request's is at first.
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
