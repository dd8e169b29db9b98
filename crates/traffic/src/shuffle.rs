//! Computes a random order of a list without storing it: the position of the n-th request follows
//! from n alone. Each load thread asks for its own n, and all threads see the same order.
//!
//! This is the swap-or-not shuffle (Hoang, Morris, Rogaway, *An Enciphering Scheme Based on a Card
//! Shuffle*, CRYPTO 2012). In each round a position is paired with another, and a coin of the pair
//! decides whether they swap. It works for any length, in constant time and without memory. A
//! shuffled list would have to be made anew for each pass, in an extra thread or while requests
//! wait.

/// The orders of a list for one seed, a different one for each pass.
#[derive(Clone, Debug)]
pub(crate) struct Shuffle {
    seed: u64,
    length: u64,
    /// The pass that `rounds` belongs to.
    pass: u64,
    rounds: Box<[Round; ROUNDS]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// Sum of the two positions of a pair, modulo the length.
    sum: u64,
    /// Seed of the coins of this round.
    coins: u64,
}

impl Shuffle {
    /// The orders of a list that is not empty.
    pub(crate) fn new(seed: u64, length: usize) -> Shuffle {
        let rounds = Box::new([Round::default(); ROUNDS]);
        let mut shuffle = Shuffle { seed, length: length as u64, pass: 0, rounds };
        shuffle.begin_pass(0);
        shuffle
    }

    /// The list position of the `number`-th request, counted over all passes.
    pub(crate) fn position(&mut self, number: u64) -> usize {
        let (pass, mut position) = (number / self.length, number % self.length);
        if pass != self.pass {
            self.begin_pass(pass);
        }
        for round in self.rounds.iter() {
            let other = (round.sum + self.length - position) % self.length;
            // Both positions of a pair see the same coin.
            if fastrand::Rng::with_seed(round.coins ^ position.max(other)).bool() {
                position = other;
            }
        }
        position as usize
    }

    fn begin_pass(&mut self, pass: u64) {
        // Two passes of one seed differ as much as two seeds do.
        let seed = fastrand::Rng::with_seed(self.seed).u64(..) ^ pass;
        let mut random = fastrand::Rng::with_seed(fastrand::Rng::with_seed(seed).u64(..));
        self.pass = pass;
        for round in self.rounds.iter_mut() {
            *round = Round { sum: random.u64(..self.length), coins: random.u64(..) };
        }
    }
}

/// Costs some 60 ns per request. With 24 rounds all orders of a short list are equally frequent,
/// and a position in a long list may end up anywhere (see the tests).
const ROUNDS: usize = 24;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn pass(shuffle: &mut Shuffle, pass: u64) -> Vec<usize> {
        let length = shuffle.length;
        (pass * length..(pass + 1) * length).map(|number| shuffle.position(number)).collect()
    }

    #[test]
    fn each_pass_has_each_position_once() {
        for length in [1, 2, 3, 7, 64, 1_000] {
            let mut shuffle = Shuffle::new(3, length);
            for number in [0, 1, 5, u64::MAX / length as u64 - 1] {
                let mut places = pass(&mut shuffle, number);
                places.sort_unstable();
                assert_eq!(places, (0..length).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn all_orders_are_about_equally_frequent() {
        for (length, orders) in [(2_usize, 2_u64), (3, 6), (4, 24)] {
            let mut seen: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
            let mut shuffle = Shuffle::new(11, length);
            for number in 0..orders * 2_000 {
                *seen.entry(pass(&mut shuffle, number)).or_default() += 1;
            }
            assert_eq!(seen.len() as u64, orders);
            // Expected count 2 000, standard deviation at most 45.
            assert!(seen.values().all(|count| (1_775..2_225).contains(count)), "{seen:?}");
        }
    }

    #[test]
    fn a_long_list_is_fully_shuffled_and_differently_in_each_pass() {
        let mut shuffle = Shuffle::new(1, 100_000);
        let (first, second) = (pass(&mut shuffle, 0), pass(&mut shuffle, 1));
        // The first tenth of the order comes from all tenths of the list: 1 000 each, deviation 30.
        for places in [&first, &second] {
            let mut from = [0_u32; 10];
            places[..10_000].iter().for_each(|position| from[position / 10_000] += 1);
            assert!(from.iter().all(|count| (850..1_150).contains(count)), "{from:?}");
        }
        let same = first.iter().zip(&second).filter(|(one, other)| one == other).count();
        assert!(same < 20, "{same}");
        let ascending = first.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        assert!(ascending < 20, "{ascending}");
    }
}
