//! Runs a load against the stamping server, and returns both sides of it.

use std::process::Command;

use stampede_known_server::RequestTimestamps;

use crate::cases::{Case, Sends};
use crate::error::BenchError;
use crate::joined::{Joined, Recorded, join};
use crate::measured::{Measured, run, value};
use crate::peers::Peer;
use crate::stamped::{Stamped, numbers};

/// The result of one load.
#[derive(Clone, Debug)]
pub struct LoadRun {
    pub measured: Measured,
    /// In the order of the answers.
    pub stamps: Vec<RequestTimestamps>,
}

impl LoadRun {
    /// Runs the command, then ends the server.
    pub fn of(mut command: Command, server: Stamped) -> Result<LoadRun, BenchError> {
        let measured = run(&mut command)?;
        Ok(LoadRun { measured, stamps: server.finish()? })
    }

    /// A printed value; not a number where there is none.
    pub fn printed(&self, name: &str) -> f64 {
        value(&self.measured.printed, name).unwrap_or(f64::NAN)
    }

    /// The load's zero on the clock of the stamps, in ns; `None`: the program does not print it.
    pub fn began_ns(&self) -> Option<u64> {
        value(&self.measured.printed, "began_ns")
    }
}

/// A load whose requests are known one by one.
#[derive(Clone, Debug)]
pub struct NumberedRun {
    pub run: LoadRun,
    pub requests: Vec<Joined>,
    /// Done − started of each request, in ns, as the client recorded it. No request waits for a
    /// connection here, so in the open model that is the response time without lag.
    pub without_lag_ns: Vec<u64>,
}

impl NumberedRun {
    pub fn measure(case: &Case, engine: Peer, seconds: u32) -> Result<NumberedRun, BenchError> {
        let server = Stamped::start(case.serves)?;
        let file = tempfile::NamedTempFile::new()?;
        let command = engine.numbered(&server.target, case.sends, seconds, file.path());
        let run = LoadRun::of(command, server)?;
        if !run.measured.status.success() {
            return Err(BenchError::PeerFailed { status: run.measured.status });
        }
        if run.printed("ok") != run.printed("planned") || run.printed("full") != 0.0 {
            return Err(BenchError::LostRequest);
        }
        let bytes = std::fs::read(file.path())?;
        let recorded = numbers(&bytes).map(|[due_ns, started_ns, done_ns]| Recorded {
            due_ns,
            started_ns,
            done_ns,
        });
        let recorded: Vec<Recorded> = recorded.collect();
        let due = |number: u64, recorded: Recorded| match case.sends {
            Sends::Users(_) => recorded.due_ns,
            // By arithmetic, not as the client recorded it.
            Sends::PerSecond(rate) => number * 1_000_000_000 / u64::from(rate),
        };
        let zero_ns = run.began_ns().ok_or(BenchError::NoCount)?;
        let requests = join(&recorded, &run.stamps, zero_ns, case.serves.wire, due)?;
        let without_lag_ns = recorded.iter().map(|one| one.done_ns - one.started_ns).collect();
        Ok(NumberedRun { run, requests, without_lag_ns })
    }
}
