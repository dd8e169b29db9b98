//! What moves in the answers to many requests: that of one is in memory, all others are on a shelf.

use std::collections::HashMap;
use std::sync::Arc;

use super::Moving;
use crate::check::model::Asked;
use crate::check::shelf::{Kept, Shelf};

/// What moves in the answers to each request.
#[derive(Debug, Default)]
pub struct Learnt {
    shelf: Shelf,
    by_request: HashMap<Arc<Asked>, Kept<Moving>>,
}

impl Learnt {
    /// Nothing yet.
    pub fn on(shelf: Shelf) -> Learnt {
        Learnt { shelf, by_request: HashMap::new() }
    }

    /// What is known of a request's; `None`: it was never seen to move.
    pub fn get(&self, asked: &Asked) -> Option<Moving> {
        self.by_request.get(asked).map(|kept| kept.get().into_owned())
    }

    /// As [`Moving::learn`]. `before`: what a request's is at first.
    pub fn learn(
        &mut self,
        asked: &Arc<Asked>,
        one: &str,
        other: &str,
        before: impl FnOnce() -> Moving,
    ) {
        if one == other {
            return;
        }
        let known = self.get(asked);
        let is_first = known.is_none();
        let mut moving = known.unwrap_or_else(before);
        if moving.learn(one, other) || is_first {
            self.by_request.insert(Arc::clone(asked), self.shelf.put(moving));
        }
    }
}
