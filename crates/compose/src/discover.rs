//! Finds the compose projects of a directory, for a first plan. Only reads files: neither the engine
//! nor the compose tool has to be there. What is found is a proposal; a run renders the project anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use stampede_model::fact::development::DevelopmentSign;

use crate::error::ComposeError;
use crate::known::Kind;
use crate::layers::{self, merge};
use crate::project::{NAMES, Project, Target, given};
use crate::signs::{Overridden, development_signs};
use crate::variables::{Unset, interpolate};
use crate::yaml::yaml;

/// A project that somebody may want to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// A name for its row.
    pub name: String,
    /// Its files, relative to the directory that was searched.
    pub files: Vec<PathBuf>,
    /// The service that requests go to, and its port.
    pub target: Target,
    /// Other services that publish a port of a web server, so that one of them may be meant.
    pub others: Vec<String>,
    /// What shows a development configuration.
    pub signs: Vec<DevelopmentSign>,
    /// Whether a file's name says that it is for development or tests.
    pub is_called_development: bool,
    /// Variables that the files name and that have no value.
    pub unset: Vec<String>,
    /// The skeleton that it comes from.
    pub kind: Kind,
}

/// Directories in which compose files are also looked for.
const BELOW: [&str; 8] = [
    ".docker",
    "compose",
    "deploy",
    "deployment",
    "docker",
    "docker-compose",
    "infra",
    "infrastructure",
];
/// The most files that are read.
const FILES_MAX: usize = 60;

/// The projects of a directory. What the compose tool takes by itself comes first.
pub fn find(directory: &Path) -> Vec<Candidate> {
    let files = files(directory);
    let base = NAMES.iter().find_map(|name| files.iter().find(|file| file.is(name)));
    let mut all: Vec<Candidate> = ddev(directory).into_iter().collect();
    let overrides = base.and_then(|base| files.iter().find(|file| file.overrides(base)));
    let usual: Vec<&ComposeFile> = base.into_iter().chain(overrides).collect();
    all.extend(candidate(directory, &usual));
    let is_usual = |file: &&ComposeFile| usual.iter().any(|one| one.place == file.place);
    for file in files.iter().filter(|file| !is_usual(file)) {
        let alone = || candidate(directory, &[file]);
        let with_base = || candidate(directory, &[base?, file]);
        // A file that only changes services of the usual one is no project alone. One like
        // `fpm-docker-compose.yml` stands beside it: what is laid over it is called `docker-compose.prod.yml`.
        let found = if file.is_named_first() {
            alone()
        } else if base.is_some_and(|base| file.extends(base)) {
            with_base().or_else(alone)
        } else {
            alone().or_else(with_base)
        };
        all.extend(found);
    }
    name_apart(&mut all);
    all
}

/// The compose files of a directory, as a user may name them.
pub fn compose_files(directory: &Path) -> Vec<PathBuf> {
    let shown = |file: ComposeFile| match directory.as_os_str() == "." {
        true => file.place,
        false => directory.join(file.place),
    };
    files(directory).into_iter().map(shown).collect()
}

/// A file that was read.
struct ComposeFile {
    /// Its path relative to the directory.
    place: PathBuf,
    document: Map<String, Value>,
}

impl ComposeFile {
    fn is(&self, name: &str) -> bool {
        self.place == Path::new(name)
    }

    /// Whether its name begins with something of its own, as `fpm-docker-compose.yml`.
    fn is_named_first(&self) -> bool {
        let stem = self.place.file_stem().unwrap_or_default().to_string_lossy();
        own_part(&stem).is_some_and(|own| !own.is_empty() && stem.starts_with(own))
    }

    /// Whether the compose tool takes this file together with `base`.
    fn overrides(&self, base: &ComposeFile) -> bool {
        let stem = base.place.file_stem().unwrap_or_default().to_string_lossy();
        ["yml", "yaml"].iter().any(|end| self.is(&format!("{stem}.override.{end}")))
    }

    fn services(&self) -> Map<String, Value> {
        self.document.get("services").and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// Whether each of its services is one of `base`, and it has fewer of them or says less of one:
    /// neither where it comes from nor which port it publishes.
    fn extends(&self, base: &ComposeFile) -> bool {
        let (own, others) = (self.services(), base.services());
        let says = |service: &Value, key: &str| !service[key].is_null();
        let is_whole = |service: &Value| says(service, "image") || says(service, "build");
        own.keys().all(|name| others.contains_key(name))
            && (own.len() < others.len()
                || own.values().any(|service| !is_whole(service))
                || !own.values().any(|service| says(service, "ports")))
    }
}

fn files(directory: &Path) -> Vec<ComposeFile> {
    let mut places = yaml_files(directory, Path::new(""));
    // In `docker`, files have all sorts of names.
    let real = directory.canonicalize().unwrap_or_default();
    let is_below = BELOW.iter().any(|below| real.ends_with(below));
    places.retain(|place| is_below || is_compose_name(place));
    for below in BELOW {
        places.extend(yaml_files(directory, Path::new(below)));
        for nested in directories(&directory.join(below)) {
            // `docker/compose/web.yaml` as well as `docker/web/compose.yaml`.
            let is_named = is_compose_name(&nested);
            let found = yaml_files(directory, &Path::new(below).join(nested));
            places.extend(found.into_iter().filter(|place| is_named || is_compose_name(place)));
        }
    }
    places.truncate(FILES_MAX);
    let read = |place: PathBuf| {
        let document = layers::load(&directory.join(&place))?;
        document.get("services")?.as_object()?;
        Some(ComposeFile { place, document })
    };
    places.into_iter().filter_map(read).collect()
}

fn is_compose_name(place: &Path) -> bool {
    let stem = place.file_stem().unwrap_or_default().to_string_lossy();
    own_part(&stem).is_some()
}

/// What the name of a compose file says besides that it is one: `.prod` of `compose.prod`, `fpm-` of
/// `fpm-docker-compose`; `None`: it is not called a compose file.
fn own_part(stem: &str) -> Option<&str> {
    let usual = ["docker-compose", "compose"];
    let begun = usual.iter().find_map(|usual| stem.strip_prefix(usual));
    let is_apart = |rest: &&str| rest.ends_with(['-', '_', '.']);
    let ended = || usual.iter().find_map(|usual| stem.strip_suffix(usual).filter(is_apart));
    begun.or_else(ended)
}

/// The YAML files of a directory, in the order of their names.
fn yaml_files(directory: &Path, below: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory.join(below)).into_iter().flatten().flatten();
    let names = entries.map(|entry| below.join(entry.file_name()));
    let is_yaml =
        |place: &PathBuf| place.extension().is_some_and(|end| end == "yml" || end == "yaml");
    let mut found: Vec<PathBuf> =
        names.filter(|place| is_yaml(place) && directory.join(place).is_file()).collect();
    found.sort();
    found
}

fn directories(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let below = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<PathBuf> = below.map(|entry| PathBuf::from(entry.file_name())).collect();
    names.sort();
    names
}

/// The project of these files; `None`: it is not whole, or serves no page.
fn candidate(directory: &Path, files: &[&ComposeFile]) -> Option<Candidate> {
    let mut document = Map::new();
    for file in files {
        merge(&mut document, &file.document);
    }
    let place = &files.first()?.place;
    let base = directory.join(place.parent().unwrap_or(Path::new("")));
    let base = base.canonicalize().unwrap_or(base);
    let mut unset = Unset::default();
    let look = |name: &str| given(name, &base);
    interpolate(&mut document, &look, &mut unset);
    layers::absolute_paths(&mut document, &base);
    layers::add_env_files(&mut document);
    let active = look("COMPOSE_PROFILES").unwrap_or_default();
    let mut project = Project { directory: base.clone(), name: String::new(), document };
    project.drop_inactive(&active);
    let is_whole =
        |service: &Value| ["image", "build", "extends"].iter().any(|key| !service[*key].is_null());
    if !project.services().all(|(_, service)| is_whole(service)) {
        return None;
    }
    let (target, others) = target(&project)?;
    let signs = development_signs(&project, Overridden::default(), |_| BTreeMap::new());
    let kind = Kind::of(&project, &target, directory);
    let files: Vec<PathBuf> = files.iter().map(|file| file.place.clone()).collect();
    let is_called_development = files.iter().any(|file| is_called_development(file));
    let name = row_name(directory, place);
    Some(Candidate {
        name,
        files,
        target,
        others,
        signs,
        is_called_development,
        unset: unset.names,
        kind,
    })
}

/// The service and port that requests go to, and the other services that may be meant.
fn target(project: &Project) -> Option<(Target, Vec<String>)> {
    match project.target(None, None) {
        Ok(target) => Some((target, Vec::new())),
        Err(ComposeError::WhichService { publishing, likely, .. }) if !publishing.is_empty() => {
            let target = likely?;
            let others = publishing.into_iter().filter(|name| *name != target.service).collect();
            Some((target, others))
        }
        Err(ComposeError::WhichPort { service, .. } | ComposeError::OnlyHttps { service, .. }) => {
            Some((in_service(project, &service)?, Vec::new()))
        }
        Err(_) => None,
    }
}

/// The first port that a service publishes.
fn in_service(project: &Project, service: &str) -> Option<Target> {
    project.target(Some(service), None).ok().or_else(|| {
        let port = crate::project::published_ports(project.service(service)?).first().copied()?;
        Some(Target { service: service.to_owned(), port })
    })
}

/// Whether the name of a file says that its project is for development or for tests.
fn is_called_development(file: &Path) -> bool {
    const NAMES: [&str; 8] =
        ["ci", "debug", "dev", "devel", "development", "local", "test", "testing"];
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    stem.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| NAMES.contains(&word))
}

/// A row's name: the directory's, with what tells the file apart from the usual one.
fn row_name(directory: &Path, place: &Path) -> String {
    let plain = |text: &str| -> String {
        let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        text.chars().map(fits).collect::<String>().trim_matches('-').to_owned()
    };
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let own = plain(&real.file_name().unwrap_or_default().to_string_lossy());
    let own = if own.is_empty() { "project".to_owned() } else { own };
    let stem = place.file_stem().unwrap_or_default().to_string_lossy();
    match plain(own_part(&stem).unwrap_or(&stem)) {
        apart if !apart.is_empty() => apart,
        _ => {
            let below = place.parent().and_then(Path::file_name);
            let below = below.map(|below| plain(&below.to_string_lossy()));
            below.filter(|below| !below.is_empty()).unwrap_or(own)
        }
    }
}

/// Gives projects of one name different ones: what the last file is called, else a number.
fn name_apart(all: &mut [Candidate]) {
    let mut taken: Vec<String> = Vec::new();
    for candidate in all {
        let last = candidate.files.last().and_then(|file| file.file_stem());
        let last = last.map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let apart = last.rsplit('.').next().unwrap_or_default();
        let name = candidate.name.clone();
        let with_file = format!("{name}-{apart}");
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let choices = [name.clone(), with_file].into_iter().chain(numbered);
        let free = choices.into_iter().find(|name| !taken.contains(name));
        candidate.name = free.unwrap_or(name);
        taken.push(candidate.name.clone());
    }
}

/// The file that DDEV writes when it starts a project, with all services.
const DDEV_WHOLE: &str = ".ddev/.ddev-docker-compose-full.yaml";

/// A project of DDEV. Its files are no project before DDEV has rendered them.
fn ddev(directory: &Path) -> Option<Candidate> {
    let text = fs::read_to_string(directory.join(".ddev/config.yaml")).ok()?;
    let config: Value = yaml(&text, layers::Tags::Ignored).ok()?;
    let is_rendered = directory.join(DDEV_WHOLE).is_file();
    let text = |key: &str| config[key].as_str().unwrap_or_default().to_owned();
    let environment = crate::edit::variables(&config["web_environment"]);
    let service = serde_json::json!({"services": {"web": {
        "environment": environment.into_iter().collect::<Map<String, Value>>(),
    }}});
    let Value::Object(document) = service else { return None };
    let project = Project { directory: directory.to_owned(), name: String::new(), document };
    let name = Some(text("name")).filter(|name| !name.is_empty());
    Some(Candidate {
        name: name.unwrap_or_else(|| row_name(directory, Path::new("compose.yaml"))),
        files: vec![PathBuf::from(DDEV_WHOLE)],
        target: Target { service: "web".to_owned(), port: 80 },
        others: Vec::new(),
        signs: development_signs(&project, Overridden::default(), |_| BTreeMap::new()),
        is_called_development: false,
        unset: Vec::new(),
        kind: Kind::Ddev {
            is_rendered,
            webserver: text("webserver_type"),
            php: text("php_version"),
        },
    })
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;
