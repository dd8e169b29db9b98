//! An app: what is asked of it and what the correct answer is.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::answer::{Answer, Masks};
use super::app_manifest::{AppManifest, AppRequest, Expect};
use super::catalogue::Folder;
use super::copy;
use super::error::RuntimeError;
use super::manifest::AppKind;
use super::preparation;

/// An app, read and checked.
#[derive(Clone, Debug)]
pub struct App {
    /// Its name in tables: the folder's.
    pub name: String,
    /// Its `app.yaml`, or what was detected.
    pub manifest: AppManifest,
    /// What moves from answer to answer.
    pub masks: Masks,
    /// The masked body that is correct; `None`: any.
    pub expected_body: Option<String>,
    folder: Folder,
}

impl App {
    pub(crate) fn new(
        name: String,
        file: &str,
        manifest: AppManifest,
        folder: Folder,
    ) -> Result<App, RuntimeError> {
        let masks = Masks::new(file, &manifest.mask)?;
        let expected_body = match &manifest.expect.body {
            None => None,
            Some(body) => {
                let bytes = folder.file(body).ok_or_else(|| RuntimeError::Io {
                    what: "read",
                    path: Path::new(file).with_file_name(body),
                    source: io::ErrorKind::NotFound.into(),
                })?;
                Some(masks.apply(&String::from_utf8_lossy(&bytes)))
            }
        };
        Ok(App { name, manifest, masks, expected_body, folder })
    }

    /// A project without an `app.yaml`: its kind follows from what it requires.
    pub(crate) fn detect(name: String, path: &Path) -> Result<App, RuntimeError> {
        let docroot = match () {
            () if path.join("public/index.php").is_file() => "public",
            () if path.join("index.php").is_file() => ".",
            () => return Err(RuntimeError::NoApp { folder: path.to_path_buf() }),
        };
        let json = |file: &str| -> Value {
            let text = fs::read_to_string(path.join(file)).unwrap_or_default();
            serde_json::from_str(&text).unwrap_or_default()
        };
        let composer = json("composer.json");
        let kind = kind_of(&composer);
        let manifest = AppManifest {
            title: name.clone(),
            kind,
            docroot: docroot.into(),
            index: "index.php".into(),
            request: AppRequest::default(),
            expect: Expect::default(),
            contains: None,
            mask: Vec::new(),
            env: Default::default(),
            extensions: extensions_of(&composer, &json("composer.lock")),
            writable: ["var", "storage", "bootstrap/cache"].map(String::from).to_vec(),
            needs: Default::default(),
            prepare: preparation::of_project(kind, path),
            database: None,
        };
        App::new(name, "app.yaml", manifest, Folder::OnDisk(path.to_path_buf()))
    }

    /// Bytes of one of its files; `None` where it is not there.
    pub(super) fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.folder.file(name)
    }

    /// SQL that makes and fills its tables; empty: it has none.
    ///
    /// # Errors
    /// The file that it names is not there.
    pub(super) fn schema(&self) -> Result<String, RuntimeError> {
        let Some(database) = &self.manifest.database else { return Ok(String::new()) };
        let bytes = self.file(&database.schema).ok_or_else(|| RuntimeError::Io {
            what: "read",
            path: Path::new(&self.name).join(&database.schema),
            source: io::ErrorKind::NotFound.into(),
        })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Whether its vendor folder has a Composer package.
    pub(super) fn has_package(&self, name: &str) -> bool {
        self.file(&format!("vendor/{name}/composer.json")).is_some()
    }

    /// What each answer under load must contain; for the per-shot check.
    pub fn contains(&self) -> Option<&str> {
        self.manifest.contains.as_deref()
    }

    /// Why `answer` is not the correct one; `None`: it is.
    pub fn wrong(&self, answer: &Answer) -> Option<String> {
        answer.differs_from(self)
    }

    /// Copies the app; the user's folder is never written to.
    pub(crate) fn copy_to(&self, to: &Path) -> Result<(), RuntimeError> {
        match &self.folder {
            Folder::Embedded(dir) => copy::extract(dir, dir.path(), to),
            Folder::OnDisk(from) => copy::all(from, to),
        }
    }
}

/// PHP extensions that a project and its packages require.
fn extensions_of(composer: &Value, lock: &Value) -> Vec<String> {
    let packages = lock["packages"].as_array().into_iter().flatten();
    let requires = packages.chain([composer]).filter_map(|package| package["require"].as_object());
    let mut names: Vec<String> = requires
        .flat_map(|require| require.keys())
        .filter_map(|name| name.strip_prefix("ext-"))
        .map(String::from)
        .collect();
    names.sort();
    names.dedup();
    names
}

fn kind_of(composer: &Value) -> AppKind {
    let requires = |package: &str| composer["require"].get(package).is_some();
    match () {
        () if requires("laravel/framework") => AppKind::Laravel,
        () if requires("laravel/lumen-framework") => AppKind::Lumen,
        () if requires("symfony/framework-bundle") => AppKind::Symfony,
        () => AppKind::Script,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_project_gets_the_extensions_that_it_and_its_packages_require() {
        let composer = json!({"require": {"php": ">=8.2", "ext-intl": "*"}});
        let lock = json!({"packages": [
            {"name": "a/b", "require": {"ext-ctype": "*", "ext-intl": "*"}},
            {"name": "c/d"},
        ]});
        assert_eq!(extensions_of(&composer, &lock), ["ctype", "intl"]);
        assert_eq!(extensions_of(&Value::Null, &Value::Null), Vec::<String>::new());
    }
}
