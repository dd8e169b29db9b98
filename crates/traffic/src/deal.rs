//! Deals requests to load threads in batches, whose memory is reused.

use std::sync::Arc;

use stampede_model::stop::Stop;

use super::Request;
use super::stream::{Batch, BatchQueue, NoThreadsLeft, Stream};

/// The reader's side of the board of batches.
pub(super) struct BatchWriter {
    queue: Arc<BatchQueue>,
    filling: Batch,
    bytes: usize,
}

impl BatchWriter {
    /// A dealer for `threads` threads, with the streams that they take requests from.
    pub(super) fn new(threads: usize) -> (BatchWriter, Vec<Stream>) {
        let queue = Arc::new(BatchQueue::new(threads, BATCHES));
        let streams = (0..threads).map(|_| Stream::new(&queue)).collect();
        (BatchWriter { queue, filling: Batch::default(), bytes: 0 }, streams)
    }

    /// A function that waits until the first requests are there.
    pub(super) fn first(&self) -> impl FnOnce(&Stop) + use<> {
        let queue = Arc::clone(&self.queue);
        move |stop| queue.wait(stop)
    }

    /// A function that ends the traffic where this is never dropped, because its thread panicked: no
    /// load thread then waits for more requests.
    pub(super) fn end(&self) -> impl FnOnce() + use<> {
        let queue = Arc::clone(&self.queue);
        move || queue.end()
    }

    /// Deals a request to whichever thread is next, and waits where there is no room. Afterwards
    /// `request` holds memory to reuse.
    pub(super) fn deal(&mut self, request: &mut Request) -> Result<(), NoThreadsLeft> {
        let batch = &mut self.filling;
        if batch.count == batch.requests.len() {
            batch.requests.push(Request::default());
        }
        self.bytes += request.bytes.len();
        std::mem::swap(&mut batch.requests[batch.count], request);
        batch.count += 1;
        if batch.count == BATCH || self.bytes >= BATCH_BYTES {
            self.push_batch()?;
        }
        Ok(())
    }

    fn push_batch(&mut self) -> Result<(), NoThreadsLeft> {
        self.bytes = 0;
        self.filling = self.queue.push(std::mem::take(&mut self.filling))?;
        Ok(())
    }

    /// Deals what is left. Dropping the dealer then ends the traffic.
    pub(super) fn finish(mut self) {
        if self.filling.count > 0 {
            let _ = self.push_batch();
        }
    }
}

impl Drop for BatchWriter {
    fn drop(&mut self) {
        self.queue.end();
    }
}

/// Requests per batch: at 50 000 requests/s a batch lasts 5 ms.
const BATCH: usize = 256;
/// A batch of this many bytes is dealt even if it is not full.
const BATCH_BYTES: usize = 256 << 10;
/// Batches per thread. At 50 000 requests/s they bridge 40 ms in which the reader gets no CPU.
const BATCHES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::{Feed, FeedStatus, Origin};

    fn request(number: u16) -> Request {
        Request { bytes: number.to_string().into_bytes(), ..Request::default() }
    }

    fn feeds(streams: Vec<Stream>) -> Vec<Feed> {
        let counter = Arc::default();
        streams.into_iter().map(|stream| Feed::new(&counter, Origin::Stream(stream))).collect()
    }

    fn next(feed: &mut Feed) -> Option<u16> {
        let is_there = feed.poll() == FeedStatus::Ready;
        is_there.then(|| String::from_utf8_lossy(&feed.take().bytes).parse().unwrap())
    }

    #[test]
    fn threads_get_requests_in_turn_and_see_the_end() {
        let (mut batch_writer, streams) = BatchWriter::new(2);
        (0..5).for_each(|number| batch_writer.deal(&mut request(number)).unwrap());
        let mut feeds = feeds(streams);
        assert_eq!((feeds[0].poll(), feeds[0].was_late()), (FeedStatus::Late, true));
        batch_writer.finish();
        let turns = [0, 1, 1, 0, 1, 0, 1].map(|thread| next(&mut feeds[thread]));
        assert_eq!(turns, [Some(0), Some(1), Some(2), Some(3), Some(4), None, None]);
        assert!(feeds.iter_mut().all(|feed| feed.poll() == FeedStatus::Ended && !feed.was_late()));
    }

    /// The thread has asked for its next request, and then does not take it.
    #[test]
    fn a_slow_thread_delays_no_other_and_memory_stays_constant() {
        const COUNT: u16 = 20_000;
        let (mut batch_writer, streams) = BatchWriter::new(2);
        let reader = std::thread::spawn(move || {
            (0..COUNT).for_each(|number| batch_writer.deal(&mut request(number)).unwrap());
            batch_writer.finish();
        });
        let mut feeds = feeds(streams);
        let (slow, quick) = feeds.split_at_mut(1);
        let (slow, quick) = (&mut slow[0], &mut quick[0]);
        while slow.poll() != FeedStatus::Ready {
            std::thread::yield_now();
        }
        let mut all = Vec::new();
        while quick.poll() != FeedStatus::Ended {
            all.extend(next(quick));
            std::thread::yield_now();
        }
        reader.join().unwrap();
        assert_eq!(all, (1..COUNT).collect::<Vec<_>>());
        assert_eq!((next(slow), next(slow)), (Some(0), None));
    }

    #[test]
    fn writing_fails_once_all_threads_have_ended() {
        let (mut batch_writer, streams) = BatchWriter::new(2);
        drop(streams);
        let dealt = (0..20_000).find_map(|number| batch_writer.deal(&mut request(number)).err());
        assert_eq!(dealt, Some(NoThreadsLeft));
    }

    #[test]
    fn after_a_stop_nobody_waits_for_the_first_requests() {
        let (batch_writer, _streams) = BatchWriter::new(1);
        let stop = Stop::default();
        stop.ask();
        batch_writer.first()(&stop);
    }
}
