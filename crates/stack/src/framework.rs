//! Finds the frameworks that an app is written for, and their versions: in its own vendor
//! directory, or in the distribution's packages.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::app::App;
use super::app_manifest::{Framework, VersionIn};
use super::error::RuntimeError;
use super::locate::SearchPaths;

/// Each framework of the app with its version. If the app has a vendor directory, it runs with the
/// frameworks in there, whatever else is installed.
///
/// # Errors
/// One error with all frameworks that were not found.
pub(super) fn versions(
    app: &App,
    places: &SearchPaths,
) -> Result<BTreeMap<String, String>, RuntimeError> {
    let mut found = BTreeMap::new();
    let mut missing = Vec::new();
    for (name, need) in &app.manifest.needs {
        match version(app, need) {
            Some(version) => {
                found.insert(name.clone(), version);
            }
            None => missing.push(need),
        }
    }
    let packages: Vec<String> = missing.iter().map(|need| need.package.clone()).collect();
    let name = app.name.clone();
    match packages.is_empty() {
        true => Ok(found),
        false if app.file(AUTOLOAD).is_some() => {
            let command = composer(app, &packages);
            let directory = app.path().unwrap_or(Path::new(".")).to_path_buf();
            Err(RuntimeError::LacksPackages { app: name, directory, packages, command })
        }
        false => {
            let install = install(&missing, &places.family);
            Err(RuntimeError::NoFramework { app: name, packages, install })
        }
    }
}

/// The directories of the distribution from which the app takes frameworks: `/usr/share/php`.
pub(super) fn distribution_directories(app: &App) -> BTreeSet<PathBuf> {
    let directory = |file: &Path| -> PathBuf { file.components().take(DIRECTORY_DEPTH).collect() };
    let files = app.manifest.needs.values().filter_map(|need| distribution_file(app, need));
    files.map(directory).filter(|path| path.is_dir()).collect()
}

/// The file of the distribution that shows that a framework is there; `None`: the app brings it.
fn distribution_file<'a>(app: &App, need: &'a Framework) -> Option<&'a Path> {
    let file = need.file.as_deref().filter(|file| file.is_absolute())?;
    let is_own = need.own.as_ref().is_some_and(|own| app.file(own).is_some());
    (!is_own && app.file(AUTOLOAD).is_none()).then_some(file)
}

/// The command that installs packages into a vendor directory. If composer.json already requires
/// all of them, they are only not installed yet.
fn composer(app: &App, packages: &[String]) -> String {
    let file = app.file("composer.json").unwrap_or_default();
    let composer: Value = serde_json::from_slice(&file).unwrap_or_default();
    match packages.iter().all(|package| composer["require"].get(package).is_some()) {
        true => "composer install --no-dev".to_owned(),
        false => format!("composer require {}", packages.join(" ")),
    }
}

/// The command that installs the distribution's packages; `None`: no such command is known.
fn install(missing: &[&Framework], family: &[String]) -> Option<String> {
    let known = |family: &&String| missing.iter().all(|need| need.install.contains_key(*family));
    let family = family.iter().find(known)?;
    let packages: Vec<&str> = missing
        .iter()
        .flat_map(|need| need.install[family].packages.iter().map(String::as_str))
        .collect();
    let packages = packages.join(" ");
    match family.as_str() {
        "debian" => Some(format!("apt-get install --no-install-recommends {packages}")),
        _ => None,
    }
}

/// The version of a framework, with a mark of its source; empty: the framework is there without a
/// version. `None`: it was not found.
pub(super) fn version(app: &App, need: &Framework) -> Option<String> {
    let own = need.file.as_deref().is_some_and(Path::is_relative);
    if !own && app.file(AUTOLOAD).is_some() {
        let found = app.has_package(&need.package);
        return found.then(|| in_vendor(app, &need.package).unwrap_or_default() + " (vendor)");
    }
    if let Some(text) = need.own.as_ref().and_then(|own| app.file(own)) {
        let text = String::from_utf8_lossy(&text).into_owned();
        let said = need.version.as_ref().and_then(|place| after(&text, &place.after));
        return Some(said.unwrap_or_default() + " (own)");
    }
    text(app, need.file.as_deref()?)?;
    let said = |place: &VersionIn| after(&text(app, &place.file)?, &place.after);
    Some(need.version.as_ref().and_then(said).unwrap_or_default())
}

/// The text of a file: an absolute path on the machine, or a path relative to the app.
fn text(app: &App, file: &Path) -> Option<String> {
    let bytes = match file.is_absolute() {
        true => std::fs::read(file).ok()?,
        false => app.file(file.to_str()?)?,
    };
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The version of a package in Composer's list.
fn in_vendor(app: &App, package: &str) -> Option<String> {
    let installed: Value = serde_json::from_slice(&app.file(INSTALLED)?).ok()?;
    // In Composer 1, the file is the list itself.
    let packages = installed["packages"].as_array().or(installed.as_array())?;
    let found = packages.iter().find(|one| one["name"] == package)?;
    Some(found["version"].as_str()?.trim_start_matches('v').to_owned())
}

/// The version that follows `before` in a text.
fn after(text: &str, before: &str) -> Option<String> {
    let (_, rest) = text.split_once(before)?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !".-+".contains(c));
    Some(rest[..end.unwrap_or(rest.len())].to_owned())
}

/// How deep the directory of a distribution is: `/`, `usr`, `share`, `php`.
const DIRECTORY_DEPTH: usize = 4;
/// The file which shows that Composer has filled the vendor directory.
pub(super) const AUTOLOAD: &str = "vendor/autoload.php";
/// Composer's list of the installed packages.
const INSTALLED: &str = "vendor/composer/installed.json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_ends_at_the_first_character_that_cannot_be_part_of_it() {
        let constant = "public const VERSION = '6.4.21';\n";
        assert_eq!(after(constant, "const VERSION = '").as_deref(), Some("6.4.21"));
        let lumen = "return 'Lumen (10.0.4) (Laravel Components ^10.0)';";
        assert_eq!(after(lumen, "'Lumen (").as_deref(), Some("10.0.4"));
        assert_eq!(after(lumen, "VERSION"), None);
    }
}
