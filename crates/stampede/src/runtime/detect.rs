//! What a project without an `app.yaml` is: its kind, framework and public folder, by its files.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::app::App;
use super::app_manifest::{AppManifest, AppRequest, Expect, Framework, VersionIn};
use super::catalogue::Folder;
use super::copy::io_error;
use super::error::RuntimeError;
use super::framework;
use super::manifest::AppKind;
use super::preparation;

/// Reads the project in `path`. `kind` is what it is served as, whatever it looks like.
///
/// # Errors
/// It has no front controller, a file of Composer's that does not parse, packages that are not
/// installed, or not what `kind` is entered by.
pub(super) fn detect(
    name: String,
    path: &Path,
    kind: Option<AppKind>,
) -> Result<App, RuntimeError> {
    let has_index = |docroot: &&str| path.join(docroot).join(INDEX).is_file();
    let docroot = DOCROOTS.into_iter().find(has_index);
    let docroot = docroot.ok_or_else(|| RuntimeError::NoApp { folder: path.to_path_buf() })?;
    let (composer, lock) = (json(path, COMPOSER)?, json(path, "composer.lock")?);
    let project = Project { path, docroot, composer };
    project.is_installed(&name)?;
    let found = project.recognised();
    if let Some(kind) = kind {
        project.is_entered(&name, kind)?;
    }
    let kind = kind.unwrap_or(found.kind);
    let preload = (kind == AppKind::Symfony && path.join(PRELOAD_OF_SYMFONY).is_file())
        .then(|| PRELOAD_OF_SYMFONY.to_owned());
    let manifest = AppManifest {
        title: name.clone(),
        kind,
        docroot: docroot.into(),
        index: INDEX.into(),
        request: AppRequest::default(),
        expect: Expect::default(),
        contains: None,
        mask: Vec::new(),
        env: Default::default(),
        extensions: extensions_of(&project.composer, &lock),
        writable: ["var", "storage", "bootstrap/cache"].map(String::from).to_vec(),
        needs: found.need.iter().cloned().collect(),
        prepare: preparation::of_project(kind, path),
        preload,
        caches: caches_of(kind).iter().map(|folder| (*folder).to_owned()).collect(),
        database: None,
    };
    let mut app = App::new(name, "app.yaml", manifest, Folder::OnDisk(path.to_path_buf()))?;
    app.said = Some(project.said(&app, &found));
    Ok(app)
}

/// Where a project's front controller is looked for, for messages.
pub(crate) const LOOKED_FOR: &str =
    "`index.php` in `public`, `web`, `webroot` or `pub`, or in the folder itself";

/// Folders that a web server is pointed at: of Symfony and Laravel; of Drupal, Yii and Bedrock; of
/// CakePHP; of Magento. Some of these have an `index.php` above too, for hosts that serve all.
const DOCROOTS: [&str; 5] = ["public", "web", "webroot", "pub", "."];
const INDEX: &str = "index.php";
const COMPOSER: &str = "composer.json";

/// A framework and what tells it.
struct Known {
    kind: AppKind,
    /// Its name among the versions.
    name: &'static str,
    title: &'static str,
    /// Composer packages, any of which is it.
    packages: &'static [&'static str],
    /// Files that it has, all of a line; without such a requirement.
    files: &'static [&'static [&'static str]],
    /// A file of them, and what it says.
    says: Option<(&'static str, &'static str)>,
}

/// Lumen before Laravel, for it has Laravel's files.
const KNOWN: [Known; 3] = [
    Known {
        kind: AppKind::Lumen,
        name: "lumen",
        title: "Lumen",
        packages: &["laravel/lumen-framework"],
        files: &[&["artisan", "bootstrap/app.php"]],
        says: Some(("bootstrap/app.php", "Laravel\\Lumen\\")),
    },
    Known {
        kind: AppKind::Laravel,
        name: "laravel",
        title: "Laravel",
        packages: &["laravel/framework"],
        files: &[&["artisan", "bootstrap/app.php"]],
        says: None,
    },
    Known {
        kind: AppKind::Symfony,
        name: "symfony",
        title: "Symfony",
        packages: &["symfony/framework-bundle", "symfony/symfony"],
        files: &[&["bin/console", "config/bundles.php"], &["bin/console", "src/Kernel.php"]],
        says: None,
    },
];

/// Where WordPress lies below the public folder: itself, or as Composer puts it.
const WORDPRESS: [&str; 3] = ["", "wp/", "wordpress/"];

/// What a kind is entered by in a runtime that keeps it in memory.
const ENTRIES: [(AppKind, &str); 4] = [
    (AppKind::Callable, "handler.php"),
    (AppKind::Psr15, "handler.php"),
    (AppKind::Laravel, "bootstrap/app.php"),
    (AppKind::Lumen, "bootstrap/app.php"),
];

/// A project's folder, and what Composer knows of it.
struct Project<'a> {
    path: &'a Path,
    docroot: &'static str,
    composer: Value,
}

/// What a project was recognised as.
struct Found {
    kind: AppKind,
    /// `Symfony`; `None`: nothing that is known.
    title: Option<&'static str>,
    /// What told it.
    by: String,
    /// Its framework, where its version can be told.
    need: Option<(String, Framework)>,
}

impl Project<'_> {
    fn has(&self, file: &str) -> bool {
        self.path.join(file).is_file()
    }

    fn requires(&self, package: &str) -> bool {
        self.composer["require"].get(package).is_some()
    }

    /// Where Composer puts packages.
    fn vendor(&self) -> &str {
        self.composer["config"]["vendor-dir"].as_str().unwrap_or("vendor")
    }

    /// What is required must be there, or the first request is an error of PHP's.
    fn is_installed(&self, name: &str) -> Result<(), RuntimeError> {
        let required = self.composer["require"].as_object().into_iter().flat_map(|map| map.keys());
        // Others are PHP itself, its extensions and libraries.
        let packages: Vec<String> = required.filter(|name| name.contains('/')).cloned().collect();
        let autoload = format!("{}/autoload.php", self.vendor());
        if packages.is_empty() || self.has(&autoload) {
            return Ok(());
        }
        let (app, folder) = (name.to_owned(), self.path.to_path_buf());
        Err(RuntimeError::NoVendor { app, folder, autoload, packages })
    }

    fn is_entered(&self, name: &str, kind: AppKind) -> Result<(), RuntimeError> {
        match ENTRIES.into_iter().find(|(of, file)| *of == kind && !self.has(file)) {
            None => Ok(()),
            Some((_, file)) => {
                Err(RuntimeError::NoEntry { app: name.to_owned(), kind: kind.name(), file })
            }
        }
    }

    /// By what it requires, else by its files, else a front controller and no more.
    fn recognised(&self) -> Found {
        let required = KNOWN.iter().find_map(|known| {
            let package = known.packages.iter().find(|package| self.requires(package))?;
            Some(self.found(known, package, format!("composer.json requires `{package}`")))
        });
        let has = |known: &&Known| {
            let all = |files: &&&[&str]| files.iter().all(|file| self.has(file));
            let files = known.files.iter().find(all)?;
            self.says(known).then(|| {
                let by = backticked(files);
                self.found(known, known.packages[0], format!("it has {by}"))
            })
        };
        let by_files = || KNOWN.iter().find_map(|known| has(&known));
        required.or_else(by_files).or_else(|| self.wordpress()).unwrap_or_else(|| Found {
            kind: AppKind::Script,
            title: None,
            by: match self.composer.is_null() {
                true => "no composer.json, and neither `artisan`, `bin/console` nor WordPress",
                false => "composer.json requires no framework that is known here",
            }
            .to_owned(),
            need: None,
        })
    }

    fn says(&self, known: &Known) -> bool {
        let installed = known
            .packages
            .iter()
            .any(|package| self.path.join(self.vendor()).join(package).join(COMPOSER).is_file());
        known.says.is_none_or(|(file, text)| {
            installed
                || fs::read_to_string(self.path.join(file)).is_ok_and(|all| all.contains(text))
        })
    }

    fn found(&self, known: &Known, package: &str, by: String) -> Found {
        // Elsewhere its version is not looked for; without a vendor folder it is the machine's.
        let need = || Framework {
            package: package.to_owned(),
            file: None,
            version: None,
            install: Default::default(),
        };
        let here = self.has(framework::AUTOLOAD);
        let need = here.then(|| (known.name.to_owned(), need()));
        Found { kind: known.kind, title: Some(known.title), by, need }
    }

    fn wordpress(&self) -> Option<Found> {
        let docroot =
            if self.docroot == "." { String::new() } else { format!("{}/", self.docroot) };
        let files = WORDPRESS.map(|below| format!("{docroot}{below}wp-includes/version.php"));
        let file = files.into_iter().find(|file| self.has(file))?;
        let need = Framework {
            package: "roots/wordpress".to_owned(),
            file: Some(file.clone().into()),
            version: Some(VersionIn {
                file: file.clone().into(),
                after: "$wp_version = '".to_owned(),
            }),
            install: Default::default(),
        };
        Some(Found {
            kind: AppKind::Script,
            title: Some("WordPress"),
            by: format!("it has `{file}`"),
            need: Some(("wordpress".to_owned(), need)),
        })
    }

    /// What it was taken as, and why: for people.
    fn said(&self, app: &App, found: &Found) -> String {
        let kind = app.manifest.kind.name();
        let (by, version) =
            (&found.by, found.need.as_ref().and_then(|(_, need)| framework::version(app, need)));
        let version = version.as_deref().and_then(|version| version.split(' ').next());
        let what = match (found.title, version) {
            (Some(title), None | Some("")) => format!("a {title} app ({by})"),
            (Some(title), Some(version)) => format!("a {title} {version} app ({by})"),
            (None, _) => format!("a PHP app ({by})"),
        };
        let of_kind = match found.title.is_some_and(|title| title.to_lowercase() == kind) {
            true if app.manifest.kind == found.kind => String::new(),
            _ if app.manifest.kind == found.kind => format!(", of kind `{kind}`"),
            _ => format!(", taken as kind `{kind}` because that was said"),
        };
        let served = match self.docroot {
            "." => "the folder itself".to_owned(),
            docroot => format!("`{docroot}/`"),
        };
        format!("{what}{of_kind}, served from {served}{}", self.is_inside())
    }

    /// A public folder alone lacks the rest of its project.
    fn is_inside(&self) -> String {
        let named = |name: &str| self.path.file_name().is_some_and(|own| own == name);
        let above = self.path.parent().filter(|above| above.join(COMPOSER).is_file());
        match above.filter(|_| self.docroot == "." && DOCROOTS.into_iter().any(named)) {
            Some(_) => "; the folder above has a composer.json: is the app that one?".to_owned(),
            None => String::new(),
        }
    }
}

/// A file of Composer's; null where it is not there.
fn json(folder: &Path, file: &str) -> Result<Value, RuntimeError> {
    let path = folder.join(file);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Value::Null),
        read => read.map_err(io_error("read", &path))?,
    };
    let wrong = |line, column, problem: &str| {
        let (path, problem) = (path.clone(), problem.to_owned());
        RuntimeError::Composer { path, line, column, problem }
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or(&said);
        wrong(error.line(), error.column(), &format!("this is no JSON: {said}"))
    })?;
    match value.is_object() {
        true => Ok(value),
        false => Err(wrong(1, 1, "this is no object in braces")),
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

fn backticked(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" and ")
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
