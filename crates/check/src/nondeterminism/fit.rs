//! Decides whether another answer has the same fixed runs, with allowed content between them.

use std::collections::HashSet;
use std::ops::Range;

use super::Clock;
use super::volatile_region::{Tokenized, VolatileRegion};
use crate::natural::Token;

/// Returns the range of `theirs` in each gap of `ours`; `None` if it does not fit.
pub fn fit(
    ours: &[Token],
    gaps: &[VolatileRegion],
    theirs: Tokenized,
    clock: &Clock,
) -> Option<Vec<Range<usize>>> {
    let runs = runs(ours.len(), gaps);
    let (first, others) = runs.split_first()?;
    let fit = Fit { ours, theirs, gaps, runs: others };
    if gaps.is_empty() || !is_run(&ours[first.clone()], theirs.1) {
        return None;
    }
    fit.search(first.len(), clock)
}

/// Returns the fixed runs: before, between and after the gaps.
pub fn runs(length: usize, gaps: &[VolatileRegion]) -> Vec<Range<usize>> {
    let starts = [0].into_iter().chain(gaps.iter().map(|gap| gap.range.end));
    let ends = gaps.iter().map(|gap| gap.range.start).chain([length]);
    starts.zip(ends).map(|(start, end)| start..end).collect()
}

/// Returns whether `tokens` begin with a run.
fn is_run(run: &[Token], tokens: &[Token]) -> bool {
    run.len() <= tokens.len() && run.iter().zip(tokens).all(|(one, other)| one.is_same(other))
}

struct Fit<'a> {
    ours: &'a [Token],
    theirs: Tokenized<'a>,
    gaps: &'a [VolatileRegion],
    /// The run after each gap.
    runs: &'a [Range<usize>],
}

impl Fit<'_> {
    /// Tries the shortest contents first, and goes back if a later run is not found.
    fn search(&self, from: usize, clock: &Clock) -> Option<Vec<Range<usize>>> {
        let mut filled: Vec<Range<usize>> = Vec::new();
        filled.push(from..from);
        // From these places, no solution exists.
        let mut dead = HashSet::new();
        let mut steps = 0_u32;
        while let Some(last) = filled.last().cloned() {
            steps += 1;
            if steps.is_multiple_of(64) && clock.is_over() {
                return None;
            }
            let gap = filled.len() - 1;
            let found = match dead.contains(&(gap, last.start)) {
                true => None,
                false => self.next(gap, last.clone(), clock),
            };
            if let Some(end) = found {
                filled[gap].end = end;
                if gap + 1 == self.gaps.len() {
                    return Some(filled);
                }
                let behind = end + self.runs[gap].len();
                filled.push(behind..behind);
            } else {
                dead.insert((gap, last.start));
                filled.pop();
                if let Some(before) = filled.last_mut() {
                    before.end += 1;
                }
            }
        }
        None
    }

    /// Returns where the run after a gap begins: the gap starts at `least.start` and covers
    /// `least`.
    fn next(&self, gap: usize, least: Range<usize>, clock: &Clock) -> Option<usize> {
        let theirs = self.theirs.1;
        let run = &self.ours[self.runs[gap].clone()];
        let limits = &self.gaps[gap].limits;
        let latest = theirs.len().checked_sub(run.len())?;
        let is_end = gap + 1 == self.gaps.len();
        let earliest = if is_end { latest.max(least.end) } else { least.end };
        let latest = latest.min(least.start + limits.most());
        let ends = (earliest..=latest).filter(|end| is_run(run, &theirs[*end..]));
        for end in ends {
            let there = &theirs[least.start..end];
            if limits.allow(self.theirs.0, there) {
                return Some(end);
            }
            if limits.forbid(self.theirs.0, there) || clock.is_over() {
                return None;
            }
        }
        None
    }
}
