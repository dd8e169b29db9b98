//! Which part of something that is divided evenly: of a load, over agents or load threads.

use serde::{Deserialize, Serialize};

/// One of several even parts. Things are dealt in turn: part `index` has the things whose number
/// leaves the remainder `index` when it is divided by `of`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Part {
    index: u32,
    of: u32,
}

/// A part as it was read, before it is known to be one.
#[derive(Deserialize)]
struct Unchecked {
    index: u32,
    of: u32,
}

/// There is no such part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no part {index} of {of}")]
pub struct NoPart {
    index: u32,
    of: u32,
}

impl TryFrom<Unchecked> for Part {
    type Error = NoPart;

    fn try_from(read: Unchecked) -> Result<Part, NoPart> {
        Part::new(read.index, read.of)
    }
}

impl Part {
    /// The whole as its only part.
    pub const WHOLE: Part = Part { index: 0, of: 1 };

    /// Part `index`, counted from 0, of `of` parts.
    ///
    /// # Errors
    /// `index` is not below `of`.
    pub fn new(index: u32, of: u32) -> Result<Part, NoPart> {
        if index < of { Ok(Part { index, of }) } else { Err(NoPart { index, of }) }
    }

    /// All parts, where there are `of`.
    pub fn all(of: u32) -> impl Iterator<Item = Part> {
        (0..of).map(move |index| Part { index, of })
    }

    /// Its number, counted from 0.
    pub fn index(self) -> u32 {
        self.index
    }

    /// How many parts there are, 1 or more.
    pub fn of(self) -> u32 {
        self.of
    }

    /// Whether it is everything.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// How much of `whole` belongs to it. Parts differ by at most one.
    pub fn share(self, whole: u64) -> u64 {
        let (index, of) = (u64::from(self.index), u64::from(self.of));
        whole / of + u64::from(index < whole % of)
    }

    /// The same for numbers of connections and users.
    pub fn share_u32(self, whole: u32) -> u32 {
        u32::try_from(self.share(u64::from(whole))).expect("a part is no larger than the whole")
    }

    /// Whether thing `number` belongs to it.
    pub fn has(self, number: u64) -> bool {
        number % u64::from(self.of) == u64::from(self.index)
    }

    /// The number, among all things, of the `own`-th thing of this part.
    pub fn nth(self, own: u64) -> u64 {
        own.saturating_mul(u64::from(self.of)).saturating_add(u64::from(self.index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_even_and_have_each_thing_once() {
        for (whole, of) in [(0, 1), (1, 1), (7, 3), (8, 4), (2, 5)] {
            let parts: Vec<Part> = Part::all(of).collect();
            let shares: Vec<u64> = parts.iter().map(|part| part.share(whole)).collect();
            assert_eq!(shares.iter().sum::<u64>(), whole);
            assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
            for (part, share) in parts.iter().zip(shares) {
                let own: Vec<u64> = (0..share).map(|own| part.nth(own)).collect();
                assert_eq!(own, (0..whole).filter(|number| part.has(*number)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn no_part_is_beyond_the_last() {
        assert_eq!(Part::new(2, 2).unwrap_err().to_string(), "there is no part 2 of 2");
        assert!(Part::new(0, 0).is_err());
        assert!(serde_json::from_str::<Part>(r#"{"index": 5, "of": 3}"#).is_err());
        let part = Part::new(1, 3).unwrap();
        let again = serde_json::to_string(&part).unwrap();
        assert_eq!(serde_json::from_str::<Part>(&again).unwrap(), part);
    }
}
