//! Reads the evidence of a runtime's limits: from its workers, its status page and its logs.

use std::path::PathBuf;
use std::time::Duration;

use stampede_mask::mask_foreign;
use stampede_model::record::{LogEvidence, LogSignal};
use stampede_model::sample::PoolSample;
use stampede_monitor::WorkerPattern;

use super::fastcgi;
use super::logs::LogMarks;
use crate::process::stack::ProcessStack;

/// The longest part of a line that is kept, in characters; a request's own line fits.
const LINE_MAX: usize = 400;
/// The role of the PHP workers where `runtime.yaml` counts no processes.
const PHP: &str = "php";

/// The status page of PHP-FPM.
#[derive(Clone, Debug)]
pub struct FpmStatusPage {
    socket: PathBuf,
    path: String,
}

impl FpmStatusPage {
    /// Asks for the status page once; `None`: no answer in time, or one that cannot be read.
    pub fn ask(&self) -> Option<PoolSample> {
        let page = fastcgi::get(&self.socket, &self.path, "json", WITHIN).ok()?;
        let page: serde_json::Value = serde_json::from_str(&page).ok()?;
        let number = |key: &str| page[key].as_u64();
        let small = |key: &str| number(key).and_then(|number| u32::try_from(number).ok());
        Some(PoolSample {
            active: small("active processes")?,
            total: small("total processes")?,
            listen_queue: small("listen queue").unwrap_or(0),
            max_children_reached: number("max children reached").unwrap_or(0),
        })
    }
}

impl ProcessStack {
    /// How the workers can be recognised, and where they wait when they have no work; `None`: the
    /// runtime does not say.
    pub(crate) fn worker_pattern(&self) -> Option<WorkerPattern> {
        let asked = &self.stack.runtime.manifest.effective_workers;
        let count = asked.processes.as_ref();
        let program = count.and_then(|count| count.program.as_ref()).and_then(|need| {
            let path = &self.stack.needs.get(&need.value)?.path;
            Some(path.file_name()?.to_string_lossy().into_owned())
        });
        (!asked.idle_in.is_empty()).then(|| WorkerPattern {
            role: count.map_or(PHP.to_owned(), |count| count.role.value.clone()),
            program,
            threads: count.and_then(|count| count.threads.clone()),
            idle_in: asked.idle_in.clone(),
        })
    }

    /// The runtime's status page; `None`: it has none.
    pub(crate) fn fpm_status_page(&self) -> Option<FpmStatusPage> {
        let socket = self.stack.status.clone()?;
        Some(FpmStatusPage {
            socket,
            path: self.stack.runtime.manifest.effective_workers.path.clone(),
        })
    }

    /// Log lines since `marks` that report a limit or a failure. Texts that a program logs only
    /// once are looked for since its start.
    pub(crate) fn log_evidence(&self, marks: &LogMarks) -> Vec<LogEvidence> {
        let needs = &self.stack.runtime.manifest.needs;
        let mut evidence = Vec::new();
        for (once, since) in [(false, marks), (true, &LogMarks::default())] {
            since.lines_since(self.dir(), |line| {
                let mut patterns = needs
                    .iter()
                    .flat_map(|(name, need)| need.logs.iter().map(move |one| (name, one)));
                let found = patterns.find(|(_, one)| line.contains(&one.contains));
                if let Some((need, one)) = found.filter(|(_, one)| one.once == once) {
                    count(&mut evidence, need, one.signal, || {
                        let masked = mask_foreign(line);
                        masked.chars().take(LINE_MAX).collect()
                    });
                }
            });
        }
        evidence
    }
}

fn count(
    evidence: &mut Vec<LogEvidence>,
    program: &str,
    means: LogSignal,
    line: impl FnOnce() -> String,
) {
    match evidence.iter_mut().find(|one| one.program == program && one.means == means) {
        Some(one) => one.lines += 1,
        None => evidence.push(LogEvidence {
            program: program.to_owned(),
            means,
            lines: 1,
            first: line(),
        }),
    }
}

/// The timeout of the status page. It is answered from memory, so a pool that takes longer is
/// overloaded.
const WITHIN: Duration = Duration::from_millis(100);
