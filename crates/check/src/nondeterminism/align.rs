//! Aligns the fixed tokens of an answer with those of another one.

use std::ops::Range;

use super::Clock;
use super::fit::runs;
use super::volatile_region::{Tokenized, VolatileRegion};
use crate::natural::Token;

/// Returns pairs of tokens, in order; none of `ours` is in a gap. Uses at most one part in `parts`
/// of the time.
pub fn align(
    ours: &[Token],
    gaps: &[VolatileRegion],
    theirs: Tokenized,
    clock: &Clock,
    parts: usize,
) -> Vec<(usize, usize)> {
    let fixed: Vec<usize> = runs(ours.len(), gaps).into_iter().flatten().collect();
    let tokens: Vec<Token> = fixed.iter().map(|index| ours[*index]).collect();
    let mut same: Vec<(usize, usize)> = clock
        .matches(&tokens, theirs.1, parts)
        .into_iter()
        .map(|(one, other)| (fixed[one], other))
        .filter(|(one, other)| ours[*one].is_same(&theirs.1[*other]))
        .collect();
    gaps.iter().for_each(|gap| widen(gap, &mut same, ours, theirs));
    same
}

/// Chooses, among several matches for the run beside a gap, the one in which the gap contains more.
/// The `</li>` after a list's last item is not that after its first one.
fn widen(gap: &VolatileRegion, same: &mut [(usize, usize)], ours: &[Token], theirs: Tokenized) {
    let is_run =
        |ours: &[Token], theirs: &[Token]| ours.iter().zip(theirs).all(|(a, b)| a.is_same(b));
    let allows = |there: Range<usize>| gap.limits.allow(theirs.0, &theirs.1[there]);
    let behind = same.partition_point(|(one, _)| *one < gap.range.end);
    let steps = |pairs: &[(usize, usize)]| {
        pairs.windows(2).take_while(|two| (two[0].0 + 1, two[0].1 + 1) == two[1]).count() + 1
    };
    let from = behind.checked_sub(1).map_or(0, |last| same[last].1 + 1);
    if same.get(behind).is_some_and(|(one, _)| *one == gap.range.end) {
        let length = steps(&same[behind..]);
        let (one, other) = same.get(behind + length).copied().unwrap_or((0, 0));
        let there = other.saturating_sub(length);
        if one == gap.range.end + length
            && is_run(&ours[gap.range.end..one], &theirs.1[there..other])
            && allows(from..there)
        {
            (0..length).for_each(|i| same[behind + i].1 = there + i);
        }
    }
    let to = same.get(behind).map_or(theirs.1.len(), |(_, other)| *other);
    let last = behind.checked_sub(1).filter(|last| same[*last].0 + 1 == gap.range.start);
    let Some(last) = last else { return };
    let length =
        (0..last).rev().take_while(|at| (same[*at].0 + 1, same[*at].1 + 1) == same[at + 1]).count()
            + 1;
    let Some((one, other)) = (last + 1).checked_sub(length + 1).map(|before| same[before]) else {
        return;
    };
    let there = other + 1..other + 1 + length;
    if one + 1 + length == gap.range.start
        && is_run(&ours[one + 1..gap.range.start], &theirs.1[there.clone()])
        && allows(there.end..to)
    {
        (0..length).for_each(|i| same[last + 1 - length + i].1 = there.start + i);
    }
}
