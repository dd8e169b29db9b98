//! Real runtimes of the catalogue, each started alone with an app, for tests that ask it things.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use stampede::keeper::KeeperOptions;
use stampede::plan::model::{AppChoice, RuntimeChoice, RuntimeSource, Scalar};
use stampede::runtime::{
    App, Catalogue, Placement, Places, Running, RuntimeError, RuntimeManifest, prepare, start,
    under,
};
use tempfile::TempDir;

/// The catalogue, an app, and a place for the keeper's journal.
pub struct Bench {
    /// As the environment says.
    pub catalogue: Catalogue,
    /// What they serve.
    pub app: App,
    /// Where it runs: anywhere.
    pub placement: Placement,
    directory: TempDir,
}

impl Bench {
    /// With this app.
    pub fn new(app: &AppChoice) -> Bench {
        let catalogue = Catalogue::load(Places::from_env());
        let app = catalogue.app(app).expect("app");
        let placement = Placement::default();
        Bench { catalogue, app, placement, directory: tempfile::tempdir().expect("directory") }
    }

    /// With the app that comes with stampede.
    pub fn hello() -> Bench {
        Bench::new(&AppChoice::Named("hello".into()))
    }

    /// A runtime's own data.
    pub fn manifest(&self, name: &str) -> Arc<RuntimeManifest> {
        self.catalogue.runtime(name).expect("runtime").manifest
    }

    /// `None` where it is not installed, which is said, or has no such setting.
    pub fn start(&self, name: &str, settings: &[(&str, Scalar)]) -> Option<Running> {
        let running = self.try_start(name, settings)?;
        Some(running.unwrap_or_else(|error| panic!("{name}: {error}: {error:?}")))
    }

    /// The same, for one that may not start.
    pub fn try_start(
        &self,
        name: &str,
        settings: &[(&str, Scalar)],
    ) -> Option<Result<Running, RuntimeError>> {
        let choice = RuntimeChoice {
            name: name.into(),
            source: RuntimeSource::Catalogue(name.into()),
            settings: settings.iter().map(|(key, value)| ((*key).into(), value.clone())).collect(),
            php_ini: BTreeMap::new(),
            env: BTreeMap::new(),
        };
        let options = KeeperOptions {
            program: env!("CARGO_BIN_EXE_stampede").into(),
            journal: self.directory.path().join("journal"),
            ..KeeperOptions::default()
        };
        let mut work = PathBuf::new();
        let keep = |id: &str, directory: &Path| {
            work = directory.to_path_buf();
            under(&options)(id, directory)
        };
        match prepare(&self.catalogue, &choice, &self.app, &self.placement, keep) {
            Ok(prepared) => {
                let started = start(prepared);
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
    pub fn each(&self, settings: &[(&str, Scalar)], mut check: impl FnMut(&str, &Running)) {
        for name in self.catalogue.runtime_names() {
            let Some(running) = self.start(name, settings) else { continue };
            check(name, &running);
            running.stop().expect("stop");
        }
    }
}

/// A stack's working directory, and processes that were started with it in their command line or
/// stand in it, once it has had 5 s to end.
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
