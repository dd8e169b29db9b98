//! Reads files of a compose project and lays them together, as the compose tools do: what they include,
//! extend and read variables from.

use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

/// The most files that one file may lead to.
const FILES_MAX: usize = 60;
/// How far files may include, and services extend, one another.
const DEPTH_MAX: usize = 8;
/// The most bytes of a file that is read: the longest known has 0.1 MB.
const BYTES_MAX: u64 = 1 << 20;

/// A compose file with what it includes and extends. Its own paths stay as they are. `None`: it is none.
pub(crate) fn load(path: &Path) -> Option<Map<String, Value>> {
    loaded(path, &[])
}

/// `chain`: the files that led to this one.
fn loaded(path: &Path, chain: &[PathBuf]) -> Option<Map<String, Value>> {
    let real = path.canonicalize().ok()?;
    if chain.contains(&real) || chain.len() >= DEPTH_MAX {
        return None;
    }
    let chain = &[chain, &[real]].concat();
    let Value::Object(mut document) = serde_saphyr::from_str(&text(path)?).ok()? else {
        return None;
    };
    let services = document.get_mut("services").and_then(Value::as_object_mut);
    for service in services.into_iter().flatten().filter_map(|(_, one)| one.as_object_mut()) {
        if let Some(listed) = service.get_mut("env_file") {
            *listed = paths(listed).collect();
        }
    }
    let directory = path.parent()?;
    include(directory, &mut document, chain);
    extend(directory, &mut document, chain);
    Some(document)
}

/// The same of another file, whose paths begin at its own directory.
fn other(path: &Path, chain: &[PathBuf]) -> Option<Map<String, Value>> {
    let mut document = loaded(path, chain)?;
    absolute_paths(&mut document, path.parent()?);
    Some(document)
}

/// The text of a file of ordinary size.
fn text(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    (found.is_file() && found.len() <= BYTES_MAX).then(|| fs::read_to_string(path).ok()).flatten()
}

/// The variables of an environment file, in its order. None if it cannot be read.
pub(crate) fn variables_of_file(path: &Path) -> Vec<(String, String)> {
    // A path of a directory would be read for ever.
    let text = text(path).unwrap_or_default();
    dotenvy::from_read_iter(text.as_bytes()).flatten().collect()
}

/// Adds the services of the files that a file in `directory` includes.
fn include(directory: &Path, document: &mut Map<String, Value>, chain: &[PathBuf]) {
    let listed = document.remove("include").unwrap_or_default();
    for entry in listed.as_array().into_iter().flatten().take(FILES_MAX) {
        // Of several paths, a later file overrides the ones before.
        let listed = if entry["path"].is_null() { entry } else { &entry["path"] };
        let mut whole = Map::new();
        for path in paths(listed) {
            if let Some(included) = other(&directory.join(path), chain) {
                merge(&mut whole, &included);
            }
        }
        merge(&mut whole, document);
        *document = whole;
    }
}

/// Completes services that extend others, of the same file or of another one.
fn extend(directory: &Path, document: &mut Map<String, Value>, chain: &[PathBuf]) {
    let whole = document.clone();
    let Some(Value::Object(services)) = document.get_mut("services") else { return };
    for service in services.values_mut() {
        if let Some(full) = extended(directory, &whole, service, chain, DEPTH_MAX) {
            *service = full;
        }
    }
}

/// A service over the one that it extends. `None`: it extends none that can be read.
fn extended(
    directory: &Path,
    document: &Map<String, Value>,
    service: &Value,
    chain: &[PathBuf],
    depth: usize,
) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let extends = service.get("extends")?;
    let name = extends.as_str().or_else(|| extends["service"].as_str())?;
    let base = match extends["file"].as_str() {
        Some(file) => other(&directory.join(file), chain)?.get("services")?.get(name)?.clone(),
        None => {
            let base = document.get("services")?.get(name)?;
            extended(directory, document, base, chain, depth).unwrap_or_else(|| base.clone())
        }
    };
    let Value::Object(mut full) = base else { return None };
    let mut own = service.as_object()?.clone();
    own.remove("extends");
    full.remove("extends");
    merge(&mut full, &own);
    Some(Value::Object(full))
}

/// Adds the variables of the files that services name, where a service does not set them itself. Their paths
/// are absolute.
pub(crate) fn add_env_files(document: &mut Map<String, Value>) {
    let Some(Value::Object(services)) = document.get_mut("services") else { return };
    for service in services.values_mut().filter_map(Value::as_object_mut) {
        let listed = service.remove("env_file").unwrap_or_default();
        let files = paths(&listed).map(PathBuf::from);
        let of_files = files.flat_map(|file| variables_of_file(&file));
        let mut all: Map<String, Value> =
            of_files.map(|(name, value)| (name, Value::String(value))).collect();
        if !all.is_empty() {
            let own = service.get("environment").cloned().unwrap_or_default();
            all.extend(crate::edit::variables(&own));
            service.insert("environment".to_owned(), Value::Object(all));
        }
    }
}

/// Paths in each form that compose files have for them: one, a list, and with options.
fn paths(value: &Value) -> impl Iterator<Item = String> {
    let one = |value: &Value| value.as_str().or_else(|| value["path"].as_str()).map(str::to_owned);
    let all: Vec<String> = match value {
        Value::Array(list) => list.iter().filter_map(one).take(FILES_MAX).collect(),
        other => one(other).into_iter().collect(),
    };
    all.into_iter()
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

/// Mounted paths, those of builds and of files of variables become those of the machine, so that what is in
/// them is seen. One that begins with a variable is left.
pub(crate) fn absolute_paths(document: &mut Map<String, Value>, base: &Path) {
    // Without dots and without a slash at the end, as the compose tools print them.
    let absolute = |source: &str| -> String {
        let joined = base.join(source);
        let parts = joined.components().filter(|part| *part != Component::CurDir);
        parts.collect::<PathBuf>().display().to_string()
    };
    let Some(Value::Object(services)) = document.get_mut("services") else { return };
    for service in services.values_mut() {
        let is_path = |text: &str| !text.contains("://") && !text.starts_with('$');
        if let Some(context) = build_context(service).filter(|context| is_path(context)) {
            *context = absolute(context);
        }
        for file in service.get_mut("env_file").and_then(Value::as_array_mut).into_iter().flatten()
        {
            *file = Value::from(
                file.as_str()
                    .map(|file| if is_path(file) { absolute(file) } else { file.to_owned() }),
            );
        }
        let Some(Value::Array(mounts)) = service.get_mut("volumes") else { continue };
        for mount in mounts {
            match mount {
                Value::String(short) if short.starts_with('.') => {
                    let (source, rest) = short.split_once(':').unwrap_or((short, ""));
                    *short = format!("{}:{rest}", absolute(source));
                }
                Value::Object(long) => {
                    if let Some(Value::String(source)) = long.get_mut("source")
                        && source.starts_with('.')
                    {
                        *source = absolute(source);
                    }
                }
                _ => {}
            }
        }
    }
}

/// The directory that an image of a service is built from.
fn build_context(service: &mut Value) -> Option<&mut String> {
    let build = match service.get_mut("build")? {
        Value::Object(build) => build.get_mut("context")?,
        short => short,
    };
    match build {
        Value::String(context) => Some(context),
        _ => None,
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
            (
                "compose.yml",
                "include: [a.yml, {path: [php/b.yml, php/b.prod.yml]}, {path: none.yml}]\n\
                services: {web: {image: 'nginx:1.29'}}",
            ),
            ("a.yml", "services: {web: {image: nginx, ports: ['80:80']}}\ninclude: [compose.yml]"),
            (
                "php/b.yml",
                "include: [c.yml]\nservices: {php: {image: php, build: ., env_file: b.env}}",
            ),
            ("php/b.prod.yml", "services: {php: {image: 'php:8.4-fpm'}}"),
            ("php/c.yml", "services: {db: {image: mysql}}"),
        ]);
        let document = load(&place.path().join("compose.yml")).expect("a file");
        let at = |name: &str| place.path().join(name).display().to_string();
        let expected = json!({"services": {
            "web": {"image": "nginx:1.29", "ports": ["80:80"]},
            "php": {"image": "php:8.4-fpm", "build": at("php"), "env_file": [at("php/b.env")]},
            "db": {"image": "mysql"},
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
        extend(place.path(), &mut document, &[]);
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
        let place = place(&[
            ("a.env", "APP_ENV=dev\nAPP_DEBUG='1'\nHASH='$2y$10$N9qo8uLO'\n"),
            ("b.env", "APP_DEBUG=0\n"),
            ("directory.env/x", ""),
        ]);
        let mut document = map(json!({"services": {
            "one": {"env_file": ["a.env"], "environment": ["APP_ENV=prod", "HASH=x"]},
            "more": {"env_file": ["a.env", "b.env", "none.env"]},
            "none": {"env_file": ["directory.env"]},
        }}));
        absolute_paths(&mut document, place.path());
        add_env_files(&mut document);
        let services = &document["services"];
        let one = json!({"APP_ENV": "prod", "APP_DEBUG": "1", "HASH": "x"});
        assert_eq!(services["one"]["environment"], one);
        let more = json!({"APP_ENV": "dev", "APP_DEBUG": "0", "HASH": "$2y$10$N9qo8uLO"});
        assert_eq!(services["more"]["environment"], more);
        assert_eq!(services["none"], json!({}));
    }
}
