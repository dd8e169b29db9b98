//! Learns from the reference what varies in the answers to one request, and finds other
//! differences.
//!
//! ```text
//! two answers of the reference → hunks → gaps: where they vary, and what the content looks like
//! gaps of everything learnt → projected on the current answer → its fixed runs, with gaps between
//! another answer → are the same runs there in this order, and does the content of the gaps fit?
//! ```
//! A wildcard would hide a leak. So a gap accepts only text that resembles what was seen to vary
//! there: the same marks, a similar length, words or only numbers. It accepts a user's token only
//! where the reference has that token too.

mod align;
mod fit;
mod learnt;
mod matches;
mod show;
#[cfg(test)]
mod tests;
mod volatile_region;

use std::cell::Cell;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::natural::{Token, tokens};
use volatile_region::VolatileRegion;

pub use learnt::NondeterminismStore;
pub use show::Difference;

/// What varies in the answers to one request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Nondeterminism {
    pairs: Vec<[Answer; 2]>,
}

/// An answer of the reference, and where it varies.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Written")]
struct Answer {
    text: String,
    /// The tokens follow from the text, and take ten times its size.
    #[serde(skip)]
    tokens: Vec<Token>,
    gaps: Vec<VolatileRegion>,
}

#[derive(Deserialize)]
struct Written {
    text: String,
    gaps: Vec<VolatileRegion>,
}

impl From<Written> for Answer {
    fn from(Written { text, gaps }: Written) -> Answer {
        Answer { tokens: tokens(&text), text, gaps }
    }
}

impl Nondeterminism {
    /// Returns an instance that has learnt nothing.
    pub fn new() -> Nondeterminism {
        Nondeterminism::default()
    }

    /// Learns from two answers of the reference at the same position of the same pass: what differs
    /// between them varies. Returns whether anything was new.
    pub fn learn(&mut self, one: &str, other: &str) -> bool {
        if one == other {
            return false;
        }
        let clock = Clock::within(LONGEST);
        let tokens = [tokens(one), tokens(other)];
        let matches = clock.matches(&tokens[0], &tokens[1], 2);
        let gaps = volatile_region::find_regions((one, &tokens[0]), (other, &tokens[1]), &matches);
        let mut parts = [one, other].into_iter().zip(tokens).zip(gaps);
        let pair = std::array::from_fn(|_| {
            let ((text, tokens), gaps) = parts.next().expect("two of each");
            Answer { text: text.to_owned(), tokens, gaps }
        });
        let held: usize = self.pairs.iter().flatten().map(|answer| answer.tokens.len()).sum();
        let length: usize = pair.iter().map(|answer| answer.tokens.len()).sum();
        if held + length > MOST_TOKENS || self.explains(&pair, &clock) {
            return false;
        }
        self.pairs.push(pair);
        self.drop_explained_pairs(&clock);
        true
    }

    /// Drops pairs that the other pairs explain, first those in which most varies. Two texts with
    /// random words in common may be aligned wrongly, and then too much seems to vary.
    fn drop_explained_pairs(&mut self, clock: &Clock) {
        let share = |pair: &[Answer; 2]| {
            let nondeterminism =
                pair.iter().flat_map(|answer| &answer.gaps).map(|gap| gap.range.len());
            let all = pair.iter().map(|answer| answer.tokens.len()).sum::<usize>();
            nondeterminism.sum::<usize>() as f64 / all as f64
        };
        self.pairs.sort_by(|one, other| share(other).total_cmp(&share(one)));
        let mut at = 0;
        while self.pairs.len() > 1 && at < self.pairs.len() && !clock.is_over() {
            let mut pair = self.pairs.remove(at);
            if !self.explains(&pair, clock) {
                self.realign(&mut pair, clock);
                self.pairs.insert(at, pair);
                at += 1;
            }
        }
    }

    /// Determines again where a pair varies, aligned without what varies according to the other
    /// pairs.
    fn realign(&self, pair: &mut [Answer; 2], clock: &Clock) {
        let [one, other] = pair;
        let known = self.gaps_of(&one.text, &one.tokens, clock);
        let theirs = (&other.text[..], &other.tokens[..]);
        let matches = align::align(&one.tokens, &known, theirs, clock, 2);
        let gaps = volatile_region::find_regions(
            (&one.text, &one.tokens),
            (&other.text, &other.tokens),
            &matches,
        );
        if !clock.is_over() {
            [one.gaps, other.gaps] = gaps;
        }
    }

    /// Returns whether a pair differs only where other pairs vary.
    fn explains(&self, pair: &[Answer; 2], clock: &Clock) -> bool {
        let [one, other] = pair;
        [(one, other), (other, one)].into_iter().all(|(one, other)| {
            let read = (&one.text[..], &one.tokens[..]);
            let gaps = self.gaps_of(read.0, read.1, clock);
            // Random words may by chance not look random, so their place must be known.
            let is_known = |gap: &VolatileRegion| {
                let known = |at: &usize| gaps.iter().any(|known| known.range.contains(at));
                gap.range.clone().filter(|at| one.tokens[*at].is_random()).all(|at| known(&at))
            };
            let same = || {
                let filled = fit::fit(read.1, &gaps, (&other.text, &other.tokens), clock);
                let filled = filled.is_some_and(|filled| {
                    show::user_difference(read, &gaps, (&other.text, &other.tokens), &filled)
                        .is_none()
                });
                filled || (gaps.is_empty() && is_same(&one.tokens, &other.tokens))
            };
            one.gaps.iter().all(is_known) && same()
        })
    }

    /// Returns how an answer differs from the reference's; `None` if only in what varies. Without
    /// [`Difference::is_whole`] the time was over: what was not matched by then is in it, alike or not.
    pub fn difference(&self, reference: &str, actual: &str) -> Option<Difference> {
        self.difference_within(LONGEST, reference, actual)
    }

    fn difference_within(
        &self,
        time: Duration,
        reference: &str,
        actual: &str,
    ) -> Option<Difference> {
        if reference == actual {
            return None;
        }
        let clock = Clock::within(time);
        let (ours, theirs) = (tokens(reference), tokens(actual));
        if is_same(&ours, &theirs) {
            return None;
        }
        let gaps = self.gaps_of(reference, &ours, &clock);
        let (ours, theirs) = ((reference, &ours[..]), (actual, &theirs[..]));
        let found = match fit::fit(ours.1, &gaps, theirs, &clock) {
            Some(filled) => show::user_difference(ours, &gaps, theirs, &filled),
            None => show::difference(ours, &gaps, theirs, &clock),
        };
        found.map(|found| Difference { is_whole: !clock.is_cut.get(), ..found })
    }

    /// Returns where an answer of the reference varies, by everything that was learnt.
    fn gaps_of(&self, text: &str, tokens: &[Token], clock: &Clock) -> Vec<VolatileRegion> {
        let found = self.pairs.iter().flatten().flat_map(|answer| {
            let (ours, theirs) = (&answer.tokens[..], (text, tokens));
            match fit::fit(ours, &answer.gaps, theirs, clock) {
                Some(filled) => volatile_region::filled(&answer.gaps, filled),
                None => {
                    let parts = self.pairs.len() * 2 + 2;
                    let same = align::align(ours, &answer.gaps, theirs, clock, parts);
                    volatile_region::project_regions(ours, &answer.gaps, theirs, &same)
                }
            }
        });
        volatile_region::merge_regions(found.collect(), text, tokens)
    }
}

fn is_same(ours: &[Token], theirs: &[Token]) -> bool {
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(one, other)| one.is_same(other))
}

/// Most tokens of all answers to one request, 40 bytes each: those of more than 10 MB of text.
const MOST_TOKENS: usize = 2_000_000;

/// Ends a comparison that takes too long. It counts the thread's CPU time, so that it does not depend
/// on what else the machine does.
struct Clock {
    /// All of the time, and the thread's CPU time at which it is over.
    all: Duration,
    end: Duration,
    /// Whether a part of the work was left undone for lack of time.
    is_cut: Cell<bool>,
}

/// Most CPU time for one body.
const LONGEST: Duration = Duration::from_millis(400);
/// How much longer the work may take on a busy machine.
const WAITS: u32 = 8;

impl Clock {
    fn within(all: Duration) -> Clock {
        Clock { all, end: cpu_time() + all, is_cut: Cell::new(false) }
    }

    fn left(&self) -> Duration {
        self.end.saturating_sub(cpu_time())
    }

    fn is_over(&self) -> bool {
        let is_over = self.left().is_zero();
        self.is_cut.set(self.is_cut.get() || is_over);
        is_over
    }

    /// Returns the pairs of equal tokens of two texts, in order. Uses at most one part in `parts`
    /// of the time.
    fn matches(&self, one: &[Token], other: &[Token], parts: usize) -> Vec<(usize, usize)> {
        let share = (self.all / u32::try_from(parts).unwrap_or(u32::MAX)).min(self.left());
        let until =
            matches::Until { cpu: cpu_time() + share, wall: Instant::now() + share * WAITS };
        let (found, is_whole) = matches::matches(one, other, &until);
        self.is_cut.set(self.is_cut.get() || !is_whole);
        found
    }
}

/// The CPU time that this thread has used.
fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
