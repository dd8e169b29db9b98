//! Combines the seconds of all load threads, on the thread that called `run_load`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender};

use stampede_stats::histogram::Times;

use crate::check::Check;
use crate::protocol::Odd;
use crate::recorder::{Emptied, IntervalStats, Message};
use crate::report::{Counts, Listener, Second, TagFigures, TimeSet};
use crate::time::Nanos;

/// Everything in the seconds, merged.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) counts: Counts,
    pub(crate) times: TimeSet,
    pub(crate) service_time_all: Times,
    pub(crate) connect_time: Times,
    pub(crate) ok_inside: u64,
    /// Figures by number of the tag; empty where tags were not counted separately.
    pub(crate) tags: Vec<Option<Box<TagFigures>>>,
    pub(crate) records_lost: u64,
    /// Answers with odd header lines, by kind.
    pub(crate) odd: BTreeMap<String, u64>,
}

/// Takes messages until every load thread has finished or is gone. Reports each second to the
/// listener once all threads are past it, and returns emptied buffers. `check` names the failed
/// rules.
pub(crate) fn collect(
    messages: &Receiver<Message>,
    back: &[Sender<Emptied>],
    check: &Check,
    listener: &mut dyn Listener,
) -> Collected {
    let mut collector = Collector::new(back.len());
    for message in messages {
        match message {
            Message::Second { thread, mut tally } => {
                collector.add(thread, &tally, check);
                tally.clear();
                // A thread that has finished no longer takes buffers.
                let _ = back[thread].send(Emptied::IntervalStats(tally));
            }
            Message::Requests { thread, mut requests } => {
                listener.requests(&requests);
                requests.clear();
                let _ = back[thread].send(Emptied::Requests(requests));
            }
            Message::Finished { thread } => collector.next_of[thread] = u32::MAX,
        }
        collector.tell(listener);
        if collector.next_of.iter().all(|next| *next == u32::MAX) {
            break;
        }
    }
    // A load thread that panicked never finishes. What it sent before is reported all the same.
    collector.next_of.fill(u32::MAX);
    collector.tell(listener);
    collector.all
}

pub(crate) struct Collector {
    /// Seconds that were not reported yet, from `first` on.
    waiting: VecDeque<Second>,
    /// Times of reported seconds, to be filled again: 380 KB each.
    told: Vec<TimeSet>,
    first: u32,
    /// For each thread, the second that it sends next.
    next_of: Vec<u32>,
    all: Collected,
}

impl Collector {
    pub(crate) fn new(threads: usize) -> Collector {
        let mut all = Collected {
            counts: Counts::default(),
            times: TimeSet::empty(),
            service_time_all: Times::new(),
            connect_time: Times::coarse(),
            ok_inside: 0,
            tags: Vec::new(),
            records_lost: 0,
            odd: BTreeMap::new(),
        };
        // Touch all of it, so that memory does not depend on which times occur.
        all.times.clear();
        all.service_time_all.clear();
        let (waiting, told) = (VecDeque::new(), Vec::new());
        Collector { waiting, told, first: 0, next_of: vec![0; threads], all }
    }

    pub(crate) fn add(&mut self, thread: usize, tally: &IntervalStats, check: &Check) {
        self.next_of[thread] = tally.index + 1;
        let place = (tally.index - self.first) as usize;
        while self.waiting.len() <= place {
            let index = self.first + self.waiting.len() as u32;
            self.waiting.push_back(empty_second(index, self.told.pop()));
        }
        let second = &mut self.waiting[place];
        add_counts(&mut second.counts, tally, check);
        second.times.merge(&tally.times);
        // The maxima of several threads need not be simultaneous, so the sum is an upper bound.
        second.in_flight_max += tally.in_flight_max;
        second.busy = second.busy.plus(tally.busy);
        add_counts(&mut self.all.counts, tally, check);
        self.all.times.merge(&tally.times);
        self.all.service_time_all.merge(&tally.service_time_all);
        if !tally.connect_time.is_empty() {
            self.all.connect_time.merge(&tally.connect_time);
        }
        self.all.ok_inside += tally.ok_inside;
        self.all.records_lost += tally.records_lost;
        for (count, (_, name)) in tally.odd.iter().zip(Odd::ALL).filter(|(count, _)| **count > 0) {
            *self.all.odd.entry(name.to_owned()).or_default() += count;
        }
        add_tags(&mut self.all.tags, &tally.tags);
    }

    pub(crate) fn tell(&mut self, listener: &mut dyn Listener) {
        let complete = self.next_of.iter().copied().min().unwrap_or(u32::MAX);
        while self.first < complete {
            let Some(second) = self.waiting.pop_front() else { return };
            listener.second(&second);
            self.told.push(second.times);
            self.first += 1;
        }
    }
}

/// An empty second. `used` are the times of a reported second, whose memory is reused.
fn empty_second(index: u32, used: Option<TimeSet>) -> Second {
    let mut times = used.unwrap_or_else(TimeSet::empty);
    times.clear();
    Second { index, counts: Counts::default(), times, in_flight_max: 0, busy: Nanos(0) }
}

fn add_counts(counts: &mut Counts, tally: &IntervalStats, check: &Check) {
    counts.planned += tally.planned;
    counts.started += tally.started;
    counts.ok += tally.ok;
    counts.dropped += tally.dropped;
    counts.bytes_sent += tally.bytes_sent;
    counts.bytes_received += tally.bytes_received;
    counts.answer_bytes += tally.answer_bytes;
    counts.body_bytes += tally.body_bytes;
    tally.failures.add_to(&mut counts.failed, check);
}

fn add_tags(all: &mut Vec<Option<Box<TagFigures>>>, more: &[Option<Box<TagFigures>>]) {
    if all.len() < more.len() {
        all.resize_with(more.len(), || None);
    }
    for (place, more) in all.iter_mut().zip(more) {
        if let Some(more) = more.as_deref().filter(|more| more.ok + more.failed > 0) {
            place.get_or_insert_with(|| Box::new(TagFigures::new())).merge(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::recorder::{Headline, Recorder};

    struct Told(Vec<(u32, u64)>);

    impl Listener for Told {
        fn second(&mut self, second: &Second) {
            self.0.push((second.index, second.counts.planned));
        }
    }

    #[test]
    fn seconds_are_told_in_order_once_all_threads_are_past_them() {
        let (to_us, messages) = mpsc::channel();
        let (back, empty): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel()).unzip();
        let mut empty = empty.into_iter();
        let mut recorder = |thread| {
            let empty = empty.next().expect("two of them");
            Recorder::new(thread, Headline::ResponseTime, to_us.clone(), empty)
        };
        let (mut first, mut second) = (recorder(0), recorder(1));
        // The second thread is two seconds ahead, and the first one ends in second 0.
        for requests in [1, 2, 4] {
            second.planned(requests);
            second.next_second(Nanos(0));
        }
        second.finish(Nanos(0));
        first.planned(10);
        first.finish(Nanos(0));
        drop(to_us);
        let mut told = Told(vec![]);
        let collected = collect(&messages, &back, &Check::default(), &mut told);
        assert_eq!(told.0, [(0, 11), (1, 2), (2, 4), (3, 0)]);
        assert_eq!(collected.counts.planned, 17);
    }

    #[test]
    fn what_a_lost_thread_handed_on_is_told_all_the_same() {
        let (to_us, messages) = mpsc::channel();
        let (back, empty) = mpsc::channel();
        let mut recorder = Recorder::new(0, Headline::ResponseTime, to_us, empty);
        recorder.planned(3);
        recorder.next_second(Nanos(0));
        drop(recorder);
        let mut told = Told(vec![]);
        collect(&messages, &[back], &Check::default(), &mut told);
        assert_eq!(told.0, [(0, 3)]);
    }
}
