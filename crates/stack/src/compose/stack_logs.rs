//! What the containers of a project log.

use std::path::{Path, PathBuf};
use std::{fs, io};

use stampede_compose::container::Container;
use stampede_model::record::LogEvidence;

use super::stack::ComposeStack;
use crate::logs::{self, LogMarks};
use crate::process::app_path::AppPath;
use crate::process::denied::{self, DeniedFiles};
use crate::process::php_log::{self, PhpLog};
use crate::provider::Logs;
use stampede_compose::said::last_lines;

/// The most bytes of each stream of a container's log that are read.
const LOG_BYTES: usize = 32 << 20;

impl ComposeStack {
    /// The last lines of a container's log, each on a line of its own and indented.
    pub fn log_of(&self, container: &Container) -> String {
        let output = self.resolved.engine.command(&["logs", "--tail", "20", &container.id]).run();
        let output = output.unwrap_or_default();
        let text = if output.stderr.is_empty() { output.stdout } else { output.stderr };
        let lines = last_lines(&String::from_utf8_lossy(&text));
        lines.lines().map(|line| format!("\n  {}: {line}", container.service)).collect()
    }

    /// The last lines of the logs with a line break before them; empty: the logs are empty.
    pub fn log_lines(&self) -> String {
        match self.last_lines() {
            lines if lines.is_empty() => lines,
            lines => format!("\n{lines}"),
        }
    }

    /// Writes what the containers logged so far into files of the working directory, where it is
    /// searched as any other log.
    fn fetch_logs(&self) {
        for container in &self.containers {
            let words = ["logs", container.id.as_str()];
            let Ok(output) = self.resolved.engine.command(&words).keep(LOG_BYTES).run() else {
                continue;
            };
            let number = self
                .containers
                .iter()
                .filter(|one| one.service == container.service)
                .position(|one| one.id == container.id)
                .unwrap_or(0);
            let name = match number {
                0 => container.service.clone(),
                more => format!("{}-{}", container.service, more + 1),
            };
            for (stream, bytes) in [("", output.stderr), (".out", output.stdout)] {
                if !bytes.is_empty() {
                    let _ =
                        fs::write(self.directory.join(format!("logs/{name}{stream}.log")), bytes);
                }
            }
        }
    }
}

impl Logs for ComposeStack {
    fn marks(&self) -> LogMarks {
        self.fetch_logs();
        LogMarks::of(&self.directory, &self.directory)
    }

    fn last_lines(&self) -> String {
        self.fetch_logs();
        logs::last_lines(&self.directory)
    }

    fn last_lines_since(&self, marks: &LogMarks) -> Vec<String> {
        self.fetch_logs();
        marks.last_lines_since(&self.directory)
    }

    fn evidence(&self, _marks: &LogMarks) -> Vec<LogEvidence> {
        Vec::new()
    }

    fn php_log(&self, marks: &LogMarks) -> PhpLog {
        self.fetch_logs();
        php_log::php_log(
            marks,
            &self.directory,
            &self.directory,
            &AppPath::in_copy(&self.directory),
        )
    }

    fn denied_files(&self, marks: &LogMarks) -> Option<DeniedFiles> {
        denied::denied_files(
            marks,
            &self.directory,
            &self.directory,
            &AppPath::in_copy(&self.directory),
        )
    }

    fn files(&self) -> Vec<PathBuf> {
        self.fetch_logs();
        logs::files(&self.directory)
    }

    fn open(&self, file: &Path) -> io::Result<fs::File> {
        logs::open(&self.directory, file)
    }
}
