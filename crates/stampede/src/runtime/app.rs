//! An app: what is asked of it, what the correct answer is, and its copy in a work folder.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::answer::{Answer, Masks};
use super::app_manifest::{AppManifest, AppRequest, Expect};
use super::catalogue::Folder;
use super::error::RuntimeError;
use super::manifest::AppKind;

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

/// Never copied: a repository's history, packages of other languages and our own results are no
/// part of what PHP runs, and often the largest.
const LEFT_OUT: [&str; 4] = [".git", "node_modules", ".hg", crate::store::RESULTS];

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
        let preload = (kind == AppKind::Symfony && path.join(PRELOAD_OF_SYMFONY).is_file())
            .then(|| PRELOAD_OF_SYMFONY.to_owned());
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
            prepare: None,
            preload,
            caches: caches_of(kind).iter().map(|folder| (*folder).to_owned()).collect(),
            database: None,
        };
        App::new(name, "app.yaml", manifest, Folder::OnDisk(path.to_path_buf()))
    }

    /// Bytes of one of its files; `None` where it is not there.
    pub(super) fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.folder.file(name)
    }

    /// Whether one of its files is a link, so that writing to its copy could write elsewhere.
    pub(super) fn is_link(&self, name: &str) -> bool {
        match &self.folder {
            Folder::Embedded(_) => false,
            Folder::OnDisk(path) => path.join(name).is_symlink(),
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
            Folder::Embedded(dir) => extract(dir, dir.path(), to),
            Folder::OnDisk(from) => copy(from, from, to),
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

/// Where Symfony's own recipe puts it.
const PRELOAD_OF_SYMFONY: &str = "config/preload.php";

/// Folders that a framework fills when it is asked. What only a deployment fills, as Laravel's
/// cached configuration, would not come back.
fn caches_of(kind: AppKind) -> &'static [&'static str] {
    match kind {
        AppKind::Symfony => &["var/cache"],
        AppKind::Laravel => &["storage/framework/cache/data", "storage/framework/views"],
        _ => &[],
    }
}

pub(super) fn extract(
    dir: &include_dir::Dir<'_>,
    root: &Path,
    to: &Path,
) -> Result<(), RuntimeError> {
    make_dir(&below(dir.path(), root, to))?;
    for file in dir.files() {
        let to = below(file.path(), root, to);
        fs::write(&to, file.contents()).map_err(io_error("write", &to))?;
    }
    dir.dirs().try_for_each(|sub| extract(sub, root, to))
}

fn below(path: &Path, root: &Path, to: &Path) -> PathBuf {
    to.join(path.strip_prefix(root).unwrap_or(path))
}

pub(super) fn copy(root: &Path, from: &Path, to: &Path) -> Result<(), RuntimeError> {
    make_dir(to)?;
    for entry in fs::read_dir(from).map_err(io_error("read", from))? {
        let entry = entry.map_err(io_error("read", from))?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        // Of a TMPDIR inside the app the copy itself is a part.
        if LEFT_OUT.iter().any(|name| entry.file_name() == *name) || is_work(&path, &to) {
            continue;
        }
        let kind = entry.file_type().map_err(io_error("read", &path))?;
        if kind.is_symlink() {
            link(root, &path, &to)?;
        } else if kind.is_dir() {
            copy(root, &path, &to)?;
        } else if kind.is_file() {
            fs::copy(&path, &to).map_err(io_error("copy", &path))?;
        }
        // Sockets, pipes and devices are no part of an app.
    }
    Ok(())
}

/// Whether `path` is the work folder that `to` lies in.
fn is_work(path: &Path, to: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("stampede-") && to.starts_with(path)
}

/// A link inside the app stays inside the copy; one that leads out leads to the same place.
fn link(root: &Path, from: &Path, to: &Path) -> Result<(), RuntimeError> {
    let target = fs::read_link(from).map_err(io_error("read", from))?;
    let target = match target.strip_prefix(root) {
        Ok(inside) => {
            let depth = from.strip_prefix(root).map_or(1, |path| path.components().count());
            let mut up: PathBuf = std::iter::repeat_n("..", depth.saturating_sub(1)).collect();
            up.push(inside);
            up
        }
        Err(_) if target.is_relative() => outside(root, from).unwrap_or(target),
        Err(_) => target,
    };
    symlink(&target, to).map_err(io_error("copy", from))
}

/// Where a relative link leads, if it leads out of `root`; from the copy it would lead elsewhere.
fn outside(root: &Path, link: &Path) -> Option<PathBuf> {
    let (root, real) = (fs::canonicalize(root).ok()?, fs::canonicalize(link).ok()?);
    (!real.starts_with(root)).then_some(real)
}

pub(crate) fn make_dir(path: &Path) -> Result<(), RuntimeError> {
    fs::create_dir_all(path).map_err(io_error("create", path))
}

pub(crate) fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RuntimeError {
    let path = path.to_path_buf();
    move |source| RuntimeError::Io { what, path, source }
}

/// Gives the copy to the user that PHP runs as: readable, and writable only below
/// `writable`. Others see nothing: an app's folder may hold secrets.
pub(crate) fn hand_over(
    copy: &Path,
    writable: &[String],
    user: u32,
    group: u32,
) -> Result<(), RuntimeError> {
    give(copy, 0, group, 0o750, 0o640)?;
    for folder in writable {
        let folder = copy.join(folder);
        make_dir(&folder)?;
        give(&folder, user, group, 0o750, 0o640)?;
    }
    Ok(())
}

pub(super) fn give(
    path: &Path,
    user: u32,
    group: u32,
    dirs: u32,
    files: u32,
) -> Result<(), RuntimeError> {
    std::os::unix::fs::lchown(path, Some(user), Some(group))
        .map_err(io_error("give away", path))?;
    let meta = fs::symlink_metadata(path).map_err(io_error("read", path))?;
    if meta.is_symlink() {
        return Ok(());
    }
    let mode = match meta.is_dir() {
        true => dirs,
        // What could be executed still can.
        false => files | (meta.permissions().mode() & 0o110),
    };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(io_error("open", path))?;
    if meta.is_dir() {
        for entry in fs::read_dir(path).map_err(io_error("read", path))? {
            give(&entry.map_err(io_error("read", path))?.path(), user, group, dirs, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn links_lead_where_they_led() {
        let place = tempfile::tempdir().unwrap();
        let (app, copied) = (place.path().join("app"), place.path().join("deep/er/copy"));
        fs::create_dir_all(app.join("public")).unwrap();
        for (file, text) in [("shared.txt", "out"), ("app/inside.txt", "in")] {
            fs::write(place.path().join(file), text).unwrap();
        }
        symlink("../../shared.txt", app.join("public/out")).unwrap();
        symlink("../inside.txt", app.join("public/in")).unwrap();
        symlink(app.join("inside.txt"), app.join("public/absolute")).unwrap();
        symlink("nowhere", app.join("public/dangling")).unwrap();
        copy(&app, &app, &copied).unwrap();
        fs::remove_file(app.join("inside.txt")).unwrap();
        for (link, text) in [("out", "out"), ("in", "in"), ("absolute", "in")] {
            assert_eq!(fs::read_to_string(copied.join("public").join(link)).unwrap(), text);
        }
        assert!(copied.join("public/dangling").is_symlink());
    }

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
