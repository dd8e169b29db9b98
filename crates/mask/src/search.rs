//! Searches a text for many others at once, in time that does not grow with their number.

use std::collections::BTreeSet;
use std::ops::{Bound, Range};
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

/// Bytes by which a match is found. No text that is searched for is shorter.
pub(super) const HEAD: usize = 8;
/// Bytes of the end by which the rest of a cut text is found.
const TAIL: usize = 4;

/// The texts that are searched for.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    sorted: BTreeSet<Vec<u8>>,
    /// The texts from their last byte to their first.
    reversed: BTreeSet<Vec<u8>>,
    /// The last bytes of each text, reversed.
    tails: BTreeSet<[u8; TAIL]>,
    longest: usize,
    /// Finds the first bytes of the texts. Built for the first search after a change. Whole texts
    /// would need a state per byte: hundreds of megabytes for the tokens of many users.
    heads: OnceLock<Option<AhoCorasick>>,
}

impl Forms {
    /// No texts.
    pub const fn new() -> Forms {
        Forms {
            sorted: BTreeSet::new(),
            reversed: BTreeSet::new(),
            tails: BTreeSet::new(),
            longest: 0,
            heads: OnceLock::new(),
        }
    }

    /// Whether there are no texts.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// Adds a text. One that is shorter than [`HEAD`] is not added.
    pub fn add(&mut self, form: &str) {
        let bytes = form.as_bytes();
        if bytes.len() < HEAD || self.sorted.contains(bytes) {
            return;
        }
        let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
        if let Some(tail) = reversed.first_chunk() {
            self.tails.insert(*tail);
        }
        self.longest = self.longest.max(bytes.len());
        self.reversed.insert(reversed);
        self.sorted.insert(bytes.to_vec());
        self.heads = OnceLock::new();
    }

    /// Calls `take` with the place of each text, the longest of those that begin at one place.
    pub fn find(&self, text: &[u8], mut take: impl FnMut(Range<usize>)) {
        let Some(heads) = self.heads() else { return };
        for head in heads.find_overlapping_iter(text) {
            let at = head.start();
            if let Some(length) = self.longest_at(&text[at..]) {
                take(at..at + length);
            }
        }
    }

    fn heads(&self) -> Option<&AhoCorasick> {
        let build = || {
            let heads: BTreeSet<&[u8]> = self.sorted.iter().map(|form| &form[..HEAD]).collect();
            // It fails only for more bytes than the texts may have in total.
            AhoCorasick::new(heads).ok()
        };
        self.heads.get_or_init(build).as_ref()
    }

    /// Returns the length of the longest text with which `text` begins.
    fn longest_at(&self, text: &[u8]) -> Option<usize> {
        let mut near = &text[..text.len().min(self.longest)];
        loop {
            let below = (Bound::Unbounded, Bound::Included(near));
            let form = self.sorted.range::<[u8], _>(below).next_back()?;
            let common = form.iter().zip(near).take_while(|(one, other)| one == other).count();
            if common == form.len() {
                return Some(common);
            }
            // Every text that is sought is in order before `form`, and so a beginning of it.
            if common < HEAD {
                return None;
            }
            near = &near[..common];
        }
    }

    /// Returns where the beginning of a text begins, of `least` bytes or more, that `text[..end]`
    /// breaks off. It begins after `from`.
    pub fn begun_before(
        &self,
        text: &[u8],
        from: usize,
        end: usize,
        least: usize,
    ) -> Option<usize> {
        let begin = from.max(end.saturating_sub(self.longest));
        (begin..(end + 1).saturating_sub(least.max(1))).find(|at| self.is_begun(&text[*at..end]))
    }

    fn is_begun(&self, begun: &[u8]) -> bool {
        let above = (Bound::Excluded(begun), Bound::Unbounded);
        self.sorted.range::<[u8], _>(above).next().is_some_and(|form| form.starts_with(begun))
    }

    /// Returns where the end of a text ends whose beginning is cut off before `begin`. It ends
    /// before `end`.
    pub fn ended_after(&self, text: &[u8], begin: usize, end: usize) -> Option<usize> {
        let end = end.min(begin + self.longest);
        (begin + TAIL..=end).rev().find(|at| {
            let last = &text[at - TAIL..*at];
            let tail: [u8; TAIL] = std::array::from_fn(|at| last[TAIL - 1 - at]);
            self.tails.contains(&tail) && {
                let ended: Vec<u8> = text[begin..*at].iter().rev().copied().collect();
                let above = (Bound::Included(&ended[..]), Bound::Unbounded);
                let next = self.reversed.range::<[u8], _>(above).next();
                next.is_some_and(|form| form.starts_with(&ended))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forms(texts: &[String]) -> Forms {
        let mut forms = Forms::new();
        texts.iter().for_each(|text| forms.add(text));
        forms
    }

    proptest! {
        #[test]
        fn every_text_is_found_where_it_is(
            texts in prop::collection::vec("[ab]{8,12}", 1..12),
            text in "[ab]{0,60}",
        ) {
            let mut found = Vec::new();
            forms(&texts).find(text.as_bytes(), |place| found.push(place));
            let longest = |at: usize| {
                let here = texts.iter().filter(|one| text[at..].starts_with(&***one));
                here.map(String::len).max().map(|length| at..at + length)
            };
            let expected: Vec<Range<usize>> = (0..text.len()).filter_map(longest).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn what_a_cut_leaves_is_found(
            texts in prop::collection::vec("[ab]{8,12}", 1..12),
            text in "[ab]{0,30}",
        ) {
            let forms = forms(&texts);
            let is_begun = |at: usize| texts.iter().any(|one| one.len() > text.len() - at && one.starts_with(&text[at..]));
            let expected = (0..text.len().saturating_sub(3)).find(|at| is_begun(*at));
            prop_assert_eq!(forms.begun_before(text.as_bytes(), 0, text.len(), 4), expected);
            let is_ended = |end: usize| texts.iter().any(|one| one.ends_with(&text[..end]));
            let expected = (4..=text.len()).rev().find(|end| is_ended(*end));
            prop_assert_eq!(forms.ended_after(text.as_bytes(), 0, text.len()), expected);
        }
    }
}
