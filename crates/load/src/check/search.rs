//! Searches for bytes in a body that arrives in pieces.

/// The search of Knuth, Morris and Pratt. A match may be split over any number of pieces. No byte
/// is examined twice, and only a number is kept between pieces.
#[derive(Debug)]
pub(super) struct ByteSearch {
    needle: Box<[u8]>,
    /// `borders[i]`: length of the longest proper prefix of the needle that ends `needle[..=i]`.
    borders: Box<[usize]>,
    /// How many bytes of the needle match just before the next byte; all of them: found.
    matched: usize,
}

impl ByteSearch {
    /// A search for `needle`; an empty one is found at once.
    pub(super) fn new(needle: &[u8]) -> ByteSearch {
        let mut borders = vec![0; needle.len()];
        let mut border = 0;
        for at in 1..needle.len() {
            while border > 0 && needle[at] != needle[border] {
                border = borders[border - 1];
            }
            border += usize::from(needle[at] == needle[border]);
            borders[at] = border;
        }
        ByteSearch { needle: needle.into(), borders: borders.into(), matched: 0 }
    }

    /// Whether the needle was in the pieces since the last `restart`.
    pub(super) fn found(&self) -> bool {
        self.matched == self.needle.len()
    }

    /// Forgets the pieces so far.
    pub(super) fn restart(&mut self) {
        self.matched = 0;
    }

    /// Searches the next piece of the body.
    pub(super) fn feed(&mut self, piece: &[u8]) {
        let mut at = 0;
        while at < piece.len() && !self.found() {
            if self.matched == 0 {
                // Usually nothing matches yet: scan for the first byte.
                let first = self.needle[0];
                let Some(skip) = piece[at..].iter().position(|byte| *byte == first) else {
                    return;
                };
                at += skip + 1;
                self.matched = 1;
                continue;
            }
            while self.matched > 0 && piece[at] != self.needle[self.matched] {
                self.matched = self.borders[self.matched - 1];
            }
            self.matched += usize::from(piece[at] == self.needle[self.matched]);
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::ByteSearch;

    fn found_in(needle: &[u8], pieces: &[&[u8]]) -> bool {
        let mut search = ByteSearch::new(needle);
        for piece in pieces {
            search.feed(piece);
        }
        search.found()
    }

    #[test]
    fn an_empty_needle_is_found_without_any_bytes() {
        assert!(found_in(b"", &[]));
        assert!(!found_in(b"a", &[]));
    }

    #[test]
    fn a_match_split_inside_a_repeated_prefix_is_found() {
        assert!(found_in(b"aab", &[b"a", b"a", b"a", b"b"]));
        assert!(found_in(b"abcabd", &[b"abcab", b"cabd"]));
        assert!(!found_in(b"abcabd", &[b"abcab", b"abd"]));
    }

    #[test]
    fn restart_forgets() {
        let mut search = ByteSearch::new(b"ab");
        search.feed(b"xab");
        assert!(search.found());
        search.restart();
        search.feed(b"b");
        assert!(!search.found());
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_search_however_split(
            needle in proptest::collection::vec(0u8..3, 0..6),
            text in proptest::collection::vec(0u8..3, 0..60),
            piece in 1usize..7,
        ) {
            let plain = needle.is_empty() || text.windows(needle.len()).any(|w| w == needle);
            let pieces: Vec<&[u8]> = text.chunks(piece).collect();
            prop_assert_eq!(found_in(&needle, &pieces), plain);
        }
    }
}
