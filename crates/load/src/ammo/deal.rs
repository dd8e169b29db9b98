//! Deals requests to load threads, in batches whose memory comes back.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::Request;
use crate::driver::{Batch, Stream};

/// The reader's side of all threads' streams.
pub(super) struct Dealer {
    threads: Vec<Thread>,
    back: Receiver<(usize, Batch)>,
    /// Whose turn it is.
    turn: usize,
}

struct Thread {
    /// `None`: the thread has ended.
    to: Option<SyncSender<Batch>>,
    /// Filled for it.
    filling: Option<Batch>,
    bytes: usize,
    /// Emptied ones that came back. Each thread has its own: one that is slow holds up
    /// nobody.
    empty: Vec<Batch>,
}

/// Nobody is left to fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

impl Dealer {
    /// For so many threads, with the ends that they take from.
    pub(super) fn new(threads: usize) -> (Dealer, Vec<Stream>) {
        let (to_us, back) = sync_channel(threads * (BATCHES + 1));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for thread in 0..threads {
            // One more than there are: the last may carry nothing.
            let (to, prepared) = sync_channel(BATCHES + 1);
            let batch = || Batch { requests: Vec::with_capacity(BATCH), ..Batch::default() };
            let empty = (0..BATCHES).map(|_| batch()).collect();
            ours.push(Thread { to: Some(to), filling: None, bytes: 0, empty });
            theirs.push(Stream::new(thread, prepared, to_us.clone()));
        }
        (Dealer { threads: ours, back, turn: 0 }, theirs)
    }

    /// Deals one to the thread whose turn it is, or to the next one that has room for it;
    /// waits where none has. `request` becomes memory to be used again.
    pub(super) fn deal(&mut self, request: &mut Request) -> Result<(), Gone> {
        let place = self.thread_with_room()?;
        self.turn = (place + 1) % self.threads.len();
        let thread = &mut self.threads[place];
        let Some(batch) = &mut thread.filling else { return Err(Gone) };
        if batch.count == batch.requests.len() {
            batch.requests.push(Request::default());
        }
        thread.bytes += request.bytes.len();
        std::mem::swap(&mut batch.requests[batch.count], request);
        batch.count += 1;
        if batch.count == BATCH || thread.bytes >= BATCH_BYTES {
            thread.send();
        }
        Ok(())
    }

    fn thread_with_room(&mut self) -> Result<usize, Gone> {
        loop {
            while let Ok(back) = self.back.try_recv() {
                self.take(back);
            }
            let count = self.threads.len();
            let in_turn = (0..count).map(|step| (self.turn + step) % count);
            for place in in_turn {
                if self.threads[place].has_room() {
                    return Ok(place);
                }
            }
            let back = self.back.recv().map_err(|_| Gone)?;
            self.take(back);
        }
    }

    fn take(&mut self, (thread, mut batch): (usize, Batch)) {
        // What a stream begins with is none of those that were made here.
        if batch.requests.capacity() > 0 {
            batch.count = 0;
            self.threads[thread].empty.push(batch);
        }
    }

    /// Sends what is left, and says that it is over.
    pub(super) fn finish(mut self) {
        for thread in &mut self.threads {
            let mut batch = thread.filling.take().unwrap_or_default();
            batch.last = true;
            thread.filling = Some(batch);
            thread.send();
        }
    }
}

impl Thread {
    fn has_room(&mut self) -> bool {
        if self.to.is_some() && self.filling.is_none() {
            self.filling = self.empty.pop();
        }
        self.filling.is_some()
    }

    fn send(&mut self) {
        self.bytes = 0;
        let (Some(to), Some(batch)) = (&self.to, self.filling.take()) else { return };
        // There is room for all that exist, so an error says that the thread has ended.
        if to.try_send(batch).is_err() {
            self.to = None;
            self.empty.clear();
        }
    }
}

/// Requests of a batch: at 50 000 shots/s one lasts 5 ms.
const BATCH: usize = 256;
/// Bytes of a batch, with which it goes out although it is not full.
const BATCH_BYTES: usize = 256 << 10;
/// Batches of a thread. What it has in hand at 50 000 shots/s outlasts 40 ms in which the
/// reader gets no CPU.
const BATCHES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Feed, Stock};

    fn request(number: u16) -> Request {
        Request { bytes: number.to_string().into_bytes(), ..Request::default() }
    }

    fn fired(feed: &mut Feed) -> Vec<u16> {
        let mut fired = Vec::new();
        while feed.stock() == Stock::There {
            fired.push(String::from_utf8_lossy(&feed.next().bytes).parse().unwrap());
        }
        fired
    }

    #[test]
    fn threads_get_them_in_turn_and_the_end() {
        let (mut dealer, streams) = Dealer::new(2);
        (0..5).for_each(|number| dealer.deal(&mut request(number)).unwrap());
        let mut feeds: Vec<Feed> = streams.into_iter().map(Feed::Stream).collect();
        assert_eq!((feeds[0].stock(), feeds[0].was_late()), (Stock::Late, true));
        dealer.finish();
        let shares: Vec<_> = feeds.iter_mut().map(fired).collect();
        assert_eq!(shares, [vec![0, 2, 4], vec![1, 3]]);
        assert!(feeds.iter_mut().all(|feed| feed.stock() == Stock::Over && !feed.was_late()));
    }

    #[test]
    fn a_slow_thread_holds_up_nobody_and_memory_stays() {
        const COUNT: u16 = 20_000;
        let (mut dealer, mut streams) = Dealer::new(2);
        let (slow, quick) = (streams.remove(0), streams.remove(0));
        let reader = std::thread::spawn(move || {
            (0..COUNT).for_each(|number| dealer.deal(&mut request(number)).unwrap());
            dealer.finish();
        });
        let (mut slow, mut quick) = (Feed::Stream(slow), Feed::Stream(quick));
        let mut all = Vec::new();
        while quick.stock() != Stock::Over {
            all.extend(fired(&mut quick));
            std::thread::yield_now();
        }
        reader.join().unwrap();
        // What is kept for the slow one is what batches of it there are.
        let kept = fired(&mut slow);
        assert!(kept.len() <= BATCH * BATCHES, "{}", kept.len());
        all.extend(kept);
        all.sort_unstable();
        assert_eq!(all, (0..COUNT).collect::<Vec<_>>());
    }

    #[test]
    fn with_nobody_left_it_ends() {
        let (mut dealer, streams) = Dealer::new(2);
        drop(streams);
        let dealt = (0..20_000).find_map(|number| dealer.deal(&mut request(number)).err());
        assert_eq!(dealt, Some(Gone));
    }
}
