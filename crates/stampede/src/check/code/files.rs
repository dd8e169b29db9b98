//! Which files of an app are looked at.

use std::fs;
use std::io;
use std::path::Path;

use crate::plan::model::AppKind;

/// Shows the paths of all files that are looked at, from the app's directory, in a fixed order.
/// Gives the directories that cannot be read.
pub(super) fn each(
    app: &Path,
    kind: AppKind,
    mut show: impl FnMut(&str),
) -> Vec<(String, io::Error)> {
    let mut closed = Vec::new();
    let mut waiting = vec![String::new()];
    while let Some(path) = waiting.pop() {
        if !path.is_empty() && !path.ends_with('/') {
            show(&path);
            continue;
        }
        let mut entries = match entries(&app.join(&path)) {
            Ok(entries) => entries,
            Err(why) => {
                closed.push((path, why));
                continue;
            }
        };
        entries.retain(|name| match name.strip_suffix('/') {
            Some(directory) => enters(&path, directory, kind),
            None => reads(&path, name, kind),
        });
        // The first is taken next.
        entries.sort_by(|a, b| b.cmp(a));
        waiting.extend(entries.into_iter().map(|name| format!("{path}{name}")));
    }
    closed
}

/// Names in a directory, those of directories with a `/`. Symbolic links are left out: what they
/// lead to is looked at where it lies, or is not the app's.
fn entries(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(mut name) = entry.file_name().into_string() else { continue };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            name.push('/');
        } else if !kind.is_file() {
            continue;
        }
        names.push(name);
    }
    Ok(names)
}

/// Whether requests come by what a directory has. `above` is empty, or ends with a `/`.
fn enters(above: &str, directory: &str, kind: AppKind) -> bool {
    let anywhere = ["vendor", "node_modules", "tests", "Tests", "test", "Test", "__tests__"];
    if directory.starts_with('.')
        || anywhere.contains(&directory)
        || MIGRATIONS.contains(&directory)
    {
        return false;
    }
    // Caches and uploads of WordPress lie one deeper.
    if above.is_empty() || above == "wp-content/" {
        let written = ["var", "storage", "cache", "uploads", "upgrade"];
        if written.contains(&directory) && !(directory == "uploads" && above.is_empty()) {
            return false;
        }
    }
    let boot = match kind {
        AppKind::Symfony => &["bin", "config", "public", "translations"][..],
        AppKind::Laravel | AppKind::Lumen => {
            &["bootstrap", "config", "database", "lang", "public", "Console"]
        }
        AppKind::Psr15 => &["bin", "config", "public"],
        AppKind::Callable => &["bin", "public"],
        AppKind::Script => &[],
    };
    let is_top = above.is_empty() || (above == "app/" && directory == "Console");
    !(is_top && boot.contains(&directory))
}

/// Whether a file is PHP that requests come by.
fn reads(above: &str, name: &str, kind: AppKind) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_php = ENDINGS.iter().any(|php| ending.eq_ignore_ascii_case(php));
    if !is_php || name.starts_with('.') || name.ends_with(".blade.php") {
        return false;
    }
    // At the top of a framework's app: what boots it, and tools' own configuration.
    let is_boot = above.is_empty() && kind != AppKind::Script && BOOT.contains(&name);
    !is_boot && !name.starts_with("_ide_helper") && !name.ends_with("Test.php")
}

/// Endings of files that have PHP in them.
const ENDINGS: &[&str] = &["php", "phtml", "inc", "module", "theme"];
const MIGRATIONS: &[&str] =
    &["migrations", "Migrations", "DataFixtures", "fixtures", "Fixtures", "seeders", "seeds"];
const BOOT: &[&str] = &[
    "autoload.php",
    "deploy.php",
    "ecs.php",
    "index.php",
    "prepare.php",
    "preload.php",
    "rector.php",
    "server.php",
];
