//! Sends the live figures of a load to Prometheus by remote write 1.0, so that Grafana shows a load
//! while it runs.
//!
//! ```text
//! events, seconds, readings ─▶ samples ─▶ queue ─▶ thread: wire ─▶ client ─▶ Prometheus
//! ```
//! What is measured must not depend on who watches: the caller never waits, a full queue loses its
//! oldest samples, and a server that fails costs a notice. [`RemoteWriter::finish`] says what
//! arrived.

mod client;
pub mod metrics;
mod queue;
#[cfg(test)]
mod read_back;
mod samples;
mod sender;
mod target;
mod wire;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use stampede_model::counts::Second;
use stampede_model::cpus::CpuCount;
use stampede_model::event::{Event, EventListener, Phase};
use stampede_model::record::{LoadModel, Validity};
use stampede_model::sample::ResourceSample;

pub use client::{Roots, SendError};
pub use samples::{KINDS, OTHER, TrialLabels};
pub use sender::Pace;
pub use target::{
    PASSWORD_VARIABLE, TOKEN_VARIABLE, Target, TargetError, URL_VARIABLE, USER_VARIABLE,
    user_labels,
};

use client::Client;
use samples::Recorder;
use sender::Shared;

/// Where and how to send.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address, with credentials.
    pub target: Target,
    /// Labels of the user, from [`user_labels`].
    pub labels: Vec<(String, String)>,
    /// How often samples are sent.
    pub pace: Pace,
    /// Which servers are trusted.
    pub roots: Roots,
}

impl Settings {
    /// The usual settings for an address.
    pub fn new(target: Target) -> Settings {
        Settings { target, labels: Vec::new(), pace: Pace::default(), roots: Roots::System }
    }
}

/// Sends the figures of a run. `compare` and the searches give it their events; `fire`, which has no
/// trials, calls [`begin_load`](RemoteWriter::begin_load) and the other methods.
///
/// No method waits for the network but [`finish`](RemoteWriter::finish).
#[derive(Debug)]
pub struct RemoteWriter {
    recorder: Recorder,
    shared: Arc<Shared>,
    ended: Receiver<()>,
    target: Target,
}

/// Why nothing can be sent at all.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StartError {
    /// The thread could not be started.
    #[error("the thread for remote write did not start")]
    NoThread {
        /// The system's error.
        #[serde(skip)]
        source: io::Error,
    },
}

/// What became of the samples.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sent {
    /// Different series.
    pub series: u64,
    /// Samples that the server took.
    pub samples: u64,
    /// Samples that were dropped, because too many waited.
    pub dropped: u64,
    /// Samples that the server refused, or that could not be sent in the end.
    pub failed: u64,
    /// The last failure, which later samples may have survived; `None`: there was none.
    pub last_error: Option<SendError>,
}

impl Sent {
    /// Whether the server has all samples.
    pub fn is_whole(&self) -> bool {
        self.dropped == 0 && self.failed == 0
    }
}

/// A sentence for people: `sent 4 512 samples of 48 series`.
impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sent { series, samples, dropped, failed, last_error } = self;
        write!(f, "remote write: sent {samples} samples of {series} series")?;
        if *dropped > 0 {
            write!(f, "; dropped {dropped}, because too many waited")?;
        }
        if *failed > 0 {
            write!(f, "; {failed} were not taken")?;
        }
        match last_error {
            Some(error) if !self.is_whole() => write!(f, "; the last error: {error}"),
            _ => Ok(()),
        }
    }
}

/// The first failure of a run, for a notice. The measurement goes on.
#[derive(Clone, Debug, thiserror::Error, Serialize)]
#[error("remote write to `{address}` fails, and the load goes on")]
pub struct Trouble {
    /// The address, without secrets.
    pub address: String,
    /// What failed.
    #[source]
    pub error: SendError,
}

impl RemoteWriter {
    /// Starts the thread that sends. Nothing is sent yet.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(settings: Settings) -> Result<RemoteWriter, StartError> {
        let Settings { target, labels, pace, roots } = settings;
        let shared = Arc::new(Shared::new(pace));
        let client = Client::new(target.clone(), &roots);
        let ended = sender::spawn(Arc::clone(&shared), client)
            .map_err(|source| StartError::NoThread { source })?;
        Ok(RemoteWriter { recorder: Recorder::new(labels), shared, ended, target })
    }

    /// The trials or loads from now on belong to this run. Not needed where `RunStarted` is passed.
    pub fn set_run(&mut self, run: &str) {
        self.recorder.set_run(run);
    }

    /// A load begins, of which only seconds are known. A load that has not ended does so.
    pub fn begin_load(&mut self, labels: &TrialLabels, model: LoadModel) {
        self.record(|recorder, now| recorder.begin(labels, model, CpuCount::default(), now));
    }

    /// A phase begins. The seconds that follow belong to it, if it is warm-up or measure.
    pub fn phase(&mut self, phase: Phase) {
        self.record(|recorder, now| recorder.phase(phase, now));
    }

    /// A second of the load is over.
    pub fn second(&mut self, second: &Second) {
        self.record(|recorder, now| recorder.second(second, now));
    }

    /// A reading of the monitor.
    pub fn resources(&mut self, sample: &ResourceSample) {
        self.record(|recorder, now| recorder.resources(sample, now));
    }

    /// The load ended, and with it its series. `None`: there is no verdict.
    pub fn end_load(&mut self, verdict: Option<Validity>) {
        self.record(|recorder, now| recorder.end(verdict, now));
    }

    /// Returns the first failure, once.
    pub fn take_trouble(&mut self) -> Option<Trouble> {
        let error = self.shared.state().trouble.take()?;
        Some(Trouble { address: self.target.to_string(), error })
    }

    /// Sends the rest, for at most [`Pace::flush`], and says what arrived. A load that has not
    /// ended does so.
    pub fn finish(mut self) -> Sent {
        self.end_load(None);
        self.wait();
        let state = self.shared.state();
        Sent {
            series: u64::from(self.recorder.series()),
            samples: state.taken,
            dropped: state.queue.dropped,
            failed: state.refused + state.sending + state.queue.len() as u64,
            last_error: state.last_error.clone(),
        }
    }

    /// Asks the thread to end and waits until it has sent the rest, for a limited time. A name server
    /// may keep it longer. It is left behind then, with what it has.
    fn wait(&self) {
        let limit = self.shared.end();
        let _ = self.ended.recv_timeout(limit + GRACE);
    }

    fn record(&mut self, what: impl FnOnce(&mut Recorder, i64)) {
        what(&mut self.recorder, now_ms());
        self.shared.push(self.recorder.take());
    }
}

impl EventListener for RemoteWriter {
    fn event(&mut self, event: &Event<'_>) {
        self.record(|recorder, now| recorder.event(event, now));
    }
}

/// Sends the rest as `finish` does, and says nothing about it.
impl Drop for RemoteWriter {
    fn drop(&mut self) {
        self.wait();
    }
}

/// Passes events to a listener and to a writer, and the writer's trouble as a notice to the
/// listener. Without a writer only the listener gets them.
pub struct WithRemoteWrite<'a> {
    /// The listener.
    pub listener: &'a mut dyn EventListener,
    /// The writer; `None`: nobody wants remote write.
    pub writer: Option<&'a mut RemoteWriter>,
}

impl EventListener for WithRemoteWrite<'_> {
    fn event(&mut self, event: &Event<'_>) {
        self.listener.event(event);
        let Some(writer) = &mut self.writer else { return };
        writer.event(event);
        if let Some(trouble) = writer.take_trouble() {
            let text = stampede_model::causes::chain(&trouble);
            let hint = trouble.error.hint();
            self.listener.event(&Event::Notice(&format!("{text}; {hint}")));
        }
    }
}

/// Milliseconds since the start of 1970, which is what Prometheus counts in.
fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// How much longer than its limit the thread may take to notice it.
const GRACE: Duration = Duration::from_millis(200);
