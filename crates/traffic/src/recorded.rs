//! When the requests of a recording were made, as a schedule that can be replayed.

use std::collections::VecDeque;
use std::io;

use stampede_model::load::Habits;
use stampede_model::time::Nanos;

use super::read::{Entry, TrafficReader};
use super::{Request, Tags, TrafficError, TrafficFile};

/// The times of a file's requests, in the order in which they are sent: how long after the first one
/// each was made. Read as a stream: memory is needed for the requests of one moment only, at most
/// [`MOMENT_REQUESTS_MAX`].
///
/// A log is written when a request ends, so a time may be before the one above it. Such a request
/// counts as made with the one above, for the order is that of the file. Where times are whole
/// seconds, the requests of a second are spread over it evenly: they were not made all at once.
pub struct RecordedTimes {
    reading: TrafficReader,
    request: Request,
    /// The time of the first request.
    first_ns: Option<u64>,
    /// The latest time so far, since the first one.
    last_ns: u64,
    /// Offsets that are known.
    ready: VecDeque<Nanos>,
    /// The requests of the moment that is being read.
    moment: Option<Moment>,
    without_time: u64,
    is_over: bool,
}

#[derive(Clone, Copy, Debug)]
struct Moment {
    offset_ns: u64,
    requests: u32,
    /// Whether it is a whole second.
    is_second: bool,
}

impl RecordedTimes {
    /// The times of `file`, for the requests that a load sends of it.
    ///
    /// # Errors
    /// The file cannot be read, or is in no known format.
    pub fn of(file: &TrafficFile, habits: Habits) -> Result<RecordedTimes, TrafficError> {
        Ok(RecordedTimes::new(TrafficReader::of(file, habits, &Tags::new())?))
    }

    pub(super) fn new(reading: TrafficReader) -> RecordedTimes {
        RecordedTimes {
            reading,
            request: Request::default(),
            first_ns: None,
            last_ns: 0,
            ready: VecDeque::new(),
            moment: None,
            without_time: 0,
            is_over: false,
        }
    }

    /// Requests so far whose time is not in the file. They count as made with the one above.
    pub fn without_time(&self) -> u64 {
        self.without_time
    }

    /// Reads the next request that is sent.
    fn read(&mut self) -> io::Result<()> {
        match self.reading.next(&mut self.request)? {
            Entry::Request => self.add(self.reading.time_ns()),
            Entry::Skipped(_) | Entry::Broken(_) => {}
            Entry::End => {
                self.is_over = true;
                self.end_moment(None);
            }
        }
        Ok(())
    }

    fn add(&mut self, time_ns: Option<u64>) {
        self.without_time += u64::from(time_ns.is_none());
        let is_second = time_ns.is_some_and(|time| time.is_multiple_of(Nanos::SECOND.0));
        let first_ns = self.first_ns.or(time_ns);
        self.first_ns = first_ns;
        let (time_ns, first_ns) = (time_ns.or(first_ns).unwrap_or(0), first_ns.unwrap_or(0));
        let offset_ns = time_ns.saturating_sub(first_ns).max(self.last_ns);
        self.last_ns = offset_ns;
        let is_same = |moment: &&mut Moment| {
            moment.offset_ns == offset_ns && moment.requests < MOMENT_REQUESTS_MAX
        };
        if let Some(moment) = self.moment.as_mut().filter(is_same) {
            moment.requests += 1;
            return;
        }
        self.end_moment(Some(offset_ns));
        self.moment = Some(Moment { offset_ns, requests: 1, is_second });
    }

    /// The offsets of the moment that ends before the one at `next_ns`.
    fn end_moment(&mut self, next_ns: Option<u64>) {
        let Some(moment) = self.moment.take() else { return };
        // What does not fit into one moment is no time of its own.
        let is_whole = moment.is_second && next_ns != Some(moment.offset_ns);
        let step = if is_whole { Nanos::SECOND.0 / u64::from(moment.requests) } else { 0 };
        let offsets = (0..u64::from(moment.requests)).map(|n| Nanos(moment.offset_ns + n * step));
        self.ready.extend(offsets);
    }
}

impl Iterator for RecordedTimes {
    type Item = io::Result<Nanos>;

    fn next(&mut self) -> Option<io::Result<Nanos>> {
        while self.ready.is_empty() && !self.is_over {
            if let Err(error) = self.read() {
                self.is_over = true;
                return Some(Err(error));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

/// Most requests of one moment that are spread over a second: a million in a second is more than a
/// server answers.
pub const MOMENT_REQUESTS_MAX: u32 = 1_000_000;
