//! Reads the apps of a plan: names of the catalogue, or directories.

use std::path::Path;

use stampede_model::app_kind::AppKind;

use super::error::{Mistake, PlanError};
use super::keys::APP;
use super::model::AppChoice;
use super::read::{path, required};
use super::tree::{Node, Value};
use super::value::{Fields, items, name_of, not_a, text};

/// Most apps in one plan.
pub(super) const APPS_MAX: usize = 100;

/// Reads the apps: one in `app`, or several in `apps`.
pub(super) fn apps(
    root: &Node,
    fields: &Fields<'_>,
    home: Option<&Path>,
) -> Result<Vec<AppChoice>, PlanError> {
    let Some(list) = fields.get("apps") else {
        return Ok(vec![app(required(root, fields, "app")?, home)?]);
    };
    let list_items = items(list, "a list of apps, such as `[laravel, lumen]`")?;
    if list_items.is_empty() || list_items.len() > APPS_MAX {
        let mistake = Mistake::TooMany { kind: "apps", found: list_items.len() };
        let empty = Mistake::NotA { found: "an empty list".to_owned(), wanted: "a list of apps" };
        let mistake = if list_items.is_empty() { empty } else { mistake };
        return Err(list.place.wrong(mistake, "1 to 100 apps"));
    }
    let mut all: Vec<AppChoice> = Vec::new();
    for item in list_items {
        let app = app(item, home)?;
        if all.contains(&app) {
            let name = item.get("path").unwrap_or(item).text().unwrap_or("").to_owned();
            return Err(item.place.wrong(Mistake::Twice { kind: "apps", name }, "each app once"));
        }
        all.push(app);
    }
    Ok(all)
}

/// Reads an app: a directory if it contains `/` or begins with `.` or `~`, else a name of the
/// catalogue. A map holds a directory and its kind.
fn app(node: &Node, home: Option<&Path>) -> Result<AppChoice, PlanError> {
    const EXPECTED: &str =
        "an app's name such as `hello`, or a directory such as `~/shop` or `./shop`";
    if let Value::Map(_) = node.value {
        return own_app(node, home);
    }
    let name = text(node, "an app", EXPECTED)?;
    if name.contains('\0') {
        return Err(not_a(node, "an app", EXPECTED));
    }
    match is_directory(name) {
        true => path(node, name, home).map(AppChoice::Directory),
        false => Ok(AppChoice::Named(name.to_owned())),
    }
}

/// Whether an app's text means a directory rather than a name of the catalogue.
pub(super) fn is_directory(text: &str) -> bool {
    text.contains('/') || text.starts_with(['.', '~'])
}

/// Reads `{path: ~/shop, kind: script}`.
fn own_app(node: &Node, home: Option<&Path>) -> Result<AppChoice, PlanError> {
    const EXPECTED: &str = "the directory of a project, such as `{path: ~/shop, kind: script}`";
    let fields = Fields::of(node, &APP)?;
    let missing = || node.place.wrong(Mistake::Missing("path"), EXPECTED);
    let directory = fields.get("path").ok_or_else(missing)?;
    let directory = path(directory, text(directory, "a directory", EXPECTED)?, home)?;
    let Some(kind) = fields.get("kind") else { return Ok(AppChoice::Directory(directory)) };
    let name = name_of(kind, "kind of app", &AppKind::ALL.map(AppKind::name))?;
    let kind = AppKind::ALL.into_iter().find(|kind| kind.name() == name);
    Ok(kind.map_or(AppChoice::Directory(directory.clone()), |kind| AppChoice::DirectoryAs {
        directory,
        kind,
    }))
}
