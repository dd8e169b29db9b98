//! Represents an app: its files, its request and its correct answer.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use stampede_app_config::OwnPaths;
use stampede_frameworks::KnownFramework;
use stampede_keeper::KeeperOptions;
use stampede_model::fact::Notice;
use stampede_model::fact::app::Detected;
use stampede_plan::app_settings::AppSettings;
use stampede_plan::model::Checkout;

use super::answer::{Answer, Masks};
use super::app_file::AppFile;
use super::app_manifest::AppManifest;
use super::catalogue::RuntimeDirectory;
use super::copy::{self, SettingsPaths};
use super::detect::DetectedParts;
use super::directory::Directory;
use super::error::RuntimeError;

/// An app whose manifest was read and checked.
#[derive(Clone, Debug)]
pub struct App {
    /// The app's name in tables: the name of its directory.
    pub name: String,
    /// The app's `app.yaml`, or what was detected in its place.
    pub manifest: AppManifest,
    /// The parts of an answer that change from answer to answer.
    pub masks: Masks,
    /// The correct body with its changing parts masked; `None`: any body is correct.
    pub expected_body: Option<String>,
    /// What was detected about a project that has no `app.yaml`; `None`: it has one.
    pub(super) said: Option<Detected>,
    /// The only file that is copied; `None`: the whole directory is.
    pub(super) only: Option<String>,
    /// The path that the app's own files may name it by, without links; `None`: its files are no
    /// directory of the user.
    pub(super) home: Option<PathBuf>,
    /// Repositories whose compose projects are read from a copy of another version.
    pub(super) checkouts: Vec<Checkout>,
    directory: Directory,
    /// What its `.htaccess` files say, once they were read.
    pub(super) rules: OnceLock<stampede_htaccess::Directory>,
}

impl App {
    pub(crate) fn new(
        name: String,
        file: &str,
        manifest: AppManifest,
        directory: Directory,
    ) -> Result<App, RuntimeError> {
        let masks = Masks::new(file, &manifest.mask)?;
        let expected_body = match &manifest.expect.body {
            None => None,
            Some(body) => {
                let bytes = directory.file(body).ok_or_else(|| RuntimeError::Io {
                    what: "read",
                    path: Path::new(file).with_file_name(body),
                    source: io::ErrorKind::NotFound.into(),
                })?;
                Some(masks.apply(&String::from_utf8_lossy(&bytes)))
            }
        };
        Ok(App {
            name,
            manifest,
            masks,
            expected_body,
            said: None,
            only: None,
            home: None,
            checkouts: Vec::new(),
            directory,
            rules: OnceLock::new(),
        })
    }

    /// The app that each runtime brings itself. Nothing of it is known but what `said` says, and what
    /// `framework` sets for its kind.
    pub(crate) fn provided(said: &AppSettings, framework: Option<Arc<KnownFramework>>) -> App {
        let name = "app".to_owned();
        let parts = DetectedParts { framework, ..DetectedParts::default() };
        let manifest = AppManifest::new(&name, AppFile::default(), said.clone(), parts);
        App {
            name,
            manifest,
            masks: Masks::default(),
            expected_body: None,
            said: None,
            only: None,
            home: None,
            checkouts: Vec::new(),
            directory: Directory::Nowhere,
            rules: OnceLock::new(),
        }
    }

    /// What the user should know about the app before these runtimes start with it.
    pub fn notices(&self, runtimes: &[RuntimeDirectory]) -> Vec<Notice> {
        let notices = [self.notice(), self.directory_notice(runtimes), self.own_paths_notice()];
        notices.into_iter().flatten().collect()
    }

    /// The notice that the app names its own directory by its whole path, and that this machine does
    /// not allow its copy to take the place of that directory; `None`: both are not so.
    fn own_paths_notice(&self) -> Option<Notice> {
        let home = self.home.as_deref()?;
        if stampede_keeper::can_bind(&KeeperOptions::default().program) {
            return None;
        }
        let OwnPaths { file, line, files } = stampede_app_config::own_paths(self.path()?, home)?;
        Some(Notice::OwnPaths { app: self.name.clone(), file, line, files })
    }

    /// The notice of what a project was detected as; `None`: its `app.yaml` says what it is.
    pub(crate) fn notice(&self) -> Option<Notice> {
        let (app, detected) = (self.name.clone(), self.said.clone()?);
        Some(Notice::AppDetected { app, detected })
    }

    /// The bytes of one of the app's files; `None`: there is no such file.
    pub(super) fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.directory.file(name)
    }

    /// Whether one of the app's files is a link. Writing to its copy could then write to another
    /// place.
    pub(super) fn is_link(&self, name: &str) -> bool {
        match &self.directory {
            Directory::Embedded(_) | Directory::Nowhere => false,
            Directory::OnDisk(path) => path.join(name).is_symlink(),
        }
    }

    /// The SQL that creates and fills the app's tables; empty: there is none.
    ///
    /// # Errors
    /// The SQL file that the manifest names does not exist.
    pub(super) fn schema(&self) -> Result<String, RuntimeError> {
        let schema = self.manifest.database.as_ref().and_then(|one| one.schema.as_ref());
        let Some(schema) = schema else { return Ok(String::new()) };
        let bytes = self.file(schema).ok_or_else(|| RuntimeError::Io {
            what: "read",
            path: Path::new(&self.name).join(schema),
            source: io::ErrorKind::NotFound.into(),
        })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The app's directory; `None`: the app is part of this program.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.directory {
            Directory::Embedded(_) | Directory::Nowhere => None,
            Directory::OnDisk(path) => Some(path),
        }
    }

    /// The beginning of one of the app's files, which another user may have put there; `None`:
    /// there is no such regular file.
    pub(super) fn foreign_file(&self, name: &str, bytes_max: u64) -> Option<Vec<u8>> {
        let Directory::OnDisk(directory) = &self.directory else { return self.file(name) };
        let file = stampede_linux::beneath::open_file(directory, &directory.join(name)).ok()?;
        let mut bytes = Vec::new();
        file.take(bytes_max).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Whether the app's vendor directory has a Composer package.
    pub(super) fn has_package(&self, name: &str) -> bool {
        self.file(&format!("vendor/{name}/composer.json")).is_some()
    }

    /// The text that each answer under load must contain, for the check of each request. `None`:
    /// only the status counts.
    pub fn contains(&self) -> Option<&str> {
        self.manifest.contains.as_deref()
    }

    /// Why `answer` is not correct; `None`: it is correct.
    pub fn wrong(&self, answer: &Answer) -> Option<String> {
        answer.differs_from(self)
    }

    /// Copies the app, since the user's directory is never written to.
    pub(crate) fn copy_to(
        &self,
        to: &Path,
        settings: SettingsPaths<'_>,
    ) -> Result<(), RuntimeError> {
        match &self.directory {
            Directory::Embedded(dir) => copy::extract(dir, dir.path(), to),
            Directory::Nowhere => copy::make_dir(to),
            Directory::OnDisk(from) => match &self.only {
                Some(file) => {
                    copy::make_dir(to)?;
                    copy::some(from, to, &[file.into()], settings)
                }
                None => copy::all(from, to, &self.manifest.settings.exclude, settings),
            },
        }
    }
}
