//! Tests that apps are recognised and set up by the files of `frameworks/`, and by a user's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use stampede_plan::model::{AppChoice, RuntimeChoice, RuntimeSource};

use stampede_frameworks::{KnownFramework, read, texts};

use crate::app::App;
use crate::catalogue::{Catalogue, parse};
use crate::dotenv;
use crate::error::RuntimeError;
use crate::locate::SearchPaths;
use crate::spec::app_env;

/// The app of these files, with the frameworks of `own` besides the embedded ones.
fn app(files: &[(&str, &str)], own: &[(&str, &str)]) -> Result<App, RuntimeError> {
    let place = tempfile::tempdir().expect("directory");
    let write = |path: PathBuf, text: &str| {
        fs::create_dir_all(path.parent().expect("parent")).expect("directory");
        fs::write(path, text).expect("file");
    };
    files.iter().for_each(|(file, text)| write(place.path().join("shop").join(file), text));
    let frameworks = place.path().join("frameworks");
    own.iter().for_each(|(name, text)| write(frameworks.join(format!("{name}.yaml")), text));
    let places = SearchPaths { frameworks: vec![frameworks], ..SearchPaths::default() };
    Catalogue::load(places).app(&AppChoice::directory(place.path().join("shop")))
}

#[test]
fn every_framework_is_recognised_by_each_group_of_its_files() {
    let all = read(&texts(&[]), parse).expect("they can be read");
    assert!(all.len() >= 4);
    for known in &all {
        assert!(!known.files.is_empty(), "{}", known.name);
        for docroot in [".", "web"] {
            let index = if docroot == "." { "index.php" } else { "web/index.php" };
            for number in 0..known.files.len() {
                let group = KnownFramework {
                    files: vec![known.files[number].clone()],
                    ..KnownFramework::clone(known)
                };
                let files = group.files_of(docroot, |_| true).expect("a group");
                let version = known.version.as_ref().map(|before| format!("{before}9.8.7"));
                let mut files: Vec<(&str, &str)> = files
                    .iter()
                    .enumerate()
                    .map(|(place, file)| {
                        (
                            file.as_str(),
                            version.as_deref().filter(|_| place == 0).unwrap_or("<?php"),
                        )
                    })
                    .collect();
                files.push((index, "<?php"));
                let text = known
                    .contains
                    .as_ref()
                    .map(|wanted| (wanted.file.as_str(), wanted.text.as_str()));
                files.extend(text);
                let found = app(&files, &[]).expect(&known.name).said.expect("it is said");
                assert_eq!(found.framework.as_ref(), Some(&known.title), "{files:?}");
                assert_eq!(found.kind, known.kind.name(), "{files:?}");
                let version = known.version.as_ref().map(|_| "9.8.7".to_owned());
                assert_eq!(found.version, version, "{files:?}");
            }
        }
    }
}

const SHOP: &str = r#"
title: Shop
files: [["{docroot}/shop.php", core/version.txt]]
env: { SHOP_ENV: live }
mail: { SHOP_MAIL: "off" }
writable: [uploads, var]
caches: [cache]
preload: core/preload.php
prepare:
  - { run: core/warm --all, files: [core/warm] }
  - { run: core/never, packages: [a/b] }
migrations:
  - { run: core/never, php_in: [core/sql] }
  - { run: core/migrate, php_in: [core/tables] }
htaccess: |
  RewriteEngine On
  RewriteRule ^(.+)$ index.php?page=$1 [QSA,L]
"#;

#[test]
fn a_framework_is_data_alone() {
    let files = [
        ("public/index.php", "<?php"),
        ("public/shop.php", "<?php"),
        ("core/version.txt", "1"),
        ("core/warm", "<?php"),
        ("core/preload.php", "<?php"),
        (".env", "SHOP_MAIL=smtp://mail\n"),
    ];
    let plain = app(&files, &[]).expect("an app");
    assert_eq!(plain.said.expect("it is said").framework, None);
    let found = app(&files, &[("shop", SHOP)]).expect("an app");
    let manifest = &found.manifest;
    assert_eq!(found.said.as_ref().expect("it is said").framework.as_deref(), Some("Shop"));
    assert_eq!(manifest.env, [("SHOP_ENV".to_owned(), "live".to_owned())].into());
    assert_eq!(manifest.writable, ["var", "storage", "bootstrap/cache", "uploads"]);
    assert_eq!(manifest.caches, ["cache"]);
    assert_eq!(manifest.preload.as_deref(), Some("core/preload.php"));
    assert_eq!(manifest.prepare.as_deref(), Some("core/warm --all"));
}

#[test]
fn a_framework_of_the_user_replaces_an_embedded_one() {
    let files = [("index.php", "<?php"), ("wp-includes/version.php", "")];
    let own = ("wordpress", "title: Our WordPress\nfiles: [[wp-includes/version.php]]\n");
    let found = app(&files, &[own]).expect("an app").said.expect("it is said");
    assert_eq!((found.framework.as_deref(), found.version), (Some("Our WordPress"), None));
}

#[test]
fn a_mistake_in_a_file_is_named_with_its_place() {
    let index = [("index.php", "<?php")];
    for (text, wanted) in [
        ("title: A\nfile: [[a]]\n", "unknown field `file`"),
        ("files: [[a]]\n", "field `title` is missing"),
        ("title: A\nkind: wordpres\n", "unknown value `wordpres`"),
    ] {
        let error = app(&index, &[("shop", text)]).expect_err(text).to_string();
        assert!(error.contains("shop.yaml") && error.contains(wanted), "{error}");
    }
}

/// The directory is gone when an app is looked at again, so rules and migrations have a test of their own.
#[test]
fn rules_and_migrations_of_a_framework_are_used_where_the_app_has_none_of_its_own() {
    let place = tempfile::tempdir().expect("directory");
    let write = |file: &str, text: &str| {
        let path = place.path().join(file);
        fs::create_dir_all(path.parent().expect("parent")).expect("directory");
        fs::write(path, text).expect("file");
    };
    write("shop/index.php", "<?php");
    write("shop/shop.php", "<?php");
    write("shop/core/version.txt", "1");
    write("shop/core/tables/one.php", "<?php");
    write("shop/.env", "SHOP_MAIL=smtp://mail\n");
    write("frameworks/shop.yaml", SHOP);
    let places =
        SearchPaths { frameworks: vec![place.path().join("frameworks")], ..SearchPaths::default() };
    let catalogue = Catalogue::load(places);
    let app = || catalogue.app(&AppChoice::directory(place.path().join("shop"))).expect("an app");
    let found = app();
    let migrations = crate::process::preparation::migrations(&found);
    assert_eq!(migrations.as_deref(), Some("core/migrate"));
    let said = found.directory_notice(&[]).expect("rules are said").to_string();
    assert!(said.contains('1'), "{said}");
    let choice = RuntimeChoice {
        name: "nginx-fpm".to_owned(),
        source: RuntimeSource::Catalogue("nginx-fpm".to_owned()),
        settings: BTreeMap::new(),
        php_ini: BTreeMap::new(),
        env: BTreeMap::new(),
        images: None,
        as_today: None,
    };
    assert_eq!(app_env(&found, &choice).get("SHOP_MAIL").map(String::as_str), Some("off"));
    let notices = dotenv::env_notices(&catalogue, &found, &choice);
    assert!(notices.iter().any(|one| one.to_string().contains("SHOP_MAIL")), "{notices:?}");
    write("shop/.htaccess", "Options -Indexes\n");
    assert_ne!(app().directory_notice(&[]).map(|one| one.to_string()), Some(said));
}
