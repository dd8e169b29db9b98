//! Deals sessions to the requests of a load.

/// Above this number of pairs of a request and a session, not every request is sent with every
/// session.
const PAIRS_MAX: usize = 10_000;

/// The numbers of request and session for each entry of a load, in turn. Each request is sent with
/// each session equally often if there are at most [`PAIRS_MAX`] such pairs.
pub fn deal(requests: usize, sessions: usize) -> impl Iterator<Item = (usize, usize)> {
    let (requests, sessions) = (requests.max(1), sessions.max(1));
    let pairs = requests.saturating_mul(sessions);
    let whole = pairs <= PAIRS_MAX;
    // Each request equally often, and each session at least once.
    let count = if whole { pairs } else { requests * sessions.div_ceil(requests) };
    // Without the shift, a request whose number shares a divisor with the sessions would meet only
    // some of them.
    let period = requests / gcd(requests, sessions) * sessions;
    (0..count).map(move |entry| {
        let shift = if whole { entry / period } else { 0 };
        (entry % requests, (entry + shift) % sessions)
    })
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sessions_take_turns() {
        let all: Vec<_> = deal(2, 4).collect();
        let expected = [(0, 0), (1, 1), (0, 2), (1, 3), (0, 1), (1, 2), (0, 3), (1, 0)];
        assert_eq!(all, expected);
        assert_eq!(deal(3, 1).collect::<Vec<_>>(), [(0, 0), (1, 0), (2, 0)]);
        // A long list of requests is dealt once.
        let long: Vec<_> = deal(100_000, 7).collect();
        assert_eq!((long.len(), long[9], long[99_999]), (100_000, (9, 2), (99_999, 4)));
        let many: Vec<_> = deal(30, 500).collect();
        assert_eq!((many.len(), many[499], many[509]), (510, (19, 499), (29, 9)));
    }

    proptest! {
        #[test]
        fn each_request_meets_each_session_once(requests in 1_usize..90, sessions in 1_usize..100) {
            let mut met = BTreeMap::new();
            for (request, session) in deal(requests, sessions) {
                *met.entry((request, session)).or_insert(0) += 1;
            }
            prop_assert_eq!(met.len(), requests * sessions);
            prop_assert!(met.values().all(|times| *times == 1));
        }
    }
}
