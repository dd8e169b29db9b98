//! Describes where an answer varies, and what is allowed there.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::natural::{Token, TokenKind};

/// A gap: a place where an answer varies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolatileRegion {
    /// The answer's tokens there; an empty range where only other answers have some.
    pub range: Range<usize>,
    /// What is allowed there.
    pub limits: Anchors,
}

/// What was seen at a place that varies, and is therefore allowed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchors {
    /// Fewest and most tokens.
    tokens: (usize, usize),
    /// Fewest and most bytes.
    bytes: (usize, usize),
    /// Most words.
    words: usize,
    /// ASCII marks, as bits by their codes.
    marks: u128,
    /// Bits of [`SPACE`] and the constants after it.
    classes: u8,
}

const SPACE: u8 = 1;
const LINE: u8 = 2;
const NUMBER: u8 = 4;
const LETTERS: u8 = 8;
const BEYOND_ASCII: u8 = 16;

impl Anchors {
    /// Returns the limits for this content and for content like it.
    pub fn of(text: &str, tokens: &[Token]) -> Anchors {
        let mut limits = Anchors::exactly(text, tokens);
        // A long random word has marks of base64 in one answer and not in another.
        if limits.is_random_word() {
            limits.marks |= RANDOM_WORD_MARKS;
            limits.classes |= NUMBER | LETTERS;
        }
        limits
    }

    /// Returns the limits for exactly this content.
    fn exactly(text: &str, tokens: &[Token]) -> Anchors {
        let bytes = match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => last.end - first.start,
            _ => 0,
        };
        let words = tokens.iter().filter(|token| token.is_word()).count();
        let mut limits = Anchors {
            tokens: (tokens.len(), tokens.len()),
            bytes: (bytes, bytes),
            words,
            marks: 0,
            classes: 0,
        };
        tokens.iter().for_each(|token| limits.add(token.of(text)));
        limits
    }

    /// Returns whether this is one long word, possibly with marks of base64.
    fn is_random_word(&self) -> bool {
        self.bytes.1 >= RANDOM_WORD_LENGTH
            && self.classes & SPACE == 0
            && self.marks & !RANDOM_WORD_MARKS == 0
    }

    fn add(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '\n' | '\r' => self.classes |= SPACE | LINE,
                c if c.is_whitespace() => self.classes |= SPACE,
                '0'..='9' => self.classes |= NUMBER,
                c if c.is_alphabetic() || c == '_' => self.classes |= LETTERS,
                c if c.is_ascii() => self.marks |= 1 << (c as u32),
                _ => self.classes |= BEYOND_ASCII,
            }
        }
    }

    /// Returns limits that allow what either of both allows.
    pub fn with(&self, other: &Anchors) -> Anchors {
        let both =
            |one: (usize, usize), other: (usize, usize)| (one.0.min(other.0), one.1.max(other.1));
        Anchors {
            tokens: both(self.tokens, other.tokens),
            bytes: both(self.bytes, other.bytes),
            words: self.words.max(other.words),
            marks: self.marks | other.marks,
            classes: self.classes | other.classes,
        }
    }

    /// Returns the most tokens that are allowed. Sentences and lists vary more than a word or two,
    /// and the marks of base64 split a random word into many tokens.
    pub fn most(&self) -> usize {
        let times = if self.words > 2 { 4 } else { 2 };
        self.tokens.1 * times + 8 + self.bytes.1 / 4
    }

    /// Returns whether this content is allowed.
    pub fn allow(&self, text: &str, tokens: &[Token]) -> bool {
        let here = Anchors::exactly(text, tokens);
        here.tokens.1 <= self.most()
            // Content that was always there must not be missing.
            && (here.tokens.1 > 0 || self.tokens.0 == 0)
            && here.bytes.1 <= self.bytes.1 * 4 + 16
            // A token must not be cut short; a sentence may be.
            && (self.classes & SPACE != 0 || here.bytes.1 * 4 >= self.bytes.0.saturating_sub(8))
            && !self.lack(&here)
    }

    /// Returns whether neither this content nor any that begins with it is allowed.
    pub fn forbid(&self, text: &str, tokens: &[Token]) -> bool {
        self.lack(&Anchors::exactly(text, tokens))
    }

    /// Returns whether there is a character class or mark that was never seen here.
    fn lack(&self, here: &Anchors) -> bool {
        let letters = if self.classes & LETTERS > 0 { self.classes | NUMBER } else { self.classes };
        here.classes & !letters != 0 || here.marks & !self.marks != 0
    }
}

/// From this length on, a word is neither a number nor a name.
const RANDOM_WORD_LENGTH: usize = 16;
const RANDOM_WORD_MARKS: u128 = 1 << b'+' | 1 << b'/' | 1 << b'-' | 1 << b'=' | 1 << b'%';

/// An answer's text and its tokens.
pub type Tokenized<'a> = (&'a str, &'a [Token]);

/// Returns the gaps of both answers: the places where they differ.
pub fn find_regions(
    one: (&str, &Vec<Token>),
    other: (&str, &Vec<Token>),
    matches: &[(usize, usize)],
) -> [Vec<VolatileRegion>; 2] {
    let mut hunks = hunks(one, other, matches);
    for at in 0..hunks.len() {
        // A gap must not reach into its neighbours.
        let (from, to) = (
            at.checked_sub(1).map_or(0, |before| hunks[before].0.end),
            hunks.get(at + 1).map_or(one.1.len(), |next| next.0.start),
        );
        let room = (hunks[at].0.start - from, to - hunks[at].0.end);
        hunks[at].slide(one.1, other.1, room);
    }
    let limits = |hunk: &Hunk| {
        Anchors::of(one.0, &one.1[hunk.0.clone()])
            .with(&Anchors::of(other.0, &other.1[hunk.1.clone()]))
    };
    let there = |hunk: &Hunk| [&one.1[hunk.0.clone()], &other.1[hunk.1.clone()]];
    let hunks =
        merge_neighbours(hunks, (one.0, one.1), |hunk| hunk.0.clone(), limits, Hunk::and, there);
    let side = |range: fn(&Hunk) -> Range<usize>| {
        hunks
            .iter()
            .map(|hunk| VolatileRegion { range: range(hunk), limits: limits(hunk) })
            .collect()
    };
    [side(|hunk| hunk.0.clone()), side(|hunk| hunk.1.clone())]
}

/// Tokens of one answer that stand in place of tokens of the other.
#[derive(Clone, Debug)]
struct Hunk(Range<usize>, Range<usize>);

impl Hunk {
    fn and(&self, next: &Hunk) -> Hunk {
        let over = |one: &Range<usize>, next: &Range<usize>| {
            one.start.min(next.start)..one.end.max(next.end)
        };
        Hunk(over(&self.0, &next.0), over(&self.1, &next.1))
    }

    /// Widens the hunk where one answer repeats something more often than the other, such as a
    /// list's items: any of them may be the additional one, so all are put into the gap.
    fn slide(&mut self, one: &[Token], other: &[Token], room: (usize, usize)) {
        let (full, tokens) = match (self.0.is_empty(), self.1.is_empty()) {
            (true, false) => (self.1.clone(), other),
            (false, true) => (self.0.clone(), one),
            _ => return,
        };
        let (period, last) = (full.len(), full.end - 1);
        let is_before =
            |back: &usize| tokens[full.start - 1 - back].key == tokens[last - back % period].key;
        let is_behind =
            |on: &usize| tokens[full.end + on].key == tokens[full.start + on % period].key;
        let before = (0..room.0).take_while(is_before).count();
        let behind = (0..room.1).take_while(is_behind).count();
        if before + behind >= period {
            for range in [&mut self.0, &mut self.1] {
                *range = range.start - before..range.end + behind;
            }
        }
    }
}

/// Returns the parts that are not matched. Random forms with different values count as not matched.
fn hunks(
    one: (&str, &Vec<Token>),
    other: (&str, &Vec<Token>),
    matches: &[(usize, usize)],
) -> Vec<Hunk> {
    let is_fixed = |pair: &&(usize, usize)| {
        let (a, b) = (&one.1[pair.0], &other.1[pair.1]);
        a.is_same(b) && !(a.is_random() && a.of(one.0) != b.of(other.0))
    };
    let ends = (one.1.len(), other.1.len());
    let mut found = Vec::new();
    let mut last = (0, 0);
    for (a, b) in matches.iter().filter(is_fixed).copied().chain([ends]) {
        if a > last.0 || b > last.1 {
            found.push(Hunk(last.0..a, last.1..b));
        }
        last = (a + 1, b + 1);
    }
    found
}

/// Merges neighbours that overlap, and those with nothing between them that separates them.
fn merge_neighbours<'t, T, const N: usize>(
    all: Vec<T>,
    read: Tokenized,
    range: impl Fn(&T) -> Range<usize>,
    limits: impl Fn(&T) -> Anchors,
    and: impl Fn(&T, &T) -> T,
    there: impl Fn(&T) -> [&'t [Token]; N],
) -> Vec<T> {
    let mut kept: Vec<T> = Vec::with_capacity(all.len());
    for mut next in all {
        while let Some(last) = kept.last() {
            let run = range(last).end..range(&next).start;
            let beside = || there(last).into_iter().chain(there(&next));
            if !run.is_empty()
                && !is_weak((read.0, &read.1[run]), beside, &limits(last), &limits(&next))
            {
                break;
            }
            next = and(last, &next);
            kept.pop();
        }
        kept.push(next);
    }
    kept
}

/// Returns whether a run is too weak to separate what varies on both sides of it. That is so if it
/// also occurs within them (`</li><li>` in a list). It is so too if all but a word or two of it
/// occur there: these may be equal by chance within a varying text.
fn is_weak<'t, I: Iterator<Item = &'t [Token]>>(
    run: Tokenized,
    beside: impl Fn() -> I,
    before: &Anchors,
    behind: &Anchors,
) -> bool {
    if run.1.len() > LONGEST_RUN || run.1.iter().any(|token| token.kind == TokenKind::User) {
        return false;
    }
    let (around, limits) = (before.with(behind), Anchors::of(run.0, run.1));
    // The run is a mark of base64 that two random words have in common.
    if let [mark] = run.1
        && limits.marks & RANDOM_WORD_MARKS != 0
        && mark.kind == TokenKind::Mark
        && before.bytes.1 + behind.bytes.1 >= RANDOM_WORD_LENGTH
        && around.classes & SPACE == 0
        && around.marks & !RANDOM_WORD_MARKS == 0
    {
        return true;
    }
    if limits.marks & !around.marks != 0 || limits.classes & !around.classes != 0 {
        return false;
    }
    if beside().any(|there| contains(there, run.1)) {
        return true;
    }
    let is_new =
        |word: &&Token| !beside().any(|there| contains(there, std::slice::from_ref(*word)));
    let words = run.1.iter().filter(|token| token.is_word()).filter(is_new).count();
    (1..=CHANCE).contains(&words) && 3 * words <= before.words + behind.words
}

/// Most words that may be equal by chance, such as `of the`.
const CHANCE: usize = 2;

/// Longest run that may be weak: what lies between two items of a list, including attributes.
const LONGEST_RUN: usize = 40;

/// Returns whether a run occurs within other tokens. Of many tokens, both ends are enough.
fn contains(within: &[Token], run: &[Token]) -> bool {
    const ENOUGH: usize = 100;
    let is_run = |window: &[Token]| window.iter().zip(run).all(|(one, other)| one.key == other.key);
    let start = &within[..within.len().min(ENOUGH)];
    let end = &within[within.len().saturating_sub(ENOUGH)..];
    !run.is_empty() && (start.windows(run.len()).any(is_run) || end.windows(run.len()).any(is_run))
}

/// Returns the gaps of a learnt answer, placed in another answer that fits it.
pub fn filled(gaps: &[VolatileRegion], filled: Vec<Range<usize>>) -> Vec<VolatileRegion> {
    gaps.iter()
        .zip(filled)
        .map(|(gap, range)| VolatileRegion { range, limits: gap.limits })
        .collect()
}

/// Returns the gaps of a learnt answer, placed in another answer that is aligned with it.
pub fn project_regions(
    learnt: &[Token],
    gaps: &[VolatileRegion],
    other: Tokenized,
    matches: &[(usize, usize)],
) -> Vec<VolatileRegion> {
    let map: HashMap<usize, usize> = matches.iter().copied().collect();
    let mut merged: Vec<VolatileRegion> = Vec::with_capacity(gaps.len());
    for gap in gaps {
        let joins = merged.last().is_some_and(|last| {
            let run = last.range.end..gap.range.start;
            let words: Vec<usize> = run.clone().filter(|at| learnt[*at].is_word()).collect();
            // These words are equal by chance in both learnt answers, within a larger part that
            // varies.
            !words.is_empty()
                && words
                    .iter()
                    .all(|at| !map.contains_key(at) && learnt[*at].kind != TokenKind::User)
                && 2 * words.len() < last.limits.words + gap.limits.words
        });
        match merged.last_mut() {
            Some(last) if joins => {
                let run = Anchors { words: 0, ..last.limits };
                last.limits = run.with(&gap.limits).plus(&gap.limits, &last.limits);
                last.range.end = gap.range.end;
            }
            _ => merged.push(gap.clone()),
        }
    }
    let place = |gap: &VolatileRegion| {
        let start = match gap.range.start {
            0 => 0,
            start => map.get(&(start - 1))? + 1,
        };
        let end = match gap.range.end {
            end if end == learnt.len() => other.1.len(),
            end => *map.get(&end)?,
        };
        let range = (start <= end).then_some(start..end)?;
        let fits = gap.limits.allow(other.0, &other.1[range.clone()]);
        fits.then_some(VolatileRegion { range, limits: gap.limits })
    };
    merged.iter().filter_map(place).collect()
}

impl Anchors {
    /// Returns these limits with the sizes of both others added.
    fn plus(self, one: &Anchors, other: &Anchors) -> Anchors {
        Anchors {
            tokens: (self.tokens.0, one.tokens.1 + other.tokens.1),
            bytes: (self.bytes.0, one.bytes.1 + other.bytes.1),
            words: one.words + other.words,
            ..self
        }
    }
}

/// Returns the gaps of one answer, collected from several others, in order and without touching.
pub fn merge_regions(
    mut gaps: Vec<VolatileRegion>,
    text: &str,
    tokens: &[Token],
) -> Vec<VolatileRegion> {
    gaps.sort_by_key(|gap| (gap.range.start, gap.range.end));
    let and = |one: &VolatileRegion, other: &VolatileRegion| VolatileRegion {
        range: one.range.start..one.range.end.max(other.range.end),
        limits: one.limits.with(&other.limits),
    };
    let there = |gap: &VolatileRegion| [&tokens[gap.range.clone()]];
    let range = |gap: &VolatileRegion| gap.range.clone();
    let mut kept = merge_neighbours(gaps, (text, tokens), range, |gap| gap.limits, and, there);
    for gap in &mut kept {
        gap.limits = gap.limits.with(&Anchors::of(text, &tokens[gap.range.clone()]));
    }
    kept
}
