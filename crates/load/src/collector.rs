//! Combines the seconds of all load threads, on the thread that called `run_load`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender};

use stampede_model::counts::{Counts, Second, TimeSet};
use stampede_model::time::Nanos;
use stampede_stats::histogram::{IntervalTimes, Times};

use crate::check::Check;
use crate::recorder::{IntervalStats, Message, ReturnedBuffer};
use crate::report::Listener;
use stampede_traffic::answer::Quirk;
use stampede_traffic::tag::TagFigures;

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

impl Collected {
    /// Nothing yet.
    pub(crate) fn nothing() -> Collected {
        Collected {
            counts: Counts::default(),
            times: TimeSet::empty(),
            service_time_all: Times::new(),
            connect_time: Times::coarse(),
            ok_inside: 0,
            tags: Vec::new(),
            records_lost: 0,
            odd: BTreeMap::new(),
        }
    }
}

/// Takes messages until every load thread has finished; those in `gone` never will. Reports each
/// second to the listener once all threads are past it, and returns emptied buffers. `check` names
/// the failed rules.
pub(crate) fn collect(
    messages: &Receiver<Message>,
    back: &[Sender<ReturnedBuffer>],
    gone: &[usize],
    check: &Check,
    listener: &mut dyn Listener,
) -> Collected {
    let mut collector = Collector::new(back.len());
    gone.iter().for_each(|thread| collector.next_of[*thread] = u32::MAX);
    for message in messages {
        match message {
            Message::Second { thread, mut stats } => {
                collector.add(thread, &stats, check);
                stats.clear();
                // A thread that has finished no longer takes buffers.
                let _ = back[thread].send(ReturnedBuffer::IntervalStats(stats));
            }
            Message::EmptySecond { thread, planned, in_flight } => {
                collector.add_empty(thread, planned, in_flight);
            }
            Message::Requests { thread, mut requests } => {
                listener.requests(&requests);
                requests.clear();
                let _ = back[thread].send(ReturnedBuffer::Requests(requests));
            }
            Message::Finished { thread } => collector.next_of[thread] = u32::MAX,
        }
        collector.report_complete(listener);
        if collector.next_of.iter().all(|next| *next == u32::MAX) {
            break;
        }
    }
    // A thread that is gone sent its last second before. It is reported all the same.
    collector.next_of.fill(u32::MAX);
    collector.report_complete(listener);
    collector.all
}

/// A second that some thread has not passed yet.
#[derive(Default)]
struct PendingSecond {
    counts: Counts,
    /// `None`: no thread has ended a request in it, as far as they have passed it.
    times: Option<TimeSet>,
    in_flight_max: u32,
    busy: Nanos,
}

pub(crate) struct Collector {
    /// Seconds that were not reported yet, from `first` on.
    pending: VecDeque<PendingSecond>,
    /// Empty times, to be filled again: 1.1 MB each.
    spare_times: Vec<TimeSet>,
    first: u32,
    /// For each thread, the second that it sends next.
    next_of: Vec<u32>,
    all: Collected,
}

impl Collector {
    pub(crate) fn new(threads: usize) -> Collector {
        let mut all = Collected::nothing();
        // Touch all of it, so that memory does not depend on which times occur.
        all.times.clear();
        all.service_time_all.clear();
        let (pending, spare_times) = (VecDeque::new(), Vec::new());
        Collector { pending, spare_times, first: 0, next_of: vec![0; threads], all }
    }

    pub(crate) fn add(&mut self, thread: usize, stats: &IntervalStats, check: &Check) {
        let position = self.pass_second(thread);
        let (second, spare_times) = (&mut self.pending[position], &mut self.spare_times);
        add_counts(&mut second.counts, stats, check);
        let times =
            second.times.get_or_insert_with(|| spare_times.pop().unwrap_or_else(empty_times));
        times.merge_interval(&stats.times);
        // The maxima of several threads need not be simultaneous, so the sum is an upper bound.
        second.in_flight_max += stats.in_flight_max;
        second.busy = second.busy.plus(stats.busy);
        add_counts(&mut self.all.counts, stats, check);
        self.all.service_time_all.merge_interval(&stats.service_time_all);
        self.all.connect_time.merge_interval(&stats.connect_time);
        self.all.ok_inside += stats.ok_inside;
        self.all.records_lost += stats.records_lost;
        for (count, (_, name)) in stats.odd.iter().zip(Quirk::ALL).filter(|(count, _)| **count > 0)
        {
            *self.all.odd.entry(name.to_owned()).or_default() += count;
        }
        add_tags(&mut self.all.tags, &stats.tags);
    }

    /// Adds a second of a thread in which requests only became due.
    pub(crate) fn add_empty(&mut self, thread: usize, planned: u64, in_flight: u32) {
        let position = self.pass_second(thread);
        let second = &mut self.pending[position];
        second.counts.planned += planned;
        second.in_flight_max += in_flight;
        self.all.counts.planned += planned;
    }

    /// Notes that this thread has passed its next second, and returns its position in `pending`.
    fn pass_second(&mut self, thread: usize) -> usize {
        let position = (self.next_of[thread] - self.first) as usize;
        self.next_of[thread] += 1;
        if self.pending.len() <= position {
            self.pending.resize_with(position + 1, PendingSecond::default);
        }
        position
    }

    pub(crate) fn report_complete(&mut self, listener: &mut dyn Listener) {
        let complete = self.next_of.iter().copied().min().unwrap_or(u32::MAX);
        while self.first < complete {
            let Some(pending) = self.pending.pop_front() else { return };
            let PendingSecond { counts, times, in_flight_max, busy } = pending;
            let times = times.or_else(|| self.spare_times.pop()).unwrap_or_else(empty_times);
            let mut second = Second { index: self.first, counts, times, in_flight_max, busy };
            listener.second(&second);
            self.all.times.merge(&second.times);
            second.times.clear();
            self.spare_times.push(second.times);
            self.first += 1;
        }
    }
}

/// New times, all of whose memory is touched.
fn empty_times() -> TimeSet {
    let mut times = TimeSet::empty();
    times.clear();
    times
}

fn add_counts(counts: &mut Counts, stats: &IntervalStats, check: &Check) {
    counts.planned += stats.planned;
    counts.started += stats.started;
    counts.ok += stats.ok;
    counts.dropped += stats.dropped;
    counts.bytes_sent += stats.bytes_sent;
    counts.bytes_received += stats.bytes_received;
    counts.answer_bytes += stats.answer_bytes;
    counts.body_bytes += stats.body_bytes;
    stats.failures.add_to(&mut counts.failed, check);
}

fn add_tags(
    all: &mut Vec<Option<Box<TagFigures>>>,
    more: &[Option<Box<TagFigures<IntervalTimes>>>],
) {
    if all.len() < more.len() {
        all.resize_with(more.len(), || None);
    }
    for (entry, more) in all.iter_mut().zip(more) {
        if let Some(more) = more.as_deref().filter(|more| more.ok + more.failed > 0) {
            entry.get_or_insert_with(|| Box::new(TagFigures::new())).merge_interval(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::recorder::{MeasuredTimes, Recorder};

    struct ReportedSeconds(Vec<(u32, u64)>);

    impl Listener for ReportedSeconds {
        fn second(&mut self, second: &Second) {
            self.0.push((second.index, second.counts.planned));
        }
    }

    #[test]
    fn seconds_are_reported_in_order_once_all_threads_have_passed_them() {
        let (to_us, messages) = mpsc::channel();
        let (back, empty): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel()).unzip();
        let mut empty = empty.into_iter();
        let mut recorder = |thread| {
            let empty = empty.next().expect("two of them");
            Recorder::new(thread, MeasuredTimes::ResponseTime, to_us.clone(), empty)
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
        let mut listener = ReportedSeconds(vec![]);
        let collected = collect(&messages, &back, &[], &Check::default(), &mut listener);
        assert_eq!(listener.0, [(0, 11), (1, 2), (2, 4), (3, 0)]);
        assert_eq!(collected.counts.planned, 17);
    }

    #[test]
    fn seconds_of_a_lost_thread_are_still_reported() {
        let (to_us, messages) = mpsc::channel();
        let (back, empty) = mpsc::channel();
        let mut recorder = Recorder::new(0, MeasuredTimes::ResponseTime, to_us, empty);
        recorder.planned(3);
        recorder.next_second(Nanos(0));
        drop(recorder);
        let mut listener = ReportedSeconds(vec![]);
        collect(&messages, &[back], &[], &Check::default(), &mut listener);
        assert_eq!(listener.0, [(0, 3)]);
    }
}
