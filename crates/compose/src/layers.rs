//! Lays files of a compose project together, as the compose tools do: what they include, extend and read
//! variables from.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// The most files that one file may lead to.
const FILES_MAX: usize = 60;
/// How far services may extend one another.
const DEPTH_MAX: usize = 8;

/// Adds the services of the files that a project in `directory` includes.
pub(crate) fn include(directory: &Path, document: &mut Map<String, Value>) {
    let listed = document.remove("include").unwrap_or_default();
    for entry in listed.as_array().into_iter().flatten().take(FILES_MAX) {
        // Of several paths, a later file overrides the ones before.
        let paths = if entry["path"].is_null() { entry } else { &entry["path"] };
        let mut whole = Map::new();
        for path in texts(paths) {
            if let Some(included) = read(&directory.join(path)) {
                merge(&mut whole, &included);
            }
        }
        merge(&mut whole, document);
        *document = whole;
    }
}

/// Completes services that extend others, of the same file or of another one.
pub(crate) fn extend(directory: &Path, document: &mut Map<String, Value>) {
    let whole = document.clone();
    let Some(Value::Object(services)) = document.get_mut("services") else { return };
    for service in services.values_mut() {
        if let Some(full) = extended(directory, &whole, service, DEPTH_MAX) {
            *service = full;
        }
    }
}

/// A service over the one that it extends. `None`: it extends none that can be read.
fn extended(
    directory: &Path,
    document: &Map<String, Value>,
    service: &Value,
    depth: usize,
) -> Option<Value> {
    let extends = service.get("extends")?;
    let name = extends.as_str().or_else(|| extends["service"].as_str())?;
    let depth = depth.checked_sub(1)?;
    let file = extends["file"].as_str().map(|file| directory.join(file));
    let other = file.as_deref().and_then(read);
    let (document, directory) = match (&file, &other) {
        (Some(file), Some(other)) => (other, file.parent()?),
        (Some(_), None) => return None,
        (None, _) => (document, directory),
    };
    let base = document.get("services")?.get(name)?;
    let full = extended(directory, document, base, depth);
    let Value::Object(mut full) = full.unwrap_or_else(|| base.clone()) else { return None };
    let mut own = service.as_object()?.clone();
    own.remove("extends");
    full.remove("extends");
    merge(&mut full, &own);
    Some(Value::Object(full))
}

/// Adds the variables of the files that services name, where a service does not set them itself.
pub(crate) fn add_env_files(directory: &Path, document: &mut Map<String, Value>) {
    let Some(Value::Object(services)) = document.get_mut("services") else { return };
    for service in services.values_mut().filter_map(Value::as_object_mut) {
        let listed = service.remove("env_file").unwrap_or_default();
        let mut all = Map::new();
        for path in texts(&listed) {
            let found = dotenvy::from_path_iter(directory.join(path)).into_iter().flatten();
            let pairs = found.flatten().map(|(name, value)| (name, Value::String(value)));
            all.extend(pairs.take(1_000));
        }
        if !all.is_empty() {
            let own = service.get("environment").cloned().unwrap_or_default();
            all.extend(crate::edit::variables(&own));
            service.insert("environment".to_owned(), Value::Object(all));
        }
    }
}

/// Paths in each form that compose files have for them: one, a list, and with options.
fn texts(value: &Value) -> Vec<PathBuf> {
    let one = |value: &Value| value.as_str().or_else(|| value["path"].as_str()).map(PathBuf::from);
    match value {
        Value::Array(list) => list.iter().filter_map(one).take(FILES_MAX).collect(),
        other => one(other).into_iter().collect(),
    }
}

fn read(path: &Path) -> Option<Map<String, Value>> {
    match serde_saphyr::from_str(&fs::read_to_string(path).ok()?).ok()? {
        Value::Object(document) => Some(document),
        _ => None,
    }
}

/// Lays one document over another as the compose tools do: maps key by key, lists one behind the
/// other, variables by their names.
pub(crate) fn merge(to: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (to.get_mut(key), value) {
            (Some(known), _) if key == "environment" || key == "args" => {
                let mut all = crate::edit::variables(known);
                all.extend(crate::edit::variables(value));
                *known = Value::Object(all.into_iter().collect());
            }
            (Some(Value::Object(known)), Value::Object(value)) => merge(known, value),
            (Some(Value::Array(known)), Value::Array(value)) => {
                known.extend(value.iter().cloned());
            }
            (Some(_), Value::Null) => {}
            (_, value) => {
                to.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, text).expect("a file");
        }
        place
    }

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().expect("a map").clone()
    }

    #[test]
    fn included_files_are_laid_below_the_own_one() {
        let place = place(&[
            ("a.yml", "services: {web: {image: nginx, ports: ['80:80']}}"),
            ("b.yml", "services: {php: {image: php}}"),
            ("b.prod.yml", "services: {php: {image: 'php:8.4-fpm'}}"),
        ]);
        let mut document = map(json!({
            "include": ["a.yml", {"path": ["b.yml", "b.prod.yml"]}, {"path": "none.yml"}],
            "services": {"web": {"image": "nginx:1.29"}},
        }));
        include(place.path(), &mut document);
        let expected = json!({"services": {
            "web": {"image": "nginx:1.29", "ports": ["80:80"]}, "php": {"image": "php:8.4-fpm"},
        }});
        assert_eq!(Value::Object(document), expected);
    }

    #[test]
    fn services_extend_others_of_this_file_and_of_another() {
        let place = place(&[(
            "base/common.yml",
            "services: {php: {image: php, environment: [A=1], extends: root}, root: {user: www}}",
        )]);
        let mut document = map(json!({"services": {
            "web": {"extends": {"service": "php"}, "ports": ["80:80"]},
            "php": {"extends": {"file": "base/common.yml", "service": "php"}, "environment": {"B": "2"}},
            "loop": {"extends": "loop", "image": "x"},
            "gone": {"extends": {"file": "none.yml", "service": "x"}, "image": "y"},
        }}));
        extend(place.path(), &mut document);
        let services = &document["services"];
        let php = json!({"image": "php", "user": "www", "environment": {"A": "1", "B": "2"}});
        assert_eq!(services["php"], php);
        let web = json!({"image": "php", "user": "www", "environment": {"A": "1", "B": "2"}, "ports": ["80:80"]});
        assert_eq!(services["web"], web);
        assert_eq!(
            (&services["loop"]["image"], &services["gone"]["image"]),
            (&json!("x"), &json!("y"))
        );
    }

    #[test]
    fn variables_of_files_are_below_those_of_the_service() {
        let place = place(&[("a.env", "APP_ENV=dev\nAPP_DEBUG='1'\n"), ("b.env", "APP_DEBUG=0\n")]);
        let mut document = map(json!({"services": {
            "one": {"env_file": "a.env", "environment": ["APP_ENV=prod"]},
            "more": {"env_file": ["a.env", {"path": "b.env", "required": false}, "none.env"]},
            "none": {"env_file": "none.env"},
        }}));
        add_env_files(place.path(), &mut document);
        let services = &document["services"];
        assert_eq!(services["one"]["environment"], json!({"APP_ENV": "prod", "APP_DEBUG": "1"}));
        assert_eq!(services["more"]["environment"], json!({"APP_ENV": "dev", "APP_DEBUG": "0"}));
        assert_eq!(services["none"], json!({}));
    }
}
