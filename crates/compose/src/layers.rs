//! Reads files of a compose project and lays them together, as the compose tools do: what they include,
//! extend and read variables from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use crate::edit::Mount;
use crate::error::FileProblem;
use crate::mount_forms::{ShortMount, fits_short};
use crate::yaml::yaml;

/// The most files that one file may lead to.
const FILES_MAX: usize = 60;
/// How far files may include, and services extend, one another.
const DEPTH_MAX: usize = 8;
/// The most bytes of a file that is read: the longest known has 0.1 MB.
const BYTES_MAX: u64 = 1 << 20;

/// A compose file with what it includes and extends. Its own paths stay as they are. `None`: it is none.
pub(crate) fn load(path: &Path) -> Option<Map<String, Value>> {
    Reader { tags: Tags::Ignored, prepare: &|_, _| {}, problem: &|_, _| {} }.load(path)
}

/// What files declare by name, and the word for one of it.
const KINDS: [(&str, &str); 5] = [
    ("services", "service"),
    ("volumes", "volume"),
    ("networks", "network"),
    ("secrets", "secret"),
    ("configs", "config"),
];

/// What becomes of tags of the newest compose files, such as `!reset`, which have no meaning here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tags {
    /// Their value is read as if they were not there.
    Ignored,
    /// They are an error.
    Refused,
}

/// Variables of the files that a file is included with. Those of the project win.
pub(crate) type Included = BTreeMap<String, String>;

/// Reads compose files.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    /// What becomes of tags.
    pub tags: Tags,
    /// What is done with each file before it leads to others.
    pub prepare: &'a dyn Fn(&mut Map<String, Value>, &Included),
    /// Is told of each file that cannot be read.
    pub problem: &'a dyn Fn(&Path, FileProblem),
}

/// A file that is read.
#[derive(Clone, Copy)]
struct At<'a> {
    file: &'a Path,
    /// Where its paths begin.
    directory: &'a Path,
    variables: &'a Included,
}

/// A service of a file, which others extend.
type Extended = (PathBuf, String);

impl Reader<'_> {
    /// As [`load`].
    pub fn load(self, path: &Path) -> Option<Map<String, Value>> {
        let at = At { file: path, directory: path.parent()?, variables: &Included::new() };
        self.whole(at, &[])
    }

    /// `chain`: the files that led to this one.
    fn whole(self, at: At<'_>, chain: &[PathBuf]) -> Option<Map<String, Value>> {
        let told = |problem: FileProblem| (self.problem)(at.file, problem);
        let real = real(at.file).or_else(|| {
            told(FileProblem::Missing {});
            None
        })?;
        if chain.contains(&real) {
            told(FileProblem::Loop {});
            return None;
        }
        if chain.len() >= DEPTH_MAX {
            told(FileProblem::TooDeep {});
            return None;
        }
        let chain = &[chain, &[real]].concat();
        let mut document = self.read(at)?;
        self.include(at, &mut document, chain);
        self.extend(at, &mut document);
        Some(document)
    }

    /// A file alone.
    fn read(self, at: At<'_>) -> Option<Map<String, Value>> {
        let told = |problem: FileProblem| (self.problem)(at.file, problem);
        let Some(text) = text(at.file) else {
            told(FileProblem::Missing {});
            return None;
        };
        let parsed = yaml(&text, self.tags);
        let Value::Object(mut document) =
            parsed.inspect_err(|error| told(FileProblem::of(error))).ok()?
        else {
            told(FileProblem::NoMap {});
            return None;
        };
        (self.prepare)(&mut document, at.variables);
        let services = document.get_mut("services").and_then(Value::as_object_mut);
        for service in services.into_iter().flatten().filter_map(|(_, one)| one.as_object_mut()) {
            if let Some(listed) = service.get_mut("env_file") {
                *listed = Value::Array(list(listed));
            }
        }
        Some(document)
    }

    /// Adds the services of the files that a file includes.
    fn include(self, at: At<'_>, document: &mut Map<String, Value>, chain: &[PathBuf]) {
        let listed = document.remove("include").unwrap_or_default();
        let mut declared = BTreeMap::new();
        for entry in listed.as_array().into_iter().flatten().take(FILES_MAX) {
            // Of several paths, a later file overrides the ones before.
            let listed = if entry["path"].is_null() { entry } else { &entry["path"] };
            let files: Vec<PathBuf> = paths(listed).map(|path| at.directory.join(path)).collect();
            let own = files.first().and_then(|file| file.parent()).unwrap_or(at.directory);
            let given = entry["project_directory"].as_str();
            let directory = given.map_or(own.to_owned(), |given| at.directory.join(given));
            let variables = self.variables(at, &entry["env_file"], &directory);
            let mut whole = Map::new();
            for file in &files {
                let other = At { file, directory: &directory, variables: &variables };
                if let Some(mut included) = self.whole(other, chain) {
                    absolute_paths(&mut included, &directory);
                    merge(&mut whole, &included);
                }
            }
            if let Some(file) = files.first() {
                self.check_conflicts(file, &whole, &mut declared);
            }
            merge(&mut whole, document);
            *document = whole;
        }
    }

    /// Notes what an included file declares. Another one may declare the same, but not something else by the same name:
    /// versions of the compose tools refuse it, or take that of either. `declared`: by kind and name, with the file.
    fn check_conflicts(
        self,
        file: &Path,
        included: &Map<String, Value>,
        declared: &mut BTreeMap<(&'static str, String), (PathBuf, Value)>,
    ) {
        for (kind, one) in KINDS {
            let all = included.get(kind).and_then(Value::as_object).into_iter().flatten();
            for (name, value) in all {
                let known = declared.entry((one, name.clone()));
                let (other, known) = known.or_insert_with(|| (file.to_owned(), value.clone()));
                if known != value {
                    let (kind, name, other) = (one, name.clone(), other.clone());
                    (self.problem)(file, FileProblem::Conflict { kind, name, other });
                }
            }
        }
    }

    /// The variables of files that are included from `directory`: of those that are listed, else of its `.env`.
    fn variables(self, at: At<'_>, listed: &Value, directory: &Path) -> Included {
        let mut all = Included::new();
        let listed: Vec<PathBuf> = paths(listed).map(|path| at.directory.join(path)).collect();
        for file in &listed {
            if !file.exists() {
                (self.problem)(at.file, FileProblem::NoEnvFile { file: file.clone() });
            }
            all.extend(variables_of_file(file));
        }
        if listed.is_empty() {
            all.extend(variables_of_file(&directory.join(".env")));
        }
        all.extend(at.variables.clone());
        all
    }

    /// Completes services that extend others, of the same file or of another one.
    fn extend(self, at: At<'_>, document: &mut Map<String, Value>) {
        let whole = document.clone();
        let Some(Value::Object(services)) = document.get_mut("services") else { return };
        for (name, service) in services {
            if let Some(full) = self.extended(at, &whole, (name, service), &[]) {
                *service = full;
            }
        }
    }

    /// A service over the one that it extends. `None`: it extends none that can be read. `trail`: those that
    /// extend it.
    fn extended(
        self,
        at: At<'_>,
        document: &Map<String, Value>,
        (name, service): (&str, &Value),
        trail: &[Extended],
    ) -> Option<Value> {
        let extends = service.get("extends").filter(|extends| !extends.is_null())?;
        let told = |problem: FileProblem| (self.problem)(at.file, problem);
        let this = (real(at.file).unwrap_or_default(), name.to_owned());
        if trail.contains(&this) {
            told(FileProblem::ServiceLoop { service: name.to_owned() });
            return None;
        }
        if trail.len() >= DEPTH_MAX {
            told(FileProblem::TooDeep {});
            return None;
        }
        let trail = &[trail, &[this]].concat();
        let base_name = extends.as_str().or_else(|| extends["service"].as_str());
        let base_name = base_name.unwrap_or_default();
        let file = extends["file"].as_str().map(|file| at.directory.join(file));
        let file = file.filter(|file| real(file) != real(at.file));
        let directory = file.as_deref().and_then(Path::parent).unwrap_or(at.directory);
        let other = At { file: file.as_deref().unwrap_or(at.file), directory, ..at };
        let read = match file.is_some() {
            true => {
                let mut read = self.read(other)?;
                absolute_paths(&mut read, directory);
                Some(read)
            }
            false => None,
        };
        let document = read.as_ref().unwrap_or(document);
        let Some(base) = document.get("services").and_then(|all| all.get(base_name)) else {
            let (service, base) = (name.to_owned(), base_name.to_owned());
            told(FileProblem::NoBase { service, base, file: other.file.to_owned() });
            return None;
        };
        let full = self.extended(other, document, (base_name, base), trail);
        let Value::Object(mut full) = full.unwrap_or_else(|| base.clone()) else { return None };
        let mut own = service.as_object()?.clone();
        own.remove("extends");
        full.remove("extends");
        merge(&mut full, &own);
        Some(Value::Object(full))
    }
}

/// The path of a file without links and dots; `None`: there is none.
fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
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
pub(crate) fn paths(value: &Value) -> impl Iterator<Item = String> {
    let one = |value: Value| value.as_str().or_else(|| value["path"].as_str()).map(str::to_owned);
    list(value).into_iter().filter_map(one).take(FILES_MAX).collect::<Vec<_>>().into_iter()
}

/// A value that may stand without a list, as a list.
fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list.clone(),
        Value::Null => Vec::new(),
        other => vec![other.clone()],
    }
}

/// Lays one document over another as the compose tools do: maps key by key, variables by their names, mounts by
/// their places, other lists one behind the other. A command takes the place of another one.
pub(crate) fn merge(to: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        let Some(known) = to.get_mut(key) else {
            to.insert(key.clone(), value.clone());
            continue;
        };
        match (key.as_str(), &mut *known, value) {
            (_, _, Value::Null) => {}
            ("environment" | "args" | "labels" | "sysctls", _, _) => {
                let mut all = crate::edit::variables(known);
                all.extend(crate::edit::variables(value));
                *known = Value::Object(all.into_iter().collect());
            }
            ("build", Value::String(_), Value::Object(_))
            | ("build", Value::Object(_), Value::String(_)) => {
                let long = |value: &Value| match value {
                    Value::String(context) => serde_json::json!({"context": context}),
                    other => other.clone(),
                };
                let (mut below, above) = (long(known), long(value));
                if let (Value::Object(below), Value::Object(above)) = (&mut below, &above) {
                    merge(below, above);
                }
                *known = below;
            }
            ("command" | "entrypoint" | "test", _, _) => *known = value.clone(),
            ("depends_on" | "networks", Value::Array(_), Value::Object(_))
            | ("depends_on" | "networks", Value::Object(_), Value::Array(_)) => {
                let (mut below, above) = (by_name(known), by_name(value));
                merge(&mut below, &above);
                *known = Value::Object(below);
            }
            (_, Value::Object(known), Value::Object(value)) => merge(known, value),
            ("volumes" | "devices", Value::Array(known), Value::Array(value)) => {
                let targets: Vec<String> = value.iter().filter_map(target).collect();
                known.retain(|one| target(one).is_none_or(|target| !targets.contains(&target)));
                known.extend(value.iter().cloned());
            }
            (_, Value::Array(_), _) | ("dns" | "dns_search" | "env_file" | "tmpfs", _, _) => {
                let mut all = list(known);
                let new = list(value).into_iter().filter(|one| !all.contains(one));
                let new: Vec<Value> = new.collect();
                all.extend(new);
                *known = Value::Array(all);
            }
            _ => *known = value.clone(),
        }
    }
}

/// Names in a list as the keys of a map.
pub(crate) fn by_name(value: &Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map.clone(),
        other => {
            let names = other.as_array().into_iter().flatten().filter_map(Value::as_str);
            names.map(|name| (name.to_owned(), Value::Null)).collect()
        }
    }
}

/// Where a mount or a device is in the container.
fn target(mount: &Value) -> Option<String> {
    match mount {
        Value::String(short) => ShortMount::of(short).map(|short| short.target.to_owned()),
        long => long["target"].as_str().map(str::to_owned),
    }
}

/// Mounted paths, those of builds and of files of variables become those of the machine, so that what is in
/// them is seen. One that begins with a variable is left.
pub(crate) fn absolute_paths(document: &mut Map<String, Value>, base: &Path) {
    for kind in ["secrets", "configs"] {
        let all = document.get_mut(kind).and_then(Value::as_object_mut);
        for (_, one) in all.into_iter().flatten() {
            make_absolute(one.get_mut("file"), base);
        }
    }
    let Some(Value::Object(services)) = document.get_mut("services") else { return };
    for service in services.values_mut() {
        let build = service.get_mut("build");
        let is_short = build.as_ref().is_some_and(|build| build.is_string());
        make_absolute(
            build.and_then(|build| if is_short { Some(build) } else { build.get_mut("context") }),
            base,
        );
        let contexts = service.pointer_mut("/build/additional_contexts");
        for (_, context) in contexts.and_then(Value::as_object_mut).into_iter().flatten() {
            let is_service = context.as_str().is_some_and(|text| text.starts_with("service:"));
            make_absolute(Some(context).filter(|_| !is_service), base);
        }
        for file in service.get_mut("env_file").and_then(Value::as_array_mut).into_iter().flatten()
        {
            let is_short = file.is_string();
            make_absolute(if is_short { Some(file) } else { file.get_mut("path") }, base);
        }
        let Some(Value::Array(mounts)) = service.get_mut("volumes") else { continue };
        for mount in mounts {
            match mount {
                Value::String(short) if short.starts_with(['.', '~']) => {
                    if let Some(whole) = absolute_mount(short, base) {
                        *mount = whole;
                    }
                }
                Value::Object(long) => {
                    let is_bind = long.get("type").is_some_and(|kind| kind == "bind");
                    let source = long.get_mut("source");
                    let is_path = source.as_ref().is_some_and(|source| {
                        is_bind || source.as_str().is_some_and(|one| one.starts_with(['.', '~']))
                    });
                    make_absolute(source.filter(|_| is_path), base);
                }
                _ => {}
            }
        }
    }
}

/// A mount in the short form with its path made absolute. One with a colon needs the long form.
fn absolute_mount(short: &str, base: &Path) -> Option<Value> {
    let given = ShortMount::of(short)?.source?;
    let source = absolute(given, base);
    if fits_short(&source) {
        return Some(format!("{source}{}", &short[given.len()..]).into());
    }
    let found = Mount::of(&short.into())?;
    Some(found.bound(&source, found.is_read_only))
}

fn make_absolute(path: Option<&mut Value>, base: &Path) {
    if let Some(Value::String(path)) = path
        && !path.contains("://")
        && !path.starts_with('$')
        && !path.starts_with("git@")
    {
        *path = absolute(path, base);
    }
}

/// A path without dots and without a slash at the end, as the compose tools print it. `~` is the user's home.
fn absolute(path: &str, base: &Path) -> String {
    let home = || std::env::var("HOME").unwrap_or_default();
    let path = match path.strip_prefix('~') {
        Some(below) if below.is_empty() || below.starts_with('/') => home() + below,
        _ => path.to_owned(),
    };
    let mut whole = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(whole.pop()),
            other => whole.push(other),
        }
    }
    whole.display().to_string()
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A directory with these files: the path of each, and its text.
    pub(crate) fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
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
        let reader = Reader { tags: Tags::Ignored, prepare: &|_, _| {}, problem: &|_, _| {} };
        let file = place.path().join("compose.yml");
        let at = At { file: &file, directory: place.path(), variables: &Included::new() };
        reader.extend(at, &mut document);
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
