//! Builds passes: the same requests of the same users, each time in another order or at once. It
//! also searches for the fewest steps that still show a finding.

use std::ops::Range;

use stampede_stats::random::Random;

use super::model::Step;

/// An order of requests, sent to a fresh start of a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Name of the order.
    pub name: &'static str,
    /// User and request, both from 0, in the order of sending.
    pub steps: Vec<(u32, usize)>,
    /// Number of steps sent at the same moment, each by another user; then the same number again.
    pub at_once: usize,
}

/// Name of the pass in which requests overlap in one worker.
pub const OVERLAPPING: &str = "overlapping";

/// Returns the passes for this many requests and users. A pass in the order of an earlier one (with
/// one user or one request) is left out; without requests there is none. The overlapping pass is
/// the last, because its results are compared with those of the others.
pub fn passes(requests: usize, users: u32, seed: u64) -> Vec<Pass> {
    let in_order: Vec<(u32, usize)> =
        (0..users).flat_map(|user| (0..requests).map(move |request| (user, request))).collect();
    let reversed = in_order.iter().rev().copied().collect();
    let mut shuffled = in_order.clone();
    let mut random = Random::with_seed(seed);
    (1..shuffled.len()).rev().for_each(|i| shuffled.swap(i, random.below(i + 1)));
    let repeated = in_order.iter().flat_map(|step| [*step; 2]).collect();
    let interleaved =
        (0..requests).flat_map(|request| (0..users).map(move |user| (user, request))).collect();
    let all = [
        ("in order", in_order),
        ("reversed", reversed),
        ("shuffled", shuffled),
        ("repeated", repeated),
        ("interleaved", interleaved),
    ];
    let mut passes: Vec<Pass> = Vec::new();
    for (name, steps) in all {
        if !steps.is_empty() && passes.iter().all(|pass| pass.steps != steps) {
            passes.push(Pass { name, steps, at_once: 1 });
        }
    }
    if users > 1 && requests > 0 {
        let (steps, at_once) = (overlapping(requests, users), users as usize);
        passes.push(Pass { name: OVERLAPPING, steps, at_once });
    }
    passes
}

/// All users send the same request at once, request by request. Then each sends another one, with
/// the users in reverse order.
fn overlapping(requests: usize, users: u32) -> Vec<(u32, usize)> {
    let same = (0..requests).flat_map(|request| (0..users).map(move |user| (user, request)));
    let mixed = (0..requests).flat_map(|request| {
        (0..users).rev().map(move |user| (user, (request + user as usize) % requests))
    });
    same.chain(mixed).collect()
}

/// Returns the steps grouped by the moment in which they are sent, in order.
pub fn moments(steps: &[Step]) -> Vec<Range<usize>> {
    let mut begin = 0;
    let ends = (0..steps.len()).filter(|at| !steps[*at].with_next || at + 1 == steps.len());
    ends.map(|at| std::mem::replace(&mut begin, at + 1)..at + 1).collect()
}

/// Returns the moment of a step.
pub fn moment(steps: &[Step], at: usize) -> Range<usize> {
    let begin = steps[..at].iter().rposition(|step| !step.with_next).map_or(0, |last| last + 1);
    let more = steps[at..].iter().position(|step| !step.with_next);
    begin..more.map_or(steps.len(), |more| at + more + 1)
}

/// Returns the same steps, sent at one moment.
fn at_once(steps: &[Step]) -> Vec<Step> {
    let last = steps.len().saturating_sub(1);
    let step = |(at, step): (usize, &Step)| Step { with_next: at < last, ..step.clone() };
    steps.iter().enumerate().map(step).collect()
}

/// The remaining steps after shrinking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShrinkResult<T> {
    /// The steps; the last one shows the finding.
    pub steps: Vec<T>,
    /// Whether a trial of exactly these steps has shown it again; otherwise they are all original
    /// steps.
    pub is_shown: bool,
}

/// Returns the fewest steps that still show what the last one showed. Uses at most `trials` trials,
/// each with a fresh start.
///
/// It tries the last step alone, then with one step before it, found by halving: what a worker
/// keeps mostly comes from one request. If several are needed, it leaves out parts as ddmin does
/// (Zeller and Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*, IEEE TSE 28, 2002).
/// `shows` gets steps in their order, including the last one.
pub fn shrink<T: Clone, E>(
    steps: &[T],
    trials: usize,
    shows: impl FnMut(&[T]) -> Result<bool, E>,
) -> Result<ShrinkResult<T>, E> {
    let Some((last, before)) = steps.split_last() else {
        return Ok(ShrinkResult { steps: Vec::new(), is_shown: false });
    };
    let mut search = StepSearch { last, trials, shows };
    let left = search.shrink(before)?;
    let is_shown = left.is_some();
    let mut steps = left.unwrap_or_else(|| before.to_vec());
    steps.push(last.clone());
    Ok(ShrinkResult { steps, is_shown })
}

/// Returns the fewest steps of one moment that still show something, with at most `trials` trials.
/// At least two stay: other passes test one alone.
pub fn shrink_moment<E>(
    moment: Vec<Step>,
    trials: usize,
    mut shows: impl FnMut(&[Step]) -> Result<bool, E>,
) -> Result<Vec<Step>, E> {
    let mut kept = moment;
    let (mut at, mut left) = (0, trials);
    while at < kept.len() && kept.len() > 2 && left > 0 {
        let mut rest = kept.clone();
        rest.remove(at);
        let rest = at_once(&rest);
        left -= 1;
        match shows(&rest)? {
            true => kept = rest,
            false => at += 1,
        }
    }
    Ok(kept)
}

/// Those of several items that show something, as far as they could be separated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Culprits<T> {
    /// The items, in their order.
    pub all: Vec<T>,
    /// Whether each of them shows it alone; otherwise some of them were not separated.
    pub is_each_alone: bool,
}

/// Returns the items that show something alone, found by halving within this many trials. If both
/// halves show it, both are searched. Items that show it only together, or that remain when the
/// trials end, stay together.
pub fn find_culprits<T: Clone, E>(
    all: &[T],
    mut trials: usize,
    mut shows: impl FnMut(&[T]) -> Result<bool, E>,
) -> Result<Culprits<T>, E> {
    let mut found = Culprits { all: Vec::new(), is_each_alone: true };
    let mut left = vec![all];
    while let Some(part) = left.pop() {
        let (early, late) = part.split_at(part.len() / 2);
        let [is_early, is_late] = match part.len() > 1 && trials > 1 {
            true => {
                trials -= 2;
                [shows(early)?, shows(late)?]
            }
            false => [false, false],
        };
        left.extend(is_late.then_some(late));
        left.extend(is_early.then_some(early));
        if !is_early && !is_late {
            found.is_each_alone &= part.len() == 1;
            found.all.extend_from_slice(part);
        }
    }
    Ok(found)
}

struct StepSearch<'a, T, F> {
    last: &'a T,
    trials: usize,
    shows: F,
}

impl<T: Clone, E, F: FnMut(&[T]) -> Result<bool, E>> StepSearch<'_, T, F> {
    /// Returns whether these and the last step show it; `false` if no trial is left.
    fn try_with(&mut self, before: &[T]) -> Result<bool, E> {
        if self.trials == 0 {
            return Ok(false);
        }
        self.trials -= 1;
        (self.shows)(&[before, std::slice::from_ref(self.last)].concat())
    }

    /// Returns the steps needed before the last step; `None` if it was not shown again.
    fn shrink(&mut self, before: &[T]) -> Result<Option<Vec<T>>, E> {
        if self.try_with(&[])? {
            return Ok(Some(Vec::new()));
        }
        let mut window = before;
        let mut is_shown = false;
        while window.len() > 1 {
            let (early, late) = window.split_at(window.len() / 2);
            // The half just before the last step is more likely.
            window = if self.try_with(late)? {
                late
            } else if self.try_with(early)? {
                early
            } else {
                break;
            };
            is_shown = true;
        }
        if !is_shown && (window.is_empty() || !self.try_with(window)?) {
            return Ok(None);
        }
        self.leave_out_parts(window.to_vec()).map(Some)
    }

    /// Leaves out smaller and smaller parts; halves were tried before.
    fn leave_out_parts(&mut self, mut kept: Vec<T>) -> Result<Vec<T>, E> {
        let mut size = kept.len().div_ceil(4);
        while kept.len() > 1 && size > 0 && self.trials > 0 {
            let mut at = 0;
            while at < kept.len() && kept.len() > 1 {
                let end = (at + size).min(kept.len());
                let rest = [&kept[..at], &kept[end..]].concat();
                if !rest.is_empty() && self.try_with(&rest)? {
                    kept = rest;
                } else {
                    at = end;
                }
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn steps(name: &str, requests: usize, users: u32) -> Vec<(u32, usize)> {
        let passes = passes(requests, users, 7);
        passes.into_iter().find(|pass| pass.name == name).expect("the pass").steps
    }

    #[test]
    fn each_pass_has_its_own_order() {
        assert_eq!(steps("in order", 2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(steps("reversed", 2, 2), [(1, 1), (1, 0), (0, 1), (0, 0)]);
        assert_eq!(steps("interleaved", 2, 2), [(0, 0), (1, 0), (0, 1), (1, 1)]);
        assert_eq!(steps("repeated", 2, 1), [(0, 0), (0, 0), (0, 1), (0, 1)]);
    }

    #[test]
    fn in_the_overlapping_pass_all_users_send_the_same_request_and_then_different_ones() {
        let all = passes(2, 2, 7);
        let last = all.last().expect("a pass");
        assert_eq!((last.name, last.at_once), (OVERLAPPING, 2));
        let same = [(0, 0), (1, 0), (0, 1), (1, 1)];
        let mixed = [(1, 1), (0, 0), (1, 0), (0, 1)];
        assert_eq!(last.steps, [same, mixed].concat());
        assert!(all.iter().rev().skip(1).all(|pass| pass.at_once == 1));
        // With one request and three users, no user sends twice at one moment.
        let users = |steps: &[(u32, usize)]| steps.iter().map(|step| step.0).collect::<Vec<_>>();
        assert_eq!(users(&steps(OVERLAPPING, 1, 3)), [0, 1, 2, 2, 1, 0]);
    }

    fn steps_with(with_next: &[bool]) -> Vec<Step> {
        let step =
            |with_next: &bool| Step { user: 0, request: Default::default(), with_next: *with_next };
        with_next.iter().map(step).collect()
    }

    #[test]
    fn steps_are_grouped_by_moment() {
        let steps = steps_with(&[false, true, true, false, false, true]);
        assert_eq!(moments(&steps), [0..1, 1..4, 4..5, 5..6], "the last one has nobody after it");
        assert!(moments(&[]).is_empty());
        for range in moments(&steps) {
            for at in range.clone() {
                assert_eq!(moment(&steps, at), range, "{at}");
            }
        }
        let whole: Vec<bool> = at_once(&steps).iter().map(|step| step.with_next).collect();
        assert_eq!(whole, [true, true, true, true, true, false]);
    }

    #[test]
    fn the_same_seed_gives_the_same_order() {
        let shuffled = |seed| passes(9, 2, seed).swap_remove(2);
        assert_eq!(shuffled(1).name, "shuffled");
        assert_eq!(shuffled(1), shuffled(1));
        assert_ne!(shuffled(1), shuffled(2));
    }

    #[test]
    fn no_order_comes_twice_and_none_is_empty() {
        let names = |requests, users| -> Vec<&str> {
            passes(requests, users, 1).iter().map(|pass| pass.name).collect()
        };
        assert_eq!(
            names(20, 2),
            ["in order", "reversed", "shuffled", "repeated", "interleaved", "overlapping"]
        );
        assert_eq!(names(20, 1), ["in order", "reversed", "shuffled", "repeated"]);
        assert_eq!(names(1, 1), ["in order", "repeated"]);
        assert!(names(0, 2).is_empty() && names(3, 0).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_user_sends_each_request_equally_often(
            requests in 1..30_usize, users in 1..5_u32, seed: u64
        ) {
            for pass in passes(requests, users, seed) {
                let times = if matches!(pass.name, "repeated" | OVERLAPPING) { 2 } else { 1 };
                let different: BTreeSet<_> = pass.steps.iter().collect();
                prop_assert_eq!(different.len(), requests * users as usize);
                prop_assert_eq!(pass.steps.len(), different.len() * times);
            }
        }

        /// If one or two steps before the last are needed, exactly these are found.
        #[test]
        fn the_needed_steps_are_found(
            length in 3..200_usize, one: prop::sample::Index, other: prop::sample::Index
        ) {
            let (one, other) = (one.index(length - 1), other.index(length - 1));
            let (found, _) = shrunk(length, usize::MAX, |left| {
                left.contains(&one) && left.contains(&other)
            });
            let mut culprits = vec![one, other, length - 1];
            culprits.sort_unstable();
            culprits.dedup();
            prop_assert_eq!(found, ShrinkResult { steps: culprits, is_shown: true });
        }
    }

    fn growing(length: usize, trials: usize, alone: &[usize]) -> (Culprits<usize>, usize) {
        let all: Vec<usize> = (0..length).collect();
        let mut count = 0;
        let found = find_culprits(&all, trials, |part| {
            count += 1;
            Ok::<bool, ()>(alone.iter().any(|one| part.contains(one)))
        });
        (found.unwrap(), count)
    }

    #[test]
    fn each_item_that_shows_it_alone_is_a_culprit() {
        for alone in [&[7][..], &[0, 49], &[3, 4, 5], &[1, 20, 30, 48]] {
            let (found, count) = growing(50, 64, alone);
            assert_eq!(found, Culprits { all: alone.to_vec(), is_each_alone: true });
            assert!(count <= 12 * alone.len(), "{count} for {alone:?}");
        }
        let (few, count) = growing(50, 9, &[0, 49]);
        assert!(count <= 9 && !few.is_each_alone && few.all.len() < 50, "{few:?}");
        assert!(few.all.contains(&0) && few.all.contains(&49));
        let together =
            find_culprits(&[1, 2, 3, 4], 64, |part| Ok::<bool, ()>(part.len() > 2)).unwrap();
        assert_eq!(together, Culprits { all: vec![1, 2, 3, 4], is_each_alone: false });
        assert_eq!(
            find_culprits(&[9], 64, |_| Err(())),
            Ok(Culprits { all: vec![9], is_each_alone: true })
        );
    }

    /// Shrinks the steps 0 to `length` − 1; returns the result and the number of trials.
    fn shrunk(
        length: usize,
        trials: usize,
        shows: impl Fn(&[usize]) -> bool,
    ) -> (ShrinkResult<usize>, usize) {
        let all: Vec<usize> = (0..length).collect();
        let mut count = 0;
        let found = shrink(&all, trials, |left| {
            count += 1;
            assert!(left.is_sorted() && left.last() == all.last());
            Ok::<bool, ()>(shows(left))
        });
        (found.unwrap(), count)
    }

    #[test]
    fn one_earlier_step_is_found_in_few_trials() {
        let (alone, trials) = shrunk(100, 50, |_| true);
        assert_eq!((alone.steps, trials), (vec![99], 1));
        for culprit in [0, 50, 98] {
            let (found, trials) = shrunk(100, 50, |left| left.contains(&culprit));
            assert_eq!(found.steps, [culprit, 99]);
            assert!(trials <= 15, "{trials}");
        }
        // Any step before the last is enough: the nearest is found, with a trial for each half.
        let (found, trials) = shrunk(129, 50, |left| left.len() > 1);
        assert_eq!((found.steps, trials), (vec![127, 128], 8));
    }

    #[test]
    fn two_earlier_steps_are_found() {
        let (found, trials) = shrunk(41, 60, |left| left.contains(&3) && left.contains(&30));
        assert_eq!(found, ShrinkResult { steps: vec![3, 30, 40], is_shown: true });
        assert!(trials < 60, "{trials}");
    }

    #[test]
    fn steps_that_do_not_reproduce_it_are_not_shrunk() {
        let (found, trials) = shrunk(20, 50, |_| false);
        assert_eq!((found.steps.len(), found.is_shown, trials), (20, false, 4));
        let (one, _) = shrunk(1, 50, |_| false);
        assert_eq!((one.steps, one.is_shown), (vec![0], false));
        assert!(!shrink(&[] as &[u8], 5, |_| Ok::<_, ()>(true)).unwrap().is_shown);
    }

    #[test]
    fn trials_are_not_more_than_allowed() {
        let needs = |left: &[usize]| (0..98).step_by(7).all(|step| left.contains(&step));
        for allowed in [0, 1, 4, 10, 40] {
            let (found, trials) = shrunk(100, allowed, needs);
            assert!(trials <= allowed);
            assert!(needs(&found.steps));
            assert_eq!(found.is_shown, allowed >= 4);
        }
    }

    /// Shown in two of three trials only: a trial has shown the remaining steps, or they are all of
    /// them.
    #[test]
    fn a_flaky_deviation_gives_only_steps_that_have_shown_it() {
        let mut random = Random::with_seed(1);
        for _ in 0..200 {
            let all: Vec<usize> = (0..30).collect();
            let mut shown = BTreeSet::new();
            let found = shrink(&all, 40, |left| {
                let is_shown = left.contains(&11) && random.below(3) > 0;
                if is_shown {
                    shown.insert(left.to_vec());
                }
                Ok::<bool, ()>(is_shown)
            });
            let found = found.unwrap();
            assert!(found.steps.contains(&11));
            assert_eq!(found.is_shown, shown.contains(&found.steps));
            assert!(found.is_shown || found.steps == all);
        }
    }

    #[test]
    fn the_fewest_simultaneous_steps_are_kept() {
        let all: Vec<Step> =
            (0..5).map(|user| Step { user, ..steps_with(&[true]).remove(0) }).collect();
        let users = |steps: &[Step]| steps.iter().map(|step| step.user).collect::<Vec<_>>();
        let fewest = |needs: &[u32], trials: usize| {
            let shows = |steps: &[Step]| {
                assert_eq!(moments(steps).len(), 1, "they stay together");
                Ok::<bool, ()>(needs.iter().all(|user| users(steps).contains(user)))
            };
            users(&shrink_moment(all.clone(), trials, shows).unwrap())
        };
        assert_eq!(fewest(&[1, 4], 9), [1, 4]);
        assert_eq!(fewest(&[0], 9), [0, 4], "one alone meets nobody");
        assert_eq!(fewest(&[0, 1, 2, 3, 4], 9), [0, 1, 2, 3, 4]);
        assert_eq!(fewest(&[1, 4], 1), [1, 2, 3, 4]);
    }

    #[test]
    fn an_error_ends_the_search() {
        assert_eq!(shrink(&[1, 2, 3], 9, |_| Err("gone")), Err("gone"));
    }
}
