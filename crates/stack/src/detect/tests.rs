//! Tests of detection.

use stampede_plan::model::AppChoice;

use super::*;
use crate::app_manifest::AppManifest;
use crate::catalogue::Catalogue;
use crate::copy::SettingsPaths;
use crate::locate::SearchPaths;

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
    app_in(&shop, kind)
}

fn app_in(shop: &Path, kind: Option<AppKind>) -> Result<App, RuntimeError> {
    let mut choice = AppChoice::directory(shop.to_path_buf());
    choice.settings.kind = kind;
    Catalogue::load(SearchPaths::default()).app(&choice)
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
    let versions = r#"{"packages": [{"name": "symfony/framework-bundle", "version": "v7.1.5"}]}"#;
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
    let app = app_in(&shop.join("public"), None).expect("an app");
    let said = app.notice().expect("a notice").to_string();
    assert!(said.ends_with(
        "; the directory above has a composer.json: if that is your app, name it with `--app`"
    ));
}

#[test]
fn what_composer_has_not_done_is_said_before_anything_starts() {
    let refused = |files: &[(&str, &str)]| {
        let (_place, shop) = project(files);
        let error = app_in(&shop, None).expect_err("refused");
        let text = format!("error: {error}\nhint: {}\n", error.hint().unwrap_or_default());
        text.replace(&shop.display().to_string(), "SHOP")
    };
    let two = r#"{"require": {"php": "*", "ext-intl": "*", "laravel/framework": "1", "c/d": "2"}}"#;
    let elsewhere = r#"{"require": {"laravel/framework": "1"}, "config": {"vendor-dir": "lib/"}}"#;
    let shown: String = [
        refused(&[INDEX_THERE, ("composer.json", "{\n  \"require\": {\n    \"a/b\": 1,\n  }\n}")]),
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
    let app = app_in(&shop, None).expect("an app");
    let error = framework::versions(&app, &Default::default()).expect_err("it is not there");
    let text = format!("{error}\n{}", error.hint().unwrap_or_default());
    insta::assert_snapshot!(text.replace(&shop.display().to_string(), "SHOP"), @r"
    the vendor directory of app `shop` has no `laravel/framework`
    in `SHOP`: composer install --no-dev
    ");
}

/// The notes about a project, each as a sentence.
fn notes(files: &[(&str, &str)]) -> Vec<String> {
    let app = detected(files, None).expect("an app");
    app.said.expect("it is said").notes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_script_without_its_packages_is_served_with_a_warning() {
    let requires = |more: &str| format!(r#"{{"require": {{"a/b": "1"}}{more}}}"#);
    let plain = requires("");
    let composer = ("composer.json", plain.as_str());
    let index = ("index.php", "<?php");
    let said = notes(&[index, composer]).join("\n");
    assert!(said.contains("`a/b`") && said.contains("vendor/autoload.php"), "{said}");
    let elsewhere = requires(r#", "config": {"vendor-dir": "./lib/"}"#);
    let elsewhere = ("composer.json", elsewhere.as_str());
    assert_eq!(notes(&[index, elsewhere, ("lib/autoload.php", "<?php")]).len(), 0);
    for own in [
        &[("engine/bootstrap.php", "<?php"), ("engine/composer.json", "{}")][..],
        &[("core/vendor/autoload.php", "<?php")],
    ] {
        assert_eq!(notes(&[&[index, composer], own].concat()).len(), 0, "{own:?}");
    }
}

#[test]
fn several_front_controllers_are_named() {
    let said = notes(&[("index.php", "<?php"), ("html/index.php", "<?php")]).join("\n");
    assert!(said.contains("`--docroot html`"), "{said}");
    assert_eq!(notes(&[("index.php", "<?php"), ("admin/index.php", "<?php")]).len(), 0);
}

#[test]
fn an_app_yaml_lies_over_what_is_detected_and_loses_nothing() {
    let composer = ("composer.json", r#"{"require": {"php": "*", "ext-intl": "*"}}"#);
    let index = ("web/index.php", "<?php");
    let without = detected(&[index, composer], None).expect("an app").manifest;
    for yaml in ["", "title: x", "writable: [cache]", "extensions: [gd]", "env: {A: b}"] {
        let app = detected(&[index, composer, ("app.yaml", yaml)], None).expect(yaml);
        let AppManifest { docroot, kind, extensions, writable, .. } = app.manifest;
        assert_eq!((docroot.as_str(), kind), ("web", AppKind::Script), "{yaml}");
        assert!(without.extensions.iter().all(|one| extensions.contains(one)), "{yaml}");
        assert!(without.writable.iter().all(|one| writable.contains(one)), "{yaml}");
        assert_eq!(app.manifest.extensions_if_there, without.extensions_if_there, "{yaml}");
    }
}

/// The app of these files with what a plan or flags say about it.
fn said(files: &[(&str, &str)], settings: AppSettings) -> Result<App, RuntimeError> {
    let (_place, shop) = project(files);
    let choice = AppChoice { settings, ..AppChoice::directory(shop) };
    Catalogue::load(SearchPaths::default()).app(&choice)
}

#[test]
fn a_public_directory_and_a_front_controller_can_be_given() {
    let files = [("upload/shop.php", "<?php"), ("app.yaml", "docroot: nowhere")];
    let given = |docroot: &str, index: Option<&str>| AppSettings {
        docroot: Some(docroot.to_owned()),
        index: index.map(str::to_owned),
        ..AppSettings::default()
    };
    let flag = |settings: AppSettings| settings.said_by(SettingSource::Flag);
    let app = said(&files, flag(given("upload", Some("shop.php")))).expect("an app");
    assert_eq!(
        (app.manifest.docroot.as_str(), app.manifest.index.as_str()),
        ("upload", "shop.php")
    );
    let error = |settings| said(&files, settings).expect_err("not there").to_string();
    insta::assert_snapshot!(error(AppSettings::default()), @"app `shop` has no directory `nowhere` (docroot from `app.yaml`)");
    insta::assert_snapshot!(error(flag(given("upload", None))), @"app `shop` has no `index.php` in `upload` (docroot from a flag)");
    insta::assert_snapshot!(error(flag(given("upload", Some("x.php")))), @"app `shop` has no `x.php` in `upload` (index from a flag)");
    let index = AppSettings { index: Some("shp.php".to_owned()), ..AppSettings::default() };
    let refused = said(&[("shop.php", "<?php")], flag(index)).expect_err("not there").to_string();
    insta::assert_snapshot!(refused, @"app `shop` has no `shp.php` in `.` (index from a flag)");
}

/// A plan must not write into a server's configuration by the name of a directory.
#[test]
fn a_name_that_a_configuration_cannot_have_is_refused() {
    let given = |docroot: &str, index: Option<&str>| AppSettings {
        docroot: Some(docroot.to_owned()),
        index: index.map(str::to_owned),
        ..AppSettings::default()
    };
    let fine = said(&[("my public é/index.php", "<?php")], given("my public é", None));
    assert_eq!(fine.expect("an app").manifest.docroot, "my public é");
    for name in ["a\"b", "a;b", "a{b", "a}b", "a$b", "a\nb", "a%b", "a#b", "a\\b"] {
        let file = format!("{name}/index.php");
        let refused = said(&[(&file, "<?php")], given(name, None)).expect_err(name);
        assert!(matches!(refused, RuntimeError::NotServable { key: "docroot", .. }), "{refused}");
    }
    let files = [("public/x;y.php", "<?php")];
    let flag = given("public", Some("x;y.php")).said_by(SettingSource::Flag);
    let refused = said(&files, flag).expect_err("refused");
    insta::assert_snapshot!(refused, @"app `shop`: `x;y.php` has `;` in it (index from a flag)");
    assert!(refused.hint().is_some_and(|hint| hint.contains("another name")));
}

#[test]
fn a_lone_file_is_an_app() {
    let (_place, shop) = project(&[("page.php", "<?php"), ("big/other.php", "<?php")]);
    let app = app_in(&shop.join("page.php"), None).expect("an app");
    assert_eq!((app.name.as_str(), app.manifest.index.as_str()), ("page.php", "page.php"));
    let copy = shop.with_file_name("copy");
    app.copy_to(&copy, SettingsPaths::Kept).expect("copied");
    assert!(copy.join("page.php").is_file() && !copy.join("big").exists());
    assert!(app_in(&shop.join("big"), None).is_err());
}
