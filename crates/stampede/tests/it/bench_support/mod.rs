//! Starts real runtimes of the catalogue, one at a time, with an app, for tests that query them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stampede_keeper::KeeperOptions;
use stampede_plan::model::{AppChoice, RuntimeChoice, RuntimeSource, Scalar};
use stampede_stack::{
    App, Caches, Catalogue, PageRequest, Placement, PreparedStack, ProcessProvider, ProcessStack,
    Provider as _, Readiness, RuntimeError, RuntimeManifest, SearchPaths, StackRequest,
    StartPurpose,
};
use tempfile::TempDir;

/// The catalogue, an app, and a directory for the keeper's journal.
pub struct Bench {
    /// The catalogue, from the places that the environment names.
    pub catalogue: Catalogue,
    /// The app that the runtimes serve.
    pub app: App,
    /// The CPUs and memory of the stacks: the default placement.
    pub placement: Placement,
    /// Entries of php.ini that the stacks get.
    pub php_ini: BTreeMap<String, String>,
    directory: TempDir,
}

impl Bench {
    /// Makes a bench with this app.
    pub fn new(app: &AppChoice) -> Bench {
        let catalogue = Catalogue::load(SearchPaths::from_env());
        let app = catalogue.app(app).expect("app");
        let placement = Placement::default();
        let directory = tempfile::tempdir().expect("directory");
        Bench { catalogue, app, placement, php_ini: BTreeMap::new(), directory }
    }

    /// Makes a bench with the app `hello`, which comes with stampede.
    pub fn hello() -> Bench {
        Bench::new(&AppChoice::named("hello".into()))
    }

    /// The manifest of a runtime.
    pub fn manifest(&self, name: &str) -> Arc<RuntimeManifest> {
        self.catalogue.runtime(name).expect("runtime").manifest
    }

    /// Starts a runtime. `None`: it is not installed, which is printed, or it lacks one of the
    /// settings.
    pub fn start(&self, name: &str, settings: &[(&str, Scalar)]) -> Option<ProcessStack> {
        let running = self.try_start(name, settings)?;
        Some(running.unwrap_or_else(|error| panic!("{name}: {error}: {error:?}")))
    }

    /// Like `start`, for a runtime that may fail to start.
    pub fn try_start(
        &self,
        name: &str,
        settings: &[(&str, Scalar)],
    ) -> Option<Result<ProcessStack, RuntimeError>> {
        let choice = RuntimeChoice {
            name: name.into(),
            source: RuntimeSource::Catalogue(name.into()),
            settings: settings.iter().map(|(key, value)| ((*key).into(), value.clone())).collect(),
            php_ini: self.php_ini.clone(),
            env: BTreeMap::new(),
            images: None,
            as_today: None,
        };
        let options = KeeperOptions {
            program: env!("CARGO_BIN_EXE_stampede").into(),
            journal: self.directory.path().join("journal"),
            ..KeeperOptions::default()
        };
        let provider = ProcessProvider::with_keeper(self.catalogue.clone(), options);
        match prepared(&provider, &choice, &self.app, &self.placement) {
            Ok(prepared) => {
                let work = prepared.stack.processes.work.clone();
                let started = prepared.start();
                if started.is_err() {
                    assert_eq!(left_of(&work), Vec::<String>::new(), "{name} left something");
                }
                Some(started)
            }
            Err(
                error @ (RuntimeError::Missing { .. }
                | RuntimeError::BadSetting { .. }
                | RuntimeError::WrongKind { .. }
                | RuntimeError::NotEntered { .. }
                | RuntimeError::AppLacks { .. }
                | RuntimeError::NoFramework { .. }
                | RuntimeError::NoPhp { .. }),
            ) => {
                eprintln!("SKIPPED {name}: {error}");
                None
            }
            Err(error) => panic!("{name}: {error}: {error:?}"),
        }
    }

    /// Starts every runtime of the catalogue with `settings`, one after another.
    pub fn each(&self, settings: &[(&str, Scalar)], check: impl FnMut(&str, &ProcessStack)) {
        self.each_of(|_| true, settings, check);
    }

    /// Starts those runtimes that are meant.
    pub fn each_of(
        &self,
        is_meant: impl Fn(&str) -> bool,
        settings: &[(&str, Scalar)],
        mut check: impl FnMut(&str, &ProcessStack),
    ) {
        for name in self.catalogue.runtime_names().into_iter().filter(|name| is_meant(name)) {
            let Some(running) = self.start(name, settings) else { continue };
            check(name, &running);
            running.stop().expect("stop");
        }
    }
}

/// Prepares a stack that is ready at the right answer of the app's page.
pub fn prepared(
    provider: &ProcessProvider,
    choice: &RuntimeChoice,
    app: &App,
    placement: &Placement,
) -> Result<PreparedStack, RuntimeError> {
    let page = PageRequest::of(app, &[]);
    let (caches, ready) = (Caches::Kept, Readiness::RightAnswer);
    let purpose = StartPurpose::Measured;
    let request = StackRequest { runtime: choice, app, placement, page, caches, ready, purpose };
    provider.materialise(&provider.resolve(&request)?)
}

/// What a stack leaves behind, after it had 5 s to end: its working directory, and processes that
/// have it in their command line or as their current directory.
fn left_of(work: &Path) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let mut left: Vec<String> =
            work.exists().then(|| work.display().to_string()).into_iter().collect();
        left.extend(processes_of(work));
        if left.is_empty() || Instant::now() > deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn processes_of(work: &Path) -> Vec<String> {
    let of = work.display().to_string();
    let is_of = |process: &Path| {
        let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let within = std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(work));
        (line.contains(&of) || within).then_some(line)
    };
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    entries.filter_map(|entry| is_of(&entry.path())).collect()
}
