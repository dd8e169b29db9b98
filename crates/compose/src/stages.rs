//! Stages of Dockerfiles: which a service is built as, and which of them are for production.

use serde_json::{Value, json};

use crate::dockerfile::stage_names;
use crate::error::ComposeError;
use crate::project::Project;

/// A stage that services are to be built as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedStage<'a> {
    /// The service. `None`: all whose Dockerfile has it.
    pub service: Option<&'a str>,
    /// The stage's name.
    pub stage: &'a str,
}

impl AskedStage<'_> {
    /// Lets the services be built as it.
    ///
    /// # Errors
    /// There is no such service or stage, or the service is not built.
    pub fn set_in(self, project: &mut Project) -> Result<(), ComposeError> {
        let services = || project.services().map(|(name, service)| (name.to_owned(), service));
        let asked: Vec<String> = match self.service {
            Some(name) => {
                let known = || services().map(|(name, _)| name).collect();
                let none = || ComposeError::NoService { service: name.to_owned(), known: known() };
                self.check(name, project.service(name).ok_or_else(none)?)?;
                vec![name.to_owned()]
            }
            None => {
                let has_it =
                    |service: &Value| stage_names(service).is_some_and(|all| self.is_in(&all));
                services().filter(|(_, one)| has_it(one)).map(|(name, _)| name).collect()
            }
        };
        if asked.is_empty() {
            let known: Vec<String> =
                services().filter_map(|(_, service)| stage_names(service)).flatten().collect();
            return Err(self.unknown("", known));
        }
        for name in asked {
            if let Some(service) = project.service_mut(&name) {
                set(&mut service["build"], self.stage);
            }
        }
        Ok(())
    }

    /// Whether a service can be built as it. A Dockerfile that is elsewhere is not known.
    fn check(self, name: &str, service: &Value) -> Result<(), ComposeError> {
        if service["build"].is_null() {
            return Err(ComposeError::NotBuilt { service: name.to_owned() });
        }
        match stage_names(service) {
            Some(known) if !self.is_in(&known) => Err(self.unknown(name, known)),
            _ => Ok(()),
        }
    }

    /// Whether it is one of these. A stage may also be named by its number, which the engine checks.
    fn is_in(self, known: &[String]) -> bool {
        known.iter().any(|one| one.eq_ignore_ascii_case(self.stage))
            || self.service.is_some() && self.stage.parse::<u8>().is_ok()
    }

    fn unknown(self, service: &str, mut known: Vec<String>) -> ComposeError {
        known.sort();
        known.dedup();
        ComposeError::NoStage { stage: self.stage.to_owned(), service: service.to_owned(), known }
    }
}

fn set(build: &mut Value, stage: &str) {
    if let Value::String(context) = build {
        *build = json!({"context": context});
    }
    build["target"] = json!(stage);
}

/// Words in the name of a stage that is for development.
const OF_DEVELOPMENT: [&str; 4] = ["debug", "dev", "develop", "development"];
/// Words in the name of one that is for production.
const OF_PRODUCTION: [&str; 2] = ["prod", "production"];

/// Whether the name of a stage says that it is for development.
pub fn is_of_development(stage: &str) -> bool {
    has_word(stage, &OF_DEVELOPMENT)
}

/// The stage for production beside `stage` of a service: its own (`frankenphp_prod` beside `frankenphp_dev`), the one
/// with the service's name, or the only one; empty: no name says so.
pub fn production_beside(stage: &str, service: &str, known: &[String]) -> String {
    let of_production = || known.iter().filter(|name| has_word(name, &OF_PRODUCTION));
    let rest = |name: &str, of: &[&str]| -> Vec<String> {
        words(name).filter(|word| !of.contains(&word.as_str())).collect()
    };
    let own =
        of_production().find(|name| rest(name, &OF_PRODUCTION) == rest(stage, &OF_DEVELOPMENT));
    let of_service = || {
        let is_it = |name: &&String| words(name).any(|word| words(service).any(|own| own == word));
        of_production().find(is_it)
    };
    let only = || of_production().next().filter(|_| of_production().count() == 1);
    own.or_else(of_service).or_else(only).cloned().unwrap_or_default()
}

fn has_word(name: &str, of: &[&str]) -> bool {
    words(name).any(|word| of.contains(&word.as_str()))
}

fn words(name: &str) -> impl Iterator<Item = String> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> Project {
        let dockerfile = "FROM php:8.4-fpm AS base\nFROM base AS app_dev\nFROM base AS app_Prod\n";
        let Value::Object(document) = json!({"services": {
            "php": {"build": {"context": "/srv", "dockerfile_inline": dockerfile, "target": "app_dev"}},
            "jobs": {"build": {"context": "/srv", "dockerfile_inline": dockerfile}},
            "far": {"build": "https://git.example/shop.git"},
            "db": {"image": "mariadb:11"},
        }}) else {
            panic!("a map")
        };
        Project { directory: "/srv".into(), name: "srv".to_owned(), document }
    }

    fn targets(service: Option<&str>, stage: &str) -> Result<Vec<String>, String> {
        let mut project = project();
        let asked = AskedStage { service, stage };
        asked.set_in(&mut project).map_err(|error| error.to_string())?;
        let target = |(name, service): (&str, &Value)| {
            Some(format!("{name}={}", service["build"]["target"].as_str()?))
        };
        Ok(project.services().filter_map(target).collect())
    }

    #[test]
    fn services_are_built_as_the_stage_that_is_asked_for() {
        assert_eq!(targets(None, "app_prod").unwrap(), ["php=app_prod", "jobs=app_prod"]);
        assert_eq!(targets(Some("php"), "base").unwrap(), ["php=base"]);
        assert_eq!(targets(Some("far"), "any").unwrap(), ["php=app_dev", "far=any"]);
    }

    #[test]
    fn a_stage_that_nothing_has_is_an_error_with_those_that_there_are() {
        insta::assert_snapshot!(
            [
                targets(None, "prod"),
                targets(Some("php"), "prod"),
                targets(Some("db"), "prod"),
                targets(Some("web"), "prod"),
            ]
            .map(Result::unwrap_err)
            .join("\n")
        );
    }

    #[test]
    fn the_stage_for_production_is_the_one_beside() {
        let known = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        for (stage, names, found) in [
            (
                "frankenphp_dev",
                &["frankenphp_dev", "frankenphp_prod", "worker_prod"][..],
                "frankenphp_prod",
            ),
            ("dev", &["base", "dev", "production"], "production"),
            ("app-development", &["app-production", "web-prod"], "app-production"),
            ("dev", &["web_prod", "php_prod"], "php_prod"),
            ("dev", &["web_prod", "node_prod"], ""),
            ("dev", &["base", "dev", "produce"], ""),
        ] {
            assert_eq!(production_beside(stage, "php-fpm", &known(names)), found, "{stage}");
        }
        assert!(is_of_development("php-Dev") && !is_of_development("devel0per"));
    }
}
