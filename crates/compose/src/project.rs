//! A compose project as its tool renders it, with variables, files and extensions resolved.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::behind_proxy::{Announced, announced, looks_at_engine};
use crate::choice::is_tool;
pub use crate::choice::{is_https, published_ports};
use crate::discover;
use crate::edit::{Mount, variables};
use crate::engine::Engine;
use crate::error::{ComposeError, ProjectProblem};
use crate::layers::{self, variables_of_file};
use crate::render;
use crate::said::failed;
use crate::variables::{doubled, plain};
use crate::yaml::yaml;

/// A rendered project.
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    /// The project's directory, absolute.
    pub directory: PathBuf,
    /// The name that the project has when its user starts it. Its volumes begin with it.
    pub name: String,
    /// The whole document.
    pub document: Map<String, Value>,
}

/// The service that requests go to, and its port inside the container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The service.
    pub service: String,
    /// The port inside its container.
    pub port: u16,
}

/// The variable that names the profiles whose services are started.
const PROFILES: &str = "COMPOSE_PROFILES";

/// The profiles that compose files name.
fn profiles_in(files: &[PathBuf]) -> Vec<String> {
    let documents = files.iter().filter_map(|file| layers::load(file));
    let services = documents.filter_map(|found| found.get("services")?.as_object().cloned());
    let profiles = services.flatten().filter_map(|(_, one)| one["profiles"].as_array().cloned());
    let names = profiles.flatten().filter_map(|name| name.as_str().map(str::to_owned));
    names.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

impl Project {
    /// Lets the compose tool render the files, with these variables beside those of the environment.
    /// Nothing is started.
    ///
    /// # Errors
    /// A file does not exist, or the tool refuses it.
    pub fn render(
        engine: &Engine,
        files: &[PathBuf],
        variables: &BTreeMap<String, String>,
    ) -> Result<Project, ComposeError> {
        let files = files.iter().map(|file| all_of(file)).collect::<Result<Vec<_>, _>>()?.concat();
        let directory = files.first().and_then(|file| file.parent()).unwrap_or(Path::new("/"));
        let project = match engine.is_podman_compose() {
            true => Project::read(&files, directory, variables),
            false => Project::render_by_tool(engine, &files, directory, variables),
        };
        let mut project = project.map_err(|error| error.with_example(directory))?;
        if engine.is_compose_v1() || engine.is_podman_compose() {
            let active = variables.get(PROFILES).cloned().or_else(|| given(PROFILES, directory));
            project.drop_inactive(&active.unwrap_or_default());
        }
        project.forget_profiles();
        if project.services().next().is_none() {
            return Err(ComposeError::NoneActive { profiles: profiles_in(&files) });
        }
        project.check_whole().map_err(|error| error.with_example(directory))?;
        project.mount_bound_volumes();
        Ok(project)
    }

    /// Refuses a service that has nothing to run, and a mount of a variable that has no value: some tools see either
    /// only on a start.
    fn check_whole(&self) -> Result<(), ComposeError> {
        for (service, value) in self.services() {
            let mounts = value["volumes"].as_array().into_iter().flatten();
            let mut sources = mounts.filter_map(Mount::of).filter_map(|mount| mount.source);
            let unset = match () {
                // What a program beside the engine provides, version 2 starts.
                () if !value["provider"].is_null() => None,
                () if value["build"].is_null() && value["image"].is_null() => {
                    return Err(ComposeError::NoImage { service: service.to_owned() });
                }
                () if value["build"].is_null() && value["image"] == "" => Some("image"),
                () if sources.any(|source| source.is_empty()) => Some("volume"),
                () => None,
            };
            if let Some(kind) = unset {
                let (service, name) = (service.to_owned(), String::new());
                return Err(ComposeError::Undeclared { service, kind, name, example: None });
            }
        }
        Ok(())
    }

    fn render_by_tool(
        engine: &Engine,
        files: &[PathBuf],
        directory: &Path,
        variables: &BTreeMap<String, String>,
    ) -> Result<Project, ComposeError> {
        let command = engine.compose_name("config");
        let mut asked = engine.compose(files, directory, &["config"]);
        for (name, value) in sail_variables(directory) {
            asked = asked.env(name, value);
        }
        // What the client itself reads is the project's alone.
        for (name, value) in variables.iter().filter(|(name, _)| !engine.client.reads(name)) {
            asked = asked.env(name, value);
        }
        let output = asked.run().map_err(|error| failed(&command, &error))?;
        let project = Project::parse(&String::from_utf8_lossy(&output.stdout), directory);
        project.map_err(|problem| ComposeError::NotAProject { command, problem })
    }

    /// Reads the files itself.
    fn read(
        files: &[PathBuf],
        directory: &Path,
        variables: &BTreeMap<String, String>,
    ) -> Result<Project, ComposeError> {
        let sail: BTreeMap<&str, String> = sail_variables(directory).into_iter().collect();
        let of_file: BTreeMap<String, String> =
            variables_of_file(&directory.join(".env")).into_iter().collect();
        let look = |name: &str| {
            let given = variables.get(name).or_else(|| sail.get(name)).cloned();
            given.or_else(|| std::env::var(name).ok()).or_else(|| of_file.get(name).cloned())
        };
        let document = render::document(files, directory, &look)?;
        Ok(Project::of(document, directory))
    }

    /// Removes the services of profiles that are not active. Version 2 does so itself.
    pub(crate) fn drop_inactive(&mut self, active: &str) {
        let active: Vec<&str> = active.split(',').map(str::trim).collect();
        let Some(Value::Object(services)) = self.document.get_mut("services") else { return };
        services.retain(|_, service| {
            let profiles = service["profiles"].as_array().cloned().unwrap_or_default();
            let mut names = profiles.iter().filter_map(Value::as_str);
            profiles.is_empty() || names.any(|name| active.contains(&name))
        });
    }

    /// Makes the services that are left a project without profiles.
    fn forget_profiles(&mut self) {
        let services = self.document.get_mut("services").and_then(Value::as_object_mut);
        for service in services.into_iter().flatten().filter_map(|(_, one)| one.as_object_mut()) {
            service.remove("profiles");
        }
    }

    /// Reads what the tool printed.
    fn parse(text: &str, directory: &Path) -> Result<Project, ProjectProblem> {
        let document: Value = yaml(text, layers::Tags::Ignored)
            .map_err(|error| ProjectProblem::NotYaml(Box::new(error)))?;
        let Value::Object(document) = document else { return Err(ProjectProblem::NoMap {}) };
        if !document.get("services").is_some_and(Value::is_object) {
            return Err(ProjectProblem::NoServices {});
        }
        Ok(Project::of(document, directory))
    }

    fn of(mut document: Map<String, Value>, directory: &Path) -> Project {
        name_lenders(&mut document);
        let name = document.get("name").and_then(Value::as_str);
        let name = name.map_or_else(|| default_name(directory), str::to_owned);
        Project { directory: directory.to_owned(), name, document }
    }

    /// From here on the values of the project's variables that are secrets are masked.
    pub fn learn_secrets(&self) {
        // Many a project has its name as a password. Who is told to choose a service has to read its name.
        stampede_mask::public(self.public_words().iter().map(String::as_str));
        let secrets = self.document.get("secrets").and_then(Value::as_object);
        for (_, secret) in secrets.into_iter().flatten() {
            let content = secret["content"].as_str().unwrap_or_default();
            stampede_mask::named("secret", &plain(content));
        }
        let arguments = |service: &Value| variables(&service["build"]["args"]);
        for (_, service) in self.services() {
            let all = variables(&service["environment"]).into_iter().chain(arguments(service));
            for (name, value) in all {
                if let Some(value) = value.as_str() {
                    stampede_mask::named(&name, value);
                    stampede_mask::named(&name, &plain(value));
                }
            }
        }
    }

    /// What is said of the project in the open: its names, those of its services, and the one of its directory.
    fn public_words(&self) -> Vec<String> {
        let place = self.directory.file_name().map(|name| name.to_string_lossy().into_owned());
        self.service_names().into_iter().chain([self.name.clone()]).chain(place).collect()
    }

    /// The services by name.
    pub fn services(&self) -> impl Iterator<Item = (&str, &Value)> {
        let services = self.document.get("services").and_then(Value::as_object);
        services.into_iter().flatten().map(|(name, service)| (name.as_str(), service))
    }

    /// One service; `None`: there is none of this name.
    pub fn service(&self, name: &str) -> Option<&Value> {
        self.services().find(|(known, _)| *known == name).map(|(_, service)| service)
    }

    pub(crate) fn service_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.document.get_mut("services")?.get_mut(name)
    }

    pub(crate) fn service_names(&self) -> Vec<String> {
        self.services().map(|(name, _)| name.to_owned()).collect()
    }

    /// The image that tells the port of a target, where the project's files do not: a proxy in front of it would
    /// take what the image exposes.
    pub fn image_with_port(&self, target: &Target) -> Option<&str> {
        let service = self.service(&target.service)?;
        let is_open =
            published_ports(service).is_empty() && announced(service) == Some(Announced::UsualPort);
        service["image"].as_str().filter(|_| is_open)
    }

    pub(crate) fn services_that(&self, fit: impl Fn(&str, &Value) -> bool) -> Vec<String> {
        let found = self.services().filter(|(name, service)| fit(name, service));
        found.map(|(name, _)| name.to_owned()).collect()
    }

    /// The services that are left out: tools of a developer or of the machine's owner, which no
    /// other service needs.
    pub fn left_out(&self, target: &str) -> BTreeSet<String> {
        let kept = self.services_that(|name, service| {
            name == target || !is_tool(name, service) && !looks_at_engine(name, service)
        });
        let needed = self.needed_by(kept.iter().map(String::as_str));
        let all = self.service_names().into_iter();
        all.filter(|name| !needed.contains(name)).collect()
    }

    /// A service that has the network of the machine; `None`: there is none.
    pub fn with_host_network(&self) -> Option<&str> {
        let mut all = self.services();
        all.find(|(_, service)| service["network_mode"] == "host").map(|(name, _)| name)
    }

    /// Removes services that no other one needs.
    pub fn remove(&mut self, names: &BTreeSet<String>) {
        if let Some(Value::Object(services)) = self.document.get_mut("services") {
            services.retain(|name, _| !names.contains(name));
        }
    }

    /// Lets mounts of what the copy `tree` lacks lead to the same place below `top`: a copy of another
    /// version has what git has, and not the data that a project's services wrote.
    pub fn use_originals(&mut self, tree: &Path, top: &Path) {
        let Some(Value::Object(services)) = self.document.get_mut("services") else { return };
        let mounts = services.values_mut().filter_map(|service| match service.get_mut("volumes") {
            Some(Value::Array(mounts)) => Some(mounts),
            _ => None,
        });
        for mount in mounts.flatten() {
            let original = Mount::of(mount).and_then(|found| {
                let copy = PathBuf::from(plain(found.bind_source()?));
                let original = top.join(copy.strip_prefix(tree).ok()?);
                let written = doubled(&original.display().to_string());
                (!copy.exists() && original.exists())
                    .then(|| found.bound(&written, found.is_read_only))
            });
            if let Some(original) = original {
                *mount = original;
            }
        }
    }

    /// These services, and those that they depend on.
    pub fn needed_by<'a>(&self, services: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
        let mut needed = BTreeSet::new();
        let mut next: Vec<String> = services.map(str::to_owned).collect();
        while let Some(name) = next.pop() {
            let Some(service) = self.service(&name) else { continue };
            if needed.insert(name) {
                next.extend(dependencies(service));
            }
        }
        needed
    }

    /// Whether another service waits for this one until it is healthy.
    pub fn is_waited_for_until_healthy(&self, service: &str) -> bool {
        self.is_awaited(service, "service_healthy")
    }

    /// Whether another service waits until this one has ended with success.
    pub fn is_waited_for_until_its_end(&self, service: &str) -> bool {
        self.is_awaited(service, "service_completed_successfully")
    }

    fn is_awaited(&self, service: &str, condition: &str) -> bool {
        let mut others = self.services();
        others.any(|(_, other)| other["depends_on"][service]["condition"] == condition)
    }
}

/// The names of a project's file that the compose tools look for, in their order.
pub const NAMES: [&str; 4] =
    ["compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"];

/// The file, or the files that a compose tool finds by itself in a directory: the project's, and
/// what overrides it.
fn all_of(file: &Path) -> Result<Vec<PathBuf>, ComposeError> {
    let no_file = || {
        let directory = if file.is_dir() { Some(file) } else { file.parent() };
        let directory = directory.filter(|directory| directory.as_os_str() != "");
        let others = discover::compose_files(directory.unwrap_or(Path::new(".")));
        let (file, is_directory) = (file.to_owned(), file.is_dir());
        ComposeError::NoFile { file, is_directory, others }
    };
    let found = file.canonicalize().map_err(|_| no_file())?;
    if !found.is_dir() {
        // A file that is a link belongs to the directory in which the link is, as for the tools.
        let named = std::path::absolute(file).map_err(|_| no_file())?;
        let directory = named.parent().and_then(|parent| parent.canonicalize().ok());
        let (Some(directory), Some(name)) = (directory, named.file_name()) else {
            return Ok(vec![found]);
        };
        return Ok(vec![directory.join(name)]);
    }
    if let Some(files) = given("COMPOSE_FILE", &found) {
        let separator = given("COMPOSE_PATH_SEPARATOR", &found).unwrap_or_else(|| ":".to_owned());
        return Ok(files.split(separator.as_str()).map(|file| found.join(file)).collect());
    }
    let own = NAMES.iter().map(|name| found.join(name)).find(|path| path.is_file());
    let own = own.ok_or_else(no_file)?;
    let stem = own.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let overrides = ["yml", "yaml"].map(|end| found.join(format!("{stem}.override.{end}")));
    Ok([own].into_iter().chain(overrides.into_iter().find(|path| path.is_file())).collect())
}

/// The name that compose gives to a project in this directory.
fn default_name(directory: &Path) -> String {
    if let Some(name) = given("COMPOSE_PROJECT_NAME", directory) {
        return name;
    }
    let name = directory.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect()
}

/// Writes `volumes_from` as files do: docker-compose 1 prints `service:php:ro`.
fn name_lenders(document: &mut Map<String, Value>) {
    let services = document.get_mut("services").and_then(Value::as_object_mut);
    let lists = services.into_iter().flatten().filter_map(|(_, one)| one.get_mut("volumes_from"));
    for lender in lists.filter_map(Value::as_array_mut).flatten() {
        if let Some(name) = lender.as_str().and_then(|text| text.strip_prefix("service:")) {
            *lender = Value::from(name);
        }
    }
}

/// The services that one depends on, in every form.
fn dependencies(service: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for key in ["depends_on", "links", "volumes_from"] {
        match &service[key] {
            Value::Object(map) => all.extend(map.keys().cloned()),
            Value::Array(list) => {
                let names = list.iter().filter_map(Value::as_str);
                all.extend(names.filter_map(|one| one.split(':').next()).map(str::to_owned));
            }
            _ => {}
        }
    }
    let mode = service["network_mode"].as_str().and_then(|mode| mode.strip_prefix("service:"));
    all.extend(mode.map(str::to_owned));
    all
}

/// What Laravel Sail's own command sets for the compose tool: the user and group that the containers
/// work as. They are the owner's of the project, unless it is root, as which Sail's image does not
/// start.
fn sail_variables(directory: &Path) -> Vec<(&'static str, String)> {
    use std::os::unix::fs::MetadataExt as _;
    let owner = std::fs::metadata(directory).map(|found| (found.uid(), found.gid()));
    let (user, group) = owner.unwrap_or((0, 0));
    let or_usual = |id: u32| if id == 0 { USUAL_USER } else { id }.to_string();
    let all = [("WWWUSER", or_usual(user)), ("WWWGROUP", or_usual(group))];
    all.into_iter().filter(|(name, _)| given(name, directory).is_none()).collect()
}

/// The first user that somebody makes on most systems.
const USUAL_USER: u32 = 1_000;

/// A variable of the compose tool: from the environment, else from the project's `.env`.
pub(crate) fn given(name: &str, directory: &Path) -> Option<String> {
    let own = std::env::var(name).ok();
    let of_file = || {
        let variables = variables_of_file(&directory.join(".env")).into_iter();
        variables.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
    };
    own.or_else(of_file).filter(|value| !value.is_empty())
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
