//! The shots under way, in the order of their start.

use crate::chain::Chain;
use crate::engine::Slot;
use crate::protocol::ShotId;
use crate::recorder::Shot;

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnderWay {
    pub(crate) shot: Shot,
    pub(crate) slot: Slot,
}

/// All of them. Memory grows to the highest number under way, then stays.
#[derive(Debug, Default)]
pub(crate) struct Shots {
    all: Vec<UnderWay>,
    unused: Vec<ShotId>,
    order: Chain,
    count: u32,
}

impl Shots {
    pub(crate) fn add(&mut self, shot: Shot, slot: Slot) -> ShotId {
        let under_way = UnderWay { shot, slot };
        let id = match self.unused.pop() {
            Some(id) => {
                self.all[id.0 as usize] = under_way;
                id
            }
            None => {
                self.all.push(under_way);
                ShotId(self.all.len() as u32 - 1)
            }
        };
        self.order.push(id.0);
        self.count += 1;
        id
    }

    pub(crate) fn remove(&mut self, id: ShotId) -> UnderWay {
        self.order.remove(id.0);
        self.unused.push(id);
        self.count -= 1;
        self.all[id.0 as usize]
    }

    pub(crate) fn at(&self, id: ShotId) -> &UnderWay {
        &self.all[id.0 as usize]
    }

    /// The one that started first: the next to time out.
    pub(crate) fn first(&self) -> Option<&UnderWay> {
        self.order.first().map(|id| self.at(ShotId(id)))
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }
}
