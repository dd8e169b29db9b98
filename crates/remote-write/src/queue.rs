//! The samples that wait to be sent: a bounded queue that loses the oldest.

use std::collections::VecDeque;

use crate::wire::Sample;

/// Samples in the order of time. The newest matter most to somebody who watches, so a full queue
/// drops the oldest.
#[derive(Debug)]
pub struct Queue {
    samples: VecDeque<Sample>,
    samples_max: usize,
    /// Samples that were dropped.
    pub dropped: u64,
}

impl Queue {
    /// A queue of at most `samples_max` samples.
    pub fn new(samples_max: usize) -> Queue {
        Queue { samples: VecDeque::new(), samples_max, dropped: 0 }
    }

    /// Adds samples.
    pub fn push(&mut self, samples: Vec<Sample>) {
        self.samples.extend(samples);
        self.drop_oldest();
    }

    /// Takes the oldest samples, at most `most`.
    pub fn take(&mut self, most: usize) -> Vec<Sample> {
        self.samples.drain(..most.min(self.samples.len())).collect()
    }

    /// Puts samples back that were taken last and not sent.
    pub fn put_back(&mut self, samples: Vec<Sample>) {
        samples.into_iter().rev().for_each(|sample| self.samples.push_front(sample));
        self.drop_oldest();
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    fn drop_oldest(&mut self) {
        let over = self.samples.len().saturating_sub(self.samples_max);
        self.samples.drain(..over);
        self.dropped += over as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::wire::Series;

    fn samples(times: std::ops::Range<i64>) -> Vec<Sample> {
        let series = Series::new(1, &BTreeMap::new());
        times.map(|at_ms| Sample { series: series.clone(), value: 0.0, at_ms }).collect()
    }

    proptest! {
        #[test]
        fn order_stays_and_every_sample_is_taken_dropped_or_waits(
            steps in prop::collection::vec((0_i64..9, 0_usize..9, any::<bool>()), 1..40),
            samples_max in 1_usize..20,
        ) {
            let mut queue = Queue::new(samples_max);
            let (mut begun, mut sent) = (0, Vec::new());
            for (count, most, is_sent) in steps {
                queue.push(samples(begun..begun + count));
                begun += count;
                let taken = queue.take(most);
                prop_assert!(taken.len() <= most);
                if is_sent {
                    sent.extend(taken.iter().map(|sample| sample.at_ms));
                } else {
                    queue.put_back(taken);
                }
                prop_assert!(queue.len() <= samples_max);
                let all = sent.len() as u64 + queue.dropped + queue.len() as u64;
                prop_assert_eq!(all, begun as u64);
            }
            sent.extend(queue.take(usize::MAX).iter().map(|sample| sample.at_ms));
            prop_assert!(sent.is_sorted_by(|one, next| one < next), "{sent:?}");
            prop_assert!(sent.last().is_none_or(|last| *last == begun - 1), "the newest is kept");
        }
    }
}
