//! Where the evidence of a runtime's limits lies: in its workers, its status page and its logs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::catalogue::parse;
use super::error::RuntimeError;
use super::fastcgi;
use super::logs::{self, LogMarks};
use super::start::Running;
use crate::monitor::Workers;
use crate::monitor::sample::PoolSample;
use crate::store::record::{LogSignal, Said};

/// Which words of which program mean what, in the shared directory: need → words.
const SAYS: &str = "log-patterns.yaml";
/// Of a line; a request's own line is in it.
const LINE_MAX: usize = 400;
/// Who runs PHP where `runtime.yaml` counts no processes.
const PHP: &str = "php";

/// Words of a log.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Says {
    /// A part of the line, as it is.
    says: String,
    means: LogSignal,
    /// The program says it once in its life, even if it holds ever after.
    #[serde(default)]
    once: bool,
}

/// A status page of PHP-FPM.
#[derive(Clone, Debug)]
pub struct Pool {
    socket: PathBuf,
    path: String,
}

impl Pool {
    /// Asks once; `None`: no answer in time, or none that is understood.
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

impl Running {
    /// How its workers are known, and where they stand without work; `None`: it does not say.
    pub fn workers(&self) -> Option<Workers> {
        let asked = &self.stack.runtime.manifest.effective_workers;
        let count = asked.processes.as_ref();
        let program = count.and_then(|count| count.program.as_ref()).and_then(|need| {
            let path = &self.stack.needs.get(&need.value)?.path;
            Some(path.file_name()?.to_string_lossy().into_owned())
        });
        (!asked.idle_in.is_empty()).then(|| Workers {
            role: count.map_or(PHP.to_owned(), |count| count.role.value.clone()),
            program,
            threads: count.and_then(|count| count.threads.clone()),
            idle_in: asked.idle_in.clone(),
        })
    }

    /// Its status page, where it has one.
    pub fn pool(&self) -> Option<Pool> {
        let socket = self.stack.status.clone()?;
        Some(Pool { socket, path: self.stack.runtime.manifest.effective_workers.path.clone() })
    }

    /// What its logs said since then that tells of a limit or of a failure; what a program says
    /// only once, since its start.
    ///
    /// # Errors
    /// An overriding `common` directory has no such words, or wrong ones.
    pub fn said(&self, marks: &LogMarks) -> Result<Vec<Said>, RuntimeError> {
        let text = self.stack.runtime.common_text(SAYS)?;
        let all: BTreeMap<String, Vec<Says>> = parse(&format!("common/{SAYS}"), &text)?;
        let own: BTreeMap<&String, &Vec<Says>> =
            all.iter().filter(|(need, _)| self.stack.needs.contains_key(*need)).collect();
        let mut said = Vec::new();
        for (once, since) in [(false, marks), (true, &LogMarks::default())] {
            since.lines_since(self.dir(), |line| {
                let fits =
                    own.iter().flat_map(|(need, says)| says.iter().map(move |one| (need, one)));
                let found = fits.into_iter().find(|(_, one)| line.contains(&one.says));
                if let Some((need, one)) = found.filter(|(_, one)| one.once == once) {
                    count(&mut said, need, one.means, || {
                        let masked = logs::mask(line, &self.stack.secrets);
                        masked.chars().take(LINE_MAX).collect()
                    });
                }
            });
        }
        Ok(said)
    }
}

fn count(said: &mut Vec<Said>, program: &str, means: LogSignal, line: impl FnOnce() -> String) {
    match said.iter_mut().find(|one| one.program == program && one.means == means) {
        Some(one) => one.lines += 1,
        None => said.push(Said { program: program.to_owned(), means, lines: 1, first: line() }),
    }
}

/// It answers from memory; a pool that has no time for that is itself the answer.
const WITHIN: Duration = Duration::from_millis(100);
