//! Which service of a project answers requests, and on which port of its container.

use serde_json::Value;

use crate::behind_proxy::{announced, looks_at_engine};
use crate::error::ComposeError;
use crate::project::{Project, Target};

impl Project {
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
        // The page is asked by plain HTTP, so a second port for HTTPS is not meant, nor one for the
        // tools of a developer.
        let plain = published.iter().copied().filter(|port| is_http(*port) && !is_https(*port));
        let plain: Vec<u16> = plain.collect();
        if !published.is_empty() && published.iter().all(|port| is_https(*port)) {
            return Err(ComposeError::OnlyHttps { service, ports: published });
        }
        if published.is_empty()
            && let Some(announced) = announced(found)
        {
            return Ok(Target { service, port: announced.port() });
        }
        match (plain.as_slice(), published.as_slice()) {
            ([port], _) | ([], [port]) => Ok(Target { service, port: *port }),
            _ => Err(ComposeError::WhichPort { service, ports: published }),
        }
    }

    fn only_publishing_service(&self, port: Option<u16>) -> Result<String, ComposeError> {
        let publishes = |name: &str, service: &Value| match port {
            Some(port) => published_ports(service).contains(&port),
            None => serves_pages(name, service),
        };
        let is_page_port = |port: &u16| !OTHER_PORTS.contains(port);
        let has_other = |service: &Value| published_ports(service).iter().any(is_page_port);
        let that = |fits: &dyn Fn(&str, &Value) -> bool| {
            self.services_that(|name, service| !is_no_app(name, service) && fits(name, service))
        };
        // Not a database of a name that is not known.
        let is_quiet = |_: &str, service: &Value| published_ports(service).is_empty();
        let is_proxy = looks_at_engine;
        // What is said to a proxy in front comes before ports of unknown programs, and a proxy that
        // would find the user's own containers comes last but for them.
        let found = [
            that(&|name, service| publishes(name, service) && !is_proxy(name, service)),
            that(&|name, service| announced(service).is_some() && !is_proxy(name, service)),
            that(&publishes),
            that(&|_, service| has_other(service)),
        ];
        let publishing = found.into_iter().find(|names| !names.is_empty()).unwrap_or_default();
        let known = self.service_names();
        match (publishing.as_slice(), known.as_slice()) {
            ([only], _) => Ok(only.clone()),
            // A single service needs no published port, only its number.
            ([], [only]) if !that(&is_quiet).is_empty() => Ok(only.clone()),
            _ => {
                let likely = self.most_likely(&publishing);
                Err(ComposeError::WhichService { publishing, known, likely })
            }
        }
    }

    /// The service that most likely answers requests: of `publishing`, else of all, with its port.
    /// `None`: none can.
    fn most_likely(&self, publishing: &[String]) -> Option<Target> {
        let may = |name: &str, service: &Value| match publishing.is_empty() {
            true => !is_no_app(name, service),
            false => publishing.iter().any(|one| one == name),
        };
        let all = self.services().filter(|(name, service)| may(name, service));
        let (service, found) = all.min_by_key(|(name, service)| unlikeliness(name, service))?;
        let ports = published_ports(found);
        let plain = ports.iter().find(|port| is_http(**port) && !is_https(**port));
        let said = announced(found).map(|one| one.port());
        let port = plain.or(ports.first()).copied().or(said).unwrap_or(USUAL_PORT);
        Some(Target { service: service.to_owned(), port })
    }
}

/// The port of plain HTTP.
const USUAL_PORT: u16 = 80;

/// Names of services that answer requests in most projects, the likeliest first.
const LIKELY: [&str; 11] = [
    "nginx",
    "web",
    "caddy",
    "apache",
    "webserver",
    "app",
    "php",
    "octane",
    "laravel",
    "symfony",
    "wordpress",
];

/// A smaller number for a service that more likely answers requests: by its name, by its program, by a
/// word of its name, by who made it.
fn unlikeliness(name: &str, service: &Value) -> usize {
    let name = name.to_ascii_lowercase();
    if let Some(place) = LIKELY.iter().position(|likely| *likely == name) {
        return place;
    }
    let (after, words) = (LIKELY.len(), name.split(|c: char| !c.is_ascii_alphanumeric()));
    let of_word = words.filter_map(|word| LIKELY.iter().position(|likely| *likely == word)).min();
    match (of_word, is_web_server(&name, service)) {
        (place, true) => after + place.unwrap_or(after),
        (Some(place), false) => 2 * after + 1 + place,
        // A program of the project's own, or one that somebody else made.
        (None, false) if !service["build"].is_null() => 3 * after + 1,
        (None, false) => 3 * after + 2,
    }
}

/// Web servers, by the names of their images.
const WEB_SERVERS: [&str; 10] = [
    "apache",
    "caddy",
    "frankenphp",
    "httpd",
    "lighttpd",
    "nginx",
    "nginx-unprivileged",
    "openlitespeed",
    "openresty",
    "unit",
];

fn is_web_server(name: &str, service: &Value) -> bool {
    is_one_of(name, service, &WEB_SERVERS)
}

/// Whether a service publishes a port of a web server: a usual one, or any that a web server has.
fn serves_pages(name: &str, service: &Value) -> bool {
    let is_server = is_web_server(name, service);
    let ports = published_ports(service);
    ports.iter().any(|port| is_http(*port) || is_server && !OTHER_PORTS.contains(port))
}

/// Programs for people, and those that build files for a browser. The app does without them.
const TOOLS: [&str; 41] = [
    "adminer",
    "artisan",
    "blackfire",
    "buggregator",
    "certbot",
    "composer",
    "cypress",
    "dozzle",
    "grafana",
    "kibana",
    "mailcatcher",
    "maildev",
    "mailer",
    "mailhog",
    "mailpit",
    "mailtrap",
    "mitmproxy",
    "mongo-express",
    "myadmin",
    "ngrok",
    "node",
    "npm",
    "pgadmin",
    "pgadmin4",
    "phpmemadmin",
    "phpmyadmin",
    "phppgadmin",
    "phpredisadmin",
    "phpunit",
    "playwright",
    "portainer",
    "prometheus",
    "redis-commander",
    "redisinsight",
    "selenium",
    "swagger-ui",
    "vite",
    "watchtower",
    "wp-cli",
    "wpcli",
    "yarn",
];

/// Programs that an app may need, and that are not the app.
const SERVERS: [&str; 14] = [
    "centrifugo",
    "elasticsearch",
    "gotenberg",
    "imgproxy",
    "keycloak",
    "localstack",
    "meilisearch",
    "mercure",
    "minio",
    "opensearch",
    "rabbitmq",
    "soketi",
    "solr",
    "typesense",
];

/// Databases and caches.
const DATA: [&str; 15] = [
    "beanstalkd",
    "mariadb",
    "memcached",
    "mongo",
    "mongodb",
    "mssql",
    "mysql",
    "percona",
    "pgbouncer",
    "postgis",
    "postgres",
    "postgresql",
    "redis",
    "redis-stack",
    "valkey",
];

/// Ports of databases, caches and queues, and of programs that speak something else than HTTP: SSH, DNS, mail,
/// SNMP, LDAP, syslog, Xdebug.
const OTHER_PORTS: [u16; 24] = [
    22, 25, 53, 110, 143, 162, 389, 465, 514, 587, 636, 993, 995, 1025, 1433, 3306, 5432, 5672,
    6379, 9003, 9200, 11211, 11300, 27017,
];

/// Whether a service is a program that the app does without.
pub(crate) fn is_tool(name: &str, service: &Value) -> bool {
    is_one_of(name, service, &TOOLS)
}

/// Whether a service is no app, although it may publish a port.
fn is_no_app(name: &str, service: &Value) -> bool {
    is_tool(name, service) || is_one_of(name, service, &SERVERS) || is_one_of(name, service, &DATA)
}

/// Whether a service is one of these programs, by its image or its name.
pub(crate) fn is_one_of(name: &str, service: &Value, programs: &[&str]) -> bool {
    let image = service["image"].as_str().unwrap_or_default();
    let image = image.split('@').next().unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    let own = last.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let name = name.to_ascii_lowercase();
    programs.iter().any(|program| name == *program || own == *program)
}

/// Ports on which web servers and apps usually answer by plain HTTP or HTTPS.
fn is_http(port: u16) -> bool {
    // 8025 is where Mailpit and MailHog show mails, also inside a container of DDEV.
    let is_usual = matches!(port, 80 | 81 | 3000 | 4000 | 5000 | 8000..=8999 | 9501 | 9080);
    is_https(port) || is_usual && port != 8025
}

/// Whether a port is one of those where HTTPS is usually spoken.
pub fn is_https(port: u16) -> bool {
    matches!(port, 443 | 8443 | 4443)
}

/// The TCP ports inside the container that a service publishes, in their order and each once.
pub fn published_ports(service: &Value) -> Vec<u16> {
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
#[path = "choice_tests.rs"]
mod tests;
