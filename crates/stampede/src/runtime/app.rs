//! An app: what is asked of it and what the correct answer is.

use std::io;
use std::path::Path;

use super::answer::{Answer, Masks};
use super::app_manifest::AppManifest;
use super::catalogue::Directory;
use super::copy;
use super::error::RuntimeError;
use crate::fact::Notice;

/// An app, read and checked.
#[derive(Clone, Debug)]
pub struct App {
    /// Its name in tables: the directory's.
    pub name: String,
    /// Its `app.yaml`, or what was detected.
    pub manifest: AppManifest,
    /// What moves from answer to answer.
    pub masks: Masks,
    /// The masked body that is correct; `None`: any.
    pub expected_body: Option<String>,
    /// What was found of a project that has no `app.yaml`, in words.
    pub(super) said: Option<String>,
    directory: Directory,
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
        Ok(App { name, manifest, masks, expected_body, said: None, directory })
    }

    /// What a project was taken as; `None`: its `app.yaml` says what it is.
    pub fn notice(&self) -> Option<Notice> {
        let (app, detail) = (self.name.clone(), self.said.clone()?);
        Some(Notice::AppDetected { app, detail })
    }

    /// Bytes of one of its files; `None` where it is not there.
    pub(super) fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.directory.file(name)
    }

    /// Whether one of its files is a link, so that writing to its copy could write elsewhere.
    pub(super) fn is_link(&self, name: &str) -> bool {
        match &self.directory {
            Directory::Embedded(_) => false,
            Directory::OnDisk(path) => path.join(name).is_symlink(),
        }
    }

    /// SQL that makes and fills its tables; empty: it has none.
    ///
    /// # Errors
    /// The file that it names is not there.
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

    /// Where it lies; `None`: it is part of this program.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.directory {
            Directory::Embedded(_) => None,
            Directory::OnDisk(path) => Some(path),
        }
    }

    /// Whether its vendor directory has a Composer package.
    pub(super) fn has_package(&self, name: &str) -> bool {
        self.file(&format!("vendor/{name}/composer.json")).is_some()
    }

    /// What each answer under load must contain; for the per-request check.
    pub fn contains(&self) -> Option<&str> {
        self.manifest.contains.as_deref()
    }

    /// Why `answer` is not the correct one; `None`: it is.
    pub fn wrong(&self, answer: &Answer) -> Option<String> {
        answer.differs_from(self)
    }

    /// Copies the app; the user's directory is never written to.
    pub(crate) fn copy_to(&self, to: &Path) -> Result<(), RuntimeError> {
        match &self.directory {
            Directory::Embedded(dir) => copy::extract(dir, dir.path(), to),
            Directory::OnDisk(from) => copy::all(from, to),
        }
    }
}
