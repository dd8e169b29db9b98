//! The run directory of a load on a URL: the same files and the same page as those of a comparison.

use std::path::{Path, PathBuf};

use stampede_linux::clock::now;
use stampede_load::report::LoadResult;
use stampede_mask::mask_secrets;
use stampede_model::counts::Second;
use stampede_model::cpus::CpuCount;
use stampede_model::event::{Event, EventListener as _, Phase};
use stampede_model::machine::MachineFacts;
use stampede_model::record::expectations::{Expectations, WrittenExpectation};
use stampede_model::record::{
    CaseRecord, Closed, LoadModel, PhaseRecord, ProviderKind, RunRecord, RuntimeRecord,
    TrialRecord, Verdict,
};
use stampede_results::report::{self, LoadedRuns};
use stampede_results::store::{self, RunDirectory, StoreError, TrialDirectory, run_id};
use stampede_trial::{cases, load_record};

use super::ready::PreparedLoad;
use super::report::Report;
use super::server::ServerReadings;
use crate::cli::Failure;
use crate::cli::report::write_page;

/// A run directory that is being written.
pub struct FireRun {
    directory: RunDirectory,
    trial: TrialDirectory,
    record: TrialRecord,
}

impl FireRun {
    /// Creates the directory before anything is sent.
    ///
    /// # Errors
    /// The directory exists, or cannot be written.
    pub fn create(
        path: &Path,
        ready: &PreparedLoad,
        machine: &MachineFacts,
    ) -> Result<FireRun, StoreError> {
        let directory = RunDirectory::create(Some(path), &run_record(ready, machine))?;
        let record = TrialRecord { started_at: now(), ..TrialRecord::empty(1, 1, 0) };
        let mut trial = directory.trial(&record, &ready.choice.name)?;
        trial.event(&Event::Phase { phase: Phase::Measure, expected: None });
        Ok(FireRun { directory, trial, record })
    }

    /// The measured load begins.
    pub fn measure(&mut self) {
        self.record.started_at = now();
    }

    /// Removes a run of which nothing was sent.
    pub fn remove(self) {
        let path = self.directory.close();
        // What is left is an unfinished run, and it says so.
        let _ = std::fs::remove_dir_all(path);
    }

    /// Writes a second of the load.
    pub fn second(&mut self, second: &Second) {
        self.trial.event(&Event::Second(second));
    }

    /// Writes the result and the page. Returns the page's path; `None`: it could not be written,
    /// which was said.
    ///
    /// # Errors
    /// A part of the directory cannot be written.
    pub fn end(
        mut self,
        report: &Report,
        result: &LoadResult,
        ready: &PreparedLoad,
        (server, cpus): (Option<&ServerReadings>, u32),
    ) -> Result<Option<PathBuf>, Failure> {
        if let Some(server) = server {
            server.samples.iter().for_each(|one| self.trial.event(&Event::Resources(one)));
            self.record.isolation.accounting.clone_from(&server.accounting);
            // 100 % is the whole machine: stampede sets no limit to a server that runs already.
            self.record.budget_cpus = CpuCount::whole(server.cpus_elsewhere.unwrap_or(cpus));
        }
        let load = load_record(result, &ready.load, &ready.choice);
        let (begin_ns, end_ns) = (0, load.scheduled_ns.min(load.lasted_ns));
        let phase = |phase: Phase, begin_ns, end_ns| PhaseRecord {
            phase: phase.word().to_owned(),
            begin_ns,
            end_ns,
        };
        self.record.phases = vec![
            phase(Phase::Measure, begin_ns, end_ns),
            phase(Phase::Drain, end_ns, load.lasted_ns.max(end_ns)),
        ];
        self.record.load = Some(load);
        self.record.runtime =
            RuntimeRecord { title: report.url.clone(), ..RuntimeRecord::default() };
        self.record.runtime.given.provider = ProviderKind::External;
        if let Some(server) = server {
            let what = serde_json::Value::from(server.what.as_str());
            self.record.runtime.settings.insert("watch".to_owned(), what);
        }
        self.record.verdict = Verdict {
            judged: report.verdict,
            reasons: report.reasons.clone(),
            notes: report.notes.clone(),
        };
        self.trial.finish(&self.record, Some(&result.times))?;
        let path = self.directory.close();
        let run = [path.display().to_string()];
        let loaded = LoadedRuns::read(Path::new(stampede_model::record::RESULTS), &run)?;
        store::write_summary(&path, &report::json(loaded.summary()))?;
        Ok(write_page(&loaded))
    }
}

fn run_record(ready: &PreparedLoad, machine: &MachineFacts) -> RunRecord {
    let (id, stampede) = (run_id(&jiff::Zoned::now()), env!("CARGO_PKG_VERSION").to_owned());
    let choice = &ready.choice;
    let (target, path) = target_and_path(&mask_secrets(&ready.url));
    // Each word is masked alone, so that no secret takes the words beside it along.
    let words = std::env::args_os().skip(1);
    let words = words.map(|word| mask_secrets(&word.to_string_lossy()));
    RunRecord {
        command: format!("stampede {}", shell_words::join(words)),
        cases: vec![CaseRecord {
            runtime: target,
            app: path,
            load: choice.name.clone(),
            model: LoadModel::from(&choice.model),
            load_text: cases::load_words(choice),
            schedule: cases::schedule(&choice.model),
            closed: Closed::of(&choice.model),
            refused: None,
            sent: None,
        }],
        order: vec![vec![0]],
        expect: Expectations {
            of_run: choice.expect.iter().cloned().map(WrittenExpectation::Read).collect(),
            ..Expectations::default()
        },
        machine: serde_json::to_value(machine).unwrap_or_default(),
        ..RunRecord::empty(id, stampede, now())
    }
}

/// Divides a URL into the server, which is the name of the row, and the path. In a URL of a socket,
/// such as `unix:/run/app.sock:/path`, the server is the socket.
fn target_and_path(url: &str) -> (String, String) {
    if let Some((kind, rest)) = url.split_once(':').filter(|(kind, _)| kind.ends_with("unix")) {
        let (socket, path) = rest.split_once(':').unwrap_or((rest, "/"));
        return (format!("{kind}:{socket}"), path.to_owned());
    }
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (server, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let server = server.rsplit_once('@').map_or(server, |(_, server)| server);
    (server.to_owned(), if path.is_empty() { "/" } else { path }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_server_and_a_path() {
        for (url, server, path) in [
            ("http://localhost", "localhost", "/"),
            ("https://shop.test:8443/a/b?c=d", "shop.test:8443", "/a/b?c=d"),
            ("http://ada:***@[::1]:80/", "[::1]:80", "/"),
            ("http://127.0.0.1:8080/@bob/x", "127.0.0.1:8080", "/@bob/x"),
            ("http://127.0.0.1/s?mail=a@b.c", "127.0.0.1", "/s?mail=a@b.c"),
            ("localhost:8080?x", "localhost:8080", "?x"),
            ("unix:/run/app.sock:/a:b", "unix:/run/app.sock", "/a:b"),
            ("unix:/run/app.sock", "unix:/run/app.sock", "/"),
            ("fcgi+unix:/run/php.sock:/var/www/x.php", "fcgi+unix:/run/php.sock", "/var/www/x.php"),
        ] {
            assert_eq!(target_and_path(url), (server.to_owned(), path.to_owned()), "{url}");
        }
    }
}
