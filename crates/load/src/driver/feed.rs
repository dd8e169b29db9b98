//! The requests of a load thread, in the order in which it fires them.

use std::sync::Arc;

use crate::ammo::Request;

/// What one load thread fires: of a list its share, from the first again after the last.
#[derive(Debug)]
pub(crate) struct Feed {
    ammo: Arc<[Request]>,
    next: usize,
    stride: usize,
}

impl Feed {
    /// The `first`-th of the list, then each `stride`-th after it. The list is not empty.
    pub(crate) fn new(ammo: Arc<[Request]>, first: usize, stride: usize) -> Feed {
        let next = first % ammo.len();
        Feed { ammo, next, stride }
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> &Request {
        let at = self.next;
        self.next = (at + self.stride) % self.ammo.len();
        &self.ammo[at]
    }
}
