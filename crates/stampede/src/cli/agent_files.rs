//! The files that an agent keeps on its own machine: the histograms of each load, as it measured
//! them, before anything of them travelled.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use stampede_fleet::agent::Witness;
use stampede_linux::space;
use stampede_model::counts::Second;
use stampede_model::part::Part;
use stampede_model::time::Nanos;
use stampede_results::store::{hlog, run_id};

use super::fail::CommandError;
use super::shell::print_message;

/// Writes the histograms of each load to a file of its own.
pub struct Kept {
    directory: PathBuf,
    writer: hlog::Writer,
    /// The file of the load that runs.
    file: Option<(PathBuf, File)>,
}

/// Why histograms are not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// No file can be made in the directory.
    #[error("cannot write to the directory `{}`", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}

impl CommandError for KeptError {
    fn hint(&self) -> Option<String> {
        let KeptError::Directory { directory, source } = self;
        let what = "name a directory that exists and that you may write to";
        let of_disk = space::hint(directory, source.kind(), "name a directory elsewhere");
        Some(of_disk.unwrap_or_else(|| what.to_owned()))
    }
}

impl Kept {
    /// Files in this directory, which must exist.
    ///
    /// # Errors
    /// No file can be made in it.
    pub fn new(directory: &Path) -> Result<Kept, KeptError> {
        let directory = directory.to_owned();
        match tempfile::tempfile_in(&directory) {
            Ok(_) => Ok(Kept { directory, writer: hlog::Writer::new(), file: None }),
            Err(source) => Err(KeptError::Directory { directory, source }),
        }
    }

    /// Writes to the file. After an error it ends with its last whole line and gets no other one.
    fn write(&mut self, bytes: &[u8]) {
        let Some((path, file)) = &mut self.file else { return };
        let whole = file.metadata().map(|about| about.len());
        if let Err(error) = file.write_all(bytes) {
            let _ = whole.and_then(|whole| file.set_len(whole));
            // The load is measured all the same, and the coordinator has all of it.
            print_message(&format!("warning: cannot write `{}`: {error}", path.display()));
            self.file = None;
        }
    }
}

impl Witness for Kept {
    fn began(&mut self, part: Part, at: Nanos) {
        let (agent, of) = (part.index() + 1, part.of());
        let name = format!("{}-agent-{agent}-of-{of}.hlog", run_id(&jiff::Zoned::now()));
        let path = self.directory.join(name);
        match File::create_new(&path) {
            Ok(file) => self.file = Some((path, file)),
            Err(error) => {
                print_message(&format!("warning: cannot write `{}`: {error}", path.display()))
            }
        }
        let mut head = Vec::new();
        let _ = hlog::Writer::head(&mut head);
        let at = at.0;
        head.extend(
            format!("#[stampede: agent {agent} of {of}, zero at {at} ns of its monotonic clock]\n")
                .bytes(),
        );
        self.write(&head);
    }

    fn second(&mut self, second: &Second) {
        let mut lines = Vec::new();
        let start = Nanos::from_secs(u64::from(second.index));
        match self.writer.interval(start, Nanos::SECOND, &second.times, &mut lines) {
            Ok(()) => self.write(&lines),
            Err(error) => print_message(&format!("warning: a second is not kept: {error}")),
        }
    }

    fn ended(&mut self) {
        self.file = None;
    }
}

#[cfg(test)]
mod tests {
    use stampede_model::counts::{Counts, TimeSet};

    use super::*;

    fn second(index: u32, ms: u64) -> Second {
        let mut times = TimeSet::empty();
        times.response_time.record(ms * 1_000_000);
        let (counts, busy) = (Counts::default(), Nanos(0));
        Second { index, counts, times, in_flight_max: 1, busy }
    }

    fn files(directory: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).expect("a directory").flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    }

    #[test]
    fn each_load_has_a_file_of_its_own() {
        let place = tempfile::tempdir().expect("a directory");
        let mut kept = Kept::new(place.path()).expect("it can be written");
        assert_eq!(files(place.path()), Vec::<PathBuf>::new());
        for index in [1, 0] {
            kept.began(Part::new(index, 2).expect("a part"), Nanos(77));
            kept.second(&second(0, 3));
            kept.second(&second(1, 5));
            kept.ended();
            kept.second(&second(2, 7));
        }
        let files = files(place.path());
        assert_eq!(files.len(), 2, "{files:?}");
        for path in files {
            let text = std::fs::read_to_string(&path).expect("text");
            assert!(text.contains("of 2, zero at 77 ns of its monotonic clock]\n"), "{text}");
            let name = path.display().to_string();
            let agent = if text.contains("agent 1 of 2") { "agent-1-of-2" } else { "agent-2-of-2" };
            assert!(name.ends_with(&format!("{agent}.hlog")), "{name}");
            let mut all = TimeSet::empty();
            let damage = hlog::read(&path, |line| hlog::merge(&line, &mut all)).expect("a log");
            assert_eq!((damage, all.response_time.len()), (None, 2));
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_refused() {
        let error = Kept::new(Path::new("/no/such/place")).err().expect("an error");
        assert_eq!(error.to_string(), "cannot write to the directory `/no/such/place`");
        assert!(error.hint().is_some_and(|hint| hint.starts_with("name a directory")));
    }

    #[test]
    fn a_full_disk_ends_the_file_with_a_whole_line_and_not_the_load() {
        let place = tempfile::tempdir().expect("a directory");
        let disk = place.path();
        stampede_testing::small_disk::with_small_disk(disk, 64 << 10, || {
            let mut kept = Kept::new(disk).expect("there is room");
            kept.began(Part::WHOLE, Nanos(0));
            (0..3_000).for_each(|index| kept.second(&second(index, 1 + u64::from(index))));
            assert!(kept.file.is_none(), "there was room for all");
            let text = std::fs::read_to_string(&files(disk)[0]).expect("text");
            assert!(text.ends_with('\n') && text.lines().count() > 100);
        });
    }
}
