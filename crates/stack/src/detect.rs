//! Detects what a project without an `app.yaml` is, from its files: its kind, framework and public
//! directory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;
use stampede_model::app_kind::AppKind;
use stampede_model::fact::app::{Detected, RecognisedBy};

use super::app::App;
use super::app_manifest::{AppManifest, AppRequest, Expect, Framework, VersionIn};
use super::copy::io_error;
use super::directory::Directory;
use super::entry;
use super::error::RuntimeError;
use super::framework;
use crate::process::preparation;

/// Reads the project in `path`. With `kind`, the project is served as that kind, whatever it looks
/// like.
///
/// # Errors
/// The project has no front controller, or lacks the file through which `kind` is entered. A file
/// of Composer cannot be parsed, or packages are not installed.
pub(super) fn detect(
    name: String,
    path: &Path,
    kind: Option<AppKind>,
) -> Result<App, RuntimeError> {
    let has_index = |docroot: &&str| path.join(docroot).join(INDEX).is_file();
    let docroot = DOCROOTS.into_iter().find(has_index);
    let docroot = docroot.ok_or_else(|| RuntimeError::NoApp { directory: path.to_path_buf() })?;
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
        env: production(kind),
        extensions: extensions_of(&project.composer, &lock),
        extensions_if_there: USUAL_EXTENSIONS.iter().map(|name| (*name).to_owned()).collect(),
        writable: project.writable(),
        in_memory: false,
        needs: found.need.iter().cloned().collect(),
        prepare: preparation::of_project(kind, path),
        preload,
        caches: caches_of(kind).iter().map(|directory| (*directory).to_owned()).collect(),
        database: None,
    };
    let mut app = App::new(name, "app.yaml", manifest, Directory::OnDisk(path.to_path_buf()))?;
    app.said = Some(project.describe(&app, &found));
    Ok(app)
}

/// Where a project's front controller is looked for, in words for messages.
pub const LOOKED_FOR: &str =
    "`index.php` in `public`, `web`, `webroot` or `pub`, or in the directory itself";

/// The directories that web servers are pointed at: of Symfony and Laravel; of Drupal, Yii and
/// Bedrock; of CakePHP; of Magento. Some of these also have an `index.php` above, for hosts that
/// serve the whole directory.
const DOCROOTS: [&str; 5] = ["public", "web", "webroot", "pub", "."];
const INDEX: &str = "index.php";
const COMPOSER: &str = "composer.json";

/// A framework, and how it is recognised.
struct FrameworkRule {
    kind: AppKind,
    /// The framework's name in the list of versions.
    name: &'static str,
    title: &'static str,
    /// The Composer packages; any one of them identifies the framework.
    packages: &'static [&'static str],
    /// Groups of files: all files of one group identify the framework, if no package is required.
    files: &'static [&'static [&'static str]],
    /// A file and a text in it that must also be there, unless the package is installed.
    says: Option<(&'static str, &'static str)>,
}

/// The known frameworks. Lumen comes before Laravel, since it has Laravel's files.
const KNOWN: [FrameworkRule; 3] = [
    FrameworkRule {
        kind: AppKind::Lumen,
        name: "lumen",
        title: "Lumen",
        packages: &["laravel/lumen-framework"],
        files: &[&["artisan", "bootstrap/app.php"]],
        says: Some(("bootstrap/app.php", "Laravel\\Lumen\\")),
    },
    FrameworkRule {
        kind: AppKind::Laravel,
        name: "laravel",
        title: "Laravel",
        packages: &["laravel/framework"],
        files: &[&["artisan", "bootstrap/app.php"]],
        says: None,
    },
    FrameworkRule {
        kind: AppKind::Symfony,
        name: "symfony",
        title: "Symfony",
        packages: &["symfony/framework-bundle", "symfony/symfony"],
        files: &[&["bin/console", "config/bundles.php"], &["bin/console", "src/Kernel.php"]],
        says: None,
    },
];

/// The directories below the public directory in which WordPress may lie: the public directory
/// itself, or where Composer puts it.
const WORDPRESS: [&str; 3] = ["", "wp/", "wordpress/"];

/// A project's directory, with its composer.json.
struct Project<'a> {
    path: &'a Path,
    docroot: &'static str,
    composer: Value,
}

/// What a project was recognised as.
struct Recognition {
    kind: AppKind,
    /// The framework's title, such as `Symfony`; `None`: no known framework.
    title: Option<&'static str>,
    /// How the project was recognised.
    by: RecognisedBy,
    /// The framework, if its version can be found.
    need: Option<(String, Framework)>,
}

impl Project<'_> {
    /// The directories that the project writes to: those of frameworks, and those directly in the
    /// project that hold a database file. Such a database writes its journal beside its file.
    fn writable(&self) -> Vec<String> {
        let is_database = |path: &Path| {
            let end = path.extension().unwrap_or_default();
            path.is_file() && SQLITE.iter().any(|known| end == *known)
        };
        let holds_one = |directory: &Path| {
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).any(|path| is_database(&path))
        };
        let entries = fs::read_dir(self.path).into_iter().flatten().flatten();
        let directories = entries.filter(|entry| entry.path().is_dir() && holds_one(&entry.path()));
        let names = directories.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let is_there = |name: &&str| self.path.join(name).is_dir();
        let usual = WRITABLE.into_iter().chain(WRITABLE_IF_THERE.into_iter().filter(is_there));
        let mut all: Vec<String> = usual.map(String::from).collect();
        for name in names {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }

    fn has(&self, file: &str) -> bool {
        self.path.join(file).is_file()
    }

    fn requires(&self, package: &str) -> bool {
        self.composer["require"].get(package).is_some()
    }

    /// The directory into which Composer puts packages.
    fn vendor(&self) -> &str {
        self.composer["config"]["vendor-dir"].as_str().unwrap_or("vendor")
    }

    /// Checks that the required packages are installed. Otherwise the first request would end in a
    /// PHP error.
    fn is_installed(&self, name: &str) -> Result<(), RuntimeError> {
        let required = self.composer["require"].as_object().into_iter().flat_map(|map| map.keys());
        // Names without a slash are PHP itself, its extensions and libraries.
        let packages: Vec<String> = required.filter(|name| name.contains('/')).cloned().collect();
        let autoload = format!("{}/autoload.php", self.vendor());
        if packages.is_empty() || self.has(&autoload) {
            return Ok(());
        }
        let (app, directory) = (name.to_owned(), self.path.to_path_buf());
        Err(RuntimeError::NoVendor { app, directory, autoload, packages })
    }

    /// Checks that the project has the file through which `kind` is entered. Not for Symfony: the
    /// place of its kernel cannot be told from the file's name alone.
    fn is_entered(&self, name: &str, kind: AppKind) -> Result<(), RuntimeError> {
        match entry::file(kind).filter(|file| kind != AppKind::Symfony && !self.has(file)) {
            None => Ok(()),
            Some(file) => {
                Err(RuntimeError::NoEntry { app: name.to_owned(), kind: kind.name(), file })
            }
        }
    }

    /// Recognises the project by the packages that it requires, or else by its files. If nothing is
    /// known, it is a front controller and nothing more.
    fn recognised(&self) -> Recognition {
        let required = KNOWN.iter().find_map(|known| {
            let package = known.packages.iter().find(|package| self.requires(package))?;
            let by = RecognisedBy::Requires { package: (*package).to_owned() };
            Some(self.recognition(known, Some(package), by))
        });
        let by_files = || {
            KNOWN.iter().find_map(|known| {
                let installed = known.packages.iter().find(|package| self.has_package(package));
                let by = self.looks_like(known, installed.is_some())?;
                Some(self.recognition(known, installed.copied(), by))
            })
        };
        required.or_else(by_files).or_else(|| self.wordpress()).unwrap_or_else(|| Recognition {
            kind: AppKind::Script,
            title: None,
            by: match self.composer.is_null() {
                true => RecognisedBy::Nothing {},
                false => RecognisedBy::NoFramework {},
            },
            need: None,
        })
    }

    fn has_package(&self, package: &str) -> bool {
        self.path.join(self.vendor()).join(package).join(COMPOSER).is_file()
    }

    /// The files that identify the project as `known`; `None`: it is something else.
    fn looks_like(&self, known: &FrameworkRule, installed: bool) -> Option<RecognisedBy> {
        let all = |files: &&&[&str]| files.iter().all(|file| self.has(file));
        let files = known.files.iter().find(all)?.iter().map(|file| (*file).to_owned()).collect();
        let Some((file, text)) = known.says else { return Some(RecognisedBy::Files { files }) };
        let says = || fs::read_to_string(self.path.join(file)).is_ok_and(|all| all.contains(text));
        let framework = known.title.to_owned();
        (installed || says()).then_some(RecognisedBy::FilesOf { files, framework })
    }

    /// Builds the result. `package` is the installed package that has the version; `None`: the
    /// framework is not among the project's own packages.
    fn recognition(
        &self,
        known: &FrameworkRule,
        package: Option<&str>,
        by: RecognisedBy,
    ) -> Recognition {
        let need = |package: &str| Framework {
            own: None,
            package: package.to_owned(),
            file: None,
            version: None,
            install: Default::default(),
        };
        // In a vendor directory with another name, the version is not looked for.
        let package = package.filter(|_| self.has(framework::AUTOLOAD));
        let need = package.map(|package| (known.name.to_owned(), need(package)));
        Recognition { kind: known.kind, title: Some(known.title), by, need }
    }

    fn wordpress(&self) -> Option<Recognition> {
        let docroot =
            if self.docroot == "." { String::new() } else { format!("{}/", self.docroot) };
        let files = WORDPRESS.map(|below| format!("{docroot}{below}wp-includes/version.php"));
        let file = files.into_iter().find(|file| self.has(file))?;
        let need = Framework {
            own: None,
            package: "roots/wordpress".to_owned(),
            file: Some(file.clone().into()),
            version: Some(VersionIn {
                file: file.clone().into(),
                after: "$wp_version = '".to_owned(),
            }),
            install: Default::default(),
        };
        Some(Recognition {
            kind: AppKind::Script,
            title: Some("WordPress"),
            by: RecognisedBy::Files { files: vec![file.clone()] },
            need: Some(("wordpress".to_owned(), need)),
        })
    }

    /// What the project was detected as, and why.
    fn describe(&self, app: &App, found: &Recognition) -> Detected {
        let version = found.need.as_ref().and_then(|(_, need)| framework::version(app, need));
        let version = version.and_then(|version| Some(version.split(' ').next()?.to_owned()));
        Detected {
            framework: found.title.map(str::to_owned),
            version: version.filter(|version| !version.is_empty()),
            by: found.by.clone(),
            kind: app.manifest.kind.name().to_owned(),
            kind_is_said: app.manifest.kind != found.kind,
            docroot: self.docroot.to_owned(),
            may_be_part: self.is_inside(),
        }
    }

    /// Whether the path is only the public directory of a project, without the rest of it.
    fn is_inside(&self) -> bool {
        let named = |name: &str| self.path.file_name().is_some_and(|own| own == name);
        let above = self.path.parent().filter(|above| above.join(COMPOSER).is_file());
        above.is_some() && self.docroot == "." && DOCROOTS.into_iter().any(named)
    }
}

/// Reads a JSON file of Composer; null: there is no such file.
fn json(directory: &Path, file: &str) -> Result<Value, RuntimeError> {
    let path = directory.join(file);
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
        // serde reports column 0 for an empty file.
        wrong(error.line(), error.column().max(1), &format!("this is not JSON: {said}"))
    })?;
    match value.is_object() {
        true => Ok(value),
        false => Err(wrong(1, 1, "this is not an object in braces")),
    }
}

/// The PHP extensions that a project and its packages require.
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

/// The environment for production: Laravel says `production` where Symfony says `prod`.
fn production(kind: AppKind) -> BTreeMap<String, String> {
    let is_laravel = matches!(kind, AppKind::Laravel | AppKind::Lumen);
    is_laravel.then(|| ("APP_ENV".to_owned(), "production".to_owned())).into_iter().collect()
}

/// Directories that frameworks write to, whether or not they exist yet.
const WRITABLE: [&str; 3] = ["var", "storage", "bootstrap/cache"];
/// Directories that are writable if they exist: of Slim, CakePHP and Laminas.
const WRITABLE_IF_THERE: [&str; 3] = ["logs", "tmp", "data"];
/// The extensions of database files.
const SQLITE: [&str; 3] = ["sqlite", "sqlite3", "db"];

/// The PHP extensions of usual servers, loaded if they are installed. Few projects name their
/// database's driver, and a project without Composer names nothing. Extensions that observe PHP,
/// such as debuggers, are not listed.
const USUAL_EXTENSIONS: &[&str] = &[
    "apcu",
    "bcmath",
    "calendar",
    "ctype",
    "curl",
    "dom",
    "exif",
    "fileinfo",
    "ftp",
    "gd",
    "gettext",
    "gmp",
    "iconv",
    "igbinary",
    "intl",
    "mbstring",
    "memcached",
    "msgpack",
    "mysqli",
    "mysqlnd",
    "pdo",
    "pdo_mysql",
    "pdo_pgsql",
    "pdo_sqlite",
    "pgsql",
    "phar",
    "posix",
    "redis",
    "simplexml",
    "sodium",
    "sqlite3",
    "tokenizer",
    "xml",
    "xmlreader",
    "xmlwriter",
    "zip",
];

/// The preload file that Symfony's recipe creates.
const PRELOAD_OF_SYMFONY: &str = "config/preload.php";

/// The directories with a framework's caches, filled by itself or by the commands of a deployment.
fn caches_of(kind: AppKind) -> &'static [&'static str] {
    match kind {
        AppKind::Symfony => &["var/cache"],
        AppKind::Laravel => {
            &["bootstrap/cache", "storage/framework/cache/data", "storage/framework/views"]
        }
        AppKind::Lumen => &["storage/framework/cache/data", "storage/framework/views"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Creates a project of these files, each a path and its text. The directory is removed with
    /// the returned value.
    fn project(files: &[(&str, &str)]) -> (tempfile::TempDir, std::path::PathBuf) {
        let place = tempfile::tempdir().expect("directory");
        let shop = place.path().join("shop");
        for (file, text) in files {
            let path = shop.join(file);
            fs::create_dir_all(path.parent().expect("parent")).expect("directory");
            fs::write(path, text).expect("file");
        }
        (place, shop)
    }

    fn detected(files: &[(&str, &str)], kind: Option<AppKind>) -> Result<App, RuntimeError> {
        let (_place, shop) = project(files);
        detect("shop".into(), &shop, kind)
    }

    const INDEX_THERE: (&str, &str) = ("public/index.php", "<?php");
    const INSTALLED: (&str, &str) = ("vendor/autoload.php", "<?php");

    /// The detected kind and description of each project.
    #[test]
    fn a_project_is_known_by_what_it_requires_else_by_its_files() {
        let symfony = r#"{"require": {"php": "*", "symfony/framework-bundle": "7.1.*"}}"#;
        let laravel = r#"{"require": {"laravel/framework": "^11"}}"#;
        let lumen = r#"{"require": {"laravel/lumen-framework": "^10"}}"#;
        let only_dev = r#"{"require-dev": {"symfony/framework-bundle": "*"}}"#;
        let slim = r#"{"require": {"slim/slim": "^4"}}"#;
        let versions =
            r#"{"packages": [{"name": "symfony/framework-bundle", "version": "v7.1.5"}]}"#;
        let versions = ("vendor/composer/installed.json", versions);
        let has = ("vendor/symfony/framework-bundle/composer.json", "{}");
        let artisan = [("artisan", ""), ("bootstrap/app.php", "<?php")];
        let lumens = ("bootstrap/app.php", "<?php $app = new Laravel\\Lumen\\Application();");
        let wordpress = "<?php\n$wp_version = '6.4.3';\n";
        let (composer, index) = (|text| ("composer.json", text), ("index.php", "<?php"));
        let all: &[&[(&str, &str)]] = &[
            &[INDEX_THERE, INSTALLED, composer(symfony), has, versions],
            &[INDEX_THERE, INSTALLED, composer(symfony)],
            &[INDEX_THERE, INSTALLED, composer(laravel)],
            &[INDEX_THERE, INSTALLED, composer(lumen), artisan[0], artisan[1]],
            &[INDEX_THERE, artisan[0], artisan[1]],
            &[INDEX_THERE, artisan[0], lumens],
            &[INDEX_THERE, ("bin/console", ""), ("config/bundles.php", "<?php")],
            &[INDEX_THERE, ("bin/console", ""), ("src/Kernel.php", "<?php")],
            &[INDEX_THERE, ("bin/console", "")],
            &[INDEX_THERE, composer(only_dev)],
            &[INDEX_THERE, INSTALLED, composer(slim)],
            &[index, ("wp-includes/version.php", wordpress)],
            &[("web/index.php", "<?php"), ("web/wp/wp-includes/version.php", wordpress)],
            &[index],
            &[index, ("webroot/index.php", "<?php")],
        ];
        let said = |files: &&[(&str, &str)]| {
            let app = detected(files, None).expect("an app");
            format!("{}: {}\n", app.manifest.kind.name(), app.notice().expect("it is said"))
        };
        insta::assert_snapshot!(all.iter().map(said).collect::<String>());
    }

    #[test]
    fn a_directory_with_a_database_of_one_file_is_writable() {
        let database = [INDEX_THERE, ("database/database.sqlite", ""), ("var/data.db", "")];
        let app = detected(&database, None).expect("an app");
        assert_eq!(app.manifest.writable, ["var", "storage", "bootstrap/cache", "database"]);
        assert!(app.manifest.extensions_if_there.contains(&"pdo_sqlite".to_owned()));
    }

    #[test]
    fn a_directory_of_logs_is_writable_if_it_exists() {
        let slim = [INDEX_THERE, ("logs/README.md", "")];
        let app = detected(&slim, None).expect("an app");
        assert_eq!(app.manifest.writable, ["var", "storage", "bootstrap/cache", "logs"]);
    }

    #[test]
    fn the_kind_of_a_project_can_be_given() {
        let files = [INDEX_THERE, ("bin/console", ""), ("src/Kernel.php", "<?php")];
        let app = detected(&files, Some(AppKind::Script)).expect("an app");
        assert_eq!(app.manifest.kind, AppKind::Script);
        insta::assert_snapshot!(app.notice().expect("a notice").to_string(), @"app `shop`: a Symfony app (it has `bin/console` and `src/Kernel.php`), used as kind `script`, as you asked, served from `public/`");
        let error = detected(&files, Some(AppKind::Laravel)).expect_err("not entered so");
        insta::assert_snapshot!(error.to_string(), @"app `shop` cannot be used as kind `laravel`: it has no `bootstrap/app.php`");
        let handler = [INDEX_THERE, ("handler.php", "<?php")];
        let app = detected(&handler, Some(AppKind::Psr15)).expect("an app");
        assert_eq!(app.manifest.kind, AppKind::Psr15);
    }

    #[test]
    fn a_public_directory_alone_is_a_doubtful_sign() {
        let (_place, shop) = project(&[INDEX_THERE, ("composer.json", "{}")]);
        let app = detect("public".into(), &shop.join("public"), None).expect("an app");
        let said = app.notice().expect("a notice").to_string();
        assert!(said.ends_with(
            "; the directory above has a composer.json: if that is your app, name it with `--app`"
        ));
    }

    #[test]
    fn what_composer_has_not_done_is_said_before_anything_starts() {
        let refused = |files: &[(&str, &str)]| {
            let (_place, shop) = project(files);
            let error = detect("shop".into(), &shop, None).expect_err("refused");
            let text = format!("error: {error}\nhint: {}\n", error.hint().unwrap_or_default());
            text.replace(&shop.display().to_string(), "SHOP")
        };
        let two = r#"{"require": {"php": "*", "ext-intl": "*", "a/b": "1", "c/d": "2"}}"#;
        let elsewhere = r#"{"require": {"a/b": "1"}, "config": {"vendor-dir": "lib"}}"#;
        let shown: String = [
            refused(&[
                INDEX_THERE,
                ("composer.json", "{\n  \"require\": {\n    \"a/b\": 1,\n  }\n}"),
            ]),
            refused(&[INDEX_THERE, ("composer.json", "")]),
            refused(&[INDEX_THERE, ("composer.json", "[]")]),
            refused(&[INDEX_THERE, ("composer.lock", "{\n<<<<<<< HEAD\n")]),
            refused(&[INDEX_THERE, ("composer.json", two)]),
            refused(&[INDEX_THERE, INSTALLED, ("composer.json", elsewhere)]),
            refused(&[("src/index.php", "<?php")]),
        ]
        .concat();
        insta::assert_snapshot!(shown);
        let platform = ("composer.json", r#"{"require": {"php": "*", "ext-ctype": "*"}}"#);
        assert!(detected(&[INDEX_THERE, platform], None).is_ok(), "nothing to install");
    }

    #[test]
    fn a_vendor_directory_without_its_framework_names_composers_command() {
        let (_place, shop) = project(&[
            INDEX_THERE,
            INSTALLED,
            ("composer.json", r#"{"require": {"laravel/framework": "*"}}"#),
        ]);
        let app = detect("shop".into(), &shop, None).expect("an app");
        let error = framework::versions(&app, &Default::default()).expect_err("it is not there");
        let text = format!("{error}\n{}", error.hint().unwrap_or_default());
        insta::assert_snapshot!(text.replace(&shop.display().to_string(), "SHOP"), @r"
        the vendor directory of app `shop` has no `laravel/framework`
        in `SHOP`: composer install --no-dev
        ");
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
