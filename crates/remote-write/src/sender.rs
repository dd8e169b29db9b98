//! The thread that sends: once a second, with pauses that grow while the server does not take what
//! is sent.
//!
//! The caller and the thread share a queue behind a lock, which is held for moving samples and
//! nothing else. So the caller never waits for the network.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::client::{Client, SendError};
use crate::queue::Queue;
use crate::wire::{Sample, write_request};

/// How often and how patiently samples are sent.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Time between two requests.
    pub interval: Duration,
    /// Limit of one request.
    pub timeout: Duration,
    /// First pause after a failure. Each further pause is twice as long.
    pub pause_min: Duration,
    /// Longest pause after a failure.
    pub pause_max: Duration,
    /// Limit of the last requests, after the load.
    pub flush: Duration,
    /// Most samples that wait.
    pub waiting_max: usize,
    /// Most samples of one request.
    pub batch_max: usize,
}

impl Default for Pace {
    /// A second is what a dashboard shows at best. The pauses are those of Prometheus' own remote
    /// write, where the first would be 30 ms, which a load on the same machine may notice. A trial
    /// makes about 50 samples a second, so 60 000 (40 bytes each) outlast a server that is gone for 20
    /// minutes.
    fn default() -> Pace {
        Pace {
            interval: Duration::from_secs(1),
            timeout: Duration::from_secs(5),
            pause_min: Duration::from_millis(250),
            pause_max: Duration::from_secs(5),
            flush: Duration::from_secs(3),
            waiting_max: 60_000,
            batch_max: 2_000,
        }
    }
}

/// What the thread shares with the caller.
#[derive(Debug)]
pub struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    pace: Pace,
}

/// The samples and what became of them.
#[derive(Debug)]
pub struct State {
    /// The samples that wait.
    pub queue: Queue,
    /// Samples that are being sent.
    pub sending: u64,
    /// Samples that were taken.
    pub taken: u64,
    /// Samples that were refused.
    pub refused: u64,
    /// The first failure, until somebody is told.
    pub trouble: Option<SendError>,
    /// The last failure.
    pub last_error: Option<SendError>,
    /// When the thread has to end, after the load; `None`: the load goes on.
    until: Option<Instant>,
}

impl Shared {
    /// An empty queue.
    pub fn new(pace: Pace) -> Shared {
        let state = State {
            queue: Queue::new(pace.waiting_max),
            sending: 0,
            taken: 0,
            refused: 0,
            trouble: None,
            last_error: None,
            until: None,
        };
        Shared { state: Mutex::new(state), wake: Condvar::new(), pace }
    }

    /// The state. A thread that panicked left it whole: each change is a single call.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds samples.
    pub fn push(&self, samples: Vec<Sample>) {
        if !samples.is_empty() {
            self.state().queue.push(samples);
        }
    }

    /// Asks the thread to send the rest and to end. Returns how long it may take.
    pub fn end(&self) -> Duration {
        self.state().until = Some(Instant::now() + self.pace.flush);
        self.wake.notify_all();
        self.pace.flush
    }

    /// The work of the thread. It returns when everything was sent or the time after the load is
    /// over.
    pub fn send_all(&self, client: &Client) {
        let mut pause = Pause::new(&self.pace);
        let mut wait = Wait::Interval;
        while let Some(batch) = self.next_batch(wait) {
            let result = self.send(client, &batch);
            wait = match &result {
                Err(error) if error.is_passing() => Wait::Pause(pause.next(error)),
                _ => {
                    pause = Pause::new(&self.pace);
                    Wait::Interval
                }
            };
            self.record(batch, result);
        }
    }

    fn send(&self, client: &Client, batch: &[Sample]) -> Result<(), SendError> {
        let request = write_request(batch);
        // Only a length of more than 4 GB cannot be compressed, and a batch has 2 000 samples.
        let compressed = snap::raw::Encoder::new().compress_vec(&request).unwrap_or_default();
        let left = self.state().until.map(|until| until.saturating_duration_since(Instant::now()));
        // A limit of zero would be none.
        let limit = left.map_or(self.pace.timeout, |left| left.min(self.pace.timeout));
        client.send(&compressed, limit.max(Duration::from_millis(1)))
    }

    fn record(&self, batch: Vec<Sample>, result: Result<(), SendError>) {
        let mut state = self.state();
        state.sending = 0;
        let count = batch.len() as u64;
        let Err(error) = result else {
            state.taken += count;
            return;
        };
        if error.is_passing() {
            state.queue.put_back(batch);
        } else {
            state.refused += count;
        }
        if state.last_error.is_none() {
            state.trouble = Some(error.clone());
        }
        state.last_error = Some(error);
    }

    /// Waits as long as `wait` says, and then for samples. `None`: the load is over, and there is
    /// nothing more to send or no time.
    fn next_batch(&self, wait: Wait) -> Option<Vec<Sample>> {
        let begun = Instant::now();
        let mut state = self.state();
        let was_over = state.until.is_some();
        loop {
            let now = Instant::now();
            let has_samples = state.queue.len() > 0;
            if state.until.is_some_and(|until| !has_samples || now >= until) {
                return None;
            }
            let length = match wait {
                // The end of the load cuts the first pause short.
                _ if state.until.is_some() && !was_over => Duration::ZERO,
                Wait::Pause(pause) => pause,
                Wait::Interval if was_over || state.queue.len() >= self.pace.batch_max => {
                    Duration::ZERO
                }
                Wait::Interval => self.pace.interval,
            };
            let left = length.saturating_sub(now.duration_since(begun));
            if left.is_zero() && has_samples {
                return Some(self.take(&mut state));
            }
            let left = if left.is_zero() { self.pace.interval } else { left };
            let left = match state.until {
                Some(until) => left.min(until.saturating_duration_since(now)),
                None => left,
            };
            let woken = self.wake.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn take(&self, state: &mut State) -> Vec<Sample> {
        let batch = state.queue.take(self.pace.batch_max);
        state.sending = batch.len() as u64;
        batch
    }
}

/// What comes before the next request.
#[derive(Clone, Copy)]
enum Wait {
    /// The usual interval; none if a whole batch waits already.
    Interval,
    /// A pause after a failure.
    Pause(Duration),
}

/// The pauses after failures.
struct Pause {
    next: Duration,
    longest: Duration,
}

impl Pause {
    fn new(pace: &Pace) -> Pause {
        Pause { next: pace.pause_min, longest: pace.pause_max }
    }

    /// The pause after this failure. A server that names a longer one gets it, up to
    /// [`RETRY_AFTER_MAX`].
    fn next(&mut self, error: &SendError) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.longest);
        match error {
            SendError::Answered { retry_after: Some(wanted), .. } => {
                pause.max((*wanted).min(RETRY_AFTER_MAX))
            }
            _ => pause,
        }
    }
}

/// A server that wants more has lost the live picture anyway.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

/// Starts the thread that sends. The receiver gets nothing, and is closed when the thread ends.
pub fn spawn(
    shared: Arc<Shared>,
    client: Client,
) -> std::io::Result<std::sync::mpsc::Receiver<()>> {
    let (running, ended) = std::sync::mpsc::channel::<()>();
    std::thread::Builder::new().name("remote-write".to_owned()).spawn(move || {
        shared.send_all(&client);
        drop(running);
    })?;
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_obey_the_server() {
        let pace = Pace {
            pause_min: Duration::from_millis(100),
            pause_max: Duration::from_millis(500),
            ..Pace::default()
        };
        let mut pause = Pause::new(&pace);
        let answered = |retry_after: Option<u64>| SendError::Answered {
            status: 503,
            answer: String::new(),
            retry_after: retry_after.map(Duration::from_secs),
        };
        let wanted = [None, None, None, None, Some(2), Some(0), Some(9_999)];
        let pauses = wanted.map(|wanted| pause.next(&answered(wanted)).as_millis());
        assert_eq!(pauses, [100, 200, 400, 500, 2_000, 500, 30_000]);
    }
}
