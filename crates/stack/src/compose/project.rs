//! A compose project as its tool renders it, with variables, files and extensions resolved.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::engine::{Engine, failed};
use super::error::ComposeError;

/// A rendered project.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Project {
    /// The project's directory, absolute.
    pub directory: PathBuf,
    /// The name that the project has when its user starts it. Its volumes begin with it.
    pub name: String,
    /// The whole document.
    pub document: Map<String, Value>,
}

/// The service that requests go to, and its port inside the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub service: String,
    pub port: u16,
}

impl Project {
    /// Lets the compose tool render `files`. Nothing is started.
    ///
    /// # Errors
    /// A file does not exist, or the tool refuses it.
    pub fn render(engine: &Engine, files: &[PathBuf]) -> Result<Project, ComposeError> {
        let files = files.iter().map(|file| {
            file.canonicalize().map_err(|_| ComposeError::NoFile { file: file.clone() })
        });
        let files = files.collect::<Result<Vec<PathBuf>, ComposeError>>()?;
        let directory = files.first().and_then(|file| file.parent()).unwrap_or(Path::new("/"));
        let command = engine.compose_name("config");
        let output = engine.compose(&files, directory, &["config"]).run();
        let output = output.map_err(|error| failed(&command, &error))?;
        Project::parse(&String::from_utf8_lossy(&output.stdout), directory)
            .map_err(|problem| ComposeError::NotAProject { command, problem })
    }

    /// Reads what the tool printed.
    fn parse(text: &str, directory: &Path) -> Result<Project, String> {
        let document: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        let Value::Object(document) = document else { return Err("it is no map".to_owned()) };
        if !document.get("services").is_some_and(Value::is_object) {
            return Err("it has no services".to_owned());
        }
        let name = document.get("name").and_then(Value::as_str);
        let name = name.map_or_else(|| default_name(directory), str::to_owned);
        Ok(Project { directory: directory.to_owned(), name, document })
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

    fn service_names(&self) -> Vec<String> {
        self.services().map(|(name, _)| name.to_owned()).collect()
    }

    /// The service and port that requests go to: those that are named, else the only one that is
    /// published.
    ///
    /// # Errors
    /// There is no such service, or it is not clear which is meant.
    pub fn target(&self, service: Option<&str>, port: Option<u16>) -> Result<Target, ComposeError> {
        let service = match service {
            Some(name) => name.to_owned(),
            None => self.only_publishing_service(port)?,
        };
        let Some(found) = self.service(&service) else {
            return Err(ComposeError::NoService { service, known: self.service_names() });
        };
        if let Some(port) = port {
            return Ok(Target { service, port });
        }
        let published = published_ports(found);
        // The page is asked by plain HTTP, so a second port for HTTPS is not meant.
        let plain: Vec<u16> = published.iter().copied().filter(|port| !is_https(*port)).collect();
        match (plain.as_slice(), published.as_slice()) {
            ([port], _) | ([], [port]) => Ok(Target { service, port: *port }),
            _ => Err(ComposeError::WhichPort { service, ports: published }),
        }
    }

    fn only_publishing_service(&self, port: Option<u16>) -> Result<String, ComposeError> {
        let known = self.service_names();
        if let [only] = known.as_slice() {
            return Ok(only.clone());
        }
        let publishes = |service: &Value| {
            let ports = published_ports(service);
            match port {
                Some(port) => ports.contains(&port),
                None => ports.iter().any(|port| is_http(*port)),
            }
        };
        let any = |fits: &dyn Fn(&Value) -> bool| -> Vec<String> {
            self.services()
                .filter(|(_, service)| fits(service))
                .map(|(name, _)| name.to_owned())
                .collect()
        };
        // A published database or cache is for its owner's tools.
        let http = any(&publishes);
        let all = any(&|service| !published_ports(service).is_empty());
        match (http.as_slice(), all.as_slice()) {
            ([only], _) | ([], [only]) => Ok(only.clone()),
            ([], _) => Err(ComposeError::WhichService { publishing: all, known }),
            _ => Err(ComposeError::WhichService { publishing: http, known }),
        }
    }

    /// The services that `service` waits for until they are healthy, of any service.
    pub fn is_waited_for_until_healthy(&self, service: &str) -> bool {
        self.services().any(|(_, other)| {
            other["depends_on"][service]["condition"].as_str() == Some("service_healthy")
        })
    }
}

/// The name that compose gives to a project in this directory.
fn default_name(directory: &Path) -> String {
    let name = directory.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect()
}

/// Ports on which web servers and apps usually answer by plain HTTP or HTTPS.
fn is_http(port: u16) -> bool {
    is_https(port) || matches!(port, 80 | 81 | 3000 | 4000 | 5000 | 8000..=8999 | 9501 | 9080)
}

fn is_https(port: u16) -> bool {
    matches!(port, 443 | 8443 | 4443)
}

/// The TCP ports inside the container that a service publishes, in their order and each once.
pub(super) fn published_ports(service: &Value) -> Vec<u16> {
    let mut ports = Vec::new();
    for port in service["ports"].as_array().into_iter().flatten() {
        let found = match port {
            Value::Object(long) if long.get("protocol").is_none_or(|one| one != "udp") => {
                long.get("target").and_then(number)
            }
            Value::String(short) => short_port(short),
            Value::Number(_) => number(port),
            _ => None,
        };
        if let Some(port) = found.filter(|port| !ports.contains(port)) {
            ports.push(port);
        }
    }
    ports
}

fn number(value: &Value) -> Option<u16> {
    match value {
        Value::String(text) => text.parse().ok(),
        other => u16::try_from(other.as_u64()?).ok(),
    }
}

/// The port of `8080:80`, `127.0.0.1:8080:80/tcp` or `80`: the first of a range.
fn short_port(text: &str) -> Option<u16> {
    let (ports, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let inside = ports.rsplit(':').next()?;
    let first = inside.split('-').next()?;
    (protocol == "tcp").then(|| first.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(text: &str) -> Project {
        Project::parse(text, Path::new("/srv/My Shop!")).expect("a project")
    }

    fn target(
        text: &str,
        service: Option<&str>,
        port: Option<u16>,
    ) -> Result<(String, u16), String> {
        let found = project(text).target(service, port);
        found.map(|found| (found.service, found.port)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_only_published_service_is_found_in_every_form_of_ports() {
        for ports in [
            "[\"8080:80\"]",
            "[\"127.0.0.1:8080:80/tcp\"]",
            "[80]",
            "[\"80\"]",
            "[{target: 80, published: \"8080\"}]",
            "[{target: 80, published: 8080, protocol: tcp, mode: ingress}, {target: 443, published: 443}]",
            "[\"80:80/tcp\", \"443:443/tcp\", \"443:443/udp\"]",
            "[\"8080-8090:80-90\"]",
            "[\"80:80\", \"81:80\"]",
        ] {
            let text = format!(
                "services:\n  db: {{image: mysql, ports: [\"3306:3306\"]}}\n  web: {{image: nginx, ports: {ports}}}\n"
            );
            assert_eq!(target(&text, None, None), Ok(("web".to_owned(), 80)), "{ports}");
        }
    }

    #[test]
    fn what_is_not_clear_is_asked_for() {
        let two = "services: {a: {ports: [\"80:80\"]}, b: {ports: [\"81:8080\"]}, c: {}}";
        let error = "several services of the project publish a port: a, b";
        assert_eq!(target(two, None, None), Err(error.to_owned()));
        assert_eq!(target(two, Some("b"), None), Ok(("b".to_owned(), 8080)));
        assert_eq!(target(two, None, Some(8080)), Ok(("b".to_owned(), 8080)));
        assert_eq!(target(two, Some("c"), Some(9000)), Ok(("c".to_owned(), 9000)));
        assert_eq!(target(two, Some("c"), None), Err("service `c` publishes no port".to_owned()));
        assert_eq!(target(two, Some("d"), None), Err("the project has no service `d`".to_owned()));
        let none = "services: {a: {}, b: {}}";
        assert_eq!(
            target(none, None, None),
            Err("no service of the project publishes a port".to_owned())
        );
        let several = "services: {a: {ports: [\"80:80\", \"8080:8080\"]}}";
        let error = "service `a` publishes several ports: 80, 8080";
        assert_eq!(target(several, None, None), Err(error.to_owned()));
        // A single service needs no published port, only its number.
        assert_eq!(target("services: {a: {}}", None, Some(80)), Ok(("a".to_owned(), 80)));
    }

    #[test]
    fn a_project_has_the_name_that_its_user_would_give_it() {
        assert_eq!(project("services: {a: {}}").name, "myshop");
        assert_eq!(project("{name: shop, services: {a: {}}}").name, "shop");
        for wrong in ["[]", "services: []", "x: 1", "a: b: c"] {
            assert!(Project::parse(wrong, Path::new("/srv")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn services_that_others_wait_for_until_healthy_are_known() {
        let text = "services: {web: {depends_on: {db: {condition: service_healthy}, redis: {condition: service_started}}}, \
                    db: {}, redis: {}}";
        let project = project(text);
        assert!(project.is_waited_for_until_healthy("db"));
        assert!(!project.is_waited_for_until_healthy("redis"));
    }
}
