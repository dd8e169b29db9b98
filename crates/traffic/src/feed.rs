//! Gives each load thread its next request, in the order of the whole load.
//!
//! All threads share one counter: the next request of the load goes to whichever thread sends next.
//! So what was sent is always the beginning of the traffic, however many threads there are and
//! however fast each is. If each thread had its own share of a list, a thread whose share is
//! answered quickly would send more of it. The mix of requests would then differ from the file's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stampede_model::part::Part;

use super::shuffle::Shuffle;
use super::stream::Stream;
use crate::request::Request;

/// The requests of one load thread.
#[derive(Debug)]
pub struct Feed {
    counter: Arc<RequestCounter>,
    /// The number of the next request, once this thread has reserved it.
    number: Option<u64>,
    /// Where its requests come from.
    pub origin: Origin,
}

/// Where the requests come from.
#[derive(Debug)]
pub enum Origin {
    /// A list in memory.
    List(List),
    /// Batches that a reader prepares.
    Stream(Stream),
}

/// How many requests were handed out to threads. It is written for each request, so it has its
/// cache lines to itself.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct RequestCounter(AtomicU64);

/// Whether there is a request to send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedStatus {
    /// There is one: `next` returns it.
    Ready,
    /// Not yet: the reader was too slow.
    Late,
    /// There are no more.
    Ended,
}

/// Whether the traffic may end before the schedule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficEnd {
    /// No: it goes on for as long as it is asked.
    Never,
    /// It ends after a number of requests that is not known in advance.
    Sometime,
}

impl Feed {
    /// The feed of one thread; all threads of a load share `counter`.
    pub fn new(counter: &Arc<RequestCounter>, origin: Origin) -> Feed {
        Feed { counter: Arc::clone(counter), number: None, origin }
    }

    /// Whether there is a request to send. Takes what the reader has prepared, and never waits. The
    /// request found is reserved for this thread, so call it only when one can start.
    pub fn poll(&mut self) -> FeedStatus {
        let counter = &self.counter.0;
        let number = *self.number.get_or_insert_with(|| counter.fetch_add(1, Ordering::Relaxed));
        match &mut self.origin {
            Origin::List(list) if list.part.nth(number) < list.count => FeedStatus::Ready,
            Origin::List(_) => FeedStatus::Ended,
            Origin::Stream(stream) => stream.poll(number),
        }
    }

    /// Whether the last look found that the reader was too slow.
    pub fn was_late(&self) -> bool {
        match &self.origin {
            Origin::List(_) => false,
            Origin::Stream(stream) => stream.was_late(),
        }
    }

    /// The next request; to be called only after `poll` said that there is one.
    pub fn take(&mut self) -> &Request {
        let number = self.number.take().expect("looked for before");
        match &mut self.origin {
            Origin::List(list) => list.at(number),
            Origin::Stream(stream) => stream.at(number),
        }
    }
}

/// A list of requests that is repeated from its start.
#[derive(Debug)]
pub struct List {
    traffic: Arc<[Request]>,
    shuffle: Option<Shuffle>,
    count: u64,
    part: Part,
}

impl List {
    /// `count`: requests in all, over all threads and parts; `None`: without limit. `seed`: the list is
    /// shuffled, differently in each pass. The list must not be empty.
    pub fn new(traffic: Arc<[Request]>, seed: Option<u64>, count: Option<u64>) -> List {
        let shuffle = seed.map(|seed| Shuffle::new(seed, traffic.len()));
        List { traffic, shuffle, count: count.unwrap_or(u64::MAX), part: Part::WHOLE }
    }

    /// Only this part's requests, dealt in turn.
    pub fn of_part(self, part: Part) -> List {
        List { part, ..self }
    }

    fn at(&mut self, number: u64) -> &Request {
        let number = self.part.nth(number);
        let index = match &mut self.shuffle {
            None => (number % self.traffic.len() as u64) as usize,
            Some(shuffle) => shuffle.position(number),
        };
        &self.traffic[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two threads: the first sends nine times while the second sends once.
    #[test]
    fn requests_sent_are_always_a_prefix_of_the_order() {
        for (length, seed) in [(1_usize, None), (2, None), (2, Some(1)), (6, None), (6, Some(1))] {
            let requests = |tag| Request { tag: crate::Tag(tag), ..Request::default() };
            let traffic: Arc<[Request]> = (0..length as u16).map(requests).collect();
            let counter = Arc::default();
            let list = || Origin::List(List::new(Arc::clone(&traffic), seed, None));
            let mut feeds = [Feed::new(&counter, list()), Feed::new(&counter, list())];
            let mut sent = vec![0_u32; length];
            for turn in 0..600 {
                let feed = &mut feeds[usize::from(turn % 10 == 9)];
                assert_eq!(feed.poll(), FeedStatus::Ready);
                sent[feed.take().tag.index()] += 1;
            }
            let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            assert!(most - least <= 1, "{sent:?}");
        }
    }

    #[test]
    fn all_threads_together_send_the_given_number_of_requests() {
        let traffic: Arc<[Request]> = vec![Request::default()].into();
        let counter = Arc::default();
        let feed =
            || Feed::new(&counter, Origin::List(List::new(Arc::clone(&traffic), None, Some(5))));
        let mut feeds = [feed(), feed(), feed()];
        let mut sent = 0;
        for turn in 0..30 {
            let feed = &mut feeds[turn % 3];
            if feed.poll() == FeedStatus::Ready {
                feed.take();
                sent += 1;
            }
        }
        assert_eq!(sent, 5);
        assert!(feeds.iter_mut().all(|feed| feed.poll() == FeedStatus::Ended));
    }

    #[test]
    fn parts_together_send_each_request_of_the_list_in_its_place() {
        for (seed, count) in [(None, 10), (Some(4), 10), (None, 11), (Some(4), 1)] {
            let traffic: Arc<[Request]> =
                (0..5).map(|tag| Request { tag: crate::Tag(tag), ..Request::default() }).collect();
            let sent = |part| {
                let list = List::new(Arc::clone(&traffic), seed, Some(count)).of_part(part);
                let mut feed = Feed::new(&Arc::default(), Origin::List(list));
                let mut sent = Vec::new();
                while feed.poll() == FeedStatus::Ready {
                    sent.push(feed.take().tag.index());
                }
                sent
            };
            let whole = sent(Part::WHOLE);
            assert_eq!(whole.len() as u64, count);
            for part in Part::all(3) {
                let dealt = whole.iter().copied().skip(part.index() as usize).step_by(3);
                assert_eq!(sent(part), dealt.collect::<Vec<_>>(), "{seed:?} {part:?}");
            }
        }
    }
}
