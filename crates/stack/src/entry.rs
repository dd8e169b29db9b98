//! Finds the file through which a runtime that keeps the app in memory enters it.

use serde_json::Value;
use stampede_model::app_kind::AppKind;

use super::app::App;
use super::setting::Settings;

/// The file of the app's directory through which an app of `kind` is entered; `None`: there is no
/// such file.
pub(super) const fn file(kind: AppKind) -> Option<&'static str> {
    match kind {
        AppKind::Callable | AppKind::Psr15 => Some("handler.php"),
        AppKind::Laravel | AppKind::Lumen => Some("bootstrap/app.php"),
        AppKind::Symfony => Some(KERNEL),
        AppKind::Script => None,
    }
}

/// The entry file that `app` lacks; `None`: the app has it, or this cannot be told.
pub(super) fn missing_entry_file(app: &App, settings: &Settings) -> Option<&'static str> {
    let kind = app.manifest.kind;
    let entry = file(kind)?;
    let is_there = match kind {
        AppKind::Symfony => {
            // With this adapter the front controller makes the kernel, and every app has one.
            let adapter = settings.values.get("adapter");
            adapter.is_some_and(|adapter| adapter == "symfony-runtime") || has_kernel(app)
        }
        _ => app.file(entry).is_some(),
    };
    (!is_there).then_some(entry)
}

/// The file that Symfony's recipe creates, with the class that workers instantiate.
const KERNEL: &str = "src/Kernel.php";
/// Composer's map of all classes, if Composer was asked to write it.
const MAP: &str = "vendor/composer/autoload_classmap.php";

/// Whether there is an `App\Kernel`: in its usual file, in the directories of the namespace `App\`
/// in composer.json, or in Composer's class map.
fn has_kernel(app: &App) -> bool {
    let has = |file: &str| app.file(file).is_some();
    // An app with an `autoload.php` of its own may find the class anywhere, so it counts as there.
    if has(KERNEL) || has("autoload.php") {
        return true;
    }
    let text =
        |file: &str| String::from_utf8_lossy(&app.file(file).unwrap_or_default()).into_owned();
    let composer: Value = serde_json::from_str(&text("composer.json")).unwrap_or_default();
    let directories = match &composer["autoload"]["psr-4"]["App\\"] {
        Value::String(directory) => vec![directory.as_str()],
        all => all.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
    };
    let is_in = |directory: &str| {
        let file = format!("{}/Kernel.php", directory.trim_end_matches('/'));
        has(file.trim_start_matches("./").trim_start_matches('/'))
    };
    directories.into_iter().any(is_in) || text(MAP).contains(r"'App\\Kernel'")
}

#[cfg(test)]
mod tests {
    use stampede_plan::model::AppChoice;

    use super::*;
    use crate::{Catalogue, SearchPaths};

    /// What a project of these files lacks for workers to enter it.
    fn missing_for(files: &[(&str, &str)], adapter: &str) -> Option<&'static str> {
        let place = tempfile::tempdir().expect("directory");
        let shop = place.path().join("shop");
        for (file, text) in files {
            let path = shop.join(file);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("directory");
            std::fs::write(path, text).expect("file");
        }
        let app =
            Catalogue::load(SearchPaths::default()).app(&AppChoice::directory(shop)).expect("app");
        let values = [("adapter".to_owned(), adapter.into())].into();
        missing_entry_file(&app, &Settings { values, ..Settings::default() })
    }

    #[test]
    fn a_kernel_is_found_where_composer_would_find_it() {
        let in_directory = |directory: &str| {
            format!(r#"{{"autoload": {{"psr-4": {{"App\\": {directory}, "Other\\": "lib/"}}}}}}"#)
        };
        let project = |composer: &str, more: (&str, &str)| {
            let index = ("public/index.php", "<?php");
            let files = [index, ("bin/console", ""), ("config/bundles.php", "<?php")];
            missing_for(&[&files[..], &[("composer.json", composer), more]].concat(), "own")
        };
        let kernel = "<?php namespace App; class Kernel {}";
        let (src, none) = (in_directory("\"src/\""), ("readme", ""));
        assert_eq!(project(&src, none), Some("src/Kernel.php"));
        assert_eq!(project(&src, ("src/Kernel.php", kernel)), None);
        assert_eq!(project(&src, ("lib/Kernel.php", kernel)), Some("src/Kernel.php"));
        assert_eq!(project(&in_directory("[\"x\", \"./app/\"]"), ("app/Kernel.php", kernel)), None);
        assert_eq!(project(&in_directory("\"\""), ("Kernel.php", kernel)), None);
        let map = "<?php return ['App\\\\Kernel' => $baseDir . '/core/Kernel.php'];";
        assert_eq!(project(&src, ("vendor/composer/autoload_classmap.php", map)), None);
        // An autoloader of the app may find the class anywhere.
        assert_eq!(project(&src, ("autoload.php", "<?php")), None);
    }

    #[test]
    fn entry_files_of_other_kinds_are_found_or_missing() {
        let index = ("public/index.php", "<?php");
        let symfony = [index, ("bin/console", ""), ("config/bundles.php", "<?php")];
        assert_eq!(missing_for(&symfony, "own"), Some("src/Kernel.php"));
        assert_eq!(missing_for(&symfony, "symfony-runtime"), None);
        let laravel = r#"{"require": {"laravel/framework": "*"}}"#;
        let laravel = [index, ("composer.json", laravel), ("vendor/autoload.php", "<?php")];
        assert_eq!(missing_for(&laravel, "own"), Some("bootstrap/app.php"));
        let whole = [&laravel[..], &[("bootstrap/app.php", "<?php")]].concat();
        assert_eq!(missing_for(&whole, "own"), None);
        assert_eq!(missing_for(&[index], "own"), None);
    }
}
