//! Chooses the files of an app that are read.

use std::fs;
use std::io;
use std::path::Path;

use stampede_model::app_kind::AppKind;

/// Passes the path of each file to read to `show`, relative to the app's directory, in a fixed
/// order. Returns the directories that cannot be read, with the reasons.
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
        // The entries are reversed, because the last one is taken first.
        entries.sort_by(|a, b| b.cmp(a));
        waiting.extend(entries.into_iter().map(|name| format!("{path}{name}")));
    }
    closed
}

/// Returns the names in a directory; those of directories end with `/`. Symbolic links are left
/// out: their targets are read where they are, or do not belong to the app.
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

/// Returns whether requests may run code in a directory. `above` is empty or ends with a `/`.
fn enters(above: &str, directory: &str, kind: AppKind) -> bool {
    let anywhere = ["vendor", "node_modules", "tests", "Tests", "test", "Test", "__tests__"];
    if directory.starts_with('.')
        || anywhere.contains(&directory)
        || MIGRATIONS.contains(&directory)
    {
        return false;
    }
    // WordPress's caches and uploads are one level deeper.
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

/// Returns whether a file is PHP that requests may run.
fn reads(above: &str, name: &str, kind: AppKind) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_php = ENDINGS.iter().any(|php| ending.eq_ignore_ascii_case(php));
    if !is_php || name.starts_with('.') || name.ends_with(".blade.php") {
        return false;
    }
    // At the top of a framework's app, such files boot it or configure tools.
    let is_boot = above.is_empty() && kind != AppKind::Script && BOOT.contains(&name);
    !is_boot && !name.starts_with("_ide_helper") && !name.ends_with("Test.php")
}

/// Extensions of files that contain PHP.
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
