//! Finds the tokens that two texts have in common, in order.
//!
//! Words that occur once in both texts anchor the alignment (the idea of patience diff). The longer
//! the run around such a word is, the more it counts: random words that are in both texts by chance
//! do not win against a fixed line. The parts between anchors are left to Myers' method.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::cpu_time;
use crate::natural::{Token, TokenKind};

/// When the search ends.
pub struct Until {
    /// The thread's CPU time.
    pub cpu: Duration,
    /// For what knows the time of day only.
    pub wall: Instant,
}

/// Returns pairs of tokens with the same key, and whether all parts were processed. Parts not
/// processed by `until` have no pairs.
pub fn matches(one: &[Token], other: &[Token], until: &Until) -> (Vec<(usize, usize)>, bool) {
    let mut found = Vec::new();
    let both = Matcher { one, other, until };
    let is_whole = both.find(0..one.len(), 0..other.len(), &mut found);
    found.sort_unstable();
    (found, is_whole)
}

/// The two texts.
struct Matcher<'a> {
    one: &'a [Token],
    other: &'a [Token],
    until: &'a Until,
}

/// A run that both texts have: where it begins in each, its length, and how many of its words occur
/// once in both.
#[derive(Clone, Copy)]
struct CommonRun {
    one: usize,
    other: usize,
    length: usize,
    words: usize,
}

impl CommonRun {
    /// Returns the weight: one long run is more reliable than several short ones.
    fn weight(&self) -> usize {
        self.length * self.length * self.words
    }

    fn pairs(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.length).map(move |i| (self.one + i, self.other + i))
    }
}

impl Matcher<'_> {
    fn is_same(&self, one: usize, other: usize) -> bool {
        self.one[one].key == self.other[other].key
    }

    fn is_over(&self) -> bool {
        cpu_time() > self.until.cpu || Instant::now() > self.until.wall
    }

    fn find(
        &self,
        one: Range<usize>,
        other: Range<usize>,
        found: &mut Vec<(usize, usize)>,
    ) -> bool {
        let mut is_whole = true;
        let mut parts = vec![(one, other)];
        while let Some((one, other)) = parts.pop() {
            let head = one.clone().zip(other.clone()).take_while(|(a, b)| self.is_same(*a, *b));
            let head =
                CommonRun { one: one.start, other: other.start, length: head.count(), words: 0 };
            found.extend(head.pairs());
            let (one, other) =
                (one.start + head.length..one.end, other.start + head.length..other.end);
            let tail = one.clone().rev().zip(other.clone().rev());
            let tail = tail.take_while(|(a, b)| self.is_same(*a, *b)).count();
            let (one, other) = (one.start..one.end - tail, other.start..other.end - tail);
            found.extend(
                CommonRun { one: one.end, other: other.end, length: tail, words: 0 }.pairs(),
            );
            if one.is_empty() || other.is_empty() {
                continue;
            }
            if self.is_over() {
                is_whole = false;
                continue;
            }
            let anchors = self.anchors(one.clone(), other.clone());
            if anchors.is_empty() {
                self.myers(one, other, found);
                is_whole &= !self.is_over();
                continue;
            }
            let mut from = (one.start, other.start);
            for run in anchors {
                parts.push((from.0..run.one, from.1..run.other));
                found.extend(run.pairs());
                from = (run.one + run.length, run.other + run.length);
            }
            parts.push((from.0..one.end, from.1..other.end));
        }
        is_whole
    }

    fn myers(&self, one: Range<usize>, other: Range<usize>, found: &mut Vec<(usize, usize)>) {
        let keys =
            |tokens: &[Token]| -> Vec<u64> { tokens.iter().map(|token| token.key).collect() };
        let (ours, theirs) = (keys(&self.one[one.clone()]), keys(&self.other[other.clone()]));
        let until = Some(self.until.wall);
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &ours, &theirs, until);
        for op in ops {
            if let DiffOp::Equal { old_index, new_index, len } = op {
                let (one, other) = (one.start + old_index, other.start + new_index);
                found.extend(CommonRun { one, other, length: len, words: 0 }.pairs());
            }
        }
    }

    /// Returns runs around words that occur once in both parts: among the runs in the same order in
    /// both texts, those with the largest total weight.
    fn anchors(&self, one: Range<usize>, other: Range<usize>) -> Vec<CommonRun> {
        let (ours, theirs) = (once(self.one, one.clone()), once(self.other, other.clone()));
        let pairs = ours.iter().filter_map(|(key, at)| Some((((*at)?), (*theirs.get(key)?)?)));
        let mut pairs: Vec<(usize, usize)> = pairs.collect();
        pairs.sort_unstable();
        let mut runs: Vec<CommonRun> = Vec::new();
        for (a, b) in pairs {
            match runs.last_mut() {
                Some(run)
                    if a < run.one + run.length
                        && b.checked_sub(run.other) == a.checked_sub(run.one) =>
                {
                    run.words += 1;
                }
                _ => runs.push(self.around(a, b, &one, &other)),
            }
        }
        heaviest(&runs, other)
    }

    fn around(&self, a: usize, b: usize, one: &Range<usize>, other: &Range<usize>) -> CommonRun {
        let before = (one.start..a).rev().zip((other.start..b).rev());
        let before = before.take_while(|(a, b)| self.is_same(*a, *b)).count();
        let behind =
            (a..one.end).zip(b..other.end).take_while(|(a, b)| self.is_same(*a, *b)).count();
        CommonRun { one: a - before, other: b - before, length: before + behind, words: 1 }
    }
}

/// Returns the place of each word; `None` for one that occurs more than once. Random words are no
/// anchors, so they are left out.
fn once(tokens: &[Token], part: Range<usize>) -> HashMap<u64, Option<usize>> {
    let mut found = HashMap::new();
    for at in part {
        if matches!(tokens[at].kind, TokenKind::Word | TokenKind::User) {
            found.entry(tokens[at].key).and_modify(|at| *at = None).or_insert(Some(at));
        }
    }
    found
}

/// Returns those runs that are in order in both texts without overlap and have the largest total
/// weight. The runs are sorted by their place in one text. This is the heaviest increasing
/// subsequence, computed with a tree of the best ends so far (Fenwick, *A New Data Structure for
/// Cumulative Frequency Tables*, 1994).
fn heaviest(runs: &[CommonRun], other: Range<usize>) -> Vec<CommonRun> {
    let length = other.len() + 1;
    let mut best: Vec<Option<(usize, usize)>> = vec![None; length + 1];
    let mut before: Vec<Option<usize>> = vec![None; runs.len()];
    let mut weights = vec![0; runs.len()];
    // A run enters the tree once the next runs begin after its end.
    let mut by_end: Vec<usize> = (0..runs.len()).collect();
    by_end.sort_by_key(|index| runs[*index].one + runs[*index].length);
    let mut ended = by_end.into_iter().peekable();
    for (index, run) in runs.iter().enumerate() {
        while let Some(done) = ended.next_if(|done| runs[*done].one + runs[*done].length <= run.one)
        {
            let mut at = runs[done].other + runs[done].length - other.start + 1;
            while at <= length {
                best[at] = best[at].max(Some((weights[done], done)));
                at += at & at.wrapping_neg();
            }
        }
        let mut at = run.other - other.start + 1;
        let mut last = None;
        while at > 0 {
            last = last.max(best[at]);
            at -= at & at.wrapping_neg();
        }
        weights[index] = run.weight() + last.map_or(0, |(weight, _)| weight);
        before[index] = last.map(|(_, index)| index);
    }
    let mut next = (0..runs.len()).max_by_key(|index| weights[*index]);
    let mut chosen = Vec::new();
    while let Some(index) = next {
        chosen.push(runs[index]);
        next = before[index];
    }
    chosen.reverse();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::natural::tokens;

    fn same(one: &str, other: &str) -> String {
        let (ours, theirs) = (tokens(one), tokens(other));
        let time = Duration::from_secs(5);
        let until = Until { cpu: cpu_time() + time, wall: Instant::now() + time };
        let (found, is_whole) = matches(&ours, &theirs, &until);
        assert!(is_whole);
        assert!(
            found.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1),
            "{found:?}"
        );
        assert!(found.iter().all(|(a, b)| ours[*a].key == theirs[*b].key));
        found.iter().map(|(a, _)| ours[*a].of(one)).collect()
    }

    #[test]
    fn common_tokens_are_found() {
        assert_eq!(same("a b c", "a x c"), "a  c");
        assert_eq!(same("a b c", "a b c"), "a b c");
        assert_eq!(same("", "a"), "");
        assert_eq!(same("a", "b"), "");
    }

    #[test]
    fn a_long_common_run_outweighs_a_word_that_matches_by_chance() {
        let fixed = "<p>The same line</p>";
        assert_eq!(same(&format!("chance{fixed}one"), &format!("two{fixed}chance")), fixed);
    }

    #[test]
    fn random_words_align_nothing() {
        let (drawn, not) = ("aB3dE5fG7hI9jK1lM3nO", "aaaaaaaaaaaaaaaaaaaaaaaaa");
        let all = same(
            &format!("\"{not}\" {{\"a\":\"{drawn}\" {{\"a\":"),
            &format!("\"{drawn}\" {{\"a\":\"{not}\" {{\"a\":"),
        );
        assert_eq!(all, "\"\" {\"a\":\"\" {\"a\":");
    }
}
