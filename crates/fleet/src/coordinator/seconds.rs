//! Adds up the seconds of all agents, and reports each once all agents are past it.

use std::collections::VecDeque;

use stampede_model::counts::{Counts, PackedSecond, Second, TimeSet};
use stampede_stats::histogram::Unpacker;

/// The seconds of a load.
#[derive(Debug)]
pub(super) struct MergedSeconds {
    /// Seconds that were not reported yet, from `first` on.
    pending: VecDeque<Second>,
    first: u32,
    /// For each agent, the second that it sends next; `None`: it sends no more.
    next_of: Vec<Option<u32>>,
    counts: Counts,
    times: TimeSet,
    unpacker: Unpacker,
}

impl MergedSeconds {
    pub(super) fn new(agents: usize) -> MergedSeconds {
        MergedSeconds {
            pending: VecDeque::new(),
            first: 0,
            next_of: vec![Some(0); agents],
            counts: Counts::default(),
            times: TimeSet::empty(),
            unpacker: Unpacker::new(),
        }
    }

    /// Adds a second of an agent. `false`: it is not the one that comes next, or cannot be read.
    pub(super) fn add(&mut self, agent: usize, second: &PackedSecond) -> bool {
        // No agent is minutes ahead of the others, and each second takes memory.
        if self.next_of[agent] != Some(second.index) || second.index - self.first > AHEAD_MAX {
            return false;
        }
        self.next_of[agent] = second.index.checked_add(1);
        while self.pending.len() <= (second.index - self.first) as usize {
            self.pending.push_back(Second::empty(self.first + self.pending.len() as u32));
        }
        let sum = &mut self.pending[(second.index - self.first) as usize];
        sum.add(second, &mut self.unpacker).is_ok()
    }

    /// This agent sends no more seconds.
    pub(super) fn ended(&mut self, agent: usize) {
        self.next_of[agent] = None;
    }

    /// The next second that all agents are past; also of agents that have ended.
    pub(super) fn next_complete(&mut self) -> Option<Second> {
        let slowest = self.next_of.iter().flatten().min();
        if slowest.is_some_and(|next| *next <= self.first) {
            return None;
        }
        let second = self.pending.pop_front()?;
        self.first += 1;
        self.counts.add(&second.counts);
        self.times.merge(&second.times);
        Some(second)
    }

    /// What the reported seconds add up to.
    pub(super) fn totals(&self) -> (&Counts, &TimeSet) {
        (&self.counts, &self.times)
    }

    /// How many seconds were reported.
    pub(super) fn reported(&self) -> u64 {
        u64::from(self.first)
    }
}

/// How many seconds an agent may be ahead of the slowest.
const AHEAD_MAX: u32 = 60;
